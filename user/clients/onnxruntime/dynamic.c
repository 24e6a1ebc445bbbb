// SPDX-License-Identifier: MIT
/*
 * Finds GEMMs whose activations are quantised at run time, and reads their weights. Finds the nodes
 * of GELU.
 */
#include "dynamic.h"

#include <math.h>
#include <string.h>

#include <nnaccel/operation.h>

/* ---- search ---- */

static bool is_constant(const struct graph *graph, uint32_t value, int type)
{
	return value != NO_VALUE && graph->values[value].data && graph->values[value].type == type;
}

/*
 * If one input of a Mul or Add is `value`, returns the other input; NO_VALUE if the node is not
 * `op`.
 */
static uint32_t other_input(const struct node *node, const char *op, uint32_t value)
{
	if (!is_op(node, op) || node->in_count != 2 || node->in[0] == node->in[1])
		return NO_VALUE;
	return node->in[0] == value ? node->in[1] : node->in[1] == value ? node->in[0] : NO_VALUE;
}

/* Returns whether a value has one element for each output channel, along the axis of channels. */
static bool is_by_channel(const struct graph *graph, uint32_t value, const struct node *product)
{
	const struct shape *w = &graph->values[product->in[1]].shape, *shape = &graph->values[value].shape;
	const bool is_conv = is_op(product, "ConvInteger");
	const int behind = is_conv ? w->rank - 2 : 0;	/* spatial dimensions */

	return w->rank > 1 && shape->rank > behind && shape->rank <= behind + (is_conv ? 2 : 1) &&
	       shape->dims[shape->rank - 1 - behind] == w->dims[is_conv ? 0 : 1] &&
	       shape_count(shape) == w->dims[is_conv ? 0 : 1];
}

/* Returns whether a value is a constant that can be a bias. */
static bool is_bias(const struct graph *graph, uint32_t value, const struct node *product)
{
	return is_constant(graph, value, ONNX_FLOAT) && is_by_channel(graph, value, product);
}

static bool has_constant_weights(const struct graph *graph, const struct node *product, uint32_t zero)
{
	uint32_t w = product->in[1];
	int type = w == NO_VALUE ? ONNX_NONE : graph->values[w].type;

	return (type == ONNX_UINT8 || type == ONNX_INT8) && is_constant(graph, w, type) &&
	       (zero == NO_VALUE || is_constant(graph, zero, type));
}

/* A pattern of nodes: a GEMM that reads the output of `quantise`, and the nodes after the GEMM. */
struct chain {
	const struct node *silent[9];	/* all nodes besides `quantise`, the product and `last` */
	uint32_t silents;
	uint32_t scaled;		/* how many nodes read the scale of `quantise` */
	struct dynamic_node what;
	/* last node of the pattern: the product, the Mul, or the Add of a bias */
	const struct node *last;
};

/*
 * Finds a product that itself has inputs for the weights' scales (input `scales`), zero points
 * (input `scales` + `step`) and bias (the next input).
 */
static bool find_product(const struct graph *graph, const struct node *quantise,
			 const struct node *product, uint32_t scales, uint32_t step, struct chain *c)
{
	const uint32_t bias = input_of(product, scales + step + 1);

	*c = (struct chain){ .scaled = 1, .last = product };
	c->what = (struct dynamic_node){
		.part = LAST, .quantise = quantise, .product = product, .scales = input_of(product, scales),
		.zeros = input_of(product, scales + step), .bias = bias,
	};
	return has_constant_weights(graph, product, c->what.zeros) &&
	       is_constant(graph, c->what.scales, ONNX_FLOAT) &&
	       (bias == NO_VALUE || is_bias(graph, bias, product));
}

/* Returns the node that computes a value, if the node is `op` and only one node reads the value. */
static const struct node *sole_producer(const struct graph *graph, uint32_t value, const char *op)
{
	const struct node *node = only_consumer(graph, value) ? producer_of(graph, value) : NULL;

	return is_op(node, op) ? node : NULL;
}

/*
 * Finds the bias of an integer product: Add of the integers floor(bias / scale), which come from
 * the nodes Div, Floor, Cast and Reshape. Old versions of ONNX Runtime's quantiser write these
 * nodes. The operation adds the bias itself, which differs by less than a unit of the product.
 * Returns the scale's value, or NO_VALUE if the product has no such bias.
 */
static uint32_t find_integer_bias(const struct graph *graph, const struct node *product,
				  struct chain *c)
{
	const struct node *add = only_consumer(graph, product->out[0]);
	const uint32_t value = other_input(add, "Add", product->out[0]);
	const struct node *reshape = sole_producer(graph, value, "Reshape"), *cast, *floor, *div;

