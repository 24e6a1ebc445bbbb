/* SPDX-License-Identifier: MIT */
/*
 * ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, POW and PRELU of floats, of shapes that broadcast;
 * the sums, products and PRELU of bytes too.
 */
#include <math.h>
#include <stdlib.h>

#include "ops/broadcast.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

enum { A, B, ACTIVATION };

struct binary {
	struct nn_broadcast_axes axes;
	enum nn_number number;
	size_t rows;			/* the product of all axes but the last */
	size_t task_rows;
	size_t task_count;		/* elements of a task, where there is one row */
	struct nn_binary_f32 f32;	/* but for their pointers */
	struct nn_binary_q8 q8;
};

static const struct {
	int32_t code;
	enum nn_binary operation;
	bool clamps;			/* input 2 is an activation */
} operations[] = {
	{ NN_OP_ADD, NN_BINARY_ADD, true },
	{ NN_OP_MUL, NN_BINARY_MUL, true },
	{ NN_OP_DIV, NN_BINARY_DIV, true },
	{ NN_OP_SUB, NN_BINARY_SUB, true },
	{ NN_OP_MAXIMUM, NN_BINARY_MAX, false },
	{ NN_OP_MINIMUM, NN_BINARY_MIN, false },
	{ NN_OP_PRELU, NN_BINARY_PRELU, false },
	{ NN_OP_POW, NN_BINARY_POW, false },
};

/* Cuts the rows, or the only one. */
static uint32_t divide(struct binary *s, uint32_t threads)
{
	size_t row = s->axes.dims[s->axes.count - 1], count;
	uint32_t tasks;

	s->rows = 1;
	for (uint32_t i = 0; i + 1 < s->axes.count; i++)
		s->rows *= s->axes.dims[i];
	tasks = nn_elementwise_divide(threads, s->rows * row, &count);
	s->task_count = s->rows > 1 ? row : count;
	s->task_rows = (s->rows + tasks - 1) / tasks;
	return s->rows > 1 ? (uint32_t)((s->rows + s->task_rows - 1) / s->task_rows) : tasks;
}

static bool encode(double factor, struct nn_q8_factor *f)
{
	struct nn_multiplier m;

	if (!nn_quant_encode(factor, &m) || m.shift > 0)
		return false;
	*f = (struct nn_q8_factor){ m.value, -m.shift };
	return true;
}

/* Sums are at twice the larger scale, with 20 bits more. */
static bool set_factors(const struct nn_run *r, struct nn_binary_q8 *q)
{
	const double out = (double)r->outputs[0].scale;
	const float a = r->inputs[A].scale, b = r->inputs[B].scale;
	const double common = 2 * (double)(a > b ? a : b);

	switch (q->operation) {
	case NN_BINARY_ADD:
	case NN_BINARY_SUB:
		return encode((double)a / common, &q->a_factor) &&
		       encode((double)b / common, &q->b_factor) && common < 0x1p20 * out &&
		       encode(common / (0x1p20 * out), &q->out_factor);
	case NN_BINARY_MUL:
		return (double)(a * b) < out && encode((double)(a * b) / out, &q->out_factor);
	case NN_BINARY_PRELU:
		return encode((double)a / out, &q->a_factor) &&
		       encode((double)(a * b) / out, &q->out_factor);
	default:
		return false;
	}
}

static bool prepare_q8(const struct nn_run *r, struct nn_binary_q8 *q, int32_t activation)
{
	const struct nn_tensor *a = &r->inputs[A], *out = &r->outputs[0];
	int32_t low, high, bias = a->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128;

	if (a->type != out->type || !set_factors(r, q) ||
	    !nn_fused_range(activation, out->type, out->scale, out->zero_point, &low, &high))
		return false;
	q->flip = nn_q8_of(a).flip;
	q->a_zero = nn_q8_of(a).zero;
	q->b_zero = nn_q8_of(&r->inputs[B]).zero;
	q->output = (struct nn_q8_output){ nn_q8_of(out).zero, low + bias, high + bias };
	return true;
}

