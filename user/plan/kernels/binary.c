/* SPDX-License-Identifier: MIT */
/*
 * ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, POW and PRELU of floats, with broadcasting; also ADD, SUB,
 * MUL and PRELU of int8.
 */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields_row.h"

enum { A, B, ACTIVATION };

struct binary {
	struct nn_broadcast_axes axes;
	enum nn_number number;
	size_t rows;			/* product of all dimensions except the last one */
	size_t task_rows;
	size_t task_count;	/* if the output has only one row: number of elements of a task */
	struct nn_binary_f32 f32;	/* without pointers */
	struct nn_binary_q8 q8;
};

#define FACTOR(field) WORD(field.value, 0, INT32_MAX), WORD(field.shift, 0, 31)

#define NN_STATE struct binary
static const struct nn_field fields[] = {
	WORD(number, 0, NN_IN_FP16), WORD(f32.operation, 0, NN_BINARY_POW),
	COPY(q8.operation, f32.operation),
	WHEN(f32.operation, IS(NN_BINARY_POW), ONLY(number, IS(NN_IN_FLOATS))),
	WHEN(number, SET, FLOAT(f32.low), FLOAT(f32.high)),
	WHEN(number, IS(NN_IN_INT8),
	     BYTE(q8.flip), BYTE(q8.a_zero), BYTE(q8.b_zero),
	     FACTOR(q8.a_factor), FACTOR(q8.b_factor), FACTOR(q8.out_factor),
	     OUTPUT_BYTES(q8.output)),
	WORD(axes.count, 1, NN_MAX_RANK),
	EACH(axes.count, WORD_EACH(axes.dims, , 1, INT32_MAX),
	     WORD_EACH(axes.steps_a, , 0, UINT32_MAX), WORD_EACH(axes.steps_b, , 0, UINT32_MAX)),
	SPAN_AXES(OUTPUT(0), NUMBERS(number), axes.count, axes.dims),
	REACH(INPUT(A), NUMBERS(number), AXES(axes.count), axes.dims, axes.steps_a),
	REACH(INPUT(B), NUMBERS(number), AXES(axes.count), axes.dims, axes.steps_b),
	END
};
NN_RESTORE(fields)

static const struct {
	int32_t code;
	enum nn_binary operation;
	bool clamps;			/* input 2 is the code of a fused activation */
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

/*
 * Divides the output's rows into tasks; if there is only one row, divides the elements of the row.
 */
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

/*
 * Sets the scale factors of an int8 operation. For int8, ADD and SUB first convert both operands to
 * a common scale, which is twice the larger scale, with 20 additional bits.
 */
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
	       type == NN_TENSOR_QUANT8_ASYMM || type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
}

/*
 * Returns false if the CPU has no loop for the type of the operation, or if the elements of a row
 * are not contiguous.
 */
static bool complete(void *state, struct nn_ready *ready)
{
	struct binary *s = state;
	const uint32_t last = s->axes.count - 1;

	s->f32.one_a = s->q8.one_a = !s->axes.steps_a[last];
	s->f32.one_b = s->q8.one_b = !s->axes.steps_b[last];
	s->f32.count = s->q8.count = s->axes.dims[last];
	ready->tasks = divide(s, ready->threads);
	return s->axes.steps_a[last] <= 1 && s->axes.steps_b[last] <= 1 &&
	       (s->number != NN_IN_FP16 || ready->isa->binary_f16);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct binary *s = ready->state;
	const bool clamps = operations[ready->row].clamps;
	const enum nn_binary operation = operations[ready->row].operation;
	const int32_t activation = clamps ? nn_run_int(r, ACTIVATION, 0) : 0;

	if (!takes_type(ready, r->inputs[A].type, operation))
		return false;
	s->number = nn_number_of(r->inputs[A].type);
	s->f32 = (struct nn_binary_f32){
		.operation = operation,
		.low = -INFINITY,
		.high = INFINITY,
	};
	s->q8.operation = operation;
	/*
	 * Bounds of the results: infinite if the operation has no activation input. The bounds of
	 * the activation NONE are finite, so NONE turns infinite results into finite numbers.
	 */
	if (s->number != NN_IN_INT8 ? clamps &&
			  !nn_fused_range_float(activation, &s->f32.low, &s->f32.high) :
			  !prepare_q8(r, &s->q8, activation))
		return false;
	nn_broadcast_axes(r, &s->axes);
	return complete(s, ready);
}

