/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "vectors/graph.h"
#include "vectors/operations.h"
#include "vectors/windows.h"
#include "vectors/random.h"

/* ---- Operations: each adds one that fits, or none ---- */

/*
 * Adds a constant that broadcasts with a tensor. The constant has the shape of the tensor, the
 * shape of the tensor's last axis, or any other shape that broadcasts.
 */
static uint32_t broadcast_constant(const struct nn_operand *o)
{
	uint32_t rank = chance(2) ? o->rank : pick(1, o->rank), dims[NN_MAX_RANK], y;

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = chance(3) ? 1 : o->dims[o->rank - rank + i];
	y = random_result(rank, dims);
	fill_constant(y, 1);
	return y;
}

/*
 * Adds an arithmetic operation on two tensors of one shape, or on a tensor and a constant; a plan
 * may fold some ADD operations.
 */
static bool add_arithmetic(void)
{
	/* codes of ADD (three times), MUL, SUB, MAXIMUM and MINIMUM */
	static const int32_t codes[] = { 0, 0, 0, 18, 36, 65, 66 };
	uint32_t x = any_tensor(), y = any_tensor(), out, activation;
	int32_t code = codes[pick(0, sizeof(codes) / sizeof(codes[0]) - 1)];
	const struct nn_operand *o = &g.operands[x];

	if (chance(2) || g.operands[y].rank != o->rank ||
	    memcmp(g.operands[y].dims, o->dims, sizeof(o->dims)))
		y = broadcast_constant(o);
	out = random_result(o->rank, o->dims);
	if (code >= 65)
		return finish(code, 2, (uint32_t[]){ x, y }, out);
	activation = add_int((int32_t)pick(0, 3));
	return chance(2) ? finish(code, 3, (uint32_t[]){ x, y, activation }, out) :
			   finish(code, 3, (uint32_t[]){ y, x, activation }, out);
}

static bool add_activation(void)
{
	static const int32_t codes[] = { 19, 20, 21 };	/* RELU, RELU1, RELU6 */
	uint32_t x = g.tensors[g.num_tensors - 1];
	const struct nn_operand *o = &g.operands[x];

	return finish(codes[pick(0, 2)], 1, &x, add_result(o->rank, o->dims, o->scale,
							    o->zero_point));
}

/* LOGISTIC or TANH. */
static bool add_sigmoid(void)
{
	bool tanh = chance(2), is_unsigned = g.type == NN_TENSOR_QUANT8_ASYMM;
	uint32_t x = any_tensor();
	const struct nn_operand *o = &g.operands[x];

	return finish(tanh ? 28 : 14, 1, &x,
		      tanh ? add_result(o->rank, o->dims, 1.0f / 128, is_unsigned ? 128 : 0) :
			     add_result(o->rank, o->dims, 1.0f / 256, is_unsigned ? 0 : -128));
}

static bool add_prelu(void)
{
	uint32_t x = any_tensor();
	const struct nn_operand *o = &g.operands[x];
	uint32_t alpha = broadcast_constant(o);

	return finish(71, 2, (uint32_t[]){ x, alpha }, random_result(o->rank, o->dims));
}

static bool add_hard_swish(void)
{
	uint32_t x = any_tensor();
	const struct nn_operand *o = &g.operands[x];

	return finish(99, 1, &x, random_result(o->rank, o->dims));
}

/* Adds a function of floats that does not amplify small differences of its inputs. */
static bool add_function(void)
{
	uint32_t x = any_tensor(), in[2];
	const struct nn_operand *o = &g.operands[x];

	if (!is_float())
		return false;
	switch (pick(0, 2)) {
	case 0:
		return finish(38, 1, &x, random_result(o->rank, o->dims));	/* ABS */
	case 1:
		return finish(67, 1, &x, random_result(o->rank, o->dims));	/* NEG */
	default:
		in[0] = x;
		in[1] = add_float_scalar(random_float(0.1f, 2));
		return finish(98, 2, in, random_result(o->rank, o->dims));	/* ELU */
	}
}

