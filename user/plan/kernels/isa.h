/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of the fast kernels, once for each instruction set. For products of int8 and
 * uint8 see layout_q8.h.
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
 * A part of the rows of `a` in a product whose rows are not contiguous: elements [first, first +
 * count) of the depth. Elements of the depth that are in no part are 0 in all rows, and are not
 * multiplied.
 */
struct nn_gemm_part {
	const void *a;			/* row 0 */
	size_t stride;			/* elements between rows */
	size_t first;
	size_t count;
};

/*
 * Computes c = clamp(a * b + bias), where b and bias are packed. Each panel has 2 * lanes columns;
 * the last panel has `lanes` columns if no more are left. A panel of floats has the biases of
 * its columns, then a row of weights for each element of depth. All numbers of gemm_f32 are fp32.
 * All numbers of gemm_f16 are fp16, and a vector of fp16 has twice as many lanes as a vector of
 * floats.
 */
struct nn_gemm_f32 {
	size_t rows;
	/*
	 * True if the whole product has only one row. Products of a single row are summed in
	 * another order than products of several rows, so one_row must not depend on how rows are
	 * divided into tasks.
	 */
	bool one_row;
	size_t columns;
	size_t depth;
	const void *a;
	size_t a_stride;		/* elements between rows */
	/* If not NULL, the parts that replace `a`; must be NULL if one_row is set. */
	const struct nn_gemm_part *parts;
	size_t num_parts;
	const void *panels;
	void *c;
	size_t c_stride;
	float low;
	float high;
};

/*
 * The first `count` channels of an output row of a depthwise convolution with multiplier 1. rows[i]
 * is the input row under row i of the filter, or NULL for padding. All numbers of the convolution
 * are fp32, or all are fp16.
 */
struct nn_depthwise_f32 {
	size_t channels;		/* elements between pixels */
	size_t count;
	size_t height;			/* height of the filter */
	size_t width;
	size_t in_width;
	size_t out_width;
	size_t stride;
	size_t dilation;
	ptrdiff_t head;			/* padding before each input row */
	const void *const *rows;
	const void *filter;		/* weights in the shape [height, width, channels] */
	const void *bias;
	void *out;
	float low;
	float high;
};

/* Number of planes of packed weights: each plane has 16 of each 64 channels; see depthwise_q8.h. */
#define NN_DEPTHWISE_PLANES 4

/*
 * An output row of an int8 or uint8 depthwise convolution; see struct nn_depthwise_f32. Weights
 * have one of three layouts: depthwise_q8.h describes the layout in planes, and layout_q8.h
 * describes the layouts "in pairs" and "in eights". In pairs, a panel has two vectors of channels,
 * and the depth is the number of the filter's taps, which are packed row by row.
 */
struct nn_depthwise_q8 {
	size_t channels;
	size_t padded;			/* number of channels, rounded up to a multiple of 16 */
	size_t height;
	size_t width;
	size_t in_width;
	size_t out_width;
	size_t stride;
	size_t dilation;
	ptrdiff_t head;
	const uint8_t *const *rows;
	uint8_t in_flip;
	uint8_t in_zero;	/* zero point of the input's bytes after the XOR with in_flip */
	int32_t filter_zero;		/* zero point of the packed weights */
	const uint8_t *packed;
	uint8_t *scratch;
	uint8_t *out;
	struct nn_q8_output output;
};

/*
 * The operations MAX and MIN do not clamp their results. PRELU returns a, or a * b if a is
 * negative. The operation POW has no inner loop.
 */
enum nn_binary { NN_BINARY_ADD, NN_BINARY_SUB, NN_BINARY_MUL, NN_BINARY_DIV, NN_BINARY_MAX,
		 NN_BINARY_MIN, NN_BINARY_PRELU, NN_BINARY_POW };

/*
 * Computes out[i] = clamp(a[i] operation b[i]) for the elements of rows. If one_a or one_b is set,
 * each row of a or b has only one element. All operands and results are fp32, or all are fp16.
 */
struct nn_binary_f32 {
	enum nn_binary operation;
	size_t rows;
	size_t count;			/* number of elements of a row */
	const void *a;
	const void *b;
	size_t a_stride;		/* elements between rows; 0 repeats one row */
	size_t b_stride;
	bool one_a;
	bool one_b;
	void *out;
	float low;
	float high;
};

