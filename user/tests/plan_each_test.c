/* SPDX-License-Identifier: MIT */
/*
 * Tests every operation in every type that it supports, in random shapes. The test compares the
 * results of compiled plans and of the interpreter: integers must be equal, floats nearly equal.
 * The functions of vectors/form.h make the models. The test fails if an operation was never
 * executed in one of its types. The environment variable NN_SEED sets the first seed.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "ops/float16.h"
#include "ops/op.h"
#include "plan/compiled.h"
#include "plan/plan.h"
#include "plan/run/cpus.h"
#include "plan/saved/saved.h"
#include "tests/plan_diff/damage.h"
#include "vectors/form.h"
#include "vectors/random.h"

#define ROUNDS (uint64_t)how_often(12, 4)	/* number of rounds for each operation and type */
#define FIRST_SEED 1

static const struct form large_forms[] = {
#include "plan_each_large.def"
};

/* Replaces the library's cpus_usable(), so that plans use several threads on any machine. */
uint32_t cpus_usable(void)
{
	return 3;
}

/* ---- Running ---- */

struct result {
	char data[8][FORM_MAX_BYTES / 4];
	struct nn_output_shape shapes[8];
	enum nn_status status;
	struct nn_error err;
	uint32_t tasks;			/* maximum number of tasks of the plan's steps */
};

static struct result results[2];

#define MOST_OPS 128

/* Returns the index of an operation in the table of operations. */
static size_t place_of(const struct nn_op *op)
{
	size_t i = 0;

	while (nn_op_at(i) != op)
		i++;
	assert_true(i < MOST_OPS);
	return i;
}

/* Number of plans that were saved in serialised form, by operation and type. */
static uint32_t serialised[MOST_OPS][FORM_NUM_TYPES];
/*
 * If both is_first_round (an operation's first round runs) and is_first_set (the first set of
 * kernels runs) are true, the plan is always saved.
 */
static bool is_first_round, is_first_set;
static struct damage_counts damaged;

/*
 * Checks that a plan that was saved and loaded gives results that equal `right` bit by bit. A plan
 * that is loaded from damaged bytes must be refused, or access only its own memory.
 */
static void check_saved(const struct nn_plan *plan, const struct nn_execution *as,
			const struct result *right)
{
	const struct nn_plan_options options = { .preference = pick(0, 2) };
	static struct result got;
	struct nn_execution e = *as;
	struct nn_arg out[8];
	struct nn_error err = { "" };
	struct nn_plan_image image;
	struct nn_plan *loaded;
	void *data = NULL;

	if (nn_plan_save(plan, &image, &err))
		fail_msg("%s", err.message);
	assert_int_equal(posix_memalign(&data, NN_PLAN_DATA_ALIGN, image.data_size + 1), 0);
	nn_plan_image_data(&image, data);
	if (nn_plan_load(image.model, image.model_size, data, image.data_size, &options, &loaded,
			 &err))
		fail_msg("%s", err.message);
	memset(&got, 0, sizeof(got));
	for (uint32_t i = 0; i < e.num_outputs; i++)
		out[i] = (struct nn_arg){ .data = got.data[i], .length = sizeof(got.data[i]) };
	e.outputs = out;
	e.shapes = got.shapes;
	assert_int_equal(nn_plan_execute(loaded, &e, &err), NN_OK);
	assert_memory_equal(got.shapes, right->shapes, sizeof(got.shapes));
	assert_memory_equal(got.data, right->data, sizeof(got.data));
	nn_plan_free(loaded);
	if (((const struct saved_header *)image.model)->serial_size) {
		for (size_t t = 0; t < FORM_NUM_TYPES; t++)
			serialised[place_of(form.op)][t] += form_types[t].type == form.type;
		check_all_bounds(&image, &damaged);
		if (chance(4))
			check_damaged(&image, data, &damaged);
	}
	nn_plan_image_free(&image);
	free(data);
}

