// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: executions that nobody waits for in a call. They wait for fences, are queued without
 * their client, and end within a bound: what could still write is killed first.
 */

#include <linux/dma-buf.h>
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sync_file.h>

#include "nnaccel_private.h"
#include "trace.h"

/* Did the client name it? The others are of the memory that the execution uses. */
static bool nnaccel_async_is_named(const struct nnaccel_async_wait *wait)
{
	return wait < wait->async->waits + wait->async->num_fences;
}

/* Context of a fence's callback, its lock held, or without. */
static void nnaccel_async_signalled(struct nnaccel_async *async)
{
	if (!atomic_dec_and_test(&async->unsignalled))
		return;
	if (async->num_armed == async->num_fences)
		async->ready_ns = ktime_get_ns();
	queue_work(nnaccel_wq, &async->ready);
}

static void nnaccel_async_callback(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct nnaccel_async_wait *wait = container_of(cb, struct nnaccel_async_wait, cb);

	if (fence->error && nnaccel_async_is_named(wait))
		WRITE_ONCE(wait->async->fence_error, true);
	nnaccel_async_signalled(wait->async);
}

/* One more fence to wait for, counted by the caller. */
static void nnaccel_async_add_wait(struct nnaccel_async *async, struct dma_fence *fence)
{
	struct nnaccel_async_wait *wait = &async->waits[async->num_waits++];

	wait->async = async;
	wait->fence = fence;
	INIT_LIST_HEAD(&wait->cb.node);
}

/* Waits for no fence any more; what remains of the wait is its work. */
static void nnaccel_async_remove_callbacks(struct nnaccel_async *async)
{
	u32 i;

	for (i = 0; i < async->num_waits; i++)
		if (dma_fence_remove_callback(async->waits[i].fence, &async->waits[i].cb))
			nnaccel_async_signalled(async);
}

/* Has the work done when the fences from @first to @end have signalled, or when all is over. */
static void nnaccel_async_arm(struct nnaccel_command *cmd, u32 first, u32 end)
{
	struct nnaccel_async *async = cmd->async;
	bool signalling;
	u32 i;

	atomic_set(&async->unsignalled, end - first + 1);
	kref_get(&cmd->refs);	/* the work's */
	for (i = first; i < end; i++) {
		struct nnaccel_async_wait *wait = &async->waits[i];

		if (!dma_fence_add_callback(wait->fence, &wait->cb, nnaccel_async_callback))
			continue;
		if (dma_fence_get_status(wait->fence) < 0 && nnaccel_async_is_named(wait))
			WRITE_ONCE(async->fence_error, true);
		nnaccel_async_signalled(async);
	}
	signalling = nnaccel_lock_signalling(cmd->ctx);
	if (cmd->state == NNACCEL_COMMAND_DONE)
		nnaccel_async_remove_callbacks(async);
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	nnaccel_async_signalled(async);
}

/* Not later than that; what is beyond the end of time is no limit. */
static void nnaccel_async_limit(struct nnaccel_command *cmd, u64 from_ns, u64 duration_ns)
{
	u64 end;

	if (check_add_overflow(from_ns, duration_ns, &end))
		return;
	if (!cmd->head.deadline_ns || end < cmd->head.deadline_ns)
		cmd->head.deadline_ns = end;
}

/* Return: 0: the session has the command; else it is to be ended. */
static int nnaccel_async_queue(struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	int ret;

	lockdep_assert_held(&cmd->ctx->lock);
	if (!cmd->model->session)
		return -EPIPE;
	if (cmd->head.deadline_ns && !nnaccel_deadline_left(cmd->head.deadline_ns, 0))
		return -ETIME;
	ret = nnaccel_buffer_begin_all(cmd);
	if (ret)
		return ret;
	nnaccel_command_submit(cmd);
	return 0;
}

/**
 * nnaccel_async_advance() - Take an execution one step on
 * @cmd: the execution, admitted; it may have ended meanwhile, and may be at its end on return
 *
 * It goes from the fences that its client named to those of its memory, to the exporters of the
 * memory, to the worker's queue.
 */
