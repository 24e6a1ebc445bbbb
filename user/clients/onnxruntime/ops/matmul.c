// SPDX-License-Identifier: MIT
/* GEMM: a product by one matrix becomes FULLY_CONNECTED, a batch of products BATCH_MATMUL. */
#include "ops.h"

#include <string.h>

#include "../dynamic.h"
#include "clients/dynamic.h"

uint32_t product(struct lowering *t, uint32_t a, uint32_t b, uint32_t bias, uint32_t rows,
		 uint32_t columns)
{
	uint32_t out = result(t, a, 2, (uint32_t[]){ rows, columns });

	return EMIT(t, NN(FULLY_CONNECTED), out, a, b, bias, scalar_int(t, t->fused));
}

/*
 * Returns input 1 as weights [columns, inner]. With `is_transposed`, input 1 already is [columns,
 * inner].
 */
static uint32_t weights_in(struct lowering *t, bool is_transposed, uint32_t inner,
			   uint32_t columns)
{
	struct operand type = { .type = nnapi_type(type_in(t, 1)), .rank = 2,
				.dims = { columns, inner } };
	const void *data;

	if (is_transposed)
		return view(t, in(t, 1), 2, type.dims);
	if (constant_count(t, 1) >= 0 && type_in(t, 1) != ONNX_INT64) {
		data = data_of_count(t, 1, type_in(t, 1), (int64_t)inner * columns);
		return constant_bytes(t, &type, transposed_copy(t->b, type.type < 0 ? NULL : data,
								onnx_size(type_in(t, 1)), 1, inner,
								columns));
	}
	return transposed(t, view(t, in(t, 1), 2, (uint32_t[]){ inner, columns }), 2,
			  (int[]){ 1, 0 });
}

/* Multiplies rows of 8-bit numbers by constant 8-bit weights and adds a bias. */
static uint32_t bytes_product(struct lowering *t, uint32_t x, const struct weights *weights,
			      bool is_transposed, const int32_t *bias, uint32_t out)
{
	const uint32_t columns = operand_of(t, out)->dims[1], inner = operand_of(t, x)->dims[1];
	const float scale = operand_of(t, x)->scale * weights->scales[0];
	void *elements;

	/*
	 * Even if the weights need no transposition, call transposed_copy(), which then only copies
	 * the weights.
	 */
	elements = transposed_copy(t->b, weights->elements, 1, 1, is_transposed ? 1 : inner,
				   is_transposed ? (size_t)inner * columns : columns);
	return EMIT(t, NN(FULLY_CONNECTED), out, x,
		    weights_operand(t, weights, x, 2, (uint32_t[]){ columns, inner }, 0, elements),
		    bias_ints(t, columns, scale, bias), scalar_int(t, t->fused));
}

/* Translates a quantised GEMM whose bias is constant, or 0. */
static bool quantised_product(struct lowering *t, uint32_t rows, uint32_t inner,
			      uint32_t columns, bool is_transposed, uint32_t bias_index,
			      const struct shape *shape)
{
	struct weights weights;
	const int32_t *bias;
	uint32_t x, out;

	if (t->refused || !quantised_weights(t, 1, is_transposed ? 0 : 1, &weights) ||
	    weights.shape.rank != 2 || weights.scale_count != 1 || !quantised_node(t, 1, true))
		return false;
	x = view(t, quantised_in(t, 0), 2, (uint32_t[]){ rows, inner });
	bias = quantised_bias(t, bias_index, operand_of(t, x)->scale, &weights, columns);
	if (!bias) {
		t->fused = NN(FUSED_NONE);
		return false;
	}
	out = quantised_result(t, 2, (uint32_t[]){ rows, columns });
	set_quantised_out(t, bytes_product(t, x, &weights, is_transposed, bias, out), shape);
	return true;
}

