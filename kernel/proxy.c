// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: proxies, which are dma-bufs that stand for grants. An engine imports a proxy into its
 * own driver. A proxy gives access only to the granted memory, with the protection of the grant,
 * and is revoked when the grant ends.
 *
 * A proxy has its own reservation object, separate from the reservation object of the memory. When
 * a worker fetches a command, the fences that the command's memory had at submission have
 * signalled, or the worker gets these fences. Fences that are added to the memory after the
 * submission may wait for the command, so the engine's driver must not wait for these fences.
 * NNACCEL_COMMIT_FENCE adds the fences of the engine's driver to the reservation object of the
 * memory.
 *
 * If this module allocated the granted memory, attachments to the proxy work like attachments to
 * the memory's own dma-buf. If another exporter allocated the memory, each attachment to the proxy
 * has a nested attachment to that exporter's dma-buf. A nested attachment stays mapped during its
 * whole life, because the memory's reservation object cannot be locked while the proxy's
 * reservation object is locked. No lock of this module is held during a call of another exporter.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>

#include "account.h"
#include "compat.h"
#include "memory.h"
#include "session.h"
#include "trace.h"

#define NNACCEL_PROXY_BYTES	(sizeof(struct nnaccel_proxy) + NNACCEL_FILE_BYTES)

/**
 * struct nnaccel_proxy - A dma-buf that stands for a grant
 * @memory: the dma-buf of the granted pool, with a reference
 * @account: account that is charged, with a reference
 * @offset: offset of the grant in @memory, in bytes
 * @writable: the proxy may be written
 * @trusts: the importer may also map the proxy for writing, but is trusted not
 *	to write
 * @device: only devices can access the memory
 * @attached: number of attachments
 * @revoked: attaching and mapping fail from now on; never cleared
 * @node: ctx->lock of the pool: entry in nnaccel_pool.left
 * @revoke: notifies importers; has a reference to the proxy once it is queued
 * @dmabuf: the dma-buf of the proxy, for @revoke
 */
struct nnaccel_proxy {
	struct dma_buf *memory;
	struct nnaccel_account *account;
	u64 offset;
	bool writable;
	bool trusts;
	bool device;
	atomic_t attached;
	bool revoked;
	struct list_head node;
	struct work_struct revoke;
	struct dma_buf *dmabuf;
};

/**
 * struct nnaccel_nested - An attachment to memory of another exporter
 * @attach: the attachment
 * @table: table of the mapping
 * @dir: direction of the mapping
 */
struct nnaccel_nested {
	struct dma_buf_attachment *attach;
	struct sg_table *table;
	enum dma_data_direction dir;
};

static int nnaccel_nested_attach(const struct nnaccel_proxy *proxy,
				 struct dma_buf_attachment *attach)
{
	struct nnaccel_nested *nested = kzalloc(sizeof(*nested), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!nested)
		return -ENOMEM;
	nested->dir = proxy->writable || proxy->trusts ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	nested->attach = dma_buf_attach(proxy->memory, attach->dev);
	ret = PTR_ERR_OR_ZERO(nested->attach);
	if (ret)
		goto err_free;
	nested->table = nnaccel_map_attachment(nested->attach, nested->dir);
	ret = PTR_ERR_OR_ZERO(nested->table);
	if (ret)
		goto err_detach;
	attach->priv = nested;
	return 0;

err_detach:
	dma_buf_detach(proxy->memory, nested->attach);
err_free:
	kfree(nested);
	return ret;
}

static int nnaccel_proxy_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;
	int ret;

	atomic_inc(&proxy->attached);
	/*
	 * Pairs with the smp_store_mb() in nnaccel_proxy_revoke_all(), which reads @attached
	 * afterwards.
	 */
	smp_mb__after_atomic();
	if (READ_ONCE(proxy->revoked))
		ret = -ENODEV;
	else if (nnaccel_dmabuf_is_ours(proxy->memory))
		ret = nnaccel_dmabuf_attach_part(proxy->memory, proxy->offset, dmabuf->size,
						 attach);
	else
		ret = nnaccel_nested_attach(proxy, attach);
	if (ret)
		atomic_dec(&proxy->attached);
	return ret;
}

