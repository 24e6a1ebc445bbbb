// SPDX-License-Identifier: MIT
/* Operators that move elements and compute nothing. */
#include "ops.h"

#include <stdlib.h>
#include <string.h>

/*
 * What is moved: 8-bit numbers where the node is between two of the same scale, and else what its
 * input is.
 */
struct moved {
	bool quantised;
	bool is_bool;			/* and x is of floats */
	uint32_t x;
};

static struct moved moved_in(struct lowering *t)
{
	struct moved m = { .quantised = quantised_node(t, 1, false) && same_quantisation(t, 0) };

	m.x = m.quantised ? quantised_in(t, 0) : in(t, 0);
	m.is_bool = type_in(t, 0) == ONNX_BOOL && !t->refused;
	if (m.is_bool)
		m.x = bool_as_float(t, m.x);
	return m;
}

static void moved_out(struct lowering *t, struct moved m, const struct shape *shape)
{
	uint32_t dims[MAX_DIMS], rank;

	if (m.is_bool) {
		rank = flat(shape, dims);
		m.x = float_as_bool(t, view(t, m.x, rank, dims));
	}
	if (m.quantised)
		set_quantised_out(t, m.x, shape);
	else
		set_out(t, 0, m.x, shape);
}

/* ---- the same elements in the same order ---- */

/* The input in another shape; of a constant a constant. */
static void viewed(struct lowering *t, const struct shape *shape)
{
	size_t size;
	const void *data = small_data_in(t, 0, &size);

	if (shape_count(shape) != shape_count(shape_in(t, 0)))
		refuse(t, "%lld elements as a shape of %lld",
		       (long long)shape_count(shape_in(t, 0)), (long long)shape_count(shape));
	if (data)
		set_out_data(t, 0, type_in(t, 0), data, shape);
	else
		moved_out(t, moved_in(t), shape);
}

void identity_op(struct lowering *t)
{
	viewed(t, shape_in(t, 0));
}

void dropout_op(struct lowering *t)
{
	const bool *training = has_in(t, 2) ? data_of_count(t, 2, ONNX_BOOL, 1) : NULL;
	int64_t count;
	void *mask;

	if (training && *training)
		refuse(t, "training");
	if (has_out(t, 1) && shape_count(shape_in(t, 0)) > 1 << 24)
		refuse(t, "a large mask as an output");
	set_out(t, 0, in(t, 0), shape_in(t, 0));
	if (t->refused || !has_out(t, 1))
		return;
	/* Nothing is dropped. */
	count = shape_count(shape_in(t, 0));
	mask = builder_alloc(t->b, (size_t)count);
	if (mask)
		memset(mask, true, (size_t)count);
	set_out_data(t, 1, ONNX_BOOL, mask, shape_in(t, 0));
}

void reshape_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	bool zero_is_zero = attr_int(t, "allowzero", 0);
	struct shape to = { 0 };
	int64_t count = 0, known = 1, all = shape_count(shape), *wanted;
	int open = -1;

	wanted = ints_of(t, 1, "shape", &count);
	if (!wanted || count > MAX_RANK) {
		refuse(t, "a shape that is not constant");
		return;
	}
	to.rank = (int)count;
	for (int i = 0; i < to.rank; i++) {
		to.dims[i] = wanted[i];
		if (wanted[i] == 0 && !zero_is_zero && i < shape->rank)
			to.dims[i] = shape->dims[i];
		if (wanted[i] == -1 && open < 0)
			open = i;
		else if (to.dims[i] <= 0 || to.dims[i] > INT32_MAX / known)
			refuse(t, "a dimension of %lld", (long long)to.dims[i]);
		else
			known *= to.dims[i];
	}
	if (t->refused)
		return;
	if (open >= 0)
		to.dims[open] = all / known;
	if (shape_count(&to) != all)
		refuse(t, "%lld elements to a shape of %lld", (long long)all,
		       (long long)shape_count(&to));
	viewed(t, &to);
}

