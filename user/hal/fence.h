/* SPDX-License-Identifier: MIT */
/*
 * Fenced executions: what the library knows of those that it has started.
 */
#ifndef NN_HAL_FENCE_H
#define NN_HAL_FENCE_H

#include "device.h"

/*
 * Fetches the answers of fenced executions that have ended, for an answer counts as a command until
 * then. True: there was one.
 */
bool nna_fences_collect(struct nna_device *device);

/* Forgets all fenced executions, at the device's end. */
void nna_fences_forget(struct nna_device *device);

#endif /* NN_HAL_FENCE_H */
