/* SPDX-License-Identifier: MIT */
/*
 * Tests the runtime's list of programs that may use extensions: which programs the list's files
 * admit, and what changes of the files cause.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/allowlist.h"
#include "tests/failing/failing.h"
#include "tests/heap_blocks.h"

static char list_path[] = "/tmp/nnaccel-list.XXXXXX";
static char config_path[] = "/tmp/nnaccel-config.XXXXXX";

/*
 * Replaces stat() and fstat() for the code under test. The replacements of stat() and fstat() can
 * fail, or can report that a file is on another device.
 */
static dev_t other_device;
static bool fstat_fails;

int stat(const char *path, struct stat *st)
{
	int result = fstatat(AT_FDCWD, path, st, 0);

	st->st_dev += other_device;
	return result;
}

int fstat(int fd, struct stat *st)
{
	return fstat_fails ? -1 : fstatat(fd, "", st, AT_EMPTY_PATH);
}

/* Replaces a file's contents by `text`, or removes the file if `text` is NULL. */
static void put(const char *path, const char *text)
{
	FILE *file;

	unlink(path);
	if (!text)
		return;
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

static const struct {
	const char *name;
	const char *list;
	const char *config;
	const char *path;
	const char *app_name;
	const char *refusal;	/* NULL: admitted */
} cases[] = {
	{ "listed", "/opt/a\n/opt/b\n", NULL, "/opt/b", NULL, NULL },
	{ "without an end of line", "/opt/a\n/opt/b", NULL, "/opt/b", NULL, NULL },
	{ "blanks at the end", "/opt/b \t\r\n", NULL, "/opt/b", NULL, NULL },
	{ "not listed", "/opt/a\n", NULL, "/opt/b", NULL, "not in the list" },
	{ "part of a line", "/opt/bb\n", NULL, "/opt/b", NULL, "not in the list" },
	{ "no list", NULL, NULL, "/opt/b", NULL, "there is no list" },
	{ "empty list", "", NULL, "/opt/b", NULL, "not in the list" },
	{ "no path", "/opt/b\n", NULL, NULL, "com.example.b", "path is not known" },
	{ "relative path", "opt/b.c\n", NULL, "opt/b.c", NULL, "path is not known" },
	{ "system", "/usr/bin/b\n", NULL, "/usr/bin/b", NULL, "programs of the system" },
	{ "the longer prefix counts", "/usr/local/bin/b\n", NULL, "/usr/local/bin/b", NULL, NULL },
	{ "a prefix is a folder", "/optional/b\n", NULL, "/optional/b", NULL,
	  "under no trusted prefix" },
	{ "nowhere", "/data/b\n", NULL, "/data/b", NULL, "under no trusted prefix" },
	{ "configured", "/data/b\n", "trusted-prefix /data\n", "/data/b", NULL, NULL },
	{ "configured with a slash", "/data/b\n", "# text\ntrusted-prefix\t/data/\n", "/data/b",
	  NULL, NULL },
	{ "configured instead", "/opt/b\n", "trusted-prefix /data\n", "/opt/b", NULL,
	  "under no trusted prefix" },
	{ "configured system", "/opt/b\n", "system-prefix /opt\n", "/opt/b", NULL,
	  "programs of the system" },
	{ "both configured", "/x/b\n", "trusted-prefix /x\nsystem-prefix /x/\n", "/x/b", NULL,
	  "programs of the system" },
	{ "trusted below system", "/opt/x/b\n", "system-prefix /opt\ntrusted-prefix /opt/x\n",
	  "/opt/x/b", NULL, NULL },
	{ "everything is the system's", "/opt/b\n", "system-prefix /\ntrusted-prefix /\n", "/opt/b",
	  NULL, "programs of the system" },
	{ "configured system below", "/opt/x/b\n", "system-prefix /opt/x\n", "/opt/x/b", NULL,
	  "programs of the system" },
	{ "a relative prefix", "/data/b\n", "trusted-prefix data\n", "/data/b", NULL,
	  "under no trusted prefix" },
	{ "a longer key", "/opt/b\n", "trusted-prefixes /data\n", "/opt/b", NULL, NULL },
	{ "all is trusted", "/b\n", "trusted-prefix /\n", "/b", NULL, NULL },
	{ "name, not trusted", "com.example.b\n", NULL, "/opt/b", "com.example.b",
	  "not in the list" },
	{ "name, trusted", "com.example.b\n", "trust-app-name yes\n", "/opt/b", "com.example.b",
	  NULL },
	{ "name, trusted, anywhere", "com.example.b\n", "trust-app-name yes\n", "/data/b",
	  "com.example.b", NULL },
	{ "name, never for the system", "com.example.b\n", "trust-app-name yes\n", "/usr/bin/b",
	  "com.example.b", "programs of the system" },
	{ "name, no longer trusted", "com.example.b\n", "trust-app-name yes\ntrust-app-name no\n",
	  "/opt/b", "com.example.b", "not in the list" },
	{ "name, not listed", "com.example.a\n", "trust-app-name yes\n", "/opt/b",
	  "com.example.b", "not in the list" },
	{ "name without a dot", "b\n", "trust-app-name yes\n", "/opt/b", "b", "not in the list" },
	{ "name that is a path", "/opt/a.b\n", "trust-app-name yes\n", "/opt/b", "/opt/a.b",
	  "not in the list" },
	{ "no name", "com.example.b\n", "trust-app-name yes\n", "/opt/b", NULL,
	  "not in the list" },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct allowlist a = { .list.path = list_path, .config.path = config_path };
		const struct allowlist_program program = {
			.path = cases[i].path,
			.name = cases[i].app_name,
		};
		const char *reason;
		bool admitted;

		put(list_path, cases[i].list);
		put(config_path, cases[i].config);
		admitted = allowlist_admits(&a, &program, &reason);
		if (admitted != !cases[i].refusal ||
		    (cases[i].refusal && !strstr(reason, cases[i].refusal)))
			fail_msg("%s: %s", cases[i].name, admitted ? "admitted" : reason);
		allowlist_free(&a);
	}
}

