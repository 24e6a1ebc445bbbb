/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * nnaccel: neural network accelerator interface.
 *
 * Five kinds of file have this interface:
 *
 * - a device, /dev/nnaccel, /dev/nnaccel1 and so on: a *context*, one per open.
 *   It belongs to the address space that opened it: a forked child, or a
 *   process that was passed the file, gets EACCES.
 * - /dev/nnaccel-engine: the *engine node*. The broker of each engine opens it
 *   and registers the engine under a name, which makes it one of the devices.
 *   It is notified of contexts that want an engine, and gets a session for each.
 * - a *session*: made by NNACCEL_ENGINE_SESSION for one context and never
 *   bound to another. The worker that serves the context attaches to it. The
 *   worker fetches commands, maps granted memory and commits the answers.
 * - a *burst*: made by NNACCEL_WORK_BURST on a model. Client and worker map
 *   its rings and exchange executions there without the kernel.
 * - a *submission's file*: made by NNACCEL_SUBMIT with NNACCEL_SUBMIT_FILE. It
 *   polls readable at the end of an execution, on which others may depend.
 *
 * Every structure begins with its size in bytes. A structure shorter than the
 * first published version gives EINVAL. One longer than the kernel knows gives
 * E2BIG, unless the unknown tail is zero and the whole is at most a page long.
 * Unknown flags and non-zero reserved fields give EINVAL. Ids are 32 bits and
 * per context: an id of another context gives ENOENT, as one that never existed.
 *
 * NNACCEL_SUBMIT submits work to the engine, and NNACCEL_WAIT fetches the answer.
 *
 * Every ioctl may return these errors:
 * EFAULT: bad pointer.
 * EINVAL: size, flag or reserved field.
 * E2BIG: a non-zero unknown tail, or a structure longer than a page.
 * ENOTTY: no such ioctl on this kind of file.
 * EACCES: not the owner's address space.
 * ENOMEM: out of memory.
 * EDQUOT: the user's limit of memory; only from calls for which the kernel allocates
 * memory, even if only during the call.
 */
#ifndef _UAPI_LINUX_NNACCEL_H
#define _UAPI_LINUX_NNACCEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Version of this interface, as NNACCEL_INFO reports it. It changes only if old programs would stop
 * working; nnaccel_info.features reports later additions.
 */
#define NNACCEL_ABI_VERSION	2

#define NNACCEL_TYPE		0xB9

/* Maximum number of dimensions of an argument or a shape. */
#define NNACCEL_MAX_RANK	16

/* Maximum number of arguments (inputs and outputs together) of an execution. */
#define NNACCEL_MAX_ARGS	4096

/* Maximum number of pools of a command. */
#define NNACCEL_MAX_CMD_POOLS	1024

/* Maximum number of buffers of an execution, and of roles of a buffer. */
#define NNACCEL_MAX_CMD_BUFFERS	1024
#define NNACCEL_MAX_ROLES	1024

/* Size of an engine's name and of its version, with the terminating 0. */
#define NNACCEL_MAX_NAME	32
#define NNACCEL_MAX_VERSION	64

/* Sizes of the names of a bus and of hardware on it, with the terminating 0. */
#define NNACCEL_MAX_BUS		16
#define NNACCEL_MAX_HARDWARE	64

/* Maximum size of a message, of an answer to a query, and of a model. */
#define NNACCEL_MAX_MESSAGE	512
#define NNACCEL_MAX_QUERY	(64 * 1024)
#define NNACCEL_MAX_WIRE	(256 * 1024 * 1024)

/* Maximum number of operations for NNACCEL_WORK_SUPPORTED. */
#define NNACCEL_MAX_OPERATIONS	(1024 * 1024)

/* Maximum size of the attributes of a preparation or an execution. */
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
 * @NNACCEL_STATUS_NONE: it succeeded
 * @NNACCEL_STATUS_DEVICE_UNAVAILABLE: the device cannot do it now
 * @NNACCEL_STATUS_GENERAL_FAILURE: it failed
 * @NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE: an output is too small; the
 *	shapes say how large it must be
 * @NNACCEL_STATUS_INVALID_ARGUMENT: the model or an argument is wrong
 * @NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT: it took too long; another try may succeed
 * @NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT: it always takes longer than its deadline
 * @NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT: not enough memory or threads now
 * @NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT: more memory than the device has
 *
 * An ioctl that reached the engine returns 0 and sets its status field to one
 * of these. An ioctl that the kernel itself rejected returns an errno and does
 * not change the structure. The values are those of the NN HAL's ErrorStatus.
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
	/** @NNACCEL_ENGINE_PENDING: A broker is there; no worker is attached to this context. */
	NNACCEL_ENGINE_PENDING = 1,
	/** @NNACCEL_ENGINE_ATTACHED: A worker is attached to this context. */
	NNACCEL_ENGINE_ATTACHED = 2
};

/* Flags of NNACCEL_INFO: request a worker for this context before the first call. */
#define NNACCEL_INFO_WANT	(1 << 0)

/**
 * struct nnaccel_info - ioctl(NNACCEL_INFO)
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
 * @engine_wait_ms: out: longest wait for a worker to attach; a module that does not know this
 *	field leaves it alone
 * @name: out: name of the device's engine; empty: none has been registered yet
 * @features: out: a bit for each thing that was added to this version; none so far
 *
 * The first call that needs a worker requests it from the broker. NNACCEL_INFO_WANT
 * requests it earlier, and does not wait. Before that a context costs the engine
 * nothing.
 *
 * Errors: none beyond those of every ioctl.
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
 * struct nnaccel_destroy - ioctl(NNACCEL_DESTROY)
 * @size: sizeof(struct nnaccel_destroy)
 * @id: pool, model, buffer or submission to destroy
 *
 * The id is gone at once. It is reused only after all other ids were used. A
 * submission that has not ended is cancelled. The memory of a pool lives on while
 * a model, a command in flight, a mapping or an exported dma-buf refers to it. The
 * memory of a buffer lives on while a command in flight refers to it.
 *
 * Errors: ENOENT: no such object in this context.
 */
struct nnaccel_destroy {
	__u32 size;
	__u32 id;
};
#define NNACCEL_DESTROY _IO(NNACCEL_TYPE, NNACCEL_CMD_DESTROY)

/**
 * struct nnaccel_pool_alloc - ioctl(NNACCEL_POOL_ALLOC)
 * @size: sizeof(struct nnaccel_pool_alloc)
 * @flags: must be 0
 * @length: bytes, at least 1; charged in whole pages
 * @out_id: out: the pool
 * @__reserved: must be 0
 *
 * Allocates zeroed memory, readable and writable. The client maps it through
 * the dma-buf that NNACCEL_POOL_EXPORT gives.
 *
 * Errors:
 * EINVAL: length 0.
 * EFBIG: length above max_pool_bytes.
 * EDQUOT: the context's or the user's limit.
 * ENOSPC: too many pools.
 */
struct nnaccel_pool_alloc {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__u32 out_id;
	__u32 __reserved;
};
#define NNACCEL_POOL_ALLOC _IO(NNACCEL_TYPE, NNACCEL_CMD_POOL_ALLOC)

/* Flags of NNACCEL_POOL_IMPORT: only devices can access the pool. */
#define NNACCEL_IMPORT_DEVICE	(1 << 0)

/* Maximum number of planes of an image. */
#define NNACCEL_MAX_PLANES	4

/**
 * struct nnaccel_plane - Where a plane of an image is
 * @fd: as of NNACCEL_POOL_IMPORT; -1: the first plane's
 * @stride: bytes from one row to the next, at least the bytes of a row
 * @offset: bytes into that file to the first row; any value
 */
struct nnaccel_plane {
	__s32 fd;
	__u32 stride;
	__aligned_u64 offset;
};

