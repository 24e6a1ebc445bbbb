// SPDX-License-Identifier: MIT
/*
 * Bursts: ioctls, slots, and mappings of client and worker. A burst ends with its file, its
 * context or its worker, even while calls use the burst.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define LENGTH		64
#define PROT_RW		(PROT_READ | PROT_WRITE)
#define POOL_RW		(NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

/* Bytes of the rings with the default capacity, rounded up to whole pages. */
#define RING_BYTES	((NNACCEL_RING_LINES + (NNACCEL_BURST_DEFAULT_CAPACITY + 2) / 3 * 64 +	\
			  PAGE - 1) / PAGE * PAGE)

FIXTURE(bursts) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	uint32_t number;
	int burst;
	union command cmd;
};

FIXTURE_SETUP(bursts)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
	self->burst = served_burst(&self->s, self->model, &self->number);
	ASSERT_GE(self->burst, 0);
}

FIXTURE_TEARDOWN(bursts)
{
	if (self->burst >= 0)
		close(self->burst);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* ---- creation ---- */

TEST_F(bursts, tell_the_worker)
{
	struct nnaccel_burst_create create;
	struct async async;

	burst_init(&create, self->model, 7);
	create.flags |= NNACCEL_BURST_NO_SPIN;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BURST, &create));
	memset(&self->cmd, 0xa5, sizeof(self->cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.size, sizeof(self->cmd.head));
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_BURST);
	EXPECT_NE(self->cmd.head.cookie, 0);
	EXPECT_EQ(self->cmd.head.model, 1);
	EXPECT_NE(self->cmd.head.burst, self->number);
	EXPECT_EQ(self->cmd.head.flags, NNACCEL_BURST_NO_SPIN);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie, NNACCEL_STATUS_NONE,
				 "x", 1, NULL), EINVAL);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(async_wait(&async), 0);
	EXPECT_EQ(create.out_status, NNACCEL_STATUS_NONE);
	ASSERT_GE(create.out_fd, 0);
	EXPECT_FALSE(burst_is_dead(create.out_fd, 0));

	close(create.out_fd);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_BURST_GONE);
	EXPECT_EQ(self->cmd.head.cookie, 0);
	EXPECT_NE(self->cmd.head.burst, self->number);
}

TEST_F(bursts, end_where_the_worker_refuses)
{
	char message[NNACCEL_MAX_MESSAGE];
	struct nnaccel_burst_create create;
	struct async async;

	burst_init(&create, self->model, 0);
	create.message = (uintptr_t)message;
	create.message_size = sizeof(message);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BURST, &create));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT, NULL, 0, "full"), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(create.out_status, NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT);
	EXPECT_EQ(create.out_fd, -1);
	EXPECT_STREQ(message, "full");
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-bursts"), 1);
}

TEST_F(bursts, refuse_fields)
{
	static const struct refusal cases[] = {
		REFUSE(struct nnaccel_burst_create, flags, 4, EINVAL),
		REFUSE(struct nnaccel_burst_create, flags, 0x80000000, EINVAL),
		REFUSE(struct nnaccel_burst_create, model, 0, ENOENT),
		REFUSE(struct nnaccel_burst_create, model, UINT32_MAX, ENOENT),
		REFUSE(struct nnaccel_burst_create, capacity, NNACCEL_BURST_MAX_CAPACITY + 1,
		       EINVAL),
		REFUSE(struct nnaccel_burst_create, capacity, UINT32_MAX, EINVAL),
		REFUSE(struct nnaccel_burst_create, message_size, NNACCEL_MAX_MESSAGE + 1, EINVAL),
		REFUSE(struct nnaccel_burst_create, __reserved, 1, EINVAL),
	};
	static const struct refusal bind_cases[] = {
		REFUSE(struct nnaccel_burst_slot, flags, 1, EINVAL),
		REFUSE(struct nnaccel_burst_slot, pool, 0, EINVAL),
		REFUSE(struct nnaccel_burst_slot, pool, UINT32_MAX, ENOENT),
		REFUSE(struct nnaccel_burst_slot, prot, 0, EINVAL),
		REFUSE(struct nnaccel_burst_slot, prot, NNACCEL_PROT_WRITE, EINVAL),
		REFUSE(struct nnaccel_burst_slot, prot, 4, EINVAL),
		REFUSE(struct nnaccel_burst_slot, __reserved, 1, EINVAL),
	};
	struct nnaccel_burst_slot bind = {
		.size = sizeof(bind), .pool = self->pool, .prot = POOL_RW,
	};
	struct nnaccel_burst_create create;

	burst_init(&create, self->model, 0);
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_BURST, &create, sizeof(create), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_no_fd(self->s.fd, NNACCEL_WORK_BURST, &create, sizeof(create)), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-bursts"), 1);
	create.model = self->pool;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BURST, &create), ENOENT);
	EXPECT_EQ(check_refusals(self->burst, NNACCEL_BURST_SLOT, &bind, sizeof(bind), bind_cases,
				 ARRAY_SIZE(bind_cases)), 0);
	bind.pool = self->model;
	EXPECT_EQ(xioctl(self->burst, NNACCEL_BURST_SLOT, &bind), ENOENT);
}

