/* SPDX-License-Identifier: MIT */
/*
 * Trains the demo's network by Adam on the cross entropy, in one thread and in a fixed order. The
 * only function of the C library that affects the result is sqrtf().
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "random.h"
#include "train.h"

#define LEARNING_RATE	0.004f
#define BETA1		0.9f
#define BETA2		0.999f
#define REPORT_STEPS	500

struct trainer {
	float *params;
	float gradient[NET_PARAMS];
	float mean[NET_PARAMS];		/* Adam's estimate of the gradient's first moment */
	float square[NET_PARAMS];
	float decay1, decay2;		/* BETA1 and BETA2, to the power of the step number */
	struct net_values values;
	struct net_values errors;	/* derivatives of the loss by each of `values` */
};

/* Computes e^x for x <= 0 by plain arithmetic: the series of e^(x / 1024), squared ten times. */
static double exp_negative(double x)
{
	double y = x / 1024, e = 1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5))));

	if (x < -700)
		return 0;
	for (int i = 0; i < 10; i++)
		e *= e;
	return e;
}

/*
 * Sets biases to 0, and weights to uniform random numbers, scaled so that a layer's outputs have
 * the variance of its inputs.
 */
static void initialise(struct trainer *t, struct random *r)
{
	memset(t->params, 0, NET_PARAMS * sizeof(float));
	for (const struct net_layer *l = net_layers; l < net_layers + NET_LAYERS; l++) {
		bool one = l->operation == NET_DEPTHWISE_CONV_2D;
		uint32_t fan_in = l->filter * l->filter * (one ? 1 : l->in_channels);
		float range = sqrtf(6 / (float)fan_in);

		for (uint32_t i = 0; i < l->num_weights; i++)
			t->params[l->weights + i] = random_range(r, -range, range);
	}
}

static void add_scaled(float *to, const float *from, float by, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		to[i] += from[i] * by;
}

static void back_conv(struct trainer *t, const struct net_layer *l, const float *in,
		      float *in_error, struct net_span ys, struct net_span xs, const float *error)
{
	uint32_t row = l->in_size * l->in_channels, count = (xs.end - xs.first) * l->in_channels;

	for (uint32_t c = 0; c < l->out_channels; c++) {
		if (error[c] == 0)
			continue;
		for (uint32_t k = ys.first; k < ys.end; k++) {
			uint32_t x = (ys.in + k - ys.first) * row + xs.in * l->in_channels;
			uint32_t w = l->weights + ((c * l->filter + k) * l->filter + xs.first) *
				     l->in_channels;

			add_scaled(t->gradient + w, in + x, error[c], count);
			add_scaled(in_error + x, t->params + w, error[c], count);
		}
	}
}

static void back_depthwise(struct trainer *t, const struct net_layer *l, const float *in,
			   float *in_error, struct net_span ys, struct net_span xs,
			   const float *error)
{
	uint32_t multiplier = l->out_channels / l->in_channels;

	for (uint32_t k = ys.first; k < ys.end; k++) {
		for (uint32_t j = xs.first; j < xs.end; j++) {
			uint32_t x = ((ys.in + k - ys.first) * l->in_size + xs.in + j - xs.first) *
				     l->in_channels;
			uint32_t w = l->weights + (k * l->filter + j) * l->out_channels;

			for (uint32_t c = 0; c < l->out_channels; c++) {
				t->gradient[w + c] += in[x + c / multiplier] * error[c];
				in_error[x + c / multiplier] += t->params[w + c] * error[c];
			}
		}
	}
}

/* Passes the error of a max pooling's output to the first of the largest values in the window. */
static void back_max_pool(const struct net_layer *l, const float *in, float *in_error,
			  struct net_span ys, struct net_span xs, const float *error)
{
	for (uint32_t c = 0; c < l->out_channels; c++) {
		uint32_t best = (ys.in * l->in_size + xs.in) * l->in_channels + c;

		for (uint32_t k = 0; k < ys.end; k++) {
			for (uint32_t j = 0; j < xs.end; j++) {
				uint32_t x = ((ys.in + k) * l->in_size + xs.in + j) *
					     l->in_channels + c;

				best = in[x] > in[best] ? x : best;
			}
		}
		in_error[best] += error[c];
	}
}

