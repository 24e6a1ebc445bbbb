// SPDX-License-Identifier: MIT
/* Serves a session: fetches commands, executes each command, and commits the answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sized.h"
#include "kit/api/device.h"
#include "kit/api/engine.h"
#include "kit/api/log.h"
#include "kit/api/running.h"
#include "kit/plugin/guard.h"
#include "kit/session/buffers.h"
#include "kit/session/command.h"
#include "kit/session/rows.h"
#include "kit/session/serve.h"
#include "kit/session/session.h"
#include "kit/worker/worker.h"
#include "model/attribute.h"
#include "model/times.h"

/* Initial size of the memory into which a command is fetched. */
#define FIRST_BUFFER 4096

/* Memory into which a command is fetched. The memory grows for a larger command. */
struct room {
	void *data;
	size_t size;
};

struct answer {
	enum nn_status status;
	/* plan to store in the cache after the answer is sent, or NULL */
	struct own_cache_work *work;
	void *memory;			/* malloc()ed memory of the answer's payload, or NULL */
	void *payload;
	size_t payload_size;
	uint64_t device_ns;
	int fence;			/* sync_file that signals the end of the execution, or -1 */
	struct nn_error err;
};

/*
 * Initialises an answer. Initialises an answer, but saves time by not clearing the large buffer for
 * the message.
 */
static void answer_init(struct answer *answer)
{
	answer->status = NN_OK;
	answer->work = NULL;
	answer->memory = NULL;
	answer->payload = NULL;
	answer->payload_size = 0;
	answer->device_ns = NNACCEL_TIME_NONE;
	answer->fence = -1;
	answer->err.message[0] = '\0';
}

/*
 * Allocates the payload of an answer; the answer owns the payload. Allocates at least one byte, so
 * that NULL always means failure.
 */
static void *answer_reserve(struct answer *answer, size_t count, size_t size)
{
	answer->memory = calloc(count ? count : 1, size);
	answer->payload = answer->memory;
	if (!answer->payload)
		answer->status = nn_fail(&answer->err, NN_OUT_OF_MEMORY, "out of memory");
	return answer->payload;
}

/*
 * Returns whether the engine and the keeper can save models. A connection to the keeper does not
 * prove that the keeper saves models: the keeper may serve only the engine's own store.
 */
static bool can_save(const struct server *server)
{
	return server->cache.socket >= 0 && server->engine->save;
}

static void do_query_device(struct server *server, uint32_t room, struct answer *answer)
{
	struct nn_device_info *info = answer_reserve(answer, 1, sizeof(*info));

	if (!info)
		return;
	device_init(info);
	server->engine->describe(server->engine, info);
	info->model_cache_files = can_save(server) ? server->models.files.model : 0;
	info->data_cache_files = can_save(server) ? server->models.files.data : 0;
	/*
	 * An older client library has memory only for the fields of its own version of the struct.
	 */
	if (info->size > room)
		info->size = room;
	answer->payload_size = info->size;
}

static void do_query(struct server *server, const struct command *command, struct answer *answer)
{
	switch (command->head->query) {
	case NNACCEL_QUERY_DEVICE:
		do_query_device(server, command->head->max_payload, answer);
		break;
	case NNACCEL_QUERY_EXTENSIONS:
		answer->memory = device_list_extensions(server->engine, &answer->payload_size);
		answer->payload = answer->memory;
		if (!answer->payload)
			answer->status = nn_fail(&answer->err, NN_OUT_OF_MEMORY, "out of memory");
		break;
	default:
		answer->status = nn_fail(&answer->err, NN_INVALID_ARGUMENT, "unknown query %u",
					 command->head->query);
	}
}

static void do_supported(struct server *server, const struct command *command,
			 struct answer *answer)
{
	size_t count = command->head->max_payload;
	bool *supported = answer_reserve(answer, count, sizeof(*supported));

	_Static_assert(sizeof(bool) == sizeof(__u8), "an array of bool is the payload");
	if (!supported)
		return;
	answer->status = models_supported(&server->models, command, supported, count,
					  &answer->err);
	if (!answer->status)
		answer->payload_size = count;
}

/* Adds to the answer the memory use of a model that was just prepared. */
static void tell_memory(struct server *server, const struct command *command,
			struct answer *answer)
{
	struct nnaccel_model_memory *memory = answer->payload;

