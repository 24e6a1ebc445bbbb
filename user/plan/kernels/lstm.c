/* SPDX-License-Identifier: MIT */
/*
 * LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM of floats: products of
 * many steps' inputs at a time, then step by step what depends on the step before.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/lstm_cell.h"
#include "ops/quant.h"
#include "plan/kernels/activate.h"
#include "plan/kernels/families.h"
#include "plan/kernels/gemm.h"
#include "plan/run/threads.h"

#define MAX_ROWS 56		/* of inputs that are multiplied at a time */
#define MIN_SHARED 200000	/* products that are worth a thread that is awake */
#define MIN_WAKING 2000000	/* and one that sleeps */

/*
 * Gates lie side by side in this order: without an input gate the first three do.
 * Packed are the input weights with the biases, then the recurrent weights, then
 * the projection.
 */
static const enum nn_lstm_gate order[] = {
	NN_LSTM_CELL, NN_LSTM_FORGET, NN_LSTM_OUTPUT, NN_LSTM_INPUT,
};
enum { CELL, FORGET, OUTPUT, INPUT };

struct lstm {
	struct nn_lstm_cell cell;
	struct nn_sequence sequence;
	bool single;			/* LSTM: not along a sequence */
	bool backward;
	bool is_alone;			/* no other cell runs beside it */
	uint32_t out;			/* the output of the sequence: columns of its rows */
	uint32_t column;
	uint32_t columns;
	uint32_t states;		/* the first output of states, or 0: there are none */
	size_t packed;			/* where its weights begin, in floats */
	uint32_t gates;
	uint32_t chunk;			/* steps whose inputs are multiplied at a time */
	size_t width;			/* floats of a row of gates */
	/* Floats of one gate's packed weights, and of the projection's. */
	size_t input_size;
	size_t recurrent_size;
	size_t projection_size;
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

/* Whether everything that will be packed is known. */
static bool is_constant(const struct nn_run *r, const struct lstm *l)
{
	uint32_t projection = l->cell.weights + NN_LSTM_PROJECTION;
	bool fine = !l->cell.projection || r->inputs[projection].data;

	for (uint32_t g = 0; g < l->gates; g++)
		fine = fine && r->inputs[weights_of(l, g, 0)].data &&
		       r->inputs[weights_of(l, g, NN_LSTM_RECURRENT)].data &&
		       r->inputs[weights_of(l, g, NN_LSTM_BIAS)].data;
	return fine && (r->inputs[projection + 1].omitted || r->inputs[projection + 1].data);
}

/* The memory of a run, which is in one piece. */
struct work {
	float *products;		/* [chunk, batch, gates, units]: of the inputs */
	float *gates;			/* [batch, gates, units] */
	float *cell;			/* [batch, units] */
	float *hidden[2];		/* [batch, outputs] */
	float *gated;			/* [batch, units] */
};

/* Divides it; with a base of NULL it only counts. Returns the floats that it takes. */
static size_t divide(const struct lstm *l, float *base, struct work *w)
{
	const struct nn_lstm_cell *c = &l->cell;
	size_t at = 0, sizes[] = {
		l->chunk * c->batch * l->width, c->batch * l->width, (size_t)c->batch * c->units,
		(size_t)c->batch * c->outputs, (size_t)c->batch * c->outputs,
		(size_t)c->batch * c->units,
	};
	float **parts[] = { &w->products, &w->gates, &w->cell, &w->hidden[0], &w->hidden[1],
			    &w->gated };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		*parts[i] = base ? base + at : NULL;
		at += (sizes[i] + NN_MAX_LANES - 1) / NN_MAX_LANES * NN_MAX_LANES;
	}
	return at;
}

