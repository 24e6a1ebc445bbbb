/* SPDX-License-Identifier: MIT */
/*
 * Replaces functions of TensorFlow Lite's C interface, so that each new interpreter gets the
 * delegate of libnnaccel_tflite.so. The library only detects interpreters of TensorFlow Lite's C++
 * interface, which get no delegate.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/run.h"

#define PLUGIN "libnnaccel_tflite.so"
#define OK 0
#define ERROR 1	/* TensorFlow Lite's status kTfLiteError, after which the interpreter is unusable */

typedef struct TfLiteDelegate TfLiteDelegate;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
typedef struct TfLiteModel TfLiteModel;

typedef TfLiteInterpreter *create_fn(const TfLiteModel *model, const TfLiteInterpreterOptions *options);

/* The delegate of an interpreter; the delegate lives as long as the interpreter. */
struct given {
	const TfLiteInterpreter *interpreter;
	TfLiteDelegate *delegate;
	struct given *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct given *all_given;		/* under the lock */
/*
 * Set while a function of the C interface creates an interpreter, because functions of the C
 * interface call the C++ interface.
 */
static _Thread_local bool in_c;

static struct {
	TfLiteDelegate *(*create)(char **names, char **values, size_t count, void (*report)(const char *));
	void (*destroy)(TfLiteDelegate *delegate);
	char problem[256];
} plugin;

/*
 * Finds TensorFlow Lite's own function that has the same name as the function which uses THEIRS().
 */
#define THEIRS(result, parameters) \
	((result (*) parameters)run_real(__builtin_return_address(0), __func__))

RUN_EXPORT TfLiteInterpreter *TfLiteInterpreterCreate(const TfLiteModel *model,
						      const TfLiteInterpreterOptions *options);
RUN_EXPORT TfLiteInterpreter *TfLiteInterpreterCreateWithSelectedOps(
	const TfLiteModel *model, const TfLiteInterpreterOptions *options);
RUN_EXPORT void TfLiteInterpreterDelete(TfLiteInterpreter *interpreter);
RUN_EXPORT int TfLiteInterpreterInvoke(TfLiteInterpreter *interpreter);
RUN_EXPORT void TfLiteInterpreterOptionsAddDelegate(TfLiteInterpreterOptions *options,
						    TfLiteDelegate *delegate);
RUN_EXPORT void TfLiteInterpreterOptionsDelete(TfLiteInterpreterOptions *options);
RUN_EXPORT TfLiteModel *TfLiteModelCreateFromFile(const char *path);
RUN_EXPORT void TfLiteModelDelete(TfLiteModel *model);

static void load_plugin(void)
{
	char path[4096];
	void *library = run_plugin(PLUGIN, path, sizeof(path)) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (library) {
		*(void **)&plugin.create = dlsym(library, "tflite_plugin_create_delegate");
		*(void **)&plugin.destroy = dlsym(library, "tflite_plugin_destroy_delegate");
	}
	if (!plugin.create || !plugin.destroy)
		snprintf(plugin.problem, sizeof(plugin.problem), "%s", dlerror());
}

/* The last message that the plug-in reported, which is the reason if the plug-in fails. */
static _Thread_local char problem[256];

static void keep_problem(const char *text)
{
	snprintf(problem, sizeof(problem), "%s", text);
}

static TfLiteDelegate *make_delegate(const char *runtime, const char *model)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *names[] = { (char *)"device", (char *)"runtime", (char *)"model", (char *)"verbosity" };
	char *values[] = { (char *)run_device(), (char *)runtime, (char *)model,
			   (char *)(run_set(RUN_REPORT) ? "1" : "0") };

	pthread_once(&once, load_plugin);
	if (!plugin.create || !plugin.destroy) {
		keep_problem(plugin.problem);
		return NULL;
	}
	return plugin.create(names, values, 4, keep_problem);
}

static bool give(const TfLiteInterpreter *interpreter, TfLiteDelegate *delegate)
{
	struct given *given = malloc(sizeof(*given));

	if (!given)
		return false;
	pthread_mutex_lock(&lock);
	*given = (struct given){ interpreter, delegate, all_given };
	all_given = given;
	pthread_mutex_unlock(&lock);
	return true;
}

static TfLiteDelegate *take_back(const TfLiteInterpreter *interpreter)
{
	TfLiteDelegate *delegate = NULL;

	pthread_mutex_lock(&lock);
	for (struct given **at = &all_given; *at; at = &(*at)->next) {
		struct given *given = *at;

		if (given->interpreter != interpreter)
			continue;
		delegate = given->delegate;
		*at = given->next;
		free(given);
		break;
	}
	pthread_mutex_unlock(&lock);
	return delegate;
}

/*
 * Applies the plug-in's delegate to an interpreter. `library` is any address in the runtime's
 * library. Returns the status of TensorFlow Lite; on failure, `problem` has the reason.
 */
static int delegate_to(const void *library, TfLiteInterpreter *interpreter, const char *runtime,
		       const char *model)
{
	int (*modify)(const TfLiteInterpreter *, TfLiteDelegate *) =
		(int (*)(const TfLiteInterpreter *, TfLiteDelegate *))
		run_real(library, "TfLiteInterpreterModifyGraphWithDelegate");
	TfLiteDelegate *delegate;
	int status;

	snprintf(problem, sizeof(problem), "the runtime has no TfLiteInterpreterModifyGraphWithDelegate()");
	delegate = modify ? make_delegate(runtime, model) : NULL;
	if (!delegate)
		return -1;
	snprintf(problem, sizeof(problem), "the runtime refuses the delegate");
	status = give(interpreter, delegate) ? modify(interpreter, delegate) : -1;
	if (status != OK && status != ERROR) {
		take_back(interpreter);
		plugin.destroy(delegate);
	}
	return status;
}

