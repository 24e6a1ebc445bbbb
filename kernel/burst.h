/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: bursts. */
#ifndef NNACCEL_BURST_H
#define NNACCEL_BURST_H

#include <linux/pm_qos.h>

#include "context.h"

enum nnaccel_burst_file {
	NNACCEL_FILE_STATUS,
	NNACCEL_FILE_REQUESTS,
	NNACCEL_FILE_RESULTS,
	NNACCEL_BURST_FILES
};

/**
 * struct nnaccel_burst - Two rings, and slots that name the memory of requests
 * @obj: base object, which has no id; references of the file and of the command that announces it
 * @model: the model that requests execute, with a reference
 * @capacity: capacity of a ring in datums
 * @flags: NNACCEL_BURST_NO_SPIN
 * @bytes: bytes charged
 * @files: memory files, one for each protection, because a mapping can be moved within its file
 * @pages: first page of each file. Client and worker read the page of STATUS, which only the
 *	module writes
 * @wait: pollers of the file
 * @node: ctx->lock, like all fields below: entry in the context's list; empty if dead
 * @dead: the burst is dead
 * @told: client and worker were notified that the burst is dead. Waits read @told without the lock
 * @bound_ns: latest time for @told, even if devices still use the memory of slots
 * @lost_delay: jiffies until the next check of these devices
 * @lost: checks these devices; has references to the burst and the module while it
 *	is pending
 * @number: number of the burst in the session; 0 before the burst was announced
 * @slots: index -> slot; a reserved index has no slot yet
 * @num_slots: number of bound slots
 * @binds: number of binds so far
 * @resolves: number of lookups by the worker
 * @latency: CPU-latency request
 * @requests_latency: @latency is active
 */
struct nnaccel_burst {
	struct nnaccel_object obj;
	struct nnaccel_model *model;
	u32 capacity;
	u32 flags;
	u64 bytes;
	struct file *files[NNACCEL_BURST_FILES];
	struct page *pages[NNACCEL_BURST_FILES];
	wait_queue_head_t wait;
	struct list_head node;
	bool dead;
	bool told;
	u64 bound_ns;
	unsigned long lost_delay;
	struct delayed_work lost;
	u32 number;
	struct xarray slots;
	u32 num_slots;
	u32 binds;
	u64 resolves;
	struct pm_qos_request latency;
	bool requests_latency;
};

/**
 * struct nnaccel_slot - A pool that requests of a burst may name
 * @pool: the pool, with a reference
 * @number: number in requests
 * @prot: NNACCEL_PROT_* that are allowed
 * @resolved: ctx->lock: the worker has looked up the slot
 * @notice: notice of the slot's end; NULL once it is posted
 */
struct nnaccel_slot {
	struct nnaccel_pool *pool;
	u32 number;
	u32 prot;
	bool resolved;
	struct nnaccel_notice *notice;
};

void nnaccel_burst_free(struct nnaccel_object *obj);
int nnaccel_burst_reserve(struct nnaccel_burst *burst, struct nnaccel_session *session,
			  u32 *number);
int nnaccel_burst_announce(struct nnaccel_burst *burst, u32 number);
struct nnaccel_pool *nnaccel_burst_resolve(struct nnaccel_burst *burst, u32 number, u32 *prot);
int nnaccel_burst_map(struct nnaccel_burst *burst, struct vm_area_struct *vma, u64 offset,
		      bool worker);
void nnaccel_burst_tell_devices(struct nnaccel_context *ctx);
void nnaccel_burst_kill_all(struct nnaccel_context *ctx, bool worker_died);
void nnaccel_burst_add_up(struct nnaccel_context *ctx, u64 *executions, u64 *device_ns);
void nnaccel_burst_drop_doorbell(struct nnaccel_context *ctx);
int nnaccel_burst_layout(const void *from, struct nnaccel_arrays *arrays);
int nnaccel_burst_build(struct nnaccel_command *cmd, const void *from,
			struct nnaccel_arrays *arrays);
void nnaccel_burst_publish(struct nnaccel_ucmd *ucmd, struct nnaccel_command *cmd);

#endif /* NNACCEL_BURST_H */
