// SPDX-License-Identifier: MIT
/*
 * The engine node: only one broker, rejected fields of NEXT, SESSION and REFUSE, poll(), and the
 * events that a new broker gets.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "harness.h"

FIXTURE(node) {
	struct summary before;
	int broker;
	int fd;
};

FIXTURE_SETUP(node)
{
	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(node)
{
	close(self->fd);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

static int next_event(int broker, struct nnaccel_engine_next *next)
{
	return broker_next(broker, NNACCEL_ENGINE_NONBLOCK, next);
}

static short events_of(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&poll_fd, 1, 0) == 1 ? poll_fd.revents : 0;
}

TEST_F(node, one_broker)
{
	EXPECT_EQ(broker_open_as(ENGINE_NAME, NULL), -1);
	EXPECT_EQ(errno, EBUSY);
	close(self->broker);
	self->broker = open(ENGINE_NODE, O_RDONLY);
	EXPECT_GE(self->broker, 0);
	EXPECT_EQ(broker_register(self->broker, ENGINE_NAME, NULL), 0);
}

TEST_F(node, numbers)
{
	EXPECT_EQ(check_numbers(self->broker, FILE_ENGINE), 0);
}

TEST_F(node, is_no_data)
{
	char byte = 0;

	EXPECT_EQ(read(self->broker, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write(self->broker, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(map_shared(self->broker, PAGE, PROT_READ), NULL);
	EXPECT_EQ(errno, ENODEV);
}

TEST_F(node, next)
{
	struct nnaccel_engine_next next;
	uint64_t number = (uint64_t)summary_get(self->fd, "nnaccel-client-id");

	EXPECT_EQ(events_of(self->broker), POLLIN);
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_NEW);
	EXPECT_EQ(next.out_uid, geteuid());
	EXPECT_EQ(next.out_gid, getegid());
	EXPECT_EQ(next.out_pid, (uint32_t)getpid());
	EXPECT_EQ(next.out_context, number);
	EXPECT_EQ(events_of(self->broker), 0);
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);
	EXPECT_EQ(next.out_event, POISON);
	close(self->fd);
	EXPECT_EQ(events_of(self->broker), POLLIN);
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_GONE);
	EXPECT_EQ(next.out_context, number);
	EXPECT_EQ(next.out_pid, (uint32_t)getpid());
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);
	self->fd = device_open();
}

TEST_F(node, next_in_order)
{
	struct nnaccel_engine_next next;
	uint64_t last = 0;
	int fds[4];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = device_open();
	for (size_t i = 0; i < 1 + ARRAY_SIZE(fds); i++) {
		ASSERT_EQ(next_event(self->broker, &next), 0);
		EXPECT_GT(next.out_context, last);
		last = next.out_context;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* A process that only opens the device, and makes no call, causes no event for the broker. */
TEST_F(node, next_tells_of_those_who_want_a_worker)
{
	struct nnaccel_info info = { .size = sizeof(info) };
	struct nnaccel_engine_next next;
	int fd;

	ASSERT_EQ(next_event(self->broker, &next), 0);
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(xioctl(fd, NNACCEL_INFO, &info), 0);
	EXPECT_EQ(events_of(self->broker), 0);
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);
	close(fd);
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);

	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	info.flags = NNACCEL_INFO_WANT;
	/* If a context requests a worker twice, only the first request causes an event. */
	EXPECT_EQ(xioctl(fd, NNACCEL_INFO, &info), 0);
	EXPECT_EQ(xioctl(fd, NNACCEL_INFO, &info), 0);
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_NEW);
	EXPECT_EQ(next.out_context, (uint64_t)summary_get(fd, "nnaccel-client-id"));
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);
	close(fd);
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_GONE);
}

/* A context that is opened and closed between two calls of NEXT causes no event. */
TEST_F(node, next_tells_nothing_of_the_unknown)
{
	struct nnaccel_engine_next next;

	close(self->fd);
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);
	self->fd = device_open();
}

TEST_F(node, next_waits)
{
	struct nnaccel_engine_next next, waited = { .size = sizeof(waited) };
	struct async async;
	int other;

	ASSERT_EQ(next_event(self->broker, &next), 0);
	ASSERT_TRUE(async_start(&async, self->broker, NNACCEL_ENGINE_NEXT, &waited));
	usleep(10000);
	other = device_open();
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(waited.out_event, NNACCEL_ENGINE_NEW);
	EXPECT_EQ(waited.out_context, next.out_context + 1);
	close(other);
}

static void ignore(int signal)
{
}

TEST_F(node, next_is_interruptible)
{
	const struct sigaction action = { .sa_handler = ignore };
	struct nnaccel_engine_next next;
	struct async async;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_EQ(next_event(self->broker, &next), 0);
	next.flags = 0;
	ASSERT_TRUE(async_start(&async, self->broker, NNACCEL_ENGINE_NEXT, &next));
	/* Repeat the signal until it interrupts the wait in NEXT. */
	while (pthread_tryjoin_np(async.thread, NULL)) {
		pthread_kill(async.thread, SIGUSR1);
		usleep(1000);
	}
	EXPECT_EQ(async.error, EINTR);
}

