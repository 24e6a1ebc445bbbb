// SPDX-License-Identifier: MIT
/* Operators that move elements without computing. */
#include "ops.h"

#include <string.h>

struct moved moved_in(struct lowering *t)
{
	struct moved m = { .quantised = quantised_node(t, 1, false) && same_quantisation(t, 0) };

	m.x = m.quantised ? quantised_in(t, 0) : in(t, 0);
	m.is_bool = type_in(t, 0) == ONNX_BOOL && !t->refused;
	if (m.is_bool)
		m.x = bool_as_float(t, m.x);
	return m;
}

void moved_out(struct lowering *t, struct moved m, const struct shape *shape)
{
	if (m.is_bool)
		m.x = float_as_bool(t, view_shape(t, m.x, shape));
	if (m.quantised)
		set_quantised_out(t, m.x, shape);
	else
		set_out(t, 0, m.x, shape);
}

/*
 * If input 0 has no elements, such as the past before the first step of a generation, sets an output
 * of shape `shape` to a constant without elements. Returns whether input 0 has no elements.
 */
static bool set_empty(struct lowering *t, uint32_t index, const struct shape *shape)
{
	if (t->refused || shape_count(any_shape_in(t, 0)))
		return false;
	set_out_data(t, index, type_in(t, 0), "", shape);
	return true;
}

/* ---- the same elements in the same order ---- */

/*
 * Sets output 0 to the elements of input 0 in the shape `shape`. If input 0 is a small constant,
 * output 0 is also constant.
 */
static void viewed(struct lowering *t, const struct shape *shape)
{
	size_t size;
	const void *data = small_data_in(t, 0, &size);

	if (set_empty(t, 0, shape))
		return;
	if (shape_count(shape) != shape_count(shape_in(t, 0)))
		refuse(t, "%lld elements do not fit a shape of %lld",
		       (long long)shape_count(shape_in(t, 0)), (long long)shape_count(shape));
	if (data)
		set_out_data(t, 0, type_in(t, 0), data, shape);
	else
		moved_out(t, moved_in(t), shape);
}

void identity_op(struct lowering *t)
{
	viewed(t, any_shape_in(t, 0));
}

