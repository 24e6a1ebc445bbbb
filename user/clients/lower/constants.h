/* SPDX-License-Identifier: MIT */
/*
 * Constants where they are: as parts of the model file, where it is mapped. NNAPI refers to a
 * memory made of the file, and copies nothing; values given by pointer it copies.
 */
#ifndef NN_LOWER_CONSTANTS_H
#define NN_LOWER_CONSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

/* Smaller ones are given by pointer. */
#define CONSTANTS_LEAST 1024

struct constants {
	bool placeholders;		/* values do not matter: zeros stand for them */
	uint64_t size;			/* of the largest one of these */
	bool tried;
	ANeuralNetworksMemory *memory;
	uintptr_t start, end;		/* the mapping that the memory is of; placeholders: sizes */
};

/* Where a value is in a memory. NULL: it is in none. */
const ANeuralNetworksMemory *constants_find(struct constants *constants, const void *data,
					    uint64_t size, uint64_t *offset);
void constants_free(struct constants *constants);

#endif /* NN_LOWER_CONSTANTS_H */
