/* SPDX-License-Identifier: MIT */
/*
 * The device: an open file of the kernel, and what is made of it.
 */
#ifndef NN_HAL_DEVICE_H
#define NN_HAL_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "direct.h"
#include "watcher.h"

/* Lists of extensions, each kept as long as its device: callers have pointers into them. */
struct nna_extensions {
	struct nna_extensions *older;
	struct nn_device_extension *list;
	uint32_t count;
	uint32_t size;			/* of the engine's answer that it is of */
	uint8_t answer[];
};

struct nna_device {
	int fd;
	struct direct *direct;	/* NULL: the module's device */
	pid_t process;		/* that opened it: see nna_device_is_ours() */
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

	/* By token, from 1; NULL: free. Taken within no other lock. */
	pthread_mutex_t buffers_lock;
	struct nna_buffer **buffers;
	uint32_t buffers_size;
	uint32_t first_free;		/* no place before it is */

	/* Answers of fenced executions; taken within no other lock. */
	pthread_mutex_t fences_lock;
	struct nna_fence *fences;

	pthread_mutex_t bursts_lock;	/* taken within no other lock */
	struct nna_burst *bursts;
	struct nna_watcher watcher;	/* of bursts that die */
};

/* ioctl() of the device: 0, or -1 with errno. */
int nna_device_call(const struct nna_device *device, unsigned long request, void *arg);

struct nna_device *nna_device_get(struct nna_device *device);
void nna_device_put(struct nna_device *device);

/*
 * Whether this process opened it. In a forked child the kernel refuses all that is asked of it, and
 * its locks may be held by threads that the child does not have: what is freed takes none of them.
 */
bool nna_device_is_ours(const struct nna_device *device);

/* To be called before what may get this context another worker than the last. */
void nna_device_expect_worker(struct nna_device *device);

/* Whether there is a deadline, and it has passed. */
bool nna_is_past(uint64_t deadline_ns);

#endif /* NN_HAL_DEVICE_H */
