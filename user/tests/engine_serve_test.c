/* SPDX-License-Identifier: MIT */
/*
 * The test serves the commands of a session one after another on a single thread. The test imitates
 * the kernel by replacing ioctl(), which returns the commands of a list and stores the answers. The
 * imitated session ends after the last command of the test's list. A memfd simulates the session;
 * grant N lies at offset N << SHIFT of the memfd.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kit/cache/keeper_message.h"
#include "kit/cache/message.h"
#include "kit/session/serve.h"
#include "model/attribute.h"
#include "model/extension_list.h"
#include "model/times.h"
#include "tests/heap_blocks.h"
#include "tests/model_builder.h"

#define ADD 0
#define PAGE 4096
#define RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)
#define MAX_COMMANDS 8
#define MAX_COMMAND 8192

/* Numbers of grants. The session's memfd ends one page after the begin of grant LAST. */
enum { WIRE = 1, MEMORY, OTHER, IMAGE, LAST };

/* ---- the kernel ---- */

static struct {
	struct { uint8_t bytes[MAX_COMMAND] __attribute__((aligned(8))); uint32_t size; }
		commands[MAX_COMMANDS];
	unsigned int next, count;
	struct nnaccel_session_commit commits[MAX_COMMANDS];
	uint8_t payloads[MAX_COMMANDS][1024] __attribute__((aligned(8)));
	char messages[MAX_COMMANDS][NNACCEL_MAX_MESSAGE + 1];
	unsigned int num_commits;
	unsigned int fetches;		/* number of ioctl() calls that fetched a command */
	bool interrupts;		/* true: the next fetch fails with EINTR */
	int error;			/* errno of the next ioctl() that sends an answer */
	int progress;			/* last reported progress of preparing a model */
	bool is_cancelled;
	uint64_t cookie;		/* cookie in the last report of progress */
	uint32_t attach_flags;		/* flags of the ioctl() that attaches the session */
	struct nnaccel_session_grant_fd exported; /* the last request for a file of memory */
} kernel;

static int refuse(int error)
{
	errno = error;
	return -1;
}

static int fetch(void *buffer, uint32_t room, uint32_t *size)
{
	if (kernel.interrupts) {
		kernel.interrupts = false;
		return refuse(EINTR);
	}
	if (kernel.next == kernel.count)
		return refuse(ESHUTDOWN);
	*size = kernel.commands[kernel.next].size;
	if (*size > room)
		return refuse(EMSGSIZE);
	memcpy(buffer, kernel.commands[kernel.next++].bytes, *size);
	return 0;
}

static int commit(struct nnaccel_session_commit *c)
{
	unsigned int i = kernel.num_commits;

	if (c->flags & NNACCEL_COMMIT_PROGRESS) {
		assert_true(c->flags == NNACCEL_COMMIT_PROGRESS && !c->status && !c->payload_size &&
			    !c->message_size && !c->buffer);
		kernel.progress = c->fence;
		kernel.cookie = c->cookie;
		return kernel.is_cancelled ? refuse(ECANCELED) : 0;
	}
	if (kernel.error) {
		errno = kernel.error;
		kernel.error = 0;
		return -1;
	}
	assert_int_equal(c->size, sizeof(*c));
	if (c->cookie) {
		assert_true(i < MAX_COMMANDS && c->payload_size <= sizeof(kernel.payloads[i]));
		kernel.commits[i] = *c;
		if (c->payload_size)
			memcpy(kernel.payloads[i], (void *)(uintptr_t)c->payload, c->payload_size);
		memcpy(kernel.messages[i], (void *)(uintptr_t)c->message, c->message_size);
		kernel.messages[i][c->message_size] = '\0';
		kernel.num_commits++;
	}
	c->cookie = c->buffer ? 0 : c->cookie;
	return c->buffer ? fetch((void *)(uintptr_t)c->buffer, c->buffer_size, &c->out_size) : 0;
}

static int attach(struct nnaccel_session_attach *a)
{
	kernel.attach_flags = a->flags;
	return 0;
}

int ioctl(int file, unsigned long request, ...)
{
	struct nnaccel_session_fetch *f;
	va_list args;
	void *arg;

	(void)file;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case NNACCEL_SESSION_ATTACH:
		return attach(arg);
	case NNACCEL_SESSION_FETCH:
		f = arg;
		kernel.fetches++;
		return fetch((void *)(uintptr_t)f->buffer, f->buffer_size, &f->out_size);
	case NNACCEL_SESSION_COMMIT:
		return commit(arg);
	case NNACCEL_SESSION_GRANT_FD:
		kernel.exported = *(struct nnaccel_session_grant_fd *)arg;
	}
	return refuse(ENOTTY);
}

/* Number of CPUs on which the test's threads may run; 0 if the number is unknown. */
static int num_cpus;

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	(void)pid;
	memset(cpus, 0, size);
	for (int i = 0; i < num_cpus; i++)
		CPU_SET(2 * i, cpus);
	return num_cpus ? 0 : -1;
}

/* The server uses as many threads as CPUs, but at least two and at most SERVER_MAX_THREADS. */
static void test_threads(void **state)
{
	static const unsigned int threads[] = { SERVER_MAX_THREADS, 2, 2, 3, 4, 4, 4 };

	(void)state;
	for (num_cpus = 0; num_cpus < 7; num_cpus++)
		assert_int_equal(server_threads(), threads[num_cpus]);
}

/* ---- the engine: it adds ---- */

static struct {
	enum nn_status status;		/* result that the engine's functions return */
	bool is_short, is_silent;	/* outputs are too small; no shapes are reported */
	bool is_shapeless;		/* true: the shapes that are reported are not set */
	uint64_t late_ns;		/* other than 0: argument of server_answer_late() */
	int fence;			/* fence that ends executions, or -1 */
	bool took_fence, may_export;
	uint64_t device_ns;
	bool measure;			/* set if the last execution requested times */
	int prepared, released;
	void *better;			/* prepared model that replaces the executed model */
	bool goes_on;	/* result of nna_engine_progress(): true if the client still waits */
	void *executed, *last_released;
	struct nna_engine_preparation how;
	uint64_t deadline_ns, loop_timeout_ns;
	uint64_t due_ns;		/* result of server_due_ns() during the execution */
	bool omitted;			/* true: the second input was omitted */
	uint32_t rank, dim;		/* rank and first dimension of the first input */
	void *own;			/* the engine's buffer of the first argument, or NULL */
	bool cuts;			/* set if the engine truncates the memfd of the session */
	uint32_t attribute;		/* code of the attribute of an execution, or 0 */
	/* last execution: number of outputs, and number of time records that fit */
	uint32_t num_outputs, room;
} engine_state;

static struct server server;
static enum nn_status save(const struct nna_engine *e, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err);

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	(void)engine;
	strcpy(info->version, "serve");
	info->model_cache_files = 7;
	info->data_cache_files = 7;
}

static enum nn_status result_of(struct nn_error *err)
{
	return engine_state.status ? nn_fail(err, engine_state.status, "it fails") : NN_OK;
}

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	(void)engine;
	for (uint32_t i = 0; i < model->subgraphs[0].num_operations; i++)
		operations[i] = true;
	return result_of(err);
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	(void)engine;
	engine_state.how = *how;
	engine_state.goes_on = nna_engine_progress(how, 300);
	if (result_of(err))
		return engine_state.status;
	/* Reads the constants. */
	for (uint32_t i = 0; i < model->num_pools; i++)
		(void)*(const volatile char *)model->pools[i].base;
	engine_state.prepared++;
	*prepared = (void *)model;
	return NN_OK;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	engine_state.last_released = prepared;
	engine_state.released++;
}

static void tell_memory(const struct nna_engine *engine, const void *prepared,
			struct nna_engine_memory *memory)
{
	(void)engine;
	assert_non_null(prepared);
	memory->weights = 123;
	memory->execution = 45;
	memory->device = 67;
}

static int session;

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution, struct nn_execution *e,
			      struct nn_error *err)
{
	static struct nna_engine_execution *ended;
	const float *x = e->inputs[0].data, *y = e->inputs[1].data;
	float *sum = e->outputs[0].data;

	(void)engine;
	/* An execution that has ended has no file. */
	assert_int_equal(ended ? nna_engine_gone_file(ended) : -1, -1);
	assert_int_equal(nna_engine_gone_file(execution), server.grants.gone);
	ended = execution;
	engine_state.executed = prepared;
	if (engine_state.better) {
		engine_state.prepared++;
		assert_true(nna_engine_replace(prepared, engine_state.better));
		assert_int_equal(engine_state.released, 0);
		engine_state.better = NULL;
	}
	engine_state.deadline_ns = e->deadline_ns;
	engine_state.due_ns = server_due_ns(&server);
	engine_state.loop_timeout_ns = e->loop_timeout_ns;
	engine_state.omitted = e->inputs[1].omitted;
	engine_state.rank = e->inputs[0].rank;
	engine_state.dim = e->inputs[0].dims[0];
	engine_state.own = nna_engine_buffer(execution, e->inputs[0].data);
	engine_state.attribute = e->attributes ? e->attributes->list[0].code : 0;
	engine_state.num_outputs = e->num_outputs;
	engine_state.measure = e->measure;
	e->device_ns = engine_state.device_ns;
	engine_state.room = e->times ? e->times->room : 0;
	if (e->times)
		times_add(e->times, 7, ADD, 5, 6);
	if (engine_state.cuts)
		assert_int_equal(ftruncate(session, 0), 0);
	for (size_t i = 0; i < e->outputs[0].length / sizeof(float); i++)
		sum[i] = x[i] + (y ? y[i] : 0);
	if (engine_state.fence >= 0)
		engine_state.took_fence = nna_engine_end_with_fence(execution, engine_state.fence);
	engine_state.may_export = nna_engine_region_file(execution, x) >= 0 || errno != EPERM;
	e->shapes_known = !engine_state.is_silent;
	if (!engine_state.is_shapeless)
		e->shapes[0] = (struct nn_output_shape){ 2, { 2, 5 }, !engine_state.is_short };
	if (engine_state.late_ns) {
		server_answer_late(&server, engine_state.late_ns - 1);
		assert_int_equal(kernel.num_commits, 0);
		server_answer_late(&server, engine_state.late_ns);
		assert_int_equal(kernel.num_commits, 1);
	}
	return result_of(err);
}

static void *buffer_of_engine;
static struct {
	unsigned int created, destroyed, in, out;
	uint64_t capacity;
	struct nn_operand operand;
	struct nna_engine_role roles[2];
	uint32_t num_roles;
} buffer_state;

static enum nn_status buffer_create(const struct nna_engine *engine,
				    const struct nna_engine_new_buffer *wanted, void **buffer,
				    struct nn_error *err)
{
	(void)engine;
	buffer_state.created++;
	buffer_state.capacity = wanted->capacity;
	buffer_state.operand = *wanted->operand;
	buffer_state.num_roles = wanted->num_roles;
	assert_true(wanted->num_roles <= 2);
	memcpy(buffer_state.roles, wanted->roles, wanted->num_roles * sizeof(buffer_state.roles[0]));
	*buffer = buffer_of_engine;
	return result_of(err);
}

static void buffer_destroy(const struct nna_engine *engine, void *buffer)
{
	(void)engine;
	assert_ptr_equal(buffer, buffer_of_engine);
	buffer_state.destroyed++;
}

/* Copies into a buffer with the engine's own layout, which inverts each byte. */
static enum nn_status buffer_copy_in(const struct nna_engine *engine, void *buffer, void *base,
				     const void *from, uint64_t length, struct nn_error *err)
{
	(void)engine;
	assert_ptr_equal(buffer, buffer_of_engine);
	buffer_state.in++;
	for (uint64_t i = 0; i < length; i++)
		((uint8_t *)base)[i] = (uint8_t)~((const uint8_t *)from)[i];
	return result_of(err);
}

static enum nn_status buffer_copy_out(const struct nna_engine *engine, void *buffer,
				      const void *base, void *to, uint64_t length,
				      struct nn_error *err)
{
	(void)engine;
	assert_ptr_equal(buffer, buffer_of_engine);
	buffer_state.out++;
	if (engine_state.cuts)
		assert_int_equal(ftruncate(session, 0), 0);
	for (uint64_t i = 0; i < length; i++)
		((uint8_t *)to)[i] = (uint8_t)~((const uint8_t *)base)[i];
	return result_of(err);
}

static const struct nna_engine_buffers engine_buffers = {
	.size = sizeof(engine_buffers), .create = buffer_create, .destroy = buffer_destroy,
	.copy_in = buffer_copy_in, .copy_out = buffer_copy_out,
};

