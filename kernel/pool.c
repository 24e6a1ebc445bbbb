// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: pools. A pool is memory of a context; the memory is allocated, or imported from a
 * dma-buf or a regular file.
 */

#include <linux/anon_inodes.h>
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/overflow.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>
#include <uapi/linux/fcntl.h>

#include "compat.h"
#include "engine.h"
#include "memory.h"
#include "session.h"
#include "trace.h"

#define NNACCEL_PROT_RW	(NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

static struct nnaccel_pool *to_pool(struct nnaccel_object *obj)
{
	return container_of(obj, struct nnaccel_pool, obj);
}

/**
 * nnaccel_pool_get() - Looks up a pool
 * @ctx: the context
 * @id: its id
 *
 * Return: the pool with a reference, or an error pointer: -ENOENT.
 */
struct nnaccel_pool *nnaccel_pool_get(struct nnaccel_context *ctx, u32 id)
{
	struct nnaccel_object *obj = nnaccel_object_get(ctx, id, NNACCEL_OBJECT_POOL);

	return obj ? to_pool(obj) : ERR_PTR(-ENOENT);
}

/**
 * nnaccel_pool_put() - Drops a reference; the caller must not hold ctx->lock
 * @pool: the pool
 */
void nnaccel_pool_put(struct nnaccel_pool *pool)
{
	nnaccel_object_put(&pool->obj);
}

/**
 * nnaccel_pool_prot_flags() - Returns additional flags for the protection of a pool's grants
 * @pool: the pool
 *
 * Return: the flags NNACCEL_PROT_SYNC for a dma-buf of another driver and NNACCEL_PROT_FORMATTED
 * for a formatted pool, or NNACCEL_PROT_DEVICE if only devices can access the pool.
 */
u32 nnaccel_pool_prot_flags(const struct nnaccel_pool *pool)
{
	bool foreign = pool->dmabuf && !nnaccel_dmabuf_is_ours(pool->dmabuf);

	if (pool->device)
		return NNACCEL_PROT_DEVICE;
	return (foreign ? NNACCEL_PROT_SYNC : 0) |
	       (pool->image ? NNACCEL_PROT_FORMATTED : 0);
}

/**
 * nnaccel_pool_may_execute() - Returns whether executions can name a pool
 * @pool: the pool
 *
 * Return: false if only devices can access the pool and the engine does not accept such
 * pools.
 */
bool nnaccel_pool_may_execute(const struct nnaccel_pool *pool)
{
	return !pool->device || READ_ONCE(pool->obj.ctx->engine->device_pools);
}

/**
 * nnaccel_pool_is_bytes() - Returns whether the CPU can access a pool as plain bytes
 * @pool: the pool
 *
 * Return: false if only devices can access the pool, or if the pool is formatted.
 */
bool nnaccel_pool_is_bytes(const struct nnaccel_pool *pool)
{
	return !pool->device && !pool->image;
}

/**
 * nnaccel_pool_retire() - Ends the grant of a pool after its last reference was dropped
 * @obj: the pool; ctx->lock is held
 */
void nnaccel_pool_retire(struct nnaccel_object *obj)
{
	struct nnaccel_context *ctx = obj->ctx;
	struct nnaccel_pool *pool = to_pool(obj);

	lockdep_assert_held(&ctx->lock);
	if (pool->grant)
		nnaccel_grant_remove(ctx->session, pool);
	if (pool->imported)
		ctx->import_bytes -= PAGE_ALIGN(pool->length);
}

/**
 * nnaccel_pool_release() - Frees a pool and its memory
 * @obj: the pool
 */
void nnaccel_pool_release(struct nnaccel_object *obj)
{
	struct nnaccel_pool *pool = to_pool(obj);

	trace_nnaccel_pool_destroy(pool, 0);
	nnaccel_dmabuf_remove_pool(pool);
	if (pool->imported) {
		nnaccel_count(NNACCEL_IMPORTS, -1);
		nnaccel_count(NNACCEL_IMPORT_BYTES, -(s64)PAGE_ALIGN(pool->length));
	}
	nnaccel_image_free(pool);
	nnaccel_proxy_forget_all(pool);
	if (pool->hold)
		fput(pool->hold);
	if (pool->file)
		fput(pool->file);
	kfree(pool);
}

/* Makes a pool with one reference and without memory, and reserves an id unless @id is NULL. */
static struct nnaccel_pool *nnaccel_pool_create(struct nnaccel_context *ctx, u32 *id)
{
	struct nnaccel_pool *pool;
	int ret;