	cast = sole_producer(graph, reshape ? reshape->in[0] : value, "Cast");
	floor = cast ? sole_producer(graph, cast->in[0], "Floor") : NULL;
	div = floor ? sole_producer(graph, floor->in[0], "Div") : NULL;
	if (!div || node_int(cast, "to", ONNX_NONE) != ONNX_INT32 ||
	    !is_by_channel(graph, value, product) || !is_constant(graph, div->in[0], ONNX_FLOAT) ||
	    shape_count(&graph->values[div->in[0]].shape) != shape_count(&graph->values[value].shape))
		return NO_VALUE;
	c->what.bias = div->in[0];
	c->silent[c->silents++] = add;
	if (reshape)
		c->silent[c->silents++] = reshape;
	c->silent[c->silents++] = cast;
	c->silent[c->silents++] = floor;
	c->silent[c->silents++] = div;
	return div->in[1];
}

static bool find_chain(const struct graph *graph, const struct node *quantise,
		       const struct node *product, struct chain *c)
{
	const struct node *cast, *mul, *add, *scaling;
	uint32_t value, scale, bias_scale;

	/*
	 * MatMulIntegerToFloat has the inputs A, B, scales of A and B, zero points of A and B, and
	 * bias.
	 */
	if (is_microsoft(product, "MatMulIntegerToFloat"))
		return input_of(product, 2) == quantise->out[1] && input_of(product, 4) == quantise->out[2] &&
		       find_product(graph, quantise, product, 3, 2, c);
	if ((!is_op(product, "MatMulInteger") && !is_op(product, "ConvInteger")) ||
	    product->in_count < 3 || product->in[2] != quantise->out[2] ||
	    !has_constant_weights(graph, product, input_of(product, 3)))
		return false;
	*c = (struct chain){ .scaled = 1 };
	c->what = (struct dynamic_node){ .part = LAST, .quantise = quantise, .product = product,
					 .zeros = input_of(product, 3), .bias = NO_VALUE };
	bias_scale = find_integer_bias(graph, product, c);
	value = bias_scale == NO_VALUE ? product->out[0] : c->silent[0]->out[0];
	cast = only_consumer(graph, value);
	if (!is_op(cast, "Cast") || node_int(cast, "to", ONNX_NONE) != ONNX_FLOAT)
		return false;
	mul = only_consumer(graph, cast->out[0]);
	scale = other_input(mul, "Mul", cast->out[0]);
	scaling = producer_of(graph, scale);
	c->what.scales = other_input(scaling, "Mul", quantise->out[1]);
	if (!is_constant(graph, c->what.scales, ONNX_FLOAT))
		return false;
	c->silent[c->silents++] = cast;
	c->silent[c->silents++] = scaling;
	c->last = mul;
	if (bias_scale == scale)
		return graph->values[scale].consumers == 2 && !graph->values[scale].is_output;
	if (only_consumer(graph, scale) != mul)
		return false;
	if (bias_scale != NO_VALUE) {
		scaling = sole_producer(graph, bias_scale, "Mul");
		c->silent[c->silents++] = scaling;
		c->scaled++;
		return other_input(scaling, "Mul", quantise->out[1]) == c->what.scales;
	}
	add = only_consumer(graph, mul->out[0]);
	value = other_input(add, "Add", mul->out[0]);
	if (is_bias(graph, value, product)) {
		c->silent[c->silents++] = mul;
		c->what.bias = value;
		c->last = add;
	}
	return true;
}

/*
 * Marks the nodes of all GEMMs that read the output of `quantise`, if no other node reads this
 * output.
 */
static void mark(struct lowering *t, const struct node *quantise)
{
	const struct graph *graph = onnx(t)->graph;
	uint32_t count = 0, scaled = 0;
	struct chain c;

	for (uint32_t i = 0; i < 3; i++)
		if (quantise->out_count != 3 || quantise->out[i] == NO_VALUE ||
		    graph->values[quantise->out[i]].is_output)
			return;
	for (uint32_t i = 0; i < graph->node_count; i++)
		if (graph->nodes[i].in_count && graph->nodes[i].in[0] == quantise->out[0] &&
		    find_chain(graph, quantise, &graph->nodes[i], &c)) {
			count++;
			scaled += c.scaled;
		}
	for (uint32_t i = 0; i < 3; i++)
		if (!count || graph->values[quantise->out[i]].consumers != (i == 1 ? scaled : count))
			return;
	onnx(t)->dynamic[quantise->index] = (struct dynamic_node){ .part = SILENT,
								    .quantise = quantise };
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (!graph->nodes[i].in_count || graph->nodes[i].in[0] != quantise->out[0] ||
		    !find_chain(graph, quantise, &graph->nodes[i], &c))
			continue;
		onnx(t)->dynamic[i] = onnx(t)->dynamic[quantise->index];
		for (uint32_t k = 0; k < c.silents; k++)
			onnx(t)->dynamic[c.silent[k]->index] = onnx(t)->dynamic[quantise->index];
		onnx(t)->dynamic[c.last->index] = c.what;
	}
}

