/* SPDX-License-Identifier: MIT */
#include "clients/tflite/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants that were made here: they live as long as the graph, which the model points to. */
struct graph_block {
	struct graph_block *next;
	max_align_t data[];
};

bool graph_init(struct graph *g, struct tfl_context *context, bool build)
{
	size_t count = context->num_tensors;

	*g = (struct graph){ .context = context };
	g->operand_of = malloc((count + 1) * sizeof(g->operand_of[0]));
	g->produced = calloc(count + 1, sizeof(g->produced[0]));
	if (!g->operand_of || !g->produced)
		return false;
	memset(g->operand_of, 0xff, (count + 1) * sizeof(g->operand_of[0]));
	return !build || ANeuralNetworksModel_create(&g->model) == ANEURALNETWORKS_NO_ERROR;
}

void graph_free(struct graph *g)
{
	ANeuralNetworksModel_free(g->model);
	constants_free(&g->constants);
	while (g->blocks) {
		struct graph_block *next = g->blocks->next;

		free(g->blocks);
		g->blocks = next;
	}
	free(g->operand_of);
	free(g->produced);
	free(g->values);
	free(g->node_of);
	free(g->states);
	*g = (struct graph){ .context = NULL };
}

void graph_refuse(struct graph *g, const char *format, ...)
{
	va_list args;

	if (g->refused)
		return;
	g->refused = true;
	va_start(args, format);
	vsnprintf(g->why, sizeof(g->why), format, args);
	va_end(args);
}

static void *grow(struct graph *g, void *array, uint32_t count, uint32_t *most, size_t size)
{
	uint32_t more = *most ? *most * 2 : 64;
	void *grown;

	if (count < *most)
		return array;
	grown = realloc(array, more * size);
	if (!grown) {
		graph_refuse(g, "no memory");
		return array;
	}
	*most = more;
	return grown;
}

/* ---- What is in the TensorFlow Lite graph ---- */

static int index_of(const struct tfl_ints *list, int i)
{
	return list && i >= 0 && i < list->size ? list->data[i] : TFL_NO_TENSOR;
}

static const struct tfl_tensor *tensor_at(const struct graph *g, int index)
{
	if (index < 0 || (size_t)index >= g->context->num_tensors)
		return NULL;
	return &g->context->tensors[index];
}

int graph_input_index(const struct graph *g, int i)
{
	return index_of(g->node->inputs, i);
}

int graph_output_index(const struct graph *g, int i)
{
	return index_of(g->node->outputs, i);
}

const struct tfl_tensor *graph_input(const struct graph *g, int i)
{
	return tensor_at(g, graph_input_index(g, i));
}

const struct tfl_tensor *graph_output(const struct graph *g, int i)
{
	return tensor_at(g, graph_output_index(g, i));
}

bool tensor_is_constant(const struct tfl_tensor *tensor)
{
	return tensor && tensor->allocation_type == TFL_READ_ONLY && tensor->contents;
}

uint64_t tensor_count(const struct tfl_tensor *tensor)
{
	uint64_t count = 1;

	for (int i = 0; tensor->dims && i < tensor->dims->size; i++)
		count *= (uint64_t)(uint32_t)tensor->dims->data[i];
	return count;
}

bool tensor_same_shape(const struct tfl_tensor *a, const struct tfl_tensor *b)
{
	return a->dims->size == b->dims->size &&
	       !memcmp(a->dims->data, b->dims->data, (size_t)a->dims->size * sizeof(int));
}

bool tensor_same_quant(const struct tfl_tensor *a, const struct tfl_tensor *b)
{
	return a->type == b->type && a->params.scale == b->params.scale &&
	       a->params.zero_point == b->params.zero_point;
}

bool tensor_is_quant8(const struct tfl_tensor *tensor)
{
	return tensor->type == TFL_UINT8 || tensor->type == TFL_INT8;
}

