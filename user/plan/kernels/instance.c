/* SPDX-License-Identifier: MIT */
/*
 * INSTANCE_NORMALIZATION of floats. In NHWC, the kernel normalises one vector of channels of an
 * image at a time. In NCHW, the kernel treats each channel as an image of one channel.
 */
#include "ops/image.h"
#include "plan/kernels/fields.h"

enum { X, GAMMA, BETA, EPSILON, NCHW };

struct instance {
	struct nn_instance_f32 f32;	/* except its pointers */
	uint32_t images;
};

#define NN_STATE struct instance
static const struct nn_field fields[] = {
	DIMENSION(images), DIMENSION(f32.pixels), DIMENSION(f32.channels),
	FLOAT(f32.gamma), FLOAT(f32.beta), FLOAT(f32.epsilon),
	SPAN(INPUT(X), FLOATS, images, f32.pixels, f32.channels),
	SPAN(OUTPUT(0), FLOATS, images, f32.pixels, f32.channels),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	ready->tasks = ((const struct instance *)state)->images;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	const bool nchw = nn_run_bool(r, NCHW, false);
	struct nn_image image = nn_image_of(x, nchw);
	struct instance *s = ready->state;

	if (x->type != NN_TENSOR_FLOAT32)
		return false;
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
	return complete(s, ready);
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

NN_KERNEL(instance, "instance normalization", sizeof(struct instance),
	  NN_TAKES(NN_OP_INSTANCE_NORMALIZATION), .inputs = 1);
