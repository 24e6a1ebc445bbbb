// SPDX-License-Identifier: MIT
/*
 * Buffers of memory domains: commands to the worker, rejected fields, checks of roles and state,
 * copies, layouts of the engine, and the end of buffers.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "exporters.h"
#include "harness.h"

#define CAPACITY (3 * PAGE + 100)
#define MAX_CAPACITY (3 * MAX_PAGE + 100)

FIXTURE(buffers) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	uint32_t other_model;
	uint32_t buffer;
	unsigned char data[MAX_CAPACITY];
	unsigned char back[MAX_CAPACITY];
	union command cmd;
	struct async async;
};

/* Starts a call, answers it with success as the worker, and waits for its end. */
static int answered(struct served *s, unsigned long request, void *arg)
{
	struct async async;
	union command cmd;
	int error;

	if (!async_start(&async, s->fd, request, arg))
		return EAGAIN;
	do {
		error = session_fetch(s->session, 0, &cmd);
	} while (!error && !cmd.head.cookie);
	error = error ?: session_answer(s->session, &cmd);
	return async_wait(&async) ?: error;
}

static uint32_t prepare(struct served *s, uint32_t pool)
{
	struct nnaccel_prepare arg;

	prepare_init(&arg, pool, 1);
	return answered(s, NNACCEL_WORK_PREPARE, &arg) ? 0 : arg.out_model;
}

static uint32_t allocate(struct served *s, uint32_t model, uint64_t capacity)
{
	struct allocation a;

	allocation_init(&a, model, capacity);
	return answered(s, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd) ? 0 : a.cmd.out_buffer;
}

FIXTURE_SETUP(buffers)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, PAGE);
	self->model = prepare(&self->s, self->pool);
	self->other_model = prepare(&self->s, self->pool);
	ASSERT_TRUE(self->model && self->other_model);
	self->buffer = allocate(&self->s, self->model, CAPACITY);
	ASSERT_NE(self->buffer, 0);
	for (size_t i = 0; i < CAPACITY; i++)
		self->data[i] = (unsigned char)(i * 7 + i / 256);
}

FIXTURE_TEARDOWN(buffers)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Fetches the next command, skipping notices. */
static int fetch(FIXTURE_DATA(buffers) *self)
{
	int error;

	do {
		error = session_fetch(self->s.session, 0, &self->cmd);
	} while (!error && !self->cmd.head.cookie);
	return error;
}

/* Commits one shape and the number of bytes written to the output. */
static int commit(FIXTURE_DATA(buffers) *self, uint32_t status, uint64_t size)
{
	struct {
		struct nnaccel_shape shape;
		uint64_t size;
	} payload = { .shape.flags = NNACCEL_SHAPE_SUFFICIENT, .size = size };

	return session_commit(self->s.session, self->cmd.head.cookie, status, &payload,
			      self->cmd.head.max_payload, NULL);
}

/* Returns whether the buffer is initialised with @size bytes. */
static bool holds(FIXTURE_DATA(buffers) *self, uint32_t buffer, uint64_t size)
{
	return !buffer_copy_out(self->s.fd, buffer, self->back, size);
}

static bool is_empty(FIXTURE_DATA(buffers) *self, uint32_t buffer)
{
	return buffer_copy_out(self->s.fd, buffer, self->back, 1) == ENODATA;
}

/* ---- allocation ---- */

TEST_F(buffers, tell_the_worker)
{
	const struct nnaccel_cmd_role *roles;
	struct allocation a;
	char *at;

	allocation_init(&a, self->other_model, CAPACITY);
	a.roles[0].kind = NNACCEL_ROLE_OUTPUT;
	a.roles[0].index = NNACCEL_MAX_ARGS - 1;
	a.roles[1].model = self->model;
	a.roles[1].frequency = NNACCEL_MAX_FREQUENCY;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd));
	memset(&self->cmd, 0xa5, sizeof(self->cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_BUFFER);
	EXPECT_EQ(self->cmd.head.num_grants, 1);
	EXPECT_EQ(self->cmd.head.num_roles, 2);
	EXPECT_EQ(self->cmd.head.attributes_size, 0);
	EXPECT_EQ(self->cmd.head.max_payload, sizeof(uint32_t));
	EXPECT_EQ(self->cmd.head.size, sizeof(self->cmd.head) + sizeof(struct nnaccel_grant) +
		  2 * sizeof(*roles));
	EXPECT_EQ(command_grants(&self->cmd)->prot, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	EXPECT_EQ(command_grants(&self->cmd)->length, CAPACITY);
	roles = command_roles(&self->cmd);
	EXPECT_EQ(roles[0].model, 2);
	EXPECT_EQ(roles[0].kind, NNACCEL_ROLE_OUTPUT);
	EXPECT_EQ(roles[0].index, NNACCEL_MAX_ARGS - 1);
	EXPECT_EQ(roles[0].frequency, 0);
	EXPECT_EQ(roles[1].model, 1);
	EXPECT_EQ(roles[1].kind, NNACCEL_ROLE_OUTPUT);
	EXPECT_EQ(roles[1].index, 0);
	EXPECT_EQ(roles[1].frequency, NNACCEL_MAX_FREQUENCY);
	EXPECT_EQ(roles[1].__reserved, 0);
	EXPECT_EQ(((uint8_t *)&self->cmd)[self->cmd.head.size], 0xa5);
	at = session_map(self->s.session, command_grants(&self->cmd)->grant, 4 * PAGE, PROT_READ);
	ASSERT_NE(at, NULL);
	for (size_t i = 0; i < 4 * PAGE; i++)
		ASSERT_EQ(at[i], 0);
	munmap(at, 4 * PAGE);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(a.cmd.out_status, NNACCEL_STATUS_NONE);
	EXPECT_GT(a.cmd.out_buffer, self->buffer);
	EXPECT_EQ(a.message[0], '\0');
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-buffers", 2));
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-memory-alloc", (1 + 4 + 4) * PAGE / 1024));
}

TEST_F(buffers, refused_by_the_engine)
{
	struct allocation a;

	allocation_init(&a, self->model, CAPACITY);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_INVALID_ARGUMENT, NULL, 0, "no such shape"), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(a.cmd.out_status, NNACCEL_STATUS_INVALID_ARGUMENT);
	EXPECT_EQ(a.cmd.out_buffer, 0);
	EXPECT_STREQ(a.message, "no such shape");
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-buffers", 1));
}

