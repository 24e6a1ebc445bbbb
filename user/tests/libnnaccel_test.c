/* SPDX-License-Identifier: MIT */
/*
 * Tests libnnaccel without the kernel module. The test imitates the kernel by replacing ioctl().
 * The replaced ioctl() checks each request, and can return any answer and any errno.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/nnaccel.h>
#include <nnaccel/engine_model.h>
#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "tests/played_submit.h"

#define MAX_IDS 64
#define PAGE 4096

/* ---- the kernel ---- */

static struct kernel {
	unsigned long fail_request;	/* fails with ... */
	int fail_error;
	int info_error;			/* errno of the request NNACCEL_INFO */
	uint32_t abi;
	uint32_t engine;
	uint32_t status;		/* status that the engine returns for each command */
	const char *message;
	uint32_t next_id;
	int live[MAX_IDS];
	unsigned int queries;
	struct nn_device_info device;
	uint32_t device_size;
	/* argument of the last import, not counting imports of serialised models */
	struct nnaccel_pool_import import;
	unsigned int imports;	/* number of imports; imported_prot has their access flags */
	uint32_t imported_prot;
	/* true: NNACCEL_WORK_CACHE_SAVE got memory for the model part and for the data part */
	bool saves_to_memory;
	void *wire;			/* serialised form of the last model, and its size */
	size_t wire_size;
	int wire_seals;
	struct nnaccel_prepare prepare;
	struct nnaccel_execute execute;
	struct nnaccel_arg args[16];
	struct nnaccel_shape shape;
	uint32_t num_shapes;
	int list_error;		/* if not 0, the folder of the devices in sysfs fails to open */
	int node_error;		/* if not 0, the first device's node is not accessible */
	/* While `holds` is set, each allocation waits; `held` is set while an allocation waits. */
	atomic_bool holds, held;
} kernel;

static uint32_t new_id(void)
{
	uint32_t id = ++kernel.next_id;

	assert_true(id < MAX_IDS);
	kernel.live[id] = 1;
	return id;
}

static int num_live(void)
{
	int count = 0;

	for (int i = 0; i < MAX_IDS; i++)
		count += kernel.live[i];
	return count;
}

static int give_errno(int error)
{
	errno = error;
	return -1;
}

static int do_import(struct nnaccel_pool_import *i)
{
	int seals = fcntl(i->fd, F_GET_SEALS);

	if (i->fd < 0)
		return give_errno(EBADF);
	if (seals > 0 && seals & F_SEAL_WRITE) {
		free(kernel.wire);
		kernel.wire = malloc(i->length);
		kernel.wire_size = i->length;
		kernel.wire_seals = seals;
		assert_int_equal(pread(i->fd, kernel.wire, i->length, 0), i->length);
	} else {
		kernel.import = *i;
		kernel.imports++;
		kernel.imported_prot |= i->prot;
	}
	i->out_id = new_id();
	return 0;
}

static int do_info(struct nnaccel_info *i)
{
	if (kernel.info_error)
		return give_errno(kernel.info_error);
	i->abi = kernel.abi;
	i->engine = kernel.engine;
	i->executions = 42;
	i->engine_wait_ms = 1234;
	return 0;
}

static int do_query(struct nnaccel_query *q)
{
	kernel.queries++;
	q->out_status = kernel.status;
	q->data_size = kernel.device_size;
	memcpy((void *)(uintptr_t)q->data, &kernel.device, sizeof(kernel.device));
	return 0;
}

static uint32_t say(uint64_t message, uint32_t size)
{
	if (kernel.message)
		strncpy((char *)(uintptr_t)message, kernel.message, size - 1);
	return kernel.status;
}

static int do_execute(struct nnaccel_execute *e)
{
	kernel.execute = *e;
	memcpy(kernel.args, (void *)(uintptr_t)e->args,
	       (e->num_inputs + e->num_outputs) * sizeof(*kernel.args));
	e->out_status = say(e->message, e->message_size);
	e->out_num_shapes = kernel.num_shapes;
	e->out_device_ns = e->flags & NNACCEL_EXECUTE_MEASURE ? 1999 : NNACCEL_TIME_NONE;
	e->out_driver_ns = e->flags & NNACCEL_EXECUTE_MEASURE ? 5000 : NNACCEL_TIME_NONE;
	if (kernel.num_shapes)
		memcpy((void *)(uintptr_t)e->shapes, &kernel.shape, sizeof(kernel.shape));
	return 0;
}

static int do_request(unsigned long request, void *arg)
{
	struct nnaccel_supported *s = arg;
	struct nnaccel_prepare *p = arg;
	struct nnaccel_prepare_cached *cached = arg;
	const struct nnaccel_cache_part *parts;
	struct nnaccel_cache_save *save = arg;

	switch (request) {
	case NNACCEL_INFO:
		return do_info(arg);
	case NNACCEL_DESTROY:
		kernel.live[((struct nnaccel_destroy *)arg)->id]--;
		return 0;
	case NNACCEL_POOL_ALLOC:
		kernel.held = kernel.holds;
		while (kernel.holds)
			usleep(1000);
		((struct nnaccel_pool_alloc *)arg)->out_id = new_id();
		return 0;
	case NNACCEL_POOL_IMPORT:
		return do_import(arg);
	case NNACCEL_WORK_QUERY:
		return do_query(arg);
	case NNACCEL_WORK_SUPPORTED:
		s->out_status = say(s->message, s->message_size);
		memset((void *)(uintptr_t)s->supported, 2, s->num_operations);
		return 0;
	case NNACCEL_WORK_PREPARE:
		kernel.prepare = *p;
		p->out_status = say(p->message, p->message_size);
		p->out_model = kernel.status ? 0 : new_id();
		return 0;
	case NNACCEL_WORK_PREPARE_CACHED:
		cached->out_status = say(cached->message, cached->message_size);
		cached->out_model = kernel.status ? 0 : new_id();
		return 0;
	case NNACCEL_WORK_CACHE_SAVE:
		parts = (void *)(uintptr_t)save->parts;
		kernel.saves_to_memory = parts[0].pool && parts[1].pool;
		save->out_status = parts[0].pool ? NNACCEL_STATUS_GENERAL_FAILURE : 0;
		for (uint32_t i = 0; i < save->num_model_parts + save->num_data_parts; i++)
			((uint64_t *)(uintptr_t)save->sizes)[i] = 8;
		return 0;
	case NNACCEL_WORK_EXECUTE:
		return do_execute(arg);
	}
	return give_errno(ENOTTY);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	request = played_request(request, &arg);
	assert_return_code(fcntl(fd, F_GETFD), errno);
	if (kernel.fail_error && kernel.fail_request == request)
		return give_errno(kernel.fail_error);
	return do_request(request, arg);
}

