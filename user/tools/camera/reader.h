/* SPDX-License-Identifier: MIT */
/*
 * The network that reads a frame's number. The network's input is the whole NV12 frame of the
 * camera. The network converts the part of the frame that shows the number to RGB. The output has,
 * for each digit position of the number, the probabilities of the ten digits and of "no digit".
 */
#ifndef NN_CAMERA_READER_H
#define NN_CAMERA_READER_H

#include <nnaccel/engine_model.h>

#include "glyphs.h"

#define READER_CLASSES	(NUM_GLYPHS + 1)	/* ten digits, and "no digit" as the last class */
#define READER_OUTPUT	(NUMBER_CELLS * READER_CLASSES * sizeof(float))

#define READER_COLOURS		3
#define READER_OPERANDS		38
#define READER_OPERATIONS	16
#define READER_WEIGHTS	(NUM_GLYPHS * GLYPH_PIXELS * READER_COLOURS)

/* A model, with all data to which the model refers. A struct reader must not be copied or moved. */
struct reader {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_operand operands[READER_OPERANDS];
	struct nn_operation operations[READER_OPERATIONS];
	struct {
		int32_t begin[4], size[4], chroma_begin[4], chroma_size[4], chroma_shape[4];
		int32_t text_width, text_height;
		float to_rgb[READER_COLOURS * READER_COLOURS], to_rgb_bias[READER_COLOURS];
		float weights[READER_WEIGHTS], bias[NUM_GLYPHS];
		float none_weights[READER_COLOURS], none_bias[1];
		int32_t valid, one, cell_width, cell_height, no_activation, last_axis;
		float beta;
		uint8_t channels_last;
	} values;
};

/*
 * Builds the network for frames of the given size. The filters are computed from the glyphs without
 * training. A digit's filter yields the mean of the cell's pixels where the digit has ink, minus
 * the mean of the cell's other pixels. If a light or dark digit matches the filter, the magnitude
 * of the filter's result is the cell's full contrast; other digits yield less.
 */
void reader_init(struct reader *reader, const struct glyphs *glyphs, uint32_t width,
		 uint32_t height);

/*
 * Returns the number that the network's output shows, or -1 if the output shows no number. Sets
 * *probability to the lowest probability of the number's digits.
 */
int64_t reader_answer(const float *output, float *probability);

#endif /* NN_CAMERA_READER_H */
