/* SPDX-License-Identifier: MIT */
/*
 * Devices with an engine: implements the device functions of the runtime with libnnaccel. Arguments
 * that an application passes as pointers are copied to staging memory of the runtime.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/round.h"
#include "model/times.h"
#include "runtime/compilation.h"
#include "runtime/handle.h"
#include "runtime/hardware_memory.h"
#include "runtime/log.h"
#include "runtime/operand.h"
#include "runtime/trace.h"

/* Arguments in staging memory begin at multiples of a cache line. */
#define STAGING_ALIGN 64

/* The first and the longest pause before a model whose workers die repeatedly is prepared again. */
#define FIRST_PAUSE_NS NS_PER_S
#define LONGEST_PAUSE_NS UINT64_C(60000000000)

/*
 * A prepared model is lost when its worker dies or the process forks. The next execution then
 * prepares the lost model again from the model's graph.
 */
struct accel_prepared {
	struct prepared base;
	const ANeuralNetworksDevice *source;
	const struct graph *graph;
	struct prepare_options options;
	const struct nn_subgraph *main;

	/*
	 * `life` is locked for reading while `model` or `device` is used, and for writing while
	 * `model` and `device` are replaced. If `process` is not the current process, `model` and
	 * `device` must not be used.
	 */
	pthread_rwlock_t life;
	struct nna_device *device;
	struct nna_prepared_model *model;
	uint32_t process;		/* handle_process() of `device` */
	uint32_t generation;		/* number of repeated preparations of the model */
	atomic_bool has_no_times;	/* true: the engine reports no times of operations */
	/* length of the last pause before a preparation; 0 after an execution succeeded */
	uint64_t pause_ns;
	uint64_t next_ns;		/* time before which the model is not prepared again */
	atomic_bool has_served;		/* true: an execution succeeded since the preparation */

	/* Staging memory that no execution uses, cached for the next execution. */
	pthread_mutex_t lock;
	struct nna_memory *idle;

	atomic_uint locks_process;	/* value of handle_process() when the locks were made */
};

/* A request, converted to the form that libnnaccel sends to the device. */
struct accel_request {
	struct nna_argument *inputs;
	struct nna_argument *outputs;
	struct nna_memory **memories;
	uint32_t num_memories;
	uint32_t *tokens;		/* tokens of buffers in memory of the device */
	uint32_t num_tokens;
	struct nna_memory *staging;	/* staging memory, which is memories[0]; or NULL */
	uint8_t *base;
	struct nna_output_shape *shapes;
	bool has_times;			/* true: the last output receives the times of operations */
};

struct channel {
	struct nna_burst *burst;	/* burst for executions; NULL: executions use the ioctl */
	uint32_t generation;	/* generation of the prepared model to which `burst` belongs */
	struct accel_request request;	/* request, reused for all executions */
	struct arena arena;
};

/*
 * Imports the pools of a graph. If `need_all` is not set, the entry of a memory that the device
 * cannot access is NULL.
 */
static int import_pools(struct nna_device *device, const struct graph *graph, bool need_all,
			struct nna_memory ***memories, struct nn_error *err)
{
	int result = ANEURALNETWORKS_NO_ERROR;
	uint32_t i;

	*memories = calloc(graph->model.num_pools + 1, sizeof(**memories));
	if (!*memories)
		return rt_out_of_memory(err);
	for (i = 0; i < graph->model.num_pools && result == ANEURALNETWORKS_NO_ERROR; i++) {
		result = memory_import(graph->memories[i], PROT_READ, device, &(*memories)[i], err);
		if (result == ANEURALNETWORKS_UNMAPPABLE && !need_all) {
			(*memories)[i] = NULL;
			result = ANEURALNETWORKS_NO_ERROR;
		}
	}
	return result;
}

