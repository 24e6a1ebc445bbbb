/* SPDX-License-Identifier: MIT */
/*
 * Layouts of int8 depthwise convolutions with AVX-512: packed parameters, and scratch memory with
 * interleaved input rows.
 *
 * The scratch memory has four planes. If c is a multiple of 16, bytes [c, c + 16) of plane p belong
 * to the four channels [c + 4p, c + 4p + 4). Each channel has four bytes, one from each row of a
 * group of four input rows.
 *
 * Parameters are packed as blocks of 64 channels. Each parameter of a block is four vectors, one
 * for each plane, with four bytes for each channel. The scales are followed by the taps, column by
 * column; each column has a tap for each group of four rows. If there are no gaps between pixels in
 * memory, a block may begin in one pixel and end in the next pixel, so a block may begin at any
 * channel. Without gaps between pixels, parameters are packed for all blocks up to the next block
 * that begins at channel 0.
 */
#ifndef NN_PLAN_KERNELS_DEPTHWISE_Q8_H
#define NN_PLAN_KERNELS_DEPTHWISE_Q8_H

#include "plan/kernels/isa.h"

/* The parameters that are packed before the taps; each parameter has four planes. */
enum depthwise_q8_scale {
	BIAS_TERM, MULTIPLIER, SHIFT, ROUND_EVEN, ROUND_ODD, DEPTHWISE_Q8_SCALES
};

#define DEPTHWISE_Q8_BLOCK 64
#define DEPTHWISE_Q8_VECTORS (DEPTHWISE_Q8_BLOCK * 4)	/* bytes of one parameter in a block */

struct depthwise_q8_layout {
	size_t groups;		/* number of groups of four filter rows */
	size_t blocks;
	size_t block_size;	/* bytes */
	size_t packed;		/* size of all packed parameters */
	size_t columns;		/* input columns that an output row reads, with padding */
	/* size in bytes of those columns of a plane whose indices are equal modulo the stride */
	size_t phase;
	size_t plane;		/* distance in bytes between two planes */
	size_t group_size;
	size_t scratch;		/* size of the scratch memory */
};

/*
 * Returns the number of blocks whose parameters are packed. If there are gaps between pixels, only
 * the blocks of one pixel are packed. Without gaps, the blocks from a block that begins at channel
 * 0 up to the next block that begins at channel 0 are packed.
 */
static inline size_t depthwise_q8_blocks(const struct nn_depthwise_q8 *d)
{
	/* largest power of 2 that divides `channels` */
	size_t factor = d->channels & -d->channels;

	if (d->channels != d->padded)
		return (d->padded + DEPTHWISE_Q8_BLOCK - 1) / DEPTHWISE_Q8_BLOCK;
	return d->channels / (factor < DEPTHWISE_Q8_BLOCK ? factor : DEPTHWISE_Q8_BLOCK);
}

static inline struct depthwise_q8_layout depthwise_q8_layout(const struct nn_depthwise_q8 *d)
{
	struct depthwise_q8_layout l = { .groups = (d->height + 3) / 4 };

	l.blocks = depthwise_q8_blocks(d);
	l.block_size = (DEPTHWISE_Q8_SCALES + d->width * l.groups) * DEPTHWISE_Q8_VECTORS;
	l.packed = l.blocks * l.block_size;
	l.columns = (d->out_width - 1) * d->stride + (d->width - 1) * d->dilation + 1;
	l.phase = (l.columns + d->stride - 1) / d->stride * d->padded + DEPTHWISE_Q8_BLOCK;
	l.plane = d->stride * l.phase;
	l.group_size = NN_DEPTHWISE_PLANES * l.plane;
	l.scratch = l.groups * l.group_size;
	return l;
}

/* Returns the offset of input column `at` in a plane of the scratch memory. */
static inline size_t depthwise_q8_place(const struct nn_depthwise_q8 *d,
					const struct depthwise_q8_layout *l, size_t at)
{
	return at % d->stride * l->phase + at / d->stride * d->padded;
}

#endif /* NN_PLAN_KERNELS_DEPTHWISE_Q8_H */
