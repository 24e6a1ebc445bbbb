/* SPDX-License-Identifier: MIT */
/*
 * CAST: converts elements to another type. CAST converts the stored integers of quantised elements,
 *	not the real values.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"

#define CONVERTIBLE (NN_FLOATS | NN_T(NN_TENSOR_INT32) | NN_T(NN_TENSOR_QUANT8_ASYMM))

/*
 * A type that is not in CONVERTIBLE can only be copied: then input and output must have the same
 * type.
 */
static enum nn_status check(const struct nn_check *c)
{
	const bool converts = NN_T(nn_check_in(c, 0)->type) & CONVERTIBLE;
	enum nn_status status = nn_check_output(c, 0, (struct nn_rule){
		converts ? CONVERTIBLE : NN_SAME, 0, 0 });

	if (!status && !nn_check_shapes_agree(nn_check_in(c, 0), nn_check_out(c, 0)))
		return nn_check_fail_output(c, 0, "has other dimensions than input 0");
	return status;
}

/* Converts a float to an integer, rounded towards zero and saturated; NaN becomes 0. */
static inline int32_t to_int(float x)
{
	if (x >= 0x1p31f)
		return INT32_MAX;
	if (x < -0x1p31f)
		return INT32_MIN;
	return x == x ? (int32_t)x : 0;
}

static inline uint8_t to_byte(float x)
{
	return x >= 255 ? 255 : x > 0 ? (uint8_t)x : 0;
}

typedef void convert_fn(const void *in, void *out, size_t count);

/*
 * Defines a function that converts all elements of a tensor; `expression` converts one element x.
 */
#define CONVERT(name, from, to, expression)						\
static void name(const void *input, void *output, size_t count)				\
{											\
	const from *restrict in = input;						\
	to *restrict out = output;							\
											\
	for (size_t i = 0; i < count; i++) {						\
		from x = in[i];								\
											\
		out[i] = expression;							\
	}										\
}

CONVERT(float_to_int, float, int32_t, to_int(x))
CONVERT(float_to_byte, float, uint8_t, to_byte(x))
CONVERT(int_to_float, int32_t, float, (float)x)
CONVERT(int_to_byte, int32_t, uint8_t, (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x))
CONVERT(byte_to_float, uint8_t, float, (float)x)
CONVERT(byte_to_int, uint8_t, int32_t, x)

static convert_fn *conversion(int32_t from, int32_t to)
{
	switch (from) {
	case NN_TENSOR_FLOAT32:
		return to == NN_TENSOR_INT32 ? float_to_int : float_to_byte;
	case NN_TENSOR_INT32:
		return to == NN_TENSOR_FLOAT32 ? int_to_float : int_to_byte;
	default:
		return to == NN_TENSOR_FLOAT32 ? byte_to_float : byte_to_int;
	}
}

static enum nn_status execute(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0], *out = &r->outputs[0];

	if (in->type == out->type)
		memcpy(out->data, in->data, nn_tensor_size(out));
	else
		conversion(in->type, out->type)(in->data, out->data, nn_tensor_count(out));
	return NN_OK;
}

NN_OPERATION(CAST,
	NN_INPUTS(1, { NN_ANY_TENSOR & ~NN_T(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL), 0, 0 }),
	NN_OUTPUTS({ NN_ANY_TENSOR & ~NN_T(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL), 0, 0 }),
	.float16_as_float32 = true,
	.check = check, .infer = nn_infer_shape, .execute = execute);
