/* SPDX-License-Identifier: MIT */
#include "clients/tflite/operations.h"

#include <stddef.h>

#define NUMBERS (TYPE_FLOAT | TYPE_INT)
#define COMMON (TYPE_FLOAT | TYPE_Q8)
#define MOVED (TYPE_FLOAT | TYPE_INT | TYPE_Q8)
#define RANK4 .max_rank = 4
#define PARAMS .params = true
#define OPTIONAL .optional = true
#define RAW .raw = true
#define INPUTS(min, max) .min_inputs = (min), .max_inputs = (max)
#define NNAPI(name) .code = ANEURALNETWORKS_##name

#define CONTROL "TensorFlow Lite runs its subgraphs, which are given to the device one by one"
#define CUSTOM "a custom operation"
#define RANDOM "NNAPI draws the same numbers in each execution, TensorFlow Lite does not"

static const struct operation operations[] = {
	[0] = { convert_add, NNAPI(ADD), COMMON | TYPE_INT, INPUTS(2, 2), RANK4, PARAMS },
	[1] = { convert_pool, NNAPI(AVERAGE_POOL_2D), COMMON, INPUTS(1, 1), RANK4, PARAMS },
	[2] = { convert_concatenation, 0, COMMON, INPUTS(1, 255), RANK4, PARAMS, RAW },
	[3] = { convert_conv, 0, COMMON, INPUTS(2, 3), RANK4, PARAMS },
	[4] = { convert_depthwise, 0, COMMON, INPUTS(2, 3), RANK4, PARAMS },
	[5] = { convert_block, NNAPI(DEPTH_TO_SPACE), COMMON, INPUTS(1, 1), RANK4, PARAMS, RAW },
	[6] = { convert_dequantize, 0, TYPE_Q8 | TYPE(TFL_FLOAT16), INPUTS(1, 1) },
	[7] = { convert_embedding_lookup, 0, MOVED, .data = 1, INPUTS(2, 2), RAW },
	[8] = { convert_unary, NNAPI(FLOOR), TYPE_FLOAT, INPUTS(1, 1), RANK4 },
	[9] = { convert_fully_connected, 0, COMMON, INPUTS(2, 3), PARAMS },
	[10] = { convert_hashtable_lookup, 0, MOVED, .data = 2, INPUTS(3, 3), RAW },
	[11] = { convert_l2_normalization, 0, COMMON, INPUTS(1, 1), RANK4, PARAMS },
	[12] = { convert_pool, NNAPI(L2_POOL_2D), TYPE_FLOAT, INPUTS(1, 1), RANK4, PARAMS },
	[13] = { convert_response_norm, 0, TYPE_FLOAT, INPUTS(1, 1), RANK4, PARAMS },
	[14] = { convert_sigmoid, NNAPI(LOGISTIC), COMMON, INPUTS(1, 1), RANK4 },
	[15] = { convert_lsh_projection, 0, NUMBERS | TYPE(TFL_UINT8), .data = 1, INPUTS(2, 3), PARAMS, RAW },
	[16] = { convert_lstm, 0, COMMON, INPUTS(5, 24), PARAMS, OPTIONAL },
	[17] = { convert_pool, NNAPI(MAX_POOL_2D), COMMON, INPUTS(1, 1), RANK4, PARAMS },
	[18] = { convert_mul, 0, COMMON | TYPE_INT, INPUTS(2, 2), RANK4, PARAMS },
	[19] = { convert_relu, NNAPI(RELU), COMMON, INPUTS(1, 1), RANK4 },
	[20] = { convert_relu, NNAPI(RELU1), COMMON, INPUTS(1, 1), RANK4 },
	[21] = { convert_relu, NNAPI(RELU6), COMMON, INPUTS(1, 1), RANK4 },
	[22] = { convert_reshape, 0, MOVED, INPUTS(1, 2), RANK4, RAW,
		 .shape_inputs = SHAPE_INPUT(1) },
	[23] = { convert_resize, NNAPI(RESIZE_BILINEAR), COMMON, INPUTS(2, 2), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(1) },
	[24] = { convert_rnn, 0, TYPE_FLOAT, INPUTS(5, 5), PARAMS },
	[25] = { convert_softmax, 0, COMMON, INPUTS(1, 1), RANK4, PARAMS },
	[26] = { convert_block, NNAPI(SPACE_TO_DEPTH), COMMON, INPUTS(1, 1), RANK4, PARAMS, RAW },
	[27] = { convert_svdf, 0, TYPE_FLOAT, INPUTS(5, 5), PARAMS, OPTIONAL },
	[28] = { convert_sigmoid, NNAPI(TANH), COMMON, INPUTS(1, 1), RANK4 },
	[32] = { .why = CUSTOM },
	[34] = { convert_pad, 0, COMMON, INPUTS(2, 2), RANK4, RAW, .shape_inputs = SHAPE_INPUT(1) },
	[35] = { convert_sequence_rnn, 0, TYPE_FLOAT, INPUTS(5, 5), PARAMS },
	[36] = { convert_gather, 0, MOVED, INPUTS(2, 2), PARAMS, RAW },
	[37] = { convert_batch_to_space, 0, COMMON, INPUTS(3, 3), RANK4, RAW,
		 .shape_inputs = SHAPE_INPUT(1) | SHAPE_INPUT(2) },
	[38] = { convert_space_to_batch, 0, COMMON, INPUTS(3, 3), RANK4, RAW,
		 .shape_inputs = SHAPE_INPUT(1) | SHAPE_INPUT(2) },
	[39] = { convert_transpose, 0, COMMON, INPUTS(2, 2), RANK4, RAW,
		 .shape_inputs = SHAPE_INPUT(1) },
	[40] = { convert_mean, 0, COMMON, INPUTS(2, 2), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(1) },
	[41] = { convert_add, NNAPI(SUB), COMMON | TYPE_INT, INPUTS(2, 2), RANK4, PARAMS },
	[42] = { convert_div, 0, TYPE_FLOAT, INPUTS(2, 2), RANK4, PARAMS },
	[43] = { convert_reshape, 0, MOVED, INPUTS(1, 1), RANK4, RAW },
	[44] = { convert_sequence_lstm, 0, TYPE_FLOAT | TYPE(TFL_INT8), INPUTS(20, 24), PARAMS, OPTIONAL },
	[45] = { convert_strided_slice, 0, MOVED, INPUTS(4, 4), PARAMS, RAW,
		 .shape_inputs = SHAPE_INPUT(1) | SHAPE_INPUT(2) | SHAPE_INPUT(3) },
	[46] = { convert_bidirectional_rnn, 0, TYPE_FLOAT, INPUTS(12, 12), PARAMS, OPTIONAL },
	[47] = { convert_unary, NNAPI(EXP), COMMON, INPUTS(1, 1) },
	[48] = { convert_top_k, 0, COMMON | TYPE_INT, INPUTS(2, 2), RAW,
		 .shape_inputs = SHAPE_INPUT(1) },
	[49] = { convert_split, 0, MOVED, .data = 1, INPUTS(2, 2), PARAMS, RAW,
		 .shape_inputs = SHAPE_INPUT(0) },
	[50] = { convert_log_softmax, 0, COMMON, INPUTS(1, 1) },
	[52] = { convert_bidirectional_lstm, 0, TYPE_FLOAT, INPUTS(48, 48), PARAMS, OPTIONAL },
	[53] = { convert_cast, 0, MOVED, INPUTS(1, 1), RAW },
	[54] = { convert_prelu, 0, COMMON, INPUTS(2, 2) },
	[55] = { convert_maximum, NNAPI(MAXIMUM), MOVED, INPUTS(2, 2) },
	[56] = { convert_arg, NNAPI(ARGMAX), MOVED, INPUTS(2, 2), RAW,
		 .shape_inputs = SHAPE_INPUT(1) },
	[57] = { convert_maximum, NNAPI(MINIMUM), MOVED, INPUTS(2, 2) },
	[58] = { convert_compare, NNAPI(LESS), MOVED, INPUTS(2, 2) },
	[59] = { convert_unary, NNAPI(NEG), NUMBERS, INPUTS(1, 1) },
	[60] = { convert_pad_v2, 0, COMMON, INPUTS(3, 3), RANK4, RAW,
		 .shape_inputs = SHAPE_INPUT(1) },
	[61] = { convert_compare, NNAPI(GREATER), MOVED, INPUTS(2, 2) },
	[62] = { convert_compare, NNAPI(GREATER_EQUAL), MOVED, INPUTS(2, 2) },
	[63] = { convert_compare, NNAPI(LESS_EQUAL), MOVED, INPUTS(2, 2) },
	[64] = { convert_select, 1, MOVED, .data = 1, INPUTS(3, 3), RAW },
	[65] = { convert_slice, 0, MOVED, INPUTS(3, 3), RAW,
		 .shape_inputs = SHAPE_INPUT(1) | SHAPE_INPUT(2) },
	[66] = { convert_unary, NNAPI(SIN), TYPE_FLOAT, INPUTS(1, 1) },
	[67] = { convert_transpose_conv, 0, COMMON, .data = 2, INPUTS(3, 4), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(0) },
	[68] = { .shape_inputs = SHAPE_INPUT(1) },
	[69] = { convert_tile, 0, MOVED, INPUTS(2, 2), RAW, .shape_inputs = SHAPE_INPUT(1) },
	[70] = { convert_reshape, 0, MOVED, INPUTS(2, 2), RANK4, RAW,
		 .shape_inputs = SHAPE_INPUT(1) },
	[71] = { convert_compare, NNAPI(EQUAL), MOVED | TYPE_BOOL, INPUTS(2, 2) },
	[72] = { convert_compare, NNAPI(NOT_EQUAL), MOVED | TYPE_BOOL, INPUTS(2, 2) },
	[73] = { convert_unary, NNAPI(LOG), TYPE_FLOAT, INPUTS(1, 1) },
	[74] = { convert_reduce, NNAPI(REDUCE_SUM), COMMON, INPUTS(2, 2), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(1) },
	[75] = { convert_unary, NNAPI(SQRT), TYPE_FLOAT, INPUTS(1, 1) },
	[76] = { convert_unary, NNAPI(RSQRT), TYPE_FLOAT, INPUTS(1, 1) },
	[77] = { convert_shape, 0, MOVED | TYPE_BOOL, INPUTS(1, 1), RAW },
	[78] = { convert_pow, 0, TYPE_FLOAT, INPUTS(2, 2) },
	[79] = { convert_arg, NNAPI(ARGMIN), MOVED, INPUTS(2, 2), RAW,
		 .shape_inputs = SHAPE_INPUT(1) },
	[81] = { convert_reduce, NNAPI(REDUCE_PROD), TYPE_FLOAT, INPUTS(2, 2), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(1) },
	[82] = { convert_reduce, NNAPI(REDUCE_MAX), COMMON, INPUTS(2, 2), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(1) },
	[83] = { convert_pack, 0, MOVED, INPUTS(1, 255), PARAMS, RAW },
	[84] = { convert_logical, NNAPI(LOGICAL_OR), TYPE_BOOL, INPUTS(2, 2) },
	[85] = { .shape_inputs = SHAPE_INPUT(1) },
	[86] = { convert_logical, NNAPI(LOGICAL_AND), TYPE_BOOL, INPUTS(2, 2) },
	[87] = { convert_unary, NNAPI(LOGICAL_NOT), TYPE_BOOL, INPUTS(1, 1) },
	[88] = { convert_unpack, 0, MOVED, INPUTS(1, 1), RANK4, PARAMS, RAW },
	[89] = { convert_reduce, NNAPI(REDUCE_MIN), COMMON, INPUTS(2, 2), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(1) },
	[90] = { convert_floor_div, 0, TYPE_FLOAT | TYPE_INT, INPUTS(2, 2), RANK4 },
	[91] = { convert_reduce, NNAPI(REDUCE_ANY), TYPE_BOOL, INPUTS(2, 2), RANK4, PARAMS,
		 .shape_inputs = SHAPE_INPUT(1) },
	[92] = { convert_square, 0, TYPE_FLOAT, INPUTS(1, 1), RANK4 },
	[93] = { convert_zeros_like, 0, NUMBERS, INPUTS(1, 1) },
	[94] = { convert_fill, 0, MOVED, .data = 1, INPUTS(2, 2), RAW,
		 .shape_inputs = SHAPE_INPUT(0) },
	[95] = { convert_floor_mod, 0, TYPE_FLOAT | TYPE_INT, INPUTS(2, 2), RANK4 },
	[96] = { .shape_inputs = SHAPE_INPUT(0) | SHAPE_INPUT(1) | SHAPE_INPUT(2) },
	[97] = { convert_resize, NNAPI(RESIZE_NEAREST_NEIGHBOR), COMMON, INPUTS(2, 2), RANK4,
		 PARAMS, .shape_inputs = SHAPE_INPUT(1) },
	[98] = { convert_leaky_relu, 0, COMMON, INPUTS(1, 1), PARAMS },
	[99] = { convert_squared_difference, 0, COMMON | TYPE_INT, INPUTS(2, 2), RANK4 },
	[100] = { convert_mirror_pad, 0, MOVED, INPUTS(2, 2), RANK4, PARAMS, RAW,
		  .shape_inputs = SHAPE_INPUT(1) },
	[101] = { convert_unary, NNAPI(ABS), NUMBERS | TYPE(TFL_INT8), INPUTS(1, 1) },
	[102] = { convert_split_v, 0, MOVED, INPUTS(3, 3), PARAMS, RAW,
		  .shape_inputs = SHAPE_INPUT(1) | SHAPE_INPUT(2) },
	[103] = { .shape_inputs = SHAPE_OF_VALUES },
	[104] = { convert_ceil, 0, TYPE_FLOAT, INPUTS(1, 1), RANK4 },
	[105] = { convert_reverse, 0, MOVED, INPUTS(2, 2), RAW },
	[106] = { convert_add_n, 0, NUMBERS, INPUTS(2, 255), RANK4 },
	[108] = { convert_cos, 0, TYPE_FLOAT, INPUTS(1, 1), RANK4 },
	[109] = { .shape_inputs = SHAPE_OF_VALUES },
	[110] = { convert_shape, NNAPI(RANK), MOVED | TYPE_BOOL, INPUTS(1, 1), RAW },
	[111] = { convert_elu, 0, COMMON, INPUTS(1, 1) },
	[114] = { convert_quantize, 0, COMMON, INPUTS(1, 1) },
	[117] = { convert_hard_swish, 0, COMMON, INPUTS(1, 1) },
	[118] = { .shape_inputs = SHAPE_OF_VALUES, .why = CONTROL },
	[119] = { .shape_inputs = SHAPE_OF_VALUES, .why = CONTROL },
	[120] = { .shape_inputs = SHAPE_INPUT(2) },
	[121] = { .shape_inputs = SHAPE_INPUT(2) },
	[122] = { .shape_inputs = SHAPE_INPUT(2) },
	[123] = { convert_select, 0, MOVED, .data = 1, INPUTS(3, 3), RAW },
	[125] = { .shape_inputs = SHAPE_OF_VALUES },
	[126] = { convert_batch_matmul, 0, TYPE_FLOAT | TYPE(TFL_INT8), INPUTS(2, 2), RANK4,
		  PARAMS },
	[130] = { convert_broadcast_to, 0, MOVED, INPUTS(2, 2), RAW,
		  .shape_inputs = SHAPE_INPUT(1) },
	[131] = { .shape_inputs = SHAPE_INPUT(1) },
	[140] = { convert_reduce, NNAPI(REDUCE_ALL), TYPE_BOOL, INPUTS(2, 2), RANK4, PARAMS,
		  .shape_inputs = SHAPE_INPUT(1) },
	[141] = { .shape_inputs = SHAPE_INPUT(0) },
	[146] = { .shape_inputs = SHAPE_INPUT(0), .why = RANDOM },
	[148] = { .shape_inputs = SHAPE_INPUT(0), .why = RANDOM },
	[149] = { .shape_inputs = SHAPE_INPUT(1), .why = RANDOM },
	[150] = { convert_gelu, 0, COMMON, INPUTS(1, 1), RANK4, PARAMS },
	[152] = { convert_relu_0_to_1, 0, COMMON, INPUTS(1, 1), RANK4 },
	[153] = { .shape_inputs = SHAPE_OF_VALUES },
	[154] = { .shape_inputs = SHAPE_OF_VALUES },
	[155] = { .shape_inputs = SHAPE_OF_VALUES },
	[157] = { .shape_inputs = SHAPE_OF_VALUES },
};

