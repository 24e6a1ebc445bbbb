// SPDX-License-Identifier: MIT
/* Translates operations along rows: softmax, reductions, normalisations, ARGMAX and ARGMIN. */
#include <stdlib.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/q8.h"
#include "ops/softmax_q8.h"
#include "ops/strided.h"
#include "vulkan/lower.h"

/* Maximum number of 8-bit values whose sum always fits into 32 bits. */
#define MAX_TERMS (1u << 23)

/*
 * Maximum number of elements in a row of an 8-bit SOFTMAX, so that the sum of the elements'
 * exponentials fits into 32 bits.
 */
#define MAX_SOFTMAX 4096

/*
 * Returns the parameters of the rows along an axis of input 0: elements in a row, distance between
 * elements of a row, and number of rows.
 */
static struct rows_params rows_along(const struct nn_tensor *in, uint32_t axis)
{
	struct rows_params p = { .size = in->dims[axis] };

	p.inner = nn_tensor_product(in, axis + 1, in->rank);
	p.count = nn_tensor_product(in, 0, axis) * p.inner;
	return p;
}

static enum nn_status add_rows(struct lower *l, struct dispatch d, const struct rows_params *p,
			       uint32_t way)
{
	d.params.rows = *p;
	d.cost = (uint64_t)p->count * p->size;
	d.constants[0] = lower_input_type(l, 0);
	d.constants[1] = way;
	d.tensors[0] = lower_input(l, 0);
	d.tensors[OUTPUT] = lower_output(l, 0);
	return lower_add(l, &d);
}

static enum nn_status softmax_bytes(struct lower *l, const struct rows_params *p)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	struct dispatch d = lower_linear(l, SHADER_softmax_q, p->count);
	struct nn_multiplier factor;
	struct nn_softmax_q8 tables;
	int32_t *exponentials;

	if (!nn_softmax_q8_factor(in, nn_run_float(&l->run, 1, 1), &factor))
		return lower_refuse(l, "input 0: the scale is too small");
	if (p->size > MAX_SOFTMAX)
		return lower_refuse(l, "a row has %u bytes, must have at most %u", p->size,
				    MAX_SOFTMAX);
	nn_softmax_q8_init(&tables, 0, &factor);
	exponentials = malloc(sizeof(tables.exponentials));
	if (exponentials)
		memcpy(exponentials, tables.exponentials, sizeof(tables.exponentials));
	d.tensors[1] = lower_constant(l, exponentials, sizeof(tables.exponentials), 4);
	return add_rows(l, d, p, 0);
}

enum nn_status lower_softmax(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	struct rows_params p;
	uint32_t axis = 0;

	nn_axis(nn_run_int(&l->run, 2, -1), in->rank, &axis);
	p = rows_along(in, axis);
	p.x = nn_run_float(&l->run, 1, 1);
	if (in->type != NN_TENSOR_FLOAT32)
		return softmax_bytes(l, &p);
	return add_rows(l, lower_groups(l, SHADER_softmax, p.count), &p, l->argument);
}

/*
 * Returns the parameters of a reduction of input 0. In the parameters, the axes whose bit in
 * `reduced` is set come last.
 */
static struct rows_params reduction(const struct nn_tensor *in, uint32_t reduced)
{
	struct rows_params p = { .size = 1, .count = 1 };

	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < in->rank; i++) {
			if ((reduced >> i & 1) != pass)
				continue;
			p.dims[p.rank] = in->dims[i];
			p.moves[p.rank++] = (uint32_t)nn_strided_step(in, i);
			*(pass ? &p.size : &p.count) *= in->dims[i];
		}
		if (!pass)
			p.kept = p.rank;
	}
	return p;
}

static enum nn_status add_reduction(struct lower *l, uint32_t reduced)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	struct rows_params p;

	if (in->rank > MAX_AXES)
		return lower_refuse(l, "%u axes, must be at most %d", in->rank, MAX_AXES);
	p = reduction(in, reduced);
	if (p.size > MAX_TERMS)
		return lower_refuse(l, "reduces %u elements to one, must be at most %u", p.size,
				    MAX_TERMS);
	return add_rows(l, lower_linear(l, SHADER_reduce, p.count), &p, l->argument);
}

enum nn_status lower_reduce(struct lower *l)
{
	const int32_t *list = l->run.inputs[1].data;
	uint32_t reduced = 0, axis;

	for (uint32_t i = 0; i < nn_tensor_count(&l->run.inputs[1]); i++)
		if (nn_axis(list[i], l->run.inputs[0].rank, &axis))
			reduced |= 1u << axis;
	return add_reduction(l, reduced);
}

enum nn_status lower_arg(struct lower *l)
{
	uint32_t axis = 0;

	nn_axis(nn_run_int(&l->run, 1, 0), l->run.inputs[0].rank, &axis);
	return add_reduction(l, 1u << axis);
}

enum nn_status lower_norm(struct lower *l)
{
	const struct nn_tensor *in = &l->run.inputs[0];
	const bool is_response = l->argument == NORM_RESPONSE;
	struct rows_params p;
	uint32_t axis = 0;

	if (l->argument == NORM_INSTANCE) {
		const bool nchw = nn_run_bool(&l->run, 4, false);
		const struct nn_image image = nn_image_of(in, nchw);

		p = (struct rows_params){ .size = image.h * image.w, .inner = nchw ? 1 : image.c,
					  .count = image.n * image.c,
					  .x = nn_run_float(&l->run, 1, 0),
					  .y = nn_run_float(&l->run, 2, 0),
					  .z = nn_run_float(&l->run, 3, 0) };
	} else {
		nn_axis(nn_run_int(&l->run, is_response ? 5 : 1, -1), in->rank, &axis);
		p = rows_along(in, axis);
	}
	if (is_response) {
		p.radius = (uint32_t)nn_run_int(&l->run, 1, 0);
		p.x = nn_run_float(&l->run, 2, 0);
		p.y = nn_run_float(&l->run, 3, 0);
		p.z = nn_run_float(&l->run, 4, 0);
	}
	return add_rows(l, lower_groups(l, SHADER_norm, p.count), &p, l->argument);
}
