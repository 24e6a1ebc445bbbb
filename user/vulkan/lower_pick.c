// SPDX-License-Identifier: MIT
/* Translates operations that select elements by their position: resizing images, and GATHER. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/resize.h"
#include "vulkan/lower.h"

/*
 * Makes a constant for resizing along an axis. For each output position, the constant has two input
 * positions and the weight of the second input position.
 */
static uint32_t sources(struct lower *l, const struct nn_resize *v, uint32_t in, uint32_t out)
{
	struct nn_source *all = malloc(out * sizeof(*all));

	for (uint32_t o = 0; all && o < out; o++)
		all[o] = l->argument ? nn_resize_nearest(v, in, out, o) :
				       nn_resize_bilinear(v, in, out, o);
	return lower_constant(l, all, out * sizeof(*all), 4);
}

enum nn_status lower_resize(struct lower *l)
{
	const uint32_t count = nn_tensor_count(&l->run.outputs[0]);
	struct dispatch d = lower_linear(l, SHADER_resize, count);
	struct strides from, to;
	struct nn_resize v;

	if (nn_resize_prepare(&l->run, &v))
		return NN_INVALID_ARGUMENT;
	from = lower_strides(&v.in, v.nchw);
	to = lower_strides(&v.out, v.nchw);
	d.params.resize = (struct resize_params){
		.count = count, .in_h = v.in.h, .in_w = v.in.w, .out_h = v.out.h, .out_w = v.out.w,
		.channels = v.out.c,
		.in_image = from.image, .in_pixel = from.pixel, .in_channel = from.channel,
		.out_image = to.image, .out_pixel = to.pixel, .out_channel = to.channel,
	};
	d.constants[0] = lower_input_type(l, 0);
	d.constants[1] = l->argument;
	d.tensors[0] = lower_input(l, 0);
	d.tensors[1] = sources(l, &v, v.in.h, v.out.h);
	d.tensors[2] = sources(l, &v, v.in.w, v.out.w);
	d.tensors[OUTPUT] = lower_output(l, 0);
	return lower_add(l, &d);
}

/*
 * Checks indices that are constant. If the indices are an argument of the model, requests that each
 * execution checks the indices.
 */
static enum nn_status check_indices(struct lower *l, uint32_t input, uint32_t count, uint32_t limit)
{
	const struct nn_subgraph *main = &l->graph->model->subgraphs[0];
	const uint32_t operand = l->operation->inputs[input];
	const char *data = nn_operand_value(l->graph->model, &main->operands[operand]);
	struct index_check *list;
	int32_t index;

	for (uint32_t i = 0; data && i < count; i++) {
		memcpy(&index, data + i * sizeof(index), sizeof(index));
		if (index < 0 || (uint32_t)index >= limit)
			return lower_refuse(l, "index %u is %d, must be below %u", i, index, limit);
	}
	if (data)
		return NN_OK;
	for (uint32_t i = 0; i < main->num_inputs; i++) {
		if (main->inputs[i] != operand)
			continue;
		list = reallocarray(l->graph->checks, l->graph->num_checks + 1, sizeof(*list));
		if (!list)
			return nn_fail(l->run.err, NN_OUT_OF_MEMORY, "out of memory");
		l->graph->checks = list;
		list[l->graph->num_checks++] = (struct index_check){ i, limit };
		return NN_OK;
	}
	return lower_refuse(l, "the indices are neither constants nor an input of the model");
}

enum nn_status lower_gather(struct lower *l)
{
	static const uint32_t types[] = { 0, TYPE_U8, TYPE_F16, 0, TYPE_I32 };
	const bool is_lookup = l->operation->type == NN_OP_EMBEDDING_LOOKUP;
	const uint32_t from = is_lookup ? 1 : 0, indices = is_lookup ? 0 : 2;
	const struct nn_tensor *values = &l->run.inputs[from];
	const uint32_t count = nn_tensor_count(&l->run.outputs[0]);
	struct dispatch d = lower_linear(l, SHADER_gather, count);
	enum nn_status status;
	uint32_t axis = 0;

	if (!is_lookup)
		nn_axis(nn_run_int(&l->run, 1, 0), values->rank, &axis);
	d.params.gather = (struct gather_params){
		.count = count, .size = values->dims[axis],
		.inner = nn_tensor_product(values, axis + 1, values->rank),
		.indices = nn_tensor_count(&l->run.inputs[indices]),
	};
	status = check_indices(l, indices, d.params.gather.indices, values->dims[axis]);
	if (status)
		return status;
	d.constants[0] = types[nn_type_info_of(values->type)->element_size];
	d.tensors[0] = lower_input(l, from);
	d.tensors[1] = lower_input(l, indices);
	d.tensors[OUTPUT] = lower_output(l, 0);
	return lower_add(l, &d);
}
