// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: bursts. A client and its worker exchange requests and results by two rings in shared
 * memory, without the kernel. This file implements the lifetime of bursts, their mappings and their
 * slots.
 *
 * A burst dies under ctx->lock when the burst's file is closed, the context is closed, or the
 * session ends. The status page reports a burst's death before poll() returns EPOLLHUP. If devices
 * of a dead worker still use the memory of slots, the status page and poll() report the death only
 * after the devices' use, or after a limited time. The kernel does not wake threads that sleep on
 * futexes of rings; client and worker must wake their own threads.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pm_qos.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/shmem_fs.h>

#include "account.h"
#include "burst.h"
#include "command.h"
#include "compat.h"
#include "model.h"
#include "session.h"
#include "trace.h"

/*
 * The lower bits of a slot's number are the slot's index, and the upper bits are the number of
 * binds in the burst so far.
 */
#define NNACCEL_SLOT_LIMIT	XA_LIMIT(0, NNACCEL_BURST_MAX_SLOTS - 1)
#define NNACCEL_SLOT_SHIFT	ilog2(NNACCEL_BURST_MAX_SLOTS)
#define NNACCEL_SLOT_BINDS	GENMASK(30 - NNACCEL_SLOT_SHIFT, 0)

static u64 nnaccel_burst_ring_bytes(u32 capacity)
{
	return NNACCEL_RING_LINES +
	       DIV_ROUND_UP(capacity, NNACCEL_LINE_DATUMS) * sizeof(struct nnaccel_line);
}

/* Returns the status page, which client and worker read. */
static struct nnaccel_burst_status *nnaccel_burst_status(const struct nnaccel_burst *burst)
{
	return page_address(burst->pages[NNACCEL_FILE_STATUS]);
}

/* Bytes charged for the structures of a slot. */
#define NNACCEL_SLOT_BYTES	(sizeof(struct nnaccel_slot) + sizeof(struct nnaccel_notice) + \
				 sizeof(struct xa_node))

/* ---- slots ---- */

static void nnaccel_slot_free(struct nnaccel_burst *burst, struct nnaccel_slot *slot)
{
	if (!IS_ERR(slot->pool))
		nnaccel_pool_put(slot->pool);
	kfree(slot->notice);
	kfree(slot);
	nnaccel_uncharge_kernel(burst->obj.ctx->account, NNACCEL_SLOT_BYTES);
	nnaccel_count(NNACCEL_SLOTS, -1);
}

/* Creates a slot and reserves an index for it. */
static struct nnaccel_slot *nnaccel_slot_create(struct nnaccel_burst *burst,
						const struct nnaccel_burst_slot *arg)
{
	struct nnaccel_context *ctx = burst->obj.ctx;
	struct nnaccel_slot *slot;
	u32 index;
	int ret;

	ret = nnaccel_charge_kernel(ctx->account, NNACCEL_SLOT_BYTES);
	if (ret)
		return ERR_PTR(ret);
	slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);
	if (!slot) {
		nnaccel_uncharge_kernel(ctx->account, NNACCEL_SLOT_BYTES);
		return ERR_PTR(-ENOMEM);
	}
	nnaccel_count(NNACCEL_SLOTS, 1);
	slot->notice = kzalloc(sizeof(*slot->notice), GFP_KERNEL_ACCOUNT);
	slot->prot = arg->prot;
	slot->pool = nnaccel_pool_get(ctx, arg->pool);
	if (!slot->notice)
		ret = -ENOMEM;
	else if (IS_ERR(slot->pool))
		ret = PTR_ERR(slot->pool);
	else if (slot->prot & ~slot->pool->prot)
		ret = -EACCES;
	else if (!nnaccel_pool_may_execute(slot->pool))
		ret = -EOPNOTSUPP;
	else
		ret = xa_alloc(&burst->slots, &index, XA_ZERO_ENTRY, NNACCEL_SLOT_LIMIT,
			       GFP_KERNEL_ACCOUNT);
	if (ret) {
		nnaccel_slot_free(burst, slot);
		return ERR_PTR(ret == -EBUSY ? -ENOSPC : ret);
	}
	mutex_lock(&ctx->lock);
	slot->number = (++burst->binds & NNACCEL_SLOT_BINDS) << NNACCEL_SLOT_SHIFT | index;
	mutex_unlock(&ctx->lock);
	return slot;
}

