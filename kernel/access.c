// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: access of the CPU to dma-bufs. Before a worker accesses a dma-buf, the module waits for
 * the dma-buf's fences and notifies the exporter. After the access the module notifies the exporter
 * again. This module makes no fences, but it adds the fence that a worker commits to the memory of
 * the command.
 *
 * The module syncs its own memory under ctx->lock, when a command is queued and when the command is
 * finished. The sync of memory that this module allocated never waits for another driver. An
 * exporter of another driver may block for any time, on locks and on fences. A thread of the
 * context's own workqueue calls the exporter, without ctx->lock. A command counts towards
 * max_commands until the exporter's function has returned.
 *
 * If several commands use the same memory at a time, the CPU owns the memory from the start of the
 * first command to the end of the last command. If other commands use the memory when a command
 * begins or ends, no exporter is notified and nothing is synced, because a sync would destroy
 * outputs of the other commands. As an exception, the exporter is always notified when the first
 * command that writes begins.
 */

#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence-unwrap.h>
#include <linux/dma-resv.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/sched/signal.h>
#include <linux/wait_bit.h>

#include "command.h"
#include "submit.h"
#include "trace.h"

/* Maximum number of exporters that the threads of a context call at a time. */
#define NNACCEL_ACCESS_THREADS	16

/* Longest delay before an exporter that returned EINTR or EAGAIN is called again. */
#define NNACCEL_ACCESS_MAX_DELAY	(HZ / 10)

/**
 * struct nnaccel_access_queue - The threads of a context that call exporters
 * @wq: runs nnaccel_command.access and nnaccel_late_end.work
 * @free: destroys @wq, which its own threads cannot do
 */
struct nnaccel_access_queue {
	struct workqueue_struct *wq;
	struct work_struct free;
};

/**
 * struct nnaccel_late_end - Ends a CPU access again after the exporter returned EINTR or EAGAIN
 * @work: calls the exporter until no signal interrupts it
 * @refs: references of the caller and the work
 * @done: the exporter has returned
 * @dmabuf: the dma-buf, with a reference
 * @prot: NNACCEL_PROT_*
 * @counted: as in nnaccel_access_begin()
 * @ret: 0 or -EIO
 */
struct nnaccel_late_end {
	struct work_struct work;
	refcount_t refs;
	struct completion done;
	struct dma_buf *dmabuf;
	u32 prot;
	bool counted;
	int ret;
};

/**
 * struct nnaccel_fence_sleeper - A wait for one fence
 * @cb: entry in the fence's list
 * @wait: the waiting thread
 * @done: the fence has signalled
 */
struct nnaccel_fence_sleeper {
	struct dma_fence_cb cb;
	struct rcuwait wait;
	bool done;
};

static void nnaccel_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct nnaccel_fence_sleeper *wait = container_of(cb, struct nnaccel_fence_sleeper, cb);

	WRITE_ONCE(wait->done, true);
	rcuwait_wake_up(&wait->wait);
}

/* Waits like dma_fence_wait(), but lets the system suspend during the wait. */
static int nnaccel_fence_wait(struct dma_fence *fence)
{
	struct nnaccel_fence_sleeper wait = {};

	rcuwait_init(&wait.wait);
	if (dma_fence_add_callback(fence, &wait.cb, nnaccel_fence_signalled))
		return 0;
	rcuwait_wait_event(&wait.wait, READ_ONCE(wait.done), TASK_INTERRUPTIBLE | TASK_FREEZABLE);
	/* A callback that cannot be removed has run, because the fence has signalled. */
	if (!dma_fence_remove_callback(fence, &wait.cb))
		return 0;
	return -ERESTARTSYS;
}

