/* SPDX-License-Identifier: MIT */
#include "ops/traits.h"
#include "ops/window.h"

bool nn_op_varies(const struct nn_op *op)
{
	return op->every_time || nn_traits(op->code)->is_random;
}

/*
 * Returns the position of an input, counted from the first input. A `place` of -1 stands for the
 * last input, -2 for the input before the last, and so on.
 */
static uint32_t input_at(int8_t place, uint32_t num_inputs)
{
	return place < 0 ? num_inputs - (uint32_t)-place : (uint32_t)place;
}

uint32_t nn_run_activation(const struct nn_run *r)
{
	const struct nn_traits *traits = nn_traits(r->op->code);

	return traits->window.tensors ? nn_window_run_args(r).activation :
					input_at(traits->activation, r->num_inputs);
}

uint32_t nn_operation_layout(const struct nn_subgraph *s, const struct nn_operation *o)
{
	const struct nn_scope scope = { .operands = s->operands, .num_operands = s->num_operands };
	const struct nn_check c = { .scope = &scope, .operation = o };
	const struct nn_traits *traits = nn_traits(o->type);

	return traits->window.tensors ? nn_window_check_args(&c).nchw :
					input_at(traits->layout, o->num_inputs);
}
