// SPDX-License-Identifier: MIT
/* Operations along axes: reductions, indices of extreme elements, selection by index, Softmax. */
#include "clients/lower/lowerings.h"
#include "clients/lower/reader.h"

struct shape reduced_shape(const struct shape *shape, const bool *marked, bool keep)
{
	struct shape to = { 0 };

	for (int i = 0; i < shape->rank; i++)
		if (!marked[i] || keep)
			to.dims[to.rank++] = marked[i] ? 1 : shape->dims[i];
	return to;
}

uint32_t reduced(struct lowering *t, int32_t type, uint32_t x, const struct shape *shape,
		 const bool *marked)
{
	struct shape to = reduced_shape(shape, marked, true);
	uint32_t dims[MAX_DIMS] = { 1 }, rank = 0, count = 0, out_dims[MAX_DIMS], axes, out;
	int32_t axis[MAX_DIMS];
	const bool merges = shape->rank > MAX_DIMS;
	int last = -1;

	/*
	 * If the shape has too many axes, merge adjacent axes that are reduced, and adjacent axes
	 * that are not reduced.
	 */
	for (int i = 0; i < shape->rank; i++) {
		if (merges && shape->dims[i] == 1)
			continue;
		if (!merges || marked[i] != last) {
			if (REFUSED_IF(t, rank == MAX_DIMS,
				       "the axes split the shape into more than 4 dimensions"))
				return NO_OPERAND;
			if (marked[i])
				axis[count++] = (int32_t)rank;
			dims[rank++] = 1;
		}
		last = marked[i];
		dims[rank - 1] *= (uint32_t)shape->dims[i];
	}
	/*
	 * Compute the mean of an image by a pooling, so that the result has the same layout as the
	 * images of the preceding and following operations.
	 */
	if (type == NN(MEAN) && shape->rank == 4 && is_float(t, x) && !marked[0] && !marked[1] &&
	    marked[2] && marked[3])
		return global_pooled(t, NN(AVERAGE_POOL_2D), x, shape);
	t->work += (uint64_t)shape_count(shape);
	if (count) {
		x = view(t, x, rank, dims);
		for (uint32_t i = 0; i < count; i++)
			dims[axis[i]] = 1;
		axes = vector_int(t, count, axis);
		out = result(t, x, rank, dims);
		x = EMIT(t, type, out, x, axes,
			 type == NN(MEAN) ? scalar_int(t, 1) : scalar_bool(t, true));
	}
	rank = flat(&to, out_dims);
	return view(t, x, rank, out_dims);
}

/* Rejects an axis so long that `size` minus an index would not be exact in float. */
static void count_from_end(struct lowering *t, int64_t size)
{
	if (size > 1 << 24)
		refuse(t, "the axis has %lld elements, must be at most %d", (long long)size,
		       1 << 24);
}

uint32_t place_of(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape,
		  int axis, bool is_last)
{
	uint32_t dims[MAX_DIMS], rank, at = facing(shape, axis, &rank, dims), to[MAX_DIMS] = { 1 };
	const uint32_t size = dims[at];

	for (uint32_t i = 0, k = 0; i < rank; i++)
		if (i != at)
			to[k++] = dims[i];
	x = is_last ? reversed(t, x, shape, axis) : view(t, x, rank, dims);
	x = EMIT(t, code, result_type(t, NN(TENSOR_INT32), rank > 1 ? rank - 1 : 1, to), x,
		 scalar_int(t, (int32_t)at));
	t->work += (uint64_t)shape_count(shape);
	if (!is_last)
		return x;
	count_from_end(t, size);
	return number_with(t, NN(SUB), (float)size - 1, x);
}

/*
 * Makes the axis the last axis for TOPK_V2. Reverses the axis, because for equal elements the NNAPI
 * returns the higher index first.
 */
