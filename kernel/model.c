// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: models. A model is prepared by a worker, and can be used until the worker's session
 * ends.
 */

#include <linux/seq_file.h>

#include "command.h"
#include "model.h"
#include "session.h"
#include "trace.h"

/* Serial number of the model that was created last; serial numbers are never reused. */
static atomic64_t nnaccel_last_serial;

static struct nnaccel_model *to_model(struct nnaccel_object *obj)
{
	return container_of(obj, struct nnaccel_model, obj);
}

/**
 * nnaccel_model_get() - Looks up a model
 * @ctx: the context
 * @id: its id
 *
 * Return: the model with a reference, or an error pointer: -ENOENT.
 */
struct nnaccel_model *nnaccel_model_get(struct nnaccel_context *ctx, u32 id)
{
	struct nnaccel_object *obj = nnaccel_object_get(ctx, id, NNACCEL_OBJECT_MODEL);

	return obj ? to_model(obj) : ERR_PTR(-ENOENT);
}

/**
 * nnaccel_command_set_model() - Looks up the model of a command
 * @cmd: the command
 * @id: id of the model
 *
 * Return: 0 or -ENOENT.
 */
int nnaccel_command_set_model(struct nnaccel_command *cmd, u32 id)
{
	struct nnaccel_model *model = nnaccel_model_get(cmd->ctx, id);

	if (IS_ERR(model))
		return PTR_ERR(model);
	cmd->model = model;
	cmd->head.model = model->number;
	return 0;
}

/**
 * nnaccel_model_put() - Drops a reference; the caller must not hold ctx->lock
 * @model: the model
 */
void nnaccel_model_put(struct nnaccel_model *model)
{
	nnaccel_object_put(&model->obj);
}

/**
 * nnaccel_model_retire() - Notifies the worker after the last reference to a model was dropped
 * @obj: the model; ctx->lock is held
 */
void nnaccel_model_retire(struct nnaccel_object *obj)
{
	struct nnaccel_model *model = to_model(obj);

	lockdep_assert_held(&obj->ctx->lock);
	if (!model->session)
		return;
	list_del(&model->node);
	nnaccel_session_update_priority(model->session);
	if (model->prepared)
		nnaccel_session_notify(model->session, &obj->notice, NNACCEL_DO_FORGET_MODEL,
				       model->number, 0);
}

/**
 * nnaccel_model_release() - Frees a model and puts its pools
 * @obj: the model
 */
void nnaccel_model_release(struct nnaccel_object *obj)
{
	struct nnaccel_model *model = to_model(obj);
	u32 i;

	trace_nnaccel_model_destroy(model);
	for (i = 0; i < model->num_pools; i++)
		nnaccel_pool_put(model->pools[i]);
	kvfree(model->pools);
	kfree(model);
}

/**
 * nnaccel_model_show_memory() - Prints the memory use of each model, as its worker reported it
 * @ctx: the context; its lock is taken
 * @m: the output
 */
void nnaccel_model_show_memory(struct nnaccel_context *ctx, struct seq_file *m)
{
	u64 weights = 0, execution = 0, device = 0;
	struct nnaccel_object *obj;
	unsigned long id;

	mutex_lock(&ctx->lock);
	xa_for_each(&ctx->objects, id, obj) {
		const struct nnaccel_model_memory *memory;

		/* Skip a model whose worker has died, because the model uses no memory. */
		if (obj->type != NNACCEL_OBJECT_MODEL || !to_model(obj)->session)
			continue;
		memory = &to_model(obj)->memory;
		seq_printf(m, "nnaccel-model-%lu:\t%llu KiB weights, %llu KiB an execution, %llu KiB of the device\n",
			   id, memory->weights >> 10, memory->execution >> 10,
			   memory->device >> 10);
		weights += memory->weights;
		execution += memory->execution;
		device += memory->device;
	}
	mutex_unlock(&ctx->lock);
	seq_printf(m, "nnaccel-model-weights:\t%llu KiB\n", weights >> 10);
	seq_printf(m, "nnaccel-model-executions:\t%llu KiB\n", execution >> 10);
	seq_printf(m, "drm-total-device:\t%llu KiB\n", device >> 10);
	seq_printf(m, "drm-resident-device:\t%llu KiB\n", device >> 10);
}

/*
 * Takes references to the command's pools with indices from @first on; the model's release drops
 * the references.
 */
