// SPDX-License-Identifier: MIT
/*
 * Fuses dispatches: a chain of elementwise operations becomes one dispatch, and an activation
 * becomes part of the preceding product, window or pooling.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/graph.h"

/*
 * The uses of a value: the number of dispatches that read it, the number that write it, and the
 * index of the last writer.
 */
struct use {
	uint32_t readers;
	uint32_t writers;
	uint32_t writer;
};

static void count_uses(const struct graph *g, struct use *uses)
{
	for (uint32_t d = 0; d < g->num_dispatches; d++) {
		for (uint32_t t = 0; t < TENSORS; t++) {
			uint32_t value = g->dispatches[d].tensors[t];

			if (value == NO_VALUE)
				continue;
			uses[value].readers += t != OUTPUT;
			uses[value].writers += t == OUTPUT;
			if (t == OUTPUT)
				uses[value].writer = d;
		}
	}
}

/* Returns whether a dispatch reads its tensor 0 contiguously. */
static bool is_dense(const struct elementwise_params *p)
{
	uint32_t step = 1;

	for (uint32_t i = p->rank; i-- > 0; step *= p->dims[i])
		if (p->dims[i] != 1 && p->moves[i] != step)
			return false;
	return step == p->count;
}

/*
 * Gives to chain `a` the axes of chain `b`, which has as many elements as `a`. Returns true if the
 * axes were equal, or if `a` had a single axis. Otherwise returns false and does not change `a`.
 */
static bool same_axes(struct elementwise_params *a, const struct elementwise_params *b)
{
	uint32_t step = 1;

	if (a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)))
		return true;
	if (a->rank != 1)
		return false;
	for (uint32_t i = b->rank; i-- > 0; step *= b->dims[i])
		for (uint32_t t = 3; t-- > 0;)
			a->moves[t * MAX_AXES + i] = a->moves[t * MAX_AXES] * step;
	a->rank = b->rank;
	memcpy(a->dims, b->dims, sizeof(a->dims));
	return true;
}

/* Appends to `chain` the steps of `next`, whose tensor 0 is the output of `chain`. */
static bool append(struct dispatch *chain, const struct dispatch *next)
{
	struct elementwise_params a = chain->params.elementwise, b = next->params.elementwise;
	const uint32_t operands = a.num_operands;

	if (a.num_steps + b.num_steps > MAX_STEPS || operands + b.num_operands > 2 ||
	    chain->constants[2] != next->constants[0] || next->constants[0] > TYPE_F16 ||
	    (operands && b.num_operands && chain->constants[1] != next->constants[1]) ||
	    !is_dense(&b) || !(same_axes(&a, &b) || same_axes(&b, &a)))
		return false;
	for (uint32_t s = 0; s < b.num_steps; s++, a.num_steps++) {
		a.steps[a.num_steps] = b.steps[s];
		a.operands[a.num_steps] = b.operands[s] ? b.operands[s] + operands : 0;
		a.x[a.num_steps] = b.x[s];
		a.y[a.num_steps] = b.y[s];
	}
	for (uint32_t t = 1; t <= b.num_operands; t++) {
		chain->tensors[operands + t] = next->tensors[t];
		memcpy(&a.moves[(operands + t) * MAX_AXES], &b.moves[t * MAX_AXES],
		       MAX_AXES * sizeof(*a.moves));
		chain->constants[1] = next->constants[1];
	}
	a.num_operands = operands + b.num_operands;
	chain->constants[2] = next->constants[2];
	chain->params.elementwise = a;
	chain->operation = next->operation;
	return true;
}

/* Returns the step that has the same result as `step` if the operands are exchanged, or -1. */
static int exchanged(uint32_t step)
{
	static const uint32_t pairs[][2] = {
		{ STEP_ADD, STEP_ADD }, { STEP_MUL, STEP_MUL }, { STEP_SUB, STEP_RSUB },
		{ STEP_DIV, STEP_RDIV }, { STEP_POW, STEP_RPOW }, { STEP_EQUAL, STEP_EQUAL },
		{ STEP_NOT_EQUAL, STEP_NOT_EQUAL }, { STEP_LESS, STEP_GREATER },
		{ STEP_LESS_EQUAL, STEP_GREATER_EQUAL }, { STEP_GREATER, STEP_LESS },
		{ STEP_GREATER_EQUAL, STEP_LESS_EQUAL },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i][0] == step)
			return (int)pairs[i][1];
	return -1;
}

