// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: fenced executions. Their end is a fence, which leaves as a sync_file and in no other
 * way: it waits for user space, and only who asked for it is to depend on it.
 */

#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>

#include "nnaccel_private.h"
#include "trace.h"

/**
 * struct nnaccel_fence - The end of an execution
 * @base: the fence; each has a context of its own, since executions overtake each other
 * @lock: the fence's
 * @rcu: frees it
 * @context: number of the context that it belongs to
 * @timeline: how the kernel shows it
 * @status: enum nnaccel_status; this and what follows is written before the fence signals
 * @error: errno, 0: answered
 * @device_ns: as NNACCEL_FENCE_INFO tells them
 * @launched_ns: likewise
 * @fenced_ns: likewise
 * @message: what is wrong, terminated, or NULL
 */
struct nnaccel_fence {
	struct dma_fence base;
	spinlock_t lock;	/* of the fence */
	struct rcu_head rcu;
	u64 context;
	char timeline[32];
	u32 status;
	u32 error;
	u64 device_ns;
	u64 launched_ns;
	u64 fenced_ns;
	char *message;
};

static struct nnaccel_fence *to_nnaccel_fence(struct dma_fence *base)
{
	return container_of(base, struct nnaccel_fence, base);
}

static const char *nnaccel_fence_driver_name(struct dma_fence *base)
{
	return "nnaccel";
}

static const char *nnaccel_fence_timeline_name(struct dma_fence *base)
{
	return to_nnaccel_fence(base)->timeline;
}

/* The module's exit waits for this to return. */
static void nnaccel_fence_free(struct rcu_head *rcu)
{
	struct nnaccel_fence *fence = container_of(rcu, struct nnaccel_fence, rcu);

	kfree(fence->message);
	kfree(fence);
	nnaccel_count(NNACCEL_FENCES, -1);
	module_put(THIS_MODULE);
}

static void nnaccel_fence_release(struct dma_fence *base)
{
	call_rcu(&to_nnaccel_fence(base)->rcu, nnaccel_fence_free);
}

static const struct dma_fence_ops nnaccel_fence_ops = {
	.get_driver_name = nnaccel_fence_driver_name,
	.get_timeline_name = nnaccel_fence_timeline_name,
	.release = nnaccel_fence_release,
};

static struct nnaccel_fence *nnaccel_fence_create(const struct nnaccel_context *ctx)
{
	struct nnaccel_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	fence->context = ctx->number;
	snprintf(fence->timeline, sizeof(fence->timeline), "nnaccel-%llu", ctx->number);
	dma_fence_init(&fence->base, &nnaccel_fence_ops, &fence->lock,
		       dma_fence_context_alloc(1), 1);
	nnaccel_count(NNACCEL_FENCES, 1);
	return fence;
}

static bool nnaccel_status_is_late(u32 status)
{
	return status == NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT ||
	       status == NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT;
}

/* The message goes from the command to the fence: nothing is allocated on the way to a signal. */
static void nnaccel_fence_fill(struct nnaccel_fence *fence, struct nnaccel_command *cmd, int error)
{
	const struct nnaccel_async *async = cmd->async;
	u64 now = ktime_get_ns();

	fence->error = -error;
	fence->device_ns = NNACCEL_TIME_NONE;
	fence->launched_ns = NNACCEL_TIME_NONE;
	fence->fenced_ns = NNACCEL_TIME_NONE;
	if (error) {
		fence->status = error == -ETIME ? NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT :
						  NNACCEL_STATUS_GENERAL_FAILURE;
		return;
	}
	fence->status = cmd->status;
	swap(fence->message, cmd->message);
	if (cmd->head.flags & NNACCEL_EXECUTE_MEASURE) {
		fence->device_ns = cmd->device_ns;
		fence->launched_ns = now - async->start_ns;
		fence->fenced_ns = now - async->ready_ns;
	}
}

/* The end of an execution: @async.data is its fence, counted. */
static void nnaccel_fence_end(struct nnaccel_command *cmd, int error)
{
	struct nnaccel_fence *fence = cmd->async->data;

	nnaccel_fence_fill(fence, cmd, error);
	if (error || fence->status != NNACCEL_STATUS_NONE)
		dma_fence_set_error(&fence->base, error ?: cmd->fence_error ?:
				    nnaccel_status_is_late(fence->status) ? -ETIME : -EIO);
	trace_nnaccel_fence_signal(cmd->ctx, cmd->async->tag, &fence->base, fence->status, error);
	dma_fence_signal(&fence->base);
	dma_fence_put(&fence->base);
}

