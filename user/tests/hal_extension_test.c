/* SPDX-License-Identifier: MIT */
/*
 * Tests which clients may use the extensions of libnnaccel's device. The test needs /dev/nnaccel, a
 * nnacceld with the example and the test plug-ins (scripts/guest/extensions), and root, because the
 * test joins groups.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "../../selftests/lib/runner.h"
#include "tests/hal_extension_fixture.h"

#define HOSTILE		"com.example.hostile"

/* The operations of the hostile extension. */
enum { CRASH = 1, LOOP = 2, COPY = 8, LOOP_IN_CHECK = 9, STUBBORN = 10 };

static const struct nn_device_extension *find(struct nna_device *client, const char *name)
{
	const struct nn_device_extension *list;
	uint32_t count;

	check(nna_device_get_extensions(client, &list, &count, &err));
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

static void build_hostile(struct model_builder *b, uint16_t code)
{
	mb_init(b);
	b->model.num_extensions = 1;
	b->extensions[0] = (struct nn_extension_prefix){ HOSTILE, 5 };
	mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(b, CODE(5, code), MB_LIST(0), MB_LIST(1));
}

/*
 * Most tests share the clients `member` and `stranger`, because starting a worker for each test
 * takes time.
 */
static struct nna_device *member, *stranger;

static int open_both(void **state)
{
	(void)state;
	member = open_as(true);
	stranger = open_as(false);
	return 0;
}

static int close_both(void **state)
{
	(void)state;
	nna_device_close(member);
	nna_device_close(stranger);
	return 0;
}

/* ---- tests ---- */

static void test_member(void **state)
{
	struct nna_device *client = member;
	const struct nn_device_extension *e = find(client, FIBONACCI_NAME);
	struct nn_device_info info = { .size = sizeof(info) }, strangers = info;

	(void)state;
	assert_non_null(e);
	assert_int_equal(e->version, 1);
	assert_int_equal(e->num_types, 2);
	assert_int_equal(e->types[0].code, FIBONACCI_INT64);
	assert_string_equal(e->types[0].name, "INT64");
	assert_false(e->types[0].is_tensor);
	assert_int_equal(e->types[1].code, FIBONACCI_TENSOR_QUANT64);
	assert_true(e->types[1].is_tensor);
	assert_int_equal(e->types[1].element_size, 8);
	assert_int_equal(e->num_operations, 1);
	assert_string_equal(e->operations[0].name, "FIBONACCI");
	assert_non_null(find(client, GOLDEN_NAME));
	assert_null(find(client, "com.example.crash"));
	assert_null(find(client, "com.example.later"));
	/*
	 * The device's version names the extensions, because the version is part of the keys of
	 * cache entries.
	 */
	check(nna_device_get_info(client, &info, &err));
	check(nna_device_get_info(stranger, &strangers, &err));
	assert_int_equal(strncmp(info.version, strangers.version, strlen(strangers.version)), 0);
	assert_string_not_equal(info.version, strangers.version);
}

/* A client outside of the group gets no extensions, and cannot execute operations of extensions. */
static void test_stranger(void **state)
{
	struct nna_device *client = stranger;
	struct nna_prepared_model *prepared;
	const struct nn_device_extension *list;
	struct model_builder b;
	bool supported[3];
	uint32_t count = 1;

	(void)state;
	check(nna_device_get_extensions(client, &list, &count, &err));
	assert_int_equal(count, 0);
	build_golden(&b);
	assert_int_equal(nna_get_supported_operations(client, &b.model, NULL, supported, &err),
			 NN_INVALID_ARGUMENT);
	err.message[0] = '\0';
	assert_int_equal(nna_prepare_model(client, &b.model, NULL, NULL, &prepared, &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "extension com.example.golden: this client's device "
			       "has no extensions"));
	err.message[0] = '\0';
}

static void test_sync(void **state)
{
	struct nna_device *client = member;
	struct job j;

	(void)state;
	golden_init(&j, client, NULL);
	for (int i = 0; i < 3; i++) {
		check(nna_execute(j.prepared, &j.request, NULL, NULL, &err));
		check_golden(&j);
	}
	job_free(&j);
}

static void test_burst(void **state)
{
	struct nna_device *client = member;
	struct nna_burst *burst;
	struct job j;

	(void)state;
	golden_init(&j, client, NULL);
	check(nna_burst_create(j.prepared, NULL, &burst, &err));
	for (int i = 0; i < 3; i++) {
		check(nna_burst_execute(burst, &j.request, NULL, NULL, &err));
		check_golden(&j);
	}
	nna_burst_free(burst);
	job_free(&j);
}

static void test_supported(void **state)
{
	struct nna_device *client = member;
	struct model_builder b;
	bool supported[3];

	(void)state;
	build_golden(&b);
	b.operations[0][1].type = CODE(700, 1);
	check(nna_get_supported_operations(client, &b.model, NULL, supported, &err));
	assert_true(supported[0] && !supported[1] && supported[2]);
	b.extensions[0].name = "com.example.silver";
	assert_int_equal(nna_get_supported_operations(client, &b.model, NULL, supported, &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "extension 0 (com.example.silver) is not registered here"));
	err.message[0] = '\0';
}

/* ---- memory domains ---- */

/*
 * Builds a model that computes the ratios of the first `count` numbers of the input (0: of all
 * numbers of the input).
 */
static void build_ratios(struct model_builder *b, uint32_t count)
{
	mb_init(b);
	b->model.num_extensions = 2;
	b->extensions[0] = (struct nn_extension_prefix){ FIBONACCI_NAME, 9 };
	b->extensions[1] = (struct nn_extension_prefix){ GOLDEN_NAME, 8 };
	mb_operand(b, CODE(9, FIBONACCI_TENSOR_QUANT64), NN_SUBGRAPH_INPUT, MB_DIMS(count));
	b->operands[0][0].extra = (struct nn_extra){
		.kind = NN_EXTRA_EXTENSION, .bytes = (const uint8_t *)&quant,
		.count = sizeof(quant),
	};
	mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(count ? count - 1 : 0));
	mb_operation(b, CODE(8, GOLDEN_RATIOS), MB_LIST(0), MB_LIST(1));
}

