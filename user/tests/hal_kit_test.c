/* SPDX-License-Identifier: MIT */
/*
 * Tests an engine that is made with the engine kit. The test checks that long executions of one
 * client do not disturb other clients. The test needs /dev/nnaccel and the engine of
 * tests/kit_engine, which writes its log to the file $NN_TEST_LOG.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "base/clock.h"
#include "exporters.h"
#include "tests/burst_counter.h"
#include "tests/hal_fixture.h"
#include "tests/kit_engine/engine.h"
#include "tests/model_builder.h"

#define OP_ADD 0

/* time in s after which a start of a worker no longer counts for the limit of starts */
#define SHARE_PAUSE_S 2

/* Prepares a model of x + x for one number. */
static enum nn_status try_prepare_double(struct nna_device *from,
					 const struct nna_prepare_options *options,
					 struct nna_prepared_model **p)
{
	uint32_t x, none, sum;
	struct model_builder b;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&b, OP_ADD, MB_LIST(x, x, none), MB_LIST(sum));
	return nna_prepare_model(from, &b.model, NULL, options, p, &err);
}

static struct nna_prepared_model *prepare_double(struct nna_device *from)
{
	struct nna_prepared_model *p;

	check(try_prepare_double(from, NULL, &p));
	return p;
}

/* The numbers x and 2 x, in memory that the client and the engine map. */
static float *numbers;
static int numbers_file;

static enum nn_status twice(struct nna_device *from, struct nna_prepared_model *p, float x,
			    uint64_t deadline_ns)
{
	const struct nna_execute_options options = { .size = sizeof(options),
						     .deadline_ns = deadline_ns };
	const struct nna_argument in = { .length = sizeof(float) };
	const struct nna_argument out = { .offset = sizeof(float), .length = sizeof(float) };
	struct nna_memory *memory;
	struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	enum nn_status status;

	check(nna_memory_import(from, NNA_SIZED(nna_file, .fd = numbers_file,
				.prot = PROT_READ | PROT_WRITE, .length = 2 * sizeof(float)),
				&memory, &err));
	numbers[0] = x;
	numbers[1] = -1;
	status = nna_execute(p, &r, &options, NULL, &err);
	nna_memory_free(memory);
	return status;
}

static void make_numbers(void)
{
	numbers_file = memfd_create("numbers", MFD_CLOEXEC);
	assert_int_equal(ftruncate(numbers_file, 4096), 0);
	numbers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, numbers_file, 0);
	assert_ptr_not_equal(numbers, MAP_FAILED);
}

static void free_numbers(void)
{
	munmap(numbers, 4096);
	close(numbers_file);
}

/*
 * Offset in the log file where the lines of the current test begin; lines before this offset come
 * from earlier tests.
 */
static long log_start;

static void begin_log(void)
{
	struct stat st;

	assert_int_equal(stat(getenv("NN_TEST_LOG"), &st), 0);
	log_start = (long)st.st_size;
}

/* Returns whether the engine's log function has written the text since begin_log(). */
static bool log_has(const char *text)
{
	FILE *file = fopen(getenv("NN_TEST_LOG"), "re");
	char line[1024];
	bool found = false;

	assert_non_null(file);
	assert_int_equal(fseek(file, log_start, SEEK_SET), 0);
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, text) && strstr(line, "kit-engine of level ");
	fclose(file);
	return found;
}

static void await_log(const char *text)
{
	while (!log_has(text))
		usleep(100000);
}