static const struct nna_engine plain_engine = {
	.size = sizeof(plain_engine), .name = "serve", .describe = describe, .supported = supported,
	.prepare = prepare, .release = release, .memory = tell_memory, .execute = execute,
};
static struct nna_engine engine;

/* ---- a client ---- */

static struct shared shared;
static struct sigaction on_bus_error;	/* the server's handler of SIGBUS */
static long blocks;
static uint8_t *memory[LAST];		/* mapped page of each grant */

static void start_server(int cache)
{
	assert_true(server_init(&server, &engine, session, cache));
	sigaction(SIGBUS, NULL, &on_bus_error);
	server.shared = &shared;
	server.grants.gone = shared.gone;
	assert_true(server_attach(&server));
}

static int set_up(void **state)
{
	(void)state;
	blocks = heap_blocks;
	memset(&kernel, 0, sizeof(kernel));
	memset(&engine_state, 0, sizeof(engine_state));
	engine_state.fence = -1;
	memset(&buffer_state, 0, sizeof(buffer_state));
	engine = plain_engine;
	shared = (struct shared){ .lock = PTHREAD_MUTEX_INITIALIZER };
	shared.gone = eventfd(0, EFD_CLOEXEC);
	shared.changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	session = memfd_create("session", MFD_CLOEXEC);
	if (ftruncate(session, ((off_t)LAST << NNACCEL_GRANT_SHIFT) + PAGE))
		return -1;
	for (int i = 1; i < LAST; i++)
		memory[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, session,
				 (off_t)i << NNACCEL_GRANT_SHIFT);
	start_server(-1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	server_free(&server);
	for (int i = 1; i < LAST; i++)
		munmap(memory[i], PAGE);
	close(shared.gone);
	close(shared.changed);
	if (engine_state.released != engine_state.prepared)
		return -1;
	return heap_blocks == blocks ? 0 : -1;
}

/*
 * The format of an image that has two rows of two numbers. The first row of the image begins at the
 * third number of the memory, and the second row at the seventh number.
 */
static const struct nnaccel_format image_format = {
	.num_planes = 1,
	.planes = { {
		.grant.grant = IMAGE, .offset = 8, .stride = 16, .row_bytes = 8, .rows = 2,
	} },
};

/* Appends a command to the list of the imitated kernel. */
static void add(const struct nnaccel_cmd *head, const void *grants, const void *args,
		const void *roles, const void *attributes)
{
	const void *parts[] = { head, grants, args, roles, attributes };
	const size_t sizes[] = {
		sizeof(*head), head->num_grants * sizeof(struct nnaccel_grant),
		(head->num_inputs + head->num_outputs) * sizeof(struct nnaccel_arg),
		head->num_roles * sizeof(struct nnaccel_cmd_role), head->attributes_size,
	};
	uint8_t *bytes = kernel.commands[kernel.count].bytes;
	struct nnaccel_cmd *copy = (void *)bytes;
	uint32_t size = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		assert_true(size + sizes[i] <= MAX_COMMAND);
		if (sizes[i])
			memcpy(bytes + size, parts[i], sizes[i]);
		size += (uint32_t)sizes[i];
	}
	for (uint32_t i = 0; i < head->num_grants; i++) {
		if (!(((const struct nnaccel_grant *)grants)[i].prot & NNACCEL_PROT_FORMATTED))
			continue;
		size = (size + 7) / 8 * 8;
		assert_true(size + sizeof(image_format) <= MAX_COMMAND);
		memcpy(bytes + size, &image_format, sizeof(image_format));
		size += sizeof(image_format);
		copy->num_formats++;
	}
	copy->size = size;
	kernel.commands[kernel.count++].size = size;
}

/* Serves the commands in the list of the imitated kernel, and empties the list. */
static void run(void)
{
	uint64_t gone;

	kernel.num_commits = 0;
	kernel.fetches = 0;
	shared.ended = false;
	/*
	 * Restore the server's SIGBUS handler, because cmocka replaces the handler before each
	 * test.
	 */
	sigaction(SIGBUS, &on_bus_error, NULL);
	server_run(&server);
	assert_true(shared.ended);
	assert_true(server_due_ns(&server) == UINT64_MAX);
	assert_int_equal(read(shared.gone, &gone, sizeof(gone)), sizeof(gone));
	kernel.next = 0;
	kernel.count = 0;
}

/* Serves one command, and returns the status of the command's answer. */
static uint32_t ask(const struct nnaccel_cmd *command, const void *grants, const void *args,
		    const void *roles)
{
	struct nnaccel_cmd head = *command;

	head.cookie = head.cookie ? head.cookie : 77;
	add(&head, grants, args, roles, NULL);
	run();
	assert_int_equal(kernel.num_commits, 1);
	assert_int_equal(kernel.commits[0].cookie, head.cookie);
	return kernel.commits[0].status;
}

/* Writes a serialised model to the memory of the grant WIRE. */
static size_t write_model(struct model_builder *b)
{
	struct nn_error err;
	size_t size;
	void *wire;

	assert_int_equal(nn_model_encode(&b->model, &wire, &size, &err), NN_OK);
	assert_true(size <= PAGE);
	memcpy(memory[WIRE], wire, size);
	free(wire);
	return size;
}

/* Writes a model that adds two tensors of the given shape; 0 is an unknown dimension. */
static size_t write_add(uint32_t rank, const uint32_t *dims, float scale)
{
	const int32_t type = scale ? NN_TENSOR_QUANT8_ASYMM : NN_TENSOR_FLOAT32;
	struct model_builder b;
	uint32_t x, y, none, sum;

	mb_init(&b);
	x = mb_operand(&b, type, NN_SUBGRAPH_INPUT, rank, dims);
	y = mb_operand(&b, type, NN_SUBGRAPH_INPUT, rank, dims);
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, type, NN_SUBGRAPH_OUTPUT, rank, dims);
	b.operands[0][x].scale = scale;
	b.operands[0][y].scale = scale;
	b.operands[0][sum].scale = scale;
	mb_operation(&b, ADD, MB_LIST(x, y, none), MB_LIST(sum));
	return write_model(&b);
}

static const struct nnaccel_grant wire_grant = { WIRE, NNACCEL_PROT_READ, PAGE };

static uint32_t prepare_model(uint64_t number, size_t wire_length)
{
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_PREPARE, .model = number, .num_grants = 1,
		.wire_length = wire_length, .max_payload = sizeof(struct nnaccel_model_memory),
	};

	return ask(&head, &wire_grant, NULL, NULL);
}

static uint32_t prepare_add(uint64_t number, uint32_t rank, const uint32_t *dims)
{
	return prepare_model(number, write_add(rank, dims, 0));
}

/* ---- queries ---- */

static void test_queries(void **state)
{
	struct nnaccel_cmd query = { .kind = NNACCEL_DO_QUERY };
	const uint32_t older = offsetof(struct nn_device_info, memory);
	const struct nn_device_info *info = (const void *)kernel.payloads[0];
	const struct extension_list *extensions = (const void *)kernel.payloads[0];
	int gone;

	(void)state;
	assert_int_equal(kernel.attach_flags, NNACCEL_ATTACH_SHARED);
	engine.only_devices = true;
	assert_true(server_attach(&server));
	assert_int_equal(kernel.attach_flags, NNACCEL_ATTACH_SHARED | NNACCEL_ATTACH_DEVICES);
	/*
	 * An engine that serves each client by a separate process needs a permission to use fences.
	 */
	engine.takes_fences = true;
	gone = server.grants.gone;
	server.grants.gone = -1;
	assert_true(server_attach(&server));
	assert_int_equal(kernel.attach_flags, NNACCEL_ATTACH_SHARED | NNACCEL_ATTACH_DEVICES);
	engine.permissions = NNA_ENGINE_MAY_USE_DRIVERS;
	assert_true(server_attach(&server));
	assert_int_equal(kernel.attach_flags, NNACCEL_ATTACH_SHARED | NNACCEL_ATTACH_DEVICES |
					      NNACCEL_ATTACH_FENCES);
	engine.size = offsetof(struct nna_engine, takes_fences);
	assert_true(server_attach(&server));
	assert_int_equal(kernel.attach_flags, NNACCEL_ATTACH_SHARED | NNACCEL_ATTACH_DEVICES);
	engine.permissions = 0;
	server.grants.gone = gone;
	engine.size = offsetof(struct nna_engine, only_devices);
	assert_true(server_attach(&server));
	assert_int_equal(kernel.attach_flags, NNACCEL_ATTACH_SHARED);
	engine.size = sizeof(engine);
	/*
	 * Query the device first without a keeper, then with a keeper only for the engine's own
	 * store, then with a keeper that also stores models.
	 */
	for (int i = 0; i < 3; i++) {
		const bool has_cache = i == 2;

		server.cache.socket = i ? 0 : -1;
		engine.save = i == 1 ? NULL : save;
		query.query = NNACCEL_QUERY_DEVICE;
		/*
		 * An older client library passes a smaller buffer for the answer, and a newer
		 * client library passes a larger buffer.
		 */
		query.max_payload = i ? sizeof(*info) + 8 : older;
		assert_int_equal(ask(&query, NULL, NULL, NULL), NNACCEL_STATUS_NONE);
		assert_int_equal(kernel.commits[0].payload_size, i ? sizeof(*info) : older);
		assert_int_equal(info->size, kernel.commits[0].payload_size);
		assert_int_equal(kernel.commits[0].message_size, 0);
		assert_true(kernel.commits[0].device_ns == NNACCEL_TIME_NONE);
		assert_int_equal(info->magic, NN_DEVICE_MAGIC);
		assert_string_equal(info->version, "serve");
		/* The device has cache files only if the engine has a keeper that stores models. */
		assert_int_equal(info->model_cache_files, has_cache);
		assert_int_equal(info->data_cache_files, has_cache);
	}
	query.query = NNACCEL_QUERY_EXTENSIONS;
	assert_int_equal(ask(&query, NULL, NULL, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.commits[0].payload_size, sizeof(*extensions));
	assert_int_equal(extensions->magic, EXTENSION_LIST_MAGIC);
	assert_int_equal(extensions->count, 0);
	query.query = 99;
	assert_int_equal(ask(&query, NULL, NULL, NULL), NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_string_equal(kernel.messages[0], "unknown query 99");
}

/* ---- models ---- */

/*
 * Queries of supported operations, for a model with constants in pools. Operation 0 reads pool 0,
 * operations 1 and 3 read pool 1, and operation 2 reads no pool.
 */
static const struct {
	const char *name;
	struct nnaccel_grant pools[2];
	uint64_t offset;		/* offset of a constant of 8 bytes in pool 1 */
	uint32_t count;			/* number of operations in the client's query */
	uint32_t status;
	bool supported[4];
} models[] = {
	{ "all", { { MEMORY, NNACCEL_PROT_READ, PAGE }, { OTHER, NNACCEL_PROT_READ, PAGE } }, 0, 4,
	  NNACCEL_STATUS_NONE, { true, true, true, true } },
	{ "refused by its exporter", { { MEMORY, 0, PAGE }, { OTHER, NNACCEL_PROT_READ, PAGE } }, 0,
	  4, NNACCEL_STATUS_NONE, { false, true, true, true } },
	{ "cannot be mapped", { { MEMORY, NNACCEL_PROT_READ, PAGE },
				{ OTHER, NNACCEL_PROT_READ, INT64_MAX / 2 } }, 0, 4,
	  NNACCEL_STATUS_NONE, { true, false, true, false } },
	{ "its last byte is there", { { MEMORY, NNACCEL_PROT_READ, PAGE },
				      { LAST, NNACCEL_PROT_READ, 2 * PAGE } }, PAGE - 8, 4,
	  NNACCEL_STATUS_NONE, { true, true, true, true } },
	{ "its last byte is not there", { { MEMORY, NNACCEL_PROT_READ, PAGE },
					  { LAST, NNACCEL_PROT_READ, 2 * PAGE } }, PAGE - 4, 4,
	  NNACCEL_STATUS_NONE, { true, false, true, false } },
	{ "too few", { { MEMORY, NNACCEL_PROT_READ, PAGE }, { OTHER, NNACCEL_PROT_READ, PAGE } }, 0,
	  3, NNACCEL_STATUS_INVALID_ARGUMENT, { false } },
};

/*
 * Writes a model that computes x + pool 0, x + pool 1 and x + x, and also x + pool 1 in a branch of
 * an IF.
 */
static size_t write_pools(const struct nnaccel_grant pools[2], uint64_t offset)
{
	uint32_t x, none, condition, operand[2], to[4], branch;
	struct model_builder b;

	mb_init(&b);
	b.model.num_pools = 2;
	b.model.pools = b.pools;
	b.pools[0].size = pools[0].length;
	b.pools[1].size = pools[1].length;
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	condition = mb_operand(&b, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	operand[0] = mb_reference(&b, NN_TENSOR_FLOAT32, 0, 0, 8, MB_DIMS(2));
	operand[1] = mb_reference(&b, NN_TENSOR_FLOAT32, 1, offset, 8, MB_DIMS(2));
	none = mb_int32(&b, 0);
	for (int i = 0; i < 4; i++)
		to[i] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));
	branch = mb_subgraph_operand(&b, 1);
	mb_operation(&b, ADD, MB_LIST(x, operand[0], none), MB_LIST(to[0]));
	mb_operation(&b, ADD, MB_LIST(x, operand[1], none), MB_LIST(to[1]));
	mb_operation(&b, ADD, MB_LIST(x, x, none), MB_LIST(to[2]));
	mb_operation(&b, NN_OP_IF, MB_LIST(condition, branch, branch, x), MB_LIST(to[3]));
	mb_subgraph(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	operand[1] = mb_reference(&b, NN_TENSOR_FLOAT32, 1, offset, 8, MB_DIMS(2));
	none = mb_int32(&b, 0);
	to[0] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));
	mb_operation(&b, ADD, MB_LIST(x, operand[1], none), MB_LIST(to[0]));
	return write_model(&b);
}

