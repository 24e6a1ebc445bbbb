// SPDX-License-Identifier: MIT
/*
 * Normalisations and Softmax. Normalisations that the NNAPI lacks are composed of means and
 * arithmetic.
 */
#include "ops.h"

#include <math.h>
#include <string.h>

/* Computes x * scale + bias, with a scale and bias for each channel. */
static uint32_t per_channel(struct lowering *t, uint32_t x, const struct shape *shape,
			    uint32_t scale, uint32_t bias)
{
	struct shape of = { .rank = shape->rank };

	for (int i = 0; i < of.rank; i++)
		of.dims[i] = i == 1 ? shape->dims[1] : 1;
	x = broadcast(t, NN(MUL), x, shape, view_shape(t, scale, &of), &of, shape);
	return broadcast(t, NN(ADD), x, shape, view_shape(t, bias, &of), &of, shape);
}

/* Checks that each input from `first` on has one number for each channel. */
static bool are_by_channel(struct lowering *t, const struct shape *shape, uint32_t first,
			   uint32_t count)
{
	for (uint32_t i = first; !t->refused && i < first + count; i++)
		if (shape_count(shape_in(t, i)) != shape->dims[1] ||
		    (!t->refused && operand_of(t, in(t, i))->type !=
				    operand_of(t, in(t, 0))->type))
			refuse(t, "input %u must have a number for each channel", i);
	return !t->refused;
}

/*
 * Translates a batch normalisation with constant parameters, which are folded into a scale and a
 * bias.
 */
static void folded_batch_norm(struct lowering *t, const struct shape *shape, float epsilon)
{
	uint32_t channels = (uint32_t)shape->dims[1], x = in(t, 0);
	float *numbers[4];

	for (uint32_t i = 0; i < 4; i++)
		numbers[i] = floats_of_count(t, i + 1, channels);
	for (uint32_t c = 0; !t->refused && c < channels; c++) {
		numbers[0][c] /= sqrtf(numbers[3][c] + epsilon);
		numbers[1][c] -= numbers[0][c] * numbers[2][c];
	}
	if (!t->refused)
		set_out(t, 0, per_channel(t, x, shape, constant(t, x, 1, &channels, numbers[0]),
					  constant(t, x, 1, &channels, numbers[1])), shape);
}

void batch_norm_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	float epsilon = attr_float(t, "epsilon", 1e-5f);
	uint32_t x = float_in(t, 0), scale, bias;
	bool is_known = true;

	if (attr_int(t, "training_mode", 0) || !attr_int(t, "spatial", 1))
		refuse(t, "training is not supported");
	for (uint32_t i = 1; i < out_count(t); i++)
		if (has_out(t, i))
			refuse(t, "training is not supported");
	if (REFUSED_IF(t, shape->rank < 2, "the input has no channels") ||
	    !are_by_channel(t, shape, 1, 4))
		return;
	for (uint32_t i = 1; i < 5; i++)
		is_known &= constant_count(t, i) >= 0;
	if (is_known)
		return folded_batch_norm(t, shape, epsilon);
	scale = arithmetic(t, NN(MUL), in(t, 1),
			   unary(t, NN(RSQRT), with_number(t, NN(ADD), in(t, 4), epsilon)));
	bias = arithmetic(t, NN(SUB), in(t, 2), arithmetic(t, NN(MUL), scale, in(t, 3)));
	set_out(t, 0, per_channel(t, x, shape, scale, bias), shape);
}

/* Normalises each of `rows` rows of `count` elements by its mean and standard deviation. */
static uint32_t normalised(struct lowering *t, uint32_t x, uint32_t rows, uint32_t count,
			   float epsilon)
{
	uint32_t dims[4] = { 1, rows, count, 1 };

	x = view(t, x, 4, dims);
	return EMIT(t, NN(INSTANCE_NORMALIZATION), result(t, x, 4, dims), x,
		    scalar_float(t, x, 1), scalar_float(t, x, 0), scalar_float(t, x, epsilon),
		    scalar_bool(t, true));
}

