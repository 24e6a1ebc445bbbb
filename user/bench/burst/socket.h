/* SPDX-License-Identifier: MIT */
/*
 * A server behind a unix stream socket, to compare with a burst. The server executes the burst's
 * model, and receives the memory as a file descriptor.
 */
#ifndef NN_BENCH_BURST_SOCKET_H
#define NN_BENCH_BURST_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include <nnaccel/engine_model.h>

struct socket_peer {
	pid_t server;
	int socket;
	int memory;	/* fd of the memory that the client passes to the server */
};

/* Starts the socket's server, or exits on failure; this process must not have threads yet. */
void socket_peer_start(struct socket_peer *peer, const struct nn_model *model);

/*
 * Makes the server execute the model. With `pass_memory` the request carries the memory, which the
 * server maps only for the request. Without `pass_memory` the server uses memory that an earlier
 * request carried.
 */
void socket_peer_execute(struct socket_peer *peer, bool pass_memory);

void socket_peer_stop(struct socket_peer *peer);

#endif /* NN_BENCH_BURST_SOCKET_H */
