// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: formatted pools. Their planes hold rows of pixels, like images of cameras and displays.
 * Only arguments of executions use them. The module does not interpret the pixels.
 *
 * A formatted pool has the file of its first plane. For a plane in another file it holds an
 * additional pool without an id. The additional pool is granted and accessed like any other. So
 * commands name it after the pools that their caller named.
 */

#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <uapi/drm/drm_fourcc.h>

#include "context.h"
#include "core.h"
#include "memory.h"

/*
 * Layouts of the formats: bytes of a pixel in the first plane, and multiples of width and height.
 * For the other planes, chroma_bytes counts the bytes of 2 x 2 pixels.
 */
static const struct nnaccel_format_info {
	u32 fourcc;
	u8 num_planes;
	u8 pixel_bytes;
	u8 width_multiple;
	u8 height_multiple;
	u8 chroma_bytes;
} nnaccel_formats[] = {
	{ DRM_FORMAT_R8, 1, 1, 1, 1 },
	{ DRM_FORMAT_R16, 1, 2, 1, 1 },
	{ DRM_FORMAT_RG88, 1, 2, 1, 1 },
	{ DRM_FORMAT_GR88, 1, 2, 1, 1 },
	{ DRM_FORMAT_RGB565, 1, 2, 1, 1 },
	{ DRM_FORMAT_BGR565, 1, 2, 1, 1 },
	{ DRM_FORMAT_YUYV, 1, 2, 2, 1 },
	{ DRM_FORMAT_YVYU, 1, 2, 2, 1 },
	{ DRM_FORMAT_UYVY, 1, 2, 2, 1 },
	{ DRM_FORMAT_VYUY, 1, 2, 2, 1 },
	{ DRM_FORMAT_RGB888, 1, 3, 1, 1 },
	{ DRM_FORMAT_BGR888, 1, 3, 1, 1 },
	{ DRM_FORMAT_XRGB8888, 1, 4, 1, 1 },
	{ DRM_FORMAT_XBGR8888, 1, 4, 1, 1 },
	{ DRM_FORMAT_ARGB8888, 1, 4, 1, 1 },
	{ DRM_FORMAT_ABGR8888, 1, 4, 1, 1 },
	{ DRM_FORMAT_ABGR2101010, 1, 4, 1, 1 },
	{ DRM_FORMAT_XBGR2101010, 1, 4, 1, 1 },
	{ DRM_FORMAT_ABGR16161616F, 1, 8, 1, 1 },
	{ DRM_FORMAT_XBGR16161616F, 1, 8, 1, 1 },
	{ DRM_FORMAT_NV12, 2, 1, 2, 2, 2 },
	{ DRM_FORMAT_NV21, 2, 1, 2, 2, 2 },
	{ DRM_FORMAT_P010, 2, 2, 2, 2, 4 },
	{ DRM_FORMAT_YUV420, 3, 1, 2, 2, 1 },
	{ DRM_FORMAT_YVU420, 3, 1, 2, 2, 1 },
};

/**
 * struct nnaccel_picture_file - A file that contains planes of an image
 * @import: the part to import: from the file's start to the end of the last row
 * @file: the file, with a reference
 * @dmabuf: the dma-buf of the file, or NULL
 */
struct nnaccel_picture_file {
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

/* Computes the end of a plane's last row, in bytes of the file. */
static int nnaccel_plane_end(const struct nnaccel_picture_plane *plane, u64 *end)
{
	if (plane->stride < plane->row_bytes ||
	    check_add_overflow(plane->offset, (u64)plane->stride * (plane->rows - 1), end) ||
	    check_add_overflow(*end, (u64)plane->row_bytes, end))
		return -EINVAL;
	return 0;
}

/* Validates a client's description of an image, without its files, and lays out the planes. */
static int nnaccel_picture_init(const struct nnaccel_pool_import *cmd,
				struct nnaccel_picture *picture)
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
	picture->fourcc = cmd->fourcc;
	picture->width = cmd->width;
	picture->height = cmd->height;
	picture->num_planes = info->num_planes;
	picture->planes[0].stride = cmd->stride;
	picture->planes[0].offset = cmd->offset;
	picture->planes[0].row_bytes = cmd->width * info->pixel_bytes;
	picture->planes[0].rows = cmd->height;
	for (i = 1; i < NNACCEL_MAX_PLANES; i++) {
		const struct nnaccel_plane *from = &cmd->planes[i - 1];

		if (i >= info->num_planes) {
			if (memcmp(from, &none, sizeof(none)))
				return -EINVAL;
			continue;
		}
		picture->planes[i].stride = from->stride;
		picture->planes[i].offset = from->offset;
		picture->planes[i].row_bytes = cmd->width / 2 * info->chroma_bytes;
		picture->planes[i].rows = cmd->height / 2;
	}
	return 0;
}

/*
 * Looks up the files of all planes. @files gets each file once, and @of gets the file of each
 * plane.
 */
static int nnaccel_picture_get_files(const struct nnaccel_pool_import *cmd,
				     const struct nnaccel_picture *picture,
				     struct nnaccel_picture_file *files, u32 *num, u32 *of)
{
	u32 i, k;
	int ret;

	*num = 0;
	for (i = 0; i < picture->num_planes; i++) {
		struct nnaccel_picture_file *file = &files[*num];

		file->import.prot = cmd->prot;
		file->import.fd = i ? cmd->planes[i - 1].fd : cmd->fd;
		if (i && file->import.fd == -1)
			file->import.fd = cmd->fd;
		ret = nnaccel_plane_end(&picture->planes[i], &file->import.length);
		if (ret)
			return ret;
		file->file = nnaccel_import_get(&file->import, &file->dmabuf);
		if (IS_ERR(file->file))
			return PTR_ERR(file->file);
		for (k = 0; k < *num; k++)
			if (files[k].file == file->file)
				break;
		of[i] = k;
		if (k == *num) {
			++*num;
			continue;
		}
		fput(file->file);
		files[k].import.length = max(files[k].import.length, file->import.length);
	}
	return 0;
}

