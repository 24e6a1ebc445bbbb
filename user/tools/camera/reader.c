/* SPDX-License-Identifier: MIT */
/*
 * Builds the network that reads the number in a camera's frame.
 */
#include <stddef.h>
#include <string.h>

#include "reader.h"

enum {
	OP_ADD = 0,
	OP_CONCATENATION = 2,
	OP_CONV_2D = 3,
	OP_DEQUANTIZE = 6,
	OP_MAX_POOL_2D = 17,
	OP_RESHAPE = 22,
	OP_SOFTMAX = 25,
	OP_ABS = 38,
	OP_NEG = 67,
	OP_SLICE = 86,
	OP_RESIZE_NEAREST_NEIGHBOR = 94,
};
#define PADDING_VALID	2

/* Logit of a digit if the digit's cell has full contrast and matches the digit exactly. */
#define SHARPNESS	100.0f
/*
 * Smallest result of a digit's filter that counts as a match, as a share of the cell's contrast. A
 * cell without contrast has no digit.
 */
#define LEAST_MATCH	0.85f
#define NONE_BIAS	2.0f

enum {
	FRAME, BEGIN, SIZE, LUMA,
	CHROMA_BEGIN, CHROMA_SIZE, CHROMA_BYTES, CHROMA_SHAPE, CHROMA,
	TEXT_WIDTH, TEXT_HEIGHT, CHANNELS_LAST, CHROMA_OF_PIXELS, TEXT, YUV,
	TO_RGB, TO_RGB_BIAS, VALUES,
	WEIGHTS, BIAS, VALID, ONE, WIDTH, HEIGHT, NO_ACTIVATION, SIGNED_SCORES, SCORES,
	BRIGHTEST, NEGATIVE, DARKEST, CONTRASTS, NONE_WEIGHTS, NONE_BIASES, NONE,
	LAST_AXIS, LOGITS, BETA, PROBABILITIES,
	NUM_USED,
};
_Static_assert(NUM_USED == READER_OPERANDS, "room for the operands");

static const struct {
	int32_t type;
	uint32_t num_inputs, inputs[7], output;
} layers[READER_OPERATIONS] = {
	{ OP_SLICE, 3, { FRAME, BEGIN, SIZE }, LUMA },
	{ OP_SLICE, 3, { FRAME, CHROMA_BEGIN, CHROMA_SIZE }, CHROMA_BYTES },
	{ OP_RESHAPE, 2, { CHROMA_BYTES, CHROMA_SHAPE }, CHROMA },
	{ OP_RESIZE_NEAREST_NEIGHBOR, 4, { CHROMA, TEXT_WIDTH, TEXT_HEIGHT, CHANNELS_LAST },
	  CHROMA_OF_PIXELS },
	{ OP_CONCATENATION, 3, { LUMA, CHROMA_OF_PIXELS, LAST_AXIS }, TEXT },
	{ OP_DEQUANTIZE, 1, { TEXT }, YUV },
	{ OP_CONV_2D, 7, { YUV, TO_RGB, TO_RGB_BIAS, VALID, ONE, ONE, NO_ACTIVATION }, VALUES },
	{ OP_CONV_2D, 7, { VALUES, WEIGHTS, BIAS, VALID, WIDTH, HEIGHT, NO_ACTIVATION },
	  SIGNED_SCORES },
	{ OP_ABS, 1, { SIGNED_SCORES }, SCORES },
	{ OP_MAX_POOL_2D, 7, { VALUES, VALID, WIDTH, HEIGHT, WIDTH, HEIGHT, NO_ACTIVATION },
	  BRIGHTEST },
	{ OP_NEG, 1, { VALUES }, NEGATIVE },
	{ OP_MAX_POOL_2D, 7, { NEGATIVE, VALID, WIDTH, HEIGHT, WIDTH, HEIGHT, NO_ACTIVATION },
	  DARKEST },
	{ OP_ADD, 3, { BRIGHTEST, DARKEST, NO_ACTIVATION }, CONTRASTS },
	{ OP_CONV_2D, 7, { CONTRASTS, NONE_WEIGHTS, NONE_BIASES, VALID, ONE, ONE, NO_ACTIVATION },
	  NONE },
	{ OP_CONCATENATION, 3, { SCORES, NONE, LAST_AXIS }, LOGITS },
	{ OP_SOFTMAX, 2, { LOGITS, BETA }, PROBABILITIES },
};

