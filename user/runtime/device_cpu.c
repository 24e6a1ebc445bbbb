/* SPDX-License-Identifier: MIT */
/*
 * The device nnapi-reference, which executes plans in this process.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/reach.h"
#include "ops/op.h"
#include "runtime/cache_cpu.h"
#include "runtime/device.h"
#include "runtime/log.h"
#include "runtime/trace.h"
#include "version.h"

#define CPU_NAME "nnapi-reference"

struct cpu_prepared {
	struct prepared base;
	struct nn_model model;		/* the graph's model, with its pools mapped */
	struct nn_pool *pools;
	struct nn_plan *plan;
	struct cpu_cached cached;	/* memory of a plan loaded from the cache */
};

/*
 * Finds the memories of constants that the CPU cannot map, and returns the number of such memories.
 */
static int find_unreachable(const struct graph *graph, bool *unreachable)
{
	uint32_t i, count = 0;

	for (i = 0; i < graph->model.num_pools; i++) {
		struct nn_error why = { "" };
		uint8_t *base;

		unreachable[i] = memory_begin(graph->memories[i], PROT_READ, &base, &why) !=
				 ANEURALNETWORKS_NO_ERROR;
		if (unreachable[i])
			count++;
		else
			memory_end(graph->memories[i], PROT_READ, false, base, &why);
	}
	return count;
}

static bool is_within(const void *unreachable, const struct nn_location *at)
{
	return !((const bool *)unreachable)[at->pool];
}

static int cpu_get_supported(const ANeuralNetworksDevice *device, const struct graph *graph,
			     bool *supported, struct nn_error *err)
{
	int result = rt_fail_status(err, nn_ops_check_model(&graph->model, supported, err));
	bool *unreachable;

	(void)device;
	if (result != ANEURALNETWORKS_NO_ERROR || !graph->model.num_pools)
		return result;
	unreachable = calloc(graph->model.num_pools, sizeof(*unreachable));
	if (!unreachable)
		return rt_out_of_memory(err);
	if (find_unreachable(graph, unreachable))
		result = rt_fail_status(err, nn_deny_unreachable(&graph->model, is_within,
								 unreachable, supported, err));
	free(unreachable);
	return result;
}

static void cpu_free(struct prepared *prepared)
{
	struct cpu_prepared *cpu = (struct cpu_prepared *)prepared;

	if (!cpu->cached.plan)
		nn_plan_free(cpu->plan);
	cpu_cached_free(&cpu->cached);
	free(cpu->pools);
	free(cpu);
}

/*
 * Ends the CPU's accesses to the first `count` memories of constants. Returns `result`, or if
 * `result` is no error, the first error of an access's end.
 */
static int end_pools(const struct cpu_prepared *cpu, const struct graph *graph, uint32_t count,
		     int result, struct nn_error *err)
{
	while (count--) {
		struct nn_error one = { "" };
		int ended = memory_end(graph->memories[count], PROT_READ, false,
				       (uint8_t *)cpu->pools[count].base, &one);

		if (result == ANEURALNETWORKS_NO_ERROR && ended != ANEURALNETWORKS_NO_ERROR) {
			result = ended;
			*err = one;
		}
	}
	return result;
}

/*
 * Begins the CPU's accesses to the memories of constants. The accesses end when the plan is made.
 * The plan may still read the constants later, because constants do not change.
 */
static int begin_pools(struct cpu_prepared *cpu, const struct graph *graph, struct nn_error *err)
{
	uint32_t i;

	cpu->pools = calloc(graph->model.num_pools + 1, sizeof(cpu->pools[0]));
	if (!cpu->pools)
		return rt_out_of_memory(err);
	for (i = 0; i < graph->model.num_pools; i++) {
		uint8_t *base;
		int result = memory_begin(graph->memories[i], PROT_READ, &base, err);

		if (result != ANEURALNETWORKS_NO_ERROR)
			return end_pools(cpu, graph, i, result, err);
		cpu->pools[i] = (struct nn_pool){ base, graph->model.pools[i].size };
	}
	cpu->model = graph->model;
	cpu->model.pools = cpu->pools;
	return ANEURALNETWORKS_NO_ERROR;
}

