/* SPDX-License-Identifier: MIT */
/*
 * Measures the calls of the NNAPI, and the memory of a process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "api.h"

#define RUNS 2000

long peak_rss_kib(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_maxrss;
}

void api_must(int result, const char *what)
{
	if (result == ANEURALNETWORKS_NO_ERROR)
		return;
	fprintf(stderr, "%s: result %d\n", what, result);
	exit(1);
}

/* Makes a model that has a single ADD of tensors with one element. */
static ANeuralNetworksModel *make_model(void)
{
	const uint32_t one = 1, inputs[] = { 0, 1, 2 }, output = 3;
	const ANeuralNetworksOperandType tensor = {
		.type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &one,
	};
	const ANeuralNetworksOperandType scalar = { .type = ANEURALNETWORKS_INT32 };
	const int32_t none = 0;
	ANeuralNetworksModel *model;

	api_must(ANeuralNetworksModel_create(&model), "model");
	api_must(ANeuralNetworksModel_addOperand(model, &tensor), "operand");
	api_must(ANeuralNetworksModel_addOperand(model, &tensor), "operand");
	api_must(ANeuralNetworksModel_addOperand(model, &scalar), "operand");
	api_must(ANeuralNetworksModel_addOperand(model, &tensor), "operand");
	api_must(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)), "value");
	api_must(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output),
	     "operation");
	api_must(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output), "list");
	api_must(ANeuralNetworksModel_finish(model), "finish");
	return model;
}

ANeuralNetworksDevice *api_cpu_device(void)
{
	uint32_t count;

	api_must(ANeuralNetworks_getDeviceCount(&count), "devices");
	for (uint32_t i = 0; i < count; i++) {
		ANeuralNetworksDevice *device;
		const char *name;

		api_must(ANeuralNetworks_getDevice(i, &device), "device");
		api_must(ANeuralNetworksDevice_getName(device, &name), "name");
		if (!strcmp(name, "nnapi-reference"))
			return device;
	}
	fprintf(stderr, "the runtime has no device nnapi-reference\n");
	exit(1);
}

static double run_once(ANeuralNetworksCompilation *compilation)
{
	float a = 1, b = 2, out;
	ANeuralNetworksExecution *execution;
	uint64_t start_ns;

	start_ns = clock_ns();
	api_must(ANeuralNetworksExecution_create(compilation, &execution), "execution");
	api_must(ANeuralNetworksExecution_setInput(execution, 0, NULL, &a, sizeof(a)), "input");
	api_must(ANeuralNetworksExecution_setInput(execution, 1, NULL, &b, sizeof(b)), "input");
	api_must(ANeuralNetworksExecution_setOutput(execution, 0, NULL, &out, sizeof(out)), "output");
	api_must(ANeuralNetworksExecution_compute(execution), "compute");
	ANeuralNetworksExecution_free(execution);
	return (double)(clock_ns() - start_ns);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double api_empty_model_ns(void)
{
	const ANeuralNetworksDevice *device = api_cpu_device();
	ANeuralNetworksModel *model = make_model();
	ANeuralNetworksCompilation *compilation;
	static double times[RUNS];

	api_must(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation),
	     "compilation");
	api_must(ANeuralNetworksCompilation_finish(compilation), "compilation");
	for (int i = 0; i < RUNS; i++)
		times[i] = run_once(compilation);
	qsort(times, RUNS, sizeof(times[0]), by_value);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
	return times[RUNS / 2];
}
