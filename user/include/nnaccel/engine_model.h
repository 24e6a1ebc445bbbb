/* SPDX-License-Identifier: MIT */
/*
 * Functions on models and failures that libnnaccel-engine.so exports, but libnnaccel.so does not.
 */
#ifndef NNACCEL_ENGINE_MODEL_H
#define NNACCEL_ENGINE_MODEL_H

#include <nnaccel/model.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns the HAL's name of a status, such as "GENERAL_FAILURE"; never NULL. */
const char *nn_status_name(enum nn_status status);

/*
 * Writes the reason of a failure to `err`, printf-like, unless `err` already has a reason. Returns
 * `status`, so that callers can write `return nn_fail(err, NN_INVALID_ARGUMENT, ...)`. `err` may be
 * NULL.
 */
enum nn_status nn_fail(struct nn_error *err, enum nn_status status,
		       const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The properties of an operand type. */
struct nn_type_info {
	const char *name;	/* the NNAPI's name, such as "TENSOR_FLOAT32" */
	/*
	 * Size of an element in bytes; 0 for an opaque type (OEM scalar) or a reference (subgraph).
	 */
	uint32_t element_size;
	bool is_tensor;
};

/*
 * Returns the properties of a type; NULL if neither the NNAPI nor an extension registered in this
 * process has the type.
 */
const struct nn_type_info *nn_type_info_of(int32_t type);

/*
 * Returns a type's name for messages; "unknown type" if nn_type_info_of() does not know the type.
 */
const char *nn_type_name(int32_t type);

/*
 * Computes the bytes of an operand's value: element size times dimensions. The result is 0 if a
 * dimension or the rank is unknown, or if the type has no fixed size. Returns false if the product
 * does not fit in 32 bits.
 */
bool nn_operand_size(const struct nn_operand *operand, uint32_t *size);

/* Returns whether the operand's rank and all dimensions are known, as is the case for scalars. */
bool nn_operand_is_specified(const struct nn_operand *operand);

/*
 * Completes the unknown dimensions of `operand` from `dims`, where a dimension of 0 is unknown
 * (rank 0: all dimensions are unknown). Returns false and changes nothing if a known dimension of
 * `operand` differs from `dims`.
 */
bool nn_operand_merge_dims(struct nn_operand *operand, uint32_t rank, const uint32_t *dims);

/* Returns whether two operands have equal types, scales, zero points and extra parameters. */
bool nn_operand_same_type(const struct nn_operand *a, const struct nn_operand *b);

/*
 * Returns the value of a constant operand (NN_CONSTANT_COPY, or NN_CONSTANT_REFERENCE with a mapped
 * pool) of a checked model; NULL for other operands. May be unaligned.
 */
const void *nn_operand_value(const struct nn_model *model, const struct nn_operand *operand);

/*
 * Checks a model, except the signatures of operations, which nn_ops_check_model() checks. Checks of
 * operands: types, ranks, scales and zero points, sizes (no overflow), lifetimes, locations (inside
 * values and pools), and numbers of consumers. Checks of the graph: lists of inputs and outputs,
 * indices, single assignment, the order of writes and reads of each operand, and extension
 * prefixes. A model passes only if references between subgraphs have no cycle and are no deeper
 * than NN_MAX_NESTING.
 *
 * Returns NN_OK or NN_INVALID_ARGUMENT with the operand or operation named in
 * err ("subgraph 0, operation 3 (code 3), input 1: ..."), or NN_OUT_OF_MEMORY.
 */
enum nn_status nn_model_check(const struct nn_model *model, struct nn_error *err);

/*
 * Encodes a checked model. The wire form *wire is a malloc()ed block of *size bytes that the caller
 * frees. The wire form has the pools' sizes, but not their contents.
 */
enum nn_status nn_model_encode(const struct nn_model *model, void **wire, size_t *size,
			       struct nn_error *err);

/*
 * Reads and checks an untrusted wire form. `wire` must not change during the call, so copy it from
 * shared memory first. The caller may free `wire` after the call. The number and the sizes of pools
 * must equal those in the wire form. The model refers to the pools' memory. The decoded *model is
 * one allocation, which nn_model_free() frees.
 */
enum nn_status nn_model_decode(const void *wire, size_t size, const struct nn_pool *pools,
			       uint32_t num_pools, struct nn_model **model, struct nn_error *err);

/* Frees a model of nn_model_decode(); accepts NULL. */
void nn_model_free(struct nn_model *model);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_ENGINE_MODEL_H */
