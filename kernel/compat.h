/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that the module builds for, 6.1 to 7.2 and on. No other
 * file asks for LINUX_VERSION_CODE.
 */
#ifndef NNACCEL_COMPAT_H
#define NNACCEL_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/version.h>

#if KERNEL_VERSION(6, 8, 0) > LINUX_VERSION_CODE
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

#if KERNEL_VERSION(6, 3, 0) > LINUX_VERSION_CODE
static inline void nnaccel_vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
					vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#else
#define nnaccel_vm_flags_mod	vm_flags_mod
#endif

#if KERNEL_VERSION(6, 13, 0) > LINUX_VERSION_CODE
#define NNACCEL_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define NNACCEL_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#endif

/* Tells importers that can do without their mappings to give them back. */
#if KERNEL_VERSION(7, 1, 0) > LINUX_VERSION_CODE
#define nnaccel_dma_buf_invalidate	dma_buf_move_notify
#define nnaccel_importer_told		move_notify
#else
#define nnaccel_dma_buf_invalidate	dma_buf_invalidate_mappings
#define nnaccel_importer_told		invalidate_mappings
#endif

/* What a class's devnode() gets. */
#if KERNEL_VERSION(6, 2, 0) > LINUX_VERSION_CODE
#define nnaccel_devnode_device	struct device
#else
#define nnaccel_devnode_device	const struct device
#endif

/* The command block of the submission queue entry. */
#if KERNEL_VERSION(6, 5, 0) > LINUX_VERSION_CODE
static inline const void *nnaccel_uring_sqe_cmd(const struct io_uring_cmd *ioucmd)
{
	return ioucmd->cmd;
}
#else
static inline const void *nnaccel_uring_sqe_cmd(const struct io_uring_cmd *ioucmd)
{
	return ioucmd->sqe->cmd;
}
#endif

/* Before, a ring cannot ask for the end of a command: it waits for it. */
#if KERNEL_VERSION(6, 7, 0) > LINUX_VERSION_CODE
#define NNACCEL_URING_F_CANCEL	0
static inline void nnaccel_uring_mark_cancelable(struct io_uring_cmd *ioucmd,
						 unsigned int issue_flags)
{
}

/* Does it execute another program? */
static inline bool nnaccel_task_executes(const struct task_struct *task)
{
	return task->in_execve;
}
#else
#define NNACCEL_URING_F_CANCEL	IO_URING_F_CANCEL
#define nnaccel_uring_mark_cancelable	io_uring_cmd_mark_cancelable
static inline bool nnaccel_task_executes(const struct task_struct *task)
{
	return false;
}
#endif

/* Filesystems describe a mapping before it is made where they can, and else make it. */
#if KERNEL_VERSION(6, 17, 0) > LINUX_VERSION_CODE
#define nnaccel_mmap_file	call_mmap
static inline bool nnaccel_can_mmap_file(struct file *file)
{
	return file->f_op->mmap;
}
#else
#define nnaccel_mmap_file	vfs_mmap
#define nnaccel_can_mmap_file	can_mmap_file
#endif

/* Ends a ring's command whose completion queue entry has no second result. */
#if KERNEL_VERSION(6, 18, 0) > LINUX_VERSION_CODE
static inline void nnaccel_uring_done(struct io_uring_cmd *ioucmd, int ret,
				      unsigned int issue_flags)
{
	io_uring_cmd_done(ioucmd, ret, 0, issue_flags);
}
#else
#define nnaccel_uring_done	io_uring_cmd_done
#endif

/* Defines what io_uring_cmd_complete_in_task() takes; it calls fn(ioucmd, issue_flags). */
#if KERNEL_VERSION(6, 19, 0) > LINUX_VERSION_CODE
#define NNACCEL_URING_IN_TASK(name, fn)						\
static void name(struct io_uring_cmd *ioucmd, unsigned int issue_flags)		\
{										\
	fn(ioucmd, issue_flags);						\
}
#else
#define NNACCEL_URING_IN_TASK(name, fn)						\
static void name(struct io_tw_req req, io_tw_token_t token)			\
{										\
	fn(io_uring_cmd_from_tw(req), IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);	\
}
#endif

/* Does its ring poll for completions? One of 7.0 and on does so for some commands only. */
#if KERNEL_VERSION(7, 0, 0) > LINUX_VERSION_CODE
static inline bool nnaccel_uring_polls(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	return issue_flags & IO_URING_F_IOPOLL;
}
#else
static inline bool nnaccel_uring_polls(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	const struct io_ring_ctx *ring = io_uring_cmd_ctx_handle(ioucmd);

	return ring->flags & IORING_SETUP_IOPOLL;
}
#endif

/* A file of memory; its bytes are charged when it is made. */
static inline struct file *nnaccel_shmem_file(const char *name, loff_t bytes)
{
#if KERNEL_VERSION(7, 0, 0) > LINUX_VERSION_CODE
	return shmem_file_setup(name, bytes, 0);
#else
	return shmem_file_setup(name, bytes, EMPTY_VMA_FLAGS);
#endif
}

#endif /* NNACCEL_COMPAT_H */
