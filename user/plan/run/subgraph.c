/* SPDX-License-Identifier: MIT */
/*
 * Runs a subgraph. Each step copies the values that determine addresses, computes shapes, allocates
 * the outputs, runs the kernel, and frees memory that no later step uses.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/times.h"
#include "plan/run/sections.h"

enum nn_status fail_step(const struct frame *f, const struct step *step, enum nn_status status,
			 const char *format, ...)
{
	char reason[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return nn_fail(f->run->err, status, "subgraph %u, operation %u (%s): %s", f->index,
		       (uint32_t)(step - f->graph->steps), step->op->name, reason);
}

/* Returns the caller's argument for an operand that is an output of the model; otherwise NULL. */
static const struct nn_arg *caller_memory(const struct frame *f, uint32_t operand)
{
	uint32_t position = f->graph->outputs[operand];

	return f->args && position ? &f->args[position - 1] : NULL;
}

/*
 * Returns whether an input must be copied before the operation runs. Memory of other processes is
 * copied because it could change between shape inference and the kernel.
 */
static bool needs_copy(const struct step *step, uint32_t input, const struct value *v)
{
	return (v->foreign && plan_determines(step->op, input, v->tensor.type)) ||
	       !value_is_aligned(v->tensor.data, v->tensor.type);
}

/* Sets f->inputs to the inputs of a step. f->staged owns the inputs that were copied. */
static enum nn_status stage_inputs(struct frame *f, const struct step *step)
{
	uint32_t i, size;

	for (i = 0; i < step->operation->num_inputs; i++) {
		const struct value *v = &f->values[step->operation->inputs[i]];

		f->inputs[i] = v->tensor;
		f->staged[i] = NULL;
		if (!v->tensor.data || !needs_copy(step, i, v))
			continue;
		size = nn_tensor_size(&v->tensor);
		f->staged[i] = heap_alloc(f->run->heap, size);
		f->inputs[i].data = f->staged[i];
		if (!f->staged[i])
			return fail_step(f, step, NN_OUT_OF_MEMORY, "input %u: no memory for %u "
					 "bytes", i, size);
		memcpy(f->staged[i], v->tensor.data, size);
	}
	return NN_OK;
}

static void unstage_inputs(struct frame *f, const struct step *step)
{
	for (uint32_t i = 0; i < step->operation->num_inputs; i++) {
		heap_free(f->run->heap, f->staged[i]);
		f->staged[i] = NULL;
	}
}

bool frame_place_output(struct frame *f, uint32_t operand, struct value *v)
{
	const struct nn_arg *arg = caller_memory(f, operand);

	v->insufficient = arg && arg->length < nn_tensor_size(&v->tensor);
	if (!arg || !arg->data || v->insufficient || !value_is_aligned(arg->data, v->tensor.type))
		return value_allocate(v, f->run->heap);
	v->tensor.data = arg->data;
	v->foreign = true;
	return true;
}

static enum nn_status place_output(struct frame *f, const struct step *step, uint32_t output)
{
	uint32_t operand = step->operation->outputs[output];
	struct value *v = &f->values[operand];

	v->tensor = f->outputs[output];
	if (v->tensor.omitted)
		return NN_OK;
	if (!frame_place_output(f, operand, v))
		return fail_step(f, step, NN_OUT_OF_MEMORY, "output %u: no memory for %u bytes",
				 output, nn_tensor_size(&v->tensor));
	f->outputs[output].data = v->tensor.data;
	return NN_OK;
}

/* Copies an output to the caller's memory, unless the kernel wrote the caller's memory directly. */
static void copy_to_caller(const struct frame *f, uint32_t operand)
{
	const struct nn_arg *arg = caller_memory(f, operand);
	const struct value *v = &f->values[operand];

	if (arg && arg->data && v->owned && !v->insufficient)
		memcpy(arg->data, v->owned, nn_tensor_size(&v->tensor));
}

void frame_set_output(struct frame *f, uint32_t operand, const struct value *v)
{
	f->values[operand] = *v;
	copy_to_caller(f, operand);
}

