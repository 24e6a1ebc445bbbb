/* SPDX-License-Identifier: MIT */
/*
 * Chooses scales and zero points from the extremes of the weights, and from the extremes of the
 * layers' outputs for training images.
 */
#include <math.h>
#include <stdlib.h>

#include "quantise.h"
#include "train.h"

#define CALIBRATION_IMAGES 200

struct range {
	float low, high;
};

/* Widens a range so that the range includes `values`. Each range includes 0 from the start. */
static void widen(struct range *range, const float *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (values[i] < range->low)
			range->low = values[i];
		if (values[i] > range->high)
			range->high = values[i];
	}
}

/* Returns the quantisation that maps 0 ... 255 to a range, and represents 0 exactly. */
static struct quant choose(struct range range)
{
	struct quant q = { 1, 0 };

	if (range.high > range.low)
		q.scale = (range.high - range.low) / 255;
	q.zero_point = (int32_t)lroundf(-range.low / q.scale);
	return q;
}

uint8_t quantise(struct quant quant, float value)
{
	long q = lroundf(value / quant.scale) + quant.zero_point;

	return (uint8_t)(q < 0 ? 0 : q > 255 ? 255 : q);
}

bool net_calibrate(const float *params, struct net_quant *quant)
{
	struct range weights[NET_LAYERS] = { 0 }, out[NET_LAYERS] = { 0 };
	struct net_values *values = malloc(sizeof(*values));
	struct random images = { TRAIN_SEED };
	struct digit digit;

	if (!values)
		return false;
	for (uint32_t i = 0; i < CALIBRATION_IMAGES; i++) {
		digit_draw(&images, &digit);
		net_forward(params, digit.pixels, values);
		for (uint32_t k = 0; k < NET_LAYERS; k++)
			widen(&out[k], values->out[k], net_out_count(&net_layers[k]));
	}
	free(values);
	quant->input = (struct quant){ 1.0f / 255, 0 };
	quant->probabilities = (struct quant){ 1.0f / 256, 0 };
	for (uint32_t k = 0; k < NET_LAYERS; k++) {
		const struct net_layer *l = &net_layers[k];

		widen(&weights[k], params + l->weights, l->num_weights);
		quant->weights[k] = choose(weights[k]);
		quant->out[k] = choose(out[k]);
		/* The output of pooling has the scale and zero point of the input. */
		if (l->operation == NET_MAX_POOL_2D)
			quant->out[k] = quant->out[k - 1];
	}
	return true;
}
