// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: the dma-bufs behind allocated pools. Pages of the page allocator, zeroed, charged to
 * a context until the last reference to the dma-buf is gone.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "nnaccel.h"

/* Huge pages are tried first: fewer calls, longer copies, fewer entries for devices to map. */
#define NNACCEL_BUFFER_ORDER	(PMD_SHIFT - PAGE_SHIFT)

/**
 * struct nnaccel_buffer - The memory of one dma-buf
 * @ctx: who is charged
 * @num_pages: pages
 * @lock: protects @attachments and their state
 * @attachments: devices
 * @pages: the pages
 */
struct nnaccel_buffer {
	struct nnaccel_context *ctx;
	unsigned long num_pages;
	struct mutex lock;	/* taken by the dma-buf core's callers */
	struct list_head attachments;
	struct page **pages;
};

/**
 * struct nnaccel_attachment - A device that the memory is attached to
 * @node: in the buffer's list
 * @dev: the device
 * @table: the pages, as the device sees them
 * @dir: how they are mapped; DMA_NONE: they are not
 */
struct nnaccel_attachment {
	struct list_head node;
	struct device *dev;
	struct sg_table table;
	enum dma_data_direction dir;
};

static int nnaccel_buffer_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct nnaccel_buffer *buffer = dmabuf->priv;
	struct nnaccel_attachment *a;
	int ret;

	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	ret = sg_alloc_table_from_pages_segment(&a->table, buffer->pages, buffer->num_pages, 0,
						dmabuf->size, dma_get_max_seg_size(attach->dev),
						GFP_KERNEL_ACCOUNT);
	if (ret) {
		kfree(a);
		return ret;
	}
	a->dev = attach->dev;
	a->dir = DMA_NONE;
	attach->priv = a;

	mutex_lock(&buffer->lock);
	list_add(&a->node, &buffer->attachments);
	mutex_unlock(&buffer->lock);
	return 0;
}

static void nnaccel_buffer_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct nnaccel_buffer *buffer = dmabuf->priv;
	struct nnaccel_attachment *a = attach->priv;

	mutex_lock(&buffer->lock);
	list_del(&a->node);
	mutex_unlock(&buffer->lock);
	sg_free_table(&a->table);
	kfree(a);
}

static struct sg_table *nnaccel_buffer_map(struct dma_buf_attachment *attach,
					   enum dma_data_direction dir)
{
	struct nnaccel_buffer *buffer = attach->dmabuf->priv;
	struct nnaccel_attachment *a = attach->priv;
	int ret;

	ret = dma_map_sgtable(attach->dev, &a->table, dir, 0);
	if (!ret && !a->table.nents)
		ret = -EIO;
	if (ret)
		return ERR_PTR(ret);
	mutex_lock(&buffer->lock);
	a->dir = dir;
	mutex_unlock(&buffer->lock);
	return &a->table;
}

static void nnaccel_buffer_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
				 enum dma_data_direction dir)
{
	struct nnaccel_buffer *buffer = attach->dmabuf->priv;
	struct nnaccel_attachment *a = attach->priv;

	mutex_lock(&buffer->lock);
	a->dir = DMA_NONE;
	mutex_unlock(&buffer->lock);
	dma_unmap_sgtable(attach->dev, table, dir, 0);
}

static int nnaccel_buffer_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct nnaccel_buffer *buffer = dmabuf->priv;
	struct nnaccel_attachment *a;

	mutex_lock(&buffer->lock);
	list_for_each_entry(a, &buffer->attachments, node)
		if (a->dir != DMA_NONE)
			dma_sync_sgtable_for_cpu(a->dev, &a->table, a->dir);
	mutex_unlock(&buffer->lock);
	return 0;
}

static int nnaccel_buffer_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct nnaccel_buffer *buffer = dmabuf->priv;
	struct nnaccel_attachment *a;

	mutex_lock(&buffer->lock);
	list_for_each_entry(a, &buffer->attachments, node)
		if (a->dir != DMA_NONE)
			dma_sync_sgtable_for_device(a->dev, &a->table, a->dir);
	mutex_unlock(&buffer->lock);
	return 0;
}

/* Pages that were dropped from a mapping (MADV_DONTNEED) come back. */
static vm_fault_t nnaccel_buffer_fault(struct vm_fault *vmf)
{
	struct nnaccel_buffer *buffer = vmf->vma->vm_private_data;

	if (vmf->pgoff >= buffer->num_pages)
		return VM_FAULT_SIGBUS;
	vmf->page = buffer->pages[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct nnaccel_buffer_vm_ops = {
	.fault = nnaccel_buffer_fault,
};

/* The mapping holds the dma-buf's file; dma_buf_mmap() checked the range. */
static int nnaccel_buffer_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct nnaccel_buffer *buffer = dmabuf->priv;
	unsigned long n = vma_pages(vma);

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	nnaccel_vm_flags_mod(vma, VM_DONTEXPAND, 0);
	vma->vm_ops = &nnaccel_buffer_vm_ops;
	vma->vm_private_data = buffer;
	return vm_insert_pages(vma, vma->vm_start, buffer->pages + vma->vm_pgoff, &n);
}

/* The dma-buf core counts mappings and asks for the first only. */
static int nnaccel_buffer_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct nnaccel_buffer *buffer = dmabuf->priv;
	void *vaddr;

	vaddr = vmap(buffer->pages, buffer->num_pages, VM_MAP, PAGE_KERNEL);
	if (!vaddr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, vaddr);
	return 0;
}

static void nnaccel_buffer_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
	iosys_map_clear(map);
}