/* What does not depend on which operation it is. */
static bool prepare_cell(const struct nn_run *r, struct nn_ready *ready, struct lstm *l)
{
	const struct nn_isa *isa = ready->isa;
	const struct nn_lstm_cell *c = &l->cell;
	struct work work;
	size_t scratch;

	l->gates = c->cifg ? 3 : 4;
	l->width = (size_t)l->gates * c->units;
	l->chunk = c->batch < MAX_ROWS ? MAX_ROWS / c->batch : 1;
	if (l->chunk > l->sequence.steps)
		l->chunk = l->sequence.steps;
	if (!is_constant(r, l))
		return false;
	l->input_size = nn_gemm_panels_f32(isa, c->units, c->size);
	l->recurrent_size = nn_gemm_panels_f32(isa, c->units, c->outputs);
	if (c->projection)
		l->projection_size = nn_gemm_panels_f32(isa, c->outputs, c->units);
	l->packed = ready->packed_size / sizeof(float);
	ready->packed_size += (l->gates * (l->input_size + l->recurrent_size) +
			       l->projection_size) * sizeof(float);
	scratch = divide(l, NULL, &work) * sizeof(float);
	if (ready->scratch_size < scratch)
		ready->scratch_size = scratch;
	return true;
}

static bool read_one(const struct nn_run *r, struct cells *cells)
{
	struct lstm *l = &cells->lstm[0];

	cells->count = 1;
	if (nn_lstm_shape(r, &l->sequence, &l->cell))
		return false;
	l->single = r->op->code == NN_OP_LSTM;
	l->is_alone = true;
	l->columns = l->cell.outputs;
	l->states = r->num_outputs > 1;
	return true;
}

