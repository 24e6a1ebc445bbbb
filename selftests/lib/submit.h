/* SPDX-License-Identifier: MIT */
/*
 * Submissions, as clients use them. Functions return 0 or an errno, unless their comments say
 * otherwise.
 */
#ifndef SELFTESTS_SUBMIT_H
#define SELFTESTS_SUBMIT_H

#include <linux/io_uring.h>
#include <linux/nnaccel.h>
#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/** submit_init() - Fills in a SUBMIT; out fields hold POISON. */
void submit_init(struct nnaccel_submit *submit, uint32_t kind, void *work);

/** submit_work() - Submits work without waiting; @id: out: the submission. */
int submit_work(int fd, uint32_t kind, void *work, uint32_t *id);

/** submit_file() - Submits an execution; @dependency may be -1; returns a file, or -1 and errno. */
int submit_file(int fd, struct nnaccel_execute *execute, int dependency);

/** submit_by_ring() - Fills in a ring's entry that submits an execution; the entry uses @submit. */
void submit_by_ring(struct io_uring_sqe *sqe, int fd, struct nnaccel_submit *submit,
		    struct nnaccel_execute *execute, uint64_t tag);

/** submission_wait() - Waits for the answer of a submission, or the errno that it ended with. */
int submission_wait(int fd, uint32_t id, void *work);

/** submission_wait_file() - Waits as submission_wait() does, by the submission's file. */
int submission_wait_file(int fd, int file, void *work);

/** submission_try() - Fetches the answer if available; @done: out: whether there was an answer. */
int submission_try(int fd, uint32_t id, void *work, bool *done);

/** file_readable() - Returns whether poll() reports within @timeout_ms that a file is readable. */
bool file_readable(int fd, int timeout_ms);

#endif
