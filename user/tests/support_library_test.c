/* SPDX-License-Identifier: MIT */
/*
 * Tests libnnapi_sl_nnaccel.so as loaders use it, by calling each function through the library's
 * table.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>
#include <nnaccel/support_library.h>

#include "tests/open_files.h"

#define assert_ok(call) assert_int_equal(call, ANEURALNETWORKS_NO_ERROR)
#define assert_result(name, call) assert_int_equal(call, ANEURALNETWORKS_##name)

/* The path of the tested library, relative to the folder of the test program. */
#define LIBRARY "../lib/libnnapi_sl_nnaccel.so"
#define ELEMENTS 4

static const NnApiSLDriverImplFL8 *table;
static const NnApiSLDriverImplFL5 *nn;
static ANeuralNetworksDevice *cpu;

static int load(void **state)
{
	NnApiSLDriverImpl *(*get)(void) = NULL;
	char path[PATH_MAX + sizeof(LIBRARY)];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
	void *library;

	(void)state;
	if (length < 0)
		return -1;
	while (length && path[length - 1] != '/')
		length--;
	strcpy(path + length, LIBRARY);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&get = dlsym(library, "ANeuralNetworks_getSLDriverImpl");
	if (!get) {
		print_error("%s\n", dlerror());
		return -1;
	}
	table = (const void *)get();
	nn = &table->base;
	return 0;
}

/* ---- The table ---- */

static void test_layout(void **state)
{
	const void *const *entries = (const void *const *)((const int64_t *)table + 1);

	(void)state;
	assert_int_equal(nn->base.implFeatureLevel, ANEURALNETWORKS_FEATURE_LEVEL_8);
	/*
	 * The library's table has 71 functions of the NNAPI, 7 functions of support libraries and
	 * 26 functions for diagnostics. Feature level 8 adds two functions.
	 */
	assert_int_equal(sizeof(NnApiSLDriverImplFL5), 8 + (71 + 7 + 26) * sizeof(void *));
	assert_int_equal(sizeof(*table), sizeof(*nn) + 2 * sizeof(void *));
	for (size_t i = 0; i < (sizeof(*table) - 8) / sizeof(void *); i++)
		if (!entries[i])
			fail_msg("entry %zu is NULL", i);
}

/*
 * Each feature level is tested in a new process, because the library fills its table when it is
 * loaded.
 */
static void test_levels(void **state)
{
	static const int64_t codes[] = {
		ANEURALNETWORKS_FEATURE_LEVEL_5, ANEURALNETWORKS_FEATURE_LEVEL_6,
		ANEURALNETWORKS_FEATURE_LEVEL_7, ANEURALNETWORKS_FEATURE_LEVEL_8,
		ANEURALNETWORKS_FEATURE_LEVEL_8,
	};
	static const char *const levels[] = { "5", "6", "7", "8", "9" };

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		char command[256], answer[32] = "";
		FILE *child;

		snprintf(command, sizeof(command), "NNACCEL_SL_FEATURE_LEVEL=%s %s --level 2>&1",
			 levels[i], program_invocation_name);
		child = popen(command, "r");
		assert_non_null(child);
		while (fgets(answer, sizeof(answer), child))
			;
		assert_int_equal(pclose(child), 0);
		assert_int_equal(atoll(answer), codes[i]);
	}
}

/* ---- A device with two extensions, which replaces the devices of libnnaccel ---- */

static const struct nn_device_extension_item items[] = {
	{ 3, true, 8, "TENSOR" }, { 5, false, 2, "SCALAR" },
};
static const struct nn_device_extension extensions[] = {
	{ .name = "com.example.first", .num_types = 1, .types = items },
	{ .name = "com.example.second", .num_types = 2, .types = items },
};
static char other_device;

enum nn_status nna_device_list(struct nna_device_entry *entries, size_t entry_size,
			       uint32_t *count, struct nn_error *err)
{
	(void)entry_size;
	(void)err;
	entries[0] = (struct nna_device_entry){ "/dev/other", "other", "1", NN_DEVICE_GPU, true };
	*count = 1;
	return NN_OK;
}

enum nn_status nna_device_open(const char *path, struct nna_device **device, struct nn_error *err)
{
	(void)err;
	assert_string_equal(path, "/dev/other");
	*device = (struct nna_device *)&other_device;
	return NN_OK;
}

enum nn_status nna_device_get_extensions(struct nna_device *device,
					 const struct nn_device_extension **list, uint32_t *count,
					 struct nn_error *err)
{
	(void)device;
	(void)err;
	*list = extensions;
	*count = 2;
	return NN_OK;
}

/* The device has figures for the operand types 1 and 3 only. */
enum nn_status nna_device_get_info(struct nna_device *device, struct nn_device_info *info,
				   struct nn_error *err)
{
	(void)device;
	(void)err;
	*info = (struct nn_device_info){
		.magic = NN_DEVICE_MAGIC, .size = sizeof(*info), .version = "1",
		.type = NN_DEVICE_GPU, .feature_level = 4, .model_cache_files = 2,
		.data_cache_files = 3, .relaxed_scalar = { 2, 12 }, .relaxed_tensor = { 3, 13 },
		.if_performance = { 4, 14 }, .while_performance = { 5, 15 },
	};
	for (int i = 0; i < NN_TYPE_COUNT; i++)
		info->operand[i] = (struct nn_performance){ i == 1 || i == 3 ? (float)i : FLT_MAX, 7 };
	return NN_OK;
}

