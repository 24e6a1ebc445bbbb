/* SPDX-License-Identifier: MIT */
/*
 * Networks of images with random weights, as lists of layers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

#define SIDE 224
#define CLASSES 1000
#define RELU6_SCALE (6.0f / 255)
#define LINEAR_SCALE 0.05f
#define WEIGHTS_ZERO 131	/* of unsigned weights */

static uint32_t seed = 1;

static uint32_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

void *must_alloc(size_t size)
{
	/* The peer reads a little beyond what it needs. */
	void *memory = calloc(1, size + 64);

	if (!memory) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return memory;
}

void fill_random(enum net_type type, void *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t random = next_random() >> 8;

		if (type == NET_F32)
			((float *)to)[i] = (float)random / 0x1p23f - 1;
		else
			((uint8_t *)to)[i] = (uint8_t)random;
	}
}

size_t net_element(const struct net *net)
{
	return net->type == NET_F32 ? sizeof(float) : 1;
}

size_t image_bytes(const struct net *net, uint32_t image)
{
	const struct image *i = &net->images[image];

	return (size_t)i->size * i->size * i->channels * net_element(net);
}

size_t layer_weights(const struct net *net, uint32_t layer)
{
	const struct layer *l = &net->layers[layer];
	size_t taps = (size_t)l->filter * l->filter * net->images[layer + 1].channels;

	return l->kind == LAYER_CONV ? taps * net->images[l->from].channels : taps;
}

/* Weights whose products with inputs sum to about the range of the outputs. */
static void fill_layer(struct net *net, uint32_t index)
{
	struct layer *l = &net->layers[index];
	size_t count = layer_weights(net, index), outputs = net->images[index + 1].channels;
	size_t depth = l->kind == LAYER_CONV ? count / outputs : (size_t)l->filter * l->filter;
	float scale = 3 / sqrtf((float)depth) / (net->type == NET_F32 ? 1 : 127);

	l->weights = must_alloc(count * net_element(net));
	l->bias = must_alloc(outputs * sizeof(float));
	l->scales = must_alloc(outputs * sizeof(float));
	l->weights_zero = net->type == NET_QU8 ? WEIGHTS_ZERO : 0;
	fill_random(net->type, l->weights, count);
	for (size_t i = 0; i < outputs; i++)
		l->scales[i] = net->type == NET_QC8 ? scale * (0.75f + 0.5f * (float)i /
							      (float)outputs) : scale;
	for (size_t i = 0; net->type == NET_F32 && i < count; i++)
		((float *)l->weights)[i] *= scale;
	/* Per channel, -128 is no weight. */
	for (size_t i = 0; net->type == NET_QC8 && i < count; i++)
		if (((int8_t *)l->weights)[i] == -128)
			((int8_t *)l->weights)[i] = -127;
}

/* Appends a layer and returns the image that it writes. */
static uint32_t add_layer(struct net *net, struct layer layer, uint32_t channels)
{
	uint32_t index = net->num_layers++;
	const struct image *from = &net->images[layer.from];
	int is_signed = net->type == NET_QC8;

	net->layers[index] = layer;
	net->images[index + 1] = (struct image){
		.size = layer.kind == LAYER_POOL ? 1 : (from->size + layer.stride - 1) / layer.stride,
		.channels = channels,
		.scale = layer.kind == LAYER_POOL ? from->scale :
			 layer.relu6 ? RELU6_SCALE : LINEAR_SCALE,
		.zero = layer.kind == LAYER_POOL ? from->zero :
			(layer.relu6 ? 0 : 128) - (is_signed ? 128 : 0),
	};
	if (layer.kind == LAYER_CONV || layer.kind == LAYER_DEPTHWISE)
		fill_layer(net, index);
	return index + 1;
}

static uint32_t conv(struct net *net, uint32_t from, uint32_t filter, uint32_t stride,
		     uint32_t channels, int relu6)
{
	return add_layer(net, (struct layer){ .kind = LAYER_CONV, .filter = filter,
			 .stride = stride, .from = from, .relu6 = relu6 }, channels);
}

static uint32_t depthwise(struct net *net, uint32_t from, uint32_t stride)
{
	return add_layer(net, (struct layer){ .kind = LAYER_DEPTHWISE, .filter = 3,
			 .stride = stride, .from = from, .relu6 = 1 },
			 net->images[from].channels);
}

static void begin(struct net *net, enum net_type type)
{
	memset(net, 0, sizeof(*net));
	seed = 1;
	net->type = type;
	net->images[0] = (struct image){ SIDE, 3, 1.0f / 128, type == NET_QC8 ? 0 : 128 };
}

static void end(struct net *net, uint32_t from)
{
	from = add_layer(net, (struct layer){ .kind = LAYER_POOL, .filter = net->images[from].size,
			 .stride = 1, .from = from, .relu6 = 0 }, net->images[from].channels);
	conv(net, from, 1, 1, CLASSES, 0);
}

void net_mobilenet_v1(struct net *net, enum net_type type)
{
	static const struct {
		uint32_t stride;
		uint32_t channels;
	} blocks[] = {
		{ 1, 64 }, { 2, 128 }, { 1, 128 }, { 2, 256 }, { 1, 256 }, { 2, 512 }, { 1, 512 },
		{ 1, 512 }, { 1, 512 }, { 1, 512 }, { 1, 512 }, { 2, 1024 }, { 1, 1024 },
	};
	uint32_t at;

	begin(net, type);
	at = conv(net, 0, 3, 2, 32, 1);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		at = depthwise(net, at, blocks[i].stride);
		at = conv(net, at, 1, 1, blocks[i].channels, 1);
	}
	end(net, at);
}

/* An inverted bottleneck: wide inside, added to its input where the shapes agree. */
static uint32_t bottleneck(struct net *net, uint32_t from, uint32_t expand, uint32_t stride,
			   uint32_t channels)
{
	uint32_t at = from;

	if (expand > 1)
		at = conv(net, at, 1, 1, net->images[from].channels * expand, 1);
	at = depthwise(net, at, stride);
	at = conv(net, at, 1, 1, channels, 0);
	if (stride == 1 && channels == net->images[from].channels)
		at = add_layer(net, (struct layer){ .kind = LAYER_ADD, .stride = 1, .from = at,
			       .other = from }, channels);
	return at;
}

void net_mobilenet_v2(struct net *net, enum net_type type)
{
	static const struct {
		uint32_t expand;
		uint32_t channels;
		uint32_t repeat;
		uint32_t stride;
	} stages[] = {
		{ 1, 16, 1, 1 }, { 6, 24, 2, 2 }, { 6, 32, 3, 2 }, { 6, 64, 4, 2 },
		{ 6, 96, 3, 1 }, { 6, 160, 3, 2 }, { 6, 320, 1, 1 },
	};
	uint32_t at;

	begin(net, type);
	at = conv(net, 0, 3, 2, 32, 1);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		for (uint32_t j = 0; j < stages[i].repeat; j++)
			at = bottleneck(net, at, stages[i].expand, j ? 1 : stages[i].stride,
					stages[i].channels);
	end(net, conv(net, at, 1, 1, 1280, 1));
}

void net_free(struct net *net)
{
	for (uint32_t i = 0; i < net->num_layers; i++) {
		free(net->layers[i].weights);
		free(net->layers[i].bias);
		free(net->layers[i].scales);
	}
}
