/* SPDX-License-Identifier: MIT */
/*
 * Dynamically quantised models. The pattern is DynamicQuantizeLinear, MatMulInteger or ConvInteger
 * with constant weights, Cast, Mul by the product of both scales and, optionally, Add of a constant
 * bias. ONNX Runtime's optimiser replaces all of them by DynamicQuantizeMatMul, or all except the
 * first by MatMulIntegerToFloat. The pattern becomes one operation of the project's own extension,
 * or a float operation with dequantised weights. The nodes of GELU are another pattern, and become
 * one operation if devices have it.
 */
#ifndef NN_ORT_DYNAMIC_H
#define NN_ORT_DYNAMIC_H

#include "translate.h"

/* The role of a node in such a pattern. */
struct dynamic_node {
	enum { NO_PART, SILENT, LAST } part;	/* the last node stands for the pattern */
	/* First node of the pattern: DynamicQuantizeLinear, or the first node of GELU. */
	const struct node *quantise;
	const struct node *product;		/* NULL: GELU; the fields that follow belong to the last node */
	uint32_t scales;			/* the value of the weights' scales */
	uint32_t zeros;				/* value of the zero points, or NO_VALUE */
	uint32_t bias;				/* the value, or NO_VALUE */
};

/*
 * Finds the nodes of such patterns. A DynamicQuantizeLinear has all of its patterns taken, or none.
 */
void dynamic_nodes(struct lowering *t);

/* Translates a node of such a pattern. */
translator dynamic_op;

/* Returns input 0 of the GEMM in float, and its shape. */
uint32_t dynamic_in(struct lowering *t, const struct dynamic_node *d, const struct shape **shape);

/*
 * Makes an operand of 8-bit weights, grouped by the dims[0] channels: 8-bit if has_own(),
 * else float. The elements may be changed.
 */
uint32_t dynamic_weights(struct lowering *t, const struct dynamic_node *d, uint8_t *elements,
			 uint32_t rank, const uint32_t *dims);

/* Returns the bias of this many channels, or zeros. */
uint32_t dynamic_bias(struct lowering *t, const struct dynamic_node *d, uint32_t channels);

/* Translate the last node (matmul.c, conv.c). */
void dynamic_matmul(struct lowering *t, const struct dynamic_node *d);
void dynamic_conv(struct lowering *t, const struct dynamic_node *d);

#endif
