/* SPDX-License-Identifier: MIT */
/*
 * The traits of operations: the columns of ops.def.
 */
#include <stdlib.h>

#include "ops/traits.h"
#include "ops/window.h"

static const struct nn_traits table[] = {
#define NN_OP(name, ...) { .code = NN_OP_##name, __VA_ARGS__ },
#include "ops/ops.def"
#undef NN_OP
};

static int by_code(const void *key, const void *entry)
{
	const int32_t code = *(const int32_t *)key, other = ((const struct nn_traits *)entry)->code;

	return code < other ? -1 : code > other;
}

const struct nn_traits *nn_traits(int32_t code)
{
	static const struct nn_traits none;
	const struct nn_traits *found = bsearch(&code, table, sizeof(table) / sizeof(table[0]),
						sizeof(table[0]), by_code);

	return found ? found : &none;
}

bool nn_op_varies(const struct nn_op *op)
{
	return op->every_time || nn_traits(op->code)->is_random;
}

/* Returns the input of an operation at a position that may count from the end. */
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
