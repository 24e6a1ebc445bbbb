/* SPDX-License-Identifier: MIT */
/*
 * A Vulkan layer between the engine and a driver. On demand of a test, the layer makes calls fail
 * or end late, GPUs disappear, or memory incoherent. The test itself loads the layer's library, and
 * controls the layer by the variable `nn_test_layer`.
 */
#ifndef NN_TESTS_VULKAN_LAYER_H
#define NN_TESTS_VULKAN_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

struct test_layer {
	VkResult result;		/* result of failing calls; VK_TIMEOUT delays waits */
	uint32_t before;		/* number of calls before the first failing call */
	const void *device, *queue;	/* calls fail only on this device or queue; NULL: on any */
	bool is_reached;
	bool is_gone;			/* true: no GPU is found */
	bool is_incoherent;		/* true: next opened GPUs have incoherent memory */
	size_t loaded;			/* initial size of the last pipeline cache in bytes */
	/* if header_size is not 0, a pipeline cache is the first header_size bytes of `header` */
	VkPipelineCacheHeaderVersionOne header;
	size_t header_size;
	uint32_t submissions;		/* number of submissions to queues so far; atomic */
	uint32_t waits;			/* number of waits for fences or devices so far */
	uint32_t recordings;		/* number of command buffers begun so far */
	uint32_t groups;		/* number of work groups recorded so far */
	uint32_t objects;		/* number of objects that are not destroyed; atomic */
};

#endif /* NN_TESTS_VULKAN_LAYER_H */
