/* SPDX-License-Identifier: MIT */
/*
 * CONCATENATION and PACK: concatenate tensors along an existing or new axis.
 */
#include <math.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/quant.h"
#include "ops/strided.h"

static enum nn_status infer_concatenation(struct nn_run *r)
{
	uint32_t count = r->num_inputs - 1, rank = r->inputs[0].rank;
	int32_t axis = nn_run_int(r, count, 0);
	struct nn_tensor *out = &r->outputs[0];
	uint64_t total = 0;

	if (axis < 0 || (uint32_t)axis >= rank)
		return nn_run_fail(r, "axis %d does not fit rank %u", axis, rank);
	out->rank = rank;
	memcpy(out->dims, r->inputs[0].dims, sizeof(out->dims));
	for (uint32_t i = 0; i < count; i++) {
		const struct nn_tensor *in = &r->inputs[i];

		if (in->rank != rank)
			return nn_run_fail(r, "input %u has %u dimensions, must have %u as input 0",
					   i, in->rank, rank);
		for (uint32_t d = 0; d < rank; d++) {
			if (d != (uint32_t)axis && in->dims[d] != out->dims[d])
				return nn_run_fail(r, "axis %u of input %u has %u elements, not %u",
						   d, i, in->dims[d], out->dims[d]);
		}
		total += in->dims[axis];
	}
	if (total > UINT32_MAX)
		return nn_run_fail(r, "axis %d would have %llu elements, too many", axis,
				   (unsigned long long)total);
	out->dims[axis] = (uint32_t)total;
	return NN_OK;
}

void nn_concatenation_table(const struct nn_tensor *in, const struct nn_tensor *out,
			    uint8_t table[256])
{
	float scale = in->scale / out->scale, bias = -(float)in->zero_point * scale;
	int32_t low, high;

	nn_quant_range(in->type, &low, &high);
	for (int32_t q = low; q <= high; q++) {
		float value = roundf((float)q * scale + bias) + (float)out->zero_point;

		table[(uint8_t)q] = (uint8_t)(int32_t)fminf(fmaxf(value, (float)low), (float)high);
	}
}

static enum nn_status execute_concatenation(struct nn_run *r)
{
	uint32_t count = r->num_inputs - 1, axis = (uint32_t)nn_run_int(r, count, 0);
	const struct nn_tensor *out = &r->outputs[0];
	size_t element = nn_type_info_of(out->type)->element_size;
	size_t inner = nn_tensor_product(out, axis + 1, out->rank) * element;
	uint32_t outer = nn_tensor_product(out, 0, axis);
	char *start = out->data;

	for (uint32_t i = 0; i < count; i++) {
		const struct nn_tensor *in = &r->inputs[i];
		size_t row = in->dims[axis] * inner;
		const uint8_t *from = in->data;
		char *to = start;
		uint8_t map[256];
		bool copy = element != 1 || nn_tensor_quantised_alike(in, out);

		if (!copy)
			nn_concatenation_table(in, out, map);
		for (uint32_t o = 0; o < outer; o++, from += row, to += out->dims[axis] * inner) {
			if (copy) {
				memcpy(to, from, row);
				continue;
			}
			for (size_t b = 0; b < row; b++)
				((uint8_t *)to)[b] = map[from[b]];
		}
		start += row;
	}
	return NN_OK;
}

static enum nn_status infer_pack(struct nn_run *r)
{
	const struct nn_tensor *first = &r->inputs[1];
	struct nn_tensor *out = &r->outputs[0];
	int32_t axis = nn_run_int(r, 0, 0);

	if (first->rank == NN_MAX_RANK)
		return nn_run_fail(r, "with %u dimensions, the output has too many", first->rank);
	if (axis < 0 || (uint32_t)axis > first->rank)
		return nn_run_fail(r, "axis %d does not fit rank %u", axis, first->rank + 1);
	for (uint32_t i = 2; i < r->num_inputs; i++) {
		const struct nn_tensor *in = &r->inputs[i];

		if (in->rank != first->rank ||
		    memcmp(in->dims, first->dims, first->rank * sizeof(*in->dims)))
			return nn_run_fail(r, "input %u has other dimensions than input 1", i);
		if (!nn_tensor_quantised_alike(in, first))
			return nn_run_fail(r, "input %u has another quantisation than input 1", i);
	}
	nn_tensor_like(out, first);
	out->rank = first->rank + 1;
	for (uint32_t i = 0; i < out->rank; i++)
		out->dims[i] = i == (uint32_t)axis ? r->num_inputs - 1 :
						     first->dims[i - (i > (uint32_t)axis)];
	return NN_OK;
}

static enum nn_status execute_pack(struct nn_run *r)
{
	const struct nn_tensor *out = &r->outputs[0];
	uint32_t axis = (uint32_t)nn_run_int(r, 0, 0), count = r->num_inputs - 1;
	size_t row = nn_tensor_product(out, axis + 1, out->rank) *
		     (size_t)nn_type_info_of(out->type)->element_size;
	uint32_t outer = nn_tensor_product(out, 0, axis);
	char *to = out->data;

	for (size_t o = 0; o < outer; o++) {
		for (uint32_t i = 0; i < count; i++, to += row)
			memcpy(to, (const char *)r->inputs[i + 1].data + o * row, row);
	}
	return NN_OK;
}

static enum nn_status check_concatenation(const struct nn_check *c)
{
	static const struct nn_rule first = { NN_FLOATS | NN_QUANT8, 0, 4 };
	static const struct nn_rule other = { NN_SAME, 0, 4 }, axis = NN_SCALAR_INT;
	uint32_t last = c->operation->num_inputs - 1;
	enum nn_status status = nn_check_counts(c, 2, UINT32_MAX, 1, 1);

	for (uint32_t i = 0; !status && i < last; i++)
		status = nn_check_input(c, i, i ? other : first);
	if (!status)
		status = nn_check_input(c, last, axis);
	if (!status)
		status = nn_check_output(c, 0, other);
	return status;
}

NN_OPERATION(CONCATENATION,
	.zero_sized = NN_ZERO_ALLOWED,
	.check = check_concatenation, .infer = infer_concatenation,
	.execute = execute_concatenation);

static enum nn_status check_pack(const struct nn_check *c)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 1; !status && i < c->operation->num_inputs; i++) {
		const struct nn_operand *in = nn_check_in(c, i), *out = nn_check_out(c, 0);

		status = nn_check_same_type(c, 1, i);
		if (!status)
			status = nn_check_same_quant(c, 0, i);
		if (!status && !nn_check_shapes_agree(in, nn_check_in(c, 1)))
			status = nn_check_fail_input(c, i, "has other dimensions than input 1");
		if (!status && in->rank && out->rank && in->rank + 1 != out->rank)
			status = nn_check_fail_output(c, 0, "%u dimensions, must be one more than %u",
						      out->rank, in->rank);
	}
	return status;
}

NN_OPERATION(PACK,
	NN_INPUTS(2, NN_SCALAR_INT, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }),
	NN_OUTPUTS({ NN_SAME_1, 0, 0 }),
	.more_inputs = true,
	.check = check_pack, .infer = infer_pack, .execute = execute_pack);
