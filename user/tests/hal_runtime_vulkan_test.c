/* SPDX-License-Identifier: MIT */
/*
 * Tests a model that libneuralnetworks splits between nnacceld and the Vulkan engine, because of
 * the performance that the engines report. The two engines share memory by a dma-buf. The test
 * needs nnacceld as the device nnaccel, and nnaccel-vulkan as the device vulkan-second, which
 * reports the best performance for floats and the worst performance for bytes.
 */
#include <dirent.h>

#include "exporters.h"
#include "tests/named_devices.h"

#define RUNS	6	/* number of executions; more than the Vulkan engine measures */

/* Returns the number of dma-bufs for which this process has file descriptors. */
static uint32_t count_dmabufs(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	uint32_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char target[16] = "";

		if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0)
			count += !strncmp(target, "/dmabuf:", 8);
	}
	closedir(folder);
	return count;
}

/*
 * Makes a model that adds -2 and quantises (on the GPU), computes RELU of bytes (on the CPU), and
 * multiplies by 3 (on the GPU).
 */
static ANeuralNetworksModel *split_model(void)
{
	enum { X, LESS, NONE, SUM, BYTES, CLAMPED, REAL, FACTOR, PRODUCT, OPERANDS };
	static const uint32_t dims[] = { ADD_ELEMENTS }, one[] = { 1 };
	const ANeuralNetworksOperandType real = tensor_type(1, dims), single = tensor_type(1, one);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const ANeuralNetworksOperandType bytes = {
		ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, dims, 0.5f, 128,
	};
	static const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	static const float less = -2, factor = 3;
	static const struct {
		int32_t code;
		uint32_t num_inputs, inputs[3], output;
	} operations[] = {
		{ ANEURALNETWORKS_ADD, 3, { X, LESS, NONE }, SUM },
		{ ANEURALNETWORKS_QUANTIZE, 1, { SUM }, BYTES },
		{ ANEURALNETWORKS_RELU, 1, { BYTES }, CLAMPED },
		{ ANEURALNETWORKS_DEQUANTIZE, 1, { CLAMPED }, REAL },
		{ ANEURALNETWORKS_MUL, 3, { REAL, FACTOR, NONE }, PRODUCT },
	};
	static const uint32_t input = X, output = PRODUCT;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (int i = 0; i < OPERANDS; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == NONE ? &scalar :
			  i == LESS || i == FACTOR ? &single : i == BYTES || i == CLAMPED ? &bytes : &real));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, sizeof(none)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, LESS, &less, sizeof(less)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, FACTOR, &factor, sizeof(factor)));
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		assert_ok(ANeuralNetworksModel_addOperation(model, operations[i].code,
			  operations[i].num_inputs, operations[i].inputs, 1, &operations[i].output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

static void run_split(ANeuralNetworksCompilation *c, ANeuralNetworksBurst *burst)
{
	static const float x[ADD_ELEMENTS] = { 1, 2, 3, 4.5f };
	static const float right[ADD_ELEMENTS] = { 0, 0, 3, 7.5f };
	const uint32_t before = count_dmabufs();
	float out[ADD_ELEMENTS] = { 0 };
	ANeuralNetworksExecution *e;

	assert_ok(ANeuralNetworksExecution_create(c, &e));
	assert_ok(ANeuralNetworksExecution_setInput(e, 0, NULL, x, sizeof(x)));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, out, sizeof(out)));
	assert_ok(burst ? ANeuralNetworksExecution_burstCompute(e, burst) :
			  ANeuralNetworksExecution_compute(e));
	assert_memory_equal(out, right, sizeof(right));
	/*
	 * A tensor that one device writes and the other device reads needs a dma-buf. Each
	 * execution outside of a burst allocates a new dma-buf; executions in a burst reuse the
	 * burst's dma-buf.
	 */
	if (!burst)
		assert_int_equal(count_dmabufs(), before + 1);
	ANeuralNetworksExecution_free(e);
}

static void test_split(void **state)
{
	const ANeuralNetworksDevice *both[] = { find_device("nnaccel"), find_device("vulkan-second") };
	ANeuralNetworksModel *model = split_model();
	const uint32_t before = count_dmabufs();
	ANeuralNetworksCompilation *c;
	ANeuralNetworksBurst *burst;

	(void)state;
	assert_true(both[0] && both[1]);
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, both, 2, &c));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	for (int i = 0; i < RUNS; i++)
		run_split(c, NULL);
	assert_int_equal(count_executions("nnaccel"), RUNS);
	assert_int_equal(count_executions("vulkan-second"), 2 * RUNS);
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	for (int i = 0; i < RUNS; i++)
		run_split(c, burst);
	assert_true(count_dmabufs() > before);
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * Makes a model of one operation that converts between floats and bytes, and compiles the model for
 * all devices.
 */