static void build_numbers(struct model_builder *b, uint32_t count)
{
	mb_init(b);
	b->model.num_extensions = 1;
	b->extensions[0] = (struct nn_extension_prefix){ FIBONACCI_NAME, 1 };
	mb_operand(b, CODE(1, FIBONACCI_INT64), NN_SUBGRAPH_INPUT, MB_NONE);
	mb_operand(b, CODE(1, FIBONACCI_TENSOR_QUANT64), NN_SUBGRAPH_OUTPUT, MB_DIMS(count));
	b->operands[0][1].extra = (struct nn_extra){
		.kind = NN_EXTRA_EXTENSION, .bytes = (const uint8_t *)&quant,
		.count = sizeof(quant),
	};
	mb_operation(b, CODE(1, FIBONACCI_FIBONACCI), MB_LIST(0), MB_LIST(1));
}

/*
 * A buffer passes numbers from one model to another model, although the two models use different
 * prefixes for the numbers' type. The test runs first with shapes that the models contain, then
 * with unknown shapes.
 */
static void test_domain(void **state)
{
	const int64_t count = COUNT, want[COUNT] = { -3, 1, 1, 5, 9, 17, 29, 49 };
	const struct nna_role role = { .index = 0, .frequency = 1 };
	const struct nna_role other = { .model = 1, .index = 0, .frequency = 1 };
	struct nna_device *client = member;
	struct model_builder b;

	(void)state;
	for (uint32_t known = 0; known <= COUNT; known += COUNT) {
		struct nna_prepared_model *models[2];
		struct nna_buffer *buffer, *wrong;
		int64_t numbers[COUNT];
		uint32_t token, no_token;
		struct job j;

		job_init(&j, client, sizeof(count), (COUNT - 1) * sizeof(float));
		j.prepared = NULL;
		memcpy(j.map, &count, sizeof(count));
		build_numbers(&b, known);
		check(nna_prepare_model(client, &b.model, NULL, NULL, &models[0], &err));
		build_ratios(&b, known);
		check(nna_prepare_model(client, &b.model, NULL, NULL, &models[1], &err));
		check(nna_buffer_allocate(client, NNA_SIZED(nna_buffer_roles, .models = models,
					  .num_models = 2, .inputs = &other, .num_inputs = 1,
					  .outputs = &role, .num_outputs = 1), &buffer, &token,
					  &err));
		/*
		 * The library refuses a buffer for two roles whose operands have different types.
		 */
		assert_int_equal(nna_buffer_allocate(client, NNA_SIZED(nna_buffer_roles,
						     .models = models, .num_models = 2,
						     .inputs = (const struct nna_role[]){ role, other },
						     .num_inputs = 2), &wrong, &no_token, &err),
				 NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, "has type TENSOR_QUANT64 and another role has type "
				       "INT64"));
		err.message[0] = '\0';
		j.request.num_tokens = 1;
		j.request.tokens = &token;
		j.out = (struct nna_argument){ .pool = 1 };
		check(nna_execute(models[0], &j.request, NULL, NULL, &err));
		assert_int_equal(nna_buffer_size(buffer), sizeof(numbers));
		check(nna_buffer_read(buffer, numbers, sizeof(numbers), &err));
		assert_memory_equal(numbers, want, sizeof(numbers));
		j.in = (struct nna_argument){ .pool = 1 };
		j.out = (struct nna_argument){ .offset = PAGE / 2,
					       .length = (COUNT - 1) * sizeof(float) };
		check(nna_execute(models[1], &j.request, NULL, NULL, &err));
		assert_float_equal(((float *)(j.map + PAGE / 2))[COUNT - 2], 13.0 / 8, 1e-6);
		/* nna_buffer_write() must write whole elements. */
		assert_int_equal(nna_buffer_write(buffer, numbers, sizeof(numbers) - 1, 1,
						  &(uint32_t){ COUNT }, &err),
				 NN_INVALID_ARGUMENT);
		err.message[0] = '\0';
		numbers[COUNT - 1] = numbers[COUNT - 2];
		check(nna_buffer_write(buffer, numbers, sizeof(numbers), 1, &(uint32_t){ COUNT },
				       &err));
		check(nna_execute(models[1], &j.request, NULL, NULL, &err));
		assert_float_equal(((float *)(j.map + PAGE / 2))[COUNT - 2], 1, 1e-6);
		nna_buffer_free(buffer);
		nna_prepared_model_free(models[0]);
		nna_prepared_model_free(models[1]);
		job_free(&j);
	}
}

