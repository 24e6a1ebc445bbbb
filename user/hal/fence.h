/* SPDX-License-Identifier: MIT */
/*
 * Fenced executions: what the library knows of those whose answers it has fetched.
 */
#ifndef NN_HAL_FENCE_H
#define NN_HAL_FENCE_H

#include "device.h"

/* Forgets the answers of all fenced executions, at the device's end. */
void nna_fences_forget(struct nna_device *device);

#endif /* NN_HAL_FENCE_H */
