/* SPDX-License-Identifier: MIT */
/*
 * The first network for the NNAPI: two layers that compute the exclusive or of two numbers. See
 * Documentation/tutorial.rst. An optional argument is the number of seconds for which the program
 * computes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <android/NeuralNetworks.h>

#include "usage.h"

/* model */

/*
 * A row of a weight matrix has the weights of a unit: hidden = relu(input * w1' + b1), answer =
 * hidden * w2' + b2
 */
static const float w1[2][2] = { { 1, 1 }, { 1, 1 } };
static const float b1[2] = { 0, -1 };
static const float w2[1][2] = { { 1, -2 } };
static const float b2[1] = { 0 };
static const int32_t relu = ANEURALNETWORKS_FUSED_RELU, none = ANEURALNETWORKS_FUSED_NONE;

static const float pairs[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };

static void must(int result, const char *what)
{
	if (result == ANEURALNETWORKS_NO_ERROR)
		return;
	/* Print only the failed step, because the library has logged the reason. */
	fprintf(stderr, "first: cannot %s (%d)\n", what, result);
	exit(EXIT_FAILURE);
}

/*
 * Adds an operand. The value of a small constant is copied. The value of a large constant must stay
 * valid until the model is finished.
 */
static uint32_t add_operand(ANeuralNetworksModel *model, int32_t code, uint32_t rank,
			    const uint32_t *dims, const void *value, size_t size)
{
	static uint32_t count;
	const ANeuralNetworksOperandType type = { code, rank, dims, 0, 0 };

	must(ANeuralNetworksModel_addOperand(model, &type), "add an operand");
	if (value)
		must(ANeuralNetworksModel_setOperandValue(model, (int32_t)count, value, size),
		     "set a value");
	return count++;
}

static uint32_t add_tensor(ANeuralNetworksModel *model, uint32_t rows, uint32_t columns,
			   const float *value)
{
	const uint32_t dims[] = { rows, columns };

	/* A bias has one dimension. */
	return add_operand(model, ANEURALNETWORKS_TENSOR_FLOAT32, rows ? 2 : 1,
			   rows ? dims : dims + 1, value,
			   (rows ? rows : 1) * columns * sizeof(float));
}

static ANeuralNetworksModel *make_model(void)
{
	ANeuralNetworksModel *model;
	uint32_t in, hidden, out;

	must(ANeuralNetworksModel_create(&model), "create a model");
	in = add_tensor(model, 4, 2, NULL);
	hidden = add_tensor(model, 4, 2, NULL);
	out = add_tensor(model, 4, 1, NULL);

	const uint32_t first[] = {
		in, add_tensor(model, 2, 2, *w1), add_tensor(model, 0, 2, b1),
		add_operand(model, ANEURALNETWORKS_INT32, 0, NULL, &relu, sizeof(relu)),
	};
	const uint32_t second[] = {
		hidden, add_tensor(model, 1, 2, *w2), add_tensor(model, 0, 1, b2),
		add_operand(model, ANEURALNETWORKS_INT32, 0, NULL, &none, sizeof(none)),
	};
	must(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED,
					       4, first, 1, &hidden), "add the first layer");
	must(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED,
					       4, second, 1, &out), "add the second layer");
	must(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &in, 1, &out),
	     "name inputs and outputs");
	must(ANeuralNetworksModel_finish(model), "finish the model");
	return model;
}

/* device */

/* Returns the device behind /dev/nnaccel, which has the name of the engine. */
static const ANeuralNetworksDevice *find_device(void)
{
	ANeuralNetworksDevice *device;
	const char *name;
	uint32_t count = 0;

	must(ANeuralNetworks_getDeviceCount(&count), "count devices");
	for (uint32_t i = 0; i < count; i++) {
		must(ANeuralNetworks_getDevice(i, &device), "get a device");
		must(ANeuralNetworksDevice_getName(device, &name), "get a device's name");
		if (!strcmp(name, "nnaccel"))
			return device;
	}
	fprintf(stderr, "first: there is no nnaccel: nnaccel doctor tells why\n");
	exit(EXIT_FAILURE);
}

/* execution */

static void compute(ANeuralNetworksCompilation *compilation, float answers[4])
{
	ANeuralNetworksExecution *execution;

	must(ANeuralNetworksExecution_create(compilation, &execution), "create an execution");
	must(ANeuralNetworksExecution_setInput(execution, 0, NULL, pairs, sizeof(pairs)),
	     "set the input");
	must(ANeuralNetworksExecution_setOutput(execution, 0, NULL, answers, 4 * sizeof(float)),
	     "set the output");
	must(ANeuralNetworksExecution_compute(execution), "compute");
	ANeuralNetworksExecution_free(execution);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	const ANeuralNetworksDevice *device;
	ANeuralNetworksModel *model;
	ANeuralNetworksCompilation *compilation;
	float answers[4];

	check_usage(argc, argv, 1, "first [SECONDS]");
	device = find_device();
	model = make_model();
	must(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation),
	     "create a compilation");
	must(ANeuralNetworksCompilation_finish(compilation), "compile the model");
	do {
		compute(compilation, answers);
	} while (time(NULL) < end);
	for (int i = 0; i < 4; i++)
		printf("%g xor %g = %g\n", (double)pairs[i][0], (double)pairs[i][1],
		       (double)answers[i]);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
	return 0;
}
