/* SPDX-License-Identifier: MIT */
/*
 * The demo's network: layers, parameters, and a plain forward pass for training and for choosing
 * quantisation.
 */
#ifndef NN_DEMO_NET_H
#define NN_DEMO_NET_H

#include <stdint.h>

#include "digits.h"

/* NNAPI codes of the operations that the layers use. */
enum {
	NET_CONV_2D = 3,
	NET_DEPTHWISE_CONV_2D = 4,
	NET_FULLY_CONNECTED = 9,
	NET_MAX_POOL_2D = 17,
};

/* NNAPI codes of the fused activations that the layers use. */
enum {
	NET_NONE = 0,
	NET_RELU = 1,
	NET_RELU6 = 3,
};

/*
 * A layer with a square filter and channels last. A fully connected layer is a convolution whose
 * output is one pixel.
 */
struct net_layer {
	int32_t operation;
	uint32_t in_size, in_channels;
	uint32_t out_size, out_channels;
	uint32_t filter, stride;
	uint32_t pad;			/* rows and columns of padding before the image */
	int32_t activation;
	uint32_t weights;		/* index of the layer's first parameter */
	/* dimensions of weights: out, height, width, in; if depthwise: height, width, out */
	uint32_t num_weights;
	uint32_t bias;
};

#define NET_LAYERS	6
#define NET_PARAMS	8050
#define NET_MAX_VALUES	(14 * 14 * 8)	/* maximum number of values in a layer's output */

extern const struct net_layer net_layers[NET_LAYERS];

/* Outputs of each layer for one image. The outputs of the last layer are the logits. */
struct net_values {
	float input[DIGITS_PIXELS];
	float out[NET_LAYERS][NET_MAX_VALUES];
};

static inline uint32_t net_out_count(const struct net_layer *layer)
{
	return layer->out_size * layer->out_size * layer->out_channels;
}

/* The rows (or columns) of a filter that lie inside the image for output row (or column) `o`. */
struct net_span {
	uint32_t first, end;		/* rows of the filter */
	uint32_t in;			/* row of the image that meets the filter's row `first` */
};
struct net_span net_span(const struct net_layer *layer, uint32_t o);

/* Runs the network on an image; `params` are the parameters, float[NET_PARAMS]. */
void net_forward(const float *params, const uint8_t *pixels, struct net_values *values);

/* Returns the index of the largest of DIGITS_CLASSES logits or probabilities. */
uint32_t net_answer(const float *values);

/* Returns the FNV-1a hash of the parameters' bytes, least significant byte first. */
uint64_t net_hash(const float *params);

#endif /* NN_DEMO_NET_H */
