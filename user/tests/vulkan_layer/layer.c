// SPDX-License-Identifier: MIT
/*
 * This file has the functions of the Vulkan layer for tests. All GPUs that a process opens have one
 * driver, so the layer stores the next functions in the chain of layers only once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <vulkan/vk_layer.h>

#include "tests/vulkan_layer/layer.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED struct test_layer nn_test_layer;

static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;

/*
 * Returns true if the layer must make the call `name` fail. The parameter `of` is the device or
 * queue of the call. Only calls on queues report a lost GPU, and only calls that export files
 * report too many objects. Calls that record commands, and calls that wait without a timeout, never
 * report a timeout.
 */
static bool fails(const char *name, const void *of, bool is_endless)
{
	struct test_layer *l = &nn_test_layer;
	const bool is_queue = strstr(name, "Queue") || strstr(name, "Wait");

	l->waits += !!strstr(name, "Wait");
	if (!l->result || (l->device && of != l->device && of != l->queue) || (l->result == VK_ERROR_DEVICE_LOST && !is_queue) ||
	    (l->result == VK_ERROR_TOO_MANY_OBJECTS && !strstr(name, "Fd")) ||
	    (l->result == VK_TIMEOUT && (!strstr(name, "Wait") || is_endless)))
		return false;
	if (l->before) {
		l->before--;
		return false;
	}
	l->is_reached = true;
	return true;
}

/* ---- Calls that fail ---- */

