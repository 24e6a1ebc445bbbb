/* SPDX-License-Identifier: MIT */
/*
 * The table of TensorFlow Lite's operations that NNAPI can express. A row of the table, in
 * builtins.def or clients/lower/functions.def, has the operation's inputs, and the translator that
 * makes NNAPI operations.
 */
#ifndef NN_TFLITE_OPERATIONS_H
#define NN_TFLITE_OPERATIONS_H

#include "clients/tflite/graph.h"

/*
 * Codes of operations by name, such as TFL_OP_ADD. The codes of custom operations in builtins.def
 * follow the last built-in code.
 */
enum {
#define X(code, name) TFL_OP_##name = code,
#define EXTRA(name, ...) TFL_OP_##name,
#include "clients/tflite/builtins.def"
};

/* Returns the code of a node's operation; -1 if the table lacks the operation. */
int32_t operation_code(const struct tfl_registration *registration);

/* Returns the name of an operation, such as "RESHAPE"; NULL for an unknown code. */
const char *operation_name(int32_t code);

/*
 * Returns why NNAPI cannot express the operation. Returns NULL if NNAPI can express the operation,
 * or simply lacks it.
 */
const char *operation_why(int32_t code);

/*
 * Translates g->node, whose code is `code`. If the node is rejected, returns false, sets
 * g->l.reason, and records nothing.
 */
bool operation_convert(struct graph *g, int32_t code, int index);

/*
 * Checks a node, except its shapes and the values of constants. If the node is rejected, returns
 * false and sets g->l.reason.
 */
bool operation_check(struct graph *g, int32_t code);

/* Returns a bit set of the inputs whose values determine the shapes of the outputs. */
uint32_t operation_values(int32_t code);

/* The time at which the shapes of a node's outputs are known. */
enum deferral {
	NOT_DEFERRED,
	/* known at run time, or earlier by computing values from shapes */
	DEFERRED_BY_SHAPES,
	DEFERRED,		/* known only when the node has run */
};

/*
 * `shapes` says for each tensor whether its value depends on shapes only; NULL means that no
 * tensor's value depends on shapes only.
 */
enum deferral operation_deferral(const struct graph *g, int32_t code, const bool *shapes);

/*
 * Returns the function that computes the output shapes of a custom operation, which TensorFlow Lite
 * itself lacks; NULL for a built-in operation. The function is for `prepare` of struct
 * tfl_registration.
 */
typedef int preparation(struct tfl_context *context, struct tfl_node *node);
preparation *operation_prepare(int32_t code);
int prepare_transpose_conv_bias(struct tfl_context *context, struct tfl_node *node);

/* The translators, which are in convert/, in a file for each group of operations. */
#define OP(code, name, translate, ...) translator translate;
#define EXTRA(name, translate, ...) translator translate;
#include "clients/tflite/builtins.def"

/*
 * Translate the basic and the integer LSTM; the translators of LSTM operations call these
 * functions.
 */
translator basic_lstm;
void integer_lstm(struct lowering *t, float cell_clip, float projection_clip);
void integer_sequence_lstm(struct lowering *t, float cell_clip, float projection_clip,
			   bool time_major);

#endif /* NN_TFLITE_OPERATIONS_H */
