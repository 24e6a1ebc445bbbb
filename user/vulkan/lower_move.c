// SPDX-License-Identifier: MIT
/*
 * Translates operations that move elements, by copies between strided views.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/quant.h"
#include "ops/strided.h"
#include "vulkan/lower.h"

static uint32_t element_of(const struct lower *l)
{
	return nn_type_info_of(l->graph->model->subgraphs[0]
			       .operands[l->operation->outputs[0]].type)->element_size;
}

/* Returns the view of a whole contiguous tensor that has the dimensions of `view`. */
static struct nn_strided dense_of(const struct nn_strided *view)
{
	struct nn_strided dense = { .rank = view->rank };
	int64_t step = 1;

	for (uint32_t i = view->rank; i-- > 0;) {
		dense.dims[i] = view->dims[i];
		dense.strides[i] = step;
		step *= view->dims[i];
	}
	return dense;
}

/*
 * Sets the parameters of a copy between two views. The parameters omit axes of one element, and
 * merge adjacent axes that are contiguous in both views.
 */
static bool set_views(struct copy_params *p, const struct nn_strided *from,
		      const struct nn_strided *to)
{
	p->from = (int32_t)from->offset;
	p->to = (int32_t)to->offset;
	p->count = 1;
	for (uint32_t i = 0; i < from->rank; i++) {
		const int32_t dim = (int32_t)from->dims[i];
		const uint32_t last = p->rank - 1;

		p->count *= from->dims[i];
		if (dim == 1)
			continue;
		if (p->rank && p->from_moves[last] == from->strides[i] * dim &&
		    p->to_moves[last] == to->strides[i] * dim) {
			p->dims[last] *= from->dims[i];
			p->from_moves[last] = (int32_t)from->strides[i];
			p->to_moves[last] = (int32_t)to->strides[i];
			continue;
		}
		if (p->rank == MAX_AXES)
			return false;
		p->dims[p->rank] = from->dims[i];
		p->from_moves[p->rank] = (int32_t)from->strides[i];
		p->to_moves[p->rank++] = (int32_t)to->strides[i];
	}
	return true;
}

static enum nn_status copy(struct lower *l, uint32_t value_from, const struct nn_strided *from,
			   uint32_t value_to, const struct nn_strided *to)
{
	static const uint32_t types[] = { 0, TYPE_U8, TYPE_F16, 0, TYPE_I32 };
	struct copy_params p = { 0 };
	struct dispatch d;

	if (!set_views(&p, from, to))
		return lower_refuse(l, "more than %d axes", MAX_AXES);
	d = lower_linear(l, SHADER_copy, p.count);
	d.params.copy = p;
	d.constants[0] = types[element_of(l)];
	d.tensors[0] = value_from;
	d.tensors[OUTPUT] = value_to;
	return lower_add(l, &d);
}

/* Adds a dispatch that copies a view of input 0 to output 0. */
static enum nn_status read_view(struct lower *l, const struct nn_strided *view)
{
	const struct nn_strided dense = dense_of(view);

	return copy(l, lower_input(l, 0), view, lower_output(l, 0), &dense);
}

/* Adds a dispatch that copies input 0 to a view of output 0. */
static enum nn_status write_view(struct lower *l, const struct nn_strided *view)
{
	const struct nn_strided dense = dense_of(view);

	return copy(l, lower_input(l, 0), &dense, lower_output(l, 0), view);
}

/* A temporary output of RESHAPE shares the bytes of the input; any other output gets a copy. */
enum nn_status lower_reshape(struct lower *l)
{
	struct nn_strided all;
	const uint32_t in = lower_input(l, 0);
	const struct nn_operand *out = &l->graph->model->subgraphs[0].operands[l->operation->outputs[0]];

	if (in != NO_VALUE && out->lifetime == NN_TEMPORARY) {
		l->graph->operand_values[l->operation->outputs[0]] = in;
		return NN_OK;
	}
	nn_strided_dense(&all, &l->run.inputs[0]);
	return read_view(l, &all);
}

enum nn_status lower_transpose(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0], *axes = &l->run.inputs[1];
	struct nn_strided view = { 0 };

	for (uint32_t i = 0; i < in->rank; i++) {
		uint32_t axis = axes->omitted ? in->rank - 1 - i :
						(uint32_t)((const int32_t *)axes->data)[i];

		nn_strided_axis(&view, in->dims[axis], nn_strided_step(in, axis));
	}
	return read_view(l, &view);
}

