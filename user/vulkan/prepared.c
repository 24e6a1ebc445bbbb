// SPDX-License-Identifier: MIT
/*
 * Prepares models for a GPU, and executes them: memory, arguments and submissions.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/round.h"
#include "vulkan/commands.h"
#include "vulkan/prepared.h"

/*
 * After each of the first TUNINGS executions, the commands are divided into submissions again, by
 * the measured times.
 */
#define TUNINGS		4

#define ARGUMENT_ALIGN	256

/*
 * Recorded transfers of inputs and outputs. A recording is valid only while the arguments have the
 * locations in `places`. A prepared model stores ENDS recordings, because a burst alternates
 * between a few sets of argument locations.
 */
#define ENDS		8

struct ends {
	VkCommandBuffer commands[2];	/* recorded transfers of inputs [0] and of outputs [1] */
	struct place *places;		/* places of all arguments */
	bool is_recorded;
};

struct prepared {
	struct gpu *gpu;
	struct graph graph;
	/* the graph's model, if this structure owns the model; otherwise NULL */
	struct nn_model *own_model;
	struct gpu_buffer memory;
	struct gpu_buffer staging;
	struct transfer *transfers;	/* array: transfers of inputs, then transfers of outputs */
	VkDescriptorPool pool;
	VkDescriptorSet set;
	VkFence fence;
	VkSemaphore begin;	/* imports a sync_file; VK_NULL_HANDLE without driver support */
	VkSemaphore end;	/* exports a sync_file; VK_NULL_HANDLE without driver support */
	VkQueryPool times;	/* VK_NULL_HANDLE if the GPU has no timestamps */

	pthread_mutex_t lock;	/* protects the fields below; an execution holds `lock` */
	struct commands commands;
	struct ends ends[ENDS];
	struct ends *now;		/* the recorded transfers that the current execution uses */
	uint32_t num_records;		/* number of times that transfers were recorded */
	uint64_t copies;
	bool is_running;		/* set while commands run and `fence` has not signalled */
	/* set if exporting the semaphore `end` failed, so that it stays signalled */
	bool cannot_export;
	uint32_t tunings;		/* atomic; written only by a thread that holds `lock` */
};

/* Number of arguments that the CPU has copied for all models; atomic. */
static uint64_t all_copies;

uint64_t prepared_copies(void)
{
	return __atomic_load_n(&all_copies, __ATOMIC_RELAXED);
}

static void count_copy(struct prepared *p)
{
	p->copies++;
	__atomic_add_fetch(&all_copies, 1, __ATOMIC_RELAXED);
}

static const struct nn_subgraph *main_of(const struct prepared *p)
{
	return &p->graph.model->subgraphs[0];
}

/* ---- Making it ---- */

/*
 * Chooses the offset of each argument in the staging buffer. The staging buffer begins with the
 * timestamps. Returns the size of the staging buffer.
 */
static uint64_t place_arguments(struct prepared *p)
{
	const struct nn_subgraph *main = main_of(p);
	uint64_t at = ARGUMENT_ALIGN;

	for (uint32_t i = 0; i < main->num_inputs + main->num_outputs; i++) {
		uint32_t operand = i < main->num_inputs ? main->inputs[i] :
				   main->outputs[i - main->num_inputs];
		const struct value *v = &p->graph.values[p->graph.operand_values[operand]];

		p->transfers[i] = (struct transfer){ at, v->at, v->size };
		at += round_up(v->size, ARGUMENT_ALIGN);
	}
	return at;
}

static void fill_constants(const struct prepared *p, uint8_t *base)
{
	const struct graph *g = &p->graph;

	for (uint32_t i = 0; i < g->num_dispatches; i++)
		memcpy(base + i * g->params_step, &g->dispatches[i].params, PARAMS_BYTES);
	for (uint32_t i = 0; i < g->num_values; i++)
		if (g->values[i].data && g->values[i].first != UINT32_MAX)
			memcpy(base + g->values[i].at, g->values[i].data, g->values[i].size);
}

/* Copies the dispatches' parameters and the constants to the GPU, once for all executions. */
static enum nn_status upload(struct prepared *p, struct nn_error *err)
{
	struct gpu_buffer buffer;
	VkResult result;
	enum nn_status status;

