/* SPDX-License-Identifier: MIT */
/*
 * Imitates the kernel and an engine inside a test program that is linked with libnnaccel. This
 * header replaces open(), which opens the imitated device, and ioctl(), which answers requests and
 * can make one request fail. Only one file of a program may include fake_kernel.h.
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
/* This bit is set only in ids of imported memory pools. */
#define FAKE_IMPORT 0x40000000
/* This bit is set only in ids of submissions. */
#define FAKE_SUBMISSION 0x20000000
#define FAKE_MOST_IDS (1 << 20)
#define FAKE_MOST_COMMANDS 32	/* maximum number of submissions whose answers were not fetched */
#define FAKE_MOST_SUBMISSIONS 256	/* size of the array of submissions */
#define FAKE_EXTENSION "dev.nnaccel.fake"

/* Value of `error` that is no errno: the engine refuses the request without a reason. */
#define FAKE_REFUSES -1

enum fake_kind { FAKE_NONE, FAKE_POOL, FAKE_MODEL, FAKE_BUFFER };

/* Submitted work together with its answer; the answer exists as soon as the work is submitted. */
union fake_work {
	uint32_t size;
	struct nnaccel_query query;
	struct nnaccel_supported supported;
	struct nnaccel_prepare prepare;
	struct nnaccel_prepare_cached prepare_cached;
	struct nnaccel_cache_save cache_save;
	struct nnaccel_execute execute;
	struct nnaccel_buffer_alloc buffer_alloc;
	struct nnaccel_buffer_copy buffer_copy;
	struct nnaccel_burst_create burst;
};

struct fake_submission {
	uint32_t id;	/* submission's id; 0 if the answer was fetched or the element is unused */
	uint32_t kind;
	int fd;				/* open file of the submission, or -1 */
	int device;			/* its context's file */
	union fake_work work;
};

static struct {
	unsigned int countdown;	/* number of requests until a request fails; 0 if none fails */
	int error;			/* errno of the failing request, or FAKE_REFUSES */
	unsigned int failures;
	bool is_on;			/* false: the real kernel answers all requests */
	uint32_t ids;
	uint8_t kinds[FAKE_MOST_IDS];	/* by id: enum fake_kind of the object */
	int live;			/* number of ids that the client has not released */
	unsigned int wrong;		/* number of wrong ids and wrong sizes in requests */
	struct nnaccel_shape shape;	/* shape that is reported for every output */
	bool is_short;			/* set if the outputs of the next execution are too small */
	uint32_t num_extensions;	/* 1: FAKE_EXTENSION; or 0 */
	/*
	 * A function of the test that may answer requests, or NULL. answer() returns true if it has
	 * answered the request. For an NNACCEL_SUBMIT request, answer() gets an enum nnaccel_work
	 * as `request`, and the structure of the work as `arg`.
	 */
	bool (*answer)(unsigned long request, void *arg, int *result);
	uint32_t num_submissions;	/* number of submissions so far */
	struct fake_submission submissions[FAKE_MOST_SUBMISSIONS];
	unsigned int signals;		/* number of signals that interrupt waiting ioctl() calls */
	bool is_busy;			/* true: no submission ends */
	uint32_t progress;		/* progress that submissions report */
	int end;			/* errno with which the next submissions end, or 0 */
} fake;

/*
 * Makes the `number`-th next request fail with `error`. The function fake_end() ends the failures
 * of requests, and returns how many requests failed.
 */
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

/*
 * Counts an id in a request as wrong if no object of the given kind has the id. The id 0 is never
 * wrong, because it stands for no object.
 */
static void fake_look(uint64_t id, enum fake_kind kind)
{
	fake.wrong += id && fake.kinds[(id & ~(uint64_t)FAKE_IMPORT) % FAKE_MOST_IDS] != kind;
}

static void fake_look_all(uint64_t ids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fake_look(((const uint32_t *)(uintptr_t)ids)[i], FAKE_POOL);
}

/*
 * Releases an object's id even if the client's request to release the id fails, because clients do
 * not retry.
 */
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

/*
 * Makes a burst without a worker that reads the rings. The client does not send a packet, because
 * the burst has no slot.
 */
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

/* Checks the pools' ids in the descriptions of a saved model's parts. */
static void fake_look_parts(uint64_t address, uint32_t count)
{
	const struct nnaccel_cache_part *parts = (const void *)(uintptr_t)address;

	for (uint32_t i = 0; i < count; i++) {
		fake_look(parts[i].pool, FAKE_POOL);
		fake.wrong += !parts[i].pool && (parts[i].offset || parts[i].length);
	}
}

