/* SPDX-License-Identifier: MIT */
/*
 * Requests to the keeper of the cache, and messages that carry a file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/file_message.h"
#include "kit/keeper_message.h"
#include "tests/open_files.h"

static const struct {
	uint32_t kind;
	uint8_t hash;
	uint64_t model_size, data_size;
	bool worker, admin;		/* who may ask so */
} requests[] = {
	{ CACHE_STORE, 1, 0, 0, true, false }, { CACHE_STORE, 0, 0, 0, true, false },
	{ CACHE_STORE, 1, 1, 0, false, false }, { CACHE_STORE, 1, 0, 1, false, false },
	{ CACHE_QUERY, 1, 0, 0, true, false }, { CACHE_QUERY, 1, 1, 0, false, false },
	{ CACHE_NEW, 0, 1, 1, true, false }, { CACHE_NEW, 1, 1, 1, false, false },
	{ CACHE_GET, 0, 0, 0, true, false }, { CACHE_GET, 1, 0, 0, false, false },
	{ CACHE_GET, 0, 1, 0, false, false }, { CACHE_GET, 0, 0, 1, false, false },
	{ CACHE_DONE, 0, 0, 0, true, false }, { CACHE_DROP, 0, 0, 0, true, false },
	{ CACHE_SHOW, 0, 0, 0, false, true }, { CACHE_SHOW, 0, 1, 0, false, false },
	{ CACHE_SHOW, 1, 0, 0, false, false }, { CACHE_SHOW, 0, 0, 1, false, false },
	{ CACHE_CHECK, 0, 0, 0, false, true }, { CACHE_CHECK, 0, 1, 0, false, false },
	{ CACHE_CLEAR, 0, 0, 0, false, true }, { CACHE_CLEAR, 0, UINT32_MAX, 0, false, true },
	{ CACHE_CLEAR, 0, UINT32_MAX + 1ULL, 0, false, false },
	{ CACHE_CLEAR, 0, CACHE_ALL_USERS, 0, false, true },
	{ 0, 0, 0, 0, false, false }, { 4711, 0, 0, 0, false, false },
};

static void test_requests(void **state)
{
	struct cache_request request, parsed;

	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		memset(&request, 0, sizeof(request));
		request.kind = requests[i].kind;
		request.hash[DIGEST_SIZE - 1] = requests[i].hash;
		request.model_size = requests[i].model_size;
		request.data_size = requests[i].data_size;
		if (cache_request_parse(&request, sizeof(request), &parsed) != requests[i].worker ||
		    cache_admin_parse(&request, sizeof(request), &parsed) != requests[i].admin)
			fail_msg("request %zu", i);
		assert_memory_equal(&request, &parsed, sizeof(parsed));
		assert_false(cache_request_parse(&request, sizeof(request) - 1, &parsed));
		assert_false(cache_admin_parse(&request, sizeof(request) + 1, &parsed));
	}
}

/* Sends a control message of another kind, or with two files. */
static void send_other(int socket, int type, const void *data, size_t size)
{
	union {
		char buffer[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} room = { { 0 } };
	struct iovec bytes = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room.buffer,
				  .msg_controllen = CMSG_SPACE(size) };
	struct cmsghdr *part = CMSG_FIRSTHDR(&message);

	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = type;
	part->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(part), data, size);
	assert_int_equal(sendmsg(socket, &message, 0), 1);
}

static void test_files(void **state)
{
	const struct ucred own = { getpid(), getuid(), getgid() };
	int ends[2], file = open("/dev/null", O_RDONLY | O_CLOEXEC), got, on = 1;
	struct stat sent, received;
	int open_files;
	char bytes[8];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_true(file_message_send(ends[0], "abc", 3, file));
	assert_int_equal(file_message_receive(ends[1], bytes, sizeof(bytes), 0, &got), 3);
	assert_memory_equal(bytes, "abc", 3);
	assert_int_equal(fstat(file, &sent) | fstat(got, &received), 0);
	assert_int_equal(sent.st_rdev, received.st_rdev);
	close(got);
	/* A message without a file, one with two, and one with something else. */
	assert_true(file_message_send(ends[0], "d", 1, -1));
	assert_int_equal(file_message_receive(ends[1], bytes, sizeof(bytes), 0, &got), 1);
	assert_int_equal(got, -1);
	assert_int_equal(file_message_receive(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT, &got), -1);
	assert_int_equal(got, -1);
	open_files = count_files();
	send_other(ends[0], SCM_RIGHTS, (int[]){ file, file }, 2 * sizeof(int));
	assert_int_equal(file_message_receive(ends[1], bytes, sizeof(bytes), 0, &got), 1);
	assert_int_equal(got, -1);
	assert_int_equal(count_files(), open_files);
	assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	send_other(ends[0], SCM_CREDENTIALS, &own, sizeof(own));
	assert_int_equal(file_message_receive(ends[1], bytes, sizeof(bytes), 0, &got), 1);
	assert_int_equal(got, -1);
	/* The other end is closed: no signal. */
	close(ends[1]);
	assert_false(file_message_send(ends[0], "e", 1, -1));
	close(ends[0]);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("engine_message", tests, NULL, NULL);
}
