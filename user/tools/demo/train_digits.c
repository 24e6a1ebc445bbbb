/* SPDX-License-Identifier: MIT */
/*
 * train_digits: trains the demo's network from scratch and writes its
 * parameters as a C file to the standard output.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net.h"
#include "train.h"

#define CHECK_SEED	3
#define CHECK_IMAGES	2000

static void progress(uint32_t step, double loss)
{
	fprintf(stderr, "step %5" PRIu32 " of %d: loss %.4f\n", step, TRAIN_STEPS, loss);
}

static double accuracy(const float *params)
{
	struct random r = { CHECK_SEED };
	struct net_values values;
	struct digit digit;
	uint32_t right = 0;

	for (uint32_t i = 0; i < CHECK_IMAGES; i++) {
		digit_draw(&r, &digit);
		net_forward(params, digit.pixels, &values);
		right += net_answer(values.out[NET_LAYERS - 1]) == digit.label;
	}
	return 100.0 * right / CHECK_IMAGES;
}

static void write_weights(const float *params, uint64_t probe_hash)
{
	printf("/* SPDX-License-Identifier: MIT */\n"
	       "/*\n"
	       " * Parameters of the demo's network. Written by train_digits: %d steps of %d\n"
	       " * images; %.2f %% of %d other images right.\n"
	       " */\n"
	       "#include \"weights.h\"\n"
	       "\n"
	       "const struct net_weights net_weights = {\n"
	       "\t.hash = UINT64_C(0x%016" PRIx64 "),\n"
	       "\t.probe_hash = UINT64_C(0x%016" PRIx64 "),\n"
	       "\t.params = {", TRAIN_STEPS, TRAIN_BATCH, accuracy(params), CHECK_IMAGES,
	       net_hash(params), probe_hash);
	for (uint32_t i = 0; i < NET_PARAMS; i++)
		printf("%s%.9g,", i % 8 ? " " : "\n\t\t", (double)params[i]);
	printf("\n\t},\n};\n");
}

/* Returns the exit status: 0 if all of standard output was written. */
static int printed(const char *what)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "train_digits: the %s could not be written\n", what);
	return 1;
}

static int print_usage(bool is_help)
{
	fputs("usage: train_digits >weights.c\n"
	      "Trains the demo's network, for some minutes, and prints its parameters as C.\n",
	      is_help ? stdout : stderr);
	return is_help ? printed("help") : 2;
}

int main(int argc, char **argv)
{
	static float params[NET_PARAMS];
	uint64_t probe_hash;

	if (argc > 1)
		return print_usage(!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
	if (!train(TRAIN_PROBE, NULL, params)) {
		fprintf(stderr, "train_digits: out of memory\n");
		return 1;
	}
	probe_hash = net_hash(params);
	if (!train(TRAIN_STEPS, progress, params)) {
		fprintf(stderr, "train_digits: out of memory\n");
		return 1;
	}
	write_weights(params, probe_hash);
	return printed("weights");
}
