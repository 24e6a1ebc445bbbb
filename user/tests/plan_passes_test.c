/* SPDX-License-Identifier: MIT */
/*
 * Tests the passes that rewrite models. The rewritten model must have the expected operations and
 * types, and compute the original model's results. All numbers in the test's models are exact in
 * float16.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_builder.h"
#include "ops/float16.h"
#include "ops/op.h"
#include "plan/passes/rewrite.h"
#include "plan/plan.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define IMAGE MB_DIMS(1, 2, 2, 2)
#define ELEMENTS 8

/*
 * A test case has a model as text. An operation in a model's text is two words: the operation's
 * name, and letters for the tensors that the operation reads and writes. A letter stands for a
 * tensor: x is the input of the model; k, w and v are weights, of which k is a constant. All
 * letters except k, v, w and x are images of [1, 2, 2, 2].
 */
struct pass_case {
	const char *model;
	const char *outputs;
	const char *made;	/* expected operations; ":h" means a float16 output */
};

static struct model_builder built;
static uint32_t letters[128];
static int32_t type;

/* Adds float32 numbers as constants of the model's type. */
static uint32_t constant(int32_t of_type, const float *values, uint32_t rank, const uint32_t *dims)
{
	uint32_t count = 1;
	uint16_t fp16[32];

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	if (of_type == NN_TENSOR_FLOAT32)
		return mb_constant(&built, of_type, values, count * 4, rank, dims);
	for (uint32_t i = 0; i < count; i++)
		fp16[i] = nn_float_to_fp16(values[i]);
	return mb_constant(&built, of_type, fp16, count * 2, rank, dims);
}

static uint32_t ints(const int32_t *values, uint32_t rank, const uint32_t *dims)
{
	return mb_constant(&built, NN_TENSOR_INT32, values, rank == 2 ? 32 : 16, rank, dims);
}

static uint32_t flag(uint8_t value)
{
	return mb_constant(&built, NN_BOOL, &value, 1, MB_NONE);
}

static const float numbers[] = { 1, -2, 0.5f, 3, -1, 2, 0.25f, -0.5f, 1, 2, -1, 4, 1, 1, 2, -2 };

/*
 * Reads the input tensors of an operation from a word, and adds the other inputs that the operation
 * needs.
 */
static uint32_t read_inputs(const char *name, const char *tensors, uint32_t *in)
{
	static const int32_t none[8], shape[] = { 1, 2, 2, 2 };
	const uint32_t given = (uint32_t)strlen(tensors) - 1;
	bool window = !strncmp(name, "CONV", 4) || (!strncmp(name, "DEPTH", 5) && !strstr(name, "TO"));
	uint32_t count = 0, channels = strstr(name, "TWICE") ? 4 : 2;

	for (uint32_t i = 0; i < given; i++)
		in[count++] = letters[(uint8_t)tensors[i]];
	if (window || !strcmp(name, "FULL")) {
		if (count == 1 && window)
			in[count++] = *name == 'C' ?
				constant(type, numbers, MB_DIMS(2, 1, 1, 2)) :
				constant(type, numbers, MB_DIMS(1, 1, 1, channels));
		else if (count == 1)
			in[count++] = constant(type, numbers, MB_DIMS(2, 2));
		if (count == 2)
			in[count++] = constant(type, numbers, 1, &channels);
	}
	if (window) {
		in[count++] = mb_int32(&built, 2);
		in[count++] = mb_int32(&built, 1);
		in[count++] = mb_int32(&built, 1);
		if (*name == 'D')
			in[count++] = mb_int32(&built, (int32_t)channels / 2);
		in[count++] = mb_int32(&built, 0);
		if (strstr(name, "NCHW") || strstr(name, "NHWC"))
			in[count++] = flag(strstr(name, "NCHW") != NULL);
	}
	if (!strcmp(name, "FULL"))
		in[count++] = mb_int32(&built, 0);
	if (!strcmp(name, "POOL_NCHW")) {
		for (uint32_t i = 0; i < 6; i++)
			in[count++] = mb_int32(&built, i ? i < 5 : 2);
		in[count++] = flag(true);
	}
	/*
	 * Add the size input: an image of 2 by 2 pixels for RESIZE, a block of one pixel for the
	 * *_TO_* operations.
	 */
	if (!strncmp(name, "RESIZE", 6) || strstr(name, "_TO_")) {
		in[count++] = mb_int32(&built, *name == 'R' ? 2 : 1);
		if (*name == 'R')
			in[count++] = mb_int32(&built, 2);
		in[count++] = flag(true);
	}
	if (!strcmp(name, "PAD"))
		in[count++] = ints(none, MB_DIMS(4, 2));
	if (!strcmp(name, "RESHAPE"))
		in[count++] = ints(shape, MB_DIMS(4));
	if (!strcmp(name, "SLICE")) {
		in[count++] = ints(none, MB_DIMS(4));
		in[count++] = ints(shape, MB_DIMS(4));
	}
	if (!strcmp(name, "TRANSPOSE_CONV_2D")) {
		in[count++] = constant(type, numbers, MB_DIMS(2, 1, 1, 2));
		in[count++] = constant(type, numbers, MB_DIMS(2));
		in[count++] = ints(shape, MB_DIMS(4));
		for (uint32_t i = 0; i < 4; i++)
			in[count++] = mb_int32(&built, (const int32_t[]){ 2, 1, 1, 0 }[i]);
		in[count++] = flag(true);
	}
	if (!strcmp(name, "CONCATENATION"))
		in[count++] = mb_int32(&built, 0);
	if (!strcmp(name, "ADD") || !strcmp(name, "SUB") || !strcmp(name, "MUL") ||
	    !strcmp(name, "DIV") || strstr(name, "IMUM") || !strcmp(name, "PRELU") ||
	    !strcmp(name, "POW")) {
		if (count == 1)
			in[count++] = constant(type, numbers, MB_DIMS(1));
		if (strlen(name) == 3 && strcmp(name, "POW"))
			in[count++] = mb_int32(&built, 0);
	}
	return count;
}

