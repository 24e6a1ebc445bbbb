/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions: the descriptor that a plug-in exports, and the functions of the engine that a
 * plug-in may call.
 *
 * A plug-in is a shared object in the engine's folder of extensions. The shared object exports one
 * variable, the descriptor, as follows:
 *
 *	NNX_EXPORT const struct nnx_extension nnaccel_extension = { ... };
 *
 * A plug-in includes this header, the C library's headers, and nothing else of nnaccel. A plug-in
 * links no library of nnaccel: it calls the engine's functions by pointers in struct nnx_call. A
 * plug-in can use only shared libraries that the engine has already loaded (libc, libm).
 *
 * A plug-in is loaded in the sandboxed worker of one client. The plug-in's constructors run in the
 * sandbox, and cannot use files or the network, or create threads or processes. A forbidden system
 * call ends the worker. Several threads may call the plug-in's functions at a time, each with its
 * own struct nnx_call.
 *
 * The present version of this interface is NNX_ABI_VERSION. An engine loads plug-ins that were
 * built for the engine's version of this interface or for an older version, and rejects newer
 * plug-ins. Later versions add fields only at the end of a structure; the field `size` is the
 * structure's size in the caller's version.
 *
 *	Version 1 is the first version.
 *	Version 2 adds attributes to nnx_extension and nnx_call.
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

/* Limits of a descriptor's fields. */
#define NNX_MAX_NAME 127	/* length of an extension's name in bytes */
#define NNX_MAX_SHORT_NAME 47	/* length of the short name of a type or an operation */
#define NNX_MAX_TYPES 128
#define NNX_MAX_OPERATIONS 256
#define NNX_MAX_ATTRIBUTES 128
#define NNX_MAX_ELEMENT 65536	/* bytes */

#define NNX_EXPORT __attribute__((visibility("default")))
#define NNX_SYMBOL "nnaccel_extension"

/*
 * The status that a plug-in's function returns. A function that returns another status than NNX_OK
 * must report the reason by nnx_call.fail().
 */
enum nnx_status {
	NNX_OK = 0,
	/*
	 * The functions shape and execute return NNX_GENERAL_FAILURE if the operation cannot be
	 * computed.
	 */
	NNX_GENERAL_FAILURE = 2,
	/*
	 * The functions check, check_data and compile return NNX_INVALID_ARGUMENT if the model or
	 * an attribute is wrong.
	 */
	NNX_INVALID_ARGUMENT = 4,
	NNX_OUT_OF_MEMORY = 10,
};

/* Flags of an operand. */
#define NNX_OMITTED 1u		/* has no value */
#define NNX_CONSTANT 2u		/* the value comes from the model */
#define NNX_IS_TENSOR 4u	/* else a scalar */

/* An operand. The operand's value and dimensions may be unknown. */
struct nnx_operand {
	/* name of the type's extension; NULL for a type of the NNAPI */
	const char *extension;
	/* type's code in the extension, or the NNAPI's OperandCode */
	int32_t type;
	uint32_t flags;
	uint32_t element_size;		/* in bytes; 0 if the type has no fixed size (OEM scalar) */
	uint32_t rank;			/* 0: a scalar; in check() also a tensor of unknown rank */
	/*
	 * In check() and compile() a dimension of 0 is unknown; in shape() and execute() it means
	 * that the tensor has no elements.
	 */
	uint32_t dims[NNX_MAX_RANK];
	float scale;			/* quantisation scale of NNAPI types */
	int32_t zero_point;
	/* The extension data that the application set for this operand. */
	const void *data;
	uint32_t data_size;
	/*
	 * The operand's value; NULL if the value is unknown. The client may write the memory of an
	 * input during a call, unless the input is a scalar or in value_inputs. A plug-in must read
	 * a value that determines an address only once, because the client may change the value.
	 * The memory of `value` is aligned to the largest power of two that divides the element
	 * size.
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
 * One call of a plug-in's function: the operation, its arguments, and the functions of the engine
 * that the plug-in may call.
 */
struct nnx_call {
	uint32_t size;			/* sizeof(struct nnx_call) of the engine */
	uint32_t relaxed;		/* float32 may be computed as float16 */
	const struct nnx_operation *operation;	/* NULL in check_data */
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nnx_operand *inputs;
	/*
	 * The function shape sets rank, dims, scale and zero_point of an output; execute writes
	 * only the memory at `value`.
	 */
	struct nnx_operand *outputs;
	/* set for the functions shape and execute: the state that the function compile made */
	void *state;

