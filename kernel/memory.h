/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: pools, images, and dma-bufs with the memory of pools. */
#ifndef NNACCEL_MEMORY_H
#define NNACCEL_MEMORY_H

#include <linux/dma-direction.h>

#include "context.h"

/* ---- pool.c ---- */

/**
 * struct nnaccel_pool - Memory that a client and its worker share
 * @obj: base object
 * @file: file of the dma-buf, or a regular file; a reference
 * @dmabuf: the dma-buf; NULL for a regular file
 * @hold: file that counts as a writable mapping of a regular file, so that no seal can forbid
 *	writing; or NULL
 * @node: entry in the list of pools of a dma-buf that this module allocated, under the dma-buf's
 *	lock; else empty
 * @has_devices: under the dma-buf's lock: the context was notified that a
 *	device is attached
 * @prot: NNACCEL_PROT_* that are allowed
 * @imported: the memory was not allocated by this context
 * @device: only devices can access the memory
 * @offset: offset of the memory in @file, in bytes
 * @length: length of the memory in bytes
 * @image: layout of the planes; NULL if the pool is not formatted
 * @grant: ctx->lock: number of the grant in the session; 0 if none
 * @grant_prot: ctx->lock: union of the NNACCEL_PROT_* that commands have needed
 *	so far
 * @proxies: ctx->lock: read-only and writable proxy of the grant, with references; NULL if unused
 * @left: ctx->lock: proxies of ended grants that devices still use, with references
 */
struct nnaccel_pool {
	struct nnaccel_object obj;
	struct file *file;
	struct dma_buf *dmabuf;
	struct file *hold;
	struct list_head node;
	bool has_devices;
	u32 prot;
	bool imported;
	bool device;
	u64 offset;
	u64 length;
	struct nnaccel_image *image;
	u32 grant;
	u32 grant_prot;
	struct dma_buf *proxies[2];
	struct list_head left;
};

struct nnaccel_pool *nnaccel_pool_get(struct nnaccel_context *ctx, u32 id);
void nnaccel_pool_put(struct nnaccel_pool *pool);
u32 nnaccel_pool_prot_flags(const struct nnaccel_pool *pool);
bool nnaccel_pool_may_execute(const struct nnaccel_pool *pool);
bool nnaccel_pool_is_bytes(const struct nnaccel_pool *pool);
bool nnaccel_pool_may_have(u64 length);
int nnaccel_pool_fill(struct nnaccel_pool *pool, u64 length);
struct nnaccel_pool *nnaccel_pool_alloc(struct nnaccel_context *ctx, u64 length, u32 *id);
void nnaccel_pool_retire(struct nnaccel_object *obj);
void nnaccel_pool_release(struct nnaccel_object *obj);
int nnaccel_pool_alloc_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_pool_import_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_pool_export_ioctl(struct nnaccel_ucmd *ucmd);
struct file *nnaccel_import_get(const struct nnaccel_pool_import *cmd, struct dma_buf **dmabuf);
struct nnaccel_pool *nnaccel_import(struct nnaccel_context *ctx,
				    const struct nnaccel_pool_import *cmd, struct file *file,
				    struct dma_buf *dmabuf, u32 *id);
int nnaccel_pool_finish(struct nnaccel_ucmd *ucmd, size_t size, struct nnaccel_pool *pool, u32 id);

/* ---- format.c ---- */

/**
 * struct nnaccel_image_plane - A plane of a formatted pool
 * @file: 0 for the pool's own file; n for the file of nnaccel_image.pools[n - 1]
 * @stride: bytes from the start of a row to the start of the next
 * @row_bytes: bytes of the pixels of a row
 * @rows: number of rows
 * @offset: offset of the first row in the file, in bytes
 */
struct nnaccel_image_plane {
	u32 file;
	u32 stride;
	u32 row_bytes;
	u32 rows;
	u64 offset;
};

