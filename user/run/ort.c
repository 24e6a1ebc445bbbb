/* SPDX-License-Identifier: MIT */
/*
 * ONNX Runtime. Programs reach all functions of ONNX Runtime through OrtGetApiBase(). The
 * OrtGetApiBase() of this library returns copies of the runtime's table of functions. In the copied
 * tables, the functions that create sessions add the provider of libnnaccel_onnxruntime.so.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "clients/onnxruntime/ort.h"
#include "run/ort_types.h"
#include "run/run.h"

#define NAME "nnaccel"			/* of the provider */
#define PLUGIN "libnnaccel_onnxruntime.so"
#define MAX_CALLS 1024			/* no version of the runtime has more functions */

#define CREATE(index, name, parameters, arguments, path)
#define RUN(index, name, parameters, arguments)
#define PROVIDER(index, name, parameters, arguments, what)
#define CALL(index, result, name, parameters) result (*name) parameters;
static struct {
	/* Base of ONNX Runtime's interface; NULL until the process has loaded ONNX Runtime. */
	const struct ort_api_base *base;
	struct ort_api_base ours;
	bool is_new;				/* true: this ONNX Runtime supports plug-ins */
	char version[64];			/* "onnxruntime 1.23.2" */
	void *const *theirs;			/* table of the runtime's functions, version 23 */
#include "run/ort_calls.def"
} ort;
#undef CALL
#undef CREATE
#undef RUN
#undef PROVIDER

