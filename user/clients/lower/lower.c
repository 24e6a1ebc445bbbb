// SPDX-License-Identifier: MIT
/* Operands and operations of the NNAPI that nodes are lowered to. */
#include "clients/lower/lower.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clients/device.h"
#include "ops/float16.h"
#include <nnaccel/operation.h>

void refuse(struct lowering *t, const char *format, ...)
{
	va_list args;

	if (t->refused)
		return;
	t->refused = true;
	va_start(args, format);
	vsnprintf(t->reason, sizeof(t->reason), format, args);
	va_end(args);
}

void refuse_unless_same(struct lowering *t, int64_t a, int64_t b, const char *format)
{
	if (t->refused || a == b)
		return;
	refuse(t, format, (long long)a, (long long)b);
	t->apart[0] = a;
	t->apart[1] = b;
}

/* ---- types ---- */

const char *nnapi_type_name(int32_t type)
{
	switch (type) {
	case NN(TENSOR_FLOAT32):
		return "float32";
	case NN(TENSOR_FLOAT16):
		return "float16";
	case NN(TENSOR_INT32):
		return "int32";
	case NN(TENSOR_BOOL8):
		return "bool";
	default:
		return "8-bit tensors";
	}
}

bool has_own(const struct lowering *t)
{
	return t->devices && devices_have_dynamic(t->devices);
}

/* ---- operands ---- */

const struct operand *operand_of(const struct lowering *t, uint32_t operand)
{
	static const struct operand none = { .rank = 1, .dims = { 1, 1, 1, 1 } };

	return operand == NO_OPERAND ? &none : &t->b->operands[operand];
}

bool is_float(const struct lowering *t, uint32_t operand)
{
	int32_t type = operand_of(t, operand)->type;

	return type == NN(TENSOR_FLOAT32) || type == NN(TENSOR_FLOAT16);
}

bool is_quant8(const struct lowering *t, uint32_t operand)
{
	int32_t type = operand_of(t, operand)->type;

	return type == NN(TENSOR_QUANT8_ASYMM) ||
	       type == NN(TENSOR_QUANT8_ASYMM_SIGNED);
}

bool is_type(const struct lowering *t, uint32_t operand, int32_t type)
{
	return operand_of(t, operand)->type == type;
}

bool is_alike(const struct lowering *t, uint32_t a, uint32_t b)
{
	const struct operand *x = operand_of(t, a), *y = operand_of(t, b);

	return x->type == y->type && x->scale == y->scale && x->zero == y->zero;
}

/* Makes a constant whose bytes are copied to the builder. */
uint32_t constant_copy(struct lowering *t, struct operand *operand, const void *data)
{
	void *copy;

	if (t->refused || !data)
		return NO_OPERAND;
	operand->size = builder_size(operand);
	copy = builder_alloc(t->b, operand->size);
	if (!copy)
		return NO_OPERAND;
	memcpy(copy, data, operand->size);
	operand->data = copy;
	return builder_operand(t->b, operand);
}

uint32_t scalar_int(struct lowering *t, int32_t value)
{
	return constant_copy(t, &(struct operand){ .type = NN(INT32) }, &value);
}

uint32_t scalar_bool(struct lowering *t, bool value)
{
	return constant_copy(t, &(struct operand){ .type = NN(BOOL) }, &value);
}

uint32_t scalar_float(struct lowering *t, uint32_t like, float value)
{
	uint16_t fp16 = nn_float_to_fp16(value);

	if (operand_of(t, like)->type == NN(TENSOR_FLOAT16))
		return constant_copy(t, &(struct operand){ .type = NN(FLOAT16) }, &fp16);
	return constant_copy(t, &(struct operand){ .type = NN(FLOAT32) }, &value);
}

uint32_t vector_int(struct lowering *t, uint32_t count, const int32_t *values)
{
	return constant_ints(t, 1, &count, values);
}

static struct operand shaped(int32_t type, uint32_t rank, const uint32_t *dims)
{
	struct operand operand = { .type = type, .rank = rank };

	memcpy(operand.dims, dims, rank * sizeof(*dims));
	return operand;
}

static uint64_t dims_count(uint32_t rank, const uint32_t *dims)
{
	uint64_t count = 1;

	/* The product must not wrap; a product of more than 32 bits matches no operand. */
	for (uint32_t i = 0; i < rank; i++)
		count = count > UINT32_MAX ? count : count * dims[i];
	return count;
}

