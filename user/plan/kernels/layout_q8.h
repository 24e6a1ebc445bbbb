/* SPDX-License-Identifier: MIT */
/*
 * Layouts of packed weights for products of int8 and uint8, as the inner loops read them.
 */
#ifndef NN_PLAN_KERNELS_LAYOUT_Q8_H
#define NN_PLAN_KERNELS_LAYOUT_Q8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/kernels/caches.h"

/* Maximum number of 32-bit lanes in a vector of any instruction set. */
#define NN_MAX_LANES 16

/* Number of vectors of columns in a panel of packed weights. */
#define NN_PANEL_VECTORS 2

/*
 * Parameters of `lanes` output channels of a quantised operation, as vectors. An output is the
 * accumulator (bias included) times multiplier / 2^31 / 2^shift, rounded as NNAPI does.
 */
struct nn_q8_scale {
	int32_t bias[NN_MAX_LANES];
	int32_t multiplier[NN_MAX_LANES];
	int32_t shift[NN_MAX_LANES];
	int64_t round_even[NN_MAX_LANES / 2];	/* rounding terms of channels 0, 2, ... */
	int64_t round_odd[NN_MAX_LANES / 2];
};

/*
 * Returns the size in bytes of the scales of a panel. If vectors have fewer than NN_MAX_LANES
 * lanes, several vectors share one struct nn_q8_scale.
 */
static inline size_t nn_q8_scales_size(size_t lanes, size_t vectors)
{
	return (vectors * lanes + NN_MAX_LANES - 1) / NN_MAX_LANES * sizeof(struct nn_q8_scale);
}

/*
 * Returns the scales of one vector of a panel. If several vectors share one struct nn_q8_scale, the
 * returned pointer points into the structure, so that index 0 is the vector's first lane.
 */
static inline const struct nn_q8_scale *nn_q8_scale_of(const void *panel, size_t lanes,
						       size_t vector)
{
	const size_t lane = vector * lanes;

	return (const void *)((const char *)panel +
			      lane / NN_MAX_LANES * sizeof(struct nn_q8_scale) +
			      lane % NN_MAX_LANES * sizeof(int32_t));
}

/* Zero point and bounds of a quantised output, the same for all channels. */
struct nn_q8_output {
	int32_t zero;
	int32_t low;
	int32_t high;
};

/* Returns whether all negative accumulators become the output `low`. */
static inline bool nn_q8_is_positive(const struct nn_q8_output *o)
{
	return o->low >= o->zero;
}

/*
 * A product like nn_gemm_f32, but of bytes: a is unsigned, or signed if a_flip is 0x80; b is
 * signed. Rows of a are readable up to a multiple of NN_Q8_GROUP; bytes beyond the depth are
 * multiplied by weights of 0. A panel begins with the scales of its one or two vectors. Then follow
 * the weights: for each group of four elements of depth, four bytes of each column. In panels of
 * two vectors, nn_q8_column() defines the order of columns.
 */
struct nn_gemm_q8 {
	size_t rows;
	size_t columns;
	size_t depth;
	const uint8_t *a;
	size_t a_stride;
	uint8_t a_flip;
	int32_t b_zero;			/* zero point of the packed bytes of b */
	int32_t a_zero;	/* layout in pairs: zero point of a after the XOR with a_flip */
	int16_t *wide;	/* layout in pairs: scratch memory for NN_Q8_WIDE_ROWS rows */
	const void *panels;
	uint8_t *c;
	size_t c_stride;
	struct nn_q8_output out;
	/*
	 * If `sums` is not NULL, the accumulators are stored in `sums` as int32, and nothing is
	 * stored in `c`. `sums` has as many rows as `c`, `sums_stride` elements apart. Each row of
	 * `sums` has memory for whole panels.
	 */
	int32_t *sums;
	size_t sums_stride;
};

/* Number of elements of depth that are multiplied at a time. */
#define NN_Q8_GROUP 4

/* Returns the column that is in lane `lane` of vector `vector`, in a panel of two vectors. */
static inline size_t nn_q8_column(size_t vector, size_t lane)
{
	return lane / 4 * 8 + vector * 4 + lane % 4;
}

/*
 * Stores the sums of one vector of columns. `vector` is the index of this vector in a panel of
 * `vectors` vectors. `to` is the address of the result for the panel's first column.
 */
static inline __attribute__((always_inline)) void nn_q8_store_sums(int32_t *to, const void *sums,
								   size_t lanes, size_t vector,
								   size_t vectors)
{
	for (size_t lane = 0; lane < lanes; lane += 4)
		memcpy(to + (vectors > 1 ? nn_q8_column(vector, lane) : lane),
		       (const int32_t *)sums + lane, 4 * sizeof(*to));
}

