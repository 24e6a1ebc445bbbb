// SPDX-License-Identifier: MIT
/* Starts workers; see spawn.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/broker/program.h"
#include "kit/broker/spawn.h"
#include "kit/cache/message.h"

/* Time limit for a worker's reads and writes on its socket. */
#define WORKER_PATIENCE_S 10

#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | \
		    CLONE_NEWUTS | CLONE_NEWCGROUP)

static const uint64_t clone_flags[] = {
	[ISOLATE_USERNS] = CLONE_NEWUSER | NAMESPACES,
	[ISOLATE_ROOT] = NAMESPACES,
	[ISOLATE_NONE] = 0,
};

/*
 * Forks a process with its own namespaces, in a cgroup. Sets *pidfd to the pidfd of the new
 * process.
 */
static pid_t clone_process(enum isolation isolation, int cgroup, int *pidfd)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | clone_flags[isolation],
		.pidfd = (uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
	};

	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Tests whether a process with the given isolation can be created. Returns 0 or an errno. */
static int probe(enum isolation isolation)
{
	siginfo_t info;
	int pidfd;
	pid_t pid = clone_process(isolation, -1, &pidfd);

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(0);
	close(pidfd);
	waitid(P_PID, (id_t)pid, &info, WEXITED);
	return 0;
}

bool spawner_init(struct spawner *s)
{
	int error, root_error;

	s->program = program_open(s->path, WORKER_PROGRAM);
	if (s->program < 0) {
		log_error("%s: %s", s->path ? s->path : WORKER_PROGRAM, strerror(errno));
		return false;
	}
	s->options.isolation = ISOLATE_USERNS;
	error = probe(ISOLATE_USERNS);
	if (!error)
		return true;
	s->options.isolation = ISOLATE_ROOT;
	root_error = geteuid() == 0 ? probe(ISOLATE_ROOT) : EPERM;
	if (!root_error) {
		log_warning("user namespaces are refused (%s): workers do without, as uid %u",
			    strerror(error), (unsigned int)s->uid);
		return true;
	}
	s->options.isolation = ISOLATE_NONE;
	if (s->allow_none) {
		log_warning("user namespaces are refused (%s): workers are confined by seccomp "
			    "and resource limits only", strerror(error));
		return true;
	}
	log_error("user namespaces are refused (%s): allow them (user.max_user_namespaces, "
		  "kernel.unprivileged_userns_clone), run as root, or accept weaker workers "
		  "with --insecure-no-userns", strerror(error));
	return false;
}

/* ---- the child, between clone and exec ---- */

__attribute__((noreturn)) static void child_fail(const char *what)
{
	log_error("worker start: %s: %s", what, strerror(errno));
	_exit(WORKER_EXIT_FAILURE);
}

/* Duplicates an fd to a number above the fixed descriptor numbers of a worker. */
static int move_up(int fd)
{
	fd = fcntl(fd, F_DUPFD_CLOEXEC, WORKER_SESSION_FD + 1);
	if (fd < 0)
		child_fail("files");
	return fd;
}

static void put_at(int fd, int number)
{
	if (dup2(fd, number) < 0)
		child_fail("files");
}

/*
 * Moves the worker's files to their fixed descriptor numbers, and closes all other files except
 * `program`. If a worker had the engine node open, the engine would stay registered after the
 * broker's death.
 */
static void child_files(int program, int control, int log)
{
	int null;

	put_at(log, STDERR_FILENO);
	put_at(control, WORKER_CONTROL_FD);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		child_fail("/dev/null");
	put_at(null, STDIN_FILENO);
	put_at(null, STDOUT_FILENO);
	if (close_range(WORKER_SESSION_FD, (unsigned int)program - 1, 0) ||
	    close_range((unsigned int)program + 1, ~0U, 0))
		child_fail("files");
}

/*
 * Lets the child process keep its capabilities across execve(). By default execve() drops all
 * capabilities of a process whose user id is not mapped in its namespace. The worker changes its
 * user id only after execve(), because another user id may lack permission to read the program.
 */
static void child_keep_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, caps))
		child_fail("capabilities");
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		caps[i].inheritable = caps[i].permitted;
	if (syscall(SYS_capset, &head, caps))
		child_fail("capabilities");
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			child_fail("capabilities");
	}
}

static uint32_t add_variable(const char *name, char **envp)
{
	const size_t length = strlen(name);

	for (char **entry = environ; entry && *entry; entry++) {
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=') {
			*envp = *entry;
			return 1;
		}
	}
	return 0;
}

/*
 * Writes a worker's environment variables to `envp`: the spin limit of bursts, and the engine's
 * variables.
 */
static void child_environment(const struct spawner *s, char *envp[ENVIRONMENT_MAX + 2])
{
	uint32_t count = add_variable("NNACCEL_SPIN_US", envp);

	for (uint32_t i = 0; s->environment && s->environment[i]; i++)
		count += add_variable(s->environment[i], envp + count);
	envp[count] = NULL;
}

/*
 * Writes the arguments of worker_main() to `argv` after the program's name, and a NULL after the
 * last argument.
 */
