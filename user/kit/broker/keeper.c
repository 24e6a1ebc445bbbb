// SPDX-License-Identifier: MIT
/*
 * Starts and ends the keeper of the compilation cache.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/broker/keeper.h"
#include "kit/broker/program.h"
#include "kit/cache/digest.h"
#include "kit/cache/keeper_message.h"
#include "kit/cache/message.h"

/* Minimum time between two starts of the keeper. */
#define RESTART_NS UINT64_C(10000000000)

/* Time limit within which an ending keeper must write its data to disk. */
#define END_MS 5000

#define AT(member) OPTION_AT(struct keeper_options, member)

const struct option_row keeper_rows[KEEPER_WORDS + 1] = {
	{ "folder", "FOLDER", NULL, OPTION_TEXT, AT(folder) },
	{ "version", "TEXT", NULL, OPTION_TEXT, AT(version) },
	{ "identity", "TEXT", NULL, OPTION_TEXT, AT(identity) },
	{ "bytes", "N", NULL, OPTION_UINT64, AT(plans.bytes), .max = UINT64_MAX },
	{ "bytes-per-user", "N", NULL, OPTION_UINT64, AT(plans.bytes_per_user), .max = UINT64_MAX },
	{ "log-level", "N", NULL, OPTION_UINT, AT(log_level), .max = LOG_DEBUG },
	{ 0 },
};

/* ---- the version ---- */

/* Adds a file's name and contents to the hash; returns false if the file cannot be read. */
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

/*
 * Hashes the plug-ins' names and files, because saved plans may contain values that plug-ins
 * computed.
 */
static bool hash_plugins(const struct spawn_plugins *plugins, uint8_t hash[DIGEST_SIZE])
{
	struct evp_md_ctx_st *context = digest_init() ? digest_begin() : NULL;
	bool read = context;

	for (unsigned int i = 0; read && plugins && i < plugins->count; i++)
		read = hash_file(context, plugins->folder, plugins->files[i]);
	return digest_end(context, hash) && read;
}

/*
 * Writes the version of the cache's index to `text`. The version consists of the engine's identity
 * and a hash of the plug-ins, because cached entries depend on the engine and on the plug-ins.
 * Returns false if the engine has no identity; the engine then has no cache.
 */
static bool describe_version(const struct keeper_options *options, char *text, size_t size)
{
	uint8_t hash[DIGEST_SIZE];

	if (!options->engine || !options->engine[0] || !hash_plugins(options->plugins, hash))
		return false;
	snprintf(text, size, "2 %s plug-ins %02x%02x%02x%02x%02x%02x%02x%02x", options->engine,
		 hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7]);
	return true;
}

/* ---- the process ---- */

__attribute__((noreturn)) static void execute(const struct keeper *keeper, int socket)
{
	char text[PATH_MAX + 512], name[] = KEEPER_NAME, *argv[KEEPER_WORDS + 2] = { name };
	int program = fcntl(keeper->program, F_DUPFD_CLOEXEC, KEEPER_BROKER_FD + 1);
	char *none[] = { NULL };
	sigset_t signals;

	socket = fcntl(socket, F_DUPFD_CLOEXEC, KEEPER_BROKER_FD + 1);
	sigemptyset(&signals);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	if (option_write(keeper_rows, &keeper->options, text, sizeof(text), argv + 1) < 0)
		errno = ENAMETOOLONG;
	else if (program >= 0 && socket >= 0 && dup2(socket, KEEPER_BROKER_FD) >= 0 &&
	    !close_range(KEEPER_BROKER_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC))
		syscall(SYS_execveat, program, "", argv, none, AT_EMPTY_PATH);
	log_error("no compilation cache: the keeper's program: %s", strerror(errno));
	_exit(EXIT_FAILURE);
}

/* ---- the broker's side ---- */

/*
 * Locks the cache's folder, because its index and socket must belong to only one keeper. Returns
 * false if another engine has locked the folder.
 */
