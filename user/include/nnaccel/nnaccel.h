/* SPDX-License-Identifier: MIT */
/*
 * libnnaccel: the NN HAL 1.2/1.3 interface to /dev/nnaccel and further devices.
 *
 * Handles are opaque; functions that create and destroy them come in pairs. A call returns a status
 * and stores new objects in its last parameters. All functions may be called from any thread, also
 * on one object at the same time. Only the destruction of an object must wait until every other
 * call on it has returned. Apart from the log, all state is in handles. Every `err` may be NULL. If
 * not, a failing call writes one line there, and a successful call none. Objects made from a device
 * hold it, so it may be closed before them.
 *
 * A structure whose first field is `size` may grow. The caller sets `size` to the size of the
 * structure before the library reads or writes it. A call returns NN_INVALID_ARGUMENT for a size
 * that no release had, or if unknown fields of a newer header are not 0. Other structures never
 * change.
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
/* Makes a structure for one call, with its size and the given fields; the others are 0. */
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
 * Opens a device (path NULL: the environment's variable NNACCEL_DEVICE, or NNA_DEVICE_PATH). The
 * file is close-on-exec and belongs to this address space: a child must open its own. Does not wait
 * for an engine. NN_DEVICE_UNAVAILABLE: no such device, no permission, or another ABI.
 *
 * The path of a socket is a device without the module, for tests: an engine that was started with
 * --direct serves it. It has no fenced executions, io_uring, images and dma-bufs
 * (NN_GENERAL_FAILURE or NN_INVALID_ARGUMENT), and no limits of memory.
 */
enum nn_status nna_device_open(const char *path, struct nna_device **device,
			       struct nn_error *err);
void nna_device_close(struct nna_device *device);

/* Maximum number of devices. */
#define NNA_MAX_DEVICES 64

/* A device: an engine that registered with the module under a name. */
struct nna_device_entry {
	char path[32];		/* of its node */
	/* Name of its engine; empty without sysfs, or if no engine has registered yet. */
	char name[32];
	char version[64];	/* version of its engine's broker */
	uint32_t type;		/* enum nn_device_type; 0 if not reported */
	uint32_t is_ready;	/* the engine is registered */
};

/*
 * Lists the devices of /sys/class/nnaccel in the order of their numbers. Without sysfs it lists
 * NNA_DEVICE_PATH if that exists. *count is the room in entries, and becomes the number of devices,
 * which may be larger. entry_size is sizeof(struct nna_device_entry).
 */
enum nn_status nna_device_list(struct nna_device_entry *entries, size_t entry_size,
			       uint32_t *count, struct nn_error *err);

/* Does the same as nna_device_open() for the device of an engine's name. */
enum nn_status nna_device_open_by_name(const char *name, struct nna_device **device,
				       struct nn_error *err);

/*
 * IDevice::getStatus: AVAILABLE, or OFFLINE while no engine is there; UNKNOWN where the module
 * cannot be asked. The HAL's BUSY is never returned.
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
 * engine, and caches the answer as long as one worker serves the device. Without an engine it
 * returns the last answer.
 */
enum nn_status nna_device_get_info(struct nna_device *device, struct nn_device_info *info,
				   struct nn_error *err);

/*
 * IDevice::getSupportedExtensions, asked once and cached likewise. The device owns *extensions,
 * which is valid until it is closed. The list is empty if this client was not admitted to
 * extensions when it opened the device.
 */
enum nn_status nna_device_get_extensions(struct nna_device *device,
					 const struct nn_device_extension **extensions,
					 uint32_t *count, struct nn_error *err);

/* The kernel's data of this context: limits, memory in use, counters. */
struct nna_context_info {
	uint32_t size;
	uint32_t abi;
	uint32_t engine;		/* 0: none, 1: without a worker for this context, 2: with one */
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
 * Make memory that the device can access. Memory is reference-counted: free may be called while a
 * prepared model or an execution still uses it. Freeing also ends the memory's slots in bursts.
 *
 * nna_memory_alloc() makes zeroed memory of the kernel module. nna_memory_import() takes a part of
 * a dma-buf, memfd or regular file, at any offset. The caller still owns the fd, and may close it.
 * A dma-buf that no CPU can map is imported if the device's engine reaches it without a CPU. It can
 * be an argument, but not a constant. Returns NN_INVALID_ARGUMENT for length 0, another protection
 * or a bad fd. Returns NN_GENERAL_FAILURE for memory that the device cannot reach: a file that
 * cannot be mapped, is too short, was not opened for `prot`, or is sealed against it. Returns
 * NN_RESOURCE_EXHAUSTED_TRANSIENT beyond a limit, NN_RESOURCE_EXHAUSTED_PERSISTENT for more than
 * the largest pool.
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

/* A plane of an image, after the first. */
struct nna_plane {
	int fd;			/* file of the plane; -1 for the first plane's file */
	uint32_t stride;	/* bytes */
	uint64_t offset;	/* bytes into that file to the first row */
};

/*
 * An image as memory: planes of rows of pixels, `stride` bytes from one to the next. The formats
 * are those of Documentation/memory.rst: formats of one plane with pixels of whole bytes, and NV12,
 * NV21, YUV420, YVU420 and P010.
 */
struct nna_format {
	uint32_t size;
	uint32_t fourcc;	/* DRM_FORMAT_ */
	uint32_t width;		/* pixels */
	uint32_t height;
	uint32_t stride;	/* bytes, of the first plane */
	uint64_t offset;	/* bytes into the file to its first row */
	uint64_t modifier;	/* DRM_FORMAT_MOD_LINEAR: 0 */
	struct nna_plane planes[3];	/* the second and further ones, as the fourcc has */
};

/*
 * Imports an image; fd and prot as for nna_memory_import(). An argument uses it whole, with offset
 * and length 0. Its value is the rows of its planes in their order without padding, and
 * nna_memory_size() is their size. An image without padding is not copied. It cannot hold constants
 * (nna_prepare_model() returns NN_GENERAL_FAILURE), and cannot be mapped or exported here. Returns
 * NN_INVALID_ARGUMENT for a size that the format cannot have, a stride shorter than a row, or rows
 * beyond the file. Returns NN_GENERAL_FAILURE for a fourcc, modifier or file that the device cannot
 * reach.
 */
enum nn_status nna_memory_import_formatted(struct nna_device *device, int fd, int prot,
					   const struct nna_format *format,
					   struct nna_memory **memory, struct nn_error *err);

/*
 * Returns this process's mapping of memory by nna_memory_alloc(), which lasts from the first call
 * until the memory is freed; NULL (with err) if it cannot be mapped. Map imported memory by its
 * file, because the library does not keep the file open.
 */
void *nna_memory_map(struct nna_memory *memory, struct nn_error *err);

/* Returns a new dma-buf fd of memory that nna_memory_alloc() made; the caller closes it. */
enum nn_status nna_memory_export(struct nna_memory *memory, int *fd, struct nn_error *err);

/*
 * IDevice::getSupportedOperations_1_3: supported[i] for each operation of the main subgraph.
 * memories[i] is pool i of the model, whose `pools` are otherwise not read. Operations that use
 * unreachable memory are not supported. Memory is unreachable if its driver refuses or has
 * withdrawn it, its file has become shorter, or it could not be imported. In the last case
 * memories[i] is NULL, and model->pools[i].size is its size. Returns NN_INVALID_ARGUMENT if the
 * model is wrong.
 */
enum nn_status nna_get_supported_operations(struct nna_device *device,
					    const struct nn_model *model,
					    struct nna_memory *const *memories,
					    bool *supported, struct nn_error *err);

/*
 * IDevice::getNumberOfCacheFilesNeeded: the number of files of each kind in an entry of the
 * compilation cache. If both are 0, the engine keeps no index, so nothing is saved or found.
 */
enum nn_status nna_cache_files_needed(struct nna_device *device, uint32_t *model_files,
				      uint32_t *data_files, struct nn_error *err);

#define NNA_CACHE_TOKEN_SIZE 32

/*
 * An entry of the compilation cache: the HAL's modelCache and dataCache handles and its token. The
 * files belong to the caller and are open for reading and writing. The library opens them once more
 * and locks them (OFD) while it reads or writes. A model that was loaded keeps its data files
 * locked for reading, so that a program that takes the locks never writes into a model in use.
 *
 * The token must be unique to the model with its constants, and to the preference. The engine does
 * not compare models: it loads files that another model saved under the same token as this model's.
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
	 * NULL. It is empty if the entry was saved, or will be after the first execution, because
	 * some engines compile only then.
	 */
	struct nn_error *not_saved;
	/*
	 * Called on a thread of the library when an entry was saved after nna_prepare_model() or
	 * nna_prepare_model_from_cache() returned; may be NULL. That happens after the first
	 * execution, as above, and again after many executions, with the engine's measurements.
	 * `reason` says why saving failed, or is empty. The library keeps duplicates of the handles
	 * for it. nna_prepared_model_free() waits for it.
	 */
	void (*deferred_saved)(void *data, const char *reason);
	void *deferred_saved_data;
};

enum nna_preference {
	NNA_PREFER_FAST_SINGLE_ANSWER = 0,
	NNA_PREFER_LOW_POWER = 1,
	NNA_PREFER_SUSTAINED_SPEED = 2,
};

/* The priority of a model's executions among those of its user. */
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
	 * The entry to which nna_prepare_model() saves the prepared model, or NULL. The call
	 * succeeds even if saving fails, for example because a file is wrong.
	 */
	const struct nna_cache *cache;
	/*
	 * Allows the engine to cache the compiled model in its own files for equal models of this
	 * user, and to use cached ones. NNACCEL_ENGINE_CACHE=1 in the environment allows it too.
	 */
	bool engine_cache;
	/*
	 * Attributes for the device's extensions, for the compilation and each execution; or NULL.
	 * A call returns NN_INVALID_ARGUMENT if an extension rejects an attribute, or if all take
	 * more than 64 KiB with the extensions' names. Pass the same attributes to
	 * nna_prepare_model_from_cache() as before.
	 */
	const struct nn_attributes *attributes;
	/*
	 * Called from time to time while the engine prepares the model, with the progress in
	 * thousandths that the engine reports; may be NULL. False gives up: NN_GENERAL_FAILURE.
	 */
	bool (*progress)(void *data, uint32_t thousandths);
	void *progress_data;
};

