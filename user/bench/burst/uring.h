/* SPDX-License-Identifier: MIT */
/* Executions by io_uring, one at a time, as a comparison for a burst. */
#ifndef NN_BENCH_BURST_URING_H
#define NN_BENCH_BURST_URING_H

#include <liburing.h>

#include <nnaccel/uring.h>

struct uring_peer {
	struct io_uring ring;
	struct nna_submission *submission;
};

/*
 * Makes the io_uring and the submission that uring_peer_execute() submits. All functions of this
 * header exit on failure.
 */
void uring_peer_start(struct uring_peer *peer, struct nna_prepared_model *prepared,
		      const struct nna_request *request);

/* Submits an execution and waits for the end of the execution, by one system call. */
void uring_peer_execute(struct uring_peer *peer);

void uring_peer_stop(struct uring_peer *peer);

#endif /* NN_BENCH_BURST_URING_H */
