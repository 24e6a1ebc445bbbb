/* SPDX-License-Identifier: MIT */
/*
 * A session's calls: to the module, or for a direct session to the client's library.
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

/* Closes a session; no thread may use it. */
void session_close(int session);

/* Ends a session that threads still use; its file number stays reserved. */
void session_abandon(int session);

/*
 * Makes a session from a connection's sockets; the first one is its number. The session owns both.
 * If memory runs out, it closes both and returns false.
 */
bool session_begin_direct(int commands, int memory);

#endif /* NN_KIT_SESSION_H */
