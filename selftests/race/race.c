// SPDX-License-Identifier: MIT
/*
 * Stress test with all operations of the module at the same time, for a kernel with debug checks.
 * Threads of short-lived clients make all calls; workers answer commands, map memory and die. At
 * the end of the test the module must have no objects.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"

#define CLIENTS	3		/* number of client processes at a time */
#define LIVES	how_often(8, 4)	/* number of rounds, each of which starts CLIENTS processes */
#define THREADS	4
#define CALLS	200		/* maximum number of calls of a client thread */
#define IDS	6		/* number of pool ids, and of model ids, in a client's table */
#define BUFFERS	2		/* number of a client's buffers, which its threads share */
#define BUFFER_THREADS	6	/* number of threads that share one buffer */
#define BUFFER_ROUNDS	(unsigned long)how_often(10, 4)	/* or NNACCEL_RACE_SECONDS */
#define BUFFER_CALLS	200	/* minimum number of calls with buffers in a round */

static unsigned int draw(unsigned int *seed, unsigned int n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % n;
}

static void pause_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* ---- clients ---- */

struct client {
	int fd;
	unsigned int seed;
};

/*
 * Ids of objects in the context that all threads of a client process share. Some ids belong to
 * destroyed objects.
 */
static _Atomic uint32_t pools[IDS], models[IDS];

static uint32_t draw_id(struct client *c, _Atomic uint32_t *ids)
{
	return ids[draw(&c->seed, IDS)];
}

/*
 * Replaces a random id of the table @ids by @id. The replaced object is destroyed at once in half
 * of all calls, and otherwise at the end of the context.
 */
static void remember(struct client *c, _Atomic uint32_t *ids, uint32_t id)
{
	_Atomic uint32_t *place = &ids[draw(&c->seed, IDS)];
	uint32_t old = *place;

	*place = id;
	if (draw(&c->seed, 2))
		object_destroy(c->fd, old);
}

static void call_pools(struct client *c)
{
	uint32_t prot = NNACCEL_PROT_READ | (draw(&c->seed, 2) ? NNACCEL_PROT_WRITE : 0);
	uint32_t id;
	int file;

	if (draw(&c->seed, 2)) {
		id = pool_alloc(c->fd, PAGE * (1 + draw(&c->seed, 4)));
		remember(c, pools, id);
		file = pool_export(c->fd, id);
	} else {
		file = file_new(PAGE);
	}
	if (draw(&c->seed, 2) && !pool_import(c->fd, file, prot, 0, PAGE, &id))
		remember(c, pools, id);
	if (file >= 0)
		close(file);
}

static void call_engine(struct client *c, unsigned int what)
{
	struct nnaccel_supported supported;
	struct nnaccel_prepare prepare;
	struct nnaccel_query query;
	uint8_t answer[64];

	if (what == 0) {
		query_init(&query, 0, answer, sizeof(answer));
		xioctl(c->fd, NNACCEL_WORK_QUERY, &query);
	} else if (what == 1) {
		supported_init(&supported, draw_id(c, pools), PAGE, answer, 4);
		xioctl(c->fd, NNACCEL_WORK_SUPPORTED, &supported);
	} else {
		prepare_init(&prepare, draw_id(c, pools), PAGE);
		if (!xioctl(c->fd, NNACCEL_WORK_PREPARE, &prepare))
			remember(c, models, prepare.out_model);
	}
}

static void call_execute(struct client *c)
{
	struct execution e;
	struct timespec now;

	execution_init(&e, draw_id(c, models), draw_id(c, pools), draw_id(c, pools));
	if (!draw(&c->seed, 4)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		e.cmd.deadline_ns = now.tv_sec * 1000000000ULL + now.tv_nsec +
				    draw(&c->seed, 2000) * 1000;
	}
	xioctl(c->fd, NNACCEL_WORK_EXECUTE, &e.cmd);
}

/*
 * fds of submissions' files; 0: no file yet. Some fds are closed, and may have been reused for
 * unrelated files.
 */
static _Atomic int files[IDS];

static _Atomic uint32_t submissions[IDS];