TEST_F(buffers, alloc_refusals)
{
	struct allocation a;

	ASSERT_EQ(served_start(&self->s), 0);
	allocation_init(&a, self->model, CAPACITY);
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_buffer_alloc, flags, 1, EINVAL),
			REFUSE(struct nnaccel_buffer_alloc, capacity, 0, EINVAL),
			REFUSE(struct nnaccel_buffer_alloc, capacity, UINT64_MAX, EFBIG),
			REFUSE(struct nnaccel_buffer_alloc, capacity, (4ULL << 30) + 1, EFBIG),
			REFUSE(struct nnaccel_buffer_alloc, capacity, 4ULL << 30, EDQUOT),
			REFUSE(struct nnaccel_buffer_alloc, roles, 0, EFAULT),
			REFUSE(struct nnaccel_buffer_alloc, roles, 0xffff888000000000UL, EFAULT),
			REFUSE(struct nnaccel_buffer_alloc, num_roles, 0, EINVAL),
			REFUSE(struct nnaccel_buffer_alloc, num_roles, NNACCEL_MAX_ROLES + 1, EINVAL),
			REFUSE(struct nnaccel_buffer_alloc, num_roles, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_buffer_alloc, message, 0, EFAULT),
			REFUSE(struct nnaccel_buffer_alloc, message_size, NNACCEL_MAX_MESSAGE + 1,
			       EINVAL),
		};

		EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd, sizeof(a.cmd),
					 cases, ARRAY_SIZE(cases)), 0);
	}
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-buffers", 1));
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd, sizeof(a.cmd), 0, true),
		  0);
}

TEST_F(buffers, role_refusals)
{
	const struct {
		const char *what;
		struct nnaccel_role role;
		int error;
	} cases[] = {
		{ "another index", { .model = self->model, .index = 1 }, 0 },
		{ "another model", { .model = self->other_model }, 0 },
		{ "twice", { .model = self->model }, EINVAL },
		{ "kind", { .model = self->model, .kind = 2 }, EINVAL },
		{ "far kind", { .model = self->model, .kind = UINT32_MAX }, EINVAL },
		{ "index", { .model = self->model, .index = NNACCEL_MAX_ARGS }, EINVAL },
		{ "always", { .model = self->model, .index = 1,
			      .frequency = NNACCEL_MAX_FREQUENCY }, 0 },
		{ "more than always", { .model = self->model, .index = 1,
					.frequency = NNACCEL_MAX_FREQUENCY + 1 }, EINVAL },
		{ "twice, by another frequency", { .model = self->model, .frequency = 1 }, EINVAL },
		{ "no model", { .model = 0 }, ENOENT },
		{ "a pool", { .model = self->pool }, ENOENT },
		{ "none such", { .model = UINT32_MAX }, ENOENT },
	};
	struct allocation a;

	ASSERT_EQ(served_start(&self->s), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		allocation_init(&a, self->model, CAPACITY);
		a.roles[1].kind = NNACCEL_ROLE_INPUT;
		a.roles[i % 2] = cases[i / 2].role;
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd), cases[i / 2].error)
			TH_LOG("%s, role %zu", cases[i / 2].what, i % 2);
	}
}

TEST_F(buffers, limits)
{
	long long old = param_set("max_buffers", 2);

	ASSERT_GT(old, 0);
	EXPECT_NE(allocate(&self->s, self->model, 1), 0);
	EXPECT_EQ(buffer_alloc(self->s.fd, self->model, 1), 0);
	EXPECT_EQ(errno, ENOSPC);
	EXPECT_EQ(param_set("max_buffers", old), 2);
}

TEST_F(buffers, ids_are_not_reused_soon)
{
	uint32_t last = self->buffer;

	for (int i = 0; i < 20; i++) {
		uint32_t buffer = allocate(&self->s, self->model, 1);

		EXPECT_GT(buffer, last);
		last = buffer;
		EXPECT_EQ(object_destroy(self->s.fd, buffer), 0);
		EXPECT_EQ(object_destroy(self->s.fd, buffer), ENOENT);
		EXPECT_EQ(buffer_copy_in(self->s.fd, buffer, self->data, 1), ENOENT);
	}
}

TEST_F(buffers, ids_of_another_context)
{
	const uint32_t buffers[] = { 0, 1, self->buffer - 1, self->buffer, self->buffer + 1 };
	int other = device_open();

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	for (size_t i = 0; i < ARRAY_SIZE(buffers); i++) {
		EXPECT_EQ(buffer_copy_in(other, buffers[i], self->data, 8), ENOENT);
		EXPECT_EQ(buffer_copy_out(other, buffers[i], self->back, 8), ENOENT);
		EXPECT_EQ(object_destroy(other, buffers[i]), ENOENT);
	}
	EXPECT_TRUE(holds(self, self->buffer, 8));
	close(other);
}

TEST_F(buffers, are_no_pools)
{
	for (uint32_t id = 0; id < 64; id++) {
		int fd = pool_export(self->s.fd, id);

		EXPECT_EQ(fd >= 0, id == self->pool);
		if (fd >= 0)
			close(fd);
	}
	EXPECT_EQ(map_shared(self->s.fd, PAGE, PROT_READ), NULL);
}

/* ---- copies ---- */

TEST_F(buffers, copy)
{
	const uint64_t sizes[] = { 1, 100, PAGE, PAGE + 1, CAPACITY };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(self->back, 0, sizeof(self->back));
		ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, sizes[i]), 0);
		ASSERT_EQ(buffer_copy_out(self->s.fd, self->buffer, self->back, sizes[i]), 0);
		EXPECT_EQ(memcmp(self->data, self->back, sizes[i]), 0);
		/* A copy out of a buffer must have the size of the last copy into the buffer. */
		EXPECT_EQ(buffer_copy_out(self->s.fd, self->buffer, self->back, sizes[i] + 1), EINVAL);
		EXPECT_EQ(buffer_copy_out(self->s.fd, self->buffer, self->back, sizes[i] - 1), EINVAL);
	}
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-copied-in"), 1 + 100 + 2 * PAGE + 1 + CAPACITY);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-copied-out"), 1 + 100 + 2 * PAGE + 1 + CAPACITY);
}

/* The large copy spans many allocations of contiguous pages, and ends within a page. */
TEST_F(buffers, copy_large)
{
	const size_t size = (9UL << 20) + 12345;
	unsigned char *from = malloc(size), *to = calloc(1, size);
	uint32_t buffer = allocate(&self->s, self->model, size);

	ASSERT_NE(buffer, 0);
	for (size_t i = 0; i < size; i++)
		from[i] = (unsigned char)(i ^ i >> 8 ^ i >> 16);
	ASSERT_EQ(buffer_copy_in(self->s.fd, buffer, from, size), 0);
	ASSERT_EQ(buffer_copy_out(self->s.fd, buffer, to, size), 0);
	EXPECT_EQ(memcmp(from, to, size), 0);
	free(from);
	free(to);
}

