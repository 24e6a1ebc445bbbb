/* SPDX-License-Identifier: MIT */
/*
 * Bursts as the kernel's tracing sees them from outside: in the steady state
 * neither end maps, allocates or faults, and calls the kernel only to sleep and
 * to wake. Needs /dev/nnaccel, a running nnacceld and root.
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
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>

#include "tests/burst_counter.h"
#include "tests/model_builder.h"
#include "tests/workers.h"

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/nnaccel-test"
#define SYSCALLS	"/events/raw_syscalls/sys_enter"
#define FAULTS		"/events/exceptions/page_fault_user"
#define WARM_UP		500
#define RUNS		1000
#define COUNT		4
#define SIZE		(COUNT * sizeof(float))

/* What was seen of one end. */
struct seen {
	unsigned long futexes;
	unsigned long clocks;
	unsigned long faults;
	unsigned long others;
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

/* Follows this thread and all of the worker's. */
static void follow(pid_t worker)
{
	char path[64], pids[4096];
	struct dirent *entry;
	size_t length;
	DIR *tasks;

	length = (size_t)snprintf(pids, sizeof(pids), "%d", (int)gettid());
	snprintf(path, sizeof(path), "/proc/%d/task", (int)worker);
	tasks = opendir(path);
	assert_non_null(tasks);
	while ((entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			length += (size_t)snprintf(pids + length, sizeof(pids) - length, " %s",
						   entry->d_name);
	closedir(tasks);
	put(INSTANCE "/set_event_pid", pids);
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
	put(INSTANCE FAULTS "/enable", "1");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(INSTANCE);
}

/* "   comm-PID   [cpu] ... time: event: ..." */
static void take_line(const char *line, struct seen *client, struct seen *worker)
{
	const char *call = strstr(line, "sys_enter: NR ");
	char own[32];
	struct seen *s;
	long number;

	snprintf(own, sizeof(own), "-%d ", (int)gettid());
	s = strstr(line, own) ? client : worker;
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
	if (s == worker && number != SYS_futex && number != SYS_clock_gettime)
		print_error("%s", line);
}

static void read_trace(struct seen *client, struct seen *worker)
{
	FILE *trace = fopen(INSTANCE "/trace", "r");
	char line[1024];

	assert_non_null(trace);
	while (fgets(line, sizeof(line), trace)) {
		assert_null(strstr(line, "LOST"));
		if (line[0] != '#')
			take_line(line, client, worker);
	}
	fclose(trace);
}

/* Where the clock can only be read through the kernel, both ends do. */
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
	const struct nna_request r = { 2, 1, 1, in, &out, &m };
	int failed = 0;

	for (int i = 0; i < count; i++)
		failed += nna_burst_execute(b, &r, NULL, NULL, NULL, NULL, NULL) != NN_OK;
	return failed;
}

/* Futex calls that an end says it made, at most: two for a sleep with a spin after it. */
static unsigned long told(const char *sleeps, const char *wakes)
{
	return 2 * (unsigned long)burst_counter(sleeps, NULL) +
	       (unsigned long)burst_counter(wakes, NULL);
}

static void test_steady_state(void **state)
{
	unsigned long client_told, worker_told;
	struct seen client = { 0 }, worker = { 0 };
	struct nna_device *device;
	struct nna_prepared_model *p;
	struct nna_memory *m;
	struct nna_burst *b;
	int failed;

	(void)state;
	/* This end stays awake as long as it may. */
	setenv("NNACCEL_SPIN_US", "100000", 1);
	assert_int_equal(nna_device_open(NULL, &device, NULL), NN_OK);
	p = prepare(device);
	assert_int_equal(nna_memory_alloc(device, 4096, &m, NULL), NN_OK);
	assert_int_equal(nna_burst_create(p, NULL, &b, NULL), NN_OK);
	assert_int_equal(add_often(b, m, WARM_UP), 0);
	follow(workers_find());
	client_told = told("nnaccel-client-sleeps", "nnaccel-client-wakes");
	worker_told = told("nnaccel-engine-sleeps", "nnaccel-engine-wakes");
	put(INSTANCE "/tracing_on", "1");
	failed = add_often(b, m, RUNS);
	put(INSTANCE "/tracing_on", "0");
	client_told = told("nnaccel-client-sleeps", "nnaccel-client-wakes") - client_told;
	worker_told = told("nnaccel-engine-sleeps", "nnaccel-engine-wakes") - worker_told;
	read_trace(&client, &worker);
	print_message("%d executions; futex calls: client %lu, worker %lu\n", RUNS,
		      client.futexes, worker.futexes);
	assert_int_equal(failed, 0);
	assert_int_equal(worker.others, 0);
	assert_int_equal(worker.faults, 0);
	/* Turning tracing off: the file for on is closed, the other one opened and written. */
	assert_int_equal(client.others, 3);
	assert_int_equal(client.faults, 0);
	/* While it is awake, an end makes no call at all; the worker's watcher may wake once. */
	assert_true(client.futexes <= client_told);
	assert_true(worker.futexes <= worker_told + 4);
	if (clock_is_mapped()) {
		assert_int_equal(client.clocks, 0);
		assert_int_equal(worker.clocks, 0);
	}
	nna_burst_free(b);
	nna_memory_free(m);
	nna_prepared_model_free(p);
	nna_device_close(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_steady_state) };

	return cmocka_run_group_tests_name("hal_trace", tests, set_up, tear_down);
}
