/* SPDX-License-Identifier: MIT */
/*
 * Shapes of RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN, for their operations
 * and their fast kernel.
 */
#ifndef NN_OPS_RNN_H
#define NN_OPS_RNN_H

#include "ops/recurrent.h"

/* Positions of a cell's inputs; 0 for a missing auxiliary weight. */
struct nn_rnn_cell {
	uint32_t weights, recurrent, bias, state, aux_weights;
	int32_t activation;

	/* Set when the shape is read. */
	uint32_t batch, size, units;
	uint32_t aux_size;		/* of the input of the auxiliary weights */
};

/* Positions of BIDIRECTIONAL_SEQUENCE_RNN's other inputs. */
enum {
	NN_BI_RNN_AUX = 9, NN_BI_RNN_FW_AUX_WEIGHTS = 10,
	NN_BI_RNN_BW_AUX_WEIGHTS = 11, NN_BI_RNN_TIME_MAJOR = 13,
	NN_BI_RNN_MERGE = 14,
};

/* Reads RNN or UNIDIRECTIONAL_SEQUENCE_RNN; RNN is a sequence of one step. */
enum nn_status nn_rnn_shape(const struct nn_run *r, struct nn_sequence *s, struct nn_rnn_cell *c);

/*
 * Reads the two cells of BIDIRECTIONAL_SEQUENCE_RNN, its sequence and its auxiliary sequence. With
 * auxiliary weights both cells get the auxiliary input as well; without them it replaces the
 * backward cell's input.
 */
enum nn_status nn_bidirectional_rnn_shape(const struct nn_run *r, struct nn_rnn_cell *fw,
					  struct nn_rnn_cell *bw, struct nn_sequence *s,
					  struct nn_sequence *aux);

#endif /* NN_OPS_RNN_H */
