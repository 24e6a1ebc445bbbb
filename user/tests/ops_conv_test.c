/* SPDX-License-Identifier: MIT */
/*
 * Tests convolutions and FULLY_CONNECTED: signatures, invalid parameters, and results. The results
 * are compared with sums that follow the operations' definitions.
 */
#include <math.h>

#include "op_case.h"
#include "ops/quant.h"
#include "tests/heap_blocks.h"

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		/*
		 * Valid signatures cover each type, each kind of padding, and each number of
		 * operands.
		 */
		{ "CONV_2D", "f4 f4 f1 I I I I > f4", true },
		{ "CONV_2D", "h4 h4 h1 I I I I B > h4", true },
		{ "CONV_2D", "u4 u4 w1 I I I I B I I > u4", true },
		{ "CONV_2D", "s4 s4 w1 I I I I I I I > s4", true },
		{ "CONV_2D", "u4 p40 w1 I I I I I I I B > u4", true },
		{ "CONV_2D", "s4 p40 w1 I I I I I I I B I I > s4", true },
		{ "CONV_2D", "f0 f0 f0 I I I I > f0", true },
		/*
		 * Invalid signatures have an incomplete dilation, an operand too few or too many,
		 * no output, or two outputs.
		 */
		{ "CONV_2D", "f4 f4 f1 I I I > f4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I B I > f4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I I I I B I > f4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I I I I B I I I > f4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I >", false },
		{ "CONV_2D", "f4 f4 f1 I I I I > f4 f4", false },
		/* Some invalid signatures combine types that do not fit together. */
		{ "CONV_2D", "w4 f4 f1 I I I I > f4", false },
		{ "CONV_2D", "f4 h4 f1 I I I I > f4", false },
		{ "CONV_2D", "f4 p40 f1 I I I I > f4", false },
		{ "CONV_2D", "u4 s4 w1 I I I I > u4", false },
		{ "CONV_2D", "u4 p43 w1 I I I I > u4", false },
		{ "CONV_2D", "f4 f4 h1 I I I I > f4", false },
		{ "CONV_2D", "u4 u4 u1 I I I I > u4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I > h4", false },
		{ "CONV_2D", "f4 f4 f1 I I F I > f4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I I > f4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I B I B > f4", false },
		/* Ranks. */
		{ "CONV_2D", "f3 f4 f1 I I I I > f4", false },
		{ "CONV_2D", "f4 f3 f1 I I I I > f4", false },
		{ "CONV_2D", "f4 f4 f2 I I I I > f4", false },
		{ "CONV_2D", "f4 f4 f1 I I I I > f3", false },

		{ "DEPTHWISE_CONV_2D", "f4 f4 f1 I I I I I > f4", true },
		{ "DEPTHWISE_CONV_2D", "h4 h4 h1 I I I I I B > h4", true },
		{ "DEPTHWISE_CONV_2D", "u4 p43 w1 I I I I I B I I > u4", true },
		{ "DEPTHWISE_CONV_2D", "s4 s4 w1 I I I I I I I I > s4", true },
		{ "DEPTHWISE_CONV_2D", "u4 u4 w1 I I I I I I I I B > u4", true },
		{ "DEPTHWISE_CONV_2D", "f4 f4 f1 I I I I I I I I B I I > f4", true },
		{ "DEPTHWISE_CONV_2D", "f4 f4 f1 I I I I > f4", false },
		{ "DEPTHWISE_CONV_2D", "f4 f4 f1 I I I I I B I > f4", false },
		{ "DEPTHWISE_CONV_2D", "u4 p40 w1 I I I I I > u4", false },

		{ "GROUPED_CONV_2D", "f4 f4 f1 I I I I I B > f4", true },
		{ "GROUPED_CONV_2D", "u4 p40 w1 I I I I I I I I B > u4", true },
		{ "GROUPED_CONV_2D", "f4 f4 f1 I I I I I > f4", false },
		{ "GROUPED_CONV_2D", "f4 f4 f1 I I I I I I I I > f4", false },
		{ "GROUPED_CONV_2D", "f4 f4 f1 I I I I I B I I > f4", false },

		{ "TRANSPOSE_CONV_2D", "f4 f4 f1 w1 I I I I B > f4", true },
		{ "TRANSPOSE_CONV_2D", "s4 p40 w1 I I I I I I I B > s4", true },
		{ "TRANSPOSE_CONV_2D", "f4 f4 f1 w1 I I I I > f4", false },
		{ "TRANSPOSE_CONV_2D", "f4 f4 f1 f1 I I I I B > f4", false },
		{ "TRANSPOSE_CONV_2D", "f4 f4 f1 w2 I I I I B > f4", false },
		{ "TRANSPOSE_CONV_2D", "f4 f4 f1 I I I I I I I I > f4", false },

		{ "FULLY_CONNECTED", "f2 f2 f1 I > f2", true },
		{ "FULLY_CONNECTED", "h3 h2 h1 I > h2", true },
		{ "FULLY_CONNECTED", "u4 u2 w1 I > u2", true },
		{ "FULLY_CONNECTED", "s4 s2 w1 I > s2", true },
		{ "FULLY_CONNECTED", "f1 f2 f1 I > f2", false },
		{ "FULLY_CONNECTED", "f5 f2 f1 I > f2", false },
		{ "FULLY_CONNECTED", "f2 f3 f1 I > f2", false },
		{ "FULLY_CONNECTED", "f2 f2 f1 I > f4", false },
		{ "FULLY_CONNECTED", "u2 p20 w1 I > u2", false },
		{ "FULLY_CONNECTED", "f2 f2 f1 B > f2", false },
		{ "FULLY_CONNECTED", "f2 f2 f1 > f2", false },
		{ "FULLY_CONNECTED", "f2 f2 f1 I I > f2", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		oc_assert_signature(&table[i]);
}

