/* SPDX-License-Identifier: MIT */
/*
 * Writes the seeds of model_fuzz and plan_cache_fuzz: wire forms of the tests' sample
 * models and of single operations, each to a file in the folder that the first argument
 * names; with a second argument behind so many bytes of 0.
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
#define MAX_INPUTS 13

/* An operand: an input of the model where `constant` is NULL, else int32 values. */
struct seed_operand {
	int32_t type;
	uint32_t rank;
	uint32_t dims[4];
	const int32_t *constant;
};

#define VALUES(...) ((const int32_t[]){ __VA_ARGS__ })
#define INT(value) { NN_INT32, 0, { 0 }, VALUES(value) }
#define BOOLEAN(value) { NN_BOOL, 0, { 0 }, VALUES(value) }
#define TENSOR(type, ...) { type, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, { __VA_ARGS__ }, NULL }
/* Of any bits, up to 32 of them. */
#define NUMBERS(rank, ...) { F32, rank, { __VA_ARGS__ }, numbers }
#define INTS(n, ...) { I32, 1, { n }, VALUES(__VA_ARGS__) }

static const int32_t numbers[32] = { 0x3f800000, 0x40000000, (int32_t)0xbf800000, 0x3f000000 };

/* A model of one operation; its output has the first input's type and any shape. */
static const struct single {
	const char *name;
	int32_t code;
	struct seed_operand inputs[MAX_INPUTS];
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
};

static uint32_t add_operand(struct model_builder *b, const struct seed_operand *o)
{
	uint32_t size = sizeof(int32_t), index, i;

	for (i = 0; i < o->rank; i++)
		size *= o->dims[i];
	if (o->type == NN_BOOL)
		size = 1;
	if (o->constant)
		return mb_constant(b, o->type, o->constant, size, o->rank, o->dims);
	index = mb_operand(b, o->type, NN_SUBGRAPH_INPUT, o->rank, o->dims);
	if (o->type == Q8)
		b->operands[0][index].scale = 0.5f;
	return index;
}

static void build_single(struct model_builder *b, const struct single *s)
{
	uint32_t inputs[MAX_INPUTS], n, out;

	mb_init(b);
	for (n = 0; n < MAX_INPUTS && (s->inputs[n].rank || s->inputs[n].constant); n++)
		inputs[n] = add_operand(b, &s->inputs[n]);
	out = mb_operand(b, s->inputs[0].type, NN_SUBGRAPH_OUTPUT, MB_NONE);
	if (s->inputs[0].type == Q8)
		b->operands[0][out].scale = 0.5f;
	mb_operation(b, s->code, n, inputs, MB_LIST(out));
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