/*
 * Cases in which an interpreter runs a script in /opt, and the interpreter's path is not on the
 * list.
 */
static const struct {
	const char *name;
	const char *list;
	const char *cgroup;
	const char *label;
	bool admitted;
} applications[] = {
	{ "service", "camera.service\n", "/system.slice/camera.service", NULL, true },
	{ "another service", "camera.service\n", "/system.slice/came.service", NULL, false },
	{ "a user's service", "camera.service\n", "/user.slice/user-1.slice/camera.service", NULL,
	  false },
	{ "application", "com.example.b\n", "/user.slice/app-gnome-com.example.b-7.scope", NULL, true },
	{ "another application", "com.example.a\n", "/user.slice/app-com.example.b-7.scope", NULL,
	  false },
	{ "name without a dot", "b\n", "/user.slice/app-b-7.scope", NULL, false },
	{ "path", "/usr/bin/python3\n", "/system.slice/camera.service", NULL, false },
	{ "label", "label camera\n", NULL, "camera (enforce)", true },
	{ "label of SELinux", "label u:r:camera_t:s0\n", "/", "u:r:camera_t:s0", true },
	{ "profile that only complains", "label camera\n", NULL, "camera (complain)", false },
	{ "another label", "label camerb\n", NULL, "camera (enforce)", false },
	{ "longer label", "label camera\n", NULL, "camera2", false },
	{ "shorter label", "label camera\n", NULL, "came (enforce)", false },
	{ "no label", "label \n", NULL, "", false },
	{ "label without its key", "camera.label\n", NULL, "camera.label", false },
};

static void test_applications(void **state)
{
	(void)state;
	put(config_path, NULL);
	for (size_t i = 0; i < sizeof(applications) / sizeof(applications[0]); i++) {
		struct allowlist a = { .list.path = list_path, .config.path = config_path };
		const struct allowlist_program program = {
			.path = "/usr/bin/python3",
			.script = "/opt/camera/main.py",
			.cgroup = applications[i].cgroup,
			.label = applications[i].label,
		};
		const char *reason;

		put(list_path, applications[i].list);
		if (allowlist_admits(&a, &program, &reason) != applications[i].admitted)
			fail_msg("%s: %s", applications[i].name, reason ? reason : "admitted");
		allowlist_free(&a);
	}
}

/*
 * If the list names a service, the service's program (or the script that an interpreter runs) must
 * be in a trusted folder.
 */
