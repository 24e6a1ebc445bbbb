// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: buffers of memory domains, which the engine can map and the client cannot. This
 * file tracks the allowed uses of each buffer and the size of its contents. The code that copies
 * buffers is in copy.c.
 *
 * A buffer has either one writer or any number of readers. If a new use conflicts with a use that
 * has begun, the new use fails at once. A use begins when its command is queued and ends with the
 * command, both under ctx->lock. A copy by the kernel is a use without a command.
 */

#include <linux/bsearch.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/sort.h>

#include "buffer.h"
#include "command.h"
#include "model.h"
#include "session.h"
#include "trace.h"

static struct nnaccel_buffer *to_buffer(struct nnaccel_pool *pool)
{
	return container_of(pool, struct nnaccel_buffer, pool);
}

/**
 * nnaccel_buffer_get() - Looks up a buffer
 * @ctx: the context
 * @id: id of the buffer
 *
 * Return: the buffer with a reference, or an error pointer: -ENOENT.
 */
struct nnaccel_buffer *nnaccel_buffer_get(struct nnaccel_context *ctx, u32 id)
{
	struct nnaccel_object *obj = nnaccel_object_get(ctx, id, NNACCEL_OBJECT_BUFFER);

	return obj ? to_buffer(container_of(obj, struct nnaccel_pool, obj)) : ERR_PTR(-ENOENT);
}

/**
 * nnaccel_buffer_release() - Frees a buffer and its memory
 * @obj: the buffer
 */
void nnaccel_buffer_release(struct nnaccel_object *obj)
{
	struct nnaccel_buffer *buffer = to_buffer(container_of(obj, struct nnaccel_pool, obj));

	if (buffer->id)
		trace_nnaccel_buffer_free(buffer);
	nnaccel_proxy_forget_all(&buffer->pool);
	if (buffer->pool.file)
		fput(buffer->pool.file);
	kvfree(buffer->roles);
	kfree(buffer);
}

/* ---- uses ---- */

/**
 * nnaccel_buffer_check_use() - Checks whether a buffer may be used now
 * @buffer: the buffer; ctx->lock is held
 * @kind: read or write
 *
 * Return: 0, -EBUSY, -ENODATA.
 */
int nnaccel_buffer_check_use(const struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind)
{
	lockdep_assert_held(&buffer->pool.obj.ctx->lock);
	if (buffer->written)
		return -EBUSY;
	if (kind == NNACCEL_USE_READ)
		return buffer->initialised ? 0 : -ENODATA;
	return buffer->readers ? -EBUSY : 0;
}

/**
 * nnaccel_buffer_begin_use() - Begins a use that nnaccel_buffer_check_use() allowed
 * @buffer: the buffer; ctx->lock was held since the check
 * @kind: read or write
 */
void nnaccel_buffer_begin_use(struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind)
{
	if (kind == NNACCEL_USE_READ)
		buffer->readers++;
	else
		buffer->written = true;
}

/**
 * nnaccel_buffer_end_use() - Ends a use
 * @buffer: the buffer; ctx->lock is held
 * @kind: read or write, as at the beginning
 * @success: the data was written
 * @size: bytes that were written
 */
void nnaccel_buffer_end_use(struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind,
			    bool success, u64 size)
{
	lockdep_assert_held(&buffer->pool.obj.ctx->lock);
	if (kind == NNACCEL_USE_READ) {
		buffer->readers--;
		return;
	}
	buffer->written = false;
	buffer->initialised = success;
	buffer->size = success ? size : 0;
}

static struct nnaccel_buffer *nnaccel_command_buffer(const struct nnaccel_command *cmd, u32 i)
{
	return to_buffer(cmd->pools[cmd->first_buffer + i]);
}

/**
 * nnaccel_buffer_is_served() - Returns whether the worker that chose a buffer's layout is alive
 * @cmd: the copy; ctx->lock is held
 *
 * Return: true if a session of the worker that chose the layout serves the context.
 */
bool nnaccel_buffer_is_served(const struct nnaccel_command *cmd)
{
	const struct nnaccel_session *session = cmd->ctx->session;

	lockdep_assert_held(&cmd->ctx->lock);
	return session && session->number == nnaccel_command_buffer(cmd, 0)->layout;
}

/**
 * nnaccel_buffer_begin_all() - Begins the uses of the buffers of a command
 * @cmd: the command; ctx->lock is held
 *
 * Return: 0, -EBUSY, -ENODATA, -EINVAL; after an error no use has begun.
 */
