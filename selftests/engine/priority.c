// SPDX-License-Identifier: MIT
/*
 * NNACCEL_ENGINE_PRIORITY reports to the broker the highest priority of a context's models.
 */
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

struct files {
	int broker;
	int session;
};

static void be_worker(struct actor *self, void *data)
{
	const struct files *files = data;

	close(files->broker);
	if (session_attach(files->session))
		_exit(1);
	actor_reached(self);
	session_serve(files->session);
}

FIXTURE(priority) {
	struct summary before;
	int broker;
	int fd;
	uint64_t context;
	uint32_t pool;
	struct actor worker;
};

FIXTURE_SETUP(priority)
{
	struct files files;

	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	self->fd = device_open();
	self->pool = pool_alloc(self->fd, PAGE);
	ASSERT_NE(self->pool, 0);
	ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
	ASSERT_EQ(broker_session(self->broker, self->context, &files.session), 0);
	files.broker = self->broker;
	ASSERT_TRUE(actor_start(&self->worker, be_worker, &files));
	close(files.session);
	ASSERT_TRUE(actor_await(&self->worker));
	actor_go(&self->worker);
}

FIXTURE_TEARDOWN(priority)
{
	actor_kill(&self->worker);
	close(self->fd);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

static int next_event(FIXTURE_DATA(priority) *self, struct nnaccel_engine_next *next)
{
	return broker_next(self->broker, NNACCEL_ENGINE_NONBLOCK, next);
}

/*
 * Waits for the next event. Returns the priority that a priority event reports, or -1 for an event
 * of another kind.
 */
static int next_priority(FIXTURE_DATA(priority) *self)
{
	struct pollfd broker = { .fd = self->broker, .events = POLLIN };
	struct nnaccel_engine_next next;

	if (poll(&broker, 1, -1) != 1 || next_event(self, &next) ||
	    next.out_event != NNACCEL_ENGINE_PRIORITY ||
	    next.out_context != self->context || next.__reserved)
		return -1;
	return (int)next.out_priority;
}

static uint32_t prepare(FIXTURE_DATA(priority) *self, uint32_t priority)
{
	struct nnaccel_prepare prepare;

	prepare_init(&prepare, self->pool, 1);
	prepare.priority = priority;
	return xioctl(self->fd, NNACCEL_WORK_PREPARE, &prepare) ? 0 : prepare.out_model;
}

TEST_F(priority, is_the_highest)
{
	struct nnaccel_engine_next next;
	uint32_t low, other, high;

	low = prepare(self, NNACCEL_PRIORITY_LOW);
	ASSERT_NE(low, 0);
	EXPECT_EQ(next_priority(self), NNACCEL_PRIORITY_LOW);
	other = prepare(self, NNACCEL_PRIORITY_LOW);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
	high = prepare(self, NNACCEL_PRIORITY_HIGH);
	EXPECT_EQ(next_priority(self), NNACCEL_PRIORITY_HIGH);
	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_LOW), 0);
	EXPECT_EQ(object_destroy(self->fd, low), 0);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
	EXPECT_EQ(object_destroy(self->fd, high), 0);
	EXPECT_EQ(next_priority(self), NNACCEL_PRIORITY_LOW);
	EXPECT_EQ(object_destroy(self->fd, other), 0);
}

TEST_F(priority, is_medium_without_models)
{
	struct nnaccel_engine_next next;
	uint32_t model;

	model = prepare(self, NNACCEL_PRIORITY_MEDIUM);
	ASSERT_NE(model, 0);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
	EXPECT_EQ(object_destroy(self->fd, model), 0);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
	model = prepare(self, NNACCEL_PRIORITY_LOW);
	ASSERT_NE(model, 0);
	EXPECT_EQ(next_priority(self), NNACCEL_PRIORITY_LOW);
	EXPECT_EQ(object_destroy(self->fd, model), 0);
	EXPECT_EQ(next_priority(self), NNACCEL_PRIORITY_MEDIUM);
}

/* Priority changes that the broker did not fetch merge into one event with the current priority. */
TEST_F(priority, is_told_late)
{
	struct nnaccel_engine_next next;

	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_LOW), 0);
	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_MEDIUM), 0);
	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_HIGH), 0);
	EXPECT_EQ(next_priority(self), NNACCEL_PRIORITY_HIGH);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
}

/*
 * If NEXT cannot write a priority event, the event stays pending, before the event of another
 * context.
 */
TEST_F(priority, survives_a_bad_pointer)
{
	struct nnaccel_engine_next *page, next;
	int other;

	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_LOW), 0);
	other = device_open();
	ASSERT_GE(other, 0);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(page, MAP_FAILED);
	page->size = sizeof(*page);
	ASSERT_EQ(mprotect(page, PAGE, PROT_READ), 0);
	EXPECT_EQ(xioctl(self->broker, NNACCEL_ENGINE_NEXT, page), EFAULT);
	munmap(page, PAGE);
	EXPECT_EQ(next_priority(self), NNACCEL_PRIORITY_LOW);
	EXPECT_EQ(next_event(self, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_NEW);
	close(other);
}

/* A pending priority event is dropped when the worker dies. */
TEST_F(priority, goes_with_the_session)
{
	struct nnaccel_engine_next next;
	struct nnaccel_query query;
	struct async async;
	uint32_t answer;

	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_LOW), 0);
	actor_kill(&self->worker);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
	query_init(&query, 1, &answer, sizeof(answer));
	ASSERT_TRUE(async_start(&async, self->fd, NNACCEL_WORK_QUERY, &query));
	ASSERT_EQ(broker_next(self->broker, 0, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_NEW);
	EXPECT_EQ(next.out_priority, NNACCEL_PRIORITY_MEDIUM);
	ASSERT_EQ(broker_refuse(self->broker, next.out_context, EAGAIN), 0);
	EXPECT_EQ(async_wait(&async), EAGAIN);
}

/* The module sends a context's priority events only to brokers to which it offered the context. */
TEST_F(priority, is_for_whom_it_was_offered_to)
{
	struct nnaccel_engine_next next;

	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_LOW), 0);
	close(self->broker);
	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_HIGH), 0);
	EXPECT_EQ(next_event(self, &next), EAGAIN);
}

TEST_HARNESS_MAIN
