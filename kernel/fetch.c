// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: what a worker fetches from a session: first notices, and then commands in the order of
 * their priority.
 */

#include <linux/ktime.h>
#include <linux/sched.h>

#include "burst.h"
#include "command.h"
#include "model.h"
#include "session.h"
#include "trace.h"

/**
 * nnaccel_session_ready() - Returns whether a fetch of the worker would return at once
 * @session: the session
 *
 * Threads that wait for a notice or a command call nnaccel_session_ready() without ctx->lock.
 *
 * Return: true if the session has a notice or a command, or is over.
 */
bool nnaccel_session_ready(const struct nnaccel_session *session)
{
	return !list_empty(&session->notices) || !list_empty(&session->queue) ||
	       READ_ONCE(session->ctx->closed) || READ_ONCE(session->ended);
}

/* Queues a command before or after the commands of the same priority. */
static void nnaccel_session_insert(struct nnaccel_session *session, struct nnaccel_command *cmd,
				   bool before)
{
	u32 priority = cmd->head.priority;
	struct list_head *at;

	/*
	 * Search from the end of the queue: if all commands have equal priority, the first
	 * comparison ends the search.
	 */
	list_for_each_prev(at, &session->queue) {
		u32 other = list_entry(at, struct nnaccel_command, node)->head.priority;

		if (other > priority || (!before && other == priority))
			break;
	}
	list_move(&cmd->node, at);
	cmd->state = NNACCEL_COMMAND_QUEUED;
}

/**
 * nnaccel_session_queue() - Queues a command after those of the same priority
 * @session: the session; ctx->lock is held
 * @cmd: the admitted command
 */
void nnaccel_session_queue(struct nnaccel_session *session, struct nnaccel_command *cmd)
{
	struct nnaccel_model *model = cmd->model;

	lockdep_assert_held(&session->ctx->lock);
	if (nnaccel_command_prepares(cmd)) {
		model->session = session;
		model->number = ++session->next_model;
		list_add_tail(&model->node, &session->models);
		nnaccel_session_update_priority(session);
		cmd->head.model = model->number;
	}
	cmd->head.cookie = ++session->next_cookie;
	nnaccel_session_insert(session, cmd, false);
	wake_up(&session->wait);
}

/**
 * nnaccel_session_notify() - Posts a notice to the worker; cannot fail
 * @session: the session; ctx->lock is held
 * @from: the notice; set to NULL when it is posted
 * @kind: NNACCEL_DO_FORGET_MODEL, FORGET_GRANT, BURST_GONE or SLOT_GONE
 * @number: number of the model, the grant or the slot
 * @burst: number of the burst
 *
 * The worker of a closed context gets no notice, because the worker ends anyway.
 */
void nnaccel_session_notify(struct nnaccel_session *session, struct nnaccel_notice **from,
			    u32 kind, u64 number, u32 burst)
{
	struct nnaccel_notice *notice = *from;

	lockdep_assert_held(&session->ctx->lock);
	if (session->ctx->closed)
		return;
	*from = NULL;
	notice->kind = kind;
	notice->number = number;
	notice->burst = burst;
	list_add_tail(&notice->node, &session->notices);
	session->num_notices++;
	wake_up(&session->wait);
}

/*
 * Returns the size of a command as the worker gets it, but without the formats of the command's
 * pools.
 */
static size_t nnaccel_command_size(const struct nnaccel_command *cmd)
{
	const struct nnaccel_cmd *head = &cmd->head;

	return sizeof(*head) + head->num_grants * sizeof(*cmd->grants) +
	       (head->num_inputs + head->num_outputs) * sizeof(*cmd->args) +
	       head->num_roles * sizeof(*cmd->roles) + head->attributes_size;
}

/* Returns whether a command's pools and burst can be granted without an allocation. */
static bool nnaccel_fetch_is_granted(const struct nnaccel_command *cmd)
{
	u32 i;

	for (i = 0; i < cmd->head.num_grants; i++)
		if (!cmd->pools[i]->grant)
			return false;
	return !cmd->burst;
}

/* Publishes the grants of a command's pools for which numbers were reserved. */
static void nnaccel_fetch_publish(struct nnaccel_session *session, struct nnaccel_command *cmd)
{
	u32 i;

	lockdep_assert_held(&session->ctx->lock);
	for (i = 0; i < cmd->head.num_grants; i++) {
		struct nnaccel_grant *grant = &cmd->grants[i];
		struct nnaccel_pool *pool = cmd->pools[i];

		if (!grant->grant && !pool->grant)
			break;
		nnaccel_grant_publish(session, pool, &grant->grant, grant->prot);
		grant->prot |= nnaccel_pool_prot_flags(pool);
	}
}

