/* SPDX-License-Identifier: MIT */
/*
 * Rewrites a model that has one subgraph. The rewritten model has the original operands, then new
 * operands; a pass adds all operations one by one.
 */
#ifndef NN_PLAN_REWRITE_H
#define NN_PLAN_REWRITE_H

#include <nnaccel/engine_model.h>

/*
 * The struct rewrite and all its arrays are in one block of memory, which nn_model_free() frees as
 * a whole.
 */
struct rewrite {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_operand *operands;
	struct nn_operation *operations;
	uint32_t *indices;		/* memory for the operands of the next operation */
	uint8_t *bytes;			/* values of constants */
	/* Number of operands of the original model. */
	uint32_t first_operands;
	bool *is_there;	/* is_there[i]: the new model computes operand i, or has its value */
	void *facts;			/* facts of a pass about each operand; initially zeros */
};

/* Sizes in bytes of a pass's structures, and how much the pass adds to the model. */
struct rewrite_room {
	size_t pass, fact;
	/*
	 * Numbers of operands, operations, indices and bytes of values that the pass adds to the
	 * model.
	 */
	size_t operands, operations, indices, bytes;
};

/*
 * Begins to rewrite a model: copies the model without its operations. Returns NULL if memory runs
 * out.
 */
void *rewrite_create(const struct nn_model *from, const struct rewrite_room *room);

/*
 * Adds an operation. Returns the list of the operation's operands, inputs first; the caller may
 * change the list.
 */
uint32_t *rewrite_add(struct rewrite *w, int32_t type, uint32_t num_inputs, uint32_t num_outputs,
		      const uint32_t *inputs, const uint32_t *outputs);

/* Adds a temporary operand with the quantisation of operand `like`; returns its index. */
uint32_t rewrite_operand(struct rewrite *w, uint32_t like, int32_t type, uint32_t rank,
			 const uint32_t *dims);

/* Adds a CAST. */
void rewrite_cast(struct rewrite *w, uint32_t from, uint32_t to);

/*
 * Sets how many operations read each operand, and removes temporaries that no operation writes.
 * Returns the rewritten model if the model passes all checks; otherwise frees the model and returns
 * NULL.
 */
struct nn_model *rewrite_end(struct rewrite *w);

/*
 * The passes that rewrite a model to an equivalent model. Each pass returns a new model, which
 * refers to `model`, so `model` must outlive the new model. nn_model_free() frees the new model. A
 * pass returns NULL if there is nothing to rewrite, or if memory runs out.
 */

/*
 * Computes operations in float16 if float16 kernels are faster: convolutions, FULLY_CONNECTED, and
 * neighbouring operations that would otherwise need conversions. CAST operations convert the
 * operands that float32 operations read or write.
 */
struct nn_model *plan_float16(const struct nn_model *model);

/*
 * Computes a float16 model in float32, which kernels use internally anyway. CAST operations convert
 * float16 inputs, outputs and constants. The pass returns NULL if an operand cannot be converted to
 * float32.
 */
struct nn_model *plan_float32(const struct nn_model *model);

/*
 * Computes operations on NCHW images in NHWC, which has fast kernels. TRANSPOSE operations convert
 * the images. Adds few TRANSPOSEs, because images stay in NHWC from one operation to the next.
 */
struct nn_model *plan_nhwc(const struct nn_model *model);

#endif /* NN_PLAN_REWRITE_H */
