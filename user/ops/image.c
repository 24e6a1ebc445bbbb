/* SPDX-License-Identifier: MIT */
#include "ops/image.h"

struct nn_image nn_image_of(const struct nn_tensor *t, bool nchw)
{
	const uint32_t *d = t->dims;

	if (nchw)
		return (struct nn_image){ .n = d[0], .c = d[1], .h = d[2], .w = d[3] };
	return (struct nn_image){ .n = d[0], .h = d[1], .w = d[2], .c = d[3] };
}

void nn_image_set(struct nn_tensor *t, bool nchw, const struct nn_image *image)
{
	t->rank = 4;
	t->dims[0] = image->n;
	t->dims[1] = nchw ? image->c : image->h;
	t->dims[2] = nchw ? image->h : image->w;
	t->dims[3] = nchw ? image->w : image->c;
}

/* Defines a function that sets to[column][row] = from[row][column] for `count` matrices. */
#define TRANSPOSE(name, type)								\
static void name(type *restrict to, const type *restrict from, size_t count, size_t rows,	\
		 size_t columns)							\
{											\
	for (; count > 0; count--, to += rows * columns, from += rows * columns)	\
		for (size_t i = 0; i < rows; i++)					\
			for (size_t j = 0; j < columns; j++)				\
				to[j * rows + i] = from[i * columns + j];		\
}

TRANSPOSE(transpose8, uint8_t)
TRANSPOSE(transpose32, uint32_t)

/*
 * Transposes the `count` matrices of an image, whose elements have 8 bits (quantised) or 32 bits
 * (float32).
 */
static void transpose(const struct nn_tensor *t, void *to, const void *from, size_t count,
		      size_t rows, size_t columns)
{
	if (nn_type_info_of(t->type)->element_size == 1)
		transpose8(to, from, count, rows, columns);
	else
		transpose32(to, from, count, rows, columns);
}

const void *nn_image_input(struct nn_run *r, const struct nn_tensor *t, bool nchw)
{
	struct nn_image image = nn_image_of(t, nchw);
	void *copy;

	if (!nchw)
		return t->data;
	copy = nn_run_alloc(r, nn_tensor_size(t), 1);
	if (copy)
		transpose(t, copy, t->data, image.n, image.c, (size_t)image.h * image.w);
	return copy;
}

void *nn_image_output(struct nn_run *r, const struct nn_tensor *t, bool nchw)
{
	return nchw ? nn_run_alloc(r, nn_tensor_size(t), 1) : t->data;
}

void nn_image_finish(const struct nn_tensor *t, bool nchw, const void *nhwc)
{
	struct nn_image image = nn_image_of(t, nchw);

	if (nchw)
		transpose(t, t->data, nhwc, image.n, (size_t)image.h * image.w, image.c);
}

struct nn_corners nn_image_corners(const struct nn_image *image, uint32_t n,
				   const struct nn_source *y, const struct nn_source *x)
{
	size_t low = (size_t)n * image->h + y->low, high = (size_t)n * image->h + y->high;
	size_t w = image->w, c = image->c;

	return (struct nn_corners){
		.at = {
			(low * w + x->low) * c, (low * w + x->high) * c,
			(high * w + x->low) * c, (high * w + x->high) * c,
		},
		.weight = {
			(1 - y->weight) * (1 - x->weight), (1 - y->weight) * x->weight,
			y->weight * (1 - x->weight), y->weight * x->weight,
		},
	};
}
