/* SPDX-License-Identifier: MIT */
/* Quantises floats at run time for the operations DYNAMIC_*. */
#ifndef NN_OPS_DYNAMIC_H
#define NN_OPS_DYNAMIC_H

#include "ops/op.h"

/* Forms of quantisation at run time. Each form gives the results of one inference runtime. */
enum nn_dynamic_form {
	/*
	 * Quantises to uint8 with one range for the whole tensor, like DynamicQuantizeLinear of
	 * ONNX.
	 */
	NN_DYNAMIC_TENSOR,
	/*
	 * Quantises to int8 with a range for each row or image, without a zero point, like hybrid
	 * kernels of TensorFlow Lite.
	 */
	NN_DYNAMIC_ROWS,
	/* Quantises to int8 with a range for each row or image and with a zero point. */
	NN_DYNAMIC_ROWS_ASYMMETRIC,
	NN_DYNAMIC_FORMS,
};

/*
 * The quantisation for a range of numbers. Quantised numbers are stored as uint8; if the quantised
 * numbers are int8, the stored value is the quantised number plus 128.
 */
struct nn_dynamic {
	float scale;
	int32_t zero;
	/* for NN_DYNAMIC_TENSOR: divisor of the numbers; for other forms: factor of the numbers */
	float factor;
	float offset;		/* added before rounding */
	float low;		/* limits that clamp a number before rounding */
	float high;
	bool is_tensor;
};

/*
 * Extends the range [*low, *high] so that the range covers the `count` numbers in x; ignores NaN.
 * Before the first call for a range, the caller sets *low and *high to 0.
 */
void nn_dynamic_range(const float *x, size_t count, float *low, float *high);

/* Returns the quantisation for numbers in the range [low, high]. */
struct nn_dynamic nn_dynamic_of(enum nn_dynamic_form form, float low, float high);

/*
 * NN_DYNAMIC_HALF is the largest float below 1/2. A number is rounded by adding NN_DYNAMIC_HALF to
 * its absolute value and truncating the sum.
 */
#define NN_DYNAMIC_HALF 0x1.fffffep-2f

/* Returns the summand that converts a rounded number to the stored byte. */
static inline int32_t nn_dynamic_added(const struct nn_dynamic *d)
{
	return d->is_tensor ? d->zero : 128;
}

/* Returns the scale of the weights of an output channel. */
float nn_dynamic_weight_scale(const struct nn_run *r, uint32_t channel);

/* Returns the index of the input that contains the form of an operation DYNAMIC_*. */
uint32_t nn_dynamic_form_input(const struct nn_run *r);

#endif /* NN_OPS_DYNAMIC_H */
