/* SPDX-License-Identifier: MIT */
/*
 * Sizes of the recurrent and the attention network.
 */
#ifndef NN_BENCH_SEQUENCE_H
#define NN_BENCH_SEQUENCE_H

#define LSTM_LAYERS 2
#define LSTM_STEPS 32
#define LSTM_UNITS 256		/* inputs too */

#define BLOCK_TOKENS 64
#define BLOCK_SIZE 256		/* of a token */
#define BLOCK_HEADS 4
#define BLOCK_HIDDEN 1024	/* of a token, between the last two products */

#endif /* NN_BENCH_SEQUENCE_H */
