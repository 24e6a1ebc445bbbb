/* SPDX-License-Identifier: MIT */
/*
 * Tests how the library of `nnaccel run` works in programs; each program is a child of the test
 * process. The test imitates both runtimes, the plug-ins and the clock. Each call of an imitated
 * function writes a line of text, which the test compares.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clients/onnxruntime/ort.h"
#include "run/ort_types.h"
#include "run/run.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RUN_NS 12034567

/* Says which calls of the imitated runtime fail, and which functions this runtime lacks. */
static struct {
	const char *version;
	const char *missing;		/* name of a function that the runtime lacks */
	bool no_table, fails_to_list, fails_to_register, fails_to_add, fails_to_copy, fails_to_choose;
	int bad_sessions;		/* number of next sessions that fail */
	bool no_plugin, no_symbol, no_delegate;
	int modified;			/* result code when the delegate modifies the graph */
} played;

__attribute__((format(printf, 1, 2))) static void called(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(STDERR_FILENO, format, args);
	va_end(args);
}

static uint64_t now_ns;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	*t = (struct timespec){ .tv_sec = (time_t)(now_ns / 1000000000), .tv_nsec = (long)(now_ns % 1000000000) };
	return 0;
}

/* ---- ONNX Runtime ---- */

struct OrtStatus {
	const char *text;
};

struct OrtSessionOptions {
	bool is_used, has_device;
};

struct OrtKeyValuePairs {
	const char *device;
};

struct OrtEpDevice {
	const char *name;
	struct OrtKeyValuePairs metadata;
};

struct OrtSession {
	int runs;
};

static struct OrtSessionOptions all_options[4];
static struct OrtSession a_session;
static bool is_registered;

static OrtStatus *status_of(bool fails, const char *text)
{
	static struct OrtStatus statuses[8];
	static int used;

	if (!fails)
		return NULL;
	statuses[used].text = text;
	return &statuses[used++];
}

static const char *get_error_message(const OrtStatus *status)
{
	return status->text;
}

static void release_status(OrtStatus *status)
{
	called("release \"%s\"\n", status->text);
}

/*
 * Returns the first free object of all_options, so that new options get the addresses of released
 * options.
 */
static OrtStatus *create_options(OrtSessionOptions **options)
{
	*options = all_options;
	while ((*options)->is_used)
		++*options;
	**options = (struct OrtSessionOptions){ .is_used = true };
	return NULL;
}

static OrtStatus *clone_options(const OrtSessionOptions *options, OrtSessionOptions **clone)
{
	called("copy options %td\n", options - all_options);
	if (played.fails_to_copy)
		return status_of(true, "no copy");
	create_options(clone);
	**clone = *options;
	return NULL;
}

static void release_options(OrtSessionOptions *options)
{
	called("release options %td\n", options - all_options);
	options->is_used = false;
}

static const char *get_key_value(const OrtKeyValuePairs *pairs, const char *key)
{
	return strcmp(key, "device") ? "?" : pairs->device;
}

static OrtStatus *register_library(OrtEnv *env, const char *name, const char *path)
{
	(void)env;
	called("register %s, %s\n", name, run_base_name(path));
	is_registered = !played.fails_to_register;
	return status_of(played.fails_to_register, "no library");
}

static OrtStatus *get_devices(const OrtEnv *env, const OrtEpDevice *const **devices, size_t *count)
{
	static const struct OrtEpDevice all[] = {
		{ "CPU", { "npu" } }, { "nnaccel", { NULL } }, { "nnaccel", { "other" } }, { "nnaccel", { "npu" } },
	};
	static const OrtEpDevice *const list[] = { &all[0], &all[1], &all[2], &all[3] };

	(void)env;
	*devices = list;
	*count = is_registered ? 4 : 1;
	return status_of(played.fails_to_list, "no list");
}

static const char *get_name(const OrtEpDevice *device)
{
	return device->name;
}

static const OrtKeyValuePairs *get_metadata(const OrtEpDevice *device)
{
	return &device->metadata;
}

