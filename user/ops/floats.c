/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "ops/floats.h"
#include "ops/quant.h"

/* Returns the stored integer of element `index` of a quantised tensor. */
static int32_t load(const struct nn_tensor *t, size_t index)
{
	switch (t->type) {
	case NN_TENSOR_QUANT8_ASYMM:
		return ((const uint8_t *)t->data)[index];
	case NN_TENSOR_QUANT16_ASYMM:
		return ((const uint16_t *)t->data)[index];
	case NN_TENSOR_QUANT16_SYMM:
		return ((const int16_t *)t->data)[index];
	default:
		return ((const int8_t *)t->data)[index];
	}
}

float *nn_floats_read(struct nn_run *r, const struct nn_tensor *t)
{
	size_t count = nn_tensor_count(t);
	float *values = nn_run_room(r, count, sizeof(*values));

	if (!values)
		return NULL;
	if (t->type == NN_TENSOR_FLOAT32)
		return memcpy(values, t->data, count * sizeof(*values));
	for (size_t i = 0; i < count; i++)
		values[i] = (float)(load(t, i) - t->zero_point) * t->scale;
	return values;
}

const float *nn_floats_view(struct nn_run *r, const struct nn_tensor *t)
{
	return t->type == NN_TENSOR_FLOAT32 ? t->data : nn_floats_read(r, t);
}

void nn_floats_write(const struct nn_tensor *t, const float *values)
{
	bool wide = t->type == NN_TENSOR_QUANT16_ASYMM;
	size_t count = nn_tensor_count(t);
	int32_t low = 0, high = UINT16_MAX;

	if (t->type == NN_TENSOR_FLOAT32) {
		memcpy(t->data, values, count * sizeof(*values));
		return;
	}
	if (!wide)
		nn_quant_range(t->type, &low, &high);
	for (size_t i = 0; i < count; i++) {
		int32_t stored = nn_quantize(values[i], t->scale, t->zero_point, low, high);

		if (wide)
			((uint16_t *)t->data)[i] = (uint16_t)stored;
		else
			((uint8_t *)t->data)[i] = (uint8_t)stored;
	}
}
