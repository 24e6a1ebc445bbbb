// SPDX-License-Identifier: MIT
/*
 * The module cannot be unloaded while one of its files is open. Unloading the module removes the
 * module's devices and files, and the module can be loaded again. NNACCEL_MODULE is the path of
 * nnaccel.ko.
 */
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "harness.h"

static int module_unload(void)
{
	return syscall(SYS_delete_module, "nnaccel", O_NONBLOCK) ? errno : 0;
}

static int module_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 || syscall(SYS_finit_module, fd, "", 0) ? errno : 0;

	close(fd);
	return error;
}

/* Returns whether a line of the /proc file @path contains @text. */
static bool file_has(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	bool found = false;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		found |= !!strstr(line, text);
	if (file)
		fclose(file);
	return found;
}

/*
 * Returns whether the kernel has the thread of the module's workqueue. Linux before 6.9 gives the
 * thread the name of the queue.
 */
static bool has_thread(void)
{
	glob_t names;
	bool found = false;

	if (glob("/proc/[0-9]*/comm", 0, NULL, &names))
		return false;
	for (size_t i = 0; i < names.gl_pathc; i++) {
		FILE *file = fopen(names.gl_pathv[i], "re");
		char name[64] = "";

		if (!file)
			continue;
		if (fgets(name, sizeof(name), file))
			found |= !strcmp(name, "nnaccel\n") || strstr(name, "/R-nnacc");
		fclose(file);
	}
	globfree(&names);
	return found;
}

FIXTURE(module) {
	const char *path;
};

FIXTURE_SETUP(module)
{
	self->path = getenv("NNACCEL_MODULE");
	ASSERT_TRUE(daemon_stop());
}

FIXTURE_TEARDOWN(module)
{
}

TEST_F(module, stays_while_in_use)
{
	static const char node[] = "/tmp/nnaccel-gone";
	struct served s;
	struct stat device;
	int buffer;
	void *at;

	if (!self->path)
		SKIP(return, "set NNACCEL_MODULE to the file of the module");
	ASSERT_EQ(served_open(&s), 0);
	buffer = pool_export(s.fd, pool_alloc(s.fd, PAGE));
	at = map_shared(buffer, PAGE, PROT_READ);
	ASSERT_NE(at, NULL);
	/*
	 * Each open file prevents the unload, so close the files one by one, and try to unload each
	 * time.
	 */
	EXPECT_EQ(module_unload(), EAGAIN);
	close(s.broker);
	EXPECT_EQ(module_unload(), EAGAIN);
	close(s.fd);
	EXPECT_EQ(module_unload(), EAGAIN);
	close(s.session);
	EXPECT_EQ(module_unload(), EAGAIN);
	close(buffer);
	EXPECT_EQ(module_unload(), EAGAIN);
	munmap(at, PAGE);

	/*
	 * Unloading removes the module's device numbers, nodes and thread, and the next load
	 * creates new ones.
	 */
	EXPECT_TRUE(file_has("/proc/devices", " nnaccel\n"));
	EXPECT_TRUE(has_thread());
	ASSERT_EQ(stat(DEVICE, &device), 0);
	unlink(node);
	ASSERT_EQ(mknod(node, S_IFCHR | 0600, device.st_rdev), 0);
	ASSERT_EQ(module_unload(), 0);
	EXPECT_FALSE(file_has("/proc/devices", " nnaccel\n"));
	EXPECT_FALSE(has_thread());
	EXPECT_EQ(open(node, O_RDWR), -1);
	EXPECT_EQ(errno, ENXIO);
	unlink(node);
	EXPECT_EQ(access(DEVICE, F_OK), -1);
	EXPECT_EQ(access(ENGINE_NODE, F_OK), -1);
	EXPECT_EQ(access("/sys/kernel/debug/nnaccel", F_OK), -1);
	EXPECT_EQ(module_unload(), ENOENT);
	ASSERT_EQ(module_load(self->path), 0);
	EXPECT_EQ(module_load(self->path), EEXIST);
	EXPECT_EQ(summary_get(-1, "executions-total"), 0);
	EXPECT_EQ(summary_get(-1, "burst-packets-total"), 0);
}

TEST_F(module, stays_while_one_is_open)
{
	const char *const paths[] = { DEVICE, ENGINE_NODE };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd = open(paths[i], O_RDWR);

		ASSERT_GE(fd, 0);
		EXPECT_EQ(module_unload(), EAGAIN);
		close(fd);
	}
}

/* While the file of an execution is open, the module cannot be unloaded. */
TEST_F(module, stays_while_a_file_exists)
{
	struct served s;
	uint32_t pool, model;
	int file, error;

	if (!self->path)
		SKIP(return, "set NNACCEL_MODULE to the file of the module");
	ASSERT_EQ(served_open(&s), 0);
	pool = pool_alloc(s.fd, PAGE);
	model = served_prepare(&s, pool);
	file = file_start(s.fd, model, pool, -1);
	ASSERT_GE(file, 0);
	served_close(&s);
	EXPECT_TRUE(file_readable(file, -1));
	usleep(100000);
	EXPECT_EQ(module_unload(), EAGAIN);
	close(file);
	/*
	 * Try to unload until it succeeds, because a kernel thread may still use the closed file.
	 */
	do {
		error = module_unload();
	} while (error == EAGAIN);
	EXPECT_EQ(error, 0);
	ASSERT_EQ(module_load(self->path), 0);
}

/* The module works after it was reloaded several times. */
TEST_F(module, reloads)
{
	if (!self->path)
		SKIP(return, "set NNACCEL_MODULE to the file of the module");
	for (int i = 0; i < 3; i++) {
		struct nnaccel_query query;
		uint32_t answer = 0;
		struct served s;

		ASSERT_EQ(module_unload(), 0);
		ASSERT_EQ(module_load(self->path), 0);
		ASSERT_EQ(served_open(&s), 0);
		ASSERT_EQ(served_start(&s), 0);
		query_init(&query, 42, &answer, sizeof(answer));
		EXPECT_EQ(xioctl(s.fd, NNACCEL_WORK_QUERY, &query), 0);
		EXPECT_EQ(answer, 42);
		served_close(&s);
	}
}

TEST_HARNESS_MAIN
