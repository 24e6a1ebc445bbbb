/* SPDX-License-Identifier: MIT */
/*
 * An engine executes neural networks for the clients of /dev/nnaccel. An engine fills in the
 * functions of struct nna_engine and calls nna_engine_main(). The library registers the engine with
 * the kernel, starts a sandboxed process for each client, fetches commands and commits answers,
 * maps memory, serves bursts and verifies cache files. Documentation/writing-an-engine.rst builds
 * an engine.
 *
 * If a function of the engine returns NN_DEAD_OBJECT, the library treats the device and all its
 * data as lost. After NN_DEAD_OBJECT the client gets DEVICE_UNAVAILABLE with the reason and loses
 * its session and its models. After a new session begins, the client may prepare its models again.
 *
 * Structs that the engine fills in have a size field, so that a newer library accepts the structs
 * of older engines. A newer library may add fields at the end of structs that the library fills in.
 * Structs in arrays (struct nn_arg, struct nn_output_shape, struct nna_engine_role) never grow.
 * Several threads may call the engine's functions at the same time. If a function of the engine
 * fails, it returns nn_fail() with a reason, which the client sees.
 */
#ifndef NNACCEL_ENGINE_H
#define NNACCEL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nnaccel/device.h>
#include <nnaccel/engine_model.h>
#include <nnaccel/execution.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct nna_engine;

/* The options of a client for the preparation of a model. */
struct nna_engine_preparation {
	uint32_t preference;		/* 0 low power, 1 fast single answer, 2 sustained speed */
	uint32_t priority;	/* priority of the model's executions: 0 low, 1 medium, 2 high */
	bool may_be_put_off;		/* compiling may be deferred to the first execution */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	const struct nn_attributes *attributes;	/* may be NULL; valid until `release` */
	uint64_t reserved[2];		/* private; for nna_engine_progress() */
};

/*
 * An execution, from the call of `execute` to the execution's end. Any thread may use the
 * execution. After the end of an execution, functions that are called with this execution fail.
 */
struct nna_engine_execution;

/*
 * `execute` returns NNA_ENGINE_DEFERRED if nna_engine_end() ends the execution later, or has
 * already ended the execution.
 */
#define NNA_ENGINE_DEFERRED ((enum nn_status)0x100)

/*
 * Memory that the engine uses, in bytes. The field `weights` is the memory of a prepared model,
 * without the client's model itself; `execution` is the memory of each execution.
 */
struct nna_engine_memory {
	uint64_t weights;
	uint64_t execution;
	uint64_t device;		/* bytes of the device's own memory */
};

/* Maximum number of model cache files, and also of data cache files. */
#define NNA_ENGINE_MAX_CACHE_FILES 32

/* A part of a saved model: the bytes of one cache file. */
struct nna_engine_part {
	void *base;
	size_t size;
};

/*
 * The saved form of a prepared model, with a part for each cache file of the engine. The model
 * parts hold everything that controls an execution. The library stores the hash of the model parts
 * durably, and calls `load` only with model parts that have this hash. The data parts hold values
 * that the owner of the cache files may change. Any part except the first may be empty. If all
 * parts are empty, the model cannot be saved yet.
 */
struct nna_engine_image {
	struct nna_engine_part model[NNA_ENGINE_MAX_CACHE_FILES];	/* the engine's memory */
	size_t data_size[NNA_ENGINE_MAX_CACHE_FILES];	/* multiples of NNA_ENGINE_DATA_ALIGN */
	void *own;			/* the engine's */
};

#define NNA_ENGINE_DATA_ALIGN 4096

/*
 * Maximum length of nna_engine.store_identity, and maximum size in bytes of an entry of the
 * engine's store.
 */
#define NNA_ENGINE_MAX_IDENTITY 128
#define NNA_ENGINE_MAX_STORED (64 << 20)

/* Maximum number of plug-ins that a process loads. */
#define NNA_ENGINE_MAX_PLUGINS 32

/*
 * A running call of a plug-in's function. The caller provides struct nna_engine_call; only the
 * library uses the fields.
 */
struct nna_engine_call {
	uint64_t reserved[8];
};

/* The result of loading a plug-in. */
enum nna_engine_plugin {
	NNA_ENGINE_PLUGIN_LOADED,
	NNA_ENGINE_PLUGIN_REFUSED,
	/* The plug-in waits for an extension that is not registered yet. */
	NNA_ENGINE_PLUGIN_WAITS,
};

