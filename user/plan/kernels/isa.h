/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of the fast kernels, once for each instruction set, and the layouts of packed
 * weights that they read.
 */
#ifndef NN_PLAN_KERNELS_ISA_H
#define NN_PLAN_KERNELS_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ops/image.h"
#include "ops/quantized_lstm.h"
#include "plan/kernels/caches.h"

/* Maximum number of 32-bit lanes in a vector of any instruction set. */
#define NN_MAX_LANES 16

/* Vectors side by side in a panel of packed weights. */
#define NN_PANEL_VECTORS 2

/*
 * Elements [first, first + count) of the depth, where the rows of a do not lie in one piece. Depth
 * of no part is 0 in all rows, and is not multiplied.
 */
struct nn_gemm_part {
	const void *a;			/* row 0 */
	size_t stride;			/* elements from row to row */
	size_t first;
	size_t count;
};

/*
 * c = clamp(a * b + bias), b and bias packed. Panels have 2 * lanes columns; the last one has
 * `lanes` if no more are left. A float panel is the bias of its columns, then a row of columns for
 * each element of depth. All numbers are fp32. For gemm_f16 they are fp16, and a vector has twice
 * as many.
 */
struct nn_gemm_f32 {
	size_t rows;
	/* The product has one row in total: sums are cut the same way however rows are divided. */
	bool one_row;
	size_t columns;
	size_t depth;
	const void *a;
	size_t a_stride;		/* elements from row to row */
	const struct nn_gemm_part *parts;	/* in place of `a`, or NULL; not with one_row */
	size_t num_parts;
	const void *panels;
	void *c;
	size_t c_stride;
	float low;
	float high;
};

/*
 * Parameters of `lanes` output channels of a quantised operation, as vectors:
 * an accumulator (bias included) times multiplier / 2^31 / 2^shift, in NNAPI's
 * rounding.
 */
struct nn_q8_scale {
	int32_t bias[NN_MAX_LANES];
	int32_t multiplier[NN_MAX_LANES];
	int32_t shift[NN_MAX_LANES];
	int64_t round_even[NN_MAX_LANES / 2];	/* rounding terms of channels 0, 2, ... */
	int64_t round_odd[NN_MAX_LANES / 2];
};

/* Vectors of a panel that have fewer lanes than NN_MAX_LANES share one. */
static inline size_t nn_q8_scales_size(size_t lanes, size_t vectors)
{
	return (vectors * lanes + NN_MAX_LANES - 1) / NN_MAX_LANES * sizeof(struct nn_q8_scale);
}

/*
 * Returns the scales of one vector of the panel. Vectors with fewer than NN_MAX_LANES lanes share a
 * structure; the pointer is offset so that index 0 is the first lane.
 */
static inline const struct nn_q8_scale *nn_q8_scale_of(const void *panel, size_t lanes,
						       size_t vector)
{
	const size_t lane = vector * lanes;

	return (const void *)((const char *)panel +
			      lane / NN_MAX_LANES * sizeof(struct nn_q8_scale) +
			      lane % NN_MAX_LANES * sizeof(int32_t));
}

/* Facts that hold for all channels of a quantised output. */
struct nn_q8_output {
	int32_t zero;
	int32_t low;
	int32_t high;
};

/* Whether all that is negative before the zero point is added becomes `low`. */
static inline bool nn_q8_is_positive(const struct nn_q8_output *o)
{
	return o->low >= o->zero;
}

/*
 * Like nn_gemm_f32, for bytes: a is unsigned, or signed if a_flip is 0x80; b is signed. Rows of a
 * can be read up to a multiple of NN_Q8_GROUP; bytes beyond the depth meet weights of 0. A panel is
 * the scales of its vectors (2 or 1), then for each four elements of depth four bytes a column. In
 * panels of two vectors nn_q8_column() gives the order of columns.
 */
struct nn_gemm_q8 {
	size_t rows;
	size_t columns;
	size_t depth;
	const uint8_t *a;
	size_t a_stride;
	uint8_t a_flip;
	int32_t b_zero;			/* zero point of the packed bytes */
	int32_t a_zero;			/* in pairs: zero point of the bytes after the flip */
	int16_t *wide;			/* in pairs: scratch memory for NN_Q8_WIDE_ROWS rows */
	const void *panels;
	uint8_t *c;
	size_t c_stride;
	struct nn_q8_output out;
	/*
	 * If not NULL, sums are written here, without being scaled or becoming bytes. There are as
	 * many rows of them as of c, `sums_stride` apart. Each row has room for whole panels.
	 */
	int32_t *sums;
	size_t sums_stride;
};