enum nn_unary { NN_UNARY_CLAMP, NN_UNARY_LOGISTIC, NN_UNARY_TANH, NN_UNARY_EXP, NN_UNARY_ABS,
		NN_UNARY_NEG, NN_UNARY_SQRT, NN_UNARY_RSQRT, NN_UNARY_HARD_SWISH, NN_UNARY_ELU,
		NN_UNARY_LOG, NN_UNARY_SIN, NN_UNARY_FLOOR, NN_UNARY_ERF, NN_UNARY_GELU };

/* Computes out[i] = function(in[i]); `out` may be the same array as `in`. */
struct nn_unary_f32 {
	enum nn_unary function;
	size_t count;
	const float *in;
	float *out;
	float low;			/* of CLAMP */
	float high;
	float alpha;			/* of ELU */
};

/*
 * SOFTMAX or LOG_SOFTMAX of each of the first `columns` columns of a matrix, at most nn_isa.lanes
 * columns. `scratch` has room for a vector of each row.
 */
struct nn_softmax_f32 {
	size_t rows;			/* at least 1 */
	size_t columns;
	size_t stride;			/* elements between rows */
	const float *in;
	float *out;
	float *scratch;
	float beta;
	bool is_log;
};

/* The factor `value` / 2^31 / 2^`shift`, which is below 1. */
struct nn_q8_factor {
	int32_t value;
	int32_t shift;
};

/* Number of fraction bits in the computation of sums of bytes. */
#define NN_Q8_SUM_BITS 20

/*
 * Returns whether a factor is exactly 1/2. An ADD or SUB multiplies the input with the larger scale
 * by 1/2.
 */
static inline bool nn_q8_halves(const struct nn_q8_factor *f)
{
	return f->value == 1 << 30 && !f->shift;
}

/*
 * ADD, SUB, MUL or PRELU of int8 or uint8 rows, in NNAPI's arithmetic. A sum is computed at a
 * common scale of both inputs, with NN_Q8_SUM_BITS additional bits. XOR with `flip` makes all bytes
 * unsigned; the zero points and bounds are those of the unsigned bytes.
 */
struct nn_binary_q8 {
	enum nn_binary operation;
	size_t rows;
	size_t count;			/* number of elements of a row */
	const uint8_t *a;
	const uint8_t *b;
	size_t a_stride;		/* distance between rows; 0 repeats one row */
	size_t b_stride;
	bool one_a;			/* each row of a has only one element, which is repeated */
	bool one_b;
	uint8_t *out;
	uint8_t flip;
	int32_t a_zero;
	int32_t b_zero;
	struct nn_q8_factor a_factor;	/* factor of a in sums, and in PRELU if a is not negative */
	struct nn_q8_factor b_factor;	/* factor of b in sums */
	struct nn_q8_factor out_factor;	/* factor of a sum or a product */
	struct nn_q8_output output;
};

/* Computes out[i] = in[i] * (1 / scale), rounded half away from zero, plus `zero`. */
struct nn_quantize_f32 {
	size_t count;
	const float *in;
	uint8_t *out;
	float scale;
	float zero;
	/* lower bound of the rounded quotient, before `zero` is added */
	float low;
	float high;
};

/* Computes out[i] = scale * ((in[i] ^ flip) - zero), where in[i] ^ flip is an unsigned byte. */
struct nn_dequantize_f32 {
	size_t count;
	const uint8_t *in;
	float *out;
	float scale;
	uint8_t flip;
	int32_t zero;
};

/*
 * Computes out[i] = clamp((sums[i] - zero * weights[i]) * (scale * scales[i]) + biases[i]). All
 * arrays except `out` are readable up to a multiple of NN_MAX_LANES elements.
 */
struct nn_dynamic_sums {
	size_t count;
	const int32_t *sums;
	const int32_t *weights;		/* sum of each column's weights */
	const float *scales;
	const float *biases;
	float scale;
	int32_t zero;
	float low;
	float high;
	float *out;
};

/*
 * Reduces `rows` * `columns` pixels, for each channel, to the mean, the maximum, or the root of the
 * mean square. The search for the maximum begins with the first pixel. A mean is the sum of the
 * rows' sums, divided by `count`.
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
 * Computes the mean of `rows` * `columns` pixels, at most NN_AVERAGE_PIXELS, for each channel. XOR
 * with `flip` makes the bytes unsigned.
 */
