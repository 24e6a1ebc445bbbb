/* SPDX-License-Identifier: MIT */
/*
 * Operations whose constants lie in memory that cannot be reached.
 */
#include "runtime/reachable.h"

#include <stdlib.h>

#include "runtime/log.h"

/* What is known of a subgraph: each is looked at once. */
enum reach { UNKNOWN, WITHIN, BEYOND };

struct survey {
	const struct nn_model *model;
	const bool *unreachable;	/* of each pool */
	uint8_t *subgraphs;		/* enum reach of each */
};

static bool subgraph_is_within(const struct survey *survey, size_t index);

static bool operation_is_within(const struct survey *survey, const struct nn_subgraph *subgraph,
				const struct nn_operation *operation)
{
	for (uint32_t i = 0; i < operation->num_inputs; i++) {
		const struct nn_operand *operand = &subgraph->operands[operation->inputs[i]];

		if (operand->lifetime == NN_CONSTANT_REFERENCE &&
		    survey->unreachable[operand->location.pool])
			return false;
		if (operand->lifetime == NN_SUBGRAPH &&
		    !subgraph_is_within(survey, operand->location.offset + 1))
			return false;
	}
	return true;
}

/* The recursion ends: a finished model has no cycles. */
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

int graph_deny_unreachable(const struct graph *graph, const bool *unreachable, bool *supported,
			   struct nn_error *err)
{
	const struct nn_subgraph *main = &graph->model.subgraphs[0];
	struct survey survey = {
		.model = &graph->model,
		.unreachable = unreachable,
		.subgraphs = calloc(graph->model.num_subgraphs, 1),
	};

	if (!survey.subgraphs)
		return rt_out_of_memory(err);
	for (uint32_t i = 0; i < main->num_operations; i++)
		if (!operation_is_within(&survey, main, &main->operations[i]))
			supported[i] = false;
	free(survey.subgraphs);
	return ANEURALNETWORKS_NO_ERROR;
}
