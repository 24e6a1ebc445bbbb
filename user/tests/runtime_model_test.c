/* SPDX-License-Identifier: MIT */
/*
 * Tests the rules for building a model. The test breaks each rule once, and the call must fail with
 * the right result code.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime_fixture.h"
#include "tests/heap_blocks.h"

static const uint32_t dims_2x2[] = { 2, 2 };
static const uint32_t dims_open[] = { 0, 2 };
static const uint32_t dims_huge[] = { 65536, 65536 };
static const uint32_t dims_17[17] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

struct type_case {
	const char *name;
	ANeuralNetworksOperandType type;
};

#define TENSOR(type, scale, zero_point) { ANEURALNETWORKS_##type, 2, dims_2x2, scale, zero_point }
#define SCALAR(type, scale, zero_point) { ANEURALNETWORKS_##type, 0, NULL, scale, zero_point }

static const struct type_case refused_types[] = {
	{ "a type below all", { -1, 0, NULL, 0, 0 } },
	{ "a type between the NNAPI's and OEM's", { 16, 0, NULL, 0, 0 } },
	{ "a type above OEM's", { 10002, 0, NULL, 0, 0 } },
	{ "a type of an unknown extension", { 0x10001, 0, NULL, 0, 0 } },
	{ "dimensions without a count", { ANEURALNETWORKS_TENSOR_FLOAT32, 0, dims_2x2, 0, 0 } },
	{ "a count without dimensions", { ANEURALNETWORKS_TENSOR_FLOAT32, 2, NULL, 0, 0 } },
	{ "a scalar with dimensions", { ANEURALNETWORKS_FLOAT32, 1, dims_2x2, 0, 0 } },
	{ "a rank beyond the limit", { ANEURALNETWORKS_TENSOR_FLOAT32, 17, dims_17, 0, 0 } },
	{ "a size of 4 GiB", { ANEURALNETWORKS_TENSOR_BOOL8, 2, dims_huge, 0, 0 } },
	{ "a scalar with a scale", SCALAR(INT32, 1, 0) },
	{ "a scalar with a zero point", SCALAR(FLOAT16, 0, 1) },
	{ "a float tensor with a scale", TENSOR(TENSOR_FLOAT32, 1, 0) },
	{ "a float16 tensor with a zero point", TENSOR(TENSOR_FLOAT16, 0, 1) },
	{ "a bool tensor with a scale", TENSOR(TENSOR_BOOL8, 1, 0) },
	{ "QUANT8_ASYMM without a scale", TENSOR(TENSOR_QUANT8_ASYMM, 0, 0) },
	{ "QUANT8_ASYMM with a negative scale", TENSOR(TENSOR_QUANT8_ASYMM, -1, 0) },
	{ "QUANT8_ASYMM with a scale that is no number", TENSOR(TENSOR_QUANT8_ASYMM, NAN, 0) },
	{ "QUANT8_ASYMM with a zero point below 0", TENSOR(TENSOR_QUANT8_ASYMM, 1, -1) },
	{ "QUANT8_ASYMM with a zero point above 255", TENSOR(TENSOR_QUANT8_ASYMM, 1, 256) },
	{ "QUANT8_ASYMM_SIGNED below -128", TENSOR(TENSOR_QUANT8_ASYMM_SIGNED, 1, -129) },
	{ "QUANT8_ASYMM_SIGNED above 127", TENSOR(TENSOR_QUANT8_ASYMM_SIGNED, 1, 128) },
	{ "QUANT8_SYMM with a zero point", TENSOR(TENSOR_QUANT8_SYMM, 1, 1) },
	{ "QUANT16_SYMM with a zero point", TENSOR(TENSOR_QUANT16_SYMM, 1, 1) },
	{ "QUANT16_SYMM without a scale", TENSOR(TENSOR_QUANT16_SYMM, 0, 0) },
	{ "QUANT16_ASYMM with a zero point below 0", TENSOR(TENSOR_QUANT16_ASYMM, 1, -1) },
	{ "QUANT16_ASYMM above 65535", TENSOR(TENSOR_QUANT16_ASYMM, 1, 65536) },
	{ "PER_CHANNEL with a scale", TENSOR(TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, 0) },
	{ "PER_CHANNEL with a zero point", TENSOR(TENSOR_QUANT8_SYMM_PER_CHANNEL, 0, 1) },
	{ "a model with a scale", SCALAR(MODEL, 1, 0) },
};

static const struct type_case accepted_types[] = {
	{ "an unknown rank", { ANEURALNETWORKS_TENSOR_FLOAT32, 0, NULL, 0, 0 } },
	{ "an unknown dimension", { ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims_open, 0, 0 } },
	{ "TENSOR_INT32 with any scale and zero point", TENSOR(TENSOR_INT32, -1, 7) },
	{ "an OEM scalar with any", SCALAR(OEM_SCALAR, 3, 9) },
	{ "an OEM tensor with any", TENSOR(TENSOR_OEM_BYTE, 3, 9) },
	{ "QUANT8_ASYMM at its end", TENSOR(TENSOR_QUANT8_ASYMM, 1, 255) },
	{ "QUANT8_ASYMM_SIGNED at its beginning", TENSOR(TENSOR_QUANT8_ASYMM_SIGNED, 1, -128) },
	{ "QUANT16_ASYMM at its end", TENSOR(TENSOR_QUANT16_ASYMM, 1, 65535) },
	{ "a model", SCALAR(MODEL, 0, 0) },
};

static void test_operand_types(void **state)
{
	ANeuralNetworksModel *model;
	size_t i;

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	for (i = 0; i < ARRAY_SIZE(refused_types); i++)
		if (ANeuralNetworksModel_addOperand(model, &refused_types[i].type) !=
		    ANEURALNETWORKS_BAD_DATA)
			fail_msg("not refused: %s", refused_types[i].name);
	for (i = 0; i < ARRAY_SIZE(accepted_types); i++)
		if (ANeuralNetworksModel_addOperand(model, &accepted_types[i].type) !=
		    ANEURALNETWORKS_NO_ERROR)
			fail_msg("refused: %s", accepted_types[i].name);
	ANeuralNetworksModel_free(model);
}

static void test_null(void **state)
{
	const ANeuralNetworksOperandType type = scalar_type(ANEURALNETWORKS_INT32);
	const uint32_t list[1] = { 0 };
	ANeuralNetworksModel *model = unfinished_add_model(2);

	(void)state;
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_create(NULL));
	ANeuralNetworksModel_free(NULL);
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_finish(NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_addOperand(NULL, &type));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_addOperand(model, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_setOperandValue(NULL, 0, list, 4));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_setOperandValue(model, 0, NULL, 4));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_setOperandValueFromMemory(model, 0, NULL, 0, 4));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_setOperandValueFromModel(model, 0, NULL));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, NULL));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_addOperation(model, 0, 1, NULL, 1, list));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_addOperation(model, 0, 1, list, 1, NULL));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, NULL, 1, list));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_relaxComputationFloat32toFloat16(NULL, true));
	ANeuralNetworksModel_free(model);
}

/* Makes a model with one constant of `length` bytes; returns the result of setting the constant. */
static int set_constant(const ANeuralNetworksOperandType *type, size_t length)
{
	static const uint8_t value[4096];
	ANeuralNetworksModel *model;
	int result;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, type));
	result = ANeuralNetworksModel_setOperandValue(model, 0, value, length);
	ANeuralNetworksModel_free(model);
	return result;
}

