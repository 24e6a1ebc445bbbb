/* SPDX-License-Identifier: MIT */
/*
 * Products of the project's own extension, which devices may lack: float32 activations that are
 * quantised when they run, and weights of 8 bits.
 */
#ifndef NN_CLIENTS_DYNAMIC_H
#define NN_CLIENTS_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/operation.h>

/* The last input but others' own: see Documentation/extensions.rst. */
enum dynamic_form { DYNAMIC_TENSOR, DYNAMIC_ROWS, DYNAMIC_ROWS_ASYMMETRIC };

/* Asks whether one of the devices computes such a product. */
bool dynamic_is_supported(const ANeuralNetworksDevice *const *devices, uint32_t count);

#endif /* NN_CLIENTS_DYNAMIC_H */