/* Computes alpha * A * B + beta * C. */
void gemm_op(struct lowering *t)
{
	bool at = attr_int(t, "transA", 0), bt = attr_int(t, "transB", 0);
	float alpha = attr_float(t, "alpha", 1), beta = attr_float(t, "beta", 1);
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1), *c;
	struct shape shape = { .rank = 2 };
	uint32_t x, y, rows, inner, columns;

	if (REFUSED_IF(t, a->rank != 2 || b->rank != 2,
		       "the factors have %d and %d dimensions, must be 2", a->rank, b->rank))
		return;
	rows = (uint32_t)a->dims[at];
	inner = (uint32_t)a->dims[!at];
	columns = (uint32_t)b->dims[!bt];
	refuse_unless_same(t, inner, b->dims[bt], "%lld columns do not fit %lld rows");
	shape.dims[0] = rows;
	shape.dims[1] = columns;
	t->work = (uint64_t)rows * inner * columns;
	c = has_in(t, 2) ? shape_in(t, 2) : NULL;
	if (!at && alpha == 1 && (beta == 1 || !c) && !is_node(t, "FusedGemm") &&
	    (!c || (c->rank == 1 && c->dims[0] == columns)) &&
	    quantised_product(t, rows, inner, columns, bt, 2, &shape))
		return;
	x = float_in(t, 0);
	if (at)
		x = transposed(t, x, 2, (int[]){ 1, 0 });
	y = weights_in(t, bt, inner, columns);
	if (alpha == 1 && beta == 1 && c && c->rank && c->dims[c->rank - 1] == columns &&
	    shape_count(c) == columns) {
		x = product(t, x, y, view(t, in(t, 2), 1, &columns), rows, columns);
	} else {
		x = product(t, x, y, zeros(t, x, 1, &columns), rows, columns);
		if (alpha != 1)
			x = with_number(t, NN(MUL), x, alpha);
		if (c && beta != 0) {
			y = in(t, 2);
			if (beta != 1)
				y = with_number(t, NN(MUL), y, beta);
			x = broadcast(t, NN(ADD), x, &shape, y, c, &shape);
		}
	}
	set_out(t, 0, activated(t, x), &shape);
}

/* Swaps the last two dimensions if the matrices are transposed. */
static void transpose_shape(struct shape *shape, bool is_transposed)
{
	const int64_t rows = shape->rank < 2 ? 0 : shape->dims[shape->rank - 2];

	if (!is_transposed || shape->rank < 2)
		return;
	shape->dims[shape->rank - 2] = shape->dims[shape->rank - 1];
	shape->dims[shape->rank - 1] = rows;
}

/*
 * Emits BATCH_MATMUL of inputs 0 and 1, whose batch axes are merged, so that their shapes are
 * [batch, rows, columns].
 */
static void batched(struct lowering *t, struct shape *a, struct shape *b, bool at, bool bt,
		    float alpha,
		    const struct shape *shape, const struct shape *out_shape)
{
	struct shape as = *shape, bs = *shape;
	uint32_t batch = 1, rows, inner, columns, x, y, out;
	int rank = shape->rank;

	for (int i = 0; i < rank - 2; i++)
		batch *= (uint32_t)shape->dims[i];
	as.dims[rank - 2] = a->dims[a->rank - 2];
	as.dims[rank - 1] = a->dims[a->rank - 1];
	bs.dims[rank - 2] = b->dims[b->rank - 2];
	bs.dims[rank - 1] = b->dims[b->rank - 1];
	rows = (uint32_t)as.dims[rank - 2];
	inner = (uint32_t)as.dims[rank - 1];
	columns = (uint32_t)bs.dims[rank - 1];
	/* Undo the transposition of the shapes, to get the shapes of the inputs in memory. */
	transpose_shape(a, at);
	transpose_shape(&as, at);
	transpose_shape(b, bt);
	transpose_shape(&bs, bt);
	x = view(t, expanded(t, float_in(t, 0), a, &as), 3,
		 (uint32_t[]){ batch, at ? inner : rows, at ? rows : inner });
	y = view(t, expanded(t, in(t, 1), b, &bs), 3,
		 (uint32_t[]){ batch, bt ? columns : inner, bt ? inner : columns });
	out = result(t, x, 3, (uint32_t[]){ batch, rows, columns });
	t->work = (uint64_t)batch * rows * inner * columns;
	x = EMIT(t, NN(BATCH_MATMUL), out, x, y, scalar_bool(t, at), scalar_bool(t, bt));
	set_out(t, 0, alpha == 1 ? x : with_number(t, NN(MUL), x, alpha), out_shape);
}

