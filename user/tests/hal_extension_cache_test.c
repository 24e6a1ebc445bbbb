/* SPDX-License-Identifier: MIT */
/*
 * Tests the compilation cache for models with extensions. The test checks entries in files and in
 * the engine's own cache, clients' access to entries, and the effect of changed and missing
 * plug-ins. This test needs the same devices and plug-ins as the test hal_extension_test. Before
 * the parts "changed" and "removed" of this test, scripts/guest/extensions restarts nnacceld with
 * other plug-ins.
 */
#define _GNU_SOURCE
#include "tests/hal_entry.h"
#include "tests/hal_extension_fixture.h"
#include "tests/hal_cached.h"

/*
 * Numbers that name the cache entries in the test's folder. The entry GOLDEN has a model with
 * extensions, and the entry CORE has a model without extensions.
 */
enum { GOLDEN = 30, CORE };

/* ---- entries in files ---- */

/* Executes the prepared model of a job, checks the result, and frees the job. */
static void end_golden(struct job *j)
{
	check(nna_execute(j->prepared, &j->request, NULL, NULL, &err));
	check_golden(j);
	job_free(j);
}

static void save_golden(struct entry *e, struct nna_device *client)
{
	const struct nna_prepare_options options = {
		.size = sizeof(options),
		.cache = &e->cache,
	};
	struct job j;

	golden_init(&j, client, &options);
	assert_string_equal(e->not_saved.message, "");
	assert_true(size_of(e->model) > 0);
	end_golden(&j);
}

static void load_golden(const struct entry *e, struct nna_device *client)
{
	struct job j;

	job_init(&j, client, sizeof(int64_t), (COUNT - 1) * sizeof(float));
	check(nna_prepare_model_from_cache(client, &e->cache, NULL, &j.prepared, &err));
	golden_set(&j);
	end_golden(&j);
}

static void refuse(const struct entry *e, struct nna_device *client, const char *why)
{
	struct nna_prepared_model *p = NULL;

	err.message[0] = '\0';
	assert_int_equal(nna_prepare_model_from_cache(client, &e->cache, NULL, &p, &err),
			 NN_GENERAL_FAILURE);
	assert_null(p);
	if (!strstr(err.message, why))
		fail_msg("not \"%s\": %s", why, err.message);
}

static void test_files(void **state)
{
	struct nna_device *member = open_as(true), *other = open_as(true);
	struct entry e;

	(void)state;
	entry_open(&e, GOLDEN);
	save_golden(&e, member);
	for (int i = 0; i < 2; i++) {
		load_golden(&e, member);
		load_golden(&e, other);
	}
	entry_close(&e);
	nna_device_close(member);
	nna_device_close(other);
}

/*
 * A client of the same user with the same files and token, but without plug-ins, cannot use another
 * client's entry.
 */
static void test_stranger(void **state)
{
	struct nna_device *member = open_as(true), *stranger = open_as(false);
	struct entry e;

	(void)state;
	entry_open(&e, GOLDEN);
	save_golden(&e, member);
	refuse(&e, stranger, "another build");
	load_golden(&e, member);
	entry_close(&e);
	nna_device_close(member);
	nna_device_close(stranger);
}

/* Flips each bit, one at a time, of some bytes of the model file. */
static void test_bits(void **state)
{
	struct nna_device *member = open_as(true);
	struct entry e;
	off_t size;

	(void)state;
	entry_open(&e, GOLDEN);
	save_golden(&e, member);
	size = size_of(e.model);
	for (off_t at = 0; at < size; at += 1 + size / 40) {
		uint8_t byte, flipped;

		assert_int_equal(pread(e.model, &byte, 1, at), 1);
		flipped = byte ^ (uint8_t)(1 << at % 8);
		assert_int_equal(pwrite(e.model, &flipped, 1, at), 1);
		refuse(&e, member, "this engine did not save the model file");
		assert_int_equal(pwrite(e.model, &byte, 1, at), 1);
	}
	load_golden(&e, member);
	entry_close(&e);
	nna_device_close(member);
}

