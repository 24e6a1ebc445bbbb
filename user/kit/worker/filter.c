// SPDX-License-Identifier: MIT
/*
 * A seccomp filter with the system calls that a worker may make. A system call that the filter does
 * not allow ends the process. A few calls without which the C library also works fail with an errno
 * instead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/nnaccel.h>
#include <linux/sync_file.h>

#include "kit/api/engine.h"
#include "kit/api/files.h"
#include "kit/api/log.h"
#include "kit/worker/filter.h"
#include "kit/worker/worker.h"

#define MAX_CONDITIONS 2

/* A rule of the filter: the system call `call` is allowed if its arguments meet all conditions. */
struct rule {
	int call;
	unsigned int num_conditions;
	struct scmp_arg_cmp conditions[MAX_CONDITIONS];
};

#define ANY(name) { .call = SCMP_SYS(name) }
#define IF(name, ...) { .call = SCMP_SYS(name), \
	.num_conditions = sizeof((struct scmp_arg_cmp[]){ __VA_ARGS__ }) / \
			  sizeof(struct scmp_arg_cmp), \
	.conditions = { __VA_ARGS__ } }
#define ARG(n, value) { (n), SCMP_CMP_EQ, (value), 0 }
#define WITHOUT(n, bits) { (n), SCMP_CMP_MASKED_EQ, (bits), 0 }
#define ONLY(n, bits, among) { (n), SCMP_CMP_MASKED_EQ, (among), (bits) }

static const struct rule rules[] = {
	/* System calls on the session, the log and the broker's socket. */
	IF(ioctl, ARG(0, WORKER_SESSION_FD), ARG(1, NNACCEL_SESSION_ATTACH)),
	IF(ioctl, ARG(0, WORKER_SESSION_FD), ARG(1, NNACCEL_SESSION_FETCH)),
	IF(ioctl, ARG(0, WORKER_SESSION_FD), ARG(1, NNACCEL_SESSION_COMMIT)),
	IF(ioctl, ARG(0, WORKER_SESSION_FD), ARG(1, NNACCEL_SESSION_SLOT)),
	IF(ioctl, ARG(0, WORKER_SESSION_FD), ARG(1, NNACCEL_SESSION_SYNC)),
	IF(write, ARG(0, STDERR_FILENO)),
	IF(writev, ARG(0, STDERR_FILENO)),
	IF(write, ARG(0, WORKER_CONTROL_FD)),
	IF(recvmsg, ARG(0, WORKER_CONTROL_FD)),
	IF(close, ARG(0, WORKER_CONTROL_FD)),
	IF(close, ARG(0, WORKER_FILE_FD)),

	/* System calls for memory that is never executable. */
	IF(mmap, WITHOUT(2, PROT_EXEC)),
	IF(mprotect, WITHOUT(2, PROT_EXEC)),
	ANY(munmap),
	ANY(mremap),
	ANY(madvise),
	ANY(brk),

	/*
	 * System calls that threads make from their start on, such as rseq() and the call that
	 * names a thread, and system calls for time.
	 */
	ANY(rseq),
	ANY(set_robust_list),
	IF(prctl, ARG(0, PR_SET_NAME)),
	ANY(futex),
	ANY(sched_yield),
	ANY(sched_getaffinity),
	ANY(getcpu),		/* getcpu() is allowed, because the vDSO may lack getcpu() */
	ANY(clock_gettime),
	ANY(getrandom),
	ANY(sysinfo),		/* qsort() calls sysinfo() for large arrays */
	ANY(restart_syscall),

	/* System calls for signal handlers and for abort(). */
	ANY(rt_sigreturn),
	ANY(rt_sigprocmask),
	ANY(rt_sigaction),
	ANY(sigaltstack),
	ANY(getpid),
	ANY(gettid),

	ANY(exit),
	ANY(exit_group),
};

/*
 * Additional system calls while plug-ins are loaded: those of dlopen(), and the call that installs
 * the final filter.
 */
