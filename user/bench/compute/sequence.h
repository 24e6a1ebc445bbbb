/* SPDX-License-Identifier: MIT */
/* Sizes of sequence networks, and functions that make models of sequence networks. */
#ifndef NN_BENCH_SEQUENCE_H
#define NN_BENCH_SEQUENCE_H

#include "subject.h"

#define LSTM_LAYERS 2
#define LSTM_STEPS 32
#define LSTM_UNITS 256		/* number of units in a layer, and of inputs in each step */

/* The sizes of a transformer's block. */
struct block {
	uint32_t tokens;
	uint32_t size;		/* number of elements of a token */
	uint32_t heads;
	uint32_t hidden;	/* size of a token between the last two products of the block */
};

#define TRANSFORMER_BLOCK ((struct block){ 64, 256, 4, 1024 })

/* Sizes of an encoder like BERT's. */
#define ENCODER_LAYERS 4
#define ENCODER_BLOCK ((struct block){ 128, 512, 8, 2048 })

/*
 * Sizes of keyword-spotting networks, whose inputs are numbers of a spectrum, and whose outputs are
 * scores of words.
 */
#define KWS_FEATURES 40
#define KWS_WORDS 12

/*
 * Sizes of the SVDF network, each of whose runs processes one frame. A product after each SVDF
 * layer except the last reduces the size of the layer's output.
 */
#define SVDF_LAYERS 5
#define SVDF_UNITS 256
#define SVDF_NARROW 128
#define SVDF_MEMORY 10		/* frames */

/*
 * Sizes of the LSTM network. Each run of the LSTM network processes a second of frames by a
 * product, LSTM layers, and a second product.
 */
#define KWS_FRAMES 49
#define KWS_LAYERS 2
#define KWS_UNITS 128

/*
 * Make a sequence network in NET_F32 or NET_QC8; with `small`, a small network with the same kinds
 * of layers.
 */
struct builder;
typedef struct builder *sequence_fn(enum net_type type, bool small);
sequence_fn sequence_encoder, sequence_kws_svdf, sequence_kws_lstm;

/* Make a sequence network as a plan of nnaccel, or as calls of XNNPACK operators. */
struct subject subject_sequence(sequence_fn *make, enum net_type type, uint32_t threads);
struct subject subject_sequence_xnnpack(sequence_fn *of, enum net_type type, uint32_t threads);

#endif /* NN_BENCH_SEQUENCE_H */
