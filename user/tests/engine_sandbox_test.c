/* SPDX-License-Identifier: MIT */
/*
 * Tests the sandbox of a worker. The test runs the test's own program as a worker, and inspects the
 * worker from outside. Then child processes of the test load the worker's seccomp filter, and try
 * allowed and forbidden system calls.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/random.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/nnaccel.h>

#include "../../selftests/lib/runner.h"
#include "engine/keeper/sandbox.h"
#include "engine/worker/engine.h"
#include "kit/api/files.h"
#include "kit/broker/spawn.h"
#include "kit/cache/message.h"
#include "kit/worker/filter.h"
#include "kit/worker/process.h"
#include "tests/heap_blocks.h"

#define PATIENCE_MS (int)scaled(60000)
#define NOBODY 65534

/*
 * Builds with sanitizers have no memory limit, because sanitizers reserve terabytes of address
 * space.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MAX_MEMORY 0
#else
#define MAX_MEMORY (UINT64_C(1) << 30)
#endif

/* The worker's engine is nnacceld's engine, which additionally may open /dev/urandom. */
static const uint32_t requests[] = { RNDGETENTCNT };
static const struct nna_engine_file random_file = {
	.size = sizeof(random_file), .use = NNA_ENGINE_FILE_READ, .path = "/dev/urandom",
	.requests = requests, .num_requests = 1,
};
static const struct nna_engine_file *const own_files[] = { &random_file, NULL };
static struct nna_engine engine;

static struct spawner spawner;
static struct spawned worker;

/* ---- a worker, seen from outside ---- */

static char *proc_path(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)worker.pid, name);
	return path;
}

static const char *slurp(const char *name)
{
	static char text[16384];
	int fd = open(proc_path(name), O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

/* Returns the value of the line "KEY:<tab>VALUE" in the worker's /proc/PID/status. */
static const char *status_of(const char *key)
{
	static char value[128];
	const char *line = strstr(slurp("status"), key);

	assert_non_null(line);
	line = strchr(line, ':') + 1;
	line += strspn(line, " \t");
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(line, "\n"), line);
	return value;
}

static int wait_exit(void)
{
	struct pollfd ended = { .fd = worker.pidfd, .events = POLLIN };
	siginfo_t info = { 0 };

	assert_int_equal(poll(&ended, 1, PATIENCE_MS), 1);
	assert_int_equal(waitid(P_PIDFD, (id_t)worker.pidfd, &info, WEXITED), 0);
	close(worker.pidfd);
	close(worker.control);
	close(worker.log);
	worker.pidfd = -1;
	return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
}

/* Plug-ins that the worker loads, or NULL. */
static const struct spawn_plugins *plugins;

static int start_worker(void **state)
{
	struct pollfd control;
	char log[512];
	sigset_t all, old;
	ssize_t n;

	(void)state;
	if (spawner.options.isolation == ISOLATE_NONE)
		return 0;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	assert_true(spawn_worker(&spawner, -1, plugins, &worker));
	sigprocmask(SIG_SETMASK, &old, NULL);
	control = (struct pollfd){ .fd = worker.control, .events = POLLIN };
	assert_int_equal(poll(&control, 1, PATIENCE_MS), 1);
	if (spawned_is_ready(&worker))
		return 0;
	n = read(worker.log, log, sizeof(log));
	print_error("the worker did not start: %.*s", n > 0 ? (int)n : 0, log);
	return -1;
}

static int kill_worker(void **state)
{
	(void)state;
	if (worker.pidfd >= 0) {
		spawned_kill(&worker);
		wait_exit();
	}
	return 0;
}

/* Skips a test that needs root, because only root may inspect another user's process. */
static void need_namespaces(bool need_root)
{
	if (spawner.options.isolation == ISOLATE_NONE || (need_root && geteuid()))
		skip();
}

static void test_privileges(void **state)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	char ids[64];

	(void)state;
	need_namespaces(false);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		assert_string_equal(status_of(sets[i]), "0000000000000000");
	assert_string_equal(status_of("NoNewPrivs"), "1");
	assert_string_equal(status_of("Seccomp:"), "2");
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", spawner.uid, spawner.uid, spawner.uid,
		 spawner.uid);
	assert_string_equal(status_of("Uid"), ids);
	snprintf(ids, sizeof(ids), "%d\t1", (int)worker.pid);
	assert_string_equal(status_of("NSpid"), ids);
}

