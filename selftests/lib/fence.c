// SPDX-License-Identifier: MIT
/*
 * Fences of the tests: fenced executions, sync_files, and the fences of sw_sync
 * where the kernel has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fence.h"

#define SW_SYNC "/sys/kernel/debug/sync/sw_sync"

/* The kernel has no header for these. */
struct sw_sync_fence {
	uint32_t value;
	char name[32];
	int32_t fence;
};

#define SW_SYNC_CREATE_FENCE	_IOWR('W', 0, struct sw_sync_fence)
#define SW_SYNC_ADVANCE		_IOW('W', 1, uint32_t)

void fenced_init(struct fenced *f, uint32_t model, uint32_t input, uint32_t output)
{
	memset(f, 0, sizeof(*f));
	execution_init(&f->execution, model, input, output);
	f->execution.cmd.shapes = 0;
	f->execution.cmd.message = 0;
	f->execution.cmd.message_size = 0;
	f->cmd = (struct nnaccel_execute_fenced){
		.size = sizeof(f->cmd),
		.flags = NNACCEL_FENCE_CLOEXEC,
		.execute = (uintptr_t)&f->execution.cmd,
		.fences = (uintptr_t)f->waits,
		.out_fd = -1,
	};
}

void fenced_wait_for(struct fenced *f, int fence)
{
	f->waits[f->cmd.num_fences++] = fence;
}

int fence_start(int fd, uint32_t model, uint32_t pool, int fence)
{
	struct fenced f;
	int error;

	fenced_init(&f, model, pool, pool);
	if (fence >= 0)
		fenced_wait_for(&f, fence);
	error = xioctl(fd, NNACCEL_EXECUTE_FENCED, &f.cmd);
	errno = error;
	return error ? -1 : f.cmd.out_fd;
}

int fence_info(int fd, int fence, struct nnaccel_fence_info *info)
{
	*info = (struct nnaccel_fence_info){
		.size = sizeof(*info),
		.fd = fence,
		.out_status = POISON,
		.out_error = POISON,
	};
	return xioctl(fd, NNACCEL_FENCE_INFO, info);
}

int fence_error(int fd, int fence)
{
	struct nnaccel_fence_info info;

	return fence_info(fd, fence, &info) ? -1 : (int)info.out_error;
}

int fence_status(int fence)
{
	struct sync_file_info info = { .status = 0 };

	return ioctl(fence, SYNC_IOC_FILE_INFO, &info) ? -EBADF : info.status;
}

int fence_await(int fence)
{
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN };

	if (poll(&poll_fd, 1, -1) != 1)
		return 0;
	return fence_status(fence);
}

int fence_merge(int a, int b)
{
	struct sync_merge_data merge = { .name = "merged", .fd2 = b };

	return ioctl(a, SYNC_IOC_MERGE, &merge) ? -1 : merge.fence;
}

int timeline_open(void)
{
	return open(SW_SYNC, O_RDWR | O_CLOEXEC);
}

int timeline_fence(int timeline, uint32_t value)
{
	struct sw_sync_fence create = { .value = value, .name = "test" };

	return ioctl(timeline, SW_SYNC_CREATE_FENCE, &create) ? -1 : create.fence;
}

int timeline_advance(int timeline)
{
	uint32_t by = 1;

	return xioctl(timeline, SW_SYNC_ADVANCE, &by);
}
