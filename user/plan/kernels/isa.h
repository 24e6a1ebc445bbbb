/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of the fast kernels, once for each instruction set. layout_q8.h describes
 * products of int8 and uint8.
 */
#ifndef NN_PLAN_KERNELS_ISA_H
#define NN_PLAN_KERNELS_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/image.h"
#include "ops/quantized_lstm.h"
#include "plan/kernels/layout_q8.h"

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
 * of two vectors of channels, whose depth is the taps row by row. For "in eights", see
 * layout_q8.h.
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

/* out[i] = in[i] * (1 / scale), rounded half away from zero, plus `zero`. */
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