static int32_t code_of(const char *name)
{
	static const struct {
		const char *name;
		int32_t code;
	} windows[] = {
		{ "CONV", NN_OP_CONV_2D }, { "DEPTH", NN_OP_DEPTHWISE_CONV_2D },
		{ "FULL", NN_OP_FULLY_CONNECTED }, { "POOL", NN_OP_MAX_POOL_2D },
	};

	for (size_t i = 0; !strstr(name, "_TO_") && i < LENGTH(windows); i++)
		if (!strncmp(name, windows[i].name, strlen(windows[i].name)))
			return windows[i].code;
	for (size_t i = 0; i < nn_op_count(); i++)
		if (!strcmp(nn_op_at(i)->name, name))
			return nn_op_at(i)->code;
	fail_msg("no operation %s", name);
	return -1;
}

static void add_output(const char *name, char letter, const char *outputs)
{
	enum nn_lifetime lifetime = strchr(outputs, letter) ? NN_SUBGRAPH_OUTPUT : NN_TEMPORARY;

	if (strstr(name, "TWICE"))
		letters[(uint8_t)letter] = mb_operand(&built, type, lifetime, MB_DIMS(1, 2, 2, 4));
	else if (letter == 'v')
		letters[(uint8_t)letter] = mb_operand(&built, type, lifetime, MB_DIMS(2, 1, 1, 2));
	else if (!strcmp(name, "CONCATENATION"))
		letters[(uint8_t)letter] = mb_operand(&built, type, lifetime, MB_DIMS(2, 2, 2, 2));
	else if (!strcmp(name, "FULL"))
		letters[(uint8_t)letter] = mb_operand(&built, type, lifetime, MB_DIMS(4, 2));
	else
		letters[(uint8_t)letter] = mb_operand(&built, type, lifetime, IMAGE);
}

/*
 * Adds a CAST, whose kind the name selects: WIDE converts constant float16 weights to float32,
 * NARROW converts to float16, and WIDER converts to float32.
 */