TEST_F(bursts, check_structures)
{
	struct nnaccel_burst_slot bind = {
		.size = sizeof(bind), .pool = self->pool, .prot = NNACCEL_PROT_READ,
	};
	struct nnaccel_burst_slot free_arg = { .size = sizeof(free_arg), .slot = 1 };
	struct nnaccel_session_slot slot = { .size = sizeof(slot), .burst = self->number };
	struct nnaccel_burst_create create;
	uint32_t number;

	burst_init(&create, 0, 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_BURST, &create, sizeof(create),
				  ENOENT, true), 0);
	EXPECT_EQ(check_structure(self->burst, NNACCEL_BURST_SLOT, &bind, sizeof(bind), 0, true), 0);
	EXPECT_EQ(check_structure(self->burst, NNACCEL_BURST_SLOT, &free_arg, sizeof(free_arg),
				  ENOENT, false), 0);
	ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &number), 0);
	slot.slot = number;
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_SLOT, &slot, sizeof(slot), 0,
				  true), 0);
	EXPECT_EQ(check_numbers(self->burst, FILE_BURST), 0);
}

TEST_F(bursts, publish_nothing_that_cannot_be_told)
{
	struct nnaccel_burst_create *create;
	struct async async;
	int next, again;

	create = mmap(NULL, PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(create, MAP_FAILED);
	burst_init(create, self->model, 0);
	mprotect(create, PAGE, PROT_READ);
	next = dup(self->burst);
	close(next);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BURST, create));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), EFAULT);
	again = dup(self->burst);
	EXPECT_EQ(again, next);
	close(again);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-bursts"), 1);
}

TEST_F(bursts, keep_limits)
{
	struct nnaccel_info info = { .size = sizeof(info) };
	long long old = param_set("max_bursts", 1), bytes;
	int burst;

	ASSERT_EQ(old, 1024);
	EXPECT_EQ(burst_create(self->s.fd, self->model, 0, &burst), ENOSPC);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_INFO, &info), 0);
	EXPECT_EQ(info.max_bursts, 1);
	EXPECT_EQ(info.bursts, 1);
	EXPECT_EQ(info.pool_bytes, PAGE + PAGE + 2 * RING_BYTES + PAGE);
	param_set("max_bursts", old);

	bytes = param_set("max_context_bytes", (long long)info.pool_bytes + PAGE);
	EXPECT_EQ(burst_create(self->s.fd, self->model, 0, &burst), EDQUOT);
	param_set("max_context_bytes", bytes);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-bursts"), 1);
}

TEST_F(bursts, be_of_any_capacity)
{
	static const uint32_t capacities[] = { 1, 2, 3, 4, 1024, NNACCEL_BURST_MAX_CAPACITY };
	const struct nnaccel_burst_status *status;
	uint64_t length;
	int burst;
	size_t i;

	ASSERT_EQ(served_start(&self->s), 0);
	for (i = 0; i < ARRAY_SIZE(capacities); i++) {
		ASSERT_EQ(burst_create(self->s.fd, self->model, capacities[i], &burst), 0);
		status = burst_map(burst, NNACCEL_BURST_STATUS, PAGE, PROT_READ);
		ASSERT_NE(status, NULL);
		EXPECT_EQ(status->state, NNACCEL_BURST_ALIVE);
		EXPECT_EQ(status->capacity, capacities[i]);
		EXPECT_EQ(status->lines, (capacities[i] + 2) / 3);
		EXPECT_EQ(status->ring_bytes, NNACCEL_RING_LINES + status->lines * 64);
		length = (status->ring_bytes + PAGE - 1) / PAGE * PAGE;
		EXPECT_EQ(burst_map(burst, NNACCEL_BURST_REQUESTS, length + PAGE, PROT_RW), NULL);
		EXPECT_NE(burst_map(burst, NNACCEL_BURST_REQUESTS, length, PROT_RW), NULL);
		EXPECT_NE(burst_map(burst, NNACCEL_BURST_RESULTS, length, PROT_READ), NULL);
		close(burst);
		EXPECT_EQ(status->state, NNACCEL_BURST_DEAD);
	}
}

/* ---- mappings ---- */

struct region {
	uint64_t offset;
	bool is_ring;		/* true: a ring; false: the status page or the doorbell's page */
	bool client_writes;
	bool worker_writes;
};

static const struct region regions[] = {
	{ NNACCEL_BURST_STATUS, false, false, false },
	{ NNACCEL_BURST_REQUESTS, true, true, false },
	{ NNACCEL_BURST_RESULTS, true, false, true },
	{ NNACCEL_BURST_DOORBELL, false, true, false },
};

static uint64_t length_of(const struct region *r)
{
	return r->is_ring ? RING_BYTES : PAGE;
}

/* Maps a burst as the client, or as the worker if @number is set; returns 0 or an errno. */
static int try_map(int fd, uint32_t number, uint64_t offset, uint64_t length, int prot)
{
	void *at = number ? session_burst_map(fd, number, offset, length, prot) :
			    burst_map(fd, offset, length, prot);

	if (!at)
		return errno;
	munmap(at, length);
	return 0;
}

