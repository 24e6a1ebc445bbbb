/* SPDX-License-Identifier: MIT */
/* Learns the shapes of the digits that the camera draws into the camera's frames. */
#include <stdio.h>

#include "glyphs.h"

void glyphs_learn(struct glyphs *g, const struct camera *camera, const uint8_t *pixels,
		  uint32_t number)
{
	char text[16];
	int digits = snprintf(text, sizeof(text), "%u", number);

	for (int i = 0; i < digits && i < NUMBER_CELLS; i++) {
		uint32_t digit = (uint32_t)(text[i] - '0');
		const uint8_t *cell = pixels + (size_t)NUMBER_Y * camera->stride + NUMBER_X +
				      (size_t)i * GLYPH_WIDTH;

		g->seen[digit]++;
		for (uint32_t p = 0; p < GLYPH_PIXELS; p++)
			g->mean[digit][p] += (float)cell[(size_t)(p / GLYPH_WIDTH) *
							 camera->stride + p % GLYPH_WIDTH] / 255.0f;
	}
}

bool glyphs_know_all(const struct glyphs *g, uint32_t times)
{
	for (uint32_t d = 0; d < NUM_GLYPHS; d++)
		if (g->seen[d] < times)
			return false;
	return true;
}

void glyphs_finish(struct glyphs *g)
{
	for (uint32_t d = 0; d < NUM_GLYPHS; d++)
		for (uint32_t p = 0; p < GLYPH_PIXELS && g->seen[d]; p++)
			g->mean[d][p] /= (float)g->seen[d];
}
