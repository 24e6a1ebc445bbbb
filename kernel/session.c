// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: sessions. What a worker serves one context through: it attaches, fetches commands,
 * maps the memory they name and commits answers. A session's last close is its worker's death.
 */

#include <linux/anon_inodes.h>
#include <linux/dma-buf.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "nnaccel.h"
#include "trace.h"

/*
 * Notices that may wait to be fetched before the worker is told of more slots. Each notice is of
 * something that it was told of, and a fetch gives notices before commands.
 */
#define NNACCEL_MAX_NOTICES	(64 * 1024)

/* Grants whose mmap() offset lies below those of bursts. */
#define NNACCEL_GRANT_LIMIT	XA_LIMIT(1, (NNACCEL_BURST_MAP >> NNACCEL_GRANT_SHIFT) - 1)

/* Is there anything to fetch? A look without the lock, for waits. */
static bool nnaccel_session_ready(const struct nnaccel_session *session)
{
	return !list_empty(&session->forgets) || !list_empty(&session->queue) ||
	       READ_ONCE(session->ctx->closed);
}

/* Once attached, a session stays so: no lock is needed to ask. */
static bool nnaccel_session_is_mine(const struct nnaccel_session *session)
{
	return READ_ONCE(session->mm) == current->mm;
}

/* Into the queue: before or behind those of its priority. */
static void nnaccel_session_insert(struct nnaccel_session *session, struct nnaccel_command *cmd,
				   bool before)
{
	u32 priority = cmd->head.priority;
	struct list_head *at;

	list_for_each(at, &session->queue) {
		u32 other = list_entry(at, struct nnaccel_command, node)->head.priority;

		if (other < priority || (before && other == priority))
			break;
	}
	list_add_tail(&cmd->node, at);
	cmd->state = NNACCEL_COMMAND_QUEUED;
}

static bool nnaccel_session_is_low(const struct nnaccel_session *session)
{
	const struct nnaccel_model *model;

	list_for_each_entry(model, &session->models, node)
		if (model->priority != NNACCEL_PRIORITY_LOW)
			return false;
	return !list_empty(&session->models);
}

/**
 * nnaccel_session_weigh() - A model came or went: how much the worker's threads weigh
 * @session: the session; context->lock is held
 *
 * They get nicer while all models are of low priority, and never less nice than the worker was
 * when it attached: no priority gives a client a right against another. A process that serves
 * itself is left alone.
 */
void nnaccel_session_weigh(struct nnaccel_session *session)
{
	bool low = nnaccel_session_is_low(session);
	struct task_struct *leader, *thread;
	int nice = session->nice;

	lockdep_assert_held(&session->ctx->lock);
	if (low == session->low || session->mm == session->ctx->mm)
		return;
	session->low = low;
	if (low)
		nice = min_t(int, nice + min_t(u32, READ_ONCE(nnaccel_low_nice), NICE_WIDTH),
			     MAX_NICE);
	rcu_read_lock();
	leader = pid_task(session->pid, PIDTYPE_TGID);
	if (leader)
		for_each_thread(leader, thread)
			set_user_nice(thread, nice);
	rcu_read_unlock();
}

/**
 * nnaccel_session_queue() - Give a command to a session: behind those of its priority
 * @session: the session; context->lock is held
 * @cmd: the command; the session takes a count of the caller's
 */
void nnaccel_session_queue(struct nnaccel_session *session, struct nnaccel_command *cmd)
{
	struct nnaccel_model *model = cmd->model;

	lockdep_assert_held(&session->ctx->lock);
	if (nnaccel_command_prepares(cmd)) {
		model->session = session;
		model->number = ++session->next_model;
		list_add_tail(&model->node, &session->models);
		nnaccel_session_weigh(session);
		cmd->head.model = model->number;
	}
	cmd->head.cookie = ++session->next_cookie;
	nnaccel_session_insert(session, cmd, false);
	wake_up(&session->wait);
}

/* After this time a worker that was killed counts as dead, whatever it is stuck in. */
#define NNACCEL_KILL_NS		(2 * (u64)NSEC_PER_SEC)

/**
 * nnaccel_session_kill() - Kill the worker, which does not answer
 * @session: the session, attached; context->lock is held
 *
 * A process that serves itself is its own problem, and lives.
 *
 * Return: true: no thread of the worker can write any more.
 */
bool nnaccel_session_kill(struct nnaccel_session *session)
{
	lockdep_assert_held(&session->ctx->lock);
	if (session->mm == session->ctx->mm)
		return true;
	if (!session->killed_ns) {
		session->killed_ns = ktime_get_ns();
		kill_pid(session->pid, SIGKILL, 1);
		trace_nnaccel_session_kill(session->ctx);
	}
	return !atomic_read(&session->mm->mm_users) ||
	       ktime_get_ns() - session->killed_ns > NNACCEL_KILL_NS;
}

