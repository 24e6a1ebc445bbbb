// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: objects. Each context has a table of pools, models, buffers and submissions. Bursts are
 * also objects, but have files instead of ids. The id of an object is reserved before the object is
 * made, and published when no later step can fail. Dropping the last reference frees an object.
 */

#include "account.h"
#include "buffer.h"
#include "burst.h"
#include "model.h"
#include "submit.h"

#define NNACCEL_OBJECT_BYTES(_struct)	\
	(sizeof(_struct) + sizeof(struct nnaccel_notice) + sizeof(struct xa_node))

static const struct {
	/*
	 * Maximum number of objects of the type in a context; NULL for submissions, because their
	 * commands are limited.
	 */
	const unsigned int *limit;
	/* Bytes charged for an object: the structure, the notice, an xarray node, and files. */
	size_t bytes;
	enum nnaccel_counter counter;
	/*
	 * Notifies the worker that the last reference to an object was dropped, with ctx->lock
	 * held. The pointer is NULL if the worker has no objects of this type, or if the worker is
	 * notified before the last reference is dropped.
	 */
	void (*retire)(struct nnaccel_object *obj);
	/*
	 * Drops the object's references to other objects, and frees the object; ctx->lock is not
	 * held.
	 */
	void (*release)(struct nnaccel_object *obj);
} nnaccel_object_types[NNACCEL_OBJECT_TYPES] = {
	[NNACCEL_OBJECT_POOL] = {
		&nnaccel_max_pools, NNACCEL_FILE_BYTES + NNACCEL_OBJECT_BYTES(struct nnaccel_pool),
		NNACCEL_POOLS, nnaccel_pool_retire, nnaccel_pool_release,
	},
	[NNACCEL_OBJECT_MODEL] = {
		&nnaccel_max_models, NNACCEL_OBJECT_BYTES(struct nnaccel_model),
		NNACCEL_MODELS, nnaccel_model_retire, nnaccel_model_release,
	},
	[NNACCEL_OBJECT_BUFFER] = {
		&nnaccel_max_buffers,
		NNACCEL_FILE_BYTES + NNACCEL_OBJECT_BYTES(struct nnaccel_buffer),
		NNACCEL_BUFFERS, nnaccel_pool_retire, nnaccel_buffer_release,
	},
	[NNACCEL_OBJECT_BURST] = {
		&nnaccel_max_bursts,
		(1 + NNACCEL_BURST_FILES) * NNACCEL_FILE_BYTES +
		NNACCEL_OBJECT_BYTES(struct nnaccel_burst),
		NNACCEL_BURSTS, NULL, nnaccel_burst_free,
	},
	[NNACCEL_OBJECT_SUBMISSION] = {
		NULL, sizeof(struct nnaccel_submission) + sizeof(struct xa_node),
		NNACCEL_SUBMISSIONS, NULL, nnaccel_submission_release,
	},
};

/**
 * nnaccel_object_init() - Initialises an object in the caller's allocation, with one reference
 * @obj: the object; on failure the caller still owns and frees it
 * @ctx: the context
 * @type: pool, model, buffer, burst or submission
 *
 * Return: 0, -ENOMEM, -ENOSPC if the context has too many objects of this type, or -EDQUOT.
 */
int nnaccel_object_init(struct nnaccel_object *obj, struct nnaccel_context *ctx,
			enum nnaccel_object_type type)
{
	const unsigned int *limit = nnaccel_object_types[type].limit;
	size_t bytes = nnaccel_object_types[type].bytes;
	int ret;

	ret = nnaccel_charge_kernel(ctx->account, bytes);
	if (ret)
		return ret;
	/* A submission needs no notice, because workers have no submissions. */
	obj->notice = NULL;
	if (type != NNACCEL_OBJECT_SUBMISSION) {
		obj->notice = kzalloc(sizeof(*obj->notice), GFP_KERNEL_ACCOUNT);
		if (!obj->notice) {
			ret = -ENOMEM;
			goto err_charge;
		}
	}

	mutex_lock(&ctx->lock);
	if (limit && ctx->num_objects[type] >= READ_ONCE(*limit))
		ret = -ENOSPC;
	else
		ctx->num_objects[type]++;
	mutex_unlock(&ctx->lock);
	if (ret) {
		kfree(obj->notice);
		goto err_charge;
	}

	refcount_set(&obj->refs, 1);
	obj->charged = bytes;
	obj->type = type;
	obj->ctx = ctx;
	nnaccel_context_get(ctx);
	nnaccel_count(nnaccel_object_types[type].counter, 1);
	return 0;

err_charge:
	nnaccel_uncharge_kernel(ctx->account, bytes);
	return ret;
}

/**
 * nnaccel_object_charge() - Charges an array of an object until the object is freed
 * @obj: the object
 * @bytes: number of bytes
 *
 * Return: 0 or -EDQUOT.
 */
int nnaccel_object_charge(struct nnaccel_object *obj, size_t bytes)
{
	int ret = nnaccel_charge_kernel(obj->ctx->account, bytes);

	if (!ret)
		obj->charged += bytes;
	return ret;
}

