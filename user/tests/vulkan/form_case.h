/* SPDX-License-Identifier: MIT */
/*
 * Test cases of a model of one operation with random shapes, and the model's expected outputs.
 */
#ifndef NN_TESTS_VULKAN_FORM_CASE_H
#define NN_TESTS_VULKAN_FORM_CASE_H

#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "vectors/form.h"
#include "vectors/random.h"

#define FORM_OUTPUTS 8

struct form_case {
	struct nn_arg inputs[FORM_MAX_OPERANDS];
	struct nn_arg outputs[FORM_OUTPUTS];
	struct nn_output_shape shapes[FORM_OUTPUTS];
	struct nn_execution execution;	/* execution whose outputs are written to `got` */
	char right[FORM_OUTPUTS][FORM_MAX_BYTES / 4];
	char got[FORM_OUTPUTS][FORM_MAX_BYTES / 4];
};

static inline const struct nn_op *form_op(const struct form *f)
{
	for (size_t i = 0; i < nn_op_count(); i++)
		if (!strcmp(nn_op_at(i)->name, f->name))
			return nn_op_at(i);
	return NULL;
}

/*
 * Computes the expected outputs with the reference kernels. Returns true if the reference kernels
 * succeed; the model's outputs then have the reported shapes.
 */
static inline bool form_compute(struct form_case *c)
{
	const struct nn_plan_options options = { .kernels = "none" };
	const struct nn_subgraph *s = &form.subgraphs[0];
	struct nn_error err = { "" };
	struct nn_plan *plan;
	enum nn_status status;

	for (uint32_t i = 0; i < s->num_outputs; i++)
		c->outputs[i] = (struct nn_arg){ .data = c->right[i],
						 .length = sizeof(c->right[i]) };
	status = nn_plan_create(&form.model, &options, &plan, &err);
	if (status)
		return false;
	status = nn_plan_execute(plan, &c->execution, &err);
	nn_plan_free(plan);
	for (uint32_t i = 0; !status && i < s->num_outputs; i++) {
		struct nn_operand *o = &form.operands[0][s->outputs[i]];
		uint32_t size;

		o->rank = c->shapes[i].rank;
		memcpy(o->dims, c->shapes[i].dims, sizeof(o->dims));
		if (!nn_operand_size(o, &size))
			return false;
		c->outputs[i] = (struct nn_arg){ .data = c->got[i], .length = size };
	}
	return !status;
}

/*
 * Makes the model of a form with random shapes. Returns false if the operation does not support the
 * type or the chosen numbers.
 */
static inline bool form_make(const struct form *f, int32_t type, uint64_t seed, struct form_case *c)
{
	const struct nn_subgraph *s = &form.subgraphs[0];
	const struct nn_op *op = form_op(f);
	uint32_t size;

	random_start((seed * 131 + (uint64_t)(op ? op->code : 0)) * 7919 + (uint64_t)type);
	if (!op || !form_build(op, f, type))
		return false;
	memset(c, 0, sizeof(*c));
	c->execution = (struct nn_execution){
		.num_inputs = s->num_inputs, .num_outputs = s->num_outputs, .inputs = c->inputs,
		.outputs = c->outputs, .shapes = c->shapes,
	};
	for (uint32_t i = 0; i < s->num_inputs; i++) {
		if (!nn_operand_size(&s->operands[s->inputs[i]], &size))
			return false;
		c->inputs[i] = (struct nn_arg){ .data = form_inputs[i], .length = size };
	}
	return form_compute(c);
}

#endif /* NN_TESTS_VULKAN_FORM_CASE_H */
