/* SPDX-License-Identifier: MIT */
/*
 * The device nnaccel: libnnaccel's device behind the runtime's interface. What
 * applications give by pointer travels in memory of the runtime's own.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/device.h"
#include "runtime/hardware_memory.h"
#include "runtime/log.h"
#include "runtime/operand.h"

#define NNACCEL_NAME "nnaccel"

/* Arguments in staging memory begin at multiples of a cache line. */
#define STAGING_ALIGN 64

struct accel_prepared {
	struct prepared base;
	struct nna_device *device;
	const struct nn_subgraph *main;
	struct nna_prepared_model *model;

	/* Staging memory that no execution uses, for the next one. */
	pthread_mutex_t lock;
	struct nna_memory *idle;
};

/* A request on its way to the device. */
struct accel_request {
	struct nna_argument *inputs;
	struct nna_argument *outputs;
	struct nna_memory **memories;
	uint32_t num_memories;
	uint32_t *tokens;		/* of memory that is the device's */
	uint32_t num_tokens;
	struct nna_memory *staging;	/* is memories[0] where there is any */
	uint8_t *base;
	struct nna_output_shape *shapes;
};

struct channel {
	struct nna_burst *burst;
	struct accel_request request;	/* its arrays and staging memory are kept */
	struct arena arena;
};

static int import_pools(const ANeuralNetworksDevice *device, const struct graph *graph,
			struct nna_memory ***memories, struct nn_error *err)
{
	int result = ANEURALNETWORKS_NO_ERROR;
	uint32_t i;

	*memories = calloc(graph->model.num_pools + 1, sizeof(**memories));
	if (!*memories)
		return rt_out_of_memory(err);
	for (i = 0; i < graph->model.num_pools && result == ANEURALNETWORKS_NO_ERROR; i++)
		result = memory_import(graph->memories[i], PROT_READ, device->nna, &(*memories)[i],
				       err);
	return result;
}

static int accel_get_supported(const ANeuralNetworksDevice *device, const struct graph *graph,
			       bool *supported, struct nn_error *err)
{
	struct nna_memory **memories;
	int result = import_pools(device, graph, &memories, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err,
			nna_get_supported_operations(device->nna, &graph->model, memories,
						     supported, err));
	free(memories);
	return result;
}

static void accel_free(struct prepared *prepared)
{
	struct accel_prepared *accel = (struct accel_prepared *)prepared;

	nna_memory_free(accel->idle);
	nna_prepared_model_free(accel->model);
	pthread_mutex_destroy(&accel->lock);
	free(accel);
}

static struct accel_prepared *accel_new(const ANeuralNetworksDevice *device,
					const struct graph *graph)
{
	struct accel_prepared *accel = calloc(1, sizeof(*accel));

	if (!accel)
		return NULL;
	accel->base.ops = device->ops;
	accel->device = device->nna;
	accel->main = &graph->model.subgraphs[0];
	pthread_mutex_init(&accel->lock, NULL);
	return accel;
}

/* Gives away what was prepared, or frees it. */
static int accel_finish(struct accel_prepared *accel, int result, struct prepared **prepared)
{
	if (result == ANEURALNETWORKS_NO_ERROR)
		*prepared = &accel->base;
	else
		accel_free(&accel->base);
	return result;
}

static int accel_prepare(const ANeuralNetworksDevice *device, const struct graph *graph,
			 const struct prepare_options *options, const struct nna_cache *cache,
			 struct prepared **prepared, struct nn_error *err)
{
	const struct nna_prepare_options nna_options = {
		.preference = options->preference,
		.priority = options->priority,
		.deadline_ns = options->deadline_ns,
		.attributes = options->attributes,
		.cache = cache,
	};
	struct accel_prepared *accel = accel_new(device, graph);
	struct nna_memory **memories;
	int result;

	if (!accel)
		return rt_out_of_memory(err);
	result = import_pools(device, graph, &memories, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err,
			nna_prepare_model(device->nna, &graph->model, memories, &nna_options,
					  &accel->model, err));
	free(memories);
	return accel_finish(accel, result, prepared);
}

