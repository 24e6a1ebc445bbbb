/* SPDX-License-Identifier: MIT */
/*
 * Tests which options main() of nnacceld gives the broker. The test includes the source of main(),
 * and replaces the functions that start processes and the broker itself.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define main nnacceld_main
int nnacceld_main(int argc, char **argv);
#include "engine/broker/main.c"
#undef main

#include "tests/open_files.h"

#define MIB (UINT64_C(1) << 20)

/* ---- what is replaced ---- */

static const char *identity_of_worker;
static bool has_worker, has_extensions;
static unsigned int runs;

/* A copy of the options that the broker gets; the folder "" stands for no folder. */
static struct {
	char name[32], version[NNACCEL_MAX_VERSION], engine[WORKER_IDENTITY], folder[64];
	struct engine_options options;
	struct cgroup_options cgroup;
	bool has_files;			/* whether the file descriptors 0 to 2 are open */
} given;

int __wrap_broker_run(struct engine_options *options);
int __wrap_broker_run(struct engine_options *options)
{
	const char *folder = options->keeper.folder;

	runs++;
	given.options = *options;
	given.cgroup = *options->cgroup;
	given.has_files = true;
	for (int i = 0; i < 3; i++)
		given.has_files &= fcntl(i, F_GETFD) >= 0;
	snprintf(given.name, sizeof(given.name), "%s", options->name);
	snprintf(given.version, sizeof(given.version), "%s", options->version);
	snprintf(given.engine, sizeof(given.engine), "%s", options->keeper.engine);
	snprintf(given.folder, sizeof(given.folder), "%s", folder ? folder : "");
	return 42;
}

bool __wrap_spawner_init(struct spawner *spawner);
bool __wrap_spawner_init(struct spawner *spawner)
{
	spawner->program = 77;
	return has_worker;
}

bool __wrap_extensions_find(struct extensions *extensions, const struct spawner *spawner);
bool __wrap_extensions_find(struct extensions *extensions, const struct spawner *spawner)
{
	assert_non_null(extensions->folder);
	assert_int_equal(spawner->program, 77);
	return has_extensions;
}

bool __wrap_program_ask(int program, const char *argument, char *text, size_t size);
bool __wrap_program_ask(int program, const char *argument, char *text, size_t size)
{
	assert_int_equal(program, 77);
	assert_string_equal(argument, "--identify");
	assert_true(size > strlen(identity_of_worker));
	strcpy(text, identity_of_worker);
	return *text;
}

static int set_up(void **state)
{
	(void)state;
	identity_of_worker = "7-build-cpu plan 0123";
	has_worker = has_extensions = true;
	runs = 0;
	return 0;
}

