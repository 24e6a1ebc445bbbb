/* SPDX-License-Identifier: MIT */
/*
 * Reports to the service manager, if there is one, by sd_notify(3)'s protocol.
 */
#ifndef NN_KIT_NOTIFY_H
#define NN_KIT_NOTIFY_H

/* Sends READY=1 to $NOTIFY_SOCKET. */
void notify_ready(void);

/*
 * Sends WATCHDOG=1 if it is due, for a loop that is about to wait for timeout_ms (-1: for ever).
 * Returns how long the loop may wait before it calls this function again. The message is due twice
 * in each $WATCHDOG_USEC; the manager kills a process that does not send it. Only one thread may
 * call this.
 */
int notify_alive(int timeout_ms);

#endif /* NN_KIT_NOTIFY_H */
