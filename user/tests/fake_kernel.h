/* SPDX-License-Identifier: MIT */
/*
 * A kernel and an engine that are the test's own program: its open() gives the device, its ioctl()
 * does what is asked, and fails one request when told to. To be included once, by a program that
 * libnnaccel is linked into.
 */
#ifndef NN_TESTS_FAKE_KERNEL_H
#define NN_TESTS_FAKE_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "base/round.h"
#include "model/extension_list.h"
#include "ring/ring.h"

#define FAKE_PAGE 4096
#define FAKE_CAPACITY 64
/* A bit in the ids of pools that are imported. */
#define FAKE_IMPORT 0x40000000
#define FAKE_MOST_IDS (1 << 20)
#define FAKE_EXTENSION "dev.nnaccel.fake"

/* In place of an errno: the engine refuses what is asked of it, and does not say why. */
#define FAKE_REFUSES -1

/* Objects that have ids. */
enum fake_kind { FAKE_NONE, FAKE_POOL, FAKE_MODEL, FAKE_BUFFER };

static struct {
	unsigned int countdown;		/* requests until one fails, with it; 0: none does */
	int error;			/* of that one: an errno or FAKE_REFUSES */
	unsigned int failures;
	bool is_on;			/* else this machine's kernel gets all requests */
	uint32_t ids;
	uint8_t kinds[FAKE_MOST_IDS];	/* of each id: enum fake_kind */
	int live;			/* ids that are not given back */
	unsigned int wrong;		/* ids and sizes in requests that cannot be */
	struct nnaccel_shape shape;	/* of every output; without flags */
	bool is_short;			/* the next execution's outputs are too small for that */
	uint32_t num_extensions;	/* 1: FAKE_EXTENSION; or 0 */
	/* A test's own answer to requests, if it returns true, or NULL. */
	bool (*answer)(unsigned long request, void *arg, int *result);
} fake;

/* The `number`-th request from now on fails; ends that, and returns how many did. */
static inline void fake_begin(unsigned int number, int error)
{
	fake.failures = 0;
	fake.error = error;
	fake.countdown = number;
}

static inline unsigned int fake_end(void)
{
	fake.countdown = 0;
	return fake.failures;
}

static int fake_file(uint64_t size)
{
	int fd = (int)syscall(SYS_memfd_create, "fake", MFD_CLOEXEC);

	return fd >= 0 && !ftruncate(fd, (off_t)size) ? fd : -1;
}

static uint32_t fake_id(enum fake_kind kind, uint32_t flags)
{
	fake.kinds[++fake.ids % FAKE_MOST_IDS] = (uint8_t)kind;
	fake.live++;
	return fake.ids | flags;
}

/* Counts an id that is unknown or of another kind. The id 0 stands for no object. */
static void fake_look(uint64_t id, enum fake_kind kind)
{
	fake.wrong += id && fake.kinds[(id & ~(uint64_t)FAKE_IMPORT) % FAKE_MOST_IDS] != kind;
}

static void fake_look_all(uint64_t ids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fake_look(((const uint32_t *)(uintptr_t)ids)[i], FAKE_POOL);
}

/* Gives an id back, even if the request fails: a client does not repeat it. */
static void fake_give_back(uint64_t id)
{
	uint8_t *kind = &fake.kinds[(id & ~(uint64_t)FAKE_IMPORT) % FAKE_MOST_IDS];

	if (!*kind)
		fake.wrong++;
	else
		fake.live--;
	*kind = FAKE_NONE;
}

static int fake_query(struct nnaccel_query *q)
{
	static const struct nn_device_info info = {
		.magic = NN_DEVICE_MAGIC, .size = sizeof(info), .version = "fake",
		.type = NN_DEVICE_ACCELERATOR, .feature_level = 4, .model_cache_files = 1,
		.data_cache_files = 1,
	};
	struct fake_extensions {
		struct extension_list list;
		struct extension_record record;
		struct extension_item type;
	} extensions = {
		.list = { .magic = EXTENSION_LIST_MAGIC, .count = fake.num_extensions },
		.record = { .name = FAKE_EXTENSION, .version = 1, .num_types = 1 },
		.type = { .name = "BYTES", .element_size = 1, .is_tensor = 1 },
	};
	bool is_info = q->query == NNACCEL_QUERY_DEVICE;

	q->data_size = is_info ? sizeof(info) : fake.num_extensions ? sizeof(extensions) :
		       sizeof(extensions.list);
	memcpy((void *)(uintptr_t)q->data, is_info ? (const void *)&info : &extensions,
	       q->data_size);
	return 0;
}