static struct nn_plan_options to_plan_options(const struct prepare_options *options)
{
	return (struct nn_plan_options){
		.preference = options->preference,
		.deadline_ns = options->deadline_ns,
	};
}

static int cpu_prepare(const ANeuralNetworksDevice *device, const struct graph *graph,
		       const struct prepare_options *options, const struct nna_cache *cache,
		       struct prepared **prepared, struct nn_error *err)
{
	const struct nn_plan_options plan_options = to_plan_options(options);
	struct cpu_prepared *cpu = calloc(1, sizeof(*cpu));
	int result;

	if (!cpu)
		return rt_out_of_memory(err);
	cpu->base.ops = device->ops;
	result = begin_pools(cpu, graph, err);
	if (result == ANEURALNETWORKS_NO_ERROR) {
		result = rt_fail_status(err, nn_plan_create(&cpu->model, &plan_options,
							    &cpu->plan, err));
		result = end_pools(cpu, graph, graph->model.num_pools, result, err);
	}
	if (result != ANEURALNETWORKS_NO_ERROR) {
		cpu_free(&cpu->base);
		return result;
	}
	if (cache)
		cpu_cache_save(cpu->plan, cache, cache->not_saved);
	*prepared = &cpu->base;
	return ANEURALNETWORKS_NO_ERROR;
}

static bool same_lists(const struct nn_subgraph *a, const uint32_t *in_a,
		       const struct nn_subgraph *b, const uint32_t *in_b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct nn_operand *x = &a->operands[in_a[i]], *y = &b->operands[in_b[i]];

		if (x->type != y->type || x->rank != y->rank || x->scale != y->scale ||
		    x->zero_point != y->zero_point || memcmp(x->dims, y->dims, sizeof(x->dims)))
			return false;
	}
	return true;
}

static bool same_arguments(const struct nn_subgraph *a, const struct nn_subgraph *b)
{
	return a->num_inputs == b->num_inputs && a->num_outputs == b->num_outputs &&
	       same_lists(a, a->inputs, b, b->inputs, a->num_inputs) &&
	       same_lists(a, a->outputs, b, b->outputs, a->num_outputs);
}

static int cpu_prepare_cached(const ANeuralNetworksDevice *device, const struct graph *graph,
			      const struct prepare_options *options,
			      const struct nna_cache *cache, struct prepared **prepared,
			      struct nn_error *err)
{
	const struct nn_plan_options plan_options = to_plan_options(options);
	struct cpu_prepared *cpu = calloc(1, sizeof(*cpu));
	int result;

	if (!cpu)
		return rt_out_of_memory(err);
	cpu->base.ops = device->ops;
	result = rt_fail_status(err, cpu_cache_load(cache, &plan_options, &cpu->cached, err));
	if (result == ANEURALNETWORKS_NO_ERROR &&
	    !same_arguments(nn_plan_main(cpu->cached.plan), &graph->model.subgraphs[0]))
		result = rt_fail(err, ANEURALNETWORKS_OP_FAILED,
				 "cache: the entry belongs to another model");
	if (result != ANEURALNETWORKS_NO_ERROR) {
		cpu_free(&cpu->base);
		return result;
	}
	cpu->plan = cpu->cached.plan;
	*prepared = &cpu->base;
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Begins the CPU's accesses to the memories of arguments. Sets the data pointer of each argument
 * whose access has begun.
 */
static int begin_args(const struct request_arg *from, uint32_t count, int prot, struct nn_arg *to,
		      struct nn_error *err)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint8_t *data = from[i].pointer;

		if (from[i].memory) {
			int result = memory_begin(from[i].memory, prot, &data, err);

			if (result != ANEURALNETWORKS_NO_ERROR)
				return result;
			data += from[i].offset;
		}
		to[i] = (struct nn_arg){ .data = data, .length = from[i].length,
					 .rank = from[i].rank, .omitted = from[i].omitted };
		memcpy(to[i].dims, from[i].dims, sizeof(to[i].dims));
	}
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Ends the access to an argument that begin_args() began. If the argument's data pointer is NULL,
 * begin_args() has not begun an access.
 */
