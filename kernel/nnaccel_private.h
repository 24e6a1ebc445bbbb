/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nnaccel: declarations that the files of the module share, one section a source file.
 *
 * Locks, outermost first:
 *
 *   mmap_lock: The caller of a session's mmap() holds it.
 *   ctx->lock: A mutex of each context, for its objects, its session and its commands.
 *   devices' lock: In device.c, for the list of devices.
 *   engine->lock: In engine.c, for the broker, the list of contexts, and what the broker knows.
 *   account lock: In account.c, a spinlock for the charges of users.
 *
 * Each dma-buf of this module has a mutex inside of ctx->lock, for the attachments of devices and
 * their syncs. Over a call of another driver's exporter only the bit lock of that dma-buf's CPU
 * users is held; see access.c.
 *
 * User memory is not accessed with any of these locks held, because a fault takes mmap_lock.
 * Memory is not allocated with ctx->lock held, nor with a lock that is taken under it. ctx->lock is
 * taken to signal fences, and memory reclaim may wait for a fence.
 *
 * Lifetimes: "->" is a reference, "...>" is a weak pointer.
 *
 *   Context's file -> context.	Its release sets ->closed and drops what the context holds.
 *   Context ...> session.	Under ctx->lock; cleared by the session's release.
 *   Session's file -> session -> context.
 *   Table of objects -> pool, model, buffer or submission -> context.
 *   Command -> pools, buffers, model.	Until the worker and the hardware are done with it, even
 *				if its caller gave up.
 *   Command in the state FENCED or LOST -> module.
 *   Caller, session -> command.
 *   Asynchronous command -> context, and the fences and events that it waits for.
 *   Context ...> asynchronous command.	Under ctx->lock; cleared at the command's end.
 *   Submission -> command.	Until its answer is fetched.
 *   Submission -> event.	Until the submission is freed.
 *   Command ...> submission.	Under ctx->lock; cleared when the submission ends.
 *   Submission's file -> submission.
 *   Submission's drop work -> submission.	If its file was closed; queued at the command's
 *				end, and ends the submission.
 *   Event -> nothing.		So the end of a command frees only this command, however long a
 *				chain of dependencies is.
 *   Model -> pools of its constants.
 *   Burst's file, command -> burst -> context, model.
 *   Slot of a burst -> pool.	Until the slot is freed or the burst's file is closed.
 *   Context, session ...> burst.	Under ctx->lock; cleared when the burst dies.
 *   Model ...> session.	Under ctx->lock; cleared by the session's release.
 *   Session ...> granted pool or buffer.	Cleared when its last reference is dropped.
 *   Buffer ...> models, session.	Its roles and layout name them by numbers that are never
 *				reused.
 *   Pool -> file.		A dma-buf or a regular file. No other file of this module is
 *				allowed, so files form no cycle.
 *   Context ...> engine.	Engines live as long as the module is loaded.
 *   Context, dma-buf -> account -> user.
 *   Dma-buf ...> its pools.	Under the dma-buf's lock; cleared by the pool's release.
 *   Pool -> proxies of its grant.	Until the grant or the context ends; then the work that
 *				notifies importers holds them.
 *   Pool -> proxies of ended grants that devices still use.	Until the pool is freed.
 *   Proxy -> the pool's dma-buf, account.
 *   Access work of a command -> command.	Until the exporters have returned.
 *   Access queue of a context -> module.	Until its threads are gone.
 *   Mapping -> file of the pool or the ring.	A mapping does not hold the file of a session or a
 *				burst, so their release is not delayed by it.
 *   Open file -> module.
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
 * Waits like wait_event_interruptible_timeout() or wait_event_killable_timeout(), by @state. The
 * wait does not block suspend: the awaited processes may be frozen already.
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
 * struct nnaccel_ucmd - An ioctl in progress
 * @object: the context, burst or session of the file; for the engine node, the file itself
 * @ubuffer: the caller's structure
 * @user_size: size that the caller passed
 * @cmd: the module's copy, with the module's size of the structure
 * @new_id: id reserved for a new model or buffer; 0 if none
 * @new_fd: fd reserved for the file of a new burst; -1 if none
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
 * @ioctl_num: number of the ioctl; 0 if the entry is unused
 * @size: size of the structure
 * @min_size: size of its first published version
 * @execute: implements the ioctl
 */
