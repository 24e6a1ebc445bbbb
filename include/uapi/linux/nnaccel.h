/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * nnaccel: neural network accelerator interface.
 *
 * The interface consists of the ioctls of five kinds of file:
 *
 * - a device, /dev/nnaccel, /dev/nnaccel1 and so on. Each open of a device
 *   makes a *context*, which belongs to the opener's address space. All ioctls of a context return
 *   EACCES to processes with another address space, such as a forked child.
 *
 * - /dev/nnaccel-engine: the *engine node*. The broker of each engine opens the engine node and
 *   registers the engine under a name, which makes the engine a device. The broker is notified of
 *   contexts that want an engine, and gets a session for each context.
 *
 * - a *session*: NNACCEL_ENGINE_SESSION makes the session, which serves only one context. The
 *   worker that serves the context attaches to the session. The worker fetches commands, maps
 *   granted memory and commits the answers.
 *
 * - a *burst*: NNACCEL_WORK_BURST makes the burst for a model. Client and worker map the rings of
 *   the burst and exchange executions through the rings without the kernel.
 *
 * - a *submission's file*: NNACCEL_SUBMIT with NNACCEL_SUBMIT_FILE makes the submission's file. A
 *   submission's file polls readable when the execution has ended. Other executions may depend on a
 *   submission's file.
 *
 * Every structure begins with its size in bytes. A structure shorter than the
 * first published version gives EINVAL. A structure longer than the kernel's version
 * gives E2BIG, unless the unknown tail is zero and the structure is at most a
 * page long. Unknown flags and non-zero reserved fields give EINVAL. Ids have 32
 * bits and are valid in one context: an id of another context gives ENOENT, like
 * an id that does not exist.
 *
 * NNACCEL_SUBMIT submits work to the engine, and NNACCEL_WAIT fetches the answer.
 *
 * Every ioctl may return these errors:
 * EFAULT: bad pointer.
 * EINVAL: an invalid size, an unknown flag or a non-zero reserved field.
 * E2BIG: a non-zero unknown tail, or a structure longer than a page.
 * ENOTTY: no such ioctl on this kind of file.
 * EACCES: the caller does not have the address space that owns the file.
 * ENOMEM: out of memory.
 * EDQUOT: the user's limit of memory is reached. Only calls for which the kernel allocates memory
 * return EDQUOT, even if the kernel frees the memory before the call ends.
 * ENFILE: the system's limit of open files is reached. Only calls that make a file return ENFILE.
 */
#ifndef _UAPI_LINUX_NNACCEL_H
#define _UAPI_LINUX_NNACCEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Version of this interface, as NNACCEL_INFO reports it. The version changes only if old programs
 * would stop working. nnaccel_info.features reports additions to a version.
 */
#define NNACCEL_ABI_VERSION	2

#define NNACCEL_TYPE		0xB9

/* Maximum number of dimensions of an argument or a shape. */
#define NNACCEL_MAX_RANK	16

/* Maximum number of arguments (inputs and outputs together) of an execution. */
#define NNACCEL_MAX_ARGS	4096

/* Maximum number of pools of a command. */
#define NNACCEL_MAX_CMD_POOLS	1024

/* Maximum number of buffers of an execution, and maximum number of roles of a buffer. */
#define NNACCEL_MAX_CMD_BUFFERS	1024
#define NNACCEL_MAX_ROLES	1024

/* Size of an engine's name and of its version, with the terminating 0. */
#define NNACCEL_MAX_NAME	32
#define NNACCEL_MAX_VERSION	64

/* Sizes of a bus's name, and of the name of hardware on a bus, with the terminating 0. */
#define NNACCEL_MAX_BUS		16
#define NNACCEL_MAX_HARDWARE	64

/* Maximum bytes of a message, of an answer to a query, and of a model. */
#define NNACCEL_MAX_MESSAGE	512
#define NNACCEL_MAX_QUERY	(64 * 1024)
#define NNACCEL_MAX_WIRE	(256 * 1024 * 1024)

/* Maximum number of operations of a model for NNACCEL_WORK_SUPPORTED. */
#define NNACCEL_MAX_OPERATIONS	(1024 * 1024)

/* Maximum bytes of the attributes of a preparation or an execution. */
#define NNACCEL_MAX_ATTRIBUTES	(64 * 1024)

enum {
	NNACCEL_CMD_INFO = 0x00,
	NNACCEL_CMD_DESTROY = 0x01,
	NNACCEL_CMD_POOL_ALLOC = 0x02,
	NNACCEL_CMD_POOL_IMPORT = 0x03,
	NNACCEL_CMD_POOL_EXPORT = 0x04,
	NNACCEL_CMD_CANCEL = 0x0F,
	NNACCEL_CMD_SUBMIT = 0x13,
	NNACCEL_CMD_WAIT = 0x14,
	NNACCEL_CMD_SYNC_FILE = 0x15,

	NNACCEL_CMD_BURST_SLOT = 0x20,

	NNACCEL_CMD_ENGINE_NEXT = 0x40,
	NNACCEL_CMD_ENGINE_SESSION = 0x41,
	NNACCEL_CMD_ENGINE_REFUSE = 0x42,
	NNACCEL_CMD_ENGINE_REGISTER = 0x45,
	NNACCEL_CMD_ENGINE_OPENER = 0x46,

	NNACCEL_CMD_SESSION_ATTACH = 0x60,
	NNACCEL_CMD_SESSION_FETCH = 0x61,
	NNACCEL_CMD_SESSION_COMMIT = 0x62,
	NNACCEL_CMD_SESSION_SLOT = 0x63,
	NNACCEL_CMD_SESSION_SYNC = 0x68,
	NNACCEL_CMD_SESSION_GRANT_FD = 0x6A,
	NNACCEL_CMD_SESSION_FENCE = 0x6B
};

/**
 * enum nnaccel_status - The engine's verdict on a command
 * @NNACCEL_STATUS_NONE: the command succeeded
 * @NNACCEL_STATUS_DEVICE_UNAVAILABLE: the device cannot execute the command now
 * @NNACCEL_STATUS_GENERAL_FAILURE: the command failed
 * @NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE: an output is too small.
 *	The returned shapes say how large the output must be
 * @NNACCEL_STATUS_INVALID_ARGUMENT: the model or an argument is wrong
 * @NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT: the command took too long; a retry may
 *	succeed
 * @NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT: the command always takes longer than its
 *	deadline
 * @NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT: not enough memory or threads now
 * @NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT: the device has too little memory for the command
 *
 * An ioctl that reached the engine returns 0 and sets the structure's status field to a value of
 * enum nnaccel_status. An ioctl that the kernel itself rejected returns an errno and does not
 * change the structure. The values of enum nnaccel_status are those of the NN HAL's ErrorStatus.
 */
enum nnaccel_status {
	NNACCEL_STATUS_NONE = 0,
	NNACCEL_STATUS_DEVICE_UNAVAILABLE = 1,
	NNACCEL_STATUS_GENERAL_FAILURE = 2,
	NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE = 3,
	NNACCEL_STATUS_INVALID_ARGUMENT = 4,
	NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT = 5,
	NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT = 6,
	NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT = 7,
	NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT = 8
};

/* Protection of a pool: the permitted accesses to its memory. */
#define NNACCEL_PROT_READ	(1 << 0)
#define NNACCEL_PROT_WRITE	(1 << 1)

/* ------------------------------------------------------------------------
 * Devices: /dev/nnaccel, /dev/nnaccel1, ...
 */

/**
 * enum nnaccel_engine_state - State of a context's engine, from NNACCEL_INFO
 */
enum nnaccel_engine_state {
	/** @NNACCEL_ENGINE_ABSENT: No broker is registered for the device. */
	NNACCEL_ENGINE_ABSENT = 0,
	/**
	 * @NNACCEL_ENGINE_PENDING: A broker is registered; no worker is attached to this context.
	 */
	NNACCEL_ENGINE_PENDING = 1,
	/** @NNACCEL_ENGINE_ATTACHED: A worker is attached to this context. */
	NNACCEL_ENGINE_ATTACHED = 2
};

/* Flag of NNACCEL_INFO: request a worker for this context now, before the client submits work. */
#define NNACCEL_INFO_WANT	(1 << 0)

/**
 * struct nnaccel_info - Argument of ioctl(NNACCEL_INFO)
 * @size: sizeof(struct nnaccel_info)
 * @flags: NNACCEL_INFO_WANT
 * @abi: out: NNACCEL_ABI_VERSION of the module
 * @engine: out: enum nnaccel_engine_state
 * @max_pools: out: pools that this context may hold
 * @max_models: out: models that this context may hold
 * @max_commands: out: commands that this context may have in flight
 * @__reserved: must be 0
 * @max_pool_bytes: out: largest pool
 * @max_context_bytes: out: bytes that this context may allocate in pools,
 *	buffers and bursts
 * @max_user_bytes: out: bytes that all contexts of this user may allocate
 * @pool_bytes: out: bytes that this context has allocated
 * @import_bytes: out: bytes that this context has imported
 * @executions: out: executions of this context that the engine has finished
 * @engine_ns: out: time the engine spent on this context's commands, in ns
 * @max_bursts: out: bursts that this context may hold
 * @bursts: out: bursts that this context holds
 * @max_buffers: out: buffers that this context may hold
 * @buffers: out: buffers that this context holds
 * @device: out: number of the device
 * @engine_wait_ms: out: longest wait for a worker to attach; an older module does not write
 *	this field
 * @name: out: name of the device's engine; empty: none has been registered yet
 * @features: out: a bit for each addition to this version; none so far
 *
 * The first call that needs a worker requests a worker from the broker. NNACCEL_INFO_WANT requests
 * the worker before that first call, and does not wait for the worker. A context for which no
 * worker was requested costs the engine no memory or process.
 *
 * Errors: only those that every ioctl may return.
 */
struct nnaccel_info {
	__u32 size;
	__u32 flags;
	__u32 abi;
	__u32 engine;
	__u32 max_pools;
	__u32 max_models;
	__u32 max_commands;
	__u32 __reserved;
	__aligned_u64 max_pool_bytes;
	__aligned_u64 max_context_bytes;
	__aligned_u64 max_user_bytes;
	__aligned_u64 pool_bytes;
	__aligned_u64 import_bytes;
	__aligned_u64 executions;
	__aligned_u64 engine_ns;
	__u32 max_bursts;
	__u32 bursts;
	__u32 max_buffers;
	__u32 buffers;
	__u32 device;
	__u32 engine_wait_ms;
	char name[NNACCEL_MAX_NAME];
	__aligned_u64 features;
};
#define NNACCEL_INFO _IO(NNACCEL_TYPE, NNACCEL_CMD_INFO)

/**
 * struct nnaccel_destroy - Argument of ioctl(NNACCEL_DESTROY)
 * @size: sizeof(struct nnaccel_destroy)
 * @id: pool, model, buffer or submission to destroy
 *
 * The id of a destroyed object becomes invalid at once. A destroyed object's id is reused only
 * after all other ids were used. A submission that has not ended is cancelled. The memory of a pool
 * is not freed while a model, a command in flight, a mapping or an exported dma-buf refers to the
 * pool. The memory of a buffer is not freed while a command in flight refers to the buffer.
 *
 * Errors: ENOENT: no such object in this context.
 */
struct nnaccel_destroy {
	__u32 size;
	__u32 id;
};
#define NNACCEL_DESTROY _IO(NNACCEL_TYPE, NNACCEL_CMD_DESTROY)

/**
 * struct nnaccel_pool_alloc - Argument of ioctl(NNACCEL_POOL_ALLOC)
 * @size: sizeof(struct nnaccel_pool_alloc)
 * @flags: must be 0
 * @length: bytes, at least 1; charged in whole pages
 * @out_id: out: the pool
 * @__reserved: must be 0
 *
 * Allocates zeroed memory, readable and writable. The client maps the pool's memory through the
 * dma-buf that NNACCEL_POOL_EXPORT returns.
 *
 * Errors:
 * EINVAL: length 0.
 * EFBIG: length above max_pool_bytes.
 * EDQUOT: the limit of bytes of the context or of the user is reached.
 * ENOSPC: too many pools.
 * EINTR: the caller was killed.
 */
struct nnaccel_pool_alloc {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__u32 out_id;
	__u32 __reserved;
};
#define NNACCEL_POOL_ALLOC _IO(NNACCEL_TYPE, NNACCEL_CMD_POOL_ALLOC)

/* Flag of NNACCEL_POOL_IMPORT: only devices can access the pool. */
#define NNACCEL_IMPORT_DEVICE	(1 << 0)

/* Maximum number of planes of an image. */
#define NNACCEL_MAX_PLANES	4

/**
 * struct nnaccel_plane - Location of a plane of an image
 * @fd: a file, as for NNACCEL_POOL_IMPORT; -1: the file of the first plane
 * @stride: bytes from one row to the next, at least the bytes of a row
 * @offset: bytes from the start of that file to the first row; any value
 */
struct nnaccel_plane {
	__s32 fd;
	__u32 stride;
	__aligned_u64 offset;
};