static int nnaccel_slot_bind(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_burst_slot *arg = ucmd->cmd;
	struct nnaccel_burst *burst = ucmd->object;
	struct nnaccel_context *ctx = burst->obj.ctx;
	struct nnaccel_slot *slot;
	int ret;

	if (READ_ONCE(burst->dead))
		return -EPIPE;
	slot = nnaccel_slot_create(burst, arg);
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	arg->slot = slot->number;
	ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
	if (ret) {
		xa_erase(&burst->slots, NNACCEL_SLOT_INDEX(slot->number));
		nnaccel_slot_free(burst, slot);
		return ret;
	}
	mutex_lock(&ctx->lock);
	burst->num_slots++;
	trace_nnaccel_slot_bind(burst, slot);
	WARN_ON(xa_is_err(xa_store(&burst->slots, NNACCEL_SLOT_INDEX(slot->number), slot,
				   GFP_NOWAIT)));
	mutex_unlock(&ctx->lock);
	return 0;
}

static struct nnaccel_slot *nnaccel_slot_find(struct nnaccel_burst *burst, u32 number)
{
	struct nnaccel_slot *slot;

	lockdep_assert_held(&burst->obj.ctx->lock);
	slot = xa_load(&burst->slots, NNACCEL_SLOT_INDEX(number));
	return slot && slot->number == number ? slot : NULL;
}

static int nnaccel_slot_unbind(struct nnaccel_burst *burst, u32 number)
{
	struct nnaccel_context *ctx = burst->obj.ctx;
	struct nnaccel_slot *slot;

	mutex_lock(&ctx->lock);
	slot = nnaccel_slot_find(burst, number);
	if (!slot) {
		mutex_unlock(&ctx->lock);
		return -ENOENT;
	}
	xa_erase(&burst->slots, NNACCEL_SLOT_INDEX(slot->number));
	burst->num_slots--;
	if (slot->resolved && !burst->dead)
		nnaccel_session_notify(ctx->session, &slot->notice, NNACCEL_DO_SLOT_GONE,
				       slot->number, burst->number);
	trace_nnaccel_slot_free(burst, slot);
	mutex_unlock(&ctx->lock);
	nnaccel_slot_free(burst, slot);
	return 0;
}

static int nnaccel_burst_slot_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_burst_slot *arg = ucmd->cmd;

	if (arg->flags || arg->__reserved)
		return -EINVAL;
	if (!arg->pool)
		return arg->prot ? -EINVAL : nnaccel_slot_unbind(ucmd->object, arg->slot);
	if (arg->prot != NNACCEL_PROT_READ &&
	    arg->prot != (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE))
		return -EINVAL;
	return nnaccel_slot_bind(ucmd);
}

/**
 * nnaccel_burst_resolve() - Looks up a slot for the worker
 * @burst: the burst; ctx->lock is held
 * @number: the slot
 * @prot: out: NNACCEL_PROT_* of the slot
 *
 * Return: the slot's pool without a reference, or an error pointer: -ENOENT.
 */
struct nnaccel_pool *nnaccel_burst_resolve(struct nnaccel_burst *burst, u32 number, u32 *prot)
{
	struct nnaccel_slot *slot = nnaccel_slot_find(burst, number);

	if (!slot)
		return ERR_PTR(-ENOENT);
	slot->resolved = true;
	burst->resolves++;
	*prot = slot->prot;
	trace_nnaccel_slot_resolve(burst, slot);
	return slot->pool;
}

/* ---- memory ---- */

/*
 * Creates shared memory. The memory is swappable, because a mapping may outlive the burst, and is
 * then charged to no user.
 */