static OrtStatus *add_device(OrtSessionOptions *options, OrtEnv *env, const OrtEpDevice *const *devices,
			     size_t count, const char *const *names, const char *const *values, size_t num_values)
{
	(void)env;
	called("add %zu of %s", count, count ? devices[0]->metadata.device : "none");
	for (size_t i = 0; i < num_values; i++)
		called(", %s %s", names[i], values[i]);
	called("\n");
	options->has_device = true;
	return status_of(!count || played.fails_to_add, count ? "not added" : "no device");
}

static OrtStatus *choose(OrtSessionOptions *options, const void *with)
{
	(void)options;
	(void)with;
	return status_of(played.fails_to_choose, "not chosen");
}

static OrtStatus *make_session(const char *model, size_t size, const OrtSessionOptions *options, OrtSession **session)
{
	called("session of %s, %zu, %s\n", model, size, !options ? "no options" : options->has_device ? "device" : "options");
	*session = played.bad_sessions-- > 0 ? NULL : &a_session;
	return status_of(!*session, "no session");
}

static OrtStatus *create_session(const OrtEnv *env, const char *path, const OrtSessionOptions *options,
				 OrtSession **session)
{
	(void)env;
	return make_session(path, 0, options, session);
}

static OrtStatus *create_session_from(const OrtEnv *env, const void *data, size_t size,
				      const OrtSessionOptions *options, OrtSession **session)
{
	(void)env;
	return make_session(data, size, options, session);
}

static OrtStatus *run_session(OrtSession *session)
{
	(void)session;
	now_ns += RUN_NS;
	return NULL;
}

/*
 * Versions 23 and 24 of the runtime's table of calls, with the maximum length that `nnaccel run`
 * copies; version 22 is missing (NULL).
 */
static void *tables[2][1024], *no_object;

static const void *get_api(uint32_t version)
{
	if (version == 22)
		return no_object;
	return played.no_table || version > 24 ? NULL : tables[version - 23];
}

static const char *get_version(void)
{
	return played.version ? played.version : "1.23.2";
}

static const struct ort_api_base base = { get_api, get_version }, second_base = { get_api, get_version };
static const struct ort_api_base *their_base = &base;

static const struct ort_api_base *get_base(void)
{
	return their_base;
}

static OrtStatus *choose_cpu(OrtSessionOptions *options, int argument)
{
	called("CPU %d\n", argument);
	return choose(options, NULL);
}

static void make_tables(void)
{
	static const struct {
		size_t index;
		void *call;
	} calls[] = {
		{ 2, (void *)get_error_message }, { 7, (void *)create_session }, { 8, (void *)create_session_from },
		{ 9, (void *)run_session }, { 10, (void *)create_options }, { 12, (void *)clone_options },
		{ 93, (void *)release_status }, { 100, (void *)release_options }, { 152, (void *)choose },
		{ 297, (void *)get_key_value }, { 301, (void *)register_library }, { 303, (void *)get_devices },
		{ 304, (void *)add_device }, { 312, (void *)get_name }, { 314, (void *)get_metadata },
	};

	for (size_t i = 0; i < COUNT(calls); i++)
		tables[0][calls[i].index] = tables[1][calls[i].index] = calls[i].call;
	no_object = calloc(1, sizeof(tables[0]));
}

/* ---- TensorFlow Lite ---- */

typedef struct TfLiteDelegate TfLiteDelegate;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
typedef struct TfLiteModel TfLiteModel;

static char interpreter, a_delegate, a_model, some_options;

static void *create_interpreter(const void *model, const void *options)
{
	called("interpreter of %s%s\n", model ? "a model" : "none", options ? " with options" : "");
	return played.bad_sessions-- > 0 ? NULL : &interpreter;
}

static void delete_interpreter(void *of)
{
	called("delete %s\n", of == &interpreter ? "it" : "another");
}

static int invoke(void *of)
{
	(void)of;
	now_ns += RUN_NS;
	return 7;
}

static int modify(const void *of, const void *delegate)
{
	called("%s gets %s\n", of == &interpreter ? "it" : "another", delegate == &a_delegate ? "the delegate" : "?");
	return played.modified;
}