/* Grants the pools and announces the burst of a command. */
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
	/*
	 * If the session was disconnected from its context, the session has no grants, and the
	 * command has ended.
	 */
	if (ctx->session != session) {
		mutex_unlock(&ctx->lock);
		return -ESHUTDOWN;
	}
	/*
	 * If memory ran out, publish the grants that were reserved before; grants are reserved in
	 * order.
	 */
	nnaccel_fetch_publish(session, cmd);
	if (!ret && cmd->burst) {
		ret = nnaccel_burst_announce(cmd->burst, burst);
		cmd->head.burst = cmd->burst->number;
	}
	mutex_unlock(&ctx->lock);
	return ret;
}

/*
 * Puts a command back into the queue if it could not be delivered to the worker. Drops a command
 * that is cancelled, or whose burst is dead and can no longer be announced.
 */
static void nnaccel_fetch_requeue(struct nnaccel_session *session, struct nnaccel_command *cmd)
{
	mutex_lock(&session->ctx->lock);
	/*
	 * A thread of the worker may have guessed the command's cookie and committed the command
	 * already.
	 */
	if (cmd->state == NNACCEL_COMMAND_IN_FLIGHT) {
		if (cmd->ended || (cmd->burst && cmd->burst->dead))
			nnaccel_command_finish(cmd, -ECANCELED);
		else
			nnaccel_session_insert(session, cmd, true);
	}
	nnaccel_unlock_commands(session->ctx);
}

/* Writes the formats of the formatted pools of a command. */
static int nnaccel_fetch_write_formats(const struct nnaccel_command *cmd,
				       struct nnaccel_format __user *to)
{
	u32 i;

	for (i = 0; cmd->head.num_formats && i < cmd->first_buffer; i++) {
		struct nnaccel_format format;

		if (!cmd->pools[i]->image)
			continue;
		mutex_lock(&cmd->ctx->lock);
		nnaccel_image_tell(cmd->pools[i], &format);
		mutex_unlock(&cmd->ctx->lock);
		if (copy_to_user(to++, &format, sizeof(format)))
			return -EFAULT;
	}
	return 0;
}

static int nnaccel_fetch_write(const struct nnaccel_fetch *fetch, const struct nnaccel_command *cmd)
{
	struct nnaccel_cmd __user *to = u64_to_user_ptr(fetch->buffer);
	u64 deadline_ns = nnaccel_time_to_user(cmd->head.deadline_ns);
	size_t size = nnaccel_command_size(cmd);

	/* In memory, a command's arrays directly follow cmd->head. */
	if (nnaccel_put(to, &cmd->head, size))
		return -EFAULT;
	if (deadline_ns != cmd->head.deadline_ns && put_user(deadline_ns, &to->deadline_ns))
		return -EFAULT;
	return nnaccel_fetch_write_formats(cmd, (void __user *)to + ALIGN(size, sizeof(u64))) ?:
	       put_user(cmd->head.size, fetch->out_size);
}

/*
 * Fetches the session's first notice. The caller holds ctx->lock, which nnaccel_fetch_notice()
 * releases.
 */
static int nnaccel_fetch_notice(const struct nnaccel_fetch *fetch)
{
	struct nnaccel_session *session = fetch->session;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_cmd head = { .size = sizeof(head) };
	struct nnaccel_notice *notice;
	int ret;

	if (head.size > fetch->buffer_size) {
		mutex_unlock(&ctx->lock);
		return put_user(head.size, fetch->out_size) ?: -EMSGSIZE;
	}
	notice = list_first_entry(&session->notices, struct nnaccel_notice, node);
	list_del(&notice->node);
	session->num_notices--;
	mutex_unlock(&ctx->lock);

	head.kind = notice->kind;
	head.burst = notice->burst;
	if (notice->kind == NNACCEL_DO_FORGET_MODEL)
		head.model = notice->number;
	else
		head.grant = notice->number;
	ret = nnaccel_put(u64_to_user_ptr(fetch->buffer), &head, sizeof(head)) ?:
	      put_user(head.size, fetch->out_size);

	mutex_lock(&ctx->lock);
	if (ret) {
		list_add(&notice->node, &session->notices);
		session->num_notices++;
	} else if (notice->kind == NNACCEL_DO_FORGET_GRANT) {
		xa_erase(&session->grants, notice->number);
	}
	mutex_unlock(&ctx->lock);
	if (!ret)
		kfree(notice);
	return ret;
}

/*
 * Waits until the session has a notice or a command to fetch. Each wake-up wakes only one of the
 * worker's threads, and removes the thread from the wait queue.
 */
