// SPDX-License-Identifier: MIT
/* Reductions, and what picks elements by their size: ArgMax, ArgMin, TopK. */
#include "ops.h"

#include <string.h>

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
	int last = -1;

	/* Neighbours that are reduced alike are one. */
	for (int i = 0; i < shape->rank; i++) {
		if (shape->dims[i] == 1)
			continue;
		if (marked[i] != last) {
			if (rank == MAX_DIMS) {
				refuse(t, "axes that are apart in more than four dimensions");
				return NO_OPERAND;
			}
			if (marked[i])
				axis[count++] = (int32_t)rank;
			dims[rank++] = 1;
		}
		last = marked[i];
		dims[rank - 1] *= (uint32_t)shape->dims[i];
	}
	t->work += (uint64_t)shape_count(shape);
	/* Images stay images, which are turned with what is around. */
	if (type == NN(MEAN) && shape->rank == 4 && is_float(t, x) && !marked[0] && !marked[1] &&
	    marked[2] && marked[3])
		return global_pooled(t, NN(AVERAGE_POOL_2D), x, shape);
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

/* The axes of a node; all, or with noop_with_empty_axes none, where none are named. */
static bool read_axes(struct lowering *t, const struct shape *shape, bool *marked)
{
	int64_t count = 0, *axes = ints_of(t, 1, "axes", &count);

	memset(marked, 0, MAX_RANK * sizeof(*marked));
	for (int64_t i = 0; !t->refused && i < count; i++)
		marked[axis_of(t, axes[i], shape->rank)] = true;
	for (int i = 0; !count && i < shape->rank; i++)
		marked[i] = !attr_int(t, "noop_with_empty_axes", 0);
	(void)axes;
	return !t->refused;
}

static const struct {
	const char *op;
	int32_t type;
	int32_t before, after;		/* unary operations; MUL: the square */
} reductions[] = {
	{ "ReduceL1", NN(REDUCE_SUM), NN(ABS), -1 },
	{ "ReduceL2", NN(REDUCE_SUM), NN(MUL), NN(SQRT) },
	{ "ReduceLogSum", NN(REDUCE_SUM), -1, NN(LOG) },
	{ "ReduceLogSumExp", NN(REDUCE_SUM), NN(EXP), NN(LOG) },
	{ "ReduceMax", NN(REDUCE_MAX), -1, -1 },
	{ "ReduceMean", NN(MEAN), -1, -1 },
	{ "ReduceMin", NN(REDUCE_MIN), -1, -1 },
	{ "ReduceProd", NN(REDUCE_PROD), -1, -1 },
	{ "ReduceSum", NN(REDUCE_SUM), -1, -1 },
	{ "ReduceSumSquare", NN(REDUCE_SUM), NN(MUL), -1 },
};

/* log(sum(exp(x))) = m + log(sum(exp(x - m))), m the greatest, which does not overflow. */
static uint32_t log_sum_exp(struct lowering *t, uint32_t x, const struct shape *shape,
			    const bool *marked)
{
	struct shape small = reduced_shape(shape, marked, true);
	uint32_t most = reduced(t, NN(REDUCE_MAX), x, shape, marked);

	x = broadcast(t, NN(SUB), x, shape, most, &small, shape);
	x = reduced(t, NN(REDUCE_SUM), unary(t, NN(EXP), x), shape, marked);
	return arithmetic(t, NN(ADD), unary(t, NN(LOG), x), most);
}

void reduce_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	bool marked[MAX_RANK], keep = attr_int(t, "keepdims", 1);
	uint32_t x = in(t, 0);
	struct shape to;
	size_t i = 0;

	if (t->refused || !read_axes(t, shape, marked))
		return;
	to = reduced_shape(shape, marked, keep);
	while (!is_node(t, reductions[i].op))
		i++;
	if (is_quant8(t, x) && reductions[i].type != NN(REDUCE_MAX) &&
	    reductions[i].type != NN(REDUCE_MIN))
		refuse(t, "of %s", onnx_name(type_in(t, 0)));
	if (reductions[i].before == NN(EXP)) {
		set_out(t, 0, log_sum_exp(t, x, shape, marked), &to);
		return;
	}
	if (reductions[i].before == NN(MUL))
		x = arithmetic(t, NN(MUL), x, x);
	else if (reductions[i].before >= 0)
		x = unary(t, reductions[i].before, x);
	x = reduced(t, reductions[i].type, x, shape, marked);
	if (reductions[i].after >= 0)
		x = unary(t, reductions[i].after, x);
	set_out(t, 0, x, &to);
}