	pool = kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&pool->node);
	INIT_LIST_HEAD(&pool->left);
	ret = nnaccel_object_init(&pool->obj, ctx, NNACCEL_OBJECT_POOL);
	if (ret) {
		kfree(pool);
		return ERR_PTR(ret);
	}
	ret = id ? nnaccel_object_reserve(ctx, id) : 0;
	if (ret) {
		nnaccel_pool_put(pool);
		return ERR_PTR(ret);
	}
	return pool;
}

/**
 * nnaccel_pool_finish() - Writes the answer of an ioctl, and publishes the pool that it made
 * @ucmd: the ioctl
 * @size: the module's size of the structure
 * @pool: the pool; put if the answer cannot be written
 * @id: its reserved id
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_pool_finish(struct nnaccel_ucmd *ucmd, size_t size, struct nnaccel_pool *pool, u32 id)
{
	int ret = nnaccel_ucmd_respond(ucmd, size);

	if (ret) {
		nnaccel_object_unreserve(pool->obj.ctx, id);
		nnaccel_pool_put(pool);
		return ret;
	}
	trace_nnaccel_pool_create(pool, id);
	nnaccel_dmabuf_add_pool(pool);
	nnaccel_object_publish(&pool->obj, id);
	return 0;
}

/**
 * nnaccel_pool_may_have() - Returns whether a pool of a length can be allocated at all
 * @length: length in bytes
 *
 * Besides max_pool_bytes, a pool's length has two limits: its array of pages must fit vmalloc(),
 * and its grant must fit the range of mmap() offsets.
 *
 * Return: true if a pool may have the given length.
 */
bool nnaccel_pool_may_have(u64 length)
{
	return length <= READ_ONCE(nnaccel_max_pool_bytes) &&
	       length <= 1ULL << (NNACCEL_GRANT_SHIFT - 1);
}

/**
 * nnaccel_pool_fill() - Allocates the memory of an empty pool
 * @pool: the pool, which may be that of a buffer
 * @length: length in bytes
 *
 * Return: 0, -EDQUOT, -ENOMEM, -EINTR.
 */
int nnaccel_pool_fill(struct nnaccel_pool *pool, u64 length)
{
	struct dma_buf *dmabuf = nnaccel_dmabuf_create(pool->obj.ctx->account, length);

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	pool->dmabuf = dmabuf;
	pool->file = dmabuf->file;
	pool->prot = NNACCEL_PROT_RW;
	pool->length = length;
	return 0;
}

/**
 * nnaccel_pool_alloc() - Allocates a pool
 * @ctx: the context
 * @length: length in bytes
 * @id: out: the reserved id of the pool; NULL if it gets none
 *
 * Return: the pool with one reference, or an error pointer: -ENOSPC, -EDQUOT, -ENOMEM, -EINTR.
 */
struct nnaccel_pool *nnaccel_pool_alloc(struct nnaccel_context *ctx, u64 length, u32 *id)
{
	struct nnaccel_pool *pool = nnaccel_pool_create(ctx, id);
	int ret;

	if (IS_ERR(pool))
		return pool;
	ret = nnaccel_pool_fill(pool, length);
	if (!ret)
		return pool;
	if (id)
		nnaccel_object_unreserve(ctx, *id);
	nnaccel_pool_put(pool);
	return ERR_PTR(ret);
}

/**
 * nnaccel_pool_alloc_ioctl() - Implements NNACCEL_POOL_ALLOC
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -EFBIG, -EDQUOT, -ENOSPC, -ENOMEM, -EINTR, -EFAULT.
 */
int nnaccel_pool_alloc_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_pool_alloc *cmd = ucmd->cmd;
	struct nnaccel_pool *pool;

	if (cmd->flags || cmd->__reserved || !cmd->length)
		return -EINVAL;
	if (!nnaccel_pool_may_have(cmd->length))
		return -EFBIG;
	pool = nnaccel_pool_alloc(ucmd->object, cmd->length, &cmd->out_id);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	return nnaccel_pool_finish(ucmd, sizeof(*cmd), pool, cmd->out_id);
}

static int nnaccel_import_check_range(const struct nnaccel_pool_import *cmd, u64 size)
{
	u64 end;

	if (check_add_overflow(cmd->offset, cmd->length, &end) || end > size)
		return -EINVAL;
	return 0;
}

