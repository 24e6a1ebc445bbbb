// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: contexts. One open of /dev/nnaccel, and what is charged to it and to its user.
 */

#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "nnaccel_private.h"
#include "trace.h"

/**
 * struct nnaccel_user - What all contexts of one user id share; account lock
 * @node: in the table of users
 * @uid: who
 * @refs: context structures that point here
 * @contexts: contexts that are open
 * @bytes: bytes allocated in pools, buffers and bursts
 */
struct nnaccel_user {
	struct hlist_node node;
	kuid_t uid;
	unsigned int refs;
	unsigned int contexts;
	u64 bytes;
};

static DEFINE_SPINLOCK(nnaccel_account_lock);
static DEFINE_HASHTABLE(nnaccel_users, 6);
static atomic64_t nnaccel_last_number;

static struct nnaccel_user *nnaccel_user_find(kuid_t uid)
{
	struct nnaccel_user *user;

	lockdep_assert_held(&nnaccel_account_lock);
	hash_for_each_possible(nnaccel_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

/* Counts one more open context of the user. */
static struct nnaccel_user *nnaccel_user_open(kuid_t uid)
{
	struct nnaccel_user *new, *user;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);

	spin_lock(&nnaccel_account_lock);
	user = nnaccel_user_find(uid);
	if (!user) {
		user = new;
		new = NULL;
		user->uid = uid;
		hash_add(nnaccel_users, &user->node, __kuid_val(uid));
		nnaccel_count(NNACCEL_USERS, 1);
	}
	if (user->contexts < READ_ONCE(nnaccel_max_contexts)) {
		user->refs++;
		user->contexts++;
	} else {
		/* With contexts open the user is not new, unless none is allowed at all. */
		if (!user->refs) {
			hash_del(&user->node);
			nnaccel_count(NNACCEL_USERS, -1);
			new = user;
		}
		user = ERR_PTR(-EDQUOT);
	}
	spin_unlock(&nnaccel_account_lock);
	kfree(new);
	return user;
}

static void nnaccel_user_close(struct nnaccel_user *user)
{
	spin_lock(&nnaccel_account_lock);
	user->contexts--;
	spin_unlock(&nnaccel_account_lock);
}

static void nnaccel_user_put(struct nnaccel_user *user)
{
	spin_lock(&nnaccel_account_lock);
	if (--user->refs) {
		user = NULL;
	} else {
		WARN_ON(user->contexts || user->bytes);
		hash_del(&user->node);
		nnaccel_count(NNACCEL_USERS, -1);
	}
	spin_unlock(&nnaccel_account_lock);
	kfree(user);
}

/**
 * nnaccel_charge() - Charge memory of a pool, a buffer or a burst to a context and its user
 * @ctx: the context
 * @bytes: how much
 *
 * Return: 0 or -EDQUOT.
 */
int nnaccel_charge(struct nnaccel_context *ctx, u64 bytes)
{
	u64 of_context, of_user;
	int ret = -EDQUOT;

	spin_lock(&nnaccel_account_lock);
	if (!check_add_overflow(ctx->pool_bytes, bytes, &of_context) &&
	    !check_add_overflow(ctx->user->bytes, bytes, &of_user) &&
	    of_context <= READ_ONCE(nnaccel_max_context_bytes) &&
	    of_user <= READ_ONCE(nnaccel_max_user_bytes)) {
		ctx->pool_bytes = of_context;
		ctx->user->bytes = of_user;
		nnaccel_count(NNACCEL_POOL_BYTES, bytes);
		ret = 0;
	}
	spin_unlock(&nnaccel_account_lock);
	return ret;
}

/**
 * nnaccel_uncharge() - Take a charge back
 * @ctx: the context
 * @bytes: how much
 */
void nnaccel_uncharge(struct nnaccel_context *ctx, u64 bytes)
{
	spin_lock(&nnaccel_account_lock);
	ctx->pool_bytes -= bytes;
	ctx->user->bytes -= bytes;
	nnaccel_count(NNACCEL_POOL_BYTES, -(s64)bytes);
	spin_unlock(&nnaccel_account_lock);
}

static u64 nnaccel_context_pool_bytes(struct nnaccel_context *ctx)
{
	u64 bytes;

	spin_lock(&nnaccel_account_lock);
	bytes = ctx->pool_bytes;
	spin_unlock(&nnaccel_account_lock);
	return bytes;
}

/**
 * nnaccel_context_get() - Count one more pointer to a context
 * @ctx: the context
 */
void nnaccel_context_get(struct nnaccel_context *ctx)
{
	kref_get(&ctx->refs);
}

static void nnaccel_context_free(struct kref *refs)
{
	struct nnaccel_context *ctx = container_of(refs, struct nnaccel_context, refs);

	nnaccel_access_exit(ctx);
	nnaccel_burst_drop_doorbell(ctx);
	nnaccel_user_put(ctx->user);
	put_cred(ctx->cred);
	put_pid(ctx->pid);
	mmdrop(ctx->mm);
	mutex_destroy(&ctx->lock);
	kfree(ctx);
}

/**
 * nnaccel_context_put() - Count one pointer less
 * @ctx: the context
 */
void nnaccel_context_put(struct nnaccel_context *ctx)
{
	kref_put(&ctx->refs, nnaccel_context_free);
}

static int nnaccel_context_open(struct inode *inode, struct file *file)
{
	struct nnaccel_context *ctx;
	int ret;

	if (!current->mm)
		return -EACCES;
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	ctx->user = nnaccel_user_open(current_euid());
	if (IS_ERR(ctx->user)) {
		ret = PTR_ERR(ctx->user);
		kfree(ctx);
		return ret;
	}

	kref_init(&ctx->refs);
	mutex_init(&ctx->lock);
	xa_init_flags(&ctx->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&ctx->buffers, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&ctx->bursts);
	INIT_LIST_HEAD(&ctx->asyncs);
	INIT_LIST_HEAD(&ctx->event);
	ctx->number = atomic64_inc_return(&nnaccel_last_number);
	/* Far from the end: no token is 0, or comes a second time. */
	atomic64_set(&ctx->last_token, get_random_u64() >> 2);
	ctx->uid = current_euid();
	ctx->gid = current_egid();
	ctx->cred = get_current_cred();
	ctx->pid = get_pid(task_tgid(current));
	ctx->files = current->files;
	ctx->mm = current->mm;
	mmgrab(ctx->mm);

	file->private_data = ctx;
	nnaccel_count(NNACCEL_CONTEXTS, 1);
	trace_nnaccel_context_open(ctx);
	nnaccel_engine_add(ctx);
	return nonseekable_open(inode, file);
}

/*
 * The process that may use the context ends. Commands of its rings hold the file, and before 6.7
 * nothing else would end them.
 */
static int nnaccel_context_flush(struct file *file, fl_owner_t id)
{
	struct nnaccel_context *ctx = file->private_data;

	if (current->flags & PF_EXITING && id == ctx->files)
		nnaccel_async_cancel_all(ctx);
	return 0;
}

/*
 * No ioctl is under way: each holds the file. What may still point here are the session, whose
 * worker learns that there is no more to do, commands that it has and whose callers gave up,
 * bursts whose files are open, and dma-bufs that were exported.
 */
static int nnaccel_context_release(struct inode *inode, struct file *file)
{
	struct nnaccel_context *ctx = file->private_data;
	struct nnaccel_command *cmd, *next;
	bool signalling;
	LIST_HEAD(dead);

	signalling = nnaccel_lock_signalling(ctx);
	WRITE_ONCE(ctx->closed, true);
	nnaccel_async_fail(ctx, NULL, -ECANCELED, &dead);
	nnaccel_burst_kill_all(ctx);
	if (ctx->session)
		wake_up_all(&ctx->session->wait);
	nnaccel_unlock_signalling(ctx, signalling);
	list_for_each_entry_safe(cmd, next, &dead, node)
		nnaccel_command_put(cmd);

	nnaccel_buffer_destroy_all(ctx);
	nnaccel_object_destroy_all(ctx);
	nnaccel_engine_remove(ctx);
	nnaccel_user_close(ctx->user);
	nnaccel_count(NNACCEL_CONTEXTS, -1);
	trace_nnaccel_context_close(ctx);
	nnaccel_context_put(ctx);
	return 0;
}

static void nnaccel_context_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct nnaccel_context *ctx = file->private_data;
	u64 imported, copied_in, copied_out, executions, engine_ns;
	u32 pools, models, buffers, bursts, commands;

