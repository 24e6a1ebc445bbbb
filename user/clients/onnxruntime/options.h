/* SPDX-License-Identifier: MIT */
/* The options of an execution provider: those that ONNX Runtime has under "ep.NAME.". */
#ifndef NN_ORT_OPTIONS_H
#define NN_ORT_OPTIONS_H

#include "ort.h"

#define OPTION_HELP "Documentation/onnxruntime.rst"

struct options {
	char *device;			/* a name; NULL: the device that was chosen */
	char *cache_dir, *cache_token;
	int32_t preference, priority;
	bool allow_fp16, burst, disallow_cpu;
	uint32_t max_partitions, min_work, max_shapes, verbosity;
};

/*
 * Reads the options of the provider `name` from a session's entries. NULL, or what is wrong, to
 * be freed: an option that there is not, a value that it does not take.
 */
char *options_read(struct options *options, const struct ort *ort, const OrtKeyValuePairs *entries,
		   const char *name);
void options_free(struct options *options);

#endif
