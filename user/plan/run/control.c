/* SPDX-License-Identifier: MIT */
/*
 * Control flow: IF runs one of two subgraphs; WHILE runs a body subgraph while a condition holds.
 * IF and WHILE have the semantics of NNAPI 1.3.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "plan/internal.h"

/* Returns the index of the subgraph to which an input of the step refers. */
static uint32_t referenced(const struct frame *f, const struct step *step, uint32_t input)
{
	return f->graph->subgraph->operands[step->operation->inputs[input]].location.offset + 1;
}

/* Allocates values for the inputs or outputs of a subgraph. free_values() releases these values. */
static struct value *alloc_values(const struct frame *f, const struct step *step, uint32_t count)
{
	struct value *values = heap_zeroed(f->run->heap, (size_t)count + 1, sizeof(*values));

	if (!values)
		fail_step(f, step, NN_OUT_OF_MEMORY, "no memory for %u values", count);
	return values;
}

static void free_values(const struct frame *f, struct value *values, uint32_t count)
{
	for (uint32_t i = 0; values && i < count; i++)
		value_release(&values[i], f->run->heap);
	heap_free(f->run->heap, values);
}

/*
 * Sets `values` to the step's inputs, from input `first` on. The frame remains the owner of the
 * memory of the values.
 */
static void view_inputs(const struct frame *f, const struct step *step, uint32_t first,
			struct value *values)
{
	for (uint32_t i = first; i < step->operation->num_inputs; i++) {
		values[i - first] = f->values[step->operation->inputs[i]];
		values[i - first].owned = NULL;
	}
}

/* Reads a condition only once, because other processes may change its memory. */
static enum nn_status read_condition(const struct frame *f, const struct step *step,
				     const struct value *v, bool *holds)
{
	if (!v->tensor.data)
		return fail_step(f, step, NN_GENERAL_FAILURE, "the condition is omitted");
	if (nn_tensor_size(&v->tensor) != 1)
		return fail_step(f, step, NN_GENERAL_FAILURE,
				 "the condition has %u elements, must have 1",
				 nn_tensor_size(&v->tensor));
	*holds = *(const volatile uint8_t *)v->tensor.data;
	return NN_OK;
}

enum nn_status run_if(struct frame *f, const struct step *step)
{
	uint32_t num_inputs = step->operation->num_inputs - 3;
	uint32_t num_outputs = step->operation->num_outputs;
	struct value *inputs, *results;
	enum nn_status status;
	bool holds;

	status = read_condition(f, step, &f->values[step->operation->inputs[0]], &holds);
	if (status)
		return status;
	inputs = alloc_values(f, step, num_inputs);
	results = alloc_values(f, step, num_outputs);
	status = NN_OUT_OF_MEMORY;
	if (inputs && results) {
		view_inputs(f, step, 3, inputs);
		status = run_subgraph(f->run, referenced(f, step, holds ? 1 : 2), inputs, NULL,
				      results);
		for (uint32_t i = 0; i < num_outputs && !status; i++)
			status = store_result(f, step, i, &results[i]);
	}
	heap_free(f->run->heap, inputs);
	free_values(f, results, num_outputs);
	return status;
}

/* A running WHILE loop: its state, and its constant values. */
struct loop {
	struct frame *frame;
	const struct step *step;
	uint32_t condition;		/* subgraph */
	uint32_t body;
	uint32_t num_values;		/* number of the body's inputs */
	/* the body's outputs replace the first num_state values */
	uint32_t num_state;
	struct value *values;		/* value[num_values]: state, then constant values */
	struct value *results;		/* value[num_state]: the body's outputs */
	uint64_t start_ns;
};

static enum nn_status test_condition(const struct loop *l, bool *holds)
{
	struct value result = { 0 };
	enum nn_status status;

	status = run_subgraph(l->frame->run, l->condition, l->values, NULL, &result);
	if (!status)
		status = read_condition(l->frame, l->step, &result, holds);
	value_release(&result, l->frame->run->heap);
	return status;
}

static enum nn_status run_body(struct loop *l)
{
	enum nn_status status;

	if (clock_ns() - l->start_ns > l->frame->run->loop_timeout_ns)
		return fail_step(l->frame, l->step, NN_MISSED_DEADLINE_TRANSIENT,
				 "the loop runs longer than %" PRIu64 " ns",
				 l->frame->run->loop_timeout_ns);
	status = run_subgraph(l->frame->run, l->body, l->values, NULL, l->results);
	for (uint32_t i = 0; i < l->num_state && !status; i++) {
		value_release(&l->values[i], l->frame->run->heap);
		l->values[i] = l->results[i];
		l->results[i].owned = NULL;
	}
	return status;
}

static enum nn_status store_state(struct loop *l)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < l->step->operation->num_outputs && !status; i++) {
		struct value *v = &l->values[i];

		if (v->tensor.omitted)
			return fail_step(l->frame, l->step, NN_GENERAL_FAILURE,
					 "output %u has no value: input %u is omitted", i, i + 2);
		/*
		 * A loop without iterations returns the step's input itself, so the result must be
		 * copied.
		 */
		if (!value_own(v, l->frame->run->heap))
			return fail_step(l->frame, l->step, NN_OUT_OF_MEMORY,
					 "no memory for output %u", i);
		status = store_result(l->frame, l->step, i, v);
	}
	return status;
}

static enum nn_status iterate(struct loop *l)
{
	enum nn_status status;
	bool holds;

	do {
		holds = false;
		status = test_condition(l, &holds);
		if (!status && holds)
			status = run_body(l);
	} while (!status && holds);
	return status ? status : store_state(l);
}

enum nn_status run_while(struct frame *f, const struct step *step)
{
	struct loop l = {
		.frame = f,
		.step = step,
		.condition = referenced(f, step, 0),
		.body = referenced(f, step, 1),
		.num_values = step->operation->num_inputs - 2,
		.start_ns = clock_ns(),
	};
	enum nn_status status = NN_OUT_OF_MEMORY;

	l.num_state = f->run->plan->graphs[l.body].subgraph->num_outputs;
	l.values = alloc_values(f, step, l.num_values);
	l.results = alloc_values(f, step, l.num_state);
	if (l.values && l.results) {
		view_inputs(f, step, 2, l.values);
		status = iterate(&l);
	}
	free_values(f, l.values, l.num_values);
	free_values(f, l.results, l.num_state);
	return status;
}
