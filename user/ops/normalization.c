/* SPDX-License-Identifier: MIT */
/*
 * L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION along an axis, and
 * INSTANCE_NORMALIZATION over the pixels of each channel.
 */
#include <math.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/image.h"
#include "ops/q8.h"
#include "ops/quant.h"

/*
 * A view of a tensor with the shape [outer, size, inner], where `size` is the length of the axis.
 */
struct axis {
	size_t outer;
	size_t size;
	size_t inner;
};

static enum nn_status split_at(const struct nn_run *r, int32_t index, struct axis *a)
{
	const struct nn_tensor *x = &r->inputs[0];
	int32_t rank = (int32_t)x->rank;
	uint32_t axis = (uint32_t)(index < 0 ? index + rank : index);

	if (index < -rank || index >= rank)
		return nn_run_fail(r, "axis %d does not fit rank %d", index, rank);
	a->outer = nn_tensor_product(x, 0, axis);
	a->size = x->dims[axis];
	a->inner = nn_tensor_product(x, axis + 1, x->rank);
	return NN_OK;
}

/* L2_NORMALIZATION */

static enum nn_status infer_l2(struct nn_run *r)
{
	struct nn_tensor *y = &r->outputs[0];
	struct axis a;

	nn_infer_shape(r);
	if (y->type != NN_TENSOR_FLOAT32) {
		y->scale = 1.0f / 128;
		y->zero_point = y->type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0;
	}
	return split_at(r, nn_run_int(r, 1, -1), &a);
}

static void l2_float(const float *x, float *y, size_t size, size_t stride)
{
	float sum = 0, norm;

	for (size_t i = 0; i < size; i++)
		sum += x[i * stride] * x[i * stride];
	norm = sqrtf(sum);
	/* Limit the norm to at least 1e-6; a norm that is NaN stays NaN. */
	norm = norm < 1e-6f ? 1e-6f : norm;
	for (size_t i = 0; i < size; i++)
		y[i * stride] = x[i * stride] / norm;
}

/*
 * Normalises `size` elements. For int8 tensors, q.flip flips the sign bits of elements, and q.zero
 * is the zero point plus 128.
 */
static void l2_q8(struct nn_q8 q, const uint8_t *x, uint8_t *y, size_t size, size_t stride)
{
	uint32_t sum = 0;
	int32_t multiplier, shift;

	for (size_t i = 0; i < size; i++) {
		int32_t value = nn_q8_value(q, x[i * stride]);

		sum += (uint32_t)(value * value);
	}
	nn_quant_inverse_sqrt((int32_t)sum, &multiplier, &shift);
	for (size_t i = 0; i < size; i++) {
		int32_t value = nn_mbqm(nn_q8_value(q, x[i * stride]) * 128, multiplier, shift);

		value = value < -128 ? -128 : value > 127 ? 127 : value;
		y[i * stride] = (uint8_t)(value + 128) ^ q.flip;
	}
}

static enum nn_status execute_l2(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct nn_q8 q = nn_q8_of(x);
	struct axis a;
	enum nn_status status = split_at(r, nn_run_int(r, 1, -1), &a);

	for (size_t i = 0; !status && i < a.outer; i++) {
		for (size_t j = 0; j < a.inner; j++) {
			size_t at = i * a.size * a.inner + j;

			if (x->type == NN_TENSOR_FLOAT32)
				l2_float((const float *)x->data + at,
					 (float *)r->outputs[0].data + at, a.size, a.inner);
			else
				l2_q8(q, (const uint8_t *)x->data + at,
				      (uint8_t *)r->outputs[0].data + at, a.size, a.inner);
		}
	}
	return status;
}

/* LOCAL_RESPONSE_NORMALIZATION */

struct response {
	struct axis axis;
	size_t radius;
	float bias;
	float alpha;
	float beta;
};

static enum nn_status prepare_lrn(const struct nn_run *r, struct response *v)
{
	int32_t radius = nn_run_int(r, 1, 0);

