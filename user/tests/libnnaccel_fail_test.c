/* SPDX-License-Identifier: MIT */
/*
 * Tests each function of libnnaccel that has an error parameter: with an invalid argument, and
 * while each kernel request and each allocation fails in turn. A failing call sets an error
 * message, and a succeeding call clears the message of an earlier call. The test checks that each
 * call releases all memory, files, locks, pools, models and buffers.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>
#include <nnaccel/uring.h>

#include "hal/device.h"
#include "tests/failing/failing.h"
#include "tests/failing/kept.h"
#include "tests/fake_kernel.h"
#include "tests/heap_blocks.h"

#define STALE "a reason of an earlier call"
#define ROW (4 * sizeof(float))
#define EXPORTS "user/hal/libnnaccel.map"
#define MANY 50			/* number of buffers: more than a device's initial table can hold */

/* y = RELU(x) */
static const uint32_t x = 0, y = 1;
static const struct nn_operation relu = { NN_OP_RELU, 1, 1, &x, &y };
static const struct nn_operand operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_INPUT, .rank = 1, .dims = { 4 },
	  .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT, .rank = 1, .dims = { 4 } },
};
static const struct nn_subgraph subgraph = { 2, 1, 1, 1, operands, &relu, &x, &y };
static const struct nn_model model = {
	.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &subgraph,
};
/* Structures with the invalid size 0. */
static const struct nn_model no_model;
static const struct nna_request no_request;
static const struct nna_burst_options no_burst_options;
static const struct nna_format no_format, format = { .size = sizeof(format) };

/* Arguments of the tested calls; give() makes new arguments before each call. */
static struct {
	struct nna_device *device;
	struct nna_memory *memory, *imported;
	struct nna_prepared_model *prepared, *cached;
	struct nna_buffer *buffer;
	struct nna_burst *burst;
	struct nna_submission *submission;
	uint32_t token;
	int file, fence, cache_files[2];
	struct nna_cache cache;
	struct nna_argument in, out;
	struct nna_request request;
} given;

/* Objects that the tested calls returned. */
static struct {
	struct nna_device *device;
	struct nna_memory *memory;
	struct nna_prepared_model *prepared;
	struct nna_buffer *buffer;
	struct nna_burst *burst;
	struct nna_submission *submission;
	struct nna_preparation *preparation;
	int file;
	uint32_t count;
	struct nna_device_entry entry;
	struct nn_device_info info;
	struct nna_context_info context;
	const struct nn_device_extension *extensions;
	struct io_uring_sqe sqe;
	bool supported;
	float row[4];
} made;

static const struct nna_role role = { .frequency = 1 };

/*
 * The macro CALLS has an entry X(name, can_be_bad, call) for each function of libnnaccel.map with
 * an error parameter. If can_be_bad and `bad` are true, `call` passes a wrong argument. The list
 * `silent` has the functions of libnnaccel.map without an error parameter.
 */