	if (answer->status || !memory)
		return;
	models_memory(&server->models, command->head->model, memory);
	answer->payload_size = sizeof(*memory);
}

static bool caches_all;

void server_cache_all(void)
{
	caches_all = true;
}

static void do_prepare(struct server *server, const struct command *command,
		       struct answer *answer)
{
	if (!answer_reserve(answer, 1, sizeof(struct nnaccel_model_memory)))
		return;
	if ((caches_all || command->head->flags & NNACCEL_PREPARE_CACHE) && can_save(server))
		answer->status = models_prepare_own_cache(&server->models, command, &answer->work,
							  &answer->err);
	else
		answer->status = models_prepare(&server->models, command, &answer->err);
	tell_memory(server, command, answer);
}

static void do_prepare_cached(struct server *server, const struct command *command,
			      struct answer *answer)
{
	if (!answer_reserve(answer, 1, sizeof(struct nnaccel_model_memory)))
		return;
	answer->status = models_prepare_cached(&server->models, command, &answer->err);
	tell_memory(server, command, answer);
}

static void do_cache_save(struct server *server, const struct command *command,
			  struct answer *answer)
{
	const uint32_t count = command->head->num_inputs + command->head->num_outputs;
	uint64_t *sizes = answer_reserve(answer, count, sizeof(*sizes));

	if (!sizes)
		return;
	answer->status = models_save(&server->models, command, sizes, &answer->err);
	if (!answer->status || answer->status == NN_OUTPUT_INSUFFICIENT_SIZE)
		answer->payload_size = count * sizeof(*sizes);
}

static void do_forget_model(struct server *server, const struct command *command,
			    struct answer *answer)
{
	(void)answer;
	models_forget(&server->models, command->head->model);
}

static void do_forget_grant(struct server *server, const struct command *command,
			    struct answer *answer)
{
	(void)answer;
	buffers_forget(&server->buffers, command->head->grant);
	grants_forget(&server->grants, command->head->grant);
}

static void do_burst(struct server *server, const struct command *command, struct answer *answer)
{
	answer->status = bursts_open(&server->bursts, command, &answer->err);
}

static void do_burst_gone(struct server *server, const struct command *command,
			  struct answer *answer)
{
	(void)answer;
	bursts_close(&server->bursts, command->head->burst);
}

static void do_slot_gone(struct server *server, const struct command *command,
			 struct answer *answer)
{
	(void)answer;
	bursts_forget_slot(&server->bursts, command->head->burst, command->head->grant);
}

static void do_buffer(struct server *server, const struct command *command,
		      struct answer *answer)
{
	uint32_t *layout = answer_reserve(answer, 1, sizeof(*layout));

	if (!layout)
		return;
	answer->status = buffer_judge(&server->buffers, command, layout, &answer->err);
	if (!answer->status)
		answer->payload_size = sizeof(*layout);
}

static void do_copy(struct server *server, const struct command *command, struct answer *answer)
{
	answer->status = buffers_copy(&server->buffers, &server->grants, command, &answer->err);
}

/* An execution. The arrays of a job are in the memory of the answer. */
struct job {
	struct loaded_model *loaded;
	struct form *form;		/* prepared form of the model that the job executes */
	struct mapping **pools;
	struct buffer **buffers; /* for each pool: its buffer in the engine's layout, or NULL */
	void **staged;	/* private copy of each argument's rows, or NULL; see rows.h */
	struct nn_arg *args;
	struct nn_output_shape *shapes;
	/* payload of the answer; its length is in the command */
	struct nnaccel_shape *payload;
	struct nn_attributes *attributes;	/* attributes of the execution, or NULL */
	/* true: the engine writes the times of operations to the last output; see model/times.h */
	bool has_times;
	struct nn_times times;
	/* time at which the execution began, if the client measures times */
	uint64_t start_ns;
	struct nn_execution execution;
	struct running running;
};

/* A command that a thread is serving, or an execution that the engine has deferred. */
struct work {
	struct server *server;
	struct room room;		/* memory into which commands are fetched */
	struct command command;
	struct answer answer;
	struct due due;
	struct job job;
};

/*
 * Allocates all arrays of a job in one block. The pointers and shapes are initialised to 0, because
 * an engine may leave some pointers and shapes unset.
 */