/**
 * struct nnaccel_pool_import - ioctl(NNACCEL_POOL_IMPORT)
 * @size: sizeof(struct nnaccel_pool_import)
 * @flags: NNACCEL_IMPORT_DEVICE
 * @fd: a dma-buf, or a regular file (memfd included) that can be mapped
 * @prot: NNACCEL_PROT_READ, or NNACCEL_PROT_READ | NNACCEL_PROT_WRITE
 * @offset: bytes into the file, a multiple of the page size; for an image any
 *	offset, to the first row of the first plane
 * @length: bytes, at least 1; offset + length within the file. For an image: in: 0;
 *	out: bytes of all planes' pixels, which is the length of an argument
 * @out_id: out: the pool
 * @fourcc: 0: bytes; all later fields are 0. Otherwise an image: a DRM_FORMAT_ of
 *	one plane whose pixels are whole bytes, or one of NV12, NV21, YUV420, YVU420
 *	and P010
 * @width: pixels of a row; even for a format of pairs, such as YUYV, or of several
 *	planes
 * @height: rows; even for a format of several planes
 * @stride: bytes from one row of the first plane to the next, at least the bytes
 *	of a row
 * @__reserved: must be 0
 * @modifier: DRM_FORMAT_MOD_LINEAR (0)
 * @planes: the second and further planes, in the order of the fourcc's
 *	definition; 0 beyond its number of planes
 *
 * The pool holds the file, not the fd. A dma-buf that this module exported gives the
 * memory of the exported pool. Each import is a pool of its own.
 *
 * With NNACCEL_IMPORT_DEVICE the dma-buf may be one that cannot be mapped: only the
 * engine's device accesses it, and its exporter sees no access by a CPU. Arguments of
 * executions and slots of bursts may name such a pool. Constants and wire forms of
 * models, parts of saved ones and NNACCEL_WORK_BUFFER_COPY give EOPNOTSUPP for it. So
 * does this flag if the engine did not register with NNACCEL_ENGINE_DEVICE_POOLS.
 *
 * An argument of an execution uses a whole image, with offset and length 0. It has the
 * rows of its planes, one plane after the other, without padding. A model's constants
 * and wire form cannot be in an image, and an image cannot be exported or copied. Each
 * file beyond the first counts as a pool of the context.
 *
 * Errors:
 * EBADF: no such fd.
 * EINVAL: length 0, offset unaligned, range beyond the file, unknown or missing
 * protection.
 * EINVAL for an image: a length, a flag, a width or height that is 0 or must be even.
 * EINVAL for an image: a stride shorter than a row, rows beyond the file, or too many
 * planes.
 * EOPNOTSUPP: this kind of file cannot be imported, or the format or the modifier is
 * unknown.
 * EACCES: the fd was not opened with the access that prot needs.
 * EPERM: the file is sealed against the access that prot needs.
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
 * struct nnaccel_pool_export - ioctl(NNACCEL_POOL_EXPORT)
 * @size: sizeof(struct nnaccel_pool_export)
 * @flags: NNACCEL_EXPORT_CLOEXEC
 * @id: a pool that is backed by a dma-buf, allocated or imported
 * @out_fd: out: a dma-buf fd of the whole buffer
 *
 * Errors:
 * ENOENT: no such pool.
 * EOPNOTSUPP: the pool is a file, formatted, or an import that is not writable or
 * not of the whole buffer.
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
 * struct nnaccel_query - Work NNACCEL_WORK_QUERY
 * @size: sizeof(struct nnaccel_query)
 * @query: an NNACCEL_QUERY_ value, which the engine gets unchanged
 * @data: buffer for the answer
 * @data_size: in: bytes at @data, at most NNACCEL_MAX_QUERY; out: bytes written
 * @out_status: out: enum nnaccel_status; INVALID_ARGUMENT: unknown query
 *
 * The kernel does not read the answer.
 *
 * Errors of reaching the engine:
 * ENOTCONN: no broker is registered for the device, and none came within
 * engine_absent_ms.
 * ETIMEDOUT: a broker is registered, but no worker attached within engine_wait_ms.
 * EUSERS: the broker refused a worker, because this user has too many.
 * EAGAIN: the broker refuses workers for a time, because they crashed.
 * EPIPE: the worker died.
 * EINTR: the caller was killed.
 * EXFULL: too many commands in flight.
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

/* The engine's description of the device. */
#define NNACCEL_QUERY_DEVICE	0

/* The engine's vendor extensions for this context. */
#define NNACCEL_QUERY_EXTENSIONS	1

/**
 * struct nnaccel_supported - Work NNACCEL_WORK_SUPPORTED
 * @size: sizeof(struct nnaccel_supported)
 * @flags: must be 0
 * @wire_pool: pool that holds the model in its wire form
 * @num_pools: pools of the model's constants, at most NNACCEL_MAX_CMD_POOLS - 1
 * @wire_offset: bytes into the pool
 * @wire_length: bytes, at most NNACCEL_MAX_WIRE
 * @pools: const __u32[num_pools]: pool ids, in the order of the model's pools
 * @supported: __u8[num_operations]: out: 1 for each operation of the main
 *	subgraph that the engine can execute, else 0; written on
 *	NNACCEL_STATUS_NONE only
 * @num_operations: operations of the main subgraph, at most
 *	NNACCEL_MAX_OPERATIONS
 * @out_status: out: enum nnaccel_status
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @__reserved: must be 0
 *
 * If the exporter of a constant's memory refuses access or is gone, only the
 * operations that use the constant are not supported.
 *
 * Errors:
 * ENOENT: no such pool.
 * EINVAL: range outside the pool, too many pools.
 * EOPNOTSUPP: a formatted pool.
 * EIO: the exporter of a dma-buf that the wire form lies in refused access.
 * Errors of reaching the engine: see struct nnaccel_query.
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
 * @NNACCEL_PRIORITY_LOW: after the others
 * @NNACCEL_PRIORITY_MEDIUM: the default
 * @NNACCEL_PRIORITY_HIGH: before the others
 */
enum nnaccel_priority {
	NNACCEL_PRIORITY_LOW = 0,
	NNACCEL_PRIORITY_MEDIUM = 1,
	NNACCEL_PRIORITY_HIGH = 2
};

/*
 * Flags of NNACCEL_WORK_PREPARE: the engine may cache the compiled model, and use a
 * cached one of the same model and user.
 */
#define NNACCEL_PREPARE_CACHE	(1 << 0)

/**
 * struct nnaccel_prepare - Work NNACCEL_WORK_PREPARE
 * @size: sizeof(struct nnaccel_prepare)
 * @flags: NNACCEL_PREPARE_CACHE
 * @wire_pool: pool that holds the model in its wire form
 * @num_pools: pools of the model's constants, at most NNACCEL_MAX_CMD_POOLS - 1
 * @wire_offset: bytes into the pool
 * @wire_length: bytes, at most NNACCEL_MAX_WIRE
 * @pools: const __u32[num_pools]: pool ids, in the order of the model's pools;
 *	the model holds them, the engine reads and never writes them
 * @preference: enum nnaccel_preference
 * @priority: enum nnaccel_priority
 * @deadline_ns: CLOCK_MONOTONIC time by which to be done, 0: none
 * @out_model: out: the model, valid with NNACCEL_STATUS_NONE only, else 0
 * @out_status: out: enum nnaccel_status
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @attributes_size: bytes at @attributes, at most NNACCEL_MAX_ATTRIBUTES
 * @attributes: const __u8[attributes_size]: attributes for extensions of the
 *	engine; the kernel does not read them
 *
 * The model dies with the worker that prepared it; its id then gives ESTALE
 * until it is destroyed.
 *
 * Errors:
 * ENOENT: no such pool.
 * EINVAL: range outside the pool, too many pools, too many attributes, unknown
 * preference or priority.
 * ENOSPC: too many models.
 * ETIME: the deadline passed.
 * EOPNOTSUPP: a formatted pool.
 * EIO: the exporter of a dma-buf refused access.
 * Errors of reaching the engine: see struct nnaccel_query.
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

/* Most parts of each kind that a saved model has: the NN HAL's bound for cache files. */
#define NNACCEL_MAX_CACHE_PARTS	32

/**
 * struct nnaccel_cache_part - Where a part of a saved model lies, or may be written
 * @pool: a pool of this context; 0: no memory, and all else is 0
 * @__reserved: must be 0
 * @offset: bytes into the pool; of a data part a multiple of the page size
 * @length: bytes
 */
struct nnaccel_cache_part {
	__u32 pool;
	__u32 __reserved;
	__aligned_u64 offset;
	__aligned_u64 length;
};

/**
 * struct nnaccel_prepare_cached - Work NNACCEL_WORK_PREPARE_CACHED
 * @size: sizeof(struct nnaccel_prepare_cached)
 * @flags: must be 0
 * @num_model_parts: model parts, at most NNACCEL_MAX_CACHE_PARTS
 * @num_data_parts: data parts, likewise
 * @parts: const struct nnaccel_cache_part[num_model_parts + num_data_parts]: the parts
 *	that NNACCEL_WORK_CACHE_SAVE wrote, model parts first. The model holds the pools of
 *	data parts. The engine reads these in place and never writes them
 * @token: the token that the parts were saved under
 * @preference: enum nnaccel_preference
 * @priority: enum nnaccel_priority
 * @deadline_ns: CLOCK_MONOTONIC time by which to be done, 0: none
 * @out_model: out: the model, valid with NNACCEL_STATUS_NONE only, else 0
 * @out_status: out: enum nnaccel_status; GENERAL_FAILURE: the parts are not
 *	what this engine saved under @token for this user, or are damaged.
 *	INVALID_ARGUMENT: the engine has another number of parts
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @attributes_size: as of NNACCEL_WORK_PREPARE
 * @attributes: as of NNACCEL_WORK_PREPARE, the same as for the saved model
 *
 * Prepares a model as NNACCEL_WORK_PREPARE does, from saved parts. The engine copies
 * the model parts and must know their hash. The data parts are used in place and not
 * hashed; changing them can only change values of outputs.
 *
 * Errors:
 * ENOENT: no such pool.
 * EINVAL: no part, or too many parts.
 * EINVAL: range outside the pool, or a range without a pool.
 * EINVAL: model parts of more than NNACCEL_MAX_WIRE bytes together.
 * EINVAL: too many attributes, unknown preference or priority.
 * EOPNOTSUPP: a pool is formatted.
 * ENOSPC: too many models.
 * ETIME: the deadline passed.
 * Errors of reaching the engine: see struct nnaccel_query.
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
 * struct nnaccel_cache_save - Work NNACCEL_WORK_CACHE_SAVE
 * @size: sizeof(struct nnaccel_cache_save)
 * @flags: must be 0
 * @model: a model of this context
 * @num_model_parts: model parts, at most NNACCEL_MAX_CACHE_PARTS
 * @num_data_parts: data parts, likewise
 * @out_status: out: enum nnaccel_status; OUTPUT_INSUFFICIENT_SIZE: the parts did
 *	not fit, and nothing was written. INVALID_ARGUMENT: the engine has another number
 *	of parts
 * @parts: const struct nnaccel_cache_part[num_model_parts + num_data_parts]: room for
 *	each, model parts first. Without any memory only the sizes are requested
 * @sizes: __u64[num_model_parts + num_data_parts]: out: bytes of each part, with
 *	NNACCEL_STATUS_NONE and NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, else left alone
 * @token: the token to save under
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @__reserved: must be 0
 *
 * Writes parts from which NNACCEL_WORK_PREPARE_CACHED can prepare the model again.
 * The engine stores the hash of the model parts durably, for this user and @token,
 * before it writes a byte. If the call fails, the contents of the memory are
 * undefined.
 *
 * Errors:
 * ENOENT: no such model or pool.
 * ESTALE: the model's worker is dead.
 * EINVAL: no part, or too many parts.
 * EINVAL: range outside the pool, or a range without a pool.
 * EINVAL: model parts of more than NNACCEL_MAX_WIRE bytes together.
 * EACCES: a pool is not writable.
 * EOPNOTSUPP: a pool is formatted.
 * Errors of reaching the engine: see struct nnaccel_query.
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
/* The argument is a whole buffer of those that the execution names. */
#define NNACCEL_ARG_BUFFER	(1 << 1)

