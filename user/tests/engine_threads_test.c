/* SPDX-License-Identifier: MIT */
/*
 * Tests how threads of an engine serve a client. The test imitates the kernel by replacing ioctl().
 * A memfd simulates the session; the memfd contains the rings of bursts, and the memory of grant N
 * at offset N * GRANT_SIZE.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/sync_file.h>

#include "../../selftests/lib/runner.h"
#include "base/clock.h"
#include "kit/session/command.h"
#include "kit/session/tasks.h"
#include "kit/worker/threads.h"
#include "ring/packet.h"
#include "ring/ring.h"
#include "tests/model_builder.h"
#include "tests/open_files.h"

#define OP_ADD 0
#define GRANT_SIZE (UINT64_C(1) << NNACCEL_GRANT_SHIFT)
#define WIRE 1
#define MEMORY 2
#define OTHER_MEMORY 3
#define MODEL 7
#define SLOT 3
#define CAPACITY 64
#define SMALL_CAPACITY 5	/* size of a request with one slot, in datums */
#define MANY_SLOTS 40
#define PATIENCE_MS (int)scaled(60000)
#define FENCED 40	/* cookie of an execution with dependencies */
#define DEFERRED 100	/* lowest cookie of the deferred executions */
#define NUM_DEFERRED 48
#define NUM_BURSTS (2 * TASK_THREADS)
#define LARGE (1U << 28)	/* size of a memory whose last float is a model's constant */

/* ---- the kernel ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closed;
	/*
	 * The next command for the threads that serve the client; no command waits if `size` is
	 * 0.
	 */
	uint8_t command[2048] __attribute__((aligned(8)));
	uint32_t size;
	uint64_t committed;		/* cookie of the last command that was answered */
	uint32_t status;
	uint32_t statuses[DEFERRED + NUM_DEFERRED];	/* by cookie */
	char message[NN_MESSAGE_SIZE];	/* error message of the last answer to a command */
	int fence;			/* fence of the last answer to a command, or -1 */
	/* Unless `watched` is NULL, commit() copies the number in the engine's memory to `seen`. */
	_Atomic(const float *) watched;
	float seen;
	struct nnaccel_session_grant_fd exported;	/* last ioctl() that exported a grant */
	uint32_t num_fences;		/* number of fences on which executions depend */
	/* number of dependencies' fences that the engine can open */
	uint32_t open_fences;
	uint32_t merged;
	bool cannot_merge;
	atomic_bool is_killing;		/* true: the module ends the session after a deadline */
} kernel = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .fence = -1 };

static int refuse(int error)
{
	errno = error;
	return -1;
}

/*
 * If no command waits, sleeps before returning: the engine's threads poll the session's file, and a
 * memfd is always readable.
 */
static int fetch(void *buffer, uint32_t room, uint32_t *size)
{
	int result = 0;

	pthread_mutex_lock(&kernel.lock);
	if (kernel.closed)
		result = refuse(ESHUTDOWN);
	else if (!kernel.size)
		result = refuse(EAGAIN);
	else if (kernel.size > room)
		result = refuse(EMSGSIZE);
	*size = kernel.size;
	if (!result) {
		memcpy(buffer, kernel.command, kernel.size);
		kernel.size = 0;
		pthread_cond_broadcast(&kernel.changed);
	}
	pthread_mutex_unlock(&kernel.lock);
	if (result && errno == EAGAIN) {
		usleep(1000);
		errno = EAGAIN;
	}
	return result;
}

static int commit(struct nnaccel_session_commit *c)
{
	if (c->cookie) {
		pthread_mutex_lock(&kernel.lock);
		kernel.committed = c->cookie;
		kernel.status = c->status;
		kernel.statuses[c->cookie] = c->status;
		kernel.seen = kernel.watched ? *kernel.watched : 0;
		snprintf(kernel.message, sizeof(kernel.message), "%.*s", (int)c->message_size,
			 (const char *)(uintptr_t)c->message);
		kernel.fence = c->flags & NNACCEL_COMMIT_FENCE ? c->fence : -1;
		pthread_cond_broadcast(&kernel.changed);
		pthread_mutex_unlock(&kernel.lock);
		c->cookie = c->buffer ? 0 : c->cookie;
	}
	return c->buffer ? fetch((void *)(uintptr_t)c->buffer, c->buffer_size, &c->out_size) : 0;
}

static int is_session(int file)
{
	struct stat st;

	return !fstat(file, &st) && S_ISREG(st.st_mode);
}

int ioctl(int file, unsigned long request, ...)
{
	struct nnaccel_session_fetch *f;
	struct nnaccel_session_fence *fence;
	struct nnaccel_session_slot *slot;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!is_session(file))
		return refuse(ENOTTY);
	switch (request) {
	case NNACCEL_SESSION_ATTACH:
		return 0;
	case NNACCEL_SESSION_FETCH:
		f = arg;
		return fetch((void *)(uintptr_t)f->buffer, f->buffer_size, &f->out_size);
	case NNACCEL_SESSION_COMMIT:
		return commit(arg);
	case NNACCEL_SESSION_SLOT:
		slot = arg;
		slot->out_grant = (struct nnaccel_grant){
			.grant = MEMORY, .prot = NNACCEL_PROT_READ | NNACCEL_PROT_WRITE,
			.length = 4096,
		};
		return 0;
	case NNACCEL_SESSION_GRANT_FD:
		kernel.exported = *(struct nnaccel_session_grant_fd *)arg;
		((struct nnaccel_session_grant_fd *)arg)->out_fd = dup(file);
		return 0;
	case NNACCEL_SESSION_FENCE:
		fence = arg;
		if (fence->cookie != FENCED || fence->flags != NNACCEL_FENCE_CLOEXEC)
			return refuse(ENOENT);
		if (fence->index >= kernel.open_fences)
			return refuse(EMFILE);
		fence->out_fd = dup(file);
		return 0;
	case SYNC_IOC_MERGE:
		if (kernel.cannot_merge)
			return refuse(ENOMEM);
		kernel.merged++;
		((struct sync_merge_data *)arg)->fence = dup(file);
		return 0;
	default:
		return refuse(ENOTTY);
	}
}

/*
 * If `is_killing` is set, the watching thread, which polls three files, finds an error of the
 * session.
 */
int poll(struct pollfd *files, nfds_t count, int ms)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	int ready = 0;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "poll");
	if (count != 3 || !is_session(files[0].fd))
		return real(files, count, ms);
	for (int i = 0; !ready && (ms < 0 || i <= ms); i++) {
		ready = real(files, count, 1);
		if (atomic_load(&kernel.is_killing)) {
			files[0].revents = POLLERR;
			return 1;
		}
	}
	return ready;
}

/*
 * The module's parameter kill_grace_ms: the time after a deadline until the module ends a session.
 */
static const char *kill_grace = "";

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *, const char *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	if (strcmp(path, "/sys/module/nnaccel/parameters/kill_grace_ms"))
		return real(path, mode);
	return fmemopen((void *)kill_grace, strlen(kill_grace) + 1, "r");
}

/*
 * Offers a command to the threads that serve the client. Returns false if no thread fetches the
 * command in time.
 */
