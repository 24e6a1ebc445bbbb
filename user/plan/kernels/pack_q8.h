/* SPDX-License-Identifier: MIT */
/*
 * Layouts of packed int8 weights, for matrix products and for depthwise convolutions.
 */
#ifndef NN_PLAN_KERNELS_PACK_Q8_H
#define NN_PLAN_KERNELS_PACK_Q8_H

#include "plan/kernels/quant8.h"

/*
 * Weights to pack. Row i of `weights` is column i of the product; element i of `q` has the
 * parameters of this column.
 */
struct nn_pack_q8 {
	const struct nn_tensor *x;
	const struct nn_tensor *weights;
	const struct nn_q8_channels *q;
	size_t columns;
	size_t depth;
};

size_t nn_fours_size(const struct nn_gemm_config *c, size_t columns, size_t depth);
size_t nn_pairs_size(const struct nn_gemm_config *c, size_t columns, size_t depth);
size_t nn_eights_size(const struct nn_gemm_config *c, size_t columns, size_t depth);
void nn_pack_fours(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to);
void nn_pack_pairs(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to);
void nn_pack_eights(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to);

/*
 * The layouts that layout_q8.h describes: groups of four bytes, pairs for 16-bit multiplication,
 * and panels of eight columns.
 */
#define NN_GEMM_FOURS(width) .lanes = width, .group = NN_Q8_GROUP, .pads_rows = true,	\
			     .size = nn_fours_size, .pack = nn_pack_fours
#define NN_GEMM_SPLIT_FOURS(width) NN_GEMM_FOURS(width), .splits = true
#define NN_GEMM_PAIRS(width) .lanes = width, .group = NN_Q8_PAIR, .widens = true,	\
			     .size = nn_pairs_size, .pack = nn_pack_pairs
#define NN_GEMM_EIGHTS(depth) .lanes = 8, .group = depth, .size = nn_eights_size, .pack = nn_pack_eights

/*
 * Packs the parameters of channel `index` at position `place` of a panel. `bias` is added to the
 * channel's bias.
 */
void nn_pack_scale(const struct nn_q8_channels *q, size_t index, int32_t bias, void *panel, size_t place);

/* Packs the parameters of channel `index` in lane `lane` of a panel of eight columns. */
void nn_pack_eight(const struct nn_q8_channels *q, size_t index, int32_t bias,
		   struct nn_q8_eight *eight, size_t lane);

typedef void nn_depthwise_sizes(const struct nn_depthwise_config *c, const struct nn_depthwise_q8 *d,
				size_t *packed, size_t *scratch);
typedef bool nn_depthwise_pack(const struct nn_depthwise_config *c, const struct nn_run *r,
			       const struct nn_depthwise_q8 *d, void *packed);
nn_depthwise_sizes nn_depthwise_sizes_planes, nn_depthwise_sizes_pairs, nn_depthwise_sizes_eights;
nn_depthwise_pack nn_depthwise_pack_planes, nn_depthwise_pack_pairs, nn_depthwise_pack_eights;

/* The layouts of depthwise convolutions; depthwise_q8.h describes the layout in planes. */
#define NN_DEPTHWISE_IN_PLANES \
	.sizes = nn_depthwise_sizes_planes, .pack = nn_depthwise_pack_planes
#define NN_DEPTHWISE_PAIRS(width) \
	.lanes = width, .sizes = nn_depthwise_sizes_pairs, .pack = nn_depthwise_pack_pairs
#define NN_DEPTHWISE_EIGHTS \
	.lanes = 8, .sizes = nn_depthwise_sizes_eights, .pack = nn_depthwise_pack_eights

#endif /* NN_PLAN_KERNELS_PACK_Q8_H */
