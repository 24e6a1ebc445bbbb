/* SPDX-License-Identifier: MIT */
/*
 * Parts that recurrent layers of floats share. The products of several steps' inputs are computed
 * at a time. Then the products of the state follow step by step, for one gate or for several side
 * by side.
 */
#ifndef NN_PLAN_KERNELS_RECURRENT_H
#define NN_PLAN_KERNELS_RECURRENT_H

#include "ops/recurrent.h"
#include "plan/kernels/fields.h"
#include "plan/kernels/kernel.h"

#define NN_RECURRENT_GATES 4

/*
 * Positions of one gate's inputs: weights with a bias, weights of the state, weights of the
 * auxiliary input.
 */
struct nn_gate_weights {
	uint32_t input;
	uint32_t recurrent;
	uint32_t aux;
	uint32_t bias;
	bool has_bias;			/* if false, sums begin at 0 */
};

/*
 * A cell that runs along a sequence. The caller sets the fields of the first part. Packed weights
 * are those of each gate for the input, for the auxiliary input, then for the state.
 */
struct nn_recurrent {
	struct nn_sequence sequence;
	uint32_t gates;
	struct nn_gate_weights weights[NN_RECURRENT_GATES];
	uint32_t units;			/* of a gate */
	uint32_t outputs;		/* size of the state, which is also the output */
	uint32_t x;			/* position of the input sequence */
	/* Position of the auxiliary sequence with its own weights; 0 if there is no such input. */
	uint32_t aux;
	uint32_t aux_size;
	uint32_t state;			/* position of the first state */
	bool backward;
	bool is_alone;			/* no other cell runs beside this one */
	bool single;	/* the layer has one step, and its state is not an output sequence */
	bool packs;			/* each run packs the weights */
	uint32_t out;			/* position, first column and columns of the output */
	uint32_t column;
	uint32_t columns;

	uint32_t chunk;			/* steps whose inputs are multiplied at a time */
	size_t width;			/* floats of a row of gates */
	size_t packed;	/* where the weights begin, in floats; and those of a gate: */
	size_t input_size;
	size_t aux_packed_size;
	size_t recurrent_size;
};

/*
 * Sets ready->pack_tasks if weights are no constants. Returns false if packing them in each run
 * would not pay, or if there is nothing to do.
 */
bool nn_recurrent_prepare(const struct nn_run *r, struct nn_ready *ready, struct nn_recurrent *l);

/* All fields except `gates` and `weights`. */
extern const struct nn_field nn_recurrent_fields[];

/*
 * Adds the layer's packed weights to those of `ready`, and sets the fields that depend on its
 * fields, `gates` and `weights`. Returns false if the output lacks the layer's columns.
 */
bool nn_recurrent_complete(struct nn_ready *ready, struct nn_recurrent *l);

/* Bytes of scratch memory that a run takes, a multiple of NN_KERNEL_ALIGN. */
size_t nn_recurrent_scratch(const struct nn_recurrent *l);

void nn_recurrent_pack(const struct nn_run *r, const struct nn_ready *ready,
		       const struct nn_recurrent *l, void *packed);

/* From the sums of all gates [batch, gates, units], which it may change, to the next state. */
typedef void nn_recurrent_step(const struct nn_kernel_call *call, void *arg, float *gates,
			       float *next);

/* Runs it from the first step to the last; returns the last state, in `scratch`. */
const float *nn_recurrent_run(const struct nn_kernel_call *call, const struct nn_recurrent *l,
			      nn_recurrent_step *step, void *arg, void *scratch);

/* out[i] = a[i] operation b[i] */
void nn_combine_f32(const struct nn_isa *isa, enum nn_binary operation, const float *a,
		    const float *b, float *out, size_t count);

#endif /* NN_PLAN_KERNELS_RECURRENT_H */
