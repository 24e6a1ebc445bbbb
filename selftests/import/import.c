// SPDX-License-Identifier: MIT
/*
 * Imports of files and of other drivers' dma-bufs: the protection that each file allows, and the
 * effects of seals and truncation after the import.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "exporters.h"
#include "harness.h"
#include "process.h"

#define LENGTH (2 * PAGE)
#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

FIXTURE(imports) {
	struct summary before;
	struct served s;
	struct async async;
	struct execution e;
	uint32_t output;
	uint32_t model;
	union command cmd;
};

FIXTURE_SETUP(imports)
{
	struct nnaccel_prepare prepare;

	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->output = pool_alloc(self->s.fd, LENGTH);
	prepare_init(&prepare, self->output, 1);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(async_wait(&self->async), 0);
	self->model = prepare.out_model;
}

FIXTURE_TEARDOWN(imports)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/*
 * Starts an execution with @pool, and maps @pool as the worker does. The function finish() ends the
 * execution.
 */
static char *map_as_worker(FIXTURE_DATA(imports) *self, uint32_t pool, bool write, size_t length)
{
	execution_init(&self->e, self->model, write ? self->output : pool,
		       write ? pool : self->output);
	if (!async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd) ||
	    session_fetch(self->s.session, 0, &self->cmd))
		return NULL;
	return session_map(self->s.session, command_grants(&self->cmd)[write].grant, length,
			   write ? PROT_READ | PROT_WRITE : PROT_READ);
}

static int finish(FIXTURE_DATA(imports) *self)
{
	int error = session_answer(self->s.session, &self->cmd);

	return async_wait(&self->async) ?: error;
}

TEST_F(imports, odd_files)
{
	struct odd_file odd[MAX_ODD_FILES];
	size_t n = odd_files_open(odd);

	ASSERT_GT(n, 0);
	odd[n++] = (struct odd_file){ "context", self->s.fd };
	odd[n++] = (struct odd_file){ "session", self->s.session };
	odd[n++] = (struct odd_file){ "engine node", self->s.broker };
	for (size_t i = 0; i < n; i++) {
		ASSERT_GE(odd[i].fd, 0);
		EXPECT_EQ(pool_import(self->s.fd, odd[i].fd, NNACCEL_PROT_READ, 0, 1, NULL),
			  EOPNOTSUPP)
			TH_LOG("%s", odd[i].name);
		EXPECT_EQ(pool_import(self->s.fd, odd[i].fd, PROT_RW, 0, 1, NULL), EOPNOTSUPP)
			TH_LOG("%s", odd[i].name);
	}
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-memory-import"), 0);
}

TEST_F(imports, open_modes)
{
	const struct {
		int flags;
		uint32_t prot;
		int error;
	} cases[] = {
		{ O_RDONLY, NNACCEL_PROT_READ, 0 },
		{ O_RDONLY, PROT_RW, EACCES },
		{ O_WRONLY, NNACCEL_PROT_READ, EACCES },
		{ O_WRONLY, PROT_RW, EACCES },
		{ O_RDWR, NNACCEL_PROT_READ, 0 },
		{ O_RDWR, PROT_RW, 0 },
		{ O_PATH, NNACCEL_PROT_READ, EBADF },
	};
	char path[] = "/tmp/nnaccel-import-XXXXXX";
	int file = mkstemp(path);

	ASSERT_GE(file, 0);
	ASSERT_EQ(ftruncate(file, LENGTH), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd = open(path, cases[i].flags);

		EXPECT_EQ(pool_import(self->s.fd, fd, cases[i].prot, 0, LENGTH, NULL),
			  cases[i].error)
			TH_LOG("flags %d, prot %u", cases[i].flags, cases[i].prot);
		close(fd);
	}
	close(file);
	unlink(path);
}

