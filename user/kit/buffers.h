/* SPDX-License-Identifier: MIT */
/*
 * Buffers of memory domains: whether one can have its roles, whether what
 * it holds is the input that an execution takes it for, and those whose layout is the engine's.
 */
#ifndef NN_KIT_BUFFERS_H
#define NN_KIT_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/models.h"

/* One that the engine has a layout for. */
struct buffer {
	struct buffer *next;
	uint32_t grant;
	unsigned int users;
	bool forgotten;
	pthread_mutex_t lock;		/* held while it is copied to or from */
	void *own;			/* the engine's */
};

struct buffers {
	const struct nna_engine *engine;
	pthread_mutex_t lock;		/* protects the list, and users and forgotten of its entries */
	struct buffer *list;
};

bool buffers_init(struct buffers *buffers, const struct nna_engine *engine);

/* Has the engine destroy all, once nobody uses any. */
void buffers_free(struct buffers *buffers);

/* That of a grant, or NULL; buffers_put() ends its use, NULL is fine. */
struct buffer *buffers_get(struct buffers *buffers, uint32_t grant);
void buffers_put(struct buffers *buffers, struct buffer *buffer);

/* NNACCEL_DO_FORGET_GRANT: it goes now, or after its last use. */
void buffers_forget(struct buffers *buffers, uint32_t grant);

/* NNACCEL_DO_COPY_IN and NNACCEL_DO_COPY_OUT. */
enum nn_status buffers_copy(struct buffers *buffers, struct grants *grants,
			    const struct command *command, struct nn_error *err);

/*
 * NNACCEL_DO_BUFFER: NN_INVALID_ARGUMENT where a role is none of its model's,
 * roles differ in type or shape, or the buffer's size is not that of the shape
 * they leave: the same, or a multiple of it where a dimension is open. *layout: enum
 * nnaccel_layout, by what the engine says.
 */
enum nn_status buffer_judge(struct buffers *buffers, struct models *models,
			    const struct command *command, uint32_t *layout, struct nn_error *err);

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
