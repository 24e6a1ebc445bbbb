// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: neural network accelerator interface. This file has the module's parameters, the
 * registration of the engine node, and the common code of all ioctls.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/sync_file.h>
#include <linux/time_namespace.h>

#include "burst.h"
#include "command.h"
#include "compat.h"
#include "engine.h"
#include "session.h"

/*
 * Defines a module parameter that can be changed at any time. Documentation/uapi.rst has a table of
 * all parameters that NNACCEL_PARAM() defines.
 */
#define NNACCEL_PARAM(_type, _name, _value, _text)				\
	unsigned _type nnaccel_##_name = _value;				\
	module_param_named(_name, nnaccel_##_name, u##_type, 0644);		\
	MODULE_INFO(parm, #_name ":" _text)

NNACCEL_PARAM(int, max_devices, 16, "Devices that engines may register, at most 64 (default 16)");
NNACCEL_PARAM(int, max_contexts, 256, "Contexts a user may have open (default 256)");
NNACCEL_PARAM(int, max_pools, 4096, "Pools a context may hold (default 4096)");
NNACCEL_PARAM(int, max_models, 1024, "Models a context may hold (default 1024)");
NNACCEL_PARAM(int, max_buffers, 4096,
	      "Buffers of memory domains a context may hold (default 4096)");
NNACCEL_PARAM(int, max_bursts, 1024, "Bursts a context may hold (default 1024)");
NNACCEL_PARAM(int, max_commands, 256, "Commands a context may have in flight (default 256)");
NNACCEL_PARAM(long, max_pool_bytes, 4UL << 30, "Bytes a pool may have (default 4 GiB)");
NNACCEL_PARAM(long, max_context_bytes, 0,
	      "Bytes a context may allocate in all (default an eighth of the memory)");
NNACCEL_PARAM(long, max_user_bytes, 0,
	      "Bytes all contexts of a user may allocate (default an eighth of the memory)");
NNACCEL_PARAM(long, max_total_bytes, 0,
	      "Bytes all contexts of all users may allocate (default half of the memory)");
NNACCEL_PARAM(long, max_user_kernel_bytes, 0,
	      "Bytes that structures of a user's pools, models, buffers, bursts, slots and commands may take (default a 64th of the memory)");
NNACCEL_PARAM(int, max_latency_requests, 4,
	      "Bursts of a user that may have a CPU-latency request (default 4)");
NNACCEL_PARAM(int, latency_us, 20,
	      "CPU latency that a burst asks for while it lives, in us (default 20)");
NNACCEL_PARAM(int, engine_wait_ms, 5000,
	      "Longest wait for a worker to attach, in ms (default 5000)");
NNACCEL_PARAM(int, engine_absent_ms, 200,
	      "Longest wait for a broker to appear, in ms (default 200)");
NNACCEL_PARAM(int, deadline_grace_ms, 100,
	      "How long past its deadline a call waits for the answer, in ms (default 100)");
NNACCEL_PARAM(int, kill_grace_ms, 1000,
	      "How long past its deadline an execution may go on before its worker is killed, in ms (default 1000)");

/*
 * The default of fence_bound_ms is the time after which GPU drivers reset a GPU whose job has not
 * ended.
 */
NNACCEL_PARAM(int, fence_bound_ms, 10000,
	      "How long a command waits for the fence that its worker committed, in ms (default 10000)");

/* Work queue for work that cannot run in the callback of a fence or under a lock. */
struct workqueue_struct *nnaccel_wq;
/*
 * Work queue for ending the threads of freed contexts and for notifying importers. Work items of
 * nnaccel_free_wq may allocate and block.
 */
struct workqueue_struct *nnaccel_free_wq;

/*
 * The mmap() offset of a grant contains the grant's number from bit 40 on, so an offset needs 64
 * bits.
 */
static_assert(BITS_PER_LONG == 64);
static_assert(NNACCEL_SYNC_READ == NNACCEL_PROT_READ && NNACCEL_SYNC_WRITE == NNACCEL_PROT_WRITE);

/**
 * nnaccel_copy_struct() - Copies the caller's structure, once
 * @ucmd: the addresses of the structure and its copy; gets the size
 * @size: the module's size of the structure
 * @min_size: size of the structure's first published version
 *
 * nnaccel_copy_struct() reads the size in the caller's structure only once, so the copy contains
 * the size that was checked.
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG.
 */
int nnaccel_copy_struct(struct nnaccel_ucmd *ucmd, size_t size, size_t min_size)
{
	int ret;

	if (get_user(ucmd->user_size, (u32 __user *)ucmd->ubuffer))
		return -EFAULT;
	if (ucmd->user_size < min_size)
		return -EINVAL;
	/*
	 * Limit the structure's size, because a signal cannot interrupt the check that the bytes
	 * after the known structure are 0.
	 */
	if (ucmd->user_size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(ucmd->cmd, size, ucmd->ubuffer, ucmd->user_size);
	if (!ret)
		*(u32 *)ucmd->cmd = ucmd->user_size;
	return ret;
}

/**
 * nnaccel_ioctl() - Runs one ioctl of a table
 * @ops: the table, indexed by number
 * @num_ops: number of entries
 * @object: passed to the function as nnaccel_ucmd.object
 * @cmd: the file operation's argument; its number selects the entry
 * @arg: the file operation's argument
 *
 * Return: the result of the ioctl's function, or -ENOTTY, -EFAULT, -EINVAL, -E2BIG.
 */
long nnaccel_ioctl(const struct nnaccel_ioctl_op *ops, unsigned int num_ops, void *object,
		   unsigned int cmd, unsigned long arg)
{
	u64 buffer[NNACCEL_UCMD_SIZE / sizeof(u64)] = {};
	struct nnaccel_ucmd ucmd = {
		.object = object,
		.ubuffer = (void __user *)arg,
		.cmd = buffer,
	};
	const struct nnaccel_ioctl_op *op;
	unsigned int nr = _IOC_NR(cmd) - _IOC_NR(ops[0].ioctl_num);
	int ret;

	if (nr >= num_ops)
		return -ENOTTY;
	op = &ops[array_index_nospec(nr, num_ops)];
	if (op->ioctl_num != cmd)
		return -ENOTTY;

	ret = nnaccel_copy_struct(&ucmd, op->size, op->min_size);
	return ret ?: op->execute(&ucmd);
}

/**
 * nnaccel_put() - Writes to the caller
 * @to: user address
 * @from: what is written
 * @size: number of bytes
 *
 * Writes few bytes without copy_to_user(), whose checks take longer than a short copy.
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_put(void __user *to, const void *from, size_t size)
{
	if (!size || size > NNACCEL_UCMD_SIZE * 2)
		return copy_to_user(to, from, size) ? -EFAULT : 0;
	if (!user_write_access_begin(to, size))
		return -EFAULT;
	unsafe_copy_to_user(to, from, size, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/**
 * nnaccel_ucmd_respond() - Writes the structure back to the caller
 * @ucmd: the ioctl
 * @size: the module's size of the structure
 *
 * Return: 0 or -EFAULT.
 */
int nnaccel_ucmd_respond(struct nnaccel_ucmd *ucmd, size_t size)
{
	return nnaccel_put(ucmd->ubuffer, ucmd->cmd, min_t(size_t, ucmd->user_size, size));
}

/**
 * nnaccel_ucmd_install() - Writes the structure back with a new fd, and installs the file
 * @ucmd: the ioctl
 * @size: the module's size of the structure
 * @file: the file; its reference is taken over, also on failure
 * @cloexec: install the file with O_CLOEXEC
 * @out_fd: field of the module's copy of the structure
 *
 * Return: 0, -EMFILE, -EFAULT.
 */
int nnaccel_ucmd_install(struct nnaccel_ucmd *ucmd, size_t size, struct file *file, bool cloexec,
			 s32 *out_fd)
{
	int fd = get_unused_fd_flags(cloexec ? O_CLOEXEC : 0), ret;

	*out_fd = fd;
	ret = fd < 0 ? fd : nnaccel_ucmd_respond(ucmd, size);
	if (!ret) {
		fd_install(fd, file);
		return 0;
	}
	if (fd >= 0)
		put_unused_fd(fd);
	fput(file);
	return ret;
}

/**
 * nnaccel_ucmd_install_fence() - Writes the structure back with the fd of a new sync_file
 * @ucmd: the ioctl
 * @size: the module's size of the structure
 * @fence: the fence; its reference is taken over, also on failure
 * @cloexec: install the file with O_CLOEXEC
 * @out_fd: field of the module's copy of the structure
 *
 * Return: 0, -EMFILE, -EFAULT, -ENOMEM.
 */
int nnaccel_ucmd_install_fence(struct nnaccel_ucmd *ucmd, size_t size, struct dma_fence *fence,
			       bool cloexec, s32 *out_fd)
{
	struct sync_file *sync_file = sync_file_create(fence);

	dma_fence_put(fence);
	return sync_file ? nnaccel_ucmd_install(ucmd, size, sync_file->file, cloexec, out_fd) :
			   -ENOMEM;
}

/**
 * nnaccel_copy_in() - Copies an array of the caller
 * @from: user address
 * @n: number of elements
 * @size: bytes of one element
 *
 * Return: the copy, to be freed by kvfree(), or an error pointer; NULL if @n is 0.
 */
void *nnaccel_copy_in(u64 from, size_t n, size_t size)
{
	void *copy;

	if (!n)
		return NULL;
	copy = kvmalloc_array(n, size, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(copy, u64_to_user_ptr(from), n * size)) {
		kvfree(copy);
		return ERR_PTR(-EFAULT);
	}
	return copy;
}

static s64 nnaccel_time_offset(void)
{
#ifdef CONFIG_TIME_NS
	return timespec64_to_ns(&current->nsproxy->time_ns->offsets.monotonic);
#else
	return 0;
#endif
}

/*
 * Subtracts an offset from a time; 0 means no time and stays 0. If the result would be before the
 * boot, returns 1, which is always in the past.
 */
static u64 nnaccel_time_less(u64 ns, s64 offset)
{
	if (!ns || !offset)
		return ns;
	if (offset > 0)
		return ns > offset ? ns - offset : 1;
	return ns > U64_MAX + offset ? U64_MAX : ns - offset;
}

/**
 * nnaccel_time_from_user() - Converts a time from the caller's CLOCK_MONOTONIC to the kernel's
 * @ns: the time in the caller's time namespace; 0 means none
 *
 * Return: the kernel's time; if @ns is before the boot, 1, which is always in the past.
 */
u64 nnaccel_time_from_user(u64 ns)
{
	return nnaccel_time_less(ns, nnaccel_time_offset());
}

/**
 * nnaccel_time_to_user() - Reverts nnaccel_time_from_user()
 * @ns: the kernel's time; 0 means none
 *
 * Return: the time in the caller's time namespace.
 */
u64 nnaccel_time_to_user(u64 ns)
{
	return nnaccel_time_less(ns, -nnaccel_time_offset());
}

static struct miscdevice nnaccel_engine_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "nnaccel-engine",
	.fops = &nnaccel_engine_fops,
	.mode = 0600,
};

static int __init nnaccel_init(void)
{
	int ret;

	if (!nnaccel_max_context_bytes)
		nnaccel_max_context_bytes = totalram_pages() / 8 << PAGE_SHIFT;
	if (!nnaccel_max_user_bytes)
		nnaccel_max_user_bytes = totalram_pages() / 8 << PAGE_SHIFT;
	if (!nnaccel_max_total_bytes)
		nnaccel_max_total_bytes = totalram_pages() / 2 << PAGE_SHIFT;
	if (!nnaccel_max_user_kernel_bytes)
		nnaccel_max_user_kernel_bytes = totalram_pages() / 64 << PAGE_SHIFT;

	nnaccel_wq = alloc_workqueue("nnaccel", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!nnaccel_wq)
		return -ENOMEM;
	nnaccel_free_wq = alloc_workqueue("nnaccel-free", WQ_UNBOUND, 0);
	if (!nnaccel_free_wq) {
		ret = -ENOMEM;
		goto err_wq;
	}
	ret = nnaccel_command_init();
	if (ret)
		goto err_free_wq;
	nnaccel_debugfs_init();
	ret = misc_register(&nnaccel_engine_misc);
	if (ret)
		goto err_debugfs;
	ret = nnaccel_devices_init();
	if (ret)
		goto err_engine;
	return 0;

err_engine:
	misc_deregister(&nnaccel_engine_misc);
err_debugfs:
	nnaccel_debugfs_exit();
	nnaccel_command_exit();
err_free_wq:
	destroy_workqueue(nnaccel_free_wq);
err_wq:
	destroy_workqueue(nnaccel_wq);
	return ret;
}

static void __exit nnaccel_exit(void)
{
	nnaccel_devices_exit();
	misc_deregister(&nnaccel_engine_misc);
	nnaccel_debugfs_exit();
	destroy_workqueue(nnaccel_wq);
	destroy_workqueue(nnaccel_free_wq);
	/*
	 * Wait for functions that dropped the last reference to the module but have not returned
	 * yet.
	 */
	rcu_barrier();
	synchronize_rcu_tasks();
	nnaccel_devices_free();
	nnaccel_command_exit();
}

module_init(nnaccel_init);
module_exit(nnaccel_exit);

MODULE_DESCRIPTION("Neural network accelerator interface");
MODULE_AUTHOR("The nnaccel authors");
MODULE_LICENSE("GPL");
NNACCEL_IMPORT_DMA_BUF;
