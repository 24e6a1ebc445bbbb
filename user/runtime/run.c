/* SPDX-License-Identifier: MIT */
/*
 * Runs the steps of an execution in order, each step on its device. If a device fails, the CPU runs
 * the step, provided that the compilation allows fallback to the CPU.
 */
#include <inttypes.h>
#include <string.h>

#include "runtime/burst.h"
#include "runtime/domain.h"
#include "runtime/execution.h"
#include "runtime/extension.h"
#include "runtime/handle.h"
#include "runtime/log.h"
#include "runtime/memory_desc.h"
#include "runtime/observer.h"
#include "runtime/operand.h"
#include "runtime/trace.h"

struct nn_operand execution_output(const ANeuralNetworksExecution *execution, uint32_t index)
{
	const struct request_arg *arg = &execution->outputs[index];
	struct nn_operand operand = *model_output(execution->compilation->model, index);

	/*
	 * If an argument has a shape, the shape equals the model's shape or completes the model's
	 * unknown dimensions.
	 */
	if (arg->rank) {
		operand.rank = arg->rank;
		memcpy(operand.dims, arg->dims, sizeof(operand.dims));
	}
	return operand;
}

int execution_check_memories(const ANeuralNetworksExecution *execution, struct nn_error *err)
{
	uint32_t i;

	for (i = 0; i < execution->num_inputs; i++) {
		const struct request_arg *arg = &execution->inputs[i];
		int result = ANEURALNETWORKS_NO_ERROR;

		if (arg->memory && arg->memory->domain)
			result = memory_check_input(arg->memory, i, arg->rank, arg->dims, err);
		if (result != ANEURALNETWORKS_NO_ERROR)
			return result;
	}
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Sets the shapes of outputs from the model and the arguments; steps later report the true shapes.
 */
static void reset_shapes(ANeuralNetworksExecution *execution)
{
	uint32_t i;

	for (i = 0; i < execution->num_outputs; i++) {
		struct nn_operand operand = execution_output(execution, i);
		struct nn_output_shape *shape = &execution->shapes[i];

		shape->rank = operand.rank;
		memcpy(shape->dims, operand.dims, sizeof(shape->dims));
		shape->sufficient = true;
	}
}

/*
 * Returns whether a reported shape of an output is acceptable. A reported shape may only complete
 * unknown dimensions. If the output's memory was made from a memory description, the shape must
 * also fit this memory.
 */
static bool is_acceptable(const ANeuralNetworksExecution *execution, uint32_t index,
			  const struct nn_output_shape *shape)
{
	const ANeuralNetworksMemory *memory = execution->outputs[index].memory;
	struct nn_operand declared = execution_output(execution, index);

	return shape->rank >= declared.rank &&
	       nn_operand_merge_dims(&declared, shape->rank, shape->dims) &&
	       (!memory || !memory->domain || memory_may_hold(memory, shape->rank, shape->dims));
}

/*
 * Copies the shapes of outputs to the execution from the request of a step, or of the whole graph
 * if `step` is NULL.
 */
static int take_shapes(ANeuralNetworksExecution *execution, const struct step *step,
		       const struct request *request, struct nn_error *err)
{
	const struct partition *p = &execution->compilation->partition;
	uint32_t i;

	for (i = 0; i < request->num_outputs; i++) {
		const struct nn_output_shape *from = &request->shapes[i];
		const struct place *place = step ? &p->places[step->outputs[i]] : NULL;
		uint32_t index = place ? place->index : i;

		if (place && place->kind != PLACE_OUTPUT)
			continue;
		if (!request->outputs[i].omitted && from->sufficient &&
		    !is_acceptable(execution, index, from))
			return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
				       "the shape of output %u differs from the declared shape",
				       index);
		execution->shapes[index] = *from;
	}
	return ANEURALNETWORKS_NO_ERROR;
}

/* Runs a request on a prepared model, and copies the reported times and shapes to the execution. */
static int run_request(ANeuralNetworksExecution *execution, const struct step *step,
		       struct prepared *prepared, struct request *request, struct nn_error *err)
{
	int result, taken;