static bool job_alloc(struct job *job, const struct nnaccel_cmd *head, struct answer *answer)
{
	size_t num_args = (size_t)head->num_inputs + head->num_outputs;
	size_t pointers = head->num_grants * (sizeof(*job->pools) + sizeof(*job->buffers)) +
			  num_args * sizeof(*job->staged);
	size_t args = num_args * sizeof(*job->args);
	size_t shapes = head->num_outputs * sizeof(*job->shapes);
	char *block = malloc(pointers + args + head->max_payload + shapes + 1);

	_Static_assert(sizeof(struct nn_arg) % sizeof(uint64_t) == 0 &&
		       sizeof(struct nnaccel_shape) % sizeof(uint64_t) == 0,
		       "what follows them is aligned");
	if (!block)
		return false;
	memset(block, 0, pointers);
	memset(block + pointers + args + head->max_payload, 0, shapes);
	job->pools = (void *)block;
	job->buffers = (void *)(job->pools + head->num_grants);
	job->staged = (void *)(job->buffers + head->num_grants);
	job->args = (void *)(block + pointers);
	job->payload = (void *)(block + pointers + args);
	job->shapes = (void *)(block + pointers + args + head->max_payload);
	job->running.pools = job->pools;
	job->running.buffers = job->buffers;
	job->running.num_pools = head->num_grants;
	answer->memory = block;
	return true;
}

static enum nn_status job_begin(struct server *server, const struct command *command,
				struct job *job, struct answer *answer)
{
	const struct nnaccel_format *format = command->formats;
	const struct nnaccel_cmd *head = command->head;
	struct nn_error *err = &answer->err;
	struct nn_error reason;
	enum nn_status status;

	job->loaded = models_get(&server->models, head->model, &job->form);
	if (!job->loaded)
		return nn_fail(err, NN_GENERAL_FAILURE, "the client has no such model");
	reason.message[0] = '\0';
	if (!job_alloc(job, head, answer))
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < head->num_grants; i++) {
		bool has_format = command->grants[i].prot & NNACCEL_PROT_FORMATTED;

		status = grants_get(&server->grants, &command->grants[i],
				    has_format ? format++ : NULL, &job->pools[i], &reason);
		if (status)
			return nn_fail(err, status, "pool %u: %s", i, reason.message);
		if (server->engine->buffers)
			job->buffers[i] = buffers_get(&server->buffers, command->grants[i].grant);
	}
	status = nn_attributes_decode(command->attributes, head->attributes_size,
				      &job->attributes, err);
	if (status)
		return status;
	job->has_times = head->num_outputs && times_are_asked(job->attributes);
	if (!job->has_times)
		return models_check_attributes(&server->models, job->attributes, true, err);
	free(job->attributes);
	job->attributes = NULL;
	return NN_OK;
}

static void answer_shapes(struct server *server, struct answer *answer,
			  const struct command *command, const struct job *job,
			  const struct nn_execution *execution)
{
	const uint32_t num_outputs = command->head->num_outputs;
	struct nnaccel_shape *out = job->payload;

	_Static_assert(NN_MAX_RANK == NNACCEL_MAX_RANK, "shapes are as large as the kernel's");
	for (uint32_t i = 0; i < execution->num_outputs; i++) {
		const struct nn_output_shape *shape = &execution->shapes[i];

		out[i] = (struct nnaccel_shape){
			.flags = shape->sufficient ? NNACCEL_SHAPE_SUFFICIENT : 0,
			.rank = shape->rank,
		};
		memcpy(out[i].dims, shape->dims, shape->rank * sizeof(shape->dims[0]));
	}
	/*
	 * If an output is a buffer, the answer contains the outputs' sizes after the outputs'
	 * shapes.
	 */
	answer->payload = out;
	answer->payload_size = command->head->max_payload;
	if (job->has_times)
		out[execution->num_outputs] = (struct nnaccel_shape){ .flags = NNACCEL_SHAPE_SUFFICIENT };
	if (answer->payload_size > num_outputs * sizeof(*out)) {
		memset(out + num_outputs, 0, num_outputs * sizeof(uint64_t));
		buffer_sizes(&server->models, job->loaded, execution, (uint64_t *)(out + num_outputs));
	}
}

/*
 * Finds the memory for the operations' times; the times follow struct times_head in the last
 * output. Returns false if the last output is missing, too small or not aligned, or if CPUs cannot
 * access its memory.
 */