/*
 * IDevice::prepareModel_1_3, synchronous. `options` NULL: all are 0. The model may be freed
 * afterwards; its memories are held, and the engine reads them where they lie.
 */
enum nn_status nna_prepare_model(struct nna_device *device, const struct nn_model *model,
				 struct nna_memory *const *memories,
				 const struct nna_prepare_options *options,
				 struct nna_prepared_model **prepared, struct nn_error *err);
void nna_prepared_model_free(struct nna_prepared_model *prepared);

/* A preparation that runs while its caller does other work. */
struct nna_preparation;

/*
 * IDevice::prepareModel_1_3, asynchronous: starts what nna_prepare_model() does, and does not wait
 * for the engine. Any number of preparations may run at a time. The model, the handles of its
 * memories and the options may be freed when the call returns. `cache` of the options is an
 * exception: it must stay until nna_preparation_finish() has saved the model there. One thread at a
 * time may use a preparation. The preparation holds a reference to the device. A device that is the
 * path of a socket makes this call wait.
 */
enum nn_status nna_preparation_start(struct nna_device *device, const struct nn_model *model,
				     struct nna_memory *const *memories,
				     const struct nna_prepare_options *options,
				     struct nna_preparation **preparation, struct nn_error *err);

/*
 * Returns whether a preparation has ended, with success or not. *thousandths is the finished part,
 * as far as the engine reports it. Does not wait.
 */