void topmost(struct lowering *t, uint32_t x, const struct shape *shape, int axis, int64_t k,
	     bool is_greatest, uint32_t out[2])
{
	uint32_t dims[3], to[3];

	around(shape, axis, dims);
	if (k < 1 || k > dims[1])
		refuse(t, "k is %lld, must be 1 to %u", (long long)k, dims[1]);
	if (!is_greatest && is_quant8(t, x))
		refuse(t, "the smallest elements of 8-bit tensors are not supported");
	count_from_end(t, dims[1]);
	x = view(t, x, 3, dims);
	if (dims[2] != 1)
		x = transposed(t, x, 3, (int[]){ 0, 2, 1 });
	x = view(t, x, 3, (uint32_t[]){ dims[0], dims[2], dims[1] });
	x = EMIT(t, NN(REVERSE), result_like(t, x), x, vector_int(t, 1, (int32_t[]){ 2 }));
	if (!is_greatest)
		x = unary(t, NN(NEG), x);
	to[0] = dims[0];
	to[1] = dims[2];
	to[2] = (uint32_t)k;
	out[0] = result(t, x, 3, to);
	out[1] = result_type(t, NN(TENSOR_INT32), 3, to);
	emit_many(t, NN(TOPK_V2), 2, out, 2, (uint32_t[]){ x, scalar_int(t, (int32_t)k) });
	t->work += (uint64_t)shape_count(shape);
	if (!is_greatest)
		out[0] = unary(t, NN(NEG), out[0]);
	out[1] = number_with(t, NN(SUB), (float)dims[1] - 1, out[1]);
	if (dims[2] != 1)
		out[0] = transposed(t, out[0], 3, (int[]){ 0, 2, 1 });
}

uint32_t is_place(struct lowering *t, uint32_t at, const uint32_t dims[3])
{
	const struct shape one = { 3, { dims[0], 1, dims[2] } }, line = { 3, { 1, dims[1], 1 } };
	const struct shape all = { 3, { dims[0], dims[1], dims[2] } };
	int32_t *places = builder_alloc(t->b, (size_t)dims[1] * sizeof(*places));

	for (uint32_t i = 0; places && i < dims[1]; i++)
		places[i] = (int32_t)i;
	return broadcast(t, NN(EQUAL), view_shape(t, at, &one), &one,
			 constant_ints(t, 3, (uint32_t[]){ 1, dims[1], 1 }, places), &line, &all);
}

uint32_t from_start(struct lowering *t, uint32_t at, int64_t size)
{
	/*
	 * Emit ADD in a separate statement, because C compilers may evaluate arguments in any
	 * order.
	 */
	uint32_t wrapped = with_number(t, NN(ADD), at, (float)size);

	return selected(t, compared_number(t, NN(LESS), at, 0), wrapped, at);
}

void set_one_hot(struct lowering *t, uint32_t at, int64_t axis, int64_t depth, uint32_t like,
		 float on, float off)
{
	const struct shape *shape = shape_in(t, 0);
	struct shape to = { .rank = shape->rank + 1 };
	uint32_t dims[3];

	if (!t->refused && !is_type(t, at, NN(TENSOR_INT32)))
		refuse(t, "the indices must be int32");
	if (depth < 1 || depth > 1 << 24 || to.rank > MAX_RANK)
		refuse(t, "depth %lld must be 1 to 2^24, rank %d at most %d", (long long)depth,
		       to.rank, MAX_RANK);
	axis = axis_of(t, axis, to.rank);
	if (t->refused)
		return;
	for (int i = 0; i < to.rank; i++)
		to.dims[i] = i == axis ? depth : shape->dims[i < axis ? i : i - 1];
	around(&to, (int)axis, dims);
	set_out(t, 0, selected(t, is_place(t, at, dims), filled(t, like, 3, dims, on),
			       filled(t, like, 3, dims, off)), &to);
}

