/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZED_LSTM: an integer LSTM cell with 8-bit weights and activations, 16-bit cell state, and
 * optional peepholes, layer normalisation and projection.
 */
#include <math.h>
#include <string.h>

#include "base/round.h"
#include "ops/axis.h"
#include "ops/check.h"
#include "ops/lstm_cell.h"
#include "ops/quantized_lstm.h"

#define MIN_SHARED 1000000	/* minimum number of products for which several threads are used */
#define BLOCK_ROWS 64		/* number of a gate's rows that one task multiplies */

/*
 * Checks shapes by the rules of the float LSTM cell. Except for layer_norm, the inputs of the float
 * cell and of QUANTIZED_LSTM have the same indices.
 */
static enum nn_status cell_shape(const struct nn_run *r, struct nn_qlstm *c)
{
	const struct nn_tensor *x = &r->inputs[NN_QLSTM_INPUT];
	struct nn_lstm_cell cell = {
		.weights = NN_QLSTM_WEIGHTS,
		.state_h = NN_QLSTM_STATE_H,
		.state_c = NN_QLSTM_STATE_C,
		.layer_norm = NN_QLSTM_LAYER_NORM,
	};
	enum nn_status status;

	status = nn_lstm_cell_shape(r, &cell, x->dims[0], x->dims[1]);
	*c = (struct nn_qlstm){
		.batch = cell.batch, .size = cell.size, .units = cell.units, .outputs = cell.outputs,
		.cifg = cell.cifg, .peephole = cell.peephole, .projection = cell.projection,
		.normalized = cell.normalized,
		.has_projection_bias = !r->inputs[NN_QLSTM_PROJECTION_BIAS].omitted,
	};
	return status;
}

/* Rounds a factor to float, as the NNAPI's reference does, and encodes the rounded factor. */
static bool encode(double factor, struct nn_multiplier *m)
{
	return nn_quant_encode((double)(float)factor, m);
}

/*
 * Computes a gate's multipliers from the scales of the gate's tensors and of its intermediate
 * result.
 */
static bool gate_multipliers(const struct nn_run *r, struct nn_qlstm *c, uint32_t g)
{
	const struct nn_tensor *in = r->inputs;
	const struct nn_tensor *peep = &in[nn_qlstm_peephole(g)];
	float scale = nn_run_float(r, NN_QLSTM_SCALES + g, 0);

	if (!(scale > 0) ||
	    !encode((double)(in[NN_QLSTM_WEIGHTS + g].scale * in[NN_QLSTM_INPUT].scale / scale),
		    &c->input[g]) ||
	    !encode((double)(in[NN_QLSTM_RECURRENT + g].scale * in[NN_QLSTM_STATE_H].scale / scale),
		    &c->recurrent[g]))
		return false;
	if (c->peephole && g != NN_QLSTM_CELL &&
	    !encode(ldexp((double)peep->scale, c->cell_shift) / (double)scale, &c->peep[g]))
		return false;
	return !c->normalized || encode((double)in[NN_QLSTM_LAYER_NORM + g].scale, &c->norm[g]);
}

/*
 * Converts a real limit to a multiple of `unit`, but at most to the type's maximum `most`. A limit
 * of 0 means no limit.
 */
static int32_t clip_limit(float limit, float unit, int32_t most)
{
	return limit > 0 ? (int32_t)fminf(limit / unit, (float)most) : 0;
}

/* Converts all scales of the operation to multipliers, and real limits to quantised limits. */
static enum nn_status multipliers(const struct nn_run *r, struct nn_qlstm *c)
{
	double log = round(log2((double)r->inputs[NN_QLSTM_STATE_C].scale));
	float hidden_scale = nn_run_float(r, NN_QLSTM_HIDDEN_SCALE, 0);
	int32_t hidden_zero = nn_run_int(r, NN_QLSTM_HIDDEN_ZERO, 0);
	bool good;

