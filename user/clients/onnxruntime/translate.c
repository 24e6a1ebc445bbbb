// SPDX-License-Identifier: MIT
/* What translators of nodes are made of: inputs, operands, operations, outputs. */
#include "dynamic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/float16.h"
#include <nnaccel/operation.h>

void refuse(struct translation *t, const char *format, ...)
{
	va_list args;

	if (t->refused)
		return;
	t->refused = true;
	va_start(args, format);
	vsnprintf(t->reason, sizeof(t->reason), format, args);
	va_end(args);
}

/* ---- types ---- */

int32_t nnapi_type(int type)
{
	switch (type) {
	case ONNX_FLOAT:
		return ANEURALNETWORKS_TENSOR_FLOAT32;
	case ONNX_FLOAT16:
		return ANEURALNETWORKS_TENSOR_FLOAT16;
	case ONNX_INT32:
	case ONNX_INT64:
		return ANEURALNETWORKS_TENSOR_INT32;
	case ONNX_BOOL:
		return ANEURALNETWORKS_TENSOR_BOOL8;
	case ONNX_UINT8:
		return ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
	case ONNX_INT8:
		return ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
	default:
		return -1;
	}
}

enum {
	FLOATS = 1 << ANEURALNETWORKS_TENSOR_FLOAT32 | 1 << ANEURALNETWORKS_TENSOR_FLOAT16,
	INT = 1 << ANEURALNETWORKS_TENSOR_INT32,
	BOOL = 1 << ANEURALNETWORKS_TENSOR_BOOL8,
	QUANT = 1 << ANEURALNETWORKS_TENSOR_QUANT8_ASYMM,
	QUANTS = QUANT | 1 << ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED,
};

static const struct {
	const char *name;
	int types;
} operations[] = {
#define TYPES(name, types) [ANEURALNETWORKS_##name] = { #name, types },
#include "op_types.def"
#undef TYPES
};

static const char *type_name(int32_t type)
{
	switch (type) {
	case ANEURALNETWORKS_TENSOR_FLOAT32:
		return "float32";
	case ANEURALNETWORKS_TENSOR_FLOAT16:
		return "float16";
	case ANEURALNETWORKS_TENSOR_INT32:
		return "int32";
	case ANEURALNETWORKS_TENSOR_BOOL8:
		return "bool";
	default:
		return "8-bit tensors";
	}
}

/* ---- inputs of the node ---- */

bool has_in(const struct translation *t, uint32_t index)
{
	return index < t->node->in_count && t->node->in[index] != NO_VALUE;
}

static struct translated *value_in(struct translation *t, uint32_t index)
{
	struct translated *value;

	if (t->refused)
		return NULL;
	if (!has_in(t, index)) {
		refuse(t, "input %u is missing", index);
		return NULL;
	}
	value = &t->values[t->node->in[index]];
	if (value->ready && !value->elided)
		return value;
	refuse(t, "input %u has no known shape", index);
	return NULL;
}

int type_in(const struct translation *t, uint32_t index)
{
	return has_in(t, index) ? t->graph->values[t->node->in[index]].type : ONNX_NONE;
}

const struct shape *shape_in(struct translation *t, uint32_t index)
{
	static const struct shape none;
	const struct translated *value = value_in(t, index);

	if (value && shape_count(&value->shape) > 0)
		return &value->shape;
	refuse(t, "input %u has no element, or more than 2^31", index);
	return &none;
}

uint32_t flat(const struct shape *shape, uint32_t dims[MAX_DIMS])
{
	int lead = shape->rank > MAX_DIMS ? shape->rank - MAX_DIMS : 0;
	uint32_t rank = 0;

	dims[0] = 1;
	for (int i = 0; i < lead; i++)
		dims[0] *= (uint32_t)shape->dims[i];
	for (int i = lead; i < shape->rank; i++, rank++)
		dims[rank] = (lead && !rank ? dims[0] : 1) * (uint32_t)shape->dims[i];
	return rank ? rank : 1;
}

/* int64 as int32, in memory of the builder. */
static const void *narrowed(struct translation *t, const int64_t *data, int64_t count)
{
	int32_t *narrow = builder_alloc(t->b, (size_t)count * sizeof(*narrow));

	for (int64_t i = 0; narrow && i < count; i++) {
		/* Only "to the end" of a slice is written so, and is read by ints_in(). */
		if (data[i] > INT32_MAX || data[i] < INT32_MIN) {
			refuse(t, "a constant, %lld, does not fit int32", (long long)data[i]);
			return NULL;
		}
		narrow[i] = (int32_t)data[i];
	}
	return narrow;
}