/* Adds EXP, SQRT or RSQRT, with inputs in the range of the function. */
static bool add_growth(void)
{
	static const int32_t codes[] = { 49, 83, 88 };	/* EXP, RSQRT, SQRT */
	uint32_t x = any_tensor(), between, shifted, one = 1;
	const struct nn_operand *o = &g.operands[x];
	uint32_t shift;
	float *value;

	if (g.type != NN_TENSOR_FLOAT32)
		return false;
	between = random_result(o->rank, o->dims);
	finish(14, 1, &x, between);
	shift = random_result(1, &one);
	value = set_value(shift);
	memcpy(value, &(float){ 0.5f }, sizeof(*value));
	shifted = random_result(o->rank, o->dims);
	finish(0, 3, (uint32_t[]){ between, shift, add_int(0) }, shifted);
	return finish(codes[pick(0, 2)], 1, &shifted, random_result(o->rank, o->dims));
}

static bool add_softmax(void)
{
	uint32_t x = any_tensor();
	const struct nn_operand *o = &g.operands[x];

	if (o->rank != 2 && o->rank != 4)
		return false;
	return finish(25, 2, (uint32_t[]){ x, add_float_scalar(1) },
		      add_result(o->rank, o->dims, 1.0f / 256,
				 g.type == NN_TENSOR_QUANT8_ASYMM ? 0 : -128));
}

/* Adds L2_NORMALIZATION or LOCAL_RESPONSE_NORMALIZATION along any axis. */
static bool add_normalization(void)
{
	static const float powers[] = { 0.5f, 0.75f, 1, 0.6f };
	uint32_t x = any_tensor(), axis, out;
	const struct nn_operand *o = &g.operands[x];

	if (o->rank > 4)
		return false;
	axis = add_int((int32_t)pick(0, o->rank - 1));
	if (is_float() && chance(2))
		return finish(13, 6, (uint32_t[]){ x, add_int((int32_t)pick(0, 5)),
				add_float_scalar(1), add_float_scalar(random_float(0, 1)),
				add_float_scalar(powers[pick(0, 3)]), axis },
			      add_result(o->rank, o->dims, 0, 0));
	out = add_result(o->rank, o->dims, 1.0f / 128, g.type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0);
	return finish(11, 2, (uint32_t[]){ x, axis }, out);
}

/*
 * Adds INSTANCE_NORMALIZATION for images of many pixels. A few pixels may be nearly equal, and the
 * result of normalising nearly equal pixels is only noise.
 */
static bool add_instance(void)
{
	uint32_t x = any_image(), in[5] = { x };
	const struct nn_operand *o = &g.operands[x];

	if (!is_float())
		return false;
	g.is_delicate = true;
	for (uint32_t i = 1; i < 3; i++)
		in[i] = add_float_scalar(random_float(-1, 1));
	in[3] = add_float_scalar(1);
	in[4] = add_bool(chance(2));
	return finish(57, 5, in, add_result(4, o->dims, 0, 0));
}

static bool add_reshape(void)
{
	uint32_t x = any_tensor(), rows = 1, two = 2;
	const struct nn_operand *o = &g.operands[x];
	uint32_t count = elements(o), shape;

	if (o->rank < 2)
		return false;
	rows = o->dims[0];
	shape = add_ints(1, &two, (int32_t[]){ (int32_t)rows, -1 });
	return finish(22, 2, (uint32_t[]){ x, shape },
		      add_result(2, (uint32_t[]){ rows, count / rows }, o->scale, o->zero_point));
}

static bool add_transpose(void)
{
	uint32_t x = any_tensor(), dims[NN_MAX_RANK] = { 0 };
	const struct nn_operand *o = &g.operands[x];
	int32_t permutation[] = { 0, 1, 2, 3 };
	uint32_t rank = o->rank;

	for (uint32_t i = rank; i-- > 1;) {
		uint32_t other = pick(0, i);
		int32_t axis = permutation[i];

		permutation[i] = permutation[other];
		permutation[other] = axis;
	}
	for (uint32_t i = 0; i < rank; i++)
		dims[i] = o->dims[permutation[i]];
	if (dims[rank - 1] > 100)
		return false;
	return finish(37, 2, (uint32_t[]){ x, add_ints(1, &rank, permutation) },
		      add_result(rank, dims, o->scale, o->zero_point));
}

