/* SPDX-License-Identifier: MIT */
/*
 * Compiled against interpreted, and saved and loaded against both: random graphs of
 * random operations, types and shapes. Bytes must be equal, floats nearly so; what was
 * loaded gives all the same bits, or keeps its bounds when it was damaged. The seed is
 * printed; NN_SEED sets the first one, and looks where nobody looked before.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "ops/float16.h"
#include "frozen_form.h"
#include "ops/op.h"
#include "plan/internal.h"

#define MAX_OPERANDS 800
#define MAX_OPERATIONS 24
#define MAX_INDICES 800
#define MAX_RESULTS 4		/* of an operation */
#define MAX_OUTPUTS 8
#define RUN_NS UINT64_C(6000000000)
#define MAX_GRAPHS 4000

static uint64_t state;

static uint32_t random_bits(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

/* low ... high */
static uint32_t pick(uint32_t low, uint32_t high)
{
	return low + random_bits() % (high - low + 1);
}

static bool chance(uint32_t one_in)
{
	return pick(1, one_in) == 1;
}

static float random_float(float low, float high)
{
	return low + (high - low) * (float)(random_bits() % 65536) / 65535;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* ---- A graph under construction ---- */

static struct {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_pool pool;
	struct nn_operand operands[MAX_OPERANDS];
	struct nn_operation operations[MAX_OPERATIONS];
	uint32_t indices[MAX_INDICES];
	uint32_t num_indices;
	uint32_t input;
	uint32_t outputs[MAX_OUTPUTS];
	uint8_t *values;		/* of constants */
	size_t used;
	int32_t type;
	bool is_delicate;		/* something is normalised or comes back: differences grow */
	uint32_t tensors[MAX_OPERATIONS * MAX_RESULTS + 1];	/* those that an operation may read */
	uint32_t num_tensors;
} g;

#define VALUES_SIZE ((size_t)64 << 20)
#define FIRST_SEED 1

static void begin(void)
{
	static const int32_t types[] = {
		NN_TENSOR_FLOAT32, NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED,
		NN_TENSOR_FLOAT32, NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED,
		NN_TENSOR_FLOAT16,
	};
	uint8_t *values = g.values;

	memset(&g, 0, sizeof(g));
	g.values = values;
	g.type = types[random_bits() % (sizeof(types) / sizeof(types[0]))];
	g.subgraph = (struct nn_subgraph){
		.operands = g.operands,
		.operations = g.operations,
		.num_inputs = 1,
		.inputs = &g.input,
		.outputs = g.outputs,
	};
	g.pool = (struct nn_pool){ g.values, VALUES_SIZE };
	g.model = (struct nn_model){
		.num_subgraphs = 1,
		.num_pools = 1,
		.subgraphs = &g.subgraph,
		.pools = &g.pool,
	};
}

static bool is_float(void)
{
	return g.type == NN_TENSOR_FLOAT32 || g.type == NN_TENSOR_FLOAT16;
}

static uint32_t add_operand(int32_t type, uint32_t rank, const uint32_t *dims, float scale,
			    int32_t zero)
{
	struct nn_operand *o = &g.operands[g.subgraph.num_operands];

	assert_in_range(g.subgraph.num_operands, 0, MAX_OPERANDS - 1);
	*o = (struct nn_operand){ .type = type, .rank = rank, .scale = scale, .zero_point = zero };
	if (rank)
		memcpy(o->dims, dims, rank * sizeof(*dims));
	return g.subgraph.num_operands++;
}

/* Gives an operand a value, at a random distance from the last one: some are unaligned. */
static void *set_value(uint32_t operand)
{
	struct nn_operand *o = &g.operands[operand];
	void *value;

	assert_true(nn_operand_size(o, &o->location.length));
	o->lifetime = NN_CONSTANT_REFERENCE;
	g.used = chance(3) ? g.used + pick(0, 7) : (g.used + 7) / 8 * 8;
	assert_true(g.used + o->location.length <= VALUES_SIZE);
	o->location.offset = g.used;
	value = g.values + g.used;
	g.used += o->location.length;
	return value;
}

static uint32_t add_int(int32_t value)
{
	uint32_t index = add_operand(NN_INT32, 0, NULL, 0, 0);

	memcpy(set_value(index), &value, sizeof(value));
	return index;
}

static uint32_t add_ints(uint32_t rank, const uint32_t *dims, const int32_t *values)
{
	uint32_t index = add_operand(NN_TENSOR_INT32, rank, dims, 0, 0);
	void *value = set_value(index);

	memcpy(value, values, g.operands[index].location.length);
	return index;
}

static uint32_t add_float_scalar(float value)
{
	bool half = g.type == NN_TENSOR_FLOAT16;
	uint32_t index = add_operand(half ? NN_FLOAT16 : NN_FLOAT32, 0, NULL, 0, 0);
	uint16_t small = nn_float_to_half(value);

	memcpy(set_value(index), half ? (void *)&small : (void *)&value, half ? 2 : 4);
	return index;
}

static void fill(int32_t type, void *to, uint32_t bytes, float range)
{
	for (uint32_t i = 0; i < bytes;) {
		float value = random_float(-range, range);
		uint16_t small = nn_float_to_half(value);
		uint8_t byte = (uint8_t)random_bits();

		if (type == NN_TENSOR_FLOAT32)
			memcpy((char *)to + i, &value, 4);
		else if (type == NN_TENSOR_FLOAT16)
			memcpy((char *)to + i, &small, 2);
		else
			memcpy((char *)to + i, &byte, 1);
		i += nn_type_info(type)->element_size;
	}
}

/* Makes an operand a random constant. */
static void fill_constant(uint32_t operand, float range)
{
	void *value = set_value(operand);

	fill(g.operands[operand].type, value, g.operands[operand].location.length, range);
}

static int32_t random_zero(int32_t type)
{
	return (int32_t)pick(0, 255) - (type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
}

/* A tensor of the graph's type that an operation will write. */
static uint32_t add_result(uint32_t rank, const uint32_t *dims, float scale, int32_t zero)
{
	bool quantised = !is_float();

	return add_operand(g.type, rank, dims, quantised ? scale : 0, quantised ? zero : 0);
}

static uint32_t random_result(uint32_t rank, const uint32_t *dims)
{
	return add_result(rank, dims, random_float(0.01f, 0.1f), random_zero(g.type));
}

static uint32_t any_tensor(void)
{
	return g.tensors[chance(3) ? pick(0, g.num_tensors - 1) : g.num_tensors - 1];
}

/* A tensor of rank 4: the input is one. */
static uint32_t any_image(void)
{
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t t = any_tensor();

		if (g.operands[t].rank == 4)
			return t;
	}
	return g.input;
}

static bool finish_many(int32_t code, uint32_t count, const uint32_t *inputs, uint32_t num_outputs,
			const uint32_t *outputs)
{
	uint32_t *list = g.indices + g.num_indices;

	assert_true(g.num_indices + count + num_outputs <= MAX_INDICES);
	memcpy(list, inputs, count * sizeof(*inputs));
	memcpy(list + count, outputs, num_outputs * sizeof(*outputs));
	g.num_indices += count + num_outputs;
	for (uint32_t i = 0; i < count; i++)
		g.operands[inputs[i]].consumers++;
	g.operations[g.subgraph.num_operations++] = (struct nn_operation){
		.type = code,
		.num_inputs = count,
		.num_outputs = num_outputs,
		.inputs = list,
		.outputs = list + count,
	};
	for (uint32_t i = 0; i < num_outputs; i++)
		g.tensors[g.num_tensors++] = outputs[i];
	return true;
}

static bool finish(int32_t code, uint32_t count, const uint32_t *inputs, uint32_t output)
{
	return finish_many(code, count, inputs, 1, &output);
}

/* ---- Operations: each adds one that fits, or none ---- */

/* A filter of the given shape and a bias for `channels`; their indices to in[1] and in[2]. */
static void add_filter(uint32_t x, uint32_t rank, const uint32_t *dims, uint32_t channel_dim,
		       uint32_t channels, uint32_t depth, uint32_t *in)
{
	static float scales[MAX_OPERATIONS][128];
	bool per_channel = !is_float() && rank == 4 && chance(2);
	float scale = random_float(0.5f, 2) / 127 / sqrtf((float)depth);
	int32_t zero = chance(3) ? (g.type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0) :
		       random_zero(g.type);
	int32_t *bias;

	in[1] = per_channel ? add_operand(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL, rank, dims, 0, 0) :
		add_result(rank, dims, scale, zero);
	fill_constant(in[1], 2 / sqrtf((float)depth));
	if (per_channel) {
		float *s = scales[g.subgraph.num_operations];

		for (uint32_t i = 0; i < channels; i++)
			s[i] = scale * random_float(0.3f, 2);
		g.operands[in[1]].extra = (struct nn_extra){
			.kind = NN_EXTRA_CHANNEL_QUANT,
			.channel_dim = channel_dim,
			.count = channels,
			.scales = s,
		};
	}
	in[2] = is_float() ? add_result(1, &channels, 0, 0) :
		add_operand(NN_TENSOR_INT32, 1, &channels,
			    per_channel ? 0 : g.operands[x].scale * scale, 0);
	if (is_float()) {
		fill_constant(in[2], 1);
		return;
	}
	bias = set_value(in[2]);
	for (uint32_t i = 0; i < channels; i++) {
		int32_t value = (int32_t)pick(0, 20000) - 10000;

		memcpy((char *)bias + i * sizeof(value), &value, sizeof(value));
	}
}

/* Paddings, strides: what the windowed operations share. Returns the output's size. */
static uint32_t window_size(uint32_t in, uint32_t filter, uint32_t stride, uint32_t dilation,
			    uint32_t head, uint32_t tail)
{
	uint32_t extent = (filter - 1) * dilation + 1;

	return in + head + tail < extent ? 0 : (in + head + tail - extent) / stride + 1;
}

/* An image's sizes, and whether its channels come first. */
struct layout {
	bool nchw;
	uint32_t n, h, w, c;
};

static struct layout layout_of(const struct nn_operand *x, bool nchw)
{
	return nchw ? (struct layout){ true, x->dims[0], x->dims[2], x->dims[3], x->dims[1] } :
		      (struct layout){ false, x->dims[0], x->dims[1], x->dims[2], x->dims[3] };
}

/* A result of the same layout. */
static uint32_t image_result(const struct layout *l, uint32_t h, uint32_t w, uint32_t c, float scale,
			     int32_t zero)
{
	return add_result(4, l->nchw ? (uint32_t[]){ l->n, c, h, w } :
			     (uint32_t[]){ l->n, h, w, c }, scale, zero);
}

static uint32_t random_image(const struct layout *l, uint32_t h, uint32_t w, uint32_t c)
{
	return image_result(l, h, w, c, random_float(0.01f, 0.1f), random_zero(g.type));
}

/* Appends paddings and strides; false where nothing would be left. */
static bool add_window(const struct layout *x, uint32_t fh, uint32_t fw, uint32_t dilation,
		       uint32_t *in, uint32_t *count, uint32_t *oh, uint32_t *ow)
{
	uint32_t stride_w = pick(1, 3), stride_h = pick(1, 3), pads[4];
	bool same = chance(2);

	if (chance(3)) {
		*oh = same ? (x->h + stride_h - 1) / stride_h :
			     window_size(x->h, fh, stride_h, dilation, 0, 0);
		*ow = same ? (x->w + stride_w - 1) / stride_w :
			     window_size(x->w, fw, stride_w, dilation, 0, 0);
		in[(*count)++] = add_int(same ? 1 : 2);
		in[(*count)++] = add_int((int32_t)stride_w);
		in[(*count)++] = add_int((int32_t)stride_h);
		return *oh && *ow;
	}
	for (uint32_t i = 0; i < 4; i++)
		pads[i] = chance(2) ? 0 : pick(0, (i < 2 ? fw : fh) - 1);
	*oh = window_size(x->h, fh, stride_h, dilation, pads[2], pads[3]);
	*ow = window_size(x->w, fw, stride_w, dilation, pads[0], pads[1]);
	if (!*oh || !*ow)
		return false;
	for (uint32_t i = 0; i < 4; i++)
		in[(*count)++] = add_int((int32_t)pads[i]);
	in[(*count)++] = add_int((int32_t)stride_w);
	in[(*count)++] = add_int((int32_t)stride_h);
	return true;
}

static uint32_t add_bool(bool value)
{
	uint32_t index = add_operand(NN_BOOL, 0, NULL, 0, 0);

	*(uint8_t *)set_value(index) = value;
	return index;
}

/* CONV_2D, or GROUPED_CONV_2D where the channels fall in groups. */
static bool convolve(uint32_t groups)
{
	uint32_t x = any_image(), in[16], count = 3, oh, ow;
	uint32_t fh = chance(2) ? 1 : pick(1, 4), fw = chance(2) ? fh : pick(1, 4);
	uint32_t dilation = groups == 1 && chance(4) ? 2 : 1;
	uint32_t channels = groups * pick(1, groups > 1 ? 20 : 80);
	struct layout l = layout_of(&g.operands[x], chance(4));

	if (l.c % groups || l.c > 140)
		return false;
	in[0] = x;
	add_filter(x, 4, (uint32_t[]){ channels, fh, fw, l.c / groups }, 0, channels,
		   fh * fw * l.c / groups, in);
	if (!add_window(&l, fh, fw, dilation, in, &count, &oh, &ow))
		return false;
	if (groups > 1)
		in[count++] = add_int((int32_t)groups);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	if (groups == 1) {
		in[count++] = add_int((int32_t)dilation);
		in[count++] = add_int((int32_t)dilation);
	}
	return finish(groups > 1 ? 55 : 3, count, in, random_image(&l, oh, ow, channels));
}

static bool add_conv(void)
{
	return convolve(1);
}

static bool add_grouped(void)
{
	return convolve(pick(2, 4));
}

/* TRANSPOSE_CONV_2D, its padding explicit or for a shape that is wanted. */
static bool add_transposed(void)
{
	uint32_t x = any_image(), in[16], count = 3, four = 4, sizes[2], sh = pick(1, 3);
	uint32_t sw = pick(1, 3), fh = pick(1, 5), fw = pick(1, 5), channels = pick(1, 20);
	struct layout l = layout_of(&g.operands[x], chance(4));
	uint32_t pads[4] = { pick(0, fw - 1), pick(0, fw - 1), pick(0, fh - 1), pick(0, fh - 1) };
	bool same = chance(2);
	int32_t shape[4];

	if (l.c > 80 || l.h > 20 || l.w > 20)
		return false;
	in[0] = x;
	add_filter(x, 4, (uint32_t[]){ channels, fh, fw, l.c }, 0, channels, fh * fw * l.c, in);
	sizes[0] = (l.h - 1) * sh + fh;
	sizes[1] = (l.w - 1) * sw + fw;
	if (chance(2)) {
		if (sizes[0] <= pads[2] + pads[3] || sizes[1] <= pads[0] + pads[1])
			return false;
		sizes[0] -= pads[2] + pads[3];
		sizes[1] -= pads[0] + pads[1];
		for (uint32_t i = 0; i < 4; i++)
			in[count++] = add_int((int32_t)pads[i]);
	} else {
		if (same) {
			sizes[0] = l.h * sh;
			sizes[1] = l.w * sw;
		}
		shape[0] = (int32_t)l.n;
		shape[l.nchw ? 1 : 3] = (int32_t)channels;
		shape[l.nchw ? 2 : 1] = (int32_t)sizes[0];
		shape[l.nchw ? 3 : 2] = (int32_t)sizes[1];
		in[count++] = add_ints(1, &four, shape);
		in[count++] = add_int(same ? 1 : 2);
	}
	in[count++] = add_int((int32_t)sw);
	in[count++] = add_int((int32_t)sh);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	return finish(91, count, in, random_image(&l, sizes[0], sizes[1], channels));
}

static bool add_depthwise(void)
{
	uint32_t x = any_image(), in[16], count = 3, oh, ow;
	uint32_t fh = chance(2) ? 3 : pick(1, 6), fw = chance(2) ? 3 : pick(1, 6);
	uint32_t multiplier = chance(5) ? 2 : 1, dilation = chance(4) ? 2 : 1, channels;
	struct layout l = layout_of(&g.operands[x], chance(4));

	if (l.c > 60)
		return false;
	channels = l.c * multiplier;
	in[0] = x;
	add_filter(x, 4, (uint32_t[]){ 1, fh, fw, channels }, 3, channels, fh * fw, in);
	if (!add_window(&l, fh, fw, dilation, in, &count, &oh, &ow))
		return false;
	in[count++] = add_int((int32_t)multiplier);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	in[count++] = add_int((int32_t)dilation);
	in[count++] = add_int((int32_t)dilation);
	return finish(4, count, in, random_image(&l, oh, ow, channels));
}

static uint32_t elements(const struct nn_operand *o)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < o->rank; i++)
		count *= o->dims[i];
	return count;
}

