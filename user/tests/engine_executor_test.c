/* SPDX-License-Identifier: MIT */
/*
 * Tests how the library's executor and an engine's executor execute the requests of a burst. The
 * test replaces ioctl(), by which an executor asks the kernel for the memory of a slot. A memfd
 * simulates the session; grant N lies at offset N << SHIFT of the memfd.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kit/burst/executor.h"
#include "tests/heap_blocks.h"

#define PAGE 4096
#define BURST 3
#define CAPACITY 16
#define LARGE (1 << 20)	/* capacity so large that calloc() maps each array */
#define RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)
#define MAX_SYNCS 16

/* Slot numbers of the test; the memory of slot N is grant N. */
enum { FIRST, SECOND, READ_ONLY, FOREIGN, OTHER_FOREIGN, IMAGE, LATE = 40, NUM_SLOTS };

/* Number of another slot, which has the same index in the table of slots as the slot `slot`. */
#define AGAIN(slot) ((slot) + NNACCEL_BURST_MAX_SLOTS)

/* ---- the kernel ---- */

static struct {
	unsigned int resolved;
	struct { uint32_t grant, flags; } syncs[MAX_SYNCS];
	unsigned int num_syncs, fails_at;	/* fails_at: N: the N-th sync fails */
} kernel;

static int refuse(int error)
{
	errno = error;
	return -1;
}

static int resolve(struct nnaccel_session_slot *s)
{
	const uint32_t index = NNACCEL_SLOT_INDEX(s->slot);
	uint32_t prot = RW;

	assert_int_equal(s->size, sizeof(*s));
	assert_int_equal(s->burst, BURST);
	kernel.resolved++;
	if (index >= NUM_SLOTS)
		return refuse(ENOENT);
	if (index == READ_ONLY)
		prot = NNACCEL_PROT_READ;
	else if (index == FOREIGN || index == OTHER_FOREIGN)
		prot |= NNACCEL_PROT_SYNC;
	else if (index == IMAGE)
		prot |= NNACCEL_PROT_FORMATTED;
	s->out_grant.grant = index + (s->slot != index ? NUM_SLOTS : 0);
	s->out_grant.prot = prot;
	s->out_grant.length = PAGE;
	/*
	 * The test's image has two rows of two numbers each. The image's first row begins at the
	 * third number in the memory, and the second row at the seventh number.
	 */
	if (index == IMAGE) {
		s->out_format.num_planes = 1;
		s->out_format.planes[0] = (struct nnaccel_format_plane){
			.grant.grant = s->out_grant.grant,
			.offset = 8, .stride = 16, .row_bytes = 8, .rows = 2,
		};
	}
	return 0;
}

static int sync_memory(const struct nnaccel_session_sync *s)
{
	assert_true(kernel.num_syncs < MAX_SYNCS);
	kernel.syncs[kernel.num_syncs].grant = s->grant;
	kernel.syncs[kernel.num_syncs].flags = s->flags;
	return ++kernel.num_syncs == kernel.fails_at ? refuse(EIO) : 0;
}

int ioctl(int file, unsigned long request, ...)
{
	va_list args;
	void *arg;

	(void)file;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case NNACCEL_SESSION_SLOT: return resolve(arg);
	case NNACCEL_SESSION_SYNC: return sync_memory(arg);
	}
	return refuse(ENOTTY);
}

/* ---- the engine: it doubles ---- */

static struct executor *executor;

static struct {
	enum nn_status status;
	bool is_silent, is_short;
	int forgets;			/* slot that the client frees during an execution, or -1 */
	bool breaks;			/* set if an execution loses the mapping grants.mappings */
	unsigned int executions;
	bool is_omitted;
	uint64_t device_ns;		/* time on the device that the engine reports */
	bool measure;			/* value of `measure` in the last execution */
	void *better;			/* prepared model that executions must use, or NULL */
	void *released;			/* prepared model that the engine released last */
} engine_state;

static struct grants grants;

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution, struct nn_execution *e,
			      struct nn_error *err)
{
	const float *from = e->inputs[0].data;
	float *to = e->outputs[0].data;

