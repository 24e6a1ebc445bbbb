/* SPDX-License-Identifier: MIT */
/*
 * Tests each use of each kind of memory on the installed engine. At its end, the program prints a
 * table of the results for each kind of memory and each use. If the engine cannot reach a kind of
 * memory, executions with the memory end with GENERAL_FAILURE, and the engine reports operations
 * with the memory as unsupported. The test needs /dev/nnaccel, a running nnacceld and root.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>

#include "exporters.h"
#include "../../selftests/lib/runner.h"
#include "tests/model_builder.h"

#define COUNT	64
#define SIZE	(COUNT * sizeof(float))
#define LENGTH	16384		/* size of each memory file in bytes */
#define OP_ADD	0
#define OP_RELU	19

/* Memory under test. */
struct subject {
	struct nna_memory *memory;	/* the memory; NULL if the memory cannot be imported */
	int fd;				/* file by which the test maps the memory, or -1 */
	uint64_t offset;
	/* exporter that made the memory, or that made the pending fence of the memory */
	struct exporter x;
	bool has_fence;
};

static struct {
	struct nna_device *device;
	struct nna_memory *own;		/* memory that the module allocated */
	float *own_map;
	struct subject s;
} t;

/* ---- kinds of memory ---- */

enum made { MADE, MISSING, FAILED };

static enum made import(int fd, int prot, uint64_t offset)
{
	t.s.fd = fd;
	t.s.offset = offset;
	return fd >= 0 && !nna_memory_import(t.device, NNA_SIZED(nna_file, .fd = fd, .prot = prot,
					     .offset = offset, .length = SIZE), &t.s.memory, NULL) ?
	       MADE : FAILED;
}

static enum made make_module_pool(void)
{
	int fd;

	if (nna_memory_alloc(t.device, SIZE, &t.s.memory, NULL) ||
	    nna_memory_export(t.s.memory, &fd, NULL))
		return FAILED;
	t.s.fd = fd;
	return MADE;
}

