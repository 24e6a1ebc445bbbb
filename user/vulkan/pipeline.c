// SPDX-License-Identifier: MIT
/* Makes pipelines, and saves pipelines for later runs of the engine. */
#include <stdlib.h>
#include <string.h>

#include "vulkan/pipeline.h"

#define SHADER(name) extern const uint32_t vulkan_##name[]; extern const size_t vulkan_##name##_size;
#include "vulkan/shaders.def"
#undef SHADER

struct pipeline {
	struct pipeline *next;
	enum shader shader;
	uint32_t constants[SHADER_CONSTANTS];
	VkPipeline pipeline;
};

struct pipelines {
	VkDescriptorSetLayout set_layout;
	VkPipelineLayout layout;
	VkPipelineCache cache;
	/* shader modules; each module is made when a pipeline first needs the module */
	VkShaderModule modules[SHADERS];
	struct pipeline *list;
	uint32_t count;
};

static VkResult create_layouts(struct gpu *gpu)
{
	const VkDescriptorSetLayoutBinding bindings[] = {
		{ .binding = 0, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		  .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT },
		{ .binding = 1, .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
		  .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT },
	};
	const VkDescriptorSetLayoutCreateInfo set = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = 2,
		.pBindings = bindings,
	};
	const VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = 1,
		.pSetLayouts = &gpu->pipelines->set_layout,
	};
	const VkPipelineCacheCreateInfo cache = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
	};
	VkResult result = vkCreateDescriptorSetLayout(gpu->device, &set, NULL,
						      &gpu->pipelines->set_layout);

	if (!result)
		result = vkCreatePipelineLayout(gpu->device, &layout, NULL, &gpu->pipelines->layout);
	if (!result)
		result = vkCreatePipelineCache(gpu->device, &cache, NULL, &gpu->pipelines->cache);
	return result;
}

enum nn_status pipelines_create(struct gpu *gpu, struct nn_error *err)
{
	gpu->pipelines = calloc(1, sizeof(*gpu->pipelines));
	if (!gpu->pipelines)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	return gpu_fail(gpu, create_layouts(gpu), "cannot make pipeline layouts", err);
}

void pipelines_destroy(struct gpu *gpu)
{
	struct pipelines *all = gpu->pipelines;
	struct pipeline *p;

	if (!all)
		return;
	while ((p = all->list)) {
		all->list = p->next;
		vkDestroyPipeline(gpu->device, p->pipeline, NULL);
		free(p);
	}
	for (uint32_t i = 0; i < SHADERS; i++)
		vkDestroyShaderModule(gpu->device, all->modules[i], NULL);
	vkDestroyPipelineCache(gpu->device, all->cache, NULL);
	vkDestroyPipelineLayout(gpu->device, all->layout, NULL);
	vkDestroyDescriptorSetLayout(gpu->device, all->set_layout, NULL);
	free(all);
}

VkDescriptorSetLayout pipelines_set_layout(const struct gpu *gpu)
{
	return gpu->pipelines->set_layout;
}

VkPipelineLayout pipelines_layout(const struct gpu *gpu)
{
	return gpu->pipelines->layout;
}

uint32_t pipelines_count(const struct gpu *gpu)
{
	return gpu->pipelines->count;
}

/* Returns whether pipeline data begins with the header of this GPU and driver. */
static bool is_ours(const struct gpu *gpu, const void *data, size_t size)
{
	VkPipelineCacheHeaderVersionOne header;
	VkPhysicalDeviceProperties properties;

	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	vkGetPhysicalDeviceProperties(gpu->physical, &properties);
	return header.headerSize == sizeof(header) &&
	       header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
	       header.vendorID == properties.vendorID && header.deviceID == properties.deviceID &&
	       !memcmp(header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE);
}

