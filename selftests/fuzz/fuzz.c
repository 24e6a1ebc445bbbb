// SPDX-License-Identifier: MIT
/*
 * Fuzzes ioctls and mmap() of every kind of the module's files with damaged structures. Each call
 * passes a valid structure in which a few words are changed. While the kernel reads a structure, a
 * separate thread changes words of the structure. NNACCEL_FUZZ_SECONDS sets the test's duration
 * (default LIVES processes); NNACCEL_FUZZ_SEED sets the seed.
 *
 * If the kernel has KCOV, a second test is guided by coverage: sequences of calls that reach new
 * code of the module are stored and mutated. NNACCEL_FUZZ_CALLS sets the number of calls of the
 * guided test. NNACCEL_FUZZ_CORPUS is a file with initial sequences of calls. The guided test
 * writes the corpus and the covered addresses to the directory NNACCEL_OUT, for scripts/coverage.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "coverage.h"
#include "exporters.h"
#include "harness.h"

/* The guided test has its own time limit, NNACCEL_FUZZ_LIMIT. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 100000

#define LIVES		(uint64_t)how_often(32, 8)	/* or NNACCEL_FUZZ_SECONDS */
#define CLIENTS		4	/* number of threads that make ioctl() calls */
#define WORKERS		2	/* number of threads that fetch and answer commands */
#define ROOM_MARGIN	(1UL << 32)
#define LIFE_MS		400	/* maximum lifetime of a fuzzing process, in ms */
#define FENCE_MS	300	/* fence_bound_ms: maximum wait for a committed fence */
#define FILES		16
#define TAPE		384	/* maximum number of random numbers for a sequence of calls */
#define SEQUENCE	16	/* maximum number of calls in a sequence */
#define ENTRIES		8192	/* maximum number of sequences in the corpus */
#define GUIDED		1	/* number of guided processes at a time */
/* a guided process that makes no call for STUCK_MS is killed and replaced */
#define STUCK_MS	200
#define SIGNAL_MS	10	/* ms between signals; the second signal in a call ends the call */
#define GUIDED_LIFE	20000	/* maximum number of calls that a guided process makes */
#define GUIDED_CALLS	100000	/* or NNACCEL_FUZZ_CALLS */
#define TELL_NS		60000000000ULL	/* time between two reports of progress */

/* Memory that a thread passes to the kernel, and that a second thread changes during the call. */
struct room {
	union {
		uint64_t words[32];
		struct nnaccel_execute execute;
	} arg;
	struct buffer_execution bound;
	uint32_t pools[4];
	struct nnaccel_role roles[2];
	struct saved saved;
	union {
		uint64_t words[32];
		struct nnaccel_prepare prepare;
		struct nnaccel_buffer_alloc alloc;
	} work;				/* description of a submission's work */
	int32_t dependencies[2];
	char data[MAX_PAGE];
	struct coverage coverage;	/* addresses of module code that the thread reached */
};

/* State that all threads of a fuzzing process share. */
static struct {
	struct served s;
	_Atomic int files[FILES];	/* fds of all kinds, some of which are closed */
	uint32_t pools[2];
	uint32_t model;
	uint32_t buffer;
	int fence;			/* a sync_file */
	/* fd of the latest submission's file; another thread may have closed or replaced this fd */
	_Atomic int file;
	_Atomic uint64_t last;		/* id of the latest new object */
	_Atomic uint64_t submission;	/* latest submission, as kind << 32 | id */
	_Atomic uint64_t context;	/* latest context that requested a worker */
	_Atomic uint64_t cookie;	/* cookie of the latest fetched command */
	_Atomic uint32_t slot;
	char *edge;	/* last 4 bytes of a readable page, before an unreadable page */
} world;

static struct room *rooms;		/* by thread */

/* Counters that all fuzzing processes share. */
static struct {
	_Atomic unsigned long calls, good;
	_Atomic unsigned long fenced;	/* number of answers that carry a fence */
	/* number of successful calls of each entry of ioctls[] */
	_Atomic unsigned long by_ioctl[64];
} *count;

/* Random numbers that determined a sequence of calls; replaying the numbers repeats the calls. */
struct tape {
	uint32_t length;
	uint16_t draws[TAPE];
};

/* State of the guided test, which all guided processes share. */
static struct {
	uint8_t seen[COVERAGE_TEXT];
	_Atomic uint32_t places, num_entries;
	_Atomic unsigned long calls[GUIDED];
	unsigned long left;		/* number of calls ended by a signal */
	unsigned long lives, stuck;	/* number of guided processes, and of hung processes */
	struct tape entries[ENTRIES];
	/* number of sequences in the initial corpus, and index of the next sequence to replay */
	_Atomic uint32_t num_old, next_old;
	struct tape old[ENTRIES];
} *guide;

struct fuzzer {
	uint64_t seed;
	struct room *room;
	struct tape *tape;	/* or NULL */
	uint32_t at;
};

