/* SPDX-License-Identifier: MIT */
/*
 * Kills a process, or simulates a disk error, at every system call in turn.
 */
#define _GNU_SOURCE
#include "tests/killing.h"

#include "../../selftests/lib/runner.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_CALLS 2000
#define MAX_NAMES 64
#define NO_CALL UINT32_MAX

/*
 * System calls by which a victim (the child process to be killed) marks points in the trace. The
 * victim calls getppid() and getpgid() only to mark points.
 */
#define MARK "getppid"
#define ACKNOWLEDGE "getpgid"

/* The fd to which a victim writes a byte when the victim's data are stored durably. */
#define ACKNOWLEDGED_FD 9

/*
 * A system call as strace identifies it: by name, and by number among the calls of the same name.
 */
struct call {
	char name[24];
	unsigned int number;
};

struct calls {
	/* the victim's system calls between its two MARK calls */
	struct call list[MAX_CALLS];
	unsigned int count, marks;
	/* number of calls in `list` before the call ACKNOWLEDGE, or NO_CALL */
	unsigned int acknowledged;
	/*
	 * 1 + index of the last write before the victim acknowledges, and 1 + index of the last
	 * sync before the victim acknowledges.
	 */
	unsigned int written, synced;
};

void killing_mark(void)
{
	getppid();
}

void killing_acknowledge(void)
{
	getpgid(0);
	if (write(ACKNOWLEDGED_FD, "a", 1) != 1)
		_exit(98);
}

/*
 * Errors that system calls return if the disk is full, read-only or broken. In this list no read
 * fails with EIO, because SQLite treats a page that cannot be read as damaged.
 */
static const struct disk_error {
	const char *call, *error;
} disk_errors[] = {
	{ "openat", "EIO" },
	{ "openat", "EROFS" },
	{ "pread64", "ETIMEDOUT" },
	{ "pwrite64", "EIO" },
	{ "pwrite64", "ENOSPC" },
	{ "fsync", "EIO" },
	{ "fdatasync", "EIO" },
	{ "ftruncate", "EIO" },
	{ "ftruncate", "ENOSPC" },
	{ "mkdir", "EROFS" },
	{ "rename", "EROFS" },
	{ "unlink", "EROFS" },
	{ "unlinkat", "EROFS" },
};

/*
 * Runs this program as a victim under strace; returns the victim's status in the form of waitpid().
 */
static int strace(const char *log, const char *inject, const char *what, const char *folder,
		  bool *acknowledged)
{
	char self[4096] = "", byte;
	int status, ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
		    dup2(ends[1], ACKNOWLEDGED_FD) < 0)
			_exit(99);
		setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
		execlp("strace", "strace", "-qq", "-o", log, "-e", inject, self, what, folder,
		       NULL);
		_exit(99);
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*acknowledged = read(ends[0], &byte, 1) == 1;
	close(ends[0]);
	return status;
}

/* Counts a system call; returns the number of the call among the calls of the same name. */
static unsigned int count_name(struct call *names, const char *name)
{
	unsigned int i = 0;

	while (i < MAX_NAMES && names[i].number && strcmp(names[i].name, name))
		i++;
	assert_true(i < MAX_NAMES);
	strcpy(names[i].name, name);
	return ++names[i].number;
}

static void add_call(struct calls *c, const char *name, unsigned int number)
{
	assert_true(c->count < MAX_CALLS);
	strcpy(c->list[c->count].name, name);
	c->list[c->count++].number = number;
	if (!strcmp(name, ACKNOWLEDGE))
		c->acknowledged = c->count;
	if (c->acknowledged != NO_CALL)
		return;
	if (strstr(name, "write"))
		c->written = c->count;
	else if (!strcmp(name, "fsync") || !strcmp(name, "fdatasync"))
		c->synced = c->count;
}

static void read_calls(const char *log, struct calls *c)
{
	static struct call names[MAX_NAMES];
	FILE *f = fopen(log, "r");
	char line[4096], name[24];
	unsigned int number;

	*c = (struct calls){ .acknowledged = NO_CALL };
	memset(names, 0, sizeof(names));
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%23[a-z0-9_](", name) != 1)
			continue;
		number = count_name(names, name);
		c->marks += !strcmp(name, MARK);
		if (c->marks == 1)
			add_call(c, name, number);
	}
	fclose(f);
}