/**
 * nnaccel_session_forget() - Post a notice; cannot fail
 * @session: the session; context->lock is held
 * @from: the notice, which what it is about gives up
 * @kind: NNACCEL_DO_FORGET_MODEL, FORGET_GRANT, BURST_GONE or SLOT_GONE
 * @number: the model, the grant or the slot
 * @burst: the burst
 *
 * A worker whose context is closed has nothing to forget: it ends.
 */
void nnaccel_session_forget(struct nnaccel_session *session, struct nnaccel_forget **from,
			    u32 kind, u64 number, u32 burst)
{
	struct nnaccel_forget *forget = *from;

	lockdep_assert_held(&session->ctx->lock);
	if (session->ctx->closed)
		return;
	*from = NULL;
	forget->kind = kind;
	forget->number = number;
	forget->burst = burst;
	list_add_tail(&forget->node, &session->forgets);
	session->num_forgets++;
	wake_up(&session->wait);
}

/**
 * nnaccel_session_revoke() - End the grant of a pool that is going
 * @session: the session; context->lock is held
 * @pool: the pool, granted
 *
 * The number stays taken until the worker was told: storing no pool under an index that is in
 * use allocates nothing.
 */
void nnaccel_session_revoke(struct nnaccel_session *session, struct nnaccel_pool *pool)
{
	lockdep_assert_held(&session->ctx->lock);
	xa_store(&session->grants, pool->grant, NULL, GFP_NOWAIT);
	nnaccel_session_forget(session, &pool->obj.forget, NNACCEL_DO_FORGET_GRANT, pool->grant,
			       0);
	pool->grant = 0;
	nnaccel_count(NNACCEL_GRANTS, -1);
}

/*
 * Reserves a number for the grant of @pool, counted, where it has none. Waits for memory, so it is
 * done before the lock is taken: the ends of executions, and so fences, wait for that.
 */
static int nnaccel_grant_reserve(struct nnaccel_session *session, const struct nnaccel_pool *pool,
				 u32 *number)
{
	int ret;

	if (READ_ONCE(pool->grant))
		return 0;
	ret = xa_alloc_cyclic(&session->grants, number, XA_ZERO_ENTRY, NNACCEL_GRANT_LIMIT,
			      &session->next_grant, GFP_KERNEL_ACCOUNT);
	if (ret >= 0)
		return 0;
	*number = 0;
	return -ENOMEM;
}

/*
 * Lets the worker map @pool with @prot and whatever it was granted before; cannot fail. @number:
 * what was reserved for it; becomes the grant's.
 */
static void nnaccel_grant_publish(struct nnaccel_session *session, struct nnaccel_pool *pool,
				  u32 *number, u32 prot)
{
	lockdep_assert_held(&session->ctx->lock);
	if (!pool->grant) {
		WARN_ON(xa_is_err(xa_store(&session->grants, *number, pool, GFP_NOWAIT)));
		WRITE_ONCE(pool->grant, *number);
		pool->grant_prot = 0;
		nnaccel_count(NNACCEL_GRANTS, 1);
	} else if (*number && *number != pool->grant) {
		/* Another thread was here meanwhile, or the command names the pool twice. */
		xa_erase(&session->grants, *number);
	}
	*number = pool->grant;
	pool->grant_prot |= prot;
}

static int nnaccel_session_attach_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_attach *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	int ret = 0;

	if (arg->flags)
		return -EINVAL;
	mutex_lock(&ctx->lock);
	if (session->mm) {
		ret = -EBUSY;
	} else if (ctx->closed) {
		ret = -ESHUTDOWN;
	} else {
		mmgrab(current->mm);
		session->pid = get_pid(task_tgid(current));
		session->nice = task_nice(current);
		WRITE_ONCE(session->mm, current->mm);
		trace_nnaccel_session_attach(ctx);
	}
	mutex_unlock(&ctx->lock);
	if (!ret)
		nnaccel_engine_attached();
	return ret;
}

static size_t nnaccel_command_size(const struct nnaccel_command *cmd)
{
	const struct nnaccel_cmd *head = &cmd->head;

	return sizeof(*head) + head->num_grants * sizeof(*cmd->grants) +
	       (head->num_inputs + head->num_outputs) * sizeof(*cmd->args) +
	       head->num_roles * sizeof(*cmd->roles) + head->attributes_size;
}

/* Moves a command to those in flight. */
static void nnaccel_fetch_take(struct nnaccel_session *session, struct nnaccel_command *cmd)
{
	/* A count of our own: another thread may commit before we are done. */
	kref_get(&cmd->refs);
	cmd->fetched_ns = ktime_get_ns();
	cmd->state = NNACCEL_COMMAND_IN_FLIGHT;
	list_move_tail(&cmd->node, &session->in_flight);
	trace_nnaccel_command_fetch(cmd);
}

