/* SPDX-License-Identifier: MIT */
/*
 * Tests models of ONNX Runtime in the tools. The test program imitates the library of ONNX Runtime,
 * each call of which can fail.
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

static void *play_dlsym(void *library, const char *symbol);

#define dlsym play_dlsym
#include "tools/runtime/onnxruntime.c"
#include "heap_blocks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NAMED "onnxruntime 1.23.2"

/* Kinds of ONNX Runtime objects that the test counts; values are counted separately. */
enum { ENVS, OPTIONS, SESSIONS, STATUSES, MEMORIES, TYPES, INFOS, STRINGS, KINDS };

struct OrtValue {
	ONNXTensorElementDataType type;
	size_t bytes;
	void *data;
	int64_t dims[MAX_RANK + 1];
	size_t rank;
};

struct shape {
	ONNXTensorElementDataType type;	/* element type; ONNX_NONE if the input is not a tensor */
	size_t rank;
	int64_t dims[MAX_RANK + 1];
};

static char places[KINDS];
static char library, allocator;

static struct {
	const char *version;
	const char *fails;		/* name of the call that returns an error */
	int live[KINDS], live_values;
	bool is_registered;
	int threads;
	size_t num_devices, num_options;	/* number of session options */
	const char *name, *value;
	size_t in_count, out_count;
	const struct shape *inputs;
	struct OrtValue *given[MAX_TENSORS + 1], *made[MAX_TENSORS + 1];
	unsigned int runs, sessions;
	char named[64];		/* named dimensions that got a number */
	bool is_caught;
} played;

static void *made(int what)
{
	played.live[what]++;
	return &places[what];
}

static void released(int what, const void *place)
{
	assert_ptr_equal(place, &places[what]);
	assert_true(played.live[what] > 0);
	played.live[what]--;
}

/* Returns an error if `call` is the call that the test makes fail. */
static OrtStatus *does(const char *call)
{
	return played.fails && !strcmp(played.fails, call) ? made(STATUSES) : NULL;
}

/* ---- the library ---- */

#define PLAY(result, name, ...) static result play_##name(__VA_ARGS__)
#define DOES(call) \
	do { \
		OrtStatus *failure = does(call); \
\
		if (failure) \
			return failure; \
	} while (0)

PLAY(const char *, GetErrorMessage, const OrtStatus *status)
{
	assert_ptr_equal(status, &places[STATUSES]);
	return "the library's reason";
}

PLAY(void, ReleaseStatus, OrtStatus *status)
{
	released(STATUSES, status);
}

PLAY(OrtStatus *, CreateEnv, int level, const char *id, OrtEnv **env)
{
	assert_int_equal(level, LOG_ERRORS);
	assert_string_equal(id, "nnaccel");
	DOES("CreateEnv");
	*env = made(ENVS);
	return NULL;
}

PLAY(void, ReleaseEnv, OrtEnv *env)
{
	assert_int_equal(played.live[SESSIONS], 0);
	released(ENVS, env);
}

PLAY(OrtStatus *, CreateSessionOptions, OrtSessionOptions **options)
{
	DOES("CreateSessionOptions");
	*options = made(OPTIONS);
	return NULL;
}

PLAY(void, ReleaseSessionOptions, OrtSessionOptions *options)
{
	released(OPTIONS, options);
}

PLAY(OrtStatus *, SetIntraOpNumThreads, OrtSessionOptions *options, int threads)
{
	assert_ptr_equal(options, &places[OPTIONS]);
	played.threads = threads;
	return does("SetIntraOpNumThreads");
}

PLAY(OrtStatus *, CreateSession, const OrtEnv *env, const char *path, const OrtSessionOptions *options,
     OrtSession **session)
{
	assert_ptr_equal(env, &places[ENVS]);
	assert_string_equal(path, "m.onnx");
	assert_ptr_equal(options, &places[OPTIONS]);
	DOES("CreateSession");
	played.sessions++;
	*session = made(SESSIONS);
	return NULL;
}

PLAY(void, ReleaseSession, OrtSession *session)
{
	assert_int_equal(played.live_values, 0);
	released(SESSIONS, session);
}

/*
 * The imitated devices: a device of another provider, a device without metadata, another device of
 * the plug-in, and the wanted device.
 */
