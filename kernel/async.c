// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: asynchronous commands: submissions, and executions of a ring. No call drives them. They
 * wait for dependencies, for fences of their memory and for a worker, and are then queued.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sync_file.h>
#include <linux/wait.h>

#include "buffer.h"
#include "command.h"
#include "context.h"
#include "core.h"
#include "engine.h"
#include "memory.h"
#include "submit.h"
#include "trace.h"

/* Is it a dependency that the client named? The others are fences of the memory. */
static bool nnaccel_async_is_named(const struct nnaccel_async_wait *wait)
{
	return wait < wait->async->waits + wait->async->num_fences;
}

/* May run in the callback of a fence, with its lock held. */
static void nnaccel_async_count_down(struct nnaccel_async *async)
{
	if (!atomic_dec_and_test(&async->unsignalled))
		return;
	if (async->num_armed == async->num_fences)
		async->ready_ns = ktime_get_ns();
	queue_work(nnaccel_wq, &async->ready);
}

/**
 * nnaccel_async_signalled() - Handles the end of a wait of a command
 * @wait: the wait; it may be freed on return
 * @failed: the fence or event failed
 *
 * The caller may hold the lock of a fence or of an event.
 */
void nnaccel_async_signalled(struct nnaccel_async_wait *wait, bool failed)
{
	if (failed && nnaccel_async_is_named(wait))
		WRITE_ONCE(wait->async->fence_error, true);
	nnaccel_async_count_down(wait->async);
}

static void nnaccel_async_callback(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	nnaccel_async_signalled(container_of(cb, struct nnaccel_async_wait, cb), fence->error);
}

/* Adds a wait; it takes over the reference to the fence or event. */
static void nnaccel_async_add_wait(struct nnaccel_async *async, struct dma_fence *fence,
				   struct nnaccel_event *event)
{
	struct nnaccel_async_wait *wait = &async->waits[async->num_waits++];

	wait->async = async;
	wait->fence = fence;
	wait->event = event;
	INIT_LIST_HEAD(&wait->cb.node);
	INIT_LIST_HEAD(&wait->node);
}

/* Adds the callback. Returns false if the wait is over already; then nothing is called. */
static bool nnaccel_async_add_callback(struct nnaccel_async_wait *wait)
{
	if (wait->event)
		return nnaccel_event_add_wait(wait->event, wait);
	return !dma_fence_add_callback(wait->fence, &wait->cb, nnaccel_async_callback);
}

static bool nnaccel_async_remove_callback(struct nnaccel_async_wait *wait)
{
	if (wait->event)
		return nnaccel_event_remove_wait(wait->event, wait);
	return dma_fence_remove_callback(wait->fence, &wait->cb);
}

/* Removes the callbacks; after that only the work is pending. */
static void nnaccel_async_remove_callbacks(struct nnaccel_async *async)
{
	u32 i;

	for (i = 0; i < async->num_waits; i++)
		if (nnaccel_async_remove_callback(&async->waits[i]))
			nnaccel_async_count_down(async);
}

/* Has the signalled fence or event failed? */
static bool nnaccel_async_has_failed(const struct nnaccel_async_wait *wait)
{
	return wait->event ? nnaccel_event_has_failed(wait->event) :
			     dma_fence_get_status(wait->fence) < 0;
}

/* Queues async->ready once the waits in [@first, @end) are over, or once the command has ended. */
static void nnaccel_async_arm(struct nnaccel_command *cmd, u32 first, u32 end)
{
	struct nnaccel_async *async = cmd->async;
	bool signalling;
	u32 i;

	atomic_set(&async->unsignalled, end - first + 1);
	kref_get(&cmd->refs);	/* for the work */
	for (i = first; i < end; i++) {
		struct nnaccel_async_wait *wait = &async->waits[i];

		if (!nnaccel_async_add_callback(wait))
			nnaccel_async_signalled(wait, nnaccel_async_has_failed(wait));
	}
	signalling = nnaccel_lock_signalling(cmd->ctx);
	if (cmd->state == NNACCEL_COMMAND_DONE)
		nnaccel_async_remove_callbacks(async);
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	nnaccel_async_count_down(async);
}

