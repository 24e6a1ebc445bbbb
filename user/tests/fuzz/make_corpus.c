/* SPDX-License-Identifier: MIT */
/*
 * Writes the seeds of model_fuzz and plan_cache_fuzz: the tests' sample models and models of single
 * operations, each serialised into a file. The first argument of the program names the folder of
 * the seed files. The second argument is the number of zero bytes that precede each model in its
 * file (default 0).
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/model_samples.h"

static const struct {
	const char *name;
	void (*build)(struct model_builder *b);
} samples[] = {
	{ "everything", sample_everything },
	{ "add", sample_add },
	{ "if", sample_if },
	{ "while", sample_while },
	{ "reshape", sample_reshape },
};

#define F32 NN_TENSOR_FLOAT32
#define Q8 NN_TENSOR_QUANT8_ASYMM
#define I32 NN_TENSOR_INT32
#define I8 NN_TENSOR_QUANT8_ASYMM_SIGNED
#define S8 NN_TENSOR_QUANT8_SYMM
#define S16 NN_TENSOR_QUANT16_SYMM
#define MAX_INPUTS 61
#define MAX_OUTPUTS 4

/* An operand of an operation: omitted, an int32 constant, or otherwise an input of the model. */
struct seed_operand {
	int32_t type;
	uint32_t rank;
	uint32_t dims[4];
	const int32_t *constant;
	float scale;	/* 0: set_scale() chooses the scale, if the type has a scale */
	int32_t zero;
	bool omitted;
};

#define VALUES(...) ((const int32_t[]){ __VA_ARGS__ })
#define INT(value) { NN_INT32, 0, { 0 }, VALUES(value) }
#define BOOLEAN(value) { NN_BOOL, 0, { 0 }, VALUES(value) }
#define FLOAT(bits) { NN_FLOAT32, 0, { 0 }, VALUES(bits) }
#define TENSOR(type, ...) { type, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, { __VA_ARGS__ } }
#define QUANT(type, scale, zero, ...) \
	{ type, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, { __VA_ARGS__ }, NULL, scale, zero }
#define OMITTED(type, rank) { type, rank, { 0 }, .omitted = true }
/* A constant operand of up to 32 float numbers, some of which are 0. */
#define NUMBERS(rank, ...) { F32, rank, { __VA_ARGS__ }, numbers }
#define BYTES(type, scale, zero, rank, ...) \
	{ type, rank, { __VA_ARGS__ }, numbers, scale, zero }
#define FOUR(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
/*
 * Inputs of an LSTM with 2 inputs and 3 units: weights, recurrent weights, peephole weights,
 * biases, and the weights and bias of a projection.
 */
#define LSTM_WEIGHTS \
	FOUR(NUMBERS(2, 3, 2)), FOUR(NUMBERS(2, 3, 3)), NUMBERS(1, 3), NUMBERS(1, 3), \
	NUMBERS(1, 3), FOUR(NUMBERS(1, 3)), NUMBERS(2, 3, 3), NUMBERS(1, 3)
/*
 * Inputs of an LSTM. Most weights are inputs of the model, so each run packs these weights. The
 * optional weights of the LSTM's input gate are constants or omitted.
 */
#define LSTM_GIVEN \
	NUMBERS(2, 3, 2), TENSOR(F32, 3, 2), TENSOR(F32, 3, 2), TENSOR(F32, 3, 2), \
	NUMBERS(2, 3, 3), TENSOR(F32, 3, 3), TENSOR(F32, 3, 3), TENSOR(F32, 3, 3), \
	OMITTED(F32, 1), OMITTED(F32, 1), OMITTED(F32, 1), \
	NUMBERS(1, 3), TENSOR(F32, 3), TENSOR(F32, 3), TENSOR(F32, 3), OMITTED(F32, 2), \
	OMITTED(F32, 1)
#define INTS(n, ...) { I32, 1, { n }, VALUES(__VA_ARGS__) }

static const int32_t numbers[32] = { 0x3f800000, 0x40000000, (int32_t)0xbf800000, 0x3f000000 };

/*
 * Models that have one operation each. If a row has no output, the output has the first input's
 * type and an unknown shape; a plan with an unknown shape cannot be serialised.
 */