static const struct device {
	const char *provider, *device;
} devices[] = { { "other", "fake" }, { "nnaccel", NULL }, { "nnaccel", "fake2" }, { "nnaccel", "fake" } };

PLAY(OrtStatus *, GetEpDevices, const OrtEnv *env, const OrtEpDevice *const **list, size_t *count)
{
	static const OrtEpDevice *all[COUNT(devices)];

	assert_ptr_equal(env, &places[ENVS]);
	DOES("GetEpDevices");
	for (size_t i = 0; i < COUNT(devices); i++)
		all[i] = (const OrtEpDevice *)&devices[i];
	*list = all;
	*count = played.is_registered ? COUNT(devices) : 1;
	return NULL;
}

PLAY(const char *, EpDevice_EpName, const OrtEpDevice *device)
{
	return ((const struct device *)device)->provider;
}

PLAY(const OrtKeyValuePairs *, EpDevice_EpMetadata, const OrtEpDevice *device)
{
	return (const OrtKeyValuePairs *)device;
}

PLAY(const char *, GetKeyValue, const OrtKeyValuePairs *pairs, const char *key)
{
	assert_string_equal(key, "device");
	return ((const struct device *)pairs)->device;
}

PLAY(OrtStatus *, RegisterExecutionProviderLibrary, OrtEnv *env, const char *name, const char *path)
{
	assert_ptr_equal(env, &places[ENVS]);
	assert_false(played.is_registered);
	assert_string_equal(name, "nnaccel");
	assert_string_equal(path, "/plugins/" PLUGIN);
	DOES("RegisterExecutionProviderLibrary");
	played.is_registered = true;
	return NULL;
}

PLAY(OrtStatus *, SessionOptionsAppendExecutionProvider_V2, OrtSessionOptions *options, OrtEnv *env,
     const OrtEpDevice *const *chosen, size_t count, const char *const *names, const char *const *values,
     size_t options_count)
{
	assert_ptr_equal(options, &places[OPTIONS]);
	assert_ptr_equal(env, &places[ENVS]);
	assert_ptr_equal(chosen[0], &devices[3]);
	played.num_devices = count;
	played.num_options = options_count;
	played.name = names[0];
	played.value = values[0];
	return does("SessionOptionsAppendExecutionProvider_V2");
}

PLAY(OrtStatus *, SessionGetInputCount, const OrtSession *session, size_t *count)
{
	assert_ptr_equal(session, &places[SESSIONS]);
	*count = played.in_count;
	return does("SessionGetInputCount");
}

PLAY(OrtStatus *, SessionGetOutputCount, const OrtSession *session, size_t *count)
{
	assert_ptr_equal(session, &places[SESSIONS]);
	*count = played.out_count;
	return does("SessionGetOutputCount");
}

PLAY(OrtStatus *, GetAllocatorWithDefaultOptions, OrtAllocator **out)
{
	*out = (OrtAllocator *)&allocator;
	return does("GetAllocatorWithDefaultOptions");
}

static OrtStatus *name_of(const char *call, char letter, size_t index, OrtAllocator *with, char **name)
{
	assert_ptr_equal(with, &allocator);
	DOES(call);
	assert_true(asprintf(name, "%c%zu", letter, index) > 0);
	played.live[STRINGS]++;
	return NULL;
}

PLAY(OrtStatus *, SessionGetInputName, const OrtSession *session, size_t index, OrtAllocator *with, char **name)
{
	assert_ptr_equal(session, &places[SESSIONS]);
	return name_of("SessionGetInputName", 'i', index, with, name);
}

PLAY(OrtStatus *, SessionGetOutputName, const OrtSession *session, size_t index, OrtAllocator *with, char **name)
{
	assert_ptr_equal(session, &places[SESSIONS]);
	return name_of("SessionGetOutputName", 'o', index, with, name);
}

PLAY(OrtStatus *, AllocatorFree, OrtAllocator *with, void *memory)
{
	assert_ptr_equal(with, &allocator);
	played.live[STRINGS]--;
	free(memory);
	return NULL;
}

PLAY(OrtStatus *, CreateCpuMemoryInfo, OrtAllocatorType type, OrtMemType kind, OrtMemoryInfo **memory)
{
	assert_int_equal(type, 0);
	assert_int_equal(kind, 0);
	DOES("CreateCpuMemoryInfo");
	*memory = made(MEMORIES);
	return NULL;
}