	mutex_lock(&ctx->lock);
	pools = ctx->num_objects[NNACCEL_OBJECT_POOL];
	models = ctx->num_objects[NNACCEL_OBJECT_MODEL];
	buffers = ctx->num_objects[NNACCEL_OBJECT_BUFFER];
	bursts = ctx->num_bursts;
	commands = ctx->num_commands;
	imported = ctx->import_bytes;
	copied_in = ctx->copied_in;
	copied_out = ctx->copied_out;
	executions = ctx->executions;
	engine_ns = ctx->engine_ns;
	mutex_unlock(&ctx->lock);

	seq_printf(m, "nnaccel-client-id:\t%llu\n", ctx->number);
	seq_printf(m, "nnaccel-memory-alloc:\t%llu KiB\n",
		   nnaccel_context_pool_bytes(ctx) >> 10);
	seq_printf(m, "nnaccel-memory-import:\t%llu KiB\n", imported >> 10);
	seq_printf(m, "nnaccel-pools:\t%u\n", pools);
	seq_printf(m, "nnaccel-models:\t%u\n", models);
	seq_printf(m, "nnaccel-buffers:\t%u\n", buffers);
	seq_printf(m, "nnaccel-copied-in:\t%llu B\n", copied_in);
	seq_printf(m, "nnaccel-copied-out:\t%llu B\n", copied_out);
	seq_printf(m, "nnaccel-bursts:\t%u\n", bursts);
	seq_printf(m, "nnaccel-commands:\t%u\n", commands);
	seq_printf(m, "nnaccel-executions:\t%llu\n", executions);
	seq_printf(m, "nnaccel-engine-time:\t%llu ns\n", engine_ns);
	nnaccel_model_show_memory(ctx, m);
}