#define CALLS(X) \
	X(nna_buffer_allocate, true, \
	  nna_buffer_allocate(given.device, NNA_SIZED(nna_buffer_roles, .models = &given.prepared, \
			      .num_models = !bad, .inputs = &role, .num_inputs = 1), \
			      &made.buffer, &made.count, err)) \
	X(nna_buffer_copy_from, true, \
	  nna_buffer_copy_from(given.buffer, bad ? given.imported : given.memory, 0, NULL, err)) \
	X(nna_buffer_copy_to, true, \
	  nna_buffer_copy_to(given.buffer, bad ? given.imported : given.memory, err)) \
	X(nna_buffer_read, true, nna_buffer_read(given.buffer, made.row, bad ? 1 : ROW, err)) \
	X(nna_buffer_write, true, \
	  nna_buffer_write(given.buffer, made.row, bad ? 1 : ROW, 0, NULL, err)) \
	X(nna_burst_create, true, \
	  nna_burst_create(given.prepared, bad ? &no_burst_options : NULL, &made.burst, err)) \
	X(nna_burst_execute, true, \
	  nna_burst_execute(given.burst, bad ? &no_request : &given.request, NULL, NULL, \
			    err)) \
	X(nna_cache_files_needed, false, \
	  nna_cache_files_needed(given.device, &made.count, &made.count, err)) \
	X(nna_device_get_context_info, true, \
	  (made.context.size = bad ? 0 : sizeof(made.context), \
	   nna_device_get_context_info(given.device, &made.context, err))) \
	X(nna_device_get_extensions, false, \
	  nna_device_get_extensions(given.device, &made.extensions, &made.count, err)) \
	X(nna_device_get_info, true, \
	  (made.info.size = bad ? 0 : sizeof(made.info), \
	   nna_device_get_info(given.device, &made.info, err))) \
	X(nna_device_list, true, \
	  (made.count = 1, \
	   nna_device_list(&made.entry, bad ? 0 : sizeof(made.entry), &made.count, err))) \
	X(nna_device_open, true, \
	  nna_device_open(bad ? "/nowhere" : NULL, &made.device, err)) \
	X(nna_device_open_by_name, true, nna_device_open_by_name("nobody", &made.device, err)) \
	X(nna_execute, true, \
	  nna_execute(given.prepared, bad ? &no_request : &given.request, NULL, NULL, err)) \
	X(nna_execute_fenced, true, \
	  nna_execute_fenced(given.prepared, bad ? &no_request : &given.request, NULL, NULL, \
			     &made.file, err)) \
	X(nna_fence_get_info, true, \
	  nna_fence_get_info(given.device, bad ? given.file : given.fence, NULL, NULL, err)) \
	X(nna_fence_get_sync_file, false, \
	  nna_fence_get_sync_file(given.device, given.fence, &made.file, err)) \
	X(nna_get_supported_operations, true, \
	  nna_get_supported_operations(given.device, bad ? &no_model : &model, NULL, \
				       &made.supported, err)) \
	X(nna_memory_alloc, true, \
	  nna_memory_alloc(given.device, bad ? 0 : FAKE_PAGE, &made.memory, err)) \
	X(nna_memory_export, true, \
	  nna_memory_export(bad ? given.imported : given.memory, &made.file, err)) \
	X(nna_memory_import, true, \
	  nna_memory_import(given.device, NNA_SIZED(nna_file, .fd = given.file, \
			    .prot = bad ? 0 : PROT_READ, .length = FAKE_PAGE), \
			    &made.memory, err)) \
	X(nna_memory_import_formatted, true, \
	  nna_memory_import_formatted(given.device, given.file, PROT_READ, \
				      bad ? &no_format : &format, &made.memory, err)) \
	X(nna_memory_map, true, \
	  nna_memory_map(bad ? given.imported : given.memory, err) ? NN_OK : NN_GENERAL_FAILURE) \
	X(nna_preparation_finish, false, \
	  nna_preparation_start(given.device, &model, NULL, NULL, &made.preparation, err) ?: \
	  nna_preparation_finish(made.preparation, &made.prepared, err)) \
	X(nna_preparation_start, true, \
	  nna_preparation_start(given.device, bad ? &no_model : &model, NULL, NULL, \
				&made.preparation, err)) \
	X(nna_prepare_model, true, \
	  nna_prepare_model(given.device, bad ? &no_model : &model, NULL, NULL, &made.prepared, \
			    err)) \
	X(nna_prepare_model_from_cache, true, \
	  (given.cache.num_model_files = bad ? NNACCEL_MAX_CACHE_PARTS + 1 : 1, \
	   nna_prepare_model_from_cache(given.device, &given.cache, NULL, &made.prepared, err))) \
	X(nna_prepared_model_set_signature, true, \
	  nna_prepared_model_set_signature(given.cached, bad ? &no_model : &model, err)) \
	X(nna_submission_cancel, false, nna_submission_cancel(given.submission, err)) \
	X(nna_submission_create, true, \
	  nna_submission_create(given.prepared, bad ? &no_request : &given.request, NULL, \
				&made.submission, err)) \
	X(nna_submission_prepare, false, \
	  nna_submission_prepare(given.submission, &made.sqe, err)) \
	X(nna_submission_result, true, \
	  nna_submission_result(given.submission, bad ? -EINVAL : 0, NULL, err))

#define FUNCTION(name, can, call) \
	static enum nn_status call_##name(bool bad, struct nn_error *err) \
	{ \
		(void)bad; \
		return call; \
	}