static bool find_times(const struct job *job, const struct command *command, struct nn_times *times)
{
	const uint32_t last = command->head->num_inputs + command->head->num_outputs - 1;
	const struct nn_arg *arg = &job->args[last];

	if (arg->omitted || arg->length < sizeof(struct times_head) || (uintptr_t)arg->data % 8 ||
	    command->grants[command->inputs[last].pool].prot & NNACCEL_PROT_DEVICE)
		return false;
	*times = (struct nn_times){
		.list = (void *)((struct times_head *)arg->data + 1),
		.room = (uint32_t)((arg->length - sizeof(struct times_head)) / sizeof(times->list[0])),
	};
	return true;
}

static void end_times(const struct nn_times *times, uint64_t begin_ns)
{
	*((struct times_head *)times->list - 1) = (struct times_head){
		.begin_ns = begin_ns, .end_ns = clock_ns(), .count = times->count,
	};
}

/*
 * Returns whether an execution may end by a fence: true if this process has nothing to do after the
 * hardware has finished.
 */
static bool may_have_fence(const struct server *server, const struct nnaccel_cmd *head,
			   const struct job *job)
{
	bool may = grants_reach_drivers(&server->grants) && !job->has_times;

	for (uint32_t i = 0; may && i < head->num_inputs + head->num_outputs; i++)
		may = !job->staged[i];
	return may;
}

/*
 * Puts the engine's fence into the answer. If the execution has failed, closes the engine's fence.
 */
static void end_with_fence(struct job *job, struct answer *answer)
{
	if (job->running.fence < 0)
		return;
	if (answer->status) {
		close(job->running.fence);
		return;
	}
	answer->fence = job->running.fence;
	answer->device_ns = NNACCEL_TIME_NONE;
}

/* Returns the arguments of an execution; in each array, the outputs follow the inputs. */
static struct memory_args memory_args_of(const struct work *w)
{
	const struct nnaccel_cmd *head = w->command.head;

	return (struct memory_args){
		.from = w->command.inputs, .pools = w->job.pools, .num_inputs = head->num_inputs,
		.count = head->num_inputs + head->num_outputs,
		.args = w->job.args, .staged = w->job.staged,
	};
}

/* Processes the engine's result of an execution; see running_end(). */
static enum nn_status job_has_ended(struct work *w, enum nn_status result)
{
	struct job *job = &w->job;
	enum nn_status status = running_end(&job->running, result, &w->answer.err);

	if (status != NNA_ENGINE_DEFERRED && job->has_times)
		end_times(&job->times, job->start_ns);
	return status;
}

static void end_deferred(struct task *task);

/*
 * Runs the execution of a job that job_begin() has prepared. If job_run() returns
 * NNA_ENGINE_DEFERRED, the task end_deferred() owns the struct work.
 */
static enum nn_status job_run(struct work *w)
{
	const struct memory_args args = memory_args_of(w);
	const struct nnaccel_cmd *head = w->command.head;
	struct nn_error *err = &w->answer.err;
	struct server *server = w->server;
	struct job *job = &w->job;
	enum nn_status status;

	job->execution = (struct nn_execution){
		.num_inputs = head->num_inputs,
		.num_outputs = head->num_outputs - job->has_times,
		.inputs = job->args,
		.outputs = job->args + head->num_inputs,
		.shapes = job->shapes,
		.deadline_ns = head->deadline_ns,
		.loop_timeout_ns = head->loop_timeout_ns,
		.attributes = job->attributes,
		.measure = head->flags & NNACCEL_EXECUTE_MEASURE,
		.times = job->has_times ? &job->times : NULL,
	};
	job->start_ns = 0;
	status = memory_args_begin(&args, err);
	if (!status && job->has_times && !find_times(job, &w->command, &job->times))
		status = nn_fail(err, NN_INVALID_ARGUMENT, "no room for times");
	if (!status)
		status = buffer_check_inputs(&server->models, job->loaded, &w->command, err);
	if (job->execution.measure || job->has_times)
		job->start_ns = clock_ns();
	job->running.grants = &server->grants;
	job->running.cookie = head->cookie;
	job->running.num_fences = head->num_fences;
	job->running.may_have_fence = may_have_fence(server, head, job);
	job->running.tasks = &server->tasks;
	job->running.end.run = end_deferred;
	if (!status)
		status = running_begin(&job->running, err);
	if (status)
		return status;
	status = server->engine->execute(server->engine, job->form->prepared,
					 job->running.execution, &job->execution, err);
	return job_has_ended(w, status);
}

