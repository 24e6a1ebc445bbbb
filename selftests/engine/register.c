// SPDX-License-Identifier: MIT
/*
 * Several engines: what REGISTER rejects, and the devices that it makes. Each engine gets only
 * its own contexts. The death of one engine does not affect clients of another engine.
 */
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "exporters.h"
#include "harness.h"

#define NUM_OTHERS 2

/* Names of two more engines; the second name has the maximum length. */
static const char *const others[NUM_OTHERS] = { "test-a", "test-0123456789-abcdefghij-wxyz" };

FIXTURE(engines) {
	struct summary before;
	int brokers[1 + NUM_OTHERS];
	uint32_t devices[1 + NUM_OTHERS];
};

/*
 * The first engine has the device DEVICE; the numbers of the other devices depend on earlier tests.
 */
FIXTURE_SETUP(engines)
{
	int first = broker_open();

	ASSERT_GE(first, 0);
	self->brokers[0] = first;
	self->devices[0] = 0;
	for (int i = 0; i < NUM_OTHERS; i++) {
		self->brokers[1 + i] = broker_open_as(others[i], &self->devices[1 + i]);
		ASSERT_GE(self->brokers[1 + i], 0);
		ASSERT_GT(self->devices[1 + i], 0);
	}
	ASSERT_TRUE(summary_read(&self->before));
}

FIXTURE_TEARDOWN(engines)
{
	for (int i = 0; i < 1 + NUM_OTHERS; i++)
		close(self->brokers[i]);
	EXPECT_TRUE(summary_settles(&self->before));
}

static int open_device(uint32_t device)
{
	char path[64] = DEVICE;

	if (device)
		snprintf(path, sizeof(path), DEVICE "%u", device);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Returns a line of sysfs without its newline, in a static buffer. */
static const char *attribute(uint32_t device, const char *name)
{
	static char line[128];
	char path[128], number[16] = "";
	FILE *file;

	if (device)
		snprintf(number, sizeof(number), "%u", device);
	snprintf(path, sizeof(path), "/sys/class/nnaccel/nnaccel%s/%s", number, name);
	file = fopen(path, "re");
	if (!file)
		return "no file";
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int want(int fd, struct nnaccel_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->flags = NNACCEL_INFO_WANT;
	return xioctl(fd, NNACCEL_INFO, info);
}

static struct nnaccel_engine_register good_register(const char *name)
{
	struct nnaccel_engine_register arg = { .size = sizeof(arg), .version = "~ 1" };

	memcpy(arg.name, name, strnlen(name, sizeof(arg.name)));
	return arg;
}

TEST_F(engines, refusals)
{
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_engine_register, flags, 2, EINVAL),
		REFUSE(struct nnaccel_engine_register, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_engine_register, type, NNACCEL_DEVICE_ACCELERATOR + 1, EINVAL),
		REFUSE(struct nnaccel_engine_register, type, UINT32_MAX, EINVAL),
	};
	static const char *const names[] = {
		"", "-", "-a", "A", "a_b", "a b", "a/b", "..", "a\n", "\xc3\xa9",
		"12345678901234567890123456789012",
	};
	struct nnaccel_engine_register arg = good_register("test-c");
	int file = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);

	ASSERT_GE(file, 0);
	EXPECT_EQ(check_refusals(file, NNACCEL_ENGINE_REGISTER, &arg, sizeof(arg), cases,
				 ARRAY_SIZE(cases)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		EXPECT_EQ(broker_register(file, names[i], NULL), EINVAL)
			TH_LOG("a name that is to be refused: %s", names[i]);
	}
	/* REGISTER rejects bytes other than 0 after the end of a name or a version. */
	arg.name[NNACCEL_MAX_NAME - 2] = 'x';
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EINVAL);
	arg = good_register("test-c");
	arg.version[10] = 'x';
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EINVAL);
	arg = good_register("test-c");
	arg.version[0] = '\t';
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EINVAL);
	arg.version[0] = '\xe9';
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EINVAL);
	memset(arg.version, 'x', sizeof(arg.version));
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EINVAL);
	/*
	 * REGISTER accepts the longest version and the last type, but fails because the name is in
	 * use.
	 */
	arg = good_register(others[0]);
	memset(arg.version, 'x', sizeof(arg.version) - 1);
	arg.type = NNACCEL_DEVICE_ACCELERATOR;
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EBUSY);
	EXPECT_EQ(broker_register(file, others[0], NULL), EBUSY);
	EXPECT_EQ(broker_register(file, ENGINE_NAME, NULL), EBUSY);
	close(file);
	EXPECT_EQ(broker_register(self->brokers[0], "test-c", NULL), EEXIST);
}