/* Returns the next recorded number of the tape; at the tape's end, records a new random number. */
static uint32_t draw_tape(struct fuzzer *f)
{
	if (f->at < f->tape->length)
		return f->tape->draws[f->at++];
	f->seed = f->seed * 6364136223846793005u + 1442695040888963407u;
	if (f->at < TAPE) {
		f->tape->draws[f->at++] = (uint16_t)(f->seed >> 40);
		f->tape->length = f->at;
	}
	return (uint16_t)(f->seed >> 40);
}

static uint32_t draw(struct fuzzer *f, uint32_t n)
{
	if (f->tape)
		return (n > UINT16_MAX ? draw_tape(f) << 16 | draw_tape(f) : draw_tape(f)) % n;
	f->seed = f->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(f->seed >> 33) % n;
}

static int draw_file(struct fuzzer *f)
{
	return world.files[draw(f, FILES)];
}

static void keep_file(struct fuzzer *f, int fd)
{
	/*
	 * Never replace the first four entries of world.files, which the test needs until its end.
	 */
	int old = atomic_exchange(&world.files[4 + draw(f, FILES - 4)], fd);

	if (old >= 0)
		close(old);
}

/*
 * Returns, at random, a boundary value, or a value that is valid in some field of some structure.
 */
static uint64_t draw_value(struct fuzzer *f)
{
	const uint64_t values[] = {
		0, 1, 2, 3, 4, 8, 16, 63, 64, 65, 255, 4095, PAGE, PAGE + 1, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX,
		UINT64_MAX - PAGE + 1, 0xffff888000000000, world.buffer, world.last,
		world.model, (uintptr_t)f->room->data, (uintptr_t)world.edge,
		(uintptr_t)world.edge - 8, (uint32_t)draw_file(f), now_ns() + draw(f, 2000000),
		(uint64_t)draw(f, UINT32_MAX) << draw(f, 33),
	};

	return values[draw(f, sizeof(values) / sizeof(values[0]))];
}

/* Changes up to @most random words of 4 or 8 bytes in the structure @at. */
static void damage(struct fuzzer *f, void *at, size_t size, uint32_t most)
{
	for (uint32_t n = draw(f, most + 1); n; n--) {
		uint64_t value = draw_value(f);
		size_t bytes = draw(f, 2) ? 4 : 8, words = size / bytes;

		if (words)
			memcpy((char *)at + draw(f, (uint32_t)words) * bytes, &value, bytes);
	}
}

/* ---- valid structures ---- */

static void good_execution(struct fuzzer *f, struct nnaccel_execute *cmd)
{
	struct room *r = f->room;

	buffer_execution_init(&r->bound, world.model, world.buffer, world.buffer);
	if (draw(f, 2))
		execution_init(&r->bound.base, world.model, world.pools[0], world.pools[1]);
	/* Set a deadline, because a worker thread may never answer the execution. */
	r->bound.base.cmd.deadline_ns = now_ns() + draw(f, 20000000);
	damage(f, &r->bound, sizeof(r->bound), 2);
	*cmd = r->bound.base.cmd;
}

static void good_alloc(struct fuzzer *f, struct nnaccel_buffer_alloc *cmd)
{
	struct room *r = f->room;

	r->roles[0] = (struct nnaccel_role){ .model = world.model };
	r->roles[1] = (struct nnaccel_role){ .model = world.model, .kind = draw(f, 2) };
	*cmd = (struct nnaccel_buffer_alloc){
		.capacity = draw(f, 3 * PAGE),
		.roles = (uintptr_t)r->roles,
		.num_roles = 1 + draw(f, 2),
	};
	damage(f, r->roles, sizeof(r->roles), 1);
}

/* Fills in a valid structure for an ioctl that sends a command to the worker. */
static void good_engine_call(struct fuzzer *f, unsigned long request, void *arg)
{
	struct room *r = f->room;

	switch (request) {
	case NNACCEL_WORK_QUERY:
		query_init(arg, draw(f, 3), r->data, sizeof(r->data));
		break;
	case NNACCEL_WORK_SUPPORTED:
		supported_init(arg, world.pools[0], 16, (uint8_t *)r->data, draw(f, 8));
		break;
	case NNACCEL_WORK_PREPARE:
		prepare_init(arg, world.pools[0], 16);
		r->pools[0] = world.pools[1];
		((struct nnaccel_prepare *)arg)->pools = (uintptr_t)r->pools;
		((struct nnaccel_prepare *)arg)->num_pools = draw(f, 3);
		break;
	case NNACCEL_WORK_PREPARE_CACHED:
		prepare_cached_init(arg, &r->saved, world.pools[0], 16, world.pools[1], 16);
		damage(f, &r->saved, sizeof(r->saved), 1);
		break;
	case NNACCEL_WORK_CACHE_SAVE:
		cache_save_init(arg, &r->saved, world.model, world.pools[0], 16, world.pools[1], 16);
		damage(f, &r->saved, sizeof(r->saved), 1);
		break;
	case NNACCEL_WORK_EXECUTE:
		good_execution(f, arg);
		break;
	case NNACCEL_WORK_BURST:
		burst_init(arg, world.model, draw(f, 3));
		break;
	case NNACCEL_WORK_BUFFER_ALLOC:
		good_alloc(f, arg);
		break;
	}
}

