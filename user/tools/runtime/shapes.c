/* SPDX-License-Identifier: MIT */
/*
 * Shapes of inputs, which the option --shape of the commands names.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "runtime.h"

bool runtime_take_shape(void *into, const char *text, char *fault)
{
	struct runtime_shapes *shapes = into;
	struct runtime_shape *shape = &shapes->list[shapes->count];
	const char *equal = strrchr(text, '=');

	if (shapes->count == RUNTIME_SHAPES) {
		snprintf(fault, OPTION_FAULT, "--shape: there may be %d at most", RUNTIME_SHAPES);
		return false;
	}
	if (equal && equal != text) {
		shape->name = text;
		shape->length = (size_t)(equal - text);
		shape->rank = option_list(equal + 1, 1, INT_MAX, shape->dims, RUNTIME_RANK);
	}
	if (!equal || equal == text || !shape->rank) {
		snprintf(fault, OPTION_FAULT, "--shape: '%.100s' is not an input's name and up to %d dimensions, "
			 "as x=1,3,224,224", text, RUNTIME_RANK);
		return false;
	}
	shapes->count++;
	return true;
}

static bool is_of(const struct runtime_shape *shape, const char *input)
{
	return strlen(input) == shape->length && !memcmp(input, shape->name, shape->length);
}

const struct runtime_shape *runtime_shape_of(const struct runtime_shapes *shapes, const char *input)
{
	for (unsigned int i = shapes ? shapes->count : 0; i-- > 0;)
		if (is_of(&shapes->list[i], input))
			return &shapes->list[i];
	return NULL;
}

int runtime_input_of(const struct runtime_shape *shape, const char *const *inputs, int count,
		     char error[RUNTIME_ERROR])
{
	int used;

	for (int i = 0; i < count; i++)
		if (is_of(shape, inputs[i]))
			return i;
	used = snprintf(error, RUNTIME_ERROR, "the model has no input %.*s, only",
			shape->length < 100 ? (int)shape->length : 100, shape->name);
	for (int i = 0; i < count && used < RUNTIME_ERROR; i++)
		used += snprintf(error + used, (size_t)(RUNTIME_ERROR - used), " %s", inputs[i]);
	return -1;
}