TEST_F(engines, structure)
{
	struct nnaccel_engine_register good = good_register(others[0]);
	int file = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);

	ASSERT_GE(file, 0);
	EXPECT_EQ(check_structure(file, NNACCEL_ENGINE_REGISTER, &good, sizeof(good), EBUSY, false),
		  0);
	close(file);
}

TEST_F(engines, unregistered)
{
	struct pollfd poll_fd = { .events = POLLIN };
	struct nnaccel_engine_next next;
	int session;

	poll_fd.fd = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(poll_fd.fd, 0);
	EXPECT_EQ(poll(&poll_fd, 1, 0), 1);
	EXPECT_EQ(poll_fd.revents, POLLERR);
	EXPECT_EQ(broker_next(poll_fd.fd, NNACCEL_ENGINE_NONBLOCK, &next), ENOTCONN);
	EXPECT_EQ(broker_session(poll_fd.fd, 1, &session), ENOTCONN);
	EXPECT_EQ(broker_refuse(poll_fd.fd, 1, EAGAIN), ENOTCONN);
	close(poll_fd.fd);
}

/*
 * An engine that registers a name again gets the name's device and the device's contexts. An engine
 * with a new name gets a new device.
 */
TEST_F(engines, again)
{
	struct nnaccel_info info;
	uint32_t device, other;
	uint64_t context;
	int fd, broker;

	fd = open_device(self->devices[1]);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(want(fd, &info), 0);
	EXPECT_EQ(info.device, self->devices[1]);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_PENDING);
	EXPECT_STREQ(info.name, others[0]);
	close(self->brokers[1]);
	EXPECT_STREQ(attribute(self->devices[1], "state"), "absent");
	EXPECT_STREQ(attribute(self->devices[1], "name"), others[0]);
	EXPECT_EQ(want(fd, &info), 0);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_ABSENT);
	EXPECT_STREQ(info.name, others[0]);

	broker = broker_open_as("test-c", &other);
	ASSERT_GE(broker, 0);
	EXPECT_NE(other, self->devices[1]);
	close(broker);
	self->brokers[1] = broker_open_as(others[0], &device);
	EXPECT_EQ(device, self->devices[1]);
	ASSERT_EQ(broker_await_new(self->brokers[1], &context), 0);
	EXPECT_EQ(context, (uint64_t)summary_get(fd, "nnaccel-client-id"));
	close(fd);
}

TEST_F(engines, sysfs)
{
	EXPECT_STREQ(attribute(0, "name"), ENGINE_NAME);
	for (int i = 0; i < NUM_OTHERS; i++) {
		EXPECT_STREQ(attribute(self->devices[1 + i], "name"), others[i]);
		EXPECT_STREQ(attribute(self->devices[1 + i], "version"), "1 (a mock)");
		EXPECT_STREQ(attribute(self->devices[1 + i], "type"), "other");
		EXPECT_STREQ(attribute(self->devices[1 + i], "state"), "ready");
	}
}

