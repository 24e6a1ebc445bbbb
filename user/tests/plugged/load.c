/* SPDX-License-Identifier: MIT */
/*
 * Loads both example plug-ins into the CPU device of libneuralnetworks.so, as a worker does, before
 * the first call. Conformance runs use this library to check that plug-ins do not change NNAPI
 * operations.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/worker/plugin_op.h"

static void must_load(const char *folder, const char *name)
{
	static const struct nna_engine engine;	/* engine without extensions */
	struct nn_error err = { "" };
	char path[4200];

	snprintf(path, sizeof(path), "%s/../../extensions/%s.so", folder, name);
	if (plugin_op_load(&engine, path, &err) == NNA_ENGINE_PLUGIN_LOADED)
		return;
	fprintf(stderr, "%s: %s\n", path, err.message);
	abort();
}

__attribute__((constructor)) static void load_plugins(void)
{
	static char path[4096];
	Dl_info self;

	if (!dladdr((void *)load_plugins, &self) || strlen(self.dli_fname) >= sizeof(path))
		abort();
	strcpy(path, self.dli_fname);
	*strrchr(path, '/') = '\0';
	must_load(path, "fibonacci");
	must_load(path, "golden");
}