/* If an execution ignores the deadline, only the execution's client loses its models. */
static void test_overdue(void **state)
{
	struct nna_device *other;
	struct nna_prepared_model *p = prepare_double(device), *of_other;

	(void)state;
	make_numbers();
	check(nna_device_open(NULL, &other, &err));
	of_other = prepare_double(other);
	check(twice(other, of_other, 1, 0));
	/*
	 * The deadline is half of the time that the execution takes. The test does not lengthen the
	 * deadline on slow machines, because a sandboxed engine process could not lengthen its
	 * delay.
	 */
	assert_int_equal(twice(device, p, KIT_ENGINE_LATE, clock_ns() + 2 * NS_PER_S),
			 NN_MISSED_DEADLINE_TRANSIENT);
	/*
	 * Executions fail as soon as the kernel revokes the client's memory; the client's session
	 * ends some time after the revocation.
	 */
	while (twice(device, p, 2, 0) != NN_DEAD_OBJECT)
		usleep(100000);
	assert_int_equal(twice(device, p, 2, 0), NN_DEAD_OBJECT);
	check(twice(other, of_other, 21, 0));
	assert_true(numbers[1] == 42);
	nna_prepared_model_free(p);
	p = prepare_double(device);
	check(twice(device, p, 4, 0));
	/*
	 * The overdue execution could not write to the client's memory after the revocation of the
	 * memory.
	 */
	usleep(KIT_ENGINE_LATE_NS / 1000);
	assert_true(numbers[1] == 8);
	check(twice(device, p, 5, 0));
	check(twice(other, of_other, 6, 0));
	nna_prepared_model_free(p);
	nna_prepared_model_free(of_other);
	nna_device_close(other);
	free_numbers();
}

/* A client dies while the engine executes the client's model. */
static void test_gone(void **state)
{
	struct nna_prepared_model *p = prepare_double(device);
	pid_t pid;

	(void)state;
	make_numbers();
	begin_log();
	pid = fork();
	if (!pid) {
		struct nna_device *own;

		check(nna_device_open(NULL, &own, &err));
		twice(own, prepare_double(own), KIT_ENGINE_UNTIL_GONE, 0);
		_exit(1);
	}
	await_log(KIT_ENGINE_WAITS);
	check(twice(device, p, 3, 0));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (getenv("NN_TEST_THREADS"))
		await_log(KIT_ENGINE_TOLD);
	check(twice(device, p, 4, 0));
	nna_prepared_model_free(p);
	free_numbers();
}

/* If the engine returns a fence for an execution, the execution ends when the fence signals. */
static void test_fence(void **state)
{
	struct nna_prepared_model *p = prepare_double(device);

	(void)state;
	make_numbers();
	begin_log();
	check(twice(device, p, KIT_ENGINE_FENCED, 0));
	assert_true(numbers[1] == 2 * KIT_ENGINE_FENCED);
	/* The log lines of an engine process arrive late, because the lines go through a pipe. */
	await_log(KIT_ENGINE_SIGNALS);
	check(twice(device, p, 4, 0));
	nna_prepared_model_free(p);
	free_numbers();
}

/*
 * An execution that depends on two pending fences reaches the engine at once, and the engine waits
 * for both fences. An execution that depends on another execution reaches the engine only after the
 * other execution has ended.
 */
static void test_dependencies(void **state)
{
	const struct nna_argument in = { .length = sizeof(float) };
	const struct nna_argument out = { .offset = sizeof(float), .length = sizeof(float) };
	struct nna_prepared_model *p = prepare_double(device);
	struct pollfd ends[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct exporter exporters[2];
	struct nna_memory *memory;
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	int after[3];

	(void)state;
	make_numbers();
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = numbers_file,
				.prot = PROT_READ | PROT_WRITE, .length = 2 * sizeof(float)),
				&memory, &err));
	begin_log();
	for (int i = 0; i < 2; i++) {
		assert_true(exporter_open(&exporters[i], 0));
		assert_int_equal(ioctl(exporters[i].fd, EXPORTER_FENCE, 1), 0);
		after[i] = buffer_fence(exporters[i].buffer);
	}
	numbers[0] = 4;
	check(nna_execute_fenced(p, &r, NULL, NNA_SIZED(nna_dependencies, .files = after,
				 .num_files = 2), &ends[0].fd, &err));
	await_log(KIT_ENGINE_DEPENDS);
	after[2] = ends[0].fd;
	check(nna_execute_fenced(p, &r, NULL, NNA_SIZED(nna_dependencies, .files = after,
				 .num_files = 3), &ends[1].fd, &err));
	for (int i = 0; i < 2; i++) {
		numbers[0] = 5 + (float)i;
		assert_int_equal(poll(ends, 2, 20), 0);
		assert_int_equal(ioctl(exporters[i].fd, EXPORTER_SIGNAL), 0);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(poll(&ends[i], 1, -1), 1);
		check(nna_fence_get_info(device, ends[i].fd, NULL, NULL, &err));
		assert_true(numbers[1] == 12);
		close(ends[i].fd);
		close(after[i]);
		exporter_close(&exporters[i]);
	}
	nna_memory_free(memory);
	nna_prepared_model_free(p);
	free_numbers();
}