	if (!(log >= -15 && log <= -9) ||
	    !(fabs(log2((double)r->inputs[NN_QLSTM_STATE_C].scale) - log) < 1e-3))
		return nn_run_fail(r,
				   "the cell state's scale %g must be a power of 2 from 2^-15 to "
				   "2^-9", (double)r->inputs[NN_QLSTM_STATE_C].scale);
	if (hidden_zero < INT8_MIN || hidden_zero > INT8_MAX)
		return nn_run_fail(r, "input %u: the zero point %d does not fit 8 bits",
				   NN_QLSTM_HIDDEN_ZERO, hidden_zero);
	c->cell_shift = (int32_t)log;
	c->input_zero = r->inputs[NN_QLSTM_INPUT].zero_point;
	c->state_zero = r->inputs[NN_QLSTM_STATE_H].zero_point;
	c->hidden_zero = hidden_zero;
	c->cell_limit = clip_limit(nn_run_float(r, NN_QLSTM_CELL_CLIP, 0),
				   r->inputs[NN_QLSTM_STATE_C].scale, INT16_MAX);
	c->projection_limit = clip_limit(nn_run_float(r, NN_QLSTM_PROJECTION_CLIP, 0),
					 r->inputs[NN_QLSTM_PROJECTION].scale, INT8_MAX);
	good = hidden_scale > 0 && encode(0x1p-30 / (double)hidden_scale, &c->hidden);
	for (uint32_t g = c->cifg ? NN_QLSTM_FORGET : NN_QLSTM_IN; good && g < NN_QLSTM_GATES; g++)
		good = gate_multipliers(r, c, g);
	if (good && c->projection)
		good = encode((double)(r->inputs[NN_QLSTM_PROJECTION].scale * hidden_scale /
				       r->inputs[NN_QLSTM_STATE_H].scale), &c->project);
	return good ? NN_OK : nn_run_fail(r, "the quotient of the scales cannot be represented");
}

enum nn_status nn_qlstm_read(const struct nn_run *r, struct nn_qlstm *c)
{
	enum nn_status status = cell_shape(r, c);

	return status ? status : multipliers(r, c);
}

static enum nn_status infer_quantized_lstm(struct nn_run *r)
{
	struct nn_qlstm c;
	enum nn_status status = nn_qlstm_read(r, &c);

	if (status)
		return status;
	for (uint32_t i = 0; i < 3; i++) {
		nn_tensor_like(&r->outputs[i],
			       &r->inputs[i == 1 ? NN_QLSTM_STATE_C : NN_QLSTM_STATE_H]);
		nn_recurrent_output(r, i, c.batch, i == 1 ? c.units : c.outputs, 0);
	}
	return NN_OK;
}

static int32_t saturate32(int64_t v)
{
	return (int32_t)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}

static int32_t clip(int32_t v, int32_t limit)
{
	return limit > 0 && v < -limit ? -limit : limit > 0 && v > limit ? limit : v;
}

/* Normalises a row of a gate, which has `units` elements, in place. */
static void normalize(const int16_t *gain, const int32_t *bias, struct nn_multiplier norm,
		      uint32_t units, int16_t *row)
{
	int64_t sum = 0, squares = 0, n = units, variance;
	int32_t mean, factor, shift;

	for (uint32_t u = 0; u < units; u++) {
		sum += row[u];
		squares += (int32_t)row[u] * row[u];
	}
	mean = (int32_t)(sum * 1024 / n);
	variance = (squares * (0x100000 / n) - (int64_t)mean * mean) / 0x100000;
	if (variance < 1)
		variance = 1;
	nn_quant_inverse_sqrt(saturate32(variance), &factor, &shift);
	for (uint32_t u = 0; u < units; u++) {
		int32_t shifted = saturate32(1024 * (int64_t)row[u] - mean);
		int64_t t = (int64_t)nn_mbqm(shifted, factor, shift) * gain[u] + bias[u];
		int32_t rounded = saturate32((t + (t > 0 ? 512 : -512)) / 1024);

		row[u] = nn_saturate16(nn_mbqm(rounded, norm.value, norm.shift + 12));
	}
}

/* The temporary arrays for one run of a cell, all in one allocation. */
struct work {
	int16_t *x;			/* input minus its zero point, padded with zeros */
	int16_t *h;
	int16_t *hidden;		/* hidden values to be projected, padded with zeros */
	int16_t *gates[NN_QLSTM_GATES];	/* [units] */
	int16_t *squashed;		/* [units] */
	/* dot products of the gates, [gates, units], or of the projection, [outputs] */
	int32_t *sums;
};

static size_t padded(size_t count)
{
	return (count + NN_Q16_PADDING - 1) / NN_Q16_PADDING * NN_Q16_PADDING;
}

static void *take(char *base, size_t *at, size_t count, size_t size)
{
	void *part = base ? base + *at : NULL;

	*at += round_up(padded(count) * size, 64);
	return part;
}