void dropout_op(struct lowering *t)
{
	const bool *training = has_in(t, 2) ? data_of_count(t, 2, ONNX_BOOL, 1) : NULL;
	int64_t count;
	void *mask;

	if (training && *training)
		refuse(t, "training is not supported");
	if (has_out(t, 1) && shape_count(shape_in(t, 0)) > 1 << 24)
		refuse(t, "a mask of more than 2^24 elements is not supported");
	set_out(t, 0, in(t, 0), shape_in(t, 0));
	if (t->refused || !has_out(t, 1))
		return;
	/* Dropout drops no elements in inference, so the mask output consists of ones. */
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
	if (!wanted || count > MAX_RANK)
		return refuse(t, "the shape must be constant, of at most 8 dimensions");
	to.rank = (int)count;
	for (int i = 0; i < to.rank; i++) {
		to.dims[i] = wanted[i];
		if (wanted[i] == 0 && !zero_is_zero && i < shape->rank)
			to.dims[i] = shape->dims[i];
		if (wanted[i] == -1 && open < 0)
			open = i;
		else if (to.dims[i] <= 0 || to.dims[i] > INT32_MAX / known)
			refuse(t, "dimension %lld is not 1 to 2^31-1", (long long)to.dims[i]);
		else
			known *= to.dims[i];
	}
	if (t->refused)
		return;
	if (open >= 0)
		to.dims[open] = all / known;
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

/* Translates Squeeze and Unsqueeze. */
void squeeze_op(struct lowering *t)
{
	const struct shape *shape = any_shape_in(t, 0);
	bool marked[2 * MAX_RANK] = { false }, adds = is_node(t, "Unsqueeze");
	struct shape to = { 0 };
	int64_t count = 0, *axes = ints_of(t, 1, "axes", &count);
	int rank = adds ? shape->rank + (int)count : shape->rank;

	if (rank > MAX_RANK || count > MAX_RANK || (adds && !axes))
		refuse(t, "%d dimensions, must be at most 8", rank);
	for (int64_t i = 0; !t->refused && i < count; i++)
		marked[axis_of(t, axes[i], rank)] = true;
	/* Squeeze without axes, or with an empty list of axes, removes all dimensions of size 1. */
	for (int i = 0; !t->refused && !adds && !count && i < rank; i++)
		marked[i] = shape->dims[i] == 1;
	if (t->refused)
		return;
	for (int i = 0, from = 0; i < rank; i++) {
		if (adds) {
			if (!marked[i] && from >= shape->rank)
				return refuse(t, "an axis is listed twice");
			to.dims[to.rank++] = marked[i] ? 1 : shape->dims[from++];
		} else if (!marked[i]) {
			to.dims[to.rank++] = shape->dims[i];
		}
	}
	viewed(t, &to);
}

/* ---- transposition ---- */

void transpose_op(struct lowering *t)
{
	const struct shape *shape = any_shape_in(t, 0);
	const struct attribute *perm = attr(t, "perm");
	int order[MAX_RANK];
	struct shape to = *shape;
	struct moved m;

	for (int i = 0; i < shape->rank; i++) {
		order[i] = shape->rank - 1 - i;
		if (perm && perm->ints && perm->count == (size_t)shape->rank)
			order[i] = axis_of(t, perm->ints[i], shape->rank);
		to.dims[i] = shape->dims[order[i]];
	}
	if (set_empty(t, 0, &to) || folded_transpose(t, order, &to))
		return;
	m = moved_in(t);
	m.x = t->refused ? NO_OPERAND : permuted(t, m.x, shape, order);
	moved_out(t, m, &to);
}

void space_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const bool grows = t->code == NN(DEPTH_TO_SPACE);
	const int64_t block = attr_int(t, "blocksize", 0);
	struct shape to = *shape;
	uint32_t dims[4];
	struct moved m;
	int64_t area;

	if (REFUSED_IF(t, shape->rank != 4 || block < 1 || block > 1 << 12,
		       "blocks of %lld in %d dimensions, must be 1 to 4096 in 4", (long long)block,
		       shape->rank))
		return;
	area = block * block;
	if (REFUSED_IF(t, grows ? shape->dims[1] % area : shape->dims[2] % block || shape->dims[3] % block,
		       "blocks of %lld must divide the dimensions", (long long)block))
		return;
	to.dims[1] = grows ? shape->dims[1] / area : shape->dims[1] * area;
	to.dims[2] = grows ? shape->dims[2] * block : shape->dims[2] / block;
	to.dims[3] = grows ? shape->dims[3] * block : shape->dims[3] / block;
	flat(&to, dims);
	m = moved_in(t);
	if (!strcmp(attr_string(t, "mode", "DCR"), "CRD")) {
		/*
		 * The channels are [C, b, b]: move the second b behind the width, then the first b
		 * behind the height.
		 */
		const uint32_t b = (uint32_t)block, n = dims[0] * dims[1];
		const uint32_t h = (uint32_t)shape->dims[2], w = (uint32_t)shape->dims[3];

		m.x = view(t, m.x, 3, (uint32_t[]){ n * b, b, h * w });
		m.x = transposed(t, m.x, 3, (int[]){ 0, 2, 1 });
		m.x = view(t, m.x, 4, (uint32_t[]){ n, b, h, w * b });
		m.x = transposed(t, m.x, 4, (int[]){ 0, 2, 1, 3 });
	} else {
		m.x = reblocked(t, t->code, m.x, dims, block, true);
	}
	moved_out(t, m, &to);
}

/* ---- parts ---- */

static bool folded_slice(struct lowering *t, const void **data, struct shape *shape, int axis,
			 const struct range *range)
{
	int64_t *at = builder_alloc(t->b, (size_t)range->count * sizeof(*at));

	for (int64_t i = 0; at && i < range->count; i++)
		at[i] = range->begin + i * range->step;
	return at && folded_picks(t, axis, at, range->count, data, shape);
}

/* Returns whether a range has no elements, such as the dimensions of a vector behind its first one. */
static bool is_empty(const struct range *range, int64_t size)
{
	const int64_t begin = range->begin < 0 ? range->begin + size : range->begin;
	const int64_t end = range->end < 0 ? range->end + size : range->end;

	return range->step > 0 && (end <= 0 || begin >= size || end <= begin);
}

