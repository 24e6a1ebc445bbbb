/* SPDX-License-Identifier: MIT */
/*
 * Formats of AHardwareBuffer, and how their bytes lie.
 */
#include <errno.h>

#include "hwbuffer/buffer.h"

#define FOURCC(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* DRM names the bits of a little-endian number, from the highest down. */
static const struct {
	uint32_t format, fourcc, pixel_bytes;
} formats[] = {
	{ AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, FOURCC('A', 'B', '2', '4'), 4 },
	{ AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM, FOURCC('X', 'B', '2', '4'), 4 },
	{ AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, FOURCC('B', 'G', '2', '4'), 3 },
	{ AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM, FOURCC('R', 'G', '1', '6'), 2 },
	{ AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT, FOURCC('A', 'B', '4', 'H'), 8 },
	{ AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM, FOURCC('A', 'B', '3', '0'), 4 },
	{ AHARDWAREBUFFER_FORMAT_R8_UNORM, FOURCC('R', '8', ' ', ' '), 1 },
	{ AHARDWAREBUFFER_FORMAT_R16_UINT, FOURCC('R', '1', '6', ' '), 2 },
	{ AHARDWAREBUFFER_FORMAT_BLOB, 0, 1 },
};

#define NUM_FORMATS (sizeof(formats) / sizeof(formats[0]))

size_t layout_end(const struct nna_hardware_layout *layout)
{
	return layout->offset + (uint64_t)layout->stride * (layout->height - 1) +
	       layout->row_bytes;
}

int layout_init(const AHardwareBuffer_Desc *desc, uint64_t offset, uint32_t stride,
		struct nna_hardware_layout *layout, uint64_t *end)
{
	uint64_t row_bytes, rows, row_stride;
	size_t i;

	for (i = 0; i < NUM_FORMATS && formats[i].format != desc->format; i++)
		;
	if (i == NUM_FORMATS || !desc->width || !desc->height || desc->layers != 1 ||
	    desc->rfu0 || desc->rfu1 || desc->usage & AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT ||
	    (!formats[i].fourcc && desc->height != 1))
		return -EINVAL;
	row_bytes = (uint64_t)desc->width * formats[i].pixel_bytes;
	row_stride = stride ? stride : (uint64_t)desc->stride * formats[i].pixel_bytes;
	if (!row_stride)
		row_stride = row_bytes;
	if (row_stride < row_bytes || row_stride > UINT32_MAX ||
	    __builtin_mul_overflow(row_stride, desc->height - 1, &rows) ||
	    __builtin_add_overflow(rows, row_bytes, &rows) ||
	    __builtin_add_overflow(rows, offset, end) || *end > INT64_MAX)
		return -EINVAL;
	*layout = (struct nna_hardware_layout){
		.fourcc = formats[i].fourcc,
		.pixel_bytes = formats[i].pixel_bytes,
		.row_bytes = (uint32_t)row_bytes,
		.stride = (uint32_t)row_stride,
		.height = desc->height,
		.offset = offset,
	};
	return 0;
}