/* ---- sysfs ---- */

#define CLASS "/sys/class/nnaccel"

/* The entries of the folder CLASS, in no order; an attribute that is NULL has no file. */
static const struct {
	const char *node, *name, *version, *type, *state;
} entries[] = {
	{ "nnaccel93", "tpu\n", "v2\n", "accelerator\n", "ready\n" },
	{ "other", "gpu\n", "v1\n", "gpu\n", "ready\n" },
	{ "nnaccel9", "\n", "v1", "cpu\n", "reads\n" },
	{ "nnaccel95", "gpu\n", "", "quantum\n", "ready\n" },
	{ "nnaccel94", "another\n", NULL, "other\n", NULL },
	{ "nnaccel96", "gpu\n", "v3\n", "gpu\n", "ready" },
};

#define NUM_ENTRIES (sizeof(entries) / sizeof(entries[0]))

__attribute__((visibility("default")))
int scandir(const char *path, struct dirent ***names, int (*filter)(const struct dirent *),
	    int (*compare)(const struct dirent **, const struct dirent **))
{
	int count = 0, at;

	assert_string_equal(path, CLASS);
	if (kernel.list_error)
		return give_errno(kernel.list_error);
	*names = calloc(NUM_ENTRIES, sizeof(**names));
	assert_non_null(*names);
	for (size_t i = 0; i < NUM_ENTRIES; i++) {
		struct dirent *name = calloc(1, sizeof(*name));

		assert_non_null(name);
		strcpy(name->d_name, entries[i].node);
		if (!filter(name)) {
			free(name);
			continue;
		}
		for (at = count++; at; at--) {
			const struct dirent *pair[] = { (*names)[at - 1], name };

			if (compare(&pair[0], &pair[1]) < 0)
				break;
			(*names)[at] = (*names)[at - 1];
		}
		(*names)[at] = name;
	}
	return count;
}

__attribute__((visibility("default"))) int access(const char *path, int how)
{
	assert_string_equal(path, NNA_DEVICE_PATH);
	assert_int_equal(how, F_OK);
	return kernel.node_error ? give_errno(kernel.node_error) : 0;
}

__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *, const char *);
	char node[16], attribute[16];
	const char *text = NULL;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	if (sscanf(path, CLASS "/%15[^/]/%15s", node, attribute) != 2)
		return real(path, mode);
	for (size_t i = 0; i < NUM_ENTRIES; i++)
		if (!strcmp(entries[i].node, node))
			text = !strcmp(attribute, "name") ? entries[i].name :
			       !strcmp(attribute, "version") ? entries[i].version :
			       !strcmp(attribute, "type") ? entries[i].type :
			       !strcmp(attribute, "state") ? entries[i].state : NULL;
	return text ? fmemopen((void *)text, strlen(text) + !*text, mode) : NULL;
}

/* ---- what the tests share ---- */

static struct nna_device *device;
static struct nn_error err;

static int set_up(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.abi = NNACCEL_ABI_VERSION;
	kernel.engine = NNACCEL_ENGINE_ATTACHED;
	kernel.num_shapes = 1;
	kernel.shape = (struct nnaccel_shape){ NNACCEL_SHAPE_SUFFICIENT, 1, { 4 } };
	kernel.device_size = sizeof(kernel.device);
	kernel.device = (struct nn_device_info){
		.magic = NN_DEVICE_MAGIC,
		.size = sizeof(kernel.device),
		.version = "1",
		.type = NN_DEVICE_CPU,
		.feature_level = 4,
	};
	err.message[0] = 0;
	return nna_device_open("/dev/null", &device, &err);
}

static int tear_down(void **state)
{
	(void)state;
	nna_device_close(device);
	free(kernel.wire);
	return 0;
}

/* The model x + y, with y at byte 8 of pool 0. */
static const uint32_t add_inputs[] = { 0, 1, 2 }, add_outputs[] = { 3 };
static const struct nn_operation add_operation = { 0, 3, 1, add_inputs, add_outputs };
static const struct nn_operand add_operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_INPUT, .rank = 1, .dims = { 4 },
	  .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_CONSTANT_REFERENCE, .rank = 1, .dims = { 4 },
	  .consumers = 1, .location = { .length = 16, .offset = 8 } },
	{ .type = NN_INT32, .lifetime = NN_CONSTANT_COPY, .consumers = 1,
	  .location = { .length = 4 } },
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT, .rank = 1, .dims = { 4 } },
};
static const struct nn_subgraph add_subgraph = {
	4, 1, 1, 1, add_operands, &add_operation, add_inputs, add_outputs,
};
static const uint64_t add_values[1];
static const struct nn_model add_model = {
	.size = sizeof(add_model),
	.num_subgraphs = 1, .num_pools = 1, .subgraphs = &add_subgraph,
	.values = (const uint8_t *)add_values, .values_size = 4,
};

static struct nna_memory *alloc(uint64_t size)
{
	struct nna_memory *m;

	assert_int_equal(nna_memory_alloc(device, size, &m, &err), NN_OK);
	return m;
}

/* Makes a file of two pages. */
static int make_file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_return_code(fd, errno);
	assert_return_code(ftruncate(fd, 2 * PAGE), errno);
	return fd;
}

static struct nna_memory *import(int fd, uint64_t offset, uint64_t size)
{
	struct nna_memory *m;

	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
					   .offset = offset, .length = size), &m, &err), NN_OK);
	return m;
}

