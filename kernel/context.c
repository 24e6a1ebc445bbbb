// SPDX-License-Identifier: GPL-2.0-only
/* nnaccel: contexts. A context is one open file of a device. */

#include <linux/cred.h>
#include <linux/device.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "account.h"
#include "burst.h"
#include "command.h"
#include "engine.h"
#include "model.h"
#include "session.h"
#include "submit.h"
#include "trace.h"

static atomic64_t nnaccel_last_number;

/**
 * nnaccel_context_get() - Takes a reference to a context
 * @ctx: the context
 */
void nnaccel_context_get(struct nnaccel_context *ctx)
{
	kref_get(&ctx->refs);
}

static void nnaccel_context_free(struct kref *refs)
{
	struct nnaccel_context *ctx = container_of(refs, struct nnaccel_context, refs);

	nnaccel_access_exit(ctx);
	nnaccel_burst_drop_doorbell(ctx);
	nnaccel_account_put(ctx->account);
	put_cred(ctx->cred);
	put_pid(ctx->pid);
	mmdrop(ctx->mm);
	mutex_destroy(&ctx->lock);
	kfree(ctx);
	nnaccel_count(NNACCEL_CONTEXTS_HELD, -1);
}

/**
 * nnaccel_context_put() - Drops a reference to a context
 * @ctx: the context
 */
void nnaccel_context_put(struct nnaccel_context *ctx)
{
	kref_put(&ctx->refs, nnaccel_context_free);
}

/**
 * nnaccel_context_opener_lives() - Checks whether the process that opened a context still lives
 * @ctx: the context
 *
 * The process that opened the context counts as alive while a thread of the process has the address
 * space of the open(). After execve() a process has another address space. The context pins its
 * address space, so another address space cannot have the same struct mm_struct.
 *
 * Return: true if the process that opened the context lives and has not called execve().
 */
bool nnaccel_context_opener_lives(const struct nnaccel_context *ctx)
{
	struct task_struct *process, *thread;
	bool lives = false;

	rcu_read_lock();
	process = pid_task(ctx->pid, PIDTYPE_TGID);
	if (process) {
		for_each_thread(process, thread) {
			task_lock(thread);
			lives = thread->mm == ctx->mm;
			task_unlock(thread);
			if (lives)
				break;
		}
	}
	rcu_read_unlock();
	return lives;
}

static int nnaccel_context_open(struct inode *inode, struct file *file)
{
	struct nnaccel_engine *engine = nnaccel_device_open(inode);
	struct nnaccel_context *ctx;
	int ret;

	if (!engine)
		return -ENXIO;
	if (!current->mm)
		return -EACCES;
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	ctx->account = nnaccel_account_open(&ctx->uid);
	if (IS_ERR(ctx->account)) {
		ret = PTR_ERR(ctx->account);
		kfree(ctx);
		return ret;
	}

	kref_init(&ctx->refs);
	ctx->engine = engine;
	init_waitqueue_head(&ctx->changes_wait);
	init_waitqueue_head(&ctx->answers_wait);
	mutex_init(&ctx->lock);
	xa_init_flags(&ctx->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&ctx->bursts);
	INIT_LIST_HEAD(&ctx->commands);
	INIT_LIST_HEAD(&ctx->dead);
	INIT_LIST_HEAD(&ctx->event);
	INIT_DELAYED_WORK(&ctx->leave, nnaccel_uring_poll);
	ctx->number = atomic64_inc_return(&nnaccel_last_number);
	ctx->gid = current_egid();
	ctx->cred = get_current_cred();
	ctx->pid = get_pid(task_tgid(current));
	ctx->mm = current->mm;
	mmgrab(ctx->mm);

	file->private_data = ctx;
	nnaccel_count(NNACCEL_CONTEXTS, 1);
	nnaccel_count(NNACCEL_CONTEXTS_HELD, 1);
	trace_nnaccel_context_open(ctx);
	nnaccel_engine_add(ctx);
	return nonseekable_open(inode, file);
}

/*
 * Each io_uring command has a reference to the context's file, so the file's release waits for all
 * io_uring commands. Before Linux 6.7 only nnaccel_context_flush() cancels io_uring commands when
 * the process ends.
 */