/* ---- Devices ---- */

static void count_figure(SL_ANeuralNetworksOperandPerformanceInfo info, void *count)
{
	assert_true(info.performanceInfo.execTime > 0 && info.performanceInfo.powerUsage > 0);
	assert_int_equal(info.operandType, *(int *)count);
	++*(int *)count;
}

static void no_type(SL_ANeuralNetworksExtensionOperandTypeInformation type, void *context)
{
	(void)type;
	(void)context;
	fail_msg("a type of no extension");
}

static void test_devices(void **state)
{
	SL_ANeuralNetworksPerformanceInfo figure;
	uint32_t count, model_files, data_files;
	const char *text;
	int64_t level;
	int32_t type;
	bool has;
	int types = 0;

	(void)state;
	assert_ok(nn->ANeuralNetworks_getDeviceCount(&count));
	assert_true(count >= 1);
	assert_ok(nn->ANeuralNetworks_getDevice(count - 1, &cpu));
	assert_ok(nn->ANeuralNetworksDevice_getName(cpu, &text));
	assert_string_equal(text, "nnapi-reference");
	assert_ok(nn->ANeuralNetworksDevice_getVersion(cpu, &text));
	assert_true(strlen(text) > 0);
	assert_ok(nn->ANeuralNetworksDevice_getType(cpu, &type));
	assert_int_equal(type, ANEURALNETWORKS_DEVICE_CPU);
	assert_ok(nn->ANeuralNetworksDevice_getFeatureLevel(cpu, &level));
	assert_int_equal(level, nn->ANeuralNetworks_getRuntimeFeatureLevel());
	assert_ok(nn->ANeuralNetworksDevice_wait(cpu));
	assert_ok(nn->ANeuralNetworksDevice_getExtensionSupport(cpu, "com.example.none", &has));
	assert_false(has);

	assert_ok(nn->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(cpu, &model_files,
									   &data_files));
	assert_int_equal(model_files, 1);
	assert_int_equal(data_files, 1);
	for (int32_t kind = 0; kind < 4; kind++) {
		assert_ok(nn->SL_ANeuralNetworksDevice_getPerformanceInfo(cpu, kind, &figure));
		assert_true(figure.execTime == 1 && figure.powerUsage == 1);
	}
	assert_result(BAD_DATA, nn->SL_ANeuralNetworksDevice_getPerformanceInfo(cpu, 4, &figure));
	assert_result(UNEXPECTED_NULL,
		      nn->SL_ANeuralNetworksDevice_getPerformanceInfo(NULL, 0, &figure));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getPerformanceInfo(cpu, 0, NULL));
	model_files = data_files = 7;
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(
					       NULL, &model_files, &data_files));
	assert_int_equal(model_files + data_files, 0);
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(
					       cpu, NULL, &data_files));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(
					       cpu, &model_files, NULL));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
					       NULL, &types, count_figure));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
					       cpu, &types, NULL));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getVendorExtensionCount(NULL, &count));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getVendorExtensionCount(cpu, NULL));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getVendorExtensionName(NULL, 0, &text));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksDevice_getVendorExtensionName(cpu, 0, NULL));
	assert_result(UNEXPECTED_NULL,
		      nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
			      NULL, 0, NULL, no_type));
	assert_result(UNEXPECTED_NULL,
		      nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
			      cpu, 0, NULL, NULL));
	assert_ok(nn->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(cpu, &types,
									     count_figure));
	assert_int_equal(types, ANEURALNETWORKS_MODEL + 1);
	assert_ok(nn->SL_ANeuralNetworksDevice_getVendorExtensionCount(cpu, &count));
	assert_int_equal(count, 0);
	assert_result(BAD_DATA, nn->SL_ANeuralNetworksDevice_getVendorExtensionName(cpu, 0, &text));
	assert_result(BAD_DATA,
		      nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
			      cpu, 0, NULL, no_type));
	assert_true(nn->ANeuralNetworks_getDefaultLoopTimeout() <
		    nn->ANeuralNetworks_getMaximumLoopTimeout());
}

static void note_figure(SL_ANeuralNetworksOperandPerformanceInfo info, void *sum)
{
	assert_true(info.performanceInfo.execTime == (float)info.operandType);
	assert_true(info.performanceInfo.powerUsage == 7);
	*(int *)sum = *(int *)sum * 10 + info.operandType;
}

static void note_type(SL_ANeuralNetworksExtensionOperandTypeInformation type, void *context)
{
	const struct nn_device_extension_item **next = context;

	assert_int_equal(type.byteSize, (*next)->element_size);
	assert_int_equal(type.type, (*next)->code);
	assert_int_equal(type.isTensor, (*next)->is_tensor);
	++*next;
}

