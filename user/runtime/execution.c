/* SPDX-License-Identifier: MIT */
/*
 * Executions: sets arguments and options, runs executions (synchronous, in a burst, asynchronous or
 * fenced), and returns shapes and times.
 */
#include "runtime/execution.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/argument.h"
#include "runtime/burst.h"
#include "runtime/event.h"
#include "runtime/extension.h"
#include "runtime/log.h"
#include "runtime/operand.h"
#include "runtime/trace.h"

#define NS_PER_US 1000

static int create(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution **execution,
		  struct nn_error *err)
{
	const struct nn_subgraph *main;
	ANeuralNetworksExecution *e;
	int result = compilation_check_valid(compilation, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	main = model_main(compilation->model);
	e = calloc(1, sizeof(*e));
	if (!e)
		return rt_out_of_memory(err);
	e->compilation = compilation_get(compilation);
	e->num_inputs = main->num_inputs;
	e->num_outputs = main->num_outputs;
	e->inputs = calloc((size_t)e->num_inputs + 1, sizeof(e->inputs[0]));
	e->outputs = calloc((size_t)e->num_outputs + 1, sizeof(e->outputs[0]));
	e->is_set = calloc((size_t)e->num_inputs + e->num_outputs + 1, sizeof(bool));
	e->shapes = calloc((size_t)e->num_outputs + 1, sizeof(e->shapes[0]));
	if (!e->inputs || !e->outputs || !e->is_set || !e->shapes) {
		ANeuralNetworksExecution_free(e);
		return rt_out_of_memory(err);
	}
	e->loop_timeout_ns = ANeuralNetworks_getDefaultLoopTimeout();
	*execution = e;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksExecution_create(ANeuralNetworksCompilation *compilation,
				    ANeuralNetworksExecution **execution)
{
	RT_NOT_NULL(execution);
	*execution = NULL;
	RT_NOT_NULL(compilation);
	return RT_CALL(create(compilation, execution, &err));
}

/*
 * Returns the state of an execution. After the execution's fence has signalled, the state is that
 * of an ended execution, even if no thread waited for the fence.
 */
static enum execution_state look(const ANeuralNetworksExecution *execution)
{
	if (execution->state == EXECUTION_STARTED && execution->event)
		event_look(execution->event);
	return execution->state;
}

void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution)
{
	if (!execution)
		return;
	if (look(execution) == EXECUTION_STARTED) {
		nna_log(NNA_LOG_ERROR, "%s: ignored, because the execution runs", __func__);
		return;
	}
	event_put(execution->event);
	ANeuralNetworksMemory_free(execution->temporaries);
	attributes_free(&execution->attributes);
	free(execution->shapes);
	free(execution->is_set);
	free(execution->outputs);
	free(execution->inputs);
	compilation_put(execution->compilation);
	free(execution);
}

int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
				      const ANeuralNetworksOperandType *type, const void *buffer,
				      size_t length)
{
	/* The cast drops `const`, but the runtime only reads inputs. */
	const struct argument argument = { .index = index, .type = type,
					   .buffer = (void *)buffer, .length = length };

	RT_NOT_NULL(execution);
	if (!buffer && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
				 "input %d: NULL and a length of %zu", index, length);
	return RT_CALL(execution_set_argument(execution, &argument, &err));
}

int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution *execution,
						int32_t index,
						const ANeuralNetworksOperandType *type,
						const ANeuralNetworksMemory *memory,
						size_t offset, size_t length)
{
	const struct argument argument = { .index = index, .type = type, .memory = memory,
					   .offset = offset, .length = length };

	RT_NOT_NULL(execution, memory);
	return RT_CALL(execution_set_argument(execution, &argument, &err));
}

int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
				       const ANeuralNetworksOperandType *type, void *buffer,
				       size_t length)
{
	const struct argument argument = { .output = true, .index = index, .type = type,
					   .buffer = buffer, .length = length };

	RT_NOT_NULL(execution);
	if (!buffer && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
				 "output %d: NULL and a length of %zu", index, length);
	return RT_CALL(execution_set_argument(execution, &argument, &err));
}

int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution *execution,
						 int32_t index,
						 const ANeuralNetworksOperandType *type,
						 const ANeuralNetworksMemory *memory,
						 size_t offset, size_t length)
{
	const struct argument argument = { .output = true, .index = index, .type = type,
					   .memory = memory, .offset = offset,
					   .length = length };

	RT_NOT_NULL(execution, memory);
	return RT_CALL(execution_set_argument(execution, &argument, &err));
}

static int check_configuring(const ANeuralNetworksExecution *execution, struct nn_error *err)
{
	if (execution->state != EXECUTION_CONFIGURING)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the execution was started");
	return ANEURALNETWORKS_NO_ERROR;
}