/* Answers work. */
static int fake_work(enum nnaccel_work kind, union fake_work *w)
{
	uint32_t parts;
	int result;

	if (fake.answer && fake.answer(kind, w, &result))
		return result;
	switch (kind) {
	case NNACCEL_WORK_QUERY:
		return fake_query(&w->query);
	case NNACCEL_WORK_SUPPORTED:
		fake_look(w->supported.wire_pool, FAKE_POOL);
		fake_look_all(w->supported.pools, w->supported.num_pools);
		memset((void *)(uintptr_t)w->supported.supported, 1, w->supported.num_operations);
		return 0;
	case NNACCEL_WORK_PREPARE:
		fake_look(w->prepare.wire_pool, FAKE_POOL);
		fake_look_all(w->prepare.pools, w->prepare.num_pools);
		w->prepare.out_model = fake_id(FAKE_MODEL, 0);
		return 0;
	case NNACCEL_WORK_PREPARE_CACHED:
		fake_look_parts(w->prepare_cached.parts, w->prepare_cached.num_model_parts +
							 w->prepare_cached.num_data_parts);
		w->prepare_cached.out_model = fake_id(FAKE_MODEL, 0);
		return 0;
	case NNACCEL_WORK_CACHE_SAVE:
		fake_look(w->cache_save.model, FAKE_MODEL);
		parts = w->cache_save.num_model_parts + w->cache_save.num_data_parts;
		fake_look_parts(w->cache_save.parts, parts);
		for (uint32_t i = 0; i < parts; i++)
			((uint64_t *)(uintptr_t)w->cache_save.sizes)[i] = 8;
		return 0;
	case NNACCEL_WORK_EXECUTE:
		return fake_execute(&w->execute);
	case NNACCEL_WORK_BUFFER_ALLOC:
		w->buffer_alloc.out_buffer = fake_id(FAKE_BUFFER, 0);
		return 0;
	case NNACCEL_WORK_BUFFER_COPY:
		fake_look(w->buffer_copy.buffer, FAKE_BUFFER);
		fake_look(w->buffer_copy.pool, FAKE_POOL);
		return 0;
	case NNACCEL_WORK_BURST:
		return fake_burst(&w->burst);
	}
	return fake_fail(EINVAL);
}

/*
 * Returns the size of the structure for a kind of work. Sets *status to the address of the
 * structure's field out_status.
 */
static uint32_t fake_work_size(uint32_t kind, union fake_work *w, uint32_t **status)
{
	switch (kind) {
#define FAKE_WORK(KIND, member) \
	case NNACCEL_WORK_##KIND: \
		*status = &w->member.out_status; \
		return sizeof(w->member);
	FAKE_WORK(QUERY, query)
	FAKE_WORK(SUPPORTED, supported)
	FAKE_WORK(PREPARE, prepare)
	FAKE_WORK(PREPARE_CACHED, prepare_cached)
	FAKE_WORK(CACHE_SAVE, cache_save)
	FAKE_WORK(EXECUTE, execute)
	FAKE_WORK(BUFFER_ALLOC, buffer_alloc)
	FAKE_WORK(BUFFER_COPY, buffer_copy)
	FAKE_WORK(BURST, burst)
	}
	return 0;
}

/*
 * Returns the submission with the given id or, if the id is 0, with the given file. Returns NULL if
 * there is no such submission.
 */
static struct fake_submission *fake_find(uint32_t id, int fd)
{
	for (uint32_t i = 0; i < FAKE_MOST_SUBMISSIONS; i++) {
		struct fake_submission *s = &fake.submissions[i];

		if (id ? s->id == id : s->kind && fd >= 0 && s->fd == fd)
			return s;
	}
	return NULL;
}

/*
 * Drops submissions whose files the client has closed. Returns the number of submissions whose
 * answers the client has not fetched.
 */
static inline unsigned int fake_pending(void)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < FAKE_MOST_SUBMISSIONS; i++) {
		struct fake_submission *s = &fake.submissions[i];

		if (s->kind && s->fd >= 0 && fcntl(s->fd, F_GETFD) < 0)
			*s = (struct fake_submission){ .id = 0 };
		count += s->id != 0;
	}
	return count;
}

/*
 * Returns an element of the array for a new submission: an unused element or, if all are used, an
 * element whose answer was fetched.
 */
static struct fake_submission *fake_room(void)
{
	struct fake_submission *room = NULL;

