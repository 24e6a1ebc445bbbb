/* SPDX-License-Identifier: MIT */
/*
 * Tests the runtime with a fake accelerator: choice of devices, steps on several devices, fallback
 * to the CPU, and times.
 */
#define _GNU_SOURCE
#include <float.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "runtime_fake_accel.h"
#include "runtime/preference.h"
#include "tests/clock_rate.h"
#include "tests/heap_blocks.h"

/* Number of the file that replaces the files of the extensions' configuration, or -1. */
static int configuration = -1;

/* Returns the path to use instead of `path`; `replaced` has room for the path. */
static const char *replace(const char *path, char replaced[32])
{
	if (configuration < 0 || !strstr(path, "/extensions"))
		return path;
	snprintf(replaced, 32, "/proc/self/fd/%d", configuration);
	return replaced;
}

__attribute__((visibility("default"))) int stat(const char *path, struct stat *st)
{
	char replaced[32];

	return fstatat(AT_FDCWD, replace(path, replaced), st, 0);
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	char replaced[32];

	return (int)syscall(SYS_openat, AT_FDCWD, replace(path, replaced), flags, 0600);
}

/* ---- The tests ---- */

static void test_introspection(void **state)
{
	const char *text;
	int64_t level;
	int32_t type;
	uint32_t count;

	(void)state;
	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	assert_int_equal(count, 2);
	assert_ok(ANeuralNetworksDevice_getName(accelerator(), &text));
	assert_string_equal(text, "nnaccel");
	assert_ok(ANeuralNetworksDevice_getVersion(accelerator(), &text));
	assert_string_equal(text, "fake");
	assert_ok(ANeuralNetworksDevice_getType(accelerator(), &type));
	assert_int_equal(type, ANEURALNETWORKS_DEVICE_ACCELERATOR);
	assert_ok(ANeuralNetworksDevice_getFeatureLevel(accelerator(), &level));
	assert_int_equal(level, ANEURALNETWORKS_FEATURE_LEVEL_4);
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
}

static void test_choice(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = compile(model, false);

	(void)state;
	assert_ok(compute_sum(compilation));
	assert_int_equal(accel.executed, 1);
	assert_true(accel.loop_timeout_ns == 2000000000);
	assert_false(accel.saw_deadline);
	ANeuralNetworksCompilation_free(compilation);

	/*
	 * If a compilation prefers low power, the runtime chooses the CPU, even if the CPU device
	 * may use only one thread.
	 */
	for (int is_one = 0; is_one < 2; is_one++)
		for (int preference = 0; preference < 3; preference++) {
			const bool is_fast = preference != ANEURALNETWORKS_PREFER_LOW_POWER;
			const int before = (int)accel.executed;

			assert_ok(ANeuralNetworksCompilation_create(model, &compilation));
			assert_ok(ANeuralNetworksCompilation_setPreference(
				compilation, preference | (is_one ? RUNTIME_ONE_THREAD : 0)));
			assert_ok(ANeuralNetworksCompilation_finish(compilation));
			assert_ok(compute_sum(compilation));
			assert_int_equal(accel.executed, before + is_fast);
			if (is_fast && is_one)
				assert_int_equal(accel.preparation.preference, NNA_PREFER_LOW_POWER);
			ANeuralNetworksCompilation_free(compilation);
		}
	ANeuralNetworksModel_free(model);
}

static const struct nn_performance slow = { 2, 2 };

static void slow_tensors(struct nn_device_info *info)
{
	info->operand[NN_TENSOR_FLOAT32] = slow;
}

/*
 * Gives the device the CPU's performance figures, which are 1. If costs are equal, the CPU computes
 * the operation.
 */
static void equal_tensors(struct nn_device_info *info)
{
	info->operand[NN_TENSOR_FLOAT32] = (struct nn_performance){ 1, 1 };
}

static void slow_relaxed_tensors(struct nn_device_info *info)
{
	info->relaxed_tensor = slow;
}

static void slow_relaxed_scalars(struct nn_device_info *info)
{
	info->relaxed_scalar = slow;
}

/*
 * The device's costs depend on the operands' type. The device's costs of float32 operations also
 * depend on whether the model may compute in fp16.
 */
static void test_costs_of_types(void **state)
{
	static const struct {
		void (*at_info)(struct nn_device_info *info);
		bool is_relaxed, is_on_device;
	} cases[] = {
		{ slow_tensors, false, false }, { slow_tensors, true, true },
		{ equal_tensors, false, false }, { equal_tensors, true, true },
		{ slow_relaxed_tensors, false, true }, { slow_relaxed_tensors, true, false },
		{ slow_relaxed_scalars, false, true }, { slow_relaxed_scalars, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksModel *model = unfinished_add_model(2);
		ANeuralNetworksCompilation *compilation;
		const int before = (int)accel.executed;

		assert_ok(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, cases[i].is_relaxed));
		assert_ok(ANeuralNetworksModel_finish(model));
		accel.at_info = cases[i].at_info;
		compilation = compile(model, false);
		assert_ok(compute_sum(compilation));
		assert_int_equal(accel.executed, before + cases[i].is_on_device);
		ANeuralNetworksCompilation_free(compilation);
		ANeuralNetworksModel_free(model);
	}
}

/* Makes a model out[2, 2] = b + b + ... of `additions` operations, with inputs a[rows, 2] and b[2, 2]. */
static ANeuralNetworksModel *sum_model(uint32_t rows, uint32_t additions)
{
	enum { A, B, NONE, FIRST };
	const uint32_t open[] = { rows, 2 }, dims[] = { 2, 2 }, inputs[] = { A, B };
	const uint32_t out = FIRST + additions - 1;
	const ANeuralNetworksOperandType a = tensor_type(2, open), tensor = tensor_type(2, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (uint32_t i = 0; i < FIRST + additions; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == A ? &a : i == NONE ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, 4));
	for (uint32_t i = 0; i < additions; i++) {
		const uint32_t operands[] = { i ? FIRST + i - 1 : B, B, NONE, FIRST + i };

		assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1,
							    &operands[3]));
	}
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &out));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

static void slow_branching(struct nn_device_info *info)
{
	info->if_performance = (struct nn_performance){ 3, 3 };
	info->operand[NN_TENSOR_FLOAT32] = (struct nn_performance){ 0.1f, 0.1f };
}

static void fast_branching(struct nn_device_info *info)
{
	info->if_performance = (struct nn_performance){ 0.1f, 0.1f };
	info->operand[NN_TENSOR_FLOAT32] = slow;
}

/*
 * The cost of an IF is its own cost and the mean cost of its branches. The CPU executes an IF with an
 * operand of unknown size, even if the device costs less.
 */
static void test_costs_of_branches(void **state)
{
	static const struct {
		void (*at_info)(struct nn_device_info *info);
		uint32_t rows, additions[2];
		bool is_on_device;
	} cases[] = {
		{ slow_branching, 2, { 1, 1 }, false }, { slow_branching, 2, { 4, 4 }, true },
		{ slow_branching, 2, { 1, 7 }, true }, { slow_branching, 2, { 7, 1 }, true },
		{ fast_branching, 2, { 1, 1 }, false }, { NULL, 2, { 1, 4 }, true },
		{ NULL, 0, { 1, 4 }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum { YES, BRANCH, A = 3, B, OUT, COUNT };
		const uint32_t open[] = { cases[i].rows, 2 }, dims[] = { 2, 2 }, one[] = { 1 };
		const uint32_t operands[] = { YES, BRANCH, BRANCH + 1, A, B, OUT }, inputs[] = { YES, A, B };
		const ANeuralNetworksOperandType types[COUNT] = {
			{ ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0, 0 }, scalar_type(ANEURALNETWORKS_MODEL),
			scalar_type(ANEURALNETWORKS_MODEL), tensor_type(2, open), tensor_type(2, dims),
			tensor_type(2, dims),
		};
		ANeuralNetworksModel *model, *branches[2];

		assert_ok(ANeuralNetworksModel_create(&model));
		for (uint32_t k = 0; k < COUNT; k++)
			assert_ok(ANeuralNetworksModel_addOperand(model, &types[k]));
		for (int k = 0; k < 2; k++) {
			branches[k] = sum_model(cases[i].rows, cases[i].additions[k]);
			assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, BRANCH + k, branches[k]));
		}
		assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 5, operands, 1, &operands[5]));
		assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, &operands[5]));
		assert_ok(ANeuralNetworksModel_finish(model));
		accel.supports_all = true;
		accel.at_info = cases[i].at_info;
		accel.prepared = 0;
		ANeuralNetworksCompilation_free(compile(model, false));
		if (accel.prepared != cases[i].is_on_device)
			fail_msg("case %zu: %u models were prepared on the device", i, accel.prepared);
		ANeuralNetworksModel_free(model);
		for (int k = 0; k < 2; k++)
			ANeuralNetworksModel_free(branches[k]);
	}
}

/*
 * If a device cannot reach a model's constants, the runtime queries which operations the device
 * supports, but does not prepare the model on the device.
 */
static void test_unreachable_constant(void **state)
{
	const uint32_t inputs[] = { ADD_A, ADD_B, ADD_ACTIVATION }, output = ADD_SUM;
	const ANeuralNetworksDevice *device = accelerator();
	const uint32_t dims[] = { 2, 2 };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksModel *model;
	bool supported = false;
	void *base;

	(void)state;
	memory = shared_memory(sizeof(add_b), PROT_READ, &base);
	assert_ok(ANeuralNetworksModel_create(&model));
	for (uint32_t i = ADD_A; i <= ADD_SUM; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == ADD_ACTIVATION ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, ADD_ACTIVATION, &none, 4));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
	assert_ok(ANeuralNetworksModel_setOperandValueFromMemory(model, ADD_B, memory, 0,
								 sizeof(add_b)));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	for (int refuses = 0; refuses < 2; refuses++) {
		accel.refuses_imports = !refuses;
		supported = false;
		assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1,
										&supported));
		assert_true(supported);
		assert_int_equal(accel.unreachable, !refuses);
		compilation = for_accelerator(model);
		assert_int_equal(ANeuralNetworksCompilation_finish(compilation),
				 refuses ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_UNMAPPABLE);
		ANeuralNetworksCompilation_free(compilation);
	}
	ANeuralNetworksModel_free(model);
	ANeuralNetworksMemory_free(memory);
	munmap(base, sizeof(add_b));
}

