// SPDX-License-Identifier: MIT
/*
 * The keeper's sandbox, which the keeper enters before it reads messages of workers. In the sandbox
 * the keeper has no privileges, no access to files outside its folder, and only the system calls
 * that SQLite, plans and sockets need.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/keeper/sandbox.h"
#include "kit/api/log.h"

/*
 * All rights of Landlock's first version. The sandbox does not restrict rights of later Landlock
 * versions.
 */
#define HANDLED ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* Landlock rights in the keeper's folder and in the folder's subfolder. */
#define ALLOWED (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
		 LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
		 LANDLOCK_ACCESS_FS_REMOVE_FILE)

static bool restrict_files(int rules, const char *folder)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = ALLOWED,
		.parent_fd = open(folder, O_PATH | O_CLOEXEC),
	};
	bool done = rule.parent_fd >= 0 &&
		    !syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) &&
		    !syscall(SYS_landlock_restrict_self, rules, 0);

	if (!done)
		log_error("the compilation cache's keeper: cannot restrict files to %s: %s", folder,
			  strerror(errno));
	if (rule.parent_fd >= 0)
		close(rule.parent_fd);
	return done;
}

bool sandbox_keep_folder(const char *folder)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = HANDLED };
	int rules;
	bool done;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		log_error("the compilation cache's keeper: no_new_privs: %s", strerror(errno));
		return false;
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0) {
		log_info("the compilation cache's keeper: no Landlock here (%s): files are not "
			 "restricted", strerror(errno));
		return true;
	}
	done = restrict_files(rules, folder);
	close(rules);
	return done;
}

static const int calls[] = {
	/* System calls for open sockets, including sockets that the broker sends. */
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg),
	SCMP_SYS(accept4), SCMP_SYS(shutdown),

	/* Files. */
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(readv),
	SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(close),
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx),
	SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(getcwd), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(ftruncate),
	SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(fallocate),
	SCMP_SYS(fchmod), SCMP_SYS(fchown), SCMP_SYS(fstatfs), SCMP_SYS(getdents64),
	SCMP_SYS(memfd_create),

	/* System calls for memory, existing threads, and the time. */
	SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex),
	SCMP_SYS(rseq), SCMP_SYS(set_robust_list), SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(getrandom), SCMP_SYS(sysinfo),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(restart_syscall),

	/* System calls for signals, and for the end of the process. */
	SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction),
	SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/*
 * The allowed commands of fcntl(). Commands that set a file's owner or signal are forbidden,
 * because they could send signals to other processes.
 */
static const int file_commands[] = {
	F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_GETLK, F_SETLK, F_SETLKW, F_ADD_SEALS,
	F_GET_SEALS,
};

static int allow_file_commands(scmp_filter_ctx filter)
{
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(file_commands) / sizeof(file_commands[0]); i++) {
		const struct scmp_arg_cmp is = {
			1, SCMP_CMP_EQ, (scmp_datum_t)file_commands[i], 0,
		};

		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, &is);
	}
	return error;
}

static int allow_all(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp no_code = { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 };
	const struct scmp_arg_cmp self = { 0, SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0 };
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(calls) / sizeof(calls[0]); i++)
		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i], 0, NULL);
	if (!error)
		error = allow_file_commands(filter);
	if (!error)
		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, &no_code);
	if (!error)
		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
					       &no_code);
	if (!error)
		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &self);
	/*
	 * SQLite queries features of the file system by ioctl(). The filter makes the ioctl() fail
	 * with ENOTTY, as it fails on most file systems.
	 */
	if (!error)
		error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 0,
					       NULL);
	return error;
}

bool sandbox_filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int error = filter ? 0 : -ENOMEM;

	if (!error)
		error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!error)
		error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!error)
		error = allow_all(filter);
	if (!error)
		error = seccomp_load(filter);
	if (error)
		log_error("the compilation cache's keeper: seccomp: %s", strerror(-error));
	seccomp_release(filter);
	return !error;
}