/* ---- Results, against the definition ---- */

enum kind { CONV, DEPTHWISE, GROUPED, TRANSPOSE };

static const char *const names[] = {
	"CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D",
};

/*
 * A convolution with explicit paddings; in each array, element 0 is for the height and element 1
 * for the width.
 */
struct shape {
	enum kind kind;
	int32_t activation;
	bool nchw;
	uint32_t n, h, w, ci;
	uint32_t fh, fw, co;
	uint32_t groups;		/* DEPTHWISE: the multiplier */
	int32_t stride[2];
	int32_t dilation[2];
	int32_t head[2];
	int32_t tail[2];
};

static uint32_t seed;

/* Returns a random multiple of 1/64 from -1 to 1, so that sums are exact. */
static float any(void)
{
	seed = seed * 1664525 + 1013904223;
	return (float)((int32_t)(seed >> 16) % 129 - 64) / 64;
}

static uint32_t any_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % n;
}

/*
 * out_size() returns the output's size on an axis. The function in_at() returns the input position
 * that a filter element `tap` reads for an output position.
 */
static int32_t out_size(const struct shape *s, int axis, int32_t in, int32_t filter)
{
	int32_t extent = (filter - 1) * s->dilation[axis] + 1;

	if (s->kind == TRANSPOSE)
		return (in - 1) * s->stride[axis] + filter - s->head[axis] - s->tail[axis];
	return (in + s->head[axis] + s->tail[axis] - extent) / s->stride[axis] + 1;
}

static int32_t in_at(const struct shape *s, int axis, int32_t out, int32_t tap)
{
	int32_t at;

	if (s->kind != TRANSPOSE)
		return out * s->stride[axis] - s->head[axis] + tap * s->dilation[axis];
	at = out + s->head[axis] - tap;
	return at >= 0 && at % s->stride[axis] == 0 ? at / s->stride[axis] : -1;
}

static size_t at4(bool nchw, const uint32_t *hwc, uint32_t n, uint32_t y, uint32_t x, uint32_t c)
{
	if (nchw)
		return ((size_t)(n * hwc[2] + c) * hwc[0] + y) * hwc[1] + x;
	return ((size_t)(n * hwc[0] + y) * hwc[1] + x) * hwc[2] + c;
}

/*
 * depth_of() returns the number of input channels that a filter reads. The function first_of()
 * returns the first input channel that output channel `k` reads.
 */
static uint32_t depth_of(const struct shape *s)
{
	return s->kind == DEPTHWISE ? 1 : s->kind == GROUPED ? s->ci / s->groups : s->ci;
}

static uint32_t first_of(const struct shape *s, uint32_t k)
{
	if (s->kind == DEPTHWISE)
		return k / s->groups;
	return s->kind == GROUPED ? k / (s->co / s->groups) * depth_of(s) : 0;
}

static size_t filter_at(const struct shape *s, uint32_t k, uint32_t i, uint32_t j, uint32_t d)
{
	if (s->kind == DEPTHWISE)
		return (i * s->fw + j) * s->co + k;
	return ((k * s->fh + i) * s->fw + j) * depth_of(s) + d;
}

/*
 * Returns the expected sum of products for one output element; the sum does not include the bias.
 */
