/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR of floats and bytes, a row at a time.
 */
#include <stdlib.h>

#include "ops/q8.h"
#include "ops/resize.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

struct resize {
	struct nn_resize v;
	bool is_byte;
	uint8_t flip;
	uint32_t task_rows;
};

/* Cuts the rows of all images; a task has the sources of a row's pixels as scratch memory. */
static void divide(struct nn_ready *ready, struct resize *s)
{
	const struct nn_image *out = &s->v.out;
	size_t rows = (size_t)out->n * out->h, count;
	size_t tasks = nn_elementwise_divide(ready->threads, rows * out->w * out->c, &count);

	s->task_rows = (uint32_t)((rows + tasks - 1) / tasks);
	ready->tasks = (uint32_t)((rows + s->task_rows - 1) / s->task_rows);
	ready->scratch_size = out->w * sizeof(struct nn_source);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct nn_resize v;
	struct resize *s;

	if (r->op->code != NN_OP_RESIZE_BILINEAR || x->type == NN_TENSOR_FLOAT16 ||
	    nn_resize_prepare(r, &v) || v.nchw || !nn_tensor_count(x))
		return false;
	s = malloc(sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	*s = (struct resize){ .v = v, .is_byte = x->type != NN_TENSOR_FLOAT32 };
	if (s->is_byte)
		s->flip = nn_q8_of(x).flip;
	divide(ready, s);
	return true;
}

struct saved {
	struct nn_image in;
	uint32_t w;			/* of the output */
	uint32_t h;
	uint32_t align;
	uint32_t half;
	uint32_t is_byte;
	uint32_t flip;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct resize *s = ready->state;

	*(struct saved *)words = (struct saved){ s->v.in, s->v.out.w, s->v.out.h, s->v.align,
						 s->v.half, s->is_byte, s->flip };
	return NN_WORDS(struct saved);
}

static uint64_t size_of(const struct nn_image *image, size_t element)
{
	return nn_times(nn_times((uint64_t)image->n * image->h, (uint64_t)image->w * image->c),
			element);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *from = (const struct saved *)words;
	size_t element = count == NN_WORDS(*from) && from->is_byte ? 1 : sizeof(float);
	struct resize *s = state;
	struct nn_resize v;

	if (count != NN_WORDS(*from) || (from->flip && from->flip != 0x80) ||
	    !nn_is_dimension(from->in.n) || !nn_is_dimension(from->in.h) ||
	    !nn_is_dimension(from->in.w) || !nn_is_dimension(from->in.c) ||
	    !nn_is_dimension(from->h) || !nn_is_dimension(from->w))
		return false;
	v = (struct nn_resize){ .align = from->align, .half = from->half, .in = from->in,
				.out = { from->in.n, from->h, from->w, from->in.c } };
	if (!nn_fits(&bounds->inputs[0], size_of(&v.in, element), element) ||
	    !nn_fits(&bounds->output, size_of(&v.out, element), element))
		return false;
	*s = (struct resize){ .v = v, .is_byte = from->is_byte, .flip = (uint8_t)from->flip };
	divide(ready, s);
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct resize *s = call->ready->state;
	const struct nn_image *in = &s->v.in, *out = &s->v.out;
	const size_t element = s->is_byte ? 1 : sizeof(float);
	const size_t in_row = in->w * in->c * element, out_row = out->w * out->c * element;
	const size_t rows = (size_t)out->n * out->h, first = (size_t)task * s->task_rows;
	const size_t end = first + s->task_rows < rows ? first + s->task_rows : rows;
	struct nn_source *sources = scratch;

	for (uint32_t x = 0; x < out->w; x++)
		sources[x] = nn_resize_bilinear(&s->v, in->w, out->w, x);
	for (size_t row = first; row < end; row++) {
		const uint32_t y = (uint32_t)(row % out->h);
		const struct nn_source from = nn_resize_bilinear(&s->v, in->h, out->h, y);
		const uint8_t *image = (const uint8_t *)call->inputs[0] +
				       row / out->h * in->h * in_row;
		const struct nn_blend blend = {
			.is_byte = s->is_byte,
			.flip = s->flip,
			.width = out->w,
			.channels = out->c,
			.x = sources,
			.weight = from.weight,
			.rows = { image + from.low * in_row, image + from.high * in_row },
			.out = (uint8_t *)call->outputs[0] + row * out_row,
		};

		call->ready->isa->blend_f32(&blend);
	}
}

const struct nn_kernel nn_kernel_resize = {
	.name = "resize",
	.prepare = prepare,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct resize),
};