static void test_other_device(void **state)
{
	SL_ANeuralNetworksPerformanceInfo figure;
	uint32_t count, model_files, data_files;
	ANeuralNetworksDevice *device;
	const char *text;
	int sum = 0;

	(void)state;
	assert_ok(nn->ANeuralNetworks_getDevice(0, &device));
	assert_ok(nn->ANeuralNetworksDevice_getName(device, &text));
	assert_string_equal(text, "other");
	assert_ok(nn->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(device, &model_files,
									   &data_files));
	assert_int_equal(model_files, 2);
	assert_int_equal(data_files, 3);
	for (int32_t kind = 0; kind < 4; kind++) {
		assert_ok(nn->SL_ANeuralNetworksDevice_getPerformanceInfo(device, kind, &figure));
		assert_true(figure.execTime == (float)(2 + kind));
		assert_true(figure.powerUsage == (float)(12 + kind));
	}
	assert_ok(nn->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(device, &sum,
									     note_figure));
	assert_int_equal(sum, 13);
	assert_ok(nn->SL_ANeuralNetworksDevice_getVendorExtensionCount(device, &count));
	assert_int_equal(count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct nn_device_extension_item *next = items;

		assert_ok(nn->SL_ANeuralNetworksDevice_getVendorExtensionName(device, i, &text));
		assert_string_equal(text, extensions[i].name);
		assert_ok(nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
			device, i, &next, note_type));
		assert_int_equal(next - items, extensions[i].num_types);
	}
	assert_result(BAD_DATA, nn->SL_ANeuralNetworksDevice_getVendorExtensionName(device, 2, &text));
	assert_result(BAD_DATA,
		      nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
			      device, 2, NULL, no_type));
}

/* ---- Models ---- */

