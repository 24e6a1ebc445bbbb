/* SPDX-License-Identifier: MIT */
/*
 * The engine's description of its device: version, type, feature level and
 * performance figures.
 */
#ifndef NN_ENGINE_DEVICE_H
#define NN_ENGINE_DEVICE_H

#include <stddef.h>

#include <nnaccel/device.h>
#include <nnaccel/extension.h>

/* Fills *info for this build and this CPU. */
void device_describe(struct nn_device_info *info);

/*
 * The answer to NNACCEL_QUERY_EXTENSIONS: the plug-ins that are loaded. malloc()ed;
 * NULL: no memory.
 */
void *device_list_extensions(size_t *size);

/* The bytes that a plug-in takes there; all of them are to fit NNACCEL_MAX_QUERY. */
size_t device_extension_size(const struct nnx_extension *extension);

#endif /* NN_ENGINE_DEVICE_H */
