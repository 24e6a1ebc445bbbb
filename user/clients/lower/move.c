// SPDX-License-Identifier: MIT
/* Operations that move elements. */
#include "clients/lower/lowerings.h"
#include "clients/lower/reader.h"

#include <string.h>

/*
 * Transposes more dimensions than TRANSPOSE supports. Each step of the transpose moves one
 * dimension to its position in the result, in the order of the result's dimensions.
 */
static uint32_t permuted_by_one(struct lowering *t, uint32_t x, int rank, int *places,
				uint32_t *dims)
{
	for (int i = 0; i < rank; i++) {
		uint32_t part[4] = { 1, 1, 1, 1 }, size;
		int at = i;

		while (places[at] != i)
			at++;
		if (at == i)
			continue;
		for (int d = 0; d < rank; d++)
			part[d < i ? 0 : d < at ? 1 : d == at ? 2 : 3] *= dims[d];
		x = transposed(t, view(t, x, 4, part), 4, (int[]){ 0, 2, 1, 3 });
		size = dims[at];
		for (; at > i; at--) {
			dims[at] = dims[at - 1];
			places[at] = places[at - 1];
		}
		dims[i] = size;
		places[i] = i;
	}
	return x;
}

int32_t *transposed_indices(struct lowering *t, const struct shape *shape, const int *order)
{
	const int64_t count = shape_count(shape);
	int32_t *from = builder_alloc(t->b, (size_t)count * sizeof(*from));
	int64_t steps[MAX_RANK], step = 1;

	for (int d = shape->rank; d--; step *= shape->dims[d])
		steps[d] = step;
	for (int64_t i = 0; from && i < count; i++) {
		int64_t rest = i;

		from[i] = 0;
		for (int d = shape->rank; d--; rest /= shape->dims[order[d]])
			from[i] += (int32_t)(rest % shape->dims[order[d]] * steps[order[d]]);
	}
	return from;
}

/* Transposes integers, which TRANSPOSE does not support. */
static uint32_t permuted_integers(struct lowering *t, uint32_t x, const struct shape *shape, const int *order)
{
	const int64_t all = shape_count(shape);
	const uint32_t count = (uint32_t)all;
	int32_t *from;

	if (REFUSED_IF(t, all < 0 || all > 1 << 20, "%lld integers, must be at most 2^20", (long long)all))
		return NO_OPERAND;
	from = transposed_indices(t, shape, order);
	return from ? gathered(t, x, &(struct shape){ 1, { all } }, 0, vector_int(t, count, from), count) :
		      NO_OPERAND;
}

/* Merges dimensions of x that stay adjacent, drops dimensions of size 1, and then transposes x. */
uint32_t permuted(struct lowering *t, uint32_t x, const struct shape *shape, const int *order)
{
	int groups[MAX_RANK], rank = 0, place[MAX_RANK], to[MAX_RANK];
	uint32_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned int seen = 0;
	int last = -2;

	for (int i = 0; i < shape->rank; i++)
		seen |= 1u << order[i];
	if (REFUSED_IF(t, seen != (1u << shape->rank) - 1, "an axis is listed twice"))
		return NO_OPERAND;
	if (is_type(t, x, NN(TENSOR_INT32)))
		return permuted_integers(t, x, shape, order);
	/* Number the groups of merged dimensions in the order of the result. */
	for (int i = 0; i < shape->rank; i++) {
		int d = order[i];

		groups[d] = -1;
		if (shape->dims[d] == 1)
			continue;
		/* Two dimensions are adjacent even if dimensions of size 1 are between them. */
		while (last >= 0 && last + 1 < d && shape->dims[last + 1] == 1)
			last++;
		if (d != last + 1 || last < 0)
			rank++;
		groups[d] = rank - 1;
		last = d;
	}
	/* Find the order of the groups of merged dimensions in the input. */
	memset(place, -1, sizeof(place));
	for (int d = 0, at = 0; d < shape->rank; d++) {
		if (groups[d] < 0)
			continue;
		if (place[groups[d]] < 0)
			place[groups[d]] = at++;
		dims[place[groups[d]]] *= (uint32_t)shape->dims[d];
	}
	if (!rank)
		return x;
	for (int i = 0; i < rank; i++)
		to[place[i]] = i;
	if (rank > MAX_DIMS)
		return permuted_by_one(t, x, rank, to, dims);
	return transposed(t, view(t, x, (uint32_t)rank, dims), (uint32_t)rank, place);
}

static uint32_t sliced(struct lowering *t, uint32_t x, uint32_t rank, const int32_t *begin,
		       const uint32_t *size)
{
	return EMIT(t, NN(SLICE), result(t, x, rank, size), x, vector_int(t, rank, begin),
		    vector_int(t, rank, (const int32_t *)size));
}

