// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: answers of the worker. The module copies each answer, validates the copy against the
 * command, and ends the command.
 */

#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/sync_file.h>

#include "buffer.h"
#include "command.h"
#include "model.h"
#include "session.h"
#include "submit.h"
#include "trace.h"

static int nnaccel_commit_check_shapes(const struct nnaccel_shape *shape, u32 n)
{
	for (; n; n--, shape++)
		if (shape->flags & ~NNACCEL_SHAPE_SUFFICIENT ||
		    !nnaccel_dims_are_valid(shape->rank, shape->dims))
			return -EINVAL;
	return 0;
}

/**
 * struct nnaccel_answer - The module's copy of an answer
 * @payload: the payload: @small or @large; NULL if there is none
 * @large: allocated memory for a large payload, or NULL
 * @flags: of a large payload: all bytes are 0 or 1
 * @message: allocated message with a final 0, or NULL
 * @fence: the fence that will end the command, or NULL
 * @small: memory for a small payload
 */
struct nnaccel_answer {
	const void *payload;
	void *large;
	bool flags;
	char *message;
	struct dma_fence *fence;
	u64 small[NNACCEL_SMALL_PAYLOAD / sizeof(u64)];
};

/*
 * Returns whether all bytes of a payload are 0 or 1. Checking a megabyte takes long, so large
 * payloads are checked before ctx->lock is taken.
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

/*
 * Validates the copy of an answer against its command. A payload is empty or has the size that the
 * command requested. Only the payload of a query may be shorter than requested.
 */
static int nnaccel_commit_check(const struct nnaccel_command *cmd,
				const struct nnaccel_session_commit *arg,
				const struct nnaccel_answer *answer)
{
	u32 i, size = arg->payload_size, max = cmd->head.max_payload;
	bool flags, success = arg->status == NNACCEL_STATUS_NONE;
	const void *payload = answer->payload;
	const u64 *sizes = payload;

	if (size > max || (size && size < max && cmd->head.kind != NNACCEL_DO_QUERY))
		return -EINVAL;
	switch (cmd->head.kind) {
	case NNACCEL_DO_SUPPORTED:
		flags = answer->large ? answer->flags : nnaccel_payload_is_flags(payload, size);
		return !flags || (size < max && success) ? -EINVAL : 0;
	case NNACCEL_DO_EXECUTE:
		return nnaccel_commit_check_shapes(payload, payload ? cmd->head.num_outputs : 0) ?:
		       nnaccel_buffer_check_answer(cmd, arg->status, payload);
	case NNACCEL_DO_PREPARE:
	case NNACCEL_DO_PREPARE_CACHED:
		return size && !success ? -EINVAL : 0;
	case NNACCEL_DO_BUFFER:
		return size && *(u32 *)payload > NNACCEL_LAYOUT_ENGINE ? -EINVAL : 0;
	case NNACCEL_DO_CACHE_SAVE:
		/*
		 * An answer must have the sizes of parts if and only if the status is success or
		 * INSUFFICIENT_SIZE. The parts that the worker saved must fit into the client's
		 * memory.
		 */
		if (!size != (!success && arg->status != NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE))
			return -EINVAL;
		for (i = 0; success && cmd->head.num_grants && i < size / sizeof(*sizes); i++)
			if (sizes[i] > cmd->args[i].length)
				return -EINVAL;
		return 0;
	default:
		return 0;
	}
}

static void nnaccel_commit_count(struct nnaccel_command *cmd)
{
	u64 took_ns = ktime_get_ns() - cmd->fetched_ns;
	struct nnaccel_context *ctx = cmd->ctx;

	ctx->engine_ns += took_ns;
	if (cmd->head.kind == NNACCEL_DO_EXECUTE) {
		ctx->executions++;
		/*
		 * If the device time is unknown (U64_MAX), add the time from the fetch to the
		 * commit.
		 */
		ctx->device_ns += min(cmd->device_ns, took_ns);
		nnaccel_count(NNACCEL_EXECUTIONS_TOTAL, 1);
	}
}

