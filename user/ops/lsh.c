/* SPDX-License-Identifier: MIT */
/*
 * LSH_PROJECTION: computes locality sensitive hashes of the input. Each bit of a hash is the sign
 * of a weighted sum of fingerprints.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "model/fingerprint.h"
#include "ops/op.h"

enum { HASH, INPUT, WEIGHT, TYPE };
enum { SPARSE_DEPRECATED = 1, DENSE, SPARSE };

static enum nn_status infer_lsh_projection(struct nn_run *r)
{
	const struct nn_tensor *hash = &r->inputs[HASH], *input = &r->inputs[INPUT];
	const struct nn_tensor *weight = &r->inputs[WEIGHT];
	struct nn_tensor *out = &r->outputs[0];
	int32_t type = nn_run_int(r, TYPE, 0);

	if (hash->dims[1] > 32)
		return nn_run_fail(r, "hash functions of %u bits, must be up to 32", hash->dims[1]);
	if (type < SPARSE_DEPRECATED || type > SPARSE)
		return nn_run_fail(r, "projection type %d does not exist", type);
	if (!weight->omitted && weight->dims[0] != input->dims[0])
		return nn_run_fail(r, "%u weights but %u items", weight->dims[0], input->dims[0]);
	if ((type == DENSE) == weight->omitted)
		return nn_run_fail(r, "a %s projection must %s weights",
				   type == DENSE ? "dense" : "sparse",
				   type == DENSE ? "have" : "not have");
	out->type = NN_TENSOR_INT32;
	nn_tensor_set_rank(out, 1);
	if (__builtin_mul_overflow(hash->dims[0], type == DENSE ? hash->dims[1] : 1, &out->dims[0]))
		return nn_run_fail(r, "%u * %u bits", hash->dims[0], hash->dims[1]);
	return NN_OK;
}

/*
 * Computes one bit of a hash. The buffer `key` is for the data of a fingerprint: the hash's seed,
 * then an item of the input.
 */
static bool hash_bit(const struct nn_run *r, uint32_t index, uint8_t *key, size_t item)
{
	const struct nn_tensor *input = &r->inputs[INPUT], *weight = &r->inputs[WEIGHT];
	float seed = nn_tensor_float(&r->inputs[HASH], index);
	double sum = 0;

	memcpy(key, &seed, sizeof(seed));
	for (uint32_t i = 0; i < input->dims[0]; i++) {
		double value;

		memcpy(key + sizeof(seed), (const char *)input->data + i * item, item);
		value = (double)(int64_t)nn_fingerprint64(key, sizeof(seed) + item);
		sum += weight->omitted ? value : (double)nn_tensor_float(weight, i) * value;
	}
	return sum > 0;
}

static enum nn_status execute_lsh_projection(struct nn_run *r)
{
	const struct nn_tensor *hash = &r->inputs[HASH], *input = &r->inputs[INPUT];
	uint32_t bits = hash->dims[1];
	size_t item = nn_tensor_size(input) / input->dims[0];
	uint8_t *key = nn_run_alloc(r, sizeof(float) + item, 1);
	int32_t *out = r->outputs[0].data, type = nn_run_int(r, TYPE, 0);

	if (!key)
		return NN_OUT_OF_MEMORY;
	for (uint32_t h = 0; h < hash->dims[0]; h++) {
		uint64_t packed = 0;

		for (uint32_t b = 0; b < bits; b++) {
			bool bit = hash_bit(r, h * bits + b, key, item);

			if (type == DENSE)
				*out++ = bit;
			packed = packed << 1 | bit;
		}
		if (type == SPARSE)
			packed += (uint64_t)h << bits;
		if (type != DENSE)
			*out++ = (int32_t)(uint32_t)packed;
	}
	return NN_OK;
}

NN_OPERATION(LSH_PROJECTION,
	NN_INPUTS(4, { NN_FLOATS, 2, 2 },
		  { NN_FLOATS | NN_T(NN_TENSOR_INT32) | NN_T(NN_TENSOR_QUANT8_ASYMM), 0, 0 },
		  { NN_SAME, 1, 1 }, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_T(NN_TENSOR_INT32), 1, 1 }),
	.dims = "** - *", .omissible = NN_IN(WEIGHT),
	.infer = infer_lsh_projection, .execute = execute_lsh_projection);