PLAY(void, ReleaseMemoryInfo, OrtMemoryInfo *memory)
{
	released(MEMORIES, memory);
}

/* The imitated function returns only the index of the input as type information. */
PLAY(OrtStatus *, SessionGetInputTypeInfo, const OrtSession *session, size_t index, OrtTypeInfo **type)
{
	assert_ptr_equal(session, &places[SESSIONS]);
	DOES("SessionGetInputTypeInfo");
	made(TYPES);
	*type = (OrtTypeInfo *)&played.inputs[index];
	return NULL;
}

PLAY(void, ReleaseTypeInfo, OrtTypeInfo *type)
{
	assert_non_null(type);
	played.live[TYPES]--;
}

PLAY(OrtStatus *, CastTypeInfoToTensorInfo, const OrtTypeInfo *type, const OrtTensorTypeAndShapeInfo **info)
{
	const struct shape *shape = (const struct shape *)type;

	DOES("CastTypeInfoToTensorInfo");
	*info = shape->type == ONNX_NONE ? NULL : (const OrtTensorTypeAndShapeInfo *)shape;
	return NULL;
}

PLAY(OrtStatus *, GetTensorElementType, const OrtTensorTypeAndShapeInfo *info, ONNXTensorElementDataType *type)
{
	assert_non_null(info);
	*type = *(const ONNXTensorElementDataType *)info;
	return does("GetTensorElementType");
}

PLAY(OrtStatus *, GetDimensionsCount, const OrtTensorTypeAndShapeInfo *info, size_t *count)
{
	*count = ((const struct shape *)info)->rank;
	return does("GetDimensionsCount");
}

PLAY(OrtStatus *, GetDimensions, const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t count)
{
	const struct shape *shape = (const struct shape *)info;

	assert_int_equal(count, shape->rank);
	memcpy(dims, shape->dims, count * sizeof(*dims));
	return does("GetDimensions");
}

/* Only the first input names dimensions: n0 to n2. */
PLAY(OrtStatus *, GetSymbolicDimensions, const OrtTensorTypeAndShapeInfo *info, const char **names, size_t count)
{
	static const char *const known[] = { "n0", "n1", "n2" };

	for (size_t i = 0; i < count; i++)
		names[i] = info == (const OrtTensorTypeAndShapeInfo *)played.inputs && i < COUNT(known) ? known[i] : "";
	return does("GetSymbolicDimensions");
}

PLAY(OrtStatus *, AddFreeDimensionOverrideByName, OrtSessionOptions *options, const char *name, int64_t number)
{
	assert_ptr_equal(options, &places[OPTIONS]);
	assert_int_equal(played.num_devices, 0);
	snprintf(played.named + strlen(played.named), sizeof(played.named) - strlen(played.named), "%s=%lld ", name,
		 (long long)number);
	return does("AddFreeDimensionOverrideByName");
}

static struct OrtValue *make_value(void)
{
	struct OrtValue *value = calloc(1, sizeof(*value));

	assert_non_null(value);
	played.live_values++;
	return value;
}

PLAY(OrtStatus *, CreateTensorWithDataAsOrtValue, const OrtMemoryInfo *memory, void *data, size_t size,
     const int64_t *dims, size_t count, ONNXTensorElementDataType type, OrtValue **out)
{
	struct OrtValue *value;

	assert_ptr_equal(memory, &places[MEMORIES]);
	DOES("CreateTensorWithDataAsOrtValue");
	value = make_value();
	value->type = type;
	value->bytes = size;
	value->data = data;
	memcpy(value->dims, dims, count * sizeof(*dims));
	value->rank = count;
	*out = value;
	return NULL;
}

PLAY(void, ReleaseValue, OrtValue *value)
{
	played.live_values--;
	free(value);
}

PLAY(OrtStatus *, GetTensorTypeAndShape, const OrtValue *value, OrtTensorTypeAndShapeInfo **info)
{
	DOES("GetTensorTypeAndShape");
	made(INFOS);
	*info = (OrtTensorTypeAndShapeInfo *)value;
	return NULL;
}

PLAY(void, ReleaseTensorTypeAndShapeInfo, OrtTensorTypeAndShapeInfo *info)
{
	assert_non_null(info);
	played.live[INFOS]--;
}

