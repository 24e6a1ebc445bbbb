/* SPDX-License-Identifier: MIT */
/*
 * The rules for an argument of an execution: shape, length, memory and role.
 */
#include "runtime/argument.h"

#include <string.h>

#include "runtime/log.h"
#include "runtime/hardware_memory.h"
#include "runtime/memory_desc.h"
#include "runtime/operand.h"

/* State of the check of an argument. */
struct checking {
	const ANeuralNetworksExecution *execution;
	const struct argument *argument;
	struct nn_operand operand;	/* the model's operand with the argument's dimensions */
	struct nn_error *err;
};

static int refuse(const struct checking *c, const char *reason)
{
	return rt_fail(c->err, ANEURALNETWORKS_BAD_DATA, "%s %d (%s): %s",
		       c->argument->output ? "output" : "input", c->argument->index,
		       nn_type_name(c->operand.type), reason);
}

static bool is_omitted(const struct argument *a)
{
	return !a->memory && !a->buffer;
}

/* The dimensions of outputs and of omitted inputs may remain unknown. */
static bool may_be_dynamic(const struct argument *a)
{
	return a->output || is_omitted(a);
}

static int check_type(struct checking *c)
{
	const struct argument *a = c->argument;
	struct nn_operand given;
	uint32_t i;
	int result;

	if (!a->type) {
		if (operand_is_dynamic(&c->operand) && !may_be_dynamic(a))
			return refuse(c, "its shape is unknown: set it by a type");
		return ANEURALNETWORKS_NO_ERROR;
	}
	result = operand_from_type(a->type, &given, c->err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	/*
	 * As on Android, the code, scale and zero point of the given type are ignored, and the
	 * code, scale and zero point of the model are used.
	 */
	if (!operand_is_tensor(&c->operand))
		return ANEURALNETWORKS_NO_ERROR;
	if (c->operand.rank && c->operand.rank != given.rank)
		return refuse(c, "the type has another rank than the model's operand");
	for (i = 0; i < c->operand.rank; i++)
		if (c->operand.dims[i] && c->operand.dims[i] != given.dims[i])
			return refuse(c, "the type has another dimension than the model's operand");
	c->operand.rank = given.rank;
	memcpy(c->operand.dims, given.dims, sizeof(c->operand.dims));
	if (operand_is_dynamic(&c->operand) && !may_be_dynamic(a))
		return refuse(c, "the type must have a known shape");
	if (nn_operand_size(&c->operand, &i))
		return ANEURALNETWORKS_NO_ERROR;
	return refuse(c, "its size exceeds 4 GiB");
}

static int check_length(const struct checking *c)
{
	size_t length = c->argument->length;
	uint32_t size = operand_size(&c->operand);

	if (!size || length == size || (c->execution->padded && length > size))
		return ANEURALNETWORKS_NO_ERROR;
	return rt_fail(c->err, ANEURALNETWORKS_BAD_DATA, "%s %d (%s): %zu bytes, needs %u",
		       c->argument->output ? "output" : "input", c->argument->index,
		       nn_type_name(c->operand.type), length, size);
}

/*
 * Checks the range of a memory that an argument specifies, but does not compare the range with the
 * operand's size.
 */
static int check_part(const struct checking *c)
{
	const struct argument *a = c->argument;

	if (a->length > UINT32_MAX)
		return refuse(c, "the length exceeds 4 GiB");
	if (!a->memory)
		return ANEURALNETWORKS_NO_ERROR;
	if (a->memory->domain)
		return memory_check_role(a->memory, c->execution->compilation, a->output,
					 a->index, &c->operand, a->offset, a->length, c->err);
	if (!memory_is_image(a->memory))
		return memory_check_range(a->memory, a->offset, a->length, c->err);
	if (a->offset || a->length)
		return refuse(c,
			      "a part of an image, which is used whole, with offset and length 0");
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Checks that the rows of an image have the size of the tensor; an image is always used as a whole.
 */
static int check_image(const struct checking *c)
{
	const struct argument *a = c->argument;
	uint32_t size = operand_size(&c->operand);

	if (!size || size == a->memory->size)
		return ANEURALNETWORKS_NO_ERROR;
	return rt_fail(c->err, ANEURALNETWORKS_BAD_DATA,
		       "%s %d (%s): the image has %zu bytes, needs %u",
		       a->output ? "output" : "input", a->index, nn_type_name(c->operand.type),
		       a->memory->size, size);
}

static int check_size(const struct checking *c)
{
	const struct argument *a = c->argument;

	if (is_omitted(a) || (a->memory && a->memory->domain))
		return ANEURALNETWORKS_NO_ERROR;
	if (a->memory && memory_is_image(a->memory))
		return check_image(c);
	if (!a->length)
		return refuse(c, "the length must not be 0");
	return check_length(c);
}

static void keep(const struct checking *c, struct request_arg *arg)
{
	const struct argument *a = c->argument;

	arg->omitted = is_omitted(a);
	if (arg->omitted)
		return;
	arg->memory = a->memory;
	arg->pointer = a->buffer;
	arg->offset = a->offset;
	arg->length = a->length;
	/* Memories made from a description, and images, are always used as a whole. */
	if (a->memory && (a->memory->domain || memory_is_image(a->memory)))
		arg->length = a->memory->size;
	/* The runtime passes the length without padding to devices. */
	if (operand_size(&c->operand) && arg->length > operand_size(&c->operand))
		arg->length = operand_size(&c->operand);
	arg->rank = c->operand.rank;
	memcpy(arg->dims, c->operand.dims, sizeof(arg->dims));
}

int execution_set_argument(ANeuralNetworksExecution *execution, const struct argument *argument,
			   struct nn_error *err)
{
	const ANeuralNetworksModel *model = execution->compilation->model;
	uint32_t count = argument->output ? execution->num_outputs : execution->num_inputs;
	struct checking c = { .execution = execution, .argument = argument, .err = err };
	uint32_t index = argument->index;
	int result;

	if (execution->state != EXECUTION_CONFIGURING)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the execution was started");
	if (argument->index < 0 || index >= count)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s %d of %u",
			       argument->output ? "output" : "input", argument->index, count);
	c.operand = argument->output ? *model_output(model, index) : *model_input(model, index);
	result = check_type(&c);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_part(&c);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (argument->output)
		index += execution->num_inputs;
	if (execution->is_set[index])
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "%s %d was set already",
			       argument->output ? "output" : "input", argument->index);
	/*
	 * After the first argument, even a rejected argument, the application cannot enable or
	 * disable padding any more.
	 */
	execution->any_set = true;
	result = check_size(&c);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	execution->is_set[index] = true;
	keep(&c, argument->output ? &execution->outputs[argument->index] :
				    &execution->inputs[argument->index]);
	return ANEURALNETWORKS_NO_ERROR;
}
