/* SPDX-License-Identifier: MIT */
/* Boxes given by two corners: checks them, computes overlaps, and moves them by deltas. */
#ifndef NN_OPS_BOX_H
#define NN_OPS_BOX_H

#include "ops/check.h"

/* A box, in the order that tensors store it: x1, y1, x2, y2. */
struct nn_box {
	float x1;
	float y1;
	float x2;
	float y2;
};

/* Returns true if the corners are in order; false for NaN. */
static inline bool nn_box_is_valid(const struct nn_box *b)
{
	return b->x1 <= b->x2 && b->y1 <= b->y2;
}

static inline float nn_box_area(const struct nn_box *b)
{
	return (b->x2 - b->x1) * (b->y2 - b->y1);
}

/*
 * Return the smaller and the larger of two numbers. If one number is NaN, both return the other
 * number.
 */
static inline float nn_least(float a, float b)
{
	return a < b || b != b ? a : b;
}

static inline float nn_largest(float a, float b)
{
	return a > b || b != b ? a : b;
}

/* Returns the area of the intersection over the area of the union. */
float nn_box_overlap(const struct nn_box *a, const struct nn_box *b);

/*
 * Moves a box's center by delta[0..1] times its size, multiplies its size by the exponentials of
 * delta[2..3], and clips it to an image of the given size. Returns the result.
 */
struct nn_box nn_box_moved(const struct nn_box *b, const float delta[4], float height, float width);

/*
 * Quantised coordinates (NN_BOX_OF) must have scale 1/8 and zero point 0. nn_box_quantise() sets
 * scale and zero point of an output of coordinates.
 */
enum nn_status nn_box_check_scale(const struct nn_run *r, uint32_t index);
void nn_box_quantise(struct nn_tensor *t);

#endif /* NN_OPS_BOX_H */
