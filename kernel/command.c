// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: commands. A command is a request of a client to its worker. The module copies the
 * arguments once, builds the command from the copy, queues the command to the session, and enforces
 * the command's timeouts.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>

#include "account.h"
#include "buffer.h"
#include "burst.h"
#include "command.h"
#include "model.h"
#include "session.h"
#include "submit.h"
#include "trace.h"

/*
 * Shortest and longest interval between checks whether devices of a dead worker still use memory.
 */
#define NNACCEL_LOST_MIN_NS	NSEC_PER_MSEC
#define NNACCEL_LOST_MAX_NS	NSEC_PER_SEC

static u64 nnaccel_after_ms(u64 ns, unsigned int ms)
{
	u64 end;

	return check_add_overflow(ns, (u64)ms * NSEC_PER_MSEC, &end) ? U64_MAX : end;
}

/* Returns the time at which the module kills a worker that has not answered a command. */
static u64 nnaccel_killed_ns(u64 deadline_ns)
{
	return nnaccel_after_ms(deadline_ns, READ_ONCE(nnaccel_kill_grace_ms));
}

/*
 * Returns the time at which the client gets an error if the command has not ended; U64_MAX if
 * never.
 */
static u64 nnaccel_command_told_ns(const struct nnaccel_command *cmd)
{
	u64 deadline_ns = cmd->head.deadline_ns ?: U64_MAX;

	if (cmd->ended || cmd->state < NNACCEL_COMMAND_IN_FLIGHT)
		return U64_MAX;
	if (cmd->state == NNACCEL_COMMAND_ENDING)
		return nnaccel_killed_ns(deadline_ns);
	deadline_ns = nnaccel_after_ms(deadline_ns, READ_ONCE(nnaccel_deadline_grace_ms));
	return cmd->state == NNACCEL_COMMAND_LOST ? min(deadline_ns, cmd->bound_ns) : deadline_ns;
}

/* Returns the time at which the module next checks a command that has not ended. */
static u64 nnaccel_command_over_ns(const struct nnaccel_command *cmd)
{
	u64 deadline_ns = cmd->head.deadline_ns ?: U64_MAX;

	switch (cmd->state) {
	case NNACCEL_COMMAND_DONE:
	case NNACCEL_COMMAND_ENDING:
	case NNACCEL_COMMAND_LOST:
		return U64_MAX;
	case NNACCEL_COMMAND_FENCED:
		return cmd->bound_ns;
	case NNACCEL_COMMAND_IN_FLIGHT:
		return cmd->ended && cmd->head.kind == NNACCEL_DO_EXECUTE ?
		       nnaccel_killed_ns(deadline_ns) : U64_MAX;
	default:
		return min(cmd->engine_due_ns ?: U64_MAX, deadline_ns);
	}
}

static void nnaccel_command_expire(struct work_struct *work);
static void nnaccel_command_report(struct nnaccel_command *cmd, int error);

/**
 * nnaccel_command_watch() - Starts the timeout of a command
 * @cmd: the command, perhaps ended; ctx->lock is held
 */
void nnaccel_command_watch(struct nnaccel_command *cmd)
{
	u64 due_ns = min(nnaccel_command_told_ns(cmd), nnaccel_command_over_ns(cmd));

	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state == NNACCEL_COMMAND_LOST) {
		cmd->lost_poll_ns = clamp_t(u64, 2 * cmd->lost_poll_ns, NNACCEL_LOST_MIN_NS,
					    NNACCEL_LOST_MAX_NS);
		due_ns = min(due_ns, ktime_get_ns() + cmd->lost_poll_ns);
	}
	if (due_ns == U64_MAX)
		return;
	/*
	 * Most commands have no timeout, so the work @expiry is initialised only for commands with
	 * a timeout.
	 */
	if (!cmd->watched)
		INIT_DELAYED_WORK(&cmd->expiry, nnaccel_command_expire);
	cmd->watched = true;
	kref_get(&cmd->refs);
	/*
	 * Drop the new reference if the work @expiry was already pending: the pending work has a
	 * reference.
	 */
	if (mod_delayed_work(nnaccel_wq, &cmd->expiry, nnaccel_deadline_left(due_ns)))
		nnaccel_command_put(cmd);
}