/**
 * struct nnaccel_pool_import - Argument of ioctl(NNACCEL_POOL_IMPORT)
 * @size: sizeof(struct nnaccel_pool_import)
 * @flags: NNACCEL_IMPORT_DEVICE
 * @fd: a dma-buf, or a regular file (memfd included) that can be mapped
 * @prot: NNACCEL_PROT_READ, or NNACCEL_PROT_READ | NNACCEL_PROT_WRITE
 * @offset: bytes into the file, a multiple of the page size.
 *	For an image, @offset is the offset of the first row of the first plane, and need not be
 *	aligned
 * @length: bytes, at least 1; offset + length must be within the file.
 *	For an image, @length must be 0, and the call sets @length to the bytes of all planes'
 *	pixels
 * @out_id: out: the pool
 * @fourcc: 0: the pool holds bytes, and all fields below are 0.
 *	For an image, @fourcc is a DRM_FORMAT_ of one plane with pixels of whole bytes, or NV12,
 *	NV21, YUV420, YVU420 or P010
 * @width: pixels of a row.
 *	The width must be even for formats of several planes, and for formats of pixel pairs such as
 *	YUYV
 * @height: rows; must be even for a format of several planes
 * @stride: bytes from one row of the first plane to the next, at least the bytes
 *	of a row
 * @__reserved: must be 0
 * @modifier: DRM_FORMAT_MOD_LINEAR (0)
 * @planes: the planes after the first one, in the order of the fourcc.
 *	The unused entries of @planes must be 0
 *
 * The pool holds a reference to the imported file, so the fd may be closed. If this module exported
 * the dma-buf, the new pool shares the memory of the exported pool. Each import makes a new pool.
 *
 * With NNACCEL_IMPORT_DEVICE only the engine's device accesses the dma-buf, which
 * need not support mmap(). The kernel never begins CPU accesses to a dma-buf that was imported with
 * NNACCEL_IMPORT_DEVICE. Arguments of executions and slots of bursts may name a pool that was
 * imported with NNACCEL_IMPORT_DEVICE. A pool that only devices can access cannot hold a model's
 * constants or wire form, or a part of a saved model, and cannot be used by
 * NNACCEL_WORK_BUFFER_COPY (EOPNOTSUPP). The import returns EOPNOTSUPP if the engine did not
 * register with NNACCEL_ENGINE_DEVICE_POOLS.
 *
 * An argument of an execution uses a whole image, with offset and length 0. The data of an argument
 * that is an image are the rows of its planes, one plane after the other, without padding. A
 * model's constants and wire form cannot be in an image, and an image cannot be exported or copied.
 * If an image's planes are in several files, each file except the first one counts as an additional
 * pool of the context.
 *
 * Errors:
 * EBADF: no such fd.
 * EINVAL: length 0, offset unaligned, range beyond the file, unknown or missing
 * protection.
 * EINVAL for an image: length or flags not 0, a width or height that is 0, or an odd width or
 * height that must be even.
 * EINVAL for an image: a stride shorter than a row, rows beyond the file, or too many
 * planes.
 * EOPNOTSUPP: this kind of file cannot be imported, or the format or the modifier is
 * unknown.
 * EACCES: the fd was not opened with the access that prot needs, or prot has write access and data
 * can only be appended to the file.
 * EPERM: the file is sealed against the access that prot needs, or prot has write access and the
 * file is used as swap space.
 * ENOSPC: too many pools.
 */
struct nnaccel_pool_import {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 prot;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u32 out_id;
	__u32 fourcc;
	__u32 width;
	__u32 height;
	__u32 stride;
	__u32 __reserved;
	__aligned_u64 modifier;
	struct nnaccel_plane planes[NNACCEL_MAX_PLANES - 1];
};
#define NNACCEL_POOL_IMPORT _IO(NNACCEL_TYPE, NNACCEL_CMD_POOL_IMPORT)

/* Flags of NNACCEL_POOL_EXPORT. */
#define NNACCEL_EXPORT_CLOEXEC	(1 << 0)

/**
 * struct nnaccel_pool_export - Argument of ioctl(NNACCEL_POOL_EXPORT)
 * @size: sizeof(struct nnaccel_pool_export)
 * @flags: NNACCEL_EXPORT_CLOEXEC
 * @id: a pool that is backed by a dma-buf, allocated or imported
 * @out_fd: out: a dma-buf fd of the whole buffer
 *
 * Errors:
 * ENOENT: no such pool.
 * EOPNOTSUPP: the pool is a regular file or an image, or only devices can access the pool.
 * EOPNOTSUPP: the pool was imported without write access, or from a part of a dma-buf.
 * EMFILE.
 */
struct nnaccel_pool_export {
	__u32 size;
	__u32 flags;
	__u32 id;
	__s32 out_fd;
};
#define NNACCEL_POOL_EXPORT _IO(NNACCEL_TYPE, NNACCEL_CMD_POOL_EXPORT)

/**
 * struct nnaccel_query - Description of the work NNACCEL_WORK_QUERY
 * @size: sizeof(struct nnaccel_query)
 * @query: an NNACCEL_QUERY_ value, which the kernel passes to the engine
 *	unchanged
 * @data: memory for the answer
 * @data_size: in: bytes at @data, at most NNACCEL_MAX_QUERY; out: bytes written
 * @out_status: out: enum nnaccel_status; INVALID_ARGUMENT: unknown query
 *
 * The kernel does not interpret the engine's answer to the query.
 *
 * Errors if the engine or a worker cannot be reached: ENOTCONN: no broker is registered for the
 * device, and no broker registered within engine_absent_ms. ETIMEDOUT: a broker is registered, but
 * no worker attached within engine_wait_ms. EUSERS: the broker refused a worker, because this user
 * has too many workers. EAGAIN: workers crashed, so the broker starts no new worker for a time.
 * EPIPE: the worker died. EINTR: the caller was killed. EXFULL: the context has too many commands
 * in flight.
 *
 * Further errors:
 * ENOBUFS: the answer does not fit into @data_size.
 */
struct nnaccel_query {
	__u32 size;
	__u32 query;
	__aligned_u64 data;
	__u32 data_size;
	__u32 out_status;
};

/* Query for the engine's description of the device. */
#define NNACCEL_QUERY_DEVICE	0

/* Query for the engine's vendor extensions for this context. */
#define NNACCEL_QUERY_EXTENSIONS	1

/**
 * struct nnaccel_supported - Description of the work NNACCEL_WORK_SUPPORTED
 * @size: sizeof(struct nnaccel_supported)
 * @flags: must be 0
 * @wire_pool: pool that holds the model in its wire form
 * @num_pools: pools of the model's constants, at most NNACCEL_MAX_CMD_POOLS - 1
 * @wire_offset: bytes into the pool
 * @wire_length: bytes, at most NNACCEL_MAX_WIRE
 * @pools: const __u32[num_pools]: pool ids, in the order of the model's pools
 * @supported: __u8[num_operations]: out: 1 for each operation that the engine can execute, else 0.
 *	The array @supported covers the main subgraph, and is written only with NNACCEL_STATUS_NONE
 * @num_operations: operations of the main subgraph, at most
 *	NNACCEL_MAX_OPERATIONS
 * @out_status: out: enum nnaccel_status
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @__reserved: must be 0
 *
 * If the exporter of a constant's memory refuses access or is gone, only the
 * operations that use this constant count as not supported.
 *
 * Errors:
 * ENOENT: no such pool.
 * EINVAL: range outside the pool, too many pools.
 * EOPNOTSUPP: a formatted pool, or a pool that only devices can access.
 * EIO: the wire form is in a dma-buf whose exporter refused access.
 * Errors of struct nnaccel_query, if the context gets no worker.
 */
struct nnaccel_supported {
	__u32 size;
	__u32 flags;
	__u32 wire_pool;
	__u32 num_pools;
	__aligned_u64 wire_offset;
	__aligned_u64 wire_length;
	__aligned_u64 pools;
	__aligned_u64 supported;
	__u32 num_operations;
	__u32 out_status;
	__aligned_u64 message;
	__u32 message_size;
	__u32 __reserved;
};

/**
 * enum nnaccel_preference - Goal of a model's compilation
 * @NNACCEL_PREFER_LOW_POWER: low energy, even if it takes longer
 * @NNACCEL_PREFER_FAST_SINGLE_ANSWER: low latency of one answer
 * @NNACCEL_PREFER_SUSTAINED_SPEED: high throughput of many answers
 */
enum nnaccel_preference {
	NNACCEL_PREFER_LOW_POWER = 0,
	NNACCEL_PREFER_FAST_SINGLE_ANSWER = 1,
	NNACCEL_PREFER_SUSTAINED_SPEED = 2
};

/**
 * enum nnaccel_priority - Order among the executions of one context
 * @NNACCEL_PRIORITY_LOW: executed after those of higher priority
 * @NNACCEL_PRIORITY_MEDIUM: the default
 * @NNACCEL_PRIORITY_HIGH: executed before those of lower priority
 */
enum nnaccel_priority {
	NNACCEL_PRIORITY_LOW = 0,
	NNACCEL_PRIORITY_MEDIUM = 1,
	NNACCEL_PRIORITY_HIGH = 2
};

/*
 * Flag of NNACCEL_WORK_PREPARE: the engine may cache the compiled model, and may
 * use a compiled model that it cached for the same model and user.
 */
#define NNACCEL_PREPARE_CACHE	(1 << 0)

/**
 * struct nnaccel_prepare - Description of the work NNACCEL_WORK_PREPARE
 * @size: sizeof(struct nnaccel_prepare)
 * @flags: NNACCEL_PREPARE_CACHE
 * @wire_pool: pool that holds the model in its wire form
 * @num_pools: pools of the model's constants, at most NNACCEL_MAX_CMD_POOLS - 1
 * @wire_offset: bytes into the pool
 * @wire_length: bytes, at most NNACCEL_MAX_WIRE
 * @pools: const __u32[num_pools]: pool ids, in the order of the model's pools.
 *	The model holds references to its constants' pools. The engine only reads the pools of
 *	constants
 * @preference: enum nnaccel_preference
 * @priority: enum nnaccel_priority
 * @deadline_ns: CLOCK_MONOTONIC time by which to be done, 0: none
 * @out_model: out: the model, valid with NNACCEL_STATUS_NONE only, else 0
 * @out_status: out: enum nnaccel_status
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @attributes_size: bytes at @attributes, at most NNACCEL_MAX_ATTRIBUTES
 * @attributes: const __u8[attributes_size]: attributes for extensions.
 *	The kernel does not read the attributes
 *
 * The model cannot be used any more if the worker that prepared the model is dead. After the
 * worker's death, calls with the model's id fail with ESTALE until the client destroys the model.
 *
 * Errors:
 * ENOENT: no such pool.
 * EINVAL: range outside the pool, too many pools, too many attributes, unknown
 * preference or priority.
 * ENOSPC: too many models.
 * ETIME: the deadline passed.
 * EOPNOTSUPP: a formatted pool, or a pool that only devices can access.
 * EIO: the exporter of a dma-buf refused access.
 * Errors of struct nnaccel_query, if the context gets no worker.
 */
struct nnaccel_prepare {
	__u32 size;
	__u32 flags;
	__u32 wire_pool;
	__u32 num_pools;
	__aligned_u64 wire_offset;
	__aligned_u64 wire_length;
	__aligned_u64 pools;
	__u32 preference;
	__u32 priority;
	__aligned_u64 deadline_ns;
	__u32 out_model;
	__u32 out_status;
	__aligned_u64 message;
	__u32 message_size;
	__u32 attributes_size;
	__aligned_u64 attributes;
};

/* Size of a token, the client's name of a saved model. */
#define NNACCEL_TOKEN_SIZE	32

/*
 * Maximum number of parts of each kind in a saved model, which is the NN HAL's limit for cache
 * files.
 */
#define NNACCEL_MAX_CACHE_PARTS	32

/**
 * struct nnaccel_cache_part - Memory that holds, or receives, a part of a saved model
 * @pool: a pool of this context; 0: no memory, and all other fields are 0
 * @__reserved: must be 0
 * @offset: bytes into the pool; for a data part a multiple of the page size
 * @length: bytes
 */
struct nnaccel_cache_part {
	__u32 pool;
	__u32 __reserved;
	__aligned_u64 offset;
	__aligned_u64 length;
};

/**
 * struct nnaccel_prepare_cached - Description of the work NNACCEL_WORK_PREPARE_CACHED
 * @size: sizeof(struct nnaccel_prepare_cached)
 * @flags: must be 0
 * @num_model_parts: model parts, at most NNACCEL_MAX_CACHE_PARTS
 * @num_data_parts: data parts, likewise
 * @parts: const struct nnaccel_cache_part[num_model_parts + num_data_parts]: the saved parts.
 *	The array @parts has the parts that NNACCEL_WORK_CACHE_SAVE wrote, model parts first. The
 *	model holds references to the pools of the data parts. The engine reads data parts in place
 *	and never writes to them
 * @token: the token that the parts were saved under
 * @preference: enum nnaccel_preference
 * @priority: enum nnaccel_priority
 * @deadline_ns: CLOCK_MONOTONIC time by which to be done, 0: none
 * @out_model: out: the model, valid with NNACCEL_STATUS_NONE only, else 0
 * @out_status: out: enum nnaccel_status.
 *	GENERAL_FAILURE means that the parts are damaged, or that this engine did not save them
 *	under @token for this user. INVALID_ARGUMENT means that the engine's saved models have
 *	another number of parts
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @attributes_size: as for NNACCEL_WORK_PREPARE
 * @attributes: as for NNACCEL_WORK_PREPARE; must equal the attributes of the
 *	saved model
 *
 * Prepares a model as NNACCEL_WORK_PREPARE does, from saved parts. The engine copies the model
 * parts, and rejects copies whose hash the engine has not stored. The engine uses the data parts in
 * place and does not hash them. If a client changes data parts, only values of outputs can change.
 *
 * Errors:
 * ENOENT: no such pool.
 * EINVAL: no part, or too many parts.
 * EINVAL: range outside the pool, or a range without a pool.
 * EINVAL: the offset of a data part is not a multiple of the page size.
 * EINVAL: model parts of more than NNACCEL_MAX_WIRE bytes together.
 * EINVAL: too many attributes, unknown preference or priority.
 * EOPNOTSUPP: a pool is formatted, or only devices can access it.
 * EIO: the exporter of a dma-buf refused access.
 * ENOSPC: too many models.
 * ETIME: the deadline passed.
 * Errors of struct nnaccel_query, if the context gets no worker.
 */
struct nnaccel_prepare_cached {
	__u32 size;
	__u32 flags;
	__u32 num_model_parts;
	__u32 num_data_parts;
	__aligned_u64 parts;
	__u8 token[NNACCEL_TOKEN_SIZE];
	__u32 preference;
	__u32 priority;
	__aligned_u64 deadline_ns;
	__u32 out_model;
	__u32 out_status;
	__aligned_u64 message;
	__u32 message_size;
	__u32 attributes_size;
	__aligned_u64 attributes;
};

