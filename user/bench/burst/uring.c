/* SPDX-License-Identifier: MIT */
/* Executions by io_uring, one at a time, as a comparison for a burst. */
#include "bench/burst/uring.h"

#include <errno.h>

#include "bench/burst/ends.h"

void uring_peer_start(struct uring_peer *peer, struct nna_prepared_model *prepared,
		      const struct nna_request *request)
{
	struct nn_error err = { "" };
	int error = io_uring_queue_init(1, &peer->ring, 0);

	if (error) {
		errno = -error;
		die("io_uring");
	}
	check(nna_submission_create(prepared, request, NULL, &peer->submission, &err), &err);
}

void uring_peer_execute(struct uring_peer *peer)
{
	struct nna_output_shape shape;
	struct nn_error err = { "" };
	struct io_uring_cqe *cqe;
	int count;

	check(nna_submission_prepare(peer->submission, io_uring_get_sqe(&peer->ring), &err), &err);
	count = io_uring_submit_and_wait(&peer->ring, 1);
	if (count != 1 || io_uring_peek_cqe(&peer->ring, &cqe)) {
		errno = count < 0 ? -count : EIO;
		die("io_uring");
	}
	check(nna_submission_result(peer->submission, cqe->res, NNA_SIZED(nna_results,
				    .shapes = &shape), &err), &err);
	io_uring_cqe_seen(&peer->ring, cqe);
}

void uring_peer_stop(struct uring_peer *peer)
{
	io_uring_queue_exit(&peer->ring);
	nna_submission_free(peer->submission);
}