	if (!p->graph.constants_end)
		return NN_OK;
	status = gpu_buffer_create(p->gpu, p->graph.constants_end, true, &buffer, err);
	if (status)
		return status;
	memset(buffer.base, 0, p->graph.constants_end);
	fill_constants(p, buffer.base);
	result = gpu_buffer_flush(p->gpu, &buffer);
	if (!result)
		result = commands_copy(p->gpu, buffer.buffer, p->memory.buffer,
				       p->graph.constants_end);
	gpu_buffer_destroy(p->gpu, &buffer);
	return gpu_fail(p->gpu, result, "cannot copy weights", err);
}

static VkResult make_set(struct prepared *p)
{
	static const VkDescriptorPoolSize sizes[] = {
		{ VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1 },
		{ VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1 },
	};
	const VkDescriptorPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.maxSets = 1,
		.poolSizeCount = 2,
		.pPoolSizes = sizes,
	};
	const VkDescriptorSetLayout layout = pipelines_set_layout(p->gpu);
	VkDescriptorSetAllocateInfo set = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorSetCount = 1,
		.pSetLayouts = &layout,
	};
	VkResult result = vkCreateDescriptorPool(p->gpu->device, &pool, NULL, &p->pool);

	if (result)
		return result;
	set.descriptorPool = p->pool;
	return vkAllocateDescriptorSets(p->gpu->device, &set, &p->set);
}

static void write_set(const struct prepared *p)
{
	const VkDescriptorBufferInfo buffers[] = {
		{ p->memory.buffer, 0, VK_WHOLE_SIZE }, { p->memory.buffer, 0, PARAMS_BYTES },
	};
	const VkWriteDescriptorSet writes[] = {
		{ .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = p->set, .dstBinding = 0,
		  .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		  .pBufferInfo = &buffers[0] },
		{ .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = p->set, .dstBinding = 1,
		  .descriptorCount = 1,
		  .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
		  .pBufferInfo = &buffers[1] },
	};

	vkUpdateDescriptorSets(p->gpu->device, 2, writes, 0, NULL);
}

static struct commands_target target_of(const struct prepared *p)
{
	const struct nn_subgraph *main = main_of(p);

	return (struct commands_target){
		.gpu = p->gpu, .graph = &p->graph, .set = p->set, .memory = p->memory.buffer,
		.staging = p->staging.buffer,
		.inputs = p->transfers, .num_inputs = main->num_inputs,
		.outputs = p->transfers + main->num_inputs, .num_outputs = main->num_outputs,
		.times = p->times,
	};
}

static VkResult record(struct prepared *p)
{
	const struct commands_target target = target_of(p);

	return commands_record(&p->commands, &target);
}

/* Records the transfers of arguments, unless a recording for the same `places` exists. */
static VkResult record_ends(struct prepared *p, const struct place *places)
{
	const struct commands_target target = target_of(p);
	const size_t size = (target.num_inputs + target.num_outputs) * sizeof(*places);
	VkResult result;

	for (uint32_t i = 0; i < ENDS; i++) {
		p->now = &p->ends[i];
		if (p->now->is_recorded && !memcmp(p->now->places, places, size))
			return VK_SUCCESS;
	}
	p->now = &p->ends[p->num_records++ % ENDS];
	p->now->is_recorded = false;
	memcpy(p->now->places, places, size);
	result = commands_transfer(&p->now->commands[0], &target, p->now->places, false);
	if (!result)
		result = commands_transfer(&p->now->commands[1], &target,
					   p->now->places + target.num_inputs, true);
	p->now->is_recorded = !result;
	return result;
}

/* Makes the fence, the semaphores, and the query pool for timestamps of executions. */
static VkResult make_signals(struct prepared *p)
{
	static const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	static const VkExportSemaphoreCreateInfo export = {
		.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
		.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
	};
	static const VkSemaphoreCreateInfo begin = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
	}, end = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &export,
	};
	static const VkQueryPoolCreateInfo times = {
		.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = VK_QUERY_TYPE_TIMESTAMP,
		.queryCount = 2,
	};
	VkResult result = vkCreateFence(p->gpu->device, &fence, NULL, &p->fence);

	if (!result && p->gpu->can & GPU_SYNC_FILE)
		result = vkCreateSemaphore(p->gpu->device, &begin, NULL, &p->begin);
	if (!result && p->gpu->can & GPU_SYNC_FILE)
		result = vkCreateSemaphore(p->gpu->device, &end, NULL, &p->end);
	if (!result && p->gpu->tick_ns > 0)
		result = vkCreateQueryPool(p->gpu->device, &times, NULL, &p->times);
	return result;
}

