/* SPDX-License-Identifier: MIT */
/* The formats of AHardwareBuffer, and the layouts of buffers in these formats. */
#include <errno.h>

#include "hwbuffer/buffer.h"

#define FOURCC(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

#define AHB(name) AHARDWAREBUFFER_FORMAT_##name

/*
 * DRM's names list the components of a little-endian number from the highest bits down. If several
 * rows of the table have the same AHARDWAREBUFFER_FORMAT_, the first row is the format of allocated
 * buffers: NV12 for flexible YUV 4:2:0.
 */
static const struct hardware_format formats[] = {
	{ AHB(R8G8B8A8_UNORM), FOURCC('A', 'B', '2', '4'), 1, 4, 1, 1, 0, false },
	{ AHB(R8G8B8X8_UNORM), FOURCC('X', 'B', '2', '4'), 1, 4, 1, 1, 0, false },
	{ AHB(R8G8B8_UNORM), FOURCC('B', 'G', '2', '4'), 1, 3, 1, 1, 0, false },
	{ AHB(R5G6B5_UNORM), FOURCC('R', 'G', '1', '6'), 1, 2, 1, 1, 0, false },
	{ AHB(R16G16B16A16_FLOAT), FOURCC('A', 'B', '4', 'H'), 1, 8, 1, 1, 0, false },
	{ AHB(R10G10B10A2_UNORM), FOURCC('A', 'B', '3', '0'), 1, 4, 1, 1, 0, false },
	{ AHB(R8_UNORM), FOURCC('R', '8', ' ', ' '), 1, 1, 1, 1, 0, false },
	{ AHB(R16_UINT), FOURCC('R', '1', '6', ' '), 1, 2, 1, 1, 0, false },
	{ AHB(BLOB), 0, 1, 1, 1, 1, 0, false },
	{ NNA_HARDWARE_FORMAT_YUYV, FOURCC('Y', 'U', 'Y', 'V'), 1, 2, 2, 1, 0, false },
	{ AHB(Y8Cb8Cr8_420), FOURCC('N', 'V', '1', '2'), 2, 1, 2, 2, 2, false },
	{ AHB(Y8Cb8Cr8_420), FOURCC('N', 'V', '2', '1'), 2, 1, 2, 2, 2, true },
	{ AHB(Y8Cb8Cr8_420), FOURCC('Y', 'U', '1', '2'), 3, 1, 2, 2, 1, false },
	{ AHB(Y8Cb8Cr8_420), FOURCC('Y', 'V', '1', '2'), 3, 1, 2, 2, 1, true },
	{ AHB(YCbCr_P010), FOURCC('P', '0', '1', '0'), 2, 2, 2, 2, 4, false },
};

#define NUM_FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct hardware_format *layout_find_format(uint32_t format)
{
	for (size_t i = 0; i < NUM_FORMATS; i++)
		if (formats[i].format == format)
			return &formats[i];
	return NULL;
}

const struct hardware_format *layout_find_fourcc(uint32_t fourcc)
{
	for (size_t i = 0; i < NUM_FORMATS; i++)
		if (fourcc && formats[i].fourcc == fourcc)
			return &formats[i];
	return NULL;
}

uint64_t layout_plane_end(const struct nna_hardware_plane *plane)
{
	uint64_t end;

	if (__builtin_mul_overflow((uint64_t)plane->stride, plane->rows - 1, &end) ||
	    __builtin_add_overflow(end, plane->row_bytes, &end) ||
	    __builtin_add_overflow(end, plane->offset, &end) || end > INT64_MAX)
		return 0;
	return end;
}

/* Sets all fields of a layout except the planes' files, offsets and strides. */
static bool init_planes(const struct hardware_format *format, uint32_t width, uint32_t height,
			struct nna_hardware_layout *layout)
{
	if (!width || !height || width % format->multiple_x || height % format->multiple_y ||
	    (uint64_t)width * format->pixel_bytes > UINT32_MAX)
		return false;
	*layout = (struct nna_hardware_layout){
		.fourcc = format->fourcc,
		.width = width,
		.height = height,
		.pixel_bytes = format->pixel_bytes,
		.num_planes = format->num_planes,
	};
	for (uint32_t i = 0; i < format->num_planes; i++) {
		struct nna_hardware_plane *plane = &layout->planes[i];

		plane->fd = -1;
		plane->row_bytes = i ? width / 2 * format->chroma_bytes :
				   width * format->pixel_bytes;
		plane->rows = i ? height / 2 : height;
		layout->size += (uint64_t)plane->row_bytes * plane->rows;
	}
	return true;
}

int layout_init(const AHardwareBuffer_Desc *desc, uint64_t offset, uint32_t stride,
		struct nna_hardware_layout *layout, uint64_t *end)
{
	const struct hardware_format *format = layout_find_format(desc->format);
	uint64_t row_stride;

	if (!format || desc->layers != 1 || desc->rfu0 || desc->rfu1 ||
	    desc->usage & AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT ||
	    (!format->fourcc && desc->height != 1) ||
	    !init_planes(format, desc->width, desc->height, layout))
		return -EINVAL;
	row_stride = stride ? stride : (uint64_t)desc->stride * format->pixel_bytes;
	if (!row_stride)
		row_stride = layout->planes[0].row_bytes;
	if (row_stride < layout->planes[0].row_bytes || row_stride > UINT32_MAX ||
	    (layout->num_planes > 1 && row_stride % 2))
		return -EINVAL;
	for (uint32_t i = 0; i < layout->num_planes; i++) {
		struct nna_hardware_plane *plane = &layout->planes[i];

		/* In a chroma plane, two adjacent pixels of a row share chroma_bytes. */
		plane->stride = (uint32_t)(i ? row_stride / 2 * format->chroma_bytes /
						format->pixel_bytes : row_stride);
		plane->offset = offset;
		*end = layout_plane_end(plane);
		/* A plane begins after the last row, with padding, of the previous plane. */
		if (!*end || __builtin_add_overflow(offset, (uint64_t)plane->stride * plane->rows,
						    &offset))
			return -EINVAL;
	}
	return 0;
}

int layout_init_image(const struct nna_hardware_image *image,
		      struct nna_hardware_layout *layout)
{
	const struct hardware_format *format = layout_find_fourcc(image->fourcc);

	if (!format || image->modifier)
		return -EOPNOTSUPP;
	if (image->num_planes != format->num_planes ||
	    image->usage & AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT ||
	    !init_planes(format, image->width, image->height, layout))
		return -EINVAL;
	for (uint32_t i = 0; i < layout->num_planes; i++) {
		struct nna_hardware_plane *plane = &layout->planes[i];

		plane->fd = image->planes[i].fd;
		plane->stride = image->planes[i].stride;
		plane->offset = image->planes[i].offset;
		if (plane->stride < plane->row_bytes || !layout_plane_end(plane))
			return -EINVAL;
	}
	return 0;
}
