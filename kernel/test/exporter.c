// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: an exporter of dma-bufs for the selftests. A test can make the exporter refuse, block or
 * interrupt CPU accesses, and add and signal fences. The exporter counts CPU accesses. Closing the
 * file that made a buffer frees the buffer's memory.
 *
 * The exporter's module also has a device that maps dma-bufs and counts syncs, and hardware on the
 * bus "platform" that can be unbound from its driver.
 */

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-resv.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/swiotlb.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "../compat.h"
#include "exporter.h"

#define EXPORTER_MAX_FENCES	8

/**
 * struct exporter - An open file and its buffer
 * @refs: references of the file and its buffers
 * @lock: protects the fields below
 * @dmabuf: the buffer, with a reference until the file is closed; NULL if there is none yet
 * @refused: EXPORTER_NO_* and other bits of EXPORTER_REFUSE
 * @gone: the file is closed
 * @failures: failures of the next calls
 * @counts: counters for EXPORTER_COUNTS
 * @wait: blocked calls; they read @refused and @gone without the lock
 * @attachment: the attachment of the test's device to a dma-buf, or NULL
 * @table: the mapping of the attachment, or NULL
 * @direction: the direction of the mapping
 * @num_fences: number of fences to signal
 * @fences: the fences
 * @fence_lock: lock of the fences
 * @pages: the memory
 */
struct exporter {
	struct kref refs;
	struct mutex lock;	/* not held while the exporter calls the dma-buf core */
	struct dma_buf *dmabuf;
	unsigned long refused;
	bool gone;
	struct exporter_failures failures;
	struct exporter_counts counts;
	wait_queue_head_t wait;
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
	enum dma_data_direction direction;
	unsigned int num_fences;
	struct dma_fence *fences[EXPORTER_MAX_FENCES];
	spinlock_t fence_lock;	/* taken by dma-fence */
	struct page *pages[EXPORTER_NUM_PAGES];
};

static atomic_t exporter_to_cpu;
static atomic_t exporter_to_device;

static void exporter_free(struct kref *refs)
{
	struct exporter *e = container_of(refs, struct exporter, refs);
	int i;

	for (i = 0; i < EXPORTER_NUM_PAGES; i++)
		if (e->pages[i])
			__free_page(e->pages[i]);
	kfree(e);
}

static struct miscdevice exporter_misc;

#if defined(CONFIG_DMA_OPS) || defined(CONFIG_ARCH_HAS_DMA_OPS)

/* True if the test's device has DMA operations that count syncs of its mappings. */
static bool exporter_counts_syncs;

static int exporter_map_sg(struct device *dev, struct scatterlist *sgl, int n,
			   enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, n, i) {
		sg_dma_address(sg) = sg_phys(sg);
		sg_dma_len(sg) = sg->length;
	}
	return n;
}

static void exporter_unmap_sg(struct device *dev, struct scatterlist *sgl, int n,
			      enum dma_data_direction dir, unsigned long attrs)
{
}

static void exporter_sync_for_cpu(struct device *dev, struct scatterlist *sgl, int n,
				  enum dma_data_direction dir)
{
	atomic_inc(&exporter_to_cpu);
}

static void exporter_sync_for_device(struct device *dev, struct scatterlist *sgl, int n,
				     enum dma_data_direction dir)
{
	atomic_inc(&exporter_to_device);
}

static const struct dma_map_ops exporter_dma_ops = {
	.map_sg = exporter_map_sg,
	.unmap_sg = exporter_unmap_sg,
	.sync_sg_for_cpu = exporter_sync_for_cpu,
	.sync_sg_for_device = exporter_sync_for_device,
};

static int exporter_make_device(struct device *dev)
{
	/*
	 * With the kernel's parameter swiotlb=force, the test's device uses bounce buffers, as real
	 * hardware would.
	 */
	exporter_counts_syncs = !is_swiotlb_force_bounce(dev);
	if (exporter_counts_syncs)
		set_dma_ops(dev, &exporter_dma_ops);
	return dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64));
}

#else

static const bool exporter_counts_syncs;