static uint32_t make_operand(struct translation *t, struct translated *value, int type)
{
	struct operand operand = { .type = nnapi_type(type) };

	operand.rank = flat(&value->shape, operand.dims);
	if (operand.type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
	    operand.type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED) {
		operand.scale = value->quantised ? value->scale : 1;
		operand.zero = value->quantised ? value->zero : 0;
	}
	if (value->data) {
		operand.size = builder_size(&operand);
		operand.data = type == ONNX_INT64 ?
			       narrowed(t, value->data, shape_count(&value->shape)) : value->data;
		if (!operand.data)
			return NO_OPERAND;
	}
	return builder_operand(t->b, &operand);
}

uint32_t in(struct translation *t, uint32_t index)
{
	struct translated *value = value_in(t, index);
	int type = type_in(t, index);

	if (!value)
		return NO_OPERAND;
	if (value->operand == NO_OPERAND) {
		if (nnapi_type(type) < 0)
			refuse(t, "the NNAPI has no %s tensors", onnx_name(type));
		else if (shape_count(&value->shape) <= 0)
			refuse(t, "input %u has no element, or more than 2^31", index);
		else
			value->operand = make_operand(t, value, type);
	}
	return t->refused ? NO_OPERAND : value->operand;
}

const void *value_of_count(const struct translation *t, uint32_t value, int type, int64_t count)
{
	const struct translated *v = value == NO_VALUE ? NULL : &t->values[value];

	return v && v->ready && !v->elided && v->data && count >= 0 &&
	       t->graph->values[value].type == type && shape_count(&v->shape) == count ?
	       v->data : NULL;
}

int64_t constant_count(const struct translation *t, uint32_t index)
{
	const struct translated *value = has_in(t, index) ? &t->values[t->node->in[index]] : NULL;

	return value && value->ready && !value->elided && value->data ?
	       shape_count(&value->shape) : -1;
}

const void *data_of_count(struct translation *t, uint32_t index, int type, int64_t count)
{
	const void *data = NULL;

	if (t->refused)
		return NULL;
	if (has_in(t, index))
		data = value_of_count(t, t->node->in[index], type, count);
	if (data)
		return data;
	if (constant_count(t, index) < 0)
		refuse(t, "input %u is no constant; one of %lld elements of %s is wanted", index,
		       (long long)count, onnx_name(type));
	else
		refuse(t, "input %u is a constant of %lld elements of %s; %lld of %s are wanted",
		       index, (long long)constant_count(t, index), onnx_name(type_in(t, index)),
		       (long long)count, onnx_name(type));
	return NULL;
}

/* Memory for so many of a constant's elements as numbers of a size. */
static void *numbers(struct translation *t, int64_t count, size_t size)
{
	void *memory = t->refused ? NULL : builder_alloc(t->b, (size_t)count * size);

	if (!memory)
		refuse(t, "there is no memory");
	return memory;
}

int64_t *ints_in(struct translation *t, uint32_t index, int64_t *count)
{
	int type = type_in(t, index);
	const void *data;
	int64_t *ints;

	*count = constant_count(t, index);
	if (*count < 0 || (type != ONNX_INT64 && type != ONNX_INT32)) {
		refuse(t, "input %u is not a constant of integers", index);
		return NULL;
	}
	data = data_of_count(t, index, type, *count);
	ints = numbers(t, *count, sizeof(*ints));
	for (int64_t i = 0; ints && i < *count; i++)
		ints[i] = type == ONNX_INT64 ? ((const int64_t *)data)[i] :
					       ((const int32_t *)data)[i];
	return ints;
}

float *floats_in(struct translation *t, uint32_t index, int64_t *count)
{
	int type = type_in(t, index);
	const void *data;
	float *floats;

	*count = constant_count(t, index);
	if (*count < 0 || (type != ONNX_FLOAT && type != ONNX_FLOAT16)) {
		refuse(t, "input %u is not a constant of floats", index);
		return NULL;
	}
	data = data_of_count(t, index, type, *count);
	floats = numbers(t, *count, sizeof(*floats));
	for (int64_t i = 0; floats && i < *count; i++)
		floats[i] = type == ONNX_FLOAT ? ((const float *)data)[i] :
						 nn_half_to_float(((const uint16_t *)data)[i]);
	return floats;
}