/*
 * Checks that the plan is compiled. The compiler must compile a model even if the model lacks a
 * value that determines addresses but no shape.
 */
static void check_compiled(const struct nn_plan *plan, const char *kernels)
{
	static const int32_t always[] = {
		NN_OP_AXIS_ALIGNED_BBOX_TRANSFORM, NN_OP_EMBEDDING_LOOKUP, NN_OP_GATHER,
		NN_OP_HASHTABLE_LOOKUP, NN_OP_ROI_ALIGN, NN_OP_ROI_POOLING,
	};
	struct nn_plan_memory memory;

	nn_plan_memory(plan, &memory);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (form.op->code == always[i] && strcmp(kernels, "none") && !memory.execution)
			fail_msg("%s is not compiled", form.op->name);
}

/* Returns the maximum number of tasks of a plan's steps; 0 if the plan is interpreted. */
static uint32_t most_tasks(const struct nn_plan *plan)
{
	uint32_t most = 0;

	for (uint32_t i = 0; plan->compiled && i < plan->compiled->num_steps; i++)
		if (plan->compiled->steps[i].ready.tasks > most)
			most = plan->compiled->steps[i].ready.tasks;
	return most;
}

static void execute_by(const char *kernels, uint32_t preference, struct result *r)
{
	const struct nn_plan_options options = { .preference = preference, .kernels = kernels };
	const struct nn_subgraph *s = &form.subgraphs[0];
	struct nn_arg in[FORM_MAX_OPERANDS], out[8];
	struct nn_execution e = { .num_inputs = s->num_inputs, .num_outputs = s->num_outputs,
				  .inputs = in, .outputs = out, .shapes = r->shapes };
	struct nn_plan *plan;
	uint32_t size;

	memset(r, 0, sizeof(*r));
	for (uint32_t i = 0; i < s->num_inputs; i++) {
		assert_true(nn_operand_size(&s->operands[s->inputs[i]], &size));
		in[i] = (struct nn_arg){ .data = form_inputs[i], .length = size };
	}
	for (uint32_t i = 0; i < s->num_outputs; i++)
		out[i] = (struct nn_arg){ .data = r->data[i], .length = sizeof(r->data[i]) };
	if (nn_plan_create(&form.model, &options, &plan, &r->err))
		fail_msg("%s", r->err.message);
	check_compiled(plan, kernels);
	r->tasks = most_tasks(plan);
	/*
	 * Execute twice, because the second execution uses memory that the first execution has
	 * changed.
	 */
	for (uint32_t i = 0; i < 2; i++)
		r->status = nn_plan_execute(plan, &e, &r->err);
	if (strcmp(kernels, "none") && !r->status &&
	    (chance(3) || (is_first_round && is_first_set)))
		check_saved(plan, &e, r);
	nn_plan_free(plan);
}

static void execute(const char *kernels, struct result *r)
{
	execute_by(kernels, pick(0, 2), r);
}

static float float_at(int32_t type, const char *x, uint32_t i)
{
	uint16_t half;
	float value;

	if (type == NN_TENSOR_FLOAT16) {
		memcpy(&half, x + 2 * i, sizeof(half));
		return nn_fp16_to_float(half);
	}
	memcpy(&value, x + 4 * i, sizeof(value));
	return value;
}

/*
 * Returns the largest absolute value of a tensor's elements. Rounding errors of sums are
 * proportional to the largest element, most of all in float16.
 */
static float largest_of(int32_t type, const char *x, uint32_t count)
{
	float largest = 0;

	for (uint32_t i = 0; i < count; i++)
		if (isfinite(float_at(type, x, i)))
			largest = fmaxf(largest, fabsf(float_at(type, x, i)));
	return largest;
}