/* Without an auxiliary input. */
static bool read_both(const struct nn_run *r, struct cells *cells)
{
	bool merge = nn_run_bool(r, NN_BIDIRECTIONAL_LSTM_MERGE, false);
	struct lstm *forward = &cells->lstm[0], *backward = &cells->lstm[1];
	uint32_t sequences = merge ? 1 : 2;

	cells->count = 2;
	if (!r->inputs[NN_BIDIRECTIONAL_LSTM_AUX].omitted ||
	    nn_bidirectional_lstm_shape(r, &forward->sequence, &forward->cell, &backward->cell))
		return false;
	backward->sequence = forward->sequence;
	backward->backward = true;
	backward->out = merge ? 0 : 1;
	backward->column = merge ? forward->cell.outputs : 0;
	forward->columns = forward->cell.outputs + (merge ? backward->cell.outputs : 0);
	backward->columns = merge ? forward->columns : backward->cell.outputs;
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

static void pack_cell(struct nn_run *r, const struct nn_ready *ready, const struct lstm *l,
		      float *to)
{
	const struct nn_lstm_cell *c = &l->cell;
	uint32_t projection = c->weights + NN_LSTM_PROJECTION;

	/* Normalised sums take their biases later. */
	for (uint32_t g = 0; g < l->gates; g++, to += l->input_size)
		nn_gemm_pack_rows_f32(ready->isa, r->inputs[weights_of(l, g, 0)].data,
				      c->normalized ? NULL :
				      r->inputs[weights_of(l, g, NN_LSTM_BIAS)].data,
				      c->units, c->size, to);
	for (uint32_t g = 0; g < l->gates; g++, to += l->recurrent_size)
		nn_gemm_pack_rows_f32(ready->isa,
				      r->inputs[weights_of(l, g, NN_LSTM_RECURRENT)].data, NULL,
				      c->units, c->outputs, to);
	if (c->projection)
		nn_gemm_pack_rows_f32(ready->isa, r->inputs[projection].data,
				      nn_recurrent_input(r, projection + 1), c->outputs, c->units,
				      to);
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	const struct cells *cells = ready->state;

	for (uint32_t i = 0; i < cells->count; i++)
		pack_cell(r, ready, &cells->lstm[i], (float *)packed + cells->lstm[i].packed);
	return true;
}

/* ---- Running ---- */

static const float *packed_of(const struct nn_kernel_call *call, const struct lstm *l)
{
	return (const float *)call->ready->packed + l->packed;
}

static void clip(const struct nn_isa *isa, float *values, size_t count, float limit)
{
	if (limit > 0)
		nn_function_f32(isa, NN_UNARY_CLAMP, values, count, -limit, limit);
}

static void combine(const struct nn_isa *isa, enum nn_binary operation, const float *a,
		    const float *b, float *out, size_t count)
{
	const struct nn_binary_f32 f = {
		.operation = operation,
		.count = count,
		.a = a,
		.b = b,
		.out = out,
		.low = -INFINITY,
		.high = INFINITY,
	};

	isa->binary_f32(&f);
}

/* A product of rows with the packed weights of all gates, cut in columns. */
struct product {
	const struct nn_isa *isa;
	const struct lstm *l;
	struct nn_gemm_f32 gemm;	/* of the first gate */
	size_t panels_size;		/* floats of the weights of one */
	uint32_t blocks;		/* of a gate */
	size_t block_columns;
};

static void run_block(void *arg, uint32_t task, uint32_t thread)
{
	const struct product *p = arg;
	const uint32_t gate = task / p->blocks;
	const size_t first = task % p->blocks * p->block_columns;
	const size_t left = p->gemm.columns - first;
	struct nn_gemm_f32 gemm = p->gemm;

	(void)thread;
	gemm.columns = left < p->block_columns ? left : p->block_columns;
	gemm.panels = (const float *)gemm.panels + gate * p->panels_size +
		      nn_gemm_panels_f32(p->isa, first, gemm.depth);
	gemm.c = (float *)gemm.c + gate * p->gemm.columns + first;
	p->isa->gemm_f32(&gemm);
}

/* Whether a product is worth other threads, which sleep where those of every step are not. */
static bool is_shared(const struct lstm *l, size_t rows, size_t depth)
{
	bool awake = l->cell.batch * l->width * l->cell.outputs >= MIN_SHARED;

	return rows * l->width * depth >= (awake ? MIN_SHARED : MIN_WAKING);
}

/* Cuts it in as many blocks as keep all threads busy. */
static void divide_product(struct product *p, uint32_t threads)
{
	const size_t panel = NN_PANEL_VECTORS * p->isa->lanes, units = p->gemm.columns;
	size_t panels = (units + panel - 1) / panel, wanted = 2 * threads / p->l->gates;

	wanted = wanted < 1 ? 1 : wanted < panels ? wanted : panels;
	p->block_columns = (panels + wanted - 1) / wanted * panel;
	p->blocks = (uint32_t)((units + p->block_columns - 1) / p->block_columns);
}

/* `rows` rows of x, times packed weights of all gates, to rows of gates `stride` apart. */
static void multiply(const struct nn_kernel_call *call, const struct lstm *l, const float *panels,
		     size_t panels_size, const float *x, size_t rows, size_t depth, float *out,
		     size_t stride)
{
	struct product p = {
		.isa = call->ready->isa,
		.l = l,
		.gemm = {
			.rows = rows,
			.one_row = rows == 1,
			.columns = l->cell.units,
			.depth = depth,
			.a = x,
			.a_stride = depth,
			.panels = panels,
			.c = out,
			.c_stride = stride,
			.low = -INFINITY,
			.high = INFINITY,
		},
		.panels_size = panels_size,
	};
	uint32_t threads = l->is_alone && is_shared(l, rows, depth) ? call->threads : 1;

	divide_product(&p, threads);
	threads_run(run_block, &p, l->gates * p.blocks, threads);
}

/* The products of `steps` steps' inputs from step `first` on. */
static void multiply_inputs(const struct nn_kernel_call *call, const struct lstm *l,
			    uint32_t first, uint32_t steps, float *products)
{
	const struct nn_sequence *s = &l->sequence;
	const float *x = call->inputs[0];

	if (s->time_major) {
		multiply(call, l, packed_of(call, l), l->input_size,
			 x + (size_t)first * s->batch * s->size, (size_t)steps * s->batch, s->size,
			 products, l->width);
		return;
	}
	for (size_t b = 0; b < s->batch; b++)
		multiply(call, l, packed_of(call, l), l->input_size,
			 x + (b * s->steps + first) * s->size, steps, s->size,
			 products + b * l->width, s->batch * l->width);
}

/* What a gate's sums need before their activation; the peephole looks at `cell`. */
static void complete(const struct nn_kernel_call *call, const struct lstm *l, uint32_t gate,
		     const float *cell, float *values, float *scratch)
{
	static const uint32_t peepholes[] = { [FORGET] = 1, [OUTPUT] = 2, [INPUT] = 0 };
	const struct nn_lstm_cell *c = &l->cell;
	const struct nn_isa *isa = call->ready->isa;

	if (c->peephole && gate != CELL) {
		combine(isa, NN_BINARY_MUL,
			call->inputs[c->weights + NN_LSTM_PEEPHOLE + peepholes[gate]], cell,
			scratch, c->units);
		combine(isa, NN_BINARY_ADD, values, scratch, values, c->units);
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
		combine(isa, NN_BINARY_MUL, forget, next, gated, units);
		combine(isa, NN_BINARY_SUB, next, gated, next, units);
	} else {
		complete(call, l, INPUT, cell, in, gated);
		nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, in, units);
		combine(isa, NN_BINARY_MUL, in, next, next, units);
	}
	combine(isa, NN_BINARY_MUL, forget, cell, cell, units);
	combine(isa, NN_BINARY_ADD, cell, next, cell, units);
	clip(isa, cell, units, c->cell_clip);

	complete(call, l, OUTPUT, cell, out, gated);
	nn_activate_f32(isa, NN_ACTIVATE_SIGMOID, out, units);
	memcpy(gated, cell, units * sizeof(*gated));
	nn_activate_f32(isa, c->activation, gated, units);
	combine(isa, NN_BINARY_MUL, out, gated, gated, units);
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
		.panels = packed_of(call, l) + l->gates * (l->input_size + l->recurrent_size),
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

static void run_step(const struct nn_kernel_call *call, const struct lstm *l, const float *products,
		     const float *hidden, const struct work *w, float *next_hidden)
{
	const struct nn_lstm_cell *c = &l->cell;
	const struct nn_isa *isa = call->ready->isa;

	multiply(call, l, packed_of(call, l) + l->gates * l->input_size,
		 l->recurrent_size, hidden, c->batch, c->outputs, w->gates, l->width);
	combine(isa, NN_BINARY_ADD, w->gates, products, w->gates, c->batch * l->width);
	for (size_t b = 0; b < c->batch; b++)
		run_row(call, l, w->gates + b * l->width, w->cell + b * c->units,
			w->gated + b * c->units);
	project(call, l, w->gated, next_hidden);
}

/* The last states; LSTM's output is one of them, and its scratch memory nobody reads. */
static void write_states(const struct nn_kernel_call *call, const struct lstm *l,
			 const float *hidden, const float *cell)
{
	const struct nn_lstm_cell *c = &l->cell;
	size_t size = (size_t)c->batch * c->outputs * sizeof(float);

	if (l->single) {
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
	const struct nn_sequence *s = &l->sequence;
	const float *hidden = call->inputs[c->state_h];
	uint32_t first = 0;		/* step of those whose inputs are multiplied */
	struct work w;

	divide(l, scratch, &w);
	memcpy(w.cell, call->inputs[c->state_c], (size_t)c->batch * c->units * sizeof(float));
	for (uint32_t t = 0; t < s->steps; t++) {
		uint32_t left = s->steps - t, some = left < l->chunk ? left : l->chunk;
		uint32_t step = l->backward ? left - 1 : t;
		float *next = w.hidden[t & 1];

		if (t % l->chunk == 0) {
			first = l->backward ? left - some : t;
			multiply_inputs(call, l, first, some, w.products);
		}
		run_step(call, l, w.products + (step - first) * c->batch * l->width, hidden, &w,
			 next);
		if (!l->single)
			nn_sequence_write(call->outputs[l->out], s, step, next, c->outputs,
					  l->column, l->columns);
		hidden = next;
	}
	write_states(call, l, hidden, w.cell);
}

const struct nn_kernel nn_kernel_lstm = {
	.name = "LSTM",
	.prepare = prepare,
	.pack = pack,
	.run = run,
};