static void nnaccel_buffer_free(struct nnaccel_buffer *buffer)
{
	unsigned long i;

	for (i = 0; i < buffer->num_pages; i++)
		__free_page(buffer->pages[i]);
	kvfree(buffer->pages);
	mutex_destroy(&buffer->lock);
	kfree(buffer);
}

static void nnaccel_buffer_release(struct dma_buf *dmabuf)
{
	struct nnaccel_buffer *buffer = dmabuf->priv;
	struct nnaccel_context *ctx = buffer->ctx;

	nnaccel_buffer_free(buffer);
	nnaccel_uncharge(ctx, dmabuf->size);
	nnaccel_context_put(ctx);
}

static const struct dma_buf_ops nnaccel_dmabuf_ops = {
	.attach = nnaccel_buffer_attach,
	.detach = nnaccel_buffer_detach,
	.map_dma_buf = nnaccel_buffer_map,
	.unmap_dma_buf = nnaccel_buffer_unmap,
	.begin_cpu_access = nnaccel_buffer_begin_cpu_access,
	.end_cpu_access = nnaccel_buffer_end_cpu_access,
	.mmap = nnaccel_buffer_mmap,
	.vmap = nnaccel_buffer_vmap,
	.vunmap = nnaccel_buffer_vunmap,
	.release = nnaccel_buffer_release,
};

/*
 * Fills @buffer->pages up to @num_pages. A refusal is the caller's to hear of: no order waits
 * for the OOM killer.
 */
static int nnaccel_buffer_fill(struct nnaccel_buffer *buffer, unsigned long num_pages)
{
	unsigned int i, order = NNACCEL_BUFFER_ORDER;

	while (buffer->num_pages < num_pages) {
		unsigned long left = num_pages - buffer->num_pages;
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
			buffer->pages[buffer->num_pages++] = page + i;
		cond_resched();
	}
	return 0;
}

static struct nnaccel_buffer *nnaccel_buffer_alloc(struct nnaccel_context *ctx,
						   unsigned long num_pages)
{
	struct nnaccel_buffer *buffer;
	int ret;

	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return ERR_PTR(-ENOMEM);
	buffer->ctx = ctx;
	mutex_init(&buffer->lock);
	INIT_LIST_HEAD(&buffer->attachments);
	buffer->pages = kvmalloc_array(num_pages, sizeof(*buffer->pages), GFP_KERNEL_ACCOUNT);
	ret = buffer->pages ? nnaccel_buffer_fill(buffer, num_pages) : -ENOMEM;
	if (ret) {
		nnaccel_buffer_free(buffer);
		return ERR_PTR(ret);
	}
	return buffer;
}

/**
 * nnaccel_dmabuf_create() - Allocate memory, charged to a context
 * @ctx: the context
 * @length: bytes, at least 1 and far from overflow; rounded up to pages
 *
 * Return: the dma-buf or an error pointer: -EDQUOT, -ENOMEM, -EINTR.
 */
struct dma_buf *nnaccel_dmabuf_create(struct nnaccel_context *ctx, u64 length)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct nnaccel_buffer *buffer;
	struct dma_buf *dmabuf;
	int ret;

	info.ops = &nnaccel_dmabuf_ops;
	info.size = PAGE_ALIGN(length);
	info.flags = O_RDWR;

	ret = nnaccel_charge(ctx, info.size);
	if (ret)
		return ERR_PTR(ret);
	buffer = nnaccel_buffer_alloc(ctx, info.size >> PAGE_SHIFT);
	if (IS_ERR(buffer)) {
		nnaccel_uncharge(ctx, info.size);
		return ERR_CAST(buffer);
	}
	info.priv = buffer;
	nnaccel_context_get(ctx);
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		nnaccel_buffer_free(buffer);
		nnaccel_uncharge(ctx, info.size);
		nnaccel_context_put(ctx);
	}
	return dmabuf;
}

/**
 * nnaccel_dmabuf_is_ours() - Is a dma-buf memory that this module allocated?
 * @dmabuf: the dma-buf
 *
 * Return: whether it is.
 */
bool nnaccel_dmabuf_is_ours(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &nnaccel_dmabuf_ops;
}

/* How many pages from page @i on lie one behind the other, of @max. */
static unsigned long nnaccel_buffer_run(const struct nnaccel_buffer *buffer, unsigned long i,
					unsigned long max)
{
	unsigned long n = 1;

	while (n < max && buffer->pages[i + n] == buffer->pages[i] + n)
		n++;
	return n;
}

/**
 * nnaccel_dmabuf_copy() - Copy user memory into memory that this module allocated, or out of it
 * @dmabuf: the dma-buf: one of ours
 * @user: the user memory
 * @length: bytes, from the dma-buf's first on, no more than it has
 * @in: into it
 *
 * Return: 0, -EFAULT, or -EINTR: the caller was killed.
 */
int nnaccel_dmabuf_copy(const struct dma_buf *dmabuf, void __user *user, u64 length, bool in)
{
	const struct nnaccel_buffer *buffer = dmabuf->priv;
	unsigned long i, n;
	size_t bytes;

	for (i = 0; length; i += n) {
		void *at = page_address(buffer->pages[i]);

		n = nnaccel_buffer_run(buffer, i, min(buffer->num_pages - i,
						      1UL << NNACCEL_BUFFER_ORDER));
		bytes = min_t(u64, length, (u64)n << PAGE_SHIFT);
		if (!nnaccel_user_copy(&buffer->ctx->copy_ways[in], at, user, bytes, in))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		user += bytes;
		length -= bytes;
	}
	return 0;
}
