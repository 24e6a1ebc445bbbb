/* SPDX-License-Identifier: MIT */
/*
 * The engine's description of its device: version, type, feature level and
 * performance figures.
 */
#ifndef NN_ENGINE_DEVICE_H
#define NN_ENGINE_DEVICE_H

#include <stddef.h>

#include <nnaccel/device.h>

/*
 * Identifies this build: the start of the linker's build id, or where the
 * linker wrote none, "unidentified".
 */
void device_build_id(char *id, size_t size);

/* Fills *info for this build and this CPU. */
void device_describe(struct nn_device_info *info);

#endif /* NN_ENGINE_DEVICE_H */