static void nnaccel_picture_put_files(struct nnaccel_picture_file *files, u32 num)
{
	while (num)
		fput(files[--num].file);
}

/**
 * nnaccel_picture_free() - Frees the image of a formatted pool and puts its other pools
 * @pool: the pool, formatted or not
 */
void nnaccel_picture_free(struct nnaccel_pool *pool)
{
	struct nnaccel_picture *picture = pool->picture;
	u32 i;

	if (!picture)
		return;
	for (i = 0; i < picture->num_pools; i++)
		nnaccel_pool_put(picture->pools[i]);
	kfree(picture);
}

/* Imports the pools of an image. Takes over @picture and @files, also on failure. */
static struct nnaccel_pool *nnaccel_picture_import(struct nnaccel_context *ctx,
						   struct nnaccel_picture *picture,
						   struct nnaccel_picture_file *files, u32 num,
						   u32 *id)
{
	struct nnaccel_pool *pool, *other;
	u32 i;

	pool = nnaccel_import(ctx, &files[0].import, files[0].file, files[0].dmabuf, id);
	if (IS_ERR(pool)) {
		nnaccel_picture_put_files(files + 1, num - 1);
		kfree(picture);
		return pool;
	}
	pool->picture = picture;
	for (i = 1; i < num; i++) {
		other = nnaccel_import(ctx, &files[i].import, files[i].file, files[i].dmabuf,
				       NULL);
		if (IS_ERR(other)) {
			nnaccel_picture_put_files(files + i + 1, num - i - 1);
			nnaccel_object_unreserve(ctx, *id);
			nnaccel_pool_put(pool);
			return other;
		}
		picture->pools[picture->num_pools++] = other;
		nnaccel_dmabuf_add_pool(other);
	}
	return pool;
}

/**
 * nnaccel_picture_import_ioctl() - Implements NNACCEL_POOL_IMPORT of an image
 * @ucmd: the ioctl
 *
 * Return: 0, -EBADF, -EINVAL, -EOPNOTSUPP, -EACCES, -EPERM, -ENOSPC, -ENOMEM, -EFAULT.
 */
int nnaccel_picture_import_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_pool_import *cmd = ucmd->cmd;
	struct nnaccel_picture_file files[NNACCEL_MAX_PLANES] = {};
	u32 i, id, num, of[NNACCEL_MAX_PLANES];
	struct nnaccel_picture *picture;
	struct nnaccel_pool *pool;
	u64 length = 0;
	int ret;

	if (cmd->flags || cmd->length || cmd->__reserved)
		return -EINVAL;
	picture = kzalloc(sizeof(*picture), GFP_KERNEL_ACCOUNT);
	if (!picture)
		return -ENOMEM;
	ret = nnaccel_picture_init(cmd, picture);
	if (ret) {
		kfree(picture);
		return ret;
	}
	ret = nnaccel_picture_get_files(cmd, picture, files, &num, of);
	if (ret) {
		nnaccel_picture_put_files(files, num);
		kfree(picture);
		return ret;
	}
	for (i = 0; i < picture->num_planes; i++) {
		picture->planes[i].file = of[i];
		length += (u64)picture->planes[i].row_bytes * picture->planes[i].rows;
	}
	pool = nnaccel_picture_import(ucmd->object, picture, files, num, &id);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	cmd->length = length;
	cmd->out_id = id;
	return nnaccel_pool_finish(ucmd, sizeof(*cmd), pool, id);
}

/**
 * nnaccel_pool_is_formatted() - Returns whether a pool is formatted
 * @pool: the pool
 *
 * Return: true if it is.
 */
bool nnaccel_pool_is_formatted(const struct nnaccel_pool *pool)
{
	return pool->picture;
}

/**
 * nnaccel_pool_num_others() - Returns how many pools a pool holds for planes in other files
 * @pool: the pool, formatted or not
 *
 * Return: the number.
 */
u32 nnaccel_pool_num_others(const struct nnaccel_pool *pool)
{
	return pool->picture ? pool->picture->num_pools : 0;
}

/**
 * nnaccel_pool_of_file() - Returns the pool of a plane's file
 * @pool: the pool, formatted or not
 * @file: the value of nnaccel_picture_plane.file
 *
 * Return: the pool itself, or another one that it holds.
 */
struct nnaccel_pool *nnaccel_pool_of_file(struct nnaccel_pool *pool, u32 file)
{
	return file ? pool->picture->pools[file - 1] : pool;
}

/**
 * nnaccel_picture_tell() - Describes the layout of a formatted pool for a worker
 * @pool: the pool, granted like the pools of its planes; ctx->lock is held
 * @format: out: the description
 */
void nnaccel_picture_tell(struct nnaccel_pool *pool, struct nnaccel_format *format)
{
	const struct nnaccel_picture *picture = pool->picture;
	u32 i;

	lockdep_assert_held(&pool->obj.ctx->lock);
	*format = (struct nnaccel_format) {
		.fourcc = picture->fourcc,
		.width = picture->width,
		.height = picture->height,
		.num_planes = picture->num_planes,
	};
	for (i = 0; i < picture->num_planes; i++) {
		const struct nnaccel_picture_plane *plane = &picture->planes[i];
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