/**
 * struct nnaccel_arg - One input or output of an execution
 * @flags: NNACCEL_ARG_NO_VALUE: omitted; everything else must then be 0.
 *	NNACCEL_ARG_BUFFER: a buffer; @offset and @length must then be 0
 * @pool: index into the command's pools; BUFFER: into its buffers
 * @offset: bytes into the pool
 * @length: bytes; offset + length within the pool; both 0 for a formatted one
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

/* Flags of a shape: the argument was large enough for the output. */
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

/* Flags of NNACCEL_WORK_EXECUTE: measure, and fill the out times. */
#define NNACCEL_EXECUTE_MEASURE	(1 << 0)

/* A time that was not measured. */
#define NNACCEL_TIME_NONE	(~0ULL)

/**
 * struct nnaccel_execute - Work NNACCEL_WORK_EXECUTE
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
 * @buffers: const __u32[num_buffers]: their ids, each once
 * @attributes: const __u8[attributes_size]: as of NNACCEL_WORK_PREPARE, for this
 *	execution
 * @attributes_size: bytes there, at most NNACCEL_MAX_ATTRIBUTES
 * @__reserved: must be 0
 * @out_fenced_ns: out: time from the end of the last dependency to the engine's
 *	answer, or NNACCEL_TIME_NONE, also if the worker waited for fences; NNACCEL_SUBMIT
 *	names the dependencies
 *
 * Waits for the engine. The wait ends when the caller is killed, the worker
 * dies, or the deadline has passed by the module's grace period. The engine may
 * still read and write the pools of an execution whose caller has given up.
 *
 * Before the engine gets the command, the kernel waits for fences in the
 * reservation objects of dma-bufs, as long as the deadline allows. It waits for
 * writers, and for an output also for readers. It adds no fence.
 *
 * A buffer must have the role of this input or output of this model. It may be
 * several inputs, or one output. As an output it is initialised with a new size
 * if the answer is NNACCEL_STATUS_NONE. If an execution that the engine got ends
 * in any other way, the buffer is uninitialised. The buffer is in use until that
 * end, even if the caller has given up.
 *
 * Errors:
 * ENOENT: no such model, pool or buffer.
 * ESTALE: the model's worker is dead.
 * EINVAL: an argument outside its pool or malformed, too many arguments, pools,
 * buffers or attributes, a buffer named twice or used as both input and output or as
 * two outputs.
 * EPERM: the buffer has no such role.
 * ENODATA: an input buffer is not initialised.
 * EBUSY: a buffer is being written, or one to be written is being read.
 * EACCES: an output in a pool that is not writable.
 * ETIME: the deadline passed.
 * EIO: the exporter of a dma-buf refused access, or its end.
 * Errors of reaching the engine: see struct nnaccel_query.
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

/* Maximum frequency of a role: the buffer is used in each execution of the model. */
#define NNACCEL_MAX_FREQUENCY	1000000

/**
 * struct nnaccel_role - A use of a buffer
 * @model: a model of the context
 * @kind: enum nnaccel_role_kind
 * @index: which input or output
 * @frequency: executions with the buffer out of NNACCEL_MAX_FREQUENCY executions of
 *	the model, as a hint for the engine; 0: not known
 */
struct nnaccel_role {
	__u32 model;
	__u32 kind;
	__u32 index;
	__u32 frequency;
};

/**
 * struct nnaccel_buffer_alloc - Work NNACCEL_WORK_BUFFER_ALLOC
 * @size: sizeof(struct nnaccel_buffer_alloc)
 * @flags: must be 0
 * @capacity: bytes, at least 1; charged in whole pages
 * @roles: const struct nnaccel_role[num_roles]: its possible uses, each once
 * @num_roles: 1 to NNACCEL_MAX_ROLES
 * @out_status: out: enum nnaccel_status; INVALID_ARGUMENT: no such buffer can
 *	have those roles
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @out_buffer: out: the buffer, valid with NNACCEL_STATUS_NONE only, else 0
 *
 * Allocates zeroed memory that the engine maps and the client never does: a
 * buffer of a memory domain. It counts as uninitialised. It outlives its models,
 * but cannot be used with dead or destroyed ones. Its contents can still be
 * copied then, unless the engine uses its own layout.
 *
 * Errors:
 * ENOENT: no such model.
 * ESTALE: a model's worker is dead.
 * EINVAL: capacity 0, no role, too many roles, an unknown kind, an index beyond any
 * model's, a frequency above the highest, a role twice.
 * EFBIG: capacity above max_pool_bytes.
 * EDQUOT: the context's or the user's limit.
 * ENOSPC: too many buffers.
 * Errors of reaching the engine: see struct nnaccel_query.
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
 * Flags of NNACCEL_WORK_BUFFER_COPY: one of the first two for the direction, and
 * the third if the other side is a pool.
 */
#define NNACCEL_COPY_IN		(1 << 0)
#define NNACCEL_COPY_OUT	(1 << 1)
#define NNACCEL_COPY_POOL	(1 << 2)

/**
 * struct nnaccel_buffer_copy - Work NNACCEL_WORK_BUFFER_COPY
 * @size: sizeof(struct nnaccel_buffer_copy)
 * @flags: NNACCEL_COPY_IN: into the buffer, or NNACCEL_COPY_OUT: out of it;
 *	NNACCEL_COPY_POOL: from or to a pool
 * @buffer: a buffer of this context
 * @pool: a pool of this context, with NNACCEL_COPY_POOL; else 0
 * @data: the client's memory; 0 with NNACCEL_COPY_POOL
 * @length: bytes; IN: 1 to the buffer's capacity, which becomes its size; OUT:
 *	its size
 * @out_status: out: enum nnaccel_status: of the engine, if it converts
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @message: char[message_size]: out: error message, terminated; or 0
 * @offset: bytes into the pool, any; else 0
 *
 * A copy into the buffer initialises it. If it fails after it has begun (EFAULT,
 * EINTR, EIO, EPIPE, or a status), the buffer is uninitialised.
 *
 * A CPU access to a dma-buf begins and ends as for an execution: the kernel first
 * waits for other drivers' fences, without a time limit, and notifies the
 * exporter. User memory is accessed as by read() and write(): a mapping of a
 * dma-buf at @data needs DMA_BUF_IOCTL_SYNC around the ioctl.
 *
 * Errors:
 * ENOENT: no such buffer, or no such pool.
 * EINVAL: no direction or both, another length, or a range outside the pool.
 * EACCES: OUT to a pool that is not writable.
 * EOPNOTSUPP: a formatted pool.
 * EIO: the pool's exporter refused access or is gone, or its file was truncated.
 * ENODATA: OUT of a buffer that is not initialised.
 * EBUSY: the buffer is being written or, for a copy IN, being read.
 * ESTALE: the worker that knows its layout is dead.
 * A buffer in the engine's own layout also gives EDQUOT, and errors of reaching the
 * engine: see struct nnaccel_query.
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

/* Flags of NNACCEL_CANCEL: cancel executions of every tag. */
#define NNACCEL_CANCEL_ANY	(1 << 0)

/**
 * struct nnaccel_cancel - ioctl(NNACCEL_CANCEL)
 * @size: sizeof(struct nnaccel_cancel)
 * @flags: NNACCEL_CANCEL_ANY
 * @tag: the tag of the executions
 * @out_cancelled: out: how many were cancelled
 * @__reserved: must be 0
 *
 * Ends executions of io_uring with ECANCELED. The engine may still read and write the
 * pools of an execution that it has.
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

/* Maximum number of datums of a burst's ring, and the number if 0 is requested. */
#define NNACCEL_BURST_MAX_CAPACITY	(256 * 1024)
#define NNACCEL_BURST_DEFAULT_CAPACITY	1024

/* Flags of NNACCEL_WORK_BURST. */
#define NNACCEL_BURST_CLOEXEC	(1 << 0)
/* The worker does not spin while it waits for requests. */
#define NNACCEL_BURST_NO_SPIN	(1 << 1)

