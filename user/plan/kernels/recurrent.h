/* SPDX-License-Identifier: MIT */
/*
 * Code that all recurrent layers of floats share. The products of the inputs are computed for
 * several steps at a time. Then the products of the state are computed step by step. Products of
 * several gates can be computed as one.
 */
#ifndef NN_PLAN_KERNELS_RECURRENT_H
#define NN_PLAN_KERNELS_RECURRENT_H

#include "ops/recurrent.h"
#include "plan/kernels/fields.h"
#include "plan/kernels/kernel.h"

#define NN_RECURRENT_GATES 4

/*
 * Positions of the operation's inputs for one gate: weights and bias of the input, weights of the
 * state, and weights of the auxiliary input.
 */
struct nn_gate_weights {
	uint32_t input;
	uint32_t recurrent;
	uint32_t aux;
	uint32_t bias;
	bool has_bias;			/* if false, sums begin at 0 */
};

/*
 * A cell that runs along a sequence. The caller sets the fields before the empty line. The packed
 * weights of all gates for the input come first, then those for the auxiliary input, then those for
 * the state.
 */
struct nn_recurrent {
	struct nn_sequence sequence;
	uint32_t gates;
	struct nn_gate_weights weights[NN_RECURRENT_GATES];
	uint32_t units;			/* size of a gate */
	uint32_t outputs;		/* size of the state, which is also the output */
	uint32_t x;			/* position of the input sequence */
	/* Position of the auxiliary sequence with its own weights; 0 if there is no such input. */
	uint32_t aux;
	uint32_t aux_size;
	uint32_t state;			/* position of the first state */
	bool backward;
	bool is_alone;			/* the operation has only one cell */
	bool single;	/* the layer has one step, and its state is not an output sequence */
	bool packs;			/* each run packs the weights */
	uint32_t out;			/* output: position, first column, number of columns */
	uint32_t column;
	uint32_t columns;

	uint32_t chunk;			/* number of steps whose inputs are multiplied at a time */
	size_t width;			/* floats of a step's gates */
	size_t packed;	/* offset of the packed weights in floats; then sizes of a gate's: */
	size_t input_size;
	size_t aux_packed_size;
	size_t recurrent_size;
};

/*
 * Sets ready->pack_tasks if weights are no constants. Returns false if packing the weights in each
 * run takes too long, or if the sequence is empty.
 */
bool nn_recurrent_prepare(const struct nn_run *r, struct nn_ready *ready, struct nn_recurrent *l);

/* Saved fields: all except `gates` and `weights`. */
extern const struct nn_field nn_recurrent_fields[];

/*
 * Adds the layer's packed weights to those of `ready`, and sets the fields that depend on its
 * fields, `gates` and `weights`. Returns false if the layer's columns exceed those of the output.
 */
bool nn_recurrent_complete(struct nn_ready *ready, struct nn_recurrent *l);

/* Returns the bytes of scratch memory for a run, a multiple of NN_KERNEL_ALIGN. */
size_t nn_recurrent_scratch(const struct nn_recurrent *l);

void nn_recurrent_pack(const struct nn_run *r, const struct nn_ready *ready,
		       const struct nn_recurrent *l, void *packed);

/*
 * Computes the next state of a cell from the sums of all gates [batch, gates, units], which the
 * function may change.
 */
typedef void nn_recurrent_step(const struct nn_kernel_call *call, void *arg, float *gates,
			       float *next);

/* Runs a cell from the first step to the last. Returns the last state, which lies in `scratch`. */
const float *nn_recurrent_run(const struct nn_kernel_call *call, const struct nn_recurrent *l,
			      nn_recurrent_step *step, void *arg, void *scratch);

/* out[i] = a[i] operation b[i] */
void nn_combine_f32(const struct nn_isa *isa, enum nn_binary operation, const float *a,
		    const float *b, float *out, size_t count);

#endif /* NN_PLAN_KERNELS_RECURRENT_H */