#define NN_AVERAGE_PIXELS 128

struct nn_average_q8 {
	const uint8_t *in;
	size_t row_stride;
	size_t rows;
	size_t columns;
	size_t channels;		/* number of channels, and distance between pixels */
	uint8_t flip;
	/* out.zero is 0, because input and output have the same zero point. */
	struct nn_q8_output out;
	uint8_t *to;
};

/*
 * Computes one row of a resized image. Each output element is a weighted sum of four input
 * elements.
 */
struct nn_blend {
	bool is_byte;			/* true: bytes; false: floats */
	uint8_t flip;			/* 0x80 for signed bytes, otherwise 0 */
	size_t width;			/* pixels */
	size_t channels;
	const struct nn_source *x;	/* source columns of each output pixel */
	float weight;			/* weight of rows[1]; rows[0] has 1 - weight */
	const void *rows[2];		/* the upper and the lower input row */
	void *out;
};

/*
 * Computes out = (in - mean) * gamma / sqrt(variance + epsilon) + beta, for each channel of one
 * image.
 */
struct nn_instance_f32 {
	const float *in;
	float *out;
	size_t pixels;
	size_t channels;		/* number of channels, and distance between pixels */
	float gamma;
	float beta;
	float epsilon;
};

/* Reduces the `count` elements of each column to one element. */
enum nn_reduction { NN_REDUCE_MAX, NN_REDUCE_MIN, NN_REDUCE_SUM, NN_REDUCE_MEAN };

struct nn_reduce_f32 {
	enum nn_reduction reduction;	/* MAX or MIN */
	const float *in;
	size_t count;
	size_t columns;			/* number of columns, and distance between elements */
	float *out;
};

/*
 * The results that struct nn_response_f32 can request for each element. NN_RESPONSE_BASE requests
 * the base of the element. The other values request the element divided by a power of its base,
 * whose exponent is 1, 1/2 or 3/4.
 */
enum nn_response_power { NN_RESPONSE_BASE, NN_RESPONSE_ONE, NN_RESPONSE_HALF,
			 NN_RESPONSE_THREE_QUARTERS };

/*
 * Local response normalisation. The base of an element is bias + alpha * s. The number s is the sum
 * of the squares of the element, of `before` elements before the element, and of `after` elements
 * after the element. Adjacent elements are `step` floats apart in memory.
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

/*
 * Computes c = clamp(a * b + bias), for few rows of a. Each row of a and each column of b is an
 * array of `depth` contiguous floats.
 */
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

/* Maximum number of channels in one call of sum_f32() or sum_q8(), and in one call of max_q8(). */
#define NN_SUM_CHANNELS 16
#define NN_MAX_CHANNELS 64

struct nn_dynamic;
struct nn_pack_q8;
struct nn_run;

/*
 * An instruction set's int8 and uint8 GEMM: the layout of packed weights (pack_q8.h) and the loop.
 */
struct nn_gemm_config {
	/* number of columns of a vector of packed weights */
	uint32_t lanes;
	/* number of consecutive weights of a column that are adjacent in the packed weights */
	uint32_t group;
	bool pads_rows;			/* rows of a are readable up to a multiple of `group` */
	bool widens;			/* rows of a are widened to 16 bits in scratch memory */
	bool splits;			/* true: a struct nn_q8_spares follows each panel */
	/* Returns the number of bytes of the panels for `columns` columns. */
	size_t (*size)(const struct nn_gemm_config *c, size_t columns, size_t depth);
	/* Packs columns of weights; `to` is aligned to 64 bytes. */
	void (*pack)(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to);
	void (*run)(const struct nn_gemm_q8 *g);
};

/*
 * An instruction set's int8 and uint8 depthwise convolution. While weights are packed, the pointers
 * in struct nn_depthwise_q8 are not set.
 */
struct nn_depthwise_config {
	uint32_t lanes;
	/*
	 * Sets *packed and *scratch to the sizes in bytes of packed parameters and scratch memory.
	 */
	void (*sizes)(const struct nn_depthwise_config *c, const struct nn_depthwise_q8 *d,
		      size_t *packed, size_t *scratch);
	/* Packs the parameters; returns false if accumulators may exceed 30 bits. */
	bool (*pack)(const struct nn_depthwise_config *c, const struct nn_run *r,
		     const struct nn_depthwise_q8 *d, void *packed);
	void (*run)(const struct nn_depthwise_q8 *d);
};

