/* SPDX-License-Identifier: MIT */
/*
 * An image network as a plan of nnaccel.
 */
#include "builder.h"

enum { NONE = 0, RELU = 1, RELU6 = 3 };
enum { SAME = 1, VALID = 2 };

static int32_t tensor_type(const struct net *net)
{
	static const int32_t types[] = {
		[NET_F32] = NN_TENSOR_FLOAT32,
		[NET_QC8] = NN_TENSOR_QUANT8_ASYMM_SIGNED,
		[NET_QU8] = NN_TENSOR_QUANT8_ASYMM,
	};

	return types[net->type];
}

static uint32_t add_image(struct builder *b, const struct net *net, uint32_t index)
{
	const struct image *i = &net->images[index];
	int is_float = net->type == NET_F32;

	return builder_operand(b, tensor_type(net), 4,
			       (uint32_t[]){ 1, i->size, i->size, i->channels },
			       is_float ? 0 : i->scale, is_float ? 0 : i->zero);
}

static uint32_t add_weights(struct builder *b, const struct net *net, uint32_t index)
{
	const struct layer *l = &net->layers[index];
	uint32_t channels = net->images[index + 1].channels;
	int is_conv = l->kind == LAYER_CONV, per_channel = net->type == NET_QC8;
	uint32_t dims[] = { is_conv ? channels : 1, l->filter, l->filter,
			    is_conv ? net->images[l->from].channels : channels };
	uint32_t operand = builder_constant(b, per_channel ? NN_TENSOR_QUANT8_SYMM_PER_CHANNEL :
					    tensor_type(net), 4, dims,
					    net->type == NET_QU8 ? l->scales[0] : 0,
					    l->weights_zero, l->weights);

	if (per_channel)
		b->operands[operand].extra = (struct nn_extra){
			.kind = NN_EXTRA_CHANNEL_QUANT,
			.channel_dim = is_conv ? 0 : 3,
			.count = channels,
			.scales = l->scales,
		};
	return operand;
}

static uint32_t add_bias(struct builder *b, const struct net *net, uint32_t index)
{
	const struct layer *l = &net->layers[index];
	float scale = net->type == NET_QU8 ? net->images[l->from].scale * l->scales[0] : 0;

	return builder_constant(b, net->type == NET_F32 ? NN_TENSOR_FLOAT32 : NN_TENSOR_INT32, 1,
				&net->images[index + 1].channels, scale, 0, l->bias);
}

static uint32_t add_range(struct builder *b, const struct layer *l)
{
	return builder_int(b, l->range == RANGE_RELU6 ? RELU6 : l->range ? RELU : NONE);
}

static void add_windowed(struct builder *b, const struct net *net, uint32_t index,
			 const uint32_t *images)
{
	const struct layer *l = &net->layers[index];
	static const int32_t codes[] = {
		[LAYER_CONV] = NN_OP_CONV_2D,
		[LAYER_DEPTHWISE] = NN_OP_DEPTHWISE_CONV_2D,
		[LAYER_POOL] = NN_OP_AVERAGE_POOL_2D,
		[LAYER_MAX_POOL] = NN_OP_MAX_POOL_2D,
	};
	bool pools = l->kind == LAYER_POOL || l->kind == LAYER_MAX_POOL;
	uint32_t in[12], count = 0;

	in[count++] = images[l->from];
	if (!pools) {
		in[count++] = add_weights(b, net, index);
		in[count++] = add_bias(b, net, index);
	}
	in[count++] = builder_int(b, l->kind == LAYER_POOL ? VALID : SAME);
	in[count++] = builder_int(b, (int32_t)l->stride);
	in[count++] = builder_int(b, (int32_t)l->stride);
	if (pools) {
		in[count++] = builder_int(b, (int32_t)l->filter);
		in[count++] = builder_int(b, (int32_t)l->filter);
	} else if (l->kind == LAYER_DEPTHWISE) {
		in[count++] = builder_int(b, 1);
	}
	in[count++] = add_range(b, l);
	if (l->dilation > 1) {
		in[count++] = builder_bool(b, false);
		in[count++] = builder_int(b, (int32_t)l->dilation);
		in[count++] = builder_int(b, (int32_t)l->dilation);
	}
	builder_operation(b, codes[l->kind], count, in, images[index + 1]);
}

static void add_resize(struct builder *b, const struct layer *l, uint32_t in, uint32_t out)
{
	const int32_t size = (int32_t)l->filter;

	/*
	 * The last three inputs of RESIZE_BILINEAR select NHWC, align_corners and no
	 * half_pixel_centers.
	 */
	builder_operation(b, NN_OP_RESIZE_BILINEAR, 6, (uint32_t[]){
			  in, builder_int(b, size), builder_int(b, size), builder_bool(b, false),
			  builder_bool(b, true), builder_bool(b, false) }, out);
}

struct builder *builder_net(const struct net *net)
{
	struct builder *b = builder_create();
	uint32_t images[MAX_LAYERS + 1];

	for (uint32_t i = 0; i <= net->num_layers; i++)
		images[i] = add_image(b, net, i);
	builder_input(b, images[0]);
	for (uint32_t i = 0; i < net->num_outputs; i++)
		builder_output(b, images[net->outputs[i]]);
	for (uint32_t i = 0; i < net->num_layers; i++) {
		const struct layer *l = &net->layers[i];

		if (l->kind == LAYER_ADD)
			builder_operation(b, NN_OP_ADD, 3, (uint32_t[]){ images[l->from],
					  images[l->other], add_range(b, l) }, images[i + 1]);
		else if (l->kind == LAYER_RESIZE)
			add_resize(b, l, images[l->from], images[i + 1]);
		else
			add_windowed(b, net, i, images);
	}
	return b;
}

struct subject subject_plan(const struct net *net, uint32_t threads)
{
	return builder_subject(builder_net(net), threads);
}

struct subject subject_plan_fp16(const struct net *net, uint32_t threads)
{
	struct builder *b = builder_net(net);

	builder_halve(b);
	return builder_subject(b, threads);
}