CALLS(FUNCTION)

#define ENTRY(name, can, call) { #name, can, call_##name },
static const struct call {
	const char *name;
	bool can_be_bad;
	enum nn_status (*call)(bool bad, struct nn_error *err);
} calls[] = { CALLS(ENTRY) };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const silent[] = {
	"nna_buffer_free", "nna_buffer_size", "nna_burst_free", "nna_device_close",
	"nna_device_status", "nna_log", "nna_log_keep_error", "nna_log_level_name", "nna_log_set", "nna_memory_free",
	"nna_memory_size", "nna_preparation_free", "nna_preparation_has_ended", "nna_prepared_model_free", "nna_status_name", "nna_submission_free",
};

/* ---- arguments ---- */

static int make_file(const char *contents)
{
	int fd = fake_file(FAKE_PAGE);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, contents, strlen(contents), 0), strlen(contents));
	return fd;
}

/* Memory, files and locks in use before the first call. */
static struct kept kept;

static void give(void)
{
	static const float row[4] = { 1, 2, 3, 4 };
	struct nn_error err = { "" };

	kept = kept_now();
	memset(&given, 0, sizeof(given));
	memset(&made, 0, sizeof(made));
	made.file = -1;
	fake.is_on = true;
	fake.shape = (struct nnaccel_shape){ 0, 1, { 4 } };
	given.file = make_file("");
	given.cache_files[0] = make_file("a model");
	given.cache_files[1] = make_file("its data");
	given.cache = (struct nna_cache){
		.size = sizeof(given.cache),
		.model_files = &given.cache_files[0], .num_model_files = 1,
		.data_files = &given.cache_files[1], .num_data_files = 1,
	};
	assert_int_equal(nna_device_open(NULL, &given.device, &err), NN_OK);
	assert_int_equal(nna_memory_alloc(given.device, ROW, &given.memory, &err), NN_OK);
	assert_int_equal(nna_memory_import(given.device, NNA_SIZED(nna_file, .fd = given.file,
					   .prot = PROT_READ, .length = FAKE_PAGE), &given.imported,
					   &err), NN_OK);
	given.in = (struct nna_argument){ .length = ROW };
	given.out = (struct nna_argument){ .length = ROW };
	given.request = (struct nna_request){
		.size = sizeof(given.request), .num_inputs = 1, .num_outputs = 1,
		.inputs = &given.in, .outputs = &given.out, .num_memories = 1,
		.memories = &given.memory,
	};
	assert_int_equal(nna_prepare_model(given.device, &model, NULL, NULL, &given.prepared, &err),
			 NN_OK);
	assert_int_equal(nna_prepare_model_from_cache(given.device, &given.cache, NULL,
						      &given.cached, &err), NN_OK);
	assert_int_equal(nna_buffer_allocate(given.device, NNA_SIZED(nna_buffer_roles,
					     .models = &given.prepared, .num_models = 1,
					     .inputs = &role, .num_inputs = 1), &given.buffer,
					     &given.token, &err), NN_OK);
	assert_int_equal(nna_buffer_write(given.buffer, row, ROW, 0, NULL, &err), NN_OK);
	assert_int_equal(nna_burst_create(given.prepared, NULL, &given.burst, &err), NN_OK);
	assert_int_equal(nna_submission_create(given.prepared, &given.request, NULL,
					       &given.submission, &err), NN_OK);
	assert_int_equal(nna_execute_fenced(given.prepared, &given.request, NULL, NULL,
					    &given.fence, &err), NN_OK);
}

static void take_back(void)
{
	struct kept left;

	nna_submission_free(made.submission);
	nna_preparation_free(made.preparation);
	nna_submission_free(given.submission);
	nna_burst_free(made.burst);
	nna_burst_free(given.burst);
	nna_buffer_free(made.buffer);
	nna_buffer_free(given.buffer);
	nna_prepared_model_free(made.prepared);
	nna_prepared_model_free(given.prepared);
	nna_prepared_model_free(given.cached);
	nna_memory_free(made.memory);
	nna_memory_free(given.memory);
	nna_memory_free(given.imported);
	nna_device_close(made.device);
	nna_device_close(given.device);
	close(given.file);
	close(given.fence);
	close(given.cache_files[0]);
	close(given.cache_files[1]);
	if (made.file >= 0)
		close(made.file);
	left = kept_now();
	if (kept_more(&kept, &left))
		fail_msg("not given back: %s", kept_more(&kept, &left));
	assert_int_equal(fake.live, 0);
	assert_int_equal(fake.wrong, 0);
}

