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

/*
 * FIBONACCI: input 0, an INT64, is a count. Output 0, a TENSOR_QUANT64, receives as many Fibonacci
 * numbers as input 0 says, beginning with the first number.
 */
#define FIBONACCI_FIBONACCI 1

/* Attributes. */
#define FIBONACCI_MODULUS 1	/* compilation attribute: a modulus, an int64_t above 0 */
#define FIBONACCI_SKIP 2	/* execution attribute: how many numbers to skip, an int64_t */

#endif /* FIBONACCI_H */