/* The memory of a slot of a burst; the memory stays mapped until the slot is removed. */
struct nna_engine_slot {
	uint32_t slot;
	bool is_writable;
	void *base;			/* memory that other processes may write any time */
	uint64_t length;		/* in bytes; a read beyond the file's end yields 0 */
	bool is_device_memory;		/* see nna_engine.takes_device_memory */
};

/* Memory of a client. */
struct nna_engine_region {
	void *base;			/* memory that other processes may write any time */
	uint64_t length;		/* in bytes; the region is mapped in whole pages */
	bool is_writable;
	bool is_device_memory;		/* see nna_engine.takes_device_memory */
};

/*
 * An engine's own executor of bursts, which itself keeps a client's memory mapped, like the HAL's
 * IBurstExecutorWithCache. Without an executor of the engine, the library keeps clients' memory
 * mapped and executes the prepared model. Only one function of an executor runs at a time, but
 * `remove` may also run during any other function than `execute`.
 */
struct nna_engine_burst {
	uint32_t size;			/* sizeof(struct nna_engine_burst) */
	/* Creates an executor for a burst; may fail, like nna_engine.begin_burst. */
	enum nn_status (*create)(const struct nna_engine *engine, void *prepared, void **executor,
				 struct nn_error *err);
	void (*destroy)(void *executor);
	/* Called before an execution that uses a slot which the executor does not have yet. */
	enum nn_status (*add)(void *executor, const struct nna_engine_slot *slot,
			      struct nn_error *err);
	/* Returns false if the slot must be added (again) before the next execution. */
	bool (*is_cached)(void *executor, uint32_t slot);
	/*
	 * Called when the client has freed the slot. After `remove`, the slot's memory is unmapped.
	 */
	void (*remove)(void *executor, uint32_t slot);
	/*
	 * Executes the prepared model like nna_engine.execute, and may defer the execution. The
	 * array slots[num_inputs + num_outputs] has the slot of each argument; entries of omitted
	 * arguments are undefined.
	 */
	enum nn_status (*execute)(void *executor, const uint32_t *slots,
				  struct nna_engine_execution *execution,
				  struct nn_execution *arguments, struct nn_error *err);
};

/* A use of a buffer: as an input or an output of a prepared model. */
struct nna_engine_role {
	const void *prepared;
	bool is_output;
	uint32_t index;
	/* Frequency of the role in the model's executions, in (0, 1]; 0 if not known. */
	float frequency;
};

/*
 * A buffer that a client requests. The pointers in struct nna_engine_new_buffer are valid only
 * during `create`.
 */
struct nna_engine_new_buffer {
	/* Type and dimensions that all roles have in common; unknown dimensions are 0. */
	const struct nn_operand *operand;
	uint64_t capacity;		/* bytes */
	const struct nna_engine_role *roles;
	uint32_t num_roles;
};

/*
 * Buffers of memory domains in the device's own layout. The functions copy_in and copy_out convert
 * clients' data to the device's layout and back. Calls for one buffer do not overlap, and `destroy`
 * is the last call.
 */
struct nna_engine_buffers {
	uint32_t size;			/* sizeof(struct nna_engine_buffers) */
	/*
	 * Creates a buffer. *buffer is the engine's handle, or NULL if the buffer has the layout of
	 * clients' memory.
	 */
	enum nn_status (*create)(const struct nna_engine *engine,
				 const struct nna_engine_new_buffer *wanted, void **buffer,
				 struct nn_error *err);
	/* Called after the client freed the buffer, when no execution uses the buffer. */
	void (*destroy)(const struct nna_engine *engine, void *buffer);
	/* copy_in copies from `from` to the buffer; copy_out copies from the buffer to `to`. */
	enum nn_status (*copy_in)(const struct nna_engine *engine, void *buffer, void *base,
				  const void *from, uint64_t length, struct nn_error *err);
	enum nn_status (*copy_out)(const struct nna_engine *engine, void *buffer, const void *base,
				   void *to, uint64_t length, struct nn_error *err);
};

/* The calls, besides mmap(), that a client's process may make on a file of the engine. */
enum nna_engine_file_use {
	NNA_ENGINE_FILE_READ = 1,	/* read(), pread() */
	/* Allows write() and pwrite(); the file is opened for writing, too. */
	NNA_ENGINE_FILE_WRITE = 2,
	NNA_ENGINE_FILE_POLL = 4,	/* poll(), ppoll() */
};