/* Lowers the deadline to a duration after a time. On overflow there is no limit. */
static void nnaccel_async_limit(struct nnaccel_command *cmd, u64 from_ns, u64 duration_ns)
{
	u64 end;

	if (check_add_overflow(from_ns, duration_ns, &end))
		return;
	if (!cmd->head.deadline_ns || end < cmd->head.deadline_ns)
		cmd->head.deadline_ns = end;
}

/* Queues the command. After an error the caller must end it. */
static int nnaccel_async_queue(struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	int ret;

	lockdep_assert_held(&cmd->ctx->lock);
	if (!nnaccel_command_is_served(cmd))
		return -EPIPE;
	if (cmd->head.deadline_ns && !nnaccel_deadline_left(cmd->head.deadline_ns, 0))
		return -ETIME;
	ret = nnaccel_buffer_begin_all(cmd);
	if (ret)
		return ret;
	nnaccel_command_submit(cmd);
	return 0;
}

/* Runs in a wake-up of ctx->changes_wait, with its lock held. The wait holds the command. */
static int nnaccel_async_engine_changed(struct wait_queue_entry *entry, unsigned int mode,
					int flags, void *key)
{
	struct nnaccel_async *async = container_of(entry, struct nnaccel_async, engine);

	kref_get(&async->cmd->refs);	/* for the work */
	if (!queue_work(nnaccel_wq, &async->ready))
		nnaccel_command_put(async->cmd);
	return 0;
}

static void nnaccel_async_leave_engine(struct nnaccel_async *async)
	__must_hold(&async->cmd->ctx->lock)
{
	lockdep_assert_held(&async->cmd->ctx->lock);
	if (!async->engine_due_ns)
		return;
	async->engine_due_ns = 0;
	remove_wait_queue(&async->cmd->ctx->changes_wait, &async->engine);
}

/* Returns 0 if a worker is attached, -EINPROGRESS if one may attach, or an error if none will. */
static int nnaccel_async_await_engine(struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	struct nnaccel_async *async = cmd->async;
	int ret;

	lockdep_assert_held(&cmd->ctx->lock);
	if (!async->engine_due_ns) {
		async->engine_due_ns = U64_MAX;
		add_wait_queue(&cmd->ctx->changes_wait, &async->engine);
	}
	ret = nnaccel_engine_check_session(cmd, &async->engine_due_ns);
	if (ret != -EINPROGRESS)
		nnaccel_async_leave_engine(async);
	return ret;
}

/**
 * nnaccel_async_begin() - Continues with the waits for a worker and for exporters
 * @cmd: the command, WAITING; ctx->lock is held
 *
 * Return: 0, or an error with which the caller must end the command.
 */
int nnaccel_async_begin(struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	int ret = 0;

	lockdep_assert_held(&cmd->ctx->lock);
	if (nnaccel_command_wants_engine(cmd))
		ret = nnaccel_async_await_engine(cmd);
	if (ret)
		return ret == -EINPROGRESS ? 0 : ret;
	if (!cmd->foreign || nnaccel_command_is_devices(cmd))
		return nnaccel_async_queue(cmd);
	nnaccel_command_queue_access(cmd);
	return 0;
}

/**
 * struct nnaccel_async_step - The part of a step that is done after the context is unlocked
 * @first: index of the first wait to arm
 * @end: index after the last wait to arm
 * @drop: the command has ended, and a reference to it must be put
 */
struct nnaccel_async_step {
	u32 first;
	u32 end;
	bool drop;
};

