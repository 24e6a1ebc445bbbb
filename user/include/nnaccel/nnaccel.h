/* SPDX-License-Identifier: MIT */
/*
 * libnnaccel: the NN HAL 1.2/1.3 interface to /dev/nnaccel and the other devices of the module.
 *
 * Handles are opaque; each kind of handle has a function that creates and a function that destroys
 * a handle. A call returns a status and stores new objects in its last parameters. Several threads
 * may call functions at a time, also on one object. Destroy an object only after every other call
 * on this object has returned. Apart from the log, all state is in handles. A failing call writes
 * one line to `err`, and a successful call empties `err`; `err` may be NULL. A device may be closed
 * before objects that were made from the device, because these objects hold references to the
 * device.
 *
 * A later version may add fields to a structure whose first field is `size`. Before a call, the
 * caller sets `size` to the size of the structure. A call returns NN_INVALID_ARGUMENT for a size
 * that no release had, or if a field that this library's version does not have is not 0. Structures
 * without `size` never change.
 */
#ifndef NNACCEL_NNACCEL_H
#define NNACCEL_NNACCEL_H

#include <nnaccel/device.h>
#include <nnaccel/model.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#ifndef __cplusplus
/*
 * Makes a structure for one call: sets its `size` and the given fields, and all other fields to 0.
 */
#define NNA_SIZED(type, ...) (&(const struct type){ .size = sizeof(struct type), __VA_ARGS__ })
#endif

struct nna_device;
struct nna_memory;
struct nna_prepared_model;
struct nna_burst;
struct nna_buffer;

#define NNA_DEVICE_PATH "/dev/nnaccel"

/* Returns the HAL's name of a status, such as "GENERAL_FAILURE"; never NULL. */
const char *nna_status_name(enum nn_status status);

/* The value, in microseconds, of a time that was not measured. */
#define NNA_TIME_NONE UINT64_MAX

/*
 * Opens a device. If path is NULL, opens the path in the environment variable NNACCEL_DEVICE
 * (default NNA_DEVICE_PATH). The device's fd is close-on-exec and usable only in this address
 * space: a child process must open the device itself. The function nna_device_open() does not wait
 * for an engine to register. Returns NN_DEVICE_UNAVAILABLE if the device does not exist or denies
 * access, or if the module's ABI differs.
 *
 * If path is a socket, the device works without the module, for tests: an engine started with
 * --direct serves the device. A device without the module has no memory limits. Without the module
 * there are no fenced executions, io_uring, images or dma-bufs: calls for these features return
 * NN_GENERAL_FAILURE or NN_INVALID_ARGUMENT.
 */
enum nn_status nna_device_open(const char *path, struct nna_device **device,
			       struct nn_error *err);
void nna_device_close(struct nna_device *device);

/* Maximum number of devices of the module. */
#define NNA_MAX_DEVICES 64

/* A device: an engine that registered with the module under a name. */
struct nna_device_entry {
	char path[32];		/* path of the device's node */
	/* Name of the device's engine; empty without sysfs, or if no engine has registered yet. */
	char name[32];
	char version[64];	/* version of the engine's broker */
	uint32_t type;		/* enum nn_device_type; 0 if not reported */
	uint32_t is_ready;	/* 1 if the engine is registered */
};

/*
 * Lists the devices of /sys/class/nnaccel in the order of their numbers. Without sysfs, lists
 * NNA_DEVICE_PATH if this file exists. On entry, *count is the length of `entries`; on return, it
 * is the number of devices, which may be larger. `entry_size` is sizeof(struct nna_device_entry).
 */
enum nn_status nna_device_list(struct nna_device_entry *entries, size_t entry_size,
			       uint32_t *count, struct nn_error *err);

/* Opens the device whose engine is called `name`, like nna_device_open(). */
enum nn_status nna_device_open_by_name(const char *name, struct nna_device **device,
				       struct nn_error *err);

/*
 * IDevice::getStatus: returns NNA_AVAILABLE, NNA_OFFLINE if the device has no engine, or
 * NNA_UNKNOWN if the call to the module fails. NNA_BUSY, which the HAL defines, is never returned.
 */