/* Adds MEAN, REDUCE_MAX or REDUCE_MIN or, for floats, REDUCE_SUM. */
static bool add_mean(void)
{
	uint32_t x = any_tensor(), dims[NN_MAX_RANK] = { 0 }, count, keep;
	const struct nn_operand *o = &g.operands[x];
	int32_t first = (int32_t)pick(1, o->rank - 1);
	int32_t axes[] = { first, first + 1 - (int32_t)o->rank };

	count = (uint32_t)first + 1 < o->rank && chance(2) ? 2 : 1;
	memcpy(dims, o->dims, sizeof(dims));
	for (uint32_t i = 0; i < count; i++)
		dims[(uint32_t)first + i] = 1;
	if (chance(4)) {
		keep = add_operand(NN_BOOL, 0, NULL, 0, 0);
		*(uint8_t *)set_value(keep) = 1;
		return finish(is_float() && chance(2) ? 80 : (int32_t)pick(77, 78), 3, (uint32_t[]){ x, add_ints(1, &count, axes), keep },
			      add_result(o->rank, dims, o->scale, o->zero_point));
	}
	return finish(31, 3, (uint32_t[]){ x, add_ints(1, &count, axes), add_int(1) },
		      add_result(o->rank, dims, o->scale, o->zero_point));
}

/*
 * Adds BATCH_MATMUL with a constant, with or without transposition, and with or without
 * broadcasting of batches.
 */
static bool add_matmul(void)
{
	uint32_t x = any_image(), width = pick(1, 70), y, out;
	bool adj_x = chance(3), adj_y = chance(2), swap;
	const struct nn_operand *o = &g.operands[x];
	uint32_t rows = o->dims[adj_x ? 3 : 2], depth = o->dims[adj_x ? 2 : 3];
	bool large = elements(o) > 10000;
	uint32_t first = chance(2) ? 1 : o->dims[0], second = large || chance(2) ? 1 : o->dims[1];

	if (g.type == NN_TENSOR_QUANT8_ASYMM)
		return false;
	swap = chance(4);
	if (swap) {
		/* The constant first. */
		y = random_result(4, (uint32_t[]){ first, second, adj_x ? o->dims[2] : width,
				  adj_x ? width : o->dims[2] });
		fill_constant(y, 2 / sqrtf((float)o->dims[2]));
		out = random_result(4, (uint32_t[]){ o->dims[0], o->dims[1], width, o->dims[3] });
		return finish(102, 4, (uint32_t[]){ y, x, add_bool(adj_x), add_bool(false) }, out);
	}
	y = random_result(4, (uint32_t[]){ first, second, adj_y ? width : depth,
			  adj_y ? depth : width });
	fill_constant(y, 2 / sqrtf((float)depth));
	out = random_result(4, (uint32_t[]){ o->dims[0], o->dims[1], rows, width });
	return finish(102, 4, (uint32_t[]){ x, y, add_bool(adj_x), add_bool(adj_y) }, out);
}

static uint32_t random_constant(uint32_t rank, const uint32_t *dims, float range)
{
	uint32_t index = add_result(rank, dims, 0, 0);

	fill_constant(index, range);
	return index;
}

static uint32_t omitted(void)
{
	uint32_t one = 1, index = add_result(1, &one, 0, 0);

	g.operands[index].lifetime = NN_NO_VALUE;
	return index;
}

/* The sizes of an LSTM cell, and its optional parts. */
struct cell {
	uint32_t batch, size, units, outputs;
	bool cifg, peephole, projection, normalized;
};

/* Adds inputs 1 to 22, which LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM (28 inputs) have in common. */
static void add_cell(const struct cell *c, uint32_t *in, uint32_t layer_norm)
{
	static const int32_t activations[] = { 0, 1, 3, 4, 4, 4, 6 };
	uint32_t input[] = { c->units, c->size }, recurrent[] = { c->units, c->outputs };
	float range = 1 / sqrtf((float)(c->size + c->outputs));

	for (uint32_t i = 0; i < 4; i++) {
		bool gate = i || !c->cifg;

		in[1 + i] = gate ? random_constant(2, input, range) : omitted();
		in[5 + i] = gate ? random_constant(2, recurrent, range) : omitted();
		in[12 + i] = gate ? random_constant(1, input, 1) : omitted();
		in[layer_norm + i] = gate && c->normalized ? random_constant(1, input, 1) :
				     omitted();
	}
	for (uint32_t i = 0; i < 3; i++)
		in[9 + i] = c->peephole && (i || !c->cifg) ? random_constant(1, input, 1) :
			    omitted();
	in[16] = c->projection ? random_constant(2, (uint32_t[]){ c->outputs, c->units }, range) :
		 omitted();
	in[17] = c->projection && chance(2) ? random_constant(1, &c->outputs, 1) : omitted();
	in[18] = random_constant(2, (uint32_t[]){ c->batch, c->outputs }, 1);
	in[19] = random_constant(2, (uint32_t[]){ c->batch, c->units }, 1);
	in[20] = add_int(activations[pick(0, 6)]);
	in[21] = add_float_scalar(chance(2) ? 0 : 0.7f);
	in[22] = add_float_scalar(chance(2) ? 0 : 0.7f);
}