static double sum_at(const struct shape *s, const double *x, const double *filter, uint32_t n,
		     uint32_t oy, uint32_t ox, uint32_t k)
{
	const uint32_t hwc[] = { s->h, s->w, s->ci };
	double sum = 0;

	for (uint32_t i = 0; i < s->fh; i++) {
		for (uint32_t j = 0; j < s->fw; j++) {
			int32_t y = in_at(s, 0, (int32_t)oy, (int32_t)i);
			int32_t z = in_at(s, 1, (int32_t)ox, (int32_t)j);

			if (y < 0 || z < 0 || y >= (int32_t)s->h || z >= (int32_t)s->w)
				continue;
			for (uint32_t d = 0; d < depth_of(s); d++)
				sum += x[at4(s->nchw, hwc, n, (uint32_t)y, (uint32_t)z,
					     first_of(s, k) + d)] *
				       filter[filter_at(s, k, i, j, d)];
		}
	}
	return sum;
}

static void set_dims(uint32_t dims[4], bool nchw, uint32_t n, uint32_t h, uint32_t w, uint32_t c)
{
	dims[0] = n;
	dims[1] = nchw ? c : h;
	dims[2] = nchw ? h : w;
	dims[3] = nchw ? w : c;
}

static void add_scalars(struct op_case *c, const struct shape *s)
{
	for (int axis = 1; axis >= 0; axis--) {
		oc_int(c, s->head[axis]);
		oc_int(c, s->tail[axis]);
	}
	oc_int(c, s->stride[1]);
	oc_int(c, s->stride[0]);
	if (s->kind == DEPTHWISE || s->kind == GROUPED)
		oc_int(c, (int32_t)s->groups);
	oc_int(c, s->activation);
	oc_bool(c, s->nchw);
	if (s->kind == CONV || s->kind == DEPTHWISE) {
		oc_int(c, s->dilation[1]);
		oc_int(c, s->dilation[0]);
	}
}

static uint32_t filter_dims(const struct shape *s, uint32_t dims[4])
{
	dims[0] = s->kind == DEPTHWISE ? 1 : s->co;
	dims[1] = s->fh;
	dims[2] = s->fw;
	dims[3] = s->kind == DEPTHWISE ? s->co : depth_of(s);
	return dims[0] * dims[1] * dims[2] * dims[3];
}

static const struct shape shapes[] = {
	{ CONV, 0, false, 2, 5, 6, 3, 3, 2, 17, 1, { 1, 2 }, { 1, 1 }, { 1, 0 }, { 0, 1 } },
	{ CONV, 1, true, 1, 7, 5, 4, 2, 3, 5, 1, { 2, 1 }, { 2, 1 }, { 2, 1 }, { 1, 2 } },
	{ CONV, 2, false, 1, 9, 9, 2, 3, 3, 16, 1, { 3, 2 }, { 1, 3 }, { 2, 6 }, { 1, 3 } },
	{ CONV, 3, false, 3, 1, 1, 33, 1, 1, 40, 1, { 1, 1 }, { 1, 1 }, { 0, 0 }, { 0, 0 } },
	{ DEPTHWISE, 0, false, 2, 5, 6, 37, 3, 2, 37, 1, { 1, 2 }, { 1, 1 }, { 1, 0 }, { 0, 1 } },
	{ DEPTHWISE, 3, true, 1, 6, 7, 3, 2, 2, 12, 4, { 1, 1 }, { 2, 3 }, { 1, 2 }, { 2, 3 } },
	{ GROUPED, 0, false, 2, 4, 5, 6, 2, 3, 9, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0, 2 } },
	{ GROUPED, 1, true, 1, 5, 4, 8, 3, 1, 40, 2, { 2, 1 }, { 1, 1 }, { 2, 0 }, { 1, 0 } },
	{ TRANSPOSE, 0, false, 2, 3, 4, 5, 3, 2, 18, 1, { 2, 3 }, { 1, 1 }, { 1, 0 }, { 0, -2 } },
	{ TRANSPOSE, 2, true, 1, 5, 2, 3, 2, 5, 4, 1, { 1, 2 }, { 1, 1 }, { 3, 4 }, { -1, 1 } },
	{ TRANSPOSE, 0, false, 1, 2, 2, 1, 1, 1, 1, 1, { 3, 3 }, { 1, 1 }, { 2, 0 }, { -5, 0 } },
};

#define MOST 4096

struct values {
	double x[MOST];
	double filter[MOST];
	double bias[64];
	float floats[MOST];
	uint8_t bytes[MOST];
	int32_t ints[64];
};

static void assert_output_dims(const struct shape *s, const struct nn_tensor *out, uint32_t hwc[3])
{
	uint32_t dims[4];

	hwc[0] = (uint32_t)out_size(s, 0, (int32_t)s->h, (int32_t)s->fh);
	hwc[1] = (uint32_t)out_size(s, 1, (int32_t)s->w, (int32_t)s->fw);
	hwc[2] = s->co;
	set_dims(dims, s->nchw, s->n, hwc[0], hwc[1], hwc[2]);
	assert_int_equal(out->rank, 4);
	assert_memory_equal(out->dims, dims, sizeof(dims));
}

