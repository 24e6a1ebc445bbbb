/* SPDX-License-Identifier: MIT */
/*
 * A matrix product a * b with packed weights b, for all types of numbers: packs the weights, and
 * computes blocks of rows and columns.
 */
#ifndef NN_PLAN_KERNELS_GEMM_H
#define NN_PLAN_KERNELS_GEMM_H

#include <math.h>

#include "plan/kernels/fields.h"
#include "plan/kernels/kernel.h"
#include "plan/kernels/quant8.h"

/* Returns whether the weights and the bias are constants. */
static inline bool nn_has_constants(const struct nn_run *r)
{
	return r->inputs[1].data && r->inputs[2].data;
}

/*
 * The first row of a task is a multiple of NN_TILE_ROWS, except in tasks that quantise rows. The
 * number of rows of most tiles divides NN_TILE_ROWS.
 */
#define NN_TILE_ROWS 14

struct nn_gemm {
	enum nn_number number;
	bool sums;			/* results are int32 sums; see nn_gemm_run_sums() */
	bool few;			/* few_f32() of nn_isa computes the product from parts */
	bool is_narrow;			/* nn_isa.narrow multiplies the floats */
	size_t rows;
	size_t columns;
	size_t depth;
	size_t element;			/* bytes */
	size_t a_stride;		/* distance in elements between rows of a */
	size_t c_stride;	/* elements between rows of the result; initially `columns` */
	float low;
	float high;
	uint8_t a_flip;			/* of bytes */
	int32_t a_zero;
	int32_t b_zero;
	struct nn_q8_output out;
	/* Size of a block: the rows and columns of the result that one task computes. */
	size_t block_rows;
	size_t block_columns;
	uint32_t row_blocks;
	uint32_t column_blocks;
};

/*
 * Prepares the product of the rows of input 0 with the rows of input 1, plus the bias in input 2.
 * Returns false if no kernel for this CPU supports the types or the weights. The caller must have
 * set the fields `rows`, `columns` and `depth`.
 */
bool nn_gemm_prepare(struct nn_run *r, uint32_t activation, struct nn_ready *ready,
		     struct nn_gemm *g);

/*
 * Sets the fields of `g` that depend on the type of numbers. The fields `rows`, `columns` and
 * `depth` must be set.
 */
void nn_gemm_set_number(struct nn_gemm *g, const struct nn_isa *isa, enum nn_number number);

/*
 * The saved fields that depend on the type of numbers: a range of floats, or zero points and bounds
 * of bytes.
 */
#define GEMM_NUMBERS(gemm) WORD(gemm.number, 0, NN_IN_FP16),				\
	WHEN(gemm.number, SET, FLOAT(gemm.low), FLOAT(gemm.high)),			\
	WHEN(gemm.number, IS(NN_IN_INT8),						\
	     FLIP(gemm.a_flip), BYTE(gemm.a_zero), BYTE_DIFFERENCE(gemm.b_zero),	\
	     OUTPUT_DIFFERENCES(gemm.out))

/*
 * Sets the fields of `g` that depend on the type in g->number. Returns false if the product is too
 * large, or if the CPU does not compute in the type g->number.
 */
bool nn_gemm_complete(struct nn_gemm *g, const struct nn_isa *isa);

/* Returns whether contiguous rows of `a` can be read in place. */
static inline bool nn_gemm_takes_rows(const struct nn_gemm *g)
{
	return g->a_stride == g->depth;
}

/* Divides the product into blocks of at most max_rows rows, for `threads` threads. */
void nn_gemm_divide(struct nn_gemm *g, const struct nn_isa *isa, uint32_t threads,
		    size_t max_rows);

size_t nn_gemm_packed_size(const struct nn_gemm *g, const struct nn_isa *isa);

/*
 * Packs the columns [first, first + count) of the weights. `first` must be a multiple of the number
 * of columns of the widest panel. `count` must be a multiple of the same number, unless the last
 * column of the weights is packed. Returns false if the product does not accept the bias.
 */