/* ---- attributes ---- */

static const int64_t five = 5, two = 2, zero;
static const struct nn_attribute modulus = { FIBONACCI_NAME, FIBONACCI_MODULUS, sizeof(five),
					     &five };
static const struct nn_attribute skip = { FIBONACCI_NAME, FIBONACCI_SKIP, sizeof(two), &two };
static const struct nn_attributes of_model = { 1, &modulus }, of_execution = { 1, &skip };

static void check_numbers(struct job *j, bool has_modulus, bool has_skip)
{
	static const int64_t numbers[] = { 0, 1, 1, 2, 3, 5, 8, 13, 21, 34 };
	int64_t out[COUNT];

	memcpy(out, j->map + PAGE / 2, sizeof(out));
	for (int i = 0; i < COUNT; i++) {
		int64_t number = numbers[i + (has_skip ? 2 : 0)];

		assert_int_equal(out[i], (has_modulus ? number % 5 : number) * 4 - 3);
	}
	memset(j->map + PAGE / 2, 0xff, sizeof(out));
}

/* Executes on each path (plain, burst, fenced) with and without an attribute. */
static void check_paths(struct job *j, bool has_modulus)
{
	struct nna_execute_options options = { .size = sizeof(options), .measure = true };
	struct nna_burst *burst;
	int fence;

	check(nna_burst_create(j->prepared, NULL, &burst, &err));
	for (int i = 0; i < 4; i++) {
		options.attributes = i % 2 ? &of_execution : NULL;
		check(nna_execute(j->prepared, &j->request, &options, NULL, &err));
		check_numbers(j, has_modulus, i % 2);
		check(nna_burst_execute(burst, &j->request, &options, NULL, &err));
		check_numbers(j, has_modulus, i % 2);
		check(nna_execute_fenced(j->prepared, &j->request, &options, NULL, &fence, &err));
		assert_int_equal(poll(&(struct pollfd){ .fd = fence, .events = POLLIN }, 1, -1), 1);
		check(nna_fence_get_info(j->client, fence, NULL, NULL, &err));
		close(fence);
		check_numbers(j, has_modulus, i % 2);
	}
	nna_burst_free(burst);
}

