/* SPDX-License-Identifier: MIT */
/*
 * Quantised models: QuantizeLinear and DequantizeLinear around an operator. If all float inputs of
 * a node come from DequantizeLinear and only QuantizeLinear reads the node's output, all these
 * nodes become one operation on 8-bit tensors. A QuantizeLinear or DequantizeLinear that cannot be
 * merged becomes an operation of its own, which does not change the results.
 */
#ifndef NN_ORT_QUANTISED_H
#define NN_ORT_QUANTISED_H

#include "translate.h"

/*
 * Read the constant scale in a node's input `index`, and the zero point in the next input, which
 * may be missing. On failure, scale_in() rejects the node in translation, and scale_of_node()
 * rejects no node.
 */
bool scale_of_node(struct lowering *t, const struct node *node, uint32_t index,
		   float *scale, int32_t *zero);
bool scale_in(struct lowering *t, uint32_t index, float *scale, int32_t *zero);

/*
 * Returns an 8-bit input of a QLinear operator; the tensor's scale and zero point are the next
 * inputs.
 */
uint32_t qlinear_in(struct lowering *t, uint32_t index);
/*
 * Makes an operand for a result, with the scale in input `index` and the zero point in the next
 * input.
 */
uint32_t qlinear_result(struct lowering *t, uint32_t index, uint32_t rank, const uint32_t *dims);

/* Finds the scale and zero point of every 8-bit value that a node quantises or dequantises. */
void quantised_values(struct lowering *t);

/*
 * Returns whether the node in translation can use 8-bit tensors: inputs [0, count) of the node are
 * dequantised per-tensor 8-bit tensors. With `fuse`, a Relu or Clip that follows becomes the node's
 * fused activation, t->fused. Sets onnx(t)->quantised_out of the node.
 */
bool quantised_node(struct lowering *t, uint32_t count, bool fuse);

/* Returns the 8-bit operand from which input `index` is dequantised. */
uint32_t quantised_in(struct lowering *t, uint32_t index);
/*
 * Makes an operand for the node's output, with the scale and zero point of the QuantizeLinear that
 * follows.
 */
uint32_t quantised_result(struct lowering *t, uint32_t rank, const uint32_t *dims);
/* Sets the node's quantised output to the elements of `operand` in the shape `shape`. */
void set_quantised_out(struct lowering *t, uint32_t operand, const struct shape *shape);
/* Returns whether input `index` and the output have the same scale and zero point. */
bool same_quantisation(struct lowering *t, uint32_t index);

/* Weights with their quantisation: int8 per channel of dimension `axis` or per tensor, or uint8. */
struct weights {
	const void *elements;
	int type;			/* ONNX_INT8 or ONNX_UINT8 */
	const float *scales;		/* one, or `count` */
	int64_t scale_count;
	int32_t zero;
	struct shape shape;
};

/*
 * Returns whether input `index` is dequantised from constant weights of the same shape and of a
 * type that the NNAPI supports.
 */
bool quantised_weights(struct lowering *t, uint32_t index, int axis, struct weights *weights);
/*
 * Reads weights from a node's inputs: elements of shape `shape` from input `index`, then scales and
 * zero points from the next inputs.
 */
bool weights_read(struct lowering *t, const struct node *node, uint32_t index,
		  const struct shape *shape, int axis, struct weights *weights);
/*
 * Returns the bias in input `index` as integers, whose scale is `input` times the weights' scale.
 * Returns NULL if the bias is not constant.
 */
const int32_t *quantised_bias(struct lowering *t, uint32_t index, float input,
			      const struct weights *weights, int64_t count);
/*
 * Makes a constant of weights whose reordered elements are `elements`, for use with operand
 * `input`.
 */
uint32_t weights_operand(struct lowering *t, const struct weights *weights, uint32_t input,
			 uint32_t rank, const uint32_t *dims, uint32_t channel, int8_t *elements);

#endif
