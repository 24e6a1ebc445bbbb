// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: the engine node, the device node by which brokers serve contexts.
 *
 * A broker opens the engine node and registers its engine as a device. The broker fetches the
 * contexts that want a worker, and gives each context a session or a refusal. A call that needs a
 * worker waits until a worker attaches to the context. Engines do not affect each other.
 *
 * A context has one of these stages, protected by the engine's lock:
 *
 *   IDLE -> WANTED	A call needs a worker; the context becomes an event.
 *   WANTED -> OFFERED	ENGINE_NEXT reported the context to the broker.
 *   OFFERED -> WANTED	The report failed, the broker closed the node, or the hardware is gone.
 *   OFFERED -> IDLE	The broker refused by ENGINE_REFUSE.
 *   OFFERED -> SERVED	ENGINE_SESSION creates a session for the broker.
 *   SERVED -> OFFERED	ENGINE_SESSION could not create the session.
 *   SERVED -> IDLE	The session ended.
 *   Any -> GONE	The context was closed.
 *
 * The list of events contains each WANTED context, and each GONE context that the broker knows. The
 * list of events contains a SERVED context if its priority has changed since the broker last
 * fetched the priority.
 */

#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "account.h"
#include "command.h"
#include "engine.h"
#include "session.h"
#include "trace.h"

static void nnaccel_engine_notify(struct nnaccel_context *ctx, enum nnaccel_engine_stage stage)
{
	struct nnaccel_engine *engine = ctx->engine;

	lockdep_assert_held(&engine->lock);
	ctx->stage = stage;
	list_add_tail(&ctx->event, &engine->events);
	wake_up(&engine->events_wait);
}

/* Makes all calls that wait for a worker of @ctx fail with @error. */
static void nnaccel_engine_fail_waits(struct nnaccel_context *ctx, int error)
{
	lockdep_assert_held(&ctx->engine->lock);
	ctx->stage = NNACCEL_STAGE_IDLE;
	ctx->refusals++;
	ctx->refusal = error;
	wake_up_all(&ctx->changes_wait);
}

/**
 * nnaccel_engine_add() - Adds a new context to its engine
 * @ctx: the context
 *
 * The broker is notified only when the context needs a worker, so that opening and closing a
 * device is cheap.
 */
void nnaccel_engine_add(struct nnaccel_context *ctx)
{
	struct nnaccel_engine *engine = ctx->engine;

	mutex_lock(&engine->lock);
	ctx->stage = NNACCEL_STAGE_IDLE;
	list_add_tail(&ctx->node, &engine->contexts);
	mutex_unlock(&engine->lock);
}

/**
 * nnaccel_engine_want_ahead() - Requests a worker before any call needs one
 * @ctx: the context
 */
void nnaccel_engine_want_ahead(struct nnaccel_context *ctx)
{
	struct nnaccel_engine *engine = ctx->engine;

	mutex_lock(&engine->lock);
	if (ctx->stage == NNACCEL_STAGE_IDLE)
		nnaccel_engine_notify(ctx, NNACCEL_STAGE_WANTED);
	mutex_unlock(&engine->lock);
}

/**
 * nnaccel_engine_remove() - Removes a closed context from its engine
 * @ctx: the context
 *
 * The broker is notified of a context's removal if the context was offered to the broker.
 */
void nnaccel_engine_remove(struct nnaccel_context *ctx)
{
	struct nnaccel_engine *engine = ctx->engine;

	mutex_lock(&engine->lock);
	list_del(&ctx->node);
	list_del_init(&ctx->event);
	if (ctx->offered) {
		nnaccel_context_get(ctx);
		nnaccel_engine_notify(ctx, NNACCEL_STAGE_GONE);
	} else {
		ctx->stage = NNACCEL_STAGE_GONE;
	}
	mutex_unlock(&engine->lock);
}

/**
 * nnaccel_engine_session_ended() - Handles the end of a context's session
 * @ctx: the context
 *
 * The next call that needs a worker requests a new session.
 */