/* Whether places along an axis, which are computed from its end, are exact as floats. */
static void count_from_end(struct lowering *t, int64_t size)
{
	if (size > 1 << 24)
		refuse(t, "places of an axis of %lld elements; at most %d", (long long)size, 1 << 24);
}

/* The first of equals, as the NNAPI does; of the last ones by looking from the end. */
void arg_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	bool last = attr_int(t, "select_last_index", 0), marked[MAX_RANK] = { false };
	struct shape to;
	uint32_t x = in(t, 0), dims[3], out, size;

	if (t->refused)
		return;
	marked[axis] = true;
	to = reduced_shape(shape, marked, attr_int(t, "keepdims", 1));
	around(shape, axis, dims);
	size = dims[1];
	x = view(t, x, 3, dims);
	if (last)
		x = EMIT(t, NN(REVERSE), result(t, x, 3, dims), x,
			 vector_int(t, 1, (int32_t[]){ 1 }));
	dims[1] = dims[2];
	out = result_type(t, NN(TENSOR_INT32), 2, dims);
	x = EMIT(t, is_node(t, "ArgMax") ? NN(ARGMAX) : NN(ARGMIN), out, x, scalar_int(t, 1));
	if (last) {
		count_from_end(t, size);
		x = with_number(t, NN(ADD), unary(t, NN(NEG), x), (float)size - 1);
	}
	t->work = (uint64_t)shape_count(shape);
	set_out(t, 0, x, &to);
}

/*
 * Of equals ONNX takes the one with the lower index first, the NNAPI that with the higher: the
 * axis is looked at from its end.
 */
void topk_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", -1), shape->rank);
	bool most = attr_int(t, "largest", 1);
	int64_t count = 0, *k = has_in(t, 1) ? ints_in(t, 1, &count) : NULL;
	struct shape to = *shape;
	uint32_t x = in(t, 0), dims[3], turned[3], values, at, outs[2];

	if (!k || count != 1 || !shape->rank) {
		refuse(t, "a number that is not constant");
		return;
	}
	around(shape, axis, dims);
	if (k[0] < 1 || k[0] > dims[1])
		refuse(t, "%lld of %u", (long long)k[0], dims[1]);
	if (!most && is_quant8(t, x))
		refuse(t, "the smallest of 8-bit numbers");
	to.dims[axis] = k[0];
	/* The axis is the last. */
	turned[0] = dims[0];
	turned[1] = dims[2];
	turned[2] = dims[1];
	x = view(t, x, 3, dims);
	if (dims[2] != 1)
		x = transposed(t, x, 3, (int[]){ 0, 2, 1 });
	x = view(t, x, 3, turned);
	x = EMIT(t, NN(REVERSE), result(t, x, 3, turned), x, vector_int(t, 1, (int32_t[]){ 2 }));
	if (!most)
		x = unary(t, NN(NEG), x);
	turned[2] = (uint32_t)k[0];
	outs[0] = result(t, x, 3, turned);
	outs[1] = result_type(t, NN(TENSOR_INT32), 3, turned);
	emit_many(t, NN(TOPK_V2), 2, outs, 2, (uint32_t[]){ x, scalar_int(t, (int32_t)k[0]) });
	count_from_end(t, dims[1]);
	values = most ? outs[0] : unary(t, NN(NEG), outs[0]);
	at = with_number(t, NN(ADD), unary(t, NN(NEG), outs[1]), (float)dims[1] - 1);
	if (dims[2] != 1) {
		values = transposed(t, values, 3, (int[]){ 0, 2, 1 });
		if (has_out(t, 1))
			refuse(t, "indices along an axis that is not the last");
	}
	t->work = (uint64_t)shape_count(shape);
	set_out(t, 0, values, &to);
	set_out(t, 1, at, &to);
}