static bool is_close(int32_t type, const char *x, const char *y, uint32_t i, float largest)
{
	float a = float_at(type, x, i), b = float_at(type, y, i);
	float tolerance = type == NN_TENSOR_FLOAT16 ? 2e-2f : 1e-3f;
	float size = type == NN_TENSOR_FLOAT16 ? largest : fabsf(b);
	float lost = 2 * FLT_EPSILON * largest;

	return a == b || fabsf(a - b) <= tolerance * (1 + size) + lost || (isnan(a) && isnan(b));
}

static void compare(const char *name, uint64_t seed)
{
	const struct nn_subgraph *s = &form.subgraphs[0];

	if (results[0].status != results[1].status)
		fail_msg("seed %llu, %s: status %d, not %d: %s", (unsigned long long)seed, name,
			 results[1].status, results[0].status, results[1].err.message);
	for (uint32_t i = 0; !results[0].status && i < s->num_outputs; i++) {
		int32_t type = s->operands[s->outputs[i]].type;
		const struct nn_output_shape *shape = &results[0].shapes[i];
		uint32_t count = 1, element = nn_type_info_of(type)->element_size;

		assert_memory_equal(shape, &results[1].shapes[i], sizeof(*shape));
		for (uint32_t k = 0; k < shape->rank; k++)
			count *= shape->dims[k];

		const bool is_float = type == NN_TENSOR_FLOAT32 || type == NN_TENSOR_FLOAT16;
		const float largest = is_float ? largest_of(type, results[0].data[i], count) : 0;

		for (uint32_t k = 0; k < count; k++) {
			const char *x = results[0].data[i], *y = results[1].data[i];

			if (is_float ? !is_close(type, x, y, k, largest) :
				       memcmp(x + k * element, y + k * element, element))
				fail_msg("seed %llu, %s of %s: output %u, element %u",
					 (unsigned long long)seed, name, nn_type_name(form.type), i,
					 k);
		}
	}
}

/* ---- All operations ---- */

/* Numbers of tried models and of successful executions, by operation and type. */
static uint32_t tries[MOST_OPS][FORM_NUM_TYPES], runs[MOST_OPS][FORM_NUM_TYPES];

static bool is_executed(void)
{
	struct nn_error err = { "" };

	if (nn_model_check(&form.model, &err) || nn_ops_check_model(&form.model, NULL, &err))
		return false;
	execute("none", &results[1]);
	return !results[1].status;
}

/*
 * If an operation requires a certain scale and zero point of its output, it must refuse another
 * scale or zero point.
 */
static void check_quantised(void)
{
	static const int32_t free_ones[] = {
		NN_OP_CAST, NN_OP_CONCATENATION, NN_OP_MUL, NN_OP_ROI_ALIGN, NN_OP_SELECT,
	};
	const struct nn_subgraph *s = &form.subgraphs[0];

	for (size_t i = 0; i < sizeof(free_ones) / sizeof(free_ones[0]); i++)
		if (form.op->code == free_ones[i])
			return;
	for (uint32_t i = 0; i < s->num_outputs; i++) {
		struct nn_operand *o = &form.operands[0][s->outputs[i]], good = *o;

		if (!form.fixed[i] || !form_is_quant8(o->type))
			continue;
		o->scale *= 2;
		if (is_executed())
			fail_msg("%s: output %u of another scale", form.op->name, i);
		*o = good;
		o->zero_point ^= 1;
		if (is_executed())
			fail_msg("%s: output %u of another zero point", form.op->name, i);
		*o = good;
	}
}

/*
 * Declares the shapes of the outputs in the model, because a plan with an unknown shape is not
 * saved.
 */
static void declare_outputs(const struct result *r)
{
	const struct nn_subgraph *s = &form.subgraphs[0];

	for (uint32_t i = 0; i < s->num_outputs; i++) {
		struct nn_operand *o = &form.operands[0][s->outputs[i]];

		o->rank = r->shapes[i].rank;
		memcpy(o->dims, r->shapes[i].dims, sizeof(o->dims));
	}
}

