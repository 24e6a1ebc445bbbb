/* SPDX-License-Identifier: MIT */
/*
 * Tests the engine of QEMU's "edu" PCI device through libnnaccel; scripts/guest/edu runs this test.
 * The device takes a tenth of a second to copy 4 KiB, so the tests copy only a few KiB.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <exporters.h>

#include "base/clock.h"
#include "examples/edu-engine/edu.h"
#include "tests/hal_fixture.h"
#include "tests/model_builder.h"

#define PREFIX		3
#define CODE(code)	((PREFIX << 16) | (code))

#define PAGE		4096u
#define SIZE		(2 * PAGE + 100) /* size in bytes of a copy that needs three transfers */
#define MANY		(64 * PAGE)		/* some 13 s */
#define NEVER		UINT32_MAX	/* number whose factorial takes seconds to compute */

/* ---- models and their executions ---- */

static void build(struct model_builder *b, uint16_t code, uint32_t count)
{
	int32_t type = code == EDU_COPY ? NN_TENSOR_QUANT8_ASYMM : NN_TENSOR_INT32;
	uint32_t in, out;

	mb_init(b);
	b->model.num_extensions = 1;
	b->extensions[0] = (struct nn_extension_prefix){ EDU_NAME, PREFIX };
	in = mb_operand(b, type, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	out = mb_operand(b, type, NN_SUBGRAPH_OUTPUT, MB_DIMS(count));
	if (code == EDU_COPY)
		b->operands[0][in].scale = b->operands[0][out].scale = 1;
	mb_operation(b, CODE(code), MB_LIST(in), MB_LIST(out));
}

static struct nna_prepared_model *prepare(struct nna_device *on, uint16_t code, uint32_t count)
{
	struct nna_prepared_model *prepared;
	struct model_builder b;

	build(&b, code, count);
	check(nna_prepare_model(on, &b.model, NULL, NULL, &prepared, &err));
	return prepared;
}

/* Copies from @in_offset of @in to @out_offset of @out, which may be the same memory. */
static enum nn_status run(struct nna_prepared_model *prepared, struct nna_memory *in,
			  uint64_t in_offset, struct nna_memory *out, uint64_t out_offset,
			  uint64_t size, uint64_t deadline_ns)
{
	struct nna_memory *const memories[] = { in, out };
	const struct nna_argument input = { .offset = in_offset, .length = size };
	const struct nna_argument output = { .pool = 1, .offset = out_offset, .length = size };
	const struct nna_request request = {
		.size = sizeof(request),
		.num_inputs = 1,
		.num_outputs = 1,
		.num_memories = 2,
		.inputs = &input,
		.outputs = &output,
		.memories = memories,
	};
	const struct nna_execute_options options = { .size = sizeof(options),
						     .deadline_ns = deadline_ns };

	err.message[0] = '\0';
	return nna_execute(prepared, &request, &options, NULL, &err);
}

static struct nna_memory *import(int fd, int prot, uint64_t size)
{
	struct nna_memory *memory;

	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = prot, .length = size),
				&memory, &err));
	return memory;
}

