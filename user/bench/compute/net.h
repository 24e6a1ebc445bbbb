/* SPDX-License-Identifier: MIT */
/*
 * Image networks with random weights, as lists of layers. Nnaccel and XNNPACK build the same graph
 * from one description of the network.
 */
#ifndef NN_BENCH_NET_H
#define NN_BENCH_NET_H

#include <stddef.h>
#include <stdint.h>

#define MAX_LAYERS 100
#define NET_OUTPUTS 12

/* The type of the numbers in a network. */
enum net_type {
	NET_F32,
	NET_QC8,		/* int8; filters are quantised per channel */
	NET_QU8,		/* uint8; filters have a zero point */
};

enum layer_kind {
	LAYER_CONV,
	LAYER_DEPTHWISE,
	LAYER_ADD,
	LAYER_POOL,		/* mean of each channel of a whole image */
	LAYER_MAX_POOL,
	LAYER_RESIZE,		/* bilinear; corners of input and output images are aligned */
};

/* The range to which a layer's activation limits the outputs. */
enum layer_range { RANGE_ANY, RANGE_RELU, RANGE_RELU6 };

/* The size and the quantisation of an image, which is a layer's input or output. */
struct image {
	uint32_t size;		/* height and width */
	uint32_t channels;
	float scale;
	int32_t zero;
};

struct layer {
	enum layer_kind kind;
	/* Height and width of the filter or, for LAYER_RESIZE, of the output. */
	uint32_t filter;
	uint32_t stride;
	uint32_t dilation;	/* dilation of LAYER_CONV and LAYER_DEPTHWISE */
	enum layer_range range;
	/* Number of the image that the layer reads; layer i writes image i + 1. */
	uint32_t from;
	uint32_t other;		/* number of the second image that LAYER_ADD reads */
	void *weights;
	void *bias;
	float *scales;		/* scale for each channel of the filter */
	int32_t weights_zero;
};

struct net {
	enum net_type type;
	uint32_t num_layers;
	struct layer layers[MAX_LAYERS];
	struct image images[MAX_LAYERS + 1];
	uint32_t num_outputs;
	uint32_t outputs[NET_OUTPUTS];	/* numbers of the images that the network returns */
	void *input;			/* random numbers for image 0, the network's input */
};

/*
 * Make networks for an image of `side` by `side` pixels (0: the network's usual size, mostly 224).
 * The weights of a network are the same in each call of the network's function.
 */
typedef void net_fn(struct net *net, enum net_type type, uint32_t side);
net_fn net_mobilenet_v1, net_mobilenet_v2, net_efficientnet_lite0, net_resnet50;

/*
 * SSD for images of 300 by 300; separate convolutions on each of six feature maps output boxes and
 * scores.
 */
net_fn net_ssd_mobilenet_v2;

/*
 * DeepLab for images of 257 by 257, which outputs scores of 21 classes for each pixel. The smallest
 * feature maps of DeepLab's MobileNetV2 have an eighth of the image's side length.
 */
net_fn net_deeplab_v3;
void net_free(struct net *net);

size_t net_element(const struct net *net);
size_t image_bytes(const struct net *net, uint32_t image);

/* Returns the number of elements in a layer's filter. */
size_t layer_weights(const struct net *net, uint32_t layer);

/* Fills memory with random bytes or, for NET_F32, random floats in [-1, 1]. */
void fill_random(enum net_type type, void *to, size_t count);

/* Allocates memory; ends the program if memory runs out. */
void *must_alloc(size_t size);

#endif /* NN_BENCH_NET_H */
