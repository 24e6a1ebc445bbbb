/* SPDX-License-Identifier: MIT */
/*
 * Post-training quantisation of the demo's network to 8 bits. The type is the NNAPI's
 * TENSOR_QUANT8_ASYMM: asymmetric, with one scale and one zero point for each tensor.
 */
#ifndef NN_DEMO_QUANTISE_H
#define NN_DEMO_QUANTISE_H

#include <stdbool.h>
#include <stdint.h>

#include "net.h"

/* The quantisation of a tensor: a number q represents the value scale * (q - zero_point). */
struct quant {
	float scale;
	int32_t zero_point;
};

struct net_quant {
	struct quant input;	/* quantisation of the images, which are uint8 from the start */
	struct quant weights[NET_LAYERS];
	struct quant out[NET_LAYERS];
	struct quant probabilities;		/* fixed by SOFTMAX */
};

/*
 * Chooses the scales of weights from the extremes of the weights, and the scales of layers' outputs
 * from the extremes that training images reach. Returns false if memory runs out.
 */
bool net_calibrate(const float *params, struct net_quant *quant);

/* Returns the 8-bit number that represents a value with the smallest error. */
uint8_t quantise(struct quant quant, float value);

#endif /* NN_DEMO_QUANTISE_H */
