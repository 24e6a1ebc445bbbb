/* SPDX-License-Identifier: MIT */
/*
 * FULLY_CONNECTED: computes the dot product of each row of the input with each row of the weights.
 */
#include "ops/dot.h"
#include "ops/q8.h"
#include "ops/requant.h"

enum { X, WEIGHTS, BIAS, ACTIVATION };

/*
 * If the shapes are known, checks that the bias has an element for each unit, and that the input's
 * elements form whole rows.
 */
static enum nn_status check_shapes(const struct nn_check *c)
{
	const struct nn_operand *x = nn_check_in(c, X), *weights = nn_check_in(c, WEIGHTS);
	const struct nn_operand *bias = nn_check_in(c, BIAS);
	uint64_t elements = 1;

	if (!x->rank || !weights->rank || !bias->rank)
		return NN_OK;
	if (weights->dims[0] && bias->dims[0] && bias->dims[0] != weights->dims[0])
		return nn_check_fail_input(c, BIAS, "%u elements for %u units", bias->dims[0],
					   weights->dims[0]);
	if (!weights->dims[1])
		return NN_OK;
	for (uint32_t i = 0; i < x->rank; i++)
		elements = elements * x->dims[i] % weights->dims[1];
	if (elements)
		return nn_check_fail_input(c, X, "its elements do not make rows of %u",
					   weights->dims[1]);
	return NN_OK;
}

static enum nn_status check(const struct nn_check *c)
{
	enum nn_status status = nn_check_counts(c, 4, 4, 1, 1);

	if (!status)
		status = nn_check_input(c, ACTIVATION, (struct nn_rule)NN_SCALAR_INT);
	if (!status)
		status = nn_filter_check(c, 2, -1);
	return status ? status : check_shapes(c);
}

enum nn_status nn_fully_connected_infer(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[X];
	const uint32_t *weights = r->inputs[WEIGHTS].dims;
	enum nn_status status = nn_filter_infer(r);
	struct nn_tensor *out = &r->outputs[0];
	float low, high;

	if (status)
		return status;
	if (!nn_fused_range_float(nn_run_int(r, ACTIVATION, 0), &low, &high))
		return nn_run_fail(r, "input 3: unknown activation %d",
				   nn_run_int(r, ACTIVATION, 0));
	if (x->rank < 2 || x->rank > 4)
		return nn_run_fail(r, "input 0: rank %u, must be 2 to 4", x->rank);
	if (nn_tensor_count(x) % weights[1])
		return nn_run_fail(r, "input 0: %u elements do not make rows of %u",
				   nn_tensor_count(x), weights[1]);
	out->rank = 2;
	out->dims[0] = nn_tensor_count(x) / weights[1];
	out->dims[1] = weights[0];
	return NN_OK;
}

static void execute_float(struct nn_run *r, size_t rows, size_t units, size_t size)
{
	const float *x = r->inputs[X].data, *weights = r->inputs[WEIGHTS].data;
	const float *bias = r->inputs[BIAS].data;
	float *out = r->outputs[0].data;
	float low, high;

	nn_fused_range_float(nn_run_int(r, ACTIVATION, 0), &low, &high);
	for (size_t i = 0; i < rows; i++) {
		for (size_t u = 0; u < units; u++) {
			float sum = nn_dot_f32(x + i * size, weights + u * size, size) + bias[u];

			*out++ = sum < low ? low : sum > high ? high : sum;
		}
	}
}

static enum nn_status execute_q8(struct nn_run *r, size_t rows, uint32_t units, size_t size)
{
	const int16_t *x = nn_q8_widened(r, &r->inputs[X], r->inputs[X].data);
	const int16_t *weights = nn_q8_widened(r, &r->inputs[WEIGHTS], r->inputs[WEIGHTS].data);
	uint8_t *out = r->outputs[0].data;
	struct nn_requant q;

	if (!x || !weights || nn_requant_init(&q, r, units, ACTIVATION))
		return NN_OUT_OF_MEMORY;
	for (size_t i = 0; i < rows; i++)
		for (uint32_t u = 0; u < units; u++)
			*out++ = nn_requant(&q, u, nn_dot_i16(x + i * size, weights + u * size, size));
	return NN_OK;
}

static enum nn_status execute(struct nn_run *r)
{
	size_t rows = r->outputs[0].dims[0], size = r->inputs[WEIGHTS].dims[1];
	uint32_t units = r->outputs[0].dims[1];

	if (rows && r->inputs[X].type != NN_TENSOR_FLOAT32)
		return execute_q8(r, rows, units, size);
	execute_float(r, rows, units, size);
	return NN_OK;
}

NN_OPERATION(FULLY_CONNECTED,
	.dims = "- c* c", .zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,
	.check = check, .infer = nn_fully_connected_infer, .execute = execute);