static bool send_command(const struct nnaccel_cmd *head, const struct nnaccel_grant *grants,
			 const struct nnaccel_arg *args)
{
	struct timespec until = { .tv_sec = (time_t)(clock_ns() / NS_PER_S) + PATIENCE_MS / 1000 };
	uint32_t num_args = head->num_inputs + head->num_outputs, size = sizeof(*head);
	uint8_t *to = kernel.command;
	bool taken;
	int error = 0;

	pthread_mutex_lock(&kernel.lock);
	kernel.committed = 0;
	memcpy(to, head, sizeof(*head));
	if (head->num_grants)
		memcpy(to + size, grants, head->num_grants * sizeof(*grants));
	size += head->num_grants * (uint32_t)sizeof(*grants);
	if (num_args)
		memcpy(to + size, args, num_args * sizeof(*args));
	kernel.size = size + num_args * (uint32_t)sizeof(*args);
	((struct nnaccel_cmd *)(void *)to)->size = kernel.size;
	while (kernel.size && !error)
		error = pthread_cond_clockwait(&kernel.changed, &kernel.lock, CLOCK_MONOTONIC,
					       &until);
	taken = !kernel.size;
	pthread_mutex_unlock(&kernel.lock);
	return taken;
}

/* Waits for the answer to the command with the given cookie; returns the status in the answer. */
static uint32_t await_answer(uint64_t cookie)
{
	struct timespec until = { .tv_sec = (time_t)(clock_ns() / NS_PER_S) + PATIENCE_MS / 1000 };
	uint32_t status;
	int error = 0;

	pthread_mutex_lock(&kernel.lock);
	while (kernel.committed != cookie && !error)
		error = pthread_cond_clockwait(&kernel.changed, &kernel.lock, CLOCK_MONOTONIC,
					       &until);
	status = error ? UINT32_MAX : kernel.status;
	pthread_mutex_unlock(&kernel.lock);
	return status;
}

static void close_context(void)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.closed = true;
	pthread_mutex_unlock(&kernel.lock);
}

/* ---- the engine ---- */

static struct {
	atomic_bool executes;
	atomic_int executions;
	atomic_bool go_on;		/* set to let the waiting engine function continue */
	atomic_bool told;		/* true: the engine was notified of the client's death */
	bool waits, waits_for_end, exports;
	int fence;			/* fence with which the engine ends executions, or -1 */
	int dependencies;		/* errno of nna_engine_dependencies(), or 0 */
	bool depends;			/* set if the engine got a fence for the dependencies */
	atomic_bool defers;
	_Atomic(struct nna_engine_execution *) execution;	/* last execution */
	_Atomic(void *) base;		/* address of the last execution's memory */
	_Atomic(void *) forgotten;
	atomic_int released;
	_Atomic(pthread_t) ender;	/* thread that may call no engine function, or 0 */
	atomic_bool saved;
	struct nna_engine_slot added;	/* slot that was added last */
	atomic_int bursts;		/* number of executors that are not destroyed */
	atomic_int adds, removes;
	atomic_bool forgets_slots;	/* true: the executor caches no slot */
	int prepared;
	/*
	 * true: the engine hangs when it is notified of an ended burst, a freed slot or a freed
	 * region
	 */
	atomic_bool hangs;
	atomic_bool hanging;		/* set while the engine hangs in a notification */
} engine_state;

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	(void)engine;
	strcpy(info->version, "1");
}

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	(void)engine;
	(void)model;
	(void)operations;
	(void)err;
	return NN_OK;
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	(void)engine;
	(void)how;
	(void)err;
	while (engine_state.waits && !engine_state.go_on)
		usleep(1000);
	*prepared = (void *)model;
	engine_state.prepared++;
	return NN_OK;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	(void)prepared;
	if (engine_state.ender != pthread_self())
		engine_state.released++;
}

/* The engine returns success but saves nothing. */
static enum nn_status save(const struct nna_engine *engine, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	(void)engine;
	(void)prepared;
	(void)image;
	(void)err;
	engine_state.saved = true;
	return NN_OK;
}

static void end_save(const struct nna_engine *engine, struct nna_engine_image *image)
{
	(void)engine;
	(void)image;
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution, struct nn_execution *e,
			      struct nn_error *err)
{
	struct pollfd gone = { .fd = nna_engine_gone_file(execution), .events = POLLIN };
	struct nna_engine_region region;
	int after;

	(void)engine;
	(void)prepared;
	(void)err;
	engine_state.dependencies = nna_engine_dependencies(execution, &after) ? 0 : errno;
	engine_state.depends = after >= 0;
	if (after >= 0)
		close(after);
	if (!nna_engine_region_of(execution, e->inputs[0].data, &region))
		return NN_GENERAL_FAILURE;
	if (engine_state.exports && close(nna_engine_region_file(execution, e->inputs[0].data)))
		return NN_GENERAL_FAILURE;
	engine_state.base = region.base;
	engine_state.executes = true;
	engine_state.executions++;
	if (engine_state.waits_for_end)
		engine_state.told = poll(&gone, 1, PATIENCE_MS) == 1;
	while (engine_state.waits && !engine_state.go_on)
		usleep(1000);
	((float *)e->outputs[0].data)[0] = 2 * ((const float *)e->inputs[0].data)[0];
	/* An engine may pass -1 as the fence if a driver returned no fence for the work. */
	if (nna_engine_end_with_fence(execution, -1))
		return NN_GENERAL_FAILURE;
	if (engine_state.fence >= 0 && !nna_engine_end_with_fence(execution, engine_state.fence))
		return NN_GENERAL_FAILURE;
	e->shapes[0] = (struct nn_output_shape){ .rank = 1, .dims = { 1 }, .sufficient = true };
	e->shapes_known = true;
	engine_state.execution = execution;
	return engine_state.defers ? NNA_ENGINE_DEFERRED : NN_OK;
}

/* ---- its bursts: each executes as the engine does ---- */

static void hang(void)
{
	while (engine_state.hangs) {
		engine_state.hanging = true;
		usleep(1000);
	}
}

static enum nn_status burst_create(const struct nna_engine *engine, void *prepared, void **executor,
				   struct nn_error *err)
{
	(void)engine;
	(void)err;
	*executor = prepared;
	engine_state.bursts++;
	return NN_OK;
}

static void burst_destroy(void *executor)
{
	(void)executor;
	engine_state.bursts--;
	hang();
}

static enum nn_status burst_add(void *executor, const struct nna_engine_slot *slot,
				struct nn_error *err)
{
	(void)executor;
	(void)err;
	engine_state.added = *slot;
	engine_state.adds++;
	return NN_OK;
}

static bool burst_is_cached(void *executor, uint32_t slot)
{
	(void)executor;
	(void)slot;
	return !engine_state.forgets_slots;
}

static void burst_remove(void *executor, uint32_t slot)
{
	(void)executor;
	(void)slot;
	engine_state.removes++;
	hang();
}

static enum nn_status burst_execute(void *executor, const uint32_t *slots,
				    struct nna_engine_execution *execution, struct nn_execution *e,
				    struct nn_error *err)
{
	if (!engine_state.adds || slots[0] != SLOT || slots[1] != SLOT)
		return NN_GENERAL_FAILURE;
	return execute(NULL, executor, execution, e, err);
}

static const struct nna_engine_burst engine_burst = {
	.size = sizeof(engine_burst), .create = burst_create, .destroy = burst_destroy,
	.add = burst_add, .is_cached = burst_is_cached, .remove = burst_remove,
	.execute = burst_execute,
};

static void forget_region(const struct nna_engine *engine, const struct nna_engine_region *region)
{
	(void)engine;
	if (engine_state.ender != pthread_self())
		engine_state.forgotten = region->base;
	hang();
}

