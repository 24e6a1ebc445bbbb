/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions: the descriptor that a plug-in exports to the engine, and the functions that
 * the engine gives the plug-in.
 *
 * A plug-in is a shared object in the engine's folder of extensions. It exports one variable, the
 * descriptor:
 *
 *	NNX_EXPORT const struct nnx_extension nnaccel_extension = { ... };
 *
 * A plug-in includes this header, the C library's headers, and nothing else of nnaccel. It also
 * links nothing of nnaccel: it calls the engine's functions by pointers that it receives. Only
 * libraries that the engine has loaded (libc, libm) are available.
 *
 * A plug-in is loaded in the sandboxed worker of one client. Its constructors run in the sandbox,
 * too: without files, network, new threads or processes. A system call that is not allowed ends the
 * worker. Several threads may call the plug-in's functions at a time, each with its own struct
 * nnx_call.
 *
 * The interface is version NNX_ABI_VERSION. An engine loads plug-ins that were built for its own
 * version or for an older version, and rejects newer plug-ins. Structures grow only at the end;
 * `size` is the size of the structure in the caller's version.
 *
 *	version 1	the first
 *	version 2	attributes: nnx_extension.attributes, and those in nnx_call
 */
#ifndef NNACCEL_EXTENSION_H
#define NNACCEL_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NNX_ABI_VERSION 2u

/* Maximum rank of a tensor. */
#define NNX_MAX_RANK 16

/* Bounds of a descriptor. */
#define NNX_MAX_NAME 127	/* length of an extension's name in bytes */
#define NNX_MAX_SHORT_NAME 47	/* length of the short name of a type or an operation */
#define NNX_MAX_TYPES 128
#define NNX_MAX_OPERATIONS 256
#define NNX_MAX_ATTRIBUTES 128
#define NNX_MAX_ELEMENT 65536	/* bytes */

#define NNX_EXPORT __attribute__((visibility("default")))
#define NNX_SYMBOL "nnaccel_extension"

/*
 * The result of a function. For each result except NNX_OK, the function reports the reason by
 * nnx_call.fail().
 */
enum nnx_status {
	NNX_OK = 0,
	/* For shape and execute: the operation cannot be computed. */
	NNX_GENERAL_FAILURE = 2,
	NNX_INVALID_ARGUMENT = 4,	/* for check, check_data, compile: the model */
					/* or an attribute is wrong */
	NNX_OUT_OF_MEMORY = 10,
};

/* Flags of an operand. */
#define NNX_OMITTED 1u		/* has no value */
#define NNX_CONSTANT 2u		/* the value comes from the model */
#define NNX_IS_TENSOR 4u	/* else a scalar */

/* An operand. The operand's value and dimensions may still be unknown. */
struct nnx_operand {
	const char *extension;		/* extension of the type; NULL for a type of the NNAPI */
	int32_t type;			/* the extension's code, or the NNAPI's OperandCode */
	uint32_t flags;
	uint32_t element_size;		/* bytes; 0 without a fixed size (OEM scalar) */
	uint32_t rank;			/* 0: scalar, or in check: unknown */
	uint32_t dims[NNX_MAX_RANK];	/* 0: unknown in check and compile, */
					/* size 0 in shape and execute */
	float scale;			/* scale of the NNAPI's types */
	int32_t zero_point;
	/* Extension data that the application set for this operand, unchanged. */
	const void *data;
	uint32_t data_size;
	/*
	 * The value; NULL if the value is not known yet. The client may write the memory of an
	 * input during a call, unless the input is a scalar or in value_inputs. So no address may
	 * depend on a value that is read twice. The memory is aligned to the largest power of two
	 * in the element size.
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

/*
 * One call of a plug-in's function: the operation, its arguments, and the engine's functions for
 * the call.
 */
struct nnx_call {
	uint32_t size;			/* sizeof(struct nnx_call) of the engine */
	uint32_t relaxed;		/* float32 may be computed as float16 */
	const struct nnx_operation *operation;	/* NULL in check_data */
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nnx_operand *inputs;
	struct nnx_operand *outputs;	/* shape sets rank, dims, scale and zero_point; */
					/* execute writes only the memory at value */
	void *state;			/* in shape and execute: the state that compile made */

	/*
	 * Returns zeroed memory, 64-byte aligned, which is valid until the function returns; NULL
	 * if memory runs out.
	 */
	void *(*alloc)(struct nnx_call *call, size_t count, size_t size);