float *floats_of_count(struct translation *t, uint32_t index, int64_t count)
{
	/* data_of_count() refuses another number of elements. */
	if (constant_count(t, index) != count && !data_of_count(t, index, type_in(t, index), count))
		return NULL;
	return floats_in(t, index, &count);
}

int64_t *ints_of(struct translation *t, uint32_t index, const char *name, int64_t *count)
{
	const struct attribute *attribute = node_attribute(t->node, name);

	if (has_in(t, index))
		return ints_in(t, index, count);
	if (!attribute || !attribute->ints)
		return NULL;
	*count = (int64_t)attribute->count;
	return attribute->ints;
}

int axis_of(struct translation *t, int64_t axis, int rank)
{
	if (axis < -rank || axis >= rank) {
		refuse(t, "axis %lld of %d", (long long)axis, rank);
		return 0;
	}
	return (int)(axis < 0 ? axis + rank : axis);
}

/* ---- operands ---- */

const struct operand *operand_of(const struct translation *t, uint32_t operand)
{
	static const struct operand none = { .rank = 1, .dims = { 1, 1, 1, 1 } };

	return operand == NO_OPERAND ? &none : &t->b->operands[operand];
}

bool is_float(const struct translation *t, uint32_t operand)
{
	int32_t type = operand_of(t, operand)->type;

	return type == ANEURALNETWORKS_TENSOR_FLOAT32 || type == ANEURALNETWORKS_TENSOR_FLOAT16;
}

bool is_quant8(const struct translation *t, uint32_t operand)
{
	int32_t type = operand_of(t, operand)->type;

	return type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
	       type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
}

/* A constant whose bytes are copied to the builder. */
static uint32_t copied(struct translation *t, struct operand *operand, const void *data)
{
	void *copy;

	if (t->refused)
		return NO_OPERAND;
	operand->size = builder_size(operand);
	copy = builder_alloc(t->b, operand->size);
	if (!copy)
		return NO_OPERAND;
	memcpy(copy, data, operand->size);
	operand->data = copy;
	return builder_operand(t->b, operand);
}

uint32_t scalar_int(struct translation *t, int32_t value)
{
	return copied(t, &(struct operand){ .type = ANEURALNETWORKS_INT32 }, &value);
}

uint32_t scalar_bool(struct translation *t, bool value)
{
	return copied(t, &(struct operand){ .type = ANEURALNETWORKS_BOOL }, &value);
}

uint32_t scalar_float(struct translation *t, uint32_t like, float value)
{
	uint16_t half = nn_float_to_half(value);

	if (operand_of(t, like)->type == ANEURALNETWORKS_TENSOR_FLOAT16)
		return copied(t, &(struct operand){ .type = ANEURALNETWORKS_FLOAT16 }, &half);
	return copied(t, &(struct operand){ .type = ANEURALNETWORKS_FLOAT32 }, &value);
}

uint32_t vector_int(struct translation *t, uint32_t count, const int32_t *values)
{
	return copied(t, &(struct operand){ .type = ANEURALNETWORKS_TENSOR_INT32, .rank = 1,
					    .dims = { count } }, values);
}

static struct operand shaped(int32_t type, uint32_t rank, const uint32_t *dims)
{
	struct operand operand = { .type = type, .rank = rank };

	memcpy(operand.dims, dims, rank * sizeof(*dims));
	return operand;
}

uint32_t constant(struct translation *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		  const float *values)
{
	struct operand operand = shaped(operand_of(t, like)->type, rank, dims);
	size_t count = 1;
	int32_t *ints;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	if (t->refused || !values)
		return NO_OPERAND;
	if (operand.type == ANEURALNETWORKS_TENSOR_FLOAT32)
		return copied(t, &operand, values);
	operand.size = builder_size(&operand);
	operand.data = builder_alloc(t->b, operand.size);
	if (!operand.data)
		return NO_OPERAND;
	ints = (int32_t *)operand.data;
	if (operand.type == ANEURALNETWORKS_TENSOR_FLOAT16)
		nn_floats_to_halves(values, (void *)operand.data, count);
	else if (operand.type == ANEURALNETWORKS_TENSOR_INT32)
		for (size_t i = 0; i < count; i++)
			ints[i] = (int32_t)values[i];
	else
		refuse(t, "no constants of %s", type_name(operand.type));
	return builder_operand(t->b, &operand);
}