	(void)engine;
	(void)execution;
	assert_ptr_equal(prepared, engine_state.better ? engine_state.better : &engine_state);
	engine_state.executions++;
	engine_state.is_omitted = e->inputs[0].omitted;
	engine_state.measure = e->measure;
	e->device_ns = engine_state.device_ns;
	if (engine_state.forgets >= 0)
		executor_forget(executor, (uint32_t)engine_state.forgets);
	if (engine_state.breaks)
		atomic_store(&grants.mappings->broken, true);
	for (size_t i = 0; i < e->outputs[0].length / sizeof(float); i++)
		to[i] = e->inputs[0].omitted ? 0 : 2 * from[i];
	e->shapes_known = !engine_state.is_silent;
	e->shapes[0] = (struct nn_output_shape){ 1, { 2 }, !engine_state.is_short };
	return engine_state.status ? nn_fail(err, engine_state.status, "it fails") : NN_OK;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	engine_state.released = prepared;
}

static struct {
	bool creates_none, adds_none, forgets_all, begins_none;
	unsigned int begun, ended;
	unsigned int added, removed, destroyed;
	struct nna_engine_slot last;
	uint32_t slots[2];		/* slots of the last execution */
} burst_state;

static enum nn_status burst_begin(const struct nna_engine *engine, void *prepared,
				  struct nn_error *err)
{
	(void)engine;
	assert_ptr_equal(prepared, &engine_state);
	if (burst_state.begins_none)
		return nn_fail(err, NN_MISSED_DEADLINE_PERSISTENT, "no bursts today");
	burst_state.begun++;
	return NN_OK;
}

static void burst_end(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	assert_ptr_equal(prepared, &engine_state);
	burst_state.ended++;
}

static enum nn_status burst_create(const struct nna_engine *engine, void *prepared, void **own,
				   struct nn_error *err)
{
	(void)engine;
	*own = prepared;
	return burst_state.creates_none ? nn_fail(err, NN_DEVICE_UNAVAILABLE, "none") : NN_OK;
}

static void burst_destroy(void *own)
{
	(void)own;
	assert_int_equal(burst_state.added, burst_state.removed);
	/* The engine must destroy the executor of a burst before the burst ends. */
	assert_true(!burst_state.begun || burst_state.ended < burst_state.begun);
	burst_state.destroyed++;
}

static enum nn_status burst_add(void *own, const struct nna_engine_slot *slot, struct nn_error *err)
{
	(void)own;
	if (burst_state.adds_none)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no room");
	burst_state.last = *slot;
	burst_state.added++;
	return NN_OK;
}

static bool burst_is_cached(void *own, uint32_t slot)
{
	(void)own;
	(void)slot;
	return !burst_state.forgets_all;
}

static void burst_remove(void *own, uint32_t slot)
{
	(void)own;
	(void)slot;
	burst_state.removed++;
}

static enum nn_status burst_execute(void *own, const uint32_t *slots,
				    struct nna_engine_execution *execution, struct nn_execution *e,
				    struct nn_error *err)
{
	memcpy(burst_state.slots, slots, sizeof(burst_state.slots));
	return execute(NULL, own, execution, e, err);
}

static const struct nna_engine_burst engine_burst = {
	.size = sizeof(engine_burst), .create = burst_create, .destroy = burst_destroy,
	.add = burst_add, .is_cached = burst_is_cached, .remove = burst_remove,
	.execute = burst_execute,
};

/* ---- a burst ---- */

static struct nna_engine engine;
static struct models models;
static struct loaded_model *loaded;
static struct scratch *scratch;
static uint32_t devices;
static int session;
static float *memory[2 * NUM_SLOTS];	/* of grants */
static long blocks;

