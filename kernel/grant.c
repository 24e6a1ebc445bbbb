// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: mappings of a worker. A worker may map the pools of its commands and slots, and the
 * memory of bursts. For devices, a worker can get proxies: dma-bufs that give access to granted
 * pools.
 */

#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/mm.h>

#include "burst.h"
#include "compat.h"
#include "memory.h"
#include "session.h"

/*
 * A worker with this number of unfetched notices cannot look up slots, because each new slot may
 * lead to more notices. Commands need no such limit, because the worker fetches notices before
 * commands.
 */
#define NNACCEL_MAX_NOTICES	(64 * 1024)

/* Range of grant numbers. The mmap() offsets of grants are below the offsets of bursts. */
#define NNACCEL_GRANT_LIMIT	XA_LIMIT(1, (NNACCEL_BURST_MAP >> NNACCEL_GRANT_SHIFT) - 1)

/**
 * nnaccel_grant_reserve() - Reserves a number for the grant of a pool, unless it has one
 * @session: the session
 * @pool: the pool, with a reference
 * @number: out: the number; unchanged if the pool has a grant
 *
 * The caller must not hold ctx->lock, because the function allocates memory, and fences may need
 * ctx->lock to signal.
 *
 * Return: 0 or -ENOMEM.
 */
int nnaccel_grant_reserve(struct nnaccel_session *session, const struct nnaccel_pool *pool,
			  u32 *number)
{
	int ret;

	if (READ_ONCE(pool->grant))
		return 0;
	ret = xa_alloc_cyclic(&session->grants, number, XA_ZERO_ENTRY, NNACCEL_GRANT_LIMIT,
			      &session->next_grant, GFP_KERNEL_ACCOUNT);
	if (ret >= 0)
		return 0;
	*number = 0;
	return -ENOMEM;
}

/**
 * nnaccel_grant_publish() - Lets the worker map a pool; cannot fail
 * @session: the session; ctx->lock is held
 * @pool: the pool
 * @number: the number from nnaccel_grant_reserve(); out: the number of the grant
 * @prot: NNACCEL_PROT_* to add to the grant
 */
void nnaccel_grant_publish(struct nnaccel_session *session, struct nnaccel_pool *pool,
			   u32 *number, u32 prot)
{
	lockdep_assert_held(&session->ctx->lock);
	if (!pool->grant) {
		WARN_ON(xa_is_err(xa_store(&session->grants, *number, pool, GFP_NOWAIT)));
		WRITE_ONCE(pool->grant, *number);
		pool->grant_prot = 0;
		nnaccel_count(NNACCEL_GRANTS, 1);
	} else if (*number && *number != pool->grant) {
		/*
		 * The pool already has a grant, by another thread or because the command names the
		 * pool twice.
		 */
		xa_erase(&session->grants, *number);
	}
	*number = pool->grant;
	pool->grant_prot |= prot;
}

/**
 * nnaccel_grant_remove() - Ends the grant of a pool that is being freed
 * @session: the session; ctx->lock is held
 * @pool: the pool, which has a grant
 *
 * The grant's number stays reserved until the worker has fetched the notice of the grant's end.
 * xa_store() of NULL at a used index allocates no memory.
 */
void nnaccel_grant_remove(struct nnaccel_session *session, struct nnaccel_pool *pool)
{
	lockdep_assert_held(&session->ctx->lock);
	nnaccel_proxy_revoke_all(pool);
	xa_store(&session->grants, pool->grant, NULL, GFP_NOWAIT);
	nnaccel_session_notify(session, &pool->obj.notice, NNACCEL_DO_FORGET_GRANT, pool->grant,
			       0);
	pool->grant = 0;
	nnaccel_count(NNACCEL_GRANTS, -1);
}

/**
 * nnaccel_grant_revoke_fds() - Revokes the proxies of all grants of a session
 * @session: the session, which ends or whose context is closed; ctx->lock is held
 */