TEST_F(buffers, copy_refusals)
{
	char message[NNACCEL_MAX_MESSAGE] = "none";
	struct nnaccel_buffer_copy arg = {
		.size = sizeof(arg),
		.flags = NNACCEL_COPY_IN,
		.buffer = self->buffer,
		.data = (uintptr_t)self->data,
		.length = CAPACITY,
		.out_status = POISON,
	};
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_buffer_copy, flags, 0, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, flags, 3, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, flags, 4, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, flags, 1U << 31 | 1, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, flags, NNACCEL_COPY_OUT, ENODATA),
		REFUSE(struct nnaccel_buffer_copy, buffer, 0, ENOENT),
		REFUSE(struct nnaccel_buffer_copy, buffer, UINT32_MAX, ENOENT),
		REFUSE(struct nnaccel_buffer_copy, buffer, self->pool, ENOENT),
		REFUSE(struct nnaccel_buffer_copy, buffer, self->model, ENOENT),
		REFUSE(struct nnaccel_buffer_copy, length, 0, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, length, CAPACITY + 1, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, length, UINT64_MAX, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, message_size, NNACCEL_MAX_MESSAGE + 1, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, message_size, 1, EFAULT),
		REFUSE(struct nnaccel_buffer_copy, data, 0, EFAULT),
		REFUSE(struct nnaccel_buffer_copy, data, 0xffff888000000000UL, EFAULT),
	};

	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &arg, sizeof(arg), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &arg, sizeof(arg), 0, true), 0);
	EXPECT_TRUE(holds(self, self->buffer, CAPACITY));
	/* A copy without an error writes an empty message. */
	arg.message = (uintptr_t)message;
	arg.message_size = sizeof(message);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &arg), 0);
	EXPECT_EQ(memcmp(message, "\0one", sizeof("none")), 0);
}

static struct nnaccel_buffer_copy pool_copy(FIXTURE_DATA(buffers) *self, uint32_t way,
					    uint32_t pool, uint64_t offset, uint64_t length)
{
	return (struct nnaccel_buffer_copy) {
		.size = sizeof(struct nnaccel_buffer_copy),
		.flags = way | NNACCEL_COPY_POOL,
		.buffer = self->buffer,
		.length = length,
		.out_status = POISON,
		.pool = pool,
		.offset = offset,
	};
}

static int copy_with_pool(FIXTURE_DATA(buffers) *self, uint32_t way, uint32_t pool,
			  uint64_t offset, uint64_t length)
{
	struct nnaccel_buffer_copy arg = pool_copy(self, way, pool, offset, length);
	int error = xioctl(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &arg);

	return error ?: arg.out_status ? EREMOTEIO : 0;
}

/*
 * Copies from a range of a pool into the buffer, and from the buffer to a second range of the pool.
 * Checks that the second copy does not change the pool outside of the second range.
 */
static void copy_through(struct __test_metadata *_metadata, FIXTURE_DATA(buffers) *self, int fd,
			 uint32_t pool, size_t size)
{
	const uint64_t lengths[] = { 1, 100, PAGE, PAGE + 1 };
	unsigned char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ASSERT_NE(map, MAP_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		const uint64_t n = lengths[i], from = 4093, to = size - n - 3;

		memset(map, 0xee, size);
		memcpy(map + from, self->data, n);
		EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, pool, from, n), 0);
		memset(map, 0xee, size);
		EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, pool, to, n), 0);
		EXPECT_EQ(memcmp(map + to, self->data, n), 0);
		for (size_t k = 0; k < size; k++)
			if (k < to || k >= to + n)
				ASSERT_EQ(map[k], 0xee);
	}
	munmap(map, size);
}

TEST_F(buffers, copy_with_own_pool)
{
	uint32_t pool = pool_alloc(self->s.fd, 4 * PAGE), part;
	int fd = pool_export(self->s.fd, pool);

	copy_through(_metadata, self, fd, pool, 4 * PAGE);
	/* If a pool is a range of a dma-buf, offsets are relative to the range's start. */
	ASSERT_EQ(pool_import(self->s.fd, fd, NNACCEL_PROT_READ, PAGE, PAGE, &part), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, part, PAGE - 7, 7), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, part, PAGE - 7, 8), EINVAL);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, part, 0, 7), EACCES);
	close(fd);
}

TEST_F(buffers, copy_with_files)
{
	int fd = memfd_create("copies", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint32_t pool, readable;

	ASSERT_EQ(ftruncate(fd, 4 * PAGE), 0);
	ASSERT_EQ(pool_import(self->s.fd, fd, 3, 0, 4 * PAGE, &pool), 0);
	copy_through(_metadata, self, fd, pool, 4 * PAGE);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	/*
	 * A copy cannot write to a pool whose file is write-sealed, and cannot access a pool whose
	 * file is truncated.
	 */
	ASSERT_EQ(pool_import(self->s.fd, fd, NNACCEL_PROT_READ, 0, 4 * PAGE, &readable), 0);
	ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, readable, 1, 3 * PAGE), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, readable, 1, 3 * PAGE), EACCES);
	ASSERT_EQ(ftruncate(fd, PAGE), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, readable, 1, 3 * PAGE), EIO);
	EXPECT_EQ(buffer_copy_out(self->s.fd, self->buffer, self->back, 100), ENODATA);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, readable, 1, 100), 0);
	close(fd);
}

TEST_F(buffers, copy_with_other_drivers)
{
	struct nnaccel_buffer_copy arg;
	struct exporter_counts counts;
	struct exporter x;
	uint32_t pool;

	ASSERT_TRUE(exporter_open(&x, 0));
	ASSERT_EQ(pool_import(self->s.fd, x.buffer, 3, 0, 4 * PAGE, &pool), 0);
	copy_through(_metadata, self, x.buffer, pool, 4 * PAGE);
	/* The exporter was notified of each access, for reading and for writing. */
	counts = exporter_counts(&x);
	EXPECT_EQ(counts.begun[2], 4);
	EXPECT_EQ(counts.begun[0], 4);
	EXPECT_EQ(memcmp(counts.begun, counts.ended, sizeof(counts.ended)), 0);

	/*
	 * A copy waits for another driver's fence on the pool. While a copy waits for a fence,
	 * other calls may use the buffer.
	 */
	ASSERT_EQ(ioctl(x.fd, EXPORTER_FENCE, 1), 0);
	arg = pool_copy(self, NNACCEL_COPY_IN, pool, 5, 500);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_COPY, &arg));
	usleep(100000);
	EXPECT_EQ(exporter_counts(&x).begun[2], 4);
	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 10), 0);
	ASSERT_EQ(ioctl(x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(arg.out_status, 0);
	EXPECT_EQ(buffer_copy_out(self->s.fd, self->buffer, self->back, 500), 0);

	/*
	 * If the exporter refuses a copy's access, the buffer does not change; if the exporter
	 * refuses to end the access, the buffer becomes uninitialised.
	 */
	ASSERT_EQ(ioctl(x.fd, EXPORTER_REFUSE, EXPORTER_NO_BEGIN), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, pool, 0, 100), EIO);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, pool, 0, 500), EIO);
	EXPECT_EQ(buffer_copy_out(self->s.fd, self->buffer, self->back, 500), 0);
	ASSERT_EQ(ioctl(x.fd, EXPORTER_REFUSE, EXPORTER_NO_END), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, pool, 0, 500), EIO);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, pool, 0, 100), EIO);
	EXPECT_EQ(buffer_copy_out(self->s.fd, self->buffer, self->back, 100), ENODATA);
	ASSERT_EQ(ioctl(x.fd, EXPORTER_REFUSE, 0), 0);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, pool, 0, 100), 0);
	close(x.fd);
	x.fd = -1;
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_IN, pool, 0, 100), EIO);
	EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, pool, 0, 100), EIO);
	exporter_close(&x);
}

