// SPDX-License-Identifier: MIT
/* Operators that select by position or comparison: masks, one-hot vectors, elements. */
#include "ops.h"

#include <math.h>
#include <string.h>

/* Returns the number in a constant input of one element; `otherwise` if the input is missing. */
static int64_t int_in(struct lowering *t, uint32_t index, int64_t otherwise)
{
	const int64_t *given = has_in(t, index) ? ints_of_count(t, index, "a number", 1) : NULL;

	return given ? given[0] : otherwise;
}

/* Keeps the upper or lower triangle of matrices and sets the other elements to 0. */
void trilu_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	bool upper = attr_int(t, "upper", 1);
	int64_t k = int_in(t, 1, 0), rows, columns;
	struct operand type = { .type = NN(TENSOR_BOOL8) };
	uint32_t x = in(t, 0);
	uint8_t *mask;

	if (!t->refused && (shape->rank < 2 || shape_count(shape) > 1 << 24))
		refuse(t, "%d dimensions, must be 2 or more of at most 2^24 elements", shape->rank);
	/* Limit k, because all diagonals outside of the matrix have the same effect. */
	if (k < -INT32_MAX || k > INT32_MAX)
		k = k < 0 ? -INT32_MAX : INT32_MAX;
	if (t->refused)
		return;
	rows = shape->dims[shape->rank - 2];
	columns = shape->dims[shape->rank - 1];
	type.rank = flat(shape, type.dims);
	mask = builder_alloc(t->b, (size_t)shape_count(shape));
	for (int64_t i = 0; mask && i < shape_count(shape); i++) {
		int64_t beyond = i % columns - i / columns % rows - k;

		mask[i] = upper ? beyond >= 0 : beyond <= 0;
	}
	if (operand_of(t, x)->type == NN(TENSOR_BOOL8))
		x = broadcast(t, NN(LOGICAL_AND), x, shape, constant_bytes(t, &type, mask), shape,
			      shape);
	else if (is_quant8(t, x))
		refuse(t, "%s is not supported", onnx_name(type_in(t, 0)));
	else
		x = selected(t, constant_bytes(t, &type, mask), x, filled_like(t, x, 0));
	set_out(t, 0, x, shape);
}

void is_inf_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	bool above = attr_int(t, "detect_positive", 1);
	bool below = attr_int(t, "detect_negative", 1);
	uint32_t x = float_in(t, 0), out = NO_OPERAND, low;

	if (!above && !below)
		refuse(t, "detect_positive and detect_negative are both 0");
	if (above)
		out = compared_number(t, NN(EQUAL), x, INFINITY);
	if (below) {
		low = compared_number(t, NN(EQUAL), x, -INFINITY);
		out = above ? broadcast(t, NN(LOGICAL_OR), out, shape, low, shape, shape) : low;
	}
	set_out(t, 0, out, shape);
}

void shrink_op(struct lowering *t)
{
	float bias = attr_float(t, "bias", 0), lambda = attr_float(t, "lambd", 0.5f);
	uint32_t x = float_in(t, 0), other;

	other = selected(t, compared_number(t, NN(GREATER), x, lambda),
			 with_number(t, NN(SUB), x, bias), filled_like(t, x, 0));
	set_out(t, 0, selected(t, compared_number(t, NN(LESS), x, -lambda),
			       with_number(t, NN(ADD), x, bias), other), shape_in(t, 0));
}

void mod_op(struct lowering *t)
{
	if (attr_int(t, "fmod", 0))
		refuse(t, "fmod is not supported for %s", onnx_name(type_in(t, 0)));
	floor_mod_op(t);
}

/* ---- one of many ---- */

void hardmax_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	bool old = op_set(t) < 13;
	int axis = axis_of(t, attr_int(t, "axis", old ? 1 : -1), shape->rank);
	uint32_t dims[3] = { 1, 1, 1 }, x = float_in(t, 0), at;
	struct shape lines = { .rank = 3 };

	for (int i = 0; i < shape->rank; i++)
		dims[i < axis ? 0 : i == axis || old ? 1 : 2] *= (uint32_t)shape->dims[i];
	for (int i = 0; i < 3; i++)
		lines.dims[i] = dims[i];
	x = view(t, x, 3, dims);
	at = place_of(t, NN(ARGMAX), x, &lines, 1, false);
	at = is_place(t, at, dims);
	set_out(t, 0, selected(t, at, filled_like(t, x, 1), filled_like(t, x, 0)), shape);
}

