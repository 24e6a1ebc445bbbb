// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: the compilation cache. The parts of a prepared model are saved to memory of the client,
 * and can be prepared again from there. The engine defines and validates their contents.
 */

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "command.h"
#include "context.h"
#include "core.h"
#include "memory.h"
#include "model.h"
#include "trace.h"

/**
 * struct nnaccel_cache_parts - The module's copy of the description of a saved model's parts
 * @parts: model parts, then data parts; allocated
 * @num_model: number of model parts
 * @num_data: number of data parts
 * @num_grants: number of parts with memory
 */
struct nnaccel_cache_parts {
	struct nnaccel_cache_part *parts;
	u32 num_model;
	u32 num_data;
	u32 num_grants;
};

/* Copies the description of the parts. */
static int nnaccel_cache_copy_parts(struct nnaccel_cache_parts *to, u64 from)
{
	u32 i;

	if (to->num_model > NNACCEL_MAX_CACHE_PARTS || to->num_data > NNACCEL_MAX_CACHE_PARTS ||
	    !(to->num_model + to->num_data))
		return -EINVAL;
	to->parts = nnaccel_copy_in(from, to->num_model + to->num_data, sizeof(*to->parts));
	if (IS_ERR(to->parts))
		return PTR_ERR(to->parts);
	for (i = 0; i < to->num_model + to->num_data; i++)
		to->num_grants += to->parts[i].pool != 0;
	return 0;
}

/* Adds the pool of a part and sets its argument. */
static int nnaccel_cache_set_part(struct nnaccel_command *cmd, struct nnaccel_arg *to,
				  const struct nnaccel_cache_part *part, u32 prot)
{
	u32 i = cmd->head.num_grants;
	u64 end;
	int ret;

	*to = (struct nnaccel_arg){};
	if (part->__reserved || (!part->pool && (part->offset || part->length)))
		return -EINVAL;
	if (!part->pool) {
		to->flags = NNACCEL_ARG_NO_VALUE;
		return 0;
	}
	ret = nnaccel_command_add_pools(cmd, part->pool, 0, 0);
	if (ret)
		return ret;
	if (!nnaccel_pool_is_bytes(cmd->pools[i]))
		return -EOPNOTSUPP;
	if (check_add_overflow(part->offset, part->length, &end) || end > cmd->pools[i]->length)
		return -EINVAL;
	if (prot & ~cmd->pools[i]->prot)
		return -EACCES;
	cmd->grants[i].prot |= prot;
	to->pool = i;
	to->offset = part->offset;
	to->length = part->length;
	return 0;
}

/* Adds parts to a command with space for them. Returns the number of grants of model parts. */
static int nnaccel_cache_set_parts(struct nnaccel_command *cmd,
				   const struct nnaccel_cache_parts *from, u32 prot)
{
	u32 i, model_grants = 0;
	u64 model_bytes = 0;
	int ret;

	for (i = 0; i < from->num_model + from->num_data; i++) {
		const struct nnaccel_cache_part *part = &from->parts[i];
		bool is_model = i < from->num_model;

		if (is_model ? part->length > NNACCEL_MAX_WIRE - model_bytes :
			       part->offset & ~PAGE_MASK)
			return -EINVAL;
		ret = nnaccel_cache_set_part(cmd, &cmd->args[i], part, prot);
		if (ret)
			return ret;
		if (is_model) {
			model_bytes += part->length;
			model_grants = cmd->head.num_grants;
		}
	}
	cmd->head.num_inputs = from->num_model;
	cmd->head.num_outputs = from->num_data;
	return model_grants;
}

/* Allocates a command with space for the parts. */
static struct nnaccel_command *nnaccel_cache_alloc(struct nnaccel_context *ctx, u32 kind,
						   const struct nnaccel_cache_parts *parts,
						   u32 attributes_size, u32 max_payload)
{
	const struct nnaccel_arrays layout = {
		.num_grants = parts->num_grants,
		.num_args = parts->num_model + parts->num_data,
		.attributes_size = attributes_size,
		.max_payload = max_payload,
	};

	return nnaccel_command_alloc(ctx, kind, &layout);
}