/**
 * nnaccel_command_bound() - Lets a command wait for devices until fence_bound_ms has passed
 * @cmd: the command of a session; ctx->lock is held
 * @state: FENCED or LOST
 *
 * The command has references to the memory and the module until the devices no
 * longer use the memory.
 */
void nnaccel_command_bound(struct nnaccel_command *cmd, enum nnaccel_command_state state)
{
	__module_get(THIS_MODULE);
	list_del_init(&cmd->node);
	cmd->state = state;
	cmd->bound_ns = nnaccel_after_ms(ktime_get_ns(), READ_ONCE(nnaccel_fence_bound_ms));
	nnaccel_command_watch(cmd);
}

/* Returns whether devices of a dead worker still use the memory of a command. */
static bool nnaccel_command_is_left(const struct nnaccel_command *cmd)
{
	u32 i;

	for (i = 0; i < cmd->head.num_grants; i++)
		if (nnaccel_proxy_is_left(cmd->pools[i]))
			return true;
	return false;
}

/**
 * nnaccel_command_lose() - Lets a command wait until devices of its dead worker are done
 * @cmd: the command, in a list of its session; its grants have ended; ctx->lock is held
 *
 * Return: true if the command waits for devices, and was removed from the session's list; false if
 * the command need not wait and can end now.
 */
bool nnaccel_command_lose(struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state != NNACCEL_COMMAND_IN_FLIGHT || !nnaccel_command_is_left(cmd))
		return false;
	nnaccel_command_bound(cmd, NNACCEL_COMMAND_LOST);
	return true;
}

/*
 * Kills a worker that takes too long, unless client and worker are the same process. Returns the
 * process id of a worker that this call killed, the negative process id of a worker that lost the
 * session, and otherwise 0.
 */
static pid_t nnaccel_command_overdue(struct nnaccel_command *cmd)
{
	struct nnaccel_session *session = cmd->model->session;

	cmd->expired = true;
	if (session->mm == cmd->ctx->mm || !nnaccel_session_kill(session))
		return 0;
	return session->flags & NNACCEL_ATTACH_SHARED ? -pid_nr(session->pid) :
							pid_nr(session->pid);
}

/*
 * Reports the end of a command to its client, while a worker, hardware or an exporter still works
 * on the command.
 */
static void nnaccel_command_abandon(struct nnaccel_command *cmd, int error)
{
	trace_nnaccel_command_abandon(cmd);
	nnaccel_command_report(cmd, error);
}

/* Handles timeouts. Returns like nnaccel_command_overdue(). */
static pid_t nnaccel_command_check(struct nnaccel_command *cmd)
{
	u64 now = ktime_get_ns();
	bool over = nnaccel_command_over_ns(cmd) <= now;
	bool lost = cmd->state == NNACCEL_COMMAND_LOST;

	if (lost && !nnaccel_command_is_left(cmd)) {
		nnaccel_command_finish(cmd, -EPIPE);
		/* The module's exit function waits until nnaccel_command_expire() has returned. */
		module_put(THIS_MODULE);
		return 0;
	}
	if (over && cmd->state == NNACCEL_COMMAND_IN_FLIGHT)
		return nnaccel_command_overdue(cmd);
	if (over) {
		if (cmd->state == NNACCEL_COMMAND_FENCED)
			nnaccel_commit_fence_expire(cmd);
		else if (cmd->engine_due_ns)
			nnaccel_command_advance(cmd);
		else
			nnaccel_command_finish(cmd, -ETIME);
		return 0;
	}
	/*
	 * The client gets its error now; the worker, the hardware or the exporter may work on the
	 * command until their own time limits.
	 */
	if (nnaccel_command_told_ns(cmd) <= now)
		nnaccel_command_abandon(cmd, lost && cmd->bound_ns <= now ? -ENOTRECOVERABLE :
									    -ETIME);
	nnaccel_command_watch(cmd);
	return 0;
}

static void nnaccel_command_expire(struct work_struct *work)
{
	struct nnaccel_command *cmd = container_of(to_delayed_work(work), struct nnaccel_command,
						   expiry);
	struct nnaccel_context *ctx = cmd->ctx;
	pid_t killed;

	mutex_lock(&ctx->lock);
	killed = nnaccel_command_check(cmd);
	nnaccel_unlock_commands(ctx);
	if (killed)
		pr_warn_ratelimited("worker %d of context %llu %s: an execution took too long\n",
				    abs(killed), ctx->number,
				    killed > 0 ? "killed" : "loses its session");
	nnaccel_command_put(cmd);
}

