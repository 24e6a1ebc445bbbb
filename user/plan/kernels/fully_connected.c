/* SPDX-License-Identifier: MIT */
/*
 * FULLY_CONNECTED as a matrix product, of packed weights. A few rows of floats are multiplied with
 * weights as they lie, where those are no constants.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/kernels/families.h"
#include "plan/kernels/gemm.h"

enum { X, WEIGHTS, BIAS, ACTIVATION };

#define MAX_ROWS 56	/* of a block: they stay in the cache while the weights pass */
#define MAX_PLAIN_ROWS 4	/* for which packing takes longer than it saves */

struct fully {
	struct nn_gemm gemm;
	bool is_plain;		/* weights are not packed */
};

static void set_ready(struct nn_gemm *g, struct nn_ready *ready)
{
	nn_gemm_divide(g, ready->isa, ready->threads, MAX_ROWS);
	ready->packed_size = nn_gemm_packed_size(g, ready->isa);
	if (!nn_gemm_takes_rows(g))
		ready->scratch_size = g->block_rows * g->a_stride * g->element;
	else
		ready->scratch_size = nn_gemm_scratch(g, ready->isa);
	ready->tasks = g->row_blocks * g->column_blocks;
}

/* What becomes of weights that are no constants. */
static void set_weights(const struct fully *f, bool are_given, struct nn_ready *ready)
{
	if (f->is_plain)
		ready->packed_size = 0;
	else if (are_given)
		ready->pack_tasks = nn_gemm_pack_tasks(&f->gemm);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const uint32_t *weights = r->inputs[WEIGHTS].dims;
	struct fully *f;
	struct nn_gemm *g;

	if (r->op->code != NN_OP_FULLY_CONNECTED)
		return false;
	f = calloc(1, sizeof(*f));
	if (!f)
		return false;
	ready->state = f;
	g = &f->gemm;
	g->rows = r->outputs[0].dims[0];
	g->columns = weights[0];
	g->depth = weights[1];
	if (!nn_gemm_prepare(r, ACTIVATION, ready, g))
		return false;
	set_ready(g, ready);
	f->is_plain = !nn_has_constants(r) && g->number == NN_IN_FLOATS &&
		      g->rows <= MAX_PLAIN_ROWS;
	set_weights(f, !nn_has_constants(r), ready);
	return true;
}

/* ---- Saving ---- */

/* What becomes of the weights. */
enum { PACKED, PACKED_EACH_RUN, PLAIN };

struct saved {
	uint32_t rows;
	uint32_t columns;
	uint32_t depth;
	uint32_t weights;
	struct nn_saved_numbers numbers;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct fully *f = ready->state;
	const struct nn_gemm *g = &f->gemm;
	struct saved *s = (struct saved *)words;

	if (ready->pack_tasks && g->number == NN_IN_BYTES)
		return 0;
	s->rows = (uint32_t)g->rows;
	s->columns = (uint32_t)g->columns;
	s->depth = (uint32_t)g->depth;
	s->weights = f->is_plain ? PLAIN : ready->pack_tasks ? PACKED_EACH_RUN : PACKED;
	nn_gemm_save(g, &s->numbers);
	return NN_WORDS(*s) - NN_WORDS(s->numbers) + nn_numbers_words(&s->numbers);
}

static uint64_t needs(const struct nn_ready *ready)
{
	const struct fully *f = ready->state;

	return nn_gemm_needs(f->is_plain || ready->pack_tasks);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	const uint32_t before = NN_WORDS(*s) - NN_WORDS(s->numbers);
	struct fully *f = state;
	struct nn_gemm *g = &f->gemm;

	if (count <= before || !nn_is_dimension(s->rows) || !nn_is_dimension(s->columns) ||
	    !nn_is_dimension(s->depth) || s->weights > PLAIN ||
	    (s->weights == PLAIN && s->rows > MAX_PLAIN_ROWS))
		return false;
	*f = (struct fully){
		.gemm = { .rows = s->rows, .columns = s->columns, .depth = s->depth },
		.is_plain = s->weights == PLAIN,
	};
	if (!nn_gemm_restore(&s->numbers, count - before, ready->isa, g) ||
	    !nn_fits(&bounds->inputs[X], nn_times(g->rows * g->depth, g->element), g->element) ||
	    !nn_fits(&bounds->output, nn_times(g->rows * g->columns, g->element), g->element) ||
	    (s->weights != PACKED && !nn_gemm_has_weights(g, bounds)) ||
	    (s->weights == PLAIN && g->number != NN_IN_FLOATS))
		return false;
	set_ready(g, ready);
	set_weights(f, s->weights != PACKED, ready);
	return true;
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	const struct fully *f = ready->state;
	const struct nn_gemm *g = &f->gemm;

	return f->is_plain || nn_gemm_pack(r, g, ready->isa, 0, g->columns, packed);
}

static bool pack_task(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
		      void *scratch, void *packed)
{
	const struct fully *f = ready->state;

	(void)scratch;
	return nn_gemm_pack_task(r, &f->gemm, ready, task, packed);
}

static const void *copy_rows(const struct nn_gemm *g, const char *from, size_t rows, char *to)
{
	for (size_t i = 0; i < rows; i++)
		memcpy(to + i * g->a_stride * g->element, from + i * g->depth * g->element,
		       g->depth * g->element);
	return to;
}

static void run_plain(const struct nn_kernel_call *call, const struct nn_gemm *g, uint32_t task)
{
	const size_t first = task * g->block_columns, left = g->columns - first;
	const struct nn_rows_f32 product = {
		.rows = g->rows,
		.columns = left < g->block_columns ? left : g->block_columns,
		.depth = g->depth,
		.a = call->inputs[X],
		.b = (const float *)call->inputs[WEIGHTS] + first * g->depth,
		.bias = (const float *)call->inputs[BIAS] + first,
		.c = (float *)call->outputs[0] + first,
		.c_stride = g->columns,
		.low = g->low,
		.high = g->high,
	};

	call->ready->isa->rows_f32(&product);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct fully *f = call->ready->state;
	const struct nn_gemm *g = &f->gemm;
	uint32_t row_block = task / g->column_blocks;
	size_t first = row_block * g->block_rows, left = g->rows - first;
	const void *a = (const char *)call->inputs[X] + first * g->depth * g->element;

	if (f->is_plain) {
		run_plain(call, g, task);
		return;
	}
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
	.pack_task = pack_task,
	.run = run,
	.save = save,
	.needs = needs,
	.restore = restore,
	.inputs = 3,
	.state_size = sizeof(struct fully),
};
