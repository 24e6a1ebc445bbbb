/* SPDX-License-Identifier: MIT */
/*
 * The shapes of the digits that the camera draws into the camera's frames. The shapes are learnt
 * from frames whose numbers are known.
 */
#ifndef NN_CAMERA_GLYPHS_H
#define NN_CAMERA_GLYPHS_H

#include <stdbool.h>
#include <stdint.h>

#include "camera.h"

/* The text in an image is a row of cells of 8 x 16 pixels, with one character in each cell. */
#define GLYPH_WIDTH	8
#define GLYPH_HEIGHT	16
#define GLYPH_PIXELS	(GLYPH_WIDTH * GLYPH_HEIGHT)
#define NUM_GLYPHS	10

/* Coordinates of a frame's number: vivid writes " 00:00:00:000 NUMBER" from (16, 16) on. */
#define NUMBER_X	(16 + 14 * GLYPH_WIDTH)
#define NUMBER_Y	16
#define NUMBER_CELLS	8

struct glyphs {
	uint32_t seen[NUM_GLYPHS];		/* how often */
	/* mean brightness of each pixel, 0 to 1; before glyphs_finish(), the sum of brightnesses */
	float mean[NUM_GLYPHS][GLYPH_PIXELS];
};

/*
 * Learns from the digits of a frame whose number is known. `pixels` is the first byte of the
 * frame's plane of Y.
 */
void glyphs_learn(struct glyphs *glyphs, const struct camera *camera, const uint8_t *pixels,
		  uint32_t number);

/* Returns whether each digit was seen at least `times` times. */
bool glyphs_know_all(const struct glyphs *glyphs, uint32_t times);

/* Converts sums to means; after glyphs_finish(), glyphs_learn() must not be called. */
void glyphs_finish(struct glyphs *glyphs);

/* Returns whether a pixel of a digit is ink. Call glyph_has_ink() only after glyphs_finish(). */
static inline bool glyph_has_ink(const struct glyphs *glyphs, uint32_t digit, uint32_t pixel)
{
	return glyphs->mean[digit][pixel] > 0.5f;
}

#endif /* NN_CAMERA_GLYPHS_H */