/* Maximum bytes of the arrays of a command that is allocated from the slab cache. */
#define NNACCEL_SMALL_ARRAYS	384

static struct kmem_cache *nnaccel_command_cache;

/*
 * Clears each object once, when the slab cache gets its memory. At each allocation
 * nnaccel_command_alloc() clears or writes all used fields of the object.
 */
static void nnaccel_command_construct(void *object)
{
	memset(object, 0, sizeof(struct nnaccel_command) + NNACCEL_SMALL_ARRAYS);
}

/**
 * nnaccel_command_init() - Creates the cache of small commands
 *
 * Return: 0 or -ENOMEM.
 */
int nnaccel_command_init(void)
{
	const unsigned int told = offsetof(struct nnaccel_command, head);
	const unsigned int size = sizeof(struct nnaccel_command) + NNACCEL_SMALL_ARRAYS;

	/* The head of a command and the arrays after it are copied from and to user memory. */
	nnaccel_command_cache = kmem_cache_create_usercopy("nnaccel_command", size,
							   __alignof__(struct nnaccel_command),
							   SLAB_ACCOUNT, told, size - told,
							   nnaccel_command_construct);
	return nnaccel_command_cache ? 0 : -ENOMEM;
}

/**
 * nnaccel_command_exit() - Destroys the cache, after the last command was freed
 */
void nnaccel_command_exit(void)
{
	kmem_cache_destroy(nnaccel_command_cache);
}

/* Returns the number of bytes that the worker gets after the head of a command. */
static size_t nnaccel_layout_told(const struct nnaccel_arrays *layout)
{
	return layout->num_grants * sizeof(struct nnaccel_grant) +
	       layout->num_args * sizeof(struct nnaccel_arg) +
	       layout->num_roles * sizeof(struct nnaccel_cmd_role) +
	       ALIGN((size_t)layout->attributes_size, sizeof(u64));
}

static void nnaccel_command_place(struct nnaccel_command *cmd, const struct nnaccel_arrays *layout)
{
	cmd->grants = (void *)cmd->told;
	cmd->args = (void *)(cmd->grants + layout->num_grants);
	cmd->roles = (void *)(cmd->args + layout->num_args);
	cmd->attributes = cmd->roles + layout->num_roles;
	cmd->pools = (void *)(cmd->told + nnaccel_layout_told(layout));
	cmd->room = cmd->pools + layout->num_grants;
	if (layout->num_uses) {
		cmd->uses = cmd->room;
		memset(cmd->uses, 0, layout->num_uses * sizeof(*cmd->uses));
		cmd->room = cmd->uses + layout->num_uses;
	}
	cmd->head.attributes_size = layout->attributes_size;
	cmd->head.max_payload = layout->max_payload;
}

/**
 * nnaccel_command_alloc() - Allocates a command
 * @ctx: the context
 * @kind: enum nnaccel_cmd_kind
 * @layout: sizes of its arrays, within their limits; the arrays are not initialised
 *
 * Return: the command with one reference, or an error pointer: -ENOMEM, -EDQUOT.
 */
struct nnaccel_command *nnaccel_command_alloc(struct nnaccel_context *ctx, u32 kind,
					      const struct nnaccel_arrays *layout)
{
	struct nnaccel_command *cmd;
	size_t arrays, charge;
	int ret;

	arrays = nnaccel_layout_told(layout) + layout->num_grants * sizeof(struct nnaccel_pool *) +
		 layout->num_uses * sizeof(struct nnaccel_use) +
		 min_t(size_t, layout->max_payload, NNACCEL_SMALL_PAYLOAD);
	/*
	 * The memory for waits on fences is allocated later, but already charged by
	 * nnaccel_command_alloc().
	 */
	charge = NNACCEL_COMMAND_BYTES + arrays + layout->num_grants * NNACCEL_WAIT_BYTES;
	ret = nnaccel_charge_kernel(ctx->account, charge);
	if (ret)
		return ERR_PTR(ret);
	if (arrays <= NNACCEL_SMALL_ARRAYS)
		cmd = kmem_cache_alloc(nnaccel_command_cache, GFP_KERNEL);
	else
		cmd = kvmalloc(struct_size(cmd, told, arrays), GFP_KERNEL_ACCOUNT);
	if (!cmd) {
		nnaccel_uncharge_kernel(ctx->account, charge);
		return ERR_PTR(-ENOMEM);
	}
	/*
	 * The arrays are not cleared, because adding an element writes the complete element.
	 */
	memset(cmd, 0, sizeof(*cmd));
	cmd->cached = arrays <= NNACCEL_SMALL_ARRAYS;
	cmd->charged = charge;
	kref_init(&cmd->refs);
	INIT_LIST_HEAD(&cmd->all);
	INIT_LIST_HEAD(&cmd->node);
	rcuwait_init(&cmd->wait);
	INIT_WORK(&cmd->ready, nnaccel_command_ready);
	init_waitqueue_func_entry(&cmd->engine, nnaccel_command_engine_changed);
	nnaccel_context_get(ctx);
	cmd->ctx = ctx;
	cmd->start_ns = ktime_get_ns();
	cmd->ready_ns = cmd->start_ns;
	cmd->head.kind = kind;
	cmd->head.priority = NNACCEL_PRIORITY_MEDIUM;
	nnaccel_command_place(cmd, layout);
	nnaccel_count(NNACCEL_COMMANDS, 1);
	return cmd;
}