const char *tensor_type_name(int type)
{
	static const char *const names[] = {
		[TFL_FLOAT32] = "float32", [TFL_INT32] = "int32", [TFL_UINT8] = "uint8",
		[TFL_INT64] = "int64", [TFL_STRING] = "string", [TFL_BOOL] = "bool",
		[TFL_INT16] = "int16", [TFL_INT8] = "int8", [TFL_FLOAT16] = "float16",
		[TFL_FLOAT64] = "float64", [TFL_INT4] = "int4",
	};
	const char *name = NULL;

	if (type > 0 && (size_t)type < sizeof(names) / sizeof(names[0]))
		name = names[type];
	return name ? name : "another type";
}

/* Bytes of an element of the types that converters read; 0 for the others. */
static size_t constant_size(int type)
{
	switch (type) {
	case TFL_FLOAT32:
	case TFL_INT32:
		return 4;
	case TFL_INT64:
		return 8;
	case TFL_UINT8:
	case TFL_INT8:
		return 1;
	default:
		return 0;
	}
}

const void *data_of_count(struct graph *g, const struct tfl_tensor *tensor, int type,
			  uint64_t count)
{
	const size_t size = constant_size(type);

	if (!tensor_is_constant(tensor))
		graph_refuse(g, "a tensor that is not constant; one of %llu elements of %s is wanted",
			     (unsigned long long)count, tensor_type_name(type));
	else if (!size || tensor->type != type || tensor_count(tensor) != count ||
		 tensor->bytes / size != count || tensor->bytes % size)
		graph_refuse(g, "a constant of %zu bytes and %llu elements of %s; %llu of %s are "
			     "wanted", tensor->bytes, (unsigned long long)tensor_count(tensor),
			     tensor_type_name(tensor->type), (unsigned long long)count,
			     tensor_type_name(type));
	return g->refused ? NULL : tensor->contents;
}

int graph_read_ints(struct graph *g, const struct tfl_tensor *tensor, const char *what,
		    int32_t *values, int most)
{
	const char *data;
	uint64_t count;

	if (!tensor_is_constant(tensor)) {
		graph_refuse(g, "%s is not constant", what);
		return -1;
	}
	count = tensor_count(tensor);
	if (tensor->type != TFL_INT32 && tensor->type != TFL_INT64) {
		graph_refuse(g, "%s is of type %s", what, tensor_type_name(tensor->type));
		return -1;
	}
	if (count > (uint64_t)most) {
		graph_refuse(g, "%s has more than %d elements", what, most);
		return -1;
	}
	data = data_of_count(g, tensor, tensor->type, count);
	if (!data)
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		int64_t wide;

		if (tensor->type == TFL_INT32) {
			memcpy(&values[i], data + i * 4, 4);
			continue;
		}
		memcpy(&wide, data + i * 8, 8);
		values[i] = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN :
			    (int32_t)wide;
	}
	return (int)count;
}

/* Scales of a tensor per channel; NNAPI has no zero points there. */
static void per_channel(struct graph *g, const struct tfl_tensor *tensor, struct value *v)
{
	const struct tfl_affine *affine = tensor->quantization.params;

	for (int i = 0; affine->zero_point && i < affine->zero_point->size; i++)
		if (affine->zero_point->data[i])
			return graph_refuse(g, "a tensor with a zero point per channel that is not 0");
	if (tensor->type != TFL_INT8)
		return graph_refuse(g, "%s with a scale per channel", tensor_type_name(tensor->type));
	if (affine->dimension < 0 || (uint32_t)affine->dimension >= v->rank ||
	    v->dims[affine->dimension] != (uint32_t)affine->scale->size)
		return graph_refuse(g, "%d scales for a dimension of another size",
				    affine->scale->size);
	v->type = ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
	v->scale = 0;
	v->zero_point = 0;
	v->scales = affine->scale->data;
	v->num_scales = (uint32_t)affine->scale->size;
	v->channel_dim = (uint32_t)affine->dimension;
}