/* Waits for the next change event of a device; returns false if no event came. */
static bool change_event(int events, uint32_t device)
{
	struct pollfd poll_fd = { .fd = events, .events = POLLIN };
	char want[64], event[4096];

	snprintf(want, sizeof(want), "change@/devices/virtual/nnaccel/nnaccel%u", device);
	while (poll(&poll_fd, 1, (int)scaled(10000)) == 1) {
		ssize_t n = recv(events, event, sizeof(event) - 1, 0);

		event[n > 0 ? n : 0] = '\0';
		if (!strcmp(event, want))
			return true;
	}
	return false;
}

/* Returns whether poll() reports that a file of sysfs has changed since it was last read. */
static bool has_changed(int file)
{
	struct pollfd poll_fd = { .fd = file, .events = POLLPRI };
	char text[16];

	return poll(&poll_fd, 1, (int)scaled(10000)) == 1 && pread(file, text, sizeof(text), 0) > 0;
}

/*
 * Each time an engine registers or ends, the module sends a change event, and wakes poll() on
 * "state" in sysfs.
 */
TEST_F(engines, changes_are_told)
{
	struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int events = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT), state;
	char path[128], text[16];

	if (events < 0 || bind(events, (struct sockaddr *)&all, sizeof(all)))
		SKIP(return, "uevents of the kernel cannot be received");
	snprintf(path, sizeof(path), "/sys/class/nnaccel/nnaccel%u/state", self->devices[1]);
	state = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GT(read(state, text, sizeof(text)), 0);
	close(self->brokers[1]);
	EXPECT_TRUE(has_changed(state));
	EXPECT_TRUE(change_event(events, self->devices[1]));
	self->brokers[1] = broker_open_as(others[0], NULL);
	ASSERT_GE(self->brokers[1], 0);
	EXPECT_TRUE(has_changed(state));
	EXPECT_TRUE(change_event(events, self->devices[1]));
	close(state);
	close(events);
}

/* A node whose number belongs to no device cannot be opened. */
TEST_F(engines, no_such_device)
{
	static const char path[] = "/tmp/nnaccel-none";
	struct stat first;

	ASSERT_EQ(stat(DEVICE, &first), 0);
	unlink(path);
	ASSERT_EQ(mknod(path, S_IFCHR | 0600, makedev(major(first.st_rdev), 63)), 0);
	EXPECT_EQ(open(path, O_RDWR), -1);
	EXPECT_EQ(errno, ENXIO);
	unlink(path);
}

/* sysfs shows the device type that the last broker registered. */
TEST_F(engines, types)
{
	static const char *const names[] = { "unknown", "other", "cpu", "gpu", "accelerator" };
	struct nnaccel_engine_register arg = good_register(others[0]);

	for (arg.type = 0; arg.type < ARRAY_SIZE(names); arg.type++) {
		close(self->brokers[1]);
		self->brokers[1] = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);
		ASSERT_EQ(xioctl(self->brokers[1], NNACCEL_ENGINE_REGISTER, &arg), 0);
		EXPECT_EQ(arg.out_device, self->devices[1]);
		EXPECT_STREQ(attribute(self->devices[1], "type"), names[arg.type]);
		EXPECT_STREQ(attribute(self->devices[1], "version"), arg.version);
	}
}

/*
 * An engine gets only the contexts of its own device; the engine's calls with contexts of other
 * devices fail.
 */