static int check_region(struct __test_metadata *_metadata, int fd, uint32_t number,
			const struct region *r, bool writes)
{
	void *at;
	int error;

	EXPECT_EQ(try_map(fd, number, r->offset, length_of(r), PROT_READ), 0);
	EXPECT_EQ(try_map(fd, number, r->offset, length_of(r), PROT_RW), writes ? 0 : EACCES);
	/*
	 * Since 6.17 anonymous inodes are SB_I_NOEXEC, so PROT_EXEC fails with EPERM instead of
	 * EACCES.
	 */
	error = try_map(fd, number, r->offset, length_of(r), PROT_READ | PROT_EXEC);
	EXPECT_TRUE(error == EACCES || error == EPERM);
	EXPECT_EQ(try_map(fd, number, r->offset, length_of(r) + PAGE, PROT_READ), EINVAL);
	EXPECT_EQ(try_map(fd, number, r->offset + PAGE, length_of(r), PROT_READ), EINVAL);
	if (length_of(r) > PAGE)
		EXPECT_EQ(try_map(fd, number, r->offset, length_of(r) - PAGE, PROT_READ), EINVAL);

	at = number ? session_burst_map(fd, number, r->offset, length_of(r), PROT_READ) :
		      burst_map(fd, r->offset, length_of(r), PROT_READ);
	EXPECT_EQ(mprotect(at, length_of(r), PROT_RW) ? errno : 0, writes ? 0 : EACCES);
	EXPECT_NE(mprotect(at, length_of(r), PROT_READ | PROT_EXEC), 0);
	/*
	 * A mapping of a burst cannot be enlarged or moved to another offset of the burst's file. A
	 * mapping for reading cannot punch holes into pages that the peer writes.
	 */
	EXPECT_EQ(mremap(at, length_of(r), 2 * length_of(r), MREMAP_MAYMOVE), MAP_FAILED);
	if (!writes) {
		EXPECT_NE(syscall(SYS_remap_file_pages, at, PAGE, 0, 0, 0), 0);
		EXPECT_NE(madvise(at, PAGE, MADV_REMOVE), 0);
	}
	munmap(at, length_of(r));
	return 0;
}

TEST_F(bursts, map_exactly)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		check_region(_metadata, self->burst, 0, &regions[i], regions[i].client_writes);
		check_region(_metadata, self->s.session, self->number, &regions[i],
			     regions[i].worker_writes);
	}
	EXPECT_EQ(try_map(self->burst, 0, 0x40000000, PAGE, PROT_READ), EINVAL);
	EXPECT_EQ(try_map(self->burst, 0, NNACCEL_BURST_MAP, PAGE, PROT_READ), EINVAL);
	EXPECT_EQ(try_map(self->s.session, self->number + 1, 0, PAGE, PROT_READ), EINVAL);
	EXPECT_EQ(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self->burst, 0), MAP_FAILED);
	EXPECT_EQ(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self->s.session,
		       (off_t)(NNACCEL_BURST_MAP |
			       (uint64_t)self->number << NNACCEL_BURST_SHIFT)), MAP_FAILED);
}

TEST_F(bursts, share_memory)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		const struct region *r = &regions[i];
		uint32_t *client = burst_map(self->burst, r->offset, length_of(r),
					     r->client_writes ? PROT_RW : PROT_READ);
		uint32_t *worker = session_burst_map(self->s.session, self->number, r->offset,
						     length_of(r),
						     r->worker_writes ? PROT_RW : PROT_READ);

		ASSERT_NE(client, NULL);
		ASSERT_NE(worker, NULL);
		if (r->client_writes)
			client[17] = 0x1234;
		else if (r->worker_writes)
			worker[17] = 0x1234;
		EXPECT_EQ(client[17], worker[17]);
		EXPECT_EQ(client[17], r->client_writes || r->worker_writes ? 0x1234 : 0);
		munmap(client, length_of(r));
		munmap(worker, length_of(r));
	}
}