PLAY(OrtStatus *, GetTensorMutableData, OrtValue *value, void **data)
{
	*data = value->data;
	return does("GetTensorMutableData");
}

PLAY(OrtStatus *, GetTensorSizeInBytes, const OrtValue *value, size_t *size)
{
	*size = value->bytes;
	return does("GetTensorSizeInBytes");
}

PLAY(OrtStatus *, Run, OrtSession *session, const OrtRunOptions *run, const char *const *in_names,
     const OrtValue *const *in, size_t in_count, const char *const *out_names, size_t out_count, OrtValue **out)
{
	char name[32];

	assert_ptr_equal(session, &places[SESSIONS]);
	assert_null(run);
	assert_int_equal(in_count, played.in_count);
	assert_int_equal(out_count, played.out_count);
	for (size_t i = 0; i < in_count; i++) {
		snprintf(name, sizeof(name), "i%zu", i);
		assert_string_equal(in_names[i], name);
		played.given[i] = (OrtValue *)in[i];
	}
	for (size_t i = 0; i < out_count; i++) {
		snprintf(name, sizeof(name), "o%zu", i);
		assert_string_equal(out_names[i], name);
		assert_null(out[i]);
	}
	/* The caller must have released the outputs of the previous run. */
	assert_int_equal(played.live_values, in_count);
	played.runs++;
	DOES("Run");
	for (size_t i = 0; i < out_count; i++) {
		out[i] = played.made[i] = make_value();
		out[i]->type = ONNX_FLOAT16;
		out[i]->bytes = 2 * (i + 1);
		out[i]->data = &played.made[i];
	}
	return NULL;
}

static const void *get_api(uint32_t version)
{
	static void *calls[400];

	assert_int_equal(version, ORT_VERSION);
	if (played.fails && !strcmp(played.fails, "GetApi"))
		return NULL;
	calls[2] = (void *)play_GetErrorMessage;
	calls[7] = (void *)play_CreateSession;
	calls[9] = (void *)play_Run;
	calls[10] = (void *)play_CreateSessionOptions;
	calls[93] = (void *)play_ReleaseStatus;
	calls[95] = (void *)play_ReleaseSession;
	calls[100] = (void *)play_ReleaseSessionOptions;
	calls[297] = (void *)play_GetKeyValue;
	calls[301] = (void *)play_RegisterExecutionProviderLibrary;
	calls[303] = (void *)play_GetEpDevices;
	calls[304] = (void *)play_SessionOptionsAppendExecutionProvider_V2;
	calls[312] = (void *)play_EpDevice_EpName;
	calls[314] = (void *)play_EpDevice_EpMetadata;
	calls[3] = (void *)play_CreateEnv;
	calls[92] = (void *)play_ReleaseEnv;
#define CALL(index, result, name, parameters) calls[index] = (void *)play_##name;
#include "tools/runtime/ort_calls.def"
#undef CALL
	return calls;
}

static const char *get_version(void)
{
	return played.version;
}

static const struct ort_api_base *get_base(void)
{
	static const struct ort_api_base base = { get_api, get_version };

	return &base;
}

static void *play_dlsym(void *from, const char *symbol)
{
	assert_ptr_equal(from, &library);
	assert_string_equal(symbol, "OrtGetApiBase");
	return played.fails && !strcmp(played.fails, symbol) ? NULL : (void *)get_base;
}

/* ---- replaced functions of the tools ---- */

void *runtime_load(const char *wanted, const char *const *names, const char *package, char error[RUNTIME_ERROR])
{
	assert_true(played.is_caught);
	assert_string_equal(wanted ?: names[0], wanted ? "x.so" : "libonnxruntime.so.1");
	assert_string_equal(package, "libonnxruntime1.23");
	snprintf(error, RUNTIME_ERROR, "no library");
	return played.fails && !strcmp(played.fails, "load") ? NULL : &library;
}

bool runtime_plugin(const char *name, char path[RUNTIME_PATH], char error[RUNTIME_ERROR])
{
	snprintf(path, RUNTIME_PATH, "/plugins/%s", name);
	snprintf(error, RUNTIME_ERROR, "no plug-in");
	return !played.fails || strcmp(played.fails, "plugin");
}

void runtime_catch(struct runtime_caught *caught)
{
	(void)caught;
	played.is_caught = true;
}

