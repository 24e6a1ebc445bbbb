/* SPDX-License-Identifier: MIT */
/*
 * Tests the cgroups that the engine makes for workers. A temporary folder simulates the cgroup file
 * system. Each subfolder of the temporary folder gets control files when the subfolder is made, and
 * loses the files when it is removed. The test can make open() of each control file fail.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/nnaccel.h>

#include "base/cgroup_path.h"
#include "kit/api/log.h"
#include "kit/broker/cgroup.h"
#include "tests/open_files.h"

#define CLIENT 4242			/* its process */
#define CONTEXT 7

static const char *const controls[] = {
	"cgroup.procs", "cgroup.subtree_control", "cgroup.pressure", "memory.max",
	"memory.swap.max", "memory.events", "pids.max", "cpu.weight",
};

static char top[64];			/* stands for CGROUP_MOUNT */
static const char *own;			/* this process's cgroup */

static struct {
	bool is_cgroup2;
	const char *fails;	/* suffix of the paths of files that open() cannot open */
	int error;		/* errno of the failing open() */
	int times;		/* number of open() calls that fail */
	int works_before;	/* number of open() calls that succeed before a call fails */
	unsigned int asked;	/* number of ioctl() calls that asked for a client's process */
} kernel;

/* ---- the file system ---- */

int statfs(const char *path, struct statfs *fs)
{
	assert_string_equal(path, CGROUP_MOUNT);
	fs->f_type = kernel.is_cgroup2 ? CGROUP2_SUPER_MAGIC : TMPFS_MAGIC;
	return 0;
}

static bool ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), behind = strlen(end);

	return length >= behind && !strcmp(path + length - behind, end);
}

int openat(int folder, const char *path, int flags, ...)
{
	if (kernel.fails && kernel.times && ends_with(path, kernel.fails) &&
	    !(kernel.works_before && kernel.works_before--)) {
		kernel.times--;
		errno = kernel.error;
		return -1;
	}
	/* Truncate: a write to a control file replaces the whole contents of the file. */
	if ((flags & O_ACCMODE) == O_WRONLY)
		flags |= O_TRUNC;
	return (int)syscall(SYS_openat, folder, path, flags, 0600);
}

int open(const char *path, int flags, ...)
{
	char there[8192];

	if (strncmp(path, CGROUP_MOUNT, strlen(CGROUP_MOUNT)))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
	snprintf(there, sizeof(there), "%s%s", top, path + strlen(CGROUP_MOUNT));
	return openat(AT_FDCWD, there, flags);
}

int mkdirat(int folder, const char *path, mode_t mode)
{
	static const char events[] = "low 0\noom 0\noom_kill 0\n";
	int made, file;

	if (syscall(SYS_mkdirat, folder, path, mode))
		return -1;
	made = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
		file = (int)syscall(SYS_openat, made, controls[i], O_WRONLY | O_CREAT, 0600);
		if (!strcmp(controls[i], "memory.events"))
			assert_int_equal(write(file, events, strlen(events)), strlen(events));
		close(file);
	}
	close(made);
	return 0;
}

/* Removes a folder with its control files, but fails if the folder contains other folders. */
int unlinkat(int folder, const char *path, int flags)
{
	DIR *entries = fdopendir((int)syscall(SYS_openat, folder, path, O_RDONLY | O_DIRECTORY));
	struct dirent *entry;
	bool busy = false;

	if (!entries)
		return -1;
	while ((entry = readdir(entries)))
		busy |= entry->d_type == DT_DIR && entry->d_name[0] != '.';
	rewinddir(entries);
	while (!busy && (entry = readdir(entries)))
		if (entry->d_type != DT_DIR)
			syscall(SYS_unlinkat, dirfd(entries), entry->d_name, 0);
	closedir(entries);
	errno = EBUSY;
	return busy ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

/* ---- the rest of the kernel ---- */

int ioctl(int file, unsigned long request, ...)
{
	struct nnaccel_engine_opener *opener;
	va_list args;

	(void)file;
	va_start(args, request);
	opener = va_arg(args, struct nnaccel_engine_opener *);
	va_end(args);
	assert_int_equal(request, NNACCEL_ENGINE_OPENER);
	assert_int_equal(opener->context, CONTEXT);
	kernel.asked++;
	opener->out_lives = 1;
	opener->out_pid = CLIENT;
	return 0;
}

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *, const char *);
	static char line[128];

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	if (ends_with(path, "/self/cgroup"))
		snprintf(line, sizeof(line), "0::%s\n", own);
	else if (ends_with(path, "/4242/cgroup"))
		snprintf(line, sizeof(line), "0::/client\n");
	else
		return real(path, mode);
	return fmemopen(line, strlen(line), "r");
}