static void quantised(struct graph *g, const struct tfl_tensor *tensor, struct value *v)
{
	const struct tfl_affine *affine = tensor->quantization.params;

	v->scale = tensor->params.scale;
	v->zero_point = tensor->params.zero_point;
	if (tensor->quantization.type == TFL_AFFINE_QUANTIZATION && affine && affine->scale) {
		if (affine->scale->size > 1)
			return per_channel(g, tensor, v);
		if (affine->scale->size == 1)
			v->scale = affine->scale->data[0];
		if (affine->zero_point && affine->zero_point->size >= 1)
			v->zero_point = affine->zero_point->data[0];
	}
	/* Plain bytes: operations that compute with them look at tensor->params.scale. */
	if (v->scale == 0) {
		v->scale = 1;
		v->zero_point = 0;
	}
}

struct value graph_value_of(struct graph *g, const struct tfl_tensor *tensor)
{
	struct value v = { .type = -1 };

	if (!tensor->dims || tensor->dims->size > GRAPH_MAX_RANK) {
		graph_refuse(g, "a tensor of more than %d dimensions", GRAPH_MAX_RANK);
		return v;
	}
	/* A tensor of rank 0 is of unknown rank to NNAPI. */
	v.rank = tensor->dims->size ? (uint32_t)tensor->dims->size : 1;
	v.dims[0] = 1;
	for (int i = 0; i < tensor->dims->size; i++) {
		if (tensor->dims->data[i] <= 0) {
			graph_refuse(g, "a tensor with a dimension of %d", tensor->dims->data[i]);
			return v;
		}
		v.dims[i] = (uint32_t)tensor->dims->data[i];
	}
	if (tensor->sparsity) {
		graph_refuse(g, "a sparse tensor");
		return v;
	}
	switch (tensor->type) {
	case TFL_FLOAT32:
		v.type = ANEURALNETWORKS_TENSOR_FLOAT32;
		break;
	case TFL_FLOAT16:
		v.type = ANEURALNETWORKS_TENSOR_FLOAT16;
		break;
	case TFL_INT32:
		v.type = ANEURALNETWORKS_TENSOR_INT32;
		break;
	case TFL_BOOL:
		v.type = ANEURALNETWORKS_TENSOR_BOOL8;
		break;
	case TFL_INT16:
		if (!g->take_int16 || tensor->params.zero_point || !(tensor->params.scale > 0)) {
			graph_refuse(g, "a tensor of type int16");
			break;
		}
		v.type = ANEURALNETWORKS_TENSOR_QUANT16_SYMM;
		v.scale = tensor->params.scale;
		break;
	case TFL_UINT8:
		v.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
		quantised(g, tensor, &v);
		break;
	case TFL_INT8:
		v.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
		quantised(g, tensor, &v);
		break;
	default:
		graph_refuse(g, "a tensor of type %s", tensor_type_name(tensor->type));
	}
	return v;
}

struct value graph_float(const struct tfl_tensor *shape_of)
{
	struct value v = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = 1, .dims = { 1 } };

	if (shape_of->dims->size > 0 && shape_of->dims->size <= GRAPH_MAX_RANK) {
		v.rank = (uint32_t)shape_of->dims->size;
		for (uint32_t i = 0; i < v.rank; i++)
			v.dims[i] = (uint32_t)shape_of->dims->data[i];
	}
	return v;
}

struct value value_shaped(struct value value, uint32_t rank, const uint32_t *dims)
{
	value.rank = rank;
	memcpy(value.dims, dims, rank * sizeof(dims[0]));
	return value;
}

static uint64_t element_size(int32_t type)
{
	switch (type) {
	case ANEURALNETWORKS_TENSOR_FLOAT32:
	case ANEURALNETWORKS_TENSOR_INT32:
	case ANEURALNETWORKS_FLOAT32:
	case ANEURALNETWORKS_INT32:
		return 4;
	case ANEURALNETWORKS_TENSOR_FLOAT16:
	case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
		return 2;
	default:
		return 1;
	}
}

