/* SPDX-License-Identifier: MIT */
/*
 * Constants that are not copied, because they are parts of the mapped model file. NNAPI refers to a
 * value in a memory made from a file, but copies a value that is passed by pointer.
 */
#ifndef NN_LOWER_CONSTANTS_H
#define NN_LOWER_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

/* Constants with fewer bytes are passed by pointer. */
#define CONSTANTS_LEAST 1024

struct constants {
	bool placeholders;		/* true: zeros replace the values of constants */
	uint64_t size;			/* size of the largest placeholder */
	bool tried;
	ANeuralNetworksMemory *memory;
	/* begin and end address of the mapping; 0 and the size for placeholders */
	uintptr_t start, end;
};

/* Returns the memory that contains a value; NULL if no memory contains the value. */
const ANeuralNetworksMemory *constants_find(struct constants *constants, const void *data,
					    uint64_t size, uint64_t *offset);
void constants_free(struct constants *constants);

#endif /* NN_LOWER_CONSTANTS_H */