static int exporter_make_device(struct device *dev)
{
	/* Ignore the error: if the device has no DMA mask, attaching the device fails. */
	dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64));
	return 0;
}

#endif

static struct sg_table *exporter_map(struct dma_buf_attachment *attach,
				     enum dma_data_direction dir)
{
	struct exporter *e = attach->dmabuf->priv;
	struct sg_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	int ret;

	if (!table)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table_from_pages(table, e->pages, EXPORTER_NUM_PAGES, 0,
					EXPORTER_NUM_PAGES * PAGE_SIZE, GFP_KERNEL);
	if (!ret) {
		ret = dma_map_sgtable(attach->dev, table, dir, 0);
		if (ret)
			sg_free_table(table);
	}
	if (!ret)
		return table;
	kfree(table);
	return ERR_PTR(ret);
}

static void exporter_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
			   enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, table, dir, 0);
	sg_free_table(table);
	kfree(table);
}

/* Waits for fences of writers, like drivers whose devices signal fences. */
static int exporter_wait_for_fences(struct dma_buf *dmabuf)
{
	long ret = dma_resv_lock_interruptible(dmabuf->resv, NULL);

	if (ret)
		return ret;
	ret = dma_resv_wait_timeout(dmabuf->resv, DMA_RESV_USAGE_WRITE, true,
				    MAX_SCHEDULE_TIMEOUT);
	dma_resv_unlock(dmabuf->resv);
	return ret < 0 ? ret : 0;
}

static int exporter_block(struct dma_buf *dmabuf, bool begin)
{
	unsigned long bit = begin ? EXPORTER_BEGIN_BLOCKS : EXPORTER_END_BLOCKS;
	unsigned long waits = begin ? EXPORTER_BEGIN_WAITS_FOR_FENCES :
				      EXPORTER_END_WAITS_FOR_FENCES;
	struct exporter *e = dmabuf->priv;
	int ret;

	mutex_lock(&e->lock);
	e->counts.calls++;
	e->counts.blocked++;
	mutex_unlock(&e->lock);
	ret = wait_event_killable(e->wait, !(READ_ONCE(e->refused) & bit) || READ_ONCE(e->gone));
	if (!ret && READ_ONCE(e->refused) & waits)
		ret = exporter_wait_for_fences(dmabuf);
	mutex_lock(&e->lock);
	e->counts.blocked--;
	mutex_unlock(&e->lock);
	return ret;
}

static int exporter_access(struct dma_buf *dmabuf, enum dma_data_direction dir, bool begin)
{
	struct exporter *e = dmabuf->priv;
	u32 *failures = begin ? &e->failures.begins : &e->failures.ends;
	int ret;

	if (dir < DMA_BIDIRECTIONAL || dir > DMA_FROM_DEVICE)
		return -EINVAL;
	ret = exporter_block(dmabuf, begin);
	if (ret)
		return ret;
	mutex_lock(&e->lock);
	if (e->gone)
		ret = -ENODEV;
	else if (*failures && (*failures)--)
		ret = -(int)e->failures.error;
	else if (e->refused & (begin ? EXPORTER_NO_BEGIN : EXPORTER_NO_END))
		ret = -EBUSY;
	else
		(begin ? e->counts.begun : e->counts.ended)[dir]++;
	mutex_unlock(&e->lock);
	return ret;
}

static int exporter_begin(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	return exporter_access(dmabuf, dir, true);
}

static int exporter_end(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	return exporter_access(dmabuf, dir, false);
}

static vm_fault_t exporter_fault(struct vm_fault *vmf)
{
	struct exporter *e = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&e->lock);
	if (!e->gone && vmf->pgoff < EXPORTER_NUM_PAGES) {
		vmf->page = e->pages[vmf->pgoff];
		get_page(vmf->page);
		ret = 0;
	}
	mutex_unlock(&e->lock);
	return ret;
}

static const struct vm_operations_struct exporter_vm_ops = {
	.fault = exporter_fault,
};

static int exporter_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct exporter *e = dmabuf->priv;

	if (READ_ONCE(e->gone))
		return -ENODEV;
	vma->vm_ops = &exporter_vm_ops;
	vma->vm_private_data = e;
	return 0;
}