/**
 * struct nnaccel_burst_create - Work NNACCEL_WORK_BURST
 * @size: sizeof(struct nnaccel_burst_create)
 * @flags: NNACCEL_BURST_CLOEXEC, NNACCEL_BURST_NO_SPIN
 * @model: a model of this context; the burst holds it
 * @capacity: datums of each ring, at most NNACCEL_BURST_MAX_CAPACITY; 0:
 *	NNACCEL_BURST_DEFAULT_CAPACITY
 * @out_fd: out: the burst, valid with NNACCEL_STATUS_NONE only, else -1
 * @out_status: out: enum nnaccel_status
 * @message: char[message_size]: out: error message, terminated; or 0
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @__reserved: must be 0
 *
 * The burst ends with the last close of its file, with its context, or with the
 * worker. It belongs to the address space of its context.
 *
 * Errors:
 * ENOENT: no such model.
 * ESTALE: the model's worker is dead.
 * EINVAL: capacity out of range.
 * EDQUOT: the context's or the user's limit of bytes.
 * ENOSPC: too many bursts.
 * EMFILE.
 * Errors of reaching the engine: see struct nnaccel_query.
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
 * Submissions: work for the engine, and its answer
 *
 * A submission is an object of its context, with an id from the context's common
 * table. It keeps its work, and then the answer, until an NNACCEL_WAIT fetches
 * it. NNACCEL_DESTROY ends a submission earlier, and so does the last close of its
 * file or of the context.
 *
 * A submission counts as one of the context's max_commands until then, and its
 * answer is charged to the user like all structures.
 *
 * poll() of the context's own file reports EPOLLIN while an answer can be fetched.
 * This does not include submissions with a file of their own, nor those that a call
 * with NNACCEL_SUBMIT_WAIT still waits for.
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
 * The comments of these structures list the errors of their work.
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
 * @NNACCEL_STATE_PENDING: its answer can be fetched later, by its id or its file
 * @NNACCEL_STATE_DONE: its answer is written, and the submission is gone
 */
enum nnaccel_state {
	NNACCEL_STATE_PENDING = 0,
	NNACCEL_STATE_DONE = 1
};

/* Maximum number of dependencies of a submission. */
#define NNACCEL_MAX_DEPENDENCIES	1024

/* Flags of NNACCEL_SUBMIT. Wait for the answer in this call. */
#define NNACCEL_SUBMIT_WAIT	(1 << 0)
/* Make a file that reports the end; EXECUTE only, and not with NNACCEL_SUBMIT_WAIT. */
#define NNACCEL_SUBMIT_FILE	(1 << 1)
/* execve() closes the file of NNACCEL_SUBMIT_FILE, which must be set too. */
#define NNACCEL_SUBMIT_CLOEXEC	(1 << 2)

/**
 * struct nnaccel_submit - ioctl(NNACCEL_SUBMIT)
 * @size: sizeof(struct nnaccel_submit)
 * @flags: NNACCEL_SUBMIT_WAIT, NNACCEL_SUBMIT_FILE, NNACCEL_SUBMIT_CLOEXEC
 * @kind: enum nnaccel_work
 * @out_state: out: enum nnaccel_state
 * @work: user address of the structure that @kind names, which begins with its size
 * @dependencies: const __s32[num_dependencies]: fds, each a sync_file of any
 *	driver or a file that NNACCEL_SUBMIT_FILE made, in any context
 * @num_dependencies: at most NNACCEL_MAX_DEPENDENCIES; 0 for all kinds except EXECUTE
 * @out_id: out: the submission with NNACCEL_STATE_PENDING, else 0
 * @out_fd: out: with NNACCEL_SUBMIT_FILE the submission's file, else -1
 * @__reserved: must be 0
 * @duration_ns: longest time from the end of the last dependency to the end of the
 *	execution, 0: no limit; the deadline applies too. 0 for all kinds except EXECUTE
 *
 * Copies the description of the work and submits it. The call does not wait for the
 * engine, for dependencies, or for fences of memory.
 *
 * BUFFER_COPY differs if the engine leaves the buffer's layout to the kernel: the
 * call itself copies, and returns NNACCEL_STATE_DONE with or without
 * NNACCEL_SUBMIT_WAIT. Before it reads or writes a pool, BUFFER_COPY waits for the
 * fences of the pool, here and in NNACCEL_WAIT.
 *
 * With NNACCEL_SUBMIT_WAIT the call continues as NNACCEL_WAIT with the same @work. It
 * returns 0 with NNACCEL_STATE_DONE and the answer in @work, or an error, and the
 * submission is gone. A signal ends this wait: the call returns 0 with
 * NNACCEL_STATE_PENDING and the id, and NNACCEL_WAIT fetches the answer. The work is
 * submitted exactly once in both cases.
 *
 * Without it the call returns 0 with NNACCEL_STATE_PENDING, and @work is not
 * written. The structure and the memory that it points to may be reused at once.
 *
 * Dependencies: the execution begins when all have succeeded. If one ends with an
 * error or with another status than NNACCEL_STATUS_NONE, the execution does not run
 * and ends with EREMOTEIO. An fd is looked up once: closing it has no effect. A
 * dependency exists before the submission, so there is no cycle. A chain may be as
 * long as the max_commands of its contexts allow.
 *
 * A deadline of @work counts from NNACCEL_SUBMIT on, even if no call waits.
 *
 * The file: poll() reports EPOLLIN once the execution has ended, and EPOLLPRI once
 * NNACCEL_SYNC_FILE has a fence to give out. Any process that has the file may poll it
 * and name it as a dependency, also a forked child or a process
 * that received it. The last close drops the answer and the id, at once or when the
 * execution ends. It does not cancel the execution, and a call that already waits gets
 * the answer. The file's number is reserved before the execution is submitted, and
 * installed when the call can no longer fail.
 *
 * A model of PREPARE or PREPARE_CACHED, a buffer and a burst appear when their answer
 * is fetched, and never if the submission ends otherwise.
 *
 * After an error the submission is gone. Errors:
 * EINVAL: an unknown kind or flag.
 * EINVAL: flags, dependencies or a duration that the kind does not have.
 * EINVAL: too many dependencies, or one that is neither a sync_file nor a file of a
 * submission.
 * EXFULL: the context has max_commands in flight or with answers to be fetched.
 * EMFILE: no number is left for the file, or for the burst with NNACCEL_SUBMIT_WAIT.
 * ENOSPC: all ids are taken.
 * EINTR: the caller was killed.
 * The structure of the kind lists further errors. With NNACCEL_SUBMIT_WAIT, those of
 * NNACCEL_WAIT are possible, too.
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
 * @submit: const struct nnaccel_submit *: of the kind EXECUTE, with NNACCEL_SUBMIT_WAIT
 *	and no other flag
 * @tag: the tag for NNACCEL_CANCEL, which need not be unique
 *
 * This is the cmd field of a submission queue entry. The entry's opcode is
 * IORING_OP_URING_CMD, its cmd_op is NNACCEL_SUBMIT and its fd is a context. It may have
 * 64 or 128 bytes. One entry submits the execution and completes with it. There is no
 * submission to wait for. @submit and the memory that it points to must stay valid until
 * the completion queue entry. The out fields of @submit are not written. The entry's res is
 *
 * - 0: out_status is NNACCEL_STATUS_NONE, and the results are written.
 * - -EIO, or -ETIME for the MISSED_DEADLINE statuses, with another out_status:
 *   the engine failed it. The results are written as well.
 * - -errno: there is no answer, and out_status is not written. An error of NNACCEL_SUBMIT or
 *   one that NNACCEL_WAIT has as @out_error. ECANCELED: cancelled by NNACCEL_CANCEL, or
 *   because ring or task ended. ENOTTY: no such cmd_op. EOPNOTSUPP: another kind, or the
 *   ring polls for completions.
 *
 * A ring thus cancels entries that are linked to a failed execution, and shows the
 * failure even with IOSQE_CQE_SKIP_SUCCESS. Set out_status to 0 before submitting.
 */
struct nnaccel_uring_submit {
	__aligned_u64 submit;
	__aligned_u64 tag;
};

/* Flags of NNACCEL_WAIT: return at once with NNACCEL_STATE_PENDING if there is no answer yet. */
#define NNACCEL_WAIT_NONBLOCK	(1 << 0)

