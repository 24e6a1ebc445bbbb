/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nnaccel: what the files of the module share. One section a source file.
 *
 * Lock order, outermost first:
 *
 *   mmap_lock		held by the caller of a session's mmap()
 *   ctx->lock		one mutex a context: its objects, its session, its commands
 *   devices' lock	device.c: which devices there are
 *   engine->lock	engine.c: its broker, the list of its contexts, what the broker was told
 *   account lock	account.c: what users are charged (a spinlock)
 *
 * A dma-buf of this module has a mutex of its own, inside ctx->lock, that devices' attachments and
 * the syncing for them take. No lock is held over a call of another driver's exporter.
 *
 * User memory is never touched with one of them held: a fault takes mmap_lock. Nor is memory
 * allocated: ctx->lock is taken on the way to a fence's signal, for which whoever frees memory
 * may be waiting.
 *
 * Who pins whom (a count, unless said otherwise):
 *
 *   context's file -> it	struct nnaccel_context stays while anything points to it;
 *				what it holds goes when the file is closed (->closed)
 *   context ...> session	weak, under ctx->lock; cleared by the session's release
 *   session file -> session; session -> its context
 *   object table -> object (pool, model, buffer or submission); each -> its context
 *   command -> pools, buffers, model	until it is committed or its session dies, even when its
 *				caller gave up
 *   caller, session -> command
 *   one that no call drives -> its context; the fences and events that it waits for
 *   submission -> its command, until the answer is fetched; its event, until its own end
 *   command ...> submission	weak, under ctx->lock; cleared when the submission ends
 *   submission's file -> submission; a submission whose file was closed, at its command's end: a
 *				work, which ends it
 *   event			points to nothing: however long a chain of dependencies is, the
 *				end of one command frees one command
 *   context ...> that one	weak, under ctx->lock; cleared at its end
 *   model -> pools		those of its constants
 *   burst file, command -> burst; burst -> its context, its model
 *   burst's slot -> pool	until it is freed or the file is closed, dead or not
 *   context, session ...> burst	weak, under ctx->lock; cleared when it dies
 *   model ...> session		weak, under ctx->lock; cleared by the session's release
 *   session ...> pool, buffer	the grant; weak, cleared when the last count goes
 *   buffer's role, layout	name a model, a session by numbers that are never used again
 *   pool -> file		a dma-buf or a regular file; never a file of this module other
 *				than a dma-buf, so that no cycle of files can arise
 *   context -> its engine	no count: engines live as long as the module is loaded
 *   context, dma-buf -> account; account -> user
 *   dma-buf ...> its pools	weak, under the dma-buf's lock; cleared by the pool's release
 *   pool -> proxies of its grant	until the grant or the context ends; then the work that
 *				tells importers, until they were told
 *   proxy -> the pool's dma-buf, account
 *   command's access -> command	until the exporters have returned
 *   context's access queue -> module	until its threads are gone
 *   mapping -> file		the pool's or the ring's file, not the session's or the burst's:
 *				their release is a death, whatever is mapped
 *   any open file -> module
 */
#ifndef NNACCEL_PRIVATE_H
#define NNACCEL_PRIVATE_H

#include <linux/dma-direction.h>
#include <linux/dma-fence.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pm_qos.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/nnaccel.h>

struct dma_buf;
struct dma_buf_attachment;
struct io_uring_cmd;
struct poll_table_struct;
struct nnaccel_access_queue;
struct nnaccel_account;
struct nnaccel_async;
struct nnaccel_async_wait;
struct nnaccel_command;
struct nnaccel_copy;
struct nnaccel_engine;
struct nnaccel_event;
struct nnaccel_picture;
struct nnaccel_session;
struct seq_file;
struct sg_table;
struct vm_area_struct;

/*
 * wait_event_interruptible_timeout() or wait_event_killable_timeout(), by @state, that do not keep
 * the system from being suspended: what is waited for are processes, and they may have been put to
 * sleep before.
 */
#define nnaccel_wait_event_timeout(wq_head, condition, state, timeout)		\
	___wait_event(wq_head, ___wait_cond_timeout(condition),			\
		      ((state) | TASK_FREEZABLE), 0, timeout,			\
		      __ret = schedule_timeout(__ret))

/* ---- main.c: parameters, ioctls ---- */

extern unsigned int nnaccel_max_devices;
extern unsigned int nnaccel_max_contexts;
extern unsigned int nnaccel_max_pools;
extern unsigned int nnaccel_max_models;
extern unsigned int nnaccel_max_buffers;
extern unsigned int nnaccel_max_bursts;
extern unsigned int nnaccel_max_commands;
extern unsigned int nnaccel_max_latency_requests;
extern unsigned int nnaccel_latency_us;
extern unsigned int nnaccel_engine_wait_ms;
extern unsigned int nnaccel_engine_absent_ms;
extern unsigned int nnaccel_deadline_grace_ms;
extern unsigned int nnaccel_kill_grace_ms;
extern unsigned int nnaccel_fence_bound_ms;
extern unsigned long nnaccel_max_pool_bytes;
extern unsigned long nnaccel_max_context_bytes;
extern unsigned long nnaccel_max_user_bytes;
extern unsigned long nnaccel_max_total_bytes;
extern unsigned long nnaccel_max_user_kernel_bytes;
extern struct workqueue_struct *nnaccel_wq;
extern struct workqueue_struct *nnaccel_free_wq;

/**
 * struct nnaccel_ucmd - One ioctl in progress
 * @object: what the file is: a context, a burst or a session; for the engine node the file itself
 * @ubuffer: the caller's structure
 * @user_size: bytes that the caller says it has
 * @cmd: the module's copy, as long as the module knows the structure
 * @new_id: reserved for the model or the buffer that the answer makes, 0: none
 * @new_fd: the same for a burst's file, -1: none
 */
struct nnaccel_ucmd {
	void *object;
	void __user *ubuffer;
	u32 user_size;
	void *cmd;
	u32 new_id;
	int new_fd;
};

/**
 * struct nnaccel_ioctl_op - An entry of a table of ioctls
 * @ioctl_num: number; 0: none
 * @size: bytes of the structure
 * @min_size: bytes of its first published version
 * @execute: what it does
 */
struct nnaccel_ioctl_op {
	unsigned int ioctl_num;
	unsigned int size;
	unsigned int min_size;
	int (*execute)(struct nnaccel_ucmd *ucmd);
};

/* Bytes of the longest structure that an ioctl takes. */
#define NNACCEL_UCMD_SIZE	256

/* The entry of NNACCEL_@_name in a table that begins with NNACCEL_CMD_@_first. */
#define NNACCEL_IOCTL_OP(_first, _name, _fn, _struct, _last)			\
	[NNACCEL_CMD_##_name - NNACCEL_CMD_##_first] = {			\
		.ioctl_num = NNACCEL_##_name,					\
		.size = sizeof(_struct) +					\
			BUILD_BUG_ON_ZERO(sizeof(_struct) > NNACCEL_UCMD_SIZE),	\
		.min_size = offsetofend(_struct, _last),			\
		.execute = _fn,							\
	}