static void delete(const void *caller, TfLiteInterpreter *interpreter)
{
	void (*theirs)(TfLiteInterpreter *) =
		(void (*)(TfLiteInterpreter *))run_real(caller, "TfLiteInterpreterDelete");
	TfLiteDelegate *delegate = take_back(interpreter);

	if (theirs)
		theirs(interpreter);
	if (delegate)
		plugin.destroy(delegate);
}

static TfLiteInterpreter *create(const void *caller, const char *name, const TfLiteModel *model,
				 const TfLiteInterpreterOptions *options)
{
	create_fn *theirs = (create_fn *)run_real(caller, name);
	const char *(*version)(void);
	char runtime[64], what[256], path[256] = "a model in memory";
	TfLiteInterpreter *interpreter;
	int status;

	if (!theirs)
		return NULL;
	in_c = true;
	interpreter = theirs(model, options);
	in_c = false;
	if (!interpreter || !run_device())
		return interpreter;
	version = (const char *(*)(void))run_real((const void *)theirs, "TfLiteVersion");
	snprintf(runtime, sizeof(runtime), "TensorFlow Lite %s", version ? version() : "");
	run_noted(model, path, sizeof(path));
	if (options && run_noted(options, what, sizeof(what))) {
		run_say("%s: %s is left alone: the program sets %s", runtime, path, what);
		return interpreter;
	}
	status = delegate_to((const void *)theirs, interpreter, runtime, path);
	if (status == OK) {
		run_reached();
		run_count_from(interpreter, runtime, path);
		return interpreter;
	}
	run_say("%s: %s does not run on %s: %s", runtime, path, run_device(), problem);
	if (status != ERROR && !run_set(RUN_REQUIRE))
		return interpreter;
	delete(caller, interpreter);
	in_c = true;
	interpreter = run_set(RUN_REQUIRE) ? NULL : theirs(model, options);
	in_c = false;
	return interpreter;
}

/* ---- what programs call ---- */

TfLiteInterpreter *TfLiteInterpreterCreate(const TfLiteModel *model, const TfLiteInterpreterOptions *options)
{
	return create(__builtin_return_address(0), __func__, model, options);
}

TfLiteInterpreter *TfLiteInterpreterCreateWithSelectedOps(const TfLiteModel *model,
							  const TfLiteInterpreterOptions *options)
{
	return create(__builtin_return_address(0), __func__, model, options);
}

void TfLiteInterpreterDelete(TfLiteInterpreter *interpreter)
{
	delete(__builtin_return_address(0), interpreter);
}

int TfLiteInterpreterInvoke(TfLiteInterpreter *interpreter)
{
	int (*theirs)(TfLiteInterpreter *) = THEIRS(int, (TfLiteInterpreter *));
	uint64_t start = clock_ns();
	int status = theirs ? theirs(interpreter) : ERROR;

	run_count(interpreter, start);
	return status;
}

void TfLiteInterpreterOptionsAddDelegate(TfLiteInterpreterOptions *options, TfLiteDelegate *delegate)
{
	void (*theirs)(TfLiteInterpreterOptions *, TfLiteDelegate *) =
		THEIRS(void, (TfLiteInterpreterOptions *, TfLiteDelegate *));

	if (theirs)
		theirs(options, delegate);
	if (options && delegate)
		run_note(options, "a delegate itself");
}

void TfLiteInterpreterOptionsDelete(TfLiteInterpreterOptions *options)
{
	void (*theirs)(TfLiteInterpreterOptions *) = THEIRS(void, (TfLiteInterpreterOptions *));

	run_forget(options);
	if (theirs)
		theirs(options);
}

TfLiteModel *TfLiteModelCreateFromFile(const char *path)
{
	TfLiteModel *(*theirs)(const char *) = THEIRS(TfLiteModel *, (const char *));
	TfLiteModel *model = theirs ? theirs(path) : NULL;

	if (model)
		run_note(model, run_base_name(path));
	return model;
}

void TfLiteModelDelete(TfLiteModel *model)
{
	void (*theirs)(TfLiteModel *) = THEIRS(void, (TfLiteModel *));

	run_forget(model);
	if (theirs)
		theirs(model);
}

/* ---- the C++ interface: InterpreterBuilder::operator(), by its names ---- */

static void say_cpp(void)
{
	static _Atomic bool said;

	if (!in_c && run_device() && !atomic_exchange(&said, true))
		run_say("TensorFlow Lite by its C++ interface does not run on %s: only its C "
			"interface does", run_device());
}

#define CPP(symbol) \
RUN_EXPORT int symbol(void *builder, void *interpreter, int threads); \
int symbol(void *builder, void *interpreter, int threads) \
{ \
	int (*theirs)(void *, void *, int) = THEIRS(int, (void *, void *, int)); \
\
	say_cpp(); \
	return theirs ? theirs(builder, interpreter, threads) : ERROR; \
}
CPP(_ZN6tflite18InterpreterBuilderclEPSt10unique_ptrINS_11InterpreterESt14default_deleteIS2_EE)
CPP(_ZN6tflite18InterpreterBuilderclEPSt10unique_ptrINS_11InterpreterESt14default_deleteIS2_EEi)
CPP(_ZN6tflite4impl18InterpreterBuilderclEPSt10unique_ptrINS0_11InterpreterESt14default_deleteIS3_EE)
CPP(_ZN6tflite4impl18InterpreterBuilderclEPSt10unique_ptrINS0_11InterpreterESt14default_deleteIS3_EEi)
