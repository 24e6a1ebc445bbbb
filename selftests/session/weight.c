// SPDX-License-Identifier: MIT
/*
 * The weight of workers: less while all models are of low priority, and never
 * more than a worker had when it attached.
 */
#include <errno.h>
#include <sys/resource.h>

#include "harness.h"

#define NICE 3
#define LOW_NICE 5

struct worker {
	int session;
};

/* A worker that is nice and answers what it fetches. */
static void be_worker(struct actor *self, void *data)
{
	const struct worker *worker = data;

	if (setpriority(PRIO_PROCESS, 0, NICE) || session_attach(worker->session))
		_exit(1);
	actor_reached(self);
	session_serve(worker->session);
}

FIXTURE(weight) {
	struct summary before;
	long long low_nice;
	int broker;
	int fd;
	uint32_t pool;
	struct actor worker;
};

FIXTURE_SETUP(weight)
{
	struct worker worker;
	uint64_t context;

	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	self->low_nice = param_set("low_nice", LOW_NICE);
	self->fd = device_open();
	self->pool = pool_alloc(self->fd, PAGE);
	ASSERT_EQ(broker_await_new(self->broker, &context), 0);
	ASSERT_EQ(broker_session(self->broker, context, &worker.session), 0);
	ASSERT_TRUE(actor_start(&self->worker, be_worker, &worker));
	close(worker.session);
	ASSERT_TRUE(actor_await(&self->worker));
	actor_go(&self->worker);
}

FIXTURE_TEARDOWN(weight)
{
	actor_kill(&self->worker);
	close(self->fd);
	close(self->broker);
	param_set("low_nice", self->low_nice);
	EXPECT_TRUE(summary_settles(&self->before));
}

static uint32_t prepare(FIXTURE_DATA(weight) *self, uint32_t priority)
{
	struct nnaccel_prepare prepare;

	prepare_init(&prepare, self->pool, 1);
	prepare.priority = priority;
	return xioctl(self->fd, NNACCEL_PREPARE, &prepare) ? 0 : prepare.out_model;
}

static int nice_of(FIXTURE_DATA(weight) *self)
{
	return getpriority(PRIO_PROCESS, (id_t)self->worker.pid);
}

/* The worker may have a count of a model for a moment after it has answered. */
static bool nice_becomes(FIXTURE_DATA(weight) *self, int nice)
{
	for (int i = 0; i < 2000 && nice_of(self) != nice; i++)
		usleep(10000);
	return nice_of(self) == nice;
}

TEST_F(weight, is_less_for_low_priority)
{
	uint32_t low, other, high;

	EXPECT_EQ(nice_of(self), NICE);
	low = prepare(self, NNACCEL_PRIORITY_LOW);
	ASSERT_NE(low, 0);
	EXPECT_EQ(nice_of(self), NICE + LOW_NICE);
	other = prepare(self, NNACCEL_PRIORITY_LOW);
	EXPECT_EQ(nice_of(self), NICE + LOW_NICE);
	high = prepare(self, NNACCEL_PRIORITY_HIGH);
	EXPECT_EQ(nice_of(self), NICE);
	EXPECT_EQ(object_destroy(self->fd, low), 0);
	EXPECT_EQ(nice_of(self), NICE);
	EXPECT_EQ(object_destroy(self->fd, high), 0);
	EXPECT_TRUE(nice_becomes(self, NICE + LOW_NICE));
	EXPECT_EQ(object_destroy(self->fd, other), 0);
	EXPECT_TRUE(nice_becomes(self, NICE));
}

TEST_F(weight, has_an_end)
{
	param_set("low_nice", UINT32_MAX);
	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_LOW), 0);
	EXPECT_EQ(nice_of(self), 19);
	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_MEDIUM), 0);
	EXPECT_EQ(nice_of(self), NICE);
}

TEST_F(weight, can_be_left_alone)
{
	param_set("low_nice", 0);
	ASSERT_NE(prepare(self, NNACCEL_PRIORITY_LOW), 0);
	EXPECT_EQ(nice_of(self), NICE);
}

TEST_HARNESS_MAIN
