/* SPDX-License-Identifier: MIT */
/*
 * Tests the calls by which an engine uses a direct session. The test holds the clients' ends of the
 * session's sockets, and replaces ioctl() to imitate the kernel's fences.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/direct.h"
#include "base/packet.h"
#include "kit/session/session.h"
#include "tests/open_files.h"

#define PAGE 4096
#define PAGES 4

/* Numbers by which messages on the session's memory socket name a grant, two bursts and a slot. */
enum { GRANT = 7, BURST = 5, OTHER_BURST, SLOT = 3 };

static int files, fence_status, session, commands, memory;

int ioctl(int file, unsigned long request, ...)
{
	struct sync_file_info *info;
	va_list args;

	(void)file;
	va_start(args, request);
	info = va_arg(args, struct sync_file_info *);
	va_end(args);
	assert_true(request == SYNC_IOC_FILE_INFO);
	/*
	 * The caller must not ask for an array with information about single fences, because a
	 * kernel would write to this array.
	 */
	assert_true(!info->num_fences && !info->sync_fence_info && !info->flags && !info->pad);
	info->status = fence_status;
	return 0;
}

static const struct nnaccel_cmd one = { .kind = NNACCEL_DO_EXECUTE };

/* Replaces poll(); if the caller waits for a command, sends a command. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	/*
	 * volatile: the C library declares that poll() only writes to `fds`, but this poll() reads.
	 */
	const struct pollfd *volatile asked = fds;

	assert_true(count == 1 && asked->events == POLLIN && timeout == -1);
	if (asked->fd == session)
		assert_true(packet_send(commands, &one, sizeof(one), -1));
	return 1;
}

static int set_up(void **state)
{
	int pairs[2][2];

	(void)state;
	files = count_files();
	for (int i = 0; i < 2; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]), 0);
	session = pairs[0][0];
	commands = pairs[0][1];
	memory = pairs[1][1];
	return session_begin_direct(session, pairs[1][0]) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	session_close(session);
	close(commands);
	close(memory);
	assert_int_equal(count_files(), files);
	return 0;
}

/* Calls session_call() with an ioctl's request; returns 0, or an errno. */
static int call(unsigned long request, void *arg)
{
	int result;

	errno = 0;
	result = session_call(session, request, arg);
	assert_true(result == 0 || result == -1);
	return result ? errno : 0;
}

/* ---- memory ---- */

/* Sends a message together with a file whose pages begin with 'a', 'b', 'c' and 'd'. */
static void send_memory(struct direct_message m)
{
	int file = memfd_create("memory", MFD_CLOEXEC);

	for (int i = 0; i < PAGES; i++)
		assert_int_equal(pwrite(file, (char[]){ (char)('a' + i) }, 1, i * PAGE), 1);
	assert_int_equal(ftruncate(file, PAGES * PAGE), 0);
	assert_true(packet_send(memory, &m, sizeof(m), file));
	close(file);
}

static void send_all(void)
{
	send_memory((struct direct_message){ .kind = DIRECT_GRANT, .grant.grant = GRANT, .offset = PAGE });
	send_memory((struct direct_message){ .kind = DIRECT_BURST, .burst = BURST });
	send_memory((struct direct_message){ .kind = DIRECT_BURST, .burst = OTHER_BURST });
	send_memory((struct direct_message){ .kind = DIRECT_BURST });
	send_memory((struct direct_message){ .kind = DIRECT_SLOT, .burst = BURST, .slot = SLOT,
					     .grant = { .grant = 2 * GRANT, .length = PAGE } });
	send_memory((struct direct_message){ .kind = DIRECT_SLOT, .burst = OTHER_BURST, .slot = SLOT });
}

static const uint64_t grant_at = (uint64_t)GRANT << NNACCEL_GRANT_SHIFT;
static const uint64_t burst_at = NNACCEL_BURST_MAP | (uint64_t)BURST << NNACCEL_BURST_SHIFT;

/*
 * Maps a page of the session and returns the page's first byte; returns 0 and sets errno if mapping
 * fails.
 */
static char first_byte(uint64_t offset, int prot)
{
	char *base = session_map(session, PAGE, prot, offset), first;

	if (base == MAP_FAILED)
		return 0;
	first = *base;
	if (prot & PROT_WRITE)
		*base = 'w';
	munmap(base, PAGE);
	return first;
}

