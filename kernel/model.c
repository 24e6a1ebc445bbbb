// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: models. Prepared by a worker, and alive as long as that worker's session.
 */

#include <linux/seq_file.h>
#include <linux/slab.h>

#include "nnaccel_private.h"
#include "trace.h"

/* Names a model for good: what was made for one matches no other. */
static atomic64_t nnaccel_last_serial;

static struct nnaccel_model *to_model(struct nnaccel_object *obj)
{
	return container_of(obj, struct nnaccel_model, obj);
}

/**
 * nnaccel_model_get() - Look up a model
 * @ctx: the context
 * @id: its id
 *
 * Return: the model, counted, or an error pointer: -ENOENT.
 */
struct nnaccel_model *nnaccel_model_get(struct nnaccel_context *ctx, u32 id)
{
	struct nnaccel_object *obj = nnaccel_object_get(ctx, id, NNACCEL_OBJECT_MODEL);

	return obj ? to_model(obj) : ERR_PTR(-ENOENT);
}

/**
 * nnaccel_model_put() - Drop a count; not with ctx->lock held
 * @model: the model
 */
void nnaccel_model_put(struct nnaccel_model *model)
{
	nnaccel_object_put(&model->obj);
}

/**
 * nnaccel_model_retire() - Nothing refers to a model any more: tell a worker that has it
 * @obj: the model; ctx->lock is held
 */
void nnaccel_model_retire(struct nnaccel_object *obj)
{
	struct nnaccel_model *model = to_model(obj);

	lockdep_assert_held(&obj->ctx->lock);
	if (!model->session)
		return;
	list_del(&model->node);
	nnaccel_session_update_priority(model->session);
	if (model->prepared)
		nnaccel_session_notify(model->session, &obj->notice, NNACCEL_DO_FORGET_MODEL,
				       model->number, 0);
}

/**
 * nnaccel_model_release() - Drop the pools of a model and free the model
 * @obj: the model
 */
void nnaccel_model_release(struct nnaccel_object *obj)
{
	struct nnaccel_model *model = to_model(obj);
	u32 i;

	trace_nnaccel_model_destroy(model);
	for (i = 0; i < model->num_pools; i++)
		nnaccel_pool_put(model->pools[i]);
	kvfree(model->pools);
	kfree(model);
}

/**
 * nnaccel_model_show_memory() - Print what the worker says of each model that an id names
 * @ctx: the context; its lock is taken
 * @m: where to
 */
void nnaccel_model_show_memory(struct nnaccel_context *ctx, struct seq_file *m)
{
	u64 weights = 0, execution = 0;
	struct nnaccel_object *obj;
	unsigned long id;

	mutex_lock(&ctx->lock);
	xa_for_each(&ctx->objects, id, obj) {
		const struct nnaccel_model_memory *memory;

		/* What a worker had has died with it. */
		if (obj->type != NNACCEL_OBJECT_MODEL || !to_model(obj)->session)
			continue;
		memory = &to_model(obj)->memory;
		seq_printf(m, "nnaccel-model-%lu:\t%llu KiB weights, %llu KiB an execution\n", id,
			   memory->weights >> 10, memory->execution >> 10);
		weights += memory->weights;
		execution += memory->execution;
	}
	mutex_unlock(&ctx->lock);
	seq_printf(m, "nnaccel-model-weights:\t%llu KiB\n", weights >> 10);
	seq_printf(m, "nnaccel-model-executions:\t%llu KiB\n", execution >> 10);
}

/* The pools of the command but the wire form's: the model needs them as long as it lives. */
static int nnaccel_model_hold_pools(struct nnaccel_model *model, const struct nnaccel_command *cmd)
{
	u32 i, n = cmd->head.num_grants - 1;
	int ret;

	if (!n)
		return 0;
	ret = nnaccel_object_charge(&model->obj, n * sizeof(*model->pools));
	if (ret)
		return ret;
	model->pools = kvmalloc_array(n, sizeof(*model->pools), GFP_KERNEL_ACCOUNT);
	if (!model->pools)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		refcount_inc(&cmd->pools[i + 1]->obj.refs);
		model->pools[i] = cmd->pools[i + 1];
	}
	model->num_pools = n;
	return 0;
}

/* A model with two counts: the caller's and the command's. */
static struct nnaccel_model *nnaccel_model_create(struct nnaccel_command *cmd)
{
	struct nnaccel_model *model;
	int ret;

	model = kzalloc(sizeof(*model), GFP_KERNEL_ACCOUNT);
	if (!model)
		return ERR_PTR(-ENOMEM);
	ret = nnaccel_object_init(&model->obj, cmd->ctx, NNACCEL_OBJECT_MODEL);
	if (ret) {
		kfree(model);
		return ERR_PTR(ret);
	}
	ret = nnaccel_model_hold_pools(model, cmd);
	if (ret) {
		nnaccel_model_put(model);
		return ERR_PTR(ret);
	}
	model->priority = cmd->head.priority;
	model->preference = cmd->head.preference;
	model->serial = atomic64_inc_return(&nnaccel_last_serial);
	refcount_inc(&model->obj.refs);
	cmd->model = model;
	cmd->head.max_payload = sizeof(model->memory);
	return model;
}