/**
 * nnaccel_access_get_fence() - Returns the fence for which a CPU access to a dma-buf must wait
 * @dmabuf: the dma-buf
 * @write: the CPU writes, so the fence covers readers as well as writers
 * @fence: out: a fence with a reference, which signals when all of them have; NULL if none is
 *	pending
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

/**
 * nnaccel_access_wait() - Waits for the fences of a dma-buf
 * @dmabuf: the dma-buf
 * @write: as in nnaccel_access_get_fence()
 *
 * Return: 0, -ENOMEM, or -ERESTARTSYS if a signal came.
 */
int nnaccel_access_wait(struct dma_buf *dmabuf, bool write)
{
	struct dma_fence *fence;
	int ret;

	ret = nnaccel_access_get_fence(dmabuf, write, &fence);
	if (ret || !fence)
		return ret;
	ret = nnaccel_fence_wait(fence);
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

/*
 * Maps an error of an exporter to -EAGAIN (the caller must call the exporter again), -ENOMEM or
 * -EIO.
 */
static int nnaccel_access_error(int ret)
{
	switch (ret) {
	case 0:
	case -ENOMEM:
		return ret;
	case -EINTR:
	case -EAGAIN:
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

/*
 * Notifies the exporter of the begin or the end of an access. The function does not call
 * dma_buf_begin_cpu_access(), because that call also waits for fences that were added after
 * submission. A fence added after the submission of a command may wait for that command's end.
 */
static int nnaccel_exporter_call(struct dma_buf *dmabuf, u32 prot, bool begin)
{
	enum dma_data_direction dir = nnaccel_access_direction(prot);
	int ret = 0;

	if (!begin)
		ret = dma_buf_end_cpu_access(dmabuf, dir);
	else if (dmabuf->ops->begin_cpu_access)
		ret = dmabuf->ops->begin_cpu_access(dmabuf, dir);
	ret = nnaccel_access_error(ret);
	begin ? trace_nnaccel_access_begin(dmabuf, prot, ret) :
		trace_nnaccel_access_end(dmabuf, prot, ret);
	return ret;
}

/* ---- CPU users of other drivers' dma-bufs ---- */

/**
 * struct nnaccel_cpu_use - A dma-buf of another driver that CPUs read or write
 * @node: entry in nnaccel_cpu_uses
 * @dmabuf: the dma-buf; its users hold references
 * @refs: number of users and running calls; protected by nnaccel_cpu_uses_lock
 * @busy: bit 0 is the lock of the fields below, and is held while the exporter is
 *	called
 * @users: number of commands and copies that access the dma-buf
 * @reads: the exporter was notified of read access
 * @writes: the exporter was notified of write access
 * @error: error of the exporter if it refused the end of an access
 */
struct nnaccel_cpu_use {
	struct hlist_node node;
	struct dma_buf *dmabuf;
	unsigned int refs;
	unsigned long busy;
	unsigned int users;
	bool reads;
	bool writes;
	int error;
};

/*
 * nnaccel_cpu_uses_lock is the innermost lock, and no memory is allocated while
 * nnaccel_cpu_uses_lock is held.
 */
static DEFINE_MUTEX(nnaccel_cpu_uses_lock);
static DEFINE_HASHTABLE(nnaccel_cpu_uses, 6);

/*
 * Returns a dma-buf's entry and takes a reference to the entry; returns NULL if @begin is set and
 * memory runs out.
 */
static struct nnaccel_cpu_use *nnaccel_cpu_use_get(struct dma_buf *dmabuf, bool begin)
{
	struct nnaccel_cpu_use *use, *new = NULL;

retry:
	mutex_lock(&nnaccel_cpu_uses_lock);
	hash_for_each_possible(nnaccel_cpu_uses, use, node, (unsigned long)dmabuf)
		if (use->dmabuf == dmabuf)
			break;
	/* As long as a dma-buf has no entry, no counted user accesses the dma-buf. */
	if (!use && !new) {
		mutex_unlock(&nnaccel_cpu_uses_lock);
		new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT | (begin ? 0 : __GFP_NOFAIL));
		if (!new)
			return NULL;
		goto retry;
	}
	if (!use) {
		swap(use, new);
		use->dmabuf = dmabuf;
		hash_add(nnaccel_cpu_uses, &use->node, (unsigned long)dmabuf);
	}
	use->refs++;
	mutex_unlock(&nnaccel_cpu_uses_lock);
	kfree(new);
	return use;
}

static void nnaccel_cpu_use_put(struct nnaccel_cpu_use *use, unsigned int refs)
{
	mutex_lock(&nnaccel_cpu_uses_lock);
	use->refs -= refs;
	if (use->refs)
		use = NULL;
	else
		hash_del(&use->node);
	mutex_unlock(&nnaccel_cpu_uses_lock);
	kfree(use);
}

static int nnaccel_cpu_use_begin(struct nnaccel_cpu_use *use, u32 prot)
{
	bool write = prot & NNACCEL_PROT_WRITE;
	int ret = 0;

	/*
	 * Notify the exporter of the first write even during reads: its sync cannot destroy data,
	 * because readers have written nothing.
	 */
	if (write ? !use->writes : !use->users) {
		ret = nnaccel_exporter_call(use->dmabuf, prot, true);
		if (ret)
			return ret;
		*(write ? &use->writes : &use->reads) = true;
	}
	use->users++;
	return 0;
}

static int nnaccel_cpu_use_end(struct nnaccel_cpu_use *use)
{
	const u32 prots[] = { NNACCEL_PROT_READ | NNACCEL_PROT_WRITE, NNACCEL_PROT_READ };
	bool *told[] = { &use->writes, &use->reads };
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(told) && use->users == 1; i++) {
		ret = *told[i] ? nnaccel_exporter_call(use->dmabuf, prots[i], false) : 0;
		if (ret == -EAGAIN)
			return ret;
		use->error = use->error ?: ret;
		*told[i] = false;
	}
	ret = 0;
	if (!--use->users)
		swap(ret, use->error);
	return ret;
}

/*
 * Begins or ends an access to a dma-buf of another driver. If @counted is false, the function does
 * not call the exporter while a counted user accesses the dma-buf, except to begin the first write.
 * Returns 0 or an error as mapped by nnaccel_access_error().
 */
static int nnaccel_cpu_add(struct dma_buf *dmabuf, u32 prot, bool counted, bool begin)
{
	struct nnaccel_cpu_use *use = nnaccel_cpu_use_get(dmabuf, begin);
	bool write = prot & NNACCEL_PROT_WRITE;
	unsigned int refs = 1;
	int ret;

	if (!use)
		return -ENOMEM;
	ret = wait_on_bit_lock(&use->busy, 0, current->flags & PF_KTHREAD ? TASK_IDLE :
									   TASK_INTERRUPTIBLE);
	if (ret) {
		ret = -EAGAIN;
	} else {
		if (counted)
			ret = begin ? nnaccel_cpu_use_begin(use, prot) : nnaccel_cpu_use_end(use);
		else if (!use->users || (begin && write && !use->writes))
			ret = nnaccel_exporter_call(dmabuf, prot, begin);
		/*
		 * Set use->writes, so that the exporter is notified of the end of uncounted writes
		 * when the last counted user ends its access.
		 */
		if (!ret && use->users && write)
			use->writes = true;
		clear_and_wake_up_bit(0, &use->busy);
	}
	/* A counted user holds one more reference to the entry until the user's access ends. */
	if (counted && begin)
		refs -= !ret;
	else if (counted)
		refs += ret != -EAGAIN;
	nnaccel_cpu_use_put(use, refs);
	return ret;
}

/* Begins or ends an access to any dma-buf, without waiting for fences. */
static int nnaccel_access_once(struct dma_buf *dmabuf, u32 prot, bool counted, bool begin)
{
	if (!nnaccel_dmabuf_is_ours(dmabuf))
		return nnaccel_cpu_add(dmabuf, prot, counted, begin);
	if (!counted)
		return nnaccel_exporter_call(dmabuf, prot, begin);
	if (nnaccel_dmabuf_use(dmabuf, begin))
		begin ? trace_nnaccel_access_begin(dmabuf, prot, 0) :
			trace_nnaccel_access_end(dmabuf, prot, 0);
	return 0;
}

/* Returns whether an exporter of another driver must be notified of accesses to the pool. */
static bool nnaccel_access_is_foreign(const struct nnaccel_pool *pool)
{
	const struct dma_buf *dmabuf = pool->dmabuf;

	return dmabuf && !pool->device && !nnaccel_dmabuf_is_ours(dmabuf) &&
	       (dmabuf->ops->begin_cpu_access || dmabuf->ops->end_cpu_access);
}

/* ---- a context's threads ---- */

static void nnaccel_access_free(struct work_struct *work)
{
	struct nnaccel_access_queue *queue = container_of(work, struct nnaccel_access_queue, free);

	destroy_workqueue(queue->wq);
	kfree(queue);
	/* The module's exit function waits until nnaccel_access_free() has returned. */
	module_put(THIS_MODULE);
}

/**
 * nnaccel_access_init() - Makes the threads that call exporters for a context
 * @ctx: the context
 *
 * Return: 0 or -ENOMEM.
 */
int nnaccel_access_init(struct nnaccel_context *ctx)
{
	struct nnaccel_access_queue *queue;

	/* The acquire pairs with the cmpxchg() of ctx->access at the end of this function. */
	if (smp_load_acquire(&ctx->access))
		return 0;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue)
		return -ENOMEM;
	/*
	 * The workqueue has no rescuer: a rescuer would run work items one after another, and a
	 * blocked work item would delay all other work items.
	 */
	queue->wq = alloc_workqueue("nnaccel-%llu", WQ_UNBOUND, NNACCEL_ACCESS_THREADS,
				    ctx->number);
	if (!queue->wq) {
		kfree(queue);
		return -ENOMEM;
	}
	INIT_WORK(&queue->free, nnaccel_access_free);
	if (cmpxchg(&ctx->access, NULL, queue)) {
		destroy_workqueue(queue->wq);
		kfree(queue);
		return 0;
	}
	__module_get(THIS_MODULE);
	return 0;
}