static void numbers_init(struct job *j, struct nna_device *client,
			 const struct nna_prepare_options *options)
{
	const int64_t count = COUNT;
	struct model_builder b;

	job_init(j, client, sizeof(count), COUNT * sizeof(int64_t));
	build_numbers(&b, COUNT);
	check(nna_prepare_model(client, &b.model, NULL, options, &j->prepared, &err));
	memcpy(j->map, &count, sizeof(count));
}

static void test_attributes(void **state)
{
	struct nna_prepare_options options = { .size = sizeof(options),
					       .attributes = &of_model };
	struct nna_device *client = member;
	struct job with, without;

	(void)state;
	numbers_init(&with, client, &options);
	numbers_init(&without, client, NULL);
	check_paths(&with, true);
	check_paths(&without, false);
	job_free(&with);
	job_free(&without);
	/* A plan in the cache is valid only for the attributes with which the plan was prepared. */
	options.engine_cache = true;
	for (int i = 0; i < 4; i++) {
		options.attributes = i % 2 ? NULL : &of_model;
		numbers_init(&with, client, &options);
		check(nna_execute(with.prepared, &with.request, NULL, NULL, &err));
		check_numbers(&with, options.attributes, false);
		job_free(&with);
	}
}

/*
 * Loading a saved plan calls compile() again, with the attributes of the call that loads the plan.
 */
static void test_attributes_cached(void **state)
{
	int model_file = memfd_create("model", MFD_CLOEXEC);
	int data_file = memfd_create("data", MFD_CLOEXEC);
	struct nn_error not_saved = { "" };
	const struct nna_cache cache = {
		.size = sizeof(cache),
		.model_files = &model_file, .num_model_files = 1, .data_files = &data_file,
		.num_data_files = 1, .token = "attributes", .not_saved = &not_saved,
	};
	struct nna_prepare_options options = { .size = sizeof(options),
					       .attributes = &of_model, .cache = &cache };
	struct nna_device *client = member;
	struct job j;

	(void)state;
	numbers_init(&j, client, &options);
	assert_string_equal(not_saved.message, "");
	check_paths(&j, true);
	nna_prepared_model_free(j.prepared);
	check(nna_prepare_model_from_cache(client, &cache, &options, &j.prepared, &err));
	check_paths(&j, true);
	job_free(&j);
	close(model_file);
	close(data_file);
}

static void test_attributes_refused(void **state)
{
	static uint8_t large[64 * 1024];
	const struct {
		struct nn_attribute list[2];
		const char *message;
	} cases[] = {
		{ { { FIBONACCI_NAME, FIBONACCI_MODULUS, sizeof(zero), &zero } },
		  "attribute MODULUS of com.example.fibonacci: must be an int64_t above 0" },
		{ { skip }, "com.example.fibonacci has no attribute 2 for a compilation" },
		{ { { GOLDEN_NAME, 1, 1, large } }, "com.example.golden has no attribute 1" },
		{ { { "com.example.x", 1, 0, NULL } }, "com.example.x has no attribute 1" },
		{ { { FIBONACCI_NAME, FIBONACCI_MODULUS, sizeof(large), large } },
		  "attributes with their names exceed 65536 bytes" },
		{ { modulus, modulus }, "attribute 1 of com.example.fibonacci is given twice" },
		{ { { "", 1, 0, NULL } }, "invalid name" },
	};
	struct nna_device *client = member;
	struct nna_execute_options options = { .size = sizeof(options), .attributes = &of_model };
	struct nna_prepared_model *prepared;
	struct model_builder b;
	struct job j;

	(void)state;
	build_numbers(&b, COUNT);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nn_attributes a = { 1 + !!cases[i].list[1].extension, cases[i].list };
		const struct nna_prepare_options prepare = { .size = sizeof(prepare),
							     .attributes = &a };

		assert_int_equal(nna_prepare_model(client, &b.model, NULL, &prepare, &prepared,
						   &err), NN_INVALID_ARGUMENT);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%zu: \"%s\"", i, err.message);
		err.message[0] = '\0';
	}
	numbers_init(&j, client, NULL);
	assert_int_equal(nna_execute(j.prepared, &j.request, &options, NULL, &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "has no attribute 1 for an execution"));
	err.message[0] = '\0';
	job_free(&j);
	/* A model that uses no extensions cannot have attributes. */
	mb_init(&b);
	mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&b, 19 /* RELU */, MB_LIST(0), MB_LIST(1));
	assert_int_equal(nna_prepare_model(stranger, &b.model, NULL,
					   &(struct nna_prepare_options){ .size = sizeof(struct nna_prepare_options),
									  .attributes = &of_model },
					   &prepared, &err), NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "com.example.fibonacci has no attribute 1"));
	err.message[0] = '\0';
}

