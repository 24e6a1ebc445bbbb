/* SPDX-License-Identifier: MIT */
/*
 * Writes events as a JSON array in the Trace Event format, one event per line, so that a truncated
 * file can still be read. The trace shows the engine as a separate process. The numbers of the
 * engine's threads are unknown, so the trace shows one engine thread for each thread of this
 * process.
 */
#define _GNU_SOURCE
#include "runtime/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "ops/op.h"
#include "runtime/handle.h"
#include "runtime/log.h"
#include "runtime/partition.h"
#include "runtime/trace_report.h"

/*
 * In a trace, the process number of the engine is this process's number plus ENGINE_PID, which is
 * larger than any process number.
 */
#define ENGINE_PID (1 << 23)
#define LINE_ROOM 2048
#define TEXT_ROOM 512

int trace_watches;

/* Fork handlers hold `lock` during a fork, so that no other thread holds `lock` in the child. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The trace's file and the text that is not written yet. `lock` protects all fields except `path`,
 * which does not change.
 */
static struct {
	char path[PATH_MAX];		/* In the path, "%p" stands for the process's number */
	char text[1 << 16];
	size_t used;
	/*
	 * values of current(): the process whose name, and the process whose engine's name, was
	 * written last
	 */
	uint32_t process, engine;
	uint64_t last_number;
} out;

/*
 * This thread's id. The fields `named` and `engine_named` are values of current(): the processes in
 * which the name of this thread, and of its engine thread, was written last.
 */
static _Thread_local struct {
	int tid;
	uint32_t named, engine_named;
} self;

/* Returns a number of this process, which is at least 1 and differs from the parent's number. */
static uint32_t current(void)
{
	return handle_process() + 1;
}

/* ---- the file ---- */

static void make_path(char path[PATH_MAX])
{
	const char *at = strstr(out.path, "%p");

	if (at)
		snprintf(path, PATH_MAX, "%.*s%d%s", (int)(at - out.path), out.path, getpid(), at + 2);
	else
		memcpy(path, out.path, sizeof(out.path));
}

static bool write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		size -= (size_t)n;
	}
	return true;
}

/*
 * Appends text to the trace file, to which other processes also append text. The trace file is open
 * only during append(), because a program may close all its files.
 */
static bool append(const char *text, size_t size)
{
	char path[PATH_MAX];
	struct stat file;
	bool done;
	int fd, error;

	make_path(path);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		return false;
	done = !flock(fd, LOCK_EX) && !fstat(fd, &file) &&
	       (file.st_size || write_all(fd, "[\n", 2)) && write_all(fd, text, size);
	error = errno;
	close(fd);
	errno = error;
	return done;
}

/* Writes the buffered events to the trace file; the caller holds `lock`. */
static void flush(void)
{
	if (out.used && trace_wants(WATCH_EVENTS) && !append(out.text, out.used)) {
		__atomic_fetch_and(&trace_watches, ~WATCH_EVENTS, __ATOMIC_RELAXED);
		nna_log(NNA_LOG_ERROR, "NNACCEL_TRACE: %s: %s: nothing more is traced", out.path,
			strerror(errno));
	}
	out.used = 0;
}

void trace_flush(void)
{
	pthread_mutex_lock(&lock);
	flush();
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	flush();
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	trace_report_forget();
	pthread_mutex_unlock(&lock);
}

/*
 * Makes the path of the trace file absolute, because a process may change its current folder.
 */
static bool take_path(const char *path)
{
	char folder[PATH_MAX] = "";

	if (path[0] != '/' && !getcwd(folder, sizeof(folder)))
		return false;
	return snprintf(out.path, sizeof(out.path), "%s%s%s", folder, folder[0] ? "/" : "", path) <
	       (int)sizeof(out.path);
}

static void read_environment(void)
{
	const char *path = secure_getenv("NNACCEL_TRACE"), *report = secure_getenv("NNACCEL_REPORT");
	int watches = 0;

	if (path && path[0] && take_path(path))
		watches |= WATCH_EVENTS;
	if (report && !strcmp(report, "1"))
		watches |= WATCH_REPORT;
	if (watches)
		pthread_atfork(before_fork, after_fork, after_fork_in_child);
	__atomic_fetch_or(&trace_watches, watches, __ATOMIC_RELAXED);
}

void trace_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_environment);
}

__attribute__((destructor)) static void end(void)
{
	if (!trace_wants(WATCH_REPORT))
		return;
	pthread_mutex_lock(&lock);
	trace_report_print();
	pthread_mutex_unlock(&lock);
}

/* ---- lines; the functions are called with the lock held ---- */

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(out.text + out.used, sizeof(out.text) - out.used, format, args);
	va_end(args);
	if (length > 0)
		out.used += (size_t)length;
}

