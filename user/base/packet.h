/* SPDX-License-Identifier: MIT */
/*
 * Packets on Unix sockets. A packet may carry a file descriptor.
 */
#ifndef NN_BASE_PACKET_H
#define NN_BASE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Sends a packet without waiting, with a file unless `file` is -1. Returns false with errno on
 * failure.
 */
bool packet_send(int socket, const void *data, size_t size, int file);

/*
 * Receives a packet by recvmsg() with the flags `flags`, and returns the packet's size. Sets *file
 * to the file in the packet, which the caller closes, or to -1. The received file gets the first
 * free descriptor. If the packet has several files, the function closes all files. If `file` is
 * NULL, no file is received.
 */
ssize_t packet_receive(int socket, void *data, size_t size, int flags, int *file);

#endif /* NN_BASE_PACKET_H */