/* Advances a WAITING command by one step. */
static void nnaccel_async_step(struct nnaccel_command *cmd, struct nnaccel_async_step *step)
	__must_hold(&cmd->ctx->lock)
{
	struct nnaccel_async *async = cmd->async;
	int error = 0;

	lockdep_assert_held(&cmd->ctx->lock);
	step->first = async->num_armed;
	step->end = step->first < async->num_fences ? async->num_fences : async->num_waits;
	async->num_armed = step->end;
	if (step->first == async->num_fences && async->duration_ns)
		nnaccel_async_limit(cmd, async->ready_ns, async->duration_ns);
	if (READ_ONCE(async->fence_error))
		error = -EREMOTEIO;
	else if (step->first == step->end)
		error = nnaccel_async_begin(cmd);
	if (!error) {
		nnaccel_command_watch(cmd);
		return;
	}
	nnaccel_command_finish(cmd, error);
	step->end = step->first;
	step->drop = true;
}

/* Finishes a step without the lock. */
static void nnaccel_async_stepped(struct nnaccel_command *cmd,
				  const struct nnaccel_async_step *step)
{
	if (step->first < step->end)
		nnaccel_async_arm(cmd, step->first, step->end);
	if (step->drop)
		nnaccel_command_put(cmd);
}

/**
 * nnaccel_async_advance() - Advances an execution by one step
 * @cmd: the admitted execution; it may end before or during the call
 *
 * The steps are: named dependencies, fences of the memory, the wait for a worker, the exporters of
 * the memory, and the queue of the worker.
 */
void nnaccel_async_advance(struct nnaccel_command *cmd)
{
	bool signalling = nnaccel_lock_signalling(cmd->ctx);
	struct nnaccel_async_step step = {};

	if (cmd->state == NNACCEL_COMMAND_WAITING && !cmd->accessing)
		nnaccel_async_step(cmd, &step);
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	nnaccel_async_stepped(cmd, &step);
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
 * nnaccel_async_begun() - Queues an execution after the exporters of its memory were notified
 * @cmd: the execution
 * @error: error of an exporter, or 0
 *
 * Return: true if the caller must put a reference; false if the execution has ended meanwhile, and
 * the caller must end its access too.
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
 * nnaccel_async_depends() - Returns whether a command waits for a dependency that its client named
 * @cmd: the command; ctx->lock is held
 *
 * Return: true if it does.
 */
bool nnaccel_async_depends(const struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	const struct nnaccel_async *async = cmd->async;

	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state != NNACCEL_COMMAND_WAITING || async->num_armed > async->num_fences)
		return false;
	return async->num_armed < async->num_fences || atomic_read(&async->unsignalled);
}

/* Allocates waits for the dependencies and for a fence of each grant, which are charged already. */
static int nnaccel_async_make_room(struct nnaccel_command *cmd, u32 num_fences)
{
	struct nnaccel_async *async = cmd->async;
	u32 room = num_fences + cmd->head.num_grants;
	int ret;

	if (async->waits)
		return 0;
	ret = nnaccel_command_charge(cmd, num_fences * NNACCEL_WAIT_BYTES);
	if (ret)
		return ret;
	async->waits = kvcalloc(room, sizeof(*async->waits), GFP_KERNEL_ACCOUNT);
	return async->waits ? 0 : -ENOMEM;
}

/* Adds waits for the dependencies, which are fences and events. */
static int nnaccel_async_add_named(struct nnaccel_command *cmd, u64 fences, u32 num_fences)
{
	const s32 __user *fds = u64_to_user_ptr(fences);
	struct nnaccel_async *async = cmd->async;
	u32 i;
	int fd, ret;

	ret = nnaccel_async_make_room(cmd, num_fences);
	for (i = 0; i < num_fences && !ret; i++) {
		struct nnaccel_event *event = NULL;
		struct dma_fence *fence;

		if (get_user(fd, fds + i))
			return -EFAULT;
		fence = sync_file_get_fence(fd);
		if (!fence)
			event = nnaccel_submission_event(fd);
		if (!fence && !event)
			return -EINVAL;
		nnaccel_async_add_wait(async, fence, event);
		async->num_fences++;
	}
	return ret;
}

/**
 * nnaccel_async_init() - Makes a command asynchronous
 * @cmd: the command, not admitted yet
 * @fences: user address of the fds of its dependencies
 * @num_fences: number of dependencies
 *
 * Return: 0, -EINVAL, -EDQUOT, -EFAULT, -ENOMEM.
 */
