/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that the module builds for, 6.1 to 6.13 and on. No other
 * file asks for LINUX_VERSION_CODE.
 */
#ifndef NNACCEL_COMPAT_H
#define NNACCEL_COMPAT_H

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
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

/* The command block of the submission queue entry. */
#if KERNEL_VERSION(6, 5, 0) > LINUX_VERSION_CODE
static inline const void *nnaccel_uring_sqe_cmd(const struct io_uring_cmd *ioucmd)
{
	return ioucmd->cmd;
}
#else
static inline const void *nnaccel_uring_sqe_cmd(const struct io_uring_cmd *ioucmd)
{
	return io_uring_sqe_cmd(ioucmd->sqe);
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

#endif /* NNACCEL_COMPAT_H */