static bool claim(struct keeper *keeper)
{
	keeper->claim = open(keeper->options.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (keeper->claim < 0 || !flock(keeper->claim, LOCK_EX | LOCK_NB))
		return true;
	keeper->is_taken = errno == EWOULDBLOCK;
	if (keeper->is_taken)
		log_error("--state=%s: another engine uses this folder: give this one its own",
			  keeper->options.folder);
	return !keeper->is_taken;
}

static bool prepare(struct keeper *keeper)
{
	const char *folder = keeper->options.folder;

	keeper->program = program_open(keeper->options.program, KEEPER_PROGRAM);
	if (keeper->program < 0) {
		log_warning("no compilation cache: " KEEPER_PROGRAM ": %s", strerror(errno));
		return false;
	}
	if (!describe_version(&keeper->options, keeper->version, sizeof(keeper->version))) {
		log_warning("no compilation cache: this build has no id, or a plug-in "
			    "cannot be read");
		return false;
	}
	if ((!mkdir(folder, 0700) || errno == EEXIST) && !access(folder, R_OK | W_OK | X_OK))
		return claim(keeper);
	log_warning("no compilation cache: %s: %s", folder, strerror(errno));
	return false;
}

static bool start_process(struct keeper *keeper)
{
	int sockets[2];

	keeper->started_ns = clock_ns();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		log_error("no compilation cache: socketpair: %s", strerror(errno));
		return false;
	}
	keeper->pid = fork();
	if (keeper->pid == 0)
		execute(keeper, sockets[1]);
	close(sockets[1]);
	if (keeper->pid > 0)
		keeper->pidfd = (int)syscall(SYS_pidfd_open, keeper->pid, 0);
	if (keeper->pid < 0 || keeper->pidfd < 0) {
		log_error("no compilation cache: fork: %s", strerror(errno));
		if (keeper->pid > 0)
			kill(keeper->pid, SIGKILL);
		close(sockets[0]);
		keeper->pid = 0;
		return false;
	}
	keeper->socket = sockets[0];
	return true;
}

bool keeper_start(struct keeper *keeper, const struct keeper_options *options)
{
	*keeper = (struct keeper){
		.options = *options, .program = -1, .claim = -1, .pidfd = -1, .socket = -1, .own = -1,
	};
	if (!options->folder)
		return false;
	keeper->options.version = keeper->version;
	if (prepare(keeper) && start_process(keeper))
		return true;
	keeper->options.folder = NULL;
	return false;
}

/* Reaps the keeper if it has ended. Returns true if no keeper runs. */
static bool reap(struct keeper *keeper)
{
	siginfo_t info = { 0 };

	if (keeper->pidfd < 0)
		return true;
	if (waitid(P_PIDFD, (id_t)keeper->pidfd, &info, WEXITED | WNOHANG) || !info.si_pid)
		return false;
	close(keeper->pidfd);
	close(keeper->socket);
	keeper->pidfd = -1;
	keeper->socket = -1;
	keeper->pid = 0;
	if (info.si_code != CLD_EXITED)
		log_warning("the compilation cache's keeper: killed by signal %d%s", info.si_status,
			    info.si_status == SIGSYS ? ": a system call that is not allowed" : "");
	else if (info.si_status)
		log_warning("the compilation cache's keeper failed");
	return true;
}

bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid)
{
	const struct message serve = { .kind = KEEPER_SERVE, .uid = uid };

	return keeper->socket >= 0 && message_send(keeper->socket, &serve, worker);
}

/*
 * Passes the broker's own socket to a new keeper. If no keeper takes the socket, closes the socket,
 * so that the threads at the socket's other end notice that the old keeper has ended.
 */
static void pass_own(struct keeper *keeper)
{
	if (keeper->own < 0 || keeper_pass(keeper, keeper->own, geteuid()))
		return;
	close(keeper->own);
	keeper->own = -1;
}

int keeper_connect(struct keeper *keeper)
{
	int ends[2];

	if (keeper->socket < 0 || !spawn_control(ends))
		return -1;
	keeper->own = ends[0];
	pass_own(keeper);
	return ends[1];
}

bool keeper_revive(struct keeper *keeper)
{
	bool revived;

	if (!reap(keeper))
		return false;
	revived = keeper->options.folder && clock_ns() - keeper->started_ns >= RESTART_NS &&
		  start_process(keeper);
	pass_own(keeper);
	return revived;
}

void keeper_stop(struct keeper *keeper)
{
	struct pollfd ended = { .fd = keeper->pidfd, .events = POLLIN };
	const struct message end = { .kind = KEEPER_END };

	if (keeper->pidfd >= 0) {
		/*
		 * If the socket's buffer is full, the message `end` is lost, and the keeper ends
		 * because of the shutdown of the socket.
		 */
		message_send(keeper->socket, &end, -1);
		shutdown(keeper->socket, SHUT_WR);
		if (poll(&ended, 1, END_MS) != 1) {
			log_warning("the compilation cache's keeper does not end: killed");
			kill(keeper->pid, SIGKILL);
			poll(&ended, 1, END_MS);
		}
		reap(keeper);
	}
	if (keeper->program >= 0)
		close(keeper->program);
	if (keeper->own >= 0)
		close(keeper->own);
	if (keeper->claim >= 0)
		close(keeper->claim);
	keeper->claim = -1;
	keeper->program = -1;
	keeper->own = -1;
}