/* Rejects a number that int32 cannot represent. */
static int32_t whole(struct lowering *t, float value)
{
	if (REFUSED_IF(t, !(value >= -0x1p31f && value < 0x1p31f) || value != floorf(value),
		       "the number %g does not fit int32", value))
		return 0;
	return (int32_t)value;
}

uint32_t constant(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		  const float *values)
{
	struct operand operand = shaped(operand_of(t, like)->type, rank, dims);
	const size_t count = dims_count(rank, dims);
	int32_t *ints;

	if (t->refused || !values)
		return NO_OPERAND;
	if (operand.type == NN(TENSOR_FLOAT32))
		return constant_copy(t, &operand, values);
	operand.size = builder_size(&operand);
	operand.data = builder_alloc(t->b, operand.size);
	if (!operand.data)
		return NO_OPERAND;
	ints = (int32_t *)operand.data;
	if (operand.type == NN(TENSOR_FLOAT16))
		nn_fp32_to_fp16(values, (void *)operand.data, count);
	else if (operand.type == NN(TENSOR_INT32))
		for (size_t i = 0; i < count; i++)
			ints[i] = whole(t, values[i]);
	else
		refuse(t, "constants of %s are not supported", nnapi_type_name(operand.type));
	return builder_operand(t->b, &operand);
}

uint32_t constant_ints(struct lowering *t, uint32_t rank, const uint32_t *dims,
		       const int32_t *values)
{
	struct operand operand = shaped(NN(TENSOR_INT32), rank, dims);

	return constant_copy(t, &operand, values);
}

const int32_t *narrowed(struct lowering *t, const int64_t *data, int64_t count)
{
	int32_t *narrow = data ? builder_alloc(t->b, (size_t)count * sizeof(*narrow)) : NULL;

	for (int64_t i = 0; narrow && i < count; i++) {
		narrow[i] = (int32_t)data[i];
		if (REFUSED_IF(t, narrow[i] != data[i], "the int64 constant %lld must fit 32 bits",
			       (long long)data[i]))
			return NULL;
	}
	return narrow;
}

uint32_t number(struct lowering *t, uint32_t like, float value)
{
	return constant(t, like, 1, (uint32_t[]){ 1 }, &value);
}

uint32_t constant_bytes(struct lowering *t, const struct operand *type, const void *data)
{
	struct operand operand = *type;

	if (t->refused || !data)
		return NO_OPERAND;
	operand.data = data;
	operand.size = builder_size(&operand);
	operand.view_of = 0;
	return builder_operand(t->b, &operand);
}

uint32_t bias_ints(struct lowering *t, uint32_t count, float scale, const int32_t *values)
{
	const struct operand type = { .type = NN(TENSOR_INT32), .rank = 1, .dims = { count },
				      .scale = scale };

	return constant_bytes(t, &type, values);
}

uint32_t zeros(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims)
{
	struct operand operand = shaped(operand_of(t, like)->type, rank, dims);

	return constant_bytes(t, &operand, builder_alloc(t->b, builder_size(&operand)));
}

uint32_t omitted(struct lowering *t, uint32_t like, uint32_t rank)
{
	const struct operand operand = { .type = operand_of(t, like)->type, .rank = rank,
					 .omitted = true };

	return t->refused ? NO_OPERAND : builder_operand(t->b, &operand);
}

static uint64_t operand_count(const struct operand *operand)
{
	return dims_count(operand->rank, operand->dims);
}

uint32_t elements_of(const struct lowering *t, uint32_t operand)
{
	return (uint32_t)operand_count(operand_of(t, operand));
}

uint32_t rows_from(struct lowering *t, uint32_t x, uint64_t first, uint32_t rows,
		   uint32_t columns)
{
	struct operand operand = *operand_of(t, x);
	uint32_t dims[2] = { rows, columns };
	uint64_t all = operand_count(&operand);

	if (t->refused || x == NO_OPERAND)
		return NO_OPERAND;
	if (REFUSED_IF(t, !columns || all % columns || first % columns || first > all ||
		       dims_count(2, dims) > all - first,
		       "rows of %u from element %llu on do not fit %llu elements", columns,
		       (unsigned long long)first, (unsigned long long)all))
		return NO_OPERAND;
	if (!operand.data) {
		x = view(t, x, 2, (uint32_t[]){ (uint32_t)(all / columns), columns });
		return EMIT(t, NN(SLICE), result(t, x, 2, dims), x,
			    vector_int(t, 2, (int32_t[]){ (int32_t)(first / columns), 0 }),
			    vector_int(t, 2, (int32_t[]){ (int32_t)rows, (int32_t)columns }));
	}
	operand.data = (const char *)operand.data + operand.size / all * first;
	operand.rank = 2;
	memcpy(operand.dims, dims, sizeof(dims));
	operand.size = builder_size(&operand);
	return builder_operand(t->b, &operand);
}

