/* SPDX-License-Identifier: MIT */
/*
 * The structures that describe a model in memory. A model can be encoded into a flat wire format.
 * After nn_model_check() has accepted a model, other functions need not check the model again. The
 * structures follow the structure Model of the NN HAL 1.3.
 */
#ifndef NNACCEL_MODEL_H
#define NNACCEL_MODEL_H

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "nnaccel is for little-endian CPUs: models and packets have their byte order"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nnaccel/operation.h>
#include <nnaccel/status.h>

/* Maximum rank of a tensor; equals NNACCEL_MAX_RANK of the kernel. */
#define NN_MAX_RANK 16

/*
 * Maximum nesting of subgraphs, including the main subgraph. NN_MAX_NESTING limits every recursion
 * over subgraphs.
 */
#define NN_MAX_NESTING 128

/*
 * Operand types: codes of the NNAPI. Values above 0xffff are types of extensions. The high 16 bits
 * of an extension's type are the prefix that the model assigns to the extension; the low 16 bits
 * are the extension's own code. Codes of operations have the same format as codes of types.
 */
enum nn_type {
	NN_FLOAT32 = 0,
	NN_INT32 = 1,
	NN_UINT32 = 2,
	NN_TENSOR_FLOAT32 = 3,
	NN_TENSOR_INT32 = 4,
	NN_TENSOR_QUANT8_ASYMM = 5,
	NN_BOOL = 6,
	NN_TENSOR_QUANT16_SYMM = 7,
	NN_TENSOR_FLOAT16 = 8,
	NN_TENSOR_BOOL8 = 9,
	NN_FLOAT16 = 10,
	NN_TENSOR_QUANT8_SYMM_PER_CHANNEL = 11,
	NN_TENSOR_QUANT16_ASYMM = 12,
	NN_TENSOR_QUANT8_SYMM = 13,
	NN_TENSOR_QUANT8_ASYMM_SIGNED = 14,
	NN_SUBGRAPH_TYPE = 15,
	NN_TYPE_COUNT = 16,
	NN_OEM_SCALAR = 10000,
	NN_TENSOR_OEM_BYTE = 10001,
};

/* The source of an operand's value, numbered like the HAL's OperandLifeTime. */
enum nn_lifetime {
	NN_TEMPORARY = 0,
	NN_SUBGRAPH_INPUT = 1,
	NN_SUBGRAPH_OUTPUT = 2,
	NN_CONSTANT_COPY = 3,		/* the value is in `values` of struct nn_model */
	NN_CONSTANT_REFERENCE = 4,	/* the value is in a pool of the model */
	NN_NO_VALUE = 5,		/* omitted */
	/*
	 * The operand's value is a referenced subgraph: subgraphs[location.offset + 1] of the
	 * model.
	 */
	NN_SUBGRAPH = 6,
};

/*
 * The location of a constant's value. An operand with lifetime NN_SUBGRAPH uses only `offset`. All
 * fields are zero for an operand that is neither a constant nor a subgraph.
 */
struct nn_location {
	uint32_t pool;
	uint32_t length;	/* bytes */
	uint64_t offset;	/* bytes */
};

enum nn_extra_kind {
	NN_EXTRA_NONE = 0,
	NN_EXTRA_CHANNEL_QUANT = 1,
	NN_EXTRA_EXTENSION = 2,
};

/* Extra parameters of an operand: per-channel quantisation, or an extension's bytes. */
struct nn_extra {
	uint32_t kind;			/* enum nn_extra_kind */
	uint32_t channel_dim;		/* CHANNEL_QUANT */
	uint32_t count;			/* number of scales (CHANNEL_QUANT) or bytes (EXTENSION) */
	const float *scales;		/* CHANNEL_QUANT: float[count] */
	const uint8_t *bytes;		/* EXTENSION: uint8_t[count] */
};

struct nn_operand {
	int32_t type;			/* enum nn_type, or the code of an extension's type */
	uint32_t lifetime;		/* enum nn_lifetime */
	uint32_t rank;			/* 0: scalar, or a tensor of unknown rank */
	/* A 0 in the first `rank` entries is an unknown dimension; further entries are 0. */
	uint32_t dims[NN_MAX_RANK];
	float scale;
	int32_t zero_point;
	/* how often the subgraph's operations have this operand as an input */
	uint32_t consumers;
	struct nn_location location;
	struct nn_extra extra;
};

struct nn_operation {
	int32_t type;			/* operation code of the NNAPI or of an extension */
	uint32_t num_inputs;
	uint32_t num_outputs;
	const uint32_t *inputs;		/* operand indices */
	const uint32_t *outputs;
};

struct nn_subgraph {
	uint32_t num_operands;
	uint32_t num_operations;	/* number of operations, in executable order */
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nn_operand *operands;
	const struct nn_operation *operations;
	const uint32_t *inputs;		/* operand indices */
	const uint32_t *outputs;
};

/*
 * Memory that contains constants. The function nn_model_check() reads only `size`, and allows that
 * `base` is NULL.
 */
struct nn_pool {
	const void *base;
	uint64_t size;
};

struct nn_extension_prefix {
	const char *name;
	uint16_t prefix;
};

/*
 * A model, as plain data. The caller that made the model owns the arrays. A decoded model is a
 * single allocation, which includes all arrays and names, but not the memory of the pools.
 */
struct nn_model {
	/* sizeof(struct nn_model), set by callers of libnnaccel */
	uint32_t size;
	uint32_t num_subgraphs;			/* at least 1; subgraphs[0] is the main subgraph */
	uint32_t num_pools;
	uint32_t num_extensions;
	bool relaxed;				/* float32 may be computed as float16 */
	const struct nn_subgraph *subgraphs;
	const struct nn_pool *pools;
	const struct nn_extension_prefix *extensions;
	const uint8_t *values;	/* values of NN_CONSTANT_COPY operands, 8-byte aligned */
	uint64_t values_size;
};

/*
 * An attribute of a preparation or an execution for an extension: a code of the extension, and
 * bytes that only the extension interprets.
 */
struct nn_attribute {
	const char *extension;
	uint16_t code;
	uint32_t size;
	const void *data;		/* may be NULL if size is 0 */
};

struct nn_attributes {
	uint32_t count;
	/* Attributes; each code of an extension occurs once. */
	const struct nn_attribute *list;
};

#endif /* NNACCEL_MODEL_H */