/*
 * Divides the memory at `base` into the arrays of `w`, or only computes the arrays' size if `base`
 * is NULL. Returns the size of all arrays in bytes.
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

size_t nn_qlstm_scratch(const struct nn_qlstm *c)
{
	struct work work;

	return divide(c, NULL, &work);
}

/*
 * Converts bytes to 16-bit values minus the zero point, and appends zeros up to padded() elements.
 */
static void widen(const uint8_t *from, uint8_t flip, int32_t zero, size_t count, int16_t *to)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (int16_t)((from[i] ^ flip) - zero);
	memset(to + count, 0, (padded(count) - count) * sizeof(*to));
}

static void scale(const struct nn_qlstm_run *r, const int32_t *sums, const int32_t *bias,
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

	r->loops->scale(&s);
}

/* The matrix products of all gates, divided into blocks of rows. */
struct product {
	const struct nn_qlstm_run *r;
	const struct work *w;
	uint32_t blocks;		/* number of blocks of a gate */
};

/*
 * Computes rows [first, first + count) of a gate: the scaled products of the weights and x, plus
 * the scaled products of the recurrent weights and h.
 */
static void multiply(const struct product *p, uint32_t gate, size_t first, size_t count)
{
	const struct nn_qlstm_run *r = p->r;
	const struct nn_qlstm *c = r->cell;
	const void *const *inputs = r->inputs;
	const int32_t *bias = inputs[NN_QLSTM_BIAS + gate];
	int16_t *values = p->w->gates[gate] + first;
	struct nn_dots_q16 d = {
		.rows = count,
		.depth = c->size,
		.weights = (const uint8_t *)inputs[NN_QLSTM_WEIGHTS + gate] + first * c->size,
		.x = p->w->x,
		.sums = p->w->sums + gate * padded(c->units) + first,
	};

	r->loops->dots(&d);
	scale(r, d.sums, c->normalized ? NULL : bias + first, &c->input[gate], false, values,
	      count);
	d.depth = c->outputs;
	d.weights = (const uint8_t *)inputs[NN_QLSTM_RECURRENT + gate] + first * c->outputs;
	d.x = p->w->h;
	r->loops->dots(&d);
	scale(r, d.sums, NULL, &c->recurrent[gate], true, values, count);
}

static void run_block(void *arg, uint32_t task, uint32_t thread)
{
	const struct product *p = arg;
	const struct nn_qlstm *c = p->r->cell;
	const size_t units = c->units, first = task % p->blocks * BLOCK_ROWS;
	const size_t count = units - first < BLOCK_ROWS ? units - first : BLOCK_ROWS;
	uint32_t gate = task / p->blocks + (c->cifg ? NN_QLSTM_FORGET : NN_QLSTM_IN);

	(void)thread;
	multiply(p, gate, first, count);
}

/* Computes the matrix products of all gates for one row of the batch. */
static void multiply_all(const struct nn_qlstm_run *r, const struct work *w)
{
	const struct nn_qlstm *c = r->cell;
	const uint64_t products = (uint64_t)NN_QLSTM_GATES * c->units * (c->size + c->outputs);
	const uint32_t gates = c->cifg ? NN_QLSTM_GATES - 1 : NN_QLSTM_GATES;
	struct product p = { r, w, (c->units + BLOCK_ROWS - 1) / BLOCK_ROWS };

	r->each(run_block, &p, gates * p.blocks, products >= MIN_SHARED ? r->threads : 1);
}

/*
 * Finishes a gate: adds the product of the peephole weights with `state`, normalises the gate, and
 * applies the activation function.
 */
static void end_gate(const struct nn_qlstm_run *r, const struct work *w, uint32_t gate,
		     const int16_t *state)
{
	const struct nn_qlstm *c = r->cell;
	int16_t *values = w->gates[gate];

	if (c->peephole && gate != NN_QLSTM_CELL) {
		const int16_t *weights = r->inputs[nn_qlstm_peephole(gate)];

		for (size_t u = 0; u < c->units; u++)
			w->sums[u] = weights[u] * state[u];
		scale(r, w->sums, NULL, &c->peep[gate], true, values, c->units);
	}
	if (c->normalized)
		normalize(r->inputs[NN_QLSTM_LAYER_NORM + gate], r->inputs[NN_QLSTM_BIAS + gate],
			  c->norm[gate], c->units, values);
	r->loops->squash(&(struct nn_squash_q16){ gate == NN_QLSTM_CELL, 3, c->units, values,
						  values });
}

