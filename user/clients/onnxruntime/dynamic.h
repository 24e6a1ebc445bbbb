/* SPDX-License-Identifier: MIT */
/*
 * Patterns of nodes that become one operation. In a dynamically quantised model, a GEMM is a
 * pattern of the nodes DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast, Mul and,
 * optionally, Add. In the GEMM pattern the weights are constant, Mul multiplies by the product of
 * both scales, and Add adds a constant bias. In another form, Add is before Cast and adds a rounded
 * bias. ONNX Runtime's optimiser may have replaced all nodes of the GEMM pattern by
 * DynamicQuantizeMatMul, or all except DynamicQuantizeLinear by MatMulIntegerToFloat. The pattern of a dynamically quantised
 * GEMM becomes one operation of the project's own extension, or a float operation with dequantised
 * weights. The nodes of GELU are another pattern, and become one operation if the devices have
 * GELU.
 */
#ifndef NN_ORT_DYNAMIC_H
#define NN_ORT_DYNAMIC_H

#include "translate.h"

/* The role of a node in a pattern: a dynamically quantised GEMM, or GELU. */
struct dynamic_node {
	/* LAST: the node's translator translates the whole pattern */
	enum { NO_PART, SILENT, LAST } part;
	/* First node of the pattern, which is DynamicQuantizeLinear for a GEMM. */
	const struct node *quantise;
	/*
	 * product node of the GEMM; NULL for GELU. Only a LAST node has this field and the fields
	 * below.
	 */
	const struct node *product;
	uint32_t scales;			/* value of the weights' scales, or NO_VALUE */
	uint32_t zeros;				/* value of the zero points, or NO_VALUE */
	uint32_t bias;				/* graph value of the bias, or NO_VALUE */
};

/*
 * Finds the nodes of dynamically quantised GEMMs and of GELU. Translates either all or none of the
 * patterns that begin with the same DynamicQuantizeLinear.
 */
void dynamic_nodes(struct lowering *t);

/* Translates a node of a pattern that dynamic_nodes() has found. */
translator dynamic_op;

/* Returns input 0 of the GEMM as float, and the shape of input 0. */
uint32_t dynamic_in(struct lowering *t, const struct dynamic_node *d, const struct shape **shape);

/*
 * Transposes 8-bit weights [I, O] to an operand [O, I], or [O, I, H, W] to [O, H, W, I]. The operand is
 * 8-bit if has_own() returns true, otherwise float.
 */
uint32_t dynamic_weights(struct lowering *t, const struct dynamic_node *d, const void *data,
			 uint32_t rank, const uint32_t *dims);

/* Returns the bias, which has `channels` elements; zeros if the node has no bias. */
uint32_t dynamic_bias(struct lowering *t, const struct dynamic_node *d, uint32_t channels);

/* Translate the last node of a pattern (matmul.c, conv.c). */
void dynamic_matmul(struct lowering *t, const struct dynamic_node *d);
void dynamic_conv(struct lowering *t, const struct dynamic_node *d);

#endif