static float device_number(const struct exporter *x, uint32_t offset, const float *written)
{
	struct exporter_dma word = { .offset = offset, .write = written != NULL };
	float number;

	if (written)
		memcpy(&word.value, written, sizeof(*written));
	assert_int_equal(ioctl(x->fd, EXPORTER_DMA, &word), 0);
	memcpy(&number, &word.value, sizeof(number));
	return number;
}

/*
 * Starts an execution, and requests the execution's sync_file. Checks the status and the error
 * message of the request.
 */
static void check_sync_file(struct nna_prepared_model *p, const struct nna_request *r,
			    enum nn_status status, const char *message)
{
	struct pollfd polled[2] = { { .events = POLLIN }, { .events = POLLIN } };

	check(nna_execute_fenced(p, r, NULL, NULL, &polled[0].fd, &err));
	assert_int_equal(nna_fence_get_sync_file(device, polled[0].fd, &polled[1].fd, &err), status);
	assert_non_null(strstr(err.message, message));
	assert_int_equal(polled[1].fd >= 0, status == NN_OK);
	for (int i = status == NN_OK; i >= 0; i--)
		assert_int_equal(poll(&polled[i], 1, -1), 1);
	check(nna_fence_get_info(device, polled[0].fd, NULL, NULL, &err));
	close(polled[0].fd);
	if (!status)
		close(polled[1].fd);
}

/* The input and output of the tested execution lie in memory that no CPU can map. */
static void test_device_memory(void **state)
{
	const struct nna_argument in = { .length = sizeof(float) };
	const struct nna_argument out = { .offset = sizeof(float), .length = sizeof(float) };
	struct nna_prepared_model *p = prepare_double(device);
	struct exporter exporter, reader;
	struct exporter_import import;
	struct nna_memory *memory;
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	const float number = 21, fenced = KIT_ENGINE_FENCED;

	(void)state;
	assert_true(exporter_open(&exporter, EXPORTER_NO_MMAP));
	assert_true(exporter_open(&reader, 0));
	import = (struct exporter_import){ .fd = exporter.buffer };
	assert_int_equal(ioctl(reader.fd, EXPORTER_IMPORT, &import), 0);
	device_number(&reader, 0, &number);
	/*
	 * Import the other driver's whole dma-buf, because the engine can get only whole dma-bufs.
	 */
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = exporter.buffer,
				.prot = PROT_READ | PROT_WRITE,
				.length = EXPORTER_NUM_PAGES * (uint64_t)sysconf(_SC_PAGESIZE)),
				&memory, &err));
	check(nna_execute(p, &r, NULL, NULL, &err));
	assert_true(device_number(&reader, sizeof(float), NULL) == 2 * number);
	check_sync_file(p, &r, NN_GENERAL_FAILURE, "the execution has ended without a fence");
	device_number(&reader, 0, &fenced);
	check_sync_file(p, &r, NN_OK, "");
	assert_true(device_number(&reader, sizeof(float), NULL) == 2 * fenced);
	nna_memory_free(memory);
	nna_prepared_model_free(p);
	exporter_close(&reader);
	exporter_close(&exporter);
}

/* The engine can get the dma-buf of a client's memory, if the memory has a dma-buf. */
static void test_export(void **state)
{
	struct nna_prepared_model *p = prepare_double(device);
	const struct nna_argument in = { .length = sizeof(float) };
	const struct nna_argument out = { .offset = sizeof(float), .length = sizeof(float) };
	struct nna_memory *memory;
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	float *data;

	(void)state;
	check(nna_memory_alloc(device, 2 * sizeof(float), &memory, &err));
	data = nna_memory_map(memory, &err);
	assert_non_null(data);
	data[0] = KIT_ENGINE_EXPORT;
	check(nna_execute(p, &r, NULL, NULL, &err));
	assert_true(data[1] == 2 * KIT_ENGINE_EXPORT);
	nna_memory_free(memory);
	nna_prepared_model_free(p);
	/* Memory of an ordinary file has no dma-buf. */
	p = prepare_double(device);
	make_numbers();
	assert_int_equal(twice(device, p, KIT_ENGINE_EXPORT, 0), NN_GENERAL_FAILURE);
	check(twice(device, p, 5, 0));
	nna_prepared_model_free(p);
	free_numbers();
}