void flatten_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t axis = attr_int(t, "axis", 1);
	struct shape to = { .rank = 2, .dims = { 1, 1 } };

	axis = axis == shape->rank ? axis : axis_of(t, axis, shape->rank);
	for (int i = 0; i < shape->rank; i++)
		to.dims[i >= axis] *= shape->dims[i];
	viewed(t, &to);
}

/* Squeeze and Unsqueeze. */
void squeeze_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	bool marked[2 * MAX_RANK] = { false }, adds = is_node(t, "Unsqueeze");
	struct shape to = { 0 };
	int64_t count = 0, *axes = ints_of(t, 1, "axes", &count);
	int rank = adds ? shape->rank + (int)count : shape->rank;

	if (rank > MAX_RANK || count > MAX_RANK || (adds && !axes))
		refuse(t, "%d dimensions", rank);
	for (int64_t i = 0; !t->refused && i < count; i++)
		marked[axis_of(t, axes[i], rank)] = true;
	for (int i = 0; !t->refused && !axes && i < rank; i++)
		marked[i] = shape->dims[i] == 1;
	if (t->refused)
		return;
	for (int i = 0, from = 0; i < rank; i++) {
		if (adds) {
			if (!marked[i] && from >= shape->rank) {
				refuse(t, "an axis twice");
				return;
			}
			to.dims[to.rank++] = marked[i] ? 1 : shape->dims[from++];
		} else if (!marked[i]) {
			to.dims[to.rank++] = shape->dims[i];
		}
	}
	viewed(t, &to);
}

/* ---- another order ---- */

/* Dimensions that stay neighbours are one, and those of 1 are none. */
static uint32_t turned(struct lowering *t, uint32_t x, const struct shape *shape,
		       const int *order)
{
	int groups[MAX_RANK], rank = 0, perm[MAX_DIMS], place[MAX_RANK];
	uint32_t dims[MAX_DIMS] = { 1, 1, 1, 1 };
	int last = -2;

	/* The group of each dimension, in the order of the result. */
	for (int i = 0; i < shape->rank; i++) {
		int d = order[i];

		groups[d] = -1;
		if (shape->dims[d] == 1)
			continue;
		/* Dimensions of 1 between two do not part them. */
		while (last >= 0 && last + 1 < d && shape->dims[last + 1] == 1)
			last++;
		if (d != last + 1 || last < 0)
			rank++;
		groups[d] = rank - 1;
		last = d;
	}
	if (rank > MAX_DIMS) {
		refuse(t, "a permutation of %d dimensions", rank);
		return NO_OPERAND;
	}
	/* The order of groups in the input. */
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
		perm[i] = place[i];
	return transposed(t, view(t, x, (uint32_t)rank, dims), (uint32_t)rank, perm);
}

void transpose_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const struct attribute *perm = attr(t, "perm");
	int order[MAX_RANK];
	struct shape to = *shape;
	struct moved m;
	unsigned int seen = 0;

	for (int i = 0; i < shape->rank; i++) {
		order[i] = shape->rank - 1 - i;
		if (perm && perm->ints && perm->count == (size_t)shape->rank)
			order[i] = axis_of(t, perm->ints[i], shape->rank);
		seen |= 1u << order[i];
		to.dims[i] = shape->dims[order[i]];
	}
	if (seen != (1u << shape->rank) - 1)
		refuse(t, "an axis twice");
	m = moved_in(t);
	m.x = t->refused ? NO_OPERAND : turned(t, m.x, shape, order);
	moved_out(t, m, &to);
}

