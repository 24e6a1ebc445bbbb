/* SPDX-License-Identifier: MIT */
/*
 * The start of a worker, the sandboxed process that serves one client's session. The broker
 * executes the worker's program with the files and options that worker.h describes.
 */
#ifndef NN_KIT_WORKER_H
#define NN_KIT_WORKER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/option.h"
#include "kit/api/log.h"

/* WORKER_PROGRAM is the file name of the worker's program, and WORKER_NAME is its argv[0]. */
#define WORKER_PROGRAM "nnaccel-worker"
#define WORKER_NAME "nnacceld-worker"

/*
 * If started with only the argument WORKER_IDENTIFY, the worker's program prints the engine's
 * identity, on which saved plans depend, and exits.
 */
#define WORKER_IDENTIFY "--identify"

/* Maximum size of the text of an engine's identity in bytes, including the NUL. */
#define WORKER_IDENTITY 112

/*
 * File descriptors of a worker. Descriptors 0 and 1 are empty files, and descriptor 2 is the log.
 */
#define WORKER_CONTROL_FD 3	/* seqpacket socket to the broker, later to the cache's keeper */
#define WORKER_SESSION_FD 4	/* the session, after the worker has received the session */
#define WORKER_FILE_FD 5	/* file of a cached plan, open only until the plan is mapped */
#define WORKER_ENGINE_FD 6	/* first descriptor of the engine's own files */

/* Maximum number of open dma-bufs and sync_files of an engine that may use drivers. */
#define WORKER_DRIVERS_FILES 64

/*
 * Exit statuses of a worker other than 0. The exit status is 0 if the context ended, or if the
 * broker ended before the worker had a context.
 */
enum {
	WORKER_EXIT_FAILURE = 1,	/* the worker failed; a log line says why */
	WORKER_EXIT_BUS_ERROR = 2,
	/*
	 * The last plug-in in the worker's arguments was rejected. Only a worker that tests
	 * plug-ins exits with WORKER_EXIT_REFUSED.
	 */
	WORKER_EXIT_REFUSED = 3,
	WORKER_EXIT_WAITS = 4,		/* the tested plug-in needs an extension that is missing */
	WORKER_EXIT_SLOW = 5,	/* the test of a plug-in took longer than WORKER_PROBE_S */
	/* a plug-in's function took too long; a log line names the function */
	WORKER_EXIT_OVERDUE = 6,
};

/* Time limit in seconds for the test of a plug-in. */
#define WORKER_PROBE_S 10

enum isolation {
	/* The worker has its own user, pid, mount, net, ipc, uts and cgroup namespaces. */
	ISOLATE_USERNS = 0,
	/*
	 * The worker has the namespaces of ISOLATE_USERNS except a user namespace. With
	 * ISOLATE_ROOT the broker must be root, and the worker drops root's privileges.
	 */
	ISOLATE_ROOT = 1,
	/* The worker has no namespaces; only seccomp protects the file system. */
	ISOLATE_NONE = 2,
};

/*
 * A worker's options. The broker writes and the worker reads the options by the table worker_rows.
 * In a worker's arguments, the names of plug-ins follow the argument "--".
 */
struct worker_options {
	enum isolation isolation;
	enum log_level log_level;
	uid_t uid;			/* user id in the worker's user namespace */
	gid_t gid;
	/* limit of the worker's private memory in bytes; 0 for no limit */
	uint64_t max_memory;
	/* limit of the client's device memory in bytes; 0 for no limit */
	uint64_t device_memory;
	bool lazy;	/* true: the engine compiles a model at the model's first execution */
	bool cache_all;	/* true: cache models even for clients that do not request caching */
	bool cache;	/* true: the worker has a connection to the keeper of the cache */
	const char *plugins;		/* folder of the plug-ins, or NULL */
	/* true: the worker only tests the plug-ins; see WORKER_EXIT_REFUSED */
	bool probe;
	unsigned int plugin_s;	/* time limit of a plug-in's function in seconds; 0 for no limit */
};

/* A worker's options have at most WORKER_WORDS words, with WORKER_TEXT bytes in all. */
#define WORKER_WORDS 12
#define WORKER_TEXT (PATH_MAX + 512)

extern const struct option_row worker_rows[WORKER_WORDS + 1];

#endif /* NN_KIT_WORKER_H */
