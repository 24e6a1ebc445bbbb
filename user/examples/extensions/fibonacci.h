/* SPDX-License-Identifier: MIT */
/*
 * Definitions for applications and other extensions that use com.example.fibonacci.
 */
#ifndef FIBONACCI_H
#define FIBONACCI_H

#include <stdint.h>

#define FIBONACCI_NAME "com.example.fibonacci"

/* Operand types. */
#define FIBONACCI_INT64 1		/* scalar, int64_t */
#define FIBONACCI_TENSOR_QUANT64 2	/* tensor of int64_t: (value - zero_point) * scale */

/* Extension data of a TENSOR_QUANT64. */
struct fibonacci_quant {
	double scale;			/* above 0 */
	int64_t zero_point;
};

/* FIBONACCI: input 0, INT64: how many; output 0, TENSOR_QUANT64: the first so many numbers. */
#define FIBONACCI_FIBONACCI 1

/* Attributes. */
#define FIBONACCI_MODULUS 1	/* of a compilation, int64_t above 0: numbers are taken modulo it */
#define FIBONACCI_SKIP 2	/* of an execution, int64_t: so many numbers are left out first */

#endif /* FIBONACCI_H */