long nnaccel_ioctl(const struct nnaccel_ioctl_op *ops, unsigned int num_ops, void *object,
		   unsigned int cmd, unsigned long arg);
int nnaccel_copy_struct(struct nnaccel_ucmd *ucmd, size_t size, size_t min_size);
int nnaccel_ucmd_respond(struct nnaccel_ucmd *ucmd, size_t size);
u64 nnaccel_time_from_user(u64 ns);
u64 nnaccel_time_to_user(u64 ns);
void *nnaccel_copy_in(u64 from, size_t n, size_t size);

/* ---- account.c ---- */

/* What a file of the module's costs: the file, its inode and dentry, and a dma-buf's structure. */
#define NNACCEL_FILE_BYTES	2048

struct nnaccel_account *nnaccel_account_open(void);
void nnaccel_account_close(struct nnaccel_account *account);
void nnaccel_account_get(struct nnaccel_account *account);
void nnaccel_account_put(struct nnaccel_account *account);
kuid_t nnaccel_account_uid(const struct nnaccel_account *account);
u64 nnaccel_account_bytes(struct nnaccel_account *account);
void nnaccel_account_show_users(struct seq_file *m);
int nnaccel_charge(struct nnaccel_account *account, u64 bytes);
void nnaccel_uncharge(struct nnaccel_account *account, u64 bytes);
int nnaccel_charge_kernel(struct nnaccel_account *account, size_t bytes);
void nnaccel_uncharge_kernel(struct nnaccel_account *account, size_t bytes);
bool nnaccel_charge_latency(struct nnaccel_account *account);
void nnaccel_uncharge_latency(struct nnaccel_account *account);

/* ---- context.c ---- */

/* What the broker knows of a context; see engine.c. */
enum nnaccel_engine_stage {
	NNACCEL_STAGE_IDLE,
	NNACCEL_STAGE_WANTED,
	NNACCEL_STAGE_OFFERED,
	NNACCEL_STAGE_SERVED,
	NNACCEL_STAGE_GONE,
};

enum nnaccel_object_type {
	NNACCEL_OBJECT_POOL,
	NNACCEL_OBJECT_MODEL,
	NNACCEL_OBJECT_BUFFER,
	NNACCEL_OBJECT_SUBMISSION,
	NNACCEL_OBJECT_TYPES
};

/**
 * struct nnaccel_context - One open of a device
 * @refs: counts; see the table above
 * @engine: the device's
 * @number: names it to the broker
 * @mm: the only address space that may use it; pinned, compared, never entered
 * @pid: the opener
 * @uid: the user that it is charged to; see account.c
 * @gid: effective group id of the opener
 * @cred: credentials of the opener
 * @account: what it is charged
 * @doorbell: its bursts' common page; NULL until the first; never changes after
 * @access: its threads that call exporters; NULL until the first; never changes after
 * @changes_wait: where its commands wait for a worker
 * @answers_wait: pollers of its file
 * @lock: protects what follows, up to @stage
 * @closed: the file is closed; waits look at it without the lock
 * @has_devices: a device was attached to memory of this module that it has as a pool
 * @session: the worker's, or NULL
 * @objects: id -> struct nnaccel_object; a reserved id has no object yet
 * @next_id: where the search for a free id starts
 * @num_objects: pools, models, buffers and submissions that exist, in the table or not
 * @bursts: those alive
 * @num_bursts: those that exist
 * @num_commands: commands waiting for fences, queued or in flight
 * @asyncs: commands whose end was not reported yet, the oldest first
 * @fenced: @lock: commands that end with a fence of hardware
 * @num_answers: answers to be fetched, of submissions without a file; poll() looks at it without
 *	the lock
 * @num_sessions: sessions so far
 * @import_bytes: bytes of imported pools that exist
 * @copied_in: bytes that copies into buffers were asked to move
 * @copied_out: the same for copies out of buffers
 * @executions: executions committed
 * @burst_executions: those of bursts that have ended, as their workers said
 * @device_ns: time on the device of executions, those of bursts that have ended included
 * @engine_ns: time that commands were with the worker
 * @stage: the engine's lock, as all that follows
 * @offered: the broker that is there was told of this context
 * @priority: the highest of the models of its session, MEDIUM where there are none
 * @told_priority: what the broker knows that to be
 * @refusals: how often a wish for an engine ended without one
 * @refusal: the error of the last of them
 * @node: in the list of contexts
 * @event: in the list of what to tell the broker
 */
struct nnaccel_context {
	struct kref refs;
	struct nnaccel_engine *engine;
	u64 number;
	struct mm_struct *mm;
	struct pid *pid;
	kuid_t uid;
	kgid_t gid;
	const struct cred *cred;
	struct nnaccel_account *account;
	struct file *doorbell;
	struct nnaccel_access_queue *access;
	wait_queue_head_t changes_wait;
	wait_queue_head_t answers_wait;

	struct mutex lock;	/* see the lock order above */
	bool closed;
	bool has_devices;
	struct nnaccel_session *session;
	struct xarray objects;
	u32 next_id;
	u32 num_objects[NNACCEL_OBJECT_TYPES];
	struct list_head bursts;
	u32 num_bursts;
	u32 num_commands;
	struct list_head asyncs;
	struct list_head fenced;
	u32 num_answers;
	u64 num_sessions;
	u64 import_bytes;
	u64 copied_in;
	u64 copied_out;
	u64 executions;
	u64 burst_executions;
	u64 device_ns;
	u64 engine_ns;

	enum nnaccel_engine_stage stage;
	bool offered;
	u32 priority;
	u32 told_priority;
	u32 refusals;
	int refusal;
	struct list_head node;
	struct list_head event;
};

extern const struct file_operations nnaccel_context_fops;

/*
 * For whoever ends commands, and with them fences: lockdep sees that nothing on the way to a
 * fence's signal, and so nobody who holds the lock, waits for memory.
 */
static inline bool nnaccel_lock_signalling(struct nnaccel_context *ctx)
	__acquires(&ctx->lock)
{
	bool signalling = dma_fence_begin_signalling();

	mutex_lock(&ctx->lock);
	__acquire(&ctx->lock);
	return signalling;
}

static inline void nnaccel_unlock_signalling(struct nnaccel_context *ctx, bool signalling)
	__releases(&ctx->lock)
{
	__release(&ctx->lock);
	mutex_unlock(&ctx->lock);
	dma_fence_end_signalling(signalling);
}

void nnaccel_context_get(struct nnaccel_context *ctx);
void nnaccel_context_put(struct nnaccel_context *ctx);
bool nnaccel_context_opener_lives(const struct nnaccel_context *ctx);

/* ---- object.c ---- */