void nnaccel_grant_revoke_fds(struct nnaccel_session *session)
{
	struct nnaccel_pool *pool;
	unsigned long grant;

	lockdep_assert_held(&session->ctx->lock);
	xa_for_each(&session->grants, grant, pool)
		nnaccel_proxy_revoke_all(pool);
}

/**
 * nnaccel_session_map_file() - Maps @file instead of the file on which mmap() was called
 * @vma: the mapping
 * @file: the file to map
 * @offset: offset in the file, in bytes
 * @writable: the mapping may be written, now or after mprotect()
 *
 * The function clears VM_SHARED and VM_MAYWRITE of a read-only mapping, as mmap() does if the file
 * is open read-only. Without VM_SHARED and VM_MAYWRITE, memfd seals do not count the mapping as
 * writable, and remap_file_pages() cannot make the mapping writable.
 *
 * Return: 0 or the error of the file's mmap().
 */
int nnaccel_session_map_file(struct vm_area_struct *vma, struct file *file, u64 offset,
			     bool writable)
{
	nnaccel_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND,
			     VM_MAYEXEC | (writable ? 0 : VM_MAYWRITE | VM_SHARED));
	vma_set_file(vma, file);
	vma->vm_pgoff = offset >> PAGE_SHIFT;
	return nnaccel_mmap_file(file, vma);
}

/**
 * nnaccel_map_dmabuf() - Maps a dma-buf instead of the file on which mmap() was called
 * @vma: the mapping
 * @dmabuf: the dma-buf to map
 * @offset: offset in the dma-buf, in bytes
 * @writable: the mapping may be written, now or after mprotect()
 *
 * The function clears VM_SHARED of a read-only mapping only after the exporter's mmap().
 *
 * Return: 0 or the error of the exporter's mmap().
 */
int nnaccel_map_dmabuf(struct vm_area_struct *vma, struct dma_buf *dmabuf, u64 offset,
		       bool writable)
{
	vm_flags_t clear = VM_MAYEXEC | (writable ? 0 : VM_MAYWRITE);
	int ret;

	nnaccel_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND, clear);
	ret = dma_buf_mmap(dmabuf, vma, offset >> PAGE_SHIFT);
	if (!ret)
		nnaccel_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND,
				     clear | (writable ? 0 : VM_SHARED));
	return ret;
}

/*
 * Returns a slot's pool, and takes a reference to the pool; on failure, returns an error pointer.
 */
static struct nnaccel_pool *nnaccel_session_resolve(struct nnaccel_session *session,
						    const struct nnaccel_session_slot *arg,
						    u32 *prot)
{
	struct nnaccel_pool *pool = ERR_PTR(-ENOENT);
	struct nnaccel_burst *burst;

	mutex_lock(&session->ctx->lock);
	burst = xa_load(&session->bursts, arg->burst);
	if (session->ended)
		pool = ERR_PTR(-ESHUTDOWN);
	else if (burst && session->num_notices >= NNACCEL_MAX_NOTICES)
		pool = ERR_PTR(-ENOSPC);
	else if (burst)
		pool = nnaccel_burst_resolve(burst, arg->slot, prot);
	if (!IS_ERR(pool))
		refcount_inc(&pool->obj.refs);
	mutex_unlock(&session->ctx->lock);
	return pool;
}

/**
 * nnaccel_session_slot_ioctl() - Implements NNACCEL_SESSION_SLOT
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -ESHUTDOWN, -ENOSPC, -ENOMEM, -EFAULT.
 */
