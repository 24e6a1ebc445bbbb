/* SPDX-License-Identifier: MIT */
/*
 * Nodes of a TensorFlow Lite graph to operations of the NNAPI. Translators (convert/) are those of
 * clients/lower/lower.h; tfl() gives them what is around.
 */
#ifndef NN_TFLITE_GRAPH_H
#define NN_TFLITE_GRAPH_H

#include "clients/lower/lowerings.h"
#include "clients/lower/reader.h"
#include "clients/tflite/abi.h"

/* An operand that an execution provides or receives. */
struct graph_port {
	uint32_t operand;
	int tensor;
	bool state;			/* the new value of a variable tensor: copied back to it */
	bool shared;			/* a state that is also an output of its node */
	int also;			/* the tensor of that output, if others read it; or NO_TENSOR */
	uint32_t size;
};

struct delegate;

struct graph {
	struct lowering l;		/* the first: see tfl() */
	struct builder b;
	struct tfl_context *context;
	struct delegate *delegate;	/* whose devices are asked what they have; NULL: none */
	uint32_t *operand_of;		/* by tensor; NO_OPERAND: not used so far */
	bool *produced;			/* by tensor: a node of the graph writes it */
	struct graph_port *states;
	uint32_t num_states;

	const struct tfl_node *node;	/* being converted */
	uint32_t first;			/* the first operation of it */
	bool dequantises;		/* the node's weights become float32 when it is compiled */
	bool take_int16;		/* the node's converter takes int16 tensors */
};

static inline struct graph *tfl(const struct lowering *t)
{
	return (struct graph *)t;
}

/* False: no memory. Free it all the same. The graph may not be moved. */
bool graph_init(struct graph *g, struct tfl_context *context, struct delegate *delegate);
void graph_free(struct graph *g);

/* ---- What is in the TensorFlow Lite graph ---- */

/* The tensors of the node. NULL: absent, or there are not so many. */
const struct tfl_tensor *tensor_in(const struct lowering *t, uint32_t i);
const struct tfl_tensor *tensor_out(const struct lowering *t, uint32_t i);
uint32_t out_count(const struct lowering *t);
/* The node's parameters, of its operation's structure. */
const void *params(const struct lowering *t);

/* Whether the value is in the model file and will not change. */
bool tensor_is_constant(const struct tfl_tensor *tensor);
uint64_t tensor_count(const struct tfl_tensor *tensor);
bool tensor_same_quant(const struct tfl_tensor *a, const struct tfl_tensor *b);
bool tensor_is_quant8(const struct tfl_tensor *tensor);
const char *tensor_type_name(int type);
/* A dimension, without a look at how many there are. */
uint32_t dim(const struct tfl_tensor *tensor, int i);
struct shape shape_of(const struct tfl_tensor *tensor);

/*
 * Reads a constant, which converters do in no other way. Returns the elements of a tensor that is a
 * constant of this type with exactly `count` elements. Returns NULL for any other tensor, after a
 * refusal that says what it is and what is wanted.
 */
const void *data_of_count(struct lowering *t, const struct tfl_tensor *tensor, int type,
			  uint64_t count);
/* Exactly so many constant numbers; NULL after a refusal that calls them `what`. */
int64_t *ints_of_count(struct lowering *t, uint32_t i, const char *what, int64_t count);

/* ---- Operands ---- */

/* The type of a tensor as an operand; refuses a type that NNAPI has not. */
struct operand operand_type(struct lowering *t, const struct tfl_tensor *tensor);
/* A result for output i, of its type, scale and shape. */
uint32_t out_like(struct lowering *t, uint32_t i);
/* A constant input's data seen as another type of the same size; others in another shape. */
uint32_t in_as(struct lowering *t, uint32_t i, const struct operand *type);
/* Sets output i, whose shape TensorFlow Lite has worked out. */
void set(struct lowering *t, uint32_t i, uint32_t operand);
/* An operand with the new value of variable tensor input i. */
uint32_t new_state(struct lowering *t, uint32_t i);
/* Output i is also the new value of variable tensor input `state`. */
void state_as(struct lowering *t, uint32_t state, uint32_t i);

/* Codes of TensorFlow Lite in NNAPI's; refuses those that NNAPI has not. */
int32_t fused_code(struct lowering *t, int activation);

#endif /* NN_TFLITE_GRAPH_H */
