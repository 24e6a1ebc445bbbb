// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: sessions. A session connects a worker with one context. The worker attaches, fetches
 * commands, maps the memory that commands name, and commits answers. After the last close of a
 * session's file its worker counts as dead.
 */

#include <linux/anon_inodes.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "burst.h"
#include "command.h"
#include "engine.h"
#include "model.h"
#include "session.h"
#include "submit.h"
#include "trace.h"

/* A killed worker counts as dead after NNACCEL_KILL_NS, even if it has not exited. */
#define NNACCEL_KILL_NS		(2 * (u64)NSEC_PER_SEC)

/* Interval between checks whether a killed worker has died, in jiffies. */
#define NNACCEL_KILL_POLL	msecs_to_jiffies(5)

/**
 * nnaccel_session_is_current() - Returns whether the calling process serves the session
 * @session: the session; no lock is needed, because an attached worker never changes
 *
 * Return: true if the calling process is the session's worker.
 */
bool nnaccel_session_is_current(const struct nnaccel_session *session)
{
	return READ_ONCE(session->mm) == current->mm;
}

/**
 * nnaccel_session_update_priority() - Updates a session's priority after a change of its models
 * @session: the session; ctx->lock is held
 */
void nnaccel_session_update_priority(struct nnaccel_session *session)
{
	const struct nnaccel_model *model;
	u32 priority = NNACCEL_PRIORITY_LOW;

	lockdep_assert_held(&session->ctx->lock);
	list_for_each_entry(model, &session->models, node)
		priority = max(priority, model->priority);
	if (list_empty(&session->models))
		priority = NNACCEL_PRIORITY_MEDIUM;
	nnaccel_engine_set_priority(session->ctx, priority);
}

/**
 * nnaccel_session_is_over() - Returns whether a session has ended or its context is closed
 * @session: the session; ctx->lock is held
 *
 * Return: true if the session has ended or the context is closed.
 */
bool nnaccel_session_is_over(const struct nnaccel_session *session)
{
	lockdep_assert_held(&session->ctx->lock);
	return session->ended || session->ctx->closed;
}

/* Ends a session: the worker gets no more commands, and must close the session. */
static void nnaccel_session_end(struct nnaccel_session *session)
{
	lockdep_assert_held(&session->ctx->lock);
	WRITE_ONCE(session->ended, true);
	nnaccel_grant_revoke_fds(session);
	wake_up_all(&session->wait);
}

/*
 * Starts the work that disconnects a session once its worker can no longer write, or after
 * NNACCEL_KILL_NS.
 */
static bool nnaccel_session_begin_cutoff(struct nnaccel_session *session)
{
	lockdep_assert_held(&session->ctx->lock);
	if (session->killed_ns)
		return false;
	session->killed_ns = ktime_get_ns();
	return queue_delayed_work(nnaccel_wq, &session->cutoff, 0);
}

/**
 * nnaccel_session_shut() - Ends the session of a context, if any, because its hardware is removed
 * @ctx: the context
 */
void nnaccel_session_shut(struct nnaccel_context *ctx)
{
	struct nnaccel_session *session;

	mutex_lock(&ctx->lock);
	session = ctx->session;
	if (session && nnaccel_session_begin_cutoff(session))
		nnaccel_session_end(session);
	mutex_unlock(&ctx->lock);
}

/**
 * nnaccel_session_kill() - Kills a worker that does not answer
 * @session: the session; its worker is not the client itself; ctx->lock is held
 *
 * With NNACCEL_ATTACH_SHARED the worker is not killed, but loses this session and must close
 * it.
 *
 * Return: true if this call ended a worker that could still write.
 */
bool nnaccel_session_kill(struct nnaccel_session *session)
{
	lockdep_assert_held(&session->ctx->lock);
	if (!nnaccel_session_begin_cutoff(session) || !atomic_read(&session->mm->mm_users))
		return false;
	if (session->flags & NNACCEL_ATTACH_SHARED)
		nnaccel_session_end(session);
	else
		kill_pid(session->pid, SIGKILL, 1);
	trace_nnaccel_session_kill(session->ctx);
	return true;
}

static int nnaccel_session_attach_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_attach *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	int ret = 0;

	if (arg->flags & ~(NNACCEL_ATTACH_SHARED | NNACCEL_ATTACH_DEVICES |
			   NNACCEL_ATTACH_FENCES) ||
	    (arg->flags & NNACCEL_ATTACH_FENCES && !(arg->flags & NNACCEL_ATTACH_DEVICES)))
		return -EINVAL;
	mutex_lock(&ctx->lock);
	if (session->mm) {
		ret = -EBUSY;
	} else if (nnaccel_session_is_over(session)) {
		ret = -ESHUTDOWN;
	} else {
		mmgrab(current->mm);
		session->pid = get_pid(task_tgid(current));
		session->flags = arg->flags;
		WRITE_ONCE(session->mm, current->mm);
		trace_nnaccel_session_attach(ctx);
	}
	mutex_unlock(&ctx->lock);
	if (!ret)
		wake_up_all(&ctx->changes_wait);
	return ret;
}

