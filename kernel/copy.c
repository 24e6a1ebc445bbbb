// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: copies between buffers of memory domains and user memory or a pool.
 *
 * If this module allocated the memory of a pool, the pages are copied directly. Memory of another
 * exporter or of a regular file is mapped into the caller's address space during the copy. Some
 * exporters can map their memory for user space, but not for the kernel. Another thread of the
 * caller may change this mapping, but can harm only the caller's own data.
 */

#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/overflow.h>

#include "buffer.h"
#include "command.h"
#include "trace.h"

/**
 * struct nnaccel_copy - A copy into or out of a buffer
 * @buffer: the buffer, with a reference
 * @flags: NNACCEL_COPY_*
 * @in: copy into the buffer
 * @length: number of bytes
 * @pool: pool from or to which data is copied, with a reference; NULL for user
 *	memory
 * @offset: offset in @pool, in bytes
 * @data: address of the user memory
 * @accessing: access to @pool has begun
 * @memory: the dma-buf of the buffer or of the staging pool while it is accessed; or NULL
 */
struct nnaccel_copy {
	struct nnaccel_buffer *buffer;
	u32 flags;
	bool in;
	u64 length;
	struct nnaccel_pool *pool;
	u64 offset;
	u64 data;
	bool accessing;
	struct dma_buf *memory;
};

static enum nnaccel_use_kind nnaccel_copy_use(const struct nnaccel_copy *copy)
{
	return copy->in ? NNACCEL_USE_WRITE : NNACCEL_USE_READ;
}

/* Returns the protection (NNACCEL_PROT_*) that a copy needs for memory that it reads or writes. */
static u32 nnaccel_copy_prot(bool written)
{
	return written ? NNACCEL_PROT_READ | NNACCEL_PROT_WRITE : NNACCEL_PROT_READ;
}

/* Looks up the buffer and the pool of a copy, and validates the copy. */
static int nnaccel_copy_init(struct nnaccel_copy *copy, struct nnaccel_context *ctx,
			     const struct nnaccel_buffer_copy *arg)
{
	struct nnaccel_buffer *buffer;
	struct nnaccel_pool *pool;
	u64 end;

	copy->flags = arg->flags;
	copy->in = arg->flags & NNACCEL_COPY_IN;
	copy->length = arg->length;
	copy->offset = arg->offset;
	copy->data = arg->data;
	buffer = nnaccel_buffer_get(ctx, arg->buffer);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	copy->buffer = buffer;
	if (!(arg->flags & NNACCEL_COPY_POOL))
		return 0;
	pool = nnaccel_pool_get(ctx, arg->pool);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	copy->pool = pool;
	if (!nnaccel_pool_is_bytes(pool))
		return -EOPNOTSUPP;
	if (check_add_overflow(copy->offset, copy->length, &end) || end > pool->length)
		return -EINVAL;
	return nnaccel_copy_prot(!copy->in) & ~pool->prot ? -EACCES : 0;
}

/*
 * Waits until the CPU can access the pool of the copy and @memory. The dma-buf @memory is that of
 * the buffer or of the staging pool, which this module allocated.
 */
static int nnaccel_copy_begin_access(struct nnaccel_copy *copy, struct dma_buf *memory)
{
	int ret = 0;

	if (copy->pool && copy->pool->dmabuf) {
		ret = nnaccel_access_init(copy->buffer->pool.obj.ctx) ?:
		      nnaccel_access_begin(copy->pool->dmabuf, nnaccel_copy_prot(!copy->in), true);
		copy->accessing = !ret;
	}
	ret = ret ?: nnaccel_access_begin(memory, nnaccel_copy_prot(copy->in), true);
	if (!ret)
		copy->memory = memory;
	return ret;
}

static int nnaccel_copy_end_access(struct nnaccel_copy *copy)
{
	int ret = 0;

	if (copy->memory)
		nnaccel_access_end(copy->buffer->pool.obj.ctx, copy->memory,
				   nnaccel_copy_prot(copy->in), true);
	copy->memory = NULL;
	if (copy->accessing)
		ret = nnaccel_access_end(copy->buffer->pool.obj.ctx, copy->pool->dmabuf,
					 nnaccel_copy_prot(!copy->in), true);
	copy->accessing = false;
	return ret;
}

/*
 * Maps the copied range of the pool, at offset @start of its file, into the caller's address space.
 */