static const struct single {
	const char *name;
	int32_t code;
	struct seed_operand inputs[MAX_INPUTS];
	struct seed_operand outputs[MAX_OUTPUTS];
} singles[] = {
	{ "average_pool", 1, { TENSOR(F32, 1, 4, 4, 2), INT(1), INT(2), INT(2), INT(2), INT(2),
			       INT(0) } },
	{ "concatenation", 2, { TENSOR(F32, 2, 3), TENSOR(F32, 2, 1), INT(1) } },
	{ "conv", 3, { TENSOR(F32, 1, 4, 4, 2), TENSOR(F32, 3, 2, 2, 2), TENSOR(F32, 3), INT(1),
		       INT(1), INT(1), INT(0) } },
	{ "conv_packed", 3, { TENSOR(F32, 1, 4, 4, 2), NUMBERS(4, 3, 2, 2, 2), NUMBERS(1, 3),
			      INT(1), INT(1), INT(1), INT(0) } },
	{ "conv_padding", 3, { TENSOR(F32, 1, 4, 4, 2), TENSOR(F32, 3, 2, 2, 2), TENSOR(F32, 3),
			       INT(1), INT(0), INT(1), INT(0), INT(1), INT(2), INT(0), BOOLEAN(0),
			       INT(1), INT(1) } },
	{ "depthwise_conv", 4, { TENSOR(F32, 1, 4, 4, 2), TENSOR(F32, 1, 2, 2, 4), TENSOR(F32, 4),
				 INT(1), INT(1), INT(1), INT(2), INT(0) } },
	{ "depthwise_packed", 4, { TENSOR(F32, 1, 4, 4, 2), NUMBERS(4, 1, 2, 2, 2),
				   NUMBERS(1, 2), INT(1), INT(1), INT(1), INT(1), INT(0) } },
	{ "depth_to_space", 5, { TENSOR(F32, 1, 2, 2, 4), INT(2) } },
	{ "fully_connected", 9, { TENSOR(F32, 2, 3), TENSOR(F32, 4, 3), TENSOR(F32, 4), INT(0) } },
	{ "fully_connected_packed", 9, { TENSOR(F32, 2, 3), NUMBERS(2, 4, 3), NUMBERS(1, 4),
					 INT(0) } },
	{ "gather_constant", 51, { TENSOR(F32, 3, 2), INT(0), INTS(2, 2, 1) } },
	{ "mul_constant", 18, { TENSOR(F32, 2, 3), NUMBERS(1, 3), INT(1) } },
	{ "max_pool_q8", 17, { TENSOR(Q8, 1, 4, 4, 2), INT(2), INT(2), INT(2), INT(3), INT(3),
			       INT(3) } },
	{ "mul_q8", 18, { TENSOR(Q8, 2, 3), TENSOR(Q8, 3), INT(1) } },
	{ "reshape_q8", 22, { TENSOR(Q8, 2, 3), INTS(2, 3, -1) } },
	{ "resize", 23, { TENSOR(F32, 1, 4, 4, 1), INT(3), INT(5) } },
	{ "batch_to_space", 29, { TENSOR(F32, 4, 2, 2, 1), INTS(2, 2, 2) } },
	{ "mean", 31, { TENSOR(F32, 2, 3, 4), INTS(2, 0, -1), INT(1) } },
	{ "pad", 32, { TENSOR(F32, 2), { I32, 2, { 1, 2 }, VALUES(1, 2) } } },
	{ "squeeze", 34, { TENSOR(F32, 1, 3, 1), INTS(1, 0) } },
	{ "strided_slice", 35, { TENSOR(F32, 4, 3), INTS(2, 0, 2), INTS(2, 3, -4), INTS(2, 2, -1),
				 INT(0), INT(0), INT(0) } },
	{ "transpose", 37, { TENSOR(F32, 2, 3, 1), INTS(3, 2, 0, 1) } },
	{ "expand_dims", 50, { TENSOR(F32, 2, 3), INT(1) } },
	{ "gather", 51, { TENSOR(F32, 2, 3), INT(1), INTS(4, 0, 2, 1, 1) } },
	{ "slice", 86, { TENSOR(F32, 4, 3), INTS(2, 1, 0), INTS(2, 2, -1) } },
	{ "tile", 89, { TENSOR(F32, 2, 3), INTS(2, 2, 1) } },
	{ "serialised_conv", 3, { TENSOR(F32, 1, 4, 4, 2), NUMBERS(4, 3, 2, 2, 2), NUMBERS(1, 3),
			      INT(1), INT(1), INT(1), INT(0) }, { TENSOR(F32, 1, 4, 4, 3) } },
	{ "serialised_conv_given", 3, { TENSOR(F32, 1, 4, 4, 2), TENSOR(F32, 3, 2, 2, 2),
				    TENSOR(F32, 3), INT(1), INT(1), INT(1), INT(0) },
	  { TENSOR(F32, 1, 4, 4, 3) } },
	{ "serialised_depthwise_given", 4, { TENSOR(F32, 1, 4, 4, 2), TENSOR(F32, 1, 2, 2, 2),
					 TENSOR(F32, 2), INT(1), INT(1), INT(1), INT(1), INT(0) },
	  { TENSOR(F32, 1, 4, 4, 2) } },
	{ "serialised_fully_connected_plain", 9, { TENSOR(F32, 2, 3), TENSOR(F32, 4, 3), TENSOR(F32, 4),
					       INT(0) }, { TENSOR(F32, 2, 4) } },
	{ "serialised_fully_connected_given", 9, { TENSOR(F32, 9, 3), TENSOR(F32, 4, 3), TENSOR(F32, 4),
					       INT(0) }, { TENSOR(F32, 9, 4) } },
	{ "serialised_concatenation", 2, { TENSOR(F32, 2, 3), TENSOR(F32, 2, 1), INT(1) },
	  { TENSOR(F32, 2, 4) } },
	{ "serialised_concatenation_q8", 2, { TENSOR(Q8, 2, 3), QUANT(Q8, 0.25f, 3, 2, 1), INT(1) },
	  { TENSOR(Q8, 2, 4) } },
	{ "serialised_conv_grouped", 55, { TENSOR(F32, 1, 4, 4, 4), NUMBERS(4, 4, 2, 1, 2),
				       NUMBERS(1, 4), INT(1), INT(1), INT(1), INT(2), INT(3),
				       BOOLEAN(0) }, { TENSOR(F32, 1, 4, 4, 4) } },
	{ "serialised_conv_transposed", 91, { TENSOR(F32, 1, 3, 3, 2), NUMBERS(4, 2, 3, 2, 2),
					  NUMBERS(1, 2), INT(0), INT(0), INT(1), INT(0), INT(2),
					  INT(2), INT(1), BOOLEAN(0) },
	  { TENSOR(F32, 1, 6, 6, 2) } },
	{ "serialised_mean", 31, { TENSOR(F32, 2, 3, 4), INTS(2, 1, -1), INT(0) },
	  { TENSOR(F32, 2) } },
	{ "serialised_pool", 17, { TENSOR(Q8, 1, 4, 4, 2), INT(2), INT(2), INT(2), INT(3), INT(3),
			       INT(3) }, { TENSOR(Q8, 1, 1, 1, 2) } },
	{ "serialised_transpose", 37, { TENSOR(F32, 2, 3, 4), INTS(3, 2, 0, 1) },
	  { TENSOR(F32, 4, 2, 3) } },
	{ "serialised_lstm", 16, { TENSOR(F32, 1, 2), LSTM_WEIGHTS, TENSOR(F32, 1, 3),
			       TENSOR(F32, 1, 3), INT(4), FLOAT(0), FLOAT(0), FOUR(NUMBERS(1, 3)) },
	  { TENSOR(F32, 1, 12), TENSOR(F32, 1, 3), TENSOR(F32, 1, 3), TENSOR(F32, 1, 3) } },
	{ "serialised_lstm_given", 92, { TENSOR(F32, 8, 1, 2), LSTM_GIVEN, TENSOR(F32, 1, 3),
				     TENSOR(F32, 1, 3), INT(4), FLOAT(0), FLOAT(0), BOOLEAN(1),
				     FOUR(OMITTED(F32, 1)) },
	  { TENSOR(F32, 8, 1, 3), TENSOR(F32, 1, 3), TENSOR(F32, 1, 3) } },
	{ "serialised_lstm_both", 42, { TENSOR(F32, 3, 1, 2), LSTM_WEIGHTS, LSTM_WEIGHTS,
				    FOUR(TENSOR(F32, 1, 3)), OMITTED(F32, 3),
				    FOUR(OMITTED(F32, 2)), FOUR(OMITTED(F32, 2)), INT(4), FLOAT(0),
				    FLOAT(0), BOOLEAN(1), BOOLEAN(1), FOUR(OMITTED(F32, 1)),
				    FOUR(OMITTED(F32, 1)) }, { TENSOR(F32, 3, 1, 6) } },
	{ "serialised_svdf", 27, { TENSOR(F32, 1, 2), NUMBERS(2, 4, 2), NUMBERS(2, 4, 3), NUMBERS(1, 2),
			       TENSOR(F32, 1, 12), INT(2), INT(1) },
	  { TENSOR(F32, 1, 12), TENSOR(F32, 1, 2) } },
	{ "serialised_lstm_16bit", 73, { QUANT(Q8, 0x1p-7f, 128, 1, 2),
				     FOUR(BYTES(Q8, 0x1p-7f, 128, 2, 3, 2)),
				     FOUR(BYTES(Q8, 0x1p-7f, 128, 2, 3, 3)),
				     FOUR(BYTES(I32, 0x1p-14f, 0, 1, 3)),
				     QUANT(S16, 0x1p-11f, 0, 1, 3), QUANT(Q8, 0x1p-7f, 128, 1, 3) },
	  { QUANT(S16, 0x1p-11f, 0, 1, 3), QUANT(Q8, 0x1p-7f, 128, 1, 3) } },
	{ "serialised_lstm_8bit", 95, { QUANT(I8, 0x1p-7f, 3, 1, 2),
				    FOUR(BYTES(S8, 0x1p-7f, 0, 2, 3, 2)),
				    FOUR(BYTES(S8, 0x1p-7f, 0, 2, 3, 2)),
				    BYTES(S16, 0x1p-11f, 0, 1, 3), BYTES(S16, 0x1p-11f, 0, 1, 3),
				    BYTES(S16, 0x1p-11f, 0, 1, 3), FOUR(BYTES(I32, 0, 0, 1, 3)),
				    BYTES(S8, 0x1p-7f, 0, 2, 2, 3), BYTES(I32, 0, 0, 1, 2),
				    QUANT(I8, 0x1p-7f, -2, 1, 2), QUANT(S16, 0x1p-11f, 0, 1, 3),
				    FOUR(BYTES(S16, 0x1p-15f, 0, 1, 3)), FLOAT(0), FLOAT(0),
				    FOUR(FLOAT(0x3be56042)), INT(4), FLOAT(0x3be56042) },
	  { QUANT(I8, 0x1p-7f, -2, 1, 2), QUANT(S16, 0x1p-11f, 0, 1, 3),
	    QUANT(I8, 0x1p-7f, -2, 1, 2) } },
};