static void *wait_on(void *word)
{
	return (void *)syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

TEST_F(bursts, wait_and_wake_by_read_only_mappings)
{
	uint32_t *client = burst_map(self->burst, NNACCEL_BURST_RESULTS, RING_BYTES, PROT_READ);
	uint32_t *worker = session_burst_map(self->s.session, self->number, NNACCEL_BURST_RESULTS,
					     RING_BYTES, PROT_READ);
	pthread_t thread;
	void *result;

	ASSERT_NE(client, NULL);
	ASSERT_NE(worker, NULL);
	ASSERT_EQ(pthread_create(&thread, NULL, wait_on, client), 0);
	while (syscall(SYS_futex, worker, FUTEX_WAKE, 1, NULL, NULL, 0) != 1)
		usleep(1000);
	pthread_join(thread, &result);
	EXPECT_EQ(result, NULL);
}

TEST_F(bursts, have_one_doorbell_a_context)
{
	uint32_t number;
	int other = served_burst(&self->s, self->model, &number);
	uint32_t *client = burst_map(self->burst, NNACCEL_BURST_DOORBELL, PAGE, PROT_RW);
	uint32_t *worker = session_burst_map(self->s.session, number, NNACCEL_BURST_DOORBELL, PAGE,
					     PROT_READ);

	ASSERT_NE(client, NULL);
	ASSERT_NE(worker, NULL);
	*client = 7;
	EXPECT_EQ(*worker, 7);
	close(other);
}

/* ---- slots ---- */

/* Maps a grant; returns 0 or an errno. */
static int try_grant(int session, const struct nnaccel_grant *grant, int prot)
{
	void *at = session_map(session, grant->grant, PAGE, prot);

	if (!at)
		return errno;
	munmap(at, PAGE);
	return 0;
}

TEST_F(bursts, bind_slots)
{
	struct nnaccel_grant grant, again;
	uint32_t slot, second, third;

	ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &slot), 0);
	EXPECT_EQ(NNACCEL_SLOT_INDEX(slot), 0);
	ASSERT_EQ(slot_bind(self->burst, self->pool, POOL_RW, &second), 0);
	EXPECT_EQ(NNACCEL_SLOT_INDEX(second), 1);
	EXPECT_EQ(slot_resolve(self->s.session, self->number, slot, &grant), 0);
	EXPECT_EQ(grant.prot, NNACCEL_PROT_READ);
	EXPECT_EQ(grant.length, LENGTH);
	EXPECT_EQ(try_grant(self->s.session, &grant, PROT_RW), EACCES);
	EXPECT_EQ(try_grant(self->s.session, &grant, PROT_READ), 0);
	EXPECT_EQ(slot_resolve(self->s.session, self->number, second, &again), 0);
	EXPECT_EQ(again.grant, grant.grant);
	EXPECT_EQ(again.prot, POOL_RW);
	EXPECT_EQ(try_grant(self->s.session, &grant, PROT_RW), 0);

	/* The index of a freed slot is reused, but the number of the freed slot stays invalid. */
	EXPECT_EQ(slot_free(self->burst, slot), 0);
	EXPECT_EQ(slot_free(self->burst, slot), ENOENT);
	ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &third), 0);
	EXPECT_EQ(NNACCEL_SLOT_INDEX(third), 0);
	EXPECT_NE(third, slot);
	EXPECT_EQ(slot_resolve(self->s.session, self->number, slot, &grant), ENOENT);
	EXPECT_EQ(slot_resolve(self->s.session, self->number + 1, third, &grant), ENOENT);
	EXPECT_EQ(slot_resolve(self->s.session, 0, third, &grant), ENOENT);
	EXPECT_EQ(slot_resolve(self->s.session, UINT32_MAX, third, &grant), ENOENT);
	EXPECT_EQ(summary_get(self->burst, "nnaccel-slots"), 2);
}

TEST_F(bursts, announce_freed_slots)
{
	uint32_t told, untold, pool = pool_alloc(self->s.fd, LENGTH);
	struct nnaccel_grant grant;

	ASSERT_EQ(slot_bind(self->burst, pool, NNACCEL_PROT_READ, &told), 0);
	ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &untold), 0);
	ASSERT_EQ(slot_resolve(self->s.session, self->number, told, &grant), 0);
	/* The slot's reference to the pool keeps the pool and its grant alive. */
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
	EXPECT_EQ(slot_free(self->burst, untold), 0);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
	EXPECT_EQ(slot_free(self->burst, told), 0);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_SLOT_GONE);
	EXPECT_EQ(self->cmd.head.cookie, 0);
	EXPECT_EQ(self->cmd.head.burst, self->number);
	EXPECT_EQ(self->cmd.head.grant, told);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	EXPECT_EQ(self->cmd.head.grant, grant.grant);
	EXPECT_EQ(summary_get(self->burst, "nnaccel-slot-resolves"), 1);
}

/*
 * A notice that could not be delivered stays queued, and a later fetch delivers it unchanged and
 * before later notices.
 */
TEST_F(bursts, announce_freed_slots_again)
{
	struct nnaccel_session_fetch bad = {
		.size = sizeof(bad),
		.flags = NNACCEL_FETCH_NONBLOCK,
		.buffer = 8,
		.buffer_size = sizeof(self->cmd),
	};
	struct nnaccel_grant grant;
	uint32_t slots[2];

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &slots[i]), 0);
		ASSERT_EQ(slot_resolve(self->s.session, self->number, slots[i], &grant), 0);
		EXPECT_EQ(slot_free(self->burst, slots[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FETCH, &bad), EFAULT);
		ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), 0);
		EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_SLOT_GONE);
		EXPECT_EQ(self->cmd.head.grant, slots[i]);
	}
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
}

/* If a worker has not fetched 65,536 notices, SESSION_SLOT fails with ENOSPC. */
TEST_F(bursts, notices_that_nobody_fetches)
{
	struct nnaccel_grant grant;
	unsigned int n = 0;
	int error = 0;
	uint32_t slot;

	while (!error && n < 100000) {
		ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &slot), 0);
		error = slot_resolve(self->s.session, self->number, slot, &grant);
		ASSERT_EQ(slot_free(self->burst, slot), 0);
		n += !error;
	}
	EXPECT_EQ(error, ENOSPC);
	EXPECT_EQ(n, 64 * 1024);
	while (!session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd)) {
		EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_SLOT_GONE);
		n--;
	}
	EXPECT_EQ(n, 0);
	ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &slot), 0);
	EXPECT_EQ(slot_resolve(self->s.session, self->number, slot, &grant), 0);
}

