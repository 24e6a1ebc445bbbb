/* SPDX-License-Identifier: MIT */
/*
 * CONV_2D and GROUPED_CONV_2D; CONV_2D has a single group.
 */
#include "ops/conv.h"
#include "ops/requant.h"

static enum nn_status check(const struct nn_check *c)
{
	const bool is_grouped = c->op->code == NN_OP_GROUPED_CONV_2D;
	struct nn_window_args args = nn_window_check_args(c);
	enum nn_status status = nn_window_check(c, &args, is_grouped ? NN_WINDOW_FLAG :
						NN_WINDOW_DILATIONS_OPTIONAL);

	return status ? status : nn_filter_check(c, 4, 0);
}

static enum nn_status set_groups(const struct nn_run *r, int32_t groups, struct nn_conv *v)
{
	const uint32_t *filter = r->inputs[1].dims;

	if (groups <= 0 || filter[0] % (uint32_t)groups)
		return nn_run_fail(r, "%u filters do not divide into %d groups", filter[0], groups);
	v->groups = (uint32_t)groups;
	v->depth = filter[3];
	v->width = filter[0] / v->groups;
	if ((uint64_t)v->groups * v->depth != v->in.c)
		return nn_run_fail(r, "the input has %u channels, must have %u times %u",
				   v->in.c, v->groups, v->depth);
	return NN_OK;
}

/*
 * Finds the input ranges of an output pixel. If the dilation is 1 and there is a single group, the
 * taps of a filter row read one contiguous range.
 */
static size_t spans(const struct nn_conv *v, uint32_t y, uint32_t x, struct nn_stretch *s)
{
	const struct nn_axis *ah = &v->window.h, *aw = &v->window.w;
	struct nn_taps h = nn_axis_taps(ah, y), w = nn_axis_taps(aw, x);
	uint32_t step = aw->dilation == 1 && v->groups == 1 ? w.last - w.first : 1;
	size_t count = 0;

	for (uint32_t i = h.first; i < h.last; i++) {
		size_t row = (size_t)(h.start + (int64_t)i * ah->dilation) * v->in.w;

		for (uint32_t j = w.first; j < w.last; j += step) {
			size_t column = (size_t)(w.start + (int64_t)j * aw->dilation);

			s[count++] = (struct nn_stretch){
				.in = (row + column) * v->in.c,
				.filter = ((size_t)i * aw->filter + j) * v->depth,
				.length = (size_t)step * v->depth,
			};
		}
	}
	return count;
}

enum nn_status nn_conv_prepare(const struct nn_run *r, int32_t groups, struct nn_conv *v)
{
	const uint32_t *filter = r->inputs[1].dims;
	enum nn_status status = nn_filter_infer(r);

	if (status)
		return status;
	v->args = nn_window_run_args(r);
	v->nchw = nn_run_bool(r, v->args.nchw, false);
	v->in = nn_image_of(&r->inputs[0], v->nchw);
	v->spans = spans;
	status = set_groups(r, groups, v);
	if (status)
		return status;
	v->window.h = (struct nn_axis){ .in = v->in.h, .filter = filter[1] };
	v->window.w = (struct nn_axis){ .in = v->in.w, .filter = filter[2] };
	status = nn_window_infer(r, &v->args, &v->window);
	v->out = (struct nn_image){ v->in.n, v->window.h.out, v->window.w.out, filter[0] };
	return status;
}

static enum nn_status prepare(const struct nn_run *r, struct nn_conv *v)
{
	bool is_grouped = r->op->code == NN_OP_GROUPED_CONV_2D;

	return nn_conv_prepare(r, is_grouped ? nn_run_int(r, nn_window_run_args(r).own, 0) : 1, v);
}

#define CONV(which, ...)								\
NN_OPERATION(which,									\
	.dims = "**** c*** c",								\
	.float16_as_float32 = true, .check = check, .infer = nn_conv_infer,		\
	.execute = nn_conv_execute, .kernels = &(nn_conv_prepare_fn *const){ prepare },	\
	__VA_ARGS__)

CONV(CONV_2D, .zero_sized = NN_ZERO_ALLOWED);
CONV(GROUPED_CONV_2D, .zero_sized = NN_ZERO_NONE);
