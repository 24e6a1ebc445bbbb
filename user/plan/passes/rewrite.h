/* SPDX-License-Identifier: MIT */
/*
 * A model of one subgraph that is rewritten. Its operands stay, new ones are appended, and its
 * operations are added one by one.
 */
#ifndef NN_PLAN_REWRITE_H
#define NN_PLAN_REWRITE_H

#include <nnaccel/engine_model.h>

/*
 * The structure is at the beginning of one block of memory, so that nn_model_free() frees all of
 * it.
 */
struct rewrite {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_operand *operands;
	struct nn_operation *operations;
	uint32_t *indices;		/* where the next operation's operands go */
	uint8_t *bytes;			/* of constants */
	/* First operand of each of the original model's operations. */
	uint32_t first_operands;
	bool *is_there;			/* the operand keeps its writer or its value */
	void *facts;			/* facts of a pass, zeroed at the start */
};

/* Sizes of a pass's structure, which begins with struct rewrite, and of its facts of an operand. */
struct rewrite_room {
	size_t pass, fact;
	/* Numbers of these elements, and bytes of values, in addition to those of the model. */
	size_t operands, operations, indices, bytes;
};

/* Copies a model, except its operations. Returns NULL if memory runs out. */
void *rewrite_create(const struct nn_model *from, const struct rewrite_room *room);

/* Adds an operation and returns its operands, inputs first, for the caller to change. */
uint32_t *rewrite_add(struct rewrite *w, int32_t type, uint32_t num_inputs, uint32_t num_outputs,
		      const uint32_t *inputs, const uint32_t *outputs);

/* Adds a temporary operand with the quantisation of another one; returns its index. */
uint32_t rewrite_operand(struct rewrite *w, uint32_t like, int32_t type, uint32_t rank,
			 const uint32_t *dims);

/* Adds a CAST. */
void rewrite_cast(struct rewrite *w, uint32_t from, uint32_t to);

/*
 * Counts the readers of operands again, and empties temporaries without a writer. Returns the model
 * if it passes all checks; otherwise frees it and returns NULL.
 */
struct nn_model *rewrite_end(struct rewrite *w);

/*
 * The passes that rewrite a model. Each makes a new model, which refers to `model`, so `model` must
 * outlive it. nn_model_free() frees the new one. NULL means that there is nothing to do, or that
 * memory ran out.
 */

/*
 * Computes in float16 the operations that kernels compute faster so: convolutions, FULLY_CONNECTED,
 * and neighbours that would otherwise need conversions. CAST operations convert the operands that
 * other operations read or write in float32.
 */
struct nn_model *plan_float16(const struct nn_model *model);

/*
 * Computes the same in float32, which kernels use internally anyway. CAST operations convert
 * float16 inputs, outputs and constants. Returns NULL also if an operand cannot be converted.
 */
struct nn_model *plan_float32(const struct nn_model *model);

/*
 * Computes the same on NHWC images, which have fast kernels. TRANSPOSE operations convert NCHW
 * images, as few as possible: a chain of operations stays in NHWC.
 */
struct nn_model *plan_nhwc(const struct nn_model *model);

#endif /* NN_PLAN_REWRITE_H */
