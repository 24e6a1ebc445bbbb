/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: buffers of memory domains. */
#ifndef NNACCEL_BUFFER_H
#define NNACCEL_BUFFER_H

#include "memory.h"

/* ---- buffer.c ---- */

/**
 * struct nnaccel_buffer_role - A use for which a buffer was allocated
 * @model: serial of the model
 * @kind: enum nnaccel_role_kind
 * @index: index of the input or output
 */
struct nnaccel_buffer_role {
	u64 model;
	u32 kind;
	u32 index;
};

/**
 * struct nnaccel_buffer - A buffer of a memory domain
 * @pool: memory and base object of the buffer; the pool's length is the
 *	capacity
 * @id: its id, for traces; 0 if it has none
 * @layout: number of the session whose worker defines the layout; 0 if the buffer is linear
 * @num_roles: number of roles
 * @roles: the allowed uses, sorted
 * @initialised: ctx->lock, like all fields below: the buffer has valid contents
 * @written: a use writes the buffer
 * @readers: number of uses that read the buffer
 * @size: bytes of the contents
 */
struct nnaccel_buffer {
	struct nnaccel_pool pool;
	u32 id;
	u64 layout;
	u32 num_roles;
	struct nnaccel_buffer_role *roles;
	bool initialised;
	bool written;
	u32 readers;
	u64 size;
};

enum nnaccel_use_kind {
	NNACCEL_USE_NONE,
	NNACCEL_USE_READ,
	NNACCEL_USE_WRITE,
};

/**
 * struct nnaccel_use - The use of a buffer by a command
 * @kind: read or write
 * @output: index of the output of an execution
 */
struct nnaccel_use {
	enum nnaccel_use_kind kind;
	u32 output;
};

struct nnaccel_buffer *nnaccel_buffer_get(struct nnaccel_context *ctx, u32 id);
void nnaccel_buffer_release(struct nnaccel_object *obj);
int nnaccel_buffer_check_use(const struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind);
void nnaccel_buffer_begin_use(struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind);
void nnaccel_buffer_end_use(struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind,
			    bool success, u64 size);
void nnaccel_buffer_set_grants(struct nnaccel_command *cmd, struct nnaccel_buffer *buffer,
			       struct nnaccel_pool *staging, bool in);
bool nnaccel_buffer_is_served(const struct nnaccel_command *cmd);
int nnaccel_buffer_begin_all(struct nnaccel_command *cmd);
void nnaccel_buffer_end_all(struct nnaccel_command *cmd, int error);
int nnaccel_buffer_check_answer(const struct nnaccel_command *cmd, u32 status,
				const void *payload);
int nnaccel_buffer_add_all(struct nnaccel_command *cmd, u64 ids, u32 n);
int nnaccel_buffer_set_arg(struct nnaccel_command *cmd, struct nnaccel_arg *arg, s64 output);
int nnaccel_buffer_check_roles(const struct nnaccel_command *cmd);
int nnaccel_buffer_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_buffer_build(struct nnaccel_command *cmd, const void *from,
			 struct nnaccel_arrays *arrays);
void nnaccel_buffer_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

/* ---- copy.c ---- */

struct nnaccel_command *nnaccel_copy_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_copy_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd);
void nnaccel_copy_free(struct nnaccel_copy *copy);

#endif /* NNACCEL_BUFFER_H */