static void good_pool_call(struct fuzzer *f, unsigned long request, void *arg)
{
	switch (request) {
	case NNACCEL_POOL_ALLOC:
		((struct nnaccel_pool_alloc *)arg)->length = draw(f, 3 * PAGE);
		break;
	case NNACCEL_POOL_IMPORT:
		*(struct nnaccel_pool_import *)arg = (struct nnaccel_pool_import){
			.fd = draw_file(f),
			.prot = NNACCEL_PROT_READ | (draw(f, 2) ? NNACCEL_PROT_WRITE : 0),
			.length = PAGE,
		};
		if (draw(f, 2))
			break;
		((struct nnaccel_pool_import *)arg)->length = 0;
		((struct nnaccel_pool_import *)arg)->fourcc = 0x34325241;	/* AR24 */
		((struct nnaccel_pool_import *)arg)->width = 8;
		((struct nnaccel_pool_import *)arg)->height = 4;
		((struct nnaccel_pool_import *)arg)->stride = 32 + 4 * draw(f, 2);
		break;
	case NNACCEL_POOL_EXPORT:
		((struct nnaccel_pool_export *)arg)->id = world.pools[draw(f, 2)];
		break;
	case NNACCEL_DESTROY:
		((struct nnaccel_destroy *)arg)->id =
			(uint32_t)(draw(f, 2) ? world.last : world.submission);
		break;
	case NNACCEL_BURST_SLOT:
		*(struct nnaccel_burst_slot *)arg = (struct nnaccel_burst_slot){
			.slot = world.slot,
		};
		if (draw(f, 2))
			break;
		((struct nnaccel_burst_slot *)arg)->pool = world.pools[draw(f, 2)];
		((struct nnaccel_burst_slot *)arg)->prot = NNACCEL_PROT_READ;
		break;
	case NNACCEL_WORK_BUFFER_COPY:
		*(struct nnaccel_buffer_copy *)arg = (struct nnaccel_buffer_copy){
			.flags = draw(f, 2),
			.buffer = world.buffer,
			.data = (uintptr_t)f->room->data,
			.length = draw(f, PAGE),
		};
		if (draw(f, 2)) {
			((struct nnaccel_buffer_copy *)arg)->flags |= NNACCEL_COPY_POOL;
			((struct nnaccel_buffer_copy *)arg)->data = 0;
			((struct nnaccel_buffer_copy *)arg)->pool = world.pools[draw(f, 2)];
			((struct nnaccel_buffer_copy *)arg)->offset = draw(f, PAGE);
		}
		break;
	case NNACCEL_SYNC_FILE:
		((struct nnaccel_sync_file *)arg)->fd = draw(f, 2) ? world.file : draw_file(f);
		break;
	}
}

/* Fills in a valid description of work of the kind @kind in the thread's struct room. */
static void good_work(struct fuzzer *f, uint32_t kind)
{
	struct room *r = f->room;

	memset(&r->work, 0, sizeof(r->work));
	good_engine_call(f, kind, &r->work);
	good_pool_call(f, kind, &r->work);
	for (size_t i = 0; i < num_ioctls; i++) {
		if (ioctls[i].request != kind)
			continue;
		*(uint32_t *)&r->work = (uint32_t)ioctls[i].size;
		damage(f, &r->work, ioctls[i].size, 1);
	}
}

static void good_submission(struct fuzzer *f, unsigned long request, void *arg)
{
	const uint32_t flags[] = { 0, 0, NNACCEL_SUBMIT_WAIT, NNACCEL_SUBMIT_FILE };
	struct nnaccel_submit *submit = arg;
	struct nnaccel_wait *wait = arg;
	uint64_t last = world.submission;
	uint32_t kind;

	switch (request) {
	case NNACCEL_SUBMIT:
		/* Make half of all submissions executions. */
		kind = draw(f, 2) ? NNACCEL_WORK_EXECUTE : 1 + draw(f, NNACCEL_WORK_BURST);
		good_work(f, kind);
		*submit = (struct nnaccel_submit){
			.kind = kind,
			.flags = flags[draw(f, kind == NNACCEL_WORK_EXECUTE ? 4 : 3)],
			.work = (uintptr_t)&f->room->work,
		};
		if (kind != NNACCEL_WORK_EXECUTE || draw(f, 2))
			break;
		for (int i = 0; i < 2; i++)
			f->room->dependencies[i] = draw(f, 2) ? world.file : draw_file(f);
		submit->dependencies = (uintptr_t)f->room->dependencies;
		submit->num_dependencies = 1 + draw(f, 2);
		submit->duration_ns = draw(f, 2) * draw(f, 20000000);
		break;
	case NNACCEL_WAIT:
		good_work(f, last >> 32 ?: NNACCEL_WORK_QUERY);
		*wait = (struct nnaccel_wait){
			.flags = draw(f, 4) ? NNACCEL_WAIT_NONBLOCK : 0,
			.id = (uint32_t)last,
			.work = (uintptr_t)&f->room->work,
		};
		if (!draw(f, 4)) {
			wait->id = 0;
			wait->fd = draw(f, 2) ? world.file : draw_file(f);
		}
		break;
	}
}