struct nnaccel_ioctl_op {
	unsigned int ioctl_num;
	unsigned int size;
	unsigned int min_size;
	int (*execute)(struct nnaccel_ucmd *ucmd);
};

/* Size of the largest structure of an ioctl. */
#define NNACCEL_UCMD_SIZE	256

/* Entry of NNACCEL_@_name in a table that begins with NNACCEL_CMD_@_first. */
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

/* Bytes charged for a file: the file, its inode and dentry, and the structure of a dma-buf. */
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

/* Progress of the broker with a context; see engine.c. */
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
 * struct nnaccel_context - An open file of a device
 * @refs: reference count; see the table above
 * @engine: engine of the device
 * @number: name of the context for the broker
 * @mm: the only address space that may use the context; pinned and compared, but never entered
 * @pid: process of the opener
 * @uid: user that is charged; see account.c
 * @gid: effective group id of the opener
 * @cred: credentials of the opener
 * @account: charges of the context
 * @doorbell: page that the bursts share; NULL before the first burst; never changes after that
 * @access: threads that call exporters; NULL before the first use; never changes after that
 * @changes_wait: commands that wait for a worker
 * @answers_wait: pollers of the file
 * @lock: protects the fields up to @stage
 * @closed: the file is closed; waits read it without the lock
 * @has_devices: a device was attached to memory of this module that is a pool of the context
 * @session: session of the worker, or NULL
 * @objects: id -> struct nnaccel_object; a reserved id has no object yet
 * @next_id: where the search for a free id begins
 * @num_objects: number of pools, models, buffers and submissions, also of those without an id
 * @bursts: bursts that are alive
 * @num_bursts: number of bursts, also of dead ones
 * @num_commands: number of commands that wait, are queued or are in flight
 * @asyncs: commands whose end was not reported yet, oldest first
 * @fenced: commands that wait for hardware: FENCED and LOST
 * @num_answers: number of answers to fetch, of submissions without a file; poll() reads it without
 *	the lock
 * @num_sessions: number of sessions so far
 * @import_bytes: bytes of imported pools
 * @copied_in: bytes requested to be copied into buffers
 * @copied_out: bytes requested to be copied out of buffers
 * @executions: committed executions
 * @burst_executions: executions of dead bursts, as their workers reported
 * @device_ns: device time of executions, also of dead bursts
 * @engine_ns: time that commands spent with the worker
 * @stage: stage for the broker; the engine's lock protects it and the fields below
 * @offered: the current broker knows the context
 * @priority: highest priority among the models of its session; MEDIUM if it has none
 * @told_priority: priority that the broker knows
 * @refusals: number of requests for a worker that failed
 * @refusal: error of the last of them
 * @node: entry in the list of contexts
 * @event: entry in the list of events for the broker
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
 * Locks a context to end commands and signal their fences. Lockdep then checks that no holder of
 * the lock waits for memory.
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
 * struct nnaccel_notice - A notice to the worker, allocated with its object
 * @node: entry in the session's list
 * @kind: NNACCEL_DO_FORGET_MODEL, FORGET_GRANT, BURST_GONE or SLOT_GONE
 * @burst: number of the burst
 * @number: number of the model, the grant or the slot
 */
struct nnaccel_notice {
	struct list_head node;
	u32 kind;
	u32 burst;
	u64 number;
};

