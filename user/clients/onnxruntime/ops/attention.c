// SPDX-License-Identifier: MIT
/*
 * Attention, and rotary position embeddings. Attention consists of two GEMMs for each head, with a
 * mask and Softmax between the two GEMMs.
 */
#include "ops.h"

#include <math.h>
#include <string.h>

struct attention {
	/* groups: number of heads of K and of V; several heads of Q share a head of K and V */
	uint32_t batch, heads, groups;
	/* numbers of positions: in Q, in the past, and in past and K together */
	uint32_t rows, past, columns;
	uint32_t depth, width;		/* size of a head of Q or K; size of a head of V */
};

/* Transposes [batch, positions, heads * depth] to [batch, heads, positions, depth]. */
static uint32_t as_heads(struct lowering *t, uint32_t x, const struct shape *shape, int64_t heads,
			 uint32_t dims[4])
{
	if (REFUSED_IF(t, shape->rank != 3 || heads < 1 || shape->dims[2] % heads,
		       "%lld heads must divide the last of 3 dimensions, not of %d",
		       (long long)heads, shape->rank))
		return NO_OPERAND;
	dims[0] = (uint32_t)shape->dims[0];
	dims[1] = (uint32_t)heads;
	dims[2] = (uint32_t)shape->dims[1];
	dims[3] = (uint32_t)(shape->dims[2] / heads);
	x = view(t, x, 4, (uint32_t[]){ dims[0], dims[2], dims[1], dims[3] });
	return transposed(t, x, 4, (int[]){ 0, 2, 1, 3 });
}

/* Returns an input of three or four dimensions as [batch, heads, positions, depth]. */
static uint32_t heads_in(struct lowering *t, uint32_t index, const char *named, uint32_t dims[4])
{
	const struct shape *shape = shape_in(t, index);
	uint32_t x = float_in(t, index);

	if (t->refused || shape->rank != 4)
		return as_heads(t, x, shape, attr_int(t, named, 0), dims);
	flat(shape, dims);
	return x;
}

/*
 * Concatenates the past [batch, heads, past, depth] and the new positions x. Sets output `out` to
 * the concatenated tensor.
 */
static uint32_t with_past(struct lowering *t, uint32_t index, uint32_t x, uint32_t dims[4],
			  uint32_t out, uint32_t *past)
{
	struct shape shape = { .rank = 4 };

	*past = 0;
	if (has_in(t, index)) {
		const struct shape *before = any_shape_in(t, index);

		if (!t->refused && (before->rank != 4 || before->dims[0] != dims[0] ||
				    before->dims[1] != dims[1] || before->dims[3] != dims[3]))
			refuse(t, "the shape of the past keys or values does not fit");
		*past = (uint32_t)before->dims[2];
		dims[2] += *past;
		/* The past has no positions before the first step of a generation. */
		if (*past)
			x = EMIT(t, NN(CONCATENATION), result(t, x, 4, dims), in(t, index), x,
				 scalar_int(t, 2));
	}
	for (int i = 0; i < 4; i++)
		shape.dims[i] = dims[i];
	if (has_out(t, out))
		set_out(t, out, x, &shape);
	return x;
}

/*
 * Returns numbers to add to the products of Q and K: 0 for visible positions, and `unseen` for
 * hidden positions.
 */
static uint32_t masked(struct lowering *t, uint32_t x, uint32_t seen, const struct shape *shape,
		       float unseen)
{
	uint32_t dims[MAX_DIMS], rank = flat(shape, dims);

	return selected(t, seen, filled(t, x, rank, dims, 0), filled(t, x, rank, dims, unseen));
}