uint32_t number(struct translation *t, uint32_t like, float value)
{
	return constant(t, like, 1, (uint32_t[]){ 1 }, &value);
}

uint32_t constant_bytes(struct translation *t, const struct operand *type, const void *data)
{
	struct operand operand = *type;

	if (t->refused || !data)
		return NO_OPERAND;
	operand.data = data;
	operand.size = builder_size(&operand);
	operand.view_of = 0;
	return builder_operand(t->b, &operand);
}

static uint64_t dims_count(uint32_t rank, const uint32_t *dims)
{
	uint64_t count = 1;

	/* More than fit 32 bits are no operand, and may not wrap. */
	for (uint32_t i = 0; i < rank; i++)
		count = count > UINT32_MAX ? count : count * dims[i];
	return count;
}

static uint64_t operand_count(const struct operand *operand)
{
	return dims_count(operand->rank, operand->dims);
}

uint32_t rows_from(struct translation *t, uint32_t x, uint64_t first, uint32_t rows,
		   uint32_t columns)
{
	struct operand operand = *operand_of(t, x);
	uint32_t dims[2] = { rows, columns };
	uint64_t all = operand_count(&operand);

	if (t->refused || x == NO_OPERAND)
		return NO_OPERAND;
	if (!columns || all % columns || first % columns || first > all ||
	    dims_count(2, dims) > all - first) {
		refuse(t, "rows of %u from element %llu on, of %llu", columns,
		       (unsigned long long)first, (unsigned long long)all);
		return NO_OPERAND;
	}
	if (!operand.data) {
		x = view(t, x, 2, (uint32_t[]){ (uint32_t)(all / columns), columns });
		return EMIT(t, ANEURALNETWORKS_SLICE, result(t, x, 2, dims), x,
			    vector_int(t, 2, (int32_t[]){ (int32_t)(first / columns), 0 }),
			    vector_int(t, 2, (int32_t[]){ (int32_t)rows, (int32_t)columns }));
	}
	operand.data = (const char *)operand.data + operand.size / all * first;
	operand.rank = 2;
	memcpy(operand.dims, dims, sizeof(dims));
	operand.size = builder_size(&operand);
	return builder_operand(t->b, &operand);
}

uint32_t result(struct translation *t, uint32_t like, uint32_t rank, const uint32_t *dims)
{
	struct operand operand = shaped(operand_of(t, like)->type, rank, dims);

	operand.scale = operand_of(t, like)->scale;
	operand.zero = operand_of(t, like)->zero;
	return t->refused ? NO_OPERAND : builder_operand(t->b, &operand);
}

uint32_t result_type(struct translation *t, int32_t type, uint32_t rank, const uint32_t *dims)
{
	struct operand operand = shaped(type, rank, dims);

	return t->refused ? NO_OPERAND : builder_operand(t->b, &operand);
}

static bool is_same_shape(const struct operand *operand, uint32_t rank, const uint32_t *dims)
{
	return operand->rank == rank && !memcmp(operand->dims, dims, rank * sizeof(*dims));
}

uint32_t bool_as_float(struct translation *t, uint32_t x)
{
	uint32_t rank = operand_of(t, x)->rank, dims[MAX_DIMS], like;

	memcpy(dims, operand_of(t, x)->dims, sizeof(dims));
	like = result_type(t, ANEURALNETWORKS_TENSOR_FLOAT32, rank, dims);
	return EMIT(t, ANEURALNETWORKS_SELECT, like, x, filled(t, like, rank, dims, 1),
		    filled(t, like, rank, dims, 0));
}

uint32_t float_as_bool(struct translation *t, uint32_t x)
{
	const struct operand *operand = operand_of(t, x);
	uint32_t out = result_type(t, ANEURALNETWORKS_TENSOR_BOOL8, operand->rank, operand->dims);

	return EMIT(t, ANEURALNETWORKS_NOT_EQUAL, out, x, number(t, x, 0));
}