/* Refuses timing and timeouts unless the compilation is for exactly one device. */
static int check_one_device(const ANeuralNetworksExecution *execution, struct nn_error *err)
{
	if (!compilation_has_one_device(execution->compilation))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "this needs a compilation for exactly one device");
	return check_configuring(execution, err);
}

int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure)
{
	int result;

	RT_NOT_NULL(execution);
	result = RT_CALL(check_one_device(execution, &err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		execution->measure = measure;
	return result;
}

int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration)
{
	int result;

	RT_NOT_NULL(execution);
	result = RT_CALL(check_one_device(execution, &err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		execution->timeout_ns = duration;
	return result;
}

int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution,
					    uint64_t duration)
{
	uint64_t most = ANeuralNetworks_getMaximumLoopTimeout();
	int result;

	RT_NOT_NULL(execution);
	result = RT_CALL(check_configuring(execution, &err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		execution->loop_timeout_ns = duration < most ? duration : most;
	/*
	 * For a device a timeout of 0 is the default; an application that sets 0 allows no time at
	 * all.
	 */
	if (!execution->loop_timeout_ns)
		execution->loop_timeout_ns = 1;
	return result;
}

int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable)
{
	int result;

	RT_NOT_NULL(execution);
	result = RT_CALL(check_configuring(execution, &err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		execution->reusable = reusable;
	return result;
}

int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution,
							 bool enable)
{
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(execution);
	result = check_configuring(execution, &err);
	if (result == ANEURALNETWORKS_NO_ERROR && execution->any_set)
		result = rt_fail(&err, ANEURALNETWORKS_BAD_STATE, "an argument was set already");
	if (result == ANEURALNETWORKS_NO_ERROR)
		execution->padded = enable;
	return rt_end(result, &err);
}

static int check_startable(const ANeuralNetworksExecution *execution, struct nn_error *err)
{
	enum execution_state state = look(execution);
	uint32_t i;

	if (state == EXECUTION_STARTED)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the execution runs");
	if (state == EXECUTION_FINISHED && !execution->reusable)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE,
			       "the execution has run, and is not reusable");
	for (i = 0; i < execution->num_inputs + execution->num_outputs; i++)
		if (!execution->is_set[i])
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s %u is not set",
				       i < execution->num_inputs ? "input" : "output",
				       i < execution->num_inputs ? i : i - execution->num_inputs);
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Starts an execution. If several threads start an execution at the same time, only one thread
 * succeeds.
 */
static int start(ANeuralNetworksExecution *execution, enum execution_way way, struct nn_error *err)
{
	enum execution_state first = EXECUTION_CONFIGURING, again = EXECUTION_FINISHED;

	if (!atomic_compare_exchange_strong(&execution->state, &first, EXECUTION_STARTED) &&
	    !(execution->reusable &&
	      atomic_compare_exchange_strong(&execution->state, &again, EXECUTION_STARTED)))
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE,
			       "another thread started the execution");
	event_put(execution->event);
	execution->event = NULL;
	execution->way = way;
	if (trace_is_on())
		execution->started_ns = clock_ns();
	return ANEURALNETWORKS_NO_ERROR;
}

/* Starts an execution that waits for no dependencies, so its inputs must have contents already. */
static int start_at_once(ANeuralNetworksExecution *execution, enum execution_way way,
			 struct nn_error *err)
{
	int result = check_startable(execution, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = execution_check_memories(execution, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = start(execution, way, err);
	return result;
}

/* Computes an execution synchronously, in `burst` if `burst` is not NULL. */
static int compute(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
		   struct nn_error *err)
{
	int result = start_at_once(execution, burst ? EXECUTION_BURST : EXECUTION_SYNC, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = execution_run(execution, burst, deadline_after(execution->timeout_ns),
				       err);
	return result;
}

int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution)
{
	RT_NOT_NULL(execution);
	return RT_CALL(compute(execution, NULL, &err));
}

int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution *execution,
					  ANeuralNetworksBurst *burst)
{
	int result;

	RT_NOT_NULL(execution, burst);
	if (burst->compilation != execution->compilation)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA,
				 "the burst belongs to another compilation");
	if (!burst_try_lock(burst))
		return rt_refuse(ANEURALNETWORKS_BAD_STATE, "the burst is busy");
	result = RT_CALL(compute(execution, burst, &err));
	burst_unlock(burst);
	return result;
}

static int start_compute(ANeuralNetworksExecution *execution, ANeuralNetworksEvent **event,
			 struct nn_error *err)
{
	int result = start_at_once(execution, EXECUTION_ASYNC, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	return event_start_execution(execution, NULL, 0, 0, event, err);
}

int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution *execution,
					  ANeuralNetworksEvent **event)
{
	RT_NOT_NULL(event);
	*event = NULL;
	RT_NOT_NULL(execution);
	return RT_CALL(start_compute(execution, event, &err));
}

static int check_fenced(const ANeuralNetworksExecution *execution, uint64_t duration,
			struct nn_error *err)
{
	uint32_t i;

	if (duration && !compilation_has_one_device(execution->compilation))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "a duration needs a compilation for exactly one device");
	for (i = 0; i < execution->num_outputs; i++) {
		struct nn_operand output = execution_output(execution, i);

		if (!execution->outputs[i].omitted && operand_is_dynamic(&output))
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "output %u: a fenced execution needs its whole shape", i);
	}
	return ANEURALNETWORKS_NO_ERROR;
}

