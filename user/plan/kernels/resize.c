/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR of floats and int8; each call of the inner loop computes one row.
 */
#include "ops/q8.h"
#include "ops/resize.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

struct resize {
	struct nn_resize v;
	bool is_byte;
	uint8_t flip;
	uint32_t task_rows;
};

#define NN_STATE struct resize
static const struct nn_field fields[] = {
	DIMENSION(v.in.n), DIMENSION(v.in.h), DIMENSION(v.in.w), DIMENSION(v.in.c),
	DIMENSION(v.out.w), DIMENSION(v.out.h), COPY(v.out.n, v.in.n), COPY(v.out.c, v.in.c),
	FLAG(v.align), FLAG(v.half), FLAG(is_byte), FLIP(flip),
	SPAN(INPUT(0), SIZE_BY(is_byte, 0x14), v.in.n, v.in.h, v.in.w, v.in.c),
	SPAN(OUTPUT(0), SIZE_BY(is_byte, 0x14), v.out.n, v.out.h, v.out.w, v.out.c),
	END
};

/*
 * Divides the rows of all images into tasks. The scratch memory of a task stores the source of each
 * pixel of a row.
 */
static bool complete(void *state, struct nn_ready *ready)
{
	struct resize *s = state;
	const struct nn_image *out = &s->v.out;
	const size_t rows = (size_t)out->n * out->h;

	s->task_rows = (uint32_t)nn_elementwise_rows(ready, rows, rows * out->w * out->c);
	ready->scratch_size = out->w * sizeof(struct nn_source);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct resize *s = ready->state;

	if (x->type == NN_TENSOR_FLOAT16 || nn_resize_prepare(r, &s->v) || s->v.nchw)
		return false;
	s->is_byte = x->type != NN_TENSOR_FLOAT32;
	if (s->is_byte)
		s->flip = nn_q8_of(x).flip;
	return complete(s, ready);
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

NN_KERNEL(resize, "resize", sizeof(struct resize), NN_TAKES(NN_OP_RESIZE_BILINEAR), .inputs = 1);