/* The device gets each setting of a compilation as a value of the HAL's enumeration. */
static void test_wishes_arrive(void **state)
{
	static const struct {
		int32_t preference, priority;
		uint32_t hal_preference, hal_priority;
		uint64_t timeout_ns;
	} cases[] = {
		{ ANEURALNETWORKS_PREFER_LOW_POWER, ANEURALNETWORKS_PRIORITY_LOW, NNA_PREFER_LOW_POWER,
		  NNA_PRIORITY_LOW, 0 },
		{ ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER, ANEURALNETWORKS_PRIORITY_MEDIUM, 0, 0,
		  NS_PER_S },
		{ ANEURALNETWORKS_PREFER_SUSTAINED_SPEED, ANEURALNETWORKS_PRIORITY_HIGH,
		  NNA_PREFER_SUSTAINED_SPEED, NNA_PRIORITY_HIGH,
		  UINT64_MAX },
	};
	ANeuralNetworksModel *model = add_model(2);

	(void)state;
	stop_clock_after(0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksCompilation *c = for_accelerator(model);
		uint64_t timeout_ns = cases[i].timeout_ns;

		assert_ok(ANeuralNetworksCompilation_setPreference(c, cases[i].preference));
		assert_ok(ANeuralNetworksCompilation_setPriority(c, cases[i].priority));
		assert_ok(ANeuralNetworksCompilation_setTimeout(c, timeout_ns));
		assert_ok(ANeuralNetworksCompilation_finish(c));
		assert_int_equal(accel.preparation.preference, cases[i].hal_preference);
		assert_int_equal(accel.preparation.priority, cases[i].hal_priority);
		assert_true(accel.preparation.deadline_ns ==
			    (timeout_ns == NS_PER_S ? clock_ns() + NS_PER_S : timeout_ns));
		assert_null(accel.preparation.attributes);
		/*
		 * If a model's worker died, an execution prepares the model again with the
		 * execution's deadline and the compilation's other settings.
		 */
		memset(&accel.preparation, 0, sizeof(accel.preparation));
		accel.worker++;
		assert_ok(compute_sum(c));
		assert_int_equal(accel.preparation.preference, cases[i].hal_preference);
		assert_int_equal(accel.preparation.priority, cases[i].hal_priority);
		assert_int_equal(accel.preparation.deadline_ns, 0);
		ANeuralNetworksCompilation_free(c);
	}
	set_clock_rate(1);
	ANeuralNetworksModel_free(model);
}

/* The device gets arguments without their padding. */
static void test_no_padding_arrives(void **state)
{
	float padded[ADD_ELEMENTS + 4] = { 1, 2, 3, 4, 5, 6, 7, 8 }, sum[ADD_ELEMENTS + 4] = { 0 };
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	ANeuralNetworksExecution *e;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(ANeuralNetworksExecution_create(c, &e));
	assert_ok(ANeuralNetworksExecution_enableInputAndOutputPadding(e, true));
	assert_ok(ANeuralNetworksExecution_setInput(e, 0, NULL, padded, sizeof(padded)));
	assert_ok(ANeuralNetworksExecution_setInput(e, 1, NULL, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	assert_sum(sum);
	for (uint32_t a = 0; a < 3; a++)
		assert_int_equal(accel.arguments[a].length, ADD_ELEMENTS * sizeof(float));
	ANeuralNetworksExecution_free(e);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * The device gets the settings of each execution, inside and outside of a burst. The default loop
 * timeout of burst executions differs from the default loop timeout of other executions.
 */
static void test_limits_arrive(void **state)
{
	const uint64_t usual = ANeuralNetworks_getDefaultLoopTimeout(), most = 15 * NS_PER_S;
	static const struct {
		bool measure;
		uint64_t timeout_ns, loop_timeout_ns, loop_expected;	/* 0: default */
	} cases[] = {
		{ false, 0, 0, 0 }, { true, 0, 0, 0 }, { false, 5, 0, 0 }, { false, 0, 1, 1 },
		{ true, NS_PER_S, 14 * NS_PER_S, 14 * NS_PER_S },
		{ false, 0, 16 * NS_PER_S, 15 * NS_PER_S }, { false, 0, 15 * NS_PER_S, 15 * NS_PER_S },
	};
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	ANeuralNetworksBurst *burst;

	(void)state;
	assert_int_equal(ANeuralNetworks_getMaximumLoopTimeout(), most);
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	stop_clock_after(0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const bool in_burst = i % 2;
		const size_t k = i / 2;
		ANeuralNetworksExecution *e = add_execution(c);
		float sum[ADD_ELEMENTS] = { 0 };

		assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, sum, sizeof(sum)));
		assert_ok(ANeuralNetworksExecution_setMeasureTiming(e, cases[k].measure));
		assert_ok(ANeuralNetworksExecution_setTimeout(e, cases[k].timeout_ns));
		if (cases[k].loop_timeout_ns)
			assert_ok(ANeuralNetworksExecution_setLoopTimeout(e, cases[k].loop_timeout_ns));
		assert_ok(in_burst ? ANeuralNetworksExecution_burstCompute(e, burst) :
			  ANeuralNetworksExecution_compute(e));
		assert_sum(sum);
		assert_int_equal(accel.execution.measure, cases[k].measure);
		assert_true(accel.execution.deadline_ns ==
			    (cases[k].timeout_ns ? clock_ns() + cases[k].timeout_ns : 0));
		assert_true(accel.execution.loop_timeout_ns ==
			    (cases[k].loop_expected ? cases[k].loop_expected : in_burst ? 0 : usual));
		/* Each input and output begins on a separate cache line of the pool. */
		for (uint32_t a = 0; a < 3; a++) {
			assert_int_equal(accel.arguments[a].pool, 0);
			assert_int_equal(accel.arguments[a].offset, 64 * a);
			assert_int_equal(accel.arguments[a].length, sizeof(sum));
			assert_int_equal(accel.arguments[a].rank, 2);
			assert_int_equal(accel.arguments[a].dims[0] * accel.arguments[a].dims[1], 4);
			assert_false(accel.arguments[a].has_no_value);
		}
		ANeuralNetworksExecution_free(e);
	}
	assert_int_equal(accel.in_bursts, ARRAY_SIZE(cases));
	set_clock_rate(1);
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * For an omitted argument, the runtime sets only has_no_value in the argument that the device gets.
 */
static void test_omitted_argument(void **state)
{
	static const struct nna_argument none = { .has_no_value = true };
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksExecution *execution;
	float sum[ADD_ELEMENTS];

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, add_a, sizeof(add_a)));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, NULL, 0));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	accel.execute_status = NN_GENERAL_FAILURE;
	assert_result(OP_FAILED, ANeuralNetworksExecution_compute(execution));
	assert_false(accel.arguments[0].has_no_value);
	assert_memory_equal(&accel.arguments[1], &none, sizeof(none));
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static void test_memory_arguments(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksExecution *execution;
	ANeuralNetworksMemory *memory, *readonly, *writeonly;
	void *base, *readonly_base, *writeonly_base;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	memory = shared_memory(64, PROT_READ | PROT_WRITE, &base);
	readonly = shared_memory(64, PROT_READ, &readonly_base);
	writeonly = shared_memory(64, PROT_WRITE, &writeonly_base);
	memcpy((uint8_t *)base + 16, add_a, sizeof(add_a));
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 16, 16));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 48, 16));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_sum((float *)((uint8_t *)base + 48));
	ANeuralNetworksExecution_free(execution);

	execution = add_execution(compilation);
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, readonly, 0,
							       16));
	assert_result(UNMAPPABLE, ANeuralNetworksExecution_compute(execution));
	ANeuralNetworksExecution_free(execution);
	assert_int_equal(accel.executed, 1);

	execution = add_execution(compilation);
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, writeonly, 0,
							       16));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_sum(writeonly_base);
	ANeuralNetworksExecution_free(execution);
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, writeonly, 0,
							      16));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 16));
	assert_result(UNMAPPABLE, ANeuralNetworksExecution_compute(execution));
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksMemory_free(readonly);
	ANeuralNetworksMemory_free(writeonly);
	munmap(base, 64);
	munmap(readonly_base, 64);
	munmap(writeonly_base, 64);
	ANeuralNetworksModel_free(model);
}

/* Makes an execution of add_model(2) whose arguments follow each other in a memory of 48 bytes. */
static ANeuralNetworksExecution *execution_in(ANeuralNetworksCompilation *compilation,
					      ANeuralNetworksMemory *memory)
{
	ANeuralNetworksExecution *e;

	assert_ok(ANeuralNetworksExecution_create(compilation, &e));
	for (int k = 0; k < 2; k++)
		assert_ok(ANeuralNetworksExecution_setInputFromMemory(e, k, NULL, memory, 16 * k, 16));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, memory, 32, 16));
	return e;
}