/* Grants what a command in flight names. */
static int nnaccel_fetch_grant(struct nnaccel_session *session, struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = session->ctx;
	u32 i, burst = 0;
	int ret = 0;

	for (i = 0; i < cmd->head.num_grants && !ret; i++)
		ret = nnaccel_grant_reserve(session, cmd->pools[i], &cmd->grants[i].grant);
	if (!ret && cmd->burst)
		ret = nnaccel_burst_reserve(cmd->burst, session, &burst);

	mutex_lock(&ctx->lock);
	/* What was reserved before memory ran out is as good as granted. */
	for (i = 0; i < cmd->head.num_grants; i++) {
		struct nnaccel_grant *grant = &cmd->grants[i];
		struct nnaccel_pool *pool = cmd->pools[i];

		if (!grant->grant && !pool->grant)
			break;
		nnaccel_grant_publish(session, pool, &grant->grant, grant->prot);
		grant->prot |= nnaccel_pool_prot_flags(pool);
	}
	if (!ret && cmd->burst) {
		ret = nnaccel_burst_announce(cmd->burst, burst);
		cmd->head.burst = cmd->burst->number;
	}
	mutex_unlock(&ctx->lock);
	return ret;
}

/* The worker could not be told: as if it had not asked. */
static void nnaccel_fetch_untake(struct nnaccel_session *session, struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = session->ctx;
	bool signalling, drop = false;

	signalling = nnaccel_lock_to_signal(ctx);
	/* A thread that guesses the cookie may have committed it. */
	if (cmd->state == NNACCEL_COMMAND_IN_FLIGHT) {
		drop = cmd->abandoned;
		list_del_init(&cmd->node);
		if (drop)
			nnaccel_command_finish(cmd, -ECANCELED);
		else
			nnaccel_session_insert(session, cmd, true);
	}
	nnaccel_unlock_signalled(ctx, signalling);
	if (drop)
		nnaccel_command_put(cmd);
}

static int nnaccel_fetch_write(struct nnaccel_ucmd *ucmd, const struct nnaccel_command *cmd)
{
	struct nnaccel_session_fetch *arg = ucmd->cmd;
	u64 to = arg->buffer;
	void __user *grants = u64_to_user_ptr(to + sizeof(cmd->head));
	size_t size = cmd->head.num_grants * sizeof(*cmd->grants);
	size_t args = (cmd->head.num_inputs + cmd->head.num_outputs) * sizeof(*cmd->args);
	size_t roles = cmd->head.num_roles * sizeof(*cmd->roles);

	if (copy_to_user(u64_to_user_ptr(to), &cmd->head, sizeof(cmd->head)) ||
	    copy_to_user(grants, cmd->grants, size) ||
	    copy_to_user(grants + size, cmd->args, args) ||
	    copy_to_user(grants + size + args, cmd->roles, roles) ||
	    copy_to_user(grants + size + args + roles, cmd->attributes,
			 cmd->head.attributes_size))
		return -EFAULT;
	return nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}

/* Writes how much room what waits takes. */
static int nnaccel_fetch_too_small(struct nnaccel_ucmd *ucmd)
{
	return nnaccel_ucmd_respond(ucmd, sizeof(struct nnaccel_session_fetch)) ?: -EMSGSIZE;
}

/* Fetches the first command of the queue; context->lock is held and given back. */
static int nnaccel_fetch_command(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_fetch *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	int ret;

	cmd = list_first_entry(&session->queue, struct nnaccel_command, node);
	cmd->head.size = nnaccel_command_size(cmd);
	arg->out_size = cmd->head.size;
	if (arg->out_size > arg->buffer_size) {
		mutex_unlock(&ctx->lock);
		return nnaccel_fetch_too_small(ucmd);
	}
	nnaccel_fetch_take(session, cmd);
	mutex_unlock(&ctx->lock);
	ret = nnaccel_fetch_grant(session, cmd) ?: nnaccel_fetch_write(ucmd, cmd);
	if (ret)
		nnaccel_fetch_untake(session, cmd);
	nnaccel_command_put(cmd);
	return ret == -ECANCELED ? -ERESTART : ret;
}

