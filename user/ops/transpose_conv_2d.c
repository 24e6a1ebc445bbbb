/* SPDX-License-Identifier: MIT */
/* TRANSPOSE_CONV_2D: computes each output pixel from the inputs whose windows cover the pixel. */
#include <string.h>

#include "ops/conv.h"
#include "ops/requant.h"

/*
 * Position of the input that has the requested output shape. Only the form of TRANSPOSE_CONV_2D
 * with implicit padding has an input SHAPE.
 */
#define SHAPE 3

#define EXPLICIT_COUNT 11

static struct nn_window_args window_args(uint32_t num_inputs)
{
	return num_inputs == EXPLICIT_COUNT ? nn_window_args(3, 0, true) :
					      nn_window_args(SHAPE + 1, 0, false);
}

static enum nn_status check(const struct nn_check *c)
{
	struct nn_window_args args = window_args(c->operation->num_inputs);
	enum nn_status status = nn_window_check(c, &args, NN_WINDOW_FLAG);

	if (!status && !args.explicit_padding)
		status = nn_check_input(c, SHAPE, (struct nn_rule){ NN_T(NN_TENSOR_INT32), 1, 1 });
	return status ? status : nn_filter_check(c, 4, 0);
}

/*
 * The taps of the filter that contribute to output position `o` along an axis: tap `first`, and
 * every stride-th tap after it. Tap `first` reads input position `in`, the next of these taps reads
 * `in` - 1, and so on.
 */
struct reach {
	int64_t first;
	int64_t in;
};

static struct reach reach(const struct nn_axis *a, uint32_t o)
{
	int64_t full = o + a->head;
	struct reach at = { full % a->stride, full / a->stride };

	if (at.in >= a->in) {
		at.first += (at.in - (a->in - 1)) * (int64_t)a->stride;
		at.in = a->in - 1;
	}
	return at;
}

static size_t spans(const struct nn_conv *v, uint32_t y, uint32_t x, struct nn_stretch *s)
{
	const struct nn_axis *ah = &v->window.h, *aw = &v->window.w;
	struct reach h = reach(ah, y), w = reach(aw, x);
	size_t count = 0;

	for (; h.in >= 0 && h.first < ah->filter; h.in--, h.first += ah->stride) {
		struct reach at = w;

		for (; at.in >= 0 && at.first < aw->filter; at.in--, at.first += aw->stride)
			s[count++] = (struct nn_stretch){
				.in = (size_t)(h.in * v->in.w + at.in) * v->in.c,
				.filter = (size_t)(h.first * aw->filter + at.first) * v->depth,
				.length = v->depth,
			};
	}
	return count;
}

/* Reads the requested height and width of the output. */
static enum nn_status read_request(const struct nn_run *r, bool nchw, int32_t request[2])
{
	const struct nn_tensor *shape = &r->inputs[SHAPE];

	if (shape->rank != 1 || shape->dims[0] != 4)
		return nn_run_fail(r, "input %u: the output shape must have 4 elements", SHAPE);
	memcpy(request, (const int32_t *)shape->data + (nchw ? 2 : 1), 2 * sizeof(*request));
	return NN_OK;
}

static enum nn_status prepare(const struct nn_run *r, struct nn_conv *v)
{
	const uint32_t *filter = r->inputs[1].dims;
	enum nn_status status = nn_filter_infer(r);
	int32_t request[2] = { 0 };

	if (status)
		return status;
	v->args = window_args(r->num_inputs);
	v->nchw = nn_run_bool(r, v->args.nchw, false);
	v->in = nn_image_of(&r->inputs[0], v->nchw);
	v->groups = 1;
	v->depth = filter[3];
	v->width = filter[0];
	v->spans = spans;
	if (v->depth != v->in.c)
		return nn_run_fail(r, "the input has %u channels, the filter %u",
				   v->in.c, v->depth);
	if (!v->args.explicit_padding)
		status = read_request(r, v->nchw, request);
	if (status)
		return status;
	v->window.h = (struct nn_axis){ .in = v->in.h, .filter = filter[1] };
	v->window.w = (struct nn_axis){ .in = v->in.w, .filter = filter[2] };
	status = nn_window_infer_transposed(r, &v->args, request, &v->window);
	v->out = (struct nn_image){ v->in.n, v->window.h.out, v->window.w.out, filter[0] };
	return status;
}

NN_OPERATION(TRANSPOSE_CONV_2D,
	.dims = "**** c*** c",
	.zero_sized = NN_ZERO_ALLOWED, .determining = NN_IN(SHAPE), .float16_as_float32 = true,
	.check = check, .infer = nn_conv_infer, .execute = nn_conv_execute,
	.kernels = &(nn_conv_prepare_fn *const){ prepare });