/* An execution whose fence has not signalled yet has not ended. Its fence may be a dependency. */
static void test_running_fence(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksExecution *executions[2];
	ANeuralNetworksEvent *events[2];
	ANeuralNetworksMemory *memory;
	const uint64_t one = 1;
	int fences[2];
	uint32_t rank;
	void *base;

	(void)state;
	accel.has_fences = accel.runs_on = true;
	memory = shared_memory(48, PROT_READ | PROT_WRITE, &base);
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	for (uint32_t i = 0; i < 2; i++) {
		executions[i] = execution_in(compilation, memory);
		assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
				executions[i], (const ANeuralNetworksEvent *const *)events, i, 0, &events[i]));
		assert_int_equal(accel.fenced, i + 1);
		assert_int_equal(accel.num_dependencies, i);
		fences[i] = accel.fence;
	}
	for (uint32_t i = 0; i < 2; i++) {
		assert_result(BAD_STATE, ANeuralNetworksExecution_getOutputOperandRank(executions[i], 0, &rank));
		assert_result(BAD_STATE, ANeuralNetworksExecution_compute(executions[i]));
		assert_int_equal(write(fences[i], &one, sizeof(one)), sizeof(one));
		assert_ok(ANeuralNetworksExecution_getOutputOperandRank(executions[i], 0, &rank));
		assert_ok(ANeuralNetworksEvent_wait(events[i]));
		ANeuralNetworksEvent_free(events[i]);
		ANeuralNetworksExecution_free(executions[i]);
	}
	ANeuralNetworksMemory_free(memory);
	munmap(base, 48);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * An execution has a fence if its dependency without a fence has succeeded. If the dependency runs or
 * has failed, a thread waits for the dependency and runs the execution.
 */
static void test_dependency_without_fence(void **state)
{
	enum { SUCCEEDED, FAILED, RUNNING, KINDS };
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksMemory *memory;
	float sum[ADD_ELEMENTS];
	void *base;

	(void)state;
	accel.has_fences = true;
	memory = shared_memory(48, PROT_READ | PROT_WRITE, &base);
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	nna_log_set(take_line, NULL, NNA_LOG_ERROR);
	for (int kind = 0; kind < KINDS; kind++) {
		ANeuralNetworksExecution *first = add_execution(compilation), *e = execution_in(compilation, memory);
		ANeuralNetworksEvent *dependency, *event;

		accel.fenced = 0;
		accel.execute_status = kind == FAILED ? NN_GENERAL_FAILURE : NN_OK;
		accel.blocks = kind == RUNNING;
		assert_ok(ANeuralNetworksExecution_setOutput(first, 0, NULL, sum, sizeof(sum)));
		assert_ok(ANeuralNetworksExecution_startCompute(first, &dependency));
		if (kind == RUNNING) {
			sem_wait(&accel.entered);
			accel.blocks = false;
		} else {
			assert_int_equal(ANeuralNetworksEvent_wait(dependency),
					 kind == FAILED ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_NO_ERROR);
			/* Signals are for the threads of the application. */
			assert_true(sigismember(&accel.blocked, SIGUSR1));
		}
		if (kind == FAILED)
			assert_string_equal(last_line,
					    "ANeuralNetworksEvent_wait: OP_FAILED: nnaccel: told to fail");
		accel.execute_status = NN_OK;
		assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
				e, (const ANeuralNetworksEvent *const *)&dependency, 1, 0, &event));
		assert_int_equal(accel.fenced, kind == SUCCEEDED);
		if (kind == RUNNING)
			sem_post(&accel.go);
		assert_int_equal(ANeuralNetworksEvent_wait(event),
				 kind == FAILED ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_NO_ERROR);
		ANeuralNetworksEvent_free(dependency);
		ANeuralNetworksEvent_free(event);
		ANeuralNetworksExecution_free(first);
		ANeuralNetworksExecution_free(e);
	}
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	ANeuralNetworksMemory_free(memory);
	munmap(base, 48);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * A device gets the earlier of two deadlines: the timeout of the execution, and the duration after
 * the dependencies, here without any.
 */
static void test_duration(void **state)
{
	static const uint64_t hour = UINT64_C(3600000000000);
	static const struct { uint64_t timeout, duration, first; } cases[] = {
		{ 0, 2 * hour, 2 * hour }, { 2 * hour, 0, 2 * hour }, { hour, 2 * hour, hour },
		{ 2 * hour, hour, hour },
	};
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksExecution *e = add_execution(compilation);
		const uint64_t before_ns = clock_ns();
		ANeuralNetworksEvent *event;
		float sum[ADD_ELEMENTS];

		assert_ok(ANeuralNetworksExecution_setTimeout(e, cases[i].timeout));
		assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, sum, sizeof(sum)));
		assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(e, NULL, 0, cases[i].duration,
										&event));
		assert_ok(ANeuralNetworksEvent_wait(event));
		assert_true(accel.execution.deadline_ns >= before_ns + cases[i].first &&
			    accel.execution.deadline_ns <= clock_ns() + cases[i].first);
		ANeuralNetworksEvent_free(event);
		ANeuralNetworksExecution_free(e);
	}
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/* The runtime requests the hardware fence of an execution only once, and stores the result. */
static void test_sync_file(void **state)
{
	static const struct {
		enum nn_status status;
		int first, second;
	} cases[] = {
		{ NN_OK, ANEURALNETWORKS_NO_ERROR, ANEURALNETWORKS_NO_ERROR },
		{ NN_GENERAL_FAILURE, ANEURALNETWORKS_BAD_DATA, ANEURALNETWORKS_BAD_DATA },
		{ NN_INVALID_ARGUMENT, ANEURALNETWORKS_BAD_DATA, ANEURALNETWORKS_BAD_DATA },
		{ NN_DEAD_OBJECT, ANEURALNETWORKS_BAD_DATA, ANEURALNETWORKS_BAD_DATA },
		/*
		 * A shortage of memory or file descriptors is temporary, so the runtime does not
		 * store the shortage as the fence's result.
		 */
		{ NN_OUT_OF_MEMORY, ANEURALNETWORKS_OUT_OF_MEMORY, ANEURALNETWORKS_NO_ERROR },
		{ NN_RESOURCE_EXHAUSTED_TRANSIENT, ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT,
		  ANEURALNETWORKS_NO_ERROR },
	};
	ANeuralNetworksModel *model = add_model(2);
	const ANeuralNetworksDevice *device = nnaccel_device();
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksMemory *memory;
	int file = memfd_create("memory", MFD_CLOEXEC);

	(void)state;
	accel.has_fences = true;
	assert_int_equal(ftruncate(file, 48), 0);
	assert_ok(ANeuralNetworksMemory_createFromFd(48, PROT_READ | PROT_WRITE, file, 0, &memory));
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksExecution *e;
		ANeuralNetworksEvent *event;
		uint64_t count;
		int fds[2];

		e = execution_in(compilation, memory);
		assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(e, NULL, 0, 0,
										&event));
		accel.sync_files = 0;
		for (int k = 0; k < 2; k++) {
			const int want = k ? cases[i].second : cases[i].first;

			accel.sync_file_status = k ? !cases[i].status : cases[i].status;
			fds[k] = 0;
			assert_int_equal(ANeuralNetworksEvent_getSyncFenceFd(event, &fds[k]), want);
			assert_int_equal(fds[k] > 0, want == ANEURALNETWORKS_NO_ERROR);
			assert_ok(ANeuralNetworksEvent_wait(event));
		}
		assert_int_equal(accel.sync_files, cases[i].first == cases[i].second ? 1 : 2);
		ANeuralNetworksEvent_free(event);
		ANeuralNetworksExecution_free(e);
		/*
		 * The caller gets its own file descriptor of the fence, not the descriptor that the
		 * runtime keeps.
		 */
		if (cases[i].second != ANEURALNETWORKS_NO_ERROR)
			continue;
		assert_int_not_equal(fds[0], fds[1]);
		if (fds[0] > 0)
			close(fds[0]);
		assert_int_equal(read(fds[1], &count, sizeof(count)), sizeof(count));
		assert_int_equal(count, 2);
		close(fds[1]);
	}
	accel.sync_file_status = NN_OK;
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksModel_free(model);
	close(file);
}

/*
 * Makes a model t = a + b, u = t * a, v = u + b, out = v + t. Only the CPU device computes
 * products, so the accelerator passes t to the CPU, and the CPU passes u to the accelerator. If
 * `rows` is 0, the number of rows of the model's tensors is unknown.
 */
static ANeuralNetworksModel *mixed_model(uint32_t rows)
{
	enum { A, B, NONE, T, U, V, OUT, COUNT };
	const struct {
		int32_t operation;
		uint32_t inputs[3];
		uint32_t output;
	} operations[] = {
		{ ANEURALNETWORKS_ADD, { V, T, NONE }, OUT },
		{ ANEURALNETWORKS_ADD, { U, B, NONE }, V },
		{ ANEURALNETWORKS_MUL, { T, A, NONE }, U },
		{ ANEURALNETWORKS_ADD, { A, B, NONE }, T },
	};
	const uint32_t dims[] = { rows, 2 }, inputs[] = { A, B }, outputs[] = { OUT };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;
	uint32_t i;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (i = 0; i < COUNT; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == NONE ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, 4));
	for (i = 0; i < ARRAY_SIZE(operations); i++)
		assert_ok(ANeuralNetworksModel_addOperation(model, operations[i].operation, 3,
							    operations[i].inputs, 1,
							    &operations[i].output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/*
 * The log says how many operations only the CPU can compute, unless the CPU is the only device. The
 * order in which the devices are named makes no difference.
 */
static void test_says_refused(void **state)
{
	const ANeuralNetworksDevice *cpu = cpu_device(), *device = accelerator();
	const ANeuralNetworksDevice *const named[][2] = { { device, cpu }, { cpu, device }, { cpu } };
	ANeuralNetworksModel *model = mixed_model(2);

	(void)state;
	nna_log_set(take_line, NULL, NNA_LOG_WARN);
	for (uint32_t i = 0; i < 3; i++) {
		ANeuralNetworksCompilation *compilation;

		last_line[0] = '\0';
		assert_ok(ANeuralNetworksCompilation_createForDevices(model, named[i], i < 2 ? 2 : 1,
								      &compilation));
		assert_ok(ANeuralNetworksCompilation_finish(compilation));
		assert_string_equal(last_line, i == 2 ? "" :
				    "the CPU computes 1 of 4 operations, because no other device takes them; "
				    "the first is operation 1 (MUL)");
		ANeuralNetworksCompilation_free(compilation);
	}
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	ANeuralNetworksModel_free(model);
}

static void assert_mixed_outputs(const float *out)
{
	for (int i = 0; i < ADD_ELEMENTS; i++) {
		float t = add_a[i] + add_b[i];

		assert_true(out[i] == t * add_a[i] + add_b[i] + t);
	}
}

static void assert_mixed(ANeuralNetworksCompilation *compilation)
{
	ANeuralNetworksExecution *execution = add_execution(compilation);
	float out[ADD_ELEMENTS];
	int round;

	assert_ok(ANeuralNetworksExecution_setReusable(execution, true));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof(out)));
	for (round = 0; round < 2; round++) {
		memset(out, 0, sizeof(out));
		assert_ok(ANeuralNetworksExecution_compute(execution));
		assert_mixed_outputs(out);
	}
	ANeuralNetworksExecution_free(execution);
}

