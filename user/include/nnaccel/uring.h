/* SPDX-License-Identifier: MIT */
/*
 * Executions by io_uring. libnnaccel fills in io_uring submission queue entries and reads
 * completion queue entries. The caller owns the io_uring, and may use liburing or the system calls.
 *
 *	nna_submission_create(prepared, &request, NULL, &submission, &err);
 *	sqe = io_uring_get_sqe(&ring);
 *	nna_submission_prepare(submission, sqe, &err);
 *	io_uring_submit(&ring);
 *	io_uring_wait_cqe(&ring, &cqe);
 *	submission = io_uring_cqe_get_data(cqe);
 *	status = nna_submission_result(submission, cqe->res, &results, &err);
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
 * Creates a submission: a request that can be submitted again whenever its last execution has
 * ended. The submission holds references to its memories and buffers; `request` and `options` may
 * be freed. Free a submission before its prepared model. A submission in flight must not be freed,
 * because the kernel writes results into the submission.
 */
enum nn_status nna_submission_create(struct nna_prepared_model *prepared,
				     const struct nna_request *request,
				     const struct nna_execute_options *options,
				     struct nna_submission **submission, struct nn_error *err);
void nna_submission_free(struct nna_submission *submission);

/*
 * Fills in a submission queue entry of 64 or 128 bytes, and sets its user_data to the submission.
 * The caller may add flags to the queue entry. Returns NN_INVALID_ARGUMENT or NN_GENERAL_FAILURE,
 * and makes the entry a no-operation, if a buffer cannot be used or does not have the model's
 * shape.
 */
enum nn_status nna_submission_prepare(struct nna_submission *submission, struct io_uring_sqe *sqe,
				      struct nn_error *err);

/*
 * Returns the status and results of an execution, like nna_execute(); `res` comes from the
 * submission's completion queue entry. NN_GENERAL_FAILURE may also mean that the submission was
 * cancelled. An execution that fails has a negative `res`, so that io_uring does not start entries
 * linked after the execution.
 */
enum nn_status nna_submission_result(struct nna_submission *submission, int res,
				     const struct nna_results *results, struct nn_error *err);

/*
 * Completes a submission in flight immediately, with a status other than NN_OK. The engine may
 * continue to use a cancelled submission's memories. Returns NN_INVALID_ARGUMENT if the submission
 * is not in flight.
 */
enum nn_status nna_submission_cancel(struct nna_submission *submission, struct nn_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_URING_H */
