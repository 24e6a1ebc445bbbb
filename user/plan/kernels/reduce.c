/* SPDX-License-Identifier: MIT */
/*
 * MEAN and the REDUCE_ operations along adjacent axes. The kernel reduces the columns of each
 * matrix, or the rows if the reduced axes are the last axes.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/q8.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

enum { X, AXES };

#define MAX_SUM (1 << 23)	/* maximum number of bytes whose sum fits in an int32_t */

struct reduce {
	enum nn_reduction reduction;
	bool is_float;
	bool is_bool;			/* true: bytes are bools, which are true unless 0 */
	uint8_t flip;	/* after an XOR with `flip`, the searched extreme is the largest byte */
	size_t outer;			/* number of rows, or number of matrices */
	size_t count;			/* number of elements that are reduced to one */
	size_t stride;	/* number of columns */
	size_t task_outer;
};

/*
 * Sets [first, end) to the reduced axes; axes of one element are ignored. Returns false if the
 * reduced axes are not adjacent.
 */
static bool read_axes(const struct nn_run *r, uint32_t *first, uint32_t *end)
{
	const struct nn_tensor *x = &r->inputs[X];
	const int32_t *list = r->inputs[AXES].data;
	bool reduced[NN_MAX_RANK] = { false };

	for (uint32_t i = 0; i < nn_tensor_count(&r->inputs[AXES]); i++) {
		uint32_t axis;

		if (!nn_axis(list[i], x->rank, &axis))
			return false;
		reduced[axis] = x->dims[axis] > 1;
	}
	*first = 0;
	while (*first < x->rank && !reduced[*first])
		(*first)++;
	*end = *first;
	for (uint32_t i = *first; i < x->rank; i++)
		*end = reduced[i] ? i + 1 : *end;
	for (uint32_t i = *first; i < *end; i++)
		if (!reduced[i] && x->dims[i] > 1)
			return false;
	return true;
}

static const struct {
	int32_t code;
	enum nn_reduction reduction;
	bool is_bool;
} operations[] = {
	{ NN_OP_MEAN, NN_REDUCE_MEAN, false },
	{ NN_OP_REDUCE_SUM, NN_REDUCE_SUM, false },
	{ NN_OP_REDUCE_MAX, NN_REDUCE_MAX, false },
	{ NN_OP_REDUCE_MIN, NN_REDUCE_MIN, false },
	{ NN_OP_REDUCE_ANY, NN_REDUCE_MAX, true },
	{ NN_OP_REDUCE_ALL, NN_REDUCE_MIN, true },
};

#define NN_STATE struct reduce
static const struct nn_field fields[] = {
	WORD(reduction, 0, NN_REDUCE_MEAN), FLAG(is_float), FLAG(is_bool), BYTE(flip),
	DIMENSION(outer), DIMENSION(count), DIMENSION(stride),
	SPAN(INPUT(X), NUMBERS(is_float), outer, count, stride),
	SPAN(OUTPUT(0), NUMBERS(is_float), outer, stride),
	END
};

/*
 * Returns false if there is no inner loop for the reduction; REDUCE_SUM has an inner loop only for
 * floats.
 */
static bool complete(void *state, struct nn_ready *ready)
{
	struct reduce *d = state;

	d->task_outer = nn_elementwise_rows(ready, d->outer, d->outer * d->count * d->stride);
	return d->is_float || d->reduction == NN_REDUCE_MAX || d->reduction == NN_REDUCE_MIN ||
	       (d->reduction == NN_REDUCE_MEAN && d->count <= MAX_SUM);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct reduce *d = ready->state;
	uint32_t first, end;

	ready->reads |= NN_IN(AXES);
	if (x->type == NN_TENSOR_FLOAT16 || !read_axes(r, &first, &end))
		return false;
	d->reduction = operations[ready->row].reduction;
	d->is_bool = operations[ready->row].is_bool;
	d->is_float = x->type == NN_TENSOR_FLOAT32;
	d->outer = nn_tensor_product(x, 0, first);
	d->count = nn_tensor_product(x, first, end);
	d->stride = nn_tensor_product(x, end, x->rank);
	if (!d->is_float && !d->is_bool)
		d->flip = nn_q8_of(x).flip;
	if (d->reduction == NN_REDUCE_MIN)
		d->flip ^= 0xff;
	return complete(d, ready);
}

/* ---- Floats ---- */

/* Sums all columns, NN_SUM_CHANNELS columns at a time. */
static void sum_columns(const struct nn_isa *isa, const struct reduce *d, const float *x, float *out)
{
	for (size_t at = 0; at < d->stride; at += NN_SUM_CHANNELS) {
		size_t left = d->stride - at;
		size_t some = left < NN_SUM_CHANNELS ? left : NN_SUM_CHANNELS;
		float sums[NN_SUM_CHANNELS] = { 0 };

		isa->sum_f32(x + at, d->stride, d->count, some, sums);
		memcpy(out + at, sums, some * sizeof(*out));
	}
}

