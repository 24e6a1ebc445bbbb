/* SPDX-License-Identifier: MIT */
/*
 * The answers to fenced executions that the library has fetched from the kernel.
 */
#ifndef NN_HAL_FENCE_H
#define NN_HAL_FENCE_H

#include "device.h"

/* Frees all fetched answers when the device is closed. */
void nna_fences_forget(struct nna_device *device);

#endif /* NN_HAL_FENCE_H */
