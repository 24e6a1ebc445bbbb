/* SPDX-License-Identifier: MIT */
/*
 * GATHER, EMBEDDING_LOOKUP and HASHTABLE_LOOKUP: copy the slices of a tensor that indices or keys
 * select.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/op.h"

/* Reads the arguments of GATHER or of EMBEDDING_LOOKUP; the axis of EMBEDDING_LOOKUP is 0. */
static bool read_axis(const struct nn_run *r, const struct nn_tensor **values,
		      const struct nn_tensor **indices, uint32_t *axis)
{
	const bool gathers = r->op->code == NN_OP_GATHER;

	*values = &r->inputs[gathers ? 0 : 1];
	*indices = &r->inputs[gathers ? 2 : 0];
	return nn_axis(gathers ? nn_run_int(r, 1, 0) : 0, (*values)->rank, axis);
}

/*
 * Infers the output's shape: the dimensions of the values, in which the dimensions of the indices
 * replace the axis.
 */
static enum nn_status infer_picked(struct nn_run *r)
{
	const struct nn_tensor *values, *indices;
	struct nn_tensor *out = &r->outputs[0];
	uint32_t rank = 0, i, axis;

	if (!read_axis(r, &values, &indices, &axis))
		return nn_run_fail(r, "axis %d does not fit rank %u", nn_run_int(r, 1, 0),
				   values->rank);
	if (values->rank - 1 + indices->rank > NN_MAX_RANK)
		return nn_run_fail(r, "the output would have %u dimensions, at most %u are possible",
				   values->rank - 1 + indices->rank, NN_MAX_RANK);
	nn_tensor_like(out, values);
	for (i = 0; i < axis; i++)
		out->dims[rank++] = values->dims[i];
	for (i = 0; i < indices->rank; i++)
		out->dims[rank++] = indices->dims[i];
	for (i = axis + 1; i < values->rank; i++)
		out->dims[rank++] = values->dims[i];
	nn_tensor_set_rank(out, rank);
	return NN_OK;
}

/* Copies to the output the slices of the values that the indices select along the axis. */
static enum nn_status pick(struct nn_run *r)
{
	const struct nn_tensor *values, *indices;
	uint32_t outer, count, axis = 0;
	const int32_t *index;
	const char *from;
	char *to = r->outputs[0].data;
	size_t size;

	read_axis(r, &values, &indices, &axis);
	size = nn_tensor_product(values, axis + 1, values->rank) *
	       (size_t)nn_type_info_of(values->type)->element_size;
	outer = nn_tensor_product(values, 0, axis);
	count = nn_tensor_count(indices);
	index = indices->data;
	from = values->data;
	for (uint32_t i = 0; i < count; i++) {
		if (index[i] < 0 || (uint32_t)index[i] >= values->dims[axis])
			return nn_run_fail(r, "index %u is %d, must be below %u", i, index[i],
					   values->dims[axis]);
	}
	for (uint32_t o = 0; o < outer; o++, from += size * values->dims[axis]) {
		for (uint32_t i = 0; i < count; i++, to += size) {
			/* A constant size avoids a call of memcpy() for each number. */
			if (size == sizeof(float))
				memcpy(to, from + (size_t)index[i] * sizeof(float), sizeof(float));
			else
				memcpy(to, from + (size_t)index[i] * size, size);
		}
	}
	return NN_OK;
}

static enum nn_status infer_hashtable_lookup(struct nn_run *r)
{
	const struct nn_tensor *lookups = &r->inputs[0], *keys = &r->inputs[1];
	const struct nn_tensor *values = &r->inputs[2];
	struct nn_tensor *hits = &r->outputs[1];

	if (keys->dims[0] != values->dims[0])
		return nn_run_fail(r, "%u keys but %u values", keys->dims[0], values->dims[0]);
	nn_tensor_like(&r->outputs[0], values);
	r->outputs[0].dims[0] = lookups->dims[0];
	hits->type = NN_TENSOR_QUANT8_ASYMM;
	hits->scale = 1;
	hits->zero_point = 0;
	nn_tensor_set_rank(hits, 1);
	hits->dims[0] = lookups->dims[0];
	return NN_OK;
}

static int compare_keys(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static enum nn_status execute_hashtable_lookup(struct nn_run *r)
{
	const struct nn_tensor *values = &r->inputs[2];
	const int32_t *lookups = r->inputs[0].data, *keys = r->inputs[1].data;
	size_t row = nn_tensor_product(values, 1, values->rank) *
		     (size_t)nn_type_info_of(values->type)->element_size;
	char *to = r->outputs[0].data;
	uint8_t *hits = r->outputs[1].data;

	for (uint32_t i = 0; i < r->inputs[0].dims[0]; i++, to += row) {
		const int32_t *key = bsearch(&lookups[i], keys, values->dims[0], sizeof(*keys),
					     compare_keys);

		hits[i] = key != NULL;
		if (key)
			memcpy(to, (const char *)values->data + (size_t)(key - keys) * row, row);
		else
			memset(to, 0, row);
	}
	return NN_OK;
}

NN_OPERATION(GATHER,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }, NN_SCALAR_INT,
		  { NN_T(NN_TENSOR_INT32), 0, 0 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.determining = NN_IN(2),
	.infer = infer_picked, .execute = pick);

NN_OPERATION(EMBEDDING_LOOKUP,
	NN_INPUTS(2, { NN_T(NN_TENSOR_INT32), 1, 1 },
		  { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 2, 0 }),
	NN_OUTPUTS({ NN_SAME_1, 0, 0 }),
	.determining = NN_IN(0),
	.infer = infer_picked, .execute = pick);

NN_OPERATION(HASHTABLE_LOOKUP,
	NN_INPUTS(3, { NN_T(NN_TENSOR_INT32), 1, 1 }, { NN_T(NN_TENSOR_INT32), 1, 1 },
		  { NN_T(NN_TENSOR_FLOAT32) | NN_T(NN_TENSOR_INT32) |
		    NN_T(NN_TENSOR_QUANT8_ASYMM), 1, 0 }),
	NN_OUTPUTS({ NN_SAME_2, 0, 0 }, { NN_T(NN_TENSOR_QUANT8_ASYMM), 1, 1 }),
	.dims = "* *", .determining = NN_IN(0) | NN_IN(1),
	.infer = infer_hashtable_lookup, .execute = execute_hashtable_lookup);
