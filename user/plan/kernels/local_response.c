/* SPDX-License-Identifier: MIT */
/*
 * LOCAL_RESPONSE_NORMALIZATION of floats along any axis. If adjacent elements along the axis are at
 * least a vector apart in memory, whole vectors of columns are computed at once. If adjacent
 * elements along the axis are less than a vector apart, rows are copied and padded with zeros, so
 * that all elements have the same number of neighbours.
 */
#include <math.h>
#include <string.h>

#include "ops/axis.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

enum { X, RADIUS, BIAS, ALPHA, BETA, AXIS };

#define MAX_COPY (1 << 16)	/* maximum number of floats in a padded row */
#define MAX_COLUMNS 512		/* columns of a task, few enough to stay in the cache */

struct response {
	struct nn_response_f32 f32;	/* parameters that are the same for all elements */
	float beta;
	size_t rows;			/* product of the dimensions before the axis */
	size_t size;			/* size of the axis */
	size_t inner;			/* distance between elements along the axis */
	size_t radius;
	/* A task computes `task_columns` columns of `task_rows` rows. */
	size_t task_rows;
	size_t task_columns;
	uint32_t column_tasks;
	size_t copy;			/* floats of a padded copy of a row; 0: no copies */
};

static enum nn_response_power power_of(float beta)
{
	return beta == 1.0f ? NN_RESPONSE_ONE : beta == 0.5f ? NN_RESPONSE_HALF :
	       beta == 0.75f ? NN_RESPONSE_THREE_QUARTERS : NN_RESPONSE_BASE;
}

#define NN_STATE struct response
static const struct nn_field fields[] = {
	DIMENSION(rows), DIMENSION(size), DIMENSION(inner), WORD(radius, 0, UINT32_MAX),
	FLOAT(f32.bias), FLOAT(f32.alpha), FLOAT(beta),
	SPAN(INPUT(X), FLOATS, rows, size, inner),
	SPAN(OUTPUT(0), FLOATS, rows, size, inner),
	END
};

/* Returns false if a padded row would be too long to be copied. */
static bool complete(void *state, struct nn_ready *ready)
{
	struct response *s = state;
	size_t count, tasks = nn_elementwise_divide(ready->threads, s->rows * s->size * s->inner,
						    &count);

	if (s->radius > s->size)
		s->radius = s->size;
	s->f32.step = s->inner;
	s->f32.power = power_of(s->beta);
	if (s->inner < ready->isa->lanes) {
		s->copy = (s->size + 2 * s->radius) * s->inner;
		if (s->copy > MAX_COPY)
			return false;
		ready->scratch_size = s->copy * sizeof(float);
		s->task_columns = s->inner;
		s->column_tasks = 1;
	} else {
		s->task_columns = s->inner < MAX_COLUMNS ? s->inner : MAX_COLUMNS;
		s->column_tasks = (uint32_t)((s->inner + s->task_columns - 1) / s->task_columns);
	}
	s->task_rows = (s->rows + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((s->rows + s->task_rows - 1) / s->task_rows) * s->column_tasks;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct response *s = ready->state;
	uint32_t axis;

	if (x->type != NN_TENSOR_FLOAT32 || !nn_axis(nn_run_int(r, AXIS, -1), x->rank, &axis))
		return false;
	s->f32.bias = nn_run_float(r, BIAS, 0);
	s->f32.alpha = nn_run_float(r, ALPHA, 0);
	s->beta = nn_run_float(r, BETA, 0);
	s->rows = nn_tensor_product(x, 0, axis);
	s->size = x->dims[axis];
	s->inner = nn_tensor_product(x, axis + 1, x->rank);
	s->radius = (size_t)nn_run_int(r, RADIUS, 0);
	return complete(s, ready);
}

/* ---- Running ---- */

/*
 * Computes some elements. If the inner loop does not support the power, the loop writes the base,
 * and respond() computes the power of the base.
 */
static void respond(const struct response *s, const struct nn_isa *isa,
		    const struct nn_response_f32 *f32)
{
	const float beta = -s->beta;
	const struct nn_binary_f32 power = {
		.operation = NN_BINARY_POW,
		.rows = 1,
		.count = f32->count,
		.a = f32->out,
		.b = &beta,
		.one_b = true,
		.out = f32->out,
	}, product = {
		.operation = NN_BINARY_MUL,
		.rows = 1,
		.count = f32->count,
		.a = f32->in,
		.b = f32->out,
		.out = f32->out,
		.low = -INFINITY,
		.high = INFINITY,
	};

	isa->response_f32(f32);
	if (f32->power != NN_RESPONSE_BASE)
		return;
	nn_pow_f32(&power);
	isa->binary_f32(&product);
}

/* Computes a row from a copy that is padded with zeros. */
static void run_copied(const struct response *s, const struct nn_isa *isa, const float *in,
		       float *out, float *copy)
{
	const size_t border = s->radius * s->inner, count = s->size * s->inner;
	struct nn_response_f32 f32 = s->f32;

	memcpy(copy + border, in, count * sizeof(*in));
	f32.in = copy + border;
	f32.out = out;
	f32.count = count;
	f32.before = f32.after = s->radius;
	respond(s, isa, &f32);
}

/* Computes some columns of a row that is read in place, without a padded copy. */
static void run_columns(const struct response *s, const struct nn_isa *isa, const float *in,
			float *out, size_t columns)
{
	struct nn_response_f32 f32 = s->f32;

	f32.count = columns;
	for (size_t i = 0; i < s->size; i++) {
		const size_t behind = s->size - 1 - i;

		f32.in = in + i * s->inner;
		f32.out = out + i * s->inner;
		f32.before = i < s->radius ? i : s->radius;
		f32.after = behind < s->radius ? behind : s->radius;
		respond(s, isa, &f32);
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct response *s = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task / s->column_tasks * s->task_rows;
	const size_t column = task % s->column_tasks * s->task_columns;
	const size_t columns = s->inner - column < s->task_columns ? s->inner - column :
								     s->task_columns;

	if (s->copy)
		memset(scratch, 0, s->copy * sizeof(float));
	for (size_t row = first; row < s->rows && row < first + s->task_rows; row++) {
		const size_t at = row * s->size * s->inner + column;
		const float *in = (const float *)call->inputs[X] + at;
		float *out = (float *)call->outputs[0] + at;

		if (s->copy)
			run_copied(s, isa, in, out, scratch);
		else
			run_columns(s, isa, in, out, columns);
	}
}

NN_KERNEL(local_response, "local response normalization", sizeof(struct response),
	  NN_TAKES(NN_OP_LOCAL_RESPONSE_NORMALIZATION), .inputs = 1);
