/* SPDX-License-Identifier: MIT */
/* SOFTMAX and LOG_SOFTMAX: normalise the elements along an axis. */
#include <math.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/q8.h"
#include "ops/softmax_q8.h"

enum { X, BETA, AXIS };

static enum nn_status infer(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[X];
	struct nn_tensor *out = &r->outputs[0];
	int32_t axis = nn_run_int(r, AXIS, -1);
	uint32_t index;

	if (!nn_axis(axis, in->rank, &index))
		return nn_run_fail(r, "input 2: axis %d does not fit rank %u", axis, in->rank);
	nn_tensor_like(out, in);
	if (in->type == NN_TENSOR_FLOAT32)
		return NN_OK;
	out->scale = 1.0f / 256;
	out->zero_point = in->type == NN_TENSOR_QUANT8_ASYMM ? 0 : -128;
	return NN_OK;
}

static enum nn_status infer_softmax(struct nn_run *r)
{
	if (!(nn_run_float(r, BETA, 0) > 0))
		return nn_run_fail(r, "input 1: beta %g, must be positive",
				   (double)nn_run_float(r, BETA, 0));
	return infer(r);
}

/* The `size` elements along the axis, which are `stride` elements apart. */
struct lane {
	size_t size;
	size_t stride;
};

static size_t lane_of(const struct nn_run *r, struct lane *lane, size_t *outer)
{
	const struct nn_tensor *in = &r->inputs[X];
	uint32_t axis = 0;

	nn_axis(nn_run_int(r, AXIS, -1), in->rank, &axis);
	*outer = nn_tensor_product(in, 0, axis);
	lane->size = in->dims[axis];
	lane->stride = nn_tensor_product(in, axis + 1, in->rank);
	return lane->size * lane->stride;
}

/* ---- Float ---- */

typedef void float_fn(const struct lane *lane, const float *in, float *out, float beta);

static float largest(const struct lane *lane, const float *in)
{
	float max = in[0];

	for (size_t i = 1; i < lane->size; i++)
		max = fmaxf(max, in[i * lane->stride]);
	return max;
}

static void softmax_float(const struct lane *lane, const float *in, float *out, float beta)
{
	float max = largest(lane, in), sum = 0;

	for (size_t i = 0; i < lane->size; i++) {
		float e = expf((in[i * lane->stride] - max) * beta);

		out[i * lane->stride] = e;
		sum += e;
	}
	for (size_t i = 0; i < lane->size; i++)
		out[i * lane->stride] /= sum;
}

static void log_softmax_float(const struct lane *lane, const float *in, float *out, float beta)
{
	float max = largest(lane, in), sum = 0, log_sum;

	for (size_t i = 0; i < lane->size; i++)
		sum += (float)exp((double)((in[i * lane->stride] - max) * beta));
	log_sum = (float)log((double)sum);
	for (size_t i = 0; i < lane->size; i++)
		out[i * lane->stride] = (in[i * lane->stride] - max) * beta - log_sum;
}

static void walk_float(const struct nn_run *r, float_fn *fn)
{
	const float *in = r->inputs[X].data;
	float *out = r->outputs[0].data, beta = nn_run_float(r, BETA, 1);
	struct lane lane;
	size_t outer, step = lane_of(r, &lane, &outer);

	for (size_t o = 0; step && o < outer; o++, in += step, out += step) {
		for (size_t i = 0; i < lane.stride; i++)
			fn(&lane, in + i, out + i, beta);
	}
}

/* ---- Quantised ---- */

static enum nn_status walk_q8(const struct nn_run *r)
{
	const uint8_t *in = r->inputs[X].data;
	uint8_t *out = r->outputs[0].data;
	struct nn_multiplier factor;
	struct nn_softmax_q8 s;
	struct lane lane;
	size_t outer, step = lane_of(r, &lane, &outer);

	if (!nn_softmax_q8_factor(&r->inputs[X], nn_run_float(r, BETA, 1), &factor))
		return nn_run_fail(r, "input 0: scale %g is too small",
				   (double)r->inputs[X].scale);
	nn_softmax_q8_init(&s, nn_q8_of(&r->inputs[X]).flip, &factor);
	for (size_t o = 0; step && o < outer; o++, in += step, out += step) {
		for (size_t i = 0; i < lane.stride; i++)
			nn_softmax_q8(&s, in + i, out + i, lane.size, lane.stride);
	}
	return NN_OK;
}

static enum nn_status execute_softmax(struct nn_run *r)
{
	if (r->inputs[X].type != NN_TENSOR_FLOAT32)
		return walk_q8(r);
	walk_float(r, softmax_float);
	return NN_OK;
}

static enum nn_status execute_log_softmax(struct nn_run *r)
{
	walk_float(r, log_softmax_float);
	return NN_OK;
}

NN_OPERATION(SOFTMAX,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8, 0, 4 }, NN_SCALAR_FLOAT, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 4 }),
	.zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,
	.infer = infer_softmax, .execute = execute_softmax);

NN_OPERATION(LOG_SOFTMAX,
	NN_INPUTS(3, { NN_FLOATS, 0, 0 }, NN_SCALAR_FLOAT, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.float16_as_float32 = true,
	.infer = infer, .execute = execute_log_softmax);