void nnaccel_engine_session_ended(struct nnaccel_context *ctx)
{
	struct nnaccel_engine *engine = ctx->engine;

	mutex_lock(&engine->lock);
	if (ctx->stage == NNACCEL_STAGE_SERVED) {
		list_del_init(&ctx->event);
		nnaccel_engine_fail_waits(ctx, -EPIPE);
	}
	mutex_unlock(&engine->lock);
}

/**
 * nnaccel_engine_set_priority() - Reports the priority of a context's work to the broker
 * @ctx: the context
 * @priority: the highest enum nnaccel_priority among the models of its worker
 *
 * The broker acts on the priority, because the broker owns the worker's cgroup.
 */
void nnaccel_engine_set_priority(struct nnaccel_context *ctx, u32 priority)
{
	struct nnaccel_engine *engine = ctx->engine;

	mutex_lock(&engine->lock);
	ctx->priority = priority;
	if (ctx->offered && ctx->stage == NNACCEL_STAGE_SERVED &&
	    priority != ctx->told_priority && list_empty(&ctx->event)) {
		list_add_tail(&ctx->event, &engine->events);
		wake_up(&engine->events_wait);
	}
	mutex_unlock(&engine->lock);
}

/**
 * nnaccel_engine_get_state() - Returns the state of a context's engine, for NNACCEL_INFO
 * @ctx: the context
 *
 * Return: enum nnaccel_engine_state.
 */
u32 nnaccel_engine_get_state(struct nnaccel_context *ctx)
{
	bool attached;

	mutex_lock(&ctx->lock);
	attached = ctx->session && ctx->session->mm;
	mutex_unlock(&ctx->lock);
	if (attached)
		return NNACCEL_ENGINE_ATTACHED;
	return READ_ONCE(ctx->engine->broker) ? NNACCEL_ENGINE_PENDING : NNACCEL_ENGINE_ABSENT;
}

/**
 * nnaccel_engine_time_left() - Requests a worker, unless the broker refused one during this wait
 * @cmd: the command that needs a worker, in ctx->changes_wait; ctx->lock is held
 *
 * A command's wait for a worker also ends at the command's deadline.
 *
 * Return: the jiffies for which the command may still wait for a worker. If no worker will attach:
 * -ENOTCONN, -ETIMEDOUT, -ETIME, -EPIPE, or the error of the broker's refusal.
 */
long nnaccel_engine_time_left(struct nnaccel_command *cmd)
{
	struct nnaccel_engine_wait *wait = &cmd->engine_wait;
	struct nnaccel_context *ctx = cmd->ctx;
	struct nnaccel_engine *engine = ctx->engine;
	unsigned long now = jiffies, left, end;
	bool broker;
	int ret = 0;

	mutex_lock(&engine->lock);
	if (!wait->begun) {
		wait->begun = true;
		wait->start = now;
		wait->refusals = ctx->refusals;
	}
	if (wait->refusals != ctx->refusals)
		ret = ctx->refusal;
	else if (ctx->stage == NNACCEL_STAGE_IDLE)
		nnaccel_engine_notify(ctx, NNACCEL_STAGE_WANTED);
	broker = engine->broker;
	mutex_unlock(&engine->lock);
	if (ret)
		return ret;
	end = wait->start + msecs_to_jiffies(broker ? READ_ONCE(nnaccel_engine_wait_ms) :
						      READ_ONCE(nnaccel_engine_absent_ms));
	if (!time_before(now, end))
		return broker ? -ETIMEDOUT : -ENOTCONN;
	left = end - now;
	if (cmd->head.deadline_ns) {
		left = min(left, nnaccel_deadline_left(cmd->head.deadline_ns));
		if (!left)
			return -ETIME;
	}
	return left;
}

/*
 * Dequeues the first event for the broker. Returns the event's context with a reference, or NULL if
 * there is no event.
 */
