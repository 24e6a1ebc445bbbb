/* SPDX-License-Identifier: MIT */
/*
 * Tests devices, and the rules of compilations: states, settings and preferences.
 */
#define _GNU_SOURCE
#include "runtime_fixture.h"
#include "tests/heap_blocks.h"

static void test_devices(void **state)
{
	ANeuralNetworksDevice *device;
	const char *text;
	int64_t level;
	int32_t type;
	uint32_t count;

	(void)state;
	assert_result(UNEXPECTED_NULL, ANeuralNetworks_getDeviceCount(NULL));
	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	assert_true(count > 0);
	assert_result(UNEXPECTED_NULL, ANeuralNetworks_getDevice(0, NULL));
	assert_result(BAD_DATA, ANeuralNetworks_getDevice(count, &device));
	assert_ok(ANeuralNetworks_getDevice(count - 1, &device));
	assert_ptr_equal(device, cpu_device());

	assert_ok(ANeuralNetworksDevice_getName(device, &text));
	assert_string_equal(text, "nnapi-reference");
	assert_ok(ANeuralNetworksDevice_getType(device, &type));
	assert_int_equal(type, ANEURALNETWORKS_DEVICE_CPU);
	assert_ok(ANeuralNetworksDevice_getVersion(device, &text));
	assert_true(text[0]);
	assert_ok(ANeuralNetworksDevice_getFeatureLevel(device, &level));
	assert_int_equal(level, ANeuralNetworks_getRuntimeFeatureLevel());
	assert_ok(ANeuralNetworksDevice_wait(device));

	assert_result(UNEXPECTED_NULL, ANeuralNetworksDevice_getName(NULL, &text));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksDevice_getName(device, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksDevice_getType(device, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksDevice_getVersion(device, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksDevice_getFeatureLevel(device, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksDevice_wait(NULL));
}

static void test_loop_timeouts(void **state)
{
	(void)state;
	assert_true(ANeuralNetworks_getDefaultLoopTimeout() == 2000000000);
	assert_true(ANeuralNetworks_getMaximumLoopTimeout() == 15000000000);
}

static void test_create(void **state)
{
	const ANeuralNetworksDevice *cpu = cpu_device(), *none = NULL;
	const ANeuralNetworksDevice *twice[] = { cpu, cpu };
	const ANeuralNetworksDevice *stranger = (const ANeuralNetworksDevice *)&twice;
	ANeuralNetworksModel *model = unfinished_add_model(2);
	ANeuralNetworksCompilation *c = (ANeuralNetworksCompilation *)&twice;

	(void)state;
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_create(model, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_create(NULL, &c));
	assert_null(c);
	assert_result(BAD_STATE, ANeuralNetworksCompilation_create(model, &c));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_createForDevices(model, &cpu, 1, &c));
	assert_ok(ANeuralNetworksModel_finish(model));

	assert_result(BAD_DATA, ANeuralNetworksCompilation_createForDevices(model, &cpu, 0, &c));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_createForDevices(model, twice, 2, &c));
	assert_result(BAD_DATA,
		      ANeuralNetworksCompilation_createForDevices(model, &stranger, 1, &c));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksCompilation_createForDevices(model, &none, 1, &c));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksCompilation_createForDevices(model, NULL, 1, &c));
	assert_null(c);
	ANeuralNetworksCompilation_free(NULL);
	ANeuralNetworksModel_free(model);
}

static void test_wishes(void **state)
{
	const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = { 0 };
	const ANeuralNetworksDevice *cpu = cpu_device();
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *any, *one;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_create(model, &any));
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &cpu, 1, &one));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_setPreference(NULL, 0));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_setPreference(any, -1));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_setPreference(any, 3));
	assert_ok(ANeuralNetworksCompilation_setPreference(any, 2));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_setPriority(NULL, 100));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_setPriority(any, 0));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_setPriority(any, 95));
	assert_ok(ANeuralNetworksCompilation_setPriority(any, ANEURALNETWORKS_PRIORITY_LOW));
	assert_ok(ANeuralNetworksCompilation_setPriority(any, ANEURALNETWORKS_PRIORITY_HIGH));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_setTimeout(NULL, 1));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_setTimeout(any, 1));
	assert_ok(ANeuralNetworksCompilation_setTimeout(one, UINT64_MAX));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_setCaching(NULL, "/tmp", token));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_setCaching(any, NULL, token));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_setCaching(any, "/tmp", NULL));
	assert_ok(ANeuralNetworksCompilation_setCaching(any, "/tmp", token));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_addExtensionAttribute(
					any, "com.example.x", 0, token, 1));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_addExtensionAttribute(
					one, "com.example.x", 0, token, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_addExtensionAttribute(
					       one, NULL, 0, token, 1));

	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_finish(NULL));
	assert_ok(ANeuralNetworksCompilation_finish(any));
	assert_ok(ANeuralNetworksCompilation_finish(one));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_finish(any));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_setPreference(any, 0));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_setPriority(any, 100));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_setTimeout(one, 1));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_setCaching(any, "/tmp", token));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_addExtensionAttribute(
					 one, "com.example.x", 0, token, 1));
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksCompilation_free(one);
	ANeuralNetworksModel_free(model);
}

/* A compilation fails if its deadline passes before compiling begins. */
static void test_expired(void **state)
{
	const ANeuralNetworksDevice *cpu = cpu_device();
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksBurst *burst;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &cpu, 1, &compilation));
	assert_result(BAD_STATE, ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksCompilation_setTimeout(compilation, 1));
	assert_result(MISSED_DEADLINE_PERSISTENT, ANeuralNetworksCompilation_finish(compilation));
	/* A compilation that failed at its deadline counts as finished, but cannot be used. */
	assert_result(BAD_STATE, ANeuralNetworksCompilation_finish(compilation));
	assert_result(BAD_STATE, ANeuralNetworksExecution_create(compilation, &execution));
	assert_result(BAD_STATE, ANeuralNetworksBurst_create(compilation, &burst));
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static void test_preferred(void **state)
{
	static int (*const queries[])(const ANeuralNetworksCompilation *, uint32_t, uint32_t *) = {
		ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput,
		ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput,
		ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput,
		ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput,
	};
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *unfinished, *compilation = compile(model, false);
	uint32_t bytes;
	size_t i;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_create(model, &unfinished));
	for (i = 0; i < ARRAY_SIZE(queries); i++) {
		assert_result(UNEXPECTED_NULL, queries[i](NULL, 0, &bytes));
		assert_result(UNEXPECTED_NULL, queries[i](compilation, 0, NULL));
		assert_result(BAD_STATE, queries[i](unfinished, 0, &bytes));
		assert_result(BAD_DATA, queries[i](compilation, 2, &bytes));
		assert_ok(queries[i](compilation, 0, &bytes));
		assert_true(bytes && !(bytes & (bytes - 1)));
	}
	ANeuralNetworksCompilation_free(unfinished);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_devices),
		heap_unit_test(test_loop_timeouts),
		heap_unit_test(test_create),
		cmocka_unit_test(test_wishes),
		heap_unit_test(test_expired),
		heap_unit_test(test_preferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