/* Sets the errors to 0 for outputs that the layer's activation has clamped. */
static void back_activation(const struct net_layer *l, const float *out, float *error)
{
	if (l->activation == NET_NONE)
		return;
	for (uint32_t i = 0; i < net_out_count(l); i++)
		if (out[i] <= 0 || (l->activation == NET_RELU6 && out[i] >= 6))
			error[i] = 0;
}

static void back_layer(struct trainer *t, uint32_t index)
{
	const struct net_layer *l = &net_layers[index];
	const float *in = index ? t->values.out[index - 1] : t->values.input;
	float *in_error = index ? t->errors.out[index - 1] : t->errors.input;
	float *error = t->errors.out[index];

	memset(in_error, 0, l->in_size * l->in_size * l->in_channels * sizeof(float));
	back_activation(l, t->values.out[index], error);
	for (uint32_t o = 0; o < l->out_size * l->out_size; o++, error += l->out_channels) {
		struct net_span ys = net_span(l, o / l->out_size);
		struct net_span xs = net_span(l, o % l->out_size);

		if (l->operation == NET_MAX_POOL_2D) {
			back_max_pool(l, in, in_error, ys, xs, error);
			continue;
		}
		add_scaled(t->gradient + l->bias, error, 1, l->out_channels);
		if (l->operation == NET_DEPTHWISE_CONV_2D)
			back_depthwise(t, l, in, in_error, ys, xs, error);
		else
			back_conv(t, l, in, in_error, ys, xs, error);
	}
}

/*
 * Computes the derivatives of the cross entropy with respect to the logits. Returns the probability
 * of the right digit.
 */
static double loss(struct trainer *t, uint32_t label)
{
	const float *logits = t->values.out[NET_LAYERS - 1];
	float *error = t->errors.out[NET_LAYERS - 1];
	double e[DIGITS_CLASSES], sum = 0;

	for (uint32_t i = 0; i < DIGITS_CLASSES; i++) {
		e[i] = exp_negative((double)logits[i] - (double)logits[net_answer(logits)]);
		sum += e[i];
	}
	for (uint32_t i = 0; i < DIGITS_CLASSES; i++)
		error[i] = (float)((e[i] / sum - (i == label)) / TRAIN_BATCH);
	return e[label] / sum;
}

static void adam(struct trainer *t, uint32_t step)
{
	float rate = LEARNING_RATE * (float)(TRAIN_STEPS - step) / TRAIN_STEPS;

	t->decay1 *= BETA1;
	t->decay2 *= BETA2;
	for (uint32_t i = 0; i < NET_PARAMS; i++) {
		float g = t->gradient[i];

		t->mean[i] = BETA1 * t->mean[i] + (1 - BETA1) * g;
		t->square[i] = BETA2 * t->square[i] + (1 - BETA2) * g * g;
		t->params[i] -= rate * (t->mean[i] / (1 - t->decay1)) /
				(sqrtf(t->square[i] / (1 - t->decay2)) + 1e-8f);
	}
}

bool train(uint32_t steps, void (*progress)(uint32_t step, double loss), float *params)
{
	struct random images = { TRAIN_SEED }, weights = { TRAIN_SEED + 1 };
	struct trainer *t = calloc(1, sizeof(*t));
	double total = 0;

	if (!t)
		return false;
	t->params = params;
	t->decay1 = t->decay2 = 1;
	initialise(t, &weights);
	for (uint32_t step = 0; step < steps; step++) {
		memset(t->gradient, 0, sizeof(t->gradient));
		for (uint32_t i = 0; i < TRAIN_BATCH; i++) {
			struct digit digit;

			digit_draw(&images, &digit);
			net_forward(params, digit.pixels, &t->values);
			total -= log(loss(t, digit.label) + 1e-30);
			for (uint32_t k = NET_LAYERS; k-- > 0;)
				back_layer(t, k);
		}
		adam(t, step);
		if ((step + 1) % REPORT_STEPS == 0) {
			if (progress)
				progress(step + 1, total / (REPORT_STEPS * TRAIN_BATCH));
			total = 0;
		}
	}
	free(t);
	return true;
}