static struct nna_prepared_model *prepare(struct nna_memory *constants)
{
	struct nna_prepared_model *p;

	assert_int_equal(nna_prepare_model(device, &add_model, &constants, NULL, &p, &err), NN_OK);
	return p;
}

static enum nn_status execute(struct nna_prepared_model *p, struct nna_memory *m,
			      struct nna_argument input, const struct nna_execute_options *options)
{
	struct nna_argument output = { .offset = 64, .length = 16 };
	struct nna_request r = { .size = sizeof(r), 1, 1, 1, &input, &output, &m, 0, NULL };

	return nna_execute(p, &r, options, NULL, &err);
}

static uint64_t seconds_from_now(int64_t seconds)
{
	return clock_ns() + (uint64_t)seconds * NS_PER_S;
}

/* ---- tests ---- */

static void test_open_refusals(void **state)
{
	struct nna_device *d;

	(void)state;
	assert_int_equal(nna_device_open("/nowhere", &d, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "/nowhere"));
	assert_int_equal(nna_device_open("/nowhere", &d, NULL), NN_DEVICE_UNAVAILABLE);
	kernel.info_error = ENOTTY;
	assert_int_equal(nna_device_open("/dev/null", &d, NULL), NN_DEVICE_UNAVAILABLE);
	kernel.info_error = 0;
	kernel.abi = NNACCEL_ABI_VERSION + 1;
	assert_int_equal(nna_device_open("/dev/null", &d, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "upgrade the library"));
	kernel.abi = NNACCEL_ABI_VERSION - 1;
	assert_int_equal(nna_device_open("/dev/null", &d, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "upgrade the module"));
}

static void test_list(void **state)
{
	static const struct nna_device_entry wanted[] = {
		{ "/dev/nnaccel9", "", "v1", NN_DEVICE_CPU, false },
		{ "/dev/nnaccel93", "tpu", "v2", NN_DEVICE_ACCELERATOR, true },
		{ "/dev/nnaccel94", "another", "", NN_DEVICE_OTHER, false },
		{ "/dev/nnaccel95", "gpu", "", 0, true },
		{ "/dev/nnaccel96", "gpu", "v3", NN_DEVICE_GPU, true },
	};
	struct nna_device_entry list[6];
	uint32_t count = 6;
	struct nna_device *d;

	(void)state;
	assert_int_equal(nna_device_list(list, sizeof(list[0]), &count, &err), NN_OK);
	assert_int_equal(count, 5);
	for (int i = 0; i < 5; i++) {
		assert_string_equal(list[i].path, wanted[i].path);
		assert_string_equal(list[i].name, wanted[i].name);
		assert_string_equal(list[i].version, wanted[i].version);
		assert_int_equal(list[i].type, wanted[i].type);
		assert_int_equal(list[i].is_ready, wanted[i].is_ready);
	}
	/* If the array is too small, nna_device_list() still returns the number of all devices. */
	memset(list, 0x5a, sizeof(list));
	count = 1;
	assert_int_equal(nna_device_list(list, sizeof(list[0]), &count, &err), NN_OK);
	assert_int_equal(count, 5);
	assert_string_equal(list[0].path, "/dev/nnaccel9");
	assert_int_equal(list[1].path[0], 0x5a);

	assert_int_equal(nna_device_open_by_name("nobody", &d, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "no device is named nobody"));
	assert_int_equal(nna_device_open_by_name("", &d, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "no device is named"));
	assert_int_equal(nna_device_open_by_name("gpu", &d, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "/dev/nnaccel95"));
}

/* Without sysfs, the library lists the first device if its node exists. */
static void test_list_without_sysfs(void **state)
{
	struct nna_device_entry list[2];

	(void)state;
	for (uint32_t room = 0; room < 2; room++) {
		uint32_t count = room;

		kernel.list_error = ENOENT;
		kernel.node_error = 0;
		memset(list, 0x5a, sizeof(list));
		assert_int_equal(nna_device_list(list, sizeof(list[0]), &count, &err), NN_OK);
		assert_int_equal(count, 1);
		assert_int_equal(list[room].path[0], 0x5a);
		if (room) {
			assert_string_equal(list[0].path, NNA_DEVICE_PATH);
			assert_string_equal(list[0].name, "");
			assert_int_equal(list[0].type, 0);
			assert_true(list[0].is_ready);
		}
		kernel.node_error = ENOENT;
		assert_int_equal(nna_device_list(list, sizeof(list[0]), &count, &err), NN_OK);
		assert_int_equal(count, 0);
		kernel.list_error = ENOMEM;
		assert_int_equal(nna_device_list(list, sizeof(list[0]), &count, &err), NN_OUT_OF_MEMORY);
	}
}

static void test_device_status(void **state)
{
	(void)state;
	assert_int_equal(nna_device_status(device), NNA_AVAILABLE);
	kernel.engine = NNACCEL_ENGINE_ABSENT;
	assert_int_equal(nna_device_status(device), NNA_OFFLINE);
	kernel.info_error = EACCES;
	assert_int_equal(nna_device_status(device), NNA_UNKNOWN);
}

static void test_info_is_asked_once(void **state)
{
	struct nn_device_info info = { .size = sizeof(info) };

	(void)state;
	kernel.device_size--;
	assert_int_equal(nna_device_get_info(device, &info, NULL), NN_GENERAL_FAILURE);
	kernel.device_size++;
	kernel.status = NNACCEL_STATUS_INVALID_ARGUMENT;
	assert_int_equal(nna_device_get_info(device, &info, NULL), NN_INVALID_ARGUMENT);
	kernel.status = 0;
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	assert_string_equal(info.version, "1");
	assert_int_equal(kernel.queries, 3);
}

/*
 * The library refuses structures of an impossible size, both structures that it reads and
 * structures that it writes.
 */