/**
 * struct nnaccel_notice - A notice to the worker, allocated with the object it is about
 * @node: in the session's list
 * @kind: NNACCEL_DO_FORGET_MODEL, FORGET_GRANT, BURST_GONE or SLOT_GONE
 * @burst: the burst
 * @number: the model, the grant or the slot
 */
struct nnaccel_notice {
	struct list_head node;
	u32 kind;
	u32 burst;
	u64 number;
};

/**
 * struct nnaccel_object - What an id names
 * @refs: the table's and everybody else's; the last is dropped with ctx->lock held
 * @ctx: its context
 * @type: pool, model, buffer or submission
 * @charged: memory of structures that is charged for it
 * @notice: the notice to post at the end; NULL once posted, and of a submission
 */
struct nnaccel_object {
	refcount_t refs;
	struct nnaccel_context *ctx;
	enum nnaccel_object_type type;
	size_t charged;
	struct nnaccel_notice *notice;
};

int nnaccel_object_init(struct nnaccel_object *obj, struct nnaccel_context *ctx,
			enum nnaccel_object_type type);
int nnaccel_object_charge(struct nnaccel_object *obj, size_t bytes);
int nnaccel_object_reserve(struct nnaccel_context *ctx, u32 *id);
void nnaccel_object_unreserve(struct nnaccel_context *ctx, u32 id);
void nnaccel_object_publish(struct nnaccel_object *obj, u32 id);
struct nnaccel_object *nnaccel_object_get(struct nnaccel_context *ctx, u32 id,
					  enum nnaccel_object_type type);
void nnaccel_object_put(struct nnaccel_object *obj);
bool nnaccel_object_take(struct nnaccel_object *obj, u32 id);
void nnaccel_object_destroy_all(struct nnaccel_context *ctx);
int nnaccel_destroy_ioctl(struct nnaccel_ucmd *ucmd);

/* ---- pool.c ---- */

/**
 * struct nnaccel_pool - Memory that client and worker share
 * @obj: the object
 * @file: the dma-buf's file, or a regular file; counted
 * @dmabuf: the dma-buf; NULL: a regular file
 * @hold: keeps a regular file writable for us and seals against writing away, or NULL
 * @node: in the list of pools that a dma-buf of this module is, under its lock; empty: in none
 * @has_devices: under that lock: its context was told that a device is attached
 * @prot: NNACCEL_PROT_*
 * @imported: not allocated by this context
 * @device: only devices reach it
 * @offset: bytes into @file
 * @length: bytes
 * @picture: how its planes of pixels lie; NULL: it is not formatted
 * @grant: ctx->lock: number in the session, 0: none
 * @grant_prot: ctx->lock: NNACCEL_PROT_* that commands needed so far
 * @proxies: ctx->lock: dma-bufs that stand for the grant, counted: one that can only be read, and
 *	one that can be written; NULL: nobody asked for it yet
 */
struct nnaccel_pool {
	struct nnaccel_object obj;
	struct file *file;
	struct dma_buf *dmabuf;
	struct file *hold;
	struct list_head node;
	bool has_devices;
	u32 prot;
	bool imported;
	bool device;
	u64 offset;
	u64 length;
	struct nnaccel_picture *picture;
	u32 grant;
	u32 grant_prot;
	struct dma_buf *proxies[2];
};

struct nnaccel_pool *nnaccel_pool_get(struct nnaccel_context *ctx, u32 id);
void nnaccel_pool_put(struct nnaccel_pool *pool);
u32 nnaccel_pool_prot_flags(const struct nnaccel_pool *pool);
bool nnaccel_pool_may_execute(const struct nnaccel_pool *pool);
bool nnaccel_pool_is_bytes(const struct nnaccel_pool *pool);
bool nnaccel_pool_may_have(u64 length);
int nnaccel_pool_fill(struct nnaccel_pool *pool, u64 length);
struct nnaccel_pool *nnaccel_pool_alloc(struct nnaccel_context *ctx, u64 length);
void nnaccel_pool_retire(struct nnaccel_object *obj);
void nnaccel_pool_release(struct nnaccel_object *obj);
int nnaccel_pool_alloc_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_pool_import_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_pool_export_ioctl(struct nnaccel_ucmd *ucmd);
struct file *nnaccel_import_get(const struct nnaccel_pool_import *cmd, struct dma_buf **dmabuf);
struct nnaccel_pool *nnaccel_import(struct nnaccel_context *ctx,
				    const struct nnaccel_pool_import *cmd, struct file *file,
				    struct dma_buf *dmabuf, u32 *id);
int nnaccel_pool_finish(struct nnaccel_ucmd *ucmd, size_t size, struct nnaccel_pool *pool, u32 id);

/* ---- format.c ---- */

/**
 * struct nnaccel_picture_plane - A plane of a formatted pool
 * @file: 0: it lies in the pool's own file; n: in that of the picture's pool n - 1
 * @stride: bytes from one row to the next
 * @row_bytes: bytes of a row's pixels
 * @rows: rows
 * @offset: bytes into the file to the first row
 */
struct nnaccel_picture_plane {
	u32 file;
	u32 stride;
	u32 row_bytes;
	u32 rows;
	u64 offset;
};

/**
 * struct nnaccel_picture - What a formatted pool has besides
 * @fourcc: DRM_FORMAT_
 * @width: pixels
 * @height: rows
 * @num_planes: planes
 * @planes: those
 * @num_pools: pools of files beyond the first
 * @pools: those, counted; without ids
 */
struct nnaccel_picture {
	u32 fourcc;
	u32 width;
	u32 height;
	u32 num_planes;
	struct nnaccel_picture_plane planes[NNACCEL_MAX_PLANES];
	u32 num_pools;
	struct nnaccel_pool *pools[NNACCEL_MAX_PLANES - 1];
};

int nnaccel_picture_import_ioctl(struct nnaccel_ucmd *ucmd);
bool nnaccel_pool_is_formatted(const struct nnaccel_pool *pool);
u32 nnaccel_pool_num_others(const struct nnaccel_pool *pool);
struct nnaccel_pool *nnaccel_pool_of_file(struct nnaccel_pool *pool, u32 file);
void nnaccel_picture_tell(struct nnaccel_pool *pool, struct nnaccel_format *format);
void nnaccel_picture_free(struct nnaccel_pool *pool);

/* ---- dmabuf.c ---- */

struct dma_buf *nnaccel_dmabuf_create(struct nnaccel_account *account, u64 length);
bool nnaccel_dmabuf_is_ours(const struct dma_buf *dmabuf);
int nnaccel_dmabuf_attach_part(const struct dma_buf *dmabuf, u64 offset, u64 length,
			       struct dma_buf_attachment *attach);
void nnaccel_dmabuf_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach);
struct sg_table *nnaccel_dmabuf_map(struct dma_buf_attachment *attach, enum dma_data_direction dir);
void nnaccel_dmabuf_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
			  enum dma_data_direction dir);