static int accel_prepare_cached(const ANeuralNetworksDevice *device, const struct graph *graph,
				const struct prepare_options *options,
				const struct nna_cache *cache, struct prepared **prepared,
				struct nn_error *err)
{
	const struct nna_prepare_options nna_options = {
		.preference = options->preference,
		.priority = options->priority,
		.deadline_ns = options->deadline_ns,
		.attributes = options->attributes,
	};
	struct accel_prepared *accel = accel_new(device, graph);
	int result;

	if (!accel)
		return rt_out_of_memory(err);
	result = rt_fail_status(err, nna_prepare_model_from_cache(device->nna, cache, &nna_options,
								  &accel->model, err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err, nna_prepared_model_set_signature(
						accel->model, &graph->model, err));
	return accel_finish(accel, result, prepared);
}

static uint64_t staged_size(const struct request_arg *args, uint32_t count)
{
	const uint64_t mask = STAGING_ALIGN - 1;
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!args[i].memory && !args[i].omitted)
			size += (args[i].length + mask) & ~mask;
	return size;
}

static bool init_request(struct accel_request *r, uint32_t num_inputs, uint32_t num_outputs,
			 struct arena *arena)
{
	size_t count = (size_t)num_inputs + num_outputs;

	*r = (struct accel_request){
		.inputs = arena_alloc(arena, num_inputs, sizeof(r->inputs[0])),
		.outputs = arena_alloc(arena, num_outputs, sizeof(r->outputs[0])),
		.memories = arena_alloc(arena, count + 1, sizeof(r->memories[0])),
		.tokens = arena_alloc(arena, count, sizeof(r->tokens[0])),
		.shapes = arena_alloc(arena, num_outputs, sizeof(r->shapes[0])),
	};
	return r->inputs && r->outputs && r->memories && r->tokens && r->shapes;
}

/* Staging memory of this size: what the request has of it already, or new. */
static int get_staging(struct accel_prepared *accel, uint64_t size, struct accel_request *r,
		       struct nn_error *err)
{
	enum nn_status status = NN_OK;

	if (r->staging && nna_memory_size(r->staging) < size) {
		nna_memory_free(r->staging);
		r->staging = NULL;
	}
	if (!r->staging)
		status = nna_memory_alloc(accel->device, size, &r->staging, err);
	if (status != NN_OK)
		return rt_fail_status(err, status);
	r->memories[r->num_memories++] = r->staging;
	r->base = nna_memory_map(r->staging, err);
	if (!r->base)
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE, "cannot map staging memory");
	return ANEURALNETWORKS_NO_ERROR;
}

static struct nna_memory *take_idle(struct accel_prepared *accel)
{
	struct nna_memory *staging;

	pthread_mutex_lock(&accel->lock);
	staging = accel->idle;
	accel->idle = NULL;
	pthread_mutex_unlock(&accel->lock);
	return staging;
}

static void put_idle(struct accel_prepared *accel, struct nna_memory *staging)
{
	pthread_mutex_lock(&accel->lock);
	if (!accel->idle) {
		accel->idle = staging;
		staging = NULL;
	}
	pthread_mutex_unlock(&accel->lock);
	nna_memory_free(staging);
}

static int refer(struct accel_prepared *accel, struct accel_request *r,
		 const struct request_arg *arg, int prot, uint32_t *pool, struct nn_error *err)
{
	struct nna_memory *memory;
	int result = memory_import(arg->memory, prot, accel->device, &memory, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	for (*pool = 0; *pool < r->num_memories; ++*pool)
		if (r->memories[*pool] == memory)
			return ANEURALNETWORKS_NO_ERROR;
	r->memories[r->num_memories++] = memory;
	return ANEURALNETWORKS_NO_ERROR;
}

/* Where a token is among those of the request. */
static uint32_t refer_token(struct accel_request *r, uint32_t token)
{
	uint32_t i;

	for (i = 0; i < r->num_tokens; i++)
		if (r->tokens[i] == token)
			return i;
	r->tokens[r->num_tokens++] = token;
	return i;
}

/* Pools of requests are memories first, then tokens. */
static void number_tokens(const struct accel_request *r, const struct request_arg *from,
			  uint32_t count, struct nna_argument *to)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (memory_is_on_device(from[i].memory))
			to[i].pool += r->num_memories;
}