static void space_op(struct lowering *t, int32_t type, bool grows)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t block = attr_int(t, "blocksize", 0), area;
	struct shape to = *shape;
	struct moved m;
	uint32_t dims[4];

	if (!t->refused && (shape->rank != 4 || block < 1 || block > 1 << 12))
		refuse(t, "blocks of %lld in %d dimensions", (long long)block, shape->rank);
	if (t->refused)
		return;
	area = block * block;
	if (grows ? shape->dims[1] % area : shape->dims[2] % block || shape->dims[3] % block) {
		refuse(t, "blocks of %lld that do not fit", (long long)block);
		return;
	}
	to.dims[1] = grows ? shape->dims[1] / area : shape->dims[1] * area;
	to.dims[2] = grows ? shape->dims[2] * block : shape->dims[2] / block;
	to.dims[3] = grows ? shape->dims[3] * block : shape->dims[3] / block;
	flat(&to, dims);
	m = moved_in(t);
	m.x = EMIT(t, type, result(t, m.x, 4, dims), m.x, scalar_int(t, (int32_t)block),
		   scalar_bool(t, true));
	moved_out(t, m, &to);
}

/* Channels [C, b, b] in that order: the two blocks are turned one after the other. */
static void depth_column_row(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t block = attr_int(t, "blocksize", 0);
	struct shape to = *shape;
	uint32_t n, b, h, w;
	struct moved m;

	if (!t->refused && (shape->rank != 4 || block < 1 || block > 1 << 12 ||
			    shape->dims[1] % (block * block)))
		refuse(t, "blocks of %lld", (long long)block);
	if (t->refused)
		return;
	b = (uint32_t)block;
	to.dims[1] = shape->dims[1] / (block * block);
	to.dims[2] *= block;
	to.dims[3] *= block;
	n = (uint32_t)(shape->dims[0] * to.dims[1]);
	h = (uint32_t)shape->dims[2];
	w = (uint32_t)shape->dims[3];
	m = moved_in(t);
	m.x = view(t, m.x, 3, (uint32_t[]){ n * b, b, h * w });
	m.x = transposed(t, m.x, 3, (int[]){ 0, 2, 1 });
	m.x = view(t, m.x, 4, (uint32_t[]){ n, b, h, w * b });
	m.x = transposed(t, m.x, 4, (int[]){ 0, 2, 1, 3 });
	moved_out(t, m, &to);
}

void depth_to_space_op(struct lowering *t)
{
	if (!strcmp(attr_string(t, "mode", "DCR"), "CRD"))
		depth_column_row(t);
	else
		space_op(t, NN(DEPTH_TO_SPACE), true);
}

void space_to_depth_op(struct lowering *t)
{
	space_op(t, NN(SPACE_TO_DEPTH), false);
}

/* ---- parts ---- */

/*
 * The same of an axis of an operand: four dimensions stay, as those of an image are turned
 * with it. Returns where the axis is then.
 */
static uint32_t seen(const struct shape *shape, int axis, uint32_t *rank, uint32_t dims[MAX_DIMS])
{
	*rank = 3;
	if (shape->rank != MAX_DIMS) {
		around(shape, axis, dims);
		return 1;
	}
	*rank = flat(shape, dims);
	return (uint32_t)axis;
}

/* Elements `begin`, `begin` + `step`, ... of an axis. */
static uint32_t taken(struct lowering *t, uint32_t x, const struct shape *shape, int axis,
		      int64_t begin, int64_t step, int64_t count)
{
	uint32_t dims[MAX_DIMS], rank, at = seen(shape, axis, &rank, dims), from = dims[at], out;
	int32_t *indices;

	x = view(t, x, rank, dims);
	dims[at] = (uint32_t)count;
	if (step == 1 && count == from)
		return x;
	if (step == 1) {
		int32_t first[MAX_DIMS] = { 0 }, size[MAX_DIMS];

		for (uint32_t i = 0; i < rank; i++)
			size[i] = (int32_t)dims[i];
		first[at] = (int32_t)begin;
		return EMIT(t, NN(SLICE), result(t, x, rank, dims), x,
			    vector_int(t, rank, first), vector_int(t, rank, size));
	}
	indices = malloc((size_t)count * sizeof(*indices));
	if (!indices) {
		refuse(t, "there is no memory");
		return NO_OPERAND;
	}
	for (int64_t i = 0; i < count; i++)
		indices[i] = (int32_t)(begin + i * step);
	out = EMIT(t, NN(GATHER), result(t, x, rank, dims), x, scalar_int(t, (int32_t)at),
		   vector_int(t, (uint32_t)count, indices));
	free(indices);
	return out;
}