/* Makes a model y = x + constant for tensors of [ELEMENTS]; the constant is in a memory. */
static ANeuralNetworksModel *make_model(void)
{
	static const float constant[ELEMENTS] = { 1, 2, 3, 4 };
	const uint32_t dims[] = { ELEMENTS }, in[] = { 0, 1, 2 }, out[] = { 3 };
	const ANeuralNetworksOperandType tensor = { ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0 };
	const ANeuralNetworksOperandType scalar = { ANEURALNETWORKS_INT32, 0, NULL, 0, 0 };
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(nn->ANeuralNetworksModel_create(&model));
	assert_ok(nn->ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(nn->ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(nn->ANeuralNetworksModel_addOperand(model, &scalar));
	assert_ok(nn->ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(nn->ANeuralNetworksModel_setOperandValue(model, 1, constant, sizeof(constant)));
	assert_ok(nn->ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
	assert_ok(nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, in, 1, out));
	assert_ok(nn->ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 1, out));
	assert_ok(nn->ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, false));
	assert_ok(nn->ANeuralNetworksModel_finish(model));
	return model;
}

static void test_models(void **state)
{
	const uint32_t dims[] = { 2, 2 }, one[] = { 2 };
	const ANeuralNetworksOperandType weights = {
		ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 2, dims, 0, 0 };
	const ANeuralNetworksOperandType tensor = { ANEURALNETWORKS_TENSOR_FLOAT32, 1, one, 0, 0 };
	const ANeuralNetworksOperandType branch = { ANEURALNETWORKS_MODEL, 0, NULL, 0, 0 };
	const ANeuralNetworksSymmPerChannelQuantParams channels = {
		0, 2, (const float[]){ 0.5f, 0.25f } };
	ANeuralNetworksModel *model = make_model(), *other;
	ANeuralNetworksOperationType operation;
	ANeuralNetworksMemory *memory;
	bool supported;
	int32_t type;
	int fd;

	(void)state;
	assert_ok(nn->ANeuralNetworksModel_getSupportedOperationsForDevices(
		model, (const ANeuralNetworksDevice *const *)&cpu, 1, &supported));
	assert_true(supported);
	assert_ok(nn->ANeuralNetworksModel_create(&other));
	assert_ok(nn->ANeuralNetworksModel_addOperand(other, &weights));
	assert_ok(nn->ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(other, 0, &channels));
	assert_ok(nn->ANeuralNetworksModel_addOperand(other, &tensor));
	assert_ok(nn->ANeuralNetworksModel_addOperand(other, &branch));
	assert_ok(nn->ANeuralNetworksModel_setOperandValueFromModel(other, 2, model));
	fd = memfd_create("constants", MFD_CLOEXEC);
	assert_true(fd >= 0 && !ftruncate(fd, 4096));
	assert_ok(nn->ANeuralNetworksMemory_createFromFd(4096, PROT_READ, fd, 0, &memory));
	assert_ok(nn->ANeuralNetworksModel_setOperandValueFromMemory(other, 1, memory, 64, 8));
	/* No device has an extension with the name com.example.none. */
	assert_result(BAD_DATA, nn->ANeuralNetworksModel_getExtensionOperandType(
				      other, "com.example.none", 0, &type));
	assert_result(BAD_DATA, nn->ANeuralNetworksModel_getExtensionOperationType(
				      other, "com.example.none", 0, &operation));
	assert_result(BAD_DATA,
		      nn->ANeuralNetworksModel_setOperandExtensionData(other, 1, dims, 8));
	nn->ANeuralNetworksMemory_free(memory);
	close(fd);
	nn->ANeuralNetworksModel_free(other);
	nn->ANeuralNetworksModel_free(model);
}

/* ---- Compilations and executions ---- */

static ANeuralNetworksCompilation *compile(ANeuralNetworksModel *model)
{
	ANeuralNetworksCompilation *c;

	assert_ok(nn->ANeuralNetworksCompilation_createForDevices(
		model, (const ANeuralNetworksDevice *const *)&cpu, 1, &c));
	assert_ok(nn->ANeuralNetworksCompilation_setPreference(
		c, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED));
	assert_ok(nn->ANeuralNetworksCompilation_setPriority(c, ANEURALNETWORKS_PRIORITY_HIGH));
	assert_ok(nn->ANeuralNetworksCompilation_setTimeout(c, UINT64_C(60000000000)));
	return c;
}

static void assert_sum(const float *x, const float *y)
{
	for (int i = 0; i < ELEMENTS; i++)
		assert_true(y[i] == x[i] + (float)(i + 1));
}

static void test_executions(void **state)
{
	static const float x[ELEMENTS] = { 5, -1, 0.5f, 7 };
	ANeuralNetworksModel *model = make_model();
	ANeuralNetworksCompilation *c = compile(model);
	ANeuralNetworksExecution *e;
	ANeuralNetworksBurst *burst;
	ANeuralNetworksEvent *event, *other;
	uint32_t rank, dims[4], value;
	float y[ELEMENTS] = { 0 };
	uint64_t duration;
	int fd, pipe_fds[2];

	(void)state;
	assert_ok(nn->ANeuralNetworksCompilation_finish(c));
	assert_ok(nn->ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(c, 0, &value));
	assert_ok(nn->ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(c, 0, &value));
	assert_ok(nn->ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(c, 0, &value));
	assert_ok(nn->ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(c, 0, &value));
	assert_ok(nn->ANeuralNetworksExecution_create(c, &e));
	assert_ok(nn->ANeuralNetworksExecution_setReusable(e, true));
	assert_ok(nn->ANeuralNetworksExecution_enableInputAndOutputPadding(e, false));
	assert_ok(nn->ANeuralNetworksExecution_setMeasureTiming(e, true));
	assert_ok(nn->ANeuralNetworksExecution_setTimeout(e, UINT64_C(60000000000)));
	assert_ok(nn->ANeuralNetworksExecution_setLoopTimeout(e, 1000));
	assert_ok(nn->ANeuralNetworksExecution_setInput(e, 0, NULL, x, sizeof(x)));
	assert_ok(nn->ANeuralNetworksExecution_setOutput(e, 0, NULL, y, sizeof(y)));
	assert_ok(nn->ANeuralNetworksExecution_compute(e));
	assert_sum(x, y);
	assert_ok(nn->ANeuralNetworksExecution_getDuration(
		e, ANEURALNETWORKS_DURATION_IN_DRIVER, &duration));
	assert_ok(nn->ANeuralNetworksExecution_getOutputOperandRank(e, 0, &rank));
	assert_int_equal(rank, 1);
	assert_ok(nn->ANeuralNetworksExecution_getOutputOperandDimensions(e, 0, dims));
	assert_int_equal(dims[0], ELEMENTS);

	memset(y, 0, sizeof(y));
	assert_ok(nn->ANeuralNetworksBurst_create(c, &burst));
	assert_ok(nn->ANeuralNetworksExecution_burstCompute(e, burst));
	assert_sum(x, y);
	nn->ANeuralNetworksBurst_free(burst);

	memset(y, 0, sizeof(y));
	assert_ok(nn->ANeuralNetworksExecution_startComputeWithDependencies(e, NULL, 0, 0, &event));
	assert_ok(nn->ANeuralNetworksEvent_wait(event));
	assert_sum(x, y);
	assert_result(BAD_DATA, nn->ANeuralNetworksEvent_getSyncFenceFd(event, &fd));
	nn->ANeuralNetworksEvent_free(event);
	/*
	 * The library accepts as a fence each file that can be polled. Freeing an event waits until
	 * the event has signalled.
	 */
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	assert_ok(nn->ANeuralNetworksEvent_createFromSyncFenceFd(pipe_fds[0], &other));
	nn->ANeuralNetworksEvent_free(other);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	/* The library rejects an attribute of an unknown extension. */
	assert_int_not_equal(table->ANeuralNetworksExecution_addExtensionAttribute(
				     e, "com.example.none", 0, x, 4), ANEURALNETWORKS_NO_ERROR);
	nn->ANeuralNetworksExecution_free(e);
	nn->ANeuralNetworksCompilation_free(c);
	nn->ANeuralNetworksModel_free(model);
}

static void test_memories(void **state)
{
	static const float x[ELEMENTS] = { 5, -1, 0.5f, 7 };
	const uint32_t dims[] = { ELEMENTS };
	ANeuralNetworksModel *model = make_model();
	ANeuralNetworksCompilation *c = compile(model);
	ANeuralNetworksMemory *memory, *on_device, *none;
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksExecution *e;
	int fd = memfd_create("arguments", MFD_CLOEXEC);
	float *data;

	(void)state;
	assert_true(fd >= 0 && !ftruncate(fd, 4096));
	data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(data != MAP_FAILED);
	memcpy(data, x, sizeof(x));
	assert_ok(nn->ANeuralNetworksCompilation_finish(c));
	assert_ok(nn->ANeuralNetworksMemory_createFromFd(sizeof(x), PROT_READ | PROT_WRITE, fd, 0,
							 &memory));
	assert_ok(nn->ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(nn->ANeuralNetworksMemoryDesc_addInputRole(desc, c, 0, 1));
	assert_ok(nn->ANeuralNetworksMemoryDesc_addOutputRole(desc, c, 0, 1));
	assert_ok(nn->ANeuralNetworksMemoryDesc_setDimensions(desc, 1, dims));
	assert_ok(nn->ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(nn->ANeuralNetworksMemory_createFromDesc(desc, &on_device));
	nn->ANeuralNetworksMemoryDesc_free(desc);
	assert_ok(nn->ANeuralNetworksMemory_copy(memory, on_device));
	assert_ok(nn->ANeuralNetworksExecution_create(c, &e));
	assert_ok(nn->ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, on_device, 0, 0));
	assert_ok(nn->ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, memory, 0,
								   sizeof(x)));
	assert_ok(nn->ANeuralNetworksExecution_compute(e));
	assert_sum(x, data);
	assert_result(UNEXPECTED_NULL,
		      nn->ANeuralNetworksMemory_createFromAHardwareBuffer(NULL, &none));
	nn->ANeuralNetworksExecution_free(e);
	nn->ANeuralNetworksMemory_free(on_device);
	nn->ANeuralNetworksMemory_free(memory);
	nn->ANeuralNetworksCompilation_free(c);
	nn->ANeuralNetworksModel_free(model);
	munmap(data, 4096);
	close(fd);
}

/* ---- Caching ---- */

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/* Compiles a model with cache files, and executes the model. */
static void run_cached(const int *fds)
{
	static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = { 7 };
	static const float x[ELEMENTS] = { 5, -1, 0.5f, 7 };
	ANeuralNetworksModel *model = make_model();
	ANeuralNetworksCompilation *c = compile(model);
	ANeuralNetworksExecution *e;
	float y[ELEMENTS] = { 0 };

	assert_ok(nn->SL_ANeuralNetworksCompilation_setCachingFromFds(c, fds, 1, fds + 1, 1, token));
	assert_ok(nn->ANeuralNetworksCompilation_finish(c));
	assert_ok(nn->ANeuralNetworksExecution_create(c, &e));
	assert_ok(nn->ANeuralNetworksExecution_setInput(e, 0, NULL, x, sizeof(x)));
	assert_ok(nn->ANeuralNetworksExecution_setOutput(e, 0, NULL, y, sizeof(y)));
	assert_ok(nn->ANeuralNetworksExecution_compute(e));
	assert_sum(x, y);
	nn->ANeuralNetworksExecution_free(e);
	nn->ANeuralNetworksCompilation_free(c);
	nn->ANeuralNetworksModel_free(model);
}

/*
 * Calls run_cached(). Returns whether the log has the text `part`.
 */
static bool run_logged(const int *fds, const char *part)
{
	int log = memfd_create("log", MFD_CLOEXEC), error = dup(STDERR_FILENO);
	char text[4096] = "";

	dup2(log, STDERR_FILENO);
	run_cached(fds);
	dup2(error, STDERR_FILENO);
	assert_true(pread(log, text, sizeof(text) - 1, 0) >= 0);
	close(log);
	close(error);
	return strstr(text, part);
}

static void test_caching(void **state)
{
	static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = { 7 };
	ANeuralNetworksModel *model = make_model();
	ANeuralNetworksCompilation *c;
	char folder[] = "/tmp/nn-sl-XXXXXX";
	int fds[2], closed[2] = { -1, -1 }, files;
	struct stat before, after;
	char byte;

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		fds[i] = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		assert_true(fds[i] >= 0);
	}
	run_cached(fds);
	assert_true(size_of(fds[0]) > 0);
	/*
	 * The second compilation loads the cache entry, logs the load, and does not write to the
	 * cache file.
	 */
	assert_int_equal(futimens(fds[0], (struct timespec[2]){ { 1, 0 }, { 1, 0 } }), 0);
	assert_int_equal(fstat(fds[0], &before), 0);
	assert_true(run_logged(fds, "prepared from the cache"));
	assert_int_equal(fstat(fds[0], &after), 0);
	assert_int_equal(after.st_mtim.tv_sec, 1);
	/* The library replaces a damaged cache entry. */
	assert_int_equal(pread(fds[0], &byte, 1, size_of(fds[0]) / 2), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fds[0], &byte, 1, size_of(fds[0]) / 2), 1);
	run_cached(fds);
	assert_int_equal(size_of(fds[0]), before.st_size);
	/* An entry is missing if all its files are empty, but damaged if one of them is empty. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ftruncate(fds[0], 0), 0);
		assert_int_equal(ftruncate(fds[1], i), 0);
		assert_int_equal(run_logged(fds, "prepared without its cache entry"), i);
	}

	files = count_files();
	c = compile(model);
	assert_result(BAD_DATA, nn->SL_ANeuralNetworksCompilation_setCachingFromFds(
				      c, fds, 2, fds, 1, token));
	assert_result(BAD_DATA, nn->SL_ANeuralNetworksCompilation_setCachingFromFds(
				      c, closed, 1, closed, 1, token));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksCompilation_setCachingFromFds(
					     c, NULL, 1, fds, 1, token));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksCompilation_setCachingFromFds(
					     c, fds, 1, NULL, 1, token));
	assert_result(UNEXPECTED_NULL, nn->SL_ANeuralNetworksCompilation_setCachingFromFds(
					     c, fds, 1, fds, 1, NULL));
	for (int i = 0; i < 2; i++)
		assert_ok(nn->SL_ANeuralNetworksCompilation_setCachingFromFds(c, fds, 1, fds + 1, 1, token));
	assert_int_equal(count_files(), files + 2);
	assert_ok(nn->ANeuralNetworksCompilation_setCaching(c, folder, token));
	assert_int_equal(count_files(), files);
	assert_int_not_equal(table->ANeuralNetworksCompilation_addExtensionAttribute(
				     c, "com.example.none", 0, token, 4),
			     ANEURALNETWORKS_NO_ERROR);
	nn->ANeuralNetworksCompilation_free(c);
	nn->ANeuralNetworksModel_free(model);
	close(fds[0]);
	close(fds[1]);
	rmdir(folder);
}

/* ---- Diagnostics ---- */

