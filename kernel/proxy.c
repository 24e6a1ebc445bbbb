// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: dma-bufs that stand for grants. An engine imports one into a driver of its own: it is
 * the granted memory and no more, with the grant's protection, and it is revoked with the grant.
 *
 * A proxy has a reservation object of its own. A command can be fetched when the fences that its
 * memory had at submission have signalled, so it starts without any. Fences that come to the memory
 * later may wait for the command, and the driver must not wait for them. Fences of the driver reach
 * the memory by NNACCEL_COMMIT_FENCE.
 *
 * Memory of this module is attached as that dma-buf would attach it; another exporter's by a nested
 * attachment. The latter is mapped as long as it exists, because its reservation object cannot be
 * locked inside the proxy's. No lock of this module is held over either.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "nnaccel_private.h"
#include "trace.h"

/* What a proxy costs. */
#define NNACCEL_PROXY_BYTES	(sizeof(struct nnaccel_proxy) + NNACCEL_FILE_BYTES)

/**
 * struct nnaccel_proxy - A dma-buf that stands for a grant
 * @memory: the dma-buf of the granted pool, counted
 * @account: who is charged, counted
 * @offset: bytes into @memory
 * @writable: it may be written
 * @trusts: its importer may map it for writing too, but is trusted not to write
 * @device: only devices reach it
 * @revoked: nothing new can be had of it; does not change again
 * @node: ctx->lock of the pool: in its list of proxies that devices still use after their end
 * @revoke: tells importers; has a count of the proxy's from when it is queued
 * @dmabuf: the proxy, for @revoke
 */
struct nnaccel_proxy {
	struct dma_buf *memory;
	struct nnaccel_account *account;
	u64 offset;
	bool writable;
	bool trusts;
	bool device;
	bool revoked;
	struct list_head node;
	struct work_struct revoke;
	struct dma_buf *dmabuf;
};

/**
 * struct nnaccel_nested - An attachment to another exporter's memory
 * @attach: the attachment
 * @table: how it is mapped
 * @dir: the same
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
	const struct nnaccel_proxy *proxy = dmabuf->priv;

	if (READ_ONCE(proxy->revoked))
		return -ENODEV;
	if (nnaccel_dmabuf_is_ours(proxy->memory))
		return nnaccel_dmabuf_attach_part(proxy->memory, proxy->offset, dmabuf->size,
						  attach);
	return nnaccel_nested_attach(proxy, attach);
}

static void nnaccel_proxy_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	const struct nnaccel_proxy *proxy = dmabuf->priv;
	struct nnaccel_nested *nested = attach->priv;

	if (nnaccel_dmabuf_is_ours(proxy->memory)) {
		nnaccel_dmabuf_detach(dmabuf, attach);
		return;
	}
	nnaccel_unmap_attachment(nested->attach, nested->table, nested->dir);
	dma_buf_detach(proxy->memory, nested->attach);
	kfree(nested);
}

/* May an importer map it in this direction? */
static bool nnaccel_proxy_may_map(const struct nnaccel_proxy *proxy, enum dma_data_direction dir)
{
	return proxy->writable || dir == DMA_TO_DEVICE ||
	       (proxy->trusts && dir == DMA_BIDIRECTIONAL);
}

/*
 * An importer that maps holds the lock of the reservation object, or is not notified. One that saw
 * @revoked unset is notified of the revocation afterwards.
 */
static struct sg_table *nnaccel_proxy_map(struct dma_buf_attachment *attach,
					  enum dma_data_direction dir)
{
	const struct nnaccel_proxy *proxy = attach->dmabuf->priv;
	const struct nnaccel_nested *nested = attach->priv;

	if (READ_ONCE(proxy->revoked))
		return ERR_PTR(-ENODEV);
	if (!nnaccel_proxy_may_map(proxy, dir))
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

static int nnaccel_proxy_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;

	if (READ_ONCE(proxy->revoked))
		return -ENODEV;
	if (proxy->device)
		return -EOPNOTSUPP;
	/* The CPU reads what comes from the device. */
	if (!proxy->writable && dir != DMA_FROM_DEVICE)
		return -EACCES;
	return dma_buf_begin_cpu_access(proxy->memory, dir);
}

