// SPDX-License-Identifier: MIT
/*
 * Imitates the library TensorFlow Lite with models that compute four values. The environment
 * variable TYPE is TensorFlow Lite's code for the type of the values. In a run with a delegate, the
 * first value is wrong by the number in the environment variable APART; for floats, APART is a
 * share of the largest value. Floats of all runs depend on how the first input is rounded, by the
 * share of the largest value that is in the environment variable ROUNDED. In this imitation, one
 * object is both the interpreter and the interpreter's options.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define PLAYED __attribute__((visibility("default")))

struct interpreter {
	bool delegated;
	float in[4], out[4];
};

PLAYED const char *TfLiteVersion(void)
{
	return "played";
}

PLAYED void *TfLiteModelCreateFromFile(const char *path)
{
	return (void *)path;
}

PLAYED void TfLiteModelDelete(void *model)
{
	(void)model;
}

PLAYED struct interpreter *TfLiteInterpreterOptionsCreate(void)
{
	return calloc(1, sizeof(struct interpreter));
}

PLAYED void TfLiteInterpreterOptionsDelete(struct interpreter *options)
{
	free(options);
}

PLAYED void TfLiteInterpreterOptionsAddDelegate(struct interpreter *options, void *delegate)
{
	options->delegated = delegate;
}

PLAYED void TfLiteInterpreterOptionsSetNumThreads(struct interpreter *options, int threads)
{
	(void)options;
	(void)threads;
}

PLAYED struct interpreter *TfLiteInterpreterCreate(void *model, const struct interpreter *options)
{
	struct interpreter *interpreter = TfLiteInterpreterOptionsCreate();

	(void)model;
	interpreter->delegated = options->delegated;
	return interpreter;
}

PLAYED void TfLiteInterpreterDelete(struct interpreter *interpreter)
{
	free(interpreter);
}

PLAYED int TfLiteInterpreterModifyGraphWithDelegate(struct interpreter *interpreter, void *delegate)
{
	interpreter->delegated = delegate;
	return 0;
}

PLAYED const char *TfLiteTensorName(const float *tensor)
{
	(void)tensor;
	return "input";
}

PLAYED int TfLiteInterpreterResizeInputTensor(struct interpreter *interpreter, int number, const int *dims, int rank)
{
	(void)interpreter;
	return number || rank != 2 || dims[0] != 2 || dims[1] != 2;
}

PLAYED int TfLiteInterpreterAllocateTensors(struct interpreter *interpreter)
{
	(void)interpreter;
	return 0;
}

enum { FLOAT32 = 1, INT32 = 2, UINT8 = 3 };

PLAYED int TfLiteTensorType(const float *tensor)
{
	const char *type = getenv("TYPE");

	(void)tensor;
	return type ? atoi(type) : FLOAT32;
}

PLAYED size_t TfLiteTensorByteSize(const float *tensor)
{
	return TfLiteTensorType(tensor) == UINT8 ? 4 : 4 * sizeof(float);
}

PLAYED int TfLiteInterpreterInvoke(struct interpreter *interpreter)
{
	const char *text = getenv("APART");
	double apart = interpreter->delegated && text ? atof(text) : 0;
	const char *rounded = getenv("ROUNDED");
	double steps = interpreter->in[0] * 1e5;
	double off = rounded ? atof(rounded) * (steps - (int)steps) : 0;

	for (int i = 0; i < 4; i++)
		switch (TfLiteTensorType(interpreter->out)) {
		case FLOAT32:
			interpreter->out[i] = (float)(i + 1 + (i ? 0 : 4 * apart) + (i == 1 ? 4 * off : 0));
			break;
		case INT32:
			((int32_t *)interpreter->out)[i] = i + (i ? 0 : (int32_t)apart);
			break;
		case UINT8:
			((uint8_t *)interpreter->out)[i] = (uint8_t)(i + (i ? 0 : (int)apart));
		}
	/* If APART is not set, a run with a delegate fails, so that no outputs can be compared. */
	return interpreter->delegated && !text;
}

PLAYED int TfLiteInterpreterGetInputTensorCount(const struct interpreter *interpreter)
{
	(void)interpreter;
	return 1;
}

PLAYED int TfLiteInterpreterGetOutputTensorCount(const struct interpreter *interpreter)
{
	(void)interpreter;
	return 1;
}

PLAYED float *TfLiteInterpreterGetInputTensor(struct interpreter *interpreter, int number)
{
	(void)number;
	return interpreter->in;
}

PLAYED float *TfLiteInterpreterGetOutputTensor(struct interpreter *interpreter, int number)
{
	(void)number;
	return interpreter->out;
}

PLAYED float *TfLiteTensorData(float *tensor)
{
	return tensor;
}
