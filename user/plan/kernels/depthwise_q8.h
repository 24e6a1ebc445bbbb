/* SPDX-License-Identifier: MIT */
/*
 * Layouts that an int8 depthwise convolution reads: packed parameters, and the scratch memory that
 * its input rows are interleaved into.
 *
 * A plane p of the scratch memory holds 16 bytes for each 16 channels c. They are the four bytes of
 * a group of rows of each of channels c + 4p to c + 4p + 3. So if c is a multiple of 16,
 * the element of channel c is at byte c of a plane.
 *
 * Parameters are packed as blocks of 64 channels. A block is vectors of four bytes a channel in the
 * order of the planes: the scales, then the taps by column and group. If rows have no gaps, an
 * output row is a run of blocks that begin anywhere among the channels: there are as many blocks as
 * it takes until they repeat.
 */
#ifndef NN_PLAN_KERNELS_DEPTHWISE_Q8_H
#define NN_PLAN_KERNELS_DEPTHWISE_Q8_H

#include "plan/kernels/isa.h"

/* The values that are packed before the taps, each in four planes. */
enum depthwise_q8_scale {
	BIAS_TERM, MULTIPLIER, SHIFT, ROUND_EVEN, ROUND_ODD, DEPTHWISE_Q8_SCALES
};

#define DEPTHWISE_Q8_BLOCK 64
#define DEPTHWISE_Q8_VECTORS (DEPTHWISE_Q8_BLOCK * 4)	/* bytes of one parameter of a block */

struct depthwise_q8_layout {
	size_t groups;		/* groups of four rows of the filter */
	size_t blocks;
	size_t block_size;	/* bytes */
	size_t packed;		/* size of all packed parameters */
	size_t columns;		/* columns of input that an output row reads, with padding */
	size_t phase;		/* distance of the phases of the stride in bytes */
	size_t plane;		/* distance of planes in the scratch memory in bytes */
	size_t group_size;
	size_t scratch;		/* all of it */
};

/* Blocks until they begin at channel 0 again, or that a pixel takes. */
static inline size_t depthwise_q8_blocks(const struct nn_depthwise_q8 *d)
{
	size_t factor = d->channels & -d->channels;	/* greatest power of two that divides it */

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

/* Returns the place of input column `at` in a plane. */
static inline size_t depthwise_q8_place(const struct nn_depthwise_q8 *d,
					const struct depthwise_q8_layout *l, size_t at)
{
	return at % d->stride * l->phase + at / d->stride * d->padded;
}

#endif /* NN_PLAN_KERNELS_DEPTHWISE_Q8_H */