/*
 * A worker blocks no signals even if its broker blocks signals. A worker ignores SIGPIPE, but not
 * SIGTERM or SIGCHLD.
 */
static void test_signals(void **state)
{
	const uint64_t these = 1 << (SIGTERM - 1) | 1 << (SIGCHLD - 1) | 1 << (SIGPIPE - 1);

	(void)state;
	need_namespaces(false);
	assert_string_equal(status_of("SigBlk"), "0000000000000000");
	assert_int_equal(strtoull(status_of("SigIgn"), NULL, 16) & these, 1 << (SIGPIPE - 1));
}

/*
 * From the broker's environment variables, a worker inherits only NNACCEL_SPIN_US and the variables
 * of the engine.
 */
static void test_environment(void **state)
{
	static const char *const names[] = { "NN_TEST_NONE", "NN_TEST_ONE", "NN_TEST", NULL };
	static const char text[] = "NNACCEL_SPIN_US=17\0NN_TEST_ONE=1=2\0NN_TEST=";

	(void)state;
	need_namespaces(true);
	kill_worker(state);
	setenv("NNACCEL_SPIN", "1", 1);
	setenv("NNACCEL_SPIN_US", "17", 1);
	setenv("NN_TEST_ONE", "1=2", 1);
	setenv("NN_TEST", "", 1);
	spawner.environment = names;
	assert_int_equal(start_worker(state), 0);
	spawner.environment = NULL;
	unsetenv("NNACCEL_SPIN_US");
	unsetenv("NNACCEL_SPIN");
	assert_memory_equal(slurp("environ"), text, sizeof(text));
	assert_int_equal(slurp("environ")[sizeof(text)], 0);
	assert_string_equal(slurp("comm"), WORKER_NAME "\n");
}

static void test_every_thread_is_filtered(void **state)
{
	int threads, filtered = 0;
	struct dirent *entry;
	DIR *tasks;

	(void)state;
	need_namespaces(false);
	threads = atoi(status_of("Threads"));
	assert_true(threads >= 2);
	tasks = opendir(proc_path("task"));
	assert_non_null(tasks);
	while ((entry = readdir(tasks))) {
		char name[300];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "task/%s/status", entry->d_name);
		filtered += strstr(slurp(name), "Seccomp:\t2") != NULL;
	}
	closedir(tasks);
	assert_int_equal(filtered, threads);
}

static void test_namespaces(void **state)
{
	static const char *const names[] = { "ns/user", "ns/pid", "ns/mnt", "ns/net", "ns/ipc",
					     "ns/uts", "ns/cgroup" };
	char own[64], its[64], path[64];
	size_t first = spawner.options.isolation == ISOLATE_USERNS ? 0 : 1;

	(void)state;
	need_namespaces(true);
	for (size_t i = first; i < sizeof(names) / sizeof(names[0]); i++) {
		ssize_t own_size, its_size;

		snprintf(path, sizeof(path), "/proc/self/%s", names[i]);
		own_size = readlink(path, own, sizeof(own));
		its_size = readlink(proc_path(names[i]), its, sizeof(its));
		assert_true(own_size > 0 && its_size > 0);
		assert_false(own_size == its_size && !memcmp(own, its, (size_t)own_size));
	}
	if (first)
		return;
	snprintf(own, sizeof(own), "%10u %10u %10u\n", 0, spawner.uid, 1);
	assert_string_equal(slurp("uid_map"), own);
}

