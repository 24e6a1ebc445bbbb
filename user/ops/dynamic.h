/* SPDX-License-Identifier: MIT */
/* Quantises floats at run time for the operations DYNAMIC_*. */
#ifndef NN_OPS_DYNAMIC_H
#define NN_OPS_DYNAMIC_H

#include "ops/op.h"

/* Forms of quantisation; each is what an inference runtime computes. */
enum nn_dynamic_form {
	/* One range for the whole tensor, to uint8: DynamicQuantizeLinear of ONNX. */
	NN_DYNAMIC_TENSOR,
	NN_DYNAMIC_ROWS,	/* a range per row or image, to int8 without a zero point, */
	/* and with one: TensorFlow Lite's hybrid kernels do either */
	NN_DYNAMIC_ROWS_ASYMMETRIC,
	NN_DYNAMIC_FORMS,
};

/* A quantisation that numbers share. Stored values are unsigned; for int8 they are 128 larger. */
struct nn_dynamic {
	float scale;
	int32_t zero;
	float factor;		/* for TENSOR the divisor; otherwise the factor */
	float offset;		/* before rounding */
	float low;		/* limits before rounding */
	float high;
	bool is_tensor;
};

/* Extends a range so that it covers the numbers; ignores NaN. A range is 0 to 0 at first. */
void nn_dynamic_range(const float *x, size_t count, float *low, float *high);

/* Returns the quantisation of numbers in a range. */
struct nn_dynamic nn_dynamic_of(enum nn_dynamic_form form, float low, float high);

/*
 * Nearly a half. A number is rounded by adding this to its absolute value and truncating the sum.
 */
#define NN_DYNAMIC_HALF 0x1.fffffep-2f

/* Returns the number to add to a rounded number to get its byte. */
static inline int32_t nn_dynamic_added(const struct nn_dynamic *d)
{
	return d->is_tensor ? d->zero : 128;
}

/* Returns the scale of the weights of an output channel. */
float nn_dynamic_weight_scale(const struct nn_run *r, uint32_t channel);

/* Returns the input with the form of an operation DYNAMIC_*. */
uint32_t nn_dynamic_form_input(const struct nn_run *r);

#endif /* NN_OPS_DYNAMIC_H */