void slice_op(struct lowering *t)
{
	const struct shape *from = shape_in(t, 0);
	struct shape shape = *from;
	int64_t count = 0, ends = 0, axis_count = 0, step_count = 0;
	int64_t *begin = ints_of(t, 1, "starts", &count), *end = ints_of(t, 2, "ends", &ends);
	int64_t *axes = ints_of(t, 3, "axes", &axis_count), *steps = NULL;
	struct range ranges[MAX_RANK];
	const void *data;
	struct moved m;
	size_t size;

	if (has_in(t, 4))
		steps = ints_in(t, 4, &step_count);
	if (!begin || !end || count != ends || count > shape.rank ||
	    (axes && axis_count != count) || (steps && step_count != count))
		return refuse(t, "starts, ends, axes and steps must be constant, of one length");
	data = small_data_in(t, 0, &size);
	for (int i = 0; i < from->rank; i++)
		ranges[i] = (struct range){ 0, from->dims[i], 1, from->dims[i] };
	for (int64_t i = 0; !t->refused && i < count; i++) {
		int axis = axis_of(t, axes ? axes[i] : i, from->rank);
		struct range *range = &ranges[axis];

		*range = (struct range){ begin[i], end[i], steps ? steps[i] : 1, 0 };
		if (data && from->rank == 1 && is_empty(range, from->dims[0]))
			return set_out_data(t, 0, type_in(t, 0), "", &(struct shape){ 1, { 0 } });
		if (!cut_range(t, from->dims[axis], range) ||
		    (data && !folded_slice(t, &data, &shape, axis, range)))
			return;
		shape.dims[axis] = range->count;
	}
	if (data)
		return set_out_data(t, 0, type_in(t, 0), data, &shape);
	m = moved_in(t);
	m.x = ranged(t, m.x, from, ranges);
	moved_out(t, m, &shape);
}

void split_op(struct lowering *t)
{
	const struct shape *shape = any_shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	int64_t count = 0, at = 0, size, part, *parts = ints_of(t, 1, "split", &count);
	size_t bytes;
	const void *data = small_data_in(t, 0, &bytes), *piece;
	uint32_t x = shape_count(shape) ? in(t, 0) : NO_OPERAND;

	if (REFUSED_IF(t, parts && count != out_count(t), "split lists %lld parts, must be %u",
		       (long long)count, out_count(t)))
		return;
	size = shape->dims[axis];
	part = (size + out_count(t) - 1) / out_count(t);
	for (uint32_t i = 0; !t->refused && i < out_count(t); i++) {
		struct shape to = *shape, whole = *shape;

		to.dims[axis] = parts ? parts[i] : size - at < part ? size - at : part;
		if (to.dims[axis] <= 0 || to.dims[axis] > size - at)
			return refuse(t, "a part is empty, or larger than the rest");
		piece = data;
		if (!has_out(t, i) || set_empty(t, i, &to))
			;
		else if (data && folded_slice(t, &piece, &whole, axis, &(struct range){ at, 0, 1, to.dims[axis] }))
			set_out_data(t, i, type_in(t, 0), piece, &to);
		else
			set_out(t, i, taken(t, x, shape, axis, at, to.dims[axis]), &to);
		at += to.dims[axis];
	}
}

/* Converts indices that may count from the end to indices from the start. */
static uint32_t indices_in(struct lowering *t, int64_t size)
{
	int64_t count, *given;
	int32_t *narrow;

	if (constant_count(t, 1) < 0) {
		if (!is_type(t, in(t, 1), NN(TENSOR_INT32)))
			refuse(t, "indices of %s must be int32 or int64", onnx_name(type_in(t, 1)));
		return from_start(t, in(t, 1), size);
	}
	given = ints_in(t, 1, &count);
	narrow = given ? builder_alloc(t->b, (size_t)count * sizeof(*narrow)) : NULL;
	for (int64_t i = 0; narrow && i < count; i++) {
		if (given[i] < -size || given[i] >= size)
			refuse(t, "index %lld is outside of %lld elements", (long long)given[i],
			       (long long)size);
		narrow[i] = (int32_t)(given[i] < 0 ? given[i] + size : given[i]);
	}
	return constant_ints(t, 1, (uint32_t[]){ (uint32_t)count }, narrow);
}