/* Calls `compare` for each output element, with the exact expected sum. */
static void compare_all(const struct shape *s, const struct values *v, const struct nn_tensor *out,
			void (*compare)(const struct shape *s, const struct nn_tensor *out,
					size_t at, uint32_t channel, double exact))
{
	uint32_t hwc[3];

	assert_output_dims(s, out, hwc);
	for (uint32_t n = 0; n < s->n; n++)
		for (uint32_t y = 0; y < hwc[0]; y++)
			for (uint32_t x = 0; x < hwc[1]; x++)
				for (uint32_t k = 0; k < s->co; k++)
					compare(s, out, at4(s->nchw, hwc, n, y, x, k), k,
						sum_at(s, v->x, v->filter, n, y, x, k) +
						v->bias[k]);
}

static double activated(const struct shape *s, double value)
{
	static const double limits[][2] = { { -1e30, 1e30 }, { 0, 1e30 }, { -1, 1 }, { 0, 6 } };

	return fmin(fmax(value, limits[s->activation][0]), limits[s->activation][1]);
}

static void compare_float(const struct shape *s, const struct nn_tensor *out, size_t at,
			  uint32_t channel, double exact)
{
	(void)channel;
	assert_true(fabs(((float *)out->data)[at] - activated(s, exact)) < 1e-6);
}

static const float *fill_floats(struct values *v, double *exact, uint32_t count)
{
	assert_between(count, 1, MOST);
	for (uint32_t i = 0; i < count; i++)
		exact[i] = v->floats[i] = any();
	return v->floats;
}

static void test_float(void **state)
{
	static struct values v;

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];
		uint32_t dims[4], count = s->n * s->h * s->w * s->ci;
		struct op_case c;

		seed = (uint32_t)i;
		oc_init(&c, names[s->kind]);
		set_dims(dims, s->nchw, s->n, s->h, s->w, s->ci);
		oc_input(&c, NN_TENSOR_FLOAT32, 4, dims, fill_floats(&v, v.x, count));
		count = filter_dims(s, dims);
		oc_input(&c, NN_TENSOR_FLOAT32, 4, dims, fill_floats(&v, v.filter, count));
		oc_input(&c, NN_TENSOR_FLOAT32, 1, &s->co, fill_floats(&v, v.bias, s->co));
		add_scalars(&c, s);
		oc_output(&c, NN_TENSOR_FLOAT32);
		if (oc_run(&c))
			fail_msg("shape %zu: %s", i, c.err.message);
		compare_all(s, &v, oc_result(&c, 0), compare_float);
		oc_free(&c);
	}
}

#define X_SCALE 0.5f
#define FILTER_SCALE 0.25f
#define OUT_SCALE 0.75f

/* Writes random bytes to v->bytes, and each byte minus the zero point to `exact`. */
static const uint8_t *fill_bytes(struct values *v, double *exact, uint32_t count, bool is_signed,
				 int32_t zero)
{
	assert_between(count, 1, MOST);
	for (uint32_t i = 0; i < count; i++) {
		v->bytes[i] = (uint8_t)any_below(256);
		exact[i] = (is_signed ? (int8_t)v->bytes[i] : v->bytes[i]) - zero;
	}
	return v->bytes;
}

static const int32_t *fill_ints(struct values *v, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		v->bias[i] = v->ints[i] = (int32_t)any_below(4000) - 2000;
	return v->ints;
}

static float channel_scales[64];

/*
 * Checks that an output equals the exact sum times the quantisation's multiplier, rounded in
 * fixed-point arithmetic.
 */
static void compare_quantised(const struct shape *s, const struct nn_tensor *out, size_t at,
			      uint32_t channel, double exact)
{
	bool is_signed = out->type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
	int32_t got = is_signed ? ((int8_t *)out->data)[at] : ((uint8_t *)out->data)[at];
	int32_t low, high, expected;
	struct nn_multiplier m;

	assert_true(nn_fused_range(s->activation, out->type, out->scale, out->zero_point, &low,
				   &high));
	assert_true(nn_quant_encode((double)(X_SCALE * channel_scales[channel]) / OUT_SCALE, &m));
	expected = nn_quant_scale((int32_t)exact, &m) + out->zero_point;
	expected = expected < low ? low : expected > high ? high : expected;
	assert_int_equal(got, expected);
}