static struct file *nnaccel_burst_shmem(u64 bytes)
{
	struct file *file = nnaccel_shmem_file("nnaccel-burst", bytes);

	/*
	 * If tmpfs has no free inode, it returns ENOSPC, which clients would understand as "too
	 * many bursts".
	 */
	return file == ERR_PTR(-ENOSPC) ? ERR_PTR(-ENOMEM) : file;
}

/* Makes the doorbell of a context, unless the context already has a doorbell. */
static int nnaccel_burst_add_doorbell(struct nnaccel_context *ctx)
{
	struct file *file;
	int ret;

	if (READ_ONCE(ctx->doorbell))
		return 0;
	ret = nnaccel_charge(ctx->account, PAGE_SIZE);
	if (ret)
		return ret;
	file = nnaccel_burst_shmem(PAGE_SIZE);
	if (IS_ERR(file)) {
		nnaccel_uncharge(ctx->account, PAGE_SIZE);
		return PTR_ERR(file);
	}
	mutex_lock(&ctx->lock);
	if (!ctx->doorbell) {
		WRITE_ONCE(ctx->doorbell, file);
		file = NULL;
	}
	mutex_unlock(&ctx->lock);
	if (file) {
		fput(file);
		nnaccel_uncharge(ctx->account, PAGE_SIZE);
	}
	return 0;
}

/**
 * nnaccel_burst_drop_doorbell() - Frees the doorbell of a context
 * @ctx: the context, which is being freed
 */
void nnaccel_burst_drop_doorbell(struct nnaccel_context *ctx)
{
	if (!ctx->doorbell)
		return;
	fput(ctx->doorbell);
	nnaccel_uncharge(ctx->account, PAGE_SIZE);
}

static int nnaccel_burst_add_memory(struct nnaccel_burst *burst)
{
	u64 ring_bytes = nnaccel_burst_ring_bytes(burst->capacity);
	struct nnaccel_burst_status *status;
	u64 bytes;
	int i, ret;

	bytes = PAGE_SIZE + 2 * PAGE_ALIGN(ring_bytes);
	ret = nnaccel_charge(burst->obj.ctx->account, bytes);
	if (ret)
		return ret;
	burst->bytes = bytes;
	for (i = 0; i < NNACCEL_BURST_FILES; i++) {
		struct file *file = nnaccel_burst_shmem(i == NNACCEL_FILE_STATUS ? PAGE_SIZE :
						       PAGE_ALIGN(ring_bytes));
		struct page *page;

		if (IS_ERR(file))
			return PTR_ERR(file);
		burst->files[i] = file;
		page = shmem_read_mapping_page(file->f_mapping, 0);
		if (IS_ERR(page))
			return PTR_ERR(page);
		burst->pages[i] = page;
	}
	status = nnaccel_burst_status(burst);
	status->lines = DIV_ROUND_UP(burst->capacity, NNACCEL_LINE_DATUMS);
	status->capacity = burst->capacity;
	status->ring_bytes = ring_bytes;
	status->state = NNACCEL_BURST_ALIVE;
	/*
	 * The status page stays dirty until its last change, because the burst holds a reference to
	 * the page.
	 */
	set_page_dirty(burst->pages[NNACCEL_FILE_STATUS]);
	return 0;
}

static void nnaccel_burst_drop_memory(struct nnaccel_burst *burst)
{
	int i;

	for (i = 0; i < NNACCEL_BURST_FILES; i++) {
		if (burst->pages[i])
			put_page(burst->pages[i]);
		if (burst->files[i])
			fput(burst->files[i]);
	}
	nnaccel_uncharge(burst->obj.ctx->account, burst->bytes);
}

/**
 * nnaccel_burst_map() - Maps one region of a burst
 * @burst: the burst
 * @vma: the mapping
 * @offset: the region, NNACCEL_BURST_*
 * @worker: the caller is the worker, not the client
 *
 * Return: 0, -EINVAL, -EACCES, or the error of shmem's mmap().
 */