static __poll_t nnaccel_session_poll(struct file *file, poll_table *wait)
{
	struct nnaccel_session *session = file->private_data;

	poll_wait(file, &session->wait, wait);
	if (READ_ONCE(session->ctx->closed))
		return EPOLLHUP;
	if (READ_ONCE(session->ended))
		return EPOLLHUP | EPOLLERR;
	return nnaccel_session_ready(session) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * Disconnects a session from its context. The session's file may stay open after the disconnection.
 * Updates the engine first, so that later calls of the client do not get -EPIPE, but wait for a new
 * session.
 */
static void nnaccel_session_disconnect(struct nnaccel_session *session)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd, *next_cmd;
	struct nnaccel_model *model, *next;
	struct nnaccel_pool *pool;
	unsigned long grant;

	lockdep_assert_held(&ctx->lock);
	nnaccel_engine_session_ended(ctx);
	nnaccel_session_end(session);
	/*
	 * If devices still use the memory of a command, the command ends only after the devices'
	 * use.
	 */
	list_for_each_entry_safe(cmd, next_cmd, &session->in_flight, node)
		if (!nnaccel_command_lose(cmd))
			nnaccel_command_finish(cmd, -EPIPE);
	nnaccel_command_fail_all(ctx, -EPIPE);
	nnaccel_burst_kill_all(ctx, true);
	list_for_each_entry_safe(model, next, &session->models, node) {
		list_del_init(&model->node);
		model->session = NULL;
		trace_nnaccel_model_dead(model);
	}
	xa_for_each(&session->grants, grant, pool) {
		xa_erase(&session->grants, grant);
		pool->grant = 0;
		nnaccel_count(NNACCEL_GRANTS, -1);
	}
	ctx->session = NULL;
	trace_nnaccel_session_dead(ctx);
}

static void nnaccel_session_leave(struct nnaccel_session *session)
{
	struct nnaccel_context *ctx = session->ctx;

	mutex_lock(&ctx->lock);
	if (ctx->session == session)
		nnaccel_session_disconnect(session);
	nnaccel_unlock_commands(ctx);
}

/*
 * Disconnects a session whose worker was killed, once no thread of the worker is left or after
 * NNACCEL_KILL_NS.
 */
static void nnaccel_session_cut_off(struct work_struct *work)
{
	struct nnaccel_session *session = container_of(to_delayed_work(work),
						       struct nnaccel_session, cutoff);

	/*
	 * Without @mm no worker has attached, and no worker can attach now, because the session has
	 * ended.
	 */
	if (session->mm && atomic_read(&session->mm->mm_users) &&
	    ktime_get_ns() - session->killed_ns <= NNACCEL_KILL_NS)
		queue_delayed_work(nnaccel_wq, &session->cutoff, NNACCEL_KILL_POLL);
	else
		nnaccel_session_leave(session);
}

static void nnaccel_session_free(struct nnaccel_session *session)
{
	struct nnaccel_notice *notice, *next;

	list_for_each_entry_safe(notice, next, &session->notices, node)
		kfree(notice);
	xa_destroy(&session->grants);
	/*
	 * The table may still have a burst number that was reserved while the session was
	 * disconnected.
	 */
	xa_destroy(&session->bursts);
	put_pid(session->pid);
	if (session->mm)
		mmdrop(session->mm);
	nnaccel_context_put(session->ctx);
	kfree(session);
	nnaccel_count(NNACCEL_SESSIONS, -1);
}

/* The last fd of the session is closed: the worker has died, or never attached. */
static int nnaccel_session_release(struct inode *inode, struct file *file)
{
	struct nnaccel_session *session = file->private_data;

	/*
	 * The work @cutoff is not queued again, because commands kill the worker only before the
	 * disconnection.
	 */
	nnaccel_session_leave(session);
	cancel_delayed_work_sync(&session->cutoff);
	nnaccel_session_free(session);
	return 0;
}

#define NNACCEL_OP(_nr, _name, _last)	NNACCEL_IOCTL_OP(SESSION_ATTACH, _nr, _name, _last)

static const struct nnaccel_ioctl_op nnaccel_session_ops[] = {
	NNACCEL_OP(SESSION_ATTACH, session_attach, flags),
	NNACCEL_OP(SESSION_FETCH, session_fetch, out_size),
	NNACCEL_OP(SESSION_COMMIT, session_commit, device_ns),
	NNACCEL_OP(SESSION_SLOT, session_slot, out_format),
	NNACCEL_OP(SESSION_SYNC, session_sync, __reserved),
	NNACCEL_OP(SESSION_GRANT_FD, session_grant_fd, __reserved),
	NNACCEL_OP(SESSION_FENCE, session_fence, out_fd),
};

static long nnaccel_session_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	/* Calls other than NNACCEL_SESSION_ATTACH are allowed only for the attached worker. */
	if (cmd != NNACCEL_SESSION_ATTACH && !nnaccel_session_is_current(file->private_data))
		return -EACCES;
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
 * nnaccel_session_create() - Makes a session, which is not yet that of its context
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
	INIT_DELAYED_WORK(&session->cutoff, nnaccel_session_cut_off);
	INIT_LIST_HEAD(&session->queue);
	INIT_LIST_HEAD(&session->in_flight);
	INIT_LIST_HEAD(&session->notices);
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
 * nnaccel_session_install() - Makes a session that of its context
 * @file: the session's file, which has no fd yet
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