bool nna_preparation_has_ended(struct nna_preparation *preparation, uint32_t *thousandths);

/*
 * Waits for the end of a preparation, and returns the model, once. It calls `progress` of the
 * options meanwhile. Status and reason are those of nna_prepare_model(); NN_INVALID_ARGUMENT says
 * that the model was returned before. nna_preparation_free() follows in each case.
 */
enum nn_status nna_preparation_finish(struct nna_preparation *preparation,
				      struct nna_prepared_model **prepared, struct nn_error *err);

/*
 * Frees a preparation, and cancels it unless it has ended. The engine is notified when it next
 * reports its progress. A returned model is not affected. NULL is allowed.
 */
void nna_preparation_free(struct nna_preparation *preparation);

/*
 * Sets the signature of a model that came from a cache, for nna_buffer_allocate(); other models
 * have one. Call it before any other thread uses `prepared`. Returns NN_OK or NN_OUT_OF_MEMORY.
 */
enum nn_status nna_prepared_model_set_signature(struct nna_prepared_model *prepared,
						const struct nn_model *model,
						struct nn_error *err);

/*
 * IDevice::prepareModelFromCache_1_3, synchronous, from an entry that nna_prepare_model() saved in
 * this or another process of the same user. `options` are as there; their cache is ignored. Returns
 * NN_INVALID_ARGUMENT for a wrong number of files, or files that are not regular or not open for
 * reading and writing. Returns NN_GENERAL_FAILURE if this engine did not save the files under this
 * token for this user, or if a process is writing them. After an error, prepare the model itself.
 */