int nnaccel_buffer_begin_all(struct nnaccel_command *cmd)
{
	struct nnaccel_buffer *buffer;
	u32 i, num_args = cmd->head.num_inputs + cmd->head.num_outputs;
	int ret;

	if (!cmd->uses)
		return 0;
	for (i = 0; i < cmd->num_buffers; i++) {
		if (cmd->uses[i].kind == NNACCEL_USE_NONE)
			continue;
		buffer = nnaccel_command_buffer(cmd, i);
		ret = nnaccel_buffer_check_use(buffer, cmd->uses[i].kind);
		if (!ret && cmd->head.kind == NNACCEL_DO_COPY_OUT &&
		    cmd->head.wire_length != buffer->size)
			ret = -EINVAL;
		if (ret)
			return ret;
	}
	for (i = 0; i < cmd->num_buffers; i++)
		if (cmd->uses[i].kind != NNACCEL_USE_NONE)
			nnaccel_buffer_begin_use(nnaccel_command_buffer(cmd, i),
						 cmd->uses[i].kind);
	cmd->using = true;

	for (i = 0; i < num_args; i++) {
		if (!(cmd->args[i].flags & NNACCEL_ARG_BUFFER))
			continue;
		buffer = to_buffer(cmd->pools[cmd->args[i].pool]);
		cmd->args[i].length = i < cmd->head.num_inputs ? buffer->size :
							       buffer->pool.length;
	}
	return 0;
}

/* Returns the part of an answer's payload that has the sizes of the outputs. */
static const u64 *nnaccel_payload_sizes(const struct nnaccel_command *cmd, const void *payload)
{
	return payload + cmd->head.num_outputs * sizeof(struct nnaccel_shape);
}

/**
 * nnaccel_buffer_end_all() - Ends the uses of the buffers of a command
 * @cmd: the command, whose answer is valid; ctx->lock is held
 * @error: 0 if the command is answered
 */
void nnaccel_buffer_end_all(struct nnaccel_command *cmd, int error)
{
	bool success = !error && cmd->status == NNACCEL_STATUS_NONE;
	u32 i;

	if (cmd->head.kind == NNACCEL_DO_BUFFER && success && cmd->payload_size &&
	    *(u32 *)cmd->payload == NNACCEL_LAYOUT_ENGINE)
		nnaccel_command_buffer(cmd, 0)->layout = cmd->ctx->session->number;
	if (!cmd->using)
		return;
	for (i = 0; i < cmd->num_buffers; i++) {
		const struct nnaccel_use *use = &cmd->uses[i];
		u64 size = cmd->head.wire_length;

		if (success && use->kind == NNACCEL_USE_WRITE &&
		    cmd->head.kind == NNACCEL_DO_EXECUTE)
			size = nnaccel_payload_sizes(cmd, cmd->payload)[use->output];
		if (use->kind != NNACCEL_USE_NONE)
			nnaccel_buffer_end_use(nnaccel_command_buffer(cmd, i), use->kind, success,
					       size);
	}
}

/**
 * nnaccel_buffer_check_answer() - Validates the sizes of written buffers in an answer
 * @cmd: the execution
 * @status: enum nnaccel_status
 * @payload: the module's copy of the payload, with the requested size; or NULL
 *
 * Return: 0 or -EINVAL.
 */
int nnaccel_buffer_check_answer(const struct nnaccel_command *cmd, u32 status, const void *payload)
{
	const struct nnaccel_use *use = cmd->uses;
	u32 i;

	if (!use || status != NNACCEL_STATUS_NONE)
		return 0;
	for (i = 0; i < cmd->num_buffers; i++, use++) {
		if (use->kind != NNACCEL_USE_WRITE)
			continue;
		if (!payload || nnaccel_payload_sizes(cmd, payload)[use->output] >
				nnaccel_command_buffer(cmd, i)->pool.length)
			return -EINVAL;
	}
	return 0;
}

/* ---- arguments of executions ---- */

/**
 * nnaccel_buffer_add_all() - Adds the buffers of an execution after its pools
 * @cmd: the command, with space in its arrays
 * @ids: user address of the ids
 * @n: number of buffers
 *
 * Return: 0, -EINVAL, -ENOENT, -EFAULT.
 */
int nnaccel_buffer_add_all(struct nnaccel_command *cmd, u64 ids, u32 n)
{
	struct nnaccel_buffer *buffer;
	const u32 __user *from = u64_to_user_ptr(ids);
	u32 i, k, id, at = cmd->head.num_grants;

	cmd->first_buffer = at;
	for (i = 0; i < n; i++) {
		if (get_user(id, from + i))
			return -EFAULT;
		buffer = nnaccel_buffer_get(cmd->ctx, id);
		if (IS_ERR(buffer))
			return PTR_ERR(buffer);
		nnaccel_command_set_grant(cmd, at + i, &buffer->pool, NNACCEL_PROT_READ);
		cmd->head.num_grants++;
		cmd->num_buffers++;
		for (k = 0; k < i; k++)
			if (cmd->pools[at + k] == &buffer->pool)
				return -EINVAL;
	}
	return 0;
}

