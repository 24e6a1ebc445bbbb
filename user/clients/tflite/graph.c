/* SPDX-License-Identifier: MIT */
#include "clients/tflite/graph.h"

#include "clients/tflite/delegate.h"

#include <stdlib.h>
#include <string.h>

bool graph_init(struct graph *g, struct tfl_context *context, struct delegate *delegate)
{
	size_t count = context->num_tensors;

	*g = (struct graph){
		.context = context,
		.l = { .b = &g->b, .devices = delegate ? &delegate->devices : NULL },
		.is_old = delegate && delegate->minor && delegate->minor < 10,
	};
	g->operand_of = malloc((count + 1) * sizeof(g->operand_of[0]));
	g->produced = calloc(count + 1, sizeof(g->produced[0]));
	g->is_cut = calloc(count + 1, sizeof(g->is_cut[0]));
	if (!g->operand_of || !g->produced || !g->is_cut)
		return false;
	memset(g->operand_of, 0xff, (count + 1) * sizeof(g->operand_of[0]));
	return true;
}

void graph_free(struct graph *g)
{
	builder_free(&g->b);
	free(g->operand_of);
	free(g->produced);
	free(g->is_cut);
	free(g->states);
	*g = (struct graph){ .context = NULL };
}

/* ---- Contents of the TensorFlow Lite graph ---- */

static int index_of(const struct tfl_ints *list, uint32_t i)
{
	return list && (int)i < list->size ? list->data[i] : TFL_NO_TENSOR;
}

static const struct tfl_tensor *tensor_at(const struct lowering *t, int index)
{
	const struct tfl_context *context = tfl(t)->context;

	return index < 0 || (size_t)index >= context->num_tensors ? NULL : &context->tensors[index];
}

const struct tfl_tensor *tensor_in(const struct lowering *t, uint32_t i)
{
	return tensor_at(t, index_of(tfl(t)->node->inputs, i));
}

const struct tfl_tensor *tensor_out(const struct lowering *t, uint32_t i)
{
	return tensor_at(t, index_of(tfl(t)->node->outputs, i));
}

uint32_t out_count(const struct lowering *t)
{
	return (uint32_t)tfl(t)->node->outputs->size;
}

const void *params(const struct lowering *t)
{
	return tfl(t)->node->builtin_data ?: tfl(t)->node->custom_data;
}

bool tensor_is_constant(const struct tfl_tensor *tensor)
{
	return tensor && tensor->contents &&
	       (tensor->allocation_type == TFL_READ_ONLY ||
		tensor->allocation_type == TFL_PERSISTENT_READ_ONLY);
}

bool node_is_folded(const struct tfl_context *context, const struct tfl_node *node)
{
	const struct tfl_ints *out = node->outputs;
	bool folded = out && out->size;

	for (int i = 0; folded && i < out->size; i++)
		folded = tensor_is_constant(&context->tensors[out->data[i]]) &&
			 context->tensors[out->data[i]].allocation_type == TFL_PERSISTENT_READ_ONLY;
	return folded;
}