/* Fetches the first notice; context->lock is held and given back. */
static int nnaccel_fetch_forget(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_fetch *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_cmd head = { .size = sizeof(head) };
	struct nnaccel_forget *forget;
	int ret;

	arg->out_size = sizeof(head);
	if (arg->out_size > arg->buffer_size) {
		mutex_unlock(&ctx->lock);
		return nnaccel_fetch_too_small(ucmd);
	}
	forget = list_first_entry(&session->forgets, struct nnaccel_forget, node);
	list_del(&forget->node);
	session->num_forgets--;
	mutex_unlock(&ctx->lock);

	head.kind = forget->kind;
	head.burst = forget->burst;
	if (forget->kind == NNACCEL_DO_FORGET_MODEL)
		head.model = forget->number;
	else
		head.grant = forget->number;
	if (copy_to_user(u64_to_user_ptr(arg->buffer), &head, sizeof(head)))
		ret = -EFAULT;
	else
		ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));

	mutex_lock(&ctx->lock);
	if (ret) {
		list_add(&forget->node, &session->forgets);
		session->num_forgets++;
	} else if (forget->kind == NNACCEL_DO_FORGET_GRANT) {
		xa_erase(&session->grants, forget->number);
	}
	mutex_unlock(&ctx->lock);
	if (!ret)
		kfree(forget);
	return ret;
}

/* The first command of the queue, where its deadline is past, or NULL. */
static struct nnaccel_command *nnaccel_fetch_first_late(struct nnaccel_session *session)
{
	struct nnaccel_command *cmd;

	cmd = list_first_entry_or_null(&session->queue, struct nnaccel_command, node);
	if (cmd && cmd->head.deadline_ns && !nnaccel_deadline_left(cmd->head.deadline_ns, 0))
		return cmd;
	return NULL;
}

/* Ends that command; what comes next is to be fetched. */
static int nnaccel_fetch_late(struct nnaccel_session *session)
{
	bool signalling = nnaccel_lock_to_signal(session->ctx);
	struct nnaccel_command *cmd = nnaccel_fetch_first_late(session);

	if (cmd) {
		list_del_init(&cmd->node);
		nnaccel_command_finish(cmd, -ETIME);
	}
	nnaccel_unlock_signalled(session->ctx, signalling);
	if (cmd)
		nnaccel_command_put(cmd);
	return -ERESTART;
}

/* Fetches what waits: notices first, they free memory and ask for no work. */
static int nnaccel_fetch(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	int ret = -EAGAIN;

	mutex_lock(&ctx->lock);
	if (ctx->closed)
		ret = -ESHUTDOWN;
	else if (!list_empty(&session->forgets))
		return nnaccel_fetch_forget(ucmd);
	else if (nnaccel_fetch_first_late(session))
		ret = -ERESTART;
	else if (!list_empty(&session->queue))
		return nnaccel_fetch_command(ucmd);
	mutex_unlock(&ctx->lock);
	return ret == -ERESTART ? nnaccel_fetch_late(session) : ret;
}

static int nnaccel_session_fetch_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_fetch *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	int ret;

	if (arg->flags & ~NNACCEL_FETCH_NONBLOCK || !IS_ALIGNED(arg->buffer, sizeof(u64)))
		return -EINVAL;
	if (!nnaccel_session_is_mine(session))
		return -EACCES;

	for (;;) {
		do {
			ret = nnaccel_fetch(ucmd);
		} while (ret == -ERESTART);
		if (ret != -EAGAIN || arg->flags & NNACCEL_FETCH_NONBLOCK)
			break;
		ret = wait_event_interruptible_exclusive(session->wait,
							 nnaccel_session_ready(session));
		if (ret)
			break;
	}
	/* One wake-up, one fetcher: pass it on when there is more. */
	if (nnaccel_session_ready(session))
		wake_up(&session->wait);
	return ret;
}

static int nnaccel_commit_check_shapes(const struct nnaccel_shape *shape, u32 n)
{
	u32 i;

	for (; n; n--, shape++) {
		if (shape->flags & ~NNACCEL_SHAPE_SUFFICIENT || shape->rank > NNACCEL_MAX_RANK)
			return -EINVAL;
		for (i = shape->rank; i < NNACCEL_MAX_RANK; i++)
			if (shape->dims[i])
				return -EINVAL;
	}
	return 0;
}

static int nnaccel_commit_check_supported(const u8 *supported, u32 n)
{
	for (; n; n--, supported++)
		if (*supported > 1)
			return -EINVAL;
	return 0;
}

/* Sizes come with the statuses that say something of them, and are within what there was. */
static int nnaccel_commit_check_sizes(const struct nnaccel_command *cmd,
				      const struct nnaccel_session_commit *arg,
				      const struct nnaccel_cache_sizes *sizes)
{
	bool saved = arg->status == NNACCEL_STATUS_NONE;

	if (!saved && arg->status != NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE)
		return arg->payload_size ? -EINVAL : 0;
	if (arg->payload_size != sizeof(*sizes))
		return -EINVAL;
	if (saved && cmd->head.num_grants &&
	    (sizes->model > cmd->head.wire_length || sizes->data > cmd->head.data_length))
		return -EINVAL;
	return 0;
}

