/* SPDX-License-Identifier: MIT */
/*
 * Tests extensions through the NDK's functions, on the device nnaccel with the example and the test
 * plug-ins. The test program writes the list of allowed programs in /etc/nnaccel (see
 * scripts/guest/extensions). All tests are skipped on other machines than the guest of
 * scripts/guest/extensions.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>

#include "../examples/extensions/fibonacci.h"
#include "../examples/extensions/golden.h"
#include "tests/burst_counter.h"
#include "runtime_cache_fixture.h"

#define LIST	"/etc/nnaccel/extensions_app_allowlist"
#define CONFIG	"/etc/nnaccel/extensions.conf"
#define COUNT	8

static ANeuralNetworksDevice *nnaccel;
static const ANeuralNetworksDevice *reference;
static const struct fibonacci_quant quant = { .scale = 0.5, .zero_point = 100 };

/* ---- the list ---- */

static void put(const char *path, const char *format, const char *value)
{
	FILE *file;

	unlink(path);
	if (!format)
		return;
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, format, value);
	assert_int_equal(fclose(file), 0);
}

static const char *own_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	return path;
}

/* Writes the path of the test program to the list of allowed programs. */
static int allow(void **state)
{
	(void)state;
	put(CONFIG, "trusted-prefix %s\n", "/");
	put(LIST, "/opt/other\n%s\n", own_path());
	return 0;
}

/* ---- models ---- */

static int32_t operand_type(ANeuralNetworksModel *model, const char *name, uint16_t code)
{
	int32_t type = 0;

	assert_ok(ANeuralNetworksModel_getExtensionOperandType(model, name, code, &type));
	return type;
}

static ANeuralNetworksOperationType operation_type(ANeuralNetworksModel *model, const char *name,
						   uint16_t code)
{
	ANeuralNetworksOperationType type = 0;

	assert_ok(ANeuralNetworksModel_getExtensionOperationType(model, name, code, &type));
	return type;
}

/*
 * Makes a model with six operands: the count (0), the numbers (1, also an output), the numbers'
 * ratios (2), ones (3), no activation (4), and the sum (5).
 */
static ANeuralNetworksModel *golden_model(const void *data, size_t length)
{
	static const float ones[COUNT - 1] = { 1, 1, 1, 1, 1, 1, 1 };
	const uint32_t eight = COUNT, seven = COUNT - 1, list[] = { 0, 1, 2, 3, 4, 5 };
	const uint32_t sum[] = { 2, 3, 4 }, outputs[] = { 1, 5 };
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksOperandType type;
	ANeuralNetworksModel *m;

	assert_ok(ANeuralNetworksModel_create(&m));
	type = scalar_type(operand_type(m, FIBONACCI_NAME, FIBONACCI_INT64));
	assert_ok(ANeuralNetworksModel_addOperand(m, &type));
	type = tensor_type(1, &eight);
	type.type = operand_type(m, FIBONACCI_NAME, FIBONACCI_TENSOR_QUANT64);
	assert_ok(ANeuralNetworksModel_addOperand(m, &type));
	assert_ok(ANeuralNetworksModel_setOperandExtensionData(m, 1, data, length));
	type = tensor_type(1, &seven);
	assert_ok(ANeuralNetworksModel_addOperand(m, &type));
	assert_ok(ANeuralNetworksModel_addOperand(m, &type));
	assert_ok(ANeuralNetworksModel_setOperandValue(m, 3, ones, sizeof(ones)));
	type = scalar_type(ANEURALNETWORKS_INT32);
	assert_ok(ANeuralNetworksModel_addOperand(m, &type));
	assert_ok(ANeuralNetworksModel_setOperandValue(m, 4, &none, sizeof(none)));
	type = tensor_type(1, &seven);
	assert_ok(ANeuralNetworksModel_addOperand(m, &type));
	assert_ok(ANeuralNetworksModel_addOperation(
		m, operation_type(m, FIBONACCI_NAME, FIBONACCI_FIBONACCI), 1, list, 1, &list[1]));
	assert_ok(ANeuralNetworksModel_addOperation(
		m, operation_type(m, GOLDEN_NAME, GOLDEN_RATIOS), 1, &list[1], 1, &list[2]));
	assert_ok(ANeuralNetworksModel_addOperation(m, ANEURALNETWORKS_ADD, 3, sum, 1, &list[5]));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(m, 1, list, 2, outputs));
	assert_ok(ANeuralNetworksModel_finish(m));
	return m;
}

