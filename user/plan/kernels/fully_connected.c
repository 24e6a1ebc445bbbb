/* SPDX-License-Identifier: MIT */
/*
 * FULLY_CONNECTED as a matrix product with packed weights. Large constant float weights are not
 * packed if the input has one row. Float weights that are not constants are not packed if the input
 * has at most MAX_PLAIN_ROWS rows.
 */
#include <string.h>

#include "plan/kernels/fields_row.h"
#include "plan/kernels/gemm.h"

enum { X, WEIGHTS, BIAS, ACTIVATION };

/* Weights are packed once, packed in each execution, or not packed. */
enum weights { PACKED, PACKED_EACH_RUN, PLAIN };

#define MAX_ROWS 56	/* rows of a block, which stay in the cache while weights are read */
/* maximum number of rows for which packing weights takes more time than it saves */
#define MAX_PLAIN_ROWS 4
/*
 * Constant weights of at least MIN_PLAIN_SIZE bytes are not packed for an input of one row. Large
 * weights are read from memory, which takes the same time with and without packing, so packing
 * would only delay the first result.
 */
#define MIN_PLAIN_SIZE ((size_t)64 << 20)

struct fully {
	struct nn_gemm gemm;
	enum weights weights;
};

#define NN_STATE struct fully
static const struct nn_field fields[] = {
	DIMENSION(gemm.rows), DIMENSION(gemm.columns), DIMENSION(gemm.depth), GEMM_NUMBERS(gemm),
	WORD(weights, 0, PLAIN),
	SPAN(INPUT(X), NUMBERS(gemm.number), gemm.rows, gemm.depth),
	SPAN(OUTPUT(0), NUMBERS(gemm.number), gemm.rows, gemm.columns),
	WHEN(weights, SET,
	     ONLY(gemm.number, SET),
	     SPAN(INPUT(WEIGHTS), NUMBERS(gemm.number), gemm.columns, gemm.depth),
	     SPAN(INPUT(BIAS), NUMBERS(gemm.number), gemm.columns)),
	WHEN(weights, IS(PLAIN), LIMIT(MAX_PLAIN_ROWS, gemm.rows), ONLY(gemm.number, IS(NN_IN_FLOATS))),
	END
};
NN_RESTORE(fields)

static enum weights choose_weights(const struct nn_gemm *g, bool are_constant)
{
	const size_t rows = !are_constant ? MAX_PLAIN_ROWS :
			    g->columns * g->depth * g->element >= MIN_PLAIN_SIZE ? 1 : 0;

	if (g->number == NN_IN_FLOATS && g->rows <= rows)
		return PLAIN;
	return are_constant ? PACKED : PACKED_EACH_RUN;
}

static bool complete(void *state, struct nn_ready *ready)
{
	struct fully *f = state;
	struct nn_gemm *g = &f->gemm;

	if (!nn_gemm_complete(g, ready->isa))
		return false;
	nn_gemm_divide(g, ready->isa, ready->threads, MAX_ROWS);
	if (f->weights != PLAIN)
		ready->packed_size = nn_gemm_packed_size(g, ready->isa);
	if (f->weights == PACKED_EACH_RUN)
		ready->pack_tasks = nn_gemm_pack_tasks(g);
	if (!nn_gemm_takes_rows(g))
		ready->scratch_size = g->block_rows * g->a_stride * g->element;
	else
		ready->scratch_size = nn_gemm_scratch(g, ready->isa);
	ready->tasks = g->row_blocks * g->column_blocks;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const uint32_t *weights = r->inputs[WEIGHTS].dims;
	struct fully *f = ready->state;
	struct nn_gemm *g = &f->gemm;

	g->rows = r->outputs[0].dims[0];
	g->columns = weights[0];
	g->depth = weights[1];
	if (!nn_gemm_prepare(r, ACTIVATION, ready, g))
		return false;
	f->weights = choose_weights(g, nn_has_constants(r));
	return complete(f, ready);
}

static bool pack_task(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
		      void *scratch, void *packed)
{
	const struct fully *f = ready->state;

	(void)scratch;
	return f->weights == PLAIN || nn_gemm_pack_task(r, &f->gemm, ready, task, packed);
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

	if (f->weights == PLAIN) {
		run_plain(call, g, task);
		return;
	}
	if (!nn_gemm_takes_rows(g))
		a = copy_rows(g, a, left < g->block_rows ? left : g->block_rows, scratch);
	/*
	 * Kernels that widen rows need no copied rows, so widened rows and copied rows can use the
	 * same scratch memory.
	 */
	nn_gemm_run(call->ready, g, row_block, task % g->column_blocks, a, call->outputs[0],
		    scratch);
}

NN_KERNEL(fully_connected, "fully connected", sizeof(struct fully), NN_TAKES(NN_OP_FULLY_CONNECTED),
	  .pack_task = pack_task, .restore = restore, .inputs = 3);