/* Runs a convolution whose filter has one scale, or one scale per channel. */
static void run_quantised(const struct shape *s, int32_t type, bool per_channel)
{
	static struct values v;
	bool is_signed = type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
	int32_t zero = is_signed ? -3 : 130, filter_zero = per_channel ? 0 : zero + 7;
	uint32_t dims[4], count;
	struct nn_operand *o;
	struct op_case c;

	oc_init(&c, names[s->kind]);
	set_dims(dims, s->nchw, s->n, s->h, s->w, s->ci);
	count = s->n * s->h * s->w * s->ci;
	oc_input(&c, type, 4, dims, fill_bytes(&v, v.x, count, is_signed, zero));
	oc_quantise(&c, X_SCALE, zero);
	count = filter_dims(s, dims);
	fill_bytes(&v, v.filter, count, is_signed || per_channel, filter_zero);
	o = oc_input(&c, per_channel ? NN_TENSOR_QUANT8_SYMM_PER_CHANNEL : type, 4, dims, v.bytes);
	for (uint32_t i = 0; i < s->co; i++)
		channel_scales[i] = per_channel ? FILTER_SCALE / (float)(i + 1) : FILTER_SCALE;
	if (per_channel)
		o->extra = (struct nn_extra){
			.kind = NN_EXTRA_CHANNEL_QUANT, .count = s->co, .scales = channel_scales,
			.channel_dim = s->kind == DEPTHWISE ? 3 : 0,
		};
	else
		oc_quantise(&c, FILTER_SCALE, filter_zero);
	oc_input(&c, NN_TENSOR_INT32, 1, &s->co, fill_ints(&v, s->co));
	oc_quantise(&c, per_channel ? 0 : X_SCALE * FILTER_SCALE, 0);
	add_scalars(&c, s);
	oc_output(&c, type);
	oc_quantise(&c, OUT_SCALE, zero);
	if (oc_run(&c))
		fail_msg("%s: %s", names[s->kind], c.err.message);
	compare_all(s, &v, oc_result(&c, 0), compare_quantised);
	oc_free(&c);
}

static void test_quantised(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		seed = (uint32_t)i + 100;
		run_quantised(&shapes[i], NN_TENSOR_QUANT8_ASYMM, false);
		run_quantised(&shapes[i], NN_TENSOR_QUANT8_ASYMM_SIGNED, false);
		run_quantised(&shapes[i], NN_TENSOR_QUANT8_ASYMM, true);
		run_quantised(&shapes[i], NN_TENSOR_QUANT8_ASYMM_SIGNED, true);
	}
}

/* ---- Implicit padding of rows of ones: an output counts the filter elements inside a row ---- */

enum { SAME = 1, VALID = 2 };

static void test_implicit_padding(void **state)
{
	static const struct {
		uint32_t in, filter;
		int32_t stride, dilation, code;
		uint32_t out;
		float counts[9];
	} table[] = {
		{ 5, 3, 2, 1, SAME, 3, { 2, 3, 2 } },
		{ 6, 3, 2, 1, SAME, 3, { 3, 3, 2 } },
		{ 5, 2, 1, 1, SAME, 5, { 2, 2, 2, 2, 1 } },
		{ 5, 2, 1, 2, SAME, 5, { 1, 2, 2, 2, 1 } },
		{ 2, 1, 5, 1, SAME, 1, { 1 } },
		{ 5, 3, 2, 1, VALID, 2, { 3, 3 } },
		{ 5, 2, 1, 3, VALID, 2, { 2, 2 } },
	};
	static const float ones[] = { 1, 1, 1, 1, 1, 1 }, zero;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		oc_init(&c, "CONV_2D");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, table[i].in, 1), ones);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, table[i].filter, 1), ones);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), &zero);
		oc_int(&c, table[i].code);
		oc_int(&c, table[i].stride);
		oc_int(&c, 1);
		oc_int(&c, 0);
		oc_bool(&c, false);
		oc_int(&c, table[i].dilation);
		oc_int(&c, 1);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_int_equal(oc_result(&c, 0)->dims[2], table[i].out);
		assert_memory_equal(oc_result(&c, 0)->data, table[i].counts,
				    table[i].out * sizeof(float));
		oc_free(&c);
	}
}

static void test_transposed_implicit_padding(void **state)
{
	static const struct {
		int32_t request, code;
		uint32_t out;
		float counts[9];
	} table[] = {
		{ 7, SAME, 7, { 1, 2, 1, 2, 1, 2, 1 } },
		{ 8, SAME, 8, { 1, 1, 2, 1, 2, 1, 2, 1 } },
		{ 7, VALID, 9, { 1, 1, 2, 1, 2, 1, 2, 1, 1 } },
	};
	static const float ones[] = { 1, 1, 1, 1 }, zero;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const int32_t shape[] = { 1, 1, 1, table[i].request };
		struct op_case c;

		oc_init(&c, "TRANSPOSE_CONV_2D");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, 1, 4), ones);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, 3, 1), ones);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), &zero);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(4), shape);
		oc_int(&c, table[i].code);
		oc_int(&c, 2);
		oc_int(&c, 1);
		oc_int(&c, 0);
		oc_bool(&c, true);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_int_equal(oc_result(&c, 0)->dims[3], table[i].out);
		assert_memory_equal(oc_result(&c, 0)->data, table[i].counts,
				    table[i].out * sizeof(float));
		oc_free(&c);
	}
}

