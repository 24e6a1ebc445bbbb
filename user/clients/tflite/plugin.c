/* SPDX-License-Identifier: MIT */
/*
 * The entry points of an external delegate of TensorFlow Lite.
 */
#include <stdio.h>

#include "clients/tflite/delegate.h"

#define ENTRY __attribute__((visibility("default")))

ENTRY struct tfl_delegate *tflite_plugin_create_delegate(char **names, char **values, size_t count,
							 void (*report_error)(const char *));
ENTRY void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate);

struct tfl_delegate *tflite_plugin_create_delegate(char **names, char **values, size_t count,
						   void (*report_error)(const char *))
{
	char error[OPTIONS_ERROR_SIZE] = "", line[OPTIONS_ERROR_SIZE + 16];
	struct delegate *delegate = delegate_create(names, values, count, error);

	if (delegate)
		return &delegate->base;
	snprintf(line, sizeof(line), "nnaccel: %s", error);
	if (report_error)
		report_error(line);
	else
		fprintf(stderr, "%s\n", line);
	return NULL;
}

void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate)
{
	if (delegate)
		delegate_destroy(delegate->data);
}
