/* SPDX-License-Identifier: MIT */
/*
 * Rewrites a model of one subgraph. The rewritten model has the original operands, then new ones; a
 * pass adds its operations one by one.
 */
#ifndef NN_PLAN_REWRITE_H
#define NN_PLAN_REWRITE_H

#include <nnaccel/engine_model.h>

/* The structure is the beginning of one block of memory, which nn_model_free() frees as a whole. */
struct rewrite {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_operand *operands;
	struct nn_operation *operations;
	uint32_t *indices;		/* place for the operands of the next operation */
	uint8_t *bytes;			/* values of constants */
	/* Number of operands of the original model. */
	uint32_t first_operands;
	bool *is_there;	/* by operand: the rewritten model has its writer or its value */
	void *facts;			/* what a pass knows of each operand; zeroed at the start */
};

/* Sizes in bytes, and numbers of additional elements, that a pass needs. */
struct rewrite_room {
	size_t pass, fact;
	/* Numbers of elements, and bytes of values, in addition to those of the model. */
	size_t operands, operations, indices, bytes;
};

/*
 * Begins to rewrite a model: copies it except for its operations. Returns NULL if memory runs out.
 */
void *rewrite_create(const struct nn_model *from, const struct rewrite_room *room);

/* Adds an operation. Returns its list of operands, inputs first, which the caller may change. */
uint32_t *rewrite_add(struct rewrite *w, int32_t type, uint32_t num_inputs, uint32_t num_outputs,
		      const uint32_t *inputs, const uint32_t *outputs);

/* Adds a temporary operand with the quantisation of operand `like`; returns its index. */
uint32_t rewrite_operand(struct rewrite *w, uint32_t like, int32_t type, uint32_t rank,
			 const uint32_t *dims);

/* Adds a CAST. */
void rewrite_cast(struct rewrite *w, uint32_t from, uint32_t to);

/*
 * Sets how many operations read each operand, and removes temporaries without a writer. Returns the
 * rewritten model if it passes all checks; otherwise frees it and returns NULL.
 */
struct nn_model *rewrite_end(struct rewrite *w);

/*
 * The passes that rewrite a model. Each returns a new model, which refers to `model`, so `model`
 * must outlive the new one. nn_model_free() frees the new model. NULL means that there is nothing
 * to rewrite, or that memory ran out.
 */

/*
 * Computes operations in float16 if kernels are faster then: convolutions, FULLY_CONNECTED, and
 * neighbours that would otherwise need conversions. CAST operations convert the operands that other
 * operations read or write in float32.
 */
struct nn_model *plan_float16(const struct nn_model *model);

/*
 * Computes a float16 model in float32, which kernels use internally anyway. CAST operations convert
 * float16 inputs, outputs and constants. Also returns NULL if an operand cannot be converted.
 */
struct nn_model *plan_float32(const struct nn_model *model);

/*
 * Computes operations on NCHW images in NHWC, which has fast kernels. TRANSPOSE operations convert
 * the images. As few TRANSPOSEs as possible are added: a chain of operations stays in NHWC.
 */
struct nn_model *plan_nhwc(const struct nn_model *model);

#endif /* NN_PLAN_REWRITE_H */