int nnaccel_burst_map(struct nnaccel_burst *burst, struct vm_area_struct *vma, u64 offset,
		      bool worker)
{
	u64 length = PAGE_SIZE;
	bool writable = false;
	struct file *file;

	switch (offset) {
	case NNACCEL_BURST_STATUS:
		file = burst->files[NNACCEL_FILE_STATUS];
		break;
	case NNACCEL_BURST_REQUESTS:
		file = burst->files[NNACCEL_FILE_REQUESTS];
		length = nnaccel_burst_ring_bytes(burst->capacity);
		writable = !worker;
		break;
	case NNACCEL_BURST_RESULTS:
		file = burst->files[NNACCEL_FILE_RESULTS];
		length = nnaccel_burst_ring_bytes(burst->capacity);
		writable = worker;
		break;
	case NNACCEL_BURST_DOORBELL:
		file = burst->obj.ctx->doorbell;
		writable = !worker;
		break;
	default:
		return -EINVAL;
	}
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_end - vma->vm_start != PAGE_ALIGN(length))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC || (vma->vm_flags & VM_WRITE && !writable))
		return -EACCES;
	return nnaccel_session_map_file(vma, file, 0, writable);
}

/* ---- life ---- */

/*
 * Returns the control words of a ring. User space writes the control words, so their values may be
 * wrong.
 */
static const struct nnaccel_ring_control *nnaccel_burst_control(const struct nnaccel_burst *burst,
								enum nnaccel_burst_file ring)
{
	return page_address(burst->pages[ring]);
}

/* Adds the burst's number of results and the device time, as the worker reported them. */
static void nnaccel_burst_count(const struct nnaccel_burst *burst, u64 *executions, u64 *device_ns)
{
	const struct nnaccel_ring_control *control =
		nnaccel_burst_control(burst, NNACCEL_FILE_RESULTS);

	*executions += READ_ONCE(control->packets);
	*device_ns += READ_ONCE(control->device_ns);
}

/**
 * nnaccel_burst_add_up() - Sums the executions and the device time of a context's bursts
 * @ctx: the context; its lock is held
 * @executions: out: executions of bursts
 * @device_ns: out: time on the device, also of commands
 *
 * The values of living bursts come from the bursts' control words; the values of dead bursts come
 * from the context.
 */
void nnaccel_burst_add_up(struct nnaccel_context *ctx, u64 *executions, u64 *device_ns)
{
	const struct nnaccel_burst *burst;

	lockdep_assert_held(&ctx->lock);
	*executions = ctx->burst_executions;
	*device_ns = ctx->device_ns;
	list_for_each_entry(burst, &ctx->bursts, node)
		nnaccel_burst_count(burst, executions, device_ns);
}

/*
 * Keeps the CPUs out of deep idle states while the burst exists, because a wake-up from a deep idle
 * state would delay executions. A CPU-latency request costs power, so each user may have only a few
 * requests.
 */
static void nnaccel_burst_request_latency(struct nnaccel_burst *burst)
{
	struct nnaccel_context *ctx = burst->obj.ctx;

	mutex_lock(&ctx->lock);
	if (!burst->dead && !(burst->flags & NNACCEL_BURST_NO_SPIN) &&
	    burst->model->preference != NNACCEL_PREFER_LOW_POWER &&
	    nnaccel_charge_latency(ctx->account)) {
		cpu_latency_qos_add_request(&burst->latency, READ_ONCE(nnaccel_latency_us));
		burst->requests_latency = true;
	}
	mutex_unlock(&ctx->lock);
}

static void nnaccel_burst_mark_devices(struct nnaccel_burst *burst)
{
	/* The release pairs with the worker's read of @devices before each request. */
	smp_store_release(&nnaccel_burst_status(burst)->devices, 1);
}

/**
 * nnaccel_burst_tell_devices() - Marks bursts after a device was attached to memory of the context
 * @ctx: the context
 *
 * The requests of bursts do not pass through the kernel, so @devices of the status page makes the
 * workers call NNACCEL_SESSION_SYNC for each request.
 */
