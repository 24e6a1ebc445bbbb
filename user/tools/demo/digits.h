/* SPDX-License-Identifier: MIT */
/*
 * Draws images of digits: strokes of random thickness after a random affine transform, on a noisy
 * background.
 */
#ifndef NN_DEMO_DIGITS_H
#define NN_DEMO_DIGITS_H

#include <stdint.h>

#include "random.h"

#define DIGITS_SIZE	28
#define DIGITS_PIXELS	(DIGITS_SIZE * DIGITS_SIZE)
#define DIGITS_CLASSES	10

struct digit {
	uint8_t pixels[DIGITS_PIXELS];	/* pixels row by row; 0: background, 255: ink */
	uint32_t label;			/* 0 to 9 */
};

/* Draws the next random digit. Equal states of the generator `r` produce equal images. */
void digit_draw(struct random *r, struct digit *digit);

#endif /* NN_DEMO_DIGITS_H */
