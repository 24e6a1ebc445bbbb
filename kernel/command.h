/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: commands to workers. */
#ifndef NNACCEL_COMMAND_H
#define NNACCEL_COMMAND_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/rcuwait.h>

#include "memory.h"

/* ---- command.c ---- */

enum nnaccel_command_state {
	NNACCEL_COMMAND_NEW,
	NNACCEL_COMMAND_WAITING,
	NNACCEL_COMMAND_QUEUED,
	NNACCEL_COMMAND_IN_FLIGHT,
	NNACCEL_COMMAND_FENCED,	/* the worker has answered; a hardware fence ends the command */
	NNACCEL_COMMAND_LOST,	/* the worker is dead, but its devices still use the memory */
	NNACCEL_COMMAND_ENDING,	/* exporters are being notified of the access's end */
	NNACCEL_COMMAND_DONE,
};

/**
 * struct nnaccel_engine_wait - A wait for a worker
 * @begun: the fields below are valid
 * @start: time at which the wait began, in jiffies
 * @refusals: nnaccel_context.refusals at that time
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
 * @copy: copy of an array of the client, which is freed once the command is built
 */
struct nnaccel_arrays {
	u32 num_grants;
	u32 num_args;
	u32 num_roles;
	u32 attributes_size;
	u32 num_uses;
	u32 max_payload;
	void *copy;
};

/*
 * Returned by functions that build a command: the sizes of the arrays were wrong and are now
 * corrected, so the command must be built again.
 */
#define NNACCEL_AGAIN	1

/*
 * Maximum bytes of an answer that is stored in the command; memory for a longer answer is
 * allocated.
 */
#define NNACCEL_SMALL_PAYLOAD	256

/**
 * struct nnaccel_end - The end of an execution; not a dma-fence, because the end depends on a
 *	process
 * @refs: references of the submission and of the commands that wait for it
 * @wait: pollers of the submission's file, and commands that wait for the end
 * @status: 0 until the end; then 1, or -EIO if there is no successful answer
 *
 * struct nnaccel_end has no references to other objects, so it does not keep the execution's memory
 * allocated.
 */
struct nnaccel_end {
	refcount_t refs;
	wait_queue_head_t wait;
	int status;
};

/**
 * struct nnaccel_dependency - A fence or an end that a command waits for
 * @cmd: the command
 * @fence: the fence, with a reference, or NULL
 * @end: the end, with a reference, if @fence is NULL
 * @cb: entry in the fence's list of callbacks until the fence signals
 * @entry: entry in the end's wait queue until the execution ends
 */
struct nnaccel_dependency {
	struct nnaccel_command *cmd;
	struct dma_fence *fence;
	struct nnaccel_end *end;
	union {
		struct dma_fence_cb cb;
		struct wait_queue_entry entry;
	};
};

