/* SPDX-License-Identifier: MIT */
/*
 * Operations on two tensors of shapes that broadcast: the shape rule, and the
 * walk that hands a kernel rows of elements that lie in a line.
 */
#include "ops/axis.h"
#include "ops/broadcast.h"

/* Dimension `axis` of a tensor that leading ones stretch to `rank`. */
static uint32_t stretched_dim(const struct nn_tensor *t, uint32_t rank, uint32_t axis)
{
	uint32_t missing = rank - t->rank;

	return axis < missing ? 1 : t->dims[axis - missing];
}

enum nn_status nn_broadcast_infer(struct nn_run *r)
{
	const struct nn_tensor *a = &r->inputs[0], *b = &r->inputs[1];
	struct nn_tensor *out = &r->outputs[0];
	uint32_t rank = a->rank > b->rank ? a->rank : b->rank;

	nn_tensor_set_rank(out, rank);
	for (uint32_t i = 0; i < rank; i++) {
		uint32_t x = stretched_dim(a, rank, i), y = stretched_dim(b, rank, i);

		if (x != y && x != 1 && y != 1)
			return nn_run_fail(r, "dimension %u of %u does not broadcast: %u and %u",
					   i, rank, x, y);
		out->dims[i] = x == 1 ? y : x;
	}
	return NN_OK;
}

/* The axes of the output, those joined that both operands run through alike. */
struct axes {
	uint32_t count;
	size_t dims[NN_MAX_RANK];
	bool moves_a[NN_MAX_RANK];	/* or the one element is repeated */
	bool moves_b[NN_MAX_RANK];
};

static void add_axis(struct axes *x, uint32_t a, uint32_t b)
{
	bool moves_a = a != 1, moves_b = b != 1;
	uint32_t last = x->count - 1;

	if (!moves_a && !moves_b)
		return;
	if (x->count && x->moves_a[last] == moves_a && x->moves_b[last] == moves_b) {
		x->dims[last] *= moves_a ? a : b;
		return;
	}
	x->dims[x->count] = moves_a ? a : b;
	x->moves_a[x->count] = moves_a;
	x->moves_b[x->count] = moves_b;
	x->count++;
}

static size_t element_size(const struct nn_tensor *t)
{
	return nn_type_info(t->type)->element_size;
}

/* Bytes from one index of each axis to the next. */
static void strides_of(const struct axes *x, const bool *moves, size_t element, size_t *strides)
{
	size_t stride = element;

	for (uint32_t i = x->count; i-- > 0;) {
		strides[i] = moves[i] ? stride : 0;
		stride *= moves[i] ? x->dims[i] : 1;
	}
}

/* Runs through all axes but the last, which is the row. */
static void walk(const struct axes *x, struct nn_row *row, nn_row_fn *fn, size_t element_a,
		 size_t element_b, size_t element_out)
{
	size_t strides_a[NN_MAX_RANK], strides_b[NN_MAX_RANK], index[NN_MAX_RANK] = { 0 };
	const char *a = row->a, *b = row->b;
	uint32_t last = x->count - 1;

	strides_of(x, x->moves_a, element_a, strides_a);
	strides_of(x, x->moves_b, element_b, strides_b);
	row->count = x->dims[last];
	row->one_a = !x->moves_a[last];
	row->one_b = !x->moves_b[last];
	for (;;) {
		uint32_t i = last;

		row->a = a;
		row->b = b;
		fn(row);
		row->out = (char *)row->out + row->count * element_out;
		while (i-- > 0) {
			a += strides_a[i];
			b += strides_b[i];
			if (++index[i] < x->dims[i])
				break;
			a -= strides_a[i] * x->dims[i];
			b -= strides_b[i] * x->dims[i];
			index[i] = 0;
		}
		if (i == UINT32_MAX)
			return;
	}
}

void nn_broadcast(const struct nn_run *r, nn_row_fn *fn, const void *params)
{
	const struct nn_tensor *a = &r->inputs[0], *b = &r->inputs[1], *out = &r->outputs[0];
	struct nn_row row = { .params = params, .a = a->data, .b = b->data, .out = out->data };
	struct axes axes = { 0 };

	if (!nn_tensor_count(out))
		return;
	for (uint32_t i = 0; i < out->rank; i++)
		add_axis(&axes, stretched_dim(a, out->rank, i), stretched_dim(b, out->rank, i));
	if (!axes.count)
		axes = (struct axes){ .count = 1, .dims = { 1 } };
	walk(&axes, &row, fn, element_size(a), element_size(b), element_size(out));
}