static struct nnaccel_context *nnaccel_engine_dequeue(const struct file *broker,
						      struct nnaccel_engine_next *arg)
{
	struct nnaccel_engine *engine = broker->private_data;
	struct nnaccel_context *ctx;

	mutex_lock(&engine->lock);
	ctx = list_first_entry_or_null(&engine->events, struct nnaccel_context, event);
	if (engine->broker != broker) {
		ctx = ERR_PTR(-ENODEV);
	} else if (ctx) {
		list_del_init(&ctx->event);
		/* With a GONE event, the caller takes over the event's reference to the context. */
		arg->out_event = NNACCEL_ENGINE_GONE;
		if (ctx->stage == NNACCEL_STAGE_WANTED) {
			arg->out_event = NNACCEL_ENGINE_NEW;
			ctx->stage = NNACCEL_STAGE_OFFERED;
			ctx->offered = true;
			nnaccel_context_get(ctx);
			ctx->priority = NNACCEL_PRIORITY_MEDIUM;
			trace_nnaccel_engine_offer(ctx);
		} else if (ctx->stage == NNACCEL_STAGE_SERVED) {
			arg->out_event = NNACCEL_ENGINE_PRIORITY;
			nnaccel_context_get(ctx);
		}
		arg->out_priority = ctx->priority;
		ctx->told_priority = ctx->priority;
	}
	mutex_unlock(&engine->lock);
	return ctx;
}

/* Puts an event back at the head of the list of events, because reporting the event failed. */
static void nnaccel_engine_requeue(const struct file *broker, struct nnaccel_context *ctx,
				   u32 event)
{
	struct nnaccel_engine *engine = ctx->engine;

	mutex_lock(&engine->lock);
	if (engine->broker != broker) {
		/*
		 * Drop the event, because @broker has left: nnaccel_engine_leave() has made each
		 * OFFERED context an event for the next broker.
		 */
	} else if (event == NNACCEL_ENGINE_GONE) {
		nnaccel_context_get(ctx);
		list_add(&ctx->event, &engine->events);
	} else if (event == NNACCEL_ENGINE_PRIORITY) {
		if (ctx->stage == NNACCEL_STAGE_SERVED && list_empty(&ctx->event))
			list_add(&ctx->event, &engine->events);
	} else if (ctx->stage == NNACCEL_STAGE_OFFERED) {
		ctx->stage = NNACCEL_STAGE_WANTED;
		list_add(&ctx->event, &engine->events);
	}
	/* Wake another thread of the broker that found the list of events empty and sleeps. */
	wake_up(&engine->events_wait);
	mutex_unlock(&engine->lock);
}

static int nnaccel_engine_next_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct file *broker = ucmd->object;
	struct nnaccel_engine *engine = broker->private_data;
	struct nnaccel_engine_next *arg = ucmd->cmd;
	struct nnaccel_context *ctx;
	int ret;

	if (arg->flags & ~NNACCEL_ENGINE_NONBLOCK)
		return -EINVAL;
	while (!(ctx = nnaccel_engine_dequeue(broker, arg))) {
		if (arg->flags & NNACCEL_ENGINE_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(engine->events_wait,
					       !list_empty(&engine->events) ||
					       READ_ONCE(engine->broker) != broker);
		if (ret)
			return ret;
	}
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	arg->out_uid = from_kuid_munged(current_user_ns(), ctx->uid);
	arg->out_gid = from_kgid_munged(current_user_ns(), ctx->gid);
	arg->out_pid = pid_vnr(ctx->pid);
	arg->out_context = ctx->number;
	arg->__reserved = 0;
	ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
	if (ret)
		nnaccel_engine_requeue(broker, ctx, arg->out_event);
	nnaccel_context_put(ctx);
	return ret;
}

/*
 * Looks up a context of the broker by its number. Returns the context without a reference, or an
 * error pointer.
 */
