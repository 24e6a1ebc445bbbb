/* SPDX-License-Identifier: MIT */
/*
 * Lowerings that both plug-ins share: functions on operands, and translators for nodes without
 * attributes.
 */
#ifndef NN_LOWER_LOWERINGS_H
#define NN_LOWER_LOWERINGS_H

#include "clients/lower/lower.h"

/* ---- functions of a number (functions.c) ---- */

function asin_of, atan_of, cos_of, erf_of, round_of, sign_of, softplus_of;
uint32_t elu_of(struct lowering *t, uint32_t x, float alpha);
uint32_t gelu_of(struct lowering *t, uint32_t x, bool by_tanh);
/* Clamps x to two bounds, which may be infinite. */
uint32_t bounded(struct lowering *t, uint32_t x, float low, float high);

/* Translates a node that applies t->function to its input 0. */
translator function_op;
/* A function for each line of functions.def. */
#define FUNCTION(onnx, first, last, tflite, y) function function_##onnx;
#define ONNX_FUNCTION(onnx, first, last, y) function function_##onnx;
#define TFLITE_FUNCTION(tflite, y) function function_##tflite;
#include "clients/lower/functions.def"

/* ---- elementwise operations (elementwise.c) ---- */

/*
 * Returns whether an operation supports 8-bit operands of the given scales. The NNAPI rejects
 * results whose scale is too small for the inputs' scales, and some operations need a result of a
 * fixed scale.
 */
bool fits_quantised(const struct lowering *t, int32_t code, uint32_t a, uint32_t b, uint32_t out);

/*
 * Translates a node to the operation t->code with one input. The operation has 8-bit operands if
 * the NNAPI supports the operands' scales.
 */
translator activation_op;
/*
 * binary_op translates a node to the operation t->code on two broadcast inputs; extremum_op
 * translates a node to MAXIMUM or MINIMUM of any number of inputs.
 */
translator binary_op, extremum_op;
/*
 * Combines all inputs of the node, one after the other, by the operation `code`. Sets *shape to the
 * result's shape.
 */
uint32_t combined(struct lowering *t, int32_t code, struct shape *shape);
/*
 * The function where_op() translates a node whose input 0, a tensor of bools, selects each element
 * of output 0 from input 1 or input 2. The function choose() does the same with `condition` of
 * shape `shape` in place of input 0.
 */
translator where_op;
void choose(struct lowering *t, uint32_t condition, const struct shape *shape);
/*
 * Computes the remainder of an integer division that rounds down, so the remainder has the
 * divisor's sign.
 */
translator floor_mod_op;

/* ---- moving elements (move.c) ---- */

/*
 * Returns the index in the tensor of the given shape for each element of the transposed tensor.
 * Returns NULL if memory ran out. order[d]: the dimension that becomes dimension d.
 */
int32_t *transposed_indices(struct lowering *t, const struct shape *shape, const int *order);

uint32_t permuted(struct lowering *t, uint32_t x, const struct shape *shape, const int *order);

/* Elements `begin`, `begin` + `step`, ... of an axis. */
struct range {
	int64_t begin, end, step;
	int64_t count;			/* number of elements after cut_range() */
};

/*
 * Resolves a range's negative indices, which count from the end, and clamps the range to `size`
 * elements. Rejects an empty range.
 */
bool cut_range(struct lowering *t, int64_t size, struct range *range);
/* Returns the elements in the ranges of all axes, which cut_range() must have clamped. */
uint32_t ranged(struct lowering *t, uint32_t x, const struct shape *shape,
		const struct range *ranges);
/* Returns the elements [begin, begin + count) of an axis. */
uint32_t taken(struct lowering *t, uint32_t x, const struct shape *shape, int axis, int64_t begin,
	       int64_t count);
/* Gathers the `count` elements of an axis whose indices are in the operand `at`. */
uint32_t gathered(struct lowering *t, uint32_t x, const struct shape *shape, int axis, uint32_t at,
		  uint32_t count);
/*
 * Concatenates operands along an axis of `shape`, the result's shape. The array `x` must have room
 * for one more operand. The result has the type and quantisation of the operand `like`.
 */
uint32_t concatenated(struct lowering *t, uint32_t *x, uint32_t count, const struct shape *shape,
		      int axis, uint32_t like);
/* Splits an axis into equal parts. */
void divided(struct lowering *t, uint32_t x, const struct shape *shape, int axis, uint32_t count,
	     uint32_t *parts);
uint32_t reversed(struct lowering *t, uint32_t x, const struct shape *shape, int axis);
/*
 * Pads each dimension by a pair of numbers. `code` is PAD, PAD_V2 or MIRROR_PAD; the last two get
 * `more` as their last operand.
 */
uint32_t padded(struct lowering *t, int32_t code, uint32_t x, const int32_t *pairs, uint32_t more);
/* Translates TILE: input 1 has the number of repetitions of each axis. */
translator tile_op;
uint32_t tiled(struct lowering *t, uint32_t x, const struct shape *shape, const int64_t *times,
	       struct shape *to);
/* Emits DEPTH_TO_SPACE or SPACE_TO_DEPTH. */
uint32_t reblocked(struct lowering *t, int32_t code, uint32_t x, const uint32_t *dims,
		   int64_t block, bool is_nchw);