void nnaccel_dmabuf_add_pool(struct nnaccel_pool *pool);
void nnaccel_dmabuf_remove_pool(struct nnaccel_pool *pool);
bool nnaccel_dmabuf_sync(const struct dma_buf *dmabuf, bool begin);
int nnaccel_dmabuf_copy(const struct dma_buf *dmabuf, void __user *user, u64 length, bool in);
int nnaccel_dmabuf_copy_between(const struct dma_buf *to, u64 to_offset,
				const struct dma_buf *from, u64 from_offset, u64 length);

/* ---- proxy.c ---- */

bool nnaccel_dmabuf_is_proxy(const struct dma_buf *dmabuf);
struct dma_buf *nnaccel_proxy_get(struct nnaccel_pool *pool, bool writable);
void nnaccel_proxy_revoke_all(struct nnaccel_pool *pool);

/* ---- access.c ---- */

int nnaccel_access_init(struct nnaccel_context *ctx);
void nnaccel_access_exit(struct nnaccel_context *ctx);
int nnaccel_access_get_fence(struct dma_buf *dmabuf, bool write, struct dma_fence **fence);
int nnaccel_access_begin(struct dma_buf *dmabuf, u32 prot);
int nnaccel_access_end(struct nnaccel_context *ctx, struct dma_buf *dmabuf, u32 prot);
int nnaccel_command_init_access(struct nnaccel_command *cmd);
void nnaccel_command_init_access_work(struct nnaccel_command *cmd);
void nnaccel_command_sync_own(const struct nnaccel_command *cmd, bool begin);
void nnaccel_command_queue_access(struct nnaccel_command *cmd);
void nnaccel_command_cancel_access(struct nnaccel_command *cmd);

/* ---- model.c ---- */

/**
 * struct nnaccel_model - A prepared model
 * @obj: the object
 * @session: ctx->lock: the session that has it; NULL: dead, or not yet asked for
 * @node: ctx->lock: in the session's list
 * @prepared: ctx->lock: the worker has it
 * @number: names it in the session
 * @serial: never used again by any model
 * @priority: enum nnaccel_priority
 * @preference: enum nnaccel_preference
 * @memory: ctx->lock: what the worker says that it takes
 * @num_pools: pools of its constants
 * @pools: those
 */
struct nnaccel_model {
	struct nnaccel_object obj;
	struct nnaccel_session *session;
	struct list_head node;
	bool prepared;
	u64 number;
	u64 serial;
	u32 priority;
	u32 preference;
	struct nnaccel_model_memory memory;
	u32 num_pools;
	struct nnaccel_pool **pools;
};

struct nnaccel_model *nnaccel_model_get(struct nnaccel_context *ctx, u32 id);
void nnaccel_model_put(struct nnaccel_model *model);
void nnaccel_model_show_memory(struct nnaccel_context *ctx, struct seq_file *m);
void nnaccel_model_retire(struct nnaccel_object *obj);
void nnaccel_model_release(struct nnaccel_object *obj);

bool nnaccel_model_may_prepare(u32 preference, u32 priority, u32 attributes_size);
struct nnaccel_command *nnaccel_model_create(struct nnaccel_command *cmd, int ret);
void nnaccel_model_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
struct nnaccel_command *nnaccel_prepare_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_prepare_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

/* ---- cache.c ---- */

struct nnaccel_command *nnaccel_prepare_cached_create(struct nnaccel_context *ctx,
						      const void *from);
int nnaccel_prepare_cached_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
struct nnaccel_command *nnaccel_cache_save_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_cache_save_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

/* ---- buffer.c ---- */

/**
 * struct nnaccel_buffer_role - A use that a buffer was made for
 * @model: serial of the model
 * @kind: enum nnaccel_role_kind
 * @index: which input or output
 */
struct nnaccel_buffer_role {
	u64 model;
	u32 kind;
	u32 index;
};

/**
 * struct nnaccel_buffer - A buffer of a memory domain
 * @pool: its memory, and the object; its length is the capacity
 * @id: its id, for traces; 0: it never got one
 * @layout: number of the session whose worker alone knows how its bytes lie; 0: linear
 * @num_roles: roles
 * @roles: what it may be used for, sorted
 * @initialised: ctx->lock, as all that follows: it holds something
 * @written: it is being written
 * @readers: uses that read it
 * @size: bytes that it holds
 */
struct nnaccel_buffer {
	struct nnaccel_pool pool;
	u32 id;
	u64 layout;
	u32 num_roles;
	struct nnaccel_buffer_role *roles;
	bool initialised;
	bool written;
	u32 readers;
	u64 size;
};

enum nnaccel_use_kind {
	NNACCEL_USE_NONE,
	NNACCEL_USE_READ,
	NNACCEL_USE_WRITE,
};

/**
 * struct nnaccel_use - What a command does with a buffer
 * @kind: read or write it
 * @output: the output of an execution that it is
 */
struct nnaccel_use {
	enum nnaccel_use_kind kind;
	u32 output;
};

struct nnaccel_buffer *nnaccel_buffer_get(struct nnaccel_context *ctx, u32 id);
void nnaccel_buffer_release(struct nnaccel_object *obj);
int nnaccel_buffer_check_use(const struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind);
void nnaccel_buffer_begin_use(struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind);
void nnaccel_buffer_end_use(struct nnaccel_buffer *buffer, enum nnaccel_use_kind kind,
			    bool success, u64 size);
void nnaccel_buffer_set_grants(struct nnaccel_command *cmd, struct nnaccel_buffer *buffer,
			       struct nnaccel_pool *staging, bool in);
bool nnaccel_buffer_is_served(const struct nnaccel_command *cmd);
int nnaccel_buffer_begin_all(struct nnaccel_command *cmd);
void nnaccel_buffer_end_all(struct nnaccel_command *cmd, int error);
int nnaccel_buffer_check_answer(const struct nnaccel_command *cmd, u32 status,
				const void *payload);
int nnaccel_buffer_add_all(struct nnaccel_command *cmd, u64 ids, u32 n);
int nnaccel_buffer_set_arg(struct nnaccel_command *cmd, struct nnaccel_arg *arg, s64 output);
int nnaccel_buffer_check_roles(const struct nnaccel_command *cmd);
struct nnaccel_command *nnaccel_buffer_alloc_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_buffer_alloc_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
void nnaccel_buffer_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

/* ---- copy.c ---- */

struct nnaccel_command *nnaccel_copy_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_copy_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
void nnaccel_copy_free(struct nnaccel_copy *copy);

/* ---- burst.c ---- */

enum nnaccel_burst_file {
	NNACCEL_FILE_STATUS,
	NNACCEL_FILE_REQUESTS,
	NNACCEL_FILE_RESULTS,
	NNACCEL_BURST_FILES
};