static ANeuralNetworksCompilation *compile_for_nnaccel(ANeuralNetworksModel *model,
						       const char *cache)
{
	const ANeuralNetworksDevice *const one[] = { nnaccel };
	ANeuralNetworksCompilation *c;

	assert_ok(ANeuralNetworksCompilation_createForDevices(model, one, 1, &c));
	if (cache)
		assert_ok(ANeuralNetworksCompilation_setCaching(c, cache, token));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	return c;
}

/* The input and the outputs of an execution. */
struct results {
	int64_t count;
	int64_t numbers[COUNT];
	float sums[COUNT - 1];
};

static ANeuralNetworksExecution *execution(ANeuralNetworksCompilation *c, struct results *r)
{
	ANeuralNetworksExecution *e;

	*r = (struct results){ .count = COUNT };
	assert_ok(ANeuralNetworksExecution_create(c, &e));
	assert_ok(ANeuralNetworksExecution_setInput(e, 0, NULL, &r->count, sizeof(r->count)));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, r->numbers, sizeof(r->numbers)));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 1, NULL, r->sums, sizeof(r->sums)));
	return e;
}

static void check_results(const struct results *r)
{
	static const int64_t numbers[COUNT] = { 0, 1, 1, 2, 3, 5, 8, 13 };

	for (int i = 0; i < COUNT; i++)
		assert_int_equal(r->numbers[i], numbers[i] * 2 + 100);
	for (int i = 1; i < COUNT - 1; i++)
		assert_float_equal(r->sums[i], (double)numbers[i + 1] / numbers[i] + 1, 1e-6);
}

static void check_sync(ANeuralNetworksCompilation *c)
{
	struct results r;
	ANeuralNetworksExecution *e = execution(c, &r);

	assert_ok(ANeuralNetworksExecution_compute(e));
	check_results(&r);
	ANeuralNetworksExecution_free(e);
}

/* ---- tests: descriptions of extensions ---- */

static void test_support(void **state)
{
	bool supported;

	(void)state;
	assert_ok(ANeuralNetworksDevice_getExtensionSupport(nnaccel, FIBONACCI_NAME, &supported));
	assert_true(supported);
	assert_ok(ANeuralNetworksDevice_getExtensionSupport(nnaccel, GOLDEN_NAME, &supported));
	assert_true(supported);
	assert_ok(ANeuralNetworksDevice_getExtensionSupport(nnaccel, "com.example.x", &supported));
	assert_false(supported);
	assert_ok(ANeuralNetworksDevice_getExtensionSupport(reference, FIBONACCI_NAME,
							    &supported));
	assert_false(supported);
}

static void test_codes(void **state)
{
	ANeuralNetworksModel *model;
	int32_t scalar, tensor, other, unknown;

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	scalar = operand_type(model, FIBONACCI_NAME, FIBONACCI_INT64);
	tensor = operand_type(model, FIBONACCI_NAME, FIBONACCI_TENSOR_QUANT64);
	other = operation_type(model, GOLDEN_NAME, GOLDEN_RATIOS);
	assert_true(scalar >> 16);
	assert_int_equal(scalar >> 16, tensor >> 16);
	assert_int_not_equal(scalar >> 16, other >> 16);
	assert_int_equal(scalar & 0xffff, FIBONACCI_INT64);
	assert_int_equal(other & 0xffff, GOLDEN_RATIOS);
	assert_result(BAD_DATA, ANeuralNetworksModel_getExtensionOperandType(
					model, "com.example.x", 1, &unknown));
	ANeuralNetworksModel_free(model);
}