/* Adds a zero point to values, and converts the sums to int8. */
static void narrow(const int16_t *values, int32_t zero, int32_t limit, size_t count, int8_t *to)
{
	for (size_t i = 0; i < count; i++) {
		int32_t v = values[i] + zero;

		v = v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v;
		to[i] = (int8_t)clip(v, limit);
	}
}

/* Computes the output of a row of the batch from the row's hidden values. */
static void project(const struct nn_qlstm_run *r, const struct work *w, const int8_t *hidden,
		    int8_t *out)
{
	const struct nn_qlstm *c = r->cell;
	const int32_t *bias = c->has_projection_bias ? r->inputs[NN_QLSTM_PROJECTION_BIAS] : NULL;
	const struct nn_dots_q16 d = {
		.rows = c->outputs,
		.depth = c->units,
		.weights = r->inputs[NN_QLSTM_PROJECTION],
		.x = w->hidden,
		.sums = w->sums,
	};

	widen((const uint8_t *)hidden, 0x80, 128 - c->hidden_zero, c->units, w->hidden);
	r->loops->dots(&d);
	scale(r, w->sums, bias, &c->project, false, w->h, c->outputs);
	narrow(w->h, c->state_zero, c->projection_limit, c->outputs, out);
}

/*
 * Computes one row of the batch, after multiply_all() has computed the row's products with the
 * weights.
 */
static void step(const struct nn_qlstm_run *r, const struct work *w, const int16_t *state,
		 int16_t *next, int8_t *out)
{
	const struct nn_qlstm *c = r->cell;
	const uint32_t bits = (uint32_t)(15 + c->cell_shift);
	int16_t *in = w->gates[NN_QLSTM_IN], *forget = w->gates[NN_QLSTM_FORGET];
	int16_t *cell = w->gates[NN_QLSTM_CELL], *outgate = w->gates[NN_QLSTM_OUT];
	/*
	 * The array `hidden` uses the memory of the input gate, which is no longer needed when
	 * `hidden` is written.
	 */
	int8_t *hidden = c->projection ? (int8_t *)in : out;

	end_gate(r, w, NN_QLSTM_FORGET, state);
	if (!c->cifg)
		end_gate(r, w, NN_QLSTM_IN, state);
	end_gate(r, w, NN_QLSTM_CELL, state);
	for (size_t u = 0; u < c->units; u++) {
		int32_t input = c->cifg ? INT16_MAX - forget[u] : in[u];
		int32_t kept = nn_rdp(forget[u] * state[u], 15);
		int32_t added = nn_rdp(input * cell[u], 30 + c->cell_shift);

		next[u] = (int16_t)clip(nn_saturate16(kept + added), c->cell_limit);
	}
	end_gate(r, w, NN_QLSTM_OUT, next);
	r->loops->squash(&(struct nn_squash_q16){ true, bits, c->units, next, w->squashed });
	for (size_t u = 0; u < c->units; u++)
		w->sums[u] = outgate[u] * w->squashed[u];
	scale(r, w->sums, NULL, &c->hidden, false, w->squashed, c->units);
	narrow(w->squashed, -c->hidden_zero, 0, c->units, hidden);
	if (c->projection)
		project(r, w, hidden, out);
}

void nn_qlstm_run(const struct nn_qlstm_run *r)
{
	const struct nn_qlstm *c = r->cell;
	const uint8_t *x = r->inputs[NN_QLSTM_INPUT], *h = r->inputs[NN_QLSTM_STATE_H];
	const int16_t *state = r->inputs[NN_QLSTM_STATE_C];
	int16_t *next = r->outputs[1];
	int8_t *out = r->outputs[0];
	struct work w;

	divide(c, r->scratch, &w);
	for (size_t b = 0; b < c->batch; b++) {
		widen(x + b * c->size, 0x80, c->input_zero + 128, c->size, w.x);
		widen(h + b * c->outputs, 0x80, c->state_zero + 128, c->outputs, w.h);
		multiply_all(r, &w);
		step(r, &w, state + b * c->units, next + b * c->units, out + b * c->outputs);
	}
	memcpy(r->outputs[2], out, (size_t)c->batch * c->outputs);
}

/* ---- The loops for any CPU ---- */

