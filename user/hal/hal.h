/* SPDX-License-Identifier: MIT */
/*
 * What the files of libnnaccel share: its objects, and how a call of the
 * kernel that failed becomes a status and a line.
 */
#ifndef NN_HAL_HAL_H
#define NN_HAL_HAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "signature.h"
#include "watcher.h"

struct nna_device {
	int fd;
	atomic_uint users;	/* the handle, and each memory, buffer, prepared model and burst */

	/*
	 * What the engine said of itself, and which worker it asked: asked again when there may
	 * be another, for that may be of another engine.
	 */
	pthread_mutex_t info_lock;	/* held while the engine is asked */
	atomic_uint worker;		/* counts those that were expected, from 1 */
	uint32_t info_of;		/* 0: not known yet */
	uint32_t extensions_of;
	struct nn_device_info info;
	struct nna_extensions *extensions;	/* the newest; NULL: not known yet */

	/*
	 * Two memories share a pool where a dma-buf of it was imported again. Held
	 * from before a pool is made or destroyed until the table says so.
	 */
	pthread_mutex_t memories_lock;
	struct nna_memory **memories;	/* lists, by the pool's number */
	uint32_t memories_size;		/* lists: a power of two, or 0 */
	uint32_t num_memories;

	/* By token, from 1; NULL: free. Taken within no other lock. */
	pthread_mutex_t buffers_lock;
	struct nna_buffer **buffers;
	uint32_t buffers_size;
	uint32_t first_free;		/* no place before it is */

	pthread_mutex_t bursts_lock;	/* taken within no other lock */
	struct nna_burst *bursts;
	struct nna_watcher watcher;	/* of bursts that die */
};

/* Lists of extensions, each kept as long as its device: callers have pointers into them. */
struct nna_extensions {
	struct nna_extensions *older;
	struct nn_device_extension *list;
	uint32_t count;
	uint32_t size;			/* of the engine's answer that it is of */
	uint8_t answer[];
};

struct nna_memory {
	struct nna_device *device;
	struct nna_memory *next;	/* of its list, under memories_lock */
	atomic_uint users;		/* the handle, and each execution in flight */
	uint32_t pool;
	bool is_imported;
	int prot;			/* of <sys/mman.h> */
	atomic_bool has_slots;		/* may be in the slots of a burst */
	uint64_t offset;		/* into the pool, of the memory's first byte */
	uint64_t size;
	bool is_formatted;		/* a picture, used whole: size is that of its rows */

	pthread_mutex_t map_lock;
	void *map;			/* of the whole pool, or NULL */
};

struct nna_prepared_model {
	struct nna_device *device;
	uint32_t id;
	bool low_power;
	struct nna_signature *signature;	/* NULL: not known, of one that came from a cache */
	struct nna_late *late;		/* NULL: nothing will be saved later */
};

/* Options where the caller has none. */
extern const struct nna_prepare_options nna_prepare_defaults;

enum nn_status nna_check_prepare_options(const struct nna_prepare_options *options,
					 struct nn_error *err);

/* The handle of a model that the kernel has; where that fails, the model is gone. */
enum nn_status nna_prepared_model_new(struct nna_device *device, uint32_t id,
				      const struct nna_prepare_options *options,
				      struct nna_prepared_model **prepared, struct nn_error *err);

struct nna_device *nna_device_get(struct nna_device *device);
void nna_device_put(struct nna_device *device);
struct nna_memory *nna_memory_get(struct nna_memory *memory);
void nna_memory_put(struct nna_memory *memory);

/* To be called before what may get this context another worker than the last. */
void nna_device_expect_worker(struct nna_device *device);

/* Current time of CLOCK_MONOTONIC. */
uint64_t nna_now_ns(void);

/* Whether there is a deadline, and it has passed. */
bool nna_is_past(uint64_t deadline_ns);

/*
 * The status of an ioctl() on `device` that failed with `error` (an errno), with
 * `call` and the reason in err. ETIME counts as passed during the call.
 */
enum nn_status nna_fail_errno(const struct nna_device *device, const char *call, int error,
			      struct nn_error *err);

/* The status of an engine's verdict, with what it said. */
enum nn_status nna_fail_status(const char *call, uint32_t status, const char *message,
			       struct nn_error *err);

/*
 * The status of an ioctl() with a deadline: `error` is its errno, 0: the engine answered with
 * `status`; `was_past` what nna_is_past() said before the call.
 */
enum nn_status nna_call_verdict(const struct nna_device *device, const char *call, int error,
				bool was_past, uint32_t status, const char *message,
				struct nn_error *err);

/* Frees the slots of a memory that nobody uses any more, in every burst. */
void nna_bursts_forget(struct nna_memory *memory);

/*
 * An argument of a request in the kernel's form; `kind` and `index` name it.
 * NN_INVALID_ARGUMENT where it is not within the request's memories.
 */
enum nn_status nna_set_arg(struct nnaccel_arg *arg, const struct nna_argument *a,
			   const struct nna_request *r, const char *kind, uint32_t index,
			   struct nn_error *err);

/* The shapes of a result; NN_GENERAL_FAILURE where they can be none. */
enum nn_status nna_get_shapes(const struct nnaccel_shape *from, uint32_t count,
			      struct nna_output_shape *shapes, struct nn_error *err);

/* From nanoseconds, NNACCEL_TIME_NONE included. */
uint64_t nna_microseconds(uint64_t ns);

/*
 * Every memory of a list is there and of the device; NN_INVALID_ARGUMENT
 * otherwise.
 */
enum nn_status nna_check_memories(const struct nna_device *device, const char *call,
				  struct nna_memory *const *memories, uint32_t count,
				  struct nn_error *err);

#endif /* NN_HAL_HAL_H */
