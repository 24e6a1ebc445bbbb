/* SPDX-License-Identifier: MIT */
/*
 * Tests models of TensorFlow Lite in the tools. The test program imitates the library, the plug-in
 * and the dynamic loader.
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

#include <cmocka.h>

static void *play_dlopen(const char *path, int flags);
static void *play_dlsym(void *library, const char *symbol);
static char *play_dlerror(void);

#define dlopen play_dlopen
#define dlsym play_dlsym
#define dlerror play_dlerror
#include "tools/runtime/tflite.c"
#include "heap_blocks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define VERSION "2.14.1"

struct TfLiteTensor {
	int type;
	size_t bytes;
	void *data;
};

/* The addresses of the elements of `places` stand for objects of each kind. */
enum { MODELS, OPTIONS, INTERPRETERS, DELEGATES, KINDS };
static char places[KINDS];

static struct {
	const char *lacks;		/* a missing symbol */
	const char *fails;		/* name of a function that returns NULL or an error */
	int live[KINDS];
	int threads;
	const void *delegate;		/* delegate that the interpreter must get, or NULL */
	size_t num_options;
	char *names[2], *values[2];
	unsigned int invoked, allocated;
	int resized[2];			/* last dimension that an input got */
} played;

static struct TfLiteTensor tensors[3];

static bool does(const char *function)
{
	return !played.fails || strcmp(played.fails, function);
}

static void *made(int what, const char *function)
{
	if (!does(function))
		return NULL;
	played.live[what]++;
	return &places[what];
}

static void deleted(int what, void *place)
{
	assert_ptr_equal(place, &places[what]);
	played.live[what]--;
}

/* ---- the library ---- */

static const char *play_Version(void)
{
	return VERSION;
}

static TfLiteModel *play_ModelCreateFromFile(const char *path)
{
	assert_string_equal(path, "m.tflite");
	return made(MODELS, __func__);
}

static void play_ModelDelete(TfLiteModel *model)
{
	assert_int_equal(played.live[INTERPRETERS], 0);
	deleted(MODELS, model);
}

static TfLiteInterpreterOptions *play_InterpreterOptionsCreate(void)
{
	return made(OPTIONS, __func__);
}

static void play_InterpreterOptionsDelete(TfLiteInterpreterOptions *options)
{
	deleted(OPTIONS, options);
}

static void play_InterpreterOptionsAddDelegate(TfLiteInterpreterOptions *options, TfLiteDelegate *delegate)
{
	assert_ptr_equal(options, &places[OPTIONS]);
	played.delegate = delegate;
}

static TfLiteInterpreter *play_InterpreterCreate(const TfLiteModel *model, const TfLiteInterpreterOptions *options)
{
	assert_ptr_equal(model, &places[MODELS]);
	assert_ptr_equal(options, &places[OPTIONS]);
	return made(INTERPRETERS, __func__);
}

static void play_InterpreterDelete(TfLiteInterpreter *interpreter)
{
	deleted(INTERPRETERS, interpreter);
}

static int play_InterpreterAllocateTensors(TfLiteInterpreter *interpreter)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	played.allocated++;
	return !does(__func__);
}

static void play_InterpreterOptionsSetNumThreads(TfLiteInterpreterOptions *options, int threads)
{
	assert_ptr_equal(options, &places[OPTIONS]);
	played.threads = threads;
}

static int play_InterpreterGetInputTensorCount(const TfLiteInterpreter *interpreter)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	return 2;
}

static int play_InterpreterGetOutputTensorCount(const TfLiteInterpreter *interpreter)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	return 1;
}

static TfLiteTensor *play_InterpreterGetInputTensor(const TfLiteInterpreter *interpreter, int number)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	return &tensors[number];
}

static TfLiteTensor *play_InterpreterGetOutputTensor(const TfLiteInterpreter *interpreter, int number)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	return &tensors[2 + number];
}