/**
 * struct nnaccel_cache_save - Description of the work NNACCEL_WORK_CACHE_SAVE
 * @size: sizeof(struct nnaccel_cache_save)
 * @flags: must be 0
 * @model: a model of this context
 * @num_model_parts: model parts, at most NNACCEL_MAX_CACHE_PARTS
 * @num_data_parts: data parts, likewise
 * @out_status: out: enum nnaccel_status.
 *	OUTPUT_INSUFFICIENT_SIZE means that a part was larger than its memory, and nothing was
 *	written. INVALID_ARGUMENT means that the engine's saved models have another number of parts
 * @parts: const struct nnaccel_cache_part[num_model_parts + num_data_parts]: memory for each part.
 *	The model parts come first in @parts. If no part has memory, only the sizes of the parts are
 *	requested
 * @sizes: __u64[num_model_parts + num_data_parts]: out: bytes of each part.
 *	The array @sizes is written only if @out_status is NNACCEL_STATUS_NONE or
 *	NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE
 * @token: the token to save under
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @__reserved: must be 0
 *
 * Writes parts from which NNACCEL_WORK_PREPARE_CACHED can prepare the model again.
 * Before the engine writes the parts, the engine durably stores the hash of the model parts for
 * this user and @token. If the call fails, the contents of the memory for the parts are undefined.
 *
 * Errors:
 * ENOENT: no such model or pool.
 * ESTALE: the model's worker is dead.
 * EINVAL: no part, or too many parts.
 * EINVAL: range outside the pool, or a range without a pool.
 * EINVAL: the offset of a data part is not a multiple of the page size.
 * EINVAL: model parts of more than NNACCEL_MAX_WIRE bytes together.
 * EACCES: a pool is not writable.
 * EOPNOTSUPP: a pool is formatted, or only devices can access it.
 * EIO: the exporter of a dma-buf refused to begin or to end an access.
 * Errors of struct nnaccel_query, if the context gets no worker.
 */
struct nnaccel_cache_save {
	__u32 size;
	__u32 flags;
	__u32 model;
	__u32 num_model_parts;
	__u32 num_data_parts;
	__u32 out_status;
	__aligned_u64 parts;
	__aligned_u64 sizes;
	__u8 token[NNACCEL_TOKEN_SIZE];
	__aligned_u64 message;
	__u32 message_size;
	__u32 __reserved;
};

/* Flags of an argument. */
#define NNACCEL_ARG_NO_VALUE	(1 << 0)
/* The argument is one whole buffer; @pool is its index in the execution's array of buffers. */
#define NNACCEL_ARG_BUFFER	(1 << 1)

/**
 * struct nnaccel_arg - One input or output of an execution
 * @flags: NNACCEL_ARG_NO_VALUE: the argument is omitted, and all other fields must be 0.
 *	With NNACCEL_ARG_BUFFER the argument is a buffer, and @offset and @length must be 0
 * @pool: index into the execution's pools; with NNACCEL_ARG_BUFFER: into its
 *	buffers
 * @offset: bytes into the pool
 * @length: bytes; offset + length must be within the pool. For an image both
 *	are 0
 * @rank: dimensions given, at most NNACCEL_MAX_RANK; 0: those of the model
 * @dims: the dimensions; entries from @rank on must be 0
 * @__reserved: must be 0
 */
struct nnaccel_arg {
	__u32 flags;
	__u32 pool;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u32 rank;
	__u32 dims[NNACCEL_MAX_RANK];
	__u32 __reserved;
};

/* Flag of a shape: the argument's memory was large enough for the output. */
#define NNACCEL_SHAPE_SUFFICIENT	(1 << 0)

/**
 * struct nnaccel_shape - Shape of one output after an execution
 * @flags: NNACCEL_SHAPE_SUFFICIENT
 * @rank: dimensions
 * @dims: the dimensions; entries from @rank on are 0
 */
struct nnaccel_shape {
	__u32 flags;
	__u32 rank;
	__u32 dims[NNACCEL_MAX_RANK];
};

/* Flag of NNACCEL_WORK_EXECUTE: measure the execution, and write the out_*_ns fields. */
#define NNACCEL_EXECUTE_MEASURE	(1 << 0)

/* A time that was not measured. */
#define NNACCEL_TIME_NONE	(~0ULL)

/**
 * struct nnaccel_execute - Description of the work NNACCEL_WORK_EXECUTE
 * @size: sizeof(struct nnaccel_execute)
 * @flags: NNACCEL_EXECUTE_MEASURE
 * @model: a model of this context
 * @num_pools: pools of the arguments, at most NNACCEL_MAX_CMD_POOLS
 * @pools: const __u32[num_pools]: pool ids
 * @num_inputs: inputs
 * @num_outputs: outputs; inputs and outputs together at most NNACCEL_MAX_ARGS
 * @args: const struct nnaccel_arg[num_inputs + num_outputs]: inputs first
 * @shapes: struct nnaccel_shape[num_outputs]: out, or 0 if not wanted
 * @deadline_ns: CLOCK_MONOTONIC time by which to be done, 0: none
 * @loop_timeout_ns: longest time in one loop, 0: the engine's default
 * @out_status: out: enum nnaccel_status
 * @out_num_shapes: out: shapes written: num_outputs, or 0 if the engine reported
 *	none
 * @out_device_ns: out: time on the device, or NNACCEL_TIME_NONE
 * @out_driver_ns: out: time from the call to the engine's answer, or
 *	NNACCEL_TIME_NONE
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @num_buffers: buffers that are arguments, at most NNACCEL_MAX_CMD_BUFFERS
 * @buffers: const __u32[num_buffers]: ids of these buffers, each once
 * @attributes: const __u8[attributes_size]: attributes for this execution, as
 *	for NNACCEL_WORK_PREPARE
 * @attributes_size: bytes there, at most NNACCEL_MAX_ATTRIBUTES
 * @__reserved: must be 0
 * @out_fenced_ns: out: time from the end of the last dependency (see NNACCEL_SUBMIT) to the
 *	engine's answer. A time that was not measured, or in which the worker waited for fences, is
 *	NNACCEL_TIME_NONE
 *
 * A wait for an execution ends early if the caller is killed or the worker
 * dies. A wait for an execution also ends when the module's grace period after the deadline has
 * passed. After a wait that ended early, the engine may still read and write the pools of the
 * execution.
 *
 * Before the engine gets the command, the kernel waits for fences in the
 * reservation objects of dma-bufs, at most until the deadline. For an input the kernel waits for
 * fences of writers, and for an output also for fences of readers. The kernel adds no fence to the
 * reservation objects.
 *
 * A buffer that is an input or an output of an execution must have the role of this input or output
 * of the model. In one execution a buffer may be several inputs, or one output. With
 * NNACCEL_STATUS_NONE an output buffer becomes initialised and gets a new size. If an execution
 * that was queued for the engine ends with an error or another status, its output buffers become
 * uninitialised. A buffer is in use until the execution ends, even if the caller no longer waits.
 *
 * Errors:
 * ENOENT: no such model, pool or buffer.
 * ESTALE: the model's worker is dead.
 * EINVAL: a malformed argument, or an argument outside its pool. EINVAL also means too many
 * arguments, pools, buffers or attributes. A buffer that is named twice, used as two outputs, or
 * used as both input and output also gives EINVAL.
 * EPERM: a buffer does not have the role of the argument.
 * ENODATA: an input buffer is not initialised.
 * EBUSY: another command writes one of the buffers, or reads an output buffer.
 * EACCES: an output in a pool that is not writable.
 * EOPNOTSUPP: only devices can access a pool, and the engine does not support such pools.
 * ETIME: the deadline passed.
 * EIO: the exporter of a dma-buf refused to begin or to end an access.
 * Errors of struct nnaccel_query, if the context gets no worker.
 */
struct nnaccel_execute {
	__u32 size;
	__u32 flags;
	__u32 model;
	__u32 num_pools;
	__aligned_u64 pools;
	__u32 num_inputs;
	__u32 num_outputs;
	__aligned_u64 args;
	__aligned_u64 shapes;
	__aligned_u64 deadline_ns;
	__aligned_u64 loop_timeout_ns;
	__u32 out_status;
	__u32 out_num_shapes;
	__aligned_u64 out_device_ns;
	__aligned_u64 out_driver_ns;
	__aligned_u64 message;
	__u32 message_size;
	__u32 num_buffers;
	__aligned_u64 buffers;
	__aligned_u64 attributes;
	__u32 attributes_size;
	__u32 __reserved;
	__aligned_u64 out_fenced_ns;
};

/**
 * enum nnaccel_role_kind - The kind of argument that a buffer can be
 * @NNACCEL_ROLE_INPUT: an input
 * @NNACCEL_ROLE_OUTPUT: an output
 */
enum nnaccel_role_kind {
	NNACCEL_ROLE_INPUT = 0,
	NNACCEL_ROLE_OUTPUT = 1
};

/* Frequency of a role if each execution of the model uses the buffer. */
#define NNACCEL_MAX_FREQUENCY	1000000

/**
 * struct nnaccel_role - A role of a buffer: an input or an output of a model
 * @model: a model of the context
 * @kind: enum nnaccel_role_kind
 * @index: which input or output
 * @frequency: how many of NNACCEL_MAX_FREQUENCY executions use the buffer.
 *	The frequency is a hint for the engine, and 0 means that the frequency is not known
 */
struct nnaccel_role {
	__u32 model;
	__u32 kind;
	__u32 index;
	__u32 frequency;
};

/**
 * struct nnaccel_buffer_alloc - Description of the work NNACCEL_WORK_BUFFER_ALLOC
 * @size: sizeof(struct nnaccel_buffer_alloc)
 * @flags: must be 0
 * @capacity: bytes, at least 1; charged in whole pages
 * @roles: const struct nnaccel_role[num_roles]: all roles of the buffer, each
 *	once
 * @num_roles: 1 to NNACCEL_MAX_ROLES
 * @out_status: out: enum nnaccel_status.
 *	INVALID_ARGUMENT means that no buffer of this capacity can have all the roles in @roles
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @out_buffer: out: the buffer, valid with NNACCEL_STATUS_NONE only, else 0
 *
 * Allocates a buffer of a memory domain: zeroed memory that the engine maps, but
 * the client cannot. The new buffer counts as uninitialised. A buffer outlives
 * the models of its roles, but executions of dead or destroyed models cannot use the buffer. The
 * contents of a buffer can still be copied after the end of the roles' models, unless the engine
 * uses its own layout for the buffer.
 *
 * Errors:
 * ENOENT: no such model.
 * ESTALE: a model's worker is dead.
 * EINVAL: capacity 0, no role, too many roles, or the same role twice. EINVAL also means a role
 * with an unknown kind, an index that no model can have, or a frequency above
 * NNACCEL_MAX_FREQUENCY.
 * EFBIG: capacity above max_pool_bytes.
 * EDQUOT: the limit of bytes of the context or of the user is reached.
 * ENOSPC: too many buffers.
 * Errors of struct nnaccel_query, if the context gets no worker.
 */
struct nnaccel_buffer_alloc {
	__u32 size;
	__u32 flags;
	__aligned_u64 capacity;
	__aligned_u64 roles;
	__u32 num_roles;
	__u32 out_status;
	__aligned_u64 message;
	__u32 message_size;
	__u32 out_buffer;
};

/*
 * Flags of NNACCEL_WORK_BUFFER_COPY: either _IN or _OUT for the direction, and
 * _POOL if the copy is to or from a pool instead of the client's memory.
 */
#define NNACCEL_COPY_IN		(1 << 0)
#define NNACCEL_COPY_OUT	(1 << 1)
#define NNACCEL_COPY_POOL	(1 << 2)

/**
 * struct nnaccel_buffer_copy - Description of the work NNACCEL_WORK_BUFFER_COPY
 * @size: sizeof(struct nnaccel_buffer_copy)
 * @flags: NNACCEL_COPY_IN: into the buffer, or NNACCEL_COPY_OUT: out of the buffer.
 *	NNACCEL_COPY_POOL means that the copy is from or to @pool instead of @data
 * @buffer: a buffer of this context
 * @pool: a pool of this context, with NNACCEL_COPY_POOL; else 0
 * @data: the client's memory; 0 with NNACCEL_COPY_POOL
 * @length: bytes of the copy.
 *	For IN, @length is the buffer's new size, from 1 to the capacity. For OUT, @length is the
 *	buffer's present size
 * @out_status: out: enum nnaccel_status of the conversion, if the engine
 *	converts the layout
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @message: char[message_size]: out: error message, terminated; or 0
 * @offset: with NNACCEL_COPY_POOL: bytes into the pool, any value; else 0
 *
 * A copy into the buffer initialises the buffer. If a copy into a buffer fails after the copy has
 * begun (EFAULT, EINTR, EIO, EPIPE, or a status), the buffer becomes uninitialised.
 *
 * A CPU access to a dma-buf begins and ends as for an execution. Before the access, the kernel
 * waits for other drivers' fences, without a time limit, and notifies the exporter. If @data is in
 * a mapping of a dma-buf, the caller must call DMA_BUF_IOCTL_SYNC before and after the ioctl.
 *
 * Errors:
 * ENOENT: no such buffer, or no such pool.
 * EINVAL: neither or both of IN and OUT, a wrong @length for the buffer, or a range outside the
 *	pool.
 * EACCES: the copy is OUT, and the pool is not writable.
 * EOPNOTSUPP: a formatted pool, or a pool that only devices can access.
 * EIO: the pool's exporter refused access or is gone, or the pool's file was
 * truncated.
 * ENODATA: the copy is OUT, and the buffer is not initialised.
 * EBUSY: another command writes the buffer or, for a copy IN, reads the buffer.
 * EINTR: the caller was killed.
 * ESTALE: the worker that chose the buffer's layout is dead.
 * If the buffer has the engine's own layout, the kernel makes a pool for the conversion. ENOSPC
 * (too many pools), EDQUOT and the errors of struct nnaccel_query are then possible, too.
 */
struct nnaccel_buffer_copy {
	__u32 size;
	__u32 flags;
	__u32 buffer;
	__u32 pool;
	__aligned_u64 data;
	__aligned_u64 length;
	__u32 out_status;
	__u32 message_size;
	__aligned_u64 message;
	__aligned_u64 offset;
};

/* Flag of NNACCEL_CANCEL: cancel executions with any tag. */
#define NNACCEL_CANCEL_ANY	(1 << 0)

