/* SPDX-License-Identifier: MIT */
/*
 * Code that all recurrent layers of floats share. A GEMM multiplies the inputs of
 * several steps at a time by the weights; the state is then multiplied step by step. One GEMM can
 * compute the products of all gates.
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
	bool has_bias;			/* true: the gate's sums begin at the bias; false: at 0 */
};

/*
 * A cell that runs along a sequence. The caller sets the fields before `chunk`. The packed weights
 * for the input come first, then those for the auxiliary input, then those for the state; each has
 * the weights of all gates.
 */
struct nn_recurrent {
	struct nn_sequence sequence;
	uint32_t gates;
	struct nn_gate_weights weights[NN_RECURRENT_GATES];
	uint32_t units;			/* number of units of each gate */
	uint32_t outputs;		/* number of elements of the state and of the output */
	uint32_t x;			/* index of the input that is the sequence */
	/*
	 * Index of the input that is the auxiliary sequence; 0 if there are no auxiliary weights.
	 */
	uint32_t aux;
	uint32_t aux_size;
	uint32_t state;			/* index of the input that is the state before step 0 */
	bool backward;
	bool is_alone;			/* true: the operation has only one cell */
	bool single;	/* true: the layer has one step, and writes no output sequence */
	bool packs;			/* true: each execution packs the weights */
	/* index of the output, the first column to write, and the output's number of columns */
	uint32_t out;
	uint32_t column;
	uint32_t columns;

	uint32_t chunk;			/* number of steps whose inputs are multiplied at a time */
	size_t width;			/* number of floats that one step has for all gates */
	/* offset in floats of the layer's weights in the step's packed weights */
	size_t packed;
	size_t input_size;
	size_t aux_packed_size;
	size_t recurrent_size;
};

/*
 * Sets ready->pack_tasks if the weights are not constants. Returns false if packing the weights in
 * each execution would take too long, or if the sequence is empty.
 */
bool nn_recurrent_prepare(const struct nn_run *r, struct nn_ready *ready, struct nn_recurrent *l);

/*
 * The saved fields of struct nn_recurrent: all fields before `chunk` except `gates`, `weights` and
 * `is_alone`.
 */
extern const struct nn_field nn_recurrent_fields[];

/*
 * Adds the size of the layer's packed weights to `ready`, and sets the field `chunk` and all fields
 * after it. Returns false if the output has too few columns for the layer's columns.
 */
bool nn_recurrent_complete(struct nn_ready *ready, struct nn_recurrent *l);

/* Returns the bytes of scratch memory for one execution, a multiple of NN_KERNEL_ALIGN. */
size_t nn_recurrent_scratch(const struct nn_recurrent *l);

void nn_recurrent_pack(const struct nn_run *r, const struct nn_ready *ready,
		       const struct nn_recurrent *l, void *packed);

/*
 * Computes the next state of a cell from `gates`, the sums of all gates [batch, gates, units]; the
 * function may change the sums.
 */
typedef void nn_recurrent_step(const struct nn_kernel_call *call, void *arg, float *gates,
			       float *next);

/*
 * Runs a cell over all steps of its sequence. Returns the last state, which is stored in `scratch`.
 */
const float *nn_recurrent_run(const struct nn_kernel_call *call, const struct nn_recurrent *l,
			      nn_recurrent_step *step, void *arg, void *scratch);

/* Computes out[i] = a[i] operation b[i]. */
void nn_combine_f32(const struct nn_isa *isa, enum nn_binary operation, const float *a,
		    const float *b, float *out, size_t count);

#endif /* NN_PLAN_KERNELS_RECURRENT_H */