static int accel_get_supported(const ANeuralNetworksDevice *device, const struct graph *graph,
			       bool *supported, struct nn_error *err)
{
	struct nna_memory **memories = NULL;
	struct nna_device *nna;
	int result = handle_get(device->handle, &nna, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = import_pools(nna, graph, false, &memories, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err, nna_get_supported_operations(nna, &graph->model,
									  memories, supported,
									  err));
	free(memories);
	return result;
}

static void accel_free(struct prepared *prepared)
{
	struct accel_prepared *accel = (struct accel_prepared *)prepared;

	nna_memory_free(accel->idle);
	nna_prepared_model_free(accel->model);
	pthread_mutex_destroy(&accel->lock);
	pthread_rwlock_destroy(&accel->life);
	free(accel);
}

/* Makes new locks in a forked child, because threads of the parent may hold the original locks. */
static void init_locks(void *argument)
{
	struct accel_prepared *accel = argument;

	pthread_mutex_init(&accel->lock, NULL);
	pthread_rwlock_init(&accel->life, NULL);
}

static void renew_locks(struct accel_prepared *accel)
{
	handle_renew(&accel->locks_process, init_locks, accel);
}

static int accel_new(const ANeuralNetworksDevice *device, const struct graph *graph,
		     const struct prepare_options *options, struct accel_prepared **accel,
		     struct nn_error *err)
{
	struct accel_prepared *a = calloc(1, sizeof(*a));

	*accel = a;
	if (!a)
		return rt_out_of_memory(err);
	a->base.ops = device->ops;
	a->source = device;
	a->graph = graph;
	a->options = *options;
	a->main = &graph->model.subgraphs[0];
	init_locks(a);
	a->process = handle_process();
	a->locks_process = a->process;
	return handle_get(device->handle, &a->device, err);
}

/* If `result` is success, passes the prepared model to the caller; otherwise frees the model. */
static int accel_finish(struct accel_prepared *accel, int result, struct prepared **prepared)
{
	if (result == ANEURALNETWORKS_NO_ERROR)
		*prepared = &accel->base;
	else if (accel)
		accel_free(&accel->base);
	return result;
}

static uint32_t preference_of(uint32_t preference)
{
	return preference == ANEURALNETWORKS_PREFER_LOW_POWER ? NNA_PREFER_LOW_POWER :
	       preference == ANEURALNETWORKS_PREFER_SUSTAINED_SPEED ? NNA_PREFER_SUSTAINED_SPEED :
	       NNA_PREFER_FAST_SINGLE_ANSWER;
}

/* The priorities of the runtime are 0 (low), 1 (medium) and 2 (high). */
static uint32_t priority_of(uint32_t priority)
{
	return !priority ? NNA_PRIORITY_LOW : priority > 1 ? NNA_PRIORITY_HIGH : NNA_PRIORITY_MEDIUM;
}

static int prepare_graph(struct nna_device *device, const struct graph *graph,
			 const struct prepare_options *options, const struct nna_cache *cache,
			 struct nna_prepared_model **model, struct nn_error *err)
{
	const struct nna_prepare_options nna_options = {
		.size = sizeof(nna_options),
		.preference = preference_of(options->preference),
		.priority = priority_of(options->priority),
		.deadline_ns = options->deadline_ns,
		.attributes = options->attributes,
		.cache = cache,
	};
	struct nna_memory **memories;
	int result = import_pools(device, graph, true, &memories, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err, nna_prepare_model(device, &graph->model, memories,
							       &nna_options, model, err));
	free(memories);
	return result;
}

static int accel_prepare(const ANeuralNetworksDevice *device, const struct graph *graph,
			 const struct prepare_options *options, const struct nna_cache *cache,
			 struct prepared **prepared, struct nn_error *err)
{
	struct accel_prepared *accel;
	int result = accel_new(device, graph, options, &accel, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = prepare_graph(accel->device, graph, options, cache, &accel->model, err);
	return accel_finish(accel, result, prepared);
}

static int accel_prepare_cached(const ANeuralNetworksDevice *device, const struct graph *graph,
				const struct prepare_options *options,
				const struct nna_cache *cache, struct prepared **prepared,
				struct nn_error *err)
{
	const struct nna_prepare_options nna_options = {
		.size = sizeof(nna_options),
		.preference = preference_of(options->preference),
		.priority = priority_of(options->priority),
		.deadline_ns = options->deadline_ns,
		.attributes = options->attributes,
	};
	struct accel_prepared *accel;
	int result = accel_new(device, graph, options, &accel, err);

	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err, nna_prepare_model_from_cache(
						accel->device, cache, &nna_options, &accel->model,
						err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err, nna_prepared_model_set_signature(
						accel->model, &graph->model, err));
	return accel_finish(accel, result, prepared);
}

/* ---- Preparing again ---- */

/*
 * Prepares a lost model again and replaces the lost model; the caller has locked accel->life for
 * writing.
 */
static int replace(struct accel_prepared *accel, uint64_t deadline_ns, struct nn_error *err)
{
	struct prepare_options options = accel->options;
	struct nna_prepared_model *model;
	struct nna_device *device;
	int result = handle_get(accel->source->handle, &device, err);

	options.deadline_ns = deadline_ns;
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = prepare_graph(device, accel->graph, &options, NULL, &model, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	nna_memory_free(accel->idle);
	nna_prepared_model_free(accel->model);
	accel->idle = NULL;
	accel->model = model;
	accel->device = device;
	accel->process = handle_process();
	accel->has_no_times = false;
	accel->generation++;
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Prepares a model again after its generation `dead` was lost, unless another thread has already
 * prepared the model. If no execution has succeeded since the last preparation, the model itself
 * may kill workers, so another preparation fails until a pause is over. Without an engine no pause
 * is needed, because the attempt then fails quickly.
 */
static int prepare_again(struct accel_prepared *accel, uint32_t dead, uint64_t deadline_ns,
			 struct nn_error *err)
{
	int result = ANEURALNETWORKS_NO_ERROR;

	pthread_rwlock_wrlock(&accel->life);
	if (accel->generation == dead) {
		if (atomic_load(&accel->has_served) || accel->process != handle_process())
			accel->pause_ns = 0;
		if (accel->pause_ns && clock_ns() < accel->next_ns)
			result = rt_fail(err, ANEURALNETWORKS_DEAD_OBJECT,
					 "the model's worker died again: after a pause, the model "
					 "can be prepared once more");
		else if (!handle_is_served(accel->source->handle))
			result = rt_fail(err, ANEURALNETWORKS_UNAVAILABLE_DEVICE,
					 "no engine is running");
		else
			result = replace(accel, deadline_ns, err);
		if (accel->generation != dead) {
			accel->pause_ns = accel->pause_ns ? 2 * accel->pause_ns : FIRST_PAUSE_NS;
			if (accel->pause_ns > LONGEST_PAUSE_NS)
				accel->pause_ns = LONGEST_PAUSE_NS;
			accel->next_ns = clock_ns() + accel->pause_ns;
			atomic_store(&accel->has_served, false);
		}
	}
	pthread_rwlock_unlock(&accel->life);
	return result;
}

/* A function that uses the prepared model; accel->life is locked for reading during the call. */
typedef int use_fn(struct accel_prepared *accel, void *argument, struct nn_error *err);

/*
 * Calls `fn` with a prepared model. If the model is lost, prepares the model again and calls `fn` a
 * second time.
 */
static int use(struct accel_prepared *accel, use_fn *fn, void *argument, uint64_t deadline_ns,
	       struct nn_error *err)
{
	struct nn_error reason = { "" }, again = { "" };
	uint32_t generation;
	int result;

	renew_locks(accel);
	for (int tries = 0;; tries++) {
		reason.message[0] = '\0';
		pthread_rwlock_rdlock(&accel->life);
		generation = accel->generation;
		if (accel->process == handle_process())
			result = fn(accel, argument, &reason);
		else
			result = rt_fail(&reason, ANEURALNETWORKS_DEAD_OBJECT,
					 "the model was prepared by this process's parent: prepare "
					 "it in this process");
		if (result == ANEURALNETWORKS_NO_ERROR &&
		    !atomic_load_explicit(&accel->has_served, memory_order_relaxed))
			atomic_store(&accel->has_served, true);
		pthread_rwlock_unlock(&accel->life);
		if (result != ANEURALNETWORKS_DEAD_OBJECT || tries)
			break;
		if (prepare_again(accel, generation, deadline_ns, &again) !=
		    ANEURALNETWORKS_NO_ERROR) {
			nna_log(NNA_LOG_WARN, "%s: the model could not be prepared again: %s",
				accel->source->name, again.message);
			break;
		}
		nna_log(NNA_LOG_WARN, "%s: the model was prepared again after this error: %s",
			accel->source->name, reason.message);
	}
	if (result != ANEURALNETWORKS_NO_ERROR)
		nn_fail(err, NN_GENERAL_FAILURE, "%s", reason.message);
	return result;
}

static uint64_t staged_size(const struct request_arg *args, uint32_t count)
{
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!args[i].memory && !args[i].omitted)
			size += round_up(args[i].length, STAGING_ALIGN);
	return size;
}

static bool init_request(struct accel_request *r, uint32_t num_inputs, uint32_t num_outputs,
			 struct arena *arena)
{
	size_t count = (size_t)num_inputs + num_outputs;

	*r = (struct accel_request){
		.inputs = arena_alloc(arena, num_inputs, sizeof(r->inputs[0])),
		.outputs = arena_alloc(arena, (size_t)num_outputs + 1, sizeof(r->outputs[0])),
		.memories = arena_alloc(arena, count + 1, sizeof(r->memories[0])),
		.tokens = arena_alloc(arena, count, sizeof(r->tokens[0])),
		.shapes = arena_alloc(arena, (size_t)num_outputs + 1, sizeof(r->shapes[0])),
	};
	return r->inputs && r->outputs && r->memories && r->tokens && r->shapes;
}

/*
 * Returns `size` bytes of staging memory: the request's memory if the request's memory is large
 * enough, or else new memory.
 */
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

/*
 * Returns the index of a token in the request; adds the token if the request does not have it yet.
 */
static uint32_t refer_token(struct accel_request *r, uint32_t token)
{
	uint32_t i;

	for (i = 0; i < r->num_tokens; i++)
		if (r->tokens[i] == token)
			return i;
	r->tokens[r->num_tokens++] = token;
	return i;
}

/* In a request the indices of memories come first, and the indices of tokens follow. */
static void number_tokens(const struct accel_request *r, const struct request_arg *from,
			  uint32_t count, struct nna_argument *to)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (memory_is_on_device(from[i].memory))
			to[i].pool += r->num_memories;
}

/*
 * Assigns offsets in staging memory to the arguments that are pointers, one after the other,
 * beginning at *at.
 */
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
			/*
			 * In a forked child, a token of the parent may be the token of another
			 * buffer.
			 */
			if (from[i].memory->domain->device != accel->device)
				return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
					       "a memory belongs to this process's parent: make it again");
			to[i].length = 0;
			to[i].pool = refer_token(r, from[i].memory->domain->token);
		} else if (from[i].memory) {
			to[i].offset = from[i].offset;
			if (memory_is_image(from[i].memory))
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

/* ---- When operations ran: model/times.h ---- */

static uint64_t times_size(const struct trace_run *trace)
{
	return sizeof(struct times_head) + trace->times.room * sizeof(trace->times.list[0]);
}

/* Adds an output that receives the times of operations, at offset `at` of the staging memory. */
static void place_times(const struct request *request, struct accel_request *r, uint64_t at)
{
	r->outputs[request->num_outputs] = (struct nna_argument){
		.offset = at, .length = times_size(request->trace),
	};
	memset(r->base + at, 0, sizeof(struct times_head));
}

/*
 * The times are copied before they are checked, because the engine may overwrite the times at any
 * time.
 */
static void fetch_times(const struct request *request, const struct accel_request *r)
{
	const uint8_t *from = r->base + r->outputs[request->num_outputs].offset;
	struct trace_run *trace = request->trace;
	struct times_head head;

	memcpy(&head, from, sizeof(head));
	trace->engine_begin_ns = head.begin_ns;
	trace->engine_end_ns = head.end_ns;
	trace->times.count = head.count < trace->times.room ? head.count : trace->times.room;
	if (trace->times.count)
		memcpy(trace->times.list, from + sizeof(head),
		       trace->times.count * sizeof(trace->times.list[0]));
}

static uint64_t pointed_size(const struct request_arg *args, uint32_t count)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < count; i++)
		size += args[i].memory || args[i].omitted ? 0 : args[i].length;
	return size;
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
	r->has_times = request->trace && !request->attributes && !accel->has_no_times;
	if (r->has_times)
		size += times_size(request->trace);
	if (size)
		result = get_staging(accel, size, r, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = place_args(accel, r, request->inputs, request->num_inputs, PROT_READ,
				    &at, r->inputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = place_args(accel, r, request->outputs, request->num_outputs, PROT_WRITE,
				    &at, r->outputs, err);
	if (result == ANEURALNETWORKS_NO_ERROR && r->has_times)
		place_times(request, r, at);
	number_tokens(r, request->inputs, request->num_inputs, r->inputs);
	number_tokens(r, request->outputs, request->num_outputs, r->outputs);
	return result;
}

/*
 * Copies outputs to the application's pointers; the reported shapes determine the number of bytes.
 */
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
		/* The size of an OEM scalar is the length of its argument. */
		size = shape.type == NN_OEM_SCALAR ? arg->length : operand_size(&shape);
		size = size < arg->length ? size : arg->length;
		memcpy(arg->pointer, r->base + r->outputs[i].offset, size);
		if (request->trace)
			request->trace->copied_out += size;
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

static void begin_trace(const struct request *request)
{
	struct trace_run *trace = request->trace;

	*trace = (struct trace_run){
		.submitted_ns = clock_ns(),
		.copied_in = pointed_size(request->inputs, request->num_inputs),
		.times = { .list = trace->times.list, .room = trace->times.room },
	};
}

static int run(struct accel_prepared *accel, struct request *request, struct accel_request *r,
	       struct nn_error *err)
{
	static const struct nn_attribute times = { .extension = TIMES_EXTENSION };
	static const struct nn_attributes wants_times = { 1, &times };
	const struct nna_request nna_request = {
		.size = sizeof(nna_request),
		.num_inputs = request->num_inputs,
		.num_outputs = request->num_outputs + r->has_times,
		.num_memories = r->num_memories,
		.inputs = r->inputs,
		.outputs = r->outputs,
		.memories = r->memories,
		.num_tokens = r->num_tokens,
		.tokens = r->tokens,
	};
	/* A burst's request has no loop timeout, so loops in a burst have the default timeout. */
	bool usual = request->channel && request->channel->burst &&
		     request->loop_timeout_ns == ANeuralNetworks_getDefaultLoopTimeout();
	const struct nna_execute_options options = {
		.size = sizeof(options),
		.measure = request->measure,
		.deadline_ns = request->deadline_ns,
		.loop_timeout_ns = usual ? 0 : request->loop_timeout_ns,
		.attributes = r->has_times ? &wants_times : request->attributes,
	};
	struct nna_timing timing = { NNA_TIME_NONE, NNA_TIME_NONE };
	uint32_t num_shapes = 0;
	enum nn_status status;

	if (request->trace)
		begin_trace(request);
	if (request->channel && request->channel->burst)
		status = nna_burst_execute(request->channel->burst, &nna_request, &options,
					   NNA_SIZED(nna_results, .shapes = r->shapes,
					   .num_shapes = &num_shapes, .timing = &timing), err);
	else
		status = nna_execute(accel->model, &nna_request, &options, NNA_SIZED(nna_results,
				     .shapes = r->shapes, .num_shapes = &num_shapes,
				     .timing = &timing), err);
	/*
	 * An engine that does not know the attribute for times rejects the request without
	 * computing anything.
	 */
	if (r->has_times && status == NN_INVALID_ARGUMENT) {
		accel->has_no_times = true;
		r->has_times = false;
		return run(accel, request, r, err);
	}
	if (request->trace)
		request->trace->answered_ns = clock_ns();
	if (r->has_times)
		fetch_times(request, r);
	if (num_shapes)
		take_shapes(request, r);
	if (status == NN_OK)
		fetch_outputs(accel, request, r);
	request->on_device_us = timing.on_device_us;
	request->in_driver_us = timing.in_driver_us;
	return rt_fail_status(err, status);
}

/*
 * After a failed execution, frees the staging memory instead of reusing it, because a worker that
 * missed the deadline may still write to it. If only an output was too small, the worker has
 * already answered and no longer writes to the staging memory.
 */
static void drop_written_late(struct nna_memory **staging, int result)
{
	if (result == ANEURALNETWORKS_NO_ERROR ||
	    result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
		return;
	nna_memory_free(*staging);
	*staging = NULL;
}

/*
 * Executes a request with new arrays and new staging memory, and frees the arrays and the memory.
 */
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
		drop_written_late(&r.staging, result);
		put_idle(accel, r.staging);
	} else {
		result = rt_out_of_memory(err);
	}
	arena_free(&arena);
	return result;
}

