/* SPDX-License-Identifier: MIT */
/* Reports operations as not supported if their constants are in unreadable memory. */
#include "model/reach.h"

#include <stdlib.h>

/* WITHIN: the subgraph uses only readable constants. UNKNOWN: the subgraph was not examined yet. */
enum reach { UNKNOWN, WITHIN, BEYOND };

struct survey {
	const struct nn_model *model;
	bool (*reaches)(const void *data, const struct nn_location *at);
	const void *data;
	uint8_t *subgraphs;		/* the enum reach of each subgraph, indexed by subgraph */
};

static bool subgraph_is_within(const struct survey *survey, size_t index);

static bool operation_is_within(const struct survey *survey, const struct nn_subgraph *subgraph,
				const struct nn_operation *operation)
{
	for (uint32_t i = 0; i < operation->num_inputs; i++) {
		const struct nn_operand *operand = &subgraph->operands[operation->inputs[i]];

		if (operand->lifetime == NN_CONSTANT_REFERENCE &&
		    !survey->reaches(survey->data, &operand->location))
			return false;
		if (operand->lifetime == NN_SUBGRAPH &&
		    !subgraph_is_within(survey, operand->location.offset + 1))
			return false;
	}
	return true;
}

/*
 * The recursion over subgraphs ends, because nn_model_check() rejects cycles and limits the depth.
 */
static bool subgraph_is_within(const struct survey *survey, size_t index)
{
	const struct nn_subgraph *subgraph = &survey->model->subgraphs[index];
	bool within = true;

	if (survey->subgraphs[index] != UNKNOWN)
		return survey->subgraphs[index] == WITHIN;
	for (uint32_t i = 0; within && i < subgraph->num_operations; i++)
		within = operation_is_within(survey, subgraph, &subgraph->operations[i]);
	survey->subgraphs[index] = within ? WITHIN : BEYOND;
	return within;
}

enum nn_status nn_deny_unreachable(const struct nn_model *model,
				   bool (*reaches)(const void *data, const struct nn_location *at),
				   const void *data, bool *supported, struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	struct survey survey = { model, reaches, data, calloc(model->num_subgraphs, 1) };

	if (!survey.subgraphs)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < main->num_operations; i++)
		if (!operation_is_within(&survey, main, &main->operations[i]))
			supported[i] = false;
	free(survey.subgraphs);
	return NN_OK;
}
