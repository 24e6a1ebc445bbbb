// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: dma-bufs of allocated pools, with zeroed pages from the page allocator. A context is
 * charged for each of its dma-bufs until the last reference to this dma-buf is dropped.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "account.h"
#include "burst.h"
#include "compat.h"
#include "memory.h"

/*
 * The allocation tries blocks of 2 MiB first, because large blocks need fewer calls and fewer
 * scatterlist entries, and allow longer copies. Huge pages are too large to zero at once: 32 MiB
 * with base pages of 16 KiB, and 512 MiB with base pages of 64 KiB.
 */
#define NNACCEL_DMABUF_ORDER	(ilog2(SZ_2M) - PAGE_SHIFT)

/* Number of pages that a fault maps, and number of pages freed between two cond_resched(). */
#define NNACCEL_DMABUF_CHUNK	BIT(NNACCEL_DMABUF_ORDER)

/*
 * Maximum number of pages that mmap() maps with the mmap_lock held; faults map the rest of the
 * pages.
 */
#define NNACCEL_DMABUF_AT_ONCE	(8 * NNACCEL_DMABUF_CHUNK)

/**
 * struct nnaccel_dmabuf - The memory of a dma-buf
 * @account: account that is charged
 * @num_pages: number of pages
 * @lock: protects the fields below, up to @pages
 * @attachments: attachments of devices
 * @attached: a device was attached at some time
 * @cpu_users: commands and copies with CPU access; if not 0, all mappings are synced for the CPU
 * @pools: pools of any context that use the memory
 * @pages: the pages
 */
struct nnaccel_dmabuf {
	struct nnaccel_account *account;
	unsigned long num_pages;
	struct mutex lock;	/* callbacks of the dma-buf core also take this mutex */
	struct list_head attachments;
	bool attached;
	unsigned int cpu_users;
	struct list_head pools;
	struct page **pages;
};

/**
 * struct nnaccel_attachment - An attachment of a device to all or a part of a dma-buf
 * @node: entry in the memory's list
 * @memory: the memory
 * @dev: the device
 * @table: table of the pages for the device
 * @dir: direction of the mapping; DMA_NONE if it is not mapped
 */
struct nnaccel_attachment {
	struct list_head node;
	struct nnaccel_dmabuf *memory;
	struct device *dev;
	struct sg_table table;
	enum dma_data_direction dir;
};

/* When a device is attached, notifies each context that has the memory as a pool. */
static void nnaccel_dmabuf_tell_devices(struct nnaccel_dmabuf *memory)
{
	struct nnaccel_pool *pool, *next;

	do {
		next = NULL;
		mutex_lock(&memory->lock);
		list_for_each_entry(pool, &memory->pools, node) {
			if (pool->has_devices || !refcount_inc_not_zero(&pool->obj.refs))
				continue;
			pool->has_devices = true;
			next = pool;
			break;
		}
		mutex_unlock(&memory->lock);
		if (next) {
			nnaccel_burst_tell_devices(next->obj.ctx);
			nnaccel_pool_put(next);
		}
	} while (next);
}

/**
 * nnaccel_dmabuf_add_pool() - Lets a pool be notified of devices that are attached to its memory
 * @pool: the pool; nothing is done unless this module allocated its memory
 */
void nnaccel_dmabuf_add_pool(struct nnaccel_pool *pool)
{
	struct nnaccel_dmabuf *memory;
	bool attached;

	if (!pool->dmabuf || !nnaccel_dmabuf_is_ours(pool->dmabuf))
		return;
	memory = pool->dmabuf->priv;
	mutex_lock(&memory->lock);
	list_add(&pool->node, &memory->pools);
	attached = memory->attached;
	mutex_unlock(&memory->lock);
	if (attached)
		nnaccel_dmabuf_tell_devices(memory);
}

/**
 * nnaccel_dmabuf_remove_pool() - Reverts nnaccel_dmabuf_add_pool()
 * @pool: the pool, which is being freed
 */