/**
 * nnaccel_access_exit() - Reverts nnaccel_access_init()
 * @ctx: the context, which is being freed; the caller may be one of the threads
 */
void nnaccel_access_exit(struct nnaccel_context *ctx)
{
	if (ctx->access)
		queue_work(nnaccel_free_wq, &ctx->access->free);
}

/* ---- one dma-buf ---- */

/**
 * nnaccel_access_begin() - Begins an access of the CPU to a dma-buf, and waits until it is possible
 * @dmabuf: the dma-buf
 * @prot: NNACCEL_PROT_* of the access
 * @counted: nnaccel_access_end() will certainly be called. Later accesses may rely on the begin of
 *	this access
 *
 * Return: 0 if the caller must call nnaccel_access_end() later; or -ENOMEM, -ERESTARTSYS if a
 * signal came, -EIO if the exporter refused.
 */
int nnaccel_access_begin(struct dma_buf *dmabuf, u32 prot, bool counted)
{
	int ret;

	for (;;) {
		ret = nnaccel_access_wait(dmabuf, prot & NNACCEL_PROT_WRITE);
		if (ret)
			return ret;
		ret = nnaccel_access_once(dmabuf, prot, counted, true);
		if (ret != -EAGAIN)
			return ret;
		schedule_timeout_interruptible(1);
		if (signal_pending(current))
			return -ERESTARTSYS;
	}
}