static struct nnaccel_context *nnaccel_engine_find(const struct file *broker, u64 number)
{
	struct nnaccel_engine *engine = broker->private_data;
	struct nnaccel_context *ctx;

	lockdep_assert_held(&engine->lock);
	if (engine->broker != broker)
		return ERR_PTR(-ENODEV);
	list_for_each_entry(ctx, &engine->contexts, node)
		if (ctx->number == number)
			return ctx;
	return ERR_PTR(-ENOENT);
}

/* Moves an offered context to the stage @to. Returns the context with a reference. */
static struct nnaccel_context *nnaccel_engine_end_offer(const struct file *broker, u64 number,
							enum nnaccel_engine_stage to, int error)
{
	struct nnaccel_engine *engine = broker->private_data;
	struct nnaccel_context *ctx;

	mutex_lock(&engine->lock);
	ctx = nnaccel_engine_find(broker, number);
	if (!IS_ERR(ctx) && ctx->stage != NNACCEL_STAGE_OFFERED)
		ctx = ERR_PTR(ctx->stage == NNACCEL_STAGE_SERVED ? -EBUSY : -ENOENT);
	if (!IS_ERR(ctx)) {
		nnaccel_context_get(ctx);
		if (to == NNACCEL_STAGE_IDLE)
			nnaccel_engine_fail_waits(ctx, error);
		ctx->stage = to;
	}
	mutex_unlock(&engine->lock);
	return ctx;
}

/* Makes a context OFFERED again because no session could be created for it. */
static void nnaccel_engine_restore_offer(struct nnaccel_context *ctx)
{
	struct nnaccel_engine *engine = ctx->engine;

	mutex_lock(&engine->lock);
	if (ctx->stage == NNACCEL_STAGE_SERVED && ctx->offered)
		ctx->stage = NNACCEL_STAGE_OFFERED;
	else if (ctx->stage == NNACCEL_STAGE_SERVED)
		nnaccel_engine_notify(ctx, NNACCEL_STAGE_WANTED);
	mutex_unlock(&engine->lock);
}

/* Creates a session for a SERVED context and installs its file for the broker. */
static int nnaccel_engine_create_session(struct nnaccel_ucmd *ucmd, struct nnaccel_context *ctx)
{
	struct nnaccel_engine_session *arg = ucmd->cmd;
	struct file *file;
	int fd, ret;

	fd = get_unused_fd_flags(arg->flags & NNACCEL_SESSION_CLOEXEC ? O_CLOEXEC : 0);
	if (fd < 0)
		return fd;
	file = nnaccel_session_create(ctx);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	arg->out_fd = fd;
	ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
	if (ret) {
		fput(file);
		put_unused_fd(fd);
		return ret;
	}
	nnaccel_session_install(file);
	/* The hardware may have been removed since the broker's call began. */
	if (READ_ONCE(ctx->engine->broker) != ucmd->object)
		nnaccel_session_shut(ctx);
	fd_install(fd, file);
	return 0;
}

static int nnaccel_engine_session_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_engine_session *arg = ucmd->cmd;
	struct nnaccel_context *ctx;
	int ret;

	if (arg->flags & ~NNACCEL_SESSION_CLOEXEC || arg->__reserved)
		return -EINVAL;
	ctx = nnaccel_engine_end_offer(ucmd->object, arg->context, NNACCEL_STAGE_SERVED, 0);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	ret = nnaccel_engine_create_session(ucmd, ctx);
	if (ret)
		nnaccel_engine_restore_offer(ctx);
	nnaccel_context_put(ctx);
	return ret;
}

static int nnaccel_engine_refuse_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_engine_refuse *arg = ucmd->cmd;
	struct nnaccel_context *ctx;

	if (arg->error != EUSERS && arg->error != EAGAIN)
		return -EINVAL;
	ctx = nnaccel_engine_end_offer(ucmd->object, arg->context, NNACCEL_STAGE_IDLE,
				       -(int)arg->error);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	trace_nnaccel_engine_refuse(ctx, arg->error);
	nnaccel_context_put(ctx);
	return 0;
}

