/* SPDX-License-Identifier: MIT */
/*
 * The demo's network as an NNAPI model, in float32 or quantised to 8 bits. The model's input is one
 * image, and its output is the ten digits' probabilities.
 */
#ifndef NN_DEMO_NET_MODEL_H
#define NN_DEMO_NET_MODEL_H

#include <nnaccel/engine_model.h>

#include "net.h"
#include "quantise.h"

#define NET_OPERATIONS	(NET_LAYERS + 1)	/* and SOFTMAX */
#define NET_OPERANDS	(2 + NET_OPERATIONS * 9)	/* at most */

/*
 * A model, with all data to which the model refers. A struct net_model must not be copied or moved.
 */
struct net_model {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_operand operands[NET_OPERANDS];
	struct nn_operation operations[NET_OPERATIONS];
	uint32_t indices[NET_OPERATIONS * 10];
	uint32_t input, output;
	uint32_t num_indices;
	uint64_t values[NET_PARAMS / 2 + NET_OPERANDS * 2];
};

/* Builds the model of the network; the model is quantised if `quant` is not NULL. */
void net_model_init(struct net_model *net, const float *params, const struct net_quant *quant);

/* Return the sizes in bytes of the model's input and output, and convert an image to the input. */
uint32_t net_model_input_size(const struct net_model *net);
uint32_t net_model_output_size(const struct net_model *net);
void net_model_put_image(const struct net_model *net, const uint8_t *pixels, void *input);

/* Returns the most probable digit of a model's output; *probability is the digit's probability. */
uint32_t net_model_answer(const struct net_model *net, const void *output, float *probability);

#endif /* NN_DEMO_NET_MODEL_H */
