/* SPDX-License-Identifier: MIT */
/*
 * The model builder: each call that adds an operand, a value or an operation checks its arguments.
 */
#include "base/round.h"
#include "runtime/model.h"

#include <stdlib.h>
#include <string.h>

#include "ops/op.h"
#include "runtime/extension.h"
#include "runtime/finish.h"
#include "runtime/hardware_memory.h"
#include "runtime/log.h"
#include "runtime/operand.h"

#define MAX_COPIED ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES

/* The highest operation code of the NNAPI. */
#define LAST_OPERATION ANEURALNETWORKS_REVERSE

int model_check_finished(const ANeuralNetworksModel *model, struct nn_error *err)
{
	if (model->invalid)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the model is invalid");
	if (!model->finished)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the model is not finished");
	return ANEURALNETWORKS_NO_ERROR;
}

static int check_mutable(const ANeuralNetworksModel *model, struct nn_error *err)
{
	if (model->invalid)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the model is invalid");
	if (model->finished)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the model is finished");
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Makes room in an array for one more element. An array's capacity is not stored: the array grows
 * whenever the array's number of elements reaches a power of two.
 */
static bool grow(void *array, size_t count, size_t size)
{
	void *old, *new;

	if (count & (count - 1))
		return true;
	memcpy(&old, array, sizeof(old));
	new = reallocarray(old, count ? 2 * count : 1, size);
	if (!new)
		return false;
	memcpy(array, &new, sizeof(new));
	return true;
}

int ANeuralNetworksModel_create(ANeuralNetworksModel **model)
{
	RT_NOT_NULL(model);
	*model = calloc(1, sizeof(**model));
	if (!*model)
		return rt_refuse(ANEURALNETWORKS_OUT_OF_MEMORY, "out of memory");
	(*model)->references = 1;
	return ANEURALNETWORKS_NO_ERROR;
}

const ANeuralNetworksModel *model_get(const ANeuralNetworksModel *model)
{
	atomic_fetch_add(&((ANeuralNetworksModel *)model)->references, 1);
	return model;
}

void ANeuralNetworksModel_free(ANeuralNetworksModel *model)
{
	uint32_t i;

	if (!model || atomic_fetch_sub(&model->references, 1) > 1)
		return;
	for (i = 0; i < model->num_children; i++)
		model_put(model->children[i]);
	ANeuralNetworksMemory_free(model->large_memory);
	arena_free(&model->arena);
	free(model->operands);
	free(model->large_values);
	free(model->operations);
	free(model->values);
	free(model->memories);
	free(model->children);
	free(model->child_graphs);
	free(model);
}

void model_put(const ANeuralNetworksModel *model)
{
	ANeuralNetworksModel_free((ANeuralNetworksModel *)model);
}

static int add_operand(ANeuralNetworksModel *model, const ANeuralNetworksOperandType *type,
		       struct nn_error *err)
{
	uint32_t count = model->num_operands;
	struct nn_operand operand;
	int result;

	result = operand_from_type(type, &operand, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (!grow(&model->operands, count, sizeof(model->operands[0])) ||
	    !grow(&model->large_values, count, sizeof(model->large_values[0])))
		return rt_out_of_memory(err);
	model->operands[count] = operand;
	model->large_values[count] = NULL;
	model->num_operands++;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model,
				    const ANeuralNetworksOperandType *type)
{
	struct nn_error err = { "" };
	struct nn_error reason = { "" };
	int result;

	RT_NOT_NULL(model, type);
	result = check_mutable(model, &err);
	if (result == ANEURALNETWORKS_NO_ERROR) {
		result = add_operand(model, type, &reason);
		if (result != ANEURALNETWORKS_NO_ERROR)
			rt_fail(&err, result, "operand %u: %s", model->num_operands,
				reason.message);
	}
	return rt_end(result, &err);
}

/*
 * Finds an operand. Rejects negative indices, which are possible because the NDK's type of indices
 * is signed.
 */
static int find_operand(ANeuralNetworksModel *model, int32_t index, struct nn_operand **operand,
			struct nn_error *err)
{
	int result = check_mutable(model, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (index < 0 || (uint32_t)index >= model->num_operands)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "operand %d must be below %u", index,
			       model->num_operands);
	*operand = &model->operands[index];
	return ANEURALNETWORKS_NO_ERROR;
}

/* Checks the length of a constant; OEM scalars may have any length. */
static int check_length(const struct nn_operand *operand, int32_t index, size_t length,
			struct nn_error *err)
{
	const char *name = nn_type_name(operand->type);
	uint32_t size = operand_size(operand);

	if (length > UINT32_MAX)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "operand %d (%s): %zu bytes", index,
			       name, length);
	if (operand->type == NN_OEM_SCALAR)
		return ANEURALNETWORKS_NO_ERROR;
	if (operand->type == NN_SUBGRAPH_TYPE)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d (%s): its value is a model, not bytes", index, name);
	if (operand_is_dynamic(operand))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d (%s): a constant's dimensions must be known", index,
			       name);
	if (length != size)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d (%s): the value has %zu bytes, needs %u", index, name,
			       length, size);
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Removes an operand's current value, if the operand has a value, and sets the operand's lifetime.
 */