static void add_delegate(void *options, void *delegate)
{
	called("options %d, delegate %d\n", options != NULL, delegate != NULL);
}

static void delete_any(void *object)
{
	called("delete %s\n", object == &a_model ? "the model" : "options");
}

static void *create_model(const char *path)
{
	called("model %s\n", path);
	return strstr(path, "bad") ? NULL : &a_model;
}

static const char *tflite_version(void)
{
	return "2.14";
}

void *run_real(const void *caller, const char *name)
{
	static const struct {
		const char *name;
		void *call;
	} all[] = {
		{ "OrtGetApiBase", (void *)get_base },
		{ "OrtSessionOptionsAppendExecutionProvider_CPU", (void *)choose_cpu },
		{ "TfLiteInterpreterCreate", (void *)create_interpreter },
		{ "TfLiteInterpreterCreateWithSelectedOps", (void *)create_interpreter },
		{ "TfLiteInterpreterDelete", (void *)delete_interpreter },
		{ "TfLiteInterpreterInvoke", (void *)invoke },
		{ "TfLiteInterpreterModifyGraphWithDelegate", (void *)modify },
		{ "TfLiteInterpreterOptionsAddDelegate", (void *)add_delegate },
		{ "TfLiteInterpreterOptionsDelete", (void *)delete_any },
		{ "TfLiteModelCreateFromFile", (void *)create_model },
		{ "TfLiteModelDelete", (void *)delete_any },
		{ "TfLiteVersion", (void *)tflite_version },
	};

	assert_non_null(caller);
	for (size_t i = 0; i < COUNT(all); i++)
		if (!strcmp(name, all[i].name) && (!played.missing || strcmp(name, played.missing)))
			return all[i].call;
	return NULL;
}

static void *create_delegate(char **names, char **values, size_t count, void (*report)(const char *))
{
	called("delegate");
	for (size_t i = 0; i < count; i++)
		called(", %s %s", names[i], values[i]);
	called("\n");
	if (!played.no_delegate)
		return &a_delegate;
	report("first");
	report("no operation");
	return NULL;
}

static void destroy_delegate(void *delegate)
{
	called("destroy %s\n", delegate == &a_delegate ? "the delegate" : "?");
}

void *dlopen(const char *path, int flags)
{
	(void)flags;
	called("load %s\n", run_base_name(path));
	return played.no_plugin ? NULL : &played;
}

void *dlsym(void *restrict library, const char *restrict name)
{
	(void)library;
	if (!strcmp(name, "tflite_plugin_create_delegate"))
		return (void *)create_delegate;
	return strcmp(name, "tflite_plugin_destroy_delegate") || played.no_symbol ? NULL : (void *)destroy_delegate;
}

char *dlerror(void)
{
	return (char *)"it is not there";
}

/* ---- programs ---- */

const struct ort_api_base *OrtGetApiBase(void);
OrtStatus *OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions *options, int argument);
TfLiteInterpreter *TfLiteInterpreterCreate(const TfLiteModel *model, const TfLiteInterpreterOptions *options);
TfLiteInterpreter *TfLiteInterpreterCreateWithSelectedOps(const TfLiteModel *model,
							  const TfLiteInterpreterOptions *options);
void TfLiteInterpreterDelete(TfLiteInterpreter *interpreter);
int TfLiteInterpreterInvoke(TfLiteInterpreter *interpreter);
void TfLiteInterpreterOptionsAddDelegate(TfLiteInterpreterOptions *options, TfLiteDelegate *delegate);
void TfLiteInterpreterOptionsDelete(TfLiteInterpreterOptions *options);
TfLiteModel *TfLiteModelCreateFromFile(const char *path);
void TfLiteModelDelete(TfLiteModel *model);
int _ZN6tflite18InterpreterBuilderclEPSt10unique_ptrINS_11InterpreterESt14default_deleteIS2_EE(void *builder, void *made,
											     int threads);

#define ORT(index, result, ...) ((result (*)(__VA_ARGS__))((void *const *)OrtGetApiBase()->GetApi(23))[index])
#define ORT_SESSION ORT(7, OrtStatus *, const OrtEnv *, const char *, const OrtSessionOptions *, OrtSession **)
#define ORT_RUN ORT(9, OrtStatus *, OrtSession *)

