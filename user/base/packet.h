/* SPDX-License-Identifier: MIT */
/*
 * Packets on sockets of this machine, which may carry a file.
 */
#ifndef NN_BASE_PACKET_H
#define NN_BASE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends one, with a file unless that is -1. Does not wait; false: errno says why. */
bool packet_send(int socket, const void *data, size_t size, int file);

/*
 * Receives one as recvmsg() with those flags, and returns its size. *file is the file that came
 * with it, the caller's to close, or -1. It gets the first number that is free. If several came,
 * all are closed. If `file` is NULL, none is received.
 */
ssize_t packet_receive(int socket, void *data, size_t size, int flags, int *file);

#endif /* NN_BASE_PACKET_H */