void runtime_release(struct runtime_caught *caught, const char *but)
{
	(void)caught;
	assert_string_equal(but, "Schema error");
	played.is_caught = false;
}

size_t runtime_size(enum runtime_type type)
{
	static const size_t sizes[] = { 4, 2, 1, 1, 4, 8, 1, 0 };

	return sizes[type];
}

/* ---- tests ---- */

static const struct shape two_inputs[] = {
	{ ONNX_FLOAT, 3, { 2, -1, 5 } },
	{ ONNX_INT64, 0, { 0 } },
};

static int set_up(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	played.version = "1.23.2";
	played.in_count = 2;
	played.out_count = 3;
	played.inputs = two_inputs;
	return 0;
}

static void assert_nothing_lives(void)
{
	for (int i = 0; i < KINDS; i++)
		assert_int_equal(played.live[i], 0);
	assert_int_equal(played.live_values, 0);
	assert_false(played.is_caught);
}

static void test_opening(void **state)
{
	static const struct {
		struct runtime_options options;
		bool is_registered;
		size_t num_devices, num_options;
	} cases[] = {
		{ { 0 }, false, 0, 0 },
		{ { .library = "x.so", .report = "r", .threads = 3 }, false, 0, 0 },
		{ { .device = "fake" }, false, 1, 0 },
		{ { .device = "fake", .report = "r", .threads = 1 }, true, 1, 1 },
	};
	char error[RUNTIME_ERROR];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct runtime *runtime;

		set_up(state);
		played.is_registered = cases[i].is_registered;
		runtime = runtime_onnxruntime.open("m.onnx", &cases[i].options, error);
		assert_non_null(runtime);
		assert_string_equal(runtime->name, NAMED);
		assert_int_equal(played.threads, cases[i].options.threads);
		assert_int_equal(played.num_devices, cases[i].num_devices);
		assert_int_equal(played.num_options, cases[i].num_options);
		if (cases[i].num_options) {
			assert_string_equal(played.name, "report");
			assert_string_equal(played.value, "r");
		}
		assert_int_equal(played.live[OPTIONS], 0);
		assert_false(played.is_caught);
		runtime_onnxruntime.close(runtime);
		assert_nothing_lives();
	}
}

static void test_failures(void **state)
{
#define REASON NAMED ": the library's reason"
	static const struct {
		const char *fails, *version, *error;
	} cases[] = {
		{ "load", NULL, "no library" },
		{ "OrtGetApiBase", NULL, "the library is not ONNX Runtime, which the model is for" },
		{ "GetApi", NULL, NAMED " is older than 1.23, which has plug-in providers" },
		{ NULL, "1.22.9", "onnxruntime 1.22.9 is older than 1.23, which has plug-in providers" },
		{ NULL, "x", "onnxruntime x is older than 1.23, which has plug-in providers" },
		{ "CreateEnv", NULL, REASON },
		{ "CreateSessionOptions", NULL, REASON },
		{ "GetEpDevices", NULL, REASON },
		{ "plugin", NULL, "no plug-in" },
		{ "RegisterExecutionProviderLibrary", NULL, REASON },
		{ "SessionOptionsAppendExecutionProvider_V2", NULL, REASON },
		{ "SetIntraOpNumThreads", NULL, REASON },
		{ "CreateSession", NULL, REASON },
	};
	struct runtime_options options = { .device = "fake", .threads = 2 };
	const long blocks = heap_blocks;
	char error[RUNTIME_ERROR];

	for (size_t i = 0; i < COUNT(cases); i++) {
		error[0] = '\0';
		set_up(state);
		played.fails = cases[i].fails;
		played.version = cases[i].version ?: played.version;
		assert_null(runtime_onnxruntime.open("m.onnx", &options, error));
		assert_string_equal(error, cases[i].error);
		assert_nothing_lives();
		assert_int_equal(heap_blocks, blocks);
	}
	set_up(state);
	options.device = "fake3";
	assert_null(runtime_onnxruntime.open("m.onnx", &options, error));
	assert_string_equal(error, "there is no device fake3");
	assert_nothing_lives();
}

static struct runtime *opened(void)
{
	static const struct runtime_options options;
	char error[RUNTIME_ERROR];
	struct runtime *runtime = runtime_onnxruntime.open("m.onnx", &options, error);

	assert_non_null(runtime);
	return runtime;
}