static const struct nna_engine engine = {
	.size = sizeof(engine), .name = "threads", .clients = NNA_ENGINE_CLIENTS_THREADS,
	.describe = describe, .supported = supported, .prepare = prepare, .release = release,
	.execute = execute, .burst = &engine_burst, .forget_region = forget_region,
	.save = save, .end_save = end_save,
};

/* ---- a client ---- */

static uint64_t burst_offset(uint64_t number, uint64_t region)
{
	return NNACCEL_BURST_MAP | number << NNACCEL_BURST_SHIFT | region;
}

static struct thread_client *client;
static int session, session_copy;
static int keeper = -1;			/* client's end of the socket to the keeper */
static float *memory;			/* memory of the client: the input x, then the output 2 x */
static float written;			/* value of memory[1] when the client ended */

/* Writes the serialised form of a model of x + x with one number. */
static size_t write_model(void)
{
	uint32_t x, none, sum;
	struct nn_error err;
	struct model_builder b;
	void *wire;
	size_t size;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&b, OP_ADD, MB_LIST(x, x, none), MB_LIST(sum));
	assert_int_equal(nn_model_encode(&b.model, &wire, &size, &err), NN_OK);
	assert_int_equal(pwrite(session, wire, size, (off_t)(WIRE * GRANT_SIZE)), size);
	free(wire);
	return size;
}

static uint32_t grant_of_executions = MEMORY;

static void execute_command(uint64_t cookie, uint64_t deadline_ns)
{
	const struct nnaccel_grant grant = {
		.grant = grant_of_executions, .prot = NNACCEL_PROT_READ | NNACCEL_PROT_WRITE, .length = 4096,
	};
	const struct nnaccel_arg args[] = {
		{ .length = sizeof(float) }, { .offset = sizeof(float), .length = sizeof(float) },
	};
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_EXECUTE, .cookie = cookie, .model = MODEL, .num_grants = 1,
		.num_inputs = 1, .num_outputs = 1, .deadline_ns = deadline_ns,
		.max_payload = sizeof(struct nnaccel_shape), .num_fences = kernel.num_fences,
	};

	assert_true(send_command(&head, &grant, args));
}

static void prepare_command(uint64_t cookie, uint64_t model, uint64_t deadline_ns)
{
	const struct nnaccel_grant grant = {
		.grant = WIRE, .prot = NNACCEL_PROT_READ, .length = 4096,
	};
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_PREPARE, .cookie = cookie, .model = model, .num_grants = 1,
		.max_payload = sizeof(struct nnaccel_model_memory), .deadline_ns = deadline_ns,
		.wire_length = write_model(),
	};

	assert_true(send_command(&head, &grant, NULL));
}

static int set_up(void **state)
{
	(void)state;
	kernel.closed = false;
	memset(&engine_state, 0, sizeof(engine_state));
	engine_state.fence = -1;
	session = memfd_create("session", MFD_CLOEXEC);
	session_copy = dup(session);
	assert_int_equal(ftruncate(session, (off_t)burst_offset(NUM_BURSTS + 1, 0)), 0);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, session,
		      (off_t)(MEMORY * GRANT_SIZE));
	assert_ptr_not_equal(memory, MAP_FAILED);
	client = thread_client_start(&engine, session, keeper, "client");
	assert_non_null(client);
	prepare_command(1, MODEL, 0);
	assert_int_equal(await_answer(1), NN_OK);
	return 0;
}

static void await_end(void)
{
	struct pollfd ended = { .fd = thread_client_file(client), .events = POLLIN };

	assert_int_equal(poll(&ended, 1, PATIENCE_MS), 1);
	thread_client_free(client);
	assert_int_equal(engine_state.released, engine_state.prepared);
	assert_int_equal(engine_state.bursts, 0);
	assert_int_equal(dup(session), -1);
	written = memory[1];
	munmap(memory, 4096);
	close(session_copy);
}

static void test_execution(void **state)
{
	const struct nnaccel_cmd forget = { .kind = NNACCEL_DO_FORGET_GRANT, .grant = MEMORY };

	(void)state;
	/*
	 * The engine can get the file of an execution's memory, for use by devices, only during the
	 * execution.
	 */
	assert_int_equal(nna_engine_region_file(NULL, memory), -1);
	engine_state.exports = true;
	memory[0] = 21;
	execute_command(2, 0);
	assert_int_equal(await_answer(2), NN_OK);
	assert_int_equal(kernel.fence, -1);
	assert_int_equal(kernel.exported.grant, MEMORY);
	assert_int_equal(kernel.exported.prot, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	assert_int_equal(kernel.exported.flags, NNACCEL_GRANT_FD_CLOEXEC);
	assert_true(memory[1] == 42);
	assert_null(engine_state.forgotten);
	assert_true(send_command(&forget, NULL, NULL));
	for (int i = 0; i < PATIENCE_MS && !engine_state.forgotten; i++)
		usleep(1000);
	assert_ptr_equal(engine_state.forgotten, engine_state.base);
	close_context();
	await_end();
}

/*
 * The engine gets one sync_file for all fences on which an execution depends, and no file stays
 * open.
 */
static void test_dependencies(void **state)
{
	static const struct {
		uint32_t num, open;
		bool cannot_merge;
		int error;
		uint32_t merged;
	} cases[] = {
		{ 0, 0, false, 0, 0 }, { 1, 1, false, 0, 0 }, { 3, 3, false, 0, 2 },
		{ 3, 2, false, EMFILE, 1 }, { 1, 0, false, EMFILE, 0 }, { 3, 3, true, ENOMEM, 0 },
	};
	int files = count_files(), after;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kernel.num_fences = cases[i].num;
		kernel.open_fences = cases[i].open;
		kernel.cannot_merge = cases[i].cannot_merge;
		kernel.merged = 0;
		execute_command(FENCED, 0);
		assert_int_equal(await_answer(FENCED), NN_OK);
		assert_int_equal(engine_state.dependencies, cases[i].error);
		assert_int_equal(engine_state.depends, cases[i].num && !cases[i].error);
		assert_int_equal(kernel.merged, cases[i].merged);
		assert_int_equal(count_files(), files);
	}
	kernel.num_fences = 0;
	/* nna_engine_dependencies() fails for an execution that has already ended. */
	after = 0;
	assert_false(nna_engine_dependencies(engine_state.execution, &after));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(after, -1);
	close_context();
	await_end();
}

/*
 * Prepares a model that the engine must cache; the model's constant fills the last `length` bytes
 * of a large memory. The number of the new model equals the cookie of the command.
 */
static void prepare_cached(uint64_t cookie, uint32_t length)
{
	const struct nnaccel_grant grants[] = {
		{ .grant = WIRE, .prot = NNACCEL_PROT_READ, .length = 4096 },
		{ .grant = OTHER_MEMORY, .prot = NNACCEL_PROT_READ, .length = LARGE },
	};
	const uint32_t count = length / sizeof(float);
	struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_PREPARE, .cookie = cookie, .model = (uint32_t)cookie,
		.num_grants = 2, .flags = NNACCEL_PREPARE_CACHE,
		.max_payload = sizeof(struct nnaccel_model_memory),
	};
	uint32_t x, constant, none, sum;
	struct nn_pool pool = { NULL, LARGE };
	struct model_builder b;
	struct nn_error err;
	size_t size;
	void *wire;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	constant = mb_reference(&b, NN_TENSOR_FLOAT32, 0, LARGE - length, length,
				MB_DIMS(count));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(count));
	mb_operation(&b, OP_ADD, MB_LIST(x, constant, none), MB_LIST(sum));
	b.model.num_pools = 1;
	b.model.pools = &pool;
	assert_int_equal(nn_model_encode(&b.model, &wire, &size, &err), NN_OK);
	assert_int_equal(pwrite(session, wire, size, (off_t)(WIRE * GRANT_SIZE)), size);
	free(wire);
	head.wire_length = size;
	assert_true(send_command(&head, grants, NULL));
	assert_int_equal(await_answer(cookie), NN_OK);
}