static int set_up(void **state)
{
	(void)state;
	blocks = heap_blocks;
	memset(&kernel, 0, sizeof(kernel));
	memset(&engine_state, 0, sizeof(engine_state));
	memset(&burst_state, 0, sizeof(burst_state));
	engine_state.forgets = -1;
	engine = (struct nna_engine){
		.size = sizeof(engine), .execute = execute, .release = release,
	};
	devices = 0;
	session = memfd_create("session", MFD_CLOEXEC);
	if (ftruncate(session, (off_t)2 * NUM_SLOTS << NNACCEL_GRANT_SHIFT))
		return -1;
	for (int i = 0; i < 2 * NUM_SLOTS; i++)
		memory[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, session,
				 (off_t)i << NNACCEL_GRANT_SHIFT);
	loaded = calloc(1, sizeof(*loaded));
	scratch = scratch_create(CAPACITY);
	if (!loaded || !scratch || !grants_init(&grants, &engine, session) ||
	    !models_init(&models, &engine, &grants, NULL))
		return -1;
	loaded->first.prepared = &engine_state;
	return models_add(&models, loaded, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	if (executor)
		executor_free(executor);
	executor = NULL;
	scratch_free(scratch);
	models_free(&models);
	for (struct mapping *m = grants.mappings; m; m = m->next)
		if (m->users)
			return -1;
	grants_free(&grants);
	for (int i = 0; i < 2 * NUM_SLOTS; i++)
		munmap(memory[i], PAGE);
	close(session);
	return heap_blocks == blocks ? 0 : -1;
}

static void begin(void)
{
	struct nn_error err = { "" };

	assert_int_equal(executor_create(&models, loaded, BURST, &executor, &err), NN_OK);
	executor->devices = &devices;
}

/* Makes a request that doubles two numbers from slot `from`, and writes them to slot `to`. */
static void request(uint32_t from, uint32_t to)
{
	struct nn_request *r = &scratch->request;

	r->num_inputs = 1;
	r->num_outputs = 1;
	r->num_slots = 2;
	r->measure = false;
	r->slots[0] = from;
	r->slots[1] = to;
	r->args[0] = (struct nnaccel_arg){ .pool = 0, .length = 8 };
	r->args[1] = (struct nnaccel_arg){ .pool = 1, .offset = 8, .length = 8 };
}

static uint32_t run(void)
{
	executor_run(executor, scratch);
	return scratch->result.status;
}

static uint32_t run_slots(uint32_t from, uint32_t to)
{
	request(from, to);
	return run();
}

/* Memory of a slot stays mapped once a request has used the slot. */
static void test_memory(void **state)
{
	(void)state;
	assert_int_equal(scratch->capacity, CAPACITY);
	assert_int_equal(scratch->request.max_args, CAPACITY);
	assert_int_equal(scratch->request.max_slots, CAPACITY);
	begin();
	for (unsigned int i = 1; i < 4; i++) {
		memory[FIRST][0] = (float)i;
		memory[FIRST][1] = 7;
		assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
		assert_true(memory[SECOND][2] == 2 * (float)i && memory[SECOND][3] == 14);
		assert_int_equal(kernel.resolved, 2);
		assert_int_equal(executor->misses, kernel.resolved);
		assert_int_equal(scratch->result.num_outputs, 1);
		assert_int_equal(scratch->result.shapes[0].flags, NNACCEL_SHAPE_SUFFICIENT);
		assert_int_equal(scratch->result.shapes[0].rank, 1);
		assert_int_equal(scratch->result.shapes[0].dims[0], 2);
		assert_null(scratch->result.message);
	}
	executor_free(executor);
	executor = NULL;
}

/*
 * An execution computes the right result, and reports the time that the execution took if the
 * request asks for the time.
 */
static void test_results(void **state)
{
	(void)state;
	begin();
	request(FIRST, SECOND);
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_true(scratch->result.device_ns == NNACCEL_TIME_NONE);
	assert_true(scratch->result.driver_ns == NNACCEL_TIME_NONE);
	assert_false(engine_state.measure);
	assert_true(scratch->device_ns == 0);
	engine_state.device_ns = 8;
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_true(scratch->result.device_ns == NNACCEL_TIME_NONE);
	assert_true(scratch->device_ns == 8);
	scratch->request.measure = true;
	engine_state.device_ns = UINT64_C(5) << 40;
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_true(engine_state.measure);
	assert_true(scratch->result.device_ns == engine_state.device_ns);
	engine_state.device_ns = 0;
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_true(scratch->device_ns == scratch->result.device_ns);
	assert_true(scratch->result.device_ns <= scratch->result.driver_ns);
	assert_true(scratch->result.driver_ns < 3600 * NS_PER_S);
	engine_state.is_short = true;
	engine_state.status = NN_OUTPUT_INSUFFICIENT_SIZE;
	assert_int_equal(run(), NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE);
	assert_string_equal(scratch->result.message, "it fails");
	assert_int_equal(scratch->result.num_outputs, 1);
	assert_int_equal(scratch->result.shapes[0].flags, 0);
	engine_state.is_silent = true;
	engine_state.status = NN_OUT_OF_MEMORY;
	assert_int_equal(run(), NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_int_equal(scratch->result.num_outputs, 0);
	engine_state.status = NN_OK;
	scratch->request.args[0] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_NO_VALUE };
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_true(engine_state.is_omitted);
	assert_null(scratch->result.message);
	/*
	 * If memory is lost, the answer reports the loss even if the execution fails for another
	 * reason, too.
	 */
	engine_state.breaks = true;
	engine_state.is_silent = false;
	engine_state.status = NN_INVALID_ARGUMENT;
	assert_int_equal(run(), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_non_null(strstr(scratch->result.message, "is gone"));
	assert_int_equal(scratch->result.num_outputs, 0);
}

/*
 * Arguments of executions: some lie inside of a slot's memory, others reach beyond its end. The
 * executor rejects requests with arguments that lie outside of the slots' memory.
 */
static const struct {
	const char *name;
	uint32_t from, to;
	uint64_t offset, length;	/* part of the slot's memory */
	uint64_t out_offset, out_length;
	uint32_t status;
} arguments[] = {
	{ "all of it", FIRST, SECOND, 0, PAGE, 0, PAGE, NNACCEL_STATUS_NONE },
	{ "the end", FIRST, SECOND, PAGE, 0, PAGE, 0, NNACCEL_STATUS_NONE },
	{ "behind the end", FIRST, SECOND, PAGE + 1, 0, 0, 0, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "too long", FIRST, SECOND, 8, PAGE - 7, 0, 0, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "an output that is too long", FIRST, SECOND, 0, 8, 1, PAGE,
	  NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "wraps", FIRST, SECOND, 8, UINT64_MAX, 0, 8, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "reads what is read-only", READ_ONLY, SECOND, 0, 8, 0, 8, NNACCEL_STATUS_NONE },
	{ "writes what is read-only", FIRST, READ_ONLY, 0, 8, 0, 8,
	  NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "no slot", FIRST, NUM_SLOTS, 0, 8, 0, 8, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "an image", IMAGE, SECOND, 0, 0, 0, 16, NNACCEL_STATUS_NONE },
	{ "a part of an image", IMAGE, SECOND, 0, 8, 0, 16, NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "an image, and too much", IMAGE, SECOND, 0, 0, 1, PAGE,
	  NNACCEL_STATUS_INVALID_ARGUMENT },
	{ "behind its start", IMAGE, SECOND, 8, 0, 0, 16, NNACCEL_STATUS_INVALID_ARGUMENT },
};

static void test_arguments(void **state)
{
	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		engine_state.executions = 0;
		request(arguments[i].from, arguments[i].to);
		scratch->request.args[0].offset = arguments[i].offset;
		scratch->request.args[0].length = arguments[i].length;
		scratch->request.args[1].offset = arguments[i].out_offset;
		scratch->request.args[1].length = arguments[i].out_length;
		if (run() != arguments[i].status ||
		    engine_state.executions != !arguments[i].status)
			fail_msg("%s: %s", arguments[i].name, scratch->err.message);
	}
	executor_free(executor);
	executor = NULL;
}

static void test_images(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 8; i++)
		memory[IMAGE][i] = (float)i;
	request(IMAGE, SECOND);
	scratch->request.args[0].length = 0;
	scratch->request.args[1] = (struct nnaccel_arg){ .pool = 1, .length = 16 };
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_memory_equal(memory[SECOND], ((float[]){ 4, 6, 12, 14 }), 16);
	request(SECOND, IMAGE);
	scratch->request.args[0].length = 16;
	scratch->request.args[1] = (struct nnaccel_arg){ .pool = 1 };
	engine_state.status = NN_GENERAL_FAILURE;
	assert_int_equal(run(), NNACCEL_STATUS_GENERAL_FAILURE);
	assert_memory_equal(memory[IMAGE], ((float[]){ 0, 1, 2, 3, 4, 5, 6, 7 }), 32);
	engine_state.status = NN_OK;
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_memory_equal(memory[IMAGE], ((float[]){ 0, 1, 8, 12, 4, 5, 24, 28 }), 32);
}