static int nnaccel_info_ioctl(struct nnaccel_ucmd *ucmd)
{
	struct nnaccel_context *ctx = ucmd->object;
	struct nnaccel_info *cmd = ucmd->cmd;

	if (cmd->flags & ~NNACCEL_INFO_WANT || cmd->__reserved)
		return -EINVAL;
	if (cmd->flags & NNACCEL_INFO_WANT)
		nnaccel_engine_want_ahead(ctx);
	cmd->abi = NNACCEL_ABI_VERSION;
	cmd->engine = nnaccel_engine_state(ctx);
	cmd->max_pools = READ_ONCE(nnaccel_max_pools);
	cmd->max_models = READ_ONCE(nnaccel_max_models);
	cmd->max_bursts = READ_ONCE(nnaccel_max_bursts);
	cmd->max_buffers = READ_ONCE(nnaccel_max_buffers);
	cmd->max_commands = READ_ONCE(nnaccel_max_commands);
	cmd->max_pool_bytes = READ_ONCE(nnaccel_max_pool_bytes);
	cmd->max_context_bytes = READ_ONCE(nnaccel_max_context_bytes);
	cmd->max_user_bytes = READ_ONCE(nnaccel_max_user_bytes);
	cmd->pool_bytes = nnaccel_context_pool_bytes(ctx);
	mutex_lock(&ctx->lock);
	cmd->import_bytes = ctx->import_bytes;
	cmd->executions = ctx->executions;
	cmd->engine_ns = ctx->engine_ns;
	cmd->bursts = ctx->num_bursts;
	cmd->buffers = ctx->num_objects[NNACCEL_OBJECT_BUFFER];
	mutex_unlock(&ctx->lock);
	return nnaccel_ucmd_respond(ucmd, sizeof(*cmd));
}

