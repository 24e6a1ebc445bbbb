/* SPDX-License-Identifier: MIT */
/*
 * The engine of the kit on one GPU.
 */
#ifndef NN_VULKAN_ENGINE_H
#define NN_VULKAN_ENGINE_H

#include <nnaccel/engine.h>

/*
 * Sets the GPU's name, as for gpu_open(), the folder in which its speed is saved, or NULL, and whether
 * the GPU may wait for fences of clients. Call it before the engine runs.
 */
void vulkan_engine_choose(const char *wanted, const char *folder, bool gpu_waits);

/* start() sets what depends on the GPU. */
extern struct nna_engine vulkan_engine;

#endif /* NN_VULKAN_ENGINE_H */
