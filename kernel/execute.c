// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: executions. The module copies the client's description of an execution once, validates
 * the copy, and builds a command.
 */

#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "buffer.h"
#include "command.h"
#include "model.h"

/*
 * Validates an argument of an execution, and adds the access that the argument needs to its pool's
 * grant. @output is negative for inputs.
 */
static int nnaccel_execute_check_arg(struct nnaccel_command *cmd, struct nnaccel_arg *arg,
				     s64 output)
{
	u32 prot = NNACCEL_PROT_READ | (output < 0 ? 0 : NNACCEL_PROT_WRITE);
	static const struct nnaccel_arg omitted = { .flags = NNACCEL_ARG_NO_VALUE };
	struct nnaccel_pool *pool;
	u64 end;
	u32 i;

	if (arg->flags & NNACCEL_ARG_NO_VALUE)
		return memcmp(arg, &omitted, sizeof(omitted)) ? -EINVAL : 0;
	if (arg->flags & ~NNACCEL_ARG_BUFFER || arg->__reserved ||
	    !nnaccel_dims_are_valid(arg->rank, arg->dims))
		return -EINVAL;

	if (arg->flags & NNACCEL_ARG_BUFFER)
		return nnaccel_buffer_set_arg(cmd, arg, output);
	if (arg->pool >= cmd->first_buffer)
		return -EINVAL;
	i = array_index_nospec(arg->pool, cmd->first_buffer);
	pool = cmd->pools[i];
	if (check_add_overflow(arg->offset, arg->length, &end) || end > pool->length ||
	    (end && pool->image))
		return -EINVAL;
	if (prot & ~pool->prot)
		return -EACCES;
	if (!nnaccel_pool_may_execute(pool))
		return -EOPNOTSUPP;
	cmd->grants[i].prot |= prot;
	return 0;
}

static int nnaccel_execute_set_args(struct nnaccel_command *cmd, const struct nnaccel_execute *arg)
{
	u32 i, num = arg->num_inputs + arg->num_outputs;
	int ret;

	if (num && copy_from_user(cmd->args, u64_to_user_ptr(arg->args), num * sizeof(*cmd->args)))
		return -EFAULT;
	for (i = 0; i < num; i++) {
		ret = nnaccel_execute_check_arg(cmd, &cmd->args[i], (s64)i - arg->num_inputs);
		if (ret)
			return ret;
	}
	cmd->head.num_inputs = arg->num_inputs;
	cmd->head.num_outputs = arg->num_outputs;
	cmd->head.max_payload = arg->num_outputs * (sizeof(struct nnaccel_shape) +
						    (cmd->writes ? sizeof(u64) : 0));
	return 0;
}

/*
 * Appends the pools of the further planes of each image, with the protection of the image's first
 * pool. All pools must have been looked up before, because only then the number of further planes
 * is known.
 */
static int nnaccel_execute_add_planes(struct nnaccel_command *cmd, struct nnaccel_arrays *arrays)
{
	u32 i, k, at = cmd->head.num_grants, num = at;

	for (i = 0; i < cmd->first_buffer; i++) {
		num += nnaccel_pool_num_others(cmd->pools[i]);
		cmd->head.num_formats += !!cmd->pools[i]->image;
	}
	if (num != arrays->num_grants) {
		arrays->num_grants = num;
		return NNACCEL_AGAIN;
	}
	for (i = 0; i < cmd->first_buffer; i++) {
		for (k = 0; k < nnaccel_pool_num_others(cmd->pools[i]); k++, at++) {
			struct nnaccel_pool *other = cmd->pools[i]->image->pools[k];

			refcount_inc(&other->obj.refs);
			nnaccel_command_set_grant(cmd, at, other, cmd->grants[i].prot);
		}
	}
	cmd->head.num_grants = num;
	return 0;
}

/**
 * nnaccel_execute_layout() - Validates the numbers of an execution
 * @from: the module's copy of the description, a struct nnaccel_execute
 * @arrays: out: sizes of the command's arrays
 *
 * Return: 0 or -EINVAL.
 */
int nnaccel_execute_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_execute *arg = from;

	if (arg->flags & ~NNACCEL_EXECUTE_MEASURE || arg->__reserved ||
	    arg->num_pools > NNACCEL_MAX_CMD_POOLS || arg->num_buffers > NNACCEL_MAX_CMD_BUFFERS ||
	    check_add_overflow(arg->num_inputs, arg->num_outputs, &arrays->num_args) ||
	    arrays->num_args > NNACCEL_MAX_ARGS || arg->attributes_size > NNACCEL_MAX_ATTRIBUTES)
		return -EINVAL;
	arrays->num_grants = arg->num_pools + arg->num_buffers;
	arrays->attributes_size = arg->attributes_size;
	arrays->num_uses = arg->num_buffers;
	arrays->max_payload = arg->num_outputs * (sizeof(struct nnaccel_shape) + sizeof(u64));
	return 0;
}

/**
 * nnaccel_execute_build() - Makes an execution from the description of a client
 * @cmd: the command
 * @from: as in nnaccel_execute_layout()
 * @arrays: sizes of the arrays; gets the number of all pools if it was wrong
 *
 * Return: 0, NNACCEL_AGAIN, -EINVAL, -ENOENT, -EACCES, -EPERM, -EOPNOTSUPP, -EFAULT.
 */
int nnaccel_execute_build(struct nnaccel_command *cmd, const void *from,
			  struct nnaccel_arrays *arrays)
{
	const struct nnaccel_execute *arg = from;
	int ret;

	cmd->head.flags = arg->flags;
	cmd->head.deadline_ns = nnaccel_time_from_user(arg->deadline_ns);
	cmd->head.loop_timeout_ns = arg->loop_timeout_ns;
	ret = nnaccel_command_add_pools(cmd, 0, arg->pools, arg->num_pools);
	ret = ret ?: nnaccel_buffer_add_all(cmd, arg->buffers, arg->num_buffers);
	ret = ret ?: nnaccel_execute_set_args(cmd, arg);
	ret = ret ?: nnaccel_execute_add_planes(cmd, arrays);
	ret = ret ?: nnaccel_command_set_attributes(cmd, arg->attributes);
	ret = ret ?: nnaccel_command_set_model(cmd, arg->model);
	if (ret)
		return ret;
	cmd->head.priority = cmd->model->priority;
	return nnaccel_buffer_check_roles(cmd);
}

/**
 * nnaccel_execute_answer() - Writes the results of an execution to its client
 * @work: the client's struct nnaccel_execute and the module's copy of it
 * @cmd: the answered execution
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_execute_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd)
{
	bool measured = cmd->head.flags & NNACCEL_EXECUTE_MEASURE;
	struct nnaccel_execute *arg = work->cmd;

	arg->out_num_shapes = arg->shapes && cmd->payload_size ? cmd->head.num_outputs : 0;
	arg->out_device_ns = measured ? cmd->device_ns : NNACCEL_TIME_NONE;
	arg->out_driver_ns = measured ? cmd->end_ns - cmd->start_ns : NNACCEL_TIME_NONE;
	measured = measured && !cmd->head.num_fences;
	arg->out_fenced_ns = measured ? cmd->end_ns - cmd->ready_ns : NNACCEL_TIME_NONE;
	return nnaccel_put(u64_to_user_ptr(arg->shapes), cmd->payload,
			   arg->out_num_shapes * sizeof(struct nnaccel_shape));
}