void one_hot_op(struct lowering *t)
{
	uint32_t x = in(t, 0);
	int64_t depth;
	float *values;

	if (type_in(t, 1) == ONNX_FLOAT) {
		const float *given = data_of_count(t, 1, ONNX_FLOAT, 1);

		depth = given && *given >= 1 && *given < 1 << 24 ? (int64_t)*given : 0;
	} else {
		depth = int_in(t, 1, 0);
	}
	values = floats_of_count(t, 2, 2);
	if (!t->refused)
		set_one_hot(t, from_start(t, x, depth), attr_int(t, "axis", -1), depth, in(t, 2),
			    values[1], values[0]);
}

/* ---- elements ---- */

/*
 * Computes the position in memory of each requested element, from the element's index along the
 * axis and the element's other coordinates.
 */
void gather_elements_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *to = shape_in(t, 1);
	int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	uint32_t x = in(t, 0), at = in(t, 1), count, stride = 1;
	int64_t all = shape_count(shape);
	int32_t *rest;

	if (REFUSED_IF(t, shape->rank != to->rank || !shape->rank || all >= 1 << 24,
		       "inputs of %d and %d dimensions do not fit, or exceed 2^24 elements",
		       shape->rank, to->rank) ||
	    REFUSED_IF(t, operand_of(t, at)->type != NN(TENSOR_INT32),
		       "the indices are of %s, must be int32", onnx_name(type_in(t, 1))))
		return;
	count = (uint32_t)shape_count(to);
	for (int i = axis + 1; i < shape->rank; i++)
		stride *= (uint32_t)shape->dims[i];
	rest = builder_alloc(t->b, (size_t)count * sizeof(*rest));
	for (uint32_t i = 0; rest && i < count; i++) {
		int64_t step = 1, left = i;

		for (int d = shape->rank - 1; d >= 0; d--) {
			if (to->dims[d] > shape->dims[d] && d != axis)
				refuse(t, "the indices exceed the input's dimensions");
			if (d != axis)
				rest[i] += (int32_t)(left % to->dims[d] * step);
			left /= to->dims[d];
			step *= shape->dims[d];
		}
	}
	at = from_start(t, view(t, at, 1, &count), shape->dims[axis]);
	at = with_number(t, NN(MUL), at, (float)stride);
	at = arithmetic(t, NN(ADD), at, vector_int(t, count, rest));
	set_out(t, 0, gathered(t, x, &(struct shape){ 1, { all } }, 0, at, count), to);
}

void gather_nd_op(struct lowering *t)
{
	set_lines(t, in(t, 1), shape_in(t, 1), attr_int(t, "batch_dims", 0));
}

/*
 * Sets the output to the rows of input 0, of which row to[i] is replaced by row i of input 2. The
 * NNAPI has no such operation, so the rows are gathered from both inputs.
 */
static void set_scattered(struct lowering *t, int64_t rows, int64_t *to, int64_t count)
{
	const struct shape *shape = shape_in(t, 0);
	const uint32_t inner = (uint32_t)(shape_count(shape) / rows);
	const struct shape both = { 2, { rows + count, inner } };
	uint32_t x[3] = { float_in(t, 0), float_in(t, 2) };
	int32_t *from;

	if (strcmp(attr_string(t, "reduction", "none"), "none"))
		refuse(t, "reduction is not supported");
	if (shape_count(shape_in(t, 2)) != count * inner || rows + count >= 1 << 24)
		refuse(t, "the updates do not fit the indices, or exceed 2^24 rows");
	from = t->refused ? NULL : builder_alloc(t->b, (size_t)rows * sizeof(*from));
	if (!from)
		return;
	for (int32_t i = 0; i < rows; i++)
		from[i] = i;
	for (int64_t i = 0; i < count; i++)
		from[to[i]] = (int32_t)(rows + i);
	x[0] = view(t, x[0], 2, (uint32_t[]){ (uint32_t)rows, inner });
	x[1] = view(t, x[1], 2, (uint32_t[]){ (uint32_t)count, inner });
	x[0] = concatenated(t, x, 2, &both, 0, x[0]);
	set_out(t, 0, gathered(t, x[0], &both, 0, vector_int(t, (uint32_t)rows, from), (uint32_t)rows), shape);
}