/*
 * Opens a burst for the current prepared model. If opening the burst fails, executions use the
 * ioctl.
 */
static void renew_channel(struct accel_prepared *accel, struct channel *channel)
{
	struct nn_error reason = { "" };

	nna_burst_free(channel->burst);
	nna_memory_free(channel->request.staging);
	channel->request.staging = NULL;
	if (nna_burst_create(accel->model, NULL, &channel->burst, &reason)) {
		nna_log(NNA_LOG_WARN, "executions run without a burst, because it could not be "
			"created: %s", reason.message);
		channel->burst = NULL;
	}
	channel->generation = accel->generation;
}

static int execute_in_burst(struct accel_prepared *accel, struct request *request,
			    struct nn_error *err)
{
	struct accel_request *r = &request->channel->request;
	int result;

	if (request->channel->generation != accel->generation)
		renew_channel(accel, request->channel);
	result = place(accel, request, r, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = run(accel, request, r, err);
	drop_written_late(&r->staging, result);
	return result;
}

static int execute(struct accel_prepared *accel, void *argument, struct nn_error *err)
{
	struct request *request = argument;

	request->shapes_known = false;
	request->on_device_us = NNA_TIME_NONE;
	request->in_driver_us = NNA_TIME_NONE;
	if (request->channel)
		return execute_in_burst(accel, request, err);
	return execute_single(accel, request, err);
}

static int accel_execute(struct prepared *prepared, struct request *request, struct nn_error *err)
{
	return use((struct accel_prepared *)prepared, execute, request, request->deadline_ns, err);
}

struct fenced {
	const struct request *request;
	const int *wait_for;
	uint32_t count;
	uint64_t duration_ns;
	int *fence;
};

static int execute_fenced(struct accel_prepared *accel, void *argument, struct nn_error *err)
{
	const struct fenced *f = argument;
	const struct request *request = f->request;
	const struct nna_execute_options options = {
		.size = sizeof(options),
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
			.size = sizeof(nna_request),
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
			&options, NNA_SIZED(nna_dependencies, .files = f->wait_for,
			.num_files = f->count, .duration_ns = f->duration_ns), f->fence, err));
	}
	/*
	 * The kernel has references to all objects that the execution needs, so the request may be
	 * freed.
	 */
	nna_memory_free(r.staging);
	arena_free(&arena);
	return result;
}

