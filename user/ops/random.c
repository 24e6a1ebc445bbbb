/* SPDX-License-Identifier: MIT */
/*
 * RANDOM_MULTINOMIAL: draws samples from rows of unnormalised log probabilities, by the
 * counter-based generator Philox4x32-10.
 */
#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/op.h"

struct philox {
	uint32_t counter[4], key[2];
};

/*
 * Computes the generator's block of four random words for the current counter, and increments the
 * counter. The source of the algorithm is Salmon et al., SC 2011.
 */
static void philox_next(struct philox *p, uint32_t out[4])
{
	uint32_t key[2] = { p->key[0], p->key[1] };

	memcpy(out, p->counter, sizeof(p->counter));
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53 * out[0], b = (uint64_t)0xCD9E8D57 * out[2];

		out[0] = (uint32_t)(b >> 32) ^ out[1] ^ key[0];
		out[1] = (uint32_t)b;
		out[2] = (uint32_t)(a >> 32) ^ out[3] ^ key[1];
		out[3] = (uint32_t)a;
		key[0] += 0x9E3779B9;
		key[1] += 0xBB67AE85;
	}
	if (++p->counter[0] == 0)
		p->counter[1]++;
}

/* Returns a uniformly distributed random number in [0, 1) with 53 bits. */
static double uniform(struct philox *p)
{
	uint32_t words[4];

	philox_next(p, words);
	return (double)(((uint64_t)words[0] << 32 | words[1]) >> 11) * 0x1p-53;
}

static enum nn_status infer_random_multinomial(struct nn_run *r)
{
	const struct nn_tensor *logits = &r->inputs[0];
	struct nn_tensor *out = &r->outputs[0];
	int32_t samples = nn_run_int(r, 1, 0);

	if (samples <= 0)
		return nn_run_fail(r, "%d samples", samples);
	out->type = NN_TENSOR_INT32;
	nn_tensor_set_rank(out, 2);
	out->dims[0] = logits->dims[0];
	out->dims[1] = (uint32_t)samples;
	return NN_OK;
}

/* Computes the cumulative sums of a row's unnormalised probabilities; returns the total. */
static double cumulate(const float *logits, uint32_t classes, double *cumulated)
{
	float most = -INFINITY;
	double total = 0;

	for (uint32_t i = 0; i < classes; i++) {
		if (isfinite(logits[i]) && logits[i] > most)
			most = logits[i];
	}
	for (uint32_t i = 0; i < classes; i++) {
		if (isfinite(logits[i]))
			total += exp((double)logits[i] - (double)most);
		cumulated[i] = total;
	}
	return total;
}

/* Returns the first class whose cumulative probability exceeds `mark`. */
static uint32_t find(const double *cumulated, uint32_t classes, double mark)
{
	uint32_t low = 0, high = classes - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cumulated[middle] > mark)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static enum nn_status execute_random_multinomial(struct nn_run *r)
{
	const struct nn_tensor *logits = &r->inputs[0];
	const int32_t *seeds = r->inputs[2].data;
	uint32_t classes = logits->dims[1], samples = r->outputs[0].dims[1];
	struct philox p = { .counter = { 0, 0, (uint32_t)seeds[1] }, .key = { (uint32_t)seeds[0] } };
	const float *row = logits->data;
	int32_t *out = r->outputs[0].data;
	double *cumulated = nn_run_alloc(r, classes, sizeof(*cumulated));

	if (!cumulated)
		return NN_OUT_OF_MEMORY;
	if (seeds[0] == 0 && seeds[1] == 0 && getrandom(&p, sizeof(p), 0) != sizeof(p))
		return nn_run_fail(r, "cannot get a random seed");
	for (uint32_t b = 0; b < logits->dims[0]; b++, row += classes) {
		double total = cumulate(row, classes, cumulated);

		for (uint32_t i = 0; i < samples; i++)
			*out++ = (int32_t)find(cumulated, classes, uniform(&p) * total);
	}
	return NN_OK;
}

NN_OPERATION(RANDOM_MULTINOMIAL,
	NN_INPUTS(3, { NN_FLOATS, 2, 2 }, NN_SCALAR_INT, { NN_T(NN_TENSOR_INT32), 1, 1 }),
	NN_OUTPUTS({ NN_T(NN_TENSOR_INT32), 2, 2 }),
	.dims = "** - 2", .float16_as_float32 = true,
	.infer = infer_random_multinomial, .execute = execute_random_multinomial);
