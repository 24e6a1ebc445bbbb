/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZED_LSTM. The products read weights where they lie, so these need not be constant. The
 * gates are computed in vectors of 16 bits. Results have the same bits as those of ops/.
 */
#include <string.h>

#include "ops/quantized_lstm.h"
#include "plan/kernels/fields.h"
#include "plan/run/threads.h"

#define MIN_SHARED 1000000	/* products that are worth a second thread */
#define MAX_DEPTH (1 << 15)	/* limit that keeps sums within 32 bits */
#define BLOCK_ROWS 64		/* rows of a gate that a task multiplies */

struct lstm {
	struct nn_qlstm cell;
	bool has_projection_bias;
};

#define MAX_SHIFT 2048		/* maximum and minimum shift of a factor; sums have as many bits */
#define MIN_SHIFT (-31)

#define ZERO(field) WORD(field, INT8_MIN, UINT8_MAX)
#define FACTOR(field) WORD(field.value, 0, INT32_MAX), WORD(field.shift, MIN_SHIFT, MAX_SHIFT)
#define FACTOR_EACH(array)								\
	WORD_EACH(array, .value, 0, INT32_MAX), WORD_EACH(array, .shift, MIN_SHIFT, MAX_SHIFT)
#define GATES(first, number)								\
	EACH_OF(number,									\
		SPAN(INPUT_EACH(NN_QLSTM_WEIGHTS + (first)), SIZE(1), cell.units, cell.size),	\
		SPAN(INPUT_EACH(NN_QLSTM_RECURRENT + (first)), SIZE(1), cell.units, cell.outputs), \
		SPAN(INPUT_EACH(NN_QLSTM_BIAS + (first)), SIZE(sizeof(int32_t)), cell.units),	\
		WHEN(cell.normalized, SET,						\
		     SPAN(INPUT_EACH(NN_QLSTM_LAYER_NORM + (first)), SIZE(sizeof(int16_t)), cell.units)))
#define PEEPHOLE(number) SPAN(INPUT(NN_QLSTM_PEEPHOLE + (number)), SIZE(sizeof(int16_t)), cell.units)

#define NN_STATE struct lstm
static const struct nn_field fields[] = {
	COUNT(cell.batch), WORD(cell.size, 1, MAX_DEPTH), WORD(cell.units, 1, MAX_DEPTH),
	WORD(cell.outputs, 1, MAX_DEPTH), FLAG(cell.cifg), FLAG(cell.peephole), FLAG(cell.projection),
	FLAG(cell.normalized), FLAG(has_projection_bias),
	WHEN(cell.projection, IS(false), EQUAL(cell.outputs, cell.units)),
	ZERO(cell.input_zero), ZERO(cell.state_zero), ZERO(cell.hidden_zero),
	WORD(cell.cell_limit, 0, INT16_MAX), WORD(cell.projection_limit, 0, INT8_MAX),
	EACH_OF(NN_QLSTM_GATES, FACTOR_EACH(cell.input), FACTOR_EACH(cell.recurrent),
		FACTOR_EACH(cell.peep), FACTOR_EACH(cell.norm)),
	FACTOR(cell.hidden), FACTOR(cell.project),
	SPAN(INPUT(NN_QLSTM_INPUT), SIZE(1), cell.batch, cell.size),
	WORD(cell.cell_shift, -15, -9),
	SPAN(INPUT(NN_QLSTM_STATE_C), SIZE(sizeof(int16_t)), cell.batch, cell.units),
	SPAN(INPUT(NN_QLSTM_STATE_H), SIZE(1), cell.batch, cell.outputs),
	WHEN(cell.cifg, IS(false), GATES(NN_QLSTM_IN, 1)), GATES(NN_QLSTM_FORGET, 3),
	WHEN(cell.peephole, SET,
	     WHEN(cell.cifg, IS(false), PEEPHOLE(0)), PEEPHOLE(1), PEEPHOLE(2)),
	WHEN(cell.projection, SET,
	     SPAN(INPUT(NN_QLSTM_PROJECTION), SIZE(1), cell.outputs, cell.units),
	     WHEN(has_projection_bias, SET,
		  SPAN(INPUT(NN_QLSTM_PROJECTION_BIAS), SIZE(sizeof(int32_t)), cell.outputs))),
	SPAN(OUTPUT(0), SIZE(1), cell.batch, cell.outputs),
	SPAN(OUTPUT(1), SIZE(sizeof(int16_t)), cell.batch, cell.units),
	SPAN(OUTPUT(2), SIZE(1), cell.batch, cell.outputs),
	END
};