static void nnaccel_proxy_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;
	struct nnaccel_nested *nested = attach->priv;

	if (nnaccel_dmabuf_is_ours(proxy->memory)) {
		nnaccel_dmabuf_detach(dmabuf, attach);
	} else {
		nnaccel_unmap_attachment(nested->attach, nested->table, nested->dir);
		dma_buf_detach(proxy->memory, nested->attach);
		kfree(nested);
	}
	atomic_dec(&proxy->attached);
}

/*
 * A dynamic importer maps a proxy with the proxy's reservation object locked. A revocation after
 * the check of @revoked therefore notifies the importer only after the mapping. Importers that are
 * not dynamic are not notified of revocations.
 */
static struct sg_table *nnaccel_proxy_map(struct dma_buf_attachment *attach,
					  enum dma_data_direction dir)
{
	const struct nnaccel_proxy *proxy = attach->dmabuf->priv;
	const struct nnaccel_nested *nested = attach->priv;

	if (READ_ONCE(proxy->revoked))
		return ERR_PTR(-ENODEV);
	if (!proxy->writable && dir != DMA_TO_DEVICE &&
	    !(proxy->trusts && dir == DMA_BIDIRECTIONAL))
		return ERR_PTR(-EACCES);
	return nnaccel_dmabuf_is_ours(proxy->memory) ? nnaccel_dmabuf_map(attach, dir) :
						       nested->table;
}

static void nnaccel_proxy_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
				enum dma_data_direction dir)
{
	const struct nnaccel_proxy *proxy = attach->dmabuf->priv;

	if (nnaccel_dmabuf_is_ours(proxy->memory))
		nnaccel_dmabuf_unmap(attach, table, dir);
}

static int nnaccel_proxy_check_cpu(const struct nnaccel_proxy *proxy, bool write)
{
	if (proxy->device)
		return -EOPNOTSUPP;
	return write && !proxy->writable ? -EACCES : 0;
}

static int nnaccel_proxy_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;

	if (READ_ONCE(proxy->revoked))
		return -ENODEV;
	/* The direction DMA_FROM_DEVICE means that the CPU only reads. */
	return nnaccel_proxy_check_cpu(proxy, dir != DMA_FROM_DEVICE) ?:
	       dma_buf_begin_cpu_access(proxy->memory, dir);
}

static int nnaccel_proxy_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;

	return nnaccel_proxy_check_cpu(proxy, dir != DMA_FROM_DEVICE) ?:
	       dma_buf_end_cpu_access(proxy->memory, dir);
}

/* The dma-buf core has checked the range of the mapping. */
static int nnaccel_proxy_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;
	int ret = nnaccel_proxy_check_cpu(proxy, vma->vm_flags & VM_WRITE);

	if (READ_ONCE(proxy->revoked))
		return -ENODEV;
	if (ret || vma->vm_flags & VM_EXEC)
		return ret ?: -EACCES;
	return nnaccel_map_dmabuf(vma, proxy->memory,
				  proxy->offset + ((u64)vma->vm_pgoff << PAGE_SHIFT),
				  proxy->writable);
}

static void nnaccel_proxy_free(struct nnaccel_proxy *proxy)
{
	dma_buf_put(proxy->memory);
	nnaccel_uncharge_kernel(proxy->account, NNACCEL_PROXY_BYTES);
	nnaccel_account_put(proxy->account);
	kfree(proxy);
}

static void nnaccel_proxy_release(struct dma_buf *dmabuf)
{
	nnaccel_proxy_free(dmabuf->priv);
	nnaccel_count(NNACCEL_PROXIES, -1);
}