static void test_values(void **state)
{
	const uint32_t unknown[] = { 0, 2 };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims_2x2);
	const ANeuralNetworksOperandType open = tensor_type(2, unknown);
	const ANeuralNetworksOperandType rankless = tensor_type(0, NULL);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const ANeuralNetworksOperandType oem = scalar_type(ANEURALNETWORKS_OEM_SCALAR);
	const ANeuralNetworksOperandType reference = scalar_type(ANEURALNETWORKS_MODEL);
	ANeuralNetworksModel *model;

	(void)state;
	assert_ok(set_constant(&tensor, 16));
	assert_result(BAD_DATA, set_constant(&tensor, 12));
	assert_result(BAD_DATA, set_constant(&tensor, 20));
	assert_result(BAD_DATA, set_constant(&tensor, 0));
	assert_result(BAD_DATA, set_constant(&open, 8));
	assert_result(BAD_DATA, set_constant(&rankless, 4));
	assert_ok(set_constant(&scalar, 4));
	assert_result(BAD_DATA, set_constant(&scalar, 1));
	assert_ok(set_constant(&oem, 77));
	assert_result(BAD_DATA, set_constant(&reference, 0));
	assert_result(BAD_DATA, set_constant(&reference, 4));

	/* An operand with unknown dimensions may be omitted, but an operand index must be valid. */
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &open));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 0, NULL, 0));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValue(model, 1, NULL, 0));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValue(model, -1, NULL, 0));
	ANeuralNetworksModel_free(model);

	/* An OEM scalar may have 0 bytes, and may be set several times. */
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &oem));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 0, "", 0));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 0, "", 0));
	ANeuralNetworksModel_free(model);
}

