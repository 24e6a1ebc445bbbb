/* SPDX-License-Identifier: MIT */
/*
 * Loads and runs models with TensorFlow Lite, by its C interface.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/abi.h"
#include "runtime.h"

#define PLUGIN "libnnaccel_tflite.so"

enum { MAX_INPUTS = 64 };

typedef struct TfLiteDelegate TfLiteDelegate;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
typedef struct TfLiteModel TfLiteModel;
typedef struct TfLiteTensor TfLiteTensor;

#define FUNCTIONS \
	FUNCTION(const char *, Version, (void)) \
	FUNCTION(TfLiteModel *, ModelCreateFromFile, (const char *path)) \
	FUNCTION(void, ModelDelete, (TfLiteModel *model)) \
	FUNCTION(TfLiteInterpreterOptions *, InterpreterOptionsCreate, (void)) \
	FUNCTION(void, InterpreterOptionsDelete, (TfLiteInterpreterOptions *options)) \
	FUNCTION(void, InterpreterOptionsAddDelegate, \
		 (TfLiteInterpreterOptions *options, TfLiteDelegate *delegate)) \
	FUNCTION(TfLiteInterpreter *, InterpreterCreate, \
		 (const TfLiteModel *model, const TfLiteInterpreterOptions *options)) \
	FUNCTION(void, InterpreterDelete, (TfLiteInterpreter *interpreter)) \
	FUNCTION(int, InterpreterAllocateTensors, (TfLiteInterpreter *interpreter)) \
	FUNCTION(void, InterpreterOptionsSetNumThreads, (TfLiteInterpreterOptions *options, int threads)) \
	FUNCTION(int, InterpreterGetInputTensorCount, (const TfLiteInterpreter *interpreter)) \
	FUNCTION(int, InterpreterGetOutputTensorCount, (const TfLiteInterpreter *interpreter)) \
	FUNCTION(TfLiteTensor *, InterpreterGetInputTensor, (const TfLiteInterpreter *interpreter, int number)) \
	FUNCTION(TfLiteTensor *, InterpreterGetOutputTensor, (const TfLiteInterpreter *interpreter, int number)) \
	FUNCTION(int, InterpreterInvoke, (TfLiteInterpreter *interpreter)) \
	FUNCTION(int, InterpreterResizeInputTensor, \
		 (TfLiteInterpreter *interpreter, int number, const int *dims, int rank)) \
	FUNCTION(const char *, TensorName, (const TfLiteTensor *tensor)) \
	FUNCTION(int, TensorType, (const TfLiteTensor *tensor)) \
	FUNCTION(size_t, TensorByteSize, (const TfLiteTensor *tensor)) \
	FUNCTION(void *, TensorData, (const TfLiteTensor *tensor))

struct model {
	struct runtime base;
	void *library;
	TfLiteModel *model;
	TfLiteInterpreter *interpreter;
	TfLiteDelegate *delegate;
	void (*destroy_delegate)(TfLiteDelegate *delegate);
	/* a function that some builds of the library lack, or NULL */
	int (*modify_graph)(TfLiteInterpreter *interpreter, TfLiteDelegate *delegate);
#define FUNCTION(result, name, parameters) result (*name) parameters;
	FUNCTIONS
#undef FUNCTION
};

static bool load_functions(struct model *m, char error[RUNTIME_ERROR])
{
	bool all = true;

#define FUNCTION(result, name, parameters) \
	*(void **)&m->name = dlsym(m->library, "TfLite" #name); \
	all &= m->name != NULL;
	FUNCTIONS
#undef FUNCTION
	*(void **)&m->modify_graph = dlsym(m->library, "TfLiteInterpreterModifyGraphWithDelegate");
	if (all)
		snprintf(m->base.name, sizeof(m->base.name), "TensorFlow Lite %s", m->Version());
	else
		snprintf(error, RUNTIME_ERROR, "the library lacks the C interface of TensorFlow "
			 "Lite, which the model needs");
	return all;
}

static _Thread_local char *problem;

static void keep_problem(const char *text)
{
	snprintf(problem, RUNTIME_ERROR, "%s", text);
}

static bool make_delegate(struct model *m, const struct runtime_options *options, char error[RUNTIME_ERROR])
{
	TfLiteDelegate *(*create)(char **, char **, size_t, void (*)(const char *));
	char *names[] = { (char *)"device", (char *)"report" };
	char *values[] = { (char *)options->device, (char *)options->report };
	char path[RUNTIME_PATH];
	void *plugin;

	if (!runtime_plugin(PLUGIN, path, error))
		return false;
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		snprintf(error, RUNTIME_ERROR, "%s", dlerror());
		return false;
	}
	*(void **)&create = dlsym(plugin, "tflite_plugin_create_delegate");
	*(void **)&m->destroy_delegate = dlsym(plugin, "tflite_plugin_destroy_delegate");
	problem = error;
	snprintf(error, RUNTIME_ERROR, "%.400s is not a delegate", path);
	m->delegate = create && m->destroy_delegate ?
		      create(names, values, options->report ? 2 : 1, keep_problem) : NULL;
	return m->delegate;
}

static void close_model(struct runtime *runtime)
{
	struct model *m = (struct model *)runtime;

	if (m->interpreter)
		m->InterpreterDelete(m->interpreter);
	if (m->delegate)
		m->destroy_delegate(m->delegate);
	if (m->model)
		m->ModelDelete(m->model);
	free(m);
}

/*
 * Gives inputs the shapes that the user names. Then adds the delegate, which gets the shapes that
 * AllocateTensors() has computed from those of the inputs.
 */
