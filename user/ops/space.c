/* SPDX-License-Identifier: MIT */
/*
 * DEPTH_TO_SPACE, SPACE_TO_DEPTH, BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND: move blocks of pixels
 * between space and channels or batches.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/strided.h"

/*
 * The axes of height, width and channels in an image tensor, which depend on the tensor's layout.
 */
struct axes {
	uint32_t h, w, c;
};

static struct axes layout(const struct nn_run *r, uint32_t flag)
{
	return nn_run_bool(r, flag, false) ? (struct axes){ 2, 3, 1 } : (struct axes){ 1, 2, 3 };
}

/*
 * Sets a dimension of the output to in * multiply / divide. Returns false if in * multiply / divide
 * is not a whole number or exceeds UINT32_MAX.
 */
static bool scale_dim(uint32_t in, uint64_t multiply, uint64_t divide, uint32_t *out)
{
	uint64_t product;

	if (divide == 0 || __builtin_mul_overflow(in, multiply, &product) || product % divide ||
	    product / divide > UINT32_MAX)
		return false;
	*out = (uint32_t)(product / divide);
	return true;
}

static enum nn_status infer_depth(struct nn_run *r)
{
	const bool to_space = r->op->code == NN_OP_DEPTH_TO_SPACE;
	const struct nn_tensor *in = &r->inputs[0];
	const int64_t block = nn_run_int(r, 1, 0);
	const uint64_t times = to_space ? (uint64_t)block : 1;
	const uint64_t parts = to_space ? 1 : (uint64_t)block;
	const struct axes a = layout(r, 2);
	uint32_t *dims = r->outputs[0].dims;

	nn_tensor_like(&r->outputs[0], in);
	if (block > 0 && scale_dim(in->dims[a.h], times, parts, &dims[a.h]) &&
	    scale_dim(in->dims[a.w], times, parts, &dims[a.w]) &&
	    scale_dim(in->dims[a.c], parts * parts, times * times, &dims[a.c]))
		return NN_OK;
	if (to_space)
		return nn_run_fail(r, "%u channels do not divide into blocks of %lld * %lld",
				   in->dims[a.c], (long long)block, (long long)block);
	return nn_run_fail(r, "an image of %u * %u does not divide into blocks of %lld",
			   in->dims[a.h], in->dims[a.w], (long long)block);
}

/*
 * Makes a view of the large image `big` in the element order of the small image. A channel of the
 * small image stands for a row of a block, a column of the block, and a channel of `big`.
 */
static void depth_view(struct nn_strided *view, const struct nn_tensor *big, struct axes a,
		       uint32_t block)
{
	int64_t h = nn_strided_step(big, a.h), w = nn_strided_step(big, a.w);
	int64_t c = nn_strided_step(big, a.c);
	uint32_t rows = big->dims[a.h] / block, columns = big->dims[a.w] / block;

	*view = (struct nn_strided){ 0 };
	nn_strided_axis(view, big->dims[0], nn_strided_step(big, 0));
	if (a.c == 3) {
		nn_strided_axis(view, rows, h * block);
		nn_strided_axis(view, columns, w * block);
	}
	nn_strided_axis(view, block, h);
	nn_strided_axis(view, block, w);
	nn_strided_axis(view, big->dims[a.c], c);
	if (a.c == 1) {
		nn_strided_axis(view, rows, h * block);
		nn_strided_axis(view, columns, w * block);
	}
}

static enum nn_status execute_depth(struct nn_run *r)
{
	const bool to_space = r->op->code == NN_OP_DEPTH_TO_SPACE;
	const size_t element = nn_type_info_of(r->inputs[0].type)->element_size;
	struct nn_strided view;

	depth_view(&view, to_space ? &r->outputs[0] : &r->inputs[0], layout(r, 2),
		   (uint32_t)nn_run_int(r, 1, 1));
	(to_space ? nn_strided_write : nn_strided_read)(&view, r->inputs[0].data,
							r->outputs[0].data, element);
	return NN_OK;
}

/* Reads the block size [height, width] of BATCH_TO_SPACE_ND or SPACE_TO_BATCH_ND. */
static enum nn_status batch_block(const struct nn_run *r, int64_t *height, int64_t *width)
{
	const int32_t *block = r->inputs[1].data;

	*height = block[0];
	*width = block[1];
	if (*height < 1 || *width < 1)
		return nn_run_fail(r, "a block of %d * %d, must be 1 or more", block[0], block[1]);
	return NN_OK;
}

static enum nn_status infer_batch_to_space(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct axes a = layout(r, 2);
	uint32_t *dims = r->outputs[0].dims;
	int64_t bh, bw;
	enum nn_status status = batch_block(r, &bh, &bw);

	if (status)
		return status;
	nn_tensor_like(&r->outputs[0], in);
	if (!scale_dim(in->dims[0], 1, (uint64_t)(bh * bw), &dims[0]) ||
	    !scale_dim(in->dims[a.h], (uint64_t)bh, 1, &dims[a.h]) ||
	    !scale_dim(in->dims[a.w], (uint64_t)bw, 1, &dims[a.w]))
		return nn_run_fail(r, "%u batches do not divide into blocks of %lld * %lld",
				   in->dims[0], (long long)bh, (long long)bw);
	return NN_OK;
}

/*
 * Makes a view of the large images `big` in the element order of the small images. A batch index of
 * the small images stands for a row of a block, a column of the block, and a batch index of `big`.
 */