struct range {
	int axis;
	int64_t begin, end, step;
	int64_t count;			/* elements, once it is cut */
};

/* What ONNX makes of numbers outside: counted from the end, then cut. */
static int64_t cut(int64_t at, int64_t size, int64_t low, int64_t high)
{
	if (at < 0)
		at += size;
	return at < low ? low : at > high ? high : at;
}

/* Cuts a range to what there is; false: that is nothing. */
static bool cut_range(struct lowering *t, const struct shape *shape, struct range *range)
{
	int64_t size = shape->dims[range->axis], step = range->step;

	if (!step || step < INT32_MIN || step > INT32_MAX) {
		refuse(t, "a step of %lld", (long long)step);
		return false;
	}
	if (step > 0) {
		range->begin = cut(range->begin, size, 0, size);
		range->end = cut(range->end, size, 0, size);
		range->count = range->end > range->begin ?
			       (range->end - range->begin - 1) / step + 1 : 0;
	} else {
		range->begin = cut(range->begin, size, 0, size - 1);
		range->end = cut(range->end, size, -1, size - 1);
		range->count = range->begin > range->end ?
			       (range->begin - range->end - 1) / -step + 1 : 0;
	}
	if (!range->count)
		refuse(t, "a part without elements");
	return range->count;
}

static uint32_t sliced(struct lowering *t, uint32_t x, struct shape *shape,
		       const struct range *range)
{
	const struct shape from = *shape;

	shape->dims[range->axis] = range->count;
	return taken(t, x, &from, range->axis, range->begin, range->count == 1 ? 1 : range->step,
		     range->count);
}

static bool folded_slice(struct lowering *t, const void **data, struct shape *shape,
			 const struct range *range)
{
	int64_t *at = builder_alloc(t->b, (size_t)range->count * sizeof(*at));

	for (int64_t i = 0; at && i < range->count; i++)
		at[i] = range->begin + i * range->step;
	return at && folded_picks(t, range->axis, at, range->count, data, shape);
}

void slice_op(struct lowering *t)
{
	struct shape shape = *shape_in(t, 0);
	int64_t count = 0, ends = 0, axis_count = 0, step_count = 0;
	int64_t *begin = ints_of(t, 1, "starts", &count), *end = ints_of(t, 2, "ends", &ends);
	int64_t *axes = ints_of(t, 3, "axes", &axis_count), *steps = NULL;
	const void *data;
	struct moved m;
	size_t size;

	if (has_in(t, 4))
		steps = ints_in(t, 4, &step_count);
	if (!begin || !end || count != ends || count > shape.rank ||
	    (axes && axis_count != count) || (steps && step_count != count)) {
		refuse(t, "bounds that are not constant");
		return;
	}
	data = small_data_in(t, 0, &size);
	m = data ? (struct moved){ 0 } : moved_in(t);
	for (int64_t i = 0; !t->refused && i < count; i++) {
		struct range range = {
			.axis = axis_of(t, axes ? axes[i] : i, shape.rank),
			.begin = begin[i],
			.end = end[i],
			.step = steps ? steps[i] : 1,
		};

		if (!cut_range(t, &shape, &range))
			return;
		if (!data)
			m.x = sliced(t, m.x, &shape, &range);
		else if (!folded_slice(t, &data, &shape, &range))
			return;
	}
	if (data)
		set_out_data(t, 0, type_in(t, 0), data, &shape);
	else
		moved_out(t, m, &shape);
}

void split_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	int64_t count = 0, at = 0, size, part, *parts = ints_of(t, 1, "split", &count);
	uint32_t x = in(t, 0);

	if (parts && count != out_count(t))
		refuse(t, "%lld parts in %u outputs", (long long)count, out_count(t));
	if (t->refused)
		return;
	size = shape->dims[axis];
	part = (size + out_count(t) - 1) / out_count(t);
	for (uint32_t i = 0; !t->refused && i < out_count(t); i++) {
		struct shape to = *shape;

		to.dims[axis] = parts ? parts[i] : size - at < part ? size - at : part;
		if (to.dims[axis] <= 0 || to.dims[axis] > size - at) {
			refuse(t, "a part without elements");
			return;
		}
		if (has_out(t, i))
			set_out(t, i, taken(t, x, shape, axis, at, 1, to.dims[axis]), &to);
		at += to.dims[axis];
	}
}