/* The information that the diagnostic callbacks received. */
static struct {
	const void *context;
	int compilations, executions;
	int32_t compilation_error;
	uint64_t compilation_ns;
	uint32_t error;
	ANeuralNetworksDiagnosticExecutionMode modes[8];
	uint64_t runtime_ns, driver_ns, hardware_ns;
	ANeuralNetworksDiagnosticDataClass in, out;
	bool caching, control_flow, dynamic;
	uint8_t hash[32];
	int32_t session;
	char devices[128];
} told;

#define COMPILATION(name) nn->SL_ANeuralNetworksDiagnosticCompilationInfo_##name(info)
#define EXECUTION(name) nn->SL_ANeuralNetworksDiagnosticExecutionInfo_##name(info)

static void compiled(const void *context, const ANeuralNetworksDiagnosticCompilationInfo *info)
{
	told.context = context;
	told.compilations++;
	told.compilation_error = COMPILATION(getErrorCode);
	told.compilation_ns = COMPILATION(getCompilationTimeNanos);
	told.in = COMPILATION(getInputDataClass);
	told.out = COMPILATION(getOutputDataClass);
	told.caching = COMPILATION(isCachingEnabled);
	told.control_flow = COMPILATION(isControlFlowUsed);
	told.dynamic = COMPILATION(areDynamicTensorsUsed);
	told.session = COMPILATION(getSessionId);
	assert_int_equal(COMPILATION(getNnApiVersion), nn->ANeuralNetworks_getRuntimeFeatureLevel());
	memcpy(told.hash, COMPILATION(getModelArchHash), sizeof(told.hash));
	snprintf(told.devices, sizeof(told.devices), "%s", COMPILATION(getDeviceIds));
}

