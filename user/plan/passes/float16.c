/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and what surrounds them in float16, for CPUs that compute in it.
 */
#include <stdlib.h>
#include <string.h>

#include "model/operand.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "plan/passes/rewrite.h"

#define NONE UINT32_MAX

enum { X, WEIGHTS, BIAS };

/* A model under construction: one block, of which nn_model is the beginning. */
struct narrow {
	struct rewrite r;
	const struct nn_model *from;
	const struct nn_subgraph *s;	/* of it */
	uint32_t *halves;		/* by operand: the float16 one of the same value, or NONE */
	uint32_t *readers;		/* by operand: operations in float16 that read it */
	bool *is_there;			/* by operand: in its own type */
	bool *is_constant;		/* by operand: it, or what it was converted from */
	bool *is_half;			/* by operand: an operation in float16 writes it */
	bool *is_chosen;		/* by operation: it computes in float16 */
};

/* ---- What is computed in float16 ---- */

static bool is_float(const struct narrow *w, uint32_t operand)
{
	return w->s->operands[operand].type == NN_TENSOR_FLOAT32;
}

/* Whether it is the operation that converts, and does so from float16: no value changes. */
static bool is_widening(const struct narrow *w, const struct nn_operation *o)
{
	return o->type == NN_OP_CAST && is_float(w, o->outputs[0]) &&
	       w->s->operands[o->inputs[0]].type == NN_TENSOR_FLOAT16;
}

/* Whether an operand is a constant scalar, of any number of bytes, that is `value`. */
static bool is_scalar(const struct narrow *w, const struct nn_operation *o, uint32_t input,
		      int32_t value)
{
	const struct nn_operand *operand;
	const uint8_t *from;
	int32_t got = 0;

	if (input >= o->num_inputs)
		return !value;
	operand = &w->s->operands[o->inputs[input]];
	if (!w->is_constant[o->inputs[input]])
		return false;
	from = nn_operand_value_of_count(w->from, operand, operand->type, 1, NULL);
	if (!from || operand->location.length > sizeof(got))
		return false;
	memcpy(&got, from, operand->location.length);
	return got == value;
}

/* Whether it is a product that a kernel computes in float16. */
static bool is_product(const struct narrow *w, const struct nn_operation *o)
{
	const struct nn_scope scope = { .operands = w->s->operands,
					.num_operands = w->s->num_operands };
	const struct nn_check c = { .scope = &scope, .operation = o };
	const struct nn_traits *traits = nn_traits(o->type);
	struct nn_window_args args;

	if (!traits->is_narrow_product || !is_float(w, o->inputs[X]) ||
	    !w->is_constant[o->inputs[WEIGHTS]] || !w->is_constant[o->inputs[BIAS]])
		return false;
	if (!traits->window.tensors)
		return true;
	args = nn_window_check_args(&c);
	return is_scalar(w, o, args.nchw, 0) &&
	       (!traits->window.own || is_scalar(w, o, args.own, 1));
}

/* Operations that are done in either type, and lose little in float16: a rounding. */
static bool is_neutral(const struct narrow *w, const struct nn_operation *o)
{
	return nn_traits(o->type)->is_neutral && is_float(w, o->inputs[0]);
}

/* Whether an input was computed in float16. */
static bool reads_half(const struct narrow *w, const struct nn_operation *o)
{
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (w->is_half[o->inputs[i]])
			return true;
	return false;
}

static void choose(struct narrow *w, uint32_t index)
{
	const struct nn_operation *o = &w->s->operations[index];

	w->is_chosen[index] = true;
	w->is_half[o->outputs[0]] = true;
	for (uint32_t i = 0; i < o->num_inputs; i++)
		w->readers[o->inputs[i]]++;
}

/* Products, what reads them, and what they alone read. False: no product. */
static bool choose_all(struct narrow *w)
{
	const struct nn_subgraph *s = w->s;
	bool any = false;

	for (uint32_t i = 0; i < s->num_operands; i++)
		w->is_constant[i] = nn_operand_is_constant(&s->operands[i]);
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];

		if (is_widening(w, o))
			w->is_constant[o->outputs[0]] = w->is_constant[o->inputs[0]];
		any |= is_product(w, o);
		if (is_product(w, o) || (is_neutral(w, o) && reads_half(w, o)))
			choose(w, i);
	}
	for (uint32_t i = s->num_operations; any && i-- > 0;) {
		const uint32_t out = s->operations[i].outputs[0];

		if (!w->is_chosen[i] && is_neutral(w, &s->operations[i]) && w->readers[out] &&
		    w->readers[out] == s->operands[out].consumers)
			choose(w, i);
	}
	return any;
}