static void test_root_is_empty(void **state)
{
	struct dirent *entry;
	const char *mounts;
	DIR *root;

	(void)state;
	need_namespaces(true);
	root = opendir(proc_path("root/"));
	assert_non_null(root);
	while ((entry = readdir(root)))
		assert_true(!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."));
	closedir(root);
	mounts = slurp("mounts");
	assert_non_null(strstr(mounts, "none / tmpfs ro,"));
	assert_ptr_equal(strchr(mounts, '\n'), mounts + strlen(mounts) - 1);
}

/* After two lines of headings, a worker's /proc/net/dev lists at most the loopback device. */
static void test_no_network(void **state)
{
	const char *devices, *line;
	int lines = 0;

	(void)state;
	need_namespaces(true);
	devices = slurp("net/dev");
	for (line = devices; (line = strchr(line, '\n')); line++)
		lines++;
	assert_true(lines == 2 || (lines == 3 && strstr(devices, " lo:")));
}

static void test_files(void **state)
{
	struct stat null, in, out;
	struct dirent *entry;
	int count = 0;
	DIR *files;

	(void)state;
	need_namespaces(true);
	files = opendir(proc_path("fd"));
	assert_non_null(files);
	while ((entry = readdir(files))) {
		if (entry->d_name[0] == '.')
			continue;
		assert_true(atoi(entry->d_name) <= WORKER_CONTROL_FD ||
			    atoi(entry->d_name) == WORKER_ENGINE_FD);
		count++;
	}
	closedir(files);
	assert_int_equal(count, WORKER_CONTROL_FD + 2);
	assert_int_equal(stat("/dev/null", &null), 0);
	assert_int_equal(stat(proc_path("fd/0"), &in), 0);
	assert_int_equal(stat(proc_path("fd/1"), &out), 0);
	assert_true(in.st_rdev == null.st_rdev && out.st_rdev == null.st_rdev);
}

static void test_limits(void **state)
{
	const char *limits;

	(void)state;
	need_namespaces(true);
	limits = slurp("limits");
	assert_non_null(strstr(limits, "Max core file size        0                    0 "));
	assert_non_null(strstr(limits, "Max processes             0                    0 "));
	assert_non_null(strstr(limits, "Max open files            5                    5 "));
	assert_non_null(strstr(limits, "Max file size             0                    0 "));
	if (spawner.options.max_memory)
		assert_non_null(strstr(limits, "Max data size             1073741824 "));
}

/*
 * A worker that is started with the log level PERMITTED uses an engine with all permissions, whose
 * start() is start_with_file().
 */
#define PERMITTED LOG_DEBUG

static void test_limit_of_threads(void **state)
{
	need_namespaces(true);
	kill_worker(state);
	spawner.options.log_level = PERMITTED;
	assert_int_equal(start_worker(state), 0);
	spawner.options.log_level = LOG_INFO;
	if (spawner.options.isolation == ISOLATE_USERNS)
		assert_non_null(strstr(slurp("limits"),
				       "Max processes             256                  256 "));
	assert_non_null(strstr(slurp("limits"),
			       "Max open files            71                   71 "));
	if (spawner.options.max_memory)
		assert_non_null(strstr(slurp("limits"), "Max file size             1073741824 "));
}

static void test_ends_with_the_broker(void **state)
{
	(void)state;
	need_namespaces(false);
	shutdown(worker.control, SHUT_RDWR);
	assert_int_equal(wait_exit(), 0);
}

static void test_refuses_what_is_no_session(void **state)
{
	char line[256] = "";
	struct pollfd log;

	(void)state;
	need_namespaces(false);
	assert_true(message_send(worker.control, &(struct message){ .kind = WORKER_SESSION }, -1));
	log = (struct pollfd){ .fd = worker.log, .events = POLLIN };
	assert_int_equal(poll(&log, 1, PATIENCE_MS), 1);
	assert_true(read(worker.log, line, sizeof(line) - 1) > 0);
	assert_non_null(strstr(line, "the broker's message has no session"));
	assert_int_equal(wait_exit(), WORKER_EXIT_FAILURE);
}

/*
 * A worker ends if the file that the broker passes is not a session. The worker only calls an ioctl
 * of sessions on the passed file, and does not read from the file.
 */
static void test_refuses_a_foreign_file(void **state)
{
	int null = open("/dev/null", O_RDWR);

	(void)state;
	need_namespaces(false);
	assert_true(spawned_pass_session(&worker, null));
	close(null);
	assert_int_equal(wait_exit(), WORKER_EXIT_FAILURE);
}

/* ---- the filter ---- */

/*
 * The seccomp filter's action on a system call. A system call with the verdict REFUSED fails with
 * EACCES.
 */
enum verdict { ALLOWED = 0, REFUSED = 1, KILLED, BROKEN };

static long open_file(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY);
}

