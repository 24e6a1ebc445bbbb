// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: answers of the worker. Each is copied, checked against what was asked, and ends its
 * command.
 */

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "nnaccel_private.h"
#include "trace.h"

static int nnaccel_commit_check_shapes(const struct nnaccel_shape *shape, u32 n)
{
	u32 i;

	for (; n; n--, shape++) {
		if (shape->flags & ~NNACCEL_SHAPE_SUFFICIENT || shape->rank > NNACCEL_MAX_RANK)
			return -EINVAL;
		for (i = shape->rank; i < NNACCEL_MAX_RANK; i++)
			if (shape->dims[i])
				return -EINVAL;
	}
	return 0;
}

/**
 * struct nnaccel_answer - The module's copy of an answer
 * @payload: the payload: @small or @large; NULL: there is none
 * @large: allocated for one that is not small, or NULL
 * @flags: of a large payload: all its bytes are 0 or 1
 * @message: allocated, terminated, or NULL
 * @small: a small payload
 */
struct nnaccel_answer {
	const void *payload;
	void *large;
	bool flags;
	char *message;
	u64 small[NNACCEL_SMALL_PAYLOAD / sizeof(u64)];
};

/*
 * Are all bytes 0 or 1? Of an answer with a megabyte this takes a while, so of one that is not
 * small it is asked before ctx->lock is taken, whatever is answered.
 */
static bool nnaccel_payload_is_flags(const void *payload, u32 size)
{
	const u64 *word = payload;
	u64 all = 0;
	u32 i;

	for (i = 0; i < size / sizeof(*word); i++)
		all |= word[i];
	for (i *= sizeof(*word); i < size; i++)
		all |= ((const u8 *)payload)[i];
	return !(all & ~(U64_MAX / 0xff));
}

/* Sizes come with the statuses that say something of them, and are within what there was. */
static int nnaccel_commit_check_sizes(const struct nnaccel_command *cmd,
				      const struct nnaccel_session_commit *arg,
				      const struct nnaccel_cache_sizes *sizes)
{
	bool saved = arg->status == NNACCEL_STATUS_NONE;

	if (!saved && arg->status != NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE)
		return arg->payload_size ? -EINVAL : 0;
	if (arg->payload_size != sizeof(*sizes))
		return -EINVAL;
	if (saved && cmd->head.num_grants &&
	    (sizes->model > cmd->head.wire_length || sizes->data > cmd->head.data_length))
		return -EINVAL;
	return 0;
}

/* Checks the module's own copy of an answer against what was asked. */
static int nnaccel_commit_check(const struct nnaccel_command *cmd,
				const struct nnaccel_session_commit *arg,
				const struct nnaccel_answer *answer)
{
	const void *payload = answer->payload;
	u32 max = cmd->head.max_payload;
	bool flags;

	switch (cmd->head.kind) {
	case NNACCEL_DO_QUERY:
		return arg->payload_size > max ? -EINVAL : 0;
	case NNACCEL_DO_SUPPORTED:
		if (arg->payload_size != max &&
		    (arg->payload_size || arg->status == NNACCEL_STATUS_NONE))
			return -EINVAL;
		flags = answer->large ? answer->flags :
					nnaccel_payload_is_flags(payload, arg->payload_size);
		return flags ? 0 : -EINVAL;
	case NNACCEL_DO_EXECUTE:
		if (arg->payload_size != max && arg->payload_size)
			return -EINVAL;
		return nnaccel_commit_check_shapes(payload, payload ? cmd->head.num_outputs : 0) ?:
		       nnaccel_buffer_check_answer(cmd, arg->status, payload);
	case NNACCEL_DO_PREPARE:
	case NNACCEL_DO_PREPARE_CACHED:
		return arg->payload_size && (arg->payload_size != max ||
					     arg->status != NNACCEL_STATUS_NONE) ? -EINVAL : 0;
	case NNACCEL_DO_BUFFER:
		if (arg->payload_size != max && arg->payload_size)
			return -EINVAL;
		return payload && *(u32 *)payload > NNACCEL_LAYOUT_ENGINE ? -EINVAL : 0;
	case NNACCEL_DO_CACHE_SAVE:
		return nnaccel_commit_check_sizes(cmd, arg, payload);
	default:
		return arg->payload_size ? -EINVAL : 0;
	}
}

static void nnaccel_commit_count(struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = cmd->ctx;

	ctx->engine_ns += ktime_get_ns() - cmd->fetched_ns;
	if (cmd->head.kind == NNACCEL_DO_EXECUTE) {
		ctx->executions++;
		nnaccel_count(NNACCEL_EXECUTIONS_TOTAL, 1);
	}
}

/* Gives a command its answer; what is allocated of it is the command's from then on. */
static void nnaccel_commit_take(struct nnaccel_command *cmd, struct nnaccel_answer *answer,
				u32 payload_size)
{
	if (answer->large) {
		swap(cmd->payload, answer->large);
	} else if (payload_size) {
		/* The check has found that it is not longer than the room. */
		memcpy(cmd->room, answer->small, payload_size);
		cmd->payload = cmd->room;
	}
	cmd->payload_size = payload_size;
	swap(cmd->message, answer->message);
}