/**
 * struct nnaccel_command - A request to the worker
 * @refs: references of the caller, of ctx->commands, of @expiry, of @ready and of @access
 * @charged: bytes charged for the command
 * @ctx: its context, with a reference
 * @all: ctx->lock: entry in ctx->commands, from the command's admission to its
 *	end
 * @node: ctx->lock: entry in the session's queue or its list of commands in flight; after that in
 *	ctx->dead
 * @engine_wait: the wait for a worker
 * @burst_file: file of the burst that the command announces, with a reference, until the
 *	file is installed
 * @cloexec: install @burst_file with O_CLOEXEC
 * @copy: source or target of a buffer copy, or NULL
 * @start_ns: creation time
 * @end_ns: end time of a measured execution
 * @kind: kind of work
 * @state: ctx->lock: progress of the command
 * @progress: ctx->lock: last progress of a preparation that the worker reported
 * @expired: ctx->lock: the worker is being killed because it took too long
 * @counted: ctx->lock: the command counts in nnaccel_context.num_commands
 * @kept: ctx->lock: the command counts there until its answer is fetched
 * @submission: ctx->lock: the submission of the command, or NULL
 * @uring: the ring's command, whose pdu points to this structure, or NULL
 * @uring_tag: the client's name for an execution of a ring
 * @uring_work: user address of the description of an execution of a ring
 * @uring_pid: process of the submitter if a ring cannot cancel commands; else NULL
 * @ended: ctx->lock: the client was notified of the end, and the command cannot be admitted any
 *	more. Functions that wait read @ended without ctx->lock
 * @end_error: the error that was reported to the client; 0 if the command is
 *	answered
 * @ready_ns: when the last dependency ended
 * @duration_ns: longest time after @ready_ns; 0 for no limit
 * @waits: the dependencies that the client named, first those with an @end; or NULL if there are no
 *	waits. The fences that the memory had at submission follow in @waits
 * @num_waits: number of @waits
 * @num_named: number of dependencies that the client named
 * @num_ends: number of these dependencies that have an @end
 * @num_armed: ctx->lock: number of waits that were started
 * @unsignalled: number of pending waits, plus 1 until all callbacks are added
 * @ready: advances the command when its waits have ended; has a reference while it or a wait is
 *	pending
 * @engine: entry in ctx->changes_wait while the command waits for a worker
 * @engine_due_ns: ctx->lock: latest time of the next check of the wait for a worker; 0 if none
 * @expiry: ends the command if it takes too long; this work has a reference while it
 *	is pending
 * @watched: ctx->lock: @expiry is initialised, and was queued
 * @pools: pools and buffers, one for each of @grants
 * @first_buffer: index of the first buffer in @pools
 * @num_buffers: number of buffers in @pools
 * @uses: use of each buffer; NULL if the command's uses are not tracked
 * @writes: the command writes some buffers
 * @using: ctx->lock: @uses have begun
 * @model: model to prepare, to execute or to serve
 * @burst: burst to serve
 * @foreign: some of @pools have exporters that must be notified of accesses; see
 *	access.c
 * @synced: ctx->lock: the memory that this module allocated is synced for the
 *	CPU
 * @accessed: ctx->lock: exporters were notified of the access, and must be notified of its end
 * @accessing: ctx->lock: @access is queued or running
 * @access: with @foreign: calls the exporters; this work has a reference until
 *	it has returned
 * @access_delay: jiffies before an exporter is called again; used by @access only
 * @access_error: -EIO if an exporter refused the end, else 0; used by @access only
 * @num_accessed: number of @pools that are accessed; used by @access only while @accessing
 * @fetched_ns: when the worker fetched the command
 * @committed: the hardware fence that ends the command; written once, with ctx->lock held
 * @fence_error: error of that fence; 0 if it has none
 * @bound_ns: ctx->lock: when a FENCED command ends even if its fence has not signalled.
 *	The client of a LOST command gets its error at @bound_ns
 * @lost_poll_ns: interval between checks of a LOST command
 * @wait: the call that waits for the command; only one call at a time waits
 * @error: 0, or why there is no answer
 * @status: enum nnaccel_status
 * @payload: the validated answer: @room or an allocation; NULL if none
 * @room: space for a small answer
 * @payload_size: bytes of @payload
 * @device_ns: time on the device
 * @message: error message with a final 0, or NULL
 * @cached: allocated from the cache of small commands
 * @grants: grants of @pools for the worker
 * @args: arguments of an execution
 * @roles: roles of a new buffer
 * @attributes: the client's attributes, which only the worker reads
 * @head: head of the command as the worker gets it
 * @told: all else that the worker gets: grants, arguments, roles, attributes. @pools, @uses and
 *	@room follow
 *
 * A command and its arrays are a single allocation. Waits, messages and long
 * answers are allocated separately.
 */
struct nnaccel_command {
	struct kref refs;
	size_t charged;
	struct nnaccel_context *ctx;
	struct list_head all;
	struct list_head node;
	const struct nnaccel_kind *kind;
	enum nnaccel_command_state state;
	struct nnaccel_engine_wait engine_wait;
	struct file *burst_file;
	bool cloexec;
	struct nnaccel_copy *copy;
	u64 start_ns;
	u64 end_ns;
	u32 progress;
	bool expired;
	bool counted;
	bool kept;
	struct nnaccel_submission *submission;
	struct io_uring_cmd *uring;
	u64 uring_tag;
	void __user *uring_work;
	struct pid *uring_pid;
	bool ended;
	int end_error;
	u64 ready_ns;
	u64 duration_ns;
	struct nnaccel_dependency *waits;
	u32 num_waits;
	u32 num_named;
	u32 num_ends;
	u32 num_armed;
	atomic_t unsignalled;
	struct work_struct ready;
	struct wait_queue_entry engine;
	u64 engine_due_ns;
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
	struct nnaccel_dependency committed;
	int fence_error;
	u64 bound_ns;
	u64 lost_poll_ns;
	struct rcuwait wait;
	int error;
	u32 status;
	void *payload;
	void *room;
	u32 payload_size;
	u64 device_ns;
	char *message;
	bool cached;
	struct nnaccel_grant *grants;
	struct nnaccel_arg *args;
	struct nnaccel_cmd_role *roles;
	void *attributes;
	struct nnaccel_cmd head;
	u8 told[] __aligned(__alignof__(u64));
};