/**
 * struct nnaccel_wait - ioctl(NNACCEL_WAIT)
 * @size: sizeof(struct nnaccel_wait)
 * @flags: NNACCEL_WAIT_NONBLOCK
 * @id: the submission; 0: @fd names it
 * @fd: with @id 0: the submission's file; else 0
 * @work: user address of a structure of the submission's kind, for the answer
 * @out_state: out: enum nnaccel_state; PENDING with NNACCEL_WAIT_NONBLOCK only
 * @out_error: out: with NNACCEL_STATE_DONE: 0, or the errno that the work ended with, of
 *	the list below; then @work is not written
 * @out_progress: out: with NNACCEL_STATE_PENDING: the last reported progress of a
 *	preparation, out of NNACCEL_PROGRESS_ALL; else 0
 * @__reserved: must be 0
 *
 * Fetches the answer once: it is written, and the submission and its id are gone. A
 * later call gives ENOENT. The file of the submission, if there is one, still polls
 * readable and may be named as a dependency.
 *
 * The call reads these fields of the structure at @work: its size, @data,
 * @data_size, @supported, @shapes, @sizes, @message and @message_size. They give the memory
 * for the answer. It must have room for all submitted operations, outputs or parts.
 * BUFFER_COPY out of a buffer into user memory writes to the @data given here. All
 * other fields are ignored, and the out fields are written.
 *
 * A signal interrupts the wait without side effects. The kernel restarts the call
 * after a stop, and after a handler that was installed with SA_RESTART. After
 * another handler the call returns EINTR, and may be made again.
 *
 * One call at a time may wait for a submission. Calls with NNACCEL_WAIT_NONBLOCK may come
 * from many threads: without an answer they return NNACCEL_STATE_PENDING, or EALREADY if
 * another call waits. NNACCEL_DESTROY of the submission cancels it, and so does the end of
 * the process: the waiting call gets ECANCELED as @out_error. Work that the engine has
 * fetched continues, and may read and write its pools until it ends. A deadline that passes
 * ends the submission with ETIME in the same way.
 *
 * Errors do not change the submission:
 * ENOENT: no such submission, or the file is of another context's submission.
 * EBADF: no such fd.
 * EINVAL: an unknown flag, or @id and @fd both given.
 * EINVAL: @fd is not a file of a submission.
 * EINVAL: @work is shorter than its first published version, or @message_size is
 * above NNACCEL_MAX_MESSAGE.
 * E2BIG: a tail of @work that is not 0.
 * EALREADY: another call waits for the submission, or fetches its answer.
 * EMFILE: no number is left for the burst; ENOSPC: all ids are taken.
 * EFAULT: the answer could not be written in full.
 * ENOBUFS: the answer of QUERY does not fit into @data_size.
 * EIO: the exporter of the pool that BUFFER_COPY writes refused access.
 * EINTR: a signal, see above.
 * ENOMEM.
 *
 * @out_error is one of these:
 * ENOTCONN, ETIMEDOUT, EUSERS, EAGAIN, EPIPE: see struct nnaccel_query.
 * ENOTRECOVERABLE: the device is lost. The worker died, and a device that it used may
 * still write the memory of the work. See struct nnaccel_session_grant_fd.
 * ETIME: the deadline or @duration_ns passed.
 * ECANCELED: it was cancelled.
 * EREMOTEIO: a dependency ended with an error.
 * EIO: the exporter of a dma-buf refused access.
 * EBUSY, ENODATA, EINVAL: the state of a buffer when the work was to be queued.
 * ESTALE: the worker that knows a buffer's layout is dead.
 * EDQUOT: the answer exceeds the user's limit.
 * ENOMEM: out of memory.
 *
 * NNACCEL_SUBMIT with NNACCEL_SUBMIT_WAIT returns these as its own errors.
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
 * struct nnaccel_sync_file - ioctl(NNACCEL_SYNC_FILE)
 * @size: sizeof(struct nnaccel_sync_file)
 * @flags: NNACCEL_SYNC_FILE_CLOEXEC
 * @fd: the file of a submission of this context
 * @out_fd: out: a sync_file
 *
 * Returns the fence that the engine committed for an execution (NNACCEL_COMMIT_FENCE).
 * The module makes no fence of its own: an execution that a process computes only has the
 * submission's file, which other drivers cannot wait for. No work may follow the fence, so
 * all pools of the execution must be accessible only to devices (NNACCEL_IMPORT_DEVICE).
 * The call can be repeated while the file is open.
 *
 * Errors:
 * EBADF: no such fd.
 * EINVAL: an unknown flag, or the fd is not a file of a submission.
 * ENOENT: the file is of another context's submission.
 * EOPNOTSUPP: the execution names memory that CPUs can access.
 * EBUSY: a dependency that the module waits for has not ended yet.
 * EAGAIN: the engine has not committed yet. The submission's file polls EPOLLPRI when it has.
 * ENODATA: the execution has ended, and the engine committed no fence.
 * EMFILE: no number is left for the file.
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
 * poll(): EPOLLHUP once the burst is dead: its worker or its context is gone.
 * The status page reports that earlier.
 *
 * mmap(): maps one whole region: offset = the region's, length = as in the
 * status page, rounded up to pages; MAP_SHARED. The worker maps the same
 * regions through its session, at the offset NNACCEL_BURST_MAP |
 * (off_t)burst << NNACCEL_BURST_SHIFT | the region's. Errors:
 * EACCES: the caller has another address space than the context, or the protection is not
 * granted.
 * EINVAL: no such region, or another length.
 *
 *	region		length			client	worker
 *	STATUS		one page		r	r	written by the kernel
 *	REQUESTS	ring_bytes		rw	r
 *	RESULTS		ring_bytes		r	rw
 *	DOORBELL	one page		rw	r	one a context
 *
 * All words are in the byte order of the machine. A ring is a struct
 * nnaccel_ring_control, then lines at NNACCEL_RING_LINES. Documentation/burst.rst
 * describes how both ends use them.
 */
#define NNACCEL_BURST_STATUS	0x00000000ULL
#define NNACCEL_BURST_REQUESTS	0x10000000ULL
#define NNACCEL_BURST_RESULTS	0x20000000ULL
#define NNACCEL_BURST_DOORBELL	0x30000000ULL

/* Offset of a burst's regions in a session's mmap(). */
#define NNACCEL_BURST_SHIFT	30
#define NNACCEL_BURST_MAP	(1ULL << 62)

/**
 * enum nnaccel_burst_state - Life of a burst
 * @NNACCEL_BURST_ALIVE: it may be used
 * @NNACCEL_BURST_DEAD: it has ended; this state is final
 */
enum nnaccel_burst_state {
	NNACCEL_BURST_ALIVE = 1,
	NNACCEL_BURST_DEAD = 2
};

/**
 * struct nnaccel_burst_status - The start of the status page
 * @state: enum nnaccel_burst_state; all other fields except @devices are constant
 * @lines: lines of each ring
 * @capacity: datums of each ring: the longest packet
 * @ring_bytes: length of the regions REQUESTS and RESULTS
 * @devices: becomes 1 when a device is first attached to memory of this module
 *	that is a pool of the context. From then on the worker calls
 *	NNACCEL_SESSION_SYNC around a request for each dma-buf that the request
 *	uses, and not only for grants with NNACCEL_PROT_SYNC
 */
struct nnaccel_burst_status {
	__u32 state;
	__u32 lines;
	__u32 capacity;
	__u32 ring_bytes;
	__u32 devices;
};

/* Words that the owner of a ring sleeps on: bits of struct nnaccel_ring_control. */
/* The sequence of the next line that it will read in the other ring. */
#define NNACCEL_WAIT_PACKET	(1 << 0)
/* The other ring's consumed word. */
#define NNACCEL_WAIT_SPACE	(1 << 1)
/* The doorbell (worker only): add 1 to it, then wake it. */
#define NNACCEL_WAIT_DOORBELL	(1 << 2)

/**
 * struct nnaccel_ring_control - Words of the end that writes a ring
 * @waiting: NNACCEL_WAIT_*: the word to wake it by; 0: it is awake
 * @__pad0: 0
 * @consumed: number of lines that it has read in the other ring
 * @__pad1: 0
 * @packets: packets sent
 * @spins: waits that ended without a sleep
 * @sleeps: waits that slept
 * @wakes: number of times that it woke the other end
 * @misses: slots that the kernel had to resolve
 * @fallbacks: executions that took the ordinary path
 * @device_ns: time on the device, of executions for which the worker knows it
 * @__reserved: 0
 *
 * The counters are statistics for people; neither end depends on them.
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

/* Offset of a ring's lines. */
#define NNACCEL_RING_LINES	256

/* Datums of a line. */
#define NNACCEL_LINE_DATUMS	3

/**
 * enum nnaccel_datum_kind - Contents of a datum
 * @NNACCEL_DATUM_REQUEST: begins a request
 * @NNACCEL_DATUM_INPUT: an input
 * @NNACCEL_DATUM_INPUT_DIMENSION: one dimension of it
 * @NNACCEL_DATUM_OUTPUT: an output
 * @NNACCEL_DATUM_OUTPUT_DIMENSION: one dimension of it
 * @NNACCEL_DATUM_SLOT: memory
 * @NNACCEL_DATUM_MEASURE: whether times are wanted
 * @NNACCEL_DATUM_RESULT: begins a result
 * @NNACCEL_DATUM_SHAPE: shape of an output
 * @NNACCEL_DATUM_SHAPE_DIMENSION: one dimension of it
 * @NNACCEL_DATUM_TIMING: times
 * @NNACCEL_DATUM_MESSAGE: a part of an error message
 *
 * A request consists of REQUEST, the inputs, the outputs, a SLOT for each pool,
 * and MEASURE. Each input is INPUT and an INPUT_DIMENSION for each dimension;
 * each output is OUTPUT and an OUTPUT_DIMENSION for each dimension. A result
 * consists of RESULT, the shapes of outputs, TIMING, and a MESSAGE for each part
 * of an error message that the client can log. Each shape is SHAPE and a
 * SHAPE_DIMENSION for each dimension.
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
 * The datum's flags may have NNACCEL_ARG_NO_VALUE: all else is then 0.
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
 * @device_ns_high: its upper half
 * @driver_ns_low: time in the engine, its lower half
 * @driver_ns_high: its upper half
 */
struct nnaccel_datum_timing {
	__u32 device_ns_low;
	__u32 device_ns_high;
	__u32 driver_ns_low;
	__u32 driver_ns_high;
};

/**
 * struct nnaccel_datum - Unit of a packet
 * @kind: enum nnaccel_datum_kind
 * @flags: INPUT, OUTPUT: NNACCEL_ARG_NO_VALUE; SHAPE: NNACCEL_SHAPE_SUFFICIENT
 * @rank: INPUT, OUTPUT, SHAPE: dimensions that follow, at most
 *	NNACCEL_MAX_RANK
 * @u: by @kind; bytes that the kind does not use are 0
 * @u.value: INPUT_DIMENSION, OUTPUT_DIMENSION, SHAPE_DIMENSION: the dimension;
 *	SLOT: the slot; MEASURE: 1: fill in the times, else 0
 * @u.text: MESSAGE: the next 16 bytes of text, at most NNACCEL_MAX_MESSAGE in
 *	all; unused bytes are 0
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
 * @sequence: how often this line has been written, from 1
 * @datums: a packet begins with a line; unused datums of its last line are 0
 */
struct nnaccel_line {
	__u32 sequence;
	struct nnaccel_datum datums[NNACCEL_LINE_DATUMS];
};

/* Maximum number of slots of a burst; a slot's lower bits are its index. */
#define NNACCEL_BURST_MAX_SLOTS	4096
#define NNACCEL_SLOT_INDEX(slot)	((slot) & (NNACCEL_BURST_MAX_SLOTS - 1))