static void test_supported(void **state)
{
	struct nnaccel_grant grants[3] = { wire_grant };
	struct nnaccel_cmd head = { .kind = NNACCEL_DO_SUPPORTED, .num_grants = 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		memcpy(grants + 1, models[i].pools, sizeof(models[i].pools));
		head.max_payload = models[i].count;
		head.wire_length = write_pools(models[i].pools, models[i].offset);
		if (ask(&head, grants, NULL, NULL) != models[i].status)
			fail_msg("%s: %s", models[i].name, kernel.messages[0]);
		if (kernel.commits[0].payload_size != (models[i].status ? 0 : models[i].count) ||
		    memcmp(kernel.payloads[0], models[i].supported, kernel.commits[0].payload_size))
			fail_msg("%s", models[i].name);
		/*
		 * Unmap the grant LAST, whose second page is missing, before a later model maps
		 * this grant.
		 */
		grants_forget(&server.grants, LAST);
	}
	engine_state.status = NN_DEVICE_UNAVAILABLE;
	head.max_payload = 4;
	head.wire_length = write_pools(grants + 1, 0);
	assert_int_equal(ask(&head, grants, NULL, NULL), NNACCEL_STATUS_DEVICE_UNAVAILABLE);
	assert_string_equal(kernel.messages[0], "it fails");
	assert_int_equal(kernel.commits[0].payload_size, 0);
}

static void test_prepare(void **state)
{
	struct nnaccel_grant grants[] = { wire_grant, { MEMORY, NNACCEL_PROT_READ, 2 * PAGE },
					  { OTHER, NNACCEL_PROT_READ, 2 * PAGE } };
	struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_PREPARE, .model = 5, .num_grants = 3, .preference = 1,
		.priority = NNACCEL_PRIORITY_HIGH, .deadline_ns = 99, .wire_length = write_pools(grants + 1, 0),
		.max_payload = sizeof(struct nnaccel_model_memory),
	};
	const struct nnaccel_model_memory *taken = (const void *)kernel.payloads[0];

	(void)state;
	assert_int_equal(ask(&head, grants, NULL, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.commits[0].payload_size, sizeof(*taken));
	assert_int_equal(taken->weights, 123);
	assert_int_equal(taken->execution, 45);
	assert_int_equal(taken->device, 67);
	assert_int_equal(engine_state.how.preference, 1);
	assert_int_equal(engine_state.how.priority, NNACCEL_PRIORITY_HIGH);
	assert_int_equal(engine_state.how.deadline_ns, 99);
	assert_false(engine_state.how.may_be_put_off);
	assert_null(engine_state.how.attributes);
	assert_int_equal(kernel.progress, 300);
	assert_true(kernel.cookie == kernel.commits[0].cookie && kernel.cookie);
	assert_true(engine_state.goes_on);
	kernel.is_cancelled = true;
	assert_int_equal(ask(&head, grants, NULL, NULL), NNACCEL_STATUS_NONE);
	assert_false(engine_state.goes_on);
	kernel.is_cancelled = false;
	server.models.lazy = true;
	head.model = 6;
	assert_int_equal(ask(&head, grants, NULL, NULL), NNACCEL_STATUS_NONE);
	assert_true(engine_state.how.may_be_put_off);
	engine_state.status = NN_RESOURCE_EXHAUSTED_TRANSIENT;
	assert_int_equal(ask(&head, grants, NULL, NULL),
			 NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_int_equal(kernel.commits[0].payload_size, 0);
	assert_string_equal(kernel.messages[0], "it fails");
	engine_state.status = NN_OK;
	/*
	 * The server rejects a model if one of its pools cannot be mapped, or is lost before the
	 * server reads the pool.
	 */
	grants[2].length = INT64_MAX / 2;
	head.wire_length = write_pools(grants + 1, 0);
	assert_int_equal(ask(&head, grants, NULL, NULL),
			 NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT);
	assert_non_null(strstr(kernel.messages[0], "pool 1 of the model"));
	assert_int_equal(engine_state.prepared, 3);
	grants[2] = (struct nnaccel_grant){ LAST + 1, NNACCEL_PROT_READ, 2 * PAGE };
	head.wire_length = write_pools(grants + 1, 0);
	assert_int_equal(ask(&head, grants, NULL, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "pool 1 is gone"));
	assert_int_equal(engine_state.released, 1);
	/* A model is rejected if the serialised model lies beyond the end of the memory's file. */
	grants[0] = (struct nnaccel_grant){ LAST, NNACCEL_PROT_READ, 2 * PAGE };
	head.wire_offset = PAGE;
	assert_int_equal(ask(&head, grants, NULL, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "shorter"));
}

static enum nn_status check_attributes(const struct nna_engine *e,
				       const struct nn_attributes *attributes, bool is_execution,
				       struct nn_error *err)
{
	(void)e;
	if (!attributes || attributes->list[0].code == (is_execution ? 2 : 1))
		return NN_OK;
	return nn_fail(err, NN_INVALID_ARGUMENT, "attribute %u", attributes->list[0].code);
}

static uint32_t ask_with_attribute_of(const char *extension, const struct nnaccel_cmd *command,
				      const void *grants, const void *args, uint16_t code)
{
	const struct nn_attribute attribute = {
		.extension = extension, .code = code, .size = 4, .data = "text",
	};
	const struct nn_attributes attributes = { .count = 1, .list = &attribute };
	struct nnaccel_cmd head = *command;
	struct nn_error err;
	void *bytes;
	size_t size;

	assert_int_equal(nn_attributes_encode(&attributes, MAX_COMMAND, &bytes, &size, &err),
			 NN_OK);
	head.cookie = 3;
	head.attributes_size = (uint32_t)size;
	add(&head, grants, args, NULL, bytes);
	free(bytes);
	run();
	assert_int_equal(kernel.num_commits, 1);
	return kernel.commits[0].status;
}

static uint32_t ask_with_attribute(const struct nnaccel_cmd *command, const void *grants,
				   const void *args, uint16_t code)
{
	return ask_with_attribute_of("com.example", command, grants, args, code);
}

/* ---- executions ---- */

static const struct nnaccel_grant memory_grant = { MEMORY, RW, PAGE };

/* Two inputs and an output of two numbers each; the three arguments follow each other in memory. */
static const struct nnaccel_arg three_args[] = {
	{ .offset = 8, .length = 8 }, { .offset = 16, .length = 8 }, { .offset = 24, .length = 8 },
};

static const struct nnaccel_cmd execution = {
	.kind = NNACCEL_DO_EXECUTE, .model = 1, .num_grants = 1, .num_inputs = 2, .num_outputs = 1,
	.max_payload = sizeof(struct nnaccel_shape),
};

static void test_execute(void **state)
{
	const struct nnaccel_shape *shape = (const void *)kernel.payloads[0];
	struct nnaccel_arg args[3];
	struct nnaccel_cmd head = execution;
	float *numbers = (void *)memory[MEMORY];

	(void)state;
	assert_int_equal(ask(&head, &memory_grant, three_args, NULL),
			 NNACCEL_STATUS_GENERAL_FAILURE);
	assert_string_equal(kernel.messages[0], "the client has no such model");
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	for (int i = 0; i < 16; i++)
		numbers[i] = (float)(1 << i);
	head.deadline_ns = UINT64_MAX - 1;
	head.loop_timeout_ns = 12345;
	assert_int_equal(ask(&head, &memory_grant, three_args, NULL), NNACCEL_STATUS_NONE);
	assert_true(numbers[5] == 32 && numbers[6] == (4 | 16) && numbers[7] == (8 | 32) &&
		    numbers[8] == 256);
	assert_true(engine_state.deadline_ns == UINT64_MAX - 1);
	assert_true(engine_state.due_ns == UINT64_MAX - 1);
	assert_int_equal(engine_state.loop_timeout_ns, 12345);
	assert_int_equal(engine_state.rank, 0);
	assert_int_equal(kernel.commits[0].payload_size, sizeof(*shape));
	assert_int_equal(shape->flags, NNACCEL_SHAPE_SUFFICIENT);
	assert_int_equal(shape->rank, 2);
	assert_int_equal(shape->dims[0], 2);
	assert_int_equal(shape->dims[1], 5);
	assert_int_equal(shape->dims[2], 0);
	assert_false(engine_state.measure);
	assert_true(kernel.commits[0].device_ns == NNACCEL_TIME_NONE);
	assert_int_equal(kernel.commits[0].flags, NNACCEL_FETCH_NONBLOCK);
	/*
	 * The execution requests times, omits the second input, and specifies the dimensions of the
	 * first input.
	 */
	memcpy(args, three_args, sizeof(args));
	args[0].rank = 1;
	args[0].dims[0] = 2;
	args[1] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_NO_VALUE };
	head.flags = NNACCEL_EXECUTE_MEASURE;
	assert_int_equal(ask(&head, &memory_grant, args, NULL), NNACCEL_STATUS_NONE);
	assert_true(engine_state.measure);
	assert_true(kernel.commits[0].device_ns < 3600 * NS_PER_S);
	assert_true(engine_state.omitted);
	assert_int_equal(engine_state.rank, 1);
	assert_int_equal(engine_state.dim, 2);
	assert_true(numbers[6] == 4 && numbers[7] == 8);
	/*
	 * The server prefers the engine's device time to its own measurement, and sends the time to
	 * the kernel even if the client does not request times.
	 */
	engine_state.device_ns = UINT64_C(5) << 40;
	assert_int_equal(ask(&head, &memory_grant, args, NULL), NNACCEL_STATUS_NONE);
	assert_true(kernel.commits[0].device_ns == engine_state.device_ns);
	head.flags = 0;
	assert_int_equal(ask(&head, &memory_grant, args, NULL), NNACCEL_STATUS_NONE);
	assert_true(kernel.commits[0].device_ns == engine_state.device_ns);
	engine_state.device_ns = 0;
	/* The server reports the shape of an output even if the output's memory is too small. */
	engine_state.status = NN_OUTPUT_INSUFFICIENT_SIZE;
	engine_state.is_short = true;
	assert_int_equal(ask(&head, &memory_grant, args, NULL),
			 NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE);
	assert_int_equal(kernel.commits[0].payload_size, sizeof(*shape));
	assert_int_equal(shape->flags, 0);
	/* A shape that the engine does not set has rank 0. */
	engine_state.is_shapeless = true;
	assert_int_equal(ask(&head, &memory_grant, args, NULL),
			 NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE);
	assert_int_equal(shape->flags, 0);
	assert_int_equal(shape->rank, 0);
	engine_state.is_silent = true;
	engine_state.status = NN_MISSED_DEADLINE_PERSISTENT;
	assert_int_equal(ask(&head, &memory_grant, args, NULL),
			 NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT);
	assert_int_equal(kernel.commits[0].payload_size, 0);
	assert_string_equal(kernel.messages[0], "it fails");
}

/*
 * The server checks attributes of preparations and of executions separately, and passes the
 * attributes to the engine.
 */
