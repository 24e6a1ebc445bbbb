/* SPDX-License-Identifier: MIT */
/*
 * Tests the broker's search for plug-ins. The broker loads each file of a folder in a separate
 * process, and lists only valid plug-ins. In the test, the processes that load plug-ins run the
 * test's own program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/nnaccel.h>

#include "kit/broker/extensions.h"
#include "kit/broker/reread.h"
#include "engine/worker/engine.h"
#include "kit/worker/process.h"
#include "tests/heap_blocks.h"

static struct spawner spawner;
static char folder[] = "/tmp/nnaccel-extensions.XXXXXX";
static char log_path[64];

/* ---- a folder of plug-ins ---- */

static void copy_file(const char *from, const char *to, mode_t mode)
{
	char path[4096], buffer[65536];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int in, out;

	assert_true(n > 0);
	path[n] = '\0';
	snprintf(strrchr(path, '/'), 512, "/%s", from);
	in = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "%s/%s", folder, to);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t)n), n);
	assert_int_equal(fchmod(out, mode), 0);
	close(in);
	close(out);
}

static int make_folder(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
	return 0;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/*
 * Searches the test's folder for plug-ins and writes the log of the search to a file. The searched
 * group, whose members may use the plug-ins, does not exist.
 */
static bool find(struct extensions *e)
{
	int log = open(log_path, O_RDWR | O_CREAT | O_TRUNC, 0600), saved = dup(STDERR_FILENO);
	bool found;

	assert_true(log >= 0 && saved >= 0);
	*e = (struct extensions){ .folder = folder, .group = "no such group" };
	dup2(log, STDERR_FILENO);
	found = extensions_find(e, &spawner);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(log);
	return found;
}

static const char *read_log(void)
{
	static char log[65536];
	FILE *file = fopen(log_path, "r");
	size_t n;

	assert_non_null(file);
	n = fread(log, 1, sizeof(log) - 1, file);
	log[n] = '\0';
	fclose(file);
	return log;
}

static void assert_logged(const char *text)
{
	if (!strstr(read_log(), text))
		fail_msg("\"%s\" is not in the log:\n%s", text, read_log());
}

/* ---- tests ---- */

static void test_find(void **state)
{
	struct extensions e;

	(void)state;
	if (spawner.options.isolation == ISOLATE_NONE)
		skip();
	/*
	 * The first file, a.so, has the plug-in golden, which needs the plug-in fibonacci in b.so.
	 */
	copy_file("../extensions/golden.so", "a.so", 0644);
	copy_file("../extensions/fibonacci.so", "b.so", 0444);
	copy_file("../extensions/fibonacci.so", "c-twice.so", 0644);
	copy_file("../extensions/fibonacci.so", "d-writable.so", 0666);
	copy_file("plugins/abi.so", "e.so", 0644);
	copy_file("plugins/nothing.so", "f.so", 0644);
	copy_file("plugins/crash.so", "g.so", 0644);
	copy_file("plugins/endless.so", "h.so", 0644);
	copy_file("../extensions/fibonacci.so", "no-plugin.txt", 0644);
	copy_file("plugins/oem.so", "o.so", 0644);
	copy_file("plugins/old.so", "p.so", 0644);
	assert_int_equal(symlinkat("b.so", open(folder, O_RDONLY), "l.so"), 0);

	assert_true(find(&e));
	assert_int_equal(e.plugins.count, 4);
	assert_string_equal(e.files[0], "b.so");
	assert_string_equal(e.files[1], "o.so");
	assert_string_equal(e.files[2], "p.so");
	assert_string_equal(e.files[3], "a.so");
	assert_null(e.files[4]);
	assert_logged("extension b.so: accepted");
	assert_logged("extension c-twice.so: c-twice.so: extension com.example.fibonacci is "
		      "registered already");
	assert_logged("extension d-writable.so: refused: others than its owner may write to it");
	assert_logged("extension e.so: e.so: built for version 3 of the interface, "
		      "this engine has 2");
	assert_logged("extension f.so: f.so: it exports no nnaccel_extension");
	assert_logged("extension g.so: refused: its process was ended by signal 31");
	assert_logged("a system call that is not allowed");
	assert_logged("extension h.so: refused: it took too long");
	assert_logged("extension l.so: refused: it is not a regular file");
	assert_logged("extensions: there is no group no such group: only services");
	extensions_free(&e);
}

static void test_missing_need(void **state)
{
	char path[128];
	struct extensions e;

	(void)state;
	if (spawner.options.isolation == ISOLATE_NONE)
		skip();
	for (const char *file = "bcdefghop"; *file; file++) {
		snprintf(path, sizeof(path), "rm -f %s/%c*.so", folder, *file);
		assert_int_equal(system(path), 0);
	}
	assert_true(find(&e));
	assert_int_equal(e.plugins.count, 0);
	assert_logged("a.so: extension com.example.golden needs com.example.fibonacci, which is "
		      "not loaded");
	/* If no plug-in is loaded, the log does not report that the group does not exist. */
	assert_null(strstr(read_log(), "there is no group"));
	extensions_free(&e);
}

static void test_folder(void **state)
{
	struct extensions e;

	(void)state;
	assert_int_equal(chmod(folder, 0777), 0);
	assert_false(find(&e));
	assert_logged("others than its owner may write to it");
	assert_int_equal(chmod(folder, 0755), 0);

	e = (struct extensions){ .folder = "/nonexistent", .group = "0" };
	assert_false(extensions_find(&e, &spawner));
	e = (struct extensions){ .folder = "/nonexistent", .is_default = true, .group = "0" };
	assert_true(extensions_find(&e, &spawner));
	assert_int_equal(e.plugins.count, 0);
}

/*
 * Waits until the broker has noticed that the folder has changed, and has searched the folder for
 * plug-ins.
 */
static void await_reread(struct reread *r, struct extensions *e)
{
	struct pollfd fd = { .fd = r->changes, .events = POLLIN };

	assert_int_equal(poll(&fd, 1, -1), 1);
	reread_changed(r);
	assert_false(reread_start(r, e, &spawner));
	while (!reread_start(r, e, &spawner))
		if (poll(&fd, 1, 20) == 1)
			reread_changed(r);
	fd.fd = r->answer;
	do {
		assert_int_equal(poll(&fd, 1, -1), 1);
	} while (!reread_read(r, e));
	close(r->answer);
	r->answer = -1;
}

/*
 * The broker repeats the search if plug-ins are added, removed or damaged, or if the folder is
 * removed.
 */
static void test_reread(void **state)
{
	static char other[] = "/tmp/nnaccel-extensions.XXXXXX";
	struct extensions e = { .folder = other, .group = "0" };
	char path[128], *real = strdup(folder);
	struct reread r;

	(void)state;
	if (spawner.options.isolation == ISOLATE_NONE)
		skip();
	assert_non_null(mkdtemp(other));
	assert_int_equal(chmod(other, 0755), 0);
	strcpy(folder, other);
	assert_true(extensions_find(&e, &spawner));
	assert_int_equal(e.plugins.count, 0);
	reread_init(&r, &e);
	assert_true(r.changes >= 0 && r.groups > 0);
	copy_file("../extensions/golden.so", "a.so", 0644);
	await_reread(&r, &e);
	assert_int_equal(e.plugins.count, 0);
	copy_file("../extensions/fibonacci.so", "b.so", 0644);
	await_reread(&r, &e);
	assert_int_equal(e.plugins.count, 2);
	assert_string_equal(e.files[0], "b.so");
	assert_string_equal(e.files[1], "a.so");
	assert_null(e.files[2]);
	copy_file("plugins/nothing.so", "b.so", 0644);
	await_reread(&r, &e);
	assert_int_equal(e.plugins.count, 0);
	copy_file("../extensions/fibonacci.so", "b.so", 0644);
	await_reread(&r, &e);
	assert_int_equal(e.plugins.count, 2);
	snprintf(path, sizeof(path), "rm -r %s", other);
	assert_int_equal(system(path), 0);
	await_reread(&r, &e);
	assert_int_equal(e.plugins.count, 0);
	reread_end(&r);
	extensions_free(&e);
	strcpy(folder, real);
	free(real);
}

#define FOUR "a.so\nb.so\nc.so\nd.so\n"
#define THIRTY_TWO FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR

/*
 * For each output and exit status of the process that loads plug-ins, the table has the group and
 * the number of plug-ins that the broker must find.
 */
static const struct {
	const char *text;
	int status;
	unsigned int group, count;	/* group 0: none */
} answers[] = {
	{ "12\na.so\nb.so\n", 0, 12, 2 },
	{ "\na.so\n", 0, 0, 1 },
	{ "12\n", 0, 12, 0 },
	{ "12\na.so\nb.s", 0, 12, 1 },
	{ "12", 0, 0, 0 },
	{ "", 0, 0, 0 },
	{ "12\na.so\n", 1, 0, 0 },
	{ "12\n" THIRTY_TWO, 0, 12, 32 },
	{ "12\n" THIRTY_TWO "e.so\n", 0, 12, 32 },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct extensions e = { .folder = folder };
		struct reread r = { .pid = fork() };
		int ends[2];

		if (!r.pid)
			_exit(answers[i].status);
		assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
		r.answer = ends[0];
		assert_false(reread_read(&r, &e));
		assert_int_equal(write(ends[1], answers[i].text, strlen(answers[i].text)), strlen(answers[i].text));
		assert_false(reread_read(&r, &e));
		close(ends[1]);
		assert_true(reread_read(&r, &e));
		close(r.answer);
		if (e.has_group != (answers[i].group > 0) || e.gid != answers[i].group ||
		    e.plugins.count != answers[i].count || e.files[e.plugins.count] ||
		    (e.plugins.count && strcmp(e.files[0], "a.so")))
			fail_msg("%.20s: group %u, %u plug-ins", answers[i].text, (unsigned int)e.gid, e.plugins.count);
		extensions_free(&e);
	}
}