static int new_memfd(void)
{
	int fd = memfd_create("reach", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd >= 0 && !ftruncate(fd, LENGTH) ? fd : -1;
}

static enum made make_memfd(void)
{
	return import(new_memfd(), PROT_READ | PROT_WRITE, 0);
}

static enum made make_file_at_odd_offset(void)
{
	char path[] = "/tmp/nnaccel-reach-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	unlink(path);
	return fd >= 0 && !ftruncate(fd, LENGTH) ?
	       import(fd, PROT_READ | PROT_WRITE, 4099) : FAILED;
}

static void set_numbers(float from);

static enum made make_read_only(void)
{
	t.s.fd = new_memfd();
	set_numbers(1);
	fcntl(t.s.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	return import(t.s.fd, PROT_READ, 0);
}

/* Adds a pending fence to the memory; the device of another driver signals the fence later. */
static enum made with_fence(int fd)
{
	if (import(fd, PROT_READ | PROT_WRITE, 0) || !exporter_open(&t.s.x, 0))
		return FAILED;
	t.s.has_fence = exporter_lend_fence(&t.s.x, fd);
	return t.s.has_fence ? MADE : FAILED;
}

static enum made make_vgem(void)
{
	int vgem = vgem_open(), fd;
	uint32_t handle;

	if (vgem < 0)
		return MISSING;
	fd = vgem_buffer(vgem, LENGTH, &handle);
	close(vgem);
	return with_fence(fd);
}

static enum made make_udmabuf(void)
{
	int file = new_memfd(), fd;

	module_load("udmabuf", "");
	if (access("/dev/udmabuf", F_OK))
		return MISSING;
	fd = udmabuf_buffer(file, LENGTH);
	close(file);
	return with_fence(fd);
}

static enum made make_system_heap(void)
{
	module_load("system_heap", "");
	return access("/dev/dma_heap/system", F_OK) ? MISSING : with_fence(heap_buffer(LENGTH));
}

static enum made make_refusing_exporter(void)
{
	if (!exporter_open(&t.s.x, EXPORTER_NO_BEGIN))
		return FAILED;
	return import(fcntl(t.s.x.buffer, F_DUPFD_CLOEXEC, 0), PROT_READ | PROT_WRITE, 0);
}

static enum made make_gone_exporter(void)
{
	if (make_refusing_exporter())
		return FAILED;
	ioctl(t.s.x.fd, EXPORTER_REFUSE, 0);
	close(t.s.x.fd);
	t.s.x.fd = -1;
	return MADE;
}

/* Makes a dma-buf that cannot be mapped, so that importing the dma-buf fails. */
static enum made make_unmappable_exporter(void)
{
	if (!exporter_open(&t.s.x, EXPORTER_NO_MMAP))
		return FAILED;
	assert_int_equal(nna_memory_import(t.device, NNA_SIZED(nna_file, .fd = t.s.x.buffer,
					   .prot = PROT_READ, .length = SIZE), &t.s.memory,
					   NULL), NN_GENERAL_FAILURE);
	return MADE;
}

static const struct kind {
	const char *name;
	enum made (*make)(void);
	bool can_be_read, can_be_written;
} kinds[] = {
	{ "module pool", make_module_pool, true, true },
	{ "memfd", make_memfd, true, true },
	{ "file at an odd offset", make_file_at_odd_offset, true, true },
	{ "read-only memory", make_read_only, true, false },
	{ "vgem with a fence", make_vgem, true, true },
	{ "udmabuf with a fence", make_udmabuf, true, true },
	{ "system heap with a fence", make_system_heap, true, true },
	{ "refusing exporter", make_refusing_exporter, false, false },
	{ "exporter gone", make_gone_exporter, false, false },
	{ "exporter without mmap", make_unmappable_exporter, false, false },
};

#define NUM_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* ---- contents of the memory ---- */

static char *map_subject(size_t *length)
{
	char *at;

	*length = (size_t)lseek(t.s.fd, 0, SEEK_END);
	at = mmap(NULL, *length, PROT_READ | PROT_WRITE, MAP_SHARED, t.s.fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* Writes numbers by memcpy(), because floats at an odd offset in the memory are not aligned. */
static void set_numbers(float from)
{
	float values[COUNT];
	size_t length;
	char *at = map_subject(&length);

	for (int i = 0; i < COUNT; i++)
		values[i] = from + (float)i;
	memcpy(at + t.s.offset, values, SIZE);
	munmap(at, length);
}

static void check_numbers(float from)
{
	float values[COUNT];
	size_t length;
	char *at = map_subject(&length);

	memcpy(values, at + t.s.offset, SIZE);
	for (int i = 0; i < COUNT; i++)
		assert_true(values[i] == from + (float)i);
	munmap(at, length);
}

/* ---- uses ---- */

/*
 * Makes a model of up to two operations: x + constant, where pool 0 contains the constant, and
 * ReLU(x), which uses no pool.
 */
static void build(struct model_builder *b, bool with_constant, bool with_relu)
{
	uint32_t x, y, z, constant, none;

	mb_init(b);
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	if (with_constant) {
		b->pools[0] = (struct nn_pool){ .size = SIZE };
		b->model.num_pools = 1;
		b->model.pools = b->pools;
		constant = mb_reference(b, NN_TENSOR_FLOAT32, 0, 0, SIZE, MB_DIMS(COUNT));
		none = mb_int32(b, 0);
		y = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
		mb_operation(b, OP_ADD, MB_LIST(x, constant, none), MB_LIST(y));
	}
	if (with_relu) {
		z = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
		mb_operation(b, OP_RELU, MB_LIST(x), MB_LIST(z));
	}
}

static struct nna_prepared_model *prepare_relu(void)
{
	struct nna_prepared_model *p = NULL;
	struct model_builder b;

	build(&b, false, true);
	assert_int_equal(nna_prepare_model(t.device, &b.model, NULL, NULL, &p, NULL), NN_OK);
	return p;
}

static enum nn_status execute(struct nna_prepared_model *p, struct nna_memory *from,
			      struct nna_memory *to)
{
	struct nna_memory *const memories[] = { from, to };
	const struct nna_argument in = { .pool = 0, .length = SIZE };
	const struct nna_argument out = { .pool = 1, .length = SIZE };
	const struct nna_request request = { .size = sizeof(request),
					     1, 1, 2, &in, &out, memories, 0, NULL };

	return nna_execute(p, &request, NULL, NULL, NULL);
}

static struct nna_buffer *new_buffer(struct nna_prepared_model *p)
{
	const struct nna_role role = { .index = 0, .frequency = 1 };
	struct nna_buffer *b = NULL;
	uint32_t token;

	assert_int_equal(nna_buffer_allocate(t.device, NNA_SIZED(nna_buffer_roles, .models = &p,
					     .num_models = 1, .inputs = &role, .num_inputs = 1,
					     .outputs = &role, .num_outputs = 1), &b, &token,
					     NULL), NN_OK);
	return b;
}

static enum nn_status copy_in(void)
{
	struct nna_prepared_model *p = prepare_relu();
	struct nna_buffer *b = new_buffer(p);
	float back[COUNT];
	enum nn_status status = nna_buffer_copy_from(b, t.s.memory, 0, NULL, NULL);

	if (status) {
		assert_int_equal(nna_buffer_size(b), 0);
	} else {
		assert_int_equal(nna_buffer_read(b, back, SIZE, NULL), NN_OK);
		assert_true(back[0] == 1 && back[COUNT - 1] == COUNT);
	}
	nna_buffer_free(b);
	nna_prepared_model_free(p);
	return status;
}

static enum nn_status copy_out(void)
{
	struct nna_prepared_model *p = prepare_relu();
	struct nna_buffer *b = new_buffer(p);
	float data[COUNT];
	enum nn_status status;

	for (int i = 0; i < COUNT; i++)
		data[i] = 100 + (float)i;
	assert_int_equal(nna_buffer_write(b, data, SIZE, 0, NULL, NULL), NN_OK);
	status = nna_buffer_copy_to(b, t.s.memory, NULL);
	nna_buffer_free(b);
	nna_prepared_model_free(p);
	if (!status)
		check_numbers(100);
	return status;
}

static enum nn_status constant(void)
{
	struct nna_prepared_model *p = NULL;
	struct model_builder b;
	enum nn_status status;

	build(&b, true, false);
	status = nna_prepare_model(t.device, &b.model, &t.s.memory, NULL, &p, NULL);
	if (status)
		return status;
	memset(t.own_map, 0, SIZE);
	assert_int_equal(execute(p, t.own, t.own), NN_OK);
	assert_true(t.own_map[0] == 1 && t.own_map[COUNT - 1] == COUNT);
	nna_prepared_model_free(p);
	return NN_OK;
}

static enum nn_status input(void)
{
	struct nna_prepared_model *p = prepare_relu();
	enum nn_status status = execute(p, t.s.memory, t.own);

	if (!status)
		assert_true(t.own_map[0] == 1 && t.own_map[COUNT - 1] == COUNT);
	nna_prepared_model_free(p);
	return status;
}

static enum nn_status output(void)
{
	struct nna_prepared_model *p = prepare_relu();
	enum nn_status status;

	for (int i = 0; i < COUNT; i++)
		t.own_map[i] = 100 + (float)i;
	status = execute(p, t.own, t.s.memory);
	nna_prepared_model_free(p);
	if (!status)
		check_numbers(100);
	return status;
}

/*
 * Returns NN_OK if the engine supports the operation whose constant lies in the memory under test.
 * The engine must always support the operation that does not use the memory under test.
 */
static enum nn_status supported(void)
{
	struct model_builder b;
	bool answer[2] = { false, false };

	build(&b, true, true);
	assert_int_equal(nna_get_supported_operations(t.device, &b.model, &t.s.memory, answer, NULL),
			 NN_OK);
	assert_true(answer[1]);
	return answer[0] ? NN_OK : NN_GENERAL_FAILURE;
}

static const struct use {
	const char *name;
	enum nn_status (*act)(void);
	bool writes;
	bool needs_memory;	/* set if the use needs imported memory */
} uses[] = {
	{ "copy in", copy_in, false, true },
	{ "copy out", copy_out, true, true },
	{ "constant", constant, false, true },
	{ "input", input, false, true },
	{ "output", output, true, true },
	{ "supported", supported, false, false },
};

#define NUM_USES	(sizeof(uses) / sizeof(uses[0]))

/* ---- one test case of the table ---- */

static struct cell {
	char name[64];
	const struct kind *kind;
	const struct use *use;
	const char *result;
} cells[NUM_KINDS][NUM_USES];

struct started {
	const struct use *use;
	enum nn_status status;
	atomic_bool done;
};

static void *run_use(void *data)
{
	struct started *s = data;

	s->status = s->use->act();
	s->done = true;
	return NULL;
}

/* An execution that waits for a fence does not end before the fence signals. */
static enum nn_status run_with_fence(const struct use *use)
{
	struct started s = { .use = use };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run_use, &s), 0);
	usleep((useconds_t)how_often(150000, 20000));
	assert_false(s.done);
	assert_int_equal(ioctl(t.s.x.fd, EXPORTER_SIGNAL), 0);
	pthread_join(thread, NULL);
	return s.status;
}

static void test_cell(void **state)
{
	struct cell *c = *state;
	bool reachable = c->use->writes ? c->kind->can_be_written : c->kind->can_be_read;
	bool is_written_wrongly = c->use->writes && c->kind->can_be_read && !reachable;
	enum made made = c->kind->make();
	enum nn_status status;

	c->result = "FAILED";
	if (made == MISSING) {
		c->result = "no driver";
		skip();
	}
	assert_int_equal(made, MADE);
	if (reachable && c->kind->can_be_written)
		set_numbers(1);
	if (!t.s.memory && c->use->needs_memory)
		status = NN_GENERAL_FAILURE;	/* make() checked that the memory's import fails */
	else
		status = t.s.has_fence ? run_with_fence(c->use) : c->use->act();
	/* Writing to memory that was imported without PROT_WRITE fails with NN_INVALID_ARGUMENT. */
	assert_int_equal(status, reachable ? NN_OK : is_written_wrongly ? NN_INVALID_ARGUMENT :
			 NN_GENERAL_FAILURE);
	c->result = !status ? "ok" : status == NN_INVALID_ARGUMENT ? "invalid" :
		    c->use->needs_memory ? "failure" : "denied";
}

static int open_device(void **state)
{
	(void)state;
	return nna_device_open(NULL, &t.device, NULL);
}

static int close_device(void **state)
{
	(void)state;
	nna_device_close(t.device);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	t.s = (struct subject){ .fd = -1, .x = { -1, -1 } };
	if (nna_memory_alloc(t.device, SIZE, &t.own, NULL))
		return -1;
	t.own_map = nna_memory_map(t.own, NULL);
	return t.own_map ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	if (t.s.x.fd >= 0)
		ioctl(t.s.x.fd, EXPORTER_SIGNAL);
	nna_memory_free(t.s.memory);
	nna_memory_free(t.own);
	if (t.s.fd >= 0)
		close(t.s.fd);
	exporter_close(&t.s.x);
	return 0;
}

static void print_table(void)
{
	printf("# %-26s", "");
	for (size_t k = 0; k < NUM_USES; k++)
		printf("%-12s", uses[k].name);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		printf("\n# %-26s", kinds[i].name);
		for (size_t k = 0; k < NUM_USES; k++)
			printf("%-12s", cells[i][k].result);
	}
	printf("\n");
}

int main(void)
{
	struct CMUnitTest tests[NUM_KINDS * NUM_USES];
	int failed;

	for (size_t i = 0; i < NUM_KINDS; i++) {
		for (size_t k = 0; k < NUM_USES; k++) {
			struct cell *c = &cells[i][k];

			*c = (struct cell){ .kind = &kinds[i], .use = &uses[k], .result = "not run" };
			snprintf(c->name, sizeof(c->name), "%s: %s", kinds[i].name, uses[k].name);
			tests[i * NUM_USES + k] = (struct CMUnitTest){
				.name = c->name, .test_func = test_cell,
				.setup_func = begin, .teardown_func = end, .initial_state = c,
			};
		}
	}
	failed = cmocka_run_group_tests_name("memory that can or cannot be reached", tests,
					     open_device, close_device);
	print_table();
	return failed;
}