static void test_values_from_memory(void **state)
{
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims_2x2);
	ANeuralNetworksMemory *memory;
	ANeuralNetworksModel *model;
	void *base;

	(void)state;
	memory = shared_memory(4096, PROT_READ, &base);
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 4080, 16));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory,
									       4081, 16));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory,
									       SIZE_MAX, 16));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory,
									       0, 0));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory,
									       0, 12));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory,
									       0, 16));
	ANeuralNetworksModel_free(model);
	ANeuralNetworksMemory_free(memory);
	munmap(base, 4096);
}

static void test_channel_scales(void **state)
{
	const float good[] = { 1, 2 }, zero[] = { 1, 0 }, negative[] = { -1, 1 };
	const struct {
		const char *name;
		int32_t index;
		ANeuralNetworksSymmPerChannelQuantParams params;
		int result;
	} cases[] = {
		{ "good", 0, { 1, 2, good }, ANEURALNETWORKS_NO_ERROR },
		{ "another type", 1, { 1, 2, good }, ANEURALNETWORKS_BAD_DATA },
		{ "no such operand", 3, { 1, 2, good }, ANEURALNETWORKS_BAD_DATA },
		{ "a dimension beyond the rank", 0, { 2, 2, good }, ANEURALNETWORKS_BAD_DATA },
		{ "too few scales", 0, { 1, 1, good }, ANEURALNETWORKS_BAD_DATA },
		{ "no scales", 0, { 1, 2, NULL }, ANEURALNETWORKS_BAD_DATA },
		{ "none for an unknown dimension", 2, { 1, 0, good }, ANEURALNETWORKS_BAD_DATA },
		{ "a scale of 0", 0, { 1, 2, zero }, ANEURALNETWORKS_BAD_DATA },
		{ "a scale below 0", 0, { 1, 2, negative }, ANEURALNETWORKS_BAD_DATA },
	};
	const uint32_t unknown[] = { 2, 0 };
	const ANeuralNetworksOperandType channels = TENSOR(TENSOR_QUANT8_SYMM_PER_CHANNEL, 0, 0);
	const ANeuralNetworksOperandType floats = tensor_type(2, dims_2x2);
	const ANeuralNetworksOperandType open = {
		ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 2, unknown, 0, 0 };
	ANeuralNetworksModel *model;
	size_t i;

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &channels));
	assert_ok(ANeuralNetworksModel_addOperand(model, &floats));
	assert_ok(ANeuralNetworksModel_addOperand(model, &open));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
			    model, cases[i].index, &cases[i].params) != cases[i].result)
			fail_msg("wrong result: %s", cases[i].name);
	ANeuralNetworksModel_free(model);
}

static void test_operations(void **state)
{
	const uint32_t inputs[] = { ADD_A, ADD_B, ADD_ACTIVATION }, beyond[] = { 0, 1, 4 };
	const uint32_t outputs[] = { ADD_SUM };
	const struct {
		const char *name;
		int32_t code;
		uint32_t num_inputs;
		const uint32_t *inputs;
		const uint32_t *outputs;
	} refused[] = {
		{ "a code below all", -1, 3, inputs, outputs },
		{ "a code beyond the NNAPI's", 106, 3, inputs, outputs },
		{ "a code of an unknown extension", 0x10001, 3, inputs, outputs },
		{ "an input that is not there", ANEURALNETWORKS_ADD, 3, beyond, outputs },
		{ "an output that is not there", ANEURALNETWORKS_ADD, 3, inputs, beyond + 2 },
		{ "too few inputs", ANEURALNETWORKS_ADD, 2, inputs, outputs },
		{ "an output of another type", ANEURALNETWORKS_ADD, 3, inputs, inputs + 2 },
	};
	ANeuralNetworksModel *model = unfinished_add_model(2);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(refused); i++)
		if (ANeuralNetworksModel_addOperation(model, refused[i].code,
						      refused[i].num_inputs, refused[i].inputs,
						      1, refused[i].outputs) !=
		    ANEURALNETWORKS_BAD_DATA)
			fail_msg("not refused: %s", refused[i].name);
	/* The model is still usable after the refused calls. */
	assert_ok(ANeuralNetworksModel_finish(model));
	ANeuralNetworksModel_free(model);
}

