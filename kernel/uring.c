// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: executions by io_uring. A struct nnaccel_submit describes an execution by a ring, which
 * is validated like an execution by NNACCEL_SUBMIT. A completion queue entry reports the end of
 * each execution.
 */

#include <linux/sched.h>

#include "command.h"
#include "compat.h"
#include "submit.h"

/* Interval at which the module checks whether a process in execve() waits for executions. */
#define NNACCEL_LEAVE_POLL	msecs_to_jiffies(200)

/*
 * Returns the field of an io_uring command that points to the execution's command and holds a
 * reference.
 */
static struct nnaccel_command **nnaccel_uring_pdu(struct io_uring_cmd *ioucmd)
{
	BUILD_BUG_ON(sizeof(struct nnaccel_command *) > sizeof(ioucmd->pdu));
	return (struct nnaccel_command **)&ioucmd->pdu;
}

/* Converts a status to an error, so that the ring cancels linked requests after a failure. */
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

/*
 * Writes the answer of an execution to the client, and returns the result for the completion queue
 * entry.
 */
static int nnaccel_uring_respond(struct nnaccel_command *cmd)
{
	struct nnaccel_execute execute;
	struct nnaccel_ucmd work = { .ubuffer = cmd->uring_work, .cmd = &execute };

	if (cmd->end_error)
		return cmd->end_error;
	/* If the task that submitted the execution has exited, the task's memory is gone. */
	if (current->mm != cmd->ctx->mm)
		return -ECANCELED;
	return nnaccel_work_copy(cmd->kind, &work) ?: nnaccel_work_answer(cmd->kind, cmd, &work) ?:
	       nnaccel_uring_status(cmd->status);
}

/*
 * Completes an execution in the task that submitted it. If the submitting task has exited, the
 * function runs in a kworker without the task's mm.
 */
static void nnaccel_uring_complete(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	struct nnaccel_command *cmd = *nnaccel_uring_pdu(ioucmd);

	nnaccel_uring_done(ioucmd, nnaccel_uring_respond(cmd), issue_flags);
	nnaccel_command_put(cmd);
}

NNACCEL_URING_IN_TASK(nnaccel_uring_in_task, nnaccel_uring_complete)

/**
 * nnaccel_uring_end() - Reports the end of an execution to its ring
 * @cmd: the execution, whose end was not reported yet; ctx->lock is held
 */
void nnaccel_uring_end(struct nnaccel_command *cmd)
{
	io_uring_cmd_complete_in_task(cmd->uring, nnaccel_uring_in_task);
}

/*
 * Returns whether an execution must end because its process exits or calls execve(). A process in
 * execve() waits unkillably for all commands of its rings.
 */
static bool nnaccel_uring_must_leave(const struct nnaccel_command *cmd)
{
	const struct task_struct *task;
	bool leaves;

	rcu_read_lock();
	task = pid_task(cmd->uring_pid, PIDTYPE_TGID);
	leaves = !task || nnaccel_task_executes(task);
	rcu_read_unlock();
	return leaves;
}

/**
 * nnaccel_uring_poll() - Cancels executions that must end, if their rings cannot
 * @work: nnaccel_context.leave; repeats until the last execution of a ring has
 *	ended
 */
void nnaccel_uring_poll(struct work_struct *work)
{
	struct nnaccel_context *ctx = container_of(to_delayed_work(work), struct nnaccel_context,
						   leave);
	struct nnaccel_command *cmd, *next;

	mutex_lock(&ctx->lock);
	ctx->leaves = false;
	list_for_each_entry_safe(cmd, next, &ctx->commands, all) {
		if (!cmd->uring || cmd->ended)
			continue;
		ctx->leaves = true;
		if (nnaccel_uring_must_leave(cmd))
			nnaccel_command_cancel(cmd, -ECANCELED);
	}
	if (ctx->leaves)
		queue_delayed_work(nnaccel_wq, &ctx->leave, NNACCEL_LEAVE_POLL);
	nnaccel_unlock_commands(ctx);
}

