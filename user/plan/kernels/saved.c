/* SPDX-License-Identifier: MIT */
/*
 * Windows and numbers of steps that are saved.
 */
#include "plan/kernels/saved.h"

#define MAX_ZERO 255

static const struct nn_room no_room;

const struct nn_room *nn_saved_input(const struct nn_kernel *kernel, const struct nn_bounds *bounds,
				     uint32_t index)
{
	return index < kernel->inputs ? &bounds->inputs[index] : &no_room;
}

const struct nn_room *nn_saved_output(const struct nn_kernel *kernel,
				      const struct nn_bounds *bounds, uint32_t index)
{
	if (index > kernel->more_outputs)
		return &no_room;
	return index ? &bounds->more_outputs[index - 1] : &bounds->output;
}

static bool save_axis(const struct nn_axis *a, struct nn_saved_axis *s)
{
	*s = (struct nn_saved_axis){ a->in, a->out, a->filter, a->stride, a->dilation,
				     (uint32_t)a->head };
	return a->head >= 0 && a->head < INT32_MAX;
}

bool nn_window_save(const struct nn_image *in, const struct nn_window *window,
		    struct nn_saved_window *saved)
{
	saved->n = in->n;
	saved->c = in->c;
	return save_axis(&window->h, &saved->h) && save_axis(&window->w, &saved->w);
}

static bool restore_axis(const struct nn_saved_axis *s, struct nn_axis *a)
{
	*a = (struct nn_axis){ s->in, s->out, s->filter, s->stride, s->dilation, s->head };
	return nn_is_dimension(s->in) && nn_is_dimension(s->out) && nn_is_dimension(s->filter) &&
	       nn_is_dimension(s->stride) && nn_is_dimension(s->dilation) && s->head < INT32_MAX &&
	       a->head <= (int64_t)(s->filter - 1) * s->dilation &&
	       (int64_t)(s->out - 1) * s->stride - a->head < s->in;
}

bool nn_window_restore(const struct nn_saved_window *saved, struct nn_image *in,
		       struct nn_window *window)
{
	*in = (struct nn_image){ saved->n, saved->h.in, saved->w.in, saved->c };
	return nn_is_dimension(saved->n) && nn_is_dimension(saved->c) &&
	       restore_axis(&saved->h, &window->h) && restore_axis(&saved->w, &window->w);
}

uint64_t nn_window_input(const struct nn_saved_window *w, uint64_t element)
{
	return nn_times(nn_times((uint64_t)w->h.in * w->w.in, w->n), w->c * element);
}

uint64_t nn_window_output(const struct nn_saved_window *w, uint64_t channels, uint64_t element)
{
	return nn_times(nn_times((uint64_t)w->h.out * w->w.out, w->n), channels * element);
}

static bool is_between(int32_t value, int32_t low, int32_t high)
{
	return value >= low && value <= high;
}

bool nn_numbers_are_sane(const struct nn_saved_numbers *n, uint32_t count)
{
	const struct nn_saved_bytes *b = &n->bytes;

	if (!count || n->number > NN_IN_HALVES || count != nn_numbers_words(n))
		return false;
	return n->number != NN_IN_BYTES || ((b->flip == 0 || b->flip == 0x80) &&
			       is_between(b->in_zero, 0, MAX_ZERO) &&
			       is_between(b->filter_zero, -MAX_ZERO, MAX_ZERO) &&
			       is_between(b->zero, -MAX_ZERO, MAX_ZERO) &&
			       is_between(b->low, -MAX_ZERO, MAX_ZERO) &&
			       is_between(b->high, -MAX_ZERO, MAX_ZERO));
}