/* Normalises each group of channels, or each channel if the node has no number of groups. */
void group_norm_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t groups = attr_int(t, "num_groups", shape->dims[1]);
	uint32_t x = float_in(t, 0), rows;

	if (!t->refused && (shape->rank < 3 || groups < 1 || shape->dims[1] % groups))
		refuse(t, "%lld groups must divide the channels of %d dimensions",
		       (long long)groups, shape->rank);
	if (t->refused || !are_by_channel(t, shape, 1, 2))
		return;
	rows = (uint32_t)(shape->dims[0] * groups);
	x = normalised(t, x, rows, (uint32_t)(shape_count(shape) / rows),
		       attr_float(t, "epsilon", 1e-5f));
	t->work = 4 * (uint64_t)shape_count(shape);
	set_out(t, 0, per_channel(t, view_shape(t, x, shape), shape, in(t, 1), in(t, 2)), shape);
}

static uint32_t scaled(struct lowering *t, int32_t type, uint32_t x, uint32_t index,
		       const struct shape *shape)
{
	const struct shape *of = shape_in(t, index);

	if (of->rank > shape->rank)
		refuse(t, "a scale has more dimensions than the input");
	return broadcast(t, type, x, shape, in(t, index), of, shape);
}

/* Applies the binary operation `type` to x of shape `shape` and y of the reduced shape `small`. */
static uint32_t by_reduced(struct lowering *t, int32_t type, uint32_t x, const struct shape *shape,
			   uint32_t y, const struct shape *small)
{
	return view_shape(t, broadcast(t, type, x, shape, y, small, shape), shape);
}

/*
 * Normalises x: subtracts the mean if `is_centred`, divides by the standard deviation, multiplies
 * by a scale and adds a bias.
 */
static void set_layer_norm(struct lowering *t, uint32_t x, const struct shape *shape,
			   bool is_centred,
			   float epsilon, uint32_t scale, uint32_t bias)
{
	bool marked[MAX_RANK] = { false };
	uint32_t mean = NO_OPERAND, by;
	struct shape small;
	int axis;

	if (REFUSED_IF(t, attr_int(t, "stash_type", ONNX_FLOAT) != ONNX_FLOAT,
		       "stash_type must be 1, is %lld", (long long)attr_int(t, "stash_type", 0)))
		return;
	axis = axis_of(t, attr_int(t, "axis", -1), shape->rank);
	for (int i = axis; i < shape->rank; i++)
		marked[i] = true;
	if (t->refused)
		return;
	small = reduced_shape(shape, marked, true);
	if (is_centred) {
		mean = reduced(t, NN(MEAN), x, shape, marked);
		x = by_reduced(t, NN(SUB), x, shape, mean, &small);
	}
	by = reduced(t, NN(MEAN), arithmetic(t, NN(MUL), x, x), shape, marked);
	by = unary(t, NN(RSQRT), with_number(t, NN(ADD), by, epsilon));
	x = by_reduced(t, NN(MUL), x, shape, by, &small);
	x = view_shape(t, scaled(t, NN(MUL), x, scale, shape), shape);
	if (has_in(t, bias))
		x = scaled(t, NN(ADD), x, bias, shape);
	t->work = (is_centred ? 6 : 4) * (uint64_t)shape_count(shape);
	set_out(t, 0, x, shape);
	if (!*onnx(t)->node->domain && is_centred)
		set_out(t, 1, mean, &small);
	if (!*onnx(t)->node->domain)
		set_out(t, is_centred ? 2 : 1, by, &small);
}

void layer_norm_op(struct lowering *t)
{
	set_layer_norm(t, float_in(t, 0), shape_in(t, 0), true, attr_float(t, "epsilon", 1e-5f), 1,
		       2);
}

void rms_norm_op(struct lowering *t)
{
	set_layer_norm(t, float_in(t, 0), shape_in(t, 0), false, attr_float(t, "epsilon", 1e-5f), 1,
		       NO_VALUE);
}