static int end_arg(const struct request_arg *from, const struct nn_arg *arg, int prot,
		   bool written, struct nn_error *err)
{
	if (!from->memory || !arg->data)
		return ANEURALNETWORKS_NO_ERROR;
	return memory_end(from->memory, prot, written, (uint8_t *)arg->data - from->offset, err);
}

static int end_args(const struct request *request, bool written, const struct nn_arg *args,
		    struct nn_error *err)
{
	int result = ANEURALNETWORKS_NO_ERROR, one;
	uint32_t i;

	for (i = 0; i < request->num_inputs; i++) {
		one = end_arg(&request->inputs[i], args++, PROT_READ, false, err);
		result = result == ANEURALNETWORKS_NO_ERROR ? one : result;
	}
	for (i = 0; i < request->num_outputs; i++) {
		one = end_arg(&request->outputs[i], args++, PROT_WRITE, written, err);
		result = result == ANEURALNETWORKS_NO_ERROR ? one : result;
	}
	return result;
}

static int cpu_execute(struct prepared *prepared, struct request *request, struct nn_error *err)
{
	struct cpu_prepared *cpu = (struct cpu_prepared *)prepared;
	uint32_t count = request->num_inputs + request->num_outputs;
	struct nn_arg *args = calloc(count + 1, sizeof(args[0]));
	struct nn_execution execution = {
		.num_inputs = request->num_inputs,
		.num_outputs = request->num_outputs,
		.inputs = args,
		.outputs = args + request->num_inputs,
		.shapes = request->shapes,
		.deadline_ns = request->deadline_ns,
		.loop_timeout_ns = request->loop_timeout_ns,
		.times = request->trace ? &request->trace->times : NULL,
	};
	int result, ended;
	bool done;

	if (!args)
		return rt_out_of_memory(err);
	result = begin_args(request->inputs, request->num_inputs, PROT_READ, args, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = begin_args(request->outputs, request->num_outputs, PROT_WRITE,
				    args + request->num_inputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err, nn_plan_execute(cpu->plan, &execution, err));
	done = result == ANEURALNETWORKS_NO_ERROR;
	ended = end_args(request, done, args, done ? err : NULL);
	if (done)
		result = ended;
	request->shapes_known = execution.shapes_known;
	request->on_device_us = NNA_TIME_NONE;
	request->in_driver_us = NNA_TIME_NONE;
	free(args);
	return result;
}

static int cpu_open_channel(struct prepared *prepared, struct channel **channel,
			    struct nn_error *err)
{
	(void)prepared;
	(void)err;
	*channel = NULL;
	return ANEURALNETWORKS_NO_ERROR;
}

static void cpu_close_channel(struct channel *channel)
{
	(void)channel;
}

static int cpu_wait(const ANeuralNetworksDevice *device, struct nn_error *err)
{
	(void)device;
	(void)err;
	return ANEURALNETWORKS_NO_ERROR;
}

static const struct device_ops cpu_ops = {
	.get_supported = cpu_get_supported,
	.prepare = cpu_prepare,
	.prepare_cached = cpu_prepare_cached,
	.execute = cpu_execute,
	.free = cpu_free,
	.open_channel = cpu_open_channel,
	.close_channel = cpu_close_channel,
	.wait = cpu_wait,
};

/* The performance figures of all devices are relative to nnapi-reference. */
void device_cpu_open(ANeuralNetworksDevice *device)
{
	const struct nn_performance unit = { 1.0f, 1.0f };
	static struct device_facts facts;
	struct nn_device_info *info = &facts.info;
	uint32_t i;

	memset(device, 0, sizeof(*device));
	atomic_init(&device->facts, &facts);
	device->name = CPU_NAME;
	device->ops = &cpu_ops;
	info->magic = NN_DEVICE_MAGIC;
	info->size = sizeof(*info);
	strcpy(info->version, NNACCEL_VERSION);
	info->type = NN_DEVICE_CPU;
	info->feature_level = nn_op_feature_level();
	info->model_cache_files = 1;
	info->data_cache_files = 1;
	info->relaxed_scalar = unit;
	info->relaxed_tensor = unit;
	info->if_performance = unit;
	info->while_performance = unit;
	for (i = 0; i < NN_TYPE_COUNT; i++)
		info->operand[i] = unit;
}
