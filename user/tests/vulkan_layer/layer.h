/* SPDX-License-Identifier: MIT */
/*
 * A layer of Vulkan that fails calls, is late, and has no coherent memory, as a test tells it. It lies
 * between the engine and a driver. A test loads it, too, and finds its controls as `nn_test_layer`.
 */
#ifndef NN_TESTS_VULKAN_LAYER_H
#define NN_TESTS_VULKAN_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

struct test_layer {
	VkResult result;		/* of a call and of those after it; VK_TIMEOUT: waits are late */
	uint32_t before;		/* calls before it */
	bool is_reached;
	bool is_incoherent;		/* the memory of GPUs that are opened from now on */
	size_t loaded;			/* bytes that the last cache of pipelines began with */
	uint32_t submissions;		/* to queues, so far */
};

#endif /* NN_TESTS_VULKAN_LAYER_H */
