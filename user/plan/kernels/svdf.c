/* SPDX-License-Identifier: MIT */
/*
 * SVDF of floats with constant feature weights. First, the kernel multiplies the input by the
 * feature weights. For each filter, one pass over the filter's memory multiplies the memory by the
 * time weights and moves the entries of the memory.
 */
#include <string.h>

#include "ops/dot.h"
#include "ops/recurrent.h"
#include "ops/svdf.h"
#include "plan/kernels/activate.h"
#include "plan/kernels/fields.h"
#include "plan/kernels/gemm.h"

#define QUAD 4			/* number of floats in a vector of ops/dot.h */

struct svdf {
	struct nn_svdf shape;
	int32_t activation;
	bool has_bias;
};

#define NN_STATE struct svdf
static const struct nn_field fields[] = {
	DIMENSION(shape.batch), DIMENSION(shape.size), DIMENSION(shape.filters),
	DIMENSION(shape.memory), DIMENSION(shape.units), DIMENSION(shape.rank),
	EQUAL(shape.filters, shape.units, shape.rank), LIMIT(UINT32_MAX, shape.filters, shape.size),
	RECURRENT_ACTIVATION(activation), FLAG(has_bias),
	SPAN(INPUT(NN_SVDF_INPUT), FLOATS, shape.batch, shape.size),
	SPAN(INPUT(NN_SVDF_TIME), FLOATS, shape.filters, shape.memory),
	WHEN(has_bias, SET, SPAN(INPUT(NN_SVDF_BIAS), FLOATS, shape.units)),
	SPAN(INPUT(NN_SVDF_STATE), FLOATS, shape.batch, shape.filters, shape.memory),
	SPAN(OUTPUT(0), FLOATS, shape.batch, shape.filters, shape.memory),
	SPAN(OUTPUT(1), FLOATS, shape.batch, shape.units),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	const struct svdf *s = state;
	const struct nn_svdf *shape = &s->shape;

	ready->packed_size = nn_gemm_panels_f32(ready->isa, shape->filters, shape->size) *
			     sizeof(float);
	ready->scratch_size = (size_t)shape->batch * shape->filters * sizeof(float);
	ready->tasks = 1;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct svdf *s = ready->state;

	if (r->inputs[0].type != NN_TENSOR_FLOAT32 || !r->inputs[NN_SVDF_FEATURE].data ||
	    nn_svdf_shape(r, &s->shape) || !nn_tensor_count(&r->inputs[NN_SVDF_TIME]))
		return false;
	s->activation = nn_run_int(r, NN_SVDF_ACTIVATION, 0);
	s->has_bias = !r->inputs[NN_SVDF_BIAS].omitted;
	return complete(s, ready);
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	const struct svdf *s = ready->state;

	nn_gemm_pack_rows_f32(ready->isa, r->inputs[NN_SVDF_FEATURE].data, NULL, s->shape.filters,
			      s->shape.size, packed);
	return true;
}

/* ---- Running ---- */

/*
 * Returns the product of a filter's memory and its time weights. The first entry of the memory is
 * the oldest; `now` replaces the last entry. Writes the next memory to `next`: all entries move by
 * one place, and the last entry becomes 0.
 */
static float remember(const float *memory, const float *weights, size_t count, float now,
		      float *next)
{
	const size_t old = count - 1;
	nn_dot_four sums = { 0 };
	float sum = now * weights[old];
	size_t k = 0;

	for (; k + QUAD <= old; k += QUAD)
		sums += nn_dot_load(memory + k) * nn_dot_load(weights + k);
	for (; k < old; k++)
		sum += memory[k] * weights[k];
	for (k = 1; k + QUAD <= old; k += QUAD)
		nn_dot_store(next + k - 1, nn_dot_load(memory + k));
	for (; k < old; k++)
		next[k - 1] = memory[k];
	if (old)
		next[old - 1] = now;
	next[old] = 0;
	return sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct svdf *s = call->ready->state;
	const struct nn_svdf *v = &s->shape;
	const float *time = call->inputs[NN_SVDF_TIME];
	const float *bias = s->has_bias ? call->inputs[NN_SVDF_BIAS] : NULL;
	const float *memory = call->inputs[NN_SVDF_STATE], *now = scratch;
	float *next = call->outputs[0], *out = call->outputs[1];
	const struct nn_gemm_f32 gemm =
		nn_gemm_dense_f32(v->batch, v->filters, v->size, call->inputs[NN_SVDF_INPUT],
				  call->ready->packed, scratch);

	(void)task;
	call->ready->isa->gemm_f32(&gemm);
	for (uint32_t b = 0; b < v->batch; b++)
		for (uint32_t u = 0, f = 0; u < v->units; u++, out++) {
			*out = bias ? bias[u] : 0;
			for (uint32_t end = f + v->rank; f < end; f++) {
				*out += remember(memory, time + (size_t)f * v->memory, v->memory,
						 *now++, next);
				memory += v->memory;
				next += v->memory;
			}
		}
	nn_activate_f32(call->ready->isa, s->activation, call->outputs[1],
			(size_t)v->batch * v->units);
}

NN_KERNEL(svdf, "SVDF", sizeof(struct svdf), NN_TAKES(NN_OP_SVDF), .pack = pack, .inputs = 5,
	  .more_outputs = 1);
