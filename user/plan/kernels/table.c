/* SPDX-License-Identifier: MIT */
/*
 * Functions of one byte, and arithmetic of a byte with a constant byte. The reference code computes
 * a table of 256 results, and the kernel looks the results up.
 */
#include <string.h>

#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

#define ENTRIES 256
#define MAX_INPUTS 3

struct table {
	size_t count;
	size_t task_count;
};

#define NN_STATE struct table
static const struct nn_field fields[] = {
	COUNT(count), SPAN(INPUT(0), SIZE(1), count), SPAN(OUTPUT(0), SIZE(1), count),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct table *t = state;

	ready->packed_size = ENTRIES;
	ready->tasks = nn_elementwise_divide(ready->threads, t->count, &t->task_count);
	return true;
}

/*
 * Supported operations. An int8 ADD, SUB or MUL with a constant of one element also maps each byte
 * to a byte, so a table can replace the operation.
 */
static const struct {
	int32_t code;
	bool is_arithmetic;
} functions[] = {
	{ NN_OP_LOGISTIC, false }, { NN_OP_RELU, false }, { NN_OP_RELU1, false },
	{ NN_OP_RELU6, false }, { NN_OP_TANH, false }, { NN_OP_RSQRT, false },
	{ NN_OP_HARD_SWISH, false }, { NN_OP_ADD, true }, { NN_OP_MUL, true }, { NN_OP_SUB, true },
};

static bool is_with_constant(const struct nn_run *r)
{
	return r->inputs[1].data && nn_tensor_count(&r->inputs[1]) == 1 &&
	       r->inputs[1].rank <= r->inputs[0].rank;
}

/* Fills `table` with the result for each possible byte; returns false if the operation fails. */
static bool make_table(const struct nn_run *r, uint8_t table[ENTRIES])
{
	struct nn_tensor in[MAX_INPUTS], out = r->outputs[0];
	struct nn_run all = *r;
	uint8_t bytes[ENTRIES];
	bool fine;

	for (uint32_t i = 0; i < ENTRIES; i++)
		bytes[i] = (uint8_t)i;
	memcpy(in, r->inputs, r->num_inputs * sizeof(*in));
	in[0].rank = out.rank = 1;
	in[0].dims[0] = out.dims[0] = ENTRIES;
	in[0].data = bytes;
	if (r->num_inputs > 1) {
		in[1].rank = 1;
		in[1].dims[0] = 1;
	}
	out.data = table;
	all.inputs = in;
	all.outputs = &out;
	all.scratch = NULL;
	fine = !nn_op_execute(&all);
	nn_op_finish(&all);
	return fine;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const int32_t type = r->inputs[0].type;
	struct table *t = ready->state;
	uint8_t table[ENTRIES];

	if (r->num_inputs > MAX_INPUTS ||
	    (type != NN_TENSOR_QUANT8_ASYMM && type != NN_TENSOR_QUANT8_ASYMM_SIGNED))
		return false;
	/* Only pack() may read the values of constants, so prepare() does not read them. */
	if (functions[ready->row].is_arithmetic ? !is_with_constant(r) : !make_table(r, table))
		return false;
	t->count = nn_tensor_count(&r->inputs[0]);
	return complete(t, ready);
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	(void)ready;
	return make_table(r, packed);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct table *t = call->ready->state;
	size_t first = task * t->task_count, left = t->count - first;

	(void)scratch;
	call->ready->isa->lookup_q8(call->ready->packed, (const uint8_t *)call->inputs[0] + first,
				    (uint8_t *)call->outputs[0] + first,
				    left < t->task_count ? left : t->task_count);
}

NN_KERNEL(table, "table", sizeof(struct table), NN_TAKES_ROWS(functions), .pack = pack,
	  .inputs = 1);