static OrtSession *session_of(const char *path, const OrtSessionOptions *options)
{
	OrtSession *session = NULL;
	OrtStatus *status = ORT_SESSION(NULL, path, options, &session);

	called("%s\n", status ? status->text : "made");
	return status ? NULL : session;
}

static void ort_session(void)
{
	session_of("/a/m.onnx", NULL);
}

static void ort_two(void)
{
	session_of("a", NULL);
	session_of("b", NULL);
}

static void ort_runs(void)
{
	OrtSession *session = session_of("/a/m.onnx", NULL);

	ORT_RUN(session);
	ORT_RUN((OrtSession *)&tables);
	ORT_RUN(session);
}

static void ort_one_run(void)
{
	OrtSession *session = session_of("m.onnx", NULL);

	ORT_RUN(session);
	if (!fork())
		exit(0);
	wait(NULL);
	_exit(0);
}

static void ort_no_run(void)
{
	session_of("m.onnx", NULL);
	session_of("n.onnx", NULL);
}

static void ort_memory(void)
{
	OrtSession *session;
	OrtStatus *status = ORT(8, OrtStatus *, const OrtEnv *, const void *, size_t, const OrtSessionOptions *,
				OrtSession **)(NULL, "bytes", 5, NULL, &session);

	called("%s\n", status ? status->text : "made");
}

/*
 * The program uses and releases its own options; the next options may get the address of the
 * released options.
 */
static void ort_options(void)
{
	OrtSessionOptions *options;

	create_options(&options);
	session_of("m", options);
	ORT(100, void, OrtSessionOptions *)(options);
}

static void ort_chosen(void)
{
	OrtSessionOptions *options, *copy;

	create_options(&options);
	ORT(152, OrtStatus *, OrtSessionOptions *, const void *)(options, NULL);
	session_of("m", options);
	ORT(12, OrtStatus *, const OrtSessionOptions *, OrtSessionOptions **)(options, &copy);
	session_of("n", copy);
	ORT(100, void, OrtSessionOptions *)(options);
	ORT(100, void, OrtSessionOptions *)(copy);
	ort_options();
}

static void ort_chosen_cpu(void)
{
	OrtSessionOptions *options;

	create_options(&options);
	OrtSessionOptionsAppendExecutionProvider_CPU(options, 5);
	session_of("m", options);
}

static void ort_tables(void)
{
	const struct ort_api_base *ours = OrtGetApiBase();
	const void *api = ours->GetApi(23);

	called("%s", ours->GetVersionString());
	called(" %d%d%d", api != tables[0], ours->GetApi(23) == api, ours->GetApi(24) != api);
	called("%d%d", ours->GetApi(24) == ours->GetApi(24), ours->GetApi(25) == NULL);
	called("%d\n", ours->GetApi(22) == no_object);
	/* The table entries that `nnaccel run` does not replace are the runtime's own functions. */
	called("%d%d\n", ((void *const *)api)[10] == (void *)create_options, ((void *const *)api)[399] == NULL);
	their_base = &second_base;
	called("%d\n", OrtGetApiBase() == &second_base);
	their_base = NULL;
	called("%d\n", OrtGetApiBase() == NULL);
}

static void ort_plain(void)
{
	called("%d\n", OrtGetApiBase() == &base);
	called("%d\n", OrtGetApiBase() == &base);
}

static TfLiteInterpreter *tflite(const char *path, void *options)
{
	TfLiteModel *model = path ? TfLiteModelCreateFromFile(path) : NULL;
	TfLiteInterpreter *made = TfLiteInterpreterCreate(model, options);

	called("%s\n", made ? "made" : "none");
	if (model)
		TfLiteModelDelete(model);
	return made;
}

static void tflite_once(void)
{
	TfLiteInterpreter *made = tflite("/b/m.tflite", NULL);

	if (!made)
		return;
	called("%d\n", TfLiteInterpreterInvoke(made));
	TfLiteInterpreterDelete(made);
}

