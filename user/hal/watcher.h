/* SPDX-License-Identifier: MIT */
/*
 * Each device has a thread, the watcher. When a burst ends, the watcher wakes the threads that wait
 * for the burst's rings.
 */
#ifndef NN_HAL_WATCHER_H
#define NN_HAL_WATCHER_H

#include <pthread.h>
#include <sys/types.h>

struct nna_burst;
struct nna_device;

struct nna_watcher {
	pthread_t thread;
	pid_t process;		/* process that has the watcher's thread */
	int epoll;		/* epoll file of the watcher; -1 before the thread starts */
	int stop;		/* eventfd */
};

void nna_watcher_init(struct nna_watcher *watcher);
void nna_watcher_destroy(struct nna_watcher *watcher);

/*
 * Watches a burst's file until the file is closed. The caller holds the device's bursts_lock, which
 * the watcher's thread takes to find the burst. Returns 0, or an errno.
 */
int nna_watcher_add(struct nna_device *device, struct nna_burst *burst, int fd);

#endif /* NN_HAL_WATCHER_H */