/*
 * Adds an LSTM of one step, or an LSTM whose steps are the pixels of an image, or are the images.
 */
static bool add_lstm(void)
{
	uint32_t x = any_image(), in[28], outs[4], shaped, three = 3, two = 2;
	bool single = chance(3), time_major = chance(2);
	const struct nn_operand *o = &g.operands[x];
	uint32_t d0 = o->dims[0], d1 = o->dims[1] * o->dims[2];
	struct cell c = {
		.batch = single ? d0 * d1 : time_major ? d1 : d0,
		.size = o->dims[3],
		.units = pick(1, 40),
		.cifg = chance(3),
		.peephole = chance(3),
		.projection = chance(3),
	};

	if (!is_float())
		return false;
	/*
	 * Use layer normalisation only for many units, because the normalised values of a few
	 * nearly equal units are noise.
	 */
	c.normalized = c.units > 8 && chance(3);
	g.is_delicate |= c.normalized || !single;
	c.outputs = c.projection ? pick(1, 20) : c.units;
	shaped = single ? random_result(2, (uint32_t[]){ d0 * d1, c.size }) :
		 random_result(3, (uint32_t[]){ d0, d1, c.size });
	finish(22, 2, (uint32_t[]){ x, single ?
	       add_ints(1, &two, (int32_t[]){ (int32_t)(d0 * d1), (int32_t)c.size }) :
	       add_ints(1, &three, (int32_t[]){ (int32_t)d0, (int32_t)d1, (int32_t)c.size }) },
	       shaped);
	in[0] = shaped;
	add_cell(&c, in, single ? 23 : 24);
	outs[1] = random_result(2, (uint32_t[]){ c.batch, c.outputs });
	outs[2] = random_result(2, (uint32_t[]){ c.batch, c.units });
	if (single) {
		outs[0] = random_result(2, (uint32_t[]){ c.batch, c.units * (c.cifg ? 3 : 4) });
		outs[3] = random_result(2, (uint32_t[]){ c.batch, c.outputs });
		return finish_many(16, 27, in, 4, outs);
	}
	in[23] = add_bool(time_major);
	outs[0] = random_result(3, (uint32_t[]){ d0, d1, c.outputs });
	return finish_many(92, 28, in, 3, outs);
}

/* Adds an SVDF layer over the pixels of an image. */
static bool add_svdf(void)
{
	static const int32_t activations[] = { 0, 1, 3, 4, 6 };
	uint32_t x = any_image(), rank = pick(1, 2), units = pick(1, 30), memory = pick(1, 9);
	const struct nn_operand *o = &g.operands[x];
	uint32_t batch = o->dims[0] * o->dims[1] * o->dims[2], size = o->dims[3], shaped, two = 2;
	uint32_t filters = units * rank, in[7], outs[2];
	uint32_t state[] = { batch, filters * memory };

	if (!is_float() || batch > 40)
		return false;
	shaped = random_result(2, (uint32_t[]){ batch, size });
	finish(22, 2, (uint32_t[]){ x, add_ints(1, &two, (int32_t[]){ (int32_t)batch,
								      (int32_t)size }) }, shaped);
	in[0] = shaped;
	in[1] = random_constant(2, (uint32_t[]){ filters, size }, 1 / sqrtf((float)size));
	in[2] = random_constant(2, (uint32_t[]){ filters, memory }, 1 / sqrtf((float)memory));
	in[3] = chance(3) ? omitted() : random_constant(1, &units, 1);
	in[4] = random_constant(2, state, 1);
	in[5] = add_int((int32_t)rank);
	in[6] = add_int(activations[pick(0, 4)]);
	outs[0] = random_result(2, state);
	outs[1] = random_result(2, (uint32_t[]){ batch, units });
	return finish_many(27, 7, in, 2, outs);
}

