// SPDX-License-Identifier: GPL-2.0-only
/* nnaccel: executions. The description of a client is copied once, validated and made a command. */

#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "command.h"
#include "context.h"
#include "core.h"
#include "memory.h"
#include "model.h"

/* Validates an argument and widens the protection of its grant. Inputs have a negative @output. */
static int nnaccel_execute_check_arg(struct nnaccel_command *cmd, struct nnaccel_arg *arg,
				     s64 output)
{
	u32 prot = NNACCEL_PROT_READ | (output < 0 ? 0 : NNACCEL_PROT_WRITE);
	const struct nnaccel_arg omitted = { .flags = NNACCEL_ARG_NO_VALUE };
	struct nnaccel_pool *pool;
	u64 end;
	u32 i;

	if (arg->flags & NNACCEL_ARG_NO_VALUE)
		return memcmp(arg, &omitted, sizeof(omitted)) ? -EINVAL : 0;
	if (arg->flags & ~NNACCEL_ARG_BUFFER || arg->__reserved || arg->rank > NNACCEL_MAX_RANK)
		return -EINVAL;
	if (memchr_inv(arg->dims + arg->rank, 0, sizeof(arg->dims) - arg->rank * sizeof(u32)))
		return -EINVAL;

	if (arg->flags & NNACCEL_ARG_BUFFER)
		return nnaccel_buffer_set_arg(cmd, arg, output);
	if (arg->pool >= cmd->first_buffer)
		return -EINVAL;
	i = array_index_nospec(arg->pool, cmd->first_buffer);
	pool = cmd->pools[i];
	if (check_add_overflow(arg->offset, arg->length, &end) || end > pool->length ||
	    (end && nnaccel_pool_is_formatted(pool)))
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
 * Appends the pools of planes that lie in other files, with the protection of their formatted pool.
 * Their number is known only now, so the arrays are reallocated.
 */
static int nnaccel_execute_add_planes(struct nnaccel_command *cmd)
{
	u32 i, k, at = cmd->head.num_grants, num = at;
	const struct nnaccel_grant *grants = cmd->grants;
	struct nnaccel_pool **pools = cmd->pools;
	int ret;

	for (i = 0; i < cmd->first_buffer; i++) {
		num += nnaccel_pool_num_others(pools[i]);
		cmd->head.num_formats += nnaccel_pool_is_formatted(pools[i]);
	}
	if (num == at)
		return 0;
	ret = nnaccel_command_charge(cmd, num * (sizeof(*pools) + sizeof(*grants)) +
					  (num - at) * NNACCEL_WAIT_BYTES);
	if (ret)
		return ret;
	cmd->others = kvmalloc_array(num, sizeof(*pools) + sizeof(*grants), GFP_KERNEL_ACCOUNT);
	if (!cmd->others)
		return -ENOMEM;
	cmd->pools = cmd->others;
	cmd->grants = (void *)(cmd->pools + num);
	memcpy(cmd->pools, pools, at * sizeof(*pools));
	memcpy(cmd->grants, grants, at * sizeof(*grants));
	for (i = 0; i < cmd->first_buffer; i++) {
		for (k = 0; k < nnaccel_pool_num_others(pools[i]); k++, at++) {
			struct nnaccel_pool *other = pools[i]->picture->pools[k];

			refcount_inc(&other->obj.refs);
			nnaccel_command_set_grant(cmd, at, other, grants[i].prot);
		}
	}
	cmd->head.num_grants = num;
	return 0;
}

static int nnaccel_execute_build(struct nnaccel_command *cmd, const struct nnaccel_execute *arg)
{
	int ret;

	cmd->head.flags = arg->flags;
	cmd->head.deadline_ns = nnaccel_time_from_user(arg->deadline_ns);
	cmd->head.loop_timeout_ns = arg->loop_timeout_ns;
	ret = nnaccel_command_add_pools(cmd, 0, arg->pools, arg->num_pools);
	if (!ret)
		ret = nnaccel_buffer_add_all(cmd, arg->buffers, arg->num_buffers);
	if (!ret)
		ret = nnaccel_execute_set_args(cmd, arg);
	if (!ret)
		ret = nnaccel_execute_add_planes(cmd);
	if (!ret)
		ret = nnaccel_command_set_attributes(cmd, arg->attributes);
	if (ret)
		return ret;
	cmd->model = nnaccel_model_get(cmd->ctx, arg->model);
	if (IS_ERR(cmd->model)) {
		ret = PTR_ERR(cmd->model);
		cmd->model = NULL;
		return ret;
	}
	cmd->head.model = cmd->model->number;
	cmd->head.priority = cmd->model->priority;
	return nnaccel_buffer_check_roles(cmd);
}

static bool nnaccel_execute_is_valid(const struct nnaccel_execute *arg)
{
	u32 num;

	return !(arg->flags & ~NNACCEL_EXECUTE_MEASURE) && !arg->__reserved &&
	       arg->num_pools <= NNACCEL_MAX_CMD_POOLS &&
	       arg->num_buffers <= NNACCEL_MAX_CMD_BUFFERS &&
	       !check_add_overflow(arg->num_inputs, arg->num_outputs, &num) &&
	       num <= NNACCEL_MAX_ARGS && arg->attributes_size <= NNACCEL_MAX_ATTRIBUTES;
}

/**
 * nnaccel_execute_create() - Makes an execution from the description of a client
 * @ctx: the context
 * @from: the module's copy of the description, a struct nnaccel_execute
 *
 * Return: the command, or an error pointer: -EINVAL, -ENOENT, -EACCES, -EPERM, -EFAULT, -ENOMEM.
 */
struct nnaccel_command *nnaccel_execute_create(struct nnaccel_context *ctx, const void *from)
{
	const struct nnaccel_execute *arg = from;
	const struct nnaccel_arrays layout = {
		.num_grants = arg->num_pools + arg->num_buffers,
		.num_args = arg->num_inputs + arg->num_outputs,
		.attributes_size = arg->attributes_size,
		.num_uses = arg->num_buffers,
		.max_payload = arg->num_outputs * (sizeof(struct nnaccel_shape) + sizeof(u64)),
	};
	struct nnaccel_command *cmd;
	int ret;

	if (!nnaccel_execute_is_valid(arg))
		return ERR_PTR(-EINVAL);
	cmd = nnaccel_command_alloc(ctx, NNACCEL_DO_EXECUTE, &layout);
	if (IS_ERR(cmd))
		return cmd;
	ret = nnaccel_execute_build(cmd, arg);
	if (!ret)
		return cmd;
	nnaccel_command_put(cmd);
	return ERR_PTR(ret);
}

/**
 * nnaccel_execute_respond() - Writes the results of an execution to its client
 * @ucmd: the client's struct nnaccel_execute and the module's copy of it
 * @cmd: the answered execution
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_execute_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	bool measured = cmd->head.flags & NNACCEL_EXECUTE_MEASURE;
	struct nnaccel_execute __user *to = ucmd->ubuffer;
	const struct nnaccel_execute *arg = ucmd->cmd;
	u32 num_shapes = 0;
	int ret;

	if (arg->shapes && cmd->payload_size) {
		if (copy_to_user(u64_to_user_ptr(arg->shapes), cmd->payload,
				 cmd->head.num_outputs * sizeof(struct nnaccel_shape)))
			return -EFAULT;
		num_shapes = cmd->head.num_outputs;
	}
	ret = nnaccel_command_write_message(cmd, arg->message, arg->message_size);
	if (ret)
		return ret;
	if (!user_write_access_begin(to, ucmd->user_size))
		return -EFAULT;
	unsafe_put_user(cmd->status, &to->out_status, err_access);
	unsafe_put_user(num_shapes, &to->out_num_shapes, err_access);
	unsafe_put_user(measured ? cmd->device_ns : NNACCEL_TIME_NONE, &to->out_device_ns,
			err_access);
	unsafe_put_user(measured ? cmd->end_ns - cmd->start_ns : NNACCEL_TIME_NONE,
			&to->out_driver_ns, err_access);
	/* Only the last field is missing in the first published version of the structure. */
	if (ucmd->user_size >= sizeof(*to))
		unsafe_put_user(measured ? cmd->end_ns - cmd->ready_ns : NNACCEL_TIME_NONE,
				&to->out_fenced_ns, err_access);
	user_write_access_end();
	return 0;

err_access:
	user_write_access_end();
	return -EFAULT;
}