/*
 * A file that clients' processes use, such as a driver's node. The library opens the file as the
 * engine's user before the process is sandboxed. The process may make only the calls that `use` and
 * `requests` allow on the file.
 */
struct nna_engine_file {
	uint32_t size;			/* sizeof(struct nna_engine_file) */
	uint32_t use;			/* set of enum nna_engine_file_use */
	const char *path;
	const uint32_t *requests;	/* requests of ioctl(), or NULL */
	uint32_t num_requests;
};

/*
 * Permissions that clients' processes have after `start`, besides the use of files. The log shows
 * the administrator which permissions an engine requests. A client that takes control of its
 * process gets the process's permissions.
 */
enum nna_engine_permission {
	NNA_ENGINE_MAY_MAKE_THREADS = 1,	/* threads: up to 256 at a time */
	/* Anonymous memory may become executable, for drivers that compile at run time. */
	NNA_ENGINE_MAY_MAKE_CODE = 2,
	/*
	 * The process passes its client's memory to drivers by nna_engine_region_file(), begins
	 * executions after drivers' fences, and ends executions by drivers' fences. The process may
	 * have 64 dma-bufs and sync_files at a time, duplicate their descriptors, ask for their
	 * size, and call ioctl() on them. The engine lists the drivers' nodes in nna_engine.files.
	 */
	NNA_ENGINE_MAY_USE_DRIVERS = 4,
	/*
	 * Files in memory that `start` makes by memfd_create() may grow, for drivers that allocate
	 * memory in such a file: each file up to the limit of the client's private memory.
	 */
	NNA_ENGINE_MAY_GROW_FILES = 8,
};

/* The threads or processes that serve an engine's clients. */
enum nna_engine_clients {
	/* A process serves each client, or a thread if the option --clients=threads is given. */
	NNA_ENGINE_CLIENTS_EITHER = 0,
	/*
	 * A sandboxed process serves each client, so a fault in the process affects only this
	 * client.
	 */
	NNA_ENGINE_CLIENTS_PROCESSES = 1,
	/*
	 * Threads of the engine's process serve clients. Threads are for engines that access
	 * hardware and that no input of a client can crash. The library calls the engine's
	 * functions for several clients at the same time.
	 */
	NNA_ENGINE_CLIENTS_THREADS = 2,
};

/* The levels of lines of the log. */
enum nna_engine_level {
	NNA_ENGINE_ERROR = 0,
	NNA_ENGINE_WARNING = 1,
	NNA_ENGINE_INFO = 2,
	NNA_ENGINE_DEBUG = 3,
};

/*
 * A device of the kernel: its bus ("pci" or "platform") and its name on that bus ("0000:01:00.0").
 */
struct nna_engine_hardware {
	const char *bus;
	const char *name;
};

/* An engine. A function may be NULL only if its comment says so. */
struct nna_engine {
	uint32_t size;			/* sizeof(struct nna_engine) */
	uint32_t clients;		/* enum nna_engine_clients */
	const char *name;		/* in /dev and the log: lower-case letters, digits, '-' */
	void *data;			/* the engine's own */

	/* ---- the device ---- */

	/*
	 * Fills in *info. On entry, info->magic and info->size are set, all speeds are FLT_MAX, and
	 * all other fields are zero.
	 */
	void (*describe)(const struct nna_engine *engine, struct nn_device_info *info);
	/*
	 * Returns the extensions that the device has; may be NULL. In models, the types and
	 * operations of extensions have the codes that nna_engine_code() returns.
	 */
	const struct nn_device_extension *(*extensions)(const struct nna_engine *engine,
							uint32_t *count);
	/*
	 * Checks a model. If check_model is NULL, the library only checks that the device has the
	 * model's extensions. If check_model is set, check_model must check the model's extensions
	 * and the extension data of operands.
	 */
	enum nn_status (*check_model)(const struct nna_engine *engine, const struct nn_model *model,
				      struct nn_error *err);
	/*
	 * Checks the attributes of a preparation or an execution. If check_attributes is NULL, the
	 * library rejects attributes.
	 */
	enum nn_status (*check_attributes)(const struct nna_engine *engine,
					   const struct nn_attributes *attributes,
					   bool is_execution, struct nn_error *err);

