/* SPDX-License-Identifier: MIT */
/*
 * SVDF: a fully connected layer with memory; its weights are a product of a feature filter and a
 * time filter. The state input stores earlier results of the feature filters.
 */
#include <string.h>

#include "ops/check.h"
#include "ops/dot.h"
#include "ops/recurrent.h"
#include "ops/svdf.h"

enum nn_status nn_svdf_shape(const struct nn_run *r, struct nn_svdf *s)
{
	const struct nn_tensor *x = &r->inputs[NN_SVDF_INPUT];
	const struct nn_tensor *feature = &r->inputs[NN_SVDF_FEATURE];
	const struct nn_tensor *time = &r->inputs[NN_SVDF_TIME], *bias = &r->inputs[NN_SVDF_BIAS];
	int32_t activation = nn_run_int(r, NN_SVDF_ACTIVATION, 0);
	int32_t rank = nn_run_int(r, NN_SVDF_RANK, 0);

	if (rank <= 0 || feature->dims[0] % (uint32_t)rank)
		return nn_run_fail(r, "%u filters do not divide into a rank of %d",
				   feature->dims[0], rank);
	if (!nn_recurrent_activation(activation))
		return nn_run_fail(r, "activation %d does not exist", activation);
	*s = (struct nn_svdf){ x->dims[0], x->dims[1], feature->dims[0], time->dims[1],
			       feature->dims[0] / (uint32_t)rank, (uint32_t)rank };
	if ((uint64_t)s->memory * s->filters > UINT32_MAX)
		return nn_run_fail(r, "a state of %u * %u is too large", s->memory, s->filters);
	if (!bias->omitted && bias->dims[0] != s->units)
		return nn_run_fail(r, "a bias of %u for %u units", bias->dims[0], s->units);
	if (r->inputs[NN_SVDF_STATE].dims[1] != s->memory * s->filters)
		return nn_run_fail(r, "a state of %u, must be %u * %u",
				   r->inputs[NN_SVDF_STATE].dims[1], s->memory, s->filters);
	return NN_OK;
}

static enum nn_status infer_svdf(struct nn_run *r)
{
	struct nn_svdf s;
	enum nn_status status = nn_svdf_shape(r, &s);

	if (status)
		return status;
	nn_recurrent_output(r, 0, s.batch, s.memory * s.filters, 0);
	nn_recurrent_output(r, 1, s.batch, s.units, 0);
	return NN_OK;
}

static enum nn_status execute_svdf(struct nn_run *r)
{
	const float *time = r->inputs[NN_SVDF_TIME].data, *bias = nn_recurrent_input(r, NN_SVDF_BIAS);
	float *state = r->outputs[0].data, *out = r->outputs[1].data, *now;
	struct nn_svdf s;
	enum nn_status status = nn_svdf_shape(r, &s);

	if (status)
		return status;
	now = nn_run_alloc(r, (size_t)s.batch * s.filters, sizeof(*now));
	if (!now)
		return NN_OUT_OF_MEMORY;
	nn_recurrent_multiply(r->inputs[NN_SVDF_FEATURE].data, r->inputs[NN_SVDF_INPUT].data, now, s.batch,
			      s.filters, s.size);
	memcpy(state, r->inputs[NN_SVDF_STATE].data, nn_tensor_size(&r->outputs[0]));
	for (size_t i = 0; i < (size_t)s.batch * s.units; i++)
		out[i] = bias ? bias[i % s.units] : 0;
	for (size_t i = 0; i < (size_t)s.batch * s.filters; i++, state += s.memory) {
		const float *weight = time + i % s.filters * s.memory;

		state[s.memory - 1] = now[i];
		out[i / s.rank] += nn_dot_f32(state, weight, s.memory);
		memmove(state, state + 1, (s.memory - 1) * sizeof(*state));
		state[s.memory - 1] = 0;
	}
	nn_recurrent_activate(nn_run_int(r, NN_SVDF_ACTIVATION, 0), out, (size_t)s.batch * s.units);
	return NN_OK;
}

NN_OPERATION(SVDF,
	NN_INPUTS(7, { NN_FLOATS, 2, 2 }, { NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }, { NN_SAME, 1, 1 },
		  { NN_SAME, 2, 2 }, NN_SCALAR_INT, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }),
	.dims = "bs fs f* * b*", .omissible = NN_IN(NN_SVDF_BIAS), .float16_as_float32 = true,
	.infer = infer_svdf, .execute = execute_svdf);
