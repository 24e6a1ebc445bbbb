/* SPDX-License-Identifier: MIT */
/*
 * The speed of a GPU beside plans on this machine's CPU, measured once for each driver.
 */
#ifndef NN_VULKAN_CAPABILITIES_H
#define NN_VULKAN_CAPABILITIES_H

#include "vulkan/device.h"

/* Time of a convolution on the GPU, in times of the CPU's. */
struct capabilities {
	float float32;
	float float16;
	float quant8;
};

/*
 * Reads the figures of the GPU's driver from a file of `folder`, or measures and writes them there.
 * If `folder` is NULL, there is no file. A failure to write is ignored.
 */
enum nn_status capabilities_get(struct gpu *gpu, const char *folder,
				struct capabilities *capabilities, struct nn_error *err);

#endif /* NN_VULKAN_CAPABILITIES_H */
