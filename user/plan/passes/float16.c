/* SPDX-License-Identifier: MIT */
/*
 * Rewrites convolutions and neighbouring operations to float16, for CPUs that compute in float16.
 */
#include <stdlib.h>
#include <string.h>

#include "model/operand.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "plan/passes/rewrite.h"

#define NONE UINT32_MAX

enum { X, WEIGHTS, BIAS };

/* Properties of an operand that only the float16 pass uses. */
struct fact {
	uint32_t fp16;			/* the float16 operand with the same value, or NONE */
	uint32_t readers;		/* number of float16 operations that read the operand */
	/* The operand is constant, or was converted from a constant. */
	bool is_constant;
	bool is_fp16;			/* a float16 operation writes the operand */
};

struct narrow {
	struct rewrite r;
	const struct nn_model *from;
	const struct nn_subgraph *s;	/* subgraph of `from` */
	struct fact *facts;
};

/* ---- What is computed in float16 ---- */

static bool is_float(const struct narrow *w, uint32_t operand)
{
	return w->s->operands[operand].type == NN_TENSOR_FLOAT32;
}

/* Returns whether an operation is a CAST from float16 to float32, which changes no value. */
static bool is_widening(const struct narrow *w, const struct nn_operation *o)
{
	return o->type == NN_OP_CAST && is_float(w, o->outputs[0]) &&
	       w->s->operands[o->inputs[0]].type == NN_TENSOR_FLOAT16;
}

/*
 * Returns whether an input is a constant scalar of any type with the value `value`. An omitted
 * input counts as the value 0.
 */
static bool is_scalar(const struct narrow *w, const struct nn_operation *o, uint32_t input,
		      int32_t value)
{
	const struct nn_operand *operand;
	const uint8_t *from;
	int32_t got = 0;

	if (input >= o->num_inputs)
		return !value;
	operand = &w->s->operands[o->inputs[input]];
	if (!w->facts[o->inputs[input]].is_constant)
		return false;
	from = nn_operand_value_of_count(w->from, operand, operand->type, 1, NULL);
	if (!from || operand->location.length > sizeof(got))
		return false;
	memcpy(&got, from, operand->location.length);
	return got == value;
}

/* Returns whether an operation is a matrix product that a kernel computes in float16. */
static bool is_product(const struct narrow *w, const struct nn_operation *o)
{
	const struct nn_scope scope = { .operands = w->s->operands,
					.num_operands = w->s->num_operands };
	const struct nn_check c = { .scope = &scope, .operation = o };
	const struct nn_traits *traits = nn_traits(o->type);
	struct nn_window_args args;

	if (!traits->is_narrow_product || !is_float(w, o->inputs[X]) ||
	    !w->facts[o->inputs[WEIGHTS]].is_constant || !w->facts[o->inputs[BIAS]].is_constant)
		return false;
	if (!traits->window.tensors)
		return true;
	args = nn_window_check_args(&c);
	return is_scalar(w, o, args.nchw, 0) &&
	       (!traits->window.own || is_scalar(w, o, args.own, 1));
}

/*
 * Returns whether an operation is neutral: it can be computed in float16 or in float32. Computing a
 * neutral operation in float16 instead of float32 adds only one rounding.
 */
static bool is_neutral(const struct narrow *w, const struct nn_operation *o)
{
	return nn_traits(o->type)->is_neutral && is_float(w, o->inputs[0]);
}

/* Returns whether any input of an operation was computed in float16. */
static bool reads_fp16(const struct narrow *w, const struct nn_operation *o)
{
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (w->facts[o->inputs[i]].is_fp16)
			return true;
	return false;
}

static void choose(struct narrow *w, uint32_t index)
{
	const struct nn_operation *o = &w->s->operations[index];

	w->facts[o->outputs[0]].is_fp16 = true;
	for (uint32_t i = 0; i < o->num_inputs; i++)
		w->facts[o->inputs[i]].readers++;
}

/*
 * Chooses the operations to compute in float16: matrix products, neutral operations that read a
 * result of a chosen operation, and neutral operations whose results only chosen operations read.
 * Returns false if the model has no matrix product that can be computed in float16.
 */