static void test_maps(void **state)
{
	(void)state;
	send_all();
	assert_int_equal(first_byte(grant_at, PROT_READ), 'b');
	assert_int_equal(first_byte(grant_at, PROT_READ | PROT_WRITE), 'b');
	assert_int_equal(first_byte(grant_at, PROT_READ), 'w');
	assert_int_equal(first_byte(burst_at, PROT_READ), 'a');
	assert_int_equal(first_byte(burst_at | 2 * PAGE, PROT_READ), 'c');
	/* All bursts of a session share one doorbell page. */
	assert_int_equal(first_byte(burst_at | NNACCEL_BURST_DOORBELL, PROT_READ | PROT_WRITE), 'a');
	assert_int_equal(first_byte(burst_at | NNACCEL_BURST_DOORBELL, PROT_READ), 'w');
	assert_int_equal(first_byte(burst_at, PROT_READ), 'a');
	assert_int_equal(first_byte((uint64_t)(GRANT + 1) << NNACCEL_GRANT_SHIFT, PROT_READ), 0);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(first_byte(burst_at + (2ULL << NNACCEL_BURST_SHIFT), PROT_READ), 0);
}

static int find_slot(uint32_t burst, uint32_t slot, struct nnaccel_grant *grant)
{
	struct nnaccel_session_slot s = { .size = sizeof(s), .burst = burst, .slot = slot };
	int error = call(NNACCEL_SESSION_SLOT, &s);

	*grant = s.out_grant;
	return error;
}

static void test_slots(void **state)
{
	struct nnaccel_grant grant;

	(void)state;
	send_all();
	assert_int_equal(find_slot(BURST, SLOT, &grant), 0);
	assert_int_equal(grant.grant, 2 * GRANT);
	assert_int_equal(grant.length, PAGE);
	assert_int_equal(find_slot(OTHER_BURST, SLOT, &grant), 0);
	assert_int_equal(grant.grant, 0);
	assert_int_equal(find_slot(BURST, SLOT + 1, &grant), ENOENT);
	assert_int_equal(find_slot(OTHER_BURST + 1, SLOT, &grant), ENOENT);
}

/* ---- commands ---- */

/* Fetches a command into a buffer of `room` bytes; returns 0, or an errno. */
static int fetch(uint32_t room, uint32_t flags, uint32_t *size)
{
	uint8_t buffer[2 * sizeof(struct nnaccel_cmd)];
	struct nnaccel_session_fetch f = {
		.size = sizeof(f), .flags = flags, .buffer = (uintptr_t)buffer, .buffer_size = room,
	};
	int error = call(NNACCEL_SESSION_FETCH, &f);

	*size = f.out_size;
	return error;
}

/* A message about the end of an object affects only the object that the message names. */
static void test_notices(void **state)
{
	static const struct { struct nnaccel_cmd head; const char *left; } cases[] = {
		{ { .kind = NNACCEL_DO_EXECUTE, .grant = GRANT, .burst = BURST }, "gbos" },
		{ { .kind = NNACCEL_DO_FORGET_GRANT, .grant = GRANT }, " bos" },
		{ { .kind = NNACCEL_DO_FORGET_GRANT, .grant = 2 * GRANT, .burst = BURST }, "gbos" },
		{ { .kind = NNACCEL_DO_SLOT_GONE, .grant = SLOT, .burst = BURST }, "gbo " },
		{ { .kind = NNACCEL_DO_SLOT_GONE, .grant = SLOT, .burst = OTHER_BURST }, "gbos" },
		{ { .kind = NNACCEL_DO_SLOT_GONE, .grant = SLOT + 1, .burst = BURST }, "gbos" },
		{ { .kind = NNACCEL_DO_BURST_GONE, .burst = BURST }, "g o " },
		{ { .kind = NNACCEL_DO_BURST_GONE, .burst = OTHER_BURST }, "gb s" },
	};
	struct nnaccel_grant grant;
	uint32_t size;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char left[5] = "    ";

		send_all();
		assert_true(packet_send(commands, &cases[i].head, sizeof(cases[i].head), -1));
		assert_int_equal(fetch(sizeof(cases[i].head), 0, &size), 0);
		assert_int_equal(size, sizeof(cases[i].head));
		if (first_byte(grant_at, PROT_READ))
			left[0] = 'g';
		if (first_byte(burst_at, PROT_READ))
			left[1] = 'b';
		if (first_byte(burst_at + (1ULL << NNACCEL_BURST_SHIFT), PROT_READ))
			left[2] = 'o';
		if (!find_slot(BURST, SLOT, &grant))
			left[3] = 's';
		assert_string_equal(left, cases[i].left);
		tear_down(state);
		set_up(state);
	}
}

static void test_fetch(void **state)
{
	uint32_t size;

	(void)state;
	assert_int_equal(fetch(sizeof(one), NNACCEL_FETCH_NONBLOCK, &size), EAGAIN);
	assert_int_equal(fetch(sizeof(one), 0, &size), 0);
	assert_int_equal(size, sizeof(one));
	assert_true(packet_send(commands, &one, sizeof(one), -1));
	/*
	 * If the buffer is too small for a command, the command stays queued, and fetch() stores
	 * the command's size.
	 */
	assert_int_equal(fetch(sizeof(one) - 1, 0, &size), EMSGSIZE);
	assert_int_equal(size, sizeof(one));
	assert_int_equal(fetch(sizeof(one), 0, &size), 0);
	/* The session returns a packet unchanged, even if the packet is too short for a command. */
	assert_true(packet_send(commands, &one, 1, -1));
	assert_int_equal(fetch(sizeof(one), 0, &size), 0);
	assert_int_equal(size, 1);
	close(commands);
	assert_int_equal(fetch(sizeof(one), 0, &size), ESHUTDOWN);
	commands = dup(memory);
	session_abandon(session);
	assert_int_equal(fetch(sizeof(one), 0, &size), ESHUTDOWN);
}

