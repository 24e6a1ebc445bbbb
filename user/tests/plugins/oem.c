/* SPDX-License-Identifier: MIT */
/*
 * An extension with only the OEM operation. The OEM operation adds the bytes of input 1, an OEM
 * scalar, to the first bytes of input 0, a TENSOR_OEM_BYTE.
 */
#include <string.h>

#include <nnaccel/extension.h>

enum { OEM_SCALAR = 10000, TENSOR_OEM_BYTE = 10001 };

static enum nnx_status check(struct nnx_call *call)
{
	if (call->num_inputs != 2 || call->num_outputs != 1 ||
	    call->inputs[0].type != TENSOR_OEM_BYTE || call->inputs[1].type != OEM_SCALAR ||
	    call->outputs[0].type != TENSOR_OEM_BYTE)
		return call->fail(call, NNX_INVALID_ARGUMENT, "OEM operands are not as they must be");
	return NNX_OK;
}

static enum nnx_status shape(struct nnx_call *call)
{
	if (call->inputs[1].value_size > call->inputs[0].dims[0])
		return call->fail(call, NNX_GENERAL_FAILURE, "a scalar of %u bytes",
				  call->inputs[1].value_size);
	call->outputs[0].rank = call->inputs[0].rank;
	memcpy(call->outputs[0].dims, call->inputs[0].dims, sizeof(call->outputs[0].dims));
	return NNX_OK;
}

static enum nnx_status execute(struct nnx_call *call)
{
	const uint8_t *add = call->inputs[1].value;
	uint8_t *out = call->outputs[0].value;

	memcpy(out, call->inputs[0].value, call->outputs[0].value_size);
	for (uint32_t i = 0; i < call->inputs[1].value_size; i++)
		out[i] += add[i];
	return NNX_OK;
}

static const struct nnx_operation oem = {
	.name = "OEM", .check = check, .shape = shape, .execute = execute,
};

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = NNX_ABI_VERSION,
	.size = sizeof(nnaccel_extension),
	.name = "com.example.oem",
	.version = 1,
	.oem_operation = &oem,
};
