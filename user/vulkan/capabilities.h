/* SPDX-License-Identifier: MIT */
/* Measures the speed of a GPU relative to this machine's CPU, once for each driver. */
#ifndef NN_VULKAN_CAPABILITIES_H
#define NN_VULKAN_CAPABILITIES_H

#include "vulkan/device.h"

/* Time of a convolution on the GPU, divided by its time on the CPU, for each type. */
struct capabilities {
	float float32;
	float float16;
	float quant8;
};

/*
 * Reads the ratios for the GPU's driver from a file in `folder`. If the file lacks the ratios,
 * measures and writes the ratios. If `folder` is NULL, always measures the ratios. Ignores a
 * failure to write the file.
 */
enum nn_status capabilities_get(struct gpu *gpu, const char *folder,
				struct capabilities *capabilities, struct nn_error *err);

#endif /* NN_VULKAN_CAPABILITIES_H */