static int nnaccel_context_flush(struct file *file, fl_owner_t id)
{
	const struct nnaccel_cancel all = { .flags = NNACCEL_CANCEL_ANY };
	struct nnaccel_context *ctx = file->private_data;

	/*
	 * Each thread may have its own fd table, so the end of one table does not mean that the
	 * process ends.
	 */
	if (current->flags & PF_EXITING &&
	    (!atomic_read(&ctx->mm->mm_users) ||
	     (task_tgid(current) == ctx->pid && !atomic_read(&current->signal->live))))
		nnaccel_uring_cancel_all(ctx, &all);
	return 0;
}

/*
 * No ioctl runs during the release of a file, because each running ioctl has a reference to the
 * file. At the release of a context's file, the session, open bursts, and commands without a
 * waiting caller may still point to the context.
 */
static int nnaccel_context_release(struct inode *inode, struct file *file)
{
	struct nnaccel_context *ctx = file->private_data;

	/*
	 * No io_uring execution can begin during the release of a file, because each execution
	 * holds the file.
	 */
	cancel_delayed_work_sync(&ctx->leave);
	mutex_lock(&ctx->lock);
	WRITE_ONCE(ctx->closed, true);
	nnaccel_command_fail_all(ctx, -ECANCELED);
	nnaccel_burst_kill_all(ctx, false);
	if (ctx->session) {
		nnaccel_grant_revoke_fds(ctx->session);
		wake_up_all(&ctx->session->wait);
	}
	nnaccel_unlock_commands(ctx);

	nnaccel_object_destroy_all(ctx);
	nnaccel_engine_remove(ctx);
	nnaccel_account_close(ctx->account);
	nnaccel_count(NNACCEL_CONTEXTS, -1);
	trace_nnaccel_context_close(ctx);
	nnaccel_context_put(ctx);
	return 0;
}

static __poll_t nnaccel_context_poll(struct file *file, poll_table *wait)
{
	struct nnaccel_context *ctx = file->private_data;

	poll_wait(file, &ctx->answers_wait, wait);
	return READ_ONCE(ctx->num_answers) ? EPOLLIN | EPOLLRDNORM : 0;
}

static void nnaccel_context_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct nnaccel_context *ctx = file->private_data;
	u64 allocated = nnaccel_account_bytes(ctx->account), burst_executions, device_ns;

	/*
	 * Printing with ctx->lock held is allowed, because the seq_file already has its buffer and
	 * so allocates no memory.
	 */
	mutex_lock(&ctx->lock);
	nnaccel_burst_add_up(ctx, &burst_executions, &device_ns);
	/* Tools that monitor GPUs read only the fdinfo keys of drm-usage-stats.rst. */
	seq_puts(m, "drm-driver:\tnnaccel\n");
	seq_printf(m, "drm-client-id:\t%llu\n", ctx->number);
	seq_printf(m, "drm-total-memory:\t%llu KiB\n", (allocated + ctx->import_bytes) >> 10);
	seq_printf(m, "drm-shared-memory:\t%llu KiB\n", ctx->import_bytes >> 10);
	seq_printf(m, "drm-resident-memory:\t%llu KiB\n", allocated >> 10);
	seq_printf(m, "drm-engine-nn:\t%llu ns\n", device_ns);

	seq_printf(m, "nnaccel-client-id:\t%llu\n", ctx->number);
	seq_printf(m, "nnaccel-device:\t%s\n", dev_name(ctx->engine->dev));
	seq_printf(m, "nnaccel-memory-alloc:\t%llu KiB\n", allocated >> 10);
	seq_printf(m, "nnaccel-memory-import:\t%llu KiB\n", ctx->import_bytes >> 10);
	seq_printf(m, "nnaccel-pools:\t%u\n", ctx->num_objects[NNACCEL_OBJECT_POOL]);
	seq_printf(m, "nnaccel-models:\t%u\n", ctx->num_objects[NNACCEL_OBJECT_MODEL]);
	seq_printf(m, "nnaccel-buffers:\t%u\n", ctx->num_objects[NNACCEL_OBJECT_BUFFER]);
	seq_printf(m, "nnaccel-copied-in:\t%llu B\n", ctx->copied_in);
	seq_printf(m, "nnaccel-copied-out:\t%llu B\n", ctx->copied_out);
	seq_printf(m, "nnaccel-bursts:\t%u\n", ctx->num_objects[NNACCEL_OBJECT_BURST]);
	seq_printf(m, "nnaccel-commands:\t%u\n", ctx->num_commands);
	seq_printf(m, "nnaccel-executions:\t%llu\n", ctx->executions);
	seq_printf(m, "nnaccel-burst-executions:\t%llu\n", burst_executions);
	seq_printf(m, "nnaccel-engine-time:\t%llu ns\n", ctx->engine_ns);
	mutex_unlock(&ctx->lock);
	nnaccel_model_show_memory(ctx, m);
}