/* ---- FULLY_CONNECTED ---- */

static void test_fully_connected_float(void **state)
{
	static struct values v;

	(void)state;
	for (uint32_t size = 1; size < 40; size += 3) {
		const uint32_t units = 5, rows = 6;
		const float *out;
		struct op_case c;

		seed = size;
		oc_init(&c, "FULLY_CONNECTED");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 3, size),
			 fill_floats(&v, v.x, rows * size));
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(units, size),
			 fill_floats(&v, v.filter, units * size));
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(units), fill_floats(&v, v.bias, units));
		oc_int(&c, 1);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_int_equal(oc_result(&c, 0)->dims[0], rows);
		out = oc_result(&c, 0)->data;
		for (uint32_t i = 0; i < rows * units; i++) {
			double sum = v.bias[i % units];

			for (uint32_t k = 0; k < size; k++)
				sum += v.x[i / units * size + k] * v.filter[i % units * size + k];
			assert_true(fabs(out[i] - fmax(sum, 0)) < 1e-6);
		}
		oc_free(&c);
	}
}

/*
 * At the bias's scale 1/8, the expected sums are (1 * 2 + 2 * -3) + 1 = -3 and (2 - 6) - 2 = -6. At
 * the output's scale 1/2, the expected sums are -3 / 4 = -0.75 and -6 / 4 = -1.5.
 */
static void test_fully_connected_quantised(void **state)
{
	static const int32_t types[] = { NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED };
	static const uint8_t x[] = { 11, 12 }, weights[] = { 22, 17, 22, 17 };
	static const int32_t bias[] = { 1, -2 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const uint8_t *out;
		struct op_case c;

		oc_init(&c, "FULLY_CONNECTED");
		oc_input(&c, types[i], OC_DIMS(1, 2), x);
		oc_quantise(&c, 0.5f, 10);
		oc_input(&c, types[i], OC_DIMS(2, 2), weights);
		oc_quantise(&c, 0.25f, 20);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(2), bias);
		oc_quantise(&c, 0.125f, 0);
		oc_int(&c, 0);
		oc_output(&c, types[i]);
		oc_quantise(&c, 0.5f, 5);
		assert_int_equal(oc_run(&c), NN_OK);
		out = oc_result(&c, 0)->data;
		assert_int_equal(out[0], 4);
		assert_int_equal(out[1], 3);
		oc_free(&c);
	}
}

/* ---- Parameters and shapes that are invalid or extreme ---- */

