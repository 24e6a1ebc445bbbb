/* SPDX-License-Identifier: MIT */
/*
 * Tests what the runtime reports about compilations and executions: the events of NNACCEL_TRACE,
 * the report of NNACCEL_REPORT, and log lines about fallbacks. Each test case runs in a child
 * process, because a process reads the environment only once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_fake_accel.h"
#include "tests/heap_blocks.h"

#define OPERATION_NS 1000
#define MAX_TRACKS 16
#define MAX_DEPTH 8

static char folder[] = "/tmp/nn-trace-XXXXXX";

/* ---- children ---- */

/* The exit status of the last child process, and its output on standard error. */
static struct {
	int status;
	char said[8192];
} child;

static void in_child(const char *variable, const char *value, void (*calls)(void))
{
	int log = memfd_create("log", MFD_CLOEXEC);
	ssize_t length;
	pid_t pid = fork();

	assert_true(log >= 0 && pid >= 0);
	if (!pid) {
		setenv(variable, value, 1);
		dup2(log, STDERR_FILENO);
		accel.times[0] = (struct nn_operation_time){ 0, ANEURALNETWORKS_ADD, 0, OPERATION_NS };
		accel.num_times = 1;
		calls();
		exit(0);
	}
	assert_int_equal(waitpid(pid, &child.status, 0), pid);
	length = pread(log, child.said, sizeof(child.said) - 1, 0);
	assert_true(length >= 0);
	child.said[length] = '\0';
	close(log);
}

/*
 * Maximum number of bytes that one call of write() writes; 0: no limit. If `most_bytes` is not 0,
 * every second write() fails with EINTR.
 */
static size_t most_bytes;

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t size)
{
	static bool interrupts;

	interrupts = most_bytes && !interrupts;
	if (interrupts) {
		errno = EINTR;
		return -1;
	}
	return syscall(SYS_write, fd, bytes, most_bytes && size > most_bytes ? most_bytes : size);
}

static unsigned int count(const char *text, char c)
{
	unsigned int found = 0;

	for (; *text; text++)
		found += *text == c;
	return found;
}

static int count_text(const char *text, const char *part)
{
	int found = 0;

	for (; (text = strstr(text, part)); text++)
		found++;
	return found;
}

/* ---- the file ---- */

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

struct event {
	char phase;
	int pid, tid;
	double us;
	char category[16], name[64];
	const char *rest;
};

/* A thread in the trace, with the names of the slices that have begun and have not ended. */
struct track {
	int pid, tid;
	double us;
	unsigned int depth;
	char names[MAX_DEPTH][64];
	bool has_name, has_process;
};

static struct {
	struct track tracks[MAX_TRACKS];
	unsigned int num_tracks, processes;
	unsigned int adds, queues, engines, flows, fallbacks, fenced;
	char flow[64], async[64];	/* ids of the open flow and async event, or "" */
	int flow_pid;
	bool is_plain;			/* true: run_on_device() alone wrote the trace */
} seen;

static struct track *track_of(const struct event *e)
{
	struct track *t = seen.tracks;

	while (t < seen.tracks + seen.num_tracks && (t->pid != e->pid || t->tid != e->tid))
		t++;
	if (t == seen.tracks + seen.num_tracks) {
		assert_true(seen.num_tracks++ < MAX_TRACKS);
		*t = (struct track){ .pid = e->pid, .tid = e->tid };
		for (struct track *o = seen.tracks; o < t; o++)
			t->has_process |= o->pid == e->pid && o->has_process;
	}
	return t;
}

static void parse(const char *line, struct event *e)
{
	int length = 0;

	memset(e, 0, sizeof(*e));
	assert_true(sscanf(line, "{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"ts\":%lf,\"cat\":\"%15[^\"]\",\"name\":\"%n",
			   &e->phase, &e->pid, &e->tid, &e->us, e->category, &length) == 5 && length);
	snprintf(e->name, sizeof(e->name), "%.*s", (int)strcspn(line + length, "\""), line + length);
	e->rest = line + length;
	assert_string_equal(line + strlen(line) - 2, "},");
	assert_int_equal(count(line, '{'), count(line, '}'));
	assert_int_equal(count(line, '\t'), 0);
}

