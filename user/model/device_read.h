/* SPDX-License-Identifier: MIT */
/* Decodes a worker's description of its device. No library exports the functions of this header. */
#ifndef NN_MODEL_DEVICE_READ_H
#define NN_MODEL_DEVICE_READ_H

#include <nnaccel/device.h>

/*
 * Checks a worker's description (`size` bytes at `data`) and copies it to *info. Returns
 * NN_GENERAL_FAILURE, with the field's name in `err`, if a field is invalid.
 */
enum nn_status nn_device_info_decode(const void *data, size_t size, struct nn_device_info *info,
				     struct nn_error *err);

/*
 * Checks a worker's list of extensions (`size` bytes at `data`): extensions' names must be unique,
 * and codes must be unique in each extension. The list *extensions is one allocation that the
 * caller frees. Returns NN_GENERAL_FAILURE for an invalid list, or NN_OUT_OF_MEMORY.
 */
enum nn_status nn_device_extensions_decode(const void *data, size_t size,
					   struct nn_device_extension **extensions,
					   uint32_t *count, struct nn_error *err);

#endif /* NN_MODEL_DEVICE_READ_H */
