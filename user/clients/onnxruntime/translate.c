// SPDX-License-Identifier: MIT
/* Building blocks of translators: inputs, operands, operations, outputs. */
#include "dynamic.h"
#include "quantised.h"

#include <stdlib.h>
#include <string.h>

#include "ops/float16.h"
#include <nnaccel/operation.h>

/* ---- inputs of the node ---- */

uint32_t in_count(struct lowering *t)
{
	const struct qlinear *q = onnx(t)->qlinear;

	return !q ? onnx(t)->node->in_count : q->out ? q->out / 3 :
	       (onnx(t)->node->in_count - q->first) / 3;
}

uint32_t number_of_in(struct lowering *t, uint32_t index)
{
	const struct qlinear *q = onnx(t)->qlinear;

	if (q && index >= in_count(t))
		return NO_VALUE;
	return input_of(onnx(t)->node, q ? q->first + 3 * index : index);
}

bool has_in(struct lowering *t, uint32_t index)
{
	return number_of_in(t, index) != NO_VALUE;
}

static struct translated *value_in(struct lowering *t, uint32_t index)
{
	struct translated *value;

	if (REFUSED_IF(t, !has_in(t, index), "input %u is missing", index))
		return NULL;
	value = &onnx(t)->values[number_of_in(t, index)];
	if (value->ready && !value->elided)
		return value;
	refuse(t, "input %u has no known shape", index);
	return NULL;
}

/* Returns whether the node's operator reads an input of type `type` as float32. */
static bool widens(struct lowering *t, int type)
{
	return onnx(t)->is_wide && type == ONNX_FLOAT16;
}

int type_in(struct lowering *t, uint32_t index)
{
	int type;

	if (onnx(t)->qlinear)
		return ONNX_FLOAT;
	type = has_in(t, index) ? value_at(t, number_of_in(t, index))->type : ONNX_NONE;
	return widens(t, type) ? ONNX_FLOAT : type;
}

static const struct shape none;

const struct shape *any_shape_in(struct lowering *t, uint32_t index)
{
	const struct translated *value = value_in(t, index);

	return value ? &value->shape : &none;
}

const struct shape *shape_in(struct lowering *t, uint32_t index)
{
	const struct shape *shape = any_shape_in(t, index);

	return REFUSED_IF(t, shape_count(shape) <= 0,
			  "input %u has no elements, or more than 2^31", index) ? &none : shape;
}

static uint32_t make_operand(struct lowering *t, struct translated *value, int type)
{
	struct operand operand = { .type = nnapi_type(type) };

	operand.rank = flat(&value->shape, operand.dims);
	if (operand.type == NN(TENSOR_QUANT8_ASYMM) ||
	    operand.type == NN(TENSOR_QUANT8_ASYMM_SIGNED)) {
		operand.scale = value->quantised ? value->scale : 1;
		operand.zero = value->quantised ? value->zero : 0;
	}
	if (value->data) {
		operand.size = builder_size(&operand);
		/*
		 * Reject int64 numbers that do not fit int32. In models, larger numbers occur only
		 * as the end of slices that go to an axis's end; the translator of slices calls
		 * ints_in().
		 */
		operand.data = type == ONNX_INT64 ?
			       narrowed(t, value->data, shape_count(&value->shape)) : value->data;
		if (!operand.data)
			return NO_OPERAND;
	}
	return builder_operand(t->b, &operand);
}

uint32_t in(struct lowering *t, uint32_t index)
{
	struct translated *value = value_in(t, index);
	int type = value ? value_at(t, number_of_in(t, index))->type : ONNX_NONE;

	if (!value)
		return NO_OPERAND;
	if (onnx(t)->qlinear)
		return dequantised(t, quantised_in(t, index), NN(TENSOR_FLOAT32));
	if (value->operand == NO_OPERAND) {
		if (nnapi_type(type) < 0)
			refuse(t, "the NNAPI has no %s tensors", onnx_name(type));
		else if (shape_count(&value->shape) <= 0)
			refuse(t, "input %u has no elements, or more than 2^31", index);
		else
			value->operand = make_operand(t, value, type);
	}
	if (t->refused)
		return NO_OPERAND;
	return widens(t, type) ?
	       cast(t, value->operand, NN(TENSOR_FLOAT32)) : value->operand;
}

uint32_t float_in(struct lowering *t, uint32_t index)
{
	uint32_t x = in(t, index);

	if (!t->refused && !is_float(t, x))
		refuse(t, "input %u is of %s, must be float", index, onnx_name(type_in(t, index)));
	return x;
}