static void job_finish(struct work *w, enum nn_status status)
{
	const struct memory_args args = memory_args_of(w);
	struct answer *answer = &w->answer;
	struct job *job = &w->job;
	enum nn_status memory_status;
	struct nn_error broken;

	broken.message[0] = '\0';
	answer->status = status;
	memory_args_end(&args, !status);
	if (job->execution.device_ns)
		answer->device_ns = job->execution.device_ns;
	else if (job->execution.measure)
		answer->device_ns = clock_ns() - job->start_ns;

	/*
	 * Report lost memory rather than other failures, because lost memory causes other failures.
	 */
	memory_status = mappings_check(job->pools, w->command.head->num_grants, &broken);
	if (!memory_status)
		memory_status = mappings_check(job->loaded->pools, job->loaded->num_pools,
					       &broken);
	if (memory_status) {
		answer->status = memory_status;
		answer->err = broken;
	} else if (job->execution.shapes_known) {
		answer_shapes(w->server, answer, &w->command, job, &job->execution);
	}
	end_with_fence(job, answer);
}

static void job_end(struct work *w)
{
	struct server *server = w->server;
	struct job *job = &w->job;

	for (uint32_t i = 0; job->pools && i < w->command.head->num_grants; i++) {
		buffers_put(&server->buffers, job->buffers[i]);
		grants_put(&server->grants, job->pools[i]);
	}
	if (job->loaded)
		models_put(&server->models, job->loaded, job->form);
	free(job->attributes);
}

/*
 * Executes the command's job. Returns false if the engine defers the execution; end_deferred() then
 * answers the command later.
 */
static bool do_execute(struct work *w)
{
	struct job *job = &w->job;
	enum nn_status status;

	/*
	 * Initialise only single fields, because clearing the long message buffer of struct job
	 * would take time.
	 */
	job->loaded = NULL;
	job->pools = NULL;
	job->attributes = NULL;
	job->has_times = false;
	job->running.fence = -1;
	w->answer.status = job_begin(w->server, &w->command, job, &w->answer);
	if (!w->answer.status) {
		status = job_run(w);
		if (status == NNA_ENGINE_DEFERRED)
			return false;
		job_finish(w, status);
	}
	job_end(w);
	return true;
}

/* Handlers of all commands except executions, indexed by enum nnaccel_cmd_kind. */
static void (*const handlers[])(struct server *server, const struct command *command,
				struct answer *answer) = {
	[NNACCEL_DO_QUERY] = do_query,
	[NNACCEL_DO_SUPPORTED] = do_supported,
	[NNACCEL_DO_PREPARE] = do_prepare,
	[NNACCEL_DO_FORGET_MODEL] = do_forget_model,
	[NNACCEL_DO_FORGET_GRANT] = do_forget_grant,
	[NNACCEL_DO_BURST] = do_burst,
	[NNACCEL_DO_BURST_GONE] = do_burst_gone,
	[NNACCEL_DO_SLOT_GONE] = do_slot_gone,
	[NNACCEL_DO_PREPARE_CACHED] = do_prepare_cached,
	[NNACCEL_DO_CACHE_SAVE] = do_cache_save,
	[NNACCEL_DO_BUFFER] = do_buffer,
	[NNACCEL_DO_COPY_IN] = do_copy,
	[NNACCEL_DO_COPY_OUT] = do_copy,
};

/* ---- commands ---- */

static bool has_ended(const struct server *server)
{
	return server->shared && atomic_load(&server->shared->ended);
}

/* Ends the process or the server of a session that has become unusable. */
static void give_up(struct server *server, const char *what)
{
	int error = errno;

	if (error != ESHUTDOWN && !has_ended(server))
		log_error("%s: %s", what, strerror(error));
	if (!server->shared)
		_exit(error == ESHUTDOWN ? 0 : WORKER_EXIT_FAILURE);
	server_end(server);
}

/*
 * Ends the session of a client whose device was lost, after the client has received
 * DEVICE_UNAVAILABLE.
 */
static void end_lost(struct bursts *bursts)
{
	struct server *server = (struct server *)((char *)bursts - offsetof(struct server, bursts));

	log_warning("the device is lost: the client's session ends");
	if (!server->shared)
		_exit(WORKER_EXIT_FAILURE);
	server_end(server);
}

