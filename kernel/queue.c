// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: what happens to a command before its worker gets it. A command waits for dependencies,
 * for fences of its memory, for a worker and for exporters, and is then queued. A command can wait
 * without a waiting system call, because work items advance commands.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/sync_file.h>

#include "buffer.h"
#include "command.h"
#include "engine.h"
#include "session.h"
#include "submit.h"
#include "trace.h"

/*
 * Counts a wait of a command as ended; the caller may hold the lock of the fence. Returns true if
 * the command has no other pending wait.
 */
static bool nnaccel_command_count_down(struct nnaccel_command *cmd)
{
	if (!atomic_dec_and_test(&cmd->unsignalled))
		return false;
	if (cmd->num_armed == cmd->num_named)
		cmd->ready_ns = ktime_get_ns();
	return true;
}

static void nnaccel_dependency_over(struct nnaccel_dependency *dep)
{
	if (nnaccel_command_count_down(dep->cmd))
		queue_work(nnaccel_wq, &dep->cmd->ready);
}

static void nnaccel_dependency_callback(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	nnaccel_dependency_over(container_of(cb, struct nnaccel_dependency, cb));
}

/*
 * Ignore wake-ups before the submission's end: the wait queue is also woken when the submission
 * gets a fence.
 */
static int nnaccel_dependency_woken(struct wait_queue_entry *entry, unsigned int mode, int flags,
				    void *key)
{
	struct nnaccel_dependency *dep = container_of(entry, struct nnaccel_dependency, entry);

	if (READ_ONCE(dep->end->status)) {
		list_del_init(&entry->entry);
		nnaccel_dependency_over(dep);
	}
	return 0;
}

/*
 * Starts a wait. If the event of the wait has already happened, returns false and never calls the
 * callback.
 */
static bool nnaccel_dependency_start(struct nnaccel_dependency *dep)
{
	struct nnaccel_end *end = dep->end;
	bool pending;

	if (dep->fence)
		return !dma_fence_add_callback(dep->fence, &dep->cb, nnaccel_dependency_callback);
	/*
	 * This wait misses no end: the thread that sets end->status then takes end->wait.lock, to
	 * wake the waiters.
	 */
	spin_lock_irq(&end->wait.lock);
	pending = !READ_ONCE(end->status);
	if (pending)
		__add_wait_queue_entry_tail(&end->wait, &dep->entry);
	spin_unlock_irq(&end->wait.lock);
	return pending;
}

/*
 * Stops a wait. Returns true if the wait was pending, so that the wait's callback will not be
 * called.
 */
static bool nnaccel_dependency_stop(struct nnaccel_dependency *dep)
{
	bool pending;

	if (dep->fence)
		return dma_fence_remove_callback(dep->fence, &dep->cb);
	spin_lock_irq(&dep->end->wait.lock);
	pending = !list_empty(&dep->entry.entry);
	list_del_init(&dep->entry.entry);
	spin_unlock_irq(&dep->end->wait.lock);
	return pending;
}

/**
 * nnaccel_command_has_failed() - Returns whether a dependency that the client named has failed
 * @cmd: the command
 *
 * Failed fences of the memory are ignored: the command still runs.
 *
 * Return: true if a dependency has failed; false if each dependency has succeeded or is pending.
 */
bool nnaccel_command_has_failed(const struct nnaccel_command *cmd)
{
	const struct nnaccel_dependency *dep;

	for (dep = cmd->waits; dep < cmd->waits + cmd->num_named; dep++)
		if ((dep->fence ? dma_fence_get_status(dep->fence) :
				  READ_ONCE(dep->end->status)) < 0)
			return true;
	return false;
}

/**
 * nnaccel_end_create() - Allocates the struct nnaccel_end of an execution
 *
 * Return: a struct nnaccel_end with one reference, or NULL if memory ran out.
 */
struct nnaccel_end *nnaccel_end_create(void)
{
	struct nnaccel_end *end = kzalloc(sizeof(*end), GFP_KERNEL_ACCOUNT);

	if (end) {
		refcount_set(&end->refs, 1);
		init_waitqueue_head(&end->wait);
	}
	return end;
}

/**
 * nnaccel_end_put() - Drops a reference to an end
 * @end: the end, or NULL
 */
void nnaccel_end_put(struct nnaccel_end *end)
{
	if (end && refcount_dec_and_test(&end->refs))
		kfree(end);
}