/* Runs main() with at most two options. */
static int run(const char *first, const char *second)
{
	char *argv[] = { "nnacceld", (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL };

	return nnacceld_main(1 + (first != NULL) + (second != NULL), argv);
}

/* ---- tests ---- */

static void test_defaults(void **state)
{
	const struct engine_options *o = &given.options;

	(void)state;
	assert_int_equal(run(NULL, NULL), 42);
	assert_int_equal(runs, 1);
	assert_string_equal(o->device, "/dev/nnaccel-engine");
	assert_string_equal(given.name, "nnaccel");
	assert_string_equal(given.folder, "/var/lib/nnaccel");
	assert_int_equal(o->type, NNACCEL_DEVICE_ACCELERATOR);
	assert_int_equal(o->idle, 2);
	assert_int_equal(o->max, 256);
	assert_int_equal(o->max_per_user, 64);
	assert_int_equal(o->rate, 8);
	assert_int_equal(o->keeper.plans.bytes, 1024 * MIB);
	assert_int_equal(o->keeper.plans.bytes_per_user, 256 * MIB);
	assert_true(o->extensions.is_default);
	assert_false(o->spawner.allow_none || o->spawner.options.lazy || given.cgroup.no_client_limit);
	assert_int_equal(o->spawner.options.max_memory, 4096 * MIB);
	assert_int_equal(given.cgroup.max_memory, 4096 * MIB);
	assert_int_equal(given.cgroup.user_memory, (uint64_t)sysconf(_SC_PHYS_PAGES) *
			 (uint64_t)sysconf(_SC_PAGESIZE) / 2);
	assert_int_equal(given.cgroup.cpu_weight, 100);
	assert_int_equal(given.cgroup.low_cpu_weight, 10);
	assert_int_equal(given.cgroup.user_cpu_weight, 100);
	assert_int_equal(given.cgroup.max_pids, 64);
	assert_int_equal(given.cgroup.user_workers, 64);
}

/* The device's version is the first word of the workers' identity. */
static void test_identity(void **state)
{
	static const char *const versions[][2] = {
		{ "7-build-cpu plan 0123", "7-build-cpu" }, { "7", "7" }, { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		identity_of_worker = versions[i][0];
		assert_int_equal(run(NULL, NULL), 42);
		assert_string_equal(given.engine, versions[i][0]);
		assert_string_equal(given.version, versions[i][1]);
	}
}

static void test_names(void **state)
{
	static const struct {
		const char *first, *second, *name, *folder;
	} good[] = {
		{ "--name=second", NULL, "second", "/var/lib/nnaccel-second" },
		{ "--name=0-z9", "--state=/x", "0-z9", "/x" },
		{ "--name=nnaccel", NULL, "nnaccel", "/var/lib/nnaccel" },
		{ "--name=abcdefghijabcdefghijabcdefghija", NULL, "abcdefghijabcdefghijabcdefghija",
		  "/var/lib/nnaccel-abcdefghijabcdefghijabcdefghija" },
		{ "--no-cache", NULL, "nnaccel", "" }, { "--state=/x", "--no-cache", "nnaccel", "" },
	};
	static const char *const bad[] = {
		"--name=", "--name=-x", "--name=X", "--name=a_b", "--name=ab/", "--name=nn accel",
		"--name=abcdefghijabcdefghijabcdefghijab",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(run(good[i].first, good[i].second), 42);
		assert_string_equal(given.name, good[i].name);
		assert_string_equal(given.folder, good[i].folder);
	}
	runs = 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(run(bad[i], NULL), EXIT_USAGE);
	assert_int_equal(runs, 0);
}

static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(run("--max-workers-per-user=3", "--worker-memory=5"), 42);
	assert_int_equal(given.options.max_per_user, 3);
	assert_int_equal(given.cgroup.user_workers, 3);
	assert_int_equal(given.cgroup.max_memory, 5 * MIB);
	assert_int_equal(given.options.spawner.options.max_memory, 5 * MIB);
	assert_int_equal(run("--user-memory=0", "--extensions=" NN_EXTENSIONS_DIR), 42);
	assert_int_equal(given.cgroup.user_memory, 0);
	assert_false(given.options.extensions.is_default);
	assert_int_equal(run("--max-workers=7", "--low-cpu-weight=10000"), 42);
	assert_int_equal(given.options.max, 7);
	assert_int_equal(given.cgroup.low_cpu_weight, 10000);
}

static void test_users(void **state)
{
	static const struct {
		const char *option;
		int status;
		uid_t uid;
	} users[] = {
		{ "--worker-user=12345", 42, 12345 }, { "--worker-user=1", 42, 1 }, { "--worker-user=4294967294", 42, 4294967294U },
		{ "--worker-user=4294967295", EXIT_USAGE, 0 }, { "--worker-user=0", EXIT_USAGE, 0 },
		{ "--worker-user=root", EXIT_USAGE, 0 }, { "--worker-user=no user", EXIT_USAGE, 0 },
	};

	(void)state;
	assert_int_equal(run(NULL, NULL), 42);
	assert_int_equal(given.options.spawner.uid, geteuid() ? geteuid() : 65534);
	assert_int_equal(given.options.spawner.gid, geteuid() ? getegid() : 65534);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		/* Only root can run workers as another user. */
		assert_int_equal(run(users[i].option, NULL), geteuid() ? EXIT_USAGE : users[i].status);
		if (!geteuid() && users[i].uid) {
			assert_int_equal(given.options.spawner.uid, users[i].uid);
			assert_int_equal(given.options.spawner.gid, users[i].uid);
		}
	}
}

/* A user's name stands for the user's id and group. */
static void test_user_names(void **state)
{
	const struct passwd *user;
	unsigned int count = 0;
	char option[128];

	(void)state;
	while (!geteuid() && (user = getpwent())) {
		if (!user->pw_uid)
			continue;
		snprintf(option, sizeof(option), "--worker-user=%.100s", user->pw_name);
		assert_int_equal(run(option, NULL), 42);
		assert_int_equal(given.options.spawner.uid, user->pw_uid);
		assert_int_equal(given.options.spawner.gid, user->pw_gid);
		count++;
	}
	endpwent();
	assert_true(count || geteuid());
}

/*
 * main() opens those of the file descriptors 0 to 2 that are closed, and leaves no other file open.
 */
static void test_standard_files(void **state)
{
	int saved[3], files;

	(void)state;
	for (int i = 0; i < 3; i++)
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
	files = count_files();
	assert_int_equal(run(NULL, NULL), 42);
	assert_int_equal(count_files(), files);
	close(STDIN_FILENO);
	close(STDERR_FILENO);
	assert_int_equal(run(NULL, NULL), 42);
	files -= count_files();
	dup2(saved[0], STDIN_FILENO);
	dup2(saved[2], STDERR_FILENO);
	for (int i = 0; i < 3; i++)
		close(saved[i]);
	assert_int_equal(files, 0);
	assert_true(given.has_files);
}

/* Without a program of workers, or with plug-ins that cannot be examined, no broker runs. */
static void test_cannot_start(void **state)
{
	(void)state;
	has_worker = false;
	assert_int_equal(run(NULL, NULL), EXIT_FAILURE);
	has_worker = true;
	has_extensions = false;
	assert_int_equal(run(NULL, NULL), EXIT_FAILURE);
	assert_int_equal(runs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_defaults, set_up),
		cmocka_unit_test_setup(test_identity, set_up),
		cmocka_unit_test_setup(test_names, set_up),
		cmocka_unit_test_setup(test_limits, set_up),
		cmocka_unit_test_setup(test_users, set_up),
		cmocka_unit_test_setup(test_user_names, set_up),
		cmocka_unit_test_setup(test_standard_files, set_up),
		cmocka_unit_test_setup(test_cannot_start, set_up),
	};

	return cmocka_run_group_tests_name("nnacceld's main", tests, NULL, NULL);
}
