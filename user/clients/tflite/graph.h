/* SPDX-License-Identifier: MIT */
/*
 * Translates nodes of a TensorFlow Lite graph to operations of the NNAPI. Translators (convert/)
 * have the interface of clients/lower/lower.h; tfl() returns the fields that only TensorFlow Lite's
 * translators use.
 */
#ifndef NN_TFLITE_GRAPH_H
#define NN_TFLITE_GRAPH_H

#include "clients/lower/lowerings.h"
#include "clients/lower/reader.h"
#include "clients/tflite/abi.h"

/* An input or output operand of an execution, and the tensor that belongs to the operand. */
struct graph_port {
	uint32_t operand;
	int tensor;
	/* true: the operand is the new value of a variable tensor, and is copied to the tensor */
	bool state;
	bool shared;	/* the variable tensor's new value is also an output of the node */
	/* output tensor that the value is also copied to; or NO_TENSOR */
	int also;
	bool is_wide;			/* the tensor is int64, the operand int32 */
	/* true: the operand is the low 32 bits; false: the operand is a clamped index */
	bool is_cut;
	uint32_t size;
};

struct delegate;

struct graph {
	struct lowering l;	/* must be the first field: tfl() casts a pointer to this field */
	struct builder b;
	struct tfl_context *context;
	uint32_t *operand_of;	/* operand of each tensor; NO_OPERAND until used */
	bool *produced;			/* tensors that nodes of the partition write */
	/* for each tensor: true if only the low 32 bits of the tensor's int64 numbers matter */
	bool *is_cut;
	struct graph_port *states;
	uint32_t num_states;

	/* true: nodes' parameters lack the fields that TensorFlow Lite after 2.9 appended */
	bool is_old;
	const struct tfl_node *node;	/* in translation */
	uint32_t first;			/* its first operation */
	bool is_empty;			/* the node was rejected for a dimension of 0 */
	bool dequantises;		/* compilation dequantises the node's weights */
	bool take_int16;		/* the node's converter accepts int16 tensors */
	bool take_int64;		/* the node's converter accepts int64 tensors as int32 */
	bool is_checked;	/* a check has shown that the low 32 bits of int64 inputs suffice */
};

static inline struct graph *tfl(const struct lowering *t)
{
	return (struct graph *)t;
}

/*
 * Initialises *g, which must stay at its address. Returns false if memory runs out; the caller must
 * call graph_free() even then.
 */
bool graph_init(struct graph *g, struct tfl_context *context, struct delegate *delegate);
void graph_free(struct graph *g);

/* ---- Contents of the TensorFlow Lite graph ---- */

/* Return an input or an output tensor of the node; NULL if the tensor is missing. */
const struct tfl_tensor *tensor_in(const struct lowering *t, uint32_t i);
const struct tfl_tensor *tensor_out(const struct lowering *t, uint32_t i);
uint32_t out_count(const struct lowering *t);
/* Returns the node's parameters; the structure depends on the node's operation. */
const void *params(const struct lowering *t);

/*
 * Returns whether a tensor's value is constant: in the model file, or unchanged while shapes do not
 * change.
 */
bool tensor_is_constant(const struct tfl_tensor *tensor);
/*
 * Returns whether TensorFlow Lite computes all outputs of a node when it prepares for new shapes.
 */
bool node_is_folded(const struct tfl_context *context, const struct tfl_node *node);
uint64_t tensor_count(const struct tfl_tensor *tensor);
bool tensor_same_quant(const struct tfl_tensor *a, const struct tfl_tensor *b);
bool tensor_is_quant8(const struct tfl_tensor *tensor);
const char *tensor_type_name(int type);
/* Returns a dimension, without checking the rank. */
uint32_t dim(const struct tfl_tensor *tensor, int i);
struct shape shape_of(const struct tfl_tensor *tensor);

/*
 * Returns the elements of a tensor that is a constant of type `type` with exactly `count` elements.
 * If the tensor is not constant, or has another type or count, rejects the node with a message and
 * returns NULL. Only data_of_count() may read data of constants.
 */
const void *data_of_count(struct lowering *t, const struct tfl_tensor *tensor, int type,
			  uint64_t count);

/* ---- Operands ---- */

/* Returns an operand with the type and shape of a tensor; rejects types that NNAPI lacks. */
struct operand operand_type(struct lowering *t, const struct tfl_tensor *tensor);
/* Makes an operand for output i, with the type, scale and shape of this output. */
uint32_t out_like(struct lowering *t, uint32_t i);
/* Returns the low 32 bits of input i, which is int32 or int64. */
uint32_t low_in(struct lowering *t, uint32_t i);
/* Returns input i, indices of int32 or int64. Indices that exceed 32 bits are clamped. */
uint32_t index_in(struct lowering *t, uint32_t i);
/*
 * Returns input i as an operand of type `type`, whose elements have the same size as the input's.
 * An input that is not constant must already have the scale of `type`.
 */
uint32_t in_as(struct lowering *t, uint32_t i, const struct operand *type);
/* Sets output i, whose shape TensorFlow Lite has computed. */
void set(struct lowering *t, uint32_t i, uint32_t operand);
/* Makes an operand for the new value of the variable tensor that is input i. */
uint32_t new_state(struct lowering *t, uint32_t i);
/* Declares that output i is also the new value of the variable tensor that is input `state`. */
void state_as(struct lowering *t, uint32_t state, uint32_t i);

/* Converts activation codes of TensorFlow Lite to NNAPI's; rejects activations that NNAPI lacks. */
int32_t fused_code(struct lowering *t, int activation);

#endif /* NN_TFLITE_GRAPH_H */