TEST_F(node, next_refusals)
{
	const struct nnaccel_engine_next good = {
		.size = sizeof(good),
		.flags = NNACCEL_ENGINE_NONBLOCK,
	};
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_engine_next, flags, 2, EINVAL),
		REFUSE(struct nnaccel_engine_next, flags, 1U << 31, EINVAL),
	};
	struct nnaccel_engine_next next, again;
	uint64_t number;
	int other;

	EXPECT_EQ(check_refusals(self->broker, NNACCEL_ENGINE_NEXT, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(check_structure(self->broker, NNACCEL_ENGINE_NEXT, &good, sizeof(good), EAGAIN,
				  true), 0);
	/*
	 * If NEXT cannot write the event, the event stays pending, before the event of another
	 * context.
	 */
	close(self->broker);
	self->broker = broker_open();
	other = device_open();
	ASSERT_GE(other, 0);
	number = (uint64_t)summary_get(other, "nnaccel-client-id");
	for (int i = 0; i < 2; i++) {
		struct nnaccel_engine_next *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
							MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*page = good;
		mprotect(page, PAGE, PROT_READ);
		EXPECT_EQ(xioctl(self->broker, NNACCEL_ENGINE_NEXT, page), EFAULT);
		munmap(page, PAGE);
		EXPECT_EQ(events_of(self->broker), POLLIN);
		ASSERT_EQ(next_event(self->broker, &again), 0);
		EXPECT_EQ(again.out_event, i ? NNACCEL_ENGINE_GONE : NNACCEL_ENGINE_NEW);
		EXPECT_EQ(again.out_context, next.out_context);
		ASSERT_EQ(next_event(self->broker, &again), 0);
		EXPECT_EQ(again.out_event, i ? NNACCEL_ENGINE_GONE : NNACCEL_ENGINE_NEW);
		EXPECT_EQ(again.out_context, number);
		EXPECT_EQ(next_event(self->broker, &again), EAGAIN);
		if (!i) {
			close(self->fd);
			close(other);
		}
	}
	self->fd = device_open();
}

TEST_F(node, session)
{
	uint64_t context;

	for (uint32_t flags = 0; flags <= NNACCEL_SESSION_CLOEXEC; flags++) {
		struct nnaccel_engine_session session = {
			.size = sizeof(session),
			.flags = flags,
			.out_fd = -4711,
		};
		long long last = summary_get(-1, "sessions");
		int fd = device_open();

		ASSERT_EQ(broker_await_new(self->broker, &context), 0);
		if (!flags) {
			ASSERT_EQ(broker_await_new(self->broker, &context), 0);
		}
		session.context = context;
		ASSERT_EQ(xioctl(self->broker, NNACCEL_ENGINE_SESSION, &session), 0);
		ASSERT_GE(session.out_fd, 0);
		EXPECT_EQ(fcntl(session.out_fd, F_GETFD), flags ? FD_CLOEXEC : 0);
		EXPECT_EQ(summary_get(-1, "sessions"), last + 1);
		EXPECT_EQ(xioctl(self->broker, NNACCEL_ENGINE_SESSION, &session), EBUSY);
		EXPECT_EQ(broker_refuse(self->broker, context, EUSERS), EBUSY);
		close(session.out_fd);
		/* A refused context is offered again only when it needs an engine. */
		EXPECT_EQ(xioctl(self->broker, NNACCEL_ENGINE_SESSION, &session), ENOENT);
		EXPECT_EQ(events_of(self->broker), 0);
		close(fd);
		ASSERT_EQ(next_event(self->broker, &(struct nnaccel_engine_next){}), 0);
	}
}

TEST_F(node, session_refusals)
{
	struct nnaccel_engine_session good = { .size = sizeof(good) };
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_engine_session, flags, 2, EINVAL),
		REFUSE(struct nnaccel_engine_session, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_engine_session, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_engine_session, context, 0, ENOENT),
		REFUSE(struct nnaccel_engine_session, context, 1ULL << 32, ENOENT),
		REFUSE(struct nnaccel_engine_session, context, UINT64_MAX, ENOENT),
	};
	int other, session;
	uint64_t context;

	/*
	 * SESSION fails for a context that wants a worker but has not been offered to the broker.
	 */
	good.context = (uint64_t)summary_get(self->fd, "nnaccel-client-id");
	EXPECT_EQ(xioctl(self->broker, NNACCEL_ENGINE_SESSION, &good), ENOENT);
	EXPECT_EQ(check_structure(self->broker, NNACCEL_ENGINE_SESSION, &good, sizeof(good), ENOENT,
				  true), 0);
	ASSERT_EQ(broker_await_new(self->broker, &context), 0);
	EXPECT_EQ(context, good.context);
	EXPECT_EQ(check_refusals(self->broker, NNACCEL_ENGINE_SESSION, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	/* If SESSION cannot write its result, the context stays offered. */
	EXPECT_EQ(check_read_only(self->broker, NNACCEL_ENGINE_SESSION, &good, sizeof(good)), 0);
	EXPECT_EQ(check_no_fd(self->broker, NNACCEL_ENGINE_SESSION, &good, sizeof(good)), 0);
	EXPECT_EQ(check_fd_0(self->broker, NNACCEL_ENGINE_SESSION, &good, sizeof(good),
			     offsetof(struct nnaccel_engine_session, out_fd)), 0);

	other = device_open();
	ASSERT_EQ(broker_await_new(self->broker, &context), 0);
	close(other);
	EXPECT_EQ(broker_session(self->broker, context, &session), ENOENT);
	EXPECT_EQ(broker_refuse(self->broker, context, EUSERS), ENOENT);
}

TEST_F(node, refuse)
{
	struct nnaccel_engine_refuse good = { .size = sizeof(good), .error = EUSERS };
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_engine_refuse, error, 0, EINVAL),
		REFUSE(struct nnaccel_engine_refuse, error, EPERM, EINVAL),
		REFUSE(struct nnaccel_engine_refuse, error, ENOMEM, EINVAL),
		REFUSE(struct nnaccel_engine_refuse, error, -EUSERS, EINVAL),
		REFUSE(struct nnaccel_engine_refuse, error, UINT32_MAX, EINVAL),
		REFUSE(struct nnaccel_engine_refuse, context, 0, ENOENT),
		REFUSE(struct nnaccel_engine_refuse, context, UINT64_MAX, ENOENT),
	};
	uint64_t context;

	good.context = (uint64_t)summary_get(self->fd, "nnaccel-client-id");
	EXPECT_EQ(check_structure(self->broker, NNACCEL_ENGINE_REFUSE, &good, sizeof(good), ENOENT,
				  false), 0);
	ASSERT_EQ(broker_await_new(self->broker, &context), 0);
	EXPECT_EQ(context, good.context);
	EXPECT_EQ(check_refusals(self->broker, NNACCEL_ENGINE_REFUSE, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(xioctl(self->broker, NNACCEL_ENGINE_REFUSE, &good), 0);
	EXPECT_EQ(xioctl(self->broker, NNACCEL_ENGINE_REFUSE, &good), ENOENT);
	EXPECT_EQ(events_of(self->broker), 0);
}

/*
 * A new broker gets the contexts that were not offered to the old broker, and those that were
 * offered but not answered. The new broker gets no events of contexts that have a session or are
 * closed.
 */
TEST_F(node, new_broker)
{
	int other = device_open(), closed = device_open(), wanted, session;
	struct nnaccel_engine_next next;
	uint64_t offered, served, last;

	ASSERT_EQ(broker_await_new(self->broker, &served), 0);
	ASSERT_EQ(broker_await_new(self->broker, &offered), 0);
	ASSERT_EQ(broker_await_new(self->broker, &last), 0);
	ASSERT_EQ(broker_session(self->broker, served, &session), 0);
	/* The old broker fetches neither of these two events. */
	close(closed);
	wanted = device_open();
	close(self->broker);
	EXPECT_EQ(session_attach(session), 0);
	self->broker = broker_open();
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_NEW);
	EXPECT_EQ(next.out_context, (uint64_t)summary_get(wanted, "nnaccel-client-id"));
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_NEW);
	EXPECT_EQ(next.out_context, offered);
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);
	EXPECT_EQ(broker_refuse(self->broker, served, EUSERS), EBUSY);
	close(self->fd);
	EXPECT_EQ(next_event(self->broker, &next), EAGAIN);
	close(session);
	close(wanted);
	self->fd = other;
}

static void open_as_another(struct actor *self, void *data)
{
	if (!become_user(4711, 4712) || device_open() < 0)
		_exit(1);
	actor_reached(self);
}

TEST_F(node, tells_who)
{
	struct nnaccel_engine_next next;
	struct actor actor;

	ASSERT_EQ(next_event(self->broker, &next), 0);
	ASSERT_TRUE(actor_start(&actor, open_as_another, NULL));
	ASSERT_TRUE(actor_await(&actor));
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_uid, 4711);
	EXPECT_EQ(next.out_gid, 4712);
	EXPECT_EQ(next.out_pid, (uint32_t)actor.pid);
	actor_kill(&actor);
	ASSERT_EQ(next_event(self->broker, &next), 0);
	EXPECT_EQ(next.out_event, NNACCEL_ENGINE_GONE);
	EXPECT_EQ(next.out_uid, 4711);
	EXPECT_EQ(next.out_pid, (uint32_t)actor.pid);
}

TEST_HARNESS_MAIN