static uint32_t try_form(const struct nn_op *op, const struct form *f, uint64_t seed)
{
	const char *kernels;
	uint32_t count = 0;

	for (size_t t = 0; t < FORM_NUM_TYPES; t++) {
		/*
		 * Seed the random numbers, so that each set of kernels and the interpreter get the
		 * same numbers.
		 */
		random_start((seed * 131 + (uint64_t)op->code) * 7919 + t);
		if (form_types[t].type == NN_INT32 || !form_build(op, f, form_types[t].type))
			continue;
		execute("none", &results[0]);
		if (results[0].status && getenv("NN_VERBOSE"))
			print_message("%s\n", results[0].err.message);
		tries[place_of(op)][t]++;
		runs[place_of(op)][t] += !results[0].status;
		if (!results[0].status && is_first_round)
			check_quantised();
		if (!results[0].status && (chance(2) || is_first_round))
			declare_outputs(&results[0]);
		for (uint32_t k = 0; (kernels = nn_plan_kernels_at(k)); k++) {
			is_first_set = !k;
			execute(kernels, &results[1]);
			compare(op->name, seed);
		}
		count++;
	}
	return count;
}

/*
 * Results that several threads compute must equal the results of a single thread bit by bit, and the
 * results of the interpreter as other results do.
 */
static void test_threads(void **unused)
{
	const char *kernels = nn_plan_kernels_at(0);
	static const struct result none;

	(void)unused;
	form_is_large = true;
	is_first_round = false;
	for (size_t i = 0; i < sizeof(large_forms) / sizeof(large_forms[0]); i++) {
		uint32_t ran = 0, tasks = 0;

		for (size_t t = 0; t < FORM_NUM_TYPES; t++) {
			const struct nn_op *op = NULL;

			for (size_t k = 0; k < nn_op_count(); k++)
				if (!strcmp(nn_op_at(k)->name, large_forms[i].name))
					op = nn_op_at(k);
			random_start(i * FORM_NUM_TYPES + t);
			if (form_types[t].type == NN_INT32 || !form_build(op, &large_forms[i], form_types[t].type))
				continue;
			results[0] = results[1] = none;
			execute_by(kernels, NN_PREFER_LOW_POWER, &results[0]);
			execute_by(kernels, NN_PREFER_LOW_POWER + 1, &results[1]);
			assert_int_equal(results[0].status, results[1].status);
			ran += !results[0].status;
			/*
			 * Ignore the tasks of float16 plans, because conversion steps have several
			 * tasks even if the tested operation has only one.
			 */
			if (form_types[t].type != NN_TENSOR_FLOAT16 && results[1].tasks > tasks)
				tasks = results[1].tasks;
			if (memcmp(results[0].data, results[1].data, sizeof(results[0].data)))
				fail_msg("%s of %s: \"%s\" of one and of three threads differ",
					 op->name, form_types[t].name, large_forms[i].text);
			execute_by("none", NN_PREFER_LOW_POWER, &results[0]);
			compare(large_forms[i].text, i);
		}
		if (!ran || tasks < 2)
			fail_msg("%s of \"%s\" was executed %u times, in %u tasks",
				 large_forms[i].name, large_forms[i].text, ran, tasks);
	}
	form_is_large = false;
}

static void tell_types(const struct nn_op *op)
{
	char list[128] = "";

	for (size_t t = 0; t < FORM_NUM_TYPES; t++) {
		if (tries[place_of(op)][t] && !runs[place_of(op)][t])
			fail_msg("%s was never executed on %s", op->name, form_types[t].name);
		if (runs[place_of(op)][t])
			snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s",
				 form_types[t].name);
	}
	if (getenv("NN_VERBOSE"))
		print_message("%s:%s\n", op->name, list);
	if (!list[0])
		fail_msg("%s was never executed", op->name);
}

/*
 * Operations whose kernels can save their steps. The test fails if no step of a listed operation
 * was saved.
 */
