/* SPDX-License-Identifier: MIT */
/*
 * A test vector: a model, inputs, and the outputs that the reference computes from the inputs.
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
	int32_t operation;	/* operation in whose report row the vector is counted, or -1 */
	struct nn_model *model;		/* model with at most one pool of constants */
	void *pool;
	uint32_t num_inputs, num_outputs;
	struct vector_arg *inputs, *outputs;
	float tolerance;		/* both absolute and relative tolerance of floats */
	uint32_t steps;			/* allowed difference of quantised numbers, in quanta */
	bool was_supported;		/* set if the engine reported the model as supported */
};

/*
 * Copies a model (with at most one pool) and its inputs, and computes the outputs by the reference.
 * Returns NULL if the reference rejects the model or memory runs out.
 */
struct vector *vector_make(const struct nn_model *model, const void *const *inputs, const char *name,
			   int32_t operation);

/*
 * Copies a vector, with random bits as inputs, but without outputs. Returns NULL if memory runs
 * out.
 */
struct vector *vector_wild(const struct vector *v, uint64_t seed);

/*
 * Copies a vector, with NaN and infinity in the inputs. Returns NULL if vector_make() fails, or if
 * the vector's operation or types need not keep NaN and infinity.
 */
struct vector *vector_special(const struct vector *v, uint64_t seed);

/*
 * Copies a vector, with larger float32 and int32 inputs. Returns NULL if vector_make() fails, or if
 * the operation would overflow.
 */
struct vector *vector_large(const struct vector *v);

/*
 * Copies a vector, and changes the inputs (vector_vary) or a constant (vector_sibling). Returns
 * NULL if vector_make() fails, or if the vector has nothing that can change.
 */
struct vector *vector_vary(const struct vector *v, uint64_t seed);
struct vector *vector_sibling(const struct vector *v, uint64_t seed);

/*
 * Makes a vector, with random inputs, from those operations of a model for which `remain` is true.
 */
struct vector *vector_cut(const struct nn_model *model, const bool *remain, const char *name);

void vector_free(struct vector *v);

/* Returns a measure of a vector's size, by which vectors are compared. */
uint32_t vector_size(const struct vector *v);

/*
 * Returns whether an output equals the reference's output within the tolerance. If the outputs
 * differ, *element is the first different element.
 */
bool vector_equals(const struct vector *v, uint32_t output, const void *data, uint32_t *element);

/*
 * Write a vector to a file, and read a vector from a file. After failures, errno is set; EINVAL
 * means that the file has no vector.
 */
bool vector_save(const struct vector *v, const char *path);
struct vector *vector_load(const char *path);

#endif /* NN_TOOLS_ENGINE_TEST_VECTOR_H */