TEST_F(buffers, pool_copy_refusals)
{
	const struct nnaccel_buffer_copy good = pool_copy(self, NNACCEL_COPY_IN, self->pool, 0,
							  100);
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_buffer_copy, flags, NNACCEL_COPY_POOL, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, flags, 7, EINVAL),
		/* Without NNACCEL_COPY_POOL, a copy uses user memory and must not name a pool. */
		REFUSE(struct nnaccel_buffer_copy, flags, NNACCEL_COPY_IN, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, data, 1, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, pool, 0, ENOENT),
		REFUSE(struct nnaccel_buffer_copy, pool, 4711, ENOENT),
		REFUSE(struct nnaccel_buffer_copy, pool, self->model, ENOENT),
		REFUSE(struct nnaccel_buffer_copy, offset, 1ULL << 40, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, offset, UINT64_MAX, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, length, 1ULL << 40, EINVAL),
		REFUSE(struct nnaccel_buffer_copy, length, UINT64_MAX, EINVAL),
	};

	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &good, sizeof(good), 0, true),
		  0);
}

/*
 * If an execution writes no bytes to its output buffer, a copy out of the buffer changes no memory.
 */
TEST_F(buffers, copy_of_no_bytes)
{
	int fd = file_new(PAGE);
	struct buffer_execution e;
	struct exporter x;
	uint32_t pools[3] = { self->pool };

	ASSERT_TRUE(exporter_open(&x, 0));
	ASSERT_EQ(pool_import(self->s.fd, fd, 3, 0, PAGE, &pools[1]), 0);
	ASSERT_EQ(pool_import(self->s.fd, x.buffer, 3, 0, PAGE, &pools[2]), 0);
	buffer_execution_init(&e, self->model, self->buffer, 0);
	e.base.args[0].flags = NNACCEL_ARG_NO_VALUE;
	e.base.args[1].pool = 0;
	e.base.cmd.num_outputs = 1;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(commit(self, NNACCEL_STATUS_NONE, 0), 0);
	ASSERT_EQ(async_wait(&self->async), 0);
	EXPECT_TRUE(holds(self, self->buffer, 0));
	for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
		EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, pools[i], 0, 0), 0);
		EXPECT_EQ(copy_with_pool(self, NNACCEL_COPY_OUT, pools[i], PAGE, 0), 0);
	}
	exporter_close(&x);
	close(fd);
}

/*
 * If a copy fails halfway, the buffer becomes uninitialised. If a copy fails before it begins, the
 * buffer does not change.
 */
TEST_F(buffers, copy_breaks_off)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	ASSERT_NE(page, MAP_FAILED);
	munmap(page + PAGE, PAGE);
	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, CAPACITY), 0);
	EXPECT_EQ(buffer_copy_out(self->s.fd, self->buffer, page, CAPACITY), EFAULT);
	EXPECT_TRUE(holds(self, self->buffer, CAPACITY));
	EXPECT_EQ(buffer_copy_in(self->s.fd, self->buffer, page, CAPACITY + 1), EINVAL);
	EXPECT_TRUE(holds(self, self->buffer, CAPACITY));
	EXPECT_EQ(buffer_copy_in(self->s.fd, self->buffer, page, 2 * PAGE), EFAULT);
	EXPECT_TRUE(is_empty(self, self->buffer));
	munmap(page, PAGE);
}

/* ---- executions ---- */