/*
 * Starts the command's waits with indices below @end. Returns true if no wait with such an index is
 * pending. If waits are pending, the last wait to end queues the command's work @ready.
 */
static bool nnaccel_command_arm(struct nnaccel_command *cmd, u32 end)
{
	struct nnaccel_dependency *dep = cmd->waits + cmd->num_armed;

	atomic_set(&cmd->unsignalled, end - cmd->num_armed + 1);
	cmd->num_armed = end;
	kref_get(&cmd->refs);	/* for the work */
	for (; dep < cmd->waits + end; dep++)
		if (!nnaccel_dependency_start(dep))
			atomic_dec(&cmd->unsignalled);
	if (!nnaccel_command_count_down(cmd))
		return false;
	nnaccel_command_put(cmd);
	return true;
}

/**
 * nnaccel_command_forget_waits() - Stops the waits of a command before its end is reported
 * @cmd: the command; ctx->lock is held
 *
 * When the function returns, no wait is pending, but the command's work @ready may be pending.
 */
void nnaccel_command_forget_waits(struct nnaccel_command *cmd)
{
	u32 i;

	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->engine_due_ns)
		remove_wait_queue(&cmd->ctx->changes_wait, &cmd->engine);
	cmd->engine_due_ns = 0;
	for (i = 0; i < cmd->num_armed; i++)
		if (nnaccel_dependency_stop(&cmd->waits[i]))
			nnaccel_dependency_over(&cmd->waits[i]);
}

/**
 * nnaccel_command_kick() - Queues the work that advances a command
 * @cmd: the command, for which the caller has a reference; the lock of a fence may be
 *	held
 */
void nnaccel_command_kick(struct nnaccel_command *cmd)
{
	kref_get(&cmd->refs);	/* for the work */
	if (!queue_work(nnaccel_wq, &cmd->ready))
		nnaccel_command_put(cmd);
}

/**
 * nnaccel_command_engine_changed() - Advances a command that waits for a worker
 * @entry: its entry in ctx->changes_wait, whose lock is held; the wait holds the command
 * @mode: unused
 * @flags: unused
 * @key: unused
 *
 * Return: 0.
 */
int nnaccel_command_engine_changed(struct wait_queue_entry *entry, unsigned int mode, int flags,
				   void *key)
{
	nnaccel_command_kick(container_of(entry, struct nnaccel_command, engine));
	return 0;
}

/* Returns 0 if a worker is attached, -EINPROGRESS if a worker may still attach, else an error. */
static int nnaccel_command_await_engine(struct nnaccel_command *cmd)
{
	long left;

	if (!cmd->engine_due_ns) {
		cmd->engine_due_ns = U64_MAX;
		add_wait_queue(&cmd->ctx->changes_wait, &cmd->engine);
	}
	left = nnaccel_command_is_served(cmd) ? 0 : nnaccel_engine_time_left(cmd);
	if (left > 0) {
		cmd->engine_due_ns = ktime_get_ns() + jiffies_to_nsecs(left);
		return -EINPROGRESS;
	}
	cmd->engine_due_ns = 0;
	remove_wait_queue(&cmd->ctx->changes_wait, &cmd->engine);
	return left;
}

/* Queues the command to its session. If queuing fails, the caller must finish the command. */
static int nnaccel_command_queue(struct nnaccel_command *cmd)
{
	int ret;

	if (!nnaccel_command_is_served(cmd))
		return -EPIPE;
	if (cmd->head.deadline_ns && !nnaccel_deadline_left(cmd->head.deadline_ns))
		return -ETIME;
	ret = nnaccel_buffer_begin_all(cmd);
	if (ret)
		return ret;
	cmd->synced = !nnaccel_command_is_devices(cmd);
	if (cmd->synced)
		nnaccel_command_sync_own(cmd, true);
	cmd->accessed = cmd->num_accessed;
	nnaccel_session_queue(cmd->ctx->session, cmd);
	trace_nnaccel_command_queue(cmd);
	return 0;
}

/*
 * Returns whether the worker, instead of the module, waits for the fences of an execution. The
 * module waits for the fences if the execution has a maximum duration, uses a buffer, or uses an
 * image that the CPU copies.
 */