/* ---- Running ---- */

/* Finds the offsets in both operands at which the elements for row `row` of the output begin. */
static void find_row(const struct nn_broadcast_axes *x, size_t row, size_t *a, size_t *b)
{
	*a = 0;
	*b = 0;
	for (uint32_t i = x->count - 1; i-- > 0; row /= x->dims[i]) {
		*a += row % x->dims[i] * x->steps_a[i];
		*b += row % x->dims[i] * x->steps_b[i];
	}
}

/*
 * Computes `rows` rows of `count` elements, which are equally far apart in each operand. `a` and
 * `b` are offsets in the operands, and `out` is an offset in the output.
 */
static void run_some(const struct nn_kernel_call *call, const struct binary *s, size_t rows,
		     size_t count, size_t a, size_t b, size_t out)
{
	const size_t element = nn_number_size(s->number);
	const size_t a_stride = rows > 1 ? s->axes.steps_a[s->axes.count - 2] : 0;
	const size_t b_stride = rows > 1 ? s->axes.steps_b[s->axes.count - 2] : 0;
	const void *from_a = (const char *)call->inputs[A] + a * element;
	const void *from_b = (const char *)call->inputs[B] + b * element;
	void *to = (char *)call->outputs[0] + out * element;
	struct nn_binary_f32 f32 = s->f32;
	struct nn_binary_q8 q8 = s->q8;

	if (s->number == NN_IN_INT8) {
		q8.rows = rows;
		q8.count = count;
		q8.a = from_a;
		q8.b = from_b;
		q8.a_stride = a_stride;
		q8.b_stride = b_stride;
		q8.out = to;
		call->ready->isa->binary_q8(&q8);
		return;
	}
	f32.rows = rows;
	f32.count = count;
	f32.a = from_a;
	f32.b = from_b;
	f32.a_stride = a_stride;
	f32.b_stride = b_stride;
	f32.out = to;
	if (s->number == NN_IN_FP16)
		call->ready->isa->binary_f16(&f32);
	else if (s->f32.operation == NN_BINARY_POW)
		nn_pow_f32(&f32);
	else
		call->ready->isa->binary_f32(&f32);
}

/* Computes `rows` rows of the output from row `row` on. */
static void run_rows(const struct nn_kernel_call *call, const struct binary *s, size_t row,
		     size_t rows)
{
	const struct nn_broadcast_axes *x = &s->axes;
	const size_t next = x->dims[x->count - 2], end = row + rows;

	for (size_t some; row < end; row += some) {
		size_t a, b, left = next - row % next;

		find_row(x, row, &a, &b);
		some = left < end - row ? left : end - row;
		run_some(call, s, some, s->f32.count, a, b, row * s->f32.count);
	}
}

/* Computes the elements of one task from element `first` on, if the output has only one row. */
static void run_one(const struct nn_kernel_call *call, const struct binary *s, size_t first)
{
	size_t left = s->f32.count - first, count = left < s->task_count ? left : s->task_count;

	run_some(call, s, 1, count, s->f32.one_a ? 0 : first, s->f32.one_b ? 0 : first, first);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct binary *s = call->ready->state;
	size_t first = task * s->task_rows, left = s->rows - first;

	(void)scratch;
	left = left < s->task_rows ? left : s->task_rows;
	if (s->rows == 1)
		run_one(call, s, task * s->task_count);
	else
		run_rows(call, s, first, left);
}

NN_KERNEL(binary, "arithmetic", sizeof(struct binary), NN_TAKES_ROWS(operations),
	  .restore = restore, .inputs = 2);
