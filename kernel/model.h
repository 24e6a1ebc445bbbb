/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: prepared models, and their caches. */
#ifndef NNACCEL_MODEL_H
#define NNACCEL_MODEL_H

#include "context.h"

/* ---- model.c ---- */

/**
 * struct nnaccel_model - A prepared model
 * @obj: base object
 * @session: ctx->lock: session of the worker; NULL if the model is dead or not
 *	requested yet
 * @node: ctx->lock: entry in the session's list
 * @prepared: ctx->lock: the worker has prepared the model
 * @number: name of the model in the session
 * @serial: unique number, never reused
 * @priority: enum nnaccel_priority
 * @preference: enum nnaccel_preference
 * @memory: ctx->lock: memory use that the worker reported
 * @num_pools: number of pools of the model's constants
 * @pools: the pools, with references
 */
struct nnaccel_model {
	struct nnaccel_object obj;
	struct nnaccel_session *session;
	struct list_head node;
	bool prepared;
	u64 number;
	u64 serial;
	u32 priority;
	u32 preference;
	struct nnaccel_model_memory memory;
	u32 num_pools;
	struct nnaccel_pool **pools;
};

struct nnaccel_model *nnaccel_model_get(struct nnaccel_context *ctx, u32 id);
int nnaccel_command_set_model(struct nnaccel_command *cmd, u32 id);
void nnaccel_model_put(struct nnaccel_model *model);
void nnaccel_model_show_memory(struct nnaccel_context *ctx, struct seq_file *m);
void nnaccel_model_retire(struct nnaccel_object *obj);
void nnaccel_model_release(struct nnaccel_object *obj);

bool nnaccel_model_may_prepare(u32 preference, u32 priority, u32 attributes_size);
int nnaccel_model_build(struct nnaccel_command *cmd, u32 first, u32 preference, u32 priority,
			u64 deadline_ns, u64 attributes);
void nnaccel_model_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
int nnaccel_prepare_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_prepare_build(struct nnaccel_command *cmd, const void *from,
			  struct nnaccel_arrays *arrays);

/* ---- cache.c ---- */

int nnaccel_prepare_cached_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_prepare_cached_build(struct nnaccel_command *cmd, const void *from,
				 struct nnaccel_arrays *arrays);
int nnaccel_cache_save_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_cache_save_build(struct nnaccel_command *cmd, const void *from,
			     struct nnaccel_arrays *arrays);
int nnaccel_cache_save_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd);

#endif /* NNACCEL_MODEL_H */
