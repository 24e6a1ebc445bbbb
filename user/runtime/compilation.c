/* SPDX-License-Identifier: MIT */
/*
 * Compilations: sets options, finishes a compilation, falls back to the CPU, and answers queries.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "runtime/compilation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cache.h"
#include "runtime/extension.h"
#include "runtime/log.h"
#include "runtime/observer.h"
#include "runtime/operand.h"
#include "runtime/preference.h"
#include "runtime/trace.h"

/*
 * The preferred alignment is the size of a cache line, because kernels and copies are fastest if
 * arguments begin and end at cache lines.
 */
#define PREFERRED_ALIGNMENT 64

uint64_t deadline_after(uint64_t duration_ns)
{
	uint64_t deadline;

	if (!duration_ns)
		return 0;
	if (__builtin_add_overflow(clock_ns(), duration_ns, &deadline))
		return UINT64_MAX;
	return deadline;
}

int compilation_check_valid(const ANeuralNetworksCompilation *compilation, struct nn_error *err)
{
	if (!compilation->finished)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the compilation is not finished");
	if (!compilation->valid)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the compilation has failed");
	return ANEURALNETWORKS_NO_ERROR;
}

static int check_mutable(const ANeuralNetworksCompilation *compilation, struct nn_error *err)
{
	if (compilation->finished)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the compilation is finished");
	return ANEURALNETWORKS_NO_ERROR;
}

/* Creates a compilation for `devices`, or for all devices if `devices` is NULL. */
static int create(const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
		  uint32_t num_devices, ANeuralNetworksCompilation **compilation,
		  struct nn_error *err)
{
	static _Atomic uint64_t last_serial;
	ANeuralNetworksCompilation *c = calloc(1, sizeof(*c));
	const ANeuralNetworksDevice *all[DEVICE_MAX];
	bool is_explicit = devices;