static int accel_execute_fenced(struct prepared *prepared, const struct request *request,
				const int *wait_for, uint32_t count, uint64_t duration_ns,
				int *fence, struct nn_error *err)
{
	struct fenced f = { request, wait_for, count, duration_ns, fence };

	return use((struct accel_prepared *)prepared, execute_fenced, &f, request->deadline_ns,
		   err);
}

static int accel_fence_result(const ANeuralNetworksDevice *device, int fence,
			      struct nna_timing *launched, struct nna_timing *fenced,
			      struct nn_error *err)
{
	struct nna_device *nna;
	int result = handle_get(device->handle, &nna, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	return rt_fail_status(err, nna_fence_get_info(nna, fence, launched, fenced, err));
}

static int accel_sync_file(const ANeuralNetworksDevice *device, int fence, int *sync_file,
			   struct nn_error *err)
{
	struct nna_device *nna;
	int result = handle_get(device->handle, &nna, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	return rt_fail_status(err, nna_fence_get_sync_file(nna, fence, sync_file, err));
}

static void accel_close_channel(struct channel *channel)
{
	nna_burst_free(channel->burst);
	nna_memory_free(channel->request.staging);
	arena_free(&channel->arena);
	free(channel);
}

static int create_burst(struct accel_prepared *accel, void *argument, struct nn_error *err)
{
	struct channel *c = argument;

	c->generation = accel->generation;
	return rt_fail_status(err, nna_burst_create(accel->model, NULL, &c->burst, err));
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
		result = use(accel, create_burst, c, 0, err);
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
	if (!handle_comes_back(device->handle, 0) && !handle_is_served(device->handle))
		return rt_fail(err, ANEURALNETWORKS_DEAD_OBJECT, "no engine serves %s",
			       device->name);
	return ANEURALNETWORKS_NO_ERROR;
}

static struct accel_prepared *accel_of(const struct prepared_role *role)
{
	return (struct accel_prepared *)role->prepared;
}

/* Returns whether a role before roles[index] belongs to the same prepared model. */
static bool is_repeated(const struct prepared_role *roles, uint32_t index)
{
	uint32_t i = 0;

	while (i < index && roles[i].prepared != roles[index].prepared)
		i++;
	return i < index;
}

/* Locks the models of all roles, so that no model is replaced before release_roles(). */
static void hold_roles(const struct prepared_role *roles, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_repeated(roles, i))
			pthread_rwlock_rdlock(&accel_of(&roles[i])->life);
}

static void release_roles(const struct prepared_role *roles, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_repeated(roles, i))
			pthread_rwlock_unlock(&accel_of(&roles[i])->life);
}