/*
 * The diagnostic callback for executions, which checks the fields that must equal the compilation's
 * fields.
 */
static void executed(const void *context, const ANeuralNetworksDiagnosticExecutionInfo *info)
{
	assert_ptr_equal(context, told.context);
	assert_true(told.executions < 8);
	told.modes[told.executions++] = EXECUTION(getExecutionMode);
	told.error = EXECUTION(getErrorCode);
	told.runtime_ns = EXECUTION(getRuntimeExecutionTimeNanos);
	told.driver_ns = EXECUTION(getDriverExecutionTimeNanos);
	told.hardware_ns = EXECUTION(getHardwareExecutionTimeNanos);
	assert_int_equal(EXECUTION(getInputDataClass), told.in);
	assert_int_equal(EXECUTION(getOutputDataClass), told.out);
	assert_int_equal(EXECUTION(isCachingEnabled), told.caching);
	assert_int_equal(EXECUTION(isControlFlowUsed), told.control_flow);
	assert_int_equal(EXECUTION(areDynamicTensorsUsed), told.dynamic);
	assert_int_equal(EXECUTION(getSessionId), told.session);
	assert_int_equal(EXECUTION(getNnApiVersion), nn->ANeuralNetworks_getRuntimeFeatureLevel());
	assert_memory_equal(EXECUTION(getModelArchHash), told.hash, sizeof(told.hash));
	assert_string_equal(EXECUTION(getDeviceIds), told.devices);
}

static void register_both(void *context)
{
	memset(&told, 0, sizeof(told));
	nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(compiled, executed, context);
}

/* Models of a CAST from one type to another. */
static const struct {
	const char *name;
	int32_t in, out;
	float scale;
	/* Dimension of the temporary; 0 if the dimension is unknown before the execution. */
	uint32_t between;
	ANeuralNetworksDiagnosticDataClass in_class, out_class;
} kinds[] = {
	{ "float32", ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_TENSOR_FLOAT32, 0, ELEMENTS,
	  ANNDIAG_DATA_CLASS_FLOAT32, ANNDIAG_DATA_CLASS_FLOAT32 },
	{ "float16", ANEURALNETWORKS_TENSOR_FLOAT16, ANEURALNETWORKS_TENSOR_FLOAT32, 0, ELEMENTS,
	  ANNDIAG_DATA_CLASS_FLOAT16, ANNDIAG_DATA_CLASS_FLOAT32 },
	{ "int32", ANEURALNETWORKS_TENSOR_INT32, ANEURALNETWORKS_TENSOR_FLOAT32, 0, ELEMENTS,
	  ANNDIAG_DATA_CLASS_OTHER, ANNDIAG_DATA_CLASS_FLOAT32 },
	{ "quantised", ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, ANEURALNETWORKS_TENSOR_FLOAT32, 1, ELEMENTS,
	  ANNDIAG_DATA_CLASS_QUANT, ANNDIAG_DATA_CLASS_FLOAT32 },
	{ "open", ANEURALNETWORKS_TENSOR_INT32, ANEURALNETWORKS_TENSOR_FLOAT32, 0, 0,
	  ANNDIAG_DATA_CLASS_OTHER, ANNDIAG_DATA_CLASS_FLOAT32 },
};