static int nnaccel_copy_map(const struct nnaccel_copy *copy, u64 start, unsigned long *addr,
			    u64 *length)
{
	unsigned long prot = PROT_READ | (copy->in ? 0 : PROT_WRITE);
	/*
	 * A write-sealed file can only be mapped MAP_PRIVATE, which suffices because a copy into a
	 * buffer only reads the file.
	 */
	unsigned long flags = copy->in && !copy->pool->dmabuf ? MAP_PRIVATE : MAP_SHARED;
	unsigned long base;

	*length = PAGE_ALIGN(offset_in_page(start) + copy->length);
	base = vm_mmap(copy->pool->file, 0, *length, prot, flags, start & PAGE_MASK);
	if (IS_ERR_VALUE(base))
		return base == -ENOMEM || base == -EINTR ? (int)base : -EIO;
	*addr = base + offset_in_page(start);
	return 0;
}

/* Copies between copy->memory and the pool or user memory, and then ends the CPU access. */
static int nnaccel_copy_move(struct nnaccel_copy *copy)
{
	u64 start = copy->pool ? copy->pool->offset + copy->offset : 0, length;
	struct dma_buf *pool = copy->pool ? copy->pool->dmabuf : NULL;
	unsigned long addr;
	int ret = 0, error;

	if (!copy->pool) {
		ret = nnaccel_dmabuf_copy(copy->memory, u64_to_user_ptr(copy->data), copy->length,
					  copy->in);
	} else if (pool && nnaccel_dmabuf_is_ours(pool)) {
		ret = copy->in ?
		      nnaccel_dmabuf_copy_between(copy->memory, 0, pool, start, copy->length) :
		      nnaccel_dmabuf_copy_between(pool, start, copy->memory, 0, copy->length);
	} else if (copy->length) {
		ret = nnaccel_copy_map(copy, start, &addr, &length);
		if (!ret) {
			ret = nnaccel_dmabuf_copy(copy->memory, (void __user *)addr, copy->length,
						  copy->in);
			vm_munmap(addr & PAGE_MASK, length);
		}
		ret = ret == -EFAULT ? -EIO : ret;
	}
	error = nnaccel_copy_end_access(copy);
	return ret ?: error;
}

/* Checks that the buffer's state and size allow the copy; the caller holds ctx->lock. */
static int nnaccel_copy_check(const struct nnaccel_copy *copy)
{
	const struct nnaccel_buffer *buffer = copy->buffer;
	u64 length = copy->length;
	int ret;

	ret = nnaccel_buffer_check_use(buffer, nnaccel_copy_use(copy));
	if (ret)
		return ret;
	if (copy->in)
		return length && length <= buffer->pool.length ? 0 : -EINVAL;
	return length == buffer->size ? 0 : -EINVAL;
}

static void nnaccel_copy_count(const struct nnaccel_copy *copy)
{
	struct nnaccel_context *ctx = copy->buffer->pool.obj.ctx;

	lockdep_assert_held(&ctx->lock);
	if (copy->in)
		ctx->copied_in += copy->length;
	else
		ctx->copied_out += copy->length;
	trace_nnaccel_buffer_copy(copy->buffer, copy->flags, copy->length);
}

/*
 * Copies a linear buffer. The buffer is checked again after the wait for CPU access, because the
 * buffer's state may change during the wait.
 */
static int nnaccel_copy_linear(struct nnaccel_copy *copy)
{
	struct nnaccel_buffer *buffer = copy->buffer;
	struct nnaccel_context *ctx = buffer->pool.obj.ctx;
	int ret;

	ret = nnaccel_copy_begin_access(copy, buffer->pool.dmabuf);
	if (ret)
		return ret;
	mutex_lock(&ctx->lock);
	ret = nnaccel_copy_check(copy);
	if (!ret) {
		nnaccel_buffer_begin_use(buffer, nnaccel_copy_use(copy));
		nnaccel_copy_count(copy);
	}
	mutex_unlock(&ctx->lock);
	if (ret)
		return ret;

	ret = nnaccel_copy_move(copy);
	mutex_lock(&ctx->lock);
	nnaccel_buffer_end_use(buffer, nnaccel_copy_use(copy), !ret, copy->length);
	mutex_unlock(&ctx->lock);
	return ret;
}

/*
 * Makes a command by which the worker converts the buffer's layout through a staging pool. The
 * command becomes the owner of @copy.
 */
static struct nnaccel_command *nnaccel_copy_convert(struct nnaccel_copy *copy)
{
	struct nnaccel_context *ctx = copy->buffer->pool.obj.ctx;
	const struct nnaccel_arrays layout = { .num_grants = 2, .num_uses = 1 };
	struct nnaccel_pool *staging;
	struct nnaccel_command *cmd;
	int ret;

