// SPDX-License-Identifier: MIT
/*
 * Constant folding while a graph is translated, mostly for shapes, which ONNX represents as int64
 * tensors.
 */
#include "ops.h"

#include <string.h>

const void *small_data_in(struct lowering *t, uint32_t index, size_t *size)
{
	int type = type_in(t, index);
	int64_t count = constant_count(t, index);

	*size = onnx_size(type);
	/* Do not fold 8-bit numbers: their scale, if any, is unknown here. */
	if (t->refused || count < 1 || count > MOST_FOLDED || !*size || type == ONNX_UINT8 ||
	    type == ONNX_INT8)
		return NULL;
	return data_of_count(t, index, type, count);
}

bool folded_picks(struct lowering *t, int axis, const int64_t *at, int64_t count,
		  const void **data, struct shape *shape)
{
	size_t size = onnx_size(type_in(t, 0)), inner = size;
	int64_t outer = 1, dim = shape->dims[axis];
	char *to;

	for (int i = 0; i < axis; i++)
		outer *= shape->dims[i];
	for (int i = axis + 1; i < shape->rank; i++)
		inner *= (size_t)shape->dims[i];
	if (count < 1 || outer * count * (int64_t)inner > MOST_FOLDED * (int64_t)sizeof(int64_t))
		return false;
	to = builder_alloc(t->b, (size_t)(outer * count) * inner);
	for (int64_t o = 0; to && o < outer; o++)
		for (int64_t i = 0; i < count; i++)
			memcpy(to + (size_t)(o * count + i) * inner,
			       (const char *)*data + (size_t)(o * dim + at[i]) * inner, inner);
	*data = to;
	shape->dims[axis] = count;
	return to;
}

/*
 * A constant of shape `of` is broadcast to shape `to`: returns the index in the constant for the
 * element `at` of the result.
 */
static int64_t place(const struct shape *of, const struct shape *to, int64_t at)
{
	int64_t index = 0, step = 1;

	for (int i = 1; i <= to->rank; i++) {
		int64_t here = at % to->dims[to->rank - i];

		at /= to->dims[to->rank - i];
		if (i > of->rank)
			continue;
		if (of->dims[of->rank - i] != 1)
			index += here * step;
		step *= of->dims[of->rank - i];
	}
	return index;
}

static bool is_integer(int type)
{
	return type == ONNX_INT64 || type == ONNX_INT32;
}

/*
 * Computes an operation on two integers; division rounds to zero, as in ONNX. Comparisons result in
 * 1 or 0. Returns false if the result overflows or is undefined.
 */
static bool operate(int32_t type, int64_t a, int64_t b, int64_t *result)
{
	switch (type) {
	case NN(ADD):
		return !__builtin_add_overflow(a, b, result);
	case NN(SUB):
		return !__builtin_sub_overflow(a, b, result);
	case NN(MUL):
		return !__builtin_mul_overflow(a, b, result);
	case NN(DIV):
		if (!b || (a == INT64_MIN && b == -1))
			return false;
		*result = a / b;
		return true;
	case NN(EQUAL):
		*result = a == b;
		return true;
	case NN(LESS):
	case NN(GREATER_EQUAL):
		*result = (a < b) == (type == NN(LESS));
		return true;
	case NN(GREATER):
	case NN(LESS_EQUAL):
		*result = (a > b) == (type == NN(GREATER));
		return true;
	default:
		return false;
	}
}

bool folded_arithmetic(struct lowering *t, int32_t operation, const struct shape *shape)
{
	const struct shape *as = shape_in(t, 0), *bs = shape_in(t, 1);
	int64_t count = shape_count(shape), x;
	size_t size;
	const void *a = small_data_in(t, 0, &size), *b = small_data_in(t, 1, &size);
	int type = type_in(t, 0), out = type_out(t, 0);
	void *to;

	if (!a || !b || count < 1 || count > MOST_FOLDED || type_in(t, 1) != type ||
	    !is_integer(type))
		return false;
	to = builder_alloc(t->b, (size_t)count * size);
	for (int64_t i = 0; to && i < count; i++)
		if (!operate(operation, onnx_int(type, a, place(as, shape, i)),
			     onnx_int(type, b, place(bs, shape, i)), &x) ||
		    !onnx_set_number(out, to, i, x))
			return false;
	set_out_data(t, 0, out, to, shape);
	return to;
}