TEST_F(bursts, bind_what_the_pool_allows)
{
	int file = file_new(PAGE), other_fd = device_open();
	uint32_t pool, others = pool_alloc(other_fd, LENGTH);
	int i;

	ASSERT_NE(others, 0);
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, PAGE, &pool), 0);
	EXPECT_EQ(slot_bind(self->burst, pool, POOL_RW, NULL), EACCES);
	EXPECT_EQ(slot_bind(self->burst, pool, NNACCEL_PROT_READ, NULL), 0);
	/* A pool of another context is rejected like an id that does not exist. */
	for (i = 0; i < 8; i++)
		others = pool_alloc(other_fd, LENGTH);
	EXPECT_EQ(slot_bind(self->burst, others, NNACCEL_PROT_READ, NULL), ENOENT);
	close(other_fd);
	close(file);
}

TEST_F(bursts, have_so_many_slots)
{
	uint32_t slot;
	int i;

	for (i = 0; i < NNACCEL_BURST_MAX_SLOTS; i++)
		if (slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &slot))
			break;
	EXPECT_EQ(i, NNACCEL_BURST_MAX_SLOTS);
	EXPECT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, NULL), ENOSPC);
	EXPECT_EQ(slot_free(self->burst, slot), 0);
	EXPECT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, NULL), 0);
}

/* ---- ownership ---- */

static int use_as_stranger(int burst)
{
	int wrong = check_all_refused(burst, FILE_BURST, EACCES);

	return wrong + (try_map(burst, 0, NNACCEL_BURST_STATUS, PAGE, PROT_READ) != EACCES);
}

TEST_F(bursts, belong_to_an_address_space)
{
	struct stranger stranger;
	void *status = burst_map(self->burst, NNACCEL_BURST_STATUS, PAGE, PROT_READ);
	unsigned char there;

	ASSERT_TRUE(stranger_start(&stranger, use_as_stranger));
	EXPECT_EQ(stranger_pass(&stranger, self->burst), 0);
	EXPECT_EQ(in_child(use_as_stranger, self->burst), 0);
	/* A forked child does not inherit the mapping of the burst's status page. */
	EXPECT_EQ(mincore(status, PAGE, &there), 0);
	if (!fork())
		_exit(mincore(status, PAGE, &there) && errno == ENOMEM ? 0 : 1);
	wait(&(int){ 0 });
}

static int resolve_as_stranger(int session)
{
	struct nnaccel_session_slot slot = { .size = sizeof(slot), .burst = 1 };

	return xioctl(session, NNACCEL_SESSION_SLOT, &slot) != EACCES;
}

TEST_F(bursts, are_the_attached_workers)
{
	EXPECT_EQ(in_child(resolve_as_stranger, self->s.session), 0);
}

/* ---- death ---- */

TEST_F(bursts, die_with_the_worker)
{
	const struct nnaccel_burst_status *status =
		burst_map(self->burst, NNACCEL_BURST_STATUS, PAGE, PROT_READ);
	uint32_t slot;
	int burst;

	ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &slot), 0);
	EXPECT_FALSE(burst_is_dead(self->burst, 0));
	close(self->s.session);
	self->s.session = -1;
	EXPECT_TRUE(burst_is_dead(self->burst, -1));
	EXPECT_EQ(status->state, NNACCEL_BURST_DEAD);
	EXPECT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, NULL), EPIPE);
	EXPECT_EQ(slot_free(self->burst, slot), 0);
	EXPECT_EQ(burst_create(self->s.fd, self->model, 0, &burst), ESTALE);
}

TEST_F(bursts, die_with_the_context)
{
	const struct nnaccel_burst_status *status =
		session_burst_map(self->s.session, self->number, NNACCEL_BURST_STATUS, PAGE,
				  PROT_READ);

	ASSERT_NE(status, NULL);
	ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, NULL), 0);
	close(self->s.fd);
	self->s.fd = -1;
	EXPECT_TRUE(burst_is_dead(self->burst, -1));
	EXPECT_EQ(status->state, NNACCEL_BURST_DEAD);
	EXPECT_EQ(try_map(self->s.session, self->number, 0, PAGE, PROT_READ), EINVAL);
}

/* The kernel does not reclaim the status page of a dead burst while a client maps it. */
TEST_F(bursts, keep_their_last_state)
{
	struct nnaccel_burst_status *status = burst_map(self->burst, NNACCEL_BURST_STATUS, PAGE,
							PROT_READ);

	ASSERT_NE(status, NULL);
	close(self->burst);
	self->burst = -1;
	EXPECT_TRUE(summary_becomes(-1, "bursts", self->before.counter[7]));
	EXPECT_EQ(madvise(status, PAGE, MADV_PAGEOUT), 0);
	EXPECT_EQ(status->state, NNACCEL_BURST_DEAD);
	EXPECT_EQ(status->capacity, NNACCEL_BURST_DEFAULT_CAPACITY);
}

TEST_F(bursts, outlive_their_model_id)
{
	EXPECT_EQ(object_destroy(self->s.fd, self->model), 0);
	EXPECT_FALSE(burst_is_dead(self->burst, 0));
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
	close(self->burst);
	self->burst = -1;
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_BURST_GONE);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
}