/* ---- memory of devices ---- */

#define READ NNACCEL_SYNC_READ
#define WRITE (NNACCEL_SYNC_READ | NNACCEL_SYNC_WRITE)
#define END NNACCEL_SYNC_END

/*
 * The sync calls that the executor must make for memory that devices use, and the status of the
 * execution.
 */
static const struct {
	const char *name;
	uint32_t from, to, devices;
	unsigned int fails_at;
	uint32_t status;
	uint32_t expected[6][2];	/* grant and flags of each sync; flags of 0 end the list */
} accesses[] = {
	{ "none", FIRST, SECOND, 0, 0, 0, { { 0 } } },
	{ "read", FOREIGN, SECOND, 0, 0, 0, { { FOREIGN, READ }, { FOREIGN, READ | END } } },
	{ "written", FIRST, FOREIGN, 0, 0, 0, { { FOREIGN, WRITE }, { FOREIGN, WRITE | END } } },
	{ "both", FOREIGN, OTHER_FOREIGN, 0, 0, 0,
	  { { FOREIGN, READ }, { OTHER_FOREIGN, WRITE }, { FOREIGN, READ | END },
	    { OTHER_FOREIGN, WRITE | END } } },
	{ "all", FIRST, FOREIGN, 1, 0, 0,
	  { { FIRST, READ }, { FOREIGN, WRITE }, { FIRST, READ | END },
	    { FOREIGN, WRITE | END } } },
	{ "the first fails", FOREIGN, OTHER_FOREIGN, 0, 1, NNACCEL_STATUS_GENERAL_FAILURE,
	  { { FOREIGN, READ } } },
	{ "the second fails", FOREIGN, OTHER_FOREIGN, 0, 2, NNACCEL_STATUS_GENERAL_FAILURE,
	  { { FOREIGN, READ }, { OTHER_FOREIGN, WRITE }, { FOREIGN, READ | END } } },
	{ "an end fails", FOREIGN, OTHER_FOREIGN, 0, 3, NNACCEL_STATUS_GENERAL_FAILURE,
	  { { FOREIGN, READ }, { OTHER_FOREIGN, WRITE }, { FOREIGN, READ | END },
	    { OTHER_FOREIGN, WRITE | END } } },
};

