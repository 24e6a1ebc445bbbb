/* SPDX-License-Identifier: MIT */
/*
 * The entry points of an external delegate of TensorFlow Lite.
 */
#include <stdio.h>
#include <stdlib.h>

#include "clients/tflite/delegate.h"

#define ENTRY __attribute__((visibility("default")))

ENTRY struct tfl_delegate *tflite_plugin_create_delegate(char **names, char **values, size_t count,
							 void (*report_error)(const char *));
ENTRY void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate);

static int take_nothing(struct tfl_context *context, struct tfl_delegate *delegate)
{
	(void)context;
	(void)delegate;
	return TFL_OK;
}

/*
 * Makes a delegate that leaves all nodes to TensorFlow Lite. The loader in TensorFlow Lite's tools
 * passes no function that reports errors, and does not check whether the plug-in returned a
 * delegate.
 */
static struct tfl_delegate *delegate_of_nothing(void)
{
	struct tfl_delegate *delegate = calloc(1, sizeof(*delegate));

	if (delegate)
		delegate->prepare = take_nothing;
	return delegate;
}

struct tfl_delegate *tflite_plugin_create_delegate(char **names, char **values, size_t count,
						   void (*report_error)(const char *))
{
	char error[OPTIONS_ERROR_SIZE] = "", line[OPTIONS_ERROR_SIZE + 16];
	struct delegate *delegate = delegate_create(names, values, count, error);

	if (delegate)
		return &delegate->base;
	snprintf(line, sizeof(line), "nnaccel: %s", error);
	if (report_error) {
		report_error(line);
		return NULL;
	}
	fprintf(stderr, "%s; all nodes are left to TensorFlow Lite\n", line);
	return delegate_of_nothing();
}

void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate)
{
	if (delegate && delegate->data)
		delegate_destroy(delegate->data);
	else
		free(delegate);
}