/*
 * Returns whether a node applies operator `op` to `value` and to the constant `number`, which has
 * no more dimensions than `value`.
 */
static bool is_by(struct lowering *t, const struct node *node, const char *op, uint32_t value, float number)
{
	const uint32_t other = other_input(node, op, value);
	const float *by = value_of_count(t, other, ONNX_FLOAT, 1);
	const int rank = by ? value_at(t, other)->shape.rank : 0;

	return by && fabsf(*by - number) < 1e-6f && (!rank || rank <= value_at(t, value)->shape.rank);
}

/*
 * Marks the nodes of GELU around an Erf: x / sqrt 2 or x * sqrt(1/2), 1 + erf, and products with x
 * and 1/2 in either order.
 */
static void mark_gelu(struct lowering *t, const struct node *erf)
{
	const struct graph *graph = onnx(t)->graph;
	const struct node *first = producer_of(graph, erf->in[0]), *add, *mul, *last;
	struct dynamic_node *d = onnx(t)->dynamic;
	const struct node *half = NULL;
	uint32_t x, by;

	if (!first || first->in_count != 2 || only_consumer(graph, first->out[0]) != erf)
		return;
	x = first->in[0];
	add = only_consumer(graph, erf->out[0]);
	if ((!is_by(t, first, "Div", x, (float)M_SQRT2) && !is_by(t, first, "Mul", x, (float)M_SQRT1_2)) ||
	    !is_by(t, add, "Add", erf->out[0], 1))
		return;
	mul = last = only_consumer(graph, add->out[0]);
	by = other_input(mul, "Mul", add->out[0]);
	if (by == x)
		last = only_consumer(graph, mul->out[0]);
	else if (by != NO_VALUE && only_consumer(graph, by) == mul)
		half = producer_of(graph, by);
	if (by == x ? !is_by(t, last, "Mul", mul->out[0], 0.5f) : !half || !is_by(t, half, "Mul", x, 0.5f))
		return;
	d[first->index] = (struct dynamic_node){ .part = SILENT, .quantise = first };
	d[erf->index] = d[add->index] = d[mul->index] = d[first->index];
	if (half)
		d[half->index] = d[first->index];
	d[last->index] = (struct dynamic_node){ .part = LAST, .quantise = first };
}

void dynamic_nodes(struct lowering *t)
{
	for (uint32_t i = 0; has_own(t) && i < onnx(t)->graph->node_count; i++)
		if (is_op(&onnx(t)->graph->nodes[i], "Erf") && onnx(t)->graph->nodes[i].in_count == 1)
			mark_gelu(t, &onnx(t)->graph->nodes[i]);
	for (uint32_t i = 0; i < onnx(t)->graph->node_count; i++) {
		const struct node *node = &onnx(t)->graph->nodes[i];
		struct chain c;

		if (is_op(node, "DynamicQuantizeLinear") && node->in_count == 1)
			mark(t, node);
		else if (is_microsoft(node, "DynamicQuantizeMatMul") && node->in_count > 2 &&
			 find_product(onnx(t)->graph, node, node, 2, 1, &c))
			onnx(t)->dynamic[i] = c.what;
	}
}

/* ---- translation ---- */

void dynamic_op(struct lowering *t)
{
	const struct dynamic_node *d = &onnx(t)->dynamic[onnx(t)->node->index];

	const struct shape *shape;
	uint32_t x;

	if (d->part == LAST && !d->product) {
		x = dynamic_in(t, d, &shape);
		set_out(t, 0, unary(t, NN_OP_GELU, x), shape);
	} else if (d->part == LAST && is_op(d->product, "ConvInteger")) {
		dynamic_conv(t, d);
	} else if (d->part == LAST) {
		dynamic_matmul(t, d);
	} else {
		for (uint32_t i = 0; i < onnx(t)->node->out_count; i++)
			if (has_out(t, i))
				onnx(t)->values[onnx(t)->node->out[i]].ready =
					onnx(t)->values[onnx(t)->node->out[i]].elided = true;
	}
}

uint32_t dynamic_in(struct lowering *t, const struct dynamic_node *d, const struct shape **shape)
{
	const struct node *node = onnx(t)->node;
	uint32_t x;

	onnx(t)->node = d->quantise;
	*shape = shape_in(t, 0);
	x = in(t, 0);
	if (type_in(t, 0) != ONNX_FLOAT)
		refuse(t, "input 0 is of %s, must be float", onnx_name(type_in(t, 0)));
	onnx(t)->node = node;
	return x;
}