/**
 * struct nnaccel_burst_slot - ioctl(NNACCEL_BURST_SLOT)
 * @size: sizeof(struct nnaccel_burst_slot)
 * @flags: must be 0
 * @pool: a pool of the burst's context, which gets a slot; 0: @slot is freed
 * @prot: NNACCEL_PROT_READ, or NNACCEL_PROT_READ | NNACCEL_PROT_WRITE; 0 if @pool is 0
 * @slot: out: the slot. NNACCEL_SLOT_INDEX() of it is the lowest free index; the
 *	bits above differ each time that an index is reused. If @pool is 0: in: the
 *	slot to free
 * @__reserved: must be 0
 *
 * The slot holds the pool until it is freed or the burst is closed. A request in
 * flight that names a freed slot may still use the memory.
 *
 * Errors:
 * ENOENT: no such pool, or no such slot.
 * EINVAL: unknown or missing protection.
 * EACCES: the pool does not allow it.
 * EOPNOTSUPP: only devices can access the pool, and the engine does not support that.
 * ENOSPC: too many slots.
 * EPIPE: the burst is dead, and its slots can only be freed.
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
 * The first call on a file is NNACCEL_ENGINE_REGISTER; before it all others give
 * ENOTCONN, and poll() reports EPOLLERR. Afterwards the file reports only this
 * engine's contexts. poll() reports EPOLLIN while NNACCEL_ENGINE_NEXT has an event.
 * When the broker closes the file, sessions live on. Contexts that were offered to
 * it and have no session yet wait for the next broker of the engine's name. Other
 * engines are not affected.
 */

/**
 * enum nnaccel_device_type - Hardware of an engine
 *
 * The values are those of NNAPI's DeviceTypeCode.
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

/* Flags of NNACCEL_ENGINE_REGISTER: clients may use pools that only devices can access. */
#define NNACCEL_ENGINE_DEVICE_POOLS	(1 << 0)

/**
 * struct nnaccel_engine_register - ioctl(NNACCEL_ENGINE_REGISTER)
 * @size: sizeof(struct nnaccel_engine_register)
 * @flags: NNACCEL_ENGINE_DEVICE_POOLS
 * @type: enum nnaccel_device_type
 * @out_device: out: number of the device: 0: /dev/nnaccel, else /dev/nnaccelN
 * @name: the engine's name: lower-case letters, digits and hyphens, not beginning
 *	with a hyphen; padded with 0
 * @version: printable ASCII; padded with 0
 * @bus: bus of the hardware, "pci" or "platform", padded with 0; empty: none
 * @hardware: the name that the hardware has on this bus, padded with 0; must be empty
 *	if @bus is
 *
 * Makes the engine a device. A name that was registered before, since the module
 * was loaded, gets its old device with the contexts that are open there. Any other
 * name gets the next number. /dev/nnaccel exists from the start, without a name, so
 * that clients can open it before its engine comes. The first name gets it. When
 * the broker closes the file, the device stays, and its state in sysfs is "absent".
 *
 * /sys/class/nnaccel has a folder for each device with its name, version, type and
 * state. Each registration and its end is a change event there.
 *
 * If @hardware is given, "device" in that folder is a link to it, and a link of the
 * folder's name leads back. When the hardware loses its driver or is removed, the engine
 * ends: it is absent, other calls of the file give ENODEV, and poll() reports
 * EPOLLHUP | EPOLLERR. Its sessions end as with NNACCEL_ATTACH_SHARED, but their workers
 * are not killed. The unbinding does not wait for the broker or for workers.
 *
 * Errors:
 * EINVAL: an unknown type or bus, a malformed name or version, or only one of @bus and
 * @hardware.
 * ENODEV: no such hardware, or it has no driver.
 * EEXIST: the file has been registered.
 * EBUSY: an engine of this name is registered.
 * ENOSPC: there are as many devices as the module's parameter max_devices says.
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
	/** @NNACCEL_ENGINE_NEW: The context wants a session: answer with SESSION or REFUSE. */
	NNACCEL_ENGINE_NEW = 1,
	/**
	 * @NNACCEL_ENGINE_GONE: A context that was offered is gone:
	 *	its worker has no more work.
	 */
	NNACCEL_ENGINE_GONE = 2,
	/**
	 * @NNACCEL_ENGINE_PRIORITY: The highest priority of the context's models
	 *	has changed.
	 */
	NNACCEL_ENGINE_PRIORITY = 3
};

/* Flags of NNACCEL_ENGINE_NEXT: return EAGAIN instead of waiting. */
#define NNACCEL_ENGINE_NONBLOCK	(1 << 0)

/**
 * struct nnaccel_engine_next - ioctl(NNACCEL_ENGINE_NEXT)
 * @size: sizeof(struct nnaccel_engine_next)
 * @flags: NNACCEL_ENGINE_NONBLOCK
 * @out_event: out: enum nnaccel_engine_event
 * @out_uid: out: the user that the context is charged to, in the broker's
 *	namespace: the effective user id of the opener; for an opener in a user
 *	namespace, the owner of the outermost one below the initial one
 * @out_gid: out: effective group id of the opener, in the broker's namespace
 * @out_pid: out: process id of the opener in the broker's namespace, 0: none
 * @out_context: out: the context's number, never reused
 * @out_priority: out: enum nnaccel_priority, the highest of the models that the
 *	context's worker has; MEDIUM if it has no models
 * @__reserved: 0
 *
 * PRIORITY events come only for contexts that were offered to this broker and that
 * have a session. Several changes before a fetch are one event.
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
 * struct nnaccel_engine_session - ioctl(NNACCEL_ENGINE_SESSION)
 * @size: sizeof(struct nnaccel_engine_session)
 * @flags: NNACCEL_SESSION_CLOEXEC
 * @context: the number from NNACCEL_ENGINE_NEXT
 * @out_fd: out: the session
 * @__reserved: must be 0
 *
 * The session ends with its last close: the broker closes its own copy once
 * the worker has it.
 *
 * Errors:
 * ENOENT: no such context is offered, or it is gone.
 * EBUSY: the context has a session.
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
 * struct nnaccel_engine_refuse - ioctl(NNACCEL_ENGINE_REFUSE)
 * @size: sizeof(struct nnaccel_engine_refuse)
 * @error: EUSERS or EAGAIN, which the context's waiting calls return
 * @context: the number from NNACCEL_ENGINE_NEXT
 *
 * The context is offered again when it next needs an engine.
 *
 * Errors:
 * EINVAL: another error.
 * ENOENT: no such context is offered, or it is gone.
 * EBUSY: the context has a session.
 */
struct nnaccel_engine_refuse {
	__u32 size;
	__u32 error;
	__aligned_u64 context;
};
#define NNACCEL_ENGINE_REFUSE _IO(NNACCEL_TYPE, NNACCEL_CMD_ENGINE_REFUSE)

/**
 * struct nnaccel_engine_opener - ioctl(NNACCEL_ENGINE_OPENER)
 * @size: sizeof(struct nnaccel_engine_opener)
 * @flags: must be 0
 * @context: the number from NNACCEL_ENGINE_NEXT
 * @gid: a group id, in the broker's namespace
 * @out_member: out: 1: the opener was in that group when it opened the context, by
 *	its effective group id or a supplementary one; 0: it was not
 * @out_lives: out: 1: the process that opened the context lives, and has executed
 *	no other program since; 0: it may have ended or executed another program
 * @out_pid: out: its process id in the broker's namespace; 0: it has none there,
 *	or @out_lives is 0
 *
 * Groups that were joined or left since then do not count.
 *
 * A broker can read the opener's properties in /proc. If @out_lives is 1, the process
 * id was not reused, so all that the broker read under @out_pid between
 * NNACCEL_ENGINE_NEXT and this call belongs to the opener. So does a pidfd that it
 * opened meanwhile. If it is 0, the data may belong to another process or program,
 * and must be discarded.
 *
 * Errors: ENOENT: the broker does not know such a context, or it is gone.
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
 * poll(): EPOLLIN while a command waits, EPOLLHUP when the context is gone,
 * EPOLLHUP | EPOLLERR when the session was ended: see NNACCEL_ATTACH_SHARED.
 *
 * mmap(): maps all of a grant: offset = (off_t)grant << NNACCEL_GRANT_SHIFT,
 * length = the grant's length rounded up to pages, MAP_SHARED, PROT_READ and, if
 * granted, PROT_WRITE. For regions of a burst see above. Errors:
 * EACCES: not the attached address space, or a protection that is not granted.
 * EINVAL: no such grant, or another offset or length.
 * EOPNOTSUPP: only devices can access the memory.
 */

/* mmap() offset of grant g: (off_t)g << NNACCEL_GRANT_SHIFT. */
#define NNACCEL_GRANT_SHIFT	40

/*
 * nnaccel_session_attach.flags: the process serves other clients, too. It is not
 * killed for an execution that it did not answer in time. The session ends
 * instead: poll() reports that. FETCH, SLOT, GRANT_FD, mmap() and the begin of SYNC
 * give ESHUTDOWN, and dma-bufs of grants are revoked. The process must unmap the
 * client's memory and close the session within two seconds. Otherwise the session is
 * cut off from its context, which can get another worker. The process can still write
 * memory that it has not unmapped by then.
 *
 * A worker that was killed and does not die within two seconds loses its session in
 * the same way.
 */
#define NNACCEL_ATTACH_SHARED	(1U << 0)

/*
 * nnaccel_session_attach.flags: only devices access the memory of executions and of
 * copies of buffers, by dma-bufs of NNACCEL_SESSION_GRANT_FD. The module waits for
 * fences, but does not give this memory to the CPU: it syncs nothing for devices that
 * have it mapped, and exporters see no access. NNACCEL_SESSION_SYNC only waits for
 * fences. Models are read by the CPU as in other sessions.
 */
