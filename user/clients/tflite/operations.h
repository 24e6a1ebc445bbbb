/* SPDX-License-Identifier: MIT */
/*
 * The table of TensorFlow Lite's operations that NNAPI can express: what each takes, and the
 * converter that makes NNAPI operations of a node.
 */
#ifndef NN_TFLITE_OPERATIONS_H
#define NN_TFLITE_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/tflite/abi.h"
#include "clients/tflite/graph.h"

struct operation {
	/* Makes operations of g->node, or refuses it. NULL: NNAPI cannot express it. */
	void (*convert)(struct graph *g, const struct operation *op);
	int32_t code;			/* OperationCode, where the converter is one of several's */
	uint32_t types;			/* TYPE_ bits that the main input may have */
	uint8_t data;			/* the main input */
	uint8_t min_inputs, max_inputs;
	uint8_t max_rank;		/* of the main input; 0: any */
	bool params;			/* has parameters, that may not be missing */
	bool optional;			/* inputs below min_inputs may be absent */
	bool raw;			/* quantised values are moved, so they need no scale */
	uint32_t shape_inputs;		/* bits of inputs that the output's shape depends on */
	const char *why;		/* NNAPI cannot express it; NULL: it has nothing like it */
};

#define TYPE(type) (1u << (type))
#define TYPE_FLOAT TYPE(TFL_FLOAT32)
#define TYPE_INT TYPE(TFL_INT32)
#define TYPE_BOOL TYPE(TFL_BOOL)
#define TYPE_Q8 (TYPE(TFL_UINT8) | TYPE(TFL_INT8))
#define SHAPE_INPUT(i) (1u << (i))
#define SHAPE_OF_VALUES (1u << 31)	/* the output's shape depends on what is computed */

/* "RESHAPE"; NULL: there is no such code. */
const char *operation_name(int32_t builtin_code);

/* Why NNAPI cannot express it. NULL: it can, or it has nothing like it. */
const char *operation_why(int32_t builtin_code);

/* Converts a node of this code, or refuses it. */
void operation_convert(struct graph *g, int32_t builtin_code);

/* Whether the shapes of the node's outputs are known only when it has run. */
bool operation_is_dynamic(const struct graph *g, int32_t builtin_code);

/* The converters: convert/ has a file for each group. */
typedef void convert_fn(struct graph *g, const struct operation *op);

convert_fn convert_conv, convert_depthwise, convert_transpose_conv, convert_fully_connected,
	convert_batch_matmul;
convert_fn convert_pool;
convert_fn convert_add, convert_mul, convert_div, convert_floor_div, convert_floor_mod, convert_maximum,
	convert_compare, convert_logical, convert_square, convert_squared_difference,
	convert_add_n, convert_select, convert_pow;
convert_fn convert_unary, convert_ceil, convert_cos, convert_relu, convert_relu_0_to_1, convert_sigmoid,
	convert_softmax, convert_log_softmax, convert_elu, convert_gelu, convert_hard_swish,
	convert_leaky_relu, convert_prelu, convert_l2_normalization, convert_response_norm;
convert_fn convert_reshape, convert_transpose, convert_concatenation, convert_split,
	convert_split_v, convert_pack, convert_unpack, convert_slice, convert_strided_slice,
	convert_tile, convert_broadcast_to, convert_pad, convert_pad_v2, convert_mirror_pad,
	convert_gather, convert_embedding_lookup, convert_space_to_batch, convert_batch_to_space,
	convert_block, convert_reverse, convert_fill, convert_zeros_like, convert_shape, convert_hashtable_lookup,
	convert_lsh_projection;
convert_fn convert_cast, convert_quantize, convert_dequantize;
convert_fn convert_mean, convert_reduce, convert_arg, convert_top_k;
convert_fn convert_resize;
convert_fn convert_lstm, convert_sequence_lstm, convert_bidirectional_lstm, convert_rnn,
	convert_sequence_rnn, convert_bidirectional_rnn, convert_svdf;

/* Kinds of LSTM that other converters meet. */
void convert_basic_lstm(struct graph *g);
void convert_integer_lstm(struct graph *g, float cell_clip, float projection_clip);
void convert_integer_sequence_lstm(struct graph *g, float cell_clip, float projection_clip,
				   bool time_major);

/* ---- What converters share ---- */

/* Refuses unless output i has the type, scale and zero point of input `input`. */
bool same_quant(struct graph *g, int input, int output);
/* Refuses unless output i has the type of input `input`. */
bool same_type(struct graph *g, int input, int output);
/* An axis counted from the front. GRAPH_NONE after a refusal. */
uint32_t tfl_axis_of(struct graph *g, int32_t axis, int rank);
uint32_t rank_of(const struct tfl_tensor *tensor);

#endif /* NN_TFLITE_OPERATIONS_H */