static struct nnaccel_command *nnaccel_prepare_cached_build(struct nnaccel_context *ctx,
							    const void *from,
							    const struct nnaccel_cache_parts *parts)
{
	const struct nnaccel_prepare_cached *arg = from;
	struct nnaccel_command *cmd;
	int ret, model_grants;

	cmd = nnaccel_cache_alloc(ctx, NNACCEL_DO_PREPARE_CACHED, parts, arg->attributes_size,
				  sizeof(struct nnaccel_model_memory));
	if (IS_ERR(cmd))
		return cmd;
	cmd->head.preference = arg->preference;
	cmd->head.priority = arg->priority;
	cmd->head.deadline_ns = nnaccel_time_from_user(arg->deadline_ns);
	memcpy(cmd->head.token, arg->token, sizeof(arg->token));
	model_grants = nnaccel_cache_set_parts(cmd, parts, NNACCEL_PROT_READ);
	ret = model_grants < 0 ? model_grants :
				 nnaccel_command_set_attributes(cmd, arg->attributes);
	return nnaccel_model_create(cmd, model_grants, ret);
}

/**
 * nnaccel_prepare_cached_create() - Makes the command that prepares a model from saved parts
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
	struct nnaccel_cache_parts parts = {
		.num_model = arg->num_model_parts,
		.num_data = arg->num_data_parts,
	};
	struct nnaccel_command *cmd;
	int ret;

	if (arg->flags ||
	    !nnaccel_model_may_prepare(arg->preference, arg->priority, arg->attributes_size))
		return ERR_PTR(-EINVAL);
	ret = nnaccel_cache_copy_parts(&parts, arg->parts);
	if (ret)
		return ERR_PTR(ret);
	cmd = nnaccel_prepare_cached_build(ctx, arg, &parts);
	kvfree(parts.parts);
	return cmd;
}

/**
 * nnaccel_prepare_cached_respond() - Writes the answer for a cached model to the client
 * @ucmd: the client's structure; has the model's id
 * @cmd: the answered command
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
				    const struct nnaccel_cache_save *arg,
				    const struct nnaccel_cache_parts *parts)
{
	struct nnaccel_model *model;
	int ret;

	ret = nnaccel_cache_set_parts(cmd, parts, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	if (ret < 0)
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
 * nnaccel_cache_save_create() - Makes the command that saves a model
 * @ctx: the context
 * @from: the module's copy of the client's struct nnaccel_cache_save
 *
 * Return: the command, or an error pointer: -EINVAL, -ENOENT, -EOPNOTSUPP, -EACCES, -EFAULT,
 * -ENOMEM, -EDQUOT.
 */
struct nnaccel_command *nnaccel_cache_save_create(struct nnaccel_context *ctx, const void *from)
{
	const struct nnaccel_cache_save *arg = from;
	struct nnaccel_cache_parts parts = {
		.num_model = arg->num_model_parts,
		.num_data = arg->num_data_parts,
	};
	struct nnaccel_command *cmd;
	int ret;

	if (arg->flags || arg->__reserved)
		return ERR_PTR(-EINVAL);
	ret = nnaccel_cache_copy_parts(&parts, arg->parts);
	if (ret)
		return ERR_PTR(ret);
	cmd = nnaccel_cache_alloc(ctx, NNACCEL_DO_CACHE_SAVE, &parts, 0,
				  (parts.num_model + parts.num_data) * sizeof(u64));
	ret = IS_ERR(cmd) ? PTR_ERR(cmd) : nnaccel_cache_save_build(cmd, arg, &parts);
	kvfree(parts.parts);
	if (!ret)
		return cmd;
	if (!IS_ERR(cmd))
		nnaccel_command_put(cmd);
	return ERR_PTR(ret);
}

/**
 * nnaccel_cache_save_respond() - Writes the saved sizes to the client
 * @ucmd: the client's structure
 * @cmd: the answered command
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_cache_save_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_cache_save *arg = ucmd->cmd;

	arg->out_status = cmd->status;
	if (cmd->payload_size &&
	    copy_to_user(u64_to_user_ptr(arg->sizes), cmd->payload, cmd->payload_size))
		return -EFAULT;
	return nnaccel_command_write_message(cmd, arg->message, arg->message_size) ?:
	       nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}
