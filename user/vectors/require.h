/* SPDX-License-Identifier: MIT */
/*
 * Checks conditions that must hold in code that makes models; if a condition is false, the program
 * ends.
 */
#ifndef NN_VECTORS_REQUIRE_H
#define NN_VECTORS_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#define require(condition) do {								\
	if (!(condition)) {								\
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);	\
		abort();								\
	}										\
} while (0)

#endif /* NN_VECTORS_REQUIRE_H */