static void test_sizes_beyond_reason(void **state)
{
	static uint32_t longer[2048] __attribute__((aligned(8)));
	struct nn_device_info info = { .size = UINT32_MAX };
	struct nna_memory *m = alloc(24);
	struct nna_prepared_model *p;

	(void)state;
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "4294967295"));
	longer[0] = 4096;
	assert_int_equal(nna_prepare_model(device, &add_model, &m, (const void *)longer, &p, &err),
			 NN_OK);
	nna_prepared_model_free(p);
	longer[0]++;
	assert_int_equal(nna_prepare_model(device, &add_model, &m, (const void *)longer, &p, &err),
			 NN_INVALID_ARGUMENT);
	nna_memory_free(m);
}

/*
 * After a worker's end the library requests the device's description again, because the next worker
 * may belong to another engine.
 */
static void test_info_of_another_engine(void **state)
{
	struct nn_device_info info = { .size = sizeof(info) };

	(void)state;
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	strcpy(kernel.device.version, "2");
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	assert_string_equal(info.version, "1");
	/* While there is no engine, the library returns the description of the last engine. */
	kernel.engine = NNACCEL_ENGINE_ABSENT;
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	assert_string_equal(info.version, "1");
	assert_int_equal(kernel.queries, 1);
	kernel.engine = NNACCEL_ENGINE_PENDING;
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	assert_string_equal(info.version, "2");
	assert_int_equal(kernel.queries, 2);
}

/*
 * A preparation starts a new worker; after a preparation the library must request the device's
 * description again.
 */
static void test_info_after_a_model(void **state)
{
	struct nna_memory *m = alloc(24);
	struct nn_device_info info = { .size = sizeof(info) };

	(void)state;
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	strcpy(kernel.device.version, "2");
	kernel.engine = NNACCEL_ENGINE_PENDING;
	nna_prepared_model_free(prepare(m));
	kernel.engine = NNACCEL_ENGINE_ATTACHED;
	assert_int_equal(nna_device_get_info(device, &info, &err), NN_OK);
	assert_string_equal(info.version, "2");
	nna_memory_free(m);
}

static void test_errno_to_status(void **state)
{
	static const struct {
		int error;
		enum nn_status status;
	} cases[] = {
		{ ENOTCONN, NN_DEVICE_UNAVAILABLE },
		{ ETIMEDOUT, NN_DEVICE_UNAVAILABLE },
		{ EUSERS, NN_DEVICE_UNAVAILABLE },
		{ EAGAIN, NN_DEVICE_UNAVAILABLE },
		{ ENOTTY, NN_DEVICE_UNAVAILABLE },
		{ EPIPE, NN_DEAD_OBJECT },
		{ ENOTRECOVERABLE, NN_DEAD_OBJECT },
		{ ESTALE, NN_DEAD_OBJECT },
		{ ETIME, NN_MISSED_DEADLINE_TRANSIENT },
		{ EDQUOT, NN_RESOURCE_EXHAUSTED_TRANSIENT },
		{ ENOSPC, NN_RESOURCE_EXHAUSTED_TRANSIENT },
		{ ENOMEM, NN_RESOURCE_EXHAUSTED_TRANSIENT },
		{ EFBIG, NN_RESOURCE_EXHAUSTED_PERSISTENT },
		{ EINVAL, NN_INVALID_ARGUMENT },
		{ EBADF, NN_INVALID_ARGUMENT },
		{ EOPNOTSUPP, NN_INVALID_ARGUMENT },
		{ EPERM, NN_INVALID_ARGUMENT },
		{ ENOENT, NN_INVALID_ARGUMENT },
		{ EACCES, NN_INVALID_ARGUMENT },
		{ EIO, NN_GENERAL_FAILURE },
	};
	struct nna_memory *m;

	(void)state;
	kernel.fail_request = NNACCEL_POOL_ALLOC;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nn_error e = { "" };

		kernel.fail_error = cases[i].error;
		assert_int_equal(nna_memory_alloc(device, 1, &m, &e), cases[i].status);
		assert_memory_equal(e.message, "memory: ", 8);
	}
	assert_int_equal(num_live(), 0);
}

/* The library reports different errors for a missing engine and for a slow engine. */
static void test_slow_worker(void **state)
{
	struct nna_memory *m = alloc(24);
	struct nna_prepared_model *p;

	(void)state;
	kernel.fail_request = NNACCEL_WORK_PREPARE;
	kernel.fail_error = ENOTCONN;
	assert_int_equal(nna_prepare_model(device, &add_model, &m, NULL, &p, &err),
			 NN_DEVICE_UNAVAILABLE);
	assert_string_equal(err.message, "prepare: no engine is running (start nnacceld)");
	kernel.fail_error = ETIMEDOUT;
	assert_int_equal(nna_prepare_model(device, &add_model, &m, NULL, &p, &err),
			 NN_DEVICE_UNAVAILABLE);
	assert_string_equal(err.message, "prepare: the engine is running, but no worker came within "
					 "1234 ms: try again, or raise the module's engine_wait_ms");
	nna_memory_free(m);
}

static void test_device_of_another_process(void **state)
{
	struct nna_memory *m;

	(void)state;
	kernel.fail_request = NNACCEL_POOL_ALLOC;
	kernel.fail_error = EACCES;
	kernel.info_error = EACCES;
	assert_int_equal(nna_memory_alloc(device, 1, &m, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "another process"));
}

static void test_memory_refusals(void **state)
{
	struct nna_memory *m;
	int fd = make_file();

	(void)state;
	assert_int_equal(nna_memory_alloc(device, 0, &m, NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
					   .length = 0), &m, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
					   .offset = UINT64_MAX, .length = 1), &m, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
					   .offset = 1, .length = INT64_MAX), &m, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_WRITE,
					   .length = 1), &m, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = -1, .prot = PROT_READ,
					   .length = 1), &m, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(num_live(), 0);
	close(fd);
}

static void *alloc_page(void *arg)
{
	(void)arg;
	return alloc(PAGE);
}

/*
 * If the process forks while another thread allocates memory, the child does not wait for locks of
 * the other thread.
 */
