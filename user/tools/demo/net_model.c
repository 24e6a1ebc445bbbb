/* SPDX-License-Identifier: MIT */
/*
 * Builds the demo's network as an NNAPI model: operands and operations layer by layer, with
 * constants in the model.
 */
#include <math.h>
#include <string.h>

#include "base/round.h"
#include "net_model.h"

#define NN_OP_SOFTMAX	25
#define PADDING_SAME	1
#define PADDING_VALID	2

struct builder {
	struct net_model *net;
	const float *params;
	const struct net_quant *quant;	/* NULL: float32 */
	uint32_t *inputs;		/* inputs of the operation that is being added */
	uint32_t num_inputs;
};

static uint32_t add_operand(struct builder *b, struct nn_operand operand)
{
	struct nn_operand *operands = b->net->operands;

	operands[b->net->subgraph.num_operands] = operand;
	return b->net->subgraph.num_operands++;
}

/* Makes an operand the next input of the operation that is being added. */
static void use(struct builder *b, uint32_t operand)
{
	b->net->operands[operand].consumers++;
	b->inputs[b->num_inputs++] = operand;
}

/* Adds a constant, and returns the memory of its value, which the caller fills in. */
static void *add_constant(struct builder *b, struct nn_operand operand)
{
	struct net_model *net = b->net;
	char *value = (char *)net->values + net->model.values_size;

	operand.lifetime = NN_CONSTANT_COPY;
	operand.location.offset = net->model.values_size;
	nn_operand_size(&operand, &operand.location.length);
	net->model.values_size += round_up(operand.location.length, 8);
	use(b, add_operand(b, operand));
	return value;
}

static void add_int(struct builder *b, int32_t value)
{
	memcpy(add_constant(b, (struct nn_operand){ .type = NN_INT32 }), &value, sizeof(value));
}

static void add_float(struct builder *b, float value)
{
	memcpy(add_constant(b, (struct nn_operand){ .type = NN_FLOAT32 }), &value, sizeof(value));
}

/* Returns an operand with the type of the network's values: float32 or quantised. */
static struct nn_operand tensor(const struct builder *b, struct quant quant)
{
	if (!b->quant)
		return (struct nn_operand){ .type = NN_TENSOR_FLOAT32 };
	return (struct nn_operand){ .type = NN_TENSOR_QUANT8_ASYMM, .scale = quant.scale,
				    .zero_point = quant.zero_point };
}

static void set_shape(struct nn_operand *o, uint32_t rank, uint32_t a, uint32_t b, uint32_t c,
		      uint32_t d)
{
	const uint32_t dims[] = { a, b, c, d };

	o->rank = rank;
	memcpy(o->dims, dims, rank * sizeof(*dims));
}

static void add_weights(struct builder *b, const struct net_layer *l)
{
	struct quant quant = b->quant ? b->quant->weights[l - net_layers] : (struct quant){ 0 };
	const float *weights = b->params + l->weights;
	struct nn_operand o = tensor(b, quant);
	void *value;

	if (l->operation == NET_FULLY_CONNECTED)
		set_shape(&o, 2, l->out_channels, l->in_channels, 0, 0);
	else if (l->operation == NET_CONV_2D)
		set_shape(&o, 4, l->out_channels, l->filter, l->filter, l->in_channels);
	else
		set_shape(&o, 4, 1, l->filter, l->filter, l->out_channels);
	value = add_constant(b, o);
	if (!b->quant)
		memcpy(value, weights, l->num_weights * sizeof(*weights));
	for (uint32_t i = 0; b->quant && i < l->num_weights; i++)
		((uint8_t *)value)[i] = quantise(quant, weights[i]);
}

/*
 * Adds the bias of a layer. The type of a quantised bias is int32; the bias's scale is the input's
 * scale times the weights' scale.
 */
static void add_bias(struct builder *b, const struct net_layer *l)
{
	const struct nn_operand *in = &b->net->operands[b->inputs[0]];
	const struct nn_operand *weights = &b->net->operands[b->inputs[1]];
	const float *bias = b->params + l->bias;
	struct nn_operand o = { .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { l->out_channels } };
	void *value;

	if (b->quant) {
		o.type = NN_TENSOR_INT32;
		o.scale = in->scale * weights->scale;
	}
	value = add_constant(b, o);
	if (!b->quant)
		memcpy(value, bias, l->out_channels * sizeof(*bias));
	for (uint32_t i = 0; b->quant && i < l->out_channels; i++)
		((int32_t *)value)[i] = (int32_t)lroundf(bias[i] / o.scale);
}

static void begin(struct builder *b, uint32_t input)
{
	b->inputs = b->net->indices + b->net->num_indices;
	b->num_inputs = 0;
	use(b, input);
}