void nnaccel_burst_tell_devices(struct nnaccel_context *ctx)
{
	struct nnaccel_burst *burst;

	mutex_lock(&ctx->lock);
	if (!ctx->has_devices) {
		ctx->has_devices = true;
		list_for_each_entry(burst, &ctx->bursts, node)
			nnaccel_burst_mark_devices(burst);
	}
	mutex_unlock(&ctx->lock);
}

/* Returns whether a device of a dead worker still uses the memory of a slot. */
static bool nnaccel_burst_is_left(struct nnaccel_burst *burst)
{
	struct nnaccel_slot *slot;
	unsigned long index;
	bool left = false;
	u32 i;

	xa_for_each(&burst->slots, index, slot)
		for (i = 0; i <= nnaccel_pool_num_others(slot->pool); i++)
			left |= nnaccel_proxy_is_left(nnaccel_pool_of_file(slot->pool, i));
	return left;
}

static void nnaccel_burst_tell(struct nnaccel_burst *burst)
{
	/* The release pairs with the read of @state by client and worker before each sleep. */
	smp_store_release(&nnaccel_burst_status(burst)->state, NNACCEL_BURST_DEAD);
	WRITE_ONCE(burst->told, true);
	wake_up_poll(&burst->wait, EPOLLHUP);
}

/*
 * Reports the burst's death to the client once no device uses the memory of slots, or after
 * fence_bound_ms.
 */
static void nnaccel_burst_lost(struct work_struct *work)
{
	struct nnaccel_burst *burst = container_of(to_delayed_work(work), struct nnaccel_burst,
						   lost);
	struct nnaccel_context *ctx = burst->obj.ctx;
	bool left;

	mutex_lock(&ctx->lock);
	left = nnaccel_burst_is_left(burst);
	if (!left || burst->bound_ns <= ktime_get_ns())
		nnaccel_burst_tell(burst);
	mutex_unlock(&ctx->lock);
	if (left) {
		burst->lost_delay = clamp(2 * burst->lost_delay, 1UL, (unsigned long)HZ);
		queue_delayed_work(nnaccel_wq, &burst->lost, burst->lost_delay);
		return;
	}
	nnaccel_object_put(&burst->obj);
	/* The module's exit function waits until nnaccel_burst_lost() has returned. */
	module_put(THIS_MODULE);
}

static void nnaccel_burst_kill(struct nnaccel_burst *burst, bool worker_died)
{
	struct nnaccel_session *session = burst->obj.ctx->session;

	lockdep_assert_held(&burst->obj.ctx->lock);
	if (list_empty(&burst->node))
		return;
	if (burst->requests_latency) {
		cpu_latency_qos_remove_request(&burst->latency);
		nnaccel_uncharge_latency(burst->obj.ctx->account);
	}
	burst->requests_latency = false;
	nnaccel_burst_count(burst, &burst->obj.ctx->burst_executions, &burst->obj.ctx->device_ns);
	list_del_init(&burst->node);
	WRITE_ONCE(burst->dead, true);
	trace_nnaccel_burst_dead(burst);
	if (worker_died && nnaccel_burst_is_left(burst)) {
		burst->bound_ns = ktime_get_ns() +
				  READ_ONCE(nnaccel_fence_bound_ms) * (u64)NSEC_PER_MSEC;
		INIT_DELAYED_WORK(&burst->lost, nnaccel_burst_lost);
		refcount_inc(&burst->obj.refs);
		__module_get(THIS_MODULE);
		queue_delayed_work(nnaccel_wq, &burst->lost, 1);
	} else {
		nnaccel_burst_tell(burst);
	}
	if (burst->number) {
		xa_erase(&session->bursts, burst->number);
		nnaccel_session_notify(session, &burst->obj.notice, NNACCEL_DO_BURST_GONE, 0,
				       burst->number);
	}
}