	trace_start();
	if (!is_explicit) {
		num_devices = device_list(all);
		devices = all;
		if (device_missing())
			rt_fall_back(FALL_BACK_NO_DEVICE, 0, "this program computes on the CPU: %s",
				     device_missing());
	}
	if (c)
		c->devices = calloc(num_devices, sizeof(c->devices[0]));
	if (!c || !c->devices) {
		free(c);
		return rt_out_of_memory(err);
	}
	c->references = 1;
	c->serial = ++last_serial;
	c->model = model_get(model);
	c->num_devices = num_devices;
	memcpy(c->devices, devices, num_devices * sizeof(c->devices[0]));
	c->is_explicit = is_explicit;
	c->preference = ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER;
	c->priority = ANEURALNETWORKS_PRIORITY_DEFAULT;
	*compilation = c;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model,
				      ANeuralNetworksCompilation **compilation)
{
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(compilation);
	*compilation = NULL;
	RT_NOT_NULL(model);
	result = model_check_finished(model, &err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = create(model, NULL, 0, compilation, &err);
	return rt_end(result, &err);
}

int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model,
						const ANeuralNetworksDevice *const *devices,
						uint32_t numDevices,
						ANeuralNetworksCompilation **compilation)
{
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(compilation);
	*compilation = NULL;
	RT_NOT_NULL(model, devices);
	result = device_check_list(devices, numDevices, &err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = model_check_finished(model, &err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = create(model, devices, numDevices, compilation, &err);
	return rt_end(result, &err);
}

ANeuralNetworksCompilation *compilation_get(const ANeuralNetworksCompilation *compilation)
{
	ANeuralNetworksCompilation *c = (ANeuralNetworksCompilation *)compilation;

	atomic_fetch_add(&c->references, 1);
	return c;
}

static void drop_cache(ANeuralNetworksCompilation *compilation)
{
	for (uint32_t i = 0; i < compilation->num_cache_fds; i++)
		close(compilation->cache_fds[i]);
	free(compilation->cache_fds);
	free(compilation->cache_dir);
	compilation->cache_fds = NULL;
	compilation->num_cache_fds = 0;
	compilation->cache_dir = NULL;
}

void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation)
{
	if (!compilation || atomic_fetch_sub(&compilation->references, 1) > 1)
		return;
	if (compilation->valid)
		partition_free(&compilation->partition);
	model_put(compilation->model);
	attributes_free(&compilation->attributes);
	drop_cache(compilation);
	free(compilation->devices);
	free(compilation);
}

void compilation_put(const ANeuralNetworksCompilation *compilation)
{
	ANeuralNetworksCompilation_free((ANeuralNetworksCompilation *)compilation);
}

static int set_caching(ANeuralNetworksCompilation *compilation, const char *dir,
		       const uint8_t *token, struct nn_error *err)
{
	size_t length = strlen(dir);
	const char *end = length && dir[length - 1] == '/' ? "" : "/";
	char *copy;
	int result = check_mutable(compilation, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (asprintf(&copy, "%s%s", dir, end) < 0)
		return rt_out_of_memory(err);
	drop_cache(compilation);
	compilation->cache_dir = copy;
	memcpy(compilation->cache_token, token, sizeof(compilation->cache_token));
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation,
					  const char *cacheDir, const uint8_t *token)
{
	RT_NOT_NULL(compilation, cacheDir, token);
	return RT_CALL(set_caching(compilation, cacheDir, token, &err));
}

int compilation_set_cache_files(ANeuralNetworksCompilation *compilation, const int *model_fds,
				uint32_t num_model, const int *data_fds, uint32_t num_data,
				const uint8_t *token, struct nn_error *err)
{
	const struct nn_device_info *info = device_info(compilation->devices[0]);
	uint32_t count;
	int result = check_mutable(compilation, err), *fds;

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (!compilation_has_one_device(compilation))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "cache files need a compilation for exactly one device");
	if (num_model != info->model_cache_files || num_data != info->data_cache_files)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%u model and %u data cache files, the device has %u and %u",
			       num_model, num_data, info->model_cache_files,
			       info->data_cache_files);
	drop_cache(compilation);
	count = num_model + num_data;
	fds = calloc(count + 1, sizeof(*fds));
	if (!fds)
		return rt_out_of_memory(err);
	compilation->cache_fds = fds;
	for (uint32_t i = 0; i < count; i++) {
		int fd = i < num_model ? model_fds[i] : data_fds[i - num_model];

		fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (fds[i] < 0) {
			drop_cache(compilation);
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "cache file %u: fd %d: %s", i,
				       fd, strerror(errno));
		}
		compilation->num_cache_fds++;
	}
	memcpy(compilation->cache_token, token, sizeof(compilation->cache_token));
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation,
					     int32_t preference)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(compilation);
	if (check_mutable(compilation, &err) != ANEURALNETWORKS_NO_ERROR)
		return rt_end(ANEURALNETWORKS_BAD_STATE, &err);
	if ((preference & ~RUNTIME_ONE_THREAD) < ANEURALNETWORKS_PREFER_LOW_POWER ||
	    (preference & ~RUNTIME_ONE_THREAD) > ANEURALNETWORKS_PREFER_SUSTAINED_SPEED)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "preference %d", preference);
	compilation->preference = preference & ~RUNTIME_ONE_THREAD;
	compilation->is_one_thread = preference & RUNTIME_ONE_THREAD;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation,
					   int priority)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(compilation);
	if (check_mutable(compilation, &err) != ANEURALNETWORKS_NO_ERROR)
		return rt_end(ANEURALNETWORKS_BAD_STATE, &err);
	if (priority != ANEURALNETWORKS_PRIORITY_LOW &&
	    priority != ANEURALNETWORKS_PRIORITY_MEDIUM &&
	    priority != ANEURALNETWORKS_PRIORITY_HIGH)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "priority %d", priority);
	compilation->priority = priority;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation,
					  uint64_t duration)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(compilation);
	if (check_mutable(compilation, &err) != ANEURALNETWORKS_NO_ERROR)
		return rt_end(ANEURALNETWORKS_BAD_STATE, &err);
	if (!compilation_has_one_device(compilation))
		return rt_refuse(ANEURALNETWORKS_BAD_DATA,
				 "a timeout needs a compilation for exactly one device");
	compilation->timeout_ns = duration;
	return ANEURALNETWORKS_NO_ERROR;
}

static bool is_foreign(const struct nn_subgraph *subgraph)
{
	uint32_t i;

	for (i = 0; i < subgraph->num_operations; i++)
		if (subgraph->operations[i].type == NN_OP_OEM ||
		    (operand_is_extension(subgraph->operations[i].type) &&
		     !nn_is_own(subgraph->operations[i].type)))
			return true;
	return false;
}

bool compilation_is_foreign(const ANeuralNetworksCompilation *compilation)
{
	const struct nn_model *model = &compilation->model->graph.model;
	uint32_t i;

	for (i = 0; i < model->num_subgraphs; i++)
		if (is_foreign(&model->subgraphs[i]))
			return true;
	return false;
}

/* Returns whether the CPU alone may compile the model after a device has failed with `result`. */
static bool may_fall_back(const ANeuralNetworksCompilation *compilation, int result)
{
	return !compilation->is_explicit && result != ANEURALNETWORKS_NO_ERROR &&
	       result != ANEURALNETWORKS_UNEXPECTED_NULL && result != ANEURALNETWORKS_BAD_DATA &&
	       !compilation_is_foreign(compilation);
}