bool folded_product(struct lowering *t, const struct shape *shape)
{
	const int type = type_in(t, 0);
	int64_t product = 1;
	size_t size;
	const void *data = small_data_in(t, 0, &size);
	void *to;

	if (!data || shape_count(shape) != 1 || !is_integer(type))
		return false;
	for (int64_t i = 0; i < shape_count(shape_in(t, 0)); i++)
		if (!operate(NN(MUL), product, onnx_int(type, data, i), &product))
			return false;
	to = builder_alloc(t->b, size);
	if (!to || !onnx_set_number(type, to, 0, product))
		return false;
	set_out_data(t, 0, type, to, shape);
	return true;
}

bool folded_expand(struct lowering *t, const struct shape *shape)
{
	const int64_t count = shape_count(shape);
	size_t size;
	const char *data = small_data_in(t, 0, &size);
	char *to;

	if (!data || count < 1 || count > MOST_FOLDED || !is_integer(type_in(t, 0)))
		return false;
	to = builder_alloc(t->b, (size_t)count * size);
	for (int64_t i = 0; to && i < count; i++)
		memcpy(to + (size_t)i * size, data + (size_t)place(shape_in(t, 0), shape, i) * size, size);
	set_out_data(t, 0, type_in(t, 0), to, shape);
	return to;
}

bool folded_transpose(struct lowering *t, const int *order, const struct shape *shape)
{
	const int64_t count = shape_count(shape);
	const int32_t *from;
	size_t size;
	const char *data = small_data_in(t, 0, &size);
	char *to;

	if (!data || !is_integer(type_in(t, 0)))
		return false;
	from = transposed_indices(t, shape_in(t, 0), order);
	to = builder_alloc(t->b, (size_t)count * size);
	for (int64_t i = 0; from && to && i < count; i++)
		memcpy(to + (size_t)i * size, data + (size_t)from[i] * size, size);
	set_out_data(t, 0, type_in(t, 0), to, shape);
	return to;
}

bool folded_choice(struct lowering *t)
{
	const struct shape *cs = shape_in(t, 0), *as = shape_in(t, 1), *bs = shape_in(t, 2);
	struct shape shape = broadcast_shape(t, as, bs);
	size_t size, bytes;
	const uint8_t *c = small_data_in(t, 0, &bytes);
	const char *a = small_data_in(t, 1, &size), *b = small_data_in(t, 2, &bytes);
	int64_t count;
	char *to;

	shape = broadcast_shape(t, cs, &shape);
	count = shape_count(&shape);
	if (!a || !b || !c || count < 1 || count > MOST_FOLDED)
		return false;
	to = builder_alloc(t->b, (size_t)count * size);
	for (int64_t i = 0; to && i < count; i++)
		memcpy(to + (size_t)i * size, c[place(cs, &shape, i)] ? a + (size_t)place(as, &shape, i) * size :
		       b + (size_t)place(bs, &shape, i) * size, size);
	set_out_data(t, 0, type_in(t, 1), to, &shape);
	return to;
}

/* Casts integers to another integer type or to floats, if all values fit. */
bool folded_cast(struct lowering *t)
{
	int from = type_in(t, 0), to = type_out(t, 0);
	const struct shape *shape = shape_in(t, 0);
	int64_t count = shape_count(shape);
	size_t size;
	const void *data = small_data_in(t, 0, &size);
	void *out;

	if (!data || !is_integer(from) || (!is_integer(to) && to != ONNX_FLOAT))
		return false;
	out = builder_alloc(t->b, (size_t)count * sizeof(int64_t));
	for (int64_t i = 0; out && i < count; i++)
		if (!onnx_set_number(to, out, i, onnx_int(from, data, i)))
			return false;
	set_out_data(t, 0, to, out, shape);
	return out;
}
