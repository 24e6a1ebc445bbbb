// SPDX-License-Identifier: MIT
/* Pools: ALLOC, IMPORT and EXPORT of pools with rejected fields, and the limits of pools. */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "harness.h"

#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

FIXTURE(pools) {
	struct summary before;
	int broker;
	int fd;
};

FIXTURE_SETUP(pools)
{
	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(pools)
{
	close(self->fd);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

TEST_F(pools, alloc)
{
	struct nnaccel_pool_alloc alloc = {
		.size = sizeof(alloc),
		.length = PAGE + 1,
		.out_id = POISON,
	};

	ASSERT_EQ(xioctl(self->fd, NNACCEL_POOL_ALLOC, &alloc), 0);
	EXPECT_NE(alloc.out_id, POISON);
	EXPECT_NE(alloc.out_id, 0);
	EXPECT_EQ(summary_get(self->fd, "nnaccel-memory-alloc"), 2 * (long long)PAGE / 1024);
	EXPECT_EQ(object_destroy(self->fd, alloc.out_id), 0);
	EXPECT_EQ(summary_get(self->fd, "nnaccel-memory-alloc"), 0);
}

TEST_F(pools, alloc_refusals)
{
	const struct nnaccel_pool_alloc good = { .size = sizeof(good), .length = 1 };
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_pool_alloc, flags, 1, EINVAL),
		REFUSE(struct nnaccel_pool_alloc, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_pool_alloc, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_pool_alloc, length, 0, EINVAL),
		REFUSE(struct nnaccel_pool_alloc, length, UINT64_MAX, EFBIG),
		REFUSE(struct nnaccel_pool_alloc, length, UINT64_MAX - PAGE + 1, EFBIG),
		REFUSE(struct nnaccel_pool_alloc, length, 1ULL << 63, EFBIG),
	};

	EXPECT_EQ(check_refusals(self->fd, NNACCEL_POOL_ALLOC, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(summary_get(self->fd, "nnaccel-pools"), 0);
	EXPECT_EQ(check_structure(self->fd, NNACCEL_POOL_ALLOC, &good, sizeof(good), 0, true), 0);
	/*
	 * All existing pools are results of check_structure()'s calls with a valid structure. An
	 * ALLOC that could not write its result has left no pool.
	 */
	EXPECT_EQ(summary_get(self->fd, "nnaccel-pools"), 4);
}

TEST_F(pools, memory_is_zeroed)
{
	const size_t length = 1024 * PAGE;
	unsigned char *at;
	uint32_t id;
	int file;

	for (int i = 0; i < 2; i++) {
		id = pool_alloc(self->fd, length);
		ASSERT_NE(id, 0);
		file = pool_export(self->fd, id);
		ASSERT_GE(file, 0);
		at = map_shared(file, length, PROT_READ | PROT_WRITE);
		ASSERT_NE(at, NULL);
		EXPECT_EQ(at[0], 0);
		EXPECT_EQ(memcmp(at, at + 1, length - 1), 0);
		memset(at, 0xff, length);
		munmap(at, length);
		close(file);
		ASSERT_EQ(object_destroy(self->fd, id), 0);
	}
}

TEST_F(pools, export)
{
	for (uint32_t flags = 0; flags <= NNACCEL_EXPORT_CLOEXEC; flags++) {
		struct nnaccel_pool_export export = {
			.size = sizeof(export),
			.flags = flags,
			.id = pool_alloc(self->fd, 1),
			.out_fd = -4711,
		};
		char *at;

		ASSERT_EQ(xioctl(self->fd, NNACCEL_POOL_EXPORT, &export), 0);
		ASSERT_GE(export.out_fd, 0);
		EXPECT_EQ(fcntl(export.out_fd, F_GETFD), flags ? FD_CLOEXEC : 0);
		EXPECT_EQ(lseek(export.out_fd, 0, SEEK_END), (off_t)PAGE);
		EXPECT_EQ(map_shared(export.out_fd, 2 * PAGE, PROT_READ), NULL);
		EXPECT_EQ(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, export.out_fd, 0), MAP_FAILED);
		at = map_shared(export.out_fd, PAGE, PROT_READ | PROT_WRITE);
		ASSERT_NE(at, NULL);
		/*
		 * While the memory of a destroyed pool is mapped, the memory stays allocated and
		 * charged.
		 */
		close(export.out_fd);
		EXPECT_EQ(object_destroy(self->fd, export.id), 0);
		EXPECT_EQ(summary_get(self->fd, "nnaccel-memory-alloc"), (long long)PAGE / 1024);
		at[PAGE - 1] = 1;
		munmap(at, PAGE);
		EXPECT_EQ(summary_get(self->fd, "nnaccel-memory-alloc"), 0);
	}
}

TEST_F(pools, dropped_pages_come_back)
{
	int file = pool_export(self->fd, pool_alloc(self->fd, 4 * PAGE));
	char *at = map_shared(file, 4 * PAGE, PROT_READ | PROT_WRITE);

	ASSERT_NE(at, NULL);
	at[2 * PAGE] = 42;
	EXPECT_EQ(madvise(at, 4 * PAGE, MADV_DONTNEED), 0);
	EXPECT_EQ(at[2 * PAGE], 42);
	munmap(at, 4 * PAGE);
	close(file);
}

/*
 * mmap() maps only the first pages of a large pool; page faults must map the correct page at each
 * later address.
 */
TEST_F(pools, faults_in_large_mappings)
{
	const size_t pages = (18UL << 20) / PAGE + 7, skipped[] = { 0, 5, 513 };
	int file = pool_export(self->fd, pool_alloc(self->fd, pages * PAGE));
	char *all = map_shared(file, pages * PAGE, PROT_READ | PROT_WRITE);

	ASSERT_NE(all, NULL);
	for (size_t i = pages; i-- > 0;)
		*(size_t *)(all + i * PAGE) = i;
	for (size_t k = 0; k < ARRAY_SIZE(skipped); k++) {
		const size_t n = pages - skipped[k];
		char *part = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, file,
				  (off_t)(skipped[k] * PAGE));
		size_t wrong = 0;

		ASSERT_NE(part, MAP_FAILED);
		madvise(part, n * PAGE, MADV_DONTNEED);
		/* Begin with a page in the middle of the pages that one page fault maps. */
		for (size_t i = 0; i < n; i++) {
			size_t page = (i + 700) % n;

			wrong += *(size_t *)(part + page * PAGE) != page + skipped[k];
		}
		EXPECT_EQ(wrong, 0);
		munmap(part, n * PAGE);
	}
	munmap(all, pages * PAGE);
	close(file);
}

