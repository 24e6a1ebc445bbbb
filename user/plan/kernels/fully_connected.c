/* SPDX-License-Identifier: MIT */
/*
 * FULLY_CONNECTED with constant weights as a matrix product.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/kernels/families.h"
#include "plan/kernels/gemm.h"

enum { X, WEIGHTS, BIAS, ACTIVATION };

#define MAX_ROWS 56	/* of a block: they stay in the cache while the weights pass */

static void set_ready(struct nn_gemm *g, struct nn_ready *ready)
{
	nn_gemm_divide(g, ready->threads, MAX_ROWS);
	ready->packed_size = nn_gemm_packed_size(g, ready->isa);
	if (!nn_gemm_takes_rows(g))
		ready->scratch_size = g->block_rows * g->a_stride * g->element;
	else
		ready->scratch_size = nn_gemm_scratch(g, ready->isa);
	ready->tasks = g->row_blocks * g->column_blocks;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const uint32_t *weights = r->inputs[WEIGHTS].dims;
	struct nn_gemm *g;

	if (r->op->code != NN_OP_FULLY_CONNECTED)
		return false;
	g = calloc(1, sizeof(*g));
	if (!g)
		return false;
	ready->state = g;
	g->rows = r->outputs[0].dims[0];
	g->columns = weights[0];
	g->depth = weights[1];
	if (!nn_gemm_prepare(r, ACTIVATION, ready, g))
		return false;
	set_ready(g, ready);
	return true;
}

struct saved {
	uint32_t rows;
	uint32_t columns;
	uint32_t depth;
	struct nn_saved_numbers numbers;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct nn_gemm *g = ready->state;
	struct saved *s = (struct saved *)words;

	s->rows = (uint32_t)g->rows;
	s->columns = (uint32_t)g->columns;
	s->depth = (uint32_t)g->depth;
	nn_gemm_save(g, &s->numbers);
	return NN_WORDS(*s) - NN_WORDS(s->numbers) + nn_numbers_words(&s->numbers);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	const uint32_t before = NN_WORDS(*s) - NN_WORDS(s->numbers);
	struct nn_gemm *g = state;

	if (count <= before || !nn_is_dimension(s->rows) || !nn_is_dimension(s->columns) ||
	    !nn_is_dimension(s->depth))
		return false;
	*g = (struct nn_gemm){ .rows = s->rows, .columns = s->columns, .depth = s->depth };
	if (!nn_gemm_restore(&s->numbers, count - before, ready->isa, g) ||
	    !nn_fits(&bounds->inputs[X], nn_times(g->rows * g->depth, g->element), g->element) ||
	    !nn_fits(&bounds->output, nn_times(g->rows * g->columns, g->element), g->element))
		return false;
	set_ready(g, ready);
	return true;
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	return nn_gemm_pack(r, ready->state, ready->isa, ACTIVATION, packed);
}

static const void *copy_rows(const struct nn_gemm *g, const char *from, size_t rows, char *to)
{
	for (size_t i = 0; i < rows; i++)
		memcpy(to + i * g->a_stride * g->element, from + i * g->depth * g->element,
		       g->depth * g->element);
	return to;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct nn_gemm *g = call->ready->state;
	uint32_t row_block = task / g->column_blocks;
	size_t first = row_block * g->block_rows, left = g->rows - first;
	const void *a = (const char *)call->inputs[X] + first * g->depth * g->element;

	if (!nn_gemm_takes_rows(g))
		a = copy_rows(g, a, left < g->block_rows ? left : g->block_rows, scratch);
	/* In pairs rows are never copied: the scratch memory is free. */
	nn_gemm_run(call->ready, g, row_block, task % g->column_blocks, a, call->outputs[0],
		    scratch);
}

const struct nn_kernel nn_kernel_fully_connected = {
	.name = "fully connected",
	.prepare = prepare,
	.pack = pack,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct nn_gemm),
};
