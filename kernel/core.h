/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nnaccel: the lock order, the references between objects, and declarations for all files.
 *
 * Locks, outermost first:
 *
 *   The mmap_lock is held by the caller of a session's mmap().
 *   The mutex ctx->lock of each context protects its objects, session and commands.
 *   The devices' lock in device.c protects the list, the brokers and the hardware of devices. When
 *	hardware loses its driver, the driver core already holds the hardware's device lock.
 *   The mutex engine->lock in engine.c protects an engine's broker, contexts and events.
 *   The account lock in account.c, a spinlock, protects the charges of users.
 *   The mutex of the table of CPU users in access.c protects only this table.
 *
 * Each dma-buf of this module has a mutex for the attachments and syncs of devices, which is taken
 * inside ctx->lock. While the module calls another driver's exporter, the module holds only the bit
 * lock of the dma-buf's CPU users; see access.c.
 *
 * No code accesses user memory with any lock of the module held, because a fault takes mmap_lock.
 * No code allocates memory with ctx->lock held, or with a lock that may be taken inside ctx->lock.
 *
 * Lifetimes ("holds": has a counted reference; "points to": has an uncounted pointer):
 *
 *   A context's file holds the context. The release of a context's file sets ctx->closed and drops
 *	the context's references.
 *   A context points to its session until the session is disconnected, under ctx->lock.
 *   A session's file holds the session, which holds its context.
 *   The table of objects holds pools, models, buffers and submissions, which hold their context.
 *   A command holds its pools, buffers and model until the worker and the hardware no longer use
 *	them, even if the caller no longer waits.
 *   A command in the state FENCED or LOST holds the module.
 *   The caller that submits a command holds the command, and the context's list holds the command
 *	from its admission to its end. A session's lists of commands hold no references.
 *   A command holds its context, and each fence and struct nnaccel_end for which the command waits.
 *   A submission holds its command until the command's answer is fetched.
 *   A submission holds its struct nnaccel_end. A struct nnaccel_end holds nothing, so the end of a
 *	command frees only this command, even in a long chain of dependencies.
 *   A command points to its submission until the submission ends, under ctx->lock.
 *   A submission's file holds the submission.
 *   If a submission's file was closed before the end of the command, the submission's drop work
 *	holds the submission. The end of the submission's command queues the drop work, which ends
 *	the submission.
 *   A model holds the pools of its constants.
 *   A burst's file and commands hold the burst. A burst holds its context and its model.
 *   A slot of a burst holds its pool until the slot or the burst is freed.
 *   The work of a lost burst holds the burst and the module until no device uses the memory of the
 *	burst's slots.
 *   A context and a session point to a burst until the burst dies, under ctx->lock.
 *   A model points to its session until the session is disconnected, under ctx->lock.
 *   A session points to a granted pool or buffer until the last reference to the pool or buffer is
 *	dropped.
 *   A buffer names models and sessions by numbers, which are never reused.
 *   A pool holds its file, which is a dma-buf or a regular file. Files of this module except
 *	dma-bufs are refused, so references between files form no cycle.
 *   A context points to its engine, which lives as long as the module is loaded.
 *   An engine holds its hardware until the broker closes its file or the hardware loses its driver.
 *   A context and a dma-buf hold their account, which holds its user.
 *   A dma-buf points to its pools, under the dma-buf's lock; a pool's release clears the pointer.
 *   A pool holds the proxies of its grant until the grant or the session ends. A work item holds
 *	the proxies of an ended grant until the importers have been notified.
 *   A pool holds proxies of ended grants until a check finds that no device uses the proxies, or
 *	until the pool is freed.
 *   A proxy holds the pool's dma-buf and its account.
 *   A command's access work holds the command until all called exporters have returned.
 *   A context's access queue holds the module until the threads of the queue have ended.
 *   A mapping holds the file of the mapped pool or ring. No mapping holds the file of a session or
 *	burst, so mappings do not delay the release of such a file.
 *   An open file holds the module.
 */
#ifndef NNACCEL_CORE_H
#define NNACCEL_CORE_H

