/* SPDX-License-Identifier: MIT */
/*
 * Dynamically quantised models: DynamicQuantizeLinear, MatMulInteger or ConvInteger of constant
 * weights, Cast, Mul with the product of both scales and, if there is one, Add of a constant bias. They
 * are one operation of the project's own extension, or one on floats with weights that are dequantised.
 */
#ifndef NN_ORT_DYNAMIC_H
#define NN_ORT_DYNAMIC_H

#include "translate.h"

/* The part that a node has in such a product. */
struct dynamic_node {
	enum { NO_PART, SILENT, LAST } part;	/* the last Mul or Add stands for all of it */
	const struct node *quantise;
	const struct node *product;		/* these are of the last one */
	uint32_t scales;			/* the value with those of the weights */
	uint32_t bias;				/* the value, or NO_VALUE */
};

/* Finds these nodes, those of a DynamicQuantizeLinear all or none. */
void dynamic_nodes(struct lowering *t);

/* The translator of a node that is a part of such a product. */
translator dynamic_op;

/* Input 0 of the product in float, and its shape. */
uint32_t dynamic_in(struct lowering *t, const struct dynamic_node *d, const struct shape **shape);

/* Whether the devices have the extension. */
bool dynamic_is_known(struct lowering *t);

/*
 * Weights of 8 bits, the elements of each of dims[0] channels together, as an operand: of 8 bits if
 * dynamic_is_known(), else of floats. The elements may be changed.
 */
uint32_t dynamic_weights(struct lowering *t, const struct dynamic_node *d, uint8_t *elements,
			 uint32_t rank, const uint32_t *dims);

/* The bias of so many channels, or zeros. */
uint32_t dynamic_bias(struct lowering *t, const struct dynamic_node *d, uint32_t channels);

/* Translates the last node (matmul.c, conv.c). */
void dynamic_matmul(struct lowering *t, const struct dynamic_node *d);
void dynamic_conv(struct lowering *t, const struct dynamic_node *d);

#endif
