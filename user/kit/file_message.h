/* SPDX-License-Identifier: MIT */
/*
 * Packets on the sockets between broker, workers and keeper, which may carry a file.
 */
#ifndef NN_KIT_FILE_MESSAGE_H
#define NN_KIT_FILE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends a packet, with a file unless that is -1. Does not wait; false: errno says why. */
bool file_message_send(int socket, const void *bytes, size_t size, int file);

/*
 * Receives a packet as recvmsg() with those flags. *file is the file that came with it,
 * the caller's to close, or -1. It gets the first number that is free. If several came, it closes all.
 */
ssize_t file_message_receive(int socket, void *bytes, size_t size, int flags, int *file);

#endif /* NN_KIT_FILE_MESSAGE_H */