/* Moves an answer to its command, which then owns the answer's allocations. */
static void nnaccel_commit_take(struct nnaccel_command *cmd, struct nnaccel_answer *answer,
				u32 payload_size)
{
	if (answer->large) {
		swap(cmd->payload, answer->large);
	} else if (payload_size) {
		/* nnaccel_commit_check() has ensured that the payload fits. */
		memcpy(cmd->room, answer->small, payload_size);
		cmd->payload = cmd->room;
	}
	cmd->payload_size = payload_size;
	swap(cmd->message, answer->message);
}

/* Ends a FENCED command. @error is 0 if the fence has signalled. */
static void nnaccel_commit_fence_end(struct nnaccel_command *cmd, int error)
{
	int status = dma_fence_get_status(cmd->committed.fence);

	if (!error && status < 0) {
		cmd->status = status == -ETIME || status == -ETIMEDOUT ?
			      NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT :
			      NNACCEL_STATUS_GENERAL_FAILURE;
		cmd->payload_size = 0;
		cmd->fence_error = -status;
	}
	nnaccel_commit_count(cmd);
	nnaccel_command_finish(cmd, error);
	/* The module's exit function waits until the work that ends the command has returned. */
	module_put(THIS_MODULE);
}

/*
 * The callback runs while the fence signals, with the fence's lock held. A FENCED command cannot be
 * freed meanwhile, because it has a reference to itself until its fence signals.
 */
static void nnaccel_commit_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	nnaccel_command_kick(container_of(cb, struct nnaccel_dependency, cb)->cmd);
}

/**
 * nnaccel_commit_fence_check() - Ends a command whose committed fence has signalled
 * @cmd: the command, in any state; ctx->lock is held
 */
void nnaccel_commit_fence_check(struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	if (cmd->state == NNACCEL_COMMAND_FENCED && dma_fence_is_signaled(cmd->committed.fence))
		nnaccel_commit_fence_end(cmd, cmd->error);
}

/**
 * nnaccel_commit_fence_expire() - Ends a command whose committed fence takes too long
 * @cmd: the FENCED command; ctx->lock is held
 */
void nnaccel_commit_fence_expire(struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	/*
	 * If the callback cannot be removed, the fence has just signalled, and the callback queues
	 * the work that ends the command.
	 */
	if (dma_fence_remove_callback(cmd->committed.fence, &cmd->committed.cb))
		nnaccel_commit_fence_end(cmd, -ETIME);
}

/*
 * Charges the answer of a command until the command is freed. If the charge fails, the answer
 * moves back to @answer. Small payloads were already charged with the command.
 */
static int nnaccel_commit_charge(struct nnaccel_command *cmd, struct nnaccel_answer *answer)
{
	bool large = cmd->payload != cmd->room;
	size_t bytes = large ? cmd->payload_size : 0;
	int ret;

	if (cmd->message)
		bytes += strlen(cmd->message) + 1;
	ret = bytes ? nnaccel_command_charge(cmd, bytes) : 0;
	if (!ret)
		return 0;
	if (large)
		swap(cmd->payload, answer->large);
	swap(cmd->message, answer->message);
	cmd->payload_size = 0;
	return ret;
}

/* Returns the command in flight that the worker names, or NULL. */
static struct nnaccel_command *nnaccel_commit_find(struct nnaccel_session *session, u64 cookie)
{
	struct nnaccel_command *cmd;

	lockdep_assert_held(&session->ctx->lock);
	list_for_each_entry(cmd, &session->in_flight, node)
		if (cmd->head.cookie == cookie)
			return cmd;
	return NULL;
}

/**
 * nnaccel_session_fence_ioctl() - Implements NNACCEL_SESSION_FENCE
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -EMFILE, -EFAULT, -ENOMEM.
 */
