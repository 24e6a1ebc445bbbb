/* SPDX-License-Identifier: MIT */
/*
 * Packets on sockets of this machine, which may carry a file.
 */
#ifndef NN_BASE_PACKET_H
#define NN_BASE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends a packet, with a file unless it is -1. Does not wait. Returns false with errno. */
bool packet_send(int socket, const void *data, size_t size, int file);

/*
 * Receives a packet as recvmsg() with those flags, and returns its size. *file is the file that
 * came with the packet, which the caller closes, or -1. The file gets the first free number. If
 * several files came, all are closed. If `file` is NULL, no file is received.
 */
ssize_t packet_receive(int socket, void *data, size_t size, int flags, int *file);

#endif /* NN_BASE_PACKET_H */