void nnaccel_dmabuf_remove_pool(struct nnaccel_pool *pool)
{
	struct nnaccel_dmabuf *memory;

	if (list_empty(&pool->node))
		return;
	memory = pool->dmabuf->priv;
	mutex_lock(&memory->lock);
	list_del(&pool->node);
	mutex_unlock(&memory->lock);
}

/**
 * nnaccel_dmabuf_attach_part() - Attaches a device to a part of allocated memory
 * @dmabuf: the dma-buf of the memory
 * @offset: offset of the part in bytes, page-aligned
 * @length: length of the part in bytes, page-aligned
 * @attach: the attachment to the memory's dma-buf or to a proxy
 *
 * Return: 0 or -ENOMEM.
 */
int nnaccel_dmabuf_attach_part(const struct dma_buf *dmabuf, u64 offset, u64 length,
			       struct dma_buf_attachment *attach)
{
	struct nnaccel_dmabuf *memory = dmabuf->priv;
	struct nnaccel_attachment *a;
	int ret;

	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	ret = sg_alloc_table_from_pages_segment(&a->table, memory->pages + (offset >> PAGE_SHIFT),
						length >> PAGE_SHIFT, 0, length,
						dma_get_max_seg_size(attach->dev),
						GFP_KERNEL_ACCOUNT);
	if (ret) {
		kfree(a);
		return ret;
	}
	a->memory = memory;
	a->dev = attach->dev;
	a->dir = DMA_NONE;
	attach->priv = a;

	mutex_lock(&memory->lock);
	list_add(&a->node, &memory->attachments);
	memory->attached = true;
	mutex_unlock(&memory->lock);
	nnaccel_dmabuf_tell_devices(memory);
	return 0;
}

static int nnaccel_dmabuf_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	return nnaccel_dmabuf_attach_part(dmabuf, 0, dmabuf->size, attach);
}

/**
 * nnaccel_dmabuf_detach() - Reverts nnaccel_dmabuf_attach_part()
 * @dmabuf: the dma-buf of the attachment
 * @attach: the attachment
 */
void nnaccel_dmabuf_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct nnaccel_attachment *a = attach->priv;
	struct nnaccel_dmabuf *memory = a->memory;

	mutex_lock(&memory->lock);
	list_del(&a->node);
	mutex_unlock(&memory->lock);
	sg_free_table(&a->table);
	kfree(a);
}

/**
 * nnaccel_dmabuf_map() - Maps the memory of an attachment
 * @attach: the attachment
 * @dir: direction of the mapping
 *
 * Return: the scatter table or an error pointer.
 */
struct sg_table *nnaccel_dmabuf_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct nnaccel_attachment *a = attach->priv;
	struct nnaccel_dmabuf *memory = a->memory;
	int ret;

	ret = dma_map_sgtable(attach->dev, &a->table, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (!ret && !a->table.nents)
		ret = -EIO;
	if (ret)
		return ERR_PTR(ret);
	mutex_lock(&memory->lock);
	a->dir = dir;
	if (!memory->cpu_users)
		dma_sync_sgtable_for_device(a->dev, &a->table, dir);
	mutex_unlock(&memory->lock);
	return &a->table;
}

/**
 * nnaccel_dmabuf_unmap() - Reverts nnaccel_dmabuf_map()
 * @attach: the attachment
 * @table: the table
 * @dir: direction of the mapping
 */
void nnaccel_dmabuf_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
			  enum dma_data_direction dir)
{
	struct nnaccel_attachment *a = attach->priv;
	struct nnaccel_dmabuf *memory = a->memory;

	mutex_lock(&memory->lock);
	if (!memory->cpu_users)
		dma_sync_sgtable_for_cpu(a->dev, table, dir);
	a->dir = DMA_NONE;
	mutex_unlock(&memory->lock);
	dma_unmap_sgtable(attach->dev, table, dir, DMA_ATTR_SKIP_CPU_SYNC);
}

/*
 * Syncs memory for the CPU if @begin, else for devices. Returns whether a device has mapped the
 * memory.
 */