static void nnaccel_command_free(struct kref *refs)
{
	struct nnaccel_command *cmd = container_of(refs, struct nnaccel_command, refs);
	struct nnaccel_context *ctx = cmd->ctx;
	u32 i;

	/*
	 * The last reference to a command may be dropped in any context, so nnaccel_command_free()
	 * must not call an exporter.
	 */
	WARN_ON(cmd->num_accessed && cmd->foreign);
	nnaccel_uncharge_kernel(ctx->account, cmd->charged);
	if (cmd->burst_file)
		fput(cmd->burst_file);
	if (cmd->burst)
		nnaccel_object_put(&cmd->burst->obj);
	if (cmd->copy)
		nnaccel_copy_free(cmd->copy);
	if (cmd->model)
		nnaccel_model_put(cmd->model);
	for (i = 0; i < cmd->head.num_grants; i++)
		nnaccel_pool_put(cmd->pools[i]);
	if (cmd->payload != cmd->room)
		kvfree(cmd->payload);
	kfree(cmd->message);
	put_pid(cmd->uring_pid);
	dma_fence_put(cmd->committed.fence);
	for (i = 0; i < cmd->num_waits; i++) {
		dma_fence_put(cmd->waits[i].fence);
		nnaccel_end_put(cmd->waits[i].end);
	}
	kvfree(cmd->waits);
	if (cmd->cached)
		kmem_cache_free(nnaccel_command_cache, cmd);
	else
		kvfree(cmd);
	nnaccel_context_put(ctx);
	nnaccel_count(NNACCEL_COMMANDS, -1);
}

/**
 * nnaccel_command_put() - Drops a reference; the caller must not hold ctx->lock
 * @cmd: the command
 */
void nnaccel_command_put(struct nnaccel_command *cmd)
{
	kref_put(&cmd->refs, nnaccel_command_free);
}

/**
 * nnaccel_unlock_commands() - Unlocks a context, and puts commands that finished under the lock
 * @ctx: the context
 */
void nnaccel_unlock_commands(struct nnaccel_context *ctx)
{
	struct nnaccel_command *cmd, *next;
	LIST_HEAD(dead);

	list_splice_init(&ctx->dead, &dead);
	mutex_unlock(&ctx->lock);
	list_for_each_entry_safe(cmd, next, &dead, node) {
		list_del_init(&cmd->node);
		nnaccel_command_put(cmd);
	}
}

/**
 * nnaccel_command_charge() - Charges additional memory of a command, until it is freed
 * @cmd: the command
 * @bytes: number of bytes
 *
 * Return: 0 or -EDQUOT.
 */
int nnaccel_command_charge(struct nnaccel_command *cmd, size_t bytes)
{
	int ret = nnaccel_charge_kernel(cmd->ctx->account, bytes);

	if (!ret)
		cmd->charged += bytes;
	return ret;
}

/* Adds a pool that the worker may read; the arrays of the command must have space. */
static int nnaccel_command_add_pool(struct nnaccel_command *cmd, u32 id)
{
	struct nnaccel_pool *pool;
	u32 i = cmd->head.num_grants;

	pool = nnaccel_pool_get(cmd->ctx, id);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	nnaccel_command_set_grant(cmd, i, pool, NNACCEL_PROT_READ);
	cmd->head.num_grants++;
	return 0;
}