/* ---- the engine's own cache ---- */

static const struct nna_prepare_options keeping = {
	.size = sizeof(keeping),
	.engine_cache = true,
};

static void keep_golden(struct nna_device *client, int mapped)
{
	struct job j;

	golden_init(&j, client, &keeping);
	assert_int_equal(count_mapped(), mapped);
	end_golden(&j);
}

/*
 * A client of the same user without plug-ins can neither use nor damage the entry of another
 * client.
 */
static void test_cached(void **state)
{
	struct nna_device *client = open_as(true);
	struct nna_prepared_model *p = NULL;
	int before = count_cached();
	struct model_builder b;

	(void)state;
	keep_golden(client, 0);
	assert_true(await_cached(before + 1));
	keep_golden(client, 1);
	nna_device_close(client);
	client = open_as(false);
	build_golden(&b);
	assert_int_equal(nna_prepare_model(client, &b.model, NULL, &keeping, &p, &err),
			 NN_INVALID_ARGUMENT);
	assert_null(p);
	nna_device_close(client);
	assert_int_equal(count_cached(), before + 1);
	client = open_as(true);
	keep_golden(client, 1);
	nna_device_close(client);
}

/* ---- in several runs ---- */

static const char *given_folder;

static void test_store(void **state)
{
	struct entry e;

	(void)state;
	device = open_as(true);
	entry_open_in(&e, given_folder, GOLDEN);
	save_golden(&e, device);
	load_golden(&e, device);
	entry_close(&e);
	entry_open_in(&e, given_folder, CORE);
	save(&e, 2);
	assert_loads(&e, 2);
	entry_close(&e);
	nna_device_close(device);
}

/*
 * A change of a plug-in makes saved plans invalid, even if the plug-in's operations compute the
 * same results. Models whose saved plan is invalid are compiled again.
 */
static void test_changed(void **state)
{
	struct entry e;

	(void)state;
	device = open_as(true);
	entry_open_in(&e, given_folder, GOLDEN);
	refuse(&e, device, "this engine did not save the model file");
	save_golden(&e, device);
	load_golden(&e, device);
	entry_close(&e);
	entry_open_in(&e, given_folder, CORE);
	assert_refused(&e, NN_GENERAL_FAILURE);
	save(&e, 2);
	assert_loads(&e, 2);
	entry_close(&e);
	nna_device_close(device);
}

/*
 * If a plug-in is missing, neither saved plans nor models with the plug-in's operations can be
 * used. Models that do not need the missing plug-in are compiled again.
 */
static void test_removed(void **state)
{
	struct nna_prepared_model *p = NULL;
	struct model_builder b;
	struct entry e;

	(void)state;
	device = open_as(true);
	entry_open_in(&e, given_folder, GOLDEN);
	refuse(&e, device, "this engine did not save the model file");
	build_golden(&b);
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, NULL, &p, &err),
			 NN_INVALID_ARGUMENT);
	assert_null(p);
	entry_close(&e);
	entry_open_in(&e, given_folder, CORE);
	assert_refused(&e, NN_GENERAL_FAILURE);
	save(&e, 2);
	assert_loads(&e, 2);
	entry_close(&e);
	nna_device_close(device);
}

static int run_part(const char *part)
{
	const struct CMUnitTest parts[][1] = {
		{ cmocka_unit_test(test_store) },
		{ cmocka_unit_test(test_changed) },
		{ cmocka_unit_test(test_removed) },
	};
	static const char *const names[] = { "store", "changed", "removed" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(part, names[i]))
			return cmocka_run_group_tests_name(names[i], parts[i], NULL, NULL);
	fprintf(stderr, "usage: hal_extension_cache_test [store|changed|removed FOLDER]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_stranger),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_cached),
	};
	char command[128];
	int failed;

	if (argc == 3) {
		given_folder = argv[2];
		return run_part(argv[1]);
	}
	if (!mkdtemp(folder))
		return 2;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) || failed;
}
