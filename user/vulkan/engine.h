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

/*
 * Lets a process serve each client if the chosen GPU's driver is lavapipe, whose permissions are
 * known. Otherwise, threads serve all clients.
 */
void vulkan_engine_choose_clients(void);

/*
 * The environment variable that the engine sets for clients' processes: the permissions that the
 * driver needs, and the GPU's speed, which a process cannot read from the folder --state.
 */
#define VULKAN_FACTS "NNACCEL_VULKAN"

/*
 * Begins a client's process, before its sandbox: reads the value of VULKAN_FACTS, and loads the
 * driver. Returns false, with a log line, on failure.
 */
bool vulkan_engine_enter_process(const char *facts);

/* The function start() of vulkan_engine sets the fields that depend on the GPU. */
extern struct nna_engine vulkan_engine;

#endif /* NN_VULKAN_ENGINE_H */
