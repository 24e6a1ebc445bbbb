/* SPDX-License-Identifier: MIT */
/*
 * Executes a plan: checks the arguments against the model, runs the main subgraph on the arguments,
 * and reports the outputs' shapes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "plan/compiled.h"
#include "plan/run/sections.h"

#define DEFAULT_LOOP_TIMEOUT_NS UINT64_C(2000000000)
#define MAX_LOOP_TIMEOUT_NS UINT64_C(15000000000)

/*
 * Checks the properties that inputs and outputs must have. The string `what` is "input" or
 * "output", for messages.
 */
static enum nn_status check_arg(const struct nn_operand *o, const struct nn_arg *arg,
				const char *what, uint32_t index, struct nn_error *err)
{
	const struct nn_type_info *info = nn_type_info_of(o->type);
	bool any_rank = !o->rank && info && info->is_tensor;
	uint32_t i, size;

	if (arg->omitted && (arg->length || arg->rank))
		return nn_fail(err, NN_INVALID_ARGUMENT, "%s %u: omitted, but has %" PRIu64
			       " bytes and rank %u", what, index, arg->length, arg->rank);
	if (arg->length && !arg->data)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%s %u: its memory is NULL", what, index);
	if (!arg->rank)
		return NN_OK;
	if (arg->rank > NN_MAX_RANK || (arg->rank != o->rank && !any_rank))
		return nn_fail(err, NN_INVALID_ARGUMENT, "%s %u: rank %u, must be %u", what, index,
			       arg->rank, o->rank);
	for (i = 0; i < o->rank; i++)
		if (arg->dims[i] && o->dims[i] && arg->dims[i] != o->dims[i])
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "%s %u: dimension %u is %u, must be %u", what, index, i,
				       arg->dims[i], o->dims[i]);
	if (!value_size(o->type, arg->rank, arg->dims, &size))
		return nn_fail(err, NN_INVALID_ARGUMENT, "%s %u: its size does not fit 32 bits",
			       what, index);
	return NN_OK;
}

/* Checks an input argument and makes it a value of the main subgraph. */
static enum nn_status set_input(const struct nn_operand *o, const struct nn_arg *arg,
				uint32_t index, struct value *v, struct nn_error *err)
{
	enum nn_status status = check_arg(o, arg, "input", index, err);
	uint32_t i, size;

	if (status)
		return status;
	*v = value_declared(o);
	v->tensor.omitted = arg->omitted;
	if (arg->omitted)
		return NN_OK;
	if (!arg->rank && !nn_operand_is_specified(o))
		return nn_fail(err, NN_INVALID_ARGUMENT, "input %u: its shape is unknown", index);
	for (i = 0; i < arg->rank; i++)
		if (!arg->dims[i])
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "input %u: dimension %u must not be 0", index, i);
	if (arg->rank) {
		v->tensor.rank = arg->rank;
		memcpy(v->tensor.dims, arg->dims, arg->rank * sizeof(arg->dims[0]));
	}
	value_size(o->type, v->tensor.rank, v->tensor.dims, &size);
	v->tensor.length = value_length(arg);
	if (!arg->data || arg->length < size)
		return nn_fail(err, NN_INVALID_ARGUMENT, "input %u: %" PRIu64 " bytes, needs %u",
			       index, arg->length, size);
	v->tensor.data = arg->data;
	v->foreign = true;
	return NN_OK;
}

enum nn_status plan_check_args(const struct nn_subgraph *s, const struct nn_execution *e,
			       struct value *inputs, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < s->num_inputs && !status; i++)
		status = set_input(&s->operands[s->inputs[i]], &e->inputs[i], i, &inputs[i], err);
	for (uint32_t i = 0; i < s->num_outputs && !status; i++)
		status = check_arg(&s->operands[s->outputs[i]], &e->outputs[i], "output", i, err);
	return status;
}

enum nn_status plan_tell_shapes(struct nn_execution *e, const struct value *results,
				struct nn_error *err)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < e->num_outputs; i++) {
		const struct nn_tensor *t = &results[i].tensor;

		if (results[i].insufficient)
			status = nn_fail(err, NN_OUTPUT_INSUFFICIENT_SIZE, "output %u: %" PRIu64
					 " bytes, needs %u", i, e->outputs[i].length,
					 nn_tensor_size(t));
		if (!e->shapes)
			continue;
		e->shapes[i] = (struct nn_output_shape){
			.rank = t->rank,
			.sufficient = !results[i].insufficient,
		};
		memcpy(e->shapes[i].dims, t->dims, t->rank * sizeof(t->dims[0]));
	}
	e->shapes_known = e->shapes;
	return status;
}

static uint64_t loop_timeout(const struct nn_execution *e)
{
	if (!e->loop_timeout_ns)
		return DEFAULT_LOOP_TIMEOUT_NS;
	if (e->loop_timeout_ns > MAX_LOOP_TIMEOUT_NS)
		return MAX_LOOP_TIMEOUT_NS;
	return e->loop_timeout_ns;
}

static enum nn_status run_main(const struct nn_plan *plan, struct nn_execution *e,
			       struct heap *heap, struct value *inputs, struct value *results,
			       struct nn_error *err)
{
	struct run run = {
		.plan = plan,
		.number = sections_begin(plan),
		.deadline_ns = e->deadline_ns ? e->deadline_ns : UINT64_MAX,
		.loop_timeout_ns = loop_timeout(e),
		.attributes = e->attributes,
		.times = e->times,
		.heap = heap,
		.err = err,
	};
	enum nn_status status = plan_check_args(plan->graphs[0].subgraph, e, inputs, err);

	if (status)
		return status;
	if (clock_ns() >= run.deadline_ns)
		return nn_fail(err, NN_MISSED_DEADLINE_PERSISTENT,
			       "the deadline was past before the execution");
	status = run_subgraph(&run, 0, inputs, e->outputs, results);
	if (!status)
		status = plan_tell_shapes(e, results, err);
	for (uint32_t i = 0; i < e->num_outputs; i++)
		value_release(&results[i], heap);
	return status;
}

/*
 * Interprets the main subgraph, for example if it was not compiled for the shapes of the arguments.
 */
static enum nn_status interpret(const struct nn_plan *plan, struct nn_execution *e,
				struct nn_error *err)
{
	size_t count = (size_t)e->num_inputs + e->num_outputs + 1;
	struct heap *heap = heaps_get(plan->heaps);
	struct value *values = heap ? heap_zeroed(heap, count, sizeof(*values)) : NULL;
	enum nn_status status;

	if (values)
		status = run_main(plan, e, heap, values, values + e->num_inputs, err);
	else
		status = nn_fail(err, NN_OUT_OF_MEMORY, "no memory for the arguments");
	if (!heap)
		return status;
	heap_free(heap, values);
	heaps_put(plan->heaps, heap);
	return status;
}

enum nn_status nn_plan_execute(const struct nn_plan *plan, struct nn_execution *e,
			       struct nn_error *err)
{
	const struct nn_subgraph *s = nn_plan_main(plan);
	enum nn_status status;

	e->shapes_known = false;
	if (e->num_inputs != s->num_inputs || e->num_outputs != s->num_outputs)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%u inputs and %u outputs, but the model "
			       "has %u and %u", e->num_inputs, e->num_outputs, s->num_inputs,
			       s->num_outputs);
	plan = lazy_get(plan);
	if (plan->compiled && compiled_execute(plan->compiled, e, &status, err))
		return status;
	return plan->restored ? staged_execute(plan, e, err) : interpret(plan, e, err);
}