	/* ---- models: checked, with constants where they lie: see nn_operand_value() ---- */

	/* Sets supported[i] to whether the device can execute operation i of the main subgraph. */
	enum nn_status (*supported)(const struct nna_engine *engine, const struct nn_model *model,
				    bool *supported, struct nn_error *err);
	/*
	 * Prepares a model. The model and its pools outlive *prepared. Other processes may write
	 * the memory of pools at any time.
	 */
	enum nn_status (*prepare)(const struct nna_engine *engine, const struct nn_model *model,
				  const struct nna_engine_preparation *how, void **prepared,
				  struct nn_error *err);
	/* Called when no execution uses the prepared model any more. */
	void (*release)(const struct nna_engine *engine, void *prepared);
	/* Reports the memory that a model takes; may be NULL. */
	void (*memory)(const struct nna_engine *engine, const void *prepared,
		       struct nna_engine_memory *memory);

	/* ---- executions: synchronous, fenced, by io_uring and in bursts ---- */

	/*
	 * Checks the arguments against the model and computes the outputs. If `execute` returns
	 * NN_OK or NN_OUTPUT_INSUFFICIENT_SIZE, it has set shapes_known and filled in
	 * arguments->shapes; each shape says whether the output's memory was large enough. If the
	 * deadline has passed, `execute` returns NN_MISSED_DEADLINE_TRANSIENT. The engine may set
	 * arguments->device_ns, and should do so if arguments->measure is set. If the engine leaves
	 * device_ns at 0, the library measures the execution.
	 *
	 * Each status except NNA_ENGINE_DEFERRED ends the execution. Everything that `arguments`
	 * points to stays valid until the execution's end.
	 */
	enum nn_status (*execute)(const struct nna_engine *engine, void *prepared,
				  struct nna_engine_execution *execution,
				  struct nn_execution *arguments, struct nn_error *err);
	/*
	 * Called when a client makes a burst; may be NULL. If begin_burst fails, the client gets
	 * the status and the reason instead of a burst. The library calls end_burst, which may be
	 * NULL, after the burst's last execution.
	 */
	enum nn_status (*begin_burst)(const struct nna_engine *engine, void *prepared,
				      struct nn_error *err);
	void (*end_burst)(const struct nna_engine *engine, void *prepared);
	/* The engine's own executor of bursts, created after begin_burst; may be NULL. */
	const struct nna_engine_burst *burst;

	/* ---- caching: all, or all NULL ---- */

	/*
	 * Makes the model parts of an image and sets the sizes of the data parts. The function
	 * write_data writes the whole data part `index`; write_data is NULL if no image has data
	 * parts. The function end_save frees an image, even if the image is all zero.
	 */
	enum nn_status (*save)(const struct nna_engine *engine, const void *prepared,
			       struct nna_engine_image *image, struct nn_error *err);
	void (*write_data)(const struct nna_engine *engine, const struct nna_engine_image *image,
			   uint32_t index, void *data);
	void (*end_save)(const struct nna_engine *engine, struct nna_engine_image *image);
	/*
	 * Prepares a model from its saved parts: a model part for each model cache file, and a data
	 * part for each data cache file. The memory of each model part comes from malloc() and
	 * belongs to the engine, which must free this memory even if load() fails. The library
	 * ensures that the model parts are unchanged since this engine saved them. Memory of data
	 * parts is read-only, outlives *prepared, and other processes may change it at any time.
	 * Returns NN_GENERAL_FAILURE if the parts do not belong to one saved model.
	 */
	enum nn_status (*load)(const struct nna_engine *engine, const struct nna_engine_part *model,
			       const struct nna_engine_part *data,
			       const struct nna_engine_preparation *how, void **prepared,
			       struct nn_error *err);
	/* Returns a subgraph whose inputs and outputs are those of a loaded model's executions. */
	const struct nn_subgraph *(*signature)(const struct nna_engine *engine,
					       const void *prepared);

	/* ---- the process ---- */

	/*
	 * Called once in each process that serves clients; may be NULL. A process for one client
	 * calls `start` in its sandbox, but before it loads the filter of system calls. The engine
	 * starts its threads in `start`.
	 */
	bool (*start)(const struct nna_engine *engine);
	/* Loads a plug-in, which is a file in the folder of extensions; may be NULL. */
	enum nna_engine_plugin (*load_plugin)(const struct nna_engine *engine, const char *path,
					      struct nn_error *err);

