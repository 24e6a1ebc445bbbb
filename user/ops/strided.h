/* SPDX-License-Identifier: MIT */
/*
 * Copies elements between a dense array and a strided view of another array, in order to transpose,
 * slice, tile or reverse tensors or rearrange blocks of pixels.
 */
#ifndef NN_OPS_STRIDED_H
#define NN_OPS_STRIDED_H

#include "ops/op.h"

#define NN_STRIDED_MAX_RANK (2 * NN_MAX_RANK)

/*
 * A view of an array. Element (i0, i1, ...) of the view is element offset + i0 * strides[0] + ...
 * of the array. A stride of 0 repeats elements, and a negative stride reverses the order of
 * elements.
 */
struct nn_strided {
	uint32_t rank;
	uint32_t dims[NN_STRIDED_MAX_RANK];
	int64_t strides[NN_STRIDED_MAX_RANK];
	int64_t offset;
};

/* Makes a view of all elements of a dense tensor in the tensor's own order. */
void nn_strided_dense(struct nn_strided *view, const struct nn_tensor *t);

/* Appends an axis with `dim` elements to a view. */
void nn_strided_axis(struct nn_strided *view, uint32_t dim, int64_t stride);

/* Returns the stride of an axis of a dense tensor in elements. */
int64_t nn_strided_step(const struct nn_tensor *t, uint32_t axis);

/*
 * Makes the view of input 0 that STRIDED_SLICE copies. The operation removes the axes whose bits
 * are set in *shrink, but the view still has these axes. Returns NN_OK, or an error code after
 * setting the run's error message.
 */
enum nn_status nn_strided_slice_view(const struct nn_run *r, struct nn_strided *view,
				     uint32_t *shrink);

/* Copies the elements of a view of `from` to the dense array `to`. */
void nn_strided_read(const struct nn_strided *view, const void *from, void *to, size_t element);

/* Copies the dense array `from` to the elements of a view of `to`. */
void nn_strided_write(const struct nn_strided *view, const void *from, void *to, size_t element);

#endif /* NN_OPS_STRIDED_H */