/* A page fault maps all pages of the 2 MiB around the address, and no others. */
TEST_F(pools, a_fault_maps_a_chunk)
{
	const size_t chunk = (2UL << 20) / PAGE, firsts[] = { 0, chunk, chunk + 1, 2 * chunk - 1 };
	unsigned char *there = calloc(3 * chunk, 1);
	int file = pool_export(self->fd, pool_alloc(self->fd, 3 * chunk * PAGE));
	char *at = map_shared(file, 3 * chunk * PAGE, PROT_READ | PROT_WRITE);

	ASSERT_NE(there, NULL);
	ASSERT_NE(at, NULL);
	for (size_t k = 0; k < ARRAY_SIZE(firsts); k++) {
		size_t wrong = 0;

		ASSERT_EQ(madvise(at, 3 * chunk * PAGE, MADV_DONTNEED), 0);
		*(volatile char *)(at + firsts[k] * PAGE) = 1;
		ASSERT_EQ(mincore(at, 3 * chunk * PAGE, there), 0);
		for (size_t i = 0; i < 3 * chunk; i++)
			wrong += (there[i] & 1) != (i / chunk == firsts[k] / chunk);
		EXPECT_EQ(wrong, 0);
	}
	munmap(at, 3 * chunk * PAGE);
	close(file);
	free(there);
}

