/* SPDX-License-Identifier: MIT */
/* Measures the speed of a GPU relative to this machine's CPU, once for each driver. */
#ifndef NN_VULKAN_CAPABILITIES_H
#define NN_VULKAN_CAPABILITIES_H

#include "vulkan/device.h"

/*
 * For each type: the time of a convolution on the GPU, divided by the time of the convolution on
 * the CPU.
 */
struct capabilities {
	float float32;
	float float16;
	float quant8;
};

/*
 * Reads the ratios of struct capabilities for the GPU's driver from a file in `folder`. If the file
 * lacks the ratios, measures the ratios and writes them to the file. If `folder` is NULL, always
 * measures the ratios. If writing the file fails, capabilities_get() ignores the failure.
 */
enum nn_status capabilities_get(struct gpu *gpu, const char *folder,
				struct capabilities *capabilities, struct nn_error *err);

#endif /* NN_VULKAN_CAPABILITIES_H */
