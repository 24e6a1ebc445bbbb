/* SPDX-License-Identifier: MIT */
/*
 * Tests the sample engine of user/examples/engine through libnnaccel: executions, the engine's
 * extension and bursts, and models in cache files. The test needs /dev/nnaccel, the sample engine
 * with a keeper, and root (scripts/guest/sample-engine).
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "tests/hal_entry.h"
#include "tests/workers.h"

#define OP_ADD 0
#define OP_MUL 18
#define OP_RELU 19
#define SAMPLE "com.example.sample"
#define SQUARE 1
#define COUNT 6
#define SIZE (COUNT * sizeof(float))

/* Builds the model relu(square(x + y) + constant); `last` is the code of the operation RELU. */
static void build_sample(struct model_builder *b, int32_t last)
{
	static const float shift[COUNT] = { -10, -10, -10, -10, -10, -10 };
	uint32_t x, y, none, constant, sum, square, shifted, out;

	mb_init(b);
	b->extensions[0] = (struct nn_extension_prefix){ SAMPLE, 1 };
	b->model.extensions = b->extensions;
	b->model.num_extensions = 1;
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2, 3));
	y = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2, 3));
	none = mb_int32(b, 0);
	constant = mb_constant(b, NN_TENSOR_FLOAT32, shift, sizeof(shift), MB_DIMS(2, 3));
	sum = mb_operand(b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2, 3));
	square = mb_operand(b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2, 3));
	shifted = mb_operand(b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2, 3));
	out = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 3));
	mb_operation(b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
	mb_operation(b, 1 << 16 | SQUARE, MB_LIST(sum), MB_LIST(square));
	mb_operation(b, OP_ADD, MB_LIST(square, constant, none), MB_LIST(shifted));
	mb_operation(b, last, MB_LIST(shifted), MB_LIST(out));
}

static struct nna_prepared_model *prepare_sample(const struct nna_prepare_options *options)
{
	struct nna_prepared_model *p = NULL;
	struct model_builder b;

	build_sample(&b, OP_RELU);
	check(nna_prepare_model(device, &b.model, NULL, options, &p, &err));
	return p;
}

/* Executes the model once, in a burst unless `burst` is NULL. */
static enum nn_status run_sample(struct nna_prepared_model *p, struct nna_burst *burst,
			  const struct nna_execute_options *options)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = SIZE, .length = SIZE } };
	const struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	struct nna_output_shape shape = { .rank = 0 };
	struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, NULL, 0, NULL };
	struct nna_memory *m = NULL;
	enum nn_status status;
	uint32_t count = 0;
	float *data;

	check(nna_memory_alloc(device, PAGE, &m, &err));
	r.memories = &m;
	data = nna_memory_map(m, NULL);
	for (int i = 0; i < COUNT; i++) {
		data[i] = (float)i;
		data[COUNT + i] = 0.5f;
	}
	status = burst ? nna_burst_execute(burst, &r, options, NNA_SIZED(nna_results,
					   .shapes = &shape, .num_shapes = &count), &err) :
			 nna_execute(p, &r, options, NNA_SIZED(nna_results, .shapes = &shape,
				     .num_shapes = &count), &err);
	for (int i = 0; i < COUNT && !status; i++) {
		float square = ((float)i + 0.5f) * ((float)i + 0.5f) - 10;

		assert_true(data[2 * COUNT + i] == (square > 0 ? square : 0));
	}
	if (!status) {
		assert_int_equal(count, 1);
		assert_true(shape.is_sufficient && shape.rank == 2 && shape.dims[1] == 3);
	}
	nna_memory_free(m);
	return status;
}

static void test_device(void **state)
{
	const struct nn_device_extension *extensions;
	bool supported[4] = { false };
	struct nn_device_info info = { .size = sizeof(info) };
	struct model_builder b;
	uint32_t count;

	(void)state;
	check(nna_device_get_info(device, &info, &err));
	assert_string_equal(info.version, "sample-1");
	assert_int_equal(info.model_cache_files, 1);
	check(nna_device_get_extensions(device, &extensions, &count, &err));
	assert_int_equal(count, 1);
	assert_string_equal(extensions[0].name, SAMPLE);
	assert_string_equal(extensions[0].operations[0].name, "SQUARE");

	build_sample(&b, OP_MUL);
	check(nna_get_supported_operations(device, &b.model, NULL, supported, &err));
	assert_true(supported[0] && supported[1] && supported[2] && !supported[3]);
}