/* ---- misbehaviour ---- */

static void hostile_init(struct job *j, struct nna_device *client, uint16_t code)
{
	struct model_builder b;

	job_init(j, client, COUNT * sizeof(float), COUNT * sizeof(float));
	build_hostile(&b, code);
	check(nna_prepare_model(client, &b.model, NULL, NULL, &j->prepared, &err));
}

static void check_copy(struct job *j)
{
	memset(j->map, 0x3f, COUNT * sizeof(float));
	check(nna_execute(j->prepared, &j->request, NULL, NULL, &err));
	assert_memory_equal(j->map, j->map + PAGE / 2, COUNT * sizeof(float));
}

/*
 * If a worker crashes, the worker's client gets a new worker, and the workers of other clients
 * continue.
 */
static void test_crash(void **state)
{
	struct nna_device *client = open_as(true), *other = member;
	struct job crash, copy, other_copy;

	(void)state;
	hostile_init(&other_copy, other, COPY);
	hostile_init(&crash, client, CRASH);
	assert_int_equal(nna_execute(crash.prepared, &crash.request, NULL, NULL, &err),
			 NN_DEAD_OBJECT);
	err.message[0] = '\0';
	check_copy(&other_copy);
	hostile_init(&copy, client, COPY);
	check_copy(&copy);
	job_free(&crash);
	job_free(&copy);
	job_free(&other_copy);
	nna_device_close(client);
}

static void test_endless(void **state)
{
	struct nna_device *client = open_as(true), *other = member;
	const struct nna_execute_options options = { .size = sizeof(options),
						     .deadline_ns = clock_ns() + NS_PER_S / 5 };
	struct job loop, copy;
	enum nn_status status;

	(void)state;
	hostile_init(&copy, other, COPY);
	hostile_init(&loop, client, LOOP);
	status = nna_execute(loop.prepared, &loop.request, &options, NULL, &err);
	assert_true(status == NN_MISSED_DEADLINE_TRANSIENT ||
		    status == NN_MISSED_DEADLINE_PERSISTENT);
	err.message[0] = '\0';
	check_copy(&copy);
	job_free(&loop);
	job_free(&copy);
	nna_device_close(client);
}

/*
 * If a plug-in's call exceeds nnacceld's time limit, the client gets an error message, and the
 * client's worker ends. The time limit applies on each path (such as a burst), even without a
 * deadline. The test uses a different user for each path, because crashed workers count against
 * their user. Only the full test run covers all paths, because each path takes as long as the time
 * limit; a usual run covers only the path whose log is checked.
 */
