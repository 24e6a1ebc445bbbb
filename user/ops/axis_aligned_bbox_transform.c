/* SPDX-License-Identifier: MIT */
/*
 * AXIS_ALIGNED_BBOX_TRANSFORM: for each class, moves each region of interest by the class's deltas,
 * and clips the moved box to the image.
 */
#include "ops/box.h"
#include "ops/check.h"
#include "ops/floats.h"

enum { ROIS, DELTAS, BATCH, IMAGE_INFO };

static enum nn_status check(const struct nn_check *c)
{
	const bool is_q8 = nn_check_in(c, ROIS)->type == NN_TENSOR_QUANT16_ASYMM;

	return nn_check_input(c, DELTAS, (struct nn_rule){ is_q8 ? NN_QUANT8 : NN_SAME, 2, 2 });
}

static enum nn_status infer(struct nn_run *r)
{
	const struct nn_tensor *deltas = &r->inputs[DELTAS];
	struct nn_tensor *out = &r->outputs[0];
	enum nn_status status;

	if (!deltas->dims[1] || deltas->dims[1] % 4)
		return nn_run_fail(r, "input 1: rows of %u values, must be 4 for each class",
				   deltas->dims[1]);
	if (!r->inputs[IMAGE_INFO].dims[0])
		return nn_run_fail(r, "input 3 has no images");
	nn_box_quantise(out);
	out->rank = 2;
	out->dims[0] = deltas->dims[0];
	out->dims[1] = deltas->dims[1];
	status = nn_box_check_scale(r, ROIS);
	return status ? status : nn_box_check_scale(r, IMAGE_INFO);
}

static enum nn_status execute(struct nn_run *r)
{
	const struct nn_box *rois = (void *)nn_floats_read(r, &r->inputs[ROIS]);
	const float *deltas = nn_floats_view(r, &r->inputs[DELTAS]);
	const float *info = nn_floats_read(r, &r->inputs[IMAGE_INFO]);
	const int32_t *batch = r->inputs[BATCH].data;
	size_t count = r->inputs[ROIS].dims[0], classes = r->inputs[DELTAS].dims[1] / 4;
	bool is_float = r->outputs[0].type == NN_TENSOR_FLOAT32;
	struct nn_box *out = is_float ? r->outputs[0].data :
			     nn_run_room(r, count * classes, sizeof(*out));

	if (!rois || !deltas || !info || !out)
		return NN_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const float *image = info + 2 * (size_t)(uint32_t)batch[i];

		if ((uint32_t)batch[i] >= r->inputs[IMAGE_INFO].dims[0])
			return nn_run_fail(r, "input 2: region %zu: no image %d", i, batch[i]);
		if (!nn_box_is_valid(&rois[i]))
			return nn_run_fail(r, "input 0: region %zu has its corners swapped", i);
		for (size_t k = i * classes; k < (i + 1) * classes; k++)
			out[k] = nn_box_moved(&rois[i], deltas + 4 * k, image[0], image[1]);
	}
	if (!is_float)
		nn_floats_write(&r->outputs[0], (const float *)out);
	return NN_OK;
}

NN_OPERATION(AXIS_ALIGNED_BBOX_TRANSFORM,
	NN_INPUTS(4, { NN_FLOATS | NN_T(NN_TENSOR_QUANT16_ASYMM), 2, 2 },
		  { NN_QUANT8 | NN_SAME, 2, 2 }, { NN_T(NN_TENSOR_INT32), 1, 1 }, { NN_SAME, 2, 2 }),
	NN_OUTPUTS({ NN_SAME, 2, 2 }),
	.dims = "r4 r* r *2",
	.zero_sized = NN_ZERO_ALLOWED, .determining = NN_IN(BATCH), .float16_as_float32 = true,
	.check = check, .infer = infer, .execute = execute);