enum nn_status nna_prepare_model_from_cache(struct nna_device *device,
					    const struct nna_cache *cache,
					    const struct nna_prepare_options *options,
					    struct nna_prepared_model **prepared,
					    struct nn_error *err);

/* RequestArgument of the HAL. */
struct nna_argument {
	bool has_no_value;
	uint32_t pool;			/* index into the request's memories, then its tokens */
	uint64_t offset;		/* offset in bytes; 0 for a buffer */
	uint64_t length;		/* and 0 */
	uint32_t rank;			/* 0: dimensions of the model */
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
	uint64_t on_device_us;		/* or NNA_TIME_NONE */
	uint64_t in_driver_us;
};

/* Results of an execution besides the outputs' bytes; NULL pointers are for unwanted results. */
struct nna_results {
	uint32_t size;
	struct nna_output_shape *shapes;	/* room for num_outputs */
	uint32_t *num_shapes;	/* num_outputs on NN_OK and NN_OUTPUT_INSUFFICIENT_SIZE, else 0 */
	struct nna_timing *timing;	/* NNA_TIME_NONE unless measured */
};

struct nna_execute_options {
	uint32_t size;
	bool measure;
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	uint64_t loop_timeout_ns;	/* 0: default of 2 s; at most 15 s */
	/* Attributes for the device's extensions in this execution, or NULL; as above. */
	const struct nn_attributes *attributes;
};

/*
 * IPreparedModel::executeSynchronously_1_3. `options` and `results` may be NULL. NN_DEAD_OBJECT:
 * the worker died, now or before, so prepare the model again.
 */
enum nn_status nna_execute(struct nna_prepared_model *prepared, const struct nna_request *request,
			   const struct nna_execute_options *options,
			   const struct nna_results *results, struct nn_error *err);

/* Files that an execution waits for, and its time limit from the end of the last of them. */
struct nna_dependencies {
	uint32_t size;
	uint32_t num_files;
	const int *files;
	uint64_t duration_ns;	/* 0: none */
};

/*
 * IPreparedModel::executeFenced: starts an execution once all files of `after` (NULL: none) have
 * succeeded, and does not wait for it. Each is a sync_file of any driver, or a file that this
 * function made, of any device. The file *fence polls readable (POLLIN) from the execution's end
 * on; the caller closes it. It is not a sync_file, because the end depends on a process. Returns
 * NN_INVALID_ARGUMENT if neither the request nor the model gives an output's shape, or if an fd is
 * of another kind. The request and handles of its memories may be freed when the call returns;
 * outputs that are buffers count as filled from then on.
 */
enum nn_status nna_execute_fenced(struct nna_prepared_model *prepared,
				  const struct nna_request *request,
				  const struct nna_execute_options *options,
				  const struct nna_dependencies *after, int *fence,
				  struct nn_error *err);

/*
 * IFencedExecutionCallback::getExecutionInfo: returns the status of a fence's execution, with the
 * reason of a failure. The fd of nna_execute_fenced() gives it any number of times, a duplicate of
 * it once. `launched` and `fenced` are times from the call and from the end of the last dependency,
 * NNA_TIME_NONE unless measured; they may be NULL. Returns NN_GENERAL_FAILURE if the execution
 * failed or has not ended yet, and NN_INVALID_ARGUMENT if the fd is not the fence of an execution
 * of this device.
 */
enum nn_status nna_fence_get_info(struct nna_device *device, int fence,
				  struct nna_timing *launched, struct nna_timing *fenced,
				  struct nn_error *err);