	if (trace_is_on())
		result = trace_execute(step, prepared, request, err);
	else
		result = prepared->ops->execute(prepared, request, err);
	execution->on_device_us = request->on_device_us;
	execution->in_driver_us = request->in_driver_us;
	execution->fenced_in_driver_us = request->in_driver_us;
	if (result != ANEURALNETWORKS_NO_ERROR &&
	    result != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
		return result;
	if (!request->shapes_known)
		return result;
	taken = take_shapes(execution, step, request, err);
	return taken != ANEURALNETWORKS_NO_ERROR ? taken : result;
}

/*
 * Runs a request on the CPU. Ordinary memory replaces device memory in the request, because the CPU
 * cannot access device memory.
 */
static int run_on_cpu(ANeuralNetworksExecution *execution, const struct step *step,
		      struct prepared *prepared, struct request *request, struct nn_error *err)
{
	struct bounce *saved;
	int result, written;

	result = domain_bounce(request, &saved, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = run_request(execution, step, prepared, request, err);
	written = domain_unbounce(request, saved, result == ANEURALNETWORKS_NO_ERROR, err);
	return result != ANEURALNETWORKS_NO_ERROR ? result : written;
}

/* Returns the request's argument for an operand of the whole graph. */
static struct request_arg place_argument(const ANeuralNetworksExecution *execution,
					 const ANeuralNetworksMemory *temporaries,
					 uint32_t operand)
{
	const struct partition *p = &execution->compilation->partition;
	const struct place *place = &p->places[operand];
	const struct nn_operand *o;
	struct request_arg arg = { .memory = temporaries, .offset = place->offset };

	if (place->kind == PLACE_INPUT)
		return execution->inputs[place->index];
	if (place->kind == PLACE_OUTPUT)
		return execution->outputs[place->index];
	o = &p->graph->model.subgraphs[0].operands[operand];
	arg.length = operand_size(o);
	arg.rank = o->rank;
	memcpy(arg.dims, o->dims, sizeof(arg.dims));
	return arg;
}

static void fill_request(const ANeuralNetworksExecution *execution,
			 const ANeuralNetworksMemory *temporaries, const struct step *step,
			 struct request *request)
{
	uint32_t i;

	for (i = 0; i < request->num_inputs; i++)
		request->inputs[i] = place_argument(execution, temporaries, step->inputs[i]);
	for (i = 0; i < request->num_outputs; i++)
		request->outputs[i] = place_argument(execution, temporaries, step->outputs[i]);
	request->deadline_ns = execution->deadline_ns;
	request->loop_timeout_ns = execution->loop_timeout_ns;
	request->measure = execution->measure;
	request->attributes = attributes_given(&execution->attributes);
}

/*
 * Returns whether the CPU may repeat a failed step. The CPU may not repeat a step that missed its
 * deadline, because the deadline applies to the CPU too.
 */
static bool may_fall_back(const ANeuralNetworksExecution *execution, const struct step *step,
			  int result)
{
	return result != ANEURALNETWORKS_NO_ERROR &&
	       result != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE &&
	       result != ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT &&
	       result != ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT &&
	       !execution->compilation->is_explicit && !device_is_cpu(step->device) &&
	       !compilation_is_foreign(execution->compilation);
}

/*
 * Runs a step with a complete request. If the step's device fails and may_fall_back() allows, runs
 * the step on the CPU.
 */
static int run_step(ANeuralNetworksExecution *execution, struct step *step,
		    struct request *request, struct nn_error *err)
{
	struct partition *p = &execution->compilation->partition;
	struct nn_error reason = { "" };
	struct prepared *fallback;
	int result;