/**
 * struct nnaccel_cancel - Argument of ioctl(NNACCEL_CANCEL)
 * @size: sizeof(struct nnaccel_cancel)
 * @flags: NNACCEL_CANCEL_ANY
 * @tag: the tag of the executions
 * @out_cancelled: out: how many were cancelled
 * @__reserved: must be 0
 *
 * Ends executions of io_uring with ECANCELED. If the engine has fetched an execution, the engine
 * may still read and write the pools of this execution.
 *
 * Errors: ENOENT: no execution with that tag is in flight.
 */
struct nnaccel_cancel {
	__u32 size;
	__u32 flags;
	__aligned_u64 tag;
	__u32 out_cancelled;
	__u32 __reserved;
};
#define NNACCEL_CANCEL _IO(NNACCEL_TYPE, NNACCEL_CMD_CANCEL)

/* Maximum and default capacity of a burst's ring, in datums. */
#define NNACCEL_BURST_MAX_CAPACITY	(256 * 1024)
#define NNACCEL_BURST_DEFAULT_CAPACITY	1024

/* Flags of NNACCEL_WORK_BURST. */
#define NNACCEL_BURST_CLOEXEC	(1 << 0)
/* Flag of a burst: the worker does not spin while it waits for requests. */
#define NNACCEL_BURST_NO_SPIN	(1 << 1)

/**
 * struct nnaccel_burst_create - Description of the work NNACCEL_WORK_BURST
 * @size: sizeof(struct nnaccel_burst_create)
 * @flags: NNACCEL_BURST_CLOEXEC, NNACCEL_BURST_NO_SPIN
 * @model: a model of this context, to which the burst holds a reference
 * @capacity: datums of each ring, at most NNACCEL_BURST_MAX_CAPACITY; 0:
 *	NNACCEL_BURST_DEFAULT_CAPACITY
 * @out_fd: out: the burst, valid with NNACCEL_STATUS_NONE only, else -1
 * @out_status: out: enum nnaccel_status
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @__reserved: must be 0
 *
 * The burst ends with the last close of its file, with its context, or with the
 * worker. The burst belongs to the address space of its context.
 *
 * Errors:
 * ENOENT: no such model.
 * ESTALE: the model's worker is dead.
 * EINVAL: capacity out of range.
 * EDQUOT: the limit of bytes of the context or of the user is reached.
 * ENOSPC: too many bursts.
 * EMFILE.
 * Errors of struct nnaccel_query, if the context gets no worker.
 */
struct nnaccel_burst_create {
	__u32 size;
	__u32 flags;
	__u32 model;
	__u32 capacity;
	__s32 out_fd;
	__u32 out_status;
	__aligned_u64 message;
	__u32 message_size;
	__u32 __reserved;
};

/* ------------------------------------------------------------------------
 * Submissions: work for the engine, and the engine's answer
 *
 * A submission is an object of its context. All objects of a context have ids from one table. A
 * submission exists until NNACCEL_WAIT has fetched its answer, or until NNACCEL_DESTROY or the last
 * close of the context. After the last close of the submission's file, the submission exists only
 * until its execution ends.
 *
 * While a submission exists, it counts as one of the context's max_commands.
 * A submission's answer is charged to the user, like all memory that the kernel allocates for a
 * context.
 *
 * poll() of the context's own file reports EPOLLIN while an answer can be fetched.
 * A poll() of the context's file ignores answers of submissions with their own file, and answers
 * for which a call with NNACCEL_SUBMIT_WAIT still waits.
 */

/**
 * enum nnaccel_work - Kind of a submission, and the structure that describes it
 * @NNACCEL_WORK_QUERY: struct nnaccel_query
 * @NNACCEL_WORK_SUPPORTED: struct nnaccel_supported
 * @NNACCEL_WORK_PREPARE: struct nnaccel_prepare
 * @NNACCEL_WORK_PREPARE_CACHED: struct nnaccel_prepare_cached
 * @NNACCEL_WORK_CACHE_SAVE: struct nnaccel_cache_save
 * @NNACCEL_WORK_EXECUTE: struct nnaccel_execute
 * @NNACCEL_WORK_BUFFER_ALLOC: struct nnaccel_buffer_alloc
 * @NNACCEL_WORK_BUFFER_COPY: struct nnaccel_buffer_copy
 * @NNACCEL_WORK_BURST: struct nnaccel_burst_create
 *
 * The comment of each structure lists the errors of its kind of work.
 */
enum nnaccel_work {
	NNACCEL_WORK_QUERY = 1,
	NNACCEL_WORK_SUPPORTED = 2,
	NNACCEL_WORK_PREPARE = 3,
	NNACCEL_WORK_PREPARE_CACHED = 4,
	NNACCEL_WORK_CACHE_SAVE = 5,
	NNACCEL_WORK_EXECUTE = 6,
	NNACCEL_WORK_BUFFER_ALLOC = 7,
	NNACCEL_WORK_BUFFER_COPY = 8,
	NNACCEL_WORK_BURST = 9
};

/**
 * enum nnaccel_state - State of a submission
 * @NNACCEL_STATE_PENDING: the answer can be fetched later, by the submission's
 *	id or file
 * @NNACCEL_STATE_DONE: the answer is written, and the submission no longer
 *	exists
 */
enum nnaccel_state {
	NNACCEL_STATE_PENDING = 0,
	NNACCEL_STATE_DONE = 1
};

/* Maximum number of dependencies of a submission. */
#define NNACCEL_MAX_DEPENDENCIES	1024

/* Flag of NNACCEL_SUBMIT: wait for the answer in the same call. */
#define NNACCEL_SUBMIT_WAIT	(1 << 0)
/*
 * Flag of NNACCEL_SUBMIT: make a file that reports the end of the execution; invalid with
 * NNACCEL_SUBMIT_WAIT.
 */
#define NNACCEL_SUBMIT_FILE	(1 << 1)
/* With NNACCEL_SUBMIT_FILE: execve() closes the new file. */
#define NNACCEL_SUBMIT_CLOEXEC	(1 << 2)

/**
 * struct nnaccel_submit - Argument of ioctl(NNACCEL_SUBMIT)
 * @size: sizeof(struct nnaccel_submit)
 * @flags: NNACCEL_SUBMIT_WAIT, NNACCEL_SUBMIT_FILE, NNACCEL_SUBMIT_CLOEXEC
 * @kind: enum nnaccel_work
 * @out_state: out: enum nnaccel_state
 * @work: user address of the structure that @kind names, which begins with its size
 * @dependencies: const __s32[num_dependencies]: fds of files.
 *	Each dependency is a sync_file of any driver, or a submission's file of any context
 * @num_dependencies: at most NNACCEL_MAX_DEPENDENCIES; 0 for all kinds except EXECUTE
 * @out_id: out: id of the submission if @out_state is NNACCEL_STATE_PENDING,
 *	else 0
 * @out_fd: out: the submission's file if NNACCEL_SUBMIT_FILE is set, else -1
 * @__reserved: must be 0
 * @duration_ns: longest time from the end of the last dependency to the execution's end.
 *	A duration of 0 means no limit; all kinds of work except EXECUTE allow only 0. A deadline
 *	in the structure at @work applies, too
 *
 * Copies the description of the work and submits the work. Without NNACCEL_SUBMIT_WAIT, the call
 * does not wait for the engine, for dependencies, or for fences of memory.
 *
 * For BUFFER_COPY of a buffer with NNACCEL_LAYOUT_LINEAR, NNACCEL_SUBMIT itself waits for the
 * fences of the buffer, copies, and returns NNACCEL_STATE_DONE with or without NNACCEL_SUBMIT_WAIT.
 * Before BUFFER_COPY reads or writes a pool, NNACCEL_SUBMIT or NNACCEL_WAIT waits for the fences of
 * the pool.
 *
 * With NNACCEL_SUBMIT_WAIT the call continues as NNACCEL_WAIT with the same @work.
 * With NNACCEL_SUBMIT_WAIT the call returns an error, or 0 with NNACCEL_STATE_DONE and the answer
 * in @work. After an error or an answer with NNACCEL_SUBMIT_WAIT, the submission no longer exists.
 * If a signal ends the wait, the call returns 0 with NNACCEL_STATE_PENDING and the id. NNACCEL_WAIT
 * can then fetch the answer, so the work is never submitted twice.
 *
 * Without NNACCEL_SUBMIT_WAIT the call returns 0 with NNACCEL_STATE_PENDING and
 * does not write to @work. As soon as a call without NNACCEL_SUBMIT_WAIT has returned, the caller
 * may reuse the structure at @work and the memory to which this structure points.
 *
 * Dependencies: the execution begins when all its dependencies have succeeded. If a
 * dependency ends with an error or with another status than NNACCEL_STATUS_NONE,
 * the execution does not run and ends with EREMOTEIO. NNACCEL_SUBMIT looks up the fds of
 * dependencies, so the caller may close these fds after the call. Each dependency exists before the
 * submission, so executions cannot depend on each other in a cycle. Only the max_commands of the
 * contexts limit the length of a chain of dependent executions.
 *
 * A deadline in @work applies from NNACCEL_SUBMIT on, even if no call waits.
 *
 * poll() of the submission's file reports EPOLLIN once the execution has ended, and EPOLLPRI once
 * NNACCEL_SYNC_FILE can return a fence. Any process that has the file, such as a forked child, may
 * poll the submission's file and name the file as a dependency. After the last close of a
 * submission's file, the answer and the id are dropped when the execution ends. Closing a
 * submission's file does not cancel the execution, and a call that already waits gets the answer.
 * The fd of a submission's file is reserved before the execution is submitted, and installed when
 * the call cannot fail any more.
 *
 * A model of PREPARE or PREPARE_CACHED, a buffer or a burst exists from the moment when the
 * submission's answer is fetched. If the answer is never fetched, the model, the buffer or the
 * burst never exists.
 *
 * If NNACCEL_SUBMIT fails, the submission does not exist. Errors:
 * EINVAL: an unknown kind or flag.
 * EINVAL: flags, dependencies or a duration that this kind of work does not
 * allow.
 * EINVAL: too many dependencies, or a dependency that is neither a sync_file nor a
 * submission's file.
 * EXFULL: the context already has max_commands submissions and other commands.
 * EMFILE: no fd is left for the submission's file or, with NNACCEL_SUBMIT_WAIT, for
 * the burst.
 * ENOSPC: all ids are taken.
 * EINTR: the caller was killed.
 * The comment of the structure at @work lists further errors. With
 * NNACCEL_SUBMIT_WAIT, the errors of NNACCEL_WAIT are possible, too.
 */
struct nnaccel_submit {
	__u32 size;
	__u32 flags;
	__u32 kind;
	__u32 out_state;
	__aligned_u64 work;
	__aligned_u64 dependencies;
	__u32 num_dependencies;
	__u32 out_id;
	__s32 out_fd;
	__u32 __reserved;
	__aligned_u64 duration_ns;
};
#define NNACCEL_SUBMIT _IO(NNACCEL_TYPE, NNACCEL_CMD_SUBMIT)

/**
 * struct nnaccel_uring_submit - IORING_OP_URING_CMD with NNACCEL_SUBMIT
 * @submit: const struct nnaccel_submit *: its kind is EXECUTE, and its only flag is
 *	NNACCEL_SUBMIT_WAIT
 * @tag: the tag for NNACCEL_CANCEL, which need not be unique
 *
 * struct nnaccel_uring_submit is the cmd field of a submission queue entry. The entry's opcode is
 * IORING_OP_URING_CMD, its cmd_op is NNACCEL_SUBMIT and its fd is a context. A submission queue
 * entry may have 64 or 128 bytes, submits one execution, and completes when the execution ends.
 * NNACCEL_WAIT cannot be used for executions by io_uring. The structure @submit and the memory to
 * which it points must stay valid until the entry completes. The out fields of @submit are not
 * written. The res of the completion queue entry has one of these values:
 *
 * - 0: out_status is NNACCEL_STATUS_NONE, and the results are written.
 * - -ETIME: the engine answered with a MISSED_DEADLINE status; -EIO: the engine answered with
 *   another failure. Status and results are written with -ETIME and -EIO, too.
 * - -errno: there is no answer, and out_status is not written. The errno is an error of
 *   NNACCEL_SUBMIT, or an @out_error of NNACCEL_WAIT. ECANCELED: NNACCEL_CANCEL, or the end of the
 *   io_uring or of the task, cancelled the execution. ENOTTY: no such cmd_op. EOPNOTSUPP: the kind
 *   of work is not EXECUTE, or the ring has IORING_SETUP_IOPOLL.
 *
 * Because a failed execution is an error in res, io_uring cancels entries that are linked to the
 * execution, and reports the failure even with IOSQE_CQE_SKIP_SUCCESS. Set out_status to 0 before
 * submitting.
 */
struct nnaccel_uring_submit {
	__aligned_u64 submit;
	__aligned_u64 tag;
};

/* Flag of NNACCEL_WAIT: return NNACCEL_STATE_PENDING at once if there is no answer yet. */
#define NNACCEL_WAIT_NONBLOCK	(1 << 0)

