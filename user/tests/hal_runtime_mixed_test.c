/* SPDX-License-Identifier: MIT */
/*
 * Tests a program that uses three engines of different kinds at the same time. The runtime splits a
 * model by the performance that each engine reports, and `nnaccel stat` shows how each engine was
 * used. The test passes a fence of the device's hardware to a different driver (vgem). The test
 * needs nnacceld as the device nnaccel, and the engines sample-engine and kit-engine.
 */
#include <errno.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "exporters.h"
#include "tests/kit_engine/engine.h"
#include "tests/named_devices.h"

/*
 * Makes a model that computes (a + b) * b. The sample engine reports the best performance of all
 * engines, but does not support MUL.
 */
static ANeuralNetworksModel *sum_and_product(void)
{
	enum { A, B, NONE, SUM, PRODUCT };
	static const uint32_t dims[] = { ADD_ELEMENTS };
	const ANeuralNetworksOperandType tensor = tensor_type(1, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const uint32_t added[] = { A, B, NONE }, sum = SUM, multiplied[] = { SUM, B, NONE };
	const uint32_t inputs[] = { A, B }, product = PRODUCT;
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (int i = A; i <= PRODUCT; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == NONE ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, sizeof(none)));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, added, 1, &sum));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, multiplied, 1,
						    &product));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &product));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

static void execute(ANeuralNetworksCompilation *c)
{
	ANeuralNetworksExecution *e = add_execution(c);
	float result[ADD_ELEMENTS] = { 0 };

	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, result, sizeof(result)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	for (int i = 0; i < ADD_ELEMENTS; i++)
		assert_true(result[i] == (add_a[i] + add_b[i]) * add_b[i]);
	ANeuralNetworksExecution_free(e);
}

static void test_split(void **state)
{
	ANeuralNetworksModel *model = sum_and_product();
	const ANeuralNetworksDevice *kit = find_device("kit-engine");
	const ANeuralNetworksDevice *two[] = { find_device("nnaccel"), find_device("sample-engine") };
	ANeuralNetworksCompilation *split, *whole;
	uint32_t count;

	(void)state;
	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	/* And nnapi-reference. */
	assert_int_equal(count, 4);
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, two, 2, &split));
	assert_ok(ANeuralNetworksCompilation_finish(split));
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &kit, 1, &whole));
	assert_ok(ANeuralNetworksCompilation_finish(whole));
	execute(split);
	execute(whole);
	execute(whole);
	assert_int_equal(count_executions("nnaccel"), 1);
	assert_int_equal(count_executions("sample-engine"), 1);
	assert_int_equal(count_executions("kit-engine"), 2);
	ANeuralNetworksCompilation_free(split);
	ANeuralNetworksCompilation_free(whole);
	ANeuralNetworksModel_free(model);
}

/* ---- passing a hardware fence to another driver ---- */

static ANeuralNetworksCompilation *compile_double(ANeuralNetworksModel **model)
{
	enum { X, NONE, SUM };
	static const uint32_t one[] = { 1 }, added[] = { X, X, NONE }, input = X, output = SUM;
	const ANeuralNetworksOperandType tensor = tensor_type(1, one);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	const ANeuralNetworksDevice *kit = find_device("kit-engine");
	ANeuralNetworksCompilation *c;

	assert_ok(ANeuralNetworksModel_create(model));
	for (int i = X; i <= SUM; i++)
		assert_ok(ANeuralNetworksModel_addOperand(*model, i == NONE ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(*model, NONE, &none, sizeof(none)));
	assert_ok(ANeuralNetworksModel_addOperation(*model, ANEURALNETWORKS_ADD, 3, added, 1, &output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(*model, 1, &input, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(*model));
	assert_ok(ANeuralNetworksCompilation_createForDevices(*model, &kit, 1, &c));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	return c;
}

/* Reads or writes a word of memory that no CPU can map, by the DMA of a test device. */
static uint32_t device_word(const struct exporter *reader, uint32_t offset, const float *written)
{
	struct exporter_dma word = { .offset = offset, .write = written != NULL };

	if (written)
		memcpy(&word.value, written, sizeof(*written));
	assert_int_equal(ioctl(reader->fd, EXPORTER_DMA, &word), 0);
	return word.value;
}

/*
 * Adds the fence that ends an execution to a buffer of the driver vgem. While the fence is pending,
 * vgem must refuse to write to the buffer. Returns whether the fence was still pending after vgem
 * had been asked to write.
 */
static bool hand_over(ANeuralNetworksExecution *e, int vgem)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	struct pollfd fence = { .events = POLLIN };
	ANeuralNetworksEvent *event;
	uint32_t handle, own;
	bool was_pending;
	int buffer, error;

	buffer = vgem_buffer(vgem, 4096, &handle);
	assert_true(buffer >= 0);
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(e, NULL, 0, 0, &event));
	assert_ok(ANeuralNetworksEvent_getSyncFenceFd(event, &fence.fd));
	import.fd = fence.fd;
	assert_int_equal(ioctl(buffer, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import), 0);
	own = vgem_fence(vgem, handle, 1);
	error = own ? 0 : errno;
	was_pending = poll(&fence, 1, 0) == 0;
	if (was_pending)
		assert_int_equal(error, EBUSY);
	assert_int_equal(poll(&fence, 1, -1), 1);
	if (!own)
		own = vgem_fence(vgem, handle, 1);
	assert_true(own);
	assert_int_equal(vgem_signal(vgem, own), 0);
	assert_ok(ANeuralNetworksEvent_wait(event));
	ANeuralNetworksEvent_free(event);
	close(fence.fd);
	close(buffer);
	return was_pending;
}

static void test_sync_fence(void **state)
{
	const size_t size = EXPORTER_NUM_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	const float fenced = KIT_ENGINE_FENCED, twice = 2 * fenced;
	struct exporter exporter, reader;
	ANeuralNetworksCompilation *c;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksExecution *e;
	struct exporter_import import;
	ANeuralNetworksModel *model;
	const int vgem = vgem_open();
	bool was_pending;
	uint32_t word;

	(void)state;
	assert_true(vgem >= 0);
	assert_true(exporter_open(&exporter, EXPORTER_NO_MMAP) && exporter_open(&reader, 0));
	import = (struct exporter_import){ .fd = exporter.buffer };
	assert_int_equal(ioctl(reader.fd, EXPORTER_IMPORT, &import), 0);
	device_word(&reader, 0, &fenced);
	c = compile_double(&model);
	assert_ok(ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, exporter.buffer, 0,
						     &memory));
	/*
	 * On a busy machine, the fence may have signalled before the test gives the fence to vgem.
	 * Then try again.
	 */
	do {
		assert_ok(ANeuralNetworksExecution_create(c, &e));
		assert_ok(ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 0,
								      sizeof(float)));
		assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, memory,
								       sizeof(float), sizeof(float)));
		was_pending = hand_over(e, vgem);
		ANeuralNetworksExecution_free(e);
	} while (!was_pending);
	word = device_word(&reader, sizeof(float), NULL);
	assert_memory_equal(&word, &twice, sizeof(twice));
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
	exporter_close(&reader);
	exporter_close(&exporter);
	close(vgem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_sync_fence),
	};

	return cmocka_run_group_tests_name("hal runtime mixed", tests, NULL, NULL);
}
