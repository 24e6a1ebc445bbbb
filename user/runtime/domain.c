/* SPDX-License-Identifier: MIT */
/*
 * Allocates a device's own memory for a memory description. If the CPU computes instead of the
 * device, ordinary memory replaces the device's own memory.
 */
#include "runtime/domain.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/log.h"
#include "runtime/operand.h"

/* ---- allocation ---- */

/* The steps that read or write the operands to which a memory description's roles refer. */
struct users {
	/* device of the step that was added last; NULL if no step was added */
	const ANeuralNetworksDevice *device;
	bool several;				/* true: the steps run on more than one device */
	uint32_t count;
	struct prepared_role *roles;
};

static int add_user(struct users *users, const struct step *step, const struct memory_role *role,
		    bool output, uint32_t index, struct nn_error *err)
{
	struct prepared_role *roles = reallocarray(users->roles, (size_t)users->count + 1,
						   sizeof(roles[0]));

	if (!roles)
		return rt_out_of_memory(err);
	users->several |= users->device && users->device != step->device;
	users->device = step->device;
	users->roles = roles;
	users->roles[users->count++] = (struct prepared_role){ step->prepared, index, output,
							       role->frequency };
	return ANEURALNETWORKS_NO_ERROR;
}

static int add_list(struct users *users, const struct step *step, const struct memory_role *role,
		    bool output, const uint32_t *operands, uint32_t count, uint32_t operand,
		    struct nn_error *err)
{
	int result = ANEURALNETWORKS_NO_ERROR;
	uint32_t i;

	for (i = 0; i < count && result == ANEURALNETWORKS_NO_ERROR; i++)
		if (operands[i] == operand)
			result = add_user(users, step, role, output, i, err);
	return result;
}

/* Adds all steps that read or write a role's operand to `users`. */
static int add_steps(struct users *users, const struct memory_role *role, struct nn_error *err)
{
	const struct nn_subgraph *main = model_main(role->compilation->model);
	const struct partition *p = &role->compilation->partition;
	uint32_t operand = role->output ? main->outputs[role->index] : main->inputs[role->index];
	int result = ANEURALNETWORKS_NO_ERROR;
	uint32_t i;

	for (i = 0; i < p->num_steps && result == ANEURALNETWORKS_NO_ERROR; i++) {
		const struct step *step = &p->steps[i];
		const struct nn_subgraph *of_step = &step->graph.model.subgraphs[0];

		result = add_list(users, step, role, false, step->inputs, of_step->num_inputs,
				  operand, err);
		if (result == ANEURALNETWORKS_NO_ERROR)
			result = add_list(users, step, role, true, step->outputs,
					  of_step->num_outputs, operand, err);
	}
	return result;
}

int domain_allocate(const ANeuralNetworksMemoryDesc *desc, struct memory_domain *domain,
		    struct nn_error *err)
{
	int result = ANEURALNETWORKS_NO_ERROR;
	struct users users = { .device = NULL };
	uint32_t i;

	for (i = 0; i < desc->num_roles && result == ANEURALNETWORKS_NO_ERROR; i++)
		result = add_steps(&users, &desc->roles[i], err);
	if (result == ANEURALNETWORKS_NO_ERROR && (users.several || !users.device))
		result = rt_fail(err, ANEURALNETWORKS_OP_FAILED,
				 "the description's roles must have one device, have %s",
				 users.several ? "more than one" : "no");
	if (result == ANEURALNETWORKS_NO_ERROR && users.device->ops->allocate)
		result = users.device->ops->allocate(users.device, users.roles, users.count,
						     domain, err);
	free(users.roles);
	return result;
}

/* ---- the CPU in a device's place ---- */

struct bounce {
	uint32_t count;
	struct request_arg args[];	/* request's original arguments: inputs, then outputs */
};

static struct request_arg *request_arg(struct request *request, uint32_t i)
{
	return i < request->num_inputs ? &request->inputs[i] :
					 &request->outputs[i - request->num_inputs];
}

static int bounce_arg(struct request_arg *arg, bool output, struct nn_error *err)
{
	const struct memory_domain *domain = arg->memory->domain;
	struct nn_operand operand = domain->operand;
	void *pointer;
	uint32_t size;

	if (!output)
		memory_get_contents(arg->memory, &operand);
	else if (!nn_operand_merge_dims(&operand, arg->rank, arg->dims))
		return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
			       "the output's memory was made for another shape");
	size = operand_size(&operand);
	if (!size)
		return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
			       "the CPU cannot write memory of a device whose shape is open");
	pointer = calloc(1, size);
	if (!pointer)
		return rt_out_of_memory(err);
	arg->memory = NULL;
	arg->pointer = pointer;
	arg->offset = 0;
	arg->length = size;
	return output ? ANEURALNETWORKS_NO_ERROR :
			rt_fail_status(err, nna_buffer_read(domain->buffer, pointer, size, err));
}

int domain_bounce(struct request *request, struct bounce **saved, struct nn_error *err)
{
	uint32_t count = request->num_inputs + request->num_outputs, i;
	struct bounce *bounce = calloc(1, sizeof(*bounce) + count * sizeof(bounce->args[0]));
	int result = ANEURALNETWORKS_NO_ERROR;

	*saved = bounce;
	if (!bounce)
		return rt_out_of_memory(err);
	for (i = 0; i < count; i++)
		bounce->args[i] = *request_arg(request, i);
	bounce->count = count;
	for (i = 0; i < count && result == ANEURALNETWORKS_NO_ERROR; i++) {
		struct request_arg *arg = request_arg(request, i);

		if (memory_is_on_device(arg->memory))
			result = bounce_arg(arg, i >= request->num_inputs, err);
	}
	return result;
}

static int write_back(const struct request_arg *arg, const struct nn_output_shape *shape,
		      const struct request_arg *saved, struct nn_error *err)
{
	struct nn_operand operand = saved->memory->domain->operand;

	operand.rank = shape->rank;
	memcpy(operand.dims, shape->dims, sizeof(operand.dims));
	return rt_fail_status(err, nna_buffer_write(saved->memory->domain->buffer, arg->pointer,
						    operand_size(&operand), shape->rank,
						    shape->dims, err));
}

int domain_unbounce(struct request *request, struct bounce *saved, bool success,
		    struct nn_error *err)
{
	int result = ANEURALNETWORKS_NO_ERROR;
	uint32_t i;

	for (i = 0; saved && i < saved->count; i++) {
		struct request_arg *arg = request_arg(request, i);

		if (memory_is_on_device(saved->args[i].memory) && !arg->memory) {
			if (success && i >= request->num_inputs &&
			    result == ANEURALNETWORKS_NO_ERROR)
				result = write_back(arg, &request->shapes[i - request->num_inputs],
						    &saved->args[i], err);
			free(arg->pointer);
		}
		*arg = saved->args[i];
	}
	free(saved);
	return result;
}
