// SPDX-License-Identifier: MIT
/* Helpers of the tests for clients: contexts, pools, and calls in a second thread. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "submit.h"
#include "summary.h"
#include "runner.h"

/*
 * Enables (@may) or disables the thread's CAP_SYS_RESOURCE, which overrides the limits of a user.
 */
static void override_limits(bool may)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return;
	if (may)
		data[0].effective |= data[0].permitted & 1U << CAP_SYS_RESOURCE;
	else
		data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	syscall(SYS_capset, &header, data);
}

int device_open(void)
{
	int fd, error;

	override_limits(false);
	fd = device_open_unlimited();
	error = errno;
	override_limits(true);
	errno = error;
	return fd;
}

int device_open_unlimited(void)
{
	struct nnaccel_info info = { .size = sizeof(info), .flags = NNACCEL_INFO_WANT };
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		xioctl(fd, NNACCEL_INFO, &info);
	return fd;
}

static int submit_and_wait(int fd, uint32_t kind, void *arg)
{
	struct nnaccel_submit submit;
	int error;

	submit_init(&submit, kind, arg);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	if (ioctl(fd, NNACCEL_SUBMIT, &submit))
		return errno;
	if (submit.out_state == NNACCEL_STATE_DONE)
		return 0;
	do
		error = submission_wait(fd, submit.out_id, arg);
	while (error == EINTR);
	return error;
}

int xioctl(int fd, unsigned long request, void *arg)
{
	if (request <= NNACCEL_WORK_BURST)
		return submit_and_wait(fd, (uint32_t)request, arg);
	return ioctl(fd, request, arg) ? errno : 0;
}

uint32_t pool_alloc(int fd, uint64_t length)
{
	struct nnaccel_pool_alloc alloc = { .size = sizeof(alloc), .length = length };

	return ioctl(fd, NNACCEL_POOL_ALLOC, &alloc) ? 0 : alloc.out_id;
}

int pool_import(int fd, int file, uint32_t prot, uint64_t offset, uint64_t length, uint32_t *id)
{
	struct nnaccel_pool_import import = {
		.size = sizeof(import),
		.fd = file,
		.prot = prot,
		.offset = offset,
		.length = length,
		.out_id = POISON,
	};
	int error = xioctl(fd, NNACCEL_POOL_IMPORT, &import);

	if (id)
		*id = import.out_id;
	return error;
}

int pool_export(int fd, uint32_t id)
{
	struct nnaccel_pool_export export = {
		.size = sizeof(export),
		.flags = NNACCEL_EXPORT_CLOEXEC,
		.id = id,
	};

	return ioctl(fd, NNACCEL_POOL_EXPORT, &export) ? -1 : export.out_fd;
}

int object_destroy(int fd, uint32_t id)
{
	struct nnaccel_destroy destroy = { .size = sizeof(destroy), .id = id };

	return xioctl(fd, NNACCEL_DESTROY, &destroy);
}

int file_new(uint64_t length)
{
	int file = memfd_create("nnaccel-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (file >= 0 && ftruncate(file, (off_t)length)) {
		close(file);
		return -1;
	}
	return file;
}

void *map_shared(int file, uint64_t length, int prot)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, file, 0);

	return at == MAP_FAILED ? NULL : at;
}

void prepare_init(struct nnaccel_prepare *prepare, uint32_t pool, uint64_t length)
{
	*prepare = (struct nnaccel_prepare){
		.size = sizeof(*prepare),
		.wire_pool = pool,
		.wire_length = length,
		.preference = NNACCEL_PREFER_FAST_SINGLE_ANSWER,
		.priority = NNACCEL_PRIORITY_MEDIUM,
		.out_model = POISON,
		.out_status = POISON,
	};
}

static void saved_init(struct saved *saved, uint32_t pool, uint64_t length, uint32_t data,
		       uint64_t data_length)
{
	*saved = (struct saved){
		.model = { .pool = pool, .length = length },
		.data = { .pool = data, .length = data_length },
		.model_size = POISON,
		.data_size = POISON,
	};
}