uint32_t number_in(struct lowering *t, uint32_t index)
{
	/* -2^63 has no positive counterpart, but every int64 in the range of int32 has. */
	if (type_in(t, index) == ONNX_INT64 && strcmp(onnx(t)->node->op, "Sign"))
		refuse(t, "the result in int64 may not fit the NNAPI's int32");
	return in(t, index);
}

const void *value_of_count(struct lowering *t, uint32_t value, int type, int64_t count)
{
	const struct translated *v = value == NO_VALUE ? NULL : &onnx(t)->values[value];

	return v && v->ready && !v->elided && v->data && count >= 0 &&
	       value_at(t, value)->type == type && shape_count(&v->shape) == count ?
	       v->data : NULL;
}

int64_t constant_count(struct lowering *t, uint32_t index)
{
	const struct translated *value =
		has_in(t, index) ? &onnx(t)->values[number_of_in(t, index)] : NULL;

	if (onnx(t)->qlinear ||
	    (value && widens(t, value_at(t, number_of_in(t, index))->type)))
		return -1;
	return value && value->ready && !value->elided && value->data ?
	       shape_count(&value->shape) : -1;
}

const void *data_of_count(struct lowering *t, uint32_t index, int type, int64_t count)
{
	const void *data;

	if (t->refused)
		return NULL;
	data = value_of_count(t, number_of_in(t, index), type, count);
	if (data)
		return data;
	if (constant_count(t, index) < 0)
		refuse(t, "input %u must be a constant of %lld elements of %s", index,
		       (long long)count, onnx_name(type));
	else
		refuse(t, "input %u is a constant of %lld elements of %s, must be %lld of %s",
		       index, (long long)constant_count(t, index), onnx_name(type_in(t, index)),
		       (long long)count, onnx_name(type));
	t->apart[0] = count;
	t->apart[1] = constant_count(t, index);
	return NULL;
}

/*
 * Allocates memory for `count` numbers of `size` bytes, to which a constant's elements are
 * converted.
 */
static void *numbers(struct lowering *t, int64_t count, size_t size)
{
	void *memory = t->refused ? NULL : builder_alloc(t->b, (size_t)count * size);

	if (!memory)
		refuse(t, "there is no memory");
	return memory;
}

int64_t *ints_in(struct lowering *t, uint32_t index, int64_t *count)
{
	int type = type_in(t, index);
	const void *data;
	int64_t *ints;

	*count = constant_count(t, index);
	if (REFUSED_IF(t, *count < 0 || (type != ONNX_INT64 && type != ONNX_INT32),
		       "input %u is not a constant of integers", index))
		return NULL;
	data = data_of_count(t, index, type, *count);
	ints = numbers(t, *count, sizeof(*ints));
	for (int64_t i = 0; ints && i < *count; i++)
		ints[i] = onnx_int(type, data, i);
	return ints;
}

float *floats_in(struct lowering *t, uint32_t index, int64_t *count)
{
	int type = type_in(t, index);
	const void *data;
	float *floats;

	*count = constant_count(t, index);
	if (REFUSED_IF(t, *count < 0 || (type != ONNX_FLOAT && type != ONNX_FLOAT16),
		       "input %u is not a constant of floats", index))
		return NULL;
	data = data_of_count(t, index, type, *count);
	floats = numbers(t, *count, sizeof(*floats));
	for (int64_t i = 0; floats && i < *count; i++)
		floats[i] = type == ONNX_FLOAT ? ((const float *)data)[i] :
						 nn_fp16_to_float(((const uint16_t *)data)[i]);
	return floats;
}

float *floats_of_count(struct lowering *t, uint32_t index, int64_t count)
{
	/* If the number of elements is not `count`, data_of_count() rejects the node. */
	if (constant_count(t, index) != count && !data_of_count(t, index, type_in(t, index), count))
		return NULL;
	return floats_in(t, index, &count);
}

int64_t *ints_of(struct lowering *t, uint32_t index, const char *name, int64_t *count)
{
	const struct attribute *attribute = attr(t, name);

	if (has_in(t, index))
		return ints_in(t, index, count);
	if (!attribute || !attribute->ints)
		return NULL;
	*count = (int64_t)attribute->count;
	return attribute->ints;
}

/* ---- outputs of the node ---- */

bool has_out(struct lowering *t, uint32_t index)
{
	return index < onnx(t)->node->out_count && onnx(t)->node->out[index] != NO_VALUE;
}

int type_out(struct lowering *t, uint32_t index)
{
	return has_out(t, index) ? value_at(t, onnx(t)->node->out[index])->type : ONNX_NONE;
}

/*
 * Rejects the node unless the shape of output `index` agrees with the shape that ONNX Runtime has
 * inferred and relies on.
 */