/* Writes the answer, then publishes the model; without one the id goes back. */
static int nnaccel_prepare_respond(struct nnaccel_ucmd *ucmd, const struct nnaccel_command *cmd,
				   const struct nnaccel_preparation *p,
				   struct nnaccel_model *model, u32 id)
{
	bool prepared = cmd->status == NNACCEL_STATUS_NONE;
	int ret;

	*p->out_status = cmd->status;
	*p->out_model = prepared ? id : 0;
	ret = nnaccel_command_write_message(cmd, p->message, p->message_size) ?:
	      nnaccel_ucmd_respond(ucmd, p->size);
	if (ret || !prepared) {
		nnaccel_object_unreserve(cmd->ctx, id);
		nnaccel_model_put(model);
		return ret;
	}
	trace_nnaccel_model_prepare(model, id);
	nnaccel_object_publish(&model->obj, id);
	return 0;
}

/* Makes a model, reserves its id and lets the worker prepare it. */
static int nnaccel_prepare_run(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd,
			       const struct nnaccel_preparation *p)
{
	struct nnaccel_model *model;
	u32 id;
	int ret;

	if (ucmd->resumed) {
		model = cmd->model;
		refcount_inc(&model->obj.refs);
	} else {
		model = nnaccel_model_create(cmd);
		if (IS_ERR(model))
			return PTR_ERR(model);
	}
	ret = nnaccel_object_reserve(cmd->ctx, &id);
	if (ret)
		goto err_model;
	ret = nnaccel_command_run(ucmd, cmd);
	if (ret)
		goto err_id;
	return nnaccel_prepare_respond(ucmd, cmd, p, model, id);

err_id:
	nnaccel_object_unreserve(cmd->ctx, id);
err_model:
	nnaccel_model_put(model);
	return ret;
}

/**
 * nnaccel_model_prepare() - Have a model prepared
 * @ucmd: the ioctl
 * @p: what the ioctls that do it have in common
 *
 * Return: 0, -EINVAL, -ENOENT, -ENOSPC, -EDQUOT, -EFAULT, -ENOMEM, or what nnaccel_command_run()
 * returned.
 */
int nnaccel_model_prepare(struct nnaccel_ucmd *ucmd, const struct nnaccel_preparation *p)
{
	struct nnaccel_command *cmd;
	int ret;

	if (p->message_size > NNACCEL_MAX_MESSAGE ||
	    p->preference > NNACCEL_PREFER_SUSTAINED_SPEED || p->priority > NNACCEL_PRIORITY_HIGH)
		return -EINVAL;
	if (ucmd->resumed) {
		cmd = ucmd->resumed;
		ret = nnaccel_prepare_run(ucmd, cmd, p);
		nnaccel_command_put(cmd);
		return ret;
	}
	cmd = nnaccel_command_alloc(ucmd->object, p->kind);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	cmd->head.preference = p->preference;
	cmd->head.priority = p->priority;
	cmd->head.deadline_ns = nnaccel_time_from_user(p->deadline_ns);
	ret = p->set_args(cmd, ucmd->cmd) ?:
	      nnaccel_command_set_attributes(cmd, p->attributes, p->attributes_size) ?:
	      nnaccel_prepare_run(ucmd, cmd, p);
	nnaccel_command_put(cmd);
	return ret;
}

static int nnaccel_prepare_set_args(struct nnaccel_command *cmd, const void *from)
{
	const struct nnaccel_prepare *arg = from;

	cmd->head.flags = arg->flags;
	return nnaccel_command_set_model_pools(cmd, arg->wire_pool, arg->wire_offset,
					       arg->wire_length, arg->pools, arg->num_pools);
}

/**
 * nnaccel_prepare_ioctl() - NNACCEL_PREPARE
 * @ucmd: the ioctl
 *
 * Return: 0 or what nnaccel_model_prepare() returned.
 */
int nnaccel_prepare_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_prepare *arg = ucmd->cmd;
	const struct nnaccel_preparation p = {
		.kind = NNACCEL_DO_PREPARE,
		.set_args = nnaccel_prepare_set_args,
		.preference = arg->preference,
		.priority = arg->priority,
		.deadline_ns = arg->deadline_ns,
		.attributes = arg->attributes,
		.attributes_size = arg->attributes_size,
		.message_size = arg->message_size,
		.message = arg->message,
		.out_model = &arg->out_model,
		.out_status = &arg->out_status,
		.size = sizeof(*arg),
	};

	return arg->flags & ~NNACCEL_PREPARE_KEEP ? -EINVAL : nnaccel_model_prepare(ucmd, &p);
}