static void child_arguments(const struct worker_options *options, char text[WORKER_TEXT],
			    const struct spawn_plugins *plugins, char **argv)
{
	static char end_of_options[] = "--";
	int count = option_write(worker_rows, options, text, WORKER_TEXT, argv);

	errno = ENAMETOOLONG;
	if (count < 0)
		child_fail("arguments");
	argv[count++] = end_of_options;
	for (unsigned int i = 0; plugins && i < plugins->count && i < NNA_ENGINE_MAX_PLUGINS; i++)
		argv[count++] = plugins->files[i];
	argv[count] = NULL;
}

__attribute__((noreturn)) static void child_main(const struct spawner *s, int control, int log,
						 const struct spawn_plugins *plugins)
{
	char name[] = WORKER_NAME, text[WORKER_TEXT];
	char *argv[NNA_ENGINE_MAX_PLUGINS + WORKER_WORDS + 3] = { name };
	char *envp[ENVIRONMENT_MAX + 2];
	struct worker_options options = s->options;
	int program = move_up(s->program);
	struct message go;
	sigset_t none;
	int n;

	child_files(program, move_up(control), move_up(log));
	log_to_relay();
	/* Wait until the broker has written the id maps. */
	do {
		n = message_receive(WORKER_CONTROL_FD, BROKER_TO_WORKER, 0, &go, NULL);
	} while (n < 0 && errno == EAGAIN);
	if (n <= 0)
		_exit(0);
	if (options.isolation == ISOLATE_USERNS)
		child_keep_capabilities();
	options.uid = options.isolation == ISOLATE_USERNS ? 0 : s->uid;
	options.gid = options.isolation == ISOLATE_USERNS ? 0 : s->gid;
	options.plugins = plugins ? plugins->folder : NULL;
	options.probe = plugins && plugins->probe;
	child_arguments(&options, text, plugins, argv + 1);
	child_environment(s, envp);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
	child_fail("exec");
}

/* ---- the broker's side ---- */

static bool put_file(pid_t pid, const char *file, const char *text)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = write(fd, text, strlen(text));
		close(fd);
	}
	if (n < 0)
		log_error("%s: %s", path, strerror(errno));
	return n >= 0;
}

/*
 * Maps user id 0 and group id 0 of the worker's user namespace to s->uid and s->gid outside the
 * namespace.
 */
static bool map_ids(const struct spawner *s, pid_t pid)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", (unsigned int)s->uid);
	snprintf(gids, sizeof(gids), "0 %u 1", (unsigned int)s->gid);
	/* An unprivileged process may write a group map only after it has forbidden setgroups(). */
	if (geteuid() && !put_file(pid, "setgroups", "deny"))
		return false;
	return put_file(pid, "gid_map", gids) && put_file(pid, "uid_map", uids);
}

static bool release_child(const struct spawner *s, const struct spawned *spawned)
{
	const struct message go = { .kind = WORKER_GO };

	if (s->options.isolation == ISOLATE_USERNS && !map_ids(s, spawned->pid))
		return false;
	return message_send(spawned->control, &go, -1);
}

bool spawn_control(int ends[2])
{
	const struct timeval patience = { .tv_sec = WORKER_PATIENCE_S };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	/* If the keeper of the cache is slow, the worker continues without the cache. */
	setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return true;
}

bool spawn_worker(const struct spawner *s, int cgroup, const struct spawn_plugins *plugins,
		  struct spawned *spawned)
{
	int control[2], log[2];

	if (!spawn_control(control)) {
		log_error("cannot start a worker: socketpair: %s", strerror(errno));
		return false;
	}
	if (pipe2(log, O_CLOEXEC)) {
		log_error("cannot start a worker: pipe: %s", strerror(errno));
		close(control[0]);
		close(control[1]);
		return false;
	}
	fcntl(log[0], F_SETFL, O_NONBLOCK);
	spawned->control = control[0];
	spawned->log = log[0];
	spawned->pid = clone_process(s->options.isolation, cgroup, &spawned->pidfd);
	if (spawned->pid == 0) {
		/*
		 * The child closes the broker's end of the socket, because an open copy of that end
		 * would hide the broker's death from the child.
		 */
		close(control[0]);
		child_main(s, control[1], log[1], plugins);
	}
	close(control[1]);
	close(log[1]);
	if (spawned->pid < 0) {
		log_error("cannot start a worker: clone3: %s", strerror(errno));
	} else if (release_child(s, spawned)) {
		return true;
	} else {
		spawned_kill(spawned);
		waitid(P_PIDFD, (id_t)spawned->pidfd, &(siginfo_t){ 0 }, WEXITED);
		close(spawned->pidfd);
	}
	close(control[0]);
	close(log[0]);
	return false;
}

/* For each worker, the broker needs a pidfd, a socket and a pipe. */
void spawn_raise_files(unsigned int workers)
{
	rlim_t wanted = 3 * (rlim_t)workers + 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < wanted)
		log_warning("the limit of open files, %llu, is too low for %u workers",
			    (unsigned long long)limit.rlim_cur, workers);
}

bool spawned_pass_session(const struct spawned *spawned, int session)
{
	const struct message message = { .kind = WORKER_SESSION };

	return message_send(spawned->control, &message, session);
}

bool spawned_is_ready(const struct spawned *spawned)
{
	struct message message;

	return message_receive(spawned->control, WORKER_TO_BROKER, MSG_DONTWAIT, &message, NULL) > 0;
}

void spawned_kill(const struct spawned *spawned)
{
	syscall(SYS_pidfd_send_signal, spawned->pidfd, SIGKILL, NULL, 0);
}
