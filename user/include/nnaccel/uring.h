/* SPDX-License-Identifier: MIT */
/*
 * Executions by io_uring. libnnaccel fills in submission queue entries and reads
 * completion queue entries; the ring is the caller's, with liburing or without.
 *
 *	nna_submission_create(prepared, &request, NULL, &submission, &err);
 *	sqe = io_uring_get_sqe(&ring);
 *	nna_submission_prepare(submission, sqe, &err);
 *	io_uring_submit(&ring);
 *	io_uring_wait_cqe(&ring, &cqe);
 *	submission = io_uring_cqe_get_data(cqe);
 *	status = nna_submission_result(submission, cqe->res, shapes, &n, &timing, &err);
 */
#ifndef NNACCEL_URING_H
#define NNACCEL_URING_H

#include <nnaccel/nnaccel.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct io_uring_sqe;
struct nna_submission;

/*
 * A request that can be submitted, any number of times but once at a time. Holds
 * its memories and buffers; what `request` and `options` point to may go. To be
 * freed before the prepared model, and not while it is in flight: the kernel
 * writes its results into it.
 */
enum nn_status nna_submission_create(struct nna_prepared_model *prepared,
				     const struct nna_request *request,
				     const struct nna_execute_options *options,
				     struct nna_submission **submission, struct nn_error *err);
void nna_submission_free(struct nna_submission *submission);

/*
 * Fills in an entry, of 64 or 128 bytes; its user_data is the submission. Flags
 * may be added to it. NN_INVALID_ARGUMENT, NN_GENERAL_FAILURE: of its buffers,
 * whose shapes it may not take; the entry is then a no-operation.
 */
enum nn_status nna_submission_prepare(struct nna_submission *submission, struct io_uring_sqe *sqe,
				      struct nn_error *err);

/*
 * The results of a submission whose completion queue entry has this `res`, as
 * nna_execute() gives them. NN_GENERAL_FAILURE also: it was cancelled. An execution
 * without NN_OK has a negative `res`: what is linked to it does not begin.
 */
enum nn_status nna_submission_result(struct nna_submission *submission, int res,
				     struct nna_output_shape *shapes, uint32_t *num_shapes,
				     struct nna_timing *timing, struct nn_error *err);

/*
 * Has a submission in flight complete now, with a status but NN_OK. The engine
 * may go on using its memories. NN_INVALID_ARGUMENT: it is not in flight.
 */
enum nn_status nna_submission_cancel(struct nna_submission *submission, struct nn_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_URING_H */
