/* SPDX-License-Identifier: MIT */
/*
 * A server behind a unix stream socket, to compare with a burst. It executes the same model, and
 * gets the memory as an fd.
 */
#ifndef NN_BENCH_BURST_SOCKET_H
#define NN_BENCH_BURST_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include <nnaccel/engine_model.h>

struct socket_peer {
	pid_t server;
	int socket;
	int memory;	/* the fd of the memory that is passed */
};

/* Starts the server. Call it before this process starts threads. Exits if that fails. */
void socket_peer_start(struct socket_peer *peer, const struct nn_model *model);

/*
 * Lets the server execute the model. With pass_memory, the memory is sent with this request, and
 * mapped only for it. Otherwise the server uses memory that it has kept mapped.
 */
void socket_peer_execute(struct socket_peer *peer, bool pass_memory);

void socket_peer_stop(struct socket_peer *peer);

#endif /* NN_BENCH_BURST_SOCKET_H */