	/*
	 * Records the reason of a failure, printf-like, and returns `status`. Only the first reason
	 * of a call is kept.
	 */
	enum nnx_status (*fail)(struct nnx_call *call, enum nnx_status status,
				const char *format, ...) __attribute__((format(printf, 3, 4)));

	/* Since version 2: the attributes of the compilation, for compile, shape and execute. */
	uint32_t num_attributes;
	/* Since version 2: the attributes of the execution, for shape and execute. */
	uint32_t num_execution_attributes;
	const struct nnx_attribute *attributes;
	const struct nnx_attribute *execution_attributes;
};

/* Flags of a type. */
#define NNX_TYPE_TENSOR 1u	/* else a scalar */

struct nnx_type {
	uint16_t code;			/* within the extension */
	uint16_t flags;
	uint32_t element_size;		/* size in bytes, at least 1 */
	const char *name;		/* for messages: "TENSOR_INT64" */
	/*
	 * Checks the extension data of an operand of this type (NULL and 0 if the application gave
	 * none). If check_data is NULL, operands of this type cannot have extension data.
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
	/* Bit sets of inputs and outputs: bit i is input or output i of up to 64. */
	uint64_t omissible_inputs;	/* bits of the inputs that may be omitted */
	uint64_t omissible_outputs;
	uint64_t value_inputs;		/* tensors whose values determine addresses or shapes */

	/*
	 * Checks the signature: the numbers and types of inputs and outputs, and their ranks and
	 * dimensions as far as known. Values are NULL. Returns NNX_OK or NNX_INVALID_ARGUMENT.
	 */
	enum nnx_status (*check)(struct nnx_call *call);

	/*
	 * Computes the shapes of outputs (and scale, zero_point) from the shapes of inputs. Only
	 * scalars and value_inputs have values. On entry, outputs have the shapes that the model
	 * declares, with 0 for unknown dimensions. Dimensions that the model declares must not
	 * change.
	 */
	enum nnx_status (*shape)(struct nnx_call *call);

	/*
	 * Prepares the operation of one model; may be NULL. Only constant inputs have values. shape
	 * and execute get *state, and release() frees it. Either compile and release are both set,
	 * or both are NULL. If compile fails, release() is not called.
	 */
	enum nnx_status (*compile)(struct nnx_call *call, void **state);
	void (*release)(void *state);

	/* Computes the outputs. Several executions may share one state at a time. */
	enum nnx_status (*execute)(struct nnx_call *call);
};

/* Flags of an attribute: the objects that can have the attribute; at least one flag is set. */
#define NNX_OF_COMPILATION 1u
#define NNX_OF_EXECUTION 2u

struct nnx_attribute_type {
	uint16_t code;			/* within the extension */
	uint16_t flags;
	uint32_t reserved;		/* 0 */
	const char *name;		/* for messages: "MODULUS" */
	/* Checks the attribute's bytes. It is called before other functions that may read them. */
	enum nnx_status (*check)(struct nnx_call *call, const struct nnx_attribute *attribute);
};

struct nnx_extension {
	uint32_t abi;			/* NNX_ABI_VERSION */
	uint32_t size;			/* sizeof(struct nnx_extension) of that version */
	const char *name;		/* reverse domain name "com.example.fibonacci"; letters, */
					/* digits, '.', '_' and '-', at least one dot */
	uint32_t version;		/* the vendor's own */
	uint32_t num_types;
	const struct nnx_type *types;
	const struct nnx_operation *operations;
	uint32_t num_operations;
	/*
	 * Names of extensions whose types this extension uses. Without them, this extension is not
	 * loaded.
	 */
	uint32_t num_needs;
	const char *const *needs;
	/*
	 * Executes the NNAPI's OEM_OPERATION, with operands such as OEM scalar and TENSOR_OEM_BYTE;
	 * may be NULL. `code` is ignored. Only one loaded extension can have this.
	 */
	const struct nnx_operation *oem_operation;
	/*
	 * Since version 2: the attributes that the extension accepts. Models and executions with
	 * other attributes are rejected. An extension of version 1 accepts no attributes.
	 */
	const struct nnx_attribute_type *attributes;
	uint32_t num_attributes;
	uint32_t reserved;		/* 0 */
};

/* Size of a descriptor of version 1 in bytes. */
#define NNX_EXTENSION_SIZE_1 offsetof(struct nnx_extension, attributes)

#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_EXTENSION_H */
