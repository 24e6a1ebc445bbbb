/* SPDX-License-Identifier: MIT */
/*
 * Telling the service manager, where there is one, that the broker is ready.
 */
#ifndef NN_KIT_NOTIFY_H
#define NN_KIT_NOTIFY_H

/* Sends READY=1 to $NOTIFY_SOCKET, sd_notify(3)'s protocol. */
void notify_ready(void);

#endif /* NN_KIT_NOTIFY_H */
