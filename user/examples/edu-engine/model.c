// SPDX-License-Identifier: MIT
/*
 * Models of the edu extension: each operation computes one of the model's outputs from one of the
 * model's inputs.
 */
#include <stdlib.h>
#include <string.h>

#include "edu.h"
#include "model.h"

/*
 * Returns the code that an operation has in its extension; 0 if the operation belongs to no
 * extension.
 */
static uint16_t own_code(const struct nn_model *model, int32_t type)
{
	for (uint32_t i = 0; i < model->num_extensions; i++)
		if (!strcmp(model->extensions[i].name, EDU_NAME) &&
		    model->extensions[i].prefix == (uint32_t)type >> 16)
			return (uint16_t)type;
	return 0;
}

/*
 * Returns the position of an operand in a list, or the list's length if the operand is not in the
 * list.
 */
static uint32_t find(const uint32_t *list, uint32_t count, uint32_t operand)
{
	uint32_t i = 0;

	while (i < count && list[i] != operand)
		i++;
	return i;
}

static bool make_step(const struct nn_model *model, const struct nn_operation *operation,
		      struct edu_step *step)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	uint16_t code = own_code(model, operation->type);
	const struct nn_operand *in, *out;

	if ((code != EDU_FACTORIAL && code != EDU_COPY) || operation->num_inputs != 1 ||
	    operation->num_outputs != 1)
		return false;
	in = &main->operands[operation->inputs[0]];
	out = &main->operands[operation->outputs[0]];
	*step = (struct edu_step){
		.operation = code,
		.input = find(main->inputs, main->num_inputs, operation->inputs[0]),
		.output = find(main->outputs, main->num_outputs, operation->outputs[0]),
		.operand = *in,
	};
	return in->type == (code == EDU_COPY ? NN_TENSOR_QUANT8_ASYMM : NN_TENSOR_INT32) &&
	       nn_operand_same_type(in, out) && step->input < main->num_inputs &&
	       step->output < main->num_outputs &&
	       nn_operand_merge_dims(&step->operand, out->rank, out->dims);
}

void edu_model_supported(const struct nn_model *model, bool *supported)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	struct edu_step step;

	for (uint32_t i = 0; i < main->num_operations; i++)
		supported[i] = make_step(model, &main->operations[i], &step);
}

enum nn_status edu_model_make(const struct nn_model *from, struct edu_model **model,
			      struct nn_error *err)
{
	const struct nn_subgraph *main = &from->subgraphs[0];
	struct edu_model *m;

	m = calloc(1, sizeof(*m) + main->num_operations * sizeof(m->steps[0]));
	if (!m)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	m->num_inputs = main->num_inputs;
	m->num_outputs = main->num_outputs;
	m->num_steps = main->num_operations;
	for (uint32_t i = 0; i < m->num_steps; i++) {
		if (make_step(from, &main->operations[i], &m->steps[i]))
			continue;
		free(m);
		return nn_fail(err, NN_INVALID_ARGUMENT, "operation %u (code %d) is not in "
			       EDU_NAME, i, main->operations[i].type);
	}
	*model = m;
	return NN_OK;
}
