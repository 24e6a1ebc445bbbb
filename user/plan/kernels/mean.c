/* SPDX-License-Identifier: MIT */
/*
 * MEAN and REDUCE_SUM of floats along axes that are neighbours.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/axis.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

enum { X, AXES };

struct mean {
	size_t count;			/* elements of which a sum is */
	size_t stride;			/* from one of them to the next */
	float divisor;
};

/* The axes that are reduced, but for those of one element: [first, end). */
static bool read_axes(const struct nn_run *r, uint32_t *first, uint32_t *end)
{
	const struct nn_tensor *x = &r->inputs[X];
	const int32_t *list = r->inputs[AXES].data;
	bool reduced[NN_MAX_RANK] = { false };

	for (uint32_t i = 0; i < nn_tensor_count(&r->inputs[AXES]); i++) {
		uint32_t axis;

		if (!nn_axis(list[i], x->rank, &axis))
			return false;
		reduced[axis] = x->dims[axis] > 1;
	}
	*first = 0;
	while (*first < x->rank && !reduced[*first])
		(*first)++;
	*end = *first;
	for (uint32_t i = *first; i < x->rank; i++)
		*end = reduced[i] ? i + 1 : *end;
	for (uint32_t i = *first; i < *end; i++)
		if (!reduced[i] && x->dims[i] > 1)
			return false;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct mean *m;
	uint32_t first, end;

	if (r->op->code != NN_OP_MEAN && r->op->code != NN_OP_REDUCE_SUM)
		return false;
	ready->reads = NN_IN(AXES);
	if (x->type != NN_TENSOR_FLOAT32 || !nn_tensor_count(x) || !read_axes(r, &first, &end))
		return false;
	m = calloc(1, sizeof(*m));
	if (!m)
		return false;
	ready->state = m;
	m->count = nn_tensor_product(x, first, end);
	m->stride = nn_tensor_product(x, end, x->rank);
	m->divisor = r->op->code == NN_OP_MEAN ? (float)m->count : 1;
	ready->tasks = nn_tensor_product(x, 0, first);
	return true;
}

struct saved {
	uint32_t count;
	uint32_t stride;
	uint32_t tasks;
	float divisor;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct mean *m = ready->state;

	*(struct saved *)words = (struct saved){ (uint32_t)m->count, (uint32_t)m->stride,
						 ready->tasks, m->divisor };
	return NN_WORDS(struct saved);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	uint64_t size;

	if (count != NN_WORDS(*s) || !s->count || !s->stride || !s->tasks)
		return false;
	size = nn_times((uint64_t)s->stride * s->tasks, sizeof(float));
	if (!nn_fits(&bounds->inputs[X], nn_times(size, s->count), sizeof(float)) ||
	    !nn_fits(&bounds->output, size, sizeof(float)))
		return false;
	*(struct mean *)state = (struct mean){ s->count, s->stride, s->divisor };
	ready->tasks = s->tasks;
	return true;
}

/* Sums of neighbours, a few at a time. */
static void sum_columns(const struct nn_isa *isa, const struct mean *m, const float *x, float *out)
{
	for (size_t at = 0; at < m->stride; at += NN_SUM_CHANNELS) {
		size_t left = m->stride - at;
		size_t some = left < NN_SUM_CHANNELS ? left : NN_SUM_CHANNELS;
		float sums[NN_SUM_CHANNELS] = { 0 };

		isa->sum_f32(x + at, m->stride, m->count, some, sums);
		memcpy(out + at, sums, some * sizeof(*out));
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct mean *m = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const float *x = (const float *)call->inputs[X] + task * m->count * m->stride;
	float *out = (float *)call->outputs[0] + task * m->stride;

	(void)scratch;
	if (m->stride == 1)
		*out = isa->sum_row_f32(x, m->count);
	else
		sum_columns(isa, m, x, out);
	for (size_t i = 0; i < m->stride; i++)
		out[i] /= m->divisor;
}

const struct nn_kernel nn_kernel_mean = {
	.name = "mean",
	.prepare = prepare,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct mean),
};