static void good_session_call(struct fuzzer *f, unsigned long request, void *arg)
{
	switch (request) {
	case NNACCEL_ENGINE_NEXT:
		((struct nnaccel_engine_next *)arg)->flags = NNACCEL_ENGINE_NONBLOCK;
		break;
	case NNACCEL_ENGINE_SESSION:
	case NNACCEL_ENGINE_REFUSE:
	case NNACCEL_ENGINE_OPENER:
		/*
		 * All structures with a field @context have the field at the same offset.
		 */
		((struct nnaccel_engine_session *)arg)->context = world.context;
		((struct nnaccel_engine_refuse *)arg)->error =
			request == NNACCEL_ENGINE_REFUSE ? EAGAIN : 0;
		break;
	case NNACCEL_SESSION_FETCH:
		*(struct nnaccel_session_fetch *)arg = (struct nnaccel_session_fetch){
			.flags = NNACCEL_FETCH_NONBLOCK,
			.buffer = (uintptr_t)f->room->data,
			.buffer_size = draw(f, sizeof(f->room->data)),
		};
		break;
	case NNACCEL_SESSION_COMMIT:
		*(struct nnaccel_session_commit *)arg = (struct nnaccel_session_commit){
			.cookie = world.cookie,
			.status = draw(f, 2) * NNACCEL_STATUS_GENERAL_FAILURE,
			.payload = (uintptr_t)f->room->data,
			.payload_size = draw(f, 64),
		};
		if (draw(f, 2)) {
			((struct nnaccel_session_commit *)arg)->buffer = (uintptr_t)f->room->data;
			((struct nnaccel_session_commit *)arg)->buffer_size =
				draw(f, sizeof(f->room->data));
			((struct nnaccel_session_commit *)arg)->flags = NNACCEL_FETCH_NONBLOCK;
		}
		if (!draw(f, 4)) {
			((struct nnaccel_session_commit *)arg)->flags |= NNACCEL_COMMIT_FENCE;
			((struct nnaccel_session_commit *)arg)->fence = world.fence;
			((struct nnaccel_session_commit *)arg)->status = NNACCEL_STATUS_NONE;
			((struct nnaccel_session_commit *)arg)->payload_size = 0;
		}
		break;
	case NNACCEL_SESSION_SYNC:
		((struct nnaccel_session_sync *)arg)->flags = NNACCEL_SYNC_READ;
		((struct nnaccel_session_sync *)arg)->grant = draw(f, 8);
		break;
	case NNACCEL_SESSION_GRANT_FD:
		((struct nnaccel_session_grant_fd *)arg)->grant = 1 + draw(f, 4);
		((struct nnaccel_session_grant_fd *)arg)->prot =
			NNACCEL_PROT_READ | (draw(f, 2) ? NNACCEL_PROT_WRITE : 0);
		break;
	case NNACCEL_SESSION_FENCE:
		((struct nnaccel_session_fence *)arg)->cookie = world.cookie;
		((struct nnaccel_session_fence *)arg)->index = draw(f, 2);
		break;
	case NNACCEL_SESSION_SLOT:
		((struct nnaccel_session_slot *)arg)->burst = 1;
		((struct nnaccel_session_slot *)arg)->slot = world.slot;
		break;
	}
}

/* ---- calls ---- */

/* Stores in @world the id of a pending submission, or of the object that finished work made. */
static void keep_submission(struct fuzzer *f, const struct nnaccel_submit *submit)
{
	if (submit->out_state == NNACCEL_STATE_PENDING) {
		world.submission = (uint64_t)submit->kind % (NNACCEL_WORK_BURST + 1) << 32 |
				   submit->out_id;
		if (submit->out_fd >= 0) {
			world.file = submit->out_fd;
			keep_file(f, submit->out_fd);
		}
	} else if (submit->kind == NNACCEL_WORK_PREPARE) {
		world.last = f->room->work.prepare.out_model;
	} else if (submit->kind == NNACCEL_WORK_BUFFER_ALLOC) {
		world.last = f->room->work.alloc.out_buffer;
	}
}

