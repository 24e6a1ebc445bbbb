/* SPDX-License-Identifier: MIT */
/*
 * Constants in place: as parts of the mapped model file. NNAPI refers to a memory made of the file
 * without copying it, but it copies values that are given by pointer.
 */
#ifndef NN_LOWER_CONSTANTS_H
#define NN_LOWER_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

/* Smaller constants are given by pointer. */
#define CONSTANTS_LEAST 1024

struct constants {
	bool placeholders;		/* the values do not matter: zeros replace them */
	uint64_t size;			/* size of the largest placeholder */
	bool tried;
	ANeuralNetworksMemory *memory;
	uintptr_t start, end;		/* the mapping of the memory; for placeholders sizes */
};

/* Finds a value in a memory; returns NULL if it is in no memory. */
const ANeuralNetworksMemory *constants_find(struct constants *constants, const void *data,
					    uint64_t size, uint64_t *offset);
void constants_free(struct constants *constants);

#endif /* NN_LOWER_CONSTANTS_H */