/* Gathers from a constant by constant indices. */
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
	const struct shape *shape = any_shape_in(t, 0), *indices = shape_in(t, 1);
	int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	struct shape to = { 0 };
	int64_t count = shape_count(indices);
	struct moved m;
	uint32_t at;

	if (REFUSED_IF(t, shape->rank + indices->rank - 1 > MAX_RANK || count <= 0 ||
		       (shape->rank && shape->dims[axis] >= 1 << 24),
		       "indices of %d dimensions, or their axis, are too large", indices->rank))
		return;
	for (int i = 0; i < axis; i++)
		to.dims[to.rank++] = shape->dims[i];
	for (int i = 0; i < indices->rank; i++)
		to.dims[to.rank++] = indices->dims[i];
	for (int i = axis + 1; i < shape->rank; i++)
		to.dims[to.rank++] = shape->dims[i];
	if ((shape->dims[axis] && set_empty(t, 0, &to)) || folded_gather(t, axis, &to))
		return;
	at = view(t, indices_in(t, shape->dims[axis]), 1, (uint32_t[]){ (uint32_t)count });
	m = moved_in(t);
	m.x = gathered(t, m.x, shape, axis, at, (uint32_t)count);
	moved_out(t, m, &to);
}

/* ---- more ---- */

/* Concatenates `count` constant inputs, whose indices are in `from`. */
static bool folded_concat(struct lowering *t, int axis, const uint32_t *from, uint32_t count)
{
	struct shape to = *shape_in(t, from[0]);
	size_t size = 0, row = 0, at = 0, outer = 1;
	char *data;

	to.dims[axis] = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct shape *shape = shape_in(t, from[i]);

		if (!small_data_in(t, from[i], &size) || shape->rank != to.rank)
			return false;
		for (int d = 0; d < to.rank; d++)
			if (d != axis && shape->dims[d] != to.dims[d])
				return false;
		to.dims[axis] += shape->dims[axis];
		/*
		 * The concatenation of many small constants may have more than MOST_FOLDED
		 * elements; shape_count() fails if the number overflows.
		 */
		if (type_in(t, from[i]) != type_in(t, 0) || shape_count(&to) < 0 ||
		    shape_count(&to) > MOST_FOLDED)
			return false;
	}
	for (int d = 0; d < axis; d++)
		outer *= (size_t)to.dims[d];
	row = (size_t)shape_count(&to) / outer * size;
	data = builder_alloc(t->b, row * outer);
	for (uint32_t i = 0; data && i < count; i++) {
		const char *elements = small_data_in(t, from[i], &size);
		size_t part = (size_t)shape_count(shape_in(t, from[i])) / outer * size;

		for (size_t o = 0; o < outer; o++)
			memcpy(data + o * row + at, elements + o * part, part);
		at += part;
	}
	set_out_data(t, 0, type_in(t, 0), data, &to);
	return data;
}

void concat_op(struct lowering *t)
{
	uint32_t *x = builder_alloc(t->b, (in_count(t) + 1) * sizeof(*x));
	uint32_t *from = builder_alloc(t->b, (in_count(t) + 1) * sizeof(*from));
	uint32_t like, dims[MAX_DIMS], rank, count = 0;
	bool quantised = in_count(t) && quantised_node(t, in_count(t), false);
	struct shape to;
	int axis;

	/* Skip inputs without elements, such as the past before the first step of a generation. */
	for (uint32_t i = 0; x && from && i < in_count(t); i++)
		if (shape_count(any_shape_in(t, i)))
			from[count++] = i;
	to = *shape_in(t, from && count ? from[0] : 0);
	axis = axis_of(t, attr_int(t, "axis", 1), to.rank);
	if (!to.rank)
		refuse(t, "scalars cannot be concatenated");
	if (!x || !from || t->refused || folded_concat(t, axis, from, count))
		return;
	to.dims[axis] = 0;
	for (uint32_t i = 0; !t->refused && i < count; i++) {
		const struct shape *shape = shape_in(t, from[i]);

		if (shape->rank != to.rank)
			return refuse(t, "the inputs must have one number of dimensions");
		for (int d = 0; d < to.rank; d++)
			if (d != axis)
				refuse_unless_same(t, to.dims[d], shape->dims[d], "dimensions %lld and %lld differ");
		to.dims[axis] += shape->dims[axis];
		x[i] = quantised ? quantised_in(t, from[i]) : in(t, from[i]);
		if (!t->refused && !quantised && is_quant8(t, x[i]) && !is_alike(t, x[i], x[0]))
			refuse(t, "the 8-bit inputs must have the same scale and zero point");
	}
	if (t->refused)
		return;
	rank = flat(&to, dims);
	like = quantised ? quantised_result(t, rank, dims) : x[0];
	like = concatenated(t, x, count, &to, axis, like);
	if (quantised)
		set_quantised_out(t, like, &to);
	else
		set_out(t, 0, like, &to);
}