uint64_t tensor_count(const struct tfl_tensor *tensor)
{
	uint64_t count = 1;

	for (int i = 0; tensor->dims && i < tensor->dims->size; i++)
		count *= (uint64_t)(uint32_t)tensor->dims->data[i];
	return count;
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

uint32_t dim(const struct tfl_tensor *tensor, int i)
{
	return (uint32_t)tensor->dims->data[i];
}

struct shape shape_of(const struct tfl_tensor *tensor)
{
	struct shape shape = { .rank = tensor->dims->size };

	for (int i = 0; i < shape.rank; i++)
		shape.dims[i] = tensor->dims->data[i];
	return shape;
}

/* For each type of TensorFlow Lite: name, bytes of an element, and operand type of the NNAPI. */
static const struct {
	const char *name;
	size_t size;
	int32_t type;
} types[] = {
	[TFL_FLOAT32] = { "float32", 4, NN(TENSOR_FLOAT32) },
	[TFL_INT32] = { "int32", 4, NN(TENSOR_INT32) },
	[TFL_UINT8] = { "uint8", 1, NN(TENSOR_QUANT8_ASYMM) },
	[TFL_INT64] = { "int64", 8, NN(TENSOR_INT32) },
	[TFL_STRING] = { "string", 0, 0 },
	[TFL_BOOL] = { "bool", 0, NN(TENSOR_BOOL8) },
	[TFL_INT16] = { "int16", 0, NN(TENSOR_QUANT16_SYMM) },
	[TFL_INT8] = { "int8", 1, NN(TENSOR_QUANT8_ASYMM_SIGNED) },
	[TFL_FLOAT16] = { "float16", 0, NN(TENSOR_FLOAT16) },
	[TFL_FLOAT64] = { "float64", 0, 0 },
	[TFL_INT4] = { "int4", 0, 0 },
};

static size_t type_number(int type)
{
	return type > 0 && (size_t)type < sizeof(types) / sizeof(types[0]) ? (size_t)type : 0;
}

const char *tensor_type_name(int type)
{
	return types[type_number(type)].name ?: "an unknown type";
}

const void *data_of_count(struct lowering *t, const struct tfl_tensor *tensor, int type,
			  uint64_t count)
{
	const size_t size = types[type_number(type)].size;

	if (!tensor_is_constant(tensor))
		refuse(t, "a tensor must be constant, with %llu elements of %s",
		       (unsigned long long)count, tensor_type_name(type));
	else if (!size || tensor->type != type || tensor_count(tensor) != count ||
		 tensor->bytes / size != count || tensor->bytes % size)
		refuse(t, "a constant has %zu bytes and %llu elements of %s, must be %llu of %s",
		       tensor->bytes, (unsigned long long)tensor_count(tensor),
		       tensor_type_name(tensor->type), (unsigned long long)count,
		       tensor_type_name(type));
	return t->refused ? NULL : tensor->contents;
}

int64_t *ints_in(struct lowering *t, uint32_t i, int64_t *count)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);
	const bool is_wide = tensor && tensor->type == TFL_INT64;
	const char *data;
	int64_t *ints;

	*count = -1;
	if (REFUSED_IF(t, !tensor || (!is_wide && tensor->type != TFL_INT32),
		       "input %u must be constant integers, is %s", i,
		       tensor_type_name(tensor ? tensor->type : 0)))
		return NULL;
	data = data_of_count(t, tensor, tensor->type, tensor_count(tensor));
	ints = data ? builder_alloc(t->b, tensor->bytes * 2 + 1) : NULL;
	if (!ints) {
		refuse(t, "there is no memory");
		return NULL;
	}
	*count = (int64_t)tensor_count(tensor);
	for (int64_t k = 0; k < *count; k++) {
		int32_t narrow;

		if (is_wide) {
			memcpy(&ints[k], data + k * 8, 8);
			continue;
		}
		memcpy(&narrow, data + k * 4, 4);
		ints[k] = narrow;
	}
	return ints;
}

/* ---- Inputs and outputs of the node ---- */

uint32_t in_count(struct lowering *t)
{
	return tfl(t)->node->inputs ? (uint32_t)tfl(t)->node->inputs->size : 0;
}

bool has_in(struct lowering *t, uint32_t i)
{
	return tensor_in(t, i);
}

bool has_out(struct lowering *t, uint32_t i)
{
	return tensor_out(t, i);
}

int64_t constant_count(struct lowering *t, uint32_t i)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);

	return tensor_is_constant(tensor) ? (int64_t)tensor_count(tensor) : -1;
}

const struct shape *shape_in(struct lowering *t, uint32_t i)
{
	static const struct shape none;
	const struct tfl_tensor *tensor = tensor_in(t, i);
	struct shape *shape = tensor && !t->refused ? builder_alloc(t->b, sizeof(*shape)) : NULL;

	if (!shape) {
		refuse(t, "an input is missing");
		return &none;
	}
	*shape = shape_of(tensor);
	return shape;
}

/* Sets the scales of a per-channel tensor. NNAPI has no zero points for per-channel tensors. */
static void per_channel(struct lowering *t, const struct tfl_tensor *tensor, struct operand *to)
{
	const struct tfl_affine *affine = tensor->quantization.params;

	for (int i = 0; affine->zero_point && i < affine->zero_point->size; i++)
		if (affine->zero_point->data[i])
			return refuse(t, "zero points of scales per channel must be 0");
	if (tensor->type != TFL_INT8)
		return refuse(t, "%s must have a single scale", tensor_type_name(tensor->type));
	if (affine->dimension < 0 || affine->dimension >= tensor->dims->size ||
	    tensor->dims->size > MAX_DIMS ||
	    tensor->dims->data[affine->dimension] != affine->scale->size)
		return refuse(t, "%d scales do not fit their dimension", affine->scale->size);
	to->type = NN(TENSOR_QUANT8_SYMM_PER_CHANNEL);
	to->scales = affine->scale->data;
	to->channel = (uint32_t)affine->dimension;
}