#define NNACCEL_ATTACH_DEVICES	(1U << 1)

/*
 * nnaccel_session_attach.flags, with NNACCEL_ATTACH_DEVICES only: the worker, or its
 * device, waits for the fences of an execution. These are the sync_files that its client
 * named and the fences that its memory had at submission. The execution can be fetched
 * once the submissions that it depends on have ended. NNACCEL_SESSION_FENCE gives the
 * fences. The answer must not come before they have signalled, except with
 * NNACCEL_COMMIT_FENCE. If one that the client named has failed by the end of the
 * execution, it ends with EREMOTEIO in place of the answer.
 *
 * The module itself waits before executions with @duration_ns, with buffers or with
 * formatted pools, and before all other commands.
 */
#define NNACCEL_ATTACH_FENCES	(1U << 2)

/**
 * struct nnaccel_session_attach - ioctl(NNACCEL_SESSION_ATTACH)
 * @size: sizeof(struct nnaccel_session_attach)
 * @flags: NNACCEL_ATTACH_SHARED, NNACCEL_ATTACH_DEVICES, NNACCEL_ATTACH_FENCES
 *
 * Binds the session to the caller's address space: only it can fetch, commit
 * and map from now on.
 *
 * Errors:
 * EBUSY: attached already.
 * ESHUTDOWN: the context is gone.
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
	/** @NNACCEL_DO_SUPPORTED: Judge a model: commit with __u8[num_operations] as payload. */
	NNACCEL_DO_SUPPORTED = 2,
	/** @NNACCEL_DO_PREPARE: Prepare a model under the number @model. */
	NNACCEL_DO_PREPARE = 3,
	/** @NNACCEL_DO_EXECUTE: Execute @model: commit with struct nnaccel_shape[] as payload. */
	NNACCEL_DO_EXECUTE = 4,
	/** @NNACCEL_DO_FORGET_MODEL: @model is gone: forget it. Takes no commit. */
	NNACCEL_DO_FORGET_MODEL = 5,
	/** @NNACCEL_DO_FORGET_GRANT: @grant is gone: unmap it. Takes no commit. */
	NNACCEL_DO_FORGET_GRANT = 6,
	/**
	 * @NNACCEL_DO_BURST: Serve requests for @model on @burst:
	 *	commit once its rings are mapped.
	 */
	NNACCEL_DO_BURST = 7,
	/** @NNACCEL_DO_BURST_GONE: @burst is gone: stop serving it, unmap it. Takes no commit. */
	NNACCEL_DO_BURST_GONE = 8,
	/** @NNACCEL_DO_SLOT_GONE: Slot @grant of @burst is gone: forget it. Takes no commit. */
	NNACCEL_DO_SLOT_GONE = 9,
	/**
	 * @NNACCEL_DO_BUFFER: Judge a new buffer, the first grant, for its
	 * roles: commit with enum nnaccel_layout, a __u32, as payload.
	 */
	NNACCEL_DO_BUFFER = 10,
	/**
	 * @NNACCEL_DO_COPY_IN: Write @wire_length bytes of the second grant into
	 *	a buffer, the first.
	 */
	NNACCEL_DO_COPY_IN = 11,
	/**
	 * @NNACCEL_DO_COPY_OUT: Write a buffer, the first grant, as @wire_length
	 *	bytes to the second.
	 */
	NNACCEL_DO_COPY_OUT = 12,
	/** @NNACCEL_DO_PREPARE_CACHED: Prepare @model from parts saved under @token. */
	NNACCEL_DO_PREPARE_CACHED = 16,
	/**
	 * @NNACCEL_DO_CACHE_SAVE: Save @model under @token: commit with the bytes of each
	 *	part, __u64[num_inputs + num_outputs], as payload.
	 */
	NNACCEL_DO_CACHE_SAVE = 17
};

/**
 * enum nnaccel_layout - Layout of a buffer
 */
enum nnaccel_layout {
	/** @NNACCEL_LAYOUT_LINEAR: As in a pool: the kernel copies. */
	NNACCEL_LAYOUT_LINEAR = 0,
	/**
	 * @NNACCEL_LAYOUT_ENGINE: This worker's own, within the capacity: it
	 * gets COPY_IN and COPY_OUT.
	 */
	NNACCEL_LAYOUT_ENGINE = 1
};

/**
 * struct nnaccel_cmd_role - A role of a new buffer, for the worker
 * @model: number of the model
 * @kind: enum nnaccel_role_kind
 * @index: which input or output
 * @frequency: the client's; see struct nnaccel_role
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
 * @weights: bytes that the model keeps besides its pools: packed weights and
 *	computed constants
 * @execution: bytes for each concurrent execution; 0: not known
 * @device: bytes of the device's own memory for the model
 *
 * It comes only with NNACCEL_STATUS_NONE. fdinfo shows the worker's numbers; the
 * kernel does not depend on them.
 */
struct nnaccel_model_memory {
	__aligned_u64 weights;
	__aligned_u64 execution;
	__aligned_u64 device;
};

/* In a grant's prot: a dma-buf of another driver; see NNACCEL_SESSION_SYNC. */
#define NNACCEL_PROT_SYNC	(1 << 2)

/* In a grant's prot: a formatted pool; a struct nnaccel_format comes with the grant. */
#define NNACCEL_PROT_FORMATTED	(1 << 3)

/*
 * In a grant's prot: a pool that only devices can access: mmap() and NNACCEL_SESSION_SYNC
 * give EOPNOTSUPP, and NNACCEL_SESSION_GRANT_FD gives the dma-buf for the device.
 */
#define NNACCEL_PROT_DEVICE	(1 << 4)

/**
 * struct nnaccel_grant - Memory that a command lets the worker map
 * @grant: number, the same for a pool as long as it lives
 * @prot: NNACCEL_PROT_*: the protection that this command needs, which the pool's
 *	grant includes; NNACCEL_PROT_SYNC, _FORMATTED and _DEVICE as flags. Without
 *	NNACCEL_PROT_READ and _WRITE, only in SUPPORTED: the exporter of these
 *	constants refused access, so operations that use them are not supported
 * @length: bytes
 */
struct nnaccel_grant {
	__u32 grant;
	__u32 prot;
	__aligned_u64 length;
};

/**
 * struct nnaccel_format_plane - Layout of a plane of a formatted pool
 * @grant: the grant to map: the pool's own, or that of the plane's file, with
 *	the protection that the pool's grant has so far. Grants of planes' own files
 *	end with NNACCEL_DO_FORGET_GRANT, after the pool's
 * @offset: bytes from the start of that mapping to the first row
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
 * struct nnaccel_format - Layout of a formatted pool, constant as long as its grant lives
 * @fourcc: DRM_FORMAT_
 * @width: pixels of a row
 * @height: rows
 * @num_planes: planes
 * @planes: the planes; 0 beyond them. The first is in the pool's own grant
 *
 * Commands that name the pool also name its planes' files, so that access to them
 * has begun when the command is fetched. For requests of a burst
 * NNACCEL_SESSION_SYNC does that.
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
 * @size: bytes of the whole: this structure, then struct
 *	nnaccel_grant[num_grants], then struct nnaccel_arg[num_inputs +
 *	num_outputs], then struct nnaccel_cmd_role[num_roles], then
 *	__u8[attributes_size], then, from the next multiple of 8 on, struct
 *	nnaccel_format[num_formats]
 * @kind: enum nnaccel_cmd_kind
 * @cookie: names the command in NNACCEL_SESSION_COMMIT; 0: takes no commit
 * @model: number of the model, unique in the session
 * @num_grants: grants. PREPARE, SUPPORTED: the first is the wire form, the
 *	others are the model's pools in order. EXECUTE: the pools, then the
 *	buffers, both indexed by the arguments' pool fields, then the files of
 *	planes of formatted pools. An argument with NNACCEL_ARG_BUFFER has the
 *	size (an input) or the capacity (an output) of its buffer as length.
 *	PREPARE_CACHED, CACHE_SAVE: those of the parts that have memory, in order;
 *	CACHE_SAVE without grants asks for the sizes
 * @grant: FORGET_GRANT: the grant; SLOT_GONE: the slot
 * @num_inputs: EXECUTE: inputs; PREPARE_CACHED, CACHE_SAVE: model parts, whose arguments
 *	have a grant's index, an offset and a length, or NNACCEL_ARG_NO_VALUE if without memory
 * @num_outputs: EXECUTE: outputs; PREPARE_CACHED, CACHE_SAVE: data parts, likewise
 * @flags: PREPARE: NNACCEL_PREPARE_CACHE; EXECUTE: NNACCEL_EXECUTE_MEASURE;
 *	BURST: NNACCEL_BURST_NO_SPIN
 * @query: QUERY: the client's query
 * @preference: PREPARE, PREPARE_CACHED: enum nnaccel_preference
 * @priority: PREPARE, PREPARE_CACHED, EXECUTE: enum nnaccel_priority of the
 *	model
 * @wire_offset: PREPARE, SUPPORTED: bytes into the first grant
 * @wire_length: the same, COPY_IN, COPY_OUT: bytes
 * @deadline_ns: CLOCK_MONOTONIC time, 0: none
 * @loop_timeout_ns: EXECUTE: longest time in one loop, 0: the default
 * @max_payload: maximum bytes of the answer's payload
 * @burst: BURST, BURST_GONE, SLOT_GONE: number of the burst, unique in the
 *	session
 * @token: PREPARE_CACHED, CACHE_SAVE: the client's token
 * @num_roles: BUFFER: roles
 * @attributes_size: PREPARE, PREPARE_CACHED, EXECUTE: bytes of the client's
 *	attributes
 * @num_formats: EXECUTE: grants with NNACCEL_PROT_FORMATTED; their formats follow in
 *	the same order
 * @num_fences: EXECUTE: fences that the worker waits for, with NNACCEL_ATTACH_FENCES; see
 *	NNACCEL_SESSION_FENCE
 *
 * The payload of an execution with a buffer as output is struct
 * nnaccel_shape[num_outputs], then __u64[num_outputs]: the bytes written to each
 * output, which are read only for buffers. With NNACCEL_STATUS_NONE this payload
 * is mandatory.
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

/* Flags of NNACCEL_SESSION_FETCH and _COMMIT: return EAGAIN instead of waiting. */
#define NNACCEL_FETCH_NONBLOCK	(1 << 0)

