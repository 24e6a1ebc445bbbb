// SPDX-License-Identifier: MIT
/*
 * Plans the contents of the GPU's buffer: parameters, constants, then all other values. Values that
 * are not constants share memory if they are not needed at the same time.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "vulkan/graph.h"

#define ALIGNMENT UINT64_C(256)

/*
 * Finds the first and the last dispatch that needs each value. Inputs are needed from before the
 * first dispatch, and outputs until after the last dispatch.
 */
static void find_lifetimes(struct graph *g)
{
	for (uint32_t i = 0; i < g->num_values; i++) {
		g->values[i].first = g->values[i].is_input ? 0 : UINT32_MAX;
		g->values[i].last = 0;
	}
	for (uint32_t d = 0; d < g->num_dispatches; d++) {
		for (uint32_t t = 0; t < TENSORS; t++) {
			uint32_t index = g->dispatches[d].tensors[t];

			if (index == NO_VALUE)
				continue;
			if (g->values[index].first > d)
				g->values[index].first = d;
			g->values[index].last = d;
		}
	}
	for (uint32_t i = 0; i < g->num_values; i++)
		if (g->values[i].is_output)
			g->values[i].last = UINT32_MAX;
}

/* Compares two values, so that sorting puts the largest value first. */
static int by_size(const void *a, const void *b, void *values)
{
	const struct value *all = values;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t size_x = all[x].size, size_y = all[y].size;

	return size_x != size_y ? (size_x < size_y ? 1 : -1) : (x > y) - (x < y);
}

static bool lives_with(const struct value *a, const struct value *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/*
 * Sets a value's offset in the buffer to the lowest offset where the value overlaps no value that
 * is needed at the same time.
 */
static void place(struct graph *g, const uint32_t *placed, uint32_t count, struct value *v)
{
	bool moved = true;

	v->at = 0;
	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < count; i++) {
			const struct value *other = &g->values[placed[i]];
			const uint64_t end = other->at + round_up(other->size, ALIGNMENT);

			if (lives_with(v, other) && v->at < end && other->at < v->at + v->size) {
				v->at = end;
				moved = true;
			}
		}
	}
}

static bool is_placed(const struct value *v)
{
	return !v->data && (v->first != UINT32_MAX || v->is_output);
}

enum nn_status arena_plan(struct graph *g, uint64_t alignment, struct nn_error *err)
{
	uint32_t *order = malloc((g->num_values + 1) * sizeof(*order)), count = 0;
	uint64_t at, end = 0;

	if (!order)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	find_lifetimes(g);
	g->params_step = round_up(PARAMS_BYTES, alignment > 1 ? alignment : 1);
	at = round_up(g->params_step * g->num_dispatches, ALIGNMENT);
	for (uint32_t i = 0; i < g->num_values; i++) {
		struct value *v = &g->values[i];

		if (is_placed(v))
			order[count++] = i;
		if (!v->data || v->first == UINT32_MAX)
			continue;
		v->at = at;
		at += round_up(v->size, ALIGNMENT);
	}
	g->constants_end = at;
	qsort_r(order, count, sizeof(*order), by_size, g->values);
	for (uint32_t i = 0; i < count; i++) {
		struct value *v = &g->values[order[i]];

		place(g, order, i, v);
		g->unshared += round_up(v->size, ALIGNMENT);
		if (end < v->at + v->size)
			end = v->at + v->size;
	}
	for (uint32_t i = 0; i < count; i++)
		g->values[order[i]].at += at;
	g->size = round_up(at + end, ALIGNMENT);
	for (uint32_t d = 0; d < g->num_dispatches; d++)
		for (uint32_t t = 0; t < TENSORS; t++) {
			uint32_t index = g->dispatches[d].tensors[t];

			if (index != NO_VALUE)
				g->dispatches[d].params.at[t] =
					(uint32_t)(g->values[index].at / g->values[index].element);
		}
	free(order);
	return NN_OK;
}
