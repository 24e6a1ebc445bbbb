/* SPDX-License-Identifier: MIT */
/*
 * Checks the calling TensorFlow Lite before its structures are trusted. New releases only append
 * members to structures, so wrong values of known members reveal a version that is too old, or that
 * has another layout.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "clients/tflite/delegate.h"

enum { LEAST_MINOR = 4, MOST_NODES = 1 << 24, MOST_DIMS = 1 << 8, LAST_TYPE = 63, LAST_PLACE = 15 };

/* The symbol is weak because TensorFlow Lite may be linked into the program or not. */
__attribute__((weak)) const char *TfLiteVersion(void);

/* Returns the version of a function's library; NULL if the library reports no version. */
static const char *version_of(const void *function)
{
	const char *(*version)(void) = TfLiteVersion, *found;
	void *library = NULL;
	Dl_info info;

	if (dladdr(function, &info))
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		*(void **)&version = dlsym(library, "TfLiteVersion");
	found = version ? version() : NULL;
	if (library)
		dlclose(library);
	return found;
}

static bool is_list(const struct tfl_ints *list, int most)
{
	return list && list->size >= 0 && list->size <= most;
}

static bool is_tensor(const struct tfl_tensor *t)
{
	const unsigned char *stale = (const void *)&t->data_is_stale;
	const unsigned char *variable = (const void *)&t->is_variable;

	return t->type >= 0 && t->type <= LAST_TYPE && t->allocation_type >= 0 &&
	       t->allocation_type <= LAST_PLACE && (!t->dims || is_list(t->dims, MOST_DIMS)) &&
	       t->buffer_handle >= TFL_NO_BUFFER && *stale <= 1 && *variable <= 1 &&
	       (t->quantization.type == 0 || t->quantization.type == TFL_AFFINE_QUANTIZATION);
}

static const char *wrong_structure(struct tfl_context *c)
{
	struct tfl_registration *registration;
	struct tfl_node *node;
	struct tfl_ints *plan;

	if (!c->get_execution_plan || !c->get_node || !c->replace_nodes || !c->report_error ||
	    c->num_tensors > MOST_NODES || (c->num_tensors && !c->tensors))
		return "TfLiteContext";
	for (size_t i = 0; i < c->num_tensors; i++)
		if (!is_tensor(&c->tensors[i]))
			return "TfLiteTensor";
	if (c->get_execution_plan(c, &plan) != TFL_OK || !is_list(plan, MOST_NODES))
		return "TfLiteIntArray";
	for (int i = 0; i < plan->size; i++)
		if (c->get_node(c, plan->data[i], &node, &registration) != TFL_OK || !node ||
		    !registration || registration->builtin_code < 0 ||
		    !is_list(node->inputs, MOST_NODES) || !is_list(node->outputs, MOST_NODES))
			return "TfLiteNode";
	return NULL;
}

const char *runtime_wrong(struct delegate *d, struct tfl_context *c, char text[OPTIONS_ERROR_SIZE])
{
	const char *version = version_of(*(void **)&c->get_execution_plan), *structure;
	int major, minor = 0;

	if (version && (sscanf(version, "%d.%d", &major, &minor) != 2 || major != 2 ||
			minor < LEAST_MINOR)) {
		snprintf(text, OPTIONS_ERROR_SIZE,
			 "TensorFlow Lite %.40s, must be 2.%d or a later 2", version,
			 LEAST_MINOR);
		return text;
	}
	d->minor = minor;
	structure = wrong_structure(c);
	if (!structure)
		return NULL;
	snprintf(text, OPTIONS_ERROR_SIZE, "%s has another layout than in TensorFlow Lite 2.%d "
		 "to 2.14", structure, LEAST_MINOR);
	return text;
}