static bool nnaccel_cred_in_group(const struct cred *cred, kgid_t gid)
{
	const struct group_info *groups = cred->group_info;
	int i;

	if (gid_eq(cred->egid, gid))
		return true;
	for (i = 0; i < groups->ngroups; i++)
		if (gid_eq(groups->gid[i], gid))
			return true;
	return false;
}

static int nnaccel_engine_opener_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct file *broker = ucmd->object;
	struct nnaccel_engine *engine = broker->private_data;
	struct nnaccel_engine_opener *arg = ucmd->cmd;
	struct nnaccel_context *ctx;

	if (arg->flags)
		return -EINVAL;
	mutex_lock(&engine->lock);
	ctx = nnaccel_engine_find(broker, arg->context);
	if (!IS_ERR(ctx) && !ctx->offered)
		ctx = ERR_PTR(-ENOENT);
	if (!IS_ERR(ctx))
		nnaccel_context_get(ctx);
	mutex_unlock(&engine->lock);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	/*
	 * If the broker's user namespace does not map the group id, no context is a member of the
	 * group.
	 */
	arg->out_member = nnaccel_cred_in_group(ctx->cred,
						make_kgid(current_user_ns(), arg->gid));
	arg->out_lives = nnaccel_context_opener_lives(ctx);
	arg->out_pid = arg->out_lives ? pid_vnr(ctx->pid) : 0;
	nnaccel_context_put(ctx);
	return nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}

/*
 * Allows engine names of lower-case letters, digits and hyphens, without a hyphen as the first
 * character. All bytes after the name must be 0.
 */
static bool nnaccel_engine_name_is_valid(const char name[NNACCEL_MAX_NAME])
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return length && name[0] != '-' && !memchr_inv(name + length, 0, NNACCEL_MAX_NAME - length);
}

/*
 * Allows printable ASCII. At least one byte must follow the text, and all bytes after the text must
 * be 0.
 */
static bool nnaccel_engine_text_is_valid(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size - 1 && isascii(text[length]) && isprint(text[length]))
		length++;
	return !memchr_inv(text + length, 0, size - length);
}

/**
 * nnaccel_engine_take() - Assigns a broker to an engine, unless the engine has one
 * @engine: the engine
 * @arg: what the broker says about the engine
 * @broker: the broker's file
 *
 * Return: 0 or -EBUSY.
 */
int nnaccel_engine_take(struct nnaccel_engine *engine, const struct nnaccel_engine_register *arg,
			const struct file *broker)
{
	struct nnaccel_context *ctx;
	int ret = 0;

	mutex_lock(&engine->lock);
	if (engine->broker) {
		ret = -EBUSY;
	} else {
		WRITE_ONCE(engine->broker, broker);
		WRITE_ONCE(engine->device_pools, arg->flags & NNACCEL_ENGINE_DEVICE_POOLS);
		memcpy(engine->name, arg->name, sizeof(engine->name));
		memcpy(engine->version, arg->version, sizeof(engine->version));
		engine->type = arg->type;
		list_for_each_entry(ctx, &engine->contexts, node)
			wake_up_all(&ctx->changes_wait);
	}
	mutex_unlock(&engine->lock);
	return ret;
}

/**
 * nnaccel_engine_leave() - Removes an engine's broker; its open offers go to the next broker
 * @engine: the engine
 */