uint32_t taken(struct lowering *t, uint32_t x, const struct shape *shape, int axis, int64_t begin,
	       int64_t count)
{
	uint32_t dims[MAX_DIMS], rank, at = facing(shape, axis, &rank, dims);
	int32_t first[MAX_DIMS] = { 0 };

	x = view(t, x, rank, dims);
	if (count == dims[at])
		return x;
	first[at] = (int32_t)begin;
	dims[at] = (uint32_t)count;
	return sliced(t, x, rank, first, dims);
}

uint32_t gathered(struct lowering *t, uint32_t x, const struct shape *shape, int axis, uint32_t at,
		  uint32_t count)
{
	uint32_t dims[MAX_DIMS], rank, place = facing(shape, axis, &rank, dims);

	x = view(t, x, rank, dims);
	dims[place] = count;
	return EMIT(t, NN(GATHER), result(t, x, rank, dims), x, scalar_int(t, (int32_t)place), at);
}

/* Resolves a negative index, which counts from the end, and clamps the index to two bounds. */
static int64_t cut(int64_t at, int64_t size, int64_t low, int64_t high)
{
	if (at < 0)
		at += size;
	return at < low ? low : at > high ? high : at;
}

bool cut_range(struct lowering *t, int64_t size, struct range *range)
{
	const int64_t step = range->step, back = step < 0, way = back ? -1 : 1;
	int64_t length;

	if (REFUSED_IF(t, !step || step < INT32_MIN || step > INT32_MAX,
		       "a step must fit int32 and not be 0, is %lld", (long long)step))
		return false;
	range->begin = cut(range->begin, size, 0, size - back);
	range->end = cut(range->end, size, -back, size - back);
	length = (range->end - range->begin) * way;
	range->count = length > 0 ? (length - 1) / (step * way) + 1 : 0;
	if (!range->count)
		refuse(t, "the part has no elements");
	return range->count;
}

uint32_t ranged(struct lowering *t, uint32_t x, const struct shape *shape,
		const struct range *ranges)
{
	uint32_t size[MAX_DIMS], rank = flat(shape, size);
	int32_t begin[MAX_DIMS] = { 0 };
	struct shape to = *shape;
	bool is_cut = false;

	for (int i = 0; i < shape->rank; i++) {
		const struct range *r = &ranges[i];

		if ((r->step != 1 && r->count != 1) || r->count == shape->dims[i])
			continue;
		if (shape->rank > MAX_DIMS) {
			x = taken(t, x, &to, i, r->begin, r->count);
		} else {
			begin[i] = (int32_t)r->begin;
			size[i] = (uint32_t)r->count;
			is_cut = true;
		}
		to.dims[i] = r->count;
	}
	if (is_cut)
		x = sliced(t, view_shape(t, x, shape), rank, begin, size);
	for (int i = 0; i < shape->rank; i++) {
		const uint32_t count = (uint32_t)ranges[i].count;
		int32_t *at;

		if (ranges[i].step == 1 || count == 1)
			continue;
		at = builder_alloc(t->b, count * sizeof(*at));
		for (uint32_t k = 0; at && k < count; k++)
			at[k] = (int32_t)(ranges[i].begin + k * ranges[i].step);
		x = gathered(t, x, &to, i, constant_ints(t, 1, &count, at), count);
		to.dims[i] = count;
	}
	return x;
}

uint32_t concatenated(struct lowering *t, uint32_t *x, uint32_t count, const struct shape *shape,
		      int axis, uint32_t like)
{
	uint32_t dims[MAX_DIMS], rank, at = facing(shape, axis, &rank, dims), out;
	const bool is_bool = is_type(t, x[0], NN(TENSOR_BOOL8));

	out = is_bool ? result_type(t, NN(TENSOR_FLOAT32), rank, dims) :
			result(t, like, rank, dims);
	for (uint32_t i = 0; i < count && !t->refused; i++) {
		if (is_bool)
			x[i] = bool_as_float(t, x[i]);
		dims[at] = (uint32_t)(elements_of(t, x[i]) * shape->dims[axis] /
				      shape_count(shape));
		x[i] = view(t, x[i], rank, dims);
	}
	x[count] = scalar_int(t, (int32_t)at);
	out = emit(t, NN(CONCATENATION), out, count + 1, x);
	return is_bool ? float_as_bool(t, out) : out;
}

void divided(struct lowering *t, uint32_t x, const struct shape *shape, int axis, uint32_t count,
	     uint32_t *parts)
{
	uint32_t dims[MAX_DIMS], rank, at = facing(shape, axis, &rank, dims);

	if (!count || dims[at] % count)
		return refuse(t, "%u equal parts do not fit %u elements", count, dims[at]);
	x = view(t, x, rank, dims);
	dims[at] /= count;
	for (uint32_t i = 0; i < count; i++)
		parts[i] = result(t, x, rank, dims);
	emit_many(t, NN(SPLIT), count, parts, 3,
		  (uint32_t[]){ x, scalar_int(t, (int32_t)at), scalar_int(t, (int32_t)count) });
}