static void exporter_release_buffer(struct dma_buf *dmabuf)
{
	struct exporter *e = dmabuf->priv;

	kref_put(&e->refs, exporter_free);
}

static const struct dma_buf_ops exporter_ops = {
	.map_dma_buf = exporter_map,
	.unmap_dma_buf = exporter_unmap,
	.begin_cpu_access = exporter_begin,
	.end_cpu_access = exporter_end,
	.mmap = exporter_mmap,
	.release = exporter_release_buffer,
};

static const struct dma_buf_ops exporter_ops_without_mmap = {
	.map_dma_buf = exporter_map,
	.unmap_dma_buf = exporter_unmap,
	.release = exporter_release_buffer,
};

static int exporter_create(struct exporter *e, unsigned long refused)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	int fd;

	info.ops = refused & EXPORTER_NO_MMAP ? &exporter_ops_without_mmap : &exporter_ops;
	info.size = EXPORTER_NUM_PAGES * PAGE_SIZE;
	info.flags = O_RDWR;
	info.priv = e;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	kref_get(&e->refs);
	mutex_lock(&e->lock);
	e->refused = refused;
	swap(e->dmabuf, dmabuf);
	mutex_unlock(&e->lock);
	if (dmabuf)
		dma_buf_put(dmabuf);
	get_dma_buf(e->dmabuf);
	fd = dma_buf_fd(e->dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(e->dmabuf);
	return fd;
}

static const char *exporter_name(struct dma_fence *fence)
{
	return "nnaccel-exporter";
}

static const struct dma_fence_ops exporter_fence_ops = {
	.get_driver_name = exporter_name,
	.get_timeline_name = exporter_name,
};