/**
 * nnaccel_object_reserve() - Reserves an id without an object
 * @ctx: the context
 * @id: out: the id
 *
 * Return: 0, -ENOMEM, or -ENOSPC if all ids are in use.
 */
int nnaccel_object_reserve(struct nnaccel_context *ctx, u32 *id)
{
	int ret;

	ret = xa_alloc_cyclic(&ctx->objects, id, XA_ZERO_ENTRY, xa_limit_31b, &ctx->next_id,
			      GFP_KERNEL_ACCOUNT);
	if (ret == -EBUSY)
		return -ENOSPC;
	return ret < 0 ? ret : 0;
}

/**
 * nnaccel_object_unreserve() - Releases a reserved id that was not published
 * @ctx: the context
 * @id: the id
 */
void nnaccel_object_unreserve(struct nnaccel_context *ctx, u32 id)
{
	xa_erase(&ctx->objects, id);
}

/**
 * nnaccel_object_publish() - Makes a reserved id name an object; cannot fail
 * @obj: the object; the caller's reference becomes the table's
 * @id: the reserved id
 */
void nnaccel_object_publish(struct nnaccel_object *obj, u32 id)
{
	WARN_ON(xa_is_err(xa_store(&obj->ctx->objects, id, obj, GFP_KERNEL_ACCOUNT)));
}

/**
 * nnaccel_object_get() - Looks up an id
 * @ctx: the context
 * @id: the id
 * @type: type that the object must have
 *
 * Return: the object with a reference, or NULL.
 */
struct nnaccel_object *nnaccel_object_get(struct nnaccel_context *ctx, u32 id,
					  enum nnaccel_object_type type)
{
	struct nnaccel_object *obj;

	xa_lock(&ctx->objects);
	obj = xa_load(&ctx->objects, id);
	if (obj && obj->type == type)
		refcount_inc(&obj->refs);
	else
		obj = NULL;
	xa_unlock(&ctx->objects);
	return obj;
}

/**
 * nnaccel_object_put() - Drops a reference; the caller must not hold ctx->lock
 * @obj: the object
 */
void nnaccel_object_put(struct nnaccel_object *obj)
{
	enum nnaccel_object_type type = obj->type;
	struct nnaccel_context *ctx = obj->ctx;
	size_t charged = obj->charged;

	if (!refcount_dec_and_mutex_lock(&obj->refs, &ctx->lock))
		return;
	if (nnaccel_object_types[type].retire)
		nnaccel_object_types[type].retire(obj);
	ctx->num_objects[type]--;
	mutex_unlock(&ctx->lock);

	kfree(obj->notice);
	nnaccel_object_types[type].release(obj);
	nnaccel_uncharge_kernel(ctx->account, charged);
	nnaccel_count(nnaccel_object_types[type].counter, -1);
	nnaccel_context_put(ctx);
}

/**
 * nnaccel_object_destroy() - Removes an object from the table and drops it
 * @ctx: the context
 * @id: the id of the object
 * @only: the object that the id must name; NULL for any
 *
 * Return: 0, or -ENOENT if the id does not name the object.
 */
int nnaccel_object_destroy(struct nnaccel_context *ctx, u32 id, const struct nnaccel_object *only)
{
	struct nnaccel_object *obj;

	/*
	 * Keep an id without an object, because a call has reserved the id and will publish an
	 * object.
	 */
	xa_lock(&ctx->objects);
	obj = xa_load(&ctx->objects, id);
	if (only && obj != only)
		obj = NULL;
	if (obj)
		__xa_erase(&ctx->objects, id);
	xa_unlock(&ctx->objects);
	if (!obj)
		return -ENOENT;
	if (obj->type == NNACCEL_OBJECT_SUBMISSION)
		nnaccel_submission_end(obj);
	nnaccel_object_put(obj);
	return 0;
}

/**
 * nnaccel_object_destroy_all() - Empties the table of a closed context
 * @ctx: the context
 */
void nnaccel_object_destroy_all(struct nnaccel_context *ctx)
{
	struct nnaccel_object *obj;
	unsigned long id;

	/*
	 * Work items may remove submissions whose files were closed, so the loop looks up each
	 * object by its id again.
	 */
	xa_for_each(&ctx->objects, id, obj)
		nnaccel_object_destroy(ctx, id, NULL);
	xa_lock(&ctx->objects);
	WARN_ON(!xa_empty(&ctx->objects));
	xa_unlock(&ctx->objects);
	xa_destroy(&ctx->objects);
}

/**
 * nnaccel_destroy_ioctl() - Implements NNACCEL_DESTROY
 * @ucmd: the ioctl
 *
 * Return: 0 or -ENOENT.
 */
int nnaccel_destroy_ioctl(struct nnaccel_ucmd *ucmd)
{
	const struct nnaccel_destroy *cmd = ucmd->cmd;

	return nnaccel_object_destroy(ucmd->object, cmd->id, NULL);
}
