/* SPDX-License-Identifier: MIT */
/*
 * What the service manager, where there is one, is told: sd_notify(3)'s protocol.
 */
#ifndef NN_KIT_NOTIFY_H
#define NN_KIT_NOTIFY_H

/* Sends READY=1 to $NOTIFY_SOCKET. */
void notify_ready(void);

/*
 * For a loop that is about to wait for timeout_ms (-1: without end): sends WATCHDOG=1 where it is
 * due, and returns how long the loop may wait before it calls this again. It is due twice in
 * $WATCHDOG_USEC, after which the manager kills a process that says nothing. Only one thread
 * calls it.
 */
int notify_alive(int timeout_ms);

#endif /* NN_KIT_NOTIFY_H */