/* ---- tests ---- */

/* Calls a function once, and checks that the call sets or clears the error message. */
static enum nn_status call_once(const struct call *c, bool bad, const char *what,
				unsigned int number)
{
	struct nn_error err = { STALE };
	enum nn_status status = c->call(bad, &err);

	failing_end(FAILING_SELF);
	fake.countdown = 0;
	if (!strcmp(err.message, STALE))
		fail_msg("%s, %s %u: the reason of an earlier call stands", c->name, what, number);
	if (status ? !err.message[0] : err.message[0])
		fail_msg("%s, %s %u: %s, but the reason is \"%s\"", c->name, what, number,
			 nna_status_name(status), err.message);
	return status;
}

static void test_bad_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		give();
		if (!call_once(&calls[i], true, "a bad argument", 0) && calls[i].can_be_bad)
			fail_msg("%s takes a bad argument", calls[i].name);
		take_back();
	}
}

static void test_requests(void **state)
{
	static const int errors[] = {
		EIO, EINVAL, EOPNOTSUPP, EBUSY, ENOENT, ELIBBAD, FAKE_REFUSES,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(calls) * COUNT(errors); i++) {
		unsigned int failures, number = 0;

		do {
			give();
			fake_begin(++number, errors[i % COUNT(errors)]);
			call_once(&calls[i / COUNT(errors)], false, "request", number);
			failures = fake_end();
			take_back();
		} while (failures);
	}
}

static void test_allocations(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		unsigned int failures, number = 0;

		do {
			give();
			failing_begin(FAILING_SELF, ++number, false);
			call_once(&calls[i], false, "allocation", number);
			failures = failing_end(FAILING_SELF);
			take_back();
		} while (failures);
	}
}

/*
 * If an output of unknown size is too small, its buffer grows, and the library repeats the
 * execution. If the repeated execution succeeds, no error message is left.
 */
static void test_second_try(void **state)
{
	const struct nn_operand open[] = {
		{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_INPUT, .rank = 1,
		  .consumers = 1 },
		{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT, .rank = 1 },
	};
	const struct nn_subgraph open_subgraph = { 2, 1, 1, 1, open, &relu, &x, &y };
	const struct nn_model open_model = {
		.size = sizeof(open_model), .num_subgraphs = 1, .subgraphs = &open_subgraph,
	};
	struct nn_error err;

	(void)state;
	give();
	fake.shape.dims[0] = FAKE_PAGE;
	assert_int_equal(nna_prepare_model(given.device, &open_model, NULL, NULL, &made.prepared,
					   &err), NN_OK);
	assert_int_equal(nna_buffer_allocate(given.device, NNA_SIZED(nna_buffer_roles,
					     .models = &made.prepared, .num_models = 1,
					     .outputs = &role, .num_outputs = 1), &made.buffer,
					     &made.count, &err), NN_OK);
	given.out = (struct nna_argument){ .pool = 1 };
	given.request.num_tokens = 1;
	given.request.tokens = &made.count;
	fake.is_short = true;
	assert_int_equal(nna_execute(made.prepared, &given.request, NULL, NULL, &err),
			 NN_OK);
	assert_false(fake.is_short);
	assert_string_equal(err.message, "");
	take_back();
}

/* If a cache entry cannot be saved, the model is still prepared, and `not_saved` has the reason. */
static void test_not_saved(void **state)
{
	struct nn_error not_saved, err;
	struct nna_prepare_options options = { .size = sizeof(options), .cache = &given.cache };
	unsigned int failures, number = 0, unsaved = 0;
	enum nn_status status;

	(void)state;
	do {
		give();
		given.cache.not_saved = &not_saved;
		fake_begin(++number, EIO);
		status = nna_prepare_model(given.device, &model, NULL, &options, &made.prepared,
					   &err);
		failures = fake_end();
		if (!status && not_saved.message[0]) {
			assert_string_not_equal(not_saved.message, "cache: the model could not be "
						"saved");
			unsaved++;
		}
		take_back();
	} while (failures);
	assert_true(unsaved > 1);
}

