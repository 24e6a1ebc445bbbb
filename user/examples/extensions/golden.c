/* SPDX-License-Identifier: MIT */
/*
 * An extension that needs another extension. The extension has no operand type, but an operation on
 * a type of com.example.fibonacci. The extension reads the operand's extension data once, when a
 * model is prepared.
 */
#include <stdlib.h>
#include <string.h>

#include <nnaccel/extension.h>

#include "fibonacci.h"
#include "golden.h"

#define TENSOR_FLOAT32 3	/* of the NNAPI */

static enum nnx_status check(struct nnx_call *call)
{
	const struct nnx_operand *in, *out;

	if (call->num_inputs != 1 || call->num_outputs != 1)
		return call->fail(call, NNX_INVALID_ARGUMENT,
				  "%u inputs and %u outputs, must be 1 and 1", call->num_inputs,
				  call->num_outputs);
	in = &call->inputs[0];
	out = &call->outputs[0];
	if (!in->extension || strcmp(in->extension, FIBONACCI_NAME) ||
	    in->type != FIBONACCI_TENSOR_QUANT64)
		return call->fail(call, NNX_INVALID_ARGUMENT, "input 0 must be TENSOR_QUANT64 of "
				  FIBONACCI_NAME);
	if (out->extension || out->type != TENSOR_FLOAT32)
		return call->fail(call, NNX_INVALID_ARGUMENT, "output 0 must be TENSOR_FLOAT32");
	if (in->rank > 1)
		return call->fail(call, NNX_INVALID_ARGUMENT, "input 0 has %u dimensions, not 1",
				  in->rank);
	return NNX_OK;
}

static enum nnx_status shape(struct nnx_call *call)
{
	if (call->inputs[0].rank != 1 || call->inputs[0].dims[0] < 2)
		return call->fail(call, NNX_GENERAL_FAILURE, "input 0 has less than 2 elements");
	call->outputs[0].rank = 1;
	call->outputs[0].dims[0] = call->inputs[0].dims[0] - 1;
	return NNX_OK;
}

/* The scale cancels out in a ratio, so store only the zero point. */
static enum nnx_status compile(struct nnx_call *call, void **state)
{
	struct fibonacci_quant quant;
	int64_t *zero_point = malloc(sizeof(*zero_point));

	if (!zero_point)
		return call->fail(call, NNX_OUT_OF_MEMORY, "out of memory");
	memcpy(&quant, call->inputs[0].data, sizeof(quant));
	*zero_point = quant.zero_point;
	*state = zero_point;
	return NNX_OK;
}

static enum nnx_status execute(struct nnx_call *call)
{
	const int64_t *in = call->inputs[0].value, *zero_point = call->state;
	float *out = call->outputs[0].value;

	for (uint32_t i = 0; i < call->outputs[0].dims[0]; i++)
		out[i] = (float)((double)(in[i + 1] - *zero_point) /
				 (double)(in[i] - *zero_point));
	return NNX_OK;
}

static const struct nnx_operation operations[] = {
	{ .code = GOLDEN_RATIOS, .name = "RATIOS", .check = check, .shape = shape,
	  .compile = compile, .release = free, .execute = execute },
};

static const char *const needs[] = { FIBONACCI_NAME };

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = NNX_ABI_VERSION,
	.size = sizeof(nnaccel_extension),
	.name = GOLDEN_NAME,
	.version = 1,
	.num_operations = sizeof(operations) / sizeof(operations[0]),
	.operations = operations,
	.num_needs = sizeof(needs) / sizeof(needs[0]),
	.needs = needs,
};
