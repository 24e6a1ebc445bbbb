// SPDX-License-Identifier: MIT
/*
 * Imports regions of clients' memory as dma-bufs, or by address. If a region cannot be imported,
 * the failure is recorded, so that later executions do not try to import the region.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/round.h"
#include "vulkan/import.h"

struct import {
	struct import *next;
	struct gpu *gpu;
	const void *base;
	bool is_writable;
	uint64_t id;
	/* buffer with the imported memory; zeroed if the memory cannot be imported */
	struct gpu_buffer buffer;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct import *list;		/* protected by `lock` */

enum nn_device_memory import_way_of(const struct gpu *gpu)
{
	const uint32_t dma_buf = GPU_MEMORY_FD | GPU_DMA_BUF;

	return (gpu->can & dma_buf) == dma_buf ? NN_DEVICE_MEMORY_DMA_BUF :
	       gpu->can & GPU_HOST_MEMORY ? NN_DEVICE_MEMORY_ADDRESS : NN_DEVICE_MEMORY_COPIED;
}

const char *import_way_name(enum nn_device_memory way)
{
	static const char *const names[] = {
		[NN_DEVICE_MEMORY_DMA_BUF] = "imported as dma-bufs",
		[NN_DEVICE_MEMORY_ADDRESS] = "imported by address",
		[NN_DEVICE_MEMORY_COPIED] = "copied",
	};

	return names[way];
}

/* Returns a coherent memory type (a type that needs no flushes) among `allowed`, or -1. */
static int coherent_type(const struct gpu *gpu, uint32_t allowed)
{
	for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++)
		if (allowed & 1u << i && gpu->memory.memoryTypes[i].propertyFlags &
					 VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
			return (int)i;
	return -1;
}

/* Makes a buffer from the memory that `from`, a Vulkan import structure, describes. */
static VkResult import_memory(struct gpu *gpu, VkExternalMemoryHandleTypeFlagBits handle,
			      const void *from, uint32_t types, struct gpu_buffer *b)
{
	const VkExternalMemoryBufferCreateInfo external = {
		.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
		.handleTypes = handle,
	};
	const VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.pNext = &external,
		.size = b->size,
		.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
	};
	VkMemoryAllocateInfo memory = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.pNext = from,
		.allocationSize = b->size,
	};
	VkMemoryRequirements needs;
	VkResult result = vkCreateBuffer(gpu->device, &info, NULL, &b->buffer);
	int type;

	if (result)
		return result;
	vkGetBufferMemoryRequirements(gpu->device, b->buffer, &needs);
	type = coherent_type(gpu, needs.memoryTypeBits & types);
	if (type < 0 || needs.size > b->size)
		return VK_ERROR_INVALID_EXTERNAL_HANDLE;
	memory.memoryTypeIndex = (uint32_t)type;
	result = vkAllocateMemory(gpu->device, &memory, NULL, &b->memory);
	return result ? result : vkBindBufferMemory(gpu->device, b->buffer, b->memory, 0);
}

static VkResult from_host(struct gpu *gpu, const struct nna_engine_region *region,
			  struct gpu_buffer *b)
{
	const VkExternalMemoryHandleTypeFlagBits handle =
		VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
	const VkImportMemoryHostPointerInfoEXT from = {
		.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
		.handleType = handle,
		.pHostPointer = region->base,
	};
	PFN_vkGetMemoryHostPointerPropertiesEXT properties_of =
		(PFN_vkGetMemoryHostPointerPropertiesEXT)
		vkGetDeviceProcAddr(gpu->device, "vkGetMemoryHostPointerPropertiesEXT");
	VkMemoryHostPointerPropertiesEXT properties = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT,
	};
	VkResult result;

	b->size = round_up(region->length, (uint64_t)sysconf(_SC_PAGESIZE));
	if ((uintptr_t)region->base % gpu->host_alignment || b->size % gpu->host_alignment)
		return VK_ERROR_INVALID_EXTERNAL_HANDLE;
	result = properties_of(gpu->device, handle, region->base, &properties);
	return result ? result : import_memory(gpu, handle, &from, properties.memoryTypeBits, b);
}

