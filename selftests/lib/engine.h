/* SPDX-License-Identifier: MIT */
/*
 * A mock engine for the tests: a broker, and a worker that answers commands without computing.
 * Functions return 0 or an errno, unless their comments say otherwise.
 */
#ifndef SELFTESTS_ENGINE_H
#define SELFTESTS_ENGINE_H

#include <linux/nnaccel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "summary.h"

#define ENGINE_NODE	"/dev/nnaccel-engine"

/* The name of nnacceld's engine, under which the tests' engine gets nnacceld's device, DEVICE. */
#define ENGINE_NAME	"nnaccel"

/* The execution time on the device that the tests' worker reports for each execution, in ns. */
#define MOCK_DEVICE_NS	4711

/**
 * broker_open() - Stops nnacceld and registers ENGINE_NAME; returns an fd, or -1 and errno.
 */
int broker_open(void);

/** idle_summary() - Stops nnacceld and reads the module's counters; false: failed. */
bool idle_summary(struct summary *summary);

/** broker_register() - Registers an engine; @device may be NULL. */
int broker_register(int broker, const char *name, uint32_t *device);

/** broker_register_with() - Registers an engine with flags of NNACCEL_ENGINE_REGISTER. */
int broker_register_with(int broker, const char *name, uint32_t flags, uint32_t *device);

/**
 * broker_open_as() - Opens the node and registers an engine; returns an fd, or -1 and errno.
 * @device may be NULL.
 */
int broker_open_as(const char *name, uint32_t *device);

/** broker_next() - Fetches the next event; @flags are those of NNACCEL_ENGINE_NEXT. */
int broker_next(int broker, uint32_t flags, struct nnaccel_engine_next *next);

/** broker_await_new() - Waits for a context of this process that wants a session. */
int broker_await_new(int broker, uint64_t *context);

/** broker_session() - Creates the session for a context. */
int broker_session(int broker, uint64_t context, int *session);

/** broker_refuse() - Refuses a session for a context. */
int broker_refuse(int broker, uint64_t context, uint32_t error);

/** session_attach() - Attaches this process as the worker. */
int session_attach(int session);

/** session_attach_as() - Like session_attach(), with flags of NNACCEL_SESSION_ATTACH. */
int session_attach_as(int session, uint32_t flags);

/** union command - A command for the worker, followed by the command's arrays */
union command {
	struct nnaccel_cmd head;
	uint64_t room[16 * 1024];
};

/** session_fetch() - Fetches a command. */
int session_fetch(int session, uint32_t flags, union command *cmd);

/** command_grants() - Returns the grants of a command. */
const struct nnaccel_grant *command_grants(const union command *cmd);

/** command_args() - Returns the arguments of an execution. */
const struct nnaccel_arg *command_args(const union command *cmd);

/** command_roles() - Returns the roles of a new buffer. */
const struct nnaccel_cmd_role *command_roles(const union command *cmd);

/** command_attributes() - Returns the client's attributes. */
const void *command_attributes(const union command *cmd);

/** command_formats() - Returns the formats of formatted grants. */
const struct nnaccel_format *command_formats(const union command *cmd);

/** session_commit() - Answers a command. */
int session_commit(int session, uint64_t cookie, uint32_t status, const void *payload,
		   uint32_t payload_size, const char *message);

/** session_commit_fenced() - Answers a command that ends when a fence signals. */
int session_commit_fenced(int session, uint64_t cookie, int fence);

/** session_answer() - Commits a success with a valid payload. */
int session_answer(int session, const union command *cmd);

/**
 * session_serve() - Fetches and answers commands until the context is closed; returns ESHUTDOWN
 * or another error.
 */
int session_serve(int session);

/** session_map() - Maps a grant of @length bytes; returns NULL and errno if that fails. */
void *session_map(int session, uint64_t grant, uint64_t length, int prot);

/** session_grant_fd() - Makes a dma-buf of a grant. */
int session_grant_fd(int session, uint32_t grant, uint32_t prot, int *fd);

/** session_fence() - Gets a fence for which the worker must wait before an execution. */
int session_fence(int session, uint64_t cookie, uint32_t index, int *fence);

/** struct served - A context of this process, whose worker is a thread of this process */
struct served {
	int broker;
	int fd;
	int session;
	uint64_t context;
	bool serving;
	pthread_t thread;
};

/** served_open() - Opens the broker, a context and its session, and attaches this process. */
int served_open(struct served *s);

/** served_open_as() - Like served_open(), with flags of NNACCEL_SESSION_ATTACH. */
int served_open_as(struct served *s, uint32_t flags);

/** served_start() - Starts a thread that serves the context. */
int served_start(struct served *s);

/** served_close() - Closes the files that are open. */
void served_close(struct served *s);

#endif