/**
 * struct nnaccel_object - An object that an id names
 * @refs: reference count; the last reference is dropped with ctx->lock held
 * @ctx: context of the object
 * @type: pool, model, buffer or submission
 * @charged: bytes charged for structures
 * @notice: notice to post at the end; NULL once it is posted, and for a submission
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
 * struct nnaccel_pool - Memory that a client and its worker share
 * @obj: base object
 * @file: file of the dma-buf, or a regular file; a reference
 * @dmabuf: the dma-buf; NULL for a regular file
 * @hold: file that keeps write access to a regular file, so that no seal can forbid writing; or
 *	NULL
 * @node: entry in the pool list of a dma-buf of this module, under the dma-buf's lock; empty for
 *	others
 * @has_devices: under that lock: the context knows that a device is attached
 * @prot: NNACCEL_PROT_* that are allowed
 * @imported: the memory was not allocated by this context
 * @device: only devices can access the memory
 * @offset: offset of the memory in @file, in bytes
 * @length: length of the memory in bytes
 * @picture: layout of the planes; NULL if the pool is not formatted
 * @grant: ctx->lock: number of the grant in the session; 0 if none
 * @grant_prot: ctx->lock: NNACCEL_PROT_* that commands have needed so far
 * @proxies: ctx->lock: proxy dma-bufs of the grant, with references: a read-only one and a writable
 *	one; NULL before their first use
 * @left: ctx->lock: proxies of ended grants that devices still use, with references
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
	struct list_head left;
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
 * @file: 0 for the pool's own file; n for the file of nnaccel_picture.pools[n - 1]
 * @stride: bytes between the starts of two rows
 * @row_bytes: bytes of the pixels of a row
 * @rows: number of rows
 * @offset: offset of the first row in the file, in bytes
 */
struct nnaccel_picture_plane {
	u32 file;
	u32 stride;
	u32 row_bytes;
	u32 rows;
	u64 offset;
};

/**
 * struct nnaccel_picture - The image layout of a formatted pool
 * @fourcc: format, DRM_FORMAT_*
 * @width: width in pixels
 * @height: height in rows
 * @num_planes: number of planes
 * @planes: the planes
 * @num_pools: number of files other than the first
 * @pools: pools of these files, with references and without ids
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
bool nnaccel_dmabuf_use(const struct dma_buf *dmabuf, bool begin);
int nnaccel_dmabuf_copy(const struct dma_buf *dmabuf, void __user *user, u64 length, bool in);
int nnaccel_dmabuf_copy_between(const struct dma_buf *to, u64 to_offset,
				const struct dma_buf *from, u64 from_offset, u64 length);

/* ---- proxy.c ---- */

bool nnaccel_dmabuf_is_proxy(const struct dma_buf *dmabuf);
struct dma_buf *nnaccel_proxy_get(const struct nnaccel_session *session, struct nnaccel_pool *pool,
				  bool writable);
bool nnaccel_proxy_is_left(const struct nnaccel_pool *pool);
void nnaccel_proxy_forget_all(struct nnaccel_pool *pool);
void nnaccel_proxy_revoke_all(struct nnaccel_pool *pool);

/* ---- access.c ---- */

int nnaccel_access_init(struct nnaccel_context *ctx);
void nnaccel_access_exit(struct nnaccel_context *ctx);
int nnaccel_access_get_fence(struct dma_buf *dmabuf, bool write, struct dma_fence **fence);
int nnaccel_access_wait(struct dma_buf *dmabuf, bool write);
int nnaccel_access_begin(struct dma_buf *dmabuf, u32 prot, bool counted);
int nnaccel_access_end(struct nnaccel_context *ctx, struct dma_buf *dmabuf, u32 prot,
		       bool counted);
int nnaccel_command_init_access(struct nnaccel_command *cmd);
int nnaccel_command_add_fence(const struct nnaccel_command *cmd, struct dma_fence *fence);
void nnaccel_command_sync_own(const struct nnaccel_command *cmd, bool begin);
void nnaccel_command_queue_access(struct nnaccel_command *cmd);
void nnaccel_command_cancel_access(struct nnaccel_command *cmd);

/* ---- model.c ---- */