/* The arrays of a run, which lie in one allocation. */
struct work {
	int16_t *x;			/* less the zero point, with zeros behind */
	int16_t *h;
	int16_t *hidden;		/* numbers to be projected, also padded */
	int16_t *gates[NN_QLSTM_GATES];	/* [units] */
	int16_t *squashed;		/* [units] */
	int32_t *sums;			/* [gates, units], or [outputs] */
};

static size_t padded(size_t count)
{
	return (count + NN_Q16_PADDING - 1) / NN_Q16_PADDING * NN_Q16_PADDING;
}

static void *take(char *base, size_t *at, size_t count, size_t size)
{
	void *part = base ? base + *at : NULL;

	*at += nn_kernel_aligned(padded(count) * size);
	return part;
}

/*
 * Divides the memory at `base`; if that is NULL, only counts. Returns the bytes that the parts
 * take.
 */
static size_t divide(const struct nn_qlstm *c, char *base, struct work *w)
{
	const size_t units = c->units;
	size_t at = 0, most = NN_QLSTM_GATES * padded(units);

	w->x = take(base, &at, c->size, sizeof(*w->x));
	w->h = take(base, &at, c->outputs, sizeof(*w->h));
	w->hidden = take(base, &at, units, sizeof(*w->hidden));
	for (uint32_t g = 0; g < NN_QLSTM_GATES; g++)
		w->gates[g] = take(base, &at, units, sizeof(*w->gates[g]));
	w->squashed = take(base, &at, units, sizeof(*w->squashed));
	w->sums = take(base, &at, most > c->outputs ? most : c->outputs, sizeof(*w->sums));
	return at;
}

/* Whether the cell's dimensions are some that it can be computed for. */
static bool is_shape(const struct nn_qlstm *c)
{
	return c->batch && c->size - 1 < MAX_DEPTH && c->units - 1 < MAX_DEPTH &&
	       c->outputs - 1 < MAX_DEPTH;
}

static bool complete(void *state, struct nn_ready *ready)
{
	const struct lstm *l = state;
	struct work work;

	ready->scratch_size = divide(&l->cell, NULL, &work);
	ready->tasks = 1;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct lstm *l = ready->state;

	l->has_projection_bias = !r->inputs[NN_QLSTM_PROJECTION_BIAS].omitted;
	return !nn_qlstm_read(r, &l->cell) && is_shape(&l->cell) && complete(l, ready);
}

/* ---- Running ---- */

/* Copies bytes without their zero point; elements behind them up to padded() are zeroed. */
static void widen(const uint8_t *from, uint8_t flip, int32_t zero, size_t count, int16_t *to)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (int16_t)((from[i] ^ flip) - zero);
	memset(to + count, 0, (padded(count) - count) * sizeof(*to));
}

static void squash(const struct nn_isa *isa, bool is_tanh, uint32_t integer_bits,
		   const int16_t *in, int16_t *out, size_t count)
{
	const struct nn_squash_q16 s = { is_tanh, integer_bits, count, in, out };

	isa->squash_q16(&s);
}

static void scale(const struct nn_isa *isa, const int32_t *sums, const int32_t *bias,
		  const struct nn_multiplier *m, bool add, int16_t *values, size_t count)
{
	const struct nn_scale_q16 s = {
		.count = count,
		.sums = sums,
		.bias = bias,
		.multiplier = m->value,
		.shift = m->shift,
		.add = add,
		.values = values,
	};

	isa->scale_q16(&s);
}

