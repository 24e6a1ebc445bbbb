/* SPDX-License-Identifier: MIT */
/*
 * Observes the system calls and page faults of executions by the kernel's tracing. The test checks
 * that an execution outside of a burst is one system call. In a burst's steady state, client and
 * worker neither map nor allocate memory, and cause no page faults. In a burst, client and worker
 * call the kernel only to sleep and to wake each other. The test needs /dev/nnaccel, root, and a
 * running nnacceld, preferably with NNACCEL_SPIN_US=5000, as in this process.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "ring/waiting.h"
#include "../../selftests/lib/runner.h"
#include "tests/burst_counter.h"
#include "tests/model_builder.h"
#include "tests/workers.h"

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/nnaccel-test"
#define SYSCALLS	"/events/raw_syscalls/sys_enter"
#define FAULTS		"/events/exceptions/page_fault_user"
#define WARM_UP		500
#define RUNS		1000
#define AWAKE_RUNS	1000
#define TRIES		how_often(12, 6)
#define SLOW_S		1	/* time limit for WARM_UP executions if two CPUs are free */
#define SETTLE		3000	/* number of executions after which earlier delays have no effect */

/*
 * Number of system calls that turn tracing off: one file is closed, and another file is opened and
 * written.
 */
#define CALLS_TO_STOP	3
#define COUNT		4
#define SIZE		(COUNT * sizeof(float))

/* Counts of the trace events of the client, of the worker, or of a single thread. */
struct seen {
	pid_t thread;
	unsigned long futexes;
	unsigned long clocks;
	unsigned long faults;
	unsigned long others;
	unsigned long ioctls;	/* how many of the calls in `others` are ioctl() */
};

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0)
		print_error("%s: %s\n", path, strerror(errno));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/*
 * The threads whose events read_trace() counts. The test does not use the filter set_event_pid,
 * because set_event_pid patches the scheduler's code (see scripts/vm).
 */
static pid_t followed[256];
static size_t num_followed;

static void follow_thread(pid_t thread)
{
	assert_true(num_followed < sizeof(followed) / sizeof(followed[0]));
	followed[num_followed++] = thread;
}

static bool is_followed(pid_t thread)
{
	for (size_t i = 0; i < num_followed; i++)
		if (followed[i] == thread)
			return true;
	return false;
}

/*
 * Makes read_trace() count the events of this thread and of all threads of the worker (0: no
 * worker), and of no other threads.
 */
static void follow(pid_t worker)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	num_followed = 0;
	follow_thread(gettid());
	if (!worker)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)worker);
	tasks = opendir(path);
	assert_non_null(tasks);
	while ((entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			follow_thread(atoi(entry->d_name));
	closedir(tasks);
}

static int set_up(void **state)
{
	(void)state;
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (mkdir(INSTANCE, 0700) && errno != EEXIST) {
		print_error("%s: %s\n", INSTANCE, strerror(errno));
		return -1;
	}
	put(INSTANCE "/tracing_on", "0");
	put(INSTANCE "/buffer_size_kb", "8192");
	put(INSTANCE SYSCALLS "/enable", "1");
	/* Of x86 only. */
	if (access(INSTANCE FAULTS "/enable", F_OK))
		print_message("page faults are not traced here: none is counted\n");
	else
		put(INSTANCE FAULTS "/enable", "1");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(INSTANCE);
}

/* Returns the thread's id from a trace line, which begins with " NAME-ID [CPU]". */
static pid_t line_thread(const char *line)
{
	const char *at = strstr(line, " [");

	assert_non_null(at);
	while (at > line && at[-1] == ' ')
		at--;
	while (at > line && at[-1] != '-')
		at--;
	return atoi(at);
}

static void take_line(const char *line, struct seen *s)
{
	const char *call = strstr(line, "sys_enter: NR ");
	long number;

	if (strstr(line, "page_fault_user:")) {
		s->faults++;
		return;
	}
	if (!call)
		return;
	number = atol(call + strlen("sys_enter: NR "));
	if (number == SYS_futex)
		s->futexes++;
	else if (number == SYS_clock_gettime)
		s->clocks++;
	else
		s->others++;
	s->ioctls += number == SYS_ioctl;
	if (s->thread != gettid() && number != SYS_futex && number != SYS_clock_gettime)
		print_error("%s", line);
}

/*
 * Counts this thread's events in *client, and those of the thread `worker->thread` in *worker.
 * Events of all other followed threads count in *others, or in *worker if `others` is NULL.
 */
static void read_trace(struct seen *client, struct seen *worker, struct seen *others)
{
	FILE *trace = fopen(INSTANCE "/trace", "r");
	char line[1024];
	pid_t thread;

	assert_non_null(trace);
	client->thread = gettid();
	while (fgets(line, sizeof(line), trace)) {
		assert_null(strstr(line, "LOST"));
		if (line[0] == '#')
			continue;
		thread = line_thread(line);
		if (!is_followed(thread))
			continue;
		if (thread == client->thread)
			take_line(line, client);
		else if (!others || thread == worker->thread)
			take_line(line, worker);
		else
			take_line(line, others);
	}
	fclose(trace);
}

/* Returns whether clock_gettime() works without a system call. */
static bool clock_is_mapped(void)
{
	char name[32] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, name, sizeof(name) - 1) > 0);
	close(fd);
	return !strncmp(name, "tsc", 3) || !strncmp(name, "kvm-clock", 9);
}