void nnaccel_engine_leave(struct nnaccel_engine *engine)
{
	struct nnaccel_context *ctx, *next;

	mutex_lock(&engine->lock);
	WRITE_ONCE(engine->broker, NULL);
	wake_up_all(&engine->events_wait);
	list_for_each_entry_safe(ctx, next, &engine->events, event) {
		if (ctx->stage == NNACCEL_STAGE_WANTED)
			continue;
		list_del_init(&ctx->event);
		if (ctx->stage == NNACCEL_STAGE_GONE)
			nnaccel_context_put(ctx);
	}
	list_for_each_entry(ctx, &engine->contexts, node) {
		ctx->offered = false;
		if (ctx->stage == NNACCEL_STAGE_OFFERED)
			nnaccel_engine_notify(ctx, NNACCEL_STAGE_WANTED);
		wake_up_all(&ctx->changes_wait);
	}
	mutex_unlock(&engine->lock);
}

static int nnaccel_engine_register_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_engine_register *arg = ucmd->cmd;
	struct file *file = ucmd->object;
	struct nnaccel_engine *engine;
	int ret;

	if (arg->flags & ~NNACCEL_ENGINE_DEVICE_POOLS || arg->type > NNACCEL_DEVICE_ACCELERATOR)
		return -EINVAL;
	/* The last byte of the name must be 0, so that the check does not read beyond the name. */
	if (arg->name[NNACCEL_MAX_NAME - 1] || !nnaccel_engine_name_is_valid(arg->name) ||
	    !nnaccel_engine_text_is_valid(arg->version, sizeof(arg->version)) ||
	    !nnaccel_engine_text_is_valid(arg->bus, sizeof(arg->bus)) ||
	    !nnaccel_engine_text_is_valid(arg->hardware, sizeof(arg->hardware)) ||
	    !arg->bus[0] != !arg->hardware[0])
		return -EINVAL;
	engine = nnaccel_device_register(arg, file);
	if (IS_ERR(engine))
		return PTR_ERR(engine);
	arg->out_device = engine->number;
	ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
	/* If two threads register an engine on one file, the second registration is undone. */
	if (!ret && cmpxchg_release(&file->private_data, NULL, engine))
		ret = -EEXIST;
	if (ret)
		nnaccel_device_leave(engine, file, NULL);
	return ret;
}

static int nnaccel_engine_open(struct inode *inode, struct file *file)
{
	/*
	 * The misc device core has set private_data; the reset to NULL means that no engine is
	 * registered on the file.
	 */
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

static int nnaccel_engine_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		nnaccel_device_leave(file->private_data, file, NULL);
	return 0;
}