static void add_add_operand(ANeuralNetworksModel *model, int index)
{
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims_2x2);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t zero = 0;

	assert_ok(ANeuralNetworksModel_addOperand(model,
						  index == ADD_ACTIVATION ? &scalar : &tensor));
	if (index == ADD_ACTIVATION)
		assert_ok(ANeuralNetworksModel_setOperandValue(model, index, &zero, 4));
}

static void test_identify(void **state)
{
	const struct {
		const char *name;
		uint32_t input;
		uint32_t output;
	} refused[] = {
		{ "no such input", 5, 3 },
		{ "no such output", 0, 5 },
		{ "a constant input", ADD_ACTIVATION, 3 },
		{ "a constant output", 0, ADD_ACTIVATION },
		{ "one operand for both", 0, 0 },
	};
	const uint32_t twice[] = { 0, 0 }, outputs[] = { 3 };
	ANeuralNetworksModel *model;
	size_t i;
	int k;

	(void)state;
	for (i = 0; i <= ARRAY_SIZE(refused); i++) {
		assert_ok(ANeuralNetworksModel_create(&model));
		for (k = 0; k < 4; k++)
			add_add_operand(model, k);
		if (i == ARRAY_SIZE(refused))
			assert_result(BAD_DATA, ANeuralNetworksModel_identifyInputsAndOutputs(
							model, 2, twice, 1, outputs));
		else if (ANeuralNetworksModel_identifyInputsAndOutputs(
				 model, 1, &refused[i].input, 1, &refused[i].output) !=
			 ANEURALNETWORKS_BAD_DATA)
			fail_msg("not refused: %s", refused[i].name);
		ANeuralNetworksModel_free(model);
	}
}

/*
 * ANeuralNetworksModel_identifyInputsAndOutputs() with a wrong index is rejected before it changes
 * the model.
 */
static void test_identify_again(void **state)
{
	const uint32_t inputs[] = { ADD_A, ADD_B, ADD_ACTIVATION }, outputs[] = { ADD_SUM };
	const uint32_t wrong[] = { ADD_A, 4 };
	ANeuralNetworksModel *model;
	int i;

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	for (i = 0; i < 4; i++)
		add_add_operand(model, i);
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1,
						    outputs));
	assert_result(BAD_DATA,
		      ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, wrong, 1, outputs));
	assert_result(BAD_DATA,
		      ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 2, wrong));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
	assert_ok(ANeuralNetworksModel_finish(model));
	ANeuralNetworksModel_free(model);
}

/* Calls each function that changes a model, and checks that the finished model rejects the call. */
static void assert_immutable(ANeuralNetworksModel *model)
{
	const ANeuralNetworksOperandType type = scalar_type(ANEURALNETWORKS_INT32);
	const ANeuralNetworksSymmPerChannelQuantParams params = { 0, 1, add_a };
	const uint32_t list[] = { 0, 1, 2 };
	ANeuralNetworksModel *value = add_model(2);
	ANeuralNetworksMemory *memory;
	void *base;

	memory = shared_memory(4096, PROT_READ, &base);
	assert_result(BAD_STATE, ANeuralNetworksModel_finish(model));
	assert_result(BAD_STATE, ANeuralNetworksModel_addOperand(model, &type));
	assert_result(BAD_STATE, ANeuralNetworksModel_setOperandValue(model, 0, add_a, 16));
	assert_result(BAD_STATE,
		      ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, 16));
	assert_result(BAD_STATE, ANeuralNetworksModel_setOperandValueFromModel(model, 0, value));
	assert_result(BAD_STATE,
		      ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &params));
	assert_result(BAD_STATE, ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3,
								   list, 1, list));
	assert_result(BAD_STATE,
		      ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, list, 1, list));
	assert_result(BAD_STATE,
		      ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, true));
	assert_result(BAD_STATE, ANeuralNetworksModel_setOperandExtensionData(model, 0, NULL, 0));
	ANeuralNetworksMemory_free(memory);
	munmap(base, 4096);
	ANeuralNetworksModel_free(value);
}

