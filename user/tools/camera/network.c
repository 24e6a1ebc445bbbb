/* SPDX-License-Identifier: MIT */
/* A model on an NNAPI device, executed in a burst on hardware buffers. */
#include "network.h"

#include <string.h>

static enum nn_status fail(const char *what, int result, struct nn_error *err)
{
	return nn_fail(err, NN_GENERAL_FAILURE, "network: %s: result %d of the NNAPI", what, result);
}

/* Adds an operand to a model, and sets the operand's value if the operand is a constant. */
static int add_operand(ANeuralNetworksModel *model, const struct nn_model *from, int32_t index)
{
	const struct nn_operand *o = &from->subgraphs[0].operands[index];
	const ANeuralNetworksOperandType type = {
		.type = o->type,
		.dimensionCount = o->rank,
		.dimensions = o->rank ? o->dims : NULL,
		.scale = o->scale,
		.zeroPoint = o->zero_point,
	};
	int result = ANeuralNetworksModel_addOperand(model, &type);

	if (result == ANEURALNETWORKS_NO_ERROR && o->lifetime == NN_CONSTANT_COPY)
		result = ANeuralNetworksModel_setOperandValue(model, index,
							      from->values + o->location.offset,
							      o->location.length);
	return result;
}

static int build(struct network *n, const struct nn_model *from)
{
	const struct nn_subgraph *g = &from->subgraphs[0];
	int result = ANeuralNetworksModel_create(&n->model);

	for (uint32_t i = 0; i < g->num_operands && result == ANEURALNETWORKS_NO_ERROR; i++)
		result = add_operand(n->model, from, (int32_t)i);
	for (uint32_t i = 0; i < g->num_operations && result == ANEURALNETWORKS_NO_ERROR; i++) {
		const struct nn_operation *o = &g->operations[i];

		result = ANeuralNetworksModel_addOperation(n->model, o->type, o->num_inputs,
							   o->inputs, o->num_outputs, o->outputs);
	}
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksModel_identifyInputsAndOutputs(n->model, g->num_inputs,
								       g->inputs, g->num_outputs,
								       g->outputs);
	return result == ANEURALNETWORKS_NO_ERROR ? ANeuralNetworksModel_finish(n->model) : result;
}

static ANeuralNetworksDevice *find_device(const char *name)
{
	uint32_t count = 0;

	ANeuralNetworks_getDeviceCount(&count);
	for (uint32_t i = 0; i < count; i++) {
		ANeuralNetworksDevice *device = NULL;
		const char *its_name = "";

		if (!ANeuralNetworks_getDevice(i, &device) &&
		    !ANeuralNetworksDevice_getName(device, &its_name) && !strcmp(its_name, name))
			return device;
	}
	return NULL;
}

/* Compiles for one device only, so that compiling fails if the device lacks an operation. */
static int compile(struct network *n, const ANeuralNetworksDevice *device)
{
	int result = ANeuralNetworksCompilation_createForDevices(n->model, &device, 1,
								 &n->compilation);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksCompilation_setPreference(
			n->compilation, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksCompilation_finish(n->compilation);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksBurst_create(n->compilation, &n->burst);
	return result;
}

enum nn_status network_open(struct network *n, const struct nn_model *model, const char *device,
			    struct nn_error *err)
{
	ANeuralNetworksDevice *found = find_device(device);
	int result;

	*n = (struct network){ .model = NULL };
	if (!found)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "network: the NNAPI has no device %s "
			       "(is the module loaded, and nnacceld running?)", device);
	result = build(n, model);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return fail("model", result, err);
	result = compile(n, found);
	return result == ANEURALNETWORKS_NO_ERROR ? NN_OK : fail("compilation", result, err);
}

void network_close(struct network *n)
{
	for (uint32_t i = 0; i < NETWORK_IMAGES; i++) {
		ANeuralNetworksExecution_free(n->executions[i]);
		ANeuralNetworksMemory_free(n->images[i]);
	}
	ANeuralNetworksBurst_free(n->burst);
	ANeuralNetworksCompilation_free(n->compilation);
	ANeuralNetworksModel_free(n->model);
}

static int prepare_execution(const struct network *n, uint32_t i, void *output, size_t size)
{
	ANeuralNetworksExecution *execution = n->executions[i];
	int result = ANeuralNetworksExecution_setReusable(execution, true);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL,
								     n->images[i], 0, 0);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, size);
	return result;
}

enum nn_status network_add_image(struct network *n, const struct nna_hardware_image *image,
				 void *output, size_t output_size, struct nn_error *err)
{
	AHardwareBuffer *buffer = NULL;
	uint32_t i = n->num_images;
	int result;

	if (i == NETWORK_IMAGES)
		return nn_fail(err, NN_INVALID_ARGUMENT, "network: too many images");
	result = nna_hardware_buffer_from_planes(image, &buffer);
	if (result)
		return nn_fail(err, NN_GENERAL_FAILURE, "network: an image: %s",
			       strerror(-result));
	result = ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &n->images[i]);
	/* The NNAPI memory has its own reference to the hardware buffer. */
	AHardwareBuffer_release(buffer);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksExecution_create(n->compilation, &n->executions[i]);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = prepare_execution(n, i, output, output_size);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return fail("image", result, err);
	n->num_images++;
	return NN_OK;
}

enum nn_status network_execute(struct network *n, uint32_t image, struct nn_error *err)
{
	int result = ANeuralNetworksExecution_burstCompute(n->executions[image], n->burst);

	return result == ANEURALNETWORKS_NO_ERROR ? NN_OK : fail("execution", result, err);
}