/* Places arguments: those by pointer one after the other in staging memory, from *at. */
static int place_args(struct accel_prepared *accel, struct accel_request *r,
		      const struct request_arg *from, uint32_t count, int prot, uint64_t *at,
		      struct nna_argument *to, struct nn_error *err)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		int result = ANEURALNETWORKS_NO_ERROR;

		to[i] = (struct nna_argument){ .has_no_value = from[i].omitted };
		if (from[i].omitted)
			continue;
		to[i].length = from[i].length;
		to[i].rank = from[i].rank;
		memcpy(to[i].dims, from[i].dims, sizeof(to[i].dims));
		if (memory_is_on_device(from[i].memory)) {
			to[i].length = 0;
			to[i].pool = refer_token(r, from[i].memory->domain->token);
		} else if (from[i].memory) {
			to[i].offset = from[i].offset;
			if (memory_is_picture(from[i].memory))
				to[i].length = 0;
			result = refer(accel, r, &from[i], prot, &to[i].pool, err);
		} else {
			to[i].offset = *at;
			*at += staged_size(&from[i], 1);
			if (prot & PROT_READ)
				memcpy(r->base + to[i].offset, from[i].pointer, from[i].length);
		}
		if (result != ANEURALNETWORKS_NO_ERROR)
			return result;
	}
	return ANEURALNETWORKS_NO_ERROR;
}

static int place(struct accel_prepared *accel, const struct request *request,
		 struct accel_request *r, struct nn_error *err)
{
	uint64_t size = staged_size(request->inputs, request->num_inputs) +
			staged_size(request->outputs, request->num_outputs);
	uint64_t at = 0;
	int result = ANEURALNETWORKS_NO_ERROR;