uint32_t view(struct translation *t, uint32_t x, uint32_t rank, const uint32_t *dims)
{
	struct operand operand;
	int32_t shape[MAX_DIMS];
	uint32_t out;

	if (t->refused || x == NO_OPERAND)
		return NO_OPERAND;
	/* Of a view of a view the one between is not needed. */
	if (operand_of(t, x)->view_of && !is_same_shape(operand_of(t, x), rank, dims))
		x = operand_of(t, x)->view_of - 1;
	operand = *operand_of(t, x);
	if (is_same_shape(&operand, rank, dims))
		return x;
	if (operand_count(&operand) != dims_count(rank, dims)) {
		refuse(t, "%llu elements as a shape of %llu",
		       (unsigned long long)operand_count(&operand),
		       (unsigned long long)dims_count(rank, dims));
		return NO_OPERAND;
	}
	if (operand.type == ANEURALNETWORKS_TENSOR_BOOL8 && !operand.data)
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
	return EMIT(t, ANEURALNETWORKS_RESHAPE, out, x, vector_int(t, rank, shape));
}

/* ---- operations ---- */

void emit_many(struct translation *t, int32_t type, uint32_t out_count, const uint32_t *out,
	       uint32_t count, const uint32_t *inputs)
{
	const struct operand *first = operand_of(t, count ? inputs[0] : NO_OPERAND);

	for (uint32_t i = 0; i < count; i++)
		if (inputs[i] == NO_OPERAND)
			refuse(t, "there is no memory");
	if (t->refused)
		return;
	if (!nn_is_own(type) && !(operations[type].types & 1 << first->type)) {
		refuse(t, "the NNAPI's %s does not take %s", operations[type].name,
		       type_name(first->type));
		return;
	}
	builder_operation(t->b, type, count, inputs, out_count, out);
}

uint32_t emit(struct translation *t, int32_t type, uint32_t out, uint32_t count,
	      const uint32_t *inputs)
{
	emit_many(t, type, 1, &out, count, inputs);
	return t->refused ? NO_OPERAND : out;
}

uint32_t unary(struct translation *t, int32_t type, uint32_t x)
{
	const struct operand *operand = operand_of(t, x);

	return EMIT(t, type, result(t, x, operand->rank, operand->dims), x);
}

uint32_t arithmetic(struct translation *t, int32_t type, uint32_t a, uint32_t b)
{
	const struct operand *operand = operand_of(t, a);
	uint32_t out = result(t, a, operand->rank, operand->dims);

	if (type == ANEURALNETWORKS_ADD || type == ANEURALNETWORKS_SUB ||
	    type == ANEURALNETWORKS_MUL || type == ANEURALNETWORKS_DIV)
		return EMIT(t, type, out, a, b, scalar_int(t, ANEURALNETWORKS_FUSED_NONE));
	return EMIT(t, type, out, a, b);
}

uint32_t with_number(struct translation *t, int32_t type, uint32_t x, float value)
{
	return arithmetic(t, type, x, number(t, x, value));
}

struct shape broadcast_shape(struct translation *t, const struct shape *a, const struct shape *b)
{
	struct shape shape = { .rank = a->rank > b->rank ? a->rank : b->rank };

	for (int i = 1; i <= shape.rank; i++) {
		int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1;
		int64_t y = i <= b->rank ? b->dims[b->rank - i] : 1;

		if (x != y && x != 1 && y != 1)
			refuse(t, "dimensions of %lld and %lld", (long long)x, (long long)y);
		shape.dims[shape.rank - i] = x == 1 ? y : x;
	}
	return shape;
}

/*
 * Neighbouring dimensions in which both are broadcast alike are one: the shapes of both and of
 * the result in as few dimensions as can be.
 */
static uint32_t merged(const struct shape *a, const struct shape *b, const struct shape *shape,
		       uint32_t *as, uint32_t *bs, uint32_t *dims, uint32_t room)
{
	uint32_t rank = 0;
	int last = -1;

	for (int i = 0; i < shape->rank; i++) {
		int ai = i - (shape->rank - a->rank), bi = i - (shape->rank - b->rank);
		uint32_t x = ai < 0 ? 1 : (uint32_t)a->dims[ai];
		uint32_t y = bi < 0 ? 1 : (uint32_t)b->dims[bi];
		int kind = x == y ? 0 : x == 1 ? 1 : 2;

		if (shape->dims[i] == 1)
			continue;
		if (kind != last) {
			if (rank == room)
				return room + 1;
			as[rank] = bs[rank] = dims[rank] = 1;
			rank++;
		}
		last = kind;
		as[rank - 1] *= x;
		bs[rank - 1] *= y;
		dims[rank - 1] *= (uint32_t)shape->dims[i];
	}
	if (!rank)
		as[0] = bs[0] = dims[0] = 1;
	return rank ? rank : 1;
}