static void add_cast(const char *name, const char *tensors, const char *outputs)
{
	uint32_t in;

	if (!strcmp(name, "WIDE")) {
		in = constant(NN_TENSOR_FLOAT16, numbers, MB_DIMS(2, 1, 1, 2));
		letters[(uint8_t)*tensors] = mb_operand(&built, type, NN_TEMPORARY,
							MB_DIMS(2, 1, 1, 2));
		mb_operation(&built, NN_OP_CAST, 1, &in, 1, &letters[(uint8_t)*tensors]);
		return;
	}
	in = letters[(uint8_t)tensors[0]];
	letters[(uint8_t)tensors[1]] =
		mb_operand(&built, *name == 'N' ? NN_TENSOR_FLOAT16 : NN_TENSOR_FLOAT32,
			   strchr(outputs, tensors[1]) ? NN_SUBGRAPH_OUTPUT : NN_TEMPORARY, IMAGE);
	mb_operation(&built, NN_OP_CAST, 1, &in, 1, &letters[(uint8_t)tensors[1]]);
}

static void build(const struct pass_case *c)
{
	char text[256], *rest, *name, *tensors;
	uint32_t in[16], count;
	struct nn_error err = { "" };

	mb_init(&built);
	if (type == NN_TENSOR_FLOAT32) {
		letters['k'] = constant(type, numbers, MB_DIMS(2, 1, 1, 2));
		letters['i'] = constant(type, numbers, IMAGE);
	}
	letters['x'] = mb_operand(&built, type, NN_SUBGRAPH_INPUT, IMAGE);
	snprintf(text, sizeof(text), "%s", c->model);
	for (name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		tensors = strtok_r(NULL, " ", &rest);
		if (!strcmp(name, "WIDE") || !strcmp(name, "WIDER") || !strcmp(name, "NARROW")) {
			add_cast(name, tensors, c->outputs);
			continue;
		}
		count = read_inputs(name, tensors, in);
		add_output(name, tensors[strlen(tensors) - 1], c->outputs);
		mb_operation(&built, code_of(name), count, in, 1,
			     &letters[(uint8_t)tensors[strlen(tensors) - 1]]);
	}
	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err))
		fail_msg("\"%s\": %s", c->model, err.message);
}

static void tell(const struct nn_model *model, char *text, size_t size)
{
	const struct nn_subgraph *s = &model->subgraphs[0];

	text[0] = 0;
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operand *out = &s->operands[s->operations[i].outputs[0]];
		size_t used = strlen(text);
		uint32_t bytes;

		/* The rewritten model must declare all shapes. */
		assert_true(nn_operand_size(out, &bytes) && bytes);
		snprintf(text + used, size - used, "%s%s%s", i ? " " : "",
			 nn_op_name(s->operations[i].type),
			 out->type == NN_TENSOR_FLOAT16 ? ":h" : "");
	}
}

/*
 * Interprets a model with fixed arguments, which match the inputs and outputs of the built model.
 */
static void interpret(const struct nn_model *model, uint32_t out[4][2 * ELEMENTS])
{
	const struct nn_plan_options options = { .kernels = "none" };
	const struct nn_subgraph *s = &model->subgraphs[0];
	float in[ELEMENTS];
	uint16_t fp16[ELEMENTS];
	struct nn_arg args[5] = { { .data = in, .length = sizeof(in) } };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = s->num_outputs, .inputs = args,
				  .outputs = args + 1 };
	struct nn_error err = { "" };
	struct nn_plan *plan;

	memcpy(in, numbers + 4, sizeof(in));
	nn_fp32_to_fp16(in, fp16, ELEMENTS);
	if (type == NN_TENSOR_FLOAT16)
		args[0] = (struct nn_arg){ .data = fp16, .length = sizeof(fp16) };
	memset(out, 0, 4 * sizeof(*out));
	for (uint32_t i = 0; i < s->num_outputs; i++)
		args[1 + i] = (struct nn_arg){ .data = out[i], .length = sizeof(out[i]) };
	if (nn_plan_create(model, &options, &plan, &err) || nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	nn_plan_free(plan);
}

static void check_cases(const struct pass_case *cases, size_t count,
			struct nn_model *(*pass)(const struct nn_model *model))
{
	uint32_t right[4][2 * ELEMENTS], got[4][2 * ELEMENTS];

	for (size_t i = 0; i < count; i++) {
		struct nn_model *made;
		char text[512] = "";

		build(&cases[i]);
		made = pass(&built.model);
		if (made)
			tell(made, text, sizeof(text));
		if (strcmp(text, cases[i].made))
			fail_msg("\"%s\" became \"%s\", not \"%s\"", cases[i].model, text,
				 cases[i].made);
		if (!made)
			continue;
		interpret(&built.model, right);
		interpret(made, got);
		assert_memory_equal(got, right, sizeof(got));
		nn_model_free(made);
	}
}

