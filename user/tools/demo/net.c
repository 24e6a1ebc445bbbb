/* SPDX-License-Identifier: MIT */
/*
 * A small separable convolutional network for 28x28 images, and its plain forward pass. The forward
 * pass computes sums in a fixed order, so that its results are reproducible.
 */
#include <string.h>

#include "net.h"

const struct net_layer net_layers[NET_LAYERS] = {
	{ NET_CONV_2D, 28, 1, 14, 8, 5, 2, 1, NET_RELU6, 0, 200, 200 },
	{ NET_DEPTHWISE_CONV_2D, 14, 8, 7, 16, 3, 2, 0, NET_RELU6, 208, 144, 352 },
	{ NET_CONV_2D, 7, 16, 7, 24, 1, 1, 0, NET_RELU6, 368, 384, 752 },
	{ NET_MAX_POOL_2D, 7, 24, 3, 24, 2, 2, 0, NET_NONE, 0, 0, 0 },
	{ NET_FULLY_CONNECTED, 1, 216, 1, 32, 1, 1, 0, NET_RELU, 776, 6912, 7688 },
	{ NET_FULLY_CONNECTED, 1, 32, 1, 10, 1, 1, 0, NET_NONE, 7720, 320, 8040 },
};

struct net_span net_span(const struct net_layer *layer, uint32_t o)
{
	/* row (or column) of the padded image at which the filter begins */
	uint32_t start = o * layer->stride;
	struct net_span s = { 0, layer->filter, 0 };

	if (start < layer->pad)
		s.first = layer->pad - start;
	s.in = start + s.first - layer->pad;
	if (start + layer->filter > layer->pad + layer->in_size)
		s.end = layer->pad + layer->in_size - start;
	return s;
}

static float dot(const float *a, const float *b, uint32_t count)
{
	float sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

static void conv(const struct net_layer *l, const float *in, const float *weights,
		 struct net_span ys, struct net_span xs, float *out)
{
	uint32_t row = l->in_size * l->in_channels, count = (xs.end - xs.first) * l->in_channels;

	for (uint32_t k = ys.first; k < ys.end; k++) {
		const float *x = in + (ys.in + k - ys.first) * row + xs.in * l->in_channels;

		for (uint32_t c = 0; c < l->out_channels; c++)
			out[c] += dot(x, weights + ((c * l->filter + k) * l->filter + xs.first) *
				      l->in_channels, count);
	}
}

static void depthwise(const struct net_layer *l, const float *in, const float *weights,
		      struct net_span ys, struct net_span xs, float *out)
{
	uint32_t multiplier = l->out_channels / l->in_channels;

	for (uint32_t k = ys.first; k < ys.end; k++) {
		for (uint32_t j = xs.first; j < xs.end; j++) {
			const float *x = in + ((ys.in + k - ys.first) * l->in_size +
					       xs.in + j - xs.first) * l->in_channels;
			const float *w = weights + (k * l->filter + j) * l->out_channels;

			for (uint32_t c = 0; c < l->out_channels; c++)
				out[c] += x[c / multiplier] * w[c];
		}
	}
}

static void max_pool(const struct net_layer *l, const float *in, struct net_span ys,
		     struct net_span xs, float *out)
{
	for (uint32_t c = 0; c < l->out_channels; c++) {
		float best = in[(ys.in * l->in_size + xs.in) * l->in_channels + c];

		for (uint32_t k = 0; k < ys.end; k++) {
			for (uint32_t j = 0; j < xs.end; j++) {
				float v = in[((ys.in + k) * l->in_size + xs.in + j) *
					     l->in_channels + c];

				best = v > best ? v : best;
			}
		}
		out[c] = best;
	}
}

static float activate(int32_t activation, float v)
{
	if (activation == NET_NONE)
		return v;
	if (activation == NET_RELU6 && v > 6)
		return 6;
	return v > 0 ? v : 0;
}

static void forward_layer(const struct net_layer *l, const float *params, const float *in,
			  float *out)
{
	const float *weights = params + l->weights;

	for (uint32_t o = 0; o < l->out_size * l->out_size; o++, out += l->out_channels) {
		struct net_span ys = net_span(l, o / l->out_size);
		struct net_span xs = net_span(l, o % l->out_size);

		if (l->operation == NET_MAX_POOL_2D) {
			max_pool(l, in, ys, xs, out);
			continue;
		}
		memcpy(out, params + l->bias, l->out_channels * sizeof(*out));
		if (l->operation == NET_DEPTHWISE_CONV_2D)
			depthwise(l, in, weights, ys, xs, out);
		else
			conv(l, in, weights, ys, xs, out);
		for (uint32_t c = 0; c < l->out_channels; c++)
			out[c] = activate(l->activation, out[c]);
	}
}

void net_forward(const float *params, const uint8_t *pixels, struct net_values *values)
{
	const float *in = values->input;

	for (uint32_t i = 0; i < DIGITS_PIXELS; i++)
		values->input[i] = (float)pixels[i] / 255;
	for (uint32_t i = 0; i < NET_LAYERS; i++) {
		forward_layer(&net_layers[i], params, in, values->out[i]);
		in = values->out[i];
	}
}

uint32_t net_answer(const float *values)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < DIGITS_CLASSES; i++)
		if (values[i] > values[best])
			best = i;
	return best;
}

uint64_t net_hash(const float *params)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (uint32_t i = 0; i < NET_PARAMS; i++) {
		uint32_t bits;

		memcpy(&bits, &params[i], sizeof(bits));
		for (uint32_t k = 0; k < 32; k += 8)
			hash = (hash ^ (bits >> k & 0xff)) * UINT64_C(0x100000001b3);
	}
	return hash;
}