static void test_finished(void **state)
{
	ANeuralNetworksModel *model = add_model(2);

	(void)state;
	assert_immutable(model);
	ANeuralNetworksModel_free(model);
}

static void add_sum(ANeuralNetworksModel *model, uint32_t x, uint32_t y, uint32_t sum)
{
	const uint32_t inputs[] = { x, y, 0 };

	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1,
						    &sum));
}

/*
 * Makes a model without operations. Operand 0 is the activation of ADD, and operands 1 to `count`
 * are tensors.
 */
static ANeuralNetworksModel *tensors_model(uint32_t count)
{
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims_2x2);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;
	uint32_t i;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &scalar));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 0, &none, 4));
	for (i = 0; i < count; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	return model;
}

/*
 * A test case has a graph of sums of tensors; tensors 1 and 2 are the graph's inputs. If `output`
 * is 0, the model has no output.
 */
struct graph_case {
	const char *name;
	uint32_t num_tensors;
	uint32_t num_sums;
	uint32_t sums[3][3];		/* operand indices of x, y and x + y */
	uint32_t output;
	int result;
};

static const struct graph_case graph_cases[] = {
	{ "a graph in reverse", 4, 2, { { 2, 3, 4 }, { 1, 2, 3 } }, 4, ANEURALNETWORKS_NO_ERROR },
	{ "no operation", 2, 0, { { 0 } }, 0, ANEURALNETWORKS_BAD_DATA },
	{ "a cycle", 5, 3, { { 1, 4, 3 }, { 3, 2, 4 }, { 3, 4, 5 } }, 5, ANEURALNETWORKS_BAD_DATA },
	{ "an operand that nobody writes", 4, 1, { { 1, 4, 3 } }, 3, ANEURALNETWORKS_BAD_DATA },
	{ "an operand that nobody uses", 4, 1, { { 1, 2, 3 } }, 3, ANEURALNETWORKS_BAD_DATA },
	{ "two writers", 3, 2, { { 1, 2, 3 }, { 1, 1, 3 } }, 3, ANEURALNETWORKS_BAD_DATA },
	{ "a written input", 3, 2, { { 1, 2, 3 }, { 1, 1, 2 } }, 3, ANEURALNETWORKS_BAD_DATA },
	{ "an output that nobody writes", 4, 1, { { 1, 2, 3 } }, 4, ANEURALNETWORKS_BAD_DATA },
};

static void test_graphs(void **state)
{
	const uint32_t inputs[] = { 1, 2 };
	size_t i;
	uint32_t k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(graph_cases); i++) {
		const struct graph_case *c = &graph_cases[i];
		ANeuralNetworksModel *model = tensors_model(c->num_tensors);

		for (k = 0; k < c->num_sums; k++)
			add_sum(model, c->sums[k][0], c->sums[k][1], c->sums[k][2]);
		assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(
			model, 2, inputs, c->output ? 1 : 0, &c->output));
		if (ANeuralNetworksModel_finish(model) != c->result)
			fail_msg("wrong result: %s", c->name);
		/* A model that finish() rejected stays invalid. */
		assert_immutable(model);
		ANeuralNetworksModel_free(model);
	}
}

/*
 * Tests a chain of sums whose operands and operations are added in random order. The runtime must
 * compute a sum after the inputs of the sum. Each sum adds the two preceding sums; the first two
 * sums also use the model's input and zeros.
 */
