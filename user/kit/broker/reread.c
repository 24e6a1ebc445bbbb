// SPDX-License-Identifier: MIT
/*
 * After a change of plug-ins or groups, a separate process examines plug-ins and groups, so that
 * the broker does not wait. Workers that start after an examination load the plug-ins that the
 * examination found valid.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/broker/reread.h"

/*
 * Time without changes after which the folder of plug-ins is examined, because programs write a
 * file in several steps.
 */
#define SETTLE_NS UINT64_C(300000000)

#define EVENTS (IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | \
		IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/*
 * The file with the system's groups. The broker watches the folder of GROUPS_FILE, not the file,
 * because programs replace the whole file.
 */
#define GROUPS_FOLDER "/etc"
#define GROUPS_FILE "group"
#define GROUPS_EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR)

/* Descriptors of the examining process, besides standard input, output and error. */
enum { ANSWER_FD = 3, PROGRAM_FD = 4 };

void reread_init(struct reread *r, const struct extensions *e)
{
	*r = (struct reread){ .answer = -1 };
	r->changes = e->folder ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
	if (r->changes >= 0 && inotify_add_watch(r->changes, e->folder, EVENTS) < 0) {
		log_debug("extensions: %s is not watched: %s", e->folder, strerror(errno));
		close(r->changes);
		r->changes = -1;
	}
	if (r->changes >= 0)
		r->groups = inotify_add_watch(r->changes, GROUPS_FOLDER, GROUPS_EVENTS);
}

/*
 * Returns whether an inotify event requires a new examination. In the folder of GROUPS_FILE, only
 * changes of GROUPS_FILE require an examination.
 */
static bool matters(const struct reread *r, const struct inotify_event *event)
{
	return event->wd != r->groups || (event->len && !strcmp(event->name, GROUPS_FILE));
}

void reread_changed(struct reread *r)
{
	_Alignas(struct inotify_event) char events[4096];
	const struct inotify_event *event;
	ssize_t n;

	while ((n = read(r->changes, events, sizeof(events))) > 0) {
		for (char *at = events; at < events + n; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)at;
			if (matters(r, event))
				r->at_ns = clock_ns() + SETTLE_NS;
		}
	}
}

/* ---- the process ---- */

/*
 * Sends the broker the names that the examining process has found. The first line is the group's
 * number, or is empty if the group does not exist; a line for each valid plug-in follows.
 */
static bool write_names(const struct extensions *e)
{
	const struct spawn_plugins *plugins = &e->plugins;

	if (dprintf(ANSWER_FD, e->has_group ? "%u\n" : "\n", (unsigned int)e->gid) < 0)
		return false;
	for (unsigned int i = 0; i < plugins->count; i++) {
		size_t length = strlen(plugins->files[i]);

		if (write(ANSWER_FD, plugins->files[i], length) != (ssize_t)length ||
		    write(ANSWER_FD, "\n", 1) != 1)
			return false;
	}
	return true;
}

/*
 * Runs the examining process. The examining process has none of the broker's files open, especially
 * not the engine node, and ends when the broker ends.
 */
__attribute__((noreturn)) static void look(const struct extensions *extensions,
					   const struct spawner *spawner, int answer, pid_t broker)
{
	struct extensions e = { .folder = extensions->folder, .is_default = extensions->is_default,
				.group = extensions->group };
	int program = fcntl(spawner->program, F_DUPFD_CLOEXEC, PROGRAM_FD + 1);
	struct spawner s = *spawner;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != broker)
		_exit(EXIT_FAILURE);
	answer = fcntl(answer, F_DUPFD_CLOEXEC, PROGRAM_FD + 1);
	if (program < 0 || answer < 0 || dup3(answer, ANSWER_FD, O_CLOEXEC) < 0 ||
	    dup3(program, PROGRAM_FD, O_CLOEXEC) < 0 || close_range(PROGRAM_FD + 1, ~0U, 0))
		_exit(EXIT_FAILURE);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	s.program = PROGRAM_FD;
	_exit(extensions_find(&e, &s) && write_names(&e) ? EXIT_SUCCESS : EXIT_FAILURE);
}

bool reread_start(struct reread *r, const struct extensions *e, const struct spawner *spawner)
{
	pid_t broker = getpid();
	int ends[2];

	if (!r->at_ns || clock_ns() < r->at_ns || r->answer >= 0)
		return false;
	r->at_ns = 0;
	r->size = 0;
	if (pipe2(ends, O_CLOEXEC)) {
		log_error("extensions: pipe: %s", strerror(errno));
		return false;
	}
	r->pid = fork();
	if (!r->pid)
		look(e, spawner, ends[1], broker);
	close(ends[1]);
	if (r->pid < 0) {
		log_error("extensions: fork: %s", strerror(errno));
		close(ends[0]);
		return false;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	r->answer = ends[0];
	log_info("extensions: %s has changed", e->folder);
	return true;
}

/* ---- its answer ---- */

static bool reap(struct reread *r)
{
	int status = 0;

	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void take_names(struct reread *r, struct extensions *e)
{
	char *line = r->text, *end, *name;

	end = memchr(line, '\n', r->size);
	if (!end)
		return;
	e->has_group = end != line;
	e->gid = (gid_t)strtoul(line, NULL, 10);
	for (line = end + 1;
	     (end = memchr(line, '\n', (size_t)(r->text + r->size - line)));
	     line = end + 1) {
		*end = '\0';
		name = e->plugins.count < NNA_ENGINE_MAX_PLUGINS ? strdup(line) : NULL;
		if (name)
			e->files[e->plugins.count++] = name;
	}
	e->files[e->plugins.count] = NULL;
}

bool reread_read(struct reread *r, struct extensions *e)
{
	ssize_t n = read(r->answer, r->text + r->size, sizeof(r->text) - r->size);

	if (n > 0)
		r->size += (size_t)n;
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return false;
	extensions_free(e);
	if (reap(r))
		take_names(r, e);
	else
		log_error("extensions: %s cannot be used: there are none", e->folder);
	log_info("extensions: %u for new workers", e->plugins.count);
	return true;
}

void reread_end(struct reread *r)
{
	if (r->answer >= 0) {
		kill(r->pid, SIGKILL);
		reap(r);
		close(r->answer);
	}
	if (r->changes >= 0)
		close(r->changes);
}