static enum nn_status make(struct prepared *p, struct nn_error *err)
{
	const uint64_t staged = place_arguments(p);
	enum nn_status status = gpu_buffer_create(p->gpu, p->graph.size, false, &p->memory, err);

	if (!status)
		status = gpu_buffer_create(p->gpu, staged, true, &p->staging, err);
	if (!status)
		status = upload(p, err);
	if (!status)
		status = gpu_fail(p->gpu, make_signals(p), "cannot make a fence", err);
	if (!status)
		status = gpu_fail(p->gpu, make_set(p), "cannot make descriptors", err);
	if (status)
		return status;
	write_set(p);
	return gpu_fail(p->gpu, record(p), "cannot record commands", err);
}

enum nn_status prepared_create(struct gpu *gpu, const struct nn_model *model,
			       struct prepared **prepared, struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	const uint32_t count = main->num_inputs + main->num_outputs;
	struct prepared *p = calloc(1, sizeof(*p));
	struct place *places;
	enum nn_status status;

	if (!p)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	p->gpu = gpu_hold(gpu);
	pthread_mutex_init(&p->lock, NULL);
	p->transfers = calloc(count + 1, sizeof(*p->transfers));
	places = calloc(ENDS * (size_t)count + 1, sizeof(*places));
	for (uint32_t i = 0; places && i < ENDS; i++)
		p->ends[i].places = places + i * (size_t)count;
	status = p->transfers && places ? graph_create(model, &gpu->limits, &p->graph, err) :
				nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	if (!status)
		status = make(p, err);
	if (status)
		prepared_release(p);
	else
		*prepared = p;
	return status;
}

/*
 * Waits for the last submission; it may belong to an earlier execution whose deadline has passed.
 * If the wait fails, the commands still count as running, unless the GPU was lost.
 */
static VkResult finish(struct prepared *p, uint64_t deadline_ns)
{
	const uint64_t now = clock_ns();
	uint64_t patience = UINT64_MAX;
	VkResult result;

	if (!p->is_running)
		return VK_SUCCESS;
	if (deadline_ns)
		patience = deadline_ns > now ? deadline_ns - now : 0;
	result = vkWaitForFences(p->gpu->device, 1, &p->fence, VK_TRUE, patience);
	p->is_running = result && result != VK_ERROR_DEVICE_LOST;
	return result;
}

void prepared_release(struct prepared *p)
{
	VkDevice device = p->gpu->device;

	/*
	 * If the wait fails or the GPU is lost, wait for the whole GPU before freeing the commands,
	 * because the GPU may still be using the commands.
	 */
	if (finish(p, 0) || gpu_is_lost(p->gpu))
		gpu_wait(p->gpu);
	commands_free(&p->commands, p->gpu);
	for (uint32_t i = 0; i < ENDS; i++)
		commands_drop(p->gpu, p->ends[i].commands, 2);
	vkDestroyFence(device, p->fence, NULL);
	vkDestroySemaphore(device, p->begin, NULL);
	vkDestroySemaphore(device, p->end, NULL);
	vkDestroyQueryPool(device, p->times, NULL);
	vkDestroyDescriptorPool(device, p->pool, NULL);
	gpu_buffer_destroy(p->gpu, &p->staging);
	gpu_buffer_destroy(p->gpu, &p->memory);
	graph_destroy(&p->graph);
	nn_model_free(p->own_model);
	free(p->transfers);
	free(p->ends[0].places);
	pthread_mutex_destroy(&p->lock);
	gpu_release(p->gpu);
	free(p);
}

void prepared_own_model(struct prepared *p, struct nn_model *model)
{
	p->own_model = model;
}

const struct nn_model *prepared_model(const struct prepared *p)
{
	return p->graph.model;
}

struct gpu *prepared_gpu(const struct prepared *p)
{
	return p->gpu;
}