/*
 * Another thread of the engine ends the deferred execution exactly once. If no thread ends a
 * deferred execution, the client of the execution loses its models.
 */
static void test_deferred(void **state)
{
	struct nna_prepared_model *p = prepare_double(device);

	(void)state;
	make_numbers();
	begin_log();
	check(twice(device, p, KIT_ENGINE_DEFERRED, 0));
	assert_true(numbers[1] == 2 * KIT_ENGINE_DEFERRED);
	await_log(KIT_ENGINE_ENDED);
	assert_int_equal(twice(device, p, KIT_ENGINE_NEVER, clock_ns() + scaled(NS_PER_S / 2)),
			 NN_MISSED_DEADLINE_TRANSIENT);
	while (twice(device, p, 2, 0) != NN_DEAD_OBJECT)
		usleep(100000);
	nna_prepared_model_free(p);
	p = prepare_double(device);
	check(twice(device, p, 4, 0));
	assert_true(numbers[1] == 8);
	nna_prepared_model_free(p);
	free_numbers();
}

/* The test engine's device accepts more executions at a time than the library has threads. */
static void test_queue(void **state)
{
	struct nna_prepared_model *p = prepare_double(device);
	struct pollfd fences[KIT_ENGINE_QUEUE];
	struct nna_argument in = { .length = sizeof(float) }, out = in;
	struct nna_memory *memory;
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};

	(void)state;
	make_numbers();
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = numbers_file,
				.prot = PROT_READ | PROT_WRITE, .length = 4096), &memory, &err));
	for (uint32_t i = 0; i < KIT_ENGINE_QUEUE; i++) {
		numbers[2 * i] = KIT_ENGINE_QUEUED;
		in.offset = 2 * i * sizeof(float);
		out.offset = in.offset + sizeof(float);
		fences[i].events = POLLIN;
		check(nna_execute_fenced(p, &r, NULL, NULL, &fences[i].fd, &err));
	}
	for (uint32_t i = 0; i < KIT_ENGINE_QUEUE; i++) {
		assert_int_equal(poll(&fences[i], 1, -1), 1);
		check(nna_fence_get_info(device, fences[i].fd, NULL, NULL, &err));
		assert_true(numbers[2 * i + 1] == 2 * KIT_ENGINE_QUEUED);
		close(fences[i].fd);
	}
	nna_memory_free(memory);
	nna_prepared_model_free(p);
	free_numbers();
}

/* The engine can use a file that it has declared, but only in the declared ways. */
static void test_file(void **state)
{
	struct nna_prepared_model *p = prepare_double(device);

	(void)state;
	make_numbers();
	check(twice(device, p, KIT_ENGINE_READ, 0));
	assert_true(numbers[1] == 2 * KIT_ENGINE_READ);
	/*
	 * If threads of the engine serve clients, the threads have no system call filter, so the
	 * permissions for the file have no effect.
	 */
	assert_int_equal(twice(device, p, KIT_ENGINE_STRAY, 0),
			 getenv("NN_TEST_THREADS") ? NN_GENERAL_FAILURE : NN_DEAD_OBJECT);
	nna_prepared_model_free(p);
	free_numbers();
}

/*
 * The engine gets a model's priority and a buffer's roles; the client gets the execution time on
 * the device and the use of device memory.
 */