/*
 * Returns the shape of a matrix product. An input that is a vector counts as a matrix of one row or
 * one column; the result's shape lacks the vector's dimension of size 1.
 */
static struct shape matmul_shape(struct lowering *t, struct shape *a, struct shape *b,
				 struct shape *full)
{
	struct shape shape, ab, bb;
	bool row = a->rank == 1, column = b->rank == 1;

	memset(&shape, 0, sizeof(shape));
	if (row) {
		*a = (struct shape){ .rank = 2, .dims = { 1, a->dims[0] } };
	}
	if (column) {
		*b = (struct shape){ .rank = 2, .dims = { b->dims[0], 1 } };
	}
	if (REFUSED_IF(t, a->rank < 2 || b->rank < 2, "a factor must not be a scalar"))
		return shape;
	refuse_unless_same(t, a->dims[a->rank - 1], b->dims[b->rank - 2], "%lld columns do not fit %lld rows");
	if (t->refused)
		return shape;
	ab = *a;
	bb = *b;
	ab.rank -= 2;
	bb.rank -= 2;
	*full = broadcast_shape(t, &ab, &bb);
	full->dims[full->rank++] = a->dims[a->rank - 2];
	full->dims[full->rank++] = b->dims[b->rank - 1];
	shape = *full;
	if (column)
		shape.rank--;
	if (row) {
		if (!column)
			shape.dims[shape.rank - 2] = shape.dims[shape.rank - 1];
		shape.rank--;
	}
	return shape;
}

void matmul_op(struct lowering *t)
{
	struct shape a = *shape_in(t, 0), b = *shape_in(t, 1), full = { 0 }, shape;
	const bool at = attr_int(t, "transA", 0), bt = attr_int(t, "transB", 0);
	float alpha = attr_float(t, "alpha", 1);
	uint32_t rows, inner, columns, x;

	if (attr_int(t, "transBatchA", 0) || attr_int(t, "transBatchB", 0))
		refuse(t, "transBatchA and transBatchB are not supported");
	if ((at && a.rank < 2) || (bt && b.rank < 2))
		refuse(t, "a vector cannot be transposed");
	transpose_shape(&a, at);
	transpose_shape(&b, bt);
	shape = matmul_shape(t, &a, &b, &full);
	if (t->refused)
		return;
	inner = (uint32_t)a.dims[a.rank - 1];
	columns = (uint32_t)b.dims[b.rank - 1];
	if (b.rank != 2 || (at && a.rank > 2))
		return batched(t, &a, &b, at, bt, alpha, &full, &shape);
	rows = (uint32_t)(shape_count(&a) / inner);
	t->work = (uint64_t)rows * inner * columns;
	if (!at && alpha == 1 && quantised_product(t, rows, inner, columns, bt, 2, &shape))
		return;
	x = view(t, float_in(t, 0), 2, (uint32_t[]){ at ? inner : rows, at ? rows : inner });
	if (at)
		x = transposed(t, x, 2, (int[]){ 1, 0 });
	x = product(t, x, weights_in(t, bt, inner, columns), zeros(t, x, 1, &columns), rows,
		    columns);
	set_out(t, 0, alpha == 1 ? x : with_number(t, NN(MUL), x, alpha), &shape);
}

uint32_t product_in(struct lowering *t, uint32_t x, uint32_t rows, uint32_t inner, uint32_t columns)
{
	uint32_t bias = has_in(t, 2) ? view(t, in(t, 2), 1, &columns) : zeros(t, x, 1, &columns);

	t->work += (uint64_t)rows * inner * columns;
	x = view(t, x, 2, (uint32_t[]){ rows, inner });
	return product(t, x, weights_in(t, false, inner, columns), bias, rows, columns);
}

/* ---- Einsum of two inputs ---- */

/*
 * Reads the labels of both inputs and of the output. Rejects an equation if a term has the same
 * label twice.
 */
