/* SPDX-License-Identifier: MIT */
/* Draws a contact sheet: frames, and below each frame the number that the network read. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "sheet.h"

#define SHEET_PIXEL	3		/* size of a pixel: bytes R, G, B */
#define MARGIN	8
#define ZOOM	2			/* enlargement of the digits below a frame */
#define CAPTION	(GLYPH_HEIGHT * ZOOM)
#define GROUND	0x20			/* brightness of the background */

enum nn_status sheet_init(struct sheet *s, uint32_t frame_width, uint32_t frame_height,
			  struct nn_error *err)
{
	*s = (struct sheet){
		.frame_width = frame_width,
		.frame_height = frame_height,
		.width = MARGIN + SHEET_COLUMNS * (frame_width + MARGIN),
		.height = MARGIN + SHEET_ROWS * (frame_height + CAPTION + MARGIN),
	};
	s->pixels = malloc((size_t)s->width * s->height * SHEET_PIXEL);
	if (!s->pixels)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for the contact sheet");
	memset(s->pixels, GROUND, (size_t)s->width * s->height * SHEET_PIXEL);
	return NN_OK;
}

void sheet_free(struct sheet *s)
{
	free(s->pixels);
}

static uint8_t *at(const struct sheet *s, uint32_t x, uint32_t y)
{
	return s->pixels + ((size_t)y * s->width + x) * SHEET_PIXEL;
}

static void put_digit(struct sheet *s, uint32_t x, uint32_t y, const struct glyphs *glyphs,
		      uint32_t digit, const uint8_t *colour)
{
	for (uint32_t i = 0; i < GLYPH_PIXELS * ZOOM * ZOOM; i++) {
		uint32_t px = i % (GLYPH_WIDTH * ZOOM), py = i / (GLYPH_WIDTH * ZOOM);

		if (glyph_has_ink(glyphs, digit, py / ZOOM * GLYPH_WIDTH + px / ZOOM))
			memcpy(at(s, x + px, y + py), colour, SHEET_PIXEL);
	}
}

static uint8_t to_byte(float value)
{
	return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5f);
}

/* Converts a pixel to RGB by BT.601, with the factors that the network uses. */
static void put_pixel(uint8_t *to, uint8_t y, const uint8_t *cb_cr)
{
	float luma = 1.164f * (float)(y - 16);
	float cb = (float)(cb_cr[0] - 128), cr = (float)(cb_cr[1] - 128);

	to[0] = to_byte(luma + 1.596f * cr);
	to[1] = to_byte(luma - 0.392f * cb - 0.813f * cr);
	to[2] = to_byte(luma + 2.017f * cb);
}

void sheet_put(struct sheet *s, uint32_t index, const struct camera *camera,
	       const uint8_t *pixels, const struct glyphs *glyphs, int64_t answer, bool is_right)
{
	static const uint8_t green[] = { 0x60, 0xe0, 0x60 }, red[] = { 0xff, 0x50, 0x50 };
	uint32_t x = MARGIN + index % SHEET_COLUMNS * (s->frame_width + MARGIN);
	uint32_t y = MARGIN + index / SHEET_COLUMNS * (s->frame_height + CAPTION + MARGIN);
	char text[24];

	for (uint32_t row = 0; row < s->frame_height; row++) {
		const uint8_t *luma = pixels + (size_t)row * camera->stride;
		const uint8_t *chroma = pixels + camera_chroma_offset(camera) +
					(size_t)(row / 2) * camera->stride;

		for (uint32_t k = 0; k < s->frame_width; k++)
			put_pixel(at(s, x + k, y + row), luma[k], chroma + k / 2 * 2);
	}
	if (answer < 0)
		return;
	snprintf(text, sizeof(text), "%" PRId64, answer);
	for (uint32_t i = 0; text[i]; i++)
		put_digit(s, x + i * GLYPH_WIDTH * ZOOM, y + s->frame_height, glyphs,
			  (uint32_t)(text[i] - '0'), is_right ? green : red);
}

enum nn_status sheet_write(const struct sheet *s, const char *path, struct nn_error *err)
{
	png_image image = {
		.version = PNG_IMAGE_VERSION,
		.width = s->width,
		.height = s->height,
		.format = PNG_FORMAT_RGB,
	};

	if (!png_image_write_to_file(&image, path, 0, s->pixels, 0, NULL))
		return nn_fail(err, NN_GENERAL_FAILURE, "%s: %s", path, image.message);
	return NN_OK;
}