static enum nn_status run_kernel(struct frame *f, const struct step *step, struct nn_error *err)
{
	const struct nn_operation *operation = step->operation;
	struct nn_run r = {
		.op = step->op,
		.num_inputs = operation->num_inputs,
		.num_outputs = operation->num_outputs,
		.inputs = f->inputs,
		.outputs = f->outputs,
		.relaxed = f->run->plan->model->relaxed,
		.state = step->state,
		.plan_attributes = f->run->plan->attributes,
		.attributes = f->run->attributes,
		.memory = heap_scratch(f->run->heap),
		.err = err,
	};
	enum nn_status status;

	for (uint32_t i = 0; i < operation->num_outputs; i++)
		f->outputs[i] = f->values[operation->outputs[i]].tensor;
	status = nn_op_infer(&r);
	for (uint32_t i = 0; i < operation->num_outputs && !status; i++)
		status = place_output(f, step, i);
	if (!status)
		status = nn_op_execute(&r);
	nn_op_finish(&r);
	heap_settle(f->run->heap);
	return status;
}

static enum nn_status run_operation(struct frame *f, const struct step *step)
{
	struct nn_error err = { "" };
	enum nn_status status = stage_inputs(f, step);

	if (!status)
		status = run_kernel(f, step, &err);
	unstage_inputs(f, step);
	if (status)
		return nn_fail(f->run->err, status, "subgraph %u, operation %u: %s", f->index,
			       (uint32_t)(step - f->graph->steps), err.message);
	for (uint32_t i = 0; i < step->operation->num_outputs; i++)
		copy_to_caller(f, step->operation->outputs[i]);
	return NN_OK;
}

enum nn_status store_result(struct frame *f, const struct step *step, uint32_t output,
			    struct value *result)
{
	uint32_t operand = step->operation->outputs[output];
	const struct nn_arg *arg = caller_memory(f, operand);
	struct value *v = &f->values[operand];

	if (v->tensor.omitted)
		return fail_step(f, step, NN_GENERAL_FAILURE, "output %u is omitted", output);
	if (!value_fits(&result->tensor, &v->tensor))
		return fail_step(f, step, NN_GENERAL_FAILURE,
				 "output %u: type or shape are not as declared", output);
	if (v->tensor.is_model_output && (result->tensor.scale != v->tensor.scale ||
					  result->tensor.zero_point != v->tensor.zero_point))
		return fail_step(f, step, NN_GENERAL_FAILURE,
				 "output %u: scale or zero point are not as declared", output);
	*v = *result;
	v->insufficient = arg && arg->length < nn_tensor_size(&v->tensor);
	result->owned = NULL;
	copy_to_caller(f, operand);
	return NN_OK;
}

static void release_after(const struct frame *f, const struct step *step)
{
	for (uint32_t i = 0; i < step->num_releases; i++)
		value_release(&f->values[step->releases[i]], f->run->heap);
}

static enum nn_status run_step(struct frame *f, const struct step *step)
{
	struct nn_times *times = f->index ? NULL : f->run->times;
	uint32_t other = f->run->plan->owned ? NN_OTHER_MODEL : 0;
	uint64_t begin_ns = clock_ns();
	enum nn_status status;

	if (begin_ns >= f->run->deadline_ns)
		return fail_step(f, step, NN_MISSED_DEADLINE_TRANSIENT, "the deadline is past");
	if (step->op->code == NN_OP_IF)
		status = run_if(f, step);
	else if (step->op->code == NN_OP_WHILE)
		status = run_while(f, step);
	else
		status = run_operation(f, step);
	release_after(f, step);
	if (times)
		times_add(times, (uint32_t)(step - f->graph->steps) | other, step->op->code, begin_ns,
			  clock_ns());
	return status;
}

/*
 * Runs the section that begins at `step`, or only `step` if no section begins there. Returns the
 * number of steps that the function ran.
 */