void prepared_facts(struct prepared *p, struct prepared_facts *facts)
{
	pthread_mutex_lock(&p->lock);
	*facts = (struct prepared_facts){
		.weights = p->graph.constants_end, .unshared = p->graph.unshared,
		.temporaries = p->graph.size - p->graph.constants_end, .staging = p->staging.size,
		.copies = p->copies, .dispatches = p->graph.num_dispatches, .submissions = p->commands.count,
	};
	pthread_mutex_unlock(&p->lock);
}

bool prepared_checks(const struct prepared *p, uint32_t argument)
{
	for (uint32_t c = 0; c < p->graph.num_checks; c++)
		if (p->graph.checks[c].input == argument)
			return true;
	return false;
}

bool prepared_waits(const struct prepared *p)
{
	return p->begin && __atomic_load_n(&p->tunings, __ATOMIC_RELAXED) >= TUNINGS;
}

/* ---- Arguments ---- */

/* Checks all arguments of an execution, and reports the outputs' shapes. */
static enum nn_status check_arguments(const struct prepared *p, struct nn_execution *e,
				      struct nn_error *err)
{
	const struct nn_subgraph *main = main_of(p);
	enum nn_status status = NN_OK;

	if (e->num_inputs != main->num_inputs || e->num_outputs != main->num_outputs)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%u inputs and %u outputs, must be %u and %u",
			       e->num_inputs, e->num_outputs, main->num_inputs, main->num_outputs);
	for (uint32_t i = 0; i < e->num_inputs + e->num_outputs; i++) {
		const bool is_output = i >= e->num_inputs;
		const uint32_t k = is_output ? i - e->num_inputs : i;
		const struct nn_arg *arg = is_output ? &e->outputs[k] : &e->inputs[k];
		struct nn_operand o = main->operands[is_output ? main->outputs[k] : main->inputs[k]];
		const uint64_t size = p->transfers[i].size;

		if (arg->omitted || !nn_operand_merge_dims(&o, arg->rank, arg->dims) ||
		    (!is_output && arg->length != size))
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "the shape or size of %s %u does not fit the model",
				       is_output ? "output" : "input", k);
		if (!is_output || !e->shapes)
			continue;
		e->shapes[k] = (struct nn_output_shape){ .rank = o.rank };
		memcpy(e->shapes[k].dims, o.dims, sizeof(o.dims));
		e->shapes[k].sufficient = arg->length >= size;
		if (arg->length < size)
			status = nn_fail(err, NN_OUTPUT_INSUFFICIENT_SIZE,
					 "output %u has %llu bytes, needs %llu", k,
					 (unsigned long long)arg->length, (unsigned long long)size);
	}
	e->shapes_known = e->shapes;
	return status;
}

/* Checks the indices of GATHER in the staging buffer, which clients cannot change. */
static enum nn_status check_indices(const struct prepared *p, struct nn_error *err)
{
	for (uint32_t c = 0; c < p->graph.num_checks; c++) {
		const struct index_check *check = &p->graph.checks[c];
		const struct transfer *t = &p->transfers[check->input];

		for (uint64_t i = 0; i < t->size / sizeof(int32_t); i++) {
			int32_t index;

			memcpy(&index, p->staging.base + t->host + i * sizeof(index), sizeof(index));
			if (index < 0 || (uint32_t)index >= check->limit)
				return nn_fail(err, NN_GENERAL_FAILURE,
					       "index %d of input %u, must be below %u", index,
					       check->input, check->limit);
		}
	}
	return NN_OK;
}

/* ---- Submissions ---- */

static bool is_gone(int gone)
{
	struct pollfd file = { .fd = gone, .events = POLLIN };

	return gone >= 0 && poll(&file, 1, 0) > 0;
}

static enum nn_status wait_for(struct prepared *p, const struct nn_execution *e,
			       struct nn_error *err)
{
	VkResult result = finish(p, e->deadline_ns);

	if (result == VK_TIMEOUT)
		return nn_fail(err, NN_MISSED_DEADLINE_TRANSIENT, "the deadline has passed");
	return gpu_fail(p->gpu, result, "the GPU failed", err);
}

/*
 * Imports a sync_file into the semaphore `begin`. If the import succeeds, the driver owns the file.
 */