static void test_attributes(void **state)
{
	const struct nnaccel_cmd prepare_head = {
		.kind = NNACCEL_DO_PREPARE, .model = 1, .num_grants = 1,
		.wire_length = write_add(MB_DIMS(2), 0),
		.max_payload = sizeof(struct nnaccel_model_memory),
	};

	(void)state;
	engine.check_attributes = check_attributes;
	assert_int_equal(ask_with_attribute(&prepare_head, &wire_grant, NULL, 2),
			 NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_string_equal(kernel.messages[0], "attribute 2");
	assert_int_equal(ask_with_attribute(&prepare_head, &wire_grant, NULL, 1),
			 NNACCEL_STATUS_NONE);
	assert_non_null(engine_state.how.attributes);
	assert_string_equal(engine_state.how.attributes->list[0].extension, "com.example");
	assert_int_equal(ask_with_attribute(&execution, &memory_grant, three_args, 1),
			 NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_string_equal(kernel.messages[0], "attribute 1");
	assert_int_equal(ask_with_attribute(&execution, &memory_grant, three_args, 2),
			 NNACCEL_STATUS_NONE);
	assert_int_equal(engine_state.attribute, 2);
}

static uint32_t ask_for_times(const struct nnaccel_arg *args)
{
	struct nnaccel_cmd head = execution;

	head.num_outputs = 2;
	head.max_payload = 2 * sizeof(struct nnaccel_shape);
	return ask_with_attribute_of(TIMES_EXTENSION, &head, &memory_grant, args, 0);
}

/*
 * If an execution has the attribute for times, the library writes times to the last output: the
 * begin and the end of the execution, and the time of each operation.
 */
static void test_times(void **state)
{
	static const struct { uint64_t offset, length; uint32_t flags; } without_room[] = {
		{ 512, sizeof(struct times_head) - 1, 0 }, { 516, 256, 0 }, { 0, 0, NNACCEL_ARG_NO_VALUE },
	};
	const struct nnaccel_shape *shapes = (const void *)kernel.payloads[0];
	const struct times_head *head = (const void *)(memory[MEMORY] + 512);
	const struct nn_operation_time *time = (const void *)(head + 1);
	const struct nnaccel_grant grants[] = { memory_grant,
						{ OTHER, RW | NNACCEL_PROT_DEVICE, PAGE } };
	struct nnaccel_cmd two = execution;
	uint64_t before = clock_ns();
	struct nnaccel_arg args[4];

	(void)state;
	engine_state.fence = 0;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	memcpy(args, three_args, sizeof(three_args));
	args[3] = (struct nnaccel_arg){ .offset = 512, .length = sizeof(*head) + 3 * sizeof(*time) + 1 };
	assert_int_equal(ask_for_times(args), NNACCEL_STATUS_NONE);
	assert_int_equal(engine_state.num_outputs, 1);
	assert_int_equal(engine_state.attribute, 0);
	assert_int_equal(engine_state.room, 3);
	/*
	 * A fence must not end an execution that reports times, because the end time would be
	 * unknown.
	 */
	assert_false(engine_state.took_fence);
	assert_true(head->begin_ns >= before && head->end_ns >= head->begin_ns && head->end_ns <= clock_ns());
	assert_int_equal(head->count, 1);
	assert_int_equal(time->index, 7);
	assert_int_equal(time->end_ns, 6);
	assert_int_equal(kernel.commits[0].payload_size, 2 * sizeof(*shapes));
	assert_int_equal(shapes[0].rank, 2);
	assert_int_equal(shapes[1].flags, NNACCEL_SHAPE_SUFFICIENT);
	assert_int_equal(shapes[1].rank, 0);
	args[3].length = sizeof(*head);
	assert_int_equal(ask_for_times(args), NNACCEL_STATUS_NONE);
	assert_int_equal(engine_state.room, 0);
	assert_int_equal(head->count, 0);
	for (size_t i = 0; i < sizeof(without_room) / sizeof(without_room[0]); i++) {
		args[3] = (struct nnaccel_arg){ .offset = without_room[i].offset,
						.length = without_room[i].length,
						.flags = without_room[i].flags };
		assert_int_equal(ask_for_times(args), NNACCEL_STATUS_INVALID_ARGUMENT);
		assert_string_equal(kernel.messages[0], "no room for times");
	}
	/* Refuse an output for times in memory that the CPU cannot access. */
	args[3] = (struct nnaccel_arg){ .pool = 1, .length = 256 };
	two.num_outputs = 2;
	two.num_grants = 2;
	two.max_payload = 2 * sizeof(*shapes);
	assert_int_equal(ask_with_attribute_of(TIMES_EXTENSION, &two, grants, args, 0),
			 NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_string_equal(kernel.messages[0], "no room for times");
	/* An execution without the attribute for times does not request times from the engine. */
	assert_int_equal(ask(&execution, &memory_grant, three_args, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(engine_state.room, 0);
}

/*
 * If an execution's memory is lost, the answer reports this loss even if the engine returns another
 * error. The answer contains no shapes.
 */
static void test_memory_goes(void **state)
{
	const struct nnaccel_grant huge = { MEMORY, RW, INT64_MAX / 2 };

	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	assert_int_equal(ask(&execution, &huge, three_args, NULL),
			 NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT);
	assert_non_null(strstr(kernel.messages[0], "pool 0: "));
	engine_state.cuts = true;
	engine_state.status = NN_INVALID_ARGUMENT;
	assert_int_equal(ask(&execution, &memory_grant, three_args, NULL),
			 NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "pool 0 is gone"));
	assert_int_equal(kernel.commits[0].payload_size, 0);
}

/* If the memory of a model's constants is lost, an execution's answer reports the loss. */
static void test_constants_go(void **state)
{
	const struct nnaccel_grant grants[] = { wire_grant, { OTHER, NNACCEL_PROT_READ, 2 * PAGE },
						{ OTHER, NNACCEL_PROT_READ, 2 * PAGE } };
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_PREPARE, .model = 1, .num_grants = 3,
		.wire_length = write_pools(grants + 1, 0),
		.max_payload = sizeof(struct nnaccel_model_memory),
	};
	struct loaded_model *loaded;

	(void)state;
	assert_int_equal(ask(&head, grants, NULL, NULL), NNACCEL_STATUS_NONE);
	loaded = models_get(&server.models, 1, NULL);
	atomic_store(&loaded->pools[1]->broken, true);
	models_put(&server.models, loaded, NULL);
	assert_int_equal(ask(&execution, &memory_grant, three_args, NULL),
			 NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "is gone"));
}

/* The server releases a model that the client frees, and no later command finds the model. */
static void test_forget_model(void **state)
{
	struct nnaccel_cmd forget = { .kind = NNACCEL_DO_FORGET_MODEL, .model = 3 };

	(void)state;
	for (uint64_t i = 1; i < 4; i++)
		assert_int_equal(prepare_add(i, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	for (unsigned int i = 0; i < 4; i++) {
		/* The last round frees a model that was already released. */
		forget.model = (const uint64_t[]){ 2, 1, 3, 3 }[i];
		add(&forget, NULL, NULL, NULL, NULL);
		run();
		assert_int_equal(kernel.num_commits, 0);
		assert_int_equal(engine_state.released, i < 3 ? i + 1 : 3);
		assert_int_equal(ask(&execution, &memory_grant, three_args, NULL),
				 i ? NNACCEL_STATUS_GENERAL_FAILURE : NNACCEL_STATUS_NONE);
	}
}

/*
 * Images are copied to dense memory before an execution, and copied back only after a successful
 * execution.
 */
static void test_images(void **state)
{
	const struct nnaccel_grant grants[] = {
		{ IMAGE, RW | NNACCEL_PROT_FORMATTED, PAGE }, { MEMORY, RW, PAGE },
	};
	const struct nnaccel_arg from[] = {
		{ .pool = 0 }, { .flags = NNACCEL_ARG_NO_VALUE }, { .pool = 1, .length = 16 },
	};
	const struct nnaccel_arg to[] = {
		{ .pool = 1, .length = 16 }, { .flags = NNACCEL_ARG_NO_VALUE }, { .pool = 0 },
	};
	struct nnaccel_cmd head = execution;
	float *image = (void *)memory[IMAGE], *numbers = (void *)memory[MEMORY];

	(void)state;
	head.num_grants = 2;
	assert_int_equal(prepare_add(1, MB_DIMS(4)), NNACCEL_STATUS_NONE);
	engine_state.fence = eventfd(0, EFD_CLOEXEC);
	for (int i = 0; i < 10; i++)
		image[i] = (float)i;
	assert_int_equal(ask(&head, grants, from, NULL), NNACCEL_STATUS_NONE);
	assert_memory_equal(numbers, ((float[]){ 2, 3, 6, 7 }), 16);
	/* A fence must not end an execution whose output is copied after the execution. */
	assert_false(engine_state.took_fence);
	close(engine_state.fence);
	engine_state.fence = -1;
	for (int i = 0; i < 4; i++)
		numbers[i] = (float)(50 + i);
	engine_state.status = NN_GENERAL_FAILURE;
	assert_int_equal(ask(&head, grants, to, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	for (int i = 0; i < 10; i++)
		assert_true(image[i] == (float)i);
	engine_state.status = NN_OK;
	assert_int_equal(ask(&head, grants, to, NULL), NNACCEL_STATUS_NONE);
	assert_memory_equal(image, ((float[]){ 0, 1, 50, 51, 4, 5, 52, 53, 8, 9 }), 40);
}

/*
 * After the engine has replaced a prepared model by a better version, the next execution uses the
 * better version. The old version of a model is released after the last execution that uses the old
 * version.
 */
static void test_replaced(void **state)
{
	const struct nnaccel_cmd gone = { .kind = NNACCEL_DO_FORGET_MODEL, .model = 1 };
	static int better, none;
	void *first;

	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	engine_state.better = &better;
	assert_int_equal(ask(&execution, &memory_grant, three_args, NULL), NNACCEL_STATUS_NONE);
	first = engine_state.executed;
	assert_ptr_not_equal(first, &better);
	assert_int_equal(engine_state.released, 1);
	assert_ptr_equal(engine_state.last_released, first);
	assert_int_equal(ask(&execution, &memory_grant, three_args, NULL), NNACCEL_STATUS_NONE);
	assert_ptr_equal(engine_state.executed, &better);
	/*
	 * The engine can replace neither a version of a model that was already replaced, nor a
	 * released model.
	 */
	assert_false(nna_engine_replace(first, &none));
	assert_int_equal(engine_state.released, 1);
	add(&gone, NULL, NULL, NULL, NULL);
	run();
	assert_int_equal(engine_state.released, 2);
	assert_ptr_equal(engine_state.last_released, &better);
	assert_false(nna_engine_replace(&better, &none));
}

/*
 * The server sends the engine's fence together with a successful answer, and then closes the fence.
 */
static void test_fences(void **state)
{
	static const struct {
		enum nn_status status;
		bool is_process;
		uint32_t permissions;
		bool is_allowed, is_committed;
	} cases[] = {
		{ NN_OK, false, 0, true, true },
		{ NN_GENERAL_FAILURE, false, 0, true, false },
		{ NN_OK, true, 0, false, false },
		{ NN_OK, true, NNA_ENGINE_MAY_USE_DRIVERS, true, true },
	};
	const struct nnaccel_grant grants[] = { memory_grant, { OTHER, NNACCEL_PROT_READ, PAGE } };
	struct nnaccel_cmd head = execution;
	struct nnaccel_arg args[3];

	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	head.flags = NNACCEL_EXECUTE_MEASURE;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		server.grants.gone = cases[i].is_process ? -1 : shared.gone;
		engine.permissions = cases[i].permissions;
		engine_state.status = cases[i].status;
		engine_state.fence = eventfd(0, EFD_CLOEXEC);
		assert_int_equal(!ask(&head, &memory_grant, three_args, NULL), !cases[i].status);
		assert_int_equal(engine_state.took_fence, cases[i].is_allowed);
		assert_int_equal(engine_state.may_export, cases[i].is_allowed);
		assert_int_equal(!!(kernel.commits[0].flags & NNACCEL_COMMIT_FENCE),
				 cases[i].is_committed);
		if (cases[i].is_committed) {
			assert_int_equal(kernel.commits[0].fence, engine_state.fence);
			/*
			 * If a fence ends an execution, the execution's answer has no device time.
			 */
			assert_true(kernel.commits[0].device_ns == NNACCEL_TIME_NONE);
		}
		if (cases[i].is_allowed) {
			assert_int_equal(kernel.exported.grant, MEMORY);
			assert_int_equal(kernel.exported.prot, RW);
		}
		/*
		 * If the server refused the fence, the fence is still open and belongs to the
		 * engine.
		 */
		assert_int_equal(close(engine_state.fence), cases[i].is_allowed ? -1 : 0);
	}
	/* The engine gets a file with the access that the execution has, here only to read. */
	memcpy(args, three_args, sizeof(args));
	args[0].pool = args[1].pool = 1;
	head.num_grants = 2;
	engine_state.fence = -1;
	assert_int_equal(ask(&head, grants, args, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.exported.grant, OTHER);
	assert_int_equal(kernel.exported.prot, NNACCEL_PROT_READ);
}

/* ---- buffers ---- */

/*
 * Prepares models whose output has 2 numbers, an unknown dimension, 3 numbers, a quantised type,
 * any rank, and (two models) a huge size.
 */
static void prepare_all(void)
{
	assert_int_equal(prepare_add(1, MB_DIMS(1, 2)), NNACCEL_STATUS_NONE);
	assert_int_equal(prepare_add(2, MB_DIMS(0, 2)), NNACCEL_STATUS_NONE);
	assert_int_equal(prepare_add(3, MB_DIMS(1, 3)), NNACCEL_STATUS_NONE);
	assert_int_equal(prepare_model(4, write_add(MB_DIMS(1, 8), 0.5f)), NNACCEL_STATUS_NONE);
	assert_int_equal(prepare_add(5, 0, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(prepare_add(6, MB_DIMS(0, 1U << 29)), NNACCEL_STATUS_NONE);
	assert_int_equal(prepare_add(7, MB_DIMS(8, 0)), NNACCEL_STATUS_NONE);
}

#define IN NNACCEL_ROLE_INPUT
#define OUT NNACCEL_ROLE_OUTPUT

static const struct {
	const char *name;
	uint64_t capacity;
	uint32_t num_roles;
	struct nnaccel_cmd_role roles[3];
	uint32_t status;
} judged[] = {
	{ "an input", 8, 1, { { 1, IN, 0, 0, 0 } }, NNACCEL_STATUS_NONE },
	{ "the last input", 8, 1, { { 1, IN, 1, 0, 0 } }, NNACCEL_STATUS_NONE },
	{ "no input", 8, 1, { { 1, IN, 2, 0, 0 } }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "an output", 8, 1, { { 1, OUT, 0, 0, 0 } }, NNACCEL_STATUS_NONE },
	{ "no output", 8, 1, { { 1, OUT, 1, 0, 0 } }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "no model", 8, 2, { { 1, IN, 0, 0, 0 }, { 9, IN, 0, 0, 0 } }, NNACCEL_STATUS_GENERAL_FAILURE },
	{ "too small", 7, 1, { { 1, IN, 0, 0, 0 } }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "too large", 16, 1, { { 1, IN, 0, 0, 0 } }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "open", 16, 1, { { 2, IN, 0, 0, 0 } }, NNACCEL_STATUS_NONE },
	{ "open, at least", 8, 1, { { 2, OUT, 0, 0, 0 } }, NNACCEL_STATUS_NONE },
	{ "open, no multiple", 12, 1, { { 2, IN, 0, 0, 0 } }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "merged", 8, 3, { { 2, OUT, 0, 0, 0 }, { 1, IN, 1, 0, 0 }, { 2, IN, 0, 0, 0 } },
	  NNACCEL_STATUS_NONE },
	{ "merged, too large", 16, 2, { { 2, OUT, 0, 0, 0 }, { 1, IN, 1, 0, 0 } },
	  NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "other dimensions", 8, 2, { { 1, OUT, 0, 0, 0 }, { 3, IN, 0, 0, 0 } },
	  NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "another type", 8, 2, { { 1, OUT, 0, 0, 0 }, { 4, IN, 0, 0, 0 } },
	  NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "the third is another", 8, 3, { { 1, OUT, 0, 0, 0 }, { 1, IN, 0, 0, 0 }, { 4, IN, 0, 0, 0 } },
	  NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "of any rank", 12, 1, { { 5, IN, 0, 0, 0 } }, NNACCEL_STATUS_NONE },
	{ "of any rank, no multiple", 10, 1, { { 5, IN, 0, 0, 0 } }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "more than 4 GiB", UINT64_C(1) << 34, 2, { { 6, IN, 0, 0, 0 }, { 7, IN, 0, 0, 0 } },
	  NNACCEL_STATUS_INVALID_ARGUMENT },
};

static uint32_t make_buffer(uint32_t grant, uint64_t capacity, uint32_t num_roles,
			    const struct nnaccel_cmd_role *roles)
{
	const struct nnaccel_grant granted = { grant, RW, capacity };
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_BUFFER, .num_grants = 1, .num_roles = num_roles,
		.max_payload = sizeof(uint32_t),
	};

	return ask(&head, &granted, NULL, roles);
}

static uint32_t told_layout(void)
{
	uint32_t layout;

	assert_int_equal(kernel.commits[0].payload_size, sizeof(layout));
	memcpy(&layout, kernel.payloads[0], sizeof(layout));
	return layout;
}

static void test_roles(void **state)
{
	(void)state;
	prepare_all();
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		if (make_buffer(OTHER, judged[i].capacity, judged[i].num_roles, judged[i].roles) !=
		    judged[i].status)
			fail_msg("%s: %s", judged[i].name, kernel.messages[0]);
		if (judged[i].status)
			assert_int_equal(kernel.commits[0].payload_size, 0);
		else
			assert_int_equal(told_layout(), NNACCEL_LAYOUT_LINEAR);
	}
	/*
	 * After the server has made the buffers, only the list of models has references to models.
	 */
	for (struct loaded_model *m = server.models.list; m; m = m->next)
		assert_int_equal(m->users, 1);
}

static uint32_t copy(uint32_t kind, uint32_t buffer, uint64_t length)
{
	const struct nnaccel_grant grants[] = { { buffer, RW, 8 }, { MEMORY, RW, PAGE } };
	const struct nnaccel_cmd head = { .kind = kind, .num_grants = 2, .wire_length = length };

	return ask(&head, grants, NULL, NULL);
}

static void forget(uint32_t grant)
{
	const struct nnaccel_cmd head = { .kind = NNACCEL_DO_FORGET_GRANT, .grant = grant };

	add(&head, NULL, NULL, NULL, NULL);
	run();
	assert_int_equal(kernel.num_commits, 0);
}

/*
 * Buffers may have the engine's own layout: copies convert the data, executions pass the buffer to
 * the engine, and the engine destroys the buffer.
 */
static void test_own_layout(void **state)
{
	const struct nnaccel_cmd_role role = { .model = 2, .kind = IN };
	const struct nnaccel_cmd_role roles[] = {
		{ .model = 2, .kind = IN, .index = 1 },
		{ .model = 1, .kind = OUT, .frequency = NNACCEL_MAX_FREQUENCY / 4 },
	};
	const struct nnaccel_grant grants[] = { { OTHER, RW, 8 }, { MEMORY, RW, PAGE } };
	const struct nnaccel_arg args[] = {
		{ .flags = NNACCEL_ARG_BUFFER, .length = 8, .rank = 2, .dims = { 1, 2 } },
		{ .pool = 1, .length = 8 }, { .pool = 1, .offset = 8, .length = 8 },
	};
	struct nnaccel_cmd head = execution;
	uint64_t limit = 16;

	(void)state;
	engine.buffers = &engine_buffers;
	prepare_all();
	/*
	 * Make one buffer for which the engine has no layout, and one buffer for which the engine
	 * returns an error.
	 */
	buffer_of_engine = NULL;
	assert_int_equal(make_buffer(OTHER, 8, 1, &role), NNACCEL_STATUS_NONE);
	assert_int_equal(told_layout(), NNACCEL_LAYOUT_LINEAR);
	assert_int_equal(copy(NNACCEL_DO_COPY_IN, OTHER, 8), NNACCEL_STATUS_GENERAL_FAILURE);
	buffer_of_engine = &buffer_state;
	engine_state.status = NN_DEVICE_UNAVAILABLE;
	assert_int_equal(make_buffer(OTHER, 8, 1, &role), NNACCEL_STATUS_DEVICE_UNAVAILABLE);
	assert_string_equal(kernel.messages[0], "it fails");
	engine_state.status = NN_OK;
	assert_int_equal(make_buffer(OTHER, 8, 1, &role), NNACCEL_STATUS_NONE);
	assert_int_equal(told_layout(), NNACCEL_LAYOUT_ENGINE);
	assert_int_equal(buffer_state.capacity, 8);
	assert_int_equal(buffer_state.operand.rank, 2);
	assert_int_equal(buffer_state.operand.dims[0], 0);
	assert_int_equal(buffer_state.operand.dims[1], 2);
	/* The engine gets a buffer's roles with pointers to the models that the engine prepared. */
	assert_int_equal(make_buffer(IMAGE, 8, 2, roles), NNACCEL_STATUS_NONE);
	assert_int_equal(buffer_state.num_roles, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct loaded_model *loaded = models_get(&server.models, roles[i].model, NULL);

		assert_ptr_equal(buffer_state.roles[i].prepared, loaded->first.prepared);
		models_put(&server.models, loaded, NULL);
		assert_int_equal(buffer_state.roles[i].is_output, roles[i].kind == OUT);
		assert_int_equal(buffer_state.roles[i].index, roles[i].index);
		assert_true(buffer_state.roles[i].frequency == (i ? 0.25f : 0));
	}
	assert_int_equal(buffer_state.created, 4);
	/* The two buffers count towards the client's limit of device memory until they are freed. */
	for (const struct loaded_model *l = server.models.list; l; l = l->next)
		limit += l->device_bytes;
	models_limit_device(limit);
	assert_int_equal(make_buffer(WIRE, 8, 1, &role), NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_int_equal(buffer_state.created, 4);

	memset(memory[MEMORY], 0x0f, 8);
	assert_int_equal(copy(NNACCEL_DO_COPY_IN, OTHER, 7), NNACCEL_STATUS_NONE);
	assert_memory_equal(memory[OTHER], "\xf0\xf0\xf0\xf0\xf0\xf0\xf0\0", 8);
	assert_int_equal(copy(NNACCEL_DO_COPY_OUT, OTHER, 8), NNACCEL_STATUS_NONE);
	assert_memory_equal(memory[MEMORY], "\x0f\x0f\x0f\x0f\x0f\x0f\x0f\xff", 8);
	assert_int_equal(buffer_state.in, 1);
	assert_int_equal(buffer_state.out, 1);
	engine_state.status = NN_INVALID_ARGUMENT;
	assert_int_equal(copy(NNACCEL_DO_COPY_OUT, OTHER, 8), NNACCEL_STATUS_INVALID_ARGUMENT);
	engine_state.status = NN_OK;
	assert_int_equal(copy(NNACCEL_DO_COPY_OUT, WIRE, 8), NNACCEL_STATUS_GENERAL_FAILURE);

	head.model = 2;
	head.num_grants = 2;
	assert_int_equal(ask(&head, grants, args, NULL), NNACCEL_STATUS_NONE);
	assert_ptr_equal(engine_state.own, buffer_of_engine);
	/*
	 * The unused buffer OTHER is destroyed at once when the client frees the buffer. Buffer
	 * IMAGE is destroyed when the client ends.
	 */
	forget(OTHER);
	assert_int_equal(buffer_state.destroyed, 1);
	buffer_of_engine = NULL;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(make_buffer(WIRE, 8, 1, &role), NNACCEL_STATUS_NONE);
	buffer_of_engine = &buffer_state;
	models_limit_device(0);
	assert_int_equal(copy(NNACCEL_DO_COPY_IN, OTHER, 8), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_int_equal(ask(&head, grants, args, NULL), NNACCEL_STATUS_NONE);
	assert_null(engine_state.own);
	engine_state.cuts = true;
	assert_int_equal(copy(NNACCEL_DO_COPY_OUT, IMAGE, 8), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "is gone"));
	buffers_free(&server.buffers);
	assert_int_equal(buffer_state.destroyed, 2);
	assert_true(buffers_init(&server.buffers, &server.models));
}

/*
 * A buffer that is freed while in use is destroyed when the last user drops the reference to the
 * buffer.
 */
static void test_forgotten_in_use(void **state)
{
	const struct nnaccel_cmd_role role = { .model = 2, .kind = IN };
	struct buffer *one, *again;

	(void)state;
	engine.buffers = &engine_buffers;
	buffer_of_engine = &buffer_state;
	prepare_all();
	assert_int_equal(make_buffer(OTHER, 8, 1, &role), NNACCEL_STATUS_NONE);
	one = buffers_get(&server.buffers, OTHER);
	assert_ptr_equal(buffers_get(&server.buffers, OTHER), one);
	buffers_put(&server.buffers, one);
	buffers_put(&server.buffers, NULL);
	assert_int_equal(buffer_state.destroyed, 0);
	forget(OTHER);
	assert_int_equal(buffer_state.destroyed, 0);
	assert_null(buffers_get(&server.buffers, OTHER));
	/* Give a new buffer the number of the freed buffer. */
	assert_int_equal(make_buffer(OTHER, 8, 1, &role), NNACCEL_STATUS_NONE);
	again = buffers_get(&server.buffers, OTHER);
	assert_ptr_not_equal(again, one);
	buffers_put(&server.buffers, one);
	assert_int_equal(buffer_state.destroyed, 1);
	buffers_put(&server.buffers, again);
	assert_int_equal(buffer_state.destroyed, 1);
}

/* A buffer that is an input must hold as many bytes as the argument's shape needs. */
static const struct {
	uint64_t model;
	uint64_t length;		/* length of the buffer's contents */
	uint32_t rank, dims[2];		/* argument's shape; rank 0 means the model's shape */
	uint32_t status;
} held[] = {
	{ 1, 8, 0, { 0 }, NNACCEL_STATUS_NONE },
	{ 1, 4, 0, { 0 }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ 2, 16, 2, { 2, 2 }, NNACCEL_STATUS_NONE },
	{ 2, 8, 2, { 2, 2 }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ 2, 0, 2, { 0, 2 }, NNACCEL_STATUS_NONE },
	{ 2, 8, 2, { UINT32_MAX, UINT32_MAX }, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ 4, 8, 0, { 0 }, NNACCEL_STATUS_NONE },
};

static void test_held(void **state)
{
	const struct nnaccel_grant grants[] = { { OTHER, RW, 64 }, { MEMORY, RW, PAGE } };
	struct nnaccel_arg args[] = {
		{ .pool = 1, .length = 64 }, { .flags = NNACCEL_ARG_BUFFER },
		{ .pool = 1, .offset = 64, .length = 4 },
	};
	struct nnaccel_cmd head = execution;

	(void)state;
	prepare_all();
	head.num_grants = 2;
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
		head.model = held[i].model;
		args[1].length = held[i].length;
		args[1].rank = held[i].rank;
		memcpy(args[1].dims, held[i].dims, sizeof(held[i].dims));
		if (ask(&head, grants, args, NULL) != held[i].status)
			fail_msg("%zu: %s", i, kernel.messages[0]);
	}
	/*
	 * The server does not check the length of arguments in pools, because the engine checks the
	 * length.
	 */
	args[1].flags = 0;
	args[1].length = 4;
	assert_int_equal(ask(&head, grants, args, NULL), NNACCEL_STATUS_NONE);
}

/* The size of a buffer's contents follows from the shape that the engine reports. */
static void test_sizes(void **state)
{
	struct nnaccel_cmd head = execution;
	uint64_t size;

	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	head.max_payload = sizeof(struct nnaccel_shape) + sizeof(size);
	assert_int_equal(ask(&head, &memory_grant, three_args, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.commits[0].payload_size, head.max_payload);
	memcpy(&size, kernel.payloads[0] + sizeof(struct nnaccel_shape), sizeof(size));
	assert_int_equal(size, 2 * 5 * sizeof(float));
}

/* ---- saved models ---- */

#define TOKEN "a token of 32 bytes, all of them"
#define MODEL_PART "of the model"
#define DATA_PART "data"

/* The parts that the engine saves for a model; each part begins with another character. */
static char model_parts[NNA_ENGINE_MAX_CACHE_FILES][sizeof(MODEL_PART)];
static char data_parts[NNA_ENGINE_MAX_CACHE_FILES][sizeof(DATA_PART)];

static struct {
	bool is_none;			/* true: the engine saves nothing */
	uint32_t num_model, num_data;	/* parts */
	unsigned int saves, ends;
	const void *prepared;		/* prepared model that was saved last */
	void *better;			/* model that replaces the saved model during saving */
	char model[16], data[16];	/* parts that were loaded */
	size_t model_size, data_size;
	/* numbers of loaded parts that have the right contents */
	uint32_t loaded_model, loaded_data;
} saved;

static enum nn_status save(const struct nna_engine *e, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	(void)e;
	saved.prepared = prepared;
	saved.saves++;
	if (engine_state.status)
		return result_of(err);
	/* Without a model part, the library ignores the sizes of data parts. */
	if (saved.is_none)
		image->data_size[0] = sizeof(DATA_PART);
	if (saved.is_none || (saved.better && saved.better == prepared))
		return NN_OK;
	if (saved.better) {
		engine_state.prepared++;
		assert_true(nna_engine_replace((void *)prepared, saved.better));
	}
	for (uint32_t i = 0; i < saved.num_model; i++)
		image->model[i] = (struct nna_engine_part){ model_parts[i], sizeof(MODEL_PART) };
	for (uint32_t i = 0; i < saved.num_data; i++)
		image->data_size[i] = sizeof(DATA_PART);
	/* The library ignores data files beyond `num_data`. */
	if (saved.num_data < NNA_ENGINE_MAX_CACHE_FILES)
		image->data_size[saved.num_data] = 1;
	return NN_OK;
}

static void write_data(const struct nna_engine *e, const struct nna_engine_image *image,
		       uint32_t index, void *data)
{
	(void)e;
	assert_int_equal(image->data_size[index], sizeof(DATA_PART));
	memcpy(data, data_parts[index], sizeof(DATA_PART));
}

static void end_save(const struct nna_engine *e, struct nna_engine_image *image)
{
	(void)e;
	(void)image;
	saved.ends++;
}

static enum nn_status load(const struct nna_engine *e, const struct nna_engine_part *model,
			   const struct nna_engine_part *data,
			   const struct nna_engine_preparation *how, void **prepared,
			   struct nn_error *err)
{
	(void)e;
	engine_state.how = *how;
	saved.model_size = model->size;
	saved.data_size = data->size;
	saved.loaded_model = saved.loaded_data = 0;
	for (uint32_t i = 0; i < saved.num_model; i++) {
		saved.loaded_model += !strcmp(model[i].base, model_parts[i]);
		memcpy(saved.model, model[i].base, model[i].size);
		free(model[i].base);
	}
	if (engine_state.cuts)
		assert_int_equal(ftruncate(session, 0), 0);
	for (uint32_t i = 0; i < saved.num_data && data[i].base; i++) {
		saved.loaded_data += !strcmp(data[i].base, data_parts[i]);
		memcpy(saved.data, data[i].base, sizeof(DATA_PART));
	}
	if (engine_state.status)
		return result_of(err);
	engine_state.prepared++;
	*prepared = saved.model;
	return NN_OK;
}

static void use_parts(uint32_t num_model, uint32_t num_data)
{
	engine.model_cache_files = saved.num_model = num_model;
	engine.data_cache_files = saved.num_data = num_data;
	server.models.files = engine_cache_files(&engine);
}

static void begin_saving(void)
{
	memset(&saved, 0, sizeof(saved));
	use_parts(1, 1);
	for (int i = 0; i < NNA_ENGINE_MAX_CACHE_FILES; i++) {
		memcpy(model_parts[i], MODEL_PART, sizeof(MODEL_PART));
		memcpy(data_parts[i], DATA_PART, sizeof(DATA_PART));
		model_parts[i][0] += (char)i;
		data_parts[i][0] += (char)i;
	}
	engine.save = save;
	engine.end_save = end_save;
	engine.write_data = write_data;
	engine.load = load;
}

static void keeper_says(int keeper, enum message_kind verdict)
{
	const struct message answer = {
		.kind = verdict, .serial = server.cache.serial + 1,
	};

	assert_int_equal(send(keeper, &answer, sizeof(answer), 0), sizeof(answer));
}

static void check_request(int keeper, enum message_kind kind, const void *part, size_t size)
{
	struct message request;
	uint8_t hash[DIGEST_SIZE];

	assert_int_equal(recv(keeper, &request, sizeof(request), MSG_DONTWAIT), sizeof(request));
	assert_int_equal(request.kind, kind);
	assert_memory_equal(request.token, TOKEN, sizeof(request.token));
	assert_true(digest(part, size, hash));
	assert_memory_equal(request.hash, hash, sizeof(hash));
}

/* Receives the server's next request to the keeper, and checks the kind of this request. */
static struct message take_request(int keeper, enum message_kind kind)
{
	struct message request;

	assert_int_equal(recv(keeper, &request, sizeof(request), MSG_DONTWAIT), sizeof(request));
	assert_int_equal(request.kind, kind);
	return request;
}

static void test_saved(void **state)
{
	const struct nnaccel_grant grants[] = { { MEMORY, RW, PAGE }, { OTHER, RW, PAGE } };
	struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_CACHE_SAVE, .model = 1, .num_inputs = 1, .num_outputs = 1,
		.max_payload = 2 * sizeof(uint64_t), .token = TOKEN,
	};
	static const struct nnaccel_arg none[2] = {
		{ .flags = NNACCEL_ARG_NO_VALUE }, { .flags = NNACCEL_ARG_NO_VALUE },
	};
	struct nnaccel_arg parts[2] = { { .pool = 0, .offset = 8 }, { .pool = 1, .offset = 16 } };
	const uint64_t *sizes = (const void *)kernel.payloads[0];
	unsigned int asked = 0;
	struct loaded_model *loaded;
	struct message request;
	int ends[2];

	(void)state;
	begin_saving();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	server.cache.socket = ends[0];
	assert_int_equal(ask(&head, NULL, none, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_string_equal(kernel.messages[0], "the client has no such model");
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);

	/* An engine without a save function cannot save or load a model. */
	engine.save = NULL;
	for (int i = 0; i < 2; i++) {
		head.kind = i ? NNACCEL_DO_PREPARE_CACHED : NNACCEL_DO_CACHE_SAVE;
		assert_int_equal(ask(&head, NULL, none, NULL), NNACCEL_STATUS_INVALID_ARGUMENT);
		assert_string_equal(kernel.messages[0], "the engine saves no models");
	}
	head.kind = NNACCEL_DO_CACHE_SAVE;
	engine.save = save;

	/*
	 * A client that provides no memory for the parts gets only the sizes of the parts. The
	 * engine saves the parts for the first request, saves nothing for the second request, and
	 * returns errors for the later requests.
	 */
	assert_int_equal(ask(&head, NULL, none, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.commits[0].payload_size, 2 * sizeof(*sizes));
	assert_int_equal(sizes[0], sizeof(MODEL_PART));
	assert_int_equal(sizes[1], sizeof(DATA_PART));
	assert_int_equal(saved.ends, ++asked);
	saved.is_none = true;
	assert_int_equal(ask(&head, NULL, none, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(sizes[0] + sizes[1], 0);
	assert_int_equal(saved.ends, ++asked);
	saved.is_none = false;
	engine_state.status = NN_OUTPUT_INSUFFICIENT_SIZE;
	assert_int_equal(ask(&head, NULL, none, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	engine_state.status = NN_INVALID_ARGUMENT;
	assert_int_equal(ask(&head, NULL, none, NULL), NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_int_equal(kernel.commits[0].payload_size, 0);
	engine_state.status = NN_OK;

	/* The client's memory is too small first for the model part, and then for the data part. */
	head.num_grants = 2;
	for (int i = 0; i < 2; i++) {
		parts[0].length = sizeof(MODEL_PART) - (i == 0);
		parts[1].length = sizeof(DATA_PART) - (i == 1);
		assert_int_equal(ask(&head, grants, parts, NULL),
				 NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE);
		assert_int_equal(kernel.commits[0].payload_size, 2 * sizeof(*sizes));
		assert_int_equal(sizes[0], sizeof(MODEL_PART));
		assert_int_equal(saved.ends, ++asked);
	}
	/* The client provides no memory for the data part. */
	head.num_grants = 1;
	parts[1] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_NO_VALUE, .length = PAGE };
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE);
	head.num_grants = 2;
	parts[1] = (struct nnaccel_arg){ .pool = 1, .offset = 16, .length = sizeof(DATA_PART) };
	keeper_says(ends[1], CACHE_YES);
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_NONE);
	check_request(ends[1], CACHE_STORE, MODEL_PART, sizeof(MODEL_PART));
	assert_memory_equal(memory[MEMORY] + 8, MODEL_PART, sizeof(MODEL_PART));
	assert_memory_equal(memory[OTHER] + 16, DATA_PART, sizeof(DATA_PART));

	/* And back. */
	head.kind = NNACCEL_DO_PREPARE_CACHED;
	head.model = 2;
	head.preference = 2;
	head.deadline_ns = 33;
	head.max_payload = sizeof(struct nnaccel_model_memory);
	keeper_says(ends[1], CACHE_NO);
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	check_request(ends[1], CACHE_QUERY, MODEL_PART, sizeof(MODEL_PART));
	assert_int_equal(saved.model_size, 0);
	keeper_says(ends[1], CACHE_YES);
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.commits[0].payload_size, sizeof(struct nnaccel_model_memory));
	assert_string_equal(saved.model, MODEL_PART);
	assert_string_equal(saved.data, DATA_PART);
	assert_int_equal(saved.model_size, sizeof(MODEL_PART));
	assert_int_equal(saved.data_size, sizeof(DATA_PART));
	assert_int_equal(engine_state.how.preference, 2);
	assert_int_equal(engine_state.how.deadline_ns, 33);
	engine_state.status = NN_GENERAL_FAILURE;
	keeper_says(ends[1], CACHE_YES);
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_string_equal(kernel.messages[0], "it fails");
	engine_state.status = NN_OK;

	/* A model whose data part is lost cannot be saved, and is not loaded. */
	saved.saves = 0;
	loaded = models_get(&server.models, 2, NULL);
	atomic_store(&loaded->pools[0]->broken, true);
	head.kind = NNACCEL_DO_CACHE_SAVE;
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "is gone"));
	assert_int_equal(saved.saves, 0);
	atomic_store(&loaded->pools[0]->broken, false);
	models_put(&server.models, loaded, NULL);
	head.kind = NNACCEL_DO_PREPARE_CACHED;
	engine_state.cuts = true;
	keeper_says(ends[1], CACHE_YES);
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "is gone"));
	engine_state.cuts = false;

	/* If the engine saves nothing, the client's memory for parts is not used. */
	while (recv(ends[1], &request, sizeof(request), MSG_DONTWAIT) > 0)
		;
	saved.is_none = true;
	head.kind = NNACCEL_DO_CACHE_SAVE;
	head.model = 1;
	head.max_payload = 2 * sizeof(uint64_t);
	keeper_says(ends[1], CACHE_YES);
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(sizes[0] + sizes[1], 0);
	assert_int_equal(recv(ends[1], &request, sizeof(request), MSG_DONTWAIT), -1);

	/* The client requests fewer parts than the engine saves. */
	head.num_outputs = 0;
	head.num_grants = 1;
	assert_int_equal(ask(&head, grants, parts, NULL), NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_string_equal(kernel.messages[0], "1 model and 0 data cache files, the device has 1 "
			    "and 1");
	head.num_inputs = 0;
	head.num_outputs = 1;
	parts[1].pool = 0;
	assert_int_equal(ask(&head, grants, parts + 1, NULL), NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_string_equal(kernel.messages[0], "0 model and 1 data cache files, the device has 1 "
			    "and 1");
	close(ends[0]);
	close(ends[1]);
}

/* ---- entries of several files ---- */

static void hash_several(uint32_t num_model, uint32_t num_data, uint8_t hash[DIGEST_SIZE])
{
	const uint64_t size = num_model ? sizeof(MODEL_PART) : sizeof(DATA_PART);
	const uint32_t count = num_model ? num_model : num_data;
	struct evp_md_ctx_st *context = digest_begin();

	for (uint32_t i = 0; i < count && count > 1; i++)
		digest_add(context, &size, sizeof(size));
	for (uint32_t i = 0; i < count; i++)
		digest_add(context, num_model ? model_parts[i] : data_parts[i], size);
	assert_true(digest_end(context, hash));
}

/*
 * The device's description has the engine's numbers of cache files, and clients get one part for
 * each file. If a saved model has no model part, the hash of the data part identifies the entry.
 */
static void test_several_files(void **state)
{
	static const struct { uint32_t model, data; } cases[] = {
		{ 0, 1 }, { 0, 2 }, { 1, 0 }, { 2, 1 }, { 2, 2 }, { 32, 32 },
	};
	enum { MOST = 2 * NNACCEL_MAX_CACHE_PARTS, STEP = 32 };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	server.cache.socket = ends[0];
	begin_saving();
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint32_t count = cases[i].model + cases[i].data;
		const struct nn_device_info *info = (const void *)kernel.payloads[0];
		struct nnaccel_cmd head = {
			.kind = NNACCEL_DO_CACHE_SAVE, .model = 1, .num_grants = count,
			.num_inputs = cases[i].model, .num_outputs = cases[i].data,
			.max_payload = count * (uint32_t)sizeof(uint64_t), .token = TOKEN,
		};
		const struct nnaccel_cmd query = {
			.kind = NNACCEL_DO_QUERY, .max_payload = sizeof(*info),
		};
		struct nnaccel_grant grants[MOST];
		struct nnaccel_arg parts[MOST];
		struct message request;
		uint8_t hash[DIGEST_SIZE];

		use_parts(cases[i].model, cases[i].data);
		assert_int_equal(ask(&query, NULL, NULL, NULL), NNACCEL_STATUS_NONE);
		assert_int_equal(info->model_cache_files, cases[i].model);
		assert_int_equal(info->data_cache_files, cases[i].data);
		for (uint32_t k = 0; k < count; k++) {
			grants[k] = (struct nnaccel_grant){ MEMORY, RW, PAGE };
			parts[k] = (struct nnaccel_arg){ .pool = k, .offset = k * STEP, .length = STEP };
		}
		memset(memory[MEMORY], 0, PAGE);
		keeper_says(ends[1], CACHE_YES);
		if (ask(&head, grants, parts, NULL))
			fail_msg("%zu: %s", i, kernel.messages[0]);
		hash_several(cases[i].model, cases[i].data, hash);
		request = take_request(ends[1], CACHE_STORE);
		assert_memory_equal(request.hash, hash, sizeof(hash));
		for (uint32_t k = 0; k < count; k++)
			assert_string_equal(memory[MEMORY] + k * STEP,
					    k < cases[i].model ? model_parts[k] :
								 data_parts[k - cases[i].model]);

		/* Loading passes all parts and the lengths of the parts to the engine. */
		for (uint32_t k = 0; k < count; k++)
			parts[k].length = k < cases[i].model ? sizeof(MODEL_PART) : sizeof(DATA_PART);
		head.kind = NNACCEL_DO_PREPARE_CACHED;
		head.model = 100 + i;
		head.max_payload = sizeof(struct nnaccel_model_memory);
		keeper_says(ends[1], CACHE_YES);
		if (ask(&head, grants, parts, NULL))
			fail_msg("%zu: %s", i, kernel.messages[0]);
		request = take_request(ends[1], CACHE_QUERY);
		assert_memory_equal(request.hash, hash, sizeof(hash));
		assert_int_equal(saved.loaded_model, cases[i].model);
		assert_int_equal(saved.loaded_data, cases[i].data);
	}
	use_parts(0, 0);
	close(ends[0]);
	close(ends[1]);
}

/* ---- cached models ---- */

/*
 * Queues the keeper's answer to a later request of the server: `number` is 1 for the next request.
 * Sends `file` with the answer unless `file` is -1.
 */
static void keeper_answers(int keeper, uint32_t number, struct message answer, int file)
{
	answer.serial = server.cache.serial + number;
	assert_true(message_send(keeper, &answer, file));
	if (file >= 0)
		close(file);
}

/* The model part of a cached plan begins with the sizes of the engine's parts. */
struct head {
	uint64_t model[NNA_ENGINE_MAX_CACHE_FILES], data[NNA_ENGINE_MAX_CACHE_FILES];
};

#define HEAD sizeof(struct head)
#define M sizeof(MODEL_PART)

static int start_keeping(void)
{
	const struct timeval patience = { .tv_sec = 10 };
	static int ends[2];

	begin_saving();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	/* If the keeper does not answer a request of the server, a timeout makes the test fail. */
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	server.cache.socket = ends[0];
	return ends[1];
}

static void stop_keeping(int keeper)
{
	close(server.cache.socket);
	close(keeper);
}

/*
 * Prepares a model that adds a constant of 2 numbers, and requests that the server caches the
 * model.
 */
static uint32_t prepare_cached(uint32_t preference, float constant)
{
	const struct nnaccel_grant grants[] = { wire_grant, { OTHER, NNACCEL_PROT_READ, PAGE },
						{ OTHER, NNACCEL_PROT_READ, PAGE } };
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_PREPARE, .model = 1, .num_grants = 3, .preference = preference,
		.deadline_ns = 44, .flags = NNACCEL_PREPARE_CACHE,
		.wire_length = write_pools(grants + 1, 0),
		.max_payload = sizeof(struct nnaccel_model_memory),
	};

	((float *)memory[OTHER])[1] = constant;
	return ask(&head, grants, NULL, NULL);
}

/*
 * The server prepares, saves and caches a new model. The model's token in the cache depends on all
 * properties of the model.
 */
static void test_cached(void **state)
{
	static const struct {
		uint32_t preference;
		float constant;
		bool is_new;		/* true: the token differs from the first token */
		uint32_t files;		/* number of model files and of data files of the engine */
	} cases[] = {
		{ 0, 1, false, 1 }, { 1, 1, true, 1 }, { 0, 2, true, 3 }, { 0, 1, false, 1 },
	};
	const struct message yes = { .kind = CACHE_YES }, no = { .kind = CACHE_NO };
	char bytes[3 * sizeof(DATA_PART) + HEAD + 3 * M];
	uint8_t first[CACHE_TOKEN_SIZE];
	struct message request, next;
	static const enum message_kind then[] = {
		CACHE_GET, CACHE_DROP, CACHE_NEW, CACHE_DONE, CACHE_DROP,
	};
	int keeper = start_keeping(), file, released;
	static int better, last;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const size_t data_size = cases[i].files * sizeof(DATA_PART);
		const size_t model_size = cases[i].files * M;
		struct head sizes = { .data = { 0 } };

		use_parts(cases[i].files, cases[i].files);
		for (uint32_t k = 0; k < cases[i].files; k++) {
			sizes.model[k] = M;
			sizes.data[k] = sizeof(DATA_PART);
		}
		file = memfd_create("cached", MFD_CLOEXEC);
		assert_int_equal(ftruncate(file, sizeof(bytes)), 0);
		keeper_answers(keeper, 1, no, -1);
		keeper_answers(keeper, 2, yes, dup(file));
		keeper_answers(keeper, 3, yes, -1);
		assert_int_equal(prepare_cached(cases[i].preference, cases[i].constant),
				 NNACCEL_STATUS_NONE);
		assert_int_equal(engine_state.prepared, i + 1);
		request = take_request(keeper, CACHE_GET);
		if (!i)
			memcpy(first, request.token, sizeof(first));
		assert_int_equal(memcmp(first, request.token, sizeof(first)) != 0, cases[i].is_new);
		next = take_request(keeper, CACHE_NEW);
		assert_memory_equal(next.token, request.token, sizeof(next.token));
		assert_int_equal(next.model_size, HEAD + model_size);
		assert_int_equal(next.data_size, data_size);
		next = take_request(keeper, CACHE_DONE);
		assert_memory_equal(next.token, request.token, sizeof(next.token));
		assert_int_equal(next.model_size + next.data_size, 0);
		assert_int_equal(pread(file, bytes, sizeof(bytes), 0), sizeof(bytes));
		assert_memory_equal(bytes, data_parts, data_size);
		assert_memory_equal(bytes + data_size, &sizes, HEAD);
		assert_memory_equal(bytes + data_size + HEAD, model_parts, model_size);
		close(file);
		assert_int_equal(saved.ends, i + 1);
	}
	/*
	 * If the engine replaces a model by a better version, the server also replaces the cached
	 * plan of the model.
	 */
	file = memfd_create("cached", MFD_CLOEXEC);
	assert_int_equal(ftruncate(file, sizeof(bytes)), 0);
	keeper_answers(keeper, 1, yes, -1);
	keeper_answers(keeper, 2, yes, file);
	keeper_answers(keeper, 3, yes, -1);
	engine_state.prepared++;
	released = engine_state.released;
	assert_true(nna_engine_replace(atomic_load(&server.models.list->form)->prepared, &better));
	assert_int_equal(engine_state.released, released + 1);
	assert_ptr_equal(saved.prepared, &better);
	next = take_request(keeper, CACHE_DROP);
	assert_memory_equal(next.token, first, sizeof(first));
	next = take_request(keeper, CACHE_NEW);
	assert_memory_equal(next.token, first, sizeof(first));
	take_request(keeper, CACHE_DONE);
	/*
	 * The server prepares a model even if the engine does not save the model or the keeper
	 * rejects the saved plan.
	 */
	for (int wants = 0; wants < 2; wants++) {
		saved.is_none = !wants;
		keeper_answers(keeper, 1, no, -1);
		keeper_answers(keeper, 2, no, -1);
		assert_int_equal(prepare_cached(0, 1), NNACCEL_STATUS_NONE);
		take_request(keeper, CACHE_GET);
		if (wants)
			take_request(keeper, CACHE_NEW);
		assert_int_equal(recv(keeper, bytes, 1, MSG_DONTWAIT), -1);
	}
	/*
	 * If the engine replaces a model while the model's plan is saved, the plan is not cached.
	 */
	saved.better = &last;
	file = memfd_create("cached", MFD_CLOEXEC);
	assert_int_equal(ftruncate(file, sizeof(bytes)), 0);
	for (uint32_t number = 1; number <= 5; number++)
		keeper_answers(keeper, number, number == 1 ? no : yes, number == 3 ? file : -1);
	assert_int_equal(prepare_cached(0, 1), NNACCEL_STATUS_NONE);
	for (size_t i = 0; i < sizeof(then) / sizeof(then[0]); i++)
		take_request(keeper, then[i]);
	assert_int_equal(recv(keeper, bytes, 1, MSG_DONTWAIT), -1);
	stop_keeping(keeper);
}

/* Plans with which the keeper answers a request; only the first three plans are valid. */
static const struct {
	const char *name;
	uint32_t files;			/* number of model files and of data files of the engine */
	uint64_t model_size, data_size;
	struct head head;		/* beginning of the plan's file */
	const char *model;		/* first model part, which follows `head` in the file */
	bool is_taken, is_dropped;
} cached[] = {
	{ "sound", 1, HEAD + M, PAGE, { { M }, { PAGE } }, MODEL_PART, true, false },
	{ "two of each", 2, HEAD + 2 * M, 2 * PAGE, { { M, M }, { PAGE, PAGE } }, MODEL_PART, true,
	  false },
	{ "one is empty", 2, HEAD + 2 * M, PAGE, { { M, M }, { PAGE } }, MODEL_PART, true, false },
	{ "damaged", 1, HEAD + M, PAGE, { { M }, { PAGE } }, "Of the model", false, true },
	{ "less than a head", 1, HEAD - 1, PAGE, { { M }, { PAGE } }, MODEL_PART, false, true },
	{ "a longer model part", 1, HEAD + M, PAGE, { { M + 1 }, { PAGE } }, MODEL_PART, false, true },
	{ "a shorter one", 1, HEAD + M, PAGE, { { M - 1 }, { PAGE } }, MODEL_PART, false, true },
	{ "a longer data part", 1, HEAD + M, PAGE, { { M }, { 2 * PAGE } }, MODEL_PART, false, true },
	{ "a shorter one", 1, HEAD + M, 2 * PAGE, { { M }, { PAGE } }, MODEL_PART, false, true },
	{ "more model parts", 1, HEAD + 2 * M, PAGE, { { M, M }, { PAGE } }, MODEL_PART, false, true },
	{ "more data parts", 1, HEAD + M, 2 * PAGE, { { M }, { PAGE, PAGE } }, MODEL_PART, false,
	  true },
	{ "without a model", 1, 0, PAGE, { { M }, { PAGE } }, MODEL_PART, false, false },
	{ "too large", 1, BLOB_MAX_MODEL + 1, PAGE, { { M }, { PAGE } }, MODEL_PART, false, false },
	{ "not whole pages", 1, HEAD + M, PAGE - 1, { { M }, { PAGE } }, MODEL_PART, false, false },
	{ "larger than memory", 1, HEAD + M, INT64_MAX / PAGE * PAGE, { { M }, { PAGE } },
	  MODEL_PART, false, false },
};

/* Makes the file of a plan, and computes the hash of the plan's model part. */
static int plan_file(size_t i, uint8_t hash[DIGEST_SIZE])
{
	int file = memfd_create("plan", MFD_CLOEXEC);
	char part[HEAD + 2 * M + 1] = "";
	const bool fits = cached[i].model_size <= sizeof(part) && cached[i].data_size <= 2 * PAGE;
	const off_t model_at = fits ? (off_t)cached[i].data_size : PAGE;

	memcpy(part, &cached[i].head, HEAD);
	memcpy(part + HEAD, MODEL_PART, M);
	memcpy(part + HEAD + M, model_parts[1], M);
	assert_true(digest(part, fits ? cached[i].model_size : HEAD + M, hash));
	memcpy(part + HEAD, cached[i].model, M);
	for (int page = 0; page < 2; page++)
		assert_int_equal(pwrite(file, data_parts[page], sizeof(DATA_PART), page * PAGE),
				 sizeof(DATA_PART));
	assert_int_equal(pwrite(file, part, sizeof(part), model_at), sizeof(part));
	return file;
}

static void test_kept_before(void **state)
{
	const struct message no = { .kind = CACHE_NO };
	int keeper = start_keeping();

	(void)state;
	for (size_t i = 0; i < sizeof(cached) / sizeof(cached[0]); i++) {
		struct message answer = {
			.kind = CACHE_YES, .model_size = cached[i].model_size,
			.data_size = cached[i].data_size,
		};
		uint32_t number = 1;
		int file;

		memset(&saved, 0, sizeof(saved));
		use_parts(cached[i].files, cached[i].files);
		file = plan_file(i, answer.hash);
		keeper_answers(keeper, number++, answer, file);
		if (cached[i].is_dropped)
			keeper_answers(keeper, number++, no, -1);
		if (!cached[i].is_taken)
			keeper_answers(keeper, number++, no, -1);
		if (prepare_cached(2, 1))
			fail_msg("%s: %s", cached[i].name, kernel.messages[0]);
		take_request(keeper, CACHE_GET);
		if (cached[i].is_dropped)
			take_request(keeper, CACHE_DROP);
		if (!cached[i].is_taken)
			take_request(keeper, CACHE_NEW);
		if (saved.saves == cached[i].is_taken)
			fail_msg("%s: %staken", cached[i].name, saved.saves ? "not " : "");
		assert_int_equal(engine_state.how.preference, 2);
		assert_int_equal(engine_state.how.deadline_ns, 44);
		assert_int_equal(saved.model_size, cached[i].is_taken ? M : 0);
		if (cached[i].is_taken) {
			assert_int_equal(saved.loaded_model, cached[i].files);
			assert_int_equal(saved.loaded_data, cached[i].data_size / PAGE);
			assert_int_equal(saved.data_size, PAGE);
		}
	}
	use_parts(0, 0);
	stop_keeping(keeper);
}

/* ---- commands ---- */

/*
 * The ioctl() that answers an execution also fetches the next command, but an ioctl() that answers
 * another kind of command does not.
 */
static void test_commit_and_fetch(void **state)
{
	struct nnaccel_cmd head = execution;

	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	for (head.cookie = 1; head.cookie < 4; head.cookie++)
		add(&head, &memory_grant, three_args, NULL, NULL);
	run();
	assert_int_equal(kernel.num_commits, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(kernel.commits[i].cookie, i + 1);
		assert_true(kernel.commits[i].buffer);
	}
	/* The last ioctl() that fetches a command reports the end of the session. */
	assert_int_equal(kernel.fetches, 2);
	/* The ioctl() that answers a query fetches no command. */
	head = (struct nnaccel_cmd){ .kind = NNACCEL_DO_QUERY, .query = NNACCEL_QUERY_DEVICE };
	assert_int_equal(ask(&head, NULL, NULL, NULL), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.commits[0].buffer, 0);
}

/*
 * If a command is larger than the buffer or a fetch is interrupted, the server fetches the command
 * again.
 */
static void test_large_command(void **state)
{
	struct nnaccel_grant grants[NNACCEL_MAX_CMD_POOLS];
	struct nnaccel_cmd head = execution;

	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	for (uint32_t i = 0; i < NNACCEL_MAX_CMD_POOLS; i++)
		grants[i] = memory_grant;
	head.num_grants = 256 < NNACCEL_MAX_CMD_POOLS ? 256 : NNACCEL_MAX_CMD_POOLS;
	head.attributes_size = 0;
	kernel.interrupts = true;
	assert_int_equal(ask(&head, grants, three_args, NULL), NNACCEL_STATUS_NONE);
	/* The ioctl() that answers the first execution fetches the large command. */
	head.cookie = 5;
	add(&execution, &memory_grant, three_args, NULL, NULL);
	add(&head, grants, three_args, NULL, NULL);
	run();
	assert_int_equal(kernel.num_commits, 1);
	assert_int_equal(kernel.commits[0].cookie, 5);
}

/* The server answers a malformed command if the server can read the command's cookie. */
static void test_malformed(void **state)
{
	const struct nnaccel_cmd head = { .kind = 99, .cookie = 4 };

	(void)state;
	add(&head, NULL, NULL, NULL, NULL);
	add(&head, NULL, NULL, NULL, NULL);
	kernel.commands[0].size = sizeof(head) - 1;
	run();
	assert_int_equal(kernel.num_commits, 1);
	assert_int_equal(kernel.commits[0].cookie, 4);
	assert_int_equal(kernel.commits[0].status, NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(kernel.messages[0], "malformed command"));
}

/*
 * If the kernel refuses an answer, the server ends the session and fetches no further commands.
 */
static void test_commit_fails(void **state)
{
	const struct nnaccel_cmd head = {
		.kind = NNACCEL_DO_QUERY, .query = NNACCEL_QUERY_DEVICE, .cookie = 1,
	};

	(void)state;
	add(&head, NULL, NULL, NULL, NULL);
	add(&head, NULL, NULL, NULL, NULL);
	kernel.error = ENOENT;
	run();
	assert_int_equal(kernel.num_commits, 0);
	assert_int_equal(kernel.fetches, 1);
}

/* An execution fails if the client has lost the memory of the execution's output. */
static void test_revoked(void **state)
{
	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	shared.revoked = true;
	assert_int_equal(ask(&execution, &memory_grant, three_args, NULL),
			 NNACCEL_STATUS_GENERAL_FAILURE);
	assert_int_equal(kernel.commits[0].payload_size, 0);
	assert_non_null(strstr(kernel.messages[0], "took too long"));
	engine_state.status = NN_INVALID_ARGUMENT;
	assert_int_equal(ask(&execution, &memory_grant, three_args, NULL),
			 NNACCEL_STATUS_INVALID_ARGUMENT);
}

/*
 * Another thread answers an execution in progress once the execution's deadline has come, and takes
 * away the client's memory, so that the late answer reports no results.
 */
static void test_late(void **state)
{
	struct nnaccel_cmd head = execution;

	(void)state;
	assert_int_equal(prepare_add(1, MB_DIMS(2)), NNACCEL_STATUS_NONE);
	head.cookie = 6;
	head.deadline_ns = engine_state.late_ns = clock_ns() + 3600 * NS_PER_S;
	add(&head, &memory_grant, three_args, NULL, NULL);
	run();
	assert_int_equal(kernel.num_commits, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(kernel.commits[i].cookie, 6);
	assert_int_equal(kernel.commits[0].status, NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT);
	assert_string_equal(kernel.messages[0], "the engine did not answer in time");
	assert_true(kernel.commits[0].device_ns == NNACCEL_TIME_NONE);
	assert_int_equal(kernel.commits[1].status, NNACCEL_STATUS_GENERAL_FAILURE);
	assert_int_equal(kernel.commits[1].payload_size, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(queries),
		TEST(supported),
		TEST(prepare),
		TEST(execute),
		cmocka_unit_test(test_threads),
		TEST(times), TEST(attributes),
		TEST(memory_goes),
		TEST(constants_go),
		TEST(forget_model),
		TEST(images),
		TEST(fences),
		TEST(replaced),
		TEST(roles),
		TEST(own_layout),
		TEST(forgotten_in_use),
		TEST(held),
		TEST(sizes),
		TEST(saved), TEST(several_files),
		TEST(cached),
		TEST(kept_before),
		TEST(commit_and_fetch),
		TEST(large_command),
		TEST(malformed),
		TEST(commit_fails),
		TEST(revoked), TEST(late),
	};

	/* Memory from malloc() has other values than 0. */
	mallopt(M_PERTURB, 0x5a);
	return digest_init() ? cmocka_run_group_tests_name("engine serve", tests, NULL, NULL) : 1;
}
