/* SPDX-License-Identifier: MIT */
/*
 * Compares sections (compiled parts of a model) with the interpreter, on one thread. The
 * benchmark's models cannot be compiled as a whole: a loop with a small body, and a network whose
 * number of rows is known only at each execution.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "bench/figure.h"
#include "ops/op.h"
#include "plan/plan.h"

#define UNITS 64
#define ROWS 16
#define LAYERS 4
#define ITERATIONS 100
#define RUNS 200

enum { ADD = 0, FULLY_CONNECTED = 9, LESS = 58 };

static struct {
	float weights[UNITS * UNITS];
	float bias[UNITS];
	int32_t zero, one, limit, start;
	int32_t relu;
} values;

/* All subgraphs have the same operands; operands that a subgraph does not use have no value. */
enum { X, WEIGHTS, BIAS, ZERO, RELU, Y, AT, ONE, LIMIT, NEXT, HOLDS, OPERANDS };

static const struct nn_pool pool = { &values, sizeof(values) };

static struct nn_operand tensor(int32_t type, uint32_t rows, uint32_t columns)
{
	return (struct nn_operand){ .type = type, .rank = columns ? 2 : 1,
				    .dims = { columns ? rows : 1, columns } };
}

static struct nn_operand constant(int32_t type, uint32_t rank, uint32_t rows, uint32_t columns,
				  const void *at, uint32_t length)
{
	struct nn_operand o = {
		.type = type, .rank = rank, .lifetime = NN_CONSTANT_REFERENCE,
		.location = { .length = length,
			      .offset = (uint64_t)((const char *)at - (const char *)&values) },
	};

	if (rank)
		o.dims[0] = rows;
	if (rank > 1)
		o.dims[1] = columns;
	return o;
}

static double time_model(const struct nn_model *model, struct nn_execution *e, const char *kernels)
{
	const struct nn_plan_options options = { .preference = NN_PREFER_LOW_POWER,
						 .kernels = kernels };
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;
	double least = DBL_MAX;

	if (nn_model_check(model, &err) || nn_ops_check_model(model, NULL, &err) ||
	    nn_plan_create(model, &options, &plan, &err)) {
		fprintf(stderr, "sections: %s\n", err.message);
		exit(1);
	}
	for (uint32_t i = 0; i < RUNS; i++) {
		uint64_t start = clock_ns();
		double us;

		if (nn_plan_execute(plan, e, &err)) {
			fprintf(stderr, "sections: %s\n", err.message);
			exit(1);
		}
		us = (double)(clock_ns() - start) * 1e-3;
		least = us < least ? us : least;
	}
	nn_plan_free(plan);
	return least;
}

static void measure(const char *name, const struct nn_model *model, struct nn_execution *e)
{
	figure(name, time_model(model, e, NULL), "us", "interpreter",
	       time_model(model, e, "none"), "native");
}

