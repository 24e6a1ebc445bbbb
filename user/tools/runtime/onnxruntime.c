/* SPDX-License-Identifier: MIT */
/*
 * Models of ONNX Runtime, by its C interface.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/onnxruntime/ort.h"
#include "run/ort_types.h"
#include "runtime.h"

#define NAME "nnaccel"			/* of the provider */
#define PLUGIN "libnnaccel_onnxruntime.so"

enum { LOG_ERRORS = 3 };

struct model {
	struct runtime base;
	void *library;
	OrtEnv *env;
	OrtSession *session;
#define CALL(index, result, name, parameters) result (*name) parameters;
#define CREATE(index, name, parameters, arguments, path) CALL(index, OrtStatus *, name, parameters)
#define RUN(index, name, parameters, arguments) CALL(index, OrtStatus *, name, parameters)
#define PROVIDER(index, name, parameters, arguments, what)
#include "run/ort_calls.def"
#undef CALL
	OrtStatus *(*CreateEnv)(int level, const char *id, OrtEnv **env);
	void (*ReleaseEnv)(OrtEnv *env);
};

static bool load_calls(struct model *m, char error[RUNTIME_ERROR])
{
	const struct ort_api_base *(*get_base)(void) = NULL;
	const struct ort_api_base *base;
	void *const *calls = NULL;
	int minor = 0;

	*(void **)&get_base = dlsym(m->library, "OrtGetApiBase");
	if (!get_base) {
		snprintf(error, RUNTIME_ERROR, "the library is not ONNX Runtime, which the model is for");
		return false;
	}
	base = get_base();
	snprintf(m->base.name, sizeof(m->base.name), "onnxruntime %s", base->GetVersionString());
	/* An older one would complain of the number. */
	if (sscanf(base->GetVersionString(), "1.%d", &minor) == 1 && minor >= ORT_VERSION)
		calls = base->GetApi(ORT_VERSION);
	if (!calls) {
		snprintf(error, RUNTIME_ERROR, "%s is older than 1.%d, which has plug-in providers",
			 m->base.name, ORT_VERSION);
		return false;
	}
#define CALL(index, result, name, parameters) m->name = (result (*) parameters)calls[index];
#include "run/ort_calls.def"
#undef CALL
#undef CREATE
#undef RUN
#undef PROVIDER
	m->CreateEnv = (OrtStatus *(*)(int, const char *, OrtEnv **))calls[3];
	m->ReleaseEnv = (void (*)(OrtEnv *))calls[92];
	return true;
}

/* False: a call failed, with its reason. */
static bool good(const struct model *m, OrtStatus *status, char error[RUNTIME_ERROR])
{
	if (!status)
		return true;
	snprintf(error, RUNTIME_ERROR, "%s: %s", m->base.name, m->GetErrorMessage(status));
	m->ReleaseStatus(status);
	return false;
}

static bool add_device(struct model *m, OrtSessionOptions *session, const struct runtime_options *options,
		       char error[RUNTIME_ERROR])
{
	const char *const names[] = { "report" }, *const values[] = { options->report };
	const OrtEpDevice *const *devices, *device = NULL;
	char path[RUNTIME_PATH];
	size_t count;

	if (!runtime_plugin(PLUGIN, path, error) ||
	    !good(m, m->RegisterExecutionProviderLibrary(m->env, NAME, path), error) ||
	    !good(m, m->GetEpDevices(m->env, &devices, &count), error))
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *name = m->GetKeyValue(m->EpDevice_EpMetadata(devices[i]), "device");

		if (name && !strcmp(m->EpDevice_EpName(devices[i]), NAME) && !strcmp(name, options->device))
			device = devices[i];
	}
	if (!device) {
		snprintf(error, RUNTIME_ERROR, "there is no device %s", options->device);
		return false;
	}
	return good(m, m->SessionOptionsAppendExecutionProvider_V2(session, m->env, &device, 1, names, values,
								   options->report != NULL), error);
}

static void close_model(struct runtime *runtime)
{
	struct model *m = (struct model *)runtime;

	if (m->session)
		m->ReleaseSession(m->session);
	if (m->env)
		m->ReleaseEnv(m->env);
	/* The library stays: threads of it may still end. */
	free(m);
}

static bool start(struct model *m, const char *path, const struct runtime_options *options,
		  char error[RUNTIME_ERROR])
{
	OrtSessionOptions *session;
	bool done;

	if (!load_calls(m, error) || !good(m, m->CreateEnv(LOG_ERRORS, "nnaccel", &m->env), error) ||
	    !good(m, m->CreateSessionOptions(&session), error))
		return false;
	done = (!options->device || add_device(m, session, options, error)) &&
	       good(m, m->CreateSession(m->env, path, session, &m->session), error);
	m->ReleaseSessionOptions(session);
	return done;
}

static struct runtime *open_model(const char *path, const struct runtime_options *options,
				  char error[RUNTIME_ERROR])
{
	/* Debian has the minor version in the name. */
	static const char *const names[] = {
		"libonnxruntime.so.1", "libonnxruntime.so.1.23", "libonnxruntime.so.1.24",
		"libonnxruntime.so.1.25", "libonnxruntime.so.1.26", "libonnxruntime.so.1.27",
		"libonnxruntime.so.1.28", "libonnxruntime.so.1.29", "libonnxruntime.so.1.30",
		"libonnxruntime.so", NULL,
	};
	struct model *m = calloc(1, sizeof(*m));
	struct runtime_caught caught;
	bool done;

	if (!m) {
		snprintf(error, RUNTIME_ERROR, "there is no memory");
		return NULL;
	}
	/* Debian's library prints 600 lines of operators that are registered twice. */
	runtime_catch(&caught);
	m->library = runtime_load(options->library, names, "libonnxruntime1.23", error);
	done = m->library && start(m, path, options, error);
	runtime_release(&caught, "Schema error");
	if (done)
		return &m->base;
	close_model(&m->base);
	return NULL;
}

const struct runtime_kind runtime_onnxruntime = { open_model, close_model };