static int play_InterpreterModifyGraphWithDelegate(TfLiteInterpreter *interpreter, TfLiteDelegate *delegate)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	/* The inputs and all other tensors have their shapes already. */
	assert_int_not_equal(played.resized[0], 0);
	assert_int_equal(played.allocated, 1);
	assert_null(played.delegate);
	played.delegate = delegate;
	return !does(__func__);
}

static const char *play_TensorName(const TfLiteTensor *tensor)
{
	return tensor == &tensors[0] ? "first" : "second";
}

static int play_InterpreterResizeInputTensor(TfLiteInterpreter *interpreter, int number, const int *dims, int rank)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	assert_int_equal(played.allocated, 0);
	assert_int_equal(rank, 1 + number);
	played.resized[number] = dims[number];
	return !does(__func__);
}

static int play_InterpreterInvoke(TfLiteInterpreter *interpreter)
{
	assert_ptr_equal(interpreter, &places[INTERPRETERS]);
	played.invoked++;
	return !does(__func__);
}

static int play_TensorType(const TfLiteTensor *tensor)
{
	return tensor->type;
}

static size_t play_TensorByteSize(const TfLiteTensor *tensor)
{
	return tensor->bytes;
}

static void *play_TensorData(const TfLiteTensor *tensor)
{
	return tensor->data;
}

/* ---- the plug-in and the loader ---- */

static TfLiteDelegate *create_delegate(char **names, char **values, size_t count, void (*report)(const char *))
{
	played.num_options = count;
	memcpy(played.names, names, sizeof(played.names));
	memcpy(played.values, values, sizeof(played.values));
	if (!does("create"))
		report("the delegate's reason");
	return made(DELEGATES, "create");
}

static void destroy_delegate(TfLiteDelegate *delegate)
{
	assert_int_equal(played.live[INTERPRETERS], 0);
	deleted(DELEGATES, delegate);
}

static char library, plugin;

static void *play_dlopen(const char *path, int flags)
{
	(void)flags;
	assert_string_equal(path, "/plugins/" PLUGIN);
	return does("dlopen") ? &plugin : NULL;
}

static char *play_dlerror(void)
{
	static char text[] = "the loader's reason";

	return text;
}

