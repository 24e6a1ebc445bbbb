/* SPDX-License-Identifier: MIT */
/*
 * Chooses a device for each operation from the supported operations and the performance figures of
 * all devices.
 */
#ifndef NN_RUNTIME_ASSIGN_H
#define NN_RUNTIME_ASSIGN_H

#include "runtime/device.h"

/*
 * chosen[i] is the index of the device for operation i of the main subgraph. Returns BAD_DATA if no
 * device can execute an operation, or the error of a device that failed to answer.
 */
int assign_operations(const struct graph *graph, const ANeuralNetworksDevice *const *devices,
		      uint32_t num_devices, uint32_t preference, uint32_t *chosen,
		      struct nn_error *err);

#endif /* NN_RUNTIME_ASSIGN_H */