TEST_F(bursts, die_while_being_created)
{
	struct nnaccel_burst_create create;
	struct async async;
	int fetched;

	for (fetched = 0; fetched < 2; fetched++) {
		burst_init(&create, self->model, 0);
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BURST, &create));
		while (summary_get(self->s.fd, "nnaccel-commands") != 1)
			usleep(1000);
		if (fetched)
			ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		close(self->s.session);
		EXPECT_EQ(async_wait(&async), EPIPE);
		EXPECT_EQ(create.out_fd, -1);
		/* Attach a new worker, because the second half of the test also needs a worker. */
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_QUERY,
					&(struct nnaccel_query){
						.size = sizeof(struct nnaccel_query) }));
		ASSERT_EQ(broker_await_new(self->s.broker, &self->s.context), 0);
		ASSERT_EQ(broker_session(self->s.broker, self->s.context, &self->s.session), 0);
		ASSERT_EQ(session_attach(self->s.session), 0);
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		ASSERT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
					 NNACCEL_STATUS_NONE, NULL, 0, NULL), 0);
		EXPECT_EQ(async_wait(&async), 0);
		self->model = served_prepare(&self->s, self->pool);
		ASSERT_NE(self->model, 0);
	}
}

/*
 * Client process: opens a context, prepares a model, creates a burst and binds a slot; waits for
 * the test after each step.
 */
static void client_steps(struct actor *self, void *data)
{
	uint32_t pool, model;
	struct nnaccel_prepare prepare;
	int fd = device_open(), burst;

	actor_reached(self);
	pool = pool_alloc(fd, LENGTH);
	prepare_init(&prepare, pool, 1);
	if (xioctl(fd, NNACCEL_WORK_PREPARE, &prepare))
		_exit(1);
	model = prepare.out_model;
	actor_reached(self);
	if (burst_create(fd, model, 0, &burst))
		_exit(1);
	actor_reached(self);
	if (!burst_map(burst, NNACCEL_BURST_REQUESTS, RING_BYTES, PROT_RW) ||
	    !burst_map(burst, NNACCEL_BURST_RESULTS, RING_BYTES, PROT_READ) ||
	    slot_bind(burst, pool, POOL_RW, NULL))
		_exit(1);
	actor_reached(self);
	close(burst);
	actor_reached(self);
}

#define CLIENT_STEPS 5

/* Gets the session of the context that the client process @pid keeps open. */
static int session_of(int broker, pid_t pid, int *session)
{
	struct nnaccel_engine_next next;
	int error;

	do {
		error = broker_next(broker, 0, &next);
		if (error)
			return error;
	} while (next.out_event != NNACCEL_ENGINE_NEW || next.out_pid != (uint32_t)pid);
	return broker_session(broker, next.out_context, session);
}

struct serving {
	int session;
	int error;
};

/* Serves as a worker until the context is gone. */
static void *serve_thread(void *data)
{
	struct serving *serving = data;

	serving->error = session_attach(serving->session);
	if (!serving->error)
		serving->error = session_serve(serving->session);
	close(serving->session);
	return NULL;
}

TEST_F(bursts, survive_a_client_killed_at_each_step)
{
	struct serving serving;
	struct actor actor;
	pthread_t thread;
	int step, i;

	for (step = 1; step <= CLIENT_STEPS; step++) {
		ASSERT_TRUE(actor_start(&actor, client_steps, NULL));
		ASSERT_TRUE(actor_await(&actor));
		ASSERT_EQ(session_of(self->s.broker, actor.pid, &serving.session), 0);
		ASSERT_EQ(pthread_create(&thread, NULL, serve_thread, &serving), 0);
		for (i = 1; i < step; i++) {
			actor_go(&actor);
			ASSERT_TRUE(actor_await(&actor));
		}
		actor_kill(&actor);
		pthread_join(thread, NULL);
		TH_LOG("client killed at step %d: the worker knows after %llu us", step,
		       actor_killed_ago(&actor));
		EXPECT_EQ(serving.error, ESHUTDOWN);
	}
	EXPECT_FALSE(burst_is_dead(self->burst, 0));
}

/* Worker process that inherits the session from the test; waits for the test after each step. */
static void worker_steps(struct actor *self, void *data)
{
	int session = *(int *)data;
	struct nnaccel_grant grant;
	union command cmd;

	if (session_attach(session))
		_exit(1);
	actor_reached(self);
	if (session_fetch(session, 0, &cmd) || session_answer(session, &cmd) ||
	    session_fetch(session, 0, &cmd))
		_exit(1);
	actor_reached(self);
	if (!session_burst_map(session, cmd.head.burst, NNACCEL_BURST_RESULTS, RING_BYTES, PROT_RW))
		_exit(1);
	actor_reached(self);
	if (session_answer(session, &cmd))
		_exit(1);
	actor_reached(self);
	/* Wait until the client has bound the first slot of the burst. */
	while (slot_resolve(session, cmd.head.burst, NNACCEL_BURST_MAX_SLOTS, &grant))
		usleep(1000);
	if (!session_map(session, grant.grant, PAGE, PROT_RW))
		_exit(1);
	actor_reached(self);
}

#define WORKER_STEPS 5

/* Serves as the client of a worker that the test kills. */
struct client {
	int fd;
	int burst;
};

static void *use_worker(void *data)
{
	struct client *client = data;
	uint32_t pool = pool_alloc(client->fd, LENGTH);
	struct nnaccel_prepare prepare;

	prepare_init(&prepare, pool, 1);
	if (xioctl(client->fd, NNACCEL_WORK_PREPARE, &prepare) ||
	    burst_create(client->fd, prepare.out_model, 0, &client->burst))
		return NULL;
	slot_bind(client->burst, pool, POOL_RW, NULL);
	return NULL;
}