static int nnaccel_fetch_wait(struct nnaccel_session *session)
{
	struct wait_queue_entry wait;
	int ret = 0;

	init_wait_entry(&wait, WQ_FLAG_EXCLUSIVE);
	while (!ret && !nnaccel_session_ready(session)) {
		ret = prepare_to_wait_event(&session->wait, &wait, TASK_INTERRUPTIBLE);
		if (!ret && !nnaccel_session_ready(session))
			schedule();
	}
	finish_wait(&session->wait, &wait);
	return ret;
}

/**
 * nnaccel_fetch_next() - Gives the worker a notice or a command, and waits for one if needed
 * @fetch: the call of the session's worker; its flags and the alignment of its buffer are valid
 *
 * Return: 0, -EAGAIN, -ESHUTDOWN, -EMSGSIZE, -EFAULT, -ENOMEM or -ERESTARTSYS.
 */
int nnaccel_fetch_next(const struct nnaccel_fetch *fetch)
{
	struct nnaccel_session *session = fetch->session;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	bool granted;
	u32 size;
	int ret;

again:
	ret = 0;
	if (!(fetch->flags & NNACCEL_FETCH_NONBLOCK))
		ret = nnaccel_fetch_wait(session);
	if (ret)
		goto out;

	/* Notices are fetched before commands, because notices let the worker free memory. */
	mutex_lock(&ctx->lock);
	cmd = list_first_entry_or_null(&session->queue, struct nnaccel_command, node);
	if (nnaccel_session_is_over(session)) {
		ret = -ESHUTDOWN;
	} else if (!list_empty(&session->notices)) {
		ret = nnaccel_fetch_notice(fetch);
		goto out;
	} else if (!cmd) {
		ret = -EAGAIN;
	} else {
		size = nnaccel_command_size(cmd);
		if (cmd->head.num_formats)
			size = ALIGN(size, sizeof(u64)) +
			       cmd->head.num_formats * sizeof(struct nnaccel_format);
		cmd->head.size = size;
		ret = size > fetch->buffer_size ? -EMSGSIZE : 0;
	}
	if (ret) {
		mutex_unlock(&ctx->lock);
		if (ret == -EMSGSIZE && put_user(size, fetch->out_size))
			ret = -EFAULT;
		if (ret == -EAGAIN && !(fetch->flags & NNACCEL_FETCH_NONBLOCK))
			goto again;
		goto out;
	}

	/*
	 * Another thread may commit the command before this fetch ends, so the fetch takes a
	 * reference.
	 */
	kref_get(&cmd->refs);
	cmd->fetched_ns = ktime_get_ns();
	cmd->state = NNACCEL_COMMAND_IN_FLIGHT;
	list_move_tail(&cmd->node, &session->in_flight);
	trace_nnaccel_command_fetch(cmd);
	granted = nnaccel_fetch_is_granted(cmd);
	if (granted)
		nnaccel_fetch_publish(session, cmd);
	mutex_unlock(&ctx->lock);

	ret = granted ? 0 : nnaccel_fetch_grant(session, cmd);
	ret = ret ?: nnaccel_fetch_write(fetch, cmd);
	if (ret)
		nnaccel_fetch_requeue(session, cmd);
	nnaccel_command_put(cmd);
	/*
	 * The command's burst has died, so fetch another command. The burst's context has ended, or
	 * the client has closed the burst's file after a thread of the worker answered the command
	 * too early.
	 */
	if (ret == -ECANCELED)
		goto again;
out:
	/*
	 * A wake-up wakes only one thread of the worker. A thread that ends its fetch must
	 * therefore wake another thread if there is more to fetch.
	 */
	if (nnaccel_session_ready(session))
		wake_up(&session->wait);
	return ret;
}

/**
 * nnaccel_session_fetch_ioctl() - Implements NNACCEL_SESSION_FETCH
 * @ucmd: the ioctl
 *
 * Return: -EINVAL, -EACCES, or the result of nnaccel_fetch_next().
 */
int nnaccel_session_fetch_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_session_fetch *arg = ucmd->cmd;
	struct nnaccel_session_fetch __user *to = ucmd->ubuffer;
	const struct nnaccel_fetch fetch = {
		.session = ucmd->object,
		.buffer = arg->buffer,
		.buffer_size = arg->buffer_size,
		.flags = arg->flags,
		.out_size = &to->out_size,
	};

	if (arg->flags & ~NNACCEL_FETCH_NONBLOCK || !IS_ALIGNED(arg->buffer, sizeof(u64)))
		return -EINVAL;
	return nnaccel_fetch_next(&fetch);
}
