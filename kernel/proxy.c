// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: dma-bufs that stand for grants. An engine imports one into a driver of its own: it is
 * the granted memory and no more, with the grant's protection, and it is revoked with the grant.
 *
 * A proxy shares the reservation object of the dma-buf behind it. Memory of this module is
 * attached as that dma-buf would attach it; another exporter's by a nested attachment. No lock of
 * this module is held over either.
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
 * @device: only devices reach it
 * @revoked: nothing new can be had of it; does not change again
 * @revoke: tells importers; has a count of the proxy's from when it is queued
 * @dmabuf: the proxy, for @revoke
 */
struct nnaccel_proxy {
	struct dma_buf *memory;
	struct nnaccel_account *account;
	u64 offset;
	bool writable;
	bool device;
	bool revoked;
	struct work_struct revoke;
	struct dma_buf *dmabuf;
};

static int nnaccel_proxy_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;
	struct dma_buf_attachment *inner;

	if (READ_ONCE(proxy->revoked))
		return -ENODEV;
	if (nnaccel_dmabuf_is_ours(proxy->memory))
		return nnaccel_dmabuf_attach_part(proxy->memory, proxy->offset, dmabuf->size,
						  attach);
	inner = dma_buf_attach(proxy->memory, attach->dev);
	if (IS_ERR(inner))
		return PTR_ERR(inner);
	attach->priv = inner;
	return 0;
}

static void nnaccel_proxy_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct nnaccel_proxy *proxy = dmabuf->priv;

	if (nnaccel_dmabuf_is_ours(proxy->memory))
		nnaccel_dmabuf_detach(dmabuf, attach);
	else
		dma_buf_detach(proxy->memory, attach->priv);
}

/*
 * Whoever maps has the reservation object locked, or is told by nobody: one that saw @revoked
 * unset is told of the revocation afterwards.
 */
static struct sg_table *nnaccel_proxy_map(struct dma_buf_attachment *attach,
					  enum dma_data_direction dir)
{
	struct nnaccel_proxy *proxy = attach->dmabuf->priv;

	if (READ_ONCE(proxy->revoked))
		return ERR_PTR(-ENODEV);
	if (!proxy->writable && dir != DMA_TO_DEVICE)
		return ERR_PTR(-EACCES);
	if (nnaccel_dmabuf_is_ours(proxy->memory))
		return nnaccel_dmabuf_map(attach, dir);
	return dma_buf_map_attachment(attach->priv, dir);
}

static void nnaccel_proxy_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
				enum dma_data_direction dir)
{
	struct nnaccel_proxy *proxy = attach->dmabuf->priv;

	if (nnaccel_dmabuf_is_ours(proxy->memory))
		nnaccel_dmabuf_unmap(attach, table, dir);
	else
		dma_buf_unmap_attachment(attach->priv, table, dir);
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
	info.resv = memory->resv;
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
 * @pool: the pool, a dma-buf, granted in the caller's session
 * @writable: one that can be written
 *
 * Return: the dma-buf, counted, or an error pointer: -EOPNOTSUPP, -ESHUTDOWN, -EDQUOT, -ENOMEM.
 */
struct dma_buf *nnaccel_proxy_get(struct nnaccel_pool *pool, bool writable)
{
	struct nnaccel_context *ctx = pool->obj.ctx;
	struct dma_buf **kept = &pool->proxies[writable];
	struct dma_buf *dmabuf = NULL, *new = NULL;

	mutex_lock(&ctx->lock);
	if (!*kept && !ctx->closed) {
		mutex_unlock(&ctx->lock);
		new = nnaccel_proxy_create(pool, writable);
		if (IS_ERR(new))
			return new;
		mutex_lock(&ctx->lock);
	}
	/* Another thread may have been faster, or the client gone meanwhile. */
	if (ctx->closed) {
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
		queue_work(nnaccel_free_wq, &proxy->revoke);
	}
}