enum nna_device_status {
	NNA_AVAILABLE = 0,
	NNA_BUSY = 1,
	NNA_OFFLINE = 2,
	NNA_UNKNOWN = 3,
};
enum nna_device_status nna_device_status(struct nna_device *device);

/*
 * IDevice::getCapabilities_1_3, getVersionString, getType, getNumberOfCacheFilesNeeded: asks the
 * engine, and caches the answer until another worker serves this client. While the device has no
 * engine, returns the last cached answer.
 */
enum nn_status nna_device_get_info(struct nna_device *device, struct nn_device_info *info,
				   struct nn_error *err);

/*
 * IDevice::getSupportedExtensions; the result is cached like that of nna_device_get_info(). The
 * device owns *extensions, which stays valid until the process that opened the device closes it. The
 * list is empty if the client had no permission for extensions when the client opened the device.
 */
enum nn_status nna_device_get_extensions(struct nna_device *device,
					 const struct nn_device_extension **extensions,
					 uint32_t *count, struct nn_error *err);

/* The kernel's data of one opened device: limits, memory in use, counters. */
struct nna_context_info {
	uint32_t size;
	uint32_t abi;
	/* 0: no engine, 1: engine without a worker for this client, 2: with a worker */
	uint32_t engine;
	uint32_t max_pools, max_models, max_commands, max_bursts;
	uint32_t bursts;
	uint64_t max_pool_bytes, max_context_bytes, max_user_bytes;
	uint64_t pool_bytes, import_bytes;
	uint64_t executions;
	uint64_t engine_ns;
	uint64_t features;		/* of nnaccel_info */
};
enum nn_status nna_device_get_context_info(struct nna_device *device,
					   struct nna_context_info *info, struct nn_error *err);

/*
 * The functions nna_memory_alloc() and nna_memory_import() make memory that the device can access.
 * Memory is reference-counted: callers may free memory that a prepared model or an execution still
 * uses. Freeing memory also releases its slots in bursts.
 *
 * nna_memory_alloc() makes zeroed memory of the kernel module. nna_memory_import() makes memory
 * from a part of a dma-buf, memfd or regular file, at any offset. The caller still owns the fd of
 * imported memory, and may close the fd. A dma-buf that no CPU can map can be imported if the
 * engine's hardware can access it. Memory that no CPU can map can be an argument, but not a
 * constant. Returns NN_INVALID_ARGUMENT for length 0, a wrong `prot` or a bad fd. Returns
 * NN_GENERAL_FAILURE for a file that cannot be mapped, is too short, was not opened for `prot`, or
 * is sealed against `prot`. Returns NN_RESOURCE_EXHAUSTED_PERSISTENT for more than max_pool_bytes,
 * and NN_RESOURCE_EXHAUSTED_TRANSIENT if another limit is exceeded.
 */
enum nn_status nna_memory_alloc(struct nna_device *device, uint64_t size,
				struct nna_memory **memory, struct nn_error *err);
struct nna_file {
	uint32_t size;
	int fd;
	int prot;		/* PROT_READ or PROT_READ | PROT_WRITE of <sys/mman.h> */
	uint64_t offset;	/* bytes */
	uint64_t length;
};
enum nn_status nna_memory_import(struct nna_device *device, const struct nna_file *file,
				 struct nna_memory **memory, struct nn_error *err);
void nna_memory_free(struct nna_memory *memory);
uint64_t nna_memory_size(const struct nna_memory *memory);

/* A plane of an image; struct nna_format itself describes the first plane. */
struct nna_plane {
	int fd;			/* file of the plane; -1: the file of the first plane */
	uint32_t stride;	/* bytes */
	uint64_t offset;	/* byte offset of the plane's first row in the file */
};

/*
 * The layout of an image in memory: each plane consists of rows, which are `stride` bytes apart.
 * Supported formats are those of Documentation/memory.rst: formats of one plane with pixels of
 * whole bytes, and NV12, NV21, YUV420, YVU420 and P010.
 */
struct nna_format {
	uint32_t size;
	uint32_t fourcc;	/* DRM_FORMAT_ */
	uint32_t width;		/* pixels */
	uint32_t height;
	uint32_t stride;	/* stride of the first plane in bytes */
	uint64_t offset;	/* byte offset of the first plane's first row in the file */
	uint64_t modifier;	/* DRM_FORMAT_MOD_LINEAR: 0 */
	struct nna_plane planes[3];	/* second to fourth plane of the fourcc */
};