static uint64_t value_count(const struct value *v)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < v->rank; i++)
		count *= v->dims[i];
	return count;
}

static uint64_t value_size(const struct value *v)
{
	return value_count(v) * element_size(v->type);
}

/* ---- Operands ---- */

static uint32_t add(struct graph *g, const struct value *v)
{
	const ANeuralNetworksOperandType type = {
		.type = v->type, .dimensionCount = v->rank,
		.dimensions = v->rank ? v->dims : NULL, .scale = v->scale,
		.zeroPoint = v->zero_point,
	};
	const ANeuralNetworksSymmPerChannelQuantParams channels = {
		.channelDim = v->channel_dim, .scaleCount = v->num_scales, .scales = v->scales,
	};

	g->values = grow(g, g->values, g->num_operands, &g->max_operands, sizeof(g->values[0]));
	if (g->refused)
		return GRAPH_NONE;
	g->values[g->num_operands] = *v;
	if (g->hash) {
		sha256_add(g->hash, &type.type, sizeof(type.type));
		sha256_add(g->hash, &v->rank, sizeof(v->rank));
		sha256_add(g->hash, v->dims, v->rank * sizeof(v->dims[0]));
		sha256_add(g->hash, &v->scale, sizeof(v->scale));
		sha256_add(g->hash, &v->zero_point, sizeof(v->zero_point));
		sha256_add(g->hash, v->scales, v->num_scales * sizeof(v->scales[0]));
	}
	if (!g->model)
		return g->num_operands++;
	if (ANeuralNetworksModel_addOperand(g->model, &type) != ANEURALNETWORKS_NO_ERROR) {
		graph_refuse(g, "NNAPI does not take a tensor of this type, scale or size");
		return GRAPH_NONE;
	}
	if (v->scales && ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
				g->model, (int32_t)g->num_operands, &channels) !=
			ANEURALNETWORKS_NO_ERROR)
		graph_refuse(g, "NNAPI does not take these scales per channel");
	return g->num_operands++;
}

/* Data that stays where it is: of the model file, or of a block. */
static uint32_t add_constant(struct graph *g, const struct value *v, const void *data,
			     uint64_t size, bool of_file)
{
	const ANeuralNetworksMemory *memory = NULL;
	uint32_t operand = add(g, v);
	uint64_t offset = 0;

	if (g->hash && !(of_file && !g->hash_constants))
		sha256_add(g->hash, data, size);
	if (of_file && g->model)
		memory = constants_find(&g->constants, data, size, &offset);
	if (memory) {
		if (operand != GRAPH_NONE && !g->refused &&
		    ANeuralNetworksModel_setOperandValueFromMemory(g->model, (int32_t)operand,
								   memory, offset, size) !=
				ANEURALNETWORKS_NO_ERROR)
			graph_refuse(g, "NNAPI does not take a constant of %llu bytes",
				     (unsigned long long)size);
		return operand;
	}
	if (operand != GRAPH_NONE && g->model && !g->refused &&
	    ANeuralNetworksModel_setOperandValue(g->model, (int32_t)operand, data, size) !=
			ANEURALNETWORKS_NO_ERROR)
		graph_refuse(g, "NNAPI does not take a constant of %llu bytes",
			     (unsigned long long)size);
	return operand;
}

uint32_t graph_tensor(struct graph *g, int tensor)
{
	const struct tfl_tensor *t = tensor_at(g, tensor);
	struct value v;

	if (g->refused)
		return GRAPH_NONE;
	if (!t) {
		graph_refuse(g, "an input is missing");
		return GRAPH_NONE;
	}
	if (g->operand_of[tensor] != GRAPH_NONE)
		return g->operand_of[tensor];
	v = graph_value_of(g, t);
	if (g->refused)
		return GRAPH_NONE;
	if (tensor_is_constant(t)) {
		if (t->bytes != value_size(&v)) {
			graph_refuse(g, "a constant of %zu bytes that should be %llu", t->bytes,
				     (unsigned long long)value_size(&v));
			return GRAPH_NONE;
		}
		g->operand_of[tensor] = add_constant(g, &v, t->contents, t->bytes, true);
	} else if (v.scales) {
		graph_refuse(g, "a tensor with scales per channel that is not constant");
	} else {
		g->operand_of[tensor] = add(g, &v);
	}
	return g->operand_of[tensor];
}