static long make_socket(void)
{
	return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
}

static long execute(void)
{
	return syscall(SYS_execve, "/bin/true", NULL, NULL);
}

static long make_process(void)
{
	return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void *nothing(void *arg)
{
	return arg;
}

/*
 * Starts a thread and waits for the thread's end. The process exits with the status BROKEN if a
 * call returns an error.
 */
static long make_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		_exit(BROKEN);
	return 0;
}

static long make_process_with_memory(void)
{
	return syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM,
		       NULL, NULL, NULL, NULL);
}

static long make_thread_in_namespace(void)
{
	return syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		       CLONE_THREAD | CLONE_SYSVSEM | CLONE_NEWNET, NULL, NULL, NULL, NULL);
}

static long make_process3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long map_executable(void)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
}

static long make_executable(void)
{
	return syscall(SYS_mprotect, NULL, 0, PROT_READ | PROT_EXEC);
}

static long map_file_executable(void)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, -1, 0);
}

/* Makes memory executable, as a compiler at run time does. */
static long compile(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED || mprotect(code, 4096, PROT_READ | PROT_EXEC))
		_exit(BROKEN);
	return 0;
}

static long other_ioctl(void)
{
	return syscall(SYS_ioctl, WORKER_SESSION_FD, FIONREAD, NULL);
}

static long other_file_ioctl(void)
{
	return syscall(SYS_ioctl, STDIN_FILENO, NNACCEL_SESSION_FETCH, NULL);
}

static long read_file(void)
{
	return syscall(SYS_read, STDIN_FILENO, NULL, 0);
}

static long write_file(void)
{
	return syscall(SYS_write, STDOUT_FILENO, NULL, 0);
}

static long signal_other(void)
{
	return syscall(SYS_kill, getppid(), 0);
}

static long signal_other_thread(void)
{
	return syscall(SYS_tgkill, 1, 1, 0);
}

static long trace(void)
{
	return syscall(SYS_ptrace, 0, 0, NULL, NULL);
}

static long control_process(void)
{
	return syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static long name_thread(void)
{
	return syscall(SYS_prctl, PR_SET_NAME, "thread", 0, 0, 0);
}

static long make_namespace(void)
{
	return syscall(SYS_unshare, 0);
}

static long load_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}

static long make_ring(void)
{
	return syscall(SYS_io_uring_setup, 0, NULL);
}

static long map_memory(void)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
}

static long protect_memory(void)
{
	return syscall(SYS_mprotect, NULL, 0, PROT_READ);
}

static long tell_time(void)
{
	struct timespec now;

	return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
}

static long use_session(void)
{
	return syscall(SYS_ioctl, WORKER_SESSION_FD, NNACCEL_SESSION_FETCH, NULL);
}

static long write_log(void)
{
	return syscall(SYS_write, STDERR_FILENO, NULL, 0);
}

static long use_own_file(void)
{
	int bits;

	return syscall(SYS_ioctl, nna_engine_file_at(0), RNDGETENTCNT, &bits);
}

static long read_own_file(void)
{
	char byte;

	return syscall(SYS_read, nna_engine_file_at(0), &byte, 1);
}

static long other_ioctl_of_own_file(void)
{
	return syscall(SYS_ioctl, nna_engine_file_at(0), RNDCLEARPOOL, NULL);
}

static long write_own_file(void)
{
	return syscall(SYS_write, nna_engine_file_at(0), NULL, 0);
}

static long await_file(void)
{
	struct timespec none = { 0, 0 };

	return syscall(SYS_ppoll, NULL, 0, &none, NULL, 0);
}

/* Calls an ioctl of the session that needs the permission to use drivers. */
static long export_memory(void)
{
	return syscall(SYS_ioctl, WORKER_SESSION_FD, NNACCEL_SESSION_GRANT_FD, NULL);
}

static long get_dependency(void)
{
	return syscall(SYS_ioctl, WORKER_SESSION_FD, NNACCEL_SESSION_FENCE, NULL);
}

static long close_dmabuf(void)
{
	return syscall(SYS_close, nna_engine_file_at(0) + 1);
}