/**
 * struct nnaccel_burst - Two rings and the slots that requests name memory by
 * @refs: the file's, and that of the command that announces it
 * @ctx: its context, counted
 * @model: what it executes, counted
 * @capacity: datums of a ring
 * @flags: NNACCEL_BURST_NO_SPIN
 * @bytes: charged
 * @files: the memory, a file for each protection: a mapping can be moved within its file
 * @pages: the first page of each; of STATUS the one that both sides read and only the module writes
 * @wait: pollers
 * @node: ctx->lock, as all that follows: in the context's list; empty: dead
 * @dead: waits look at it without the lock
 * @number: in the session; 0: the worker was not told of it
 * @slots: index -> slot; a reserved index has no slot yet
 * @num_slots: slots that are bound
 * @binds: how often one was
 * @resolves: how often the worker asked for one
 * @latency: CPU-latency request
 * @requests_latency: there is one
 * @notice: the notice of its end; NULL once posted
 */
struct nnaccel_burst {
	struct kref refs;
	struct nnaccel_context *ctx;
	struct nnaccel_model *model;
	u32 capacity;
	u32 flags;
	u64 bytes;
	struct file *files[NNACCEL_BURST_FILES];
	struct page *pages[NNACCEL_BURST_FILES];
	wait_queue_head_t wait;
	struct list_head node;
	bool dead;
	u32 number;
	struct xarray slots;
	u32 num_slots;
	u32 binds;
	u64 resolves;
	struct pm_qos_request latency;
	bool requests_latency;
	struct nnaccel_notice *notice;
};

/**
 * struct nnaccel_slot - A pool that requests of a burst may name
 * @pool: the pool, counted
 * @number: its name
 * @prot: NNACCEL_PROT_*
 * @resolved: ctx->lock: the worker knows of it
 * @notice: the notice of its end; NULL once posted
 */
struct nnaccel_slot {
	struct nnaccel_pool *pool;
	u32 number;
	u32 prot;
	bool resolved;
	struct nnaccel_notice *notice;
};

void nnaccel_burst_get(struct nnaccel_burst *burst);
void nnaccel_burst_put(struct nnaccel_burst *burst);
int nnaccel_burst_reserve(struct nnaccel_burst *burst, struct nnaccel_session *session,
			  u32 *number);
int nnaccel_burst_announce(struct nnaccel_burst *burst, u32 number);
struct nnaccel_pool *nnaccel_burst_resolve(struct nnaccel_burst *burst, u32 number, u32 *prot);
int nnaccel_burst_map(struct nnaccel_burst *burst, struct vm_area_struct *vma, u64 offset,
		      bool worker);
void nnaccel_burst_tell_devices(struct nnaccel_context *ctx);
void nnaccel_burst_kill_all(struct nnaccel_context *ctx);
void nnaccel_burst_add_up(struct nnaccel_context *ctx, u64 *executions, u64 *device_ns);
void nnaccel_burst_drop_doorbell(struct nnaccel_context *ctx);
struct nnaccel_command *nnaccel_burst_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_burst_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
void nnaccel_burst_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

/* ---- command.c ---- */

enum nnaccel_command_state {
	NNACCEL_COMMAND_NEW,
	NNACCEL_COMMAND_WAITING,
	NNACCEL_COMMAND_QUEUED,
	NNACCEL_COMMAND_IN_FLIGHT,
	NNACCEL_COMMAND_FENCED,	/* answered; the end is that of a fence of hardware */
	NNACCEL_COMMAND_ENDING,	/* exporters are told that the access to their memory has ended */
	NNACCEL_COMMAND_DONE,
};

/**
 * struct nnaccel_engine_wait - A wait for a worker
 * @begun: all below is valid
 * @start: when it began, in jiffies
 * @refusals: refusals that its context had by then
 */
struct nnaccel_engine_wait {
	bool begun;
	unsigned long start;
	u32 refusals;
};

/**
 * struct nnaccel_arrays - What arrays a command has
 * @num_grants: pools and buffers
 * @num_args: arguments of an execution
 * @num_roles: roles of a new buffer
 * @attributes_size: bytes of the client's attributes
 * @num_uses: buffers whose use is noted
 * @max_payload: bytes that its answer may have
 */
struct nnaccel_arrays {
	u32 num_grants;
	u32 num_args;
	u32 num_roles;
	u32 attributes_size;
	u32 num_uses;
	u32 max_payload;
};

/* An answer of so many bytes has its room in the command; a longer one is allocated. */
#define NNACCEL_SMALL_PAYLOAD	256

/**
 * struct nnaccel_async_wait - What a command waits for
 * @async: the command's
 * @fence: a fence, counted; NULL: @event
 * @cb: in the fence's list until it signals
 * @event: an event, counted
 * @node: in the event's list until it happens
 */
struct nnaccel_async_wait {
	struct nnaccel_async *async;
	struct dma_fence *fence;
	struct dma_fence_cb cb;
	struct nnaccel_event *event;
	struct list_head node;
};

/**
 * struct nnaccel_async - What a command has that no call drives
 * @cmd: the command
 * @node: ctx->lock: in the context's list until its end
 * @tag: the client's name for it
 * @ready_ns: when the last of its dependencies ended
 * @duration_ns: longest time from then on, 0: no limit
 * @must_leave: asked now and then: must it end at once? NULL: never
 * @ended: ctx->lock: @end was called, or is not to be: it is not admitted any more
 * @end: tells the client: @error 0: the command is answered; ctx->lock is held
 * @data: for @end
 * @submitted: it is a submission
 * @told: of a submission: its end is there, with @error; waits look at it without the lock
 * @answered: ctx->lock: of a submission: it is one of the context's num_answers
 * @error: of a submission: 0: the command is answered
 * @unsignalled: what it still waits for, and 1 until all callbacks are added
 * @fence_error: a dependency ended badly
 * @ready: what was waited for last has happened
 * @engine: in ctx->changes_wait while it waits for a worker
 * @engine_due_ns: ctx->lock: when to look at that wait at the latest; 0: it waits for none
 * @num_fences: dependencies that the client named
 * @num_waits: these, and the fences in the memory's reservation objects at submission
 * @num_armed: ctx->lock: of all, those that were waited for or are; the named ones come first
 * @waits: all; NULL: there is none
 */
struct nnaccel_async {
	struct nnaccel_command *cmd;
	struct list_head node;
	u64 tag;
	u64 ready_ns;
	u64 duration_ns;
	bool (*must_leave)(const struct nnaccel_command *cmd);
	bool ended;
	void (*end)(struct nnaccel_command *cmd, int error);
	void *data;
	bool submitted;
	bool told;
	bool answered;
	int error;
	atomic_t unsignalled;
	bool fence_error;
	struct work_struct ready;
	struct wait_queue_entry engine;
	u64 engine_due_ns;
	u32 num_fences;
	u32 num_waits;
	u32 num_armed;
	struct nnaccel_async_wait *waits;
};