/**
 * nnaccel_burst_kill_all() - Kills the bursts of a context that is closed or lost its worker
 * @ctx: the context; its lock is held
 * @worker_died: notify the client only once no device of the worker uses the memory
 */
void nnaccel_burst_kill_all(struct nnaccel_context *ctx, bool worker_died)
{
	struct nnaccel_burst *burst, *next;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(burst, next, &ctx->bursts, node)
		nnaccel_burst_kill(burst, worker_died);
}

/**
 * nnaccel_burst_reserve() - Reserves a number for a burst, unless it has one
 * @burst: the burst, with a reference
 * @session: the session whose worker will be notified
 * @number: out: the number; unchanged if none is needed
 *
 * The caller must not hold ctx->lock, because reserving a number allocates memory.
 *
 * Return: 0 or -ENOMEM.
 */
int nnaccel_burst_reserve(struct nnaccel_burst *burst, struct nnaccel_session *session, u32 *number)
{
	int ret;

	if (READ_ONCE(burst->number))
		return 0;
	ret = xa_alloc_cyclic(&session->bursts, number, XA_ZERO_ENTRY, xa_limit_31b,
			      &session->next_burst, GFP_KERNEL_ACCOUNT);
	return ret < 0 ? -ENOMEM : 0;
}

/**
 * nnaccel_burst_announce() - Assigns the number to a burst, before the worker is notified
 * @burst: the burst; ctx->lock is held
 * @number: the reserved number
 *
 * Return: 0, or -ECANCELED if the burst has died.
 */
int nnaccel_burst_announce(struct nnaccel_burst *burst, u32 number)
{
	struct nnaccel_session *session = burst->obj.ctx->session;

	lockdep_assert_held(&burst->obj.ctx->lock);
	if (burst->dead || burst->number) {
		if (number)
			xa_erase(&session->bursts, number);
		return burst->dead ? -ECANCELED : 0;
	}
	WARN_ON(xa_is_err(xa_store(&session->bursts, number, burst, GFP_NOWAIT)));
	WRITE_ONCE(burst->number, number);
	trace_nnaccel_burst_announce(burst);
	return 0;
}

/**
 * nnaccel_burst_free() - Frees a burst
 * @obj: the burst, which is dead
 */
void nnaccel_burst_free(struct nnaccel_object *obj)
{
	struct nnaccel_burst *burst = container_of(obj, struct nnaccel_burst, obj);
	u64 packets = 0, device_ns = 0;
	struct nnaccel_slot *slot;
	unsigned long index;

	trace_nnaccel_burst_destroy(burst);
	xa_for_each(&burst->slots, index, slot)
		nnaccel_slot_free(burst, slot);
	if (burst->pages[NNACCEL_FILE_RESULTS])
		nnaccel_burst_count(burst, &packets, &device_ns);
	nnaccel_count(NNACCEL_BURST_PACKETS_TOTAL, packets);
	nnaccel_burst_drop_memory(burst);
	nnaccel_model_put(burst->model);
	xa_destroy(&burst->slots);
	kfree(burst);
}

static int nnaccel_burst_release(struct inode *inode, struct file *file)
{
	struct nnaccel_burst *burst = file->private_data;
	struct nnaccel_context *ctx = burst->obj.ctx;

	mutex_lock(&ctx->lock);
	nnaccel_burst_kill(burst, false);
	mutex_unlock(&ctx->lock);
	nnaccel_object_put(&burst->obj);
	return 0;
}

static __poll_t nnaccel_burst_poll(struct file *file, poll_table *wait)
{
	struct nnaccel_burst *burst = file->private_data;

	poll_wait(file, &burst->wait, wait);
	return READ_ONCE(burst->told) ? EPOLLHUP : 0;
}

static int nnaccel_burst_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct nnaccel_burst *burst = file->private_data;

	if (burst->obj.ctx->mm != current->mm)
		return -EACCES;
	return nnaccel_burst_map(burst, vma, (u64)vma->vm_pgoff << PAGE_SHIFT, false);
}

