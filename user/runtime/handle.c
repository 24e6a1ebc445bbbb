/* SPDX-License-Identifier: MIT */
/*
 * A process's handle of an accelerator, opened anew in a forked child.
 */
#include "runtime/handle.h"

#include <pthread.h>

#include "runtime/log.h"

/* How often this process and its parents were forked off. Written in a child's only thread. */
static atomic_uint forks;

/* Protects handles. Held through a fork, so that no thread of the parent's has it in the child. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
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
		/* The parent's goes on being open there; memories and models here keep it too. */
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

bool handle_is_served(struct accel_handle *handle)
{
	struct nna_device *device;
	struct nn_error err = { "" };

	return handle_get(handle, &device, &err) == ANEURALNETWORKS_NO_ERROR &&
	       nna_device_status(device) == NNA_AVAILABLE;
}
