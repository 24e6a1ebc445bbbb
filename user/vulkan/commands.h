/* SPDX-License-Identifier: MIT */
/*
 * The GPU commands of a graph, which are recorded once and executed many times. The commands are
 * divided into short submissions, because a long submission would block the desktop.
 */
#ifndef NN_VULKAN_COMMANDS_H
#define NN_VULKAN_COMMANDS_H

#include "vulkan/device.h"
#include "vulkan/graph.h"

/*
 * Longest submission in nanoseconds. A submission longer than SUBMISSION_NS would block the
 * desktop, or a watchdog would reset the GPU.
 */
#define SUBMISSION_NS	20000000

/*
 * The location of an execution's argument. If `buffer` is VK_NULL_HANDLE, the argument is in the
 * staging buffer.
 */
struct place {
	VkBuffer buffer;
	uint64_t offset;
	uint64_t id;	/* unique number of the buffer, which place_id() has returned */
	/*
	 * not 0 if only the GPU accesses the buffer's memory; 64 bits, so that the struct has no
	 * padding
	 */
	uint64_t is_own;
};

/* Returns a number that no other buffer has. */
uint64_t place_id(void);

/*
 * A copy between the GPU's buffer and an argument. The argument is at the location that struct
 * place describes, or in the staging buffer.
 */
struct transfer {
	uint64_t host;
	uint64_t gpu;
	uint64_t size;
};

/* Commands that are submitted to the GPU together. */
struct submission {
	VkCommandBuffer buffer;
	double ns;			/* expected time of the submission's commands */
	uint64_t measured_ns; /* last measured time of the commands, or 0 if the time is unknown */
};

/* The work groups of one dispatch in one submission. */
struct piece {
	uint32_t dispatch;
	uint32_t submission;
	double ns;
};

struct commands {
	struct submission *list;
	uint32_t count;
	uint32_t room;
	struct piece *pieces;
	uint32_t num_pieces;
	uint32_t pieces_room;
	double *ns;			/* expected time of each dispatch */
};

/* The Vulkan objects and the transfers that commands use. */
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
	VkQueryPool times;		/* timestamps of begin and end, or VK_NULL_HANDLE */
};

/*
 * Records the transfers of inputs or, if `is_output` is set, of outputs. `places` has the location
 * of each input or output. If *commands is NULL, allocates a command buffer for the transfers.
 */
VkResult commands_transfer(VkCommandBuffer *commands, const struct commands_target *target,
			   const struct place *places, bool is_output);

/*
 * Records a graph's dispatches, which are submitted between the transfers of inputs and outputs. By
 * the last measurements, each submission takes at most SUBMISSION_NS; a dispatch that takes longer
 * than SUBMISSION_NS is divided. Replaces the previous commands in `c`, which must not be running.
 * If commands_record() fails, `c` contains no commands.
 */
VkResult commands_record(struct commands *c, const struct commands_target *target);
void commands_free(struct commands *c, struct gpu *gpu);

/* Frees command buffers that commands_transfer() recorded; `list` may contain NULL. */
void commands_drop(struct gpu *gpu, const VkCommandBuffer *list, uint32_t count);

/* Copies between two buffers, and waits for the end of the copy. */
VkResult commands_copy(struct gpu *gpu, VkBuffer from, VkBuffer to, uint64_t size);

#endif /* NN_VULKAN_COMMANDS_H */