static void test_places_of_applications(void **state)
{
	static const struct {
		const char *path, *script, *config, *refusal;
	} places[] = {
		{ "/opt/camera", NULL, NULL, NULL },
		{ "/opt/camera", "/usr/share/data", NULL, NULL },
		{ "/usr/bin/camera", NULL, NULL, "programs of the system" },
		{ "/usr/bin/python3", "/usr/share/camera.py", NULL, "programs of the system" },
		{ "/usr/bin/python3", "/opt/camera.py", NULL, NULL },
		{ "/usr/bin/python3", "/usr/local/share/camera.py", NULL, NULL },
		{ "/usr/bin/python3", "/tmp/camera.py", NULL, "under no trusted prefix" },
		{ "/tmp/camera", "/opt/data", NULL, "under no trusted prefix" },
		{ "/usr/bin/camera", NULL, "system-prefix /bin\ntrusted-prefix /usr/bin\n", NULL },
		{ NULL, "/opt/camera.py", NULL, "path is not known" },
	};

	(void)state;
	put(list_path, "camera.service\n");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct allowlist a = { .list.path = list_path, .config.path = config_path };
		const struct allowlist_program program = {
			.path = places[i].path,
			.script = places[i].script,
			.cgroup = "/system.slice/camera.service",
		};
		const char *reason;
		bool admitted;

		put(config_path, places[i].config);
		admitted = allowlist_admits(&a, &program, &reason);
		if (admitted != !places[i].refusal ||
		    (!admitted && !strstr(reason, places[i].refusal)))
			fail_msg("place %zu: %s", i, admitted ? "admitted" : reason);
		allowlist_free(&a);
	}
	put(config_path, NULL);
}

static void test_unit_names(void **state)
{
	static const struct {
		const char *cgroup;
		const char *name;	/* NULL: none */
	} units[] = {
		{ "/", NULL },
		{ "", NULL },
		{ "/system.slice/a.service", "a.service" },
		{ "/system.slice/a.service/below/it", "a.service" },
		{ "/system.slice/a@1.service", "a@1.service" },
		{ "/a.service/b.service", "b.service" },
		{ "/system.slice/run-1.scope", NULL },
		{ "/system.slice", NULL },
		{ "/.service", NULL },
		{ "/user.slice/user-1.slice/session-2.scope", NULL },
		{ "/user.slice/user-1.slice/user@1.service/a.service", NULL },
		{ "/user.slice/u/app.slice/app-org.example.A-12.scope", "org.example.A" },
		{ "/user.slice/u/app.slice/app-kde-org.example.A-12.scope", "org.example.A" },
		{ "/user.slice/u/app.slice/app-org.example.A.service", "org.example.A" },
		{ "/user.slice/u/app.slice/app-kde-org.example.A@3f.service", "org.example.A" },
		{ "/user.slice/u/app-org.example.B\\x2dc-1.scope", "org.example.B-c" },
		{ "/user.slice/u/app-a\\x2.scope", "a\\x2" },
		{ "/user.slice/u/app-a\\x00-1.scope", "a\\x00" },
		{ "/user.slice/u/app-a\\y41-1.scope", "a\\y41" },
		{ "/user.slice/u/app-a\\xg1-1.scope", "a\\xg1" },
		{ "/user.slice/u/app-a\\x01-1.scope", "a\001" },
		{ "/user.slice/u/app-a.scope", "a" },
		{ "/user.slice/u/app-.scope", NULL },
		{ "/user.slice/u/app--.scope", NULL },
		{ "/user.slice/u/app-@.service", "@" },
	};
	char name[ALLOWLIST_NAME_SIZE], longest[2 * ALLOWLIST_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		bool has_name = allowlist_unit_name(units[i].cgroup, name);

		if (has_name != !!units[i].name || (has_name && strcmp(name, units[i].name)))
			fail_msg("%s: %s", units[i].cgroup, has_name ? name : "no name");
	}
	/* A service's name that is too long is rejected, not truncated. */
	memset(longest, 'a', sizeof(longest));
	strcpy(longest + sizeof(longest) - sizeof(".service"), ".service");
	assert_false(allowlist_unit_name(longest, name));
}

/*
 * Lines of the list of allowed programs can name services. Only the system's service manager can
 * assign a service's name to a process.
 */
