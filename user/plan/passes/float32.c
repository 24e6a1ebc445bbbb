/* SPDX-License-Identifier: MIT */
/*
 * float16 models as float32 ones: every kernel computes in float32 anyway.
 */
#include <stdlib.h>
#include <string.h>

#include "model/operand.h"
#include "ops/float16.h"
#include "ops/traits.h"
#include "plan/passes/rewrite.h"

/* A model under construction: one block, of which nn_model is the beginning. */
struct wide {
	struct rewrite r;
	uint32_t *twins;		/* by operand: the float32 one in its place, or itself */
	bool *rounded;			/* by operand: a CAST of the model makes it float16 */
};

/* A float16 tensor that is there before or after the operations. */
static bool needs_cast(const struct nn_operand *o)
{
	return o->type == NN_TENSOR_FLOAT16 &&
	       (nn_operand_is_constant(o) || o->lifetime == NN_SUBGRAPH_INPUT ||
		o->lifetime == NN_SUBGRAPH_OUTPUT);
}

/* Whether it is the operation that converts, and rounding to float16 is what it is for. */
static bool is_rounding(const struct nn_subgraph *s, const struct nn_operation *o)
{
	return o->type == NN_OP_CAST && s->operands[o->outputs[0]].type == NN_TENSOR_FLOAT16 &&
	       s->operands[o->inputs[0]].type != NN_TENSOR_FLOAT16;
}

/* Whether it would compute something else in float32, or is not the NNAPI's. */
static bool sees_types(const struct nn_op *op)
{
	/* Nothing is known of an OEM's operation. */
	return nn_traits(op->code)->sees_types || op->code == NN_OP_OEM || op->version;
}

/* Scalars that are arguments have no CAST, and inputs that may be omitted none either. */
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
		for (uint32_t j = 0; j < o->num_inputs && j < 64; j++)
			if (op->omissible & NN_IN(j) &&
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

static bool has_half(const struct nn_subgraph *s)
{
	for (uint32_t i = 0; i < s->num_operands; i++)
		if (s->operands[i].type == NN_TENSOR_FLOAT16)
			return true;
	return false;
}

/* Divides the block; returns its size. Eight bytes an operand are enough for scalars. */
static size_t divide(const struct nn_model *from, char *base, struct wide *w)
{
	const struct nn_subgraph *s = &from->subgraphs[0];
	size_t casts = count_casts(s), at = sizeof(*w);

	rewrite_divide(&w->r, from, base, &at, casts, casts, 2 * casts,
		       8 * (size_t)s->num_operands);
	w->twins = rewrite_take(base, &at, s->num_operands, sizeof(*w->twins));
	w->rounded = rewrite_take(base, &at, s->num_operands, sizeof(*w->rounded));
	return at;
}

static void widen_scalar(struct wide *w, const struct nn_model *from, struct nn_operand *o)
{
	const uint8_t *half = nn_operand_value_of_count(from, o, NN_FLOAT16, 1, NULL);
	float value;

	o->type = NN_FLOAT32;
	if (!half)
		return;
	nn_halves_to_floats(half, &value, 1);
	o->lifetime = NN_CONSTANT_COPY;
	o->location = (struct nn_location){ .length = sizeof(value),
					    .offset = w->r.model.values_size };
	memcpy(w->r.bytes + w->r.model.values_size, &value, sizeof(value));
	w->r.model.values_size += 8;
}

/* Gives a float16 tensor that stays one a float32 twin. */
static void add_twin(struct wide *w, uint32_t index)
{
	struct nn_operand *o = &w->r.operands[index];
	uint32_t twin = w->r.subgraph.num_operands++;

	w->r.operands[twin] = (struct nn_operand){
		.type = NN_TENSOR_FLOAT32,
		.rank = o->rank,
		.consumers = o->consumers,
	};
	memcpy(w->r.operands[twin].dims, o->dims, sizeof(o->dims));
	w->twins[index] = twin;
	o->consumers = 1;
	if (o->lifetime == NN_SUBGRAPH_OUTPUT && !w->rounded[index]) {
		o->consumers = 0;
		w->r.operands[twin].consumers++;
	}
}

static void widen_operands(struct wide *w, const struct nn_model *from)
{
	const struct nn_subgraph *s = &from->subgraphs[0];

	for (uint32_t i = 0; i < s->num_operations; i++)
		if (is_rounding(s, &s->operations[i]))
			w->rounded[s->operations[i].outputs[0]] = true;
	for (uint32_t i = 0; i < s->num_operands; i++) {
		struct nn_operand *o = &w->r.operands[i];

		w->twins[i] = i;
		if (needs_cast(o) || w->rounded[i])
			add_twin(w, i);
		else if (o->type == NN_TENSOR_FLOAT16)
			o->type = NN_TENSOR_FLOAT32;
		else if (o->type == NN_FLOAT16)
			widen_scalar(w, from, o);
	}
}

/* CASTs of what is known before come first, those of outputs last. */
static void add_casts(struct wide *w, uint32_t count, bool outputs)
{
	for (uint32_t i = 0; i < count; i++) {
		if (w->twins[i] == i || w->rounded[i] ||
		    outputs != (w->r.operands[i].lifetime == NN_SUBGRAPH_OUTPUT))
			continue;
		if (outputs)
			rewrite_cast(&w->r, w->twins[i], i);
		else
			rewrite_cast(&w->r, i, w->twins[i]);
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
			list[j] = w->twins[list[j]];
		if (!is_rounding(s, o))
			continue;
		list[1] = o->outputs[0];
		rewrite_cast(&w->r, list[1], w->twins[list[1]]);
	}
	add_casts(w, s->num_operands, true);
}

static void widen(struct wide *w, const struct nn_model *from)
{
	rewrite_begin(&w->r, from);
	widen_operands(w, from);
	widen_operations(w, &from->subgraphs[0]);
}

struct nn_model *plan_float32(const struct nn_model *model)
{
	const struct nn_subgraph *s = &model->subgraphs[0];
	struct wide sizes, *w;

	if (model->num_subgraphs != 1 || model->num_extensions || !has_half(s) ||
	    !is_convertible(s))
		return NULL;
	w = calloc(1, divide(model, NULL, &sizes));
	if (!w)
		return NULL;
	divide(model, (char *)w, w);
	widen(w, model);
	/* An operation that takes float16 only, if there is one. */
	return rewrite_end(&w->r);
}