/* Limits the data memory of this process to the current size plus `more` bytes. */
static void limit_data(rlim_t more)
{
	struct rlimit limit;
	unsigned long pages;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages), 1);
	fclose(file);
	assert_int_equal(getrlimit(RLIMIT_DATA, &limit), 0);
	limit.rlim_cur = more == RLIM_INFINITY ? limit.rlim_max :
			 (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
	assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
}

/*
 * If the engine must cache a model, the library copies the model's constants, but not the whole
 * memory in which the constants lie.
 */
static void test_kept_in_little_memory(void **state)
{
	(void)state;
	limit_data(LARGE / 4);
	prepare_cached(2, sizeof(float));
	limit_data(RLIM_INFINITY);
	for (int i = 0; i < PATIENCE_MS && !engine_state.saved; i++)
		usleep(1000);
	assert_true(engine_state.saved);
	close_context();
	await_end();
}

/*
 * If the library cannot allocate memory for a copy of the constants, the library prepares the model
 * without caching the model.
 */
static void test_no_room_to_keep(void **state)
{
	(void)state;
	limit_data(LARGE / 4);
	prepare_cached(2, LARGE / 2);
	limit_data(RLIM_INFINITY);
	close_context();
	await_end();
	assert_false(engine_state.saved);
}

static int set_up_keeper(void **state)
{
	int ends[2];

	/* It has died. */
	signal(SIGPIPE, SIG_IGN);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	close(ends[0]);
	keeper = ends[1];
	return set_up(state);
}

static int no_keeper(void **state)
{
	(void)state;
	keeper = -1;
	return 0;
}

/* The library sends the fence of the engine with the answer, and then closes the fence. */
static void test_fence(void **state)
{
	int fence = eventfd(0, EFD_CLOEXEC);

	(void)state;
	engine_state.fence = fence;
	execute_command(2, 0);
	assert_int_equal(await_answer(2), NN_OK);
	assert_int_equal(kernel.fence, fence);
	close_context();
	await_end();
	assert_int_equal(close(fence), -1);
}

/* ---- bursts ---- */

/* The client's end. */
struct burst_end {
	uint32_t number;
	struct nnaccel_burst_status *status;
	struct nn_ring ring;
};

static void *map_burst(uint32_t number, uint64_t region, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, session,
			(off_t)burst_offset(number, region));

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void open_burst_of(struct burst_end *b, uint32_t number, uint32_t capacity)
{
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_BURST, .cookie = 10 + number, .model = MODEL, .burst = number,
	};
	struct nn_ring_map map;

	b->number = number;
	b->status = map_burst(number, NNACCEL_BURST_STATUS, 4096);
	*b->status = (struct nnaccel_burst_status){
		.state = NNACCEL_BURST_ALIVE, .lines = nn_ring_lines(capacity),
		.capacity = capacity, .ring_bytes = 8192,
	};
	/* All bursts of a client share one doorbell, which this test maps as burst 1's doorbell. */
	map = (struct nn_ring_map){
		.status = b->status, .mine = map_burst(number, NNACCEL_BURST_REQUESTS, 8192),
		.peer = map_burst(number, NNACCEL_BURST_RESULTS, 8192),
		.doorbell = map_burst(1, NNACCEL_BURST_DOORBELL, 4096),
		.lines = b->status->lines, .capacity = capacity,
	};
	assert_int_equal(nn_ring_init(&b->ring, &map, 0), NN_RING_OK);
	assert_true(send_command(&head, NULL, NULL));
	assert_int_equal(await_answer(10 + number), NN_OK);
}

static void open_burst(struct burst_end *b, uint32_t number)
{
	open_burst_of(b, number, CAPACITY);
}

static void unmap_burst(struct burst_end *b)
{
	munmap(b->ring.map.mine, 8192);
	munmap((void *)b->ring.map.peer, 8192);
	munmap(b->ring.map.doorbell, 4096);
	munmap(b->status, 4096);
}

/* Sends a request that lists the slot SLOT `num_slots` times, and requests times. */
static void send_request_of(struct burst_end *b, uint32_t num_slots)
{
	struct nnaccel_arg args[] = {
		{ .length = sizeof(float) }, { .offset = sizeof(float), .length = sizeof(float) },
	};
	uint32_t slots[MANY_SLOTS], length;
	const struct nn_request request = {
		.num_inputs = 1, .num_outputs = 1, .num_slots = num_slots, .args = args,
		.slots = slots, .measure = true,
	};
	struct nnaccel_datum datums[CAPACITY];

	for (uint32_t i = 0; i < num_slots; i++)
		slots[i] = SLOT;
	length = nn_request_encode(&request, datums, CAPACITY);
	assert_true(length);
	assert_int_equal(nn_ring_try_send(&b->ring, datums, length), NN_RING_OK);
}

static void send_request(struct burst_end *b)
{
	send_request_of(b, 1);
}

static enum nn_ring_result received;
static uint32_t result_outputs;
static uint64_t result_device_ns, result_driver_ns;
static char result_message[NN_RESULT_MESSAGE];

static uint32_t receive_result(struct burst_end *b)
{
	uint64_t until = clock_ns() + (uint64_t)PATIENCE_MS * 1000000;
	struct nnaccel_datum datums[CAPACITY];
	struct nnaccel_shape shapes[1];
	struct nn_result result = { .shapes = shapes, .max_outputs = 1, .message = result_message };
	uint32_t count;

	received = nn_ring_receive(&b->ring, datums, &count, until);
	if (received)
		return UINT32_MAX;
	assert_null(nn_result_parse(datums, count, &result));
	result_outputs = result.num_outputs;
	result_device_ns = result.device_ns;
	result_driver_ns = result.driver_ns;
	return result.status;
}

static void await_true(const atomic_bool *what)
{
	for (int i = 0; i < PATIENCE_MS && !*what; i++)
		usleep(1000);
	assert_true(*what);
}

/* Returns a set of NNACCEL_WAIT_* flags: the futexes on which the worker sleeps. */
static uint32_t waiting_of(const struct burst_end *b)
{
	return __atomic_load_n(&b->ring.map.peer->waiting, __ATOMIC_ACQUIRE);
}