#define NNACCEL_OP(_name, _fn, _struct, _last)	\
	NNACCEL_IOCTL_OP(INFO, _name, _fn, _struct, _last)

static const struct nnaccel_ioctl_op nnaccel_context_ops[] = {
	NNACCEL_OP(INFO, nnaccel_info_ioctl, struct nnaccel_info, engine_ns),
	NNACCEL_OP(DESTROY, nnaccel_destroy_ioctl, struct nnaccel_destroy, id),
	NNACCEL_OP(POOL_ALLOC, nnaccel_pool_alloc_ioctl, struct nnaccel_pool_alloc,
		   __reserved),
	NNACCEL_OP(POOL_IMPORT, nnaccel_pool_import_ioctl, struct nnaccel_pool_import,
		   __reserved),
	NNACCEL_OP(POOL_EXPORT, nnaccel_pool_export_ioctl, struct nnaccel_pool_export,
		   out_fd),
	NNACCEL_OP(POOL_IMPORT_FORMATTED, nnaccel_pool_import_formatted_ioctl,
		   struct nnaccel_pool_import_formatted, __reserved),
	NNACCEL_OP(QUERY, nnaccel_query_ioctl, struct nnaccel_query, out_status),
	NNACCEL_OP(SUPPORTED, nnaccel_supported_ioctl, struct nnaccel_supported,
		   __reserved),
	NNACCEL_OP(PREPARE, nnaccel_prepare_ioctl, struct nnaccel_prepare, attributes_size),
	NNACCEL_OP(EXECUTE, nnaccel_execute_ioctl, struct nnaccel_execute, num_buffers),
	NNACCEL_OP(BURST_CREATE, nnaccel_burst_create_ioctl, struct nnaccel_burst_create,
		   __reserved),
	NNACCEL_OP(EXECUTE_FENCED, nnaccel_execute_fenced_ioctl,
		   struct nnaccel_execute_fenced, tag),
	NNACCEL_OP(FENCE_INFO, nnaccel_fence_info_ioctl, struct nnaccel_fence_info,
		   __reserved2),
	NNACCEL_OP(CANCEL, nnaccel_cancel_ioctl, struct nnaccel_cancel, __reserved),
	NNACCEL_OP(PREPARE_CACHED, nnaccel_prepare_cached_ioctl, struct nnaccel_prepare_cached,
		   attributes_size),
	NNACCEL_OP(CACHE_SAVE, nnaccel_cache_save_ioctl, struct nnaccel_cache_save, out_status),
	NNACCEL_OP(BUFFER_ALLOC, nnaccel_buffer_alloc_ioctl, struct nnaccel_buffer_alloc,
		   __reserved),
	NNACCEL_OP(BUFFER_COPY, nnaccel_buffer_copy_ioctl, struct nnaccel_buffer_copy, message),
	NNACCEL_OP(BUFFER_FREE, nnaccel_buffer_free_ioctl, struct nnaccel_buffer_free, token),
};

static long nnaccel_context_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct nnaccel_context *ctx = file->private_data;

	if (ctx->mm != current->mm)
		return -EACCES;
	return nnaccel_ioctl(nnaccel_context_ops, ARRAY_SIZE(nnaccel_context_ops), ctx, cmd, arg);
}

const struct file_operations nnaccel_context_fops = {
	.owner = THIS_MODULE,
	.open = nnaccel_context_open,
	.flush = nnaccel_context_flush,
	.release = nnaccel_context_release,
	.uring_cmd = nnaccel_uring_cmd,
	.unlocked_ioctl = nnaccel_context_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = nnaccel_context_show_fdinfo,
};