/* ---- what is there ---- */

static const char *path_of(const char *name)
{
	static char paths[2][256];
	static int next;

	next = !next;
	snprintf(paths[next], sizeof(paths[next]), "%s/%s", top, name);
	return paths[next];
}

static bool is_there(const char *name)
{
	return !access(path_of(name), F_OK);
}

static void check_file(const char *name, const char *expected)
{
	char text[128] = "";
	int file = open(path_of(name), O_RDONLY);

	if (file < 0 || read(file, text, sizeof(text) - 1) < 0 || strcmp(text, expected))
		fail_msg("%s: '%s'", name, text);
	close(file);
}

static void write_file(const char *name, const char *text)
{
	int file = open(path_of(name), O_WRONLY | O_TRUNC);

	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
}

static void make(const char *name)
{
	assert_int_equal(mkdirat(AT_FDCWD, path_of(name), 0755), 0);
}

static void fail_next(const char *file, int error, int times)
{
	kernel.fails = file;
	kernel.error = error;
	kernel.times = times;
	kernel.works_before = 0;
}

/* ---- the log ---- */

static char logged[256];		/* the last warning or error */

static void take_line(void *data, enum log_level level, const char *line)
{
	(void)data;
	(void)level;
	snprintf(logged, sizeof(logged), "%s", line);
}

/* Checks the last line of the log, and forgets it. */
static void check_logged(const char *line)
{
	assert_string_equal(logged, line);
	logged[0] = '\0';
}

/* ---- an engine's cgroup ---- */

static const struct cgroup_options all = {
	.max_memory = 1000, .user_memory = 5000, .cpu_weight = 100, .low_cpu_weight = 10,
	.user_cpu_weight = 70, .max_pids = 64, .user_workers = 3,
};
static struct cgroup cgroup;
static int files;

static int set_up(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	logged[0] = '\0';
	kernel.is_cgroup2 = true;
	strcpy(top, "/tmp/engine-cgroup-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	make("/svc");
	make("/client");
	write_file("client/memory.max", "max");
	/* The root cgroup has no files with limits. */
	for (int i = 0; i < 2; i++)
		close((int)syscall(SYS_openat, AT_FDCWD, path_of(controls[i]), O_WRONLY | O_CREAT,
				   0600));
	own = "/svc";
	files = count_files();
	cgroup_init(&cgroup, &all);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	if (cgroup.base >= 0)
		close(cgroup.base);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command) || count_files() != files;
}

static void init_again(const struct cgroup_options *options)
{
	if (cgroup.base >= 0)
		close(cgroup.base);
	cgroup_init(&cgroup, options);
}

static void test_init(void **state)
{
	(void)state;
	assert_true(cgroup.base >= 0);
	check_file("svc/broker/cgroup.procs", "0");
	check_file("svc/cgroup.subtree_control", "+memory +pids +cpu");
	/* The engine uses its cgroup folder even if the folder exists already. */
	init_again(&all);
	assert_true(cgroup.base >= 0);
	kernel.is_cgroup2 = false;
	init_again(&all);
	assert_int_equal(cgroup.base, -1);
	kernel.is_cgroup2 = true;
	own = "/none";
	cgroup_init(&cgroup, &all);
	assert_int_equal(cgroup.base, -1);
}