static void test_conv_parameters(void **state)
{
	static const int32_t big = INT32_MAX, least = INT32_MIN;
	static const struct {
		const char *name;
		/*
		 * Scalars of a convolution: paddings (left right top bottom), strides (width
		 * height), activation, dilations (width height).
		 */
		int32_t scalars[9];
		enum nn_status status;
	} table[] = {
		{ "as large as it gets", { 1, 1, 1, 1, big, big, 3, 1, 1 }, NN_OK },
		{ "dilations of all", { big, big, big, big, 1, 1, 0, big, big },
		  NN_GENERAL_FAILURE },
		{ "negative padding", { -1, 0, 0, 0, 1, 1, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ "least padding", { 0, least, 0, 0, 1, 1, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ "padding of the filter", { 2, 0, 0, 0, 1, 1, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ "huge padding", { 0, 0, 0, big, 1, 1, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ "no stride", { 0, 0, 0, 0, 0, 1, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ "negative stride", { 0, 0, 0, 0, 1, least, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ "no dilation", { 0, 0, 0, 0, 1, 1, 0, 0, 1 }, NN_GENERAL_FAILURE },
		{ "negative dilation", { 0, 0, 0, 0, 1, 1, 0, 1, -1 }, NN_GENERAL_FAILURE },
		{ "filter beyond the input", { 0, 0, 0, 0, 1, 1, 0, 3, 1 }, NN_GENERAL_FAILURE },
		{ "activation 4", { 0, 0, 0, 0, 1, 1, 4, 1, 1 }, NN_GENERAL_FAILURE },
		{ "activation -1", { 0, 0, 0, 0, 1, 1, -1, 1, 1 }, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		enum nn_status status;
		struct op_case c;

		oc_init(&c, "CONV_2D");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 3, 3, 1), NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, 2, 1), NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), NULL);
		for (int k = 0; k < 7; k++)
			oc_int(&c, table[i].scalars[k]);
		oc_bool(&c, false);
		oc_int(&c, table[i].scalars[7]);
		oc_int(&c, table[i].scalars[8]);
		oc_output(&c, NN_TENSOR_FLOAT32);
		status = oc_run(&c);
		if (status != table[i].status)
			fail_msg("%s: %s %s", table[i].name, nn_status_name(status), c.err.message);
		oc_free(&c);
	}
}

static void test_conv_shapes(void **state)
{
	static const struct {
		enum kind kind;
		uint32_t x[4], filter[4], bias;
		int32_t own;
		enum nn_status status;
	} table[] = {
		{ CONV, { 1, 2, 2, 3 }, { 4, 1, 1, 3 }, 4, 0, NN_OK },
		{ CONV, { 0, 2, 2, 3 }, { 4, 1, 1, 3 }, 4, 0, NN_OK },
		{ CONV, { 1, 2, 2, 0 }, { 4, 1, 1, 0 }, 4, 0, NN_GENERAL_FAILURE },
		{ CONV, { 1, 0, 2, 3 }, { 4, 1, 1, 3 }, 4, 0, NN_GENERAL_FAILURE },
		{ CONV, { 1, 2, 2, 3 }, { 0, 1, 1, 3 }, 0, 0, NN_GENERAL_FAILURE },
		{ CONV, { 1, 2, 2, 3 }, { 4, 0, 1, 3 }, 4, 0, NN_GENERAL_FAILURE },
		{ CONV, { 1, 2, 2, 3 }, { 4, 1, 1, 2 }, 4, 0, NN_GENERAL_FAILURE },
		{ CONV, { 1, 2, 2, 3 }, { 4, 1, 1, 3 }, 3, 0, NN_GENERAL_FAILURE },
		{ DEPTHWISE, { 1, 2, 2, 3 }, { 1, 1, 1, 6 }, 6, 2, NN_OK },
		{ DEPTHWISE, { 0, 2, 2, 3 }, { 1, 1, 1, 6 }, 6, 2, NN_OK },
		{ DEPTHWISE, { 1, 2, 2, 3 }, { 2, 1, 1, 6 }, 6, 2, NN_GENERAL_FAILURE },
		{ DEPTHWISE, { 1, 2, 2, 3 }, { 1, 1, 1, 6 }, 6, 1, NN_GENERAL_FAILURE },
		{ DEPTHWISE, { 1, 2, 2, 3 }, { 1, 1, 1, 6 }, 6, 0, NN_GENERAL_FAILURE },
		{ DEPTHWISE, { 1, 2, 2, 3 }, { 1, 1, 1, 6 }, 6, -2, NN_GENERAL_FAILURE },
		{ DEPTHWISE, { 1, 2, 2, 3 }, { 1, 1, 1, 6 }, 3, 2, NN_GENERAL_FAILURE },
		{ GROUPED, { 1, 2, 2, 4 }, { 6, 1, 1, 2 }, 6, 2, NN_OK },
		{ GROUPED, { 0, 2, 2, 4 }, { 6, 1, 1, 2 }, 6, 2, NN_GENERAL_FAILURE },
		{ GROUPED, { 1, 2, 2, 4 }, { 5, 1, 1, 2 }, 5, 2, NN_GENERAL_FAILURE },
		{ GROUPED, { 1, 2, 2, 4 }, { 6, 1, 1, 2 }, 6, 3, NN_GENERAL_FAILURE },
		{ GROUPED, { 1, 2, 2, 4 }, { 6, 1, 1, 2 }, 6, 0, NN_GENERAL_FAILURE },
		{ GROUPED, { 1, 2, 2, 4 }, { 6, 1, 1, 2 }, 6, INT32_MIN, NN_GENERAL_FAILURE },
		{ TRANSPOSE, { 1, 2, 2, 3 }, { 4, 1, 1, 3 }, 4, 0, NN_OK },
		{ TRANSPOSE, { 0, 2, 2, 3 }, { 4, 1, 1, 3 }, 4, 0, NN_OK },
		{ TRANSPOSE, { 1, 2, 2, 3 }, { 4, 1, 1, 2 }, 4, 0, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct shape s = { .kind = table[i].kind, .stride = { 1, 1 }, .dilation = { 1, 1 } };
		enum nn_status status;
		struct op_case c;

		oc_init(&c, names[s.kind]);
		oc_input(&c, NN_TENSOR_FLOAT32, 4, table[i].x, NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, 4, table[i].filter, NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, 1, &table[i].bias, NULL);
		s.groups = (uint32_t)table[i].own;
		add_scalars(&c, &s);
		oc_output(&c, NN_TENSOR_FLOAT32);
		status = oc_run(&c);
		if (status != table[i].status)
			fail_msg("shape %zu: %s %s", i, nn_status_name(status), c.err.message);
		oc_free(&c);
	}
}

static void test_transposed_parameters(void **state)
{
	static const struct {
		/*
		 * Scalars of TRANSPOSE_CONV_2D: paddings (left right top bottom), strides (width
		 * height).
		 */
		int32_t scalars[6];
		enum nn_status status;
	} table[] = {
		{ { 0, 0, 0, 0, 1, 1 }, NN_OK },
		{ { 0, -3, 0, -1, 1, 2 }, NN_OK },
		{ { -1, 0, 0, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ { 0, 4, 0, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ { INT32_MAX, 0, 0, 0, 1, 1 }, NN_GENERAL_FAILURE },
		{ { 0, INT32_MIN, 0, INT32_MIN, 1, 1 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 0, INT32_MAX, INT32_MAX }, NN_GENERAL_FAILURE },
		{ { INT32_MAX, 0, INT32_MAX, 0, INT32_MAX, INT32_MAX }, NN_OK },
		{ { 0, 0, 0, 0, 0, 1 }, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		enum nn_status status;
		struct op_case c;

		oc_init(&c, "TRANSPOSE_CONV_2D");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, 2, 1), NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, 2, 1), NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), NULL);
		for (int k = 0; k < 6; k++)
			oc_int(&c, table[i].scalars[k]);
		oc_int(&c, 0);
		oc_bool(&c, false);
		oc_output(&c, NN_TENSOR_FLOAT32);
		status = oc_run(&c);
		if (status != table[i].status)
			fail_msg("case %zu: %s %s", i, nn_status_name(status), c.err.message);
		oc_free(&c);
	}
}

/*
 * A sum of products and bias that overflows int32 wraps around. FULLY_CONNECTED refuses an output
 * scale of 0, and a bias scale other than input scale times weights scale.
 */
static void test_scales(void **state)
{
	static const struct {
		float bias_scale, out_scale;
		enum nn_status status;
	} table[] = {
		{ 0.25f, 1, NN_OK },
		{ 0.25f, 1e-9f, NN_OK },
		{ 0.26f, 1, NN_GENERAL_FAILURE },
		{ 0, 1, NN_GENERAL_FAILURE },
		{ 0.25f, 0, NN_GENERAL_FAILURE },
	};
	static const uint8_t x = 255, weight = 255;
	static const int32_t bias = INT32_MAX;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		oc_init(&c, "FULLY_CONNECTED");
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1, 1), &x);
		oc_quantise(&c, 0.5f, 0);
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1, 1), &weight);
		oc_quantise(&c, 0.5f, 0);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(1), &bias);
		oc_quantise(&c, table[i].bias_scale, 0);
		oc_int(&c, 0);
		oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
		oc_quantise(&c, table[i].out_scale, 255);
		assert_int_equal(oc_run(&c), table[i].status);
		if (i == 0)
			assert_int_equal(*(uint8_t *)oc_result(&c, 0)->data, 0);
		oc_free(&c);
	}
}