int nnaccel_session_slot_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_slot *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_context *ctx = session->ctx;
	u32 i, num, prot, grants[NNACCEL_MAX_PLANES] = {};
	struct nnaccel_pool *pool;
	int ret = 0;

	if (arg->flags)
		return -EINVAL;
	pool = nnaccel_session_resolve(session, arg, &prot);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	num = 1 + nnaccel_pool_num_others(pool);
	for (i = 0; i < num && !ret; i++)
		ret = nnaccel_grant_reserve(session, nnaccel_pool_of_file(pool, i), &grants[i]);

	mutex_lock(&ctx->lock);
	if (session->ended)
		ret = -ESHUTDOWN;
	/*
	 * Even if memory ran out, publish the grants that are already reserved; the loop above
	 * reserves grants in order.
	 */
	for (i = 0; i < num && !session->ended; i++) {
		struct nnaccel_pool *each = nnaccel_pool_of_file(pool, i);

		if (grants[i] || each->grant)
			nnaccel_grant_publish(session, each, &grants[i], prot);
	}
	memset(&arg->out_format, 0, sizeof(arg->out_format));
	if (!ret && pool->image)
		nnaccel_image_tell(pool, &arg->out_format);
	mutex_unlock(&ctx->lock);
	arg->out_grant.grant = grants[0];
	arg->out_grant.prot = prot | nnaccel_pool_prot_flags(pool);
	arg->out_grant.length = pool->length;
	nnaccel_pool_put(pool);
	return ret ?: nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}

/*
 * Returns the pool of a dma-buf's grant, and takes a reference to the pool; on failure, returns an
 * error pointer. A worker whose session has ended may only end accesses.
 */
static struct nnaccel_pool *nnaccel_session_get_granted(struct nnaccel_session *session, u32 grant,
							u32 prot, bool end)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_pool *pool;

	mutex_lock(&ctx->lock);
	pool = xa_load(&session->grants, grant);
	if (session->ended && !(end && pool))
		pool = ERR_PTR(-ESHUTDOWN);
	else if (!pool)
		pool = ERR_PTR(-ENOENT);
	else if (!pool->dmabuf)
		pool = ERR_PTR(-EOPNOTSUPP);
	else if (prot & ~pool->grant_prot)
		pool = ERR_PTR(-EACCES);
	else
		refcount_inc(&pool->obj.refs);
	mutex_unlock(&ctx->lock);
	return pool;
}

/**
 * nnaccel_session_sync_ioctl() - Implements NNACCEL_SESSION_SYNC
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -ESHUTDOWN, -EOPNOTSUPP, -ENOMEM, or the error of
 * nnaccel_access_begin() or nnaccel_access_end().
 */
int nnaccel_session_sync_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_sync *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	u32 prot = arg->flags & (NNACCEL_SYNC_READ | NNACCEL_SYNC_WRITE);
	bool end = arg->flags & NNACCEL_SYNC_END;
	struct nnaccel_pool *pool;
	int ret;

	if (arg->flags & ~(NNACCEL_SYNC_READ | NNACCEL_SYNC_WRITE | NNACCEL_SYNC_END) || !prot ||
	    arg->__reserved)
		return -EINVAL;
	pool = nnaccel_session_get_granted(session, arg->grant, prot, end);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	ret = pool->device ? -EOPNOTSUPP : nnaccel_access_init(session->ctx);
	/* In a session with NNACCEL_ATTACH_DEVICES the memory is not synced for the CPU. */
	if (!ret && session->flags & NNACCEL_ATTACH_DEVICES)
		ret = end ? 0 : nnaccel_access_wait(pool->dmabuf, prot & NNACCEL_PROT_WRITE);
	else if (!ret && end)
		ret = nnaccel_access_end(session->ctx, pool->dmabuf, prot, false);
	else if (!ret)
		ret = nnaccel_access_begin(pool->dmabuf, prot, false);
	nnaccel_pool_put(pool);
	return ret;
}

/**
 * nnaccel_session_grant_fd_ioctl() - Implements NNACCEL_SESSION_GRANT_FD
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -EOPNOTSUPP, -ESHUTDOWN, -EDQUOT, -ENOMEM, -EMFILE,
 * -EFAULT.
 */