static int nnaccel_proxy_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;

	if (proxy->device)
		return -EOPNOTSUPP;
	if (!proxy->writable && dir != DMA_FROM_DEVICE)
		return -EACCES;
	return dma_buf_end_cpu_access(proxy->memory, dir);
}

/* The dma-buf core checked the range. */
static int nnaccel_proxy_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;

	if (READ_ONCE(proxy->revoked))
		return -ENODEV;
	if (proxy->device)
		return -EOPNOTSUPP;
	if (vma->vm_flags & VM_EXEC || (!proxy->writable && vma->vm_flags & VM_WRITE))
		return -EACCES;
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
 * nnaccel_dmabuf_is_proxy() - Does a dma-buf stand for a grant?
 * @dmabuf: the dma-buf
 *
 * A grant of one would make a proxy of a proxy, as deep as somebody likes: it is no pool.
 *
 * Return: whether it does.
 */
bool nnaccel_dmabuf_is_proxy(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &nnaccel_proxy_ops;
}

/*
 * A driver may hold the reservation object's lock for long, so nobody waits for this. The module's
 * exit waits for this work to return.
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
	/* Of another exporter's table no part can be given. */
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
 * nnaccel_proxy_get() - The dma-buf that stands for a pool's grant
 * @session: the caller's session
 * @pool: the pool, a dma-buf, granted in it
 * @writable: one that can be written
 *
 * Return: the dma-buf, counted, or an error pointer: -EOPNOTSUPP, -ESHUTDOWN, -EDQUOT, -ENOMEM.
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
	/* Another thread may have been faster, or the session ended meanwhile. */
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

/* Has a driver put fences on a proxy that have not signalled? It may still write the memory. */
static bool nnaccel_proxy_is_used(const struct nnaccel_proxy *proxy)
{
	return !dma_resv_test_signaled(proxy->dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * nnaccel_proxy_is_left() - Do devices use a pool whose worker is gone?
 * @pool: the pool; ctx->lock is held
 *
 * Return: whether one does, by a proxy of a grant that has ended.
 */
bool nnaccel_proxy_is_left(const struct nnaccel_pool *pool)
	__must_hold(&pool->obj.ctx->lock)
{
	const struct nnaccel_proxy *proxy;

	lockdep_assert_held(&pool->obj.ctx->lock);
	list_for_each_entry(proxy, &pool->left, node)
		if (nnaccel_proxy_is_used(proxy))
			return true;
	return false;
}

/**
 * nnaccel_proxy_forget_all() - Drop what nnaccel_proxy_is_left() looks at
 * @pool: the pool, at its end
 */
void nnaccel_proxy_forget_all(struct nnaccel_pool *pool)
{
	struct nnaccel_proxy *proxy, *next;

	list_for_each_entry_safe(proxy, next, &pool->left, node)
		dma_buf_put(proxy->dmabuf);
}

/**
 * nnaccel_proxy_revoke_all() - The grant of a pool ends, or its context does
 * @pool: the pool; ctx->lock is held
 *
 * Takes effect at once but for importers that are to be told.
 */
void nnaccel_proxy_revoke_all(struct nnaccel_pool *pool)
	__must_hold(&pool->obj.ctx->lock)
{
	int i;

	lockdep_assert_held(&pool->obj.ctx->lock);
	for (i = 0; i < ARRAY_SIZE(pool->proxies); i++) {
		struct nnaccel_proxy *proxy;

		if (!pool->proxies[i])
			continue;
		proxy = pool->proxies[i]->priv;
		pool->proxies[i] = NULL;
		WRITE_ONCE(proxy->revoked, true);
		trace_nnaccel_grant_revoke(pool->obj.ctx, pool->grant, proxy->writable);
		if (nnaccel_proxy_is_used(proxy)) {
			get_dma_buf(proxy->dmabuf);
			list_add(&proxy->node, &pool->left);
		}
		queue_work(nnaccel_free_wq, &proxy->revoke);
	}
}