/* Concatenates the operation's inputs [first, first + count) along an axis of the output. */
static enum nn_status join(struct lower *l, uint32_t first, uint32_t count, uint32_t axis,
			   bool is_new)
{
	const struct nn_tensor *out = &l->run.outputs[0];
	enum nn_status status = NN_OK;
	int64_t offset = 0;

	for (uint32_t i = first; !status && i < first + count; i++) {
		const struct nn_tensor *in = &l->run.inputs[i];
		struct nn_strided view, dense;
		uint32_t from;

		nn_strided_dense(&view, out);
		view.dims[axis] = is_new ? 1 : in->dims[axis];
		view.offset = offset;
		offset += view.dims[axis] * view.strides[axis];
		dense = dense_of(&view);
		from = element_of(l) != 1 || nn_tensor_quantised_alike(in, out) ?
		       lower_input(l, i) : lower_requantised(l, i);
		status = copy(l, from, &dense, lower_output(l, 0), &view);
	}
	return status;
}

enum nn_status lower_concat(struct lower *l)
{
	const uint32_t count = l->run.num_inputs - 1;

	return join(l, 0, count, (uint32_t)nn_run_int(&l->run, count, 0), false);
}

enum nn_status lower_pack(struct lower *l)
{
	uint32_t axis = 0;

	if (!nn_axis(nn_run_int(&l->run, 0, 0), l->run.outputs[0].rank, &axis))
		return lower_refuse(l, "input 0 is not an axis of the output");
	return join(l, 1, l->run.num_inputs - 1, axis, true);
}

enum nn_status lower_split(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	enum nn_status status = NN_OK;
	struct nn_strided view;
	uint32_t axis = 0;

	nn_axis(nn_run_int(&l->run, 1, 0), in->rank, &axis);
	nn_strided_dense(&view, in);
	view.dims[axis] = l->run.outputs[0].dims[axis];
	for (uint32_t i = 0; !status && i < l->run.num_outputs; i++) {
		const struct nn_strided dense = dense_of(&view);

		status = copy(l, lower_input(l, 0), &view, lower_output(l, i), &dense);
		view.offset += view.dims[axis] * view.strides[axis];
	}
	return status;
}

enum nn_status lower_slice(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	const int32_t *begin = l->run.inputs[1].data;
	struct nn_strided view;

	nn_strided_dense(&view, in);
	for (uint32_t i = 0; i < in->rank; i++) {
		view.offset += begin[i] * view.strides[i];
		view.dims[i] = l->run.outputs[0].dims[i];
	}
	return read_view(l, &view);
}

enum nn_status lower_strided_slice(struct lower *l)
{
	struct nn_strided view;
	uint32_t shrink;

	if (nn_strided_slice_view(&l->run, &view, &shrink))
		return NN_INVALID_ARGUMENT;
	return read_view(l, &view);
}

/*
 * Adds dispatches that copy input 0 into a part of a larger tensor, and fill the rest of the tensor
 * with `value`.
 */
static enum nn_status put_into(struct lower *l, const void *value, uint32_t to,
			       const struct nn_tensor *shape, const int32_t *at)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	const uint32_t element = element_of(l);
	void *constant = calloc(1, element);
	struct nn_strided view, from;
	enum nn_status status;

	if (constant)
		memcpy(constant, value, element);
	nn_strided_dense(&view, shape);
	from = view;
	memset(from.strides, 0, sizeof(from.strides));
	status = copy(l, lower_constant(l, constant, element, element), &from, to, &view);
	for (uint32_t i = 0; i < in->rank; i++) {
		view.offset += at[i] * view.strides[i];
		view.dims[i] = in->dims[i];
	}
	from = dense_of(&view);
	return status ? status : copy(l, lower_input(l, 0), &from, to, &view);
}

enum nn_status lower_pad(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	const int32_t *paddings = l->run.inputs[1].data;
	const float zero = 0;
	const void *value = &zero;
	int32_t at[NN_MAX_RANK];
	uint8_t byte;

	if (element_of(l) == 1) {
		byte = (uint8_t)nn_run_int(&l->run, 2, in->zero_point);
		value = &byte;
	} else if (l->run.num_inputs > 2) {
		value = l->run.inputs[2].data;
	}
	for (uint32_t i = 0; i < in->rank; i++)
		at[i] = paddings[2 * i];
	return put_into(l, value, lower_output(l, 0), &l->run.outputs[0], at);
}

enum nn_status lower_tile(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	struct nn_strided view = { 0 };

	for (uint32_t i = 0; i < in->rank; i++) {
		nn_strided_axis(&view, l->run.outputs[0].dims[i] / in->dims[i], 0);
		nn_strided_axis(&view, in->dims[i], nn_strided_step(in, i));
	}
	return read_view(l, &view);
}

enum nn_status lower_reverse(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	const uint32_t axis = *(const uint32_t *)l->run.inputs[1].data;
	struct nn_strided view;

	nn_strided_dense(&view, in);
	view.offset = ((int64_t)in->dims[axis] - 1) * view.strides[axis];
	view.strides[axis] = -view.strides[axis];
	return read_view(l, &view);
}