static const struct {
	const char *types;
	const char *operations;
} always_serialised[] = {
	{ "f32",
	  "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D FLOOR "
	  "FULLY_CONNECTED L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC "
	  "LSTM MAX_POOL_2D MUL RELU RELU1 RELU6 RESIZE_BILINEAR SOFTMAX SVDF TANH DIV MEAN "
	  "SUB TRANSPOSE ABS ARGMAX ARGMIN BIDIRECTIONAL_SEQUENCE_LSTM "
	  "CHANNEL_SHUFFLE ERF EXP GELU GROUPED_CONV_2D "
	  "INSTANCE_NORMALIZATION LOG LOG_SOFTMAX MAXIMUM MINIMUM NEG POW PRELU QUANTIZE "
	  "DYNAMIC_BATCH_MATMUL DYNAMIC_CONV_2D DYNAMIC_FULLY_CONNECTED "
	  "REDUCE_MAX REDUCE_MIN RSQRT SIN SQRT TRANSPOSE_CONV_2D "
	  "UNIDIRECTIONAL_SEQUENCE_LSTM ELU HARD_SWISH BATCH_MATMUL" },
	{ "u8 i8",
	  "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEQUANTIZE FULLY_CONNECTED "
	  "L2_NORMALIZATION LOGISTIC MAX_POOL_2D MUL RELU RELU1 RELU6 RESIZE_BILINEAR SOFTMAX "
	  "TANH MEAN SUB TRANSPOSE ARGMAX ARGMIN CHANNEL_SHUFFLE GROUPED_CONV_2D PRELU "
	  "REDUCE_MAX REDUCE_MIN RSQRT TRANSPOSE_CONV_2D HARD_SWISH" },
	{ "i8", "BATCH_MATMUL QUANTIZED_LSTM" },
	{ "b8", "REDUCE_ALL REDUCE_ANY" },
};

static bool is_among(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

static void check_serialised(const struct nn_op *op)
{
	for (size_t t = 0; t < FORM_NUM_TYPES; t++)
		for (size_t k = 0; k < sizeof(always_serialised) / sizeof(always_serialised[0]); k++)
			if (is_among(always_serialised[k].types, form_types[t].name) &&
			    is_among(always_serialised[k].operations, op->name) && !serialised[place_of(op)][t])
				fail_msg("%s of %s was never serialised", op->name,
					 form_types[t].name);
}

static void test_each_operation(void **unused)
{
	const char *given = getenv("NN_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : FIRST_SEED;
	static const struct form none;
	uint32_t count = 0;

	(void)unused;
	for (uint64_t seed = first; seed < first + ROUNDS; seed++) {
		is_first_round = seed == first;
		for (size_t i = 0; i < nn_op_count(); i++) {
			const struct nn_op *op = nn_op_at(i);

			if (op->code == NN_OP_IF || op->code == NN_OP_WHILE)
				count += try_form(op, &none, seed);
			for (size_t k = 0; k < num_forms; k++)
				if (!strcmp(forms[k].name, op->name))
					count += try_form(op, &forms[k], seed);
		}
	}
	for (size_t i = 0; i < nn_op_count(); i++)
		tell_types(nn_op_at(i));
	for (size_t i = 0; first == FIRST_SEED && i < nn_op_count(); i++)
		check_serialised(nn_op_at(i));
	print_message("damaged: %u refused, %u loaded, %u steps run, %u on weights of the run\n",
		      damaged.refused, damaged.loaded, damaged.steps, damaged.packing);
	assert_true(damaged.packing > 0);
	for (uint32_t i = 0; first == FIRST_SEED && nn_kernel_at(i); i++)
		if (!damaged.bounds[i])
			fail_msg("the kernel %s was never tried at its bounds", nn_kernel_at(i)->name);
	print_message("%u graphs of %zu operations from seed %llu on\n", count, nn_op_count(),
		      (unsigned long long)first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_operation),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("plan_each", tests, NULL, NULL);
}
