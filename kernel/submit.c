// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: submissions. A client submits work by SUBMIT and fetches the answer by WAIT.
 *
 * For each kind of work a table has the functions that build a command from the client's
 * description and write the answer. The file queue.c has the waits of a command that is not fetched
 * yet, and copy.c has the waits of copies. A call of SUBMIT waits only after it has submitted the
 * work, except for copies, so a signal during the wait leaves nothing to undo.
 *
 * A call of SUBMIT that waits for the answer creates a submission only if a signal ends the wait.
 */

#include <linux/anon_inodes.h>
#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>

#include "account.h"
#include "buffer.h"
#include "burst.h"
#include "command.h"
#include "model.h"
#include "submit.h"

/*
 * Size of the buffer for the structure at @work, which follows the structure of SUBMIT or WAIT in
 * the ioctl's buffer.
 */
#define NNACCEL_WORK_SIZE	(NNACCEL_UCMD_SIZE - sizeof(struct nnaccel_submit))

#define NNACCEL_PLAIN_KIND(_work, _struct, _last, ...)				\
	[NNACCEL_WORK_##_work] = {						\
		.size = sizeof(struct nnaccel_##_struct) +			\
			BUILD_BUG_ON_ZERO(sizeof(struct nnaccel_##_struct) >	\
					  NNACCEL_WORK_SIZE),			\
		.min_size = offsetofend(struct nnaccel_##_struct, _last),	\
		.status = offsetof(struct nnaccel_##_struct, out_status),	\
		__VA_ARGS__							\
	}

/* The table entry of a kind of work whose answer may have a message. */
#define NNACCEL_KIND(_work, _struct, _last, ...)				\
	NNACCEL_PLAIN_KIND(_work, _struct, _last,				\
			   .message = offsetof(struct nnaccel_##_struct, message),	\
			   .message_size = offsetof(struct nnaccel_##_struct,	\
						    message_size),		\
			   __VA_ARGS__)

#define NNACCEL_BUILT(_command, _prefix)					\
	.command = NNACCEL_DO_##_command,					\
	.layout = nnaccel_##_prefix##_layout,					\
	.build = nnaccel_##_prefix##_build

#define NNACCEL_MAKES(_struct, _result, _publish)				\
	.result = offsetof(struct nnaccel_##_struct, _result),			\
	.publish = _publish

static const struct nnaccel_kind nnaccel_kinds[] = {
	NNACCEL_PLAIN_KIND(QUERY, query, out_status, NNACCEL_BUILT(QUERY, query),
			   .answer = nnaccel_query_answer),
	NNACCEL_KIND(SUPPORTED, supported, __reserved, NNACCEL_BUILT(SUPPORTED, supported),
		     .answer = nnaccel_supported_answer),
	NNACCEL_KIND(PREPARE, prepare, attributes_size, NNACCEL_BUILT(PREPARE, prepare),
		     NNACCEL_MAKES(prepare, out_model, nnaccel_model_publish)),
	NNACCEL_KIND(PREPARE_CACHED, prepare_cached, attributes_size,
		     NNACCEL_BUILT(PREPARE_CACHED, prepare_cached),
		     NNACCEL_MAKES(prepare_cached, out_model, nnaccel_model_publish)),
	NNACCEL_KIND(CACHE_SAVE, cache_save, __reserved, NNACCEL_BUILT(CACHE_SAVE, cache_save),
		     .answer = nnaccel_cache_save_answer),
	NNACCEL_KIND(EXECUTE, execute, num_buffers, NNACCEL_BUILT(EXECUTE, execute),
		     .answer = nnaccel_execute_answer),
	NNACCEL_KIND(BUFFER_ALLOC, buffer_alloc, out_buffer, NNACCEL_BUILT(BUFFER, buffer),
		     NNACCEL_MAKES(buffer_alloc, out_buffer, nnaccel_buffer_publish)),
	NNACCEL_KIND(BUFFER_COPY, buffer_copy, offset, .create = nnaccel_copy_create,
		     .answer = nnaccel_copy_answer),
	NNACCEL_KIND(BURST, burst_create, __reserved, NNACCEL_BUILT(BURST, burst),
		     NNACCEL_MAKES(burst_create, out_fd, nnaccel_burst_publish),
		     .makes_file = true),
};

/**
 * nnaccel_work_copy() - Copies the structure of a kind, and validates fields for the answer
 * @kind: kind of work
 * @work: the client's structure, and room for the copy
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG.
 */
int nnaccel_work_copy(const struct nnaccel_kind *kind, struct nnaccel_ucmd *work)
{
	int ret = nnaccel_copy_struct(work, kind->size, kind->min_size);

	if (!ret && kind->message && *(u32 *)(work->cmd + kind->message_size) > NNACCEL_MAX_MESSAGE)
		ret = -EINVAL;
	return ret;
}

/* Makes a command of the given kind from the module's copy of the client's structure. */
static struct nnaccel_command *nnaccel_work_create(struct nnaccel_context *ctx,
						   const struct nnaccel_kind *kind,
						   const void *from)
{
	struct nnaccel_arrays arrays = {};
	struct nnaccel_command *cmd = NULL;
	int ret;

	if (kind->create)
		return kind->create(ctx, from);
	ret = kind->layout(from, &arrays);
	if (ret)
		return ERR_PTR(ret);
	do {
		cmd = nnaccel_command_alloc(ctx, kind->command, &arrays);
		if (IS_ERR(cmd))
			break;
		ret = kind->build(cmd, from, &arrays);
		if (!ret)
			break;
		nnaccel_command_put(cmd);
		cmd = ERR_PTR(ret);
	} while (ret == NNACCEL_AGAIN && !fatal_signal_pending(current));
	kvfree(arrays.copy);
	return cmd == ERR_PTR(NNACCEL_AGAIN) ? ERR_PTR(-EINTR) : cmd;
}

/* Reserves the id or fd of the object that the answer to a command creates. */
static int nnaccel_work_reserve(const struct nnaccel_command *cmd, struct nnaccel_ucmd *work)
{
	int fd;

	if (!cmd->kind->publish)
		return 0;
	if (!cmd->kind->makes_file)
		return nnaccel_object_reserve(cmd->ctx, &work->new_id);
	fd = get_unused_fd_flags(cmd->cloexec ? O_CLOEXEC : 0);
	if (fd < 0)
		return fd;
	work->new_fd = fd;
	return 0;
}

/**
 * nnaccel_work_answer() - Writes the answer of a command to the client's structure
 * @kind: kind of work
 * @cmd: the answered command; NULL if there was none
 * @work: the client's structure and the module's copy of it
 *
 * Return: 0, -EFAULT, or an error of the kind's answer(). After an error the function can be called
 * again.
 */
int nnaccel_work_answer(const struct nnaccel_kind *kind, struct nnaccel_command *cmd,
			struct nnaccel_ucmd *work)
{
	u32 status = cmd ? cmd->status : NNACCEL_STATUS_NONE, size, n;
	const char *from = cmd ? cmd->message : NULL;
	char __user *message;
	char text[48];
	int ret;

	ret = kind->answer ? kind->answer(work, cmd) : 0;
	if (ret)
		return ret;
	*(u32 *)(work->cmd + kind->status) = status;
	if (kind->makes_file)
		*(s32 *)(work->cmd + kind->result) = status ? -1 : work->new_fd;
	else if (kind->result)
		*(u32 *)(work->cmd + kind->result) = status ? 0 : work->new_id;

	size = kind->message ? *(u32 *)(work->cmd + kind->message_size) : 0;
	if (size) {
		if (cmd && cmd->fence_error) {
			snprintf(text, sizeof(text), "the engine's fence has error %d",
				 cmd->fence_error);
			from = text;
		}
		message = u64_to_user_ptr(*(u64 *)(work->cmd + kind->message));
		n = from ? strnlen(from, size - 1) : 0;
		if ((n && copy_to_user(message, from, n)) || put_user('\0', message + n))
			return -EFAULT;
	}
	return nnaccel_ucmd_respond(work, kind->size);
}

/*
 * If @ret is 0, publishes the object that the work made. If @ret is an error, releases the reserved
 * id or fd.
 */
static void nnaccel_work_finish(struct nnaccel_command *cmd, struct nnaccel_ucmd *work, int ret)
{
	if (!cmd->kind->publish)
		return;
	if (!ret && cmd->status == NNACCEL_STATUS_NONE) {
		cmd->kind->publish(work, cmd);
		return;
	}
	if (work->new_id)
		nnaccel_object_unreserve(cmd->ctx, work->new_id);
	if (work->new_fd >= 0)
		put_unused_fd(work->new_fd);
}

/* ---- the life of a submission ---- */

static struct nnaccel_submission *to_submission(struct nnaccel_object *obj)
{
	return container_of(obj, struct nnaccel_submission, obj);
}

/**
 * nnaccel_submission_tell() - Notifies pollers that a submission has its answer or failed
 * @sub: the submission
 * @cmd: its command, which has ended; ctx->lock is held
 */
void nnaccel_submission_tell(struct nnaccel_submission *sub, struct nnaccel_command *cmd)
{
	struct nnaccel_context *ctx = cmd->ctx;

	lockdep_assert_held(&ctx->lock);
	if (!sub->end) {
		sub->answered = true;
		WRITE_ONCE(ctx->num_answers, ctx->num_answers + 1);
		wake_up_poll(&ctx->answers_wait, EPOLLIN | EPOLLRDNORM);
		return;
	}
	WRITE_ONCE(sub->end->status,
		   cmd->end_error || cmd->status != NNACCEL_STATUS_NONE ? -EIO : 1);
	wake_up_poll(&sub->end->wait, EPOLLIN | EPOLLRDNORM);
	if (sub->closed) {
		refcount_inc(&sub->obj.refs);	/* for the work */
		queue_work(nnaccel_wq, &sub->drop);
	}
}

/**
 * nnaccel_submission_end() - Cancels an unanswered submission after its id was removed
 * @obj: the submission; a call may wait for it
 */
void nnaccel_submission_end(struct nnaccel_object *obj)
{
	struct nnaccel_submission *sub = to_submission(obj);
	struct nnaccel_context *ctx = obj->ctx;
	struct nnaccel_command *cmd;

	mutex_lock(&ctx->lock);
	cmd = sub->cmd;
	sub->cmd = NULL;
	if (cmd) {
		nnaccel_command_cancel(cmd, -ECANCELED);
		cmd->submission = NULL;
		if (sub->answered)
			WRITE_ONCE(ctx->num_answers, ctx->num_answers - 1);
		sub->answered = false;
		nnaccel_command_release(cmd);
	}
	nnaccel_unlock_commands(ctx);
	if (cmd)
		nnaccel_command_put(cmd);
}

static void nnaccel_submission_remove(struct nnaccel_submission *sub)
{
	if (nnaccel_object_destroy(sub->obj.ctx, sub->id, &sub->obj))
		nnaccel_submission_end(&sub->obj);
}

static void nnaccel_submission_dropped(struct work_struct *work)
{
	struct nnaccel_submission *sub = container_of(work, struct nnaccel_submission, drop);

	nnaccel_submission_remove(sub);
	nnaccel_object_put(&sub->obj);
}

/**
 * nnaccel_submission_release() - Frees a submission
 * @obj: the submission, whose command is gone
 */
void nnaccel_submission_release(struct nnaccel_object *obj)
{
	struct nnaccel_submission *sub = to_submission(obj);

	nnaccel_end_put(sub->end);
	dma_fence_put(sub->fence);
	kfree(sub);
}

/* Returns whether only devices access the memory of a command. */
static bool nnaccel_submission_is_devices(const struct nnaccel_command *cmd)
{
	u32 i;

	for (i = 0; i < cmd->head.num_grants; i++)
		if (!cmd->pools[i]->device)
			return false;
	return true;
}

/**
 * nnaccel_submission_fenced() - Stores the committed fence that will end a command
 * @cmd: the command; ctx->lock is held
 * @fence: the fence
 */
void nnaccel_submission_fenced(struct nnaccel_command *cmd, struct dma_fence *fence)
{
	struct nnaccel_submission *sub = cmd->submission;

	lockdep_assert_held(&cmd->ctx->lock);
	if (!sub || !sub->devices)
		return;
	WRITE_ONCE(sub->fence, dma_fence_get(fence));
	if (sub->end)
		wake_up_poll(&sub->end->wait, EPOLLPRI);
}

/* Makes a submission with one reference and a reserved id. */
static struct nnaccel_submission *nnaccel_submission_create(struct nnaccel_command *cmd)
{
	struct nnaccel_submission *sub;
	int ret;

	sub = kzalloc(sizeof(*sub), GFP_KERNEL_ACCOUNT);
	if (!sub)
		return ERR_PTR(-ENOMEM);
	ret = nnaccel_object_init(&sub->obj, cmd->ctx, NNACCEL_OBJECT_SUBMISSION);
	if (ret) {
		kfree(sub);
		return ERR_PTR(ret);
	}
	ret = nnaccel_object_reserve(cmd->ctx, &sub->id);
	if (ret) {
		nnaccel_object_put(&sub->obj);
		return ERR_PTR(ret);
	}
	kref_get(&cmd->refs);
	INIT_WORK(&sub->drop, nnaccel_submission_dropped);
	sub->kind = cmd->kind;
	sub->devices = nnaccel_submission_is_devices(cmd);
	sub->cmd = cmd;
	return sub;
}

/* Reverts nnaccel_submission_create() and cancels the command. */
static void nnaccel_submission_drop(struct nnaccel_submission *sub)
{
	nnaccel_object_unreserve(sub->obj.ctx, sub->id);
	nnaccel_submission_end(&sub->obj);
	nnaccel_object_put(&sub->obj);
}

/* ---- the file of a submission ---- */

/*
 * Drops a submission after the last close of its file: at once if the command has ended, else at
 * the command's end.
 */
static int nnaccel_submission_close(struct inode *inode, struct file *file)
{
	struct nnaccel_submission *sub = file->private_data;
	struct nnaccel_context *ctx = sub->obj.ctx;
	bool told;

	mutex_lock(&ctx->lock);
	sub->closed = true;
	told = sub->cmd && sub->cmd->ended;
	mutex_unlock(&ctx->lock);
	if (told)
		nnaccel_submission_remove(sub);
	nnaccel_object_put(&sub->obj);
	return 0;
}

static __poll_t nnaccel_submission_poll(struct file *file, poll_table *wait)
{
	struct nnaccel_submission *sub = file->private_data;

	poll_wait(file, &sub->end->wait, wait);
	return (READ_ONCE(sub->end->status) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (READ_ONCE(sub->fence) ? EPOLLPRI : 0);
}

static void nnaccel_submission_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct nnaccel_submission *sub = file->private_data;

	seq_printf(m, "nnaccel-client-id:\t%llu\n", sub->obj.ctx->number);
	seq_printf(m, "nnaccel-submission:\t%u\n", sub->id);
}

static const struct file_operations nnaccel_submission_fops = {
	.owner = THIS_MODULE,
	.release = nnaccel_submission_close,
	.poll = nnaccel_submission_poll,
	.show_fdinfo = nnaccel_submission_show_fdinfo,
	.llseek = noop_llseek,
};

/*
 * Returns the submission of a file, and takes a reference to the submission. @ctx: the only allowed
 * context, or NULL.
 */
static struct nnaccel_submission *nnaccel_submission_of_file(const struct nnaccel_context *ctx,
							     int fd)
{
	struct nnaccel_submission *sub = ERR_PTR(-EINVAL);
	struct file *file = fget(fd);

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->f_op == &nnaccel_submission_fops) {
		sub = file->private_data;
		if (!ctx || sub->obj.ctx == ctx)
			refcount_inc(&sub->obj.refs);
		else
			sub = ERR_PTR(-ENOENT);
	}
	fput(file);
	return sub;
}

/**
 * nnaccel_submission_get_end() - Returns the end of the submission of a file
 * @fd: number of the file
 *
 * Return: the submission's struct nnaccel_end with a reference; NULL if the file is not a
 * submission's.
 */
struct nnaccel_end *nnaccel_submission_get_end(int fd)
{
	struct nnaccel_submission *sub = nnaccel_submission_of_file(NULL, fd);
	struct nnaccel_end *end;

	if (IS_ERR(sub))
		return NULL;
	end = sub->end;
	refcount_inc(&end->refs);
	nnaccel_object_put(&sub->obj);
	return end;
}

/* Makes the file of a new submission and reserves an fd. */
static struct file *nnaccel_submission_open(struct nnaccel_submission *sub, u32 flags, int *fd)
{
	struct file *file;
	int ret;

	ret = nnaccel_object_charge(&sub->obj, NNACCEL_FILE_BYTES);
	if (ret)
		return ERR_PTR(ret);
	sub->end = nnaccel_end_create();
	if (!sub->end)
		return ERR_PTR(-ENOMEM);
	*fd = get_unused_fd_flags(flags & NNACCEL_SUBMIT_CLOEXEC ? O_CLOEXEC : 0);
	if (*fd < 0)
		return ERR_PTR(*fd);
	refcount_inc(&sub->obj.refs);
	file = anon_inode_getfile("[nnaccel-submission]", &nnaccel_submission_fops, sub, O_RDONLY);
	if (IS_ERR(file)) {
		nnaccel_object_put(&sub->obj);
		put_unused_fd(*fd);
	}
	return file;
}

/* ---- SUBMIT ---- */

static int nnaccel_submit_respond(struct nnaccel_ucmd *ucmd, u32 state, u32 id, int fd)
{
	struct nnaccel_submit __user *to = ucmd->ubuffer;

	return put_user(state, &to->out_state) || put_user(id, &to->out_id) ||
	       put_user(fd, &to->out_fd) ? -EFAULT : 0;
}

/* Submits work without waiting for it. */
static int nnaccel_submit_and_leave(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	u32 flags = ((struct nnaccel_submit *)ucmd->cmd)->flags;
	struct nnaccel_submission *sub;
	struct file *file = NULL;
	int ret, fd = -1;

	sub = nnaccel_submission_create(cmd);
	if (IS_ERR(sub))
		return PTR_ERR(sub);
	if (flags & NNACCEL_SUBMIT_FILE) {
		file = nnaccel_submission_open(sub, flags, &fd);
		if (IS_ERR(file)) {
			nnaccel_submission_drop(sub);
			return PTR_ERR(file);
		}
	}
	cmd->submission = sub;
	cmd->kept = true;
	mutex_lock(&cmd->ctx->lock);
	ret = nnaccel_command_admit(cmd);
	mutex_unlock(&cmd->ctx->lock);
	if (ret)
		goto err_file;
	ret = nnaccel_submit_respond(ucmd, NNACCEL_STATE_PENDING, sub->id, fd);
	if (ret)
		goto err_file;
	/*
	 * Publish the submission's id before its file: user space may close the file at once, which
	 * removes the id.
	 */
	nnaccel_object_publish(&sub->obj, sub->id);
	if (file)
		fd_install(fd, file);
	mutex_lock(&cmd->ctx->lock);
	nnaccel_command_advance(cmd);
	nnaccel_unlock_commands(cmd->ctx);
	return 0;

err_file:
	if (file) {
		fput(file);
		put_unused_fd(fd);
	}
	nnaccel_submission_drop(sub);
	return ret;
}

/*
 * Makes a submission after a signal has ended the wait of SUBMIT, so that WAIT can fetch the
 * answer.
 */
static int nnaccel_submit_keep(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_submission *sub = ERR_PTR(-EINTR);
	int ret;

	if (!fatal_signal_pending(current))
		sub = nnaccel_submission_create(cmd);
	if (IS_ERR(sub)) {
		mutex_lock(&cmd->ctx->lock);
		nnaccel_command_cancel(cmd, -ECANCELED);
		nnaccel_unlock_commands(cmd->ctx);
		return PTR_ERR(sub);
	}
	ret = nnaccel_submit_respond(ucmd, NNACCEL_STATE_PENDING, sub->id, -1);
	if (ret) {
		nnaccel_submission_drop(sub);
		return ret;
	}
	mutex_lock(&cmd->ctx->lock);
	cmd->submission = sub;
	nnaccel_command_keep(cmd);
	if (cmd->ended)
		nnaccel_submission_tell(sub, cmd);
	mutex_unlock(&cmd->ctx->lock);
	nnaccel_object_publish(&sub->obj, sub->id);
	return 0;
}

/* Waits until the command has ended. Returns 0, or -ERESTARTSYS if a signal came. */
static int nnaccel_command_await(struct nnaccel_command *cmd)
{
	/*
	 * The acquire of cmd->ended pairs with the release in nnaccel_command_report(). The wait
	 * must be freezable, because a frozen worker cannot end the command.
	 */
	return rcuwait_wait_event(&cmd->wait, smp_load_acquire(&cmd->ended),
				  TASK_INTERRUPTIBLE | TASK_FREEZABLE) ? -ERESTARTSYS : 0;
}

/*
 * Returns the kind of work, or NULL if the kind does not allow the call's flags, dependencies or
 * duration.
 */
static const struct nnaccel_kind *nnaccel_submit_kind(const struct nnaccel_submit *arg)
{
	const u32 file = NNACCEL_SUBMIT_FILE | NNACCEL_SUBMIT_CLOEXEC;
	u32 flags = arg->flags;

	if (arg->kind < NNACCEL_WORK_QUERY || arg->kind >= ARRAY_SIZE(nnaccel_kinds) ||
	    arg->__reserved || arg->num_dependencies > NNACCEL_MAX_DEPENDENCIES)
		return NULL;
	if (flags & ~(NNACCEL_SUBMIT_WAIT | file) || (flags & file) == NNACCEL_SUBMIT_CLOEXEC ||
	    (flags & NNACCEL_SUBMIT_WAIT && flags & file))
		return NULL;
	if (arg->kind != NNACCEL_WORK_EXECUTE &&
	    (flags & file || arg->num_dependencies || arg->duration_ns))
		return NULL;
	return &nnaccel_kinds[array_index_nospec(arg->kind, ARRAY_SIZE(nnaccel_kinds))];
}

/*
 * Makes the command of a SUBMIT. Returns NULL if the work is already done, so that no command is
 * needed.
 */
static struct nnaccel_command *nnaccel_submit_create(struct nnaccel_context *ctx,
						     const struct nnaccel_submit *arg,
						     const struct nnaccel_kind *kind,
						     struct nnaccel_ucmd *work)
{
	struct nnaccel_command *cmd;
	int ret;

	ret = nnaccel_work_copy(kind, work);
	if (ret)
		return ERR_PTR(ret);
	cmd = nnaccel_work_create(ctx, kind, work->cmd);
	if (IS_ERR_OR_NULL(cmd))
		return cmd;
	cmd->kind = kind;
	cmd->duration_ns = arg->duration_ns;
	ret = nnaccel_command_depend(cmd, arg->dependencies, arg->num_dependencies);
	if (!ret)
		return cmd;
	nnaccel_command_put(cmd);
	return ERR_PTR(ret);
}

/**
 * nnaccel_submit_ioctl() - Implements NNACCEL_SUBMIT
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -E2BIG, -EXFULL, -EMFILE, -ENOSPC, -EDQUOT, -EINTR, -EFAULT, -ENOMEM, or the
 * error of the kind's functions or of the command. SUBMIT returns -ERESTARTNOINTR if a signal came
 * before SUBMIT had done anything.
 */
int nnaccel_submit_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_submit *arg = ucmd->cmd;
	struct nnaccel_ucmd work = {
		.object = ucmd->object,
		.ubuffer = u64_to_user_ptr(arg->work),
		.cmd = ucmd->cmd + sizeof(*arg),
		.new_fd = -1,
	};
	const struct nnaccel_kind *kind = nnaccel_submit_kind(arg);
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_command *cmd;
	int ret;

	if (!kind)
		return -EINVAL;
	cmd = nnaccel_submit_create(ctx, arg, kind, &work);
	if (IS_ERR(cmd))
		return cmd == ERR_PTR(-ERESTARTSYS) ? -ERESTARTNOINTR : PTR_ERR(cmd);
	if (!cmd)
		return nnaccel_work_answer(kind, NULL, &work) ?:
		       nnaccel_submit_respond(ucmd, NNACCEL_STATE_DONE, 0, -1);

	if (!(arg->flags & NNACCEL_SUBMIT_WAIT)) {
		ret = nnaccel_submit_and_leave(ucmd, cmd);
		goto out;
	}

	/* Submit the command and wait for its end. */
	ret = nnaccel_work_reserve(cmd, &work);
	if (ret)
		goto out;
	mutex_lock(&ctx->lock);
	ret = nnaccel_command_admit(cmd);
	if (!ret)
		nnaccel_command_advance(cmd);
	nnaccel_unlock_commands(ctx);
	ret = ret ?: nnaccel_command_await(cmd);

	/* Write the answer, and then publish the object that the work made. */
	ret = ret ?: cmd->end_error;
	ret = ret ?: nnaccel_work_answer(kind, cmd, &work);
	ret = ret ?: nnaccel_submit_respond(ucmd, NNACCEL_STATE_DONE, 0, -1);
	nnaccel_work_finish(cmd, &work, ret);
	if (ret == -ERESTARTSYS)
		ret = nnaccel_submit_keep(ucmd, cmd);
out:
	nnaccel_command_put(cmd);
	return ret;
}

/**
 * nnaccel_submit_by_ring() - Makes an execution that a ring submits
 * @ctx: the context
 * @from: user address of a struct nnaccel_submit
 * @work: has room for the copy of the client's description; gets the address and size
 *	of the description
 *
 * Return: the command of the execution, not admitted yet; or an error pointer: -EINVAL, -E2BIG,
 * -EOPNOTSUPP, -EFAULT, or an error of NNACCEL_SUBMIT.
 */
struct nnaccel_command *nnaccel_submit_by_ring(struct nnaccel_context *ctx, u64 from,
					       struct nnaccel_ucmd *work)
{
	struct nnaccel_submit arg;
	struct nnaccel_ucmd ucmd = { .ubuffer = u64_to_user_ptr(from), .cmd = &arg };
	const struct nnaccel_kind *kind;
	int ret;

	ret = nnaccel_copy_struct(&ucmd, sizeof(arg), sizeof(arg));
	if (ret)
		return ERR_PTR(ret);
	kind = nnaccel_submit_kind(&arg);
	if (!kind || arg.flags != NNACCEL_SUBMIT_WAIT)
		return ERR_PTR(-EINVAL);
	if (arg.kind != NNACCEL_WORK_EXECUTE)
		return ERR_PTR(-EOPNOTSUPP);
	work->ubuffer = u64_to_user_ptr(arg.work);
	return nnaccel_submit_create(ctx, &arg, kind, work);
}

/* ---- WAIT ---- */

static int nnaccel_wait_respond(struct nnaccel_ucmd *ucmd, u32 state, u32 error, u32 progress)
{
	struct nnaccel_wait __user *to = ucmd->ubuffer;

	return put_user(state, &to->out_state) || put_user(error, &to->out_error) ||
	       put_user(progress, &to->out_progress) ? -EFAULT : 0;
}

/**
 * nnaccel_wait_ioctl() - Implements NNACCEL_WAIT
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -E2BIG, -ENOENT, -EBADF, -EALREADY, -EMFILE, -ENOSPC, -ENOBUFS, -EFAULT,
 * -EIO, -EINTR, -ENOMEM, -ERESTARTSYS.
 */
int nnaccel_wait_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_wait *arg = ucmd->cmd;
	struct nnaccel_ucmd work = {
		.object = ucmd->object,
		.ubuffer = u64_to_user_ptr(arg->work),
		.cmd = ucmd->cmd + sizeof(*arg),
		.new_fd = -1,
	};
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_submission *sub;
	struct nnaccel_object *obj;
	struct nnaccel_command *cmd;
	bool pending = false;
	u32 progress = 0;
	int ret, error;

	if (arg->flags & ~NNACCEL_WAIT_NONBLOCK || (arg->id && arg->fd) || arg->__reserved)
		return -EINVAL;
	obj = arg->id ? nnaccel_object_get(ctx, arg->id, NNACCEL_OBJECT_SUBMISSION) : NULL;
	if (arg->id && !obj)
		return -ENOENT;
	sub = obj ? to_submission(obj) : nnaccel_submission_of_file(ctx, arg->fd);
	if (IS_ERR(sub))
		return PTR_ERR(sub);
	ret = nnaccel_work_copy(sub->kind, &work);
	if (ret)
		goto out_sub;

	/* Make this call the only call that waits for the command. */
	mutex_lock(&ctx->lock);
	cmd = sub->cmd;
	if (!cmd) {
		ret = -ENOENT;
	} else if (sub->waited) {
		ret = -EALREADY;
	} else if (arg->flags & NNACCEL_WAIT_NONBLOCK && !cmd->ended) {
		pending = true;
		progress = cmd->progress;
	} else {
		sub->waited = true;
		kref_get(&cmd->refs);
	}
	mutex_unlock(&ctx->lock);
	if (pending)
		ret = nnaccel_wait_respond(ucmd, NNACCEL_STATE_PENDING, 0, progress);
	if (pending || ret)
		goto out_sub;

	/* Wait for the command's end, write the answer and end the submission. */
	ret = nnaccel_work_reserve(cmd, &work);
	if (ret)
		goto out_waited;
	ret = nnaccel_command_await(cmd);
	error = ret ? 0 : cmd->end_error;
	if (!ret && !error)
		ret = nnaccel_work_answer(cmd->kind, cmd, &work);
	ret = ret ?: nnaccel_wait_respond(ucmd, NNACCEL_STATE_DONE, -error, 0);
	nnaccel_work_finish(cmd, &work, ret ?: error);
	if (!ret)
		nnaccel_submission_remove(sub);
out_waited:
	mutex_lock(&ctx->lock);
	sub->waited = false;
	mutex_unlock(&ctx->lock);
	nnaccel_command_put(cmd);
out_sub:
	nnaccel_object_put(&sub->obj);
	return ret;
}

/* ---- SYNC_FILE ---- */

/**
 * nnaccel_sync_file_ioctl() - Implements NNACCEL_SYNC_FILE
 * @ucmd: the ioctl
 *
 * Return: 0, -EINVAL, -EBADF, -ENOENT, -EOPNOTSUPP, -EBUSY, -EAGAIN, -ENODATA, -EMFILE, -EFAULT,
 * -ENOMEM.
 */
int nnaccel_sync_file_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_sync_file *arg = ucmd->cmd;
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_submission *sub;
	struct dma_fence *fence;

	if (arg->flags & ~NNACCEL_SYNC_FILE_CLOEXEC)
		return -EINVAL;
	sub = nnaccel_submission_of_file(ctx, arg->fd);
	if (IS_ERR(sub))
		return PTR_ERR(sub);
	mutex_lock(&ctx->lock);
	if (!sub->devices)
		fence = ERR_PTR(-EOPNOTSUPP);
	else if (sub->fence)
		fence = dma_fence_get(sub->fence);
	else if (!sub->cmd || sub->cmd->ended)
		fence = ERR_PTR(-ENODATA);
	else
		fence = ERR_PTR(nnaccel_command_depends(sub->cmd) ? -EBUSY : -EAGAIN);
	mutex_unlock(&ctx->lock);
	nnaccel_object_put(&sub->obj);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	return nnaccel_ucmd_install_fence(ucmd, sizeof(*arg), fence,
					  arg->flags & NNACCEL_SYNC_FILE_CLOEXEC, &arg->out_fd);
}