TEST_F(buffers, execute)
{
	uint64_t output = allocate(&self->s, self->model, CAPACITY);
	const struct nnaccel_grant *grants;
	const struct nnaccel_arg *args;
	struct buffer_execution e;
	unsigned char *in, *out;

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 1000), 0);
	buffer_execution_init(&e, self->model, self->buffer, output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_EXECUTE);
	EXPECT_EQ(self->cmd.head.max_payload, sizeof(struct nnaccel_shape) + sizeof(uint64_t));
	EXPECT_EQ(self->cmd.head.num_grants, 2);
	grants = command_grants(&self->cmd);
	args = command_args(&self->cmd);
	EXPECT_EQ(grants[0].prot, NNACCEL_PROT_READ);
	EXPECT_EQ(grants[1].prot, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	EXPECT_EQ(grants[0].length, CAPACITY);
	EXPECT_EQ(args[0].flags, NNACCEL_ARG_BUFFER);
	EXPECT_EQ(args[0].pool, 0);
	EXPECT_EQ(args[0].offset, 0);
	EXPECT_EQ(args[0].length, 1000);
	EXPECT_EQ(args[1].pool, 1);
	EXPECT_EQ(args[1].length, CAPACITY);
	in = session_map(self->s.session, grants[0].grant, 4 * PAGE, PROT_READ);
	out = session_map(self->s.session, grants[1].grant, 4 * PAGE, PROT_READ | PROT_WRITE);
	ASSERT_TRUE(in && out);
	EXPECT_EQ(memcmp(in, self->data, 1000), 0);
	memcpy(out, self->data + 5, 77);
	EXPECT_EQ(commit(self, NNACCEL_STATUS_NONE, 77), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(e.base.cmd.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(e.base.cmd.out_num_shapes, 1);
	EXPECT_EQ(e.base.shape.flags, NNACCEL_SHAPE_SUFFICIENT);
	/* The execution wrote one shape to the client, and nothing behind the shape. */
	EXPECT_EQ((unsigned char)e.base.message[1], 0xa5);
	EXPECT_TRUE(holds(self, output, 77));
	EXPECT_EQ(memcmp(self->back, self->data + 5, 77), 0);
	EXPECT_TRUE(holds(self, self->buffer, 1000));
	munmap(in, 4 * PAGE);
	munmap(out, 4 * PAGE);
}

/* In an execution's command, the grants of the pools precede the grants of the buffers. */
TEST_F(buffers, execute_with_pools)
{
	struct buffer_execution e;

	buffer_execution_init(&e, self->model, self->buffer, 0);
	e.base.pools[0] = self->pool;
	e.base.cmd.pools = (uintptr_t)e.base.pools;
	e.base.cmd.num_pools = 1;
	e.base.cmd.num_outputs = 1;
	e.base.args[0] = (struct nnaccel_arg){ .length = 16 };
	e.base.args[1] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_BUFFER };
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(self->cmd.head.num_grants, 2);
	EXPECT_EQ(command_grants(&self->cmd)[0].length, PAGE);
	EXPECT_EQ(command_grants(&self->cmd)[1].length, CAPACITY);
	EXPECT_EQ(command_args(&self->cmd)[0].pool, 0);
	EXPECT_EQ(command_args(&self->cmd)[1].pool, 1);
	EXPECT_EQ(commit(self, NNACCEL_STATUS_NONE, CAPACITY), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_TRUE(holds(self, self->buffer, CAPACITY));
	/* An argument that names a pool cannot address a buffer. */
	e.base.args[0].pool = 1;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EINVAL);
}

TEST_F(buffers, execute_refusals)
{
	enum { NONE, FULL, EMPTY, FAR };
	const struct {
		const char *what;
		int buffers[2];
		struct nnaccel_arg args[2];
		int error;
	} cases[] = {
		{ "good", { FULL, EMPTY }, { { .pool = 0 }, { .pool = 1 } }, 0 },
		{ "crossed", { EMPTY, FULL }, { { .pool = 1 }, { .pool = 0 } }, 0 },
		{ "uninitialised", { EMPTY, FULL }, { { .pool = 0 }, { .pool = 1 } }, ENODATA },
		{ "no buffer", { FULL, NONE }, { { .pool = 0 }, { .pool = 1 } }, ENOENT },
		{ "no such buffer", { FULL, FAR }, { { .pool = 0 }, { .pool = 1 } }, ENOENT },
		{ "named twice", { FULL, FULL }, { { .pool = 0 }, { .pool = 1 } }, EINVAL },
		{ "in and out", { FULL, EMPTY }, { { .pool = 0 }, { .pool = 0 } }, EINVAL },
		{ "index", { FULL, EMPTY }, { { .pool = 0 }, { .pool = 2 } }, EINVAL },
		{ "far index", { FULL, EMPTY }, { { .pool = UINT32_MAX }, { .pool = 1 } }, EINVAL },
		{ "offset", { FULL, EMPTY }, { { .offset = 1 }, { .pool = 1 } }, EINVAL },
		{ "length", { FULL, EMPTY }, { {}, { .pool = 1, .length = 1 } }, EINVAL },
		{ "rank", { FULL, EMPTY }, { { .rank = 17 }, { .pool = 1 } }, EINVAL },
		{ "dimension", { FULL, EMPTY }, { { .dims[0] = 1 }, { .pool = 1 } }, EINVAL },
		{ "reserved", { FULL, EMPTY }, { { .__reserved = 1 }, { .pool = 1 } }, EINVAL },
	};
	uint32_t full = allocate(&self->s, self->model, CAPACITY);
	struct buffer_execution e;

	ASSERT_EQ(buffer_copy_in(self->s.fd, full, self->data, 8), 0);
	ASSERT_EQ(served_start(&self->s), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t empty = buffer_alloc(self->s.fd, self->model, CAPACITY);
		const uint32_t buffers[] = { 0, full, empty, UINT32_MAX };

		buffer_execution_init(&e, self->model, buffers[cases[i].buffers[0]],
				      buffers[cases[i].buffers[1]]);
		e.base.cmd.num_outputs = 1;
		e.base.cmd.num_buffers = 2;
		for (uint32_t a = 0; a < 2; a++) {
			e.base.args[a] = cases[i].args[a];
			e.base.args[a].flags = NNACCEL_ARG_BUFFER;
		}
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), cases[i].error)
			TH_LOG("%s", cases[i].what);
		EXPECT_TRUE(holds(self, full, 8));
		EXPECT_EQ(is_empty(self, empty), !!cases[i].error) TH_LOG("%s", cases[i].what);
		if (!i) {
			EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd,
						  sizeof(e.base.cmd), 0, true), 0);
		}
		EXPECT_EQ(object_destroy(self->s.fd, empty), 0);
	}
	buffer_execution_init(&e, self->other_model, full, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EPERM);
}

/*
 * A buffer can be an argument only if the buffer has a role for the execution's model, and for the
 * argument's direction (input or output) and index.
 */
TEST_F(buffers, roles_at_use)
{
	struct allocation a;
	struct buffer_execution e;

	ASSERT_EQ(served_start(&self->s), 0);
	for (uint32_t i = 0; i < 4; i++) {
		/* Allocate a buffer with one role: input or output, index 0 or 1. */
		allocation_init(&a, self->model, CAPACITY);
		a.roles[0].kind = i & 1;
		a.roles[0].index = i >> 1;
		a.cmd.num_roles = 1;
		ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd), 0);
		for (uint32_t use = 0; use < 4; use++) {
			/*
			 * Use the buffer as one of two inputs or of two outputs, and omit the other
			 * arguments.
			 */
			struct nnaccel_arg args[4] = {
				{ .flags = 1 }, { .flags = 1 }, { .flags = 1 }, { .flags = 1 },
			};
			struct nnaccel_shape shapes[2];

			ASSERT_EQ(buffer_copy_in(self->s.fd, a.cmd.out_buffer, self->data, 1), 0);
			buffer_execution_init(&e, self->model, a.cmd.out_buffer, 0);
			args[(use & 1) * 2 + (use >> 1)].flags = NNACCEL_ARG_BUFFER;
			e.base.cmd.args = (uintptr_t)args;
			e.base.cmd.num_inputs = 2;
			e.base.cmd.num_outputs = 2;
			e.base.cmd.shapes = (uintptr_t)shapes;
			EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd),
				  use == i ? 0 : EPERM) TH_LOG("role %u as %u", i, use);
			e.base.cmd.model = self->other_model;
			EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EPERM);
		}
	}
}

/* One buffer may be several inputs, but only one output. */
TEST_F(buffers, many_arguments)
{
	struct nnaccel_arg args[4] = {
		{ .flags = NNACCEL_ARG_BUFFER }, { .flags = NNACCEL_ARG_BUFFER },
		{ .flags = NNACCEL_ARG_NO_VALUE }, { .flags = NNACCEL_ARG_NO_VALUE },
	};
	struct nnaccel_role roles[4];
	struct nnaccel_shape shapes[2];
	struct buffer_execution e;
	struct allocation a;

	ASSERT_EQ(served_start(&self->s), 0);
	for (uint32_t i = 0; i < 4; i++)
		roles[i] = (struct nnaccel_role){ .model = self->model, .kind = i / 2,
						  .index = i % 2 };
	allocation_init(&a, self->model, CAPACITY);
	a.cmd.roles = (uintptr_t)roles;
	a.cmd.num_roles = 4;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd), 0);
	ASSERT_EQ(buffer_copy_in(self->s.fd, a.cmd.out_buffer, self->data, 1), 0);
	buffer_execution_init(&e, self->model, a.cmd.out_buffer, 0);
	e.base.cmd.args = (uintptr_t)args;
	e.base.cmd.shapes = (uintptr_t)shapes;
	e.base.cmd.num_inputs = 2;
	e.base.cmd.num_outputs = 2;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), 0);
	args[2].flags = NNACCEL_ARG_BUFFER;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EINVAL);
	args[0].flags = NNACCEL_ARG_NO_VALUE;
	args[1].flags = NNACCEL_ARG_NO_VALUE;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), 0);
	args[3].flags = NNACCEL_ARG_BUFFER;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EINVAL);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

