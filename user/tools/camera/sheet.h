/* SPDX-License-Identifier: MIT */
/*
 * A contact sheet as a PNG file: rows of frames, and below each frame the number that the network
 * read in the frame.
 */
#ifndef NN_CAMERA_SHEET_H
#define NN_CAMERA_SHEET_H

#include "glyphs.h"

#define SHEET_COLUMNS	4
#define SHEET_ROWS	3
#define SHEET_FRAMES	(SHEET_COLUMNS * SHEET_ROWS)

struct sheet {
	uint32_t frame_width, frame_height;
	uint32_t width, height;
	uint8_t *pixels;		/* RGB */
};

/*
 * Returns NN_OUT_OF_MEMORY if memory runs out. Even after a failure the caller must call
 * sheet_free().
 */
enum nn_status sheet_init(struct sheet *sheet, uint32_t frame_width, uint32_t frame_height,
			  struct nn_error *err);
void sheet_free(struct sheet *sheet);

/*
 * Copies a frame in colours to place `index` of the sheet, and draws the number read below the
 * frame: green if the number is right, otherwise red. `pixels` is the first byte of the frame's
 * plane of Y.
 */
void sheet_put(struct sheet *sheet, uint32_t index, const struct camera *camera,
	       const uint8_t *pixels, const struct glyphs *glyphs, int64_t answer, bool is_right);

/* Returns NN_GENERAL_FAILURE if the file cannot be written. */
enum nn_status sheet_write(const struct sheet *sheet, const char *path, struct nn_error *err);

#endif /* NN_CAMERA_SHEET_H */
