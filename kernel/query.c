// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: queries. A client's query asks the worker for properties of the device, or for the
 * operations of a model that the engine supports.
 */

#include <linux/err.h>

#include "command.h"

/**
 * nnaccel_query_layout() - Validates a query
 * @from: the module's copy of the client's struct nnaccel_query
 * @arrays: out: sizes of the command's arrays
 *
 * Return: 0 or -EINVAL.
 */
int nnaccel_query_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_query *arg = from;

	arrays->max_payload = NNACCEL_MAX_QUERY;
	return arg->data_size > NNACCEL_MAX_QUERY ? -EINVAL : 0;
}

/**
 * nnaccel_query_build() - Fills the command of a query
 * @cmd: the command
 * @from: as in nnaccel_query_layout()
 * @arrays: unused
 *
 * Return: 0.
 */
int nnaccel_query_build(struct nnaccel_command *cmd, const void *from,
			struct nnaccel_arrays *arrays)
{
	const struct nnaccel_query *arg = from;

	cmd->head.query = arg->query;
	return 0;
}

/**
 * nnaccel_query_answer() - Writes the answer of a query to its client
 * @work: the client's structure
 * @cmd: the answered query
 *
 * Return: 0, -ENOBUFS, -EFAULT.
 */
int nnaccel_query_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd)
{
	u32 size = cmd->status == NNACCEL_STATUS_NONE ? cmd->payload_size : 0;
	struct nnaccel_query *arg = work->cmd;

	if (size > arg->data_size)
		return -ENOBUFS;
	arg->data_size = size;
	return nnaccel_put(u64_to_user_ptr(arg->data), cmd->payload, size);
}

/**
 * nnaccel_supported_layout() - Validates a request for the supported operations of a model
 * @from: the module's copy of the client's struct nnaccel_supported
 * @arrays: out: sizes of the command's arrays
 *
 * Return: 0 or -EINVAL.
 */
int nnaccel_supported_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_supported *arg = from;

	if (arg->flags || arg->__reserved || arg->num_operations > NNACCEL_MAX_OPERATIONS ||
	    arg->num_pools > NNACCEL_MAX_CMD_POOLS - 1)
		return -EINVAL;
	arrays->num_grants = arg->num_pools + 1;
	arrays->max_payload = arg->num_operations;
	return 0;
}

/**
 * nnaccel_supported_build() - Fills the command that asks which operations are supported
 * @cmd: the command
 * @from: as in nnaccel_supported_layout()
 * @arrays: unused
 *
 * Return: 0, -EINVAL, -ENOENT, -EOPNOTSUPP, -EFAULT.
 */
int nnaccel_supported_build(struct nnaccel_command *cmd, const void *from,
			    struct nnaccel_arrays *arrays)
{
	const struct nnaccel_supported *arg = from;

	return nnaccel_command_set_model_pools(cmd, arg->wire_pool, arg->wire_offset,
					       arg->wire_length, arg->pools, arg->num_pools);
}

/**
 * nnaccel_supported_answer() - Writes to the client which operations the worker supports
 * @work: the client's structure
 * @cmd: the answered command
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_supported_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd)
{
	const struct nnaccel_supported *arg = work->cmd;

	return cmd->status != NNACCEL_STATUS_NONE ? 0 :
	       nnaccel_put(u64_to_user_ptr(arg->supported), cmd->payload, cmd->payload_size);
}