static void begin_slice(struct track *t, const struct event *e)
{
	assert_true(t->depth < MAX_DEPTH);
	snprintf(t->names[t->depth++], sizeof(t->names[0]), "%s", e->name);
	seen.adds += !strcmp(e->name, "ADD");
	seen.queues += !strcmp(e->name, "queue");
	seen.engines += !strcmp(e->category, "engine") && !strcmp(e->name, "nnaccel");
	if (!strcmp(e->name, "prepare"))
		assert_non_null(strstr(e->rest, "\"args\":{\"part\":1,\"operations\":1,\"device\":\"nna"));
	if (!strcmp(e->name, "part on nnaccel") && seen.is_plain)
		assert_non_null(strstr(e->rest, "\"args\":{\"copied_in\":32,\"copied_out\":16}"));
}

static const char *id_of(const struct event *e)
{
	static char id[64];

	assert_int_equal(sscanf(strstr(e->rest, "\"id\":\""), "\"id\":\"%63[^\"]", id), 1);
	return id;
}

/* A flow connects a slice of the runtime with a slice of the engine. */
static void take_flow(const struct track *t, const struct event *e)
{
	assert_int_equal(t->depth > 0, 1);
	if (e->phase == 's') {
		assert_string_equal(e->category, "runtime");
		strcpy(seen.flow, id_of(e));
		seen.flow_pid = e->pid;
		return;
	}
	assert_string_equal(e->category, "engine");
	assert_string_equal(seen.flow, id_of(e));
	assert_int_not_equal(seen.flow_pid, e->pid);
	seen.flow[0] = '\0';
	seen.flows++;
}

static void take_name(struct track *t, const struct event *e)
{
	char name[64];

	assert_int_equal(sscanf(e->rest, "%*[a-z_]\",\"args\":{\"name\":\"%63[^\"]", name), 1);
	if (!strcmp(e->name, "process_name")) {
		assert_non_null(strstr(name, program_invocation_short_name));
		seen.processes++;
		t->has_process = true;
	} else {
		assert_string_equal(e->name, "thread_name");
		assert_true(t->has_process);
		t->has_name = true;
	}
}

static void take_event(const char *line)
{
	struct track *t;
	struct event e;

	parse(line, &e);
	t = track_of(&e);
	if (e.phase == 'M') {
		take_name(t, &e);
		return;
	}
	assert_true(t->has_name && t->has_process);
	assert_true(e.us >= t->us);
	t->us = e.us;
	switch (e.phase) {
	case 'B':
		begin_slice(t, &e);
		break;
	case 'E':
		assert_true(t->depth--);
		assert_string_equal(e.name, t->names[t->depth]);
		break;
	case 's':
	case 'f':
		take_flow(t, &e);
		break;
	case 'i':
		assert_non_null(strstr(e.rest, " a \\\"quoted\\\\ line\""));
		seen.fallbacks += !strcmp(e.name, "fallback");
		break;
	case 'b':
		strcpy(seen.async, id_of(&e));
		break;
	case 'e':
		assert_string_equal(seen.async, id_of(&e));
		seen.async[0] = '\0';
		seen.fenced++;
		break;
	default:
		fail_msg("%s", line);
	}
}

/* Checks a trace line by line; `is_plain` means that run_on_device() alone wrote the trace. */
static void check_trace(const char *path, bool is_plain)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	memset(&seen, 0, sizeof(seen));
	seen.is_plain = is_plain;
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "[\n");
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		take_event(line);
	}
	fclose(file);
	for (unsigned int i = 0; i < seen.num_tracks; i++)
		assert_int_equal(seen.tracks[i].depth, 0);
	assert_string_equal(seen.flow, "");
	assert_string_equal(seen.async, "");
}

/* ---- events ---- */

static void run_on_device(void)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	ANeuralNetworksExecution *execution;
	float sum[ADD_ELEMENTS] = { 0 };
	ANeuralNetworksBurst *burst;
	ANeuralNetworksEvent *event;

	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(compute_sum(c));
	execution = add_execution(c);
	assert_ok(ANeuralNetworksExecution_setReusable(execution, true));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
	assert_sum(sum);
	ANeuralNetworksBurst_free(burst);
	assert_ok(ANeuralNetworksExecution_startCompute(execution, &event));
	assert_ok(ANeuralNetworksEvent_wait(event));
	ANeuralNetworksEvent_free(event);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void run_fenced(void)
{
	int fd = memfd_create("sum", MFD_CLOEXEC);
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	ANeuralNetworksExecution *execution;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksEvent *event;

	accel.has_fences = true;
	assert_true(fd >= 0 && !ftruncate(fd, sizeof(add_a)));
	assert_ok(ANeuralNetworksMemory_createFromFd(sizeof(add_a), PROT_READ | PROT_WRITE, fd, 0, &memory));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	execution = add_execution(c);
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, sizeof(add_a)));
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event));
	assert_ok(ANeuralNetworksEvent_wait(event));
	ANeuralNetworksEvent_free(event);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
	close(fd);
}

