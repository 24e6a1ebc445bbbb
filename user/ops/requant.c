/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ops/requant.h"

enum { X, FILTER, BIAS };

enum nn_status nn_filter_check(const struct nn_check *c, uint32_t filter_rank, int32_t channel_dim)
{
	uint8_t rank = (uint8_t)filter_rank;
	const struct nn_operand *filter = nn_check_in(c, FILTER);
	int32_t type = nn_check_in(c, X)->type;
	bool is_float = type == NN_TENSOR_FLOAT32 || type == NN_TENSOR_FLOAT16;
	bool per_channel = filter->type == NN_TENSOR_QUANT8_SYMM_PER_CHANNEL && !is_float &&
			   channel_dim >= 0;
	struct nn_rule bias = { is_float ? NN_SAME : NN_T(NN_TENSOR_INT32), 1, 1 };
	enum nn_status status;

	status = nn_check_input(c, X, (struct nn_rule){ NN_FLOATS | NN_QUANT8, rank, 4 });
	if (!status)
		status = nn_check_input(c, FILTER, (struct nn_rule){
			per_channel ? NN_T(filter->type) : NN_SAME, rank, rank });
	if (!status && per_channel && filter->extra.channel_dim != (uint32_t)channel_dim)
		status = nn_check_fail_input(c, FILTER, "quantised along dimension %u, must be %d",
					     filter->extra.channel_dim, channel_dim);
	if (!status)
		status = nn_check_input(c, BIAS, bias);
	return status ? status : nn_check_output(c, 0, (struct nn_rule){ NN_SAME, rank, rank });
}

/* Returns the scale of an output channel's accumulator. */
static float product_scale(const struct nn_run *r, uint32_t channel)
{
	const struct nn_extra *extra = r->inputs[FILTER].extra;
	bool per_channel = extra->kind == NN_EXTRA_CHANNEL_QUANT;

	return r->inputs[X].scale *
	       (per_channel ? extra->scales[channel] : r->inputs[FILTER].scale);
}

/*
 * Checks the scales of bias and output. If the filter is quantised per channel, the bias has no
 * scale.
 */
static enum nn_status check_scales(const struct nn_run *r, uint32_t channels)
{
	const struct nn_extra *extra = r->inputs[FILTER].extra;
	bool per_channel = extra->kind == NN_EXTRA_CHANNEL_QUANT;
	double bias = r->inputs[BIAS].scale, product;
	uint32_t largest = 0;

	if (per_channel && extra->count != channels)
		return nn_run_fail(r, "input 1: %u scales for %u channels", extra->count, channels);
	for (uint32_t i = 1; per_channel && i < channels; i++)
		if (extra->scales[i] > extra->scales[largest])
			largest = i;
	product = product_scale(r, largest);
	if (!isfinite(product / r->outputs[0].scale))
		return nn_run_fail(r, "output 0: the scale %g is too small", r->outputs[0].scale);
	if (!per_channel && !(fabs(product - bias) <= 1e-6 * fmin(product, bias)))
		return nn_run_fail(r, "input 2: the scale %g is not the product of those of inputs "
				   "0 and 1, %g", bias, product);
	return NN_OK;
}

enum nn_status nn_filter_infer(const struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[X];

	if (x->rank > 0 && !nn_tensor_product(x, 1, x->rank))
		return nn_run_fail(r, "input 0: only dimension 0 may be 0");
	if (!nn_tensor_count(&r->inputs[FILTER]))
		return nn_run_fail(r, "input 1: a dimension is 0");
	return NN_T(x->type) & NN_FLOATS ? NN_OK : check_scales(r, r->inputs[BIAS].dims[0]);
}

void nn_requant_multipliers(const struct nn_run *r, uint32_t first, uint32_t count,
			    struct nn_multiplier *multipliers)
{
	bool per_channel = r->inputs[FILTER].extra->kind == NN_EXTRA_CHANNEL_QUANT;
	double scale = r->outputs[0].scale;

	for (uint32_t i = 0; i < count; i++) {
		if (i && !per_channel)
			multipliers[i] = multipliers[0];
		else
			nn_quant_encode((double)product_scale(r, first + i) / scale, &multipliers[i]);
	}
}

enum nn_status nn_requant_init(struct nn_requant *q, struct nn_run *r, uint32_t channels,
			       uint32_t activation)
{
	const struct nn_tensor *out = &r->outputs[0];
	struct nn_multiplier *multipliers = nn_run_alloc(r, channels, sizeof(*multipliers));

	if (!multipliers)
		return NN_OUT_OF_MEMORY;
	nn_requant_multipliers(r, 0, channels, multipliers);
	*q = (struct nn_requant){
		.bias = r->inputs[BIAS].data,
		.multipliers = multipliers,
		.zero = out->zero_point,
	};
	nn_fused_range(nn_run_int(r, activation, 0), out->type, out->scale, out->zero_point,
		       &q->low, &q->high);
	return NN_OK;
}