static uint32_t add_mask(struct lowering *t, const struct attention *a, uint32_t x,
			 const struct shape *shape, uint32_t index)
{
	struct shape of, to;
	uint32_t mask;

	/* With more keys than rows, ONNX Runtime lets the last row see all keys. */
	if (attr_int(t, "unidirectional", 0))
		refuse_unless_same(t, (int64_t)a->rows + a->past, a->columns,
				   "%lld rows with the past, but %lld keys, are not supported with unidirectional");
	if (attr_int(t, "is_causal", 0) || attr_int(t, "unidirectional", 0)) {
		uint8_t *seen = builder_alloc(t->b, (size_t)a->rows * a->columns);
		struct operand type = { .type = NN(TENSOR_BOOL8), .rank = 2,
					.dims = { a->rows, a->columns } };

		of = (struct shape){ 2, { a->rows, a->columns } };
		for (uint32_t i = 0; seen && i < a->rows * a->columns; i++)
			seen[i] = i % a->columns <= i / a->columns + a->past;
		/*
		 * Each row has a visible position, so no sum of exponentials is 0, even if hidden
		 * positions have -INFINITY.
		 */
		mask = masked(t, x, constant_bytes(t, &type, seen), &of, -INFINITY);
		x = broadcast(t, NN(ADD), x, shape, mask, &of, shape);
	}
	if (!has_in(t, index))
		return x;
	of = *shape_in(t, index);
	mask = in(t, index);
	to = broadcast_shape(t, shape, &of);
	if (!t->refused && (to.rank != 4 || memcmp(to.dims, shape->dims, 4 * sizeof(*to.dims))))
		refuse(t, "the shape of the mask does not fit");
	if (type_in(t, index) == ONNX_BOOL)
		mask = masked(t, x, mask, &of, -3.402823466e+38f);
	else if (!t->refused && operand_of(t, mask)->type != operand_of(t, x)->type)
		refuse(t, "the mask is of %s, must be bool or as Q", onnx_name(type_in(t, index)));
	return broadcast(t, NN(ADD), x, shape, mask, &of, shape);
}

/* Rejects Q, K and V, of 4 dimensions each, unless their batches and the lengths of K and V fit. */
static void check_sizes(struct lowering *t, const uint32_t *q, const uint32_t *k, const uint32_t *v)
{
	static const char text[] = "the shapes of Q, K, V, the bias or the past do not fit";

	refuse_unless_same(t, q[0], k[0], text);
	refuse_unless_same(t, k[0], v[0], text);
	refuse_unless_same(t, k[2], v[2], text);
}

static bool read_attention(struct lowering *t, struct attention *a, uint32_t *q, uint32_t *k,
			   uint32_t *v)
{
	uint32_t qs[4] = {}, ks[4] = {}, vs[4] = {}, past;

	if (has_in(t, 6) || attr(t, "softmax_precision"))
		refuse(t, "nonpad_kv_seqlen and softmax_precision are not supported");
	*q = heads_in(t, 0, "q_num_heads", qs);
	*k = heads_in(t, 1, "kv_num_heads", ks);
	*v = heads_in(t, 2, "kv_num_heads", vs);
	if (t->refused)
		return false;
	*k = with_past(t, 4, *k, ks, 1, &a->past);
	*v = with_past(t, 5, *v, vs, 2, &past);
	check_sizes(t, qs, ks, vs);
	if (!t->refused && (ks[1] != vs[1] || qs[1] % ks[1] || qs[3] != ks[3] || past != a->past))
		refuse(t, "the shapes of Q, K, V, the bias or the past do not fit");
	a->batch = qs[0];
	a->heads = qs[1];
	a->groups = ks[1];
	a->rows = qs[2];
	a->columns = ks[2];
	a->depth = qs[3];
	a->width = vs[3];
	return !t->refused;
}

/*
 * Multiplies x by each head of K or V. The rows of all heads of Q that share a head of K or V form
 * one matrix.
 */
static uint32_t head_product(struct lowering *t, const struct attention *a, uint32_t x,
			     uint32_t y, uint32_t inner, uint32_t columns, bool is_transposed)
{
	uint32_t batch = a->batch * a->groups, rows = a->heads / a->groups * a->rows;

	x = batch_product(t, x, y, (uint32_t[]){ batch, rows, inner, columns }, is_transposed);
	return view(t, x, 4, (uint32_t[]){ a->batch, a->heads, a->rows, columns });
}

/*
 * Sets output 0 to x as [batch, heads, rows, width]; as [batch, rows, heads * width] if input 0 has
 * three dimensions.
 */
static void set_heads(struct lowering *t, const struct attention *a, uint32_t x)
{
	struct shape out = { 4, { a->batch, a->heads, a->rows, a->width } };

	if (shape_in(t, 0)->rank == 3) {
		x = transposed(t, x, 4, (int[]){ 0, 2, 1, 3 });
		out = (struct shape){ 3, { a->batch, a->rows, (int64_t)a->heads * a->width } };
	}
	set_out(t, 0, x, &out);
}

/*
 * Hides positions by an int32 mask; the mask has 1 for each visible position, or the length of each
 * sequence of the batch.
 */