/* Adds a PAD that puts a border of 0 or another value around images, and sometimes channels. */
static bool add_pad(void)
{
	uint32_t x = any_image(), dims[2] = { 4, 2 }, sizes[4], list, out, value;
	const struct nn_operand *o = &g.operands[x];
	uint32_t first = chance(4) ? 2 : 1;
	int32_t pads[8] = { 0 };

	for (uint32_t i = 2 * first; i < 2 * first + 4; i++)
		pads[i] = (int32_t)pick(0, 2);
	pads[chance(2) ? 7 : 3] += chance(6);
	for (uint32_t i = 0; i < 4; i++)
		sizes[i] = o->dims[i] + (uint32_t)(pads[2 * i] + pads[2 * i + 1]);
	list = add_ints(2, dims, pads);
	out = add_result(4, sizes, o->scale, o->zero_point);
	if (chance(2))
		return finish(32, 2, (uint32_t[]){ x, list }, out);
	value = is_float() ? add_float_scalar(chance(2) ? 0 : random_float(-4, 2)) :
		add_int(chance(2) ? o->zero_point : (int32_t)pick(0, 300) - 128);
	return finish(69, 3, (uint32_t[]){ x, list, value }, out);
}

/* Adds a PAD and, mostly, a windowed operation that reads the output of the PAD. */
static bool add_padded(void)
{
	static bool (*const windows[])(void) = { add_conv, add_depthwise, add_grouped,
						 add_max_pool };
	uint32_t operands;
	size_t used;

	add_pad();
	operands = g.subgraph.num_operands;
	used = g.used;
	if (!windows[pick(0, 3)]()) {
		g.subgraph.num_operands = operands;
		g.used = used;
	}
	return true;
}

/* Adds DEQUANTIZE and then QUANTIZE, mostly to the scale and zero point of the input. */
static bool add_round_trip(void)
{
	uint32_t x = any_tensor(), between;
	const struct nn_operand *o = &g.operands[x];
	bool other = chance(4);

	if (is_float() || o->rank > 4)
		return false;
	between = add_operand(NN_TENSOR_FLOAT32, o->rank, o->dims, 0, 0);
	finish(6, 1, &x, between);
	/* Remove the float tensor from the list of tensors, because only QUANTIZE may read it. */
	g.num_tensors--;
	return finish(72, 1, &between,
		      add_result(o->rank, o->dims, other ? o->scale * 1.5f : o->scale,
				 o->zero_point));
}

/*
 * Adds a CONCATENATION of the last tensor along any axis with itself, or with another tensor of
 * equal quantisation.
 */
static bool add_concatenation(void)
{
	uint32_t x = any_tensor(), dims[NN_MAX_RANK], y;
	const struct nn_operand *o = &g.operands[x];
	uint32_t axis = chance(2) ? o->rank - 1 : pick(0, o->rank - 1);

	memcpy(dims, o->dims, sizeof(dims));
	dims[axis] *= 2;
	if (dims[axis] > 128)
		return false;
	y = chance(2) ? x : add_result(o->rank, o->dims, o->scale, o->zero_point);
	if (y != x)
		fill_constant(y, 1);
	return finish(2, 3, (uint32_t[]){ x, y, add_int((int32_t)axis) },
		      add_result(o->rank, dims, o->scale, o->zero_point));
}

/*
 * Adds two operations on one tensor, and an operation that joins their results along the first axis
 * or a new axis. A plan can place the joined results next to each other, so that the joining
 * operation copies nothing.
 */
static bool add_join(void)
{
	uint32_t x = any_tensor(), parts[2], dims[NN_MAX_RANK] = { 0 };
	const struct nn_operand *o = &g.operands[x];
	bool packs = o->rank < 4 && chance(2);
	float scale = o->scale;
	int32_t zero = o->zero_point;

	if (elements(o) > 20000 || (!packs && o->dims[0] > 64))
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		parts[i] = add_result(o->rank, o->dims, scale, zero);
		finish(chance(2) ? 19 : 21, 1, &x, parts[i]);
	}
	if (packs) {
		dims[0] = 2;
		memcpy(dims + 1, o->dims, o->rank * sizeof(*dims));
		return finish(103, 3, (uint32_t[]){ add_int(0), parts[0], parts[1] },
			      add_result(o->rank + 1, dims, scale, zero));
	}
	memcpy(dims, o->dims, sizeof(dims));
	dims[0] *= 2;
	return finish(2, 3, (uint32_t[]){ parts[0], parts[1], add_int(0) },
		      add_result(o->rank, dims, scale, zero));
}