/* Stores in @world the id or fd that a successful call has returned. */
static void keep(struct fuzzer *f, unsigned long request, const void *arg)
{
	switch (request) {
	case NNACCEL_POOL_EXPORT:
		keep_file(f, ((const struct nnaccel_pool_export *)arg)->out_fd);
		break;
	case NNACCEL_WORK_BURST:
		keep_file(f, ((const struct nnaccel_burst_create *)arg)->out_fd);
		break;
	case NNACCEL_SYNC_FILE:
		keep_file(f, ((const struct nnaccel_sync_file *)arg)->out_fd);
		break;
	case NNACCEL_SUBMIT:
		keep_submission(f, arg);
		break;
	case NNACCEL_ENGINE_NEXT:
		world.context = ((const struct nnaccel_engine_next *)arg)->out_context;
		break;
	case NNACCEL_BURST_SLOT:
		world.slot = ((const struct nnaccel_burst_slot *)arg)->slot;
		break;
	case NNACCEL_SESSION_GRANT_FD:
		keep_file(f, ((const struct nnaccel_session_grant_fd *)arg)->out_fd);
		break;
	case NNACCEL_SESSION_FENCE:
		keep_file(f, ((const struct nnaccel_session_fence *)arg)->out_fd);
		break;
	case NNACCEL_ENGINE_SESSION:
		keep_file(f, ((const struct nnaccel_engine_session *)arg)->out_fd);
		break;
	case NNACCEL_POOL_ALLOC:
		world.last = ((const struct nnaccel_pool_alloc *)arg)->out_id;
		break;
	case NNACCEL_POOL_IMPORT:
		world.last = ((const struct nnaccel_pool_import *)arg)->out_id;
		break;
	case NNACCEL_WORK_PREPARE:
		world.last = ((const struct nnaccel_prepare *)arg)->out_model;
		break;
	case NNACCEL_WORK_BUFFER_ALLOC:
		world.last = ((const struct nnaccel_buffer_alloc *)arg)->out_buffer;
		break;
	}
}

static int file_for(struct fuzzer *f, enum file_kind kind)
{
	/* One in eight calls gets a random file, perhaps of the wrong kind. */
	return draw(f, 8) ? world.files[kind] : draw_file(f);
}

/* Sets the nonblocking flag of a call that would wait for another thread. */
static void do_not_wait(unsigned long request, void *arg)
{
	if (request == NNACCEL_ENGINE_NEXT)
		((struct nnaccel_engine_next *)arg)->flags |= NNACCEL_ENGINE_NONBLOCK;
	else if (request == NNACCEL_SESSION_FETCH)
		((struct nnaccel_session_fetch *)arg)->flags |= NNACCEL_FETCH_NONBLOCK;
	else if (request == NNACCEL_SESSION_COMMIT)
		((struct nnaccel_session_commit *)arg)->flags |= NNACCEL_FETCH_NONBLOCK;
	else if (request == NNACCEL_WAIT)
		((struct nnaccel_wait *)arg)->flags |= NNACCEL_WAIT_NONBLOCK;
}

static void call_ioctl(struct fuzzer *f)
{
	const struct ioctl_desc *d = &ioctls[draw(f, (uint32_t)num_ioctls)];
	struct room *r = f->room;
	void *arg = &r->arg;

	memset(&r->arg, 0, sizeof(r->arg));
	good_pool_call(f, d->request, arg);
	good_engine_call(f, d->request, arg);
	good_session_call(f, d->request, arg);
	good_submission(f, d->request, arg);
	*(uint32_t *)arg = (uint32_t)d->size;
	damage(f, arg, d->size, 3);
	if (guide && draw(f, 64))
		do_not_wait(d->request, arg);
	count->calls++;
	if (xioctl(file_for(f, d->kind), d->request, arg))
		return;
	count->good++;
	count->by_ioctl[d - ioctls]++;
	keep(f, d->request, arg);
}

static void call_mmap(struct fuzzer *f)
{
	uint64_t offset = draw_value(f) << draw(f, 2) * 12;
	int prot = draw(f, 8), flags = draw(f, 4) ? MAP_SHARED : MAP_PRIVATE;
	size_t length = PAGE * (1 + draw(f, 4));
	void *at;

	if (draw(f, 2))
		offset = (uint64_t)draw(f, 8) << NNACCEL_GRANT_SHIFT;
	count->calls++;
	at = mmap(NULL, length, prot, flags, draw_file(f), (off_t)(offset & -PAGE));
	if (at == MAP_FAILED)
		return;
	count->good++;
	/* Try to extend the access rights of the mapping. */
	mprotect(at, length, draw(f, 8));
	madvise(at, length, draw(f, 26));
	munmap(at, length);
}

/* Registers an engine on a new file, because the file in world.files is registered already. */
static void call_register(struct fuzzer *f)
{
	struct nnaccel_engine_register *arg = (void *)&f->room->arg;
	int node = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);

	if (node < 0)
		return;
	memset(&f->room->arg, 0, sizeof(f->room->arg));
	/*
	 * Keep the engine's name, because a new name makes a device that stays until the module is
	 * unloaded.
	 */
	strcpy(arg->name, "fuzz");
	strcpy(arg->version, "1");
	arg->size = sizeof(*arg);
	arg->flags = draw(f, 2);
	arg->type = draw(f, 5);
	damage(f, draw(f, 2) ? (char *)arg : arg->version, 16, 1);
	count->calls++;
	if (!xioctl(node, NNACCEL_ENGINE_REGISTER, arg)) {
		count->good++;
		for (size_t i = 0; i < num_ioctls; i++)
			count->by_ioctl[i] += ioctls[i].request == NNACCEL_ENGINE_REGISTER;
	}
	keep_file(f, node);
}

static void *client_thread(void *data)
{
	struct fuzzer *f = data;

	for (;;) {
		uint32_t what = draw(f, 32);

		if (!what)
			keep_file(f, device_open());
		else if (what < 4)
			call_mmap(f);
		else if (what < 5)
			call_register(f);
		else
			call_ioctl(f);
	}
	return NULL;
}