static void quantised(struct lowering *t, const struct tfl_tensor *tensor, struct operand *to)
{
	const struct tfl_affine *affine = tensor->quantization.params;

	if (tensor->quantization.type == TFL_AFFINE_QUANTIZATION && affine && affine->scale &&
	    affine->scale->size > 1)
		return per_channel(t, tensor, to);
	to->scale = tensor->params.scale;
	to->zero = tensor->params.zero_point;
	if (tensor->quantization.type == TFL_AFFINE_QUANTIZATION && affine && affine->scale) {
		if (affine->scale->size == 1)
			to->scale = affine->scale->data[0];
		if (affine->zero_point && affine->zero_point->size >= 1)
			to->zero = affine->zero_point->data[0];
	}
	/*
	 * 8-bit integers that are not quantised have no scale. Operations that compute with a scale
	 * check tensor->params.scale.
	 */
	if (to->scale == 0) {
		to->scale = 1;
		to->zero = 0;
	}
}

struct operand operand_type(struct lowering *t, const struct tfl_tensor *tensor)
{
	struct operand to = { .type = tensor ? types[type_number(tensor->type)].type : -1 };
	struct shape shape;

	if (!tensor || !tensor->dims || tensor->dims->size > MAX_RANK) {
		refuse(t, tensor ? "a tensor has more than %d dimensions" : "an input is missing",
		       MAX_RANK);
		return to;
	}
	shape = shape_of(tensor);
	if (REFUSED_IF(t, shape_count(&shape) <= 0,
		       "a tensor has no elements, or more than 2^31") ||
	    REFUSED_IF(t, tensor->sparsity, "sparse tensors are not supported") ||
	    REFUSED_IF(t, !to.type || (tensor->type == TFL_INT64 && !tfl(t)->take_int64) ||
		       (tensor->type == TFL_INT16 && (!tfl(t)->take_int16 ||
						      tensor->params.zero_point ||
						      !(tensor->params.scale > 0))),
		       "a tensor of type %s is not supported", tensor_type_name(tensor->type)))
		return to;
	to.rank = flat(&shape, to.dims);
	if (tensor_is_quant8(tensor))
		quantised(t, tensor, &to);
	else if (tensor->type == TFL_INT16)
		to.scale = tensor->params.scale;
	return to;
}

/* Makes a constant of a tensor's data. */
static uint32_t constant_of(struct lowering *t, const struct tfl_tensor *tensor,
			    struct operand type)
{
	type.in_file = tensor->allocation_type == TFL_READ_ONLY;
	if (!t->refused && tensor->bytes != builder_size(&type))
		refuse(t, "a constant has %zu bytes, must be %zu", tensor->bytes,
		       builder_size(&type));
	/*
	 * Copy data that is not in the model file, because TensorFlow Lite may move such data when
	 * it prepares the graph again.
	 */
	return type.in_file ? constant_bytes(t, &type, tensor->contents) :
			      constant_copy(t, &type, tensor->contents);
}

/*
 * An operation needs all 64 bits of an int64 tensor's numbers, or only the low 32 bits, or uses the
 * numbers as indices. NNAPI receives only the low 32 bits of the numbers in a partition's inputs.
 */
enum reading { ALL_BITS, LOW_BITS, INDICES };