static void *play_dlsym(void *from, const char *symbol)
{
	if (played.lacks && !strcmp(played.lacks, symbol))
		return NULL;
	if (from == &plugin && !strcmp(symbol, "tflite_plugin_create_delegate"))
		return (void *)create_delegate;
	if (from == &plugin && !strcmp(symbol, "tflite_plugin_destroy_delegate"))
		return (void *)destroy_delegate;
	assert_ptr_equal(from, &library);
	if (!strcmp(symbol, "TfLiteInterpreterModifyGraphWithDelegate"))
		return (void *)play_InterpreterModifyGraphWithDelegate;
#define FUNCTION(result, name, parameters) \
	if (!strcmp(symbol, "TfLite" #name)) \
		return (void *)play_##name;
	FUNCTIONS
#undef FUNCTION
	fail_msg("no symbol %s", symbol);
	return NULL;
}

void *runtime_load(const char *wanted, const char *const *names, const char *package, char error[RUNTIME_ERROR])
{
	assert_string_equal(wanted ?: names[0], wanted ? "x.so" : "libtensorflow-lite.so.2.14.1");
	assert_string_equal(package, "libtensorflow-lite2.14.1");
	if (does("load"))
		return &library;
	snprintf(error, RUNTIME_ERROR, "no library");
	return NULL;
}

bool runtime_plugin(const char *name, char path[RUNTIME_PATH], char error[RUNTIME_ERROR])
{
	snprintf(path, RUNTIME_PATH, "/plugins/%s", name);
	snprintf(error, RUNTIME_ERROR, "no plug-in");
	return does("plugin");
}

/* ---- tests ---- */

static int set_up(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	return 0;
}

static void assert_nothing_lives(void)
{
	for (int i = 0; i < KINDS; i++)
		assert_int_equal(played.live[i], 0);
}

static void test_opening(void **state)
{
	static const struct {
		struct runtime_options options;
		size_t num_options;
		bool has_delegate;
	} cases[] = {
		{ { 0 }, 0, false },
		{ { .library = "x.so", .report = "r", .threads = 3 }, 0, false },
		{ { .device = "fake" }, 1, true },
		{ { .device = "fake", .report = "r", .threads = 1 }, 2, true },
	};
	char error[RUNTIME_ERROR];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct runtime *runtime;

		set_up(state);
		runtime = runtime_tflite.open("m.tflite", &cases[i].options, error);
		assert_non_null(runtime);
		assert_string_equal(runtime->name, "TensorFlow Lite " VERSION);
		assert_true(runtime_tflite.prepare(runtime, error));
		assert_int_equal(played.threads, cases[i].options.threads);
		assert_int_equal(played.num_options, cases[i].num_options);
		assert_ptr_equal(played.delegate, cases[i].has_delegate ? &places[DELEGATES] : NULL);
		assert_int_equal(played.live[OPTIONS], 0);
		if (cases[i].has_delegate) {
			assert_string_equal(played.names[0], "device");
			assert_string_equal(played.values[0], "fake");
			assert_string_equal(played.names[1], "report");
			assert_ptr_equal(played.values[1], cases[i].options.report);
		}
		runtime_tflite.close(runtime);
		assert_nothing_lives();
	}
}

static void test_failures(void **state)
{
#define NO_INTERFACE "the library lacks the C interface of TensorFlow Lite, which the model needs"
#define NOT_LOADED "TensorFlow Lite " VERSION " cannot load m.tflite"
#define NO_DELEGATE "/plugins/" PLUGIN " is not a delegate"
	static const struct {
		const char *fails, *lacks, *error;
	} cases[] = {
		{ "load", NULL, "no library" },
		{ NULL, "TfLiteVersion", NO_INTERFACE },
		{ NULL, "TfLiteInterpreterInvoke", NO_INTERFACE },
		{ NULL, "TfLiteTensorData", NO_INTERFACE },
		{ "plugin", NULL, "no plug-in" },
		{ "dlopen", NULL, "the loader's reason" },
		{ NULL, "tflite_plugin_create_delegate", NO_DELEGATE },
		{ NULL, "tflite_plugin_destroy_delegate", NO_DELEGATE },
		{ "create", NULL, "the delegate's reason" },
		{ "play_ModelCreateFromFile", NULL, NOT_LOADED },
		{ "play_InterpreterOptionsCreate", NULL, NOT_LOADED },
		{ "play_InterpreterCreate", NULL, NOT_LOADED },
		{ "play_InterpreterAllocateTensors", NULL, NOT_LOADED },
	};
	const struct runtime_options options = { .device = "fake" };
	const long blocks = heap_blocks;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char error[RUNTIME_ERROR] = "";

		set_up(state);
		played.fails = cases[i].fails;
		played.lacks = cases[i].lacks;
		assert_null(runtime_tflite.open("m.tflite", &options, error));
		assert_string_equal(error, cases[i].error);
		assert_nothing_lives();
		assert_int_equal(heap_blocks, blocks);
	}
}

