/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "ops/float16.h"
#include "tests/plan_diff/compare.h"
#include "vectors/graph.h"

float graph_element(const void *data, uint32_t i)
{
	uint16_t small;
	float value;

	if (g.type == NN_TENSOR_FLOAT16) {
		memcpy(&small, (const char *)data + i * sizeof(small), sizeof(small));
		return nn_fp16_to_float(small);
	}
	if (!is_float())
		return ((const uint8_t *)data)[i];
	memcpy(&value, (const char *)data + i * sizeof(value), sizeof(value));
	return value;
}

/* Returns whether plans may compute the graph in fp16. */
static bool is_fp16(void)
{
	return g.type == NN_TENSOR_FLOAT16 || g.model.relaxed;
}

/*
 * The rounding error of fp16 is proportional to the terms of a sum, not to the sum. Because terms
 * may cancel in some elements, is_close() compares the error with the largest element of the
 * output.
 */
static bool is_close(float a, float b, float largest)
{
	float tolerance = is_fp16() ? 2e-2f : g.is_delicate ? 2e-3f : 1e-4f;
	float size = is_fp16() ? largest : fabsf(b);

	return a == b || fabsf(a - b) <= tolerance * (1 + size) || (isnan(a) && isnan(b));
}

static float largest_of(const void *data, uint32_t count)
{
	float largest = 0;

	for (uint32_t i = 0; is_float() && i < count; i++) {
		if (isfinite(graph_element(data, i)))
			largest = fmaxf(largest, fabsf(graph_element(data, i)));
	}
	return largest;
}

int64_t graph_differs(uint32_t output, const void *data, const void *right)
{
	uint32_t count = elements(&g.operands[g.outputs[output]]);
	float largest = largest_of(right, count);

	for (uint32_t i = 0; i < count; i++) {
		float a = graph_element(data, i), b = graph_element(right, i);

		if (is_float() ? !is_close(a, b, largest) : a != b)
			return i;
	}
	return -1;
}