static VkResult import_begin(const struct prepared *p, int sync_file)
{
	const VkImportSemaphoreFdInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
		.semaphore = p->begin,
		.flags = VK_SEMAPHORE_IMPORT_TEMPORARY_BIT,
		.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
		.fd = sync_file,
	};

	return p->gpu->import_semaphore(p->gpu->device, &info);
}

/*
 * Submits the recorded submission `index`. If `waits` is set, the commands wait for the semaphore
 * `begin`; if `signals` is set, the commands signal the semaphore `end`.
 */
static VkResult submit(struct prepared *p, uint32_t index, bool waits, bool signals)
{
	static const VkPipelineStageFlags all_stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	const VkCommandBuffer all[3] = { p->now->commands[0], p->commands.list[index].buffer,
					 p->now->commands[1] };
	const uint32_t first = index ? 1 : 0, end = index + 1 < p->commands.count ? 2 : 3;
	const VkSubmitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.waitSemaphoreCount = waits,
		.pWaitSemaphores = &p->begin,
		.pWaitDstStageMask = &all_stages,
		.commandBufferCount = end - first,
		.pCommandBuffers = all + first,
		.signalSemaphoreCount = signals,
		.pSignalSemaphores = &p->end,
	};
	VkResult result = vkResetFences(p->gpu->device, 1, &p->fence);

	if (result)
		return result;
	pthread_mutex_lock(&p->gpu->queue_lock);
	result = vkQueueSubmit(p->gpu->queue, 1, &info, p->fence);
	pthread_mutex_unlock(&p->gpu->queue_lock);
	return result;
}

/*
 * Returns a sync_file that is signalled at the end of the last submission, or -1 if the caller has
 * to wait for the last submission.
 */
static int export_end(struct prepared *p)
{
	const VkSemaphoreGetFdInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
		.semaphore = p->end,
		.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
	};
	int file = -1;

	p->cannot_export = p->gpu->export_semaphore(p->gpu->device, &info, &file);
	return p->cannot_export ? -1 : file;
}

/*
 * Submits all commands, and waits for each submission. If `defers` is set and a sync_file for the
 * end of the last submission can be made, does not wait for the last submission.
 */
static enum nn_status submit_all(struct prepared *p, const struct nn_execution *e,
				 struct prepared_files *files, bool defers, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; !status && i < p->commands.count; i++) {
		const bool exports = defers && i + 1 == p->commands.count;
		const bool waits = files->after >= 0;
		const uint64_t begin = clock_ns();
		VkResult result = VK_SUCCESS;

		if (e->deadline_ns && begin >= e->deadline_ns)
			return nn_fail(err, i ? NN_MISSED_DEADLINE_TRANSIENT :
				       NN_MISSED_DEADLINE_PERSISTENT, "the deadline has passed");
		if (is_gone(files->gone))
			return nn_fail(err, NN_GENERAL_FAILURE, "the client is gone");
		if (waits)
			result = import_begin(p, files->after);
		if (!result) {
			files->after = -1;
			result = submit(p, i, waits, exports);
		}
		status = gpu_fail(p->gpu, result, "cannot submit commands", err);
		p->is_running = !status;
		if (!status && exports)
			files->end = export_end(p);
		if (!status && exports && files->end >= 0)
			break;
		if (!status)
			status = wait_for(p, e, err);
		p->commands.list[i].measured_ns = clock_ns() - begin + 1;
	}
	return status;
}

/*
 * Divides the commands into submissions by the measured times. If recording the divided commands
 * fails, no commands remain, and the next execution records commands again.
 */
static void tune(struct prepared *p)
{
	if (__atomic_fetch_add(&p->tunings, 1, __ATOMIC_RELAXED) < TUNINGS)
		record(p);
}

/*
 * Returns whether the CPU has nothing to do after the GPU has finished: no outputs to copy, and no
 * times of submissions to measure.
 */
static bool may_end_later(const struct prepared *p, const struct nn_execution *e,
			  const struct place *places)
{
	for (uint32_t i = 0; i < e->num_outputs; i++)
		if (!places[e->num_inputs + i].buffer)
			return false;
	return p->end && !p->cannot_export && p->tunings >= TUNINGS && !e->measure && !e->deadline_ns;
}

/*
 * Returns the time between the two timestamps of an execution that began at `begin_ns` and has
 * ended, or 0. The clock of the GPU may be faster than the CPU's, but the time on the device may
 * not be longer than the time in the driver.
 */
