/* SPDX-License-Identifier: MIT */
/*
 * Sliding windows of convolutions and poolings: positions of parameters among the inputs, output
 * sizes, paddings, and the taps that fall inside the input.
 */
#ifndef NN_OPS_WINDOW_H
#define NN_OPS_WINDOW_H

#include "ops/check.h"

/*
 * Positions of the parameters of a windowed operation. All windowed operations have the same order:
 * tensors, padding (a code, or left, right, top, bottom), strides (w, h), the operation's own
 * parameters, activation, NCHW flag, dilations (w, h).
 */
struct nn_window_args {
	bool explicit_padding;
	uint32_t padding;
	uint32_t strides;
	uint32_t own;
	uint32_t activation;
	uint32_t nchw;
	uint32_t dilations;
};

/*
 * Returns the positions of the parameters of a window among the inputs, after `tensors` tensors.
 * `own` is the number of parameters that are not common to all windowed operations.
 */
struct nn_window_args nn_window_args(uint32_t tensors, uint32_t own, bool explicit_padding);

/*
 * Return the positions of the parameters of an operation, from the numbers in its traits. The
 * number of inputs shows whether padding is explicit or implicit. If explicit and implicit padding
 * allow the same number of inputs, a BOOL at the position of the implicit form's NCHW flag means
 * implicit padding.
 */
struct nn_window_args nn_window_check_args(const struct nn_check *c);
struct nn_window_args nn_window_run_args(const struct nn_run *r);

/* The parameters that an operation has after its activation. */
enum nn_window_form {
	NN_WINDOW_FLAG,			/* the NCHW flag, which must be present */
	NN_WINDOW_FLAG_OPTIONAL,
	NN_WINDOW_DILATIONS_OPTIONAL,	/* both the NCHW flag and the dilations are optional */
};

/*
 * Checks the number of inputs and outputs of a windowed operation, and the types of all scalars in
 * `args`.
 */
enum nn_status nn_window_check(const struct nn_check *c, const struct nn_window_args *args,
			       enum nn_window_form form);

/* Parameters of a window along one axis. */
struct nn_axis {
	uint32_t in;
	uint32_t out;
	uint32_t filter;
	uint32_t stride;
	uint32_t dilation;
	int64_t head;		/* padding before the input */
};

struct nn_window {
	struct nn_axis h;
	struct nn_axis w;
};

/*
 * Reads and checks paddings, strides and dilations of both axes, and computes the output sizes from
 * `in` and `filter`, which the caller has set. `r->border` is the border (left, right, top, bottom)
 * of a preceding PAD that was folded into this operation, or NULL. On each side, the sum of padding
 * and border must be smaller than the filter with its dilation.
 */
enum nn_status nn_window_infer(const struct nn_run *r, const struct nn_window_args *args,
			       struct nn_window *window);

/*
 * Reads and checks the parameters of a transposed convolution's window, and computes its output
 * sizes. With implicit padding, `request` is the requested output size (h, w). For a transposed
 * convolution, `head` is the number of outputs that are omitted at the beginning of an axis.
 */
enum nn_status nn_window_infer_transposed(const struct nn_run *r,
					  const struct nn_window_args *args,
					  const int32_t request[2], struct nn_window *window);

/*
 * The taps [first, last) of the filter that fall inside the input, and the input position `start`
 * of tap 0.
 */
struct nn_taps {
	int64_t start;
	uint32_t first;
	uint32_t last;
};

/* Returns the taps of the filter that fall inside the input for output position `o`. */
static inline struct nn_taps nn_axis_taps(const struct nn_axis *a, uint32_t o)
{
	int64_t start = (int64_t)o * a->stride - a->head;
	int64_t before = start < 0 ? -start : 0;
	int64_t inside = start < a->in ? a->in - start : 0;
	int64_t first = (before + a->dilation - 1) / a->dilation;
	int64_t last = (inside + a->dilation - 1) / a->dilation;

	if (last > a->filter)
		last = a->filter;
	if (first > last)
		first = last;
	return (struct nn_taps){ start, (uint32_t)first, (uint32_t)last };
}

#endif /* NN_OPS_WINDOW_H */
