/* SPDX-License-Identifier: MIT */
/*
 * Puts the random graph into models with shapes that are known only at run time, and into both
 * branches of an IF.
 */
#ifndef NN_TESTS_PLAN_DIFF_WRAP_H
#define NN_TESTS_PLAN_DIFF_WRAP_H

#include "plan/plan.h"
#include "vectors/graph.h"

#define WRAP_OPERANDS (MAX_OUTPUTS + 4)

struct wrapped {
	struct nn_model model;
	struct nn_subgraph subgraphs[3];
	/* Copies of the graph's operands, but with unknown dimensions. */
	struct nn_operand operands[MAX_OPERANDS];
	struct nn_operand main[WRAP_OPERANDS];
	struct nn_operation operation;
	uint32_t inputs[4];
	uint32_t outputs[MAX_OUTPUTS];
	uint32_t num_inputs;
};

/*
 * Makes a model of the graph in which all dimensions are unknown, except the dimensions of
 * constants.
 */
void wrap_unknown(struct wrapped *w);

/*
 * Makes a model with an IF, both of whose branches are the graph, with unknown or known dimensions.
 */
void wrap_branches(struct wrapped *w, bool unknown);

/* Fills in the inputs of an execution; in a model with an IF, `condition` selects the branch. */
void wrapped_inputs(const struct wrapped *w, void *input, bool condition, struct nn_arg *args);

#endif /* NN_TESTS_PLAN_DIFF_WRAP_H */
