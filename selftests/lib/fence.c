// SPDX-License-Identifier: MIT
/*
 * Executions with a file for the result, and fences of simulated hardware, by sw_sync if available.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <sys/ioctl.h>

#include "fence.h"
#include "submit.h"
#include "summary.h"

#define SW_SYNC "/sys/kernel/debug/sync/sw_sync"

/* Definitions of sw_sync, which no header of the kernel has. */
struct sw_sync_fence {
	uint32_t value;
	char name[32];
	int32_t fence;
};

#define SW_SYNC_CREATE_FENCE	_IOWR('W', 0, struct sw_sync_fence)
#define SW_SYNC_ADVANCE		_IOW('W', 1, uint32_t)

int file_start_until(int fd, uint32_t model, uint32_t pool, int dependency, uint64_t deadline_ns)
{
	struct execution e;

	execution_init(&e, model, pool, pool);
	e.cmd.deadline_ns = deadline_ns;
	return submit_file(fd, &e.cmd, dependency);
}

int file_start(int fd, uint32_t model, uint32_t pool, int dependency)
{
	return file_start_until(fd, model, pool, dependency, 0);
}

int file_end(int fd, int file)
{
	struct nnaccel_execute answer = { .size = sizeof(answer) };
	int error = submission_wait_file(fd, file, &answer);

	return !error && answer.out_status != NNACCEL_STATUS_NONE ? EPROTO : error;
}

int file_cancel(int fd, int file)
{
	return object_destroy(fd, (uint32_t)summary_get(file, "nnaccel-submission"));
}

int execution_fence(int fd, int file, int *fence)
{
	struct nnaccel_sync_file arg = {
		.size = sizeof(arg),
		.flags = NNACCEL_SYNC_FILE_CLOEXEC,
		.fd = file,
		.out_fd = -1,
	};
	int error = xioctl(fd, NNACCEL_SYNC_FILE, &arg);

	*fence = arg.out_fd;
	return error;
}

int fence_status(int fence)
{
	struct sync_file_info info = { .status = 0 };

	return ioctl(fence, SYNC_IOC_FILE_INFO, &info) ? -EBADF : info.status;
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