/* ---- who gets them ---- */

#define CLIENT 4242
#define CONTEXT 7

/* A client's properties, as the kernel reports them, and whether the client gets extensions. */
static const struct client {
	const char *name;
	bool has_group;			/* set if the group of allowed clients exists */
	bool member;			/* set if the client is a member of the group */
	int error;			/* errno of the ioctl() that asks for the opener */
	/* process id of the client at the first and the last ioctl(); 0 if the client is dead */
	uint32_t pid, later_pid;
	const char *cgroup, *label;
	bool admitted;
} clients[] = {
	{ "a member", true, true, 0, 0, 0, "/", "", true },
	{ "no member", true, false, 0, CLIENT, CLIENT, "/", "", false },
	{ "no group", false, true, 0, CLIENT, CLIENT, "/", "", false },
	{ "a context that has gone", true, true, ENOENT, 0, 0, "/", "", false },
	{ "a module that fails", true, true, EIO, 0, 0, "/", "", false },
	{ "a service", true, false, 0, CLIENT, CLIENT, "/system.slice/camera.service", "", true },
	{ "a service without a group", false, false, 0, CLIENT, CLIENT,
	  "/system.slice/camera.service", "x", true },
	{ "another service", true, false, 0, CLIENT, CLIENT, "/system.slice/x.service", "", false },
	{ "outside of the namespace", true, false, 0, CLIENT, CLIENT,
	  "/../system.slice/camera.service", "", false },
	{ "a label", true, false, 0, CLIENT, CLIENT, "/", "seeing (enforce)\nmore", true },
	{ "another label", true, false, 0, CLIENT, CLIENT, "/", "seeing (complain)\n", false },
	{ "a dead opener", true, false, 0, 0, 0, "/system.slice/camera.service", "", false },
	{ "one that dies meanwhile", true, false, 0, CLIENT, 0, "/system.slice/camera.service", "",
	  false },
	{ "another meanwhile", true, false, 0, CLIENT, CLIENT + 1,
	  "/system.slice/camera.service", "", false },
};