static __poll_t nnaccel_engine_poll(struct file *file, poll_table *wait)
{
	/* Pairs with the cmpxchg_release() of nnaccel_engine_register_ioctl(). */
	struct nnaccel_engine *engine = smp_load_acquire(&file->private_data);

	if (!engine)
		return EPOLLERR;
	poll_wait(file, &engine->events_wait, wait);
	if (READ_ONCE(engine->broker) != file)
		return EPOLLHUP | EPOLLERR;
	return list_empty(&engine->events) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static const char *const nnaccel_stage_names[] = {
	[NNACCEL_STAGE_IDLE] = "idle", [NNACCEL_STAGE_WANTED] = "wanted",
	[NNACCEL_STAGE_OFFERED] = "offered", [NNACCEL_STAGE_SERVED] = "served",
	[NNACCEL_STAGE_GONE] = "gone",
};

/**
 * nnaccel_engine_show() - Prints a line for each context
 * @m: the output
 *
 * The values of a context are read without locks, so they may belong to slightly different times.
 */
void nnaccel_engine_show(struct seq_file *m)
{
	struct nnaccel_context *ctx = NULL;

	seq_puts(m, "context uid pid stage pools models commands pool-bytes import-bytes executions engine-ns device\n");
	while ((ctx = nnaccel_engine_next_context(ctx)))
		seq_printf(m, "%llu %u %d %s %u %u %u %llu %llu %llu %llu %u\n", ctx->number,
			   from_kuid_munged(seq_user_ns(m), ctx->uid), pid_vnr(ctx->pid),
			   nnaccel_stage_names[READ_ONCE(ctx->stage)],
			   READ_ONCE(ctx->num_objects[NNACCEL_OBJECT_POOL]),
			   READ_ONCE(ctx->num_objects[NNACCEL_OBJECT_MODEL]),
			   READ_ONCE(ctx->num_commands), nnaccel_account_bytes(ctx->account),
			   READ_ONCE(ctx->import_bytes), READ_ONCE(ctx->executions),
			   READ_ONCE(ctx->engine_ns), ctx->engine->number);
}

/* Returns the context with the lowest number above @number, with a reference, or NULL. */
static struct nnaccel_context *nnaccel_engine_find_next(struct nnaccel_engine *engine, u64 number)
{
	struct nnaccel_context *next, *found = NULL;

	mutex_lock(&engine->lock);
	list_for_each_entry(next, &engine->contexts, node) {
		if (next->number <= number || (found && next->number > found->number))
			continue;
		found = next;
	}
	if (found)
		nnaccel_context_get(found);
	mutex_unlock(&engine->lock);
	return found;
}

/**
 * nnaccel_engine_end_sessions() - Ends the sessions of an engine that has lost its hardware
 * @engine: the engine, which has no broker any more
 */
void nnaccel_engine_end_sessions(struct nnaccel_engine *engine)
{
	struct nnaccel_context *ctx;
	u64 number = 0;

	while ((ctx = nnaccel_engine_find_next(engine, number))) {
		nnaccel_session_shut(ctx);
		number = ctx->number;
		nnaccel_context_put(ctx);
	}
}

/**
 * nnaccel_engine_next_context() - Iterates over the open contexts of all engines
 * @ctx: the previous context, whose reference is dropped; NULL to begin
 *
 * Returns contexts in the order of their numbers. A caller that stops iterating before NULL is
 * returned must put the last returned context.
 *
 * Return: the next context with a reference, or NULL.
 */
struct nnaccel_context *nnaccel_engine_next_context(struct nnaccel_context *ctx)
{
	struct nnaccel_context *next, *found = NULL;
	u64 number = ctx ? ctx->number : 0;

	for (unsigned int i = 0; i < NNACCEL_MAX_DEVICES; i++) {
		struct nnaccel_engine *engine = nnaccel_device_engine(i);

		next = engine ? nnaccel_engine_find_next(engine, number) : NULL;
		if (next && found && next->number > found->number)
			swap(next, found);
		if (next) {
			if (found)
				nnaccel_context_put(found);
			found = next;
		}
	}
	if (ctx)
		nnaccel_context_put(ctx);
	return found;
}

#define NNACCEL_OP(_nr, _name, _last)	NNACCEL_IOCTL_OP(ENGINE_NEXT, _nr, _name, _last)

static const struct nnaccel_ioctl_op nnaccel_engine_ops[] = {
	NNACCEL_OP(ENGINE_NEXT, engine_next, out_context),
	NNACCEL_OP(ENGINE_SESSION, engine_session, __reserved),
	NNACCEL_OP(ENGINE_REFUSE, engine_refuse, context),
	NNACCEL_OP(ENGINE_REGISTER, engine_register, hardware),
	NNACCEL_OP(ENGINE_OPENER, engine_opener, out_pid),
};

static long nnaccel_engine_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	/* Pairs with the cmpxchg_release() of nnaccel_engine_register_ioctl(). */
	const struct nnaccel_engine *engine = smp_load_acquire(&file->private_data);

	if (!engine && cmd != NNACCEL_ENGINE_REGISTER)
		return -ENOTCONN;
	if (engine && cmd == NNACCEL_ENGINE_REGISTER)
		return -EEXIST;
	return nnaccel_ioctl(nnaccel_engine_ops, ARRAY_SIZE(nnaccel_engine_ops), file, cmd, arg);
}

const struct file_operations nnaccel_engine_fops = {
	.owner = THIS_MODULE,
	.open = nnaccel_engine_open,
	.release = nnaccel_engine_release,
	.unlocked_ioctl = nnaccel_engine_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = nnaccel_engine_poll,
};