/* Prints the counters that the writer of a ring reports. */
static void nnaccel_burst_show_end(struct seq_file *m, const struct nnaccel_burst *burst,
				   enum nnaccel_burst_file ring, const char *end)
{
	const struct nnaccel_ring_control *control = nnaccel_burst_control(burst, ring);

	seq_printf(m, "nnaccel-%s-packets:\t%llu\n", end, control->packets);
	seq_printf(m, "nnaccel-%s-spins:\t%llu\n", end, control->spins);
	seq_printf(m, "nnaccel-%s-sleeps:\t%llu\n", end, control->sleeps);
	seq_printf(m, "nnaccel-%s-wakes:\t%llu\n", end, control->wakes);
	seq_printf(m, "nnaccel-%s-misses:\t%llu\n", end, control->misses);
	seq_printf(m, "nnaccel-%s-fallbacks:\t%llu\n", end, control->fallbacks);
	seq_printf(m, "nnaccel-%s-device-time:\t%llu ns\n", end, control->device_ns);
}

static void nnaccel_burst_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct nnaccel_burst *burst = file->private_data;

	mutex_lock(&burst->obj.ctx->lock);
	seq_printf(m, "nnaccel-client-id:\t%llu\n", burst->obj.ctx->number);
	seq_printf(m, "nnaccel-burst:\t%u\n", burst->number);
	seq_printf(m, "nnaccel-burst-state:\t%s\n", burst->dead ? "dead" : "alive");
	seq_printf(m, "nnaccel-burst-latency-request:\t%d\n", burst->requests_latency);
	seq_printf(m, "nnaccel-burst-capacity:\t%u\n", burst->capacity);
	seq_printf(m, "nnaccel-memory-alloc:\t%llu KiB\n", burst->bytes >> 10);
	seq_printf(m, "nnaccel-slots:\t%u\n", burst->num_slots);
	seq_printf(m, "nnaccel-slot-resolves:\t%llu\n", burst->resolves);
	mutex_unlock(&burst->obj.ctx->lock);
	nnaccel_burst_show_end(m, burst, NNACCEL_FILE_REQUESTS, "client");
	nnaccel_burst_show_end(m, burst, NNACCEL_FILE_RESULTS, "engine");
}

#define NNACCEL_OP(_nr, _name, _last)	NNACCEL_IOCTL_OP(BURST_SLOT, _nr, _name, _last)

static const struct nnaccel_ioctl_op nnaccel_burst_ops[] = {
	NNACCEL_OP(BURST_SLOT, burst_slot, __reserved),
};

static long nnaccel_burst_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct nnaccel_burst *burst = file->private_data;

	if (burst->obj.ctx->mm != current->mm)
		return -EACCES;
	return nnaccel_ioctl(nnaccel_burst_ops, ARRAY_SIZE(nnaccel_burst_ops), burst, cmd, arg);
}

static const struct file_operations nnaccel_burst_fops = {
	.owner = THIS_MODULE,
	.release = nnaccel_burst_release,
	.unlocked_ioctl = nnaccel_burst_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = nnaccel_burst_mmap,
	.poll = nnaccel_burst_poll,
	.show_fdinfo = nnaccel_burst_show_fdinfo,
};

/* ---- creation ---- */