static void set_scale(struct model_builder *b, uint32_t operand, const struct seed_operand *o)
{
	b->operands[0][operand].scale = o->type == Q8 && o->scale == 0 ? 0.5f : o->scale;
	b->operands[0][operand].zero_point = o->zero;
}

static uint32_t add_operand(struct model_builder *b, const struct seed_operand *o,
			    enum nn_lifetime lifetime)
{
	uint32_t size = nn_type_info_of(o->type)->element_size, index, i;

	for (i = 0; i < o->rank; i++)
		size *= o->dims[i];
	if (o->constant)
		index = mb_constant(b, o->type, o->constant, size, o->rank, o->dims);
	else
		index = mb_operand(b, o->type, lifetime, o->rank, o->dims);
	set_scale(b, index, o);
	return index;
}

static void build_single(struct model_builder *b, const struct single *s)
{
	const struct seed_operand any = { .type = s->inputs[0].type };
	uint32_t inputs[MAX_INPUTS], outputs[MAX_OUTPUTS], n, outs;

	mb_init(b);
	for (n = 0; n < MAX_INPUTS && (s->inputs[n].rank || s->inputs[n].constant); n++)
		inputs[n] = add_operand(b, &s->inputs[n], s->inputs[n].omitted ? NN_NO_VALUE :
								NN_SUBGRAPH_INPUT);
	for (outs = 0; outs < MAX_OUTPUTS && s->outputs[outs].rank; outs++)
		outputs[outs] = add_operand(b, &s->outputs[outs], NN_SUBGRAPH_OUTPUT);
	if (!outs)
		outputs[outs++] = add_operand(b, &any, NN_SUBGRAPH_OUTPUT);
	mb_operation(b, s->code, n, inputs, outs, outputs);
}

static int write_seed(const char *folder, const char *name, const struct nn_model *model,
		      size_t zeros)
{
	struct nn_error err = { "" };
	char path[4096];
	size_t size;
	void *wire;
	FILE *f;
	int ok;

	if (nn_model_check(model, &err) || nn_model_encode(model, &wire, &size, &err)) {
		fprintf(stderr, "%s: %s\n", name, err.message);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	ok = f && (!zeros || !fseek(f, (long)zeros, SEEK_SET)) && fwrite(wire, size, 1, f) == 1;
	if (f && fclose(f))
		ok = 0;
	if (!ok)
		perror(path);
	free(wire);
	return ok;
}

int main(int argc, char **argv)
{
	static struct model_builder b;
	size_t zeros = 0, i;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s FOLDER [ZEROS]\n", argv[0]);
		return 2;
	}
	if (argc == 3)
		zeros = strtoul(argv[2], NULL, 10);
	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		samples[i].build(&b);
		if (!write_seed(argv[1], samples[i].name, &b.model, zeros))
			return 1;
	}
	for (i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		build_single(&b, &singles[i]);
		if (!write_seed(argv[1], singles[i].name, &b.model, zeros))
			return 1;
	}
	return 0;
}
