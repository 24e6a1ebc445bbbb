// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: formatted pools, which are images with rows of pixels in one or more planes, as cameras
 * and displays use them. Only arguments of executions use formatted pools. The module does not
 * interpret the pixels.
 *
 * A formatted pool holds the dma-buf of its first plane. If other planes are in other files, the
 * formatted pool has an additional pool for each of these files, without an id. The additional
 * pools are granted and accessed like all pools. A command lists the additional pools of formatted
 * pools after the pools that its caller named.
 */

#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/overflow.h>
#include <uapi/drm/drm_fourcc.h>

#include "memory.h"

/*
 * Layouts of image formats: pixel_bytes is the size of a pixel in the first plane; width and height
 * must be multiples of width_multiple and height_multiple. For planes after the first, chroma_bytes
 * is the number of bytes for 2 x 2 pixels.
 */
static const struct nnaccel_format_info {
	u32 fourcc;
	u8 num_planes;
	u8 pixel_bytes;
	u8 width_multiple;
	u8 height_multiple;
	u8 chroma_bytes;
} nnaccel_formats[] = {
	{ DRM_FORMAT_R8, 1, 1, 1, 1 }, { DRM_FORMAT_R16, 1, 2, 1, 1 },
	{ DRM_FORMAT_RG88, 1, 2, 1, 1 }, { DRM_FORMAT_GR88, 1, 2, 1, 1 },
	{ DRM_FORMAT_RGB565, 1, 2, 1, 1 }, { DRM_FORMAT_BGR565, 1, 2, 1, 1 },
	{ DRM_FORMAT_YUYV, 1, 2, 2, 1 }, { DRM_FORMAT_YVYU, 1, 2, 2, 1 },
	{ DRM_FORMAT_UYVY, 1, 2, 2, 1 }, { DRM_FORMAT_VYUY, 1, 2, 2, 1 },
	{ DRM_FORMAT_RGB888, 1, 3, 1, 1 }, { DRM_FORMAT_BGR888, 1, 3, 1, 1 },
	{ DRM_FORMAT_XRGB8888, 1, 4, 1, 1 }, { DRM_FORMAT_XBGR8888, 1, 4, 1, 1 },
	{ DRM_FORMAT_ARGB8888, 1, 4, 1, 1 }, { DRM_FORMAT_ABGR8888, 1, 4, 1, 1 },
	{ DRM_FORMAT_ABGR2101010, 1, 4, 1, 1 }, { DRM_FORMAT_XBGR2101010, 1, 4, 1, 1 },
	{ DRM_FORMAT_ABGR16161616F, 1, 8, 1, 1 }, { DRM_FORMAT_XBGR16161616F, 1, 8, 1, 1 },
	{ DRM_FORMAT_NV12, 2, 1, 2, 2, 2 }, { DRM_FORMAT_NV21, 2, 1, 2, 2, 2 },
	{ DRM_FORMAT_P010, 2, 2, 2, 2, 4 }, { DRM_FORMAT_YUV420, 3, 1, 2, 2, 1 },
	{ DRM_FORMAT_YVU420, 3, 1, 2, 2, 1 },
};

/**
 * struct nnaccel_image_file - A file that contains planes of an image
 * @import: the part to import, from the file's start to the end of the last row
 * @file: the file, with a reference
 * @dmabuf: the dma-buf of the file, or NULL
 */
struct nnaccel_image_file {
	struct nnaccel_pool_import import;
	struct file *file;
	struct dma_buf *dmabuf;
};

static const struct nnaccel_format_info *nnaccel_format_find(u32 fourcc)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nnaccel_formats); i++)
		if (nnaccel_formats[i].fourcc == fourcc)
			return &nnaccel_formats[i];
	return NULL;
}

/*
 * Validates a client's description of an image, except for its files, and computes the layout of
 * the planes.
 */
static int nnaccel_image_init(const struct nnaccel_pool_import *cmd,
			      struct nnaccel_image *image)
{
	const struct nnaccel_format_info *info = nnaccel_format_find(cmd->fourcc);
	static const struct nnaccel_plane none;
	u32 i;

	if (!info || cmd->modifier != DRM_FORMAT_MOD_LINEAR)
		return -EOPNOTSUPP;
	if (!cmd->width || !cmd->height || cmd->width % info->width_multiple ||
	    cmd->height % info->height_multiple ||
	    (u64)cmd->width * info->pixel_bytes > U32_MAX)
		return -EINVAL;
	image->fourcc = cmd->fourcc;
	image->width = cmd->width;
	image->height = cmd->height;
	image->num_planes = info->num_planes;
	image->planes[0].stride = cmd->stride;
	image->planes[0].offset = cmd->offset;
	image->planes[0].row_bytes = cmd->width * info->pixel_bytes;
	image->planes[0].rows = cmd->height;
	for (i = 1; i < NNACCEL_MAX_PLANES; i++) {
		const struct nnaccel_plane *from = &cmd->planes[i - 1];

		if (i >= info->num_planes) {
			if (memcmp(from, &none, sizeof(none)))
				return -EINVAL;
			continue;
		}
		image->planes[i].stride = from->stride;
		image->planes[i].offset = from->offset;
		image->planes[i].row_bytes = cmd->width / 2 * info->chroma_bytes;
		image->planes[i].rows = cmd->height / 2;
	}
	return 0;
}

/* Looks up the files of all planes of an image. @files gets each file once, with one reference. */
static int nnaccel_image_get_files(const struct nnaccel_pool_import *cmd,
				   struct nnaccel_image *image, struct nnaccel_image_file *files)
{
	u32 i, k;

