/* SPDX-License-Identifier: MIT */
#include "ops/dot.h"
#include "ops/quant.h"
#include "ops/recurrent.h"

#include <math.h>
#include <string.h>

enum { ACT_NONE, ACT_TANH = 4, ACT_SIGMOID = 6 };

bool nn_recurrent_activation(int32_t code)
{
	return (code >= ACT_NONE && code <= ACT_TANH) || code == ACT_SIGMOID;
}

void nn_recurrent_activate(int32_t code, float *values, size_t count)
{
	float low = -INFINITY, high = INFINITY;

	nn_fused_range_float(code, &low, &high);
	for (size_t i = 0; i < count; i++) {
		const float v = values[i];

		values[i] = code == ACT_TANH ? tanhf(v) : code == ACT_SIGMOID ? 1 / (1 + expf(-v)) :
			    v < low ? low : v > high ? high : v;
	}
}

void nn_recurrent_multiply(const float *weights, const float *x, float *out, uint32_t batch,
			   uint32_t units, uint32_t size)
{
	for (uint32_t b = 0; b < batch; b++, x += size) {
		const float *w = weights;

		for (uint32_t u = 0; u < units; u++, w += size)
			*out++ += nn_dot_f32(w, x, size);
	}
}

const float *nn_recurrent_input(const struct nn_run *r, uint32_t index)
{
	return index < r->num_inputs && !r->inputs[index].omitted ? r->inputs[index].data : NULL;
}

void nn_recurrent_output(struct nn_run *r, uint32_t index, uint32_t d0, uint32_t d1, uint32_t d2)
{
	struct nn_tensor *out = &r->outputs[index];
	uint32_t dims[3] = { d0, d1, d2 };

	out->rank = d2 ? 3 : 2;
	memset(out->dims, 0, sizeof(out->dims));
	memcpy(out->dims, dims, sizeof(dims));
}

void nn_sequence_output(struct nn_run *r, uint32_t index, const struct nn_sequence *s,
			uint32_t width)
{
	nn_recurrent_output(r, index, s->time_major ? s->steps : s->batch,
			    s->time_major ? s->batch : s->steps, width);
}

enum nn_status nn_bidirectional_outputs(struct nn_run *r, bool merge, const struct nn_sequence *s,
					const uint32_t rows[2], uint32_t count,
					const uint32_t *states)
{
	const uint32_t sequences = merge ? 1 : 2;

	if (r->num_outputs != sequences && r->num_outputs != sequences + count)
		return nn_run_fail(r, "%u outputs do not fit merging %s", r->num_outputs,
				   merge ? "on" : "off");
	nn_sequence_output(r, 0, s, merge ? rows[0] + rows[1] : rows[0]);
	if (!merge)
		nn_sequence_output(r, 1, s, rows[1]);
	for (uint32_t i = 0; r->num_outputs > sequences && i < count; i++)
		nn_recurrent_output(r, sequences + i, s->batch, states[i], 0);
	return NN_OK;
}

struct nn_sequence nn_sequence_of(const struct nn_run *r, uint32_t index, bool time_major)
{
	const uint32_t *dims = r->inputs[r->inputs[index].omitted ? 0 : index].dims;

	return (struct nn_sequence){ .steps = dims[!time_major], .batch = dims[time_major],
				     .size = dims[2], .time_major = time_major };
}

const float *nn_sequence_read(struct nn_run *r, uint32_t index, const struct nn_sequence *s)
{
	const float *from = r->inputs[index].data;
	float *copy;

	if (s->time_major)
		return from;
	copy = nn_run_alloc(r, (size_t)s->steps * s->batch * s->size, sizeof(*copy));
	if (!copy)
		return NULL;
	for (size_t b = 0; b < s->batch; b++) {
		for (size_t t = 0; t < s->steps; t++, from += s->size)
			memcpy(copy + (t * s->batch + b) * s->size, from, s->size * sizeof(*from));
	}
	return copy;
}

void nn_sequence_write(float *out, const struct nn_sequence *s, uint32_t step, const float *batch,
		       uint32_t size, uint32_t column, uint32_t width)
{
	for (size_t b = 0; b < s->batch; b++, batch += size) {
		size_t row = s->time_major ? (size_t)step * s->batch + b : b * s->steps + step;

		memcpy(out + row * width + column, batch, size * sizeof(*batch));
	}
}
