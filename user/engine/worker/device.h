/* SPDX-License-Identifier: MIT */
/*
 * The engine's description of its device: version, type, feature level and
 * performance figures.
 */
#ifndef NN_ENGINE_DEVICE_H
#define NN_ENGINE_DEVICE_H

#include <nnaccel/device.h>

/* Fills in all fields of *info for this build and this CPU. */
void device_describe(struct nn_device_info *info);

#endif /* NN_ENGINE_DEVICE_H */