static const struct client *client;
static unsigned int asked;		/* number of ioctl() calls for the opener */

static int in_group(struct nnaccel_engine_opener *arg)
{
	assert_int_equal(arg->context, CONTEXT);
	errno = client->error;
	arg->out_member = client->member;
	return client->error ? -1 : 0;
}

int ioctl(int file, unsigned long request, ...)
{
	struct nnaccel_engine_opener *opener;
	va_list args;
	void *arg;

	(void)file;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	assert_int_equal(request, NNACCEL_ENGINE_OPENER);
	opener = arg;
	if (opener->gid == 99)
		return in_group(opener);
	opener->out_pid = asked++ ? client->later_pid : client->pid;
	opener->out_lives = opener->out_pid != 0;
	return 0;
}

/* Returns a file that replaces one of the client's files in /proc. */
static int client_file(const char *text)
{
	int file = memfd_create("proc", MFD_CLOEXEC);

	assert_int_equal(pwrite(file, text, strlen(text), 0), strlen(text));
	return file;
}

int open(const char *path, int flags, ...)
{
	if (client && !strcmp(path, "/proc/4242/attr/current"))
		return client_file(client->label);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *, const char *);
	char line[256];

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	if (!client || strcmp(path, "/proc/4242/cgroup"))
		return real(path, mode);
	snprintf(line, sizeof(line), "0::%s\n", client->cgroup);
	return fdopen(client_file(line), mode);
}

