// SPDX-License-Identifier: MIT
/* Drops the privileges of a worker; see sandbox.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kit/api/engine.h"
#include "kit/api/files.h"
#include "kit/api/log.h"
#include "kit/worker/filter.h"
#include "kit/worker/sandbox.h"

/*
 * Address space, in bytes, that a worker may have for shared pools in addition to its private
 * memory.
 */
#define POOL_ADDRESS_SPACE (UINT64_C(64) << 30)

/* Maximum number of threads of a worker whose engine has permission to create threads. */
#define MAX_THREADS 256

#define SECUREBITS (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | \
		    SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | \
		    SECBIT_KEEP_CAPS_LOCKED | \
		    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static void must(int result, const char *what)
{
	if (!result)
		return;
	log_error("worker sandbox: %s: %s", what, strerror(errno));
	_exit(WORKER_EXIT_FAILURE);
}

/*
 * Mounts a folder of the old root directory read-only in the new root directory. A folder that is
 * mounted noexec stays noexec.
 */
static void keep_folder(const char *from, const char *to)
{
	struct statvfs old;
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;

	must(mkdir(to, 0555), "making the folder of extensions");
	must(mount(from, to, NULL, MS_BIND, NULL), "mounting the folder of extensions");
	must(statvfs(to, &old), "looking at the folder of extensions");
	if (old.f_flag & ST_NOEXEC)
		flags |= MS_NOEXEC;
	must(mount(NULL, to, NULL, flags, NULL), "making the folder of extensions read-only");
}

/*
 * Replaces the root directory by a read-only tmpfs. The tmpfs contains only the folder `plugins` of
 * the old root, unless `plugins` is NULL.
 */
static void empty_root(enum isolation isolation, const char *plugins)
{
	/*
	 * The mount point for the new root may be any directory. The directory /proc always exists,
	 * because the broker needs /proc.
	 */
	const char *place = "/proc";

	/* The owner of files in the new root must be an id that the user namespace maps. */
	if (plugins && isolation == ISOLATE_USERNS) {
		setfsgid(0);
		setfsuid(0);
	}
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "making mounts private");
	must(mount("none", place, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=555"),
	     "mounting an empty root");
	if (plugins)
		keep_folder(plugins, "/proc" SANDBOX_PLUGINS);
	must(chdir(place), "entering the empty root");
	must((int)syscall(SYS_pivot_root, ".", "."), "changing the root");
	must(umount2(".", MNT_DETACH), "leaving the old root");
	must(chdir("/"), "entering the new root");
	must(mount(NULL, "/", NULL,
		   MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL),
	     "making the root read-only");
}

static void drop_ids(const struct worker_options *options)
{
	/*
	 * If the broker is not root, setgroups() fails with EPERM, and the process keeps the
	 * broker's groups.
	 */
	must(setgroups(0, NULL) && errno != EPERM, "leaving the groups");
	must(setresgid(options->gid, options->gid, options->gid), "setting the group id");
	must(setresuid(options->uid, options->uid, options->uid), "setting the user id");
}

static void drop_privileges(const struct worker_options *options)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

	memset(none, 0, sizeof(none));
	if (options->isolation != ISOLATE_NONE) {
		/*
		 * With ISOLATE_NONE, the process has no capabilities, and the system calls that
		 * drop capabilities would fail.
		 */
		for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
			must(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0), "dropping a capability");
		must(prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0), "locking the securebits");
	}
	drop_ids(options);
	must((int)syscall(SYS_capset, &head, none), "dropping the capabilities");
}

static void limit(int resource, uint64_t value, const char *what)
{
	struct rlimit rlimit = { .rlim_cur = value, .rlim_max = value };

	must(setrlimit(resource, &rlimit), what);
}

/*
 * Returns the limit of open files. The limit may be below the descriptors of the engine's own
 * files, because the engine's files are already open.
 */
static uint64_t most_files(const struct nna_engine *engine, const struct worker_options *options)
{
	if (engine_permissions(engine) & (NNA_ENGINE_MAY_USE_DRIVERS | NNA_ENGINE_MAY_GROW_FILES))
		return WORKER_ENGINE_FD + files_count(engine) + WORKER_DRIVERS_FILES;
	return options->cache ? WORKER_FILE_FD + 1 : WORKER_SESSION_FD + 1;
}

static void limit_resources(const struct nna_engine *engine, const struct worker_options *options)
{
	const bool grows = engine_permissions(engine) & NNA_ENGINE_MAY_GROW_FILES;

	limit(RLIMIT_CORE, 0, "limit of core files");
	limit(RLIMIT_NOFILE, most_files(engine, options), "limit of open files");
	limit(RLIMIT_FSIZE, !grows ? 0 : options->max_memory ? options->max_memory : RLIM_INFINITY,
	      "limit of file sizes");
	limit(RLIMIT_MEMLOCK, 0, "limit of locked memory");
	limit(RLIMIT_MSGQUEUE, 0, "limit of message queues");
	if (!options->max_memory)
		return;
	limit(RLIMIT_DATA, options->max_memory, "limit of private memory");
	limit(RLIMIT_AS, options->max_memory + POOL_ADDRESS_SPACE, "limit of the address space");
}

void sandbox_enter(const struct nna_engine *engine, const struct worker_options *options)
{
	if (options->isolation != ISOLATE_NONE)
		empty_root(options->isolation, options->plugins);
	drop_privileges(options);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbidding new privileges");
	must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "forbidding dumps");
	/*
	 * Set PR_SET_PDEATHSIG after the change of ids, because a change of ids resets
	 * PR_SET_PDEATHSIG.
	 */
	must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "ending with the broker");
	limit_resources(engine, options);
}

static void must_load(bool loaded)
{
	if (loaded)
		return;
	log_error("worker sandbox: the system call filter cannot be loaded");
	_exit(WORKER_EXIT_FAILURE);
}

/*
 * The limit of processes is set only in a user namespace. Without a user namespace, the limit would
 * count the threads of all clients.
 */
void sandbox_stop_processes(const struct nna_engine *engine, enum isolation isolation)
{
	const bool may = engine_permissions(engine) & NNA_ENGINE_MAY_MAKE_THREADS;

	if (!may || isolation == ISOLATE_USERNS)
		limit(RLIMIT_NPROC, may ? MAX_THREADS : 0, "limit of processes");
}

void sandbox_seal_for_plugins(const struct nna_engine *engine)
{
	must_load(filter_load_for_plugins(engine));
}

void sandbox_seal(const struct nna_engine *engine)
{
	must_load(filter_load(engine));
}