static void test_steps(void **state)
{
	ANeuralNetworksModel *model = mixed_model(2);
	ANeuralNetworksCompilation *compilation = compile(model, false);
	bool supported[4];
	const ANeuralNetworksDevice *device = accelerator();

	(void)state;
	/*
	 * The accelerator has two steps of the model: one before the product, and one after the
	 * product.
	 */
	assert_int_equal(accel.prepared, 2);
	assert_mixed(compilation);
	assert_int_equal(accel.executed, 4);
	ANeuralNetworksCompilation_free(compilation);

	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1,
									supported));
	assert_true(supported[0] && supported[1] && !supported[2] && supported[3]);
	/*
	 * The compilation fails because the only named device, the accelerator, does not support
	 * operation 2.
	 */
	compilation = for_accelerator(model);
	assert_result(BAD_DATA, ANeuralNetworksCompilation_finish(compilation));
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static int make_memory(ANeuralNetworksCompilation *compilation, bool output,
		       ANeuralNetworksMemory **memory)
{
	ANeuralNetworksMemoryDesc *desc;
	int result;

	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	if (output)
		assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 0.5f));
	else
		assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 0.25f));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	result = ANeuralNetworksMemory_createFromDesc(desc, memory);
	ANeuralNetworksMemoryDesc_free(desc);
	return result;
}

/*
 * In mixed_model(), the CPU and the accelerator read the same input, so a memory for this input
 * cannot be a device's own memory. The memory is made in shared memory if the compilation names no
 * device; otherwise the call fails.
 */
static void test_memory_of_two(void **state)
{
	const ANeuralNetworksDevice *both[] = { accelerator(), cpu_device() };
	ANeuralNetworksModel *model = mixed_model(2);
	ANeuralNetworksCompilation *named, *any = compile(model, false);
	ANeuralNetworksMemory *memory, *host;
	ANeuralNetworksExecution *execution;
	float out[ADD_ELEMENTS];
	void *base;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, both, 2, &named));
	assert_ok(ANeuralNetworksCompilation_finish(named));
	assert_result(OP_FAILED, make_memory(named, false, &memory));
	assert_null(memory);

	assert_ok(make_memory(any, false, &memory));
	host = shared_memory(sizeof(add_a), PROT_READ | PROT_WRITE, &base);
	memcpy(base, add_a, sizeof(add_a));
	assert_ok(ANeuralNetworksMemory_copy(host, memory));
	assert_ok(ANeuralNetworksExecution_create(any, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof(out)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_int_equal(accel.executed, 2);
	assert_true(out[0] == 11 * add_a[0] + add_b[0] + 11);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksMemory_free(host);
	munmap(base, sizeof(add_a));
	ANeuralNetworksCompilation_free(named);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

static void import_dma_bufs(struct nn_device_info *info)
{
	info->memory = NN_DEVICE_MEMORY_DMA_BUF;
}

/*
 * If a device has no memory left for operands that several devices access, the runtime uses memory
 * of files instead.
 */
static void test_no_device_memory(void **state)
{
	ANeuralNetworksModel *model = mixed_model(2);
	ANeuralNetworksCompilation *any;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksExecution *execution;
	float out[ADD_ELEMENTS];

	(void)state;
	accel.at_info = import_dma_bufs;
	any = compile(model, false);
	accel.alloc_status = NN_RESOURCE_EXHAUSTED_TRANSIENT;
	assert_ok(make_memory(any, false, &memory));
	execution = add_execution(any);
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof(out)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_true(out[0] == 11 * add_a[0] + add_b[0] + 11);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

/*
 * If the CPU replaces a device, the runtime copies the device's buffers to memory for the CPU, and
 * copies the results back to the buffers.
 */
static void test_fallback_with_buffers(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *any = compile(model, false);
	ANeuralNetworksMemory *input, *output, *host;
	ANeuralNetworksExecution *execution;
	void *base;

	(void)state;
	accel.has_buffers = true;
	assert_ok(make_memory(any, false, &input));
	assert_ok(make_memory(any, true, &output));
	host = shared_memory(sizeof(add_a), PROT_READ | PROT_WRITE, &base);
	memcpy(base, add_a, sizeof(add_a));
	assert_ok(ANeuralNetworksMemory_copy(host, input));
	assert_int_equal(accel.buffers_read + accel.buffers_written, 0);

	accel.execute_status = NN_GENERAL_FAILURE;
	assert_ok(ANeuralNetworksExecution_create(any, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, input, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, output, 0, 0));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_int_equal(accel.executed, 1);
	assert_int_equal(accel.buffers_read, 1);
	assert_int_equal(accel.buffers_written, 1);
	assert_ok(ANeuralNetworksMemory_copy(output, host));
	assert_sum(base);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(input);
	ANeuralNetworksMemory_free(output);
	ANeuralNetworksMemory_free(host);
	munmap(base, sizeof(add_a));
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

/*
 * The runtime copies a buffer to another buffer through the process's memory. If writing the
 * destination buffer fails, the destination buffer is uninitialised.
 */
static void test_copies_of_buffers(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *any = compile(model, false);
	ANeuralNetworksMemory *from, *to, *host;
	void *base;

	(void)state;
	accel.has_buffers = true;
	assert_ok(make_memory(any, false, &from));
	assert_ok(make_memory(any, true, &to));
	host = shared_memory(sizeof(add_a), PROT_READ | PROT_WRITE, &base);
	memcpy(base, add_a, sizeof(add_a));
	assert_ok(ANeuralNetworksMemory_copy(host, from));
	memset(base, 0, sizeof(add_a));
	assert_ok(ANeuralNetworksMemory_copy(from, to));
	assert_int_equal(accel.buffers_read, 1);
	assert_int_equal(accel.buffers_written, 1);
	assert_ok(ANeuralNetworksMemory_copy(to, host));
	assert_memory_equal(base, add_a, sizeof(add_a));

	accel.failing_writes = 1;
	assert_result(OP_FAILED, ANeuralNetworksMemory_copy(from, to));
	assert_int_equal(accel.buffers_read, 2);
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(to, host));
	accel.failing_reads = 1;
	assert_result(OP_FAILED, ANeuralNetworksMemory_copy(from, to));
	assert_int_equal(accel.buffers_written, 1);
	ANeuralNetworksMemory_free(from);
	ANeuralNetworksMemory_free(to);
	ANeuralNetworksMemory_free(host);
	munmap(base, sizeof(add_a));
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

/*
 * Makes a model out = a * b + b, which has one step for the CPU and then one step for the device.
 */
static ANeuralNetworksModel *two_steps_model(void)
{
	enum { A, B, NONE, T, OUT, COUNT };
	const uint32_t dims[] = { 2, 2 }, inputs[] = { A, B }, product = T, output = OUT;
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (uint32_t i = 0; i < COUNT; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == NONE ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, 4));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3,
						    (const uint32_t[]){ A, B, NONE }, 1, &product));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3,
						    (const uint32_t[]){ T, B, NONE }, 1, &output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/*
 * If a step fails on the device, the CPU computes the step. If the CPU's result cannot be written
 * to the device's memory, the CPU executes the whole model, which may fail, too.
 */
static void test_fallback_of_whole(void **state)
{
#define TAKES_PLACE "the CPU computes instead of nnaccel after this error: OP_FAILED: told to fail"
#define WHOLE "the CPU executes the whole model after this error: OP_FAILED: nnaccel: told not to " \
	      "take it"
#define FAILS "ANeuralNetworksExecution_compute: OP_FAILED: "
	static const struct {
		uint32_t steps, failing_writes;
		bool is_good;
		const char *line;
	} cases[] = {
		{ 1, 0, true, TAKES_PLACE },
		{ 1, 1, false, FAILS "nnaccel: told not to take it" },
		{ 2, 0, true, TAKES_PLACE },
		{ 2, 1, true, WHOLE },
		{ 2, 2, false, FAILS "told not to take it" },
		{ 3, 0, true, TAKES_PLACE },
		{ 3, 1, true, WHOLE },
		{ 3, 2, false, FAILS "told not to take it" },
	};
	ANeuralNetworksMemory *host;
	float *base;

	(void)state;
	host = shared_memory(sizeof(add_a), PROT_READ | PROT_WRITE, (void **)&base);
	nna_log_set(take_line, NULL, NNA_LOG_WARN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksModel *model = cases[i].steps == 1 ? add_model(2) :
					      cases[i].steps == 2 ? two_steps_model() : mixed_model(2);
		ANeuralNetworksCompilation *any = compile(model, false);
		ANeuralNetworksExecution *execution = add_execution(any);
		ANeuralNetworksMemory *output;

		reset(NULL);
		accel.has_buffers = true;
		assert_ok(make_memory(any, true, &output));
		accel.execute_status = NN_GENERAL_FAILURE;
		accel.failing_writes = cases[i].failing_writes;
		assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, output, 0, 0));
		assert_int_equal(ANeuralNetworksExecution_compute(execution), cases[i].is_good ?
				 ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OP_FAILED);
		assert_string_equal(last_line, cases[i].line);
		assert_int_equal(accel.failing_writes, 0);
		assert_int_equal(accel.buffers_written, cases[i].is_good);
		memset(base, 0, sizeof(add_a));
		assert_int_equal(ANeuralNetworksMemory_copy(output, host), cases[i].is_good ?
				 ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA);
		if (cases[i].is_good && cases[i].steps == 1)
			assert_sum(base);
		if (cases[i].is_good && cases[i].steps == 3)
			assert_mixed_outputs(base);
		for (int k = 0; k < ADD_ELEMENTS && cases[i].is_good && cases[i].steps == 2; k++)
			assert_true(base[k] == add_a[k] * add_b[k] + add_b[k]);
		ANeuralNetworksExecution_free(execution);
		ANeuralNetworksMemory_free(output);
		ANeuralNetworksCompilation_free(any);
		ANeuralNetworksModel_free(model);
	}
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	ANeuralNetworksMemory_free(host);
	munmap(base, sizeof(add_a));
}

