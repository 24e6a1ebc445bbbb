/* SPDX-License-Identifier: MIT */
/* An image network that runs by direct calls of XNNPACK's runtime. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "subject.h"

#ifdef NN_BENCH_XNNPACK

#include "xnnpack_peer.h"

static enum xnn_datatype image_type(const struct net *net)
{
	return net->type == NET_F32 ? xnn_datatype_fp32 :
	       net->type == NET_QC8 ? xnn_datatype_qint8 : xnn_datatype_quint8;
}

static uint32_t define(xnn_subgraph_t g, enum xnn_datatype type, float scale, int32_t zero,
		       size_t rank, const size_t *dims, const void *data, uint32_t external,
		       uint32_t flags)
{
	uint32_t id;

	if (type == xnn_datatype_fp32)
		xnn_must(xnn_define_tensor_value(g, type, rank, dims, data, external, flags, &id),
			 "tensor");
	else
		xnn_must(xnn_define_quantized_tensor_value(g, type, zero, scale, rank, dims, data,
							   external, flags, &id), "tensor");
	return id;
}

static uint32_t define_image(xnn_subgraph_t g, const struct net *net, uint32_t index)
{
	const struct image *i = &net->images[index];
	size_t dims[] = { 1, i->size, i->size, i->channels };
	uint32_t external = XNN_INVALID_VALUE_ID, flags = 0;

	if (index == 0) {
		external = PEER_IN;
		flags = XNN_VALUE_FLAG_EXTERNAL_INPUT;
	}
	for (uint32_t k = 0; k < net->num_outputs; k++)
		if (net->outputs[k] == index) {
			external = PEER_IN + 1 + k;
			flags = XNN_VALUE_FLAG_EXTERNAL_OUTPUT;
		}
	return define(g, image_type(net), i->scale, i->zero, 4, dims, NULL, external, flags);
}

static uint32_t define_weights(xnn_subgraph_t g, const struct net *net, uint32_t index)
{
	const struct layer *l = &net->layers[index];
	size_t channels = net->images[index + 1].channels;
	int is_conv = l->kind == LAYER_CONV;
	size_t dims[] = { is_conv ? channels : 1, l->filter, l->filter,
			  is_conv ? net->images[l->from].channels : channels };
	uint32_t id;

	if (net->type != NET_QC8)
		return define(g, image_type(net), l->scales[0], l->weights_zero, 4, dims,
			      l->weights, XNN_INVALID_VALUE_ID, 0);
	xnn_must(xnn_define_channelwise_quantized_tensor_value(g, xnn_datatype_qcint8, l->scales,
				4, is_conv ? 0 : 3, dims, l->weights, XNN_INVALID_VALUE_ID, 0,
				&id), "filter");
	return id;
}

static uint32_t define_bias(xnn_subgraph_t g, const struct net *net, uint32_t index)
{
	const struct layer *l = &net->layers[index];
	size_t channels = net->images[index + 1].channels;
	uint32_t id;

	if (net->type != NET_QC8)
		return define(g, net->type == NET_F32 ? xnn_datatype_fp32 : xnn_datatype_qint32,
			      net->images[l->from].scale * l->scales[0], 0, 1, &channels, l->bias,
			      XNN_INVALID_VALUE_ID, 0);
	xnn_must(xnn_define_channelwise_quantized_tensor_value(g, xnn_datatype_qcint32, l->scales,
				1, 0, &channels, l->bias, XNN_INVALID_VALUE_ID, 0, &id), "bias");
	return id;
}

#if NN_BENCH_XNNPACK >= 2024

static void define_add(xnn_subgraph_t g, float low, float high, uint32_t a, uint32_t b,
		       uint32_t out)
{
	/* Pass no range if the output is unlimited, because XNNPACK adds a node for any range. */
	const struct xnn_binary_params range = { low, high < FLT_MAX ? high : INFINITY };

	xnn_must(xnn_define_binary(g, xnn_binary_add, low < 0 ? NULL : &range, a, b, out, 0),
		 "add");
}

/* Without XNN_FLAG_KEEP_DIMS the output has two dimensions, but the next convolution needs four. */
static void define_pool(xnn_subgraph_t g, uint32_t in, uint32_t out)
{
	xnn_must(xnn_define_static_reduce(g, xnn_reduce_mean, 2, (size_t[]){ 1, 2 }, in, out,
					  XNN_FLAG_KEEP_DIMS), "pool");
}

#else

static void define_add(xnn_subgraph_t g, float low, float high, uint32_t a, uint32_t b,
		       uint32_t out)
{
	xnn_must(xnn_define_add2(g, low, high, a, b, out, 0), "add");
}

static void define_pool(xnn_subgraph_t g, uint32_t in, uint32_t out)
{
	xnn_must(xnn_define_global_average_pooling_2d(g, -FLT_MAX, FLT_MAX, in, out, 0), "pool");
}

#endif

static void define_layer(xnn_subgraph_t g, const struct net *net, uint32_t index,
			 const uint32_t *images)
{
	const struct layer *l = &net->layers[index];
	uint32_t in = images[l->from], out = images[index + 1], w, b;
	float low = l->range ? 0 : -FLT_MAX, high = l->range == RANGE_RELU6 ? 6 : FLT_MAX;
	size_t depth = net->images[l->from].channels, channels = net->images[index + 1].channels;
	uint32_t f = l->filter, s = l->stride, d = l->dilation;

	if (l->kind == LAYER_ADD) {
		define_add(g, low, high, in, images[l->other], out);
		return;
	}
	if (l->kind == LAYER_POOL) {
		define_pool(g, in, out);
		return;
	}
	if (l->kind == LAYER_MAX_POOL) {
		xnn_must(xnn_define_max_pooling_2d(g, 0, 0, 0, 0, f, f, s, s, 1, 1, low, high, in,
						   out, XNN_FLAG_TENSORFLOW_SAME_PADDING), "pool");
		return;
	}
	if (l->kind == LAYER_RESIZE) {
		xnn_must(xnn_define_static_resize_bilinear_2d(g, f, f, in, out,
							      XNN_FLAG_ALIGN_CORNERS), "resize");
		return;
	}
	w = define_weights(g, net, index);
	b = define_bias(g, net, index);
	if (l->kind == LAYER_CONV)
		xnn_must(xnn_define_convolution_2d(g, 0, 0, 0, 0, f, f, s, s, d, d, 1, depth,
						   channels, low, high, in, w, b, out,
						   XNN_FLAG_TENSORFLOW_SAME_PADDING), "conv");
	else
		xnn_must(xnn_define_depthwise_convolution_2d(g, 0, 0, 0, 0, f, f, s, s, d, d, 1,
							     channels, low, high, in, w, b, out,
							     XNN_FLAG_TENSORFLOW_SAME_PADDING),
			 "depthwise");
}

struct subject subject_xnnpack(const struct net *net, uint32_t threads)
{
	uint32_t images[MAX_LAYERS + 1];
	xnn_subgraph_t g = peer_begin(net->num_outputs);

	for (uint32_t i = 0; i <= net->num_layers; i++)
		images[i] = define_image(g, net, i);
	for (uint32_t i = 0; i < net->num_layers; i++)
		define_layer(g, net, i, images);
	return peer_end(g, threads, net);
}

#else

struct subject subject_xnnpack(const struct net *net, uint32_t threads)
{
	(void)net;
	(void)threads;
	return (struct subject){ NULL, NULL, NULL };
}

#endif
