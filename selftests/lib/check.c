// SPDX-License-Identifier: MIT
/*
 * Table-driven checks for every ioctl.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nnaccel.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define MAX_SIZE 256

#define IOCTL(_name, _struct, _kind) \
	{ #_name, NNACCEL_##_name, sizeof(struct nnaccel_##_struct), FILE_##_kind }

#define WORK(_name, _struct) \
	{ #_name, NNACCEL_WORK_##_name, sizeof(struct nnaccel_##_struct), FILE_CONTEXT }

const struct ioctl_desc ioctls[] = {
	IOCTL(INFO, info, CONTEXT),
	IOCTL(DESTROY, destroy, CONTEXT),
	IOCTL(POOL_ALLOC, pool_alloc, CONTEXT),
	IOCTL(POOL_IMPORT, pool_import, CONTEXT),
	IOCTL(POOL_EXPORT, pool_export, CONTEXT),
	WORK(QUERY, query),
	WORK(SUPPORTED, supported),
	WORK(PREPARE, prepare),
	WORK(EXECUTE, execute),
	WORK(BURST, burst_create),
	IOCTL(CANCEL, cancel, CONTEXT),
	IOCTL(SUBMIT, submit, CONTEXT),
	IOCTL(WAIT, wait, CONTEXT),
	IOCTL(SYNC_FILE, sync_file, CONTEXT),
	WORK(PREPARE_CACHED, prepare_cached),
	WORK(CACHE_SAVE, cache_save),
	WORK(BUFFER_ALLOC, buffer_alloc),
	WORK(BUFFER_COPY, buffer_copy),
	IOCTL(BURST_SLOT, burst_slot, BURST),
	IOCTL(ENGINE_NEXT, engine_next, ENGINE),
	IOCTL(ENGINE_SESSION, engine_session, ENGINE),
	IOCTL(ENGINE_REFUSE, engine_refuse, ENGINE),
	IOCTL(ENGINE_OPENER, engine_opener, ENGINE),
	IOCTL(ENGINE_REGISTER, engine_register, ENGINE),
	IOCTL(SESSION_ATTACH, session_attach, SESSION),
	IOCTL(SESSION_FETCH, session_fetch, SESSION),
	IOCTL(SESSION_COMMIT, session_commit, SESSION),
	IOCTL(SESSION_SLOT, session_slot, SESSION),
	IOCTL(SESSION_SYNC, session_sync, SESSION),
	IOCTL(SESSION_GRANT_FD, session_grant_fd, SESSION),
	IOCTL(SESSION_FENCE, session_fence, SESSION),
};
const size_t num_ioctls = sizeof(ioctls) / sizeof(ioctls[0]);

static const char *name_of(unsigned long request)
{
	for (size_t i = 0; i < num_ioctls; i++)
		if (ioctls[i].request == request)
			return ioctls[i].name;
	return "ioctl";
}

/*
 * Returns the size of a call's structure in the first published interface; @size is the present
 * size of the structure.
 */
static uint32_t first_size(unsigned long request, size_t size)
{
	switch (request) {
	case NNACCEL_ENGINE_NEXT:
		return offsetof(struct nnaccel_engine_next, out_priority);
	case NNACCEL_INFO:
		return offsetof(struct nnaccel_info, max_bursts);
	case NNACCEL_WORK_PREPARE:
		return offsetof(struct nnaccel_prepare, attributes);
	case NNACCEL_WORK_PREPARE_CACHED:
		return offsetof(struct nnaccel_prepare_cached, attributes);
	case NNACCEL_WORK_EXECUTE:
		return offsetof(struct nnaccel_execute, buffers);
	case NNACCEL_SESSION_COMMIT:
		return offsetof(struct nnaccel_session_commit, buffer);
	default:
		return (uint32_t)size;
	}
}

/* Returns whether @good uses only fields that the structure's first published version has. */
static bool fits_first(unsigned long request, const uint8_t *good, size_t size)
{
	for (size_t i = first_size(request, size); i < size; i++)
		if (good[i])
			return false;
	return true;
}

/* Counts and prints a call that did not return the expected errno. */
static int check_error(unsigned long request, const char *what, int error, int expected)
{
	if (error == expected)
		return 0;
	fprintf(stderr, "# %s, %s: %s, not %s\n", name_of(request), what,
		error ? strerrorname_np(error) : "0", expected ? strerrorname_np(expected) : "0");
	return 1;
}