static VkResult from_dma_buf(struct gpu *gpu, int file, struct gpu_buffer *b)
{
	const VkExternalMemoryHandleTypeFlagBits handle =
		VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
	VkImportMemoryFdInfoKHR from = {
		.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
		.handleType = handle,
		.fd = file,
	};
	PFN_vkGetMemoryFdPropertiesKHR properties_of = (PFN_vkGetMemoryFdPropertiesKHR)
		vkGetDeviceProcAddr(gpu->device, "vkGetMemoryFdPropertiesKHR");
	VkMemoryFdPropertiesKHR properties = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR,
	};
	const off_t size = lseek(file, 0, SEEK_END);
	VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;

	b->size = size > 0 ? (uint64_t)size : 0;
	if (b->size)
		result = properties_of(gpu->device, handle, file, &properties);
	if (!result)
		result = import_memory(gpu, handle, &from, properties.memoryTypeBits, b);
	/*
	 * Close the file only if the import failed, because the driver owns the file after a
	 * successful import.
	 */
	if (!b->memory)
		close(file);
	return result;
}

/*
 * Imports a region as a dma-buf. If the region is no dma-buf or the import fails, imports the
 * region by address.
 */
static void import_region(struct gpu *gpu, struct nna_engine_execution *execution, const void *data,
			  const struct nna_engine_region *region, struct gpu_buffer *b)
{
	enum nn_device_memory way = import_way_of(gpu);
	VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;

	if (way == NN_DEVICE_MEMORY_DMA_BUF) {
		const int file = nna_engine_region_file(execution, data);

		if (file >= 0)
			result = from_dma_buf(gpu, file, b);
		if (result)
			gpu_buffer_destroy(gpu, b);
	}
	if (result && gpu->can & GPU_HOST_MEMORY && !region->is_device_memory) {
		result = from_host(gpu, region, b);
		way = NN_DEVICE_MEMORY_ADDRESS;
	}
	if (result)
		gpu_buffer_destroy(gpu, b);
	nna_engine_log(NNA_ENGINE_DEBUG, "%llu bytes of a client are %s",
		       (unsigned long long)region->length,
		       import_way_name(result ? NN_DEVICE_MEMORY_COPIED : way));
}

/*
 * Returns the import of a region; the first call for a region makes the import. Returns NULL if
 * memory runs out. The caller holds `lock`.
 */
static struct import *get(struct gpu *gpu, struct nna_engine_execution *execution, const void *data,
			  const struct nna_engine_region *region)
{
	struct import *i;

	for (i = list; i; i = i->next)
		if (i->gpu == gpu && i->base == region->base)
			return i;
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->gpu = gpu_hold(gpu);
	i->base = region->base;
	i->is_writable = region->is_writable;
	i->id = place_id();
	import_region(gpu, execution, data, region, &i->buffer);
	i->next = list;
	list = i;
	return i;
}

enum nn_status import_place(struct gpu *gpu, struct nna_engine_execution *execution, const void *data,
			    bool is_output, struct place *place, struct nn_error *err)
{
	struct nna_engine_region region;
	const struct import *i;

	*place = (struct place){ 0 };
	if (import_way_of(gpu) == NN_DEVICE_MEMORY_COPIED || !nna_engine_region_of(execution, data, &region))
		return NN_OK;
	pthread_mutex_lock(&lock);
	i = get(gpu, execution, data, &region);
	if (i && i->buffer.buffer && (i->is_writable || !is_output))
		*place = (struct place){
			.buffer = i->buffer.buffer, .id = i->id,
			.offset = (uint64_t)((const char *)data - (const char *)region.base),
		};
	pthread_mutex_unlock(&lock);
	if (region.is_device_memory && !place->buffer)
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "%s cannot import memory that the CPU cannot map", gpu->name.name);
	return NN_OK;
}

void import_forget(const void *base)
{
	struct import **link = &list, *i;

	pthread_mutex_lock(&lock);
	while ((i = *link)) {
		if (i->base != base) {
			link = &i->next;
			continue;
		}
		*link = i->next;
		/* After a missed deadline, the GPU may still execute the model. */
		gpu_wait(i->gpu);
		gpu_buffer_destroy(i->gpu, &i->buffer);
		gpu_release(i->gpu);
		free(i);
	}
	pthread_mutex_unlock(&lock);
}