/**
 * struct nnaccel_image - The image layout of a formatted pool
 * @fourcc: format, DRM_FORMAT_*
 * @width: width in pixels
 * @height: height in rows
 * @num_planes: number of planes
 * @planes: the planes
 * @num_pools: number of files other than the first
 * @pools: pools of these files, with references and without ids
 */
struct nnaccel_image {
	u32 fourcc;
	u32 width;
	u32 height;
	u32 num_planes;
	struct nnaccel_image_plane planes[NNACCEL_MAX_PLANES];
	u32 num_pools;
	struct nnaccel_pool *pools[NNACCEL_MAX_PLANES - 1];
};

int nnaccel_image_import_ioctl(struct nnaccel_ucmd *ucmd);
u32 nnaccel_pool_num_others(const struct nnaccel_pool *pool);
struct nnaccel_pool *nnaccel_pool_of_file(struct nnaccel_pool *pool, u32 file);
void nnaccel_image_tell(struct nnaccel_pool *pool, struct nnaccel_format *format);
void nnaccel_image_free(struct nnaccel_pool *pool);

/* ---- dmabuf.c ---- */

struct dma_buf *nnaccel_dmabuf_create(struct nnaccel_account *account, u64 length);
bool nnaccel_dmabuf_is_ours(const struct dma_buf *dmabuf);
int nnaccel_dmabuf_attach_part(const struct dma_buf *dmabuf, u64 offset, u64 length,
			       struct dma_buf_attachment *attach);
void nnaccel_dmabuf_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach);
struct sg_table *nnaccel_dmabuf_map(struct dma_buf_attachment *attach, enum dma_data_direction dir);
void nnaccel_dmabuf_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
			  enum dma_data_direction dir);
void nnaccel_dmabuf_add_pool(struct nnaccel_pool *pool);
void nnaccel_dmabuf_remove_pool(struct nnaccel_pool *pool);
bool nnaccel_dmabuf_use(const struct dma_buf *dmabuf, bool begin);
int nnaccel_dmabuf_copy(const struct dma_buf *dmabuf, void __user *user, u64 length, bool in);
int nnaccel_dmabuf_copy_between(const struct dma_buf *to, u64 to_offset,
				const struct dma_buf *from, u64 from_offset, u64 length);

/* ---- proxy.c ---- */

bool nnaccel_dmabuf_is_proxy(const struct dma_buf *dmabuf);
struct dma_buf *nnaccel_proxy_get(const struct nnaccel_session *session, struct nnaccel_pool *pool,
				  bool writable);
bool nnaccel_proxy_is_left(struct nnaccel_pool *pool);
void nnaccel_proxy_forget_all(struct nnaccel_pool *pool);
void nnaccel_proxy_revoke_all(struct nnaccel_pool *pool);

/* ---- access.c ---- */

int nnaccel_access_init(struct nnaccel_context *ctx);
void nnaccel_access_exit(struct nnaccel_context *ctx);
int nnaccel_access_get_fence(struct dma_buf *dmabuf, bool write, struct dma_fence **fence);
int nnaccel_access_wait(struct dma_buf *dmabuf, bool write);
int nnaccel_access_begin(struct dma_buf *dmabuf, u32 prot, bool counted);
int nnaccel_access_end(struct nnaccel_context *ctx, struct dma_buf *dmabuf, u32 prot,
		       bool counted);
int nnaccel_command_init_access(struct nnaccel_command *cmd);
int nnaccel_command_add_fence(const struct nnaccel_command *cmd, struct dma_fence *fence);
void nnaccel_command_sync_own(const struct nnaccel_command *cmd, bool begin);
void nnaccel_command_queue_access(struct nnaccel_command *cmd);

/* Checks whether a rank is valid, and whether all dimensions from index @rank on are 0. */
static inline bool nnaccel_dims_are_valid(u32 rank, const u32 *dims)
{
	u32 rest = 0;

	if (rank > NNACCEL_MAX_RANK)
		return false;
	while (rank < NNACCEL_MAX_RANK)
		rest |= dims[rank++];
	return !rest;
}

#endif /* NNACCEL_MEMORY_H */
