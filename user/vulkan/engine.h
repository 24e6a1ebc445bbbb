/* SPDX-License-Identifier: MIT */
/*
 * The engine of the kit on one GPU.
 */
#ifndef NN_VULKAN_ENGINE_H
#define NN_VULKAN_ENGINE_H

#include <nnaccel/engine.h>

/*
 * Chooses the GPU, as gpu_open() has it, and the folder that keeps its speed, or NULL. To be called
 * before the engine runs.
 */
void vulkan_engine_choose(const char *wanted, const char *folder);

extern const struct nna_engine vulkan_engine;

#endif /* NN_VULKAN_ENGINE_H */