static void test_refused(void **state)
{
	struct nna_prepared_model *p = NULL;
	struct model_builder b;

	(void)state;
	build_sample(&b, OP_MUL);
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, NULL, &p, &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "operation 3"));
	build_sample(&b, OP_RELU);
	b.extensions[0].name = "com.example.other";
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, NULL, &p, NULL),
			 NN_INVALID_ARGUMENT);
}

static void test_executions(void **state)
{
	const struct nna_execute_options late = { .size = sizeof(late), .deadline_ns = 1 };
	struct nna_prepared_model *p = prepare_sample(NULL);
	struct nna_burst *burst = NULL;

	(void)state;
	check(nna_burst_create(p, NULL, &burst, &err));
	/* Each execution uses a new memory, so that the burst adds and frees slots. */
	for (int i = 0; i < 100; i++) {
		check(run_sample(p, NULL, NULL));
		check(run_sample(p, burst, NULL));
	}
	assert_int_equal(run_sample(p, NULL, &late), NN_MISSED_DEADLINE_PERSISTENT);
	nna_burst_free(burst);
	nna_prepared_model_free(p);
}

static void test_saved(void **state)
{
	struct entry e;
	const struct nna_prepare_options options = { .size = sizeof(options), .cache = &e.cache };
	struct nna_prepared_model *p;
	uint8_t byte;

	(void)state;
	strcpy(folder, "/tmp/nnaccel-cache-XXXXXX");
	assert_non_null(mkdtemp(folder));
	entry_open(&e, 1);
	p = prepare_sample(&options);
	assert_string_equal(e.not_saved.message, "");
	nna_prepared_model_free(p);
	check(nna_prepare_model_from_cache(device, &e.cache, NULL, &p, &err));
	check(run_sample(p, NULL, NULL));
	nna_prepared_model_free(p);

	/*
	 * The engine recognises its cache files by a number in each file. The engine refuses a file
	 * that contains a wrong number.
	 */
	assert_int_equal(pread(e.model, &byte, 1, size_of(e.model) / 2), 1);
	byte ^= 1;
	assert_int_equal(pwrite(e.model, &byte, 1, size_of(e.model) / 2), 1);
	assert_int_equal(nna_prepare_model_from_cache(device, &e.cache, NULL, &p, NULL),
			 NN_GENERAL_FAILURE);
	entry_close(&e);
}

/*
 * When a client prepares a model again, the engine loads the model's plan from the keeper, even for
 * another process of the same user.
 */
static void test_cached(void **state)
{
	static const struct nna_prepare_options options = {
		.size = sizeof(options), .engine_cache = true,
	};
	struct nna_prepared_model *p;

	(void)state;
	for (int i = 0; i < 3; i++) {
		p = prepare_sample(&options);
		check(run_sample(p, NULL, NULL));
		nna_prepared_model_free(p);
		tear_down(state);
		set_up(state);
	}
}

static void test_dead_process(void **state)
{
	struct nna_prepared_model *p;

	(void)state;
	/*
	 * If threads serve the clients, the test cannot kill a worker without killing the engine.
	 */
	if (getenv("NN_TEST_THREADS"))
		return;
	p = prepare_sample(NULL);
	check(run_sample(p, NULL, NULL));
	assert_true(workers_kill());
	assert_int_equal(run_sample(p, NULL, NULL), NN_DEAD_OBJECT);
	nna_prepared_model_free(p);
	p = prepare_sample(NULL);
	check(run_sample(p, NULL, NULL));
	nna_prepared_model_free(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(device),
		TEST(refused),
		TEST(executions),
		TEST(saved),
		TEST(cached),
		TEST(dead_process),
	};

	return cmocka_run_group_tests_name("sample engine", tests, NULL, NULL);
}