/* Loads a model, and then a second model that has no name and the address of the first model. */
static void tflite_twice(void)
{
	tflite_once();
	TfLiteInterpreterDelete(TfLiteInterpreterCreateWithSelectedOps((const TfLiteModel *)&a_model, NULL));
}

static void tflite_options(void)
{
	TfLiteInterpreterOptions *options = (TfLiteInterpreterOptions *)&some_options;

	TfLiteInterpreterOptionsAddDelegate(options, NULL);
	TfLiteInterpreterOptionsAddDelegate(NULL, (TfLiteDelegate *)&a_delegate);
	TfLiteInterpreterDelete(tflite("m", options));
	TfLiteInterpreterOptionsAddDelegate(options, (TfLiteDelegate *)&a_delegate);
	TfLiteInterpreterDelete(tflite("m", options));
	TfLiteInterpreterOptionsDelete(options);
	TfLiteInterpreterDelete(tflite("m", options));
}

static void tflite_of_cpp(void)
{
	for (int i = 0; i < 2; i++)
		called("%d\n", _ZN6tflite18InterpreterBuilderclEPSt10unique_ptrINS_11InterpreterESt14default_deleteIS2_EE(
				       NULL, NULL, 1));
	tflite_once();
}

static void nothing(void)
{
}

#define REGISTERED "register nnaccel, libnnaccel_onnxruntime.so\n"
#define ADDED(model, verbosity) "add 1 of npu, runtime onnxruntime 1.23.2, model " model ", verbosity " verbosity "\n"
#define RUNTIME "nnaccel run: onnxruntime 1.23.2: "
#define DELEGATE(model, verbosity) \
	"delegate, device npu, runtime TensorFlow Lite 2.14, model " model ", verbosity " verbosity "\nit gets the delegate\n"
#define LITE "nnaccel run: TensorFlow Lite 2.14: "
#define END "delete it\ndestroy the delegate\n"