/* ---- Writing it ---- */

/* A new float16 operand for what an operand holds. */
static uint32_t add_half(struct narrow *w, uint32_t index)
{
	const struct nn_operand *o = &w->r.operands[index];
	uint32_t half = w->r.subgraph.num_operands++;

	w->r.operands[half] = (struct nn_operand){ .type = NN_TENSOR_FLOAT16, .rank = o->rank };
	memcpy(w->r.operands[half].dims, o->dims, sizeof(o->dims));
	w->halves[index] = half;
	return half;
}

static void need_single(struct narrow *w, uint32_t index)
{
	if (w->is_there[index])
		return;
	w->is_there[index] = true;
	rewrite_cast(&w->r, w->halves[index], index);
}

static void need_half(struct narrow *w, uint32_t index)
{
	if (w->halves[index] == NONE)
		rewrite_cast(&w->r, index, add_half(w, index));
}

static void add_chosen(struct narrow *w, const struct nn_operation *o)
{
	uint32_t *list;

	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (is_float(w, o->inputs[i]))
			need_half(w, o->inputs[i]);
	list = rewrite_add(&w->r, o->type, o->num_inputs, 1, o->inputs, o->outputs);
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (is_float(w, o->inputs[i]))
			list[i] = w->halves[o->inputs[i]];
	list[o->num_inputs] = add_half(w, o->outputs[0]);
	w->is_there[o->outputs[0]] = false;
}

static void add_operation(struct narrow *w, uint32_t index)
{
	const struct nn_operation *o = &w->s->operations[index];

	if (w->is_chosen[index]) {
		add_chosen(w, o);
		return;
	}
	/* The operand from which it was converted has the type already. */
	if (is_widening(w, o)) {
		w->halves[o->outputs[0]] = o->inputs[0];
		w->is_there[o->outputs[0]] = false;
		return;
	}
	for (uint32_t i = 0; i < o->num_inputs; i++)
		need_single(w, o->inputs[i]);
	rewrite_add(&w->r, o->type, o->num_inputs, o->num_outputs, o->inputs, o->outputs);
}

static void narrow(struct narrow *w)
{
	const struct nn_subgraph *s = w->s;

	rewrite_begin(&w->r, w->from);
	for (uint32_t i = 0; i < s->num_operands; i++) {
		w->halves[i] = NONE;
		w->is_there[i] = true;
	}
	for (uint32_t i = 0; i < s->num_operations; i++)
		add_operation(w, i);
	for (uint32_t i = 0; i < s->num_outputs; i++)
		need_single(w, s->outputs[i]);
	rewrite_settle(&w->r, s->num_operands, w->is_there);
}

/* Divides the block; returns its size. An operand is converted once each way at most. */
static size_t divide(const struct nn_model *from, char *base, struct narrow *w)
{
	const size_t operands = from->subgraphs[0].num_operands;
	size_t at = sizeof(*w);

	rewrite_divide(&w->r, from, base, &at, operands, 2 * operands, 4 * operands, 0);
	w->halves = rewrite_take(base, &at, operands, sizeof(*w->halves));
	w->readers = rewrite_take(base, &at, operands, sizeof(*w->readers));
	w->is_there = rewrite_take(base, &at, operands, sizeof(*w->is_there));
	w->is_constant = rewrite_take(base, &at, operands, sizeof(*w->is_constant));
	w->is_half = rewrite_take(base, &at, operands, sizeof(*w->is_half));
	w->is_chosen = rewrite_take(base, &at, from->subgraphs[0].num_operations,
				    sizeof(*w->is_chosen));
	return at;
}

struct nn_model *plan_float16(const struct nn_model *model)
{
	struct narrow sizes, *w;

	if (model->num_subgraphs != 1 || model->num_extensions)
		return NULL;
	w = calloc(1, divide(model, NULL, &sizes));
	if (!w)
		return NULL;
	divide(model, (char *)w, w);
	w->from = model;
	w->s = &model->subgraphs[0];
	if (!choose_all(w)) {
		free(w);
		return NULL;
	}
	narrow(w);
	return rewrite_end(&w->r);
}
