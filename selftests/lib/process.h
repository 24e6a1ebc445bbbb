/* SPDX-License-Identifier: MIT */
/*
 * Other processes of a test: children that do one thing, strangers that are
 * passed files, and steps at which they wait to be killed.
 */
#ifndef SELFTESTS_PROCESS_H
#define SELFTESTS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** in_child() - What @act returns in a forked child, 0 to 255; or -1: it did not return. */
int in_child(int (*act)(int fd), int fd);

/** bus_error() - Whether reading there is answered with SIGBUS. */
bool bus_error(const volatile char *at);

/** send_file() - Passes a file through a socket. */
bool send_file(int socket, int fd);

/** receive_file() - The file that was passed, or -1. */
int receive_file(int socket);

/** struct stranger - A process that was there before the files it is passed */
struct stranger {
	pid_t pid;
	int socket;
};

/** stranger_start() - Starts a process that waits for a file, then does @act with it. */
bool stranger_start(struct stranger *stranger, int (*act)(int fd));

/** stranger_pass() - Passes it the file: what @act returned, as of in_child(). */
int stranger_pass(struct stranger *stranger, int fd);

/** become_user() - Becomes another user, one that may open the device. */
bool become_user(uid_t uid, gid_t gid);

/** struct actor - A child that goes through steps and waits at each */
struct actor {
	pid_t pid;
	int said;
	int go;
	uint64_t killed_us;	/* when */
};

/** actor_start() - Starts a child that does @act(@data) and ends. */
bool actor_start(struct actor *actor, void (*act)(struct actor *self, void *data), void *data);

/** actor_reached() - In the child: says that a step is done, then waits to be let on. */
void actor_reached(struct actor *self);

/** actor_await() - In the parent: waits for the child's next step; false: it ended. */
bool actor_await(struct actor *actor);

/** actor_go() - In the parent: lets the child go on. */
void actor_go(struct actor *actor);

/** actor_kill() - In the parent: SIGKILL, and waits until it is gone. */
void actor_kill(struct actor *actor);

/** actor_killed_ago() - Microseconds since actor_kill() sent its signal, for a comment. */
unsigned long long actor_killed_ago(const struct actor *actor);

#endif