	for (i = 0; i < image->num_planes; i++) {
		struct nnaccel_image_file next = { .import.prot = cmd->prot };
		struct nnaccel_image_plane *plane = &image->planes[i];
		u64 end;

		next.import.fd = i && cmd->planes[i - 1].fd != -1 ? cmd->planes[i - 1].fd : cmd->fd;
		if (plane->stride < plane->row_bytes ||
		    check_add_overflow(plane->offset, (u64)plane->stride * (plane->rows - 1),
				       &end) ||
		    check_add_overflow(end, (u64)plane->row_bytes, &end))
			return -EINVAL;
		next.import.length = end;
		next.file = nnaccel_import_get(&next.import, &next.dmabuf);
		if (IS_ERR(next.file))
			return PTR_ERR(next.file);
		for (k = 0; files[k].file && files[k].file != next.file; k++)
			;
		plane->file = k;
		if (!files[k].file) {
			files[k] = next;
			continue;
		}
		fput(next.file);
		files[k].import.length = max(files[k].import.length, next.import.length);
	}
	return 0;
}

/**
 * nnaccel_image_free() - Frees the image of a formatted pool and puts its additional pools
 * @pool: the pool, formatted or not
 */
void nnaccel_image_free(struct nnaccel_pool *pool)
{
	struct nnaccel_image *image = pool->image;
	u32 i;

	if (!image)
		return;
	for (i = 0; i < image->num_pools; i++)
		nnaccel_pool_put(image->pools[i]);
	kfree(image);
}

/**
 * nnaccel_image_import_ioctl() - Implements NNACCEL_POOL_IMPORT of an image
 * @ucmd: the ioctl
 *
 * Return: 0, -EBADF, -EINVAL, -EOPNOTSUPP, -EACCES, -EPERM, -ENOSPC, -ENOMEM, -EFAULT.
 */
int nnaccel_image_import_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_pool_import *cmd = ucmd->cmd;
	struct nnaccel_image_file files[NNACCEL_MAX_PLANES] = {};
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_pool *pool = NULL, *each;
	struct nnaccel_image *image;
	int ret;
	u32 i;

	if (cmd->flags || cmd->length || cmd->__reserved)
		return -EINVAL;
	image = kzalloc(sizeof(*image), GFP_KERNEL_ACCOUNT);
	if (!image)
		return -ENOMEM;
	ret = nnaccel_image_init(cmd, image) ?: nnaccel_image_get_files(cmd, image, files);

	/* The pool of the first file owns the image, which owns the pools of the other files. */
	for (i = 0; !ret && i < ARRAY_SIZE(files) && files[i].file; i++) {
		each = nnaccel_import(ctx, &files[i].import, files[i].file, files[i].dmabuf,
				      i ? NULL : &cmd->out_id);
		files[i].file = NULL;
		ret = PTR_ERR_OR_ZERO(each);
		if (!ret && pool) {
			image->pools[image->num_pools++] = each;
			nnaccel_dmabuf_add_pool(each);
		} else if (!ret) {
			pool = each;
			pool->image = image;
		}
	}
	if (!ret) {
		for (i = 0; i < image->num_planes; i++)
			cmd->length += (u64)image->planes[i].row_bytes * image->planes[i].rows;
		return nnaccel_pool_finish(ucmd, sizeof(*cmd), pool, cmd->out_id);
	}

	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].file)
			fput(files[i].file);
	if (pool) {
		nnaccel_object_unreserve(ctx, cmd->out_id);
		nnaccel_pool_put(pool);
	} else {
		kfree(image);
	}
	return ret;
}

/**
 * nnaccel_pool_num_others() - Returns how many pools a pool holds for planes in other files
 * @pool: the pool, formatted or not
 *
 * Return: the number.
 */
u32 nnaccel_pool_num_others(const struct nnaccel_pool *pool)
{
	return pool->image ? pool->image->num_pools : 0;
}

/**
 * nnaccel_pool_of_file() - Returns the pool of a plane's file
 * @pool: the pool, formatted or not
 * @file: the value of nnaccel_image_plane.file
 *
 * Return: @pool itself, or one of its additional pools.
 */
struct nnaccel_pool *nnaccel_pool_of_file(struct nnaccel_pool *pool, u32 file)
{
	return file ? pool->image->pools[file - 1] : pool;
}

/**
 * nnaccel_image_tell() - Describes the layout of a formatted pool for a worker
 * @pool: the pool; it and its additional pools are granted; ctx->lock is held
 * @format: out: the description
 */
void nnaccel_image_tell(struct nnaccel_pool *pool, struct nnaccel_format *format)
{
	const struct nnaccel_image *image = pool->image;
	u32 i;

	lockdep_assert_held(&pool->obj.ctx->lock);
	*format = (struct nnaccel_format) {
		.fourcc = image->fourcc,
		.width = image->width,
		.height = image->height,
		.num_planes = image->num_planes,
	};
	for (i = 0; i < image->num_planes; i++) {
		const struct nnaccel_image_plane *plane = &image->planes[i];
		const struct nnaccel_pool *of = nnaccel_pool_of_file(pool, plane->file);

		format->planes[i] = (struct nnaccel_format_plane) {
			.grant.grant = of->grant,
			.grant.prot = of->grant_prot | nnaccel_pool_prot_flags(of),
			.grant.length = of->length,
			.offset = plane->offset,
			.stride = plane->stride,
			.row_bytes = plane->row_bytes,
			.rows = plane->rows,
		};
	}
}
