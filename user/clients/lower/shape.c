// SPDX-License-Identifier: MIT
/* Shapes, axes, and operations with broadcast operands. */
#include "clients/lower/reader.h"

bool shape_known(const struct shape *shape)
{
	for (int i = 0; i < shape->rank; i++)
		if (shape->dims[i] < 0)
			return false;
	return shape->rank >= 0;
}

int64_t shape_count(const struct shape *shape)
{
	int64_t count = 1;

	if (!shape_known(shape))
		return -1;
	for (int i = 0; i < shape->rank; i++) {
		if (shape->dims[i] > INT32_MAX)
			return -1;
		count *= shape->dims[i];
		if (count > INT32_MAX)
			return -1;
	}
	return count;
}

uint32_t flat(const struct shape *shape, uint32_t dims[MAX_DIMS])
{
	int lead = shape->rank > MAX_DIMS ? shape->rank - MAX_DIMS : 0;
	uint32_t rank = 0;

	dims[0] = 1;
	for (int i = 0; i < lead; i++)
		dims[0] *= (uint32_t)shape->dims[i];
	for (int i = lead; i < shape->rank; i++, rank++)
		dims[rank] = (lead && !rank ? dims[0] : 1) * (uint32_t)shape->dims[i];
	return rank ? rank : 1;
}

void around(const struct shape *shape, int axis, uint32_t dims[3])
{
	dims[0] = dims[2] = 1;
	for (int i = 0; i < axis; i++)
		dims[0] *= (uint32_t)shape->dims[i];
	dims[1] = (uint32_t)shape->dims[axis];
	for (int i = axis + 1; i < shape->rank; i++)
		dims[2] *= (uint32_t)shape->dims[i];
}

uint32_t facing(const struct shape *shape, int axis, uint32_t *rank, uint32_t dims[MAX_DIMS])
{
	*rank = 3;
	if (shape->rank > MAX_DIMS) {
		around(shape, axis, dims);
		return 1;
	}
	*rank = flat(shape, dims);
	return (uint32_t)axis;
}

int axis_of(struct lowering *t, int64_t axis, int rank)
{
	if (REFUSED_IF(t, axis < -rank || axis >= rank, "axis %lld is outside of %d dimensions",
		       (long long)axis, rank))
		return 0;
	return (int)(axis < 0 ? axis + rank : axis);
}

int64_t *ints_of_count(struct lowering *t, uint32_t index, const char *what, int64_t count)
{
	int64_t have, *ints = ints_in(t, index, &have);

	return REFUSED_IF(t, have != count, "%s has %lld elements, must be %lld", what,
			  (long long)have, (long long)count) ? NULL : ints;
}

int axis_in(struct lowering *t, uint32_t index, int rank)
{
	const int64_t *axis = ints_of_count(t, index, "the axis", 1);

	return axis ? axis_of(t, *axis, rank) : 0;
}

struct shape broadcast_shape(struct lowering *t, const struct shape *a, const struct shape *b)
{
	struct shape shape = { .rank = a->rank > b->rank ? a->rank : b->rank };

	for (int i = 1; i <= shape.rank; i++) {
		int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1;
		int64_t y = i <= b->rank ? b->dims[b->rank - i] : 1;

		if (x != 1 && y != 1)
			refuse_unless_same(t, x, y, "dimensions %lld and %lld do not fit");
		shape.dims[shape.rank - i] = x == 1 ? y : x;
	}
	return shape;
}

/*
 * Sets the shapes of both operands and of the result with as few dimensions as possible. Merges
 * adjacent dimensions that are broadcast in the same operand, or in no operand.
 */
static uint32_t merged(const struct shape *a, const struct shape *b, const struct shape *shape,
		       uint32_t *as, uint32_t *bs, uint32_t *dims, uint32_t room)
{
	uint32_t rank = 0;
	int last = -1;

	for (int i = 0; i < shape->rank; i++) {
		int ai = i - (shape->rank - a->rank), bi = i - (shape->rank - b->rank);
		uint32_t x = ai < 0 ? 1 : (uint32_t)a->dims[ai];
		uint32_t y = bi < 0 ? 1 : (uint32_t)b->dims[bi];
		int kind = x == y ? 0 : x == 1 ? 1 : 2;

		if (shape->dims[i] == 1)
			continue;
		if (kind != last) {
			if (rank == room)
				return room + 1;
			as[rank] = bs[rank] = dims[rank] = 1;
			rank++;
		}
		last = kind;
		as[rank - 1] *= x;
		bs[rank - 1] *= y;
		dims[rank - 1] *= (uint32_t)shape->dims[i];
	}
	if (!rank)
		as[0] = bs[0] = dims[0] = 1;
	return rank ? rank : 1;
}

static bool gives_bool(int32_t type)
{
	return type == NN(EQUAL) || type == NN(NOT_EQUAL) ||
	       type == NN(LESS) || type == NN(LESS_EQUAL) ||
	       type == NN(GREATER) || type == NN(GREATER_EQUAL);
}

uint32_t broadcast(struct lowering *t, int32_t type, uint32_t a, const struct shape *as,
		   uint32_t b, const struct shape *bs, const struct shape *shape)
{
	return broadcast_like(t, type, a, as, b, bs, shape, a);
}

uint32_t broadcast_like(struct lowering *t, int32_t type, uint32_t a, const struct shape *as,
			uint32_t b, const struct shape *bs, const struct shape *shape,
			uint32_t like)
{
	uint32_t adims[MAX_DIMS], bdims[MAX_DIMS], dims[MAX_DIMS], rank, out;

	if (t->refused)
		return NO_OPERAND;
	if (shape->rank <= MAX_DIMS) {
		rank = flat(shape, dims);
	} else {
		rank = merged(as, bs, shape, adims, bdims, dims, MAX_DIMS);
		if (REFUSED_IF(t, rank > MAX_DIMS, "broadcasting needs more than 4 dimensions"))
			return NO_OPERAND;
		a = view(t, a, rank, adims);
		b = view(t, b, rank, bdims);
	}
	out = gives_bool(type) ? result_type(t, NN(TENSOR_BOOL8), rank, dims) :
				 result(t, like, rank, dims);
	if (is_fused(type))
		return EMIT(t, type, out, a, b, scalar_int(t, t->fused));
	return EMIT(t, type, out, a, b);
}

uint32_t expanded(struct lowering *t, uint32_t x, const struct shape *from,
		  const struct shape *to)
{
	uint32_t as[MAX_DIMS], bs[MAX_DIMS], dims[MAX_DIMS], rank, flat_dims[MAX_DIMS];
	int32_t times[MAX_DIMS];
	bool same = true;

	if (t->refused)
		return NO_OPERAND;
	rank = merged(from, to, to, as, bs, dims, MAX_DIMS);
	if (REFUSED_IF(t, rank > MAX_DIMS, "repeating needs more than 4 dimensions"))
		return NO_OPERAND;
	for (uint32_t i = 0; i < rank; i++) {
		times[i] = (int32_t)(dims[i] / as[i]);
		same &= times[i] == 1;
	}
	if (!same) {
		x = view(t, x, rank, as);
		x = EMIT(t, NN(TILE), result(t, x, rank, dims), x,
			 vector_int(t, rank, times));
	}
	rank = flat(to, flat_dims);
	return view(t, x, rank, flat_dims);
}
