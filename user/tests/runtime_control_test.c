/* SPDX-License-Identifier: MIT */
/*
 * Tests models that refer to other models: constants of all kinds at every depth, a model to which
 * two operands refer, and time limits of loops.
 */
#define _GNU_SOURCE
#include "runtime_fixture.h"

#define ELEMENTS 64
#define BYTES (ELEMENTS * sizeof(float))

static const uint32_t dims[] = { ELEMENTS };
static const uint32_t one[] = { 1 };

/*
 * Makes a model out = x + constant. The added constant has more than 128 bytes, and is either in
 * `memory` or copied from the pointer `values`.
 */
static ANeuralNetworksModel *addition(const float *values, const ANeuralNetworksMemory *memory)
{
	const uint32_t inputs[] = { 0, 1, 2 }, output = 3;
	const ANeuralNetworksOperandType tensor = tensor_type(1, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;
	uint32_t i;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (i = 0; i < 4; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
	if (memory)
		assert_ok(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 0,
									 BYTES));
	else
		assert_ok(ANeuralNetworksModel_setOperandValue(model, 1, values, BYTES));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1,
						    &output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/*
 * Makes a model out = condition ? yes(x) : no(x). The condition is an input of the model if
 * `constant` is NULL, and otherwise the constant *constant. The operand of the branch `yes` first
 * refers to the model `replaced`, unless `replaced` is NULL.
 */
static ANeuralNetworksModel *choice(const bool *constant, const ANeuralNetworksModel *replaced,
				    const ANeuralNetworksModel *yes, const ANeuralNetworksModel *no)
{
	const uint32_t operands[] = { 0, 1, 2, 3 }, inputs[] = { 3, 0 }, output = 4;
	const ANeuralNetworksOperandType tensor = tensor_type(1, dims);
	const ANeuralNetworksOperandType reference = scalar_type(ANEURALNETWORKS_MODEL);
	const ANeuralNetworksOperandType condition = { ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0, 0 };
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &condition));
	assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
	assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	if (constant)
		assert_ok(ANeuralNetworksModel_setOperandValue(model, 0, constant, 1));
	if (replaced)
		assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 1, replaced));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 1, yes));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 2, no));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4, operands, 1,
						    &output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, constant ? 1 : 2, inputs,
								1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/* Executes a model with the input x = 1, and returns the output. */
static float run(ANeuralNetworksModel *model, bool condition)
{
	ANeuralNetworksCompilation *compilation = compile(model, true);
	ANeuralNetworksExecution *execution;
	float x[ELEMENTS], out[ELEMENTS];
	int i;

	for (i = 0; i < ELEMENTS; i++)
		x[i] = 1;
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, BYTES));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, &condition, 1));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, BYTES));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	for (i = 0; i < ELEMENTS; i++)
		assert_true(out[i] == out[0]);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	return out[0];
}

struct fixture {
	float tens[ELEMENTS];
	void *hundreds;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksModel *add_ten;
	ANeuralNetworksModel *add_hundred;
};

static int setup(void **state)
{
	static struct fixture f;
	int i;

	f.memory = shared_memory(BYTES, PROT_READ, &f.hundreds);
	for (i = 0; i < ELEMENTS; i++) {
		f.tens[i] = 10;
		((float *)f.hundreds)[i] = 100;
	}
	f.add_ten = addition(f.tens, NULL);
	f.add_hundred = addition(NULL, f.memory);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ANeuralNetworksModel_free(f->add_ten);
	ANeuralNetworksModel_free(f->add_hundred);
	ANeuralNetworksMemory_free(f->memory);
	munmap(f->hundreds, BYTES);
	return 0;
}

static void test_branches(void **state)
{
	struct fixture *f = *state;
	ANeuralNetworksModel *model = choice(NULL, NULL, f->add_ten, f->add_hundred);

	assert_true(run(model, true) == 11);
	assert_true(run(model, false) == 101);
	ANeuralNetworksModel_free(model);
}