/* Submits an execution, and then waits for, or destroys, a random submission of any thread. */
static void call_submissions(struct client *c)
{
	int32_t dependencies[2] = { files[draw(&c->seed, IDS)], files[draw(&c->seed, IDS)] };
	struct nnaccel_submit submit;
	struct execution e;
	bool done;
	int old;

	execution_init(&e, draw_id(c, models), draw_id(c, pools), draw_id(c, pools));
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &e.cmd);
	submit.flags = draw(&c->seed, 2) ? NNACCEL_SUBMIT_FILE : 0;
	submit.dependencies = (uintptr_t)dependencies;
	submit.num_dependencies = draw(&c->seed, 3);
	if (!xioctl(c->fd, NNACCEL_SUBMIT, &submit)) {
		remember(c, submissions, submit.out_id);
		old = submit.out_fd < 0 ? 0 :
		      atomic_exchange(&files[draw(&c->seed, IDS)], submit.out_fd);
		if (old > 0)
			close(old);
	}
	switch (draw(&c->seed, 4)) {
	case 0:
		submission_try(c->fd, draw_id(c, submissions), &e.cmd, &done);
		break;
	case 1:
		submission_wait(c->fd, draw_id(c, submissions), &e.cmd);
		break;
	case 2:
		submission_wait_file(c->fd, files[draw(&c->seed, IDS)], &e.cmd);
		break;
	default:
		object_destroy(c->fd, draw_id(c, submissions));
	}
}

static _Atomic uint32_t buffers[BUFFERS];

/*
 * Copies to or from a buffer, or executes with a buffer, that other threads may use or free at the
 * same time.
 */
static void use_buffer(int fd, unsigned int *seed, uint32_t model, uint32_t buffer, uint64_t other)
{
	static __thread char data[MAX_PAGE];
	struct buffer_execution e;

	switch (draw(seed, 4)) {
	case 0:
		buffer_copy_in(fd, buffer, data, 1 + draw(seed, PAGE));
		break;
	case 1:
		buffer_copy_out(fd, buffer, data, 1 + draw(seed, PAGE));
		break;
	default:
		buffer_execution_init(&e, model, buffer, other);
		if (draw(seed, 2)) {
			e.base.args[0].flags = NNACCEL_ARG_NO_VALUE;
			e.base.args[1].pool = 0;
			e.base.cmd.num_outputs = 1;
		}
		xioctl(fd, NNACCEL_WORK_EXECUTE, &e.base.cmd);
	}
}

static void call_buffers(struct client *c)
{
	uint32_t model = draw_id(c, models);
	_Atomic uint32_t *place = &buffers[draw(&c->seed, BUFFERS)];
	uint32_t buffer = *place;

	use_buffer(c->fd, &c->seed, model, buffer, buffers[draw(&c->seed, BUFFERS)]);
	if (draw(&c->seed, 3))
		return;
	*place = buffer_alloc(c->fd, model, PAGE);
	if (draw(&c->seed, 2))
		object_destroy(c->fd, buffer);
}

static void map_burst(int fd, uint64_t base, uint64_t ring_bytes)
{
	const uint64_t regions[][2] = {
		{ NNACCEL_BURST_STATUS, PAGE }, { NNACCEL_BURST_REQUESTS, ring_bytes },
		{ NNACCEL_BURST_RESULTS, ring_bytes }, { NNACCEL_BURST_DOORBELL, PAGE },
	};

	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		int prot = PROT_READ | PROT_WRITE;
		char *at;

		do {
			at = mmap(NULL, regions[i][1], prot, MAP_SHARED, fd,
				  (off_t)(base | regions[i][0]));
			if (at == MAP_FAILED)
				continue;
			if (prot & PROT_WRITE)
				at[PAGE - 1]++;
			else
				*(volatile char *)at;
			munmap(at, regions[i][1]);
		} while (prot & PROT_WRITE && (prot = PROT_READ));
	}
}

