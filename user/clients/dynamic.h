/* SPDX-License-Identifier: MIT */
/*
 * GEMM operations of the project's own extension, which devices may lack. Their weights have 8
 * bits; their activations are float32, and are quantised when the operation runs.
 */
#ifndef NN_CLIENTS_DYNAMIC_H
#define NN_CLIENTS_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/operation.h>

/* Values of the input that says how to quantise; see Documentation/extensions.rst. */
enum dynamic_form { DYNAMIC_TENSOR, DYNAMIC_ROWS, DYNAMIC_ROWS_ASYMMETRIC };

/* Returns whether the devices support a GEMM of this kind, the error function (ERF) and GELU. */
bool dynamic_is_supported(const ANeuralNetworksDevice *const *devices, uint32_t count);

#endif /* NN_CLIENTS_DYNAMIC_H */