/* Elements of depth that are multiplied at a time. */
#define NN_Q8_GROUP 4

/* The column that lane `lane` of vector `vector` of a panel of two vectors holds. */
static inline size_t nn_q8_column(size_t vector, size_t lane)
{
	return lane / 4 * 8 + vector * 4 + lane % 4;
}

/* Stores the sums of one of `vectors` vectors of a panel whose columns begin at `to`. */
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
 * Follows a panel, for instruction sets that add two products in 16 bits, which may saturate. The panel
 * has one half of some fours of depth, and this has the other; its bytes lie behind all places.
 */
struct nn_q8_spares {
	uint32_t count;
	uint32_t too_many;	/* others may saturate too, so each is added in two halves */
	uint32_t places[];		/* places in the depth, multiples of NN_Q8_GROUP */
};

static inline size_t nn_q8_most_spares(size_t depth)
{
	return (depth / NN_Q8_GROUP + 15) / 8;
}

/* The size of the counts and the places, after which the bytes begin. */
static inline size_t nn_q8_places_size(size_t depth)
{
	return (nn_q8_most_spares(depth) * sizeof(int32_t) + sizeof(struct nn_q8_spares) + 63) / 64 * 64;
}

static inline size_t nn_q8_spares_size(size_t vectors, size_t lanes, size_t depth)
{
	return nn_q8_places_size(depth) + nn_q8_most_spares(depth) * vectors * lanes * NN_Q8_GROUP;
}

/* The bytes of spares. */
static inline int8_t *nn_q8_spare_bytes(const struct nn_q8_spares *s, size_t depth)
{
	return (int8_t *)s + nn_q8_places_size(depth);
}

/*
 * Instruction sets that multiply 16 bits take pairs. A panel of pairs begins with the scales of two
 * vectors of `lanes` columns. Then come, for each two elements of depth, two weights a column, of
 * `weight` bytes with a sign. The order of columns is that of the panels above. Padding meets
 * values of 0.
 */
#define NN_Q8_PAIR 2

/* Rows of a that are made 16 bits wide at a time, */
#define NN_Q8_WIDE_ROWS 24

/*
 * Returns the distance between wide rows. It is chosen so that lines of all rows do not share a set
 * of the first-level cache.
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
 * The layout "in eights", for arm64: a panel has the parameters of eight columns, then for each
 * group of `group` bytes of depth those of each column. Weights are unsigned if a is, and signed if
 * a is. In groups of NN_Q8_SIGNED_GROUP they are always signed, and an unsigned a is made signed.
 * Padding is 0.
 */
#define NN_Q8_SIGNED_GROUP 16

struct nn_q8_eight {
	int32_t bias[8];
	int32_t multiplier[8];
	int32_t shift[8];		/* shift to the left: 0 or negative */
	int32_t has_least;		/* not 0 if two weights, half a group apart, are -128 */
	int32_t padding[3];
};

static inline size_t nn_q8_eight_size(size_t group, size_t depth)
{
	return sizeof(struct nn_q8_eight) + (depth + group - 1) / group * group * 8;
}

/*
 * Returns the bytes of packed weights of a depthwise convolution: eight int16 a tap, less their
 * zero point.
 */
static inline size_t nn_q8_taps_size(size_t taps)
{
	return sizeof(struct nn_q8_eight) + taps * 8 * sizeof(int16_t);
}

/* A tap in the scratch memory: its place, and its weights from the first tap's on. */
struct nn_q8_tap {
	const uint8_t *in;
	size_t weights;
};

/*
 * One output row of a depthwise convolution with multiplier 1: the first `count` channels. rows[i]
 * is the input row of tap i of the height, or NULL if it is padding. Numbers are fp32 or fp16.
 */
struct nn_depthwise_f32 {
	size_t channels;		/* distance between pixels, in channels */
	size_t count;
	size_t height;			/* of the filter */
	size_t width;
	size_t in_width;
	size_t out_width;
	size_t stride;
	size_t dilation;
	ptrdiff_t head;			/* padding before the row */
	const void *const *rows;
	const void *filter;		/* weights of the shape [height, width, channels] */
	const void *bias;
	void *out;
	float low;
	float high;
};

/*
 * Number of planes. A vector of 64 channels has one vector of 16 in each plane; see depthwise_q8.
 */