/**
 * struct nnaccel_session_fetch - ioctl(NNACCEL_SESSION_FETCH)
 * @size: sizeof(struct nnaccel_session_fetch)
 * @flags: NNACCEL_FETCH_NONBLOCK
 * @buffer: room for a struct nnaccel_cmd and its arrays, 8-byte aligned
 * @buffer_size: bytes at @buffer
 * @out_size: out: bytes written; with EMSGSIZE: bytes needed
 *
 * Fetches the queued command of the highest priority, the oldest first. Many
 * threads may fetch at once. A command that does not fit stays queued.
 *
 * Errors:
 * EAGAIN: no command is queued.
 * EMSGSIZE: @buffer is too small.
 * EACCES: not attached.
 * ESHUTDOWN: the context is gone, or the session was ended.
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

/* Flags of NNACCEL_SESSION_COMMIT, besides those of the fetch: the command ends with @fence. */
#define NNACCEL_COMMIT_FENCE	(1 << 1)
/* The command continues, and @fence is its progress. */
#define NNACCEL_COMMIT_PROGRESS	(1 << 2)

/* The progress at the end. */
#define NNACCEL_PROGRESS_ALL	1000

/**
 * struct nnaccel_session_commit - ioctl(NNACCEL_SESSION_COMMIT)
 * @size: sizeof(struct nnaccel_session_commit)
 * @status: enum nnaccel_status
 * @cookie: the command's. With @buffer: set to 0 once the answer was accepted;
 *	0 from the start commits nothing
 * @payload: the answer; see enum nnaccel_cmd_kind
 * @payload_size: bytes at @payload, at most the command's max_payload
 * @message_size: bytes at @message, at most NNACCEL_MAX_MESSAGE
 * @message: error message for the client to log; need not be terminated
 * @device_ns: time on the device in ns, or NNACCEL_TIME_NONE; fdinfo adds up the times
 *	of executions, even if the client did not ask for them
 * @buffer: room for the next command, as in NNACCEL_SESSION_FETCH; 0: do not fetch
 * @buffer_size: bytes there
 * @flags: NNACCEL_FETCH_NONBLOCK, only with @buffer; NNACCEL_COMMIT_FENCE or
 *	NNACCEL_COMMIT_PROGRESS
 * @out_size: out, with @buffer: as in NNACCEL_SESSION_FETCH
 * @fence: with NNACCEL_COMMIT_FENCE: a sync_file, of any driver; with
 *	NNACCEL_COMMIT_PROGRESS: the progress out of NNACCEL_PROGRESS_ALL; else 0
 *
 * A commit to a command whose caller has given up succeeds and is dropped.
 *
 * With @buffer the call continues as NNACCEL_SESSION_FETCH once the answer was accepted,
 * and may return its errors. An error with @cookie 0 comes from the fetch: the answer
 * counts. The call may then be repeated with the same structure, and only fetches.
 *
 * With NNACCEL_COMMIT_FENCE hardware still executes the command. An EXECUTE, COPY_IN or
 * COPY_OUT, answered with NNACCEL_STATUS_NONE, ends when @fence signals. An error of the
 * fence makes the status MISSED_DEADLINE_TRANSIENT (ETIME, ETIMEDOUT) or
 * GENERAL_FAILURE, without shapes. After the commit only the fence decides: the death of
 * worker, broker or client does not end the command, because the hardware continues. If
 * the fence takes longer than the module's limit, the command ends with ETIME; the driver
 * must then stop the hardware's writes. A caller with a deadline does not wait longer
 * than for other commands. NNACCEL_SYNC_FILE gives the fence to the client.
 *
 * The fence is added to the reservation objects of the command's memory, for a writer
 * if the command writes there. So later commands and other drivers wait for it.
 *
 * With NNACCEL_COMMIT_PROGRESS a PREPARE or PREPARE_CACHED continues, and another commit
 * answers it. The status is NNACCEL_STATUS_NONE, and there is no payload, message or
 * @buffer. ECANCELED: the client no longer waits for the answer, so the worker may stop.
 *
 * Errors:
 * ENOENT: this session is not working on such a command.
 * EINVAL: an unknown status, or a size of payload that the command's kind does not allow.
 * EINVAL: a fence for another kind or status, or one that is not a sync_file.
 * EINVAL: progress of another kind, or above NNACCEL_PROGRESS_ALL.
 * EACCES: not attached.
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
 * struct nnaccel_session_slot - ioctl(NNACCEL_SESSION_SLOT)
 * @size: sizeof(struct nnaccel_session_slot)
 * @flags: must be 0
 * @burst: the burst
 * @slot: the slot
 * @out_grant: out: the grant of the whole pool, with the slot's protection
 * @out_format: out: its format, if it has NNACCEL_PROT_FORMATTED; else 0
 *
 * Mapped memory stays valid until NNACCEL_DO_FORGET_GRANT.
 *
 * Errors:
 * ENOENT: no such burst, or no such slot in it.
 * ENOSPC: too many notices wait to be fetched.
 * EACCES: not attached.
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
 * struct nnaccel_session_sync - ioctl(NNACCEL_SESSION_SYNC)
 * @size: sizeof(struct nnaccel_session_sync)
 * @flags: NNACCEL_SYNC_READ, NNACCEL_SYNC_WRITE or both; NNACCEL_SYNC_END: the
 *	access ends
 * @grant: a grant of a dma-buf
 * @__reserved: must be 0
 *
 * Waits for the fences of other drivers, then notifies the exporter that the CPU
 * begins or ends its access, as DMA_BUF_IOCTL_SYNC does for a dma-buf's own fd.
 * Requests of a burst need this, because the kernel does not see them: for grants
 * with NNACCEL_PROT_SYNC, and for all grants if the burst's status page reports
 * devices. The kernel does it for commands before they can be fetched and after
 * their commit. An interrupted exporter is called again; an end is never lost.
 *
 * Errors:
 * EINVAL: @flags has neither read nor write.
 * ENOENT: no such grant.
 * EOPNOTSUPP: the grant is not a dma-buf, or only devices can access it.
 * EACCES: the caller is not attached, or writing is not granted.
 * ESHUTDOWN: the session was ended. An access can still be ended until the session is
 * cut off from its context; the memory is not the worker's after that.
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
 * struct nnaccel_session_grant_fd - ioctl(NNACCEL_SESSION_GRANT_FD)
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
 * While the grant lives, each call with the same @prot gives the same dma-buf. It
 * cannot be imported as a pool.
 *
 * Without NNACCEL_PROT_WRITE mmap() and DMA_BUF_IOCTL_SYNC for writing give EACCES.
 * Importers can map the dma-buf DMA_TO_DEVICE. If the client's pool can be written,
 * they can map it DMA_BIDIRECTIONAL as well, as DRM's PRIME does: the client's input
 * is then safe only as long as the engine and its driver do not write it. A device
 * cannot write a pool that was imported for reading.
 *
 * The dma-buf has fences of its own, none at first. A command can be fetched when the
 * fences of its memory have signalled, or gives them by NNACCEL_SESSION_FENCE, and later
 * ones may wait for the command. So a driver that waits for all fences of the dma-buf
 * never waits for its own command.
 * Fences of its jobs reach the memory by NNACCEL_COMMIT_FENCE.
 *
 * The dma-buf is revoked when the grant ends, the session is closed or the client closes
 * its context. Attaching, mapping, mmap() and DMA_BUF_IOCTL_SYNC then give ENODEV, and
 * dynamic importers are notified (move_notify). Existing mappings of other importers
 * stay valid, and the pages are not freed, until they are unmapped.
 *
 * If the worker dies, commands that it has not answered wait until no device is
 * attached to the dma-bufs of their memory and the fences of these have signalled. They
 * end with EPIPE afterwards, or with ENOTRECOVERABLE if the module's bound for fences
 * passes. Their memory is not freed before that. A burst with slots for that memory does
 * not become dead earlier, either.
 *
 * Errors:
 * EINVAL: another @prot.
 * ENOENT: no such grant.
 * EOPNOTSUPP: the grant is not a dma-buf, or is a part of another driver's dma-buf.
 * EACCES: the caller is not attached, or writing is not granted.
 * ESHUTDOWN: the context is gone.
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
 * struct nnaccel_session_fence - ioctl(NNACCEL_SESSION_FENCE)
 * @size: sizeof(struct nnaccel_session_fence)
 * @flags: NNACCEL_FENCE_CLOEXEC
 * @cookie: an execution that was fetched and not answered
 * @index: number of the fence, below num_fences of struct nnaccel_cmd; in no order
 * @out_fd: out: a sync_file
 *
 * Returns a fence of hardware that the worker waits for, because it attached with
 * NNACCEL_ATTACH_FENCES. The call can be repeated.
 *
 * Errors:
 * ENOENT: this session is not working on such an execution, or it has no such fence.
 * EACCES: not attached.
 * EMFILE: no number is left for the file.
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