/*
 * For each position along one axis: the indices and weights of both neighbours, or of the nearest
 * element.
 */
struct neighbours {
	uint32_t at[2], weight[2];
	int count;
};

/*
 * Interpolates an image of shape `dims`, [rows, columns, channels], at `count` positions: computes
 * the weighted sums of the positions' neighbours in rows and columns. The operand `first` has the
 * pixel from which each position counts; NO_OPERAND if all count from pixel 0.
 */
uint32_t interpolated(struct lowering *t, uint32_t x, const int64_t dims[3], const struct neighbours axes[2],
		      uint32_t first, uint32_t count);
uint32_t resized(struct lowering *t, int32_t code, uint32_t x, const uint32_t *dims, bool is_nchw,
		 bool align, bool half);

/* ---- axes (reduce.c) ---- */

/* Returns `shape` with the marked axes removed or, with `keep`, set to 1. */
struct shape reduced_shape(const struct shape *shape, const bool *marked, bool keep);
/*
 * Reduces (MEAN, REDUCE_...) a tensor of any rank. The result has the elements of reduced_shape()
 * in the shape flat().
 */
uint32_t reduced(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape,
		 const bool *marked);
/*
 * Finds the index of the largest (ARGMAX) or smallest (ARGMIN) element along an axis: of equal
 * elements the first or, with `is_last`, the last.
 */
uint32_t place_of(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape,
		  int axis, bool is_last);
/*
 * Finds the k largest or smallest elements along an axis, and the elements' indices, each in the
 * layout [before, behind, k]. Equal elements are in the order of their indices.
 */
void topmost(struct lowering *t, uint32_t x, const struct shape *shape, int axis, int64_t k,
	     bool is_greatest, uint32_t out[2]);
/*
 * Returns bools of the shape `dims`, [before, count, behind]. An element (i, j, k) is true if the
 * element (i, 0, k) of `at`, a tensor of the shape [before, 1, behind], is j.
 */
uint32_t is_place(struct lowering *t, uint32_t at, const uint32_t dims[3]);
/* Converts negative indices, which count from an axis's end, to indices from the start. */
uint32_t from_start(struct lowering *t, uint32_t at, int64_t size);
/*
 * Sets output 0 to one-hot vectors along an axis that input 0 lacks: the elements are `on` at the
 * indices `at`, and `off` elsewhere.
 */
void set_one_hot(struct lowering *t, uint32_t at, int64_t axis, int64_t depth, uint32_t like,
		 float on, float off);
/*
 * Sets output 0 to the slices of input 0 at the indices `at`, which have the shape `places`. Input 0
 * and the indices share the first `batch` axes. The last axis of `at` has an index for each of the
 * axes of input 0 that follow the batch axes.
 */
void set_lines(struct lowering *t, uint32_t at, const struct shape *places, int64_t batch);
/*
 * Returns cumulative sums along an axis: each element plus all elements before the element or, with
 * `is_ahead`, after the element. With `is_exclusive`, a sum does not contain the element itself.
 */
uint32_t summed(struct lowering *t, uint32_t x, const struct shape *shape, int axis,
		bool is_exclusive, bool is_ahead);
/* Sets output 0 to the cumulative sums of input 0, along the axis whose index is input 1. */
void set_sums(struct lowering *t, bool is_exclusive, bool is_ahead);
/* Emits SOFTMAX or LOG_SOFTMAX along an axis; the result has the type of `like`. */
uint32_t softmax_of(struct lowering *t, int32_t code, uint32_t x, float beta, int axis,
		    uint32_t like);

/* ---- windows (window.c) ---- */

/* Windows of 2-D convolutions and poolings; 1-D data is an image of one row. */
struct window {
	int spatial;			/* spatial dimensions of the model: 1 or 2 */
	int64_t size[2], stride[2], dilation[2], head[2], tail[2];
	uint32_t batch, channels;
	uint32_t in[2], out[2];
	bool is_nchw;
};

/*
 * Sets the padding of an axis so that the axis has size / stride windows, rounded up. If the
 * padding is odd, the larger part is at the axis's end with `upper`, otherwise at the axis's start.
 */
void window_same(struct window *w, int i, bool upper);
/* Sets `dims` to the dimensions of an image in the window's layout. */
void window_dims(const struct window *w, uint32_t channels, const uint32_t size[2],
		 uint32_t dims[4]);
/* Returns a view of x as an image. */
uint32_t window_view(struct lowering *t, uint32_t x, const struct window *w);
/* Pads an image by PAD if the window's padding is more than the NNAPI supports. */
uint32_t window_padded(struct lowering *t, uint32_t x, struct window *w);
/* Pools an image; the result has the type of x. */
uint32_t pooled(struct lowering *t, int32_t code, uint32_t x, const struct window *w);
/* Computes the mean or maximum of each channel of an image, by a window as large as the image. */
uint32_t global_pooled(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape);
struct conv {
	struct window w;
	int32_t code;			/* code of a convolution in the NNAPI or in our extension */
	uint32_t outputs, groups, inner;	/* inner: number of input channels of each filter */
	uint32_t x, filter, bias;
	int32_t form;				/* of clients/dynamic.h */
};

/* Emits a convolution that writes the operand `out`. */
uint32_t convolved(struct lowering *t, struct conv *c, uint32_t out);

#endif