static const struct rule plugin_rules[] = {
	IF(openat, ONLY(2, O_RDONLY, O_ACCMODE | O_CREAT | O_TMPFILE)),
	ANY(read),
	ANY(pread64),
	ANY(fstat),
	ANY(newfstatat),
	ANY(close),
	IF(mmap, ONLY(2, PROT_EXEC, PROT_EXEC | PROT_WRITE), WITHOUT(3, MAP_ANONYMOUS)),
	IF(prctl, ARG(0, PR_SET_NO_NEW_PRIVS)),
	ANY(seccomp),
};

/* Rules of the filter for an engine that calls poll() on its own files. */
static const struct rule poll_rules[] = {
#ifdef SYS_poll
	ANY(poll),
#endif
	ANY(ppoll),
};

/*
 * The flags of clone() that pthread_create() uses. Other flags of clone() would create a process or
 * namespaces.
 */
#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define NO_THREAD (CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
		   CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_PTRACE | CLONE_VFORK)

static const struct rule thread_rule = IF(clone, ONLY(0, THREAD, THREAD | NO_THREAD));

static const struct rule code_rules[] = {
	IF(mmap, ONLY(3, MAP_ANONYMOUS, MAP_ANONYMOUS)),
	ANY(mprotect),
};

/* Additional ioctl() requests on the session, for an engine that uses drivers. */
static const struct rule driver_rules[] = {
	IF(ioctl, ARG(0, WORKER_SESSION_FD), ARG(1, NNACCEL_SESSION_GRANT_FD)),
	IF(ioctl, ARG(0, WORKER_SESSION_FD), ARG(1, NNACCEL_SESSION_FENCE)),
};

/*
 * ioctl() requests on a dma-buf or sync_file. The filter compares only 32 bits of an ioctl()
 * request.
 */
static const uint32_t driver_requests[] = {
	DMA_BUF_IOCTL_SYNC, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
	SYNC_IOC_MERGE, SYNC_IOC_FILE_INFO,
};

static int add(scmp_filter_ctx filter, const struct rule *rule)
{
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rule->call, rule->num_conditions,
				      rule->conditions);
}

/*
 * Makes openat() fail with EACCES instead of ending the process. The malloc() of glibc reads the
 * number of processors and the overcommit mode from files, but works without the files.
 */
static int refuse_open(scmp_filter_ctx filter)
{
	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 0, NULL);
}

static int add_all(scmp_filter_ctx filter, const struct rule *list, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = add(filter, &list[i]);
	return error;
}

/* Allows the system calls that an engine makes on its own file `fd`. */
static int add_file(scmp_filter_ctx filter, const struct nna_engine_file *file, int fd)
{
	const struct rule reading[] = {
		IF(read, ARG(0, (scmp_datum_t)fd)),
		IF(pread64, ARG(0, (scmp_datum_t)fd)),
	};
	const struct rule writing[] = {
		IF(write, ARG(0, (scmp_datum_t)fd)),
		IF(pwrite64, ARG(0, (scmp_datum_t)fd)),
	};
	int error = 0;

	if (file->use & NNA_ENGINE_FILE_READ)
		error = add_all(filter, reading, sizeof(reading) / sizeof(reading[0]));
	if (!error && file->use & NNA_ENGINE_FILE_WRITE)
		error = add_all(filter, writing, sizeof(writing) / sizeof(writing[0]));
	if (!error && file->use & NNA_ENGINE_FILE_POLL)
		error = add_all(filter, poll_rules, sizeof(poll_rules) / sizeof(poll_rules[0]));
	for (uint32_t i = 0; !error && i < file->num_requests; i++) {
		/*
		 * The kernel uses only the lower 32 bits of an ioctl() request, so the filter
		 * ignores the upper bits.
		 */
		const struct rule request = IF(ioctl, ARG(0, (scmp_datum_t)fd),
					       ONLY(1, file->requests[i], UINT32_MAX));

		error = add(filter, &request);
	}
	return error;
}

static int add_files(scmp_filter_ctx filter, const struct nna_engine *engine)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < files_count(engine); i++)
		error = add_file(filter, engine->files[i], nna_engine_file_at(i));
	return error;
}

/*
 * Returns the condition that a system call's first argument is the descriptor of a file that a
 * driver created: its number is above the numbers of the engine's own files.
 */
