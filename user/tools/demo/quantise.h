/* SPDX-License-Identifier: MIT */
/*
 * Post-training quantisation of the demo's network to 8 bits, asymmetric, with one scale and zero
 * point for each tensor: TENSOR_QUANT8_ASYMM of the NNAPI.
 */
#ifndef NN_DEMO_QUANTISE_H
#define NN_DEMO_QUANTISE_H

#include <stdbool.h>
#include <stdint.h>

#include "net.h"

/* A real value is scale * (q - zero_point). */
struct quant {
	float scale;
	int32_t zero_point;
};

struct net_quant {
	struct quant input;	/* quantisation of the images, which are already uint8 */
	struct quant weights[NET_LAYERS];
	struct quant out[NET_LAYERS];
	struct quant probabilities;		/* fixed by SOFTMAX */
};

/*
 * Chooses the scales of weights from their extremes, and the scales of layers' outputs from the
 * extremes that training images reach. Returns false if memory runs out.
 */
bool net_calibrate(const float *params, struct net_quant *quant);

/* Returns the 8-bit number that is nearest to a value. */
uint8_t quantise(struct quant quant, float value);

#endif /* NN_DEMO_QUANTISE_H */