/* Writes a JSON string; a character that is not ASCII text becomes '?'. */
static void put_string(const char *text)
{
	size_t room = TEXT_ROOM;

	put("\"");
	for (; *text && --room; text++) {
		if (*text == '"' || *text == '\\')
			put("\\%c", *text);
		else
			put("%c", *text < ' ' || *text > '~' ? '?' : *text);
	}
	put("\"");
}

/* Writes a trace line up to its "args" member, which the caller writes. */
static void begin_line(char phase, bool is_engine, uint64_t ns, const char *name)
{
	if (sizeof(out.text) - out.used < LINE_ROOM)
		flush();
	put("{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64 ".%03u,\"cat\":\"%s\",\"name\":", phase,
	    getpid() + (is_engine ? ENGINE_PID : 0), self.tid, ns / 1000, (unsigned int)(ns % 1000),
	    is_engine ? "engine" : "runtime");
	put_string(name);
}

static void put_name(const char *what, bool is_engine, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_name(const char *what, bool is_engine, const char *format, ...)
{
	char name[TEXT_ROOM];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	begin_line('M', is_engine, 0, what);
	put(",\"args\":{\"name\":");
	put_string(name);
	put("}},\n");
}

/* Writes the name of the process once, and the name of each thread once. */
static void introduce(bool is_engine)
{
	uint32_t *process = is_engine ? &out.engine : &out.process;
	uint32_t *thread = is_engine ? &self.engine_named : &self.named;
	char name[16] = "";

	if (*thread == current())
		return;
	self.tid = gettid();
	if (*process != current())
		put_name("process_name", is_engine, is_engine ? "engine for %s" : "%s",
			 program_invocation_short_name);
	*process = current();
	pthread_getname_np(pthread_self(), name, sizeof(name));
	put_name("thread_name", is_engine, is_engine ? "for thread %s" : "%s", name);
	*thread = current();
}

/* Ends a trace line with the name of a ResultCode. */
static void put_result(int result)
{
	put(",\"args\":{\"result\":\"%s\"}},\n", rt_result_name(result));
}

static void put_end(bool is_engine, uint64_t ns, const char *name)
{
	begin_line('E', is_engine, ns, name);
	put("},\n");
}

/* ---- what the runtime tells ---- */

void trace_begin(const char *name, const char *format, ...)
{
	char members[TEXT_ROOM];
	va_list args;

	if (!trace_wants(WATCH_EVENTS))
		return;
	va_start(args, format);
	vsnprintf(members, sizeof(members), format, args);
	va_end(args);
	pthread_mutex_lock(&lock);
	introduce(false);
	begin_line('B', false, clock_ns(), name);
	put(",\"args\":{%s}},\n", members);
	pthread_mutex_unlock(&lock);
}

void trace_end(const char *name, int result)
{
	if (!trace_wants(WATCH_EVENTS))
		return;
	pthread_mutex_lock(&lock);
	introduce(false);
	begin_line('E', false, clock_ns(), name);
	put_result(result);
	pthread_mutex_unlock(&lock);
}

void trace_instant(const char *name, const char *reason)
{
	if (!trace_wants(WATCH_EVENTS))
		return;
	pthread_mutex_lock(&lock);
	introduce(false);
	begin_line('i', false, clock_ns(), name);
	put(",\"s\":\"t\",\"args\":{\"reason\":");
	put_string(reason);
	put("}},\n");
	pthread_mutex_unlock(&lock);
}

/*
 * Writes an event's id, which contains the process number so that ids of several processes in one
 * trace file differ.
 */
static void put_id(uint64_t number)
{
	put(",\"id\":\"%x.%" PRIx64 "\"", (unsigned int)getpid(), number);
}

uint64_t trace_async_begin(const char *name)
{
	uint64_t number;

	if (!trace_wants(WATCH_EVENTS))
		return 0;
	pthread_mutex_lock(&lock);
	introduce(false);
	number = ++out.last_number;
	begin_line('b', false, clock_ns(), name);
	put_id(number);
	put("},\n");
	pthread_mutex_unlock(&lock);
	return number;
}

void trace_async_end(const char *name, uint64_t number, int result)
{
	if (!number || !trace_wants(WATCH_EVENTS))
		return;
	pthread_mutex_lock(&lock);
	introduce(false);
	begin_line('e', false, clock_ns(), name);
	put_id(number);
	put_result(result);
	pthread_mutex_unlock(&lock);
}

/* ---- executions ---- */

uint32_t trace_new_model(void)
{
	static uint32_t models;

	return __atomic_add_fetch(&models, 1, __ATOMIC_RELAXED);
}

struct trace_step *trace_new_step(const struct step *step, uint32_t model, uint32_t number,
				  uint32_t num_steps)
{
	struct trace_step *t;

	if (!trace_wants(WATCH_REPORT))
		return NULL;
	pthread_mutex_lock(&lock);
	t = trace_report_new_step(step, model, number, num_steps);
	pthread_mutex_unlock(&lock);
	return t;
}

static const char *operation_name(int32_t type)
{
	return type == NN_OPERATIONS ? "operations" : nn_op_name(type);
}

static void put_operations(const struct nn_times *times, bool is_engine)
{
	for (uint32_t i = 0; i < times->count; i++) {
		const struct nn_operation_time *t = &times->list[i];

		begin_line('B', is_engine, t->begin_ns, operation_name(t->type));
		put(",\"args\":{\"operation\":%u%s}},\n", t->index & ~NN_OTHER_MODEL,
		    t->index & NN_OTHER_MODEL ? ",\"of\":\"the engine's form of the model\"" : "");
		put_end(is_engine, t->end_ns, operation_name(t->type));
	}
}

/*
 * Writes an execution's event in the engine, and a flow event (an arrow) from the runtime, which
 * submitted the execution, to the engine.
 */
static void put_engine(const char *device, const struct trace_run *run)
{
	introduce(true);
	begin_line('B', true, run->submitted_ns, "queue");
	put("},\n");
	put_end(true, run->engine_begin_ns, "queue");
	begin_line('B', true, run->engine_begin_ns, device);
	put("},\n");
	begin_line('f', true, run->engine_begin_ns, "submit");
	put_id(out.last_number);
	put(",\"bp\":\"e\"},\n");
	put_operations(&run->times, true);
	put_end(true, run->engine_end_ns, device);
}

/* Writes all events of an execution together; the events of each thread are in order. */
static void put_execution(const struct step *step, const char *device, const struct trace_run *run,
			  uint64_t begin_ns, uint64_t end_ns, int result)
{
	char name[TEXT_ROOM];

	snprintf(name, sizeof(name), "%s on %s", step ? "part" : "whole model", device);
	pthread_mutex_lock(&lock);
	introduce(false);
	begin_line('B', false, begin_ns, name);
	put(",\"args\":{\"copied_in\":%" PRIu64 ",\"copied_out\":%" PRIu64 "}},\n", run->copied_in,
	    run->copied_out);
	if (run->engine_begin_ns) {
		out.last_number++;
		begin_line('s', false, run->submitted_ns, "submit");
		put_id(out.last_number);
		put("},\n");
		put_engine(device, run);
	} else {
		put_operations(&run->times, false);
	}
	begin_line('E', false, end_ns, name);
	put_result(result);
	pthread_mutex_unlock(&lock);
}

/* Drops impossible times, because the engine's process, which writes the times, is not trusted. */
static void check_times(struct trace_run *run, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t first = run->engine_begin_ns ? run->engine_begin_ns : begin_ns;
	uint64_t last = run->engine_begin_ns ? run->engine_end_ns : end_ns;

	if (run->engine_begin_ns &&
	    (first < run->submitted_ns || last < first || last > run->answered_ns))
		run->engine_begin_ns = run->engine_end_ns = 0;
	else if (run->engine_begin_ns || !run->submitted_ns)
		for (uint32_t i = 0; i < run->times.count; i++) {
			const struct nn_operation_time *t = &run->times.list[i];

			if (t->begin_ns < first || t->end_ns < t->begin_ns || t->end_ns > last)
				run->times.count = 0;
			else
				first = t->end_ns;
		}
	if (run->submitted_ns && !run->engine_begin_ns)
		run->times.count = 0;
}

int trace_execute(const struct step *step, struct prepared *prepared, struct request *request,
		  struct nn_error *err)
{
	const ANeuralNetworksDevice *device = step && prepared == step->prepared ? step->device : device_cpu();
	uint32_t room = step ? 2 * step->graph.model.subgraphs[0].num_operations + 64 : 1024;
	struct trace_run run = { .times.list = malloc(room * sizeof(*run.times.list)) };
	uint64_t begin_ns = clock_ns(), end_ns;
	int result;

	run.times.room = run.times.list ? room : 0;
	request->trace = &run;
	result = prepared->ops->execute(prepared, request, err);
	request->trace = NULL;
	end_ns = clock_ns();
	check_times(&run, begin_ns, end_ns);
	if (trace_wants(WATCH_EVENTS))
		put_execution(step, device->name, &run, begin_ns, end_ns, result);
	if (step && step->trace) {
		pthread_mutex_lock(&lock);
		trace_report_add(step->trace, device != step->device, &run, end_ns - begin_ns, result);
		pthread_mutex_unlock(&lock);
	}
	free(run.times.list);
	return result;
}