static uint32_t add_padding(struct lowering *t, const struct attention *a, uint32_t x,
			    const struct shape *shape, uint32_t index)
{
	const struct shape line = { 4, { 1, 1, 1, a->columns } };
	struct shape of = { 4, { a->batch, 1, 1, a->columns } };
	const struct shape *given = shape_in(t, index);
	uint32_t mask = in(t, index), seen;
	int32_t *places;

	if (!t->refused && !is_type(t, mask, NN(TENSOR_INT32)))
		refuse(t, "the mask is of %s, must be int32", onnx_name(type_in(t, index)));
	if (given->rank == 1 && given->dims[0] == a->batch) {
		const struct shape lengths = { 4, { a->batch, 1, 1, 1 } };

		places = builder_alloc(t->b, a->columns * sizeof(*places));
		for (uint32_t i = 0; places && i < a->columns; i++)
			places[i] = (int32_t)i;
		seen = broadcast(t, NN(GREATER), view_shape(t, mask, &lengths), &lengths,
				 constant_ints(t, 4, (uint32_t[]){ 1, 1, 1, a->columns }, places),
				 &line, &of);
	} else {
		of.dims[2] = given->rank == 3 ? a->rows : 1;
		if (given->rank < 2 || given->rank > 3 || shape_count(given) != shape_count(&of))
			refuse(t, "the shape of a mask of %d dimensions does not fit", given->rank);
		seen = t->refused ? NO_OPERAND :
		       compared_number(t, NN(GREATER), view_shape(t, mask, &of), 0);
	}
	mask = masked(t, x, seen, &of, attr_float(t, "mask_filter_value", -10000));
	return broadcast(t, NN(ADD), x, shape, mask, &of, shape);
}

/* Computes the outputs from q, k and v, which are [batch, heads, positions, depth]. */
static void attend(struct lowering *t, const struct attention *a, uint32_t q, uint32_t k,
		   uint32_t v, uint32_t padding, uint32_t bias)
{
	const struct shape shape = { 4, { a->batch, a->heads, a->rows, a->columns } };
	const int64_t mode = attr_int(t, "qk_matmul_output_mode", 0);
	const float usual = 1 / sqrtf((float)a->depth), cap = attr_float(t, "softcap", 0);
	float scale = attr_float(t, "scale", usual);
	uint32_t x, stages[4];

	/* In ONNX Runtime's own operators, a scale of 0 means the default scale. */
	scale = scale == 0 && *onnx(t)->node->domain ? usual : scale;
	x = head_product(t, a, with_number(t, NN(MUL), q, scale), k, a->depth, a->columns, true);
	stages[0] = x;
	stages[1] = x = add_mask(t, a, x, &shape, bias);
	if (has_in(t, padding))
		x = add_padding(t, a, x, &shape, padding);
	if (cap > 0)
		x = with_number(t, NN(MUL),
				unary(t, NN(TANH), with_number(t, NN(DIV), x, cap)), cap);
	stages[2] = x;
	stages[3] = x = softmax_of(t, NN(SOFTMAX), x, 1, 3, x);
	if (has_out(t, 3) &&
	    !REFUSED_IF(t, mode < 0 || mode > 3, "output mode %lld is not 0 to 3", (long long)mode))
		set_out(t, 3, stages[mode], &shape);
	set_heads(t, a, head_product(t, a, x, v, a->columns, a->width, false));
}

void attention_op(struct lowering *t)
{
	struct attention a;
	uint32_t q, k, v;

	if (read_attention(t, &a, &q, &k, &v))
		attend(t, &a, q, k, v, NO_VALUE, 3);
}

/* ---- com.microsoft ---- */

