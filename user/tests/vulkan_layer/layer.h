/* SPDX-License-Identifier: MIT */
/*
 * A Vulkan layer that makes calls fail or end late, GPUs disappear, and memory not coherent, as a
 * test demands. It lies between the engine and a driver. A test loads it, too, and finds its
 * controls as `nn_test_layer`.
 */
#ifndef NN_TESTS_VULKAN_LAYER_H
#define NN_TESTS_VULKAN_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

struct test_layer {
	VkResult result;		/* of calls from it on; VK_TIMEOUT delays waits */
	uint32_t before;		/* calls before it */
	const void *device, *queue;	/* only calls on these fail; NULL: all */
	bool is_reached;
	bool is_gone;			/* no GPU is found */
	bool is_incoherent;		/* the memory of GPUs that are opened from now on */
	size_t loaded;			/* bytes that the last cache of pipelines began with */
	uint32_t submissions;		/* number of submissions to queues so far; atomic */
	uint32_t recordings;		/* number of commands that were begun so far */
};

#endif /* NN_TESTS_VULKAN_LAYER_H */
