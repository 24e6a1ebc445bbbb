/* SPDX-License-Identifier: MIT */
/*
 * Tests mappings of granted memory, and images as arguments of executions. A file simulates the
 * session, and ioctl() is replaced by a function that records sync calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/session/grants.h"
#include "kit/session/rows.h"
#include "kit/worker/worker.h"
#include "tests/heap_blocks.h"

/* Size of a pool that is larger than the worker's memory limit. */
#define POOL (UINT64_C(1) << 32)
#define PRIVATE (UINT64_C(1) << 26)

/*
 * Accesses a pool whose file was truncated. Returns 0 as exit status if the memory reads as zeroes
 * and can be written.
 */
static int touch(uint32_t prot)
{
	const struct nnaccel_grant grant = { .grant = 0, .prot = prot, .length = POOL };
	const struct rlimit limit = { PRIVATE, PRIVATE };
	struct mapping *mapping;
	struct grants grants;
	volatile char *bytes;

	if (!grants_init(&grants, NULL, memfd_create("session", MFD_CLOEXEC)) ||
	    grants_get(&grants, &grant, NULL, &mapping, NULL))
		return 10;
#if !defined(__SANITIZE_ADDRESS__)
	if (setrlimit(RLIMIT_DATA, &limit))
		return 11;
#endif
	(void)limit;
	bytes = mapping->base;
	if (bytes[0] || bytes[POOL - 1])
		return 12;
	if (prot & NNACCEL_PROT_WRITE) {
		bytes[POOL / 2] = 1;
		if (bytes[POOL / 2] != 1)
			return 13;
	}
	return atomic_load(&mapping->broken) ? 0 : 14;
}

/*
 * A process that accesses a pool with a truncated file survives, even if the pool is larger than
 * the worker's memory limit.
 */
static void test_gone_memory(void **state)
{
	static const uint32_t prots[] = { NNACCEL_PROT_READ,
					  NNACCEL_PROT_READ | NNACCEL_PROT_WRITE };
	int status;
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(prots) / sizeof(prots[0]); i++) {
		pid = fork();
		if (!pid)
			_exit(touch(prots[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

/*
 * Accesses lost memory of two sessions, and then two adjacent mappings, one of which has a
 * truncated file.
 */
static int touch_one(void)
{
	const struct nnaccel_grant grant = { .prot = NNACCEL_PROT_READ, .length = 4096 };
	struct mapping *mappings[2], *low, *high;
	struct grants sessions[2];

	/* SIGALRM ends the process if an access hangs. */
	alarm(600);
	for (int i = 0; i < 2; i++)
		if (!grants_init(&sessions[i], NULL, memfd_create("session", MFD_CLOEXEC)))
			return 10;
	for (int i = 0; i < 2; i++) {
		if (grants_get(&sessions[i], &grant, NULL, &mappings[i], NULL))
			return 11;
		if (*(volatile char *)mappings[i]->base || !mapping_is_broken(mappings[i]))
			return 12;
	}
	for (int i = 0; i < 2; i++)
		if (grants_get(&sessions[0], &grant, NULL, &mappings[i], NULL) ||
		    mapping_is_broken(mappings[i]))
			return 13;
		else
			mappings[i]->stale = true;
	low = mappings[0]->base < mappings[1]->base ? mappings[0] : mappings[1];
	high = low == mappings[0] ? mappings[1] : mappings[0];
	if (*(volatile char *)high->base || !mapping_is_broken(high) || mapping_is_broken(low))
		return 14;
	return *(volatile char *)low->base || !mapping_is_broken(low) ? 15 : 0;
}

/* An access to truncated memory that is no grant of a client ends the process. */
static int touch_own(void)
{
	struct grants grants;
	volatile char *bytes;

	bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, memfd_create("own", MFD_CLOEXEC), 0);
	if (!grants_init(&grants, NULL, -1))
		return 10;
	return bytes[0] + 11;
}

static const struct {
	int (*touch)(void);
	int status;
} gone[] = { { touch_one, 0 }, { touch_own, WORKER_EXIT_BUS_ERROR } };

static void test_whose_memory(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		pid = fork();
		if (!pid)
			_exit(gone[i].touch());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), gone[i].status);
	}
}

/* ---- the kernel ---- */