uint32_t reversed(struct lowering *t, uint32_t x, const struct shape *shape, int axis)
{
	uint32_t dims[MAX_DIMS], rank, at = facing(shape, axis, &rank, dims);

	x = view(t, x, rank, dims);
	return EMIT(t, NN(REVERSE), result_like(t, x), x,
		    vector_int(t, 1, (int32_t[]){ (int32_t)at }));
}

uint32_t padded(struct lowering *t, int32_t code, uint32_t x, const int32_t *pairs, uint32_t more)
{
	const uint32_t rank = operand_of(t, x)->rank, ins[] = {
		x, constant_ints(t, 2, (uint32_t[]){ rank, 2 }, pairs), more,
	};
	uint32_t dims[MAX_DIMS];

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = operand_of(t, x)->dims[i] + (uint32_t)(pairs[2 * i] + pairs[2 * i + 1]);
	return emit(t, code, result(t, x, rank, dims), more == NO_OPERAND ? 2 : 3, ins);
}

uint32_t tiled(struct lowering *t, uint32_t x, const struct shape *shape, const int64_t *times,
	       struct shape *to)
{
	int32_t repeats[MAX_DIMS] = { 1 };
	uint32_t dims[MAX_DIMS];

	*to = *shape;
	if (shape->rank > MAX_DIMS)
		refuse(t, "%d dimensions, must be at most 4", shape->rank);
	for (int i = 0; !t->refused && i < shape->rank; i++) {
		if (times[i] < 1 || times[i] > INT32_MAX)
			refuse(t, "a multiple must be 1 to 2^31-1, is %lld", (long long)times[i]);
		else
			to->dims[i] *= times[i];
		repeats[i] = (int32_t)times[i];
	}
	if (!t->refused && shape_count(to) <= 0)
		refuse(t, "the output has more than 2^31 elements");
	return t->refused ? NO_OPERAND :
	       EMIT(t, NN(TILE), result(t, x, flat(to, dims), dims), x,
		    vector_int(t, operand_of(t, x)->rank, repeats));
}

void tile_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const int64_t *times = ints_of_count(t, 1, "the list of multiples", shape->rank);
	struct shape to;
	uint32_t x;

	x = tiled(t, in(t, 0), shape, times, &to);
	set_out(t, 0, x, &to);
}

uint32_t reblocked(struct lowering *t, int32_t code, uint32_t x, const uint32_t *dims,
		   int64_t block, bool is_nchw)
{
	return EMIT(t, code, result(t, x, 4, dims), x, scalar_int(t, (int32_t)block),
		    scalar_bool(t, is_nchw));
}

uint32_t resized(struct lowering *t, int32_t code, uint32_t x, const uint32_t *dims, bool is_nchw,
		 bool align, bool half)
{
	return EMIT(t, code, result(t, x, 4, dims), x,
		    scalar_int(t, (int32_t)dims[is_nchw ? 3 : 2]),
		    scalar_int(t, (int32_t)dims[is_nchw ? 2 : 1]), scalar_bool(t, is_nchw),
		    scalar_bool(t, align), scalar_bool(t, half));
}

uint32_t interpolated(struct lowering *t, uint32_t x, const int64_t dims[3], const struct neighbours axes[2],
		      uint32_t first, uint32_t count)
{
	const struct shape lines = { 2, { dims[0] * dims[1], dims[2] } }, to = { 2, { count, dims[2] } };
	const struct shape one = { 2, { count, 1 } };
	uint32_t sum = NO_OPERAND;

	for (int i = 0; i < axes[0].count * axes[1].count; i++) {
		const int row = i / axes[1].count, column = i % axes[1].count;
		uint32_t at = with_number(t, NN(MUL), axes[0].at[row], (float)dims[1]), part;

		at = arithmetic(t, NN(ADD), at, axes[1].at[column]);
		if (first != NO_OPERAND)
			at = arithmetic(t, NN(ADD), at, first);
		at = view(t, cast(t, at, NN(TENSOR_INT32)), 1, &count);
		part = arithmetic(t, NN(MUL), axes[0].weight[row], axes[1].weight[column]);
		part = broadcast(t, NN(MUL), gathered(t, x, &lines, 0, at, count), &to, part, &one, &to);
		sum = sum == NO_OPERAND ? part : arithmetic(t, NN(ADD), sum, part);
		t->work += (uint64_t)shape_count(&to);
	}
	return sum;
}