/**
 * struct nnaccel_wait - Argument of ioctl(NNACCEL_WAIT)
 * @size: sizeof(struct nnaccel_wait)
 * @flags: NNACCEL_WAIT_NONBLOCK
 * @id: the submission; 0: @fd names it
 * @fd: the submission's file if @id is 0; else 0
 * @work: user address of a structure of the submission's kind, for the answer
 * @out_state: out: enum nnaccel_state; PENDING with NNACCEL_WAIT_NONBLOCK only
 * @out_error: out: with NNACCEL_STATE_DONE: 0, or the errno with which the work ended, from the
 *	list below. If @out_error is not 0, the structure @work is not written
 * @out_progress: out: latest progress of a pending preparation, up to NNACCEL_PROGRESS_ALL, or 0
 * @__reserved: must be 0
 *
 * Fetches the answer and ends the submission, so a second call with the submission's id fails with
 * ENOENT. After the answer was fetched, the submission's file still polls readable and may be named
 * as a dependency.
 *
 * NNACCEL_WAIT reads the fields size, data, data_size, supported, shapes, sizes, message and
 * message_size of the structure at @work. These fields name the memory for the answer, which must
 * have room for all submitted operations, outputs or parts. BUFFER_COPY out of a buffer into user
 * memory writes to @data of this structure. NNACCEL_WAIT ignores all other fields of @work, and
 * writes the out fields.
 *
 * A signal interrupts NNACCEL_WAIT without side effects. The kernel restarts the call after a stop,
 * and after a handler that was installed with SA_RESTART. After a signal handler without SA_RESTART
 * the call returns EINTR, and may be repeated.
 *
 * One call at a time may wait for a submission. Calls with NNACCEL_WAIT_NONBLOCK may come
 * from many threads: while the answer is missing, these calls return NNACCEL_STATE_PENDING, or
 * EALREADY if another call waits. NNACCEL_DESTROY and the end of the process cancel a submission:
 * the waiting call gets ECANCELED as @out_error. If the deadline passes, the waiting call gets
 * ETIME as @out_error. Work that the engine has fetched continues after the submission's end, and
 * may read and write its pools until the work ends.
 *
 * If NNACCEL_WAIT fails with one of the following errors, the submission is unchanged:
 * ENOENT: no such submission, or the file is of another context's submission.
 * EBADF: no such fd.
 * EINVAL: an unknown flag, or @id and @fd both given.
 * EINVAL: @fd is not a file of a submission.
 * EINVAL: @work is shorter than its first published version, or @message_size is
 * above NNACCEL_MAX_MESSAGE.
 * E2BIG: the unknown tail of @work is not 0.
 * EALREADY: another call waits for the submission, or fetches its answer.
 * EMFILE: no fd is left for the burst; ENOSPC: all ids are taken.
 * EFAULT: the answer could not be written in full.
 * ENOBUFS: the answer of QUERY does not fit into @data_size.
 * EIO: the exporter of the pool to which BUFFER_COPY writes has refused access.
 * EINTR: a signal interrupted the wait for the answer.
 * ENOMEM.
 *
 * @out_error has one of the following values:
 * ENOTCONN, ETIMEDOUT, EUSERS, EAGAIN, EPIPE: see struct nnaccel_query.
 * ENOTRECOVERABLE: the device is lost. The worker died, and a device that the worker used may still
 * write to the memory of the work. See struct nnaccel_session_grant_fd.
 * ETIME: the deadline or @duration_ns passed.
 * ECANCELED: the submission was cancelled.
 * EREMOTEIO: a dependency ended with an error.
 * EIO: the exporter of a dma-buf refused access.
 * EBUSY, ENODATA, EINVAL: a buffer had the wrong state when the module was about to queue the work.
 * ESTALE: the worker that chose a buffer's layout is dead.
 * EDQUOT: the answer exceeds the user's limit.
 * ENOMEM: out of memory.
 *
 * NNACCEL_SUBMIT with NNACCEL_SUBMIT_WAIT returns the values of @out_error as its own errors.
 */
struct nnaccel_wait {
	__u32 size;
	__u32 flags;
	__u32 id;
	__s32 fd;
	__aligned_u64 work;
	__u32 out_state;
	__u32 out_error;
	__u32 out_progress;
	__u32 __reserved;
};
#define NNACCEL_WAIT _IO(NNACCEL_TYPE, NNACCEL_CMD_WAIT)

/* Flags of NNACCEL_SYNC_FILE. */
#define NNACCEL_SYNC_FILE_CLOEXEC	(1 << 0)

/**
 * struct nnaccel_sync_file - Argument of ioctl(NNACCEL_SYNC_FILE)
 * @size: sizeof(struct nnaccel_sync_file)
 * @flags: NNACCEL_SYNC_FILE_CLOEXEC
 * @fd: the file of a submission of this context
 * @out_fd: out: a sync_file
 *
 * Returns the fence that the engine committed for an execution (NNACCEL_COMMIT_FENCE). The module
 * itself makes no fence for executions. An execution that a process computes has only the
 * submission's file, for which other drivers cannot wait. All pools of the execution must be
 * accessible only to devices (NNACCEL_IMPORT_DEVICE), because CPUs must have no work left when the
 * fence signals. NNACCEL_SYNC_FILE can be called again while the submission's file is open.
 *
 * Errors:
 * EBADF: no such fd.
 * EINVAL: an unknown flag, or the fd is not a file of a submission.
 * ENOENT: the file is of another context's submission.
 * EOPNOTSUPP: the execution names memory that CPUs can access.
 * EBUSY: the module still waits for a dependency of the execution.
 * EAGAIN: the engine has not committed the execution yet. After the commit, poll() of the
 * submission's file reports EPOLLPRI.
 * ENODATA: the execution has ended, and the engine committed no fence.
 * EMFILE: no fd is left for the sync_file.
 */
struct nnaccel_sync_file {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__s32 out_fd;
};
#define NNACCEL_SYNC_FILE _IO(NNACCEL_TYPE, NNACCEL_CMD_SYNC_FILE)

/* ------------------------------------------------------------------------
 * Burst
 *
 * poll() of a burst reports EPOLLHUP once the burst is dead, because its worker or context is gone.
 * The status page reports the death before poll() does.
 *
 * mmap() of a burst maps one whole region with MAP_SHARED. The offset for mmap() is
 * NNACCEL_BURST_STATUS, _REQUESTS, _RESULTS or _DOORBELL, and the length is the region's, rounded
 * up to pages. The worker maps the same regions through its session, at the offset
 * NNACCEL_BURST_MAP | (off_t)burst << NNACCEL_BURST_SHIFT | constant. Errors:
 * EACCES: the caller does not have the context's address space, or the table of regions does not
 * allow the protection.
 * EINVAL: no such region, a length other than the region's, or no MAP_SHARED.
 *
 *	region		length			client	worker
 *	STATUS		one page		r	r	written by the kernel
 *	REQUESTS	ring_bytes		rw	r
 *	RESULTS		ring_bytes		r	rw
 *	DOORBELL	one page		rw	r	one a context
 *
 * All words of a ring are in the byte order of the machine. A ring begins with a struct
 * nnaccel_ring_control; the ring's lines begin at NNACCEL_RING_LINES. Documentation/burst.rst
 * describes how client and worker use the rings.
 */
#define NNACCEL_BURST_STATUS	0x00000000ULL
#define NNACCEL_BURST_REQUESTS	0x10000000ULL
#define NNACCEL_BURST_RESULTS	0x20000000ULL
#define NNACCEL_BURST_DOORBELL	0x30000000ULL

/* Parts of the mmap() offset by which a session maps a burst's regions. */
#define NNACCEL_BURST_SHIFT	30
#define NNACCEL_BURST_MAP	(1ULL << 62)

/**
 * enum nnaccel_burst_state - State of a burst
 * @NNACCEL_BURST_ALIVE: the burst may be used
 * @NNACCEL_BURST_DEAD: the burst has ended; this state is final
 */
enum nnaccel_burst_state {
	NNACCEL_BURST_ALIVE = 1,
	NNACCEL_BURST_DEAD = 2
};

/**
 * struct nnaccel_burst_status - The start of the status page
 * @state: enum nnaccel_burst_state; all other fields except @devices are constant
 * @lines: lines of each ring
 * @capacity: datums of each ring, which is also the maximum size of a packet
 * @ring_bytes: length of the regions REQUESTS and RESULTS
 * @devices: 1 once a device was attached to a pool of the context that this module allocated.
 *	While @devices is 1, the worker calls NNACCEL_SESSION_SYNC before and after a request for
 *	each dma-buf that the request uses, even without NNACCEL_PROT_SYNC
 */
struct nnaccel_burst_status {
	__u32 state;
	__u32 lines;
	__u32 capacity;
	__u32 ring_bytes;
	__u32 devices;
};

/*
 * Bits of @waiting of struct nnaccel_ring_control: futexes on which the writer of the ring sleeps.
 */
/*
 * The ring's writer waits for a packet. The writer sleeps on the sequence word of the
 * line that the writer reads next in the other ring.
 */
#define NNACCEL_WAIT_PACKET	(1 << 0)
/* The ring's writer waits for free lines and sleeps on the word @consumed of the other ring. */
#define NNACCEL_WAIT_SPACE	(1 << 1)
/* The worker sleeps on the doorbell: to wake it, add 1 to the doorbell, then wake its futex. */
#define NNACCEL_WAIT_DOORBELL	(1 << 2)

/**
 * struct nnaccel_ring_control - Words that the writer of a ring updates
 * @waiting: NNACCEL_WAIT_*: the futexes on which the writer sleeps; 0: it is
 *	awake
 * @__pad0: 0
 * @consumed: number of lines that the writer has read in the other ring
 * @__pad1: 0
 * @packets: packets sent
 * @spins: waits that ended without a sleep
 * @sleeps: waits that slept
 * @wakes: number of times that the writer woke the peer
 * @misses: slots that the worker had to look up in the kernel
 * @fallbacks: executions by NNACCEL_SUBMIT instead of the burst
 * @device_ns: sum of the times on the device, as far as the worker knows them
 * @__reserved: 0
 *
 * The counters of a ring, from @packets on, are only statistics: client and worker do not depend on
 * them.
 */
struct nnaccel_ring_control {
	__u32 waiting;
	__u32 __pad0[15];
	__u32 consumed;
	__u32 __pad1[15];
	__aligned_u64 packets;
	__aligned_u64 spins;
	__aligned_u64 sleeps;
	__aligned_u64 wakes;
	__aligned_u64 misses;
	__aligned_u64 fallbacks;
	__aligned_u64 device_ns;
	__aligned_u64 __reserved[9];
};

/* Offset in bytes of the first line of a ring. */
#define NNACCEL_RING_LINES	256

/* Number of datums in a line. */
#define NNACCEL_LINE_DATUMS	3

/**
 * enum nnaccel_datum_kind - Contents of a datum
 * @NNACCEL_DATUM_REQUEST: begins a request
 * @NNACCEL_DATUM_INPUT: an input
 * @NNACCEL_DATUM_INPUT_DIMENSION: one dimension of the input
 * @NNACCEL_DATUM_OUTPUT: an output
 * @NNACCEL_DATUM_OUTPUT_DIMENSION: one dimension of the output
 * @NNACCEL_DATUM_SLOT: the slot of a pool
 * @NNACCEL_DATUM_MEASURE: whether times are wanted
 * @NNACCEL_DATUM_RESULT: begins a result
 * @NNACCEL_DATUM_SHAPE: shape of an output
 * @NNACCEL_DATUM_SHAPE_DIMENSION: one dimension of the shape
 * @NNACCEL_DATUM_TIMING: times
 * @NNACCEL_DATUM_MESSAGE: a part of an error message
 *
 * A request consists of REQUEST, the inputs, the outputs, a SLOT for each pool,
 * and MEASURE. Each input is an INPUT, then an INPUT_DIMENSION for each
 * dimension. Each output is an OUTPUT, then an OUTPUT_DIMENSION for each
 * dimension. A result consists of RESULT, the shapes of outputs, TIMING, and
 * the parts of an error message for the client's log, each in a MESSAGE. Each
 * shape is a SHAPE, then a SHAPE_DIMENSION for each dimension.
 */
enum nnaccel_datum_kind {
	NNACCEL_DATUM_REQUEST = 1,
	NNACCEL_DATUM_INPUT = 2,
	NNACCEL_DATUM_INPUT_DIMENSION = 3,
	NNACCEL_DATUM_OUTPUT = 4,
	NNACCEL_DATUM_OUTPUT_DIMENSION = 5,
	NNACCEL_DATUM_SLOT = 6,
	NNACCEL_DATUM_MEASURE = 7,
	NNACCEL_DATUM_RESULT = 8,
	NNACCEL_DATUM_SHAPE = 9,
	NNACCEL_DATUM_SHAPE_DIMENSION = 10,
	NNACCEL_DATUM_TIMING = 11,
	NNACCEL_DATUM_MESSAGE = 12
};

/**
 * struct nnaccel_datum_request - Payload of REQUEST
 * @size: datums of the packet, this one included
 * @num_inputs: inputs
 * @num_outputs: outputs
 * @num_pools: pools
 */
struct nnaccel_datum_request {
	__u32 size;
	__u32 num_inputs;
	__u32 num_outputs;
	__u32 num_pools;
};

/**
 * struct nnaccel_datum_result - Payload of RESULT
 * @size: datums of the packet, this one included
 * @status: enum nnaccel_status
 * @num_outputs: shapes that follow
 * @__reserved: 0
 */
struct nnaccel_datum_result {
	__u32 size;
	__u32 status;
	__u32 num_outputs;
	__u32 __reserved;
};

/**
 * struct nnaccel_datum_operand - Payload of INPUT and OUTPUT
 * @pool: index into the SLOT datums of the packet
 * @offset: bytes into the pool
 * @length: bytes
 * @__reserved: 0
 *
 * If the datum's flags have NNACCEL_ARG_NO_VALUE, all fields of this payload
 * are 0.
 */
struct nnaccel_datum_operand {
	__u32 pool;
	__u32 offset;
	__u32 length;
	__u32 __reserved;
};

/**
 * struct nnaccel_datum_timing - Payload of TIMING; NNACCEL_TIME_NONE: not measured
 * @device_ns_low: time on the device, its lower half
 * @device_ns_high: upper half of the time on the device
 * @driver_ns_low: time in the engine, its lower half
 * @driver_ns_high: upper half of the time in the engine
 */
struct nnaccel_datum_timing {
	__u32 device_ns_low;
	__u32 device_ns_high;
	__u32 driver_ns_low;
	__u32 driver_ns_high;
};

/**
 * struct nnaccel_datum - Unit of a packet, which is a request or a result
 * @kind: enum nnaccel_datum_kind
 * @flags: INPUT, OUTPUT: NNACCEL_ARG_NO_VALUE; SHAPE: NNACCEL_SHAPE_SUFFICIENT
 * @rank: INPUT, OUTPUT, SHAPE: dimensions that follow, at most
 *	NNACCEL_MAX_RANK
 * @u: the payload, by @kind; bytes that the kind does not use are 0
 * @u.value: INPUT_DIMENSION, OUTPUT_DIMENSION, SHAPE_DIMENSION: the dimension. SLOT: the slot.
 *	In MEASURE, 1 means that the worker shall fill in the times
 * @u.text: MESSAGE: the next 16 bytes of text; unused bytes are 0.
 *	All texts of a packet together have at most NNACCEL_MAX_MESSAGE bytes
 */