/*
 * Exchanges tensors 0 and 1 of a dispatch, and adapts its step so that the result stays the same.
 */
static bool exchange(struct dispatch *d)
{
	struct elementwise_params *p = &d->params.elementwise;
	const int step = exchanged(p->steps[0]);
	const uint32_t first = d->tensors[0];

	if (step < 0 || p->num_operands != 1 || p->operands[0] != 1)
		return false;
	for (uint32_t i = 0; i < MAX_AXES; i++) {
		uint32_t move = p->moves[i];

		p->moves[i] = p->moves[MAX_AXES + i];
		p->moves[MAX_AXES + i] = move;
	}
	p->steps[0] = (uint32_t)step;
	d->tensors[0] = d->tensors[1];
	d->tensors[1] = first;
	return true;
}

/*
 * Fuses the clamp `next` into the float product, windowed operation or pooling that computes the
 * input of the clamp.
 */
static bool clamp_window(struct dispatch *window, const struct dispatch *next)
{
	const struct elementwise_params *p = &next->params.elementwise;
	struct window_params *w = &window->params.window;

	if (window->shader != SHADER_conv_f && window->shader != SHADER_conv_d &&
	    window->shader != SHADER_depthwise_f &&
	    (window->shader != SHADER_pool || window->constants[0] > TYPE_F16))
		return false;
	if (p->num_steps != 1 || p->steps[0] != STEP_CLAMP ||
	    next->constants[2] != window->constants[0])
		return false;
	w->low = fminf(fmaxf(w->low, p->x[0]), p->y[0]);
	w->high = fmaxf(fminf(w->high, p->y[0]), p->x[0]);
	window->tensors[OUTPUT] = next->tensors[OUTPUT];
	return true;
}

/*
 * If a value has only one writer and its only reader is dispatch `d`, returns the dispatch that
 * writes the value; otherwise NULL.
 */
static struct dispatch *writer_of(struct graph *g, const struct use *uses, uint32_t value,
				  uint32_t d)
{
	if (value == NO_VALUE || g->values[value].is_output || g->values[value].is_input ||
	    uses[value].readers != 1 || uses[value].writers != 1 || uses[value].writer >= d)
		return NULL;
	return &g->dispatches[uses[value].writer];
}

/* Fuses dispatch `d` with the dispatch that writes the input of `d`, if the two can be fused. */
static void join(struct graph *g, struct use *uses, uint32_t d)
{
	struct dispatch *next = &g->dispatches[d], *before, exchanged_next = *next;

	before = writer_of(g, uses, next->tensors[0], d);
	if (before && clamp_window(before, next)) {
		uses[before->tensors[OUTPUT]].writer = uses[next->tensors[0]].writer;
		next->shader = SHADERS;
		return;
	}
	if (!before || before->shader != SHADER_elementwise) {
		before = writer_of(g, uses, next->tensors[1], d);
		if (!before || before->shader != SHADER_elementwise || !exchange(&exchanged_next))
			return;
	}
	/*
	 * The fused dispatch replaces the second dispatch, because the operands of both dispatches
	 * are computed before the second dispatch.
	 */
	if (append(before, &exchanged_next)) {
		before->tensors[OUTPUT] = next->tensors[OUTPUT];
		*next = *before;
		before->shader = SHADERS;
	}
}

void fuse(struct graph *g)
{
	struct use *uses = calloc(g->num_values + 1, sizeof(*uses));
	uint32_t kept = 0;

	if (!uses)
		return;
	count_uses(g, uses);
	for (uint32_t d = 0; d < g->num_dispatches; d++)
		if (g->dispatches[d].shader == SHADER_elementwise)
			join(g, uses, d);
	for (uint32_t d = 0; d < g->num_dispatches; d++)
		if (g->dispatches[d].shader != SHADERS)
			g->dispatches[kept++] = g->dispatches[d];
	g->num_dispatches = kept;
	free(uses);
}