static bool nnaccel_command_gives_fences(const struct nnaccel_command *cmd)
{
	const struct nnaccel_session *session = cmd->ctx->session;

	return session && session->flags & NNACCEL_ATTACH_FENCES && !cmd->duration_ns &&
	       cmd->head.kind == NNACCEL_DO_EXECUTE && !cmd->num_buffers && !cmd->head.num_formats;
}

/**
 * nnaccel_command_advance() - Advances a command towards its worker, as far as possible
 * @cmd: the admitted command; it may end during the call; ctx->lock is held
 */
void nnaccel_command_advance(struct nnaccel_command *cmd)
{
	u32 first;
	int ret = 0;
	u64 end;

	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state != NNACCEL_COMMAND_WAITING || cmd->accessing ||
	    atomic_read(&cmd->unsignalled))
		return;

	/*
	 * Wait for the dependencies that the client named. The command's maximum duration begins
	 * when all dependencies have ended.
	 */
	if (nnaccel_command_gives_fences(cmd))
		cmd->head.num_fences = cmd->num_waits - cmd->num_ends;
	first = cmd->head.num_fences ? cmd->num_ends : cmd->num_named;
	if (cmd->num_armed < first && !nnaccel_command_arm(cmd, first))
		goto out_watch;
	if (nnaccel_command_has_failed(cmd)) {
		ret = -EREMOTEIO;
		goto out_finish;
	}
	if (cmd->duration_ns && !check_add_overflow(cmd->ready_ns, cmd->duration_ns, &end) &&
	    (!cmd->head.deadline_ns || end < cmd->head.deadline_ns))
		cmd->head.deadline_ns = end;

	/* Wait for the fences that the memory had at submission. */
	if (!cmd->head.num_fences && cmd->num_armed < cmd->num_waits &&
	    !nnaccel_command_arm(cmd, cmd->num_waits))
		goto out_watch;

	/* Wait for a worker. */
	if (nnaccel_command_wants_engine(cmd))
		ret = nnaccel_command_await_engine(cmd);
	if (ret == -EINPROGRESS)
		goto out_watch;

	/*
	 * Notify the exporters that access to the memory begins; nnaccel_command_begun() queues the
	 * command after the notification.
	 */
	if (!ret && cmd->foreign && !nnaccel_command_is_devices(cmd)) {
		nnaccel_command_queue_access(cmd);
		goto out_watch;
	}

	ret = ret ?: nnaccel_command_queue(cmd);
	if (!ret)
		goto out_watch;
out_finish:
	nnaccel_command_finish(cmd, ret);
	return;
out_watch:
	nnaccel_command_watch(cmd);
}

/**
 * nnaccel_command_begun() - Queues a command after the exporters of its memory were notified
 * @cmd: the command
 * @error: error of an exporter, or 0
 *
 * Return: true if the command was waiting; the caller must drop a reference to the command. If the
 * command has ended, returns false, and the caller must first end the exporters' access.
 */
bool nnaccel_command_begun(struct nnaccel_command *cmd, int error)
{
	bool waits;

	mutex_lock(&cmd->ctx->lock);
	waits = cmd->state == NNACCEL_COMMAND_WAITING;
	if (waits) {
		cmd->accessing = false;
		error = error ?: nnaccel_command_queue(cmd);
		if (!error) {
			nnaccel_command_watch(cmd);
		} else {
			cmd->accessed = cmd->num_accessed;
			nnaccel_command_finish(cmd, error);
		}
	}
	nnaccel_unlock_commands(cmd->ctx);
	return waits;
}

/**
 * nnaccel_command_ready() - Advances a command after its waits or its committed fence have ended
 * @work: nnaccel_command.ready
 */
void nnaccel_command_ready(struct work_struct *work)
{
	struct nnaccel_command *cmd = container_of(work, struct nnaccel_command, ready);

	mutex_lock(&cmd->ctx->lock);
	nnaccel_commit_fence_check(cmd);
	nnaccel_command_advance(cmd);
	nnaccel_unlock_commands(cmd->ctx);
	nnaccel_command_put(cmd);
}

/**
 * nnaccel_command_depends() - Returns whether a command waits for a dependency of its client
 * @cmd: the command; ctx->lock is held
 *
 * Return: true if the command waits for a dependency.
 */
bool nnaccel_command_depends(const struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state != NNACCEL_COMMAND_WAITING || cmd->num_armed > cmd->num_named)
		return false;
	return cmd->num_armed < cmd->num_named || atomic_read(&cmd->unsignalled);
}