/**
 * nnaccel_buffer_set_arg() - Validates an argument that is a buffer, and tracks the use
 * @cmd: the command, with its buffers added
 * @arg: the argument; its pool becomes an index into the grants
 * @output: index of the output; negative for an input
 *
 * Return: 0 or -EINVAL.
 */
int nnaccel_buffer_set_arg(struct nnaccel_command *cmd, struct nnaccel_arg *arg, s64 output)
{
	enum nnaccel_use_kind kind = output < 0 ? NNACCEL_USE_READ : NNACCEL_USE_WRITE;
	struct nnaccel_use *use;

	if (arg->flags != NNACCEL_ARG_BUFFER || arg->offset || arg->length ||
	    arg->pool >= cmd->num_buffers)
		return -EINVAL;
	arg->pool = array_index_nospec(arg->pool, cmd->num_buffers);
	use = &cmd->uses[arg->pool];
	if (use->kind != NNACCEL_USE_NONE && (use->kind != kind || kind == NNACCEL_USE_WRITE))
		return -EINVAL;
	use->kind = kind;
	arg->pool += cmd->first_buffer;
	if (kind == NNACCEL_USE_WRITE) {
		use->output = output;
		cmd->grants[arg->pool].prot |= NNACCEL_PROT_WRITE;
		cmd->writes = true;
	}
	return 0;
}

static int nnaccel_role_cmp(const void *one, const void *other)
{
	const struct nnaccel_buffer_role *a = one, *b = other;

	if (a->model != b->model)
		return a->model < b->model ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return 0;
}

/**
 * nnaccel_buffer_check_roles() - Checks that each buffer was allocated for its role as an argument
 * @cmd: the execution, with its model and arguments
 *
 * Return: 0 or -EPERM.
 */
int nnaccel_buffer_check_roles(const struct nnaccel_command *cmd)
{
	struct nnaccel_buffer_role role = { .model = cmd->model->serial };
	u32 i, num = cmd->head.num_inputs + cmd->head.num_outputs;
	const struct nnaccel_buffer *buffer;

	for (i = 0; i < num && cmd->num_buffers; i++) {
		if (!(cmd->args[i].flags & NNACCEL_ARG_BUFFER))
			continue;
		role.kind = i < cmd->head.num_inputs ? NNACCEL_ROLE_INPUT : NNACCEL_ROLE_OUTPUT;
		role.index = i < cmd->head.num_inputs ? i : i - cmd->head.num_inputs;
		buffer = to_buffer(cmd->pools[cmd->args[i].pool]);
		if (!bsearch(&role, buffer->roles, buffer->num_roles, sizeof(role),
			     nnaccel_role_cmp))
			return -EPERM;
	}
	return 0;
}

/* ---- allocation ---- */

/*
 * Sets a role in the buffer and in the command for the worker. The model of the first role becomes
 * the command's model. All models of a buffer's roles have the same worker. So if the first role's
 * model is alive when the command is queued, the models of the other roles are alive, too.
 */
static int nnaccel_buffer_set_role(struct nnaccel_buffer *buffer, struct nnaccel_command *cmd,
				   const struct nnaccel_role *from, u32 i)
{
	struct nnaccel_model *model;
	bool alive;

	if (from->kind > NNACCEL_ROLE_OUTPUT || from->index >= NNACCEL_MAX_ARGS ||
	    from->frequency > NNACCEL_MAX_FREQUENCY)
		return -EINVAL;
	model = nnaccel_model_get(cmd->ctx, from->model);
	if (IS_ERR(model))
		return PTR_ERR(model);
	buffer->roles[i].model = model->serial;
	buffer->roles[i].kind = from->kind;
	buffer->roles[i].index = from->index;
	cmd->roles[i] = (struct nnaccel_cmd_role){
		.model = model->number,
		.kind = from->kind,
		.index = from->index,
		.frequency = from->frequency,
	};
	mutex_lock(&cmd->ctx->lock);
	alive = model->session;
	mutex_unlock(&cmd->ctx->lock);
	if (i)
		nnaccel_model_put(model);
	else
		cmd->model = model;
	return alive ? 0 : -ESTALE;
}

