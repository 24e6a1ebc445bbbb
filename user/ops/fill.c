/* SPDX-License-Identifier: MIT */
/* FILL: makes a tensor of given dimensions that is filled with one value. */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"

enum { DIMS, VALUE };

/* Checks that the output has the value's type. */
static enum nn_status check(const struct nn_check *c)
{
	const int32_t type = nn_check_in(c, VALUE)->type;

	return nn_check_output(c, 0, (struct nn_rule){
		NN_T(type == NN_INT32 ? NN_TENSOR_INT32 :
		     type == NN_FLOAT16 ? NN_TENSOR_FLOAT16 : NN_TENSOR_FLOAT32), 0, 0 });
}

static enum nn_status infer(struct nn_run *r)
{
	const int32_t *dims = r->inputs[DIMS].data;
	uint32_t rank = nn_tensor_count(&r->inputs[DIMS]);
	struct nn_tensor *out = &r->outputs[0];

	if (rank > NN_MAX_RANK)
		return nn_run_fail(r, "input 0: %u dimensions, the limit is %d", rank,
				   NN_MAX_RANK);
	for (uint32_t i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return nn_run_fail(r, "input 0: dimension %u is %d, below 0", i, dims[i]);
		out->dims[i] = (uint32_t)dims[i];
	}
	nn_tensor_set_rank(out, rank);
	return NN_OK;
}

static enum nn_status execute(struct nn_run *r)
{
	const struct nn_tensor *out = &r->outputs[0];
	size_t element = nn_type_info_of(out->type)->element_size, size = nn_tensor_size(out);

	for (size_t at = 0; at < size; at += element)
		memcpy((char *)out->data + at, r->inputs[VALUE].data, element);
	return NN_OK;
}

NN_OPERATION(FILL,
	NN_INPUTS(2, { NN_T(NN_TENSOR_INT32), 1, 1 },
		  { NN_T(NN_FLOAT32) | NN_T(NN_FLOAT16) | NN_T(NN_INT32), 0, 0 }),
	NN_OUTPUTS({ NN_FLOATS | NN_T(NN_TENSOR_INT32), 0, 0 }),
	.determining = NN_IN(DIMS),
	.check = check, .infer = infer, .execute = execute);
