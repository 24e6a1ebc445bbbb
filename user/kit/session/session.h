/* SPDX-License-Identifier: MIT */
/*
 * System calls on a session. The kernel module executes calls on a session. For a direct session,
 * messages to the client's library replace the system calls.
 */
#ifndef NN_KIT_SESSION_H
#define NN_KIT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes an ioctl() of a session; returns 0, or -1 with errno. */
int session_call(int session, unsigned long request, void *arg);

/* Maps granted memory or a burst's region; returns MAP_FAILED with errno on failure. */
void *session_map(int session, size_t length, int prot, uint64_t offset);

/*
 * Closes a session. The caller must ensure that no thread uses a session which session_close()
 * closes.
 */
void session_close(int session);

/*
 * Ends a session that threads still use. After session_abandon(), the session's file descriptor
 * stays reserved.
 */
void session_abandon(int session);

/*
 * Makes a direct session from the two sockets of a client's connection. The socket `commands`
 * becomes the session's descriptor. The session owns `commands` and `memory`. If memory runs out,
 * closes both sockets and returns false.
 */
bool session_begin_direct(int commands, int memory);

#endif /* NN_KIT_SESSION_H */