static long size_dmabuf(void)
{
	return syscall(SYS_lseek, nna_engine_file_at(0) + 1, 0, SEEK_END);
}

static long duplicate_dmabuf(void)
{
	return syscall(SYS_fcntl, nna_engine_file_at(0) + 1, F_DUPFD_CLOEXEC, 3);
}

static long own_dmabuf(void)
{
	return syscall(SYS_fcntl, nna_engine_file_at(0) + 1, F_SETOWN, getppid());
}

static long grow_file(void)
{
	return syscall(SYS_ftruncate, nna_engine_file_at(0) + 1, 0);
}

static long grow_own_file(void)
{
	return syscall(SYS_ftruncate, nna_engine_file_at(0), 0);
}

static long close_own_file(void)
{
	return syscall(SYS_close, nna_engine_file_at(0));
}

static long ask_fence(void)
{
	return syscall(SYS_ioctl, nna_engine_file_at(0) + 1, SYNC_IOC_FILE_INFO, NULL);
}

static long ask_dmabuf(void)
{
	return syscall(SYS_ioctl, WORKER_FILE_FD, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, NULL);
}

static long name_dmabuf(void)
{
	return syscall(SYS_ioctl, nna_engine_file_at(0) + 1, DMA_BUF_SET_NAME_A, NULL);
}

static long ask_own_file(void)
{
	return syscall(SYS_ioctl, nna_engine_file_at(0), SYNC_IOC_FILE_INFO, NULL);
}

static const struct {
	const char *name;
	long (*call)(void);
	enum verdict verdict;
} calls[] = {
	{ "open", open_file, REFUSED },
	{ "socket", make_socket, KILLED },
	{ "execve", execute, KILLED },
	{ "clone", make_process, KILLED },
	{ "clone3", make_process3, KILLED },
	{ "mmap with PROT_EXEC", map_executable, KILLED },
	{ "mprotect with PROT_EXEC", make_executable, KILLED },
	{ "ioctl of another number", other_ioctl, KILLED },
	{ "ioctl of another file", other_file_ioctl, KILLED },
	{ "read", read_file, KILLED },
	{ "write to another file", write_file, KILLED },
	{ "kill", signal_other, KILLED },
	{ "tgkill of another process", signal_other_thread, KILLED },
	{ "ptrace", trace, KILLED },
	{ "prctl", control_process, KILLED },
	{ "unshare", make_namespace, KILLED },
	{ "bpf", load_bpf, KILLED },
	{ "io_uring_setup", make_ring, KILLED },
	{ "ioctl of another number of the engine's file", other_ioctl_of_own_file, KILLED },
	{ "write to the engine's file", write_own_file, KILLED },
	{ "ppoll", await_file, KILLED },
	{ "ioctl of the engine's file", use_own_file, ALLOWED },
	{ "read of the engine's file", read_own_file, ALLOWED },
	{ "mmap", map_memory, ALLOWED },
	{ "mprotect", protect_memory, ALLOWED },
	{ "clock_gettime", tell_time, ALLOWED },
	{ "a thread's name", name_thread, ALLOWED },
	{ "ioctl of the session", use_session, ALLOWED },
	{ "write to the log", write_log, ALLOWED },
};

static bool load_filter(void)
{
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && files_open(&engine) &&
	       filter_load(&engine);
}

/*
 * Runs a process that loads a seccomp filter and makes one system call; returns the filter's
 * verdict.
 */