static struct nna_prepared_model *prepare(struct nna_device *device)
{
	struct nna_prepared_model *p;
	uint32_t x, y, none, sum;
	struct model_builder b;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(&b, 0, MB_LIST(x, y, none), MB_LIST(sum));
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, NULL, &p, NULL), NN_OK);
	return p;
}

static int add_often(struct nna_burst *b, struct nna_memory *m, int count)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = SIZE, .length = SIZE } };
	const struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	const struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &m, 0, NULL };
	int failed = 0;

	for (int i = 0; i < count; i++)
		failed += nna_burst_execute(b, &r, NULL, NULL, NULL) != NN_OK;
	return failed;
}

/*
 * Returns the maximum number of futex calls, computed from two counters of the burst: sleeps and
 * wake-ups. A wait that sleeps, spins and sleeps again counts as one sleep, but makes two futex
 * calls.
 */
static unsigned long told(const char *sleeps, const char *wakes)
{
	return 2 * (unsigned long)burst_counter(sleeps, NULL) +
	       (unsigned long)burst_counter(wakes, NULL);
}

/* A burst in which WARM_UP executions have already run. */
struct used_burst {
	struct nna_device *device;
	struct nna_prepared_model *prepared;
	struct nna_memory *memory;
	struct nna_burst *burst;
};

static void open_used_burst(struct used_burst *u)
{
	/*
	 * Let this process spin for the time of many executions before it sleeps. If another VM
	 * uses one of the CPUs, each execution takes the whole spin time.
	 */
	setenv("NNACCEL_SPIN_US", "5000", 1);
	assert_int_equal(nna_device_open(NULL, &u->device, NULL), NN_OK);
	u->prepared = prepare(u->device);
	assert_int_equal(nna_memory_alloc(u->device, 4096, &u->memory, NULL), NN_OK);
	assert_int_equal(nna_burst_create(u->prepared, NULL, &u->burst, NULL), NN_OK);
	assert_int_equal(add_often(u->burst, u->memory, WARM_UP), 0);
	follow(workers_find());
}

static void close_used_burst(struct used_burst *u)
{
	nna_burst_free(u->burst);
	nna_memory_free(u->memory);
	nna_prepared_model_free(u->prepared);
	nna_device_close(u->device);
}

/* Executes ADD `count` times in a burst. Returns the time of the slowest execution in ns. */
static uint64_t add_timed(const struct used_burst *u, int count)
{
	uint64_t slowest_ns = 0;

	for (int i = 0; i < count; i++) {
		uint64_t start_ns = clock_ns(), took_ns;

		assert_int_equal(add_often(u->burst, u->memory, 1), 0);
		took_ns = clock_ns() - start_ns;
		slowest_ns = took_ns > slowest_ns ? took_ns : slowest_ns;
	}
	return slowest_ns;
}

/*
 * Runs WARM_UP executions, which wake a sleeping worker, then `settle` executions, and then traces
 * `count` executions. Returns false if one of the executions after WARM_UP was slow, because then
 * client or worker could not use its CPU.
 */
static bool trace_executions(const struct used_burst *u, int settle, int count)
{
	uint64_t before_ns, traced_ns;

	put(INSTANCE "/trace", "");
	assert_int_equal(add_often(u->burst, u->memory, WARM_UP), 0);
	before_ns = add_timed(u, settle);
	put(INSTANCE "/tracing_on", "1");
	traced_ns = add_timed(u, count);
	put(INSTANCE "/tracing_on", "0");
	return before_ns < NN_HELD_UP_NS && traced_ns < NN_HELD_UP_NS;
}