static void sum_f32(const struct nn_isa *isa, const struct reduce *d, const float *x, float *out)
{
	if (d->stride == 1)
		*out = isa->sum_row_f32(x, d->count);
	else
		sum_columns(isa, d, x, out);
	for (size_t i = 0; d->reduction == NN_REDUCE_MEAN && i < d->stride; i++)
		out[i] /= (float)d->count;
}

static void reduce_f32(const struct nn_isa *isa, const struct reduce *d, const float *x, float *out)
{
	const struct nn_reduce_f32 f32 = {
		.reduction = d->reduction,
		.in = x,
		.count = d->count,
		.columns = d->stride,
		.out = out,
	};

	if (d->reduction == NN_REDUCE_SUM || d->reduction == NN_REDUCE_MEAN)
		sum_f32(isa, d, x, out);
	else
		isa->reduce_f32(&f32);
}

/* ---- Bytes ---- */

static void extremes_of_columns(const struct nn_isa *isa, const struct reduce *d, const uint8_t *x,
				uint8_t *out)
{
	memset(out, d->flip, d->stride);
	for (size_t c = 0; c < d->stride; c += NN_MAX_CHANNELS) {
		const size_t left = d->stride - c, some = left < NN_MAX_CHANNELS ? left : NN_MAX_CHANNELS;

		isa->max_q8(x + c, d->stride, d->count, some, d->flip, out + c);
	}
	for (size_t i = 0; d->is_bool && i < d->stride; i++)
		out[i] = out[i] != 0;
}

static uint8_t extreme_of_row(const struct nn_isa *isa, const struct reduce *d, const uint8_t *x)
{
	const size_t whole = d->count / NN_SUM_CHANNELS;
	uint8_t lanes[NN_SUM_CHANNELS], best = 0;

	memset(lanes, d->flip, sizeof(lanes));
	isa->max_q8(x, NN_SUM_CHANNELS, whole, NN_SUM_CHANNELS, d->flip, lanes);
	for (size_t i = 0; i < NN_SUM_CHANNELS; i++)
		best = (lanes[i] ^ d->flip) > best ? lanes[i] ^ d->flip : best;
	for (size_t k = whole * NN_SUM_CHANNELS; k < d->count; k++)
		best = (x[k] ^ d->flip) > best ? x[k] ^ d->flip : best;
	best ^= d->flip;
	return d->is_bool ? best != 0 : best;
}

/*
 * Returns the mean of a row or column, truncated instead of rounded. Flipping the sign bit has
 * added 128 to each signed byte, so the function subtracts 128 for each signed byte.
 */
static uint8_t mean_of(const struct reduce *d, int32_t sum)
{
	return (uint8_t)((sum - (int32_t)d->count * d->flip) / (int32_t)d->count);
}

static uint8_t mean_of_row(const struct nn_isa *isa, const struct reduce *d, const uint8_t *x)
{
	const size_t whole = d->count / NN_SUM_CHANNELS;
	int32_t sums[NN_SUM_CHANNELS] = { 0 }, total = 0;

	isa->sum_q8(x, NN_SUM_CHANNELS, whole, NN_SUM_CHANNELS, d->flip, sums);
	for (size_t i = 0; i < NN_SUM_CHANNELS; i++)
		total += sums[i];
	for (size_t k = whole * NN_SUM_CHANNELS; k < d->count; k++)
		total += x[k] ^ d->flip;
	return mean_of(d, total);
}

static void means_of_columns(const struct nn_isa *isa, const struct reduce *d, const uint8_t *x,
			     uint8_t *out)
{
	for (size_t c = 0; c < d->stride; c += NN_SUM_CHANNELS) {
		size_t left = d->stride - c, some = left < NN_SUM_CHANNELS ? left : NN_SUM_CHANNELS;
		int32_t sums[NN_SUM_CHANNELS] = { 0 };

		isa->sum_q8(x + c, d->stride, d->count, some, d->flip, sums);
		for (size_t i = 0; i < some; i++)
			out[c + i] = mean_of(d, sums[i]);
	}
}

static void reduce_q8(const struct nn_isa *isa, const struct reduce *d, const uint8_t *x,
		      uint8_t *out)
{
	if (d->reduction == NN_REDUCE_MEAN && d->stride == 1)
		*out = mean_of_row(isa, d, x);
	else if (d->reduction == NN_REDUCE_MEAN)
		means_of_columns(isa, d, x, out);
	else if (d->stride == 1)
		*out = extreme_of_row(isa, d, x);
	else
		extremes_of_columns(isa, d, x, out);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct reduce *d = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task * d->task_outer, left = d->outer - first;
	const size_t end = first + (left < d->task_outer ? left : d->task_outer);

	(void)scratch;
	for (size_t i = first; i < end; i++) {
		const size_t from = i * d->count * d->stride, to = i * d->stride;

		if (d->is_float)
			reduce_f32(isa, d, (const float *)call->inputs[X] + from,
				   (float *)call->outputs[0] + to);
		else
			reduce_q8(isa, d, (const uint8_t *)call->inputs[X] + from,
				  (uint8_t *)call->outputs[0] + to);
	}
}

NN_KERNEL(reduce, "reduction", sizeof(struct reduce), NN_TAKES_ROWS(operations), .inputs = 1);
