/* SPDX-License-Identifier: MIT */
/*
 * Functions that recurrent operations share: activations by code, products of weight matrices with
 * a batch of vectors, and access to the steps of a sequence.
 */
#ifndef NN_OPS_RECURRENT_H
#define NN_OPS_RECURRENT_H

#include "ops/op.h"

/* Returns true for the activation codes of recurrent operations: 0 to 4, and 6. */
bool nn_recurrent_activation(int32_t code);

/* Applies the activation with code 0 to 4 or 6: none, RELU, RELU1, RELU6, tanh (4), sigmoid (6). */
void nn_recurrent_activate(int32_t code, float *values, size_t count);

/*
 * Computes out[b][u] += weights[u] . x[b] for a batch of vectors of `size` floats and `units` rows
 * of weights.
 */
void nn_recurrent_multiply(const float *weights, const float *x, float *out, uint32_t batch,
			   uint32_t units, uint32_t size);

/* Returns the data of an input as floats; NULL if the input is omitted. */
const float *nn_recurrent_input(const struct nn_run *r, uint32_t index);

/* Sets an output's dimensions to [d0, d1, d2], or to [d0, d1] if `d2` is 0. */
void nn_recurrent_output(struct nn_run *r, uint32_t index, uint32_t d0, uint32_t d1, uint32_t d2);

/*
 * A sequence with the shape [steps, batch, size] if `time_major` is set, else [batch, steps, size].
 */
struct nn_sequence {
	uint32_t steps, batch, size;
	bool time_major;
};

/* Sets an output's dimensions to those of a sequence whose rows have `width` elements. */
void nn_sequence_output(struct nn_run *r, uint32_t index, const struct nn_sequence *s,
			uint32_t width);

/*
 * Sets the dimensions of a bidirectional operation's outputs. The first outputs are one sequence if
 * `merge` is set, otherwise two sequences. The operation may have `count` states as further
 * outputs.
 */
enum nn_status nn_bidirectional_outputs(struct nn_run *r, bool merge, const struct nn_sequence *s,
					const uint32_t rows[2], uint32_t count,
					const uint32_t *states);

/* Returns the shape of a sequence input, or of input 0 if the sequence input is omitted. */
struct nn_sequence nn_sequence_of(const struct nn_run *r, uint32_t index, bool time_major);

/*
 * Returns a sequence input in time-major order: the input's own data, or a transposed copy. Returns
 * NULL if memory runs out.
 */
const float *nn_sequence_read(struct nn_run *r, uint32_t index, const struct nn_sequence *s);

/*
 * Writes the rows of one step, [batch, size], to the columns [column, column + size) of an output
 * sequence with rows of `width` columns.
 */
void nn_sequence_write(float *out, const struct nn_sequence *s, uint32_t step, const float *batch,
		       uint32_t size, uint32_t column, uint32_t width);

#endif /* NN_OPS_RECURRENT_H */
