/* SPDX-License-Identifier: MIT */
/*
 * Tests three engines through libnnaccel. The test lists the engines, opens them by name, and
 * executes on each engine. The death of one engine does not affect clients of the other engines.
 * The test needs a running nnacceld. The test itself starts two more engines, so it needs the
 * program of nnacceld and root.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "tests/engines_fixture.h"
#include "tests/hal_fixture.h"
#include "tests/model_builder.h"

#define COUNT	4
#define SIZE	(COUNT * sizeof(float))

/*
 * The objects for adding two vectors: a device, a prepared model, and memory for the vectors and
 * the sum.
 */
struct adder {
	struct nna_device *device;
	struct nna_prepared_model *model;
	struct nna_memory *memory;
	float *data;
};

static void open_adder(struct adder *a, const char *name)
{
	struct model_builder b;
	uint32_t x, y, none, sum;

	check(nna_device_open_by_name(name, &a->device, &err));
	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(&b, 0, MB_LIST(x, y, none), MB_LIST(sum));
	check(nna_prepare_model(a->device, &b.model, NULL, NULL, &a->model, &err));
	check(nna_memory_alloc(a->device, 3 * SIZE, &a->memory, &err));
	a->data = nna_memory_map(a->memory, &err);
	assert_non_null(a->data);
}

static void close_adder(struct adder *a)
{
	nna_memory_free(a->memory);
	nna_prepared_model_free(a->model);
	nna_device_close(a->device);
}

/* Executes the model and checks the sum; returns the status, because a test may expect an error. */
static enum nn_status add(struct adder *a, float from)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = SIZE, .length = SIZE } };
	const struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	const struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &a->memory, 0, NULL };
	enum nn_status status;

	for (int i = 0; i < COUNT; i++) {
		a->data[i] = from + (float)i;
		a->data[COUNT + i] = 100;
	}
	status = nna_execute(a->model, &r, NULL, NULL, NULL);
	for (int i = 0; !status && i < COUNT; i++)
		if (a->data[2 * COUNT + i] != from + (float)i + 100)
			return NN_GENERAL_FAILURE;
	return status;
}

static const struct nna_device_entry *find_entry(const struct nna_device_entry *entries,
						 uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

static void test_list(void **state)
{
	struct nna_device_entry entries[NNA_MAX_DEVICES], one;
	char large[2][sizeof(one) + 16];
	const struct nna_device_entry *entry;
	uint32_t count = NNA_MAX_DEVICES, none = 0, single = 1, two = 2;

	(void)state;
	check(nna_device_list(entries, sizeof(entries[0]), &count, &err));
	assert_true(count >= 1 + NUM_OTHERS && count <= NNA_MAX_DEVICES);
	assert_string_equal(entries[0].path, NNA_DEVICE_PATH);
	assert_string_equal(entries[0].name, "nnaccel");
	for (int i = 0; i < NUM_OTHERS; i++) {
		entry = find_entry(entries, count, others[i]);
		assert_non_null(entry);
		assert_true(entry->is_ready);
		assert_int_equal(entry->type, NN_DEVICE_ACCELERATOR);
		assert_string_not_equal(entry->version, "");
	}
	/*
	 * List the devices without an array, with an array of too few entries, and with an array
	 * whose entries are longer than the library's entries.
	 */
	check(nna_device_list(NULL, sizeof(entries[0]), &none, &err));
	assert_int_equal(none, count);
	check(nna_device_list(&one, sizeof(one), &single, &err));
	assert_int_equal(single, count);
	assert_memory_equal(&one, &entries[0], sizeof(one));
	memset(large, 0xa5, sizeof(large));
	check(nna_device_list((void *)large, sizeof(large[0]), &two, &err));
	assert_memory_equal(large[1], &entries[1], sizeof(one));
	assert_int_equal(large[1][sizeof(one)], 0);
	assert_int_equal(nna_device_list(entries, 8, &count, &err), NN_INVALID_ARGUMENT);
}

static void test_names(void **state)
{
	static const char *const wrong[] = { "", "nothing", "test", "nnaccel1", "../nnaccel" };
	struct nna_device *d;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(nna_device_open_by_name(wrong[i], &d, &err),
				 NN_DEVICE_UNAVAILABLE);
	err.message[0] = 0;
	assert_int_equal(nna_device_open_by_name("nothing", &d, &err), NN_DEVICE_UNAVAILABLE);
	assert_string_equal(err.message, "no device is named nothing");
}

static void test_each_computes(void **state)
{
	struct adder first, adders[NUM_OTHERS];

	(void)state;
	open_adder(&first, "nnaccel");
	for (int i = 0; i < NUM_OTHERS; i++)
		open_adder(&adders[i], others[i]);
	for (int k = 0; k < 10; k++) {
		check(add(&first, (float)k));
		for (int i = 0; i < NUM_OTHERS; i++)
			check(add(&adders[i], (float)(k + i)));
	}
	for (int i = 0; i < NUM_OTHERS; i++)
		close_adder(&adders[i]);
	close_adder(&first);
}

static atomic_bool stop;
static atomic_int computed;

static void *compute(void *adder)
{
	while (!stop) {
		if (add(adder, (float)computed))
			return (void *)1;
		computed++;
	}
	return NULL;
}

/* The test kills one engine while another engine computes without a failure. */
static void test_death_of_one(void **state)
{
	struct adder alive, dead;
	pthread_t thread;
	void *failed;
	int before;

	(void)state;
	open_adder(&alive, others[0]);
	open_adder(&dead, others[1]);
	check(add(&dead, 1));
	assert_int_equal(pthread_create(&thread, NULL, compute, &alive), 0);
	while (!computed)
		usleep(1000);
	stop_other(1, SIGKILL);
	/*
	 * The workers of a killed engine end some time after the engine; a worker that is just
	 * starting ends last.
	 */
	while (!add(&dead, 1))
		usleep(1000);
	while (nna_device_status(dead.device) != NNA_OFFLINE)
		usleep(1000);
	assert_int_equal(nna_device_status(alive.device), NNA_AVAILABLE);
	before = computed;
	while (computed < before + 10)
		usleep(1000);
	stop = true;
	pthread_join(thread, &failed);
	assert_null(failed);
	close_adder(&dead);

	/* After a restart, the engine serves the device that it served before the restart. */
	assert_true(start_other(1));
	open_adder(&dead, others[1]);
	check(add(&dead, 2));
	close_adder(&dead);
	close_adder(&alive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_each_computes),
		cmocka_unit_test(test_death_of_one),
	};

	(void)set_up;
	(void)tear_down;
	(void)device;
	return cmocka_run_group_tests(tests, start_others, stop_others);
}
