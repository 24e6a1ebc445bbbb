// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "options.h"

#include <stdio.h>
#include <string.h>

bool options_read(struct options *options, const struct ort *ort, const OrtKeyValuePairs *entries,
		  const char *name, char error[OPTIONS_ERROR_SIZE])
{
	const char *const *keys, *const *values;
	size_t count, length = strlen(name);

	options_init(options);
	options->max_partitions = 16;
	options->min_work = 20000;
	options->max_shapes = 8;
	ort->GetKeyValuePairs(entries, &keys, &values, &count);
	for (size_t i = 0; i < count; i++)
		if (!strncmp(keys[i], "ep.", 3) && !strncasecmp(keys[i] + 3, name, length) &&
		    keys[i][3 + length] == '.' &&
		    !options_set(options, keys[i] + length + 4, values[i], error))
			return false;
	if (options->cache_token && !options->cache_dir) {
		snprintf(error, OPTIONS_ERROR_SIZE, "option cache_token needs cache_dir");
		return false;
	}
	return true;
}
