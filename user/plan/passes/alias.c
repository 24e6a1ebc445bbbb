/* SPDX-License-Identifier: MIT */
/*
 * Places operands of a compiled plan in the memory of other operands. A step need not run if it
 * only changes a shape, or if it concatenates or splits along the outermost axis of operands in
 * shared memory.
 */
#include <string.h>

#include "plan/compiled.h"
#include "ops/axis.h"
#include "ops/quant.h"
#include "ops/traits.h"
#include "plan/kernels/kernel.h"

/*
 * Returns an operand's root: the operand with its own memory in which `operand` lies. Sets *delta
 * to the operand's offset in the root's memory.
 */
static uint32_t find_root(const struct compiled *c, uint32_t operand, size_t *delta)
{
	*delta = 0;
	while (c->places[operand].root != operand) {
		*delta += c->places[operand].delta;
		operand = c->places[operand].root;
	}
	return operand;
}

static void put(struct compiled *c, uint32_t operand, uint32_t into, size_t delta)
{
	c->places[operand].root = into;
	c->places[operand].delta = delta;
}

static uint32_t size_of(const struct compiled *c, uint32_t operand)
{
	return nn_tensor_size(&c->tensors[operand]);
}

/* Returns whether an operand has memory that another operand can share. */
static bool has_memory(const struct compiled *c, uint32_t operand)
{
	enum place_kind kind = c->places[operand].kind;

	return kind == PLACE_ARENA || kind == PLACE_INPUT || kind == PLACE_OUTPUT;
}

/*
 * Places operand `to` in the memory of operand `from`; if `to` is an output in the caller's memory,
 * places `from` in the memory of `to`.
 */
static bool share(struct compiled *c, uint32_t from, uint32_t to)
{
	size_t delta;
	uint32_t root = find_root(c, from, &delta);
	struct place *p = &c->places[root], *q = &c->places[to];

	if (!has_memory(c, root))
		return false;
	if (q->kind == PLACE_ARENA) {
		put(c, to, from, 0);
		return true;
	}
	if (q->kind != PLACE_OUTPUT || p->kind != PLACE_ARENA || delta ||
	    size_of(c, root) != size_of(c, to))
		return false;
	p->kind = PLACE_OUTPUT;
	p->index = q->index;
	return true;
}

/*
 * Returns the root of an operand if the root is in the arena and the operand fills the whole memory
 * of the root; otherwise UINT32_MAX.
 */
static uint32_t whole_root(const struct compiled *c, uint32_t operand)
{
	size_t delta;
	uint32_t root = find_root(c, operand, &delta);

	return c->places[root].kind == PLACE_ARENA && !delta &&
	       size_of(c, root) == size_of(c, operand) ? root : UINT32_MAX;
}

/* Places `count` inputs, from input `first` on, one after the other in the memory of the output. */
static bool join(struct compiled *c, const struct compiled_step *step, uint32_t first,
		 uint32_t count)
{
	size_t delta = 0;

	if (c->places[step->output].kind != PLACE_ARENA &&
	    c->places[step->output].kind != PLACE_OUTPUT)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t operand = compiled_input(step, first + i);
		uint32_t root = whole_root(c, operand);

		if (root == UINT32_MAX ||
		    !nn_tensor_quantised_alike(&c->tensors[operand], &c->tensors[step->output]))
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (root == whole_root(c, compiled_input(step, first + k)))
				return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t operand = compiled_input(step, first + i);

		put(c, whole_root(c, operand), step->output, delta);
		delta += size_of(c, operand);
	}
	return true;
}

static bool split(struct compiled *c, const struct compiled_step *step)
{
	const struct nn_operation *o = step->operation;
	size_t delta, parts = 0;

	if (!has_memory(c, find_root(c, step->input, &delta)))
		return false;
	for (uint32_t i = 0; i < o->num_outputs; i++)
		if (c->places[o->outputs[i]].kind != PLACE_ARENA)
			return false;
	for (uint32_t i = 0; i < o->num_outputs; i++) {
		put(c, o->outputs[i], step->input, parts);
		parts += size_of(c, o->outputs[i]);
	}
	return true;
}

/*
 * Returns whether all axes of an operand before a given axis have one element. The value of operand
 * `scalar` is the number of the given axis.
 */
static bool is_outermost(const struct compiled *c, uint32_t scalar, uint32_t operand)
{
	const struct nn_tensor *t = &c->tensors[operand];
	int32_t value;
	uint32_t axis;

	memcpy(&value, c->places[scalar].constant, sizeof(value));
	return nn_axis(value, t->rank, &axis) && nn_tensor_product(t, 0, axis) == 1;
}

/* Tries to let the operands of a step share memory; returns whether the step need not run. */
static bool is_done(struct compiled *c, const struct compiled_step *step)
{
	const struct nn_operation *o = step->operation;
	uint32_t count = o->num_inputs;

	if (step->is_identity || nn_traits(step->op->code)->only_reshapes)
		return share(c, step->input, step->output);
	switch (step->op->code) {
	/* CONCATENATION, PACK and SPLIT have the axis at different positions among their inputs. */
	case NN_OP_CONCATENATION:
		return is_outermost(c, o->inputs[count - 1], step->output) &&
		       join(c, step, 0, count - 1);
	case NN_OP_PACK:
		return is_outermost(c, o->inputs[0], step->output) && join(c, step, 1, count - 1);
	case NN_OP_SPLIT:
		return is_outermost(c, o->inputs[1], step->input) && split(c, step);
	default:
		return false;
	}
}

/*
 * Sets each operand's root to the operand with its own memory, and lists the operands in the memory
 * of arguments.
 */
static void flatten(struct compiled *c, uint32_t operands)
{
	for (uint32_t i = 0; i < operands; i++) {
		struct place *p = &c->places[i];
		size_t delta;

		p->root = find_root(c, i, &delta);
		p->delta = delta;
		p->kind = c->places[p->root].kind;
		p->index = c->places[p->root].index;
		if (p->kind == PLACE_INPUT || p->kind == PLACE_OUTPUT)
			c->borrowers[c->num_borrowers++] = i;
	}
}

void compiled_alias(struct compiled *c, uint32_t operands)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->num_steps; i++)
		if (!is_done(c, &c->steps[i]))
			c->steps[count++] = c->steps[i];
	c->num_steps = count;
	flatten(c, operands);
}
