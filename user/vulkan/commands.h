/* SPDX-License-Identifier: MIT */
/*
 * The commands of a graph: recorded once, cut into submissions that are short enough for a desktop.
 */
#ifndef NN_VULKAN_COMMANDS_H
#define NN_VULKAN_COMMANDS_H

#include "vulkan/device.h"
#include "vulkan/graph.h"

/* Bytes that go between the host's buffer and the GPU's. */
struct transfer {
	uint64_t host;
	uint64_t gpu;
	uint64_t size;
};

struct commands {
	VkCommandBuffer *buffers;	/* one a submission */
	uint32_t count;
	uint32_t room;
};

/* The objects that commands use. */
struct commands_target {
	struct gpu *gpu;
	const struct graph *graph;
	VkDescriptorSet set;
	VkBuffer memory;
	VkBuffer staging;
	const struct transfer *inputs;
	uint32_t num_inputs;
	const struct transfer *outputs;
	uint32_t num_outputs;
};

/*
 * Records a graph's dispatches, at most `cost` in a submission, after transfers of the inputs and
 * before those of the outputs. Replaces what was recorded before, which must not run. A failure
 * leaves no commands.
 */
VkResult commands_record(struct commands *c, const struct commands_target *target, uint64_t cost);
void commands_free(struct commands *c, struct gpu *gpu);

/* Copies between two buffers, and waits. */
VkResult commands_copy(struct gpu *gpu, VkBuffer from, VkBuffer to, uint64_t size);

#endif /* NN_VULKAN_COMMANDS_H */