static void test_operands(void **state)
{
	const uint32_t two = 2, huge[] = { 1u << 20, 1u << 20 };
	ANeuralNetworksOperandType type;
	ANeuralNetworksModel *model;
	int32_t scalar, tensor;

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	scalar = operand_type(model, FIBONACCI_NAME, FIBONACCI_INT64);
	tensor = operand_type(model, FIBONACCI_NAME, FIBONACCI_TENSOR_QUANT64);
	type = tensor_type(1, &two);
	type.type = scalar;
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	type.type = tensor;
	type.scale = 1;
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	type.scale = 0;
	type.zeroPoint = 1;
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	type.zeroPoint = 0;
	type.type = (tensor & ~0xffff) | 99;
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	type.type = 0x7fff0001;
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	type = (ANeuralNetworksOperandType){ tensor, 2, huge, 0, 0 };
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	type = (ANeuralNetworksOperandType){ tensor, 1, &two, 0, 0 };
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValue(model, 0, &quant, 8));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 0, &quant, 16));
	assert_ok(ANeuralNetworksModel_setOperandExtensionData(model, 0, &quant, sizeof(quant)));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandExtensionData(model, 0, &quant, 0));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_setOperandExtensionData(model, 0, NULL, 1));
	assert_ok(ANeuralNetworksModel_setOperandExtensionData(model, 0, NULL, 0));
	ANeuralNetworksModel_free(model);
}

/*
 * A program that is not on the list of allowed programs gets neither types nor operations of
 * extensions. A program gets types and operations of extensions after it is added to the list of
 * allowed programs.
 */
static void test_not_listed(void **state)
{
	const uint32_t list[] = { 0, 1 };
	ANeuralNetworksOperandType type;
	ANeuralNetworksModel *model;
	int32_t operation;

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	type = scalar_type(operand_type(model, FIBONACCI_NAME, FIBONACCI_INT64));
	operation = operation_type(model, FIBONACCI_NAME, FIBONACCI_FIBONACCI);
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	put(LIST, "/opt/other\n", "");
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperation(model, operation, 1, list, 1,
								  &list[1]));
	put(LIST, NULL, NULL);
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	put(LIST, "%s\n", own_path());
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	put(CONFIG, "trusted-prefix %s\n", "/opt");
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	put(CONFIG, "trust-app-name yes\n%s\n", "trusted-prefix /opt");
	put(LIST, "%s\n", "com.example.application");
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperand(model, &type));
	setenv("NNACCEL_APP_NAME", "com.example.application", 1);
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	unsetenv("NNACCEL_APP_NAME");
	allow(NULL);
	assert_ok(ANeuralNetworksModel_addOperation(model, operation, 1, list, 1, &list[1]));
	ANeuralNetworksModel_free(model);
}

/* ---- tests: ways to compile and execute ---- */

static void test_sync(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	ANeuralNetworksCompilation *any, *c = compile_for_nnaccel(model, NULL);

	(void)state;
	check_sync(c);
	check_sync(c);
	ANeuralNetworksCompilation_free(c);
	/*
	 * A compilation that names no device compiles the model for the device that has the
	 * extensions.
	 */
	assert_ok(ANeuralNetworksCompilation_create(model, &any));
	assert_ok(ANeuralNetworksCompilation_finish(any));
	check_sync(any);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

static void test_burst(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	ANeuralNetworksCompilation *c = compile_for_nnaccel(model, NULL);
	ANeuralNetworksBurst *burst;

	(void)state;
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	for (int i = 0; i < 3; i++) {
		struct results r;
		ANeuralNetworksExecution *e = execution(c, &r);

		assert_ok(ANeuralNetworksExecution_burstCompute(e, burst));
		check_results(&r);
		ANeuralNetworksExecution_free(e);
	}
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void test_fenced(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	ANeuralNetworksCompilation *c = compile_for_nnaccel(model, NULL);
	ANeuralNetworksEvent *events[2] = { NULL };
	ANeuralNetworksExecution *e[2];
	struct results r[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		const ANeuralNetworksEvent *const before[] = { events[0] };

		e[i] = execution(c, &r[i]);
		assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
				e[i], before, (uint32_t)i, 0, &events[i]));
	}
	for (int i = 1; i >= 0; i--) {
		assert_ok(ANeuralNetworksEvent_wait(events[i]));
		check_results(&r[i]);
		ANeuralNetworksEvent_free(events[i]);
		ANeuralNetworksExecution_free(e[i]);
	}
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static ANeuralNetworksCompilation *compile_cached(ANeuralNetworksModel *model)
{
	ANeuralNetworksCompilation *c;

	log_begin();
	c = compile_for_nnaccel(model, dir);
	log_end();
	return c;
}

/*
 * A model with extensions and a model without extensions get different cache entries, even if both
 * models have the same token.
 */
static void test_cached(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant)), *plain = add_model(2);
	ANeuralNetworksCompilation *c;

	assert_int_equal(make_dir(state), 0);
	for (uint32_t i = 0; i < 3; i++) {
		c = compile_cached(model);
		assert_logged(i > 0, 0);
		check_sync(c);
		assert_int_equal(list().count, i > 1 ? 2 * FILES : FILES);
		ANeuralNetworksCompilation_free(c);
		if (!i)
			continue;
		ANeuralNetworksCompilation_free(compile_cached(plain));
		assert_logged(i > 1, 0);
		assert_int_equal(list().count, 2 * FILES);
	}
	assert_int_equal(remove_dir(state), 0);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksModel_free(plain);
}