	/*
	 * Receives the log's lines, also those of clients' processes, without '\n'; may be NULL.
	 * If `log` is set, the log's lines do not go to standard error. Any thread of the engine's
	 * own process may call `log`.
	 */
	void (*log)(const struct nna_engine *engine, enum nna_engine_level level,
		    const char *line);
	/*
	 * Called before the library unmaps memory that nna_engine_region_of() returned, and after
	 * the last execution that uses the memory; may be NULL. The function forget_region removes
	 * the hardware's mapping of the memory. Any thread may call forget_region, which must not
	 * wait for an execution.
	 */
	void (*forget_region)(const struct nna_engine *engine,
			      const struct nna_engine_region *region);
	/* Memory domains with the engine's own layouts, or NULL. See nna_engine_buffer(). */
	const struct nna_engine_buffers *buffers;
	/*
	 * The lines of --help for the program's own options, or NULL. The program itself removes
	 * its own options from its arguments.
	 */
	const char *help;
	/*
	 * The files that processes need to serve clients: a list of at most 16 files with NULL at
	 * its end, or NULL for no files. The files are open when `start` is called. If a file
	 * cannot be opened, no client is served. See nna_engine_file_at().
	 */
	const struct nna_engine_file *const *files;
	/*
	 * takes_device_memory says that clients may use memory that no CPU maps.
	 * takes_device_memory requires that threads serve the clients, or processes with
	 * NNA_ENGINE_MAY_USE_DRIVERS. The address of an argument in device memory may only be
	 * passed to nna_engine_region_of() and nna_engine_region_file(); reading or writing at the
	 * address faults. Before `execute` accesses a region, it must check the region's
	 * is_device_memory.
	 */
	bool takes_device_memory;
	/*
	 * The numbers of model files and of data files in a client's cache entry, up to
	 * NNA_ENGINE_MAX_CACHE_FILES each. If model_cache_files and data_cache_files are both 0, a
	 * cache entry has one model file and one data file. If a cache entry has no model files,
	 * the library verifies the hash of the data files.
	 */
	uint32_t model_cache_files;
	uint32_t data_cache_files;

	/* ---- added after the first version, which ends here ---- */

	/*
	 * only_devices says that only devices access the memory of arguments and buffers, by
	 * nna_engine_region_file(). With only_devices the kernel does not prepare this memory for
	 * CPU access (NNACCEL_ATTACH_DEVICES). Before and after `execute` or a function of
	 * `buffers` accesses clients' memory by the CPU, it must call DMA_BUF_IOCTL_SYNC on the
	 * file from nna_engine_region_file(). The library copies images whose rows have gaps by the
	 * CPU, and these copies may be wrong if the device is not coherent.
	 */
	bool only_devices;
	/*
	 * Describes what the entries of the engine's own store depend on, such as the version of a
	 * library or of the firmware, in at most NNA_ENGINE_MAX_IDENTITY characters. If
	 * store_identity is NULL, the engine has no store. See nna_engine_store_get().
	 */
	const char *store_identity;
	/*
	 * The hardware that the engine drives, or NULL. Links in sysfs connect the hardware and the
	 * engine's device. When the hardware loses its driver, the engine and its sessions end. The
	 * library reads `hardware` when the engine registers: after `start` if threads serve
	 * clients.
	 */
	const struct nna_engine_hardware *hardware;
	/* Permissions of clients' processes: a set of enum nna_engine_permission, or 0 for none. */
	uint32_t permissions;
	/*
	 * With takes_fences, the library calls `execute` before the hardware's fences on which the
	 * execution depends have signalled (NNACCEL_ATTACH_FENCES), so that one device can wait for
	 * another device. `execute` gets the fences from nna_engine_dependencies(), and the engine
	 * or its device waits for the fences. takes_fences requires only_devices and, in clients'
	 * processes, NNA_ENGINE_MAY_USE_DRIVERS. For processes without NNA_ENGINE_MAY_USE_DRIVERS
	 * the kernel waits for the fences.
	 */
	bool takes_fences;
	/*
	 * The names of environment variables of the engine's process that clients' processes get,
	 * too: a list of at most 16 names with NULL at its end, or NULL for none. The library reads
	 * the variables when it starts a client's process.
	 */
	const char *const *environment;
};

/*
 * Runs an engine with the options that --help lists. In a process that the library started for a
 * client, nna_engine_main() serves that client. Returns main()'s exit code.
 */