/* Checks the module's own copy of an answer against what was asked. */
static int nnaccel_commit_check(const struct nnaccel_command *cmd,
				const struct nnaccel_session_commit *arg, const void *payload)
{
	u32 max = cmd->head.max_payload;

	switch (cmd->head.kind) {
	case NNACCEL_DO_QUERY:
		return arg->payload_size > max ? -EINVAL : 0;
	case NNACCEL_DO_SUPPORTED:
		if (arg->payload_size != max &&
		    (arg->payload_size || arg->status == NNACCEL_STATUS_NONE))
			return -EINVAL;
		return nnaccel_commit_check_supported(payload, arg->payload_size);
	case NNACCEL_DO_EXECUTE:
		if (arg->payload_size != max && arg->payload_size)
			return -EINVAL;
		return nnaccel_commit_check_shapes(payload, payload ? cmd->head.num_outputs : 0) ?:
		       nnaccel_domain_check_answer(cmd, arg->status, payload);
	case NNACCEL_DO_PREPARE:
	case NNACCEL_DO_PREPARE_CACHED:
		return arg->payload_size && (arg->payload_size != max ||
					     arg->status != NNACCEL_STATUS_NONE) ? -EINVAL : 0;
	case NNACCEL_DO_BUFFER:
		if (arg->payload_size != max && arg->payload_size)
			return -EINVAL;
		return payload && *(u32 *)payload > NNACCEL_LAYOUT_ENGINE ? -EINVAL : 0;
	case NNACCEL_DO_CACHE_SAVE:
		return nnaccel_commit_check_sizes(cmd, arg, payload);
	default:
		return arg->payload_size ? -EINVAL : 0;
	}
}

static void nnaccel_commit_count(struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = cmd->ctx;

	ctx->engine_ns += ktime_get_ns() - cmd->fetched_ns;
	if (cmd->head.kind == NNACCEL_DO_EXECUTE) {
		ctx->executions++;
		nnaccel_count(NNACCEL_EXECUTIONS_TOTAL, 1);
	}
}

/* Ends the command that the worker names; takes over *@payload where that works. */
static int nnaccel_commit(struct nnaccel_session *session, const struct nnaccel_session_commit *arg,
			  void **payload, const char *message)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	bool signalling;
	int ret = -ENOENT;

	signalling = nnaccel_lock_to_signal(ctx);
	list_for_each_entry(cmd, &session->in_flight, node) {
		if (cmd->head.cookie != arg->cookie)
			continue;
		ret = nnaccel_commit_check(cmd, arg, *payload);
		break;
	}
	if (ret) {
		nnaccel_unlock_signalled(ctx, signalling);
		return ret;
	}
	list_del_init(&cmd->node);
	swap(cmd->payload, *payload);
	cmd->payload_size = arg->payload_size;
	cmd->status = arg->status;
	cmd->device_ns = arg->device_ns;
	if (arg->message_size)
		memcpy(cmd->message, message, arg->message_size);
	if (nnaccel_command_prepares(cmd)) {
		cmd->model->prepared = arg->status == NNACCEL_STATUS_NONE;
		if (cmd->payload_size)
			memcpy(&cmd->model->memory, cmd->payload, sizeof(cmd->model->memory));
	}
	nnaccel_commit_count(cmd);
	trace_nnaccel_command_commit(cmd);
	nnaccel_command_finish(cmd, 0);
	nnaccel_unlock_signalled(ctx, signalling);
	nnaccel_command_put(cmd);
	return 0;
}

static int nnaccel_session_commit_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_commit *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	void *payload;
	char *message;
	int ret;

	if (!nnaccel_session_is_mine(session))
		return -EACCES;
	if (arg->status > NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT ||
	    arg->payload_size > NNACCEL_MAX_OPERATIONS ||
	    arg->message_size > NNACCEL_MAX_MESSAGE)
		return -EINVAL;
	payload = nnaccel_copy_in(arg->payload, arg->payload_size, 1);
	if (IS_ERR(payload))
		return PTR_ERR(payload);
	message = nnaccel_copy_in(arg->message, arg->message_size, 1);
	if (IS_ERR(message)) {
		kvfree(payload);
		return PTR_ERR(message);
	}
	ret = nnaccel_commit(session, arg, &payload, message);
	kvfree(message);
	kvfree(payload);
	return ret;
}

/**
 * nnaccel_session_map_file() - Map another file in the place of the one that mmap() was called on
 * @vma: the mapping
 * @file: what to map
 * @offset: bytes into it
 * @writable: it may be written, now or after mprotect()
 *
 * A mapping that is not to be written loses VM_SHARED beside VM_MAYWRITE, as mmap() does it for
 * a file that is open for reading only: it is then no writable mapping to memfd seals, and
 * remap_file_pages() cannot make a writable one of it.
 *
 * Return: 0 or what the file's mmap() returned.
 */