static void check_inferred(struct lowering *t, uint32_t index, const struct shape *shape)
{
	const struct shape *inferred = &value_at(t, onnx(t)->node->out[index])->shape;

	if (inferred->rank >= 0 && inferred->rank != shape->rank)
		refuse(t, "output %u has %d dimensions, but ONNX Runtime infers %d", index, shape->rank,
		       inferred->rank);
	for (int i = 0; !t->refused && i < inferred->rank; i++)
		if (inferred->dims[i] >= 0)
			refuse_unless_same(t, shape->dims[i], inferred->dims[i],
					   "a dimension of the output is %lld, but ONNX Runtime infers %lld");
}

/* `least` is the least number of elements: constants may have none. */
static struct translated *value_out(struct lowering *t, uint32_t index,
				    const struct shape *shape, int64_t least)
{
	if (t->refused || !has_out(t, index))
		return NULL;
	check_inferred(t, index, shape);
	if (REFUSED_IF(t, shape_count(shape) < least, "output %u has no elements, or more than 2^31",
		       index))
		return NULL;
	return &onnx(t)->values[onnx(t)->node->out[index]];
}

void set_out(struct lowering *t, uint32_t index, uint32_t operand, const struct shape *shape)
{
	struct translated *value = value_out(t, index, shape, 1);
	uint32_t dims[MAX_DIMS], rank;
	const int type = type_out(t, index);

	if (!value)
		return;
	if (nnapi_type(type) < 0)
		return refuse(t, "the NNAPI has no %s tensors", onnx_name(type));
	rank = flat(shape, dims);
	operand = view(t, operand, rank, dims);
	if (onnx(t)->is_wide && is_float(t, operand))
		operand = cast(t, operand, nnapi_type(type));
	if (onnx(t)->qlinear && is_float(t, operand))
		operand = EMIT(t, NN(QUANTIZE), quantised_result(t, rank, dims), operand);
	if (t->refused || operand == NO_OPERAND)
		return;
	if (operand_of(t, operand)->type != nnapi_type(type))
		return refuse(t, "output %u is of %s, but computed as %s", index, onnx_name(type),
			      nnapi_type_name(operand_of(t, operand)->type));
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

void set_out_data(struct lowering *t, uint32_t index, int type, const void *data,
		  const struct shape *shape)
{
	struct translated *value = value_out(t, index, shape, 0);

	if (!value || !data)
		return;
	if (type_out(t, index) != type)
		return refuse(t, "output %u is of %s, but its elements are of %s", index,
			      onnx_name(type_out(t, index)), onnx_name(type));
	value->operand = NO_OPERAND;
	value->shape = *shape;
	value->data = data;
	value->ready = true;
	value->elided = false;
}

/* ---- the graph ---- */

struct translation *translation_new(const struct graph *graph, struct builder *b,
				    const struct devices *devices)
{
	struct translation *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->graph = graph;
	t->l.b = b;
	t->l.devices = devices;
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
	dynamic_nodes(&t->l);
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

bool translation_values(struct translation *t, uint32_t index, const int64_t *values, int count)
{
	const int type = t->graph->values[index].type;
	void *data = type == ONNX_INT64 || type == ONNX_INT32 ?
		     builder_alloc(t->l.b, MAX_RANK * sizeof(int64_t)) : NULL;

	for (int i = 0; data && i < count; i++)
		onnx_set_number(type, data, i, values[i]);
	t->values[index].data = data;
	return data;
}

bool translate_node(struct translation *t, const struct node *node)
{
	struct builder_mark mark = builder_mark(t->l.b);
	translator *translate;

	t->node = node;
	t->l.refused = false;
	t->l.reason[0] = '\0';
	t->l.apart[0] = t->l.apart[1] = 0;
	t->l.work = 0;
	t->l.fused = NN(FUSED_NONE);
	t->quantised_out = NO_VALUE;
	t->qlinear = NULL;
	t->is_wide = false;
	t->l.b->node = node->index;
	if (t->done[node->index])
		return true;
	translate = t->dynamic[node->index].part ? dynamic_op : translator_of(&t->l, node);
	if (translate)
		translate(&t->l);
	for (uint32_t i = 0; !t->l.refused && i < node->out_count; i++)
		if (has_out(&t->l, i) && !t->values[node->out[i]].ready)
			refuse(&t->l, "output %u is not computed", i);
	if (t->l.b->failed)
		refuse(&t->l, "there is no memory");
	if (!t->l.refused)
		return true;
	builder_rewind(t->l.b, mark);
	/* Forget the operands that were made for the rejected node. */
	for (uint32_t i = 0; i < t->graph->value_count; i++)
		if (t->values[i].operand != NO_OPERAND && t->values[i].operand >= mark.operands) {
			t->values[i].operand = NO_OPERAND;
			t->values[i].ready = t->values[i].data || !t->graph->values[i].producer;
		}
	return false;
}