	for (uint32_t i = 0; i < FAKE_MOST_SUBMISSIONS && fake_pending() < FAKE_MOST_COMMANDS; i++)
		if (!fake.submissions[i].id && (!room || (room->kind && !fake.submissions[i].kind)))
			room = &fake.submissions[i];
	return room;
}

static void fake_drop(struct fake_submission *s)
{
	s->id = 0;
	if (s->fd < 0)
		s->kind = 0;
}

/* Releases the model that a submission has prepared, so that the client never gets the model. */
static void fake_lose_model(struct fake_submission *s)
{
	if (s->kind != NNACCEL_WORK_PREPARE || !s->work.prepare.out_model)
		return;
	fake_give_back(s->work.prepare.out_model);
	s->work.prepare.out_model = 0;
}

/*
 * Opens a file for a new submission. The kernel may reuse the file descriptor of a file that the
 * client has closed; then the submission of the closed file is freed.
 */
static int fake_submission_file(void)
{
	int fd = fake_file(0);
	struct fake_submission *s = fake_find(0, fd);

	if (s)
		*s = (struct fake_submission){ .id = 0 };
	return fd;
}

static int fake_submit(int device, struct nnaccel_submit *s, bool refuses)
{
	const bool waits = s->flags & NNACCEL_SUBMIT_WAIT, has_file = s->flags & NNACCEL_SUBMIT_FILE;
	struct fake_submission *room = fake_room();
	union fake_work *from = (void *)(uintptr_t)s->work, work = { .size = 0 };
	uint32_t *status = NULL, size = fake_work_size(s->kind, &work, &status);

	fake.wrong += !size || from->size != size || s->__reserved || (waits && has_file);
	fake.wrong += s->kind != NNACCEL_WORK_EXECUTE &&
		      (has_file || s->num_dependencies || s->duration_ns);
	if (!size)
		return fake_fail(EINVAL);
	if (!room)
		return fake_fail(EXFULL);
	memcpy(&work, from, size);
	*status = refuses ? NNACCEL_STATUS_GENERAL_FAILURE : 0;
	if (!refuses && fake_work(s->kind, &work))
		return -1;
	s->out_fd = has_file ? fake_submission_file() : -1;
	s->out_id = 0;
	s->out_state = NNACCEL_STATE_DONE;
	if (waits && !fake.signals) {
		if (fake.end)
			return fake_fail(fake.end);
		memcpy(from, &work, size);
		return 0;
	}
	fake.signals -= waits;
	s->out_id = ++fake.num_submissions | FAKE_SUBMISSION;
	s->out_state = NNACCEL_STATE_PENDING;
	*fake_room() = (struct fake_submission){ s->out_id, s->kind, s->out_fd, device, work };
	return 0;
}

static int fake_wait(struct nnaccel_wait *w, bool refuses)
{
	struct fake_submission *s = fake_find(w->id, w->fd);
	union fake_work *to = (void *)(uintptr_t)w->work, given;
	uint32_t *status = NULL, size, kind;

	fake.wrong += w->id && w->fd;
	if (!s)
		return fake_fail(w->id ? ENOENT : fcntl(w->fd, F_GETFD) < 0 ? EBADF : EINVAL);
	if (!s->id)
		return fake_fail(ENOENT);
	kind = s->kind;
	size = fake_work_size(kind, &s->work, &status);
	fake.wrong += to->size != size;
	w->out_state = NNACCEL_STATE_PENDING;
	w->out_error = 0;
	w->out_progress = fake.progress;
	if (w->flags & NNACCEL_WAIT_NONBLOCK && fake.is_busy)
		return 0;
	if (!(w->flags & NNACCEL_WAIT_NONBLOCK) && fake.signals) {
		fake.signals--;
		return fake_fail(EINTR);
	}
	if (refuses || fake.end)
		fake_lose_model(s);
	fake_drop(s);
	w->out_state = NNACCEL_STATE_DONE;
	w->out_error = (uint32_t)fake.end;
	if (fake.end)
		return 0;
	/*
	 * Keep the pointers of the call that fetches the answer, because the pointers of the
	 * submission may be invalid.
	 */
	given = *to;
	if (refuses)
		*status = NNACCEL_STATUS_GENERAL_FAILURE;
	memcpy(to, &s->work, size);
	if (kind == NNACCEL_WORK_EXECUTE) {
		to->execute.shapes = given.execute.shapes;
		to->execute.message = given.execute.message;
		to->execute.message_size = given.execute.message_size;
	}
	return 0;
}