int nnaccel_session_grant_fd_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session_grant_fd *arg = ucmd->cmd;
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_pool *pool;
	struct dma_buf *dmabuf;

	if (arg->flags & ~NNACCEL_GRANT_FD_CLOEXEC || arg->__reserved ||
	    (arg->prot & ~NNACCEL_PROT_WRITE) != NNACCEL_PROT_READ)
		return -EINVAL;
	pool = nnaccel_session_get_granted(session, arg->grant, arg->prot, false);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	dmabuf = nnaccel_proxy_get(session, pool, arg->prot & NNACCEL_PROT_WRITE);
	nnaccel_pool_put(pool);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	arg->out_length = dmabuf->size;
	return nnaccel_ucmd_install(ucmd, sizeof(*arg), dmabuf->file,
				    arg->flags & NNACCEL_GRANT_FD_CLOEXEC, &arg->out_fd);
}

/* Returns the pool whose grant the worker wants to map, or an error pointer. ctx->lock is held. */
static struct nnaccel_pool *nnaccel_session_find_grant(struct nnaccel_session *session,
						       const struct vm_area_struct *vma)
{
	unsigned int shift = NNACCEL_GRANT_SHIFT - PAGE_SHIFT;
	struct nnaccel_pool *pool;

	if (session->ended)
		return ERR_PTR(-ESHUTDOWN);
	if (vma->vm_pgoff & ((1UL << shift) - 1))
		return ERR_PTR(-EINVAL);
	pool = xa_load(&session->grants, vma->vm_pgoff >> shift);
	if (!pool || PAGE_ALIGN(pool->length) != vma->vm_end - vma->vm_start)
		return ERR_PTR(-EINVAL);
	/*
	 * If the exporter of a pool of constants refused access, the pool's grant permits neither
	 * reading nor writing.
	 */
	if (!(pool->grant_prot & NNACCEL_PROT_READ) ||
	    (vma->vm_flags & VM_WRITE && !(pool->grant_prot & NNACCEL_PROT_WRITE)))
		return ERR_PTR(-EACCES);
	return pool->device ? ERR_PTR(-EOPNOTSUPP) : pool;
}

static int nnaccel_session_map_burst(struct nnaccel_session *session, struct vm_area_struct *vma)
{
	u64 offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) & ~NNACCEL_BURST_MAP;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_burst *burst = NULL;
	int ret = -EINVAL;

	mutex_lock(&ctx->lock);
	if (session->ended)
		ret = -ESHUTDOWN;
	else
		burst = xa_load(&session->bursts, offset >> NNACCEL_BURST_SHIFT);
	if (burst)
		refcount_inc(&burst->obj.refs);
	mutex_unlock(&ctx->lock);
	if (!burst)
		return ret;
	ret = nnaccel_burst_map(burst, vma, offset & (BIT_ULL(NNACCEL_BURST_SHIFT) - 1), true);
	nnaccel_object_put(&burst->obj);
	return ret;
}

/**
 * nnaccel_session_mmap() - Maps a grant or a region of a burst, for mmap() of a session's file
 * @session_file: the session's file
 * @vma: the mapping
 *
 * Return: 0, -EACCES, -EINVAL, -EOPNOTSUPP, -ESHUTDOWN, or the error of the mmap() of the memory.
 */
int nnaccel_session_mmap(struct file *session_file, struct vm_area_struct *vma)
{
	struct nnaccel_session *session = session_file->private_data;
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_pool *pool;
	bool writable = false;
	int ret;

	if (!nnaccel_session_is_current(session) || vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_pgoff & (NNACCEL_BURST_MAP >> PAGE_SHIFT))
		return nnaccel_session_map_burst(session, vma);

	mutex_lock(&ctx->lock);
	pool = nnaccel_session_find_grant(session, vma);
	if (!IS_ERR(pool)) {
		writable = pool->grant_prot & NNACCEL_PROT_WRITE;
		refcount_inc(&pool->obj.refs);
	}
	mutex_unlock(&ctx->lock);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	ret = pool->dmabuf ? nnaccel_map_dmabuf(vma, pool->dmabuf, pool->offset, writable) :
			     nnaccel_session_map_file(vma, pool->file, pool->offset, writable);
	nnaccel_pool_put(pool);
	return ret;
}