void nnaccel_async_advance(struct nnaccel_command *cmd)
{
	struct nnaccel_async *async = cmd->async;
	bool signalling, drop = false;
	u32 first = 0, end = 0;
	int error = 0;

	signalling = nnaccel_lock_signalling(cmd->ctx);
	if (cmd->state != NNACCEL_COMMAND_WAITING)
		goto unlock;
	first = async->num_armed;
	end = first < async->num_fences ? async->num_fences : async->num_waits;
	async->num_armed = end;
	if (first == async->num_fences && async->duration_ns)
		nnaccel_async_limit(cmd, async->ready_ns, async->duration_ns);
	if (READ_ONCE(async->fence_error))
		error = -EREMOTEIO;
	else if (first == end && cmd->foreign)
		nnaccel_command_queue_access(cmd);
	else if (first == end)
		error = nnaccel_async_queue(cmd);
	if (!error) {
		nnaccel_command_watch(cmd);
	} else {
		nnaccel_command_finish(cmd, error);
		drop = true;
	}
unlock:
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	if (first < end && !error)
		nnaccel_async_arm(cmd, first, end);
	if (drop)
		nnaccel_command_put(cmd);
}

static void nnaccel_async_ready(struct work_struct *work)
{
	struct nnaccel_async *async = container_of(work, struct nnaccel_async, ready);
	bool signalling = dma_fence_begin_signalling();

	nnaccel_async_advance(async->cmd);
	dma_fence_end_signalling(signalling);
	nnaccel_command_put(async->cmd);
}

/**
 * nnaccel_async_begun() - The exporters of an execution's memory know that it is to be accessed
 * @cmd: the execution
 * @error: one of them refused
 *
 * Return: true: a count of it is to be put; false: it has ended meanwhile, and its access is to be
 * ended too.
 */
bool nnaccel_async_begun(struct nnaccel_command *cmd, int error)
{
	bool signalling = nnaccel_lock_signalling(cmd->ctx);
	bool waits = cmd->state == NNACCEL_COMMAND_WAITING;

	if (waits) {
		cmd->accessing = false;
		error = error ?: nnaccel_async_queue(cmd);
		if (!error) {
			nnaccel_command_watch(cmd);
		} else {
			cmd->accessed = cmd->num_accessed;
			nnaccel_command_finish(cmd, error);
		}
	}
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	if (waits && error)
		nnaccel_command_put(cmd);
	return waits;
}

/**
 * nnaccel_async_init() - Make an execution one that nobody waits for
 * @cmd: the execution, not admitted yet
 * @fences: user address of the fds of what it waits for
 * @num_fences: how many
 * @fenced: its end is a fence: it ends within fence_bound_ms, whatever anybody does
 *
 * Return: 0, -EINVAL, -EDQUOT, -EFAULT, -ENOMEM.
 */
