// SPDX-License-Identifier: MIT
/*
 * Translates losses. The translation selects the value of an element's class by comparing all class
 * numbers with the element's class.
 */
#include "ops.h"

#include <string.h>

/* The node's input is [batch, classes, rest], and the class of each element [batch, rest]. */
struct loss {
	uint32_t batch, classes, rest;
	uint32_t dims[3];		/* batch, classes and rest */
	/* Bool tensor of the input's shape that is true at the class of each element. */
	uint32_t chosen;
};

static bool read_loss(struct lowering *t, struct loss *l)
{
	const struct shape *shape = shape_in(t, 0), *of = shape_in(t, 1);
	uint32_t target;

	if (!t->refused && (shape->rank < 2 || of->rank != shape->rank - 1))
		refuse(t, "the target must have 1 dimension less than input 0 (%d)", shape->rank);
	float_in(t, 0);
	target = in(t, 1);
	if (REFUSED_IF(t, operand_of(t, target)->type != NN(TENSOR_INT32),
		       "the classes are of %s, must be integers", onnx_name(type_in(t, 1))))
		return false;
	l->batch = (uint32_t)shape->dims[0];
	l->classes = (uint32_t)shape->dims[1];
	l->rest = (uint32_t)(shape_count(shape) / shape->dims[0] / shape->dims[1]);
	if (REFUSED_IF(t, shape_count(of) != (int64_t)l->batch * l->rest,
		       "the target has %lld elements, which do not fit input 0",
		       (long long)shape_count(of)))
		return false;
	l->dims[0] = l->batch;
	l->dims[1] = l->classes;
	l->dims[2] = l->rest;
	l->chosen = is_place(t, target, l->dims);
	return !t->refused;
}

/*
 * Returns for each element the value in `x` of the element's class, as [batch, 1, rest]; 0 for an
 * element without a class.
 */
static uint32_t of_class(struct lowering *t, const struct loss *l, uint32_t x)
{
	const struct shape full = { 3, { l->batch, l->classes, l->rest } };
	const bool marked[MAX_RANK] = { false, true };

	x = selected(t, l->chosen, x, filled_like(t, x, 0));
	return reduced(t, NN(REDUCE_SUM), x, &full, marked);
}

/*
 * Returns the weight of each class, broadcast to the input's shape. The weight of the ignored class
 * is 0.
 */
static uint32_t weights(struct lowering *t, const struct loss *l, uint32_t like)
{
	const struct shape full = { 3, { l->batch, l->classes, l->rest } };
	const struct shape small = { 3, { 1, l->classes, 1 } };
	const int64_t ignored = attr_int(t, "ignore_index", -1);
	float *ones = builder_alloc(t->b, l->classes * sizeof(*ones));
	uint32_t x, dims[3] = { 1, l->classes, 1 };

	for (uint32_t i = 0; ones && i < l->classes; i++)
		ones[i] = ignored != i;
	x = constant(t, like, 3, dims, ones);
	if (has_in(t, 2)) {
		if (shape_count(shape_in(t, 2)) != l->classes)
			refuse(t, "there must be one weight for each class");
		x = broadcast(t, NN(MUL), view(t, in(t, 2), 3, dims), &small, x, &small, &small);
	}
	return broadcast(t, NN(MUL), filled(t, like, 3, l->dims, 1), &full, x, &small, &full);
}

static void set_loss(struct lowering *t, const struct loss *l, uint32_t x)
{
	const char *reduction = attr_string(t, "reduction", "mean");
	const struct shape small = { 3, { l->batch, 1, l->rest } }, scalar = { 0 };
	const bool marked[MAX_RANK] = { true, true, true };
	uint32_t weight = of_class(t, l, weights(t, l, x)), loss;

	loss = unary(t, NN(NEG), arithmetic(t, NN(MUL), of_class(t, l, x), weight));
	t->work = 4 * (uint64_t)l->batch * l->classes * l->rest;
	if (!strcmp(reduction, "none"))
		return set_out(t, 0, loss, shape_in(t, 1));
	loss = reduced(t, NN(REDUCE_SUM), loss, &small, marked);
	if (!strcmp(reduction, "mean"))
		loss = arithmetic(t, NN(DIV), loss,
				  reduced(t, NN(REDUCE_SUM), weight, &small, marked));
	set_out(t, 0, loss, &scalar);
}

void likelihood_loss_op(struct lowering *t)
{
	struct loss l;

	if (read_loss(t, &l))
		set_loss(t, &l, view(t, in(t, 0), 3, l.dims));
}

void cross_entropy_op(struct lowering *t)
{
	struct loss l;
	uint32_t x;

	if (!read_loss(t, &l))
		return;
	x = view(t, in(t, 0), 3, l.dims);
	x = softmax_of(t, NN(LOG_SOFTMAX), x, 1, 1, x);
	set_loss(t, &l, x);
	if (has_out(t, 1))
		set_out(t, 1, x, shape_in(t, 0));
}