/*
 * Calls `make` on new devices with a prepared model, while each allocation of the call fails in
 * turn. After a failure, a second call on the same device succeeds, and the device can be closed.
 * Returns the number of calls.
 */
static unsigned int fail_first(enum nn_status (*make)(struct nn_error *err))
{
	unsigned int failures, number = 0;

	do {
		struct nn_error err = { "" };
		enum nn_status status;

		give();
		assert_int_equal(nna_device_open(NULL, &made.device, &err), NN_OK);
		assert_int_equal(nna_prepare_model(made.device, &model, NULL, NULL, &made.prepared,
						   &err), NN_OK);
		failing_begin(FAILING_SELF, ++number, false);
		status = make(&err);
		failures = failing_end(FAILING_SELF);
		assert_int_equal(status != NN_OK, failures);
		if (failures && number % 2)
			assert_int_equal(make(&err), NN_OK);
		take_back();
	} while (failures);
	return number;
}

static enum nn_status make_memory(struct nn_error *err)
{
	return nna_memory_alloc(made.device, ROW, &made.memory, err);
}

static void test_first_memory(void **state)
{
	(void)state;
	assert_true(fail_first(make_memory) > 1);
}

static enum nn_status make_burst(struct nn_error *err)
{
	return nna_burst_create(made.prepared, NULL, &made.burst, err);
}

/* The first burst of a device also starts a thread, the device's watcher. */
static void test_first_burst(void **state)
{
	(void)state;
	assert_true(fail_first(make_burst) > 3);
}

/*
 * Imitates an engine whose extensions change. While the extensions do not change,
 * nna_device_get_extensions() must return the same list.
 */
static bool answer_extensions(unsigned long request, void *arg, int *result)
{
	struct nnaccel_info *info = arg;

	if (request != NNACCEL_INFO)
		return false;
	info->abi = NNACCEL_ABI_VERSION;
	info->engine = NNACCEL_ENGINE_PENDING;
	*result = 0;
	return true;
}

static void test_extensions_again(void **state)
{
	const struct nn_device_extension *list[3];
	struct nn_error err;
	uint32_t count;

	(void)state;
	give();
	fake.answer = answer_extensions;
	assert_int_equal(nna_device_get_extensions(given.device, &list[0], &count, &err), NN_OK);
	assert_int_equal(count, 0);
	assert_int_equal(nna_device_get_extensions(given.device, &list[1], &count, &err), NN_OK);
	assert_ptr_equal(list[1], list[0]);
	fake.num_extensions = 1;
	assert_int_equal(nna_device_get_extensions(given.device, &list[2], &count, &err), NN_OK);
	assert_int_equal(count, 1);
	assert_string_equal(list[2][0].name, FAKE_EXTENSION);
	fake.num_extensions = 0;
	fake.answer = NULL;
	take_back();
}

/*
 * In a forked child, a device's list of extensions stays valid even after the child has closed the
 * device.
 */
