/* SPDX-License-Identifier: MIT */
/*
 * A process's handle of an accelerator. The kernel serves a handle only in the process that opened
 * it. So a forked child opens its own handle when it first needs one.
 */
#ifndef NN_RUNTIME_HANDLE_H
#define NN_RUNTIME_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <nnaccel/nnaccel.h>

/*
 * A zeroed handle is not open. A single lock in handle.c protects all handles; it is held during a
 * fork.
 */
struct accel_handle {
	const char *path;		/* path of the node; NULL for NNA_DEVICE_PATH */
	struct nna_device *device;	/* NULL: not open */
	uint32_t process;		/* handle_process() when `device` was opened */
	uint64_t missed_ns;	/* time when the engine was first missing; 0 while it exists */
};

/* Returns a number that differs between a forked child and its parent. Makes no system call. */
uint32_t handle_process(void);

/*
 * Sets *device to the handle's device, and opens it if this process has not opened it yet. Returns
 * UNAVAILABLE_DEVICE if opening fails. Objects of a parent's handle cannot be used with the
 * child's.
 */
int handle_get(struct accel_handle *handle, struct nna_device **device, struct nn_error *err);

/* Closes the handle; objects made with it keep the device open. */
void handle_close(struct accel_handle *handle);

/*
 * Calls renew(argument) once in each forked child, before any thread of the child returns from this
 * function. *process is the value of handle_process() at the last renewal.
 */
void handle_renew(atomic_uint *process, void (*renew)(void *argument), void *argument);

/* Returns whether an engine serves the device now, without waiting for one. */
bool handle_is_served(struct accel_handle *handle);

/*
 * Waits until an engine serves the device, or until deadline_ns (0: no deadline). Waits only if the
 * engine was first missing less than 10 s ago, because it may be restarting. Returns true if an
 * engine appeared during the wait. Returns false if there was no engine, or if there was one before
 * the wait.
 */
bool handle_comes_back(struct accel_handle *handle, uint64_t deadline_ns);

#endif /* NN_RUNTIME_HANDLE_H */