/*
 * Allocates the array of a command's waits, if the command has none. Charges only the waits for
 * named dependencies, because the command's charge includes a wait for each grant.
 */
static int nnaccel_command_alloc_waits(struct nnaccel_command *cmd, u32 num_named)
{
	int ret = cmd->waits ? 0 : nnaccel_command_charge(cmd, num_named * NNACCEL_WAIT_BYTES);

	if (cmd->waits || ret)
		return ret;
	cmd->waits = kvcalloc(num_named + cmd->head.num_grants, sizeof(*cmd->waits),
			      GFP_KERNEL_ACCOUNT);
	return cmd->waits ? 0 : -ENOMEM;
}

/*
 * Sets a wait for @fence, or for @end if @fence is NULL. The wait takes over the caller's reference
 * to @fence or @end.
 */
static void nnaccel_command_set_wait(struct nnaccel_command *cmd, u32 i, struct dma_fence *fence,
				     struct nnaccel_end *end)
{
	struct nnaccel_dependency *dep = &cmd->waits[i];

	dep->cmd = cmd;
	dep->fence = fence;
	dep->end = end;
	if (fence) {
		INIT_LIST_HEAD(&dep->cb.node);
	} else {
		init_waitqueue_func_entry(&dep->entry, nnaccel_dependency_woken);
		INIT_LIST_HEAD(&dep->entry.entry);
	}
}

/**
 * nnaccel_command_depend() - Adds the dependencies and fences for which a command waits
 * @cmd: the command, not admitted yet
 * @fds: user address of the fds of its dependencies: sync_files and submissions
 * @num_fds: number of dependencies
 *
 * Return: 0, -EINVAL, -EDQUOT, -EFAULT, -ENOMEM.
 */
int nnaccel_command_depend(struct nnaccel_command *cmd, u64 fds, u32 num_fds)
{
	const s32 __user *from = u64_to_user_ptr(fds);
	struct nnaccel_end *end = NULL;
	struct dma_fence *fence;
	u32 i, last = num_fds;
	int fd, ret = num_fds ? nnaccel_command_alloc_waits(cmd, num_fds) : 0;

	if (ret)
		return ret;
	cmd->num_waits = num_fds;
	for (i = 0; i < num_fds; i++) {
		if (get_user(fd, from + i))
			return -EFAULT;
		fence = sync_file_get_fence(fd);
		if (!fence)
			end = nnaccel_submission_get_end(fd);
		if (!fence && !end)
			return -EINVAL;
		nnaccel_command_set_wait(cmd, fence ? --last : cmd->num_ends++, fence,
					 fence ? NULL : end);
	}
	cmd->num_named = num_fds;
	/*
	 * Collect the fences of the memory once, at submission: fences that are added after
	 * submission may wait for the command.
	 */
	for (i = 0; i < cmd->head.num_grants; i++) {
		struct dma_buf *dmabuf = cmd->pools[i]->dmabuf;

		/* Memory that never had a fence, the usual case, has no list of fences. */
		if (!dmabuf || !rcu_access_pointer(dmabuf->resv->fences))
			continue;
		ret = nnaccel_command_alloc_waits(cmd, 0) ?:
		      nnaccel_access_get_fence(dmabuf, cmd->grants[i].prot & NNACCEL_PROT_WRITE,
					       &fence);
		if (ret)
			return ret;
		if (fence)
			nnaccel_command_set_wait(cmd, cmd->num_waits++, fence, NULL);
	}
	return nnaccel_command_init_access(cmd);
}

/**
 * nnaccel_command_admit() - Admits a command, so that its end will be reported
 * @cmd: the command; ctx->lock is held; the call takes a reference, which the
 *	command's end drops
 *
 * Return: 0, -ESTALE, -EXFULL, -ECANCELED.
 */
int nnaccel_command_admit(struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = cmd->ctx;

	lockdep_assert_held(&ctx->lock);
	if (cmd->ended)
		return -ECANCELED;
	if (!nnaccel_command_wants_engine(cmd) && !nnaccel_command_is_served(cmd))
		return -ESTALE;
	if (ctx->num_commands >= READ_ONCE(nnaccel_max_commands))
		return -EXFULL;
	ctx->num_commands++;
	cmd->counted = true;
	kref_get(&cmd->refs);
	cmd->state = NNACCEL_COMMAND_WAITING;
	list_add_tail(&cmd->all, &ctx->commands);
	return 0;
}