/* Indices that may count from the end, as those that do not. */
static uint32_t indices_in(struct lowering *t, int64_t size)
{
	const struct shape *shape = shape_in(t, 1);
	struct operand type = { .type = NN(TENSOR_INT32) };
	uint32_t x, negative, rank, dims[MAX_DIMS];
	int64_t count, *constants;

	rank = flat(shape, dims);
	if (constant_count(t, 1) >= 0) {
		int32_t *narrow;

		constants = ints_in(t, 1, &count);
		narrow = constants ? builder_alloc(t->b, (size_t)count * sizeof(*narrow)) : NULL;
		for (int64_t i = 0; narrow && constants && i < count; i++) {
			if (constants[i] < -size || constants[i] >= size)
				refuse(t, "index %lld of %lld", (long long)constants[i],
				       (long long)size);
			narrow[i] = (int32_t)(constants[i] < 0 ? constants[i] + size :
								 constants[i]);
		}
		type.rank = rank;
		memcpy(type.dims, dims, sizeof(dims));
		return constant_bytes(t, &type, narrow);
	}
	x = in(t, 1);
	if (operand_of(t, x)->type != NN(TENSOR_INT32))
		refuse(t, "indices of %s", onnx_name(type_in(t, 1)));
	negative = EMIT(t, NN(LESS), result_type(t, NN(TENSOR_BOOL8), rank, dims), x,
			number(t, x, 0));
	return EMIT(t, NN(SELECT), result(t, x, rank, dims), negative,
		    arithmetic(t, NN(ADD), x, constant(t, x, 1, (uint32_t[]){ 1 },
						       &(float){ (float)size })), x);
}

/* Of a constant by constant indices. */
static bool folded_gather(struct lowering *t, int axis, const struct shape *to)
{
	struct shape shape = *shape_in(t, 0);
	int64_t count, *at;
	size_t size;
	const void *data = small_data_in(t, 0, &size);

	if (!data || constant_count(t, 1) < 0)
		return false;
	at = ints_in(t, 1, &count);
	for (int64_t i = 0; at && i < count; i++) {
		if (at[i] < -shape.dims[axis] || at[i] >= shape.dims[axis])
			return false;
		at[i] += at[i] < 0 ? shape.dims[axis] : 0;
	}
	if (!at || !folded_picks(t, axis, at, count, &data, &shape))
		return false;
	set_out_data(t, 0, type_in(t, 0), data, to);
	return true;
}

void gather_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *indices = shape_in(t, 1);
	int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	struct shape to = { 0 };
	uint32_t dims[3], at;
	struct moved m;
	int64_t count = shape_count(indices);

	if (shape->rank + indices->rank - 1 > MAX_RANK || count <= 0 ||
	    (shape->rank && shape->dims[axis] >= 1 << 24))
		refuse(t, "indices of %d dimensions", indices->rank);
	if (t->refused)
		return;
	for (int i = 0; i < axis; i++)
		to.dims[to.rank++] = shape->dims[i];
	for (int i = 0; i < indices->rank; i++)
		to.dims[to.rank++] = indices->dims[i];
	for (int i = axis + 1; i < shape->rank; i++)
		to.dims[to.rank++] = shape->dims[i];
	if (folded_gather(t, axis, &to))
		return;
	around(shape, axis, dims);
	at = view(t, indices_in(t, shape->dims[axis]), 1, (uint32_t[]){ (uint32_t)count });
	m = moved_in(t);
	m.x = view(t, m.x, 3, dims);
	dims[1] = (uint32_t)count;
	m.x = EMIT(t, NN(GATHER), result(t, m.x, 3, dims), m.x, scalar_int(t, 1), at);
	moved_out(t, m, &to);
}

