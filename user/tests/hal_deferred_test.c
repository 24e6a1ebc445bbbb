/* SPDX-License-Identifier: MIT */
/*
 * Tests when cache entries are saved: after a model's first execution if the engine defers
 * compiling (nnacceld --lazy), and again after many executions. The test needs /dev/nnaccel and a
 * running nnacceld, with or without --lazy.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "../../selftests/lib/runner.h"
#include "tests/hal_entry.h"
#include "tests/workers.h"

#define EXECUTIONS 150		/* number of executions until a model is tuned and saved */
#define READERS how_often(3, 1)
#define ROUNDS how_often(4, 2)	/* number of times that an entry is saved while processes read it */

/*
 * The number of calls of deferred_saved() for which assert_saved_deferred() has not waited, and the
 * reason that the last call got.
 */
static sem_t told;
static char told_reason[256];

static void deferred_saved(void *data, const char *reason)
{
	(void)data;
	snprintf(told_reason, sizeof(told_reason), "%s", reason);
	sem_post(&told);
}

static void assert_saved_deferred(void)
{
	while (sem_wait(&told))
		;
	assert_string_equal(told_reason, "");
}

static bool is_lazy(void)
{
	return workers_have_option("--lazy");
}

static void entry_open_deferred(struct entry *e, int number)
{
	entry_open(e, number);
	e->cache.deferred_saved = deferred_saved;
}

/* Prepares a model with deferred saving, and closes the files of the cache entry immediately. */
static struct nna_prepared_model *prepare_deferred(int number)
{
	struct nna_prepared_model *p;
	struct entry e;

	entry_open_deferred(&e, number);
	p = prepare(device, &e.cache, 2);
	assert_non_null(p);
	assert_string_equal(e.not_saved.message, "");
	assert_true(is_lazy() == !size_of(e.model));
	entry_close(&e);
	return p;
}

static void execute(struct nna_prepared_model *p, int times)
{
	while (times--)
		assert_true(is_right(device, p, 2));
}

static off_t model_size(int number)
{
	struct entry e;
	off_t size;

	entry_open(&e, number);
	size = size_of(e.model);
	entry_close(&e);
	return size;
}

static void assert_entry(int number)
{
	struct entry e;

	entry_open(&e, number);
	assert_loads(&e, 2);
	entry_close(&e);
}

/* If compiling was deferred, the first execution compiles and saves the model. */
static void test_first_execution(void **state)
{
	struct nna_prepared_model *p;

	(void)state;
	if (!is_lazy())
		skip();
	p = prepare_deferred(1);
	execute(p, 1);
	assert_saved_deferred();
	assert_true(model_size(1) > 0);
	assert_entry(1);
	nna_prepared_model_free(p);
	assert_entry(1);
}

/*
 * After many executions, the tuned plan of a model replaces the saved plan. A plan that was tuned
 * for several CPUs is longer than an untuned plan.
 */
static void test_hot(void **state)
{
	bool tunes = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	struct nna_prepared_model *p;
	off_t size;

	(void)state;
	p = prepare_deferred(2);
	execute(p, 1);
	if (is_lazy())
		assert_saved_deferred();
	size = model_size(2);
	assert_true(size > 0);
	execute(p, EXECUTIONS);
	assert_saved_deferred();
	assert_true(tunes ? model_size(2) > size : model_size(2) == size);
	assert_entry(2);
	execute(p, 1);
	nna_prepared_model_free(p);
	assert_entry(2);
}

/* A model is tuned and saved after a burst has executed the model many times. */
static void test_hot_in_burst(void **state)
{
	const struct nna_argument in = { .length = ROW }, out = { .offset = ROW, .length = ROW };
	struct nna_prepared_model *p;
	struct nna_burst *burst;
	struct nna_memory *m;
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &m, 0, NULL };

	(void)state;
	p = prepare_deferred(3);
	check(nna_burst_create(p, NULL, &burst, &err));
	check(nna_memory_alloc(device, PAGE, &m, &err));
	for (int i = 0; i < EXECUTIONS + 1; i++)
		check(nna_burst_execute(burst, &r, NULL, NULL, &err));
	if (is_lazy())
		assert_saved_deferred();
	for (int i = 0; i < EXECUTIONS; i++)
		check(nna_burst_execute(burst, &r, NULL, NULL, &err));
	assert_saved_deferred();
	nna_memory_free(m);
	nna_burst_free(burst);
	nna_prepared_model_free(p);
	assert_entry(3);
}