int nnaccel_async_init(struct nnaccel_command *cmd, u64 fences, u32 num_fences, bool fenced)
{
	u64 bound_ns = (u64)READ_ONCE(nnaccel_fence_bound_ms) * NSEC_PER_MSEC;
	u64 grace_ns = (u64)READ_ONCE(nnaccel_kill_grace_ms) * NSEC_PER_MSEC;
	u64 kill_ns = min_t(u64, NNACCEL_KILL_NS, bound_ns / 4);
	const s32 __user *fds = u64_to_user_ptr(fences);
	u32 i, room = num_fences + cmd->head.num_grants;
	struct nnaccel_async *async;
	struct dma_fence *fence;
	int fd, ret;

	if (num_fences > NNACCEL_MAX_FENCES)
		return -EINVAL;
	ret = nnaccel_command_charge(cmd, num_fences * NNACCEL_WAIT_BYTES);
	if (ret)
		return ret;
	async = kvzalloc(struct_size(async, waits, room), GFP_KERNEL_ACCOUNT);
	if (!async)
		return -ENOMEM;
	INIT_LIST_HEAD(&async->node);
	INIT_WORK(&async->ready, nnaccel_async_ready);
	async->cmd = cmd;
	async->start_ns = ktime_get_ns();
	async->ready_ns = async->start_ns;
	cmd->async = async;
	nnaccel_context_get(cmd->ctx);

	for (i = 0; i < num_fences; i++) {
		if (get_user(fd, fds + i))
			return -EFAULT;
		fence = sync_file_get_fence(fd);
		if (!fence)
			return -EINVAL;
		nnaccel_async_add_wait(async, fence);
		async->num_fences++;
	}
	/*
	 * The fences of the memory as they are now, before anybody can see the execution's own:
	 * what comes later may wait for this execution, and is not waited for.
	 */
	for (i = 0; i < cmd->head.num_grants; i++) {
		if (!cmd->pools[i]->dmabuf)
			continue;
		ret = nnaccel_access_get_fence(cmd->pools[i]->dmabuf,
					       cmd->grants[i].prot & NNACCEL_PROT_WRITE, &fence);
		if (ret)
			return ret;
		if (fence)
			nnaccel_async_add_wait(async, fence);
	}

	/*
	 * The last part of the time is for the death of a worker that does not answer: it must not
	 * write any more when the fence signals.
	 */
	if (fenced) {
		async->bound_ns = async->start_ns + bound_ns;
		async->kill_ns = async->bound_ns - kill_ns;
		nnaccel_async_limit(cmd, async->start_ns,
				    bound_ns - kill_ns - min(grace_ns, bound_ns / 4));
	}
	return nnaccel_command_init_access(cmd);
}

/**
 * nnaccel_async_free() - Undo nnaccel_async_init()
 * @cmd: the execution, at its end; nothing else of it needs its context any more
 */
void nnaccel_async_free(struct nnaccel_command *cmd)
{
	struct nnaccel_async *async = cmd->async;
	u32 i;

	for (i = 0; i < async->num_waits; i++)
		dma_fence_put(async->waits[i].fence);
	kvfree(async);
	nnaccel_context_put(cmd->ctx);
}

/**
 * nnaccel_async_admit() - From now on the execution has an end that is told
 * @cmd: the execution; a count is taken that its end gives back
 *
 * Return: 0, -ESTALE, -EXFULL, -ECANCELED.
 */
int nnaccel_async_admit(struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = cmd->ctx;
	int ret;

	mutex_lock(&ctx->lock);
	if (cmd->async->ended)
		ret = -ECANCELED;
	else if (!cmd->model->session)
		ret = -ESTALE;
	else
		ret = nnaccel_command_count(cmd);
	if (!ret) {
		kref_get(&cmd->refs);
		cmd->state = NNACCEL_COMMAND_WAITING;
		list_add_tail(&cmd->async->node, &ctx->asyncs);
	}
	mutex_unlock(&ctx->lock);
	return ret;
}

/**
 * nnaccel_async_end() - Tell the client of an execution's end, once
 * @cmd: the execution; ctx->lock is held
 * @error: 0: it is answered
 */
void nnaccel_async_end(struct nnaccel_command *cmd, int error)
	__must_hold(&cmd->ctx->lock)
{
	struct nnaccel_async *async = cmd->async;

	lockdep_assert_held(&cmd->ctx->lock);
	if (async->ended)
		return;
	async->ended = true;
	list_del_init(&async->node);
	nnaccel_async_remove_callbacks(async);
	async->end(cmd, error);
}

/**
 * nnaccel_async_cancel() - End an execution that has not ended yet
 * @cmd: the execution; ctx->lock is held
 *
 * Return: 0: it is on no list any more, and a count of it is the caller's to put; 1: the worker
 * goes on with it; -EALREADY: the worker has it, and it must not end before.
 */
