/* SPDX-License-Identifier: MIT */
/*
 * Floats that are quantised when they are known, as the operations DYNAMIC_* do.
 */
#ifndef NN_OPS_DYNAMIC_H
#define NN_OPS_DYNAMIC_H

#include "ops/op.h"

/* Forms of quantising them: each is one of a runtime. */
enum nn_dynamic_form {
	NN_DYNAMIC_TENSOR,	/* all alike, to uint8: DynamicQuantizeLinear of ONNX */
	NN_DYNAMIC_ROWS,	/* each row or image by itself, to int8 without a zero point, */
	NN_DYNAMIC_ROWS_ASYMMETRIC,	/* and with one: TensorFlow Lite's hybrid kernels do either */
	NN_DYNAMIC_FORMS,
};

/* Numbers that are quantised alike, as unsigned bytes: an int8 is 128 more. */
struct nn_dynamic {
	float scale;
	int32_t zero;
	float factor;		/* TENSOR: what is divided by; else what is multiplied with */
	float offset;		/* before rounding */
	float low;		/* bounds before rounding */
	float high;
	bool is_tensor;
};

/* Extends a range, which begins as 0 to 0, by numbers; NaN does not count. */
void nn_dynamic_range(const float *x, size_t count, float *low, float *high);

/* Returns the way in which numbers of a range are quantised. */
struct nn_dynamic nn_dynamic_of(enum nn_dynamic_form form, float low, float high);

void nn_dynamic_bytes(const struct nn_dynamic *d, const float *x, size_t count, uint8_t *to);

/* The input that is the form of an operation DYNAMIC_*. */
uint32_t nn_dynamic_form_input(const struct nn_run *r);

#endif /* NN_OPS_DYNAMIC_H */
