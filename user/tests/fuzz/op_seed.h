/* SPDX-License-Identifier: MIT */
/* The bytes that op_fuzz reads: a header, then a record for each operand, inputs first. */
#ifndef NN_TESTS_OP_SEED_H
#define NN_TESTS_OP_SEED_H

#include <stdint.h>

#define OS_RANK 4

/* Flags of a seed (the first one), and of an operand. */
#define OS_SHAPES_OPEN 1	/* the model does not know the operands' shapes */
#define OS_OMITTED 1		/* an input without a value */
#define OS_TEMPORARY 1		/* an output whose quantisation the operation chooses */

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
	int8_t zero_point;	/* the zero point as one byte */
	float scale;		/* the scale, which is the same for all channels */
	uint8_t data[16];	/* values, which are repeated to fill the tensor */
};

_Static_assert(sizeof(struct os_header) == 4, "bytes have no padding");
_Static_assert(sizeof(struct os_operand) == 28, "bytes have no padding");

#endif /* NN_TESTS_OP_SEED_H */