static uint32_t run_next(struct frame *f, const struct step *step, enum nn_status *status)
{
	const uint32_t count = step->section ? section_length(step->section) : 1;
	uint64_t start;

	if (step->section && section_run(f, step->section, status)) {
		for (uint32_t i = 0; i < count; i++)
			release_after(f, step + i);
		return count;
	}
	start = step->section ? clock_ns() : 0;
	*status = NN_OK;
	for (uint32_t i = 0; i < count && !*status; i++)
		*status = run_step(f, step + i);
	if (step->section && !*status)
		section_interpreted(step->section, clock_ns() - start);
	return count;
}

/*
 * Sets the inputs of a subgraph. Returns an error if an input's type or shape, which may be unknown
 * before the execution, is not as the subgraph declares.
 */
static enum nn_status set_inputs(struct frame *f, const struct value *inputs)
{
	const struct nn_subgraph *s = f->graph->subgraph;

	for (uint32_t i = 0; i < s->num_inputs; i++) {
		struct value *v = &f->values[s->inputs[i]];

		if (!inputs[i].tensor.omitted && !value_fits(&inputs[i].tensor, &v->tensor))
			return nn_fail(f->run->err, NN_GENERAL_FAILURE, "subgraph %u, input %u: "
				       "type or shape are not as declared", f->index, i);
		*v = inputs[i];
		v->owned = NULL;
	}
	return NN_OK;
}

/*
 * Uses the output dimensions that the caller's arguments specify, because the model may leave
 * dimensions unspecified.
 */
static void set_output_dims(struct frame *f)
{
	const struct nn_subgraph *s = f->graph->subgraph;

	for (uint32_t i = 0; i < s->num_outputs; i++) {
		struct nn_tensor *t = &f->values[s->outputs[i]].tensor;

		t->omitted = f->args[i].omitted;
		t->length = value_length(&f->args[i]);
		if (f->args[i].rank)
			t->rank = f->args[i].rank;
		for (uint32_t j = 0; j < f->args[i].rank; j++)
			if (f->args[i].dims[j])
				t->dims[j] = f->args[i].dims[j];
	}
}

static enum nn_status frame_init(struct frame *f)
{
	const struct graph *g = f->graph;
	struct heap *heap = f->run->heap;

	/*
	 * Allocate one more element than needed, so that an allocation of size 0 does not look like
	 * a failure.
	 */
	f->values = heap_zeroed(heap, g->subgraph->num_operands, sizeof(*f->values));
	f->inputs = heap_zeroed(heap, (size_t)g->max_inputs + 1, sizeof(*f->inputs));
	f->outputs = heap_zeroed(heap, (size_t)g->max_outputs + 1, sizeof(*f->outputs));
	f->staged = heap_zeroed(heap, (size_t)g->max_inputs + 1, sizeof(*f->staged));
	if (!f->values || !f->inputs || !f->outputs || !f->staged)
		return nn_fail(f->run->err, NN_OUT_OF_MEMORY, "no memory to run subgraph %u",
			       f->index);
	memcpy(f->values, g->initial, g->subgraph->num_operands * sizeof(*f->values));
	return NN_OK;
}

static void frame_destroy(struct frame *f)
{
	struct heap *heap = f->run->heap;

	for (uint32_t i = 0; f->values && i < f->graph->subgraph->num_operands; i++)
		value_release(&f->values[i], heap);
	heap_free(heap, f->values);
	heap_free(heap, f->inputs);
	heap_free(heap, f->outputs);
	heap_free(heap, f->staged);
}

enum nn_status run_subgraph(struct run *run, uint32_t index, const struct value *inputs,
			    const struct nn_arg *args, struct value *results)
{
	const struct graph *g = &run->plan->graphs[index];
	struct frame f = { .run = run, .graph = g, .index = index, .args = args };
	enum nn_status status = frame_init(&f);

	if (!status)
		status = set_inputs(&f, inputs);
	if (!status && args)
		set_output_dims(&f);
	for (uint32_t i = 0; i < g->subgraph->num_operations && !status;)
		i += run_next(&f, &g->steps[i], &status);
	for (uint32_t i = 0; i < g->subgraph->num_outputs && !status; i++) {
		struct value *v = &f.values[g->subgraph->outputs[i]];

		results[i] = *v;
		v->owned = NULL;
	}
	frame_destroy(&f);
	return status;
}