#define PAGE ((uint64_t)sysconf(_SC_PAGESIZE))
#define MAX_SYNCS 16
#define RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

static struct {
	struct nnaccel_format format;	/* format of every image */
	struct { uint32_t grant, flags; } syncs[MAX_SYNCS];
	unsigned int num_syncs;
	unsigned int fails_at;		/* number of the sync call that fails, from 1; 0: none */
	int error;			/* errno of the sync call that fails */
} kernel;

static int sync_memory(const struct nnaccel_session_sync *sync)
{
	assert_true(kernel.num_syncs < MAX_SYNCS);
	kernel.syncs[kernel.num_syncs].grant = sync->grant;
	kernel.syncs[kernel.num_syncs].flags = sync->flags;
	errno = kernel.error;
	return ++kernel.num_syncs == kernel.fails_at ? -1 : 0;
}

int ioctl(int file, unsigned long request, ...)
{
	va_list args;
	void *arg;

	(void)file;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	assert_int_equal(request, NNACCEL_SESSION_SYNC);
	return sync_memory(arg);
}

/* ---- mappings ---- */

static struct nna_engine_region forgotten;
static unsigned int num_forgotten;

static void forget_region(const struct nna_engine *engine, const struct nna_engine_region *region)
{
	(void)engine;
	forgotten = *region;
	num_forgotten++;
}

static const struct nna_engine engine = {
	.size = sizeof(engine), .name = "grants", .forget_region = forget_region,
};

static struct grants grants;
static long allocated;			/* number of heap blocks before the first mapping */
static int session;

/* The first byte of each grant's memory is the grant's number. */
static int set_up(void **state)
{
	(void)state;
	allocated = heap_blocks;
	memset(&kernel, 0, sizeof(kernel));
	num_forgotten = 0;
	session = memfd_create("session", MFD_CLOEXEC);
	for (uint32_t i = 0; i < 8; i++)
		if (pwrite(session, &i, 1, (off_t)i << NNACCEL_GRANT_SHIFT) != 1)
			return -1;
	return ftruncate(session, (off_t)8 << NNACCEL_GRANT_SHIFT) ||
	       !grants_init(&grants, &engine, session);
}

static int tear_down(void **state)
{
	(void)state;
	grants_free(&grants);
	return close(session) || heap_blocks != allocated;
}

static struct mapping *get(uint32_t number, uint32_t prot, uint64_t length)
{
	const struct nnaccel_grant grant = { .grant = number, .prot = prot, .length = length };
	const struct nnaccel_format *format = prot & NNACCEL_PROT_FORMATTED ? &kernel.format : NULL;
	struct nn_error err = { "" };
	struct mapping *mapping;

	assert_int_equal(grants_get(&grants, &grant, format, &mapping, &err), NN_OK);
	assert_int_equal(mapping->length, length);
	return mapping;
}

static unsigned int count_mappings(void)
{
	unsigned int count = 0;

	for (struct mapping *m = grants.mappings; m; m = m->next)
		count++;
	return count;
}

/* Returns whether all pages of a range are mapped. */
static bool is_mapped(void *base, size_t length)
{
	return !msync(base, length, MS_ASYNC);
}

/* Requests with the same grant number, protection and length share one mapping. */
static void test_found(void **state)
{
	struct mapping *one = get(1, RW, PAGE + 1), *same = get(1, RW, PAGE + 1);
	struct mapping *read_only = get(1, NNACCEL_PROT_READ, PAGE + 1);
	struct mapping *other = get(2, RW, PAGE + 1), *longer = get(1, RW, PAGE + 2);

	(void)state;
	assert_ptr_equal(one, same);
	assert_ptr_not_equal(one, read_only);
	assert_ptr_not_equal(one, other);
	assert_ptr_not_equal(one, longer);
	assert_int_equal(count_mappings(), 4);
	assert_int_equal(one->mapped, 2 * PAGE);
	assert_int_equal(*(uint8_t *)one->base, 1);
	assert_int_equal(*(uint8_t *)other->base, 2);
	*(uint8_t *)one->base = 7;
	assert_int_equal(*(uint8_t *)longer->base, 7);
	assert_true(mapping_region(one).is_writable);
	assert_false(mapping_region(read_only).is_writable);
	assert_int_equal(mapping_region(one).length, PAGE + 1);
	assert_ptr_equal(mapping_region(one).base, one->base);
	assert_false(one->is_foreign);
	assert_true(get(3, RW | NNACCEL_PROT_SYNC, PAGE)->is_foreign);
	grants_put(&grants, same);
	for (struct mapping *m = grants.mappings; m; m = m->next)
		grants_put(&grants, m);
}