static void test_steady_state(void **state)
{
	unsigned long client_told, worker_told;
	struct seen client = { 0 }, worker = { 0 };
	struct used_burst u;

	(void)state;
	open_used_burst(&u);
	client_told = told("nnaccel-client-sleeps", "nnaccel-client-wakes");
	worker_told = told("nnaccel-engine-sleeps", "nnaccel-engine-wakes");
	trace_executions(&u, 0, RUNS);
	client_told = told("nnaccel-client-sleeps", "nnaccel-client-wakes") - client_told;
	worker_told = told("nnaccel-engine-sleeps", "nnaccel-engine-wakes") - worker_told;
	read_trace(&client, &worker, NULL);
	print_message("%d executions; futex calls: client %lu, worker %lu\n", RUNS,
		      client.futexes, worker.futexes);
	assert_int_equal(worker.others, 0);
	assert_int_equal(worker.faults, 0);
	assert_int_equal(client.others, CALLS_TO_STOP);
	assert_int_equal(client.faults, 0);
	/*
	 * Client and worker make only the futex calls that the burst's counters report; the
	 * worker's watcher thread may wake once.
	 */
	assert_true(client.futexes <= client_told);
	assert_true(worker.futexes <= worker_told + 4);
	if (clock_is_mapped()) {
		assert_int_equal(client.clocks, 0);
		assert_int_equal(worker.clocks, 0);
	}
	close_used_burst(&u);
}

/*
 * An execution outside of a burst takes one system call, which submits the request and returns the
 * result.
 */
static void test_one_call(void **state)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = SIZE, .length = SIZE } };
	const struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	struct seen client = { 0 }, worker = { 0 };
	struct nna_output_shape shape;
	struct used_burst u;
	const struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &u.memory, 0, NULL };
	int failed = 0;

	(void)state;
	open_used_burst(&u);
	follow(0);
	put(INSTANCE "/trace", "");
	put(INSTANCE "/tracing_on", "1");
	for (int i = 0; i < RUNS; i++)
		failed += nna_execute(u.prepared, &r, NULL, NNA_SIZED(nna_results,
				      .shapes = &shape), NULL) != NN_OK;
	put(INSTANCE "/tracing_on", "0");
	read_trace(&client, &worker, NULL);
	assert_int_equal(failed, 0);
	assert_int_equal(client.ioctls, RUNS);
	assert_int_equal(client.others, RUNS + CALLS_TO_STOP);
	assert_int_equal(client.futexes, 0);
	close_used_burst(&u);
}

/*
 * While client and worker are both awake, neither makes a system call. If the host takes a CPU away
 * from the VM, client or worker sleeps for a while. The test requires that at least one of several
 * runs makes no system call, unless all runs were disturbed.
 */
static void test_awake(void **state)
{
	struct used_burst u;
	bool silent = false, loud = false, undisturbed;
	time_t start;

	(void)state;
	/*
	 * Only the full test run (NNACCEL_ALL) has this test. If another virtual machine used a
	 * CPU, each execution would take the whole spin time of client and worker.
	 */
	if (!getenv("NNACCEL_ALL")) {
		print_message("it takes two CPUs for itself: NNACCEL_ALL=1 runs it\n");
		skip();
	}
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || !clock_is_mapped()) {
		print_message("needs two CPUs, and a clock that is read without a call\n");
		skip();
	}
	open_used_burst(&u);
	start = time(NULL);
	assert_int_equal(add_often(u.burst, u.memory, WARM_UP), 0);
	if (time(NULL) - start > SLOW_S) {
		close_used_burst(&u);
		print_message("the machine has no two CPUs for this at a time\n");
		skip();
	}
	for (int i = TRIES; i && !silent; i--) {
		struct seen client = { 0 }, others = { 0 }, server = { 0 };

		server.thread = workers_busiest_thread(workers_find());
		undisturbed = trace_executions(&u, SETTLE, AWAKE_RUNS);
		read_trace(&client, &server, &others);
		print_message("%d executions; calls: client %lu, the worker's thread %lu, "
			      "its other threads %lu\n", AWAKE_RUNS,
			      client.futexes + client.clocks + client.others - CALLS_TO_STOP,
			      server.futexes + server.clocks + server.others,
			      others.futexes + others.clocks + others.others);
		silent = !client.futexes && !client.clocks && client.others == CALLS_TO_STOP &&
			 !server.futexes && !server.clocks && !server.others;
		if (!undisturbed)
			print_message("that run was disturbed\n");
		loud |= undisturbed && !silent;
	}
	close_used_burst(&u);
	if (!silent && !loud) {
		print_message("the machine is too busy: every run was disturbed\n");
		skip();
	}
	assert_true(silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady_state),
		cmocka_unit_test(test_one_call),
		cmocka_unit_test(test_awake),
	};

	return cmocka_run_group_tests_name("hal_trace", tests, set_up, tear_down);
}
