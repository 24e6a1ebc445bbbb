/* SPDX-License-Identifier: MIT */
/*
 * Image networks with random weights, as lists of layers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

#define CLASSES 1000
#define RELU6_SCALE (6.0f / 255)
#define LINEAR_SCALE 0.05f
#define WEIGHTS_ZERO 131	/* zero point of unsigned weights */

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
	/*
	 * Allocate more than `size`, because XNNPACK reads a few bytes beyond the end of a buffer.
	 */
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

/*
 * Makes random weights for a layer. The weights are scaled so that sums of products with inputs
 * have about the range of the layer's outputs.
 */
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
	/* In a per-channel quantised filter, -128 is not a valid weight. */
	for (size_t i = 0; net->type == NET_QC8 && i < count; i++)
		if (((int8_t *)l->weights)[i] == -128)
			((int8_t *)l->weights)[i] = -127;
}

/* Appends a layer to the network and returns the image that the layer writes. */
static uint32_t add_layer(struct net *net, struct layer layer, uint32_t channels)
{
	uint32_t index = net->num_layers++;
	const struct image *from = &net->images[layer.from];
	int is_signed = net->type == NET_QC8;
	/* Layers that select or average values keep the scale of the input. */
	int keeps = layer.kind == LAYER_POOL || layer.kind == LAYER_MAX_POOL ||
		    layer.kind == LAYER_RESIZE;

	if (index == MAX_LAYERS)
		abort();
	net->layers[index] = layer;
	net->images[index + 1] = (struct image){
		.size = layer.kind == LAYER_POOL ? 1 : layer.kind == LAYER_RESIZE ? layer.filter :
			(from->size + layer.stride - 1) / layer.stride,
		.channels = channels,
		.scale = keeps ? from->scale :
			 layer.range == RANGE_RELU6 ? RELU6_SCALE : LINEAR_SCALE,
		.zero = keeps ? from->zero : (layer.range ? 0 : 128) - (is_signed ? 128 : 0),
	};
	if (layer.kind == LAYER_CONV || layer.kind == LAYER_DEPTHWISE)
		fill_layer(net, index);
	return index + 1;
}

static uint32_t conv(struct net *net, uint32_t from, uint32_t filter, uint32_t stride,
		     uint32_t channels, enum layer_range range)
{
	return add_layer(net, (struct layer){ .kind = LAYER_CONV, .filter = filter,
			 .stride = stride, .dilation = 1, .from = from, .range = range }, channels);
}

static uint32_t depthwise(struct net *net, uint32_t from, uint32_t filter, uint32_t stride,
			  uint32_t dilation)
{
	return add_layer(net, (struct layer){ .kind = LAYER_DEPTHWISE, .filter = filter,
			 .stride = stride, .dilation = dilation, .from = from,
			 .range = RANGE_RELU6 }, net->images[from].channels);
}

static uint32_t add(struct net *net, uint32_t from, uint32_t other, enum layer_range range)
{
	return add_layer(net, (struct layer){ .kind = LAYER_ADD, .stride = 1, .from = from,
			 .other = other, .range = range }, net->images[from].channels);
}

/* Adds a layer that computes the mean of each channel of an image. */
static uint32_t pool(struct net *net, uint32_t from)
{
	return add_layer(net, (struct layer){ .kind = LAYER_POOL, .filter = net->images[from].size,
			 .stride = 1, .from = from }, net->images[from].channels);
}

static uint32_t resize(struct net *net, uint32_t from, uint32_t size)
{
	return add_layer(net, (struct layer){ .kind = LAYER_RESIZE, .filter = size, .from = from },
			 net->images[from].channels);
}

static void begin(struct net *net, enum net_type type, uint32_t side)
{
	memset(net, 0, sizeof(*net));
	seed = 1;
	net->type = type;
	net->images[0] = (struct image){ side, 3, 1.0f / 128, type == NET_QC8 ? 0 : 128 };
	net->input = must_alloc(image_bytes(net, 0));
	fill_random(type, net->input, image_bytes(net, 0) / net_element(net));
}

