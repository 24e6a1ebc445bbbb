/* SPDX-License-Identifier: MIT */
/* ARGMAX, ARGMIN and TOPK_V2: the indices of the largest and smallest elements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/op.h"

static enum nn_status infer_arg(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct nn_tensor *out = &r->outputs[0];
	uint32_t axis, rank = 0;

	if (!nn_axis(nn_run_int(r, 1, 0), in->rank, &axis))
		return nn_run_fail(r, "axis %d does not fit rank %u", nn_run_int(r, 1, 0),
				   in->rank);
	out->type = NN_TENSOR_INT32;
	out->scale = 0;
	out->zero_point = 0;
	for (uint32_t i = 0; i < in->rank; i++) {
		if (i != axis)
			out->dims[rank++] = in->dims[i];
	}
	if (rank == 0)
		out->dims[rank++] = 1;
	nn_tensor_set_rank(out, rank);
	return NN_OK;
}

/*
 * Returns element i as a double, so that elements of all types can be compared. NaN is converted to
 * minus infinity. A double represents every 32-bit integer and float exactly.
 */
static double value_at(const struct nn_tensor *t, size_t i)
{
	float real;

	switch (t->type) {
	case NN_TENSOR_FLOAT32:
		real = ((const float *)t->data)[i];
		return isnan(real) ? -INFINITY : real;
	case NN_TENSOR_INT32:
		return ((const int32_t *)t->data)[i];
	case NN_TENSOR_QUANT8_ASYMM_SIGNED:
		return ((const int8_t *)t->data)[i];
	default:
		return ((const uint8_t *)t->data)[i];
	}
}

/*
 * Executes ARGMAX or ARGMIN. If several elements are equally large (or small), the result is the
 * index of the first.
 */
static enum nn_status execute_arg(struct nn_run *r)
{
	const double sign = r->op->code == NN_OP_ARGMAX ? 1 : -1;
	const struct nn_tensor *in = &r->inputs[0];
	int32_t *out = r->outputs[0].data;
	uint32_t axis = 0, outer, inner;

	nn_axis(nn_run_int(r, 1, 0), in->rank, &axis);
	outer = nn_tensor_product(in, 0, axis);
	inner = nn_tensor_product(in, axis + 1, in->rank);
	for (size_t o = 0; o < outer; o++) {
		for (size_t i = 0; i < inner; i++) {
			size_t start = o * in->dims[axis] * inner + i;
			double best = sign * value_at(in, start);
			uint32_t where = 0;

			for (uint32_t k = 1; k < in->dims[axis]; k++) {
				double value = sign * value_at(in, start + k * inner);

				if (value > best) {
					best = value;
					where = k;
				}
			}
			out[o * inner + i] = (int32_t)where;
		}
	}
	return NN_OK;
}

static enum nn_status infer_topk(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct nn_tensor *values = &r->outputs[0], *indices = &r->outputs[1];
	int32_t k = nn_run_int(r, 1, 0);
	uint32_t last = in->rank - 1;

	if (k < 1 || (uint32_t)k > in->dims[last])
		return nn_run_fail(r, "%d values are asked for, there are %u", k, in->dims[last]);
	nn_tensor_like(values, in);
	values->dims[last] = (uint32_t)k;
	nn_tensor_like(indices, values);
	indices->type = NN_TENSOR_INT32;
	indices->scale = 0;
	indices->zero_point = 0;
	return NN_OK;
}

struct candidate {
	double value;
	uint32_t index;
};

/*
 * Compares two candidates for qsort(): the candidate with the larger value comes first. If
 * candidates have equal values, the candidate with the larger index comes first.
 */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->index < y->index ? 1 : -1;
}

#define MAX_INSERTED 32		/* maximum size of a list sorted by insertion */
#define BLOCK 16		/* number of elements that SKIP() compares in one step */

/*
 * Returns the index of the first element from `i` on that is at least `least`, or `end` if there is
 * no such element. NaN is skipped.
 */
#define SKIP(name, type)									\
static size_t name(const type *x, size_t i, size_t end, double least)			\
{											\
	const type bound = (type)least;							\
											\
	for (; i + BLOCK <= end; i += BLOCK) {						\
		int found = 0;								\
											\
		for (size_t k = 0; k < BLOCK; k++)					\
			found |= x[i + k] >= bound;					\
		if (found)								\
			break;								\
	}										\
	while (i < end && !(x[i] >= bound))						\
		i++;									\
	return i;									\
}

