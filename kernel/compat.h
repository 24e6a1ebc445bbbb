/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions for differences between kernels, from 6.1 to 7.2 and later. Only this file uses
 * LINUX_VERSION_CODE.
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

/* Requests dynamic importers to unmap a dma-buf. */
#if KERNEL_VERSION(7, 1, 0) > LINUX_VERSION_CODE
#define nnaccel_dma_buf_invalidate	dma_buf_move_notify
#define nnaccel_importer_told		move_notify
#else
#define nnaccel_dma_buf_invalidate	dma_buf_invalidate_mappings
#define nnaccel_importer_told		invalidate_mappings
#endif

/*
 * Map and unmap an attachment whose reservation object is not locked. nnaccel_devnode_device is the
 * device's type in the first argument of class.devnode().
 */
#if KERNEL_VERSION(6, 2, 0) > LINUX_VERSION_CODE
#define nnaccel_map_attachment		dma_buf_map_attachment
#define nnaccel_unmap_attachment	dma_buf_unmap_attachment
#define nnaccel_devnode_device		struct device
#else
#define nnaccel_map_attachment		dma_buf_map_attachment_unlocked
#define nnaccel_unmap_attachment	dma_buf_unmap_attachment_unlocked
#define nnaccel_devnode_device		const struct device
#endif

/* The type of a bus, which is const since Linux 6.4. */
#if KERNEL_VERSION(6, 4, 0) > LINUX_VERSION_CODE
#define nnaccel_bus_type	struct bus_type
#else
#define nnaccel_bus_type	const struct bus_type
#endif

/* Returns the command block of an io_uring command's submission queue entry. */
#if KERNEL_VERSION(6, 5, 0) > LINUX_VERSION_CODE
#define nnaccel_uring_sqe_cmd(ioucmd)	((const void *)(ioucmd)->cmd)
#else
#define nnaccel_uring_sqe_cmd(ioucmd)	((const void *)(ioucmd)->sqe->cmd)
#endif

/*
 * Before 6.7 an io_uring cannot cancel a command: a task that exits or calls execve() waits for the
 * command's end.
 */
#if KERNEL_VERSION(6, 7, 0) > LINUX_VERSION_CODE
#define NNACCEL_URING_F_CANCEL	0
#define nnaccel_uring_mark_cancelable(ioucmd, issue_flags)	do { } while (0)
#define nnaccel_task_executes(task)	((task)->in_execve)
#else
#define NNACCEL_URING_F_CANCEL	IO_URING_F_CANCEL
#define nnaccel_uring_mark_cancelable	io_uring_cmd_mark_cancelable
#define nnaccel_task_executes(task)	false
#endif

/* Since 6.17 a file system may implement mmap_prepare() instead of mmap(). */
#if KERNEL_VERSION(6, 17, 0) > LINUX_VERSION_CODE
#define nnaccel_mmap_file		call_mmap
#define nnaccel_can_mmap_file(file)	((file)->f_op->mmap)
#else
#define nnaccel_mmap_file		vfs_mmap
#define nnaccel_can_mmap_file		can_mmap_file
#endif

/*
 * Completes a command of an io_uring, without the second result of large completion queue entries.
 */
#if KERNEL_VERSION(6, 18, 0) > LINUX_VERSION_CODE
#define nnaccel_uring_done(ioucmd, ret, flags)	io_uring_cmd_done(ioucmd, ret, 0, flags)
#else
#define nnaccel_uring_done	io_uring_cmd_done
#endif

/* Defines a callback for io_uring_cmd_complete_in_task() that calls fn(ioucmd, issue_flags). */
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

/*
 * Returns whether the io_uring of a command polls for completions. Since 7.0 IO_URING_F_IOPOLL is
 * not set for every command of an io_uring that polls for completions. The macro
 * nnaccel_shmem_file() creates a shmem file whose memory is accounted in advance.
 */
#if KERNEL_VERSION(7, 0, 0) > LINUX_VERSION_CODE
#define nnaccel_uring_polls(ioucmd, issue_flags)	((issue_flags) & IO_URING_F_IOPOLL)
#define nnaccel_shmem_file(name, bytes)			shmem_file_setup(name, bytes, 0)
#else
#define nnaccel_uring_polls(ioucmd, issue_flags)	\
	(((struct io_ring_ctx *)io_uring_cmd_ctx_handle(ioucmd))->flags & IORING_SETUP_IOPOLL)
#define nnaccel_shmem_file(name, bytes)		shmem_file_setup(name, bytes, EMPTY_VMA_FLAGS)
#endif

#endif /* NNACCEL_COMPAT_H */