/* A table of the runtime's functions, and the changed copy that this library returns instead. */
struct table {
	const void *theirs;
	struct table *next;
	void *calls[MAX_CALLS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *tables;		/* list protected by `lock`; never freed */
/*
 * A thread that registers the plug-in holds the lock `registering`, not `lock`. The runtime calls
 * OrtGetApiBase() during the registration, and OrtGetApiBase() takes `lock`.
 */
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

/* ---- sessions ---- */

/* The creation of a session: the session's options and the path of its model. */
struct start {
	/* copy of the program's options with the provider added; NULL: no copy */
	OrtSessionOptions *own;
	const char *model;
};

/*
 * Finds the device `nnaccel` among the devices of the plug-in. If find_device() returns false,
 * *status is the error, or NULL if the plug-in has no device `nnaccel`.
 */
static bool find_device(const OrtEnv *env, const OrtEpDevice **device, OrtStatus **status)
{
	const OrtEpDevice *const *devices;
	size_t count;

	*status = ort.GetEpDevices(env, &devices, &count);
	for (size_t i = 0; !*status && i < count; i++) {
		const char *name = ort.GetKeyValue(ort.EpDevice_EpMetadata(devices[i]), "device");

		if (strcmp(ort.EpDevice_EpName(devices[i]), NAME) || !name ||
		    strcmp(name, run_device()))
			continue;
		*device = devices[i];
		return true;
	}
	return false;
}

/* Registers the plug-in once for each environment, and adds the plug-in's device to the options. */
static OrtStatus *add_provider(OrtEnv *env, OrtSessionOptions *options, const char *model)
{
	const char *const names[] = { "runtime", "model", "verbosity" };
	const char *const values[] = { ort.version, model, run_set(RUN_REPORT) ? "2" : "0" };
	const OrtEpDevice *device = NULL;
	char path[4096];
	OrtStatus *status;
	bool found;

	pthread_mutex_lock(&registering);
	found = find_device(env, &device, &status);
	if (!found && !status && run_plugin(PLUGIN, path, sizeof(path))) {
		status = ort.RegisterExecutionProviderLibrary(env, NAME, path);
		found = !status && find_device(env, &device, &status);
	}
	pthread_mutex_unlock(&registering);
	/* If no device was found, SessionOptionsAppendExecutionProvider_V2() returns an error. */
	if (status)
		return status;
	return ort.SessionOptionsAppendExecutionProvider_V2(options, env, &device, found, names, values, 3);
}

static void say_not_reached(const char *model, OrtStatus *status)
{
	run_say("%s: %s does not run on %s: %s", ort.version, model, run_device(),
		ort.GetErrorMessage(status));
}

static void begin(struct start *start, const OrtEnv *env, const OrtSessionOptions *options, const char *path,
		  OrtStatus **status)
{
	char what[64];

	start->model = path ? run_base_name(path) : "a model in memory";
	if (options && run_noted(options, what, sizeof(what))) {
		run_say("%s: %s is left alone: the program chooses the provider itself (%s)", ort.version,
			start->model, what);
		return;
	}
	*status = options ? ort.CloneSessionOptions(options, &start->own) :
		  ort.CreateSessionOptions(&start->own);
	if (*status)
		return;
	*status = add_provider((OrtEnv *)env, start->own, start->model);
	if (!*status)
		return;
	ort.ReleaseSessionOptions(start->own);
	start->own = NULL;
}

/*
 * Returns whether a session is created without the provider after creating the session with the
 * provider has failed.
 */
static bool goes_back(OrtStatus *status)
{
	return status && !run_set(RUN_REQUIRE);
}

static void end(const struct start *start, OrtStatus *failure, OrtStatus *status, OrtSession **session)
{
	if (start->own)
		ort.ReleaseSessionOptions(start->own);
	/*
	 * If the model cannot be loaded without the provider either, the provider did not cause the
	 * error.
	 */
	if (failure && (!status || failure == status))
		say_not_reached(start->model, failure);
	else if (!status && start->own)
		run_reached();
	if (!status)
		run_count_from(*session, ort.version, start->model);
	if (failure && failure != status)
		ort.ReleaseStatus(failure);
}

#define CALL(index, result, name, parameters)
#define CREATE(index, name, parameters, arguments, path) \
static OrtStatus *name parameters \
{ \
	OrtStatus *(*theirs) parameters = (OrtStatus *(*) parameters)ort.theirs[index]; \
	const OrtSessionOptions *of_program = options; \
	OrtStatus *failure = NULL, *status; \
	struct start start = { 0 }; \
\
	begin(&start, env, options, path, &failure); \
	status = failure; \
	if (!failure) { \
		options = start.own ? start.own : of_program; \
		status = theirs arguments; \
		failure = start.own ? status : NULL; \
	} \
	if (goes_back(failure)) { \
		options = of_program; \
		status = theirs arguments; \
	} \
	end(&start, failure, status, session); \
	return status; \
}
#define RUN(index, name, parameters, arguments) \
static OrtStatus *name parameters \
{ \
	uint64_t start = clock_ns(); \
	OrtStatus *status = ((OrtStatus *(*) parameters)ort.theirs[index]) arguments; \
\
	run_count(session, start); \
	return status; \
}
#define PROVIDER(index, name, parameters, arguments, what) \
static OrtStatus *name parameters \
{ \
	OrtStatus *status = ((OrtStatus *(*) parameters)ort.theirs[index]) arguments; \
\
	if (!status) \
		run_note(options, what); \
	return status; \
}
#include "run/ort_calls.def"
#undef CALL
#undef CREATE
#undef RUN
#undef PROVIDER

/* ---- options keep their note ---- */

static OrtStatus *clone_options(const OrtSessionOptions *options, OrtSessionOptions **clone)
{
	OrtStatus *status = ort.CloneSessionOptions(options, clone);
	char what[64];

	if (!status && run_noted(options, what, sizeof(what)))
		run_note(*clone, what);
	return status;
}

static void release_options(OrtSessionOptions *options)
{
	run_forget(options);
	ort.ReleaseSessionOptions(options);
}

/* ---- tables ---- */

struct extent {
	uintptr_t at, end; /* end of the ELF segment that contains the address `at`; 0: not found */
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct extent *extent = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && extent->at >= begin &&
		    extent->at - begin < segment->p_memsz)
			extent->end = begin + segment->p_memsz;
	}
	return extent->end != 0;
}

/*
 * Returns how many entries of the runtime's table of functions to copy. The table of functions
 * becomes longer with each release of the runtime, and its length is unknown. If more entries are
 * copied than the table has, the copy also contains other data of the runtime, which is never used.
 */
static size_t calls_of(const void *theirs)
{
	struct extent extent = { .at = (uintptr_t)theirs };
	size_t count;

	dl_iterate_phdr(look_at_object, &extent);
	count = extent.end ? (extent.end - extent.at) / sizeof(void *) : 0;
	return count < MAX_CALLS ? count : MAX_CALLS;
}

