/* SPDX-License-Identifier: MIT */
/*
 * Functions that check boxes given by two corners, compute their overlaps, and move them by deltas.
 */
#ifndef NN_OPS_BOX_H
#define NN_OPS_BOX_H

#include "ops/check.h"

/* A box. Tensors store the coordinates of a box in the order x1, y1, x2, y2. */
struct nn_box {
	float x1;
	float y1;
	float x2;
	float y2;
};

/* Returns true if x1 <= x2 and y1 <= y2; false if a coordinate is NaN. */
static inline bool nn_box_is_valid(const struct nn_box *b)
{
	return b->x1 <= b->x2 && b->y1 <= b->y2;
}

static inline float nn_box_area(const struct nn_box *b)
{
	return (b->x2 - b->x1) * (b->y2 - b->y1);
}

/*
 * nn_least() returns the smaller of two numbers, and nn_largest() the larger. If one number is NaN,
 * nn_least() and nn_largest() return the other number.
 */
static inline float nn_least(float a, float b)
{
	return a < b || b != b ? a : b;
}

static inline float nn_largest(float a, float b)
{
	return a > b || b != b ? a : b;
}

/*
 * Returns the overlap of two boxes: the area of their intersection divided by the area of their
 * union.
 */
float nn_box_overlap(const struct nn_box *a, const struct nn_box *b);

/*
 * Moves a box's center by delta[0..1] times its size, multiplies its size by the exponentials of
 * delta[2..3], and returns the box clipped to the image.
 */
struct nn_box nn_box_moved(const struct nn_box *b, const float delta[4], float height, float width);

/*
 * Quantised coordinates (NN_BOX_OF) must have scale 1/8 and zero point 0. The function
 * nn_box_quantise() sets the scale 1/8 and the zero point 0 for an output of coordinates.
 */
enum nn_status nn_box_check_scale(const struct nn_run *r, uint32_t index);
void nn_box_quantise(struct nn_tensor *t);

#endif /* NN_OPS_BOX_H */
