/* SPDX-License-Identifier: MIT */
/*
 * Pipelines of a GPU: one pipeline for each combination of a shader and its constants. A pipeline
 * is made when a dispatch first needs the pipeline.
 */
#ifndef NN_VULKAN_PIPELINE_H
#define NN_VULKAN_PIPELINE_H

#include "vulkan/device.h"

enum shader {
#define SHADER(name) SHADER_##name,
#include "vulkan/shaders.def"
#undef SHADER
	SHADERS
};

#define SHADER_CONSTANTS 3

/*
 * Binding 0 of all pipelines is the buffer with all tensors. Binding 1 of all pipelines is the
 * dispatch's parameters, at the dynamic offset of the dispatch.
 */
enum nn_status pipelines_create(struct gpu *gpu, struct nn_error *err);
void pipelines_destroy(struct gpu *gpu);

VkDescriptorSetLayout pipelines_set_layout(const struct gpu *gpu);
VkPipelineLayout pipelines_layout(const struct gpu *gpu);
uint32_t pipelines_count(const struct gpu *gpu);

/*
 * Loads pipelines from the data that pipelines_save() returned in an earlier run. Returns false if
 * the data is damaged, or comes from another GPU or driver.
 */
bool pipelines_load(struct gpu *gpu, const void *data, size_t size);

/* Returns the data of all pipelines, in memory from malloc(), or NULL if saving fails. */
void *pipelines_save(struct gpu *gpu, size_t *size);

/*
 * Returns whether this build contains a shader. A build lacks a shader if the build's shader
 * compiler does not support the shader.
 */
bool pipelines_have(enum shader shader);

/* Gets a pipeline, which lives as long as the GPU's object. The caller holds the GPU's lock. */
VkResult pipeline_get(struct gpu *gpu, enum shader shader, const uint32_t constants[SHADER_CONSTANTS],
		      VkPipeline *pipeline);

#endif /* NN_VULKAN_PIPELINE_H */
