/* SPDX-License-Identifier: MIT */
#include "ops/axis.h"
#include "ops/broadcast.h"

/*
 * Returns dimension `axis` of a tensor after its rank was extended to `rank` by leading dimensions
 * of 1.
 */
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
			return nn_run_fail(r, "dimension %u of %u cannot be broadcast: %u and %u",
					   i, rank, x, y);
		out->dims[i] = x == 1 ? y : x;
	}
	return NN_OK;
}

static void add_axis(struct nn_broadcast_axes *x, uint32_t a, uint32_t b)
{
	bool moves_a = a != 1, moves_b = b != 1;
	uint32_t last = x->count - 1;

	if (!moves_a && !moves_b)
		return;
	if (x->count && x->steps_a[last] == moves_a && x->steps_b[last] == moves_b) {
		x->dims[last] *= moves_a ? a : b;
		return;
	}
	x->dims[x->count] = moves_a ? a : b;
	x->steps_a[x->count] = moves_a;
	x->steps_b[x->count] = moves_b;
	x->count++;
}

/*
 * Computes an operand's step along each axis, in elements. Before the call, steps[i] is a flag: 1
 * if the operand extends along axis i, and 0 if the operand is broadcast along axis i.
 */
static void set_steps(const struct nn_broadcast_axes *x, size_t *steps)
{
	size_t step = 1;

	for (uint32_t i = x->count; i-- > 0;) {
		bool moves = steps[i];

		steps[i] = moves ? step : 0;
		step *= moves ? x->dims[i] : 1;
	}
}

void nn_broadcast_axes(const struct nn_run *r, struct nn_broadcast_axes *x)
{
	const struct nn_tensor *a = &r->inputs[0], *b = &r->inputs[1], *out = &r->outputs[0];

	*x = (struct nn_broadcast_axes){ 0 };
	for (uint32_t i = 0; i < out->rank; i++)
		add_axis(x, stretched_dim(a, out->rank, i), stretched_dim(b, out->rank, i));
	if (!x->count)
		*x = (struct nn_broadcast_axes){ .count = 1, .dims = { 1 } };
	set_steps(x, x->steps_a);
	set_steps(x, x->steps_b);
}

static size_t element_size(const struct nn_tensor *t)
{
	return nn_type_info_of(t->type)->element_size;
}

/*
 * Calls the row function for each row, that is for each combination of indices on all axes except
 * the last.
 */
static void walk(const struct nn_broadcast_axes *x, struct nn_row *row, nn_row_fn *fn,
		 size_t element_a, size_t element_b, size_t element_out)
{
	size_t index[NN_MAX_RANK] = { 0 };
	const char *a = row->a, *b = row->b;
	uint32_t last = x->count - 1;

	row->count = x->dims[last];
	row->one_a = !x->steps_a[last];
	row->one_b = !x->steps_b[last];
	for (;;) {
		uint32_t i = last;

		row->a = a;
		row->b = b;
		fn(row);
		row->out = (char *)row->out + row->count * element_out;
		while (i-- > 0) {
			a += x->steps_a[i] * element_a;
			b += x->steps_b[i] * element_b;
			if (++index[i] < x->dims[i])
				break;
			a -= x->steps_a[i] * element_a * x->dims[i];
			b -= x->steps_b[i] * element_b * x->dims[i];
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
	struct nn_broadcast_axes axes;

	if (!nn_tensor_count(out))
		return;
	nn_broadcast_axes(r, &axes);
	walk(&axes, &row, fn, element_size(a), element_size(b), element_size(out));
}
