/* SPDX-License-Identifier: MIT */
/*
 * RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN of floats: the products of
 * recurrent.c and a function.
 */
#include <string.h>

#include "ops/rnn.h"
#include "plan/kernels/activate.h"
#include "plan/kernels/families.h"
#include "plan/kernels/recurrent.h"

struct rnn {
	struct nn_recurrent recurrent;
	int32_t activation;
	int32_t last;			/* the output of the last state, or -1 */
};

/* One cell, or one forwards and one backwards. */
struct cells {
	uint32_t count;
	struct rnn rnn[2];
};

#define WEIGHTS recurrent.weights[0]

#define NN_STATE struct rnn
static const struct nn_field cell_fields[] = {
	PART(recurrent, nn_recurrent_fields), EQUAL(recurrent.outputs, recurrent.units),
	POSITION(WEIGHTS.input), POSITION(WEIGHTS.recurrent), POSITION(WEIGHTS.aux), POSITION(WEIGHTS.bias),
	RECURRENT_ACTIVATION(activation), WORD(last, -1, NN_SAVED_OUTPUTS - 1),
	WHEN(last, IS(0) | IS(1) | IS(2) | IS(3) | IS(4) | IS(5),
	     SPAN(OUTPUT_AT(last, 0), FLOATS, recurrent.sequence.batch, recurrent.units)),
	WHEN(recurrent.packs, SET,
	     SPAN(INPUT_AT(WEIGHTS.input, 0), FLOATS, recurrent.units, recurrent.sequence.size),
	     SPAN(INPUT_AT(WEIGHTS.recurrent, 0), FLOATS, recurrent.units, recurrent.outputs),
	     SPAN(INPUT_AT(WEIGHTS.bias, 0), FLOATS, recurrent.units),
	     WHEN(recurrent.aux, SET,
		  SPAN(INPUT_AT(WEIGHTS.aux, 0), FLOATS, recurrent.units, recurrent.aux_size))),
	END
};
#undef NN_STATE

#define NN_STATE struct cells
static const struct nn_field fields[] = {
	WORD(count, 1, 2), PART(rnn[0], cell_fields),
	WHEN(count, IS(2),
	     PART(rnn[1], cell_fields), EQUAL(rnn[0].recurrent.packs, rnn[1].recurrent.packs)),
	END
};

static void set_cell(struct rnn *rnn, const struct nn_rnn_cell *c, const struct nn_sequence *s)
{
	rnn->activation = c->activation;
	rnn->last = -1;
	rnn->recurrent = (struct nn_recurrent){
		.sequence = *s,
		.gates = 1,
		.weights[0] = { c->weights, c->recurrent, c->aux_weights, c->bias, true },
		.units = c->units,
		.outputs = c->units,
		.state = c->state,
		.columns = c->units,
	};
	rnn->recurrent.sequence.size = c->size;
}

/* RNN has the state twice: its first output is that of a sequence of one step. */
static bool read_one(const struct nn_run *r, struct cells *cells)
{
	struct nn_rnn_cell c;
	struct nn_sequence s;

	cells->count = 1;
	if (nn_rnn_shape(r, &s, &c))
		return false;
	set_cell(&cells->rnn[0], &c, &s);
	cells->rnn[0].last = r->num_outputs > 1 ? 1 : -1;
	return true;
}

static bool read_both(const struct nn_run *r, struct cells *cells)
{
	bool merge = nn_run_bool(r, NN_BI_RNN_MERGE, false);
	bool linked = !r->inputs[NN_BI_RNN_AUX].omitted;
	struct nn_recurrent *fw = &cells->rnn[0].recurrent, *bw = &cells->rnn[1].recurrent;
	struct nn_rnn_cell forward, backward;
	int32_t sequences = merge ? 1 : 2;
	struct nn_sequence s, aux;

	cells->count = 2;
	if (nn_bidirectional_rnn_shape(r, &forward, &backward, &s, &aux))
		return false;
	set_cell(&cells->rnn[0], &forward, &s);
	set_cell(&cells->rnn[1], &backward, &s);
	bw->backward = true;
	if (merge) {
		bw->column = forward.units;
		fw->columns = bw->columns = forward.units + backward.units;
	} else {
		bw->out = 1;
	}
	if (forward.aux_weights) {
		fw->aux = bw->aux = NN_BI_RNN_AUX;
		fw->aux_size = bw->aux_size = aux.size;
	} else if (linked) {
		bw->x = NN_BI_RNN_AUX;
	}
	if (r->num_outputs > (uint32_t)sequences) {
		cells->rnn[0].last = sequences;
		cells->rnn[1].last = sequences + 1;
	}
	return true;
}

static bool complete(void *state, struct nn_ready *ready)
{
	struct cells *cells = state;

	for (uint32_t i = 0; i < cells->count; i++) {
		struct nn_recurrent *rec = &cells->rnn[i].recurrent;
		size_t scratch;

		rec->gates = 1;
		rec->weights[0].has_bias = true;
		rec->is_alone = cells->count == 1;
		if (!nn_recurrent_complete(ready, rec))
			return false;
		scratch = nn_recurrent_scratch(rec);
		if (ready->scratch_size < scratch)
			ready->scratch_size = scratch;
	}
	ready->pack_tasks = cells->rnn[0].recurrent.packs;
	ready->tasks = cells->count;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const bool both = r->op->code == NN_OP_BIDIRECTIONAL_SEQUENCE_RNN;
	struct cells *cells = ready->state;

	if (r->inputs[0].type != NN_TENSOR_FLOAT32)
		return false;
	if (!(both ? read_both(r, cells) : read_one(r, cells)))
		return false;
	for (uint32_t i = 0; i < cells->count; i++)
		if (!nn_recurrent_prepare(r, ready, &cells->rnn[i].recurrent))
			return false;
	for (uint32_t i = 0; i < cells->count; i++)
		cells->rnn[i].recurrent.packs = ready->pack_tasks;
	return complete(cells, ready);
}

/* ---- Packing and running ---- */

static bool pack_task(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
		      void *scratch, void *packed)
{
	const struct cells *cells = ready->state;

	(void)task;
	(void)scratch;
	for (uint32_t i = 0; i < cells->count; i++)
		nn_recurrent_pack(r, ready, &cells->rnn[i].recurrent, packed);
	return true;
}

static void run_step(const struct nn_kernel_call *call, void *arg, float *gates, float *next)
{
	const struct rnn *rnn = arg;
	const size_t count = rnn->recurrent.sequence.batch * rnn->recurrent.width;

	nn_activate_f32(call->ready->isa, rnn->activation, gates, count);
	memcpy(next, gates, count * sizeof(*next));
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct cells *cells = call->ready->state;
	struct rnn rnn = cells->rnn[task];
	const float *state = nn_recurrent_run(call, &rnn.recurrent, run_step, &rnn, scratch);

	if (rnn.last >= 0)
		memcpy(call->outputs[rnn.last], state,
		       rnn.recurrent.sequence.batch * rnn.recurrent.width * sizeof(*state));
}

NN_KERNEL(rnn, "RNN", sizeof(struct cells),
	  NN_TAKES(NN_OP_RNN, NN_OP_UNIDIRECTIONAL_SEQUENCE_RNN, NN_OP_BIDIRECTIONAL_SEQUENCE_RNN),
	  .pack_task = pack_task, .inputs = 15, .more_outputs = 3);
