/* SPDX-License-Identifier: MIT */
/*
 * Tests messages between broker, workers, keeper and administrators, and the files that messages
 * carry.
 */
#define _GNU_SOURCE
#include <errno.h>
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

#include "kit/cache/message.h"
#include "tests/open_files.h"
#include "tests/heap_blocks.h"

static const struct {
	uint32_t kind;
	uint8_t token, hash;
	uint64_t model_size, data_size;
	enum message_way way;	/* direction in which the message is valid; 0: always invalid */
} messages[] = {
	{ CACHE_STORE, 1, 1, 0, 0, WORKER_TO_KEEPER }, { CACHE_STORE, 0, 0, 0, 0, WORKER_TO_KEEPER },
	{ CACHE_STORE, 1, 1, 1, 0, 0 }, { CACHE_STORE, 1, 1, 0, 1, 0 },
	{ CACHE_QUERY, 1, 1, 0, 0, WORKER_TO_KEEPER }, { CACHE_QUERY, 1, 1, 1, 0, 0 },
	{ CACHE_NEW, 1, 0, 1, 1, WORKER_TO_KEEPER }, { CACHE_NEW, 1, 1, 1, 1, 0 },
	{ CACHE_NEW, 1, 0, UINT32_MAX + 1ULL, 1, WORKER_TO_KEEPER },
	{ CACHE_GET, 1, 0, 0, 0, WORKER_TO_KEEPER }, { CACHE_GET, 1, 1, 0, 0, 0 },
	{ CACHE_GET, 1, 0, 1, 0, 0 }, { CACHE_GET, 1, 0, 0, 1, 0 },
	{ CACHE_NEW_OWN, 1, 0, 1, 1, WORKER_TO_KEEPER }, { CACHE_NEW_OWN, 1, 1, 1, 1, 0 },
	{ CACHE_DONE, 1, 0, 0, 0, WORKER_TO_KEEPER }, { CACHE_DROP, 1, 0, 0, 0, WORKER_TO_KEEPER },
	{ CACHE_SHOW, 0, 0, 0, 0, ADMIN_TO_KEEPER }, { CACHE_SHOW, 0, 0, 1, 0, 0 },
	{ CACHE_SHOW, 0, 1, 0, 0, 0 }, { CACHE_SHOW, 0, 0, 0, 1, 0 }, { CACHE_SHOW, 1, 0, 0, 0, 0 },
	{ CACHE_CHECK, 0, 0, 0, 0, ADMIN_TO_KEEPER }, { CACHE_CHECK, 0, 0, 1, 0, 0 },
	{ CACHE_CLEAR, 0, 0, 0, 0, ADMIN_TO_KEEPER },
	{ CACHE_CLEAR, 0, 0, UINT32_MAX, 0, ADMIN_TO_KEEPER },
	{ CACHE_CLEAR, 0, 0, UINT32_MAX + 1ULL, 0, 0 },
	{ CACHE_CLEAR, 0, 0, CACHE_ALL_USERS, 0, ADMIN_TO_KEEPER },
	{ CACHE_YES, 0, 1, 1, 1, KEEPER_ANSWERS }, { CACHE_YES, 1, 0, 0, 0, 0 },
	{ CACHE_NO, 0, 0, 0, 0, KEEPER_ANSWERS }, { CACHE_NO, 0, 1, 0, 0, 0 },
	{ CACHE_FAILED, 0, 0, 1, 0, KEEPER_ANSWERS }, { CACHE_LATER, 0, 0, 0, 0, KEEPER_ANSWERS },
	{ WORKER_GO, 0, 0, 0, 0, BROKER_TO_WORKER },
	{ WORKER_SESSION, 0, 0, 0, 0, BROKER_TO_WORKER },
	{ WORKER_READY, 0, 0, 0, 0, WORKER_TO_BROKER }, { WORKER_READY, 1, 0, 0, 0, 0 },
	{ KEEPER_SERVE, 0, 0, UINT32_MAX, 0, BROKER_TO_KEEPER },
	{ KEEPER_SERVE, 0, 0, UINT32_MAX + 1ULL, 0, 0 },
	{ KEEPER_SERVE, 0, 0, CACHE_ALL_USERS, 0, 0 },
	{ KEEPER_END, 0, 0, 0, 0, BROKER_TO_KEEPER }, { KEEPER_END, 0, 0, 1, 0, 0 },
	{ 0, 0, 0, 0, 0, 0 }, { 8, 0, 0, 0, 0, 0 }, { CACHE_CHECK + 1, 0, 0, 0, 0, 0 },
	{ UINT32_MAX, 0, 0, 0, 0, 0 },
};

