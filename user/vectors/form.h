/* SPDX-License-Identifier: MIT */
/*
 * Makes models of one operation with random shapes, from a table of all operations. The first
 * comment of form.c explains how the table describes operands. Only one model exists at a time.
 */
#ifndef NN_VECTORS_FORM_H
#define NN_VECTORS_FORM_H

#include <nnaccel/engine_model.h>

#include "ops/op.h"

#define FORM_MAX_OPERANDS 90
#define FORM_MAX_BYTES (1 << 20)	/* maximum size of an output, and of all constants */

struct form {
	const char *name;		/* of the operation */
	const char *text;		/* its operands */
};

extern const struct form forms[];
extern const uint32_t num_forms;

struct form_type {
	const char *name;
	int32_t type;
};

#define FORM_NUM_TYPES 9
extern const struct form_type form_types[FORM_NUM_TYPES];

/* The model of one operation, and the random choices that were made for the model. */
extern struct form_model {
	struct nn_model model;
	struct nn_subgraph subgraphs[3];
	struct nn_operation operations[3][4];
	struct nn_operand operands[3][FORM_MAX_OPERANDS];
	/*
	 * for each subgraph: indices of the operands of operations, of the inputs and of the
	 * outputs
	 */
	uint32_t lists[3][2 * FORM_MAX_OPERANDS];
	uint32_t used[3];
	uint8_t values[FORM_MAX_BYTES];
	float scales[64];
	uint32_t dims[26];		/* by letter */
	int32_t type;			/* X */
	const struct nn_op *op;
	char text[2048];
	bool fixed[8];	/* for each output: true if the operation determines its quantisation */
} form;

static inline bool form_is_quant8(int32_t type)
{
	return type == NN_TENSOR_QUANT8_ASYMM || type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
}

/* Data of the model's inputs, in the order of the inputs. */
extern char form_inputs[FORM_MAX_OPERANDS][FORM_MAX_BYTES / 2];

/*
 * Options. If form_is_large is set, no operand of type X is constant. If form_is_plain is set, no
 * RESHAPE comes before the operation.
 */
extern bool form_is_large, form_is_plain;

/*
 * Makes the model of an operation from the form `f`, with `type` as X, and with random numbers from
 * the seed of random_start(). For IF and WHILE, `f` is ignored. Returns false if the operation does
 * not accept the type.
 */
bool form_build(const struct nn_op *op, const struct form *f, int32_t type);

#endif /* NN_VECTORS_FORM_H */
