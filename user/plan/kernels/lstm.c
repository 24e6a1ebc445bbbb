/* SPDX-License-Identifier: MIT */
/*
 * LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM of floats: what follows the
 * products of recurrent.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/lstm_cell.h"
#include "ops/quant.h"
#include "plan/kernels/activate.h"
#include "plan/kernels/families.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/recurrent.h"

/*
 * Gates lie side by side in this order: without an input gate the first three do.
 * Packed is the projection behind what recurrent.c packs.
 */
static const enum nn_lstm_gate order[] = {
	NN_LSTM_CELL, NN_LSTM_FORGET, NN_LSTM_OUTPUT, NN_LSTM_INPUT,
};
enum { CELL, FORGET, OUTPUT, INPUT };

struct lstm {
	struct nn_lstm_cell cell;
	struct nn_recurrent recurrent;
	bool has_projection_bias;
	uint32_t states;		/* the first output of states, or 0: there are none */
	size_t projection;		/* where its weights begin, in floats */
};

/* One cell, or one forwards and one backwards. */
struct cells {
	uint32_t count;
	struct lstm lstm[2];
};

static uint32_t weights_of(const struct lstm *l, uint32_t gate, uint32_t distance)
{
	return l->cell.weights + distance + order[gate];
}

/* The memory of a run behind that of recurrent.c. */
struct work {
	float *cell;			/* [batch, units] */
	float *gated;			/* [batch, units] */
};

/* Divides it; with a base of NULL it only counts. Returns the bytes that it takes. */
static size_t divide(const struct nn_lstm_cell *c, float *base, struct work *w)
{
	const size_t part = nn_kernel_aligned((size_t)c->batch * c->units * sizeof(float));

	w->cell = base;
	w->gated = base ? base + part / sizeof(float) : NULL;
	return 2 * part;
}

static bool is_constant(const struct nn_run *r, uint32_t index)
{
	return r->inputs[index].omitted || r->inputs[index].data;
}

/* The gates of a cell and where their weights are. */
static void set_gates(struct lstm *l)
{
	const struct nn_lstm_cell *c = &l->cell;
	struct nn_recurrent *rec = &l->recurrent;

	rec->gates = c->cifg ? 3 : 4;
	for (uint32_t g = 0; g < rec->gates; g++)
		rec->weights[g] = (struct nn_gate_weights){
			.input = weights_of(l, g, 0),
			.recurrent = weights_of(l, g, NN_LSTM_RECURRENT),
			.aux = c->aux_weights + order[g],
			.bias = weights_of(l, g, NN_LSTM_BIAS),
			/* Normalised sums take their biases later. */
			.has_bias = !c->normalized,
		};
}

/* What follows the weights of recurrent.c. */
static void set_ready(struct lstm *l, struct nn_ready *ready)
{
	const struct nn_lstm_cell *c = &l->cell;
	struct work work;
	size_t scratch;

	l->projection = ready->packed_size / sizeof(float);
	if (c->projection)
		ready->packed_size += nn_gemm_panels_f32(ready->isa, c->outputs, c->units) *
				      sizeof(float);
	scratch = nn_recurrent_scratch(&l->recurrent) + divide(c, NULL, &work);
	if (ready->scratch_size < scratch)
		ready->scratch_size = scratch;
}

/* What does not depend on which operation it is. */
static bool prepare_cell(const struct nn_run *r, struct nn_ready *ready, struct lstm *l)
{
	const struct nn_lstm_cell *c = &l->cell;
	const uint32_t projection = c->weights + NN_LSTM_PROJECTION;
	struct nn_recurrent *rec = &l->recurrent;

	set_gates(l);
	rec->units = c->units;
	rec->outputs = c->outputs;
	rec->state = c->state_h;
	rec->sequence.size = c->size;
	l->has_projection_bias = c->projection && !r->inputs[projection + 1].omitted;
	if (!is_constant(r, projection) || !is_constant(r, projection + 1))
		ready->pack_tasks = 1;
	if (!nn_recurrent_prepare(r, ready, rec))
		return false;
	set_ready(l, ready);
	return true;
}

