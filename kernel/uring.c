// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: executions by io_uring. They have the same description and checks as those of
 * NNACCEL_SUBMIT. A completion queue entry reports their end.
 */

#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "command.h"
#include "compat.h"
#include "context.h"
#include "core.h"
#include "submit.h"

/**
 * struct nnaccel_uring - An execution that a ring submitted
 * @ioucmd: the ring's command; its pdu points to this structure
 * @cmd: the execution, with a reference
 * @to: the client's structure
 * @user_size: size of that structure
 * @message_size: size of @message
 * @message: user address for the message
 * @shapes: user address for the shapes
 * @error: 0 if the execution is answered
 * @pid: process of the submitter if a ring cannot cancel commands; else NULL
 */
struct nnaccel_uring {
	struct io_uring_cmd *ioucmd;
	struct nnaccel_command *cmd;
	void __user *to;
	u32 user_size;
	u32 message_size;
	u64 message;
	u64 shapes;
	int error;
	struct pid *pid;
};

static struct nnaccel_uring **nnaccel_uring_pdu(struct io_uring_cmd *ioucmd)
{
	BUILD_BUG_ON(sizeof(struct nnaccel_uring *) > sizeof(ioucmd->pdu));
	return (struct nnaccel_uring **)&ioucmd->pdu;
}

static void nnaccel_uring_free(struct nnaccel_uring *uring)
{
	nnaccel_command_put(uring->cmd);
	put_pid(uring->pid);
	kfree(uring);
}

/* Converts a status to an error, so that the ring cancels linked requests. */
static int nnaccel_uring_status(u32 status)
{
	switch (status) {
	case NNACCEL_STATUS_NONE:
		return 0;
	case NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT:
	case NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT:
		return -ETIME;
	default:
		return -EIO;
	}
}

/* Writes the answer, and returns the result of the completion queue entry. */
static int nnaccel_uring_respond(struct nnaccel_uring *uring)
{
	struct nnaccel_execute execute = {
		.shapes = uring->shapes,
		.message = uring->message,
		.message_size = uring->message_size,
	};
	struct nnaccel_ucmd ucmd = {
		.ubuffer = uring->to,
		.user_size = uring->user_size,
		.cmd = &execute,
	};

	if (uring->error)
		return uring->error;
	/* The task may have exited, and its memory with it. */
	if (current->mm != uring->cmd->ctx->mm)
		return -ECANCELED;
	return nnaccel_execute_respond(&ucmd, uring->cmd) ?:
	       nnaccel_uring_status(uring->cmd->status);
}

/* Runs in the task that submitted it, or in a kworker without its mm. */
static void nnaccel_uring_complete(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	struct nnaccel_uring *uring = *nnaccel_uring_pdu(ioucmd);

	nnaccel_uring_done(ioucmd, nnaccel_uring_respond(uring), issue_flags);
	nnaccel_uring_free(uring);
}

NNACCEL_URING_IN_TASK(nnaccel_uring_in_task, nnaccel_uring_complete)

static void nnaccel_uring_end(struct nnaccel_command *cmd, int error)
{
	struct nnaccel_uring *uring = cmd->async->data;

	uring->error = error;
	io_uring_cmd_complete_in_task(uring->ioucmd, nnaccel_uring_in_task);
}

/*
 * Is its process in execve()? That waits, unkillably, for all commands of its rings. If a ring
 * cannot cancel them, only this check can end them.
 */
static bool nnaccel_uring_must_leave(const struct nnaccel_command *cmd)
{
	const struct nnaccel_uring *uring = cmd->async->data;
	const struct task_struct *task;
	bool leaves;

	rcu_read_lock();
	task = pid_task(uring->pid, PIDTYPE_TGID);
	leaves = !task || nnaccel_task_executes(task);
	rcu_read_unlock();
	return leaves;
}

static int nnaccel_uring_submit(struct nnaccel_context *ctx, struct io_uring_cmd *ioucmd,
				unsigned int issue_flags)
{
	const struct nnaccel_uring_submit *from = nnaccel_uring_sqe_cmd(ioucmd);
	struct nnaccel_execute execute;
	struct nnaccel_uring *uring;
	struct nnaccel_command *cmd;
	struct nnaccel_ucmd to = {};
	int ret;

	/* The client can change the submission queue, so each word is read only once. */
	cmd = nnaccel_submit_by_ring(ctx, READ_ONCE(from->submit), &execute, &to);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	uring = kmalloc(sizeof(*uring), GFP_KERNEL_ACCOUNT);
	if (!uring) {
		nnaccel_command_put(cmd);
		return -ENOMEM;
	}
	*uring = (struct nnaccel_uring){
		.ioucmd = ioucmd,
		.cmd = cmd,
		.to = to.ubuffer,
		.user_size = to.user_size,
		.message_size = execute.message_size,
		.message = execute.message,
		.shapes = execute.shapes,
	};
	cmd->async->end = nnaccel_uring_end;
	cmd->async->data = uring;
	cmd->async->tag = READ_ONCE(from->tag);
	if (!NNACCEL_URING_F_CANCEL) {
		uring->pid = get_pid(task_tgid(current));
		cmd->async->must_leave = nnaccel_uring_must_leave;
	}
	*nnaccel_uring_pdu(ioucmd) = uring;
	kref_get(&cmd->refs);
	/* This must precede the start: the end of the execution frees the request. */
	nnaccel_uring_mark_cancelable(ioucmd, issue_flags);
	ret = nnaccel_async_start(cmd);
	/* After a successful start nnaccel_uring_complete() ends it, perhaps already. */
	if (ret) {
		nnaccel_uring_done(ioucmd, ret, issue_flags);
		nnaccel_uring_free(uring);
	}
	nnaccel_command_put(cmd);
	return -EIOCBQUEUED;
}

/*
 * Cancels a command of a ring or task that exits. The call may be repeated, and may come before the
 * command is admitted.
 */
static void nnaccel_uring_cancel(struct nnaccel_command *cmd)
{
	bool signalling, drop = false;

	kref_get(&cmd->refs);
	signalling = nnaccel_lock_signalling(cmd->ctx);
	if (cmd->state == NNACCEL_COMMAND_NEW)
		cmd->async->ended = true;
	else if (!cmd->async->ended)
		drop = !nnaccel_async_cancel(cmd);
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	if (drop)
		nnaccel_command_put(cmd);
	nnaccel_command_put(cmd);
}

/**
 * nnaccel_uring_cmd() - Implements IORING_OP_URING_CMD on a context
 * @ioucmd: the ring's command
 * @issue_flags: flags of the ring
 *
 * Return: -EIOCBQUEUED, or the error for the completion queue entry: -EOPNOTSUPP, -EACCES, -ENOTTY,
 * or an error of NNACCEL_SUBMIT.
 */
int nnaccel_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	struct nnaccel_context *ctx = ioucmd->file->private_data;

	if (issue_flags & NNACCEL_URING_F_CANCEL) {
		nnaccel_uring_cancel((*nnaccel_uring_pdu(ioucmd))->cmd);
		return 0;
	}
	if (nnaccel_uring_polls(ioucmd, issue_flags))
		return -EOPNOTSUPP;
	if (ctx->mm != current->mm)
		return -EACCES;
	if (ioucmd->cmd_op != NNACCEL_SUBMIT)
		return -ENOTTY;
	return nnaccel_uring_submit(ctx, ioucmd, issue_flags);
}