static int nnaccel_uring_start(struct nnaccel_context *ctx, struct io_uring_cmd *ioucmd,
			       unsigned int issue_flags)
{
	const struct nnaccel_uring_submit *from = nnaccel_uring_sqe_cmd(ioucmd);
	struct nnaccel_execute execute;
	struct nnaccel_ucmd work = { .cmd = &execute };
	struct nnaccel_command *cmd;
	int ret;

	/*
	 * The client can change the submission queue at any time, so each word of an entry is read
	 * only once.
	 */
	cmd = nnaccel_submit_by_ring(ctx, READ_ONCE(from->submit), &work);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	cmd->uring = ioucmd;
	cmd->uring_tag = READ_ONCE(from->tag);
	cmd->uring_work = work.ubuffer;
	if (!NNACCEL_URING_F_CANCEL)
		cmd->uring_pid = get_pid(task_tgid(current));
	*nnaccel_uring_pdu(ioucmd) = cmd;
	kref_get(&cmd->refs);
	/*
	 * Mark the request cancelable before the execution starts, because the execution's end
	 * frees the request.
	 */
	nnaccel_uring_mark_cancelable(ioucmd, issue_flags);
	mutex_lock(&ctx->lock);
	ret = nnaccel_command_admit(cmd);
	if (!ret)
		nnaccel_command_advance(cmd);
	if (!NNACCEL_URING_F_CANCEL && !ctx->leaves)
		ctx->leaves = queue_delayed_work(nnaccel_wq, &ctx->leave, NNACCEL_LEAVE_POLL);
	nnaccel_unlock_commands(ctx);
	/*
	 * If the execution was started, nnaccel_uring_complete() ends the io_uring request, or has
	 * already ended it.
	 */
	if (ret) {
		nnaccel_uring_done(ioucmd, ret, issue_flags);
		nnaccel_command_put(cmd);
	}
	nnaccel_command_put(cmd);
	return -EIOCBQUEUED;
}

/*
 * Cancels a command whose ring or task exits. io_uring may call the function several times, and
 * even before the module admits the command.
 */
static void nnaccel_uring_cancel(struct nnaccel_command *cmd)
{
	kref_get(&cmd->refs);
	mutex_lock(&cmd->ctx->lock);
	if (cmd->state == NNACCEL_COMMAND_NEW)
		cmd->ended = true;
	nnaccel_command_cancel(cmd, -ECANCELED);
	nnaccel_unlock_commands(cmd->ctx);
	nnaccel_command_put(cmd);
}

/**
 * nnaccel_uring_cancel_all() - Cancels executions that rings submitted
 * @ctx: the context
 * @which: all or those with a tag
 *
 * Return: the number of cancelled executions, or -ENOENT.
 */
int nnaccel_uring_cancel_all(struct nnaccel_context *ctx, const struct nnaccel_cancel *which)
{
	struct nnaccel_command *cmd, *next;
	int cancelled = 0;

	mutex_lock(&ctx->lock);
	list_for_each_entry_safe(cmd, next, &ctx->commands, all) {
		if (!cmd->uring || cmd->ended ||
		    (!(which->flags & NNACCEL_CANCEL_ANY) && cmd->uring_tag != which->tag))
			continue;
		nnaccel_command_cancel(cmd, -ECANCELED);
		cancelled++;
	}
	nnaccel_unlock_commands(ctx);
	return cancelled ?: -ENOENT;
}

/**
 * nnaccel_cancel_ioctl() - Implements NNACCEL_CANCEL
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -ENOENT, -EFAULT.
 */
int nnaccel_cancel_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_cancel *arg = ucmd->cmd;
	int ret;

	if (arg->flags & ~NNACCEL_CANCEL_ANY || arg->__reserved)
		return -EINVAL;
	ret = nnaccel_uring_cancel_all(ucmd->object, arg);
	if (ret < 0)
		return ret;
	arg->out_cancelled = ret;
	return nnaccel_ucmd_respond(ucmd, sizeof(*arg));
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
		nnaccel_uring_cancel(*nnaccel_uring_pdu(ioucmd));
		return 0;
	}
	if (nnaccel_uring_polls(ioucmd, issue_flags))
		return -EOPNOTSUPP;
	if (ctx->mm != current->mm)
		return -EACCES;
	if (ioucmd->cmd_op != NNACCEL_SUBMIT)
		return -ENOTTY;
	return nnaccel_uring_start(ctx, ioucmd, issue_flags);
}