	r->num_memories = 0;
	r->num_tokens = 0;
	if (size)
		result = get_staging(accel, size, r, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = place_args(accel, r, request->inputs, request->num_inputs, PROT_READ,
				    &at, r->inputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = place_args(accel, r, request->outputs, request->num_outputs, PROT_WRITE,
				    &at, r->outputs, err);
	number_tokens(r, request->inputs, request->num_inputs, r->inputs);
	number_tokens(r, request->outputs, request->num_outputs, r->outputs);
	return result;
}

/* Copies the outputs that go to pointers, as many bytes as their shapes have. */
static void fetch_outputs(const struct accel_prepared *accel, const struct request *request,
			  const struct accel_request *r)
{
	uint32_t i;

	for (i = 0; i < request->num_outputs; i++) {
		const struct request_arg *arg = &request->outputs[i];
		struct nn_operand shape = accel->main->operands[accel->main->outputs[i]];
		uint64_t size;

		if (arg->memory || arg->omitted)
			continue;
		shape.rank = r->shapes[i].rank;
		memcpy(shape.dims, r->shapes[i].dims, sizeof(shape.dims));
		/* An OEM's scalar is as long as its argument. */
		size = shape.type == NN_OEM_SCALAR ? arg->length : operand_size(&shape);
		memcpy(arg->pointer, r->base + r->outputs[i].offset,
		       size < arg->length ? size : arg->length);
	}
}

static void take_shapes(struct request *request, const struct accel_request *r)
{
	uint32_t i;

	for (i = 0; i < request->num_outputs; i++) {
		request->shapes[i].rank = r->shapes[i].rank;
		memcpy(request->shapes[i].dims, r->shapes[i].dims,
		       sizeof(request->shapes[i].dims));
		request->shapes[i].sufficient = r->shapes[i].is_sufficient;
	}
	request->shapes_known = true;
}

static int run(struct accel_prepared *accel, struct request *request, struct accel_request *r,
	       struct nn_error *err)
{
	const struct nna_request nna_request = {
		.num_inputs = request->num_inputs,
		.num_outputs = request->num_outputs,
		.num_memories = r->num_memories,
		.inputs = r->inputs,
		.outputs = r->outputs,
		.memories = r->memories,
		.num_tokens = r->num_tokens,
		.tokens = r->tokens,
	};
	/* A burst carries no loop timeout but the usual one, which is the device's own. */
	bool usual = request->channel &&
		     request->loop_timeout_ns == ANeuralNetworks_getDefaultLoopTimeout();
	const struct nna_execute_options options = {
		.measure = request->measure,
		.deadline_ns = request->deadline_ns,
		.loop_timeout_ns = usual ? 0 : request->loop_timeout_ns,
		.attributes = request->attributes,
	};
	struct nna_timing timing = { NNA_TIME_NONE, NNA_TIME_NONE };
	uint32_t num_shapes = 0;
	enum nn_status status;

	if (request->channel)
		status = nna_burst_execute(request->channel->burst, &nna_request, &options,
					   r->shapes, &num_shapes, &timing, err);
	else
		status = nna_execute(accel->model, &nna_request, &options, r->shapes, &num_shapes,
				     &timing, err);
	if (num_shapes)
		take_shapes(request, r);
	if (status == NN_OK)
		fetch_outputs(accel, request, r);
	request->on_device_us = timing.on_device_us;
	request->in_driver_us = timing.in_driver_us;
	return rt_fail_status(err, status);
}

/* With arrays and staging memory that are given back. */
static int execute_single(struct accel_prepared *accel, struct request *request,
			  struct nn_error *err)
{
	struct arena arena = { NULL };
	struct accel_request r;
	int result;

	if (init_request(&r, request->num_inputs, request->num_outputs, &arena)) {
		r.staging = take_idle(accel);
		result = place(accel, request, &r, err);
		if (result == ANEURALNETWORKS_NO_ERROR)
			result = run(accel, request, &r, err);
		put_idle(accel, r.staging);
	} else {
		result = rt_out_of_memory(err);
	}
	arena_free(&arena);
	return result;
}

static int execute_in_burst(struct accel_prepared *accel, struct request *request,
			    struct nn_error *err)
{
	struct accel_request *r = &request->channel->request;
	int result = place(accel, request, r, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = run(accel, request, r, err);
	return result;
}

static int accel_execute(struct prepared *prepared, struct request *request, struct nn_error *err)
{
	struct accel_prepared *accel = (struct accel_prepared *)prepared;

	request->shapes_known = false;
	request->on_device_us = NNA_TIME_NONE;
	request->in_driver_us = NNA_TIME_NONE;
	if (request->channel)
		return execute_in_burst(accel, request, err);
	return execute_single(accel, request, err);
}

static int accel_execute_fenced(struct prepared *prepared, const struct request *request,
				const int *wait_for, uint32_t count, uint64_t duration_ns,
				int *fence, struct nn_error *err)
{
	struct accel_prepared *accel = (struct accel_prepared *)prepared;
	const struct nna_execute_options options = {
		.measure = request->measure,
		.deadline_ns = request->deadline_ns,
		.loop_timeout_ns = request->loop_timeout_ns,
		.attributes = request->attributes,
	};
	struct accel_request r;
	struct arena arena = { NULL };
	int result;

	if (!init_request(&r, request->num_inputs, request->num_outputs, &arena)) {
		arena_free(&arena);
		return rt_out_of_memory(err);
	}
	result = place(accel, request, &r, err);
	if (result == ANEURALNETWORKS_NO_ERROR) {
		const struct nna_request nna_request = {
			.num_inputs = request->num_inputs,
			.num_outputs = request->num_outputs,
			.num_memories = r.num_memories,
			.inputs = r.inputs,
			.outputs = r.outputs,
			.memories = r.memories,
			.num_tokens = r.num_tokens,
			.tokens = r.tokens,
		};

		result = rt_fail_status(err, nna_execute_fenced(accel->model, &nna_request,
								&options, wait_for, count,
								duration_ns, fence, err));
	}
	/* The kernel keeps what an execution needs. */
	nna_memory_free(r.staging);
	arena_free(&arena);
	return result;
}

static int accel_fence_result(const ANeuralNetworksDevice *device, int fence,
			      struct nna_timing *launched, struct nna_timing *fenced,
			      struct nn_error *err)
{
	return rt_fail_status(err, nna_fence_get_info(device->nna, fence, launched, fenced, err));
}

static void accel_close_channel(struct channel *channel)
{
	nna_burst_free(channel->burst);
	nna_memory_free(channel->request.staging);
	arena_free(&channel->arena);
	free(channel);
}

static int accel_open_channel(struct prepared *prepared, struct channel **channel,
			      struct nn_error *err)
{
	struct accel_prepared *accel = (struct accel_prepared *)prepared;
	struct channel *c = calloc(1, sizeof(*c));
	int result;

	if (!c)
		return rt_out_of_memory(err);
	if (init_request(&c->request, accel->main->num_inputs, accel->main->num_outputs,
			 &c->arena))
		result = rt_fail_status(err, nna_burst_create(accel->model, NULL, &c->burst, err));
	else
		result = rt_out_of_memory(err);
	if (result != ANEURALNETWORKS_NO_ERROR) {
		accel_close_channel(c);
		return result;
	}
	*channel = c;
	return ANEURALNETWORKS_NO_ERROR;
}

static int accel_wait(const ANeuralNetworksDevice *device, struct nn_error *err)
{
	if (nna_device_status(device->nna) != NNA_AVAILABLE)
		return rt_fail(err, ANEURALNETWORKS_DEAD_OBJECT, "no engine serves %s",
			       NNA_DEVICE_PATH);
	return ANEURALNETWORKS_NO_ERROR;
}

static int accel_allocate(const ANeuralNetworksDevice *device, const struct prepared_role *roles,
			  uint32_t count, struct memory_domain *domain, struct nn_error *err)
{
	struct nna_buffer_desc desc = { .rank = domain->operand.rank };
	struct arena arena = { NULL };
	struct nna_prepared_model **models = arena_alloc(&arena, count, sizeof(models[0]));
	struct nna_role *in = arena_alloc(&arena, count, sizeof(in[0]));
	struct nna_role *out = arena_alloc(&arena, count, sizeof(out[0]));
	uint32_t num_in = 0, num_out = 0, i;
	int result;

	if (!models || !in || !out) {
		arena_free(&arena);
		return rt_out_of_memory(err);
	}
	for (i = 0; i < count; i++) {
		const struct nna_role role = { .model = i, .index = roles[i].index,
					       .frequency = 1 };

		models[i] = ((struct accel_prepared *)roles[i].prepared)->model;
		if (roles[i].output)
			out[num_out++] = role;
		else
			in[num_in++] = role;
	}
	memcpy(desc.dims, domain->operand.dims, sizeof(desc.dims));
	result = rt_fail_status(err, nna_buffer_allocate(device->nna, &desc, models, count, in,
							 num_in, out, num_out, &domain->buffer,
							 &domain->token, err));
	arena_free(&arena);
	return result;
}

static const struct device_ops accel_ops = {
	.get_supported = accel_get_supported,
	.prepare = accel_prepare,
	.prepare_cached = accel_prepare_cached,
	.execute = accel_execute,
	.execute_fenced = accel_execute_fenced,
	.fence_result = accel_fence_result,
	.free = accel_free,
	.open_channel = accel_open_channel,
	.close_channel = accel_close_channel,
	.wait = accel_wait,
	.allocate = accel_allocate,
};

bool device_nnaccel_open(ANeuralNetworksDevice *device)
{
	struct nn_error err = { "" };
	enum nn_status status;

	memset(device, 0, sizeof(*device));
	device->name = NNACCEL_NAME;
	device->ops = &accel_ops;
	status = nna_device_open(NULL, &device->nna, &err);
	if (status != NN_OK) {
		rt_log(RT_LOG_INFO, "no device %s: %s", NNACCEL_NAME, err.message);
		return false;
	}
	status = nna_device_get_info(device->nna, &device->info, &err);
	if (status == NN_OK)
		status = nna_device_get_extensions(device->nna, &device->extensions,
						   &device->num_extensions, &err);
	if (status != NN_OK) {
		rt_log(RT_LOG_WARN, "device %s is left out: %s", NNACCEL_NAME, err.message);
		nna_device_close(device->nna);
		return false;
	}
	return true;
}
