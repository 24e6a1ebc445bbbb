// SPDX-License-Identifier: MIT
/*
 * Records commands. Most dispatches read the output of the one before, so a barrier is before each.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "vulkan/commands.h"
#include "vulkan/pipeline.h"

/* Between all that comes before and all that follows, on the GPU and the host. */
static void barrier(VkCommandBuffer commands)
{
	const VkMemoryBarrier all = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
				 VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
				 VK_ACCESS_HOST_READ_BIT,
	};
	const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
					    VK_PIPELINE_STAGE_TRANSFER_BIT;

	vkCmdPipelineBarrier(commands, stages, stages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0,
			     NULL, 0, NULL);
}

static void transfer(VkCommandBuffer commands, const struct commands_target *t, bool is_output)
{
	const struct transfer *list = is_output ? t->outputs : t->inputs;

	for (uint32_t i = 0; i < (is_output ? t->num_outputs : t->num_inputs); i++) {
		const VkBufferCopy copy = {
			.srcOffset = is_output ? list[i].gpu : list[i].host,
			.dstOffset = is_output ? list[i].host : list[i].gpu,
			.size = list[i].size,
		};

		vkCmdCopyBuffer(commands, is_output ? t->memory : t->staging,
				is_output ? t->staging : t->memory, 1, &copy);
	}
}

/* Returns the variant of a shader that is quicker on the GPU. */
static enum shader variant_of(const struct commands_target *t, const struct dispatch *d)
{
	const bool is_half = d->constants[0] == TYPE_F16 || t->graph->model->relaxed;

	if (d->shader == SHADER_conv_f && is_half && t->gpu->uses & GPU_HALF)
		return SHADER_conv_f_half;
	if (d->shader == SHADER_conv_q && t->gpu->uses & GPU_DOT)
		return SHADER_conv_q_dot;
	if (d->shader == SHADER_conv_d && t->gpu->uses & GPU_DOT)
		return SHADER_conv_d_dot;
	return d->shader;
}

static VkResult dispatch(VkCommandBuffer commands, const struct commands_target *t, uint32_t index)
{
	const struct dispatch *d = &t->graph->dispatches[index];
	const VkPipelineLayout layout = pipelines_layout(t->gpu);
	const uint32_t offset = (uint32_t)(index * t->graph->params_step);
	VkPipeline pipeline;
	VkResult result = pipeline_get(t->gpu, variant_of(t, d), d->constants, &pipeline);

	if (result)
		return result;
	barrier(commands);
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &t->set, 1,
				&offset);
	vkCmdDispatch(commands, d->groups[0], d->groups[1], d->groups[2]);
	return VK_SUCCESS;
}

static VkResult allocate(struct gpu *gpu, VkCommandBuffer *commands)
{
	const VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = gpu->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 1,
	};

	return vkAllocateCommandBuffers(gpu->device, &info, commands);
}

static VkResult begin(VkCommandBuffer commands)
{
	const VkCommandBufferBeginInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
	};

	return vkBeginCommandBuffer(commands, &info);
}

/* Begins the next submission's commands. */
static VkResult next(struct commands *c, struct gpu *gpu)
{
	if (c->count == c->room) {
		VkCommandBuffer *grown = reallocarray(c->buffers, c->room + 1, sizeof(*grown));
		VkResult result;

		if (!grown)
			return VK_ERROR_OUT_OF_HOST_MEMORY;
		c->buffers = grown;
		result = allocate(gpu, &c->buffers[c->room]);
		if (result)
			return result;
		c->room++;
	}
	return begin(c->buffers[c->count++]);
}

static VkResult record(struct commands *c, const struct commands_target *t, uint64_t most)
{
	VkResult result = next(c, t->gpu);
	uint64_t cost = 0;

	if (result)
		return result;
	transfer(c->buffers[0], t, false);
	for (uint32_t i = 0; i < t->graph->num_dispatches; i++) {
		const uint64_t more = t->graph->dispatches[i].cost;

		if (cost && cost + more > most) {
			result = vkEndCommandBuffer(c->buffers[c->count - 1]);
			if (!result)
				result = next(c, t->gpu);
			if (result)
				return result;
			cost = 0;
		}
		cost += more;
		result = dispatch(c->buffers[c->count - 1], t, i);
		if (result)
			return result;
	}
	barrier(c->buffers[c->count - 1]);
	transfer(c->buffers[c->count - 1], t, true);
	barrier(c->buffers[c->count - 1]);
	return vkEndCommandBuffer(c->buffers[c->count - 1]);
}

VkResult commands_record(struct commands *c, const struct commands_target *target, uint64_t cost)
{
	VkResult result;

	pthread_mutex_lock(&target->gpu->lock);
	c->count = 0;
	result = record(c, target, cost);
	/* Commands that were begun cannot be begun again. */
	for (; result && c->count; c->count--)
		vkResetCommandBuffer(c->buffers[c->count - 1], 0);
	pthread_mutex_unlock(&target->gpu->lock);
	return result;
}

void commands_free(struct commands *c, struct gpu *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	if (c->room)
		vkFreeCommandBuffers(gpu->device, gpu->pool, c->room, c->buffers);
	pthread_mutex_unlock(&gpu->lock);
	free(c->buffers);
	memset(c, 0, sizeof(*c));
}

static VkResult copy_now(struct gpu *gpu, VkCommandBuffer commands, VkBuffer from, VkBuffer to,
			 uint64_t size)
{
	const VkBufferCopy all = { .size = size };
	const VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &commands,
	};
	VkResult result = begin(commands);

	if (result)
		return result;
	vkCmdCopyBuffer(commands, from, to, 1, &all);
	barrier(commands);
	result = vkEndCommandBuffer(commands);
	if (result)
		return result;
	pthread_mutex_lock(&gpu->queue_lock);
	result = vkQueueSubmit(gpu->queue, 1, &submit, VK_NULL_HANDLE);
	if (!result)
		result = vkQueueWaitIdle(gpu->queue);
	/* If that failed, the GPU may still hold the commands. */
	if (result)
		vkDeviceWaitIdle(gpu->device);
	pthread_mutex_unlock(&gpu->queue_lock);
	return result;
}

VkResult commands_copy(struct gpu *gpu, VkBuffer from, VkBuffer to, uint64_t size)
{
	VkCommandBuffer commands;
	VkResult result;

	pthread_mutex_lock(&gpu->lock);
	result = allocate(gpu, &commands);
	if (!result) {
		result = copy_now(gpu, commands, from, to, size);
		vkFreeCommandBuffers(gpu->device, gpu->pool, 1, &commands);
	}
	pthread_mutex_unlock(&gpu->lock);
	return result;
}
