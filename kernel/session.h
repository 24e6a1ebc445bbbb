/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: sessions, by which workers serve contexts. */
#ifndef NNACCEL_SESSION_H
#define NNACCEL_SESSION_H

#include "core.h"

/* ---- session.c ---- */

/**
 * struct nnaccel_session - The connection of a worker to one context
 * @ctx: the context, with a reference
 * @number: ctx->lock: number of the session in the context, from 1
 * @mm: ctx->lock: the worker's address space, pinned; NULL before a worker attached
 * @pid: ctx->lock: process of the worker; valid with @mm
 * @killed_ns: ctx->lock: time of the worker's kill or the removal of its hardware; else 0
 * @flags: ctx->lock: NNACCEL_ATTACH_SHARED, _DEVICES, _FENCES; 0 without @mm
 * @ended: ctx->lock: the worker has lost the session and must close it
 * @cutoff: disconnects the session after a kill
 * @wait: threads that fetch or poll
 * @queue: ctx->lock: commands, the next one first
 * @in_flight: ctx->lock: commands that the worker has fetched
 * @notices: ctx->lock: notices, oldest first
 * @num_notices: ctx->lock: number of notices
 * @models: ctx->lock: models requested in this session
 * @grants: ctx->lock: number -> pool; NULL from the grant's end until its notice is fetched
 * @bursts: ctx->lock: number -> burst, for bursts that were announced and are
 *	not dead
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
	u32 flags;
	bool ended;
	struct delayed_work cutoff;
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
void nnaccel_session_shut(struct nnaccel_context *ctx);
bool nnaccel_session_kill(struct nnaccel_session *session);
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
int nnaccel_fetch_next(const struct nnaccel_fetch *fetch);

/* ---- commit.c ---- */

int nnaccel_session_commit_ioctl(struct nnaccel_ucmd *ucmd);
int nnaccel_session_fence_ioctl(struct nnaccel_ucmd *ucmd);
void nnaccel_commit_fence_check(struct nnaccel_command *cmd);
void nnaccel_commit_fence_expire(struct nnaccel_command *cmd);

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

#endif /* NNACCEL_SESSION_H */