int nnaccel_session_fence_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_session *session = ucmd->object;
	struct nnaccel_session_fence *arg = ucmd->cmd;
	struct dma_fence *fence = NULL;
	struct nnaccel_command *cmd;
	u32 i;

	if (arg->flags & ~NNACCEL_FENCE_CLOEXEC)
		return -EINVAL;
	mutex_lock(&session->ctx->lock);
	cmd = nnaccel_commit_find(session, arg->cookie);
	if (cmd && arg->index < cmd->head.num_fences) {
		i = cmd->num_ends + array_index_nospec(arg->index, cmd->head.num_fences);
		fence = dma_fence_get(cmd->waits[i].fence);
	}
	mutex_unlock(&session->ctx->lock);
	if (!fence)
		return -ENOENT;
	return nnaccel_ucmd_install_fence(ucmd, sizeof(*arg), fence,
					  arg->flags & NNACCEL_FENCE_CLOEXEC, &arg->out_fd);
}

/* Adds the hardware's fence to the command's memory, before the fence can end the command. */
static int nnaccel_commit_add_fence(struct nnaccel_session *session,
				    const struct nnaccel_session_commit *arg,
				    const struct nnaccel_answer *answer)
{
	struct nnaccel_command *cmd;
	int ret = -ENOENT;

	mutex_lock(&session->ctx->lock);
	cmd = nnaccel_commit_find(session, arg->cookie);
	if (cmd) {
		ret = nnaccel_command_computes(cmd) ? nnaccel_commit_check(cmd, arg, answer) :
						      -EINVAL;
		kref_get(&cmd->refs);
	}
	mutex_unlock(&session->ctx->lock);
	if (!cmd)
		return ret;
	ret = ret ?: nnaccel_command_add_fence(cmd, answer->fence);
	nnaccel_command_put(cmd);
	return ret;
}

/*
 * Ends the command that the worker names in its commit, or waits until the commit's fence ends the
 * command.
 */
static int nnaccel_commit(struct nnaccel_session *session, const struct nnaccel_session_commit *arg,
			  struct nnaccel_answer *answer)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	int ret;

	mutex_lock(&ctx->lock);
	cmd = nnaccel_commit_find(session, arg->cookie);
	ret = cmd ? nnaccel_commit_check(cmd, arg, answer) : -ENOENT;
	if (ret)
		goto out;

	nnaccel_commit_take(cmd, answer, arg->payload_size);
	cmd->status = arg->status;
	cmd->device_ns = arg->device_ns;
	if (nnaccel_command_prepares(cmd)) {
		cmd->model->prepared = arg->status == NNACCEL_STATUS_NONE;
		if (cmd->payload_size)
			memcpy(&cmd->model->memory, cmd->payload, sizeof(cmd->model->memory));
	}
	trace_nnaccel_command_commit(cmd);
	cmd->error = nnaccel_commit_charge(cmd, answer);
	if (answer->fence) {
		/*
		 * Hardware continues after the worker's death, so the command is removed from the
		 * session.
		 */
		nnaccel_submission_fenced(cmd, answer->fence);
		cmd->committed.cmd = cmd;
		swap(cmd->committed.fence, answer->fence);
		nnaccel_command_bound(cmd, NNACCEL_COMMAND_FENCED);
		if (dma_fence_add_callback(cmd->committed.fence, &cmd->committed.cb,
					   nnaccel_commit_fence_signalled))
			nnaccel_commit_fence_end(cmd, cmd->error);
	} else {
		nnaccel_commit_count(cmd);
		nnaccel_command_finish(cmd, cmd->error);
	}
out:
	nnaccel_unlock_commands(ctx);
	return ret;
}