TEST_F(bursts, survive_a_worker_killed_at_each_step)
{
	struct client client;
	struct actor actor;
	pthread_t thread;
	uint64_t context;
	int step, i, session;

	for (step = 1; step <= WORKER_STEPS; step++) {
		client = (struct client){ .fd = device_open(), .burst = -1 };
		ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
		ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
		ASSERT_TRUE(actor_start(&actor, worker_steps, &session));
		close(session);
		ASSERT_TRUE(actor_await(&actor));
		ASSERT_EQ(pthread_create(&thread, NULL, use_worker, &client), 0);
		for (i = 1; i < step; i++) {
			actor_go(&actor);
			ASSERT_TRUE(actor_await(&actor));
		}
		/*
		 * Up to step 3, wait until the client's command is queued; after step 3, until the
		 * client has no command.
		 */
		while (summary_get(client.fd, "nnaccel-commands") != (step <= 3))
			usleep(1000);
		actor_kill(&actor);
		pthread_join(thread, NULL);
		EXPECT_EQ(client.burst >= 0, step > 3);
		if (client.burst >= 0) {
			EXPECT_TRUE(burst_is_dead(client.burst, -1));
			TH_LOG("worker killed at step %d: the burst is dead after %llu us", step,
			       actor_killed_ago(&actor));
			close(client.burst);
		}
		close(client.fd);
	}
	EXPECT_FALSE(burst_is_dead(self->burst, 0));
}

/* ---- many ---- */

TEST_F(bursts, come_by_the_hundreds)
{
	static int fds[300];
	struct nnaccel_info info = { .size = sizeof(info) };
	struct nnaccel_burst_create create;
	int i;

	ASSERT_EQ(served_start(&self->s), 0);
	burst_init(&create, self->model, 0);
	EXPECT_EQ(check_fd_0(self->s.fd, NNACCEL_WORK_BURST, &create, sizeof(create),
			     offsetof(struct nnaccel_burst_create, out_fd)), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-bursts", 1));
	for (i = 0; i < 300; i++)
		ASSERT_EQ(burst_create(self->s.fd, self->model, 0, &fds[i]), 0);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_INFO, &info), 0);
	EXPECT_EQ(info.bursts, 301);
	for (i = 0; i < 300; i++)
		close(fds[i]);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-bursts", 1));
}

#define PROCESSES	10
#define BURSTS_EACH	100

/*
 * Child process that opens and closes bursts; half of the child processes exit while bursts are
 * open.
 */
static int open_and_close(int order)
{
	struct nnaccel_prepare prepare;
	int fd = device_open(), burst, i;
	uint32_t pool = pool_alloc(fd, LENGTH);

	prepare_init(&prepare, pool, 1);
	if (xioctl(fd, NNACCEL_WORK_PREPARE, &prepare))
		return 1;
	for (i = 0; i < BURSTS_EACH; i++) {
		if (burst_create(fd, prepare.out_model, 16, &burst) ||
		    slot_bind(burst, pool, POOL_RW, NULL))
			return 2;
		if (order % 2)
			close(burst);
	}
	return 0;
}

static void *serve_session(void *data)
{
	int session = (int)(intptr_t)data;

	if (!session_attach(session))
		session_serve(session);
	close(session);
	return NULL;
}

TEST_F(bursts, open_and_close_by_the_thousand)
{
	struct nnaccel_engine_next next;
	pid_t pids[PROCESSES];
	pthread_t threads[PROCESSES];
	int i, session, status, served = 0;

	for (i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(open_and_close(i));
	}
	while (served < PROCESSES) {
		ASSERT_EQ(broker_next(self->s.broker, 0, &next), 0);
		if (next.out_event != NNACCEL_ENGINE_NEW)
			continue;
		ASSERT_EQ(broker_session(self->s.broker, next.out_context, &session), 0);
		ASSERT_EQ(pthread_create(&threads[served++], NULL, serve_session,
					 (void *)(intptr_t)session), 0);
	}
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(waitpid(pids[i], &status, 0), pids[i]);
		EXPECT_EQ(status, 0);
		pthread_join(threads[i], NULL);
	}
}

