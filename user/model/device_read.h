/* SPDX-License-Identifier: MIT */
/*
 * Reading what a worker says of its device. No library exports it.
 */
#ifndef NN_MODEL_DEVICE_READ_H
#define NN_MODEL_DEVICE_READ_H

#include <nnaccel/device.h>

/*
 * Checks what a worker sent (`size` bytes at `data`) and copies it to *info.
 * NN_GENERAL_FAILURE with the field named where it makes no sense.
 */
enum nn_status nn_device_info_decode(const void *data, size_t size, struct nn_device_info *info,
				     struct nn_error *err);

/*
 * Checks what a worker sent (`size` bytes at `data`): names, each once, codes, each
 * once in an extension. *extensions is one allocation for the caller to free().
 * NN_GENERAL_FAILURE where it makes no sense, NN_OUT_OF_MEMORY.
 */
enum nn_status nn_device_extensions_decode(const void *data, size_t size,
					   struct nn_device_extension **extensions,
					   uint32_t *count, struct nn_error *err);

#endif /* NN_MODEL_DEVICE_READ_H */