static void test_memory_in_a_child(void **state)
{
	struct nna_memory *m = alloc(PAGE), *other;
	pthread_t thread;
	void *allocated;
	int status;
	pid_t pid;

	(void)state;
	kernel.holds = true;
	assert_int_equal(pthread_create(&thread, NULL, alloc_page, NULL), 0);
	while (!kernel.held)
		usleep(1000);
	pid = fork();
	if (!pid) {
		alarm(10);
		kernel.holds = false;
		kernel.info_error = EACCES;
		nna_memory_free(m);
		_exit(nna_memory_alloc(device, PAGE, &other, NULL) != NN_DEVICE_UNAVAILABLE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	kernel.holds = false;
	assert_int_equal(pthread_join(thread, &allocated), 0);
	assert_int_equal(status, 0);
	nna_memory_free(allocated);
	nna_memory_free(m);
	assert_int_equal(num_live(), 0);
}

static void test_unaligned_import(void **state)
{
	struct nna_memory *m;
	int fd = make_file();

	(void)state;
	assert_int_equal(pwrite(fd, "hello", 5, PAGE + 100), 5);
	m = import(fd, PAGE + 100, 50);
	close(fd);
	assert_int_equal(kernel.import.offset, PAGE);
	assert_int_equal(kernel.import.length, 150);
	assert_int_equal(kernel.import.prot, NNACCEL_PROT_READ);
	assert_int_equal(nna_memory_size(m), 50);
	assert_null(nna_memory_map(m, &err));
	assert_non_null(strstr(err.message, "the memory was imported"));
	nna_memory_free(m);
	assert_int_equal(num_live(), 0);
}

/*
 * NNAPI programs can request the engine's own cache only by an environment variable, whose only
 * valid value is 1.
 */
static void test_cache_by_environment(void **state)
{
	static const struct {
		const char *value;
		bool engine_cache, asked;
	} cases[] = {
		{ NULL, false, false }, { NULL, true, true }, { "1", false, true },
		{ "1", true, true }, { "0", false, false }, { "", false, false },
		{ "yes", false, false }, { "0", true, true },
	};
	struct nna_memory *m = alloc(24);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nna_prepare_options options = {
			.size = sizeof(options), .engine_cache = cases[i].engine_cache,
		};
		struct nna_prepared_model *p;

		if (cases[i].value)
			setenv("NNACCEL_ENGINE_CACHE", cases[i].value, 1);
		else
			unsetenv("NNACCEL_ENGINE_CACHE");
		assert_int_equal(nna_prepare_model(device, &add_model, &m, &options, &p, &err),
				 NN_OK);
		assert_int_equal(!!(kernel.prepare.flags & NNACCEL_PREPARE_CACHE), cases[i].asked);
		nna_prepared_model_free(p);
	}
	unsetenv("NNACCEL_ENGINE_CACHE");
	nna_memory_free(m);
}

static void test_protections_of_imports(void **state)
{
	static const int wrong[] = { 0, PROT_WRITE, PROT_READ | PROT_EXEC, 0x1000 | PROT_READ };
	const struct nna_format format = {
		.size = sizeof(format), .fourcc = 0x34325241, .width = 4, .height = 4, .stride = 16,
	};
	struct nna_memory *m;
	int fd = make_file();

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd,
						   .prot = wrong[i], .length = PAGE), &m, &err),
				 NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, "protection"));
		assert_int_equal(nna_memory_import_formatted(device, fd, wrong[i], &format, &m,
							     &err), NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, "protection"));
	}
	close(fd);
	assert_int_equal(num_live(), 0);
}

/*
 * An imported memory must keep no file descriptor open, because a thousand open descriptors would
 * reach the process's limit.
 */