static uint64_t read_time(const struct prepared *p, uint64_t begin_ns)
{
	const uint64_t longest_ns = clock_ns() - begin_ns;
	uint64_t at[2], ns;

	if (!p->times)
		return 0;
	memcpy(at, p->staging.base, sizeof(at));
	ns = (uint64_t)((double)((at[1] - at[0]) & p->gpu->tick_mask) * p->gpu->tick_ns) + 1;
	return ns < longest_ns ? ns : longest_ns;
}

static enum nn_status run(struct prepared *p, struct nn_execution *e, const struct place *places,
			  struct prepared_files *files, struct nn_error *err)
{
	const uint64_t begin_ns = clock_ns();
	enum nn_status status = wait_for(p, e, err);

	if (!status && !p->commands.count)
		status = gpu_fail(p->gpu, record(p), "cannot record commands", err);
	if (!status)
		status = gpu_fail(p->gpu, record_ends(p, places), "cannot record transfers", err);
	for (uint32_t i = 0; !status && i < e->num_inputs; i++) {
		if (places[i].buffer)
			continue;
		memcpy(p->staging.base + p->transfers[i].host, e->inputs[i].data,
		       p->transfers[i].size);
		count_copy(p);
	}
	if (!status)
		status = check_indices(p, err);
	if (!status)
		status = gpu_fail(p->gpu, gpu_buffer_flush(p->gpu, &p->staging),
				  "cannot flush the staging memory", err);
	if (!status)
		status = submit_all(p, e, files, may_end_later(p, e, places), err);
	if (files->end >= 0)
		return status;
	if (!status)
		status = gpu_fail(p->gpu, gpu_buffer_invalidate(p->gpu, &p->staging),
				  "cannot invalidate the staging memory", err);
	if (!status)
		e->device_ns = read_time(p, begin_ns);
	for (uint32_t i = 0; !status && i < e->num_outputs; i++) {
		const struct transfer *t = &p->transfers[e->num_inputs + i];

		if (places[e->num_inputs + i].buffer)
			continue;
		memcpy(e->outputs[i].data, p->staging.base + t->host, t->size);
		count_copy(p);
	}
	/*
	 * Do not tune in an execution with a deadline, because tuning may compile shaders, which
	 * takes long.
	 */
	if (!status && !e->deadline_ns)
		tune(p);
	return status;
}

/*
 * Takes `lock` after the model's other executions have ended; returns false if the deadline passes
 * earlier.
 */
static bool lock_until(struct prepared *p, uint64_t deadline_ns)
{
	const struct timespec until = { (time_t)(deadline_ns / NS_PER_S),
					(long)(deadline_ns % NS_PER_S) };

	if (deadline_ns)
		return !pthread_mutex_clocklock(&p->lock, CLOCK_MONOTONIC, &until);
	return !pthread_mutex_lock(&p->lock);
}

enum nn_status prepared_finish(struct prepared *p, struct nn_error *err)
{
	enum nn_status status;

	pthread_mutex_lock(&p->lock);
	status = gpu_fail(p->gpu, finish(p, 0), "the GPU failed", err);
	pthread_mutex_unlock(&p->lock);
	return status;
}

enum nn_status prepared_begin(struct prepared *p, struct nn_execution *e,
			      const struct place *places, struct prepared_files *files,
			      struct nn_error *err)
{
	enum nn_status status = check_arguments(p, e, err);

	files->end = -1;
	if (status)
		return status;
	if (gpu_is_lost(p->gpu))
		return nn_fail(err, p->gpu->when_lost,
			       "the GPU was lost; prepare the model again");
	if (!lock_until(p, e->deadline_ns))
		return nn_fail(err, NN_MISSED_DEADLINE_TRANSIENT, "the deadline has passed");
	status = run(p, e, places, files, err);
	pthread_mutex_unlock(&p->lock);
	return status;
}

enum nn_status prepared_execute(struct prepared *p, struct nn_execution *e, int gone,
				struct nn_error *err)
{
	struct place *places = calloc(e->num_inputs + e->num_outputs + 1, sizeof(*places));
	struct prepared_files files = { .gone = gone, .after = -1 };
	enum nn_status status = places ? prepared_begin(p, e, places, &files, err) :
				nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");

	free(places);
	return status;
}
