/* SPDX-License-Identifier: MIT */
/* A process's handle of an accelerator. A forked child opens its own handle of the accelerator. */
#include "runtime/handle.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/device.h"
#include "runtime/log.h"

/* Longest wait for an engine that restarts, and the interval between checks for the engine. */
#define RESTART_NS UINT64_C(10000000000)
#define LOOK_EVERY_NS 20000000

/*
 * Number of forks from the original process to this process. Only the single thread of a new child
 * writes the number of forks.
 */
static atomic_uint forks;

/*
 * Protects handles. Fork handlers hold `lock` during a fork, so that no other thread holds `lock`
 * in the child.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Take the device list's lock before `lock`, because device.c locks its list and then opens
 * handles.
 */
static void before_fork(void)
{
	device_lock_list();
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
	device_unlock_list();
}

static void after_fork_in_child(void)
{
	atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
	after_fork();
}

__attribute__((constructor)) static void register_fork(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

uint32_t handle_process(void)
{
	return atomic_load_explicit(&forks, memory_order_relaxed);
}

int handle_get(struct accel_handle *handle, struct nna_device **device, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	pthread_mutex_lock(&lock);
	if (handle->device && handle->process != handle_process()) {
		/*
		 * Memories and models still refer to the parent's device, so the device stays open
		 * until the last memory and model are freed.
		 */
		nna_device_close(handle->device);
		handle->device = NULL;
	}
	if (!handle->device) {
		handle->process = handle_process();
		status = nna_device_open(handle->path, &handle->device, err);
		if (status)
			handle->device = NULL;
	}
	*device = handle->device;
	pthread_mutex_unlock(&lock);
	return rt_fail_status(err, status);
}

void handle_close(struct accel_handle *handle)
{
	pthread_mutex_lock(&lock);
	nna_device_close(handle->device);
	handle->device = NULL;
	pthread_mutex_unlock(&lock);
}

void handle_renew(atomic_uint *process, void (*renew)(void *argument), void *argument)
{
	if (atomic_load_explicit(process, memory_order_acquire) == handle_process())
		return;
	pthread_mutex_lock(&lock);
	if (atomic_load_explicit(process, memory_order_relaxed) != handle_process()) {
		renew(argument);
		atomic_store_explicit(process, handle_process(), memory_order_release);
	}
	pthread_mutex_unlock(&lock);
}

/*
 * Returns whether the handle's device has an engine; *end_ns is the time at which a wait for the
 * engine's restart must stop.
 */
static bool look(struct accel_handle *handle, uint64_t *end_ns)
{
	struct nna_device *device;
	struct nn_error err = { "" };
	bool served = handle_get(handle, &device, &err) == ANEURALNETWORKS_NO_ERROR &&
		      nna_device_status(device) == NNA_AVAILABLE;

	pthread_mutex_lock(&lock);
	if (served)
		handle->missed_ns = 0;
	else if (!handle->missed_ns)
		handle->missed_ns = clock_ns();
	*end_ns = handle->missed_ns + RESTART_NS;
	pthread_mutex_unlock(&lock);
	return served;
}

bool handle_is_served(struct accel_handle *handle)
{
	uint64_t end_ns;

	return look(handle, &end_ns);
}

bool handle_comes_back(struct accel_handle *handle, uint64_t deadline_ns)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
	bool waited = false;
	uint64_t end_ns;

	while (!look(handle, &end_ns)) {
		uint64_t now = clock_ns();

		if (now >= end_ns || (deadline_ns && now >= deadline_ns))
			return false;
		waited = true;
		nanosleep(&pause, NULL);
	}
	return waited;
}