/* The execution that a call describes, which waits for the fences that the call names. */
static struct nnaccel_command *nnaccel_fenced_create(struct nnaccel_context *ctx,
						     const struct nnaccel_execute_fenced *arg)
{
	struct nnaccel_execute execute = {};
	struct nnaccel_ucmd ucmd = {
		.ubuffer = u64_to_user_ptr(arg->execute),
		.cmd = &execute,
	};
	struct nnaccel_command *cmd;
	int ret;

	ret = nnaccel_copy_struct(&ucmd, sizeof(execute), NNACCEL_EXECUTE_MIN_SIZE);
	if (ret)
		return ERR_PTR(ret);
	/* Nobody waits for these. */
	if (execute.shapes || execute.message || execute.message_size)
		return ERR_PTR(-EINVAL);
	cmd = nnaccel_execute_create(ctx, &execute);
	if (IS_ERR(cmd))
		return cmd;
	ret = nnaccel_async_init(cmd, arg->fences, arg->num_fences, true);
	if (ret) {
		nnaccel_command_put(cmd);
		return ERR_PTR(ret);
	}
	cmd->async->duration_ns = arg->duration_ns;
	cmd->async->tag = arg->tag;
	cmd->async->end = nnaccel_fence_end;
	return cmd;
}

/**
 * nnaccel_execute_fenced_ioctl() - NNACCEL_EXECUTE_FENCED
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -E2BIG, -ENOENT, -ESTALE, -EACCES, -EXFULL, -EMFILE, -EDQUOT, -EFAULT,
 * -ENOMEM.
 */
int nnaccel_execute_fenced_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_execute_fenced *arg = ucmd->cmd;
	struct sync_file *sync_file;
	struct nnaccel_fence *fence;
	struct nnaccel_command *cmd;
	bool signalling;
	int fd, ret;

	if (arg->flags & ~NNACCEL_FENCE_CLOEXEC)
		return -EINVAL;
	cmd = nnaccel_fenced_create(ucmd->object, arg);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);

	fd = get_unused_fd_flags(arg->flags & NNACCEL_FENCE_CLOEXEC ? O_CLOEXEC : 0);
	if (fd < 0) {
		ret = fd;
		goto err_command;
	}
	ret = -ENOMEM;
	fence = nnaccel_fence_create(cmd->ctx);
	if (!fence)
		goto err_fd;
	sync_file = sync_file_create(&fence->base);
	/* The sync_file has its own count; this one becomes the execution's. */
	if (!sync_file)
		goto err_fence;
	cmd->async->data = &fence->base;
	ret = nnaccel_async_admit(cmd);
	if (ret)
		goto err_file;

	/* From here on the fence signals, and its count goes, with the execution's end. */
	trace_nnaccel_fence_create(cmd->ctx, arg->tag, &fence->base, NNACCEL_STATUS_NONE, 0);
	arg->out_fd = fd;
	ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
	if (ret) {
		nnaccel_async_cancel_unstarted(cmd);
		fput(sync_file->file);
		goto err_fd;
	}

	/* From here on others may wait for the fence: nothing on its way waits for them. */
	signalling = dma_fence_begin_signalling();
	fd_install(fd, sync_file->file);
	nnaccel_async_advance(cmd);
	dma_fence_end_signalling(signalling);
	nnaccel_command_put(cmd);
	return 0;

err_file:
	fput(sync_file->file);
err_fence:
	dma_fence_put(&fence->base);
err_fd:
	put_unused_fd(fd);
err_command:
	nnaccel_command_put(cmd);
	return ret;
}

static int nnaccel_fence_respond(struct nnaccel_ucmd *ucmd, const struct nnaccel_fence *fence)
{
	struct nnaccel_fence_info *arg = ucmd->cmd;
	int ret;

	/* Pairs with the signal, which is a full barrier. */
	smp_rmb();
	ret = nnaccel_write_message(fence->message, arg->message, arg->message_size);
	if (ret)
		return ret;
	arg->out_status = fence->status;
	arg->out_error = fence->error;
	arg->out_device_ns = fence->device_ns;
	arg->out_launched_ns = fence->launched_ns;
	arg->out_fenced_ns = fence->fenced_ns;
	return nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}

/**
 * nnaccel_fence_info_ioctl() - NNACCEL_FENCE_INFO
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -EBUSY, -EFAULT.
 */
int nnaccel_fence_info_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_fence_info *arg = ucmd->cmd;
	struct nnaccel_context *ctx = ucmd->object;
	struct dma_fence *base;
	int ret = -EINVAL;

	if (arg->flags || arg->__reserved || arg->__reserved2 ||
	    arg->message_size > NNACCEL_MAX_MESSAGE)
		return -EINVAL;
	base = sync_file_get_fence(arg->fd);
	if (!base)
		return -EINVAL;
	if (base->ops == &nnaccel_fence_ops && to_nnaccel_fence(base)->context == ctx->number)
		ret = dma_fence_get_status(base) ?
		      nnaccel_fence_respond(ucmd, to_nnaccel_fence(base)) : -EBUSY;
	dma_fence_put(base);
	return ret;
}