/*
 * Allows the import of regular files that mmap() can map, except files of hugetlbfs, anonymous
 * inodes, sysfs and procfs. Mappings of hugetlbfs files need aligned addresses, which a session's
 * mmap() does not choose. Files of anonymous inodes may have references to other files, which could
 * form a cycle. Files of sysfs and procfs may be device memory, or may depend on the process that
 * maps them.
 */
static int nnaccel_import_check_regular(const struct nnaccel_pool_import *cmd, struct file *file)
{
	struct inode *inode = file_inode(file);
	unsigned long magic = inode->i_sb->s_magic;

	if (cmd->flags & NNACCEL_IMPORT_DEVICE ||
	    !S_ISREG(inode->i_mode) || !nnaccel_can_mmap_file(file) || magic == HUGETLBFS_MAGIC ||
	    magic == ANON_INODE_FS_MAGIC || magic == SYSFS_MAGIC || magic == PROC_SUPER_MAGIC)
		return -EOPNOTSUPP;
	if (cmd->prot & NNACCEL_PROT_WRITE) {
		if (IS_APPEND(inode))
			return -EACCES;
		if (IS_SWAPFILE(inode))
			return -EPERM;
		if (shmem_file(file) &&
		    SHMEM_I(inode)->seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
			return -EPERM;
	}
	return nnaccel_import_check_range(cmd, i_size_read(inode));
}

static int nnaccel_import_check_mode(const struct nnaccel_pool_import *cmd, const struct file *file)
{
	fmode_t mode = cmd->prot & NNACCEL_PROT_WRITE ? FMODE_READ | FMODE_WRITE : FMODE_READ;

	return mode & ~file->f_mode ? -EACCES : 0;
}

static int nnaccel_hold_release(struct inode *inode, struct file *hold)
{
	struct file *file = hold->private_data;

	mapping_unmap_writable(file->f_mapping);
	fput(file);
	return 0;
}

static const struct file_operations nnaccel_hold_fops = {
	.owner = THIS_MODULE,
	.release = nnaccel_hold_release,
};

/*
 * Makes a file that counts as a writable mapping of @file, so that no process can add a seal
 * against writing. If a session's mmap() drops the last reference to the pool, fput() defers the
 * release of the file to the end of the system call. By then the session's mapping is writable
 * itself, so that @file always has a writable mapping.
 */
static struct file *nnaccel_hold_create(struct file *file)
{
	struct file *hold;
	int ret;

	ret = mapping_map_writable(file->f_mapping);
	if (ret)
		return ERR_PTR(ret);
	hold = anon_inode_getfile("[nnaccel-hold]", &nnaccel_hold_fops, file, O_RDONLY);
	if (IS_ERR(hold))
		mapping_unmap_writable(file->f_mapping);
	else
		get_file(file);
	return hold;
}

/**
 * nnaccel_import_get() - Looks up the file of an import and validates it
 * @cmd: the import; its flags, fd, prot, offset and length are used
 * @dmabuf: out: the dma-buf of the file, or NULL
 *
 * Return: the file with a reference, or an error pointer: -EBADF, -EINVAL, -EOPNOTSUPP, -EACCES,
 * -EPERM.
 */
struct file *nnaccel_import_get(const struct nnaccel_pool_import *cmd, struct dma_buf **dmabuf)
{
	struct dma_buf *buf;
	struct file *file;
	int ret;

	if (!cmd->length || !PAGE_ALIGNED(cmd->offset) ||
	    (cmd->prot != NNACCEL_PROT_READ && cmd->prot != NNACCEL_PROT_RW))
		return ERR_PTR(-EINVAL);
	buf = dma_buf_get(cmd->fd);
	if (!IS_ERR(buf)) {
		*dmabuf = buf;
		file = buf->file;
		ret = nnaccel_import_check_mode(cmd, file);
		if (!ret && ((!buf->ops->mmap && !(cmd->flags & NNACCEL_IMPORT_DEVICE)) ||
			     nnaccel_dmabuf_is_proxy(buf)))
			ret = -EOPNOTSUPP;
		ret = ret ?: nnaccel_import_check_range(cmd, buf->size);
	} else {
		*dmabuf = NULL;
		file = fget(cmd->fd);
		if (!file)
			return ERR_PTR(-EBADF);
		ret = nnaccel_import_check_regular(cmd, file);
		if (ret != -EOPNOTSUPP)
			ret = nnaccel_import_check_mode(cmd, file) ?: ret;
	}
	if (ret) {
		fput(file);
		return ERR_PTR(ret);
	}
	return file;
}

/**
 * nnaccel_import() - Makes the pool of an import
 * @ctx: the context
 * @cmd: the import that nnaccel_import_get() validated
 * @file: the file from nnaccel_import_get(); taken over, also on failure
 * @dmabuf: the dma-buf from nnaccel_import_get()
 * @id: out: the reserved id of the pool; NULL if it gets none
 *
 * Return: the pool, for nnaccel_pool_finish(), or an error pointer: -ENOSPC, -ENOMEM, -EPERM.
 */
struct nnaccel_pool *nnaccel_import(struct nnaccel_context *ctx,
				    const struct nnaccel_pool_import *cmd, struct file *file,
				    struct dma_buf *dmabuf, u32 *id)
{
	struct file *hold = NULL;
	struct nnaccel_pool *pool;

	if (!dmabuf && cmd->prot & NNACCEL_PROT_WRITE) {
		hold = nnaccel_hold_create(file);
		if (IS_ERR(hold)) {
			fput(file);
			return ERR_CAST(hold);
		}
	}
	pool = nnaccel_pool_create(ctx, id);
	if (IS_ERR(pool)) {
		if (hold)
			fput(hold);
		fput(file);
		return pool;
	}
	pool->file = file;
	pool->dmabuf = dmabuf;
	pool->hold = hold;
	pool->prot = cmd->prot;
	pool->imported = true;
	pool->device = cmd->flags & NNACCEL_IMPORT_DEVICE;
	pool->offset = cmd->offset;
	pool->length = cmd->length;
	mutex_lock(&ctx->lock);
	ctx->import_bytes += PAGE_ALIGN(pool->length);
	mutex_unlock(&ctx->lock);
	nnaccel_count(NNACCEL_IMPORTS, 1);
	nnaccel_count(NNACCEL_IMPORT_BYTES, PAGE_ALIGN(pool->length));
	return pool;
}

/**
 * nnaccel_pool_import_ioctl() - Implements NNACCEL_POOL_IMPORT
 * @ucmd: the ioctl
 *
 * Return: 0, -EBADF, -EINVAL, -EOPNOTSUPP, -EACCES, -EPERM, -ENOSPC, -ENOMEM, -EFAULT.
 */
int nnaccel_pool_import_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_pool_import *cmd = ucmd->cmd;
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_pool *pool;
	struct dma_buf *dmabuf;
	struct file *file;

	if (cmd->fourcc)
		return nnaccel_image_import_ioctl(ucmd);
	if (cmd->flags & ~NNACCEL_IMPORT_DEVICE ||
	    memchr_inv(&cmd->fourcc, 0, sizeof(*cmd) - offsetof(typeof(*cmd), fourcc)))
		return -EINVAL;
	if (cmd->flags && !READ_ONCE(ctx->engine->device_pools))
		return -EOPNOTSUPP;
	file = nnaccel_import_get(cmd, &dmabuf);
	if (IS_ERR(file))
		return PTR_ERR(file);
	pool = nnaccel_import(ctx, cmd, file, dmabuf, &cmd->out_id);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	return nnaccel_pool_finish(ucmd, sizeof(*cmd), pool, cmd->out_id);
}

/**
 * nnaccel_pool_export_ioctl() - Implements NNACCEL_POOL_EXPORT
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -ENOENT, -EOPNOTSUPP, -EMFILE, -EFAULT.
 */
int nnaccel_pool_export_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_pool_export *cmd = ucmd->cmd;
	struct nnaccel_pool *pool;
	int ret = -EOPNOTSUPP;

	if (cmd->flags & ~NNACCEL_EXPORT_CLOEXEC)
		return -EINVAL;
	pool = nnaccel_pool_get(ucmd->object, cmd->id);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	if (pool->dmabuf && pool->prot == NNACCEL_PROT_RW && !pool->offset &&
	    nnaccel_pool_is_bytes(pool) && PAGE_ALIGN(pool->length) >= pool->dmabuf->size)
		ret = nnaccel_ucmd_install(ucmd, sizeof(*cmd), get_file(pool->file),
					   cmd->flags & NNACCEL_EXPORT_CLOEXEC, &cmd->out_fd);
	nnaccel_pool_put(pool);
	return ret;
}