/**
 * struct nnaccel_command - One thing that the worker is asked to do
 * @refs: the caller's, the session's (before: that of its wait for fences), @expiry's, @access's
 * @charged: memory that is charged for it
 * @start: jiffies, when it was made
 * @ctx: its context; counted from nnaccel_async_init() on, before that the caller's file holds it
 * @node: ctx->lock: in the session's queue, its list of commands in flight, or ctx->fenced
 * @engine_wait: its wait for an engine
 * @burst_file: the file of the burst that it announces, until that is installed; counted
 * @cloexec: exec is to close that file
 * @copy: what a copy of a buffer reads or writes, or NULL
 * @start_ns: when it was made
 * @end_ns: of an execution that is measured: when it ended
 * @state: ctx->lock
 * @abandoned: ctx->lock: the caller gave up
 * @progress: ctx->lock: of a preparation, as the worker said last
 * @expired: ctx->lock: its worker is killed because of it
 * @counted: ctx->lock: it is one of the context's num_commands
 * @kept: ctx->lock: it stays one of them until its answer is fetched
 * @async: @async_room, or NULL before nnaccel_async_init()
 * @async_room: see there
 * @expiry: ends it where it takes too long; holds a count while it is pending
 * @pools: one for each of @grants
 * @first_buffer: where buffers begin in @pools
 * @num_buffers: buffers in @pools
 * @uses: what is done with each of them; NULL: nothing that others must not do meanwhile
 * @writes: some of them are written
 * @using: ctx->lock: the uses have begun
 * @model: the model to prepare, to execute or to serve
 * @burst: the burst to serve
 * @foreign: some of @pools are of exporters that are told of accesses; see access.c
 * @synced: ctx->lock: this module's own memory is the CPU's
 * @accessed: ctx->lock: exporters were told of the access, and are to be told of its end
 * @accessing: ctx->lock: @access is queued or runs
 * @access: calls the exporters; holds a count until it is done
 * @access_delay: jiffies to wait before an exporter is called again; @access's own
 * @access_error: 0 or -EIO: an exporter refused the end; @access's own
 * @num_accessed: of @pools, those before this one are accessed; @access's own while @accessing
 * @fetched_ns: when the worker took it
 * @fence: of hardware, whose end is the command's; written once, with ctx->lock held
 * @wait: the call that waits for it
 * @error: 0, or why there is no answer
 * @status: enum nnaccel_status
 * @payload: the answer, checked: @room or allocated; NULL: none
 * @room: for a small answer
 * @payload_size: bytes of it
 * @device_ns: time on the device
 * @message: what is wrong, terminated, or NULL
 * @cached: it is of the cache of small commands
 * @others: the array behind @pools and @grants, where planes were added
 * @grants: what the worker is told of @pools
 * @args: arguments of an execution
 * @roles: of a new buffer
 * @attributes: the client's, for the worker alone to read
 * @head: what the worker is told
 * @told: the worker is told this behind @head: grants, arguments, roles, attributes; then come
 *	@pools, @uses and @room
 *
 * A command is one allocation, but for answers that are long, and for planes.
 */
struct nnaccel_command {
	struct kref refs;
	size_t charged;
	unsigned long start;
	struct nnaccel_context *ctx;
	struct list_head node;
	enum nnaccel_command_state state;
	struct nnaccel_engine_wait engine_wait;
	struct file *burst_file;
	bool cloexec;
	struct nnaccel_copy *copy;
	u64 start_ns;
	u64 end_ns;
	bool abandoned;
	u32 progress;
	bool expired;
	bool counted;
	bool kept;
	struct nnaccel_async *async;
	struct nnaccel_async async_room;
	struct delayed_work expiry;
	struct nnaccel_pool **pools;
	u32 first_buffer;
	u32 num_buffers;
	struct nnaccel_use *uses;
	bool writes;
	bool using;
	struct nnaccel_model *model;
	struct nnaccel_burst *burst;
	bool foreign;
	bool synced;
	bool accessed;
	bool accessing;
	struct delayed_work access;
	unsigned long access_delay;
	int access_error;
	u32 num_accessed;
	u64 fetched_ns;
	struct nnaccel_commit_fence *fence;
	wait_queue_head_t wait;
	int error;
	u32 status;
	void *payload;
	void *room;
	u32 payload_size;
	u64 device_ns;
	char *message;
	bool cached;
	void *others;
	struct nnaccel_grant *grants;
	struct nnaccel_arg *args;
	struct nnaccel_cmd_role *roles;
	void *attributes;
	struct nnaccel_cmd head;
	u8 told[] __aligned(__alignof__(u64));
};

/**
 * struct nnaccel_part - Where a part of a saved model lies
 * @pool: the pool's id; 0: nowhere
 * @offset: bytes into it
 * @length: bytes
 */
struct nnaccel_part {
	u32 pool;
	u64 offset;
	u64 length;
};

/* Does the worker make a model, and does the command name it? */
static inline bool nnaccel_command_prepares(const struct nnaccel_command *cmd)
{
	return cmd->head.kind == NNACCEL_DO_PREPARE || cmd->head.kind == NNACCEL_DO_PREPARE_CACHED;
}

/* Names a pool, counted by the caller, in a place of a command's arrays. */
static inline void nnaccel_command_set_grant(struct nnaccel_command *cmd, u32 i,
					     struct nnaccel_pool *pool, u32 prot)
{
	cmd->pools[i] = pool;
	cmd->grants[i] = (struct nnaccel_grant){ .prot = prot, .length = pool->length };
}

/* After this time a worker that was killed counts as dead, whatever it is stuck in. */
#define NNACCEL_KILL_NS		(2 * (u64)NSEC_PER_SEC)

/* How often nnaccel_async.must_leave is asked. */
#define NNACCEL_LEAVE_POLL_NS	(200 * (u64)NSEC_PER_MSEC)

/* What a command costs without its arrays, and what a fence costs that it waits for. */
#define NNACCEL_COMMAND_BYTES	(sizeof(struct nnaccel_command) + 1024)
#define NNACCEL_WAIT_BYTES	64

int nnaccel_command_charge(struct nnaccel_command *cmd, size_t bytes);
int nnaccel_command_init(void);
void nnaccel_command_exit(void);
struct nnaccel_command *nnaccel_command_alloc(struct nnaccel_context *ctx, u32 kind,
					      const struct nnaccel_arrays *layout);
void nnaccel_command_put(struct nnaccel_command *cmd);
int nnaccel_command_add_pools(struct nnaccel_command *cmd, u32 first, u64 ids, u32 num_pools);
int nnaccel_command_set_model_pools(struct nnaccel_command *cmd, u32 wire_pool, u64 offset,
				    u64 length, u64 ids, u32 num_pools);
int nnaccel_command_set_parts(struct nnaccel_command *cmd, const struct nnaccel_part parts[2],
			      u32 prot);
