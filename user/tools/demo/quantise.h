/* SPDX-License-Identifier: MIT */
/*
 * Post-training quantisation of the demo's network to 8 bits, asymmetric, one
 * scale and zero point a tensor: TENSOR_QUANT8_ASYMM of the NNAPI.
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
 * Chooses the scales: those of the weights by their extremes, those of the layers' outputs by the
 * extremes that training images reach. Returns false if memory runs out.
 */
bool net_calibrate(const float *params, struct net_quant *quant);

/* Returns the 8-bit number that is nearest to a value. */
uint8_t quantise(struct quant quant, float value);

#endif /* NN_DEMO_QUANTISE_H */