TEST_F(bursts, show_what_ends_say)
{
	const struct {
		const char *name;
		long long value;
	} lines[] = {
		{ "nnaccel-burst", self->number }, { "nnaccel-burst-capacity", 1024 },
		{ "nnaccel-memory-alloc", (long long)(PAGE + 2 * RING_BYTES) / 1024 },
		{ "nnaccel-slots", 0 }, { "nnaccel-slot-resolves", 0 },
		{ "nnaccel-client-packets", 12 }, { "nnaccel-client-spins", 13 },
		{ "nnaccel-client-sleeps", 14 }, { "nnaccel-client-wakes", 15 },
		{ "nnaccel-client-misses", 16 }, { "nnaccel-client-fallbacks", 3 },
		{ "nnaccel-engine-packets", 11 }, { "nnaccel-engine-spins", 21 },
		{ "nnaccel-engine-sleeps", 22 }, { "nnaccel-engine-wakes", 7 },
		{ "nnaccel-engine-misses", 5 }, { "nnaccel-engine-fallbacks", 23 },
		{ "nnaccel-client-device-time", 0 }, { "nnaccel-engine-device-time", 24 },
	};
	struct nnaccel_ring_control *client =
		burst_map(self->burst, NNACCEL_BURST_REQUESTS, RING_BYTES, PROT_RW);
	struct nnaccel_ring_control *worker =
		session_burst_map(self->s.session, self->number, NNACCEL_BURST_RESULTS, RING_BYTES,
				  PROT_RW);
	long long total;

	ASSERT_NE(client, NULL);
	ASSERT_NE(worker, NULL);
	*client = (struct nnaccel_ring_control){
		.packets = 12, .spins = 13, .sleeps = 14, .wakes = 15, .misses = 16, .fallbacks = 3,
	};
	*worker = (struct nnaccel_ring_control){
		.packets = 11, .spins = 21, .sleeps = 22, .wakes = 7, .misses = 5, .fallbacks = 23,
		.device_ns = 24,
	};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		EXPECT_EQ(summary_get(self->burst, lines[i].name), lines[i].value)
			TH_LOG("%s", lines[i].name);
	}
	EXPECT_EQ(summary_get(self->burst, "nnaccel-client-id"),
		  summary_get(self->s.fd, "nnaccel-client-id"));

	total = summary_get(-1, "burst-packets-total");
	ASSERT_EQ(close(self->burst), 0);
	EXPECT_EQ(summary_get(-1, "burst-packets-total"), total + 11);
}

/* ---- CPU-latency request ---- */

/* Returns the CPU latency limit in us, or -1 if the kernel has no idle states. */
static int32_t cpu_latency(void)
{
	int fd = open("/dev/cpu_dma_latency", O_RDONLY | O_CLOEXEC);
	int32_t us = -1;

	if (read(fd, &us, sizeof(us)) != sizeof(us))
		us = -1;
	close(fd);
	return us;
}

/*
 * Closes the fixture's burst, which removes its latency request, and returns the remaining CPU
 * latency limit.
 */
static int32_t without_request(FIXTURE_DATA(bursts) *self)
{
	close(self->burst);
	self->burst = -1;
	summary_becomes(-1, "latency-requests", 0);
	return cpu_latency();
}

TEST_F(bursts, request_latency)
{
	const int32_t before = without_request(self), us = 17;
	long long old = param_set("latency_us", us);
	uint32_t model = served_prepare_for(&self->s, self->pool,
					    NNACCEL_PREFER_FAST_SINGLE_ANSWER);
	uint32_t low = served_prepare_for(&self->s, self->pool, NNACCEL_PREFER_LOW_POWER);
	int burst, other;

	ASSERT_GT(old, 0);
	burst = served_burst(&self->s, low, NULL);
	EXPECT_EQ(summary_get(-1, "latency-requests"), 0);
	EXPECT_EQ(cpu_latency(), before);
	close(burst);
	burst = served_burst(&self->s, model, NULL);
	EXPECT_EQ(summary_get(-1, "latency-requests"), 1);
	EXPECT_EQ(summary_get(burst, "nnaccel-burst-latency-request"), 1);
	EXPECT_EQ(cpu_latency(), before < 0 ? before : us);
	other = served_burst_with(&self->s, model, NNACCEL_BURST_NO_SPIN, NULL);
	EXPECT_EQ(summary_get(-1, "latency-requests"), 1);
	EXPECT_EQ(summary_get(other, "nnaccel-burst-latency-request"), 0);
	close(other);
	close(burst);
	EXPECT_TRUE(summary_becomes(-1, "latency-requests", 0));
	EXPECT_EQ(cpu_latency(), before);
	param_set("latency_us", old);
}

TEST_F(bursts, latency_ends_with_the_worker)
{
	const int32_t before = without_request(self);
	uint32_t model = served_prepare_for(&self->s, self->pool, NNACCEL_PREFER_SUSTAINED_SPEED);
	int burst = served_burst(&self->s, model, NULL);

	EXPECT_EQ(summary_get(-1, "latency-requests"), 1);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_TRUE(burst_is_dead(burst, -1));
	EXPECT_EQ(summary_get(-1, "latency-requests"), 0);
	EXPECT_EQ(cpu_latency(), before);
	close(burst);
}

/* A burst beyond the user's limit works without a latency request. */
TEST_F(bursts, latency_is_bounded)
{
	long long old = param_set("max_latency_requests", 2);
	uint32_t model = served_prepare_for(&self->s, self->pool,
					    NNACCEL_PREFER_FAST_SINGLE_ANSWER);
	int burst[3];

	ASSERT_GT(old, 0);
	without_request(self);
	for (int i = 0; i < 3; i++) {
		burst[i] = served_burst(&self->s, model, NULL);
		ASSERT_GE(burst[i], 0);
	}
	EXPECT_EQ(summary_get(-1, "latency-requests"), 2);
	EXPECT_EQ(summary_get(burst[2], "nnaccel-burst-latency-request"), 0);
	close(burst[0]);
	EXPECT_TRUE(summary_becomes(-1, "latency-requests", 1));
	close(burst[1]);
	close(burst[2]);
	EXPECT_TRUE(summary_becomes(-1, "latency-requests", 0));
	param_set("max_latency_requests", old);
}

TEST_HARNESS_MAIN