static int nnaccel_info_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_info *cmd = ucmd->cmd;

	if (cmd->flags & ~NNACCEL_INFO_WANT || cmd->__reserved)
		return -EINVAL;
	if (cmd->flags & NNACCEL_INFO_WANT)
		nnaccel_engine_want_ahead(ctx);
	cmd->abi = NNACCEL_ABI_VERSION;
	cmd->features = 0;
	cmd->engine = nnaccel_engine_get_state(ctx);
	cmd->max_pools = READ_ONCE(nnaccel_max_pools);
	cmd->max_models = READ_ONCE(nnaccel_max_models);
	cmd->max_bursts = READ_ONCE(nnaccel_max_bursts);
	cmd->max_buffers = READ_ONCE(nnaccel_max_buffers);
	cmd->max_commands = READ_ONCE(nnaccel_max_commands);
	cmd->max_pool_bytes = READ_ONCE(nnaccel_max_pool_bytes);
	cmd->max_context_bytes = READ_ONCE(nnaccel_max_context_bytes);
	cmd->max_user_bytes = READ_ONCE(nnaccel_max_user_bytes);
	cmd->pool_bytes = nnaccel_account_bytes(ctx->account);
	mutex_lock(&ctx->lock);
	cmd->import_bytes = ctx->import_bytes;
	cmd->executions = ctx->executions;
	cmd->engine_ns = ctx->engine_ns;
	cmd->bursts = ctx->num_objects[NNACCEL_OBJECT_BURST];
	cmd->buffers = ctx->num_objects[NNACCEL_OBJECT_BUFFER];
	mutex_unlock(&ctx->lock);
	cmd->device = ctx->engine->number;
	cmd->engine_wait_ms = READ_ONCE(nnaccel_engine_wait_ms);
	mutex_lock(&ctx->engine->lock);
	memcpy(cmd->name, ctx->engine->name, sizeof(cmd->name));
	mutex_unlock(&ctx->engine->lock);
	return nnaccel_ucmd_respond(ucmd, sizeof(*cmd));
}

#define NNACCEL_OP(_nr, _name, _last)	NNACCEL_IOCTL_OP(INFO, _nr, _name, _last)

static const struct nnaccel_ioctl_op nnaccel_context_ops[] = {
	NNACCEL_OP(INFO, info, engine_ns),
	NNACCEL_OP(DESTROY, destroy, id),
	NNACCEL_OP(POOL_ALLOC, pool_alloc, __reserved),
	NNACCEL_OP(POOL_IMPORT, pool_import, planes),
	NNACCEL_OP(POOL_EXPORT, pool_export, out_fd),
	NNACCEL_OP(CANCEL, cancel, __reserved),
	NNACCEL_OP(SUBMIT, submit, duration_ns),
	NNACCEL_OP(WAIT, wait, __reserved),
	NNACCEL_OP(SYNC_FILE, sync_file, out_fd),
};

static long nnaccel_context_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct nnaccel_context *ctx = file->private_data;

	if (ctx->mm != current->mm)
		return -EACCES;
	return nnaccel_ioctl(nnaccel_context_ops, ARRAY_SIZE(nnaccel_context_ops), ctx, cmd, arg);
}

const struct file_operations nnaccel_context_fops = {
	.owner = THIS_MODULE,
	.open = nnaccel_context_open,
	.flush = nnaccel_context_flush,
	.release = nnaccel_context_release,
	.poll = nnaccel_context_poll,
	.uring_cmd = nnaccel_uring_cmd,
	.unlocked_ioctl = nnaccel_context_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = nnaccel_context_show_fdinfo,
};
