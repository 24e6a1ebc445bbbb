/* SPDX-License-Identifier: MIT */
/*
 * The networks that benches measure, of small images: a plan gives what the reference
 * kernels give, bytes exactly and floats nearly so.
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
#include "ops/op.h"
#include "plan/plan.h"

#define SIDE 33			/* one more than the largest stride */
#define TOLERANCE 1e-3f		/* of the largest number of an output */

struct outputs {
	void *data[NET_OUTPUTS];
};

static void run(const struct builder *b, const char *kernels, const struct nn_arg *input,
		const struct net *net, struct outputs *outputs)
{
	const struct nn_plan_options options = { .kernels = kernels };
	struct nn_arg args[NET_OUTPUTS] = { { 0 } };
	struct nn_execution e = {
		.num_inputs = 1,
		.num_outputs = net->num_outputs,
		.inputs = (struct nn_arg *)input,
		.outputs = args,
	};
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;

	for (uint32_t i = 0; i < net->num_outputs; i++) {
		args[i].length = (uint32_t)image_bytes(net, net->outputs[i]);
		args[i].data = outputs->data[i] = must_alloc(args[i].length);
	}
	if (nn_plan_create(&b->model, &options, &plan, &err) || nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	nn_plan_free(plan);
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

/* Whether bytes differ from each other: saturated ones would agree whatever a kernel does. */
static bool varies(const uint8_t *bytes, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (bytes[i] != bytes[0])
			return true;
	return false;
}

static void check_net(net_fn *make, enum net_type type)
{
	static struct net net;
	struct outputs ours, right;
	struct nn_error err = { "" };
	struct nn_arg input = { 0 };
	struct builder *b;

	make(&net, type, SIDE);
	b = builder_net(&net);
	if (nn_model_check(&b->model, &err) || nn_ops_check_model(&b->model, NULL, &err))
		fail_msg("%s", err.message);
	input.length = (uint32_t)image_bytes(&net, 0);
	input.data = must_alloc(input.length);
	fill_random(type, input.data, input.length / net_element(&net));
	run(b, NULL, &input, &net, &ours);
	run(b, "none", &input, &net, &right);
	for (uint32_t i = 0; i < net.num_outputs; i++) {
		size_t size = image_bytes(&net, net.outputs[i]);

		if (type == NET_F32) {
			compare_floats(ours.data[i], right.data[i], size / sizeof(float));
		} else {
			assert_memory_equal(ours.data[i], right.data[i], size);
			assert_true(varies(right.data[i], size));
		}
		free(ours.data[i]);
		free(right.data[i]);
	}
	free(input.data);
	builder_free(b);
	net_free(&net);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_mobilenet_v1),
		cmocka_unit_test(agrees_mobilenet_v2),
		cmocka_unit_test(agrees_efficientnet_lite0),
		cmocka_unit_test(agrees_resnet50),
		cmocka_unit_test(agrees_ssd_mobilenet_v2),
		cmocka_unit_test(agrees_deeplab_v3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
