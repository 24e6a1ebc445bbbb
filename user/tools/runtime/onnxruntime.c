/* SPDX-License-Identifier: MIT */
/*
 * Loads and runs models with ONNX Runtime, by its C interface.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/onnxruntime/ort.h"
#include "run/ort_types.h"
#include "runtime.h"

#define NAME "nnaccel"			/* of the provider */
#define PLUGIN "libnnaccel_onnxruntime.so"

enum { LOG_ERRORS = 3 };
enum { MAX_TENSORS = 32, MAX_RANK = RUNTIME_RANK };

struct tensor {
	char *name;
	struct runtime_tensor tensor;
	OrtValue *value;		/* output's value from the last run, or NULL */
};

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
#include "ort_calls.def"
#undef CALL
	OrtAllocator *allocator;
	struct tensor in[MAX_TENSORS], out[MAX_TENSORS];
	size_t in_count, out_count;
	const struct runtime_shapes *shapes;
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
	/* Check the version first, because an older runtime's GetApi() would print a message. */
	if (sscanf(base->GetVersionString(), "1.%d", &minor) == 1 && minor >= ORT_VERSION)
		calls = base->GetApi(ORT_VERSION);
	if (!calls) {
		snprintf(error, RUNTIME_ERROR, "%s is older than 1.%d, which has plug-in providers",
			 m->base.name, ORT_VERSION);
		return false;
	}
#define CALL(index, result, name, parameters) m->name = (result (*) parameters)calls[index];
#include "run/ort_calls.def"
#include "ort_calls.def"
#undef CALL
#undef CREATE
#undef RUN
#undef PROVIDER
	m->CreateEnv = (OrtStatus *(*)(int, const char *, OrtEnv **))calls[3];
	m->ReleaseEnv = (void (*)(OrtEnv *))calls[92];
	return true;
}

/* Returns whether a call succeeded; if the call failed, writes the reason to `error`. */
static bool good(const struct model *m, OrtStatus *status, char error[RUNTIME_ERROR])
{
	if (!status)
		return true;
	snprintf(error, RUNTIME_ERROR, "%s: %s", m->base.name, m->GetErrorMessage(status));
	m->ReleaseStatus(status);
	return false;
}

/*
 * Finds the device among the plug-in's devices. The plug-in is registered only once in a process.
 */
static const OrtEpDevice *find_device(struct model *m, const char *wanted, char error[RUNTIME_ERROR])
{
	const OrtEpDevice *const *devices;
	size_t count;

	snprintf(error, RUNTIME_ERROR, "there is no device %s", wanted);
	if (!good(m, m->GetEpDevices(m->env, &devices, &count), error))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *name = m->GetKeyValue(m->EpDevice_EpMetadata(devices[i]), "device");

		if (name && !strcmp(m->EpDevice_EpName(devices[i]), NAME) && !strcmp(name, wanted))
			return devices[i];
	}
	return NULL;
}

static bool add_device(struct model *m, OrtSessionOptions *session, const struct runtime_options *options,
		       char error[RUNTIME_ERROR])
{
	const char *const names[] = { "report" }, *const values[] = { options->report };
	const OrtEpDevice *device = find_device(m, options->device, error);
	char path[RUNTIME_PATH];

	if (!device && runtime_plugin(PLUGIN, path, error) &&
	    good(m, m->RegisterExecutionProviderLibrary(m->env, NAME, path), error))
		device = find_device(m, options->device, error);
	return device &&
	       good(m, m->SessionOptionsAppendExecutionProvider_V2(session, m->env, &device, 1, names, values,
								   options->report != NULL), error);
}

/* ---- inputs and outputs ---- */

static enum runtime_type type_of(ONNXTensorElementDataType type)
{
	static const enum runtime_type types[] = {
		[ONNX_FLOAT] = RUNTIME_FLOAT32, [ONNX_FLOAT16] = RUNTIME_FLOAT16, [ONNX_UINT8] = RUNTIME_UINT8,
		[ONNX_INT8] = RUNTIME_INT8, [ONNX_INT32] = RUNTIME_INT32, [ONNX_INT64] = RUNTIME_INT64,
		[ONNX_BOOL] = RUNTIME_BOOL,
	};