static bool read_one(const struct nn_run *r, struct cells *cells)
{
	struct lstm *l = &cells->lstm[0];

	cells->count = 1;
	if (nn_lstm_shape(r, &l->recurrent.sequence, &l->cell))
		return false;
	l->recurrent.single = r->op->code == NN_OP_LSTM;
	l->recurrent.is_alone = true;
	l->recurrent.columns = l->cell.outputs;
	l->states = r->num_outputs > 1;
	return true;
}

static bool read_both(const struct nn_run *r, struct cells *cells)
{
	bool merge = nn_run_bool(r, NN_BIDIRECTIONAL_LSTM_MERGE, false);
	bool linked = !r->inputs[NN_BIDIRECTIONAL_LSTM_AUX].omitted;
	struct lstm *forward = &cells->lstm[0], *backward = &cells->lstm[1];
	struct nn_recurrent *fw = &forward->recurrent, *bw = &backward->recurrent;
	uint32_t sequences = merge ? 1 : 2;

	cells->count = 2;
	if (nn_bidirectional_lstm_shape(r, &fw->sequence, &forward->cell, &backward->cell))
		return false;
	bw->sequence = fw->sequence;
	bw->backward = true;
	bw->out = merge ? 0 : 1;
	bw->column = merge ? forward->cell.outputs : 0;
	fw->columns = forward->cell.outputs + (merge ? backward->cell.outputs : 0);
	bw->columns = merge ? fw->columns : backward->cell.outputs;
	if (forward->cell.aux_weights) {
		fw->aux = bw->aux = NN_BIDIRECTIONAL_LSTM_AUX;
		fw->aux_size = bw->aux_size = fw->sequence.size;
	} else if (linked) {
		bw->x = NN_BIDIRECTIONAL_LSTM_AUX;
	}
	if (r->num_outputs > sequences) {
		forward->states = sequences;
		backward->states = sequences + 2;
	}
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const bool both = r->op->code == NN_OP_BIDIRECTIONAL_SEQUENCE_LSTM;
	struct cells *cells;

	if ((r->op->code != NN_OP_LSTM && !both &&
	     r->op->code != NN_OP_UNIDIRECTIONAL_SEQUENCE_LSTM) ||
	    r->inputs[0].type != NN_TENSOR_FLOAT32)
		return false;
	cells = calloc(1, sizeof(*cells));
	if (!cells)
		return false;
	ready->state = cells;
	if (!(both ? read_both(r, cells) : read_one(r, cells)))
		return false;
	for (uint32_t i = 0; i < cells->count; i++)
		if (!prepare_cell(r, ready, &cells->lstm[i]))
			return false;
	ready->tasks = cells->count;
	return true;
}

/* ---- Saving ---- */

enum { CIFG = 1, PEEPHOLE = 2, PROJECTION = 4, NORMALIZED = 8, PROJECTION_BIAS = 16 };

struct saved_cell {
	struct nn_saved_recurrent recurrent;
	uint32_t weights;
	uint32_t state_c;
	uint32_t layer_norm;
	uint32_t aux_weights;
	int32_t activation;
	float cell_clip;
	float projection_clip;
	uint32_t flags;
	uint32_t states;
};

struct saved {
	uint32_t packs;			/* 1: each run packs the weights */
	struct saved_cell cells[2];
};

static uint32_t words_of(uint32_t cells)
{
	return NN_WORDS(struct saved) - (2 - cells) * NN_WORDS(struct saved_cell);
}

static void save_cell(const struct lstm *l, struct saved_cell *s)
{
	const struct nn_lstm_cell *c = &l->cell;

	*s = (struct saved_cell){
		.weights = c->weights,
		.state_c = c->state_c,
		.layer_norm = c->layer_norm,
		.aux_weights = c->aux_weights,
		.activation = c->activation,
		.cell_clip = c->cell_clip,
		.projection_clip = c->projection_clip,
		.flags = (c->cifg ? CIFG : 0) | (c->peephole ? PEEPHOLE : 0) |
			 (c->projection ? PROJECTION : 0) | (c->normalized ? NORMALIZED : 0) |
			 (l->has_projection_bias ? PROJECTION_BIAS : 0),
		.states = l->states,
	};
	nn_recurrent_save(&l->recurrent, &s->recurrent);
}

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct cells *cells = ready->state;
	struct saved *s = (struct saved *)words;

	s->packs = ready->pack_tasks;
	for (uint32_t i = 0; i < cells->count; i++)
		save_cell(&cells->lstm[i], &s->cells[i]);
	return words_of(cells->count);
}