static int no_use(struct accel_prepared *accel, void *argument, struct nn_error *err)
{
	bool *first = argument;

	(void)accel;
	if (!*first)
		return ANEURALNETWORKS_NO_ERROR;
	*first = false;
	return rt_fail(err, ANEURALNETWORKS_DEAD_OBJECT, "a worker died");
}

static int allocate(const ANeuralNetworksDevice *device, const struct prepared_role *roles,
		    uint32_t count, struct memory_domain *domain, struct nn_error *err)
{
	struct nna_device *nna;
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
					       .frequency = roles[i].frequency };

		models[i] = accel_of(&roles[i])->model;
		if (roles[i].output)
			out[num_out++] = role;
		else
			in[num_in++] = role;
	}
	memcpy(desc.dims, domain->operand.dims, sizeof(desc.dims));
	result = handle_get(device->handle, &nna, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = rt_fail_status(err, nna_buffer_allocate(nna, NNA_SIZED(nna_buffer_roles,
			.desc = &desc, .models = models, .num_models = count, .inputs = in,
			.num_inputs = num_in, .outputs = out, .num_outputs = num_out),
			&domain->buffer, &domain->token, err));
	if (result == ANEURALNETWORKS_NO_ERROR)
		domain->device = nna;
	arena_free(&arena);
	return result;
}