/*
 * Runs the victim to the end, records the victim's system calls, and checks that the victim
 * acknowledges only after its last write was synced.
 */
static void find_calls(const char *log, const char *what, const char *folder, struct calls *c)
{
	bool acknowledged;

	assert_int_equal(strace(log, "trace=all", what, folder, &acknowledged), 0);
	assert_true(acknowledged);
	read_calls(log, c);
	assert_int_equal(c->marks, 2);
	assert_true(c->count > 0 && c->acknowledged != NO_CALL);
	assert_true(c->written > 0 && c->synced > c->written);
}

/*
 * Returns N if the test tries only each N-th system call: the value of NN_TEST_EACH, which emulated
 * machines set, or a default.
 */
static unsigned int each(void)
{
	const char *text = getenv("NN_TEST_EACH");
	int number = text ? atoi(text) : how_often(1, 7);

	return number > 0 ? (unsigned int)number : 1;
}

/* Runs the victim once without any failure; returns false if strace is missing. */
static bool begin(char log[64], const char *what, const char *folder, void (*prepare)(void),
		  void (*check)(bool acknowledged), struct calls *calls)
{
	if (system("command -v strace >/dev/null"))
		return false;
	snprintf(log, 64, "/tmp/killing.%d", (int)getpid());
	prepare();
	find_calls(log, what, folder, calls);
	check(true);
	return true;
}

unsigned int killing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged))
{
	static struct calls calls;
	char log[64], inject[96];
	unsigned int killed = 0, tried = 0;
	bool acknowledged;
	int status;

	if (!begin(log, what, folder, prepare, check, &calls))
		return 0;
	for (unsigned int i = 0; i < calls.count; i += each()) {
		prepare();
		snprintf(inject, sizeof(inject), "inject=%.23s:signal=SIGKILL:when=%u",
			 calls.list[i].name, calls.list[i].number);
		status = strace(log, inject, what, folder, &acknowledged);
		/*
		 * If a victim makes fewer calls of a name than were recorded, for example with
		 * sanitizers, the victim is not killed.
		 */
		assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
		tried++;
		killed += status != 0;
		check(acknowledged);
	}
	assert_true(killed > tried * 3 / 4);
	unlink(log);
	print_message("%u system calls\n", calls.count);
	return calls.count;
}

/*
 * Makes one system call of a victim fail or, unless `once` is set, also all later calls of the same
 * name. Returns true if the victim reported a failure.
 */
static bool fail_call(const char *log, const struct call *call, const char *error, bool once,
		      const char *what, const char *folder, void (*check)(bool acknowledged))
{
	bool acknowledged;
	char inject[96];
	int status;

	snprintf(inject, sizeof(inject), "inject=%.23s:error=%s:when=%u%s", call->name, error,
		 call->number, once ? "" : "+");
	status = strace(log, inject, what, folder, &acknowledged);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (acknowledged ? 0 : KILLING_REFUSED))
		fail_msg("%s: status %#x, acknowledged: %d", inject, status, acknowledged);
	check(acknowledged);
	return !acknowledged;
}

unsigned int failing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged))
{
	static struct calls calls;
	unsigned int runs = 0, refused = 0;
	char log[64];

	if (!begin(log, what, folder, prepare, check, &calls))
		return 0;
	for (unsigned int i = 0; i < calls.count; i += each()) {
		for (size_t e = 0; e < sizeof(disk_errors) / sizeof(*disk_errors); e++) {
			if (strcmp(disk_errors[e].call, calls.list[i].name))
				continue;
			for (int once = 0; once < 2; once++, runs++) {
				prepare();
				refused += fail_call(log, &calls.list[i], disk_errors[e].error,
						     once, what, folder, check);
			}
		}
	}
	assert_true(refused > 0 || each() > 1);
	unlink(log);
	print_message("%u errors of the disk, %u refused\n", runs, refused);
	return runs;
}
