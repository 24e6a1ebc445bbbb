// SPDX-License-Identifier: MIT
/*
 * The keeper of the compilation cache: its start and its end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/device.h"
#include "engine/file_message.h"
#include "engine/keep.h"
#include "engine/keeper.h"
#include "engine/log.h"
#include "plan/plan.h"

#define KEEPER_NAME "nnacceld-keeper"

/* Where the broker's socket is in the keeper; all other files but the log are closed. */
#define BROKER_FD 3

/* A keeper that dies is not started again before that. */
#define RESTART_NS UINT64_C(10000000000)

/* ---- the process ---- */

/* Adds a file's name and bytes; false where it cannot be read. */
static bool hash_file(struct evp_md_ctx_st *context, const char *folder, const char *name)
{
	char path[4096], bytes[8192];
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	digest_add(context, name, strlen(name) + 1);
	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		digest_add(context, bytes, (size_t)n);
	if (fd >= 0)
		close(fd);
	return !n;
}

/* What plug-ins compute may be in a plan: those that there are, and what is in them. */
static bool hash_plugins(const struct spawn_plugins *plugins, uint8_t hash[DIGEST_SIZE])
{
	struct evp_md_ctx_st *context = digest_init() ? digest_begin() : NULL;
	bool read = context;

	for (unsigned int i = 0; read && plugins && i < plugins->count; i++)
		read = hash_file(context, plugins->folder, plugins->files[i]);
	return digest_end(context, hash) && read;
}

/*
 * All that an entry depends on besides its model. Where a build cannot be told
 * from others there is no version, and no cache.
 */
static bool describe_version(const struct keeper_options *options, char *text, size_t size)
{
	struct nn_device_info info;
	uint8_t hash[DIGEST_SIZE];
	char build[32];

	device_build_id(build, sizeof(build));
	if (!strcmp(build, "unidentified") || !hash_plugins(options->plugins, hash))
		return false;
	device_describe(&info);
	/* The device's version has the build and the CPU's features. */
	snprintf(text, size, "1 %s plan %016llx plug-ins %02x%02x%02x%02x%02x%02x%02x%02x",
		 info.version, (unsigned long long)nn_plan_fingerprint(), hash[0], hash[1], hash[2],
		 hash[3], hash[4], hash[5], hash[6], hash[7]);
	return true;
}

__attribute__((noreturn)) static void keeper_main(const struct keeper_options *options)
{
	struct cache_index *index;
	struct blob_store *plans = NULL;
	char version[160];
	sigset_t none;
	bool served;

	/* The end comes from the broker: what it passed before is served first. */
	umask(0077);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, KEEPER_NAME);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!describe_version(options, version, sizeof(version)) || !digest_init())
		_exit(EXIT_FAILURE);
	index = cache_index_open(options->folder, version);
	if (!index)
		_exit(EXIT_FAILURE);
	if (options->plans.bytes)
		plans = blob_store_open(index, options->folder, &options->plans);
	served = keep_run(BROKER_FD, index, plans);
	blob_store_close(plans);
	cache_index_close(index);
	_exit(served ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- the broker's side ---- */

static bool prepare_folder(const struct keeper_options *options)
{
	const char *folder = options->folder;
	char version[160];

	if (!describe_version(options, version, sizeof(version))) {
		log_warning("no compilation cache: this build has no id, or a plug-in "
			    "cannot be read");
		return false;
	}
	if ((!mkdir(folder, 0700) || errno == EEXIST) && !access(folder, R_OK | W_OK | X_OK))
		return true;
	log_warning("no compilation cache: %s: %s", folder, strerror(errno));
	return false;
}

static bool fork_keeper(struct keeper *keeper)
{
	int sockets[2];

	keeper->started_ns = clock_ns();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		log_error("no compilation cache: socketpair: %s", strerror(errno));
		return false;
	}
	keeper->pid = fork();
	if (keeper->pid == 0) {
		if (dup2(sockets[1], BROKER_FD) < 0 || close_range(BROKER_FD + 1, ~0U, 0))
			_exit(EXIT_FAILURE);
		keeper_main(keeper->options);
	}
	close(sockets[1]);
	if (keeper->pid < 0) {
		log_error("no compilation cache: fork: %s", strerror(errno));
		close(sockets[0]);
		keeper->pid = 0;
		return false;
	}
	keeper->socket = sockets[0];
	return true;
}

bool keeper_start(struct keeper *keeper, const struct keeper_options *options)
{
	static const struct keeper_options none = { .folder = NULL };

	*keeper = (struct keeper){ .options = options, .socket = -1 };
	if (!options->folder)
		return false;
	if (prepare_folder(options) && fork_keeper(keeper))
		return true;
	keeper->options = &none;
	return false;
}

static void reap_keeper(struct keeper *keeper)
{
	int status = 0;

	if (keeper->socket < 0)
		return;
	close(keeper->socket);
	keeper->socket = -1;
	while (waitpid(keeper->pid, &status, 0) < 0 && errno == EINTR)
		;
	keeper->pid = 0;
	if (WIFSIGNALED(status))
		log_warning("the compilation cache's keeper: killed by signal %d",
			    WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warning("the compilation cache's keeper failed");
}

bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid)
{
	return keeper->socket >= 0 && file_message_send(keeper->socket, &uid, sizeof(uid), worker);
}

bool keeper_revive(struct keeper *keeper)
{
	reap_keeper(keeper);
	return keeper->options->folder && clock_ns() - keeper->started_ns >= RESTART_NS &&
	       fork_keeper(keeper);
}

void keeper_stop(struct keeper *keeper)
{
	const uint32_t end = KEEP_END;

	/* One that is behind with its work sees the end of the socket instead. */
	if (keeper->socket >= 0)
		file_message_send(keeper->socket, &end, sizeof(end), -1);
	reap_keeper(keeper);
}