static bool nnaccel_dmabuf_sync(struct nnaccel_dmabuf *memory, bool begin)
{
	struct nnaccel_attachment *a;
	bool any = false;

	lockdep_assert_held(&memory->lock);
	list_for_each_entry(a, &memory->attachments, node) {
		if (a->dir == DMA_NONE)
			continue;
		any = true;
		if (begin)
			dma_sync_sgtable_for_cpu(a->dev, &a->table, a->dir);
		else
			dma_sync_sgtable_for_device(a->dev, &a->table, a->dir);
	}
	return any;
}

/**
 * nnaccel_dmabuf_use() - Adds or removes a CPU user of memory that this module allocated
 * @dmabuf: the dma-buf, allocated by this module
 * @begin: add the user
 *
 * The begin of the first CPU user syncs the memory for the CPU, and the end of the last CPU user
 * syncs the memory for the devices. Other begins and ends must not sync, because a sync would
 * destroy data of the present CPU users. The function must not wait for another driver or allocate
 * memory, because some fences signal only after nnaccel_dmabuf_use() has returned.
 *
 * Return: true if a device has mapped the memory and it was synced.
 */
bool nnaccel_dmabuf_use(const struct dma_buf *dmabuf, bool begin)
{
	struct nnaccel_dmabuf *memory = dmabuf->priv;
	bool changed;

	mutex_lock(&memory->lock);
	changed = begin ? !memory->cpu_users++ : !--memory->cpu_users;
	changed = changed && nnaccel_dmabuf_sync(memory, begin);
	mutex_unlock(&memory->lock);
	return changed;
}

/* User space may begin and end CPU accesses in any order, so its calls are not counted. */
static int nnaccel_dmabuf_sync_uncounted(const struct dma_buf *dmabuf, bool begin)
{
	struct nnaccel_dmabuf *memory = dmabuf->priv;

	mutex_lock(&memory->lock);
	if (!memory->cpu_users)
		nnaccel_dmabuf_sync(memory, begin);
	mutex_unlock(&memory->lock);
	return 0;
}

static int nnaccel_dmabuf_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	return nnaccel_dmabuf_sync_uncounted(dmabuf, true);
}

static int nnaccel_dmabuf_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	return nnaccel_dmabuf_sync_uncounted(dmabuf, false);
}

/*
 * Maps the chunk of pages around the faulting address, except pages that another thread has mapped
 * already. Faults occur only for pages that a large mmap() did not map, or that MADV_DONTNEED
 * unmapped.
 */
static vm_fault_t nnaccel_dmabuf_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct nnaccel_dmabuf *memory = vma->vm_private_data;
	unsigned long i, end;
	int ret;

	if (vmf->pgoff >= memory->num_pages)
		return VM_FAULT_SIGBUS;
	ret = vm_insert_page(vma, vmf->address & PAGE_MASK, memory->pages[vmf->pgoff]);
	if (ret && ret != -EBUSY)
		return vmf_error(ret);
	i = max(vma->vm_pgoff, round_down(vmf->pgoff, NNACCEL_DMABUF_CHUNK));
	end = min3(vma->vm_pgoff + vma_pages(vma), round_up(vmf->pgoff + 1, NNACCEL_DMABUF_CHUNK),
		   memory->num_pages);
	for (; i < end; i++) {
		ret = vm_insert_page(vma, vma->vm_start + ((i - vma->vm_pgoff) << PAGE_SHIFT),
				     memory->pages[i]);
		if (ret && ret != -EBUSY)
			break;
	}
	return VM_FAULT_NOPAGE;
}

static const struct vm_operations_struct nnaccel_dmabuf_vm_ops = {
	.fault = nnaccel_dmabuf_fault,
};

/* The mapping has a reference to the dma-buf's file. dma_buf_mmap() has checked the range. */
static int nnaccel_dmabuf_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct nnaccel_dmabuf *memory = dmabuf->priv;
	unsigned long n = min(vma_pages(vma), NNACCEL_DMABUF_AT_ONCE);

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	/*
	 * With VM_MIXEDMAP, faults can insert pages while they hold the mmap_lock only for reading.
	 */
	nnaccel_vm_flags_mod(vma, VM_DONTEXPAND | VM_MIXEDMAP, 0);
	vma->vm_ops = &nnaccel_dmabuf_vm_ops;
	vma->vm_private_data = memory;
	return vm_insert_pages(vma, vma->vm_start, memory->pages + vma->vm_pgoff, &n);
}