int check_refusals(int fd, unsigned long request, const void *good, size_t size,
		   const struct refusal *cases, size_t num_cases)
{
	uint8_t before[MAX_SIZE], arg[MAX_SIZE];
	int wrong = 0;

	for (size_t i = 0; i < num_cases; i++) {
		memcpy(before, good, size);
		memcpy(before + cases[i].offset, &cases[i].value, cases[i].size);
		memcpy(arg, before, size);
		wrong += check_error(request, cases[i].what, xioctl(fd, request, arg),
				     cases[i].error);
		if (memcmp(arg, before, size)) {
			fprintf(stderr, "# %s, %s: the structure was changed\n", name_of(request),
				cases[i].what);
			wrong++;
		}
	}
	return wrong;
}

static int check_lengths(int fd, unsigned long request, const void *good, size_t size,
			 int expected)
{
	const struct {
		const char *what;
		uint32_t size;
		int byte;
		int error;
	} cases[] = {
		{ "size 0", 0, 0, EINVAL },
		{ "size 4", 4, 0, EINVAL },
		{ "a byte too short", first_size(request, size) - 1, 0, EINVAL },
		{ "as first published", first_size(request, size), 0, expected },
		{ "longer by a zero byte", (uint32_t)size + 1, 0, expected },
		{ "longer by zeros", (uint32_t)size + 16, 0, expected },
		{ "a page", (uint32_t)PAGE, 0, expected },
		{ "longer by a byte", (uint32_t)size + 1, 1, E2BIG },
		{ "longer by zeros and a byte", (uint32_t)size + 16, 16, E2BIG },
		{ "longer than a page by a zero byte", (uint32_t)PAGE + 1, 0, E2BIG },
	};
	static uint8_t arg[MAX_PAGE + 1];
	int wrong = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(arg, 0, sizeof(arg));
		memcpy(arg, good, size);
		memcpy(arg, &cases[i].size, sizeof(cases[i].size));
		if (cases[i].size == first_size(request, size) && !fits_first(request, good, size))
			continue;
		if (cases[i].byte)
			arg[size + (size_t)cases[i].byte - 1] = 0xff;
		wrong += check_error(request, cases[i].what, xioctl(fd, request, arg),
				     cases[i].error);
		if (!expected || cases[i].error != expected)
			continue;
		if (memcmp(arg + 4, (const uint8_t *)good + 4, size - 4)) {
			fprintf(stderr, "# %s: changed though refused\n", name_of(request));
			wrong++;
		}
	}
	return wrong;
}

static int check_pointers(int fd, unsigned long request, const void *good, size_t size)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t huge = UINT32_MAX, longer = (uint32_t)size + 8;
	int wrong = 0;

	if (pages == MAP_FAILED || munmap(pages + PAGE, PAGE))
		return 1;
	wrong += check_error(request, "NULL", xioctl(fd, request, NULL), EFAULT);
	wrong += check_error(request, "not mapped", xioctl(fd, request, pages + PAGE), EFAULT);
	wrong += check_error(request, "of the kernel",
			     xioctl(fd, request, (void *)0xffff888000000000UL), EFAULT);
	memcpy(pages + PAGE - size + 4, good, size - 4);
	wrong += check_error(request, "partly mapped",
			     xioctl(fd, request, pages + PAGE - size + 4), EFAULT);
	memcpy(pages + PAGE - size, good, size);
	memcpy(pages + PAGE - size, &longer, sizeof(longer));
	wrong += check_error(request, "its tail not mapped",
			     xioctl(fd, request, pages + PAGE - size), EFAULT);
	memcpy(pages + PAGE - size, &huge, sizeof(huge));
	wrong += check_error(request, "4 GiB", xioctl(fd, request, pages + PAGE - size), E2BIG);
	munmap(pages, PAGE);
	return wrong;
}

/* Returns the number of the lowest free fd, which the next opened file will get. */
static int next_fd(int fd)
{
	int next = dup(fd);

	close(next);
	return next;
}

int check_read_only(int fd, unsigned long request, const void *good, size_t size)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int wrong, next = next_fd(fd);

	if (page == MAP_FAILED)
		return 1;
	memcpy(page, good, size);
	mprotect(page, PAGE, PROT_READ);
	wrong = check_error(request, "read only", xioctl(fd, request, page), EFAULT);
	munmap(page, PAGE);
	if (next_fd(fd) != next) {
		fprintf(stderr, "# %s: a file that no test was told of\n", name_of(request));
		wrong++;
	}
	return wrong;
}

int check_no_fd(int fd, unsigned long request, const void *good, size_t size)
{
	uint8_t arg[MAX_SIZE];
	struct rlimit old, none;
	int wrong;

	memcpy(arg, good, size);
	if (getrlimit(RLIMIT_NOFILE, &old))
		return 1;
	none = old;
	none.rlim_cur = 0;
	if (setrlimit(RLIMIT_NOFILE, &none))
		return 1;
	wrong = check_error(request, "no more files", xioctl(fd, request, arg), EMFILE);
	return wrong + !!setrlimit(RLIMIT_NOFILE, &old);
}

