/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZED_LSTM. The matrix products read the weights in place, so the weights need not be
 * constant.
 */
#include "ops/quantized_lstm.h"
#include "plan/kernels/fields.h"
#include "plan/run/threads.h"

#define MAX_DEPTH (1 << 15)	/* maximum number of products whose sum fits in 32 bits */

#define MAX_SHIFT 2048		/* maximum and minimum shift of a factor */
#define MIN_SHIFT (-31)

#define ZERO(field) WORD(field, INT8_MIN, UINT8_MAX)
#define FACTOR(field) WORD(field.value, 0, INT32_MAX), WORD(field.shift, MIN_SHIFT, MAX_SHIFT)
#define FACTOR_EACH(array)								\
	WORD_EACH(array, .value, 0, INT32_MAX), WORD_EACH(array, .shift, MIN_SHIFT, MAX_SHIFT)
#define GATES(first, number)								\
	EACH_OF(number,									\
		SPAN(INPUT_EACH(NN_QLSTM_WEIGHTS + (first)), SIZE(1), units, size),	\
		SPAN(INPUT_EACH(NN_QLSTM_RECURRENT + (first)), SIZE(1), units, outputs), \
		SPAN(INPUT_EACH(NN_QLSTM_BIAS + (first)), SIZE(sizeof(int32_t)), units),	\
		WHEN(normalized, SET,						\
		     SPAN(INPUT_EACH(NN_QLSTM_LAYER_NORM + (first)), SIZE(sizeof(int16_t)), units)))
#define PEEPHOLE(number) SPAN(INPUT(NN_QLSTM_PEEPHOLE + (number)), SIZE(sizeof(int16_t)), units)

#define NN_STATE struct nn_qlstm
static const struct nn_field fields[] = {
	COUNT(batch), WORD(size, 1, MAX_DEPTH), WORD(units, 1, MAX_DEPTH),
	WORD(outputs, 1, MAX_DEPTH), FLAG(cifg), FLAG(peephole), FLAG(projection),
	FLAG(normalized), FLAG(has_projection_bias),
	WHEN(projection, IS(false), EQUAL(outputs, units)),
	ZERO(input_zero), ZERO(state_zero), ZERO(hidden_zero),
	WORD(cell_limit, 0, INT16_MAX), WORD(projection_limit, 0, INT8_MAX),
	EACH_OF(NN_QLSTM_GATES, FACTOR_EACH(input), FACTOR_EACH(recurrent),
		FACTOR_EACH(peep), FACTOR_EACH(norm)),
	FACTOR(hidden), FACTOR(project),
	SPAN(INPUT(NN_QLSTM_INPUT), SIZE(1), batch, size),
	WORD(cell_shift, -15, -9),
	SPAN(INPUT(NN_QLSTM_STATE_C), SIZE(sizeof(int16_t)), batch, units),
	SPAN(INPUT(NN_QLSTM_STATE_H), SIZE(1), batch, outputs),
	WHEN(cifg, IS(false), GATES(NN_QLSTM_IN, 1)), GATES(NN_QLSTM_FORGET, 3),
	WHEN(peephole, SET,
	     WHEN(cifg, IS(false), PEEPHOLE(0)), PEEPHOLE(1), PEEPHOLE(2)),
	WHEN(projection, SET,
	     SPAN(INPUT(NN_QLSTM_PROJECTION), SIZE(1), outputs, units),
	     WHEN(has_projection_bias, SET,
		  SPAN(INPUT(NN_QLSTM_PROJECTION_BIAS), SIZE(sizeof(int32_t)), outputs))),
	SPAN(OUTPUT(0), SIZE(1), batch, outputs),
	SPAN(OUTPUT(1), SIZE(sizeof(int16_t)), batch, units),
	SPAN(OUTPUT(2), SIZE(1), batch, outputs),
	END
};

/* Returns whether this kernel supports the dimensions of the cell. */
static bool is_shape(const struct nn_qlstm *c)
{
	return c->batch && c->size - 1 < MAX_DEPTH && c->units - 1 < MAX_DEPTH &&
	       c->outputs - 1 < MAX_DEPTH;
}

static bool complete(void *state, struct nn_ready *ready)
{
	ready->scratch_size = nn_qlstm_scratch(state);
	ready->tasks = 1;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct nn_qlstm *c = ready->state;

	return !nn_qlstm_read(r, c) && is_shape(c) && complete(c, ready);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct nn_qlstm_run run = {
		.cell = call->ready->state,
		.loops = &call->ready->isa->qlstm,
		.each = threads_run,
		.threads = call->threads,
		.inputs = call->inputs,
		.outputs = call->outputs,
		.scratch = scratch,
	};

	(void)task;
	nn_qlstm_run(&run);
}

NN_KERNEL(quantized_lstm, "quantized LSTM", sizeof(struct nn_qlstm),
	  NN_TAKES(NN_OP_QUANTIZED_LSTM), .inputs = NN_QLSTM_CELL_CLIP,
	  .more_outputs = 2);
