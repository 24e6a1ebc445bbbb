/* SPDX-License-Identifier: MIT */
/* SELECT: copies each element from one of two inputs, selected by a condition. */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/quant.h"

enum { CONDITION, A, B };

static bool same_shape(const struct nn_tensor *a, const struct nn_tensor *b)
{
	return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims));
}

static enum nn_status infer(struct nn_run *r)
{
	const struct nn_tensor *condition = &r->inputs[CONDITION];

	if (!same_shape(condition, &r->inputs[A]) || !same_shape(condition, &r->inputs[B]))
		return nn_run_fail(r, "the inputs must have the same shape");
	return nn_infer_shape(r);
}

/*
 * Selects elements of four bytes, float or int32. The code has no branches, because a CPU could
 * mispredict branches.
 */
static void select_words(const struct nn_run *r)
{
	const uint8_t *condition = r->inputs[CONDITION].data;
	const uint32_t *a = r->inputs[A].data, *b = r->inputs[B].data;
	uint32_t *restrict out = r->outputs[0].data;
	size_t count = nn_tensor_count(&r->outputs[0]);

	for (size_t i = 0; i < count; i++) {
		const uint32_t mask = condition[i] ? UINT32_MAX : 0;

		out[i] = (a[i] & mask) | (b[i] & ~mask);
	}
}

static void select_q8(const struct nn_run *r)
{
	const uint8_t *condition = r->inputs[CONDITION].data;
	const uint8_t *a = r->inputs[A].data, *b = r->inputs[B].data;
	uint8_t *restrict out = r->outputs[0].data, table_a[256], table_b[256];
	size_t count = nn_tensor_count(&r->outputs[0]);

	if (nn_tensor_quantised_alike(&r->inputs[A], &r->outputs[0]) &&
	    nn_tensor_quantised_alike(&r->inputs[B], &r->outputs[0])) {
		for (size_t i = 0; i < count; i++) {
			const uint8_t mask = condition[i] ? UINT8_MAX : 0;

			out[i] = (a[i] & mask) | (b[i] & ~mask);
		}
		return;
	}
	nn_requantize_table(&r->inputs[A], &r->outputs[0], table_a);
	nn_requantize_table(&r->inputs[B], &r->outputs[0], table_b);
	for (size_t i = 0; i < count; i++) {
		const uint8_t mask = condition[i] ? UINT8_MAX : 0;

		out[i] = (table_a[a[i]] & mask) | (table_b[b[i]] & ~mask);
	}
}

static enum nn_status execute(struct nn_run *r)
{
	if (NN_T(r->inputs[A].type) & NN_QUANT8)
		select_q8(r);
	else
		select_words(r);
	return NN_OK;
}

NN_OPERATION(SELECT,
	NN_INPUTS(3, { NN_T(NN_TENSOR_BOOL8), 0, 0 },
		  { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }, { NN_SAME_1, 0, 0 }),
	NN_OUTPUTS({ NN_SAME_1, 0, 0 }),
	.float16_as_float32 = true,
	.infer = infer, .execute = execute);