static int make_file(uint64_t size)
{
	int fd = memfd_create("edu", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static uint8_t *map(int fd, uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* ---- tests ---- */

static void test_describes_itself(void **state)
{
	const struct nn_device_extension *list;
	struct nn_device_info info = { .size = sizeof(info) };
	uint32_t count;

	(void)state;
	check(nna_device_get_info(device, &info, &err));
	assert_string_equal(info.version, "edu-1");
	check(nna_device_get_extensions(device, &list, &count, &err));
	assert_int_equal(count, 1);
	assert_string_equal(list[0].name, EDU_NAME);
	assert_int_equal(list[0].num_operations, 2);
}

static void test_supports_its_own(void **state)
{
	struct nna_prepared_model *prepared;
	struct model_builder b;
	bool supported[2];

	(void)state;
	build(&b, EDU_FACTORIAL, 4);
	mb_operand(&b, NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	mb_operation(&b, CODE(77), MB_LIST(0), MB_LIST(2));
	check(nna_get_supported_operations(device, &b.model, NULL, supported, &err));
	assert_true(supported[0]);
	assert_false(supported[1]);
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, NULL, &prepared, &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "operation 1"));
}

static void factorials_of(struct nna_prepared_model *prepared, struct nna_memory *memory)
{
	static const uint32_t numbers[4] = { 0, 5, 12, 13 };
	static const uint32_t factorials[4] = { 1, 120, 479001600, 1932053504 };
	uint32_t *at = nna_memory_map(memory, &err);

	memcpy(at, numbers, sizeof(numbers));
	check(run(prepared, memory, 0, memory, 16, 16, 0));
	assert_memory_equal(at + 4, factorials, sizeof(factorials));
}

static void test_factorial(void **state)
{
	struct nna_prepared_model *prepared = prepare(device, EDU_FACTORIAL, 4);
	struct nna_memory *memory;

	(void)state;
	check(nna_memory_alloc(device, PAGE, &memory, &err));
	factorials_of(prepared, memory);
	nna_memory_free(memory);
	nna_prepared_model_free(prepared);
}

/*
 * The file that the device copies from is open for reading only, so the IOMMU lets the device read
 * the file's memory, but not write it.
 */
static void test_copy_from_file_to_own(void **state)
{
	struct nna_prepared_model *prepared = prepare(device, EDU_COPY, SIZE);
	int fd = make_file(SIZE + 1);
	uint8_t *from = map(fd, SIZE + 1), *to;
	struct nna_memory *in = import(fd, PROT_READ, SIZE + 1), *out;

	(void)state;
	check(nna_memory_alloc(device, SIZE + 4, &out, &err));
	to = nna_memory_map(out, &err);
	for (uint32_t i = 0; i <= SIZE; i++)
		from[i] = (uint8_t)(i * 7 + i / PAGE);
	memset(to, 0xee, SIZE + 4);
	check(run(prepared, in, 1, out, 3, SIZE, 0));
	assert_memory_equal(to + 3, from + 1, SIZE);
	assert_int_equal(to[2], 0xee);
	assert_int_equal(to[SIZE + 3], 0xee);
	nna_memory_free(in);
	nna_memory_free(out);
	nna_prepared_model_free(prepared);
	munmap(from, SIZE + 1);
	close(fd);
}

/*
 * One memory is first an input, which the device only reads, and later an output, for which the
 * device gets write access.
 */
static void test_copy_within(void **state)
{
	struct nna_prepared_model *prepared = prepare(device, EDU_COPY, 100);
	int fd = make_file(PAGE);
	uint8_t *at = map(fd, PAGE);
	struct nna_memory *file = import(fd, PROT_READ | PROT_WRITE, PAGE), *own;

	(void)state;
	check(nna_memory_alloc(device, PAGE, &own, &err));
	memcpy(at, "from the file", 14);
	check(run(prepared, file, 0, own, 0, 100, 0));
	check(run(prepared, own, 0, file, 1000, 100, 0));
	check(run(prepared, file, 1000, file, 2000, 100, 0));
	assert_string_equal((char *)at + 2000, "from the file");
	nna_memory_free(file);
	nna_memory_free(own);
	nna_prepared_model_free(prepared);
	munmap(at, PAGE);
	close(fd);
}

/*
 * Memory of another driver (here vgem) can be pinned if the memory consists of the kernel's
 * ordinary pages.
 */
static void test_copy_of_vgem(void **state)
{
	struct nna_prepared_model *prepared = prepare(device, EDU_COPY, 100);
	int vgem = vgem_open(), fd;
	struct nna_memory *foreign, *own;
	enum nn_status status;
	uint32_t handle;
	char *at;

	(void)state;
	fd = vgem < 0 ? -1 : vgem_buffer(vgem, PAGE, &handle);
	if (fd < 0) {
		nna_prepared_model_free(prepared);
		skip();
	}
	foreign = import(fd, PROT_READ | PROT_WRITE, PAGE);
	check(nna_memory_alloc(device, PAGE, &own, &err));
	at = nna_memory_map(own, &err);
	strcpy(at, "by way of vgem");
	status = run(prepared, own, 0, foreign, 8, 100, 0);
	if (!status) {
		check(run(prepared, foreign, 8, own, 1000, 100, 0));
		assert_string_equal(at + 1000, "by way of vgem");
	} else {
		assert_non_null(strstr(err.message, "cannot reach"));
	}
	print_message("vgem's memory: %s\n", status ? err.message : "pinned");
	nna_memory_free(foreign);
	nna_memory_free(own);
	nna_prepared_model_free(prepared);
	close(fd);
	close(vgem);
}

/*
 * Access to the end of the sparse file needs a device address of more than 28 bits. A sparse file
 * uses no memory, so only the limit of device addresses makes the execution fail.
 */
static void test_too_large(void **state)
{
	struct nna_prepared_model *prepared = prepare(device, EDU_COPY, 100);
	int fd = make_file(256u << 20);
	struct nna_memory *large = import(fd, PROT_READ, 256u << 20), *own;

	(void)state;
	check(nna_memory_alloc(device, PAGE, &own, &err));
	assert_int_equal(run(prepared, large, 0, own, 0, 100, 0),
			 NN_RESOURCE_EXHAUSTED_TRANSIENT);
	check(run(prepared, own, 0, own, 1000, 100, 0));
	nna_memory_free(large);
	nna_memory_free(own);
	nna_prepared_model_free(prepared);
	close(fd);
}

/*
 * The client truncates two files: one file before the device maps the file, and another file while
 * the device uses the file.
 */
static void test_truncated(void **state)
{
	struct nna_prepared_model *copy = prepare(device, EDU_COPY, 100);
	struct nna_prepared_model *factorial = prepare(device, EDU_FACTORIAL, 4);
	int fd = make_file(PAGE), other = make_file(PAGE);
	struct nna_memory *in = import(fd, PROT_READ | PROT_WRITE, PAGE), *own;
	struct nna_memory *pinned = import(other, PROT_READ | PROT_WRITE, PAGE);

	(void)state;
	check(nna_memory_alloc(device, PAGE, &own, &err));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(run(copy, in, 0, own, 0, 100, 0), NN_GENERAL_FAILURE);
	assert_int_equal(run(factorial, in, 0, own, 0, 16, 0), NN_GENERAL_FAILURE);
	/* The pinned pages of a truncated file stay allocated, but no longer belong to the file. */
	check(run(copy, own, 0, pinned, 0, 100, 0));
	assert_int_equal(ftruncate(other, 0), 0);
	check(run(copy, own, 0, pinned, 0, 100, 0));
	factorials_of(factorial, own);
	nna_memory_free(in);
	nna_memory_free(pinned);
	nna_memory_free(own);
	nna_prepared_model_free(copy);
	nna_prepared_model_free(factorial);
	close(fd);
	close(other);
}

/*
 * After a missed deadline and a reset, the device computes for some more seconds, and then serves
 * the next command.
 */
static void test_hang(void **state)
{
	struct nna_prepared_model *one = prepare(device, EDU_FACTORIAL, 1);
	struct nna_prepared_model *four = prepare(device, EDU_FACTORIAL, 4);
	struct nna_memory *memory;

	(void)state;
	check(nna_memory_alloc(device, PAGE, &memory, &err));
	*(uint32_t *)nna_memory_map(memory, &err) = NEVER;
	assert_int_equal(run(one, memory, 0, memory, 4, 4, clock_ns() + 300000000),
			 NN_MISSED_DEADLINE_TRANSIENT);
	factorials_of(four, memory);
	nna_memory_free(memory);
	nna_prepared_model_free(one);
	nna_prepared_model_free(four);
}

/*
 * Starts a client that copies many pages from one part of a file to another until the test kills
 * the client.
 */
static pid_t start_client(int fd)
{
	struct nna_prepared_model *prepared;
	struct nna_memory *memory;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (nna_device_open(NULL, &device, &err))
		_exit(1);
	prepared = prepare(device, EDU_COPY, MANY);
	memory = import(fd, PROT_READ | PROT_WRITE, 2 * MANY);
	run(prepared, memory, 0, memory, MANY, MANY, 0);
	_exit(1);
}

/* Returns how many bytes the device has copied so far; the file with the copy is mapped at `at`. */
static uint32_t moved(const uint8_t *at)
{
	uint32_t n = 0;

	while (n < MANY && at[MANY + n] == 0x5a)
		n++;
	return n;
}

/*
 * After a client has died, the device stops copying for the dead client and serves other clients.
 */
static void test_client_dies_during_dma(void **state)
{
	struct nna_prepared_model *prepared = prepare(device, EDU_FACTORIAL, 4);
	const struct timespec pause = { .tv_nsec = 10000000 };
	int fd = make_file(2 * MANY), status;
	uint8_t *at = map(fd, 2 * MANY);
	struct nna_memory *memory;
	pid_t client;
	uint32_t n;

	(void)state;
	check(nna_memory_alloc(device, PAGE, &memory, &err));
	memset(at, 0x5a, MANY);
	client = start_client(fd);
	while (!moved(at)) {
		assert_int_equal(waitpid(client, &status, WNOHANG), 0);
		nanosleep(&pause, NULL);
	}
	kill(client, SIGKILL);
	assert_int_equal(waitpid(client, &status, 0), client);
	assert_true(WIFSIGNALED(status));
	/*
	 * Wait for the device: factorials_of() gets the device only after the engine's thread for
	 * the dead client has released the device.
	 */
	factorials_of(prepared, memory);
	n = moved(at);
	assert_true(n < MANY);
	factorials_of(prepared, memory);
	factorials_of(prepared, memory);
	assert_int_equal(moved(at), n);
	nna_memory_free(memory);
	nna_prepared_model_free(prepared);
	munmap(at, 2 * MANY);
	close(fd);
}

/* Two clients use the same device addresses, but each client copies only its own bytes. */
static void test_two_clients(void **state)
{
	struct nna_memory *memories[2];
	struct nna_device *second;
	uint8_t *at[2];

	(void)state;
	check(nna_device_open(NULL, &second, &err));
	for (int i = 0; i < 2; i++) {
		check(nna_memory_alloc(i ? second : device, 2 * PAGE, &memories[i], &err));
		at[i] = nna_memory_map(memories[i], &err);
		memset(at[i], i ? 0xbb : 0xaa, PAGE);
	}
	for (int i = 0; i < 2; i++) {
		struct nna_prepared_model *prepared = prepare(i ? second : device, EDU_COPY, PAGE);

		check(run(prepared, memories[i], 0, memories[i], PAGE, PAGE, 0));
		nna_prepared_model_free(prepared);
	}
	for (int i = 0; i < 2; i++) {
		assert_memory_equal(at[i], at[i] + PAGE, PAGE);
		assert_int_equal(at[i][PAGE], i ? 0xbb : 0xaa);
		nna_memory_free(memories[i]);
	}
	nna_device_close(second);
}

static void write_to(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

struct busy {
	struct nna_prepared_model *prepared;
	struct nna_memory *memory;
	enum nn_status status;
};

static void *keep_busy(void *data)
{
	struct busy *busy = data;

	busy->status = run(busy->prepared, busy->memory, 0, busy->memory, 4, 4, 0);
	return NULL;
}

/*
 * Unbinding the device's driver ends the engine and the engine's executions, so this test must run
 * last. The write() that unbinds the driver returns once the engine has closed the device.
 */
static void test_unbind(void **state)
{
	char path[256], *address, *hardware = realpath("/sys/class/nnaccel/nnaccel/device", NULL);
	struct nna_prepared_model *prepared = prepare(device, EDU_FACTORIAL, 4);
	struct busy busy = { .prepared = prepare(device, EDU_FACTORIAL, 1) };
	struct nna_prepared_model *none;
	struct nna_memory *memory;
	struct model_builder b;
	pthread_t thread;

	(void)state;
	assert_non_null(hardware);
	address = strrchr(hardware, '/') + 1;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/nnaccel/name", address);
	assert_int_equal(access(path, R_OK), 0);
	check(nna_memory_alloc(device, PAGE, &memory, &err));
	check(nna_memory_alloc(device, PAGE, &busy.memory, &err));
	*(uint32_t *)nna_memory_map(busy.memory, &err) = NEVER;
	factorials_of(prepared, memory);
	assert_int_equal(pthread_create(&thread, NULL, keep_busy, &busy), 0);
	write_to("/sys/bus/pci/drivers/vfio-pci/unbind", address);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_not_equal(busy.status, NN_OK);
	assert_int_not_equal(run(prepared, memory, 0, memory, 16, 16, 0), NN_OK);
	assert_int_not_equal(access(path, R_OK), 0);
	build(&b, EDU_FACTORIAL, 4);
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, NULL, &none, &err),
			 NN_DEVICE_UNAVAILABLE);
	nna_memory_free(memory);
	nna_memory_free(busy.memory);
	nna_prepared_model_free(prepared);
	nna_prepared_model_free(busy.prepared);
	free(hardware);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_describes_itself),
		TEST(test_supports_its_own),
		TEST(test_factorial),
		TEST(test_copy_from_file_to_own),
		TEST(test_copy_within),
		TEST(test_copy_of_vgem),
		TEST(test_too_large),
		TEST(test_truncated),
		TEST(test_hang),
		TEST(test_client_dies_during_dma),
		TEST(test_two_clients),
		TEST(test_unbind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