static int fake_execute(struct nnaccel_execute *e)
{
	struct nnaccel_shape *shapes = (struct nnaccel_shape *)(uintptr_t)e->shapes;
	const uint32_t *buffers = (const uint32_t *)(uintptr_t)e->buffers;

	fake_look(e->model, FAKE_MODEL);
	fake_look_all(e->pools, e->num_pools);
	for (uint32_t i = 0; i < e->num_buffers; i++)
		fake_look(buffers[i], FAKE_BUFFER);
	for (uint32_t i = 0; shapes && i < e->num_outputs; i++) {
		shapes[i] = fake.shape;
		shapes[i].flags = fake.is_short ? 0 : NNACCEL_SHAPE_SUFFICIENT;
	}
	e->out_status = fake.is_short ? NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE : 0;
	fake.is_short = false;
	e->out_num_shapes = e->num_outputs;
	e->out_device_ns = NNACCEL_TIME_NONE;
	e->out_driver_ns = NNACCEL_TIME_NONE;
	return 0;
}

/* A burst whose rings no worker reads: as no memory gets a slot, nothing is sent. */
static int fake_burst(struct nnaccel_burst_create *c)
{
	const struct nnaccel_burst_status status = {
		.state = NNACCEL_BURST_ALIVE,
		.lines = nn_ring_lines(FAKE_CAPACITY),
		.capacity = FAKE_CAPACITY,
		.ring_bytes = (uint32_t)nn_ring_bytes(FAKE_CAPACITY),
	};

	fake_look(c->model, FAKE_MODEL);
	c->out_fd = fake_file(NNACCEL_BURST_DOORBELL + FAKE_PAGE);
	return c->out_fd >= 0 &&
	       pwrite(c->out_fd, &status, sizeof(status), NNACCEL_BURST_STATUS) > 0 ? 0 : -1;
}

static int fake_fail(int error)
{
	errno = error;
	return -1;
}

/* Answers a request that does not fail. */
static int fake_do(unsigned long request, void *arg)
{
	struct nnaccel_pool_import *import = arg;
	struct nnaccel_execute_fenced *fenced = arg;
	struct nnaccel_prepare_cached *cached = arg;
	struct nnaccel_supported *supported = arg;
	struct nnaccel_pool_export *export = arg;
	struct nnaccel_cache_save *save = arg;
	struct nnaccel_prepare *prepare = arg;
	struct nnaccel_info *info = arg;
	int result;

	if (fake.answer && fake.answer(request, arg, &result))
		return result;
	switch (request) {
	case NNACCEL_INFO:
		info->abi = NNACCEL_ABI_VERSION;
		info->engine = NNACCEL_ENGINE_ATTACHED;
		return 0;
	case NNACCEL_POOL_ALLOC:
		((struct nnaccel_pool_alloc *)arg)->out_id = fake_id(FAKE_POOL, 0);
		return 0;
	case NNACCEL_POOL_IMPORT:
		import->length = FAKE_PAGE;
		import->out_id = fake_id(FAKE_POOL, FAKE_IMPORT);
		return 0;
	case NNACCEL_POOL_EXPORT:
		fake_look(export->id, FAKE_POOL);
		export->out_fd = export->id & FAKE_IMPORT ? -1 : fake_file(FAKE_PAGE);
		return export->out_fd < 0 ? fake_fail(EOPNOTSUPP) : 0;
	case NNACCEL_QUERY:
		return fake_query(arg);
	case NNACCEL_SUPPORTED:
		fake_look(supported->wire_pool, FAKE_POOL);
		fake_look_all(supported->pools, supported->num_pools);
		memset((void *)(uintptr_t)supported->supported, 1, supported->num_operations);
		return 0;
	case NNACCEL_PREPARE:
		fake_look(prepare->wire_pool, FAKE_POOL);
		fake_look_all(prepare->pools, prepare->num_pools);
		prepare->out_model = fake_id(FAKE_MODEL, 0);
		return 0;
	case NNACCEL_PREPARE_CACHED:
		fake_look(cached->model_pool, FAKE_POOL);
		fake_look(cached->data_pool, FAKE_POOL);
		cached->out_model = fake_id(FAKE_MODEL, 0);
		return 0;
	case NNACCEL_CACHE_SAVE:
		fake_look(save->model, FAKE_MODEL);
		fake_look(save->model_pool, FAKE_POOL);
		fake_look(save->data_pool, FAKE_POOL);
		fake.wrong += !save->model_pool && (save->data_pool || save->model_room);
		fake.wrong += !save->data_pool && save->data_room;
		save->out_model_size = 8;
		save->out_data_size = 8;
		return 0;
	case NNACCEL_EXECUTE:
		return fake_execute(arg);
	case NNACCEL_EXECUTE_FENCED:
		fenced->out_fd = fake_file(0);
		return fake_execute((void *)(uintptr_t)fenced->execute);
	case NNACCEL_FENCE_INFO:
		return ((struct nnaccel_fence_info *)arg)->fd < 0 ? fake_fail(EINVAL) : 0;
	case NNACCEL_BURST_CREATE:
		return fake_burst(arg);
	case SYNC_IOC_FILE_INFO:
		((struct sync_file_info *)arg)->status = 1;
		return 0;
	case NNACCEL_BURST_SLOT:
		return fake_fail(ENOSPC);
	case NNACCEL_BUFFER_ALLOC:
		((struct nnaccel_buffer_alloc *)arg)->out_buffer = fake_id(FAKE_BUFFER, 0);
		return 0;
	case NNACCEL_BUFFER_COPY:
		fake_look(((struct nnaccel_buffer_copy *)arg)->buffer, FAKE_BUFFER);
		fake_look(((struct nnaccel_buffer_copy *)arg)->pool, FAKE_POOL);
		return 0;
	}
	return 0;
}

