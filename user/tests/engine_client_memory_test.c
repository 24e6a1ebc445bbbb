/* SPDX-License-Identifier: MIT */
/*
 * Tests how the engine finds the memory limit of a client; temporary folders simulate cgroups. The
 * test replaces ioctl(), which reports the client's process, and fopen(), which opens the file with
 * the cgroup of the process. The test can change the client's process and cgroup between two calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/nnaccel.h>

#include "base/cgroup_path.h"
#include "kit/broker/client_memory.h"
#include "tests/heap_blocks.h"

#define PID 4242
#define CONTEXT 7
#define LONG_NAME 255

static char mount[] = "/tmp/nnaccel-cgroups-XXXXXX";

/*
 * Results of successive calls of ioctl() and fopen(). When fopen() has returned all cgroups, it
 * returns the last cgroup again.
 */
static struct {
	bool dead_from[4];		/* for each ioctl(): true if the client is dead */
	uint32_t pid;
	unsigned int asked;
	const char *cgroups[3];
	unsigned int read;
	bool moves_always;		/* set if the process alternates between two cgroups */
} told;

int ioctl(int fd, unsigned long request, ...)
{
	struct nnaccel_engine_opener *opener;
	va_list args;

	(void)fd;
	va_start(args, request);
	opener = va_arg(args, struct nnaccel_engine_opener *);
	va_end(args);
	assert_int_equal(request, NNACCEL_ENGINE_OPENER);
	assert_int_equal(opener->context, CONTEXT);
	opener->out_lives = !told.dead_from[told.asked];
	opener->out_pid = opener->out_lives ? told.pid : 0;
	told.asked++;
	return 0;
}

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *, const char *);
	static char line[2 * CGROUP_PATH_SIZE];
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/cgroup", PID);
	if (strcmp(path, name)) {
		if (!real)
			*(void **)&real = dlsym(RTLD_NEXT, "fopen");
		return real(path, mode);
	}
	snprintf(line, sizeof(line), "1:cpu:/elsewhere\n0::%s\n", told.cgroups[told.read]);
	if (told.moves_always)
		told.read ^= 1;
	else if (told.cgroups[told.read + 1])
		told.read++;
	return fmemopen(line, strlen(line), "r");
}

/* Sets the cgroups that successive reads of the client's cgroup return. */
#define TELL(...) tell((const char *const[]){ __VA_ARGS__, NULL })
static void tell(const char *const *cgroups)
{
	memset(&told, 0, sizeof(told));
	told.pid = PID;
	for (int i = 0; cgroups[i]; i++)
		told.cgroups[i] = cgroups[i];
}

/* Makes a cgroup with a memory limit (NULL: without the memory controller). Returns its number. */
static uint64_t make(const char *cgroup, const char *limit)
{
	char path[2 * CGROUP_PATH_SIZE];
	struct stat st;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", mount, cgroup);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(stat(path, &st), 0);
	if (limit) {
		strcat(path, "/memory.max");
		file = fopen(path, "w");
		assert_non_null(file);
		assert_true(fputs(limit, file) >= 0);
		fclose(file);
	}
	return st.st_ino;
}

static const char *find(struct client_memory *memory)
{
	memset(memory, 0xa5, sizeof(*memory));
	return client_memory_find(mount, -1, CONTEXT, memory);
}

static void expect(uint64_t bytes, uint64_t box)
{
	struct client_memory memory;

	assert_null(find(&memory));
	assert_int_equal(memory.bytes, bytes);
	assert_int_equal(memory.box, box);
}

static void expect_unknown(const char *what)
{
	struct client_memory memory;
	const char *fault = find(&memory);

	assert_non_null(fault);
	assert_non_null(strstr(fault, what));
}

static void test_least(void **state)
{
	uint64_t outer, inner, same, zero, dots;

	(void)state;
	outer = make("/outer", "1000000\n");
	inner = make("/outer/inner", "500000\n");
	make("/outer/inner/most", "max\n");
	make("/outer/inner/none", NULL);
	make("/outer/large", "2000000\n");
	make("/free", "max\n");
	TELL("/outer/inner/most");
	expect(500000, inner);
	TELL("/outer/inner/none");
	expect(500000, inner);
	TELL("/outer/large");
	expect(1000000, outer);
	/*
	 * If a cgroup and its parent have equal limits, the engine uses the limit of the inner
	 * cgroup.
	 */
	same = make("/outer/same", "1000000\n");
	TELL("/outer/same");
	expect(1000000, same);
	TELL("/free");
	expect(CLIENT_MEMORY_ALL, 0);
	TELL("/");
	expect(CLIENT_MEMORY_ALL, 0);
	zero = make("/outer/zero", "0\n");
	TELL("/outer/zero");
	expect(1, zero);
	dots = make("/..named", "700000\n");
	TELL("/..named");
	expect(700000, dots);
}

/*
 * If the process that opened the context has ended, the limit is unknown, because another process
 * may already have the same process id.
 */
static void test_dead_opener(void **state)
{
	(void)state;
	TELL("/free");
	told.dead_from[0] = true;
	expect_unknown("has ended");
	TELL("/free");
	told.dead_from[1] = true;
	expect_unknown("ended meanwhile");
}

static void test_unseen(void **state)
{
	(void)state;
	TELL("/free");
	told.pid = 0;
	expect_unknown("PID namespace; see --no-client-limit");
	TELL("/../elsewhere");
	expect_unknown("cgroup namespace; see --no-client-limit");
	TELL("/..");
	expect_unknown("cgroup namespace; see --no-client-limit");
}

/*
 * The engine finds the limit of a cgroup whose path has five names of the maximum length, but
 * rejects a path longer than the kernel reports.
 */
static void test_long_names(void **state)
{
	char path[2 * CGROUP_PATH_SIZE] = "/deep";
	uint64_t box;

	(void)state;
	box = make(path, "300000\n");
	for (int i = 0; i < 5; i++) {
		size_t length = strlen(path);

		path[length] = '/';
		memset(path + length + 1, 'a' + i, LONG_NAME);
		path[length + 1 + LONG_NAME] = '\0';
		make(path, "max\n");
	}
	TELL(path);
	expect(300000, box);
	memset(path, 'x', CGROUP_PATH_SIZE);
	path[0] = '/';
	path[CGROUP_PATH_SIZE] = '\0';
	TELL(path);
	expect_unknown("/proc does not tell");
}

static void test_moved(void **state)
{
	uint64_t box;

	(void)state;
	make("/before", "max\n");
	box = make("/after", "400000\n");
	TELL("/before", "/after");
	expect(400000, box);
	/*
	 * The client's first cgroup no longer exists when the engine reads its limit, because the
	 * client has moved.
	 */
	TELL("/removed", "/after");
	expect(400000, box);
	TELL("/before", "/after");
	told.moves_always = true;
	expect_unknown("moved between cgroups");
}

static void test_unreadable(void **state)
{
	(void)state;
	make("/odd", "max\n");
	make("/odd/inner", NULL);
	/* The engine cannot read the limit, because memory.max is a folder. */
	make("/odd/inner/memory.max", NULL);
	TELL("/odd/inner");
	expect_unknown("cannot be read");
	TELL("/missing");
	expect_unknown("cannot be read");
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(mount) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[sizeof(mount) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", mount);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_least),
		heap_unit_test(test_dead_opener),
		heap_unit_test(test_unseen),
		heap_unit_test(test_long_names),
		heap_unit_test(test_moved),
		heap_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests_name("engine client memory", tests, set_up, tear_down);
}
