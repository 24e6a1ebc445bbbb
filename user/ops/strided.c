/* SPDX-License-Identifier: MIT */
/*
 * Copies elements between a dense array and a strided view of another array. Merges axes if
 * possible, and copies whole rows along the innermost axis.
 */
#include <string.h>

#include "ops/copy.h"
#include "ops/strided.h"

int64_t nn_strided_step(const struct nn_tensor *t, uint32_t axis)
{
	return nn_tensor_product(t, axis + 1, t->rank);
}

void nn_strided_axis(struct nn_strided *view, uint32_t dim, int64_t stride)
{
	view->dims[view->rank] = dim;
	view->strides[view->rank++] = stride;
}

void nn_strided_dense(struct nn_strided *view, const struct nn_tensor *t)
{
	*view = (struct nn_strided){ 0 };
	for (uint32_t i = 0; i < t->rank; i++)
		nn_strided_axis(view, t->dims[i], nn_strided_step(t, i));
}

/*
 * Removes axes with one element, and merges adjacent axes if possible; returns false if the view
 * has no elements.
 */
static bool merge_axes(const struct nn_strided *view, struct nn_strided *merged)
{
	*merged = (struct nn_strided){ .offset = view->offset };
	for (uint32_t i = 0; i < view->rank; i++) {
		uint32_t dim = view->dims[i], last = merged->rank - 1;
		int64_t stride = view->strides[i];

		if (dim == 0)
			return false;
		if (dim == 1)
			continue;
		if (merged->rank && merged->strides[last] == stride * (int64_t)dim) {
			merged->dims[last] *= dim;
			merged->strides[last] = stride;
		} else {
			nn_strided_axis(merged, dim, stride);
		}
	}
	return true;
}

/*
 * Copies `count` elements from one row of evenly spaced elements to another row; steps are in
 * elements.
 */
static void copy_row(const char *from, int64_t from_step, char *to, int64_t to_step,
		     uint32_t count, size_t element)
{
	from_step *= (int64_t)element;
	to_step *= (int64_t)element;
	switch (element) {
	case 1:
		for (uint32_t i = 0; i < count; i++)
			to[i * to_step] = from[i * from_step];
		break;
	case 2:
		for (uint32_t i = 0; i < count; i++)
			memcpy(to + i * to_step, from + i * from_step, 2);
		break;
	case 4:
		for (uint32_t i = 0; i < count; i++)
			memcpy(to + i * to_step, from + i * from_step, 4);
		break;
	default:
		for (uint32_t i = 0; i < count; i++)
			memcpy(to + i * to_step, from + i * from_step, element);
	}
}

/*
 * Copies `rows` rows of `bytes` contiguous bytes each; steps are in bytes. Branches on the length
 * of a row only once for all rows.
 */
static void copy_rows(const char *from, int64_t from_step, char *to, int64_t to_step, uint32_t rows,
		      size_t bytes)
{
	if (bytes > NN_COPY_FEW || bytes % 16) {
		for (; rows; rows--, from += from_step, to += to_step)
			nn_copy(to, from, bytes);
		return;
	}
	for (; rows; rows--, from += from_step, to += to_step)
		for (size_t i = 0; i < bytes; i += 16)
			memcpy(to + i, from + i, 16);
}

/*
 * Copies elements row by row. Either the source or the target is the view `whole`; the other array
 * is dense.
 */
static void walk(const struct nn_strided *whole, const char *from, char *to, size_t element,
		 bool view_is_source)
{
	struct nn_strided v;
	uint32_t index[NN_STRIDED_MAX_RANK] = { 0 };
	uint32_t row = 1, rows = 1, axis;
	int64_t step = 1, rows_step = 0, at, dense = 0, size = (int64_t)element;

	if (!merge_axes(whole, &v))
		return;
	if (v.rank) {
		row = v.dims[--v.rank];
		step = v.strides[v.rank];
	}
	if (v.rank && step == 1) {
		rows = v.dims[--v.rank];
		rows_step = v.strides[v.rank];
	}
	for (at = v.offset;; dense += (int64_t)row * rows) {
		const char *source = from + (view_is_source ? at : dense) * size;
		char *target = to + (view_is_source ? dense : at) * size;

		if (step != 1)
			copy_row(source, view_is_source ? step : 1,
				 target, view_is_source ? 1 : step, row, element);
		else
			copy_rows(source, (view_is_source ? rows_step : row) * size,
				  target, (view_is_source ? row : rows_step) * size, rows,
				  row * element);
		for (axis = v.rank; axis-- > 0;) {
			at += v.strides[axis];
			if (++index[axis] < v.dims[axis])
				break;
			at -= v.strides[axis] * (int64_t)v.dims[axis];
			index[axis] = 0;
		}
		if (axis == UINT32_MAX)
			return;
	}
}

void nn_strided_read(const struct nn_strided *view, const void *from, void *to, size_t element)
{
	walk(view, from, to, element, true);
}

void nn_strided_write(const struct nn_strided *view, const void *from, void *to, size_t element)
{
	walk(view, from, to, element, false);
}
