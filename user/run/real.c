/* SPDX-License-Identifier: MIT */
/*
 * Finds the original functions that the library replaces. The search for an original function
 * begins in the caller's scope, because perhaps only a plug-in of the program has loaded the
 * runtime. If a program loads a runtime with dlopen(), the program's calls of dlsym() return the
 * library's replacements.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "run/run.h"

typedef void *dlsym_fn(void *handle, const char *name);

#define FUNCTION(name) extern void name(void);
#include "run/functions.def"
#undef FUNCTION

static struct function {
	const char *name;
	void *ours;
	_Atomic(void *) found;		/* the original function that dlsym() found last */
} functions[] = {
#define FUNCTION(name) { #name, (void *)name, NULL },
#include "run/functions.def"
#undef FUNCTION
};

#define NUM_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Returns the C library's dlsym(); the symbol version of dlsym() depends on the architecture. */
static dlsym_fn *true_dlsym(void)
{
#ifdef __aarch64__
	static const char version[] = "GLIBC_2.17";
#else
	static const char version[] = "GLIBC_2.2.5";
#endif
	static _Atomic(dlsym_fn *) found;
	dlsym_fn *fn = atomic_load_explicit(&found, memory_order_relaxed);

	if (!fn) {
		fn = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", version);
		atomic_store_explicit(&found, fn, memory_order_relaxed);
	}
	return fn;
}

static struct function *find(const char *name)
{
	/*
	 * The names of all replaced functions begin with O or T, so a test of the first letter
	 * rejects most other names.
	 */
	if (*name != 'O' && *name != 'T')
		return NULL;
	for (size_t i = 0; i < NUM_FUNCTIONS; i++)
		if (!strcmp(name, functions[i].name))
			return &functions[i];
	return NULL;
}

static void *in_scope_of(const void *caller, const char *name)
{
	struct link_map *map;
	Dl_info info;
	void *handle, *found;

	if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !*map->l_name)
		return NULL;
	handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	found = true_dlsym()(handle, name);
	dlclose(handle);
	return found;
}

void *run_real(const void *caller, const char *name)
{
	const struct function *function = find(name);
	void *found = in_scope_of(caller, name);

	if (!found)
		found = true_dlsym()(RTLD_NEXT, name);
	if (!found && function)
		found = atomic_load(&function->found);
	return found;
}

RUN_EXPORT void *dlsym(void *restrict handle, const char *restrict name);

void *dlsym(void *restrict handle, const char *restrict name)
{
	struct function *function = handle == RTLD_NEXT || !run_device() ? NULL : find(name);
	void *found;

	/*
	 * The result of dlsym() may depend on the caller's return address, so the call of the C
	 * library's dlsym() must be a jump.
	 */
	if (!function)
		return true_dlsym()(handle, name);
	found = true_dlsym()(handle, name);
	if (!found || found == function->ours)
		return found;
	atomic_store(&function->found, found);
	return function->ours;
}