static void put_ours(void **calls, size_t count)
{
	static const struct {
		size_t index;
		void *call;
		bool counts;
	} ours[] = {
		{ 12, (void *)clone_options, false },
		{ 100, (void *)release_options, false },
#define CALL(index, result, name, parameters)
#define CREATE(index, name, parameters, arguments, path) { index, (void *)name, false },
#define RUN(index, name, parameters, arguments) { index, (void *)name, true },
#define PROVIDER(index, name, parameters, arguments, what) { index, (void *)name, false },
#include "run/ort_calls.def"
#undef CALL
#undef CREATE
#undef RUN
#undef PROVIDER
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (ours[i].index < count && (!ours[i].counts || run_set(RUN_REPORT)))
			calls[ours[i].index] = ours[i].call;
}

static const void *get_api(uint32_t version)
{
	const void *theirs = ort.base->GetApi(version);
	size_t count = theirs ? calls_of(theirs) : 0;
	struct table *table;

	if (count <= 306)
		return theirs;
	pthread_mutex_lock(&lock);
	for (table = tables; table && table->theirs != theirs; table = table->next)
		;
	if (!table)
		table = calloc(1, sizeof(*table));
	if (table && !table->theirs) {
		memcpy(table->calls, theirs, count * sizeof(void *));
		put_ours(table->calls, count);
		table->theirs = theirs;
		table->next = tables;
		tables = table;
	}
	pthread_mutex_unlock(&lock);
	return table ? table->calls : theirs;
}

static const char *get_version(void)
{
	return ort.base->GetVersionString();
}

/*
 * Returns whether this version of the runtime supports plug-in providers. The function
 * takes_plugins() compares version numbers, because a call of GetApi() for a missing version would
 * print a message.
 */
static bool takes_plugins(const char *version)
{
	int major = 0, minor = 0;

	return sscanf(version, "%d.%d", &major, &minor) == 2 &&
	       (major > 1 || (major == 1 && minor >= ORT_VERSION));
}

/*
 * Stores pointers to the functions that this library needs, from the first ONNX Runtime that the
 * process loads.
 */
static void meet(const struct ort_api_base *base)
{
	const char *version = base->GetVersionString();

	ort.base = base;
	ort.ours = (struct ort_api_base){ get_api, get_version };
	snprintf(ort.version, sizeof(ort.version), "onnxruntime %s", version);
	ort.theirs = takes_plugins(version) ? base->GetApi(ORT_VERSION) : NULL;
	ort.is_new = ort.theirs;
	if (!ort.is_new) {
		run_say("%s does not run on %s: plug-in providers need version 1.%d", ort.version,
			run_device(), ORT_VERSION);
		return;
	}
#define CREATE(index, name, parameters, arguments, path)
#define RUN(index, name, parameters, arguments)
#define PROVIDER(index, name, parameters, arguments, what)
#define CALL(index, result, name, parameters) ort.name = (result (*) parameters)ort.theirs[index];
#include "run/ort_calls.def"
#undef CALL
#undef CREATE
#undef RUN
#undef PROVIDER
}

RUN_EXPORT const struct ort_api_base *OrtGetApiBase(void);

const struct ort_api_base *OrtGetApiBase(void)
{
	const struct ort_api_base *(*theirs)(void) =
		(const struct ort_api_base *(*)(void))run_real(__builtin_return_address(0), __func__);
	const struct ort_api_base *base = theirs ? theirs() : NULL;
	bool is_ours;

	if (!base || !run_device())
		return base;
	pthread_mutex_lock(&lock);
	if (!ort.base)
		meet(base);
	else if (ort.base != base)
		run_say("a second ONNX Runtime in one program does not run on %s", run_device());
	is_ours = ort.base == base && ort.is_new;
	pthread_mutex_unlock(&lock);
	return is_ours ? &ort.ours : base;
}

/* ---- the functions for providers that are not in the table ---- */

#define FUNCTION(provider) \
RUN_EXPORT OrtStatus *OrtSessionOptionsAppendExecutionProvider_##provider(OrtSessionOptions *options, \
									  int argument); \
OrtStatus *OrtSessionOptionsAppendExecutionProvider_##provider(OrtSessionOptions *options, int argument) \
{ \
	OrtStatus *(*theirs)(OrtSessionOptions *, int) = (OrtStatus *(*)(OrtSessionOptions *, int)) \
		run_real(__builtin_return_address(0), __func__); \
	OrtStatus *status = theirs ? theirs(options, argument) : NULL; \
\
	if (!status) \
		run_note(options, #provider); \
	return status; \
}
FUNCTION(CPU)
FUNCTION(CUDA)
FUNCTION(Dnnl)
FUNCTION(Tensorrt)