static void set_weights(struct reader *r, const struct glyphs *g)
{
	for (uint32_t d = 0; d < NUM_GLYPHS; d++) {
		float *w = r->values.weights + (size_t)d * GLYPH_PIXELS * READER_COLOURS;
		float count = 0;

		for (uint32_t p = 0; p < GLYPH_PIXELS; p++)
			count += (float)glyph_has_ink(g, d, p);
		if (count == 0 || count == GLYPH_PIXELS)
			continue;
		for (uint32_t p = 0; p < GLYPH_PIXELS * READER_COLOURS; p++)
			w[p] = SHARPNESS / READER_COLOURS *
			       (glyph_has_ink(g, d, p / READER_COLOURS) ? 1 / count :
				-1 / (GLYPH_PIXELS - count));
	}
	for (int i = 0; i < READER_COLOURS; i++)
		r->values.none_weights[i] = LEAST_MATCH * SHARPNESS / READER_COLOURS;
	r->values.none_bias[0] = NONE_BIAS;
}

/* Sets the conversion to RGB by BT.601, with Y from 16 to 235, the default of cameras. */
static void set_colours(struct reader *r)
{
	static const float to_rgb[READER_COLOURS][READER_COLOURS] = {
		{ 1.164f, 0, 1.596f }, { 1.164f, -0.392f, -0.813f }, { 1.164f, 2.017f, 0 },
	};
	static const float zero[READER_COLOURS] = { 16 / 255.0f, 128 / 255.0f, 128 / 255.0f };

	memcpy(r->values.to_rgb, to_rgb, sizeof(to_rgb));
	for (int i = 0; i < READER_COLOURS; i++)
		for (int k = 0; k < READER_COLOURS; k++)
			r->values.to_rgb_bias[i] -= to_rgb[i][k] * zero[k];
}

static void set_operand(struct reader *r, uint32_t index, int32_t type, enum nn_lifetime lifetime,
			const uint32_t *dims, uint32_t rank)
{
	struct nn_operand *o = &r->operands[index];

	*o = (struct nn_operand){ .type = type, .lifetime = lifetime, .rank = rank };
	if (rank)
		memcpy(o->dims, dims, rank * sizeof(*dims));
}

static void set_constant(struct reader *r, uint32_t index, int32_t type, const void *value,
			 const uint32_t *dims, uint32_t rank)
{
	struct nn_operand *o = &r->operands[index];

	set_operand(r, index, type, NN_CONSTANT_COPY, dims, rank);
	o->location.offset = (uint64_t)((const char *)value - (const char *)&r->values);
	nn_operand_size(o, &o->location.length);
}

#define DIMS(...) ((const uint32_t[]){ __VA_ARGS__ }), \
	sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

static void set_cells(struct reader *r, uint32_t index, uint32_t channels)
{
	set_operand(r, index, NN_TENSOR_FLOAT32, NN_TEMPORARY, DIMS(1, 1, NUMBER_CELLS, channels));
}

static void set_bytes(struct reader *r, uint32_t index, const uint32_t *dims, uint32_t rank)
{
	set_operand(r, index, NN_TENSOR_QUANT8_ASYMM, NN_TEMPORARY, dims, rank);
	r->operands[index].scale = 1 / 255.0f;
}