static bool add_fully_connected(void)
{
	uint32_t x = any_tensor(), in[4], units = pick(1, 70);
	const struct nn_operand *o = &g.operands[x];
	uint32_t depth = o->rank >= 2 ? o->dims[o->rank - 1] : 0;
	uint32_t out;

	if (!depth)
		return false;
	in[0] = x;
	add_filter(x, 2, (uint32_t[]){ units, depth }, 0, units, depth, in);
	in[3] = add_int((int32_t)pick(0, 3));
	out = random_result(2, (uint32_t[]){ elements(o) / depth, units });
	return finish(9, 4, in, out);
}

static bool add_pool_of(int32_t code)
{
	uint32_t x = any_image(), in[16], count = 1, fh = pick(1, 7), fw = pick(1, 7), oh, ow;
	const struct nn_operand *o = &g.operands[x];
	struct layout l = layout_of(o, chance(4));

	in[0] = x;
	if (!add_window(&l, fh, fw, 1, in, &count, &oh, &ow))
		return false;
	in[count++] = add_int((int32_t)fw);
	in[count++] = add_int((int32_t)fh);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	return finish(code, count, in, image_result(&l, oh, ow, l.c, o->scale, o->zero_point));
}

static bool add_pool(void)
{
	return add_pool_of(chance(3) ? 17 : is_float() && chance(6) ? 12 : 1);
}