static void test_unknown_size_between_steps(void **state)
{
	const ANeuralNetworksDevice *both[] = { accelerator(), cpu_device() };
	ANeuralNetworksModel *model = mixed_model(0);
	ANeuralNetworksCompilation *compilation;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, both, 2, &compilation));
	assert_result(OP_FAILED, ANeuralNetworksCompilation_finish(compilation));
	ANeuralNetworksCompilation_free(compilation);
	/* If fallback is allowed, the CPU computes all operations. */
	compilation = compile(model, false);
	assert_int_equal(accel.prepared, 0);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * The pool numbers of arguments count the memories first, and then the buffers; each memory or
 * buffer has one number.
 */
static void test_pools_of_buffers(void **state)
{
	enum { BUFFER_A = 1, BUFFER_B = 2, BUFFER_OUT = 4, SAME = 8 };
	static const struct {
		unsigned int buffers;
		uint32_t num_memories, num_tokens, pools[3];
	} cases[] = {
		{ 0, 1, 0, { 0, 0, 0 } }, { BUFFER_A, 1, 1, { 1, 0, 0 } }, { BUFFER_B, 1, 1, { 0, 1, 0 } },
		{ BUFFER_OUT, 1, 1, { 0, 0, 1 } }, { BUFFER_A | BUFFER_B, 1, 2, { 1, 2, 0 } },
		{ BUFFER_A | BUFFER_B | BUFFER_OUT, 0, 3, { 0, 1, 2 } },
		{ BUFFER_A | BUFFER_B | SAME, 1, 1, { 1, 1, 0 } },
	};
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);

	(void)state;
	accel.has_buffers = true;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksMemory *memories[3], *host;
		ANeuralNetworksExecution *execution;
		ANeuralNetworksMemoryDesc *desc;
		float sum[ADD_ELEMENTS];
		void *base;

		accel.tokens = 0;
		host = shared_memory(sizeof(add_a), PROT_READ | PROT_WRITE, &base);
		for (uint32_t k = 0; k < 3; k++) {
			assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
			if (k < 2) {
				assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1));
				assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 1, 1));
			} else {
				assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1));
			}
			assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
			assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memories[k]));
			ANeuralNetworksMemoryDesc_free(desc);
			if (k < 2)
				assert_ok(ANeuralNetworksMemory_copy(host, memories[k]));
		}
		assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
		for (uint32_t k = 0; k < 2; k++) {
			if (cases[i].buffers >> k & 1)
				assert_ok(ANeuralNetworksExecution_setInputFromMemory(
						execution, (int32_t)k, NULL,
						memories[cases[i].buffers & SAME ? 0 : k], 0, 0));
			else
				assert_ok(ANeuralNetworksExecution_setInput(execution, (int32_t)k, NULL,
									    add_a, sizeof(add_a)));
		}
		if (cases[i].buffers & BUFFER_OUT)
			assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL,
									       memories[2], 0, 0));
		else
			assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
		assert_ok(ANeuralNetworksExecution_compute(execution));
		assert_int_equal(accel.num_memories, cases[i].num_memories);
		assert_int_equal(accel.num_tokens, cases[i].num_tokens);
		for (uint32_t k = 0; k < 3; k++) {
			bool is_buffer = cases[i].buffers >> k & 1;

			assert_int_equal(accel.arguments[k].pool, cases[i].pools[k]);
			assert_int_equal(accel.arguments[k].length, is_buffer ? 0 : sizeof(sum));
			if (is_buffer)
				assert_int_equal(accel.asked_tokens[accel.arguments[k].pool -
								    accel.num_memories],
						 1 + (cases[i].buffers & SAME ? 0 : k));
		}
		ANeuralNetworksExecution_free(execution);
		for (uint32_t k = 0; k < 3; k++)
			ANeuralNetworksMemory_free(memories[k]);
		ANeuralNetworksMemory_free(host);
		munmap(base, sizeof(add_a));
	}
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * Executes sum = a + b for `rows` rows, with a[rows, 2] or sum[rows, 2] in a memory, and the other of
 * both at a pointer. Returns the execution's result.
 */
static int compute_rows(ANeuralNetworksCompilation *compilation, ANeuralNetworksMemory *memory, bool reads,
			uint32_t rows)
{
	const uint32_t dims[] = { rows, 2 };
	const ANeuralNetworksOperandType type = tensor_type(2, dims);
	const size_t size = rows * 2 * sizeof(float);
	float values[16] = { 0 }, sum[16];
	ANeuralNetworksExecution *execution;
	int result;

	accel.rows = rows;
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, &type, values, size));
	if (reads) {
		assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, &type, memory, 0, 0));
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, size));
	} else {
		assert_ok(ANeuralNetworksExecution_setInput(execution, 0, &type, values, size));
		assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 0));
	}
	result = ANeuralNetworksExecution_compute(execution);
	ANeuralNetworksExecution_free(execution);
	return result;
}

/* A memory of unknown shape has the shape of the last output, and can be read with this shape only. */
static void test_shapes_of_buffers(void **state)
{
	ANeuralNetworksModel *model = add_model(0);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;

	(void)state;
	accel.has_buffers = true;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	assert_result(OP_FAILED, compute_rows(compilation, memory, true, 3));
	for (uint32_t rows = 3; rows < 6; rows++) {
		assert_ok(compute_rows(compilation, memory, false, rows));
		assert_ok(compute_rows(compilation, memory, true, rows));
		assert_result(OP_FAILED, compute_rows(compilation, memory, true, rows + 1));
		assert_result(OP_FAILED, compute_rows(compilation, memory, true, rows - 1));
	}
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/* A failed call writes a log line with the call, the result, the device and the device's reason. */
static void test_reasons(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);

	(void)state;
	nna_log_set(take_line, NULL, NNA_LOG_ERROR);
	accel.prepare_status = NN_GENERAL_FAILURE;
	assert_result(OP_FAILED, ANeuralNetworksCompilation_finish(compilation));
	assert_string_equal(last_line, "ANeuralNetworksCompilation_finish: OP_FAILED: told to fail");
	ANeuralNetworksCompilation_free(compilation);
	accel.prepare_status = NN_OK;
	compilation = for_accelerator(model);
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	accel.execute_status = NN_GENERAL_FAILURE;
	accel.reason = "100%% of it fails";
	assert_result(OP_FAILED, compute_sum(compilation));
	assert_string_equal(last_line, "ANeuralNetworksExecution_compute: OP_FAILED: nnaccel: 100%% of it fails");
	accel.execute_status = NN_OK;
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/* If a device fails to prepare a model with an OEM operation, the CPU does not compile the model. */
static void test_oem_operation_stays_on_the_device(void **state)
{
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_OEM_SCALAR);
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksModel *model;

	(void)state;
	accel.supports_all = true;
	assert_ok(ANeuralNetworksModel_create(&model));
	for (int i = 0; i < 2; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, &scalar));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_OEM_OPERATION, 1, (uint32_t[]){ 0 },
						    1, (uint32_t[]){ 1 }));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, (uint32_t[]){ 0 }, 1, (uint32_t[]){ 1 }));
	assert_ok(ANeuralNetworksModel_finish(model));
	nna_log_set(take_line, NULL, NNA_LOG_ERROR);
	accel.prepare_status = NN_GENERAL_FAILURE;
	assert_ok(ANeuralNetworksCompilation_create(model, &compilation));
	assert_result(OP_FAILED, ANeuralNetworksCompilation_finish(compilation));
	assert_string_equal(last_line, "ANeuralNetworksCompilation_finish: OP_FAILED: told to fail");
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/* A device reports the unknown dimensions of an output, and must not change known dimensions. */
static void test_declared_shapes(void **state)
{
	static const struct {
		uint32_t rows, columns;		/* dimensions of the output's type; 0, 0: no type */
		int result;
	} cases[] = {
		{ 0, 0, ANEURALNETWORKS_NO_ERROR }, { 2, 2, ANEURALNETWORKS_NO_ERROR },
		{ 0, 2, ANEURALNETWORKS_NO_ERROR }, { 3, 2, ANEURALNETWORKS_OP_FAILED },
	};
	const uint32_t input_dims[] = { 2, 2 };
	const ANeuralNetworksOperandType input = tensor_type(2, input_dims);
	ANeuralNetworksModel *model = add_model(0);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t dims[] = { cases[i].rows, cases[i].columns };
		const ANeuralNetworksOperandType type = tensor_type(2, dims);
		ANeuralNetworksExecution *execution;
		float sum[6];
		uint32_t told[2];

		assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
		assert_ok(ANeuralNetworksExecution_setInput(execution, 0, &input, add_a, sizeof(add_a)));
		assert_ok(ANeuralNetworksExecution_setInput(execution, 1, &input, add_b, sizeof(add_b)));
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, dims[1] ? &type : NULL, sum,
							     dims[0] ? 4 * dims[0] * dims[1] : sizeof(sum)));
		assert_int_equal(ANeuralNetworksExecution_compute(execution), cases[i].result);
		if (cases[i].result == ANEURALNETWORKS_NO_ERROR) {
			assert_sum(sum);
			assert_ok(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, told));
			assert_true(told[0] == 2 && told[1] == 2);
		}
		ANeuralNetworksExecution_free(execution);
	}
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * An output that is shorter than the application's buffer does not change the rest of the buffer.
 */