/*
 * Memory of a freed grant is unmapped when its last user has released the mapping. The engine is
 * notified of the unmapping only if it has received the mapping.
 */
static void test_forgotten(void **state)
{
	struct mapping *one = get(1, RW, PAGE + 1), *other = get(2, RW, PAGE), *again;
	void *base = one->base;

	(void)state;
	grants_put(&grants, NULL);
	get(1, RW, PAGE + 1);
	grants_put(&grants, one);
	grants_put(&grants, one);
	assert_int_equal(count_mappings(), 2);
	assert_true(is_mapped(base, 2 * PAGE));
	get(1, RW, PAGE + 1);
	atomic_store(&one->told, true);
	grants_forget(&grants, 1);
	assert_int_equal(count_mappings(), 2);
	assert_true(is_mapped(base, 2 * PAGE));
	again = get(1, RW, PAGE + 1);
	assert_ptr_not_equal(again, one);
	assert_int_equal(num_forgotten, 0);
	grants_put(&grants, one);
	assert_int_equal(num_forgotten, 1);
	assert_ptr_equal(forgotten.base, base);
	assert_int_equal(forgotten.length, PAGE + 1);
	assert_true(forgotten.is_writable);
	assert_int_equal(count_mappings(), 2);
	assert_false(is_mapped(base, PAGE));
	assert_false(is_mapped((char *)base + PAGE, PAGE));
	/*
	 * Memory of a grant that was not freed stays mapped. The engine is not notified of a
	 * mapping that the engine has not received.
	 */
	assert_true(is_mapped(other->base, PAGE));
	grants_put(&grants, other);
	grants_forget(&grants, 2);
	assert_int_equal(count_mappings(), 1);
	assert_int_equal(num_forgotten, 1);
	grants_put(&grants, again);
}

/*
 * Device memory, which the CPU cannot access, has an address range; each access to the range
 * faults, even after the session has ended.
 */
static void test_device_memory(void **state)
{
	struct mapping *m = get(1, RW | NNACCEL_PROT_DEVICE, PAGE + 1), *plain = get(2, RW, PAGE);
	struct nna_engine_region region = mapping_region(m);
	int file = memfd_create("x", MFD_CLOEXEC);

	(void)state;
	assert_true(region.is_device_memory && region.is_writable);
	assert_int_equal(region.length, PAGE + 1);
	assert_false(mapping_region(plain).is_device_memory);
	for (int revoked = 0; revoked < 2; revoked++) {
		assert_true(is_mapped(m->base, 2 * PAGE));
		for (int page = 0; page < 2; page++)
			assert_int_equal(write(file, (char *)m->base + page * PAGE, 1), -1);
		grants_revoke(&grants);
	}
	close(file);
	grants_put(&grants, plain);
	grants_put(&grants, m);
	assert_int_equal(count_mappings(), 0);
}

/*
 * After a session has ended, the session's memory reads as zeroes, and the session can map no more
 * memory.
 */
static void test_revoked(void **state)
{
	const struct nnaccel_grant grant = { .grant = 3, .prot = RW, .length = PAGE };
	struct mapping *one = get(1, RW, PAGE), *unused = get(2, NNACCEL_PROT_READ, PAGE), *none;
	struct nn_error err = { "" };
	uint8_t byte;

	(void)state;
	grants_put(&grants, unused);
	assert_false(mapping_is_broken(one));
	grants_revoke(&grants);
	assert_true(mapping_is_broken(one));
	assert_int_equal(*(uint8_t *)one->base, 0);
	assert_int_equal(*(uint8_t *)unused->base, 0);
	*(uint8_t *)one->base = 9;
	assert_int_equal(pread(session, &byte, 1, (off_t)1 << NNACCEL_GRANT_SHIFT), 1);
	assert_int_equal(byte, 1);
	assert_int_equal(grants_get(&grants, &grant, NULL, &none, &err), NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "the session has ended");
	assert_null(none);
	assert_int_equal(count_mappings(), 2);
	grants_sweep(&grants);
	assert_int_equal(count_mappings(), 1);
	grants_put(&grants, one);
	assert_int_equal(count_mappings(), 0);
}

