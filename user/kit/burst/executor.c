// SPDX-License-Identifier: MIT
/*
 * Runs a burst's request: finds the request's memory, checks its arguments, and executes the plan.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/burst/access.h"
#include "kit/burst/executor.h"
#include "kit/session/command.h"
#include "kit/session/rows.h"

struct scratch *scratch_create(uint32_t capacity)
{
	struct scratch *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->datums = calloc(capacity, sizeof(*s->datums));
	s->request.args = calloc(capacity, sizeof(*s->request.args));
	s->request.slots = calloc(capacity, sizeof(*s->request.slots));
	s->result.shapes = calloc(capacity, sizeof(*s->result.shapes));
	s->mappings = calloc(capacity, sizeof(struct mapping *));
	s->accesses = calloc(capacity, sizeof(*s->accesses));
	s->args = calloc(capacity, sizeof(*s->args));
	s->arg_slots = calloc(capacity, sizeof(*s->arg_slots));
	s->staged = calloc(capacity, sizeof(*s->staged));
	s->shapes = calloc(capacity, sizeof(*s->shapes));
	if (!s->datums || !s->request.args || !s->request.slots || !s->result.shapes ||
	    !s->mappings || !s->accesses || !s->args || !s->arg_slots || !s->staged || !s->shapes) {
		scratch_free(s);
		return NULL;
	}
	s->request.max_args = capacity;
	s->request.max_slots = capacity;
	s->capacity = capacity;
	return s;
}

void scratch_free(struct scratch *s)
{
	if (!s)
		return;
	free(s->datums);
	free(s->request.args);
	free(s->request.slots);
	free(s->result.shapes);
	free(s->mappings);
	free(s->accesses);
	free(s->args);
	free(s->arg_slots);
	free(s->staged);
	free(s->shapes);
	free(s);
}

static void tell_shapes(struct scratch *s)
{
	s->result.num_outputs = s->request.num_outputs;
	for (uint32_t i = 0; i < s->result.num_outputs; i++) {
		const struct nn_output_shape *from = &s->shapes[i];
		struct nnaccel_shape *to = &s->result.shapes[i];

		to->flags = from->sufficient ? NNACCEL_SHAPE_SUFFICIENT : 0;
		to->rank = from->rank;
		memcpy(to->dims, from->dims, sizeof(to->dims));
	}
}

/*
 * Switches the executor to the model's current prepared form, after the engine has replaced the
 * form that the last request used.
 */
static void renew_form(struct executor *executor)
{
	models_put_form(executor->models, executor->loaded, executor->form);
	executor->form = models_form(executor->models, executor->loaded);
}

static enum nn_status execute(struct executor *executor, struct scratch *s)
{
	const struct nna_engine *engine = executor->models->engine;
	struct nn_execution *execution = &s->execution;

	if (executor->of_engine) {
		for (uint32_t i = 0; i < execution->num_inputs + execution->num_outputs; i++)
			s->arg_slots[i] = s->args[i].omitted ? 0 :
					  s->request.slots[s->request.args[i].pool];
		return executor->of_engine->execute(executor->own, s->arg_slots,
						    s->running.execution, execution, &s->err);
	}
	/* A burst that began with a prepared model keeps this prepared model until its end. */
	if (!engine->begin_burst &&
	    atomic_load_explicit(&executor->loaded->form, memory_order_relaxed) != executor->form)
		renew_form(executor);
	return engine->execute(engine, executor->form->prepared, s->running.execution, execution,
			       &s->err);
}

static struct memory_args memory_args_of(const struct scratch *s)
{
	return (struct memory_args){
		.from = s->request.args, .pools = s->mappings, .num_inputs = s->request.num_inputs,
		.count = s->request.num_inputs + s->request.num_outputs,
		.args = s->args, .staged = s->staged,
	};
}

/* Runs a request whose memory is mapped and whose accesses have begun. */
static enum nn_status run(struct executor *executor, struct scratch *s)
{
	const struct memory_args args = memory_args_of(s);
	enum nn_status status;

	s->execution = (struct nn_execution){
		.num_inputs = s->request.num_inputs,
		.num_outputs = s->request.num_outputs,
		.inputs = s->args,
		.outputs = s->args + s->request.num_inputs,
		.shapes = s->shapes,
		.measure = s->request.measure,
	};
	s->execute_ns = s->request.measure ? clock_ns() : 0;
	status = memory_args_begin(&args, &s->err);
	s->running.grants = executor->grants;
	s->running.pools = s->mappings;
	s->running.num_pools = s->request.num_slots;
	if (!status)
		status = running_begin(&s->running, &s->err);
	if (status)
		return status;
	return running_end(&s->running, execute(executor, s), &s->err);
}

/* Ends the accesses of a request after its execution, and returns the request's status. */
static enum nn_status finish(struct executor *executor, struct scratch *s, enum nn_status status)
{
	const struct loaded_model *loaded = executor->loaded;
	const struct memory_args args = memory_args_of(s);
	struct nn_error broken = { "" };
	enum nn_status memory_status;

	memory_args_end(&args, !status);
	s->device_ns = s->execution.device_ns;
	if (s->request.measure) {
		s->device_ns = s->device_ns ? s->device_ns : clock_ns() - s->execute_ns;
		s->result.device_ns = s->device_ns;
	}

	/*
	 * Report lost memory rather than other failures, because lost memory causes other failures.
	 */
	memory_status = access_end(executor, s, &broken);
	if (!memory_status)
		memory_status = mappings_check(s->mappings, s->request.num_slots, &broken);
	if (!memory_status)
		memory_status = mappings_check(loaded->pools, loaded->num_pools, &broken);
	if (memory_status) {
		s->err = broken;
		return memory_status;
	}
	if (s->execution.shapes_known)
		tell_shapes(s);
	return status;
}

static void set_result(struct executor *executor, struct scratch *s, enum nn_status status)
{
	if (s->request.measure)
		s->result.driver_ns = clock_ns() - s->start_ns;
	s->is_lost = status == NN_DEAD_OBJECT;
	s->result.status = command_status(status);
	s->result.message = status ? s->err.message : NULL;
	if (status)
		log_debug("burst %u: %s: %s", executor->burst, nn_status_name(status),
			  s->err.message);
}

bool executor_run(struct executor *executor, struct scratch *s)
{
	enum nn_status status;

	s->start_ns = s->request.measure ? clock_ns() : 0;
	s->err.message[0] = '\0';
	s->device_ns = 0;
	s->result.num_outputs = 0;
	s->result.device_ns = NNACCEL_TIME_NONE;
	s->result.driver_ns = NNACCEL_TIME_NONE;
	status = executor_get_memory(executor, &s->request, s->mappings, &s->err);
	if (!status) {
		status = access_begin(executor, s, &s->err);
		if (!status) {
			status = run(executor, s);
			if (status == NNA_ENGINE_DEFERRED)
				return false;
			status = finish(executor, s, status);
		}
		executor_put_memory(executor);
	}
	set_result(executor, s, status);
	return true;
}

void executor_resume(struct executor *executor, struct scratch *s)
{
	enum nn_status status = running_end(&s->running, NNA_ENGINE_DEFERRED, &s->err);

	status = finish(executor, s, status);
	executor_put_memory(executor);
	set_result(executor, s, status);
}