/**
 * nnaccel_command_add_pools() - Adds pools that the worker may read
 * @cmd: the command, with no pools yet and space for them
 * @first: id of the first pool; 0 if none
 * @ids: user address of the ids of the other pools
 * @num_pools: number of the other pools
 *
 * Return: 0, -ENOENT, -EFAULT.
 */
int nnaccel_command_add_pools(struct nnaccel_command *cmd, u32 first, u64 ids, u32 num_pools)
{
	const u32 __user *from = u64_to_user_ptr(ids);
	u32 i, id;
	int ret = 0;

	if (first)
		ret = nnaccel_command_add_pool(cmd, first);
	for (i = 0; i < num_pools && !ret; i++) {
		if (get_user(id, from + i))
			return -EFAULT;
		ret = nnaccel_command_add_pool(cmd, id);
	}
	return ret;
}

/**
 * nnaccel_command_set_model_pools() - Adds the pools of a model, the wire form's first
 * @cmd: the command
 * @wire_pool: pool of the wire form
 * @offset: offset of the wire form in its pool, in bytes
 * @length: length of the wire form in bytes
 * @ids: user address of the ids of the pools of constants
 * @num_pools: number of these pools
 *
 * The command must have no pools yet, and space for exactly 1 + @num_pools pools.
 *
 * Return: 0, -EINVAL, -ENOENT, -EOPNOTSUPP, -EFAULT.
 */
int nnaccel_command_set_model_pools(struct nnaccel_command *cmd, u32 wire_pool, u64 offset,
				    u64 length, u64 ids, u32 num_pools)
{
	u64 end;
	u32 i;
	int ret;

	if (length > NNACCEL_MAX_WIRE)
		return -EINVAL;
	if (!wire_pool)
		return -ENOENT;
	ret = nnaccel_command_add_pools(cmd, wire_pool, ids, num_pools);
	if (ret)
		return ret;
	for (i = 0; i < cmd->head.num_grants; i++)
		if (!nnaccel_pool_is_bytes(cmd->pools[i]))
			return -EOPNOTSUPP;
	if (check_add_overflow(offset, length, &end) || end > cmd->pools[0]->length)
		return -EINVAL;
	cmd->head.wire_offset = offset;
	cmd->head.wire_length = length;
	return 0;
}

/**
 * nnaccel_command_set_attributes() - Copies the attributes, which only the worker reads
 * @cmd: the command, with space for them
 * @from: user address of the attributes
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_command_set_attributes(struct nnaccel_command *cmd, u64 from)
{
	u32 size = cmd->head.attributes_size;

	return size && copy_from_user(cmd->attributes, u64_to_user_ptr(from), size) ? -EFAULT : 0;
}

static bool nnaccel_command_copies(const struct nnaccel_command *cmd)
{
	return cmd->head.kind == NNACCEL_DO_COPY_IN || cmd->head.kind == NNACCEL_DO_COPY_OUT;
}

/**
 * nnaccel_command_wants_engine() - Returns whether any worker can serve a command
 * @cmd: the command
 *
 * Return: false if the command needs a certain worker: the worker of its model, or of its buffer's
 * layout.
 */
bool nnaccel_command_wants_engine(const struct nnaccel_command *cmd)
{
	return !nnaccel_command_copies(cmd) && (!cmd->model || nnaccel_command_prepares(cmd));
}

/**
 * nnaccel_command_is_devices() - Returns whether only devices access the memory of a command
 * @cmd: the command, whose worker is attached; ctx->lock is held
 *
 * Return: true if the memory is not synced for the CPU.
 */
bool nnaccel_command_is_devices(const struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	return nnaccel_command_computes(cmd) && cmd->ctx->session &&
	       cmd->ctx->session->flags & NNACCEL_ATTACH_DEVICES;
}

/**
 * nnaccel_command_is_served() - Returns whether a worker that can serve a command is attached
 * @cmd: the command; ctx->lock is held
 *
 * Return: true if a worker that can serve the command is attached.
 */