TEST_F(imports, seals)
{
	const struct {
		int seals;
		uint32_t prot;
		int error;
	} cases[] = {
		{ F_SEAL_WRITE, NNACCEL_PROT_READ, 0 },
		{ F_SEAL_WRITE, PROT_RW, EPERM },
		{ F_SEAL_FUTURE_WRITE, NNACCEL_PROT_READ, 0 },
		{ F_SEAL_FUTURE_WRITE, PROT_RW, EPERM },
		{ F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, NNACCEL_PROT_READ, 0 },
		{ F_SEAL_SHRINK | F_SEAL_GROW, PROT_RW, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int file = file_new(LENGTH);
		uint32_t pool;

		ASSERT_EQ(fcntl(file, F_ADD_SEALS, cases[i].seals), 0);
		EXPECT_EQ(pool_import(self->s.fd, file, cases[i].prot, 0, LENGTH, &pool),
			  cases[i].error)
			TH_LOG("seals %x, prot %u", cases[i].seals, cases[i].prot);
		close(file);
		if (cases[i].error)
			continue;
		/* The worker can map sealed memory even after the client has closed the file. */
		EXPECT_NE(map_as_worker(self, pool, cases[i].prot == PROT_RW, LENGTH), NULL)
			TH_LOG("seals %x", cases[i].seals);
		EXPECT_EQ(finish(self), 0);
	}
}

TEST_F(imports, sealing_afterwards)
{
	int file = file_new(LENGTH);
	uint32_t pool, other;
	char *at;

	ASSERT_EQ(pool_import(self->s.fd, file, PROT_RW, 0, LENGTH, &pool), 0);
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, LENGTH, &other), 0);
	EXPECT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), -1);
	EXPECT_EQ(errno, EBUSY);
	at = map_as_worker(self, pool, true, LENGTH);
	ASSERT_NE(at, NULL);
	EXPECT_EQ(finish(self), 0);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	/* The worker's mapping can still write to the file, so F_SEAL_WRITE fails. */
	EXPECT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), -1);
	EXPECT_EQ(errno, EBUSY);
	munmap(at, LENGTH);
	EXPECT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	at = map_as_worker(self, other, false, LENGTH);
	ASSERT_NE(at, NULL);
	/*
	 * A worker's read-only mapping does not prevent F_SEAL_WRITE, and stays readable after the
	 * sealing.
	 */
	EXPECT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), 0);
	EXPECT_EQ(at[0], 0);
	EXPECT_EQ(mprotect(at, LENGTH, PROT_READ | PROT_WRITE), -1);
	EXPECT_EQ(finish(self), 0);
	close(file);
}

/* If a pool's file is truncated, the worker gets SIGBUS, and the client's execution succeeds. */
TEST_F(imports, truncated)
{
	int file = file_new(LENGTH);
	uint32_t pool;
	char *gone;

	ASSERT_EQ(pool_import(self->s.fd, file, PROT_RW, 0, LENGTH, &pool), 0);
	gone = map_as_worker(self, pool, true, LENGTH);
	ASSERT_NE(gone, NULL);
	gone[PAGE] = 1;
	ASSERT_EQ(ftruncate(file, PAGE), 0);
	EXPECT_EQ(gone[0], 0);
	EXPECT_TRUE(bus_error(gone + PAGE));
	EXPECT_EQ(finish(self), 0);
	ASSERT_EQ(ftruncate(file, 0), 0);
	gone = map_as_worker(self, pool, false, LENGTH);
	EXPECT_NE(gone, NULL);
	EXPECT_EQ(finish(self), 0);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	EXPECT_EQ(pool_import(self->s.fd, file, PROT_RW, 0, 1, NULL), EINVAL);
	close(file);
}