/* Only an execution that succeeded initialises its output. */
TEST_F(buffers, failed_executions)
{
	uint64_t output = allocate(&self->s, self->model, CAPACITY);
	struct buffer_execution e;

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	for (uint32_t status = 1; status <= NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT; status++) {
		ASSERT_EQ(buffer_copy_in(self->s.fd, output, self->data, 8), 0);
		buffer_execution_init(&e, self->model, self->buffer, output);
		ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(commit(self, status, 8), 0);
		ASSERT_EQ(async_wait(&self->async), 0);
		EXPECT_TRUE(is_empty(self, output));
		EXPECT_TRUE(holds(self, self->buffer, 8));
	}
	/* An execution that is rejected does not change the output buffer. */
	ASSERT_EQ(buffer_copy_in(self->s.fd, output, self->data, 8), 0);
	buffer_execution_init(&e, self->other_model, self->buffer, output);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EPERM);
	EXPECT_TRUE(holds(self, output, 8));
}

TEST_F(buffers, answers_that_are_wrong)
{
	uint64_t output = allocate(&self->s, self->model, CAPACITY);
	uint64_t cookie;
	struct buffer_execution e;

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	buffer_execution_init(&e, self->model, self->buffer, output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	cookie = self->cmd.head.cookie;
	EXPECT_EQ(commit(self, NNACCEL_STATUS_NONE, CAPACITY + 1), EINVAL);
	EXPECT_EQ(commit(self, NNACCEL_STATUS_NONE, UINT64_MAX), EINVAL);
	EXPECT_EQ(session_commit(self->s.session, cookie, 0, NULL, 0, NULL), EINVAL);
	EXPECT_EQ(session_commit(self->s.session, cookie, 0, self->data,
				 sizeof(struct nnaccel_shape), NULL), EINVAL);
	EXPECT_EQ(commit(self, NNACCEL_STATUS_NONE, 0), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_TRUE(holds(self, output, 0));
}

/* ---- concurrent uses ---- */

TEST_F(buffers, in_use)
{
	uint64_t output = allocate(&self->s, self->model, CAPACITY);
	struct buffer_execution e, again;
	struct async reader;
	union command first;

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	ASSERT_EQ(buffer_copy_in(self->s.fd, output, self->data, 8), 0);
	buffer_execution_init(&e, self->model, self->buffer, output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	/* While an execution writes the buffer, every other use fails. */
	EXPECT_EQ(buffer_copy_in(self->s.fd, output, self->data, 8), EBUSY);
	EXPECT_EQ(buffer_copy_out(self->s.fd, output, self->back, 8), EBUSY);
	buffer_execution_init(&again, self->model, output, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &again.base.cmd), EBUSY);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EBUSY);
	/* While an execution reads a buffer, other calls may read the buffer, but not write it. */
	EXPECT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), EBUSY);
	EXPECT_TRUE(holds(self, self->buffer, 8));
	buffer_execution_init(&again, self->model, self->buffer, 0);
	ASSERT_TRUE(async_start(&reader, self->s.fd, NNACCEL_WORK_EXECUTE, &again.base.cmd));
	first = self->cmd;
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_answer(self->s.session, &first), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_TRUE(holds(self, output, 0));
	EXPECT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), EBUSY);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&reader), 0);
	EXPECT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	/* Rejected calls do not count as the context's commands. */
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

/* An execution whose caller no longer waits may still write its output buffer. */
TEST_F(buffers, abandoned)
{
	struct buffer_execution e;

	buffer_execution_init(&e, self->model, self->buffer, 0);
	e.base.args[0].flags = NNACCEL_ARG_NO_VALUE;
	e.base.args[1].pool = 0;
	e.base.cmd.num_outputs = 1;
	e.base.cmd.deadline_ns = deadline_soon();
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(async_wait(&self->async), ETIME);
	EXPECT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), EBUSY);
	EXPECT_EQ(commit(self, NNACCEL_STATUS_NONE, 8), 0);
	EXPECT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	/*
	 * A command that was never fetched wrote nothing, but its output buffer becomes
	 * uninitialised nevertheless.
	 */
	e.base.cmd.deadline_ns = now_ns() + 50000000;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), ETIME);
	EXPECT_TRUE(is_empty(self, self->buffer));
}

TEST_F(buffers, freed_in_use)
{
	uint64_t output = allocate(&self->s, self->model, CAPACITY);
	struct buffer_execution e;
	char *out;

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	buffer_execution_init(&e, self->model, self->buffer, output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->buffer), 0);
	EXPECT_EQ(object_destroy(self->s.fd, output), 0);
	EXPECT_EQ(buffer_copy_out(self->s.fd, output, self->back, 8), ENOENT);
	out = session_map(self->s.session, command_grants(&self->cmd)[1].grant, 4 * PAGE,
			  PROT_READ | PROT_WRITE);
	ASSERT_NE(out, NULL);
	out[0] = 1;
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-buffers", 2));
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-buffers", 0));
	/* The module notifies the worker of the end of two buffers. */
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	}
	munmap(out, 4 * PAGE);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-memory-alloc", PAGE / 1024));
}

/* ---- ends of models and workers ---- */

TEST_F(buffers, model_is_destroyed)
{
	struct buffer_execution e;
	uint32_t model;

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 8), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->model), 0);
	EXPECT_TRUE(holds(self, self->buffer, 8));
	model = prepare(&self->s, self->pool);
	ASSERT_NE(model, 0);
	buffer_execution_init(&e, self->model, self->buffer, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), ENOENT);
	e.base.cmd.model = model;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EPERM);
}

/* Ends the worker by closing its session. */
static int next_worker(FIXTURE_DATA(buffers) *self)
{
	close(self->s.session);
	self->s.session = -1;
	return 0;
}

static uint32_t prepare_anew(FIXTURE_DATA(buffers) *self)
{
	struct nnaccel_prepare arg;
	uint64_t context;

	prepare_init(&arg, self->pool, 1);
	if (!async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &arg))
		return 0;
	if (broker_await_new(self->s.broker, &context) ||
	    broker_session(self->s.broker, context, &self->s.session) ||
	    session_attach(self->s.session) || fetch(self) ||
	    session_answer(self->s.session, &self->cmd))
		return 0;
	return async_wait(&self->async) ? 0 : arg.out_model;
}

/*
 * If a worker dies, the buffers that it was writing become uninitialised. Buffers that a worker was
 * only reading when it died keep their contents.
 */