static struct scmp_arg_cmp is_driver_file(const struct nna_engine *engine)
{
	const uint32_t count = files_count(engine);
	const int last = count ? nna_engine_file_at(count - 1) : WORKER_ENGINE_FD - 1;

	return (struct scmp_arg_cmp){ 0, SCMP_CMP_GE, (scmp_datum_t)last + 1, 0 };
}

/*
 * Allows system calls on files that drivers created. `number` is a condition for a system call's
 * first argument: the argument must be the descriptor of a driver's file.
 */
static int add_driver_files(scmp_filter_ctx filter, struct scmp_arg_cmp number)
{
	const struct rule calls[] = {
		IF(close, number),
		IF(lseek, number),
		IF(fcntl, number, ARG(1, F_DUPFD_CLOEXEC)),
	};
	int error = add_all(filter, calls, sizeof(calls) / sizeof(calls[0]));

	for (size_t i = 0; !error && i < sizeof(driver_requests) / sizeof(driver_requests[0]); i++) {
		const struct rule request = IF(ioctl, number, ONLY(1, driver_requests[i], UINT32_MAX));

		error = add(filter, &request);
	}
	return error;
}

/*
 * Allows the system calls that an engine needs for drivers. The descriptors of files that drivers
 * created are in a separate range of numbers.
 */
static int add_drivers(scmp_filter_ctx filter, const struct nna_engine *engine)
{
	int error = add_all(filter, driver_rules, sizeof(driver_rules) / sizeof(driver_rules[0]));

	if (!error)
		error = add_all(filter, poll_rules, sizeof(poll_rules) / sizeof(poll_rules[0]));
	if (!error)
		error = add_driver_files(filter, (struct scmp_arg_cmp)ARG(0, WORKER_FILE_FD));
	return error ? error : add_driver_files(filter, is_driver_file(engine));
}

/*
 * Allows the system calls that the engine's permissions include. Makes clone3() fail, so that
 * callers use clone() instead: a filter cannot read the arguments of clone3(), which are in memory.
 */
static int add_permissions(scmp_filter_ctx filter, const struct nna_engine *engine)
{
	const struct rule growing = IF(ftruncate, is_driver_file(engine));
	const uint32_t permissions = engine_permissions(engine);
	int error = 0;

	if (permissions & NNA_ENGINE_MAY_MAKE_THREADS) {
		error = add(filter, &thread_rule);
		if (!error)
			error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS),
						       SCMP_SYS(clone3), 0, NULL);
	}
	if (!error && permissions & NNA_ENGINE_MAY_MAKE_CODE)
		error = add_all(filter, code_rules, sizeof(code_rules) / sizeof(code_rules[0]));
	if (!error && permissions & NNA_ENGINE_MAY_USE_DRIVERS)
		error = add_drivers(filter, engine);
	if (!error && permissions & NNA_ENGINE_MAY_GROW_FILES)
		error = add(filter, &growing);
	return error;
}

static bool load(const struct nna_engine *engine, bool for_plugins)
{
	const struct rule kill_self = IF(tgkill, ARG(0, (scmp_datum_t)getpid()));
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int error;

	if (!filter)
		return false;
	error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!error)
		error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/*
	 * Make the filter check for ioctl() before other calls, because an execution makes one
	 * ioctl() and no other system call.
	 */
	if (!error)
		error = seccomp_syscall_priority(filter, SCMP_SYS(ioctl), UINT8_MAX);
	if (!error)
		error = add_all(filter, rules, sizeof(rules) / sizeof(rules[0]));
	if (!error)
		error = add(filter, &kill_self);
	if (!error)
		error = add_files(filter, engine);
	if (!error)
		error = add_permissions(filter, engine);
	if (!error)
		error = for_plugins ? add_all(filter, plugin_rules,
					      sizeof(plugin_rules) / sizeof(plugin_rules[0])) :
				      refuse_open(filter);
	if (!error)
		error = seccomp_load(filter);
	if (error)
		log_error("seccomp: %s", strerror(-error));
	seccomp_release(filter);
	return !error;
}

bool filter_load(const struct nna_engine *engine)
{
	return load(engine, false);
}

bool filter_load_for_plugins(const struct nna_engine *engine)
{
	return load(engine, true);
}