/*
 * The pass plan_float16() converts products with constant weights to fp16, and also adjacent
 * operations that lose no precision.
 */
static void test_float16(void **state)
{
	static const struct pass_case cases[] = {
		{ "NEG xa", "a", "" },
		{ "RELU xa", "a", "" },
		{ "CONV xa", "a", "CAST:h CAST:h CAST:h CONV_2D:h CAST" },
		{ "CONV_NHWC xa", "a", "CAST:h CAST:h CAST:h CONV_2D:h CAST" },
		{ "CONV_NCHW xa", "a", "" },
		{ "DEPTH xa", "a", "CAST:h CAST:h CAST:h DEPTHWISE_CONV_2D:h CAST" },
		{ "DEPTH_NHWC xa", "a", "CAST:h CAST:h CAST:h DEPTHWISE_CONV_2D:h CAST" },
		{ "DEPTH_NCHW xa", "a", "" },
		{ "DEPTH_TWICE xa", "a", "" },
		{ "FULL xa", "a", "CAST:h CAST:h CAST:h FULLY_CONNECTED:h CAST" },
		/*
		 * In the first model the weights are computed; in the second model the weights are
		 * the constant k.
		 */
		{ "RESHAPE xa CONV xab", "b", "" },
		{ "CONV xka", "a", "CAST:h CAST:h CAST:h CONV_2D:h CAST" },
		/* Operations behind it. */
		{ "CONV xa RELU ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h RELU:h CAST" },
		{ "CONV xa RELU1 ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h RELU1:h CAST" },
		{ "CONV xa RELU6 ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h RELU6:h CAST" },
		{ "CONV xa ADD ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h CAST:h ADD:h CAST" },
		{ "CONV xa SUB ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h CAST:h SUB:h CAST" },
		{ "CONV xa MUL ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h CAST:h MUL:h CAST" },
		{ "CONV xa PAD ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h PAD:h CAST" },
		{ "CONV xa RESHAPE ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h RESHAPE:h CAST" },
		{ "CONV xa CONCATENATION aab", "b",
		  "CAST:h CAST:h CAST:h CONV_2D:h CONCATENATION:h CAST" },
		{ "CONV xa NEG ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h CAST NEG" },
		{ "CONV xa MAXIMUM ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h CAST MAXIMUM" },
		/*
		 * Only the second input of the ADD was computed in float16, so the first input is
		 * converted.
		 */
		{ "CONV xa NEG xb ADD bac", "c",
		  "CAST:h CAST:h CAST:h CONV_2D:h NEG CAST:h ADD:h CAST" },
		/*
		 * Operations before a product are also converted to float16 if no other operation
		 * reads their results.
		 */
		{ "RELU xa CONV ab", "b", "CAST:h RELU:h CAST:h CAST:h CONV_2D:h CAST" },
		{ "RELU xa RELU6 ab CONV bc", "c",
		  "CAST:h RELU:h RELU6:h CAST:h CAST:h CONV_2D:h CAST" },
		{ "RELU xa CONV ab NEG ac", "bc", "RELU CAST:h CAST:h CAST:h CONV_2D:h NEG CAST" },
		{ "RELU xa CONV ab CONV ac", "bc",
		  "CAST:h RELU:h CAST:h CAST:h CONV_2D:h CAST:h CAST:h CONV_2D:h CAST CAST" },
		{ "RELU xa CONV xb ADD bac", "c",
		  "CAST:h RELU:h CAST:h CAST:h CONV_2D:h ADD:h CAST" },
		{ "NEG xa CONV ab", "b", "NEG CAST:h CAST:h CAST:h CONV_2D:h CAST" },
		/* Several operations read the result of one conversion. */
		{ "CONV xa NEG ab NEG ac", "abc", "CAST:h CAST:h CAST:h CONV_2D:h CAST NEG NEG" },
		{ "CONV xa CONV xb", "ab",
		  "CAST:h CAST:h CAST:h CONV_2D:h CAST:h CAST:h CONV_2D:h CAST CAST" },
		/* The weights are already float16 in the original model. */
		{ "WIDE w CONV xwa", "a", "CAST:h CAST:h CONV_2D:h CAST" },
		{ "WIDE w CONV xwa NEG wv", "av", "CAST:h CAST:h CONV_2D:h CAST NEG CAST" },
		{ "NARROW xh WIDER ha CONV ab", "b", "CAST:h CAST:h CAST:h CONV_2D:h CAST" },
		{ "NARROW xh WIDER ha CONV xab", "b", "" },
	};

	(void)state;
	type = NN_TENSOR_FLOAT32;
	check_cases(cases, LENGTH(cases), plan_float16);
}