int nna_engine_main(const struct nna_engine *engine, int argc, char **argv);

/*
 * Reports to the client how much of a preparation is done, in thousandths. Any thread may call
 * nna_engine_progress() during prepare() or load(), with the `how` of prepare() or load() or a copy
 * of `how`. Returns false if the client no longer wants the model; the engine may then stop and
 * fail.
 */
bool nna_engine_progress(const struct nna_engine_preparation *how, uint32_t thousandths);

/*
 * Replaces a prepared model of prepare() or load() by a better form of the same model. Any thread
 * may call nna_engine_replace(), also while executions run. Executions that began before
 * nna_engine_replace() use the replaced form. The library releases the replaced form after the last
 * execution that uses the replaced form. If the engine has begin_burst or its own executor of
 * bursts, a burst keeps the form with which the burst began. If the library itself had cached the
 * model's old form, the library caches the better form instead. The next time that a client's cache
 * files are written, the better form is written. Returns false and changes nothing if the model is
 * gone or memory runs out.
 */
bool nna_engine_replace(void *prepared, void *better);

/*
 * The engine's own store, for tuned settings, compiled shaders and the like. The store exists if
 * the engine has a store_identity and runs with --state, even if no client asks for caching. The
 * store and the cached plans have limits in common: 64 entries and --cache-per-user MiB for each
 * user. Beyond the store's limits, the least recently used entries are removed. The store's entries
 * outlive the engine's process, and stay valid for a newer build of the engine. A changed
 * store_identity or `nnaccel cache clear` removes the store's entries, so any entry may be missing
 * at any time.
 *
 * A client's process uses the store of the client's user, but cannot use the store in `start`.
 * Threads that serve clients share the store of the engine's user, and can use the store in
 * `start`. Any thread may call nna_engine_store_get() and nna_engine_store_put(), which wait for
 * the disk: at most ten seconds if the keeper does not answer.
 */

/*
 * Gets the store's entry for a key of key_size bytes, which may have any values. The caller frees
 * *data, which has *size bytes. On failure *data is NULL and *size is 0. Returns NN_OK,
 * NN_OUT_OF_MEMORY, or NN_GENERAL_FAILURE if the key has no entry or the engine has no store.
 * Removes a damaged entry and returns NN_GENERAL_FAILURE.
 */
enum nn_status nna_engine_store_get(const void *key, size_t key_size, void **data, size_t *size,
				    struct nn_error *err);

/*
 * Puts a copy of `size` bytes (1 to NNA_ENGINE_MAX_STORED) into the store. The copy replaces an
 * older entry of the same key. Returns NN_OK once the entry is on the disk. If
 * nna_engine_store_put() fails, the key's older entry may be gone.
 *
 * NN_INVALID_ARGUMENT: `size` is 0 or above NNA_ENGINE_MAX_STORED. NN_RESOURCE_EXHAUSTED_TRANSIENT:
 * the user stores more than ten entries a second (after the first 32), or more than four times
 * --cache-per-user in an hour. NN_GENERAL_FAILURE: there is no store, or no room for the entry.
 * NN_OUT_OF_MEMORY.
 */
enum nn_status nna_engine_store_put(const void *key, size_t key_size, const void *data, size_t size,
				    struct nn_error *err);

/*
 * Returns the code that an extension's type or operation has in this process. The code is the
 * `type` of struct nn_operand or struct nn_operation. Returns 0 if the extension is not registered.
 */
int32_t nna_engine_code(const char *extension, uint16_t code);

/*
 * Returns the open file of nna_engine.files[index], or -1. The engine may call nna_engine_file_at()
 * in `start` and after `start`. The library owns the open file. Threads that serve clients share
 * one open file; each client's process has its own open file.
 */
int nna_engine_file_at(uint32_t index);

/*
 * Ends an execution whose `execute` returns NNA_ENGINE_DEFERRED, with a status and the reason of a
 * failure (NULL: none). Any thread may call nna_engine_end(), also before `execute` returns, but
 * only once for an execution. The function nna_engine_end() does not block and calls no function of
 * the engine, so the caller may hold locks. After nna_engine_end() the engine must not touch the
 * execution's arguments.
 *
 * A deferred execution occupies no thread of the library. A client may have up to 256 deferred
 * executions at a time (the module's max_commands), and one more in each of its bursts. An
 * execution that the engine never ends counts as a call of `execute` that does not return.
 *
 * NN_INVALID_ARGUMENT: the execution has ended already, or the status is NNA_ENGINE_DEFERRED. On
 * NN_INVALID_ARGUMENT nna_engine_end() changes nothing, and the log has the reason.
 */
