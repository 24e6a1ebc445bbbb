/* SPDX-License-Identifier: MIT */
/*
 * Writes the seeds of op_fuzz to the folder that the first argument names. Each seed file describes
 * one operation that runs successfully.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"
#include "tests/fuzz/op_seed.h"

/*
 * Operations as text. In an operation's text, spaces separate operands, and '>' precedes the
 * outputs. The text of an operand is a letter for the type (see op_case.h), the dimensions
 * separated by 'x', '=', and up to four values, which are repeated. Without '=' the value is 1. The
 * text of an omitted operand begins with '-'.
 */
static const struct {
	const char *op;
	const char *text;
} seeds[] = {
	{ "ADD", "u2x3 u3 I=1 > u" },
	{ "AVERAGE_POOL_2D", "u1x4x4x2 I=1 I=2 I=2 I=2 I=2 I=0 > u" },
	{ "CONCATENATION", "u2x3 u2x1 I=1 > u" },
	{ "CONV_2D", "s1x4x4x2 p3x2x2x2 w3 I=1 I=0 I=1 I=0 I=1 I=2 I=0 B=0 I=1 I=1 > s" },
	{ "DEPTHWISE_CONV_2D", "f1x4x4x2 f1x2x2x4 f4 I=1 I=1 I=1 I=2 I=0 > f" },
	{ "DEPTH_TO_SPACE", "f1x2x2x4 I=2 B=0 > f" },
	{ "DEQUANTIZE", "p2x3 > f" },
	{ "EMBEDDING_LOOKUP", "w3=1,0,2 h3x2 > h" },
	{ "FLOOR", "h5 > h" },
	{ "FULLY_CONNECTED", "f2x3 f4x3 f4 I=3 > f" },
	{ "HASHTABLE_LOOKUP", "w3=1,7,2 w4=0,1,2,3 f4x2 > f u" },
	{ "L2_NORMALIZATION", "u2x3 I=0 > u" },
	{ "L2_POOL_2D", "f1x4x4x1 I=2 I=1 I=1 I=3 I=3 I=0 > f" },
	{ "LOCAL_RESPONSE_NORMALIZATION", "f1x2x2x5 I=1 F F F I=-1 > f" },
	{ "LOGISTIC", "s4=1,-5,3,9 > s" },
	{ "LSH_PROJECTION", "f2x3 w4=1,2,3,4 f4 I=2 > w" },
	{ "LSTM", "f2x3 -f1 f4x3 f4x3 f4x3 -f1 f4x5 f4x5 f4x5 -f1 f4 f4 -f1 f4 f4 f4 f5x4 f5 f2x5 "
	  "f2x4 I=4 F F -f1 f4 f4 f4 > f f f f" },
	{ "MAX_POOL_2D", "s1x4x4x2 I=2 I=2 I=2 I=3 I=3 I=3 > s" },
	{ "MUL", "s2x3 s3 I=1 > s" },
	{ "RELU", "u4 > u" },
	{ "RELU1", "f4 > f" },
	{ "RELU6", "h4 > h" },
	{ "RESHAPE", "u2x3 w2=3,-1 > u" },
	{ "RESIZE_BILINEAR", "u1x4x4x1 I=3 I=5 B=0 B=0 B=1 > u" },
	{ "RNN", "f2x3 f4x3 f4x4 f4 f2x4 I=4 > f f" },
	{ "SOFTMAX", "u2x3 F I=-2 > u" },
	{ "SPACE_TO_DEPTH", "f1x1x4x4 I=2 B=1 > f" },
	{ "SVDF", "f2x3 f4x3 f4x2 f2 f2x8 I=2 I=1 > f f" },
	{ "TANH", "u4 > u" },
	{ "BATCH_TO_SPACE_ND", "f4x2x2x1 w2=2,2 B=0 > f" },
	{ "DIV", "w4=7,-7,1,0 w4=2,2,0,-1 I=0 > w" },
	{ "MEAN", "s2x3x4 w2=0,-1 I=1 > s" },
	{ "PAD", "u2x2 w2x2=1,2,0,1 > u" },
	{ "SPACE_TO_BATCH_ND", "u1x3x2x1 w2=2,2 w2x2=1,0,0,2 B=0 > u" },
	{ "SQUEEZE", "f1x3x1 w1=0 > f" },
	{ "STRIDED_SLICE", "f4x3 w2=0,2 w2=3,-4 w2=2,-1 I=0 I=2 I=0 > f" },
	{ "SUB", "u2x1 u1x3 I=0 > u" },
	{ "TRANSPOSE", "f2x3x1 w3=2,0,1 > f" },
	{ "ABS", "w4=-1,2,3,4 > w" },
	{ "ARGMAX", "s2x3 I=-1 > w" },
	{ "ARGMIN", "f2x3 I=0 > w" },
	{ "AXIS_ALIGNED_BBOX_TRANSFORM", "f2x4=1,2,3,4 f2x8 w2=0,1 f2x2=9,9 > f" },
	{ "BIDIRECTIONAL_SEQUENCE_LSTM",
	  "f2x2x3 f4x3 f4x3 f4x3 f4x3 f4x4 f4x4 f4x4 f4x4 f4 f4 f4 f4 f4 f4 f4 -f1 -f1 "
	  "f4x3 f4x3 f4x3 f4x3 f4x4 f4x4 f4x4 f4x4 f4 f4 f4 f4 f4 f4 f4 -f1 -f1 "
	  "f2x4 f2x4 f2x4 f2x4 f2x2x3 -f1 -f1 -f1 -f1 -f1 -f1 -f1 -f1 I=4 F F B=1 B=0 "
	  "-f1 -f1 -f1 -f1 -f1 -f1 -f1 -f1 > f" },
	{ "BIDIRECTIONAL_SEQUENCE_RNN", "f2x2x3 f4x3 f4x4 f4 f2x4 f4x3 f4x4 f4 f2x4 f2x2x3 f4x3 f4x3 "
					"I=4 B=1 B=0 > f f f f" },
	{ "BOX_WITH_NMS_LIMIT", "f3x2=1,0.5,2,3 f3x8=1,2,3,4 w3=0,0,1 F=0 I=2 I=2 F=0.5 F F=0 > f f w w" },
	{ "CAST", "f4=1,-300,70,1e20 > u" },
	{ "CHANNEL_SHUFFLE", "u2x6 I=3 I=-1 > u" },
	{ "DETECTION_POSTPROCESSING", "f1x3x3 f1x3x4 f3x4 F F F F B=0 I=2 I=2 I=1 F=0 F=0.5 B=0 > f f w w" },
	{ "EQUAL", "t4=1,0,1,1 t4=0,0,1,2 > t" },
	{ "ERF", "f4=1,-1,90,0 > f" },
	{ "GELU", "f4=1,-1,90,0 > f" },
	{ "EXP", "f4=1,-1,90,0 > f" },
	{ "EXPAND_DIMS", "w2x3 I=-1 > w" },
	{ "GATHER", "f2x3 I=1 w4=0,2,1,1 > f" },
	{ "GENERATE_PROPOSALS", "f1x2x2x2 f1x2x2x8=0,0,0,0 f2x4=0,1,4,6 f1x2=32,32 F=4 F=4 I=6 I=3 F=0.5 "
				"F B=0 > f f w" },
	{ "GREATER", "u4=1,2,3,4 u4=2,2,2,2 > t" },
	{ "GREATER_EQUAL", "h4 h1 > t" },
	{ "GROUPED_CONV_2D", "u1x3x3x4 u2x2x2x2 w2 I=2 I=1 I=1 I=2 I=0 B=0 > u" },
	{ "HEATMAP_MAX_KEYPOINT", "f1x4x4x2=1,2,0,3 f1x4=1,2,3,4 B=0 > f f" },
	{ "INSTANCE_NORMALIZATION", "f1x2x2x2=1,2,3,5 F F F B=1 > f" },
	{ "LESS", "w4=-1,2,3,4 w4=1,1,5,4 > t" },
	{ "LESS_EQUAL", "f2x1 f3 > t" },
	{ "LOG", "f4=1,-1,0,5 > f" },
	{ "LOGICAL_AND", "t4=0,1,2,3 t1 > t" },
	{ "LOGICAL_NOT", "t4=0,1,2,3 > t" },
	{ "LOGICAL_OR", "t4=0,1,2,3 t4=0 > t" },
	{ "LOG_SOFTMAX", "f2x3=1,2 F I=1 > f" },
	{ "MAXIMUM", "s2x3=1,-3 s3 > s" },
	{ "MINIMUM", "w2x3=4,-4 w1 > w" },
	{ "NEG", "w4=-1,5 > w" },
	{ "NOT_EQUAL", "s4=-1,5 s1 > t" },
	{ "PAD_V2", "u2x2 w2x2=0,1,2,0 I=7 > u" },
	{ "POW", "f4=2,3,-1,0 f4=0.5,2,3,0 > f" },
	{ "PRELU", "u2x3=1,9 u3=2 > u" },
	{ "QUANTIZE", "f4=1,-1,300,0.4 > u" },
	{ "QUANTIZED_16BIT_LSTM", "u2x3 u4x3 u4x3 u4x3 u4x3 u4x4 u4x4 u4x4 u4x4 w4 w4 w4 w4 y2x4 u2x4 > y u" },
	{ "RANDOM_MULTINOMIAL", "f2x4=1,0,3,2 I=5 w2=1,2 > w" },
	{ "REDUCE_ALL", "t2x3=1,0 w1=0 B=1 > t" },
	{ "REDUCE_ANY", "t2x3=1,0 w1=1 B=0 > t" },
	{ "REDUCE_MAX", "u2x3=1,4 w2=0,1 B=0 > u" },
	{ "REDUCE_MIN", "s2x3=1,-4 w1=-1 B=1 > s" },
	{ "REDUCE_PROD", "f2x3=1,4,3 w1=0 B=0 > f" },
	{ "REDUCE_SUM", "f2x3=1,4,3 w1=1 B=1 > f" },
	{ "ROI_ALIGN", "f1x4x4x2=1,4,3 f1x4=0,1,2,3 w1=0 I=2 I=2 F F I=0 I=2 B=0 > f" },
	{ "ROI_POOLING", "f1x4x4x2=1,4,3 f1x4=0,1,2,3 w1=0 I=2 I=2 F F B=1 > f" },
	{ "RSQRT", "f4=4,0,-1 > f" },
	{ "SELECT", "t2x2=1,0 u2x2=1,2 u2x2=3,4 > u" },
	{ "SIN", "f4=1,2 > f" },
	{ "SLICE", "f4x3=1,2,3 w2=1,0 w2=2,-1 > f" },
	{ "SPLIT", "w2x4=1,2,3,4 I=-1 I=2 > w w" },
	{ "SQRT", "f4=4,-4 > f" },
	{ "TILE", "f2x3=1,2,3 w2=2,1 > f" },
	{ "TOPK_V2", "f2x4=1,4,3,4 I=3 > f w" },
	{ "TRANSPOSE_CONV_2D", "f1x2x2x2 f3x3x3x2 f3 w4=1,4,4,3 I=1 I=2 I=2 I=0 B=0 > f" },
	{ "UNIDIRECTIONAL_SEQUENCE_LSTM",
	  "f2x2x3 f4x3 f4x3 f4x3 f4x3 f4x4 f4x4 f4x4 f4x4 -f1 -f1 -f1 f4 f4 f4 f4 -f1 -f1 f2x4 f2x4 "
	  "I=4 F F B=0 f4 f4 f4 f4 > f f f" },
	{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f2x2x3 f4x3 f4x4 f4 f2x4 I=1 I=1 > f f" },
	{ "RESIZE_NEAREST_NEIGHBOR", "u1x4x4x1=1,2 F=0.5 F=2 B=0 B=1 > u" },
	{ "QUANTIZED_LSTM",
	  "s2x3 q4x3 q4x3 q4x3 q4x3 q4x4 q4x4 q4x4 q4x4 y4 y4 y4 w4 w4 w4 w4 q4x4 w4 s2x4 y2x4 "
	  "y4 y4 y4 y4 F F F F F F I=3 F > s y s" },
	{ "ELU", "f4=1,-2 F > f" },
	{ "HARD_SWISH", "u4=1,9 > u" },
	{ "FILL", "w2=2,3 H > h" },
	{ "RANK", "q2x3 > I" },
	{ "BATCH_MATMUL", "s2x2x3=1,2 s2x3x2=3,-4 B=0 B=0 > s" },
	{ "PACK", "I=1 f2x3=1,2 f2x3=3 > f" },
	{ "MIRROR_PAD", "w2x3=1,2,3 w2x2=1,0,2,1 I=0 > w" },
	{ "REVERSE", "u2x3=1,2,3 w1=1 > u" },
};

static uint8_t type_of(char letter)
{
	static const char letters[] = "FI.fwuByhtHpaqs";
	const char *found = strchr(letters, letter);

	return found ? (uint8_t)(found - letters) : NN_UINT32;
}

/*
 * Converts a value to the type of an operand, and stores the value as element `index` of the
 * operand's data.
 */
static void put(struct os_operand *o, int index, double value)
{
	int32_t word = value > INT32_MAX ? INT32_MAX : (int32_t)value;
	uint16_t fp16 = value == 1 ? 0x3c00 : 0;
	float real = (float)value;

	switch (o->type) {
	case NN_FLOAT32:
	case NN_TENSOR_FLOAT32:
		memcpy(o->data + 4 * index, &real, sizeof(real));
		break;
	case NN_FLOAT16:
	case NN_TENSOR_FLOAT16:
		memcpy(o->data + 2 * index, &fp16, sizeof(fp16));
		break;
	case NN_INT32:
	case NN_TENSOR_INT32:
		memcpy(o->data + 4 * index, &word, sizeof(word));
		break;
	case NN_TENSOR_QUANT16_SYMM:
	case NN_TENSOR_QUANT16_ASYMM:
		memcpy(o->data + 2 * index, &word, 2);
		break;
	default:
		o->data[index] = (uint8_t)word;
	}
}

/* Fills the data of an operand by repeating the values that the text gives. */
static const char *read_values(struct os_operand *o, const char *text)
{
	int space = sizeof(o->data) / nn_type_info_of(o->type)->element_size, given = 0;
	double values[4] = { 1 };

	while (given < 4 && (*text == '=' || *text == ',')) {
		char *end;

		values[given++] = strtod(text + 1, &end);
		text = end;
	}
	for (int i = 0; i < space; i++)
		put(o, i, values[given ? i % given : 0]);
	return text;
}

static const char *read_operand(struct os_operand *o, const char *text, int is_input)
{
	*o = (struct os_operand){ .scale = 0.25f };
	if (*text == '-') {
		o->flags = OS_OMITTED;
		text++;
	}
	o->type = type_of(*text++);
	if (!is_input)
		o->flags = OS_TEMPORARY;
	while ((*text >= '0' && *text <= '9') || *text == 'x') {
		char *end;

		o->dims[o->rank++] = (uint8_t)strtoul(text + (*text == 'x'), &end, 10);
		text = end;
	}
	if (o->type == NN_TENSOR_INT32)
		o->scale = 0.0625f;
	return read_values(o, text);
}

/* Sets the scales that QUANTIZED_16BIT_LSTM and operations on boxes require. */
static void fix_scales(struct os_header *h, struct os_operand *o)
{
	for (int i = 0; i < h->num_inputs + h->num_outputs; i++) {
		if (o[i].type == NN_TENSOR_QUANT16_SYMM)
			o[i].scale = 0x1p-11f;
		if (h->code != 73)
			continue;
		if (o[i].type == NN_TENSOR_QUANT8_ASYMM) {
			o[i].scale = 1.0f / 128;
			o[i].zero_point = (int8_t)128;
		}
		if (o[i].type == NN_TENSOR_INT32)
			o[i].scale = 1.0f / 128 / 128;
	}
}

static int write_seed(const char *folder, const char *name, const char *text)
{
	static struct os_operand operands[80];
	struct os_header header = { 0 };
	uint8_t *count = &header.num_inputs;
	uint32_t operand = 0;
	char path[4096];
	FILE *f;
	int ok;

	for (size_t i = 0; i < nn_op_count(); i++)
		if (!strcmp(nn_op_at(i)->name, name))
			header.code = (uint8_t)nn_op_at(i)->code;
	while (*text) {
		if (*text == ' ') {
			text++;
		} else if (*text == '>') {
			count = &header.num_outputs;
			text++;
		} else {
			text = read_operand(&operands[operand++], text,
					    count == &header.num_inputs);
			++*count;
		}
	}
	fix_scales(&header, operands);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	ok = f && fwrite(&header, sizeof(header), 1, f) == 1 &&
	     fwrite(operands, sizeof(*operands), operand, f) == operand;
	if (f && fclose(f))
		ok = 0;
	if (!ok)
		perror(path);
	return ok;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		if (!write_seed(argv[1], seeds[i].op, seeds[i].text))
			return 1;
	return 0;
}