static void test_long_output(void **state)
{
	const uint32_t dims[] = { 2, 2 };
	const ANeuralNetworksOperandType type = tensor_type(2, dims);
	ANeuralNetworksModel *model = add_model(0);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksExecution *execution;
	float sum[2 * ADD_ELEMENTS];

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	for (int i = 0; i < 2 * ADD_ELEMENTS; i++)
		sum[i] = -1;
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, &type, add_a, sizeof(add_a)));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, &type, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_sum(sum);
	for (int i = ADD_ELEMENTS; i < 2 * ADD_ELEMENTS; i++)
		assert_true(sum[i] == -1);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * If a device refuses a buffer, a compilation that names the device fails, and a compilation that
 * names no device gets shared memory instead.
 */
static void test_refused_buffers(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *named = for_accelerator(model), *any = compile(model, false);
	ANeuralNetworksMemory *memory, *host;
	ANeuralNetworksExecution *execution;
	float sum[ADD_ELEMENTS];
	void *base;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(named));
	assert_result(RESOURCE_EXHAUSTED_TRANSIENT, make_memory(named, false, &memory));
	assert_null(memory);
	assert_int_equal(accel.refused_buffers, 1);
	assert_true(accel.frequency == 0.25f && accel.output_frequency == 0);
	assert_result(RESOURCE_EXHAUSTED_TRANSIENT, make_memory(named, true, &memory));
	assert_true(accel.frequency == 0 && accel.output_frequency == 0.5f);
	accel.refused_buffers = 1;

	assert_ok(make_memory(any, false, &memory));
	assert_int_equal(accel.refused_buffers, 2);
	host = shared_memory(sizeof(add_a), PROT_READ | PROT_WRITE, &base);
	memcpy(base, add_a, sizeof(add_a));
	assert_ok(ANeuralNetworksMemory_copy(host, memory));
	assert_ok(ANeuralNetworksExecution_create(any, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_int_equal(accel.executed, 1);
	assert_sum(sum);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksMemory_free(host);
	munmap(base, sizeof(add_a));
	ANeuralNetworksCompilation_free(named);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

static void test_failing_to_prepare(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation;

	(void)state;
	accel.prepare_status = NN_RESOURCE_EXHAUSTED_TRANSIENT;
	compilation = compile(model, false);
	assert_ok(compute_sum(compilation));
	assert_int_equal(accel.executed, 0);
	ANeuralNetworksCompilation_free(compilation);

	compilation = for_accelerator(model);
	assert_result(RESOURCE_EXHAUSTED_TRANSIENT, ANeuralNetworksCompilation_finish(compilation));
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static void test_failing_to_answer(void **state)
{
	const ANeuralNetworksDevice *device = accelerator();
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation;
	bool supported = true;

	(void)state;
	accel.supported_status = NN_DEAD_OBJECT;
	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1,
									&supported));
	assert_false(supported);
	compilation = compile(model, false);
	assert_ok(compute_sum(compilation));
	ANeuralNetworksCompilation_free(compilation);
	compilation = for_accelerator(model);
	assert_result(DEAD_OBJECT, ANeuralNetworksCompilation_finish(compilation));
	ANeuralNetworksCompilation_free(compilation);

	/* After the device has recovered, a new compilation uses the device. */
	accel.supported_status = NN_OK;
	compilation = for_accelerator(model);
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_ok(compute_sum(compilation));
	assert_int_equal(accel.executed, 1);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static void test_failing_to_execute(void **state)
{
	static const struct {
		enum nn_status status;
		int named;		/* result of a compilation that names the device */
		int any;		/* result of a compilation for any device */
	} cases[] = {
		{ NN_GENERAL_FAILURE, ANEURALNETWORKS_OP_FAILED, ANEURALNETWORKS_NO_ERROR },
		{ NN_INVALID_ARGUMENT, ANEURALNETWORKS_BAD_DATA, ANEURALNETWORKS_NO_ERROR },
		{ NN_DEVICE_UNAVAILABLE, ANEURALNETWORKS_UNAVAILABLE_DEVICE,
		  ANEURALNETWORKS_NO_ERROR },
		{ NN_DEAD_OBJECT, ANEURALNETWORKS_DEAD_OBJECT, ANEURALNETWORKS_NO_ERROR },
		{ NN_OUT_OF_MEMORY, ANEURALNETWORKS_OUT_OF_MEMORY, ANEURALNETWORKS_NO_ERROR },
		/* The CPU does not replace a device that missed the deadline. */
		{ NN_MISSED_DEADLINE_TRANSIENT, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
		  ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT },
		{ NN_MISSED_DEADLINE_PERSISTENT, ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT,
		  ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT },
	};
	ANeuralNetworksModel *model = add_model(2), *mixed = mixed_model(2);
	ANeuralNetworksCompilation *named = for_accelerator(model), *any = compile(model, false);
	ANeuralNetworksCompilation *steps = compile(mixed, false);
	size_t i;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(named));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		accel.execute_status = cases[i].status;
		assert_int_equal(compute_sum(named), cases[i].named);
		assert_int_equal(compute_sum(any), cases[i].any);
	}
	accel.execute_status = NN_DEAD_OBJECT;
	assert_mixed(steps);
	ANeuralNetworksCompilation_free(named);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksCompilation_free(steps);
	ANeuralNetworksModel_free(mixed);
	ANeuralNetworksModel_free(model);
}

static void test_short_output(void **state)
{
	const uint32_t dims[] = { 2, 2 };
	const ANeuralNetworksOperandType type = tensor_type(2, dims);
	ANeuralNetworksModel *model = add_model(0);
	ANeuralNetworksCompilation *compilation = compile(model, false);
	ANeuralNetworksExecution *execution;
	uint32_t told[2] = { 0 };
	float sum[ADD_ELEMENTS];

	(void)state;
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, &type, add_a, 16));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, &type, add_b, 16));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, 12));
	assert_result(OUTPUT_INSUFFICIENT_SIZE, ANeuralNetworksExecution_compute(execution));
	assert_result(OUTPUT_INSUFFICIENT_SIZE,
		      ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, told));
	assert_int_equal(told[0], 2);
	assert_int_equal(accel.executed, 1);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static void test_times(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksExecution *execution;
	float sum[ADD_ELEMENTS];
	uint64_t ns;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	execution = add_execution(compilation);
	assert_ok(ANeuralNetworksExecution_setMeasureTiming(execution, true));
	assert_ok(ANeuralNetworksExecution_setTimeout(execution, UINT64_MAX));
	assert_ok(ANeuralNetworksExecution_setLoopTimeout(execution, UINT64_MAX));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_true(accel.saw_deadline);
	assert_true(accel.loop_timeout_ns == ANeuralNetworks_getMaximumLoopTimeout());
	assert_ok(ANeuralNetworksExecution_getDuration(
		execution, ANEURALNETWORKS_DURATION_ON_HARDWARE, &ns));
	assert_true(ns == 3000);
	assert_ok(ANeuralNetworksExecution_getDuration(
		execution, ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER, &ns));
	assert_true(ns == 5000);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

struct burst_run {
	ANeuralNetworksExecution *execution;
	ANeuralNetworksBurst *burst;
	int result;
};

static void *run_burst(void *data)
{
	struct burst_run *run = data;

	run->result = ANeuralNetworksExecution_burstCompute(run->execution, run->burst);
	return NULL;
}

static void test_busy(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksExecution *other;
	ANeuralNetworksEvent *event;
	struct burst_run run;
	pthread_t thread;
	float sums[2][ADD_ELEMENTS];
	uint32_t rank;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_ok(ANeuralNetworksBurst_create(compilation, &run.burst));
	run.execution = add_execution(compilation);
	other = add_execution(compilation);
	assert_ok(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, sums[0], 16));
	assert_ok(ANeuralNetworksExecution_setOutput(other, 0, NULL, sums[1], 16));
	accel.blocks = true;
	assert_int_equal(pthread_create(&thread, NULL, run_burst, &run), 0);
	sem_wait(&accel.entered);
	/*
	 * While a burst runs an execution, the burst refuses other executions, and other calls with
	 * the running execution fail.
	 */
	assert_result(BAD_STATE, ANeuralNetworksExecution_burstCompute(other, run.burst));
	assert_result(BAD_STATE, ANeuralNetworksExecution_compute(run.execution));
	accel.blocks = false;
	sem_post(&accel.go);
	pthread_join(thread, NULL);
	assert_int_equal(run.result, ANEURALNETWORKS_NO_ERROR);
	assert_ok(ANeuralNetworksExecution_setReusable(other, true));
	assert_ok(ANeuralNetworksExecution_burstCompute(other, run.burst));
	assert_sum(sums[0]);
	assert_sum(sums[1]);
	/* A reusable execution that runs again is busy again. */
	accel.blocks = true;
	assert_ok(ANeuralNetworksExecution_startCompute(other, &event));
	sem_wait(&accel.entered);
	assert_result(BAD_STATE, ANeuralNetworksExecution_compute(other));
	assert_result(BAD_STATE, ANeuralNetworksExecution_getOutputOperandRank(other, 0, &rank));
	accel.blocks = false;
	sem_post(&accel.go);
	assert_ok(ANeuralNetworksEvent_wait(event));
	ANeuralNetworksEvent_free(event);
	ANeuralNetworksBurst_free(run.burst);
	ANeuralNetworksExecution_free(run.execution);
	ANeuralNetworksExecution_free(other);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/* Runs three executions in a burst, which may or may not have a channel to the accelerator. */
static void run_three(ANeuralNetworksCompilation *compilation, uint64_t loop_timeout)
{
	ANeuralNetworksExecution *execution;
	ANeuralNetworksBurst *burst;
	float sum[ADD_ELEMENTS];
	int i;

	assert_ok(ANeuralNetworksBurst_create(compilation, &burst));
	for (i = 0; i < 3; i++) {
		memset(sum, 0, sizeof(sum));
		execution = add_execution(compilation);
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, 16));
		if (loop_timeout)
			assert_ok(ANeuralNetworksExecution_setLoopTimeout(execution,
									  loop_timeout));
		assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
		assert_sum(sum);
		ANeuralNetworksExecution_free(execution);
	}
	ANeuralNetworksBurst_free(burst);
	assert_int_equal(accel.bursts, 0);
}