/*
 * Imports an image; the parameters fd and prot are as for nna_memory_import(). An argument that
 * uses the image has offset 0 and length 0. The argument's value is the rows of all planes in
 * order, without padding; nna_memory_size() returns the size of this value. An image without
 * padding is used in place, without a copy. An image cannot hold constants (nna_prepare_model()
 * returns NN_GENERAL_FAILURE), and this library cannot map or export an image. Returns
 * NN_INVALID_ARGUMENT for a size that the format cannot have, a stride shorter than a row, or rows
 * beyond the file. Returns NN_GENERAL_FAILURE for a fourcc or modifier that is not supported, or a
 * file that the device cannot access.
 */
enum nn_status nna_memory_import_formatted(struct nna_device *device, int fd, int prot,
					   const struct nna_format *format,
					   struct nna_memory **memory, struct nn_error *err);

/*
 * Maps memory of nna_memory_alloc() into this process. The first call makes the mapping, later
 * calls return the same mapping, and freeing the memory removes the mapping. Returns NULL with the
 * reason in err if the memory cannot be mapped. Returns NULL for imported memory, whose file the
 * library does not keep open; callers map the file themselves.
 */
void *nna_memory_map(struct nna_memory *memory, struct nn_error *err);

/* Returns a new dma-buf fd of memory that nna_memory_alloc() made; the caller closes the fd. */
enum nn_status nna_memory_export(struct nna_memory *memory, int *fd, struct nn_error *err);

/*
 * IDevice::getSupportedOperations_1_3: sets supported[i] for each operation i of the main subgraph.
 * The element memories[i] is pool i of the model. Operations that use unreachable memory are not
 * supported. Memory is unreachable if it could not be imported, if its driver rejects accesses or
 * has withdrawn it, or if its file has become shorter. If the memory of pool i could not be
 * imported, memories[i] is NULL and model->pools[i].size is the memory's size. For imported memory,
 * model->pools[i] is not read. Returns NN_INVALID_ARGUMENT if the model violates a rule of the
 * NNAPI.
 */
enum nn_status nna_get_supported_operations(struct nna_device *device,
					    const struct nn_model *model,
					    struct nna_memory *const *memories,
					    bool *supported, struct nn_error *err);

/*
 * IDevice::getNumberOfCacheFilesNeeded: the numbers of model files and data files in an entry of
 * the compilation cache. If the engine needs no cache files, it has no index of saved models, and
 * the compilation cache is not used.
 */
enum nn_status nna_cache_files_needed(struct nna_device *device, uint32_t *model_files,
				      uint32_t *data_files, struct nn_error *err);

#define NNA_CACHE_TOKEN_SIZE 32

/*
 * An entry of the compilation cache: the HAL's modelCache and dataCache handles and token. The
 * cache files belong to the caller and are open for reading and writing. While the library reads or
 * writes the files, it holds OFD locks on the files, with its own open file descriptions. A model
 * loaded from data files keeps these files locked for reading. A program that locks the files
 * before it writes therefore cannot change the data files of a loaded model.
 *
 * Each combination of a model, its constants and a preference must have its own token. The engine
 * does not compare models: for a token, the engine loads the model that was saved under the token.
 */
struct nna_cache {
	uint32_t size;
	const int *model_files;
	uint32_t num_model_files;
	const int *data_files;
	uint32_t num_data_files;
	uint8_t token[NNA_CACHE_TOKEN_SIZE];
	/*
	 * Receives the reason why nna_prepare_model() did not save the entry, as one line; may be
	 * NULL. The reason is empty if the entry was saved. The reason is also empty if the engine
	 * compiles the model, and saves the entry, only after the first execution.
	 */
	struct nn_error *not_saved;
	/*
	 * Called on a thread of the library when an entry was saved after the prepared model was
	 * returned, or when saving failed; may be NULL. An entry is saved after the first execution
	 * (see not_saved), and again after many executions, with the engine's measurements.
	 * `reason` says why saving failed, and is empty after success. For deferred saves, the
	 * library duplicates the fds of the cache files. nna_prepared_model_free() waits until a
	 * running deferred_saved() returns.
	 */
	void (*deferred_saved)(void *data, const char *reason);
	void *deferred_saved_data;
};