static void set_values(struct reader *r, uint32_t width, uint32_t height)
{
	const uint32_t text_width = NUMBER_CELLS * GLYPH_WIDTH;

	set_bytes(r, FRAME, DIMS(1, height * 3 / 2, width, 1));
	r->operands[FRAME].lifetime = NN_SUBGRAPH_INPUT;
	set_bytes(r, LUMA, DIMS(1, GLYPH_HEIGHT, text_width, 1));
	set_bytes(r, CHROMA_BYTES, DIMS(1, GLYPH_HEIGHT / 2, text_width, 1));
	set_bytes(r, CHROMA, DIMS(1, GLYPH_HEIGHT / 2, text_width / 2, 2));
	set_bytes(r, CHROMA_OF_PIXELS, DIMS(1, GLYPH_HEIGHT, text_width, 2));
	set_bytes(r, TEXT, DIMS(1, GLYPH_HEIGHT, text_width, READER_COLOURS));
	set_operand(r, YUV, NN_TENSOR_FLOAT32, NN_TEMPORARY,
		    DIMS(1, GLYPH_HEIGHT, text_width, READER_COLOURS));
	set_operand(r, VALUES, NN_TENSOR_FLOAT32, NN_TEMPORARY,
		    DIMS(1, GLYPH_HEIGHT, text_width, READER_COLOURS));
	set_operand(r, NEGATIVE, NN_TENSOR_FLOAT32, NN_TEMPORARY,
		    DIMS(1, GLYPH_HEIGHT, text_width, READER_COLOURS));
	set_cells(r, SIGNED_SCORES, NUM_GLYPHS);
	set_cells(r, SCORES, NUM_GLYPHS);
	set_cells(r, BRIGHTEST, READER_COLOURS);
	set_cells(r, DARKEST, READER_COLOURS);
	set_cells(r, CONTRASTS, READER_COLOURS);
	set_cells(r, NONE, 1);
	set_cells(r, LOGITS, READER_CLASSES);
	set_cells(r, PROBABILITIES, READER_CLASSES);
	r->operands[PROBABILITIES].lifetime = NN_SUBGRAPH_OUTPUT;
}

static void set_constants(struct reader *r)
{
	set_constant(r, BEGIN, NN_TENSOR_INT32, r->values.begin, DIMS(4));
	set_constant(r, SIZE, NN_TENSOR_INT32, r->values.size, DIMS(4));
	set_constant(r, CHROMA_BEGIN, NN_TENSOR_INT32, r->values.chroma_begin, DIMS(4));
	set_constant(r, CHROMA_SIZE, NN_TENSOR_INT32, r->values.chroma_size, DIMS(4));
	set_constant(r, CHROMA_SHAPE, NN_TENSOR_INT32, r->values.chroma_shape, DIMS(4));
	set_constant(r, TEXT_WIDTH, NN_INT32, &r->values.text_width, NULL, 0);
	set_constant(r, TEXT_HEIGHT, NN_INT32, &r->values.text_height, NULL, 0);
	set_constant(r, CHANNELS_LAST, NN_BOOL, &r->values.channels_last, NULL, 0);
	set_constant(r, TO_RGB, NN_TENSOR_FLOAT32, r->values.to_rgb,
		     DIMS(READER_COLOURS, 1, 1, READER_COLOURS));
	set_constant(r, TO_RGB_BIAS, NN_TENSOR_FLOAT32, r->values.to_rgb_bias,
		     DIMS(READER_COLOURS));
	set_constant(r, WEIGHTS, NN_TENSOR_FLOAT32, r->values.weights,
		     DIMS(NUM_GLYPHS, GLYPH_HEIGHT, GLYPH_WIDTH, READER_COLOURS));
	set_constant(r, BIAS, NN_TENSOR_FLOAT32, r->values.bias, DIMS(NUM_GLYPHS));
	set_constant(r, NONE_WEIGHTS, NN_TENSOR_FLOAT32, r->values.none_weights,
		     DIMS(1, 1, 1, READER_COLOURS));
	set_constant(r, NONE_BIASES, NN_TENSOR_FLOAT32, r->values.none_bias, DIMS(1));
	set_constant(r, VALID, NN_INT32, &r->values.valid, NULL, 0);
	set_constant(r, ONE, NN_INT32, &r->values.one, NULL, 0);
	set_constant(r, WIDTH, NN_INT32, &r->values.cell_width, NULL, 0);
	set_constant(r, HEIGHT, NN_INT32, &r->values.cell_height, NULL, 0);
	set_constant(r, NO_ACTIVATION, NN_INT32, &r->values.no_activation, NULL, 0);
	set_constant(r, LAST_AXIS, NN_INT32, &r->values.last_axis, NULL, 0);
	set_constant(r, BETA, NN_FLOAT32, &r->values.beta, NULL, 0);
}