int nnaccel_async_cancel(struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state == NNACCEL_COMMAND_IN_FLIGHT || cmd->state == NNACCEL_COMMAND_FENCED ||
	    cmd->state == NNACCEL_COMMAND_ENDING) {
		if (!cmd->async->may_leave)
			return -EALREADY;
		cmd->abandoned = true;
		nnaccel_async_end(cmd, -ECANCELED);
		return 1;
	}
	list_del_init(&cmd->node);
	nnaccel_command_finish(cmd, -ECANCELED);
	return 0;
}

/**
 * nnaccel_async_cancel_unstarted() - Cancel an execution that was admitted and not started
 * @cmd: the execution
 */
void nnaccel_async_cancel_unstarted(struct nnaccel_command *cmd)
{
	bool waits, signalling = nnaccel_lock_signalling(cmd->ctx);

	waits = cmd->state == NNACCEL_COMMAND_WAITING;
	if (waits)
		nnaccel_command_finish(cmd, -ECANCELED);
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	if (waits)
		nnaccel_command_put(cmd);
}

/**
 * nnaccel_async_fail() - End the executions that no worker has
 * @ctx: the context, locked
 * @error: their error
 * @dead: gets them, for the caller to put
 */
void nnaccel_async_fail(struct nnaccel_context *ctx, int error, struct list_head *dead)
	__must_hold(&ctx->lock)
{
	struct nnaccel_async *async, *next;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(async, next, &ctx->asyncs, node) {
		struct nnaccel_command *cmd = async->cmd;

		if (cmd->state == NNACCEL_COMMAND_IN_FLIGHT ||
		    cmd->state == NNACCEL_COMMAND_FENCED ||
		    cmd->state == NNACCEL_COMMAND_ENDING)
			continue;
		list_del_init(&cmd->node);
		nnaccel_command_finish(cmd, error);
		list_add_tail(&cmd->node, dead);
	}
}

/* Cancels what is named; @dead: to put. Return: how many, -ENOENT or -EALREADY. */
static int nnaccel_cancel(struct nnaccel_context *ctx, const struct nnaccel_cancel *arg,
			  struct list_head *dead)
	__must_hold(&ctx->lock)
{
	struct nnaccel_async *async, *next;
	int cancelled = 0, error = -ENOENT;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(async, next, &ctx->asyncs, node) {
		struct nnaccel_command *cmd = async->cmd;
		int ret;

		if (!(arg->flags & NNACCEL_CANCEL_ANY) && async->tag != arg->tag)
			continue;
		ret = nnaccel_async_cancel(cmd);
		if (!ret)
			list_add_tail(&cmd->node, dead);
		if (ret < 0)
			error = ret;
		else
			cancelled++;
	}
	return cancelled ?: error;
}

/* Cancels, and puts what is left over; as nnaccel_cancel(). */
static int nnaccel_cancel_and_put(struct nnaccel_context *ctx, const struct nnaccel_cancel *arg)
{
	struct nnaccel_command *cmd, *next;
	bool signalling;
	LIST_HEAD(dead);
	int ret;

	signalling = nnaccel_lock_signalling(ctx);
	ret = nnaccel_cancel(ctx, arg, &dead);
	nnaccel_unlock_signalling(ctx, signalling);
	list_for_each_entry_safe(cmd, next, &dead, node)
		nnaccel_command_put(cmd);
	return ret;
}

/**
 * nnaccel_async_cancel_all() - Cancel what can be of a context
 * @ctx: the context
 */
void nnaccel_async_cancel_all(struct nnaccel_context *ctx)
{
	const struct nnaccel_cancel all = { .flags = NNACCEL_CANCEL_ANY };

	nnaccel_cancel_and_put(ctx, &all);
}

/**
 * nnaccel_cancel_ioctl() - NNACCEL_CANCEL
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -ENOENT, -EALREADY, -EFAULT.
 */
int nnaccel_cancel_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_cancel *arg = ucmd->cmd;
	int ret;

	if (arg->flags & ~NNACCEL_CANCEL_ANY || arg->__reserved)
		return -EINVAL;
	ret = nnaccel_cancel_and_put(ucmd->object, arg);
	if (ret < 0)
		return ret;
	arg->out_cancelled = ret;
	return nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}