static bool add_max_pool(void)
{
	return add_pool_of(17);
}

/* A constant that broadcasts with a tensor: of its shape, of its last axis, or of any. */
static uint32_t broadcast_constant(const struct nn_operand *o)
{
	uint32_t rank = chance(2) ? o->rank : pick(1, o->rank), dims[NN_MAX_RANK], y;

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = chance(3) ? 1 : o->dims[o->rank - rank + i];
	y = random_result(rank, dims);
	fill_constant(y, 1);
	return y;
}

/* Arithmetic on two tensors of one shape or with a constant, of which ADD may fold some. */
static bool add_arithmetic(void)
{
	static const int32_t codes[] = { 0, 0, 0, 18, 36, 65, 66 };	/* ADD, MUL, SUB, ... */
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

/* Functions of floats that stay close to one another where their inputs do. */
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

/* EXP, SQRT or RSQRT of what is in their range. */
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

/* MEAN, or REDUCE_SUM of floats. */
static bool add_mean(void)
{
	uint32_t x = any_tensor(), dims[NN_MAX_RANK] = { 0 }, count, keep;
	const struct nn_operand *o = &g.operands[x];
	int32_t first = (int32_t)pick(1, o->rank - 1), axes[] = { first, first + 1 - (int32_t)o->rank };

	count = (uint32_t)first + 1 < o->rank && chance(2) ? 2 : 1;
	memcpy(dims, o->dims, sizeof(dims));
	for (uint32_t i = 0; i < count; i++)
		dims[(uint32_t)first + i] = 1;
	if (is_float() && chance(4)) {
		keep = add_operand(NN_BOOL, 0, NULL, 0, 0);
		*(uint8_t *)set_value(keep) = 1;
		return finish(80, 3, (uint32_t[]){ x, add_ints(1, &count, axes), keep },
			      add_result(o->rank, dims, o->scale, o->zero_point));
	}
	return finish(31, 3, (uint32_t[]){ x, add_ints(1, &count, axes), add_int(1) },
		      add_result(o->rank, dims, o->scale, o->zero_point));
}

/* BATCH_MATMUL with a constant of either shape, its batches broadcast or not. */
static bool add_matmul(void)
{
	uint32_t x = any_image(), width = pick(1, 70), y, out;
	bool turn_x = chance(3), turn_y = chance(2), swap;
	const struct nn_operand *o = &g.operands[x];
	uint32_t rows = o->dims[turn_x ? 3 : 2], depth = o->dims[turn_x ? 2 : 3];
	bool large = elements(o) > 10000;
	uint32_t first = chance(2) ? 1 : o->dims[0], second = large || chance(2) ? 1 : o->dims[1];

	if (g.type == NN_TENSOR_QUANT8_ASYMM)
		return false;
	swap = chance(4);
	if (swap) {
		/* The constant first. */
		y = random_result(4, (uint32_t[]){ first, second, turn_x ? o->dims[2] : width,
				  turn_x ? width : o->dims[2] });
		fill_constant(y, 2 / sqrtf((float)o->dims[2]));
		out = random_result(4, (uint32_t[]){ o->dims[0], o->dims[1], width, o->dims[3] });
		return finish(102, 4, (uint32_t[]){ y, x, add_bool(turn_x), add_bool(false) }, out);
	}
	y = random_result(4, (uint32_t[]){ first, second, turn_y ? width : depth,
			  turn_y ? depth : width });
	fill_constant(y, 2 / sqrtf((float)depth));
	out = random_result(4, (uint32_t[]){ o->dims[0], o->dims[1], rows, width });
	return finish(102, 4, (uint32_t[]){ x, y, add_bool(turn_x), add_bool(turn_y) }, out);
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

/* What a cell has besides its weights. */
struct cell {
	uint32_t batch, size, units, outputs;
	bool cifg, peephole, projection, normalized;
};

/* Inputs 1 to 22 of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM, of which 28 are of the latter. */
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

/* A cell along the rows of an image, or once. */
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
	/* A few units may be nearly equal: what is normalised is noise then. */
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

/* A border around images, of 0 or something else, now and then around their channels. */
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

/* PAD and, mostly, a window that reads it. */
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

/* DEQUANTIZE and QUANTIZE, mostly to what it was. */
static bool add_round_trip(void)
{
	uint32_t x = any_tensor(), between;
	const struct nn_operand *o = &g.operands[x];
	bool other = chance(4);

	if (is_float() || o->rank > 4)
		return false;
	between = add_operand(NN_TENSOR_FLOAT32, o->rank, o->dims, 0, 0);
	finish(6, 1, &x, between);
	/* Nothing else may read floats here. */
	g.num_tensors--;
	return finish(72, 1, &between,
		      add_result(o->rank, o->dims, other ? o->scale * 1.5f : o->scale,
				 o->zero_point));
}

/* The last tensor twice, or with one that is quantised alike, along any axis. */
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

/* Two functions of one tensor, joined along the first axis or a new one: in place. */
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

/* TRANSPOSE there and, mostly, back. */
static bool add_turns(void)
{
	static const int32_t there[] = { 0, 3, 1, 2 }, back[] = { 0, 2, 3, 1 };
	uint32_t x = any_image(), four = 4, turned;
	const uint32_t *d = g.operands[x].dims;
	float scale = g.operands[x].scale;
	int32_t zero = g.operands[x].zero_point;

	if (d[2] > 100)
		return false;
	turned = add_result(4, (uint32_t[]){ d[0], d[3], d[1], d[2] }, scale, zero);
	finish(37, 2, (uint32_t[]){ x, add_ints(1, &four, there) }, turned);
	if (chance(4))
		return finish(37, 2, (uint32_t[]){ turned, add_ints(1, &four, there) },
			      add_result(4, (uint32_t[]){ d[0], d[2], d[3], d[1] }, scale, zero));
	return finish(37, 2, (uint32_t[]){ turned, add_ints(1, &four, back) },
		      add_result(4, d, scale, zero));
}

static bool (*const adders[])(void) = {
	add_conv, add_conv, add_depthwise, add_depthwise, add_fully_connected, add_pool,
	add_grouped, add_transposed, add_join, add_split, add_turns,
	add_arithmetic, add_arithmetic, add_activation, add_sigmoid, add_function, add_growth,
	add_softmax, add_reshape, add_transpose, add_pad, add_concatenation, add_mean, add_matmul,
	add_lstm, add_padded, add_padded, add_round_trip, add_prelu, add_hard_swish,
};

/* The last tensor is an output, and so are some others. */
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

static void make_graph(void)
{
	uint32_t dims[] = { pick(1, 2), pick(1, 14), pick(1, 14), pick(1, 70) };
	uint32_t wanted = pick(1, 9);

	begin();
	/* Wide images may become sequences, over which float16 drifts. */
	if (chance(6) && g.type != NN_TENSOR_FLOAT16)
		dims[2] = pick(15, 70);
	g.used = 0;
	g.input = g.tensors[g.num_tensors++] = random_result(4, dims);
	g.operands[g.input].lifetime = NN_SUBGRAPH_INPUT;
	while (g.subgraph.num_operations < wanted) {
		uint32_t operands = g.subgraph.num_operands;
		size_t used = g.used;

		if (!adders[random_bits() % (sizeof(adders) / sizeof(adders[0]))]()) {
			g.subgraph.num_operands = operands;
			g.used = used;
		}
	}
	choose_outputs();
}

/* ---- Comparing ---- */

struct result {
	void *data[MAX_OUTPUTS];
	struct nn_output_shape shapes[MAX_OUTPUTS];
	enum nn_status status;
	struct nn_error err;
};

static void execute(const struct nn_plan *plan, void *input, struct result *r)
{
	struct nn_arg in = { .data = input }, out[MAX_OUTPUTS] = { 0 };
	struct nn_execution e = {
		.num_inputs = 1,
		.num_outputs = g.subgraph.num_outputs,
		.inputs = &in,
		.outputs = out,
		.shapes = r->shapes,
	};
	uint32_t size;

	nn_operand_size(&g.operands[g.input], &size);
	in.length = size;
	for (uint32_t i = 0; i < e.num_outputs; i++) {
		nn_operand_size(&g.operands[g.outputs[i]], &size);
		out[i].length = size;
		out[i].data = r->data[i] = malloc(size);
		assert_non_null(r->data[i]);
		memset(r->data[i], 0xa5, size);
	}
	r->status = nn_plan_execute(plan, &e, &r->err);
}

static void free_result(struct result *r)
{
	for (uint32_t i = 0; i < g.subgraph.num_outputs; i++)
		free(r->data[i]);
}

static float float_at(const void *data, uint32_t i)
{
	uint16_t small;
	float value;

	if (g.type == NN_TENSOR_FLOAT16) {
		memcpy(&small, (const char *)data + i * sizeof(small), sizeof(small));
		return nn_half_to_float(small);
	}
	memcpy(&value, (const char *)data + i * sizeof(value), sizeof(value));
	return value;
}

/*
 * What interpreted halves lose between operations is in proportion to what was summed:
 * to the largest of an output, not to one where much cancelled.
 */
static bool is_close(float a, float b, float largest)
{
	float tolerance = g.type == NN_TENSOR_FLOAT16 ? 2e-2f : g.is_delicate ? 2e-3f : 1e-4f;
	float size = g.type == NN_TENSOR_FLOAT16 ? largest : fabsf(b);

	return a == b || fabsf(a - b) <= tolerance * (1 + size) || (isnan(a) && isnan(b));
}

static float largest_of(const void *data, uint32_t count)
{
	float largest = 0;

	for (uint32_t i = 0; is_float() && i < count; i++) {
		if (isfinite(float_at(data, i)))
			largest = fmaxf(largest, fabsf(float_at(data, i)));
	}
	return largest;
}

/* Fails with what is different. */
static void compare(const struct result *a, const struct result *b, const char *what,
		    uint64_t seed)
{
	assert_int_equal(a->status, b->status);
	if (a->status)
		return;
	for (uint32_t i = 0; i < g.subgraph.num_outputs; i++) {
		const struct nn_operand *o = &g.operands[g.outputs[i]];
		uint32_t count = elements(o);
		float largest = largest_of(b->data[i], count);

		assert_memory_equal(&a->shapes[i], &b->shapes[i], sizeof(a->shapes[i]));
		for (uint32_t k = 0; k < count; k++) {
			const uint8_t *x = a->data[i], *y = b->data[i];

			if (is_float() ? !is_close(float_at(x, k), float_at(y, k), largest) :
					 x[k] != y[k])
				fail_msg("seed %llu, kernels %s, type %s, output %u element %u: %g, not %g",
					 (unsigned long long)seed, what, nn_type_name(g.type), i, k,
					 is_float() ? (double)float_at(x, k) : x[k],
					 is_float() ? (double)float_at(y, k) : y[k]);
		}
	}
}

static struct nn_plan *plan_with(const char *kernels, uint32_t preference, bool lazy)
{
	const struct nn_plan_options options = { .preference = preference, .kernels = kernels,
						 .lazy = lazy };
	struct nn_error err = { "" };
	struct nn_plan *plan;

	if (nn_plan_create(&g.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	return plan;
}

struct job {
	const struct nn_plan *plan;
	void *input;
	struct result result;
};

static void *run_job(void *arg)
{
	struct job *job = arg;

	execute(job->plan, job->input, &job->result);
	return NULL;
}

/* The pool as it was, for a while in which it must not be needed. */
static uint8_t *hide_pool(void)
{
	uint8_t *copy = malloc(g.used ? g.used : 1);

	assert_non_null(copy);
	memcpy(copy, g.values, g.used);
	memset(g.values, 0x5a, g.used);
	return copy;
}

static void show_pool(uint8_t *copy)
{
	memcpy(g.values, copy, g.used);
	free(copy);
}

/* ---- Damage ---- */

#define MAX_PIECE ((size_t)1 << 20)	/* bytes that a damaged step may want */
#define MAX_TASKS 4096

static struct {
	uint32_t saved;
	uint32_t frozen;
	uint32_t refused;
	uint32_t loaded;
	uint32_t steps;			/* damaged ones that were run */
} counts;

static void damage_words(uint32_t *words, uint32_t count)
{
	for (uint32_t i = pick(1, 2); i > 0 && count; i--) {
		uint32_t *word = &words[pick(0, count - 1)];

		switch (pick(0, 5)) {
		case 0:
			*word = pick(0, 16);
			break;
		case 1:
			*word += pick(0, 4) - 2;
			break;
		case 2:
			*word ^= UINT32_C(1) << pick(0, 31);
			break;
		case 3:
			*word *= pick(2, 4);
			break;
		case 4:
			*word = random_bits() << 1;
			break;
		default:
			*word = words[pick(0, count - 1)];
		}
	}
}

/* Memory of exactly that size, for the sanitizer, with noise in it. */
static void *noise(size_t size)
{
	uint8_t *memory = NULL;

	assert_int_equal(posix_memalign((void **)&memory, SAVED_ALIGN, size ? size : 1), 0);
	for (size_t i = 0; i < size; i++)
		memory[i] = (uint8_t)random_bits();
	return memory;
}

/* The memory of an operand of a form that is whole. */
static struct nn_room room_of(const struct saved_header *h, uint32_t operand)
{
	const struct frozen_header *head = (const struct frozen_header *)(h + 1);
	const struct frozen_arg *args = (const struct frozen_arg *)(head + 1);
	uint32_t num_args = head->num_inputs + head->num_outputs, size = 0;
	const struct frozen_place *places = (const struct frozen_place *)(args + num_args);

	if (operand < num_args)
		value_size(args[operand].type, args[operand].rank, args[operand].dims, &size);
	else
		size = places[operand - num_args].size;
	return (struct nn_room){ size, SAVED_ALIGN };
}

/* Runs a step in memory of just the size that it was told. */
static void run_step(const struct nn_ready *ready, const struct nn_bounds *bounds)
{
	void *packed = noise(ready->packed_size), *scratch = noise(ready->scratch_size);
	void *inputs[NN_SAVED_INPUTS] = { NULL }, *output = noise(bounds->output.bytes);
	struct nn_ready on = *ready;
	const struct nn_kernel_call call = {
		.ready = &on,
		.inputs = (const void *const *)inputs,
		.outputs = &output,
		.threads = 1,
	};

	on.packed = packed;
	for (uint32_t i = 0; i < ready->kernel->inputs; i++)
		inputs[i] = noise(bounds->inputs[i].bytes);
	for (uint32_t task = 0; task < ready->tasks; task++)
		ready->kernel->run(&call, task, scratch);
	for (uint32_t i = 0; i < ready->kernel->inputs; i++)
		free(inputs[i]);
	free(output);
	free(scratch);
	free(packed);
}

/* Whatever a step is made of, its kernel refuses it or keeps within what it was told. */
static void damage_step(const struct saved_header *h, const struct form_steps *s)
{
	const struct nn_kernel *kernel = nn_kernel_at(s->step->kernel);
	struct nn_bounds bounds = { .output = room_of(h, s->step->output) };
	uint32_t words[NN_SAVED_WORDS];
	struct form_steps damaged = { .step = s->step, .words = words };
	struct nn_ready ready;
	void *own;

	for (uint32_t i = 0; i < kernel->inputs; i++)
		bounds.inputs[i] = room_of(h, s->step->inputs[i]);
	for (uint32_t i = 0; i < 6; i++) {
		memcpy(words, s->words, s->step->words * sizeof(*words));
		/* The first time as it is. */
		if (i)
			damage_words(words, s->step->words);
		ready = (struct nn_ready){ .isa = nn_isa_find(h->kernels), .threads = pick(1, 3) };
		if (!form_restore(&damaged, &bounds, &ready, &own)) {
			assert_int_not_equal(i, 0);
		} else if (ready.packed_size <= MAX_PIECE && ready.scratch_size <= MAX_PIECE &&
			   ready.tasks <= MAX_TASKS) {
			run_step(&ready, &bounds);
			counts.steps++;
		}
		free(own);
	}
}

/* Executes a plan whose arguments may be anything. */
static void run_damaged(const struct nn_plan *plan)
{
	const struct nn_subgraph *s = nn_plan_main(plan);
	struct nn_arg args[MAX_OUTPUTS + 2] = { { 0 } };
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = args,
		.outputs = args + s->num_inputs,
	};
	uint32_t count = s->num_inputs + s->num_outputs;
	struct nn_error err = { "" };

	if (count > MAX_OUTPUTS + 2)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t size = 0;

		nn_operand_size(&s->operands[i], &size);
		args[i].length = size < MAX_PIECE ? size : 0;
		args[i].data = noise(args[i].length);
	}
	if (nn_plan_execute(plan, &e, &err))
		assert_true(err.message[0]);
	for (uint32_t i = 0; i < count; i++)
		free(args[i].data);
}

/* A form that was damaged is refused, or gives a plan that keeps its bounds. */
static void check_damaged(const struct nn_plan_image *image, const void *data)
{
	const struct nn_plan_options options = { .preference = pick(0, 1) };
	const struct saved_header *h = image->model;
	struct form_steps s = form_steps_begin(h);
	struct nn_error err = { "" };
	struct nn_plan *plan;

	while (form_steps_next(&s))
		damage_step(h, &s);
	for (uint32_t i = 0; i < 4; i++) {
		struct saved_header *copy = malloc(image->model_size);

		assert_non_null(copy);
		memcpy(copy, h, image->model_size);
		damage_words((uint32_t *)(copy + 1), h->frozen_size / sizeof(uint32_t));
		form_mend(copy);
		if (nn_plan_adopt(copy, image->model_size, data, image->data_size, &options, &plan,
				  &err)) {
			assert_true(err.message[0]);
			counts.refused++;
			continue;
		}
		run_damaged(plan);
		nn_plan_free(plan);
		counts.loaded++;
	}
}

/* ---- Saving ---- */

/*
 * A plan that was saved and loaded gives the same bits, for any preference; its
 * data beyond the first page is out of reach while it is loaded.
 */
static void check_saved(const struct nn_plan *plan, void *input, const struct result *right)
{
	const struct nn_plan_options options = { .preference = pick(0, 2) };
	struct nn_error err = { "" };
	struct nn_plan_image image;
	struct nn_plan *loaded;
	struct result result = { .status = 0 };
	uint8_t *copy;
	char *data;
	uint32_t size;

	if (nn_plan_save(plan, &image, &err))
		fail_msg("%s", err.message);
	data = mmap(NULL, image.data_size + NN_PLAN_DATA_ALIGN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	nn_plan_image_data(&image, data);
	mprotect(data + NN_PLAN_DATA_ALIGN, image.data_size, PROT_NONE);
	copy = hide_pool();
	if (nn_plan_load(image.model, image.model_size, data, image.data_size, &options, &loaded,
			 &err))
		fail_msg("%s", err.message);
	mprotect(data, image.data_size, PROT_READ);
	counts.saved++;
	if (((struct saved_header *)image.model)->frozen_size) {
		counts.frozen++;
		if (chance(4))
			check_damaged(&image, data);
	}
	memset(image.model, 0x5a, image.model_size);
	execute(loaded, input, &result);
	assert_int_equal(result.status, NN_OK);
	for (uint32_t i = 0; i < g.subgraph.num_outputs; i++) {
		nn_operand_size(&g.operands[g.outputs[i]], &size);
		assert_memory_equal(&result.shapes[i], &right->shapes[i], sizeof(right->shapes[i]));
		assert_memory_equal(result.data[i], right->data[i], size);
	}
	free_result(&result);
	nn_plan_free(loaded);
	show_pool(copy);
	munmap(data, image.data_size + NN_PLAN_DATA_ALIGN);
	nn_plan_image_free(&image);
}

/* Two executions of one plan, at a time if `together`, against what is right. */
static void check_plan(const char *kernels, void *input, const struct result *right,
		       bool together, uint64_t seed)
{
	struct nn_plan *plan = plan_with(kernels, pick(0, 2), chance(4));
	struct nn_plan_memory memory;
	struct job jobs[2] = { { plan, input, { .status = 0 } }, { plan, input, { .status = 0 } } };
	pthread_t thread;

	if (together)
		assert_int_equal(pthread_create(&thread, NULL, run_job, &jobs[0]), 0);
	else
		run_job(&jobs[0]);
	run_job(&jobs[1]);
	if (together)
		pthread_join(thread, NULL);
	/* All shapes are known: nothing is left to interpret. */
	nn_plan_memory(plan, &memory);
	assert_true(memory.execution > 0);
	for (uint32_t i = 0; i < 2; i++)
		compare(&jobs[i].result, right, kernels, seed);
	check_saved(plan, input, &jobs[0].result);
	for (uint32_t i = 0; i < 2; i++)
		free_result(&jobs[i].result);
	nn_plan_free(plan);
}

static void check_graph(uint64_t seed)
{
	static const char *const kernels[] = { "avx512-vnni", "avx512", "avx2", "sse4", "plain" };
	struct nn_error err = { "" };
	struct nn_plan *plan;
	struct result right;
	uint32_t size;
	void *input;

	if (nn_model_check(&g.model, &err) || nn_ops_check_model(&g.model, NULL, &err))
		fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
	nn_operand_size(&g.operands[g.input], &size);
	input = malloc(size);
	assert_non_null(input);
	fill(g.type, input, size, 2);
	plan = plan_with("none", 0, false);
	execute(plan, input, &right);
	check_saved(plan, input, &right);
	for (uint32_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (nn_plan_has_kernels(kernels[i]))
			check_plan(kernels[i], input, &right, chance(8), seed);
	nn_plan_free(plan);
	free_result(&right);
	free(input);
}

/* ---- Telling the seed, however a graph ends ---- */

static volatile uint64_t current;
static volatile sig_atomic_t is_running;

static void tell_seed(void)
{
	char text[] = "crashed or failed: seed 00000000000000000000\n", *at = strchr(text, '\n');
	uint64_t seed = current;

	for (; seed; seed /= 10)
		*--at = (char)('0' + seed % 10);
	memmove(strchr(text, '0'), at, strlen(at) + 1);
	if (is_running && write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
static struct sigaction before[sizeof(signals) / sizeof(signals[0])];

/* Then what would have happened happens. */
static void on_signal(int number)
{
	tell_seed();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i] == number)
			sigaction(number, &before[i], NULL);
	raise(number);
}

void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static void watch(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, &before[i]);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(tell_seed);
}

/* Also after an assertion that failed. */
static int tear_down(void **unused)
{
	(void)unused;
	tell_seed();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &before[i], NULL);
	return 0;
}

static void test_random_graphs(void **unused)
{
	const char *given = getenv("NN_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : FIRST_SEED;
	uint64_t end = now() + RUN_NS;
	uint32_t count = 0;

	(void)unused;
	g.values = malloc(VALUES_SIZE);
	assert_non_null(g.values);
	watch();
	is_running = true;
	for (; count < MAX_GRAPHS && now() < end; count++) {
		current = first + count;
		state = current * 7919;
		make_graph();
		check_graph(current);
	}
	is_running = false;
	print_message("%u graphs from seed %llu on\n", count, (unsigned long long)first);
	print_message("%u plans saved, %u of them frozen; damaged: %u refused, %u loaded, %u steps run\n",
		      counts.saved, counts.frozen, counts.refused, counts.loaded, counts.steps);
	free(g.values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random_graphs, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