SKIP(skip_f32, float)
SKIP(skip_i32, int32_t)
SKIP(skip_i8, int8_t)
SKIP(skip_u8, uint8_t)

static size_t skip(const struct nn_tensor *t, size_t i, size_t end, double least)
{
	switch (t->type) {
	case NN_TENSOR_FLOAT32:
		return least > -INFINITY ? skip_f32(t->data, i, end, least) : i;
	case NN_TENSOR_INT32:
		return skip_i32(t->data, i, end, least);
	case NN_TENSOR_QUANT8_ASYMM_SIGNED:
		return skip_i8(t->data, i, end, least);
	default:
		return skip_u8(t->data, i, end, least);
	}
}

/*
 * Sifts the element at index `at` down in a heap of candidates. The heap's root is the candidate
 * that comes last in the order.
 */
static void sift(struct candidate *heap, size_t count, size_t at)
{
	const struct candidate moved = heap[at];
	size_t below;

	while ((below = 2 * at + 1) < count) {
		if (below + 1 < count && compare_candidates(&heap[below + 1], &heap[below]) > 0)
			below++;
		if (compare_candidates(&heap[below], &moved) <= 0)
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = moved;
}

/*
 * Finds the `k` elements of a row that come first in the order of candidates, and sorts the
 * elements. Uses a heap, which is faster than insertion if k is large.
 */
static void sort_top(const struct nn_tensor *in, size_t start, uint32_t row, uint32_t k,
		     struct candidate *list)
{
	for (uint32_t i = 0; i < k; i++)
		list[i] = (struct candidate){ value_at(in, start + i), i };
	for (uint32_t i = k / 2; k < row && i-- > 0;)
		sift(list, k, i);
	for (size_t i = start + k; (i = skip(in, i, start + row, list[0].value)) < start + row; i++) {
		list[0] = (struct candidate){ value_at(in, i), (uint32_t)(i - start) };
		sift(list, k, 0);
	}
	qsort(list, k, sizeof(*list), compare_candidates);
}

/*
 * Inserts an element into a sorted list, and removes the list's last element, which must not be
 * larger than the new element.
 */
static void insert(struct candidate *list, uint32_t last, double value, uint32_t index)
{
	uint32_t at = last;

	for (; at > 0 && list[at - 1].value <= value; at--)
		list[at] = list[at - 1];
	list[at] = (struct candidate){ value, index };
}

/*
 * Finds the `k` elements of a row that come first in the order of candidates, by the faster of two
 * methods.
 */
static void find_top(const struct nn_tensor *in, size_t start, uint32_t row, uint32_t k,
		     struct candidate *list)
{
	const struct candidate *last = &list[k - 1];
	const size_t end = start + row;

	if (k > MAX_INSERTED) {
		sort_top(in, start, row, k, list);
		return;
	}
	for (uint32_t i = 0; i < k; i++)
		insert(list, i, value_at(in, start + i), i);
	for (size_t i = start + k; (i = skip(in, i, end, last->value)) < end; i++)
		insert(list, k - 1, value_at(in, i), (uint32_t)(i - start));
}

static enum nn_status execute_topk(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	uint32_t row = in->dims[in->rank - 1], rows = nn_tensor_product(in, 0, in->rank - 1);
	uint32_t k = (uint32_t)nn_run_int(r, 1, 0);
	size_t element = nn_type_info_of(in->type)->element_size;
	struct candidate *list = nn_run_room(r, k, sizeof(*list));
	const char *from = in->data;
	char *values = r->outputs[0].data;
	int32_t *indices = r->outputs[1].data;

	if (!list)
		return NN_OUT_OF_MEMORY;
	for (size_t o = 0; o < rows; o++, from += row * element) {
		find_top(in, o * row, row, k, list);
		for (uint32_t i = 0; i < k; i++, values += element) {
			memcpy(values, from + list[i].index * element, element);
			*indices++ = (int32_t)list[i].index;
		}
	}
	return NN_OK;
}

#define ARG(which)									\
NN_OPERATION(which,									\
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }, NN_SCALAR_INT), \
	NN_OUTPUTS({ NN_T(NN_TENSOR_INT32), 0, 0 }),					\
	.float16_as_float32 = true, .infer = infer_arg, .execute = execute_arg)

ARG(ARGMAX);
ARG(ARGMIN);

NN_OPERATION(TOPK_V2,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }, { NN_T(NN_TENSOR_INT32), 0, 0 }),
	.float16_as_float32 = true,
	.infer = infer_topk, .execute = execute_topk);
