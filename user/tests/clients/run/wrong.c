// SPDX-License-Identifier: MIT
/*
 * Plays a TensorFlow Lite whose models compute four values: others, by the share that the variable APART
 * has, if a delegate is given. An interpreter is its options.
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

PLAYED int TfLiteInterpreterAllocateTensors(struct interpreter *interpreter)
{
	(void)interpreter;
	return 0;
}

PLAYED int TfLiteInterpreterInvoke(struct interpreter *interpreter)
{
	const char *apart = getenv("APART");

	for (int i = 0; i < 4; i++)
		interpreter->out[i] = (float)(i + 1);
	/* The largest is 4. A run that fails is not comparable. */
	if (interpreter->delegated && apart)
		interpreter->out[0] += 4 * (float)atof(apart);
	return interpreter->delegated && !apart;
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

PLAYED int TfLiteTensorType(const float *tensor)
{
	(void)tensor;
	return 1;
}

PLAYED size_t TfLiteTensorByteSize(const float *tensor)
{
	(void)tensor;
	return 4 * sizeof(float);
}

PLAYED float *TfLiteTensorData(float *tensor)
{
	return tensor;
}