static void test_one_model_twice(void **state)
{
	struct fixture *f = *state;
	ANeuralNetworksModel *model = choice(NULL, f->add_hundred, f->add_ten, f->add_ten);

	assert_true(run(model, true) == 11);
	assert_true(run(model, false) == 11);
	ANeuralNetworksModel_free(model);
}

static void test_depth(void **state)
{
	const bool yes = true, no = false;
	struct fixture *f = *state;
	ANeuralNetworksModel *ten = choice(&yes, NULL, f->add_ten, f->add_hundred);
	ANeuralNetworksModel *hundred = choice(&no, NULL, f->add_ten, f->add_hundred);
	ANeuralNetworksModel *deeper = choice(&no, NULL, ten, hundred);
	ANeuralNetworksModel *model = choice(NULL, NULL, ten, deeper);

	assert_true(run(model, true) == 11);
	assert_true(run(model, false) == 101);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksModel_free(deeper);
	ANeuralNetworksModel_free(hundred);
	ANeuralNetworksModel_free(ten);
}

/*
 * The CPU supports an IF unless the CPU cannot read a constant of a branch, at any depth. Two
 * operations may refer to one branch.
 */
static void test_unreadable_constants(void **state)
{
	enum { CONDITION, X, FIRST };
	const ANeuralNetworksOperandType tensor = tensor_type(1, dims);
	const ANeuralNetworksOperandType reference = scalar_type(ANEURALNETWORKS_MODEL);
	const ANeuralNetworksOperandType condition = { ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0, 0 };
	const bool yes = true;
	struct fixture *f = *state;
	void *base;
	ANeuralNetworksMemory *memory = shared_memory(BYTES, PROT_WRITE, &base);
	ANeuralNetworksModel *unreadable = addition(NULL, memory);
	ANeuralNetworksModel *deep = choice(&yes, NULL, f->add_hundred, unreadable);
	const struct {
		const ANeuralNetworksModel *yes, *no;
		bool supported;
	} cases[] = {
		{ f->add_ten, f->add_hundred, true }, { f->add_ten, deep, false },
		{ deep, f->add_ten, false }, { f->add_hundred, unreadable, false },
		{ f->add_hundred, f->add_ten, true },
	};
	const uint32_t inputs[] = { CONDITION, X };
	const ANeuralNetworksDevice *device = cpu_device();
	uint32_t outputs[ARRAY_SIZE(cases)], i;
	bool supported[ARRAY_SIZE(cases)];
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &condition));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t at = FIRST + 3 * i, operands[] = { CONDITION, at, at + 1, X };

		outputs[i] = at + 2;
		assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
		assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
		assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
		assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, (int32_t)at, cases[i].yes));
		assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, (int32_t)at + 1, cases[i].no));
		assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4, operands, 1,
							    &outputs[i]));
	}
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, i, outputs));
	assert_ok(ANeuralNetworksModel_finish(model));
	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, supported));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(supported[i], cases[i].supported);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksModel_free(deep);
	ANeuralNetworksModel_free(unreadable);
	ANeuralNetworksMemory_free(memory);
	munmap(base, BYTES);
}

/* An IF is refused unless both branches are set and match the operation's inputs and outputs. */
static void test_refusals(void **state)
{
	const uint32_t operands[] = { 0, 1, 2, 3 }, output = 4, other_output = 5;
	const ANeuralNetworksOperandType floats = tensor_type(1, dims);
	const ANeuralNetworksOperandType fewer = tensor_type(1, one);
	const ANeuralNetworksOperandType reference = scalar_type(ANEURALNETWORKS_MODEL);
	const ANeuralNetworksOperandType condition = { ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0, 0 };
	struct fixture *f = *state;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &condition));
	assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
	assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
	assert_ok(ANeuralNetworksModel_addOperand(model, &floats));
	assert_ok(ANeuralNetworksModel_addOperand(model, &floats));
	assert_ok(ANeuralNetworksModel_addOperand(model, &fewer));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 1, f->add_ten));
	/*
	 * The first IF lacks the second branch; the second IF has branches that do not match the
	 * operation's output.
	 */
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4,
								  operands, 1, &output));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 2, f->add_hundred));
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4,
								  operands, 1, &other_output));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4, operands, 1,
						    &output));
	ANeuralNetworksModel_free(model);
}