/* Where the peephole weights of a gate are; the cell's has none. */
static uint32_t peephole_of(const struct nn_lstm_cell *c, uint32_t gate)
{
	static const uint32_t peepholes[] = { [FORGET] = 1, [OUTPUT] = 2, [INPUT] = 0 };

	return c->weights + NN_LSTM_PEEPHOLE + peepholes[gate];
}

static uint64_t cell_needs(const struct nn_ready *ready, const struct lstm *l)
{
	const struct nn_lstm_cell *c = &l->cell;
	const uint32_t projection = c->weights + NN_LSTM_PROJECTION;
	uint64_t inputs = nn_recurrent_needs(ready, &l->recurrent) | NN_IN(c->state_c);

	for (uint32_t g = 0; g < l->recurrent.gates; g++) {
		if (c->peephole && g != CELL)
			inputs |= NN_IN(peephole_of(c, g));
		if (c->normalized)
			inputs |= NN_IN(c->layer_norm + order[g]) |
				  NN_IN(weights_of(l, g, NN_LSTM_BIAS));
	}
	if (c->projection && ready->pack_tasks)
		inputs |= NN_IN(projection) | (l->has_projection_bias ? NN_IN(projection + 1) : 0);
	return inputs;
}

static uint64_t needs(const struct nn_ready *ready)
{
	const struct cells *cells = ready->state;
	uint64_t inputs = 0;

	for (uint32_t i = 0; i < cells->count; i++)
		inputs |= cell_needs(ready, &cells->lstm[i]);
	return inputs;
}

/* Whether there are as many floats of an input as a row of a cell's gate. */
static bool has_row(const struct nn_bounds *bounds, uint32_t index, const struct nn_lstm_cell *c)
{
	return nn_fits_floats(nn_saved_input(&nn_kernel_lstm, bounds, index), 1, c->units);
}

/* Whether there are the other inputs that a cell reads when it runs. */
static bool has_inputs(const struct nn_ready *ready, const struct nn_bounds *bounds,
		       const struct lstm *l)
{
	const struct nn_kernel *kernel = &nn_kernel_lstm;
	const struct nn_lstm_cell *c = &l->cell;
	const uint32_t projection = c->weights + NN_LSTM_PROJECTION;

	if (!nn_fits_floats(nn_saved_input(kernel, bounds, c->state_c), c->batch, c->units))
		return false;
	for (uint32_t g = 0; g < l->recurrent.gates; g++)
		if ((c->peephole && g != CELL && !has_row(bounds, peephole_of(c, g), c)) ||
		    (c->normalized && (!has_row(bounds, c->layer_norm + order[g], c) ||
				       !has_row(bounds, weights_of(l, g, NN_LSTM_BIAS), c))))
			return false;
	return !c->projection || !ready->pack_tasks ||
	       (nn_fits_floats(nn_saved_input(kernel, bounds, projection), c->outputs, c->units) &&
		(!l->has_projection_bias ||
		 nn_fits_floats(nn_saved_input(kernel, bounds, projection + 1), 1, c->outputs)));
}

/* Whether there are the outputs that write_states() writes. */
static bool has_outputs(const struct nn_bounds *bounds, const struct lstm *l)
{
	const struct nn_kernel *kernel = &nn_kernel_lstm;
	const struct nn_lstm_cell *c = &l->cell;
	const struct nn_room *hidden = nn_saved_output(kernel, bounds, l->states);

	if (l->recurrent.single &&
	    (!nn_fits_floats(&bounds->output, (uint64_t)c->batch * l->recurrent.gates, c->units) ||
	     !nn_fits_floats(nn_saved_output(kernel, bounds, 3), c->batch, c->outputs)))
		return false;
	return !l->states ||
	       (l->states < NN_SAVED_OUTPUTS && nn_fits_floats(hidden, c->batch, c->outputs) &&
		nn_fits_floats(nn_saved_output(kernel, bounds, l->states + 1), c->batch,
			       c->units));
}

static bool restore_cell(const struct saved_cell *s, const struct nn_bounds *bounds,
			 struct nn_ready *ready, struct lstm *l)
{
	const struct nn_saved_recurrent *rec = &s->recurrent;

