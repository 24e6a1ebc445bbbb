/* SPDX-License-Identifier: MIT */
/*
 * Decodes a worker's description of its device.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <nnaccel/engine_model.h>

#include "device_read.h"

#define MAX_CACHE_FILES 32	/* maximum number of model files or data files in the NNAPI HAL */
#define MAX_FEATURE_LEVEL 8

/* Checks that a version string is printable, not empty, terminated, and followed only by zeros. */
static bool is_version(const char *version, size_t size)
{
	size_t length = strnlen(version, size), i;

	if (!length || length == size)
		return false;
	for (i = 0; i < size; i++)
		if (i < length ? version[i] < ' ' || version[i] > '~' : version[i])
			return false;
	return true;
}

static bool is_performance(const struct nn_performance *p)
{
	return isfinite(p->exec_time) && isfinite(p->power_usage) && p->exec_time >= 0 &&
	       p->power_usage >= 0;
}

static enum nn_status check_performance(const struct nn_device_info *info, struct nn_error *err)
{
	const struct {
		const char *name;
		const struct nn_performance *value;
	} figures[] = {
		{ "relaxed scalars", &info->relaxed_scalar },
		{ "relaxed tensors", &info->relaxed_tensor },
		{ "IF", &info->if_performance },
		{ "WHILE", &info->while_performance },
	};
	size_t i;

	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (!is_performance(figures[i].value))
			return nn_fail(err, NN_GENERAL_FAILURE, "device: performance of %s is "
				       "negative or not a number", figures[i].name);
	for (i = 0; i < NN_TYPE_COUNT; i++)
		if (!is_performance(&info->operand[i]))
			return nn_fail(err, NN_GENERAL_FAILURE, "device: performance of %s is "
				       "negative or not a number", nn_type_name(i));
	return NN_OK;
}

enum nn_status nn_device_info_decode(const void *data, size_t size, struct nn_device_info *info,
				     struct nn_error *err)
{
	if (size < offsetof(struct nn_device_info, memory) || size > sizeof(*info))
		return nn_fail(err, NN_GENERAL_FAILURE, "device: %zu bytes, must be %zu to %zu",
			       size, offsetof(struct nn_device_info, memory), sizeof(*info));
	memset(info, 0, sizeof(*info));
	memcpy(info, data, size);
	if (info->magic != NN_DEVICE_MAGIC || info->size != size)
		return nn_fail(err, NN_GENERAL_FAILURE, "device: wrong magic 0x%x or size %u",
			       info->magic, info->size);
	info->size = sizeof(*info);
	if (!is_version(info->version, sizeof(info->version)))
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "device: the version is not printable text");
	if (info->type < NN_DEVICE_OTHER || info->type > NN_DEVICE_ACCELERATOR)
		return nn_fail(err, NN_GENERAL_FAILURE, "device: unknown type %u", info->type);
	if (!info->feature_level || info->feature_level > MAX_FEATURE_LEVEL)
		return nn_fail(err, NN_GENERAL_FAILURE, "device: feature level %u, must be 1 to %u",
			       info->feature_level, MAX_FEATURE_LEVEL);
	if (info->model_cache_files > MAX_CACHE_FILES || info->data_cache_files > MAX_CACHE_FILES)
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "device: %u model and %u data cache files, must "
			       "be at most %d of each", info->model_cache_files,
			       info->data_cache_files, MAX_CACHE_FILES);
	return check_performance(info, err);
}