TEST_F(buffers, worker_dies)
{
	uint64_t output = allocate(&self->s, self->model, CAPACITY);
	struct buffer_execution e;
	uint32_t model;

	ASSERT_EQ(buffer_copy_in(self->s.fd, self->buffer, self->data, 1000), 0);
	ASSERT_EQ(buffer_copy_in(self->s.fd, output, self->data, 8), 0);
	buffer_execution_init(&e, self->model, self->buffer, output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	next_worker(self);
	EXPECT_EQ(async_wait(&self->async), EPIPE);
	EXPECT_TRUE(is_empty(self, output));
	EXPECT_TRUE(holds(self, self->buffer, 1000));
	EXPECT_EQ(memcmp(self->back, self->data, 1000), 0);
	EXPECT_EQ(buffer_copy_in(self->s.fd, output, self->data, 8), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), ESTALE);
	EXPECT_EQ(buffer_alloc(self->s.fd, self->model, 1), 0);
	EXPECT_EQ(errno, ESTALE);
	/*
	 * Models of a new worker may have the ids of the dead worker's models, but earlier buffers
	 * have no roles for new models.
	 */
	model = prepare_anew(self);
	ASSERT_NE(model, 0);
	e.base.cmd.model = model;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd), EPERM);
	EXPECT_EQ(buffer_alloc(self->s.fd, self->other_model, 1), 0);
	EXPECT_EQ(errno, ESTALE);
	EXPECT_NE(allocate(&self->s, model, 1), 0);
	EXPECT_TRUE(holds(self, self->buffer, 1000));
}

TEST_F(buffers, worker_dies_judging)
{
	struct allocation a;

	allocation_init(&a, self->model, CAPACITY);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd));
	ASSERT_EQ(fetch(self), 0);
	next_worker(self);
	EXPECT_EQ(async_wait(&self->async), EPIPE);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-buffers", 1));
}

/* ---- engine's own layout ---- */

/*
 * Reverses the order of the bytes and inverts each byte, so that no linear copy gives the same
 * bytes.
 */
static void convert(unsigned char *to, const unsigned char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[n - 1 - i] ^ 0xff;
}

static uint32_t allocate_own(FIXTURE_DATA(buffers) *self)
{
	const uint32_t layout = NNACCEL_LAYOUT_ENGINE;
	struct allocation a;

	allocation_init(&a, self->model, CAPACITY);
	if (!async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd) || fetch(self) ||
	    session_commit(self->s.session, self->cmd.head.cookie, 0, &layout, sizeof(layout),
			   NULL))
		return 0;
	return async_wait(&self->async) ? 0 : a.cmd.out_buffer;
}

/* Fetches a copy command, and converts between the linear and the engine's layout. */
static int convert_for(FIXTURE_DATA(buffers) *self, uint32_t kind, uint64_t length)
{
	const struct nnaccel_grant *grants = command_grants(&self->cmd);
	bool in = kind == NNACCEL_DO_COPY_IN;
	size_t staging = (length + PAGE - 1) & ~(PAGE - 1);
	unsigned char *own, *linear;
	int error = fetch(self);

	if (error || self->cmd.head.kind != kind || self->cmd.head.wire_length != length ||
	    self->cmd.head.num_grants != 2 || grants[1].length != length)
		return error ?: EPROTO;
	if (grants[0].prot != (in ? 3 : 1) || grants[1].prot != (in ? 1 : 3))
		return EPROTO;
	own = session_map(self->s.session, grants[0].grant, 4 * PAGE,
			  PROT_READ | (in ? PROT_WRITE : 0));
	linear = session_map(self->s.session, grants[1].grant, staging,
			     PROT_READ | (in ? 0 : PROT_WRITE));
	if (!own || !linear)
		return EPROTO;
	if (in)
		convert(own, linear, length);
	else
		convert(linear, own, length);
	munmap(own, 4 * PAGE);
	munmap(linear, staging);
	return session_commit(self->s.session, self->cmd.head.cookie, 0, NULL, 0, NULL);
}

static bool start_copy(FIXTURE_DATA(buffers) *self, struct nnaccel_buffer_copy *copy,
		       uint32_t flags, uint32_t buffer, void *data, uint64_t length)
{
	*copy = (struct nnaccel_buffer_copy){
		.size = sizeof(*copy),
		.flags = flags,
		.buffer = buffer,
		.data = (uintptr_t)data,
		.length = length,
		.out_status = POISON,
	};
	return async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_COPY, copy);
}

TEST_F(buffers, engine_layout)
{
	uint32_t buffer = allocate_own(self), id;
	struct nnaccel_buffer_copy copy;
	struct buffer_execution e;
	unsigned char *own, expected[1000];
	long long pools;

	ASSERT_NE(buffer, 0);
	EXPECT_TRUE(is_empty(self, buffer));
	EXPECT_EQ(buffer_copy_in(self->s.fd, buffer, self->data, CAPACITY + 1), EINVAL);
	EXPECT_EQ(buffer_copy_in(self->s.fd, buffer, NULL, 8), EFAULT);
	pools = summary_get(self->s.fd, "nnaccel-pools");
	ASSERT_TRUE(start_copy(self, &copy, NNACCEL_COPY_IN, buffer, self->data, 1000));
	ASSERT_EQ(convert_for(self, NNACCEL_DO_COPY_IN, 1000), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(copy.out_status, NNACCEL_STATUS_NONE);
	/* The staging pool of a copy is freed after the copy. */
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), pools);
	/* During an execution the buffer has the engine's layout. */
	buffer_execution_init(&e, self->model, buffer, 0);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(fetch(self), 0);
	own = session_map(self->s.session, command_grants(&self->cmd)->grant, 4 * PAGE, PROT_READ);
	ASSERT_NE(own, NULL);
	convert(expected, self->data, 1000);
	EXPECT_EQ(memcmp(own, expected, 1000), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	munmap(own, 4 * PAGE);
	EXPECT_EQ(buffer_copy_out(self->s.fd, buffer, self->back, 999), EINVAL);
	memset(self->back, 0, sizeof(self->back));
	ASSERT_TRUE(start_copy(self, &copy, NNACCEL_COPY_OUT, buffer, self->back, 1000));
	ASSERT_EQ(convert_for(self, NNACCEL_DO_COPY_OUT, 1000), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(memcmp(self->back, self->data, 1000), 0);
	EXPECT_EQ(self->back[1000], 0);
	/* The structure of WAIT, not that of SUBMIT, names the memory for the data. */
	memset(self->back, 0xa5, sizeof(self->back));
	memset(expected, 0, sizeof(expected));
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy, &id), 0);
	ASSERT_EQ(convert_for(self, NNACCEL_DO_COPY_OUT, 1000), 0);
	copy.data = (uintptr_t)expected;
	EXPECT_EQ(submission_wait(self->s.fd, id, &copy), 0);
	EXPECT_EQ(memcmp(expected, self->data, 1000), 0);
	EXPECT_EQ(self->back[0], 0xa5);
}

