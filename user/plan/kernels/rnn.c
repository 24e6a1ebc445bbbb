/* SPDX-License-Identifier: MIT */
/*
 * RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN of floats: the products of
 * recurrent.c and a function.
 */
#include <stdlib.h>
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
	cells->rnn[0].recurrent.is_alone = true;
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

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const bool both = r->op->code == NN_OP_BIDIRECTIONAL_SEQUENCE_RNN;
	struct cells *cells;

	if ((r->op->code != NN_OP_RNN && !both &&
	     r->op->code != NN_OP_UNIDIRECTIONAL_SEQUENCE_RNN) ||
	    r->inputs[0].type != NN_TENSOR_FLOAT32)
		return false;
	cells = calloc(1, sizeof(*cells));
	if (!cells)
		return false;
	ready->state = cells;
	if (!(both ? read_both(r, cells) : read_one(r, cells)))
		return false;
	for (uint32_t i = 0; i < cells->count; i++) {
		struct nn_recurrent *l = &cells->rnn[i].recurrent;

		if (!nn_recurrent_prepare(r, ready, l))
			return false;
		if (ready->scratch_size < nn_recurrent_scratch(l))
			ready->scratch_size = nn_recurrent_scratch(l);
	}
	ready->tasks = cells->count;
	return true;
}

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

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	return pack_task(r, ready, 0, NULL, packed);
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

const struct nn_kernel nn_kernel_rnn = {
	.name = "RNN",
	.prepare = prepare,
	.pack = pack,
	.pack_task = pack_task,
	.run = run,
};
