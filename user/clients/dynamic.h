/* SPDX-License-Identifier: MIT */
/*
 * GEMM operations of the project's own extension, which devices may lack. The weights of the GEMM
 * operations have 8 bits. The activations are float32, and are quantised when the operation runs.
 */
#ifndef NN_CLIENTS_DYNAMIC_H
#define NN_CLIENTS_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/operation.h>

/*
 * Values of a GEMM operation's input that selects how activations are quantised; see
 * Documentation/extensions.rst.
 */
enum dynamic_form { DYNAMIC_TENSOR, DYNAMIC_ROWS, DYNAMIC_ROWS_ASYMMETRIC };

/*
 * Returns whether the devices support a GEMM with dynamic quantisation, the error function (ERF)
 * and GELU.
 */
bool dynamic_is_supported(const ANeuralNetworksDevice *const *devices, uint32_t count);

#endif /* NN_CLIENTS_DYNAMIC_H */