/* Translates Attention: one product, whose bias is input 2, computes the columns of Q, K and V. */
void packed_attention_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *weights = shape_in(t, 1);
	const struct attribute *sizes = attr(t, "qkv_hidden_sizes");
	int64_t heads = attr_int(t, "num_heads", 0), width[3], at = 0;
	uint32_t x = float_in(t, 0), part[3], dims[4];
	struct attention a = { 0 };
	struct shape lines;

	if (has_in(t, 4) || has_in(t, 6) || has_out(t, 1) || attr_int(t, "do_rotary", 0))
		refuse(t, "past, present and do_rotary are not supported");
	if (!t->refused && (shape->rank != 3 || weights->rank != 2 ||
			    weights->dims[0] != shape->dims[2] ||
			    (sizes && (!sizes->ints || sizes->count != 3))))
		refuse(t, "the shapes of input, weights or qkv_hidden_sizes do not fit");
	for (int i = 0; !t->refused && i < 3; i++) {
		width[i] = sizes ? sizes->ints[i] : weights->dims[1] / 3;
		if (heads < 1 || width[i] < 1 || width[i] > weights->dims[1] || width[i] % heads)
			refuse(t, "%lld heads must divide %lld elements", (long long)heads,
			       (long long)width[i]);
		else
			at += width[i];
	}
	if (REFUSED_IF(t, at != weights->dims[1] || width[0] != width[1],
		       "the weights must have the columns of Q, K and V, and Q those of K"))
		return;
	lines = (struct shape){ 2, { shape->dims[0] * shape->dims[1], at } };
	x = product_in(t, x, (uint32_t)lines.dims[0], (uint32_t)shape->dims[2], (uint32_t)at);
	a = (struct attention){ .batch = (uint32_t)shape->dims[0], .heads = (uint32_t)heads,
				.groups = (uint32_t)heads, .rows = (uint32_t)shape->dims[1],
				.columns = (uint32_t)shape->dims[1],
				.depth = (uint32_t)(width[0] / heads), .width =
					(uint32_t)(width[2] / heads) };
	at = 0;
	for (int i = 0; i < 3; at += width[i++]) {
		const struct shape rows = { 3, { a.batch, a.rows, width[i] } };

		part[i] = as_heads(t, taken(t, x, &lines, 1, at, width[i]), &rows, heads, dims);
	}
	attend(t, &a, part[0], part[1], part[2], 3, 5);
}

/*
 * Translates MultiHeadAttention, whose inputs are Q, K and V. Input 3 has the biases of Q, K and V,
 * one after the other.
 */
void multi_head_attention_op(struct lowering *t)
{
	uint32_t dims[3][4] = { { 0 } }, part[3], past;
	int64_t heads = attr_int(t, "num_heads", 0), at = 0;
	struct attention a = { 0 };

	if (!has_in(t, 1) || !has_in(t, 2) || has_in(t, 8) || has_out(t, 3))
		refuse(t,
		       "packed Q, K and V, past_sequence_length and output qk are not supported");
	for (uint32_t i = 0; !t->refused && i < 3; i++) {
		const struct shape *shape = shape_in(t, i);
		uint32_t x = float_in(t, i);
		int64_t width = shape->dims[2];

		if (!t->refused && has_in(t, 3) && at + width <= shape_count(shape_in(t, 3))) {
			const struct shape one = { 1, { width } };

			x = broadcast(t, NN(ADD), x, shape, taken(t, in(t, 3), shape_in(t, 3), 0,
								  at, width),
				      &one, shape);
		}
		at += width;
		part[i] = as_heads(t, x, shape, heads, dims[i]);
	}
	if (t->refused)
		return;
	part[1] = with_past(t, 6, part[1], dims[1], 1, &a.past);
	part[2] = with_past(t, 7, part[2], dims[2], 2, &past);
	check_sizes(t, dims[0], dims[1], dims[2]);
	if ((has_in(t, 3) && shape_count(shape_in(t, 3)) != at) || a.past != past || dims[0][3] != dims[1][3])
		refuse(t, "the shapes of Q, K, V, the bias or the past do not fit");
	a = (struct attention){ .batch = dims[0][0], .heads = dims[0][1], .groups = dims[0][1],
				.rows = dims[0][2], .past = past, .columns = dims[1][2],
				.depth = dims[0][3], .width = dims[2][3] };
	if (!t->refused)
		attend(t, &a, part[0], part[1], part[2], 4, 5);
}

/* ---- positions ---- */

/* Returns the columns [first, first + count) of the last of three axes. */
static uint32_t columns_of(struct lowering *t, uint32_t x, const uint32_t dims[3], uint32_t first,
			   uint32_t count)
{
	const struct shape shape = { 3, { dims[0], dims[1], dims[2] } };

	return taken(t, x, &shape, 2, first, count);
}

/*
 * Returns the cosines or sines [batch, 1, positions, half]: of the positions in input 3, or of all
 * positions if input 3 is missing.
 */
