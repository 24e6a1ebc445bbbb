// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: the compilation cache. A prepared model's parts go to memory of the client, and come
 * back as a model. What they hold, and whom to believe, is the engine's business.
 */

#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "nnaccel_private.h"
#include "trace.h"

/**
 * nnaccel_prepare_cached_create() - Make a command that prepares a model of saved parts
 * @ctx: the context
 * @from: the module's copy of the client's struct nnaccel_prepare_cached
 *
 * Return: the command, or an error pointer: -EINVAL, -ENOENT, -EOPNOTSUPP, -EACCES, -EFAULT,
 * -ENOSPC, -EDQUOT, -ENOMEM.
 */
struct nnaccel_command *nnaccel_prepare_cached_create(struct nnaccel_context *ctx,
						      const void *from)
{
	const struct nnaccel_prepare_cached *arg = from;
	const struct nnaccel_arrays layout = {
		.num_grants = arg->data_pool ? 2 : 1,
		.attributes_size = arg->attributes_size,
		.max_payload = sizeof(struct nnaccel_model_memory),
	};
	const struct nnaccel_part parts[] = {
		{ arg->model_pool, arg->model_offset, arg->model_length },
		{ arg->data_pool, arg->data_offset, arg->data_length },
	};
	struct nnaccel_command *cmd;
	int ret;

	if (arg->flags ||
	    !nnaccel_model_may_prepare(arg->preference, arg->priority, arg->attributes_size))
		return ERR_PTR(-EINVAL);
	cmd = nnaccel_command_alloc(ctx, NNACCEL_DO_PREPARE_CACHED, &layout);
	if (IS_ERR(cmd))
		return cmd;
	cmd->head.preference = arg->preference;
	cmd->head.priority = arg->priority;
	cmd->head.deadline_ns = nnaccel_time_from_user(arg->deadline_ns);
	memcpy(cmd->head.token, arg->token, sizeof(arg->token));
	ret = nnaccel_command_set_parts(cmd, parts, NNACCEL_PROT_READ) ?:
	      nnaccel_command_set_attributes(cmd, arg->attributes);
	return nnaccel_model_create(cmd, ret);
}

/**
 * nnaccel_prepare_cached_respond() - Tell the client of a model that was prepared of saved parts
 * @ucmd: where the answer goes; has the model's id
 * @cmd: the command that prepared it, answered
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_prepare_cached_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_prepare_cached *arg = ucmd->cmd;

	arg->out_status = cmd->status;
	arg->out_model = cmd->status == NNACCEL_STATUS_NONE ? ucmd->new_id : 0;
	return nnaccel_command_write_message(cmd, arg->message, arg->message_size) ?:
	       nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}

static int nnaccel_cache_save_build(struct nnaccel_command *cmd,
				    const struct nnaccel_cache_save *arg)
{
	const struct nnaccel_part parts[] = {
		{ arg->model_pool, arg->model_offset, arg->model_room },
		{ arg->data_pool, arg->data_offset, arg->data_room },
	};
	struct nnaccel_model *model;
	int ret = 0;

	/* Without memory it is the sizes that are asked for. */
	if (arg->model_pool)
		ret = nnaccel_command_set_parts(cmd, parts,
						NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	else if (arg->data_pool || arg->model_offset || arg->model_room || arg->data_offset ||
		 arg->data_room)
		ret = -EINVAL;
	if (ret)
		return ret;
	model = nnaccel_model_get(cmd->ctx, arg->model);
	if (IS_ERR(model))
		return PTR_ERR(model);
	cmd->model = model;
	cmd->head.model = model->number;
	memcpy(cmd->head.token, arg->token, sizeof(arg->token));
	return 0;
}

/**
 * nnaccel_cache_save_create() - Make a command that saves a model
 * @ctx: the context
 * @from: the module's copy of the client's struct nnaccel_cache_save
 *
 * Return: the command, or an error pointer: -EINVAL, -ENOENT, -EOPNOTSUPP, -EACCES, -ENOMEM,
 * -EDQUOT.
 */
struct nnaccel_command *nnaccel_cache_save_create(struct nnaccel_context *ctx, const void *from)
{
	const struct nnaccel_arrays layout = {
		.num_grants = 2,
		.max_payload = sizeof(struct nnaccel_cache_sizes),
	};
	const struct nnaccel_cache_save *arg = from;
	struct nnaccel_command *cmd;
	int ret;

	if (arg->flags || arg->__reserved0)
		return ERR_PTR(-EINVAL);
	cmd = nnaccel_command_alloc(ctx, NNACCEL_DO_CACHE_SAVE, &layout);
	if (IS_ERR(cmd))
		return cmd;
	ret = nnaccel_cache_save_build(cmd, arg);
	if (!ret)
		return cmd;
	nnaccel_command_put(cmd);
	return ERR_PTR(ret);
}

/**
 * nnaccel_cache_save_respond() - Tell the client how much was saved
 * @ucmd: where the answer goes
 * @cmd: the command, answered
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_cache_save_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	const struct nnaccel_cache_sizes *sizes = cmd->payload;
	struct nnaccel_cache_save *arg = ucmd->cmd;

	arg->out_status = cmd->status;
	arg->out_model_size = sizes ? sizes->model : 0;
	arg->out_data_size = sizes ? sizes->data : 0;
	return nnaccel_command_write_message(cmd, arg->message, arg->message_size) ?:
	       nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}