static uint32_t find_in(struct lowering *t, uint32_t i, enum reading reading)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);
	const int at = index_of(tfl(t)->node->inputs, i);
	int64_t count, *wide;
	uint32_t *operand;
	struct operand type = operand_type(t, tensor);

	if (REFUSED_IF(t, tensor->type == TFL_INT64 && !tensor_is_constant(tensor) &&
		       !tfl(t)->is_checked && !tfl(t)->produced[at] &&
		       (reading == ALL_BITS || (tfl(t)->operand_of[at] != NO_OPERAND &&
						tfl(t)->is_cut[at] != (reading == LOW_BITS))),
		       "int64 inputs of the partition may exceed NNAPI's 32 bits"))
		return NO_OPERAND;
	tfl(t)->is_cut[at] = tfl(t)->is_cut[at] || reading == LOW_BITS;
	operand = &tfl(t)->operand_of[at];
	if (*operand != NO_OPERAND)
		return *operand;
	if (tensor_is_constant(tensor) && tensor->type == TFL_INT64) {
		wide = ints_in(t, i, &count);
		*operand = constant_bytes(t, &type, narrowed(t, wide, count));
	} else if (tensor_is_constant(tensor)) {
		*operand = constant_of(t, tensor, type);
	} else if (!REFUSED_IF(t, type.scales,
			       "a tensor with scales per channel must be constant")) {
		*operand = builder_operand(t->b, &type);
	}
	return *operand;
}

uint32_t in(struct lowering *t, uint32_t i)
{
	return find_in(t, i, ALL_BITS);
}

uint32_t low_in(struct lowering *t, uint32_t i)
{
	return find_in(t, i, LOW_BITS);
}

uint32_t index_in(struct lowering *t, uint32_t i)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);

	if (tensor && tensor->type != TFL_INT32 && tensor->type != TFL_INT64)
		refuse(t, "indices of type %s, must be int32 or int64",
		       tensor_type_name(tensor->type));
	return find_in(t, i, INDICES);
}

uint32_t in_as(struct lowering *t, uint32_t i, const struct operand *type)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);

	struct operand natural = operand_type(t, tensor);
	uint32_t *operand;

	if (t->refused)
		return NO_OPERAND;
	if (tensor_is_constant(tensor))
		return constant_of(t, tensor, *type);
	if (REFUSED_IF(t, natural.scales, "a tensor with scales per channel must be constant"))
		return NO_OPERAND;
	/* A tensor from outside of the partition gets the scale that its first reader needs. */
	operand = &tfl(t)->operand_of[index_of(tfl(t)->node->inputs, i)];
	natural.scale = type->scale;
	if (*operand == NO_OPERAND)
		*operand = builder_operand(t->b, &natural);
	if (operand_of(t, *operand)->scale != type->scale)
		refuse(t, "input %u has the scale %g, must be %g", i,
		       (double)operand_of(t, *operand)->scale, (double)type->scale);
	return view(t, *operand, type->rank, type->dims);
}

uint32_t float_in(struct lowering *t, uint32_t i)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);
	uint32_t x = in(t, i);

	if (t->refused || tensor->type == TFL_FLOAT32)
		return x;
	if (REFUSED_IF(t, !tensor_is_quant8(tensor) ||
		       (tensor->params.scale == 0 && !operand_of(t, x)->scales),
		       "a tensor of type %s is not supported", tensor_type_name(tensor->type)))
		return NO_OPERAND;
	return dequantised(t, x, NN(TENSOR_FLOAT32));
}

uint32_t number_in(struct lowering *t, uint32_t i)
{
	return tensor_in(t, i) && tensor_is_quant8(tensor_in(t, i)) ? float_in(t, i) : in(t, i);
}

uint32_t out_like(struct lowering *t, uint32_t i)
{
	const struct operand type = operand_type(t, tensor_out(t, i));

	return t->refused ? NO_OPERAND : builder_operand(t->b, &type);
}

bool bytes_in(struct lowering *t, uint32_t *x, uint32_t *out)
{
	if (!tensor_is_quant8(tensor_in(t, 0)))
		return false;
	*x = in(t, 0);
	*out = out_like(t, 0);
	return !t->refused;
}

void set_bytes(struct lowering *t, uint32_t operand, const struct shape *shape)
{
	set_out(t, 0, operand, shape);
}

