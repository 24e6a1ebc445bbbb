// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: formatted pools. Rows of pixels a stride apart, as cameras and displays have them;
 * arguments of executions and nothing else. What the pixels mean is user space's business.
 */

#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/overflow.h>
#include <uapi/drm/drm_fourcc.h>

#include "nnaccel_private.h"

/* Formats of one plane, by the bytes of a pixel. */
static const struct {
	u32 fourcc;
	u8 pixel_bytes;
	u8 width_multiple;
} nnaccel_formats[] = {
	{ DRM_FORMAT_R8, 1, 1 },
	{ DRM_FORMAT_R16, 2, 1 },
	{ DRM_FORMAT_RG88, 2, 1 },
	{ DRM_FORMAT_GR88, 2, 1 },
	{ DRM_FORMAT_RGB565, 2, 1 },
	{ DRM_FORMAT_BGR565, 2, 1 },
	{ DRM_FORMAT_YUYV, 2, 2 },
	{ DRM_FORMAT_YVYU, 2, 2 },
	{ DRM_FORMAT_UYVY, 2, 2 },
	{ DRM_FORMAT_VYUY, 2, 2 },
	{ DRM_FORMAT_RGB888, 3, 1 },
	{ DRM_FORMAT_BGR888, 3, 1 },
	{ DRM_FORMAT_XRGB8888, 4, 1 },
	{ DRM_FORMAT_XBGR8888, 4, 1 },
	{ DRM_FORMAT_ARGB8888, 4, 1 },
	{ DRM_FORMAT_ABGR8888, 4, 1 },
	{ DRM_FORMAT_ABGR2101010, 4, 1 },
	{ DRM_FORMAT_XBGR2101010, 4, 1 },
	{ DRM_FORMAT_ABGR16161616F, 8, 1 },
	{ DRM_FORMAT_XBGR16161616F, 8, 1 },
};

/* Checks what a client says of a format, and finds out what follows from it. */
static int nnaccel_format_init(const struct nnaccel_pool_import_formatted *cmd,
			       struct nnaccel_format *format, u64 *length)
{
	u64 row_bytes, end;
	size_t i;

	if (cmd->modifier != DRM_FORMAT_MOD_LINEAR)
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(nnaccel_formats); i++)
		if (nnaccel_formats[i].fourcc == cmd->fourcc)
			break;
	if (i == ARRAY_SIZE(nnaccel_formats))
		return -EOPNOTSUPP;
	row_bytes = (u64)cmd->width * nnaccel_formats[i].pixel_bytes;
	if (!cmd->width || !cmd->height || cmd->width % nnaccel_formats[i].width_multiple ||
	    cmd->stride < row_bytes)
		return -EINVAL;
	/* The last row ends where its pixels do. */
	if (check_add_overflow(cmd->offset, (u64)cmd->stride * (cmd->height - 1), &end) ||
	    check_add_overflow(end, row_bytes, length))
		return -EINVAL;
	*format = (struct nnaccel_format) {
		.fourcc = cmd->fourcc,
		.width = cmd->width,
		.height = cmd->height,
		.stride = cmd->stride,
		.row_bytes = row_bytes,
		.offset = cmd->offset,
	};
	return 0;
}

/**
 * nnaccel_pool_import_formatted_ioctl() - NNACCEL_POOL_IMPORT_FORMATTED
 * @ucmd: the ioctl
 *
 * Return: 0, -EBADF, -EINVAL, -EOPNOTSUPP, -EACCES, -EPERM, -ENOSPC, -ENOMEM, -EFAULT.
 */
int nnaccel_pool_import_formatted_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_pool_import_formatted *cmd = ucmd->cmd;
	struct nnaccel_pool_import plain = { .fd = cmd->fd, .prot = cmd->prot };
	struct nnaccel_format format;
	struct nnaccel_pool *pool;
	struct dma_buf *dmabuf;
	struct file *file;
	u32 id;
	int ret;

	if (cmd->flags || cmd->__reserved)
		return -EINVAL;
	ret = nnaccel_format_init(cmd, &format, &plain.length);
	if (ret)
		return ret;
	file = nnaccel_import_get(&plain, &dmabuf);
	if (IS_ERR(file))
		return PTR_ERR(file);
	pool = nnaccel_import(ucmd->object, &plain, file, dmabuf, &id);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	pool->format = format;
	cmd->out_length = (u64)format.row_bytes * format.height;
	cmd->out_id = id;
	return nnaccel_pool_finish(ucmd, sizeof(*cmd), pool, id);
}

/**
 * nnaccel_pool_is_formatted() - Are a pool's bytes rows of pixels?
 * @pool: the pool
 *
 * Return: whether they are.
 */
bool nnaccel_pool_is_formatted(const struct nnaccel_pool *pool)
{
	return pool->format.fourcc;
}