enum nn_status nna_engine_end(struct nna_engine_execution *execution, enum nn_status status,
			      const char *message, struct nn_error *err);

/*
 * Returns a file that becomes readable (POLLIN) when the client is gone or has lost its session.
 * The engine polls this file while its hardware executes. The library owns the returned file.
 * Returns -1 after the execution's end. Also returns -1 in a process that serves one client,
 * because the process is killed when the client is gone.
 */
int nna_engine_gone_file(struct nna_engine_execution *execution);

/*
 * Returns a dma-buf of exactly the memory of nna_engine_region_of(), which another driver can
 * import. The dma-buf is writable if the region is writable, and is revoked when the client or its
 * memory is gone. The caller closes the dma-buf. Returns -1 on failure, and sets errno to
 * EOPNOTSUPP if the memory belongs to a file, which can only be mapped, or if the module is too
 * old. EPERM means that a process without NNA_ENGINE_MAY_USE_DRIVERS serves the client.
 */
int nna_engine_region_file(struct nna_engine_execution *execution, const void *data);

/*
 * Makes an execution end when the fence of any driver's sync_file signals, with the fence's result.
 * After nna_engine_end_with_fence() the engine must still call nna_engine_end() with NN_OK, after
 * it has set the outputs' shapes. On success the library owns the sync_file, and the fence's driver
 * enforces the deadlines. Returns false if the engine itself has to wait for the fence. This is so
 * in a burst, if the library copies an image for the execution, if sync_file is negative, or in a
 * process without NNA_ENGINE_MAY_USE_DRIVERS.
 */
bool nna_engine_end_with_fence(struct nna_engine_execution *execution, int sync_file);

/*
 * Gets a sync_file that signals when all hardware that the execution depends on has finished. The
 * sync_file combines the sync_files that the client named and the fences of the execution's memory.
 * The function sets *sync_file to -1 in bursts, without takes_fences, and if the execution has no
 * fence to wait for. The caller closes the sync_file.
 *
 * The engine must not touch the execution's memory before the sync_file signals. The execution must
 * not end before the sync_file has signalled, also if a fence of the engine ends the execution. The
 * engine must stop waiting at the execution's deadline. The kernel ends the execution with an error
 * if a fence that the client named has failed. Returns false with errno on failure.
 */
bool nna_engine_dependencies(struct nna_engine_execution *execution, int *sync_file);

/*
 * Gets the client's whole memory that contains an argument's `data`, for an engine whose hardware
 * accesses client memory. The memory stays mapped at region->base, also for later executions, until
 * forget_region(). Returns false if the data are the library's copy of an image.
 */
bool nna_engine_region_of(struct nna_engine_execution *execution, const void *data,
			  struct nna_engine_region *region);

/*
 * Returns the handle that nna_engine_buffers.create made for the buffer of an argument's `data`.
 * Returns NULL if `data` is in no buffer of the engine's own layout.
 */
void *nna_engine_buffer(struct nna_engine_execution *execution, const void *data);

/*
 * nna_engine_pack() copies a model with all of its constants into one block for a model part. The
 * caller frees the block of nna_engine_pack(). The function nna_engine_unpack() makes the model
 * from a block of nna_engine_pack().
 */
enum nn_status nna_engine_pack(const struct nn_model *model, void **block, size_t *size,
			       struct nn_error *err);
enum nn_status nna_engine_unpack(const void *block, size_t size, struct nn_model **model,
				 struct nn_error *err);

/*
 * Mark, on one thread, the begin and the end of a call of a function in an extension's plug-in. If
 * the call takes longer than the broker allows, the library answers the client and ends the
 * client's process. The caller owns the strings `extension` and `function`, which must stay valid
 * until nna_engine_call_end().
 */
void nna_engine_call_begin(struct nna_engine_call *call, const char *extension,
			   const char *function);
void nna_engine_call_end(struct nna_engine_call *call);

/*
 * Writes a line, printf-like, to the engine's log. Clients' processes send their lines to the
 * engine's process.
 */
void nna_engine_log(enum nna_engine_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_ENGINE_H */