/*
 * Sets zeros[c] to the zero point of the weights of channel c; to 0 if the node has no zero points.
 * Returns false unless the zero points are constant, and are one number or one for each channel.
 */
static bool read_zeros(struct lowering *t, const struct dynamic_node *d, uint32_t channels,
		       int32_t *zeros)
{
	uint32_t value = d->zeros;
	int type = value_at(t, d->product->in[1])->type;
	const uint8_t *bytes = NULL;
	int64_t count = 1;

	memset(zeros, 0, channels * sizeof(*zeros));
	if (value == NO_VALUE)
		return true;
	bytes = value_of_count(t, value, type, 1);
	if (!bytes) {
		count = channels;
		bytes = value_of_count(t, value, type, channels);
	}
	for (uint32_t c = 0; bytes && c < channels; c++)
		zeros[c] = (int32_t)onnx_int(type, bytes, count == 1 ? 0 : c);
	return bytes;
}

/* Subtracts zero points from weights, so that the weights are int8 without a zero point. */
static bool shift(uint8_t *elements, bool is_signed, const int32_t *zeros, uint32_t channels,
		  size_t per_channel)
{
	for (uint32_t c = 0; c < channels; c++)
		for (size_t k = 0; k < per_channel; k++) {
			uint8_t *byte = &elements[c * per_channel + k];
			int32_t value = (is_signed ? (int8_t)*byte : *byte) - zeros[c];

			if (value < INT8_MIN || value > INT8_MAX)
				return false;
			*byte = (uint8_t)value;
		}
	return true;
}

uint32_t dynamic_weights(struct lowering *t, const struct dynamic_node *d, const void *data,
			 uint32_t rank, const uint32_t *dims)
{
	const int of = value_at(t, d->product->in[1])->type;
	const bool is_signed = of == ONNX_INT8;
	const uint32_t channels = dims[0];
	struct operand type = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = rank };
	int32_t *zeros = builder_alloc(t->b, channels * sizeof(*zeros));
	const float *scales = value_of_count(t, d->scales, ONNX_FLOAT, 1);
	const bool is_one = scales;
	bool by_channel = !is_one, fits = true;
	size_t per_channel = 1;
	uint8_t *elements;
	float *floats, *copy;

	if (!is_one)
		scales = value_of_count(t, d->scales, ONNX_FLOAT, channels);
	for (uint32_t i = 0; i < rank; i++) {
		type.dims[i] = dims[i];
		per_channel *= i ? dims[i] : 1;
	}
	elements = builder_alloc(t->b, channels * per_channel);
	if (t->refused || !data || !zeros || !elements)
		return NO_OPERAND;
	if (REFUSED_IF(t, !scales || !read_zeros(t, d, channels, zeros),
		       "scales and zero points must be one, or one for each channel"))
		return NO_OPERAND;
	for (uint32_t c = 0; c < channels; c++) {
		by_channel |= zeros[c] != zeros[0];
		fits &= zeros[c] == (is_signed ? 0 : 128);
	}
	/* A trial reads weights only if shift() may reject them. */
	if (!t->b->is_trial || (by_channel && !fits))
		transpose_matrices(elements, data, 1, rank == 2 ? 1 : channels, dims[rank - 1],
				   rank == 2 ? channels : dims[1] * dims[2]);
	if (!has_own(t)) {
		floats = builder_alloc(t->b, channels * per_channel * sizeof(*floats));
		for (size_t i = 0; floats && i < channels * per_channel; i++) {
			size_t c = i / per_channel;
			int64_t value = onnx_int(of, elements, (int64_t)i) - zeros[c];

			floats[i] = (float)value * scales[is_one ? 0 : c];
		}
		return constant_bytes(t, &type, floats);
	}
	if (!by_channel) {
		type.type = is_signed ? ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED :
					ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
		type.scale = scales[0];
		type.zero = zeros[0];
		return constant_bytes(t, &type, elements);
	}
	copy = builder_alloc(t->b, channels * sizeof(*copy));
	if (!copy)
		return NO_OPERAND;
	for (uint32_t c = 0; c < channels; c++)
		copy[c] = scales[is_one ? 0 : c];
	type.type = ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
	type.scales = copy;
	if (!shift(elements, is_signed, zeros, channels, per_channel))
		refuse(t, "weights with scales per channel must fit int8 with zero point 0");
	return constant_bytes(t, &type, elements);
}

uint32_t dynamic_bias(struct lowering *t, const struct dynamic_node *d, uint32_t channels)
{
	const uint32_t like = result_type(t, NN(TENSOR_FLOAT32), 1, &channels);

	return d->bias == NO_VALUE ? zeros(t, like, 1, &channels) :
	       constant(t, like, 1, &channels,
			value_of_count(t, d->bias, ONNX_FLOAT, channels));
}