static void add_output(struct net *net, uint32_t image)
{
	if (net->num_outputs == NET_OUTPUTS)
		abort();
	net->outputs[net->num_outputs++] = image;
}

static void classify(struct net *net, uint32_t from)
{
	add_output(net, conv(net, pool(net, from), 1, 1, CLASSES, RANGE_ANY));
}

void net_mobilenet_v1(struct net *net, enum net_type type, uint32_t side)
{
	static const struct {
		uint32_t stride;
		uint32_t channels;
	} blocks[] = {
		{ 1, 64 }, { 2, 128 }, { 1, 128 }, { 2, 256 }, { 1, 256 }, { 2, 512 }, { 1, 512 },
		{ 1, 512 }, { 1, 512 }, { 1, 512 }, { 1, 512 }, { 2, 1024 }, { 1, 1024 },
	};
	uint32_t at;

	begin(net, type, side ? side : 224);
	at = conv(net, 0, 3, 2, 32, RANGE_RELU6);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		at = depthwise(net, at, 3, blocks[i].stride, 1);
		at = conv(net, at, 1, 1, blocks[i].channels, RANGE_RELU6);
	}
	classify(net, at);
}

/* A series of inverted bottlenecks; only the first bottleneck of the series has a stride. */
struct stage {
	uint32_t expand;
	uint32_t channels;
	uint32_t repeat;
	uint32_t stride;
	uint32_t filter;
};

/*
 * Adds an inverted bottleneck, which has more channels inside than at its input and output. If
 * input and output of the inverted bottleneck have the same shape, an ADD adds the input to the
 * output.
 */
static uint32_t bottleneck(struct net *net, uint32_t from, const struct stage *s, uint32_t stride,
			   uint32_t dilation)
{
	uint32_t at = from;

	if (s->expand > 1)
		at = conv(net, at, 1, 1, net->images[from].channels * s->expand, RANGE_RELU6);
	at = depthwise(net, at, s->filter, stride, dilation);
	at = conv(net, at, 1, 1, s->channels, RANGE_ANY);
	if (stride == 1 && s->channels == net->images[from].channels)
		at = add(net, at, from, RANGE_ANY);
	return at;
}

/*
 * Adds the network's first convolution and stages of bottlenecks. A layer that would shrink the
 * network's image by more than the factor `at_most` gets a dilation instead of a stride.
 */
static uint32_t bottlenecks(struct net *net, const struct stage *stages, size_t count,
			    uint32_t at_most)
{
	uint32_t at = conv(net, 0, 3, 2, 32, RANGE_RELU6), shrunk = 2, dilation = 1;

	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < stages[i].repeat; j++) {
			uint32_t stride = j ? 1 : stages[i].stride, after = stride;

			if (shrunk * stride > at_most)
				stride = 1;
			at = bottleneck(net, at, &stages[i], stride, dilation);
			shrunk *= stride;
			dilation *= after / stride;
		}
	return at;
}

static const struct stage mobilenet_v2[] = {
	{ 1, 16, 1, 1, 3 }, { 6, 24, 2, 2, 3 }, { 6, 32, 3, 2, 3 }, { 6, 64, 4, 2, 3 },
	{ 6, 96, 3, 1, 3 }, { 6, 160, 3, 2, 3 }, { 6, 320, 1, 1, 3 },
};

#define STAGES(stages) (stages), sizeof(stages) / sizeof((stages)[0])

void net_mobilenet_v2(struct net *net, enum net_type type, uint32_t side)
{
	begin(net, type, side ? side : 224);
	classify(net, conv(net, bottlenecks(net, STAGES(mobilenet_v2), 32), 1, 1, 1280,
			   RANGE_RELU6));
}

void net_efficientnet_lite0(struct net *net, enum net_type type, uint32_t side)
{
	static const struct stage stages[] = {
		{ 1, 16, 1, 1, 3 }, { 6, 24, 2, 2, 3 }, { 6, 40, 2, 2, 5 }, { 6, 80, 3, 2, 3 },
		{ 6, 112, 3, 1, 5 }, { 6, 192, 4, 2, 5 }, { 6, 320, 1, 1, 3 },
	};

	begin(net, type, side ? side : 224);
	classify(net, conv(net, bottlenecks(net, STAGES(stages), 32), 1, 1, 1280, RANGE_RELU6));
}