struct nnaccel_datum {
	__u8 kind;
	__u8 flags;
	__u16 rank;
	union {
		struct nnaccel_datum_request request;
		struct nnaccel_datum_result result;
		struct nnaccel_datum_operand operand;
		struct nnaccel_datum_timing timing;
		__u32 value;
		__u32 words[4];
		char text[16];
	} u;
};

/**
 * struct nnaccel_line - A cache line of a ring
 * @sequence: number of times that this line has been written, at first 1
 * @datums: each packet begins in a new line; unused datums of a packet's last
 *	line are 0
 */
struct nnaccel_line {
	__u32 sequence;
	struct nnaccel_datum datums[NNACCEL_LINE_DATUMS];
};

/* Maximum number of slots of a burst. The lower bits of a slot's number are the slot's index. */
#define NNACCEL_BURST_MAX_SLOTS	4096
#define NNACCEL_SLOT_INDEX(slot)	((slot) & (NNACCEL_BURST_MAX_SLOTS - 1))

/**
 * struct nnaccel_burst_slot - Argument of ioctl(NNACCEL_BURST_SLOT)
 * @size: sizeof(struct nnaccel_burst_slot)
 * @flags: must be 0
 * @pool: a pool of the burst's context, to which the call gives a slot; 0: the
 *	call frees @slot
 * @prot: NNACCEL_PROT_READ, or NNACCEL_PROT_READ | NNACCEL_PROT_WRITE; 0 if @pool is 0
 * @slot: out: the new slot. NNACCEL_SLOT_INDEX() of the new slot is the lowest free index.
 *	The upper bits of a slot change each time its index is reused. If @pool is 0, @slot is the
 *	slot to free
 * @__reserved: must be 0
 *
 * A slot holds a reference to its pool until the slot is freed or the burst is closed. After a slot
 * is freed, a request in flight that names the slot may still use the pool's memory.
 *
 * Errors:
 * ENOENT: no such pool, or no such slot.
 * EINVAL: unknown or missing protection.
 * EACCES: the pool does not allow this protection.
 * EOPNOTSUPP: only devices can access the pool, and the engine does not support such
 * pools.
 * ENOSPC: too many slots.
 * EPIPE: the burst is dead. Slots of a dead burst can only be freed.
 */
struct nnaccel_burst_slot {
	__u32 size;
	__u32 flags;
	__u32 pool;
	__u32 prot;
	__u32 slot;
	__u32 __reserved;
};
#define NNACCEL_BURST_SLOT _IO(NNACCEL_TYPE, NNACCEL_CMD_BURST_SLOT)

/* ------------------------------------------------------------------------
 * /dev/nnaccel-engine
 *
 * The first call on a file of the engine node must be NNACCEL_ENGINE_REGISTER. Before the
 * registration all other calls on the file fail with ENOTCONN, and poll() reports EPOLLERR. After
 * the registration the file reports only contexts of the registered engine, and poll() reports
 * EPOLLIN while NNACCEL_ENGINE_NEXT has an event. When a broker closes the engine node, its
 * sessions continue. Contexts that were offered to the broker and have no session yet wait for the
 * next broker that registers the same name. The end of one broker does not affect other engines.
 */

/**
 * enum nnaccel_device_type - Hardware of an engine
 *
 * The values of enum nnaccel_device_type are the same as in NNAPI's DeviceTypeCode.
 */
enum nnaccel_device_type {
	/** @NNACCEL_DEVICE_UNKNOWN: Not specified. */
	NNACCEL_DEVICE_UNKNOWN = 0,
	/** @NNACCEL_DEVICE_OTHER: Other hardware. */
	NNACCEL_DEVICE_OTHER = 1,
	/** @NNACCEL_DEVICE_CPU: A CPU. */
	NNACCEL_DEVICE_CPU = 2,
	/** @NNACCEL_DEVICE_GPU: A GPU. */
	NNACCEL_DEVICE_GPU = 3,
	/** @NNACCEL_DEVICE_ACCELERATOR: A neural network accelerator. */
	NNACCEL_DEVICE_ACCELERATOR = 4
};

/* Flag of NNACCEL_ENGINE_REGISTER: clients may use pools that only devices can access. */
#define NNACCEL_ENGINE_DEVICE_POOLS	(1 << 0)

/**
 * struct nnaccel_engine_register - Argument of ioctl(NNACCEL_ENGINE_REGISTER)
 * @size: sizeof(struct nnaccel_engine_register)
 * @flags: NNACCEL_ENGINE_DEVICE_POOLS
 * @type: enum nnaccel_device_type
 * @out_device: out: number of the device: 0: /dev/nnaccel, else /dev/nnaccelN
 * @name: engine's name, padded with 0: lower-case letters, digits, and hyphens not at the start
 * @version: printable ASCII; padded with 0
 * @bus: bus of the hardware, "pci" or "platform", padded with 0; empty: none
 * @hardware: name of the hardware on @bus, padded with 0; must be empty if @bus is
 *	empty
 *
 * Registers an engine, which becomes a device. If the name was registered before (since the module
 * was loaded), the engine gets the device of this name with all its open contexts. A new name gets
 * a device with the next number. /dev/nnaccel exists once the module is loaded, so that clients can
 * open it before an engine is registered. The first engine to be registered gets /dev/nnaccel. When
 * the broker closes the engine node, the device stays, and its state in sysfs is "absent".
 *
 * /sys/class/nnaccel has a directory for each device, with files for the engine's
 * name, version, type and state. Each time an engine is registered, and each time a
 * registration ends, the module sends a change uevent for the device.
 *
 * If @hardware is given, the device's directory has a link "device" to the directory of the
 * hardware, and the hardware's directory has a link to the device's directory. The link in the
 * hardware's directory has the device's name. When the hardware loses its driver or is removed, the
 * registration ends: the state is "absent", other calls on the file give ENODEV, and poll() reports
 * EPOLLHUP | EPOLLERR. When the registration ends, the module also ends the engine's sessions, as
 * described for NNACCEL_ATTACH_SHARED, but does not kill their workers. The removal of the driver
 * does not wait for the broker or for workers.
 *
 * Errors:
 * EINVAL: an unknown type or bus, a malformed name or version, or only one of the fields @bus
 * and @hardware.
 * ENODEV: no such hardware, or the hardware has no driver.
 * EEXIST: an engine was already registered on this open file.
 * EBUSY: an engine of this name is registered.
 * ENOSPC: the number of devices has reached the module's parameter max_devices.
 */
struct nnaccel_engine_register {
	__u32 size;
	__u32 flags;
	__u32 type;
	__u32 out_device;
	char name[NNACCEL_MAX_NAME];
	char version[NNACCEL_MAX_VERSION];
	char bus[NNACCEL_MAX_BUS];
	char hardware[NNACCEL_MAX_HARDWARE];
};
#define NNACCEL_ENGINE_REGISTER _IO(NNACCEL_TYPE, NNACCEL_CMD_ENGINE_REGISTER)

/**
 * enum nnaccel_engine_event - Events of NNACCEL_ENGINE_NEXT
 */
enum nnaccel_engine_event {
	/** @NNACCEL_ENGINE_NEW: A context needs a session: answer with SESSION or REFUSE. */
	NNACCEL_ENGINE_NEW = 1,
	/**
	 * @NNACCEL_ENGINE_GONE: An offered context is closed: its worker gets
	 *	no more work.
	 */
	NNACCEL_ENGINE_GONE = 2,
	/**
	 * @NNACCEL_ENGINE_PRIORITY: The highest priority of the context's models
	 *	has changed.
	 */
	NNACCEL_ENGINE_PRIORITY = 3
};

/* Flag of NNACCEL_ENGINE_NEXT: return EAGAIN instead of waiting. */
#define NNACCEL_ENGINE_NONBLOCK	(1 << 0)

/**
 * struct nnaccel_engine_next - Argument of ioctl(NNACCEL_ENGINE_NEXT)
 * @size: sizeof(struct nnaccel_engine_next)
 * @flags: NNACCEL_ENGINE_NONBLOCK
 * @out_event: out: enum nnaccel_engine_event
 * @out_uid: out: the user to whom the context is charged, in the broker's namespace.
 *	The charged user is the effective user id of the opener. For an opener outside the initial
 *	user namespace, @out_uid is the owner of the opener's outermost namespace below the initial
 *	one
 * @out_gid: out: effective group id of the opener, in the broker's namespace
 * @out_pid: out: process id of the opener in the broker's namespace; 0: it has
 *	none there
 * @out_context: out: the context's number, never reused
 * @out_priority: out: highest enum nnaccel_priority of the worker's models; MEDIUM without models
 * @__reserved: 0
 *
 * NNACCEL_ENGINE_NEXT reports PRIORITY events only for contexts that were offered to this broker
 * and that have a session. If a priority changes several times between two calls of
 * NNACCEL_ENGINE_NEXT, the second call reports one event.
 *
 * Errors:
 * EAGAIN: there is no event.
 * EINTR.
 */
struct nnaccel_engine_next {
	__u32 size;
	__u32 flags;
	__u32 out_event;
	__u32 out_uid;
	__u32 out_gid;
	__u32 out_pid;
	__aligned_u64 out_context;
	__u32 out_priority;
	__u32 __reserved;
};
#define NNACCEL_ENGINE_NEXT _IO(NNACCEL_TYPE, NNACCEL_CMD_ENGINE_NEXT)

/* Flags of NNACCEL_ENGINE_SESSION. */
#define NNACCEL_SESSION_CLOEXEC	(1 << 0)

/**
 * struct nnaccel_engine_session - Argument of ioctl(NNACCEL_ENGINE_SESSION)
 * @size: sizeof(struct nnaccel_engine_session)
 * @flags: NNACCEL_SESSION_CLOEXEC
 * @context: the number from NNACCEL_ENGINE_NEXT
 * @out_fd: out: the session
 * @__reserved: must be 0
 *
 * The session ends with the last close of its file, so the broker must close its own fd once the
 * worker has an fd of the session.
 *
 * Errors:
 * ENOENT: no such context is offered, or the context is closed.
 * EBUSY: the context already has a session.
 * EMFILE.
 */
struct nnaccel_engine_session {
	__u32 size;
	__u32 flags;
	__aligned_u64 context;
	__s32 out_fd;
	__u32 __reserved;
};
#define NNACCEL_ENGINE_SESSION _IO(NNACCEL_TYPE, NNACCEL_CMD_ENGINE_SESSION)

/**
 * struct nnaccel_engine_refuse - Argument of ioctl(NNACCEL_ENGINE_REFUSE)
 * @size: sizeof(struct nnaccel_engine_refuse)
 * @error: EUSERS or EAGAIN, which the waiting calls of the context's client
 *	return
 * @context: the number from NNACCEL_ENGINE_NEXT
 *
 * The context is offered again when its client next submits work that needs a
 * worker.
 *
 * Errors:
 * EINVAL: @error is neither EUSERS nor EAGAIN.
 * ENOENT: no such context is offered, or the context is closed.
 * EBUSY: the context already has a session.
 */
struct nnaccel_engine_refuse {
	__u32 size;
	__u32 error;
	__aligned_u64 context;
};
#define NNACCEL_ENGINE_REFUSE _IO(NNACCEL_TYPE, NNACCEL_CMD_ENGINE_REFUSE)

/**
 * struct nnaccel_engine_opener - Argument of ioctl(NNACCEL_ENGINE_OPENER)
 * @size: sizeof(struct nnaccel_engine_opener)
 * @flags: must be 0
 * @context: the number from NNACCEL_ENGINE_NEXT
 * @gid: a group id, in the broker's namespace
 * @out_member: out: 1: the opener was in the group @gid when it opened the context; 0: it was not.
 *	The opener's effective group id and supplementary group ids are compared with @gid
 * @out_lives: out: 1: the opener lives, and has executed no other program since the open.
 *	An @out_lives of 0 means that the opener may have ended or executed another program
 * @out_pid: out: opener's process id in the broker's namespace; 0: none there, or @out_lives is 0
 *
 * Groups that the opener joined or left after it opened the context do not
 * count.
 *
 * A broker can read the opener's properties in /proc. If @out_lives is 1, the process id was not
 * reused, so all data that the broker read under @out_pid between NNACCEL_ENGINE_NEXT and
 * NNACCEL_ENGINE_OPENER belong to the opener. A pidfd that was opened between NNACCEL_ENGINE_NEXT
 * and NNACCEL_ENGINE_OPENER also belongs to the opener. If @out_lives is 0, data that the broker
 * read in /proc may belong to another process or program, and the broker must discard the data.
 *
 * Errors: ENOENT: no such context was offered to this broker, or the context is
 * closed.
 */
struct nnaccel_engine_opener {
	__u32 size;
	__u32 flags;
	__aligned_u64 context;
	__u32 gid;
	__u32 out_member;
	__u32 out_lives;
	__u32 out_pid;
};
#define NNACCEL_ENGINE_OPENER _IO(NNACCEL_TYPE, NNACCEL_CMD_ENGINE_OPENER)

/* ------------------------------------------------------------------------
 * Session
 *
 * poll() of a session reports EPOLLIN while a command is queued, and EPOLLHUP when the context is
 * closed. When the module ended the session (see NNACCEL_ATTACH_SHARED), poll() reports EPOLLHUP |
 * EPOLLERR.
 *
 * mmap() maps a whole grant with MAP_SHARED, PROT_READ and, if granted,
 * PROT_WRITE. The offset for mmap() is (off_t)grant << NNACCEL_GRANT_SHIFT, and the length is the
 * grant's length rounded up to pages. NNACCEL_BURST_MAP describes the regions of a burst. Errors:
 * EACCES: the caller does not have the attached address space, or the
 * protection is not granted.
 * EINVAL: the grant does not exist, the offset or the length is not the grant's, or no MAP_SHARED.
 * EOPNOTSUPP: only devices can access the memory.
 * ESHUTDOWN: the module ended the session.
 */

/* The mmap() offset of grant g is (off_t)g << NNACCEL_GRANT_SHIFT. */
#define NNACCEL_GRANT_SHIFT	40