static const char *const names[] = {
#define X(code, name) [code] = #name,
#include "clients/tflite/builtins.def"
#undef X
};

const char *operation_name(int32_t code)
{
	if (code < 0 || (size_t)code >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[code];
}

static const struct operation *find(int32_t code)
{
	static const struct operation none;

	if (code < 0 || (size_t)code >= sizeof(operations) / sizeof(operations[0]))
		return &none;
	return &operations[code];
}

/* Converters may divide by dimensions. */
static bool check_dims(struct graph *g, const struct tfl_tensor *t)
{
	if (!t)
		return true;
	if (!t->dims || t->dims->size > GRAPH_MAX_RANK) {
		graph_refuse(g, "a tensor of no shape, or of more than %d dimensions",
			     GRAPH_MAX_RANK);
		return false;
	}
	for (int i = 0; i < t->dims->size; i++)
		if (t->dims->data[i] <= 0) {
			graph_refuse(g, "a tensor with a dimension of %d", t->dims->data[i]);
			return false;
		}
	return true;
}

static void check(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *t = graph_input(g, op->data);
	int count = g->node->inputs ? g->node->inputs->size : 0;

	if (count < op->min_inputs || count > op->max_inputs)
		return graph_refuse(g, "%d inputs", count);
	if (!t || !graph_output(g, 0))
		return graph_refuse(g, "an input or output is missing");
	for (int i = 0; i < count; i++) {
		if (i < op->min_inputs && !op->optional && !graph_input(g, i))
			return graph_refuse(g, "input %d is missing", i);
		if (!check_dims(g, graph_input(g, i)))
			return;
	}
	for (int i = 0; i < g->node->outputs->size; i++) {
		if (!graph_output(g, i))
			return graph_refuse(g, "output %d is missing", i);
		if (!check_dims(g, graph_output(g, i)))
			return;
	}
	if (op->params && !g->node->builtin_data)
		return graph_refuse(g, "its parameters are missing");
	if (t->type < 0 || t->type > 30 || !(op->types & TYPE(t->type)))
		return graph_refuse(g, "%s, which NNAPI does not take here",
				    tensor_type_name(t->type));
	if (op->max_rank && t->dims->size > op->max_rank)
		return graph_refuse(g, "%d dimensions, NNAPI takes at most %u", t->dims->size,
				    op->max_rank);
	for (int i = 0; i < count; i++) {
		t = graph_input(g, i);
		if (t && tensor_is_quant8(t) && !op->raw && !(t->params.scale > 0) &&
		    t->quantization.type != TFL_AFFINE_QUANTIZATION)
			return graph_refuse(g, "input %d is of type %s and has no scale", i,
					    tensor_type_name(t->type));
	}
}

const char *operation_why(int32_t code)
{
	return find(code)->why;
}

void operation_convert(struct graph *g, int32_t code)
{
	const struct operation *op = find(code);

	g->work = 0;
	g->take_int16 = false;
	g->dequantises = false;
	if (!op->convert)
		return graph_refuse(g, "%s", op->why ? op->why : "NNAPI has no such operation");
	check(g, op);
	if (!g->refused)
		op->convert(g, op);
}

bool operation_is_dynamic(const struct graph *g, int32_t code)
{
	const struct operation *op = find(code);
	const struct tfl_ints *outputs = g->node->outputs;

	for (int i = 0; outputs && i < outputs->size; i++)
		if (graph_output(g, i) && graph_output(g, i)->allocation_type == TFL_DYNAMIC)
			return true;
	if (op->shape_inputs & SHAPE_OF_VALUES)
		return true;
	for (int i = 0; i < 31; i++)
		if (op->shape_inputs & SHAPE_INPUT(i) && graph_input(g, i) &&
		    !tensor_is_constant(graph_input(g, i)))
			return true;
	return false;
}

/* ---- What converters share ---- */

bool same_type(struct graph *g, int input, int output)
{
	const struct tfl_tensor *in = graph_input(g, input), *out = graph_output(g, output);

	if (!in || !out)
		graph_refuse(g, "an input or output is missing");
	else if (in->type != out->type)
		graph_refuse(g, "%s to %s", tensor_type_name(in->type),
			     tensor_type_name(out->type));
	return !g->refused;
}

bool same_quant(struct graph *g, int input, int output)
{
	const struct tfl_tensor *in = graph_input(g, input), *out = graph_output(g, output);

	if (same_type(g, input, output) && tensor_is_quant8(in) && !tensor_same_quant(in, out))
		graph_refuse(g, "output %d has another scale or zero point than input %d", output,
			     input);
	return !g->refused;
}

uint32_t tfl_axis_of(struct graph *g, int32_t axis, int rank)
{
	if (axis < -rank || axis >= rank) {
		graph_refuse(g, "axis %d of %d dimensions", axis, rank);
		return GRAPH_NONE;
	}
	return (uint32_t)(axis < 0 ? axis + rank : axis);
}

uint32_t rank_of(const struct tfl_tensor *tensor)
{
	return tensor->dims->size ? (uint32_t)tensor->dims->size : 1;
}