static void nnaccel_late_end_put(struct nnaccel_late_end *end)
{
	if (refcount_dec_and_test(&end->refs))
		kfree(end);
}

static void nnaccel_access_end_work(struct work_struct *work)
{
	struct nnaccel_late_end *end = container_of(work, struct nnaccel_late_end, work);

	while ((end->ret = nnaccel_access_once(end->dmabuf, end->prot, end->counted, false)) ==
	       -EAGAIN)
		schedule_timeout_uninterruptible(1);
	dma_buf_put(end->dmabuf);
	complete(&end->done);
	nnaccel_late_end_put(end);
}

/**
 * nnaccel_access_end() - Ends an access of the CPU to a dma-buf
 * @ctx: the context of the access, after nnaccel_access_init()
 * @dmabuf: the dma-buf
 * @prot: NNACCEL_PROT_* of the access
 * @counted: as in nnaccel_access_begin()
 *
 * If a signal interrupts the exporter, a kernel thread calls the exporter again. A caller that is
 * killed does not wait for the kernel thread.
 *
 * Return: 0, -EINTR if the caller was killed, or -EIO if the exporter refused. After -EIO, data
 * that the CPU wrote to the dma-buf may be lost.
 */
int nnaccel_access_end(struct nnaccel_context *ctx, struct dma_buf *dmabuf, u32 prot,
		       bool counted)
{
	struct nnaccel_late_end *end;
	int ret = nnaccel_access_once(dmabuf, prot, counted, false);

	if (ret != -EAGAIN)
		return ret ? -EIO : 0;
	end = kzalloc(sizeof(*end), GFP_KERNEL | __GFP_NOFAIL);
	INIT_WORK(&end->work, nnaccel_access_end_work);
	refcount_set(&end->refs, 2);
	init_completion(&end->done);
	get_dma_buf(dmabuf);
	end->dmabuf = dmabuf;
	end->prot = prot;
	end->counted = counted;
	queue_work(ctx->access->wq, &end->work);
	ret = wait_for_completion_killable(&end->done) ? -EINTR : end->ret ? -EIO : 0;
	nnaccel_late_end_put(end);
	return ret;
}

