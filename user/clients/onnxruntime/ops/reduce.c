// SPDX-License-Identifier: MIT
/* Translates reductions and ArgMax, ArgMin, TopK. */
#include "ops.h"

#include <float.h>
#include <string.h>

/*
 * Reads the axes of a node. If the node names no axes, marks all axes or, with
 * noop_with_empty_axes, no axis.
 */
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

/* Unary operations before and after a reduction; MUL stands for the square. */
static const struct steps {
	const char *op;
	int32_t before, after;
} steps[] = {
	{ "ReduceL1", NN(ABS), -1 },
	{ "ReduceL2", NN(MUL), NN(SQRT) },
	{ "ReduceLogSum", -1, NN(LOG) },
	{ "ReduceLogSumExp", NN(EXP), NN(LOG) },
	{ "ReduceSumSquare", NN(MUL), -1 },
	{ "", -1, -1 },
};

/*
 * log(sum(exp(x))) = m + log(sum(exp(x - m))), with m the maximum, does not overflow. An infinite m
 * is clamped, because the difference of two infinities is not a number.
 */
static uint32_t log_sum_exp(struct lowering *t, uint32_t x, const struct shape *shape,
			    const bool *marked)
{
	struct shape small = reduced_shape(shape, marked, true);
	uint32_t most = bounded(t, reduced(t, NN(REDUCE_MAX), x, shape, marked), -FLT_MAX, FLT_MAX);

	x = broadcast(t, NN(SUB), x, shape, most, &small, shape);
	x = reduced(t, NN(REDUCE_SUM), unary(t, NN(EXP), x), shape, marked);
	return arithmetic(t, NN(ADD), unary(t, NN(LOG), x), most);
}

void reduce_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const struct steps *step = steps;
	bool marked[MAX_RANK];
	uint32_t x = in(t, 0);
	struct shape to;

	if (t->refused || !read_axes(t, shape, marked))
		return;
	to = reduced_shape(shape, marked, attr_int(t, "keepdims", 1));
	if (t->code == NN(REDUCE_PROD) && folded_product(t, &to))
		return;
	while (*step->op && !is_node(t, step->op))
		step++;
	if (is_quant8(t, x) && t->code != NN(REDUCE_MAX) && t->code != NN(REDUCE_MIN))
		refuse(t, "%s is not supported", onnx_name(type_in(t, 0)));
	if (step->before == NN(EXP))
		return set_out(t, 0, log_sum_exp(t, x, shape, marked), &to);
	if (step->before == NN(MUL))
		x = arithmetic(t, NN(MUL), x, x);
	else if (step->before >= 0)
		x = unary(t, step->before, x);
	x = reduced(t, t->code, x, shape, marked);
	set_out(t, 0, step->after < 0 ? x : unary(t, step->after, x), &to);
}

void arg_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", 0), shape->rank);
	bool is_last = attr_int(t, "select_last_index", 0), marked[MAX_RANK] = { false };
	struct shape to;
	uint32_t x = in(t, 0);

	if (t->refused)
		return;
	marked[axis] = true;
	to = reduced_shape(shape, marked, attr_int(t, "keepdims", 1));
	set_out(t, 0, place_of(t, t->code, x, shape, axis, is_last), &to);
}

void cumsum_op(struct lowering *t)
{
	set_sums(t, attr_int(t, "exclusive", 0), attr_int(t, "reverse", 0));
}

void topk_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", -1), shape->rank);
	const int64_t *k = ints_of_count(t, 1, "the number of elements", 1);
	struct shape to = *shape;
	uint32_t out[2], dims[3];

	if (REFUSED_IF(t, !shape->rank, "the input must not be a scalar"))
		return;
	around(shape, axis, dims);
	if (dims[2] != 1 && has_out(t, 1))
		refuse(t, "indices are supported only along the last axis");
	to.dims[axis] = k[0];
	topmost(t, in(t, 0), shape, axis, k[0], attr_int(t, "largest", 1), out);
	set_out(t, 0, out[0], &to);
	set_out(t, 1, out[1], &to);
}