static int exporter_fence(struct exporter *e, bool write)
{
	struct dma_buf *dmabuf = e->dmabuf;
	struct dma_fence *fence;
	int ret;

	if (!dmabuf)
		return -ENODEV;
	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return -ENOMEM;
	dma_fence_init(fence, &exporter_fence_ops, &e->fence_lock, dma_fence_context_alloc(1), 1);
	dma_resv_lock(dmabuf->resv, NULL);
	mutex_lock(&e->lock);
	ret = e->num_fences < EXPORTER_MAX_FENCES ? dma_resv_reserve_fences(dmabuf->resv, 1) :
						    -ENOSPC;
	if (!ret) {
		dma_resv_add_fence(dmabuf->resv, fence,
				   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
		e->fences[e->num_fences++] = fence;
	}
	mutex_unlock(&e->lock);
	dma_resv_unlock(dmabuf->resv);
	if (ret) {
		dma_fence_signal(fence);
		dma_fence_put(fence);
	}
	return ret;
}

static void exporter_signal(struct exporter *e, int error)
{
	mutex_lock(&e->lock);
	while (e->num_fences) {
		struct dma_fence *fence = e->fences[--e->num_fences];

		if (error)
			dma_fence_set_error(fence, error);
		dma_fence_signal(fence);
		dma_fence_put(fence);
	}
	mutex_unlock(&e->lock);
}

static int exporter_tell(struct exporter *e, struct exporter_counts __user *to)
{
	struct dma_buf *dmabuf = e->dmabuf;
	struct exporter_counts counts;
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	if (!dmabuf)
		return -ENODEV;
	mutex_lock(&e->lock);
	counts = e->counts;
	mutex_unlock(&e->lock);
	counts.fences = 0;
	counts.to_cpu = atomic_read(&exporter_to_cpu);
	counts.to_device = atomic_read(&exporter_to_device);
	dma_resv_lock(dmabuf->resv, NULL);
	dma_resv_for_each_fence(&cursor, dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, fence)
		counts.fences += !dma_fence_is_signaled(fence);
	dma_resv_unlock(dmabuf->resv);
	return copy_to_user(to, &counts, sizeof(counts)) ? -EFAULT : 0;
}

/* ---- a device that is not coherent and maps dma-bufs ---- */

static void exporter_told(struct dma_buf_attachment *attachment)
{
	struct exporter *e = attachment->importer_priv;

	/* Only count the requests to unmap; the test itself detaches the device. */
	WRITE_ONCE(e->counts.told, e->counts.told + 1);
}

static const struct dma_buf_attach_ops exporter_importer_ops = {
	.nnaccel_importer_told = exporter_told,
};

static int exporter_map_attachment(struct exporter *e)
{
	struct dma_buf *dmabuf = e->attachment->dmabuf;
	struct sg_table *table;

	dma_resv_lock(dmabuf->resv, NULL);
	table = dma_buf_map_attachment(e->attachment, e->direction);
	dma_resv_unlock(dmabuf->resv);
	if (IS_ERR(table))
		return PTR_ERR(table);
	e->table = table;
	return 0;
}

static void exporter_unmap_attachment(struct exporter *e)
{
	struct dma_buf *dmabuf = e->attachment->dmabuf;

	if (!e->table)
		return;
	dma_resv_lock(dmabuf->resv, NULL);
	dma_buf_unmap_attachment(e->attachment, e->table, e->direction);
	dma_resv_unlock(dmabuf->resv);
	e->table = NULL;
}

static void exporter_detach(struct exporter *e)
{
	struct dma_buf_attachment *attachment = e->attachment;
	struct dma_buf *dmabuf;

	if (!attachment)
		return;
	dmabuf = attachment->dmabuf;
	exporter_unmap_attachment(e);
	dma_buf_detach(dmabuf, attachment);
	dma_buf_put(dmabuf);
	e->attachment = NULL;
}

static int exporter_attach(struct exporter *e, const struct exporter_import *import)
{
	struct dma_buf_attachment *attachment;
	struct dma_buf *dmabuf;
	int ret;

	if (e->attachment)
		return -EOPNOTSUPP;
	if (import->direction > DMA_FROM_DEVICE)
		return -EINVAL;
	dmabuf = dma_buf_get(import->fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	attachment = dma_buf_dynamic_attach(dmabuf, exporter_misc.this_device,
					    import->dynamic ? &exporter_importer_ops : NULL, e);
	if (IS_ERR(attachment)) {
		dma_buf_put(dmabuf);
		return PTR_ERR(attachment);
	}
	e->attachment = attachment;
	e->direction = import->direction;
	ret = exporter_map_attachment(e);
	if (ret)
		exporter_detach(e);
	return ret;
}

static int exporter_import(struct exporter *e, const struct exporter_import __user *from)
{
	struct exporter_import import;

	if (copy_from_user(&import, from, sizeof(import)))
		return -EFAULT;
	return exporter_attach(e, &import);
}

static int exporter_remap(struct exporter *e)
{
	if (!e->attachment)
		return -ENODEV;
	exporter_unmap_attachment(e);
	return exporter_map_attachment(e);
}

/*
 * Simulates a DMA access by a CPU access; this works because DMA addresses of the test's device are
 * physical addresses.
 */
static int exporter_dma(struct exporter *e, struct exporter_dma __user *user)
{
	struct exporter_dma dma;
	struct scatterlist *sg;
	unsigned int i;
	u32 *at = NULL;

	if (copy_from_user(&dma, user, sizeof(dma)))
		return -EFAULT;
	if (!e->table || dma.offset % sizeof(*at))
		return -EINVAL;
	if (dma.write && e->direction == DMA_TO_DEVICE)
		return -EACCES;
	for_each_sgtable_dma_sg(e->table, sg, i) {
		if (dma.offset < sg_dma_len(sg)) {
			at = phys_to_virt(sg_dma_address(sg) + dma.offset);
			break;
		}
		dma.offset -= sg_dma_len(sg);
	}
	if (!at)
		return -ERANGE;
	if (dma.write)
		WRITE_ONCE(*at, dma.value);
	else
		dma.value = READ_ONCE(*at);
	return put_user(dma.value, &user->value);
}

static int exporter_fail(struct exporter *e, const struct exporter_failures __user *from)
{
	struct exporter_failures failures;

	if (copy_from_user(&failures, from, sizeof(failures)))
		return -EFAULT;
	mutex_lock(&e->lock);
	e->failures = failures;
	mutex_unlock(&e->lock);
	return 0;
}

static long exporter_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct exporter *e = file->private_data;

	switch (cmd) {
	case EXPORTER_CREATE:
		return exporter_create(e, arg);
	case EXPORTER_REFUSE:
		mutex_lock(&e->lock);
		e->refused = arg;
		mutex_unlock(&e->lock);
		wake_up_all(&e->wait);
		return 0;
	case EXPORTER_COUNTS:
		return exporter_tell(e, (void __user *)arg);
	case EXPORTER_FENCE:
		return exporter_fence(e, arg);
	case EXPORTER_SIGNAL:
		exporter_signal(e, 0);
		return 0;
	case EXPORTER_SIGNAL_ERROR:
		exporter_signal(e, -(int)arg);
		return 0;
	case EXPORTER_FAIL:
		return exporter_fail(e, (void __user *)arg);
	case EXPORTER_ATTACH:
		return exporter_counts_syncs ?
		       exporter_attach(e, &(struct exporter_import){ .fd = arg }) : -EOPNOTSUPP;
	case EXPORTER_IMPORT:
		return exporter_import(e, (void __user *)arg);
	case EXPORTER_REMAP:
		return exporter_remap(e);
	case EXPORTER_DMA:
		return exporter_dma(e, (void __user *)arg);
	case EXPORTER_DETACH:
		exporter_detach(e);
		return 0;
	default:
		return -ENOTTY;
	}
}

static int exporter_open(struct inode *inode, struct file *file)
{
	struct exporter *e = kzalloc(sizeof(*e), GFP_KERNEL);
	int i;

	if (!e)
		return -ENOMEM;
	kref_init(&e->refs);
	mutex_init(&e->lock);
	init_waitqueue_head(&e->wait);
	spin_lock_init(&e->fence_lock);
	for (i = 0; i < EXPORTER_NUM_PAGES; i++) {
		e->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!e->pages[i]) {
			kref_put(&e->refs, exporter_free);
			return -ENOMEM;
		}
	}
	file->private_data = e;
	return 0;
}