int nnaccel_command_set_attributes(struct nnaccel_command *cmd, u64 from);
unsigned long nnaccel_deadline_left(u64 deadline_ns, u64 grace_ns);
void nnaccel_command_watch(struct nnaccel_command *cmd);
int nnaccel_command_count(struct nnaccel_command *cmd);
void nnaccel_command_keep(struct nnaccel_command *cmd);
void nnaccel_command_release(struct nnaccel_command *cmd);
bool nnaccel_command_wants_engine(const struct nnaccel_command *cmd);
bool nnaccel_command_is_served(const struct nnaccel_command *cmd);
void nnaccel_command_submit(struct nnaccel_command *cmd);
bool nnaccel_command_ended(struct nnaccel_command *cmd, int error);
void nnaccel_command_show_all(struct nnaccel_context *ctx, struct seq_file *m);
int nnaccel_write_message(const char *message, u64 to, u32 size);
int nnaccel_command_write_message(const struct nnaccel_command *cmd, u64 to, u32 size);
void nnaccel_command_finish(struct nnaccel_command *cmd, int error);

/* ---- query.c ---- */

struct nnaccel_command *nnaccel_query_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_query_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
struct nnaccel_command *nnaccel_supported_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_supported_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

/* ---- execute.c ---- */

struct nnaccel_command *nnaccel_execute_create(struct nnaccel_context *ctx, const void *from);
int nnaccel_execute_respond(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

/* ---- async.c ---- */

int nnaccel_async_init(struct nnaccel_command *cmd, u64 fences, u32 num_fences);
bool nnaccel_async_begun(struct nnaccel_command *cmd, int error);
void nnaccel_async_free(struct nnaccel_command *cmd);
int nnaccel_async_admit(struct nnaccel_command *cmd);
int nnaccel_async_start(struct nnaccel_command *cmd);
void nnaccel_async_advance(struct nnaccel_command *cmd);
void nnaccel_async_end(struct nnaccel_command *cmd, int error);
int nnaccel_async_cancel(struct nnaccel_command *cmd);
void nnaccel_async_cancel_all(struct nnaccel_context *ctx);
void nnaccel_async_fail(struct nnaccel_context *ctx, int error, struct list_head *dead);
int nnaccel_cancel_ioctl(struct nnaccel_ucmd *ucmd);
void nnaccel_async_signalled(struct nnaccel_async_wait *wait, bool failed);
int nnaccel_async_begin(struct nnaccel_command *cmd);

/* ---- event.c ---- */

struct nnaccel_event *nnaccel_event_create(void);
void nnaccel_event_get(struct nnaccel_event *event);
void nnaccel_event_put(struct nnaccel_event *event);
bool nnaccel_event_add_wait(struct nnaccel_event *event, struct nnaccel_async_wait *wait);
bool nnaccel_event_remove_wait(struct nnaccel_event *event, struct nnaccel_async_wait *wait);
void nnaccel_event_happen(struct nnaccel_event *event, bool failed);
bool nnaccel_event_has_failed(struct nnaccel_event *event);
__poll_t nnaccel_event_poll(struct nnaccel_event *event, struct file *file,
			    struct poll_table_struct *wait);

/* ---- submit.c ---- */

/**
 * struct nnaccel_kind - A kind of work
 * @size: bytes of its structure
 * @min_size: bytes of its first published version
 * @message_size: where @message_size is in it, 0: it has none
 * @makes_object: its answer makes a model or a buffer
 * @makes_file: its answer makes a file
 * @create: makes a command of the module's copy of the structure; NULL: the work is done already.
 *	-ERESTARTSYS: a signal came before anything was done
 * @respond: writes an answer of a command, or of work that is done (NULL), to the client's
 *	structure; nothing is lost by an error. -ERESTARTSYS: a signal came
 * @publish: the answer is written: lets the client have what the work made; cannot fail
 */
struct nnaccel_kind {
	u32 size;
	u32 min_size;
	u32 message_size;
	bool makes_object;
	bool makes_file;
	struct nnaccel_command *(*create)(struct nnaccel_context *ctx, const void *from);
	int (*respond)(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
	void (*publish)(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);
};

/**
 * struct nnaccel_submission - Work whose answer is to be fetched
 * @obj: the object
 * @kind: what kind of work
 * @id: its id
 * @event: its end, where it has a file; or NULL
 * @devices: only devices touch the memory of its command
 * @fence: ctx->lock: what the worker committed to such a command; or NULL
 * @cmd: ctx->lock: its command, counted; NULL: its answer was fetched, or it was destroyed
 * @waited: ctx->lock: a call waits for it, or fetches its answer
 * @closed: ctx->lock: its file was closed: nobody fetches its answer
 * @drop: of one that was closed: ends it; queued at its command's end
 */
struct nnaccel_submission {
	struct nnaccel_object obj;
	const struct nnaccel_kind *kind;
	u32 id;
	struct nnaccel_event *event;
	bool devices;
	struct dma_fence *fence;
	struct nnaccel_command *cmd;
	bool waited;
	bool closed;
	struct work_struct drop;
};

int nnaccel_submit_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_wait_ioctl(struct nnaccel_ucmd *ucmd);
struct nnaccel_command *nnaccel_submit_by_ring(struct nnaccel_context *ctx, u64 from,
					       struct nnaccel_execute *execute,
					       struct nnaccel_ucmd *to);
int nnaccel_sync_file_ioctl(struct nnaccel_ucmd *ucmd);
void nnaccel_submission_fenced(struct nnaccel_command *cmd, struct dma_fence *fence);
struct nnaccel_event *nnaccel_submission_event(int fd);
void nnaccel_submission_end(struct nnaccel_object *obj);
void nnaccel_submission_release(struct nnaccel_object *obj);

/* ---- uring.c ---- */

int nnaccel_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags);

/* ---- session.c ---- */

/**
 * struct nnaccel_session - What a worker serves one context through
 * @ctx: the context, counted
 * @number: ctx->lock: which of the context's sessions it is, from 1
 * @mm: ctx->lock: the worker's address space, pinned; NULL: nobody attached
 * @pid: ctx->lock: the worker; with @mm
 * @killed_ns: ctx->lock: when it was killed for what it did not answer; 0: it was not
 * @shared: ctx->lock: with @mm: the worker serves others, too, and is not killed
 * @ended: ctx->lock: such a worker has lost the session, which it is to close; with @killed_ns
 * @wait: fetchers and pollers
 * @queue: ctx->lock: commands, the next to take first
 * @in_flight: ctx->lock: commands that the worker has
 * @notices: ctx->lock: notices, the oldest first
 * @num_notices: ctx->lock: how many
 * @models: ctx->lock: models that were asked for here
 * @grants: ctx->lock: number -> pool; no pool: the worker was not told yet that it is gone
 * @bursts: ctx->lock: number -> burst, those alive that the worker was told of
 * @next_grant: ctx->lock: where the search for a free number starts
 * @next_burst: ctx->lock: the same for bursts
 * @next_model: ctx->lock: number of the next model
 * @next_cookie: ctx->lock: cookie of the next command
 */
struct nnaccel_session {
	struct nnaccel_context *ctx;
	u64 number;
	struct mm_struct *mm;
	struct pid *pid;
	u64 killed_ns;
	bool shared;
	bool ended;
	wait_queue_head_t wait;
	struct list_head queue;
	struct list_head in_flight;
	struct list_head notices;
	u32 num_notices;
	struct list_head models;
	struct xarray grants;
	struct xarray bursts;
	u32 next_grant;
	u32 next_burst;
	u64 next_model;
	u64 next_cookie;
};

struct file *nnaccel_session_create(struct nnaccel_context *ctx);
void nnaccel_session_install(struct file *file);
bool nnaccel_session_is_current(const struct nnaccel_session *session);
bool nnaccel_session_kill(struct nnaccel_session *session);
void nnaccel_session_update_priority(struct nnaccel_session *session);

/* ---- fetch.c ---- */

/**
 * struct nnaccel_fetch - A worker's call for a command
 * @session: its session
 * @buffer: user address of the room for the command
 * @buffer_size: bytes there
 * @flags: NNACCEL_FETCH_NONBLOCK
 * @out_size: where the command's size goes
 */
struct nnaccel_fetch {
	struct nnaccel_session *session;
	u64 buffer;
	u32 buffer_size;
	u32 flags;
	u32 __user *out_size;
};

bool nnaccel_session_ready(const struct nnaccel_session *session);
void nnaccel_session_queue(struct nnaccel_session *session, struct nnaccel_command *cmd);
void nnaccel_session_notify(struct nnaccel_session *session, struct nnaccel_notice **from,
			    u32 kind, u64 number, u32 burst);
int nnaccel_session_fetch_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_session_fetch(const struct nnaccel_fetch *fetch);

/* ---- commit.c ---- */

int nnaccel_session_commit_ioctl(struct nnaccel_ucmd *ucmd);
u64 nnaccel_commit_fence_due_ns(const struct nnaccel_command *cmd);
bool nnaccel_commit_fence_expire(struct nnaccel_command *cmd);
void nnaccel_commit_fence_free(struct nnaccel_commit_fence *end);

/* ---- grant.c ---- */

int nnaccel_grant_reserve(struct nnaccel_session *session, const struct nnaccel_pool *pool,
			  u32 *number);
void nnaccel_grant_publish(struct nnaccel_session *session, struct nnaccel_pool *pool,
			   u32 *number, u32 prot);
void nnaccel_grant_remove(struct nnaccel_session *session, struct nnaccel_pool *pool);
void nnaccel_grant_revoke_fds(struct nnaccel_session *session);
int nnaccel_map_dmabuf(struct vm_area_struct *vma, struct dma_buf *dmabuf, u64 offset,
		       bool writable);
int nnaccel_session_map_file(struct vm_area_struct *vma, struct file *file, u64 offset,
			     bool writable);
int nnaccel_session_mmap(struct file *session_file, struct vm_area_struct *vma);
int nnaccel_session_slot_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_session_sync_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_session_grant_fd_ioctl(struct nnaccel_ucmd *ucmd);

/* ---- engine.c ---- */

/**
 * struct nnaccel_engine - An engine, and the device that it is to clients
 * @number: the device's
 * @dev: its folder in sysfs
 * @lock: protects what follows and every context's part that belongs to it
 * @broker: it has a broker
 * @device_pools: it takes pools that only devices reach
 * @name: what it registered as; empty: nothing has yet; does not change again
 * @version: what the last broker said
 * @type: enum nnaccel_device_type, the same
 * @contexts: all that are open
 * @events: contexts of which there is something to tell; those GONE are counted
 * @events_wait: where the broker waits for @events
 */
struct nnaccel_engine {
	unsigned int number;
	struct device *dev;
	struct mutex lock;	/* innermost but for the account lock */
	bool broker;
	bool device_pools;
	char name[NNACCEL_MAX_NAME];
	char version[NNACCEL_MAX_VERSION];
	u32 type;
	struct list_head contexts;
	struct list_head events;
	wait_queue_head_t events_wait;
};

extern const struct file_operations nnaccel_engine_fops;

void nnaccel_engine_init(struct nnaccel_engine *engine);
int nnaccel_engine_take(struct nnaccel_engine *engine, const struct nnaccel_engine_register *arg);

void nnaccel_engine_add(struct nnaccel_context *ctx);
void nnaccel_engine_want_ahead(struct nnaccel_context *ctx);
void nnaccel_engine_remove(struct nnaccel_context *ctx);
int nnaccel_engine_check_session(struct nnaccel_command *cmd, u64 *until_ns);
void nnaccel_engine_attached(struct nnaccel_context *ctx);
void nnaccel_engine_session_ended(struct nnaccel_context *ctx);
void nnaccel_engine_set_priority(struct nnaccel_context *ctx, u32 priority);
u32 nnaccel_engine_state(struct nnaccel_context *ctx);
void nnaccel_engine_show(struct seq_file *m);
struct nnaccel_context *nnaccel_engine_next_context(struct nnaccel_context *ctx);

/* ---- device.c ---- */

/* More than anybody has; the parameter max_devices says how many there may be. */
#define NNACCEL_MAX_DEVICES	64

int nnaccel_devices_init(void);
void nnaccel_devices_exit(void);
void nnaccel_devices_free(void);
struct nnaccel_engine *nnaccel_device_engine(unsigned int number);
struct nnaccel_engine *nnaccel_device_open(const struct inode *inode);
struct nnaccel_engine *nnaccel_device_register(const struct nnaccel_engine_register *arg);
void nnaccel_device_changed(struct nnaccel_engine *engine);

/* ---- debugfs.c: global counters ---- */

enum nnaccel_counter {
	NNACCEL_CONTEXTS,
	NNACCEL_CONTEXTS_HELD,
	NNACCEL_USERS,
	NNACCEL_POOLS,
	NNACCEL_POOL_BYTES,
	NNACCEL_IMPORTS,
	NNACCEL_IMPORT_BYTES,
	NNACCEL_MODELS,
	NNACCEL_BUFFERS,
	NNACCEL_BURSTS,
	NNACCEL_SLOTS,
	NNACCEL_LATENCY_REQUESTS,
	NNACCEL_COMMANDS,
	NNACCEL_SUBMISSIONS,
	NNACCEL_SESSIONS,
	NNACCEL_GRANTS,
	NNACCEL_PROXIES,
	NNACCEL_EXECUTIONS_TOTAL,
	NNACCEL_BURST_PACKETS_TOTAL,
	NNACCEL_COUNTERS
};

void nnaccel_count(enum nnaccel_counter counter, s64 n);
void nnaccel_debugfs_init(void);
void nnaccel_debugfs_exit(void);

#endif /* NNACCEL_PRIVATE_H */