static bool read_equation(struct lowering *t, char labels[3][MAX_RANK + 1])
{
	const char *text = attr_string(t, "equation", "");
	int term = 0, rank = 0;

	for (const char *at = text; *at; at++) {
		const bool is_label = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');

		if (*at == ' ')
			continue;
		if (is_label && rank < MAX_RANK && !strchr(labels[term], *at)) {
			labels[term][rank++] = *at;
		} else if (term < 2 && (term ? !strncmp(at, "->", 2) : *at == ',')) {
			at += term++;
			rank = 0;
		} else {
			term = 3;
			break;
		}
	}
	if (term == 2)
		return true;
	refuse(t, "equation %s must multiply two inputs without a diagonal", text);
	return false;
}

/*
 * Sets `order` to the axes with the labels in `wanted`. Returns the product of the sizes of the
 * axes in `order`.
 */
static uint32_t order_of(const char *labels, const struct shape *shape, const char *wanted,
			 int *order)
{
	uint32_t count = 1;

	for (int i = 0; wanted[i]; i++) {
		order[i] = (int)(strchr(labels, wanted[i]) - labels);
		count *= (uint32_t)shape->dims[order[i]];
	}
	return count;
}

/*
 * Multiplies [batch, rows, inner] by [batch, columns, inner], where each name stands for any number
 * of axes.
 */
void einsum_op(struct lowering *t)
{
	enum { BATCH, ROWS, COLUMNS, INNER, PARTS };
	char labels[3][MAX_RANK + 1] = { 0 }, parts[PARTS][MAX_RANK + 1] = { 0 };
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	uint32_t batch, rows, columns, inner, x, y, out;
	int order[2][2 * MAX_RANK], of_out[MAX_RANK];
	struct shape full = { 0 }, shape = { 0 };

	if (REFUSED_IF(t, in_count(t) != 2, "%u inputs, must be 2", in_count(t)) ||
	    !read_equation(t, labels))
		return;
	if ((int)strlen(labels[0]) != a->rank || (int)strlen(labels[1]) != b->rank)
		return refuse(t, "the equation is not for %d and %d dimensions", a->rank, b->rank);
	for (int i = 0; i < a->rank + b->rank; i++) {
		const bool is_a = i < a->rank;
		const char label = is_a ? labels[0][i] : labels[1][i - a->rank];
		const bool in_both = strchr(labels[is_a], label), in_out = strchr(labels[2], label);
		char *part = parts[!in_both ? is_a ? ROWS : COLUMNS : in_out ? BATCH : INNER];

		if (!in_both && !in_out)
			return refuse(t, "label %c must be in both inputs or in the output", label);
		if (is_a && in_both)
			refuse_unless_same(t, a->dims[i], b->dims[strchr(labels[1], label) - labels[1]],
					   "a label has the sizes %lld and %lld");
		if (is_a || !in_both)
			strncat(part, &label, 1);
	}
	if (t->refused)
		return;
	if (strlen(labels[2]) !=
	    strlen(parts[BATCH]) + strlen(parts[ROWS]) + strlen(parts[COLUMNS]))
		return refuse(t, "the output has labels that the inputs do not have");
	batch = order_of(labels[0], a, parts[BATCH], order[0]);
	order_of(labels[1], b, parts[BATCH], order[1]);
	rows = order_of(labels[0], a, parts[ROWS], order[0] + strlen(parts[BATCH]));
	columns = order_of(labels[1], b, parts[COLUMNS], order[1] + strlen(parts[BATCH]));
	inner = order_of(labels[0], a, parts[INNER], order[0] + a->rank - strlen(parts[INNER]));
	order_of(labels[1], b, parts[INNER], order[1] + b->rank - strlen(parts[INNER]));
	x = permuted(t, float_in(t, 0), a, order[0]);
	y = permuted(t, in(t, 1), b, order[1]);
	out = batch_product(t, x, y, (uint32_t[]){ batch, rows, inner, columns }, true);
	for (int p = BATCH; p <= COLUMNS; p++)
		for (int i = 0; parts[p][i]; i++) {
			const char *at = strchr(labels[2], parts[p][i]);
			const char *in_a = strchr(labels[0], parts[p][i]);

			of_out[at - labels[2]] = full.rank;
			full.dims[full.rank++] = in_a ? a->dims[in_a - labels[0]] :
						 b->dims[strchr(labels[1],
								parts[p][i]) - labels[1]];
		}
	shape.rank = full.rank;
	for (int i = 0; i < full.rank; i++)
		shape.dims[i] = full.dims[of_out[i]];
	set_out(t, 0, permuted(t, out, &full, of_out), &shape);
}