static void test_accesses(void **state)
{
	unsigned int count;

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		kernel.num_syncs = 0;
		kernel.fails_at = accesses[i].fails_at;
		devices = accesses[i].devices;
		if (run_slots(accesses[i].from, accesses[i].to) != accesses[i].status)
			fail_msg("%s: %s", accesses[i].name, scratch->err.message);
		for (count = 0; accesses[i].expected[count][1]; count++)
			if (kernel.syncs[count].grant != accesses[i].expected[count][0] ||
			    kernel.syncs[count].flags != accesses[i].expected[count][1])
				fail_msg("%s: sync %u", accesses[i].name, count);
		if (kernel.num_syncs != count)
			fail_msg("%s: %u syncs", accesses[i].name, kernel.num_syncs);
	}
	/*
	 * The executor calls no sync for a slot that no argument uses, or that only an omitted
	 * argument uses.
	 */
	kernel.num_syncs = 0;
	devices = 1;
	request(FOREIGN, OTHER_FOREIGN);
	scratch->request.num_slots = 3;
	scratch->request.slots[2] = FIRST;
	scratch->request.args[0] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_NO_VALUE };
	assert_int_equal(run(), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.num_syncs, 2);
	assert_int_equal(kernel.syncs[0].grant, OTHER_FOREIGN);
}

/* ---- slots that come and go ---- */