TEST_F(pools, export_refusals)
{
	int file = file_new(PAGE);
	uint32_t other = 0, imported, narrow;
	struct nnaccel_pool_export good = {
		.size = sizeof(good),
		.id = pool_alloc(self->fd, 2 * PAGE),
		.out_fd = -1,
	};
	int fd = device_open();
	int buffer = pool_export(self->fd, good.id);

	for (int i = 0; i < 9; i++)
		other = pool_alloc(fd, 1);
	ASSERT_EQ(pool_import(self->fd, file, NNACCEL_PROT_READ, 0, PAGE, &imported), 0);
	ASSERT_EQ(pool_import(self->fd, buffer, PROT_RW, 0, PAGE, &narrow), 0);

	const struct refusal cases[] = {
		REFUSE(struct nnaccel_pool_export, flags, 2, EINVAL),
		REFUSE(struct nnaccel_pool_export, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_pool_export, id, 0, ENOENT),
		REFUSE(struct nnaccel_pool_export, id, other, ENOENT),
		REFUSE(struct nnaccel_pool_export, id, UINT32_MAX, ENOENT),
		REFUSE(struct nnaccel_pool_export, id, imported, EOPNOTSUPP),
		REFUSE(struct nnaccel_pool_export, id, narrow, EOPNOTSUPP),
	};

	EXPECT_EQ(check_refusals(self->fd, NNACCEL_POOL_EXPORT, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_no_fd(self->fd, NNACCEL_POOL_EXPORT, &good, sizeof(good)), 0);
	EXPECT_EQ(check_fd_0(self->fd, NNACCEL_POOL_EXPORT, &good, sizeof(good),
			     offsetof(struct nnaccel_pool_export, out_fd)), 0);
	EXPECT_EQ(check_structure(self->fd, NNACCEL_POOL_EXPORT, &good, sizeof(good), 0, true), 0);
	/*
	 * Close all fds from @file on, and with them the dma-bufs that check_structure() has
	 * opened.
	 */
	EXPECT_EQ(close_range((unsigned int)file, UINT32_MAX, 0), 0);
}

TEST_F(pools, import_refusals)
{
	int file = file_new(4 * PAGE);
	int buffer = pool_export(self->fd, pool_alloc(self->fd, 4 * PAGE));
	struct nnaccel_pool_import good = {
		.size = sizeof(good),
		.prot = NNACCEL_PROT_READ,
		.offset = PAGE,
		.length = 3 * PAGE,
	};
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_pool_import, flags, 2, EINVAL),
		REFUSE(struct nnaccel_pool_import, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_pool_import, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, width, 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, modifier, 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, planes[2].offset, 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, fd, -1, EBADF),
		REFUSE(struct nnaccel_pool_import, fd, INT32_MIN, EBADF),
		REFUSE(struct nnaccel_pool_import, fd, 4711, EBADF),
		REFUSE(struct nnaccel_pool_import, prot, 0, EINVAL),
		REFUSE(struct nnaccel_pool_import, prot, NNACCEL_PROT_WRITE, EINVAL),
		REFUSE(struct nnaccel_pool_import, prot, 4 | PROT_RW, EINVAL),
		REFUSE(struct nnaccel_pool_import, prot, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_pool_import, offset, 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, offset, PAGE + 8, EINVAL),
		REFUSE(struct nnaccel_pool_import, offset, 2 * PAGE, EINVAL),
		REFUSE(struct nnaccel_pool_import, offset, 1ULL << 63, EINVAL),
		REFUSE(struct nnaccel_pool_import, offset, UINT64_MAX - PAGE + 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, offset, UINT64_MAX - 3 * PAGE + 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, length, 0, EINVAL),
		REFUSE(struct nnaccel_pool_import, length, 3 * PAGE + 1, EINVAL),
		REFUSE(struct nnaccel_pool_import, length, UINT64_MAX, EINVAL),
		REFUSE(struct nnaccel_pool_import, length, UINT64_MAX - PAGE + 1, EINVAL),
	};
	const int fds[] = { file, buffer };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		ASSERT_GE(fds[i], 0);
		good.fd = fds[i];
		EXPECT_EQ(check_refusals(self->fd, NNACCEL_POOL_IMPORT, &good, sizeof(good), cases,
					 ARRAY_SIZE(cases)), 0);
		EXPECT_EQ(check_structure(self->fd, NNACCEL_POOL_IMPORT, &good, sizeof(good), 0,
					  true), 0);
	}
	close(file);
	close(buffer);
}