	l->cell = (struct nn_lstm_cell){
		.weights = s->weights,
		.state_h = rec->state,
		.state_c = s->state_c,
		.layer_norm = s->layer_norm,
		.aux_weights = s->aux_weights,
		.activation = s->activation,
		.cell_clip = s->cell_clip,
		.projection_clip = s->projection_clip,
		.batch = rec->batch,
		.size = rec->size,
		.units = rec->units,
		.outputs = rec->outputs,
		.cifg = s->flags & CIFG,
		.peephole = s->flags & PEEPHOLE,
		.projection = s->flags & PROJECTION,
		.normalized = s->flags & NORMALIZED,
	};
	l->has_projection_bias = s->flags & PROJECTION_BIAS;
	l->states = s->states;
	set_gates(l);
	/* Positions are added to: the sums are looked at where they are used. */
	if (s->weights >= NN_SAVED_INPUTS || s->layer_norm >= NN_SAVED_INPUTS ||
	    s->aux_weights >= NN_SAVED_INPUTS || !nn_recurrent_activation(s->activation) ||
	    (!l->cell.projection && rec->outputs != rec->units) ||
	    !nn_recurrent_restore(&nn_kernel_lstm, rec, bounds, ready, &l->recurrent) ||
	    !has_inputs(ready, bounds, l) || !has_outputs(bounds, l))
		return false;
	set_ready(l, ready);
	return true;
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	struct cells *cells = state;

	if ((count != words_of(1) && count != words_of(2)) || s->packs > 1)
		return false;
	*cells = (struct cells){ .count = count == words_of(1) ? 1 : 2 };
	cells->lstm[0].recurrent.is_alone = cells->count == 1;
	ready->pack_tasks = s->packs;
	for (uint32_t i = 0; i < cells->count; i++)
		if (!restore_cell(&s->cells[i], bounds, ready, &cells->lstm[i]))
			return false;
	ready->tasks = cells->count;
	return true;
}

/* ---- Packing ---- */

static void pack_cell(const struct nn_run *r, const struct nn_ready *ready, const struct lstm *l,
		      float *packed)
{
	const struct nn_lstm_cell *c = &l->cell;
	uint32_t projection = c->weights + NN_LSTM_PROJECTION;

	nn_recurrent_pack(r, ready, &l->recurrent, packed);
	if (c->projection)
		nn_gemm_pack_rows_f32(ready->isa, r->inputs[projection].data,
				      l->has_projection_bias ? r->inputs[projection + 1].data : NULL,
				      c->outputs, c->units, packed + l->projection);
}

static bool pack_task(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
		      void *scratch, void *packed)
{
	const struct cells *cells = ready->state;

	(void)task;
	(void)scratch;
	for (uint32_t i = 0; i < cells->count; i++)
		pack_cell(r, ready, &cells->lstm[i], packed);
	return true;
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	return pack_task(r, ready, 0, NULL, packed);
}

/* ---- Running ---- */

static void clip(const struct nn_isa *isa, float *values, size_t count, float limit)
{
	if (limit > 0)
		nn_function_f32(isa, NN_UNARY_CLAMP, values, count, -limit, limit);
}

/* What a gate's sums need before their activation; the peephole looks at `cell`. */
static void complete(const struct nn_kernel_call *call, const struct lstm *l, uint32_t gate,
		     const float *cell, float *values, float *scratch)
{
	const struct nn_lstm_cell *c = &l->cell;
	const struct nn_isa *isa = call->ready->isa;

	if (c->peephole && gate != CELL) {
		nn_combine_f32(isa, NN_BINARY_MUL, call->inputs[peephole_of(c, gate)], cell,
			       scratch, c->units);
		nn_combine_f32(isa, NN_BINARY_ADD, values, scratch, values, c->units);
	}
	if (c->normalized)
		nn_lstm_normalize(values, call->inputs[c->layer_norm + order[gate]],
				  call->inputs[weights_of(l, gate, NN_LSTM_BIAS)], 1, c->units);
}

