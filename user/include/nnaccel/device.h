/* SPDX-License-Identifier: MIT */
/*
 * An engine's description of its device: the answer to the kernel's query NNACCEL_QUERY_DEVICE. The
 * fields follow Capabilities of the NN HAL 1.3.
 */
#ifndef NNACCEL_DEVICE_H
#define NNACCEL_DEVICE_H

#include <stdint.h>

#include <nnaccel/model.h>

#define NN_DEVICE_MAGIC 0x76646e6eu	/* "nndv" */

/* Size in bytes of a bit set with one bit for each NNAPI operation code from 0 to 127. */
#define NN_DEVICE_OPERATIONS 16

/* The HAL's DeviceType. */
enum nn_device_type {
	NN_DEVICE_OTHER = 1,
	NN_DEVICE_CPU = 2,
	NN_DEVICE_GPU = 3,
	NN_DEVICE_ACCELERATOR = 4,
};

/* The way in which a device reads and writes the memory of arguments. */
enum nn_device_memory {
	NN_DEVICE_MEMORY_UNTOLD = 0,	/* the engine does not report the kind of access */
	NN_DEVICE_MEMORY_DMA_BUF = 1,	/* the device imports dma-bufs */
	NN_DEVICE_MEMORY_ADDRESS = 2,	/* the device imports memory by address */
	NN_DEVICE_MEMORY_COPIED = 3,	/* the CPU copies from and to memory of the device */
};

/* Time and power relative to those of the CPU reference, which are 1.0; lower is better. */
struct nn_performance {
	float exec_time;
	float power_usage;
};

struct nn_device_info {
	uint32_t magic;			/* NN_DEVICE_MAGIC */
	uint32_t size;			/* sizeof(struct nn_device_info) */
	char version[64];	/* version text: terminated, not empty, unique for each build */
	uint32_t type;			/* enum nn_device_type */
	uint32_t feature_level;		/* NNAPI feature level, as 1 to 8 */
	uint32_t model_cache_files;	/* at most 32 */
	uint32_t data_cache_files;	/* at most 32; if both numbers are 0, no caching */
	struct nn_performance relaxed_scalar;
	struct nn_performance relaxed_tensor;
	struct nn_performance if_performance;
	struct nn_performance while_performance;
	/* Performance by operand type (enum nn_type); unused entries are FLT_MAX. */
	struct nn_performance operand[NN_TYPE_COUNT];
	/*
	 * Bit set of operations that the device executes for at least some types: code c is bit c %
	 * 8 of byte c / 8. Only nna_get_supported_operations() says whether the device executes the
	 * operations of a model.
	 */
	uint8_t operations[NN_DEVICE_OPERATIONS];
	/* ---- added after the first version, which ends here ---- */
	uint32_t memory;		/* enum nn_device_memory */
	uint32_t reserved;		/* 0 */
	/*
	 * Number of arguments that the CPU copied since the engine's start; 0 if the engine does
	 * not report the number.
	 */
	uint64_t copies;
};

/* A type or an operation of a vendor extension. */
struct nn_device_extension_item {
	uint16_t code;			/* within the extension */
	bool is_tensor;			/* for types: true if tensor, false if scalar */
	uint32_t element_size;		/* for types: bytes of an element; for operations: 0 */
	const char *name;		/* for messages */
};

/* A vendor extension that the device has, like Extension of the NN HAL 1.2. */
struct nn_device_extension {
	const char *name;		/* "com.example.extension" */
	uint32_t version;		/* its vendor's */
	bool has_oem_operation;		/* executes OEM_OPERATION */
	uint32_t num_types;
	uint32_t num_operations;
	const struct nn_device_extension_item *types;
	const struct nn_device_extension_item *operations;
};

#endif /* NNACCEL_DEVICE_H */