static void test_any_order(void **state)
{
	enum { LENGTH = 12, OPERANDS = LENGTH + 3, ROUNDS = 30 };
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		const ANeuralNetworksOperandType tensor = tensor_type(2, dims_2x2);
		const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
		const int32_t none = ANEURALNETWORKS_FUSED_NONE;
		uint32_t number[OPERANDS], order[LENGTH], input, output;
		ANeuralNetworksCompilation *compilation;
		ANeuralNetworksExecution *execution;
		float sum[4], expected[2] = { add_a[1], 0 };
		ANeuralNetworksModel *model;

		/*
		 * The array `number` has the operands' random indices: the activation, the input,
		 * the sums, and a constant at the end.
		 */
		for (uint32_t i = 0; i < OPERANDS; i++) {
			uint32_t k = (uint32_t)rand_r(&seed) % (i + 1);

			number[i] = number[k];
			number[k] = i;
		}
		for (uint32_t i = 0; i < LENGTH; i++) {
			uint32_t k = (uint32_t)rand_r(&seed) % (i + 1);

			order[i] = order[k];
			order[k] = i;
		}
		assert_ok(ANeuralNetworksModel_create(&model));
		for (uint32_t i = 0; i < OPERANDS; i++)
			assert_ok(ANeuralNetworksModel_addOperand(model, i == number[0] ? &scalar :
								  &tensor));
		assert_ok(ANeuralNetworksModel_setOperandValue(model, number[0], &none, 4));
		/* Set the constant of zeros, which the first sum adds. */
		assert_ok(ANeuralNetworksModel_setOperandValue(model, number[OPERANDS - 1],
							       (float[4]){ 0 }, sizeof(sum)));
		for (uint32_t i = 0; i < LENGTH; i++) {
			const uint32_t at = order[i];
			const uint32_t inputs[] = {
				number[1 + at], at ? number[at] : number[OPERANDS - 1], number[0],
			};

			assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs,
								    1, &number[2 + at]));
		}
		input = number[1];
		output = number[1 + LENGTH];
		assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
		assert_ok(ANeuralNetworksModel_finish(model));
		compilation = compile(model, true);
		assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
		assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, add_a, sizeof(add_a)));
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
		assert_ok(ANeuralNetworksExecution_compute(execution));
		for (uint32_t at = 0; at < LENGTH; at++) {
			float next = expected[0] + expected[1];

			expected[1] = expected[0];
			expected[0] = next;
		}
		assert_true(sum[1] == expected[0]);
		ANeuralNetworksExecution_free(execution);
		ANeuralNetworksCompilation_free(compilation);
		ANeuralNetworksModel_free(model);
	}
}

/*
 * Tests large constants that end within huge pages. The runtime copies the constants when the model
 * is finished.
 */
static void test_large_constants(void **state)
{
	enum { A, B, NONE, IN, AB, OUT, COUNT, ROWS = 400000 };
	const uint32_t dims[] = { ROWS, 2 }, first[] = { A, B, NONE }, second[] = { AB, IN, NONE };
	const uint32_t in_operand = IN, ab = AB, out_operand = OUT;
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	const size_t size = 2 * ROWS * sizeof(float);
	float *a = malloc(size), *b = malloc(size), *in = malloc(size), *out = malloc(size);
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksModel *model;

	(void)state;
	for (uint32_t i = 0; i < 2 * ROWS; i++) {
		a[i] = (float)(i % 1013);
		b[i] = (float)(i % 997) * 2048;
		in[i] = (float)(i % 7) / 8;
	}
	assert_ok(ANeuralNetworksModel_create(&model));
	for (uint32_t i = 0; i < COUNT; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == NONE ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, A, a, size));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, B, b, size));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, 4));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, second, 1,
						    &out_operand));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, first, 1, &ab));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &in_operand, 1, &out_operand));
	assert_ok(ANeuralNetworksModel_finish(model));
	/* A finished model has its own copy of the constants, so change the application's copy. */
	memset(a, 0, size);
	memset(b, 0, size);
	compilation = compile(model, true);
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, size));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, size));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	for (uint32_t i = 0; i < 2 * ROWS; i++)
		if (out[i] != (float)(i % 1013) + (float)(i % 997) * 2048 + (float)(i % 7) / 8)
			fail_msg("element %u is %g", i, (double)out[i]);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
	free(a);
	free(b);
	free(in);
	free(out);
}