static void test_imports_keep_no_descriptor(void **state)
{
	int fd = make_file(), next;
	struct nna_memory *m[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		m[i] = import(fd, 0, PAGE);
	close(fd);
	next = make_file();
	assert_int_equal(next, fd);
	close(next);
	for (int i = 0; i < 8; i++)
		nna_memory_free(m[i]);
	assert_int_equal(num_live(), 0);
}

static void test_memory_outlives_device(void **state)
{
	struct nna_device *d;
	struct nna_memory *m;

	(void)state;
	assert_int_equal(nna_device_open("/dev/null", &d, &err), NN_OK);
	assert_int_equal(nna_memory_alloc(d, 1, &m, &err), NN_OK);
	nna_device_close(d);
	nna_memory_free(m);
	assert_int_equal(num_live(), 0);
}

static void test_prepare_sends_sealed_model(void **state)
{
	struct nna_memory *m = alloc(24);
	struct nna_prepared_model *p = prepare(m);
	struct nn_pool pool = { NULL, 24 };
	struct nn_model *model;

	(void)state;
	assert_int_equal(kernel.wire_seals,
			 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	assert_int_equal(kernel.prepare.wire_length, kernel.wire_size);
	assert_int_equal(kernel.prepare.preference, NNACCEL_PREFER_FAST_SINGLE_ANSWER);
	assert_int_equal(kernel.prepare.priority, NNACCEL_PRIORITY_MEDIUM);
	assert_int_equal(nn_model_decode(kernel.wire, kernel.wire_size, &pool, 1, &model, &err),
			 NN_OK);
	nn_model_free(model);
	assert_int_equal(num_live(), 2);
	nna_prepared_model_free(p);
	nna_memory_free(m);
	assert_int_equal(num_live(), 0);
}

static void test_constants_of_unaligned_memory(void **state)
{
	int fd = make_file();
	struct nna_memory *m = import(fd, 100, 24);
	struct nna_prepared_model *p = prepare(m);
	struct nn_pool pool = { NULL, 124 };
	struct nn_model *model;

	(void)state;
	close(fd);
	assert_int_equal(nn_model_decode(kernel.wire, kernel.wire_size, &pool, 1, &model, &err),
			 NN_OK);
	assert_int_equal(model->subgraphs[0].operands[1].location.offset, 108);
	nn_model_free(model);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_prepare_failures_leave_nothing(void **state)
{
	static const unsigned long requests[] = { NNACCEL_POOL_IMPORT, NNACCEL_WORK_PREPARE };
	struct nna_memory *small = alloc(23), *m = alloc(24), *none = NULL;
	struct nna_prepare_options wrong = { .size = sizeof(wrong), .preference = 3 };
	struct nna_prepared_model *p;

	(void)state;
	assert_int_equal(nna_prepare_model(device, &add_model, &none, NULL, &p, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_prepare_model(device, &add_model, &small, NULL, &p, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_prepare_model(device, &add_model, &m, &wrong, &p, NULL),
			 NN_INVALID_ARGUMENT);
	wrong = (struct nna_prepare_options){ .size = sizeof(struct nna_prepare_options),
					      .priority = 3 };
	assert_int_equal(nna_prepare_model(device, &add_model, &m, &wrong, &p, NULL),
			 NN_INVALID_ARGUMENT);
	for (int i = 0; i < 2; i++) {
		kernel.fail_request = requests[i];
		kernel.fail_error = ENOSPC;
		assert_int_equal(nna_prepare_model(device, &add_model, &m, NULL, &p, NULL),
				 NN_RESOURCE_EXHAUSTED_TRANSIENT);
	}
	kernel.fail_error = 0;
	kernel.status = NNACCEL_STATUS_INVALID_ARGUMENT;
	kernel.message = "operation 0 (ADD): no";
	assert_int_equal(nna_prepare_model(device, &add_model, &m, NULL, &p, &err),
			 NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "prepare: operation 0 (ADD): no");
	assert_int_equal(num_live(), 2);
	nna_memory_free(small);
	nna_memory_free(m);
}

static const char *const cache_files[] = { "model", "data", "other" };

static int open_cache_file(const char *folder, uint32_t i, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, cache_files[i]);
	return open(path, O_RDWR | O_CLOEXEC | flags, 0600);
}

/* Checks that each cache file is in the folder and contains the file's own name. */
static void assert_untouched(const char *folder, const int *fds)
{
	for (uint32_t i = 0; i < 3; i++) {
		int fd = open_cache_file(folder, i, 0);
		struct stat ours, there;
		char text[16] = "";

		assert_int_equal(fstat(fd, &there) | fstat(fds[i], &ours), 0);
		assert_int_equal(there.st_ino, ours.st_ino);
		assert_int_equal(pread(fd, text, sizeof(text), 0), strlen(cache_files[i]));
		assert_string_equal(text, cache_files[i]);
		close(fd);
	}
}

/*
 * The engine only reads cache files. If the engine rejects cache files, the library neither removes
 * nor empties them.
 */
static void test_cache_files_are_the_callers(void **state)
{
	char folder[] = "/tmp/libnnaccel-cache-XXXXXX";
	struct nn_error not_saved = { "" };
	struct nna_prepared_model *p;
	struct nna_memory *m = alloc(PAGE);
	int fds[3];
	const struct nna_cache cache = {
		.size = sizeof(cache), .model_files = &fds[0], .num_model_files = 1,
		.data_files = &fds[1], .num_data_files = 1, .not_saved = &not_saved,
	};
	const struct nna_prepare_options saving = { .size = sizeof(saving), .cache = &cache };

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (uint32_t i = 0; i < 3; i++) {
		size_t size = strlen(cache_files[i]);

		fds[i] = open_cache_file(folder, i, O_CREAT);
		assert_int_equal(write(fds[i], cache_files[i], size), size);
	}

	assert_int_equal(nna_prepare_model_from_cache(device, &cache, NULL, &p, &err), NN_OK);
	nna_prepared_model_free(p);
	assert_untouched(folder, fds);
	kernel.status = NNACCEL_STATUS_GENERAL_FAILURE;
	kernel.message = "of another version";
	assert_int_equal(nna_prepare_model_from_cache(device, &cache, NULL, &p, &err),
			 NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "prepare from cache: of another version");
	assert_untouched(folder, fds);
	assert_int_equal(kernel.imports, 4);
	assert_int_equal(kernel.imported_prot, NNACCEL_PROT_READ);

	/*
	 * The engine saves the model to memory, and the library writes this memory to the cache
	 * files.
	 */
	kernel.status = 0;
	assert_int_equal(nna_prepare_model(device, &add_model, &m, &saving, &p, &err), NN_OK);
	assert_true(not_saved.message[0]);
	assert_true(kernel.saves_to_memory);
	assert_int_equal(kernel.imports, 4);
	assert_untouched(folder, fds);
	nna_prepared_model_free(p);
	nna_memory_free(m);
	for (uint32_t i = 0; i < 3; i++) {
		close(fds[i]);
		fds[i] = open(folder, O_RDONLY | O_DIRECTORY);
		assert_int_equal(unlinkat(fds[i], cache_files[i], 0), 0);
		close(fds[i]);
	}
	assert_int_equal(rmdir(folder), 0);
}

static void test_supported_operations(void **state)
{
	struct nna_memory *m = alloc(24);
	bool supported = false;

	(void)state;
	assert_int_equal(nna_get_supported_operations(device, &add_model, &m, &supported, &err),
			 NN_OK);
	assert_true(supported);
	kernel.status = NNACCEL_STATUS_GENERAL_FAILURE;
	assert_int_equal(nna_get_supported_operations(device, &add_model, &m, &supported, &err),
			 NN_GENERAL_FAILURE);
	nna_memory_free(m);
	assert_int_equal(num_live(), 0);
}

static void test_deadlines(void **state)
{
	struct nna_memory *m = alloc(PAGE);
	struct nna_prepared_model *p = prepare(m), *other;
	const struct nna_argument input = { .length = 16 };
	struct nna_execute_options execute_options = { .size = sizeof(execute_options),
						       .deadline_ns = 1 };
	struct nna_prepare_options prepare_options = { .size = sizeof(prepare_options),
						       .deadline_ns = 1 };

	(void)state;
	kernel.fail_error = ETIME;
	kernel.fail_request = NNACCEL_WORK_EXECUTE;
	assert_int_equal(execute(p, m, input, &execute_options), NN_MISSED_DEADLINE_PERSISTENT);
	execute_options.deadline_ns = seconds_from_now(1000);
	assert_int_equal(execute(p, m, input, &execute_options), NN_MISSED_DEADLINE_TRANSIENT);
	kernel.fail_request = NNACCEL_WORK_PREPARE;
	assert_int_equal(nna_prepare_model(device, &add_model, &m, &prepare_options, &other, NULL),
			 NN_MISSED_DEADLINE_PERSISTENT);
	prepare_options.deadline_ns = seconds_from_now(1000);
	assert_int_equal(nna_prepare_model(device, &add_model, &m, &prepare_options, &other, NULL),
			 NN_MISSED_DEADLINE_TRANSIENT);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_execute_passes_arguments(void **state)
{
	const struct nna_argument input = {
		.offset = 4, .length = 16, .rank = 1, .dims = { 4, 9 },
	};
	const struct nna_argument none = { .has_no_value = true };
	int fd = make_file();
	struct nna_memory *m = import(fd, 100, 200);
	struct nna_prepared_model *p = prepare(m);

	(void)state;
	close(fd);
	assert_int_equal(execute(p, m, input, NULL), NN_OK);
	assert_int_equal(kernel.execute.flags, 0);
	assert_int_equal(kernel.args[0].offset, 104);
	assert_int_equal(kernel.args[0].length, 16);
	assert_int_equal(kernel.args[0].rank, 1);
	assert_int_equal(kernel.args[0].dims[0], 4);
	assert_int_equal(kernel.args[0].dims[1], 0);
	assert_int_equal(kernel.args[1].offset, 164);
	assert_int_equal(execute(p, m, none, NULL), NN_OK);
	assert_int_equal(kernel.args[0].flags, NNACCEL_ARG_NO_VALUE);
	assert_int_equal(kernel.args[0].offset, 0);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_execute_refuses_arguments(void **state)
{
	static const struct nna_argument wrong[] = {
		{ .pool = 1 },
		{ .offset = 101 },
		{ .offset = UINT64_MAX, .length = 1 },
		{ .length = 101 },
		{ .offset = 50, .length = 51 },
		{ .rank = NN_MAX_RANK + 1 },
		{ .has_no_value = true, .length = 1 },
		{ .has_no_value = true, .rank = 1 },
	};
	struct nna_memory *m = alloc(100), *image;
	struct nna_prepared_model *p = prepare(m);
	struct nna_timing timing = { 7, 7 };
	uint32_t count = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err.message[0] = 0;
		assert_int_equal(execute(p, m, wrong[i], NULL), NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, "input 0"));
	}
	assert_int_equal(execute(p, NULL, wrong[0], NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_execute(p, &(struct nna_request){ .size = sizeof(struct nna_request),
				     .num_inputs = 1, .inputs = wrong }, NULL,
				     NNA_SIZED(nna_results, .num_shapes = &count, .timing = &timing),
				     &err), NN_INVALID_ARGUMENT);
	assert_int_equal(count, 0);
	assert_true(timing.on_device_us == NNA_TIME_NONE && timing.in_driver_us == NNA_TIME_NONE);
	assert_int_equal(kernel.execute.size, 0);
	/* An image is used as a whole. */
	assert_int_equal(nna_memory_import_formatted(device, 0, PROT_READ, NNA_SIZED(nna_format,
			 .fourcc = 1, .width = 4, .height = 4, .stride = 4), &image, &err), NN_OK);
	for (uint32_t i = 0; i < 3; i++) {
		const struct nna_argument output = { .offset = i == 0, .length = i == 1 };

		err.message[0] = 0;
		assert_int_equal(nna_execute(p, &(struct nna_request){
			.size = sizeof(struct nna_request), .num_outputs = 1, .outputs = &output,
			.num_memories = 1, .memories = &image }, NULL, NULL, &err),
			i < 2 ? NN_INVALID_ARGUMENT : NN_OK);
		assert_int_equal(!strstr(err.message, "output 0 is an image"), i == 2);
	}
	nna_memory_free(image);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_execute_answers(void **state)
{
	struct nna_memory *m = alloc(PAGE);
	struct nna_prepared_model *p = prepare(m);
	const struct nna_argument a = { .length = 16 };
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &a, &a, &m, 0, NULL };
	const struct nna_execute_options measure = { .size = sizeof(measure), .measure = true };
	struct nna_output_shape shape;
	struct nna_timing timing;
	uint32_t count;

	(void)state;
	assert_int_equal(nna_execute(p, &r, &measure, NNA_SIZED(nna_results, .shapes = &shape,
				     .num_shapes = &count, .timing = &timing), &err), NN_OK);
	assert_int_equal(count, 1);
	assert_int_equal(shape.dims[0], 4);
	assert_true(shape.is_sufficient);
	assert_int_equal(timing.on_device_us, 1);
	assert_int_equal(timing.in_driver_us, 5);

	kernel.status = NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE;
	kernel.shape.flags = 0;
	assert_int_equal(nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
				     .num_shapes = &count, .timing = &timing), &err),
			 NN_OUTPUT_INSUFFICIENT_SIZE);
	assert_int_equal(count, 1);
	assert_false(shape.is_sufficient);
	assert_true(timing.on_device_us == NNA_TIME_NONE && timing.in_driver_us == NNA_TIME_NONE);

	kernel.status = NNACCEL_STATUS_GENERAL_FAILURE;
	assert_int_equal(nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
				     .num_shapes = &count), &err), NN_GENERAL_FAILURE);
	assert_int_equal(count, 0);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_execute_distrusts_shapes(void **state)
{
	struct nna_memory *m = alloc(PAGE);
	struct nna_prepared_model *p = prepare(m);
	const struct nna_argument a = { .length = 16 };
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &a, &a, &m, 0, NULL };
	struct nna_output_shape shape;
	uint32_t count;

	(void)state;
	kernel.shape.rank = NN_MAX_RANK + 1;
	assert_int_equal(nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
				     .num_shapes = &count), &err), NN_GENERAL_FAILURE);
	assert_int_equal(count, 0);
	kernel.num_shapes = 0;
	assert_int_equal(nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .num_shapes = &count),
				     &err), NN_GENERAL_FAILURE);
	assert_int_equal(count, 0);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

