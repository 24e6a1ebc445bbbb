/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions: what a plug-in of the engine exports, and what it is given.
 *
 * A plug-in is a shared object in the engine's folder of extensions that exports
 * one variable, the descriptor:
 *
 *	NNX_EXPORT const struct nnx_extension nnaccel_extension = { ... };
 *
 * It includes this header, the C library's headers, and nothing else of nnaccel;
 * it links nothing of nnaccel either: what it may call comes by pointer. Libraries
 * other than those that the engine has loaded (libc, libm) cannot be had.
 *
 * It is loaded in the sandboxed worker of one client, whose constructors too run
 * in the sandbox: without files, network, new threads or processes. A system call
 * that is not allowed ends the worker. Functions may be called from several
 * threads at a time, on different calls.
 *
 * The interface is version NNX_ABI_VERSION. An engine loads plug-ins that were built
 * for its own version or for an older one, and refuses newer ones. Structs only grow at
 * their end; `size` says how much of one there is.
 *
 *	version 1	the first
 *	version 2	attributes: nnx_extension.attributes, and what nnx_call has of them
 */
#ifndef NNACCEL_EXTENSION_H
#define NNACCEL_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NNX_ABI_VERSION 2u

/* Most dimensions of a tensor. */
#define NNX_MAX_RANK 16

/* Bounds of a descriptor. */
#define NNX_MAX_NAME 127	/* bytes of an extension's name */
#define NNX_MAX_SHORT_NAME 47	/* of a type's or an operation's */
#define NNX_MAX_TYPES 128
#define NNX_MAX_OPERATIONS 256
#define NNX_MAX_ATTRIBUTES 128
#define NNX_MAX_ELEMENT 65536	/* bytes */

#define NNX_EXPORT __attribute__((visibility("default")))
#define NNX_SYMBOL "nnaccel_extension"

/* The result of a function. Each except NNX_OK comes with a reason by nnx_call.fail(). */
enum nnx_status {
	NNX_OK = 0,
	NNX_GENERAL_FAILURE = 2,	/* shape, execute: it cannot be computed */
	NNX_INVALID_ARGUMENT = 4,	/* check, check_data, compile: the model is wrong, or */
					/* an attribute is */
	NNX_OUT_OF_MEMORY = 10,
};

/* Flags of an operand. */
#define NNX_OMITTED 1u		/* has no value */
#define NNX_CONSTANT 2u		/* its value is the model's */
#define NNX_IS_TENSOR 4u	/* else a scalar */

/* An operand. Its value and dimensions may still be unknown. */
struct nnx_operand {
	const char *extension;		/* whose type it is; NULL: one of the NNAPI */
	int32_t type;			/* the extension's code, or the NNAPI's OperandCode */
	uint32_t flags;
	uint32_t element_size;		/* bytes; 0: no fixed size (OEM scalar) */
	uint32_t rank;			/* 0: scalar, or in check: unknown */
	uint32_t dims[NNX_MAX_RANK];	/* in check and compile: 0 is unknown; in shape and */
					/* execute a dimension of size 0 */
	float scale;			/* of the NNAPI's types */
	int32_t zero_point;
	/* Extension data: what the application gave to this operand, untouched. */
	const void *data;
	uint32_t data_size;
	/*
	 * The value, or NULL if it is not known yet. The client may write the memory of
	 * an input meanwhile, unless that is a scalar or in value_inputs: no address may
	 * depend on a value that is read twice. Aligned to the largest power of two in
	 * the element size.
	 */
	void *value;
	uint32_t value_size;		/* bytes */
};

/*
 * An attribute that an application set for this extension, in a compilation or in an
 * execution. `data` is aligned to 8 bytes.
 */
struct nnx_attribute {
	uint16_t code;			/* within the extension */
	uint16_t reserved;
	uint32_t size;			/* bytes */
	const void *data;
};

struct nnx_operation;

/* One call of a function: what it is about, and what the engine does for it. */
struct nnx_call {
	uint32_t size;			/* sizeof(struct nnx_call) of the engine */
	uint32_t relaxed;		/* float32 may be computed as float16 */
	const struct nnx_operation *operation;	/* NULL in check_data */
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nnx_operand *inputs;
	struct nnx_operand *outputs;	/* shape writes rank, dims, scale and zero_point, */
					/* only execute writes, and only to value */
	void *state;			/* in shape and execute: the state by compile */

	/* Returns zeroed memory, 64-byte aligned, until the function returns; NULL: out of memory. */
	void *(*alloc)(struct nnx_call *call, size_t count, size_t size);

