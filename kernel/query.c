// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: questions to the worker: about its device, and about which operations of a model it
 * can do.
 */

#include <linux/err.h>
#include <linux/uaccess.h>

#include "nnaccel_private.h"

/**
 * nnaccel_query_ioctl() - NNACCEL_QUERY
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -ENOBUFS, -EFAULT, or what nnaccel_command_run() returned.
 */
int nnaccel_query_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_arrays layout = { .max_payload = NNACCEL_MAX_QUERY };
	struct nnaccel_query *arg = ucmd->cmd;
	struct nnaccel_command *cmd;
	u32 size = 0;
	int ret;

	if (arg->data_size > NNACCEL_MAX_QUERY)
		return -EINVAL;
	cmd = ucmd->resumed ?: nnaccel_command_alloc(ucmd->object, NNACCEL_DO_QUERY, &layout);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	if (!ucmd->resumed)
		cmd->head.query = arg->query;
	ret = nnaccel_command_run(ucmd, cmd);
	if (ret)
		goto out;

	if (cmd->status == NNACCEL_STATUS_NONE)
		size = cmd->payload_size;
	if (size > arg->data_size)
		ret = -ENOBUFS;
	else if (size && copy_to_user(u64_to_user_ptr(arg->data), cmd->payload, size))
		ret = -EFAULT;
	if (ret)
		goto out;
	arg->data_size = size;
	arg->out_status = cmd->status;
	ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
out:
	nnaccel_command_put(cmd);
	return ret;
}

static struct nnaccel_command *nnaccel_supported_create(struct nnaccel_context *ctx,
							const struct nnaccel_supported *arg)
{
	const struct nnaccel_arrays layout = {
		.num_grants = arg->num_pools + 1,
		.max_payload = arg->num_operations,
	};
	struct nnaccel_command *cmd;
	int ret;

	if (arg->num_pools > NNACCEL_MAX_CMD_POOLS - 1)
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
 * nnaccel_supported_ioctl() - NNACCEL_SUPPORTED
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -ENOENT, -EFAULT, -ENOMEM, or what nnaccel_command_run() returned.
 */
int nnaccel_supported_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_supported *arg = ucmd->cmd;
	struct nnaccel_command *cmd;
	int ret;

	if (arg->flags || arg->__reserved || arg->message_size > NNACCEL_MAX_MESSAGE ||
	    arg->num_operations > NNACCEL_MAX_OPERATIONS)
		return -EINVAL;
	cmd = ucmd->resumed ?: nnaccel_supported_create(ucmd->object, arg);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	ret = nnaccel_command_run(ucmd, cmd);
	if (!ret && cmd->status == NNACCEL_STATUS_NONE &&
	    copy_to_user(u64_to_user_ptr(arg->supported), cmd->payload, cmd->payload_size))
		ret = -EFAULT;
	if (!ret)
		ret = nnaccel_command_write_message(cmd, arg->message, arg->message_size);
	if (!ret) {
		arg->out_status = cmd->status;
		ret = nnaccel_ucmd_respond(ucmd, sizeof(*arg));
	}
	nnaccel_command_put(cmd);
	return ret;
}