static void test_bursts(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	run_three(compilation, 0);
	assert_int_equal(accel.in_bursts, 3);
	assert_int_equal(accel.allocated, 1);
	assert_true(accel.loop_timeout_ns == 0);
	run_three(compilation, 1000000);
	assert_int_equal(accel.in_bursts, 6);
	assert_true(accel.loop_timeout_ns == 1000000);
	accel.burst_status = NN_RESOURCE_EXHAUSTED_TRANSIENT;
	run_three(compilation, 0);
	assert_int_equal(accel.in_bursts, 6);
	assert_int_equal(accel.executed, 9);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static int compute_once(ANeuralNetworksCompilation *compilation, ANeuralNetworksBurst *burst)
{
	ANeuralNetworksExecution *execution = add_execution(compilation);
	float sum[ADD_ELEMENTS] = { 0 };
	int result;

	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, 16));
	result = burst ? ANeuralNetworksExecution_burstCompute(execution, burst) :
		 ANeuralNetworksExecution_compute(execution);
	if (result == ANEURALNETWORKS_NO_ERROR)
		assert_sum(sum);
	ANeuralNetworksExecution_free(execution);
	return result;
}

/*
 * A worker that missed the deadline may still write to the execution's memory, so the runtime does
 * not reuse this memory.
 */
static void test_memory_of_late_workers(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);
	ANeuralNetworksBurst *bursts[2] = { NULL, NULL };

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_ok(ANeuralNetworksBurst_create(compilation, &bursts[1]));
	for (int i = 0; i < 2; i++) {
		accel.allocated = 0;
		accel.freed = 0;
		assert_ok(compute_once(compilation, bursts[i]));
		assert_ok(compute_once(compilation, bursts[i]));
		assert_int_equal(accel.allocated, 1);
		assert_int_equal(accel.freed, 0);
		accel.execute_status = NN_MISSED_DEADLINE_TRANSIENT;
		assert_int_equal(compute_once(compilation, bursts[i]),
				 ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
		assert_int_equal(accel.freed, 1);
		accel.execute_status = NN_OK;
		assert_ok(compute_once(compilation, bursts[i]));
		assert_int_equal(accel.allocated, 2);
	}
	ANeuralNetworksBurst_free(bursts[1]);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static unsigned int count_files(const char *folder, bool removes)
{
	unsigned int count = 0;
	DIR *dir = opendir(folder);

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		if (removes)
			assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
	}
	closedir(dir);
	return count;
}

/*
 * If a device reports that it needs no cache files, the runtime ignores the application's caching
 * information.
 */
static void test_no_cache_files(void **state)
{
	static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = { 1 };
	char folder[] = "/tmp/nnaccel-no-cache-XXXXXX";
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_ok(ANeuralNetworksCompilation_setCaching(compilation, folder, token));
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_int_equal(accel.prepared, 1);
	assert_false(accel.saw_cache);
	assert_ok(compute_once(compilation, NULL));
	assert_int_equal(count_files(folder, false), 0);
	assert_int_equal(rmdir(folder), 0);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * If the application gives no caching information, the library makes no cache files, and passes no
 * files to the device.
 */
static void test_no_cache_information(void **state)
{
	static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = { 1 };
	char folder[] = "/tmp/nnaccel-no-information-XXXXXX";
	int before = open(".", O_RDONLY | O_DIRECTORY);
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation;

	(void)state;
	accel.cache_files = 1;
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	/*
	 * Change to the test's folder, where a relative or empty path of cache files would put the
	 * files.
	 */
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	for (int i = 0; i < 3; i++) {
		compilation = for_accelerator(model);
		if (i)
			assert_ok(ANeuralNetworksCompilation_setCaching(compilation, folder,
									token));
		assert_ok(ANeuralNetworksCompilation_finish(compilation));
		assert_int_equal(accel.saw_cache, i > 0);
		assert_int_equal(accel.asked_for_cached, i > 1);
		assert_int_equal(count_files(folder, i == 2), i ? 2 : 0);
		ANeuralNetworksCompilation_free(compilation);
	}
	assert_int_equal(fchdir(before), 0);
	close(before);
	assert_int_equal(rmdir(folder), 0);
	accel.cache_files = 0;
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	ANeuralNetworksModel_free(model);
}

static void no_data_files(struct nn_device_info *info)
{
	info->data_cache_files = 0;
}

/* A device that has only model files caches, too. */
static void test_only_model_files(void **state)
{
	static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = { 1 };
	char folder[] = "/tmp/nnaccel-model-files-XXXXXX";
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *compilation = for_accelerator(model);

	(void)state;
	assert_non_null(mkdtemp(folder));
	accel.cache_files = 1;
	accel.at_info = no_data_files;
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	assert_ok(ANeuralNetworksCompilation_setCaching(compilation, folder, token));
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_true(accel.saw_cache);
	assert_int_equal(count_files(folder, true), 1);
	assert_int_equal(rmdir(folder), 0);
	accel.cache_files = 0;
	accel.at_info = NULL;
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

/*
 * The application may free a model and a compilation before it frees objects that were made from
 * the compilation.
 */
static void test_freed_first(void **state)
{
	ANeuralNetworksModel *model = mixed_model(2);
	ANeuralNetworksCompilation *compilation = compile(model, false);
	ANeuralNetworksExecution *execution = add_execution(compilation);
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksBurst *burst;
	float out[ADD_ELEMENTS];

	(void)state;
	assert_ok(ANeuralNetworksBurst_create(compilation, &burst));
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	ANeuralNetworksModel_free(model);
	ANeuralNetworksCompilation_free(compilation);
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof(out)));
	assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
	assert_int_equal(accel.in_bursts, 2);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksMemory_free(memory);
	assert_int_equal(accel.bursts, 0);
}

/*
 * A second engine, which starts after the first engine, becomes a further device. The runtime
 * assigns to the further device the operations that it computes faster than the other devices.
 */
static void test_second_appears(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *first, *all;
	ANeuralNetworksDevice *second;
	const char *name;
	uint32_t count;

	(void)state;
	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	assert_int_equal(count, 2);
	accel.has_second = true;
	/*
	 * Run the clock faster, because the library searches for new devices only at intervals, and
	 * waits for lost engines.
	 */
	set_clock_rate(1000);
	do {
		usleep(1000);
		assert_ok(ANeuralNetworks_getDeviceCount(&count));
	} while (count < 3);
	assert_ok(ANeuralNetworks_getDevice(1, &second));
	assert_ok(ANeuralNetworksDevice_getName(second, &name));
	assert_string_equal(name, "second");
	assert_ok(ANeuralNetworksDevice_getName(accelerator(), &name));
	assert_string_equal(name, "nnaccel");

	first = for_accelerator(model);
	assert_ok(ANeuralNetworksCompilation_finish(first));
	assert_ok(compute_sum(first));
	assert_int_equal(accel.executed, 1);
	assert_int_equal(accel.executed_by_second, 0);
	all = compile(model, false);
	assert_ok(compute_sum(all));
	assert_int_equal(accel.executed, 2);
	assert_int_equal(accel.executed_by_second, 1);
	accel.has_second = false;
	assert_result(DEAD_OBJECT, ANeuralNetworksDevice_wait(second));
	set_clock_rate(1);
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	ANeuralNetworksCompilation_free(first);
	ANeuralNetworksCompilation_free(all);
	ANeuralNetworksModel_free(model);
}

static uint32_t copied_constants, referenced_constants;

static void check_alignment(const struct nn_model *model)
{
	for (uint32_t k = 0; k < model->num_subgraphs; k++) {
		const struct nn_subgraph *s = &model->subgraphs[k];

		for (uint32_t i = 0; i < s->num_operands; i++) {
			const uint64_t at = s->operands[i].location.offset;

			if (s->operands[i].lifetime == NN_CONSTANT_COPY) {
				copied_constants++;
				assert_int_equal(at % nn_type_info_of(s->operands[i].type)->element_size, 0);
			} else if (s->operands[i].lifetime == NN_CONSTANT_REFERENCE) {
				referenced_constants++;
				assert_int_equal(at % 64, 0);
			}
		}
	}
}