bool pipelines_load(struct gpu *gpu, const void *data, size_t size)
{
	const VkPipelineCacheCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
		.initialDataSize = size,
		.pInitialData = data,
	};
	VkPipelineCache cache;

	if (!is_ours(gpu, data, size) || vkCreatePipelineCache(gpu->device, &info, NULL, &cache))
		return false;
	pthread_mutex_lock(&gpu->lock);
	vkDestroyPipelineCache(gpu->device, gpu->pipelines->cache, NULL);
	gpu->pipelines->cache = cache;
	pthread_mutex_unlock(&gpu->lock);
	return true;
}

void *pipelines_save(struct gpu *gpu, size_t *size)
{
	VkPipelineCache cache;
	void *data = NULL;

	pthread_mutex_lock(&gpu->lock);
	cache = gpu->pipelines->cache;
	if (!vkGetPipelineCacheData(gpu->device, cache, size, NULL))
		data = malloc(*size);
	/* Check the data, because Mesa 26.2 may return only a part of the header. */
	if (data && (vkGetPipelineCacheData(gpu->device, cache, size, data) ||
		     !is_ours(gpu, data, *size))) {
		free(data);
		data = NULL;
	}
	pthread_mutex_unlock(&gpu->lock);
	return data;
}

static const struct {
	const uint32_t *code;
	const size_t *size;
} code[] = {
#define SHADER(name) { vulkan_##name, &vulkan_##name##_size },
#include "vulkan/shaders.def"
#undef SHADER
};

bool pipelines_have(enum shader shader)
{
	return code[shader].code[0];
}

static VkResult get_module(struct gpu *gpu, enum shader shader, VkShaderModule *module)
{
	const VkShaderModuleCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = *code[shader].size,
		.pCode = code[shader].code,
	};
	VkResult result = VK_SUCCESS;

	if (!gpu->pipelines->modules[shader])
		result = vkCreateShaderModule(gpu->device, &info, NULL,
					      &gpu->pipelines->modules[shader]);
	*module = gpu->pipelines->modules[shader];
	return result;
}

static VkResult make(struct gpu *gpu, VkShaderModule module, struct pipeline *p)
{
	const uint32_t values[] = {
		p->constants[0], p->constants[1], p->constants[2], gpu->matrix.rows,
		gpu->matrix.columns, gpu->matrix.depth, gpu->matrix.count,
	};
	static const VkSpecializationMapEntry entries[] = {
		{ 0, 0, 4 }, { 1, 4, 4 }, { 2, 8, 4 }, { 3, 12, 4 }, { 4, 16, 4 }, { 5, 20, 4 },
		{ 6, 24, 4 },
	};
	const VkSpecializationInfo constants = {
		.mapEntryCount = sizeof(entries) / sizeof(entries[0]),
		.pMapEntries = entries,
		.dataSize = sizeof(values),
		.pData = values,
	};
	const VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
		.stage = {
			.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			/* A shader with cooperative matrices needs full subgroups. */
			.flags = p->shader == SHADER_conv_f_matrix ?
				 VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT : 0,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.module = module,
			.pName = "main",
			.pSpecializationInfo = &constants,
		},
		.layout = gpu->pipelines->layout,
	};

	return vkCreateComputePipelines(gpu->device, gpu->pipelines->cache, 1, &info, NULL,
					&p->pipeline);
}

VkResult pipeline_get(struct gpu *gpu, enum shader shader, const uint32_t constants[SHADER_CONSTANTS],
		      VkPipeline *pipeline)
{
	struct pipelines *all = gpu->pipelines;
	VkShaderModule module;
	VkResult result;
	struct pipeline *p;

	for (p = all->list; p; p = p->next) {
		if (p->shader == shader && !memcmp(p->constants, constants, sizeof(p->constants))) {
			*pipeline = p->pipeline;
			return VK_SUCCESS;
		}
	}
	result = get_module(gpu, shader, &module);
	if (result)
		return result;
	p = calloc(1, sizeof(*p));
	if (!p)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	p->shader = shader;
	memcpy(p->constants, constants, sizeof(p->constants));
	result = make(gpu, module, p);
	if (result) {
		free(p);
		return result;
	}
	p->next = all->list;
	all->list = p;
	all->count++;
	*pipeline = p->pipeline;
	return VK_SUCCESS;
}