bool nnaccel_command_is_served(const struct nnaccel_command *cmd)
{
	const struct nnaccel_session *session = cmd->ctx->session;

	lockdep_assert_held(&cmd->ctx->lock);
	if (nnaccel_command_copies(cmd))
		return nnaccel_buffer_is_served(cmd);
	if (nnaccel_command_wants_engine(cmd))
		return session && session->mm;
	/* While a model is alive, the worker that prepared the model is attached. */
	return cmd->model->session;
}

static void nnaccel_command_uncount(struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->kept)
		return;
	if (cmd->counted)
		cmd->ctx->num_commands--;
	cmd->counted = false;
}

/**
 * nnaccel_command_keep() - Counts a command in num_commands until its answer is fetched
 * @cmd: the command, ended or not; ctx->lock is held
 */
void nnaccel_command_keep(struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	cmd->kept = true;
	if (cmd->counted)
		return;
	cmd->ctx->num_commands++;
	cmd->counted = true;
}

/**
 * nnaccel_command_release() - Reverts nnaccel_command_keep()
 * @cmd: the command; ctx->lock is held
 */
void nnaccel_command_release(struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	cmd->kept = false;
	/* If the command has not ended, num_commands is reduced when the command ends. */
	if (cmd->state == NNACCEL_COMMAND_DONE && !cmd->accessing)
		nnaccel_command_uncount(cmd);
}

/**
 * nnaccel_deadline_left() - Returns the time until a deadline
 * @deadline_ns: the deadline, in CLOCK_MONOTONIC time
 *
 * Return: jiffies, at most MAX_SCHEDULE_TIMEOUT; 0 if the deadline has passed.
 */
unsigned long nnaccel_deadline_left(u64 deadline_ns)
{
	u64 now = ktime_get_ns();

	if (deadline_ns <= now)
		return 0;
	return min_t(u64, nsecs_to_jiffies64(deadline_ns - now) + 1, MAX_SCHEDULE_TIMEOUT);
}

/*
 * Reports the end of a command to its client, unless the end was reported before. @error is 0 if
 * the command has an answer.
 */
static void nnaccel_command_report(struct nnaccel_command *cmd, int error)
{
	if (cmd->ended)
		return;
	nnaccel_command_forget_waits(cmd);
	cmd->end_error = error;
	/* The release of @ended pairs with the acquire in nnaccel_command_await(). */
	smp_store_release(&cmd->ended, true);
	if (cmd->uring)
		nnaccel_uring_end(cmd);
	else
		rcuwait_wake_up(&cmd->wait);
	if (cmd->submission)
		nnaccel_submission_tell(cmd->submission, cmd);
}

/* Completes a command and reports its end to the client. */
static void nnaccel_command_complete(struct nnaccel_command *cmd)
{
	cmd->state = NNACCEL_COMMAND_DONE;
	list_del_init(&cmd->all);
	if (cmd->head.kind == NNACCEL_DO_EXECUTE && cmd->head.flags & NNACCEL_EXECUTE_MEASURE)
		cmd->end_ns = ktime_get_ns();
	trace_nnaccel_command_end(cmd);
	/*
	 * nnaccel_command_put() does not free the command here, because the caller has a reference
	 * to the command.
	 */
	if (cmd->watched && cancel_delayed_work(&cmd->expiry))
		nnaccel_command_put(cmd);
	/* While the work @access calls exporters, the command still counts in num_commands. */
	if (!cmd->accessing)
		nnaccel_command_uncount(cmd);
	nnaccel_command_report(cmd, cmd->error);
}

/**
 * nnaccel_command_finish() - Finishes a command that the worker has answered or will never get
 * @cmd: the admitted command, in a list of its session or in none; ctx->lock is held.
 *	nnaccel_unlock_commands() drops the reference of ctx->commands
 * @error: 0 if the command is answered
 *
 * If exporters of other drivers must be notified, the command completes after a
 * thread of the context has notified them.
 */
void nnaccel_command_finish(struct nnaccel_command *cmd, int error)
{
	lockdep_assert_held(&cmd->ctx->lock);
	/*
	 * A worker that waited for the command's fences may not have noticed that a fence failed.
	 */
	if (!error && nnaccel_command_has_failed(cmd))
		error = -EREMOTEIO;
	list_move_tail(&cmd->node, &cmd->ctx->dead);
	cmd->error = error && cmd->expired ? -ETIME : error;
	nnaccel_buffer_end_all(cmd, error);
	if (cmd->synced)
		nnaccel_command_sync_own(cmd, false);
	cmd->synced = false;
	if (!cmd->accessed) {
		nnaccel_command_complete(cmd);
		return;
	}
	cmd->state = NNACCEL_COMMAND_ENDING;
	nnaccel_command_queue_access(cmd);
	nnaccel_command_watch(cmd);
}

