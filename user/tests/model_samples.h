/* SPDX-License-Identifier: MIT */
/*
 * Models on which several tests and the seeds of fuzzers are based.
 */
#ifndef NN_TESTS_MODEL_SAMPLES_H
#define NN_TESTS_MODEL_SAMPLES_H

#include "model_builder.h"

#define SAMPLE_EXTENSION_OPERAND 0x00030005
#define SAMPLE_EXTENSION_OPERATION 0x00030001

/*
 * Makes a model with all kinds of operands, operations and subgraphs that model_samples.c lists.
 * Pool 0 of the model has 64 bytes, which are not mapped.
 */
void sample_everything(struct model_builder *b);

/* out[2,2] = in[2,2] + {1, 2} */
void sample_add(struct model_builder *b);

/* out = cond ? a + b : a * b, all of shape [2] */
void sample_if(struct model_builder *b);

/* i[1] and sum[1]: while (i < limit) { i += 1; sum += i; } */
void sample_while(struct model_builder *b);

/* out = reshape(in[6], shape[2]); shape is an input, so the dimensions of out are unknown */
void sample_reshape(struct model_builder *b);

#endif /* NN_TESTS_MODEL_SAMPLES_H */
