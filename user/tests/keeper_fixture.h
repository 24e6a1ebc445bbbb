/* SPDX-License-Identifier: MIT */
/*
 * Common functions for tests of the engine's compilation cache: a state folder, a keeper, and
 * sockets of workers that the test imitates.
 */
#ifndef NN_TESTS_KEEPER_FIXTURE_H
#define NN_TESTS_KEEPER_FIXTURE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/keeper/main.h"
#include "kit/broker/keeper.h"
#include "kit/cache/cache_client.h"
#include "kit/cache/keeper_message.h"
#include "kit/cache/message.h"
#include "tests/counts.h"

static char folder[64];
static struct keeper keeper;
/* The keeper's program is the test's own program. */
static struct keeper_options options = {
	.plans = { 1 << 20, 1 << 20 }, .log_level = LOG_INFO, .program = "/proc/self/exe",
	.engine = "test", .identity = "library 1",
};

/*
 * The test's main() must call be_keeper() first. If the program was started as a keeper,
 * be_keeper() runs the keeper and does not return.
 */
static inline void be_keeper(int argc, char **argv)
{
	struct counts counts;
	int status;

	if (!argc || strcmp(argv[0], KEEPER_NAME))
		return;
	counts = counts_open();
	status = keeper_main(argc, argv);
	_exit(counts_write(&counts) ? status : EXIT_FAILURE);
}

/* Makes the state folder in memory, because memory is faster than a disk. */
static inline int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/dev/shm/engine-cache-XXXXXX");
	if (mkdtemp(folder))
		return digest_init() ? 0 : -1;
	strcpy(folder, "/tmp/engine-cache-XXXXXX");
	return mkdtemp(folder) && digest_init() ? 0 : -1;
}

static inline int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static inline int start_keeper(void **state)
{
	if (make_folder(state))
		return -1;
	options.folder = folder;
	return keeper_start(&keeper, &options) ? 0 : -1;
}

static inline int stop_keeper(void **state)
{
	keeper_stop(&keeper);
	return remove_folder(state);
}

/*
 * Makes a socket pair for a worker of a user: returns the worker's end, and passes the other end to
 * the keeper.
 */
static inline int worker_of(uint32_t uid)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_true(keeper_pass(&keeper, sockets[0], uid));
	close(sockets[0]);
	return sockets[1];
}

static inline void client_of(struct cache_client *client, uint32_t uid)
{
	assert_true(cache_client_init(client, worker_of(uid)));
}

/*
 * Sends a request as administrator through the socket in the state folder. Returns the kind of the
 * keeper's answer, or 0 if the keeper refuses the request.
 */
static inline uint32_t ask_as_admin(uint64_t uid, uint32_t kind, struct message *answer, int *file)
{
	struct message request = { .kind = kind, .serial = 5, .uid = uid };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int n;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" KEEPER_SOCKET, folder);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
	n = message_receive(fd, KEEPER_ANSWERS, 0, answer, file);
	close(fd);
	return n > 0 ? answer->kind : 0;
}

#endif /* NN_TESTS_KEEPER_FIXTURE_H */