/* The dma-buf core counts kernel mappings, and calls vmap() only for the first mapping. */
static int nnaccel_dmabuf_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct nnaccel_dmabuf *memory = dmabuf->priv;
	void *vaddr;

	vaddr = vmap(memory->pages, memory->num_pages, VM_MAP, PAGE_KERNEL);
	if (!vaddr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, vaddr);
	return 0;
}

static void nnaccel_dmabuf_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
	iosys_map_clear(map);
}

static void nnaccel_dmabuf_free(struct nnaccel_dmabuf *memory)
{
	unsigned long i;

	for (i = 0; i < memory->num_pages; i++) {
		__free_page(memory->pages[i]);
		if (!(i % NNACCEL_DMABUF_CHUNK))
			cond_resched();
	}
	kvfree(memory->pages);
	mutex_destroy(&memory->lock);
	kfree(memory);
}

static void nnaccel_dmabuf_release(struct dma_buf *dmabuf)
{
	struct nnaccel_dmabuf *memory = dmabuf->priv;
	struct nnaccel_account *account = memory->account;

	nnaccel_dmabuf_free(memory);
	nnaccel_uncharge(account, dmabuf->size);
	nnaccel_account_put(account);
}

static const struct dma_buf_ops nnaccel_dmabuf_ops = {
	.attach = nnaccel_dmabuf_attach,
	.detach = nnaccel_dmabuf_detach,
	.map_dma_buf = nnaccel_dmabuf_map,
	.unmap_dma_buf = nnaccel_dmabuf_unmap,
	.begin_cpu_access = nnaccel_dmabuf_begin_cpu_access,
	.end_cpu_access = nnaccel_dmabuf_end_cpu_access,
	.mmap = nnaccel_dmabuf_mmap,
	.vmap = nnaccel_dmabuf_vmap,
	.vunmap = nnaccel_dmabuf_vunmap,
	.release = nnaccel_dmabuf_release,
};

/*
 * Allocates pages until the dma-buf has @num_pages. If memory is short, the caller gets -ENOMEM;
 * the OOM killer is not invoked.
 */
static int nnaccel_dmabuf_fill(struct nnaccel_dmabuf *memory, unsigned long num_pages)
{
	unsigned int i, order = NNACCEL_DMABUF_ORDER;

	while (memory->num_pages < num_pages) {
		unsigned long left = num_pages - memory->num_pages;
		gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
		struct page *page;

		if (fatal_signal_pending(current))
			return -EINTR;
		order = min_t(unsigned int, order, ilog2(left));
		gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
		page = alloc_pages(gfp, order);
		if (!page) {
			if (!order)
				return -ENOMEM;
			order--;
			continue;
		}
		split_page(page, order);
		for (i = 0; i < 1 << order; i++)
			memory->pages[memory->num_pages++] = page + i;
		cond_resched();
	}
	return 0;
}

static struct nnaccel_dmabuf *nnaccel_dmabuf_alloc(struct nnaccel_account *account,
						   unsigned long num_pages)
{
	struct nnaccel_dmabuf *memory;
	int ret;

	memory = kzalloc(sizeof(*memory), GFP_KERNEL_ACCOUNT);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	memory->account = account;
	mutex_init(&memory->lock);
	INIT_LIST_HEAD(&memory->attachments);
	INIT_LIST_HEAD(&memory->pools);
	memory->pages = kvmalloc_array(num_pages, sizeof(*memory->pages), GFP_KERNEL_ACCOUNT);
	ret = memory->pages ? nnaccel_dmabuf_fill(memory, num_pages) : -ENOMEM;
	if (ret) {
		nnaccel_dmabuf_free(memory);
		return ERR_PTR(ret);
	}
	return memory;
}

/**
 * nnaccel_dmabuf_create() - Allocates memory and charges it to a context
 * @account: the context's account
 * @length: length in bytes, at least 1; rounded up to pages
 *
 * Return: the dma-buf or an error pointer: -EDQUOT, -ENOMEM, -EINTR.
 */