static void test_services(void **state)
{
	static const struct {
		const char *cgroup, *name;
	} services[] = {
		{ "/system.slice/camera.service", "camera.service" },
		{ "/system.slice/camera.service/worker", "camera.service" },
		{ "/a.slice/a-b.slice/c@1.service", "c@1.service" },
		{ "/machine.slice/box.service/payload/system.slice/camera.service", "box.service" },
		{ "/user.slice/user-1.slice/user@1.service/app.slice/camera.service", NULL },
		{ "/user.slice/camera.service", NULL },
		{ "/sser.slice/camera.service", "camera.service" },
		{ "/system.slice/run-1.scope/camera.service", NULL },
		{ "/camera/camera.service", NULL },
		{ "/system.slice", NULL },
		{ "/", NULL },
		{ "", NULL },
	};
	char name[ALLOWLIST_NAME_SIZE], longest[2 * ALLOWLIST_NAME_SIZE];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	strcpy(longest + sizeof(longest) - sizeof(".service"), ".service");
	assert_false(allowlist_service_name(longest, name));
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		bool found = allowlist_service_name(services[i].cgroup, name);

		print_message("%s\n", services[i].cgroup);
		assert_int_equal(found, services[i].name != NULL);
		if (found)
			assert_string_equal(name, services[i].name);
	}
}

static void test_admitted_services(void **state)
{
	static const char camera[] = "/system.slice/camera.service";
	struct allowlist a = { .list.path = list_path, .config.path = config_path };

	(void)state;
	put(list_path, NULL);
	assert_false(allowlist_admits_service(&a, camera, NULL));
	put(list_path, "camera.service\nlabel seeing\n/opt/b\n");
	assert_int_equal(chmod(list_path, 0644), 0);
	assert_true(allowlist_admits_service(&a, camera, NULL));
	assert_true(allowlist_admits_service(&a, camera, "other"));
	assert_true(allowlist_admits_service(&a, NULL, "seeing (enforce)"));
	assert_false(allowlist_admits_service(&a, NULL, "seeing (complain)"));
	assert_false(allowlist_admits_service(&a, "/system.slice/other.service", "other"));
	assert_false(allowlist_admits_service(&a, NULL, NULL));
	assert_false(allowlist_admits_service(&a, "/system.slice", NULL));
	/* A list file that belongs to an ordinary user is valid only for processes of this user. */
	if (!geteuid()) {
		assert_int_equal(chown(list_path, 1, 0), 0);
		assert_false(allowlist_admits_service(&a, camera, NULL));
		assert_int_equal(seteuid(1), 0);
		assert_true(allowlist_admits_service(&a, camera, NULL));
		assert_int_equal(seteuid(0), 0);
		assert_int_equal(chown(list_path, 0, 0), 0);
	}
	/* The runtime reads the list again even if only the mode of the list's file changes. */
	assert_int_equal(chmod(list_path, 0646), 0);
	assert_false(allowlist_admits_service(&a, camera, NULL));
	assert_int_equal(chmod(list_path, 0644), 0);
	allowlist_free(&a);
}

static void test_changes(void **state)
{
	static const struct allowlist_program b = { .path = "/opt/b" };
	struct allowlist a = { .list.path = list_path, .config.path = config_path };
	const char *reason;

	(void)state;
	put(list_path, NULL);
	put(config_path, NULL);
	assert_false(allowlist_admits(&a, &b, &reason));
	put(list_path, "/opt/b\n");
	assert_true(allowlist_admits(&a, &b, &reason));
	assert_true(allowlist_admits(&a, &b, &reason));
	put(config_path, "trusted-prefix /data\n");
	assert_false(allowlist_admits(&a, &b, &reason));
	put(config_path, NULL);
	assert_true(allowlist_admits(&a, &b, &reason));
	put(list_path, NULL);
	assert_false(allowlist_admits(&a, &b, &reason));
	allowlist_free(&a);
}