#define SET(...) __VA_ARGS__
/* Each test case has a name, settings, the program, and the expected lines. */
#define CASES(X) \
	X("session", (void)0, ort_session, \
	  REGISTERED ADDED("m.onnx", "0") "session of /a/m.onnx, 0, device\nrelease options 0\nmade\n") \
	X("two sessions", (void)0, ort_two, \
	  REGISTERED ADDED("a", "0") "session of a, 0, device\nrelease options 0\nmade\n" \
	  ADDED("b", "0") "session of b, 0, device\nrelease options 0\nmade\n") \
	X("two runs", setenv(RUN_REPORT, "1", 1), ort_runs, \
	  REGISTERED ADDED("m.onnx", "2") "session of /a/m.onnx, 0, device\nrelease options 0\nmade\n" \
	  RUNTIME "m.onnx: 2 runs, 12.034 ms each\n") \
	X("a run and a child", setenv(RUN_REPORT, "1", 1), ort_one_run, \
	  REGISTERED ADDED("m.onnx", "2") "session of m.onnx, 0, device\nrelease options 0\nmade\n" \
	  RUNTIME "m.onnx: 1 run, 12.034 ms each\n") \
	X("no runs", setenv(RUN_REPORT, "1", 1), ort_no_run, \
	  REGISTERED ADDED("m.onnx", "2") "session of m.onnx, 0, device\nrelease options 0\nmade\n" \
	  ADDED("n.onnx", "2") "session of n.onnx, 0, device\nrelease options 0\nmade\n" \
	  RUNTIME "m.onnx: no runs\n" RUNTIME "n.onnx: no runs\n") \
	X("a model in memory", (void)0, ort_memory, \
	  REGISTERED ADDED("a model in memory", "0") "session of bytes, 5, device\nrelease options 0\nmade\n") \
	X("options", (void)0, ort_options, \
	  "copy options 0\n" REGISTERED ADDED("m", "0") "session of m, 0, device\nrelease options 1\nmade\n" \
	  "release options 0\n") \
	X("another provider", (void)0, ort_chosen, \
	  RUNTIME "m is left alone: the program chooses the provider itself (CUDA)\nsession of m, 0, options\nmade\n" \
	  "copy options 0\n" \
	  RUNTIME "n is left alone: the program chooses the provider itself (CUDA)\nsession of n, 0, options\nmade\n" \
	  "release options 0\nrelease options 1\n" \
	  "copy options 0\n" REGISTERED ADDED("m", "0") "session of m, 0, device\nrelease options 1\nmade\n" \
	  "release options 0\n") \
	X("a provider that fails", played.fails_to_choose = true, ort_chosen_cpu, \
	  "CPU 5\ncopy options 0\n" REGISTERED ADDED("m", "0") "session of m, 0, device\nrelease options 1\nmade\n") \
	X("the CPU", (void)0, ort_chosen_cpu, "CPU 5\n" \
	  RUNTIME "m is left alone: the program chooses the provider itself (CPU)\nsession of m, 0, options\nmade\n") \
	X("no list", played.fails_to_list = true, ort_session, \
	  "release options 0\nsession of /a/m.onnx, 0, no options\n" \
	  RUNTIME "m.onnx does not run on npu: no list\nrelease \"no list\"\nmade\n") \
	X("no library", played.fails_to_register = true, ort_session, \
	  REGISTERED "release options 0\nsession of /a/m.onnx, 0, no options\n" \
	  RUNTIME "m.onnx does not run on npu: no library\nrelease \"no library\"\nmade\n") \
	X("another device", setenv(RUN_DEVICE, "tpu", 1), ort_session, \
	  REGISTERED "add 0 of none, runtime onnxruntime 1.23.2, model m.onnx, verbosity 0\nrelease options 0\n" \
	  "session of /a/m.onnx, 0, no options\n" \
	  RUNTIME "m.onnx does not run on tpu: no device\nrelease \"no device\"\nmade\n") \
	X("not added", played.fails_to_add = true, ort_session, \
	  REGISTERED ADDED("m.onnx", "0") "release options 0\nsession of /a/m.onnx, 0, no options\n" \
	  RUNTIME "m.onnx does not run on npu: not added\nrelease \"not added\"\nmade\n") \
	X("not added, but required", SET(setenv(RUN_REQUIRE, "1", 1), played.fails_to_add = true), ort_session, \
	  REGISTERED ADDED("m.onnx", "0") "release options 0\n" RUNTIME "m.onnx does not run on npu: not added\nnot added\n") \
	X("no copy", played.fails_to_copy = true, ort_options, \
	  "copy options 0\nsession of m, 0, options\n" RUNTIME "m does not run on npu: no copy\nrelease \"no copy\"\n" \
	  "made\nrelease options 0\n") \
	X("no session with it", played.bad_sessions = 1, ort_session, \
	  REGISTERED ADDED("m.onnx", "0") "session of /a/m.onnx, 0, device\nsession of /a/m.onnx, 0, no options\n" \
	  "release options 0\n" RUNTIME "m.onnx does not run on npu: no session\nrelease \"no session\"\nmade\n") \
	X("no session at all", played.bad_sessions = 2, ort_session, \
	  REGISTERED ADDED("m.onnx", "0") "session of /a/m.onnx, 0, device\nsession of /a/m.onnx, 0, no options\n" \
	  "release options 0\nrelease \"no session\"\nno session\n") \
	X("no session, but required", SET(setenv(RUN_REQUIRE, "1", 1), played.bad_sessions = 1), ort_session, \
	  REGISTERED ADDED("m.onnx", "0") "session of /a/m.onnx, 0, device\nrelease options 0\n" \
	  RUNTIME "m.onnx does not run on npu: no session\nno session\n") \
	X("tables", (void)0, ort_tables, "1.23.2 111111\n11\n" \
	  "nnaccel run: a second ONNX Runtime in one program does not run on npu\n1\n1\n") \
	X("no device", unsetenv(RUN_DEVICE), ort_plain, "1\n1\n") \
	X("an empty device", setenv(RUN_DEVICE, "", 1), ort_plain, "1\n1\n") \
	X("no table", played.no_table = true, ort_plain, \
	  RUNTIME_OLD("1.23.2") "1\n1\n") \
	X("1.22", played.version = "1.22.9", ort_plain, RUNTIME_OLD("1.22.9") "1\n1\n") \
	X("0.99", played.version = "0.99.1", ort_plain, RUNTIME_OLD("0.99.1") "1\n1\n") \
	X("no version", played.version = "rel", ort_plain, RUNTIME_OLD("rel") "1\n1\n") \
	X("1.23", played.version = "1.23", ort_plain, "0\n0\n") \
	X("2.0", played.version = "2.0", ort_plain, "0\n0\n") \
	X("interpreter", (void)0, tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" DELEGATE("m.tflite", "0") \
	  "made\ndelete the model\n7\n" END) \
	X("interpreters", setenv(RUN_REPORT, "1", 1), tflite_twice, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" DELEGATE("m.tflite", "1") \
	  "made\ndelete the model\n7\n" END "interpreter of a model\n" DELEGATE("a model in memory", "1") END \
	  LITE "m.tflite: 1 run, 12.034 ms each\n" LITE "a model in memory: no runs\n") \
	X("a delegate of its own", (void)0, tflite_options, "options 1, delegate 0\noptions 0, delegate 1\n" \
	  "model m\ninterpreter of a model with options\nload libnnaccel_tflite.so\n" DELEGATE("m", "0") \
	  "made\ndelete the model\n" END "options 1, delegate 1\nmodel m\ninterpreter of a model with options\n" \
	  LITE "m is left alone: the program sets a delegate itself\nmade\ndelete the model\ndelete it\n" \
	  "delete options\nmodel m\ninterpreter of a model with options\n" DELEGATE("m", "0") \
	  "made\ndelete the model\n" END) \
	X("no interpreter", played.bad_sessions = 1, tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nnone\ndelete the model\n") \
	X("an interpreter without a device", unsetenv(RUN_DEVICE), tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nmade\ndelete the model\n7\ndelete it\n") \
	X("no plug-in", played.no_plugin = true, tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" \
	  LITE "m.tflite does not run on npu: it is not there\nmade\ndelete the model\n7\ndelete it\n") \
	X("half a plug-in", played.no_symbol = true, tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" \
	  LITE "m.tflite does not run on npu: it is not there\nmade\ndelete the model\n7\ndelete it\n") \
	X("no delegate", played.no_delegate = true, tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" \
	  "delegate, device npu, runtime TensorFlow Lite 2.14, model m.tflite, verbosity 0\n" \
	  LITE "m.tflite does not run on npu: no operation\nmade\ndelete the model\n7\ndelete it\n") \
	X("no delegate, but required", SET(setenv(RUN_REQUIRE, "1", 1), played.no_delegate = true), tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" \
	  "delegate, device npu, runtime TensorFlow Lite 2.14, model m.tflite, verbosity 0\n" \
	  LITE "m.tflite does not run on npu: no operation\ndelete it\nnone\ndelete the model\n") \
	X("no way to give it", played.missing = "TfLiteInterpreterModifyGraphWithDelegate", tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\n" \
	  LITE "m.tflite does not run on npu: the runtime has no TfLiteInterpreterModifyGraphWithDelegate()\n" \
	  "made\ndelete the model\n7\ndelete it\n") \
	X("a graph that is as it was", played.modified = 2, tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" DELEGATE("m.tflite", "0") \
	  "destroy the delegate\n" LITE "m.tflite does not run on npu: the runtime refuses the delegate\n" \
	  "made\ndelete the model\n7\ndelete it\n") \
	X("a graph that is broken", played.modified = 1, tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" DELEGATE("m.tflite", "0") \
	  LITE "m.tflite does not run on npu: the runtime refuses the delegate\n" END "interpreter of a model\n" \
	  "made\ndelete the model\n7\ndelete it\n") \
	X("no function", played.missing = "TfLiteInterpreterCreate", tflite_once, \
	  "model /b/m.tflite\nnone\ndelete the model\n") \
	X("no invoking", played.missing = "TfLiteInterpreterInvoke", tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" DELEGATE("m.tflite", "0") \
	  "made\ndelete the model\n1\n" END) \
	X("C++", (void)0, tflite_of_cpp, \
	  "nnaccel run: TensorFlow Lite by its C++ interface does not run on npu: only its C interface does\n1\n1\n" \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" DELEGATE("m.tflite", "0") \
	  "made\ndelete the model\n7\n" END) \
	X("not reached", keep_state(), nothing, NOT_REACHED) \
	X("reached", keep_state(), ort_session, \
	  REGISTERED ADDED("m.onnx", "0") "session of /a/m.onnx, 0, device\nrelease options 0\nmade\n") \
	X("reached by the other", keep_state(), tflite_once, \
	  "model /b/m.tflite\ninterpreter of a model\nload libnnaccel_tflite.so\n" DELEGATE("m.tflite", "0") \
	  "made\ndelete the model\n7\n" END) \
	X("said", keep_state(), ort_chosen_cpu, "CPU 5\n" \
	  RUNTIME "m is left alone: the program chooses the provider itself (CPU)\nsession of m, 0, options\nmade\n") \
	X("of another process", setenv(RUN_STATE, "/proc/1/fd/100", 1), nothing, "") \
	X("no state", setenv(RUN_STATE, "/nonexistent", 1), nothing, "")

#define RUNTIME_OLD(version) "nnaccel run: onnxruntime " version \
	" does not run on npu: plug-in providers need version 1.23\n"
#define NOT_REACHED "nnaccel run: run_test did not use the device: it used neither ONNX Runtime nor TensorFlow " \
	"Lite by a shared library; see nnaccel run --help\n"

/* Makes the state file that `nnaccel run` leaves open in the program. */
static void keep_state(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), memfd_create("state", MFD_CLOEXEC));
	setenv(RUN_STATE, path, 1);
}

