/* SPDX-License-Identifier: MIT */
/*
 * A vector: a model, inputs, and the outputs that the reference computes.
 */
#ifndef NN_TOOLS_ENGINE_TEST_VECTOR_H
#define NN_TOOLS_ENGINE_TEST_VECTOR_H

#include <nnaccel/execution.h>

struct vector_arg {
	void *data;
	uint32_t size;
	struct nn_output_shape shape;	/* of an output */
};

struct vector {
	char name[96];
	int32_t operation;		/* operation under which it is counted, or -1 */
	struct nn_model *model;	/* model with constants in itself and in at most one pool */
	void *pool;
	uint32_t num_inputs, num_outputs;
	struct vector_arg *inputs, *outputs;
	float tolerance;		/* tolerance of floats: absolute, and relative */
	uint32_t steps;			/* steps by which quantised numbers may differ */
	bool was_supported;		/* the engine said that it supports the model */
};

/*
 * Copies a model with one pool at most, and inputs, and has the reference execute it. Returns NULL
 * if the reference rejects it or memory runs out.
 */
struct vector *vector_make(const struct nn_model *model, const void *const *inputs, const char *name,
			   int32_t operation);

/* Copies a vector with inputs of any bits, without the right outputs. Returns NULL without memory. */
struct vector *vector_wild(const struct vector *v, uint64_t seed);

/*
 * Copies a vector with NaN and infinity in its inputs, of an operation that must keep them. Returns NULL
 * as above, or for other operations and types.
 */
struct vector *vector_special(const struct vector *v, uint64_t seed);

/* Copies a vector with larger floats and integers of 32 bits. Returns NULL as above. */
struct vector *vector_large(const struct vector *v);

/*
 * Copies a vector with other inputs, or with another constant. Returns NULL as above, or if nothing
 * can change.
 */
struct vector *vector_vary(const struct vector *v, uint64_t seed);
struct vector *vector_sibling(const struct vector *v, uint64_t seed);

/* Copies a vector with only some operations of its model, whose inputs become random. */
struct vector *vector_cut(const struct nn_model *model, const bool *remain, const char *name);

void vector_free(struct vector *v);

/* Returns the bytes of an input, an output or a temporary. */
uint32_t vector_size(const struct vector *v);

/* Returns whether an output equals the reference's; if not, *element is the first different one. */
bool vector_equals(const struct vector *v, uint32_t output, const void *data, uint32_t *element);

/*
 * Writes a vector to a file, or reads it. Returns false with errno; EINVAL: the file holds no
 * vector.
 */
bool vector_save(const struct vector *v, const char *path);
struct vector *vector_load(const char *path);

#endif /* NN_TOOLS_ENGINE_TEST_VECTOR_H */