uint32_t graph_in(struct graph *g, int i)
{
	return graph_tensor(g, graph_input_index(g, i));
}

uint32_t graph_out(struct graph *g, int i)
{
	int tensor = graph_output_index(g, i);
	const struct tfl_tensor *t = tensor_at(g, tensor);

	if (g->refused)
		return GRAPH_NONE;
	if (!t || tensor_is_constant(t)) {
		graph_refuse(g, "an output is missing");
		return GRAPH_NONE;
	}
	g->produced[tensor] = true;
	return graph_tensor(g, tensor);
}

uint32_t graph_view(struct graph *g, int tensor, const struct value *as)
{
	const struct tfl_tensor *t = tensor_at(g, tensor);

	if (g->refused)
		return GRAPH_NONE;
	if (!t) {
		graph_refuse(g, "an input is missing");
		return GRAPH_NONE;
	}
	if (!tensor_is_constant(t))
		return graph_reshaped(g, graph_tensor(g, tensor), as->rank, as->dims);
	if (t->bytes != value_size(as)) {
		graph_refuse(g, "a constant of %zu bytes that should be %llu", t->bytes,
			     (unsigned long long)value_size(as));
		return GRAPH_NONE;
	}
	return add_constant(g, as, t->contents, t->bytes, true);
}

uint32_t graph_temporary(struct graph *g, const struct value *value)
{
	return g->refused ? GRAPH_NONE : add(g, value);
}

static void *block(struct graph *g, uint64_t size)
{
	struct graph_block *b = size < UINT32_MAX ? calloc(1, sizeof(*b) + size + 1) : NULL;

	if (!b) {
		graph_refuse(g, "no memory");
		return NULL;
	}
	b->next = g->blocks;
	g->blocks = b;
	return b->data;
}

uint32_t graph_constant(struct graph *g, const struct value *value, const void *data,
			uint64_t size)
{
	void *copy;

	if (g->refused)
		return GRAPH_NONE;
	if (!g->model)
		return add(g, value);
	copy = block(g, size);
	if (!copy)
		return GRAPH_NONE;
	memcpy(copy, data, size);
	return add_constant(g, value, copy, size, false);
}

uint32_t graph_filled(struct graph *g, const struct value *value, int byte)
{
	uint64_t size = value_size(value);
	void *data;

	if (g->refused)
		return GRAPH_NONE;
	if (!g->model)
		return add(g, value);
	data = block(g, size);
	if (!data)
		return GRAPH_NONE;
	memset(data, byte, size);
	return add_constant(g, value, data, size, false);
}

uint32_t graph_floats(struct graph *g, uint32_t count, float value)
{
	const struct value v = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = 1,
				 .dims = { count } };
	float *data = g->refused ? NULL : malloc((count + 1) * sizeof(data[0]));
	uint32_t operand;

	if (!data) {
		graph_refuse(g, "no memory");
		return GRAPH_NONE;
	}
	for (uint32_t i = 0; i < count; i++)
		data[i] = value;
	operand = graph_constant(g, &v, data, count * sizeof(data[0]));
	free(data);
	return operand;
}

uint32_t graph_i32(struct graph *g, int32_t value)
{
	static const struct value scalar = { .type = ANEURALNETWORKS_INT32 };

	return graph_constant(g, &scalar, &value, sizeof(value));
}

uint32_t graph_f32(struct graph *g, float value)
{
	static const struct value scalar = { .type = ANEURALNETWORKS_FLOAT32 };

	return graph_constant(g, &scalar, &value, sizeof(value));
}