/*
 * The execution writes output 0 to a device memory, and the test copies the contents of the device
 * memory to a file.
 */
static void test_domain(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	ANeuralNetworksCompilation *c = compile_for_nnaccel(model, NULL);
	int file = memfd_create("numbers", MFD_CLOEXEC);
	ANeuralNetworksMemory *domain, *plain;
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksExecution *e;
	struct results r;

	(void)state;
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, c, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_int_equal(context_counter("nnaccel-buffers"), 0);
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &domain));
	assert_int_equal(context_counter("nnaccel-buffers"), 1);
	ANeuralNetworksMemoryDesc_free(desc);
	assert_int_equal(ftruncate(file, sizeof(r.numbers)), 0);
	assert_ok(ANeuralNetworksMemory_createFromFd(sizeof(r.numbers), PROT_READ | PROT_WRITE,
						     file, 0, &plain));
	ANeuralNetworksExecution_free(execution(c, &r));
	assert_ok(ANeuralNetworksExecution_create(c, &e));
	assert_ok(ANeuralNetworksExecution_setInput(e, 0, NULL, &r.count, sizeof(r.count)));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, domain, 0, 0));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 1, NULL, r.sums, sizeof(r.sums)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	assert_ok(ANeuralNetworksMemory_copy(domain, plain));
	assert_int_equal(context_counter("nnaccel-copied-out"), sizeof(r.numbers));
	assert_int_equal(pread(file, r.numbers, sizeof(r.numbers), 0), sizeof(r.numbers));
	check_results(&r);
	ANeuralNetworksExecution_free(e);
	ANeuralNetworksMemory_free(plain);
	ANeuralNetworksMemory_free(domain);
	close(file);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* ---- tests: choice of the device ---- */

static void test_supported(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	const ANeuralNetworksDevice *const first[] = { nnaccel }, *const last[] = { reference };
	bool supported[3];

	(void)state;
	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, first, 1,
									supported));
	assert_true(supported[0] && supported[1] && supported[2]);
	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, last, 1,
									supported));
	assert_true(!supported[0] && !supported[1] && supported[2]);
	ANeuralNetworksModel_free(model);
}

/*
 * The reference device has no extensions, so the reference device cannot compile the model in place
 * of the device nnaccel.
 */