/* Executes a request with more arguments and pools than fit on the library's stack. */
static void test_execute_many_arguments(void **state)
{
	struct nna_memory *m[20];
	struct nna_prepared_model *p;
	struct nna_argument a[15];
	const struct nna_request r = { .size = sizeof(r), 14, 1, 20, a, a + 14, m, 0, NULL };

	(void)state;
	for (int i = 0; i < 20; i++)
		m[i] = alloc(PAGE);
	for (uint32_t i = 0; i < 15; i++)
		a[i] = (struct nna_argument){ .pool = i + 5, .offset = i, .length = 1 };
	p = prepare(m[0]);
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_OK);
	assert_int_equal(kernel.execute.num_pools, 20);
	for (uint32_t i = 0; i < 15; i++) {
		assert_int_equal(kernel.args[i].pool, i + 5);
		assert_int_equal(kernel.args[i].offset, i);
	}
	nna_prepared_model_free(p);
	for (int i = 0; i < 20; i++)
		nna_memory_free(m[i]);
	assert_int_equal(num_live(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/*
 * A structure of a caller that was built with a newer header, where the structure has an additional
 * field.
 */
#define GROWN(type) struct { struct type now; uint64_t later; }

/*
 * Calls a function with a structure of size 0, and with a larger structure whose unknown fields are
 * zero or not zero.
 */
#define assert_sizes(grown, call) \
	do { \
		(grown).now.size = 0; \
		assert_int_equal(call, NN_INVALID_ARGUMENT); \
		(grown).now.size = sizeof(grown); \
		(grown).later = 0; \
		assert_int_equal(call, NN_OK); \
		(grown).later = UINT64_C(1) << 40; \
		assert_int_equal(call, NN_INVALID_ARGUMENT); \
	} while (0)

static void test_sizes(void **state)
{
	struct nna_memory *m = alloc(24);
	GROWN(nn_model) model = { .now = add_model };
	GROWN(nna_prepare_options) prepare_options = { .later = 0 };
	GROWN(nna_execute_options) execute_options = { .now = { .measure = true } };
	GROWN(nna_request) request = { .later = 0 };
	GROWN(nna_results) results = { .later = 0 };
	GROWN(nna_file) file = { .now = { .fd = 0, .prot = PROT_READ, .length = 24 } };
	struct nna_memory *imported = NULL;
	struct nna_request plain = { .size = sizeof(plain) };
	struct nna_prepared_model *p = NULL, *last = prepare(m);
	bool supported[1];

	(void)state;
	assert_sizes(model, nna_prepare_model(device, &model.now, &m, NULL, &p, &err));
	nna_prepared_model_free(p);
	assert_sizes(model, nna_get_supported_operations(device, &model.now, &m, supported, &err));
	assert_sizes(prepare_options, nna_prepare_model(device, &add_model, &m,
							&prepare_options.now, &p, &err));
	nna_prepared_model_free(p);
	kernel.num_shapes = 0;
	assert_sizes(execute_options, nna_execute(last, &plain, &execute_options.now, NULL, &err));
	assert_sizes(request, nna_execute(last, &request.now, NULL, NULL, &err));
	assert_sizes(results, nna_execute(last, &plain, NULL, &results.now, &err));
	assert_sizes(file, nna_memory_import(device, &file.now, &imported, &err));
	nna_memory_free(imported);
	nna_prepared_model_free(last);
	nna_memory_free(m);
}

/* The library writes only up to the size that the caller's structure states. */
static void test_sizes_of_answers(void **state)
{
	GROWN(nna_context_info) context = { .later = 1 };
	GROWN(nn_device_info) info = { .later = 1 };

	(void)state;
	assert_int_equal(nna_device_get_context_info(device, &context.now, &err),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_device_get_info(device, &info.now, &err), NN_INVALID_ARGUMENT);
	context.now.size = sizeof(context.now);
	info.now.size = sizeof(info.now);
	assert_int_equal(nna_device_get_context_info(device, &context.now, &err), NN_OK);
	assert_int_equal(nna_device_get_info(device, &info.now, &err), NN_OK);
	assert_int_equal(context.later, 1);
	assert_int_equal(info.later, 1);
	context.now.size = sizeof(context);
	info.now.size = sizeof(info);
	assert_int_equal(nna_device_get_context_info(device, &context.now, &err), NN_OK);
	assert_int_equal(nna_device_get_info(device, &info.now, &err), NN_OK);
	assert_int_equal(context.now.size, sizeof(context.now));
	assert_int_equal(info.now.size, sizeof(info.now));
	assert_int_equal(context.later, 0);
	assert_int_equal(info.later, 0);
	assert_int_equal(context.now.executions, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_open_refusals),
		TEST(test_list),
		TEST(test_list_without_sysfs),
		TEST(test_device_status),
		TEST(test_info_is_asked_once),
		TEST(test_info_of_another_engine),
		TEST(test_info_after_a_model),
		TEST(test_errno_to_status),
		TEST(test_slow_worker),
		TEST(test_device_of_another_process),
		TEST(test_memory_refusals),
		TEST(test_memory_in_a_child),
		TEST(test_unaligned_import),
		TEST(test_imports_keep_no_descriptor),
		TEST(test_sizes),
		TEST(test_sizes_of_answers),
		TEST(test_memory_outlives_device),
		TEST(test_prepare_sends_sealed_model),
		TEST(test_constants_of_unaligned_memory),
		TEST(test_prepare_failures_leave_nothing),
		TEST(test_sizes_beyond_reason),
		TEST(test_protections_of_imports),
		TEST(test_cache_by_environment),
		TEST(test_cache_files_are_the_callers),
		TEST(test_supported_operations),
		TEST(test_deadlines),
		TEST(test_execute_passes_arguments),
		TEST(test_execute_refuses_arguments),
		TEST(test_execute_answers),
		TEST(test_execute_distrusts_shapes),
		TEST(test_execute_many_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