static void dots(const struct nn_dots_q16 *d)
{
	for (size_t i = 0; i < d->rows; i++) {
		const int8_t *weights = (const int8_t *)d->weights + i * d->depth;
		int64_t sum = d->add ? d->sums[i] : 0;

		for (size_t k = 0; k < d->depth; k++)
			sum += weights[k] * d->x[k];
		d->sums[i] = saturate32(sum);
	}
}

static void scale_all(const struct nn_scale_q16 *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const int32_t sum = saturate32((int64_t)s->sums[i] + (s->bias ? s->bias[i] : 0));
		const int16_t value = nn_saturate16(nn_mbqm(sum, s->multiplier, s->shift));

		s->values[i] = s->add ? nn_saturate16((int64_t)s->values[i] + value) : value;
	}
}

static void squash(const struct nn_squash_q16 *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->out[i] = s->is_tanh ? nn_quant_tanh16(s->in[i], s->integer_bits) :
					 nn_quant_logistic16(s->in[i], s->integer_bits);
}

static void each(void (*fn)(void *arg, uint32_t task, uint32_t thread), void *arg, uint32_t count,
		 uint32_t threads)
{
	(void)threads;
	for (uint32_t task = 0; task < count; task++)
		fn(arg, task, 0);
}

static enum nn_status execute_quantized_lstm(struct nn_run *r)
{
	static const struct nn_qlstm_loops loops = { dots, scale_all, squash };
	const void *inputs[NN_QLSTM_INPUTS];
	void *outputs[3];
	struct nn_qlstm c;
	struct nn_qlstm_run run = { .cell = &c, .loops = &loops, .each = each, .threads = 1,
				    .inputs = inputs, .outputs = outputs };
	enum nn_status status = nn_qlstm_read(r, &c);

	if (status)
		return status;
	for (uint32_t i = 0; i < NN_QLSTM_INPUTS; i++)
		inputs[i] = r->inputs[i].data;
	for (uint32_t i = 0; i < 3; i++)
		outputs[i] = r->outputs[i].data;
	run.scratch = nn_run_alloc(r, nn_qlstm_scratch(&c), 1);
	if (!run.scratch)
		return NN_OUT_OF_MEMORY;
	nn_qlstm_run(&run);
	return NN_OK;
}

#define BYTES { NN_T(NN_TENSOR_QUANT8_ASYMM_SIGNED), 2, 2 }
#define WEIGHTS { NN_T(NN_TENSOR_QUANT8_SYMM), 2, 2 }
#define VECTOR { NN_T(NN_TENSOR_QUANT16_SYMM), 1, 1 }
#define STATE { NN_T(NN_TENSOR_QUANT16_SYMM), 2, 2 }
#define BIAS { NN_T(NN_TENSOR_INT32), 1, 1 }
#define REAL { NN_T(NN_FLOAT32), 0, 0 }

NN_OPERATION(QUANTIZED_LSTM,
	NN_INPUTS(NN_QLSTM_INPUTS, BYTES, [NN_QLSTM_WEIGHTS ... NN_QLSTM_PEEPHOLE - 1] = WEIGHTS,
		  [NN_QLSTM_PEEPHOLE ... NN_QLSTM_BIAS - 1] = VECTOR,
		  [NN_QLSTM_BIAS ... NN_QLSTM_PROJECTION - 1] = BIAS,
		  [NN_QLSTM_PROJECTION] = WEIGHTS, [NN_QLSTM_PROJECTION_BIAS] = BIAS,
		  [NN_QLSTM_STATE_H] = BYTES, [NN_QLSTM_STATE_C] = STATE,
		  [NN_QLSTM_LAYER_NORM ... NN_QLSTM_CELL_CLIP - 1] = VECTOR,
		  [NN_QLSTM_CELL_CLIP ... NN_QLSTM_HIDDEN_ZERO - 1] = REAL,
		  [NN_QLSTM_HIDDEN_ZERO] = NN_SCALAR_INT, [NN_QLSTM_HIDDEN_SCALE] = REAL),
	NN_OUTPUTS(BYTES, STATE, BYTES),
	.dims = "bs " NN_LSTM_CELL_DIMS("u", "s", "o") "bo bu " NN_FOUR("u"),
	.omissible = NN_IN(1) | NN_IN(5) | NN_IN(9) | NN_IN(10) | NN_IN(11) | NN_IN(12) |
		    NN_IN(16) | NN_IN(17) | NN_IN(20) | NN_IN(21) | NN_IN(22) | NN_IN(23),
	.infer = infer_quantized_lstm, .execute = execute_quantized_lstm);
