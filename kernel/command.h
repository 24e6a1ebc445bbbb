/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: what a worker is asked to do. */
#ifndef NNACCEL_COMMAND_H
#define NNACCEL_COMMAND_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/nnaccel.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core.h"
#include "memory.h"

struct file;
struct nnaccel_burst;
struct nnaccel_commit_fence;
struct nnaccel_context;
struct nnaccel_copy;
struct nnaccel_event;
struct nnaccel_model;
struct nnaccel_ucmd;
struct nnaccel_use;
struct seq_file;

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
 * @lost_poll_ns: interval of the checks of a LOST command
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
	u64 lost_poll_ns;
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

/* Returns when a command stops waiting for hardware that it begins to wait for. */
static inline u64 nnaccel_hardware_due_ns(void)
{
	return ktime_get_ns() + (u64)READ_ONCE(nnaccel_fence_bound_ms) * NSEC_PER_MSEC;
}

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
void nnaccel_command_put_all(struct list_head *dead);
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

#endif /* NNACCEL_COMMAND_H */