	/* Says what is wrong, printf-like, and returns `status`. The first reason stays. */
	enum nnx_status (*fail)(struct nnx_call *call, enum nnx_status status,
				const char *format, ...) __attribute__((format(printf, 3, 4)));

	/* Since version 2: in compile, shape and execute what the compilation was given, */
	uint32_t num_attributes;
	/* and in shape and execute what the execution was. */
	uint32_t num_execution_attributes;
	const struct nnx_attribute *attributes;
	const struct nnx_attribute *execution_attributes;
};

/* Flags of a type. */
#define NNX_TYPE_TENSOR 1u	/* else a scalar */

struct nnx_type {
	uint16_t code;			/* within the extension */
	uint16_t flags;
	uint32_t element_size;		/* bytes, 1 at least */
	const char *name;		/* for messages: "TENSOR_INT64" */
	/*
	 * Checks the extension data of an operand of this type (NULL and 0 where the
	 * application gave none). NULL: such operands have none.
	 */
	enum nnx_status (*check_data)(struct nnx_call *call, const struct nnx_operand *operand);
};

/* Flags of an operation. */
#define NNX_ZERO_SIZED 1u	/* inputs may have a dimension of size 0 */

struct nnx_operation {
	uint16_t code;			/* within the extension */
	uint16_t flags;
	uint32_t reserved;		/* 0 */
	const char *name;		/* for messages: "FIBONACCI" */
	/* Sets of inputs and outputs, bit i for the i-th of up to 64. */
	uint64_t omissible_inputs;	/* may have no value */
	uint64_t omissible_outputs;
	uint64_t value_inputs;		/* tensors whose values steer addresses or shapes */

	/*
	 * The signature: numbers, types, and ranks and dimensions as far as known, of
	 * inputs and outputs; values are NULL. NNX_OK or NNX_INVALID_ARGUMENT.
	 */
	enum nnx_status (*check)(struct nnx_call *call);

	/*
	 * The outputs' shapes (and scale, zero_point) from the inputs'. There are
	 * values of scalars and value_inputs only. On entry outputs are as the model
	 * declares them, dimensions 0 where unknown; a declared one must come out the
	 * same.
	 */
	enum nnx_status (*shape)(struct nnx_call *call);

	/*
	 * NULL, or prepares the operation of one model. Only constant inputs have values.
	 * shape and execute get *state, and release(), which must not be NULL then, frees
	 * it. After a failure nothing is freed.
	 */
	enum nnx_status (*compile)(struct nnx_call *call, void **state);
	void (*release)(void *state);

	/* Computes the outputs. Several executions may share one state at a time. */
	enum nnx_status (*execute)(struct nnx_call *call);
};

/* Flags of an attribute: what it can be given to; one of them at least. */
#define NNX_OF_COMPILATION 1u
#define NNX_OF_EXECUTION 2u

struct nnx_attribute_type {
	uint16_t code;			/* within the extension */
	uint16_t flags;
	uint32_t reserved;		/* 0 */
	const char *name;		/* for messages: "MODULUS" */
	/* Checks its bytes, before any function is called that may see them. */
	enum nnx_status (*check)(struct nnx_call *call, const struct nnx_attribute *attribute);
};

struct nnx_extension {
	uint32_t abi;			/* NNX_ABI_VERSION */
	uint32_t size;			/* sizeof(struct nnx_extension) of that version */
	const char *name;		/* by reverse domain: "com.example.fibonacci"; letters, */
					/* digits, '.', '_' and '-', one dot at least */
	uint32_t version;		/* the vendor's own */
	uint32_t num_types;
	const struct nnx_type *types;
	const struct nnx_operation *operations;
	uint32_t num_operations;
	/* Extensions whose types it uses: without them it is not loaded. */
	uint32_t num_needs;
	const char *const *needs;
	/*
	 * NULL, or: what executes the NNAPI's OEM_OPERATION, on operands OEM scalar
	 * and TENSOR_OEM_BYTE among others. `code` is not looked at. Only one
	 * extension can have it.
	 */
	const struct nnx_operation *oem_operation;
	/*
	 * Since version 2: the attributes that it takes. Models and executions with other
	 * attributes are refused. An extension of version 1 takes no attributes.
	 */
	const struct nnx_attribute_type *attributes;
	uint32_t num_attributes;
	uint32_t reserved;		/* 0 */
};

/* Bytes of a descriptor of version 1. */
#define NNX_EXTENSION_SIZE_1 offsetof(struct nnx_extension, attributes)

#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_EXTENSION_H */
