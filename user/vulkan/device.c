// SPDX-License-Identifier: MIT
/*
 * Chooses and opens a GPU.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vulkan/device.h"
#include "vulkan/pipeline.h"
#include "vulkan/shaders/params.h"

/* Declare cooperative matrices if the Vulkan headers do not, as in Debian 12. */
#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR	1000506000
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR			1000506001
enum { VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR };
enum { VK_SCOPE_SUBGROUP_KHR = 3 };

typedef struct {
	VkStructureType sType;
	void *pNext;
	VkBool32 cooperativeMatrix;
	VkBool32 cooperativeMatrixRobustBufferAccess;
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;

typedef struct {
	VkStructureType sType;
	void *pNext;
	uint32_t MSize, NSize, KSize;
	uint32_t AType, BType, CType, ResultType;
	VkBool32 saturatingAccumulation;
	uint32_t scope;
} VkCooperativeMatrixPropertiesKHR;

typedef VkResult (VKAPI_PTR * PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
	VkPhysicalDevice gpu, uint32_t *count, VkCooperativeMatrixPropertiesKHR *list);
#endif

#define MAX_MATRICES 64

static pthread_mutex_t reference_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Which there are ---- */

static void uuid_text(const uint8_t uuid[VK_UUID_SIZE], char text[GPU_UUID_TEXT])
{
	for (uint32_t i = 0, at = 0; i < VK_UUID_SIZE; i++)
		at += (uint32_t)snprintf(text + at, GPU_UUID_TEXT - at,
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
					 uuid[i]);
}

/*
 * Returns the first queue family that supports computing, or -1. Sets the number of bits of the
 * timestamps that the queue family supports.
 */
static int family_of(VkPhysicalDevice physical, uint32_t *timestamp_bits)
{
	VkQueueFamilyProperties families[32];
	uint32_t count = 32;

	vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
	for (uint32_t i = 0; i < count; i++) {
		*timestamp_bits = families[i].timestampValidBits;
		if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)
			return (int)i;
	}
	return -1;
}

struct features {
	VkPhysicalDeviceFeatures2 all;
	VkPhysicalDevice16BitStorageFeatures storage16;
	VkPhysicalDevice8BitStorageFeatures storage8;
	VkPhysicalDeviceUniformBufferStandardLayoutFeatures layout;
	VkPhysicalDeviceShaderFloat16Int8Features fp16;
	VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR dot;
	VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
	VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
	VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroups;
};

/*
 * Chains the Vulkan structures of features: the features that the engine always needs, and the
 * features of the extensions that `variants` need.
 */
static void chain_features(struct features *f, uint32_t variants)
{
	void **next = &f->layout.pNext;

	memset(f, 0, sizeof(*f));
	f->all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
	f->storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
	f->storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
	f->fp16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
	f->dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES_KHR;
	f->layout.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES;
	f->matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
	f->memory_model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
	f->subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT;
	f->all.pNext = &f->storage16;
	f->storage16.pNext = &f->storage8;
	f->storage8.pNext = &f->layout;
	if (variants & GPU_FP16) {
		*next = &f->fp16;
		next = &f->fp16.pNext;
	}
	if (variants & GPU_DOT) {
		*next = &f->dot;
		next = &f->dot.pNext;
	}
	if (variants & GPU_MATRIX) {
		*next = &f->matrix;
		next = &f->matrix.pNext;
	}
	if (variants & GPU_MEMORY_MODEL) {
		*next = &f->memory_model;
		next = &f->memory_model.pNext;
	}
	if (variants & GPU_FULL_SUBGROUPS)
		*next = &f->subgroups;
}

static void describe(VkPhysicalDevice physical, struct gpu_name *name)
{
	VkPhysicalDeviceDriverProperties driver = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
	};
	VkPhysicalDeviceIDProperties id = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, .pNext = &driver,
	};
	VkPhysicalDeviceProperties2 all = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id,
	};
	struct features f;
	const char *lack = "";
	uint32_t bits;

	chain_features(&f, 0);
	vkGetPhysicalDeviceProperties2(physical, &all);
	vkGetPhysicalDeviceFeatures2(physical, &f.all);
	if (all.properties.apiVersion < VK_API_VERSION_1_1)
		lack = "Vulkan 1.1";
	else if (family_of(physical, &bits) < 0)
		lack = "a queue that computes";
	else if (!f.storage8.storageBuffer8BitAccess)
		lack = "storageBuffer8BitAccess";
	else if (!f.storage16.storageBuffer16BitAccess)
		lack = "storageBuffer16BitAccess";
	else if (!f.layout.uniformBufferStandardLayout)
		lack = "uniformBufferStandardLayout";
	snprintf(name->name, sizeof(name->name), "%s", all.properties.deviceName);
	snprintf(name->lack, sizeof(name->lack), "%s", lack);
	uuid_text(id.deviceUUID, name->uuid);
	name->is_software = all.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
	name->is_lavapipe = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
}

