/* SPDX-License-Identifier: MIT */
/*
 * INSTANCE_NORMALIZATION of floats: in NHWC a vector of channels of an image at a time; in NCHW
 * each channel is an image.
 */
#include <stdlib.h>

#include "ops/image.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

enum { X, GAMMA, BETA, EPSILON, NCHW };

struct instance {
	struct nn_instance_f32 f32;	/* but for its pointers */
	uint32_t images;
};

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct nn_image image;
	bool nchw;
	struct instance *s;

	if (r->op->code != NN_OP_INSTANCE_NORMALIZATION || x->type != NN_TENSOR_FLOAT32 ||
	    !nn_tensor_count(x))
		return false;
	s = malloc(sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	nchw = nn_run_bool(r, NCHW, false);
	image = nn_image_of(x, nchw);
	if (nchw) {
		image.n *= image.c;
		image.c = 1;
	}
	*s = (struct instance){
		.f32 = {
			.pixels = (size_t)image.h * image.w,
			.channels = image.c,
			.gamma = nn_run_float(r, GAMMA, 0),
			.beta = nn_run_float(r, BETA, 0),
			.epsilon = nn_run_float(r, EPSILON, 0),
		},
		.images = image.n,
	};
	ready->tasks = s->images;
	return true;
}

struct saved {
	uint32_t images;
	uint32_t pixels;
	uint32_t channels;
	float gamma;
	float beta;
	float epsilon;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct instance *s = ready->state;

	*(struct saved *)words = (struct saved){
		s->images, (uint32_t)s->f32.pixels, (uint32_t)s->f32.channels, s->f32.gamma,
		s->f32.beta, s->f32.epsilon,
	};
	return NN_WORDS(struct saved);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *from = (const struct saved *)words;
	struct instance *s = state;
	uint64_t size;

	if (count != NN_WORDS(*from) || !nn_is_dimension(from->images) ||
	    !nn_is_dimension(from->pixels) || !nn_is_dimension(from->channels))
		return false;
	size = nn_times(nn_times((uint64_t)from->images * from->pixels, from->channels),
			sizeof(float));
	if (!nn_fits(&bounds->inputs[X], size, sizeof(float)) ||
	    !nn_fits(&bounds->output, size, sizeof(float)))
		return false;
	*s = (struct instance){
		.f32 = {
			.pixels = from->pixels,
			.channels = from->channels,
			.gamma = from->gamma,
			.beta = from->beta,
			.epsilon = from->epsilon,
		},
		.images = from->images,
	};
	ready->tasks = s->images;
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct instance *s = call->ready->state;
	const size_t at = task * s->f32.pixels * s->f32.channels;
	struct nn_instance_f32 one = s->f32;

	(void)scratch;
	one.in = (const float *)call->inputs[X] + at;
	one.out = (float *)call->outputs[0] + at;
	call->ready->isa->instance_f32(&one);
}

const struct nn_kernel nn_kernel_instance = {
	.name = "instance normalization",
	.prepare = prepare,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct instance),
};
