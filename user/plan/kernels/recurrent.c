/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plan/kernels/gemm.h"
#include "plan/kernels/recurrent.h"
#include "plan/run/threads.h"

#define MAX_ROWS 56		/* maximum number of input rows that are multiplied at a time */
/*
 * Several threads compute a product of at least MIN_SHARED multiplications if the other threads are
 * awake, and of at least MIN_WAKING multiplications if the other threads sleep.
 */
#define MIN_SHARED 200000
#define MIN_WAKING 2000000
#define MIN_PACKED_ROWS 8	/* minimum number of rows for packing weights in each execution */

#define NN_STATE struct nn_recurrent
const struct nn_field nn_recurrent_fields[] = {
	DIMENSION(sequence.steps), DIMENSION(sequence.batch), DIMENSION(sequence.size),
	FLAG(sequence.time_major), DIMENSION(units), DIMENSION(outputs),
	POSITION(x), POSITION(aux), POSITION(state), FLAG(backward), FLAG(single), FLAG(packs),
	WORD(out, 0, NN_SAVED_OUTPUTS - 1), WORD(column, 0, INT32_MAX), DIMENSION(columns),
	LIMIT(UINT32_MAX, units, sequence.size), LIMIT(UINT32_MAX, units, outputs),
	SPAN(INPUT_AT(x, 0), FLOATS, sequence.steps, sequence.batch, sequence.size),
	WHEN(aux, SET,
	     DIMENSION(aux_size), LIMIT(UINT32_MAX, units, aux_size),
	     SPAN(INPUT_AT(aux, 0), FLOATS, sequence.steps, sequence.batch, aux_size)),
	SPAN(INPUT_AT(state, 0), FLOATS, sequence.batch, outputs),
	WHEN(single, IS(false),
	     SPAN(OUTPUT_AT(out, 0), FLOATS, sequence.steps, sequence.batch, columns)),
	END
};

/* Returns whether all weights and biases are constants. */
static bool is_constant(const struct nn_run *r, const struct nn_recurrent *l)
{
	bool fine = true;

	for (uint32_t g = 0; g < l->gates; g++) {
		const struct nn_gate_weights *w = &l->weights[g];

		fine = fine && r->inputs[w->input].data && r->inputs[w->recurrent].data &&
		       r->inputs[w->bias].data && (!l->aux || r->inputs[w->aux].data);
	}
	return fine;
}

bool nn_recurrent_complete(struct nn_ready *ready, struct nn_recurrent *l)
{
	const struct nn_isa *isa = ready->isa;
	const struct nn_sequence *s = &l->sequence;

	l->width = (size_t)l->gates * l->units;
	l->chunk = s->batch < MAX_ROWS ? MAX_ROWS / s->batch : 1;
	if (l->chunk > s->steps)
		l->chunk = s->steps;
	l->input_size = nn_gemm_panels_f32(isa, l->units, s->size);
	l->recurrent_size = nn_gemm_panels_f32(isa, l->units, l->outputs);
	if (l->aux)
		l->aux_packed_size = nn_gemm_panels_f32(isa, l->units, l->aux_size);
	l->packed = ready->packed_size / sizeof(float);
	ready->packed_size += l->gates * (l->input_size + l->aux_packed_size +
					  l->recurrent_size) * sizeof(float);
	return l->column <= l->columns && l->outputs <= l->columns - l->column;
}

bool nn_recurrent_prepare(const struct nn_run *r, struct nn_ready *ready, struct nn_recurrent *l)
{
	const struct nn_sequence *s = &l->sequence;

	if (!s->steps || !s->batch || !s->size || !l->units || !l->outputs ||
	    (l->aux && !l->aux_size))
		return false;
	if (!is_constant(r, l))
		ready->pack_tasks = 1;
	return !ready->pack_tasks || (uint64_t)s->steps * s->batch >= MIN_PACKED_ROWS;
}

/* ---- Packing ---- */