/**
 * struct nnaccel_model - A prepared model
 * @obj: base object
 * @session: ctx->lock: its session; NULL if the model is dead or not requested yet
 * @node: ctx->lock: entry in the session's list
 * @prepared: ctx->lock: the worker has prepared it
 * @number: name of the model in the session
 * @serial: unique number, never reused
 * @priority: enum nnaccel_priority
 * @preference: enum nnaccel_preference
 * @memory: ctx->lock: memory use that the worker reported
 * @num_pools: number of pools of its constants
 * @pools: the pools, with references
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
struct nnaccel_command *nnaccel_model_create(struct nnaccel_command *cmd, u32 first, int ret);
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
 * struct nnaccel_buffer_role - A use for which a buffer was allocated
 * @model: serial of the model
 * @kind: enum nnaccel_role_kind
 * @index: index of the input or output
 */
struct nnaccel_buffer_role {
	u64 model;
	u32 kind;
	u32 index;
};

/**
 * struct nnaccel_buffer - A buffer of a memory domain
 * @pool: its memory and base object; the length is the capacity
 * @id: its id, for traces; 0 if it has none
 * @layout: number of the session whose worker defines the layout; 0 if the buffer is linear
 * @num_roles: number of roles
 * @roles: the allowed uses, sorted
 * @initialised: ctx->lock, like all fields below: the buffer has valid contents
 * @written: a command writes it
 * @readers: number of uses that read it
 * @size: bytes of its contents
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
 * struct nnaccel_use - The use of a buffer by a command
 * @kind: read or write
 * @output: index of the output of an execution
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
 * struct nnaccel_burst - Two rings, and slots that name the memory of requests
 * @refs: references of the file and of the command that announces it
 * @ctx: its context, with a reference
 * @model: the model that it executes, with a reference
 * @capacity: capacity of a ring in datums
 * @flags: NNACCEL_BURST_NO_SPIN
 * @bytes: bytes charged
 * @files: memory files, one for each protection, because a mapping can be moved within its file
 * @pages: first page of each file; both sides read the page of STATUS, and only the module writes
 *	it
 * @wait: pollers of the file
 * @node: ctx->lock, like all fields below: entry in the context's list; empty if dead
 * @dead: the burst is dead; waits read it without the lock
 * @number: its number in the session; 0 before it was announced
 * @slots: index -> slot; a reserved index has no slot yet
 * @num_slots: number of bound slots
 * @binds: number of binds so far
 * @resolves: number of lookups by the worker
 * @latency: CPU-latency request
 * @requests_latency: @latency is active
 * @notice: notice of its end; NULL once it is posted
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
 * @pool: the pool, with a reference
 * @number: number in requests
 * @prot: NNACCEL_PROT_* that are allowed
 * @resolved: ctx->lock: the worker has looked it up
 * @notice: notice of its end; NULL once it is posted
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
	NNACCEL_COMMAND_FENCED,	/* answered; ends with a hardware fence */
	NNACCEL_COMMAND_LOST,	/* the worker is dead; devices that it left behind still write */
	NNACCEL_COMMAND_ENDING,	/* notifies exporters that the access has ended */
	NNACCEL_COMMAND_DONE,
};

/**
 * struct nnaccel_engine_wait - A wait for a worker
 * @begun: the fields below are valid
 * @start: start of the wait, in jiffies
 * @refusals: refusals of the context at the start
 */
struct nnaccel_engine_wait {
	bool begun;
	unsigned long start;
	u32 refusals;
};

/**
 * struct nnaccel_arrays - Sizes of the arrays of a command
 * @num_grants: number of pools and buffers
 * @num_args: number of arguments of an execution, or of parts of a saved model
 * @num_roles: number of roles of a new buffer
 * @attributes_size: bytes of the client's attributes
 * @num_uses: number of buffers whose use is tracked
 * @max_payload: longest answer in bytes
 */
struct nnaccel_arrays {
	u32 num_grants;
	u32 num_args;
	u32 num_roles;
	u32 attributes_size;
	u32 num_uses;
	u32 max_payload;
};

/* Longest answer that is stored in the command; longer ones are allocated. */
#define NNACCEL_SMALL_PAYLOAD	256

/**
 * struct nnaccel_async_wait - A fence or event that a command waits for
 * @async: asynchronous part of the command
 * @fence: the fence, with a reference; NULL for an event
 * @cb: entry in the fence's list until it signals
 * @event: the event, with a reference; NULL for a fence
 * @node: entry in the event's list until it happens
 */