static unsigned int users_of(uint32_t grant)
{
	for (struct mapping *m = grants.mappings; m; m = m->next)
		if (m->grant == grant)
			return m->users;
	return 0;
}

/*
 * The memory of a slot that the client frees is released at once or, during an execution that uses
 * the slot, after the execution.
 */
static void test_freed(void **state)
{
	(void)state;
	begin();
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(users_of(FIRST), 1);
	executor_forget(executor, AGAIN(FIRST));
	executor_forget(executor, READ_ONLY);
	executor_forget(executor, LATE);
	assert_int_equal(users_of(FIRST), 1);
	executor_forget(executor, FIRST);
	assert_int_equal(users_of(FIRST), 0);
	assert_int_equal(users_of(SECOND), 1);
	kernel.resolved = 0;
	engine_state.forgets = SECOND;
	memory[FIRST][0] = 4;
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.resolved, 1);
	assert_true(memory[SECOND][2] == 8);
	assert_int_equal(users_of(SECOND), 0);
	engine_state.forgets = -1;
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.resolved, 2);
	/*
	 * A request fails if the kernel does not know the second slot, but the first slot stays
	 * mapped until the client frees the first slot.
	 */
	executor_forget(executor, SECOND);
	assert_int_equal(run_slots(FIRST, NUM_SLOTS), NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_int_equal(users_of(FIRST), 1);
	executor_forget(executor, FIRST);
	assert_int_equal(users_of(FIRST), 0);
}

/*
 * A new slot may reuse the index of another slot in the table of slots, and the table grows if
 * necessary.
 */