/* ---- more ---- */

/* Constants one after the other. */
static bool folded_concat(struct lowering *t, int axis)
{
	struct shape to = *shape_in(t, 0);
	size_t size = 0, row = 0, at = 0, outer = 1;
	char *data;

	to.dims[axis] = 0;
	for (uint32_t i = 0; i < in_count(t); i++) {
		const struct shape *shape = shape_in(t, i);

		if (!small_data_in(t, i, &size) || shape->rank != to.rank)
			return false;
		for (int d = 0; d < to.rank; d++)
			if (d != axis && shape->dims[d] != to.dims[d])
				return false;
		to.dims[axis] += shape->dims[axis];
		/* Many small ones are large, and may be more than can be counted. */
		if (type_in(t, i) != type_in(t, 0) || shape_count(&to) < 0 ||
		    shape_count(&to) > MOST_FOLDED)
			return false;
	}
	for (int d = 0; d < axis; d++)
		outer *= (size_t)to.dims[d];
	row = (size_t)shape_count(&to) / outer * size;
	data = builder_alloc(t->b, row * outer);
	for (uint32_t i = 0; data && i < in_count(t); i++) {
		const char *from = small_data_in(t, i, &size);
		size_t part = (size_t)shape_count(shape_in(t, i)) / outer * size;

		for (size_t o = 0; o < outer; o++)
			memcpy(data + o * row + at, from + o * part, part);
		at += part;
	}
	set_out_data(t, 0, type_in(t, 0), data, &to);
	return data;
}

void concat_op(struct lowering *t)
{
	uint32_t count = in_count(t), *ins = calloc(count + 1, sizeof(*ins));
	uint32_t dims[MAX_DIMS], rank, at, out;
	const struct shape *first = shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", 1), first->rank);
	bool quantised = count && quantised_node(t, count, false);
	struct shape to = *first;

	if (!ins || !first->rank || (!t->refused && folded_concat(t, axis))) {
		if (!first->rank)
			refuse(t, "of a scalar");
		free(ins);
		return;
	}
	to.dims[axis] = 0;
	for (uint32_t i = 0; !t->refused && i < count; i++) {
		const struct shape *shape = shape_in(t, i);

		if (shape->rank != to.rank) {
			refuse(t, "of different ranks");
			break;
		}
		for (int d = 0; d < to.rank; d++)
			if (d != axis && shape->dims[d] != to.dims[d])
				refuse(t, "dimensions of %lld and %lld", (long long)to.dims[d],
				       (long long)shape->dims[d]);
		to.dims[axis] += shape->dims[axis];
		seen(shape, axis, &rank, dims);
		ins[i] = quantised ? quantised_in(t, i) : in(t, i);
		if (type_in(t, i) == ONNX_BOOL && !t->refused)
			ins[i] = bool_as_float(t, ins[i]);
		ins[i] = view(t, ins[i], rank, dims);
		if (!t->refused && !quantised && is_quant8(t, ins[i]) &&
		    (operand_of(t, ins[i])->scale != operand_of(t, ins[0])->scale ||
		     operand_of(t, ins[i])->zero != operand_of(t, ins[0])->zero))
			refuse(t, "8-bit inputs of two scales");
	}
	if (!t->refused) {
		at = seen(&to, axis, &rank, dims);
		out = quantised ? quantised_result(t, rank, dims) :
				  result(t, ins[0], rank, dims);
		ins[count] = scalar_int(t, (int32_t)at);
		out = emit(t, NN(CONCATENATION), out, count + 1, ins);
		if (type_in(t, 0) == ONNX_BOOL && !t->refused)
			out = float_as_bool(t, out);
		if (quantised)
			set_quantised_out(t, out, &to);
		else
			set_out(t, 0, out, &to);
	}
	free(ins);
}