static void test_shapes(void **state)
{
#define LATER "TfLiteInterpreterModifyGraphWithDelegate"
#define NOT_LATER "TensorFlow Lite " VERSION " cannot change inputs of a model on a device"
	static const struct {
		const char *shapes[2], *device, *fails, *lacks, *error;
		int resized[2];
	} cases[] = {
		{ { "first=7" }, NULL, NULL, NULL, NULL, { 7, 0 } },
		{ { "second=2,9", "first=8" }, NULL, NULL, NULL, NULL, { 8, 9 } },
		{ { "second=2,9", "first=8" }, "fake", NULL, NULL, NULL, { 8, 9 } },
		{ { "first=7" }, NULL, NULL, LATER, NULL, { 7, 0 } },
		{ { "first=7" }, "fake", NULL, LATER, NOT_LATER, { 7, 0 } },
		{ { "first=7" }, "fake", "play_InterpreterModifyGraphWithDelegate", NULL, NOT_LATER, { 7, 0 } },
		{ { "second=2,9", "third=1" }, "fake", NULL, NULL, "the model has no input third, only first second",
		  { 0, 9 } },
		{ { "first=3" }, NULL, "play_InterpreterResizeInputTensor", NULL,
		  "TensorFlow Lite " VERSION " cannot give input first another shape", { 3, 0 } },
	};
	const long blocks = heap_blocks;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct runtime_shapes shapes = { 0 };
		const struct runtime_options options = { .device = cases[i].device, .shapes = &shapes };
		char error[RUNTIME_ERROR] = "";
		struct runtime *runtime;

		set_up(state);
		played.fails = cases[i].fails;
		played.lacks = cases[i].lacks;
		for (int k = 0; k < 2 && cases[i].shapes[k]; k++)
			assert_true(runtime_take_shape(&shapes, cases[i].shapes[k], error));
		runtime = runtime_tflite.open("m.tflite", &options, error);
		assert_int_equal(!runtime, cases[i].error != NULL);
		if (cases[i].error)
			assert_string_equal(error, cases[i].error);
		else
			runtime_tflite.close(runtime);
		assert_true(cases[i].error || (played.delegate != NULL) == (cases[i].device != NULL));
		assert_memory_equal(played.resized, cases[i].resized, sizeof(played.resized));
		assert_nothing_lives();
		assert_int_equal(heap_blocks, blocks);
	}
}

static void test_tensors(void **state)
{
	static const struct {
		int type;
		enum runtime_type is;
	} types[] = {
		{ -1, RUNTIME_OTHER }, { 0, RUNTIME_OTHER }, { TFL_FLOAT32, RUNTIME_FLOAT32 },
		{ TFL_INT32, RUNTIME_INT32 }, { TFL_UINT8, RUNTIME_UINT8 }, { TFL_INT64, RUNTIME_INT64 },
		{ TFL_STRING, RUNTIME_OTHER }, { TFL_BOOL, RUNTIME_BOOL }, { TFL_INT16, RUNTIME_OTHER },
		{ 8, RUNTIME_OTHER }, { TFL_INT8, RUNTIME_INT8 }, { TFL_FLOAT16, RUNTIME_FLOAT16 },
		{ 11, RUNTIME_OTHER }, { 12, RUNTIME_OTHER },
	};
	const struct runtime_options options = { .device = NULL };
	struct runtime_tensor tensor;
	char error[RUNTIME_ERROR] = "";
	struct runtime *runtime = runtime_tflite.open("m.tflite", &options, error);

	(void)state;
	assert_int_equal(runtime_tflite.count_inputs(runtime), 2);
	assert_int_equal(runtime_tflite.count_outputs(runtime), 1);
	for (size_t i = 0; i < COUNT(types); i++) {
		tensors[1] = (struct TfLiteTensor){ types[i].type, 12, &tensor };
		assert_true(runtime_tflite.input(runtime, 1, &tensor));
		assert_int_equal(tensor.type, types[i].is);
		assert_int_equal(tensor.bytes, 12);
		assert_ptr_equal(tensor.data, &tensor);
	}
	tensors[2] = (struct TfLiteTensor){ TFL_INT8, 7, &error };
	assert_true(runtime_tflite.output(runtime, 0, &tensor));
	assert_int_equal(tensor.type, RUNTIME_INT8);
	assert_ptr_equal(tensor.data, &error);
	tensors[2].data = NULL;
	assert_false(runtime_tflite.output(runtime, 0, &tensor));
	assert_true(runtime_tflite.run(runtime, error));
	assert_string_equal(error, "");
	played.fails = "play_InterpreterInvoke";
	assert_false(runtime_tflite.run(runtime, error));
	assert_string_equal(error, "TensorFlow Lite " VERSION " cannot run the model");
	assert_int_equal(played.invoked, 2);
	runtime_tflite.close(runtime);
	assert_nothing_lives();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_opening, set_up),
		cmocka_unit_test_setup(test_failures, set_up),
		cmocka_unit_test_setup(test_shapes, set_up),
		cmocka_unit_test_setup(test_tensors, set_up),
	};

	return cmocka_run_group_tests_name("tools tflite", tests, NULL, NULL);
}