static int exporter_release(struct inode *inode, struct file *file)
{
	struct exporter *e = file->private_data;
	struct dma_buf *dmabuf = e->dmabuf;

	exporter_signal(e, 0);
	mutex_lock(&e->lock);
	e->gone = true;
	mutex_unlock(&e->lock);
	wake_up_all(&e->wait);
	exporter_detach(e);
	if (dmabuf) {
		unmap_mapping_range(dmabuf->file->f_mapping, 0, 0, 1);
		dma_buf_put(dmabuf);
	}
	kref_put(&e->refs, exporter_free);
	return 0;
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.open = exporter_open,
	.release = exporter_release,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = EXPORTER_DEVICE,
	.fops = &exporter_fops,
	.mode = 0600,
};

static struct platform_driver exporter_driver = {
	.driver.name = EXPORTER_DEVICE,
};

static struct platform_device *exporter_hardware;

static int __init exporter_init(void)
{
	int ret = platform_driver_register(&exporter_driver);

	if (ret)
		return ret;
	exporter_hardware = platform_device_register_simple(EXPORTER_DEVICE, PLATFORM_DEVID_NONE,
							    NULL, 0);
	ret = PTR_ERR_OR_ZERO(exporter_hardware);
	if (ret)
		goto err_driver;
	ret = misc_register(&exporter_misc);
	if (ret)
		goto err_hardware;
	ret = exporter_make_device(exporter_misc.this_device);
	if (!ret)
		return 0;
	misc_deregister(&exporter_misc);
err_hardware:
	platform_device_unregister(exporter_hardware);
err_driver:
	platform_driver_unregister(&exporter_driver);
	return ret;
}
module_init(exporter_init);

static void __exit exporter_exit(void)
{
	misc_deregister(&exporter_misc);
	platform_device_unregister(exporter_hardware);
	platform_driver_unregister(&exporter_driver);
}
module_exit(exporter_exit);

MODULE_DESCRIPTION("An exporter of dma-bufs for the selftests of nnaccel");
MODULE_LICENSE("GPL");
NNACCEL_IMPORT_DMA_BUF;