#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nnaccel.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct cred;
struct device;
struct dma_buf;
struct dma_buf_attachment;
struct dma_fence;
struct io_uring_cmd;
struct mm_struct;
struct page;
struct pid;
struct seq_file;
struct sg_table;
struct vm_area_struct;
struct nnaccel_access_queue;
struct nnaccel_account;
struct nnaccel_arrays;
struct nnaccel_burst;
struct nnaccel_command;
struct nnaccel_context;
struct nnaccel_copy;
struct nnaccel_engine;
struct nnaccel_kind;
struct nnaccel_model;
struct nnaccel_notice;
struct nnaccel_object;
struct nnaccel_pool;
struct nnaccel_session;
struct nnaccel_submission;
struct nnaccel_ucmd;
struct nnaccel_use;

/* ---- main.c ---- */

extern unsigned int nnaccel_max_devices, nnaccel_max_contexts, nnaccel_max_pools;
extern unsigned int nnaccel_max_models, nnaccel_max_buffers, nnaccel_max_bursts;
extern unsigned int nnaccel_max_commands, nnaccel_max_latency_requests, nnaccel_latency_us;
extern unsigned int nnaccel_engine_wait_ms, nnaccel_engine_absent_ms, nnaccel_deadline_grace_ms;
extern unsigned int nnaccel_kill_grace_ms, nnaccel_fence_bound_ms;
extern unsigned long nnaccel_max_pool_bytes, nnaccel_max_context_bytes, nnaccel_max_user_bytes;
extern unsigned long nnaccel_max_total_bytes, nnaccel_max_user_kernel_bytes;
extern struct workqueue_struct *nnaccel_wq, *nnaccel_free_wq;

/**
 * struct nnaccel_ucmd - An ioctl in progress
 * @object: the context, burst or session of the file; for the engine node, the file itself
 * @ubuffer: address of the caller's structure
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
 * @min_size: size of the structure's first published version
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

/*
 * Defines the entry of ioctl NNACCEL_<_nr> in a table whose first command is NNACCEL_CMD_<_first>.
 * The ioctl's structure is called nnaccel_<_name>, and the ioctl's function nnaccel_<_name>_ioctl.
 */
#define NNACCEL_IOCTL_OP(_first, _nr, _name, _last)				\
	[NNACCEL_CMD_##_nr - NNACCEL_CMD_##_first] = {				\
		.ioctl_num = NNACCEL_##_nr,					\
		.size = sizeof(struct nnaccel_##_name) +			\
			BUILD_BUG_ON_ZERO(sizeof(struct nnaccel_##_name) >	\
					  NNACCEL_UCMD_SIZE),			\
		.min_size = offsetofend(struct nnaccel_##_name, _last),		\
		.execute = nnaccel_##_name##_ioctl,				\
	}

long nnaccel_ioctl(const struct nnaccel_ioctl_op *ops, unsigned int num_ops, void *object,
		   unsigned int cmd, unsigned long arg);
int nnaccel_copy_struct(struct nnaccel_ucmd *ucmd, size_t size, size_t min_size);
int nnaccel_put(void __user *to, const void *from, size_t size);
int nnaccel_ucmd_respond(struct nnaccel_ucmd *ucmd, size_t size);
int nnaccel_ucmd_install_fence(struct nnaccel_ucmd *ucmd, size_t size, struct dma_fence *fence,
			       bool cloexec, s32 *out_fd);
int nnaccel_ucmd_install(struct nnaccel_ucmd *ucmd, size_t size, struct file *file, bool cloexec,
			 s32 *out_fd);
u64 nnaccel_time_from_user(u64 ns);
u64 nnaccel_time_to_user(u64 ns);
void *nnaccel_copy_in(u64 from, size_t n, size_t size);

/* ---- debugfs.c ---- */

enum nnaccel_counter {
	NNACCEL_CONTEXTS, NNACCEL_CONTEXTS_HELD, NNACCEL_USERS,
	NNACCEL_POOLS, NNACCEL_POOL_BYTES, NNACCEL_IMPORTS, NNACCEL_IMPORT_BYTES,
	NNACCEL_MODELS, NNACCEL_BUFFERS, NNACCEL_BURSTS, NNACCEL_SLOTS, NNACCEL_LATENCY_REQUESTS,
	NNACCEL_COMMANDS, NNACCEL_SUBMISSIONS, NNACCEL_SESSIONS, NNACCEL_GRANTS, NNACCEL_PROXIES,
	NNACCEL_EXECUTIONS_TOTAL, NNACCEL_BURST_PACKETS_TOTAL,
	NNACCEL_COUNTERS
};

void nnaccel_count(enum nnaccel_counter counter, s64 n);
void nnaccel_debugfs_init(void);
void nnaccel_debugfs_exit(void);

#endif /* NNACCEL_CORE_H */