/* Ends a burst as the kernel ends bursts. */
static void close_burst(struct burst_end *b)
{
	const struct nnaccel_cmd gone = { .kind = NNACCEL_DO_BURST_GONE, .burst = b->number };

	b->status->state = NNACCEL_BURST_DEAD;
	__atomic_fetch_add(b->ring.map.doorbell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, b->ring.map.doorbell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	assert_true(send_command(&gone, NULL, NULL));
}

/*
 * An executor that caches slots is notified of a slot before the slot's first use, and again
 * whenever the executor has dropped the slot.
 */
static void test_slots_of_executors(void **state)
{
	struct burst_end b;
	const int adds[] = { 1, 1, 2, 3 };

	(void)state;
	open_burst(&b, 1);
	for (int i = 0; i < 4; i++) {
		engine_state.forgets_slots = i >= 2;
		memory[0] = (float)i;
		send_request(&b);
		assert_int_equal(receive_result(&b), NN_OK);
		assert_true(memory[1] == 2 * (float)i);
		assert_int_equal(engine_state.adds, adds[i]);
		assert_int_equal(engine_state.executions, i + 1);
	}
	assert_int_equal(engine_state.added.slot, SLOT);
	assert_int_equal(engine_state.added.length, 4096);
	assert_true(engine_state.added.is_writable);
	assert_true(((const float *)engine_state.added.base)[1] == 6);
	close_burst(&b);
	for (int i = 0; i < PATIENCE_MS && engine_state.bursts; i++)
		usleep(1000);
	assert_int_equal(engine_state.bursts, 0);
	/* Only the ring of a client that breaks the rules is marked broken. */
	assert_int_equal(receive_result(&b), UINT32_MAX);
	assert_int_equal(received, NN_RING_DEAD);
	close_context();
	await_end();
	unmap_burst(&b);
}

/*
 * A malformed request of a burst gets an error without outputs and times, and the next request of
 * the burst is served.
 */
static void test_malformed_request(void **state)
{
	struct nnaccel_datum datums[CAPACITY] = { { .kind = NNACCEL_DATUM_RESULT } };
	struct burst_end b;

	(void)state;
	open_burst(&b, 1);
	datums[0].u.request.size = 2;
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(nn_ring_try_send(&b.ring, datums, 2), NN_RING_OK);
		assert_int_equal(receive_result(&b), NNACCEL_STATUS_GENERAL_FAILURE);
		assert_non_null(strstr(result_message, "malformed request: "));
		assert_int_equal(result_outputs, 0);
		assert_true(result_device_ns == NNACCEL_TIME_NONE);
		assert_true(result_driver_ns == NNACCEL_TIME_NONE);
		memory[0] = 3 * (float)i;
		send_request(&b);
		assert_int_equal(receive_result(&b), NN_OK);
		assert_true(result_device_ns != NNACCEL_TIME_NONE);
		assert_true(result_driver_ns != NNACCEL_TIME_NONE);
		assert_string_equal(result_message, "");
		assert_int_equal(result_outputs, 1);
		assert_true(memory[1] == 6 * (float)i);
		assert_int_equal(engine_state.executions, i);
	}
	close_burst(&b);
	close_context();
	await_end();
	unmap_burst(&b);
}

/* A client that damages the ring of a burst loses only the damaged burst. */
static void test_broken_ring(void **state)
{
	struct burst_end one, other;
	struct nnaccel_line *line;

	(void)state;
	open_burst(&one, 1);
	open_burst(&other, 2);
	line = (void *)((char *)one.ring.map.mine + NNACCEL_RING_LINES);
	line->sequence = 77;
	__atomic_fetch_add(one.ring.map.doorbell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, one.ring.map.doorbell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	assert_int_equal(receive_result(&one), UINT32_MAX);
	assert_int_equal(received, NN_RING_BROKEN);
	memory[0] = 4;
	send_request(&other);
	assert_int_equal(receive_result(&other), NN_OK);
	assert_true(memory[1] == 8);
	close_burst(&other);
	close_context();
	await_end();
	unmap_burst(&one);
	unmap_burst(&other);
}

/*
 * A burst with large rings serves a large request even after a burst with small rings has become
 * idle. The library must not reuse memory of the small burst for the large request.
 */
static void test_capacities(void **state)
{
	struct burst_end small, large;

	(void)state;
	open_burst_of(&small, 1, SMALL_CAPACITY);
	open_burst(&large, 2);
	for (int round = 0; round < 2; round++) {
		send_request(&small);
		assert_int_equal(receive_result(&small), NN_OK);
		for (int i = 0; i < PATIENCE_MS && waiting_of(&small) != NNACCEL_WAIT_DOORBELL; i++)
			usleep(1000);
		assert_int_equal(waiting_of(&small), NNACCEL_WAIT_DOORBELL);
		send_request_of(&large, MANY_SLOTS);
		assert_int_equal(receive_result(&large), NN_OK);
	}
	close_burst(&small);
	close_burst(&large);
	close_context();
	await_end();
	unmap_burst(&small);
	unmap_burst(&large);
}

/* The library refuses a burst of an unknown model, and a burst with rings of size 0. */
static void test_no_burst(void **state)
{
	struct nnaccel_burst_status *status = map_burst(1, NNACCEL_BURST_STATUS, 4096);
	struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_BURST, .cookie = 20, .model = MODEL + 1, .burst = 1,
	};

	(void)state;
	*status = (struct nnaccel_burst_status){
		.state = NNACCEL_BURST_ALIVE, .lines = nn_ring_lines(CAPACITY),
		.capacity = CAPACITY, .ring_bytes = 8192,
	};
	for (int i = 0; i < 3; i++) {
		assert_true(send_command(&head, NULL, NULL));
		assert_int_equal(await_answer(head.cookie), i == 2 ? NN_OK : NN_GENERAL_FAILURE);
		head.cookie++;
		head.model = MODEL;
		status->capacity = i ? CAPACITY : 0;
	}
	close_context();
	await_end();
	munmap(status, 4096);
}

/* If the engine hangs in the notification of a burst's end, other bursts are not delayed. */
static void test_burst_end_hangs(void **state)
{
	struct burst_end one, other;

	(void)state;
	open_burst(&one, 1);
	open_burst(&other, 2);
	memory[0] = 21;
	engine_state.waits = true;
	send_request(&one);
	await_true(&engine_state.executes);
	/* While a burst executes, the worker does not sleep on the burst's futexes. */
	assert_int_equal(waiting_of(&one), 0);
	/*
	 * Close the burst during an execution, so that the thread that serves the burst also ends
	 * the burst.
	 */
	close_burst(&one);
	engine_state.hangs = true;
	engine_state.go_on = true;
	await_true(&engine_state.hanging);
	send_request(&other);
	assert_int_equal(receive_result(&other), NN_OK);
	assert_true(memory[1] == 42);
	engine_state.hangs = false;
	close_context();
	await_end();
	unmap_burst(&one);
	unmap_burst(&other);
}

/*
 * If the engine hangs in the notification of a freed slot, other bursts are not delayed, and the
 * slot's burst can end.
 */
static void test_slot_end_hangs(void **state)
{
	const struct nnaccel_cmd freed = {
		.kind = NNACCEL_DO_SLOT_GONE, .burst = 1, .grant = SLOT,
	};
	struct burst_end one, other, third;

	(void)state;
	open_burst(&one, 1);
	open_burst(&other, 2);
	memory[0] = 4;
	send_request(&one);
	assert_int_equal(receive_result(&one), NN_OK);
	engine_state.hangs = true;
	assert_true(send_command(&freed, NULL, NULL));
	await_true(&engine_state.hanging);
	send_request(&other);
	assert_int_equal(receive_result(&other), NN_OK);
	assert_true(memory[1] == 8);
	close_burst(&one);
	/*
	 * The library serves commands while the engine hangs in the notification of a freed slot.
	 */
	open_burst(&third, 3);
	engine_state.hangs = false;
	close_context();
	await_end();
	unmap_burst(&one);
	unmap_burst(&other);
	unmap_burst(&third);
}

/* Waits until an execution other than `before` has begun, and returns the new execution. */
static struct nna_engine_execution *await_execution(const struct nna_engine_execution *before)
{
	for (int i = 0; i < PATIENCE_MS && engine_state.execution == before; i++)
		usleep(1000);
	assert_ptr_not_equal(engine_state.execution, before);
	return engine_state.execution;
}