static bool takes_type(const struct nn_ready *ready, int32_t type, enum nn_binary operation)
{
	if (type == NN_TENSOR_FLOAT32 || operation == NN_BINARY_POW)
		return type == NN_TENSOR_FLOAT32;
	return (ready->isa->binary_f16 && type == NN_TENSOR_FLOAT16) ||
	       (ready->isa->binary_q8 && (type == NN_TENSOR_QUANT8_ASYMM ||
					  type == NN_TENSOR_QUANT8_ASYMM_SIGNED));
}

/* What does not depend on the elements' type. */
static void set_rows(struct nn_ready *ready, struct binary *s)
{
	uint32_t last = s->axes.count - 1;

	s->f32.one_a = s->q8.one_a = !s->axes.steps_a[last];
	s->f32.one_b = s->q8.one_b = !s->axes.steps_b[last];
	s->f32.count = s->q8.count = s->axes.dims[last];
	ready->tasks = divide(s, ready->threads);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	int32_t activation;
	struct binary *s;
	size_t i = 0;

	while (i < sizeof(operations) / sizeof(operations[0]) &&
	       operations[i].code != r->op->code)
		i++;
	if (i == sizeof(operations) / sizeof(operations[0]) ||
	    !takes_type(ready, r->inputs[A].type, operations[i].operation) || !nn_tensor_count(&r->outputs[0]))
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	s->number = r->inputs[A].type == NN_TENSOR_FLOAT32 ? NN_IN_FLOATS :
		    r->inputs[A].type == NN_TENSOR_FLOAT16 ? NN_IN_HALVES : NN_IN_BYTES;
	s->f32 = (struct nn_binary_f32){
		.operation = operations[i].operation,
		.low = -INFINITY,
		.high = INFINITY,
	};
	s->q8.operation = operations[i].operation;
	activation = operations[i].clamps ? nn_run_int(r, ACTIVATION, 0) : 0;
	/* No activation at all lets infinity pass, which the activation "none" does not. */
	if (s->number != NN_IN_BYTES ? operations[i].clamps &&
			  !nn_fused_range_float(activation, &s->f32.low, &s->f32.high) :
			  !prepare_q8(r, &s->q8, activation))
		return false;
	nn_broadcast_axes(r, &s->axes);
	set_rows(ready, s);
	return true;
}

/* ---- Saving ---- */

struct saved_axis {
	uint32_t dim;
	uint32_t steps[2];		/* of a and b */
};

struct saved_bytes {
	uint32_t flip;
	int32_t zeros[2];
	struct nn_q8_factor factors[3];		/* of a, b and the output */
	struct nn_q8_output output;
};

/* The axes follow what there is of it. */
struct saved {
	uint32_t operation;
	uint32_t number;
	union {
		float range[2];
		struct saved_bytes bytes;
	};
};

#define FLOAT_WORDS 4

_Static_assert(NN_WORDS(struct saved) + NN_MAX_RANK * NN_WORDS(struct saved_axis) <=
	       NN_SAVED_WORDS, "any number of axes has room");

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct binary *b = ready->state;
	const uint32_t before = b->number != NN_IN_BYTES ? FLOAT_WORDS : NN_WORDS(struct saved);
	struct saved_axis *axes = (struct saved_axis *)(words + before);
	struct saved *s = (struct saved *)words;

	s->operation = b->number != NN_IN_BYTES ? b->f32.operation : b->q8.operation;
	s->number = b->number;
	if (b->number != NN_IN_BYTES) {
		s->range[0] = b->f32.low;
		s->range[1] = b->f32.high;
	} else {
		s->bytes = (struct saved_bytes){
			b->q8.flip, { b->q8.a_zero, b->q8.b_zero },
			{ b->q8.a_factor, b->q8.b_factor, b->q8.out_factor }, b->q8.output,
		};
	}
	for (uint32_t i = 0; i < b->axes.count; i++)
		axes[i] = (struct saved_axis){
			(uint32_t)b->axes.dims[i],
			{ (uint32_t)b->axes.steps_a[i], (uint32_t)b->axes.steps_b[i] },
		};
	return before + b->axes.count * NN_WORDS(struct saved_axis);
}