static enum verdict try_call(bool (*load)(void), long (*call)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (!load())
			_exit(BROKEN);
		_exit(call() < 0 && errno == EACCES ? REFUSED : ALLOWED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : BROKEN;
	return WEXITSTATUS(status);
}

/*
 * System calls that an engine's permissions allow, and system calls that remain forbidden despite
 * the permissions.
 */
static const struct {
	const char *name;
	uint32_t permissions;
	long (*call)(void);
	enum verdict verdict;
} permitted[] = {
	{ "a thread", 0, make_thread, KILLED },
	{ "a thread", NNA_ENGINE_MAY_MAKE_CODE, make_thread, KILLED },
	{ "a thread", NNA_ENGINE_MAY_MAKE_THREADS, make_thread, ALLOWED },
	{ "a process", NNA_ENGINE_MAY_MAKE_THREADS, make_process, KILLED },
	{ "a process with memory", NNA_ENGINE_MAY_MAKE_THREADS, make_process_with_memory, KILLED },
	{ "a namespace", NNA_ENGINE_MAY_MAKE_THREADS, make_thread_in_namespace, KILLED },
	{ "code", 0, compile, KILLED },
	{ "code", NNA_ENGINE_MAY_MAKE_THREADS, compile, KILLED },
	{ "code", NNA_ENGINE_MAY_MAKE_CODE, compile, ALLOWED },
	{ "code of a file", NNA_ENGINE_MAY_MAKE_CODE, map_file_executable, KILLED },
	{ "a dma-buf of memory", 0, export_memory, KILLED },
	{ "a dma-buf of memory", NNA_ENGINE_MAY_USE_DRIVERS, export_memory, ALLOWED },
	{ "a fence to wait for", 0, get_dependency, KILLED },
	{ "a fence to wait for", NNA_ENGINE_MAY_USE_DRIVERS, get_dependency, ALLOWED },
	{ "close of a dma-buf", 0, close_dmabuf, KILLED },
	{ "close of a dma-buf", NNA_ENGINE_MAY_USE_DRIVERS, close_dmabuf, ALLOWED },
	{ "close of the engine's file", NNA_ENGINE_MAY_USE_DRIVERS, close_own_file, KILLED },
	{ "a fence's state", 0, ask_fence, KILLED },
	{ "a fence's state", NNA_ENGINE_MAY_USE_DRIVERS, ask_fence, ALLOWED },
	{ "a dma-buf's fence", 0, ask_dmabuf, KILLED },
	{ "a dma-buf's fence", NNA_ENGINE_MAY_USE_DRIVERS, ask_dmabuf, ALLOWED },
	{ "a dma-buf's name", NNA_ENGINE_MAY_USE_DRIVERS, name_dmabuf, KILLED },
	{ "a fence of the engine's file", NNA_ENGINE_MAY_USE_DRIVERS, ask_own_file, KILLED },
	{ "ppoll", NNA_ENGINE_MAY_USE_DRIVERS, await_file, ALLOWED },
	{ "a dma-buf's size", NNA_ENGINE_MAY_GROW_FILES, size_dmabuf, KILLED },
	{ "a dma-buf's size", NNA_ENGINE_MAY_USE_DRIVERS, size_dmabuf, ALLOWED },
	{ "a dma-buf's duplicate", NNA_ENGINE_MAY_GROW_FILES, duplicate_dmabuf, KILLED },
	{ "a dma-buf's duplicate", NNA_ENGINE_MAY_USE_DRIVERS, duplicate_dmabuf, ALLOWED },
	{ "a dma-buf's owner", NNA_ENGINE_MAY_USE_DRIVERS, own_dmabuf, KILLED },
	{ "a file's growth", NNA_ENGINE_MAY_USE_DRIVERS, grow_file, KILLED },
	{ "a file's growth", NNA_ENGINE_MAY_GROW_FILES, grow_file, ALLOWED },
	{ "growth of the engine's file", NNA_ENGINE_MAY_GROW_FILES, grow_own_file, KILLED },
	{ "a program", NNA_ENGINE_MAY_MAKE_CODE | NNA_ENGINE_MAY_MAKE_THREADS, execute, KILLED },
};

static void test_permissions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(permitted) / sizeof(permitted[0]); i++) {
		enum verdict verdict;

		engine.permissions = permitted[i].permissions;
		verdict = try_call(load_filter, permitted[i].call);
		if (verdict != permitted[i].verdict)
			fail_msg("%s with %u: verdict %d, not %d", permitted[i].name,
				 permitted[i].permissions, verdict, permitted[i].verdict);
	}
	/*
	 * An engine that was built with an older header, which lacks the field `permissions`, has
	 * no permissions.
	 */
	engine.size = offsetof(struct nna_engine, permissions);
	engine.permissions = UINT32_MAX;
	assert_int_equal(try_call(load_filter, make_thread), KILLED);
	engine.size = sizeof(engine);
	engine.permissions = 0;
}