/* Returns the size of all mappings of the process. */
static size_t mapped_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The end of a model unmaps all of the runtime's copy of large constants. */
static void test_large_constants_end(void **state)
{
	enum { ROWS = 400000, MODELS = 12, MOST_GROWTH = 3 << 20 };
	const uint32_t dims[] = { ROWS, 2 };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	const uint32_t operands[] = { 0, 1, 2 }, output = 3;
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	const size_t size = 2 * ROWS * sizeof(float);
	void *values = calloc(1, size);
	size_t before = 0;

	(void)state;
	for (int i = 0; i < MODELS; i++) {
		ANeuralNetworksModel *model;

		/* The first models start threads and allocate memory that the process keeps. */
		if (i == 4)
			before = mapped_bytes();
		assert_ok(ANeuralNetworksModel_create(&model));
		for (uint32_t k = 0; k <= output; k++)
			assert_ok(ANeuralNetworksModel_addOperand(model, k == 2 ? &scalar : &tensor));
		assert_ok(ANeuralNetworksModel_setOperandValue(model, 1, values, size));
		assert_ok(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4));
		assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1,
							    &output));
		assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, operands, 1, &output));
		assert_ok(ANeuralNetworksModel_finish(model));
		ANeuralNetworksModel_free(model);
	}
	assert_true(mapped_bytes() < before + MOST_GROWTH);
	free(values);
}

static void test_late_constant(void **state)
{
	ANeuralNetworksModel *model = unfinished_add_model(2);

	(void)state;
	/*
	 * ANeuralNetworksModel_finish() rejects a model if an input of the model was set to a
	 * constant.
	 */
	assert_ok(ANeuralNetworksModel_setOperandValue(model, ADD_A, add_a, sizeof(add_a)));
	assert_result(BAD_DATA, ANeuralNetworksModel_finish(model));
	ANeuralNetworksModel_free(model);
}

static void test_model_values(void **state)
{
	const ANeuralNetworksOperandType type = scalar_type(ANEURALNETWORKS_MODEL);
	ANeuralNetworksModel *model, *value = unfinished_add_model(2);

	(void)state;
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	assert_result(BAD_STATE, ANeuralNetworksModel_setOperandValueFromModel(model, 0, value));
	assert_ok(ANeuralNetworksModel_finish(value));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromModel(model, 1, value));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, 0, value));
	ANeuralNetworksModel_free(model);
	ANeuralNetworksModel_free(value);
}

static void test_supported(void **state)
{
	const ANeuralNetworksDevice *cpu = cpu_device(), *twice[] = { cpu, cpu }, *none = NULL;
	ANeuralNetworksModel *model = unfinished_add_model(2);
	bool supported = false;

	(void)state;
	assert_result(BAD_STATE, ANeuralNetworksModel_getSupportedOperationsForDevices(
					 model, &cpu, 1, &supported));
	assert_ok(ANeuralNetworksModel_finish(model));
	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &cpu, 1,
									&supported));
	assert_true(supported);
	assert_result(BAD_DATA, ANeuralNetworksModel_getSupportedOperationsForDevices(
					model, twice, 2, &supported));
	assert_result(BAD_DATA, ANeuralNetworksModel_getSupportedOperationsForDevices(
					model, &cpu, 0, &supported));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_getSupportedOperationsForDevices(
					       model, &none, 1, &supported));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksModel_getSupportedOperationsForDevices(
					       model, &cpu, 1, NULL));
	ANeuralNetworksModel_free(model);
}

/*
 * The runtime reports the support of operations in the order in which the operations were added,
 * not executed.
 */
static void test_supported_order(void **state)
{
	const uint32_t inputs[] = { 1, 2 }, outputs[] = { 5 };
	const ANeuralNetworksDevice *cpu = cpu_device();
	const uint32_t three = 3, four = 4;
	ANeuralNetworksModel *model = tensors_model(5);
	ANeuralNetworksCompilation *compilation;
	bool supported[3] = { false };

	(void)state;
	add_sum(model, 3, 4, 5);
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_OEM_OPERATION, 1,
						    &three, 1, &four));
	add_sum(model, 1, 2, 3);
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
	assert_ok(ANeuralNetworksModel_finish(model));
	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &cpu, 1,
									supported));
	assert_true(supported[0]);
	assert_false(supported[1]);
	assert_true(supported[2]);

	/*
	 * No device supports an OEM operation, and the runtime has no fallback for OEM operations.
	 */
	assert_ok(ANeuralNetworksCompilation_create(model, &compilation));
	assert_result(BAD_DATA, ANeuralNetworksCompilation_finish(compilation));
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