static bool gives_bool(int32_t type)
{
	return type == ANEURALNETWORKS_EQUAL || type == ANEURALNETWORKS_NOT_EQUAL ||
	       type == ANEURALNETWORKS_LESS || type == ANEURALNETWORKS_LESS_EQUAL ||
	       type == ANEURALNETWORKS_GREATER || type == ANEURALNETWORKS_GREATER_EQUAL;
}

uint32_t broadcast(struct translation *t, int32_t type, uint32_t a, const struct shape *as,
		   uint32_t b, const struct shape *bs, const struct shape *shape)
{
	uint32_t adims[MAX_DIMS], bdims[MAX_DIMS], dims[MAX_DIMS], rank, out;

	if (t->refused)
		return NO_OPERAND;
	if (shape->rank <= MAX_DIMS) {
		rank = flat(shape, dims);
	} else {
		rank = merged(as, bs, shape, adims, bdims, dims, MAX_DIMS);
		if (rank > MAX_DIMS) {
			refuse(t, "broadcast in more than four dimensions");
			return NO_OPERAND;
		}
		a = view(t, a, rank, adims);
		b = view(t, b, rank, bdims);
	}
	out = gives_bool(type) ? result_type(t, ANEURALNETWORKS_TENSOR_BOOL8, rank, dims) :
				 result(t, a, rank, dims);
	if (type == ANEURALNETWORKS_ADD || type == ANEURALNETWORKS_SUB ||
	    type == ANEURALNETWORKS_MUL || type == ANEURALNETWORKS_DIV)
		return EMIT(t, type, out, a, b, scalar_int(t, t->fused));
	return EMIT(t, type, out, a, b);
}

uint32_t transposed(struct translation *t, uint32_t x, uint32_t rank, const int *order)
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
	return EMIT(t, ANEURALNETWORKS_TRANSPOSE, result(t, x, rank, dims), x,
		    vector_int(t, rank, perm));
}

uint32_t expanded(struct translation *t, uint32_t x, const struct shape *from,
		  const struct shape *to)
{
	uint32_t as[MAX_DIMS], bs[MAX_DIMS], dims[MAX_DIMS], rank, flat_dims[MAX_DIMS];
	int32_t times[MAX_DIMS];
	bool same = true;

	if (t->refused)
		return NO_OPERAND;
	rank = merged(from, to, to, as, bs, dims, MAX_DIMS);
	if (rank > MAX_DIMS) {
		refuse(t, "repeated in more than four dimensions");
		return NO_OPERAND;
	}
	for (uint32_t i = 0; i < rank; i++) {
		times[i] = (int32_t)(dims[i] / as[i]);
		same &= times[i] == 1;
	}
	if (!same) {
		x = view(t, x, rank, as);
		x = EMIT(t, ANEURALNETWORKS_TILE, result(t, x, rank, dims), x,
			 vector_int(t, rank, times));
	}
	rank = flat(to, flat_dims);
	return view(t, x, rank, flat_dims);
}

uint32_t filled(struct translation *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		float value)
{
	int32_t shape[MAX_DIMS];
	uint32_t scalar;

	for (uint32_t i = 0; i < rank; i++)
		shape[i] = (int32_t)dims[i];
	scalar = operand_of(t, like)->type == ANEURALNETWORKS_TENSOR_INT32 ?
		 scalar_int(t, (int32_t)value) : scalar_float(t, like, value);
	return EMIT(t, ANEURALNETWORKS_FILL, result(t, like, rank, dims),
		    vector_int(t, rank, shape), scalar);
}

/* ---- outputs of the node ---- */

bool has_out(const struct translation *t, uint32_t index)
{
	return index < t->node->out_count && t->node->out[index] != NO_VALUE;
}

/* ONNX Runtime has inferred a shape, too, and relies on it. */
static bool agrees(const struct shape *inferred, const struct shape *shape)
{
	if (inferred->rank < 0)
		return true;
	if (inferred->rank != shape->rank)
		return false;
	for (int i = 0; i < shape->rank; i++)
		if (inferred->dims[i] >= 0 && inferred->dims[i] != shape->dims[i])
			return false;
	return true;
}

