/* SPDX-License-Identifier: MIT */
/*
 * A peer of a burst: a server that executes the same model, behind a unix stream
 * socket. The memory is passed as a file.
 */
#ifndef NN_BENCH_BURST_SOCKET_H
#define NN_BENCH_BURST_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include <nnaccel/engine_model.h>

struct socket_peer {
	pid_t server;
	int socket;
	int memory;	/* the file that is passed */
};

/* Starts the server. Call it before this process has threads. Exits if that fails. */
void socket_peer_start(struct socket_peer *peer, const struct nn_model *model);

/*
 * Makes the peer execute the model. With pass_memory, the memory is sent with this request and
 * mapped for it alone. Otherwise the peer uses the mapped memory of the last request that brought
 * one.
 */
void socket_peer_execute(struct socket_peer *peer, bool pass_memory);

void socket_peer_stop(struct socket_peer *peer);

#endif /* NN_BENCH_BURST_SOCKET_H */