static int accel_allocate(const ANeuralNetworksDevice *device, const struct prepared_role *roles,
			  uint32_t count, struct memory_domain *domain, struct nn_error *err)
{
	struct nn_error reason = { "" };
	int result;

	/* A forked child prepares each model of the parent again. */
	for (uint32_t i = 0; i < count; i++) {
		struct accel_prepared *accel = accel_of(&roles[i]);
		bool first = false, is_ours;

		renew_locks(accel);
		pthread_rwlock_rdlock(&accel->life);
		is_ours = accel->process == handle_process();
		pthread_rwlock_unlock(&accel->life);
		result = is_ours ? ANEURALNETWORKS_NO_ERROR : use(accel, no_use, &first, 0, err);
		if (result != ANEURALNETWORKS_NO_ERROR)
			return result;
	}
	hold_roles(roles, count);
	result = allocate(device, roles, count, domain, &reason);
	release_roles(roles, count);
	if (result == ANEURALNETWORKS_DEAD_OBJECT) {
		/*
		 * The worker that held the models of all roles has died, so each model is prepared
		 * again.
		 */
		for (uint32_t i = 0; i < count; i++) {
			bool first = true;

			if (!is_repeated(roles, i))
				use(accel_of(&roles[i]), no_use, &first, 0, NULL);
		}
		hold_roles(roles, count);
		result = allocate(device, roles, count, domain, &reason);
		release_roles(roles, count);
	}
	if (result != ANEURALNETWORKS_NO_ERROR)
		nn_fail(err, NN_GENERAL_FAILURE, "%s", reason.message);
	return result;
}

