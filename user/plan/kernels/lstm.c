/* SPDX-License-Identifier: MIT */
/*
 * LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM of floats: computes the cells
 * from the matrix products that recurrent.c computes.
 */
#include <string.h>

#include "ops/lstm_cell.h"
#include "ops/quant.h"
#include "plan/kernels/activate.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/recurrent.h"

/*
 * The order of gates in memory; the last gate, INPUT, may be missing. The projection's packed
 * weights follow the weights that recurrent.c packs.
 */
static const enum nn_lstm_gate order[] = {
	NN_LSTM_CELL, NN_LSTM_FORGET, NN_LSTM_OUTPUT, NN_LSTM_INPUT,
};
enum { CELL, FORGET, OUTPUT, INPUT };

struct lstm {
	struct nn_lstm_cell cell;
	struct nn_recurrent recurrent;
	bool has_projection_bias;
	/* index of the first output that is a state; 0: no output is a state */
	uint32_t states;
	size_t projection;		/* offset in floats of the projection's packed weights */
};

/* One cell, or a pair of cells of which one runs forwards and the other backwards. */
struct cells {
	uint32_t count;
	struct lstm lstm[2];
};

#define ROW(field, number) SPAN(INPUT_AT(field, number), FLOATS, recurrent.units)
#define GATE(gate)									\
	WHEN(recurrent.packs, SET,							\
	     SPAN(INPUT_AT(cell.weights, gate), FLOATS, recurrent.units, recurrent.sequence.size), \
	     SPAN(INPUT_AT(cell.weights, NN_LSTM_RECURRENT + (gate)), FLOATS,		\
		  recurrent.units, recurrent.outputs),					\
	     WHEN(recurrent.aux, SET,							\
		  SPAN(INPUT_AT(cell.aux_weights, gate), FLOATS, recurrent.units, recurrent.aux_size)), \
	     ROW(cell.weights, NN_LSTM_BIAS + (gate))),			\
	WHEN(cell.normalized, SET,							\
	     ROW(cell.weights, NN_LSTM_BIAS + (gate)),			\
	     ROW(cell.layer_norm, gate))

#define NN_STATE struct lstm
static const struct nn_field cell_fields[] = {
	PART(recurrent, nn_recurrent_fields), WORD(recurrent.gates, 3, 4),
	POSITION(cell.weights), POSITION(cell.state_c), POSITION(cell.layer_norm),
	POSITION(cell.aux_weights), RECURRENT_ACTIVATION(cell.activation),
	FLOAT(cell.cell_clip), FLOAT(cell.projection_clip),
	FLAG(cell.peephole), FLAG(cell.projection), FLAG(cell.normalized), FLAG(has_projection_bias),
	WORD(states, 0, NN_SAVED_OUTPUTS - 1),
	COPY(cell.batch, recurrent.sequence.batch), COPY(cell.size, recurrent.sequence.size),
	COPY(cell.units, recurrent.units), COPY(cell.outputs, recurrent.outputs),
	WHEN(cell.projection, IS(false), EQUAL(recurrent.outputs, recurrent.units)),
	SPAN(INPUT_AT(cell.state_c, 0), FLOATS, recurrent.sequence.batch, recurrent.units),
	GATE(NN_LSTM_FORGET), GATE(NN_LSTM_CELL), GATE(NN_LSTM_OUTPUT),
	WHEN(recurrent.gates, IS(4), GATE(NN_LSTM_INPUT)),
	WHEN(cell.peephole, SET,
	     WHEN(recurrent.gates, IS(4), ROW(cell.weights, NN_LSTM_PEEPHOLE)),
	     ROW(cell.weights, NN_LSTM_PEEPHOLE + 1),
	     ROW(cell.weights, NN_LSTM_PEEPHOLE + 2)),
	WHEN(cell.projection, SET, WHEN(recurrent.packs, SET,
	     SPAN(INPUT_AT(cell.weights, NN_LSTM_PROJECTION), FLOATS, recurrent.outputs, recurrent.units),
	     WHEN(has_projection_bias, SET,
		  SPAN(INPUT_AT(cell.weights, NN_LSTM_PROJECTION_BIAS), FLOATS, recurrent.outputs)))),
	WHEN(recurrent.single, SET,
	     SPAN(OUTPUT(0), FLOATS, recurrent.sequence.batch, recurrent.gates, recurrent.units),
	     SPAN(OUTPUT(3), FLOATS, recurrent.sequence.batch, recurrent.outputs)),
	WHEN(states, SET,
	     SPAN(OUTPUT_AT(states, 0), FLOATS, recurrent.sequence.batch, recurrent.outputs),
	     SPAN(OUTPUT_AT(states, 1), FLOATS, recurrent.sequence.batch, recurrent.units)),
	END
};
#undef NN_STATE