enum nna_preference {
	NNA_PREFER_FAST_SINGLE_ANSWER = 0,
	NNA_PREFER_LOW_POWER = 1,
	NNA_PREFER_SUSTAINED_SPEED = 2,
};

/* The priority of a model's executions among all executions of the same user. */
enum nna_priority {
	NNA_PRIORITY_MEDIUM = 0,
	NNA_PRIORITY_LOW = 1,
	NNA_PRIORITY_HIGH = 2,
};

struct nna_prepare_options {
	uint32_t size;
	uint32_t preference;	/* enum nna_preference */
	uint32_t priority;	/* enum nna_priority */
	uint64_t deadline_ns;	/* CLOCK_MONOTONIC, 0: none */
	/*
	 * The entry to which nna_prepare_model() saves the prepared model, or NULL. The preparation
	 * succeeds even if saving fails, for example because a file is not writable.
	 */
	const struct nna_cache *cache;
	/*
	 * Allows the engine to store the compiled model in its own cache. The engine may also load
	 * the compiled model from its cache if the same user has stored an equal model.
	 * NNACCEL_ENGINE_CACHE=1 in the environment has the same effect as engine_cache.
	 */
	bool engine_cache;
	/*
	 * Attributes for the device's extensions, for the compilation and each execution; or NULL.
	 * The preparation fails with NN_INVALID_ARGUMENT if an extension rejects an attribute, or
	 * if all attributes and the extensions' names exceed 64 KiB. A call of
	 * nna_prepare_model_from_cache() needs the attributes with which the model was prepared.
	 */
	const struct nn_attributes *attributes;
	/*
	 * Called from time to time while the engine prepares the model, with the progress in
	 * thousandths that the engine reports; may be NULL. If progress() returns false, the
	 * preparation is cancelled and fails with NN_GENERAL_FAILURE.
	 */
	bool (*progress)(void *data, uint32_t thousandths);
	void *progress_data;
};

/*
 * IDevice::prepareModel_1_3, synchronous. If `options` is NULL, all options are 0. The model may be
 * freed after the call. The prepared model holds references to the memories of its constants, and
 * the engine reads the constants in these memories without a copy.
 */
enum nn_status nna_prepare_model(struct nna_device *device, const struct nn_model *model,
				 struct nna_memory *const *memories,
				 const struct nna_prepare_options *options,
				 struct nna_prepared_model **prepared, struct nn_error *err);
void nna_prepared_model_free(struct nna_prepared_model *prepared);

/* A preparation of a model in the background. */
struct nna_preparation;

/*
 * IDevice::prepareModel_1_3, asynchronous: starts the work of nna_prepare_model(), and does not
 * wait for the engine. Any number of preparations may run at a time. The model, the handles of its
 * memories and the options may be freed when the call returns. Only the entry `cache` of the
 * options must stay valid until nna_preparation_finish() has saved the model to the entry. Only one
 * thread at a time may use a preparation. The preparation holds a reference to the device. If the
 * device was opened by a socket, nna_preparation_start() waits for the engine.
 */
enum nn_status nna_preparation_start(struct nna_device *device, const struct nn_model *model,
				     struct nna_memory *const *memories,
				     const struct nna_prepare_options *options,
				     struct nna_preparation **preparation, struct nn_error *err);

/*
 * Returns whether a preparation has ended, with success or not. Sets *thousandths to the last
 * progress that the engine reported. Does not wait.
 */
bool nna_preparation_has_ended(struct nna_preparation *preparation, uint32_t *thousandths);

/*
 * Waits for the end of a preparation, and returns the model. After a successful call, another call
 * of nna_preparation_finish() for the preparation returns NN_INVALID_ARGUMENT. While waiting,
 * nna_preparation_finish() calls the function `progress` of the options. The status, and the reason
 * in `err`, are those that nna_prepare_model() returns. The caller must call nna_preparation_free()
 * also after a failure.
 */
enum nn_status nna_preparation_finish(struct nna_preparation *preparation,
				      struct nna_prepared_model **prepared, struct nn_error *err);

/*
 * Frees a preparation, and cancels a preparation that has not ended. The engine notices the
 * cancellation when the engine next reports progress. A model that nna_preparation_finish()
 * returned stays valid. NULL is allowed.
 */