static bool add_split(void)
{
	uint32_t x = any_tensor(), dims[NN_MAX_RANK], outs[2];
	const struct nn_operand *o = &g.operands[x];
	uint32_t axis = pick(0, o->rank - 1);

	if (o->dims[axis] % 2)
		return false;
	memcpy(dims, o->dims, sizeof(dims));
	dims[axis] /= 2;
	for (uint32_t i = 0; i < 2; i++)
		outs[i] = add_result(o->rank, dims, o->scale, o->zero_point);
	return finish_many(87, 3, (uint32_t[]){ x, add_int((int32_t)axis), add_int(2) }, 2, outs);
}

/* Adds a TRANSPOSE and, mostly, a second TRANSPOSE that restores the original order. */
static bool add_transposes(void)
{
	static const int32_t there[] = { 0, 3, 1, 2 }, back[] = { 0, 2, 3, 1 };
	uint32_t x = any_image(), four = 4, transposed;
	const uint32_t *d = g.operands[x].dims;
	float scale = g.operands[x].scale;
	int32_t zero = g.operands[x].zero_point;

	if (d[2] > 100)
		return false;
	transposed = add_result(4, (uint32_t[]){ d[0], d[3], d[1], d[2] }, scale, zero);
	finish(37, 2, (uint32_t[]){ x, add_ints(1, &four, there) }, transposed);
	if (chance(4))
		return finish(37, 2, (uint32_t[]){ transposed, add_ints(1, &four, there) },
			      add_result(4, (uint32_t[]){ d[0], d[2], d[3], d[1] }, scale, zero));
	return finish(37, 2, (uint32_t[]){ transposed, add_ints(1, &four, back) },
		      add_result(4, d, scale, zero));
}

/* ---- The graph ---- */

/* Maximum number of tries to add operations, if only some operations are allowed in the graph. */
#define MOST_TRIES 300

static bool (*const adders[])(void) = {
	add_conv, add_conv, add_depthwise, add_depthwise, add_fully_connected, add_pool,
	add_grouped, add_transposed, add_join, add_split, add_transposes,
	add_arithmetic, add_arithmetic, add_activation, add_sigmoid, add_function, add_growth,
	add_softmax, add_reshape, add_transpose, add_pad, add_concatenation, add_mean, add_matmul,
	add_lstm, add_svdf, add_padded, add_padded, add_round_trip, add_prelu, add_hard_swish,
	add_normalization, add_instance,
};

/* Makes the last tensor and some other tensors outputs. */
static void choose_outputs(void)
{
	for (uint32_t i = 1; i < g.num_tensors; i++) {
		struct nn_operand *o = &g.operands[g.tensors[i]];

		if (o->consumers && (g.subgraph.num_outputs >= MAX_OUTPUTS / 2 || !chance(6)))
			continue;
		if (g.subgraph.num_outputs == MAX_OUTPUTS)
			continue;
		o->lifetime = NN_SUBGRAPH_OUTPUT;
		g.outputs[g.subgraph.num_outputs++] = g.tensors[i];
	}
}

/* Returns whether all operations from `first` on are allowed in the graph. */
static bool is_allowed(uint32_t first, bool (*may_have)(int32_t code))
{
	for (uint32_t i = first; may_have && i < g.subgraph.num_operations; i++)
		if (!may_have(g.operations[i].type))
			return false;
	return true;
}

bool make_graph_of(bool (*may_have)(int32_t code))
{
	static struct random_graph before;
	uint32_t dims[] = { pick(1, 2), pick(1, 14), pick(1, 14), pick(1, 70) };
	uint32_t wanted = pick(1, 9), tries = 0;

	begin();
	/*
	 * Images are narrow in float16, because errors of float16 add up over a long sequence of
	 * columns.
	 */
	if (chance(6) && g.type != NN_TENSOR_FLOAT16)
		dims[2] = pick(15, 70);
	g.used = 0;
	g.input = g.tensors[g.num_tensors++] = random_result(4, dims);
	g.operands[g.input].lifetime = NN_SUBGRAPH_INPUT;
	while (g.subgraph.num_operations < wanted && tries < MOST_TRIES) {
		uint32_t operands = g.subgraph.num_operands;
		size_t used = g.used;

		tries += may_have != NULL;
		if (may_have)
			before = g;
		if (!adders[random_bits() % (sizeof(adders) / sizeof(adders[0]))]()) {
			g.subgraph.num_operands = operands;
			g.used = used;
		} else if (!is_allowed(may_have ? before.subgraph.num_operations : 0, may_have)) {
			g = before;
		}
	}
	choose_outputs();
	return g.subgraph.num_operations;
}

void make_graph(void)
{
	make_graph_of(NULL);
}