struct nnaccel_async_wait {
	struct nnaccel_async *async;
	struct dma_fence *fence;
	struct dma_fence_cb cb;
	struct nnaccel_event *event;
	struct list_head node;
};

/**
 * struct nnaccel_async - The asynchronous part of a command, which no call waits for
 * @cmd: the command
 * @node: ctx->lock: entry in the context's list until the end
 * @tag: the client's name for the command
 * @ready_ns: when the last dependency ended
 * @duration_ns: longest time after @ready_ns; 0 for no limit
 * @must_leave: polled: must the command end at once? NULL if never
 * @ended: ctx->lock: @end was called or must not be called; the command can no longer be admitted
 * @end: reports the end to the client, with ctx->lock held; @error is 0 if the command is answered
 * @data: private data of @end
 * @submitted: the command is a submission
 * @told: of a submission: it has ended with @error; waits read it without the lock
 * @answered: ctx->lock: of a submission: it counts in nnaccel_context.num_answers
 * @error: of a submission: 0 if the command is answered
 * @unsignalled: number of pending waits; plus 1 until all callbacks are added
 * @fence_error: a dependency failed
 * @ready: runs when the armed waits have ended
 * @engine: entry in ctx->changes_wait while it waits for a worker
 * @engine_due_ns: ctx->lock: when to check that wait at the latest; 0 if it does not wait for a
 *	worker
 * @num_fences: number of dependencies that the client named
 * @num_waits: number of all waits, with the fences that the memory had at submission
 * @num_armed: ctx->lock: number of waits that were started; the named ones come first
 * @waits: the waits; NULL if there are none
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
 * struct nnaccel_command - A request to the worker
 * @refs: references of the caller, of the session or the wait for fences before it, of @expiry and
 *	of @access
 * @charged: bytes charged for it
 * @ctx: its context; has a reference since nnaccel_async_init(), before that the caller's file
 *	holds it
 * @node: ctx->lock: entry in the session's queue, its list of commands in flight, or ctx->fenced
 * @engine_wait: its wait for a worker
 * @burst_file: file of the burst that it announces, with a reference, until it is installed
 * @cloexec: install @burst_file with O_CLOEXEC
 * @copy: source or target of a buffer copy, or NULL
 * @start_ns: creation time
 * @end_ns: end time of a measured execution
 * @state: ctx->lock: progress of the command
 * @abandoned: ctx->lock: the caller gave up
 * @progress: ctx->lock: last progress of a preparation that the worker reported
 * @expired: ctx->lock: its worker is being killed because it took too long
 * @counted: ctx->lock: it counts in nnaccel_context.num_commands
 * @kept: ctx->lock: it still counts there until its answer is fetched
 * @async: @async_room; NULL before nnaccel_async_init()
 * @async_room: memory of @async
 * @expiry: ends the command if it takes too long; has a reference while it is pending
 * @watched: ctx->lock: @expiry is initialised, and was queued
 * @pools: pools and buffers, one for each of @grants
 * @first_buffer: index of the first buffer in @pools
 * @num_buffers: number of buffers in @pools
 * @uses: use of each buffer; NULL if the uses exclude no others
 * @writes: some buffers are written
 * @using: ctx->lock: the uses have begun
 * @model: model to prepare, to execute or to serve
 * @burst: burst to serve
 * @foreign: some of @pools have exporters that are notified of accesses; see access.c
 * @synced: ctx->lock: this module's own memory is synced for the CPU
 * @accessed: ctx->lock: exporters were notified of the access, and must be notified of its end
 * @accessing: ctx->lock: @access is queued or running
 * @access: with @foreign: calls the exporters; has a reference until it is done
 * @access_delay: jiffies before an exporter is called again; used by @access only
 * @access_error: -EIO if an exporter refused the end, else 0; used by @access only
 * @num_accessed: number of @pools that are accessed; used by @access only while @accessing
 * @fetched_ns: when the worker fetched it
 * @fence: the hardware fence that ends the command; written once, with ctx->lock held
 * @lost_ns: when the client of a LOST command stops waiting
 * @wait: the call that waits for it
 * @error: 0, or why there is no answer
 * @status: enum nnaccel_status
 * @payload: the validated answer: @room or an allocation; NULL if none
 * @room: space for a small answer
 * @payload_size: bytes of @payload
 * @device_ns: time on the device
 * @message: error message with a final 0, or NULL
 * @cached: allocated from the cache of small commands
 * @others: array for @pools and @grants if planes were added
 * @grants: grants of @pools for the worker
 * @args: arguments of an execution
 * @roles: roles of a new buffer
 * @attributes: the client's attributes, which only the worker reads
 * @head: head of the command as the worker gets it
 * @told: the rest for the worker: grants, arguments, roles, attributes; @pools, @uses and @room
 *	follow
 *
 * A command is a single allocation, except for long answers and added planes.
 */
