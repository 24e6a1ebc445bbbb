/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tests/plan_diff/wrap.h"

static void forget(struct nn_operand *o)
{
	if (o->lifetime == NN_TEMPORARY || o->lifetime == NN_SUBGRAPH_INPUT ||
	    o->lifetime == NN_SUBGRAPH_OUTPUT)
		memset(o->dims, 0, sizeof(o->dims));
}

static void begin_wrap(struct wrapped *w, struct nn_subgraph *s, bool unknown)
{
	memcpy(w->operands, g.operands, sizeof(w->operands));
	for (uint32_t i = 0; unknown && i < g.subgraph.num_operands; i++)
		forget(&w->operands[i]);
	*s = g.subgraph;
	s->operands = w->operands;
	w->model = g.model;
	w->model.subgraphs = w->subgraphs;
}

void wrap_unknown(struct wrapped *w)
{
	memset(w, 0, sizeof(*w));
	begin_wrap(w, &w->subgraphs[0], true);
	w->num_inputs = 1;
}

void wrap_branches(struct wrapped *w, bool unknown)
{
	static const uint32_t arguments[] = { 0, 3 };
	const uint32_t outputs = g.subgraph.num_outputs;
	struct nn_operand *o = w->main;

	memset(w, 0, sizeof(*w));
	begin_wrap(w, &w->subgraphs[1], unknown);
	w->subgraphs[2] = w->subgraphs[1];
	w->model.num_subgraphs = 3;
	*o++ = (struct nn_operand){ .type = NN_TENSOR_BOOL8, .rank = 1, .dims = { 1 },
				    .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 };
	for (uint32_t i = 0; i < 2; i++)
		*o++ = (struct nn_operand){ .type = NN_SUBGRAPH_TYPE, .lifetime = NN_SUBGRAPH,
					    .location.offset = i, .consumers = 1 };
	*o = w->operands[g.input];
	o++->consumers = 1;
	for (uint32_t i = 0; i < outputs; i++) {
		*o = w->operands[g.outputs[i]];
		o++->consumers = 0;
		w->outputs[i] = 4 + i;
	}
	for (uint32_t i = 0; i < 4; i++)
		w->inputs[i] = i;
	w->operation = (struct nn_operation){
		.type = NN_OP_IF, .num_inputs = 4, .num_outputs = outputs, .inputs = w->inputs,
		.outputs = w->outputs,
	};
	w->num_inputs = 2;
	w->subgraphs[0] = (struct nn_subgraph){
		.num_operands = 4 + outputs, .num_operations = 1, .num_inputs = 2,
		.num_outputs = outputs, .operands = w->main, .operations = &w->operation,
		.inputs = arguments, .outputs = w->outputs,
	};
}

void wrapped_inputs(const struct wrapped *w, void *input, bool condition, struct nn_arg *args)
{
	static uint8_t conditions[2] = { 0, 1 };
	const struct nn_operand *o = &g.operands[g.input];
	struct nn_arg *arg = args;
	uint32_t size;

	if (w->num_inputs > 1)
		*arg++ = (struct nn_arg){ .data = &conditions[condition], .length = 1 };
	nn_operand_size(o, &size);
	*arg = (struct nn_arg){ .data = input, .length = size, .rank = o->rank };
	memcpy(arg->dims, o->dims, sizeof(o->dims));
}
