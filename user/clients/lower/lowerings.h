/* SPDX-License-Identifier: MIT */
/*
 * Lowerings that both plug-ins have: functions of operands, and translators of nodes without
 * attributes.
 */
#ifndef NN_LOWER_LOWERINGS_H
#define NN_LOWER_LOWERINGS_H

#include "clients/lower/lower.h"

/* ---- functions of a number (functions.c) ---- */

function cos_of, erf_of, round_of, sign_of, softplus_of;
uint32_t elu_of(struct lowering *t, uint32_t x, float alpha);
uint32_t gelu_of(struct lowering *t, uint32_t x, bool by_tanh);
/* Between two bounds, which may be infinite. */
uint32_t bounded(struct lowering *t, uint32_t x, float low, float high);

/* t->function of input 0. */
translator function_op;
/* Those of functions.def. */
#define FUNCTION(onnx, first, last, tflite, y) function function_##onnx;
#define ONNX_FUNCTION(onnx, first, last, y) function function_##onnx;
#define TFLITE_FUNCTION(tflite, y) function function_##tflite;
#include "clients/lower/functions.def"

/* ---- element by element (elementwise.c) ---- */

/*
 * Whether an operation takes 8-bit operands of these scales: the NNAPI has no results that are too
 * fine for their inputs, and some have one scale only.
 */
bool fits_quantised(const struct lowering *t, int32_t code, uint32_t a, uint32_t b, uint32_t out);

/* t->code of one input, between 8-bit tensors where it fits them. */
translator activation_op;
/* t->code of two inputs that are broadcast; MAXIMUM or MINIMUM of any number of inputs. */
translator binary_op, extremum_op;
/* `code` of all inputs, one after the other, and the shape of the result. */
uint32_t combined(struct lowering *t, int32_t code, struct shape *shape);
/* Output 0 is input 1 or 2, by input 0, or by another condition of this shape. */
translator where_op;
void choose(struct lowering *t, uint32_t condition, const struct shape *shape);
/* The remainder of integers that has the sign of the divisor, as division rounds downwards. */
translator floor_mod_op;

/* ---- moving elements (move.c) ---- */

uint32_t permuted(struct lowering *t, uint32_t x, const struct shape *shape, const int *order);

/* Elements `begin`, `begin` + `step`, ... of an axis. */
struct range {
	int64_t begin, end, step;
	int64_t count;			/* elements, once it is cut */
};

/* Counts numbers below 0 from the end, and cuts to `size`; refuses a range without elements. */
bool cut_range(struct lowering *t, int64_t size, struct range *range);
/* The ranges of all axes, which are cut. */
uint32_t ranged(struct lowering *t, uint32_t x, const struct shape *shape,
		const struct range *ranges);
/* Elements [begin, begin + count) of an axis. */
uint32_t taken(struct lowering *t, uint32_t x, const struct shape *shape, int axis, int64_t begin,
	       int64_t count);
/* `count` elements of an axis. */
uint32_t gathered(struct lowering *t, uint32_t x, const struct shape *shape, int axis, uint32_t at,
		  uint32_t count);
/*
 * Operands one after the other along an axis of what becomes of this shape. There is room for one
 * more operand. The result is like the operand `like`.
 */
uint32_t concatenated(struct lowering *t, uint32_t *x, uint32_t count, const struct shape *shape,
		      int axis, uint32_t like);
/* Equal parts of an axis. */
void divided(struct lowering *t, uint32_t x, const struct shape *shape, int axis, uint32_t count,
	     uint32_t *parts);
uint32_t reversed(struct lowering *t, uint32_t x, const struct shape *shape, int axis);
/* Pairs of what is around each dimension, by PAD; PAD_V2 and MIRROR_PAD have one operand more. */
uint32_t padded(struct lowering *t, int32_t code, uint32_t x, const int32_t *pairs, uint32_t more);
uint32_t tiled(struct lowering *t, uint32_t x, const struct shape *shape, const int64_t *times,
	       struct shape *to);
/* DEPTH_TO_SPACE and SPACE_TO_DEPTH. */
uint32_t reblocked(struct lowering *t, int32_t code, uint32_t x, const uint32_t *dims,
		   int64_t block, bool is_nchw);
uint32_t resized(struct lowering *t, int32_t code, uint32_t x, const uint32_t *dims, bool is_nchw,
		 bool align, bool half);

/* ---- axes (reduce.c) ---- */

/* The shape that is left of `shape` without or with 1 for the axes that are marked. */
struct shape reduced_shape(const struct shape *shape, const bool *marked, bool keep);
/*
 * A reduction (MEAN, REDUCE_...) of any rank; the result has the shape of reduced_shape() with
 * `keep`, in the flat form.
 */
uint32_t reduced(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape,
		 const bool *marked);
/* ARGMAX or ARGMIN: the first of equals, or the last. */
uint32_t place_of(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape,
		  int axis, bool is_last);
/* The k greatest or smallest of an axis and their places, [before, behind, k]; lower ones first. */
void topmost(struct lowering *t, uint32_t x, const struct shape *shape, int axis, int64_t k,
	     bool is_greatest, uint32_t out[2]);
/* Compares [before, 1, behind] places with those of [before, count, behind]. */
uint32_t is_place(struct lowering *t, uint32_t at, const uint32_t dims[3]);
/* Places that may count from the end, as those that do not. */
uint32_t from_start(struct lowering *t, uint32_t at, int64_t size);
/* Output 0 has `on` at the places of input 0 along a new axis, and else `off`, like an operand. */
void set_one_hot(struct lowering *t, uint32_t at, int64_t axis, int64_t depth, uint32_t like,
		 float on, float off);
/* SOFTMAX or LOG_SOFTMAX along one of three axes. */
uint32_t softmax_of(struct lowering *t, int32_t code, uint32_t x, float beta, int axis,
		    uint32_t like);

/* ---- windows (window.c) ---- */

/* Windows of convolutions and poolings, in two dimensions; a line is an image one row high. */
struct window {
	int spatial;			/* dimensions of the model: 1 or 2 */
	int64_t size[2], stride[2], dilation[2], head[2], tail[2];
	uint32_t batch, channels;
	uint32_t in[2], out[2];
	bool is_nchw;
};

/* Pads for as many windows as fit the strides; `upper`: what is odd is behind. */
void window_same(struct window *w, int i, bool upper);
/* The dimensions of an image of the window's layout. */
void window_dims(const struct window *w, uint32_t channels, const uint32_t size[2],
		 uint32_t dims[4]);
/* The input as an image. */
uint32_t window_view(struct lowering *t, uint32_t x, const struct window *w);
/* Zeros around an image, of which a window has more than the NNAPI's windows may. */
uint32_t window_padded(struct lowering *t, uint32_t x, struct window *w);
/* A pooling; the result is like x. */
uint32_t pooled(struct lowering *t, int32_t code, uint32_t x, const struct window *w);
/* The mean or the greatest of each channel of an image, by a window as large as it. */
uint32_t global_pooled(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape);
struct conv {
	struct window w;
	int32_t code;			/* ..._CONV_2D, also of the project's own */
	uint32_t outputs, groups, inner;	/* inner: channels of a filter */
	uint32_t x, filter, bias;
	int32_t form;				/* of clients/dynamic.h */
};

/* A convolution to the operand `out`. */
uint32_t convolved(struct lowering *t, struct conv *c, uint32_t out);

#endif