/*
 * Adds a bottleneck, which has fewer channels inside than at its output. The last layer adds the
 * bottleneck's input, or a projection of the input, to the bottleneck's output.
 */
static uint32_t residual(struct net *net, uint32_t from, uint32_t channels, uint32_t stride)
{
	uint32_t at = conv(net, from, 1, 1, channels, RANGE_RELU), other = from;

	at = conv(net, at, 3, stride, channels, RANGE_RELU);
	at = conv(net, at, 1, 1, channels * 4, RANGE_ANY);
	if (net->images[from].channels != channels * 4)
		other = conv(net, from, 1, stride, channels * 4, RANGE_ANY);
	return add(net, at, other, RANGE_RELU);
}

void net_resnet50(struct net *net, enum net_type type, uint32_t side)
{
	static const uint32_t repeats[] = { 3, 4, 6, 3 };
	uint32_t at;

	begin(net, type, side ? side : 224);
	at = conv(net, 0, 7, 2, 64, RANGE_RELU);
	at = add_layer(net, (struct layer){ .kind = LAYER_MAX_POOL, .filter = 3, .stride = 2,
		       .from = at }, 64);
	for (uint32_t i = 0; i < sizeof(repeats) / sizeof(repeats[0]); i++)
		for (uint32_t j = 0; j < repeats[i]; j++)
			at = residual(net, at, 64 << i, i && !j ? 2 : 1);
	classify(net, at);
}

/* Returns the image that the last convolution with `channels` output channels writes. */
static uint32_t widened(const struct net *net, uint32_t channels)
{
	uint32_t i = net->num_layers;

	while (net->layers[i - 1].kind != LAYER_CONV || net->images[i].channels != channels)
		i--;
	return i;
}

void net_ssd_mobilenet_v2(struct net *net, enum net_type type, uint32_t side)
{
	static const uint32_t extra[] = { 512, 256, 256, 128 };
	uint32_t maps[6];

	begin(net, type, side ? side : 300);
	maps[1] = bottlenecks(net, STAGES(mobilenet_v2), 32);
	maps[0] = widened(net, 576);
	maps[1] = conv(net, maps[1], 1, 1, 1280, RANGE_RELU6);
	for (uint32_t i = 0; i < 4; i++)
		maps[i + 2] = conv(net, conv(net, maps[i + 1], 1, 1, extra[i] / 2, RANGE_RELU6), 3,
				   2, extra[i], RANGE_RELU6);
	/*
	 * For each point of each feature map, add convolutions that output boxes of 3 or 6 shapes,
	 * and scores of 91 classes for each box.
	 */
	for (uint32_t i = 0; i < 6; i++) {
		add_output(net, conv(net, maps[i], 1, 1, (i ? 6 : 3) * 4, RANGE_ANY));
		add_output(net, conv(net, maps[i], 1, 1, (i ? 6 : 3) * 91, RANGE_ANY));
	}
}

void net_deeplab_v3(struct net *net, enum net_type type, uint32_t side)
{
	uint32_t at, mean;

	begin(net, type, side ? side : 257);
	at = bottlenecks(net, STAGES(mobilenet_v2), 8);
	mean = conv(net, pool(net, at), 1, 1, 256, RANGE_RELU6);
	mean = resize(net, mean, net->images[at].size);
	at = conv(net, at, 1, 1, 256, RANGE_RELU6);
	/*
	 * Add the convolutions of both images, because the sum equals one convolution of the
	 * concatenated images.
	 */
	at = add(net, conv(net, at, 1, 1, 256, RANGE_ANY), conv(net, mean, 1, 1, 256, RANGE_ANY),
		 RANGE_RELU6);
	at = conv(net, at, 1, 1, 21, RANGE_ANY);
	add_output(net, resize(net, at, net->images[0].size));
}

void net_free(struct net *net)
{
	free(net->input);
	for (uint32_t i = 0; i < net->num_layers; i++) {
		free(net->layers[i].weights);
		free(net->layers[i].bias);
		free(net->layers[i].scales);
	}
}