/* One batch's row of gates, from sums to the next cell state and the gated output. */
static void run_row(const struct nn_kernel_call *call, const struct lstm *l, float *gates,
		    float *cell, float *gated)
{
	const struct nn_lstm_cell *c = &l->cell;
	const struct nn_isa *isa = call->ready->isa;
	size_t units = c->units;
	float *forget = gates + FORGET * units, *out = gates + OUTPUT * units;
	float *in = gates + INPUT * units, *next = gates + CELL * units;

	complete(call, l, FORGET, cell, forget, gated);
	nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, forget, units);
	complete(call, l, CELL, cell, next, gated);
	nn_activate_f32(isa, c->activation, next, units);
	if (c->cifg) {
		/* (1 - forget) * next */
		nn_combine_f32(isa, NN_BINARY_MUL, forget, next, gated, units);
		nn_combine_f32(isa, NN_BINARY_SUB, next, gated, next, units);
	} else {
		complete(call, l, INPUT, cell, in, gated);
		nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, in, units);
		nn_combine_f32(isa, NN_BINARY_MUL, in, next, next, units);
	}
	nn_combine_f32(isa, NN_BINARY_MUL, forget, cell, cell, units);
	nn_combine_f32(isa, NN_BINARY_ADD, cell, next, cell, units);
	clip(isa, cell, units, c->cell_clip);

	complete(call, l, OUTPUT, cell, out, gated);
	nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, out, units);
	memcpy(gated, cell, units * sizeof(*gated));
	nn_activate_f32(isa, c->activation, gated, units);
	nn_combine_f32(isa, NN_BINARY_MUL, out, gated, gated, units);
}

static void project(const struct nn_kernel_call *call, const struct lstm *l, const float *gated,
		    float *hidden)
{
	const struct nn_lstm_cell *c = &l->cell;
	const struct nn_gemm_f32 gemm = {
		.rows = c->batch,
		.one_row = c->batch == 1,
		.columns = c->outputs,
		.depth = c->units,
		.a = gated,
		.a_stride = c->units,
		.panels = (const float *)call->ready->packed + l->projection,
		.c = hidden,
		.c_stride = c->outputs,
		.low = c->projection_clip > 0 ? -c->projection_clip : -INFINITY,
		.high = c->projection_clip > 0 ? c->projection_clip : INFINITY,
	};

	if (c->projection)
		call->ready->isa->gemm_f32(&gemm);
	else
		memcpy(hidden, gated, (size_t)c->batch * c->outputs * sizeof(*hidden));
}

/* What a step is done with. */
struct running {
	const struct lstm *l;
	struct work w;
};

static void run_step(const struct nn_kernel_call *call, void *arg, float *gates, float *next)
{
	const struct running *run = arg;
	const struct lstm *l = run->l;
	const struct nn_lstm_cell *c = &l->cell;

	for (size_t b = 0; b < c->batch; b++)
		run_row(call, l, gates + b * l->recurrent.width, run->w.cell + b * c->units,
			run->w.gated + b * c->units);
	project(call, l, run->w.gated, next);
}

/* The last states; LSTM's output is one of them, and its scratch memory nobody reads. */
static void write_states(const struct nn_kernel_call *call, const struct lstm *l,
			 const float *hidden, const float *cell)
{
	const struct nn_lstm_cell *c = &l->cell;
	size_t size = (size_t)c->batch * c->outputs * sizeof(float);

	if (l->recurrent.single) {
		memset(call->outputs[0], 0,
		       (size_t)c->batch * c->units * (c->cifg ? 3 : 4) * sizeof(float));
		memcpy(call->outputs[3], hidden, size);
	}
	if (l->states) {
		memcpy(call->outputs[l->states], hidden, size);
		memcpy(call->outputs[l->states + 1], cell,
		       (size_t)c->batch * c->units * sizeof(float));
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct cells *cells = call->ready->state;
	const struct lstm *l = &cells->lstm[task];
	const struct nn_lstm_cell *c = &l->cell;
	struct running run = { .l = l };
	const float *hidden;

	divide(c, (float *)((char *)scratch + nn_recurrent_scratch(&l->recurrent)), &run.w);
	memcpy(run.w.cell, call->inputs[c->state_c], (size_t)c->batch * c->units * sizeof(float));
	hidden = nn_recurrent_run(call, &l->recurrent, run_step, &run, scratch);
	write_states(call, l, hidden, run.w.cell);
}

const struct nn_kernel nn_kernel_lstm = {
	.name = "LSTM",
	.prepare = prepare,
	.pack = pack,
	.pack_task = pack_task,
	.run = run,
	.save = save,
	.needs = needs,
	.restore = restore,
	.inputs = 61,
	.more_outputs = 5,
	.state_size = sizeof(struct cells),
};