static const struct device_ops accel_ops = {
	.get_supported = accel_get_supported,
	.prepare = accel_prepare,
	.prepare_cached = accel_prepare_cached,
	.execute = accel_execute,
	.execute_fenced = accel_execute_fenced,
	.fence_result = accel_fence_result,
	.sync_file = accel_sync_file,
	.free = accel_free,
	.open_channel = accel_open_channel,
	.close_channel = accel_close_channel,
	.wait = accel_wait,
	.allocate = accel_allocate,
};

static bool is_same(const struct device_facts *a, const struct device_facts *b)
{
	return a && a->extensions == b->extensions && a->num_extensions == b->num_extensions &&
	       !memcmp(&a->info, &b->info, sizeof(a->info));
}

/*
 * Queries the current properties of a device. Returns false if the device does not answer; the
 * device's previous facts then stay in use.
 */
static bool get_facts(ANeuralNetworksDevice *device, struct nna_device *nna, struct nn_error *err)
{
	struct device_facts *facts = calloc(1, sizeof(*facts)), *last = atomic_load(&device->facts);
	enum nn_status status = NN_OUT_OF_MEMORY;

	if (facts) {
		facts->info.size = sizeof(facts->info);
		status = nna_device_get_info(nna, &facts->info, err);
	}
	if (status == NN_OK)
		status = nna_device_get_extensions(nna, &facts->extensions, &facts->num_extensions,
						   err);
	if (status != NN_OK || is_same(last, facts)) {
		free(facts);
		return status == NN_OK;
	}
	facts->older = last;
	/*
	 * If two threads query a device at the same time, the facts that are stored last are used.
	 */
	while (!atomic_compare_exchange_weak(&device->facts, &facts->older, facts))
		;
	return true;
}