/* ---- the dma-bufs of a command ---- */

/**
 * nnaccel_command_add_fence() - Adds a hardware fence to the memory of a command
 * @cmd: the command of a worker; the caller has a reference
 * @fence: the fence of the hardware
 *
 * Return: 0, -ENOMEM, or -ERESTARTSYS if a signal came, after which the caller may repeat the call.
 */
int nnaccel_command_add_fence(const struct nnaccel_command *cmd, struct dma_fence *fence)
{
	struct dma_fence_unwrap iter;
	unsigned int num_fences = 0;
	struct dma_fence *each;
	u32 i;

	dma_fence_unwrap_for_each(each, &iter, fence)
		num_fences++;
	for (i = 0; i < cmd->head.num_grants; i++) {
		bool write = cmd->grants[i].prot & NNACCEL_PROT_WRITE;
		struct dma_buf *dmabuf = cmd->pools[i]->dmabuf;
		int ret;

		if (!dmabuf || !num_fences)
			continue;
		if (dma_resv_lock_interruptible(dmabuf->resv, NULL))
			return -ERESTARTSYS;
		ret = dma_resv_reserve_fences(dmabuf->resv, num_fences);
		if (!ret)
			dma_fence_unwrap_for_each(each, &iter, fence)
				dma_resv_add_fence(dmabuf->resv, each, write ?
						   DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
		dma_resv_unlock(dmabuf->resv);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * nnaccel_command_sync_own() - Syncs the memory of a command that this module allocated
 * @cmd: the command; ctx->lock is held
 * @begin: sync for the CPU, not for devices
 *
 * A sync takes time only if a non-coherent device has mapped the memory.
 */
void nnaccel_command_sync_own(const struct nnaccel_command *cmd, bool begin)
{
	u32 i;

	lockdep_assert_held(&cmd->ctx->lock);
	for (i = 0; i < cmd->head.num_grants; i++) {
		struct dma_buf *dmabuf = cmd->pools[i]->dmabuf;

		if (dmabuf && !cmd->pools[i]->device && nnaccel_dmabuf_is_ours(dmabuf))
			nnaccel_access_once(dmabuf, cmd->grants[i].prot, true, begin);
	}
}

/*
 * Begins the accesses of a command to other drivers' dma-bufs that have not begun. Returns 0,
 * -EAGAIN if the caller must call nnaccel_command_begin_foreign() again, or another error.
 */
static int nnaccel_command_begin_foreign(struct nnaccel_command *cmd)
{
	int ret = 0;

	for (; cmd->num_accessed < cmd->head.num_grants; cmd->num_accessed++) {
		u32 i = cmd->num_accessed;

		if (nnaccel_access_is_foreign(cmd->pools[i]))
			ret = nnaccel_cpu_add(cmd->pools[i]->dmabuf, cmd->grants[i].prot, true,
					      true);
		/*
		 * NNACCEL_DO_SUPPORTED tolerates refused access to constants, whose pools follow
		 * the wire form's pool.
		 */
		if (ret == -EIO && cmd->head.kind == NNACCEL_DO_SUPPORTED && i) {
			cmd->grants[i].prot = 0;
			ret = 0;
		}
		if (ret)
			break;
	}
	return ret;
}

/*
 * Ends the accesses that nnaccel_command_begin_foreign() began. Returns 0, -EAGAIN if the caller
 * must call nnaccel_command_end_foreign() again, or -EIO.
 */
static int nnaccel_command_end_foreign(struct nnaccel_command *cmd)
{
	for (; cmd->num_accessed; cmd->num_accessed--) {
		u32 i = cmd->num_accessed - 1;
		int ret = 0;

		/* Skip the pools of constants to which the exporter refused access. */
		if (nnaccel_access_is_foreign(cmd->pools[i]) &&
		    cmd->grants[i].prot & (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE))
			ret = nnaccel_cpu_add(cmd->pools[i]->dmabuf, cmd->grants[i].prot, true,
					      false);
		if (ret == -EAGAIN)
			return ret;
		if (ret)
			cmd->access_error = -EIO;
	}
	return cmd->access_error;
}

/*
 * In a thread of the context, begins a command's accesses to its memory, or ends these accesses
 * once the command is finished.
 */
static void nnaccel_command_access(struct work_struct *work)
{
	struct nnaccel_command *cmd = container_of(to_delayed_work(work), struct nnaccel_command,
						   access);
	bool begins = READ_ONCE(cmd->state) == NNACCEL_COMMAND_WAITING;
	int ret = begins ? nnaccel_command_begin_foreign(cmd) : nnaccel_command_end_foreign(cmd);

	if (ret != -EAGAIN) {
		cmd->access_delay = 0;
		/* If the command ended while its accesses began, the accesses must be ended. */
		if (begins ? nnaccel_command_begun(cmd, ret) : nnaccel_command_ended(cmd, ret)) {
			nnaccel_command_put(cmd);
			return;
		}
	} else {
		cmd->access_delay = clamp(cmd->access_delay * 2, 1UL,
					  (unsigned long)NNACCEL_ACCESS_MAX_DELAY);
	}
	queue_delayed_work(cmd->ctx->access->wq, &cmd->access, cmd->access_delay);
}

/**
 * nnaccel_command_init_access() - Prepares the access to the memory of a command
 * @cmd: the command, built but not queued
 *
 * Return: 0 or -ENOMEM.
 */
int nnaccel_command_init_access(struct nnaccel_command *cmd)
{
	u32 i;

	for (i = 0; i < cmd->head.num_grants && !cmd->foreign; i++)
		cmd->foreign = nnaccel_access_is_foreign(cmd->pools[i]);
	if (!cmd->foreign)
		return 0;
	INIT_DELAYED_WORK(&cmd->access, nnaccel_command_access);
	return nnaccel_access_init(cmd->ctx);
}

/**
 * nnaccel_command_queue_access() - Lets a thread begin or end the access of a command
 * @cmd: the command; ctx->lock is held; takes a reference
 */
void nnaccel_command_queue_access(struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	cmd->accessing = true;
	kref_get(&cmd->refs);
	queue_delayed_work(cmd->ctx->access->wq, &cmd->access, 0);
}