static void batch_view(struct nn_strided *view, const struct nn_tensor *big, struct axes a,
		       const int32_t *block)
{
	int64_t h = nn_strided_step(big, a.h), w = nn_strided_step(big, a.w);
	uint32_t bh = (uint32_t)block[0], bw = (uint32_t)block[1];

	*view = (struct nn_strided){ 0 };
	nn_strided_axis(view, bh, h);
	nn_strided_axis(view, bw, w);
	nn_strided_axis(view, big->dims[0], nn_strided_step(big, 0));
	if (a.c == 1)
		nn_strided_axis(view, big->dims[1], nn_strided_step(big, 1));
	nn_strided_axis(view, big->dims[a.h] / bh, h * bh);
	nn_strided_axis(view, big->dims[a.w] / bw, w * bw);
	if (a.c == 3)
		nn_strided_axis(view, big->dims[3], 1);
}

static enum nn_status execute_batch_to_space(struct nn_run *r)
{
	struct nn_strided view;

	batch_view(&view, &r->outputs[0], layout(r, 2), r->inputs[1].data);
	nn_strided_write(&view, r->inputs[0].data, r->outputs[0].data,
			 nn_type_info_of(r->inputs[0].type)->element_size);
	return NN_OK;
}

/* Sets *padded to the dimensions of SPACE_TO_BATCH_ND's input including the padding. */
static enum nn_status padded_input(const struct nn_run *r, struct nn_tensor *padded)
{
	const int32_t *pad = r->inputs[2].data;
	struct axes a = layout(r, 3);

	*padded = r->inputs[0];
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t *dim = &padded->dims[i ? a.w : a.h];
		int64_t size = *dim + (int64_t)pad[2 * i] + pad[2 * i + 1];

		if (pad[2 * i] < 0 || pad[2 * i + 1] < 0 || size > UINT32_MAX)
			return nn_run_fail(r, "padding of %d and %d, below 0", pad[2 * i],
					   pad[2 * i + 1]);
		*dim = (uint32_t)size;
	}
	return NN_OK;
}

static enum nn_status infer_space_to_batch(struct nn_run *r)
{
	struct axes a = layout(r, 3);
	uint32_t *dims = r->outputs[0].dims;
	struct nn_tensor padded;
	int64_t bh, bw;
	enum nn_status status = batch_block(r, &bh, &bw);

	if (!status)
		status = padded_input(r, &padded);
	if (status)
		return status;
	nn_tensor_like(&r->outputs[0], &r->inputs[0]);
	if (!scale_dim(padded.dims[0], (uint64_t)(bh * bw), 1, &dims[0]) ||
	    !scale_dim(padded.dims[a.h], 1, (uint64_t)bh, &dims[a.h]) ||
	    !scale_dim(padded.dims[a.w], 1, (uint64_t)bw, &dims[a.w]))
		return nn_run_fail(r, "blocks of %lld * %lld do not divide a padded image of %u * %u",
				   (long long)bh, (long long)bw, padded.dims[a.h], padded.dims[a.w]);
	return NN_OK;
}

static enum nn_status execute_space_to_batch(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	size_t element = nn_type_info_of(in->type)->element_size;
	const int32_t *pad = r->inputs[2].data;
	struct axes a = layout(r, 3);
	struct nn_strided view;
	struct nn_tensor padded;
	enum nn_status status = padded_input(r, &padded);
	void *bordered;

	if (status)
		return status;
	bordered = nn_run_alloc(r, nn_tensor_count(&padded), element);
	if (!bordered)
		return NN_OUT_OF_MEMORY;
	if (element == 1)
		memset(bordered, in->zero_point, nn_tensor_count(&padded));
	nn_strided_dense(&view, &padded);
	view.offset = pad[0] * view.strides[a.h] + pad[2] * view.strides[a.w];
	memcpy(view.dims, in->dims, in->rank * sizeof(*in->dims));
	nn_strided_write(&view, in->data, bordered, element);

	batch_view(&view, &padded, a, r->inputs[1].data);
	nn_strided_read(&view, bordered, r->outputs[0].data, element);
	return NN_OK;
}

#define DEPTH(which)									\
NN_OPERATION(which,									\
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8, 4, 4 }, NN_SCALAR_INT, NN_SCALAR_BOOL),	\
	NN_OUTPUTS({ NN_SAME, 0, 0 }),							\
	.dims = "****", .infer = infer_depth, .execute = execute_depth)

DEPTH(DEPTH_TO_SPACE);
DEPTH(SPACE_TO_DEPTH);

NN_OPERATION(BATCH_TO_SPACE_ND,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8, 4, 4 }, { NN_T(NN_TENSOR_INT32), 1, 1 },
		  NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.dims = "**** 2", .determining = NN_IN(1),
	.infer = infer_batch_to_space, .execute = execute_batch_to_space);

/* As in the NNAPI, the rank of the paddings is checked at run time. */
NN_OPERATION(SPACE_TO_BATCH_ND,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8, 4, 4 }, { NN_T(NN_TENSOR_INT32), 1, 1 },
		  { NN_T(NN_TENSOR_INT32), 0, 0 }, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.dims = "**** 2 22", .determining = NN_IN(1) | NN_IN(2),
	.infer = infer_space_to_batch, .execute = execute_space_to_batch);