void expand_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	struct shape wanted = { 0 }, to;
	int64_t count = 0, *dims = ints_in(t, 1, &count);
	struct moved m;

	if (!dims || count > MAX_RANK)
		return refuse(t, "the shape must be constant, of at most 8 dimensions");
	wanted.rank = (int)count;
	for (int i = 0; i < wanted.rank; i++)
		wanted.dims[i] = dims[i];
	to = broadcast_shape(t, shape, &wanted);
	if (shape_count(&to) <= 0)
		refuse(t, "the output has no elements, or more than 2^31");
	if (folded_expand(t, &to))
		return;
	m = moved_in(t);
	m.x = expanded(t, m.x, shape, &to);
	moved_out(t, m, &to);
}

/* Reads the constant padding value; 0 if the node has no padding value. */
static bool pad_value(struct lowering *t, float *value)
{
	int64_t count;
	float *given;

	*value = attr_float(t, "value", 0);
	if (!has_in(t, 2))
		return true;
	if (REFUSED_IF(t, type_in(t, 2) != ONNX_FLOAT && type_in(t, 2) != ONNX_FLOAT16,
		       "the value is of %s, must be float", onnx_name(type_in(t, 2))))
		return false;
	given = floats_in(t, 2, &count);
	if (REFUSED_IF(t, !given || count != 1, "the value must be one constant number"))
		return false;
	*value = *given;
	return true;
}

/*
 * Reads the padding before and after each axis. Axes that the node does not name have no padding.
 */
static bool read_pads(struct lowering *t, const struct shape *shape, struct shape *to,
		      int32_t *pads)
{
	int64_t count = 0, axis_count = 0, *given = ints_of(t, 1, "pads", &count), *axes = NULL;

	if (has_in(t, 3))
		axes = ints_in(t, 3, &axis_count);
	if (!given || shape->rank > MAX_DIMS || count != 2 * (axes ? axis_count : shape->rank) ||
	    axis_count > shape->rank) {
		refuse(t, "pads must be constant, for at most 4 dimensions");
		return false;
	}
	memset(pads, 0, 2 * MAX_DIMS * sizeof(*pads));
	for (int64_t i = 0; i < count / 2; i++) {
		int axis = axes ? axis_of(t, axes[i], shape->rank) : (int)i;
		int64_t before = given[i], after = given[count / 2 + i];

		if (REFUSED_IF(t, before < 0 || after < 0 || before > 1 << 24 || after > 1 << 24,
			       "pads must be 0 to 2^24"))
			return false;
		pads[2 * axis] = (int32_t)before;
		pads[2 * axis + 1] = (int32_t)after;
		to->dims[axis] = shape->dims[axis] + before + after;
	}
	return !t->refused;
}

/* Pads by repeating the elements at the edges or, with `wraps`, the whole axis. */
static uint32_t repeated(struct lowering *t, uint32_t x, const struct shape *shape,
			 const int32_t *pads, bool wraps)
{
	struct shape to = *shape;

	for (int i = 0; !t->refused && i < shape->rank; i++) {
		const int32_t size = (int32_t)shape->dims[i], before = pads[2 * i];
		const int64_t sum = shape->dims[i] + before + pads[2 * i + 1];
		const uint32_t count = (uint32_t)sum;
		int32_t *at;

		if (!before && !pads[2 * i + 1])
			continue;
		if (sum > INT32_MAX) {
			refuse(t, "a padded axis has %lld elements, over 2^31-1", (long long)sum);
			break;
		}
		at = builder_alloc(t->b, count * sizeof(*at));
		for (int32_t k = 0; at && k < (int32_t)count; k++)
			at[k] = wraps ? ((k - before) % size + size) % size :
				k < before ? 0 : k - before < size ? k - before : size - 1;
		x = gathered(t, x, &to, i, constant_ints(t, 1, &count, at), count);
		to.dims[i] = count;
	}
	return x;
}