	result = run_request(execution, step, step->prepared, request, &reason);
	/*
	 * If the engine has died and the CPU may not replace the device, wait for an engine that is
	 * restarting, and run the step a second time.
	 */
	if (result == ANEURALNETWORKS_DEAD_OBJECT && execution->compilation->is_explicit &&
	    !device_is_cpu(step->device) &&
	    handle_comes_back(step->device->handle, execution->deadline_ns)) {
		reason.message[0] = '\0';
		result = run_request(execution, step, step->prepared, request, &reason);
	}
	if (may_fall_back(execution, step, result)) {
		rt_fall_back(FALL_BACK_EXECUTE, result, "the CPU computes instead of %s after this "
			     "error: %s: %s", step->device->name, rt_result_name(result),
			     reason.message);
		reason.message[0] = '\0';
		result = partition_get_fallback(p, step, &fallback, &reason);
		if (result == ANEURALNETWORKS_NO_ERROR)
			result = run_on_cpu(execution, step, fallback, request, &reason);
	}
	if (result != ANEURALNETWORKS_NO_ERROR)
		rt_fail(err, result, "%s: %s", step->device->name, reason.message);
	return result;
}

/* Runs a step outside of a burst, with a request that is made for this run. */
static int run_single(ANeuralNetworksExecution *execution, struct step *step,
		      struct nn_error *err)
{
	struct arena arena = { NULL };
	struct request request;
	int result;

	if (step_init_request(step, &arena, &request)) {
		fill_request(execution, execution->temporaries, step, &request);
		result = run_step(execution, step, &request, err);
	} else {
		result = rt_out_of_memory(err);
	}
	arena_free(&arena);
	return result;
}

static int run_in_burst(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
			struct step *step, struct nn_error *err)
{
	struct request *request = &burst->requests[step - execution->compilation->partition.steps];