/*
 * If the client's memory was revoked, replaces the answer by an error, because writes of the
 * calling thread may be lost. The thread must call check_written() after its last write to the
 * client's memory.
 */
static void check_written(const struct server *server, struct answer *answer)
{
	if (answer->status || !server->shared || !atomic_load(&server->shared->revoked))
		return;
	answer->payload_size = 0;
	answer->status = nn_fail(&answer->err, NN_GENERAL_FAILURE,
				 "the client's session ends: another of its calls took too long");
}

/*
 * Commits an answer. Unless `next` is NULL, also fetches the next command into *next, and returns
 * the next command's size.
 */
static size_t commit(struct server *server, uint64_t cookie, struct answer *answer,
		     struct room *next)
{
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.cookie = cookie,
		.payload = (uintptr_t)answer->payload,
		.message = (uintptr_t)answer->err.message,
		.device_ns = answer->device_ns,
	};

	check_written(server, answer);
	commit.payload_size = (uint32_t)answer->payload_size;
	commit.status = command_status(answer->status);
	commit.message_size = answer->status ? (uint32_t)strlen(answer->err.message) : 0;
	if (next) {
		commit.buffer = (uintptr_t)next->data;
		commit.buffer_size = (uint32_t)next->size;
		commit.flags = server->shared ? NNACCEL_FETCH_NONBLOCK : 0;
	}
	if (answer->fence >= 0) {
		commit.flags |= NNACCEL_COMMIT_FENCE;
		commit.fence = answer->fence;
	}
	if (!session_call(server->session, NNACCEL_SESSION_COMMIT, &commit))
		return commit.buffer && commit.out_size <= next->size ? commit.out_size : 0;
	/*
	 * A cookie of 0 means that the kernel has accepted the answer, and only the fetch of the
	 * next command has failed. Another fetch will report the error.
	 */
	if (!commit.buffer || commit.cookie)
		give_up(server, "cannot commit an answer");
	return 0;
}

/*
 * Waits for a command. Called only in a process that serves several clients; returns early if the
 * server must end.
 */
static void await_command(const struct server *server)
{
	struct pollfd fds[] = {
		{ .fd = server->session, .events = POLLIN },
		{ .fd = server->shared->gone, .events = POLLIN },
	};

	poll(fds, 2, -1);
}

/*
 * Fetches the next command into *room and returns the command's size, or 0 if the caller must try
 * again.
 */
static size_t fetch(struct server *server, struct room *room)
{
	struct nnaccel_session_fetch fetch;

	while (!has_ended(server)) {
		fetch = (struct nnaccel_session_fetch){
			.size = sizeof(fetch),
			.flags = server->shared ? NNACCEL_FETCH_NONBLOCK : 0,
			.buffer = (uintptr_t)room->data,
			.buffer_size = (uint32_t)room->size,
		};
		if (!session_call(server->session, NNACCEL_SESSION_FETCH, &fetch))
			return fetch.out_size <= room->size ? fetch.out_size : 0;
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN && server->shared) {
			await_command(server);
			continue;
		}
		if (errno != EMSGSIZE) {
			give_up(server, "cannot fetch a command");
			continue;
		}
		free(room->data);
		room->size = fetch.out_size;
		room->data = malloc(room->size);
		if (!room->data) {
			room->size = 0;
			give_up(server, "cannot fetch a command");
		}
	}
	return 0;
}

/* ---- deadlines in a shared process ---- */

/*
 * Records the deadline of an execution, because the kernel ends the session if the answer comes too
 * late. A preparation may also have a deadline, but a late preparation does not end the session.
 */
static void due_begin(struct server *server, const struct nnaccel_cmd *head, struct due *due)
{
	struct shared *s = server->shared;

	due->at_ns = 0;
	if (!s || head->kind != NNACCEL_DO_EXECUTE || !head->deadline_ns || !head->cookie)
		return;
	pthread_mutex_lock(&s->lock);
	due->at_ns = head->deadline_ns;
	due->cookie = head->cookie;
	due->link = &s->due;
	due->next = s->due;
	if (due->next)
		due->next->link = &due->next;
	s->due = due;
	pthread_mutex_unlock(&s->lock);
	eventfd_write(s->changed, 1);
}

