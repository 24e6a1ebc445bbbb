/* SPDX-License-Identifier: MIT */
#include "clients/tflite/operations.h"

#include <stdio.h>
#include <string.h>

struct row {
	translator *translate;		/* NULL: NNAPI cannot express the operation */
	function *function;
	int32_t code;	/* the NNAPI's OperationCode, if the translator needs the code */
	/* types of the main input; 0 for the types that the operations support */
	uint32_t types;
	uint8_t data;			/* index of the main input */
	uint8_t min_inputs, max_inputs;
	bool params;			/* the node has parameters, which are mandatory */
	bool optional;			/* inputs with an index below min_inputs may be absent */
	/* the operation only moves values, so quantised tensors need no scale */
	bool raw;
	bool any;			/* output 0 has another type than the main input */
	bool pair;			/* all inputs have the same type */
	uint32_t shape_inputs;		/* set of inputs that the output's shape depends on */
	preparation *prepare;		/* of a custom operation; see operation_prepare() */
	/* why NNAPI cannot express the operation; NULL if NNAPI simply lacks the operation */
	const char *why;
};

#define TYPE(type) (1u << (type))
#define FLOATS TYPE(TFL_FLOAT32)
#define INTS TYPE(TFL_INT32)
#define BOOLS TYPE(TFL_BOOL)
#define BYTES (TYPE(TFL_UINT8) | TYPE(TFL_INT8))
#define NUMBERS (FLOATS | INTS)
#define COMMON (FLOATS | BYTES)
#define LONGS TYPE(TFL_INT64)		/* int64, passed to NNAPI as int32: see find_in() */
#define MOVED (FLOATS | INTS | LONGS | BYTES)
#define PARAMS .params = true
#define OPTIONAL .optional = true
#define RAW .raw = true
#define ANY .any = true
#define PAIR .pair = true
#define INPUTS(min, max) .min_inputs = (min), .max_inputs = (max)
#define SHAPE_INPUT(i) (1u << (i))
#define SHAPE_OF_VALUES (1u << 31)	/* the output's shape depends on computed values */

#define WHY_CONTROL "TensorFlow Lite runs its subgraphs, which are given to the device one by one"
#define WHY_CUSTOM "custom operations are not supported"
#define WHY_RANDOM "NNAPI draws the same random numbers in each execution, TensorFlow Lite does not"

/* Prepares an operation whose output shapes are those of the model file. */
static int keep_shapes(struct tfl_context *context, struct tfl_node *node)
{
	(void)context;
	(void)node;
	return TFL_OK;
}

static const struct row operations[] = {
#define EXTRA(name, op, takes, ...) [TFL_OP_##name] = { .translate = op, .types = takes, \
							.code = -1, __VA_ARGS__ },
#define OP(code, name, ...) EXTRA(name, __VA_ARGS__)
#define CODE(number, name, op, nnapi, takes, ...) [TFL_OP_##name] = { \
	.translate = op, .types = takes, .code = NN(nnapi), __VA_ARGS__ },
#define OTHER(code, name, ...) [TFL_OP_##name] = { __VA_ARGS__ },
#include "clients/tflite/builtins.def"
#define ROW(name, of) [TFL_OP_##name] = { .translate = function_op, .function = function_##of, \
					  INPUTS(1, 1) },
#define FUNCTION(onnx, first, last, tflite, y) ROW(tflite, onnx)
#define TFLITE_FUNCTION(tflite, y) ROW(tflite, tflite)
#include "clients/lower/functions.def"
};

static const char *const names[] = {
#define X(code, name) [code] = #name,
#define EXTRA(name, ...) [TFL_OP_##name] = #name,
#include "clients/tflite/builtins.def"
};

int32_t operation_code(const struct tfl_registration *r)
{
	const int32_t first = TFL_OP_Convolution2DTransposeBias;

	if (r->builtin_code == TFL_OP_CUSTOM && r->custom_name)
		for (int32_t code = first; (size_t)code < sizeof(names) / sizeof(names[0]); code++)
			if (!strcmp(r->custom_name, names[code]))
				return code;
	return r->builtin_code < first ? r->builtin_code : -1;
}

const char *operation_name(int32_t code)
{
	if (code < 0 || (size_t)code >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[code];
}

static const struct row *find(int32_t code)
{
	static const struct row none;

	if (code < 0 || (size_t)code >= sizeof(operations) / sizeof(operations[0]))
		return &none;
	return &operations[code];
}

/* Rejects dimensions of 0, because translators may divide by them. */
static bool check_dims(struct lowering *t, const struct tfl_tensor *tensor)
{
	if (!tensor)
		return true;
	if (REFUSED_IF(t, !tensor->dims || tensor->dims->size > MAX_RANK,
		       "a tensor has no shape, or more than %d dimensions", MAX_RANK))
		return false;
	for (int i = 0; i < tensor->dims->size; i++)
		if (tensor->dims->data[i] <= 0) {
			tfl(t)->is_empty = true;
			refuse(t, "a tensor has a dimension of %d", tensor->dims->data[i]);
		}
	return !t->refused;
}

/* Rejects a type, with a message that lists the allowed types `types`. */
static void refuse_type(struct lowering *t, int type, uint32_t types)
{
	char list[96] = "";

	for (int i = 0; i < 31; i++)
		if (types & TYPE(i))
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 *list ? ", " : "", tensor_type_name(i));
	refuse(t, "type %s, must be one of %s", tensor_type_name(type), list);
}