uint32_t result(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims)
{
	const struct operand *of = operand_of(t, like);

	return result_scaled(t, of->type, of->scale, of->zero, rank, dims);
}

uint32_t result_like(struct lowering *t, uint32_t x)
{
	return result(t, x, operand_of(t, x)->rank, operand_of(t, x)->dims);
}

uint32_t result_scaled(struct lowering *t, int32_t type, float scale, int32_t zero, uint32_t rank,
		       const uint32_t *dims)
{
	struct operand operand = shaped(type, rank, dims);

	operand.scale = scale;
	operand.zero = zero;
	return t->refused ? NO_OPERAND : builder_operand(t->b, &operand);
}

uint32_t result_type(struct lowering *t, int32_t type, uint32_t rank, const uint32_t *dims)
{
	return result_scaled(t, type, 0, 0, rank, dims);
}

bool is_of_shape(const struct lowering *t, uint32_t x, uint32_t rank, const uint32_t *dims)
{
	return operand_of(t, x)->rank == rank &&
	       !memcmp(operand_of(t, x)->dims, dims, rank * sizeof(*dims));
}

uint32_t bool_as_float(struct lowering *t, uint32_t x)
{
	const struct operand *operand = operand_of(t, x);
	uint32_t like = result_type(t, NN(TENSOR_FLOAT32), operand->rank, operand->dims);

	return EMIT(t, NN(SELECT), like, x, filled_like(t, like, 1), filled_like(t, like, 0));
}

uint32_t float_as_bool(struct lowering *t, uint32_t x)
{
	return compared_number(t, NN(NOT_EQUAL), x, 0);
}

uint32_t view(struct lowering *t, uint32_t x, uint32_t rank, const uint32_t *dims)
{
	struct operand operand;
	int32_t shape[MAX_DIMS];
	uint32_t out;

	if (t->refused || x == NO_OPERAND)
		return NO_OPERAND;
	/* A view of a view becomes a view of the original operand. */
	if (operand_of(t, x)->view_of && !is_of_shape(t, x, rank, dims))
		x = operand_of(t, x)->view_of - 1;
	operand = *operand_of(t, x);
	if (is_of_shape(t, x, rank, dims))
		return x;
	if (REFUSED_IF(t, operand_count(&operand) != dims_count(rank, dims),
		       "%llu elements do not fit a shape of %llu",
		       (unsigned long long)operand_count(&operand),
		       (unsigned long long)dims_count(rank, dims)))
		return NO_OPERAND;
	if (operand.type == NN(TENSOR_BOOL8) && !operand.data)
		return float_as_bool(t, view(t, bool_as_float(t, x), rank, dims));
	operand.rank = rank;
	for (uint32_t i = 0; i < rank; i++) {
		operand.dims[i] = dims[i];
		shape[i] = (int32_t)dims[i];
	}
	if (operand.data)
		return builder_operand(t->b, &operand);
	operand.view_of = x + 1;
	out = builder_operand(t->b, &operand);
	return EMIT(t, NN(RESHAPE), out, x, vector_int(t, rank, shape));
}

uint32_t rewritten(struct lowering *t, uint32_t x)
{
	const struct operand operand = *operand_of(t, x);

	if (operand.type == NN(TENSOR_BOOL8))
		return EMIT(t, NN(LOGICAL_OR), result_like(t, x), x, x);
	return EMIT(t, NN(RESHAPE), result_like(t, x), x,
		    vector_int(t, operand.rank, (const int32_t *)operand.dims));
}

uint32_t view_shape(struct lowering *t, uint32_t x, const struct shape *shape)
{
	uint32_t dims[MAX_DIMS], rank = flat(shape, dims);

	return view(t, x, rank, dims);
}

/* ---- operations ---- */

void emit_many(struct lowering *t, int32_t type, uint32_t out_count, const uint32_t *out,
	       uint32_t count, const uint32_t *inputs)
{
	for (uint32_t i = 0; i < count; i++)
		if (inputs[i] == NO_OPERAND)
			refuse(t, "there is no memory");
	if (t->refused)
		return;
	for (uint32_t i = 0; i < out_count && type != NN(RESHAPE); i++)
		t->written += operand_count(operand_of(t, out[i]));
	builder_operation(t->b, type, count, inputs, out_count, out);
}