void nn_recurrent_pack(const struct nn_run *r, const struct nn_ready *ready,
		       const struct nn_recurrent *l, void *packed)
{
	float *to = (float *)packed + l->packed;

	for (uint32_t g = 0; g < l->gates; g++, to += l->input_size)
		nn_gemm_pack_rows_f32(ready->isa, r->inputs[l->weights[g].input].data,
				      l->weights[g].has_bias ?
				      r->inputs[l->weights[g].bias].data : NULL,
				      l->units, l->sequence.size, to);
	for (uint32_t g = 0; g < l->gates && l->aux; g++, to += l->aux_packed_size)
		nn_gemm_pack_rows_f32(ready->isa, r->inputs[l->weights[g].aux].data, NULL,
				      l->units, l->aux_size, to);
	for (uint32_t g = 0; g < l->gates; g++, to += l->recurrent_size)
		nn_gemm_pack_rows_f32(ready->isa, r->inputs[l->weights[g].recurrent].data, NULL,
				      l->units, l->outputs, to);
}

/* ---- Running ---- */

/* The arrays of one execution in its scratch memory. */
struct work {
	float *products;		/* products of the inputs: [chunk, batch, gates, units] */
	/* products of the auxiliary inputs: [chunk, batch, gates, units] */
	float *more;
	float *gates;			/* [batch, gates, units] */
	float *hidden[2];		/* [batch, outputs] */
};

/*
 * Divides the memory at `base` into the arrays of `w`, or only computes the arrays' size if `base`
 * is NULL. Returns the size of all arrays in floats.
 */
static size_t divide(const struct nn_recurrent *l, float *base, struct work *w)
{
	const size_t batch = l->sequence.batch, rows = l->chunk * batch * l->width;
	const size_t sizes[] = { rows, l->aux ? rows : 0, batch * l->width, batch * l->outputs,
				 batch * l->outputs };
	float **parts[] = { &w->products, &w->more, &w->gates, &w->hidden[0], &w->hidden[1] };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		*parts[i] = base ? base + at : NULL;
		at += (sizes[i] + NN_MAX_LANES - 1) / NN_MAX_LANES * NN_MAX_LANES;
	}
	return at;
}

size_t nn_recurrent_scratch(const struct nn_recurrent *l)
{
	struct work w;

	return divide(l, NULL, &w) * sizeof(float);
}

void nn_combine_f32(const struct nn_isa *isa, enum nn_binary operation, const float *a,
		    const float *b, float *out, size_t count)
{
	const struct nn_binary_f32 f = {
		.operation = operation,
		.rows = 1,
		.count = count,
		.a = a,
		.b = b,
		.out = out,
		.low = -INFINITY,
		.high = INFINITY,
	};

	isa->binary_f32(&f);
}

/*
 * A multiplication of rows by the packed weights of all gates; each task computes a block of
 * columns.
 */