/* out = CAST(CAST(in)) */
static ANeuralNetworksModel *make_casts(int32_t in, int32_t out, float scale, uint32_t between)
{
	const uint32_t dims[] = { ELEMENTS }, zero[] = { 0 }, one[] = { 1 }, two[] = { 2 };
	const ANeuralNetworksOperandType types[] = {
		{ in, 1, dims, scale, 0 }, { ANEURALNETWORKS_TENSOR_FLOAT32, 1, &between, 0, 0 },
		{ out, 1, dims, 0, 0 },
	};
	ANeuralNetworksModel *model;

	assert_ok(nn->ANeuralNetworksModel_create(&model));
	for (int i = 0; i < 3; i++)
		assert_ok(nn->ANeuralNetworksModel_addOperand(model, &types[i]));
	assert_ok(nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_CAST, 1, zero, 1, one));
	assert_ok(nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_CAST, 1, one, 1, two));
	assert_ok(nn->ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, zero, 1, two));
	assert_ok(nn->ANeuralNetworksModel_finish(model));
	return model;
}

/*
 * Variants of the model s = first(x, y) and t = MUL(x, y). All variants have different hashes,
 * except that changing only a constant does not change the hash.
 */
static const struct {
	const char *name;
	ANeuralNetworksOperationType first;
	bool swaps_inputs, swaps_outputs;
	int32_t activation;
} variants[] = {
	{ "base", ANEURALNETWORKS_ADD, false, false, ANEURALNETWORKS_FUSED_NONE },
	{ "constant", ANEURALNETWORKS_ADD, false, false, ANEURALNETWORKS_FUSED_RELU },
	{ "operation", ANEURALNETWORKS_SUB, false, false, ANEURALNETWORKS_FUSED_NONE },
	{ "inputs", ANEURALNETWORKS_ADD, true, false, ANEURALNETWORKS_FUSED_NONE },
	{ "outputs", ANEURALNETWORKS_ADD, false, true, ANEURALNETWORKS_FUSED_NONE },
};

static ANeuralNetworksModel *make_variant(size_t index)
{
	const uint32_t dims[] = { ELEMENTS }, in[] = { 0, 1, 2 }, swapped_in[] = { 1, 0 }, s[] = { 3 }, t[] = { 4 };
	const uint32_t out[] = { 3, 4 }, swapped_out[] = { 4, 3 };
	const ANeuralNetworksOperandType tensor = { ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0 };
	const ANeuralNetworksOperandType scalar = { ANEURALNETWORKS_INT32, 0, NULL, 0, 0 };
	ANeuralNetworksModel *model;

	assert_ok(nn->ANeuralNetworksModel_create(&model));
	for (int i = 0; i < 5; i++)
		assert_ok(nn->ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
	assert_ok(nn->ANeuralNetworksModel_setOperandValue(model, 2, &variants[index].activation, 4));
	assert_ok(nn->ANeuralNetworksModel_addOperation(model, variants[index].first, 3, in, 1, s));
	assert_ok(nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, in, 1, t));
	assert_ok(nn->ANeuralNetworksModel_identifyInputsAndOutputs(
		model, 2, variants[index].swaps_inputs ? swapped_in : in, 2,
		variants[index].swaps_outputs ? swapped_out : out));
	assert_ok(nn->ANeuralNetworksModel_finish(model));
	return model;
}

/* Makes a model out = condition ? branch(in) : branch(in). */
static ANeuralNetworksModel *make_branch(ANeuralNetworksModel *branch)
{
	const uint32_t dims[] = { ELEMENTS }, single[] = { 1 }, in[] = { 0, 1, 2, 3 }, out[] = { 4 };
	const uint32_t inputs[] = { 0, 3 };
	const ANeuralNetworksOperandType types[] = {
		{ ANEURALNETWORKS_TENSOR_BOOL8, 1, single, 0, 0 }, { ANEURALNETWORKS_MODEL, 0, NULL, 0, 0 },
		{ ANEURALNETWORKS_MODEL, 0, NULL, 0, 0 }, { ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0 },
		{ ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0 },
	};
	ANeuralNetworksModel *model;

	assert_ok(nn->ANeuralNetworksModel_create(&model));
	for (int i = 0; i < 5; i++)
		assert_ok(nn->ANeuralNetworksModel_addOperand(model, &types[i]));
	for (int i = 1; i < 3; i++)
		assert_ok(nn->ANeuralNetworksModel_setOperandValueFromModel(model, i, branch));
	assert_ok(nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4, in, 1, out));
	assert_ok(nn->ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, out));
	assert_ok(nn->ANeuralNetworksModel_finish(model));
	return model;
}

static void compile_and_drop(ANeuralNetworksModel *model)
{
	ANeuralNetworksCompilation *c = compile(model);

	assert_ok(nn->ANeuralNetworksCompilation_finish(c));
	nn->ANeuralNetworksCompilation_free(c);
}

static void test_compilation_diagnostics(void **state)
{
	uint8_t first[32];
	int context;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		ANeuralNetworksModel *model = make_casts(kinds[i].in, kinds[i].out, kinds[i].scale,
							 kinds[i].between);

		register_both(&context);
		compile_and_drop(model);
		if (told.compilations != 1 || told.executions || told.context != &context ||
		    told.compilation_error || told.in != kinds[i].in_class || told.out != kinds[i].out_class ||
		    told.caching || told.control_flow || told.dynamic != !kinds[i].between || !told.session)
			fail_msg("%s: %d, %d", kinds[i].name, told.in, told.out);
		assert_true(told.compilation_ns < UINT64_C(3600000000000));
		assert_int_equal(strncmp(told.devices, "nnapi-reference=", 16), 0);
		if (i)
			assert_memory_not_equal(told.hash, first, sizeof(first));
		else
			memcpy(first, told.hash, sizeof(first));
		nn->ANeuralNetworksModel_free(model);
	}
}

