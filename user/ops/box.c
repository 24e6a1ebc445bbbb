/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "ops/box.h"
#include "ops/dot.h"

float nn_box_overlap(const struct nn_box *a, const struct nn_box *b)
{
	float w, h, both;

	/* Return early, because most pairs of boxes do not overlap. */
	if (a->x2 <= b->x1 || b->x2 <= a->x1 || a->y2 <= b->y1 || b->y2 <= a->y1)
		return 0;
	w = nn_least(a->x2, b->x2) - nn_largest(a->x1, b->x1);
	h = nn_least(a->y2, b->y2) - nn_largest(a->y1, b->y1);
	both = nn_largest(w, 0) * nn_largest(h, 0);
	return both > 0 ? both / (nn_box_area(a) + nn_box_area(b) - both) : 0;
}

struct nn_box nn_box_moved(const struct nn_box *b, const float delta[4], float height, float width)
{
	float w = b->x2 - b->x1, h = b->y2 - b->y1;
	float x = (b->x1 + b->x2) / 2 + delta[0] * w;
	float y = (b->y1 + b->y2) / 2 + delta[1] * h;
	/*
	 * If the image's width is NaN, the box is not clipped horizontally; if the image's height
	 * is NaN, the box is not clipped vertically.
	 */
	float right = isnan(width) ? INFINITY : width, bottom = isnan(height) ? INFINITY : height;
	const nn_dot_four zero = { 0 }, high = { right, bottom, right, bottom };
	nn_dot_four corners;
	struct nn_box moved;

	w *= expf(delta[2]);
	h *= expf(delta[3]);
	corners = (nn_dot_four){ x, y, x, y } + (nn_dot_four){ -(w / 2), -(h / 2), w / 2, h / 2 };
	corners = nn_dot_least(nn_dot_largest(corners, zero), high);
	memcpy(&moved, &corners, sizeof(moved));
	return moved;
}

#define STEP 0.125f

enum nn_status nn_box_check_scale(const struct nn_run *r, uint32_t index)
{
	const struct nn_tensor *t = &r->inputs[index];

	if (t->type == NN_TENSOR_QUANT16_ASYMM && (t->scale != STEP || t->zero_point != 0))
		return nn_run_fail(r, "input %u: scale %g and zero point %d, must be %g and 0",
				   index, t->scale, t->zero_point, STEP);
	return NN_OK;
}

void nn_box_quantise(struct nn_tensor *t)
{
	if (t->type == NN_TENSOR_QUANT16_ASYMM) {
		t->scale = STEP;
		t->zero_point = 0;
	}
}