static void test_programs(void **state)
{
	static char text[4096];

	(void)state;
#define TRY(name, before, program, expected) \
	do { \
		int log = memfd_create("log", MFD_CLOEXEC | MFD_ALLOW_SEALING), status; \
		pid_t pid = fork(); \
		ssize_t size; \
		\
		if (!pid) { \
			dup2(log, STDERR_FILENO); \
			setenv(RUN_DEVICE, "npu", 1); \
			before; \
			program(); \
			exit(0); \
		} \
		assert_int_equal(waitpid(pid, &status, 0), pid); \
		size = pread(log, text, sizeof(text) - 1, 0); \
		text[size] = '\0'; \
		close(log); \
		if (status || strcmp(text, expected)) \
			fail_msg("%s: status %d, it writes\n%s", name, status, text); \
	} while (0);
	CASES(TRY)
}

static void test_texts(void **state)
{
	char text[8];

	(void)state;
	assert_string_equal(run_base_name("/a/b.c"), "b.c");
	assert_string_equal(run_base_name("b.c"), "b.c");
	assert_string_equal(run_base_name("a/"), "");
	assert_true(run_note(text, "first") && run_note(&state, "other") && run_note(text, "the second"));
	assert_true(run_noted(text, text, sizeof(text)));
	assert_string_equal(text, "the sec");
	run_forget(text);
	assert_false(run_noted(text, text, sizeof(text)));
	assert_true(run_noted(&state, text, sizeof(text)));
	assert_string_equal(text, "other");
	run_forget(&state);
}

/* The library of `nnaccel run` derives a plug-in's path from the path of the library itself. */
static void test_plugin(void **state)
{
	char whole[4096], path[4096];
	size_t length;

	(void)state;
	assert_true(run_plugin("x.so", whole, sizeof(whole)));
	assert_string_equal(run_base_name(whole), "x.so");
	length = strlen(whole);
	assert_true(run_plugin("x.so", path, length + 1));
	assert_string_equal(path, whole);
	assert_false(run_plugin("x.so", path, length));
	strcpy(strrchr(whole, '/') + 1, "run_test");
	assert_int_equal(access(whole, X_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_plugin),
	};

	int failed;

	make_tables();
	failed = cmocka_run_group_tests_name("run", tests, NULL, NULL);
	free(no_object);
	return failed;
}