static void test_fully_connected_shapes(void **state)
{
	static const struct {
		uint32_t x[2], weights[2], bias;
		enum nn_status status;
	} table[] = {
		{ { 3, 4 }, { 2, 6 }, 2, NN_OK },
		{ { 0, 4 }, { 2, 4 }, 2, NN_OK },
		{ { 3, 4 }, { 2, 5 }, 2, NN_GENERAL_FAILURE },
		{ { 3, 4 }, { 2, 4 }, 3, NN_GENERAL_FAILURE },
		{ { 3, 4 }, { 0, 4 }, 0, NN_GENERAL_FAILURE },
		{ { 3, 0 }, { 2, 0 }, 2, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		oc_init(&c, "FULLY_CONNECTED");
		oc_input(&c, NN_TENSOR_FLOAT32, 2, table[i].x, NULL);
		/*
		 * The model does not declare the input's shape, so the shape rule finds the error
		 * at run time.
		 */
		c.operands[0].rank = 0;
		oc_input(&c, NN_TENSOR_FLOAT32, 2, table[i].weights, NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, 1, &table[i].bias, NULL);
		oc_int(&c, 0);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), table[i].status);
		oc_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_signatures),
		heap_unit_test(test_float),
		heap_unit_test(test_quantised),
		heap_unit_test(test_implicit_padding),
		heap_unit_test(test_transposed_implicit_padding),
		heap_unit_test(test_fully_connected_float),
		heap_unit_test(test_fully_connected_quantised),
		heap_unit_test(test_conv_parameters),
		heap_unit_test(test_conv_shapes),
		heap_unit_test(test_transposed_parameters),
		heap_unit_test(test_scales),
		heap_unit_test(test_fully_connected_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