void expand_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	struct shape wanted = { 0 }, to;
	int64_t count = 0, *dims = ints_in(t, 1, &count);
	struct moved m;

	if (!dims || count > MAX_RANK) {
		refuse(t, "a shape that is not constant");
		return;
	}
	wanted.rank = (int)count;
	for (int i = 0; i < wanted.rank; i++)
		wanted.dims[i] = dims[i];
	to = broadcast_shape(t, shape, &wanted);
	if (shape_count(&to) <= 0)
		refuse(t, "a shape without elements");
	m = moved_in(t);
	m.x = expanded(t, m.x, shape, &to);
	moved_out(t, m, &to);
}

void tile_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t count = 0, *times = ints_in(t, 1, &count);
	struct shape to = *shape;
	int32_t repeats[MAX_DIMS] = { 1 };
	uint32_t dims[MAX_DIMS], rank;

	if (!times || count != shape->rank)
		refuse(t, "repeats that are not constant");
	if (shape->rank > MAX_DIMS)
		refuse(t, "more than four dimensions");
	for (int i = 0; !t->refused && i < shape->rank; i++) {
		if (times[i] < 1 || times[i] > INT32_MAX) {
			refuse(t, "%lld times", (long long)times[i]);
			return;
		}
		repeats[i] = (int32_t)times[i];
		to.dims[i] *= times[i];
	}
	if (!t->refused && shape_count(&to) <= 0)
		refuse(t, "more than 2^31 elements");
	if (t->refused)
		return;
	rank = flat(&to, dims);
	set_out(t, 0, EMIT(t, NN(TILE), result(t, in(t, 0), rank, dims), in(t, 0),
			   vector_int(t, rank, repeats)), &to);
}

/* The constant that is around; 0 where none is given. */
static bool pad_value(struct lowering *t, float *value)
{
	int64_t count;
	float *given;

	*value = attr_float(t, "value", 0);
	if (!has_in(t, 2))
		return true;
	if (type_in(t, 2) != ONNX_FLOAT && type_in(t, 2) != ONNX_FLOAT16) {
		refuse(t, "of %s", onnx_name(type_in(t, 2)));
		return false;
	}
	given = floats_in(t, 2, &count);
	if (!given || count != 1) {
		refuse(t, "a value that is not constant");
		return false;
	}
	*value = *given;
	return true;
}

/* Amounts per axis, before and after; those not named are 0. */
static bool read_pads(struct lowering *t, const struct shape *shape, struct shape *to,
		      int32_t *pads)
{
	int64_t count = 0, axis_count = 0, *given = ints_of(t, 1, "pads", &count), *axes = NULL;

	if (has_in(t, 3))
		axes = ints_in(t, 3, &axis_count);
	if (!given || shape->rank > MAX_DIMS || count != 2 * (axes ? axis_count : shape->rank) ||
	    axis_count > shape->rank) {
		refuse(t, "amounts that are not constant, or more than four dimensions");
		return false;
	}
	memset(pads, 0, 2 * MAX_DIMS * sizeof(*pads));
	for (int64_t i = 0; i < count / 2; i++) {
		int axis = axes ? axis_of(t, axes[i], shape->rank) : (int)i;
		int64_t before = given[i], after = given[count / 2 + i];

		if (before < 0 || after < 0 || before > 1 << 24 || after > 1 << 24) {
			refuse(t, "negative amounts");
			return false;
		}
		pads[2 * axis] = (int32_t)before;
		pads[2 * axis + 1] = (int32_t)after;
		to->dims[axis] = shape->dims[axis] + before + after;
	}
	return !t->refused;
}