void pad_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const char *mode = attr_string(t, "mode", "constant");
	int32_t pads[2 * MAX_DIMS];
	struct shape to = *shape;
	struct moved m;
	float value = 0;

	if (!read_pads(t, shape, &to, pads))
		return;
	if (!shape->rank)
		refuse(t, "a scalar cannot be padded");
	if (!strcmp(mode, "edge") || !strcmp(mode, "wrap")) {
		m = moved_in(t);
		m.x = repeated(t, m.x, shape, pads, *mode == 'w');
	} else if (!strcmp(mode, "reflect")) {
		for (int i = 0; i < shape->rank; i++)
			if (pads[2 * i] >= shape->dims[i] || pads[2 * i + 1] >= shape->dims[i])
				refuse(t, "reflected padding must be smaller than its axis");
		m = moved_in(t);
		m.x = padded(t, NN(MIRROR_PAD), m.x, pads, scalar_int(t, 0));
	} else if (strcmp(mode, "constant")) {
		return refuse(t, "mode %s is not supported", mode);
	} else {
		if (!pad_value(t, &value))
			return;
		m = value == 0 ? moved_in(t) : (struct moved){ .x = in(t, 0) };
		if (!m.quantised && is_quant8(t, m.x))
			refuse(t, "%s is not supported", onnx_name(type_in(t, 0)));
		if (value == 0)
			m.x = padded(t, NN(PAD), m.x, pads, NO_OPERAND);
		else
			m.x = padded(t, NN(PAD_V2), m.x, pads, scalar_float(t, m.x, value));
	}
	moved_out(t, m, &to);
}

/* ---- types ---- */

void cast_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t x = in(t, 0), out, rank = operand_of(t, x)->rank, dims[MAX_DIMS];
	int from = type_in(t, 0), to = type_out(t, 0);
	int32_t type = nnapi_type(to);

	memcpy(dims, operand_of(t, x)->dims, sizeof(dims));
	if (REFUSED_IF(t, type < 0, "casting to %s is not supported", onnx_name(to)))
		return;
	if (folded_cast(t))
		return;
	if (type == operand_of(t, x)->type)
		return set_out(t, 0, x, shape);
	if (from == ONNX_BOOL) {
		out = result_type(t, type, rank, dims);
		if (is_quant8(t, out))
			return refuse(t, "casting bool to 8 bits is not supported");
		x = selected(t, x, filled_like(t, out, 1), filled_like(t, out, 0));
		set_out(t, 0, x, shape);
		return;
	}
	refuse_scaled(t, x);
	if (to == ONNX_BOOL) {
		out = result_type(t, NN(TENSOR_BOOL8), rank, dims);
		if (is_quant8(t, x))
			refuse(t, "casting 8 bits to bool is not supported");
		set_out(t, 0, EMIT(t, NN(NOT_EQUAL), out, x, number(t, x, 0)), shape);
		return;
	}
	if (is_float(t, x) && (to == ONNX_INT64 || to == ONNX_UINT8 || to == ONNX_INT8))
		refuse(t, "numbers of %s may not fit %s", onnx_name(from), onnx_name(to));
	if (to == ONNX_UINT8 || to == ONNX_INT8)
		refuse(t, "casting %s to %s wraps only in ONNX", onnx_name(from), onnx_name(to));
	out = result_type(t, type, rank, dims);
	if (from == ONNX_INT8 && (to == ONNX_FLOAT || to == ONNX_FLOAT16))
		return set_out(t, 0, dequantised(t, x, type), shape);
	if (from == ONNX_INT8)
		refuse(t, "casting int8 to %s is not supported", onnx_name(to));
	set_out(t, 0, EMIT(t, NN(CAST), out, x), shape);
}