uint32_t graph_bool(struct graph *g, bool value)
{
	static const struct value scalar = { .type = ANEURALNETWORKS_BOOL };

	return graph_constant(g, &scalar, &value, sizeof(value));
}

uint32_t graph_ints(struct graph *g, const int32_t *values, uint32_t count)
{
	const struct value v = { .type = ANEURALNETWORKS_TENSOR_INT32, .rank = 1,
				 .dims = { count } };

	return graph_constant(g, &v, values, count * sizeof(values[0]));
}

uint32_t graph_omitted(struct graph *g, const struct value *value)
{
	return g->refused ? GRAPH_NONE : add_constant(g, value, NULL, 0, false);
}

/* Adds a port for the new value of variable tensor input i, whose operand is not known yet. */
static struct graph_port *add_state(struct graph *g, int i)
{
	const struct tfl_tensor *t = graph_input(g, i);
	struct graph_port *states;
	struct value v;

	if (g->refused)
		return NULL;
	if (!t || !t->is_variable) {
		graph_refuse(g, "state input %d is not a variable tensor", i);
		return NULL;
	}
	states = realloc(g->states, (g->num_states + 1) * sizeof(states[0]));
	if (!states) {
		graph_refuse(g, "no memory");
		return NULL;
	}
	g->states = states;
	v = graph_value_of(g, t);
	states[g->num_states] = (struct graph_port){
		.tensor = graph_input_index(g, i), .state = true, .also = TFL_NO_TENSOR,
		.size = (uint32_t)value_size(&v),
	};
	return &states[g->num_states++];
}

uint32_t graph_state(struct graph *g, int i)
{
	struct graph_port *port = add_state(g, i);
	struct value v;

	if (!port)
		return GRAPH_NONE;
	v = graph_value_of(g, graph_input(g, i));
	port->operand = graph_temporary(g, &v);
	return port->operand;
}

void graph_state_as(struct graph *g, int i, uint32_t operand)
{
	struct graph_port *port = add_state(g, i);

	if (!port)
		return;
	port->operand = operand;
	port->shared = true;
}

/* ---- Operations ---- */

void graph_operation(struct graph *g, int32_t code, const uint32_t *inputs, uint32_t num_inputs,
		     const uint32_t *outputs, uint32_t num_outputs)
{
	g->node_of = grow(g, g->node_of, g->num_operations, &g->max_operations,
			  sizeof(g->node_of[0]));
	if (g->refused)
		return;
	for (uint32_t i = 0; i < num_outputs; i++)
		g->work += value_count(&g->values[outputs[i]]);
	g->node_of[g->num_operations++] = g->node_index;
	if (g->hash) {
		sha256_add(g->hash, &code, sizeof(code));
		sha256_add(g->hash, inputs, num_inputs * sizeof(inputs[0]));
		sha256_add(g->hash, outputs, num_outputs * sizeof(outputs[0]));
	}
	if (g->model &&
	    ANeuralNetworksModel_addOperation(g->model, code, num_inputs, inputs, num_outputs,
					      outputs) != ANEURALNETWORKS_NO_ERROR)
		graph_refuse(g, "NNAPI does not take the operation with these arguments");
}

uint32_t graph_reshaped(struct graph *g, uint32_t operand, uint32_t rank, const uint32_t *dims)
{
	int32_t shape[GRAPH_MAX_RANK];
	struct value v;
	uint32_t to;

	if (g->refused || operand == GRAPH_NONE)
		return GRAPH_NONE;
	v = g->values[operand];
	if (v.rank == rank && !memcmp(v.dims, dims, rank * sizeof(dims[0])))
		return operand;
	if (v.rank > 4) {
		graph_refuse(g, "a tensor of %u dimensions, at most 4", v.rank);
		return GRAPH_NONE;
	}
	for (uint32_t i = 0; i < rank; i++)
		shape[i] = (int32_t)dims[i];
	v = value_shaped(v, rank, dims);
	to = graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_RESHAPE, to, operand, graph_ints(g, shape, rank));
	return to;
}