struct dma_buf *nnaccel_dmabuf_create(struct nnaccel_account *account, u64 length)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct nnaccel_dmabuf *memory;
	struct dma_buf *dmabuf;
	int ret;

	info.ops = &nnaccel_dmabuf_ops;
	info.size = PAGE_ALIGN(length);
	info.flags = O_RDWR;

	ret = nnaccel_charge(account, info.size);
	if (ret)
		return ERR_PTR(ret);
	memory = nnaccel_dmabuf_alloc(account, info.size >> PAGE_SHIFT);
	if (IS_ERR(memory)) {
		nnaccel_uncharge(account, info.size);
		return ERR_CAST(memory);
	}
	info.priv = memory;
	nnaccel_account_get(account);
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		nnaccel_dmabuf_free(memory);
		nnaccel_uncharge(account, info.size);
		nnaccel_account_put(account);
	}
	return dmabuf;
}

/**
 * nnaccel_dmabuf_is_ours() - Returns whether this module allocated the memory of a dma-buf
 * @dmabuf: the dma-buf
 *
 * Return: true if this module allocated the memory.
 */
bool nnaccel_dmabuf_is_ours(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &nnaccel_dmabuf_ops;
}

/* Returns the number of physically contiguous pages from page @i on, at most @max. */
static unsigned long nnaccel_dmabuf_run(const struct nnaccel_dmabuf *memory, unsigned long i,
					unsigned long max)
{
	unsigned long n = 1;

	/*
	 * Compare frame numbers, because adjacent struct pages may describe pages that are not
	 * adjacent.
	 */
	while (n < max && page_to_pfn(memory->pages[i + n]) == page_to_pfn(memory->pages[i]) + n)
		n++;
	return n;
}

/**
 * nnaccel_dmabuf_copy() - Copies between user memory and memory that this module allocated
 * @dmabuf: the dma-buf, allocated by this module
 * @user: address of the user memory
 * @length: number of bytes from the start of the dma-buf, at most its size
 * @in: copy into the dma-buf
 *
 * Return: 0, -EFAULT, or -EINTR if the caller was killed.
 */
int nnaccel_dmabuf_copy(const struct dma_buf *dmabuf, void __user *user, u64 length, bool in)
{
	const struct nnaccel_dmabuf *memory = dmabuf->priv;
	unsigned long i, n;
	size_t bytes;

	for (i = 0; length; i += n) {
		void *at = page_address(memory->pages[i]);

		n = nnaccel_dmabuf_run(memory, i, min(memory->num_pages - i,
						      1UL << NNACCEL_DMABUF_ORDER));
		bytes = min_t(u64, length, (u64)n << PAGE_SHIFT);
		if (in ? copy_from_user(at, user, bytes) : copy_to_user(user, at, bytes))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		user += bytes;
		length -= bytes;
	}
	return 0;
}

/**
 * nnaccel_dmabuf_copy_between() - Copies between two dma-bufs that this module allocated
 * @to: the target
 * @to_offset: offset in the target, in bytes
 * @from: the source, another dma-buf
 * @from_offset: offset in the source, in bytes
 * @length: number of bytes; must fit both dma-bufs
 *
 * Return: 0, or -EINTR if the caller was killed.
 */
int nnaccel_dmabuf_copy_between(const struct dma_buf *to, u64 to_offset,
				const struct dma_buf *from, u64 from_offset, u64 length)
{
	const struct nnaccel_dmabuf *target = to->priv, *source = from->priv;
	size_t bytes;

	for (; length; length -= bytes) {
		bytes = min_t(u64, length, PAGE_SIZE - max(offset_in_page(to_offset),
							   offset_in_page(from_offset)));
		memcpy(page_address(target->pages[to_offset >> PAGE_SHIFT]) +
		       offset_in_page(to_offset),
		       page_address(source->pages[from_offset >> PAGE_SHIFT]) +
		       offset_in_page(from_offset), bytes);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		to_offset += bytes;
		from_offset += bytes;
	}
	return 0;
}
