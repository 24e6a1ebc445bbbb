/* SPDX-License-Identifier: MIT */
/*
 * The smallest client of libnnaccel: builds and prepares a model that adds two tensors, and runs
 * the model on memory that the client shares with the engine.
 */
#include <stdio.h>

#include <nnaccel/nnaccel.h>

#include "usage.h"

#define COUNT 4
#define OP_ADD 0	/* ANEURALNETWORKS_ADD */

/*
 * Four operands: two inputs, the activation and the sum. The operand of the activation (NONE) is a
 * constant at byte 0 of `values`. `consumers` counts the operations that read an operand.
 */
static const struct nn_operand operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 },
	{ .type = NN_INT32, .lifetime = NN_CONSTANT_COPY, .consumers = 1,
	  .location = { .length = sizeof(int32_t) } },
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_OUTPUT },
};
static const int64_t values[] = { 0 };

/*
 * One operation: ADD of operands 0 and 1, with the activation in operand 2 and the result in
 * operand 3.
 */
static const uint32_t inputs[] = { 0, 1, 2 };
static const uint32_t outputs[] = { 3 };
static const struct nn_operation operations[] = {
	{ .type = OP_ADD, .num_inputs = 3, .inputs = inputs, .num_outputs = 1, .outputs = outputs },
};

/* The model's inputs are operands 0 and 1, its output is operand 3. */
static const struct nn_subgraph subgraph = {
	.num_operands = 4, .operands = operands,
	.num_operations = 1, .operations = operations,
	.num_inputs = 2, .inputs = inputs,
	.num_outputs = 1, .outputs = outputs,
};
static const struct nn_model model = {
	.size = sizeof(model),
	.num_subgraphs = 1, .subgraphs = &subgraph,
	.values = (const uint8_t *)values, .values_size = sizeof(values),
};

/* Runs the prepared model on numbers that run() writes to the memory shared with the engine. */
static enum nn_status run(struct nna_prepared_model *prepared, struct nna_memory *memory,
			  struct nn_error *err)
{
	/* An argument is a range of bytes in one of the request's memories. */
	const size_t size = COUNT * sizeof(float);
	const struct nna_argument in[] = {
		{ .pool = 0, .offset = 0, .length = size },
		{ .pool = 0, .offset = size, .length = size },
	};
	const struct nna_argument out = { .pool = 0, .offset = 2 * size, .length = size };
	const struct nna_request request = {
		.size = sizeof(request),
		.num_inputs = 2, .inputs = in,
		.num_outputs = 1, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	float *data = nna_memory_map(memory, err);
	enum nn_status status;

	if (!data)
		return NN_GENERAL_FAILURE;
	for (int i = 0; i < COUNT; i++) {
		data[i] = (float)i;
		data[COUNT + i] = 10;
	}
	status = nna_execute(prepared, &request, NULL, NULL, err);
	for (int i = 0; !status && i < COUNT; i++)
		printf("%g + %g = %g\n", data[i], data[COUNT + i], data[2 * COUNT + i]);
	return status;
}

int main(int argc, char **argv)
{
	struct nna_prepared_model *prepared = NULL;
	struct nna_memory *memory = NULL;
	struct nna_device *device = NULL;
	struct nn_error err = { "" };		/* the message of the first failure */
	enum nn_status status;

	check_usage(argc, argv, 0, "add");
	status = nna_device_open(NULL, &device, &err);
	if (!status)
		status = nna_prepare_model(device, &model, NULL, NULL, &prepared, &err);
	if (!status)
		status = nna_memory_alloc(device, 3 * COUNT * sizeof(float), &memory, &err);
	if (!status)
		status = run(prepared, memory, &err);
	if (status)
		fprintf(stderr, "add: %s: %s\n", nna_status_name(status), err.message);
	nna_memory_free(memory);
	nna_prepared_model_free(prepared);
	nna_device_close(device);
	return status ? 1 : 0;
}