static void set_source(ANeuralNetworksModel *model, struct nn_operand *operand,
		       enum nn_lifetime lifetime, size_t offset, size_t length)
{
	model->large_values[operand - model->operands] = NULL;
	operand->lifetime = lifetime;
	operand->location = (struct nn_location){ .offset = offset, .length = length };
}

static int copy_value(ANeuralNetworksModel *model, struct nn_operand *operand, const void *buffer,
		      size_t length, struct nn_error *err)
{
	size_t align = length >= 4 ? 4 : length >= 2 ? 2 : 1;
	size_t offset = round_up(model->values_size, align);
	/* An OEM scalar may have 0 bytes, and realloc() to 0 bytes would free the block. */
	uint8_t *values = realloc(model->values, offset + length + 1);

	if (!values)
		return rt_out_of_memory(err);
	model->values = values;
	memset(values + model->values_size, 0, offset - model->values_size);
	memcpy(values + offset, buffer, length);
	model->values_size = offset + length;
	set_source(model, operand, NN_CONSTANT_COPY, offset, length);
	return ANEURALNETWORKS_NO_ERROR;
}

static int set_value(ANeuralNetworksModel *model, int32_t index, const void *buffer,
		     size_t length, struct nn_error *err)
{
	struct nn_operand *operand;
	int result = find_operand(model, index, &operand, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (!buffer) {
		set_source(model, operand, NN_NO_VALUE, 0, 0);
		return ANEURALNETWORKS_NO_ERROR;
	}
	result = check_length(operand, index, length, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (length <= MAX_COPIED)
		return copy_value(model, operand, buffer, length, err);
	set_source(model, operand, NN_CONSTANT_REFERENCE, 0, length);
	model->large_values[index] = buffer;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index,
					 const void *buffer, size_t length)
{
	RT_NOT_NULL(model);
	if (!buffer && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
				 "operand %d: NULL and a length of %zu", index, length);
	return RT_CALL(set_value(model, index, buffer, length, &err));
}

/* Returns the index of a memory's pool, and adds the pool if it is new. */
static int find_pool(ANeuralNetworksModel *model, const ANeuralNetworksMemory *memory,
		     uint32_t *pool, struct nn_error *err)
{
	for (*pool = 0; *pool < model->num_memories; ++*pool)
		if (model->memories[*pool] == memory)
			return ANEURALNETWORKS_NO_ERROR;
	if (!grow(&model->memories, model->num_memories, sizeof(model->memories[0])))
		return rt_out_of_memory(err);
	model->memories[model->num_memories++] = (ANeuralNetworksMemory *)memory;
	return ANEURALNETWORKS_NO_ERROR;
}

static int set_value_from_memory(ANeuralNetworksModel *model, int32_t index,
				 const ANeuralNetworksMemory *memory, size_t offset,
				 size_t length, struct nn_error *err)
{
	struct nn_operand *operand;
	uint32_t pool;
	int result = find_operand(model, index, &operand, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_length(operand, index, length, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (memory->domain)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d: memory of a description cannot be a constant",
			       index);
	if (memory_is_image(memory))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d: an image cannot be a constant", index);
	result = memory_check_range(memory, offset, length, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = find_pool(model, memory, &pool, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	set_source(model, operand, NN_CONSTANT_REFERENCE, offset, length);
	operand->location.pool = pool;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
						   const ANeuralNetworksMemory *memory,
						   size_t offset, size_t length)
{
	RT_NOT_NULL(model, memory);
	return RT_CALL(set_value_from_memory(model, index, memory, offset, length, &err));
}

static int set_value_from_model(ANeuralNetworksModel *model, int32_t index,
				const ANeuralNetworksModel *value, struct nn_error *err)
{
	uint32_t count = model->num_children;
	struct nn_operand *operand;
	int result;

	result = check_mutable(model, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = model_check_finished(value, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = find_operand(model, index, &operand, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (!grow(&model->children, count, sizeof(model->children[0])) ||
	    !grow(&model->child_graphs, count, sizeof(model->child_graphs[0])))
		return rt_out_of_memory(err);
	model->children[count] = model_get(value);
	model->child_graphs[count] = model_main(value);
	model->num_children++;
	set_source(model, operand, NN_SUBGRAPH, count, 0);
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model, int32_t index,
						  const ANeuralNetworksModel *value)
{
	RT_NOT_NULL(model, value);
	return RT_CALL(set_value_from_model(model, index, value, &err));
}

static int check_channels(const struct nn_operand *operand, int32_t index,
			  const ANeuralNetworksSymmPerChannelQuantParams *params,
			  struct nn_error *err)
{
	uint32_t i;

	if (operand->type != NN_TENSOR_QUANT8_SYMM_PER_CHANNEL)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d (%s): the type has no scales of channels", index,
			       nn_type_name(operand->type));
	if (params->channelDim >= operand->rank)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d: channel dimension %u must be below rank %u", index,
			       params->channelDim, operand->rank);
	if (!params->scales || !params->scaleCount ||
	    params->scaleCount != operand->dims[params->channelDim])
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d: %u scales (%s) for dimension %u of size %u", index,
			       params->scaleCount, params->scales ? "given" : "NULL",
			       params->channelDim, operand->dims[params->channelDim]);
	for (i = 0; i < params->scaleCount; i++)
		if (!(params->scales[i] > 0))
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "operand %d: scale %u is %g, not above 0", index, i,
				       (double)params->scales[i]);
	return ANEURALNETWORKS_NO_ERROR;
}

static int set_channels(ANeuralNetworksModel *model, int32_t index,
			const ANeuralNetworksSymmPerChannelQuantParams *params,
			struct nn_error *err)
{
	struct nn_operand *operand;
	const float *scales;
	int result = find_operand(model, index, &operand, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_channels(operand, index, params, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	scales = arena_copy(&model->arena, params->scales, params->scaleCount, sizeof(float));
	if (!scales)
		return rt_out_of_memory(err);
	operand->extra = (struct nn_extra){ .kind = NN_EXTRA_CHANNEL_QUANT,
					    .channel_dim = params->channelDim,
					    .count = params->scaleCount, .scales = scales };
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
	ANeuralNetworksModel *model, int32_t index,
	const ANeuralNetworksSymmPerChannelQuantParams *channelQuant)
{
	RT_NOT_NULL(model, channelQuant);
	return RT_CALL(set_channels(model, index, channelQuant, &err));
}

static int check_indices(const ANeuralNetworksModel *model, const char *what, uint32_t count,
			 const uint32_t *list, struct nn_error *err)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (list[i] >= model->num_operands)
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "%s %u is operand %u, must be below %u", what, i, list[i],
				       model->num_operands);
	return ANEURALNETWORKS_NO_ERROR;
}

/* Checks the signature of an operation that the NNAPI or this library's own extension defines. */
static int check_signature(const ANeuralNetworksModel *model,
			   const struct nn_operation *operation, struct nn_error *err)
{
	const struct nn_scope scope = {
		.operands = model->operands,
		.num_operands = model->num_operands,
		.subgraphs = model->child_graphs,
		.num_subgraphs = model->num_children,
	};

	if (operation->type == NN_OP_OEM) {
		nna_log(NNA_LOG_WARN, "OEM_OPERATION is deprecated: use an extension");
		return ANEURALNETWORKS_NO_ERROR;
	}
	if (nn_is_own(operation->type))
		return rt_fail_status(err, nn_op_check(&scope, operation, err));
	if (operand_is_extension(operation->type))
		return extension_check_operation(operation->type, err);
	if (operation->type > LAST_OPERATION)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "operation %d does not exist",
			       operation->type);
	return rt_fail_status(err, nn_op_check(&scope, operation, err));
}

static int add_operation(ANeuralNetworksModel *model, struct nn_operation operation,
			 struct nn_error *err)
{
	uint32_t i;
	int result;

	result = check_indices(model, "input", operation.num_inputs, operation.inputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_indices(model, "output", operation.num_outputs,
				       operation.outputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_signature(model, &operation, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;

	operation.inputs = arena_copy(&model->arena, operation.inputs, operation.num_inputs,
				      sizeof(uint32_t));
	operation.outputs = arena_copy(&model->arena, operation.outputs, operation.num_outputs,
				       sizeof(uint32_t));
	if (!operation.inputs || !operation.outputs ||
	    !grow(&model->operations, model->num_operations, sizeof(model->operations[0])))
		return rt_out_of_memory(err);
	model->operations[model->num_operations++] = operation;
	for (i = 0; i < operation.num_inputs; i++)
		model->operands[operation.inputs[i]].consumers++;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model,
				      ANeuralNetworksOperationType type, uint32_t inputCount,
				      const uint32_t *inputs, uint32_t outputCount,
				      const uint32_t *outputs)
{
	const struct nn_operation operation = { type, inputCount, outputCount, inputs, outputs };
	struct nn_error err = { "" };
	struct nn_error reason = { "" };
	int result;

	RT_NOT_NULL(model, inputs, outputs);
	result = check_mutable(model, &err);
	if (result == ANEURALNETWORKS_NO_ERROR) {
		result = add_operation(model, operation, &reason);
		if (result != ANEURALNETWORKS_NO_ERROR)
			rt_fail(&err, result, "operation %u: %s", model->num_operations,
				reason.message);
	}
	return rt_end(result, &err);
}

/*
 * Marks the operands in `list`, which must be temporaries, as inputs or outputs of the model. If an
 * operand is not a temporary, identify() fails, but the operands before that operand stay marked.
 */
static int identify(ANeuralNetworksModel *model, const char *what, enum nn_lifetime lifetime,
		    uint32_t count, const uint32_t *list, struct nn_error *err)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct nn_operand *operand = &model->operands[list[i]];

		if (operand->lifetime != NN_TEMPORARY)
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "%s %u is operand %u, which is a constant, omitted, or an "
				       "input or output already", what, i, list[i]);
		operand->lifetime = lifetime;
	}
	return ANEURALNETWORKS_NO_ERROR;
}

static int identify_both(ANeuralNetworksModel *model, uint32_t num_inputs, const uint32_t *inputs,
			 uint32_t num_outputs, const uint32_t *outputs, struct nn_error *err)
{
	int result = check_mutable(model, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_indices(model, "input", num_inputs, inputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_indices(model, "output", num_outputs, outputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = identify(model, "input", NN_SUBGRAPH_INPUT, num_inputs, inputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = identify(model, "output", NN_SUBGRAPH_OUTPUT, num_outputs, outputs, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	model->inputs = arena_copy(&model->arena, inputs, num_inputs, sizeof(uint32_t));
	model->outputs = arena_copy(&model->arena, outputs, num_outputs, sizeof(uint32_t));
	if (!model->inputs || !model->outputs)
		return rt_out_of_memory(err);
	model->num_inputs = num_inputs;
	model->num_outputs = num_outputs;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model,
						  uint32_t inputCount, const uint32_t *inputs,
						  uint32_t outputCount, const uint32_t *outputs)
{
	RT_NOT_NULL(model, inputs, outputs);
	return RT_CALL(identify_both(model, inputCount, inputs, outputCount, outputs, &err));
}

int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model,
							  bool allow)
{
	int result;

	RT_NOT_NULL(model);
	result = RT_CALL(check_mutable(model, &err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		model->relaxed = allow;
	return result;
}

int ANeuralNetworksModel_finish(ANeuralNetworksModel *model)
{
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(model);
	result = check_mutable(model, &err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return rt_end(result, &err);
	result = model_build_graph(model, &err);
	model->finished = result == ANEURALNETWORKS_NO_ERROR;
	model->invalid = !model->finished;
	return rt_end(result, &err);
}