/*
 * A model is tuned and saved after many fenced executions. The library may try to save a model
 * before the first execution has compiled the model.
 */
static void test_hot_behind_fences(void **state)
{
	const struct nna_argument in = { .length = ROW }, out = { .offset = ROW, .length = ROW };
	struct nna_prepared_model *p;
	struct nna_memory *m;
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &m, 0, NULL };
	int fence;

	(void)state;
	p = prepare_deferred(6);
	check(nna_memory_alloc(device, PAGE, &m, &err));
	for (int i = 0; i < 2 * EXECUTIONS; i++) {
		struct pollfd end = { .events = POLLIN };

		check(nna_execute_fenced(p, &r, NULL, NULL, &fence, &err));
		end.fd = fence;
		if (fence < 0)
			continue;
		assert_int_equal(poll(&end, 1, -1), 1);
		close(fence);
	}
	assert_saved_deferred();
	if (is_lazy())
		assert_saved_deferred();
	nna_memory_free(m);
	nna_prepared_model_free(p);
	assert_entry(6);
}

/*
 * After a loaded model is tuned, the library writes only the model file of the entry, not the data
 * file.
 */
static void test_hot_loaded(void **state)
{
	struct nna_prepared_model *p;
	struct entry e;
	off_t size;

	(void)state;
	p = prepare_deferred(4);
	if (is_lazy()) {
		execute(p, 1);
		assert_saved_deferred();
	}
	nna_prepared_model_free(p);
	size = model_size(4);
	entry_open_deferred(&e, 4);
	check(load(&e, &p));
	entry_close(&e);
	execute(p, EXECUTIONS);
	assert_saved_deferred();
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		assert_true(model_size(4) > size);
	assert_entry(4);
	nna_prepared_model_free(p);
}

/* If a model is freed while it is being saved, the cache entry is not left incomplete. */
static void test_free_at_once(void **state)
{
	struct nna_prepared_model *p;

	(void)state;
	p = prepare_deferred(5);
	execute(p, EXECUTIONS + 1);
	nna_prepared_model_free(p);
	assert_saved_deferred();
	assert_entry(5);
	while (!sem_trywait(&told))
		;
}

static atomic_bool stop;
static atomic_uint hits, wrong;

static void *read_all_the_time(void *unused)
{
	while (!atomic_load(&stop)) {
		struct nna_prepared_model *p = NULL;
		struct entry e;

		entry_open(&e, 7);
		if (!nna_prepare_model_from_cache(device, &e.cache, NULL, &p, NULL)) {
			atomic_fetch_add(&hits, 1);
			if (!is_right(device, p, 2))
				atomic_fetch_add(&wrong, 1);
		}
		nna_prepared_model_free(p);
		entry_close(&e);
	}
	return unused;
}

/*
 * A client that reads an entry while the entry is being saved finds either a complete entry or no
 * entry.
 */
static void test_readers(void **state)
{
	pthread_t readers[3];
	const int count = READERS;

	(void)state;
	for (int i = 0; i < count; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, NULL), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct nna_prepared_model *p;
		struct entry e;

		entry_open(&e, 7);
		assert_int_equal(ftruncate(e.model, 0), 0);
		p = prepare(device, &e.cache, 2);
		assert_non_null(p);
		execute(p, EXECUTIONS + 1);
		nna_prepared_model_free(p);
		entry_close(&e);
	}
	while (!atomic_load(&hits) && model_size(7))
		sched_yield();
	atomic_store(&stop, true);
	for (int i = 0; i < count; i++)
		pthread_join(readers[i], NULL);
	assert_int_equal(atomic_load(&wrong), 0);
	print_message("%u hits\n", atomic_load(&hits));
}

static int make_folder(void **state)
{
	(void)state;
	return sem_init(&told, 0, 0) || !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	char path[128];

	(void)state;
	for (int i = 1; i <= 7; i++) {
		snprintf(path, sizeof(path), "%s/%d.model", folder, i);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%d.data", folder, i);
		unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_execution, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hot_in_burst, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hot_behind_fences, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hot_loaded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_free_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_readers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