#define NN_DEPTHWISE_PLANES 4

/*
 * Like nn_depthwise_f32, for bytes. Packed as in depthwise_q8.h. The layout "in pairs" has panels
 * of two vectors of channels, whose depth is the taps row by row. For "in eights", see above.
 */
struct nn_depthwise_q8 {
	size_t channels;
	size_t padded;			/* channels, rounded up to 16 */
	size_t height;
	size_t width;
	size_t in_width;
	size_t out_width;
	size_t stride;
	size_t dilation;
	ptrdiff_t head;
	const uint8_t *const *rows;
	uint8_t in_flip;
	uint8_t in_zero;		/* zero point of the bytes after the flip */
	int32_t filter_zero;		/* zero point of the packed bytes */
	const uint8_t *packed;
	uint8_t *scratch;
	uint8_t *out;
	struct nn_q8_output output;
};

/* MAX and MIN do not clamp. PRELU: a, or a * b if a is negative. POW has no inner loop. */
enum nn_binary { NN_BINARY_ADD, NN_BINARY_SUB, NN_BINARY_MUL, NN_BINARY_DIV, NN_BINARY_MAX,
		 NN_BINARY_MIN, NN_BINARY_PRELU, NN_BINARY_POW };

/* out[i] = clamp(a[i] operation b[i]). All i may share one a or one b. Numbers: fp32 or fp16. */
struct nn_binary_f32 {
	enum nn_binary operation;
	size_t count;
	const void *a;
	const void *b;
	bool one_a;
	bool one_b;
	void *out;
	float low;
	float high;
};

enum nn_unary { NN_UNARY_CLAMP, NN_UNARY_LOGISTIC, NN_UNARY_TANH, NN_UNARY_EXP, NN_UNARY_ABS,
		NN_UNARY_NEG, NN_UNARY_SQRT, NN_UNARY_RSQRT, NN_UNARY_HARD_SWISH, NN_UNARY_ELU,
		NN_UNARY_LOG, NN_UNARY_SIN, NN_UNARY_FLOOR, NN_UNARY_ERF, NN_UNARY_GELU };

/* out[i] = function(in[i]); out may be in. */
struct nn_unary_f32 {
	enum nn_unary function;
	size_t count;
	const float *in;
	float *out;
	float low;			/* of CLAMP */
	float high;
	float alpha;			/* of ELU */
};

/* A factor below 1: value / 2^31 / 2^shift. */
struct nn_q8_factor {
	int32_t value;
	int32_t shift;
};

/* Bits that sums have more than bytes. */
#define NN_Q8_SUM_BITS 20

/* Returns whether a sum halves the input of the larger scale exactly, with those bits. */
static inline bool nn_q8_halves(const struct nn_q8_factor *f)
{
	return f->value == 1 << 30 && !f->shift;
}

/*
 * ADD, SUB, MUL or PRELU of int8 or uint8 rows, in NNAPI's arithmetic. A sum adds both inputs at a
 * common scale, with NN_Q8_SUM_BITS more bits. `flip` makes all bytes unsigned; zero points and
 * bounds are those of flipped bytes.
 */
struct nn_binary_q8 {
	enum nn_binary operation;
	size_t rows;
	size_t count;			/* of a row */
	const uint8_t *a;
	const uint8_t *b;
	size_t a_stride;		/* distance between rows; 0 if one row serves all */
	size_t b_stride;
	bool one_a;			/* one element serves a whole row */
	bool one_b;
	uint8_t *out;
	uint8_t flip;
	int32_t a_zero;
	int32_t b_zero;
	struct nn_q8_factor a_factor;	/* factor of sums, and of the values that PRELU passes */
	struct nn_q8_factor b_factor;	/* of sums */
	struct nn_q8_factor out_factor;	/* factor of a sum or a product */
	struct nn_q8_output output;
};

/* out[i] of in[i] times 1 / scale, rounded (halves away from zero), with `zero` added. */
struct nn_quantize_f32 {
	size_t count;
	const float *in;
	uint8_t *out;
	float scale;
	float zero;
	float low;			/* bounds, less zero */
	float high;
};

/* out[i] = scale * (in[i] - zero), of bytes that `flip` makes unsigned. */
struct nn_dequantize_f32 {
	size_t count;
	const uint8_t *in;
	float *out;
	float scale;
	uint8_t flip;
	int32_t zero;
};

