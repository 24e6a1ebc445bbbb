/* SPDX-License-Identifier: MIT */
/*
 * Processes that a test starts: children that run one function, processes that receive files, and
 * children that run in steps.
 */
#ifndef SELFTESTS_PROCESS_H
#define SELFTESTS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * in_child() - Calls @act in a forked child; returns its result, 0 to 255; -1: it did not return.
 */
int in_child(int (*act)(int fd), int fd);

/** bus_error() - Returns whether a read of the address raises SIGBUS. */
bool bus_error(const volatile char *at);

/** send_file() - Passes a file through a socket. */
bool send_file(int socket, int fd);

/** receive_file() - Returns the file that was passed, or -1. */
int receive_file(int socket);

/** struct stranger - A process that receives files; the test opened the files after the fork */
struct stranger {
	pid_t pid;
	int socket;
};

/** stranger_start() - Starts a process that waits for a file, then does @act with it. */
bool stranger_start(struct stranger *stranger, int (*act)(int fd));

/** stranger_pass() - Passes the file to the process; returns @act's result like in_child(). */
int stranger_pass(struct stranger *stranger, int fd);

/** become_user() - Becomes another user that may open the device. */
bool become_user(uid_t uid, gid_t gid);

/** struct actor - A child that runs in steps, and waits after each step for actor_go() */
struct actor {
	pid_t pid;
	int said;
	int go;
	uint64_t killed_us;	/* time at which the child was killed */
};

/** actor_start() - Starts a child that does @act(@data) and ends. */
bool actor_start(struct actor *actor, void (*act)(struct actor *self, void *data), void *data);

/** actor_reached() - In the child: reports a step, then waits for actor_go(). */
void actor_reached(struct actor *self);

/** actor_await() - In the parent: waits for the child's next step; false: the child ended. */
bool actor_await(struct actor *actor);

/** actor_go() - In the parent: lets the child continue. */
void actor_go(struct actor *actor);

/** actor_kill() - In the parent: sends SIGKILL and reaps the child. */
void actor_kill(struct actor *actor);

/**
 * actor_killed_ago() - Returns the microseconds since actor_kill() sent its signal, for the log.
 */
unsigned long long actor_killed_ago(const struct actor *actor);

#endif