static bool is_byte(int32_t value)
{
	return value >= 0 && value <= UINT8_MAX;
}

static bool restore_bytes(const struct saved_bytes *s, struct nn_binary_q8 *q)
{
	if (s->flip > UINT8_MAX || !is_byte(s->zeros[0]) || !is_byte(s->zeros[1]) ||
	    !is_byte(s->output.zero) || !is_byte(s->output.low) || !is_byte(s->output.high))
		return false;
	for (uint32_t i = 0; i < 3; i++)
		if (s->factors[i].value < 0 || s->factors[i].shift < 0 || s->factors[i].shift > 31)
			return false;
	q->flip = (uint8_t)s->flip;
	q->a_zero = s->zeros[0];
	q->b_zero = s->zeros[1];
	q->a_factor = s->factors[0];
	q->b_factor = s->factors[1];
	q->out_factor = s->factors[2];
	q->output = s->output;
	return true;
}

/* The axes, if all that they lead to is within bounds. */
static bool restore_axes(const struct saved_axis *from, uint32_t count, size_t element,
			 const struct nn_bounds *bounds, struct nn_broadcast_axes *x)
{
	uint64_t all = 1, last[2] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		if (!nn_is_dimension(from[i].dim))
			return false;
		all = nn_times(all, from[i].dim);
		if (!nn_fits(&bounds->output, nn_times(all, element), element))
			return false;
		for (uint32_t k = 0; k < 2; k++)
			last[k] += (uint64_t)(from[i].dim - 1) * from[i].steps[k];
		x->dims[i] = from[i].dim;
		x->steps_a[i] = from[i].steps[0];
		x->steps_b[i] = from[i].steps[1];
	}
	x->count = count;
	/* The dimensions' product is bounded, and with it these sums. */
	return from[count - 1].steps[0] <= 1 && from[count - 1].steps[1] <= 1 &&
	       nn_fits(&bounds->inputs[A], nn_times(last[0] + 1, element), element) &&
	       nn_fits(&bounds->inputs[B], nn_times(last[1] + 1, element), element);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	struct binary *b = state;
	uint32_t before, axes;

	if (count < FLOAT_WORDS || s->number > NN_IN_HALVES)
		return false;
	before = s->number != NN_IN_BYTES ? FLOAT_WORDS : NN_WORDS(*s);
	if (count <= before || (count - before) % NN_WORDS(struct saved_axis))
		return false;
	axes = (count - before) / NN_WORDS(struct saved_axis);
	b->number = s->number;
	if (axes > NN_MAX_RANK || s->operation > NN_BINARY_POW ||
	    (s->operation == NN_BINARY_POW && b->number != NN_IN_FLOATS) ||
	    (b->number == NN_IN_BYTES &&
	     (!ready->isa->binary_q8 || !restore_bytes(&s->bytes, &b->q8))) ||
	    (b->number == NN_IN_HALVES && !ready->isa->binary_f16) ||
	    !restore_axes((const struct saved_axis *)(words + before), axes,
			  nn_number_size(b->number), bounds, &b->axes))
		return false;
	b->f32.operation = b->q8.operation = s->operation;
	b->f32.low = s->number != NN_IN_BYTES ? s->range[0] : 0;
	b->f32.high = s->number != NN_IN_BYTES ? s->range[1] : 0;
	set_rows(ready, b);
	return true;
}

/* ---- Running ---- */