static inline size_t nn_q8_panel_size(size_t lanes, size_t vectors, size_t depth)
{
	return nn_q8_scales_size(lanes, vectors) +
	       (depth + NN_Q8_GROUP - 1) / NN_Q8_GROUP * vectors * lanes * NN_Q8_GROUP;
}

/*
 * Some instruction sets sum two products in 16 bits, and the sum may saturate. For such an
 * instruction set, a struct nn_q8_spares follows each panel. At the positions `places` in the
 * depth, the panel has only one half of each weight; the other halves, the spare bytes, follow the
 * list.
 */
struct nn_q8_spares {
	uint32_t count;
	/* true: more sums may saturate than `places` can list, so all weights must be halved */
	uint32_t too_many;
	uint32_t places[];		/* positions in the depth, multiples of NN_Q8_GROUP */
};

static inline size_t nn_q8_most_spares(size_t depth)
{
	return (depth / NN_Q8_GROUP + 15) / 8;
}

/* Returns the size of a struct nn_q8_spares with its `places`, but without the spare bytes. */
static inline size_t nn_q8_places_size(size_t depth)
{
	return (nn_q8_most_spares(depth) * sizeof(int32_t) + sizeof(struct nn_q8_spares) + 63) / 64 * 64;
}

static inline size_t nn_q8_spares_size(size_t vectors, size_t lanes, size_t depth)
{
	return nn_q8_places_size(depth) + nn_q8_most_spares(depth) * vectors * lanes * NN_Q8_GROUP;
}

/* Returns the address of the spare bytes. */
static inline int8_t *nn_q8_spare_bytes(const struct nn_q8_spares *s, size_t depth)
{
	return (int8_t *)s + nn_q8_places_size(depth);
}

/*
 * The layout "in pairs" is for instruction sets that multiply 16-bit numbers. A panel of pairs
 * begins with the scales of two vectors of `lanes` columns. Then follow the weights: for each pair
 * of elements of depth, two signed weights of each column, of `weight` bytes each. nn_q8_column()
 * defines the order of columns. If the depth is odd, the last pair has an additional element, which
 * is multiplied by 0.
 */
#define NN_Q8_PAIR 2

/* Number of rows of a that are widened to 16 bits at a time. */
#define NN_Q8_WIDE_ROWS 24

/*
 * Returns a distance between widened rows that makes the rows use several sets of the first-level
 * cache.
 */
static inline size_t nn_q8_wide_stride(size_t depth)
{
	const size_t stride = (depth + 1) / NN_Q8_PAIR * NN_Q8_PAIR;

	return nn_near_rows(stride * sizeof(int16_t)) < NN_Q8_WIDE_ROWS ? stride + 32 : stride;
}

static inline size_t nn_q8_pairs_panel_size(size_t lanes, size_t depth, size_t weight)
{
	return nn_q8_scales_size(lanes, NN_PANEL_VECTORS) +
	       (depth + 1) / NN_Q8_PAIR * NN_PANEL_VECTORS * lanes * NN_Q8_PAIR * weight;
}

/*
 * The layout "in eights" is for arm64: a panel begins with the parameters of eight columns. Then
 * follow the weights: for each group of `group` elements of depth, `group` weights of each column.
 * Weights are signed if a is signed. If `group` is NN_Q8_SIGNED_GROUP, weights are always signed,
 * and unsigned bytes of a are made signed. Padding is 0.
 */
#define NN_Q8_SIGNED_GROUP 16

struct nn_q8_eight {
	int32_t bias[8];
	int32_t multiplier[8];
	int32_t shift[8];		/* shift to the left: 0 or negative */
	/* not 0 if any two weights with a distance of half a group are both -128 */
	int32_t has_least;
	int32_t padding[3];
};

static inline size_t nn_q8_eight_size(size_t group, size_t depth)
{
	return sizeof(struct nn_q8_eight) + (depth + group - 1) / group * group * 8;
}

/*
 * Returns the bytes of packed weights of eight channels of a depthwise convolution: eight int16
 * weights for each tap, with the zero point subtracted.
 */
static inline size_t nn_q8_taps_size(size_t taps)
{
	return sizeof(struct nn_q8_eight) + taps * 8 * sizeof(int16_t);
}

/*
 * A tap in the scratch memory: its input, and the offset of its weights from the weights of the
 * first tap.
 */
struct nn_q8_tap {
	const uint8_t *in;
	size_t weights;
};

#endif /* NN_PLAN_KERNELS_LAYOUT_Q8_H */
