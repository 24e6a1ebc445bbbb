// SPDX-License-Identifier: MIT
/* Makes buffers in a GPU's memory or in the host's memory. */
#include <string.h>

#include "vulkan/device.h"

/* Returns a memory type among `allowed` that has all properties in `needed`, or -1. */
static int type_with(const struct gpu *gpu, uint32_t allowed, VkMemoryPropertyFlags needed)
{
	for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++)
		if (allowed & 1u << i &&
		    (gpu->memory.memoryTypes[i].propertyFlags & needed) == needed)
			return (int)i;
	return -1;
}

/*
 * Chooses a memory type. For access by the host, prefers cached memory, which is quick to read; for
 * the GPU alone, prefers the device's own memory.
 */
static int choose_type(const struct gpu *gpu, uint32_t allowed, bool host)
{
	static const VkMemoryPropertyFlags for_host[] = {
		VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
		VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
	};
	static const VkMemoryPropertyFlags for_device[] = { VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0 };

	for (uint32_t i = 0; i < 2; i++) {
		int type = type_with(gpu, allowed, host ? for_host[i] : for_device[i]);

		if (type >= 0)
			return type;
	}
	return -1;
}

static VkResult allocate(struct gpu *gpu, bool host, struct gpu_buffer *b)
{
	VkMemoryRequirements needs;
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkResult result;
	int type;

	vkGetBufferMemoryRequirements(gpu->device, b->buffer, &needs);
	type = choose_type(gpu, needs.memoryTypeBits, host);
	if (type < 0)
		return VK_ERROR_OUT_OF_DEVICE_MEMORY;
	info.allocationSize = needs.size;
	info.memoryTypeIndex = (uint32_t)type;
	b->is_coherent = gpu->memory.memoryTypes[type].propertyFlags &
			 VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	result = vkAllocateMemory(gpu->device, &info, NULL, &b->memory);
	if (!result)
		result = vkBindBufferMemory(gpu->device, b->buffer, b->memory, 0);
	if (!result && host)
		result = vkMapMemory(gpu->device, b->memory, 0, VK_WHOLE_SIZE, 0,
				     (void **)&b->base);
	return result;
}

enum nn_status gpu_buffer_create(struct gpu *gpu, uint64_t size, bool host,
				 struct gpu_buffer *buffer, struct nn_error *err)
{
	const VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = size,
		.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
			 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
	};
	VkResult result;

	*buffer = (struct gpu_buffer){ .size = size };
	result = vkCreateBuffer(gpu->device, &info, NULL, &buffer->buffer);
	if (!result)
		result = allocate(gpu, host, buffer);
	if (result)
		gpu_buffer_destroy(gpu, buffer);
	return gpu_fail(gpu, result, "cannot allocate a buffer", err);
}

void gpu_buffer_destroy(struct gpu *gpu, struct gpu_buffer *buffer)
{
	vkDestroyBuffer(gpu->device, buffer->buffer, NULL);
	vkFreeMemory(gpu->device, buffer->memory, NULL);
	memset(buffer, 0, sizeof(*buffer));
}

static VkMappedMemoryRange range_of(const struct gpu_buffer *buffer)
{
	return (VkMappedMemoryRange){
		.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
		.memory = buffer->memory,
		.size = VK_WHOLE_SIZE,
	};
}

VkResult gpu_buffer_flush(struct gpu *gpu, const struct gpu_buffer *buffer)
{
	const VkMappedMemoryRange range = range_of(buffer);

	return buffer->is_coherent ? VK_SUCCESS :
				     vkFlushMappedMemoryRanges(gpu->device, 1, &range);
}

VkResult gpu_buffer_invalidate(struct gpu *gpu, const struct gpu_buffer *buffer)
{
	const VkMappedMemoryRange range = range_of(buffer);

	return buffer->is_coherent ? VK_SUCCESS :
				     vkInvalidateMappedMemoryRanges(gpu->device, 1, &range);
}