/* ---- what is quantised ---- */

void dynamic_matmul(struct lowering *t, const struct dynamic_node *d)
{
	const struct shape *a, *b = &value_at(t, d->product->in[1])->shape;
	uint32_t x = dynamic_in(t, d, &a), rows, inner, columns, w, out;
	const void *data;
	struct shape shape;

	if (REFUSED_IF(t, b->rank != 2 || a->rank < 1, "input 1 must be a matrix, and input 0 no scalar"))
		return;
	refuse_unless_same(t, a->dims[a->rank - 1], b->dims[0], "%lld columns do not fit %lld rows");
	if (t->refused)
		return;
	inner = (uint32_t)b->dims[0];
	columns = (uint32_t)b->dims[1];
	shape = *a;
	shape.dims[shape.rank - 1] = columns;
	rows = (uint32_t)(shape_count(a) / inner);
	t->work = (uint64_t)rows * inner * columns;
	data = value_of_count(t, d->product->in[1], value_at(t, d->product->in[1])->type,
			      (int64_t)inner * columns);
	x = view(t, x, 2, (uint32_t[]){ rows, inner });
	w = dynamic_weights(t, d, data, 2, (uint32_t[]){ columns, inner });
	out = result(t, x, 2, (uint32_t[]){ rows, columns });
	if (has_own(t))
		out = EMIT(t, NN_OP_DYNAMIC_FULLY_CONNECTED, out, x, w, dynamic_bias(t, d, columns),
			   scalar_int(t, NN(FUSED_NONE)), scalar_int(t, DYNAMIC_TENSOR));
	else
		out = product(t, x, w, dynamic_bias(t, d, columns), rows, columns);
	set_out(t, 0, out, &shape);
}

void qlinear_matmul_op(struct lowering *t)
{
	struct shape a = *shape_in(t, 0), b = *shape_in(t, 3), full = { 0 }, shape;
	const bool is_gemm = is_node(t, "QGemm"), bt = attr_int(t, "transB", 0);
	uint32_t rows, inner, columns, x, out;
	struct weights weights;
	const int32_t *bias;

	if (attr_int(t, "transA", 0) || attr_float(t, "alpha", 1) != 1)
		refuse(t, "transA, and alpha other than 1, are not supported");
	if (b.rank != 2)
		refuse(t, "the second factor must be a matrix");
	transpose_shape(&b, bt);
	shape = matmul_shape(t, &a, &b, &full);
	if (REFUSED_IF(t, type_in(t, 0) != type_out(t, 0), "the first factor and the output must have one type"))
		return;
	if (!weights_read(t, onnx(t)->node, 3, &b, 1, &weights) || weights.scale_count != 1)
		return refuse(t, "the weights must be constant and have one scale");
	inner = (uint32_t)a.dims[a.rank - 1];
	columns = (uint32_t)b.dims[1];
	rows = (uint32_t)(shape_count(&a) / inner);
	t->work = (uint64_t)rows * inner * columns;
	out = qlinear_result(t, is_gemm ? 7 : 6, 2, (uint32_t[]){ rows, columns });
	x = view(t, qlinear_in(t, 0), 2, (uint32_t[]){ rows, inner });
	bias = is_gemm && has_in(t, 6) ? data_of_count(t, 6, ONNX_INT32, columns) :
					 builder_alloc(t->b, columns * sizeof(*bias));
	if (!t->refused)
		set_out(t, 0, bytes_product(t, x, &weights, bt, bias, out), &shape);
}