void nna_preparation_free(struct nna_preparation *preparation);

/*
 * Sets the signature of a prepared model that was loaded from a cache, so that
 * nna_buffer_allocate() can use the model. A model that nna_prepare_model() prepared already has a
 * signature. Call nna_prepared_model_set_signature() before any other thread uses `prepared`.
 * Returns NN_OK or NN_OUT_OF_MEMORY.
 */
enum nn_status nna_prepared_model_set_signature(struct nna_prepared_model *prepared,
						const struct nn_model *model,
						struct nn_error *err);

/*
 * IDevice::prepareModelFromCache_1_3, synchronous: loads a prepared model from an entry that
 * nna_prepare_model() saved in this or another process of the same user. `options` are the same as
 * for nna_prepare_model(), but the field `cache` of `options` is ignored. Returns
 * NN_INVALID_ARGUMENT for a wrong number of files, or for a file that is not a regular file open
 * for reading and writing. Returns NN_GENERAL_FAILURE if this engine did not save the files under
 * this token for this user, or if a process is writing to the files. If loading from the cache
 * fails, the caller should call nna_prepare_model().
 */
enum nn_status nna_prepare_model_from_cache(struct nna_device *device,
					    const struct nna_cache *cache,
					    const struct nna_prepare_options *options,
					    struct nna_prepared_model **prepared,
					    struct nn_error *err);

/* An input or output of a request, like the HAL's RequestArgument. */
struct nna_argument {
	bool has_no_value;
	/* index of a memory, or num_memories + index of a token */
	uint32_t pool;
	uint64_t offset;		/* offset in bytes; 0 for a buffer */
	uint64_t length;		/* length in bytes; 0 for a buffer */
	uint32_t rank;			/* 0: the argument has the model's dimensions */
	uint32_t dims[NN_MAX_RANK];
};

struct nna_request {
	uint32_t size;
	uint32_t num_inputs;
	uint32_t num_outputs;
	uint32_t num_memories;
	const struct nna_argument *inputs;
	const struct nna_argument *outputs;
	struct nna_memory *const *memories;
	uint32_t num_tokens;
	const uint32_t *tokens;		/* tokens of buffers, without repetition */
};

struct nna_output_shape {
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];
	bool is_sufficient;
};

struct nna_timing {
	uint64_t on_device_us;		/* times in microseconds; NNA_TIME_NONE if not measured */
	uint64_t in_driver_us;
};

/*
 * Results of an execution, except the bytes of outputs. A pointer is NULL if the caller does not
 * want this result.
 */
struct nna_results {
	uint32_t size;
	struct nna_output_shape *shapes;	/* array of num_outputs entries */
	/* number of outputs; 0 if the status is neither NN_OK nor NN_OUTPUT_INSUFFICIENT_SIZE */
	uint32_t *num_shapes;
	struct nna_timing *timing;	/* NNA_TIME_NONE unless measured */
};

struct nna_execute_options {
	uint32_t size;
	bool measure;
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	uint64_t loop_timeout_ns;	/* time limit of a loop: 0 means 2 s, at most 15 s */
	/*
	 * Attributes for the device's extensions in this execution, or NULL; the limits are those
	 * of nna_prepare_options.attributes.
	 */
	const struct nn_attributes *attributes;
};

/*
 * IPreparedModel::executeSynchronously_1_3. `options` and `results` may be NULL. Returns
 * NN_DEAD_OBJECT if the worker died before or during the call; the caller must prepare the model
 * again after NN_DEAD_OBJECT.
 */
enum nn_status nna_execute(struct nna_prepared_model *prepared, const struct nna_request *request,
			   const struct nna_execute_options *options,
			   const struct nna_results *results, struct nn_error *err);

/*
 * Files that an execution waits for, and the execution's time limit, which begins when all files
 * have signalled.
 */
struct nna_dependencies {
	uint32_t size;
	uint32_t num_files;
	const int *files;
	uint64_t duration_ns;	/* 0: none */
};

