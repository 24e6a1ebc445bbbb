// SPDX-License-Identifier: MIT
/*
 * OPENER of the engine node reports the effective and the supplementary group ids that a context's
 * opener had when it opened the context.
 */
#include <grp.h>
#include <unistd.h>

#include "harness.h"

#define SUPPLEMENTARY	4711
#define EFFECTIVE	4712
#define LATER		4713

FIXTURE(in_group) {
	struct summary before;
	int broker;
	int fd;
	uint64_t context;
};

/* Opens a context, and then replaces the groups of the opening process by other groups. */
FIXTURE_SETUP(in_group)
{
	const gid_t groups[] = { 1, SUPPLEMENTARY, UINT32_MAX - 1 }, later[] = { LATER };

	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_EQ(setgroups(ARRAY_SIZE(groups), groups), 0);
	ASSERT_EQ(setresgid(-1, EFFECTIVE, -1), 0);
	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(setresgid(-1, LATER, -1), 0);
	ASSERT_EQ(setgroups(ARRAY_SIZE(later), later), 0);
	ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
}

FIXTURE_TEARDOWN(in_group)
{
	close(self->fd);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Returns out_member of OPENER for the group, or a negative errno. */
static int is_member(int broker, uint64_t context, uint32_t gid)
{
	struct nnaccel_engine_opener arg = {
		.size = sizeof(arg),
		.context = context,
		.gid = gid,
		.out_member = POISON,
	};
	int error = xioctl(broker, NNACCEL_ENGINE_OPENER, &arg);

	if (error)
		return arg.out_member == POISON ? -error : -EPROTO;
	return (int)arg.out_member;
}

TEST_F(in_group, opener)
{
	EXPECT_EQ(is_member(self->broker, self->context, SUPPLEMENTARY), 1);
	EXPECT_EQ(is_member(self->broker, self->context, EFFECTIVE), 1);
	EXPECT_EQ(is_member(self->broker, self->context, 1), 1);
	EXPECT_EQ(is_member(self->broker, self->context, UINT32_MAX - 1), 1);
	EXPECT_EQ(is_member(self->broker, self->context, LATER), 0);
	EXPECT_EQ(is_member(self->broker, self->context, 2), 0);
	EXPECT_EQ(is_member(self->broker, self->context, 0), 0);
	EXPECT_EQ(is_member(self->broker, self->context, UINT32_MAX), 0);
}

TEST_F(in_group, without_groups)
{
	uint64_t context;
	int fd;

	ASSERT_EQ(setgroups(0, NULL), 0);
	fd = device_open();
	ASSERT_GE(fd, 0);
	ASSERT_EQ(broker_await_new(self->broker, &context), 0);
	EXPECT_EQ(is_member(self->broker, context, LATER), 1);
	EXPECT_EQ(is_member(self->broker, context, SUPPLEMENTARY), 0);
	close(fd);
}

TEST_F(in_group, served)
{
	int session;

	ASSERT_EQ(broker_session(self->broker, self->context, &session), 0);
	EXPECT_EQ(is_member(self->broker, self->context, SUPPLEMENTARY), 1);
	close(session);
	EXPECT_EQ(is_member(self->broker, self->context, SUPPLEMENTARY), 1);
}

TEST_HARNESS_MAIN