void device_nnaccel_refresh(ANeuralNetworksDevice *device)
{
	const struct device_facts *last = device_facts(device);
	struct nn_error reason = { "" };
	struct nna_device *nna;

	if (handle_get(device->handle, &nna, &reason) == ANEURALNETWORKS_NO_ERROR &&
	    get_facts(device, nna, &reason) && device_facts(device) != last)
		nna_log(NNA_LOG_INFO, "device %s has another engine, version %s", device->name,
			device_info(device)->version);
}

/* The state of a device, which exists as long as the process. */
struct accel_place {
	struct accel_handle handle;
	struct nna_device_entry entry;
};

/* Reads the name of a device whose engine registered only after the devices were listed. */
static void read_name(struct nna_device_entry *entry)
{
	struct nna_device_entry entries[NNA_MAX_DEVICES];
	uint32_t count = NNA_MAX_DEVICES;

	if (entry->name[0] || nna_device_list(entries, sizeof(entries[0]), &count, NULL))
		return;
	for (uint32_t i = 0; i < count && i < NNA_MAX_DEVICES; i++)
		if (!strcmp(entries[i].path, entry->path))
			*entry = entries[i];
	/* If there is no sysfs, the device's name is unknown. */
	if (!entry->name[0])
		strcpy(entry->name, "nnaccel");
}

static bool open_place(ANeuralNetworksDevice *device, struct accel_place *place, bool wait,
		       struct nn_error *err)
{
	struct nna_device *nna;

	if (handle_get(&place->handle, &nna, err) != ANEURALNETWORKS_NO_ERROR) {
		nna_log(NNA_LOG_INFO, "no device %s: %s", place->entry.path, err->message);
		return false;
	}
	if (!wait && nna_device_status(nna) != NNA_AVAILABLE) {
		nn_fail(err, NN_DEVICE_UNAVAILABLE, "no engine is running");
		return false;
	}
	if (!get_facts(device, nna, err)) {
		nna_log(NNA_LOG_WARN, "device %s is not offered for now: %s", place->entry.path,
			err->message);
		return false;
	}
	read_name(&place->entry);
	return true;
}

bool device_nnaccel_open(ANeuralNetworksDevice *device, const struct nna_device_entry *entry,
			 bool wait, struct nn_error *err)
{
	struct accel_place *place = calloc(1, sizeof(*place));

	memset(device, 0, sizeof(*device));
	if (!place) {
		nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
		return false;
	}
	place->entry = *entry;
	place->handle.path = place->entry.path;
	device->name = place->entry.name;
	device->path = place->entry.path;
	device->ops = &accel_ops;
	device->handle = &place->handle;
	if (open_place(device, place, wait, err))
		return true;
	handle_close(&place->handle);
	free(place);
	return false;
}