#define NN_STATE struct cells
static const struct nn_field fields[] = {
	WORD(count, 1, 2), PART(lstm[0], cell_fields),
	WHEN(count, IS(2),
	     PART(lstm[1], cell_fields), EQUAL(lstm[0].recurrent.packs, lstm[1].recurrent.packs)),
	END
};

static uint32_t weights_of(const struct lstm *l, uint32_t gate, uint32_t distance)
{
	return l->cell.weights + distance + order[gate];
}

/* The arrays of one execution that follow the arrays of recurrent.c in the scratch memory. */
struct work {
	float *cell;			/* [batch, units] */
	float *gated;			/* [batch, units] */
};

/*
 * Divides the memory at `base` into the arrays of `w`, or only computes the arrays' size if `base`
 * is NULL. Returns the size of all arrays in bytes.
 */
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

/* Sets the positions of the weights of all gates of a cell. */
static void set_gates(struct lstm *l)
{
	const struct nn_lstm_cell *c = &l->cell;
	struct nn_recurrent *rec = &l->recurrent;

	for (uint32_t g = 0; g < rec->gates; g++)
		rec->weights[g] = (struct nn_gate_weights){
			.input = weights_of(l, g, 0),
			.recurrent = weights_of(l, g, NN_LSTM_RECURRENT),
			.aux = c->aux_weights + order[g],
			.bias = weights_of(l, g, NN_LSTM_BIAS),
			/* If sums are normalised, biases are added after the normalisation. */
			.has_bias = !c->normalized,
		};
}

static bool complete_cell(struct lstm *l, struct nn_ready *ready)
{
	struct nn_lstm_cell *c = &l->cell;
	struct work work;
	size_t scratch;

	c->cifg = l->recurrent.gates == 3;
	set_gates(l);
	if (!nn_recurrent_complete(ready, &l->recurrent))
		return false;
	l->projection = ready->packed_size / sizeof(float);
	if (c->projection)
		ready->packed_size += nn_gemm_panels_f32(ready->isa, c->outputs, c->units) *
				      sizeof(float);
	scratch = nn_recurrent_scratch(&l->recurrent) + divide(c, NULL, &work);
	if (ready->scratch_size < scratch)
		ready->scratch_size = scratch;
	return true;
}

static bool complete(void *state, struct nn_ready *ready)
{
	struct cells *cells = state;

	for (uint32_t i = 0; i < cells->count; i++) {
		cells->lstm[i].recurrent.is_alone = cells->count == 1;
		if (!complete_cell(&cells->lstm[i], ready))
			return false;
	}
	ready->pack_tasks = cells->lstm[0].recurrent.packs;
	ready->tasks = cells->count;
	return true;
}

/* Prepares a cell of any LSTM operation. */
static bool prepare_cell(const struct nn_run *r, struct nn_ready *ready, struct lstm *l)
{
	const struct nn_lstm_cell *c = &l->cell;
	const uint32_t projection = c->weights + NN_LSTM_PROJECTION;
	struct nn_recurrent *rec = &l->recurrent;

	rec->gates = c->cifg ? 3 : 4;
	set_gates(l);
	rec->units = c->units;
	rec->outputs = c->outputs;
	rec->state = c->state_h;
	rec->sequence.size = c->size;
	l->has_projection_bias = c->projection && !r->inputs[projection + 1].omitted;
	if (!is_constant(r, projection) || !is_constant(r, projection + 1))
		ready->pack_tasks = 1;
	return nn_recurrent_prepare(r, ready, rec);
}