static void test_filter(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		enum verdict verdict = try_call(load_filter, calls[i].call);

		if (verdict != calls[i].verdict)
			fail_msg("%s: verdict %d, not %d", calls[i].name, verdict,
				 calls[i].verdict);
	}
}

/* ---- the keeper's filter ---- */

static bool load_keepers_filter(void)
{
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && sandbox_filter_calls();
}

static long set_owner(void)
{
	return syscall(SYS_fcntl, STDIN_FILENO, F_SETOWN, getppid());
}

static long set_owner_ex(void)
{
	return syscall(SYS_fcntl, STDIN_FILENO, F_SETOWN_EX, NULL);
}

static long set_signal(void)
{
	return syscall(SYS_fcntl, STDIN_FILENO, F_SETSIG, SIGKILL);
}

static long set_flags(void)
{
	return syscall(SYS_fcntl, STDIN_FILENO, F_SETFL, O_ASYNC);
}

static long set_lock(void)
{
	struct flock lock = { .l_type = F_UNLCK };

	return syscall(SYS_fcntl, STDIN_FILENO, F_SETLK, &lock);
}

static long seal_memory(void)
{
	return syscall(SYS_fcntl, STDIN_FILENO, F_ADD_SEALS, F_SEAL_GROW);
}

/* The keeper may lock and seal files, but cannot make the kernel send signals for files. */
static void test_keepers_filter(void **state)
{
	static long (*const killed[])(void) = {
		set_owner, set_owner_ex, set_signal, set_flags, make_socket, execute,
	};
	static long (*const allowed[])(void) = { set_lock, seal_memory, map_memory, tell_time };

	(void)state;
	for (size_t i = 0; i < sizeof(killed) / sizeof(killed[0]); i++)
		assert_int_equal(try_call(load_keepers_filter, killed[i]), KILLED);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		assert_int_equal(try_call(load_keepers_filter, allowed[i]), ALLOWED);
}

static int find_isolation(void **state)
{
	(void)state;
	worker.pidfd = -1;
	spawner.path = "/proc/self/exe";
	spawner.uid = geteuid() ? geteuid() : NOBODY;
	spawner.gid = geteuid() ? getegid() : NOBODY;
	spawner.options.log_level = LOG_INFO;
	spawner.options.max_memory = MAX_MEMORY;
	spawner.allow_none = true;
	return spawner_init(&spawner) ? 0 : -1;
}

/* Makes a file as a driver does, and grows the file. The library does not use the file's number. */
static bool start_with_file(const struct nna_engine *e)
{
	const int file = memfd_create("driver", MFD_CLOEXEC);

	return file > nna_engine_file_at(0) && !ftruncate(file, 4096) && cpu_engine.start(e);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_privileges, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_signals, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_environment, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_every_thread_is_filtered, start_worker,
						kill_worker),
		cmocka_unit_test_setup_teardown(test_namespaces, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_root_is_empty, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_no_network, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_files, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_limits, start_worker, kill_worker),
		cmocka_unit_test_setup_teardown(test_ends_with_the_broker, start_worker,
						kill_worker),
		cmocka_unit_test_setup_teardown(test_refuses_what_is_no_session, start_worker,
						kill_worker),
		cmocka_unit_test_setup_teardown(test_refuses_a_foreign_file, start_worker,
						kill_worker),
		cmocka_unit_test_setup_teardown(test_limit_of_threads, start_worker, kill_worker),
		heap_unit_test(test_filter),
		heap_unit_test(test_permissions),
		heap_unit_test(test_keepers_filter),
	};

	engine = cpu_engine;
	engine.files = own_files;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--log-level=3")) {
			engine.permissions = NNA_ENGINE_MAY_MAKE_THREADS | NNA_ENGINE_MAY_MAKE_CODE |
					     NNA_ENGINE_MAY_USE_DRIVERS | NNA_ENGINE_MAY_GROW_FILES;
			engine.start = start_with_file;
		}
	if (argc > 0 && !strcmp(argv[0], WORKER_NAME))
		worker_main(&engine, argc, argv);
	return cmocka_run_group_tests_name("engine sandbox", tests, find_isolation, NULL);
}
