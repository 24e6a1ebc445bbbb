/* SPDX-License-Identifier: MIT */
/*
 * A session's calls: of the module, or of a direct session, whose module is the client's library.
 */
#ifndef NN_KIT_SESSION_H
#define NN_KIT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ioctl() of a session: 0, or -1 with errno. */
int session_call(int session, unsigned long request, void *arg);

/* mmap() of granted memory or of a burst's region; MAP_FAILED with errno. */
void *session_map(int session, size_t length, int prot, uint64_t offset);

/* Closes a session, which no thread uses any more. */
void session_close(int session);

/* Ends a session that threads still use: its number stays taken. */
void session_abandon(int session);

/*
 * Makes a session of a connection's sockets: its number is the first one's. Both are the session's
 * from now on. False: out of memory, and both are closed.
 */
bool session_begin_direct(int commands, int memory);

#endif /* NN_KIT_SESSION_H */