/*
 * nnaccel_session_attach.flags: the process serves other clients, too. If a process with
 * NNACCEL_ATTACH_SHARED does not answer an execution in time, the module ends the session instead
 * of killing the process, and poll() reports the end. After a session's end, FETCH, SLOT, GRANT_FD,
 * mmap() and the begin of SYNC fail with ESHUTDOWN, and dma-bufs of grants are revoked. Within two
 * seconds after the session's end, the process must unmap the client's memory and close the
 * session. If the process keeps the ended session open for longer than two seconds, the module
 * detaches the session from its context, which can then get another worker. The process of a
 * detached session can still write to memory that the process has not unmapped.
 *
 * If a worker does not die within two seconds after it was killed, the module also detaches its
 * session.
 */
#define NNACCEL_ATTACH_SHARED	(1U << 0)

/*
 * nnaccel_session_attach.flags: only devices access the memory of executions and of
 * copies of buffers, by dma-bufs of NNACCEL_SESSION_GRANT_FD. The module waits for the fences of
 * executions' memory, but begins no CPU access: it does not sync mappings of devices, and notifies
 * no exporter. With NNACCEL_ATTACH_DEVICES, NNACCEL_SESSION_SYNC only waits for fences. Even with
 * NNACCEL_ATTACH_DEVICES, the module begins CPU accesses to the memory of models.
 */
#define NNACCEL_ATTACH_DEVICES	(1U << 1)

/*
 * nnaccel_session_attach.flags, with NNACCEL_ATTACH_DEVICES only: the worker or its
 * device, instead of the module, waits for the fences of an execution. The fences of an execution
 * are the sync_files that the client named and the fences that the execution's memory had at
 * submission. The execution can be fetched once the submissions on which it depends have ended.
 * NNACCEL_SESSION_FENCE returns the fences of an execution. The worker must not commit the answer
 * before all fences have signalled, except with NNACCEL_COMMIT_FENCE. If a fence that the client
 * named has failed when the execution ends, the client gets EREMOTEIO instead of the answer.
 *
 * Even with NNACCEL_ATTACH_FENCES, the module itself waits for fences before executions with a
 * duration limit, buffers or formatted pools. The module also waits for fences before all commands
 * that are not executions.
 */
#define NNACCEL_ATTACH_FENCES	(1U << 2)

/**
 * struct nnaccel_session_attach - Argument of ioctl(NNACCEL_SESSION_ATTACH)
 * @size: sizeof(struct nnaccel_session_attach)
 * @flags: NNACCEL_ATTACH_SHARED, NNACCEL_ATTACH_DEVICES, NNACCEL_ATTACH_FENCES
 *
 * Binds the session to the caller's address space: only this address space can fetch, commit and
 * map after the call.
 *
 * Errors:
 * EINVAL: NNACCEL_ATTACH_FENCES without NNACCEL_ATTACH_DEVICES.
 * EBUSY: the session is already attached.
 * ESHUTDOWN: the context is closed, or the module ended the session.
 */
struct nnaccel_session_attach {
	__u32 size;
	__u32 flags;
};
#define NNACCEL_SESSION_ATTACH _IO(NNACCEL_TYPE, NNACCEL_CMD_SESSION_ATTACH)

/**
 * enum nnaccel_cmd_kind - Kind of a fetched command
 */
enum nnaccel_cmd_kind {
	/** @NNACCEL_DO_QUERY: Answer @query: commit with the answer as payload. */
	NNACCEL_DO_QUERY = 1,
	/** @NNACCEL_DO_SUPPORTED: Commit with __u8[num_operations]: 1 for supported operations. */
	NNACCEL_DO_SUPPORTED = 2,
	/** @NNACCEL_DO_PREPARE: Prepare a model under the number @model. */
	NNACCEL_DO_PREPARE = 3,
	/** @NNACCEL_DO_EXECUTE: Execute @model: commit with struct nnaccel_shape[] as payload. */
	NNACCEL_DO_EXECUTE = 4,
	/** @NNACCEL_DO_FORGET_MODEL: @model was destroyed: free it. Takes no commit. */
	NNACCEL_DO_FORGET_MODEL = 5,
	/** @NNACCEL_DO_FORGET_GRANT: @grant has ended: unmap it. Takes no commit. */
	NNACCEL_DO_FORGET_GRANT = 6,
	/** @NNACCEL_DO_BURST: Serve @burst of @model: commit once the rings are mapped. */
	NNACCEL_DO_BURST = 7,
	/** @NNACCEL_DO_BURST_GONE: @burst has ended: unmap it. Takes no commit. */
	NNACCEL_DO_BURST_GONE = 8,
	/** @NNACCEL_DO_SLOT_GONE: Slot @grant of @burst was freed. Takes no commit. */
	NNACCEL_DO_SLOT_GONE = 9,
	/**
	 * @NNACCEL_DO_BUFFER: Decide whether a new buffer, the first grant, can have its roles.
	 * Commit DO_BUFFER with the buffer's enum nnaccel_layout, as __u32, as payload.
	 */
	NNACCEL_DO_BUFFER = 10,
	/**
	 * @NNACCEL_DO_COPY_IN: Copy @wire_length bytes from the second grant to the first grant.
	 * The first grant of the command is the buffer.
	 */
	NNACCEL_DO_COPY_IN = 11,
	/**
	 * @NNACCEL_DO_COPY_OUT: Copy @wire_length bytes from the first grant to the second grant.
	 * The first grant of the command is the buffer.
	 */
	NNACCEL_DO_COPY_OUT = 12,
	/** @NNACCEL_DO_PREPARE_CACHED: Prepare @model from parts saved under @token. */
	NNACCEL_DO_PREPARE_CACHED = 16,
	/**
	 * @NNACCEL_DO_CACHE_SAVE: Save @model under @token.
	 *	Commit DO_CACHE_SAVE with the number of bytes of each part, __u64[num_inputs +
	 *	num_outputs], as payload.
	 */
	NNACCEL_DO_CACHE_SAVE = 17
};

/**
 * enum nnaccel_layout - Layout of a buffer
 */
enum nnaccel_layout {
	/** @NNACCEL_LAYOUT_LINEAR: The layout of pools: the kernel copies. */
	NNACCEL_LAYOUT_LINEAR = 0,
	/** @NNACCEL_LAYOUT_ENGINE: The worker's layout, within the capacity: the worker copies. */
	NNACCEL_LAYOUT_ENGINE = 1
};

/**
 * struct nnaccel_cmd_role - A role of a new buffer, for the worker
 * @model: number of the model
 * @kind: enum nnaccel_role_kind
 * @index: which input or output
 * @frequency: the client's hint; see struct nnaccel_role
 * @__reserved: 0
 */
struct nnaccel_cmd_role {
	__aligned_u64 model;
	__u32 kind;
	__u32 index;
	__u32 frequency;
	__u32 __reserved;
};

/**
 * struct nnaccel_model_memory - The optional payload of a commit to
 *	NNACCEL_DO_PREPARE and NNACCEL_DO_PREPARE_CACHED
 * @weights: bytes that the model needs besides its pools: packed weights and
 *	computed constants
 * @execution: bytes for each concurrent execution; 0: not known
 * @device: bytes of the device's own memory for the model
 *
 * The payload struct nnaccel_model_memory is allowed only with NNACCEL_STATUS_NONE. The kernel uses
 * the worker's numbers only to show them in fdinfo.
 */
struct nnaccel_model_memory {
	__aligned_u64 weights;
	__aligned_u64 execution;
	__aligned_u64 device;
};

/* Flag of a grant's prot: the memory is another driver's dma-buf; see NNACCEL_SESSION_SYNC. */
#define NNACCEL_PROT_SYNC	(1 << 2)

/*
 * Flag of a grant's prot: the memory is a formatted pool, an image that a struct nnaccel_format
 * describes.
 */
#define NNACCEL_PROT_FORMATTED	(1 << 3)

/*
 * Flag of a grant's prot: only devices can access the pool. mmap() and NNACCEL_SESSION_SYNC give
 * EOPNOTSUPP, and NNACCEL_SESSION_GRANT_FD returns the dma-buf for the device.
 */
#define NNACCEL_PROT_DEVICE	(1 << 4)

/**
 * struct nnaccel_grant - Memory that a command lets the worker map
 * @grant: number of the grant, which stays the same during the pool's life
 * @prot: NNACCEL_PROT_*: the protection that this command needs.
 *	The pool's grant permits at least this protection. The flags NNACCEL_PROT_SYNC, _FORMATTED
 *	and _DEVICE describe the pool. In SUPPORTED, a grant of constants without NNACCEL_PROT_READ
 *	and _WRITE means that the exporter refused access. Operations that use constants of a
 *	refusing exporter are not supported
 * @length: bytes
 */
struct nnaccel_grant {
	__u32 grant;
	__u32 prot;
	__aligned_u64 length;
};

/**
 * struct nnaccel_format_plane - Layout of a plane of a formatted pool
 * @grant: the grant to map: the pool's own grant, or the grant of another file with the plane.
 *	The grant of a plane's file has the same protection as the pool's grant at present. Grants
 *	of planes' files end with NNACCEL_DO_FORGET_GRANT, after the grant of the pool
 * @offset: bytes from the start of this grant's mapping to the first row
 * @stride: bytes from one row to the next
 * @row_bytes: bytes of a row's pixels
 * @rows: rows
 * @__reserved: 0
 */
struct nnaccel_format_plane {
	struct nnaccel_grant grant;
	__aligned_u64 offset;
	__u32 stride;
	__u32 row_bytes;
	__u32 rows;
	__u32 __reserved;
};

/**
 * struct nnaccel_format - Layout of a formatted pool, constant until its grant ends
 * @fourcc: DRM_FORMAT_
 * @width: pixels of a row
 * @height: rows
 * @num_planes: planes
 * @planes: the planes; further entries are 0. The first plane is in the pool's
 *	own grant
 *
 * Commands that name a formatted pool also name the files of its planes, so that CPU access to
 * these files has begun when the command is fetched. For requests of a burst, the worker must call
 * NNACCEL_SESSION_SYNC for the grant of each file that contains a plane.
 */
struct nnaccel_format {
	__u32 fourcc;
	__u32 width;
	__u32 height;
	__u32 num_planes;
	struct nnaccel_format_plane planes[NNACCEL_MAX_PLANES];
};

/**
 * struct nnaccel_cmd - A command, as NNACCEL_SESSION_FETCH writes it
 * @size: bytes of the command: this structure and the arrays that follow it.
 *	After struct nnaccel_cmd come struct nnaccel_grant[num_grants], struct
 *	nnaccel_arg[num_inputs + num_outputs], struct nnaccel_cmd_role[num_roles],
 *	__u8[attributes_size] and, from the next multiple of 8 on, struct
 *	nnaccel_format[num_formats]
 * @kind: enum nnaccel_cmd_kind
 * @cookie: names the command in NNACCEL_SESSION_COMMIT; 0: the command takes no
 *	commit
 * @model: number of the model, unique in the session
 * @num_grants: number of grants.
 *	For PREPARE and SUPPORTED, the first grant is the wire form, and the other grants are the
 *	model's pools in order. For EXECUTE, the grants are the pools, then the buffers, then the
 *	files of planes of formatted pools. The pool fields of arguments are indices of pools or
 *	buffers. An argument with NNACCEL_ARG_BUFFER has the size (an input) or the capacity (an
 *	output) of its buffer as length. For PREPARE_CACHED and CACHE_SAVE, the grants are those of
 *	the parts that have memory, in order. CACHE_SAVE without grants requests only the parts'
 *	sizes
 * @grant: FORGET_GRANT: the grant; SLOT_GONE: the slot
 * @num_inputs: EXECUTE: inputs; PREPARE_CACHED, CACHE_SAVE: model parts.
 *	The argument of a part has a grant's index, an offset and a length, or NNACCEL_ARG_NO_VALUE
 *	if the part has no memory
 * @num_outputs: EXECUTE: outputs; PREPARE_CACHED, CACHE_SAVE: data parts, likewise
 * @flags: PREPARE: NNACCEL_PREPARE_CACHE; EXECUTE: NNACCEL_EXECUTE_MEASURE;
 *	BURST: NNACCEL_BURST_NO_SPIN
 * @query: QUERY: the client's query
 * @preference: PREPARE, PREPARE_CACHED: enum nnaccel_preference
 * @priority: PREPARE, PREPARE_CACHED, EXECUTE: enum nnaccel_priority of the
 *	model
 * @wire_offset: PREPARE, SUPPORTED: bytes into the first grant
 * @wire_length: PREPARE, SUPPORTED, COPY_IN, COPY_OUT: bytes
 * @deadline_ns: CLOCK_MONOTONIC time, 0: none
 * @loop_timeout_ns: EXECUTE: longest time in one loop, 0: the default
 * @max_payload: maximum bytes of the answer's payload
 * @burst: BURST, BURST_GONE, SLOT_GONE: number of the burst, unique in the
 *	session
 * @token: PREPARE_CACHED, CACHE_SAVE: the client's token
 * @num_roles: BUFFER: roles
 * @attributes_size: PREPARE, PREPARE_CACHED, EXECUTE: bytes of the client's
 *	attributes
 * @num_formats: EXECUTE: number of grants with NNACCEL_PROT_FORMATTED.
 *	The formats have the order of the grants with NNACCEL_PROT_FORMATTED
 * @num_fences: EXECUTE: fences that the worker waits for, with NNACCEL_ATTACH_FENCES; see
 *	NNACCEL_SESSION_FENCE
 *
 * The payload of an execution with a buffer as output is struct
 * nnaccel_shape[num_outputs], then __u64[num_outputs]. Each __u64 is the number of bytes written to
 * an output; the kernel reads it only if the output is a buffer. If an output of an execution is a
 * buffer, a commit with NNACCEL_STATUS_NONE must have the payload.
 */
struct nnaccel_cmd {
	__u32 size;
	__u32 kind;
	__aligned_u64 cookie;
	__aligned_u64 model;
	__u32 num_grants;
	__u32 grant;
	__u32 num_inputs;
	__u32 num_outputs;
	__u32 flags;
	__u32 query;
	__u32 preference;
	__u32 priority;
	__aligned_u64 wire_offset;
	__aligned_u64 wire_length;
	__aligned_u64 deadline_ns;
	__aligned_u64 loop_timeout_ns;
	__u32 max_payload;
	__u32 burst;
	__u8 token[NNACCEL_TOKEN_SIZE];
	__u32 num_roles;
	__u32 attributes_size;
	__u32 num_formats;
	__u32 num_fences;
};