/*
 * Translates SkipLayerNormalization, with the inputs x, skip to add, scale, bias (not in the
 * simplified operator), and a second bias to add.
 */
void skip_layer_norm_op(struct lowering *t)
{
	const bool is_simple = is_node(t, "SkipSimplifiedLayerNormalization");
	const struct shape *shape = shape_in(t, 0);
	uint32_t more = is_simple ? 3 : 4, x = plus_in(t, float_in(t, 0), shape, 1);

	if (has_in(t, more))
		x = plus_in(t, x, shape, more);
	if (has_out(t, 1) || has_out(t, 2))
		refuse(t, "the mean and the deviation are not supported as outputs");
	set_out(t, 3, x, shape);
	set_layer_norm(t, x, shape, !is_simple, attr_float(t, "epsilon", 1e-12f), 2,
		       is_simple ? NO_VALUE : 3);
}

/*
 * Adds rows of input `table` to x; input `places` has the rows' int32 indices. If x is NO_OPERAND,
 * returns only the rows.
 */
static uint32_t plus_rows(struct lowering *t, uint32_t x, uint32_t table, uint32_t places,
			  const struct shape *to)
{
	const struct shape *shape = shape_in(t, table), *ids = shape_in(t, places);
	const struct shape of = { 3, { ids->dims[0], ids->dims[1], to->dims[2] } };
	uint32_t rows = (uint32_t)shape_count(ids);

	if (REFUSED_IF(t, shape->rank != 2 || ids->rank != 2 || shape->dims[1] != to->dims[2] ||
		       (ids->dims[0] != 1 && ids->dims[0] != to->dims[0]) ||
		       ids->dims[1] != to->dims[1], "the shape of input %u does not fit", places))
		return NO_OPERAND;
	table = gathered(t, float_in(t, table), shape, 0, view(t, in(t, places), 1, &rows), rows);
	table = view_shape(t, table, &of);
	return x == NO_OPERAND ? table : broadcast(t, NN(ADD), x, to, table, &of, to);
}

/*
 * Looks up words, positions and segments in tables (inputs 2 to 4), adds the three table rows, and
 * normalises the sum.
 */
void embed_layer_norm_op(struct lowering *t)
{
	const struct shape *ids = shape_in(t, 0), *table = shape_in(t, 2);
	struct shape to = { 3, { 0 } }, line, batch = { 1, { 0 } };
	uint32_t x, lengths;
	int32_t *none;

	if (REFUSED_IF(t, ids->rank != 2 || table->rank != 2,
		       "%d dimensions, must be 2", ids->rank))
		return;
	to = (struct shape){ 3, { ids->dims[0], ids->dims[1], table->dims[1] } };
	line = (struct shape){ 2, { ids->dims[1], table->dims[1] } };
	x = plus_rows(t, NO_OPERAND, 2, 0, &to);
	if (has_in(t, 1))
		x = plus_rows(t, x, 4, 1, &to);
	if (has_in(t, 8))
		x = plus_rows(t, x, 3, 8, &to);
	else
		x = broadcast(t, NN(ADD), x, &to,
			      rows_from(t, float_in(t, 3), 0, (uint32_t)line.dims[0],
					(uint32_t)line.dims[1]), &line, &to);
	set_out(t, 2, x, &to);
	if (has_out(t, 1)) {
		/* Output 1 is the number of unmasked words in each sentence; 0 without a mask. */
		batch.dims[0] = ids->dims[0];
		if (has_in(t, 7)) {
			lengths = cast(t, in(t, 7), NN(TENSOR_FLOAT32));
			lengths = reduced(t, NN(REDUCE_SUM), lengths, ids, (bool[]){ false, true });
			set_out(t, 1, cast(t, lengths, NN(TENSOR_INT32)), &batch);
		} else {
			none = builder_alloc(t->b, (size_t)ids->dims[0] * sizeof(*none));
			set_out_data(t, 1, ONNX_INT32, none, &batch);
		}
	}
	set_layer_norm(t, x, &to, true, attr_float(t, "epsilon", 1e-12f), 5, 6);
}