TEST_F(engines, are_apart)
{
	struct nnaccel_engine_opener opener = { .size = sizeof(opener) };
	struct nnaccel_engine_next next;
	struct nnaccel_info info;
	uint64_t context;
	int session, fd;

	fd = open_device(self->devices[1]);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(want(fd, &info), 0);
	EXPECT_EQ(broker_next(self->brokers[0], NNACCEL_ENGINE_NONBLOCK, &next), EAGAIN);
	EXPECT_EQ(broker_next(self->brokers[2], NNACCEL_ENGINE_NONBLOCK, &next), EAGAIN);
	ASSERT_EQ(broker_await_new(self->brokers[1], &context), 0);
	opener.context = context;
	for (int i = 0; i <= NUM_OTHERS; i += 2) {
		EXPECT_EQ(broker_session(self->brokers[i], context, &session), ENOENT);
		EXPECT_EQ(broker_refuse(self->brokers[i], context, EUSERS), ENOENT);
		EXPECT_EQ(xioctl(self->brokers[i], NNACCEL_ENGINE_OPENER, &opener), ENOENT);
	}
	EXPECT_EQ(broker_session(self->brokers[1], context, &session), 0);
	close(session);
	close(fd);
}

/* Opens a context of a device, and attaches to the context's session as the worker. */
static bool serve_device(struct served *s, int broker, uint32_t device)
{
	struct nnaccel_info info;

	*s = (struct served){ .broker = broker, .fd = open_device(device), .session = -1 };
	return s->fd >= 0 && !want(s->fd, &info) && !broker_await_new(broker, &s->context) &&
	       !broker_session(broker, s->context, &s->session) && !session_attach(s->session);
}

/* One engine's broker and worker die while another engine's worker has an execution. */
TEST_F(engines, death_of_one)
{
	struct served alive, dead;
	struct nnaccel_query query;
	struct execution e, e2;
	struct async async;
	union command *cmd = malloc(sizeof(*cmd));
	uint32_t pool, model;
	char answer[16];

	ASSERT_NE(cmd, NULL);
	ASSERT_TRUE(serve_device(&alive, self->brokers[1], self->devices[1]));
	ASSERT_TRUE(serve_device(&dead, self->brokers[2], self->devices[2]));
	pool = pool_alloc(alive.fd, PAGE);
	model = served_prepare(&alive, pool);
	ASSERT_NE(model, 0);
	execution_init(&e, model, pool, pool);
	ASSERT_TRUE(async_start(&async, alive.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	do {
		ASSERT_EQ(session_fetch(alive.session, 0, cmd), 0);
	} while (cmd->head.kind != NNACCEL_DO_EXECUTE);

	/* When an engine dies, its commands end, and its client gets an error. */
	pool = pool_alloc(dead.fd, PAGE);
	model = served_prepare(&dead, pool);
	ASSERT_NE(model, 0);
	close(dead.session);
	close(self->brokers[2]);
	execution_init(&e2, model, pool, pool);
	EXPECT_EQ(xioctl(dead.fd, NNACCEL_WORK_EXECUTE, &e2.cmd), ESTALE);
	query_init(&query, 0, answer, sizeof(answer));
	EXPECT_EQ(xioctl(dead.fd, NNACCEL_WORK_QUERY, &query), ENOTCONN);

	EXPECT_EQ(session_answer(alive.session, cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(e.cmd.out_status, NNACCEL_STATUS_NONE);
	free(cmd);
	self->brokers[2] = broker_open_as(others[1], NULL);
	EXPECT_GE(self->brokers[2], 0);
	close(dead.fd);
	close(alive.fd);
	close(alive.session);
}

static struct nnaccel_engine_register register_of(const char *name, const char *bus,
						  const char *hardware)
{
	struct nnaccel_engine_register arg = good_register(name);

	strcpy(arg.bus, bus);
	strcpy(arg.hardware, hardware);
	return arg;
}

/*
 * REGISTER refuses invalid names of hardware. A refused registration with a new engine name makes
 * no device.
 */
TEST_F(engines, hardware_that_is_refused)
{
	static const struct {
		const char *bus, *hardware;
		int error;
	} cases[] = {
		{ "platform", "", EINVAL },
		{ "", EXPORTER_DEVICE, EINVAL },
		{ "no-bus", EXPORTER_DEVICE, EINVAL },
		{ "platform\n", EXPORTER_DEVICE, EINVAL },
		{ "platform", "no-such-hardware", ENODEV },
	};
	struct nnaccel_engine_register arg;
	int file = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);

	ASSERT_GE(file, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		arg = register_of(others[0], cases[i].bus, cases[i].hardware);
		EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), cases[i].error)
			TH_LOG("%s %s", cases[i].bus, cases[i].hardware);
	}
	/*
	 * REGISTER rejects a name of hardware without a final 0, and a name of a bus with bytes
	 * after the final 0.
	 */
	arg = register_of(others[0], "platform", "x");
	memset(arg.hardware, 'x', sizeof(arg.hardware));
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EINVAL);
	arg = register_of(others[0], "platform", "x");
	arg.bus[sizeof(arg.bus) - 1] = 'x';
	EXPECT_EQ(xioctl(file, NNACCEL_ENGINE_REGISTER, &arg), EINVAL);
	close(file);
}