	cmd = nnaccel_command_alloc(ctx, copy->in ? NNACCEL_DO_COPY_IN : NNACCEL_DO_COPY_OUT,
				    &layout);
	if (IS_ERR(cmd))
		return cmd;
	cmd->uses[0].kind = nnaccel_copy_use(copy);
	cmd->head.wire_length = copy->length;
	staging = nnaccel_pool_alloc(ctx, max_t(u64, copy->length, 1), NULL);
	ret = PTR_ERR_OR_ZERO(staging);
	if (!ret)
		nnaccel_buffer_set_grants(cmd, copy->buffer, staging, copy->in);
	if (!ret && copy->in)
		ret = nnaccel_copy_begin_access(copy, staging->dmabuf) ?: nnaccel_copy_move(copy);
	if (ret) {
		nnaccel_command_put(cmd);
		return ERR_PTR(ret);
	}
	cmd->copy = copy;
	return cmd;
}

/**
 * nnaccel_copy_free() - Frees a copy and puts its buffer and pool
 * @copy: the copy
 */
void nnaccel_copy_free(struct nnaccel_copy *copy)
{
	if (copy->pool)
		nnaccel_pool_put(copy->pool);
	if (copy->buffer)
		nnaccel_pool_put(&copy->buffer->pool);
	kfree(copy);
}

/**
 * nnaccel_copy_create() - Copies, or makes a command that lets the worker convert the layout
 * @ctx: the context
 * @from: the module's copy of the client's struct nnaccel_buffer_copy
 *
 * The buffer is checked before the wait for CPU access, so invalid requests fail at once.
 *
 * Return: the command, or NULL if the kernel has made the copy; -ERESTARTSYS if a signal came
 * before anything was copied. Other errors: -EINVAL, -ENOENT, -EACCES, -EOPNOTSUPP, -EIO, -ENODATA,
 * -EBUSY, -EFAULT, -EINTR, -EDQUOT, -ENOSPC, -ENOMEM.
 */
struct nnaccel_command *nnaccel_copy_create(struct nnaccel_context *ctx, const void *from)
{
	const struct nnaccel_buffer_copy *arg = from;
	u32 way = arg->flags & ~NNACCEL_COPY_POOL;
	struct nnaccel_command *cmd = NULL;
	struct nnaccel_copy *copy;
	int ret;

	if ((way != NNACCEL_COPY_IN && way != NNACCEL_COPY_OUT) ||
	    (arg->flags & NNACCEL_COPY_POOL ? arg->data : arg->pool || arg->offset))
		return ERR_PTR(-EINVAL);
	copy = kzalloc(sizeof(*copy), GFP_KERNEL_ACCOUNT);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	ret = nnaccel_copy_init(copy, ctx, from);
	if (!ret) {
		mutex_lock(&ctx->lock);
		ret = nnaccel_copy_check(copy);
		mutex_unlock(&ctx->lock);
	}
	/* The layout of a buffer is set before the buffer's id is published, and never changes. */
	if (!ret && copy->buffer->layout)
		cmd = nnaccel_copy_convert(copy);
	else if (!ret)
		ret = nnaccel_copy_linear(copy);
	nnaccel_copy_end_access(copy);
	if (IS_ERR_OR_NULL(cmd))
		nnaccel_copy_free(copy);
	return ret ? ERR_PTR(ret) : cmd;
}

/**
 * nnaccel_copy_answer() - Copies the data that the worker wrote
 * @work: the client's structure
 * @cmd: the answered command; NULL if the kernel has copied
 *
 * Return: 0, -EFAULT, -EIO, -EINTR, -ENOMEM; -ERESTARTSYS if a signal came.
 */
int nnaccel_copy_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd)
{
	const struct nnaccel_buffer_copy *arg = work->cmd;
	struct nnaccel_copy *copy;
	int ret;

	if (!cmd)
		return 0;
	copy = cmd->copy;
	if (!copy->in && cmd->status == NNACCEL_STATUS_NONE) {
		copy->data = arg->data;
		ret = nnaccel_copy_begin_access(copy, cmd->pools[1]->dmabuf) ?:
		      nnaccel_copy_move(copy);
		nnaccel_copy_end_access(copy);
		if (ret)
			return ret;
	}
	mutex_lock(&cmd->ctx->lock);
	nnaccel_copy_count(copy);
	mutex_unlock(&cmd->ctx->lock);
	return 0;
}