static inline bool nnaccel_command_prepares(const struct nnaccel_command *cmd)
{
	return cmd->head.kind == NNACCEL_DO_PREPARE || cmd->head.kind == NNACCEL_DO_PREPARE_CACHED;
}

/* Returns whether a hardware fence may end the command. */
static inline bool nnaccel_command_computes(const struct nnaccel_command *cmd)
{
	return cmd->head.kind == NNACCEL_DO_EXECUTE || cmd->head.kind == NNACCEL_DO_COPY_IN ||
	       cmd->head.kind == NNACCEL_DO_COPY_OUT;
}

/* Sets an entry of a command's pools. The command takes over the caller's reference to the pool. */
static inline void nnaccel_command_set_grant(struct nnaccel_command *cmd, u32 i,
					     struct nnaccel_pool *pool, u32 prot)
{
	cmd->pools[i] = pool;
	cmd->grants[i] = (struct nnaccel_grant){ .prot = prot, .length = pool->length };
}

/* Bytes charged for a command without its arrays, and for each wait. */
#define NNACCEL_COMMAND_BYTES	(sizeof(struct nnaccel_command) + 1024)
#define NNACCEL_WAIT_BYTES	64

int nnaccel_command_charge(struct nnaccel_command *cmd, size_t bytes);
int nnaccel_command_init(void);
void nnaccel_command_exit(void);
struct nnaccel_command *nnaccel_command_alloc(struct nnaccel_context *ctx, u32 kind,
					      const struct nnaccel_arrays *layout);
void nnaccel_command_put(struct nnaccel_command *cmd);
void nnaccel_unlock_commands(struct nnaccel_context *ctx);
int nnaccel_command_add_pools(struct nnaccel_command *cmd, u32 first, u64 ids, u32 num_pools);
int nnaccel_command_set_model_pools(struct nnaccel_command *cmd, u32 wire_pool, u64 offset,
				    u64 length, u64 ids, u32 num_pools);
int nnaccel_command_set_attributes(struct nnaccel_command *cmd, u64 from);
unsigned long nnaccel_deadline_left(u64 deadline_ns);
void nnaccel_command_watch(struct nnaccel_command *cmd);
void nnaccel_command_bound(struct nnaccel_command *cmd, enum nnaccel_command_state state);
bool nnaccel_command_lose(struct nnaccel_command *cmd);
void nnaccel_command_keep(struct nnaccel_command *cmd);
void nnaccel_command_release(struct nnaccel_command *cmd);
bool nnaccel_command_wants_engine(const struct nnaccel_command *cmd);
bool nnaccel_command_is_devices(const struct nnaccel_command *cmd);
bool nnaccel_command_is_served(const struct nnaccel_command *cmd);
void nnaccel_command_cancel(struct nnaccel_command *cmd, int error);
void nnaccel_command_fail_all(struct nnaccel_context *ctx, int error);
bool nnaccel_command_ended(struct nnaccel_command *cmd, int error);
void nnaccel_command_show_all(struct nnaccel_context *ctx, struct seq_file *m);
void nnaccel_command_finish(struct nnaccel_command *cmd, int error);

/* ---- queue.c ---- */

int nnaccel_command_depend(struct nnaccel_command *cmd, u64 fds, u32 num_fds);
int nnaccel_command_admit(struct nnaccel_command *cmd);
void nnaccel_command_advance(struct nnaccel_command *cmd);
bool nnaccel_command_begun(struct nnaccel_command *cmd, int error);
bool nnaccel_command_depends(const struct nnaccel_command *cmd);
bool nnaccel_command_has_failed(const struct nnaccel_command *cmd);
void nnaccel_command_forget_waits(struct nnaccel_command *cmd);
struct nnaccel_end *nnaccel_end_create(void);
void nnaccel_end_put(struct nnaccel_end *end);
void nnaccel_command_kick(struct nnaccel_command *cmd);
void nnaccel_command_ready(struct work_struct *work);
int nnaccel_command_engine_changed(struct wait_queue_entry *entry, unsigned int mode, int flags,
				   void *key);

/* ---- query.c ---- */

int nnaccel_query_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_query_build(struct nnaccel_command *cmd, const void *from,
			struct nnaccel_arrays *arrays);
int nnaccel_query_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd);
int nnaccel_supported_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_supported_build(struct nnaccel_command *cmd, const void *from,
			    struct nnaccel_arrays *arrays);
int nnaccel_supported_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd);

/* ---- execute.c ---- */

int nnaccel_execute_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_execute_build(struct nnaccel_command *cmd, const void *from,
			  struct nnaccel_arrays *arrays);
int nnaccel_execute_answer(struct nnaccel_ucmd *work, struct nnaccel_command *cmd);

#endif /* NNACCEL_COMMAND_H */
