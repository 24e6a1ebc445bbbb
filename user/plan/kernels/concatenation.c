/* SPDX-License-Identifier: MIT */
/*
 * CONCATENATION: copies the rows of all inputs into the rows of the output. If an int8 input has
 * another scale or zero point than the output, its bytes are converted by a table of 256 entries.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

#define ENTRIES 256
/* maximum number of inputs of a step in a serialised plan */
#define MAX_SAVED 60

struct input {
	size_t row;			/* bytes */
	size_t at;			/* offset of the input's rows in the output's rows */
	bool is_same;			/* true: the input's bytes are copied unchanged */
};

struct concatenation {
	size_t rows;
	size_t row;			/* size of an output row in bytes */
	size_t task_rows;
	uint32_t count;
	struct input inputs[];
};

#define NN_STATE struct concatenation
static const struct nn_field fields[] = {
	DIMENSION(rows), COUNT(row), WORD(count, 1, MAX_SAVED),
	EACH(count, WORD_EACH(inputs, .row, 0, UINT32_MAX), WORD_EACH(inputs, .is_same, 0, 1),
	     SPAN_EACH(INPUT_EACH(0), SIZE(1), inputs, .row, rows)),
	SPAN(OUTPUT(0), SIZE(1), rows, row),
	END
};

/* Returns false if the sizes of all inputs' rows do not add up to the size of an output row. */
static bool complete(void *state, struct nn_ready *ready)
{
	struct concatenation *c = state;
	size_t task_bytes, at = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		c->inputs[i].at = at;
		at += c->inputs[i].row;
		if (!c->inputs[i].is_same)
			ready->packed_size = (size_t)c->count * ENTRIES;
	}
	nn_elementwise_divide(ready->threads, c->rows * c->row, &task_bytes);
	c->task_rows = (task_bytes + c->row - 1) / c->row;
	ready->tasks = (uint32_t)((c->rows + c->task_rows - 1) / c->task_rows);
	return at == c->row;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *out = &r->outputs[0];
	const uint32_t count = r->num_inputs - 1;
	struct concatenation *c;
	size_t element;
	uint32_t axis;

	if (!nn_axis(nn_run_int(r, count, 0), out->rank, &axis) ||
	    (count > MAX_SAVED &&
	     !nn_kernel_enlarge(ready, sizeof(*c) + count * sizeof(c->inputs[0]))))
		return false;
	c = ready->state;
	element = nn_type_info_of(out->type)->element_size;
	c->rows = nn_tensor_product(out, 0, axis);
	c->row = nn_tensor_product(out, axis, out->rank) * element;
	c->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct input *in = &c->inputs[i];

		in->row = nn_tensor_product(&r->inputs[i], axis, out->rank) * element;
		in->is_same = element != 1 || nn_tensor_quantised_alike(&r->inputs[i], out);
	}
	return complete(c, ready);
}

/* ---- Packing and running ---- */

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	const struct concatenation *c = ready->state;

	for (uint32_t i = 0; ready->packed_size && i < c->count; i++)
		nn_concatenation_table(&r->inputs[i], &r->outputs[0],
				       (uint8_t *)packed + i * ENTRIES);
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct concatenation *c = call->ready->state;
	size_t first = task * c->task_rows, end = first + c->task_rows;

	(void)scratch;
	end = end < c->rows ? end : c->rows;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct input *input = &c->inputs[i];
		const uint8_t *table = (const uint8_t *)call->ready->packed + i * ENTRIES;
		const uint8_t *in = (const uint8_t *)call->inputs[i] + first * input->row;
		uint8_t *out = (uint8_t *)call->outputs[0] + first * c->row + input->at;

		for (size_t k = first; k < end; k++, in += input->row, out += c->row) {
			if (input->is_same)
				memcpy(out, in, input->row);
			else
				call->ready->isa->lookup_q8(table, in, out, input->row);
		}
	}
}

NN_KERNEL(concatenation, "concatenation",
	  sizeof(struct concatenation) + MAX_SAVED * sizeof(struct input),
	  NN_TAKES(NN_OP_CONCATENATION), .pack = pack, .inputs = MAX_SAVED);