	/* An entry of `types` is 0 for float32, and for types that the tools do not support. */
	if (type >= sizeof(types) / sizeof(types[0]) || (!types[type] && type != ONNX_FLOAT))
		return RUNTIME_OTHER;
	return types[type];
}

/*
 * Makes an input whose shape is the model's shape. Unknown dimensions are those that the user names, or
 * 1.
 */
static bool make_input(struct model *m, size_t number, const OrtMemoryInfo *memory, char error[RUNTIME_ERROR])
{
	struct tensor *t = &m->in[number];
	const struct runtime_shape *shape = runtime_shape_of(m->shapes, t->name);
	const OrtTensorTypeAndShapeInfo *info = NULL;
	ONNXTensorElementDataType type;
	int64_t dims[MAX_RANK];
	size_t rank = 0, count = 1;
	OrtTypeInfo *of;
	bool done;

	if (!good(m, m->SessionGetInputTypeInfo(m->session, number, &of), error))
		return false;
	snprintf(error, RUNTIME_ERROR, "no numbers can be generated for input %zu", number);
	done = good(m, m->CastTypeInfoToTensorInfo(of, &info), error) && info &&
	       good(m, m->GetTensorElementType(info, &type), error) &&
	       good(m, m->GetDimensionsCount(info, &rank), error) && rank <= MAX_RANK &&
	       good(m, m->GetDimensions(info, dims, rank), error) && type_of(type) != RUNTIME_OTHER;
	m->ReleaseTypeInfo(of);
	if (!done)
		return false;
	t->tensor.type = type_of(type);
	for (size_t i = 0; i < rank; i++) {
		dims[i] = shape ? shape->dims[i] : dims[i] > 0 ? dims[i] : 1;
		if (__builtin_mul_overflow(count, (size_t)dims[i], &count))
			count = SIZE_MAX;
	}
	/* If count * size overflows, calloc() fails. */
	t->tensor.bytes = count * runtime_size(t->tensor.type);
	t->tensor.data = calloc(count, runtime_size(t->tensor.type));
	if (!t->tensor.data) {
		snprintf(error, RUNTIME_ERROR, "input %zu is larger than the memory", number);
		return false;
	}
	return good(m, m->CreateTensorWithDataAsOrtValue(memory, t->tensor.data, t->tensor.bytes, dims, rank, type,
							 &t->value), error);
}

/* Reads the names of the session's inputs and outputs. */
static bool read_names(struct model *m, char error[RUNTIME_ERROR])
{
	bool done = true;

	if (!good(m, m->SessionGetInputCount(m->session, &m->in_count), error) ||
	    !good(m, m->SessionGetOutputCount(m->session, &m->out_count), error) ||
	    !good(m, m->GetAllocatorWithDefaultOptions(&m->allocator), error))
		return false;
	if (m->in_count > MAX_TENSORS || m->out_count > MAX_TENSORS) {
		snprintf(error, RUNTIME_ERROR, "the model has more than %d inputs or outputs", MAX_TENSORS);
		m->in_count = m->out_count = 0;
		return false;
	}
	for (size_t i = 0; done && i < m->in_count; i++)
		done = good(m, m->SessionGetInputName(m->session, i, m->allocator, &m->in[i].name), error);
	for (size_t i = 0; done && i < m->out_count; i++)
		done = good(m, m->SessionGetOutputName(m->session, i, m->allocator, &m->out[i].name), error);
	return done;
}

static bool prepare(struct runtime *runtime, char error[RUNTIME_ERROR])
{
	struct model *m = (struct model *)runtime;
	OrtMemoryInfo *memory;
	bool done = true;

	if (!read_names(m, error) || !good(m, m->CreateCpuMemoryInfo(0, 0, &memory), error))
		return false;
	for (size_t i = 0; done && i < m->in_count; i++)
		done = make_input(m, i, memory, error);
	m->ReleaseMemoryInfo(memory);
	return done;
}