/* Copies the worker's answer. The caller frees the allocations of @answer, also on failure. */
static int nnaccel_answer_copy(struct nnaccel_answer *answer,
			       const struct nnaccel_session_commit *arg)
{
	const void __user *payload = u64_to_user_ptr(arg->payload);
	bool fenced = arg->flags & NNACCEL_COMMIT_FENCE;

	answer->payload = NULL;
	answer->large = NULL;
	answer->message = NULL;
	answer->fence = fenced ? sync_file_get_fence(arg->fence) : NULL;
	if (fenced && !answer->fence)
		return -EINVAL;
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

/* Copies the worker's answer and ends its command. */
static int nnaccel_commit_answer(struct nnaccel_session *session,
				 const struct nnaccel_session_commit *arg)
{
	struct nnaccel_answer answer;
	int ret;

	ret = nnaccel_answer_copy(&answer, arg);
	if (!ret && answer.fence)
		ret = nnaccel_commit_add_fence(session, arg, &answer);
	ret = ret ?: nnaccel_commit(session, arg, &answer);
	kfree(answer.message);
	kvfree(answer.large);
	dma_fence_put(answer.fence);
	return ret;
}

/*
 * Stores the progress that the worker reports. A commit of progress has no payload, message or
 * buffer.
 */
static int nnaccel_commit_progress(struct nnaccel_session *session,
				   const struct nnaccel_session_commit *arg)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	int ret = -ENOENT;

	if (arg->flags != NNACCEL_COMMIT_PROGRESS || arg->status != NNACCEL_STATUS_NONE ||
	    arg->fence < 0 || arg->fence > NNACCEL_PROGRESS_ALL || arg->payload_size ||
	    arg->message_size || arg->buffer || arg->buffer_size)
		return -EINVAL;
	mutex_lock(&ctx->lock);
	cmd = nnaccel_commit_find(session, arg->cookie);
	if (cmd)
		ret = nnaccel_command_prepares(cmd) ? 0 : -EINVAL;
	if (!ret) {
		cmd->progress = arg->fence;
		ret = cmd->ended ? -ECANCELED : 0;
	}
	mutex_unlock(&ctx->lock);
	return ret;
}

/*
 * Validates a commit. A commit with a buffer or a fence must have the full size of struct
 * nnaccel_session_commit.
 */
static bool nnaccel_commit_is_valid(const struct nnaccel_ucmd *ucmd,
				    const struct nnaccel_session_commit *arg)
{
	bool fenced = arg->flags & NNACCEL_COMMIT_FENCE;

	if (arg->status > NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT ||
	    arg->payload_size > NNACCEL_MAX_OPERATIONS ||
	    arg->message_size > NNACCEL_MAX_MESSAGE ||
	    arg->flags & ~(NNACCEL_COMMIT_FENCE | NNACCEL_FETCH_NONBLOCK))
		return false;
	if (fenced ? arg->status != NNACCEL_STATUS_NONE : arg->fence)
		return false;
	if (!arg->buffer && (arg->buffer_size || arg->flags & NNACCEL_FETCH_NONBLOCK))
		return false;
	return (!arg->buffer && !fenced) ||
	       (ucmd->user_size >= sizeof(*arg) && IS_ALIGNED(arg->buffer, sizeof(u64)));
}

/**
 * nnaccel_session_commit_ioctl() - Implements NNACCEL_SESSION_COMMIT
 * @ucmd: the ioctl
 *
 * If a signal interrupts the fetch after the commit, the restarted call reads a cookie of 0, so the
 * call does not commit a second time.
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -ECANCELED, -EFAULT, -ENOMEM, -ERESTARTSYS, or the error of
 * nnaccel_fetch_next().
 */
int nnaccel_session_commit_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_session_commit *arg = ucmd->cmd;
	struct nnaccel_session_commit __user *to = ucmd->ubuffer;
	const struct nnaccel_fetch fetch = {
		.session = ucmd->object,
		.buffer = arg->buffer,
		.buffer_size = arg->buffer_size,
		.flags = arg->flags & NNACCEL_FETCH_NONBLOCK,
		.out_size = &to->out_size,
	};
	int ret;

	if (arg->flags & NNACCEL_COMMIT_PROGRESS)
		return nnaccel_commit_progress(fetch.session, arg);
	if (!nnaccel_commit_is_valid(ucmd, arg))
		return -EINVAL;
	if (arg->cookie || !arg->buffer) {
		ret = nnaccel_commit_answer(fetch.session, arg);
		if (ret || !arg->buffer)
			return ret;
		if (put_user(0, &to->cookie))
			return -EFAULT;
	}
	return nnaccel_fetch_next(&fetch);
}
