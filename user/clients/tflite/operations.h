/* SPDX-License-Identifier: MIT */
/*
 * The table of TensorFlow Lite's operations that NNAPI can express: their inputs, and the
 * translator that makes NNAPI operations. operations.def and clients/lower/functions.def have its
 * rows.
 */
#ifndef NN_TFLITE_OPERATIONS_H
#define NN_TFLITE_OPERATIONS_H

#include "clients/tflite/graph.h"

/* Codes by name: TFL_OP_ADD. Custom operations that have a row follow the last one. */
enum {
#define X(code, name) TFL_OP_##name = code,
#include "clients/tflite/builtins.def"
#undef X
	TFL_OP_Convolution2DTransposeBias,
};

/* Returns the code of a node's operation; -1: it has no row. */
int32_t operation_code(const struct tfl_registration *registration);

/* Returns a name such as "RESHAPE"; NULL: there is no such code. */
const char *operation_name(int32_t code);

/* Returns why NNAPI cannot express it; NULL: it can, or it has no such operation. */
const char *operation_why(int32_t code);

/* Converts g->node of this code; false: rejected, with g->l.reason, and nothing is recorded. */
bool operation_convert(struct graph *g, int32_t code, int index);

/* When the shapes of a node's outputs are known. */
enum lateness {
	IN_TIME,
	LATE_BY_SHAPES,			/* when it has run, but they follow from other shapes */
	LATE,				/* when it has run */
};

/* `shapes`: by tensor, whether its value follows from shapes; NULL: none does. */
enum lateness operation_lateness(const struct graph *g, int32_t code, const bool *shapes);

/*
 * Computes the shape of Convolution2DTransposeBias, which TensorFlow Lite itself does not have: a
 * function of struct tfl_registration.
 */
int prepare_transpose_conv_bias(struct tfl_context *context, struct tfl_node *node);

/* The translators: convert/ has a file for each group. */
#define OP(name, translate, ...) translator translate;
#include "clients/tflite/operations.def"

/* Kinds of LSTM that other translators call. */
translator basic_lstm;
void integer_lstm(struct lowering *t, float cell_clip, float projection_clip);
void integer_sequence_lstm(struct lowering *t, float cell_clip, float projection_clip,
			   bool time_major);

#endif /* NN_TFLITE_OPERATIONS_H */