static void test_hash(void **state)
{
	uint8_t base[32];

	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		ANeuralNetworksModel *model = make_variant(i);

		register_both(NULL);
		compile_and_drop(model);
		if (!i)
			memcpy(base, told.hash, sizeof(base));
		else if (!memcmp(base, told.hash, sizeof(base)) != !strcmp(variants[i].name, "constant"))
			fail_msg("%s", variants[i].name);
		nn->ANeuralNetworksModel_free(model);
	}
}

static void test_control_flow_diagnostics(void **state)
{
	ANeuralNetworksModel *casts = make_casts(ANEURALNETWORKS_TENSOR_FLOAT32,
						 ANEURALNETWORKS_TENSOR_FLOAT32, 0, ELEMENTS);
	ANeuralNetworksModel *branch = make_branch(casts);

	(void)state;
	register_both(NULL);
	compile_and_drop(branch);
	assert_true(told.control_flow);
	/* The data class of the inputs is MIXED, because the inputs are a bool and floats. */
	assert_int_equal(told.in, ANNDIAG_DATA_CLASS_MIXED);
	nn->ANeuralNetworksModel_free(branch);
	nn->ANeuralNetworksModel_free(casts);
}

/* The hash of a model's architecture must not depend on the model's constants. */
static void test_execution_diagnostics(void **state)
{
	static const ANeuralNetworksDiagnosticExecutionMode modes[] = {
		ANNDIAG_EXECUTION_MODE_SYNC, ANNDIAG_EXECUTION_MODE_BURST,
		ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS,
	};
	int context;

	(void)state;
	register_both(&context);
	test_executions(NULL);
	assert_int_equal(told.compilations, 1);
	assert_int_equal(told.executions, 3);
	assert_memory_equal(told.modes, modes, sizeof(modes));
	assert_int_equal(told.error, ANEURALNETWORKS_NO_ERROR);
	assert_true(told.runtime_ns < UINT64_C(3600000000000));
	/* The CPU device does not measure times. */
	assert_true(told.driver_ns == UINT64_MAX && told.hardware_ns == UINT64_MAX);
	assert_false(told.caching);
	register_both(&context);
	test_caching(NULL);
	assert_true(told.caching);
	assert_true(told.compilations > 1 && told.executions > 1);
}

/* An execution fails because its deadline has passed, and the callback reports the failure. */
static void test_failed_diagnostics(void **state)
{
	static const float x[ELEMENTS] = { 5, -1, 0.5f, 7 };
	ANeuralNetworksModel *model = make_model();
	ANeuralNetworksCompilation *c = compile(model);
	ANeuralNetworksExecution *e;
	float y[ELEMENTS];

	(void)state;
	register_both(NULL);
	assert_ok(nn->ANeuralNetworksCompilation_setTimeout(c, 1));
	assert_result(MISSED_DEADLINE_PERSISTENT, nn->ANeuralNetworksCompilation_finish(c));
	assert_int_equal(told.compilation_error, ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT);
	nn->ANeuralNetworksCompilation_free(c);
	c = compile(model);
	assert_ok(nn->ANeuralNetworksCompilation_finish(c));
	assert_ok(nn->ANeuralNetworksExecution_create(c, &e));
	assert_ok(nn->ANeuralNetworksExecution_setTimeout(e, 1));
	assert_ok(nn->ANeuralNetworksExecution_setInput(e, 0, NULL, x, sizeof(x)));
	assert_ok(nn->ANeuralNetworksExecution_setOutput(e, 0, NULL, y, sizeof(y)));
	assert_int_not_equal(nn->ANeuralNetworksExecution_compute(e), ANEURALNETWORKS_NO_ERROR);
	assert_int_equal(told.executions, 1);
	assert_true(told.error == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT ||
		    told.error == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
	/* If an execution does not begin, the library calls no callback. */
	assert_result(BAD_STATE, nn->ANeuralNetworksExecution_compute(e));
	assert_int_equal(told.executions, 1);
	nn->ANeuralNetworksExecution_free(e);
	nn->ANeuralNetworksCompilation_free(c);
	nn->ANeuralNetworksModel_free(model);
}

/*
 * Registers only the callback for compilations, then only the callback for executions, and then no
 * callback.
 */
static void test_registration(void **state)
{
	(void)state;
	register_both(NULL);
	nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(compiled, NULL, NULL);
	test_executions(NULL);
	assert_int_equal(told.compilations, 1);
	assert_int_equal(told.executions, 0);
	nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, executed, NULL);
	told.compilations = 0;
	nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, NULL, NULL);
	test_executions(NULL);
	assert_int_equal(told.compilations + told.executions, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_other_device),
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_executions),
		cmocka_unit_test(test_memories),
		cmocka_unit_test(test_caching),
		cmocka_unit_test(test_compilation_diagnostics),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_control_flow_diagnostics),
		cmocka_unit_test(test_execution_diagnostics),
		cmocka_unit_test(test_failed_diagnostics),
		cmocka_unit_test(test_registration),
	};

	/* With the option --level, the test program is a loader that requests a feature level. */
	if (argc > 1 && !strcmp(argv[1], "--level")) {
		if (load(NULL))
			return 1;
		printf("%lld\n", (long long)nn->base.implFeatureLevel);
		return 0;
	}
	setenv("NNACCEL_LOG", "info", 1);
	return cmocka_run_group_tests(tests, load, NULL);
}
