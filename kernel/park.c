// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: calls that a signal interrupts while they wait for the engine. The command is parked in
 * its context under a cookie, which is written into the caller's structure. The call is begun again
 * after the signal, with the same arguments, and takes its command back by the cookie: it asks the
 * engine once, and a caller can be stopped, frozen and traced.
 *
 * A call that does not come back (its handler jumped away, its thread ended) leaves its command
 * parked. It is cancelled when the context is closed; or when another is parked and its thread is
 * gone, or it is the oldest of as many as a context may have commands.
 */

#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>

#include "nnaccel_private.h"

/**
 * struct nnaccel_park - An interrupted call
 * @node: ctx->lock: in the context's list
 * @cmd: its command, counted
 * @cookie: names it
 * @ioctl_num: which ioctl it is
 * @thread: whose
 * @arg: the module's copy of its structure
 */
struct nnaccel_park {
	struct list_head node;
	struct nnaccel_command *cmd;
	u64 cookie;
	unsigned int ioctl_num;
	struct pid *thread;
	u64 arg[NNACCEL_UCMD_SIZE / sizeof(u64)];
};

static s64 nnaccel_time_offset(void)
{
#ifdef CONFIG_TIME_NS
	return timespec64_to_ns(&current->nsproxy->time_ns->offsets.monotonic);
#else
	return 0;
#endif
}

/**
 * nnaccel_time_from_user() - A time of the caller's CLOCK_MONOTONIC
 * @ns: as its time namespace has it, 0: none
 *
 * Return: as the module has it; a time before the machine's start is 1, which is past.
 */
u64 nnaccel_time_from_user(u64 ns)
{
	s64 offset = nnaccel_time_offset();

	if (!ns || !offset)
		return ns;
	if (offset > 0)
		return ns > offset ? ns - offset : 1;
	return ns > U64_MAX + offset ? U64_MAX : ns - offset;
}

/**
 * nnaccel_time_to_user() - The inverse of nnaccel_time_from_user()
 * @ns: a time of CLOCK_MONOTONIC as the module has it, 0: none
 *
 * Return: as the caller's time namespace has it.
 */
u64 nnaccel_time_to_user(u64 ns)
{
	s64 offset = nnaccel_time_offset();

	if (!ns || !offset)
		return ns;
	if (offset < 0)
		return ns > -offset ? ns + offset : 1;
	return ns > U64_MAX - offset ? U64_MAX : ns + offset;
}

static void nnaccel_park_free(struct nnaccel_park *park)
{
	put_pid(park->thread);
	kfree(park);
}

static void nnaccel_park_cancel(struct list_head *dead)
{
	struct nnaccel_park *park, *next;

	list_for_each_entry_safe(park, next, dead, node) {
		nnaccel_command_cancel(park->cmd);
		nnaccel_command_put(park->cmd);
		nnaccel_park_free(park);
	}
}

static bool nnaccel_park_is_left(const struct nnaccel_park *park)
{
	bool left;

	rcu_read_lock();
	left = !pid_task(park->thread, PIDTYPE_PID);
	rcu_read_unlock();
	return left;
}

/* Takes out of the list what does not come back, and the oldest where there is no room. */
static void nnaccel_park_make_room(struct nnaccel_context *ctx, struct list_head *dead)
	__must_hold(&ctx->lock)
{
	u32 max = READ_ONCE(nnaccel_max_commands);
	struct nnaccel_park *park, *next;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(park, next, &ctx->parked, node) {
		if (ctx->num_parked < max && !nnaccel_park_is_left(park))
			continue;
		list_move_tail(&park->node, dead);
		ctx->num_parked--;
	}
}

/**
 * nnaccel_park() - A signal interrupts a call: keep its command until it is begun again
 * @ucmd: the ioctl, which can be interrupted
 * @cmd: its command; a count is taken
 *
 * Return: 0, -ENOMEM or -EFAULT.
 */
int nnaccel_park(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = cmd->ctx;
	struct nnaccel_park *park;
	LIST_HEAD(dead);

	park = kmalloc(sizeof(*park), GFP_KERNEL_ACCOUNT);
	if (!park)
		return -ENOMEM;
	mutex_lock(&ctx->lock);
	park->cookie = ++ctx->last_park;
	mutex_unlock(&ctx->lock);
	if (put_user(park->cookie, ucmd->resume)) {
		kfree(park);
		return -EFAULT;
	}
	park->cmd = cmd;
	park->ioctl_num = ucmd->ioctl_num;
	park->thread = get_pid(task_pid(current));
	memcpy(park->arg, ucmd->cmd, sizeof(park->arg));
	kref_get(&cmd->refs);

	mutex_lock(&ctx->lock);
	nnaccel_park_make_room(ctx, &dead);
	list_add_tail(&park->node, &ctx->parked);
	ctx->num_parked++;
	mutex_unlock(&ctx->lock);
	nnaccel_park_cancel(&dead);
	return 0;
}

/**
 * nnaccel_resume() - A call begins with a cookie: it was interrupted
 * @ucmd: the ioctl; gets the command, and the copy of its structure as it was at first
 * @cookie: the cookie
 *
 * Return: 0 or -ECANCELED: there is no such call.
 */
int nnaccel_resume(struct nnaccel_ucmd *ucmd, u64 cookie)
{
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_park *park, *found = NULL;

	mutex_lock(&ctx->lock);
	list_for_each_entry(park, &ctx->parked, node) {
		if (park->cookie != cookie || park->ioctl_num != ucmd->ioctl_num)
			continue;
		found = park;
		list_del(&park->node);
		ctx->num_parked--;
		break;
	}
	mutex_unlock(&ctx->lock);
	if (!found)
		return -ECANCELED;
	memcpy(ucmd->cmd, found->arg, sizeof(found->arg));
	ucmd->resumed = found->cmd;
	nnaccel_park_free(found);
	return 0;
}

/**
 * nnaccel_park_cancel_all() - The context is closed: none of its calls comes back
 * @ctx: the context
 */
void nnaccel_park_cancel_all(struct nnaccel_context *ctx)
{
	LIST_HEAD(dead);

	mutex_lock(&ctx->lock);
	list_splice_init(&ctx->parked, &dead);
	ctx->num_parked = 0;
	mutex_unlock(&ctx->lock);
	nnaccel_park_cancel(&dead);
}
