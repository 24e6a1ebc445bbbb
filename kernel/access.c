// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: access of the CPU to dma-bufs. What drivers still do to one is waited for, and its
 * exporter told, before a worker reads or writes it; nothing of ours is put into its reservation.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>

#include "nnaccel_private.h"
#include "trace.h"

/**
 * struct nnaccel_fence_wait - A wait for one fence
 * @cb: in the fence's list
 * @wait: who waits
 * @done: it has signalled
 */
struct nnaccel_fence_wait {
	struct dma_fence_cb cb;
	wait_queue_head_t wait;
	bool done;
};

static void nnaccel_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct nnaccel_fence_wait *wait = container_of(cb, struct nnaccel_fence_wait, cb);

	WRITE_ONCE(wait->done, true);
	wake_up(&wait->wait);
}

/* dma_fence_wait() would end with any signal, or with none. */
static int nnaccel_fence_wait(struct dma_fence *fence, u64 deadline_ns)
{
	unsigned long timeout = MAX_SCHEDULE_TIMEOUT;
	struct nnaccel_fence_wait wait = {};
	long ret;

	init_waitqueue_head(&wait.wait);
	if (dma_fence_add_callback(fence, &wait.cb, nnaccel_fence_signalled))
		return 0;
	if (deadline_ns)
		timeout = nnaccel_deadline_left(deadline_ns, 0);
	ret = nnaccel_wait_event_timeout(wait.wait, READ_ONCE(wait.done), timeout);
	/* Without a callback to remove it was signalled after all, and the callback is over now. */
	if (!dma_fence_remove_callback(fence, &wait.cb))
		return 0;
	return ret ? -EINTR : -ETIME;
}

/**
 * nnaccel_access_get_fence() - What is to be waited for before the CPU may use a dma-buf
 * @dmabuf: the dma-buf
 * @write: it is to be written: those that read it count beside those that write it
 * @fence: out: a fence, counted, that signals with the last of them; NULL: there is none
 *
 * Return: 0 or -ENOMEM.
 */
int nnaccel_access_get_fence(struct dma_buf *dmabuf, bool write, struct dma_fence **fence)
{
	enum dma_resv_usage usage = dma_resv_usage_rw(write);

	*fence = NULL;
	if (dma_resv_test_signaled(dmabuf->resv, usage))
		return 0;
	return dma_resv_get_singleton(dmabuf->resv, usage, fence);
}

static int nnaccel_access_wait(struct dma_buf *dmabuf, bool write, u64 deadline_ns)
{
	struct dma_fence *fence;
	int ret;

	ret = nnaccel_access_get_fence(dmabuf, write, &fence);
	if (ret || !fence)
		return ret;
	ret = nnaccel_fence_wait(fence, deadline_ns);
	dma_fence_put(fence);
	return ret;
}

static enum dma_data_direction nnaccel_access_direction(u32 prot)
{
	switch (prot & (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)) {
	case NNACCEL_PROT_READ:
		return DMA_FROM_DEVICE;
	case NNACCEL_PROT_WRITE:
		return DMA_TO_DEVICE;
	default:
		return DMA_BIDIRECTIONAL;
	}
}

/**
 * nnaccel_access_begin() - The CPU is about to read or write a dma-buf
 * @dmabuf: the dma-buf
 * @prot: NNACCEL_PROT_*: what it will do
 * @deadline_ns: CLOCK_MONOTONIC time by which its fences must have signalled, 0: any
 *
 * Return: 0: to be ended by nnaccel_access_end(); -ETIME; -EINTR: killed; -ERESTARTSYS: a signal
 * ended a wait of the exporter's; -ENOMEM; -EIO: the exporter refused.
 */
int nnaccel_access_begin(struct dma_buf *dmabuf, u32 prot, u64 deadline_ns)
{
	int ret;

	ret = nnaccel_access_wait(dmabuf, prot & NNACCEL_PROT_WRITE, deadline_ns);
	if (ret)
		return ret;
	ret = dma_buf_begin_cpu_access(dmabuf, nnaccel_access_direction(prot));
	trace_nnaccel_access_begin(dmabuf, prot, ret);
	if (ret && ret != -ERESTARTSYS && ret != -EINTR && ret != -ENOMEM)
		return -EIO;
	return ret;
}

/**
 * nnaccel_access_end() - The CPU has read or written a dma-buf
 * @dmabuf: the dma-buf
 * @prot: as nnaccel_access_begin() had it
 *
 * Return: 0, or -EIO: the exporter refused; what was written may not have got there.
 */
int nnaccel_access_end(struct dma_buf *dmabuf, u32 prot)
{
	int ret = dma_buf_end_cpu_access(dmabuf, nnaccel_access_direction(prot));

	trace_nnaccel_access_end(dmabuf, prot, ret);
	return ret ? -EIO : 0;
}

/**
 * nnaccel_command_needs_access() - Is there more to nnaccel_command_begin_access() than a look?
 * @cmd: the command, built
 *
 * Return: true: its memory is another driver's, or there are fences on it.
 */
bool nnaccel_command_needs_access(const struct nnaccel_command *cmd)
{
	u32 i;

	for (i = 0; i < cmd->head.num_grants; i++) {
		struct dma_buf *dmabuf = cmd->pools[i]->dmabuf;
		bool write = cmd->grants[i].prot & NNACCEL_PROT_WRITE;

		if (dmabuf && (!nnaccel_dmabuf_is_ours(dmabuf) ||
			       !dma_resv_test_signaled(dmabuf->resv, dma_resv_usage_rw(write))))
			return true;
	}
	return false;
}

/**
 * nnaccel_command_begin_access() - Wait until a command's memory can be used
 * @cmd: the command, built and not queued yet
 *
 * A model's constants are begun when it is prepared; they must not change from then on, so its
 * executions need not look at them again.
 *
 * Return: 0, or what nnaccel_access_begin() returned; then nothing has begun.
 */
int nnaccel_command_begin_access(struct nnaccel_command *cmd)
{
	int ret = 0;

	while (cmd->num_accessed < cmd->head.num_grants) {
		struct dma_buf *dmabuf = cmd->pools[cmd->num_accessed]->dmabuf;

		if (dmabuf)
			ret = nnaccel_access_begin(dmabuf, cmd->grants[cmd->num_accessed].prot,
						   cmd->head.deadline_ns);
		if (ret) {
			nnaccel_command_end_access(cmd);
			break;
		}
		cmd->num_accessed++;
	}
	return ret;
}

/**
 * nnaccel_command_end_access() - A command's memory is used no longer
 * @cmd: the command; not in any list, or not queued yet
 *
 * Return: 0, or -EIO: an exporter refused.
 */
int nnaccel_command_end_access(struct nnaccel_command *cmd)
{
	int ret = 0;

	while (cmd->num_accessed) {
		u32 i = --cmd->num_accessed;

		if (cmd->pools[i]->dmabuf &&
		    nnaccel_access_end(cmd->pools[i]->dmabuf, cmd->grants[i].prot))
			ret = -EIO;
	}
	return ret;
}