/* Makes a model out = n OPERATION constant for n of INT32 [1]; `result` is the type of `out`. */
static ANeuralNetworksModel *step_model(ANeuralNetworksOperationType operation, int32_t constant,
					int32_t result)
{
	const bool adds = operation == ANEURALNETWORKS_ADD;
	const uint32_t inputs[] = { 0, 1, 2 }, output = 3;
	const ANeuralNetworksOperandType number = { ANEURALNETWORKS_TENSOR_INT32, 1, one, 0, 0 };
	const ANeuralNetworksOperandType out = { result, 1, one, 0, 0 };
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &number));
	assert_ok(ANeuralNetworksModel_addOperand(model, &number));
	assert_ok(ANeuralNetworksModel_addOperand(model, &scalar));
	assert_ok(ANeuralNetworksModel_addOperand(model, &out));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 1, &constant, 4));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4));
	assert_ok(ANeuralNetworksModel_addOperation(model, operation, adds ? 3 : 2, inputs, 1,
						    &output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/* Makes a model out = n; while (condition(out)) out = body(out). */
static ANeuralNetworksModel *loop_model(const ANeuralNetworksModel *condition,
					const ANeuralNetworksModel *body)
{
	const uint32_t inputs[] = { 0, 1, 2 }, output = 3;
	const ANeuralNetworksOperandType number = { ANEURALNETWORKS_TENSOR_INT32, 1, one, 0, 0 };
	const ANeuralNetworksOperandType reference = scalar_type(ANEURALNETWORKS_MODEL);
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
	assert_ok(ANeuralNetworksModel_addOperand(model, &reference));
	assert_ok(ANeuralNetworksModel_addOperand(model, &number));
	assert_ok(ANeuralNetworksModel_addOperand(model, &number));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 0, condition));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 1, body));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 3, inputs, 1,
						    &output));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &inputs[2], 1,
								&output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/*
 * A loop timeout of 0 ends the loop immediately, and does not mean the default timeout. The runtime
 * replaces a timeout above the maximum by the maximum.
 */
static void test_loop_timeout(void **state)
{
	const struct {
		uint64_t timeout;
		int result;
	} cases[] = {
		{ 0, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT },
		{ UINT64_MAX, ANEURALNETWORKS_NO_ERROR },
	};
	ANeuralNetworksModel *condition = step_model(ANEURALNETWORKS_LESS, 10,
						     ANEURALNETWORKS_TENSOR_BOOL8);
	ANeuralNetworksModel *body = step_model(ANEURALNETWORKS_ADD, 1,
						ANEURALNETWORKS_TENSOR_INT32);
	ANeuralNetworksModel *model = loop_model(condition, body);
	ANeuralNetworksCompilation *compilation = compile(model, true);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksExecution *execution;
		int32_t n = 0, out = 0;

		assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
		assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, &n, 4));
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, &out, 4));
		assert_ok(ANeuralNetworksExecution_setLoopTimeout(execution, cases[i].timeout));
		assert_int_equal(ANeuralNetworksExecution_compute(execution), cases[i].result);
		if (cases[i].result == ANEURALNETWORKS_NO_ERROR)
			assert_int_equal(out, 10);
		ANeuralNetworksExecution_free(execution);
	}
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksModel_free(body);
	ANeuralNetworksModel_free(condition);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_one_model_twice),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_unreadable_constants),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_loop_timeout),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