/*
 * IPreparedModel::executeFenced: starts an execution once all files of `after` (NULL: none) have
 * signalled success, and does not wait for the execution's end. Each file of `after` is a sync_file
 * of any driver, or a fence that nna_execute_fenced() made for any device. The file *fence becomes
 * readable (POLLIN) at the execution's end; the caller closes the file. The returned fence is not a
 * sync_file, because the end of the execution depends on a process. Returns NN_INVALID_ARGUMENT if
 * neither the request nor the model gives an output's shape, or if a file of `after` is neither a
 * sync_file nor a fence of nna_execute_fenced(). Returns NN_INVALID_ARGUMENT if the request names
 * buffers and the model, which came from a cache, has no signature (see
 * nna_prepared_model_set_signature()). The request and the handles of its memories may be
 * freed when the call returns. A buffer that is an output counts as filled when the call returns.
 */
enum nn_status nna_execute_fenced(struct nna_prepared_model *prepared,
				  const struct nna_request *request,
				  const struct nna_execute_options *options,
				  const struct nna_dependencies *after, int *fence,
				  struct nn_error *err);

/*
 * IFencedExecutionCallback::getExecutionInfo: returns the status of a fence's execution, with the
 * reason of a failure. The function can be called any number of times with the fd of
 * nna_execute_fenced(), but only once with a duplicate of this fd. The times in `launched` begin at
 * the call of nna_execute_fenced(), and the times in `fenced` begin at the end of the last
 * dependency. A time that was not measured is NNA_TIME_NONE; `launched` and `fenced` may be NULL.
 * Returns NN_GENERAL_FAILURE if the execution has not ended yet, or if a file that it waited for
 * signalled an error. Returns NN_INVALID_ARGUMENT if the fd is not the fence of an execution of
 * this device.
 */
enum nn_status nna_fence_get_info(struct nna_device *device, int fence,
				  struct nna_timing *launched, struct nna_timing *fenced,
				  struct nn_error *err);

/*
 * Gets the syncFence of IPreparedModel::executeFenced: a sync_file for other drivers, which signals
 * when the hardware has finished the execution. The caller closes the sync_file. The function
 * nna_fence_get_sync_file() waits until the engine has passed the execution to the hardware.
 * Returns NN_GENERAL_FAILURE if the engine ends the execution without a fence. Returns
 * NN_GENERAL_FAILURE immediately if the execution uses memory that a CPU accesses, or waits for a
 * dependency. Returns NN_INVALID_ARGUMENT if the parameter `fence` is no fence of this device.
 */
enum nn_status nna_fence_get_sync_file(struct nna_device *device, int fence, int *sync_file,
				       struct nn_error *err);

/* BufferRole of the HAL: an input or output of models[model]. */
struct nna_role {
	uint32_t model;
	uint32_t index;
	/*
	 * The share of the model's executions that use the buffer, in (0, 1]: a hint for the
	 * engine.
	 */
	float frequency;
};

/*
 * BufferDesc of the HAL: a buffer's dimensions. A dimension of 0 is unknown; if the rank is 0, all
 * dimensions are unknown.
 */
struct nna_buffer_desc {
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];
};

/* The models, roles and dimensions of a buffer (`desc` is NULL if the dimensions are unknown). */
struct nna_buffer_roles {
	uint32_t size;
	uint32_t num_models;
	struct nna_prepared_model *const *models;
	const struct nna_role *inputs;
	const struct nna_role *outputs;
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nna_buffer_desc *desc;
};

/*
 * IDevice::allocate: makes a buffer in memory of the device, for the given roles; no process maps
 * this memory. The buffer's dimensions are merged from `desc` and all roles. Each write to the
 * buffer sets the dimensions that `desc` and the roles leave unknown, and enlarges the buffer if
 * necessary. The token (not 0) names the buffer in requests until the buffer is freed; the device
 * may then reuse the token. Returns NN_INVALID_ARGUMENT if there is no model or no role, if a role
 * is repeated or does not exist in its model, or if roles have different types or dimensions.
 * Returns NN_RESOURCE_EXHAUSTED_* if a limit is exceeded, and NN_DEAD_OBJECT if a model's worker is
 * dead.
 *
 * An execution may use a buffer only for an argument that is one of the buffer's roles. An
 * execution returns NN_INVALID_ARGUMENT if an argument is not one of its buffer's roles, or if a
 * buffer is both input and output. An execution returns NN_INVALID_ARGUMENT if an input's shape
 * differs from the buffer's shape, or if an output's shape differs from the shape that `desc` and
 * the buffer's roles give. An execution returns NN_GENERAL_FAILURE if an input's buffer is empty.
 * Concurrent writes to a buffer of the execution, and concurrent reads of an output's buffer, also
 * cause NN_GENERAL_FAILURE. If an execution fails after it began, the buffers of its outputs become
 * empty.
 *
 * A buffer's contents outlive the models and their worker.
 */