/* Where the rows of both operands lie that make row `row` of the output. */
static void find_row(const struct nn_broadcast_axes *x, size_t row, size_t *a, size_t *b)
{
	*a = 0;
	*b = 0;
	for (uint32_t i = x->count - 1; i-- > 0; row /= x->dims[i]) {
		*a += row % x->dims[i] * x->steps_a[i];
		*b += row % x->dims[i] * x->steps_b[i];
	}
}

/* What lies where these elements of both operands and of the output do. */
static void run_f32(const struct nn_kernel_call *call, const struct binary *s, size_t count,
		    size_t a, size_t b, size_t out)
{
	const size_t element = nn_number_size(s->number);
	struct nn_binary_f32 f32 = s->f32;

	f32.count = count;
	f32.a = (const char *)call->inputs[A] + a * element;
	f32.b = (const char *)call->inputs[B] + b * element;
	f32.out = (char *)call->outputs[0] + out * element;
	if (s->number == NN_IN_HALVES)
		call->ready->isa->binary_f16(&f32);
	else if (s->f32.operation == NN_BINARY_POW)
		call->ready->isa->pow_f32(&f32);
	else
		call->ready->isa->binary_f32(&f32);
}

/* `rows` rows of elements, of which row `row` of the output is the first. */
static void run_rows_f32(const struct nn_kernel_call *call, const struct binary *s, size_t row,
			 size_t rows)
{
	for (size_t end = row + rows; row < end; row++) {
		size_t a, b;

		find_row(&s->axes, row, &a, &b);
		run_f32(call, s, s->f32.count, a, b, row * s->f32.count);
	}
}

/* As many rows at a time as follow one another. */
static void run_rows_q8(const struct nn_kernel_call *call, const struct binary *s, size_t row,
			size_t rows)
{
	const struct nn_broadcast_axes *x = &s->axes;
	size_t next = x->dims[x->count - 2];
	struct nn_binary_q8 q8 = s->q8;

	q8.a_stride = x->steps_a[x->count - 2];
	q8.b_stride = x->steps_b[x->count - 2];
	for (size_t end = row + rows; row < end; row += q8.rows) {
		size_t a, b, left = next - row % next;

		find_row(x, row, &a, &b);
		q8.rows = left < end - row ? left : end - row;
		q8.a = (const uint8_t *)call->inputs[A] + a;
		q8.b = (const uint8_t *)call->inputs[B] + b;
		q8.out = (uint8_t *)call->outputs[0] + row * q8.count;
		call->ready->isa->binary_q8(&q8);
	}
}

/* A part of the only row. */
static void run_one(const struct nn_kernel_call *call, const struct binary *s, size_t first)
{
	size_t left = s->f32.count - first, count = left < s->task_count ? left : s->task_count;
	size_t a = s->f32.one_a ? 0 : first, b = s->f32.one_b ? 0 : first;
	struct nn_binary_q8 q8 = s->q8;

	if (s->number != NN_IN_BYTES) {
		run_f32(call, s, count, a, b, first);
		return;
	}
	q8.rows = 1;
	q8.count = count;
	q8.a = (const uint8_t *)call->inputs[A] + a;
	q8.b = (const uint8_t *)call->inputs[B] + b;
	q8.out = (uint8_t *)call->outputs[0] + first;
	call->ready->isa->binary_q8(&q8);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct binary *s = call->ready->state;
	size_t first = task * s->task_rows, left = s->rows - first;

	(void)scratch;
	left = left < s->task_rows ? left : s->task_rows;
	if (s->rows == 1)
		run_one(call, s, task * s->task_count);
	else if (s->number != NN_IN_BYTES)
		run_rows_f32(call, s, first, left);
	else
		run_rows_q8(call, s, first, left);
}

const struct nn_kernel nn_kernel_binary = {
	.name = "arithmetic",
	.prepare = prepare,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 2,
	.state_size = sizeof(struct binary),
};
