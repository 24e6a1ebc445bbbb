/* SPDX-License-Identifier: MIT */
/*
 * Checks the signatures of IF and WHILE. Plans, not kernels, execute IF and WHILE, so control.c has
 * no shape rules or kernels.
 */
#include "ops/check.h"

/*
 * Returns the reason why a value of operand a cannot be passed to operand b, or NULL if the value
 * can be passed.
 */
static const char *difference(const struct nn_operand *a, const struct nn_operand *b)
{
	if (a->type != b->type)
		return "types";
	if (!nn_check_shapes_agree(a, b))
		return "dimensions";
	if (a->scale != b->scale || a->zero_point != b->zero_point)
		return "scales or zero points";
	return nn_operand_same_type(a, b) ? NULL : "extra parameters";
}

static const struct nn_operand *subgraph_in(const struct nn_subgraph *s, uint32_t index)
{
	return &s->operands[s->inputs[index]];
}

static const struct nn_operand *subgraph_out(const struct nn_subgraph *s, uint32_t index)
{
	return &s->operands[s->outputs[index]];
}

/* Finds the subgraph that an input refers to. Sets *s to NULL if the subgraph is not known yet. */
static enum nn_status find_subgraph(const struct nn_check *c, uint32_t input,
				    const struct nn_subgraph **s)
{
	const struct nn_operand *o = nn_check_in(c, input);

	*s = NULL;
	if (o->type != NN_SUBGRAPH_TYPE || o->lifetime != NN_SUBGRAPH)
		return nn_check_fail_input(c, input, "must refer to a subgraph");
	if (!c->scope->subgraphs)
		return NN_OK;
	if (o->location.offset >= c->scope->num_subgraphs)
		return nn_check_fail_input(c, input, "refers to a subgraph that does not exist");
	*s = c->scope->subgraphs[o->location.offset];
	return NN_OK;
}

/*
 * Compares the operation's inputs from `first` on with the inputs of `s`, the subgraph to which
 * input `input` refers.
 */
static enum nn_status check_inputs(const struct nn_check *c, uint32_t input,
				   const struct nn_subgraph *s, uint32_t first)
{
	uint32_t count = c->operation->num_inputs - first;

	if (s->num_inputs != count)
		return nn_check_fail_input(c, input, "its subgraph has %u inputs, must have %u",
					   s->num_inputs, count);
	for (uint32_t i = 0; i < count; i++) {
		const char *what = difference(nn_check_in(c, first + i), subgraph_in(s, i));

		if (what)
			return nn_check_fail_input(c, first + i,
						   "differs from input %u of the subgraph of "
						   "input %u: %s", i, input, what);
	}
	return NN_OK;
}

static enum nn_status check_outputs(const struct nn_check *c, uint32_t input,
				    const struct nn_subgraph *s)
{
	for (uint32_t i = 0; i < c->operation->num_outputs; i++) {
		const char *what = difference(nn_check_out(c, i), subgraph_out(s, i));

		if (what)
			return nn_check_fail_output(c, i,
						    "differs from output %u of the subgraph of "
						    "input %u: %s", i, input, what);
	}
	return NN_OK;
}

static bool is_condition(const struct nn_operand *o)
{
	return o->type == NN_TENSOR_BOOL8 && o->rank == 1 && o->dims[0] == 1;
}

/* ---- IF: condition, two subgraphs, their inputs ---- */

static enum nn_status check_branch(const struct nn_check *c, uint32_t input)
{
	const struct nn_subgraph *s;
	enum nn_status status = find_subgraph(c, input, &s);

	if (status || !s)
		return status;
	if (s->num_outputs != c->operation->num_outputs)
		return nn_check_fail_input(c, input, "its subgraph has %u outputs, must have %u",
					   s->num_outputs, c->operation->num_outputs);
	status = check_inputs(c, input, s, 3);
	return status ? status : check_outputs(c, input, s);
}

static enum nn_status check_if(const struct nn_check *c)
{
	enum nn_status status = nn_check_counts(c, 3, UINT32_MAX, 1, UINT32_MAX);

	if (status)
		return status;
	if (!is_condition(nn_check_in(c, 0)))
		return nn_check_fail_input(c, 0, "must be a TENSOR_BOOL8 of one element");
	status = check_branch(c, 1);
	return status ? status : check_branch(c, 2);
}

/* ---- WHILE: two subgraphs, then their inputs: output state, state, constants ---- */

static enum nn_status check_condition(const struct nn_check *c)
{
	const struct nn_subgraph *s;
	enum nn_status status = find_subgraph(c, 0, &s);

	if (status || !s)
		return status;
	if (s->num_outputs != 1 || !is_condition(subgraph_out(s, 0)))
		return nn_check_fail_input(c, 0, "the output of its subgraph must be "
					   "a TENSOR_BOOL8 of one element");
	return check_inputs(c, 0, s, 2);
}

static enum nn_status check_body(const struct nn_check *c)
{
	const struct nn_subgraph *s;
	enum nn_status status = find_subgraph(c, 1, &s);

	if (status || !s)
		return status;
	if (s->num_outputs < c->operation->num_outputs || s->num_outputs > s->num_inputs)
		return nn_check_fail_input(c, 1, "its subgraph has %u outputs, must have %u to %u",
					   s->num_outputs, c->operation->num_outputs,
					   s->num_inputs);
	for (uint32_t i = 0; i < s->num_outputs; i++) {
		const char *what = difference(subgraph_out(s, i), subgraph_in(s, i));

		if (what)
			return nn_check_fail_input(c, 1,
						   "output %u of its subgraph differs from "
						   "its input: %s", i, what);
	}
	status = check_inputs(c, 1, s, 2);
	return status ? status : check_outputs(c, 1, s);
}

static enum nn_status check_while(const struct nn_check *c)
{
	enum nn_status status = nn_check_counts(c, 3, UINT32_MAX, 1, UINT32_MAX);

	if (!status)
		status = check_condition(c);
	return status ? status : check_body(c);
}

NN_OPERATION(IF,
	.check = check_if);

NN_OPERATION(WHILE,
	.check = check_while);