/*
 * A device gets large constants at multiples of 64 bytes, and small constants aligned for their
 * types. Here a constant of one byte precedes the constants of a referenced model.
 */
static void test_aligned_constants(void **state)
{
	enum { A, B, NONE, SUM, LARGE_A, LARGE_B, LARGE_SUM, YES, BRANCH_1, BRANCH_2, OUT, COUNT };
	const uint32_t dims[] = { 2, 2 }, large_dims[] = { 33, 1 }, one[] = { 1 };
	const uint32_t inputs[] = { A, B }, outputs[] = { OUT, LARGE_SUM };
	const uint32_t first[] = { A, B, NONE, SUM }, large[] = { LARGE_A, LARGE_B, NONE };
	const uint32_t branches[] = { YES, BRANCH_1, BRANCH_2, SUM, B };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims), large_tensor = tensor_type(2, large_dims);
	const ANeuralNetworksOperandType types[COUNT] = {
		tensor, tensor, scalar_type(ANEURALNETWORKS_INT32), tensor, large_tensor, large_tensor,
		large_tensor, { ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0, 0 },
		scalar_type(ANEURALNETWORKS_MODEL), scalar_type(ANEURALNETWORKS_MODEL), tensor,
	};
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	const float values[33] = { 0 };
	const bool yes = true;
	ANeuralNetworksModel *model, *branch = add_model(2);

	(void)state;
	accel.at_model = check_alignment;
	copied_constants = referenced_constants = 0;
	assert_ok(ANeuralNetworksModel_create(&model));
	for (uint32_t i = 0; i < COUNT; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, &types[i]));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, 4));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, YES, &yes, 1));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, LARGE_A, values, sizeof(values)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, LARGE_B, values, sizeof(values)));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, BRANCH_1, branch));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, BRANCH_2, branch));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, first, 1, &first[3]));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, large, 1, &outputs[1]));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 5, branches, 1, outputs));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 2, outputs));
	assert_ok(ANeuralNetworksModel_finish(model));
	ANeuralNetworksCompilation_free(compile(model, false));
	/* The step has two copied constants, the branch has one. */
	assert_int_equal(accel.prepared, 1);
	assert_int_equal(copied_constants, 2);
	assert_int_equal(referenced_constants, 2);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksModel_free(branch);
}

/* Allows this program to use extensions, by its name. */
static void allow_extensions(void)
{
	static const char name[] = "com.example", text[] = "com.example\ntrust-app-name yes\n";

	configuration = memfd_create("configuration", MFD_CLOEXEC);
	assert_int_equal(write(configuration, text, strlen(text)), strlen(text));
	assert_int_equal(setenv("NNACCEL_APP_NAME", name, 1), 0);
}

static void forbid_extensions(void)
{
	assert_int_equal(unsetenv("NNACCEL_APP_NAME"), 0);
	close(configuration);
	configuration = -1;
}

/* Compilations that differ in an attribute's code, size or data have different cache files. */
static void test_attributes_in_keys(void **state)
{
	static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = { 1 };
	static const struct { uint16_t code; const char *data; } cases[] = {
		{ 0, "" }, { 1, "" }, { 1, "abcd" }, { 1, "abce" }, { 2, "abcd" }, { 2, "abc" },
	};
	char folder[] = "/tmp/nnaccel-attributes-XXXXXX";
	ANeuralNetworksModel *model = add_model(2);

	(void)state;
	accel.cache_files = 1;
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	assert_non_null(mkdtemp(folder));
	allow_extensions();
	for (uint32_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		ANeuralNetworksCompilation *compilation = for_accelerator(model);
		const char *data = cases[i / 2].data;

		assert_ok(ANeuralNetworksCompilation_setCaching(compilation, folder, token));
		assert_ok(ANeuralNetworksCompilation_addExtensionAttribute(
				compilation, FAKE_EXTENSION, cases[i / 2].code, data, strlen(data)));
		assert_ok(ANeuralNetworksCompilation_finish(compilation));
		assert_int_equal(count_files(folder, false), 2 * (i / 2 + 1));
		ANeuralNetworksCompilation_free(compilation);
	}
	forbid_extensions();
	count_files(folder, true);
	assert_int_equal(rmdir(folder), 0);
	accel.cache_files = 0;
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	ANeuralNetworksModel_free(model);
}

/*
 * A compilation and an execution accept each attribute once, and free their copies of the
 * attributes' data. The device gets the attributes of an execution. The test's configuration allows
 * the program to use extensions because of the program's name.
 */
static void test_attributes(void **state)
{
	static const char name[] = "com.example";
	ANeuralNetworksModel *model = add_model(2);
	const ANeuralNetworksDevice *device = nnaccel_device();
	ANeuralNetworksMemory *memory;
	long blocks = 0;
	void *base;

	(void)state;
	memory = shared_memory(3 * sizeof(add_a), PROT_READ | PROT_WRITE, &base);
	allow_extensions();
	for (int i = 0; i < 3; i++) {
		ANeuralNetworksCompilation *c;
		ANeuralNetworksExecution *e;

		assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &c));
		for (uint16_t code = 0; code < 2; code++) {
			assert_ok(ANeuralNetworksCompilation_addExtensionAttribute(
					c, FAKE_EXTENSION, code, name, code * sizeof(name)));
			assert_result(BAD_DATA, ANeuralNetworksCompilation_addExtensionAttribute(
							c, FAKE_EXTENSION, code, name, 1));
		}
		assert_ok(ANeuralNetworksCompilation_finish(c));
		assert_ok(ANeuralNetworksExecution_create(c, &e));
		for (int32_t k = 0; k < 2; k++)
			assert_ok(ANeuralNetworksExecution_setInputFromMemory(
					e, k, NULL, memory, (size_t)k * sizeof(add_a), sizeof(add_a)));
		assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, memory, 2 * sizeof(add_a),
								       sizeof(add_a)));
		for (uint16_t code = 0; code < 2; code++) {
			assert_ok(ANeuralNetworksExecution_addExtensionAttribute(
					e, FAKE_EXTENSION, code, name, code * sizeof(name)));
			assert_result(BAD_DATA, ANeuralNetworksExecution_addExtensionAttribute(
							e, FAKE_EXTENSION, code, name, 1));
		}
		assert_ok(ANeuralNetworksExecution_compute(e));
		assert_int_equal(accel.execution.attributes->count, 2);
		assert_string_equal(accel.execution.attributes->list[1].data, name);
		ANeuralNetworksExecution_free(e);
		ANeuralNetworksCompilation_free(c);
		blocks = i ? blocks : heap_blocks;
		assert_int_equal(heap_blocks, blocks);
	}
	forbid_extensions();
	ANeuralNetworksMemory_free(memory);
	munmap(base, 3 * sizeof(add_a));
	ANeuralNetworksModel_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_introspection, reset),
		cmocka_unit_test_setup(test_choice, reset),
		cmocka_unit_test_setup(test_attributes, reset),
		cmocka_unit_test_setup(test_attributes_in_keys, reset),
		cmocka_unit_test_setup(test_aligned_constants, reset),
		cmocka_unit_test_setup(test_shapes_of_buffers, reset),
		cmocka_unit_test_setup(test_costs_of_types, reset),
		cmocka_unit_test_setup(test_costs_of_branches, reset),
		cmocka_unit_test_setup(test_unreachable_constant, reset),
		cmocka_unit_test_setup(test_wishes_arrive, reset),
		cmocka_unit_test_setup(test_no_padding_arrives, reset),
		cmocka_unit_test_setup(test_limits_arrive, reset),
		cmocka_unit_test_setup(test_omitted_argument, reset),
		cmocka_unit_test_setup(test_memory_arguments, reset),
		cmocka_unit_test_setup(test_sync_file, reset),
		cmocka_unit_test_setup(test_running_fence, reset),
		cmocka_unit_test_setup(test_dependency_without_fence, reset),
		cmocka_unit_test_setup(test_duration, reset),
		cmocka_unit_test_setup(test_says_refused, reset),
		cmocka_unit_test_setup(test_steps, reset),
		cmocka_unit_test_setup(test_memory_of_two, reset),
		cmocka_unit_test_setup(test_no_device_memory, reset),
		cmocka_unit_test_setup(test_pools_of_buffers, reset),
		cmocka_unit_test_setup(test_reasons, reset),
		cmocka_unit_test_setup(test_oem_operation_stays_on_the_device, reset),
		cmocka_unit_test_setup(test_declared_shapes, reset),
		cmocka_unit_test_setup(test_long_output, reset),
		cmocka_unit_test_setup(test_refused_buffers, reset),
		cmocka_unit_test_setup(test_fallback_with_buffers, reset),
		cmocka_unit_test_setup(test_copies_of_buffers, reset),
		cmocka_unit_test_setup(test_fallback_of_whole, reset),
		cmocka_unit_test_setup(test_unknown_size_between_steps, reset),
		cmocka_unit_test_setup(test_failing_to_prepare, reset),
		cmocka_unit_test_setup(test_failing_to_answer, reset),
		cmocka_unit_test_setup(test_failing_to_execute, reset),
		cmocka_unit_test_setup(test_short_output, reset),
		cmocka_unit_test_setup(test_times, reset),
		cmocka_unit_test_setup(test_busy, reset),
		cmocka_unit_test_setup(test_bursts, reset),
		cmocka_unit_test_setup(test_memory_of_late_workers, reset),
		cmocka_unit_test_setup(test_no_cache_files, reset),
		cmocka_unit_test_setup(test_no_cache_information, reset),
		cmocka_unit_test_setup(test_only_model_files, reset),
		cmocka_unit_test_setup(test_freed_first, reset),
		cmocka_unit_test_setup(test_second_appears, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