/* The engine does not change a cgroup that was not delegated to the engine. */
static void test_not_delegated(void **state)
{
	(void)state;
	close(cgroup.base);
	cgroup.base = -1;
	unlinkat(AT_FDCWD, path_of("svc/broker"), AT_REMOVEDIR);
	fail_next("broker/cgroup.procs", EACCES, 1);
	cgroup_init(&cgroup, &all);
	assert_int_equal(cgroup.base, -1);
	assert_false(is_there("svc/broker"));
	write_file("svc/cgroup.procs", "nobody");
	fail_next("cgroup.subtree_control", EACCES, 1);
	cgroup_init(&cgroup, &all);
	assert_int_equal(cgroup.base, -1);
	assert_false(is_there("svc/broker"));
	check_file("svc/cgroup.procs", "0");
	assert_int_equal(count_files(), files);
}

/*
 * An engine in the root cgroup, which belongs to the whole machine, makes a separate folder for
 * workers.
 */
static void test_root(void **state)
{
	(void)state;
	own = "/";
	for (int again = 0; again < 2; again++) {
		init_again(&all);
		assert_true(cgroup.base >= 0);
		check_file("cgroup.subtree_control", "+memory +pids +cpu");
		check_file("nnacceld/cgroup.subtree_control", "+memory +pids +cpu");
		check_file("nnacceld/broker/cgroup.procs", "0");
	}
	fail_next("cgroup.subtree_control", EACCES, 1);
	init_again(&all);
	assert_int_equal(cgroup.base, -1);
	assert_int_equal(count_files(), files);
}

/* If the machine has no cgroups, the cgroup functions do nothing and report no error. */
static void test_none(void **state)
{
	struct cgroup_leaf leaf, other;

	(void)state;
	close(cgroup.base);
	cgroup.base = -1;
	assert_true(cgroup_leaf_create(&cgroup, &leaf));
	assert_int_equal(leaf.fd, -1);
	assert_string_equal(leaf.name, "");
	assert_null(cgroup_leaf_create_for(&cgroup, 5, -1, CONTEXT, &other));
	assert_int_equal(other.fd, -1);
	assert_int_equal(kernel.asked, 0);
	assert_int_equal(cgroup_leaf_move(&cgroup, 9, &leaf, &other), 0);
	cgroup_leaf_set_low(&cgroup, &leaf, true);
	cgroup_user_set_low(&cgroup, &leaf, true);
	assert_false(cgroup_leaf_was_oom(&cgroup, &leaf));
	cgroup_leaf_remove(&cgroup, &leaf);
	cgroup_leaf_close(&leaf);
}

/* Tests the limits of an idle worker, and the limits of the folder for all idle workers. */
static void test_idle(void **state)
{
	struct cgroup_options options = all;
	struct cgroup_leaf leaves[3];

	(void)state;
	/* Imitate an earlier broker that died before it set the limits of the idle folder. */
	make("svc/idle");
	for (int i = 0; i < 2; i++)
		assert_true(cgroup_leaf_create(&cgroup, &leaves[i]));
	assert_string_equal(leaves[0].name, "idle/worker-0");
	assert_string_equal(leaves[1].name, "idle/worker-1");
	check_file("svc/idle/cgroup.subtree_control", "+memory +pids +cpu");
	check_file("svc/idle/memory.max", "");
	check_file("svc/idle/memory.swap.max", "0");
	check_file("svc/idle/cpu.weight", "70");
	check_file("svc/idle/pids.max", "65536");
	check_file("svc/idle/worker-1/memory.max", "1000");
	check_file("svc/idle/worker-1/memory.swap.max", "0");
	check_file("svc/idle/worker-1/cpu.weight", "100");
	check_file("svc/idle/worker-1/pids.max", "64");
	check_file("svc/idle/worker-1/cgroup.pressure", "0");
	check_file("svc/idle/worker-1/cgroup.subtree_control", "");
	/* The broker skips folder names that an earlier broker has used and left behind. */
	make("svc/idle/worker-2");
	assert_true(cgroup_leaf_create(&cgroup, &leaves[2]));
	assert_string_equal(leaves[2].name, "idle/worker-3");
	for (int i = 0; i < 3; i++) {
		cgroup_leaf_close(&leaves[i]);
		assert_int_equal(leaves[i].fd, -1);
		cgroup_leaf_remove(&cgroup, &leaves[i]);
		assert_false(is_there("svc/idle/worker-3") && i == 2);
	}
	assert_true(is_there("svc/idle"));
	options.max_memory = 0;
	init_again(&options);
	assert_true(cgroup_leaf_create(&cgroup, &leaves[0]));
	check_file("svc/idle/worker-0/memory.max", "");
	check_file("svc/idle/worker-0/memory.swap.max", "0");
	cgroup_leaf_close(&leaves[0]);
}

