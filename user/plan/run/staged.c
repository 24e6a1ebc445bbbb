/* SPDX-License-Identifier: MIT */
/*
 * Executes a serialised plan with other arguments than those for which the plan was compiled.
 * Arguments that are not aligned are copied, because a serialised plan has no model that could be
 * interpreted. If the memory of an output is too small, only the shapes are returned, which are
 * known without an execution.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plan/compiled.h"
#include "plan/internal.h"

/* The caller's execution, and a copy with other arguments; the plan runs the copy. */
struct staged {
	struct nn_execution *e;
	struct nn_execution copy;
	struct nn_arg *args;		/* arguments of `copy`: inputs, then outputs */
	/* values in the order of `args`; a value owns its data if the data is a copy */
	struct value *values;
};

/* Checks that no argument is omitted, which serialised plans do not allow. */
static enum nn_status check_there(const struct nn_execution *e, struct nn_error *err)
{
	for (uint32_t i = 0; i < e->num_inputs; i++)
		if (e->inputs[i].omitted)
			return nn_fail(err, NN_GENERAL_FAILURE, "input %u must not be omitted", i);
	for (uint32_t i = 0; i < e->num_outputs; i++)
		if (e->outputs[i].omitted)
			return nn_fail(err, NN_GENERAL_FAILURE, "output %u must not be omitted", i);
	return NN_OK;
}

static enum nn_status check_deadline(const struct nn_execution *e, struct nn_error *err)
{
	if (e->deadline_ns && clock_ns() >= e->deadline_ns)
		return nn_fail(err, NN_MISSED_DEADLINE_PERSISTENT,
			       "the deadline was past before the execution");
	return NN_OK;
}

/* Declares the outputs. Sets *fit to whether each output fits in the caller's memory. */
static void declare_outputs(const struct nn_subgraph *s, const struct staged *x, bool *fit)
{
	struct value *results = x->values + x->e->num_inputs;

	*fit = true;
	for (uint32_t i = 0; i < x->e->num_outputs; i++) {
		struct value *v = &results[i];

		*v = value_declared(&s->operands[s->outputs[i]]);
		v->tensor.data = x->e->outputs[i].data;
		v->insufficient = x->e->outputs[i].length < nn_tensor_size(&v->tensor);
		*fit &= !v->insufficient;
	}
}

/*
 * Gives each argument memory with the alignment that kernels need. Returns false if memory runs
 * out.
 */
static bool stage(struct staged *x)
{
	const uint32_t inputs = x->e->num_inputs;

	for (uint32_t i = 0; i < inputs + x->e->num_outputs; i++) {
		struct value *v = &x->values[i];

		if ((!v->tensor.data || !value_is_aligned(v->tensor.data, v->tensor.type)) &&
		    !(i < inputs ? value_own(v, NULL) : value_allocate(v, NULL)))
			return false;
		x->args[i] = (struct nn_arg){ .data = v->tensor.data,
					      .length = nn_tensor_size(&v->tensor) };
	}
	return true;
}

static enum nn_status run(const struct nn_plan *plan, struct staged *x, struct nn_error *err)
{
	struct nn_execution *e = x->e;
	enum nn_status status;

	x->copy = *e;
	x->copy.inputs = x->args;
	x->copy.outputs = x->args + e->num_inputs;
	if (!stage(x))
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for the arguments");
	if (!compiled_execute(plan->compiled, &x->copy, &status, err)) {
		status = check_deadline(e, err);
		return status ? status : nn_fail(err, NN_OUT_OF_MEMORY,
						 "no memory for an execution");
	}
	e->shapes_known = x->copy.shapes_known;
	for (uint32_t i = 0; i < e->num_outputs && !status; i++) {
		const struct value *v = &x->values[e->num_inputs + i];

		if (v->owned && e->outputs[i].data)
			memcpy(e->outputs[i].data, v->owned, nn_tensor_size(&v->tensor));
	}
	return status;
}

static enum nn_status execute(const struct nn_plan *plan, struct staged *x, struct nn_error *err)
{
	const struct nn_subgraph *s = nn_plan_main(plan);
	enum nn_status status = plan_check_args(s, x->e, x->values, err);
	bool fit;

	if (!status)
		status = check_deadline(x->e, err);
	if (!status)
		status = check_there(x->e, err);
	if (status)
		return status;
	declare_outputs(s, x, &fit);
	return fit ? run(plan, x, err) :
	       plan_tell_shapes(x->e, x->values + x->e->num_inputs, err);
}

enum nn_status staged_execute(const struct nn_plan *plan, struct nn_execution *e,
			      struct nn_error *err)
{
	const size_t count = (size_t)e->num_inputs + e->num_outputs;
	struct staged x = {
		.e = e,
		.args = calloc(count + 1, sizeof(*x.args)),
		.values = calloc(count + 1, sizeof(*x.values)),
	};
	enum nn_status status;

	if (x.args && x.values)
		status = execute(plan, &x, err);
	else
		status = nn_fail(err, NN_OUT_OF_MEMORY, "no memory for the arguments");
	for (size_t i = 0; x.values && i < count; i++)
		value_release(&x.values[i], NULL);
	free(x.args);
	free(x.values);
	return status;
}