static int nnaccel_buffer_set_roles(struct nnaccel_buffer *buffer, struct nnaccel_command *cmd,
				    const struct nnaccel_buffer_alloc *arg)
{
	u32 i, n = arg->num_roles;
	struct nnaccel_role *copy;
	int ret;

	ret = nnaccel_object_charge(&buffer->pool.obj, n * sizeof(*buffer->roles));
	if (ret)
		return ret;
	copy = nnaccel_copy_in(arg->roles, n, sizeof(*copy));
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	buffer->roles = kvcalloc(n, sizeof(*buffer->roles), GFP_KERNEL_ACCOUNT);
	if (!buffer->roles)
		ret = -ENOMEM;
	for (i = 0; i < n && !ret; i++)
		ret = nnaccel_buffer_set_role(buffer, cmd, &copy[i], i);
	kvfree(copy);
	if (ret)
		return ret;

	cmd->head.num_roles = n;
	buffer->num_roles = n;
	sort(buffer->roles, n, sizeof(*buffer->roles), nnaccel_role_cmp, NULL);
	for (i = 1; i < n; i++)
		if (!nnaccel_role_cmp(&buffer->roles[i - 1], &buffer->roles[i]))
			return -EINVAL;
	return 0;
}

/* Makes a buffer that has one reference and no id. */
static struct nnaccel_buffer *nnaccel_buffer_create(struct nnaccel_context *ctx, u64 capacity)
{
	struct nnaccel_buffer *buffer;
	int ret;

	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&buffer->pool.left);
	ret = nnaccel_object_init(&buffer->pool.obj, ctx, NNACCEL_OBJECT_BUFFER);
	if (ret) {
		kfree(buffer);
		return ERR_PTR(ret);
	}
	ret = nnaccel_pool_fill(&buffer->pool, capacity);
	if (ret) {
		nnaccel_pool_put(&buffer->pool);
		return ERR_PTR(ret);
	}
	return buffer;
}

/**
 * nnaccel_buffer_set_grants() - Adds a buffer and its staging memory to a command
 * @cmd: the command, with space for both
 * @buffer: the buffer; the command takes a reference
 * @staging: memory that the buffer is copied from or to, or NULL; the command takes over the
 *	reference
 * @in: the buffer is written
 */
void nnaccel_buffer_set_grants(struct nnaccel_command *cmd, struct nnaccel_buffer *buffer,
			       struct nnaccel_pool *staging, bool in)
{
	const u32 rw = NNACCEL_PROT_READ | NNACCEL_PROT_WRITE;

	refcount_inc(&buffer->pool.obj.refs);
	nnaccel_command_set_grant(cmd, 0, &buffer->pool, in ? rw : NNACCEL_PROT_READ);
	cmd->num_buffers = 1;
	cmd->head.num_grants = 1;
	if (staging) {
		nnaccel_command_set_grant(cmd, 1, staging, in ? NNACCEL_PROT_READ : rw);
		cmd->head.num_grants = 2;
	}
}

/**
 * nnaccel_buffer_layout() - Validates the parameters of a buffer
 * @from: the module's copy of the client's struct nnaccel_buffer_alloc
 * @arrays: out: sizes of the command's arrays
 *
 * Return: 0, -EINVAL, -EFBIG.
 */
int nnaccel_buffer_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_buffer_alloc *arg = from;

	if (arg->flags || !arg->capacity || !arg->num_roles || arg->num_roles > NNACCEL_MAX_ROLES)
		return -EINVAL;
	arrays->num_grants = 1;
	arrays->num_roles = arg->num_roles;
	arrays->max_payload = sizeof(u32);
	return nnaccel_pool_may_have(arg->capacity) ? 0 : -EFBIG;
}

/**
 * nnaccel_buffer_build() - Makes a buffer and fills the command that asks for its layout
 * @cmd: the command
 * @from: as in nnaccel_buffer_layout()
 * @arrays: unused
 *
 * Return: 0, -EINVAL, -ENOENT, -ESTALE, -EDQUOT, -ENOSPC, -ENOMEM, -EFAULT.
 */
int nnaccel_buffer_build(struct nnaccel_command *cmd, const void *from,
			 struct nnaccel_arrays *arrays)
{
	const struct nnaccel_buffer_alloc *arg = from;
	struct nnaccel_buffer *buffer;
	int ret;

	buffer = nnaccel_buffer_create(cmd->ctx, arg->capacity);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	ret = nnaccel_buffer_set_roles(buffer, cmd, arg);
	if (!ret)
		nnaccel_buffer_set_grants(cmd, buffer, NULL, true);
	nnaccel_pool_put(&buffer->pool);
	return ret;
}

/**
 * nnaccel_buffer_publish() - Publishes the id of a new buffer
 * @ucmd: has the id
 * @cmd: the command of the buffer
 */
void nnaccel_buffer_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_buffer *buffer = nnaccel_command_buffer(cmd, 0);

	buffer->id = ucmd->new_id;
	refcount_inc(&buffer->pool.obj.refs);
	trace_nnaccel_buffer_alloc(buffer);
	nnaccel_object_publish(&buffer->pool.obj, ucmd->new_id);
}