	fill_request(execution, burst->temporaries, step, request);
	return run_step(execution, step, request, err);
}

/* Runs the whole graph on the CPU, after one step failed on its device and on the CPU. */
static int run_whole(ANeuralNetworksExecution *execution, struct nn_error *err)
{
	struct request request = {
		.num_inputs = execution->num_inputs,
		.num_outputs = execution->num_outputs,
		.inputs = execution->inputs,
		.outputs = execution->outputs,
		.deadline_ns = execution->deadline_ns,
		.loop_timeout_ns = execution->loop_timeout_ns,
	};
	struct arena arena = { NULL };
	struct prepared *prepared;
	int result;

	reset_shapes(execution);
	request.shapes = arena_alloc(&arena, request.num_outputs, sizeof(request.shapes[0]));
	if (!request.shapes)
		return rt_out_of_memory(err);
	result = partition_get_fallback(&execution->compilation->partition, NULL, &prepared, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = run_on_cpu(execution, NULL, prepared, &request, err);
	arena_free(&arena);
	return result;
}

static int run_steps(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
		     struct nn_error *err)
{
	ANeuralNetworksMemory **temporaries = burst ? &burst->temporaries :
						      &execution->temporaries;
	struct partition *p = &execution->compilation->partition;
	struct nn_error reason = { "" };
	int result = ANEURALNETWORKS_NO_ERROR;
	struct step *step = NULL;
	uint32_t i;

	if (p->temporaries_size && !*temporaries)
		result = memory_create_shared(p->temporaries_size, partition_sharer(p),
					      temporaries, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	for (i = 0; i < p->num_steps && result == ANEURALNETWORKS_NO_ERROR; i++) {
		step = &p->steps[i];
		result = burst ? run_in_burst(execution, burst, step, &reason) :
				 run_single(execution, step, &reason);
	}
	if (p->num_steps > 1 && may_fall_back(execution, step, result)) {
		rt_fall_back(FALL_BACK_WHOLE, result, "the CPU executes the whole model after this "
			     "error: %s: %s", rt_result_name(result), reason.message);
		return run_whole(execution, err);
	}
	return result == ANEURALNETWORKS_NO_ERROR ? result : rt_fail(err, result, "%s", reason.message);
}

/*
 * For each output in a memory made from a description, records the new shape, or that the memory
 * was not written.
 */
static void note_outputs(const ANeuralNetworksExecution *execution, bool success)
{
	uint32_t i;

	for (i = 0; i < execution->num_outputs; i++) {
		const struct request_arg *arg = &execution->outputs[i];

		if (arg->memory && arg->memory->domain)
			memory_note_written(arg->memory, success, execution->shapes[i].rank,
					    execution->shapes[i].dims);
	}
}

void execution_abandon(ANeuralNetworksExecution *execution, int result)
{
	execution->result = result;
	reset_shapes(execution);
	note_outputs(execution, false);
	if (trace_is_on())
		observer_executed(execution);
	execution->state = EXECUTION_FINISHED;
}

int execution_run(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
		  uint64_t deadline_ns, struct nn_error *err)
{
	int result;

	if (trace_is_on())
		trace_begin("execute", "\"compilation\":%" PRIu64 ",\"burst\":%s",
			    execution->compilation->serial, burst ? "true" : "false");
	execution->deadline_ns = deadline_ns;
	reset_shapes(execution);
	result = run_steps(execution, burst, err);
	execution->result = result;
	note_outputs(execution, result == ANEURALNETWORKS_NO_ERROR);
	if (trace_is_on()) {
		trace_end("execute", result);
		trace_flush();
		observer_executed(execution);
	}
	/* Once the state is EXECUTION_FINISHED, another thread may free the execution. */
	execution->state = EXECUTION_FINISHED;
	return result;
}

/*
 * Returns whether the device can itself wait for the dependencies and then read all inputs. The
 * runtime must wait if it has to copy inputs at a pointer, or to check the shared memory of a
 * memory description.
 */
static bool finds_inputs(const ANeuralNetworksExecution *execution, bool at_once)
{
	uint32_t i;

	if (at_once)
		return execution_check_memories(execution, NULL) == ANEURALNETWORKS_NO_ERROR;
	for (i = 0; i < execution->num_inputs; i++) {
		const struct request_arg *arg = &execution->inputs[i];

		if (!arg->omitted && (!arg->memory ||
				      (arg->memory->domain && !memory_is_on_device(arg->memory))))
			return false;
	}
	return true;
}

static bool finds_outputs(const ANeuralNetworksExecution *execution)
{
	uint32_t i;

	for (i = 0; i < execution->num_outputs; i++)
		if (!execution->outputs[i].omitted && !execution->outputs[i].memory)
			return false;
	return true;
}

void execution_start_fenced(ANeuralNetworksExecution *execution, const int *wait_for,
			    uint32_t count, bool at_once, uint64_t duration_ns, int *fence)
{
	const struct partition *p = &execution->compilation->partition;
	const struct step *step = &p->steps[0];
	struct nn_error reason = { "" };
	struct arena arena = { NULL };
	struct request request;
	int result;

	*fence = -1;
	if (p->num_steps != 1 || !step->device->ops->execute_fenced || p->temporaries_size ||
	    !finds_inputs(execution, at_once) || !finds_outputs(execution))
		return;
	execution->deadline_ns = deadline_after(execution->timeout_ns);
	reset_shapes(execution);
	if (step_init_request(step, &arena, &request)) {
		fill_request(execution, NULL, step, &request);
		result = step->device->ops->execute_fenced(step->prepared, &request, wait_for,
							   count, duration_ns, fence, &reason);
		if (result == ANEURALNETWORKS_NO_ERROR && trace_is_on())
			execution->traced = trace_async_begin("fenced execution");
		/*
		 * Mark the outputs as written, because later executions may read the outputs. If
		 * the execution fails, execution_end_fenced() marks the outputs as not written.
		 */
		if (result == ANEURALNETWORKS_NO_ERROR)
			note_outputs(execution, true);
		else
			nna_log(NNA_LOG_INFO, "not fenced by %s: %s", step->device->name,
			       reason.message);
	}
	arena_free(&arena);
}

int execution_end_fenced(ANeuralNetworksExecution *execution, int fence, struct nn_error *err)
{
	const struct step *step = &execution->compilation->partition.steps[0];
	struct nna_timing launched, fenced;
	int result = step->device->ops->fence_result(step->device, fence, &launched, &fenced, err);

	execution->on_device_us = launched.on_device_us;
	execution->in_driver_us = launched.in_driver_us;
	execution->fenced_in_driver_us = fenced.in_driver_us;
	execution->result = result;
	if (result != ANEURALNETWORKS_NO_ERROR)
		note_outputs(execution, false);
	if (trace_is_on()) {
		trace_async_end("fenced execution", execution->traced, result);
		trace_flush();
		observer_executed(execution);
	}
	/* Once the state is EXECUTION_FINISHED, another thread may free the execution. */
	execution->state = EXECUTION_FINISHED;
	return result;
}