static const struct dma_buf_ops nnaccel_proxy_ops = {
	.attach = nnaccel_proxy_attach,
	.detach = nnaccel_proxy_detach,
	.map_dma_buf = nnaccel_proxy_map,
	.unmap_dma_buf = nnaccel_proxy_unmap,
	.begin_cpu_access = nnaccel_proxy_begin_cpu_access,
	.end_cpu_access = nnaccel_proxy_end_cpu_access,
	.mmap = nnaccel_proxy_mmap,
	.release = nnaccel_proxy_release,
};

/**
 * nnaccel_dmabuf_is_proxy() - Returns whether a dma-buf is a proxy
 * @dmabuf: the dma-buf
 *
 * A proxy cannot be imported as a pool; otherwise proxies of proxies could be nested without limit.
 *
 * Return: true if the dma-buf is a proxy.
 */
bool nnaccel_dmabuf_is_proxy(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &nnaccel_proxy_ops;
}

/*
 * An importer's driver may hold the lock of the reservation object for a long time, so a work item
 * waits for the lock. The module's exit function waits for the work item.
 */
static void nnaccel_proxy_revoke(struct work_struct *work)
{
	struct nnaccel_proxy *proxy = container_of(work, struct nnaccel_proxy, revoke);
	struct dma_buf *dmabuf = proxy->dmabuf;

	dma_resv_lock(dmabuf->resv, NULL);
	nnaccel_dma_buf_invalidate(dmabuf);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_put(dmabuf);
}

static struct dma_buf *nnaccel_proxy_create(const struct nnaccel_pool *pool, bool writable)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *memory = pool->dmabuf, *dmabuf;
	struct nnaccel_proxy *proxy;
	int ret;

	info.ops = &nnaccel_proxy_ops;
	info.size = PAGE_ALIGN(pool->length);
	info.flags = writable ? O_RDWR : O_RDONLY;
	/*
	 * A proxy of another exporter's memory must cover the whole memory, because the proxy uses
	 * the exporter's scatter table.
	 */
	if (!nnaccel_dmabuf_is_ours(memory) && (pool->offset || info.size < memory->size))
		return ERR_PTR(-EOPNOTSUPP);
	proxy = kzalloc(sizeof(*proxy), GFP_KERNEL_ACCOUNT);
	if (!proxy)
		return ERR_PTR(-ENOMEM);
	ret = nnaccel_charge_kernel(pool->obj.ctx->account, NNACCEL_PROXY_BYTES);
	if (ret) {
		kfree(proxy);
		return ERR_PTR(ret);
	}
	get_dma_buf(memory);
	proxy->memory = memory;
	proxy->account = pool->obj.ctx->account;
	nnaccel_account_get(proxy->account);
	proxy->offset = pool->offset;
	proxy->writable = writable;
	proxy->trusts = pool->prot & NNACCEL_PROT_WRITE;
	proxy->device = pool->device;
	INIT_WORK(&proxy->revoke, nnaccel_proxy_revoke);
	info.priv = proxy;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		nnaccel_proxy_free(proxy);
		return dmabuf;
	}
	proxy->dmabuf = dmabuf;
	nnaccel_count(NNACCEL_PROXIES, 1);
	return dmabuf;
}

/**
 * nnaccel_proxy_get() - Returns the proxy of a pool's grant, and makes it if there is none
 * @session: the caller's session
 * @pool: the pool, a dma-buf with a grant in the session
 * @writable: a writable proxy, not a read-only one
 *
 * Return: the dma-buf with a reference, or an error pointer: -EOPNOTSUPP, -ESHUTDOWN, -EDQUOT,
 * -ENOMEM.
 */