static void test_shapes(void **state)
{
	static const struct shape unnamed[] = { { ONNX_FLOAT, 1, { 4 } }, { ONNX_INT8, 2, { -1, 6 } } };
	static const struct shape not_a_tensor[] = { { .type = ONNX_NONE }, { ONNX_INT8, 1, { 4 } } };
	static const struct {
		const char *shapes[2];
		const struct shape *inputs;
		const char *named, *fails, *error;
	} cases[] = {
		{ { "i0=2,7,5" }, NULL, "n1=7 ", NULL, NULL },
		{ { "i1=8,6", "i0=4" }, unnamed, "", NULL, NULL },
		{ { "i2=1" }, NULL, "", NULL, "the model has no input i2, only i0 i1" },
		{ { "i0=2,7" }, NULL, "", NULL, "input i0 has 3 dimensions, not 2" },
		{ { "i0=2,7,5,1" }, NULL, "", NULL, "input i0 has 3 dimensions, not 4" },
		{ { "i0=2,7,6" }, NULL, "n1=7 ", NULL, "dimension 2 of input i0 is 5, not 6" },
		{ { "i0=3,7,5" }, NULL, "", NULL, "dimension 0 of input i0 is 2, not 3" },
		{ { "i1=1" }, NULL, "", NULL, "input i1 has 0 dimensions, not 1" },
		{ { "i0=1" }, not_a_tensor, "", NULL, "input i0 has 0 dimensions, not 1" },
		{ { "i0=2,7,5" }, NULL, "", "CreateSession", REASON },
		{ { "i0=2,7,5" }, NULL, "", "SessionGetInputCount", REASON },
		{ { "i0=2,7,5" }, NULL, "", "SessionGetOutputName", REASON },
		{ { "i0=2,7,5" }, NULL, "", "SessionGetInputTypeInfo", REASON },
		{ { "i0=2,7,5" }, NULL, "", "CastTypeInfoToTensorInfo", REASON },
		{ { "i0=2,7,5" }, NULL, "", "GetDimensionsCount", REASON },
		{ { "i0=2,7,5" }, NULL, "", "GetDimensions", REASON },
		{ { "i0=2,7,5" }, NULL, "", "GetSymbolicDimensions", REASON },
		{ { "i0=2,7,5" }, NULL, "n1=7 ", "AddFreeDimensionOverrideByName", REASON },
	};
	const long blocks = heap_blocks;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct runtime_shapes shapes = { 0 };
		const struct runtime_options options = { .device = "fake", .shapes = &shapes };
		char error[RUNTIME_ERROR] = "";
		struct runtime *runtime;

		set_up(state);
		played.fails = cases[i].fails;
		played.inputs = cases[i].inputs ?: two_inputs;
		for (int k = 0; k < 2 && cases[i].shapes[k]; k++)
			assert_true(runtime_take_shape(&shapes, cases[i].shapes[k], error));
		runtime = runtime_onnxruntime.open("m.onnx", &options, error);
		assert_string_equal(played.named, cases[i].named);
		assert_int_equal(!runtime, cases[i].error != NULL);
		if (runtime) {
			const int64_t *const dims = (const int64_t[2][3]){ { 2, 7, 5 }, { 4 } }[i];

			assert_int_equal(played.sessions, 2);
			assert_int_equal(played.live[SESSIONS], 1);
			assert_int_equal(played.live[STRINGS], 0);
			assert_true(runtime_onnxruntime.prepare(runtime, error));
			assert_true(runtime_onnxruntime.run(runtime, error));
			assert_memory_equal(played.given[0]->dims, dims, played.given[0]->rank * sizeof(*dims));
			assert_int_equal(played.given[1]->dims[0], i == 1 ? 8 : 0);
			runtime_onnxruntime.close(runtime);
		} else {
			assert_string_equal(error, cases[i].error);
		}
		assert_nothing_lives();
		assert_int_equal(heap_blocks, blocks);
	}
}