static bool resize_inputs(struct model *m, const struct runtime_shapes *shapes, char error[RUNTIME_ERROR])
{
	const char *names[MAX_INPUTS];
	int count = m->InterpreterGetInputTensorCount(m->interpreter);

	count = count < MAX_INPUTS ? count : MAX_INPUTS;
	for (int i = 0; i < count; i++)
		names[i] = m->TensorName(m->InterpreterGetInputTensor(m->interpreter, i));
	for (unsigned int i = 0; i < shapes->count; i++) {
		const struct runtime_shape *shape = &shapes->list[i];
		const int number = runtime_input_of(shape, names, count, error);

		if (number < 0)
			return false;
		if (m->InterpreterResizeInputTensor(m->interpreter, number, (const int *)shape->dims, (int)shape->rank)) {
			snprintf(error, RUNTIME_ERROR, "%s cannot give input %s another shape", m->base.name,
				 names[number]);
			return false;
		}
	}
	snprintf(error, RUNTIME_ERROR, "%s cannot change inputs of a model on a device", m->base.name);
	return !m->delegate || (m->modify_graph && !m->InterpreterAllocateTensors(m->interpreter) &&
				!m->modify_graph(m->interpreter, m->delegate));
}

static bool start(struct model *m, const char *path, const struct runtime_options *options,
		  char error[RUNTIME_ERROR])
{
	const bool is_shaped = options->shapes && options->shapes->count;
	TfLiteInterpreterOptions *interpreter;

	if (!load_functions(m, error) || (options->device && !make_delegate(m, options, error)))
		return false;
	m->model = m->ModelCreateFromFile(path);
	interpreter = m->model ? m->InterpreterOptionsCreate() : NULL;
	if (interpreter) {
		if (options->threads)
			m->InterpreterOptionsSetNumThreads(interpreter, (int)options->threads);
		if (m->delegate && !is_shaped)
			m->InterpreterOptionsAddDelegate(interpreter, m->delegate);
		m->interpreter = m->InterpreterCreate(m->model, interpreter);
		m->InterpreterOptionsDelete(interpreter);
	}
	if (m->interpreter && is_shaped && !resize_inputs(m, options->shapes, error))
		return false;
	if (m->interpreter && !m->InterpreterAllocateTensors(m->interpreter))
		return true;
	snprintf(error, RUNTIME_ERROR, "%s cannot load %.300s", m->base.name, path);
	return false;
}

/* ---- inputs and outputs ---- */

/* Does nothing, because open() has already allocated the tensors. */
static bool prepare(struct runtime *runtime, char error[RUNTIME_ERROR])
{
	(void)runtime;
	(void)error;
	return true;
}

static unsigned int count_inputs(const struct runtime *runtime)
{
	const struct model *m = (const struct model *)runtime;

	return (unsigned int)m->InterpreterGetInputTensorCount(m->interpreter);
}

static unsigned int count_outputs(const struct runtime *runtime)
{
	const struct model *m = (const struct model *)runtime;

	return (unsigned int)m->InterpreterGetOutputTensorCount(m->interpreter);
}

static bool describe(const struct model *m, const TfLiteTensor *from, struct runtime_tensor *tensor)
{
	static const enum runtime_type types[] = {
		[0] = RUNTIME_OTHER, [TFL_FLOAT32] = RUNTIME_FLOAT32, [TFL_INT32] = RUNTIME_INT32,
		[TFL_UINT8] = RUNTIME_UINT8, [TFL_INT64] = RUNTIME_INT64, [TFL_STRING] = RUNTIME_OTHER,
		[TFL_BOOL] = RUNTIME_BOOL, [TFL_INT16] = RUNTIME_OTHER, [8] = RUNTIME_OTHER,
		[TFL_INT8] = RUNTIME_INT8, [TFL_FLOAT16] = RUNTIME_FLOAT16,
	};
	int type = m->TensorType(from);

	tensor->type = type >= 0 && (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type] : RUNTIME_OTHER;
	tensor->bytes = m->TensorByteSize(from);
	tensor->data = m->TensorData(from);
	return tensor->data;
}

static bool input(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor)
{
	const struct model *m = (const struct model *)runtime;

	return describe(m, m->InterpreterGetInputTensor(m->interpreter, (int)number), tensor);
}

static bool output(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor)
{
	const struct model *m = (const struct model *)runtime;

	return describe(m, m->InterpreterGetOutputTensor(m->interpreter, (int)number), tensor);
}

static bool run_model(struct runtime *runtime, char error[RUNTIME_ERROR])
{
	const struct model *m = (const struct model *)runtime;

	if (!m->InterpreterInvoke(m->interpreter))
		return true;
	snprintf(error, RUNTIME_ERROR, "%s cannot run the model", m->base.name);
	return false;
}

/* ---- its life ---- */

static struct runtime *open_model(const char *path, const struct runtime_options *options,
				  char error[RUNTIME_ERROR])
{
	static const char *const names[] = {
		"libtensorflow-lite.so.2.14.1", "libtensorflow-lite.so", "libtensorflowlite_c.so", NULL,
	};
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		snprintf(error, RUNTIME_ERROR, "there is no memory");
		return NULL;
	}
	m->library = runtime_load(options->library, names, "libtensorflow-lite2.14.1", error);
	if (m->library && start(m, path, options, error))
		return &m->base;
	close_model(&m->base);
	return NULL;
}

const struct runtime_kind runtime_tflite = {
	open_model, close_model, prepare, count_inputs, count_outputs, input, output, run_model,
};