	if (radius < 0)
		return nn_run_fail(r, "input 1: the radius %d is negative", radius);
	v->radius = (size_t)radius;
	v->bias = nn_run_float(r, 2, 0);
	v->alpha = nn_run_float(r, 3, 0);
	v->beta = nn_run_float(r, 4, 0);
	return split_at(r, nn_run_int(r, 5, -1), &v->axis);
}

static enum nn_status infer_lrn(struct nn_run *r)
{
	struct response v;

	nn_infer_shape(r);
	return prepare_lrn(r, &v);
}

static void lrn_slice(const struct response *v, const float *x, float *y)
{
	size_t size = v->axis.size, stride = v->axis.inner;

	for (size_t i = 0; i < size; i++) {
		size_t first = i > v->radius ? i - v->radius : 0;
		size_t last = v->radius < size - i ? i + v->radius + 1 : size;
		float sum = 0;

		for (size_t k = first; k < last; k++)
			sum += x[k * stride] * x[k * stride];
		y[i * stride] = x[i * stride] * powf(v->bias + v->alpha * sum, -v->beta);
	}
}

static enum nn_status execute_lrn(struct nn_run *r)
{
	const float *x = r->inputs[0].data;
	float *y = r->outputs[0].data;
	struct response v;
	enum nn_status status = prepare_lrn(r, &v);

	for (size_t i = 0; !status && i < v.axis.outer; i++) {
		for (size_t j = 0; j < v.axis.inner; j++) {
			size_t at = i * v.axis.size * v.axis.inner + j;

			lrn_slice(&v, x + at, y + at);
		}
	}
	return status;
}

/* INSTANCE_NORMALIZATION */

/*
 * Normalises one channel of an image. The channel has `size` elements; adjacent elements are
 * `stride` apart.
 */
static void instance(const struct nn_run *r, const float *x, float *y, size_t size, size_t stride)
{
	float gamma = nn_run_float(r, 1, 0), beta = nn_run_float(r, 2, 0);
	float epsilon = nn_run_float(r, 3, 0);
	float mean = 0, variance = 0, factor;

	for (size_t i = 0; i < size; i++)
		mean += x[i * stride];
	mean /= (float)size;
	for (size_t i = 0; i < size; i++)
		variance += (x[i * stride] - mean) * (x[i * stride] - mean);
	variance /= (float)size;
	factor = gamma / sqrtf(variance + epsilon);
	for (size_t i = 0; i < size; i++)
		y[i * stride] = (x[i * stride] - mean) * factor + beta;
}

static enum nn_status execute_instance(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[0];
	bool nchw = nn_run_bool(r, 4, false);
	struct nn_image s = nn_image_of(x, nchw);
	size_t pixels = (size_t)s.h * s.w;

	for (size_t n = 0; n < s.n; n++) {
		for (size_t c = 0; c < s.c; c++) {
			size_t at = n * pixels * s.c + (nchw ? c * pixels : c);

			instance(r, (const float *)x->data + at,
				 (float *)r->outputs[0].data + at, pixels, nchw ? 1 : s.c);
		}
	}
	return NN_OK;
}

NN_OPERATION(L2_NORMALIZATION,
	NN_INPUTS(1, { NN_FLOATS | NN_QUANT8, 1, 4 }, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 1, 4 }),
	.float16_as_float32 = true,
	.infer = infer_l2, .execute = execute_l2);

NN_OPERATION(LOCAL_RESPONSE_NORMALIZATION,
	NN_INPUTS(5, { NN_FLOATS, 1, 4 }, NN_SCALAR_INT, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT,
		  NN_SCALAR_FLOAT, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 1, 4 }),
	.float16_as_float32 = true,
	.infer = infer_lrn, .execute = execute_lrn);

NN_OPERATION(INSTANCE_NORMALIZATION,
	NN_INPUTS(5, { NN_FLOATS, 4, 4 }, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT,
		  NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 4, 4 }),
	.dims = "****", .float16_as_float32 = true,
	.infer = nn_infer_shape, .execute = execute_instance);