static void test_extensions(void **state)
{
	ANeuralNetworksModel *model = unfinished_add_model(2);
	bool supported = true;
	int32_t type;

	(void)state;
	assert_ok(ANeuralNetworksDevice_getExtensionSupport(cpu_device(), "com.example.x",
							    &supported));
	assert_false(supported);
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksDevice_getExtensionSupport(cpu_device(), NULL, &supported));
	assert_result(BAD_DATA, ANeuralNetworksModel_getExtensionOperandType(
					model, "com.example.x", 1, &type));
	assert_result(BAD_DATA, ANeuralNetworksModel_getExtensionOperationType(
					model, "com.example.x", 1, &type));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_getExtensionOperandType(model, NULL, 1, &type));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksModel_setOperandExtensionData(model, 0, NULL, 4));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandExtensionData(model, 9, add_a, 4));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandExtensionData(model, 0, add_a, 0));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandExtensionData(model, 0, add_a, 4));
	ANeuralNetworksModel_free(model);
}

/*
 * A program can use the project's own extension even if no device has the extension, and if the
 * program is not on the list of allowed programs.
 */
static void test_own_extension(void **state)
{
	static const float x[] = { 127, -64 }, bias = 0.5f;
	static const int8_t weights[] = { 2, 1 };
	static const int32_t scalars[] = { ANEURALNETWORKS_FUSED_NONE, 1 };
	const uint32_t two[] = { 1, 2 }, one[] = { 1, 1 }, in[] = { 0, 1, 2, 3, 4 }, out = 5;
	const ANeuralNetworksOperandType types[] = {
		tensor_type(2, two),
		{ ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 2, two, 0.5f, 0 },
		tensor_type(1, one),
		scalar_type(ANEURALNETWORKS_INT32),
		scalar_type(ANEURALNETWORKS_INT32),
		tensor_type(2, one),
	};
	const ANeuralNetworksDevice *cpu = cpu_device();
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksOperationType type;
	ANeuralNetworksModel *model;
	bool supported = false;
	float result = 0;

	(void)state;
	assert_ok(ANeuralNetworksDevice_getExtensionSupport(cpu, "org.nnaccel", &supported));
	assert_true(supported);
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_result(BAD_DATA, ANeuralNetworksModel_getExtensionOperandType(
					model, "org.nnaccel", 0, &type));
	assert_ok(ANeuralNetworksModel_getExtensionOperationType(model, "org.nnaccel", 0, &type));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, &types[i]));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 1, weights, sizeof(weights)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 2, &bias, sizeof(bias)));
	for (int32_t i = 0; i < 2; i++)
		assert_ok(ANeuralNetworksModel_setOperandValue(model, 3 + i, &scalars[i],
							       sizeof(*scalars)));
	/* The first added operation does not exist; the second operation lacks an input. */
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperation(model, type + 0x7fff, 5, in, 1,
								  &out));
	assert_result(BAD_DATA, ANeuralNetworksModel_addOperation(model, type, 4, in, 1, &out));
	assert_ok(ANeuralNetworksModel_addOperation(model, type, 5, in, 1, &out));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 1, &out));
	assert_ok(ANeuralNetworksModel_finish(model));
	supported = false;
	assert_ok(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &cpu, 1,
									&supported));
	assert_true(supported);
	assert_ok(ANeuralNetworksCompilation_create(model, &compilation));
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, &result, sizeof(result)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_true(result == 127 - 32 + 0.5f);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_operand_types),
		heap_unit_test(test_null),
		heap_unit_test(test_values),
		heap_unit_test(test_values_from_memory),
		heap_unit_test(test_channel_scales),
		heap_unit_test(test_operations),
		heap_unit_test(test_identify),
		heap_unit_test(test_identify_again),
		heap_unit_test(test_finished),
		heap_unit_test(test_graphs),
		cmocka_unit_test(test_any_order),
		heap_unit_test(test_large_constants),
		heap_unit_test(test_large_constants_end),
		heap_unit_test(test_late_constant),
		heap_unit_test(test_model_values),
		heap_unit_test(test_supported),
		heap_unit_test(test_supported_order),
		heap_unit_test(test_extensions),
		heap_unit_test(test_own_extension),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
