// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: queries. A client asks the worker about the device, or which operations of a model it
 * supports.
 */

#include <linux/err.h>
#include <linux/uaccess.h>

#include "command.h"
#include "context.h"
#include "core.h"

/**
 * nnaccel_query_create() - Makes the command of a query
 * @ctx: the context
 * @from: the module's copy of the client's struct nnaccel_query
 *
 * Return: the command, or an error pointer: -EINVAL, -ENOMEM, -EDQUOT.
 */
struct nnaccel_command *nnaccel_query_create(struct nnaccel_context *ctx, const void *from)
{
	const struct nnaccel_arrays layout = { .max_payload = NNACCEL_MAX_QUERY };
	const struct nnaccel_query *arg = from;
	struct nnaccel_command *cmd;

	if (arg->data_size > NNACCEL_MAX_QUERY)
		return ERR_PTR(-EINVAL);
	cmd = nnaccel_command_alloc(ctx, NNACCEL_DO_QUERY, &layout);
	if (!IS_ERR(cmd))
		cmd->head.query = arg->query;
	return cmd;
}

/**
 * nnaccel_query_respond() - Writes the answer of a query to its client
 * @ucmd: the client's structure
 * @cmd: the answered query
 *
 * Return: 0, -ENOBUFS, -EFAULT.
 */
int nnaccel_query_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_query *arg = ucmd->cmd;
	u32 size = 0;

	if (cmd->status == NNACCEL_STATUS_NONE)
		size = cmd->payload_size;
	if (size > arg->data_size)
		return -ENOBUFS;
	if (size && copy_to_user(u64_to_user_ptr(arg->data), cmd->payload, size))
		return -EFAULT;
	arg->data_size = size;
	arg->out_status = cmd->status;
	return nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}

/**
 * nnaccel_supported_create() - Makes a command that asks which operations are supported
 * @ctx: the context
 * @from: the module's copy of the client's struct nnaccel_supported
 *
 * Return: the command, or an error pointer: -EINVAL, -ENOENT, -EOPNOTSUPP, -EFAULT, -ENOMEM,
 * -EDQUOT.
 */
struct nnaccel_command *nnaccel_supported_create(struct nnaccel_context *ctx, const void *from)
{
	const struct nnaccel_supported *arg = from;
	const struct nnaccel_arrays layout = {
		.num_grants = arg->num_pools + 1,
		.max_payload = arg->num_operations,
	};
	struct nnaccel_command *cmd;
	int ret;

	if (arg->flags || arg->__reserved || arg->num_operations > NNACCEL_MAX_OPERATIONS ||
	    arg->num_pools > NNACCEL_MAX_CMD_POOLS - 1)
		return ERR_PTR(-EINVAL);
	cmd = nnaccel_command_alloc(ctx, NNACCEL_DO_SUPPORTED, &layout);
	if (IS_ERR(cmd))
		return cmd;
	ret = nnaccel_command_set_model_pools(cmd, arg->wire_pool, arg->wire_offset,
					      arg->wire_length, arg->pools, arg->num_pools);
	if (!ret)
		return cmd;
	nnaccel_command_put(cmd);
	return ERR_PTR(ret);
}

/**
 * nnaccel_supported_respond() - Writes to the client which operations the worker supports
 * @ucmd: the client's structure
 * @cmd: the answered command
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_supported_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_supported *arg = ucmd->cmd;

	if (cmd->status == NNACCEL_STATUS_NONE &&
	    copy_to_user(u64_to_user_ptr(arg->supported), cmd->payload, cmd->payload_size))
		return -EFAULT;
	arg->out_status = cmd->status;
	return nnaccel_command_write_message(cmd, arg->message, arg->message_size) ?:
	       nnaccel_ucmd_respond(ucmd, sizeof(*arg));
}