uint32_t emit(struct lowering *t, int32_t type, uint32_t out, uint32_t count,
	      const uint32_t *inputs)
{
	emit_many(t, type, 1, &out, count, inputs);
	return t->refused ? NO_OPERAND : out;
}

uint32_t unary(struct lowering *t, int32_t type, uint32_t x)
{
	return EMIT(t, type, result_like(t, x), x);
}

uint32_t arithmetic(struct lowering *t, int32_t type, uint32_t a, uint32_t b)
{
	uint32_t out = result_like(t, a);

	if (is_fused(type))
		return EMIT(t, type, out, a, b, scalar_int(t, NN(FUSED_NONE)));
	return EMIT(t, type, out, a, b);
}

uint32_t cast(struct lowering *t, uint32_t x, int32_t type)
{
	const struct operand like = *operand_of(t, x);

	return like.type == type ? x :
	       EMIT(t, NN(CAST), result_type(t, type, like.rank, like.dims), x);
}

uint32_t dequantised(struct lowering *t, uint32_t x, int32_t type)
{
	const struct operand *of = operand_of(t, x);

	return EMIT(t, NN(DEQUANTIZE), result_type(t, type, of->rank, of->dims), x);
}

uint32_t batch_product(struct lowering *t, uint32_t a, uint32_t b, const uint32_t sizes[4],
		       bool is_transposed)
{
	const uint32_t batch = sizes[0], rows = sizes[1], inner = sizes[2], columns = sizes[3];

	a = view(t, a, 3, sizes);
	b = view(t, b, 3, (uint32_t[]){ batch, is_transposed ? columns : inner,
					is_transposed ? inner : columns });
	t->work += (uint64_t)batch * rows * inner * columns;
	return EMIT(t, NN(BATCH_MATMUL), result(t, a, 3, (uint32_t[]){ batch, rows, columns }), a, b,
		    scalar_bool(t, false), scalar_bool(t, is_transposed));
}

uint32_t with_number(struct lowering *t, int32_t type, uint32_t x, float value)
{
	return arithmetic(t, type, x, number(t, x, value));
}

uint32_t number_with(struct lowering *t, int32_t type, float value, uint32_t x)
{
	uint32_t out = result_like(t, x);

	return EMIT(t, type, out, number(t, x, value), x, scalar_int(t, NN(FUSED_NONE)));
}

uint32_t compared(struct lowering *t, int32_t type, uint32_t a, uint32_t b)
{
	const struct operand *operand = operand_of(t, a);

	return EMIT(t, type, result_type(t, NN(TENSOR_BOOL8), operand->rank, operand->dims), a, b);
}

uint32_t compared_number(struct lowering *t, int32_t type, uint32_t x, float value)
{
	return compared(t, type, x, number(t, x, value));
}

uint32_t selected(struct lowering *t, uint32_t mask, uint32_t a, uint32_t b)
{
	return EMIT(t, NN(SELECT), result_like(t, a), mask, a, b);
}

uint32_t transposed(struct lowering *t, uint32_t x, uint32_t rank, const int *order)
{
	const struct operand *operand = operand_of(t, x);
	int32_t perm[MAX_DIMS];
	uint32_t dims[MAX_DIMS];
	bool same = true;

	for (uint32_t i = 0; i < rank; i++) {
		perm[i] = order[i];
		dims[i] = operand->dims[order[i]];
		same &= order[i] == (int)i;
	}
	if (same)
		return x;
	return EMIT(t, NN(TRANSPOSE), result(t, x, rank, dims), x,
		    vector_int(t, rank, perm));
}

uint32_t filled(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		float value)
{
	int32_t shape[MAX_DIMS];
	uint32_t scalar;

	for (uint32_t i = 0; i < rank; i++)
		shape[i] = (int32_t)dims[i];
	scalar = operand_of(t, like)->type == NN(TENSOR_INT32) ?
		 scalar_int(t, whole(t, value)) : scalar_float(t, like, value);
	return EMIT(t, NN(FILL), result(t, like, rank, dims),
		    vector_int(t, rank, shape), scalar);
}

uint32_t filled_like(struct lowering *t, uint32_t x, float value)
{
	const struct operand operand = *operand_of(t, x);

	return filled(t, x, operand.rank, operand.dims, value);
}
