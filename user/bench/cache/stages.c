/* SPDX-License-Identifier: MIT */
/*
 * Runs a network's untuned and tuned plans alternately, with a pause before each run, like an
 * application that executes rarely. Waking threads after a pause takes a large part of a small
 * network's time.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/cache/stages.h"
#include "bench/compute/builder.h"
#include "bench/figure.h"
#include "ops/op.h"
#include "plan/plan.h"

#define FULLY_CONNECTED 9
#define RELU 1

#define PAUSE_US 1000
#define WARM_UP 5

/*
 * Number of runs after which the untuned plan is loaded again, because a plan tunes itself after
 * NN_PLAN_HOT runs.
 */
#define TURN (NN_PLAN_HOT / 2)
#define TURNS 8

/* A saved plan. */
struct stage {
	struct nn_plan_image image;
	void *data;
	struct nn_plan *plan;
};

struct subject_net {
	struct builder *b;
	struct nn_arg in, out;
};

static struct nn_error err;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench cache: %s: %s\n", what, err.message);
	exit(1);
}

/* Builds a perceptron, each of whose layers takes a few microseconds. */
static struct builder *small_net(void)
{
	enum { ROWS = 32, WIDTH = 64, LAYERS = 8 };
	const uint32_t row[] = { ROWS, WIDTH }, square[] = { WIDTH, WIDTH }, width = WIDTH;
	struct builder *b = builder_create();
	uint32_t x = builder_operand(b, NN_TENSOR_FLOAT32, 2, row, 0, 0), y;

	builder_input(b, x);
	for (int i = 0; i < LAYERS; i++, x = y) {
		float *weights = must_alloc(WIDTH * WIDTH * sizeof(float));
		float *bias = must_alloc(WIDTH * sizeof(float));
		uint32_t in[] = { x, 0, 0, 0 };

		fill_random(NET_F32, weights, WIDTH * WIDTH);
		fill_random(NET_F32, bias, WIDTH);
		in[1] = builder_constant(b, NN_TENSOR_FLOAT32, 2, square, 0, 0, weights);
		in[2] = builder_constant(b, NN_TENSOR_FLOAT32, 1, &width, 0, 0, bias);
		in[3] = builder_int(b, RELU);
		y = builder_operand(b, NN_TENSOR_FLOAT32, 2, row, 0, 0);
		builder_operation(b, FULLY_CONNECTED, 4, in, y);
	}
	builder_output(b, x);
	return b;
}

static struct nn_arg make_arg(const struct nn_operand *o)
{
	struct nn_arg arg = { 0 };
	uint32_t size = 0;

	nn_operand_size(o, &size);
	arg.data = must_alloc(size);
	arg.length = size;
	return arg;
}

static void run(const struct subject_net *n, const struct nn_plan *plan)
{
	struct nn_execution e = {
		.num_inputs = 1, .num_outputs = 1, .inputs = &n->in, .outputs = &n->out,
	};

	must(!nn_plan_execute(plan, &e, &err), "execute");
}

static double time_run(const struct subject_net *n, const struct nn_plan *plan)
{
	uint64_t start;

	usleep(PAUSE_US);
	start = clock_ns();
	run(n, plan);
	return (double)(clock_ns() - start) * 1e-3;
}

static void save(struct nn_plan *plan, struct stage *stage)
{
	must(!nn_plan_save(plan, &stage->image, &err), "save");
	stage->data = aligned_alloc(NN_PLAN_DATA_ALIGN, stage->image.data_size);
	must(stage->data, "memory");
	nn_plan_image_data(&stage->image, stage->data);
}

static void load(const struct subject_net *n, struct stage *stage)
{
	const struct nn_plan_options options = { .preference = 1 };

	nn_plan_free(stage->plan);
	must(!nn_plan_load(stage->image.model, stage->image.model_size, stage->data,
			   stage->image.data_size, &options, &stage->plan, &err), "load");
	for (int i = 0; i < WARM_UP; i++)
		run(n, stage->plan);
}

static void stage_free(struct stage *stage)
{
	nn_plan_free(stage->plan);
	nn_plan_image_free(&stage->image);
	free(stage->data);
}

/* Makes the untuned and the tuned plan of a network, as an engine saves them. */
static void make_stages(struct subject_net *n, struct stage *first, struct stage *second)
{
	const struct nn_plan_options options = { .preference = 1 };
	struct nn_plan *plan = NULL;

	must(!nn_model_check(&n->b->model, &err) && !nn_ops_check_model(&n->b->model, NULL, &err) &&
	     !nn_plan_create(&n->b->model, &options, &plan, &err), "prepare");
	n->in = make_arg(&n->b->operands[n->b->inputs[0]]);
	n->out = make_arg(&n->b->operands[n->b->outputs[0]]);
	save(plan, first);
	for (int i = 0; i < NN_PLAN_HOT + NN_PLAN_TUNING; i++)
		time_run(n, plan);
	must(nn_plan_stage(plan) == NN_PLAN_TUNED, "tune: this takes two CPUs");
	save(plan, second);
	nn_plan_free(plan);
}

static void compare(const char *name, struct builder *b)
{
	static double firsts[TURNS * TURN], seconds[TURNS * TURN];
	struct stage first = { .plan = NULL }, second = { .plan = NULL };
	struct subject_net n = { .b = b };

	make_stages(&n, &first, &second);
	load(&n, &second);
	for (int i = 0; i < TURNS * TURN; i++) {
		if (i % TURN == 0)
			load(&n, &first);
		firsts[i] = time_run(&n, first.plan);
		seconds[i] = time_run(&n, second.plan);
	}
	figure(name, figure_quantile(seconds, TURNS * TURN, 0.5), "us", "first_stage",
	       figure_quantile(firsts, TURNS * TURN, 0.5), "native");
	stage_free(&first);
	stage_free(&second);
	free(n.in.data);
	free(n.out.data);
	free(b);
}

void bench_stages(void)
{
	static struct net net;

	compare("tuned_small", small_net());
	net_mobilenet_v2(&net, NET_F32, 0);
	compare("tuned_mnv2_f32", builder_net(&net));
	net_free(&net);
}
