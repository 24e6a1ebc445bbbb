/* SPDX-License-Identifier: MIT */
/*
 * Quantised models: QuantizeLinear and DequantizeLinear around an operator. A node whose float
 * inputs are all dequantised and whose output is only quantised is translated as one operation on
 * 8-bit tensors; elsewhere the two are operations of their own, and the result is the same.
 */
#ifndef NN_ORT_QUANTISED_H
#define NN_ORT_QUANTISED_H

#include "translate.h"

/*
 * Reads the one scale of a node's input `index` and its zero point, the input behind; both are constant.
 * The zero point may be missing. scale_in() is of the node that is being translated, and refuses it.
 */
bool scale_of_node(struct lowering *t, const struct node *node, uint32_t index,
		   float *scale, int32_t *zero);
bool scale_in(struct lowering *t, uint32_t index, float *scale, int32_t *zero);

/* An 8-bit input of a QLinear operator; its scale and zero point are behind it. */
uint32_t qlinear_in(struct lowering *t, uint32_t index);
/* A result with the scale and zero point of inputs from `index` on. */
uint32_t qlinear_result(struct lowering *t, uint32_t index, uint32_t rank, const uint32_t *dims);

/* Finds the scale and zero point of every 8-bit value that a node quantises or dequantises. */
void quantised_values(struct lowering *t);

/*
 * Whether the node that is being translated has a quantised form: inputs [0, count) of it are
 * per-tensor 8-bit tensors that are dequantised. Where `fuse`, a Relu or Clip behind it becomes its
 * activation, t->fused. Sets onnx(t)->quantised_out.
 */
bool quantised_node(struct lowering *t, uint32_t count, bool fuse);

/* The 8-bit operand that input `index` is dequantised from. */
uint32_t quantised_in(struct lowering *t, uint32_t index);
/* An operand for the output, with the scale and zero point of the node behind it. */
uint32_t quantised_result(struct lowering *t, uint32_t rank, const uint32_t *dims);
/* The output is these elements, of this shape. */
void set_quantised_out(struct lowering *t, uint32_t operand, const struct shape *shape);
/* Whether input `index` and the output have one scale and zero point. */
bool same_quantisation(struct lowering *t, uint32_t index);

/* Weights: int8 per channel of dimension `axis` or per tensor, or uint8; and what they mean. */
struct weights {
	const void *elements;		/* as many as `shape` has */
	int type;			/* ONNX_INT8 or ONNX_UINT8 */
	const float *scales;		/* one, or `count` */
	int64_t scale_count;
	int32_t zero;
	struct shape shape;
};

/*
 * Whether input `index` is dequantised from constant weights of the same shape that the NNAPI has a
 * type for.
 */
bool quantised_weights(struct lowering *t, uint32_t index, int axis, struct weights *weights);
/* The same of a node's inputs from `index` on: elements in this shape, their scales, zero points. */
bool weights_read(struct lowering *t, const struct node *node, uint32_t index,
		  const struct shape *shape, int axis, struct weights *weights);
/* The bias for the sum of products of scales input * weights; NULL where that is no constant. */
const int32_t *quantised_bias(struct lowering *t, uint32_t index, float input,
			      const struct weights *weights, int64_t count);
/* Weights whose elements are in another order as the constant that goes with such an input. */
uint32_t weights_operand(struct lowering *t, const struct weights *weights, uint32_t input,
			 uint32_t rank, const uint32_t *dims, uint32_t channel, int8_t *elements);

#endif
