/* SPDX-License-Identifier: MIT */
/* Rewrites float16 models to float32, because every kernel computes in float32 anyway. */
#include <string.h>

#include "model/operand.h"
#include "ops/float16.h"
#include "ops/traits.h"
#include "plan/passes/rewrite.h"

/* Properties of an operand that only the float32 pass uses. */
struct fact {
	/* index of the float32 operand that replaces this operand; its own index if not replaced */
	uint32_t twin;
	/* a CAST of the original model rounds the operand to float16 */
	bool rounded;
};

struct wide {
	struct rewrite r;
	struct fact *facts;
};

/* Returns whether a float16 tensor is a constant, or an input or output of the model. */
static bool needs_cast(const struct nn_operand *o)
{
	return o->type == NN_TENSOR_FLOAT16 &&
	       (nn_operand_is_constant(o) || o->lifetime == NN_SUBGRAPH_INPUT ||
		o->lifetime == NN_SUBGRAPH_OUTPUT);
}

/* Returns whether an operation is a CAST to float16, which rounds values. */
static bool is_rounding(const struct nn_subgraph *s, const struct nn_operation *o)
{
	return o->type == NN_OP_CAST && s->operands[o->outputs[0]].type == NN_TENSOR_FLOAT16 &&
	       s->operands[o->inputs[0]].type != NN_TENSOR_FLOAT16;
}

/*
 * Returns whether an operation may have different results in float32 than in float16, or is not an
 * NNAPI operation.
 */
static bool sees_types(const struct nn_op *op)
{
	/* The semantics of an OEM operation are unknown. */
	return nn_traits(op->code)->sees_types || op->code == NN_OP_OEM || op->version;
}

/*
 * Returns whether all float16 operands of a model can be converted to float32. No CAST is possible
 * for scalars that are arguments, or for inputs that may be omitted.
 */
static bool is_convertible(const struct nn_subgraph *s)
{
	for (uint32_t i = 0; i < s->num_operands; i++)
		if (s->operands[i].type == NN_FLOAT16 && !nn_operand_is_constant(&s->operands[i]) &&
		    s->operands[i].lifetime != NN_NO_VALUE)
			return false;
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];
		const struct nn_op *op = nn_op_find(o->type);

		if (!op || sees_types(op))
			return false;
		for (uint32_t j = 0; j < o->num_inputs; j++)
			if (nn_has_input(op->omissible, j) &&
			    s->operands[o->inputs[j]].lifetime == NN_SUBGRAPH_INPUT)
				return false;
	}
	return true;
}

static uint32_t count_casts(const struct nn_subgraph *s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->num_operands; i++)
		count += needs_cast(&s->operands[i]);
	for (uint32_t i = 0; i < s->num_operations; i++)
		count += is_rounding(s, &s->operations[i]);
	return count;
}

static bool has_fp16(const struct nn_subgraph *s)
{
	for (uint32_t i = 0; i < s->num_operands; i++)
		if (s->operands[i].type == NN_TENSOR_FLOAT16)
			return true;
	return false;
}

static void widen_scalar(struct wide *w, const struct nn_model *from, struct nn_operand *o)
{
	const uint8_t *fp16 = nn_operand_value_of_count(from, o, NN_FLOAT16, 1, NULL);
	float value;

	o->type = NN_FLOAT32;
	if (!fp16)
		return;
	nn_fp16_to_fp32(fp16, &value, 1);
	o->lifetime = NN_CONSTANT_COPY;
	o->location = (struct nn_location){ .length = sizeof(value),
					    .offset = w->r.model.values_size };
	memcpy(w->r.bytes + w->r.model.values_size, &value, sizeof(value));
	w->r.model.values_size += 8;
}

/* Adds a float32 operand for a tensor that itself remains float16. */
static void add_twin(struct wide *w, uint32_t index)
{
	const struct nn_operand *o = &w->r.operands[index];

	w->facts[index].twin = rewrite_operand(&w->r, index, NN_TENSOR_FLOAT32, o->rank, o->dims);
}

static void widen_operands(struct wide *w, const struct nn_model *from)
{
	const struct nn_subgraph *s = &from->subgraphs[0];

	for (uint32_t i = 0; i < s->num_operations; i++)
		if (is_rounding(s, &s->operations[i]))
			w->facts[s->operations[i].outputs[0]].rounded = true;
	for (uint32_t i = 0; i < s->num_operands; i++) {
		struct nn_operand *o = &w->r.operands[i];

		w->facts[i].twin = i;
		if (needs_cast(o) || w->facts[i].rounded)
			add_twin(w, i);
		else if (o->type == NN_TENSOR_FLOAT16)
			o->type = NN_TENSOR_FLOAT32;
		else if (o->type == NN_FLOAT16)
			widen_scalar(w, from, o);
	}
}

/*
 * Adds the CASTs for the model's outputs, or, if `outputs` is false, for the model's inputs and
 * constants.
 */
static void add_casts(struct wide *w, uint32_t count, bool outputs)
{
	for (uint32_t i = 0; i < count; i++) {
		if (w->facts[i].twin == i || w->facts[i].rounded ||
		    outputs != (w->r.operands[i].lifetime == NN_SUBGRAPH_OUTPUT))
			continue;
		if (outputs)
			rewrite_cast(&w->r, w->facts[i].twin, i);
		else
			rewrite_cast(&w->r, i, w->facts[i].twin);
	}
}

static void widen_operations(struct wide *w, const struct nn_subgraph *s)
{
	add_casts(w, s->num_operands, false);
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];
		uint32_t *list = w->r.indices;

		rewrite_add(&w->r, o->type, o->num_inputs, o->num_outputs, o->inputs, o->outputs);
		for (uint32_t j = 0; j < o->num_inputs + o->num_outputs; j++)
			list[j] = w->facts[list[j]].twin;
		if (!is_rounding(s, o))
			continue;
		list[1] = o->outputs[0];
		rewrite_cast(&w->r, list[1], w->facts[list[1]].twin);
	}
	add_casts(w, s->num_operands, true);
}

struct nn_model *plan_float32(const struct nn_model *model)
{
	const struct nn_subgraph *s = &model->subgraphs[0];
	const uint32_t casts = count_casts(s);
	struct wide *w;

	if (model->num_subgraphs != 1 || model->num_extensions || !has_fp16(s) ||
	    !is_convertible(s))
		return NULL;
	/* Eight bytes of values for each operand are enough for all scalars. */
	w = rewrite_create(model, &(struct rewrite_room){
		.pass = sizeof(*w), .fact = sizeof(*w->facts), .operands = casts,
		.operations = casts, .indices = 2 * (size_t)casts,
		.bytes = 8 * (size_t)s->num_operands });
	if (!w)
		return NULL;
	w->facts = w->r.facts;
	widen_operands(w, model);
	widen_operations(w, s);
	/* rewrite_end() returns NULL if an operation accepts only float16. */
	return rewrite_end(&w->r);
}
