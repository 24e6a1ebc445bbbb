/* SPDX-License-Identifier: MIT */
/*
 * Tests the memory limit of a worker: the smaller of the container's limit and a user's limit. This
 * test needs root. The test is skipped if workers have no cgroups.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hal_fixture.h"
#include "tests/model_builder.h"

#define USER 7003
#define ENGINE "/sys/fs/cgroup/" "*/user-7003"
#define CONTAINER "/sys/fs/cgroup/shares-test"
#define INNER CONTAINER "/inner"
#define POD INNER "/pod"
#define OTHER CONTAINER "/other"

#define CLIENTS 8
#define OUTER_BYTES (256 << 20)
#define INNER_BYTES (64 << 20)

/*
 * Number of floats in the large model: the floats take 64 MiB, so the worker exceeds INNER_BYTES.
 */
#define HUGE (1 << 24)

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool fine = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return fine;
}

static uint64_t number_in(const char *folder, const char *name)
{
	char path[512], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	return strtoull(text, NULL, 10);
}

/*
 * Finds the only folder that matches a pattern of paths. Returns false if no folder or several
 * folders match.
 */
static bool find(const char *pattern, char path[512])
{
	glob_t found;
	bool one;

	one = !glob(pattern, 0, NULL, &found) && found.gl_pathc == 1;
	if (one)
		snprintf(path, 512, "%s", found.gl_pathv[0]);
	globfree(&found);
	return one;
}

/* ---- client processes in cgroups, to which the test sends letters as commands ---- */

struct client {
	pid_t pid;
	int to, from;
};

enum { ASK = 'a', HUGE_MODEL = 'h', CLOSE = 'c', ORPHAN = 'o' };

static enum nn_status compute_huge(void)
{
	const int32_t size = HUGE, axis = 0;
	const struct nna_argument in = { .length = 4 }, out = { .offset = 2048, .length = 4 };
	uint32_t value, dims, filled, axes, keep, most;
	struct nna_prepared_model *p = NULL;
	struct nna_memory *memory;
	const struct nna_request request = { .size = sizeof(request),
					     1, 1, 1, &in, &out, &memory, 0, NULL };
	struct model_builder b;
	enum nn_status status;

	mb_init(&b);
	value = mb_operand(&b, NN_FLOAT32, NN_SUBGRAPH_INPUT, MB_NONE);
	dims = mb_constant(&b, NN_TENSOR_INT32, &size, sizeof(size), MB_DIMS(1));
	filled = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS((uint32_t)size));
	mb_operation(&b, NN_OP_FILL, MB_LIST(dims, value), MB_LIST(filled));
	axes = mb_constant(&b, NN_TENSOR_INT32, &axis, sizeof(axis), MB_DIMS(1));
	keep = mb_constant(&b, NN_BOOL, &(bool){ true }, 1, MB_NONE);
	most = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&b, NN_OP_REDUCE_MAX, MB_LIST(filled, axes, keep), MB_LIST(most));
	status = nna_memory_alloc(device, 4096, &memory, &err);
	if (!status)
		status = nna_prepare_model(device, &b.model, NULL, NULL, &p, &err);
	if (!status)
		status = nna_execute(p, &request, NULL, NULL, &err);
	nna_prepared_model_free(p);
	return status;
}

static int open_device(void *status)
{
	*(uint8_t *)status = (uint8_t)nna_device_open(NULL, &device, &err);
	return 0;
}

/*
 * Opens the device in a child process that shares memory and files with this process. The child
 * process ends after opening.
 */
static uint8_t open_in_child(void)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	uint8_t status = 255;
	pid_t child = clone(open_device, stack + sizeof(stack),
			    CLONE_VM | CLONE_FILES | CLONE_VFORK | SIGCHLD, &status);

	return child > 0 && waitpid(child, NULL, 0) == child ? status : 255;
}

static uint8_t act(char what)
{
	struct nn_device_info info = { .size = sizeof(info) };
	uint8_t status = 0;

	if (what == ORPHAN)
		return open_in_child();
	if (what == CLOSE) {
		nna_device_close(device);
		device = NULL;
		return 0;
	}
	if (!device)
		status = (uint8_t)nna_device_open(NULL, &device, &err);
	if (!status)
		status = (uint8_t)nna_device_get_info(device, &info, &err);
	if (!status && what == HUGE_MODEL)
		status = (uint8_t)compute_huge();
	return status;
}