static void test_no_device(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	const ANeuralNetworksDevice *const last[] = { reference };
	ANeuralNetworksCompilation *c;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, last, 1, &c));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_finish(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* The device checks extension data, because the runtime cannot check them. */
static void test_wrong_data(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant) - 1);
	ANeuralNetworksCompilation *c;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_create(model, &c));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_finish(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* If a plug-in fails during an execution, the runtime tries no other device. */
static void test_failing(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	ANeuralNetworksCompilation *c;
	ANeuralNetworksExecution *e;
	struct results r;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_create(model, &c));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	e = execution(c, &r);
	r.count = 1000;
	assert_result(OP_FAILED, ANeuralNetworksExecution_compute(e));
	ANeuralNetworksExecution_free(e);
	check_sync(c);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* Compiles the model with an extension attribute, and with caching unless `cache` is NULL. */
static ANeuralNetworksCompilation *compile_with(ANeuralNetworksModel *model, uint16_t code,
						int64_t value, const char *cache, int *result)
{
	const ANeuralNetworksDevice *const one[] = { nnaccel };
	ANeuralNetworksCompilation *c;

	assert_ok(ANeuralNetworksCompilation_createForDevices(model, one, 1, &c));
	if (cache)
		assert_ok(ANeuralNetworksCompilation_setCaching(c, cache, token));
	assert_ok(ANeuralNetworksCompilation_addExtensionAttribute(c, FIBONACCI_NAME, code, &value,
								   sizeof(value)));
	*result = ANeuralNetworksCompilation_finish(c);
	return c;
}

static void check_modulo(const struct results *r, int64_t modulus, int skip)
{
	static const int64_t numbers[] = { 0, 1, 1, 2, 3, 5, 8, 13, 21, 34 };

	for (int i = 0; i < COUNT; i++)
		assert_int_equal(r->numbers[i], numbers[i + skip] % modulus * 2 + 100);
}

/*
 * Executes the model synchronously, in a burst, and with a fence; each kind of execution runs with
 * and without an attribute.
 */
static void check_attributes(ANeuralNetworksCompilation *c, int64_t modulus)
{
	enum { SYNC, BURST, FENCED, WAYS };
	ANeuralNetworksBurst *burst;
	ANeuralNetworksEvent *event;
	const int64_t two = 2;
	struct results r;

	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	for (int i = 0; i < 2 * WAYS; i++) {
		ANeuralNetworksExecution *e = execution(c, &r);

		if (i % 2)
			assert_ok(ANeuralNetworksExecution_addExtensionAttribute(
					e, FIBONACCI_NAME, FIBONACCI_SKIP, &two, sizeof(two)));
		switch (i / 2) {
		case SYNC:
			assert_ok(ANeuralNetworksExecution_compute(e));
			break;
		case BURST:
			assert_ok(ANeuralNetworksExecution_burstCompute(e, burst));
			break;
		case FENCED:
			assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
					e, NULL, 0, 0, &event));
			assert_ok(ANeuralNetworksEvent_wait(event));
			ANeuralNetworksEvent_free(event);
		}
		check_modulo(&r, modulus, i % 2 ? 2 : 0);
		ANeuralNetworksExecution_free(e);
	}
	ANeuralNetworksBurst_free(burst);
}

static void test_attributes(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	ANeuralNetworksCompilation *c;
	int result;

	(void)state;
	c = compile_with(model, FIBONACCI_MODULUS, 5, NULL, &result);
	assert_int_equal(result, ANEURALNETWORKS_NO_ERROR);
	check_attributes(c, 5);
	ANeuralNetworksCompilation_free(c);
	c = compile_with(model, FIBONACCI_MODULUS, 0, NULL, &result);
	assert_int_equal(result, ANEURALNETWORKS_BAD_DATA);
	ANeuralNetworksCompilation_free(c);
	c = compile_with(model, 77, 1, NULL, &result);
	assert_int_equal(result, ANEURALNETWORKS_BAD_DATA);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * Compilations with different attributes get different cache entries, even if the application gives
 * one token for all compilations.
 */
static void test_attributes_cached(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));

	assert_int_equal(make_dir(state), 0);
	for (int i = 0; i < 4; i++) {
		const int64_t modulus = i % 2 ? 5 : 7;
		ANeuralNetworksCompilation *c;
		int result;

		log_begin();
		c = compile_with(model, FIBONACCI_MODULUS, modulus, dir, &result);
		log_end();
		assert_int_equal(result, ANEURALNETWORKS_NO_ERROR);
		assert_logged(i >= 2, 0);
		check_attributes(c, modulus);
		assert_int_equal(list().count, i ? 2 * FILES : FILES);
		ANeuralNetworksCompilation_free(c);
	}
	assert_int_equal(remove_dir(state), 0);
	ANeuralNetworksModel_free(model);
}

