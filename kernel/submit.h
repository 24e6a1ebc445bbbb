/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: submissions of work, and executions by io_uring. */
#ifndef NNACCEL_SUBMIT_H
#define NNACCEL_SUBMIT_H

#include "context.h"

/* ---- submit.c ---- */

/**
 * struct nnaccel_kind - A kind of request from a client, such as an execution
 * @size: size of its structure
 * @min_size: size of the structure's first published version
 * @command: enum nnaccel_cmd_kind; unused with @create
 * @status: offset of out_status in the structure
 * @message: offset of message in the structure; 0 if it has none
 * @message_size: offset of message_size
 * @result: offset of the field for the id or fd of the object that the work makes; 0 for none
 * @makes_file: the work makes a file instead of an object with an id
 * @layout: validates the module's copy of the structure, and lays out the arrays of the command
 * @build: fills the command; NNACCEL_AGAIN if the arrays must have other sizes
 * @create: replaces @layout and @build; NULL if the work is done, -ERESTARTSYS after a signal
 * @answer: writes the results that only this kind of work has; or NULL.
 *	The results are written to the client's memory and to the module's copy. After an error,
 *	such as -ERESTARTSYS because of a signal, the function can be called again
 * @publish: publishes the object that the work made, once the answer is written; cannot
 *	fail
 */
struct nnaccel_kind {
	u32 size;
	u32 min_size;
	u32 command;
	u32 status;
	u32 message;
	u32 message_size;
	u32 result;
	bool makes_file;
	int (*layout)(const void *from, struct nnaccel_arrays *arrays);
	int (*build)(struct nnaccel_command *cmd, const void *from, struct nnaccel_arrays *arrays);
	struct nnaccel_command *(*create)(struct nnaccel_context *ctx, const void *from);
	int (*answer)(struct nnaccel_ucmd *work, struct nnaccel_command *cmd);
	void (*publish)(struct nnaccel_ucmd *work, struct nnaccel_command *cmd);
};

/**
 * struct nnaccel_submission - Work whose answer the client fetches later
 * @obj: base object
 * @kind: kind of work
 * @id: its id
 * @end: the command's end, for pollers and dependent commands; NULL without a file
 * @devices: only devices access the memory of its command
 * @fence: ctx->lock, except for pollers: fence that the worker committed, with @devices; or NULL
 * @cmd: ctx->lock: the command, with a reference; NULL after the answer was fetched or the
 *	submission was destroyed
 * @answered: ctx->lock: the submission counts in nnaccel_context.num_answers
 * @waited: ctx->lock: a call waits for the submission or fetches its answer
 * @closed: ctx->lock: the submission's file was closed, so its answer will not
 *	be fetched
 * @drop: ends the submission after its file was closed; queued at the command's
 *	end
 */
struct nnaccel_submission {
	struct nnaccel_object obj;
	const struct nnaccel_kind *kind;
	u32 id;
	struct nnaccel_end *end;
	bool devices;
	struct dma_fence *fence;
	struct nnaccel_command *cmd;
	bool answered;
	bool waited;
	bool closed;
	struct work_struct drop;
};

int nnaccel_work_copy(const struct nnaccel_kind *kind, struct nnaccel_ucmd *work);
int nnaccel_work_answer(const struct nnaccel_kind *kind, struct nnaccel_command *cmd,
			struct nnaccel_ucmd *work);
int nnaccel_submit_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_wait_ioctl(struct nnaccel_ucmd *ucmd);
struct nnaccel_command *nnaccel_submit_by_ring(struct nnaccel_context *ctx, u64 from,
					       struct nnaccel_ucmd *work);
int nnaccel_sync_file_ioctl(struct nnaccel_ucmd *ucmd);
void nnaccel_submission_fenced(struct nnaccel_command *cmd, struct dma_fence *fence);
void nnaccel_submission_tell(struct nnaccel_submission *sub, struct nnaccel_command *cmd);
struct nnaccel_end *nnaccel_submission_get_end(int fd);
void nnaccel_submission_end(struct nnaccel_object *obj);
void nnaccel_submission_release(struct nnaccel_object *obj);

/* ---- uring.c ---- */

int nnaccel_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags);
void nnaccel_uring_end(struct nnaccel_command *cmd);
void nnaccel_uring_poll(struct work_struct *work);
int nnaccel_uring_cancel_all(struct nnaccel_context *ctx, const struct nnaccel_cancel *which);
int nnaccel_cancel_ioctl(struct nnaccel_ucmd *ucmd);

#endif /* NNACCEL_SUBMIT_H */
