/* SPDX-License-Identifier: MIT */
/*
 * An extension that computes Fibonacci numbers, as a tensor of 64-bit quantised elements. The
 * tensor's scale and zero point are extension data of the operand. See
 * Documentation/extensions.rst.
 */
#include <math.h>
#include <string.h>

#include <nnaccel/extension.h>

#include "fibonacci.h"

/* Index, from 0, of the last number that fits into a signed 64-bit integer. */
#define LAST 92

static enum nnx_status check_quant(struct nnx_call *call, const struct nnx_operand *o)
{
	struct fibonacci_quant quant;

	if (o->data_size != sizeof(quant))
		return call->fail(call, NNX_INVALID_ARGUMENT,
				  "%u bytes of extension data, must be %zu", o->data_size,
				  sizeof(quant));
	memcpy(&quant, o->data, sizeof(quant));
	if (!isfinite(quant.scale) || quant.scale <= 0)
		return call->fail(call, NNX_INVALID_ARGUMENT, "scale %g, must be above 0",
				  quant.scale);
	return NNX_OK;
}

static int is_mine(const struct nnx_operand *o, int32_t code)
{
	return o->extension && !strcmp(o->extension, FIBONACCI_NAME) && o->type == code;
}

static enum nnx_status check(struct nnx_call *call)
{
	if (call->num_inputs != 1 || call->num_outputs != 1)
		return call->fail(call, NNX_INVALID_ARGUMENT,
				  "%u inputs and %u outputs, must be 1 and 1", call->num_inputs,
				  call->num_outputs);
	if (!is_mine(&call->inputs[0], FIBONACCI_INT64))
		return call->fail(call, NNX_INVALID_ARGUMENT, "input 0 must be INT64");
	if (!is_mine(&call->outputs[0], FIBONACCI_TENSOR_QUANT64))
		return call->fail(call, NNX_INVALID_ARGUMENT, "output 0 must be TENSOR_QUANT64");
	if (call->outputs[0].rank > 1)
		return call->fail(call, NNX_INVALID_ARGUMENT, "output 0 has %u dimensions, not 1",
				  call->outputs[0].rank);
	return NNX_OK;
}

static enum nnx_status check_modulus(struct nnx_call *call, const struct nnx_attribute *a)
{
	int64_t modulus = 0;

	if (a->size == sizeof(modulus))
		memcpy(&modulus, a->data, sizeof(modulus));
	return modulus > 0 ? NNX_OK : call->fail(call, NNX_INVALID_ARGUMENT,
						 "must be an int64_t above 0");
}

static enum nnx_status check_skip(struct nnx_call *call, const struct nnx_attribute *a)
{
	int64_t skip = -1;

	if (a->size == sizeof(skip))
		memcpy(&skip, a->data, sizeof(skip));
	return skip >= 0 && skip <= LAST ? NNX_OK :
	       call->fail(call, NNX_INVALID_ARGUMENT, "must be an int64_t from 0 to %d", LAST);
}

/*
 * Returns the value of an attribute, which was already checked, or `otherwise` if the list lacks
 * the attribute.
 */
static int64_t value_of(const struct nnx_attribute *list, uint32_t count, uint16_t code,
			int64_t otherwise)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].code == code)
			memcpy(&otherwise, list[i].data, sizeof(otherwise));
	return otherwise;
}

static int64_t get_skip(const struct nnx_call *call)
{
	return value_of(call->execution_attributes, call->num_execution_attributes,
			FIBONACCI_SKIP, 0);
}

/* Sets the shape of the output, which has as many numbers as input 0 says. */
static enum nnx_status shape(struct nnx_call *call)
{
	int64_t count, skip = get_skip(call);

	memcpy(&count, call->inputs[0].value, sizeof(count));
	if (count < 1 || count > LAST + 1 - skip)
		return call->fail(call, NNX_GENERAL_FAILURE, "%lld numbers, must be 1 to %d",
				  (long long)count, LAST + 1 - (int)skip);
	call->outputs[0].rank = 1;
	call->outputs[0].dims[0] = (uint32_t)count;
	return NNX_OK;
}

/* Quantises a number as exactly as 64 bits allow. */
static int64_t quantise(double value, const struct fibonacci_quant *quant)
{
	int64_t sum;

	if (value / quant->scale >= 0x1p63)
		return INT64_MAX;
	return __builtin_add_overflow((int64_t)rint(value / quant->scale), quant->zero_point,
				      &sum) ? INT64_MAX : sum;
}

static enum nnx_status execute(struct nnx_call *call)
{
	int64_t modulus = value_of(call->attributes, call->num_attributes, FIBONACCI_MODULUS,
				   INT64_MAX);
	int64_t *out = call->outputs[0].value, number = 0, next = 1, skip = get_skip(call);
	struct fibonacci_quant quant;

	memcpy(&quant, call->outputs[0].data, sizeof(quant));
	for (int64_t i = 0; i < skip + call->outputs[0].dims[0]; i++) {
		int64_t sum = i < LAST - 1 ? number + next : 0;

		if (i >= skip)
			out[i - skip] = quantise((double)(number % modulus), &quant);
		number = next;
		next = sum;
	}
	return NNX_OK;
}

static const struct nnx_type types[] = {
	{ .code = FIBONACCI_INT64, .element_size = 8, .name = "INT64" },
	{ .code = FIBONACCI_TENSOR_QUANT64, .flags = NNX_TYPE_TENSOR, .element_size = 8,
	  .name = "TENSOR_QUANT64", .check_data = check_quant },
};

static const struct nnx_operation operations[] = {
	{ .code = FIBONACCI_FIBONACCI, .name = "FIBONACCI", .check = check, .shape = shape,
	  .execute = execute },
};

static const struct nnx_attribute_type attributes[] = {
	{ .code = FIBONACCI_MODULUS, .flags = NNX_OF_COMPILATION, .name = "MODULUS",
	  .check = check_modulus },
	{ .code = FIBONACCI_SKIP, .flags = NNX_OF_EXECUTION, .name = "SKIP",
	  .check = check_skip },
};

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = NNX_ABI_VERSION,
	.size = sizeof(nnaccel_extension),
	.name = FIBONACCI_NAME,
	.version = 1,
	.num_types = sizeof(types) / sizeof(types[0]),
	.types = types,
	.num_operations = sizeof(operations) / sizeof(operations[0]),
	.operations = operations,
	.num_attributes = sizeof(attributes) / sizeof(attributes[0]),
	.attributes = attributes,
};