TEST_F(imports, own_buffer)
{
	int buffer = pool_export(self->s.fd, self->output), other = device_open();
	uint32_t pool;

	ASSERT_GE(buffer, 0);
	/*
	 * Each import of a dma-buf makes a new pool, in the exporting context and in other
	 * contexts.
	 */
	EXPECT_EQ(pool_import(self->s.fd, buffer, PROT_RW, 0, LENGTH, &pool), 0);
	EXPECT_NE(pool, self->output);
	EXPECT_EQ(pool_import(self->s.fd, buffer, NNACCEL_PROT_READ, 0, LENGTH, &pool), 0);
	EXPECT_EQ(pool_import(self->s.fd, buffer, PROT_RW, PAGE, PAGE, &pool), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 4);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-memory-alloc"), LENGTH / 1024);

	/* Only the context that allocated a pool is charged for the pool's memory. */
	EXPECT_EQ(pool_import(other, buffer, PROT_RW, 0, LENGTH, &pool), 0);
	EXPECT_EQ(summary_get(other, "nnaccel-memory-alloc"), 0);
	EXPECT_EQ(summary_get(other, "nnaccel-memory-import"), LENGTH / 1024);
	EXPECT_EQ(object_destroy(other, pool), 0);
	EXPECT_EQ(object_destroy(other, pool), ENOENT);
	close(other);
	close(buffer);
}

/* A user stays charged for a closed context's memory until the memory is freed. */
TEST_F(imports, charge_outlives_the_context)
{
	int first = device_open(), buffer = pool_export(first, pool_alloc(first, LENGTH));
	uint32_t pool;
	char *at;

	close(first);
	EXPECT_EQ(summary_get(-1, "pool-bytes"), self->before.counter[3] + (long long)(2 * LENGTH));
	EXPECT_EQ(pool_import(self->s.fd, buffer, PROT_RW, 0, LENGTH, &pool), 0);
	close(buffer);
	at = map_as_worker(self, pool, true, LENGTH);
	EXPECT_NE(at, NULL);
	EXPECT_EQ(finish(self), 0);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	EXPECT_EQ(summary_get(-1, "pool-bytes"), self->before.counter[3] + (long long)(2 * LENGTH));
	munmap(at, LENGTH);
}

/* Imports a dma-buf of another exporter, and accesses the dma-buf as client and as worker. */
static void use_foreign(struct __test_metadata *_metadata, FIXTURE_DATA(imports) *self, int buffer)
{
	char *mine = map_shared(buffer, LENGTH, PROT_READ | PROT_WRITE), *yours;
	uint32_t pool, again;

	ASSERT_NE(mine, NULL);
	EXPECT_EQ(pool_import(self->s.fd, buffer, PROT_RW, 0, LENGTH + 1, NULL), EINVAL);
	ASSERT_EQ(pool_import(self->s.fd, buffer, PROT_RW, 0, LENGTH, &pool), 0);
	EXPECT_EQ(pool_import(self->s.fd, buffer, NNACCEL_PROT_READ, PAGE, PAGE, &again), 0);
	yours = map_as_worker(self, pool, true, LENGTH);
	ASSERT_NE(yours, NULL);
	yours[0] = 1;
	mine[PAGE] = 2;
	EXPECT_EQ(mine[0], 1);
	EXPECT_EQ(finish(self), 0);
	munmap(yours, LENGTH);
	yours = map_as_worker(self, again, false, PAGE);
	ASSERT_NE(yours, NULL);
	EXPECT_EQ(yours[0], 2);
	EXPECT_EQ(mprotect(yours, PAGE, PROT_READ | PROT_WRITE), -1);
	EXPECT_EQ(finish(self), 0);
	munmap(yours, PAGE);
	munmap(mine, LENGTH);
	close(buffer);
	buffer = pool_export(self->s.fd, pool);
	EXPECT_GE(buffer, 0);
	close(buffer);
}

TEST_F(imports, udmabuf)
{
	int file = file_new(LENGTH), buffer = udmabuf_buffer(file, LENGTH);

	if (buffer < 0)
		SKIP(return, "this kernel has no udmabuf");
	use_foreign(_metadata, self, buffer);
	/* Remove all mappings before the file is closed, as udmabuf of Linux 6.1 requires. */
	close(file);
}

TEST_F(imports, system_heap)
{
	int buffer = heap_buffer(LENGTH);

	if (buffer < 0)
		SKIP(return, "this kernel has no system heap");
	use_foreign(_metadata, self, buffer);
}

TEST_HARNESS_MAIN