/* Rejects the node unless the two types are equal. */
static bool check_type(struct lowering *t, int type, int other, const char *how)
{
	return !REFUSED_IF(t, type != other, "%s %s %s is not supported", tensor_type_name(type),
			   how, tensor_type_name(other));
}

static void check(struct lowering *t, const struct row *op, bool with_shapes)
{
	const struct tfl_tensor *main = tensor_in(t, op->data), *in;
	const uint32_t count = in_count(t);

	if (count < op->min_inputs || count > op->max_inputs)
		return refuse(t, "%u inputs, must be %u to %u", count, op->min_inputs,
			      op->max_inputs);
	if (!main || !tensor_out(t, 0))
		return refuse(t, "an input or output is missing");
	for (uint32_t i = 0; i < count; i++) {
		if (i < op->min_inputs && !op->optional && !tensor_in(t, i))
			return refuse(t, "input %u is missing", i);
		if (with_shapes && !check_dims(t, tensor_in(t, i)))
			return;
	}
	for (uint32_t i = 0; i < out_count(t); i++) {
		if (!tensor_out(t, i))
			return refuse(t, "output %u is missing", i);
		if (with_shapes && !check_dims(t, tensor_out(t, i)))
			return;
	}
	if (op->params && !params(t))
		return refuse(t, "its parameters are missing");
	if (op->types && (main->type < 0 || main->type > 30 || !(op->types & TYPE(main->type))))
		return refuse_type(t, main->type, op->types);
	for (uint32_t i = 0; i < count; i++) {
		in = tensor_in(t, i);
		if (in && tensor_is_quant8(in) && !op->raw && !(in->params.scale > 0) &&
		    in->quantization.type != TFL_AFFINE_QUANTIZATION)
			return refuse(t, "input %u is of type %s and has no scale", i,
				      tensor_type_name(in->type));
		if (in && op->pair && !check_type(t, main->type, in->type, "with"))
			return;
	}
	if (!op->any)
		check_type(t, main->type, tensor_out(t, 0)->type, "to");
}

const char *operation_why(int32_t code)
{
	return find(code)->why;
}

preparation *operation_prepare(int32_t code)
{
	return find(code)->prepare;
}

uint32_t operation_values(int32_t code)
{
	return find(code)->shape_inputs & ~SHAPE_OF_VALUES;
}

/*
 * Begins the translation of g->node. Returns false if the node is rejected, or if TensorFlow Lite
 * has already computed the node's outputs.
 */
static bool begin(struct graph *g, const struct row *op, bool with_shapes)
{
	struct lowering *t = &g->l;

	*t = (struct lowering){ .b = &g->b, .code = op->code, .function = op->function,
				.devices = t->devices };
	if (node_is_folded(g->context, g->node))
		return false;
	if (!op->translate)
		refuse(t, "%s", op->why ? op->why : "NNAPI has no such operation");
	else
		check(t, op, with_shapes);
	return !t->refused;
}

bool operation_check(struct graph *g, int32_t code)
{
	begin(g, find(code), false);
	return !g->l.refused;
}

bool operation_convert(struct graph *g, int32_t code, int index)
{
	const struct builder_mark mark = builder_mark(&g->b);
	const struct row *op = find(code);
	struct lowering *t = &g->l;

	g->b.node = (uint32_t)index;
	g->first = mark.operations;
	g->take_int16 = false;
	g->take_int64 = op->types & LONGS;
	g->dequantises = false;
	g->is_empty = false;
	if (begin(g, op, true))
		op->translate(t);
	if (g->b.failed)
		refuse(t, "no memory");
	if (!t->refused)
		return true;
	builder_rewind(&g->b, mark);
	for (size_t i = 0; i < g->context->num_tensors; i++)
		if (g->operand_of[i] >= mark.operands)
			g->operand_of[i] = NO_OPERAND;
	return false;
}

enum deferral operation_deferral(const struct graph *g, int32_t code, const bool *shapes)
{
	const struct lowering *t = &g->l;
	const struct row *op = find(code);
	const struct tfl_ints *inputs = g->node->inputs, *outputs = g->node->outputs;
	enum deferral deferred = NOT_DEFERRED;

	for (uint32_t i = 0; outputs && i < out_count(t); i++)
		if (tensor_out(t, i) && tensor_out(t, i)->allocation_type == TFL_DYNAMIC)
			return DEFERRED;
	if (op->shape_inputs & SHAPE_OF_VALUES)
		return DEFERRED;
	for (uint32_t i = 0; i < 31; i++)
		if (op->shape_inputs & SHAPE_INPUT(i) && tensor_in(t, i) &&
		    !tensor_is_constant(tensor_in(t, i))) {
			if (!shapes || !shapes[inputs->data[i]])
				return DEFERRED;
			deferred = DEFERRED_BY_SHAPES;
		}
	return deferred;
}
