// SPDX-License-Identifier: MIT
/*
 * Buffers of memory domains: whether one can have its roles, and whether what
 * it holds is the input that an execution takes it for.
 */
#include <inttypes.h>
#include <string.h>

#include "kit/buffers.h"

/* What the roles so far leave of the buffer's operand. */
struct merged {
	struct nn_operand operand;
	struct loaded_model *first;	/* keeps the scales of the first role's operand */
};

static enum nn_status merge(struct merged *merged, const struct nn_operand *operand, uint32_t role,
			    struct nn_error *err)
{
	if (!role) {
		merged->operand = *operand;
		return NN_OK;
	}
	if (!nn_operand_same_type(&merged->operand, operand))
		return nn_fail(err, NN_INVALID_ARGUMENT, "role %u is a %s, the first a %s, or the "
			       "scales or zero points differ", role, nn_type_name(operand->type),
			       nn_type_name(merged->operand.type));
	if (!nn_operand_merge_dims(&merged->operand, operand->rank, operand->dims))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "role %u has other dimensions than the roles before", role);
	return NN_OK;
}

static enum nn_status add_role(struct models *models, struct merged *merged,
			       const struct loaded_model *loaded,
			       const struct nnaccel_cmd_role *role, uint32_t index,
			       struct nn_error *err)
{
	const struct nn_subgraph *main = models_signature(models, loaded);
	bool is_output = role->kind == NNACCEL_ROLE_OUTPUT;
	uint32_t count = is_output ? main->num_outputs : main->num_inputs;
	const uint32_t *operands = is_output ? main->outputs : main->inputs;

	if (role->index >= count)
		return nn_fail(err, NN_INVALID_ARGUMENT, "role %u is %s %u of %u", index,
			       is_output ? "output" : "input", role->index, count);
	return merge(merged, &main->operands[operands[role->index]], index, err);
}

static enum nn_status check_capacity(const struct nn_operand *operand, uint64_t capacity,
				     struct nn_error *err)
{
	struct nn_operand known = *operand;
	uint32_t size;

	/* The least that it can be: open dimensions of 1. */
	for (uint32_t i = 0; i < known.rank; i++)
		known.dims[i] = known.dims[i] ? known.dims[i] : 1;
	if (!known.rank) {
		const struct nn_type_info *info = nn_type_info(known.type);

		size = info ? info->element_size : 1;
	} else if (!nn_operand_size(&known, &size)) {
		return nn_fail(err, NN_INVALID_ARGUMENT, "a buffer of more than 4 GiB");
	}
	if (nn_operand_is_specified(operand) ? capacity != size : !size || capacity % size)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%" PRIu64 " bytes for a %s of %s%u",
			       capacity, nn_type_name(operand->type),
			       nn_operand_is_specified(operand) ? "" : "a multiple of ", size);
	return NN_OK;
}

enum nn_status buffer_judge(struct models *models, const struct command *command,
			    struct nn_error *err)
{
	struct merged merged = { .first = NULL };
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < command->head->num_roles && !status; i++) {
		const struct nnaccel_cmd_role *role = &command->roles[i];
		struct loaded_model *loaded = models_get(models, role->model);

		if (!loaded) {
			status = nn_fail(err, NN_GENERAL_FAILURE, "role %u: no such model", i);
			break;
		}
		status = add_role(models, &merged, loaded, role, i, err);
		if (i)
			models_put(models, loaded);
		else
			merged.first = loaded;
	}
	if (!status)
		status = check_capacity(&merged.operand, command->grants[0].length, err);
	if (merged.first)
		models_put(models, merged.first);
	return status;
}

/* Bytes of a shape; with a dimension of 0 there is nothing. */
static uint64_t shape_size(int32_t type, uint32_t rank, const uint32_t *dims)
{
	const struct nn_type_info *info = nn_type_info(type);
	uint64_t size = info ? info->element_size : 0;

	for (uint32_t i = 0; i < rank; i++)
		if (__builtin_mul_overflow(size, dims[i], &size))
			return UINT64_MAX;
	return size;
}

enum nn_status buffer_check_inputs(const struct models *models,
				   const struct loaded_model *loaded,
				   const struct command *command, struct nn_error *err)
{
	const struct nn_subgraph *main = models_signature(models, loaded);

	for (uint32_t i = 0; i < command->head->num_inputs && i < main->num_inputs; i++) {
		const struct nn_operand *operand = &main->operands[main->inputs[i]];
		const struct nnaccel_arg *arg = &command->inputs[i];
		uint64_t size;

		if (!(arg->flags & NNACCEL_ARG_BUFFER))
			continue;
		size = arg->rank ? shape_size(operand->type, arg->rank, arg->dims) :
				   shape_size(operand->type, operand->rank, operand->dims);
		if (size != arg->length)
			return nn_fail(err, NN_INVALID_ARGUMENT, "input %u of %" PRIu64
				       " bytes is a buffer that holds %" PRIu64, i, size,
				       (uint64_t)arg->length);
	}
	return NN_OK;
}

void buffer_sizes(const struct models *models, const struct loaded_model *loaded,
		  const struct nn_execution *execution, uint64_t *sizes)
{
	const struct nn_subgraph *main = models_signature(models, loaded);

	for (uint32_t i = 0; i < execution->num_outputs; i++) {
		const struct nn_output_shape *shape = &execution->shapes[i];

		sizes[i] = shape_size(main->operands[main->outputs[i]].type, shape->rank,
				      shape->dims);
	}
}