static int nnaccel_model_hold_pools(struct nnaccel_model *model, const struct nnaccel_command *cmd,
				    u32 first)
{
	u32 i, n = cmd->head.num_grants - first;
	int ret;

	if (!n)
		return 0;
	ret = nnaccel_object_charge(&model->obj, n * sizeof(*model->pools));
	if (ret)
		return ret;
	model->pools = kvmalloc_array(n, sizeof(*model->pools), GFP_KERNEL_ACCOUNT);
	if (!model->pools)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		refcount_inc(&cmd->pools[first + i]->obj.refs);
		model->pools[i] = cmd->pools[first + i];
	}
	model->num_pools = n;
	return 0;
}

/**
 * nnaccel_model_build() - Makes the model that a command will prepare, and sets its parameters
 * @cmd: the command, with its pools
 * @first: index of the first pool that the model keeps
 * @preference: enum nnaccel_preference
 * @priority: enum nnaccel_priority
 * @deadline_ns: the client's deadline
 * @attributes: user address of the attributes
 *
 * A prepared model gets its id when its client fetches the answer of the preparation.
 *
 * Return: 0, -EFAULT, -ENOMEM, -ENOSPC, -EDQUOT.
 */
int nnaccel_model_build(struct nnaccel_command *cmd, u32 first, u32 preference, u32 priority,
			u64 deadline_ns, u64 attributes)
{
	struct nnaccel_model *model;
	int ret;

	cmd->head.preference = preference;
	cmd->head.priority = priority;
	cmd->head.deadline_ns = nnaccel_time_from_user(deadline_ns);
	ret = nnaccel_command_set_attributes(cmd, attributes);
	if (ret)
		return ret;
	model = kzalloc(sizeof(*model), GFP_KERNEL_ACCOUNT);
	if (!model)
		return -ENOMEM;
	ret = nnaccel_object_init(&model->obj, cmd->ctx, NNACCEL_OBJECT_MODEL);
	if (ret) {
		kfree(model);
		return ret;
	}
	cmd->model = model;
	model->priority = priority;
	model->preference = preference;
	model->serial = atomic64_inc_return(&nnaccel_last_serial);
	return nnaccel_model_hold_pools(model, cmd, first);
}

/**
 * nnaccel_model_may_prepare() - Validates the common parameters of work that prepares a model
 * @preference: enum nnaccel_preference
 * @priority: enum nnaccel_priority
 * @attributes_size: bytes of the attributes
 *
 * Return: true if the parameters are valid.
 */
bool nnaccel_model_may_prepare(u32 preference, u32 priority, u32 attributes_size)
{
	return preference <= NNACCEL_PREFER_SUSTAINED_SPEED && priority <= NNACCEL_PRIORITY_HIGH &&
	       attributes_size <= NNACCEL_MAX_ATTRIBUTES;
}

/**
 * nnaccel_model_publish() - Publishes the id of a prepared model
 * @ucmd: has the id
 * @cmd: the command that prepared it
 */
void nnaccel_model_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd)
{
	struct nnaccel_model *model = cmd->model;

	refcount_inc(&model->obj.refs);
	trace_nnaccel_model_prepare(model, ucmd->new_id);
	nnaccel_object_publish(&model->obj, ucmd->new_id);
}

/**
 * nnaccel_prepare_layout() - Validates a preparation
 * @from: the module's copy of the client's struct nnaccel_prepare
 * @arrays: out: sizes of the command's arrays
 *
 * Return: 0 or -EINVAL.
 */
int nnaccel_prepare_layout(const void *from, struct nnaccel_arrays *arrays)
{
	const struct nnaccel_prepare *arg = from;

	if (arg->flags & ~NNACCEL_PREPARE_CACHE || arg->num_pools > NNACCEL_MAX_CMD_POOLS - 1 ||
	    !nnaccel_model_may_prepare(arg->preference, arg->priority, arg->attributes_size))
		return -EINVAL;
	arrays->num_grants = arg->num_pools + 1;
	arrays->attributes_size = arg->attributes_size;
	arrays->max_payload = sizeof(struct nnaccel_model_memory);
	return 0;
}

/**
 * nnaccel_prepare_build() - Fills the command that prepares a model
 * @cmd: the command
 * @from: as in nnaccel_prepare_layout()
 * @arrays: unused
 *
 * Return: 0, -EINVAL, -ENOENT, -EOPNOTSUPP, -EFAULT, -ENOSPC, -EDQUOT, -ENOMEM.
 */
int nnaccel_prepare_build(struct nnaccel_command *cmd, const void *from,
			  struct nnaccel_arrays *arrays)
{
	const struct nnaccel_prepare *arg = from;

	cmd->head.flags = arg->flags;
	return nnaccel_command_set_model_pools(cmd, arg->wire_pool, arg->wire_offset,
					       arg->wire_length, arg->pools, arg->num_pools) ?:
	       nnaccel_model_build(cmd, 1, arg->preference, arg->priority, arg->deadline_ns,
				   arg->attributes);
}