static void test_admitted(void **state)
{
	struct extensions e = { .folder = folder, .gid = 99 };
	char list[96];
	FILE *file;

	(void)state;
	snprintf(list, sizeof(list), "%s/list", folder);
	file = fopen(list, "w");
	assert_non_null(file);
	fputs("camera.service\nlabel seeing\n", file);
	fclose(file);
	e.list.list.path = list;
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		client = &clients[i];
		e.has_group = client->has_group;
		/* Without plug-ins no client gets extensions. */
		for (e.plugins.count = 0; e.plugins.count < 2; e.plugins.count++) {
			asked = 0;
			if (extensions_admit(&e, -1, CONTEXT) !=
			    (client->admitted && e.plugins.count))
				fail_msg("%s", client->name);
		}
	}
	client = NULL;
	e.plugins.count = 0;
	extensions_free(&e);
}

/* The option for the group may contain the name or the number of the group. */
static void test_groups(void **state)
{
	static const struct {
		const char *group;
		bool is_there;
		gid_t gid;
	} groups[] = {
		{ "root", true, 0 }, { "0", true, 0 }, { "12345", true, 12345 },
		{ "12345x", false, 0 }, { "no such group", false, 0 }, { "", false, 0 },
	};
	struct extensions e;
	char empty[96];

	(void)state;
	if (spawner.options.isolation == ISOLATE_NONE)
		skip();
	snprintf(empty, sizeof(empty), "%s/empty", folder);
	assert_int_equal(mkdir(empty, 0755), 0);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		e = (struct extensions){ .folder = empty, .group = groups[i].group };
		assert_true(extensions_find(&e, &spawner));
		if (e.has_group != groups[i].is_there ||
		    (e.has_group && e.gid != groups[i].gid))
			fail_msg("group '%s'", groups[i].group);
		assert_int_equal(e.plugins.count, 0);
		extensions_free(&e);
	}
	/* The search for plug-ins fails if the path of the plug-in folder is the path of a file. */
	e = (struct extensions){ .folder = "/dev/null", .group = "0" };
	assert_false(extensions_find(&e, &spawner));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		heap_unit_test(test_missing_need),
		heap_unit_test(test_folder),
		heap_unit_test(test_reread),
		heap_unit_test(test_answers),
		heap_unit_test(test_admitted),
		cmocka_unit_test(test_groups),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_NAME))
		worker_main(&cpu_engine, argc, argv);
	spawner = (struct spawner){
		.path = "/proc/self/exe",
		.uid = geteuid() ? geteuid() : 65534,
		.gid = geteuid() ? getegid() : 65534,
		.options.log_level = LOG_INFO,
		.allow_none = true,
	};
	if (!spawner_init(&spawner))
		return 1;
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