int nnaccel_async_init(struct nnaccel_command *cmd, u64 fences, u32 num_fences)
{
	struct nnaccel_async *async = &cmd->async_room;
	struct dma_fence *fence;
	u32 i;
	int ret;

	INIT_LIST_HEAD(&async->node);
	INIT_WORK(&async->ready, nnaccel_async_ready);
	init_waitqueue_func_entry(&async->engine, nnaccel_async_engine_changed);
	async->cmd = cmd;
	async->ready_ns = cmd->start_ns;
	cmd->async = async;
	nnaccel_context_get(cmd->ctx);

	if (num_fences) {
		ret = nnaccel_async_add_named(cmd, fences, num_fences);
		if (ret)
			return ret;
	}
	/* Later fences are ignored, because they may wait for this execution. */
	for (i = 0; i < cmd->head.num_grants; i++) {
		struct dma_buf *dmabuf = cmd->pools[i]->dmabuf;

		/* Most memory never gets a fence, and then has no list of them. */
		if (!dmabuf || !rcu_access_pointer(dmabuf->resv->fences))
			continue;
		ret = nnaccel_access_get_fence(dmabuf,
					       cmd->grants[i].prot & NNACCEL_PROT_WRITE, &fence);
		if (ret)
			return ret;
		if (!fence)
			continue;
		ret = nnaccel_async_make_room(cmd, num_fences);
		if (ret) {
			dma_fence_put(fence);
			return ret;
		}
		nnaccel_async_add_wait(async, fence, NULL);
	}

	return nnaccel_command_init_access(cmd);
}

/**
 * nnaccel_async_free() - Reverts nnaccel_async_init()
 * @cmd: the execution, which is being freed; nothing else of it needs its context
 */
void nnaccel_async_free(struct nnaccel_command *cmd)
{
	struct nnaccel_async *async = cmd->async;
	u32 i;

	for (i = 0; i < async->num_waits; i++) {
		dma_fence_put(async->waits[i].fence);
		if (async->waits[i].event)
			nnaccel_event_put(async->waits[i].event);
	}
	kvfree(async->waits);
	nnaccel_context_put(cmd->ctx);
}

static int nnaccel_async_admit_locked(struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	struct nnaccel_context *ctx = cmd->ctx;
	int ret;

	lockdep_assert_held(&ctx->lock);
	if (cmd->async->ended)
		return -ECANCELED;
	if (!nnaccel_command_wants_engine(cmd) && !nnaccel_command_is_served(cmd))
		return -ESTALE;
	ret = nnaccel_command_count(cmd);
	if (ret)
		return ret;
	kref_get(&cmd->refs);
	cmd->state = NNACCEL_COMMAND_WAITING;
	list_add_tail(&cmd->async->node, &ctx->asyncs);
	return 0;
}

/**
 * nnaccel_async_admit() - Admits an execution, so that its end will be reported
 * @cmd: the execution; takes a reference, which its end drops
 *
 * Return: 0, -ESTALE, -EXFULL, -ECANCELED.
 */
int nnaccel_async_admit(struct nnaccel_command *cmd)
{
	int ret;

	mutex_lock(&cmd->ctx->lock);
	ret = nnaccel_async_admit_locked(cmd);
	mutex_unlock(&cmd->ctx->lock);
	return ret;
}

/**
 * nnaccel_async_start() - Admits an execution and advances it by the first step
 * @cmd: the execution; it may have ended on return
 *
 * Return: the result of nnaccel_async_admit().
 */
int nnaccel_async_start(struct nnaccel_command *cmd)
{
	bool signalling = nnaccel_lock_signalling(cmd->ctx);
	struct nnaccel_async_step step = {};
	int ret;

	ret = nnaccel_async_admit_locked(cmd);
	if (!ret)
		nnaccel_async_step(cmd, &step);
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	nnaccel_async_stepped(cmd, &step);
	return ret;
}