bool nn_gemm_pack(const struct nn_run *r, const struct nn_gemm *g, const struct nn_isa *isa,
		  size_t first, size_t count, void *packed);

/*
 * Returns the number of tasks for packing weights that are not constants; nn_gemm_pack_task() runs
 * one of these tasks.
 */
uint32_t nn_gemm_pack_tasks(const struct nn_gemm *g);
bool nn_gemm_pack_task(const struct nn_run *r, const struct nn_gemm *g, const struct nn_ready *ready,
		       uint32_t task, void *packed);

/* Returns the bytes of scratch memory that one block needs. */
size_t nn_gemm_scratch(const struct nn_gemm *g, const struct nn_isa *isa);

/*
 * Multiplies a block of rows, which begin at `a`, by a block of columns. `c` is the address of row
 * 0 and column 0 of the result.
 */
void nn_gemm_run(const struct nn_ready *ready, const struct nn_gemm *g, uint32_t row_block,
		 uint32_t column_block, const void *a, void *c, void *scratch);

/*
 * Packs weights for nn_gemm_run_sums(), whose product has no bias and unsigned bytes of `a` with
 * zero point 0. Each column of the weights is `depth` contiguous bytes.
 */
void nn_gemm_pack_sums(const struct nn_tensor *weights, const struct nn_gemm *g,
		       const struct nn_isa *isa, void *packed);

/*
 * Multiplies `rows` rows of uint8 by the columns [first, first + columns), and stores the sums.
 * `first` must be a multiple of the columns of the widest panel. struct nn_gemm_q8 describes `sums`
 * and `stride`.
 */
void nn_gemm_run_sums(const struct nn_ready *ready, const struct nn_gemm *g, size_t rows,
		      size_t first, size_t columns, const void *a, int32_t *sums, size_t stride,
		      void *scratch);

/* Returns the instruction set that multiplies floats. */
static inline const struct nn_isa *nn_gemm_isa(const struct nn_gemm *g, const struct nn_isa *isa)
{
	return g->is_narrow ? isa->narrow : isa;
}

/* Returns the number of columns of a block, and sets *first to the block's first column. */
size_t nn_gemm_columns(const struct nn_gemm *g, uint32_t column_block, size_t *first);

/*
 * Multiplies `rows` rows of floats or fp16, from row `row` on, by a block of columns; the rows are
 * not contiguous but consist of parts.
 */
void nn_gemm_run_parts(const struct nn_ready *ready, const struct nn_gemm *g, size_t row,
		       size_t rows, uint32_t column_block, const struct nn_gemm_part *parts,
		       size_t num_parts, void *c);

/*
 * Returns the description of a product whose rows are contiguous. The rows of the result are
 * contiguous, and the result is not clamped.
 */
static inline struct nn_gemm_f32 nn_gemm_dense_f32(size_t rows, size_t columns, size_t depth,
						   const float *a, const void *panels, float *c)
{
	return (struct nn_gemm_f32){
		.rows = rows, .one_row = rows == 1, .columns = columns, .depth = depth, .a = a,
		.a_stride = depth, .panels = panels, .c = c, .c_stride = columns,
		.low = -INFINITY, .high = INFINITY,
	};
}

/* Returns the number of floats in packed panels; struct nn_gemm_f32 describes their layout. */
size_t nn_gemm_panels_f32(const struct nn_isa *isa, size_t columns, size_t depth);

/*
 * Packs columns of weights; each column is `depth` contiguous elements. If `bias` is NULL, each
 * bias is 0.
 */
void nn_gemm_pack_rows_f32(const struct nn_isa *isa, const float *rows, const float *bias,
			   size_t columns, size_t depth, float *to);

/* Packs columns of a matrix whose rows begin `stride` elements apart, without a bias. */
void nn_gemm_pack_columns_f32(const struct nn_isa *isa, const float *b, size_t columns,
			      size_t depth, size_t stride, float *to);

#endif /* NN_PLAN_KERNELS_GEMM_H */