/*
 * out[i] = (sums[i] - zero * weights[i]) * (scale * scales[i]) + biases[i] within bounds. All
 * arrays except `out` can be read up to a multiple of NN_MAX_LANES.
 */
struct nn_dynamic_sums {
	size_t count;
	const int32_t *sums;
	const int32_t *weights;		/* sums of them */
	const float *scales;
	const float *biases;
	float scale;
	int32_t zero;
	float low;
	float high;
	float *out;
};

/*
 * The mean, the largest, or the root of the mean of squares of each channel of `rows` * `columns`
 * pixels. The largest begins as the first pixel; a mean is the sum of the rows' sums, divided by
 * `count`.
 */
enum nn_pooling { NN_POOL_MEAN, NN_POOL_MAX, NN_POOL_L2 };

struct nn_pool_f32 {
	enum nn_pooling kind;
	const float *in;
	size_t row_stride;		/* elements */
	size_t rows;
	size_t columns;
	size_t channels;		/* number of channels, and distance between pixels */
	float count;
	float low;
	float high;
	float *out;
};

/*
 * The mean of each channel of `rows` * `columns` pixels, NN_AVERAGE_PIXELS at most, of bytes that
 * `flip` makes unsigned.
 */
#define NN_AVERAGE_PIXELS 128

struct nn_average_q8 {
	const uint8_t *in;
	size_t row_stride;
	size_t rows;
	size_t columns;
	size_t channels;		/* number of channels, and distance between pixels */
	uint8_t flip;
	/* Zero: 0, because the input's zero point is the output's. */
	struct nn_q8_output out;
	uint8_t *to;
};

/* A row of an image of another size. Each element is a weighted sum of four. */
struct nn_blend {
	bool is_byte;			/* else float */
	uint8_t flip;			/* 0x80: of signed bytes */
	size_t width;			/* pixels */
	size_t channels;
	const struct nn_source *x;	/* of each pixel */
	float weight;			/* weight of the second row; the first one has 1 - weight */
	const void *rows[2];		/* rows of the input, the upper one first */
	void *out;
};

/* out = (in - mean) * gamma / sqrt(variance + epsilon) + beta, for each channel of one image. */
struct nn_instance_f32 {
	const float *in;
	float *out;
	size_t pixels;
	size_t channels;		/* number of channels, and distance between pixels */
	float gamma;
	float beta;
	float epsilon;
};

/* Reduces `count` elements of each column; the results of all columns are a row. */
enum nn_reduction { NN_REDUCE_MAX, NN_REDUCE_MIN, NN_REDUCE_SUM, NN_REDUCE_MEAN };

struct nn_reduce_f32 {
	enum nn_reduction reduction;	/* MAX or MIN */
	const float *in;
	size_t count;
	size_t columns;			/* number of columns, and distance between elements */
	float *out;
};

/* The divisor of an element: either the base is written, or a power of the base divides. */
enum nn_response_power { NN_RESPONSE_BASE, NN_RESPONSE_ONE, NN_RESPONSE_HALF,
			 NN_RESPONSE_THREE_QUARTERS };

/*
 * Divides elements by a power of bias + alpha * the sum of squares. The sum is over the element and
 * its neighbours, `step` apart.
 */
struct nn_response_f32 {
	const float *in;
	float *out;
	size_t count;
	size_t step;
	size_t before;
	size_t after;
	float bias;
	float alpha;
	enum nn_response_power power;
};

/* c = clamp(a * b + bias), of few rows of a with rows of b: all `depth` floats, without gaps. */
struct nn_rows_f32 {
	size_t rows;
	size_t columns;
	size_t depth;
	const float *a;
	const float *b;
	const float *bias;
	float *c;
	size_t c_stride;
	float low;
	float high;
};

/* Channels that are summed at a time, and those whose largest int8 or uint8 is chosen. */
#define NN_SUM_CHANNELS 16
#define NN_MAX_CHANNELS 64

struct nn_dynamic;
struct nn_pack_q8;
struct nn_run;

/* An instruction set's int8 and uint8 GEMM: a layout of packed weights (pack_q8.h), and its loop. */
struct nn_gemm_config {
	uint32_t lanes;			/* columns that lie together */
	uint32_t group;			/* elements of depth that lie together */
	bool pads_rows;			/* rows of a can be read up to a multiple of `group` */
	bool widens;			/* rows of a become 16 bits wide, in scratch memory */
	bool splits;			/* fours are followed by struct nn_q8_spares */
	/* Returns the number of bytes of the panels of `columns` columns. */
	size_t (*size)(const struct nn_gemm_config *c, size_t columns, size_t depth);
	/* Packs columns; `to` is aligned to 64. */
	void (*pack)(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to);
	void (*run)(const struct nn_gemm_q8 *g);
};