/*
 * Worker thread: answers most commands correctly, some commands wrongly, and some commands never.
 */
static void *worker_thread(void *data)
{
	static __thread union command cmd;
	struct fuzzer *f = data;
	uint32_t how;
	bool fenced;

	for (;;) {
		if (session_fetch(world.files[FILE_SESSION], 0, &cmd)) {
			poll(NULL, 0, 1);
			continue;
		}
		for (uint32_t i = 0; i < cmd.head.num_grants && i < 2; i++)
			session_map(world.files[FILE_SESSION], command_grants(&cmd)[i].grant, PAGE,
				    PROT_READ);
		world.cookie = cmd.head.cookie;
		how = draw(f, 16);
		fenced = !draw(f, 8);
		if (fenced)
			count->fenced += !session_commit_fenced(world.files[FILE_SESSION],
								cmd.head.cookie,
								draw(f, 4) ? world.fence :
								draw_file(f));
		else if (how == 1)
			session_commit(world.files[FILE_SESSION], cmd.head.cookie, draw(f, 12),
				       f->room->data, draw(f, 64), draw(f, 2) ? "no" : NULL);
		/*
		 * In the guided test answer every command, because the only client thread waits for
		 * each answer.
		 */
		if (guide || (how > 1 && !fenced))
			session_answer(world.files[FILE_SESSION], &cmd);
	}
	return NULL;
}

/* Changes structures that the client threads have passed to the kernel. */
static void meddle(struct fuzzer *f)
{
	for (;;) {
		struct room *r = &rooms[draw(f, CLIENTS)];

		damage(f, r, offsetof(struct room, data), 1);
		sched_yield();
	}
}

static void make_world(void)
{
	uint32_t number;
	int burst;

	if (served_open(&world.s))
		_exit(1);
	for (int i = 0; i < FILES; i++)
		world.files[i] = -1;
	world.pools[0] = pool_alloc(world.s.fd, PAGE);
	world.pools[1] = pool_alloc(world.s.fd, 2 * PAGE);
	world.model = served_prepare(&world.s, world.pools[0]);
	burst = served_burst(&world.s, world.model, &number);
	world.files[FILE_CONTEXT] = world.s.fd;
	world.files[FILE_BURST] = burst;
	world.files[FILE_ENGINE] = world.s.broker;
	world.files[FILE_SESSION] = world.s.session;
	world.files[4] = pool_export(world.s.fd, world.pools[0]);
	world.files[5] = file_new(4 * PAGE);
	world.fence = buffer_fence(world.files[4]);
	world.edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	if (!world.model || burst < 0 || world.edge == MAP_FAILED)
		_exit(1);
	mprotect(world.edge + PAGE, PAGE, PROT_NONE);
	world.edge += PAGE - 4;
}

/*
 * Allocates each struct room between inaccessible pages, so that damaged pointers cannot make the
 * kernel write to other memory.
 */