/*
 * Control files that cannot be opened, and whether the engine can still make a worker's folder. If
 * the engine cannot make a worker's folder, no folder of the worker remains.
 */
static const struct {
	const char *file;
	int error;
	bool is_made;
	const char *pids;		/* pids.max of the new worker */
} faults[] = {
	{ "pids.max", EINVAL, true, "max" }, { "pids.max", EACCES, false, "" },
	{ "pids.max", ENOENT, false, "" }, { "cpu.weight", EACCES, false, "" },
	{ "cpu.weight", ENOENT, true, "64" }, { "memory.max", ENOENT, true, "64" },
	{ "memory.max", EACCES, false, "" }, { "memory.swap.max", ENOENT, true, "64" },
	{ "memory.swap.max", EACCES, false, "" }, { "cgroup.pressure", ENOENT, true, "64" },
};

static void test_faults(void **state)
{
	struct cgroup_leaf leaf;
	char name[64], line[128];

	(void)state;
	/* If the engine cannot make the folder of idle workers, it makes no worker's folder. */
	for (int i = 0; i < 2; i++) {
		fail_next("cgroup.subtree_control", EACCES, 1);
		assert_false(cgroup_leaf_create(&cgroup, &leaf));
		check_logged("cgroup idle: Permission denied");
		assert_string_equal(leaf.name, "");
		assert_int_equal(leaf.fd, -1);
		assert_int_equal(is_there("svc/idle"), i);
		if (!i)
			make("svc/idle");
	}
	assert_true(cgroup_leaf_create(&cgroup, &leaf));
	cgroup_leaf_close(&leaf);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		fail_next(faults[i].file, faults[i].error, 1);
		/*
		 * Let the first open() of each file except memory.max succeed. With the first
		 * open() of the file, the engine writes a limit of the parent folder.
		 */
		kernel.works_before = strcmp(faults[i].file, "memory.max") != 0;
		snprintf(name, sizeof(name), "svc/idle/worker-%u", cgroup.serial);
		if (cgroup_leaf_create(&cgroup, &leaf) != faults[i].is_made ||
		    is_there(name) != faults[i].is_made)
			fail_msg("%s: %s", faults[i].file, strerror(faults[i].error));
		snprintf(line, sizeof(line), "cgroup %s: %s", name + strlen("svc/"),
			 strerror(faults[i].error));
		check_logged(faults[i].is_made ? "" : line);
		assert_int_equal(leaf.name[0] != '\0', faults[i].is_made);
		assert_int_equal(leaf.fd >= 0, faults[i].is_made);
		if (faults[i].is_made) {
			strcat(name, "/pids.max");
			check_file(name, faults[i].pids);
		}
		cgroup_leaf_close(&leaf);
	}
	assert_int_equal(count_files(), files + 1);
	/*
	 * If the engine cannot make a worker's folder, the engine removes the user's folder, too.
	 */
	for (int i = 0; i < 2; i++) {
		fail_next(i ? "cpu.weight" : "cgroup.subtree_control", EACCES, 1);
		assert_string_equal(cgroup_leaf_create_for(&cgroup, 5, -1, CONTEXT, &leaf),
				    "its user's cgroup cannot be made");
		check_logged("cgroup user-5: uid 5 gets no worker: Permission denied");
		assert_false(is_there("svc/user-5"));
	}
	assert_int_equal(count_files(), files + 1);
}

/* ---- workers of users ---- */

/*
 * If a client's cgroup has a lower memory limit than the client's user, the worker gets an extra
 * cgroup ("box") with the client's limit.
 */
static const struct {
	const char *limit;		/* memory limit of the client's cgroup */
	uint64_t user_memory;
	bool ignores;			/* true: option no_client_limit is set */
	const char *box;		/* expected memory limit of the client's box, or NULL */
} boxes[] = {
	{ "max", 5000, false, NULL }, { "4999", 5000, false, "4999" },
	{ "5000", 5000, false, NULL }, { "5001", 5000, false, NULL },
	{ "4999", 5000, true, NULL }, { "6000", 0, false, "6000" }, { "max", 0, false, NULL },
};