static struct translated *value_out(struct translation *t, uint32_t index,
				    const struct shape *shape)
{
	if (t->refused || !has_out(t, index))
		return NULL;
	if (!agrees(&t->graph->values[t->node->out[index]].shape, shape)) {
		refuse(t, "output %u has another shape than ONNX Runtime infers", index);
		return NULL;
	}
	if (shape_count(shape) <= 0) {
		refuse(t, "output %u has no element, or more than 2^31", index);
		return NULL;
	}
	return &t->values[t->node->out[index]];
}

void set_out(struct translation *t, uint32_t index, uint32_t operand, const struct shape *shape)
{
	struct translated *value = value_out(t, index, shape);
	uint32_t dims[MAX_DIMS], rank;
	int type;

	if (!value)
		return;
	rank = flat(shape, dims);
	operand = view(t, operand, rank, dims);
	if (t->refused || operand == NO_OPERAND)
		return;
	type = t->graph->values[t->node->out[index]].type;
	if (operand_of(t, operand)->type != nnapi_type(type)) {
		refuse(t, "output %u is of %s, computed as %s", index, onnx_name(type),
		       type_name(operand_of(t, operand)->type));
		return;
	}
	value->operand = operand;
	value->shape = *shape;
	value->data = NULL;
	value->ready = true;
	value->elided = false;
	if (is_quant8(t, operand)) {
		value->quantised = true;
		value->scale = operand_of(t, operand)->scale;
		value->zero = operand_of(t, operand)->zero;
	}
}

void set_out_data(struct translation *t, uint32_t index, int type, const void *data,
		  const struct shape *shape)
{
	struct translated *value = value_out(t, index, shape);

	if (!value || !data)
		return;
	if (t->graph->values[t->node->out[index]].type != type) {
		refuse(t, "output %u is of %s, its elements of %s", index,
		       onnx_name(t->graph->values[t->node->out[index]].type), onnx_name(type));
		return;
	}
	value->operand = NO_OPERAND;
	value->shape = *shape;
	value->data = data;
	value->ready = true;
	value->elided = false;
}

/* ---- the whole ---- */

struct translation *translation_new(const struct graph *graph, struct builder *b,
				    const struct devices *devices)
{
	struct translation *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->graph = graph;
	t->b = b;
	t->devices = devices;
	t->values = calloc(graph->value_count + 1, sizeof(*t->values));
	t->done = calloc(graph->node_count + 1, sizeof(*t->done));
	t->dynamic = calloc(graph->node_count + 1, sizeof(*t->dynamic));
	if (!t->values || !t->done || !t->dynamic) {
		translation_free(t);
		return NULL;
	}
	for (uint32_t i = 0; i < graph->value_count; i++) {
		struct translated *value = &t->values[i];

		value->operand = NO_OPERAND;
		value->shape = graph->values[i].shape;
		value->data = graph->values[i].data;
		value->ready = value->data;
	}
	dynamic_nodes(t);
	return t;
}

void translation_free(struct translation *t)
{
	if (!t)
		return;
	free(t->values);
	free(t->done);
	free(t->dynamic);
	free(t);
}

void translation_input(struct translation *t, uint32_t index, const struct shape *shape)
{
	struct translated *value = &t->values[index];

	value->shape = *shape;
	value->ready = shape_known(shape);
}

bool translate_node(struct translation *t, const struct node *node)
{
	struct builder_mark mark = builder_mark(t->b);
	translator *translate;

	t->node = node;
	t->refused = false;
	t->reason[0] = '\0';
	t->work = 0;
	t->fused = ANEURALNETWORKS_FUSED_NONE;
	t->quantised_out = NO_VALUE;
	t->b->node = node->index;
	if (t->done[node->index])
		return true;
	translate = t->dynamic[node->index].part ? dynamic_op : translator_of(t, node);
	if (translate)
		translate(t);
	for (uint32_t i = 0; !t->refused && i < node->out_count; i++)
		if (has_out(t, i) && !t->values[node->out[i]].ready)
			refuse(t, "output %u is not computed", i);
	if (t->b->failed)
		refuse(t, "there is no memory");
	if (!t->refused)
		return true;
	builder_rewind(t->b, mark);
	/* What was made for this node is not there any more. */
	for (uint32_t i = 0; i < t->graph->value_count; i++)
		if (t->values[i].operand != NO_OPERAND && t->values[i].operand >= mark.operands) {
			t->values[i].operand = NO_OPERAND;
			t->values[i].ready = t->values[i].data || !t->graph->values[i].producer;
		}
	return false;
}
