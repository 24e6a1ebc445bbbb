/* SPDX-License-Identifier: MIT */
/*
 * An NNAPI model in the making of nodes of a TensorFlow Lite graph.
 *
 * Converters call the functions below without looking at results: the first thing that goes
 * wrong is kept with its reason, and what follows does nothing. A graph without a model only
 * checks: the converters run, and nothing is built.
 */
#ifndef NN_TFLITE_GRAPH_H
#define NN_TFLITE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

#include "clients/tflite/abi.h"
#include "clients/lower/constants.h"
#include "runtime/sha256.h"

#define GRAPH_MAX_RANK 8
#define GRAPH_NONE UINT32_MAX		/* no operand: also what functions return after a refusal */

/* An operand's type: a tensor of known dimensions, or a scalar of rank 0. */
struct value {
	int32_t type;
	uint32_t rank;
	uint32_t dims[GRAPH_MAX_RANK];
	float scale;
	int32_t zero_point;
	const float *scales;		/* per channel; of the graph or of the tensor */
	uint32_t num_scales;
	uint32_t channel_dim;
};

/* An operand that an execution provides or receives. */
struct graph_port {
	uint32_t operand;
	int tensor;
	bool state;			/* the new value of a variable tensor: copied back to it */
	bool shared;			/* a state that is also an output of its node */
	int also;			/* the tensor of that output, if others read it; or NO_TENSOR */
	uint32_t size;
};

struct graph_block;
struct delegate;

struct graph {
	struct tfl_context *context;
	ANeuralNetworksModel *model;	/* NULL: only checks */
	struct sha256 *hash;		/* NULL, or of everything that goes into the model */
	bool hash_constants;		/* also of the constants of the model file */

	uint32_t *operand_of;		/* by tensor; GRAPH_NONE: not used so far */
	bool *produced;			/* by tensor: a node of the graph writes it */
	struct value *values;		/* by operand */
	uint32_t num_operands, max_operands;
	int *node_of;			/* by operation, the node that it is of */
	uint32_t num_operations, max_operations;
	struct graph_block *blocks;	/* constants that are not the model file's */
	struct constants constants;	/* those that are */

	struct graph_port *states;
	uint32_t num_states;

	const struct tfl_node *node;	/* being converted */
	int node_index;
	struct delegate *delegate;	/* whose devices are asked what they have; NULL: none */
	bool dequantises;		/* the node's weights become float32 when it is compiled */
	bool take_int16;		/* the node's converter takes int16 tensors */
	uint64_t work;			/* of the node, in multiplications or elements moved */
	bool refused;
	char why[200];
};

/* False: no memory. Free it all the same. */
bool graph_init(struct graph *g, struct tfl_context *context, bool build);
void graph_free(struct graph *g);

/* Gives the reason why the node cannot be converted. */
void graph_refuse(struct graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- What is in the TensorFlow Lite graph ---- */

/* The tensors of the node. NULL: absent, or there are not so many. */
const struct tfl_tensor *graph_input(const struct graph *g, int i);
const struct tfl_tensor *graph_output(const struct graph *g, int i);
int graph_input_index(const struct graph *g, int i);
int graph_output_index(const struct graph *g, int i);

/* Whether the value is in the model file and will not change. */
bool tensor_is_constant(const struct tfl_tensor *tensor);
uint64_t tensor_count(const struct tfl_tensor *tensor);
bool tensor_same_shape(const struct tfl_tensor *a, const struct tfl_tensor *b);
bool tensor_same_quant(const struct tfl_tensor *a, const struct tfl_tensor *b);
bool tensor_is_quant8(const struct tfl_tensor *tensor);
const char *tensor_type_name(int type);

/*
 * Reads a constant, which converters do in no other way. Returns the elements of a tensor that is a
 * constant of this type with exactly `count` elements. Returns NULL for any other tensor, after a
 * refusal that says what it is and what is wanted.
 */
const void *data_of_count(struct graph *g, const struct tfl_tensor *tensor, int type,
			  uint64_t count);

/*
 * Reads a constant INT32 or INT64 tensor of at most `most` elements. Returns how many; -1 after
 * a refusal that calls it `what`.
 */
int graph_read_ints(struct graph *g, const struct tfl_tensor *tensor, const char *what,
		    int32_t *values, int most);

/* The type of a tensor as an operand; refuses a type that NNAPI has not. */
struct value graph_value_of(struct graph *g, const struct tfl_tensor *tensor);
struct value graph_float(const struct tfl_tensor *shape_of);
struct value value_shaped(struct value value, uint32_t rank, const uint32_t *dims);

/* ---- Operands ---- */

/* The operand of a tensor: a constant, an input, or what another node makes. */
uint32_t graph_tensor(struct graph *g, int tensor);
uint32_t graph_in(struct graph *g, int i);
/* The operand that the node writes its output i to. */
uint32_t graph_out(struct graph *g, int i);
/* A constant tensor's data seen as another type of the same size; of others, RESHAPE. */
uint32_t graph_view(struct graph *g, int tensor, const struct value *as);
/* An operand between operations of one node. */
uint32_t graph_temporary(struct graph *g, const struct value *value);
/* A constant; its data is copied. */
uint32_t graph_constant(struct graph *g, const struct value *value, const void *data,
			uint64_t size);
/* A constant whose bytes are all the same. */
uint32_t graph_filled(struct graph *g, const struct value *value, int byte);
/* A constant list of floats that are all the same. */
uint32_t graph_floats(struct graph *g, uint32_t count, float value);
uint32_t graph_i32(struct graph *g, int32_t value);
uint32_t graph_f32(struct graph *g, float value);
uint32_t graph_bool(struct graph *g, bool value);
uint32_t graph_ints(struct graph *g, const int32_t *values, uint32_t count);
uint32_t graph_omitted(struct graph *g, const struct value *value);
/* An operand with the new value of variable tensor input i. */
uint32_t graph_state(struct graph *g, int i);
/* The operand of an output of the node is also the new value of variable tensor input i. */
void graph_state_as(struct graph *g, int i, uint32_t operand);

/* ---- Operations ---- */

void graph_operation(struct graph *g, int32_t code, const uint32_t *inputs, uint32_t num_inputs,
		     const uint32_t *outputs, uint32_t num_outputs);

/* emit(graph, code, output operand, input operands...) */
#define emit(g, code, output, ...)							\
	graph_operation(g, code, (const uint32_t[]){ __VA_ARGS__ },			\
			sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t),	\
			(const uint32_t[]){ output }, 1)

uint32_t graph_reshaped(struct graph *g, uint32_t operand, uint32_t rank, const uint32_t *dims);
/* RESHAPE of an operand to output i. */
void graph_reshape_to(struct graph *g, uint32_t operand, int output);
/* Input i as TENSOR_FLOAT32, by DEQUANTIZE where it is quantised. */
uint32_t graph_real_in(struct graph *g, int i);
/*
 * Where the operation that computes output i as TENSOR_FLOAT32 writes to; graph_end_real()
 * quantises it where the tensor is quantised.
 */
uint32_t graph_begin_real(struct graph *g, int i);
void graph_end_real(struct graph *g, int i, uint32_t operand);

/* Codes of TensorFlow Lite in NNAPI's; refuses those that NNAPI has not. */
uint32_t graph_activation(struct graph *g, int activation);
uint32_t graph_padding(struct graph *g, int padding);

#endif /* NN_TFLITE_GRAPH_H */