struct dma_buf *nnaccel_proxy_get(const struct nnaccel_session *session, struct nnaccel_pool *pool,
				  bool writable)
{
	struct nnaccel_context *ctx = pool->obj.ctx;
	struct dma_buf **kept = &pool->proxies[writable];
	struct dma_buf *dmabuf = NULL, *new = NULL;

	mutex_lock(&ctx->lock);
	if (!*kept && !nnaccel_session_is_over(session)) {
		mutex_unlock(&ctx->lock);
		new = nnaccel_proxy_create(pool, writable);
		if (IS_ERR(new))
			return new;
		mutex_lock(&ctx->lock);
	}
	/*
	 * While ctx->lock was not held, another thread may have made the proxy, or the session may
	 * have ended, so check the session and *kept again.
	 */
	if (nnaccel_session_is_over(session)) {
		dmabuf = ERR_PTR(-ESHUTDOWN);
	} else {
		if (!*kept) {
			swap(*kept, new);
			trace_nnaccel_grant_fd(ctx, pool->grant, writable);
		}
		dmabuf = *kept;
		get_dma_buf(dmabuf);
	}
	mutex_unlock(&ctx->lock);
	if (new)
		dma_buf_put(new);
	return dmabuf;
}

/*
 * Returns whether a device may still access the memory of a proxy. An attached driver may begin a
 * job at any time. Drivers with explicit synchronisation add the fences of their jobs with
 * DMA_RESV_USAGE_BOOKKEEP.
 */
static bool nnaccel_proxy_is_used(const struct nnaccel_proxy *proxy)
{
	return atomic_read(&proxy->attached) ||
	       !dma_resv_test_signaled(proxy->dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * nnaccel_proxy_is_left() - Returns whether devices still use a pool after its grant has ended
 * @pool: the pool; ctx->lock is held
 *
 * Drops the proxies that no device uses any more. Dropping proxies under ctx->lock is possible,
 * because fput() defers the release of their files.
 *
 * Return: true if a device may use the pool by a proxy of an ended grant.
 */
bool nnaccel_proxy_is_left(struct nnaccel_pool *pool)
{
	struct nnaccel_proxy *proxy, *next;

	lockdep_assert_held(&pool->obj.ctx->lock);
	list_for_each_entry_safe(proxy, next, &pool->left, node) {
		if (nnaccel_proxy_is_used(proxy))
			continue;
		list_del(&proxy->node);
		dma_buf_put(proxy->dmabuf);
	}
	return !list_empty(&pool->left);
}

/**
 * nnaccel_proxy_forget_all() - Drops the proxies of ended grants
 * @pool: the pool, which is being freed
 */
void nnaccel_proxy_forget_all(struct nnaccel_pool *pool)
{
	struct nnaccel_proxy *proxy, *next;

	list_for_each_entry_safe(proxy, next, &pool->left, node)
		dma_buf_put(proxy->dmabuf);
}

/**
 * nnaccel_proxy_revoke_all() - Revokes the proxies of a grant that ends
 * @pool: the pool; ctx->lock is held
 *
 * The proxies are revoked before the function returns. A work item notifies importers after the
 * revocation.
 */
void nnaccel_proxy_revoke_all(struct nnaccel_pool *pool)
{
	int i;

	lockdep_assert_held(&pool->obj.ctx->lock);
	nnaccel_proxy_is_left(pool);
	for (i = 0; i < ARRAY_SIZE(pool->proxies); i++) {
		struct nnaccel_proxy *proxy;

		if (!pool->proxies[i])
			continue;
		proxy = pool->proxies[i]->priv;
		pool->proxies[i] = NULL;
		/*
		 * Pairs with the smp_mb__after_atomic() in nnaccel_proxy_attach(), between the
		 * increment of @attached and the check of @revoked.
		 */
		smp_store_mb(proxy->revoked, true);
		trace_nnaccel_grant_revoke(pool->obj.ctx, pool->grant, proxy->writable);
		if (nnaccel_proxy_is_used(proxy)) {
			get_dma_buf(proxy->dmabuf);
			list_add(&proxy->node, &pool->left);
		}
		queue_work(nnaccel_free_wq, &proxy->revoke);
	}
}
