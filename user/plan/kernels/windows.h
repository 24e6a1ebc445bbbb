/* SPDX-License-Identifier: MIT */
/*
 * Copies windows of images, so that each window becomes one row of a matrix product.
 */
#ifndef NN_PLAN_KERNELS_WINDOWS_H
#define NN_PLAN_KERNELS_WINDOWS_H

#include "ops/conv.h"

/*
 * The function nn_copy_windows() may read and write NN_WINDOWS_EXCESS bytes after the windows that
 * it copies.
 */
#define NN_WINDOWS_EXCESS 16

struct nn_windows {
	const struct nn_window *window;
	size_t pixel;			/* bytes of a pixel that are copied */
	size_t step;			/* bytes between pixels of the image */
	size_t stride;			/* bytes between windows in the copy */
	/*
	 * The image lines that are in memory. Without padding, windows read only these lines.
	 */
	size_t first_line;
	size_t end_line;
	uint8_t padding;		/* value of each byte of padding */
};

/*
 * Copies the windows of the output pixels [first, first + count) to `to`. `in` is the address of
 * the first line in memory. If several images are copied, all of their lines must be in memory.
 */
void nn_copy_windows(const struct nn_windows *w, const char *in, size_t first, size_t count,
		     char *to);

#endif /* NN_PLAN_KERNELS_WINDOWS_H */