static void test_preparing(void **state)
{
#define NO_TENSOR(number) "no numbers can be generated for input " #number
	static const struct shape not_a_tensor[] = { { ONNX_INT8, 1, { 4 } }, { .type = ONNX_NONE } };
	static const struct shape of_strings[] = { { ONNX_STRING, 1, { 4 } }, { ONNX_INT8, 1, { 4 } } };
	static const struct shape deep[] = { { ONNX_INT8, MAX_RANK + 1, { 1 } }, { ONNX_INT8, 1, { 4 } } };
	static const struct shape large[] = { { ONNX_INT8, 1, { 1 } }, { ONNX_FLOAT, 2, { INT64_MAX, 4 } } };
	static const struct shape larger[] = { { ONNX_INT64, 1, { INT64_MAX / 2 + 1 } }, { ONNX_INT8, 1, { 4 } } };
	static const struct {
		const char *fails;
		const struct shape *inputs;
		size_t in_count, out_count;
		const char *error;
	} cases[] = {
		{ "SessionGetInputCount", NULL, 2, 3, REASON },
		{ "SessionGetOutputCount", NULL, 2, 3, REASON },
		{ "GetAllocatorWithDefaultOptions", NULL, 2, 3, REASON },
		{ "CreateCpuMemoryInfo", NULL, 2, 3, REASON },
		{ "SessionGetInputName", NULL, 2, 3, REASON },
		{ "SessionGetOutputName", NULL, 2, 3, REASON },
		{ "SessionGetInputTypeInfo", NULL, 2, 3, REASON },
		{ "CastTypeInfoToTensorInfo", NULL, 2, 3, REASON },
		{ "GetTensorElementType", NULL, 2, 3, REASON },
		{ "GetDimensionsCount", NULL, 2, 3, REASON },
		{ "GetDimensions", NULL, 2, 3, REASON },
		{ "CreateTensorWithDataAsOrtValue", NULL, 2, 3, REASON },
		{ NULL, not_a_tensor, 2, 3, NO_TENSOR(1) },
		{ NULL, of_strings, 2, 3, NO_TENSOR(0) },
		{ NULL, deep, 2, 3, NO_TENSOR(0) },
		{ NULL, large, 2, 3, "input 1 is larger than the memory" },
		{ NULL, larger, 2, 3, "input 0 is larger than the memory" },
		{ NULL, NULL, MAX_TENSORS + 1, 3, "the model has more than 32 inputs or outputs" },
		{ NULL, NULL, 2, MAX_TENSORS + 1, "the model has more than 32 inputs or outputs" },
	};
	const long blocks = heap_blocks;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char error[RUNTIME_ERROR] = "";
		struct runtime *runtime;

		set_up(state);
		played.fails = cases[i].fails;
		played.inputs = cases[i].inputs ?: two_inputs;
		played.in_count = cases[i].in_count;
		played.out_count = cases[i].out_count;
		runtime = opened();
		assert_false(runtime_onnxruntime.prepare(runtime, error));
		assert_string_equal(error, cases[i].error);
		runtime_onnxruntime.close(runtime);
		assert_nothing_lives();
		assert_int_equal(heap_blocks, blocks);
	}
}

/* A model with the maximum number of tensors is accepted. */
static void test_most_tensors(void **state)
{
	static struct shape scalars[MAX_TENSORS];
	char error[RUNTIME_ERROR];
	struct runtime *runtime;

	(void)state;
	for (int i = 0; i < MAX_TENSORS; i++)
		scalars[i].type = ONNX_FLOAT;
	played.inputs = scalars;
	played.in_count = played.out_count = MAX_TENSORS;
	runtime = opened();
	assert_true(runtime_onnxruntime.prepare(runtime, error));
	assert_true(runtime_onnxruntime.run(runtime, error));
	runtime_onnxruntime.close(runtime);
	assert_nothing_lives();
}