static bool read_one(const struct nn_run *r, struct cells *cells)
{
	struct lstm *l = &cells->lstm[0];

	cells->count = 1;
	if (nn_lstm_shape(r, &l->recurrent.sequence, &l->cell))
		return false;
	l->recurrent.single = r->op->code == NN_OP_LSTM;
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
	struct cells *cells = ready->state;

	if (r->inputs[0].type != NN_TENSOR_FLOAT32)
		return false;
	if (!(both ? read_both(r, cells) : read_one(r, cells)))
		return false;
	for (uint32_t i = 0; i < cells->count; i++)
		if (!prepare_cell(r, ready, &cells->lstm[i]))
			return false;
	for (uint32_t i = 0; i < cells->count; i++)
		cells->lstm[i].recurrent.packs = ready->pack_tasks;
	return complete(cells, ready);
}

/* Returns the position of a gate's peephole weights; the gate CELL has no peephole weights. */
static uint32_t peephole_of(const struct nn_lstm_cell *c, uint32_t gate)
{
	static const uint32_t peepholes[] = { [FORGET] = 1, [OUTPUT] = 2, [INPUT] = 0 };

	return c->weights + NN_LSTM_PEEPHOLE + peepholes[gate];
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

/* ---- Running ---- */

static void clip(const struct nn_isa *isa, float *values, size_t count, float limit)
{
	if (limit > 0)
		nn_function_f32(isa, NN_UNARY_CLAMP, values, count, -limit, limit);
}

/*
 * Adds peephole weights times `cell` to a gate's sums. With layer normalisation, then normalises
 * the sums and adds the bias. The caller of end_gate() applies the activation.
 */
static void end_gate(const struct nn_kernel_call *call, const struct lstm *l, uint32_t gate,
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

/* Computes the next cell state and the gated output of one batch from the sums of its gates. */
static void run_row(const struct nn_kernel_call *call, const struct lstm *l, float *gates,
		    float *cell, float *gated)
{
	const struct nn_lstm_cell *c = &l->cell;
	const struct nn_isa *isa = call->ready->isa;
	size_t units = c->units;
	float *forget = gates + FORGET * units, *out = gates + OUTPUT * units;
	float *in = gates + INPUT * units, *next = gates + CELL * units;

	end_gate(call, l, FORGET, cell, forget, gated);
	nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, forget, units);
	end_gate(call, l, CELL, cell, next, gated);
	nn_activate_f32(isa, c->activation, next, units);
	if (c->cifg) {
		/* (1 - forget) * next */
		nn_combine_f32(isa, NN_BINARY_MUL, forget, next, gated, units);
		nn_combine_f32(isa, NN_BINARY_SUB, next, gated, next, units);
	} else {
		end_gate(call, l, INPUT, cell, in, gated);
		nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, in, units);
		nn_combine_f32(isa, NN_BINARY_MUL, in, next, next, units);
	}
	nn_combine_f32(isa, NN_BINARY_MUL, forget, cell, cell, units);
	nn_combine_f32(isa, NN_BINARY_ADD, cell, next, cell, units);
	clip(isa, cell, units, c->cell_clip);

	end_gate(call, l, OUTPUT, cell, out, gated);
	nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, out, units);
	memcpy(gated, cell, units * sizeof(*gated));
	nn_activate_f32(isa, c->activation, gated, units);
	nn_combine_f32(isa, NN_BINARY_MUL, out, gated, gated, units);
}

static void project(const struct nn_kernel_call *call, const struct lstm *l, const float *gated,
		    float *hidden)
{
	const struct nn_lstm_cell *c = &l->cell;
	struct nn_gemm_f32 gemm =
		nn_gemm_dense_f32(c->batch, c->outputs, c->units, gated,
				  (const float *)call->ready->packed + l->projection, hidden);

	if (c->projection_clip > 0) {
		gemm.low = -c->projection_clip;
		gemm.high = c->projection_clip;
	}
	if (c->projection)
		call->ready->isa->gemm_f32(&gemm);
	else
		memcpy(hidden, gated, (size_t)c->batch * c->outputs * sizeof(*hidden));
}

/* Arguments of run_step(). */
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

/*
 * Writes the states after the last step to the outputs. Output 3 of the operation LSTM is equal to
 * the hidden state. Output 0 of LSTM, which is scratch memory, is set to 0.
 */
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

NN_KERNEL(lstm, "LSTM", sizeof(struct cells),
	  NN_TAKES(NN_OP_LSTM, NN_OP_UNIDIRECTIONAL_SEQUENCE_LSTM, NN_OP_BIDIRECTIONAL_SEQUENCE_LSTM),
	  .pack_task = pack_task, .inputs = 61, .more_outputs = 5);