int nnaccel_session_map_file(struct vm_area_struct *vma, struct file *file, u64 offset,
			     bool writable)
{
	nnaccel_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND,
			     VM_MAYEXEC | (writable ? 0 : VM_MAYWRITE | VM_SHARED));
	vma_set_file(vma, file);
	vma->vm_pgoff = offset >> PAGE_SHIFT;
	return call_mmap(file, vma);
}

/* Maps what is behind a grant. A dma-buf's exporter sees VM_SHARED before it goes. */
static int nnaccel_session_map(struct vm_area_struct *vma, struct file *file,
			       struct dma_buf *dmabuf, u64 offset, bool writable)
{
	vm_flags_t clear = VM_MAYEXEC | (writable ? 0 : VM_MAYWRITE);
	int ret;

	if (dmabuf) {
		nnaccel_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND, clear);
		ret = dma_buf_mmap(dmabuf, vma, offset >> PAGE_SHIFT);
		if (!ret)
			nnaccel_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND,
					     clear | (writable ? 0 : VM_SHARED));
		return ret;
	}
	return nnaccel_session_map_file(vma, file, offset, writable);
}

/* The pool of a slot that the worker asks for, counted, or an error pointer. */
static struct nnaccel_pool *nnaccel_session_resolve(struct nnaccel_session *session,
						    const struct nnaccel_session_slot *arg,
						    u32 *prot)
{
	struct nnaccel_pool *pool = ERR_PTR(-ENOENT);
	struct nnaccel_burst *burst;

	mutex_lock(&session->ctx->lock);
	burst = xa_load(&session->bursts, arg->burst);
	if (burst && session->num_forgets >= NNACCEL_MAX_NOTICES)
		pool = ERR_PTR(-ENOSPC);
	else if (burst)
		pool = nnaccel_burst_resolve(burst, arg->slot, prot);
	if (!IS_ERR(pool))
		refcount_inc(&pool->obj.refs);
	mutex_unlock(&session->ctx->lock);
	return pool;
}

static int nnaccel_session_slot_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_slot *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_pool *pool;
	u32 prot, grant = 0;
	int ret;

	if (arg->flags)
		return -EINVAL;
	if (!nnaccel_session_is_mine(session))
		return -EACCES;
	pool = nnaccel_session_resolve(session, arg, &prot);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	ret = nnaccel_grant_reserve(session, pool, &grant);
	if (!ret) {
		mutex_lock(&ctx->lock);
		nnaccel_grant_publish(session, pool, &grant, prot);
		mutex_unlock(&ctx->lock);
		arg->out_grant.grant = grant;
		arg->out_grant.prot = prot | nnaccel_pool_prot_flags(pool);
		arg->out_grant.length = pool->length;
		ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
	}
	nnaccel_pool_put(pool);
	return ret;
}

/* The dma-buf behind a grant, counted, or an error pointer. */
static struct dma_buf *nnaccel_session_dmabuf(struct nnaccel_session *session, u32 grant, u32 prot)
{
	struct nnaccel_context *ctx = session->ctx;
	struct dma_buf *dmabuf;
	struct nnaccel_pool *pool;

	mutex_lock(&ctx->lock);
	pool = xa_load(&session->grants, grant);
	if (!pool) {
		dmabuf = ERR_PTR(-ENOENT);
	} else if (!pool->dmabuf) {
		dmabuf = ERR_PTR(-EOPNOTSUPP);
	} else if (prot & ~pool->grant_prot) {
		dmabuf = ERR_PTR(-EACCES);
	} else {
		dmabuf = pool->dmabuf;
		get_dma_buf(dmabuf);
	}
	mutex_unlock(&ctx->lock);
	return dmabuf;
}

static int nnaccel_session_sync_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_sync *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	u32 prot = arg->flags & (NNACCEL_SYNC_READ | NNACCEL_SYNC_WRITE);
	struct dma_buf *dmabuf;
	int ret;

	if (arg->flags & ~(NNACCEL_SYNC_READ | NNACCEL_SYNC_WRITE | NNACCEL_SYNC_END) || !prot ||
	    arg->__reserved)
		return -EINVAL;
	if (!nnaccel_session_is_mine(session))
		return -EACCES;
	dmabuf = nnaccel_session_dmabuf(session, arg->grant, prot);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (arg->flags & NNACCEL_SYNC_END)
		ret = nnaccel_access_end(dmabuf, prot);
	else
		ret = nnaccel_access_begin(dmabuf, prot, 0);
	dma_buf_put(dmabuf);
	return ret;
}