/* Flag of NNACCEL_SESSION_FETCH and _COMMIT: return EAGAIN instead of waiting. */
#define NNACCEL_FETCH_NONBLOCK	(1 << 0)

/**
 * struct nnaccel_session_fetch - Argument of ioctl(NNACCEL_SESSION_FETCH)
 * @size: sizeof(struct nnaccel_session_fetch)
 * @flags: NNACCEL_FETCH_NONBLOCK
 * @buffer: room for a struct nnaccel_cmd and its arrays, 8-byte aligned
 * @buffer_size: bytes at @buffer
 * @out_size: out: bytes written or, with EMSGSIZE, needed
 *
 * Fetches the oldest of those queued commands that have the highest priority. Several threads may
 * fetch at the same time. A command that does not fit into @buffer stays queued.
 *
 * Errors:
 * EAGAIN: no command is queued.
 * EINVAL: @buffer is not 8-byte aligned.
 * EMSGSIZE: @buffer is too small.
 * EACCES: the caller is not attached to the session.
 * ESHUTDOWN: the context is closed, or the module ended the session.
 * EINTR.
 */
struct nnaccel_session_fetch {
	__u32 size;
	__u32 flags;
	__aligned_u64 buffer;
	__u32 buffer_size;
	__u32 out_size;
};
#define NNACCEL_SESSION_FETCH _IO(NNACCEL_TYPE, NNACCEL_CMD_SESSION_FETCH)

/*
 * Flag of NNACCEL_SESSION_COMMIT: the command ends when @fence signals.
 */
#define NNACCEL_COMMIT_FENCE	(1 << 1)
/* Flag of NNACCEL_SESSION_COMMIT: the command continues, and @fence is the command's progress. */
#define NNACCEL_COMMIT_PROGRESS	(1 << 2)

/* Value of the progress when a preparation is complete. */
#define NNACCEL_PROGRESS_ALL	1000

/**
 * struct nnaccel_session_commit - Argument of ioctl(NNACCEL_SESSION_COMMIT)
 * @size: sizeof(struct nnaccel_session_commit)
 * @status: enum nnaccel_status
 * @cookie: the command's cookie.
 *	With @buffer, the kernel sets the cookie to 0 once the kernel has accepted the answer. A
 *	call with a cookie of 0 commits nothing
 * @payload: the answer; see enum nnaccel_cmd_kind
 * @payload_size: bytes at @payload, at most the command's max_payload
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @message: error message for the client to log; need not be terminated
 * @device_ns: time on the device in ns, or NNACCEL_TIME_NONE.
 *	The context's fdinfo shows the sum over all executions, even if the client did not request
 *	times
 * @buffer: room for the next command, as in NNACCEL_SESSION_FETCH; 0: do not fetch
 * @buffer_size: bytes at @buffer
 * @flags: NNACCEL_FETCH_NONBLOCK, only with @buffer; NNACCEL_COMMIT_FENCE or
 *	NNACCEL_COMMIT_PROGRESS
 * @out_size: out, with @buffer: as in NNACCEL_SESSION_FETCH
 * @fence: with NNACCEL_COMMIT_FENCE, a sync_file of any driver; without a flag, 0.
 *	With NNACCEL_COMMIT_PROGRESS, @fence is the progress, at most NNACCEL_PROGRESS_ALL
 *
 * If the command's caller no longer waits, the commit succeeds and the answer
 * is dropped.
 *
 * If @buffer is set, NNACCEL_SESSION_COMMIT commits the answer, then fetches the next command like
 * NNACCEL_SESSION_FETCH, and may return an error of the fetch. If @cookie is 0 after an error,
 * the answer was accepted and the fetch failed. After a failed fetch, a repeated call with the same
 * structure only fetches.
 *
 * NNACCEL_COMMIT_FENCE means that hardware still executes the command. The command must be an
 * EXECUTE, COPY_IN or COPY_OUT with NNACCEL_STATUS_NONE, and ends when @fence signals. An error of
 * the fence changes the status to MISSED_DEADLINE_TRANSIENT (ETIME, ETIMEDOUT) or GENERAL_FAILURE,
 * without shapes. After a commit with a fence, only the fence ends the command: the hardware
 * continues even if worker, broker or client dies. If the fence takes longer than the module's
 * limit, the command ends with ETIME; the driver must then stop the hardware's writes. A caller's
 * deadline limits the wait for a command with a fence like the wait for any other command.
 * NNACCEL_SYNC_FILE returns the fence to the client.
 *
 * The module adds the fence to the reservation objects of the command's memory, as a writer's fence
 * if the command writes this memory. Later commands and other drivers wait for the committed fence.
 *
 * With NNACCEL_COMMIT_PROGRESS a PREPARE or PREPARE_CACHED continues until another
 * commit answers it. A commit with NNACCEL_COMMIT_PROGRESS must have the status NNACCEL_STATUS_NONE
 * and no payload, message or @buffer. ECANCELED: the client no longer waits for the answer, so the
 * worker may stop.
 *
 * Errors:
 * ENOENT: @cookie names no command that this session fetched and did not answer
 * yet.
 * EINVAL: an unknown status, or a payload that this kind of command does not allow.
 * EINVAL: @buffer is not 8-byte aligned.
 * EINVAL: with NNACCEL_COMMIT_FENCE, a wrong kind of command or status, or a @fence that is no
 * sync_file.
 * EINVAL: with NNACCEL_COMMIT_PROGRESS, a wrong kind of command, or a @fence above
 * NNACCEL_PROGRESS_ALL.
 * EACCES: the caller is not attached to the session.
 * EINTR: with NNACCEL_COMMIT_FENCE, a signal came before the answer was accepted, and the call may
 * be repeated.
 */
struct nnaccel_session_commit {
	__u32 size;
	__u32 status;
	__aligned_u64 cookie;
	__aligned_u64 payload;
	__u32 payload_size;
	__u32 message_size;
	__aligned_u64 message;
	__aligned_u64 device_ns;
	__aligned_u64 buffer;
	__u32 buffer_size;
	__u32 flags;
	__u32 out_size;
	__s32 fence;
};
#define NNACCEL_SESSION_COMMIT _IO(NNACCEL_TYPE, NNACCEL_CMD_SESSION_COMMIT)

/**
 * struct nnaccel_session_slot - Argument of ioctl(NNACCEL_SESSION_SLOT)
 * @size: sizeof(struct nnaccel_session_slot)
 * @flags: must be 0
 * @burst: the burst
 * @slot: the slot
 * @out_grant: out: the grant of the whole pool, with the slot's protection
 * @out_format: out: the format of the pool, if @out_grant has
 *	NNACCEL_PROT_FORMATTED; else 0
 *
 * The worker's mapping of @out_grant stays valid until NNACCEL_DO_FORGET_GRANT.
 *
 * Errors:
 * ENOENT: no such burst, or the burst has no such slot.
 * ENOSPC: the session has too many notices that were not fetched.
 * EACCES: the caller is not attached to the session.
 * ESHUTDOWN: the module ended the session.
 */
struct nnaccel_session_slot {
	__u32 size;
	__u32 flags;
	__u32 burst;
	__u32 slot;
	struct nnaccel_grant out_grant;
	struct nnaccel_format out_format;
};
#define NNACCEL_SESSION_SLOT _IO(NNACCEL_TYPE, NNACCEL_CMD_SESSION_SLOT)

/* Flags of NNACCEL_SESSION_SYNC: the access that begins or ends. */
#define NNACCEL_SYNC_READ	(1 << 0)
#define NNACCEL_SYNC_WRITE	(1 << 1)
#define NNACCEL_SYNC_END	(1 << 2)

/**
 * struct nnaccel_session_sync - Argument of ioctl(NNACCEL_SESSION_SYNC)
 * @size: sizeof(struct nnaccel_session_sync)
 * @flags: NNACCEL_SYNC_READ, NNACCEL_SYNC_WRITE or both; NNACCEL_SYNC_END: the
 *	access ends
 * @grant: a grant of a dma-buf
 * @__reserved: must be 0
 *
 * Waits for the fences of other drivers, then notifies the exporter that the CPU
 * begins or ends its access, as DMA_BUF_IOCTL_SYNC does for a dma-buf's own fd.
 * The worker must call NNACCEL_SESSION_SYNC for requests of a burst, because these requests do not
 * pass through the kernel. NNACCEL_SESSION_SYNC is needed for grants with NNACCEL_PROT_SYNC, and
 * for all grants if @devices of the burst's status page is 1. For commands the kernel itself begins
 * the access before the fetch and ends the access after the commit. If a signal interrupts the
 * exporter, the kernel calls the exporter again, so that each access is ended.
 *
 * Errors:
 * EINVAL: @flags has neither read nor write.
 * ENOENT: no such grant.
 * EOPNOTSUPP: the grant is not a dma-buf, or only devices can access it.
 * EACCES: the caller is not attached, or writing is not granted.
 * ESHUTDOWN: the session was ended. NNACCEL_SYNC_END still works until the session is detached from
 * its context.
 * EIO: the exporter refused access.
 * EINTR: the caller was killed, or a signal came before the access began.
 * ENOMEM.
 */
struct nnaccel_session_sync {
	__u32 size;
	__u32 flags;
	__u32 grant;
	__u32 __reserved;
};
#define NNACCEL_SESSION_SYNC _IO(NNACCEL_TYPE, NNACCEL_CMD_SESSION_SYNC)

/* Flags of NNACCEL_SESSION_GRANT_FD. */
#define NNACCEL_GRANT_FD_CLOEXEC	(1 << 0)

/**
 * struct nnaccel_session_grant_fd - Argument of ioctl(NNACCEL_SESSION_GRANT_FD)
 * @size: sizeof(struct nnaccel_session_grant_fd)
 * @flags: NNACCEL_GRANT_FD_CLOEXEC
 * @grant: a grant of a dma-buf
 * @prot: NNACCEL_PROT_READ, or NNACCEL_PROT_READ | NNACCEL_PROT_WRITE if the
 *	grant has NNACCEL_PROT_WRITE
 * @out_length: out: bytes of the dma-buf: the grant's, rounded up to pages
 * @out_fd: out: the dma-buf
 * @__reserved: must be 0
 *
 * Returns a dma-buf of the granted memory only, for the engine's driver to import.
 * Until the grant ends, each call with the same @prot returns the same dma-buf.
 * The dma-buf of a grant cannot be imported as a pool.
 *
 * Without NNACCEL_PROT_WRITE mmap() and DMA_BUF_IOCTL_SYNC for writing give EACCES.
 * If a dma-buf has no NNACCEL_PROT_WRITE, importers can map it with DMA_TO_DEVICE. If the client's
 * pool is writable, importers can also use DMA_BIDIRECTIONAL, as DRM's PRIME does. An input in a
 * writable pool is safe only if the engine and its driver do not write to the pool. A device can
 * never write to a pool that was imported for reading.
 *
 * The dma-buf of a grant has its own reservation object, which at first has no fence. The earlier
 * fences of a command's memory have signalled before the command can be fetched, or
 * NNACCEL_SESSION_FENCE returns them. Later fences of the memory may wait for the command, so the
 * dma-buf's reservation object does not have such fences. A driver that waits for all fences of the
 * dma-buf never waits for its own command. NNACCEL_COMMIT_FENCE adds the fences of the driver's
 * jobs to the memory.
 *
 * The dma-buf is revoked when the grant or the session ends, the session is closed or the client
 * closes its context. After the revocation, attaching, mapping, mmap() and DMA_BUF_IOCTL_SYNC fail
 * with ENODEV, and dynamic importers are notified (move_notify). Mappings that static importers
 * made before the revocation stay valid, and the mapped pages are not freed until they are
 * unmapped.
 *
 * If the worker dies, each command that the worker fetched and did not answer waits until devices
 * no longer use the command's memory. Devices no longer use memory when all devices have detached
 * from the dma-bufs of its grant, and all fences of these dma-bufs have signalled. A dead worker's
 * command ends with EPIPE when devices no longer use its memory, or with ENOTRECOVERABLE if the
 * module's limit for fences passes first. While devices use memory, the memory is not freed. A
 * burst that has slots for memory in use becomes dead only when devices no longer use the memory,
 * or when the module's limit passes.
 *
 * Errors:
 * EINVAL: @prot does not have NNACCEL_PROT_READ, or has other flags than _READ and _WRITE.
 * ENOENT: no such grant.
 * EOPNOTSUPP: the grant is not a dma-buf, or is a part of another driver's dma-buf.
 * EACCES: the caller is not attached, or writing is not granted.
 * ESHUTDOWN: the context is closed, or the module ended the session.
 * EMFILE.
 */
struct nnaccel_session_grant_fd {
	__u32 size;
	__u32 flags;
	__u32 grant;
	__u32 prot;
	__aligned_u64 out_length;
	__s32 out_fd;
	__u32 __reserved;
};
#define NNACCEL_SESSION_GRANT_FD _IO(NNACCEL_TYPE, NNACCEL_CMD_SESSION_GRANT_FD)

/* Flags of NNACCEL_SESSION_FENCE. */
#define NNACCEL_FENCE_CLOEXEC	(1 << 0)

/**
 * struct nnaccel_session_fence - Argument of ioctl(NNACCEL_SESSION_FENCE)
 * @size: sizeof(struct nnaccel_session_fence)
 * @flags: NNACCEL_FENCE_CLOEXEC
 * @cookie: an execution that was fetched and not answered yet
 * @index: number of the fence, below num_fences of struct nnaccel_cmd; the order
 *	means nothing
 * @out_fd: out: a sync_file
 *
 * Returns a fence for which a worker that attached with NNACCEL_ATTACH_FENCES must wait.
 * NNACCEL_SESSION_FENCE can be called repeatedly.
 *
 * Errors:
 * ENOENT: @cookie names no execution that this session works on, or @index is too
 * high.
 * EACCES: the caller is not attached to the session.
 * EMFILE: no fd is left for the sync_file.
 */
struct nnaccel_session_fence {
	__u32 size;
	__u32 flags;
	__aligned_u64 cookie;
	__u32 index;
	__s32 out_fd;
};
#define NNACCEL_SESSION_FENCE _IO(NNACCEL_TYPE, NNACCEL_CMD_SESSION_FENCE)

#endif /* _UAPI_LINUX_NNACCEL_H */