/* Allocates a burst with one reference. A burst is alive only after nnaccel_burst_open(). */
static struct nnaccel_burst *nnaccel_burst_alloc(struct nnaccel_context *ctx,
						 const struct nnaccel_burst_create *arg)
{
	struct nnaccel_burst *burst;
	int ret;

	burst = kzalloc(sizeof(*burst), GFP_KERNEL_ACCOUNT);
	if (!burst)
		return ERR_PTR(-ENOMEM);
	init_waitqueue_head(&burst->wait);
	INIT_LIST_HEAD(&burst->node);
	xa_init_flags(&burst->slots, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	burst->flags = arg->flags & NNACCEL_BURST_NO_SPIN;
	burst->capacity = arg->capacity ?: NNACCEL_BURST_DEFAULT_CAPACITY;
	burst->model = nnaccel_model_get(ctx, arg->model);
	if (IS_ERR(burst->model)) {
		ret = PTR_ERR(burst->model);
		goto err_burst;
	}
	ret = nnaccel_object_init(&burst->obj, ctx, NNACCEL_OBJECT_BURST);
	if (ret)
		goto err_model;
	/*
	 * After nnaccel_object_init(), dropping the last reference frees the burst and all that it
	 * holds.
	 */
	trace_nnaccel_burst_create(burst);
	ret = nnaccel_burst_add_doorbell(ctx) ?: nnaccel_burst_add_memory(burst);
	if (ret) {
		nnaccel_object_put(&burst->obj);
		return ERR_PTR(ret);
	}
	return burst;

err_model:
	nnaccel_model_put(burst->model);
err_burst:
	kfree(burst);
	return ERR_PTR(ret);
}

/* Makes a burst and its file. The burst is alive when the function returns. */
static struct file *nnaccel_burst_open(struct nnaccel_context *ctx,
				       const struct nnaccel_burst_create *arg)
{
	struct nnaccel_burst *burst;
	struct file *file;

	burst = nnaccel_burst_alloc(ctx, arg);
	if (IS_ERR(burst))
		return ERR_CAST(burst);
	file = anon_inode_getfile("[nnaccel-burst]", &nnaccel_burst_fops, burst, O_RDWR);
	if (IS_ERR(file)) {
		nnaccel_object_put(&burst->obj);
		return file;
	}
	mutex_lock(&ctx->lock);
	list_add_tail(&burst->node, &ctx->bursts);
	if (ctx->has_devices)
		nnaccel_burst_mark_devices(burst);
	mutex_unlock(&ctx->lock);
	return file;
}

/**
 * nnaccel_burst_layout() - Validates the parameters of a burst
 * @from: the module's copy of the client's struct nnaccel_burst_create
 * @arrays: unused
 *
 * Return: 0 or -EINVAL.
 */
int nnaccel_burst_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_burst_create *arg = from;

	return arg->flags & ~(NNACCEL_BURST_CLOEXEC | NNACCEL_BURST_NO_SPIN) || arg->__reserved ||
	       arg->capacity > NNACCEL_BURST_MAX_CAPACITY ? -EINVAL : 0;
}

/**
 * nnaccel_burst_build() - Makes a burst and fills the command that announces it
 * @cmd: the command; it holds the file of the burst
 * @from: as in nnaccel_burst_layout()
 * @arrays: unused
 *
 * Return: 0, -ENOENT, -EDQUOT, -ENOSPC, -ENOMEM, -ENFILE.
 */
int nnaccel_burst_build(struct nnaccel_command *cmd, const void *from,
			struct nnaccel_arrays *arrays)
{
	const struct nnaccel_burst_create *arg = from;
	struct nnaccel_burst *burst;
	struct file *file;

	file = nnaccel_burst_open(cmd->ctx, arg);
	if (IS_ERR(file))
		return PTR_ERR(file);
	burst = file->private_data;
	refcount_inc(&burst->obj.refs);
	refcount_inc(&burst->model->obj.refs);
	cmd->burst_file = file;
	cmd->cloexec = arg->flags & NNACCEL_BURST_CLOEXEC;
	cmd->burst = burst;
	cmd->model = burst->model;
	cmd->head.model = burst->model->number;
	cmd->head.priority = burst->model->priority;
	cmd->head.flags = burst->flags;
	return 0;
}

/**
 * nnaccel_burst_publish() - Installs the file of a new burst
 * @ucmd: has the number of the file
 * @cmd: the command that holds the file
 */
void nnaccel_burst_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct file *file = cmd->burst_file;

	cmd->burst_file = NULL;
	nnaccel_burst_request_latency(file->private_data);
	fd_install(ucmd->new_fd, file);
}