/*
 * Does for depthwise convolutions what nn_gemm_config does for GEMM. Its pointers are not set while
 * weights are packed.
 */
struct nn_depthwise_config {
	uint32_t lanes;
	/* Sets the bytes of packed parameters, and of scratch memory. */
	void (*sizes)(const struct nn_depthwise_config *c, const struct nn_depthwise_q8 *d,
		      size_t *packed, size_t *scratch);
	/* Returns false if accumulators may exceed 30 bits. */
	bool (*pack)(const struct nn_depthwise_config *c, const struct nn_run *r,
		     const struct nn_depthwise_q8 *d, void *packed);
	void (*run)(const struct nn_depthwise_q8 *d);
};

struct nn_isa {
	const char *name;
	bool (*runs)(void);		/* whether this CPU has it; NULL: every CPU has */
	uint32_t lanes;			/* of float */
	uint32_t tile_rows;		/* rows of gemm_f32's largest tile */
	void (*gemm_f32)(const struct nn_gemm_f32 *g);
	void (*depthwise_f32)(const struct nn_depthwise_f32 *d);
	void (*binary_f32)(const struct nn_binary_f32 *b);
	void (*unary_f32)(const struct nn_unary_f32 *u);
	/* Computes the softmax of a row, which has at least one element. */
	void (*softmax_f32)(const float *in, float *out, size_t count, float beta);
	void (*log_softmax_f32)(const float *in, float *out, size_t count, float beta);
	/* Adds up to NN_SUM_CHANNELS channels of `pixels` pixels, `stride` elements apart. */
	void (*sum_f32)(const float *x, size_t stride, size_t pixels, size_t channels,
			float *sums);
	void (*pool_f32)(const struct nn_pool_f32 *p);
	void (*quantize_f32)(const struct nn_quantize_f32 *q);
	void (*dequantize_f32)(const struct nn_dequantize_f32 *d);
	/* Quantises floats by struct nn_dynamic. */
	void (*dynamic_bytes)(const struct nn_dynamic *d, const float *x, size_t count, uint8_t *to);
	void (*dynamic_floats)(const struct nn_dynamic_sums *s);
	void (*blend_f32)(const struct nn_blend *b);
	void (*instance_f32)(const struct nn_instance_f32 *n);
	void (*reduce_f32)(const struct nn_reduce_f32 *r);
	void (*response_f32)(const struct nn_response_f32 *n);
	void (*rows_f32)(const struct nn_rows_f32 *p);
	/* The sum of `count` elements in a row. */
	float (*sum_row_f32)(const float *x, size_t count);
	/* Like gemm_f32, for fp16; NULL if fp16 is computed as floats. */
	void (*gemm_f16)(const struct nn_gemm_f32 *g);
	void (*depthwise_f16)(const struct nn_depthwise_f32 *d);
	void (*binary_f16)(const struct nn_binary_f32 *b);
	struct nn_gemm_config gemm_q8;
	/*
	 * Like gemm_q8, for sums alone, if another function is faster with few large weights.
	 * Without `run`, gemm_q8 is used.
	 */
	struct nn_gemm_config gemm_sums;
	struct nn_depthwise_config depthwise_q8;
	void (*binary_q8)(const struct nn_binary_q8 *b);
	void (*sum_q8)(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
		       uint8_t flip, int32_t *sums);
	void (*average_q8)(const struct nn_average_q8 *a);
	/* The largest of up to NN_MAX_CHANNELS channels, of bytes that `flip` makes unsigned. */
	void (*max_q8)(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
		       uint8_t flip, uint8_t *largest);
	/* out[i] = table[in[i]] */
	void (*lookup_q8)(const uint8_t *table, const uint8_t *in, uint8_t *out, size_t count);
	struct nn_qlstm_loops qlstm;
};

/*
 * Returns the inner loops with that name, or with NULL the best ones that this CPU runs. Returns
 * NULL if this CPU does not run them.
 */
const struct nn_isa *nn_isa_find(const char *name);

/* Returns the instruction sets that this CPU runs, the best first; NULL beyond the last one. */
const struct nn_isa *nn_isa_at(size_t index);

#endif /* NN_PLAN_KERNELS_ISA_H */