TEST_F(buffers, engine_layout_fails)
{
	uint32_t buffer = allocate_own(self);
	struct nnaccel_buffer_copy copy;
	char message[NNACCEL_MAX_MESSAGE] = "none";

	ASSERT_NE(buffer, 0);
	ASSERT_TRUE(start_copy(self, &copy, NNACCEL_COPY_IN, buffer, self->data, 1000));
	ASSERT_EQ(convert_for(self, NNACCEL_DO_COPY_IN, 1000), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	/* If a copy out of a buffer fails, the buffer keeps its contents. */
	copy = (struct nnaccel_buffer_copy){
		.size = sizeof(copy),
		.flags = NNACCEL_COPY_OUT,
		.buffer = buffer,
		.data = (uintptr_t)self->back,
		.length = 1000,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy));
	ASSERT_EQ(fetch(self), 0);
	/* While a copy reads the buffer, other calls may read the buffer but not write it. */
	EXPECT_EQ(buffer_copy_in(self->s.fd, buffer, self->data, 1), EBUSY);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_GENERAL_FAILURE, NULL, 0, "cannot"), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(copy.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	EXPECT_STREQ(message, "cannot");
	ASSERT_TRUE(start_copy(self, &copy, NNACCEL_COPY_OUT, buffer, self->back, 1000));
	ASSERT_EQ(convert_for(self, NNACCEL_DO_COPY_OUT, 1000), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	/* If a copy into a buffer fails, the buffer becomes uninitialised. */
	ASSERT_TRUE(start_copy(self, &copy, NNACCEL_COPY_IN, buffer, self->data, 1000));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(buffer_copy_out(self->s.fd, buffer, self->back, 1000), EBUSY);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_GENERAL_FAILURE, NULL, 0, NULL), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(copy.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	EXPECT_TRUE(is_empty(self, buffer));
}

TEST_F(buffers, engine_layout_dies_with_the_worker)
{
	uint32_t buffer = allocate_own(self);
	struct nnaccel_buffer_copy copy;

	ASSERT_NE(buffer, 0);
	ASSERT_TRUE(start_copy(self, &copy, NNACCEL_COPY_IN, buffer, self->data, 1000));
	ASSERT_EQ(convert_for(self, NNACCEL_DO_COPY_IN, 1000), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	ASSERT_TRUE(start_copy(self, &copy, NNACCEL_COPY_OUT, buffer, self->back, 1000));
	ASSERT_EQ(fetch(self), 0);
	next_worker(self);
	EXPECT_EQ(async_wait(&self->async), EPIPE);
	EXPECT_EQ(buffer_copy_out(self->s.fd, buffer, self->back, 1000), ESTALE);
	ASSERT_NE(prepare_anew(self), 0);
	EXPECT_EQ(buffer_copy_out(self->s.fd, buffer, self->back, 1000), ESTALE);
	EXPECT_EQ(buffer_copy_in(self->s.fd, buffer, self->data, 1000), ESTALE);
	EXPECT_EQ(object_destroy(self->s.fd, buffer), 0);
}

TEST_F(buffers, layouts_that_are_wrong)
{
	uint32_t layout = 2;
	struct allocation a;

	allocation_init(&a, self->model, CAPACITY);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie, 0, &layout, 4, NULL),
		  EINVAL);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie, 0, &layout, 3, NULL),
		  EINVAL);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie, 0, self->data, 8, NULL),
		  EINVAL);
	layout = NNACCEL_LAYOUT_LINEAR;
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie, 0, &layout, 4, NULL), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(buffer_copy_in(self->s.fd, a.cmd.out_buffer, self->data, 8), 0);
}

/* ---- the client is killed ---- */

/* Client process: executes a model with one buffer as input and another as output. */
static void be_client(struct actor *actor, void *data)
{
	int fd = device_open();
	uint32_t pool = pool_alloc(fd, PAGE);
	struct nnaccel_prepare prepare;
	struct buffer_execution e;
	uint32_t buffers[2];

	prepare_init(&prepare, pool, 1);
	if (!pool || xioctl(fd, NNACCEL_WORK_PREPARE, &prepare))
		_exit(1);
	for (int i = 0; i < 2; i++)
		buffers[i] = buffer_alloc(fd, prepare.out_model, CAPACITY);
	if (!buffers[0] || !buffers[1] || buffer_copy_in(fd, buffers[0], data, CAPACITY))
		_exit(1);
	buffer_execution_init(&e, prepare.out_model, buffers[0], buffers[1]);
	xioctl(fd, NNACCEL_WORK_EXECUTE, &e.base.cmd);
}

/* Serves the client as its worker until the client's execution is queued. */
static int serve_client(FIXTURE_DATA(buffers) *self)
{
	static const uint32_t kinds[] = { NNACCEL_DO_PREPARE, NNACCEL_DO_BUFFER,
					  NNACCEL_DO_BUFFER };
	struct pollfd poll_fd = { .events = POLLIN };
	struct nnaccel_engine_next next;
	int error = broker_next(self->s.broker, 0, &next);

	error = error ?: broker_session(self->s.broker, next.out_context, &self->s.session);
	error = error ?: session_attach(self->s.session);
	for (size_t i = 0; !error && i < ARRAY_SIZE(kinds); i++) {
		error = fetch(self);
		if (!error && self->cmd.head.kind != kinds[i])
			error = EPROTO;
		error = error ?: session_answer(self->s.session, &self->cmd);
	}
	poll_fd.fd = self->s.session;
	return error ?: poll(&poll_fd, 1, -1) == 1 ? 0 : errno;
}

/*
 * Kills a client that has two buffers and an execution in flight. If @begun is set, the worker has
 * fetched the execution.
 */
static void kill_client(struct __test_metadata *_metadata, FIXTURE_DATA(buffers) *self,
			bool begun)
{
	unsigned char *out = NULL;
	struct actor actor;
	long long buffers;

	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
	buffers = summary_get(-1, "buffers");
	self->s = (struct served){ .fd = -1, .session = -1, .broker = broker_open() };
	ASSERT_GE(self->s.broker, 0);
	ASSERT_TRUE(actor_start(&actor, be_client, self->data));
	ASSERT_EQ(serve_client(self), 0);
	if (begun) {
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(self->cmd.head.kind, NNACCEL_DO_EXECUTE);
		out = session_map(self->s.session, command_grants(&self->cmd)[1].grant, 4 * PAGE,
				  PROT_READ | PROT_WRITE);
		ASSERT_NE(out, NULL);
	}
	EXPECT_EQ(summary_get(-1, "buffers"), buffers + 2);
	actor_kill(&actor);
	EXPECT_EQ(session_fetch(self->s.session, 0, &(union command){}), ESHUTDOWN);
	if (begun) {
		/*
		 * After the client's death the worker can write the output buffer until the worker
		 * answers.
		 */
		memset(out, 1, CAPACITY);
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), ENOENT);
		munmap(out, 4 * PAGE);
	}
}

TEST_F(buffers, client_is_killed)
{
	kill_client(_metadata, self, false);
}

TEST_F(buffers, client_is_killed_while_the_worker_executes)
{
	kill_client(_metadata, self, true);
}

TEST_HARNESS_MAIN
