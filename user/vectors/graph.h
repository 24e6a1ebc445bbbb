/* SPDX-License-Identifier: MIT */
/*
 * A random graph under construction. All results in the graph have one type, and an index
 * identifies each tensor. Operations are added one after the other, and read existing tensors.
 */
#ifndef NN_VECTORS_GRAPH_H
#define NN_VECTORS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nnaccel/engine_model.h>

#define MAX_OPERANDS 800
#define MAX_OPERATIONS 24
#define MAX_INDICES 800
#define MAX_RESULTS 4		/* maximum number of results of an operation */
#define MAX_OUTPUTS 8
#define VALUES_SIZE ((size_t)64 << 20)

struct random_graph {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_pool pool;
	struct nn_operand operands[MAX_OPERANDS];
	struct nn_operation operations[MAX_OPERATIONS];
	uint32_t indices[MAX_INDICES];
	uint32_t num_indices;
	uint32_t input;
	uint32_t outputs[MAX_OUTPUTS];
	uint8_t *values;		/* constants' values, in VALUES_SIZE bytes of the test */
	size_t used;
	int32_t type;
	bool is_delicate;	/* true: some operations normalise or recur, so that errors grow */
	/* tensors that the next operation may read */
	uint32_t tensors[MAX_OPERATIONS * MAX_RESULTS + 1];
	uint32_t num_tensors;
};

extern struct random_graph g;

/* Empties the graph `g`, and chooses a random type for the graph. */
void begin(void);

bool is_float(void);

uint32_t elements(const struct nn_operand *o);

uint32_t add_operand(int32_t type, uint32_t rank, const uint32_t *dims, float scale, int32_t zero);

/*
 * Allocates the value of a constant operand, at a random distance after the previous value, so that
 * some values are unaligned.
 */
void *set_value(uint32_t operand);

uint32_t add_int(int32_t value);
uint32_t add_bool(bool value);
uint32_t add_ints(uint32_t rank, const uint32_t *dims, const int32_t *values);

/* Adds a scalar constant, which is FLOAT16 in a float16 graph and otherwise FLOAT32. */
uint32_t add_float_scalar(float value);

/* Writes random elements of a type; floats are in [-range, range]. */
void fill(int32_t type, void *to, uint32_t bytes, float range);

void fill_constant(uint32_t operand, float range);

int32_t random_zero(int32_t type);

/* Adds a tensor of the graph's type that an operation will write. */
uint32_t add_result(uint32_t rank, const uint32_t *dims, float scale, int32_t zero);
uint32_t random_result(uint32_t rank, const uint32_t *dims);

uint32_t any_tensor(void);

/* Returns a random tensor of rank 4, which always exists, because the graph's input has rank 4. */
uint32_t any_image(void);

/*
 * Adds an operation. Returns true, so that functions which add an operation can return the result
 * of finish().
 */
bool finish(int32_t code, uint32_t count, const uint32_t *inputs, uint32_t output);
bool finish_many(int32_t code, uint32_t count, const uint32_t *inputs, uint32_t num_outputs,
		 const uint32_t *outputs);

#endif /* NN_VECTORS_GRAPH_H */