/* Ends the command that the worker names. */
static int nnaccel_commit(struct nnaccel_session *session, const struct nnaccel_session_commit *arg,
			  struct nnaccel_answer *answer)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	int ret = -ENOENT;
	bool signalling;

	signalling = nnaccel_lock_signalling(ctx);
	list_for_each_entry(cmd, &session->in_flight, node) {
		if (cmd->head.cookie != arg->cookie)
			continue;
		ret = nnaccel_commit_check(cmd, arg, answer);
		break;
	}
	if (ret) {
		nnaccel_unlock_signalling(ctx, signalling);
		return ret;
	}
	list_del_init(&cmd->node);
	nnaccel_commit_take(cmd, answer, arg->payload_size);
	cmd->status = arg->status;
	cmd->device_ns = arg->device_ns;
	if (nnaccel_command_prepares(cmd)) {
		cmd->model->prepared = arg->status == NNACCEL_STATUS_NONE;
		if (cmd->payload_size)
			memcpy(&cmd->model->memory, cmd->payload, sizeof(cmd->model->memory));
	}
	nnaccel_commit_count(cmd);
	trace_nnaccel_command_commit(cmd);
	nnaccel_command_finish(cmd, 0);
	nnaccel_unlock_signalling(ctx, signalling);
	nnaccel_command_put(cmd);
	return 0;
}

/* Copies the worker's answer. What is allocated is the caller's to free, even where it fails. */
static int nnaccel_answer_copy(struct nnaccel_answer *answer,
			       const struct nnaccel_session_commit *arg)
{
	const void __user *payload = u64_to_user_ptr(arg->payload);

	answer->payload = NULL;
	answer->large = NULL;
	answer->message = NULL;
	if (arg->payload_size > sizeof(answer->small)) {
		void *large = nnaccel_copy_in(arg->payload, arg->payload_size, 1);

		if (IS_ERR(large))
			return PTR_ERR(large);
		answer->large = large;
		answer->payload = large;
		answer->flags = nnaccel_payload_is_flags(large, arg->payload_size);
	} else if (arg->payload_size) {
		if (copy_from_user(answer->small, payload, arg->payload_size))
			return -EFAULT;
		answer->payload = answer->small;
	}
	if (arg->message_size) {
		answer->message = kmalloc(arg->message_size + 1, GFP_KERNEL_ACCOUNT);
		if (!answer->message)
			return -ENOMEM;
		if (copy_from_user(answer->message, u64_to_user_ptr(arg->message),
				   arg->message_size))
			return -EFAULT;
		answer->message[arg->message_size] = '\0';
	}
	return 0;
}

/* Copies the worker's answer and ends the command that it names. */
static int nnaccel_commit_answer(struct nnaccel_session *session,
				 const struct nnaccel_session_commit *arg)
{
	struct nnaccel_answer answer;
	int ret;

	ret = nnaccel_answer_copy(&answer, arg) ?: nnaccel_commit(session, arg, &answer);
	kfree(answer.message);
	kvfree(answer.large);
	return ret;
}

/* A structure with a buffer is there as a whole, since all of it is read and written. */
static bool nnaccel_commit_is_valid(const struct nnaccel_ucmd *ucmd,
				    const struct nnaccel_session_commit *arg)
{
	if (arg->status > NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT ||
	    arg->payload_size > NNACCEL_MAX_OPERATIONS ||
	    arg->message_size > NNACCEL_MAX_MESSAGE || arg->__reserved)
		return false;
	if (!arg->buffer)
		return !arg->buffer_size && !arg->flags;
	return ucmd->user_size >= sizeof(*arg) && IS_ALIGNED(arg->buffer, sizeof(u64)) &&
	       !(arg->flags & ~NNACCEL_FETCH_NONBLOCK);
}

/**
 * nnaccel_session_commit_ioctl() - NNACCEL_SESSION_COMMIT
 * @ucmd: the ioctl
 *
 * Where a signal interrupts the fetch behind the commit, the call begins again with the caller's
 * structure, whose cookie is 0 by then.
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -EFAULT, -ENOMEM, or what nnaccel_session_fetch() returned.
 */
int nnaccel_session_commit_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_session_commit *arg = ucmd->cmd;
	struct nnaccel_session_commit __user *to = ucmd->ubuffer;
	const struct nnaccel_fetch fetch = {
		.session = ucmd->object,
		.buffer = arg->buffer,
		.buffer_size = arg->buffer_size,
		.flags = arg->flags,
		.out_size = &to->out_size,
	};
	int ret;

	if (!nnaccel_session_is_current(fetch.session))
		return -EACCES;
	if (!nnaccel_commit_is_valid(ucmd, arg))
		return -EINVAL;
	if (arg->cookie || !arg->buffer) {
		ret = nnaccel_commit_answer(fetch.session, arg);
		if (ret || !arg->buffer)
			return ret;
		if (put_user(0, &to->cookie))
			return -EFAULT;
	}
	return nnaccel_session_fetch(&fetch);
}