/*
 * The pass plan_float32() converts a whole float16 model to float32, with conversions at the
 * model's inputs and outputs.
 */
static void test_float32(void **state)
{
	static const struct pass_case cases[] = {
		{ "NEG xa", "a", "CAST NEG CAST:h" },
		{ "NEG xa RELU ab", "b", "CAST NEG RELU CAST:h" },
		{ "NEG xa RELU ab", "ab", "CAST NEG RELU CAST:h CAST:h" },
		{ "CONV xa", "a", "CAST CAST CAST CONV_2D CAST:h" },
		{ "ADD xa", "a", "CAST CAST ADD CAST:h" },
		/* The pass plan_float32() does not remove a CAST that rounds. */
		{ "WIDER xa NEG ab NARROW bc NEG cd", "d", "CAST CAST NEG CAST:h CAST NEG CAST:h" },
		{ "WIDER xa NARROW ab", "b", "CAST CAST CAST:h CAST" },
	};
	static const struct pass_case single = { "NEG xa", "a", "" };

	(void)state;
	type = NN_TENSOR_FLOAT16;
	check_cases(cases, 5, plan_float32);
	type = NN_TENSOR_FLOAT32;
	check_cases(&single, 1, plan_float32);
}

/*
 * The pass plan_nhwc() keeps images in NHWC as long as the operations that read the images support
 * NHWC.
 */