/*
 * The syncFence of IPreparedModel::executeFenced: a sync_file, for other drivers to wait for, of
 * the fence of hardware that ends an execution. The caller closes it. The call waits until the
 * hardware has the execution. Returns NN_GENERAL_FAILURE if there is no such fence. It returns this
 * at once if the execution uses memory that a CPU reaches, if it waits for a dependency, or if it
 * has ended without a fence. Otherwise it returns this when the engine ends the execution itself.
 * Returns NN_INVALID_ARGUMENT if the fd is no fence of this device.
 */
enum nn_status nna_fence_get_sync_file(struct nna_device *device, int fence, int *sync_file,
				       struct nn_error *err);

/* BufferRole of the HAL: an input or output of models[model]. */
struct nna_role {
	uint32_t model;
	uint32_t index;
	/* Frequency of use in the model's executions, in (0, 1]: a hint for the engine. */
	float frequency;
};

/* BufferDesc of the HAL: dimensions, 0 being unknown; rank 0: all. */
struct nna_buffer_desc {
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];
};

/* The models and roles of a buffer, and its dimensions (NULL: unknown). */
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
 * IDevice::allocate: makes memory of the device for the roles, which no process maps. Its
 * dimensions and those of all roles are merged. Each write determines the dimensions that are still
 * unknown, and the memory grows with them. The token (not 0) names the buffer in requests until it
 * is freed, and may then be reused. Returns NN_INVALID_ARGUMENT for no model, no role, a role that
 * is given twice or that its model does not have, and for roles of different types or dimensions.
 * Returns NN_RESOURCE_EXHAUSTED_* beyond a limit, NN_DEAD_OBJECT if a model's worker is dead.
 *
 * An argument that is a buffer must be one of its roles. Otherwise the call returns
 * NN_INVALID_ARGUMENT. It also does so for a shape other than that of an input's buffer or of an
 * output's roles, and for a buffer that is input and output. It returns NN_GENERAL_FAILURE for an
 * input that is empty, or for a buffer that is being written meanwhile. An execution that fails
 * leaves its outputs' buffers empty.
 *
 * Contents outlive the models and their worker.
 */
enum nn_status nna_buffer_allocate(struct nna_device *device, const struct nna_buffer_roles *roles,
				   struct nna_buffer **buffer, uint32_t *token,
				   struct nn_error *err);

/* Executions in flight that use it continue. NULL is fine. */
void nna_buffer_free(struct nna_buffer *buffer);

/* Returns the bytes of the contents; 0 if the buffer is empty. */
uint64_t nna_buffer_size(struct nna_buffer *buffer);

/*
 * IBuffer::copyTo and copyFrom: copy all of the memory. Its size must be the buffer's, or that of
 * the buffer's shape completed by `dims` (rank 0: none). The kernel copies; if the memory is
 * another driver's, it waits and notifies the exporter as for an execution. _read and _write do the
 * same for bytes of this process. A failed copy into the buffer leaves it empty. The calls return
 * NN_INVALID_ARGUMENT for another size or shape, or a copy to memory that is not writable. They
 * return NN_GENERAL_FAILURE if the buffer is empty or in use, or if the memory cannot be reached.
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
	uint32_t capacity;	/* datums of each ring, 0: 1024 */
	int32_t spin_us;	/* longest spin of a wait; 0: the default, negative: no spin */
};

/*
 * IPreparedModel::configureExecutionBurst: makes a connection to the worker through shared memory,
 * for executions one after the other. `options` may be NULL. It does not spin if the model was
 * prepared for low power or only one CPU is online; NNACCEL_SPIN_US in the environment limits the
 * spin, too. Free it before the prepared model. NN_RESOURCE_EXHAUSTED_TRANSIENT: too many bursts;
 * NN_DEAD_OBJECT: the model's worker is dead.
 */
enum nn_status nna_burst_create(struct nna_prepared_model *prepared,
				const struct nna_burst_options *options,
				struct nna_burst **burst, struct nn_error *err);
void nna_burst_free(struct nna_burst *burst);

/*
 * Executes with the same results as nna_execute(). The first use of a memory binds it to the burst
 * until it is freed. An execution like the one before calls neither the kernel nor malloc(). Some
 * requests go through nna_execute(): those that are longer than a ring, that have buffers, an
 * offset or a length of 4 GiB or more, a deadline, a loop timeout or attributes. If the rings are
 * broken, every later request does so too, except one that was already sent. Returns
 * NN_DEVICE_UNAVAILABLE while another execution of the burst runs, NN_DEAD_OBJECT if the worker
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
