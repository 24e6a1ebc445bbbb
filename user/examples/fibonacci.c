/* SPDX-License-Identifier: MIT */
/*
 * An application that uses vendor extensions to compute the first Fibonacci numbers, and the ratio
 * of each number to the previous number. See Documentation/extensions.rst.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>

#include "extensions/fibonacci.h"
#include "extensions/golden.h"
#include "usage.h"

#define MAX 93

enum { COUNT, NUMBERS, RATIOS, NUM_OPERANDS };

static void must(int result, const char *what)
{
	if (result == ANEURALNETWORKS_NO_ERROR)
		return;
	/* Print only the failed step, because the library has logged the reason. */
	fprintf(stderr, "fibonacci: cannot %s (%d)\n", what, result);
	exit(EXIT_FAILURE);
}

/* Adds an operand of an extension's type; unknown dimensions are 0. */
static void add_operand(ANeuralNetworksModel *model, const char *extension, uint16_t code,
			uint32_t rank)
{
	const uint32_t dims[] = { 0 };
	ANeuralNetworksOperandType type = { .dimensionCount = rank,
					    .dimensions = rank ? dims : NULL };

	must(ANeuralNetworksModel_getExtensionOperandType(model, extension, code, &type.type),
	     "get an operand type");
	must(ANeuralNetworksModel_addOperand(model, &type), "add an operand");
}

static void add_operation(ANeuralNetworksModel *model, const char *extension, uint16_t code,
			  uint32_t input, uint32_t output)
{
	ANeuralNetworksOperationType type;

	must(ANeuralNetworksModel_getExtensionOperationType(model, extension, code, &type),
	     "get an operation");
	must(ANeuralNetworksModel_addOperation(model, type, 1, &input, 1, &output),
	     "add an operation");
}

static ANeuralNetworksModel *make_model(void)
{
	const ANeuralNetworksOperandType floats = { ANEURALNETWORKS_TENSOR_FLOAT32, 1,
						    (const uint32_t[]){ 0 }, 0, 0 };
	const struct fibonacci_quant quant = { .scale = 1, .zero_point = 0 };
	ANeuralNetworksModel *model;

	must(ANeuralNetworksModel_create(&model), "create a model");
	add_operand(model, FIBONACCI_NAME, FIBONACCI_INT64, 0);
	add_operand(model, FIBONACCI_NAME, FIBONACCI_TENSOR_QUANT64, 1);
	must(ANeuralNetworksModel_setOperandExtensionData(model, NUMBERS, &quant, sizeof(quant)),
	     "set extension data");
	must(ANeuralNetworksModel_addOperand(model, &floats), "add an operand");
	add_operation(model, FIBONACCI_NAME, FIBONACCI_FIBONACCI, COUNT, NUMBERS);
	add_operation(model, GOLDEN_NAME, GOLDEN_RATIOS, NUMBERS, RATIOS);
	must(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, (const uint32_t[]){ COUNT },
							   2, (const uint32_t[]){ NUMBERS,
										  RATIOS }),
	     "name inputs and outputs");
	must(ANeuralNetworksModel_finish(model), "finish the model");
	return model;
}

/*
 * Returns the device that has the extension. Attributes need a compilation for the extension's
 * device alone.
 */
static const ANeuralNetworksDevice *find_device(void)
{
	ANeuralNetworksDevice *device;
	uint32_t count = 0;
	bool has_it;

	must(ANeuralNetworks_getDeviceCount(&count), "count devices");
	for (uint32_t i = 0; i < count; i++) {
		must(ANeuralNetworks_getDevice(i, &device), "get a device");
		must(ANeuralNetworksDevice_getExtensionSupport(device, FIBONACCI_NAME, &has_it),
		     "ask for an extension");
		if (has_it)
			return device;
	}
	fprintf(stderr, "fibonacci: no device has the extension " FIBONACCI_NAME "\n");
	exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	int64_t count = argc > 1 ? strtol(argv[1], NULL, 10) : 10, numbers[MAX];
	int64_t skip = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	const ANeuralNetworksDevice *device;
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksModel *model;
	float ratios[MAX];

	check_usage(argc, argv, 2, "fibonacci [COUNT [SKIP]], COUNT from 2 to 93");
	if (count < 2 || count > MAX) {
		fprintf(stderr, "fibonacci: COUNT is %s, and must be in 2 to %d\n", argv[1], MAX);
		return 2;
	}
	device = find_device();
	model = make_model();
	must(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation),
	     "create a compilation");
	must(ANeuralNetworksCompilation_finish(compilation), "compile the model");
	must(ANeuralNetworksExecution_create(compilation, &execution), "create an execution");
	must(ANeuralNetworksExecution_setInput(execution, 0, NULL, &count, sizeof(count)),
	     "set the input");
	if (skip)
		must(ANeuralNetworksExecution_addExtensionAttribute(
			     execution, FIBONACCI_NAME, FIBONACCI_SKIP, &skip, sizeof(skip)),
		     "leave numbers out");
	must(ANeuralNetworksExecution_setOutput(execution, 0, NULL, numbers,
						(size_t)count * sizeof(numbers[0])),
	     "set the numbers");
	must(ANeuralNetworksExecution_setOutput(execution, 1, NULL, ratios,
						(size_t)(count - 1) * sizeof(ratios[0])),
	     "set the ratios");
	must(ANeuralNetworksExecution_compute(execution), "compute");
	printf("%" PRId64 "\n", numbers[0]);
	for (int64_t i = 1; i < count; i++)
		printf("%" PRId64 " %.6f\n", numbers[i], (double)ratios[i - 1]);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
	return 0;
}