static void test_extensions_in_child(void **state)
{
	const struct nn_device_extension *list;
	struct nna_device *device;
	struct nn_error err;
	uint32_t count;
	pid_t child;
	int status;

	(void)state;
	fake.num_extensions = 1;
	assert_int_equal(nna_device_open(NULL, &device, &err), NN_OK);
	assert_int_equal(nna_device_get_extensions(device, &list, &count, &err), NN_OK);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		nna_device_close(device);
		_exit(strcmp(list[0].name, FAKE_EXTENSION) != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	nna_device_close(device);
	fake.num_extensions = 0;
}

/* The last requested execution, whose arguments and pools answer_execute() checks. */
static struct nnaccel_execute asked;

static bool answer_execute(unsigned long request, void *arg, int *result)
{
	const struct nnaccel_execute *e = arg;

	(void)result;
	if (request != NNACCEL_WORK_EXECUTE)
		return false;
	asked = *e;
	for (uint32_t i = 0; i < e->num_inputs + e->num_outputs; i++)
		assert_int_equal(((const struct nnaccel_arg *)(uintptr_t)e->args)[i].offset, i);
	for (uint32_t i = 0; i < e->num_pools; i++)
		assert_int_equal(((const uint32_t *)(uintptr_t)e->pools)[i],
				 ((const uint32_t *)(uintptr_t)e->pools)[0]);
	return false;
}

static bool answer_buffers(unsigned long request, void *arg, int *result)
{
	(void)result;
	if (request == NNACCEL_WORK_EXECUTE)
		asked = *(struct nnaccel_execute *)arg;
	return false;
}

static void test_limits_of_executions(void **state)
{
	static const struct {
		uint32_t num_inputs, num_outputs, num_memories;
		enum nn_status status;
	} cases[] = {
		{ 4, 4, 8, NN_OK }, { 5, 4, 8, NN_OK }, { 4, 5, 8, NN_OK }, { 1, 5, 1, NN_OK },
		{ 4, 4, 9, NN_OK }, { 50, 50, 100, NN_OK }, { 9, 0, 1, NN_OK },
		{ NNACCEL_MAX_ARGS - 5, 5, NNACCEL_MAX_CMD_POOLS, NN_OK },
		{ NNACCEL_MAX_ARGS - 5, 6, 1, NN_INVALID_ARGUMENT },
		{ 1, 1, NNACCEL_MAX_CMD_POOLS + 1, NN_INVALID_ARGUMENT },
	};
	static struct nna_argument args[NNACCEL_MAX_ARGS + 1];
	static struct nna_output_shape shapes[50];
	static struct nna_memory *memories[NNACCEL_MAX_CMD_POOLS + 1];
	struct nn_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nna_request r = {
			.size = sizeof(r), .num_inputs = cases[i].num_inputs,
			.num_outputs = cases[i].num_outputs, .inputs = args,
			.outputs = args + cases[i].num_inputs, .memories = memories,
			.num_memories = cases[i].num_memories,
		};
		uint32_t count = 99;

		give();
		assert_int_equal(nna_memory_alloc(given.device, NNACCEL_MAX_ARGS + 1, &made.memory,
						  &err), NN_OK);
		for (uint32_t k = 0; k < COUNT(args); k++)
			args[k] = (struct nna_argument){ .offset = k, .length = 1 };
		for (uint32_t k = 0; k < COUNT(memories); k++)
			memories[k] = made.memory;
		memset(shapes, 0, sizeof(shapes));
		fake.answer = answer_execute;
		assert_int_equal(nna_execute(given.prepared, &r, NULL, NNA_SIZED(nna_results,
					     .shapes = shapes, .num_shapes = &count), &err),
				 cases[i].status);
		if (cases[i].status == NN_OK) {
			assert_int_equal(asked.num_inputs, r.num_inputs);
			assert_int_equal(asked.num_outputs, r.num_outputs);
			assert_int_equal(asked.num_pools, r.num_memories);
			assert_int_equal(count, r.num_outputs);
			for (uint32_t k = 0; k < count; k++)
				assert_true(shapes[k].rank == 1 && shapes[k].dims[0] == 4 &&
					    shapes[k].is_sufficient);
		}
		assert_int_equal(nna_submission_create(given.prepared, &r, NULL, &made.submission,
						       &err), cases[i].status);
		fake.answer = NULL;
		take_back();
	}
}

/*
 * A new buffer gets the lowest free token. A token identifies one buffer, even if the device has
 * many buffers.
 */