static bool choose_all(struct narrow *w)
{
	const struct nn_subgraph *s = w->s;
	bool any = false;

	for (uint32_t i = 0; i < s->num_operands; i++)
		w->facts[i].is_constant = nn_operand_is_constant(&s->operands[i]);
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];

		if (is_widening(w, o))
			w->facts[o->outputs[0]].is_constant = w->facts[o->inputs[0]].is_constant;
		any |= is_product(w, o);
		if (is_product(w, o) || (is_neutral(w, o) && reads_fp16(w, o)))
			choose(w, i);
	}
	for (uint32_t i = s->num_operations; any && i-- > 0;) {
		const uint32_t out = s->operations[i].outputs[0];

		if (!w->facts[out].is_fp16 && is_neutral(w, &s->operations[i]) && w->facts[out].readers &&
		    w->facts[out].readers == s->operands[out].consumers)
			choose(w, i);
	}
	return any;
}

/* ---- Writing it ---- */

/*
 * Adds a float16 operand with the shape of operand `index`; returns the index of the new operand.
 */
static uint32_t add_fp16(struct narrow *w, uint32_t index)
{
	const struct nn_operand *o = &w->r.operands[index];

	return w->facts[index].fp16 = rewrite_operand(&w->r, index, NN_TENSOR_FLOAT16, o->rank,
						      o->dims);
}

static void need_single(struct narrow *w, uint32_t index)
{
	if (w->r.is_there[index])
		return;
	w->r.is_there[index] = true;
	rewrite_cast(&w->r, w->facts[index].fp16, index);
}

static void add_chosen(struct narrow *w, const struct nn_operation *o)
{
	uint32_t *list;

	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (is_float(w, o->inputs[i]) && w->facts[o->inputs[i]].fp16 == NONE)
			rewrite_cast(&w->r, o->inputs[i], add_fp16(w, o->inputs[i]));
	list = rewrite_add(&w->r, o->type, o->num_inputs, 1, o->inputs, o->outputs);
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (is_float(w, o->inputs[i]))
			list[i] = w->facts[o->inputs[i]].fp16;
	list[o->num_inputs] = add_fp16(w, o->outputs[0]);
	w->r.is_there[o->outputs[0]] = false;
}

static void add_operation(struct narrow *w, uint32_t index)
{
	const struct nn_operation *o = &w->s->operations[index];

	if (w->facts[o->outputs[0]].is_fp16) {
		add_chosen(w, o);
		return;
	}
	/*
	 * A CAST to float32 is not added, because float16 operations read the CAST's float16 input
	 * directly.
	 */
	if (is_widening(w, o)) {
		w->facts[o->outputs[0]].fp16 = o->inputs[0];
		w->r.is_there[o->outputs[0]] = false;
		return;
	}
	for (uint32_t i = 0; i < o->num_inputs; i++)
		need_single(w, o->inputs[i]);
	rewrite_add(&w->r, o->type, o->num_inputs, o->num_outputs, o->inputs, o->outputs);
}

struct nn_model *plan_float16(const struct nn_model *model)
{
	const struct nn_subgraph *s = &model->subgraphs[0];
	const size_t operands = s->num_operands;
	struct narrow *w;

	if (model->num_subgraphs != 1 || model->num_extensions)
		return NULL;
	/* Each operand is converted at most once to float16 and once to float32. */
	w = rewrite_create(model, &(struct rewrite_room){
		.pass = sizeof(*w), .fact = sizeof(*w->facts), .operands = operands,
		.operations = 2 * operands, .indices = 4 * operands });
	if (!w)
		return NULL;
	w->from = model;
	w->s = s;
	w->facts = w->r.facts;
	if (!choose_all(w)) {
		free(w);
		return NULL;
	}
	for (uint32_t i = 0; i < s->num_operands; i++)
		w->facts[i].fp16 = NONE;
	for (uint32_t i = 0; i < s->num_operations; i++)
		add_operation(w, i);
	for (uint32_t i = 0; i < s->num_outputs; i++)
		need_single(w, s->outputs[i]);
	return rewrite_end(&w->r);
}