/* The products of all gates, cut in blocks of rows. */
struct product {
	const struct nn_kernel_call *call;
	const struct lstm *l;
	const struct work *w;
	uint32_t blocks;		/* of a gate */
};

/* Computes rows [first, first + count) of a gate: weights times x, scaled, then weights times h. */
static void multiply(const struct product *p, uint32_t gate, size_t first, size_t count)
{
	const struct lstm *l = p->l;
	const struct nn_qlstm *c = &l->cell;
	const struct nn_isa *isa = p->call->ready->isa;
	const void *const *inputs = p->call->inputs;
	const int32_t *bias = inputs[NN_QLSTM_BIAS + gate];
	int16_t *values = p->w->gates[gate] + first;
	struct nn_dots_q16 d = {
		.rows = count,
		.depth = c->size,
		.weights = (const uint8_t *)inputs[NN_QLSTM_WEIGHTS + gate] + first * c->size,
		.x = p->w->x,
		.sums = p->w->sums + gate * padded(c->units) + first,
	};

	isa->dots_q16(&d);
	scale(isa, d.sums, c->normalized ? NULL : bias + first, &c->input[gate], false, values,
	      count);
	d.depth = c->outputs;
	d.weights = (const uint8_t *)inputs[NN_QLSTM_RECURRENT + gate] + first * c->outputs;
	d.x = p->w->h;
	isa->dots_q16(&d);
	scale(isa, d.sums, NULL, &c->recurrent[gate], true, values, count);
}

static void run_block(void *arg, uint32_t task, uint32_t thread)
{
	const struct product *p = arg;
	const size_t units = p->l->cell.units, first = task % p->blocks * BLOCK_ROWS;
	const size_t count = units - first < BLOCK_ROWS ? units - first : BLOCK_ROWS;
	uint32_t gate = task / p->blocks + (p->l->cell.cifg ? NN_QLSTM_FORGET : NN_QLSTM_IN);

	(void)thread;
	multiply(p, gate, first, count);
}

/* The products of one row of the batch. */
static void multiply_all(const struct nn_kernel_call *call, const struct lstm *l,
			 const struct work *w)
{
	const struct nn_qlstm *c = &l->cell;
	const uint64_t products = (uint64_t)NN_QLSTM_GATES * c->units * (c->size + c->outputs);
	const uint32_t gates = c->cifg ? NN_QLSTM_GATES - 1 : NN_QLSTM_GATES;
	struct product p = { call, l, w, (c->units + BLOCK_ROWS - 1) / BLOCK_ROWS };

	threads_run(run_block, &p, gates * p.blocks, products >= MIN_SHARED ? call->threads : 1);
}

/* Finishes a gate before its activation; the peephole looks at `state`. */
static void end_gate(const struct nn_kernel_call *call, const struct nn_qlstm *c,
		     const struct work *w, uint32_t gate, const int16_t *state)
{
	const struct nn_isa *isa = call->ready->isa;

	if (c->peephole && gate != NN_QLSTM_CELL) {
		const int16_t *weights = call->inputs[nn_qlstm_peephole(gate)];

		for (size_t u = 0; u < c->units; u++)
			w->sums[u] = weights[u] * state[u];
		scale(isa, w->sums, NULL, &c->peep[gate], true, w->gates[gate], c->units);
	}
	if (c->normalized)
		nn_qlstm_normalize(call->inputs[NN_QLSTM_LAYER_NORM + gate],
				   call->inputs[NN_QLSTM_BIAS + gate], c->norm[gate], c->units,
				   w->gates[gate]);
	squash(isa, gate == NN_QLSTM_CELL, 3, w->gates[gate], w->gates[gate], c->units);
}

/* Values with a zero point added, to signed bytes. */
static void narrow(const int16_t *values, int32_t zero, int32_t limit, size_t count, int8_t *to)
{
	for (size_t i = 0; i < count; i++) {
		int32_t v = values[i] + zero;

		v = v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v;
		to[i] = (int8_t)nn_qlstm_clip(v, limit);
	}
}