enum nn_status lower_shuffle(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	const uint32_t groups = (uint32_t)nn_run_int(&l->run, 1, 1);
	struct nn_strided view = { 0 };
	uint32_t axis = 0, size;
	int64_t step;

	nn_axis(nn_run_int(&l->run, 2, 0), in->rank, &axis);
	step = nn_strided_step(in, axis);
	size = in->dims[axis] / groups;
	nn_strided_axis(&view, nn_tensor_product(in, 0, axis), step * in->dims[axis]);
	nn_strided_axis(&view, size, step);
	nn_strided_axis(&view, groups, step * size);
	nn_strided_axis(&view, (uint32_t)step, 1);
	return read_view(l, &view);
}

/* ---- Blocks between space and channels or batches ---- */

/* The numbers of a tensor's axes of height, width and channels. */
struct axes {
	uint32_t h, w, c;
};

static struct axes axes_of(const struct lower *l, uint32_t flag)
{
	return nn_run_bool(&l->run, flag, false) ? (struct axes){ 2, 3, 1 } : (struct axes){ 1, 2, 3 };
}

/*
 * Translates SPACE_TO_DEPTH, which reads a view of the large image, and DEPTH_TO_SPACE, which
 * writes the view. The elements of the view are in the order of the small image, whose channels are
 * blocks of the large image.
 */
enum nn_status lower_space(struct lower *l)
{
	const struct nn_tensor *big = l->argument ? &l->run.inputs[0] : &l->run.outputs[0];
	const uint32_t block = (uint32_t)nn_run_int(&l->run, 1, 1);
	const struct axes a = axes_of(l, 2);
	const int64_t h = nn_strided_step(big, a.h), w = nn_strided_step(big, a.w);
	const uint32_t rows = big->dims[a.h] / block, columns = big->dims[a.w] / block;
	struct nn_strided view = { 0 };

	nn_strided_axis(&view, big->dims[0], nn_strided_step(big, 0));
	if (a.c == 3) {
		nn_strided_axis(&view, rows, h * block);
		nn_strided_axis(&view, columns, w * block);
	}
	nn_strided_axis(&view, block, h);
	nn_strided_axis(&view, block, w);
	nn_strided_axis(&view, big->dims[a.c], nn_strided_step(big, a.c));
	if (a.c == 1) {
		nn_strided_axis(&view, rows, h * block);
		nn_strided_axis(&view, columns, w * block);
	}
	return l->argument ? read_view(l, &view) : write_view(l, &view);
}

/*
 * Returns a view of the large image of BATCH_TO_SPACE_ND or SPACE_TO_BATCH_ND. The view has the
 * element order of the batch of small images.
 */
static struct nn_strided batch_view(const struct nn_tensor *big, const struct axes *a,
				    const int32_t *block)
{
	const uint32_t bh = (uint32_t)block[0], bw = (uint32_t)block[1];
	const int64_t h = nn_strided_step(big, a->h), w = nn_strided_step(big, a->w);
	struct nn_strided view = { 0 };

	nn_strided_axis(&view, bh, h);
	nn_strided_axis(&view, bw, w);
	nn_strided_axis(&view, big->dims[0], nn_strided_step(big, 0));
	if (a->c == 1)
		nn_strided_axis(&view, big->dims[1], nn_strided_step(big, 1));
	nn_strided_axis(&view, big->dims[a->h] / bh, h * bh);
	nn_strided_axis(&view, big->dims[a->w] / bw, w * bw);
	if (a->c == 3)
		nn_strided_axis(&view, big->dims[3], 1);
	return view;
}

/*
 * Translates BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND. If SPACE_TO_BATCH_ND pads the image, the
 * image is first copied into a padded temporary.
 */
enum nn_status lower_batch_space(struct lower *l)
{
	const struct axes a = axes_of(l, l->argument ? 3 : 2);
	struct nn_tensor big = l->argument ? l->run.inputs[0] : l->run.outputs[0];
	const int32_t *pad = l->argument ? l->run.inputs[2].data : NULL;
	const uint32_t element = element_of(l);
	const uint8_t zero[4] = { element == 1 ? (uint8_t)big.zero_point : 0 };
	struct nn_strided view, dense;
	int32_t at[NN_MAX_RANK] = { 0 };
	enum nn_status status;
	uint32_t bordered;

	if (pad) {
		big.dims[a.h] += (uint32_t)(pad[0] + pad[1]);
		big.dims[a.w] += (uint32_t)(pad[2] + pad[3]);
	}
	view = batch_view(&big, &a, l->run.inputs[1].data);
	if (!pad)
		return write_view(l, &view);
	if (!pad[0] && !pad[1] && !pad[2] && !pad[3])
		return read_view(l, &view);
	at[a.h] = pad[0];
	at[a.w] = pad[2];
	bordered = lower_temporary(l, (uint64_t)nn_tensor_count(&big) * element, element);
	status = put_into(l, zero, bordered, &big, at);
	dense = dense_of(&view);
	return status ? status : copy(l, bordered, &view, lower_output(l, 0), &dense);
}