/*
 * A message is valid in only one direction and with only one length. Parsing a message copies the
 * message to the variable `parsed`.
 */
static void test_messages(void **state)
{
	struct message message, parsed;

	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		message = (struct message){
			.kind = messages[i].kind, .serial = 5,
			.model_size = messages[i].model_size, .data_size = messages[i].data_size,
		};
		message.token[CACHE_TOKEN_SIZE - 1] = messages[i].token;
		message.hash[DIGEST_SIZE - 1] = messages[i].hash;
		for (int way = BROKER_TO_WORKER; way <= KEEPER_ANSWERS; way++) {
			if (message_parse(&message, sizeof(message), way, &parsed) !=
			    (way == (int)messages[i].way))
				fail_msg("message %zu, way %d", i, way);
			assert_memory_equal(&message, &parsed, sizeof(parsed));
			assert_false(message_parse(&message, sizeof(message) - 1, way, &parsed));
			assert_false(message_parse(&message, sizeof(message) + 1, way, &parsed));
		}
	}
}

/* Sends control data that the receiver must reject: two files, or a type that is not SCM_RIGHTS. */
static void send_other(int socket, int type, const void *data, size_t size)
{
	union {
		char buffer[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} room = { { 0 } };
	struct message ready = { .kind = WORKER_READY };
	struct iovec bytes = { .iov_base = &ready, .iov_len = sizeof(ready) };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room.buffer,
				  .msg_controllen = CMSG_SPACE(size) };
	struct cmsghdr *part = CMSG_FIRSTHDR(&message);

	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = type;
	part->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(part), data, size);
	assert_int_equal(sendmsg(socket, &message, 0), sizeof(ready));
}

/* Receives a worker's message; returns the file that the message carries, or -1. */
static int receive(int socket, int result)
{
	struct message message = { .kind = 0 };
	int file = 0;

	assert_int_equal(message_receive(socket, WORKER_TO_BROKER, MSG_DONTWAIT, &message, &file),
			 result);
	assert_true(result != 1 || message.kind == WORKER_READY);
	return file;
}

static void test_files(void **state)
{
	const struct ucred own = { getpid(), getuid(), getgid() };
	const struct message ready = { .kind = WORKER_READY }, go = { .kind = WORKER_GO };
	int ends[2], file = open("/dev/null", O_RDONLY | O_CLOEXEC), got, on = 1;
	struct stat sent, received;
	struct message message;
	int open_files;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_true(message_send(ends[0], &ready, file));
	got = receive(ends[1], 1);
	assert_int_equal(fstat(file, &sent) | fstat(got, &received), 0);
	assert_int_equal(sent.st_rdev, received.st_rdev);
	close(got);
	/*
	 * Receive messages without a file, with two files, and with control data other than files.
	 */
	assert_true(message_send(ends[0], &ready, -1));
	assert_int_equal(receive(ends[1], 1), -1);
	assert_int_equal(receive(ends[1], -1), -1);
	assert_int_equal(errno, EAGAIN);
	open_files = count_files();
	send_other(ends[0], SCM_RIGHTS, (int[]){ file, file }, 2 * sizeof(int));
	assert_int_equal(receive(ends[1], 1), -1);
	/*
	 * Reject messages with a file that their kind does not allow, messages in the wrong
	 * direction, and messages of the wrong length.
	 */
	assert_true(message_send(ends[0], &ready, file));
	assert_int_equal(message_receive(ends[1], WORKER_TO_BROKER, 0, &message, NULL), 1);
	assert_true(message_send(ends[0], &go, file));
	assert_int_equal(receive(ends[1], -1), -1);
	assert_int_equal(errno, EPROTO);
	for (size_t size = 1; size <= 2 * sizeof(ready); size++) {
		const struct message two[2] = { ready, ready };

		assert_int_equal(send(ends[0], two, size, 0), size);
		assert_int_equal(receive(ends[1], size == sizeof(ready) ? 1 : -1), -1);
	}
	assert_int_equal(count_files(), open_files);
	assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	send_other(ends[0], SCM_CREDENTIALS, &own, sizeof(own));
	assert_int_equal(receive(ends[1], 1), -1);
	shutdown(ends[0], SHUT_WR);
	assert_int_equal(receive(ends[1], 0), -1);
	/* Sending to a closed socket returns an error and raises no SIGPIPE. */
	close(ends[1]);
	assert_false(message_send(ends[0], &ready, -1));
	close(ends[0]);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_messages),
		heap_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("engine_message", tests, NULL, NULL);
}