/* The output of a row from its hidden values, which have no zero point yet. */
static void project(const struct nn_kernel_call *call, const struct lstm *l,
		    const struct work *w, const int8_t *hidden, int8_t *out)
{
	const struct nn_qlstm *c = &l->cell;
	const int32_t *bias = l->has_projection_bias ? call->inputs[NN_QLSTM_PROJECTION_BIAS] :
						       NULL;
	const struct nn_dots_q16 d = {
		.rows = c->outputs,
		.depth = c->units,
		.weights = call->inputs[NN_QLSTM_PROJECTION],
		.x = w->hidden,
		.sums = w->sums,
	};

	widen((const uint8_t *)hidden, 0x80, 128 - c->hidden_zero, c->units, w->hidden);
	call->ready->isa->dots_q16(&d);
	scale(call->ready->isa, w->sums, bias, &c->project, false, w->h, c->outputs);
	narrow(w->h, c->state_zero, c->projection_limit, c->outputs, out);
}

/* Computes one row of the batch after its products with the weights. */
static void step(const struct nn_kernel_call *call, const struct lstm *l,
		 const struct work *w, const int16_t *state, int16_t *next, int8_t *out)
{
	const struct nn_qlstm *c = &l->cell;
	const struct nn_isa *isa = call->ready->isa;
	int16_t *in = w->gates[NN_QLSTM_IN], *forget = w->gates[NN_QLSTM_FORGET];
	int16_t *cell = w->gates[NN_QLSTM_CELL], *outgate = w->gates[NN_QLSTM_OUT];
	/* The first of the gates is not read any more then. */
	int8_t *hidden = c->projection ? (int8_t *)in : out;

	end_gate(call, c, w, NN_QLSTM_FORGET, state);
	if (!c->cifg)
		end_gate(call, c, w, NN_QLSTM_IN, state);
	end_gate(call, c, w, NN_QLSTM_CELL, state);
	for (size_t u = 0; u < c->units; u++) {
		int32_t input = c->cifg ? INT16_MAX - forget[u] : in[u];
		int32_t kept = nn_rdp(forget[u] * state[u], 15);
		int32_t added = nn_rdp(input * cell[u], 30 + c->cell_shift);

		next[u] = (int16_t)nn_qlstm_clip(nn_saturate16(kept + added), c->cell_limit);
	}
	end_gate(call, c, w, NN_QLSTM_OUT, next);
	squash(isa, true, (uint32_t)(15 + c->cell_shift), next, w->squashed, c->units);
	for (size_t u = 0; u < c->units; u++)
		w->sums[u] = outgate[u] * w->squashed[u];
	scale(isa, w->sums, NULL, &c->hidden, false, w->squashed, c->units);
	narrow(w->squashed, -c->hidden_zero, 0, c->units, hidden);
	if (c->projection)
		project(call, l, w, hidden, out);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct lstm *l = call->ready->state;
	const struct nn_qlstm *c = &l->cell;
	const uint8_t *x = call->inputs[NN_QLSTM_INPUT], *h = call->inputs[NN_QLSTM_STATE_H];
	const int16_t *state = call->inputs[NN_QLSTM_STATE_C];
	int16_t *next = call->outputs[1];
	int8_t *out = call->outputs[0];
	struct work w;

	(void)task;
	divide(c, scratch, &w);
	for (size_t b = 0; b < c->batch; b++) {
		widen(x + b * c->size, 0x80, c->input_zero + 128, c->size, w.x);
		widen(h + b * c->outputs, 0x80, c->state_zero + 128, c->outputs, w.h);
		multiply_all(call, l, &w);
		step(call, l, &w, state + b * c->units, next + b * c->units, out + b * c->outputs);
	}
	memcpy(call->outputs[2], out, (size_t)c->batch * c->outputs);
}

NN_KERNEL(quantized_lstm, "quantized LSTM", sizeof(struct lstm),
	  NN_TAKES(NN_OP_QUANTIZED_LSTM), .inputs = NN_QLSTM_CELL_CLIP,
	  .more_outputs = 2);