void prepare_cached_init(struct nnaccel_prepare_cached *prepare, struct saved *saved, uint32_t pool,
			 uint64_t length, uint32_t data, uint64_t data_length)
{
	saved_init(saved, pool, length, data, data_length);
	*prepare = (struct nnaccel_prepare_cached){
		.size = sizeof(*prepare),
		.num_model_parts = 1,
		.num_data_parts = 1,
		.parts = (uintptr_t)&saved->model,
		.token = "a token",
		.preference = NNACCEL_PREFER_FAST_SINGLE_ANSWER,
		.priority = NNACCEL_PRIORITY_MEDIUM,
		.out_model = POISON,
		.out_status = POISON,
	};
}

void cache_save_init(struct nnaccel_cache_save *save, struct saved *saved, uint32_t model,
		     uint32_t pool, uint64_t room, uint32_t data, uint64_t data_room)
{
	saved_init(saved, pool, room, data, data_room);
	*save = (struct nnaccel_cache_save){
		.size = sizeof(*save),
		.model = model,
		.num_model_parts = 1,
		.num_data_parts = 1,
		.parts = (uintptr_t)&saved->model,
		.sizes = (uintptr_t)&saved->model_size,
		.token = "a token",
		.out_status = POISON,
	};
}

void supported_init(struct nnaccel_supported *supported, uint32_t pool, uint64_t length,
		    uint8_t *answer, uint32_t n)
{
	*supported = (struct nnaccel_supported){
		.size = sizeof(*supported),
		.wire_pool = pool,
		.wire_length = length,
		.supported = (uintptr_t)answer,
		.num_operations = n,
		.out_status = POISON,
	};
}

void query_init(struct nnaccel_query *query, uint32_t what, void *data, uint32_t size)
{
	*query = (struct nnaccel_query){
		.size = sizeof(*query),
		.query = what,
		.data = (uintptr_t)data,
		.data_size = size,
		.out_status = POISON,
	};
}

void execution_init(struct execution *e, uint32_t model, uint32_t input, uint32_t output)
{
	memset(e, 0, sizeof(*e));
	e->pools[0] = input;
	e->pools[1] = output;
	e->args[0] = (struct nnaccel_arg){ .pool = 0, .length = 16 };
	e->args[1] = (struct nnaccel_arg){ .pool = 1, .offset = 16, .length = 16 };
	memset(&e->shape, 0xa5, sizeof(e->shape));
	memset(e->message, 0xa5, sizeof(e->message));
	e->cmd = (struct nnaccel_execute){
		.size = sizeof(e->cmd),
		.model = model,
		.num_pools = 2,
		.pools = (uintptr_t)e->pools,
		.num_inputs = 1,
		.num_outputs = 1,
		.args = (uintptr_t)e->args,
		.shapes = (uintptr_t)&e->shape,
		.out_status = POISON,
		.out_num_shapes = POISON,
		.out_device_ns = POISON,
		.out_driver_ns = POISON,
		.message = (uintptr_t)e->message,
		.message_size = sizeof(e->message),
	};
}

static void *async_run(void *data)
{
	struct async *async = data;

	async->error = xioctl(async->fd, async->request, async->arg);
	return NULL;
}

bool async_start(struct async *async, int fd, unsigned long request, void *arg)
{
	*async = (struct async){ .fd = fd, .request = request, .arg = arg };
	return !pthread_create(&async->thread, NULL, async_run, async);
}

int async_wait(struct async *async)
{
	pthread_join(async->thread, NULL);
	return async->error;
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t deadline_soon(void)
{
	return now_ns() + scaled(1000000000);
}

void await_commands(int fd, long long n)
{
	while (summary_get(fd, "nnaccel-commands") != n)
		usleep(1000);
}
