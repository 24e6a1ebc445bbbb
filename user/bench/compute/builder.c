/* SPDX-License-Identifier: MIT */
/*
 * Builds a model in memory, operand by operand, and a plan that can be run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "builder.h"
#include "ops/float16.h"
#include "ops/op.h"
#include "plan/compiled.h"

struct builder *builder_create(void)
{
	struct builder *b = must_alloc(sizeof(*b));

	b->subgraph = (struct nn_subgraph){
		.operands = b->operands,
		.operations = b->operations,
		.inputs = b->inputs,
		.outputs = b->outputs,
	};
	/* The pool of the model begins at the address 8, because 0 is not a valid address. */
	b->pool = (struct nn_pool){ .base = (void *)8, .size = UINT64_MAX - 8 };
	b->model = (struct nn_model){
		.size = sizeof(struct nn_model),
		.num_subgraphs = 1,
		.num_pools = 1,
		.subgraphs = &b->subgraph,
		.pools = &b->pool,
	};
	return b;
}

void *builder_alloc(struct builder *b, size_t size)
{
	if (b->num_owned == BUILDER_OPERANDS)
		abort();
	return b->owned[b->num_owned++] = must_alloc(size);
}

uint32_t builder_operand(struct builder *b, int32_t type, uint32_t rank, const uint32_t *dims,
			 float scale, int32_t zero)
{
	struct nn_operand *o = &b->operands[b->subgraph.num_operands];

	if (b->subgraph.num_operands == BUILDER_OPERANDS)
		abort();
	*o = (struct nn_operand){ .type = type, .rank = rank, .scale = scale, .zero_point = zero };
	if (rank)
		memcpy(o->dims, dims, rank * sizeof(*dims));
	return b->subgraph.num_operands++;
}

uint32_t builder_constant(struct builder *b, int32_t type, uint32_t rank, const uint32_t *dims,
			  float scale, int32_t zero, const void *data)
{
	uint32_t index = builder_operand(b, type, rank, dims, scale, zero);
	struct nn_operand *o = &b->operands[index];

	o->lifetime = NN_CONSTANT_REFERENCE;
	nn_operand_size(o, &o->location.length);
	o->location.offset = (uintptr_t)data - (uintptr_t)b->pool.base;
	return index;
}

uint32_t builder_int(struct builder *b, int32_t value)
{
	int32_t *data = builder_alloc(b, sizeof(*data));

	*data = value;
	return builder_constant(b, NN_INT32, 0, NULL, 0, 0, data);
}

uint32_t builder_bool(struct builder *b, bool value)
{
	uint8_t *data = builder_alloc(b, sizeof(*data));

	*data = value;
	return builder_constant(b, NN_BOOL, 0, NULL, 0, 0, data);
}

void builder_operation_of(struct builder *b, int32_t code, uint32_t num_inputs,
			  const uint32_t *inputs, uint32_t num_outputs, const uint32_t *outputs)
{
	uint32_t *list = b->indices + b->num_indices;

	if (b->subgraph.num_operations == BUILDER_OPERATIONS ||
	    b->num_indices + num_inputs + num_outputs > BUILDER_INDICES)
		abort();
	memcpy(list, inputs, num_inputs * sizeof(*inputs));
	memcpy(list + num_inputs, outputs, num_outputs * sizeof(*outputs));
	for (uint32_t i = 0; i < num_inputs; i++)
		b->operands[inputs[i]].consumers++;
	b->num_indices += num_inputs + num_outputs;
	b->operations[b->subgraph.num_operations++] = (struct nn_operation){
		.type = code,
		.num_inputs = num_inputs,
		.num_outputs = num_outputs,
		.inputs = list,
		.outputs = list + num_inputs,
	};
}

void builder_operation(struct builder *b, int32_t code, uint32_t num_inputs,
		       const uint32_t *inputs, uint32_t output)
{
	builder_operation_of(b, code, num_inputs, inputs, 1, &output);
}

void builder_input(struct builder *b, uint32_t operand)
{
	b->operands[operand].lifetime = NN_SUBGRAPH_INPUT;
	if (b->subgraph.num_inputs == BUILDER_INPUTS)
		abort();
	b->inputs[b->subgraph.num_inputs++] = operand;
}

void builder_output(struct builder *b, uint32_t operand)
{
	b->operands[operand].lifetime = NN_SUBGRAPH_OUTPUT;
	if (b->subgraph.num_outputs == NET_OUTPUTS)
		abort();
	b->outputs[b->subgraph.num_outputs++] = operand;
}

