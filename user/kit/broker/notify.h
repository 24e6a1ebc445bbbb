/* SPDX-License-Identifier: MIT */
/* Reports to the service manager, if one runs, by the protocol of sd_notify(3). */
#ifndef NN_KIT_NOTIFY_H
#define NN_KIT_NOTIFY_H

/* Sends READY=1 to $NOTIFY_SOCKET. */
void notify_ready(void);

/*
 * Sends WATCHDOG=1 if it is time for the next one. A loop calls notify_alive() before it waits for
 * timeout_ms (-1: for ever). Returns how long the loop may wait before it calls notify_alive()
 * again, in ms. WATCHDOG=1 is sent twice in each $WATCHDOG_USEC, because the service manager kills
 * a process that sends none in this time. Only one thread may call notify_alive().
 */
int notify_alive(int timeout_ms);

#endif /* NN_KIT_NOTIFY_H */
