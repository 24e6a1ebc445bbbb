/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: work that is submitted, and its end. */
#ifndef NNACCEL_SUBMIT_H
#define NNACCEL_SUBMIT_H

#include <linux/nnaccel.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "context.h"

struct dma_fence;
struct file;
struct io_uring_cmd;
struct list_head;
struct nnaccel_async_wait;
struct nnaccel_command;
struct nnaccel_event;
struct nnaccel_ucmd;
struct poll_table_struct;

/* ---- async.c ---- */

int nnaccel_async_init(struct nnaccel_command *cmd, u64 fences, u32 num_fences);
bool nnaccel_async_begun(struct nnaccel_command *cmd, int error);
void nnaccel_async_free(struct nnaccel_command *cmd);
int nnaccel_async_admit(struct nnaccel_command *cmd);
int nnaccel_async_start(struct nnaccel_command *cmd);
bool nnaccel_async_depends(const struct nnaccel_command *cmd);
void nnaccel_async_advance(struct nnaccel_command *cmd);
void nnaccel_async_end(struct nnaccel_command *cmd, int error);
void nnaccel_async_abandon(struct nnaccel_command *cmd, int error);
int nnaccel_async_cancel(struct nnaccel_command *cmd);
void nnaccel_async_cancel_all(struct nnaccel_context *ctx);
void nnaccel_async_fail(struct nnaccel_context *ctx, int error, struct list_head *dead);
int nnaccel_cancel_ioctl(struct nnaccel_ucmd *ucmd);
void nnaccel_async_signalled(struct nnaccel_async_wait *wait, bool failed);
int nnaccel_async_begin(struct nnaccel_command *cmd);

/* ---- event.c ---- */

struct nnaccel_event *nnaccel_event_create(void);
void nnaccel_event_get(struct nnaccel_event *event);
void nnaccel_event_put(struct nnaccel_event *event);
bool nnaccel_event_add_wait(struct nnaccel_event *event, struct nnaccel_async_wait *wait);
bool nnaccel_event_remove_wait(struct nnaccel_event *event, struct nnaccel_async_wait *wait);
void nnaccel_event_happen(struct nnaccel_event *event, bool failed);
void nnaccel_event_show_fence(struct nnaccel_event *event);
bool nnaccel_event_has_failed(struct nnaccel_event *event);
__poll_t nnaccel_event_poll(struct nnaccel_event *event, struct file *file,
			    struct poll_table_struct *wait);

/* ---- submit.c ---- */

/**
 * struct nnaccel_kind - A kind of work
 * @size: size of its structure
 * @min_size: size of its first published version
 * @message_size: offset of message_size in the structure; 0 if it has none
 * @makes_object: the answer makes a model or a buffer
 * @makes_file: the answer makes a file
 * @create: makes a command from the module's copy of the structure; NULL if the work is already
 *	done; -ERESTARTSYS if a signal came before anything was done
 * @respond: writes the answer to the client's structure; @cmd is NULL if there was no command; an
 *	error loses nothing; -ERESTARTSYS if a signal came
 * @publish: gives the client what the work made, once the answer is written; cannot fail
 */
struct nnaccel_kind {
	u32 size;
	u32 min_size;
	u32 message_size;
	bool makes_object;
	bool makes_file;
	struct nnaccel_command *(*create)(struct nnaccel_context *ctx, const void *from);
	int (*respond)(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
	void (*publish)(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
};

/**
 * struct nnaccel_submission - Work whose answer the client fetches later
 * @obj: base object
 * @kind: kind of work
 * @id: its id
 * @event: its end, if it has a file; or NULL
 * @devices: only devices access the memory of its command
 * @fence: ctx->lock: the fence that the worker committed for such a command; or NULL
 * @cmd: ctx->lock: its command, with a reference; NULL after its answer was fetched or it was
 *	destroyed
 * @waited: ctx->lock: a call waits for it or fetches its answer
 * @closed: ctx->lock: its file was closed, so its answer will not be fetched
 * @drop: ends it after its file was closed; queued at the command's end
 */
struct nnaccel_submission {
	struct nnaccel_object obj;
	const struct nnaccel_kind *kind;
	u32 id;
	struct nnaccel_event *event;
	bool devices;
	struct dma_fence *fence;
	struct nnaccel_command *cmd;
	bool waited;
	bool closed;
	struct work_struct drop;
};

int nnaccel_submit_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_wait_ioctl(struct nnaccel_ucmd *ucmd);
struct nnaccel_command *nnaccel_submit_by_ring(struct nnaccel_context *ctx, u64 from,
					       struct nnaccel_execute *execute,
					       struct nnaccel_ucmd *to);
int nnaccel_sync_file_ioctl(struct nnaccel_ucmd *ucmd);
void nnaccel_submission_fenced(struct nnaccel_command *cmd, struct dma_fence *fence);
struct nnaccel_event *nnaccel_submission_event(int fd);
void nnaccel_submission_end(struct nnaccel_object *obj);
void nnaccel_submission_release(struct nnaccel_object *obj);

/* ---- uring.c ---- */

int nnaccel_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags);

#endif /* NNACCEL_SUBMIT_H */