/* Checks that the engine cannot end an execution that has already ended. */
static void assert_ended(struct nna_engine_execution *execution)
{
	struct nn_error err = { "" };

	assert_int_equal(nna_engine_end(execution, NN_GENERAL_FAILURE, "again", &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "ended already"));
}

/*
 * Any thread of the engine may end a deferred execution, but only one call may end the execution.
 */
static void test_deferred(void **state)
{
	struct nna_engine_execution *first, *second;
	struct nna_engine_region region;
	struct nn_error err = { "" };

	(void)state;
	engine_state.defers = true;
	memory[0] = 21;
	execute_command(2, 0);
	first = await_execution(NULL);
	assert_false(nna_engine_region_of(first, memory, &region));
	assert_true(nna_engine_region_of(first, engine_state.base, &region));
	assert_int_equal(nna_engine_end(first, NNA_ENGINE_DEFERRED, NULL, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_engine_end(first, NN_OK, NULL, NULL), NN_OK);
	assert_int_equal(await_answer(2), NN_OK);
	assert_true(memory[1] == 42);
	assert_ended(first);
	assert_int_equal(nna_engine_gone_file(first), -1);
	assert_false(nna_engine_region_of(first, engine_state.base, &region));
	execute_command(3, 0);
	second = await_execution(first);
	assert_ended(first);
	assert_int_equal(nna_engine_end(second, NN_DEVICE_UNAVAILABLE, "the device burns", NULL),
			 NN_OK);
	assert_int_equal(await_answer(3), NN_DEVICE_UNAVAILABLE);
	assert_string_equal(kernel.message, "the device burns");
	assert_ended(second);
	close_context();
	await_end();
}

/* Tests that any thread may end a deferred execution of a burst. */
static void test_deferred_in_burst(void **state)
{
	struct nna_engine_execution *execution = NULL;
	struct burst_end b;

	(void)state;
	engine_state.defers = true;
	open_burst(&b, 1);
	for (int i = 0; i < 2; i++) {
		memory[0] = 5;
		send_request(&b);
		execution = await_execution(execution);
		assert_int_equal(nna_engine_end(execution, i ? NN_DEVICE_UNAVAILABLE : NN_OK,
						i ? "the device burns" : NULL, NULL), NN_OK);
		assert_int_equal(receive_result(&b),
				 i ? NNACCEL_STATUS_DEVICE_UNAVAILABLE : NNACCEL_STATUS_NONE);
		assert_string_equal(result_message, i ? "the device burns" : "");
		assert_true(memory[1] == 10);
		assert_ended(execution);
	}
	close_burst(&b);
	close_context();
	await_end();
	unmap_burst(&b);
}

/*
 * If a client dies before the client's execution has ended, the execution loses the client's
 * memory.
 */
static void test_never_ended(void **state)
{
	struct nna_engine_execution *execution;
	struct pollfd gone = { .events = POLLIN };

	(void)state;
	engine_state.defers = true;
	memory[0] = 21;
	execute_command(2, 0);
	execution = await_execution(NULL);
	gone.fd = nna_engine_gone_file(execution);
	close_context();
	assert_int_equal(poll(&gone, 1, PATIENCE_MS), 1);
	for (int i = 0; i < PATIENCE_MS && *(volatile float *)engine_state.base; i++)
		usleep(1000);
	assert_true(*(volatile float *)engine_state.base == 0);
	assert_int_equal(nna_engine_end(execution, NN_OK, NULL, NULL), NN_OK);
	await_end();
}

static void execute_once(uint64_t cookie, float x)
{
	memory[0] = x;
	execute_command(cookie, 0);
	assert_int_equal(await_answer(cookie), NN_OK);
	assert_true(memory[1] == 2 * x);
}

/* ---- many deferred executions ---- */

static struct nna_engine_execution *deferred[NUM_DEFERRED];
static uint32_t num_deferred;

/*
 * Waits until the engine has deferred the execution of the last command; `before` is the execution
 * that the engine got before.
 */
static void await_deferral(const struct nna_engine_execution *before)
{
	deferred[num_deferred++] = await_execution(before);
}

/* Starts `count` executions; the engine defers the executions and does not end them yet. */
static void defer(uint32_t count)
{
	engine_state.defers = true;
	for (num_deferred = 0; num_deferred < count;) {
		const struct nna_engine_execution *before = engine_state.execution;

		kernel.statuses[DEFERRED + num_deferred] = UINT32_MAX;
		execute_command(DEFERRED + num_deferred, 0);
		await_deferral(before);
	}
}

static enum nn_status status_of(uint32_t i)
{
	return i % 3 ? NN_OK : NN_DEVICE_UNAVAILABLE;
}

/*
 * Ends all deferred executions, beginning with the last execution. The thread that ends executions
 * is the engine's thread, on which the library must call no engine function.
 */
static void *end_all_here(void *ended)
{
	engine_state.ender = pthread_self();
	for (uint32_t i = num_deferred; i--;)
		*(uint32_t *)ended += !nna_engine_end(deferred[i], status_of(i), "the device burns",
						      NULL);
	engine_state.ender = 0;
	return NULL;
}

static void end_all(void)
{
	uint32_t ended = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, end_all_here, &ended), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ended, num_deferred);
}

static void assert_answers(void)
{
	for (int i = 0; i < PATIENCE_MS && num_deferred; i++) {
		uint32_t answers = 0;

		pthread_mutex_lock(&kernel.lock);
		for (uint32_t k = 0; k < num_deferred; k++)
			answers += kernel.statuses[DEFERRED + k] != UINT32_MAX;
		pthread_mutex_unlock(&kernel.lock);
		if (answers == num_deferred)
			break;
		usleep(1000);
	}
	for (uint32_t i = 0; i < num_deferred; i++)
		assert_int_equal(kernel.statuses[DEFERRED + i], status_of(i));
}

/*
 * Sets up a client while only one CPU may be used, so that two threads serve the client's commands.
 */
static int set_up_on_one_cpu(void **state)
{
	cpu_set_t all, one;
	int result;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all))
		return -1;
	for (int i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return -1;
	result = set_up(state);
	return sched_setaffinity(0, sizeof(all), &all) ? -1 : result;
}

/*
 * Deferred executions occupy no thread: the library serves other commands, and the executions end
 * in the order that the engine chooses.
 */
static void test_many_deferred(void **state)
{
	const struct nnaccel_cmd query = {
		.kind = NNACCEL_DO_QUERY, .query = NNACCEL_QUERY_DEVICE, .cookie = 2,
		.max_payload = sizeof(struct nn_device_info),
	};
	struct burst_end b;

	(void)state;
	open_burst(&b, 1);
	defer(NUM_DEFERRED);
	assert_true(send_command(&query, NULL, NULL));
	assert_int_equal(await_answer(2), NN_OK);
	engine_state.defers = false;
	execute_once(3, 4);
	send_request(&b);
	assert_int_equal(receive_result(&b), NN_OK);
	for (uint32_t i = 0; i < NUM_DEFERRED; i++)
		assert_int_equal(kernel.statuses[DEFERRED + i], UINT32_MAX);
	end_all();
	assert_answers();
	for (uint32_t i = 0; i < NUM_DEFERRED; i++)
		assert_ended(deferred[i]);
	execute_once(4, 5);
	close_burst(&b);
	close_context();
	await_end();
	unmap_burst(&b);
}