static enum nn_status open_instance(VkInstance *instance, struct nn_error *err)
{
	const VkApplicationInfo application = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		.pApplicationName = "nnaccel-vulkan",
		.apiVersion = VK_API_VERSION_1_1,
	};
	const VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pApplicationInfo = &application,
	};

	if (vkCreateInstance(&info, NULL, instance))
		return nn_fail(err, NN_DEVICE_UNAVAILABLE,
			       "no Vulkan driver: install mesa-vulkan-drivers or the GPU vendor's");
	return NN_OK;
}

static VkInstance loaded;	/* the instance of gpu_load(), until gpu_open() takes it */

enum nn_status gpu_load(struct nn_error *err)
{
	return open_instance(&loaded, err);
}

static uint32_t list_of(VkInstance instance, VkPhysicalDevice *list)
{
	uint32_t count = MAX_GPUS;

	return vkEnumeratePhysicalDevices(instance, &count, list) < 0 ? 0 : count;
}

int gpu_list(struct gpu_name *names, uint32_t count, struct nn_error *err)
{
	VkPhysicalDevice list[MAX_GPUS];
	VkInstance instance;
	uint32_t found;

	if (open_instance(&instance, err))
		return -1;
	found = list_of(instance, list);
	for (uint32_t i = 0; i < found && i < count; i++)
		describe(list[i], &names[i]);
	vkDestroyInstance(instance, NULL);
	return (int)found;
}

static bool is_wanted(const struct gpu_name *name, const char *wanted)
{
	if (!wanted)
		return !name->is_software;
	if (!strcmp(wanted, "software"))
		return name->is_software;
	return !name->is_software &&
	       (!strcasecmp(name->uuid, wanted) || strcasestr(name->name, wanted));
}

static enum nn_status choose(struct gpu *gpu, const char *wanted, struct nn_error *err)
{
	VkPhysicalDevice list[MAX_GPUS];
	uint32_t count = list_of(gpu->instance, list);

	for (uint32_t i = 0; i < count; i++) {
		struct gpu_name name;

		describe(list[i], &name);
		if (!is_wanted(&name, wanted))
			continue;
		if (name.lack[0])
			return nn_fail(err, NN_DEVICE_UNAVAILABLE, "%.200s lacks %s", name.name,
				       name.lack);
		gpu->physical = list[i];
		gpu->name = name;
		return NN_OK;
	}
	if (!wanted)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "of %u Vulkan drivers none has a GPU; "
			       "--gpu software takes one that computes on the CPU", count);
	return nn_fail(err, NN_DEVICE_UNAVAILABLE,
		       "no GPU is '%s'; --list-gpus prints names and UUIDs", wanted);
}

/* ---- Variants ---- */

static const struct {
	uint32_t variant;
	const char *extension;
} variants[] = {
	{ GPU_FP16, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME },
	{ GPU_DOT, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME },
	{ GPU_MATRIX, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME },
	{ GPU_MEMORY_MODEL, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME },
	{ GPU_FULL_SUBGROUPS, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME },
	{ GPU_HOST_MEMORY, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME },
	{ GPU_MEMORY_FD, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME },
	{ GPU_DMA_BUF, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME },
	{ GPU_SYNC_FILE, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME },
};

/* Returns the flags GPU_* of the variants whose extensions the GPU has. */
static uint32_t extended(VkPhysicalDevice physical)
{
	VkExtensionProperties *list;
	uint32_t count = 0, found = 0;

	vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
	list = calloc(count + 1, sizeof(*list));
	if (!list || vkEnumerateDeviceExtensionProperties(physical, NULL, &count, list) < 0)
		count = 0;
	for (uint32_t i = 0; i < count; i++)
		for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]); k++)
			if (!strcmp(list[i].extensionName, variants[k].extension))
				found |= variants[k].variant;
	free(list);
	return found;
}

static bool has_sync_files(VkPhysicalDevice physical)
{
	const VkExternalSemaphoreFeatureFlags both = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT |
						     VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
	const VkPhysicalDeviceExternalSemaphoreInfo info = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
		.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
	};
	VkExternalSemaphoreProperties properties = {
		.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES,
	};

	vkGetPhysicalDeviceExternalSemaphoreProperties(physical, &info, &properties);
	return (properties.externalSemaphoreFeatures & both) == both;
}

/*
 * Chooses a size of cooperative matrices that divides the shader's tile, so that all subgroups
 * compute the same number of matrices. Returns false if the GPU supports no size that divides the
 * tile.
 */