static void test_many_buffers(void **state)
{
	struct nna_buffer *buffers[MANY];
	uint32_t tokens[MANY];
	struct nn_error err;
	float row[4] = { 0 };

	(void)state;
	give();
	assert_int_equal(given.token, 1);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(nna_buffer_allocate(given.device, NNA_SIZED(nna_buffer_roles,
						     .models = &given.prepared, .num_models = 1,
						     .inputs = &role, .num_inputs = 1), &buffers[i],
						     &tokens[i], &err), NN_OK);
		assert_int_equal(tokens[i], i + 2);
		assert_int_equal(nna_buffer_write(buffers[i], row, ROW, 0, NULL, &err), NN_OK);
	}
	for (uint32_t i = 20; i >= 10; i -= 5) {
		nna_buffer_free(buffers[i]);
		buffers[i] = NULL;
	}
	for (uint32_t i = 10; i <= 20; i += 5) {
		assert_int_equal(nna_buffer_allocate(given.device, NNA_SIZED(nna_buffer_roles,
						     .models = &given.prepared, .num_models = 1,
						     .inputs = &role, .num_inputs = 1), &buffers[i],
						     &tokens[i], &err), NN_OK);
		assert_int_equal(tokens[i], i + 2);
		assert_int_equal(nna_buffer_write(buffers[i], row, ROW, 0, NULL, &err), NN_OK);
	}
	given.in = (struct nna_argument){ .pool = 1 };
	for (uint32_t i = 0; i < 2; i++) {
		/*
		 * The 8 tokens of the first request fit on the library's stack; the 9 tokens of the
		 * second request do not.
		 */
		given.request.num_tokens = 8 + i;
		given.request.tokens = tokens;
		fake.answer = answer_buffers;
		assert_int_equal(nna_execute(given.prepared, &given.request, NULL, NULL,
					     &err), NN_OK);
		assert_int_equal(asked.num_buffers, 8 + i);
	}
	/*
	 * A request fails with a token of 0, a token after the last token, or the token of a freed
	 * buffer.
	 */
	nna_buffer_free(buffers[3]);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t wrong[] = { 0, MANY + 2, tokens[3] };

		given.request.num_tokens = 1;
		given.request.tokens = &wrong[i];
		assert_int_equal(nna_execute(given.prepared, &given.request, NULL, NULL,
					     &err), NN_INVALID_ARGUMENT);
	}
	fake.answer = NULL;
	for (uint32_t i = 0; i < MANY; i++)
		if (i != 3)
			nna_buffer_free(buffers[i]);
	take_back();
}

/*
 * In an execution with more arguments, pools and tokens than fit on the stack, each allocation
 * fails in turn.
 */
static void test_large_executions(void **state)
{
	static const uint8_t byte = 1;
	const struct nn_attribute attribute = { "dev.nnaccel.test", 1, 1, &byte };
	const struct nn_attributes attributes = { 1, &attribute };
	const struct nna_execute_options options = { .size = sizeof(options), .attributes = &attributes };
	struct nna_argument args[10] = { { .pool = 9 } };
	struct nna_buffer *buffers[9];
	struct nna_memory *memories[9];
	uint32_t tokens[9];
	float row[4] = { 0 };

	(void)state;
	for (int way = 0; way < 4; way++) {
		unsigned int failures, number = 0;

		do {
			const struct nna_request r = {
				.size = sizeof(r), .num_inputs = 9, .num_outputs = 1, .inputs = args,
				.outputs = args + 9, .num_memories = 9, .memories = memories,
				.num_tokens = 9, .tokens = tokens,
			};
			struct nn_error err = { "" };
			enum nn_status status;

			give();
			for (uint32_t i = 0; i < 9; i++) {
				memories[i] = given.memory;
				assert_int_equal(nna_buffer_allocate(given.device,
					NNA_SIZED(nna_buffer_roles, .models = &given.prepared,
					.num_models = 1, .inputs = &role, .num_inputs = 1),
					&buffers[i], &tokens[i], &err), NN_OK);
				assert_int_equal(nna_buffer_write(buffers[i], row, ROW, 0, NULL, &err),
						 NN_OK);
			}
			failing_begin(FAILING_SELF, ++number, false);
			if (way == 0)
				status = nna_execute(given.prepared, &r, &options, NULL, &err);
			else if (way == 1)
				status = nna_burst_execute(given.burst, &r, &options, NULL, &err);
			else if (way == 2)
				status = nna_execute_fenced(given.prepared, &r, &options, NULL,
							    &made.file, &err);
			else
				status = nna_submission_create(given.prepared, &r, &options,
							       &made.submission, &err);
			failures = failing_end(FAILING_SELF);
			assert_int_equal(status, failures ? NN_OUT_OF_MEMORY : NN_OK);
			nna_submission_free(made.submission);
			made.submission = NULL;
			for (uint32_t i = 0; i < 9; i++)
				nna_buffer_free(buffers[i]);
			take_back();
		} while (failures);
		assert_true(number > 4);
	}
}

