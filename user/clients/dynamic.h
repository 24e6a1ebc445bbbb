/* SPDX-License-Identifier: MIT */
/*
 * GEMM operations of the project's own extension, which devices may lack: float32 activations,
 * which are quantised when the operation runs, and 8-bit weights.
 */
#ifndef NN_CLIENTS_DYNAMIC_H
#define NN_CLIENTS_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/operation.h>

/* The last input, unless it is another extension's own; see Documentation/extensions.rst. */
enum dynamic_form { DYNAMIC_TENSOR, DYNAMIC_ROWS, DYNAMIC_ROWS_ASYMMETRIC };

/* Returns whether the devices support such an operation, the error function (ERF) and GELU. */
bool dynamic_is_supported(const ANeuralNetworksDevice *const *devices, uint32_t count);

#endif /* NN_CLIENTS_DYNAMIC_H */
