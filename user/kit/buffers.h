/* SPDX-License-Identifier: MIT */
/*
 * Buffers of memory domains: whether one can have its roles, and whether what
 * it holds is the input that an execution takes it for.
 */
#ifndef NN_KIT_BUFFERS_H
#define NN_KIT_BUFFERS_H

#include "kit/models.h"

/*
 * NNACCEL_DO_BUFFER: NN_INVALID_ARGUMENT where a role is none of its model's,
 * roles differ in type or shape, or the buffer's size is not that of the shape
 * they leave: the same, or a multiple of it where a dimension is open.
 */
enum nn_status buffer_judge(struct models *models, const struct command *command,
			    struct nn_error *err);

/*
 * Input buffers hold as many bytes as their arguments' shapes have;
 * NN_INVALID_ARGUMENT otherwise. What else is wrong with arguments is left to
 * the engine.
 */
enum nn_status buffer_check_inputs(const struct models *models,
				   const struct loaded_model *loaded,
				   const struct command *command, struct nn_error *err);

/* sizes[num_outputs]: the bytes of each output, by the shapes of an execution. */
void buffer_sizes(const struct models *models, const struct loaded_model *loaded,
		  const struct nn_execution *execution, uint64_t *sizes);

#endif /* NN_KIT_BUFFERS_H */