/**
 * nnaccel_command_cancel() - Ends a command, or only reports its end if a worker still has it
 * @cmd: the command; nothing is done if it is not admitted yet; ctx->lock is held
 * @error: the error
 */
void nnaccel_command_cancel(struct nnaccel_command *cmd, int error)
{
	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state == NNACCEL_COMMAND_NEW || cmd->ended)
		return;
	if (cmd->state >= NNACCEL_COMMAND_IN_FLIGHT)
		nnaccel_command_abandon(cmd, error);
	else
		nnaccel_command_finish(cmd, error);
}

/**
 * nnaccel_command_fail_all() - Fails the commands that no worker has fetched
 * @ctx: the context; ctx->lock is held
 * @error: the error
 */
void nnaccel_command_fail_all(struct nnaccel_context *ctx, int error)
{
	struct nnaccel_command *cmd, *next;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(cmd, next, &ctx->commands, all)
		if (cmd->state < NNACCEL_COMMAND_IN_FLIGHT)
			nnaccel_command_finish(cmd, error);
}

/**
 * nnaccel_command_ended() - Completes a command after the exporters of its memory were notified
 * @cmd: the command
 * @error: -EIO if an exporter refused
 *
 * Return: true, which means that the caller must drop a reference.
 */
bool nnaccel_command_ended(struct nnaccel_command *cmd, int error)
{
	mutex_lock(&cmd->ctx->lock);
	cmd->accessed = false;
	cmd->accessing = false;
	if (cmd->state == NNACCEL_COMMAND_ENDING) {
		cmd->error = cmd->error ?: error;
		nnaccel_command_complete(cmd);
	} else {
		nnaccel_command_uncount(cmd);
	}
	mutex_unlock(&cmd->ctx->lock);
	return true;
}

/* ---- debugfs ---- */

static const char *const nnaccel_command_states[] = {
	[NNACCEL_COMMAND_NEW] = "new", [NNACCEL_COMMAND_WAITING] = "waiting",
	[NNACCEL_COMMAND_QUEUED] = "queued", [NNACCEL_COMMAND_IN_FLIGHT] = "in-flight",
	[NNACCEL_COMMAND_FENCED] = "fenced", [NNACCEL_COMMAND_LOST] = "lost",
	[NNACCEL_COMMAND_ENDING] = "ending", [NNACCEL_COMMAND_DONE] = "done",
};

static const char *const nnaccel_command_kinds[] = {
	[NNACCEL_DO_QUERY] = "query", [NNACCEL_DO_SUPPORTED] = "supported",
	[NNACCEL_DO_PREPARE] = "prepare", [NNACCEL_DO_EXECUTE] = "execute",
	[NNACCEL_DO_BURST] = "burst", [NNACCEL_DO_BUFFER] = "buffer",
	[NNACCEL_DO_COPY_IN] = "copy-in", [NNACCEL_DO_COPY_OUT] = "copy-out",
	[NNACCEL_DO_PREPARE_CACHED] = "prepare-cached", [NNACCEL_DO_CACHE_SAVE] = "cache-save",
};

/**
 * nnaccel_command_show_all() - Prints a line for each pending command of a context
 * @ctx: the context; its lock is taken
 * @m: the output
 */
void nnaccel_command_show_all(struct nnaccel_context *ctx, struct seq_file *m)
{
	const struct nnaccel_command *cmd;

	mutex_lock(&ctx->lock);
	list_for_each_entry(cmd, &ctx->commands, all)
		seq_printf(m, "%llu %llu %s %s %u %llu %u %s%s%s\n", ctx->number,
			   cmd->head.cookie, nnaccel_command_kinds[cmd->head.kind],
			   nnaccel_command_states[cmd->state],
			   (u32)div_u64(ktime_get_ns() - cmd->start_ns, NSEC_PER_MSEC),
			   cmd->head.model, cmd->head.priority,
			   cmd->uring || cmd->kept ? "a" : "-", cmd->ended ? "g" : "-",
			   cmd->expired ? "k" : "-");
	mutex_unlock(&ctx->lock);
}