static void run_and_be_killed(void)
{
	run_on_device();
	kill(getpid(), SIGKILL);
}

/* Parent and child write to the same trace file. */
static void run_in_two(void)
{
	pid_t pid;
	int status;

	run_on_device();
	pid = fork();
	run_on_device();
	if (!pid)
		exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(1);
}

/* Runs models on the device while write() accepts only one byte at a time. */
static void run_by_bytes(void)
{
	most_bytes = 1;
	run_on_device();
}

static void run_by_parts(void)
{
	most_bytes = 100;
	run_on_device();
}

static void run_refused(void)
{
	accel.refuses_times = true;
	run_on_device();
}

static void run_early(void)
{
	accel.lies_ns = -(int64_t)NS_PER_S;
	run_on_device();
}

static void run_late(void)
{
	accel.lies_ns = (int64_t)NS_PER_S;
	run_on_device();
}

/* Runs a model on an engine that reports an operation whose end is before its begin. */
static void run_backwards(void)
{
	accel.times[0].begin_ns = 2 * OPERATION_NS;
	run_on_device();
}

static void run_on_cpu(void)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile(model, true);

	for (int i = 0; i < 3; i++)
		assert_ok(compute_sum(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void run_with_fallback(void)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c;

	pthread_setname_np(pthread_self(), "a\tname");
	c = compile(model, false);
	accel.execute_status = NN_GENERAL_FAILURE;
	accel.reason = "a \"quoted\\ line";
	assert_ok(compute_sum(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * The test cases, and the expected numbers of events in each case's trace; run_on_device() executes
 * the model three times.
 */
static const struct {
	const char *name;
	void (*calls)(void);
	bool is_killed;
	unsigned int processes, adds, engines, fallbacks, fenced;
} cases[] = {
	{ "device", run_on_device, false, 2, 3, 3, 0, 0 },
	{ "killed", run_and_be_killed, true, 2, 3, 3, 0, 0 },
	{ "two", run_in_two, false, 4, 9, 9, 0, 0 },
	{ "bytes", run_by_bytes, false, 2, 3, 3, 0, 0 },
	{ "parts", run_by_parts, false, 2, 3, 3, 0, 0 },
	{ "refused", run_refused, false, 1, 0, 0, 0, 0 },
	{ "early", run_early, false, 1, 0, 0, 0, 0 },
	{ "late", run_late, false, 1, 0, 0, 0, 0 },
	{ "backwards", run_backwards, false, 2, 0, 3, 0, 0 },
	{ "cpu", run_on_cpu, false, 1, 3, 0, 0, 0 },
	{ "fallback", run_with_fallback, false, 1, 1, 0, 1, 0 },
	{ "fenced", run_fenced, false, 1, 0, 0, 0, 1 },
};

static void test_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *path = path_of(cases[i].name);

		in_child("NNACCEL_TRACE", path, cases[i].calls);
		if (cases[i].is_killed ? !WIFSIGNALED(child.status) : child.status)
			fail_msg("%s: status %x: %s", cases[i].name, (unsigned int)child.status, child.said);
		check_trace(path, cases[i].calls == run_on_device);
		if (seen.processes != cases[i].processes || seen.adds != cases[i].adds ||
		    seen.engines != cases[i].engines || seen.queues != cases[i].engines ||
		    seen.flows != cases[i].engines || seen.fallbacks != cases[i].fallbacks ||
		    seen.fenced != cases[i].fenced)
			fail_msg("%s: %u processes, %u additions, %u in engines, %u flows, %u fallbacks",
				 cases[i].name, seen.processes, seen.adds, seen.engines, seen.flows,
				 seen.fallbacks);
		unlink(path);
	}
}

/*
 * The library replaces "%p" in the name of a trace file by the process id. A second program appends
 * its events to the trace file of the first program.
 */
static void test_files(void **state)
{
	char name[64];
	pid_t pid;
	int status;

	(void)state;
	pid = fork();
	if (!pid) {
		if (chdir(folder))
			_exit(1);
		setenv("NNACCEL_TRACE", "by-%p.json", 1);
		run_on_cpu();
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	snprintf(name, sizeof(name), "by-%d.json", pid);
	check_trace(path_of(name), false);
	unlink(path_of(name));
	for (unsigned int i = 1; i < 3; i++) {
		in_child("NNACCEL_TRACE", path_of("both"), run_on_cpu);
		check_trace(path_of("both"), false);
		assert_int_equal(seen.processes, i);
	}
	unlink(path_of("both"));
	/*
	 * If the library cannot write the trace file, it logs one error line with the file's name,
	 * and still computes.
	 */
	in_child("NNACCEL_TRACE", path_of("no/file"), run_on_device);
	assert_int_equal(child.status, 0);
	assert_int_equal(count(child.said, '\n'), 1);
	assert_non_null(strstr(child.said, "no/file: No such file or directory"));
}

/* ---- the report ---- */

/* Checks that only the first execution allocates memory that remains allocated. */
static void run_and_count_blocks(void)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile(model, false);
	long blocks;

	assert_ok(compute_sum(c));
	blocks = heap_blocks;
	assert_ok(compute_sum(c));
	assert_int_equal(heap_blocks, blocks);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* Runs a model on a device that fails, and that the CPU may not replace. */
static void run_failing(void)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);

	assert_ok(ANeuralNetworksCompilation_finish(c));
	accel.execute_status = NN_GENERAL_FAILURE;
	assert_result(OP_FAILED, compute_sum(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * Each execution copies 16 bytes of each input to the device, and copies 16 bytes of the output
 * from the device.
 */
static void test_report(void **state)
{
	(void)state;
	in_child("NNACCEL_REPORT", "1", run_and_count_blocks);
	assert_int_equal(child.status, 0);
	in_child("NNACCEL_REPORT", "1", run_on_device);
	assert_int_equal(child.status, 0);
	assert_non_null(strstr(child.said, "nnaccel: report: model 1, part 1 of 1: 1 operations on nnaccel: 3 runs, "));
	assert_non_null(strstr(child.said, " ms in the engine\n"));
	assert_non_null(strstr(child.said, "  copies: 32 bytes in, 16 bytes out a run\n"));
	assert_non_null(strstr(child.said, "  operation 0 ADD on nnaccel: 0.001 ms, 100.0 %\n"));
	assert_int_equal(count(child.said, '\n'), 3);
	in_child("NNACCEL_REPORT", "1", run_refused);
	assert_non_null(strstr(child.said, "  the device does not report times of single "
			       "operations\n"));
	assert_null(strstr(child.said, "in the engine"));
	in_child("NNACCEL_REPORT", "1", run_on_cpu);
	assert_non_null(strstr(child.said, "  copies: 0 bytes in, 0 bytes out a run\n"));
	assert_non_null(strstr(child.said, "  operation 0 ADD on nnapi-reference: "));
	in_child("NNACCEL_REPORT", "1", run_with_fallback);
	assert_non_null(strstr(child.said, "on nnaccel: 0 runs\n"));
	assert_non_null(strstr(child.said, "  1 failed; 1 by the CPU in its place, "));
	in_child("NNACCEL_REPORT", "1", run_failing);
	assert_int_equal(child.status, 0);
	assert_non_null(strstr(child.said, "on nnaccel: 0 runs\n"));
	assert_non_null(strstr(child.said, "  1 failed; 0 by the CPU in its place, 0.000 ms each\n"));
	in_child("NNACCEL_REPORT", "0", run_on_device);
	assert_string_equal(child.said, "");
}

/* Compiles a model, and then frees the model and the compilation. */
static void only_compile(ANeuralNetworksModel *model)
{
	ANeuralNetworksCompilation_free(compile(model, false));
	ANeuralNetworksModel_free(model);
}

static void compile_other_model(void)
{
	only_compile(add_model(2));
}

/* Makes a model that adds its two inputs, and gives the sum to an operation of one or three inputs. */
static ANeuralNetworksModel *add_then(ANeuralNetworksOperationType operation, uint32_t num_inputs)
{
	const uint32_t dims[] = { 2, 2 }, in[] = { 0, 1 }, first[] = { 0, 1, 2 }, second[] = { 3, 1, 2 };
	const uint32_t between[] = { 3 }, out[] = { 4 };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims), scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (uint32_t i = 0; i < 5; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, first, 1, between));
	assert_ok(ANeuralNetworksModel_addOperation(model, operation, num_inputs, second, 1, out));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, out));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/*
 * Compiles a model with one part on the device and one on the CPU; during that compilation,
 * compiles another model.
 */
static void compile_two_at_once(void)
{
	accel.before_prepare = compile_other_model;
	only_compile(add_then(ANEURALNETWORKS_FLOOR, 1));
}

/* All parts of a model have the model's number, even if other models are compiled meanwhile. */
static void test_report_of_two(void **state)
{
	(void)state;
	in_child("NNACCEL_REPORT", "1", compile_two_at_once);
	assert_int_equal(child.status, 0);
	assert_non_null(strstr(child.said, "model 1, part 1 of 2: "));
	assert_non_null(strstr(child.said, "model 1, part 2 of 2: "));
	assert_non_null(strstr(child.said, "model 2, part 1 of 1: "));
}

/* Forks a child that continues to use a compilation of its parent. */
static void run_on_in_child(void)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	int status;
	pid_t pid;

	run_on_device();
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(compute_sum(c));
	pid = fork();
	for (int i = 0; !pid && i < 2; i++)
		assert_ok(compute_sum(c));
	if (!pid)
		exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(1);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * After a fork, the child's report has two runs of the parent's model, and the parent's report has
 * two models.
 */
static void test_report_of_child(void **state)
{
	(void)state;
	in_child("NNACCEL_REPORT", "1", run_on_in_child);
	assert_int_equal(child.status, 0);
	assert_non_null(strstr(child.said, ": 2 runs, "));
	assert_non_null(strstr(child.said, ": 3 runs, "));
	assert_non_null(strstr(child.said, ": 1 run, "));
	assert_null(strstr(child.said, ": 0 runs"));
	assert_int_equal(count(child.said, '\n'), 9);
	assert_int_equal(count_text(child.said, "  copies: 32 bytes in, 16 bytes out a run\n"), 3);
	assert_int_equal(count_text(child.said, "  operation 0 ADD on nnaccel: 0.001 ms, 100.0 %\n"), 3);
}

/*
 * Runs a model on an engine that executes a rewritten model, and so reports no times of the
 * original model's operations.
 */
static void run_other_form(void)
{
	accel.times[0].index = 7 | NN_OTHER_MODEL;
	accel.times[0].type = ANEURALNETWORKS_CAST;
	run_on_device();
}

/*
 * Executes the model (a + b) + b. The engine reports times of `num_times` operations; the two
 * operations take 1 and 3 us.
 */
static void run_two(uint32_t num_times)
{
	ANeuralNetworksModel *model = add_then(ANEURALNETWORKS_ADD, 3);
	ANeuralNetworksCompilation *c = for_accelerator(model);

	assert_ok(ANeuralNetworksCompilation_finish(c));
	accel.times[1] = (struct nn_operation_time){ 1, ANEURALNETWORKS_ADD, OPERATION_NS, 4 * OPERATION_NS };
	accel.num_times = num_times;
	for (uint32_t i = 0; i < 3; i++) {
		ANeuralNetworksExecution *execution = add_execution(c);
		float sum[ADD_ELEMENTS];

		/* In the last execution the engine reports the operations in reverse order. */
		if (i == 2 && num_times == 2) {
			accel.times[0] = (struct nn_operation_time){ 1, ANEURALNETWORKS_ADD, 0, 3 * OPERATION_NS };
			accel.times[1] = (struct nn_operation_time){ 0, ANEURALNETWORKS_ADD, 3 * OPERATION_NS,
								     4 * OPERATION_NS };
		}

		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
		assert_ok(ANeuralNetworksExecution_compute(execution));
		ANeuralNetworksExecution_free(execution);
	}
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void run_both(void)
{
	run_two(2);
}

static void run_one_of_two(void)
{
	run_two(1);
}

/* Runs a model on an engine that reports the time of an operation that the model does not have. */
static void run_without_times(void)
{
	accel.times[0].index = 1;
	run_on_device();
}

static void test_forms(void **state)
{
	(void)state;
	in_child("NNACCEL_REPORT", "1", run_other_form);
	assert_non_null(strstr(child.said, "  its operation 7 CAST on nnaccel: 0.001 ms, 100.0 %\n"));
	assert_null(strstr(child.said, "ADD"));
	in_child("NNACCEL_REPORT", "1", run_without_times);
	assert_non_null(strstr(child.said, "  operation 0 ADD on nnaccel: computed with another\n"));
	in_child("NNACCEL_REPORT", "1", run_both);
	assert_non_null(strstr(child.said, "  operation 0 ADD on nnaccel: 0.001 ms, 25.0 %\n"));
	assert_non_null(strstr(child.said, "  operation 1 ADD on nnaccel: 0.003 ms, 75.0 %\n"));
	assert_int_equal(count(child.said, '\n'), 4);
	in_child("NNACCEL_REPORT", "1", run_one_of_two);
	assert_non_null(strstr(child.said, "  operation 0 ADD on nnaccel: 0.001 ms, 100.0 %\n"));
	assert_non_null(strstr(child.said, "  operation 1 ADD on nnaccel: computed with another\n"));
}

/* ---- fallbacks ---- */

static void fall_back(enum nn_status status, int times)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile(model, false);

	accel.execute_status = status;
	for (int i = 0; i < times; i++)
		assert_ok(compute_sum(c));
	accel.execute_status = NN_OK;
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void execution_fails(void)
{
	fall_back(NN_GENERAL_FAILURE, 5);
	fall_back(NN_GENERAL_FAILURE, 5);
}

static void execution_fails_twice(void)
{
	fall_back(NN_GENERAL_FAILURE, 5);
	fall_back(NN_RESOURCE_EXHAUSTED_TRANSIENT, 5);
}

static void device_dies(void)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile(model, false);

	accel.worker++;
	accel.is_offline = true;
	for (int i = 0; i < 5; i++)
		assert_ok(compute_sum(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void preparation_fails(void)
{
	accel.prepare_status = NN_GENERAL_FAILURE;
	fall_back(NN_OK, 1);
	fall_back(NN_OK, 1);
}

static void operations_are_refused(void)
{
	accel.supported_status = NN_GENERAL_FAILURE;
	fall_back(NN_OK, 1);
	fall_back(NN_OK, 1);
}

static void device_is_absent(void)
{
	accel.is_absent = true;
	fall_back(NN_OK, 1);
	fall_back(NN_OK, 1);
}

static const struct {
	const char *name;
	void (*calls)(void);
	const char *level;
	unsigned int lines;
	const char *text;
} fallbacks[] = {
	{ "an execution", execution_fails, "note", 1, "the CPU computes instead of nnaccel after "
	  "this error: OP_FAILED: " },
	{ "two causes", execution_fails_twice, "note", 2, " after this error: RESOURCE_EXHAUSTED_TRANSIENT: " },
	{ "a device", device_dies, "note", 1, "the CPU computes instead of nnaccel after this "
	  "error: DEAD_OBJECT: " },
	{ "a preparation", preparation_fails, "note", 1, "compiled for the CPU alone after this error: OP_FAILED: " },
	{ "operations", operations_are_refused, "note", 1, "the CPU computes 1 of 1 operations, " },
	{ "no device", device_is_absent, "note", 1, "this program computes on the CPU: " },
	{ "warnings", execution_fails, "warn", 10, "the CPU computes instead of nnaccel after this "
	  "error: OP_FAILED: " },
	{ "nothing", execution_fails, "none", 0, "" },
	{ "the default", execution_fails, "", 1, "nnaccel: note: the CPU computes instead of nnaccel" },
};

static void test_fallbacks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fallbacks); i++) {
		in_child("NNACCEL_LOG", fallbacks[i].level, fallbacks[i].calls);
		if (child.status || count(child.said, '\n') != fallbacks[i].lines ||
		    !strstr(child.said, fallbacks[i].text))
			fail_msg("%s: status %x: %s", fallbacks[i].name, (unsigned int)child.status,
				 child.said);
	}
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_events, reset),
		cmocka_unit_test_setup(test_files, reset),
		cmocka_unit_test_setup(test_report, reset),
		cmocka_unit_test_setup(test_report_of_two, reset),
		cmocka_unit_test_setup(test_report_of_child, reset),
		cmocka_unit_test_setup(test_forms, reset),
		cmocka_unit_test_setup(test_fallbacks, reset),
	};

	return cmocka_run_group_tests_name("runtime_trace", tests, set_up, tear_down);
}