static ANeuralNetworksCompilation *convert(int32_t code, ANeuralNetworksModel **model)
{
	static const uint32_t dims[] = { ADD_ELEMENTS }, input = 0, output = 1;
	const ANeuralNetworksOperandType types[] = {
		tensor_type(1, dims), { ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, dims, 0.5f, 128 },
	};
	const bool to_bytes = code == ANEURALNETWORKS_QUANTIZE;
	ANeuralNetworksCompilation *c;

	assert_ok(ANeuralNetworksModel_create(model));
	for (int i = 0; i < 2; i++)
		assert_ok(ANeuralNetworksModel_addOperand(*model, &types[to_bytes ? i : 1 - i]));
	assert_ok(ANeuralNetworksModel_addOperation(*model, code, 1, &input, 1, &output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(*model, 1, &input, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(*model));
	assert_ok(ANeuralNetworksCompilation_create(*model, &c));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	return c;
}

/*
 * If a memory is an output of the GPU and an input of the other device, the runtime makes a
 * dma-buf.
 */
static void test_memory_of_both(void **state)
{
	static const char *const names[] = { "vulkan-second", "nnaccel" };
	static const float x[ADD_ELEMENTS] = { 1, -2, 3.5f, 0 };
	const uint32_t before = count_dmabufs();
	unsigned long long executions[2];
	ANeuralNetworksCompilation *c[2];
	ANeuralNetworksExecution *e[2];
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksModel *models[2];
	float out[ADD_ELEMENTS];

	(void)state;
	c[0] = convert(ANEURALNETWORKS_QUANTIZE, &models[0]);
	c[1] = convert(ANEURALNETWORKS_DEQUANTIZE, &models[1]);
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, c[0], 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, c[1], 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	assert_int_equal(count_dmabufs(), before + 1);
	for (int i = 0; i < 2; i++)
		assert_ok(ANeuralNetworksExecution_create(c[i], &e[i]));
	assert_ok(ANeuralNetworksExecution_setInput(e[0], 0, NULL, x, sizeof(x)));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e[0], 0, NULL, memory, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(e[1], 0, NULL, memory, 0, 0));
	assert_ok(ANeuralNetworksExecution_setOutput(e[1], 0, NULL, out, sizeof(out)));
	for (int i = 0; i < 2; i++) {
		executions[i] = count_executions(names[i]);
		assert_ok(ANeuralNetworksExecution_compute(e[i]));
		assert_int_equal(count_executions(names[i]), executions[i] + 1);
	}
	assert_memory_equal(out, x, sizeof(x));
	for (int i = 0; i < 2; i++) {
		ANeuralNetworksExecution_free(e[i]);
		ANeuralNetworksCompilation_free(c[i]);
		ANeuralNetworksModel_free(models[i]);
	}
	ANeuralNetworksMemory_free(memory);
}

/*
 * Executions read their input only after the fence of another driver has signalled. The test
 * executes while the Vulkan engine still measures executions, and after the measurements.
 */
static void test_fence_before(void **state)
{
	static const float x[ADD_ELEMENTS] = { 1, -2, 3.5f, 0 };
	static const uint8_t right[ADD_ELEMENTS] = { 130, 124, 135, 128 };
	const size_t size = sizeof(x) + sizeof(right);
	ANeuralNetworksModel *model;
	ANeuralNetworksCompilation *c = convert(ANEURALNETWORKS_QUANTIZE, &model);
	ANeuralNetworksEvent *before, *end;
	ANeuralNetworksExecution *e;
	const int vgem = vgem_open(), file = memfd_create("input", MFD_CLOEXEC);
	ANeuralNetworksMemory *memory;
	uint32_t handle, pending;
	int buffer, fence;
	char *input;

	(void)state;
	assert_true(vgem >= 0);
	buffer = vgem_buffer(vgem, 4096, &handle);
	assert_true(buffer >= 0);
	assert_int_equal(ftruncate(file, size), 0);
	input = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(input != MAP_FAILED);
	assert_ok(ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, file, 0, &memory));
	for (int i = 0; i <= RUNS; i++) {
		assert_ok(ANeuralNetworksExecution_create(c, &e));
		assert_ok(ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 0, sizeof(x)));
		assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, memory, sizeof(x),
								       sizeof(right)));
		memset(input, 0, size);
		pending = vgem_fence(vgem, handle, 1);
		assert_true(pending);
		fence = buffer_fence(buffer);
		assert_true(fence >= 0);
		assert_ok(ANeuralNetworksEvent_createFromSyncFenceFd(fence, &before));
		close(fence);
		assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
			e, (const ANeuralNetworksEvent *const *)&before, 1, 0, &end));
		usleep(100000);
		memcpy(input, x, sizeof(x));
		assert_int_equal(vgem_signal(vgem, pending), 0);
		assert_ok(ANeuralNetworksEvent_wait(end));
		assert_memory_equal(input + sizeof(x), right, sizeof(right));
		ANeuralNetworksEvent_free(end);
		ANeuralNetworksEvent_free(before);
		ANeuralNetworksExecution_free(e);
	}
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksMemory_free(memory);
	munmap(input, size);
	close(file);
	close(buffer);
	close(vgem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_memory_of_both),
		cmocka_unit_test(test_fence_before),
	};

	return cmocka_run_group_tests_name("hal runtime vulkan", tests, NULL, NULL);
}