static void make_rooms(size_t num_rooms)
{
	char *base = mmap(NULL, 2 * ROOM_MARGIN, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	rooms = (void *)(base + ROOM_MARGIN);
	if (base == MAP_FAILED ||
	    mprotect(rooms, num_rooms * sizeof(*rooms), PROT_READ | PROT_WRITE))
		_exit(1);
}

static void fuzz_main(uint64_t seed)
{
	struct fuzzer fuzzers[CLIENTS + WORKERS + 1];
	pthread_t thread;

	make_rooms(CLIENTS + WORKERS + 1);
	make_world();
	for (uint32_t i = 0; i < CLIENTS + WORKERS + 1; i++)
		fuzzers[i] = (struct fuzzer){ .seed = seed * 64 + i, .room = &rooms[i] };
	for (uint32_t i = 0; i < CLIENTS + WORKERS; i++)
		if (pthread_create(&thread, NULL, i < CLIENTS ? client_thread : worker_thread,
				   &fuzzers[i]))
			_exit(1);
	/*
	 * Allocate the buffer after the worker threads have started, because a worker must answer
	 * the call.
	 */
	world.buffer = buffer_alloc(world.s.fd, world.model, PAGE);
	meddle(&fuzzers[CLIENTS + WORKERS]);
}

/* ---- guided by coverage ---- */

/* Makes the calling thread's @nth next kernel allocation fail. */
static void inject_fault(int fail_nth, uint32_t nth)
{
	char text[12];
	int length = snprintf(text, sizeof(text), "%u", nth);

	if (fail_nth >= 0 && pwrite(fail_nth, text, length, 0) < 0)
		return;
}

/*
 * Chooses the next sequence of calls: an initial or empty sequence, or a changed or shortened
 * sequence of the corpus.
 */
static void next_tape(struct fuzzer *chooser, struct tape *tape)
{
	*tape = (struct tape){ 0 };
	if (guide->next_old < guide->num_old) {
		*tape = guide->old[guide->next_old++];
		return;
	}
	if (!guide->num_entries || !draw(chooser, 8))
		return;
	*tape = guide->entries[draw(chooser, guide->num_entries)];
	for (uint32_t n = draw(chooser, 6); n && tape->length; n--)
		tape->draws[draw(chooser, tape->length)] = (uint16_t)draw(chooser, UINT16_MAX);
	if (!draw(chooser, 3) && tape->length)
		tape->length = draw(chooser, tape->length);
}

static void *guided_worker(void *data)
{
	struct fuzzer *f = data;

	coverage_begin(&f->room->coverage);
	return worker_thread(f);
}

static sigjmp_buf away;
/*
 * Number of signals during the present call. Between calls @signals is 2, so that further signals
 * have no effect.
 */
static volatile sig_atomic_t signals = 2;

/*
 * Signal handler: after the first signal during a call, a waiting call is restarted. The second
 * signal during a call leaves the call by siglongjmp().
 */
static void leave_call(int signal)
{
	(void)signal;
	if (++signals == 2)
		siglongjmp(away, 1);
}

static void begin_signals(void)
{
	const struct timespec spacing = { .tv_nsec = SIGNAL_MS * 1000000 };
	const struct itimerspec times = { .it_interval = spacing, .it_value = spacing };
	const struct sigaction action = { .sa_handler = leave_call, .sa_flags = SA_NODEFER };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	timer_t timer;

	event._sigev_un._tid = gettid();
	if (sigaction(SIGALRM, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &times, NULL))
		_exit(1);
}

static void signals_set(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(how, &set, NULL);
}

static void call_guided(struct fuzzer *f, int fail_nth)
{
	uint32_t what = draw(f, 32);

	if (sigsetjmp(away, 0)) {
		guide->left++;
		return;
	}
	signals = 0;
	if (!draw(f, 24)) {
		/*
		 * Block the signal, because the kernel kills the process if an injected fault hits
		 * the setup of the signal's stack frame.
		 */
		signals_set(SIG_BLOCK);
		inject_fault(fail_nth, 1 + draw(f, 12));
	}
	if (!what)
		keep_file(f, device_open());
	else if (what < 3)
		call_mmap(f);
	else
		call_ioctl(f);
	signals = 2;
}

static void guided_main(int number, uint64_t seed)
{
	struct fuzzer chooser = { .seed = seed * 64 }, f = { .seed = seed * 64 + 1 };
	struct fuzzer worker = { .seed = seed * 64 + 2 };
	struct coverage own;
	struct tape tape;
	pthread_t thread;
	int fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);

	make_rooms(2);
	f.room = &rooms[0];
	worker.room = &rooms[1];
	make_world();
	if (!coverage_begin(&own) || pthread_create(&thread, NULL, guided_worker, &worker))
		_exit(1);
	world.buffer = buffer_alloc(world.s.fd, world.model, PAGE);
	begin_signals();
	for (unsigned long calls = 0; calls < GUIDED_LIFE; calls += SEQUENCE) {
		unsigned int found = 0;

		next_tape(&chooser, &tape);
		f.tape = &tape;
		f.at = 0;
		for (int i = 0; i < SEQUENCE; i++)
			call_guided(&f, fail_nth);
		inject_fault(fail_nth, 0);
		signals_set(SIG_UNBLOCK);
		guide->calls[number] += SEQUENCE;
		found = coverage_take(&own, guide->seen);
		if (rooms[1].coverage.places)
			found += coverage_take(&rooms[1].coverage, guide->seen);
		guide->places += found;
		if (found && guide->num_entries < ENTRIES - GUIDED)
			guide->entries[guide->num_entries++] = tape;
	}
	raise(SIGKILL);
}

static unsigned long guided_calls(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < GUIDED; i++)
		sum += guide->calls[i];
	return sum;
}

static struct {
	pid_t pid;
	unsigned long calls;
	uint64_t since;
} processes[GUIDED];

static void kill_guided(void)
{
	for (int i = 0; i < GUIDED; i++) {
		if (processes[i].pid <= 0)
			continue;
		kill(processes[i].pid, SIGKILL);
		waitpid(processes[i].pid, NULL, 0);
		processes[i].pid = 0;
	}
}

/*
 * Restarts a guided process that has ended or hangs. Returns false if the previous process ended by
 * anything but SIGKILL, or if the new process cannot start.
 */
static bool look_after(int number, uint64_t *seed)
{
	int status = SIGKILL;
	pid_t gone = 0;

	if (processes[number].pid) {
		gone = waitpid(processes[number].pid, &status, WNOHANG);
		if (!gone && processes[number].calls != guide->calls[number]) {
			processes[number].calls = guide->calls[number];
			processes[number].since = now_ns();
		}
		if (!gone && now_ns() - processes[number].since > STUCK_MS * 1000000ULL) {
			kill(processes[number].pid, SIGKILL);
			waitpid(processes[number].pid, &status, 0);
			guide->stuck++;
			gone = processes[number].pid;
		}
		if (!gone)
			return true;
	}
	processes[number].since = now_ns();
	guide->lives++;
	processes[number].pid = fork();
	if (!processes[number].pid)
		guided_main(number, *seed);
	(*seed)++;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && processes[number].pid > 0;
}

/* Configures the kernel not to log each failure that it injects. */
static void fail_quietly(void)
{
	static const char *const files[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", files[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0 && write(fd, "0", 1) == 1)
			close(fd);
	}
}