static void test_indices(void **state)
{
	(void)state;
	begin();
	assert_int_equal(run_slots(FIRST, LATE), NNACCEL_STATUS_NONE);
	assert_int_equal(run_slots(FIRST, LATE), NNACCEL_STATUS_NONE);
	assert_int_equal(kernel.resolved, 2);
	memory[NUM_SLOTS + FIRST][0] = 5;
	assert_int_equal(run_slots(AGAIN(FIRST), LATE), NNACCEL_STATUS_NONE);
	assert_true(memory[LATE][2] == 10);
	assert_int_equal(users_of(FIRST), 0);
	assert_int_equal(users_of(NUM_SLOTS + FIRST), 1);
	/*
	 * A request with two slots of the same index is refused, because adding the second slot
	 * would free the first slot's memory during the request.
	 */
	assert_int_equal(run_slots(AGAIN(SECOND), SECOND), NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_non_null(strstr(scratch->err.message, "cannot both be used"));
	/* A request may name one slot twice. */
	assert_int_equal(run_slots(SECOND, SECOND), NNACCEL_STATUS_NONE);
}

/*
 * An engine's executor is notified of each slot before the slot's first use, and when the client
 * frees the slot.
 */
static void test_own_executor(void **state)
{
	struct nn_error err = { "" };

	(void)state;
	engine.burst = &engine_burst;
	begin();
	assert_int_equal(run_slots(FIRST, READ_ONLY), NNACCEL_STATUS_INVALID_ARGUMENT);
	assert_int_equal(burst_state.added, 2);
	assert_int_equal(burst_state.last.slot, READ_ONLY);
	assert_false(burst_state.last.is_writable);
	assert_int_equal(burst_state.last.length, PAGE);
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(burst_state.added, 3);
	assert_true(burst_state.last.is_writable);
	memory[SECOND][0] = 31;
	assert_true(*(float *)burst_state.last.base == 31);
	assert_int_equal(burst_state.slots[0], FIRST);
	assert_int_equal(burst_state.slots[1], SECOND);
	executor_forget(executor, READ_ONLY);
	assert_int_equal(burst_state.removed, 1);
	engine_state.forgets = SECOND;
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(burst_state.removed, 2);
	engine_state.forgets = -1;
	/* A slot that the engine's executor refuses does not enter the table of slots. */
	burst_state.adds_none = true;
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_string_equal(scratch->result.message, "no room");
	assert_int_equal(users_of(SECOND), 0);
	burst_state.adds_none = false;
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(burst_state.added, 4);
	/* The library adds slots a second time if the engine's executor no longer has the slots. */
	burst_state.forgets_all = true;
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(burst_state.added, 6);
	burst_state.added -= 2;
	executor_free(executor);
	assert_int_equal(burst_state.destroyed, 1);
	burst_state.creates_none = true;
	assert_int_equal(executor_create(&models, loaded, BURST, &executor, &err),
			 NN_DEVICE_UNAVAILABLE);
	assert_string_equal(err.message, "none");
	assert_null(executor);
	assert_int_equal(burst_state.destroyed, 1);
}

/*
 * If the engine replaces a prepared model by a better model, the next request uses the better
 * model. An executor of the engine continues with the old prepared model, even after the engine has
 * replaced the model.
 */
static void test_replaced(void **state)
{
	static int forms[3];

	(void)state;
	assert_true(nna_engine_replace(&engine_state, &forms[0]));
	engine_state.better = &forms[0];
	begin();
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_true(nna_engine_replace(&forms[0], &forms[1]));
	assert_null(engine_state.released);
	engine_state.better = &forms[1];
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_ptr_equal(engine_state.released, &forms[0]);
	executor_free(executor);
	assert_ptr_equal(engine_state.released, &forms[0]);
	engine.burst = &engine_burst;
	begin();
	assert_true(nna_engine_replace(&forms[1], &forms[2]));
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_ptr_equal(engine_state.released, &forms[0]);
	executor_free(executor);
	executor = NULL;
	assert_ptr_equal(engine_state.released, &forms[1]);
}

/* The engine is notified of each new burst, and can refuse the burst with any status. */
static void test_begin_and_end(void **state)
{
	static int better;
	struct nn_error err = { "" };

	(void)state;
	engine.begin_burst = burst_begin;
	engine.end_burst = burst_end;
	begin();
	assert_int_equal(burst_state.begun, 1);
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	/* The prepared model with which a burst begins executes the burst's requests until the end. */
	assert_true(nna_engine_replace(&engine_state, &better));
	assert_int_equal(run_slots(FIRST, SECOND), NNACCEL_STATUS_NONE);
	assert_int_equal(burst_state.ended, 0);
	executor_free(executor);
	executor = NULL;
	assert_int_equal(burst_state.ended, 1);
	assert_true(nna_engine_replace(&better, &engine_state));
	burst_state.begins_none = true;
	assert_int_equal(executor_create(&models, loaded, BURST, &executor, &err),
			 NN_MISSED_DEADLINE_PERSISTENT);
	assert_string_equal(err.message, "no bursts today");
	assert_null(executor);
	assert_int_equal(burst_state.ended, 1);
	/*
	 * If a burst has begun but creating the executor fails, the engine is notified of the
	 * burst's end.
	 */
	engine.burst = &engine_burst;
	burst_state.begins_none = false;
	burst_state.creates_none = true;
	assert_int_equal(executor_create(&models, loaded, BURST, &executor, &err),
			 NN_DEVICE_UNAVAILABLE);
	assert_int_equal(burst_state.begun, 2);
	assert_int_equal(burst_state.ended, 2);
	burst_state.creates_none = false;
	begin();
	executor_free(executor);
	executor = NULL;
	assert_int_equal(burst_state.destroyed, 1);
	assert_int_equal(burst_state.ended, 3);
}

#if !defined(__SANITIZE_ADDRESS__)
/* If memory runs out, scratch_create() returns NULL and leaves no heap block. */
static void test_no_memory(void **state)
{
	struct rlimit limit, none;
	struct scratch *large;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &limit), 0);
	/* not 0, because RLIMIT_DATA of 0 would not limit memory */
	none = (struct rlimit){ PAGE, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_DATA, &none), 0);
	large = scratch_create(LARGE);
	assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
	assert_null(large);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory),
		TEST(results),
		TEST(arguments),
		TEST(images),
		TEST(accesses),
		TEST(freed),
		TEST(indices),
		TEST(own_executor),
		TEST(begin_and_end),
		TEST(replaced),
#if !defined(__SANITIZE_ADDRESS__)
		TEST(no_memory),
#endif
	};

	return cmocka_run_group_tests_name("engine executor", tests, NULL, NULL);
}