static bool choose_matrix(struct gpu *gpu)
{
	VkPhysicalDeviceSubgroupProperties subgroup = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
	};
	VkPhysicalDeviceProperties2 all = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup,
	};
	VkCooperativeMatrixPropertiesKHR list[MAX_MATRICES] = { 0 };
	PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
		(PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)vkGetInstanceProcAddr(
			gpu->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
	uint32_t count = MAX_MATRICES, subgroups;

	for (uint32_t i = 0; i < count; i++)
		list[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
	vkGetPhysicalDeviceProperties2(gpu->physical, &all);
	subgroups = GROUP_SIZE / subgroup.subgroupSize;
	if (!get || !subgroups || get(gpu->physical, &count, list) < 0)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const VkCooperativeMatrixPropertiesKHR *m = &list[i];
		const uint32_t matrices = TILE / m->MSize * (TILE / m->NSize);

		if (m->AType != VK_COMPONENT_TYPE_FLOAT16_KHR ||
		    m->BType != VK_COMPONENT_TYPE_FLOAT16_KHR ||
		    m->CType != VK_COMPONENT_TYPE_FLOAT32_KHR ||
		    m->ResultType != VK_COMPONENT_TYPE_FLOAT32_KHR ||
		    m->scope != VK_SCOPE_SUBGROUP_KHR || TILE % m->MSize || TILE % m->NSize ||
		    TILE_DEPTH % m->KSize || m->KSize % 4 || matrices % subgroups)
			continue;
		gpu->matrix = (struct gpu_matrix){ m->MSize, m->NSize, m->KSize,
						   matrices / subgroups };
		return true;
	}
	return false;
}

/*
 * Chooses the variants of shaders that are quicker on the GPU than the plain shaders. With a driver
 * that computes on the CPU, chooses no variant, because such a driver converts float16 and emulates
 * dot products.
 */
static void choose_variants(struct gpu *gpu)
{
	VkPhysicalDeviceShaderIntegerDotProductPropertiesKHR dot = { 0 };
	VkPhysicalDeviceProperties2 all = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
	};
	struct features f;
	VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
	};

	dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES_KHR;
	gpu->can = extended(gpu->physical);
	chain_features(&f, gpu->can);
	vkGetPhysicalDeviceFeatures2(gpu->physical, &f.all);
	if (gpu->can & GPU_DOT)
		all.pNext = &dot;
	if (gpu->can & GPU_HOST_MEMORY) {
		host.pNext = all.pNext;
		all.pNext = &host;
	}
	vkGetPhysicalDeviceProperties2(gpu->physical, &all);
	gpu->host_alignment = host.minImportedHostPointerAlignment;
	if (!has_sync_files(gpu->physical))
		gpu->can &= ~GPU_SYNC_FILE;
	if (!f.fp16.shaderFloat16)
		gpu->can &= ~GPU_FP16;
	if (!f.dot.shaderIntegerDotProduct)
		gpu->can &= ~GPU_DOT;
	if (!f.matrix.cooperativeMatrix || !f.memory_model.vulkanMemoryModel ||
	    !f.subgroups.computeFullSubgroups || !(gpu->can & GPU_FP16) ||
	    !pipelines_have(SHADER_conv_f_matrix) || !choose_matrix(gpu))
		gpu->can &= ~(GPU_MATRIX | GPU_MEMORY_MODEL | GPU_FULL_SUBGROUPS);
	if (!gpu->name.is_software)
		gpu->uses = gpu->can & (GPU_FP16 | GPU_MATRIX);
	if (dot.integerDotProduct4x8BitPackedSignedAccelerated)
		gpu->uses |= gpu->can & GPU_DOT;
}

/* ---- Opening ---- */

static VkResult open_device(struct gpu *gpu)
{
	const float priority = 0.5f;
	const VkDeviceQueueCreateInfo queue = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueFamilyIndex = gpu->family,
		.queueCount = 1,
		.pQueuePriorities = &priority,
	};
	const char *extensions[2 + sizeof(variants) / sizeof(variants[0])] = {
		VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
		VK_KHR_UNIFORM_BUFFER_STANDARD_LAYOUT_EXTENSION_NAME,
	};
	struct features f;
	VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &f.all,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue,
		.enabledExtensionCount = 2,
		.ppEnabledExtensionNames = extensions,
	};
	const VkCommandPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
		.queueFamilyIndex = gpu->family,
	};
	VkResult result;

	chain_features(&f, gpu->can);
	f.fp16.shaderFloat16 = VK_TRUE;
	f.dot.shaderIntegerDotProduct = VK_TRUE;
	f.matrix.cooperativeMatrix = VK_TRUE;
	f.memory_model.vulkanMemoryModel = VK_TRUE;
	f.subgroups.computeFullSubgroups = VK_TRUE;
	f.storage8.storageBuffer8BitAccess = VK_TRUE;
	f.storage16.storageBuffer16BitAccess = VK_TRUE;
	f.layout.uniformBufferStandardLayout = VK_TRUE;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (gpu->can & variants[i].variant)
			extensions[info.enabledExtensionCount++] = variants[i].extension;
	result = vkCreateDevice(gpu->physical, &info, NULL, &gpu->device);
	if (result)
		return result;
	vkGetDeviceQueue(gpu->device, gpu->family, 0, &gpu->queue);
	gpu->import_semaphore = (PFN_vkImportSemaphoreFdKHR)
		vkGetDeviceProcAddr(gpu->device, "vkImportSemaphoreFdKHR");
	gpu->export_semaphore = (PFN_vkGetSemaphoreFdKHR)
		vkGetDeviceProcAddr(gpu->device, "vkGetSemaphoreFdKHR");
	return vkCreateCommandPool(gpu->device, &pool, NULL, &gpu->pool);
}

