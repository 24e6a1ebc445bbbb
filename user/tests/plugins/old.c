/* SPDX-License-Identifier: MIT */
/*
 * An extension that was built for version 1 of the plug-in interface. The engine must not read
 * fields that the descriptor of version 1 lacks. The extension's only operation has an input and an
 * output of type TENSOR_FLOAT32.
 */
#include <string.h>

#include <nnaccel/extension.h>

static enum nnx_status check(struct nnx_call *call)
{
	if (call->num_inputs != 1 || call->num_outputs != 1)
		return call->fail(call, NNX_INVALID_ARGUMENT, "one input and one output");
	return NNX_OK;
}

static enum nnx_status shape(struct nnx_call *call)
{
	call->outputs[0].rank = call->inputs[0].rank;
	memcpy(call->outputs[0].dims, call->inputs[0].dims, sizeof(call->inputs[0].dims));
	return NNX_OK;
}

static enum nnx_status execute(struct nnx_call *call)
{
	memcpy(call->outputs[0].value, call->inputs[0].value, call->outputs[0].value_size);
	return NNX_OK;
}

static const struct nnx_operation operations[] = {
	{ .code = 1, .name = "COPY", .check = check, .shape = shape, .execute = execute },
};

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = 1,
	.size = NNX_EXTENSION_SIZE_1,
	.name = "com.example.old",
	.version = 1,
	.num_operations = 1,
	.operations = operations,
	.attributes = (const void *)8,
	.num_attributes = UINT32_MAX,
	.reserved = UINT32_MAX,
};