	/*
	 * Returns zeroed memory, 64-byte aligned, or NULL if memory runs out. The allocated memory
	 * is valid until the plug-in's function returns.
	 */
	void *(*alloc)(struct nnx_call *call, size_t count, size_t size);

	/*
	 * Records the reason of a failure, printf-like, and returns `status`. If one call of a
	 * plug-in's function calls fail() several times, the engine keeps the first reason.
	 */
	enum nnx_status (*fail)(struct nnx_call *call, enum nnx_status status,
				const char *format, ...) __attribute__((format(printf, 3, 4)));

	/* Since version 2: length of `attributes`; set in calls of compile, shape and execute. */
	uint32_t num_attributes;
	/* Since version 2: length of `execution_attributes`; set in calls of shape and execute. */
	uint32_t num_execution_attributes;
	const struct nnx_attribute *attributes;
	const struct nnx_attribute *execution_attributes;
};

/* Flags of struct nnx_type. */
#define NNX_TYPE_TENSOR 1u	/* else a scalar */

struct nnx_type {
	uint16_t code;			/* within the extension */
	uint16_t flags;
	uint32_t element_size;		/* size in bytes, at least 1 */
	const char *name;		/* for messages: "TENSOR_INT64" */
	/*
	 * Checks the extension data of an operand of this type; data is NULL if the application set
	 * no extension data. If check_data is NULL, operands of this type cannot have extension
	 * data.
	 */
	enum nnx_status (*check_data)(struct nnx_call *call, const struct nnx_operand *operand);
};

/* Flags of an operation. */
#define NNX_ZERO_SIZED 1u	/* inputs of the operation may have a dimension of size 0 */

struct nnx_operation {
	uint16_t code;			/* within the extension */
	uint16_t flags;
	uint32_t reserved;		/* 0 */
	const char *name;		/* for messages: "FIBONACCI" */
	/* Bit sets of the first 64 inputs or outputs: bit i stands for input or output i. */
	uint64_t omissible_inputs;	/* bits of the inputs that may be omitted */
	uint64_t omissible_outputs;
	/* input tensors whose values determine addresses or shapes */
	uint64_t value_inputs;

	/*
	 * Checks an operation's signature: the numbers and types of inputs and outputs, and their
	 * known ranks and dimensions. Values are NULL. Returns NNX_OK or NNX_INVALID_ARGUMENT.
	 */
	enum nnx_status (*check)(struct nnx_call *call);

	/*
	 * Computes the shapes of outputs (and scale, zero_point) from the shapes of inputs. During
	 * a call of shape(), only scalars and the inputs in value_inputs have values. On entry,
	 * outputs have the shapes that the model declares, with 0 for unknown dimensions. The
	 * function must not change a dimension that the model declares.
	 */
	enum nnx_status (*shape)(struct nnx_call *call);

	/*
	 * Prepares an operation of one model; may be NULL. During a call of compile(), only
	 * constant inputs have values. The functions shape and execute receive *state, and
	 * release() frees *state. Either compile and release are both set, or both are NULL. If
	 * compile fails, the engine does not call release().
	 */
	enum nnx_status (*compile)(struct nnx_call *call, void **state);
	void (*release)(void *state);

	/* Computes the outputs. Several executions may use one `state` at the same time. */
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
	/*
	 * Checks the attribute's bytes. The engine calls check before other functions that may read
	 * the attribute.
	 */
	enum nnx_status (*check)(struct nnx_call *call, const struct nnx_attribute *attribute);
};

struct nnx_extension {
	uint32_t abi;			/* NNX_ABI_VERSION */
	uint32_t size;			/* sizeof(struct nnx_extension) of version `abi` */
	/*
	 * The extension's name, such as "com.example.fibonacci": letters, digits, '.', '_' and '-',
	 * with at least one dot.
	 */
	const char *name;
	uint32_t version;		/* the vendor's own */
	uint32_t num_types;
	const struct nnx_type *types;
	const struct nnx_operation *operations;
	uint32_t num_operations;
	/*
	 * Names of extensions whose types this extension uses. The engine loads this extension only
	 * if all extensions in `needs` are loaded.
	 */
	uint32_t num_needs;
	const char *const *needs;
	/*
	 * Executes the NNAPI's OEM_OPERATION, with operands such as OEM scalar and TENSOR_OEM_BYTE;
	 * may be NULL. The field `code` of oem_operation is ignored. Only one loaded extension can
	 * have an oem_operation.
	 */
	const struct nnx_operation *oem_operation;
	/*
	 * Since version 2: the attributes that the extension accepts. Models and executions with an
	 * unlisted attribute of this extension are rejected. An extension of version 1 accepts no
	 * attributes.
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