static void due_end(struct server *server, struct due *due)
{
	struct shared *s = server->shared;

	if (!due->at_ns)
		return;
	pthread_mutex_lock(&s->lock);
	*due->link = due->next;
	if (due->next)
		due->next->link = due->link;
	pthread_mutex_unlock(&s->lock);
}

uint64_t server_due_ns(struct server *server)
{
	uint64_t first_ns = UINT64_MAX;

	pthread_mutex_lock(&server->shared->lock);
	for (const struct due *due = server->shared->due; due; due = due->next)
		if (due->at_ns < first_ns)
			first_ns = due->at_ns;
	pthread_mutex_unlock(&server->shared->lock);
	return first_ns;
}

/* ---- one command ---- */

static struct work *work_create(struct server *server)
{
	struct work *w = malloc(sizeof(*w));

	if (!w)
		return NULL;
	w->server = server;
	w->room = (struct room){ malloc(FIRST_BUFFER), FIRST_BUFFER };
	if (w->room.data)
		return w;
	free(w);
	return NULL;
}

static void work_free(struct work *w)
{
	free(w->room.data);
	free(w);
}

/*
 * Commits the answer of a command. Returns the size of the next command if the commit also fetched
 * a command, otherwise 0. Only the commit of an execution also fetches the next command, because
 * after other commands the thread may have work to do first.
 */
static size_t answer_command(struct work *w, bool fetches)
{
	const struct nnaccel_cmd *head = w->command.head;
	bool is_lost = w->answer.status == NN_DEAD_OBJECT;
	struct server *server = w->server;
	size_t next = 0;

	if (head->cookie)
		next = commit(server, head->cookie, &w->answer,
			      fetches && !is_lost ? &w->room : NULL);
	due_end(server, &w->due);
	if (w->answer.fence >= 0)
		close(w->answer.fence);
	free(w->answer.memory);
	if (w->answer.work)
		models_store_own_cache(&server->models, w->answer.work);
	if (is_lost)
		end_lost(&server->bursts);
	return next;
}

/* The task that runs after the end of a deferred execution. */
static void end_deferred(struct task *task)
{
	struct work *w = (void *)((char *)task - offsetof(struct work, job.running.end));

	job_finish(w, job_has_ended(w, NNA_ENGINE_DEFERRED));
	job_end(w);
	answer_command(w, false);
	work_free(w);
}

/* A command in progress; its guard_job answers the client if a plug-in takes too long. */
struct serving {
	struct guard_job job;
	struct server *server;
	uint64_t cookie;
};

static void fail_command(struct guard_job *job, const char *reason)
{
	const struct serving *s = (struct serving *)job;
	struct answer answer;

	answer_init(&answer);
	answer.status = NN_GENERAL_FAILURE;
	nn_fail(&answer.err, NN_GENERAL_FAILURE, "%s", reason);
	commit(s->server, s->cookie, &answer, NULL);
}

/* Handles a valid command. Returns false if the command is an execution that the engine defers. */
static bool handle(struct work *w)
{
	const struct nnaccel_cmd *head = w->command.head;
	struct serving serving = { { fail_command }, w->server, head->cookie };
	bool is_done = true;

	due_begin(w->server, head, &w->due);
	guard_set_job(head->cookie ? &serving.job : NULL);
	if (head->kind == NNACCEL_DO_EXECUTE)
		is_done = do_execute(w);
	else
		handlers[head->kind](w->server, &w->command, &w->answer);
	guard_set_job(NULL);
	return is_done;
}

/*
 * Serves the fetched command, which has *size bytes. Sets *size to the size of the next command if
 * the next command was also fetched, otherwise to 0. Returns false if the engine defers the
 * execution; the caller then no longer owns `w`.
 */
static bool serve_one(struct work *w, size_t *size)
{
	const size_t had = *size;

	*size = 0;
	w->due.at_ns = 0;
	answer_init(&w->answer);
	w->answer.status = command_parse(w->room.data, had, &w->command, &w->answer.err);
	if (w->answer.status) {
		log_error("%s", w->answer.err.message);
		if (had < sizeof(*w->command.head))
			return true;
	} else if (!handle(w)) {
		return false;
	}
	*size = answer_command(w, w->command.head->kind == NNACCEL_DO_EXECUTE);
	return true;
}

/*
 * Minimum number of threads of a session: during a long execution, another thread serves other
 * commands.
 */
#define MIN_THREADS 2

