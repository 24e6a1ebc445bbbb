/* SPDX-License-Identifier: MIT */
/*
 * Format of an input of op_fuzz: a header, a record for each input of the operation, and a record
 * for each output.
 */
#ifndef NN_TESTS_OP_SEED_H
#define NN_TESTS_OP_SEED_H

#include <stdint.h>

#define OS_RANK 4

/* Each flag has the value 1, because headers, inputs and outputs have one flag each. */
#define OS_SHAPES_OPEN 1	/* header: the model does not contain the shapes of the operands */
#define OS_OMITTED 1		/* input: the input is omitted */
#define OS_TEMPORARY 1		/* output: the operation chooses the quantisation */

struct os_header {
	uint8_t code;		/* of the operation */
	uint8_t num_inputs;
	uint8_t num_outputs;
	uint8_t flags;
};

struct os_operand {
	uint8_t type;
	uint8_t flags;
	uint8_t rank;
	uint8_t dims[OS_RANK];
	int8_t zero_point;	/* zero point of the operand, in one byte */
	float scale;		/* scale of the operand, equal for all channels */
	uint8_t data[16];	/* values, which are repeated to fill the tensor */
};

_Static_assert(sizeof(struct os_header) == 4, "bytes have no padding");
_Static_assert(sizeof(struct os_operand) == 28, "bytes have no padding");

#endif /* NN_TESTS_OP_SEED_H */