/* Returns the size in bytes of a burst's ring with one line, rounded up to whole pages. */
static uint64_t small_ring_bytes(void)
{
	uint64_t bytes = NNACCEL_RING_LINES + sizeof(struct nnaccel_line);

	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static void call_burst(struct client *c)
{
	struct nnaccel_burst_create create = {
		.size = sizeof(create),
		.model = draw_id(c, models),
		.capacity = 1,
		.out_fd = -1,
	};
	uint32_t slot;

	if (xioctl(c->fd, NNACCEL_WORK_BURST, &create) || create.out_fd < 0)
		return;
	map_burst(create.out_fd, 0, small_ring_bytes());
	for (int i = 0; i < 4; i++) {
		if (slot_bind(create.out_fd, draw_id(c, pools), NNACCEL_PROT_READ, &slot))
			continue;
		if (draw(&c->seed, 2))
			slot_free(create.out_fd, slot);
	}
	summary_get(create.out_fd, "nnaccel-slots");
	/* Leave half of the bursts open until the process ends. */
	if (draw(&c->seed, 2))
		close(create.out_fd);
}

static void *client_thread(void *data)
{
	struct client c = *(struct client *)data;

	for (int i = 0; i < CALLS; i++) {
		unsigned int what = draw(&c.seed, 26);

		if (what < 3)
			call_pools(&c);
		else if (what < 6)
			call_engine(&c, what - 3);
		else if (what < 10)
			call_execute(&c);
		else if (what < 11)
			object_destroy(c.fd, draw_id(&c, draw(&c.seed, 2) ? pools : models));
		else if (what < 13)
			call_burst(&c);
		else if (what < 17)
			call_buffers(&c);
		else if (what < 25)
			call_submissions(&c);
		else
			summary_get(c.fd, "nnaccel-pools");
	}
	return NULL;
}

static void client_main(unsigned int seed)
{
	struct client clients[THREADS];
	pthread_t threads[THREADS];
	int fd = device_open();

	for (unsigned int i = 0; i < THREADS; i++) {
		clients[i] = (struct client){ .fd = fd, .seed = seed * THREADS + i };
		pthread_create(&threads[i], NULL, client_thread, &clients[i]);
	}
	/* One third of the client processes exit while calls are in flight. */
	if (draw(&seed, 3)) {
		for (unsigned int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	} else {
		pause_ms((int)draw(&seed, 100));
	}
	_exit(0);
}

/* ---- the engine ---- */

static void touch_grants(int session, const union command *cmd)
{
	const struct nnaccel_grant *grants = command_grants(cmd);

	for (uint32_t i = 0; i < cmd->head.num_grants; i++) {
		int prot = PROT_READ | (grants[i].prot & NNACCEL_PROT_WRITE ? PROT_WRITE : 0);
		char *at = session_map(session, grants[i].grant, grants[i].length, prot);

		if (!at)
			continue;
		if (prot & PROT_WRITE)
			at[0]++;
		else
			*(volatile char *)at;
		munmap(at, grants[i].length);
	}
}

/* Maps the burst of @cmd as the worker does, and looks up the slots that clients bind first. */
static void touch_burst(int session, const union command *cmd)
{
	struct nnaccel_session_slot slot = {
		.size = sizeof(slot),
		.burst = cmd->head.burst,
	};

	map_burst(session, NNACCEL_BURST_MAP | (uint64_t)cmd->head.burst << NNACCEL_BURST_SHIFT,
		  small_ring_bytes());
	for (uint32_t bind = 1; bind <= 4; bind++) {
		for (uint32_t index = 0; index < bind; index++) {
			slot.slot = bind * NNACCEL_BURST_MAX_SLOTS + index;
			xioctl(session, NNACCEL_SESSION_SLOT, &slot);
		}
	}
}

static void *worker_thread(void *data)
{
	struct client w = *(struct client *)data;
	static _Thread_local union command cmd;

	for (;;) {
		int error = session_fetch(w.fd, 0, &cmd);

		if (error)
			_exit(error != ESHUTDOWN);
		if (!draw(&w.seed, 64))
			raise(SIGKILL);
		touch_grants(w.fd, &cmd);
		if (cmd.head.burst)
			touch_burst(w.fd, &cmd);
		/*
		 * Leave some commands that have a deadline unanswered, so that the module may kill
		 * the worker.
		 */
		if (cmd.head.cookie && (!cmd.head.deadline_ns || draw(&w.seed, 8)))
			session_answer(w.fd, &cmd);
	}
}

static void worker_main(int session, unsigned int seed)
{
	struct client one = { .fd = session, .seed = seed };
	struct client two = { .fd = session, .seed = seed + 1 };
	pthread_t thread;

	if (session_attach(session))
		_exit(0);
	pthread_create(&thread, NULL, worker_thread, &one);
	worker_thread(&two);
}

/*
 * Broker: starts a worker for a context or refuses the context, and sometimes closes and reopens
 * the engine's node.
 */
static void broker_main(int broker)
{
	struct nnaccel_engine_next next;
	unsigned int seed = 1;
	int session;

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		if (broker_next(broker, 0, &next))
			_exit(1);
		if (!draw(&seed, 16)) {
			close(broker);
			/*
			 * Repeat the open, because a worker that was just forked still has a copy
			 * of the closed fd.
			 */
			while ((broker = broker_open()) < 0)
				pause_ms(1);
			continue;
		}
		if (next.out_event != NNACCEL_ENGINE_NEW)
			continue;
		if (!draw(&seed, 8)) {
			broker_refuse(broker, next.out_context, EAGAIN);
			continue;
		}
		if (broker_session(broker, next.out_context, &session))
			continue;
		if (!fork()) {
			close(broker);
			worker_main(session, seed);
		}
		close(session);
	}
}

TEST(race)
{
	long long grace = param_set("kill_grace_ms", 50);
	struct summary before;
	long long executions;
	pid_t engine, clients[CLIENTS];
	int broker = broker_open(), status;
	unsigned int seed = 1;

	ASSERT_GE(broker, 0);
	ASSERT_TRUE(summary_read(&before));
	executions = summary_get(-1, "executions-total");
	engine = fork();
	if (!engine)
		broker_main(broker);
	close(broker);
	for (unsigned int life = LIVES; life--;) {
		for (unsigned int i = 0; i < CLIENTS; i++) {
			clients[i] = fork();
			if (!clients[i])
				client_main(life * CLIENTS + i);
		}
		pause_ms((int)draw(&seed, 2000));
		for (unsigned int i = 0; i < CLIENTS; i++) {
			kill(clients[i], SIGKILL);
			EXPECT_EQ(waitpid(clients[i], &status, 0), clients[i]);
		}
	}
	EXPECT_EQ(waitpid(engine, &status, WNOHANG), 0);
	kill(engine, SIGKILL);
	waitpid(engine, &status, 0);
	EXPECT_TRUE(summary_settles(&before));
	EXPECT_GT(summary_get(-1, "executions-total"), executions);
	param_set("kill_grace_ms", grace);
}

/* ---- one buffer: free, copy, execute and end of its context at once ---- */

struct contest {
	int fd;
	uint32_t model;
	_Atomic uint32_t buffer;
	_Atomic bool stop;
	_Atomic unsigned long calls;
};

struct contestant {
	struct contest *contest;
	unsigned int seed;
};

static void *contest_thread(void *data)
{
	struct contestant *me = data;
	struct contest *c = me->contest;

	while (!c->stop) {
		uint32_t buffer = c->buffer, fresh;

		use_buffer(c->fd, &me->seed, c->model, buffer, 0);
		if (!draw(&me->seed, 8)) {
			/*
			 * Destroy the new buffer if a second thread has replaced c->buffer in the
			 * meantime.
			 */
			fresh = buffer_alloc(c->fd, c->model, PAGE);
			object_destroy(c->fd, buffer);
			if (!atomic_compare_exchange_strong(&c->buffer, &buffer, fresh))
				object_destroy(c->fd, fresh);
		}
		c->calls++;
	}
	return NULL;
}

static long long seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

TEST(one_buffer)
{
	const char *wish = getenv("NNACCEL_RACE_SECONDS");
	long long end = seconds_now() + (wish ? atoll(wish) : 0);
	unsigned long calls = 0, rounds = 0;
	struct summary before;

	ASSERT_TRUE(idle_summary(&before));
	/* Each round closes a context while calls of several threads are in flight. */
	do {
		struct contestant contestants[BUFFER_THREADS];
		pthread_t threads[BUFFER_THREADS];
		struct contest c = { .fd = -1 };
		struct nnaccel_prepare prepare;
		struct served s;
		uint32_t buffer;
		int fd;

		ASSERT_EQ(served_open(&s), 0);
		ASSERT_EQ(served_start(&s), 0);
		prepare_init(&prepare, pool_alloc(s.fd, PAGE), 1);
		ASSERT_EQ(xioctl(s.fd, NNACCEL_WORK_PREPARE, &prepare), 0);
		c.fd = s.fd;
		c.model = prepare.out_model;
		buffer = buffer_alloc(s.fd, c.model, PAGE);
		ASSERT_NE(buffer, 0);
		c.buffer = buffer;
		for (unsigned int i = 0; i < BUFFER_THREADS; i++) {
			contestants[i] = (struct contestant){ &c, rounds * BUFFER_THREADS + i };
			pthread_create(&threads[i], NULL, contest_thread, &contestants[i]);
		}
		do
			pause_ms(200);
		while (c.calls < BUFFER_CALLS);
		/*
		 * Close the context while threads use its fd: dup2() replaces the context's file by
		 * /dev/null.
		 */
		fd = open("/dev/null", O_RDWR);
		dup2(fd, s.fd);
		close(fd);
		c.stop = true;
		for (unsigned int i = 0; i < BUFFER_THREADS; i++)
			pthread_join(threads[i], NULL);
		served_close(&s);
		calls += c.calls;
		rounds++;
	} while (wish ? seconds_now() < end : rounds < BUFFER_ROUNDS);
	EXPECT_TRUE(summary_settles(&before));
	TH_LOG("%lu calls in %lu rounds", calls, rounds);
}

/* ---- a context that is closed while answers of closed files are dropped ---- */

TEST(closed_files)
{
	struct summary before;

	ASSERT_TRUE(idle_summary(&before));
	for (int round = 0; round < how_often(200, 10); round++) {
		struct execution e;
		struct served s;
		uint32_t pool;

		ASSERT_EQ(served_open(&s), 0);
		pool = pool_alloc(s.fd, PAGE);
		execution_init(&e, served_prepare(&s, pool), pool, pool);
		for (int i = 0; i < 250; i++) {
			int file = submit_file(s.fd, &e.cmd, -1);

			ASSERT_GE(file, 0);
			close(file);
		}
		/*
		 * Closing the context ends all executions, while the module's work items drop the
		 * answers of executions whose files are closed.
		 */
		close(s.fd);
		s.fd = -1;
		served_close(&s);
	}
	EXPECT_TRUE(summary_settles(&before));
}

TEST_HARNESS_MAIN
