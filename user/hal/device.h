/* SPDX-License-Identifier: MIT */
/* The device: an open file of the kernel, and the device's state in this library. */
#ifndef NN_HAL_DEVICE_H
#define NN_HAL_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "direct.h"
#include "watcher.h"

/*
 * Lists of extensions. Lists of extensions are freed only with the device, because callers have
 * pointers into the lists.
 */
struct nna_extensions {
	struct nna_extensions *older;
	struct nn_device_extension *list;
	uint32_t count;
	uint32_t size;	/* size of the engine's answer from which the list was made */
	uint8_t answer[];
};

struct nna_device {
	int fd;
	struct direct *direct;	/* direct connection; NULL for the module's device */
	pid_t process;		/* id of the process that opened the device */
	/* number of references: the handle, and each memory, buffer, prepared model and burst */
	atomic_uint users;

	/*
	 * The engine's description of itself, and the worker that sent the description. A new
	 * worker may belong to another engine, so the library queries the description again.
	 */
	pthread_mutex_t info_lock;	/* held during queries */
	atomic_uint worker;		/* number of the current worker, from 1 */
	/* Number of the worker that sent the information; 0 if the information is not known yet. */
	uint32_t info_of;
	uint32_t extensions_of;
	struct nn_device_info info;
	/* newest list of extensions; NULL if no list is known yet */
	struct nna_extensions *extensions;

	/*
	 * The buffers, indexed by token, from 1; free entries are NULL. A thread takes buffers_lock
	 * only while it holds no other lock.
	 */
	pthread_mutex_t buffers_lock;
	struct nna_buffer **buffers;
	uint32_t buffers_size;
	uint32_t first_free;		/* no entry before this index is free */

	/*
	 * The fetched answers of fenced executions. A thread takes fences_lock only while it holds
	 * no other lock.
	 */
	pthread_mutex_t fences_lock;
	struct nna_fence *fences;

	/* a thread takes bursts_lock only while it holds no other lock */
	pthread_mutex_t bursts_lock;
	struct nna_burst *bursts;
	struct nna_watcher watcher;	/* thread that notices the end of a burst's worker */
};

/* Calls ioctl() of the device. Returns 0, or -1 with errno. */
int nna_device_call(const struct nna_device *device, unsigned long request, void *arg);

struct nna_device *nna_device_get(struct nna_device *device);
void nna_device_put(struct nna_device *device);

/*
 * Returns whether this process opened the device. In a forked child the kernel rejects all calls on
 * the device. In a forked child, threads that exist only in the parent may hold the device's locks.
 * In a forked child, functions that free objects take no lock.
 */
bool nna_device_is_ours(const struct nna_device *device);

/*
 * If the device has no worker, counts the new worker that the caller's next call may start. The
 * caller calls nna_device_expect_worker() before any call that may start a worker.
 */
void nna_device_expect_worker(struct nna_device *device);

/* Returns whether a deadline (0: none) has passed. */
bool nna_is_past(uint64_t deadline_ns);

#endif /* NN_HAL_DEVICE_H */