int check_fd_0(int fd, unsigned long request, const void *good, size_t size, size_t out_fd)
{
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 3), wrong, got;
	uint8_t arg[MAX_SIZE];

	memcpy(arg, good, size);
	memset(arg + out_fd, 0xa5, sizeof(got));
	close(0);
	wrong = check_error(request, "file 0", xioctl(fd, request, arg), 0);
	memcpy(&got, arg + out_fd, sizeof(got));
	if (got || fcntl(0, F_GETFD) < 0) {
		fprintf(stderr, "# %s: file %d, not 0\n", name_of(request), got);
		wrong++;
	}
	dup2(saved, 0);
	close(saved);
	return wrong;
}

int check_structure(int fd, unsigned long request, const void *good, size_t size, int expected,
		    bool written_back)
{
	int wrong = check_lengths(fd, request, good, size, expected);

	wrong += check_pointers(fd, request, good, size);
	if (written_back && !expected)
		wrong += check_read_only(fd, request, good, size);
	return wrong;
}

static bool is_ioctl_of(unsigned long request, enum file_kind kind)
{
	for (size_t i = 0; i < num_ioctls; i++)
		if (ioctls[i].request == request && ioctls[i].kind == kind)
			return true;
	return false;
}

int check_numbers(int fd, enum file_kind kind)
{
	uint8_t arg[16 * 1024] = {};
	int wrong = 0;

	for (unsigned int nr = 0; nr < 256; nr++) {
		const unsigned long requests[] = {
			_IO(NNACCEL_TYPE, nr),
			_IO(NNACCEL_TYPE - 1, nr),
			_IOC(_IOC_READ, NNACCEL_TYPE, nr, 88),
			_IOC(_IOC_READ | _IOC_WRITE, NNACCEL_TYPE, nr, 4),
		};

		for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
			if (!is_ioctl_of(requests[i], kind))
				wrong += check_error(requests[i], "on this file",
						     xioctl(fd, requests[i], arg), ENOTTY);
	}
	return wrong;
}

int check_all_refused(int fd, enum file_kind kind, int error)
{
	uint32_t arg[MAX_SIZE / sizeof(uint32_t)];
	int wrong = 0;

	for (size_t i = 0; i < num_ioctls; i++) {
		if (ioctls[i].kind != kind)
			continue;
		memset(arg, 0, sizeof(arg));
		arg[0] = (uint32_t)ioctls[i].size;
		wrong += check_error(ioctls[i].request, "of another", xioctl(fd, ioctls[i].request, arg),
				     error);
	}
	return wrong;
}

size_t odd_files_open(struct odd_file *files)
{
	sigset_t none;
	int pair[2], ends[2];
	size_t n = 0;

	sigemptyset(&none);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(ends))
		return 0;
#define ODD(_name, _fd)	(files[n++] = (struct odd_file){ _name, _fd })
	ODD("unix socket", pair[0]);
	ODD("unix socket's peer", pair[1]);
	ODD("inet socket", socket(AF_INET, SOCK_DGRAM, 0));
	ODD("pipe's reader", ends[0]);
	ODD("pipe's writer", ends[1]);
	ODD("directory", open("/", O_RDONLY | O_DIRECTORY));
	ODD("null device", open("/dev/null", O_RDWR));
	ODD("zero device", open("/dev/zero", O_RDWR));
	ODD("terminal", open("/dev/ptmx", O_RDWR | O_NOCTTY));
	ODD("eventfd", eventfd(0, 0));
	ODD("epoll", epoll_create1(0));
	ODD("timerfd", timerfd_create(CLOCK_MONOTONIC, 0));
	ODD("signalfd", signalfd(-1, &none, 0));
	ODD("inotify", inotify_init());
	ODD("pidfd", (int)syscall(SYS_pidfd_open, getpid(), 0));
	ODD("namespace", open("/proc/self/ns/mnt", O_RDONLY));
	ODD("file of proc", open("/proc/self/maps", O_RDONLY));
	ODD("entry of proc", open("/proc/version", O_RDONLY));
	ODD("file of sysfs", open("/sys/module/nnaccel/parameters/max_pools", O_RDWR));
#undef ODD
	for (size_t i = 0; i < n; i++)
		if (files[i].fd < 0)
			fprintf(stderr, "# no %s: %s\n", files[i].name, strerrorname_np(errno));
	return n;
}