struct nn_isa {
	const char *name;
	/*
	 * Returns whether this CPU has the instruction set; NULL if every CPU has the instruction
	 * set.
	 */
	bool (*runs)(void);
	uint32_t lanes;			/* floats in a vector */
	/* instruction set with half the lanes that every CPU with this one has; otherwise NULL */
	const struct nn_isa *narrow;
	uint32_t tile_rows;		/* rows of gemm_f32's largest tile */
	void (*gemm_f32)(const struct nn_gemm_f32 *g);
	/*
	 * gemm_f32() for few columns. Each part has a multiple of `lanes` elements. `panels` has
	 * the weights of each column one after the other, then the biases.
	 */
	void (*few_f32)(const struct nn_gemm_f32 *g);
	void (*depthwise_f32)(const struct nn_depthwise_f32 *d);
	void (*binary_f32)(const struct nn_binary_f32 *b);
	void (*unary_f32)(const struct nn_unary_f32 *u);
	/* Computes the softmax of a row, which has at least one element. */
	void (*softmax_f32)(const float *in, float *out, size_t count, float beta);
	void (*log_softmax_f32)(const float *in, float *out, size_t count, float beta);
	void (*softmax_columns_f32)(const struct nn_softmax_f32 *s);
	/*
	 * Adds all `pixels` pixels of up to NN_SUM_CHANNELS channels to `sums`; pixels are `stride`
	 * elements apart.
	 */
	void (*sum_f32)(const float *x, size_t stride, size_t pixels, size_t channels,
			float *sums);
	void (*pool_f32)(const struct nn_pool_f32 *p);
	void (*quantize_f32)(const struct nn_quantize_f32 *q);
	void (*dequantize_f32)(const struct nn_dequantize_f32 *d);
	/* Quantises floats as struct nn_dynamic describes. */
	void (*dynamic_bytes)(const struct nn_dynamic *d, const float *x, size_t count, uint8_t *to);
	void (*dynamic_floats)(const struct nn_dynamic_sums *s);
	void (*blend_f32)(const struct nn_blend *b);
	void (*instance_f32)(const struct nn_instance_f32 *n);
	void (*reduce_f32)(const struct nn_reduce_f32 *r);
	void (*response_f32)(const struct nn_response_f32 *n);
	void (*rows_f32)(const struct nn_rows_f32 *p);
	/* Returns the sum of `count` contiguous elements. */
	float (*sum_row_f32)(const float *x, size_t count);
	/* gemm_f32() for fp16; NULL if the CPU does not compute in fp16 */
	void (*gemm_f16)(const struct nn_gemm_f32 *g);
	void (*depthwise_f16)(const struct nn_depthwise_f32 *d);
	void (*binary_f16)(const struct nn_binary_f32 *b);
	struct nn_gemm_config gemm_q8;
	/*
	 * An int8 GEMM for products with int32 results (nn_gemm_q8.sums). The GEMM gemm_sums is
	 * faster than gemm_q8 if few weights are large. If gemm_sums.run is NULL, gemm_q8 is used.
	 */
	struct nn_gemm_config gemm_sums;
	struct nn_depthwise_config depthwise_q8;
	void (*binary_q8)(const struct nn_binary_q8 *b);
	void (*sum_q8)(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
		       uint8_t flip, int32_t *sums);
	void (*average_q8)(const struct nn_average_q8 *a);
	/*
	 * Finds the largest byte of each of up to NN_MAX_CHANNELS channels. XOR with `flip` makes
	 * the bytes unsigned.
	 */
	void (*max_q8)(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
		       uint8_t flip, uint8_t *largest);
	/* out[i] = table[in[i]] */
	void (*lookup_q8)(const uint8_t *table, const uint8_t *in, uint8_t *out, size_t count);
	struct nn_qlstm_loops qlstm;
};

/*
 * Returns the inner loops of the instruction set `name`, or, if `name` is NULL, of the best
 * instruction set of this CPU. Returns NULL if the CPU does not have the instruction set `name`.
 */
const struct nn_isa *nn_isa_find(const char *name);

/*
 * Returns the inner loops of an instruction set of this CPU; index 0 is the best instruction set.
 * Returns NULL if the CPU has no instruction set with this index.
 */
const struct nn_isa *nn_isa_at(size_t index);

#endif /* NN_PLAN_KERNELS_ISA_H */
