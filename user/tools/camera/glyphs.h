/* SPDX-License-Identifier: MIT */
/*
 * The shapes of the digits that the camera draws. They are learnt from frames whose numbers are
 * known.
 */
#ifndef NN_CAMERA_GLYPHS_H
#define NN_CAMERA_GLYPHS_H

#include <stdbool.h>
#include <stdint.h>

#include "camera.h"

/* A digit takes a cell of the image; the text is a row of cells. */
#define GLYPH_WIDTH	8
#define GLYPH_HEIGHT	16
#define GLYPH_PIXELS	(GLYPH_WIDTH * GLYPH_HEIGHT)
#define NUM_GLYPHS	10

/* The place of a frame's number: vivid writes " 00:00:00:000 NUMBER" from (16, 16) on. */
#define NUMBER_X	(16 + 14 * GLYPH_WIDTH)
#define NUMBER_Y	16
#define NUMBER_CELLS	8

struct glyphs {
	uint32_t seen[NUM_GLYPHS];		/* how often */
	float mean[NUM_GLYPHS][GLYPH_PIXELS];	/* mean brightness, 0 to 1; first a sum */
};

/*
 * Learns from the digits of a frame whose number is known. `pixels` is the first byte of the
 * frame's plane of Y.
 */
void glyphs_learn(struct glyphs *glyphs, const struct camera *camera, const uint8_t *pixels,
		  uint32_t number);

/* Returns whether each digit was seen at least `times` times. */
bool glyphs_know_all(const struct glyphs *glyphs, uint32_t times);

/* Converts sums to means; after this nothing more can be learnt. */
void glyphs_finish(struct glyphs *glyphs);

/* Returns whether a pixel of a digit is ink. Call it only after glyphs are finished. */
static inline bool glyph_has_ink(const struct glyphs *glyphs, uint32_t digit, uint32_t pixel)
{
	return glyphs->mean[digit][pixel] > 0.5f;
}

#endif /* NN_CAMERA_GLYPHS_H */
