/* SPDX-License-Identifier: MIT */
/*
 * Tests the networks of the benchmarks with small images. A plan must give the results of the
 * reference kernels: exactly for integers, nearly for floats.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/compute/builder.h"
#include "bench/compute/sequence.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "tests/heap_blocks.h"

#define SIDE 33			/* size of images: one more than the largest stride */
#define TOLERANCE 1e-3f		/* tolerance, relative to the largest number of an output */
#define MAX_STEPS 2		/* tolerance in quantisation steps for networks with float layers */

struct args {
	struct nn_arg args[NET_OUTPUTS];
};

/* Returns zeroed memory for operands of a model. */
static struct args make_args(const struct builder *b, const uint32_t *list, uint32_t count)
{
	struct args a = { { { 0 } } };

	for (uint32_t i = 0; i < count; i++) {
		uint32_t size = 0;

		nn_operand_size(&b->operands[list[i]], &size);
		a.args[i] = (struct nn_arg){ .data = must_alloc(size), .length = size };
	}
	return a;
}

static void free_args(struct args *a)
{
	for (uint32_t i = 0; i < NET_OUTPUTS; i++)
		free(a->args[i].data);
}

static struct args run(const struct builder *b, const char *kernels, struct args *inputs)
{
	const struct nn_plan_options options = { .kernels = kernels };
	const struct nn_subgraph *s = &b->subgraph;
	struct args outputs = make_args(b, s->outputs, s->num_outputs);
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = inputs->args,
		.outputs = outputs.args,
	};
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;

	if (nn_plan_create(&b->model, &options, &plan, &err) || nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	nn_plan_free(plan);
	return outputs;
}

static void compare_floats(const float *a, const float *right, size_t count)
{
	float largest = 0;

	for (size_t i = 0; i < count; i++)
		largest = fmaxf(largest, fabsf(right[i]));
	assert_true(isfinite(largest) && largest > 0);
	for (size_t i = 0; i < count; i++)
		if (!(fabsf(a[i] - right[i]) <= TOLERANCE * largest))
			fail_msg("element %zu is %g, not %g", i, (double)a[i], (double)right[i]);
}

/*
 * Returns whether the bytes are not all equal. If all results were saturated, the test could not
 * detect a wrong kernel.
 */
static bool varies(const uint8_t *bytes, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (bytes[i] != bytes[0])
			return true;
	return false;
}

/* Compares the bytes of two results; two bytes may differ by at most `steps`. */
static void compare_bytes(const uint8_t *a, const uint8_t *right, size_t count, int steps)
{
	assert_true(varies(right, count));
	for (size_t i = 0; i < count; i++)
		if (abs((int8_t)(a[i] - right[i])) > steps)
			fail_msg("element %zu is %u, not %u", i, a[i], right[i]);
}

static void check_model(struct builder *b, int steps)
{
	const struct nn_subgraph *s = &b->subgraph;
	struct args inputs, ours, right;
	struct nn_error err = { "" };

	if (nn_model_check(&b->model, &err) || nn_ops_check_model(&b->model, NULL, &err))
		fail_msg("%s", err.message);
	inputs = make_args(b, s->inputs, s->num_inputs);
	for (uint32_t i = 0; i < s->num_inputs; i++) {
		bool is_float = b->operands[s->inputs[i]].type == NN_TENSOR_FLOAT32;

		fill_random(is_float ? NET_F32 : NET_QU8, inputs.args[i].data,
			    inputs.args[i].length / (is_float ? sizeof(float) : 1));
	}
	ours = run(b, NULL, &inputs);
	right = run(b, "none", &inputs);
	for (uint32_t i = 0; i < s->num_outputs; i++) {
		size_t size = right.args[i].length;

		if (b->operands[s->outputs[i]].type == NN_TENSOR_FLOAT32)
			compare_floats(ours.args[i].data, right.args[i].data, size / sizeof(float));
		else
			compare_bytes(ours.args[i].data, right.args[i].data, size, steps);
	}
	free_args(&inputs);
	free_args(&ours);
	free_args(&right);
	builder_free(b);
}

static void check_net(net_fn *make, enum net_type type)
{
	static struct net net;

	make(&net, type, SIDE);
	check_model(builder_net(&net), 0);
	net_free(&net);
}

/*
 * Checks a network in float and in quantised form; the quantised form has float layers, too.
 * Kernels and reference kernels round floats differently, so quantised results may differ slightly.
 */
static void check_sequence(sequence_fn *make)
{
	check_model(make(NET_F32, true), 0);
	check_model(make(NET_QC8, true), MAX_STEPS);
}

static void check_types(net_fn *make)
{
	check_net(make, NET_F32);
	check_net(make, NET_QC8);
	check_net(make, NET_QU8);
}

static void agrees_mobilenet_v1(void **state)
{
	(void)state;
	check_types(net_mobilenet_v1);
}

static void agrees_mobilenet_v2(void **state)
{
	(void)state;
	check_types(net_mobilenet_v2);
}

static void agrees_efficientnet_lite0(void **state)
{
	(void)state;
	check_types(net_efficientnet_lite0);
}

static void agrees_resnet50(void **state)
{
	(void)state;
	check_types(net_resnet50);
}

static void agrees_ssd_mobilenet_v2(void **state)
{
	(void)state;
	check_types(net_ssd_mobilenet_v2);
}

static void agrees_deeplab_v3(void **state)
{
	(void)state;
	check_types(net_deeplab_v3);
}

static void agrees_kws_svdf(void **state)
{
	(void)state;
	check_sequence(sequence_kws_svdf);
}

static void agrees_kws_lstm(void **state)
{
	(void)state;
	check_sequence(sequence_kws_lstm);
}

static void agrees_encoder(void **state)
{
	(void)state;
	check_sequence(sequence_encoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agrees_mobilenet_v1, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_mobilenet_v2, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_efficientnet_lite0, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_resnet50, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_ssd_mobilenet_v2, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_deeplab_v3, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_kws_svdf, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_kws_lstm, heap_begin, heap_end),
		cmocka_unit_test_setup_teardown(agrees_encoder, heap_begin, heap_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