void pad_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const char *mode = attr_string(t, "mode", "constant");
	struct shape to = *shape;
	struct operand type = { .type = NN(TENSOR_INT32), .rank = 2, .dims = { 0, 2 } };
	int32_t *pads = builder_alloc(t->b, 2 * MAX_DIMS * sizeof(*pads));
	uint32_t dims[MAX_DIMS], rank, amounts;
	struct moved m;
	float value = 0;

	if (!pads || !read_pads(t, shape, &to, pads))
		return;
	if (!shape->rank)
		refuse(t, "of a scalar");
	if (strcmp(mode, "constant") && strcmp(mode, "reflect"))
		refuse(t, "mode %s", mode);
	rank = flat(&to, dims);
	type.dims[0] = rank;
	amounts = constant_bytes(t, &type, pads);
	if (!strcmp(mode, "reflect")) {
		for (int i = 0; i < shape->rank; i++)
			if (pads[2 * i] >= shape->dims[i] || pads[2 * i + 1] >= shape->dims[i])
				refuse(t, "a reflection wider than what it is of");
		m = moved_in(t);
		m.x = EMIT(t, NN(MIRROR_PAD), result(t, m.x, rank, dims), m.x, amounts,
			   scalar_int(t, 0));
	} else {
		if (!pad_value(t, &value))
			return;
		m = value == 0 ? moved_in(t) : (struct moved){ .x = in(t, 0) };
		if (!m.quantised && is_quant8(t, m.x))
			refuse(t, "of %s", onnx_name(type_in(t, 0)));
		if (value == 0)
			m.x = EMIT(t, NN(PAD), result(t, m.x, rank, dims), m.x, amounts);
		else
			m.x = EMIT(t, NN(PAD_V2), result(t, m.x, rank, dims), m.x, amounts,
				   scalar_float(t, m.x, value));
	}
	moved_out(t, m, &to);
}

/* ---- types ---- */

static void cast_bool(struct lowering *t, uint32_t x, int32_t type, const struct shape *shape)
{
	const struct operand *operand = operand_of(t, x);
	uint32_t rank = operand->rank, dims[MAX_DIMS], like;

	memcpy(dims, operand->dims, sizeof(dims));
	like = result_type(t, type, rank, dims);
	if (is_quant8(t, like))
		refuse(t, "of bool to 8 bits");
	set_out(t, 0, EMIT(t, NN(SELECT), like, x, filled(t, like, rank, dims, 1),
			   filled(t, like, rank, dims, 0)), shape);
}

void cast_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t x = in(t, 0), out, rank = operand_of(t, x)->rank, dims[MAX_DIMS];
	int from = type_in(t, 0), to = type_out(t, 0);
	int32_t type = nnapi_type(to);

	memcpy(dims, operand_of(t, x)->dims, sizeof(dims));
	if (type < 0)
		refuse(t, "to %s", onnx_name(to));
	if (t->refused)
		return;
	if (folded_cast(t))
		return;
	if (type == operand_of(t, x)->type) {
		set_out(t, 0, x, shape);
		return;
	}
	if (from == ONNX_BOOL) {
		cast_bool(t, x, type, shape);
		return;
	}
	if (is_quant8(t, x) && (operand_of(t, x)->scale != 1 || operand_of(t, x)->zero))
		refuse(t, "of 8-bit numbers that have a scale");
	if (to == ONNX_BOOL) {
		out = result_type(t, NN(TENSOR_BOOL8), rank, dims);
		if (is_quant8(t, x))
			refuse(t, "of 8 bits to bool");
		set_out(t, 0, EMIT(t, NN(NOT_EQUAL), out, x, number(t, x, 0)), shape);
		return;
	}
	if (is_float(t, x) && (to == ONNX_INT64 || to == ONNX_UINT8 || to == ONNX_INT8))
		refuse(t, "of %s to %s, which may not fit", onnx_name(from), onnx_name(to));
	if (to == ONNX_UINT8 || to == ONNX_INT8)
		refuse(t, "of %s to %s, which wraps in ONNX", onnx_name(from), onnx_name(to));
	out = result_type(t, type, rank, dims);
	if (from == ONNX_INT8 && (to == ONNX_FLOAT || to == ONNX_FLOAT16)) {
		set_out(t, 0, EMIT(t, NN(DEQUANTIZE), out, x), shape);
		return;
	}
	if (from == ONNX_INT8)
		refuse(t, "of int8 to %s", onnx_name(to));
	set_out(t, 0, EMIT(t, NN(CAST), out, x), shape);
}
