/* SPDX-License-Identifier: MIT */
/* Executions by io_uring: fills in submission queue entries and reads completion queue entries. */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>

#include <nnaccel/uring.h>

#include "deferred.h"
#include "error.h"
#include "execute.h"

struct nna_submission {
	struct nna_prepared_model *prepared;
	struct nna_execute_options options;
	struct nna_request request;	/* request, whose arrays the submission owns */
	struct nna_call call;
	/* true: the deadline had passed when the submission queue entry was prepared */
	bool was_past;
	struct nnaccel_submit submit;
};

static void *copy(const void *from, size_t count, size_t size)
{
	void *to = calloc(count ? count : 1, size);

	if (to && count)
		memcpy(to, from, count * size);
	return to;
}

static void free_arrays(struct nna_request *r)
{
	free((void *)r->inputs);
	free((void *)r->outputs);
	free((void *)r->memories);
	free((void *)r->tokens);
}

static bool copy_request(struct nna_request *to, const struct nna_request *from)
{
	*to = *from;
	to->inputs = copy(from->inputs, from->num_inputs, sizeof(*from->inputs));
	to->outputs = copy(from->outputs, from->num_outputs, sizeof(*from->outputs));
	to->memories = copy(from->memories, from->num_memories, sizeof(struct nna_memory *));
	to->tokens = copy(from->tokens, from->num_tokens, sizeof(*from->tokens));
	if (to->inputs && to->outputs && to->memories && to->tokens)
		return true;
	free_arrays(to);
	return false;
}

enum nn_status nna_submission_create(struct nna_prepared_model *prepared,
				     const struct nna_request *request,
				     const struct nna_execute_options *options,
				     struct nna_submission **submission, struct nn_error *err)
{
	struct nna_submission *s;
	enum nn_status status;
	struct nna_request r;

	nna_error_clear(err);
	*submission = NULL;
	status = nna_take_request(&r, request, err);
	if (status)
		return status;
	s = calloc(1, sizeof(*s));
	if (!s || !copy_request(&s->request, &r)) {
		free(s);
		return nn_fail(err, NN_OUT_OF_MEMORY, "execute: out of memory");
	}
	s->prepared = prepared;
	status = nna_take_options(&s->options, options, err);
	if (!status)
		status = nna_call_begin(&s->call, prepared, &s->request, err);
	if (!status) {
		/*
		 * Encode the attributes now, because the caller may free the attributes after this
		 * call.
		 */
		status = nna_call_translate(&s->call, &s->options, err);
		s->options.attributes = NULL;
		if (status)
			nna_call_end(&s->call);
	}
	if (status) {
		free_arrays(&s->request);
		free(s);
		return status;
	}
	*submission = s;
	return NN_OK;
}

void nna_submission_free(struct nna_submission *s)
{
	if (!s)
		return;
	nna_call_end(&s->call);
	free_arrays(&s->request);
	free(s);
}

enum nn_status nna_submission_prepare(struct nna_submission *s, struct io_uring_sqe *sqe,
				      struct nn_error *err)
{
	const struct nnaccel_uring_submit block = {
		.submit = (uintptr_t)&s->submit,
		.tag = (uintptr_t)s,
	};
	enum nn_status status;

	nna_error_clear(err);
	status = nna_call_translate(&s->call, &s->options, err);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = status ? IORING_OP_NOP : IORING_OP_URING_CMD;
	sqe->user_data = (uintptr_t)s;
	if (status)
		return status;
	s->was_past = nna_is_past(s->options.deadline_ns);
	sqe->fd = s->prepared->device->fd;
	s->submit = (struct nnaccel_submit){
		.size = sizeof(s->submit),
		.flags = NNACCEL_SUBMIT_WAIT,
		.kind = NNACCEL_WORK_EXECUTE,
		.work = (uintptr_t)&s->call.execute,
	};
	sqe->cmd_op = NNACCEL_SUBMIT;
	memcpy(sqe->cmd, &block, sizeof(block));
	return NN_OK;
}

enum nn_status nna_submission_result(struct nna_submission *s, int res,
				     const struct nna_results *results, struct nn_error *err)
{
	struct nna_spare spare;
	struct nna_results w;
	enum nn_status status;
	bool again, answered;

	nna_error_clear(err);
	status = nna_take_results(&w, results, &spare, err);
	if (status)
		return status;
	/*
	 * `res` is an error if the execution failed; the engine's status exists only if the engine
	 * answered.
	 */
	answered = res >= 0 || s->call.execute.out_status;
	status = nna_call_read_back(&s->call, answered ? 0 : -res, s->was_past, &again, err);
	status = nna_call_results(&s->call, status, &w, err);
	if (!status)
		nna_deferred_executed(s->prepared);
	return status;
}

enum nn_status nna_submission_cancel(struct nna_submission *s, struct nn_error *err)
{
	struct nnaccel_cancel cancel = { .size = sizeof(cancel), .tag = (uintptr_t)s };

	nna_error_clear(err);
	if (!nna_device_call(s->prepared->device, NNACCEL_CANCEL, &cancel))
		return NN_OK;
	if (errno == ENOENT)
		return nn_fail(err, NN_INVALID_ARGUMENT, "cancel: the execution is not in flight");
	return nna_fail_errno(s->prepared->device, "cancel", errno, err);
}