struct product {
	const struct nn_isa *isa;
	const struct nn_recurrent *l;
	struct nn_gemm_f32 gemm;	/* the product with the first gate's weights */
	size_t panels_size;		/* floats in the packed weights of one gate */
	uint32_t blocks;		/* number of blocks of each gate */
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

/*
 * Returns whether several threads compute a product faster than one thread. The other threads are
 * awake if the products of single steps use several threads. Sleeping threads are woken only for
 * large products, because waking takes time.
 */
static bool is_shared(const struct nn_recurrent *l, size_t rows, size_t depth)
{
	bool awake = l->sequence.batch * l->width * l->outputs >= MIN_SHARED;

	return rows * l->width * depth >= (awake ? MIN_SHARED : MIN_WAKING);
}

/* Divides a product into enough blocks for all threads. */
static void divide_product(struct product *p, uint32_t threads)
{
	const size_t panel = NN_PANEL_VECTORS * p->isa->lanes, units = p->gemm.columns;
	size_t panels = (units + panel - 1) / panel, wanted = 2 * threads / p->l->gates;

	wanted = wanted < 1 ? 1 : wanted < panels ? wanted : panels;
	p->block_columns = (panels + wanted - 1) / wanted * panel;
	p->blocks = (uint32_t)((units + p->block_columns - 1) / p->block_columns);
}

/*
 * Multiplies `rows` rows of x by the packed weights of all gates. The rows of the result are
 * `stride` floats apart.
 */
static void multiply(const struct nn_kernel_call *call, const struct nn_recurrent *l,
		     const float *panels, size_t panels_size, const float *x, size_t rows,
		     size_t depth, float *out, size_t stride)
{
	struct product p = {
		.isa = call->ready->isa,
		.l = l,
		.gemm = nn_gemm_dense_f32(rows, l->units, depth, x, panels, out),
		.panels_size = panels_size,
	};
	uint32_t threads = l->is_alone && is_shared(l, rows, depth) ? call->threads : 1;

	p.gemm.c_stride = stride;
	divide_product(&p, threads);
	threads_run(run_block, &p, l->gates * p.blocks, threads);
}

/*
 * Multiplies `count` steps of a sequence, from step `first` on, by packed weights. Each row of the
 * sequence has `size` elements.
 */
static void multiply_steps(const struct nn_kernel_call *call, const struct nn_recurrent *l,
			   const float *panels, size_t panels_size, const float *x, size_t size,
			   uint32_t first, uint32_t count, float *products)
{
	const struct nn_sequence *s = &l->sequence;

	if (s->time_major) {
		multiply(call, l, panels, panels_size, x + (size_t)first * s->batch * size,
			 (size_t)count * s->batch, size, products, l->width);
		return;
	}
	for (size_t b = 0; b < s->batch; b++)
		multiply(call, l, panels, panels_size, x + (b * s->steps + first) * size, count,
			 size, products + b * l->width, s->batch * l->width);
}

/* Multiplies the inputs of `count` steps, from step `first` on, by the weights of all gates. */
static void multiply_inputs(const struct nn_kernel_call *call, const struct nn_recurrent *l,
			    uint32_t first, uint32_t count, const struct work *w)
{
	const struct nn_sequence *s = &l->sequence;
	const float *packed = (const float *)call->ready->packed + l->packed;

	multiply_steps(call, l, packed, l->input_size, call->inputs[l->x], s->size, first, count,
		       w->products);
	if (!l->aux)
		return;
	multiply_steps(call, l, packed + l->gates * l->input_size, l->aux_packed_size,
		       call->inputs[l->aux], l->aux_size, first, count, w->more);
	nn_combine_f32(call->ready->isa, NN_BINARY_ADD, w->products, w->more, w->products,
		       (size_t)count * s->batch * l->width);
}

const float *nn_recurrent_run(const struct nn_kernel_call *call, const struct nn_recurrent *l,
			      nn_recurrent_step *step, void *arg, void *scratch)
{
	const struct nn_sequence *s = &l->sequence;
	const float *packed = (const float *)call->ready->packed + l->packed;
	const float *recurrent = packed + l->gates * (l->input_size + l->aux_packed_size);
	const float *hidden = call->inputs[l->state];
	uint32_t first = 0;		/* first step whose input is in w.products */
	struct work w;

	divide(l, scratch, &w);
	for (uint32_t t = 0; t < s->steps; t++) {
		uint32_t left = s->steps - t, some = left < l->chunk ? left : l->chunk;
		uint32_t now = l->backward ? left - 1 : t;
		float *next = w.hidden[t & 1];

		if (t % l->chunk == 0) {
			first = l->backward ? left - some : t;
			multiply_inputs(call, l, first, some, &w);
		}
		multiply(call, l, recurrent, l->recurrent_size, hidden, s->batch, l->outputs,
			 w.gates, l->width);
		nn_combine_f32(call->ready->isa, NN_BINARY_ADD, w.gates,
			       w.products + (now - first) * s->batch * l->width, w.gates,
			       s->batch * l->width);
		step(call, arg, w.gates, next);
		if (!l->single)
			nn_sequence_write(call->outputs[l->out], s, now, next, l->outputs,
					  l->column, l->columns);
		hidden = next;
	}
	return hidden;
}
