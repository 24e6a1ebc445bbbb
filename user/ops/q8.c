/* SPDX-License-Identifier: MIT */
/* Subtracts the zero point from 8-bit quantised elements; the differences have 16 bits. */
#include "ops/q8.h"

const void *nn_q8_widened(struct nn_run *r, const struct nn_tensor *t, const void *data)
{
	struct nn_q8 q = nn_q8_of(t);
	size_t count = nn_tensor_count(t);
	const uint8_t *bytes = data;
	int16_t *wide;

	if (!data || t->type == NN_TENSOR_FLOAT32)
		return data;
	wide = nn_run_alloc(r, count, sizeof(*wide));
	for (size_t i = 0; wide && i < count; i++)
		wide[i] = (int16_t)nn_q8_value(q, bytes[i]);
	return wide;
}