static void test_limits_of_lists(void **state)
{
	static struct nna_role roles[NNACCEL_MAX_ROLES + 1];
	static uint32_t tokens[NNACCEL_MAX_CMD_BUFFERS + 1];
	static int fences[NNACCEL_MAX_DEPENDENCIES + 1];
	static struct nna_memory *memories[NNACCEL_MAX_CMD_POOLS];
	static struct nn_pool pools[NNACCEL_MAX_CMD_POOLS];
	struct nn_model many = model;
	struct nn_error err;

	(void)state;
	give();
	for (uint32_t i = 0; i < COUNT(roles); i++)
		roles[i] = role;
	for (uint32_t i = 0; i < COUNT(tokens); i++)
		tokens[i] = given.token;
	for (uint32_t i = 0; i < 2; i++) {
		/*
		 * With the maximum number of roles, nna_buffer_allocate() fails because a role is
		 * given twice. With one role more, the call fails because there are too many roles.
		 */
		assert_int_equal(nna_buffer_allocate(given.device, NNA_SIZED(nna_buffer_roles,
						     .models = &given.prepared, .num_models = 1,
						     .inputs = roles,
						     .num_inputs = NNACCEL_MAX_ROLES - 7,
						     .outputs = roles, .num_outputs = 7 + i),
						     &made.buffer, &made.count,
						     &err), NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, i ? "1025 roles" : "given twice"));
		given.request.tokens = tokens;
		given.request.num_tokens = NNACCEL_MAX_CMD_BUFFERS + i;
		given.in = (struct nna_argument){ .pool = 1 };
		assert_int_equal(nna_execute(given.prepared, &given.request, NULL, NULL,
					     &err), NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, i ? "1025 buffers" : "given twice"));
		given.request.num_tokens = 0;
		given.in = (struct nna_argument){ .length = ROW };
		assert_int_equal(nna_execute_fenced(given.prepared, &given.request, NULL,
						    NNA_SIZED(nna_dependencies, .files = fences,
						    .num_files = NNACCEL_MAX_DEPENDENCIES + i),
						    &made.file, &err),
				 i ? NN_INVALID_ARGUMENT : NN_OK);
		if (made.file >= 0)
			close(made.file);
		many.num_pools = NNACCEL_MAX_CMD_POOLS - 1 + i;
		many.pools = pools;
		for (uint32_t k = 0; k < many.num_pools; k++)
			memories[k] = given.memory;
		assert_int_equal(nna_prepare_model(given.device, &many, memories, NULL,
						   &made.prepared, &err),
				 i ? NN_INVALID_ARGUMENT : NN_OK);
		nna_prepared_model_free(made.prepared);
		made.prepared = NULL;
	}
	made.file = -1;
	take_back();
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		if (!strcmp(calls[i].name, name))
			return true;
	for (size_t i = 0; i < COUNT(silent); i++)
		if (!strcmp(silent[i], name))
			return true;
	return false;
}

/* Every exported function must be in CALLS or `silent`. */
static void test_all_are_called(void **state)
{
	FILE *map = fopen(EXPORTS, "re");
	unsigned int count = 0;
	char line[128], name[64];

	(void)state;
	assert_non_null(map);
	while (fgets(line, sizeof(line), map)) {
		if (sscanf(line, " nna_%60[a-z_];", name) != 1)
			continue;
		snprintf(line, sizeof(line), "nna_%s", name);
		if (!is_known(line))
			fail_msg("%s is exported, and not in this test", line);
		count++;
	}
	fclose(map);
	assert_int_equal(count, COUNT(calls) + COUNT(silent));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_all_are_called),
		cmocka_unit_test(test_bad_arguments),
		heap_unit_test(test_requests),
		heap_unit_test(test_allocations),
		heap_unit_test(test_second_try),
		heap_unit_test(test_first_memory),
		/*
		 * This test does not count heap blocks, because the C library caches memory of
		 * ended threads.
		 */
		cmocka_unit_test(test_first_burst),
		heap_unit_test(test_extensions_again),
		heap_unit_test(test_extensions_in_child),
		heap_unit_test(test_limits_of_executions),
		heap_unit_test(test_large_executions),
		heap_unit_test(test_limits_of_lists),
		heap_unit_test(test_many_buffers),
		heap_unit_test(test_not_saved),
	};

	kept_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