/* Returns an index from the start of a dimension for an index that may count from its end. */
static int64_t index_of(struct lowering *t, int64_t index, int64_t size)
{
	if (index < -size || index >= size) {
		refuse(t, "index %lld is outside of %lld elements", (long long)index, (long long)size);
		return 0;
	}
	return index < 0 ? index + size : index;
}

void scatter_nd_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *indices = shape_in(t, 1);
	const int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : 0;
	int64_t count, *at = ints_in(t, 1, &count), rows = 1;

	if (REFUSED_IF(t, !at || depth < 1 || depth > shape->rank, "indices of %lld dimensions do not fit",
		       (long long)depth))
		return;
	count /= depth;
	for (int64_t k = 0; k < depth; k++)
		rows *= shape->dims[k];
	for (int64_t i = 0; i < count; i++) {
		int64_t row = 0;

		for (int64_t k = 0; k < depth; k++)
			row = row * shape->dims[k] + index_of(t, at[i * depth + k], shape->dims[k]);
		at[i] = row;
	}
	set_scattered(t, rows, at, count);
}

void scatter_elements_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *indices = shape_in(t, 1);
	const int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	int64_t count, *at = ints_in(t, 1, &count);

	if (REFUSED_IF(t, !at || !shape->rank || shape->rank != indices->rank,
		       "inputs of %d and %d dimensions do not fit", shape->rank, indices->rank))
		return;
	for (int64_t i = 0; i < count; i++) {
		int64_t step = 1, left = i, place = 0;

		for (int d = shape->rank - 1; d >= 0; d--) {
			place += step * index_of(t, d == axis ? at[i] : left % indices->dims[d], shape->dims[d]);
			left /= indices->dims[d];
			step *= shape->dims[d];
		}
		at[i] = place;
	}
	set_scattered(t, shape_count(shape), at, count);
}

/* ---- constants ---- */

void eye_like_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int type = type_out(t, 0);
	int64_t k = attr_int(t, "k", 0);
	void *data;

	if (!t->refused && (shape->rank != 2 || shape_count(shape) > 1 << 24 ||
			    (type != ONNX_FLOAT && type != ONNX_INT32 && type != ONNX_INT64)))
		refuse(t, "input of %s, must be a numeric matrix up to 2^24", onnx_name(type));
	if (t->refused)
		return;
	data = builder_alloc(t->b, onnx_size(type) * (size_t)shape_count(shape));
	for (int64_t i = 0; data && i < shape_count(shape); i++)
		onnx_set_number(type, data, i, i % shape->dims[1] - i / shape->dims[1] == k);
	set_out_data(t, 0, type, data, shape);
}

void range_op(struct lowering *t)
{
	const int64_t most = INT64_C(1) << 60;
	struct shape to = { .rank = 1 };
	int64_t numbers[3], count;
	void *data;

	for (uint32_t i = 0; i < 3; i++) {
		numbers[i] = int_in(t, i, 0);
		/*
		 * Limit the range's start, limit and step, so that the sum of the three numbers
		 * does not overflow.
		 */
		if (numbers[i] < -most || numbers[i] > most)
			refuse(t, "input %u is %lld, must be within %lld of 0", i,
			       (long long)numbers[i], (long long)most);
	}
	if (REFUSED_IF(t, !numbers[2], "the step must not be 0"))
		return;
	count = (numbers[1] - numbers[0] + numbers[2] + (numbers[2] < 0 ? 1 : -1)) / numbers[2];
	to.dims[0] = count;
	if (count < 1 || count > 1 << 24)
		return refuse(t, "the range has %lld elements, not 1 to 2^24", (long long)count);
	data = builder_alloc(t->b, (size_t)count * sizeof(int64_t));
	for (int64_t i = 0; data && i < count; i++)
		onnx_set_number(type_in(t, 0), data, i, numbers[0] + i * numbers[2]);
	set_out_data(t, 0, type_in(t, 0), data, &to);
}