void graph_reshape_to(struct graph *g, uint32_t operand, int output)
{
	uint32_t out = graph_out(g, output);
	int32_t shape[GRAPH_MAX_RANK];

	if (g->refused || operand == GRAPH_NONE)
		return;
	if (g->values[operand].rank > 4)
		return graph_refuse(g, "a tensor of %u dimensions, at most 4",
				    g->values[operand].rank);
	for (uint32_t i = 0; i < g->values[out].rank; i++)
		shape[i] = (int32_t)g->values[out].dims[i];
	emit(g, ANEURALNETWORKS_RESHAPE, out, operand,
	     graph_ints(g, shape, g->values[out].rank));
}

uint32_t graph_real_in(struct graph *g, int i)
{
	const struct tfl_tensor *t = graph_input(g, i);
	uint32_t from = graph_in(g, i), to;
	struct value v;

	if (g->refused || t->type == TFL_FLOAT32)
		return from;
	if (!tensor_is_quant8(t) ||
	    (t->params.scale == 0 && !graph_value_of(g, t).scales)) {
		graph_refuse(g, "a tensor of type %s", tensor_type_name(t->type));
		return GRAPH_NONE;
	}
	v = graph_float(t);
	to = graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_DEQUANTIZE, to, from);
	return to;
}

uint32_t graph_begin_real(struct graph *g, int i)
{
	const struct tfl_tensor *t = graph_output(g, i);
	struct value v;

	if (g->refused || !t || t->type == TFL_FLOAT32)
		return graph_out(g, i);
	v = graph_float(t);
	return graph_temporary(g, &v);
}

void graph_end_real(struct graph *g, int i, uint32_t operand)
{
	const struct tfl_tensor *t = graph_output(g, i);
	uint32_t out = graph_out(g, i);

	if (g->refused || t->type == TFL_FLOAT32)
		return;
	if (!tensor_is_quant8(t) || t->params.scale == 0)
		return graph_refuse(g, "a tensor of type %s", tensor_type_name(t->type));
	emit(g, ANEURALNETWORKS_QUANTIZE, out, operand);
}

uint32_t graph_activation(struct graph *g, int activation)
{
	static const char *const names[] = {
		[TFL_ACT_TANH] = "TANH", [TFL_ACT_SIGN_BIT] = "SIGN_BIT",
		[TFL_ACT_SIGMOID] = "SIGMOID",
	};

	switch (activation) {
	case TFL_ACT_NONE:
		return graph_i32(g, ANEURALNETWORKS_FUSED_NONE);
	case TFL_ACT_RELU:
		return graph_i32(g, ANEURALNETWORKS_FUSED_RELU);
	case TFL_ACT_RELU_N1_TO_1:
		return graph_i32(g, ANEURALNETWORKS_FUSED_RELU1);
	case TFL_ACT_RELU6:
		return graph_i32(g, ANEURALNETWORKS_FUSED_RELU6);
	case TFL_ACT_TANH:
	case TFL_ACT_SIGN_BIT:
	case TFL_ACT_SIGMOID:
		graph_refuse(g, "fused activation %s, which NNAPI does not fuse",
			     names[activation]);
		return GRAPH_NONE;
	default:
		graph_refuse(g, "fused activation %d, which does not exist", activation);
		return GRAPH_NONE;
	}
}

uint32_t graph_padding(struct graph *g, int padding)
{
	if (padding == TFL_PADDING_SAME)
		return graph_i32(g, ANEURALNETWORKS_PADDING_SAME);
	if (padding == TFL_PADDING_VALID)
		return graph_i32(g, ANEURALNETWORKS_PADDING_VALID);
	graph_refuse(g, "padding %d, which does not exist", padding);
	return GRAPH_NONE;
}