#define NEXT(name) static PFN_##name next_##name
#define WRAP(name, is_endless, parameters, ...)						\
NEXT(name);										\
static VKAPI_ATTR VkResult VKAPI_CALL own_##name parameters				\
{											\
	return fails(#name, u, is_endless) ? nn_test_layer.result : next_##name(__VA_ARGS__); \
}
#define CREATE(what, info)								\
NEXT(vkCreate##what);									\
static VKAPI_ATTR VkResult VKAPI_CALL							\
own_vkCreate##what(VkDevice u, const info *v, const VkAllocationCallbacks *w, Vk##what *x) \
{											\
	VkResult result = fails("vkCreate" #what, u, false) ? nn_test_layer.result :	\
			  next_vkCreate##what(u, v, w, x);				\
											\
	__atomic_fetch_add(&nn_test_layer.objects, !result, __ATOMIC_RELAXED);		\
	return result;									\
}											\
NEXT(vkDestroy##what);									\
static VKAPI_ATTR void VKAPI_CALL							\
own_vkDestroy##what(VkDevice u, Vk##what v, const VkAllocationCallbacks *w)		\
{											\
	__atomic_fetch_sub(&nn_test_layer.objects, v != VK_NULL_HANDLE, __ATOMIC_RELAXED); \
	next_vkDestroy##what(u, v, w);							\
}

CREATE(Buffer, VkBufferCreateInfo)
CREATE(CommandPool, VkCommandPoolCreateInfo)
CREATE(DescriptorPool, VkDescriptorPoolCreateInfo)
CREATE(DescriptorSetLayout, VkDescriptorSetLayoutCreateInfo)
CREATE(Fence, VkFenceCreateInfo)
CREATE(PipelineLayout, VkPipelineLayoutCreateInfo)
CREATE(QueryPool, VkQueryPoolCreateInfo)
CREATE(Semaphore, VkSemaphoreCreateInfo)
CREATE(ShaderModule, VkShaderModuleCreateInfo)
WRAP(vkCreateComputePipelines, false,
     (VkDevice u, VkPipelineCache v, uint32_t w, const VkComputePipelineCreateInfo *x,
      const VkAllocationCallbacks *y, VkPipeline *z), u, v, w, x, y, z)
WRAP(vkAllocateCommandBuffers, false, (VkDevice u, const VkCommandBufferAllocateInfo *v,
				       VkCommandBuffer *w), u, v, w)
WRAP(vkAllocateDescriptorSets, false, (VkDevice u, const VkDescriptorSetAllocateInfo *v,
				       VkDescriptorSet *w), u, v, w)
WRAP(vkEndCommandBuffer, false, (VkCommandBuffer u), u)
WRAP(vkBindBufferMemory, false, (VkDevice u, VkBuffer v, VkDeviceMemory w, VkDeviceSize x),
     u, v, w, x)
WRAP(vkResetFences, false, (VkDevice u, uint32_t v, const VkFence *w), u, v, w)
WRAP(vkImportSemaphoreFdKHR, false, (VkDevice u, const VkImportSemaphoreFdInfoKHR *v), u, v)
WRAP(vkWaitForFences, y == UINT64_MAX,
     (VkDevice u, uint32_t v, const VkFence *w, VkBool32 x, uint64_t y), u, v, w, x, y)

NEXT(vkDeviceWaitIdle);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkDeviceWaitIdle(VkDevice device)
{
	nn_test_layer.waits++;
	return next_vkDeviceWaitIdle(device);
}

NEXT(vkBeginCommandBuffer);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkBeginCommandBuffer(VkCommandBuffer commands,
							       const VkCommandBufferBeginInfo *info)
{
	nn_test_layer.recordings++;
	return fails("vkBeginCommandBuffer", commands, false) ? nn_test_layer.result :
	       next_vkBeginCommandBuffer(commands, info);
}

NEXT(vkCmdDispatchBase);
static VKAPI_ATTR void VKAPI_CALL own_vkCmdDispatchBase(VkCommandBuffer commands, uint32_t x, uint32_t y,
							uint32_t z, uint32_t columns, uint32_t rows,
							uint32_t planes)
{
	nn_test_layer.groups += columns * rows * planes;
	next_vkCmdDispatchBase(commands, x, y, z, columns, rows, planes);
}

NEXT(vkQueueSubmit);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkQueueSubmit(VkQueue queue, uint32_t count,
							const VkSubmitInfo *list, VkFence fence)
{
	__atomic_fetch_add(&nn_test_layer.submissions, count, __ATOMIC_RELAXED);
	return fails("vkQueueSubmit", queue, false) ? nn_test_layer.result :
	       next_vkQueueSubmit(queue, count, list, fence);
}

/*
 * If a driver returns -1 for a semaphore that has already signalled, the layer returns an eventfd,
 * which poll() reports as readable. A call that fails leaves a number that is no file of the caller.
 */
NEXT(vkGetSemaphoreFdKHR);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkGetSemaphoreFdKHR(VkDevice device,
							      const VkSemaphoreGetFdInfoKHR *info,
							      int *file)
{
	VkResult result;

	if (fails("vkGetSemaphoreFdKHR", device, false)) {
		*file = 1 << 20;
		return nn_test_layer.result;
	}
	result = next_vkGetSemaphoreFdKHR(device, info, file);
	if (!result && *file < 0)
		*file = eventfd(1, EFD_CLOEXEC);
	return result;
}

NEXT(vkCreatePipelineCache);
static VKAPI_ATTR VkResult VKAPI_CALL
own_vkCreatePipelineCache(VkDevice device, const VkPipelineCacheCreateInfo *info,
			  const VkAllocationCallbacks *allocator, VkPipelineCache *cache)
{
	nn_test_layer.loaded = info->initialDataSize;
	return fails("vkCreatePipelineCache", device, false) ? nn_test_layer.result :
	       next_vkCreatePipelineCache(device, info, allocator, cache);
}

NEXT(vkGetPipelineCacheData);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkGetPipelineCacheData(VkDevice device,
								 VkPipelineCache cache,
								 size_t *size, void *data)
{
	const struct test_layer *l = &nn_test_layer;

	if (!l->header_size)
		return next_vkGetPipelineCacheData(device, cache, size, data);
	*size = l->header_size;
	if (data)
		memcpy(data, &l->header, l->header_size);
	return VK_SUCCESS;
}

/* ---- Memory that is not coherent ---- */

/*
 * Memory that the layer makes incoherent. The host reads and writes a copy of the memory; flushes
 * and invalidations copy the data.
 */
static struct shadow {
	VkDeviceMemory memory;
	uint64_t size;
	void *real;
	void *copy;
} shadows[16];

static struct shadow *shadow_of(VkDeviceMemory memory)
{
	for (size_t i = 0; i < sizeof(shadows) / sizeof(shadows[0]); i++)
		if (shadows[i].memory == memory)
			return &shadows[i];
	abort();
}

NEXT(vkAllocateMemory);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkAllocateMemory(VkDevice device,
							   const VkMemoryAllocateInfo *info,
							   const VkAllocationCallbacks *allocator,
							   VkDeviceMemory *memory)
{
	VkResult result;

	if (fails("vkAllocateMemory", device, false))
		return nn_test_layer.result;
	result = next_vkAllocateMemory(device, info, allocator, memory);
	if (!result && nn_test_layer.is_incoherent)
		*shadow_of(VK_NULL_HANDLE) = (struct shadow){ .memory = *memory,
							      .size = info->allocationSize };
	return result;
}

NEXT(vkMapMemory);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkMapMemory(VkDevice device, VkDeviceMemory memory,
						      VkDeviceSize offset, VkDeviceSize size,
						      VkMemoryMapFlags flags, void **data)
{
	struct shadow *s;
	VkResult result;

	if (fails("vkMapMemory", device, false))
		return nn_test_layer.result;
	result = next_vkMapMemory(device, memory, offset, size, flags, data);
	if (result || !nn_test_layer.is_incoherent)
		return result;
	s = shadow_of(memory);
	s->real = *data;
	*data = s->copy = calloc(1, s->size);
	return s->copy ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

NEXT(vkFreeMemory);
static VKAPI_ATTR void VKAPI_CALL own_vkFreeMemory(VkDevice device, VkDeviceMemory memory,
						   const VkAllocationCallbacks *allocator)
{
	if (memory && nn_test_layer.is_incoherent) {
		struct shadow *s = shadow_of(memory);

		free(s->copy);
		memset(s, 0, sizeof(*s));
	}
	next_vkFreeMemory(device, memory, allocator);
}

/*
 * The layer flushes and invalidates only whole memories. The layer need not call the driver to
 * flush or invalidate, because the driver's memory is coherent.
 */
static VKAPI_ATTR VkResult VKAPI_CALL
own_vkFlushMappedMemoryRanges(VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges)
{
	(void)device;
	for (uint32_t i = 0; i < count; i++) {
		const struct shadow *s = shadow_of(ranges[i].memory);

		memcpy(s->real, s->copy, s->size);
	}
	return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_vkInvalidateMappedMemoryRanges(VkDevice device, uint32_t count,
				   const VkMappedMemoryRange *ranges)
{
	(void)device;
	for (uint32_t i = 0; i < count; i++) {
		const struct shadow *s = shadow_of(ranges[i].memory);

		memcpy(s->copy, s->real, s->size);
	}
	return VK_SUCCESS;
}

NEXT(vkGetPhysicalDeviceMemoryProperties);
static VKAPI_ATTR void VKAPI_CALL
own_vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice physical,
					VkPhysicalDeviceMemoryProperties *properties)
{
	next_vkGetPhysicalDeviceMemoryProperties(physical, properties);
	for (uint32_t i = 0; nn_test_layer.is_incoherent && i < properties->memoryTypeCount; i++)
		properties->memoryTypes[i].propertyFlags &=
			~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

/* ---- GPUs that are gone ---- */

NEXT(vkEnumeratePhysicalDevices);
static VKAPI_ATTR VkResult VKAPI_CALL own_vkEnumeratePhysicalDevices(VkInstance instance,
								     uint32_t *count,
								     VkPhysicalDevice *list)
{
	/*
	 * Return an error instead of an empty list, because Mesa's device_select layer of Debian 12
	 * crashes if the list is empty.
	 */
	return nn_test_layer.is_gone ? VK_ERROR_INITIALIZATION_FAILED :
				       next_vkEnumeratePhysicalDevices(instance, count, list);
}

/* ---- The chain ---- */

/*
 * Returns the loader's structure in the chain that creates an instance or a device. The structures
 * for instances and for devices begin with equal fields.
 */
static void *link_of(const void *chain, VkStructureType type)
{
	const VkLayerInstanceCreateInfo *link = chain;

	while (link->sType != type || link->function != VK_LAYER_LINK_INFO)
		link = link->pNext;
	return (void *)link;
}

static VKAPI_ATTR VkResult VKAPI_CALL own_vkCreateInstance(const VkInstanceCreateInfo *info,
							   const VkAllocationCallbacks *allocator,
							   VkInstance *instance)
{
	VkLayerInstanceCreateInfo *link =
		link_of(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
	PFN_vkCreateInstance create;
	VkResult result;

	next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	create = (PFN_vkCreateInstance)next_instance(VK_NULL_HANDLE, "vkCreateInstance");
	result = create(info, allocator, instance);
	if (result)
		return result;
	next_vkGetPhysicalDeviceMemoryProperties = (PFN_vkGetPhysicalDeviceMemoryProperties)
		next_instance(*instance, "vkGetPhysicalDeviceMemoryProperties");
	next_vkEnumeratePhysicalDevices = (PFN_vkEnumeratePhysicalDevices)
		next_instance(*instance, "vkEnumeratePhysicalDevices");
	return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL own_vkCreateDevice(VkPhysicalDevice physical,
							 const VkDeviceCreateInfo *info,
							 const VkAllocationCallbacks *allocator,
							 VkDevice *device);

#define OWN(name) { #name, (PFN_vkVoidFunction)own_##name, NULL }
#define DEVICE(name) { #name, (PFN_vkVoidFunction)own_##name, (PFN_vkVoidFunction *)&next_##name }
#define OBJECT(what) DEVICE(vkCreate##what), DEVICE(vkDestroy##what)

static const struct {
	const char *name;
	PFN_vkVoidFunction own;
	PFN_vkVoidFunction *next;	/* next function in a device's chain of layers */
} calls[] = {
	OWN(vkCreateInstance),
	OWN(vkCreateDevice),
	OWN(vkEnumeratePhysicalDevices),
	OWN(vkGetPhysicalDeviceMemoryProperties),
	OBJECT(Buffer),
	OBJECT(CommandPool),
	OBJECT(DescriptorPool),
	OBJECT(DescriptorSetLayout),
	OBJECT(Fence),
	OBJECT(PipelineLayout),
	DEVICE(vkCreatePipelineCache),
	OBJECT(QueryPool),
	OBJECT(Semaphore),
	OBJECT(ShaderModule),
	DEVICE(vkCreateComputePipelines),
	DEVICE(vkAllocateCommandBuffers),
	DEVICE(vkAllocateDescriptorSets),
	DEVICE(vkAllocateMemory),
	DEVICE(vkBeginCommandBuffer),
	DEVICE(vkCmdDispatchBase),
	DEVICE(vkEndCommandBuffer),
	DEVICE(vkBindBufferMemory),
	DEVICE(vkDeviceWaitIdle),
	DEVICE(vkFreeMemory),
	DEVICE(vkGetPipelineCacheData),
	DEVICE(vkGetSemaphoreFdKHR),
	DEVICE(vkImportSemaphoreFdKHR),
	DEVICE(vkMapMemory),
	DEVICE(vkQueueSubmit),
	DEVICE(vkResetFences),
	DEVICE(vkWaitForFences),
	OWN(vkFlushMappedMemoryRanges),
	OWN(vkInvalidateMappedMemoryRanges),
};

static VkResult own_vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
				   const VkAllocationCallbacks *allocator, VkDevice *device)
{
	VkLayerDeviceCreateInfo *link =
		link_of(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
	PFN_vkCreateDevice create;
	VkResult result;

	if (fails("vkCreateDevice", physical, false))
		return nn_test_layer.result;
	next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
	create = (PFN_vkCreateDevice)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(VK_NULL_HANDLE,
										    "vkCreateDevice");
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	result = create(physical, info, allocator, device);
	for (size_t i = 0; !result && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].next)
			*calls[i].next = next_device(*device, calls[i].name);
	return result;
}

static PFN_vkVoidFunction own(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].own;
	return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_call(VkDevice device, const char *name)
{
	PFN_vkVoidFunction found = strcmp(name, "vkGetDeviceProcAddr") ? own(name) :
				   (PFN_vkVoidFunction)device_call;

	return found ? found : next_device(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_call(VkInstance instance, const char *name)
{
	PFN_vkVoidFunction found = own(name);

	if (!strcmp(name, "vkGetInstanceProcAddr"))
		return (PFN_vkVoidFunction)instance_call;
	if (!strcmp(name, "vkGetDeviceProcAddr"))
		return (PFN_vkVoidFunction)device_call;
	return found ? found : next_instance(instance, name);
}

EXPORTED VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version);
EXPORTED VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version)
{
	version->loaderLayerInterfaceVersion = 2;
	version->pfnGetInstanceProcAddr = instance_call;
	version->pfnGetDeviceProcAddr = device_call;
	version->pfnGetPhysicalDeviceProcAddr = NULL;
	return VK_SUCCESS;
}