struct nnaccel_command {
	struct kref refs;
	size_t charged;
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
	bool watched;
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
	u64 lost_ns;
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

/* Does the command make a model? */
static inline bool nnaccel_command_prepares(const struct nnaccel_command *cmd)
{
	return cmd->head.kind == NNACCEL_DO_PREPARE || cmd->head.kind == NNACCEL_DO_PREPARE_CACHED;
}

/* Does a worker, hardware or an exporter go on with the command if its client gives up? */
static inline bool nnaccel_command_goes_on(const struct nnaccel_command *cmd)
{
	return cmd->state >= NNACCEL_COMMAND_IN_FLIGHT && cmd->state < NNACCEL_COMMAND_DONE;
}

/* May hardware execute the command? */
static inline bool nnaccel_command_computes(const struct nnaccel_command *cmd)
{
	return cmd->head.kind == NNACCEL_DO_EXECUTE || cmd->head.kind == NNACCEL_DO_COPY_IN ||
	       cmd->head.kind == NNACCEL_DO_COPY_OUT;
}

/* Sets an entry of a command's pools, and takes over the caller's reference. */
static inline void nnaccel_command_set_grant(struct nnaccel_command *cmd, u32 i,
					     struct nnaccel_pool *pool, u32 prot)
{
	cmd->pools[i] = pool;
	cmd->grants[i] = (struct nnaccel_grant){ .prot = prot, .length = pool->length };
}

/* A killed worker counts as dead after this time, even if it has not exited. */
#define NNACCEL_KILL_NS		(2 * (u64)NSEC_PER_SEC)

/* Interval of the calls of nnaccel_async.must_leave. */
#define NNACCEL_LEAVE_POLL_NS	(200 * (u64)NSEC_PER_MSEC)

/* Bytes charged for a command without its arrays, and for a fence that it waits for. */
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
int nnaccel_command_set_attributes(struct nnaccel_command *cmd, u64 from);
unsigned long nnaccel_deadline_left(u64 deadline_ns, u64 grace_ns);
void nnaccel_command_watch(struct nnaccel_command *cmd);
bool nnaccel_command_lose(struct nnaccel_command *cmd);
int nnaccel_command_count(struct nnaccel_command *cmd);
void nnaccel_command_keep(struct nnaccel_command *cmd);
void nnaccel_command_release(struct nnaccel_command *cmd);
bool nnaccel_command_wants_engine(const struct nnaccel_command *cmd);
bool nnaccel_command_is_devices(const struct nnaccel_command *cmd);
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
bool nnaccel_async_depends(const struct nnaccel_command *cmd);
void nnaccel_async_advance(struct nnaccel_command *cmd);
void nnaccel_async_end(struct nnaccel_command *cmd, int error);
void nnaccel_async_abandon(struct nnaccel_command *cmd, int error);
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
void nnaccel_event_show_fence(struct nnaccel_event *event);
bool nnaccel_event_has_failed(struct nnaccel_event *event);
__poll_t nnaccel_event_poll(struct nnaccel_event *event, struct file *file,
			    struct poll_table_struct *wait);

/* ---- submit.c ---- */

/**
 * struct nnaccel_kind - A kind of work
 * @size: size of its structure
 * @min_size: size of its first published version
 * @message_size: offset of message_size in the structure; 0 if it has none
 * @makes_object: the answer makes a model or a buffer
 * @makes_file: the answer makes a file
 * @create: makes a command from the module's copy of the structure; NULL if the work is already
 *	done; -ERESTARTSYS if a signal came before anything was done
 * @respond: writes the answer to the client's structure; @cmd is NULL if there was no command; an
 *	error loses nothing; -ERESTARTSYS if a signal came
 * @publish: gives the client what the work made, once the answer is written; cannot fail
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
 * struct nnaccel_submission - Work whose answer the client fetches later
 * @obj: base object
 * @kind: kind of work
 * @id: its id
 * @event: its end, if it has a file; or NULL
 * @devices: only devices access the memory of its command
 * @fence: ctx->lock: the fence that the worker committed for such a command; or NULL
 * @cmd: ctx->lock: its command, with a reference; NULL after its answer was fetched or it was
 *	destroyed
 * @waited: ctx->lock: a call waits for it or fetches its answer
 * @closed: ctx->lock: its file was closed, so its answer will not be fetched
 * @drop: ends it after its file was closed; queued at the command's end
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
 * struct nnaccel_session - The connection of a worker to one context
 * @ctx: the context, with a reference
 * @number: ctx->lock: its number in the context, from 1
 * @mm: ctx->lock: the worker's address space, pinned; NULL before a worker attached
 * @pid: ctx->lock: process of the worker; valid with @mm
 * @killed_ns: ctx->lock: when the worker was killed for a late execution; 0 if it was not
 * @shared: ctx->lock: the worker serves other sessions too, so it is not killed; valid with @mm
 * @devices: ctx->lock: only devices access the memory of executions and copies; valid with @mm
 * @ended: ctx->lock: the worker has lost the session and must close it
 * @wait: threads that fetch or poll
 * @queue: ctx->lock: commands, the next one first
 * @in_flight: ctx->lock: commands that the worker has fetched
 * @notices: ctx->lock: notices, oldest first
 * @num_notices: ctx->lock: number of notices
 * @models: ctx->lock: models requested in this session
 * @grants: ctx->lock: number -> pool; no pool if the worker was not notified of its end yet
 * @bursts: ctx->lock: number -> burst, for living bursts that were announced
 * @next_grant: ctx->lock: where the search for a free grant begins
 * @next_burst: ctx->lock: where the search for a free burst number begins
 * @next_model: ctx->lock: number of the last model
 * @next_cookie: ctx->lock: cookie of the last command
 */
struct nnaccel_session {
	struct nnaccel_context *ctx;
	u64 number;
	struct mm_struct *mm;
	struct pid *pid;
	u64 killed_ns;
	bool shared;
	bool devices;
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
bool nnaccel_session_is_over(const struct nnaccel_session *session);
u64 nnaccel_session_kill(struct nnaccel_session *session);
void nnaccel_session_disconnect(struct nnaccel_session *session, struct list_head *dead);
void nnaccel_session_update_priority(struct nnaccel_session *session);

/* ---- fetch.c ---- */

/**
 * struct nnaccel_fetch - A worker's call to fetch a command
 * @session: its session
 * @buffer: user address of the buffer for the command
 * @buffer_size: bytes of the buffer
 * @flags: NNACCEL_FETCH_NONBLOCK
 * @out_size: user address for the command's size
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
 * struct nnaccel_engine - An engine and its device
 * @number: number of the device
 * @dev: its device in sysfs
 * @lock: protects the fields below and those of contexts that name it
 * @broker: a broker has registered
 * @device_pools: it accepts pools that only devices can access
 * @name: name of the device; empty before the first registration, constant after it
 * @version: version from the last broker
 * @type: enum nnaccel_device_type from the last broker
 * @contexts: open contexts
 * @events: contexts with an event for the broker; GONE ones have a reference
 * @events_wait: brokers that wait for @events
 */
struct nnaccel_engine {
	unsigned int number;
	struct device *dev;
	struct mutex lock;	/* only the account lock is inside */
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

/* Upper limit of the parameter max_devices. */
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