/* A loop that counts to ITERATIONS, and applies a layer to a row in each iteration. */
static void measure_loop(void)
{
	enum { CONDITION, BODY, LOOP_AT, LOOP_X, OUT_AT, OUT_X, LOOP_OPERANDS };
	static const uint32_t in[] = { AT, X }, out[] = { NEXT, Y }, loop_in[] = { LOOP_X },
			      loop_out[] = { OUT_AT, OUT_X };
	const struct nn_operation less = { LESS, 2, 1, (uint32_t[]){ AT, LIMIT },
					   (uint32_t[]){ HOLDS } };
	const struct nn_operation body[] = {
		{ ADD, 3, 1, (uint32_t[]){ AT, ONE, ZERO }, (uint32_t[]){ NEXT } },
		{ FULLY_CONNECTED, 4, 1, (uint32_t[]){ X, WEIGHTS, BIAS, RELU },
		  (uint32_t[]){ Y } },
	};
	const struct nn_operation loop = { NN_OP_WHILE, 4, 2,
					   (uint32_t[]){ CONDITION, BODY, LOOP_AT, LOOP_X },
					   loop_out };
	struct nn_operand main[LOOP_OPERANDS] = {
		[CONDITION] = { .type = NN_SUBGRAPH_TYPE, .lifetime = NN_SUBGRAPH },
		[BODY] = { .type = NN_SUBGRAPH_TYPE, .lifetime = NN_SUBGRAPH,
			   .location = { .offset = 1 } },
		[LOOP_AT] = constant(NN_TENSOR_INT32, 1, 1, 0, &values.start, 4),
		[LOOP_X] = tensor(NN_TENSOR_FLOAT32, 1, UNITS),
		[OUT_AT] = tensor(NN_TENSOR_INT32, 1, 0),
		[OUT_X] = tensor(NN_TENSOR_FLOAT32, 1, UNITS),
	};
	struct nn_operand inner[2][OPERANDS];
	struct nn_subgraph subgraphs[] = {
		{ LOOP_OPERANDS, 1, 1, 2, main, &loop, loop_in, loop_out },
		{ OPERANDS, 1, 2, 1, inner[0], &less, in, (uint32_t[]){ HOLDS } },
		{ OPERANDS, 2, 2, 2, inner[1], body, in, out },
	};
	const struct nn_model model = {
		.size = sizeof(model), .num_subgraphs = 3, .subgraphs = subgraphs,
		.num_pools = 1, .pools = &pool,
	};
	static float from[UNITS], to[UNITS];
	int32_t count;
	struct nn_arg input = { .data = from, .length = sizeof(from) };
	struct nn_arg outputs[] = { { .data = &count, .length = 4 },
				    { .data = to, .length = sizeof(to) } };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 2, .inputs = &input,
				  .outputs = outputs };

	for (uint32_t i = 0; i < LOOP_OPERANDS; i++)
		main[i].consumers = i < OUT_AT;
	main[LOOP_X].lifetime = NN_SUBGRAPH_INPUT;
	main[OUT_AT].lifetime = main[OUT_X].lifetime = NN_SUBGRAPH_OUTPUT;
	for (uint32_t k = 0; k < 2; k++) {
		struct nn_operand *o = inner[k];

		for (uint32_t i = 0; i < OPERANDS; i++)
			o[i] = (struct nn_operand){ .type = NN_TENSOR_FLOAT32,
						    .lifetime = NN_NO_VALUE };
		o[AT] = tensor(NN_TENSOR_INT32, 1, 0);
		o[X] = tensor(NN_TENSOR_FLOAT32, 1, UNITS);
		o[AT].lifetime = o[X].lifetime = NN_SUBGRAPH_INPUT;
	}
	inner[0][LIMIT] = constant(NN_TENSOR_INT32, 1, 1, 0, &values.limit, 4);
	inner[0][HOLDS] = tensor(NN_TENSOR_BOOL8, 1, 0);
	inner[0][HOLDS].lifetime = NN_SUBGRAPH_OUTPUT;
	inner[0][AT].consumers = inner[0][LIMIT].consumers = 1;
	inner[1][ONE] = constant(NN_TENSOR_INT32, 1, 1, 0, &values.one, 4);
	inner[1][ZERO] = constant(NN_INT32, 0, 0, 0, &values.zero, 4);
	inner[1][RELU] = constant(NN_INT32, 0, 0, 0, &values.relu, 4);
	inner[1][WEIGHTS] = constant(NN_TENSOR_FLOAT32, 2, UNITS, UNITS, values.weights,
				     sizeof(values.weights));
	inner[1][BIAS] = constant(NN_TENSOR_FLOAT32, 1, UNITS, 0, values.bias,
				  sizeof(values.bias));
	for (uint32_t i = X; i <= ONE; i++)
		inner[1][i].consumers = i != Y;
	inner[1][NEXT] = tensor(NN_TENSOR_INT32, 1, 0);
	inner[1][Y] = tensor(NN_TENSOR_FLOAT32, 1, UNITS);
	inner[1][NEXT].lifetime = inner[1][Y].lifetime = NN_SUBGRAPH_OUTPUT;
	measure("while_100", &model, &e);
}

/* Fully connected layers from UNITS to UNITS, on a number of rows that the model leaves unknown. */
static void measure_unknown(void)
{
	enum { LAYER = 5 };
	static float from[ROWS * UNITS], to[ROWS * UNITS];
	struct nn_operand operands[LAYER + LAYERS];
	struct nn_operation operations[LAYERS];
	uint32_t lists[LAYERS][5];
	const uint32_t in = 0, out = LAYER + LAYERS - 1;
	const struct nn_subgraph subgraph = { LAYER + LAYERS, LAYERS, 1, 1, operands, operations,
					      &in, &out };
	const struct nn_model model = {
		.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &subgraph,
		.num_pools = 1, .pools = &pool,
	};
	struct nn_arg input = { .data = from, .length = sizeof(from), .rank = 2,
				.dims = { ROWS, UNITS } };
	struct nn_arg output = { .data = to, .length = sizeof(to) };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &input,
				  .outputs = &output };

	operands[0] = tensor(NN_TENSOR_FLOAT32, 0, UNITS);
	operands[0].lifetime = NN_SUBGRAPH_INPUT;
	operands[0].consumers = 1;
	operands[1] = constant(NN_TENSOR_FLOAT32, 2, UNITS, UNITS, values.weights,
			       sizeof(values.weights));
	operands[2] = constant(NN_TENSOR_FLOAT32, 1, UNITS, 0, values.bias, sizeof(values.bias));
	operands[3] = constant(NN_INT32, 0, 0, 0, &values.relu, 4);
	operands[4] = constant(NN_INT32, 0, 0, 0, &values.zero, 4);
	for (uint32_t i = 1; i < 4; i++)
		operands[i].consumers = LAYERS;
	for (uint32_t i = 0; i < LAYERS; i++) {
		uint32_t list[] = { i ? LAYER + i - 1 : 0, 1, 2, 3, LAYER + i };

		memcpy(lists[i], list, sizeof(list));
		operations[i] = (struct nn_operation){ FULLY_CONNECTED, 4, 1, lists[i],
						       lists[i] + 4 };
		operands[LAYER + i] = tensor(NN_TENSOR_FLOAT32, 0, UNITS);
		operands[LAYER + i].consumers = i < LAYERS - 1;
	}
	operands[out].lifetime = NN_SUBGRAPH_OUTPUT;
	measure("unknown_rows", &model, &e);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return option_usage("sections", "\n"
			"Compares sections with the interpreter, for models that are not compiled as a whole.", argc, argv);
	for (uint32_t i = 0; i < UNITS * UNITS; i++)
		values.weights[i] = (float)(i * 37 % 101) / 2048 - 0.02f;
	values.one = values.relu = 1;
	values.limit = ITERATIONS;
	figure_head();
	measure_loop();
	measure_unknown();
	return 0;
}