/* Process ids of the clients that a test has started and not yet ended. */
static pid_t living[CLIENTS];

static struct client begin(const char *cgroup)
{
	char path[2048], what;
	int to[2], from[2];
	struct stat node;
	struct client c;
	uint8_t status;
	gid_t group;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	assert_int_equal(stat(NNA_DEVICE_PATH, &node), 0);
	c = (struct client){ fork(), to[1], from[0] };
	if (!c.pid) {
		close(to[1]);
		group = node.st_gid;
		snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
		if ((cgroup[0] && !write_to(path, "0")) || setgroups(1, &group) ||
		    setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
			_exit(1);
		while (read(to[0], &what, 1) == 1) {
			status = act(what);
			if (write(from[1], &status, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	for (int i = 0; i < CLIENTS; i++)
		if (!living[i]) {
			living[i] = c.pid;
			break;
		}
	return c;
}

static enum nn_status tell(const struct client *c, char what)
{
	uint8_t status = 0;

	assert_int_equal(write(c->to, &what, 1), 1);
	assert_int_equal(read(c->from, &status, 1), 1);
	return status;
}

static void end(const struct client *c)
{
	close(c->to);
	close(c->from);
	waitpid(c->pid, NULL, 0);
	for (int i = 0; i < CLIENTS; i++)
		if (living[i] == c->pid)
			living[i] = 0;
}

/* ---- tests ---- */

static int set_up_container(void **state)
{
	static char text[32];
	char left[512];

	(void)state;
	/* Wait until the workers of the previous test's clients have ended. */
	while (find(ENGINE "/box-*", left) || find(ENGINE "/worker-*", left))
		usleep(10000);
	mkdir(CONTAINER, 0755);
	if (!write_to(CONTAINER "/cgroup.subtree_control", "+memory"))
		return 0;	/* without cgroups, all tests are skipped */
	mkdir(INNER, 0755);
	mkdir(OTHER, 0755);
	write_to(INNER "/cgroup.subtree_control", "+memory");
	mkdir(POD, 0755);
	snprintf(text, sizeof(text), "%d", OUTER_BYTES);
	write_to(CONTAINER "/memory.max", text);
	snprintf(text, sizeof(text), "%d", INNER_BYTES);
	write_to(INNER "/memory.max", text);
	return 0;
}

static int tear_down_container(void **state)
{
	(void)state;
	/* Remove clients and cgroups that a failed test may have left. */
	for (int i = 0; i < CLIENTS; i++)
		if (living[i]) {
			kill(living[i], SIGKILL);
			waitpid(living[i], NULL, 0);
			living[i] = 0;
		}
	while (!access(CONTAINER, F_OK)) {
		if (system("find " CONTAINER " -depth -type d -exec rmdir {} +"))
			usleep(20000);
	}
	return 0;
}

/*
 * All clients in a container share one memory limit: the smallest limit of the cgroups around the
 * clients.
 */
static void test_containers(void **state)
{
	struct client inner, twin, outer, free_one;
	char folder[512], box[512], again[512];

	(void)state;
	if (access(INNER "/memory.max", F_OK))
		skip();
	inner = begin(POD);
	assert_int_equal(tell(&inner, ASK), NN_OK);
	if (!find(ENGINE, folder)) {
		end(&inner);
		skip();
	}
	assert_true(find(ENGINE "/box-*", box));
	assert_int_equal(number_in(box, "memory.max"), INNER_BYTES);
	assert_true(find(ENGINE "/box-*/worker-*", folder));
	twin = begin(POD);
	assert_int_equal(tell(&twin, ASK), NN_OK);
	assert_true(find(ENGINE "/box-*", again));
	assert_string_equal(again, box);
	end(&twin);
	/*
	 * The large model exceeds the memory limit of the client `inner`, so the client's worker is
	 * killed.
	 */
	assert_int_not_equal(tell(&inner, HUGE_MODEL), NN_OK);
	end(&inner);
	while (!access(box, F_OK))
		usleep(10000);
	/*
	 * The cgroup of the client `outer` has no memory limit, so the limit of the parent cgroup
	 * applies.
	 */
	outer = begin(OTHER);
	assert_int_equal(tell(&outer, ASK), NN_OK);
	assert_true(find(ENGINE "/box-*", box));
	assert_int_equal(number_in(box, "memory.max"), OUTER_BYTES);
	/*
	 * A client whose container has no memory limit may use as much memory as its user may use.
	 */
	free_one = begin("");
	assert_int_equal(tell(&free_one, HUGE_MODEL), NN_OK);
	assert_true(find(ENGINE "/worker-*", folder));
	end(&free_one);
	end(&outer);
}

/*
 * The memory limit of a cgroup also applies to a client in the innermost of five nested cgroups
 * with the longest possible names.
 */
static void test_long_names(void **state)
{
	char path[2048] = OTHER, box[512];
	struct client c;

	(void)state;
	if (access(INNER "/memory.max", F_OK))
		skip();
	for (int i = 0; i < 5; i++) {
		size_t length = strlen(path);

		path[length] = '/';
		memset(path + length + 1, 'a' + i, 255);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	c = begin(path);
	assert_int_equal(tell(&c, ASK), NN_OK);
	if (find(ENGINE, box)) {
		assert_true(find(ENGINE "/box-*", box));
		assert_int_equal(number_in(box, "memory.max"), OUTER_BYTES);
	}
	end(&c);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(rmdir(path), 0);
		*strrchr(path, '/') = '\0';
	}
}

/*
 * If the process that opened the device has ended, the memory limit of this process is unknown, so
 * no worker serves the context.
 */
static void test_dead_opener(void **state)
{
	char folder[512];
	struct client c;

	(void)state;
	if (access(INNER "/memory.max", F_OK))
		skip();
	c = begin(POD);
	assert_int_equal(tell(&c, ASK), NN_OK);
	if (!find(ENGINE, folder)) {
		end(&c);
		skip();
	}
	assert_int_equal(tell(&c, CLOSE), 0);
	assert_int_equal(tell(&c, ORPHAN), NN_OK);
	assert_int_not_equal(tell(&c, ASK), NN_OK);
	assert_false(find(ENGINE "/worker-*", folder));
	/* If the client itself opens the device again, the client gets a worker. */
	assert_int_equal(tell(&c, CLOSE), 0);
	assert_int_equal(tell(&c, ASK), NN_OK);
	end(&c);
}

/* Finds workers without a client by the names of their cgroups. Returns their number. */
static unsigned int find_idle(char names[2048])
{
	unsigned int count = 0;
	size_t length = 0;
	glob_t found;

	names[0] = '\0';
	if (!glob("/sys/fs/cgroup/" "*/idle/worker-*", 0, NULL, &found))
		for (count = 0; count < found.gl_pathc; count++)
			length += (size_t)snprintf(names + length, 2048 - length, "%s ",
						   found.gl_pathv[count]);
	globfree(&found);
	return count;
}

/*
 * If nnacceld cannot make a cgroup for a user, nnacceld refuses the user, and keeps all idle
 * workers.
 */
static void test_no_cgroup(void **state)
{
	char idle[512], most[600], before[2048], after[2048];
	struct client c;

	(void)state;
	if (!find("/sys/fs/cgroup/" "*/idle", idle))
		skip();
	*strrchr(idle, '/') = '\0';
	snprintf(most, sizeof(most), "%s/cgroup.max.descendants", idle);
	/* Wait until nnacceld starts no more idle workers. */
	do {
		find_idle(before);
		usleep(500000);
	} while (!find_idle(after) || strcmp(before, after));
	assert_true(write_to(most, "1"));
	c = begin("");
	assert_int_not_equal(tell(&c, ASK), NN_OK);
	end(&c);
	/* If nnacceld kills idle workers by mistake, the workers end within half a second. */
	usleep(500000);
	assert_true(write_to(most, "max"));
	find_idle(after);
	assert_string_equal(before, after);
	c = begin("");
	assert_int_equal(tell(&c, ASK), NN_OK);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_cgroup),
		cmocka_unit_test_setup_teardown(test_containers, set_up_container,
						tear_down_container),
		cmocka_unit_test_setup_teardown(test_long_names, set_up_container,
						tear_down_container),
		cmocka_unit_test_setup_teardown(test_dead_opener, set_up_container,
						tear_down_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