/* Combines the indices on several axes into one index. */
void set_lines(struct lowering *t, uint32_t at, const struct shape *places, int64_t batch)
{
	const struct shape *shape = shape_in(t, 0);
	const int64_t all = shape_count(shape);
	const int64_t depth = places->rank ? places->dims[places->rank - 1] : 0;
	uint32_t sum = NO_OPERAND, rows, batches = 1;
	struct shape to = { 0 }, lines = { 2, { 1, 1 } }, table;
	int32_t *first;

	if (REFUSED_IF(t, batch < 0 || depth < 1 || batch + depth > shape->rank ||
		       batch >= places->rank || all < 0 || all >= 1 << 24 ||
		       places->rank - 1 + shape->rank - batch - depth > MAX_RANK,
		       "indices of %lld axes after %lld do not fit %d axes", (long long)depth,
		       (long long)batch, shape->rank) ||
	    REFUSED_IF(t, !is_type(t, at, NN(TENSOR_INT32)), "the indices must be int32"))
		return;
	for (int i = 0; i < places->rank - 1; i++)
		to.dims[to.rank++] = places->dims[i];
	for (int i = 0; i < shape->rank; i++) {
		if (i < batch && shape->dims[i] != places->dims[i])
			return refuse(t, "batch dimensions %lld and %lld must be equal",
				      (long long)shape->dims[i], (long long)places->dims[i]);
		batches *= i < batch ? (uint32_t)shape->dims[i] : 1;
		lines.dims[i >= batch + depth] *= shape->dims[i];
		if (i >= batch + depth)
			to.dims[to.rank++] = shape->dims[i];
	}
	rows = (uint32_t)(shape_count(places) / depth);
	table = (struct shape){ 2, { rows, depth } };
	for (int64_t d = depth, step = 1; d--; step *= shape->dims[batch + d]) {
		uint32_t column = view(t, taken(t, view_shape(t, at, &table), &table, 1, d, 1), 1,
				       &rows);

		column = with_number(t, NN(MUL), from_start(t, column, shape->dims[batch + d]),
				     (float)step);
		sum = sum == NO_OPERAND ? column : arithmetic(t, NN(ADD), sum, column);
	}
	/*
	 * The indices in `sum` are relative to their batch; `first` has the index at which each
	 * batch begins.
	 */
	first = builder_alloc(t->b, rows * sizeof(*first));
	for (uint32_t i = 0; first && i < rows; i++)
		first[i] = (int32_t)(i / (rows / batches) * (lines.dims[0] / batches));
	sum = arithmetic(t, NN(ADD), sum, vector_int(t, rows, first));
	set_out(t, 0, gathered(t, in(t, 0), &lines, 0, sum, rows), &to);
}

/*
 * Moves the elements of the middle axis by `by` positions, to lower positions with `ahead`,
 * otherwise to higher positions. Fills the positions that become empty with zeros.
 */
static uint32_t shifted(struct lowering *t, uint32_t x, const uint32_t dims[3], uint32_t by,
			bool ahead)
{
	const struct shape shape = { 3, { dims[0], dims[1], dims[2] } };
	int32_t pairs[6] = { 0 };

	if (by >= dims[1])
		return filled_like(t, x, 0);
	pairs[2 + ahead] = (int32_t)by;
	return padded(t, NN(PAD), taken(t, x, &shape, 1, ahead ? by : 0, dims[1] - by), pairs,
		      NO_OPERAND);
}

uint32_t summed(struct lowering *t, uint32_t x, const struct shape *shape, int axis,
		bool is_exclusive, bool is_ahead)
{
	uint32_t dims[3];

	around(shape, axis, dims);
	x = view(t, x, 3, dims);
	if (is_exclusive)
		x = shifted(t, x, dims, 1, is_ahead);
	/* Each iteration doubles the number of elements that a cumulative sum has added. */
	for (uint32_t by = 1; by < dims[1] && !t->refused; by *= 2)
		x = arithmetic(t, NN(ADD), x, shifted(t, x, dims, by, is_ahead));
	t->work += (uint64_t)shape_count(shape);
	return x;
}

void set_sums(struct lowering *t, bool is_exclusive, bool is_ahead)
{
	const struct shape *shape = shape_in(t, 0);
	const int axis = axis_in(t, 1, shape->rank);

	if (!t->refused)
		set_out(t, 0, summed(t, number_in(t, 0), shape, axis, is_exclusive, is_ahead),
			shape);
}

uint32_t softmax_of(struct lowering *t, int32_t code, uint32_t x, float beta, int axis,
		    uint32_t like)
{
	uint32_t out = result(t, like, operand_of(t, x)->rank, operand_of(t, x)->dims);

	return EMIT(t, code, out, x, scalar_float(t, x, beta), scalar_int(t, axis));
}