void mean_variance_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const struct attribute *axes = attr(t, "axes");
	bool marked[MAX_RANK] = { true, false, true, true };
	struct shape small;
	uint32_t x = float_in(t, 0), by, mean;

	for (size_t i = 0; axes && axes->ints && i < axes->count; i++) {
		if (!i)
			memset(marked, 0, sizeof(marked));
		marked[axis_of(t, axes->ints[i], shape->rank)] = true;
	}
	if (t->refused)
		return;
	small = reduced_shape(shape, marked, true);
	mean = reduced(t, NN(MEAN), x, shape, marked);
	x = by_reduced(t, NN(SUB), x, shape, mean, &small);
	by = reduced(t, NN(MEAN), arithmetic(t, NN(MUL), x, x), shape, marked);
	by = with_number(t, NN(ADD), unary(t, NN(SQRT), by), 1e-9f);
	t->work = 6 * (uint64_t)shape_count(shape);
	set_out(t, 0, broadcast(t, NN(DIV), x, shape, by, &small, shape), shape);
}

void lp_norm_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int axis = axis_of(t, attr_int(t, "axis", -1), shape->rank);
	uint32_t x = float_in(t, 0);

	if (REFUSED_IF(t, attr_int(t, "p", 2) != 2, "p must be 2") ||
	    REFUSED_IF(t, shape->rank > MAX_DIMS, "at most 4 dimensions are supported"))
		return;
	t->work = 2 * (uint64_t)shape_count(shape);
	set_out(t, 0, EMIT(t, NN(L2_NORMALIZATION), result_like(t, x), x, scalar_int(t, axis)),
		shape);
}

void lrn_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t size = attr_int(t, "size", 1);
	float alpha = attr_float(t, "alpha", 1e-4f);
	uint32_t x = float_in(t, 0);

	if (REFUSED_IF(t, size % 2 != 1 || size > 1 << 20 || size < 1,
		       "size must be odd and at most 2^20, is %lld", (long long)size) ||
	    REFUSED_IF(t, shape->rank > MAX_DIMS || shape->rank < 2,
		       "%d dimensions, must be 2 to 4", shape->rank))
		return;
	t->work = (uint64_t)size * (uint64_t)shape_count(shape);
	set_out(t, 0, EMIT(t, NN(LOCAL_RESPONSE_NORMALIZATION), result_like(t, x), x,
			   scalar_int(t, (int32_t)(size / 2)),
			   scalar_float(t, x, attr_float(t, "bias", 1)),
			   scalar_float(t, x, alpha / (float)size),
			   scalar_float(t, x, attr_float(t, "beta", 0.75f)),
			   scalar_int(t, 1)), shape);
}

/*
 * From operator set 13 on, Softmax normalises along one axis. Before operator set 13, Softmax
 * normalises over the given axis and all axes after it.
 */
void softmax_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	/* QLinearSoftmax has the number of its operator set in an attribute. */
	bool old = attr_int(t, "opset", op_set(t)) < 13;
	int64_t named = attr_int(t, "axis", old && !attr(t, "opset") ? 1 : -1);
	int axis = shape->rank ? axis_of(t, named, shape->rank) : 0;
	uint32_t dims[3] = { 1, 1, 1 }, x, out;

	for (int i = 0; i < shape->rank; i++)
		dims[i < axis ? 0 : i == axis || old ? 1 : 2] *= (uint32_t)shape->dims[i];
	t->work = 4 * (uint64_t)shape_count(shape);
	if (t->code == NN(SOFTMAX) && bytes_in(t, &x, &out) &&
	    fits_quantised(t, t->code, x, x, out))
		return set_bytes(t, softmax_of(t, t->code, view(t, x, 3, dims), 1, 1, out), shape);
	x = view(t, float_in(t, 0), 3, dims);
	set_out(t, 0, softmax_of(t, t->code, x, 1, 1, x), shape);
}
