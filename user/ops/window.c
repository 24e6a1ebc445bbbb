/* SPDX-License-Identifier: MIT */
/*
 * Sliding windows: reads and checks the parameters that convolutions and poolings share. All sizes
 * of windows are computed in 64 bits, because the parameters are untrusted.
 */
#include "ops/quant.h"
#include "ops/traits.h"
#include "ops/window.h"

enum {
	PADDING_SAME = 1,
	PADDING_VALID = 2,
};

struct nn_window_args nn_window_args(uint32_t tensors, uint32_t own, bool explicit_padding)
{
	struct nn_window_args args = { .explicit_padding = explicit_padding, .padding = tensors };

	args.strides = args.padding + (explicit_padding ? 4 : 1);
	args.own = args.strides + 2;
	args.activation = args.own + own;
	args.nchw = args.activation + 1;
	args.dilations = args.nchw + 1;
	return args;
}

/*
 * Returns the positions of a windowed operation's parameters among its inputs. `flag` is the
 * position that the NCHW flag has if padding is implicit. Padding is implicit if the input at
 * `flag` is a BOOL, or if there are too few inputs for explicit padding.
 */
static struct nn_window_args args_of(const struct nn_traits *traits, uint32_t num_inputs,
				     uint32_t flag, int32_t type_of_flag)
{
	return nn_window_args(traits->window.tensors, traits->window.own,
			      num_inputs >= flag + 3 && type_of_flag != NN_BOOL);
}

/* Returns the position that the NCHW flag has if padding is implicit. */
static uint32_t flag_of(const struct nn_traits *traits)
{
	return nn_window_args(traits->window.tensors, traits->window.own, false).nchw;
}

struct nn_window_args nn_window_check_args(const struct nn_check *c)
{
	const struct nn_operation *o = c->operation;
	const struct nn_traits *traits = nn_traits(o->type);
	const uint32_t flag = flag_of(traits);

	return args_of(traits, o->num_inputs, flag, flag < o->num_inputs ?
		       c->scope->operands[o->inputs[flag]].type : NN_INT32);
}

struct nn_window_args nn_window_run_args(const struct nn_run *r)
{
	const struct nn_traits *traits = nn_traits(r->op->code);
	const uint32_t flag = flag_of(traits);

	return args_of(traits, r->num_inputs, flag,
		       flag < r->num_inputs ? r->inputs[flag].type : NN_INT32);
}

enum nn_status nn_window_check(const struct nn_check *c, const struct nn_window_args *args,
			       enum nn_window_form form)
{
	uint32_t count = c->operation->num_inputs;
	uint32_t most = form == NN_WINDOW_DILATIONS_OPTIONAL ? args->dilations + 2 : args->nchw + 1;
	enum nn_status status = nn_check_counts(c, form == NN_WINDOW_FLAG ? most : args->nchw,
						most, 1, 1);

	if (!status && count == args->dilations + 1)
		return nn_check_fail(c, "%u inputs: one of the two dilations is missing", count);
	for (uint32_t i = args->padding; !status && i < count; i++) {
		bool is_flag = i == args->nchw;

		status = nn_check_input(c, i, (struct nn_rule){
			is_flag ? NN_T(NN_BOOL) : NN_T(NN_INT32), 0, 0 });
	}
	return status;
}

/*
 * Returns how far the windows of SAME padding exceed `size`; the result is negative if the windows
 * end before `size`. The windows have size `extent` and begin `stride` elements apart.
 */
static int64_t overhang(int64_t size, int64_t stride, int64_t extent)
{
	return ((size + stride - 1) / stride - 1) * stride + extent - size;
}

/*
 * Reads the padding before and after an axis. `first` is the index of the padding before the axis
 * in the order left, right, top, bottom. `same` is the sum of SAME padding before and after the
 * axis.
 */
static enum nn_status read_padding(const struct nn_run *r, const struct nn_window_args *args,
				   uint32_t first, int64_t same, int64_t *head, int64_t *tail)
{
	bool is_same;
	int32_t code;

	if (args->explicit_padding) {
		*head = nn_run_int(r, args->padding + first, 0);
		*tail = nn_run_int(r, args->padding + first + 1, 0);
		return NN_OK;
	}
	code = nn_run_int(r, args->padding, 0);
	if (code != PADDING_SAME && code != PADDING_VALID)
		return nn_run_fail(r, "input %u: padding code %d is unknown", args->padding, code);
	is_same = code == PADDING_SAME;
	*head = is_same && same > 0 ? same / 2 : 0;
	*tail = is_same ? same - *head : 0;
	return NN_OK;
}