enum nn_status nna_buffer_allocate(struct nna_device *device, const struct nna_buffer_roles *roles,
				   struct nna_buffer **buffer, uint32_t *token,
				   struct nn_error *err);

/*
 * Frees a buffer. Executions in flight may still use a buffer that nna_buffer_free() frees. NULL is
 * allowed.
 */
void nna_buffer_free(struct nna_buffer *buffer);

/* Returns the size of a buffer's contents in bytes; 0 if the buffer is empty. */
uint64_t nna_buffer_size(struct nna_buffer *buffer);

/*
 * IBuffer::copyTo and copyFrom: copy between a buffer and a whole memory object. If `rank` is not
 * 0, `dims` sets the dimensions of the buffer's shape that are unknown. The memory must have the
 * size of the buffer after the unknown dimensions are set. If the memory belongs to another driver,
 * the kernel waits for that driver's fences, and notifies the driver before and after the copy. The
 * functions nna_buffer_read() and nna_buffer_write() copy to and from memory of this process. After
 * a failed copy into the buffer, the buffer is empty. The calls return NN_INVALID_ARGUMENT for a
 * wrong size or shape, or a copy to memory that is not writable. The calls return
 * NN_GENERAL_FAILURE if the buffer is empty or in use, or if the memory cannot be accessed.
 */
enum nn_status nna_buffer_copy_to(struct nna_buffer *buffer, struct nna_memory *memory,
				  struct nn_error *err);
enum nn_status nna_buffer_copy_from(struct nna_buffer *buffer, struct nna_memory *memory,
				    uint32_t rank, const uint32_t *dims, struct nn_error *err);
enum nn_status nna_buffer_read(struct nna_buffer *buffer, void *data, uint64_t size,
			       struct nn_error *err);
enum nn_status nna_buffer_write(struct nna_buffer *buffer, const void *data, uint64_t size,
				uint32_t rank, const uint32_t *dims, struct nn_error *err);

struct nna_burst_options {
	uint32_t size;
	uint32_t capacity;	/* number of datums in each ring, 0: 1024 */
	int32_t spin_us;	/* maximum spinning time of a wait; 0: default, negative: none */
};

/*
 * IPreparedModel::configureExecutionBurst: makes a burst, a connection to the worker through shared
 * memory, for executions that run one after another. `options` may be NULL. A waiting burst does
 * not spin if the model was prepared for low power or only one CPU is online. NNACCEL_SPIN_US in
 * the environment also limits the time for which a wait spins. Free the burst before the prepared
 * model. Returns NN_RESOURCE_EXHAUSTED_TRANSIENT if too many bursts exist, and NN_DEAD_OBJECT if
 * the model's worker is dead.
 */
enum nn_status nna_burst_create(struct nna_prepared_model *prepared,
				const struct nna_burst_options *options,
				struct nna_burst **burst, struct nn_error *err);
void nna_burst_free(struct nna_burst *burst);

/*
 * Executes a request by the burst's rings, with the same results as nna_execute(). A memory object
 * that a request uses is bound to the burst until the memory is freed. An execution with the same
 * arguments as the burst's previous execution calls neither the kernel nor malloc(). A request
 * longer than a ring is executed by nna_execute(). A request with buffers, a deadline, a loop
 * timeout, attributes, or an offset or length of 4 GiB or more is executed by nna_execute(). If the
 * rings become corrupt, all requests that were not yet sent are executed by nna_execute(). Returns
 * NN_DEVICE_UNAVAILABLE while another execution of the burst runs, and NN_DEAD_OBJECT if the worker
 * died.
 */
enum nn_status nna_burst_execute(struct nna_burst *burst, const struct nna_request *request,
				 const struct nna_execute_options *options,
				 const struct nna_results *results, struct nn_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_NNACCEL_H */
