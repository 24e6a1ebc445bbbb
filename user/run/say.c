/* SPDX-License-Identifier: MIT */
/*
 * Settings and messages of the library, texts for objects, and the report at the program's end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/run.h"

struct note {
	const void *object;
	struct note *next;
	char text[];
};

struct model {
	/* session or interpreter; in the list, the newest object at an address is first */
	const void *object;
	/* process that loaded the model; child processes do not report the model's runs */
	pid_t pid;
	uint64_t runs, ns;
	struct model *next;
	char name[256];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct note *notes;		/* under the lock */
static struct model *models;	/* list protected by `lock`; never freed */

const char *run_device(void)
{
	const char *name = getenv(RUN_DEVICE);

	return name && *name ? name : NULL;
}

bool run_set(const char *name)
{
	return getenv(name);
}

void run_reached(void)
{
	const char *path = getenv(RUN_STATE);
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	/* Ignore a failure of write(): it only causes a wrong message at the program's end. */
	(void)!write(fd, "1", 1);
	close(fd);
}

/*
 * A single write() prints the whole line, because stdio may not be usable when the program calls
 * _exit().
 */
void run_say(const char *format, ...)
{
	char line[512] = "nnaccel run: ";
	size_t length = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + length, sizeof(line) - length - 1, format, args);
	va_end(args);
	strcat(line, "\n");
	/*
	 * A message that cannot be written is lost, because there is no other output for messages.
	 */
	(void)!write(STDERR_FILENO, line, strlen(line));
	run_reached();
}

const char *run_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool run_plugin(const char *name, char *path, size_t size)
{
	Dl_info info;
	int length;

	if (!dladdr((const void *)run_plugin, &info) || !strchr(info.dli_fname, '/'))
		return false;
	length = snprintf(path, size, "%.*s/%s",
			  (int)(run_base_name(info.dli_fname) - 1 - info.dli_fname),
			  info.dli_fname, name);
	return length > 0 && (size_t)length < size;
}

/* ---- notes ---- */

bool run_note(const void *object, const char *text)
{
	struct note *note = malloc(sizeof(*note) + strlen(text) + 1);

	if (!note)
		return false;
	note->object = object;
	strcpy(note->text, text);
	pthread_mutex_lock(&lock);
	note->next = notes;
	notes = note;
	pthread_mutex_unlock(&lock);
	return true;
}

void run_forget(const void *object)
{
	pthread_mutex_lock(&lock);
	for (struct note **at = &notes; *at;) {
		struct note *note = *at;

		if (note->object == object) {
			*at = note->next;
			free(note);
		} else {
			at = &note->next;
		}
	}
	pthread_mutex_unlock(&lock);
}

bool run_noted(const void *object, char *text, size_t size)
{
	const struct note *note;

	pthread_mutex_lock(&lock);
	for (note = notes; note && note->object != object; note = note->next)
		;
	if (note)
		snprintf(text, size, "%s", note->text);
	pthread_mutex_unlock(&lock);
	return note;
}

/* ---- the report ---- */

void run_count_from(const void *object, const char *runtime, const char *name)
{
	struct model *model = run_set(RUN_REPORT) ? calloc(1, sizeof(*model)) : NULL;

	if (!model)
		return;
	model->object = object;
	model->pid = getpid();
	snprintf(model->name, sizeof(model->name), "%s: %s", runtime, name);
	pthread_mutex_lock(&lock);
	model->next = models;
	models = model;
	pthread_mutex_unlock(&lock);
}

void run_count(const void *object, uint64_t begin)
{
	uint64_t ns = clock_ns() - begin;
	struct model *model;

	pthread_mutex_lock(&lock);
	for (model = models; model && model->object != object; model = model->next)
		;
	if (model) {
		model->runs++;
		model->ns += ns;
	}
	pthread_mutex_unlock(&lock);
}

static void report(const struct model *model)
{
	uint64_t runs = model->runs, us = runs ? model->ns / runs / 1000 : 0;

	if (model->next)
		report(model->next);
	if (model->pid != getpid())
		return;
	if (runs)
		run_say("%s: %" PRIu64 " run%s, %" PRIu64 ".%03" PRIu64 " ms each", model->name, runs,
			runs == 1 ? "" : "s", us / 1000, us % 1000);
	else
		run_say("%s: no runs", model->name);
}

/*
 * Prints a message at the program's end if no process of the program has called run_reached().
 */
static void check_reached(void)
{
	const char *path = getenv(RUN_STATE);
	struct stat state;
	int pid;

	if (!path || sscanf(path, "/proc/%d/", &pid) != 1 || pid != getpid() || stat(path, &state) ||
	    state.st_size)
		return;
	run_say("%s did not use the device: it used neither ONNX Runtime nor TensorFlow Lite by a "
		"shared library; see nnaccel run --help", program_invocation_short_name);
}

/*
 * Id of the process that prints the report at its end. A child of vfork() shares this variable with
 * its parent, and must not print the parent's report.
 */
static pid_t self;

static void note_self(void)
{
	self = getpid();
}

__attribute__((constructor)) static void begin(void)
{
	note_self();
	pthread_atfork(NULL, NULL, note_self);
}

__attribute__((destructor)) static void end(void)
{
	static _Atomic bool is_over;

	if (!run_device() || getpid() != self || atomic_exchange(&is_over, true))
		return;
	if (models)
		report(models);
	check_reached();
}

/* ---- programs that end without destructors, as some shells do ---- */

#define EXIT(name) \
RUN_EXPORT _Noreturn void name(int status); \
_Noreturn void name(int status) \
{ \
	end(); \
	syscall(SYS_exit_group, status); \
	__builtin_unreachable(); \
}
EXIT(_exit)
EXIT(_Exit)