/* Binds the tests' hardware to its driver, or unbinds the hardware. */
static bool hardware_write(const char *what)
{
	char path[128];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/" EXPORTER_DEVICE "/%s", what);
	file = fopen(path, "we");
	if (!file)
		return false;
	done = fputs(EXPORTER_DEVICE, file) >= 0;
	return !fclose(file) && done;
}

/* Returns whether the tests' hardware and a device are linked to each other in sysfs. */
static bool is_linked(uint32_t device)
{
	char own[128], hardware[128], *to, *back;
	bool linked;

	snprintf(own, sizeof(own), "/sys/class/nnaccel/nnaccel%u", device);
	snprintf(hardware, sizeof(hardware), "/sys/class/nnaccel/nnaccel%u/device/nnaccel%u", device,
		 device);
	to = realpath(own, NULL);
	back = realpath(hardware, NULL);
	linked = to && back && !strcmp(to, back);
	free(to);
	free(back);
	snprintf(hardware, sizeof(hardware), "/sys/devices/platform/" EXPORTER_DEVICE "/nnaccel%u",
		 device);
	/* In sysfs either both links between the hardware and the device exist, or none. */
	return linked == !access(hardware, F_OK) && linked;
}

/*
 * Unbinding the driver of hardware ends the hardware's engine and the engine's sessions, but no
 * other engine.
 */