static void test_boxes(void **state)
{
	struct cgroup_options options = all;
	char box[64], name[96], text[32];
	struct cgroup_leaf leaf;
	struct stat st;

	(void)state;
	assert_int_equal(stat(path_of("client"), &st), 0);
	snprintf(box, sizeof(box), "user-5/box-%llu", (unsigned long long)st.st_ino);
	for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
		write_file("client/memory.max", boxes[i].limit);
		options.user_memory = boxes[i].user_memory;
		options.no_client_limit = boxes[i].ignores;
		init_again(&options);
		kernel.asked = 0;
		assert_null(cgroup_leaf_create_for(&cgroup, 5, -1, CONTEXT, &leaf));
		assert_int_equal(!kernel.asked, boxes[i].ignores);
		snprintf(name, sizeof(name), "%s/worker-0", boxes[i].box ? box : "user-5");
		assert_string_equal(leaf.name, name);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)boxes[i].user_memory);
		check_file("svc/user-5/memory.max", boxes[i].user_memory ? text : "");
		check_file("svc/user-5/pids.max", "192");
		check_file("svc/user-5/cpu.weight", "70");
		check_file("svc/user-5/cgroup.subtree_control",
			   boxes[i].box ? "+memory +pids +cpu" : "+memory +pids");
		if (boxes[i].box) {
			snprintf(name, sizeof(name), "svc/%s/memory.max", box);
			check_file(name, boxes[i].box);
			snprintf(name, sizeof(name), "svc/%s/pids.max", box);
			check_file(name, "192");
			snprintf(name, sizeof(name), "svc/%s/cgroup.subtree_control", box);
			check_file(name, "+memory +pids");
		}
		snprintf(name, sizeof(name), "svc/%s/memory.max", leaf.name);
		check_file(name, "1000");
		/*
		 * A user's folders are removed together with the folder of the user's last worker.
		 */
		cgroup_leaf_close(&leaf);
		cgroup_leaf_remove(&cgroup, &leaf);
		assert_false(is_there("svc/user-5"));
	}
	/* A client whose limits are unknown gets no worker. */
	write_file("client/memory.max", "");
	options.no_client_limit = false;
	init_again(&options);
	assert_non_null(strstr(cgroup_leaf_create_for(&cgroup, 5, -1, CONTEXT, &leaf),
			       "not known"));
	assert_false(is_there("svc/user-5"));
}

static void test_move(void **state)
{
	struct cgroup_leaf from, to, other;

	(void)state;
	assert_true(cgroup_leaf_create(&cgroup, &from));
	cgroup_leaf_close(&from);
	assert_null(cgroup_leaf_create_for(&cgroup, 5, -1, CONTEXT, &to));
	/* A user's workers get CPU weights when the user has a second worker. */
	check_file("svc/user-5/cgroup.subtree_control", "+memory +pids");
	assert_null(cgroup_leaf_create_for(&cgroup, 5, -1, CONTEXT, &other));
	check_file("svc/user-5/cgroup.subtree_control", "+memory +pids +cpu");
	/* The kernel cannot move a dead worker to another cgroup, so the move fails. */
	fail_next("cgroup.procs", ESRCH, 1);
	assert_int_equal(cgroup_leaf_move(&cgroup, 99, &from, &to), ESRCH);
	check_logged("cgroup user-5/worker-1: worker 99 cannot be moved there: No such process");
	assert_string_equal(from.name, "idle/worker-0");
	assert_string_equal(to.name, "user-5/worker-1");
	assert_int_equal(cgroup_leaf_move(&cgroup, 99, &from, &to), 0);
	check_file("svc/user-5/worker-1/cgroup.procs", "99");
	assert_string_equal(from.name, "user-5/worker-1");
	assert_string_equal(to.name, "");
	assert_int_equal(from.fd, -1);
	assert_int_equal(to.fd, -1);
	assert_false(is_there("svc/idle/worker-0"));
	cgroup_leaf_close(&other);
	make("svc/user-5/worker-1/busy");
	cgroup_leaf_remove(&cgroup, &from);
	check_logged("cgroup user-5/worker-1 cannot be removed: Device or resource busy");
	assert_int_equal(unlinkat(AT_FDCWD, path_of("svc/user-5/worker-1/busy"), AT_REMOVEDIR), 0);
	/* A user's folder is removed only with the folder of the user's last worker. */
	cgroup_leaf_remove(&cgroup, &from);
	assert_true(is_there("svc/user-5/worker-2"));
	assert_false(is_there("svc/user-5/worker-1"));
	cgroup_leaf_remove(&cgroup, &other);
	assert_false(is_there("svc/user-5"));
	assert_int_equal(count_files(), files + 1);
}

