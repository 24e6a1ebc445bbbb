// SPDX-License-Identifier: MIT
/*
 * nnaccel-keeper: holds the index of the compilation cache and the plans that the engine keeps. The
 * broker starts nnaccel-keeper. The keeper reads messages of workers and can access only its own
 * folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/keeper/loop.h"
#include "engine/keeper/main.h"
#include "engine/keeper/sandbox.h"
#include "kit/api/log.h"
#include "kit/broker/keeper.h"
#include "kit/cache/keeper_message.h"

/* Ignores signals, so that the keeper serves all workers until the broker ends the keeper. */
static void set_up_process(void)
{
	umask(0077);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, KEEPER_NAME);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/*
 * Makes the socket of administrators, which are all processes that may access the folder. Returns
 * -1, with a log line, on failure.
 */
static int listen_in(const char *folder)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = sizeof(address.sun_path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	errno = ENAMETOOLONG;
	if (fd >= 0 && snprintf(address.sun_path, size, "%s/" KEEPER_SOCKET, folder) < (int)size) {
		unlink(address.sun_path);
		if (!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 4))
			return fd;
	}
	log_warning("%s/" KEEPER_SOCKET ": `nnaccel cache` cannot reach the keeper: %s", folder,
		    strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int keeper_main(int argc, char **argv)
{
	struct keeper_options o = { .folder = NULL };
	struct blob_store *plans = NULL;
	struct blob_limits limits;
	struct cache_index *index;
	char fault[OPTION_FAULT];
	struct keep *keep;
	int listener;

	if (option_read(keeper_rows, argc, argv, &o, fault) != argc || !o.folder || !o.version)
		return option_by_hand("nnaccel-keeper", argc, argv);
	set_up_process();
	log_set_level(o.log_level);
	limits.bytes = o.plans.bytes;
	limits.bytes_per_user = o.plans.bytes_per_user;
	if (!digest_init())
		return EXIT_FAILURE;
	index = cache_index_open(o.folder, o.version, o.identity ? o.identity : "");
	if (!index)
		return EXIT_FAILURE;
	if (limits.bytes)
		plans = blob_store_open(index, o.folder, &limits);
	listener = listen_in(o.folder);
	/*
	 * Call keep_begin(), which creates the threads, before the filter of system calls forbids
	 * new threads.
	 */
	keep = !sandbox_keep_folder(o.folder) ? NULL :
	       keep_begin(KEEPER_BROKER_FD, listener, index, plans);
	if (!keep || !sandbox_filter_calls())
		return EXIT_FAILURE;
	keep_run(keep);
	blob_store_close(plans);
	cache_index_close(index);
	return EXIT_SUCCESS;
}