static uint32_t finish(struct builder *b, int32_t type, struct nn_operand output)
{
	struct net_model *net = b->net;
	uint32_t index = add_operand(b, output);

	b->inputs[b->num_inputs] = index;
	net->operations[net->subgraph.num_operations++] = (struct nn_operation){
		.type = type,
		.num_inputs = b->num_inputs,
		.num_outputs = 1,
		.inputs = b->inputs,
		.outputs = b->inputs + b->num_inputs,
	};
	net->num_indices += b->num_inputs + 1;
	return index;
}

/*
 * Adds an operation's scalar parameters, which follow the operation's tensors and have the order
 * that the NNAPI defines.
 */
static void add_parameters(struct builder *b, const struct net_layer *l)
{
	int32_t stride = (int32_t)l->stride, filter = (int32_t)l->filter;

	if (l->operation != NET_FULLY_CONNECTED) {
		add_int(b, l->operation == NET_MAX_POOL_2D ? PADDING_VALID : PADDING_SAME);
		add_int(b, stride);
		add_int(b, stride);
	}
	if (l->operation == NET_DEPTHWISE_CONV_2D)
		add_int(b, (int32_t)(l->out_channels / l->in_channels));
	if (l->operation == NET_MAX_POOL_2D) {
		add_int(b, filter);
		add_int(b, filter);
	}
	add_int(b, l->activation);
}

static uint32_t add_layer(struct builder *b, const struct net_layer *l, uint32_t input)
{
	struct nn_operand out = tensor(b, b->quant ? b->quant->out[l - net_layers] :
						     (struct quant){ 0 });

	begin(b, input);
	if (l->operation != NET_MAX_POOL_2D) {
		add_weights(b, l);
		add_bias(b, l);
	}
	add_parameters(b, l);
	if (l->operation == NET_FULLY_CONNECTED)
		set_shape(&out, 2, 1, l->out_channels, 0, 0);
	else
		set_shape(&out, 4, 1, l->out_size, l->out_size, l->out_channels);
	return finish(b, l->operation, out);
}

static uint32_t add_input(struct builder *b)
{
	struct nn_operand o = tensor(b, b->quant ? b->quant->input : (struct quant){ 0 });

	o.lifetime = NN_SUBGRAPH_INPUT;
	set_shape(&o, 4, 1, DIGITS_SIZE, DIGITS_SIZE, 1);
	return add_operand(b, o);
}

static uint32_t add_softmax(struct builder *b, uint32_t input)
{
	struct nn_operand o = tensor(b, b->quant ? b->quant->probabilities : (struct quant){ 0 });

	begin(b, input);
	add_float(b, 1);
	o.lifetime = NN_SUBGRAPH_OUTPUT;
	set_shape(&o, 2, 1, DIGITS_CLASSES, 0, 0);
	return finish(b, NN_OP_SOFTMAX, o);
}

void net_model_init(struct net_model *net, const float *params, const struct net_quant *quant)
{
	struct builder b = { .net = net, .params = params, .quant = quant };
	uint32_t last;

	memset(net, 0, sizeof(*net));
	net->subgraph = (struct nn_subgraph){
		.num_inputs = 1,
		.num_outputs = 1,
		.operands = net->operands,
		.operations = net->operations,
		.inputs = &net->input,
		.outputs = &net->output,
	};
	net->model = (struct nn_model){
		.size = sizeof(struct nn_model),
		.num_subgraphs = 1,
		.subgraphs = &net->subgraph,
		.values = (const uint8_t *)net->values,
	};
	last = net->input = add_input(&b);
	for (uint32_t i = 0; i < NET_LAYERS; i++)
		last = add_layer(&b, &net_layers[i], last);
	net->output = add_softmax(&b, last);
}

static bool is_float(const struct net_model *net)
{
	return net->operands[net->input].type == NN_TENSOR_FLOAT32;
}

uint32_t net_model_input_size(const struct net_model *net)
{
	return DIGITS_PIXELS * (is_float(net) ? (uint32_t)sizeof(float) : 1);
}

uint32_t net_model_output_size(const struct net_model *net)
{
	return DIGITS_CLASSES * (is_float(net) ? (uint32_t)sizeof(float) : 1);
}

void net_model_put_image(const struct net_model *net, const uint8_t *pixels, void *input)
{
	if (!is_float(net)) {
		memcpy(input, pixels, DIGITS_PIXELS);
		return;
	}
	for (uint32_t i = 0; i < DIGITS_PIXELS; i++)
		((float *)input)[i] = (float)pixels[i] / 255;
}

uint32_t net_model_answer(const struct net_model *net, const void *output, float *probability)
{
	const struct nn_operand *o = &net->operands[net->output];
	float values[DIGITS_CLASSES];
	uint32_t answer;

	if (is_float(net))
		memcpy(values, output, sizeof(values));
	for (int i = 0; !is_float(net) && i < DIGITS_CLASSES; i++)
		values[i] = o->scale * (float)(((const uint8_t *)output)[i] - o->zero_point);
	answer = net_answer(values);
	*probability = values[answer];
	return answer;
}