/*
 * Reads sequences of calls from a file; each sequence is a count, followed by this number of random
 * numbers.
 */
static void read_corpus(const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	struct tape *tape;

	while (file && guide->num_old < ENTRIES) {
		tape = &guide->old[guide->num_old];
		if (fread(&tape->length, sizeof(tape->length), 1, file) != 1 || tape->length > TAPE ||
		    fread(tape->draws, sizeof(*tape->draws), tape->length, file) != tape->length)
			break;
		guide->num_old++;
	}
	if (file)
		fclose(file);
}

/* Writes the corpus: each sequence of this run that was the first to reach some code. */
static bool write_corpus(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return false;
	for (uint32_t i = 0; i < guide->num_entries; i++) {
		const struct tape *tape = &guide->entries[i];

		fwrite(&tape->length, sizeof(tape->length), 1, file);
		fwrite(tape->draws, sizeof(*tape->draws), tape->length, file);
	}
	return !fclose(file);
}

static uint64_t wish(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

TEST(fuzz)
{
	uint64_t seed = wish("NNACCEL_FUZZ_SEED", 1), first = seed;
	uint64_t seconds = wish("NNACCEL_FUZZ_SECONDS", 0);
	uint64_t end = now_ns() + seconds * 1000000000ULL;
	struct summary before;
	int broker = broker_open(), status;
	long long bound;

	ASSERT_GE(broker, 0);
	close(broker);
	ASSERT_TRUE(summary_read(&before));
	count = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(count, MAP_FAILED);
	bound = param_set("fence_bound_ms", FENCE_MS);
	do {
		pid_t child = fork();

		ASSERT_GE(child, 0);
		if (!child)
			fuzz_main(seed);
		poll(NULL, 0, (int)scaled(LIFE_MS / 4 + seed * 7919 % (LIFE_MS * 3 / 4)));
		kill(child, SIGKILL);
		ASSERT_EQ(waitpid(child, &status, 0), child);
		/*
		 * Only SIGKILL, from this test or from the module if a worker does not answer, may
		 * end a fuzzing process.
		 */
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			TH_LOG("status %#x with seed %llu", status, (unsigned long long)seed);
		seed++;
	} while (seconds ? now_ns() < end : seed < first + LIVES);
	EXPECT_TRUE(summary_settles(&before));
	param_set("fence_bound_ms", bound);
	EXPECT_GT((unsigned long)count->good, seed - first);
	for (size_t i = 0; i < num_ioctls; i++)
		if (!count->by_ioctl[i])
			TH_LOG("%s was always refused", ioctls[i].name);
	TH_LOG("%lu calls, %lu of them good, %lu answers with fences, seeds %llu to %llu",
	       count->calls, count->good, count->fenced,
	       (unsigned long long)first, (unsigned long long)seed - 1);
}

TEST(guided)
{
	uint64_t seed = wish("NNACCEL_FUZZ_SEED", 1);
	uint64_t calls = wish("NNACCEL_FUZZ_CALLS", GUIDED_CALLS);
	uint64_t begin = now_ns(), end = begin + wish("NNACCEL_FUZZ_LIMIT", 240) * 1000000000ULL;
	const char *out = getenv("NNACCEL_OUT");
	struct summary before;
	char path[4096];

	if (access("/sys/kernel/debug/kcov", F_OK))
		SKIP(return, "this kernel has no KCOV");
	ASSERT_TRUE(summary_read(&before));
	count = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	guide = mmap(NULL, sizeof(*guide), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	ASSERT_NE(count, MAP_FAILED);
	ASSERT_NE(guide, MAP_FAILED);
	fail_quietly();
	read_corpus(getenv("NNACCEL_FUZZ_CORPUS"));
	TH_LOG("%u sequences to begin with", guide->num_old);
	for (uint64_t told = begin; guided_calls() < calls && now_ns() < end;) {
		for (int i = 0; i < GUIDED; i++)
			ASSERT_TRUE(look_after(i, &seed))
				TH_LOG("a process ended before seed %llu", (unsigned long long)seed);
		if (now_ns() - told >= TELL_NS) {
			told = now_ns();
			TH_LOG("%lu calls, %u places", guided_calls(), guide->places);
		}
		poll(NULL, 0, 5);
	}
	kill_guided();
	EXPECT_TRUE(summary_settles(&before));
	EXPECT_GT(guide->places, 0);
	TH_LOG("%lu calls in %llu s, %lu of ioctls that succeeded; %u places, %u sequences; "
	       "%lu calls were left, %lu of %lu processes stuck",
	       guided_calls(), (unsigned long long)(now_ns() - begin) / 1000000000, count->good,
	       guide->places, guide->num_entries, guide->left, guide->stuck, guide->lives);
	if (!out)
		return;
	snprintf(path, sizeof(path), "%s/places", out);
	EXPECT_TRUE(coverage_write(guide->seen, path));
	snprintf(path, sizeof(path), "%s/corpus", out);
	EXPECT_TRUE(write_corpus(path));
}

TEST_HARNESS_MAIN
