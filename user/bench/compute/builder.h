/* SPDX-License-Identifier: MIT */
/*
 * Builds a model in memory, operand by operand, and a plan that can be run.
 */
#ifndef NN_BENCH_BUILDER_H
#define NN_BENCH_BUILDER_H

#include <nnaccel/engine_model.h>

#include "subject.h"

struct compiled;

#define BUILDER_OPERANDS 2400
#define BUILDER_OPERATIONS 400
#define BUILDER_INDICES 4000
#define BUILDER_INPUTS 8

/*
 * A model that is being built, operand by operand. The model refers to constants without copying
 * the constants, because the model's pool is the whole address space.
 */
struct builder {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_pool pool;
	struct nn_operand operands[BUILDER_OPERANDS];
	struct nn_operation operations[BUILDER_OPERATIONS];
	uint32_t indices[BUILDER_INDICES];
	uint32_t num_indices;
	uint32_t inputs[BUILDER_INPUTS];
	uint32_t outputs[NET_OUTPUTS];
	void *owned[BUILDER_OPERANDS];	/* memory that builder_free() frees */
	uint32_t num_owned;
};

struct builder *builder_create(void);

/* Frees the builder, the scalars, and the memory from builder_alloc(). */
void builder_free(struct builder *b);

/* Returns zeroed memory for a constant; builder_free() frees the memory. */
void *builder_alloc(struct builder *b, size_t size);

/* Adds an operand without a value and with the dimensions dims[rank]. */
uint32_t builder_operand(struct builder *b, int32_t type, uint32_t rank, const uint32_t *dims,
			 float scale, int32_t zero);
uint32_t builder_constant(struct builder *b, int32_t type, uint32_t rank, const uint32_t *dims,
			  float scale, int32_t zero, const void *data);
uint32_t builder_int(struct builder *b, int32_t value);
uint32_t builder_bool(struct builder *b, bool value);
void builder_operation(struct builder *b, int32_t code, uint32_t num_inputs,
		       const uint32_t *inputs, uint32_t output);
/* Adds an operation, like builder_operation(), but with several outputs. */
void builder_operation_of(struct builder *b, int32_t code, uint32_t num_inputs,
			  const uint32_t *inputs, uint32_t num_outputs, const uint32_t *outputs);

/* Make an operand an input or an output of the model. */
void builder_input(struct builder *b, uint32_t operand);
void builder_output(struct builder *b, uint32_t operand);

/* Builds a model of an image network, without a copy of the network's weights. */
struct builder *builder_net(const struct net *net);

/* Converts all float32 tensors of the model to float16. */
void builder_halve(struct builder *b);

/*
 * Copies the model's constants to `to`. After the copy, the caller must make `to` the memory of the
 * model's pool. If `to` is NULL, builder_place() only computes the size. Returns the size of all
 * constants of the model.
 */
size_t builder_place(struct builder *b, char *to);

/*
 * Makes a plan from the builder's model, with random inputs. The returned subject becomes the owner
 * of the builder.
 */
struct subject builder_subject(struct builder *b, uint32_t threads);

/*
 * Makes a subject like builder_subject(), but divides steps for `threads` threads: one thread, or
 * at least as many threads as exist. Sets *compiled to the plan's compiled form, or to NULL if the
 * model cannot be compiled.
 */

struct subject builder_subject_cut(struct builder *b, uint32_t threads, struct compiled **compiled);

#endif /* NN_BENCH_BUILDER_H */