/* ---- answers ---- */

static int commit(struct nnaccel_session_commit c)
{
	int error;

	c.size = sizeof(c);
	error = call(NNACCEL_SESSION_COMMIT, &c);
	/*
	 * The session clears the cookie of an answer that was sent, so that a second call after a
	 * failed fetch does not send the answer again.
	 */
	assert_true(!c.cookie || !c.buffer);
	return error;
}

static void test_commit(void **state)
{
	static const char large[8 * DIRECT_ROOM];
	struct { struct direct_answer head; char rest[16]; } got;
	int room, usual;
	char buffer[16];

	(void)state;
	/* For large answers, the session's socket has a larger send buffer than other sockets. */
	assert_int_equal(getsockopt(session, SOL_SOCKET, SO_SNDBUF, &room, &(socklen_t){ sizeof(room) }), 0);
	assert_int_equal(getsockopt(commands, SOL_SOCKET, SO_SNDBUF, &usual, &(socklen_t){ sizeof(usual) }), 0);
	assert_true(room > usual);
	assert_int_equal(call(NNACCEL_SESSION_ATTACH, NULL), 0);
	assert_int_equal(commit((struct nnaccel_session_commit){ .cookie = 9,
			.flags = NNACCEL_COMMIT_PROGRESS }), 0);
	assert_int_equal(recv(commands, &got, sizeof(got), MSG_DONTWAIT), -1);
	assert_int_equal(commit((struct nnaccel_session_commit){ .cookie = 9, .status = 4,
			.device_ns = 77, .payload = (uintptr_t)"load", .payload_size = 4,
			.message = (uintptr_t)"words", .message_size = 5 }), 0);
	assert_int_equal(recv(commands, &got, sizeof(got), MSG_DONTWAIT), sizeof(got.head) + 9);
	assert_memory_equal(&got.head, (&(struct direct_answer){ .cookie = 9, .device_ns = 77,
			.status = 4, .payload_size = 4, .message_size = 5 }), sizeof(got.head));
	assert_memory_equal(got.rest, "loadwords", 9);
	/*
	 * If the caller provides a buffer for a command, sending an answer also fetches the next
	 * command.
	 */
	assert_int_equal(commit((struct nnaccel_session_commit){ .cookie = 10, .flags = NNACCEL_FETCH_NONBLOCK,
			.buffer = (uintptr_t)buffer, .buffer_size = sizeof(buffer) }), EAGAIN);
	assert_int_equal(recv(commands, &got, sizeof(got), MSG_DONTWAIT), sizeof(got.head));
	assert_int_equal(commit((struct nnaccel_session_commit){ .cookie = 10, .payload = (uintptr_t)large,
			.payload_size = sizeof(large) }), EMSGSIZE);
	assert_int_equal(call(NNACCEL_SESSION_SYNC, NULL), EOPNOTSUPP);
	session_abandon(session);
	assert_int_equal(commit((struct nnaccel_session_commit){ .cookie = 11 }), ESHUTDOWN);
}

/*
 * If the kernel module serves the session, session_abandon() replaces the session's file by
 * /dev/null, and the file descriptor stays open.
 */
static void test_abandon(void **state)
{
	int file = memfd_create("session", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(file, "s", 1), 1);
	session_abandon(file);
	assert_int_equal(pread(file, (char[1]){ 0 }, 1, 0), 0);
	session_close(file);
}

/*
 * A direct session sends an answer with a fence only after the fence has signalled, because no
 * kernel can wait for the fence.
 */
static void test_fence(void **state)
{
	static const struct { int fence; uint32_t status; } cases[] = {
		{ 1, NNACCEL_STATUS_NONE }, { -EIO, NNACCEL_STATUS_GENERAL_FAILURE },
	};
	int fence = eventfd(1, EFD_CLOEXEC);
	struct direct_answer got;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fence_status = cases[i].fence;
		assert_int_equal(commit((struct nnaccel_session_commit){ .cookie = 9,
				.flags = NNACCEL_COMMIT_FENCE, .fence = fence }), 0);
		assert_int_equal(recv(commands, &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
		assert_int_equal(got.status, cases[i].status);
	}
	close(fence);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(maps), TEST(slots), TEST(notices), TEST(fetch), TEST(commit), TEST(abandon),
		TEST(fence),
	};

	return cmocka_run_group_tests_name("engine session", tests, NULL, NULL);
}
