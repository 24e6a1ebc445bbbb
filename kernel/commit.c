// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: answers of the worker. Each is copied, checked against what was asked, and ends its
 * command.
 */

#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>

#include "nnaccel_private.h"
#include "trace.h"

/* Bytes of the message on a fence's error. */
#define NNACCEL_FENCE_MESSAGE	48

/**
 * struct nnaccel_commit_fence - A fence of hardware that decides a command's end
 * @cmd: the command, whose count is that of its session before
 * @fence: the fence, counted
 * @cb: in the fence's list until it signals
 * @work: ends the command; queued once, by the fence's signal or at @due_ns
 * @due_ns: when the command ends without the fence
 * @late: ctx->lock: it did
 * @error: the command ends with it unless it is @late; 0: it is answered
 * @message: room for what is wrong with the fence; nothing is allocated on the way to an end
 * @payload: an answer that does not count, to be freed
 */
struct nnaccel_commit_fence {
	struct nnaccel_command *cmd;
	struct dma_fence *fence;
	struct dma_fence_cb cb;
	struct work_struct work;
	u64 due_ns;
	bool late;
	int error;
	char *message;
	void *payload;
};

static int nnaccel_commit_check_shapes(const struct nnaccel_shape *shape, u32 n)
{
	for (; n; n--, shape++) {
		if (shape->flags & ~NNACCEL_SHAPE_SUFFICIENT || shape->rank > NNACCEL_MAX_RANK)
			return -EINVAL;
		if (memchr_inv(shape->dims + shape->rank, 0,
			       sizeof(shape->dims) - shape->rank * sizeof(u32)))
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
 * @fence: whose end is the command's, or NULL
 * @small: a small payload
 */
struct nnaccel_answer {
	const void *payload;
	void *large;
	bool flags;
	char *message;
	struct nnaccel_commit_fence *fence;
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
				      const struct nnaccel_session_commit *arg, const u64 *sizes)
{
	bool saved = arg->status == NNACCEL_STATUS_NONE;
	u32 i;

	if (!saved && arg->status != NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE)
		return arg->payload_size ? -EINVAL : 0;
	if (arg->payload_size != cmd->head.max_payload)
		return -EINVAL;
	for (i = 0; saved && cmd->head.num_grants && i < arg->payload_size / sizeof(*sizes); i++)
		if (sizes[i] > cmd->args[i].length)
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
	u64 took_ns = ktime_get_ns() - cmd->fetched_ns;
	struct nnaccel_context *ctx = cmd->ctx;

	ctx->engine_ns += took_ns;
	if (cmd->head.kind == NNACCEL_DO_EXECUTE) {
		ctx->executions++;
		/* All of it if the worker does not tell; more than that is no time on a device. */
		ctx->device_ns += min(cmd->device_ns, took_ns);
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

/* What a fence that ended with an error makes of an answer. */
static void nnaccel_commit_fence_fail(struct nnaccel_command *cmd, int error)
{
	bool late = error == -ETIME || error == -ETIMEDOUT;

	cmd->status = late ? NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT :
			     NNACCEL_STATUS_GENERAL_FAILURE;
	cmd->payload_size = 0;
	if (cmd->payload != cmd->room)
		cmd->fence->payload = cmd->payload;
	cmd->payload = NULL;
	snprintf(cmd->fence->message, NNACCEL_FENCE_MESSAGE, "the engine's fence has error %d",
		 -error);
	swap(cmd->message, cmd->fence->message);
}

static void nnaccel_commit_fence_end(struct work_struct *work)
{
	struct nnaccel_commit_fence *end = container_of(work, struct nnaccel_commit_fence, work);
	struct nnaccel_command *cmd = end->cmd;
	int error = dma_fence_get_status(end->fence);
	bool signalling;

	signalling = nnaccel_lock_signalling(cmd->ctx);
	list_del_init(&cmd->node);
	if (!end->late && error < 0)
		nnaccel_commit_fence_fail(cmd, error);
	nnaccel_commit_count(cmd);
	nnaccel_command_finish(cmd, end->late ? -ETIME : end->error);
	nnaccel_unlock_signalling(cmd->ctx, signalling);
	nnaccel_command_put(cmd);
	/* The module's exit waits for this to return. */
	module_put(THIS_MODULE);
}

/* Context of the fence's signal, its lock held. */
static void nnaccel_commit_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct nnaccel_commit_fence *end = container_of(cb, struct nnaccel_commit_fence, cb);

	queue_work(nnaccel_wq, &end->work);
}

/**
 * nnaccel_commit_fence_due_ns() - When a command ends without the fence of its commit
 * @cmd: the command, in the state FENCED; ctx->lock is held
 *
 * Return: CLOCK_MONOTONIC time.
 */
u64 nnaccel_commit_fence_due_ns(const struct nnaccel_command *cmd)
{
	lockdep_assert_held(&cmd->ctx->lock);
	return cmd->fence->due_ns;
}

/**
 * nnaccel_commit_fence_expire() - End a command whose fence takes too long
 * @cmd: the command, in the state FENCED; ctx->lock is held
 *
 * Return: false: there is time left.
 */
bool nnaccel_commit_fence_expire(struct nnaccel_command *cmd)
{
	struct nnaccel_commit_fence *end = cmd->fence;

	lockdep_assert_held(&cmd->ctx->lock);
	if (ktime_get_ns() < end->due_ns)
		return false;
	/* Else it signals now, and its callback queues the work. */
	if (dma_fence_remove_callback(end->fence, &end->cb)) {
		end->late = true;
		queue_work(nnaccel_wq, &end->work);
	}
	return true;
}

/**
 * nnaccel_commit_fence_free() - Drop the fence of a commit
 * @end: the fence; nothing waits for it any more
 */
void nnaccel_commit_fence_free(struct nnaccel_commit_fence *end)
{
	if (end->fence)
		dma_fence_put(end->fence);
	kvfree(end->payload);
	kfree(end->message);
	kfree(end);
}

/* The fence that a commit names, NULL: none, or an error pointer. */
static struct nnaccel_commit_fence *
nnaccel_commit_fence_get(const struct nnaccel_session_commit *arg)
{
	struct nnaccel_commit_fence *end;
	int ret;

	if (!(arg->flags & NNACCEL_COMMIT_FENCE))
		return NULL;
	end = kzalloc(sizeof(*end), GFP_KERNEL_ACCOUNT);
	if (!end)
		return ERR_PTR(-ENOMEM);
	INIT_WORK(&end->work, nnaccel_commit_fence_end);
	INIT_LIST_HEAD(&end->cb.node);
	end->fence = sync_file_get_fence(arg->fence);
	end->message = kmalloc(NNACCEL_FENCE_MESSAGE, GFP_KERNEL_ACCOUNT);
	if (end->fence && end->message)
		return end;
	ret = end->fence ? -ENOMEM : -EINVAL;
	nnaccel_commit_fence_free(end);
	return ERR_PTR(ret);
}

/*
 * From here on the session has no part in the command: hardware does not stop with its worker. Its
 * pools, and so its context, stay until the fence has signalled, and the module is held for that.
 */
static void nnaccel_commit_fence_wait(struct nnaccel_command *cmd,
				      struct nnaccel_commit_fence *end)
{
	u64 bound_ns = (u64)READ_ONCE(nnaccel_fence_bound_ms) * NSEC_PER_MSEC;

	lockdep_assert_held(&cmd->ctx->lock);
	__module_get(THIS_MODULE);
	end->cmd = cmd;
	end->due_ns = ktime_get_ns() + bound_ns;
	cmd->fence = end;
	cmd->state = NNACCEL_COMMAND_FENCED;
	list_add_tail(&cmd->node, &cmd->ctx->fenced);
	nnaccel_command_watch(cmd);
	if (dma_fence_add_callback(end->fence, &end->cb, nnaccel_commit_fence_signalled))
		queue_work(nnaccel_wq, &end->work);
}

/*
 * Charges an answer until its command is gone, or else gives it back. A small payload was charged
 * with the command.
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

/* The command in flight that a worker names, or NULL. */
static struct nnaccel_command *nnaccel_commit_find(struct nnaccel_session *session, u64 cookie)
	__must_hold(&session->ctx->lock)
{
	struct nnaccel_command *cmd;

	lockdep_assert_held(&session->ctx->lock);
	list_for_each_entry(cmd, &session->in_flight, node)
		if (cmd->head.cookie == cookie)
			return cmd;
	return NULL;
}

/* Lets others wait for the hardware, before the command ends by its fence. */
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
	ret = ret ?: nnaccel_command_add_fence(cmd, answer->fence->fence);
	nnaccel_command_put(cmd);
	return ret;
}

/* Ends the command that the worker names. */
static int nnaccel_commit(struct nnaccel_session *session, const struct nnaccel_session_commit *arg,
			  struct nnaccel_answer *answer)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	bool signalling;
	int ret;

	signalling = nnaccel_lock_signalling(ctx);
	cmd = nnaccel_commit_find(session, arg->cookie);
	ret = cmd ? nnaccel_commit_check(cmd, arg, answer) : -ENOENT;
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
	trace_nnaccel_command_commit(cmd);
	ret = nnaccel_commit_charge(cmd, answer);
	if (answer->fence) {
		answer->fence->error = ret;
		nnaccel_submission_fenced(cmd, answer->fence->fence);
		/* The session's count goes with it. */
		nnaccel_commit_fence_wait(cmd, answer->fence);
		answer->fence = NULL;
		nnaccel_unlock_signalling(ctx, signalling);
		return 0;
	}
	nnaccel_commit_count(cmd);
	nnaccel_command_finish(cmd, ret);
	nnaccel_unlock_signalling(ctx, signalling);
	nnaccel_command_put(cmd);
	return 0;
}

/* Copies the worker's answer. What is allocated is the caller's to free, even where it fails. */
static int nnaccel_answer_copy(struct nnaccel_answer *answer,
			       const struct nnaccel_session_commit *arg)
{
	const void __user *payload = u64_to_user_ptr(arg->payload);
	int ret;

	answer->payload = NULL;
	answer->large = NULL;
	answer->message = NULL;
	answer->fence = nnaccel_commit_fence_get(arg);
	if (IS_ERR(answer->fence)) {
		ret = PTR_ERR(answer->fence);
		answer->fence = NULL;
		return ret;
	}
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

	ret = nnaccel_answer_copy(&answer, arg);
	if (!ret && answer.fence)
		ret = nnaccel_commit_add_fence(session, arg, &answer);
	ret = ret ?: nnaccel_commit(session, arg, &answer);
	kfree(answer.message);
	kvfree(answer.large);
	if (answer.fence)
		nnaccel_commit_fence_free(answer.fence);
	return ret;
}

/* Notes how far the command that the worker names is. */
static int nnaccel_commit_progress(struct nnaccel_session *session,
				   const struct nnaccel_session_commit *arg)
{
	struct nnaccel_context *ctx = session->ctx;
	struct nnaccel_command *cmd;
	int ret = -ENOENT;

	mutex_lock(&ctx->lock);
	cmd = nnaccel_commit_find(session, arg->cookie);
	if (cmd)
		ret = nnaccel_command_prepares(cmd) ? 0 : -EINVAL;
	if (!ret) {
		cmd->progress = arg->fence;
		ret = cmd->abandoned ? -ECANCELED : 0;
	}
	mutex_unlock(&ctx->lock);
	return ret;
}

/* Progress comes alone. */
static bool nnaccel_commit_is_progress(const struct nnaccel_session_commit *arg)
{
	return arg->flags == NNACCEL_COMMIT_PROGRESS && arg->status == NNACCEL_STATUS_NONE &&
	       arg->fence >= 0 && arg->fence <= NNACCEL_PROGRESS_ALL && !arg->payload_size &&
	       !arg->message_size && !arg->buffer && !arg->buffer_size;
}

/* A structure with a buffer or a fence is there as a whole, since all of it is read and written. */
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
 * nnaccel_session_commit_ioctl() - NNACCEL_SESSION_COMMIT
 * @ucmd: the ioctl
 *
 * Where a signal interrupts the fetch behind the commit, the call begins again with the caller's
 * structure, whose cookie is 0 by then.
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -ECANCELED, -EFAULT, -ENOMEM, or what
 * nnaccel_session_fetch() returned.
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

	if (!nnaccel_session_is_current(fetch.session))
		return -EACCES;
	if (arg->flags & NNACCEL_COMMIT_PROGRESS)
		return nnaccel_commit_is_progress(arg) ?
		       nnaccel_commit_progress(fetch.session, arg) : -EINVAL;
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