static void set_operations(struct reader *r)
{
	for (uint32_t i = 0; i < READER_OPERATIONS; i++) {
		r->operations[i] = (struct nn_operation){
			.type = layers[i].type,
			.num_inputs = layers[i].num_inputs,
			.inputs = layers[i].inputs,
			.num_outputs = 1,
			.outputs = &layers[i].output,
		};
		for (uint32_t k = 0; k < layers[i].num_inputs; k++)
			r->operands[layers[i].inputs[k]].consumers++;
	}
}

void reader_init(struct reader *r, const struct glyphs *glyphs, uint32_t width, uint32_t height)
{
	static const uint32_t input = FRAME, output = PROBABILITIES;
	const int32_t begin[] = { 0, NUMBER_Y, NUMBER_X, 0 };
	const int32_t size[] = { 1, GLYPH_HEIGHT, NUMBER_CELLS * GLYPH_WIDTH, 1 };
	/* Cb and Cr follow all rows of Y; 2 by 2 pixels share one value of Cb and one of Cr. */
	const int32_t chroma_begin[] = { 0, (int32_t)height + NUMBER_Y / 2, NUMBER_X, 0 };
	const int32_t chroma_size[] = { 1, GLYPH_HEIGHT / 2, NUMBER_CELLS * GLYPH_WIDTH, 1 };
	const int32_t chroma_shape[] = { 1, GLYPH_HEIGHT / 2, NUMBER_CELLS * GLYPH_WIDTH / 2, 2 };

	memset(r, 0, sizeof(*r));
	memcpy(r->values.chroma_begin, chroma_begin, sizeof(chroma_begin));
	memcpy(r->values.chroma_size, chroma_size, sizeof(chroma_size));
	memcpy(r->values.chroma_shape, chroma_shape, sizeof(chroma_shape));
	r->values.text_width = NUMBER_CELLS * GLYPH_WIDTH;
	r->values.text_height = GLYPH_HEIGHT;
	memcpy(r->values.begin, begin, sizeof(begin));
	memcpy(r->values.size, size, sizeof(size));
	r->values.valid = PADDING_VALID;
	r->values.one = 1;
	r->values.cell_width = GLYPH_WIDTH;
	r->values.cell_height = GLYPH_HEIGHT;
	r->values.last_axis = 3;
	r->values.beta = 1;
	set_weights(r, glyphs);
	set_colours(r);
	set_values(r, width, height);
	set_constants(r);
	set_operations(r);
	r->subgraph = (struct nn_subgraph){
		.num_operands = NUM_USED,
		.operands = r->operands,
		.num_operations = READER_OPERATIONS,
		.operations = r->operations,
		.num_inputs = 1,
		.inputs = &input,
		.num_outputs = 1,
		.outputs = &output,
	};
	r->model = (struct nn_model){
		.size = sizeof(struct nn_model),
		.num_subgraphs = 1,
		.subgraphs = &r->subgraph,
		.values = (const uint8_t *)&r->values,
		.values_size = sizeof(r->values),
	};
}

int64_t reader_answer(const float *output, float *probability)
{
	int64_t number = -1;

	*probability = 1;
	for (uint32_t cell = 0; cell < NUMBER_CELLS; cell++, output += READER_CLASSES) {
		uint32_t best = 0;

		for (uint32_t k = 1; k < READER_CLASSES; k++)
			if (output[k] > output[best])
				best = k;
		if (best == NUM_GLYPHS)
			break;
		number = (number < 0 ? 0 : number * 10) + best;
		if (output[best] < *probability)
			*probability = output[best];
	}
	return number;
}