unsigned int server_threads(void)
{
	cpu_set_t cpus;
	int count;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return SERVER_MAX_THREADS;
	count = CPU_COUNT(&cpus);
	if (count > SERVER_MAX_THREADS)
		count = SERVER_MAX_THREADS;
	return count < MIN_THREADS ? MIN_THREADS : (unsigned int)count;
}

bool server_init(struct server *server, const struct nna_engine *engine, int session, int cache)
{
	server->engine = engine;
	server->session = session;
	server->shared = NULL;
	if (!tasks_init(&server->tasks) || !grants_init(&server->grants, engine, session) ||
	    !cache_client_init(&server->cache, cache) ||
	    !models_init(&server->models, engine, &server->grants, &server->cache) ||
	    !bursts_init(&server->bursts, &server->grants, &server->models, &server->tasks))
		return false;
	server->bursts.lost = end_lost;
	return buffers_init(&server->buffers, &server->models);
}

bool server_attach(struct server *server)
{
	const struct nna_engine *engine = server->engine;
	struct nnaccel_session_attach attach = { .size = sizeof(attach) };

	if (server->shared)
		attach.flags |= NNACCEL_ATTACH_SHARED;
	if (HAS_FIELD(engine, only_devices) && engine->only_devices)
		attach.flags |= NNACCEL_ATTACH_DEVICES;
	if (HAS_FIELD(engine, takes_fences) && engine->takes_fences &&
	    grants_reach_drivers(&server->grants))
		attach.flags |= NNACCEL_ATTACH_FENCES;
	if (!session_call(server->session, NNACCEL_SESSION_ATTACH, &attach))
		return true;
	if (errno != ESHUTDOWN)
		log_error("cannot attach to the session: %s", strerror(errno));
	return false;
}

void server_run(struct server *server)
{
	struct work *w = work_create(server);
	size_t size = 0;

	while (w && !has_ended(server)) {
		if (!size)
			size = fetch(server, &w->room);
		if (size && !serve_one(w, &size))
			w = work_create(server);
	}
	if (w)
		work_free(w);
	else
		give_up(server, "cannot serve");
	/*
	 * Run tasks: the engine may have deferred an execution of this thread, and perhaps no other
	 * thread remains to finish the deferred execution.
	 */
	tasks_run(&server->tasks);
}

/* ---- the end in a shared process ---- */

/*
 * Answers executions whose deadline has passed, because the threads that serve these executions are
 * late. The kernel ignores the answers that the late threads send afterwards.
 */
void server_answer_late(struct server *server, uint64_t before_ns)
{
	static const char message[] = "the engine did not answer in time";
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.status = NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT,
		.message = (uintptr_t)message,
		.message_size = sizeof(message) - 1,
		.device_ns = NNACCEL_TIME_NONE,
	};

	/*
	 * Mark the client's memory as revoked before revoking the memory, so that lost results are
	 * not reported as success.
	 */
	atomic_store(&server->shared->revoked, true);
	bursts_revoke(&server->bursts);
	grants_revoke(&server->grants);
	pthread_mutex_lock(&server->shared->lock);
	for (const struct due *due = server->shared->due; due; due = due->next) {
		commit.cookie = due->cookie;
		if (due->at_ns <= before_ns &&
		    session_call(server->session, NNACCEL_SESSION_COMMIT, &commit) && errno != ENOENT)
			log_error("cannot answer in an engine's place: %s", strerror(errno));
	}
	pthread_mutex_unlock(&server->shared->lock);
}

void server_end(struct server *server)
{
	atomic_store(&server->shared->ended, true);
	eventfd_write(server->shared->gone, 1);
	bursts_end(&server->bursts);
	tasks_end(&server->tasks);
}

/*
 * Ends the session but keeps the session's descriptor open. Closing the session's descriptor could
 * give its number to a new file, which hanging threads would then use.
 */
void server_abandon(struct server *server)
{
	grants_revoke(&server->grants);
	bursts_revoke(&server->bursts);
	session_abandon(server->session);
	/* Call grants_sweep() last, because grants_sweep() calls the engine, which may hang. */
	grants_sweep(&server->grants);
}

void server_free(struct server *server)
{
	bursts_free(&server->bursts);
	buffers_free(&server->buffers);
	models_free(&server->models);
	grants_free(&server->grants);
	tasks_free(&server->tasks);
	pthread_mutex_destroy(&server->cache.lock);
	session_close(server->session);
}