static void test_bound(void **state)
{
	enum { SIGNALS_BLOCKED, SYNC, BURST, FENCED, PREPARE, SUPPORTED, WAYS };
	struct nna_device *other = member;
	struct model_builder b;
	struct job copy;

	(void)state;
	hostile_init(&copy, other, COPY);
	for (int way = 0; way < how_often(WAYS, SYNC); way++) {
		struct nna_prepared_model *prepared;
		struct nna_device *client;
		struct job loop, after;
		enum nn_status status;
		struct nna_burst *burst;
		bool supported;
		int fence;

		client = open_as_user(2000 + (uid_t)way, true);
		if (way != PREPARE && way != SUPPORTED)
			hostile_init(&loop, client, way == SIGNALS_BLOCKED ? STUBBORN : LOOP);
		build_hostile(&b, LOOP_IN_CHECK);
		switch (way) {
		case BURST:
			check(nna_burst_create(loop.prepared, NULL, &burst, &err));
			status = nna_burst_execute(burst, &loop.request, NULL, NULL, &err);
			nna_burst_free(burst);
			break;
		case FENCED:
			check(nna_execute_fenced(loop.prepared, &loop.request, NULL, NULL, &fence,
						 &err));
			assert_int_equal(poll(&(struct pollfd){ .fd = fence, .events = POLLIN }, 1,
					      -1), 1);
			status = nna_fence_get_info(client, fence, NULL, NULL, &err);
			close(fence);
			break;
		case PREPARE:
			status = nna_prepare_model(client, &b.model, NULL, NULL, &prepared, &err);
			break;
		case SUPPORTED:
			status = nna_get_supported_operations(client, &b.model, NULL, &supported,
							      &err);
			break;
		default:
			status = nna_execute(loop.prepared, &loop.request, NULL, NULL, &err);
		}
		assert_int_equal(status, way == SIGNALS_BLOCKED ? NN_DEAD_OBJECT :
						 NN_GENERAL_FAILURE);
		if (way != SIGNALS_BLOCKED &&
		    !strstr(err.message, "of extension com.example.hostile did not return within"))
			fail_msg("%d: \"%s\"", way, err.message);
		err.message[0] = '\0';
		check_copy(&copy);
		/*
		 * The client's next call may still reach the dying worker; the second call gets a
		 * new worker.
		 */
		job_init(&after, client, COUNT * sizeof(float), COUNT * sizeof(float));
		build_hostile(&b, COPY);
		status = nna_prepare_model(client, &b.model, NULL, NULL, &after.prepared, &err);
		if (status) {
			assert_int_equal(status, NN_DEAD_OBJECT);
			err.message[0] = '\0';
			check(nna_prepare_model(client, &b.model, NULL, NULL, &after.prepared,
						&err));
		}
		check_copy(&after);
		job_free(&after);
		if (way != PREPARE && way != SUPPORTED)
			job_free(&loop);
		nna_device_close(client);
	}
	job_free(&copy);
}

/* ---- OEM ---- */

static void test_oem(void **state)
{
	const uint8_t in[] = { 1, 2, 3, 4 }, want[] = { 11, 22, 33, 4 };
	struct nna_device *client = member;
	struct nna_prepared_model *prepared;
	struct model_builder b;
	struct job j;

	(void)state;
	mb_init(&b);
	mb_operand(&b, NN_TENSOR_OEM_BYTE, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	mb_constant(&b, NN_OEM_SCALAR, (const uint8_t[]){ 10, 20, 30 }, 3, MB_NONE);
	mb_operand(&b, NN_TENSOR_OEM_BYTE, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	mb_operation(&b, NN_OP_OEM, MB_LIST(0, 1), MB_LIST(2));
	job_init(&j, client, sizeof(in), sizeof(in));
	check(nna_prepare_model(client, &b.model, NULL, NULL, &j.prepared, &err));
	memcpy(j.map, in, sizeof(in));
	check(nna_execute(j.prepared, &j.request, NULL, NULL, &err));
	assert_memory_equal(j.map + PAGE / 2, want, sizeof(want));
	assert_int_equal(nna_prepare_model(stranger, &b.model, NULL, NULL, &prepared, &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "operation 10000"));
	err.message[0] = '\0';
	job_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_member),
		cmocka_unit_test(test_stranger),
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_supported),
		cmocka_unit_test(test_domain),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_attributes_cached),
		cmocka_unit_test(test_attributes_refused),
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_oem),
	};

	return cmocka_run_group_tests(tests, open_both, close_both);
}