void set_out(struct lowering *t, uint32_t i, uint32_t x, const struct shape *shape)
{
	const struct tfl_tensor *out = tensor_out(t, i);
	const struct operand type = operand_type(t, out);
	const int tensor = index_of(tfl(t)->node->outputs, i);

	if (REFUSED_IF(t, tensor_is_constant(out), "an output is constant") ||
	    REFUSED_IF(t, (uint64_t)shape_count(shape) != tensor_count(out),
		       "the output has %lld elements, must be %llu",
		       (long long)shape_count(shape), (unsigned long long)tensor_count(out)))
		return;
	x = view(t, x, type.rank, type.dims);
	if (tensor_is_quant8(out) && is_type(t, x, NN(TENSOR_FLOAT32))) {
		if (out->params.scale == 0)
			return refuse(t, "a tensor of type %s is not supported",
				      tensor_type_name(out->type));
		x = EMIT(t, NN(QUANTIZE), out_like(t, i), x);
	}
	if (out->type == TFL_BOOL && is_type(t, x, NN(TENSOR_FLOAT32)))
		x = float_as_bool(t, x);
	if (!is_type(t, x, type.type))
		return refuse(t, "output %u is of %s, but computed as %s", i,
			      tensor_type_name(out->type), nnapi_type_name(operand_of(t, x)->type));
	if (operand_of(t, x)->scale != type.scale || operand_of(t, x)->zero != type.zero)
		return refuse(t, "output %u must have the scale and zero point of its input", i);
	/* If the operand is an input or the output of another node, copy the operand. */
	if (!builder_writes(t->b, tfl(t)->first, x))
		x = rewritten(t, x);
	if (t->refused)
		return;
	tfl(t)->operand_of[tensor] = x;
	tfl(t)->produced[tensor] = true;
}

void set(struct lowering *t, uint32_t i, uint32_t operand)
{
	struct shape shape;

	if (!tensor_out(t, i))
		return refuse(t, "an output is missing");
	shape = shape_of(tensor_out(t, i));
	if (!t->refused && elements_of(t, operand) != shape_count(&shape))
		refuse(t, "the output has %u elements, must be %lld",
		       elements_of(t, operand), (long long)shape_count(&shape));
	set_out(t, i, operand, &shape);
}

/* Adds a port for the new value of variable tensor input i, whose operand is not known yet. */
static struct graph_port *add_state(struct lowering *t, uint32_t i)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);
	struct graph *g = tfl(t);
	struct graph_port *states;
	struct operand type;

	if (!t->refused && (!tensor || !tensor->is_variable))
		refuse(t, "state input %u is not a variable tensor", i);
	type = operand_type(t, tensor);
	if (t->refused)
		return NULL;
	states = realloc(g->states, (g->num_states + 1) * sizeof(states[0]));
	if (REFUSED_IF(t, !states, "no memory"))
		return NULL;
	g->states = states;
	states[g->num_states] = (struct graph_port){
		.tensor = index_of(g->node->inputs, i), .state = true, .also = TFL_NO_TENSOR,
		.size = (uint32_t)builder_size(&type),
	};
	return &states[g->num_states++];
}

uint32_t new_state(struct lowering *t, uint32_t i)
{
	struct graph_port *port = add_state(t, i);

	if (!port)
		return NO_OPERAND;
	return port->operand = result_like(t, in(t, i));
}

void state_as(struct lowering *t, uint32_t state, uint32_t i)
{
	struct graph_port *port = add_state(t, state);

	if (!port)
		return;
	port->operand = tfl(t)->operand_of[index_of(tfl(t)->node->outputs, i)];
	port->shared = true;
}

int32_t fused_code(struct lowering *t, int activation)
{
	static const struct {
		const char *name;
		int32_t code;
	} codes[] = {
		[TFL_ACT_NONE] = { "NONE", NN(FUSED_NONE) },
		[TFL_ACT_RELU] = { "RELU", NN(FUSED_RELU) },
		[TFL_ACT_RELU_N1_TO_1] = { "RELU_N1_TO_1", NN(FUSED_RELU1) },
		[TFL_ACT_RELU6] = { "RELU6", NN(FUSED_RELU6) },
		[TFL_ACT_TANH] = { "TANH", -1 },
		[TFL_ACT_SIGN_BIT] = { "SIGN_BIT", -1 },
		[TFL_ACT_SIGMOID] = { "SIGMOID", -1 },
	};

	if (activation < 0 || (size_t)activation >= sizeof(codes) / sizeof(codes[0]))
		refuse(t, "fused activation %d does not exist", activation);
	else if (codes[activation].code < 0)
		refuse(t, "fused activation %s is not supported by NNAPI", codes[activation].name);
	return t->refused ? NN(FUSED_NONE) : codes[activation].code;
}