static int nnaccel_session_format_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_format *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_pool *pool;
	int ret = 0;

	if (arg->flags || arg->__reserved)
		return -EINVAL;
	if (!nnaccel_session_is_mine(session))
		return -EACCES;
	mutex_lock(&ctx->lock);
	pool = xa_load(&session->grants, arg->grant);
	if (!pool)
		ret = -ENOENT;
	else if (!nnaccel_pool_is_formatted(pool))
		ret = -EOPNOTSUPP;
	else
		arg->out_format = pool->format;
	mutex_unlock(&ctx->lock);
	return ret ?: nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}

/* The pool that a mapping asks for, if it may; context->lock is held. */
static struct nnaccel_pool *nnaccel_session_find_grant(struct nnaccel_session *session,
						       const struct vm_area_struct *vma)
{
	unsigned int shift = NNACCEL_GRANT_SHIFT - PAGE_SHIFT;
	struct nnaccel_pool *pool;

	if (vma->vm_pgoff & ((1UL << shift) - 1))
		return ERR_PTR(-EINVAL);
	pool = xa_load(&session->grants, vma->vm_pgoff >> shift);
	if (!pool || PAGE_ALIGN(pool->length) != vma->vm_end - vma->vm_start)
		return ERR_PTR(-EINVAL);
	if (vma->vm_flags & VM_WRITE && !(pool->grant_prot & NNACCEL_PROT_WRITE))
		return ERR_PTR(-EACCES);
	return pool;
}

/* Maps a region of a burst. */
static int nnaccel_session_map_burst(struct nnaccel_session *session, struct vm_area_struct *vma)
{
	u64 offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) & ~NNACCEL_BURST_MAP;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_burst *burst;
	int ret;

	mutex_lock(&ctx->lock);
	burst = xa_load(&session->bursts, offset >> NNACCEL_BURST_SHIFT);
	if (burst)
		nnaccel_burst_get(burst);
	mutex_unlock(&ctx->lock);
	if (!burst)
		return -EINVAL;
	ret = nnaccel_burst_map(burst, vma, offset & (BIT_ULL(NNACCEL_BURST_SHIFT) - 1), true);
	nnaccel_burst_put(burst);
	return ret;
}

static int nnaccel_session_mmap(struct file *session_file, struct vm_area_struct *vma)
{
	struct nnaccel_session *session = session_file->private_data;
	struct nnaccel_context *ctx = session->ctx;
	struct file *file, *hold = NULL;
	struct dma_buf *dmabuf;
	struct nnaccel_pool *pool;
	bool writable;
	u64 offset;
	int ret;

	if (!nnaccel_session_is_mine(session) || vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_pgoff & (NNACCEL_BURST_MAP >> PAGE_SHIFT))
		return nnaccel_session_map_burst(session, vma);

	mutex_lock(&ctx->lock);
	pool = nnaccel_session_find_grant(session, vma);
	if (IS_ERR(pool)) {
		mutex_unlock(&ctx->lock);
		return PTR_ERR(pool);
	}
	file = get_file(pool->file);
	if (pool->hold)
		hold = get_file(pool->hold);
	dmabuf = pool->dmabuf;
	offset = pool->offset;
	writable = pool->grant_prot & NNACCEL_PROT_WRITE;
	mutex_unlock(&ctx->lock);

	ret = nnaccel_session_map(vma, file, dmabuf, offset, writable);
	if (hold)
		fput(hold);
	fput(file);
	return ret;
}

static __poll_t nnaccel_session_poll(struct file *file, poll_table *wait)
{
	struct nnaccel_session *session = file->private_data;

	poll_wait(file, &session->wait, wait);
	if (READ_ONCE(session->ctx->closed))
		return EPOLLHUP;
	return nnaccel_session_ready(session) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* Fails the commands of @from, which are then the caller's to put. */
static void nnaccel_session_fail(struct list_head *from, struct list_head *to)
{
	struct nnaccel_command *cmd;

	list_for_each_entry(cmd, from, node)
		nnaccel_command_finish(cmd, -EPIPE);
	list_splice_init(from, to);
}

/*
 * Cuts everything off that points to the session; @dead: commands to put. The engine node hears
 * of it first: a call that finds no session from now on is not one that this death ends.
 */
static void nnaccel_session_cut(struct nnaccel_session *session, struct list_head *dead)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_model *model, *next;
	struct nnaccel_pool *pool;
	unsigned long grant;

	lockdep_assert_held(&ctx->lock);
	nnaccel_engine_lost(ctx);
	nnaccel_session_fail(&session->in_flight, dead);
	nnaccel_session_fail(&session->queue, dead);
	nnaccel_async_fail(ctx, session, -EPIPE, dead);
	nnaccel_burst_kill_all(ctx);
	list_for_each_entry_safe(model, next, &session->models, node) {
		list_del_init(&model->node);
		model->session = NULL;
		trace_nnaccel_model_dead(model);
	}
	xa_for_each(&session->grants, grant, pool) {
		pool->grant = 0;
		nnaccel_count(NNACCEL_GRANTS, -1);
	}
	ctx->session = NULL;
	trace_nnaccel_session_dead(ctx);
}