static int fake_destroy(uint32_t id)
{
	struct fake_submission *s = id & FAKE_SUBMISSION ? fake_find(id, -1) : NULL;

	if (s) {
		fake_lose_model(s);
		fake_drop(s);
	}
	return s || !(id & FAKE_SUBMISSION) ? 0 : fake_fail(ENOENT);
}

/* Answers a request, unless the test makes the request fail with an errno. */
static int fake_do(int fd, unsigned long request, void *arg, bool refuses)
{
	struct nnaccel_pool_import *import = arg;
	struct nnaccel_pool_export *export = arg;
	struct nnaccel_info *info = arg;
	int result;

	if (fake.answer && fake.answer(request, arg, &result))
		return result;
	switch (request) {
	case NNACCEL_INFO:
		info->abi = NNACCEL_ABI_VERSION;
		info->engine = NNACCEL_ENGINE_ATTACHED;
		return 0;
	case NNACCEL_DESTROY:
		return fake_destroy(((struct nnaccel_destroy *)arg)->id);
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
	case NNACCEL_SUBMIT:
		return fake_submit(fd, arg, refuses);
	case NNACCEL_WAIT:
		return fake_wait(arg, refuses);
	case NNACCEL_SYNC_FILE:
		((struct nnaccel_sync_file *)arg)->out_fd = fake_file(0);
		return 0;
	case SYNC_IOC_FILE_INFO:
		((struct sync_file_info *)arg)->status = 1;
		return 0;
	case NNACCEL_BURST_SLOT:
		return fake_fail(ENOSPC);
	}
	return 0;
}

/* Returns the size of the structure of a request; returns 0 for a request to another driver. */
static uint32_t fake_size(unsigned long request)
{
	switch (request) {
	case NNACCEL_INFO: return sizeof(struct nnaccel_info);
	case NNACCEL_DESTROY: return sizeof(struct nnaccel_destroy);
	case NNACCEL_POOL_ALLOC: return sizeof(struct nnaccel_pool_alloc);
	case NNACCEL_POOL_IMPORT: return sizeof(struct nnaccel_pool_import);
	case NNACCEL_POOL_EXPORT: return sizeof(struct nnaccel_pool_export);
	case NNACCEL_SUBMIT: return sizeof(struct nnaccel_submit);
	case NNACCEL_WAIT: return sizeof(struct nnaccel_wait);
	case NNACCEL_SYNC_FILE: return sizeof(struct nnaccel_sync_file);
	case NNACCEL_CANCEL: return sizeof(struct nnaccel_cancel);
	case NNACCEL_BURST_SLOT: return sizeof(struct nnaccel_burst_slot);
	}
	return 0;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	bool fails, refuses;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!fake.is_on || (!fake_size(request) && request != SYNC_IOC_FILE_INFO))
		return (int)syscall(SYS_ioctl, fd, request, arg);
	fake.wrong += fake_size(request) && *(const uint32_t *)arg != fake_size(request);
	if (request == NNACCEL_DESTROY && !(((struct nnaccel_destroy *)arg)->id & FAKE_SUBMISSION))
		fake_give_back(((struct nnaccel_destroy *)arg)->id);
	fails = fake.countdown && !--fake.countdown;
	fake.failures += fails;
	refuses = fails && fake.error == FAKE_REFUSES;
	return fails && !refuses ? fake_fail(fake.error) : fake_do(fd, request, arg, refuses);
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	bool is_fake = fake.is_on && !strcmp(path, NNA_DEVICE_PATH);
	int mode, fd;
	va_list args;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	fd = (int)syscall(SYS_openat, AT_FDCWD, is_fake ? "/dev/null" : path, flags, mode);
	/*
	 * If a closed context had the same file descriptor, frees the submissions of the closed
	 * context.
	 */
	for (uint32_t i = 0; is_fake && i < FAKE_MOST_SUBMISSIONS; i++)
		if (fake.submissions[i].device == fd)
			fake.submissions[i] = (struct fake_submission){ .id = 0 };
	return fd;
}

/*
 * Replaces epoll_ctl(), because the file of an imitated burst is a memfd, which epoll does not
 * accept. Counts an epoll file that the library has opened without FD_CLOEXEC as wrong.
 */
__attribute__((visibility("default"))) int epoll_ctl(int epoll, int op, int fd,
						     struct epoll_event *event)
{
	long result = syscall(SYS_epoll_ctl, epoll, op, fd, event);
	const bool is_memfd = result && errno == EPERM;

	fake.wrong += fcntl(epoll, F_GETFD) != FD_CLOEXEC;
	return is_memfd ? 0 : (int)result;
}

#endif /* NN_TESTS_FAKE_KERNEL_H */