static void free_tensors(struct model *m, struct tensor *tensors, size_t *count)
{
	char error[RUNTIME_ERROR];

	for (size_t i = 0; i < *count; i++) {
		if (tensors[i].name)
			good(m, m->AllocatorFree(m->allocator, tensors[i].name), error);
		if (tensors[i].value)
			m->ReleaseValue(tensors[i].value);
		if (tensors == m->in)
			free(tensors[i].tensor.data);
		tensors[i] = (struct tensor){ 0 };
	}
	*count = 0;
}

/*
 * Gives the dimensions that the model names, but does not know, the numbers of a shape. Returns false if
 * the shape contradicts the model.
 */
static bool set_shape(struct model *m, OrtSessionOptions *options, const struct runtime_shape *shape,
		      char error[RUNTIME_ERROR])
{
	const char *names[MAX_TENSORS], *symbols[MAX_RANK];
	const OrtTensorTypeAndShapeInfo *info = NULL;
	int64_t dims[MAX_RANK];
	size_t rank = 0;
	OrtTypeInfo *of;
	bool done;
	int number;

	for (size_t i = 0; i < m->in_count; i++)
		names[i] = m->in[i].name;
	number = runtime_input_of(shape, names, (int)m->in_count, error);
	if (number < 0 || !good(m, m->SessionGetInputTypeInfo(m->session, (size_t)number, &of), error))
		return false;
	done = good(m, m->CastTypeInfoToTensorInfo(of, &info), error) &&
	       (!info || good(m, m->GetDimensionsCount(info, &rank), error));
	if (done && rank != shape->rank) {
		snprintf(error, RUNTIME_ERROR, "input %.300s has %zu dimensions, not %u", names[number], rank, shape->rank);
		done = false;
	}
	done = done && good(m, m->GetDimensions(info, dims, rank), error) &&
	       good(m, m->GetSymbolicDimensions(info, symbols, rank), error);
	for (size_t i = 0; done && i < rank; i++) {
		if (dims[i] >= 0 && dims[i] != shape->dims[i]) {
			snprintf(error, RUNTIME_ERROR, "dimension %zu of input %.300s is %lld, not %u", i, names[number],
				 (long long)dims[i], shape->dims[i]);
			done = false;
		} else if (dims[i] < 0 && *symbols[i]) {
			done = good(m, m->AddFreeDimensionOverrideByName(options, symbols[i], shape->dims[i]), error);
		}
	}
	m->ReleaseTypeInfo(of);
	return done;
}

/* Sets the user's shapes; a session without the device tells the inputs' names and dimensions. */
static bool set_shapes(struct model *m, OrtSessionOptions *options, const char *path, char error[RUNTIME_ERROR])
{
	bool done;

	if (!m->shapes || !m->shapes->count)
		return true;
	done = good(m, m->CreateSession(m->env, path, options, &m->session), error) && read_names(m, error);
	for (unsigned int i = 0; done && i < m->shapes->count; i++)
		done = set_shape(m, options, &m->shapes->list[i], error);
	free_tensors(m, m->in, &m->in_count);
	free_tensors(m, m->out, &m->out_count);
	if (m->session)
		m->ReleaseSession(m->session);
	m->session = NULL;
	return done;
}

static unsigned int count_inputs(const struct runtime *runtime)
{
	return (unsigned int)((const struct model *)runtime)->in_count;
}

static unsigned int count_outputs(const struct runtime *runtime)
{
	return (unsigned int)((const struct model *)runtime)->out_count;
}

static bool input(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor)
{
	*tensor = ((struct model *)runtime)->in[number].tensor;
	return tensor->data;
}