static void test_nhwc(void **state)
{
	static const struct pass_case cases[] = {
		{ "CONV xa", "a", "" },
		{ "CONV_NHWC xa", "a", "" },
		{ "CONV_NCHW xa", "a", "TRANSPOSE CONV_2D TRANSPOSE" },
		{ "DEPTH_NCHW xa", "a", "TRANSPOSE DEPTHWISE_CONV_2D TRANSPOSE" },
		{ "DEPTH_NHWC xa", "a", "" },
		{ "POOL_NCHW xa", "a", "TRANSPOSE MAX_POOL_2D TRANSPOSE" },
		{ "CONV_NCHW xa CONV_NCHW ab", "b", "TRANSPOSE CONV_2D CONV_2D TRANSPOSE" },
		{ "CONV_NCHW xa RELU ab", "b", "TRANSPOSE CONV_2D RELU TRANSPOSE" },
		{ "CONV_NCHW xa NEG ab", "b", "TRANSPOSE CONV_2D NEG TRANSPOSE" },
		{ "CONV_NCHW xa ABS ab", "b", "TRANSPOSE CONV_2D ABS TRANSPOSE" },
		{ "CONV_NCHW xa FLOOR ab", "b", "TRANSPOSE CONV_2D FLOOR TRANSPOSE" },
		{ "CONV_NCHW xa LOG ab SIN bc", "c", "TRANSPOSE CONV_2D LOG SIN TRANSPOSE" },
		{ "CONV_NCHW xa RELU1 ab RELU6 bc", "c", "TRANSPOSE CONV_2D RELU1 RELU6 TRANSPOSE" },
		{ "CONV_NCHW xa LOGISTIC ab TANH bc", "c",
		  "TRANSPOSE CONV_2D LOGISTIC TANH TRANSPOSE" },
		{ "CONV_NCHW xa EXP ab SQRT bc RSQRT cd HARD_SWISH de", "e",
		  "TRANSPOSE CONV_2D EXP SQRT RSQRT HARD_SWISH TRANSPOSE" },
		{ "CONV_NCHW xa ADD ab", "b", "TRANSPOSE CONV_2D ADD TRANSPOSE" },
		{ "CONV_NCHW xa POW ab", "b", "TRANSPOSE CONV_2D POW TRANSPOSE" },
		{ "CONV_NCHW xa SUB ab MUL bc DIV cd", "d",
		  "TRANSPOSE CONV_2D SUB MUL DIV TRANSPOSE" },
		{ "CONV_NCHW xa MAXIMUM ab MINIMUM bc", "c",
		  "TRANSPOSE CONV_2D MAXIMUM MINIMUM TRANSPOSE" },
		{ "RESIZE_BILINEAR xa", "a", "TRANSPOSE RESIZE_BILINEAR TRANSPOSE" },
		{ "RESIZE_NEAREST_NEIGHBOR xa", "a", "TRANSPOSE RESIZE_NEAREST_NEIGHBOR TRANSPOSE" },
		{ "DEPTH_TO_SPACE xa", "a", "TRANSPOSE DEPTH_TO_SPACE TRANSPOSE" },
		{ "SPACE_TO_DEPTH xa", "a", "TRANSPOSE SPACE_TO_DEPTH TRANSPOSE" },
		{ "CONV_NCHW xa PRELU ab", "b", "TRANSPOSE CONV_2D PRELU TRANSPOSE" },
		{ "CONV_NCHW xa PAD ab", "b", "TRANSPOSE CONV_2D PAD TRANSPOSE" },
		{ "CONV_NCHW xa SLICE ab", "b", "TRANSPOSE CONV_2D SLICE TRANSPOSE" },
		{ "TRANSPOSE_CONV_2D xa", "a", "TRANSPOSE TRANSPOSE_CONV_2D TRANSPOSE" },
		{ "CONV_NCHW xa CONCATENATION aab", "b",
		  "TRANSPOSE CONV_2D CONCATENATION TRANSPOSE" },
		/* A PAD is computed in NHWC if only operations with windows read its result. */
		{ "PAD xa CONV_NCHW ab", "b", "TRANSPOSE PAD CONV_2D TRANSPOSE" },
		{ "PAD xa CONV_NCHW ab NEG ac", "bc", "PAD TRANSPOSE CONV_2D NEG TRANSPOSE" },
		{ "RELU xa CONV_NCHW ab", "b", "RELU TRANSPOSE CONV_2D TRANSPOSE" },
		/* The ADD reads one image in NHWC, and one image in the original layout. */
		{ "CONV_NCHW xa ADD axb", "b", "TRANSPOSE CONV_2D TRANSPOSE ADD" },
		{ "CONV_NCHW xa CONV_NCHW xb ADD abc", "c",
		  "TRANSPOSE CONV_2D CONV_2D ADD TRANSPOSE" },
		{ "CONV_NCHW xa CONCATENATION axb", "b",
		  "TRANSPOSE CONV_2D TRANSPOSE CONCATENATION" },
		{ "CONV_NCHW xa CONCATENATION aib", "b",
		  "TRANSPOSE CONV_2D TRANSPOSE CONCATENATION TRANSPOSE" },
		/* In the next models, several operations read one transposed image. */
		{ "CONV_NCHW xa RESHAPE ab RESHAPE ac", "bc",
		  "TRANSPOSE CONV_2D TRANSPOSE RESHAPE RESHAPE" },
		{ "CONV_NCHW xa RELU ab", "ab", "TRANSPOSE CONV_2D RELU TRANSPOSE TRANSPOSE" },
	};

	(void)state;
	type = NN_TENSOR_FLOAT32;
	check_cases(cases, LENGTH(cases), plan_nhwc);
}

/* Passes do not change models with branches or vendors' operations. */
static void test_other_models(void **state)
{
	static const struct pass_case c = { "CONV_NCHW xa CONV_NHWC ab", "b", "" };

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		type = i % 2 ? NN_TENSOR_FLOAT16 : NN_TENSOR_FLOAT32;
		build(&c);
		if (i < 2)
			built.model.num_subgraphs = 2;
		else
			built.model.num_extensions = 1;
		assert_null(plan_float16(&built.model));
		assert_null(plan_float32(&built.model));
		assert_null(plan_nhwc(&built.model));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_float16),
		heap_unit_test(test_float32),
		heap_unit_test(test_nhwc),
		heap_unit_test(test_other_models),
	};

	return cmocka_run_group_tests_name("plan_passes", tests, NULL, NULL);
}
