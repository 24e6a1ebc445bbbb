/* SPDX-License-Identifier: MIT */
/* Planes of an image, and the tensor that has the rows of all planes without gaps between rows. */
#ifndef NN_BASE_PLANES_H
#define NN_BASE_PLANES_H

#include <stdbool.h>
#include <string.h>

#include <nnaccel/hardware_buffer.h>

/*
 * Returns the number of bytes of all pixels of an image. Sets *is_dense if all pixels lie one after
 * the other in one file.
 */
static inline uint64_t planes_measure(const struct nna_hardware_plane *planes, uint32_t count,
				      bool *is_dense)
{
	uint64_t length = 0;

	*is_dense = true;
	for (uint32_t i = 0; i < count; i++) {
		if ((planes[i].stride != planes[i].row_bytes && planes[i].rows > 1) ||
		    planes[i].fd != planes[0].fd || planes[i].offset != planes[0].offset + length)
			*is_dense = false;
		length += (uint64_t)planes[i].row_bytes * planes[i].rows;
	}
	return length;
}

/*
 * Copies pixels between planes and a tensor. `bases` are the addresses of the planes' first rows.
 */
static inline void planes_copy(const struct nna_hardware_plane *planes, uint32_t count,
			       void *const bases[], void *tensor, bool to_planes)
{
	char *data = tensor, *row;

	for (uint32_t i = 0; i < count; i++) {
		row = bases[i];
		for (uint32_t y = 0; y < planes[i].rows; y++) {
			memcpy(to_planes ? row : data, to_planes ? data : row, planes[i].row_bytes);
			row += planes[i].stride;
			data += planes[i].row_bytes;
		}
	}
}

#endif /* NN_BASE_PLANES_H */