static bool output(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor)
{
	struct model *m = (struct model *)runtime;
	OrtValue *value = m->out[number].value;
	OrtTensorTypeAndShapeInfo *info;
	ONNXTensorElementDataType type;
	char error[RUNTIME_ERROR];
	bool done;

	if (!value || !good(m, m->GetTensorTypeAndShape(value, &info), error))
		return false;
	done = good(m, m->GetTensorElementType(info, &type), error) &&
	       good(m, m->GetTensorMutableData(value, &tensor->data), error) &&
	       good(m, m->GetTensorSizeInBytes(value, &tensor->bytes), error);
	m->ReleaseTensorTypeAndShapeInfo(info);
	tensor->type = done ? type_of(type) : RUNTIME_OTHER;
	return done;
}

static bool run_model(struct runtime *runtime, char error[RUNTIME_ERROR])
{
	struct model *m = (struct model *)runtime;
	const char *in_names[MAX_TENSORS], *out_names[MAX_TENSORS];
	const OrtValue *in[MAX_TENSORS];
	OrtValue *out[MAX_TENSORS];

	for (size_t i = 0; i < m->in_count; i++) {
		in_names[i] = m->in[i].name;
		in[i] = m->in[i].value;
	}
	for (size_t i = 0; i < m->out_count; i++) {
		out_names[i] = m->out[i].name;
		if (m->out[i].value)
			m->ReleaseValue(m->out[i].value);
		out[i] = m->out[i].value = NULL;
	}
	if (!good(m, m->Run(m->session, NULL, in_names, in, m->in_count, out_names, m->out_count, out), error))
		return false;
	for (size_t i = 0; i < m->out_count; i++)
		m->out[i].value = out[i];
	return true;
}

/* ---- its life ---- */

static void close_model(struct runtime *runtime)
{
	struct model *m = (struct model *)runtime;

	free_tensors(m, m->in, &m->in_count);
	free_tensors(m, m->out, &m->out_count);
	if (m->session)
		m->ReleaseSession(m->session);
	if (m->env)
		m->ReleaseEnv(m->env);
	/* ONNX Runtime stays loaded, because the library's threads may still be running. */
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
	m->shapes = options->shapes;
	done = set_shapes(m, session, path, error) &&
	       (!options->device || add_device(m, session, options, error)) &&
	       (!options->threads || good(m, m->SetIntraOpNumThreads(session, (int)options->threads), error)) &&
	       good(m, m->CreateSession(m->env, path, session, &m->session), error);
	m->ReleaseSessionOptions(session);
	return done;
}

static struct runtime *open_model(const char *path, const struct runtime_options *options,
				  char error[RUNTIME_ERROR])
{
	/* File names of the library; Debian's name contains the minor version. */
	static const char *const names[] = {
		"libonnxruntime.so.1", "libonnxruntime.so.1.23", "libonnxruntime.so.1.24",
		"libonnxruntime.so.1.25", "libonnxruntime.so.1.26", "libonnxruntime.so.1.27",
		"libonnxruntime.so.1.28", "libonnxruntime.so.1.29", "libonnxruntime.so.1.30",
		"libonnxruntime.so", NULL,
	};
	static pthread_mutex_t catching = PTHREAD_MUTEX_INITIALIZER;
	struct model *m = calloc(1, sizeof(*m));
	struct runtime_caught caught;
	bool done;

	if (!m) {
		snprintf(error, RUNTIME_ERROR, "there is no memory");
		return NULL;
	}
	/*
	 * Drop the 600 lines that Debian's library prints about operators that are registered
	 * twice.
	 */
	pthread_mutex_lock(&catching);
	runtime_catch(&caught);
	m->library = runtime_load(options->library, names, "libonnxruntime1.23", error);
	done = m->library && start(m, path, options, error);
	runtime_release(&caught, "Schema error");
	pthread_mutex_unlock(&catching);
	if (done)
		return &m->base;
	close_model(&m->base);
	return NULL;
}

const struct runtime_kind runtime_onnxruntime = {
	open_model, close_model, prepare, count_inputs, count_outputs, input, output, run_model,
};
