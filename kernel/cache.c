// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: the compilation cache. The worker writes the parts of a prepared model to memory of the
 * client, and can later prepare the model from these parts. The engine defines and validates the
 * contents of the parts of a saved model.
 */

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "command.h"
#include "model.h"
#include "trace.h"

/*
 * Copies the description of a saved model's parts, model parts first, and computes the sizes of the
 * command's arrays.
 */
static int nnaccel_cache_layout(u64 from, u32 num_model, u32 num_data,
				struct nnaccel_arrays *arrays)
{
	struct nnaccel_cache_part *parts;
	u32 i, num = num_model + num_data;

	if (num_model > NNACCEL_MAX_CACHE_PARTS || num_data > NNACCEL_MAX_CACHE_PARTS || !num)
		return -EINVAL;
	parts = nnaccel_copy_in(from, num, sizeof(*parts));
	if (IS_ERR(parts))
		return PTR_ERR(parts);
	for (i = 0; i < num; i++)
		arrays->num_grants += parts[i].pool != 0;
	arrays->num_args = num;
	arrays->copy = parts;
	return 0;
}

/* Adds the pool of a saved model's part to the command, and sets the part's argument. */
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

/*
 * Adds the parts of a saved model to a command, whose arrays must have space. Returns the number of
 * grants of model parts.
 */
static int nnaccel_cache_set_parts(struct nnaccel_command *cmd, u32 num_model, u32 num_data,
				   const struct nnaccel_cache_part *part, u32 prot)
{
	u32 i, model_grants = 0;
	u64 model_bytes = 0;
	int ret;

	for (i = 0; i < num_model + num_data; i++, part++) {
		bool is_model = i < num_model;

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
	cmd->head.num_inputs = num_model;
	cmd->head.num_outputs = num_data;
	return model_grants;
}

/**
 * nnaccel_prepare_cached_layout() - Validates a preparation from saved parts
 * @from: the module's copy of the client's struct nnaccel_prepare_cached
 * @arrays: out: sizes of the command's arrays, and the parts
 *
 * Return: 0, -EINVAL, -EFAULT, -ENOMEM.
 */
int nnaccel_prepare_cached_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_prepare_cached *arg = from;

	if (arg->flags ||
	    !nnaccel_model_may_prepare(arg->preference, arg->priority, arg->attributes_size))
		return -EINVAL;
	arrays->attributes_size = arg->attributes_size;
	arrays->max_payload = sizeof(struct nnaccel_model_memory);
	return nnaccel_cache_layout(arg->parts, arg->num_model_parts, arg->num_data_parts, arrays);
}

/**
 * nnaccel_prepare_cached_build() - Fills the command that prepares a model from saved parts
 * @cmd: the command
 * @from: as in nnaccel_prepare_cached_layout()
 * @arrays: has the parts
 *
 * Return: 0, -EINVAL, -ENOENT, -EOPNOTSUPP, -EACCES, -EFAULT, -ENOSPC, -EDQUOT, -ENOMEM.
 */
int nnaccel_prepare_cached_build(struct nnaccel_command *cmd, const void *from,
				 struct nnaccel_arrays *arrays)
{
	const struct nnaccel_prepare_cached *arg = from;
	int ret;

	memcpy(cmd->head.token, arg->token, sizeof(arg->token));
	ret = nnaccel_cache_set_parts(cmd, arg->num_model_parts, arg->num_data_parts, arrays->copy,
				      NNACCEL_PROT_READ);
	if (ret < 0)
		return ret;
	return nnaccel_model_build(cmd, ret, arg->preference, arg->priority, arg->deadline_ns,
				   arg->attributes);
}

/**
 * nnaccel_cache_save_layout() - Validates the saving of a model
 * @from: the module's copy of the client's struct nnaccel_cache_save
 * @arrays: out: sizes of the command's arrays, and the parts
 *
 * Return: 0, -EINVAL, -EFAULT, -ENOMEM.
 */
int nnaccel_cache_save_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_cache_save *arg = from;

	if (arg->flags || arg->__reserved)
		return -EINVAL;
	arrays->max_payload = (arg->num_model_parts + arg->num_data_parts) * sizeof(u64);
	return nnaccel_cache_layout(arg->parts, arg->num_model_parts, arg->num_data_parts, arrays);
}

/**
 * nnaccel_cache_save_build() - Fills the command that saves a model
 * @cmd: the command
 * @from: as in nnaccel_cache_save_layout()
 * @arrays: has the parts
 *
 * Return: 0, -EINVAL, -ENOENT, -EOPNOTSUPP, -EACCES, -EFAULT.
 */
int nnaccel_cache_save_build(struct nnaccel_command *cmd, const void *from,
			     struct nnaccel_arrays *arrays)
{
	const struct nnaccel_cache_save *arg = from;
	int ret;

	memcpy(cmd->head.token, arg->token, sizeof(arg->token));
	ret = nnaccel_cache_set_parts(cmd, arg->num_model_parts, arg->num_data_parts, arrays->copy,
				      NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	return ret < 0 ? ret : nnaccel_command_set_model(cmd, arg->model);
}

/**
 * nnaccel_cache_save_answer() - Writes the saved sizes to the client
 * @work: the client's structure
 * @cmd: the answered command
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_cache_save_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd)
{
	const struct nnaccel_cache_save *arg = work->cmd;

	return nnaccel_put(u64_to_user_ptr(arg->sizes), cmd->payload, cmd->payload_size);
}