/*
 * A deferred execution holds references to the model and the memory that it uses. A thread of the
 * library drops a deferred execution's references after the execution has ended.
 */
static void test_deferred_after_forgetting(void **state)
{
	const struct nnaccel_cmd forget[] = {
		{ .kind = NNACCEL_DO_FORGET_MODEL, .model = MODEL },
		{ .kind = NNACCEL_DO_FORGET_GRANT, .grant = MEMORY },
	};

	(void)state;
	memory[0] = 21;
	defer(1);
	for (int i = 0; i < 2; i++)
		assert_true(send_command(&forget[i], NULL, NULL));
	usleep(10000);
	assert_int_equal(engine_state.released, 0);
	assert_null(engine_state.forgotten);
	end_all();
	assert_answers();
	for (int i = 0; i < PATIENCE_MS && !engine_state.released; i++)
		usleep(1000);
	assert_int_equal(engine_state.released, 1);
	assert_ptr_equal(engine_state.forgotten, engine_state.base);
	close_context();
	await_end();
}

static void open_bursts(struct burst_end *bursts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		open_burst(&bursts[i], i + 1);
}

static void defer_in_burst(struct burst_end *b)
{
	const struct nna_engine_execution *before = engine_state.execution;

	engine_state.defers = true;
	send_request(b);
	await_deferral(before);
}

static void defer_in_bursts(struct burst_end *bursts, uint32_t count)
{
	num_deferred = 0;
	for (uint32_t i = 0; i < count; i++)
		defer_in_burst(&bursts[i]);
}

static void unmap_bursts(struct burst_end *bursts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		unmap_burst(&bursts[i]);
}

/*
 * The engine defers executions in more bursts than there are threads for bursts. A slot that the
 * client frees stays mapped until the end of the execution that uses the slot.
 */
static void test_deferred_in_many_bursts(void **state)
{
	const struct nnaccel_cmd freed = {
		.kind = NNACCEL_DO_SLOT_GONE, .burst = 1, .grant = SLOT,
	};
	struct burst_end bursts[NUM_BURSTS];

	(void)state;
	open_bursts(bursts, NUM_BURSTS);
	for (int round = 0; round < 3; round++) {
		defer_in_bursts(bursts, NUM_BURSTS);
		assert_int_equal(engine_state.removes, round);
		assert_true(send_command(&freed, NULL, NULL));
		end_all();
		for (uint32_t i = 0; i < NUM_BURSTS; i++)
			assert_int_equal(receive_result(&bursts[i]),
					 status_of(i) ? NNACCEL_STATUS_DEVICE_UNAVAILABLE : NNACCEL_STATUS_NONE);
		for (int i = 0; i < PATIENCE_MS && engine_state.removes == round; i++)
			usleep(1000);
	}
	/* The client closes the first burst while the burst's execution is deferred. */
	defer_in_bursts(bursts, 1);
	close_burst(&bursts[0]);
	end_all();
	for (uint32_t i = 1; i < NUM_BURSTS; i++)
		close_burst(&bursts[i]);
	close_context();
	await_end();
	unmap_bursts(bursts, NUM_BURSTS);
}

/*
 * Checks that the engine is notified of the client's death, and that the threads that serve the
 * client wait until all executions end.
 */
static void die(void)
{
	struct pollfd ended = { .fd = thread_client_file(client), .events = POLLIN };
	struct pollfd gone = { .fd = nna_engine_gone_file(deferred[0]), .events = POLLIN };

	close_context();
	assert_int_equal(poll(&gone, 1, PATIENCE_MS), 1);
	assert_int_equal(poll(&ended, 1, 10), 0);
	end_all();
	await_end();
}

static void test_death_with_many_deferred(void **state)
{
	(void)state;
	defer(NUM_DEFERRED);
	die();
}

static void die_with_bursts(uint32_t count)
{
	struct burst_end bursts[NUM_BURSTS];

	open_bursts(bursts, count);
	defer_in_bursts(bursts, count);
	die();
	unmap_bursts(bursts, count);
}

static void test_death_with_many_bursts(void **state)
{
	(void)state;
	die_with_bursts(NUM_BURSTS);
}

/*
 * After the client's death, the idle threads that served the client wake up when the last execution
 * ends.
 */
static void test_death_with_a_burst(void **state)
{
	(void)state;
	die_with_bursts(1);
}

/* The session ends because one of many deferred executions is overdue, or the device is lost. */
static void test_end_with_many_deferred(void **state)
{
	const struct nna_engine_execution *before;

	(void)state;
	defer(NUM_DEFERRED - 1);
	before = engine_state.execution;
	execute_command(2, clock_ns() + scaled(NS_PER_S / 20));
	await_deferral(before);
	assert_int_equal(await_answer(2), NN_MISSED_DEADLINE_TRANSIENT);
	end_all();
	await_end();
}

static void test_loss_with_many_deferred(void **state)
{
	(void)state;
	defer(NUM_DEFERRED);
	num_deferred--;
	assert_int_equal(nna_engine_end(deferred[num_deferred], NN_DEAD_OBJECT, "no device", NULL),
			 NN_OK);
	assert_int_equal(await_answer(DEFERRED + num_deferred), NN_DEVICE_UNAVAILABLE);
	end_all();
	await_end();
}

static void test_stop_with_many_deferred(void **state)
{
	(void)state;
	defer(NUM_DEFERRED);
	thread_client_stop(client);
	end_all();
	await_end();
}

/* If the engine hangs in forget_region(), bursts are not delayed. */
static void test_forget_hangs(void **state)
{
	const struct nnaccel_cmd forget = { .kind = NNACCEL_DO_FORGET_GRANT, .grant = MEMORY };

	(void)state;
	execute_once(2, 3);
	engine_state.hangs = true;
	assert_true(send_command(&forget, NULL, NULL));
	await_true(&engine_state.hanging);
	execute_once(3, 4);
	engine_state.hangs = false;
	close_context();
	await_end();
}

/*
 * If the engine hangs in forget_region(), the library still answers an overdue execution, even if
 * no other execution uses the memory of this execution.
 */
static void test_overdue_forget_hangs(void **state)
{
	(void)state;
	/*
	 * The library calls forget_region() for freed memory after the last execution that uses the
	 * memory.
	 */
	execute_once(2, 3);
	engine_state.waits = true;
	engine_state.executes = false;
	engine_state.hangs = true;
	grant_of_executions = OTHER_MEMORY;
	execute_command(3, clock_ns() + scaled(NS_PER_S / 2));
	assert_int_equal(await_answer(3), NN_MISSED_DEADLINE_TRANSIENT);
	grant_of_executions = MEMORY;
	engine_state.hangs = false;
	engine_state.go_on = true;
	await_end();
}

/* During an execution, the engine is notified that the client has died. */
static void test_gone(void **state)
{
	(void)state;
	engine_state.waits_for_end = true;
	execute_command(2, 0);
	close_context();
	await_end();
	assert_true(engine_state.told);
	assert_ptr_equal(engine_state.forgotten, engine_state.base);
}

/*
 * An overdue execution loses the session and the client's memory, but the engine's function
 * continues.
 */