static void read_properties(struct gpu *gpu)
{
	VkPhysicalDeviceIDProperties id = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
	};
	VkPhysicalDeviceProperties2 all = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id,
	};
	uint32_t bits = 0;

	vkGetPhysicalDeviceProperties2(gpu->physical, &all);
	vkGetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory);
	gpu->limits = all.properties.limits;
	gpu->driver_version = all.properties.driverVersion;
	uuid_text(id.driverUUID, gpu->driver_uuid);
	gpu->family = (uint32_t)family_of(gpu->physical, &bits);
	gpu->tick_ns = bits ? (double)gpu->limits.timestampPeriod : 0;
	gpu->tick_mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

static void close_gpu(struct gpu *gpu)
{
	if (gpu->device) {
		pipelines_destroy(gpu);
		vkDestroyCommandPool(gpu->device, gpu->pool, NULL);
		vkDestroyDevice(gpu->device, NULL);
	}
	if (gpu->instance)
		vkDestroyInstance(gpu->instance, NULL);
	pthread_mutex_destroy(&gpu->queue_lock);
	pthread_mutex_destroy(&gpu->lock);
	free(gpu);
}

enum nn_status gpu_open(const char *wanted, struct gpu **opened, struct nn_error *err)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	enum nn_status status;

	if (!gpu)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	gpu->references = 1;
	gpu->when_lost = NN_DEVICE_UNAVAILABLE;
	pthread_mutex_init(&gpu->lock, NULL);
	pthread_mutex_init(&gpu->queue_lock, NULL);
	gpu->instance = loaded;
	loaded = VK_NULL_HANDLE;
	status = gpu->instance ? NN_OK : open_instance(&gpu->instance, err);
	if (!status)
		status = choose(gpu, wanted, err);
	if (!status) {
		read_properties(gpu);
		choose_variants(gpu);
		status = gpu_fail(gpu, open_device(gpu), "cannot open the GPU", err);
	}
	if (!status)
		status = pipelines_create(gpu, err);
	if (status)
		close_gpu(gpu);
	else
		*opened = gpu;
	return status;
}

struct gpu *gpu_hold(struct gpu *gpu)
{
	pthread_mutex_lock(&reference_lock);
	gpu->references++;
	pthread_mutex_unlock(&reference_lock);
	return gpu;
}

void gpu_release(struct gpu *gpu)
{
	bool is_last;

	if (!gpu)
		return;
	pthread_mutex_lock(&reference_lock);
	is_last = !--gpu->references;
	pthread_mutex_unlock(&reference_lock);
	if (is_last)
		close_gpu(gpu);
}

/* ---- Failures ---- */

enum nn_status gpu_fail(struct gpu *gpu, VkResult result, const char *what, struct nn_error *err)
{
	switch (result) {
	case VK_SUCCESS:
		return NN_OK;
	case VK_ERROR_OUT_OF_HOST_MEMORY:
		return nn_fail(err, NN_OUT_OF_MEMORY, "%s: out of memory", what);
	case VK_ERROR_OUT_OF_DEVICE_MEMORY:
		return nn_fail(err, NN_RESOURCE_EXHAUSTED_TRANSIENT,
			       "%s: the GPU is out of memory", what);
	case VK_ERROR_DEVICE_LOST:
		__atomic_store_n(&gpu->is_lost, true, __ATOMIC_RELAXED);
		return nn_fail(err, gpu->when_lost,
			       "%s: the GPU was lost; prepare the model again", what);
	default:
		return nn_fail(err, NN_GENERAL_FAILURE, "%s: VkResult %d", what, (int)result);
	}
}

bool gpu_is_lost(struct gpu *gpu)
{
	return __atomic_load_n(&gpu->is_lost, __ATOMIC_RELAXED);
}

void gpu_wait(struct gpu *gpu)
{
	pthread_mutex_lock(&gpu->queue_lock);
	vkDeviceWaitIdle(gpu->device);
	pthread_mutex_unlock(&gpu->queue_lock);
}