/**
 * nnaccel_async_end() - Reports the end of an execution to its client, once
 * @cmd: the execution; ctx->lock is held
 * @error: 0 if it is answered
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
	nnaccel_async_leave_engine(async);
	nnaccel_async_remove_callbacks(async);
	async->end(cmd, error);
}

/**
 * nnaccel_async_abandon() - Reports the end of an execution before it has really ended
 * @cmd: the execution; ctx->lock is held
 * @error: the error
 *
 * The worker or the hardware goes on with the execution.
 */
void nnaccel_async_abandon(struct nnaccel_command *cmd, int error)
	__must_hold(&cmd->ctx->lock)
{
	lockdep_assert_held(&cmd->ctx->lock);
	cmd->abandoned = true;
	trace_nnaccel_command_abandon(cmd);
	nnaccel_async_end(cmd, error);
}

/**
 * nnaccel_async_cancel() - Cancels an execution that has not ended
 * @cmd: the execution; ctx->lock is held
 *
 * Return: 0 if the caller must put a reference; 1 if the worker or an exporter still has it.
 */
int nnaccel_async_cancel(struct nnaccel_command *cmd)
	__must_hold(&cmd->ctx->lock)
{
	lockdep_assert_held(&cmd->ctx->lock);
	if (nnaccel_command_goes_on(cmd)) {
		nnaccel_async_abandon(cmd, -ECANCELED);
		return 1;
	}
	list_del_init(&cmd->node);
	nnaccel_command_finish(cmd, -ECANCELED);
	return 0;
}

/**
 * nnaccel_async_fail() - Fails the executions that no worker has
 * @ctx: the context; ctx->lock is held
 * @error: the error
 * @dead: gets the executions; the caller puts them
 */
void nnaccel_async_fail(struct nnaccel_context *ctx, int error, struct list_head *dead)
	__must_hold(&ctx->lock)
{
	struct nnaccel_async *async, *next;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(async, next, &ctx->asyncs, node) {
		struct nnaccel_command *cmd = async->cmd;

		if (nnaccel_command_goes_on(cmd))
			continue;
		list_del_init(&cmd->node);
		nnaccel_command_finish(cmd, error);
		list_add_tail(&cmd->node, dead);
	}
}

/* Cancels the named executions; submissions have no tag. Returns their number, or -ENOENT. */
static int nnaccel_cancel(struct nnaccel_context *ctx, const struct nnaccel_cancel *arg,
			  bool submissions, struct list_head *dead)
	__must_hold(&ctx->lock)
{
	struct nnaccel_async *async, *next;
	int cancelled = 0;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(async, next, &ctx->asyncs, node) {
		struct nnaccel_command *cmd = async->cmd;

		if (!(arg->flags & NNACCEL_CANCEL_ANY) && async->tag != arg->tag)
			continue;
		if (async->submitted && !submissions)
			continue;
		if (!nnaccel_async_cancel(cmd))
			list_add_tail(&cmd->node, dead);
		cancelled++;
	}
	return cancelled ?: -ENOENT;
}

/* Cancels like nnaccel_cancel(), and puts the cancelled executions. */
static int nnaccel_cancel_and_put(struct nnaccel_context *ctx, const struct nnaccel_cancel *arg,
				  bool submissions)
{
	bool signalling;
	LIST_HEAD(dead);
	int ret;

	signalling = nnaccel_lock_signalling(ctx);
	ret = nnaccel_cancel(ctx, arg, submissions, &dead);
	nnaccel_unlock_signalling(ctx, signalling);
	nnaccel_command_put_all(&dead);
	return ret;
}

/**
 * nnaccel_async_cancel_all() - Cancels all commands of a context
 * @ctx: the context
 */
void nnaccel_async_cancel_all(struct nnaccel_context *ctx)
{
	const struct nnaccel_cancel all = { .flags = NNACCEL_CANCEL_ANY };

	nnaccel_cancel_and_put(ctx, &all, true);
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
	ret = nnaccel_cancel_and_put(ucmd->object, arg, false);
	if (ret < 0)
		return ret;
	arg->out_cancelled = ret;
	return nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}