static void test_attribute_rules(void **state)
{
	ANeuralNetworksModel *model = golden_model(&quant, sizeof(quant));
	const ANeuralNetworksDevice *const one[] = { nnaccel };
	ANeuralNetworksCompilation *c, *any;
	const int64_t big = INT64_MAX, none = 0, far = 93;
	ANeuralNetworksExecution *e;
	struct results r;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_create(model, &any));
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, one, 1, &c));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_addExtensionAttribute(
					any, FIBONACCI_NAME, FIBONACCI_MODULUS, &big, sizeof(big)));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_addExtensionAttribute(
					c, "com.example.x", 1, token, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksCompilation_addExtensionAttribute(
					c, FIBONACCI_NAME, FIBONACCI_MODULUS, NULL, 1));
	assert_ok(ANeuralNetworksCompilation_addExtensionAttribute(
			c, FIBONACCI_NAME, FIBONACCI_MODULUS, &big, sizeof(big)));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_addExtensionAttribute(
					c, FIBONACCI_NAME, FIBONACCI_MODULUS, &big, sizeof(big)));
	put(LIST, "/opt/other\n", "");
	assert_result(BAD_DATA, ANeuralNetworksCompilation_addExtensionAttribute(
					c, FIBONACCI_NAME, 3, token, 1));
	allow(NULL);
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_result(BAD_STATE, ANeuralNetworksCompilation_addExtensionAttribute(
					 c, FIBONACCI_NAME, 3, token, 1));
	e = execution(c, &r);
	assert_ok(ANeuralNetworksExecution_addExtensionAttribute(
			e, FIBONACCI_NAME, FIBONACCI_SKIP, &none, sizeof(none)));
	assert_result(BAD_DATA, ANeuralNetworksExecution_addExtensionAttribute(
					e, FIBONACCI_NAME, FIBONACCI_SKIP, token, 1));
	assert_ok(ANeuralNetworksExecution_compute(e));
	check_results(&r);
	assert_result(BAD_STATE, ANeuralNetworksExecution_addExtensionAttribute(
					 e, GOLDEN_NAME, 2, token, 1));
	ANeuralNetworksExecution_free(e);
	/* The device refuses attribute data that the library cannot check. */
	e = execution(c, &r);
	assert_ok(ANeuralNetworksExecution_addExtensionAttribute(
			e, FIBONACCI_NAME, FIBONACCI_SKIP, &far, sizeof(far)));
	assert_result(BAD_DATA, ANeuralNetworksExecution_compute(e));
	ANeuralNetworksExecution_free(e);
	e = execution(c, &r);
	assert_ok(ANeuralNetworksExecution_addExtensionAttribute(e, GOLDEN_NAME, 1, NULL, 0));
	assert_result(BAD_DATA, ANeuralNetworksExecution_compute(e));
	ANeuralNetworksExecution_free(e);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void test_oem(void **state)
{
	const uint8_t in[] = { 1, 2, 3, 4 }, add[] = { 10, 20, 30 }, want[] = { 11, 22, 33, 4 };
	const uint32_t four = 4, list[] = { 0, 1, 2 };
	ANeuralNetworksOperandType type = { ANEURALNETWORKS_TENSOR_OEM_BYTE, 1, &four, 0, 0 };
	ANeuralNetworksCompilation *c;
	ANeuralNetworksExecution *e;
	ANeuralNetworksModel *model;
	uint8_t out[4];

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	type = scalar_type(ANEURALNETWORKS_OEM_SCALAR);
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	type = (ANeuralNetworksOperandType){ ANEURALNETWORKS_TENSOR_OEM_BYTE, 1, &four, 0, 0 };
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_OEM_OPERATION, 2, list,
						    1, &list[2]));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, list, 1, &list[2]));
	assert_ok(ANeuralNetworksModel_finish(model));
	c = compile_for_nnaccel(model, NULL);
	assert_ok(ANeuralNetworksExecution_create(c, &e));
	assert_ok(ANeuralNetworksExecution_setInput(e, 0, NULL, in, sizeof(in)));
	assert_ok(ANeuralNetworksExecution_setInput(e, 1, NULL, add, sizeof(add)));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, out, sizeof(out)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	assert_memory_equal(out, want, sizeof(want));
	ANeuralNetworksExecution_free(e);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * Joins the extensions' group, before the library opens the device. Returns false if the machine
 * has no device nnaccel.
 */
static bool find_devices(void)
{
	const struct group *group = getgrnam("nnaccel-ext");
	uint32_t count;

	if (group && setgroups(1, &group->gr_gid))
		return false;
	if (ANeuralNetworks_getDeviceCount(&count) || count != 2)
		return false;
	return !ANeuralNetworks_getDevice(0, &nnaccel) && (reference = cpu_device());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_support),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_not_listed),
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_fenced),
		cmocka_unit_test(test_cached),
		cmocka_unit_test(test_domain),
		cmocka_unit_test(test_supported),
		cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_wrong_data),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_attributes_cached),
		cmocka_unit_test(test_attribute_rules),
		cmocka_unit_test(test_oem),
	};

	cache_fixture_init();
	if (!find_devices()) {
		printf("ok - extensions # SKIP there is no device nnaccel\n");
		return 0;
	}
	mkdir("/etc/nnaccel", 0755);
	return cmocka_run_group_tests(tests, allow, NULL);
}