static void test_overdue(void **state)
{
	const uint64_t deadline_ns = clock_ns() + scaled(NS_PER_S / 2);
	struct stat st;

	(void)state;
	engine_state.waits = true;
	memory[0] = 21;
	memory[1] = -1;
	execute_command(2, deadline_ns);
	await_true(&engine_state.executes);
	kernel.watched = engine_state.base;
	for (int i = 0; i < PATIENCE_MS && is_session(session); i++)
		usleep(1000);
	assert_int_equal(fstat(session, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	/*
	 * After the deadline, the library waits half of the module's kill_grace_ms, or half of 1 s
	 * if kill_grace_ms is unknown.
	 */
	assert_true(clock_ns() >= deadline_ns + (kill_grace[0] ? 300 : 500) * UINT64_C(1000000));
	/*
	 * The library's watching thread answered the overdue execution before the end of
	 * kill_grace_ms, when the kernel would kill the process.
	 */
	assert_int_equal(await_answer(2), NN_MISSED_DEADLINE_TRANSIENT);
	/*
	 * The library took the memory from the engine before it sent the answer, because the client
	 * may use the memory after the answer.
	 */
	assert_true(kernel.seen == 0);
	kernel.watched = NULL;
	assert_null(engine_state.forgotten);
	engine_state.go_on = true;
	await_end();
	/*
	 * The overdue execution then wrote its result to memory that the client does not share, and
	 * the library sent no second answer.
	 */
	assert_ptr_equal(engine_state.forgotten, engine_state.base);
	assert_int_equal(kernel.status, NN_MISSED_DEADLINE_TRANSIENT);
	assert_true(written == -1);
}

static void test_overdue_with_a_grace(void **state)
{
	kill_grace = "600\n";
	test_overdue(state);
	kill_grace = "";
}

/*
 * If the module ends the session of an overdue execution, the library answers the execution although
 * half of kill_grace_ms has not passed.
 */
static void test_ended_by_the_kernel(void **state)
{
	const uint64_t deadline_ns = clock_ns() + scaled(NS_PER_S / 4);

	(void)state;
	engine_state.waits = true;
	execute_command(2, deadline_ns);
	await_true(&engine_state.executes);
	while (clock_ns() <= deadline_ns)
		usleep(1000);
	atomic_store(&kernel.is_killing, true);
	assert_int_equal(await_answer(2), NN_MISSED_DEADLINE_TRANSIENT);
	atomic_store(&kernel.is_killing, false);
	kill_grace = "";
	engine_state.go_on = true;
	await_end();
}

static int set_up_with_a_long_grace(void **state)
{
	kill_grace = "7200000\n";
	return set_up(state);
}

/* Returns this process's number of mappings of regions of bursts. */
static int count_burst_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long long offset;
	char line[512];
	int count = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += sscanf(line, "%*s %*s %llx", &offset) == 1 && offset & NNACCEL_BURST_MAP;
	fclose(maps);
	return count;
}

/*
 * When an overdue execution loses the session, the library unmaps all regions of a burst before it
 * answers, although the burst still executes a request.
 */
static void test_overdue_with_a_burst(void **state)
{
	struct burst_end b;
	int mappings;

	(void)state;
	mappings = count_burst_mappings();
	open_burst(&b, 1);
	assert_int_equal(count_burst_mappings(), mappings + 8);
	engine_state.waits = true;
	send_request(&b);
	await_true(&engine_state.executes);
	engine_state.executes = false;
	execute_command(2, clock_ns() + scaled(NS_PER_S / 2));
	await_true(&engine_state.executes);
	assert_int_equal(await_answer(2), NN_MISSED_DEADLINE_TRANSIENT);
	/* Only the four mappings of the client's end of the burst remain. */
	assert_int_equal(count_burst_mappings(), mappings + 4);
	engine_state.go_on = true;
	await_end();
	unmap_burst(&b);
	assert_int_equal(count_burst_mappings(), mappings);
}

/* Ends overdue executions 1 ms after their deadline. */
static int set_up_without_grace(void **state)
{
	kill_grace = "2\n";
	return set_up(state);
}

/* A preparation that misses its deadline does not end the session, and other models still work. */
static void test_late_preparation(void **state)
{
	(void)state;
	engine_state.waits = true;
	prepare_command(2, MODEL + 1, 1);
	usleep(100000);
	engine_state.go_on = true;
	assert_int_equal(await_answer(2), NN_OK);
	execute_command(3, 0);
	assert_int_equal(await_answer(3), NN_OK);
	kill_grace = "";
	close_context();
	await_end();
}

/* If a client ends without closing its burst, the library frees and unmaps the burst. */
static void test_end_with_a_burst(void **state)
{
	struct burst_end b;
	int mappings;

	(void)state;
	mappings = count_burst_mappings();
	open_burst(&b, 1);
	send_request(&b);
	assert_int_equal(receive_result(&b), NN_OK);
	assert_int_equal(engine_state.bursts, 1);
	close_context();
	await_end();
	assert_int_equal(count_burst_mappings(), mappings + 4);
	unmap_burst(&b);
}

/* The threads that serve a client can be stopped even if the client has sent no command. */
static void test_stop(void **state)
{
	(void)state;
	thread_client_stop(client);
	await_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_execution, set_up),
		cmocka_unit_test_setup(test_dependencies, set_up),
		cmocka_unit_test_setup(test_fence, set_up),
		cmocka_unit_test_setup_teardown(test_kept_in_little_memory, set_up_keeper,
						no_keeper),
		cmocka_unit_test_setup_teardown(test_no_room_to_keep, set_up_keeper, no_keeper),
		cmocka_unit_test_setup(test_slots_of_executors, set_up),
		cmocka_unit_test_setup(test_malformed_request, set_up),
		cmocka_unit_test_setup(test_broken_ring, set_up),
		cmocka_unit_test_setup(test_capacities, set_up),
		cmocka_unit_test_setup(test_no_burst, set_up),
		cmocka_unit_test_setup(test_burst_end_hangs, set_up),
		cmocka_unit_test_setup(test_slot_end_hangs, set_up),
		cmocka_unit_test_setup(test_deferred, set_up),
		cmocka_unit_test_setup(test_deferred_in_burst, set_up),
		cmocka_unit_test_setup(test_never_ended, set_up),
		cmocka_unit_test_setup(test_many_deferred, set_up_on_one_cpu),
		cmocka_unit_test_setup(test_deferred_after_forgetting, set_up),
		cmocka_unit_test_setup(test_deferred_in_many_bursts, set_up),
		cmocka_unit_test_setup(test_death_with_many_deferred, set_up),
		cmocka_unit_test_setup(test_death_with_many_bursts, set_up),
		cmocka_unit_test_setup(test_death_with_a_burst, set_up),
		cmocka_unit_test_setup(test_end_with_many_deferred, set_up),
		cmocka_unit_test_setup(test_loss_with_many_deferred, set_up),
		cmocka_unit_test_setup(test_stop_with_many_deferred, set_up),
		cmocka_unit_test_setup(test_forget_hangs, set_up),
		cmocka_unit_test_setup(test_overdue_forget_hangs, set_up),
		cmocka_unit_test_setup(test_gone, set_up),
		cmocka_unit_test_setup(test_overdue, set_up),
		cmocka_unit_test_setup(test_overdue_with_a_grace, set_up),
		cmocka_unit_test_setup(test_overdue_with_a_burst, set_up),
		cmocka_unit_test_setup(test_ended_by_the_kernel, set_up_with_a_long_grace),
		cmocka_unit_test_setup(test_late_preparation, set_up_without_grace),
		cmocka_unit_test_setup(test_end_with_a_burst, set_up),
		cmocka_unit_test_setup(test_stop, set_up),
	};

	if (!thread_clients_init(&engine, -1))
		return 1;
	return cmocka_run_group_tests_name("engine threads", tests, NULL, NULL);
}