static uint32_t angles_in(struct lowering *t, uint32_t index, const uint32_t dims[4],
			  uint32_t half)
{
	const struct shape *shape = shape_in(t, index);
	uint32_t x = in(t, index), at, count = dims[0] * dims[2];
	uint32_t rank = has_in(t, 3) ? 2 : 3;

	if (REFUSED_IF(t, shape->rank != (int)rank || shape->dims[rank - 1] != half ||
		       (rank == 3 && shape_count(shape) != (int64_t)count * half),
		       "the shape of the cos or sin cache does not fit"))
		return NO_OPERAND;
	if (has_in(t, 3)) {
		if (shape_count(shape_in(t, 3)) != count)
			refuse(t, "the shape of position_ids does not fit");
		at = view(t, in(t, 3), 1, &count);
		x = gathered(t, x, shape, 0, at, count);
	}
	return view(t, x, 4, (uint32_t[]){ dims[0], 1, dims[2], half });
}

/* Rotates points in a plane, whose two coordinates are parts[0] and parts[1]. */
static void turn(struct lowering *t, uint32_t parts[2], const uint32_t dims[4], uint32_t half)
{
	const struct shape all = { 4, { dims[0], dims[1], dims[2], half } };
	const struct shape one = { 4, { dims[0], 1, dims[2], half } };
	uint32_t cosine = angles_in(t, 1, dims, half), sine = angles_in(t, 2, dims, half);
	uint32_t to[4] = { dims[0], dims[1], dims[2], half }, by[2][2];

	for (int i = 0; i < 2; i++) {
		parts[i] = view(t, parts[i], 4, to);
		by[i][0] = broadcast(t, NN(MUL), parts[i], &all, cosine, &one, &all);
		by[i][1] = broadcast(t, NN(MUL), parts[i], &all, sine, &one, &all);
	}
	parts[0] = arithmetic(t, NN(SUB), by[0][0], by[1][1]);
	parts[1] = arithmetic(t, NN(ADD), by[0][1], by[1][0]);
}

void rotary_embedding_op(struct lowering *t)
{
	int64_t rotated_size = attr_int(t, "rotary_embedding_dim", 0);
	bool interleaved = attr_int(t, "interleaved", 0);
	uint32_t dims[4] = {}, x = heads_in(t, 0, "num_heads", dims), flat_dims[3];
	uint32_t parts[3], half, rows = dims[0] * dims[1] * dims[2], whole;

	if (!rotated_size)
		rotated_size = dims[3];
	if (REFUSED_IF(t, rotated_size % 2 || rotated_size < 2 || rotated_size > dims[3],
		       "rotary_embedding_dim is %lld, must be even and 2 to %u",
		       (long long)rotated_size, dims[3]))
		return;
	half = (uint32_t)rotated_size / 2;
	whole = 2 * half;
	flat_dims[0] = 1;
	flat_dims[1] = rows;
	flat_dims[2] = dims[3];
	x = view(t, x, 3, flat_dims);
	parts[2] = whole < dims[3] ? columns_of(t, x, flat_dims, whole, dims[3] - whole) : NO_OPERAND;
	if (interleaved) {
		uint32_t pairs[3] = { rows, half, 2 };

		if (whole < dims[3])
			x = columns_of(t, x, flat_dims, 0, whole);
		x = view(t, x, 3, pairs);
		for (uint32_t i = 0; i < 2; i++)
			parts[i] = columns_of(t, x, pairs, i, 1);
	} else {
		for (uint32_t i = 0; i < 2; i++)
			parts[i] = columns_of(t, x, flat_dims, i * half, half);
	}
	turn(t, parts, dims, half);
	for (uint32_t i = 0; i < 2; i++)
		parts[i] = interleaved ? view(t, parts[i], 3, (uint32_t[]){ rows, half, 1 }) :
					 view(t, parts[i], 3, (uint32_t[]){ 1, rows, half });
	x = EMIT(t, NN(CONCATENATION),
		 result(t, x, 3, interleaved ? (uint32_t[]){ rows, half, 2 } :
					       (uint32_t[]){ 1, rows, whole }),
		 parts[0], parts[1], scalar_int(t, 2));
	x = view(t, x, 3, (uint32_t[]){ 1, rows, whole });
	if (parts[2] != NO_OPERAND)
		x = EMIT(t, NN(CONCATENATION), result(t, x, 3, flat_dims), x, parts[2],
			 scalar_int(t, 2));
	x = view(t, x, 4, dims);
	if (shape_in(t, 0)->rank == 3)
		x = transposed(t, x, 4, (int[]){ 0, 2, 1, 3 });
	t->work = 4 * (uint64_t)rows * whole;
	set_out(t, 0, x, shape_in(t, 0));
}