TEST_F(pools, limits)
{
	const struct {
		const char *param;
		long long value;
		uint64_t length;
		int error;
	} cases[] = {
		{ "max_pool_bytes", PAGE, PAGE, 0 },
		{ "max_pool_bytes", PAGE, PAGE + 1, EFBIG },
		/*
		 * If max_pool_bytes sets no limit, the range of mmap() offsets of a grant limits
		 * the size of a pool.
		 */
		{ "max_pool_bytes", LLONG_MAX, 1ULL << (NNACCEL_GRANT_SHIFT - 1), EDQUOT },
		{ "max_pool_bytes", LLONG_MAX, (1ULL << (NNACCEL_GRANT_SHIFT - 1)) + 1, EFBIG },
		{ "max_context_bytes", 2 * PAGE, PAGE, 0 },
		{ "max_context_bytes", 2 * PAGE, PAGE + 1, EDQUOT },
		{ "max_user_bytes", 3 * PAGE, PAGE, 0 },
		{ "max_user_bytes", 3 * PAGE, PAGE + 1, EDQUOT },
		{ "max_pools", 2, 1, 0 },
		{ "max_pools", 1, 1, ENOSPC },
		{ "max_context_bytes", 0, 1, EDQUOT },
	};
	int other = device_open();

	/* Before each case, each of the user's two contexts has a pool of one page. */
	ASSERT_NE(pool_alloc(self->fd, 1), 0);
	ASSERT_NE(pool_alloc(other, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nnaccel_pool_alloc alloc = {
			.size = sizeof(alloc),
			.length = cases[i].length,
		};
		long long old = param_set(cases[i].param, cases[i].value);

		ASSERT_GE(old, 0);
		EXPECT_EQ(xioctl(self->fd, NNACCEL_POOL_ALLOC, &alloc), cases[i].error)
			TH_LOG("%s = %lld", cases[i].param, cases[i].value);
		param_set(cases[i].param, old);
		EXPECT_EQ(object_destroy(self->fd, alloc.out_id), cases[i].error ? ENOENT : 0);
	}
	close(other);
}

TEST_F(pools, imports_count_as_pools_and_not_as_bytes)
{
	long long bytes = param_set("max_context_bytes", 0), pools = param_set("max_pools", 1);
	int file = file_new(PAGE);
	uint32_t id;

	EXPECT_EQ(pool_import(self->fd, file, NNACCEL_PROT_READ, 0, PAGE, &id), 0);
	EXPECT_EQ(pool_import(self->fd, file, NNACCEL_PROT_READ, 0, PAGE, NULL), ENOSPC);
	EXPECT_EQ(object_destroy(self->fd, id), 0);
	EXPECT_EQ(pool_import(self->fd, file, PROT_RW, 0, PAGE, NULL), 0);
	param_set("max_context_bytes", bytes);
	param_set("max_pools", pools);
	close(file);
}

#define GROUP "/sys/fs/cgroup/nnaccel-test"

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

/*
 * The cgroup of ALLOC's caller is charged for the memory. If ALLOC exceeds the cgroup's limit,
 * ALLOC fails, and no process is killed.
 */
TEST_F(pools, no_memory)
{
	uint32_t id;

	if (mkdir(GROUP, 0755) || !write_to(GROUP "/memory.max", "67108864"))
		SKIP(return, "no cgroup to limit memory with");
	ASSERT_TRUE(write_to(GROUP "/cgroup.procs", "0"));
	EXPECT_EQ(pool_alloc(self->fd, 96 << 20), 0);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(summary_get(self->fd, "nnaccel-memory-alloc"), 0);
	id = pool_alloc(self->fd, 16 << 20);
	EXPECT_NE(id, 0);
	EXPECT_EQ(object_destroy(self->fd, id), 0);
	ASSERT_TRUE(write_to("/sys/fs/cgroup/cgroup.procs", "0"));
	EXPECT_EQ(rmdir(GROUP), 0);
}

TEST_HARNESS_MAIN
