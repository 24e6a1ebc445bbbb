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

/* What the cells tell of the rest. */
static void set_ready(const struct cells *cells, struct nn_ready *ready)
{
	for (uint32_t i = 0; i < cells->count; i++) {
		const size_t scratch = nn_recurrent_scratch(&cells->rnn[i].recurrent);

		if (ready->scratch_size < scratch)
			ready->scratch_size = scratch;
	}
	ready->tasks = cells->count;
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
	for (uint32_t i = 0; i < cells->count; i++)
		if (!nn_recurrent_prepare(r, ready, &cells->rnn[i].recurrent))
			return false;
	set_ready(cells, ready);
	return true;
}

/* ---- Saving ---- */

struct saved_cell {
	struct nn_saved_recurrent recurrent;
	uint32_t weights[4];		/* of the input, the state, the auxiliary input; the bias */
	int32_t activation;
	int32_t last;
};

struct saved {
	uint32_t packs;			/* 1: each run packs the weights */
	struct saved_cell cells[2];
};

static uint32_t words_of(uint32_t cells)
{
	return NN_WORDS(struct saved) - (2 - cells) * NN_WORDS(struct saved_cell);
}

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct cells *cells = ready->state;
	struct saved *s = (struct saved *)words;

	s->packs = ready->pack_tasks;
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct rnn *rnn = &cells->rnn[i];
		const struct nn_gate_weights *w = &rnn->recurrent.weights[0];

		s->cells[i] = (struct saved_cell){
			.weights = { w->input, w->recurrent, w->aux, w->bias },
			.activation = rnn->activation,
			.last = rnn->last,
		};
		nn_recurrent_save(&rnn->recurrent, &s->cells[i].recurrent);
	}
	return words_of(cells->count);
}

static uint64_t needs(const struct nn_ready *ready)
{
	const struct cells *cells = ready->state;
	uint64_t inputs = 0;

	for (uint32_t i = 0; i < cells->count; i++)
		inputs |= nn_recurrent_needs(ready, &cells->rnn[i].recurrent);
	return inputs;
}

static bool restore_cell(const struct saved_cell *s, const struct nn_bounds *bounds,
			 struct nn_ready *ready, struct rnn *rnn)
{
	const struct nn_kernel *kernel = &nn_kernel_rnn;
	const uint32_t *w = s->weights;

	rnn->activation = s->activation;
	rnn->last = s->last;
	rnn->recurrent.gates = 1;
	rnn->recurrent.weights[0] = (struct nn_gate_weights){ w[0], w[1], w[2], w[3], true };
	if (!nn_recurrent_activation(s->activation) ||
	    s->recurrent.outputs != s->recurrent.units ||
	    !nn_recurrent_restore(kernel, &s->recurrent, bounds, ready, &rnn->recurrent))
		return false;
	return s->last == -1 || nn_fits_floats(nn_saved_output(kernel, bounds, (uint32_t)s->last),
					       s->recurrent.batch, s->recurrent.units);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	struct cells *cells = state;

	if ((count != words_of(1) && count != words_of(2)) || s->packs > 1)
		return false;
	*cells = (struct cells){ .count = count == words_of(1) ? 1 : 2 };
	cells->rnn[0].recurrent.is_alone = cells->count == 1;
	ready->pack_tasks = s->packs;
	for (uint32_t i = 0; i < cells->count; i++)
		if (!restore_cell(&s->cells[i], bounds, ready, &cells->rnn[i]))
			return false;
	set_ready(cells, ready);
	return true;
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
	.save = save,
	.needs = needs,
	.restore = restore,
	.inputs = 15,
	.more_outputs = 3,
	.state_size = sizeof(struct cells),
};