TEST_F(engines, end_with_their_hardware)
{
	struct nnaccel_engine_register arg = register_of(others[0], "platform", EXPORTER_DEVICE);
	struct pollfd end = { .events = POLLIN };
	struct nnaccel_engine_next next;
	struct nnaccel_query query;
	uint32_t pool, model;
	struct exporter x;
	struct execution e;
	struct async async;
	struct served s;
	union command cmd;
	int session;
	char answer[16];

	ASSERT_TRUE(exporter_open(&x, 0));
	close(self->brokers[1]);
	self->brokers[1] = end.fd = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(xioctl(end.fd, NNACCEL_ENGINE_REGISTER, &arg), 0);
	EXPECT_EQ(arg.out_device, self->devices[1]);
	EXPECT_TRUE(is_linked(self->devices[1]));
	ASSERT_TRUE(serve_device(&s, end.fd, self->devices[1]));
	pool = pool_alloc(s.fd, PAGE);
	model = served_prepare(&s, pool);
	execution_init(&e, model, pool, pool);
	ASSERT_TRUE(async_start(&async, s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(s.session, 0, &cmd), 0);

	EXPECT_TRUE(hardware_write("unbind"));
	EXPECT_STREQ(attribute(self->devices[1], "state"), "absent");
	EXPECT_FALSE(is_linked(self->devices[1]));
	EXPECT_EQ(poll(&end, 1, 0), 1);
	EXPECT_EQ(end.revents, POLLHUP | POLLERR);
	EXPECT_EQ(broker_next(end.fd, 0, &next), ENODEV);
	EXPECT_EQ(broker_session(end.fd, s.context, &session), ENODEV);
	EXPECT_EQ(broker_refuse(end.fd, s.context, EAGAIN), ENODEV);
	EXPECT_EQ(xioctl(end.fd, NNACCEL_ENGINE_REGISTER, &arg), EEXIST);
	EXPECT_EQ(session_fetch(s.session, 0, &cmd), ESHUTDOWN);
	/*
	 * The worker does not close its session, so the module disconnects the session after a
	 * limited time.
	 */
	EXPECT_EQ(async_wait(&async), EPIPE);
	EXPECT_EQ(xioctl(s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ESTALE);
	query_init(&query, 0, answer, sizeof(answer));
	EXPECT_EQ(xioctl(s.fd, NNACCEL_WORK_QUERY, &query), ENOTCONN);
	EXPECT_STREQ(attribute(self->devices[2], "state"), "ready");

	/*
	 * An engine cannot register hardware without a driver. When a driver is bound again, a new
	 * engine can register the hardware.
	 */
	self->brokers[1] = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);
	EXPECT_EQ(xioctl(self->brokers[1], NNACCEL_ENGINE_REGISTER, &arg), ENODEV);
	EXPECT_TRUE(hardware_write("bind"));
	EXPECT_EQ(xioctl(self->brokers[1], NNACCEL_ENGINE_REGISTER, &arg), 0);
	close(end.fd);
	EXPECT_STREQ(attribute(self->devices[1], "state"), "ready");
	EXPECT_TRUE(is_linked(self->devices[1]));
	close(self->brokers[1]);
	EXPECT_FALSE(is_linked(self->devices[1]));
	self->brokers[1] = -1;
	close(s.session);
	close(s.fd);
	exporter_close(&x);
}

/*
 * If the hardware is removed, a context that was offered to the broker is offered to the next
 * broker.
 */
TEST_F(engines, offers_outlive_the_hardware)
{
	struct nnaccel_engine_register arg = register_of(others[0], "platform", EXPORTER_DEVICE);
	struct nnaccel_info info;
	uint64_t context, again;
	struct exporter x;
	int broker, fd;

	ASSERT_TRUE(exporter_open(&x, 0));
	exporter_close(&x);
	close(self->brokers[1]);
	broker = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(xioctl(broker, NNACCEL_ENGINE_REGISTER, &arg), 0);
	fd = open_device(self->devices[1]);
	ASSERT_EQ(want(fd, &info), 0);
	ASSERT_EQ(broker_await_new(broker, &context), 0);
	EXPECT_TRUE(hardware_write("unbind"));
	self->brokers[1] = broker_open_as(others[0], NULL);
	ASSERT_EQ(broker_await_new(self->brokers[1], &again), 0);
	EXPECT_EQ(again, context);
	EXPECT_TRUE(hardware_write("bind"));
	close(broker);
	close(fd);
}

static bool set_max_devices(unsigned int max)
{
	FILE *file = fopen("/sys/module/nnaccel/parameters/max_devices", "we");
	bool done;

	if (!file)
		return false;
	done = fprintf(file, "%u", max) > 0;
	return !fclose(file) && done;
}

TEST_F(engines, are_bounded)
{
	unsigned int num = 0;
	int broker;

	while (strcmp(attribute(num, "state"), "no file"))
		num++;
	ASSERT_GE(num, 1 + NUM_OTHERS);
	ASSERT_TRUE(set_max_devices(num));
	EXPECT_EQ(broker_open_as("test-none", NULL), -1);
	EXPECT_EQ(errno, ENOSPC);
	ASSERT_TRUE(set_max_devices(16));
	EXPECT_STREQ(attribute(63, "state"), "no file");
	EXPECT_EQ(open(DEVICE "63", O_RDWR), -1);
	EXPECT_EQ(errno, ENOENT);
	broker = broker_open_as("test-c", NULL);
	EXPECT_GE(broker, 0);
	close(broker);
}

TEST_HARNESS_MAIN