/* Reads a positive parameter from input `index`. */
static enum nn_status read_positive(const struct nn_run *r, uint32_t index, const char *what,
				    uint32_t *value)
{
	int32_t v = nn_run_int(r, index, 1);

	if (v <= 0)
		return nn_run_fail(r, "input %u: the %s is %d, must be positive", index, what, v);
	*value = (uint32_t)v;
	return NN_OK;
}

static enum nn_status set_out(const struct nn_run *r, struct nn_axis *a, int64_t out)
{
	if (out <= 0)
		return nn_run_fail(r, "the window is larger than the input's %u elements", a->in);
	if (out > INT32_MAX)
		return nn_run_fail(r, "the output is too large");
	a->out = (uint32_t)out;
	return NN_OK;
}

static const uint32_t no_border[2];

/* Infers an axis. Axis 0 is the width and axis 1 is the height, as in the order of the strides. */
static enum nn_status infer_axis(const struct nn_run *r, const struct nn_window_args *args,
				 uint32_t axis, struct nn_axis *a)
{
	const uint32_t *border = r->border ? r->border + 2 * axis : no_border;
	enum nn_status status;
	int64_t extent, same, tail;

	status = read_positive(r, args->strides + axis, "stride", &a->stride);
	if (status)
		return status;
	status = read_positive(r, args->dilations + axis, "dilation", &a->dilation);
	if (status)
		return status;
	extent = (int64_t)(a->filter - 1) * a->dilation + 1;
	same = overhang((int64_t)a->in + border[0] + border[1], a->stride, extent);
	status = read_padding(r, args, 2 * axis, same > 0 ? same : 0, &a->head, &tail);
	if (status)
		return status;
	if (a->head < 0 || tail < 0)
		return nn_run_fail(r, "a padding must not be negative");
	a->head += border[0];
	tail += border[1];
	if (a->head >= extent || tail >= extent)
		return nn_run_fail(r, "a padding must be smaller than the filter");
	return set_out(r, a, (a->in - extent + a->stride + a->head + tail) / a->stride);
}

/* Checks the activation code, because kernels do not check the code. */
static enum nn_status check_activation(const struct nn_run *r, uint32_t index)
{
	int32_t code = nn_run_int(r, index, 0);
	float low, high;

	if (!nn_fused_range_float(code, &low, &high))
		return nn_run_fail(r, "input %u: activation %d does not exist", index, code);
	return NN_OK;
}

enum nn_status nn_window_infer(const struct nn_run *r, const struct nn_window_args *args,
			       struct nn_window *window)
{
	enum nn_status status = check_activation(r, args->activation);

	status = status ? status : infer_axis(r, args, 0, &window->w);
	return status ? status : infer_axis(r, args, 1, &window->h);
}

/*
 * Infers the output size of one axis of a transposed convolution: the number of positions that the
 * windows of all inputs cover together, minus the padding.
 */
static enum nn_status infer_transposed_axis(const struct nn_run *r,
					    const struct nn_window_args *args, uint32_t axis,
					    int32_t request, struct nn_axis *a)
{
	enum nn_status status;
	int64_t tail;

	status = read_positive(r, args->strides + axis, "stride", &a->stride);
	if (status)
		return status;
	a->dilation = 1;
	status = read_padding(r, args, 2 * axis, overhang(request, a->stride, a->filter),
			      &a->head, &tail);
	if (status)
		return status;
	if (a->head < 0)
		return nn_run_fail(r, "the padding in front must not be negative");
	return set_out(r, a, (int64_t)(a->in - 1) * a->stride + a->filter - a->head - tail);
}

enum nn_status nn_window_infer_transposed(const struct nn_run *r,
					  const struct nn_window_args *args,
					  const int32_t request[2], struct nn_window *window)
{
	enum nn_status status = check_activation(r, args->activation);

	status = status ? status : infer_transposed_axis(r, args, 0, request[1], &window->w);
	return status ? status : infer_transposed_axis(r, args, 1, request[0], &window->h);
}