static void nnaccel_session_free(struct nnaccel_session *session)
{
	struct nnaccel_forget *forget, *next;

	list_for_each_entry_safe(forget, next, &session->forgets, node)
		kfree(forget);
	xa_destroy(&session->grants);
	xa_destroy(&session->bursts);
	put_pid(session->pid);
	if (session->mm)
		mmdrop(session->mm);
	nnaccel_context_put(session->ctx);
	kfree(session);
	nnaccel_count(NNACCEL_SESSIONS, -1);
}

/* The worker is dead, or was never born. */
static int nnaccel_session_release(struct inode *inode, struct file *file)
{
	struct nnaccel_session *session = file->private_data;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd, *next;
	bool signalling;
	LIST_HEAD(dead);

	signalling = nnaccel_lock_to_signal(ctx);
	if (ctx->session == session)
		nnaccel_session_cut(session, &dead);
	nnaccel_unlock_signalled(ctx, signalling);
	list_for_each_entry_safe(cmd, next, &dead, node)
		nnaccel_command_put(cmd);
	nnaccel_session_free(session);
	return 0;
}

#define NNACCEL_OP(_name, _fn, _struct, _last)	\
	NNACCEL_IOCTL_OP(SESSION_ATTACH, _name, _fn, _struct, _last)

static const struct nnaccel_ioctl_op nnaccel_session_ops[] = {
	NNACCEL_OP(SESSION_ATTACH, nnaccel_session_attach_ioctl,
		   struct nnaccel_session_attach, flags),
	NNACCEL_OP(SESSION_FETCH, nnaccel_session_fetch_ioctl,
		   struct nnaccel_session_fetch, out_size),
	NNACCEL_OP(SESSION_COMMIT, nnaccel_session_commit_ioctl,
		   struct nnaccel_session_commit, device_ns),
	NNACCEL_OP(SESSION_SLOT, nnaccel_session_slot_ioctl,
		   struct nnaccel_session_slot, out_grant),
	NNACCEL_OP(SESSION_SYNC, nnaccel_session_sync_ioctl,
		   struct nnaccel_session_sync, __reserved),
	NNACCEL_OP(SESSION_FORMAT, nnaccel_session_format_ioctl,
		   struct nnaccel_session_format, out_format),
};

static long nnaccel_session_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return nnaccel_ioctl(nnaccel_session_ops, ARRAY_SIZE(nnaccel_session_ops),
			     file->private_data, cmd, arg);
}

static const struct file_operations nnaccel_session_fops = {
	.owner = THIS_MODULE,
	.release = nnaccel_session_release,
	.unlocked_ioctl = nnaccel_session_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = nnaccel_session_mmap,
	.poll = nnaccel_session_poll,
};

/**
 * nnaccel_session_create() - Make a session that its context does not know yet
 * @ctx: the context
 *
 * Return: the session's file or an error pointer: -ENOMEM, -ENFILE.
 */
struct file *nnaccel_session_create(struct nnaccel_context *ctx)
{
	struct nnaccel_session *session;
	struct file *file;

	session = kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);
	if (!session)
		return ERR_PTR(-ENOMEM);
	init_waitqueue_head(&session->wait);
	INIT_LIST_HEAD(&session->queue);
	INIT_LIST_HEAD(&session->in_flight);
	INIT_LIST_HEAD(&session->forgets);
	INIT_LIST_HEAD(&session->models);
	xa_init_flags(&session->grants, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&session->bursts, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	session->ctx = ctx;
	file = anon_inode_getfile("[nnaccel-session]", &nnaccel_session_fops, session, O_RDWR);
	if (IS_ERR(file)) {
		kfree(session);
		return file;
	}
	nnaccel_context_get(ctx);
	nnaccel_count(NNACCEL_SESSIONS, 1);
	return file;
}

/**
 * nnaccel_session_install() - Let the context's calls find its session
 * @file: the session's file, not yet behind an fd
 */
void nnaccel_session_install(struct file *file)
{
	struct nnaccel_session *session = file->private_data;
	struct nnaccel_context *ctx = session->ctx;

	mutex_lock(&ctx->lock);
	session->number = ++ctx->num_sessions;
	ctx->session = session;
	mutex_unlock(&ctx->lock);
	trace_nnaccel_session_create(ctx);
}
