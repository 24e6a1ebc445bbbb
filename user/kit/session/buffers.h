/* SPDX-License-Identifier: MIT */
/*
 * Buffers of memory domains. Checks the roles and contents of all buffers, and manages the buffers
 * in the engine's own layout.
 */
#ifndef NN_KIT_BUFFERS_H
#define NN_KIT_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/session/models.h"

/* A buffer in the engine's own layout. */
struct buffer {
	struct buffer *next;
	uint32_t grant;
	unsigned int users;
	bool forgotten;
	pthread_mutex_t lock;		/* lock that each copy to or from the buffer holds */
	void *own;			/* the engine's own object for the buffer */
	uint64_t capacity;		/* bytes of device memory that models_reserve() counted */
};

struct buffers {
	struct models *models;
	/* lock that protects the list, and `users` and `forgotten` of each buffer */
	pthread_mutex_t lock;
	struct buffer *list;
};

bool buffers_init(struct buffers *buffers, struct models *models);

/* Lets the engine destroy all buffers. The caller must ensure that no buffer is in use. */
void buffers_free(struct buffers *buffers);

/*
 * Returns the buffer of a grant, or NULL. The caller releases the buffer by buffers_put(), which
 * accepts NULL.
 */
struct buffer *buffers_get(struct buffers *buffers, uint32_t grant);
void buffers_put(struct buffers *buffers, struct buffer *buffer);

/*
 * Handles NNACCEL_DO_FORGET_GRANT: destroys the grant's buffer now or, if the buffer is in use,
 * after the buffer's last use.
 */
void buffers_forget(struct buffers *buffers, uint32_t grant);

/* Handles NNACCEL_DO_COPY_IN and NNACCEL_DO_COPY_OUT. */
enum nn_status buffers_copy(struct buffers *buffers, struct grants *grants,
			    const struct command *command, struct nn_error *err);

/*
 * Handles NNACCEL_DO_BUFFER. Sets *layout to the layout that the engine chooses, an enum
 * nnaccel_layout. Returns NN_INVALID_ARGUMENT if a model has no operand for a role, if the operands
 * of roles differ in type or shape, or if the buffer's size is wrong. The buffer must have the size
 * of the operand's shape or, if a dimension is unknown, a multiple of the operand's smallest size.
 * Returns NN_RESOURCE_EXHAUSTED_TRANSIENT if the client would exceed its limit of device memory.
 */
enum nn_status buffer_judge(struct buffers *buffers, const struct command *command,
			    uint32_t *layout, struct nn_error *err);

/*
 * Returns NN_INVALID_ARGUMENT if an input buffer's size differs from the size of its argument's
 * shape. The engine, not buffer_check_inputs(), checks all other properties of arguments.
 */
enum nn_status buffer_check_inputs(const struct models *models,
				   const struct loaded_model *loaded,
				   const struct command *command, struct nn_error *err);

/* Sets sizes[i] to the size of output i in bytes, computed from the execution's shapes. */
void buffer_sizes(const struct models *models, const struct loaded_model *loaded,
		  const struct nn_execution *execution, uint64_t *sizes);

#endif /* NN_KIT_BUFFERS_H */