static void test_types(void **state)
{
	static const struct {
		ONNXTensorElementDataType type;
		enum runtime_type is;
		size_t bytes;
	} types[] = {
		{ ONNX_FLOAT, RUNTIME_FLOAT32, 24 }, { ONNX_UINT8, RUNTIME_UINT8, 6 },
		{ ONNX_INT8, RUNTIME_INT8, 6 },	     { ONNX_UINT16, RUNTIME_OTHER, 0 },
		{ ONNX_INT16, RUNTIME_OTHER, 0 },    { ONNX_INT32, RUNTIME_INT32, 24 },
		{ ONNX_INT64, RUNTIME_INT64, 48 },   { ONNX_STRING, RUNTIME_OTHER, 0 },
		{ ONNX_BOOL, RUNTIME_BOOL, 6 },	     { ONNX_FLOAT16, RUNTIME_FLOAT16, 12 },
		{ ONNX_DOUBLE, RUNTIME_OTHER, 0 },   { ONNX_UINT32, RUNTIME_OTHER, 0 },
		{ 16, RUNTIME_OTHER, 0 },
	};
	struct shape shape = { .rank = MAX_RANK };
	struct runtime_tensor tensor;
	char error[RUNTIME_ERROR];

	for (int i = 0; i < MAX_RANK; i++)
		shape.dims[i] = 1;
	shape.dims[3] = 2;
	shape.dims[4] = 0;
	shape.dims[MAX_RANK - 1] = 3;
	for (size_t i = 0; i < COUNT(types); i++) {
		struct runtime *runtime;
		bool is_known = types[i].is != RUNTIME_OTHER;

		set_up(state);
		shape.type = types[i].type;
		played.inputs = &shape;
		played.in_count = 1;
		runtime = opened();
		assert_int_equal(runtime_onnxruntime.prepare(runtime, error), is_known);
		assert_int_equal(runtime_onnxruntime.input(runtime, 0, &tensor), is_known);
		if (is_known) {
			assert_int_equal(tensor.type, types[i].is);
			assert_int_equal(tensor.bytes, types[i].bytes);
		}
		runtime_onnxruntime.close(runtime);
		assert_nothing_lives();
	}
}

static void test_running(void **state)
{
	static const char *const calls[] = {
		"GetTensorElementType", "GetTensorMutableData", "GetTensorSizeInBytes",
	};
	struct runtime *runtime = opened();
	struct runtime_tensor in, out;
	char error[RUNTIME_ERROR] = "";

	(void)state;
	assert_true(runtime_onnxruntime.prepare(runtime, error));
	error[0] = '\0';
	assert_int_equal(runtime_onnxruntime.count_inputs(runtime), 2);
	assert_int_equal(runtime_onnxruntime.count_outputs(runtime), 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_false(runtime_onnxruntime.output(runtime, i, &out));
	for (unsigned int run = 1; run <= 2; run++) {
		assert_true(runtime_onnxruntime.run(runtime, error));
		assert_int_equal(played.runs, run);
		assert_string_equal(error, "");
		for (unsigned int i = 0; i < 3; i++) {
			assert_true(runtime_onnxruntime.output(runtime, i, &out));
			assert_int_equal(out.type, RUNTIME_FLOAT16);
			assert_int_equal(out.bytes, 2 * (i + 1));
			assert_ptr_equal(out.data, &played.made[i]);
		}
	}
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(runtime_onnxruntime.input(runtime, i, &in));
		assert_ptr_equal(in.data, played.given[i]->data);
		assert_int_equal(in.bytes, played.given[i]->bytes);
		assert_int_equal(played.given[i]->type, two_inputs[i].type);
		assert_int_equal(played.given[i]->rank, two_inputs[i].rank);
	}
	assert_int_equal(played.given[0]->dims[0], 2);
	assert_int_equal(played.given[0]->dims[1], 1);
	assert_int_equal(played.given[0]->dims[2], 5);
	assert_int_equal(played.given[0]->bytes, 40);
	played.fails = "GetTensorTypeAndShape";
	assert_false(runtime_onnxruntime.output(runtime, 0, &out));
	for (size_t i = 0; i < COUNT(calls); i++) {
		played.fails = calls[i];
		assert_false(runtime_onnxruntime.output(runtime, 0, &out));
		assert_int_equal(out.type, RUNTIME_OTHER);
	}
	played.fails = "Run";
	assert_false(runtime_onnxruntime.run(runtime, error));
	assert_string_equal(error, REASON);
	assert_false(runtime_onnxruntime.output(runtime, 0, &out));
	runtime_onnxruntime.close(runtime);
	assert_nothing_lives();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_opening, set_up),
		cmocka_unit_test_setup(test_failures, set_up),
		cmocka_unit_test_setup(test_shapes, set_up),
		cmocka_unit_test_setup(test_preparing, set_up),
		cmocka_unit_test_setup(test_most_tensors, set_up),
		cmocka_unit_test_setup(test_types, set_up),
		cmocka_unit_test_setup(test_running, set_up),
	};

	return cmocka_run_group_tests_name("tools onnxruntime", tests, NULL, NULL);
}
