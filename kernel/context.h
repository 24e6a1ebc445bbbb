/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: contexts, and the objects to which a context's ids refer. */
#ifndef NNACCEL_CONTEXT_H
#define NNACCEL_CONTEXT_H

#include <linux/uidgid.h>

#include "core.h"

/* ---- context.c ---- */

/* Stages of a context's request for a worker; engine.c describes the stages. */
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
	NNACCEL_OBJECT_BURST,
	NNACCEL_OBJECT_SUBMISSION,
	NNACCEL_OBJECT_TYPES
};

/**
 * struct nnaccel_context - An open file of a device
 * @refs: reference count; see the table in core.h
 * @engine: engine of the device
 * @number: name of the context for the broker
 * @mm: the only address space that may use the context; pinned and compared, but never entered
 * @pid: process of the opener
 * @uid: user that is charged; see account.c
 * @gid: effective group id of the opener
 * @cred: credentials of the opener
 * @account: charges of the context
 * @doorbell: page that the bursts share; NULL before the first burst, after which it never
 *	changes
 * @access: threads that call exporters; NULL before the first use, after which it never
 *	changes
 * @changes_wait: commands that wait for a worker
 * @answers_wait: pollers of the file
 * @lock: protects the fields up to @stage
 * @closed: the file is closed; waits read it without the lock
 * @has_devices: a device was attached to a pool of the context that this module allocated
 * @session: session of the worker, or NULL
 * @objects: id -> struct nnaccel_object; a reserved id has no object yet
 * @next_id: where the search for a free id begins
 * @num_objects: number of objects of each type, including objects without an id and dead
 *	bursts
 * @bursts: bursts that are alive
 * @num_commands: number of commands that wait, are queued or are in flight
 * @commands: commands that were admitted and have not ended, oldest first, with references
 * @dead: commands that were finished; nnaccel_unlock_commands() puts them
 * @leaves: @leave is pending or running
 * @leave: cancels executions of rings if the rings cannot; see uring.c
 * @num_answers: number of fetchable answers of submissions without a file; read by poll() unlocked
 * @num_sessions: number of sessions so far
 * @import_bytes: bytes of imported pools
 * @copied_in: bytes requested to be copied into buffers
 * @copied_out: bytes requested to be copied out of buffers
 * @executions: committed executions
 * @burst_executions: executions of dead bursts, as their workers reported
 * @device_ns: device time of executions, also of dead bursts
 * @engine_ns: time that commands spent with the worker
 * @stage: stage at the broker; the engine's lock protects this field and those
 *	below
 * @offered: the current broker knows the context
 * @priority: highest priority of the models of @session; MEDIUM if there are none
 * @told_priority: priority that was last reported to the broker
 * @refusals: number of requests for a worker that failed
 * @refusal: error of the last of these requests
 * @node: entry in the engine's list of contexts
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

	struct mutex lock;	/* see the lock order in core.h */
	bool closed;
	bool has_devices;
	struct nnaccel_session *session;
	struct xarray objects;
	u32 next_id;
	u32 num_objects[NNACCEL_OBJECT_TYPES];
	struct list_head bursts;
	u32 num_commands;
	struct list_head commands;
	struct list_head dead;
	bool leaves;
	struct delayed_work leave;
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

void nnaccel_context_get(struct nnaccel_context *ctx);
void nnaccel_context_put(struct nnaccel_context *ctx);
bool nnaccel_context_opener_lives(const struct nnaccel_context *ctx);

/* ---- object.c ---- */

/**
 * struct nnaccel_notice - A notice to the worker about an object, allocated with the object
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
 * struct nnaccel_object - An object that clients name by an id
 * @refs: reference count; the last reference is dropped with ctx->lock held
 * @ctx: context of the object
 * @type: pool, model, buffer, burst or submission
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
int nnaccel_object_destroy(struct nnaccel_context *ctx, u32 id, const struct nnaccel_object *only);
void nnaccel_object_destroy_all(struct nnaccel_context *ctx);
int nnaccel_destroy_ioctl(struct nnaccel_ucmd *ucmd);

#endif /* NNACCEL_CONTEXT_H */
