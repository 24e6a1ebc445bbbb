/* SPDX-License-Identifier: MIT */
/* An engine that computes on one GPU. */
#ifndef NN_VULKAN_ENGINE_H
#define NN_VULKAN_ENGINE_H

#include <nnaccel/engine.h>

/*
 * Sets the GPU's name (see gpu_open()), the folder for the file with the GPU's speed (or NULL), and
 * whether the GPU may wait for fences of clients. The caller must call vulkan_engine_choose()
 * before the engine runs.
 */
void vulkan_engine_choose(const char *wanted, const char *folder, bool gpu_waits);

/* The function start() of vulkan_engine sets the fields that depend on the GPU. */
extern struct nna_engine vulkan_engine;

#endif /* NN_VULKAN_ENGINE_H */