/* The status of a command; NULL: it asks no engine. */
static uint32_t *fake_status(unsigned long request, void *arg)
{
	switch (request) {
	case NNACCEL_QUERY: return &((struct nnaccel_query *)arg)->out_status;
	case NNACCEL_SUPPORTED: return &((struct nnaccel_supported *)arg)->out_status;
	case NNACCEL_PREPARE: return &((struct nnaccel_prepare *)arg)->out_status;
	case NNACCEL_PREPARE_CACHED: return &((struct nnaccel_prepare_cached *)arg)->out_status;
	case NNACCEL_CACHE_SAVE: return &((struct nnaccel_cache_save *)arg)->out_status;
	case NNACCEL_EXECUTE: return &((struct nnaccel_execute *)arg)->out_status;
	case NNACCEL_FENCE_INFO: return &((struct nnaccel_fence_info *)arg)->out_status;
	case NNACCEL_BURST_CREATE: return &((struct nnaccel_burst_create *)arg)->out_status;
	case NNACCEL_BUFFER_ALLOC: return &((struct nnaccel_buffer_alloc *)arg)->out_status;
	case NNACCEL_BUFFER_COPY: return &((struct nnaccel_buffer_copy *)arg)->out_status;
	}
	return NULL;
}

/* Returns the size that a request begins with; 0: another driver's request. */
static uint32_t fake_size(unsigned long request)
{
	switch (request) {
	case NNACCEL_INFO: return sizeof(struct nnaccel_info);
	case NNACCEL_DESTROY: return sizeof(struct nnaccel_destroy);
	case NNACCEL_POOL_ALLOC: return sizeof(struct nnaccel_pool_alloc);
	case NNACCEL_POOL_IMPORT: return sizeof(struct nnaccel_pool_import);
	case NNACCEL_POOL_EXPORT: return sizeof(struct nnaccel_pool_export);
	case NNACCEL_QUERY: return sizeof(struct nnaccel_query);
	case NNACCEL_SUPPORTED: return sizeof(struct nnaccel_supported);
	case NNACCEL_PREPARE: return sizeof(struct nnaccel_prepare);
	case NNACCEL_PREPARE_CACHED: return sizeof(struct nnaccel_prepare_cached);
	case NNACCEL_CACHE_SAVE: return sizeof(struct nnaccel_cache_save);
	case NNACCEL_EXECUTE: return sizeof(struct nnaccel_execute);
	case NNACCEL_BUFFER_ALLOC: return sizeof(struct nnaccel_buffer_alloc);
	case NNACCEL_BUFFER_COPY: return sizeof(struct nnaccel_buffer_copy);
	case NNACCEL_EXECUTE_FENCED: return sizeof(struct nnaccel_execute_fenced);
	case NNACCEL_FENCE_INFO: return sizeof(struct nnaccel_fence_info);
	case NNACCEL_CANCEL: return sizeof(struct nnaccel_cancel);
	case NNACCEL_BURST_CREATE: return sizeof(struct nnaccel_burst_create);
	case NNACCEL_BURST_SLOT: return sizeof(struct nnaccel_burst_slot);
	}
	return 0;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	uint32_t *status;
	bool fails;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!fake.is_on || (!fake_size(request) && request != SYNC_IOC_FILE_INFO))
		return (int)syscall(SYS_ioctl, fd, request, arg);
	fake.wrong += fake_size(request) && *(const uint32_t *)arg != fake_size(request);
	if (request == NNACCEL_DESTROY)
		fake_give_back(((struct nnaccel_destroy *)arg)->id);
	fails = fake.countdown && !--fake.countdown;
	fake.failures += fails;
	status = fake_status(request, arg);
	if (status)
		*status = fails && fake.error == FAKE_REFUSES ? NNACCEL_STATUS_GENERAL_FAILURE : 0;
	if (fails && fake.error == FAKE_REFUSES && status)
		return 0;
	return fails && fake.error != FAKE_REFUSES ? fake_fail(fake.error) : fake_do(request, arg);
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	bool is_fake = fake.is_on && !strcmp(path, NNA_DEVICE_PATH);
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	return (int)syscall(SYS_openat, AT_FDCWD, is_fake ? "/dev/null" : path, flags, mode);
}

/* A burst's file can be polled, which a file of memory cannot. */
__attribute__((visibility("default"))) int epoll_ctl(int epoll, int op, int fd,
						     struct epoll_event *event)
{
	long result = syscall(SYS_epoll_ctl, epoll, op, fd, event);

	return result && errno == EPERM ? 0 : (int)result;
}

#endif /* NN_TESTS_FAKE_KERNEL_H */