/* Overwrites a file without replacing its inode, and sets the file's time of modification. */
static void write_in_place(const char *path, const char *text, time_t s, long ns)
{
	const struct timespec times[] = { { s, ns }, { s, ns } };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* The runtime reads the list again if any field of the stat() of the list's file changes. */
static void test_each_change(void **state)
{
	enum { NOTHING, OTHER_FILE, DEVICE, SIZE, MODE, OWNER, SECONDS, NANOSECONDS, COUNT };
	static const struct allowlist_program b = { .path = "/opt/b" }, c = { .path = "/opt/c" };
	char other_path[sizeof(list_path) + 2];
	const char *reason;

	(void)state;
	snprintf(other_path, sizeof(other_path), "%s.2", list_path);
	put(config_path, NULL);
	for (int change = NOTHING; change < COUNT; change++) {
		struct allowlist a = { .list.path = list_path, .config.path = config_path };
		const char *text = change == SIZE ? "/opt/c\n\n" : "/opt/c\n";

		if (change == OWNER && geteuid())
			continue;
		put(list_path, NULL);
		write_in_place(list_path, "/opt/b\n", 100, 5);
		assert_true(allowlist_admits(&a, &b, &reason));
		write_in_place(change == OTHER_FILE ? other_path : list_path, text,
			       change == SECONDS ? 101 : 100, change == NANOSECONDS ? 6 : 5);
		if (change == OTHER_FILE)
			assert_int_equal(rename(other_path, list_path), 0);
		if (change == MODE)
			assert_int_equal(chmod(list_path, 0400), 0);
		if (change == OWNER)
			assert_int_equal(chown(list_path, 1, 0), 0);
		other_device = change == DEVICE;
		if (allowlist_admits(&a, &c, &reason) != (change != NOTHING))
			fail_msg("change %d: %s", change, reason ? reason : "admitted");
		other_device = 0;
		allowlist_free(&a);
	}
	put(list_path, NULL);
}

/* Lines after the first MiB of a list are ignored, and a folder is rejected as a list. */
static void test_large_list(void **state)
{
	static const struct allowlist_program first = { .path = "/opt/first" },
					      last = { .path = "/opt/last" };
	const struct allowlist_program *const programs[] = { &first, &last };
	struct allowlist folder = { .list.path = "/tmp", .config.path = config_path };
	const char *reason;
	FILE *file;

	(void)state;
	put(list_path, "/opt/first\n");
	file = fopen(list_path, "a");
	assert_non_null(file);
	for (size_t i = 0; i < 1024 * 1024; i += 16)
		fputs("# 13 characters\n", file);
	fputs("/opt/last\n", file);
	assert_int_equal(fclose(file), 0);
	for (int i = 0; i < 2; i++) {
		struct allowlist a = { .list.path = list_path, .config.path = config_path };

		assert_int_equal(allowlist_admits(&a, programs[i], &reason), !i);
		allowlist_free(&a);
	}
	assert_false(allowlist_admits(&folder, &first, &reason));
	assert_string_equal(reason, "there is no list of those that may use extensions");
	allowlist_free(&folder);
	put(list_path, NULL);
}

/* A list file that cannot be read admits no program. */
static void test_unreadable(void **state)
{
	static const struct allowlist_program b = { .path = "/opt/b" };
	const char *reason;

	(void)state;
	put(config_path, NULL);
	put(list_path, "/opt/b\n");
	for (int memory = 0; memory < 2; memory++) {
		struct allowlist a = { .list.path = list_path, .config.path = config_path };

		fstat_fails = !memory;
		failing_begin(FAILING_SELF, (unsigned int)memory, false);
		assert_false(allowlist_admits(&a, &b, &reason));
		assert_non_null(strstr(reason, memory ? "is not in the list" : "there is no list"));
		assert_int_equal(failing_end(FAILING_SELF), memory);
		fstat_fails = false;
		allowlist_free(&a);
		assert_true(allowlist_admits(&a, &b, &reason));
		allowlist_free(&a);
	}
	put(list_path, NULL);
}

static int set_up(void **state)
{
	(void)state;
	return close(mkstemp(list_path)) || close(mkstemp(config_path));
}

static int tear_down(void **state)
{
	(void)state;
	unlink(list_path);
	unlink(config_path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_cases),
		heap_unit_test(test_applications),
		heap_unit_test(test_places_of_applications),
		heap_unit_test(test_unit_names),
		heap_unit_test(test_services),
		heap_unit_test(test_admitted_services),
		heap_unit_test(test_changes),
		heap_unit_test(test_each_change),
		heap_unit_test(test_large_list),
		heap_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
