/* SPDX-License-Identifier: MIT */
/*
 * A process's handle of an accelerator. The kernel serves a handle only in the process that opened
 * the handle, so a forked child opens a handle of its own at the first use.
 */
#ifndef NN_RUNTIME_HANDLE_H
#define NN_RUNTIME_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <nnaccel/nnaccel.h>

/*
 * A zeroed handle is not open. A single lock in handle.c protects all handles, and fork handlers
 * hold the lock during a fork.
 */
struct accel_handle {
	const char *path;	/* path of the device node; NULL for NNA_DEVICE_PATH */
	struct nna_device *device;	/* NULL: not open */
	uint32_t process;	/* result of handle_process() when `device` was opened */
	uint64_t missed_ns;	/* time when the engine was first missing; 0 with an engine */
};

/*
 * Returns, without a system call, a number that differs between a forked child and its parent. Two
 * children of one parent may have the same number.
 */
uint32_t handle_process(void);

/*
 * Sets *device to the handle's device, which the first call in this process opens. Returns
 * UNAVAILABLE_DEVICE if the device cannot be opened. A forked child's handle cannot use objects of
 * the parent's handle.
 */
int handle_get(struct accel_handle *handle, struct nna_device **device, struct nn_error *err);

/* Closes the handle; the device stays open until all objects made with the handle are freed. */
void handle_close(struct accel_handle *handle);

/*
 * Calls renew(argument) once in each forked child, before any thread of the child returns from
 * handle_renew(). *process is the result of handle_process() at the latest call of renew().
 */
void handle_renew(atomic_uint *process, void (*renew)(void *argument), void *argument);

/* Returns, without waiting, whether an engine serves the device now. */
bool handle_is_served(struct accel_handle *handle);

/*
 * Waits until an engine serves the device, or until deadline_ns (0: no deadline). Waits only if the
 * engine was first missing less than 10 s ago, because the engine may be restarting. Returns true
 * only if an engine appeared during the wait.
 */
bool handle_comes_back(struct accel_handle *handle, uint64_t deadline_ns);

#endif /* NN_RUNTIME_HANDLE_H */