static int compile(ANeuralNetworksCompilation *compilation, struct nn_error *err)
{
	const struct graph *graph = &compilation->model->graph;
	const struct prepare_options options = {
		/* A plan for the preference LOW_POWER computes on one thread. */
		.preference = compilation->is_one_thread ? ANEURALNETWORKS_PREFER_LOW_POWER :
			      compilation->preference,
		.choice = compilation->preference,
		.priority = (compilation->priority - ANEURALNETWORKS_PRIORITY_LOW) / 10,
		.deadline_ns = deadline_after(compilation->timeout_ns),
		.attributes = attributes_given(&compilation->attributes),
	};
	const struct cache_options caching = {
		.dir = compilation->cache_dir,
		.fds = compilation->cache_fds,
		.token = compilation->cache_token,
	};
	const struct cache_options *cache = caching.dir || caching.fds ? &caching : NULL;
	const ANeuralNetworksDevice *cpu = device_cpu();
	struct nn_error reason = { "" };
	int result;

	result = partition_create(graph, compilation->devices, compilation->num_devices, &options,
				  cache, &compilation->partition, &reason);
	if (!may_fall_back(compilation, result)) {
		nn_fail(err, NN_GENERAL_FAILURE, "%s", reason.message);
		return result;
	}
	rt_fall_back(FALL_BACK_COMPILE, result, "this model is compiled for the CPU alone after "
		     "this error: %s: %s", rt_result_name(result), reason.message);
	return partition_create(graph, &cpu, 1, &options, cache, &compilation->partition, err);
}

int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation)
{
	struct nn_error err = { "" };
	uint64_t begin_ns = 0;
	int result;

	RT_NOT_NULL(compilation);
	result = check_mutable(compilation, &err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return rt_end(result, &err);
	if (trace_is_on()) {
		begin_ns = clock_ns();
		trace_begin("compile", "\"compilation\":%" PRIu64 ",\"operations\":%u", compilation->serial,
			    model_main(compilation->model)->num_operations);
	}
	compilation->finished = true;
	device_refresh();
	result = compile(compilation, &err);
	compilation->valid = result == ANEURALNETWORKS_NO_ERROR;
	if (trace_is_on()) {
		trace_end("compile", result);
		trace_flush();
		observer_compiled(compilation, result, begin_ns);
	}
	return rt_end(result, &err);
}

/* The preferred alignment is the same for all devices, inputs and outputs. */
static int get_preferred(const ANeuralNetworksCompilation *compilation, uint32_t index,
			 bool output, uint32_t *bytes, struct nn_error *err)
{
	const struct nn_subgraph *main = model_main(compilation->model);
	uint32_t count = output ? main->num_outputs : main->num_inputs;
	int result = compilation_check_valid(compilation, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (index >= count)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s %u of %u",
			       output ? "output" : "input", index, count);
	*bytes = PREFERRED_ALIGNMENT;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment)
{
	RT_NOT_NULL(compilation, alignment);
	return RT_CALL(get_preferred(compilation, index, false, alignment, &err));
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding)
{
	RT_NOT_NULL(compilation, padding);
	return RT_CALL(get_preferred(compilation, index, false, padding, &err));
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment)
{
	RT_NOT_NULL(compilation, alignment);
	return RT_CALL(get_preferred(compilation, index, true, alignment, &err));
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding)
{
	RT_NOT_NULL(compilation, padding);
	return RT_CALL(get_preferred(compilation, index, true, padding, &err));
}

/*
 * Reorders supported[] to the order in which the application added the operations, which differs
 * from the order in the graph.
 */
static int get_supported(const ANeuralNetworksModel *model,
			 const ANeuralNetworksDevice *const *devices, uint32_t num_devices,
			 bool *supported, struct nn_error *err)
{
	uint32_t count = model_main(model)->num_operations;
	bool *answer = calloc(count, sizeof(bool));
	uint32_t i, k;

	if (!answer)
		return rt_out_of_memory(err);
	memset(supported, 0, count * sizeof(bool));
	for (i = 0; i < num_devices; i++) {
		struct nn_error reason = { "" };

		if (device_get_supported(devices[i], &model->graph, answer, &reason))
			continue;
		for (k = 0; k < count; k++)
			supported[model->order[k]] |= answer[k];
	}
	free(answer);
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_getSupportedOperationsForDevices(
	const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
	uint32_t numDevices, bool *supportedOps)
{
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(model, devices, supportedOps);
	result = device_check_list(devices, numDevices, &err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = model_check_finished(model, &err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = get_supported(model, devices, numDevices, supportedOps, &err);
	return rt_end(result, &err);
}