static void test_cannot_be_mapped(void **state)
{
	const struct nnaccel_grant huge = { .grant = 1, .prot = RW, .length = INT64_MAX / 2 };
	struct nn_error err = { "" };
	struct mapping *mapping;

	(void)state;
	assert_int_equal(grants_get(&grants, &huge, NULL, &mapping, &err),
			 NN_RESOURCE_EXHAUSTED_PERSISTENT);
	assert_non_null(strstr(err.message, strerror(ENOMEM)));
	assert_null(mapping);
	assert_int_equal(count_mappings(), 0);
}

/* The end of a session does not affect other sessions of the same process. */
static void test_sessions(void **state)
{
	struct grants others[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(grants_init(&others[i], &engine, session));
	grants_free(&others[1]);
	grants_free(&others[2]);
	assert_ptr_equal(others[0].next, &grants);
	grants_free(&others[0]);
}

/* ---- images ---- */

/*
 * Returns an image with four planes. The first and the third plane are in the image's own file; the
 * second plane is in a second file, and the fourth plane in a third file.
 */
static struct mapping *get_image(uint32_t prot)
{
	static const uint32_t files[] = { 1, 2, 1, 3 };

	kernel.format.num_planes = 4;
	for (uint32_t i = 0; i < 4; i++)
		kernel.format.planes[i].grant = (struct nnaccel_grant){
			.grant = files[i], .length = PAGE,
			.prot = prot | (files[i] == 3 ? NNACCEL_PROT_SYNC : 0),
		};
	return get(1, prot | NNACCEL_PROT_FORMATTED, PAGE);
}

static void test_planes(void **state)
{
	struct mapping *used = get(2, RW, PAGE), *m = get_image(RW), *others[2];

	(void)state;
	assert_int_equal(m->format.num_planes, 4);
	assert_null(m->others[0]);
	assert_ptr_equal(m->others[1], used);
	assert_null(m->others[2]);
	assert_int_equal(m->others[3]->grant, 3);
	assert_true(m->is_foreign);
	assert_int_equal(count_mappings(), 3);
	others[0] = m->others[1];
	others[1] = m->others[3];
	for (int i = 0; i < 2; i++) {
		assert_false(mapping_is_broken(m));
		atomic_store(&others[i]->broken, true);
		assert_true(mapping_is_broken(m));
		atomic_store(&others[i]->broken, false);
	}
	/* While an image is in use, the files of the image's planes stay mapped. */
	grants_put(&grants, used);
	grants_forget(&grants, 2);
	grants_forget(&grants, 3);
	assert_int_equal(count_mappings(), 3);
	grants_put(&grants, m);
	grants_forget(&grants, 1);
	assert_int_equal(count_mappings(), 0);
}

/* If the file of a plane cannot be mapped, no plane of the image stays in use. */
static void test_missing_plane(void **state)
{
	const struct nnaccel_grant grant = {
		.grant = 1, .prot = RW | NNACCEL_PROT_FORMATTED, .length = PAGE,
	};
	struct nn_error err = { "" };
	struct mapping *mapping;

	(void)state;
	grants_put(&grants, get_image(RW));
	grants_forget(&grants, 1);
	kernel.format.planes[3].grant.length = INT64_MAX / 2;
	assert_int_equal(grants_get(&grants, &grant, &kernel.format, &mapping, &err),
			 NN_RESOURCE_EXHAUSTED_PERSISTENT);
	for (struct mapping *m = grants.mappings; m; m = m->next)
		assert_int_equal(m->users, 0);
	assert_int_equal(count_mappings(), 2);
}

#define END NNACCEL_SYNC_END

/* Expected sync requests for an image; request number `fails_at` fails. */
static const struct {
	const char *name;
	uint32_t prot, flags;
	unsigned int fails_at;
	int error;
	enum nn_status status;
	uint32_t expected[MAX_SYNCS][2];	/* grant and flags of each sync, followed by 0 */
} syncs[] = {
	{ "all", NNACCEL_PROT_SYNC, 1, 0, 0, NN_OK, { { 1, 1 }, { 2, 1 }, { 3, 1 } } },
	{ "end", NNACCEL_PROT_SYNC, 2 | END, 0, 0, NN_OK,
	  { { 1, 2 | END }, { 2, 2 | END }, { 3, 2 | END } } },
	{ "first fails", NNACCEL_PROT_SYNC, 1, 1, EIO, NN_GENERAL_FAILURE, { { 1, 1 } } },
	{ "second fails", NNACCEL_PROT_SYNC, 1, 2, EIO, NN_GENERAL_FAILURE,
	  { { 1, 1 }, { 2, 1 }, { 1, 1 | END } } },
	{ "last fails", NNACCEL_PROT_SYNC, 3, 3, EIO, NN_GENERAL_FAILURE,
	  { { 1, 3 }, { 2, 3 }, { 3, 3 }, { 1, 3 | END }, { 2, 3 | END } } },
	{ "first end fails", NNACCEL_PROT_SYNC, 1 | END, 1, EIO, NN_GENERAL_FAILURE,
	  { { 1, 1 | END }, { 2, 1 | END }, { 3, 1 | END } } },
	{ "last end fails", NNACCEL_PROT_SYNC, 1 | END, 3, EIO, NN_GENERAL_FAILURE,
	  { { 1, 1 | END }, { 2, 1 | END }, { 3, 1 | END } } },
	{ "interrupted", NNACCEL_PROT_SYNC, 1, 1, EINTR, NN_OK,
	  { { 1, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 } } },
	{ "a file", 0, 1, 1, EOPNOTSUPP, NN_OK, { { 1, 1 }, { 2, 1 }, { 3, 1 } } },
	{ "no file", NNACCEL_PROT_SYNC, 1, 1, EOPNOTSUPP, NN_GENERAL_FAILURE, { { 1, 1 } } },
};

static void test_syncs(void **state)
{
	struct nn_error err;
	struct mapping *m;
	unsigned int count;

	(void)state;
	for (size_t i = 0; i < sizeof(syncs) / sizeof(syncs[0]); i++) {
		m = get_image(RW | syncs[i].prot);
		err.message[0] = '\0';
		kernel.num_syncs = 0;
		kernel.fails_at = syncs[i].fails_at;
		kernel.error = syncs[i].error;
		if (grants_sync(&grants, m, syncs[i].flags, &err) != syncs[i].status)
			fail_msg("%s: %s", syncs[i].name, err.message);
		for (count = 0; syncs[i].expected[count][0]; count++)
			if (kernel.syncs[count].grant != syncs[i].expected[count][0] ||
			    kernel.syncs[count].flags != syncs[i].expected[count][1])
				fail_msg("%s: request %u", syncs[i].name, count);
		if (kernel.num_syncs != count)
			fail_msg("%s: %u requests", syncs[i].name, kernel.num_syncs);
		grants_put(&grants, m);
		grants_forget(&grants, 1);
	}
}

/* ---- images as arguments ---- */

#define IMAGE_BYTES 64

#define PLANE(at, step, length, count) \
	{ .offset = at, .stride = step, .row_bytes = length, .rows = count }

/*
 * Images in two files: bytes 0 to 63 are in the image's own file, and bytes 64 to 127 are in a
 * second file.
 */
static const struct {
	const char *name;
	uint32_t num_planes;
	struct nnaccel_format_plane planes[NNACCEL_MAX_PLANES];
	uint8_t others;			/* bit set of the planes that lie in the second file */
	bool is_dense;			/* true: no pixels are copied */
	uint8_t pixels[32];		/* expected bytes of the tensor, ended by a 0 */
} images[] = {
	{ "dense", 1, { PLANE(2, 3, 3, 2) }, 0, true, { 2, 3, 4, 5, 6, 7 } },
	{ "padded", 1, { PLANE(2, 4, 3, 3) }, 0, false, { 2, 3, 4, 6, 7, 8, 10, 11, 12 } },
	{ "one padded row", 1, { PLANE(1, 9, 3, 1) }, 0, true, { 1, 2, 3 } },
	{ "planes in a row", 2, { PLANE(4, 2, 2, 2), PLANE(8, 3, 3, 1) }, 0, true,
	  { 4, 5, 6, 7, 8, 9, 10 } },
	{ "a gap", 2, { PLANE(4, 2, 2, 2), PLANE(9, 1, 1, 2) }, 0, false, { 4, 5, 6, 7, 9, 10 } },
	{ "the wrong way round", 2, { PLANE(9, 2, 2, 2), PLANE(1, 1, 1, 3) }, 0, false,
	  { 9, 10, 11, 12, 1, 2, 3 } },
	{ "three planes", 3, { PLANE(1, 2, 2, 2), PLANE(5, 1, 1, 1), PLANE(6, 1, 1, 1) }, 0, true,
	  { 1, 2, 3, 4, 5, 6 } },
	{ "a plane in another file", 2, { PLANE(1, 2, 2, 1), PLANE(3, 1, 1, 2) }, 2, false,
	  { 1, 2, 67, 68 } },
	{ "the second plane is padded", 2, { PLANE(1, 2, 2, 1), PLANE(3, 2, 1, 2) }, 0, false,
	  { 1, 2, 3, 5 } },
};

static void test_images(void **state)
{
	/* The planes after the first num_planes planes of an image are ignored. */
	const struct nnaccel_format_plane no_plane = PLANE(40, 1, 1, 1);
	uint8_t bytes[2 * IMAGE_BYTES], tensor[32];
	struct mapping other = { .base = bytes + IMAGE_BYTES };
	struct nn_error err = { "" };
	struct nn_arg arg;
	void *staged;
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		struct mapping m = { .base = bytes, .format.num_planes = images[i].num_planes };

		for (uint32_t plane = 0; plane < NNACCEL_MAX_PLANES; plane++) {
			m.format.planes[plane] = no_plane;
			if (plane < images[i].num_planes)
				m.format.planes[plane] = images[i].planes[plane];
			m.others[plane] = images[i].others >> plane & 1 ? &other : NULL;
		}
		count = strlen((const char *)images[i].pixels);
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)k;
		for (int is_output = 0; is_output < 2; is_output++) {
			assert_int_equal(rows_begin(&m, is_output, &arg, &staged, &err), NN_OK);
			if (!staged != images[i].is_dense || arg.length != count ||
			    (!is_output && memcmp(arg.data, images[i].pixels, count)))
				fail_msg("%s", images[i].name);
			/*
			 * The image does not change if the image is an input, or if the image is an
			 * output and the execution fails.
			 */
			if (staged)
				memset(staged, 0xee, count);
			rows_end(&m, false, staged);
			for (size_t k = 0; k < sizeof(bytes); k++)
				assert_int_equal(bytes[k], k);
		}
		assert_int_equal(rows_begin(&m, true, &arg, &staged, &err), NN_OK);
		for (size_t k = 0; k < count; k++)
			tensor[k] = (uint8_t)(0x80 + k);
		memcpy(arg.data, tensor, count);
		rows_end(&m, true, staged);
		for (size_t k = 0; k < sizeof(bytes); k++) {
			const uint8_t *at = k ? memchr(images[i].pixels, (int)k, count) : NULL;

			if (bytes[k] != (at ? tensor[at - images[i].pixels] : k))
				fail_msg("%s: byte %zu is %u", images[i].name, k, bytes[k]);
		}
	}
}

#if !defined(__SANITIZE_ADDRESS__)
static void test_no_memory_for_rows(void **state)
{
	const struct mapping m = {
		.format.num_planes = 1,
		.format.planes = { PLANE(0, UINT32_MAX, UINT32_MAX - 1, UINT32_MAX) },
	};
	struct nn_error err = { "" };
	struct nn_arg arg;
	void *staged;

	(void)state;
	assert_int_equal(rows_begin(&m, false, &arg, &staged, &err), NN_OUT_OF_MEMORY);
	assert_non_null(strstr(err.message, "image"));
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gone_memory),
		cmocka_unit_test(test_whose_memory),
		TEST(found),
		TEST(forgotten),
		TEST(device_memory),
		TEST(revoked),
		TEST(cannot_be_mapped),
		TEST(sessions),
		TEST(planes),
		TEST(missing_plane),
		TEST(syncs),
		TEST(images),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(test_no_memory_for_rows),
#endif
	};

	return cmocka_run_group_tests_name("engine grants", tests, NULL, NULL);
}