/*
 * CPU weights of one worker's cgroup, and of the cgroup of all workers of a user. The `low` weights
 * apply while all models of the worker or of the user have low priority.
 */
static const struct {
	unsigned int worker, low, user;
	const char *low_worker, *low_user;
} weights[] = {
	{ 100, 10, 70, "10", "7" }, { 100, 10, 5, "10", "1" }, { 100, 100, 70, "100", "70" },
	{ 100, 200, 70, "100", "70" }, { 100, 99, 200, "99", "198" },
};

static void test_weights(void **state)
{
	struct cgroup_options options = all;
	struct cgroup_leaf leaf;
	char text[128];

	(void)state;
	options.no_client_limit = true;
	for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		options.cpu_weight = weights[i].worker;
		options.low_cpu_weight = weights[i].low;
		options.user_cpu_weight = weights[i].user;
		init_again(&options);
		assert_null(cgroup_leaf_create_for(&cgroup, 5, -1, CONTEXT, &leaf));
		cgroup_leaf_close(&leaf);
		cgroup_leaf_set_low(&cgroup, &leaf, true);
		cgroup_user_set_low(&cgroup, &leaf, true);
		check_file("svc/user-5/worker-0/cpu.weight", weights[i].low_worker);
		check_file("svc/user-5/cpu.weight", weights[i].low_user);
		cgroup_leaf_set_low(&cgroup, &leaf, false);
		cgroup_user_set_low(&cgroup, &leaf, false);
		snprintf(text, sizeof(text), "%u", weights[i].worker);
		check_file("svc/user-5/worker-0/cpu.weight", text);
		snprintf(text, sizeof(text), "%u", weights[i].user);
		check_file("svc/user-5/cpu.weight", text);
		cgroup_leaf_remove(&cgroup, &leaf);
	}
	/* A weight that cannot be set is reported, unless the cgroup has no weight. */
	check_logged("");
	fail_next("cpu.weight", ENOENT, 1);
	cgroup_leaf_set_low(&cgroup, &leaf, true);
	check_logged("");
	fail_next("cpu.weight", EACCES, 1);
	cgroup_leaf_set_low(&cgroup, &leaf, true);
	snprintf(text, sizeof(text), "cgroup %s: cpu.weight: Permission denied", leaf.name);
	check_logged(text);
}

static void test_oom(void **state)
{
	static const struct {
		const char *events;
		bool was;
	} cases[] = {
		{ "oom_kill 1\n", true }, { "oom 3\noom_kill 12\n", true },
		{ "oom_kill 0\n", false }, { "oom 3\n", false }, { "", false },
	};
	struct cgroup_leaf leaf;

	(void)state;
	assert_true(cgroup_leaf_create(&cgroup, &leaf));
	cgroup_leaf_close(&leaf);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_file("svc/idle/worker-0/memory.events", cases[i].events);
		assert_int_equal(cgroup_leaf_was_oom(&cgroup, &leaf), cases[i].was);
	}
	fail_next("memory.events", ENOENT, 1);
	assert_false(cgroup_leaf_was_oom(&cgroup, &leaf));
	assert_int_equal(count_files(), files + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(init),
		TEST(not_delegated),
		TEST(root),
		TEST(none),
		TEST(idle),
		TEST(faults),
		TEST(boxes),
		TEST(move),
		TEST(weights),
		TEST(oom),
	};

	log_set_level(LOG_WARNING);
	log_set_sink(take_line, NULL);
	return cmocka_run_group_tests_name("engine cgroup", tests, NULL, NULL);
}
