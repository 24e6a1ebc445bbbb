/* SPDX-License-Identifier: MIT */
/*
 * Records with the kernel's KCOV which code of the module a thread's calls reach. Kernels of
 * scripts/uml have KCOV.
 */
#ifndef SELFTESTS_COVERAGE_H
#define SELFTESTS_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** COVERAGE_TEXT - Maximum size in bytes of the module's code whose coverage is recorded */
#define COVERAGE_TEXT (1u << 19)

/** struct coverage - Code addresses that a thread reached; places[0] is the number of addresses */
struct coverage {
	volatile unsigned long *places;
};

/** coverage_begin() - Starts recording the calling thread's calls; false: there is no KCOV. */
bool coverage_begin(struct coverage *c);

/**
 * coverage_take() - Moves the recorded code addresses to @seen, which has a byte for each byte of
 * the module's code. Returns the number of addresses that were not in @seen before.
 */
unsigned int coverage_take(struct coverage *c, uint8_t *seen);

/** coverage_write() - Writes the code offset of each address in @seen to a file, one in a line. */
bool coverage_write(const uint8_t *seen, const char *path);

#endif