static void test_told(void **state)
{
	const struct nna_prepare_options high = {
		.size = sizeof(high), .priority = NNA_PRIORITY_HIGH,
	};
	const struct nna_execute_options measured = { .size = sizeof(measured), .measure = true };
	const struct nna_role half = { .frequency = 0.5f };
	const struct nna_argument in = { .length = sizeof(float) };
	const struct nna_argument out = { .offset = sizeof(float), .length = sizeof(float) };
	struct nna_memory *memory;
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	struct nna_prepared_model *p;
	struct nna_buffer *buffer;
	struct nna_timing timing;
	uint32_t token;
	float *data;
	char line[64];

	(void)state;
	begin_log();
	check(try_prepare_double(device, &high, &p));
	snprintf(line, sizeof(line), KIT_ENGINE_PREPARES, NNACCEL_PRIORITY_HIGH);
	await_log(line);
	assert_int_equal(context_counter("drm-resident-device"), KIT_ENGINE_DEVICE_KIB);
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .inputs = &half, .num_inputs = 1), &buffer, &token, &err));
	snprintf(line, sizeof(line), KIT_ENGINE_ROLE, "input", 0, 50);
	await_log(line);
	nna_buffer_free(buffer);
	check(nna_memory_alloc(device, 2 * sizeof(float), &memory, &err));
	data = nna_memory_map(memory, &err);
	assert_non_null(data);
	data[0] = KIT_ENGINE_TIMED;
	check(nna_execute(p, &r, &measured, NNA_SIZED(nna_results, .timing = &timing), &err));
	assert_int_equal(timing.on_device_us, KIT_ENGINE_DEVICE_US);
	data[0] = 1;
	check(nna_execute(p, &r, &measured, NNA_SIZED(nna_results, .timing = &timing), &err));
	assert_true(timing.on_device_us <= timing.in_driver_us);
	nna_memory_free(memory);
	nna_prepared_model_free(p);
}

/*
 * If the engine refuses one more burst, the client gets the engine's status and reason. After one
 * of the bursts has ended, the client can create a new burst.
 */
static void test_refused_burst(void **state)
{
	struct nna_burst *bursts[KIT_ENGINE_BURSTS], *more = NULL;
	struct nna_prepared_model *p = prepare_double(device);

	(void)state;
	for (int i = 0; i < KIT_ENGINE_BURSTS; i++)
		check(nna_burst_create(p, NULL, &bursts[i], &err));
	assert_int_equal(nna_burst_create(p, NULL, &more, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, KIT_ENGINE_NO_BURST));
	assert_null(more);
	nna_burst_free(bursts[0]);
	/* A burst ends some time after the client has freed the burst. */
	while (nna_burst_create(p, NULL, &bursts[0], &err))
		usleep(1000);
	for (int i = 0; i < KIT_ENGINE_BURSTS; i++)
		nna_burst_free(bursts[i]);
	nna_prepared_model_free(p);
}

/*
 * Opens clients until the engine refuses a client, and closes all clients that it has opened.
 * Returns the number of clients that the engine served at the same time.
 */
static int count_served(void)
{
	struct nna_device *clients[KIT_ENGINE_MOST + 1];
	enum nn_status status = NN_OK;
	struct nna_prepared_model *p;
	int opened = 0, served;

	while (!status && opened <= KIT_ENGINE_MOST) {
		check(nna_device_open(NULL, &clients[opened++], &err));
		status = try_prepare_double(clients[opened - 1], NULL, &p);
		if (!status)
			nna_prepared_model_free(p);
	}
	served = opened - !!status;
	if (status)
		assert_int_equal(status, NN_DEVICE_UNAVAILABLE);
	while (opened)
		nna_device_close(clients[--opened]);
	return served;
}

/*
 * The engine limits the clients of one user. When a client ends, the client's user may open another
 * client.
 */
static void test_share(void **state)
{
	int served;

	(void)state;
	/*
	 * Clients of the previous test may still be ending, and the engine refuses clients that are
	 * opened too fast.
	 */
	while ((served = count_served()) != KIT_ENGINE_MOST) {
		assert_true(served < KIT_ENGINE_MOST);
		sleep(SHARE_PAUSE_S);
	}
}

/* The process or thread that serves a client can use the engine's persistent store. */
static void test_store(void **state)
{
	struct nna_prepared_model *p = prepare_double(device);

	(void)state;
	make_numbers();
	check(twice(device, p, KIT_ENGINE_PUT, 0));
	check(twice(device, p, KIT_ENGINE_GET, 0));
	nna_prepared_model_free(p);
	free_numbers();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_overdue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fence, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dependencies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_export, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_device_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deferred, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_queue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_store, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused_burst, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_share, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("hal kit", tests, NULL, NULL);
}