static int start_fenced(ANeuralNetworksExecution *execution,
			const ANeuralNetworksEvent *const *dependencies, uint32_t count,
			uint64_t duration, ANeuralNetworksEvent **event, struct nn_error *err)
{
	int result = check_startable(execution, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_fenced(execution, duration, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = start(execution, EXECUTION_FENCED, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	return event_start_fenced(execution, dependencies, count, duration, event, err);
}

int ANeuralNetworksExecution_startComputeWithDependencies(
	ANeuralNetworksExecution *execution, const ANeuralNetworksEvent *const *dependencies,
	uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent **event)
{
	uint32_t i;

	RT_NOT_NULL(event);
	*event = NULL;
	RT_NOT_NULL(execution);
	if (!dependencies && num_dependencies)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
				 "%u dependencies, their pointer is NULL",
				 num_dependencies);
	for (i = 0; i < num_dependencies; i++)
		if (!dependencies[i])
			return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
					 "dependency %u is NULL", i);
	return RT_CALL(start_fenced(execution, dependencies, num_dependencies, duration, event,
				   &err));
}

/*
 * Finds the shape of an output, and returns the ResultCode for an application's query of the shape.
 */
static int find_shape(const ANeuralNetworksExecution *execution, int32_t index,
		      const struct nn_output_shape **shape, struct nn_error *err)
{
	if (look(execution) != EXECUTION_FINISHED)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the execution has not ended");
	if (execution->result != ANEURALNETWORKS_NO_ERROR &&
	    execution->result != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the execution failed: %s",
			       rt_result_name(execution->result));
	if (index < 0 || (uint32_t)index >= execution->num_outputs)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "output %d must be below %u", index,
			       execution->num_outputs);
	*shape = &execution->shapes[index];
	return ANEURALNETWORKS_NO_ERROR;
}

static int tell_sufficiency(const struct nn_output_shape *shape, int32_t index,
			    struct nn_error *err)
{
	if (shape->sufficient)
		return ANEURALNETWORKS_NO_ERROR;
	return rt_fail(err, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
		       "output %d did not fit its buffer", index);
}

int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution,
						  int32_t index, uint32_t *rank)
{
	const struct nn_output_shape *shape;
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(execution, rank);
	result = find_shape(execution, index, &shape, &err);
	if (result == ANEURALNETWORKS_NO_ERROR) {
		*rank = shape->rank;
		result = tell_sufficiency(shape, index, &err);
	}
	return rt_end(result, &err);
}

int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution,
							int32_t index, uint32_t *dimensions)
{
	const struct nn_output_shape *shape;
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(execution, dimensions);
	result = find_shape(execution, index, &shape, &err);
	if (result == ANEURALNETWORKS_NO_ERROR && !shape->rank)
		result = rt_fail(&err, ANEURALNETWORKS_BAD_DATA,
				 "output %d is a scalar or of unknown rank", index);
	if (result == ANEURALNETWORKS_NO_ERROR) {
		memcpy(dimensions, shape->dims, shape->rank * sizeof(dimensions[0]));
		result = tell_sufficiency(shape, index, &err);
	}
	return rt_end(result, &err);
}

static int get_duration(const ANeuralNetworksExecution *execution, int32_t code,
			uint64_t *duration, struct nn_error *err)
{
	uint64_t us;

	if (code < ANEURALNETWORKS_DURATION_ON_HARDWARE ||
	    code > ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "unknown duration code %d", code);
	if (look(execution) != EXECUTION_FINISHED)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the execution has not ended");
	if (execution->result != ANEURALNETWORKS_NO_ERROR)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the execution failed: %s",
			       rt_result_name(execution->result));
	if (!execution->measure)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "setMeasureTiming was not called");
	us = code == ANEURALNETWORKS_DURATION_IN_DRIVER ? execution->in_driver_us :
	     code == ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER ? execution->fenced_in_driver_us :
								 execution->on_device_us;
	if (us != NNA_TIME_NONE)
		*duration = us * NS_PER_US;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *execution,
					 int32_t durationCode, uint64_t *duration)
{
	RT_NOT_NULL(execution, duration);
	*duration = UINT64_MAX;
	return RT_CALL(get_duration(execution, durationCode, duration, &err));
}