void builder_halve(struct builder *b)
{
	for (uint32_t i = 0; i < b->subgraph.num_operands; i++) {
		struct nn_operand *o = &b->operands[i];
		const float *floats = nn_operand_value(&b->model, o);
		void *fp16;

		if (o->type != NN_TENSOR_FLOAT32)
			continue;
		o->type = NN_TENSOR_FLOAT16;
		if (!floats)
			continue;
		o->location.length /= 2;
		fp16 = builder_alloc(b, o->location.length);
		nn_fp32_to_fp16(floats, fp16, o->location.length / 2);
		o->location.offset = (uintptr_t)fp16 - (uintptr_t)b->pool.base;
	}
}

void builder_free(struct builder *b)
{
	for (uint32_t i = 0; i < b->num_owned; i++)
		free(b->owned[i]);
	free(b);
}

size_t builder_place(struct builder *b, char *to)
{
	size_t at = 0;

	for (uint32_t i = 0; i < b->subgraph.num_operands; i++) {
		struct nn_operand *o = &b->operands[i];

		if (o->lifetime != NN_CONSTANT_REFERENCE)
			continue;
		if (to) {
			memcpy(to + at, (const char *)b->pool.base + o->location.offset,
			       o->location.length);
			o->location.offset = at;
		}
		at += round_up(o->location.length, 64);
	}
	return at;
}

/* ---- Running ---- */

struct plan_state {
	struct builder *builder;
	struct nn_plan *plan;
	struct nn_arg inputs[BUILDER_INPUTS];
	struct nn_arg outputs[NET_OUTPUTS];
};

static void die(const char *what, const struct nn_error *err)
{
	fprintf(stderr, "%s: %s\n", what, err->message);
	exit(1);
}

static void run_plan(void *state)
{
	struct plan_state *s = state;
	struct nn_execution e = {
		.num_inputs = s->builder->subgraph.num_inputs,
		.num_outputs = s->builder->subgraph.num_outputs,
		.inputs = s->inputs,
		.outputs = s->outputs,
	};
	struct nn_error err = { "" };

	if (nn_plan_execute(s->plan, &e, &err))
		die("execute", &err);
}

static void free_plan(void *state)
{
	struct plan_state *s = state;

	nn_plan_free(s->plan);
	for (uint32_t i = 0; i < s->builder->subgraph.num_inputs; i++)
		free(s->inputs[i].data);
	for (uint32_t i = 0; i < s->builder->subgraph.num_outputs; i++)
		free(s->outputs[i].data);
	builder_free(s->builder);
	free(s);
}

static struct nn_arg make_arg(const struct nn_operand *o)
{
	bool is_float = o->type == NN_TENSOR_FLOAT32;
	struct nn_arg arg = { 0 };
	uint32_t size = 0;

	nn_operand_size(o, &size);
	arg.data = must_alloc(size);
	arg.length = size;
	/* fp16 tensors stay zero, because many random bytes are no usable fp16 numbers. */
	if (o->type != NN_TENSOR_FLOAT16)
		fill_random(is_float ? NET_F32 : NET_QU8, arg.data, is_float ? size / 4 : size);
	return arg;
}

static struct subject prepare(struct builder *b, const struct nn_plan_options *options)
{
	struct plan_state *s = must_alloc(sizeof(*s));
	struct nn_error err = { "" };

	s->builder = b;
	if (nn_model_check(&b->model, &err) || nn_ops_check_model(&b->model, NULL, &err) ||
	    nn_plan_create(&b->model, options, &s->plan, &err))
		die("prepare", &err);
	for (uint32_t i = 0; i < b->subgraph.num_inputs; i++)
		s->inputs[i] = make_arg(&b->operands[b->inputs[i]]);
	for (uint32_t i = 0; i < b->subgraph.num_outputs; i++)
		s->outputs[i] = make_arg(&b->operands[b->outputs[i]]);
	return (struct subject){ s, run_plan, free_plan };
}

/*
 * Returns the name of the set of kernels to use for a comparison, or NULL for the best set for this
 * CPU.
 */
static const char *kernels(void)
{
	return getenv("NN_BENCH_KERNELS");
}

struct subject builder_subject(struct builder *b, uint32_t threads)
{
	return prepare(b, &(struct nn_plan_options){
		.preference = threads > 1 ? 1 : 0,
		.kernels = kernels(),
	});
}

struct subject builder_subject_cut(struct builder *b, uint32_t threads, struct compiled **compiled)
{
	struct subject s = prepare(b, &(struct nn_plan_options){ .kernels = NO_KERNELS });
	struct nn_plan *plan = ((struct plan_state *)s.state)->plan;

	plan->compiled = compiled_create(plan, nn_isa_find(kernels()), threads, NULL);
	*compiled = plan->compiled;
	return s;
}
