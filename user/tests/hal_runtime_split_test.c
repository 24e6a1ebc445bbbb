/* SPDX-License-Identifier: MIT */
/*
 * Tests compilation caching of a model that is split into three steps on two devices, nnaccel and
 * nnapi-reference. Each of the three steps has a cache entry. The runtime uses valid cache entries,
 * and replaces invalid entries. The test needs /dev/nnaccel and a running nnacceld.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/runtime_cache_fixture.h"

#define IN 4
#define ROW 40
#define STEPS 3

/* The devices of a compilation: nnaccel and nnapi-reference, or one of these devices. */
struct devices {
	const ANeuralNetworksDevice *list[2];
	uint32_t count;
};

static struct devices both(void)
{
	struct devices d = { .count = 2 };
	ANeuralNetworksDevice *device;
	const char *name;
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	assert_int_equal(count, d.count);
	for (uint32_t i = 0; i < count; i++) {
		assert_ok(ANeuralNetworks_getDevice(i, &device));
		d.list[i] = device;
	}
	assert_ok(ANeuralNetworksDevice_getName(d.list[0], &name));
	assert_string_equal(name, "nnaccel");
	return d;
}

/* ---- the model ---- */

static ANeuralNetworksModel *begin(const ANeuralNetworksOperandType *types, uint32_t count)
{
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (uint32_t i = 0; i < count; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, &types[i]));
	return model;
}

static void add(ANeuralNetworksModel *model, ANeuralNetworksOperationType type, uint32_t count,
		const uint32_t *inputs, uint32_t output)
{
	assert_ok(ANeuralNetworksModel_addOperation(model, type, count, inputs, 1, &output));
}

static void no_activation(ANeuralNetworksModel *model, uint32_t operand)
{
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;

	assert_ok(ANeuralNetworksModel_setOperandValue(model, operand, &none, sizeof(none)));
}

static const uint32_t row[] = { 1, ROW }, open_row[] = { 0, ROW };

/*
 * Makes a model for a branch of the IF, with ADD or MUL of a and b; b has an unknown number of
 * rows.
 */
static ANeuralNetworksModel *branch(ANeuralNetworksOperationType type)
{
	const ANeuralNetworksOperandType types[] = {
		tensor_type(2, row), tensor_type(2, open_row), scalar_type(ANEURALNETWORKS_INT32),
		tensor_type(2, row),
	};
	const uint32_t inputs[] = { 0, 1, 2 }, output = 3;
	ANeuralNetworksModel *model = begin(types, ARRAY_SIZE(types));

	no_activation(model, 2);
	add(model, type, 3, inputs, output);
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

static float weight(uint32_t unit, uint32_t input)
{
	return (float)((unit * 7 + input * 3) % 11) - 5;
}

/*
 * Makes a model with the operations FULLY_CONNECTED (for nnaccel), IF with an input of unknown size
 * (for nnapi-reference), and ADD (for nnaccel). The inputs of the split model are a condition, x
 * and y.
 */
static ANeuralNetworksModel *split_model(const ANeuralNetworksModel *yes,
					 const ANeuralNetworksModel *no)
{
	enum { X, WEIGHTS, BIAS, NONE, T, CONDITION, YES, NO, Y, U, ADDEND, OUT };
	static const uint32_t one[] = { 1 }, in[] = { 1, IN };
	static const uint32_t shape[] = { ROW, IN }, rows[] = { ROW };
	const ANeuralNetworksOperandType types[] = {
		[X] = tensor_type(2, in), [WEIGHTS] = tensor_type(2, shape),
		[BIAS] = tensor_type(1, rows), [NONE] = scalar_type(ANEURALNETWORKS_INT32),
		[T] = tensor_type(2, row),
		[CONDITION] = { ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0, 0 },
		[YES] = scalar_type(ANEURALNETWORKS_MODEL),
		[NO] = scalar_type(ANEURALNETWORKS_MODEL), [Y] = tensor_type(2, open_row),
		[U] = tensor_type(2, row), [ADDEND] = tensor_type(2, row),
		[OUT] = tensor_type(2, row),
	};
	static const uint32_t connected[] = { X, WEIGHTS, BIAS, NONE };
	static const uint32_t chosen[] = { CONDITION, YES, NO, T, Y };
	static const uint32_t summed[] = { U, ADDEND, NONE };
	static const uint32_t inputs[] = { X, CONDITION, Y }, output = OUT;
	ANeuralNetworksModel *model = begin(types, ARRAY_SIZE(types));
	float weights[ROW * IN], values[ROW];

	for (uint32_t i = 0; i < ROW; i++) {
		for (uint32_t k = 0; k < IN; k++)
			weights[i * IN + k] = weight(i, k);
		values[i] = (float)i;
	}
	assert_ok(ANeuralNetworksModel_setOperandValue(model, WEIGHTS, weights, sizeof(weights)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, BIAS, values, sizeof(values)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, ADDEND, values, sizeof(values)));
	no_activation(model, NONE);
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, YES, yes));
	assert_ok(ANeuralNetworksModel_setOperandValueFromModel(model, NO, no));
	add(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, connected, T);
	add(model, ANEURALNETWORKS_IF, 5, chosen, U);
	add(model, ANEURALNETWORKS_ADD, 3, summed, OUT);
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, &output));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

static void assert_right(ANeuralNetworksCompilation *c, bool condition)
{
	static const float x[IN] = { 1, -2, 3, 0.5f };
	const ANeuralNetworksOperandType type = tensor_type(2, row);
	ANeuralNetworksExecution *e;
	float y[ROW], out[ROW];

	for (uint32_t i = 0; i < ROW; i++)
		y[i] = (float)(2 + i % 3);
	assert_ok(ANeuralNetworksExecution_create(c, &e));
	assert_ok(ANeuralNetworksExecution_setInput(e, 0, NULL, x, sizeof(x)));
	assert_ok(ANeuralNetworksExecution_setInput(e, 1, NULL, &condition, 1));
	assert_ok(ANeuralNetworksExecution_setInput(e, 2, &type, y, sizeof(y)));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, out, sizeof(out)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	ANeuralNetworksExecution_free(e);
	for (uint32_t i = 0; i < ROW; i++) {
		float t = (float)i;

		for (uint32_t k = 0; k < IN; k++)
			t += x[k] * weight(i, k);
		assert_true(out[i] == (condition ? t + y[i] : t * y[i]) + (float)i);
	}
}

/* Compiles the model for the given devices and executes the model; stores the log in log_text. */
static void run(const struct devices *d)
{
	ANeuralNetworksModel *yes = branch(ANEURALNETWORKS_ADD), *no = branch(ANEURALNETWORKS_MUL);
	ANeuralNetworksModel *model = split_model(yes, no);
	ANeuralNetworksCompilation *c;

	log_begin();
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, d->list, d->count, &c));
	assert_ok(ANeuralNetworksCompilation_setCaching(c, dir, token));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	log_end();
	pace_saves(STEPS - count("prepared from the cache"));
	assert_right(c, true);
	assert_right(c, false);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksModel_free(yes);
	ANeuralNetworksModel_free(no);
}

/* ---- tests ---- */

static const char *path_of(uint32_t file)
{
	static char path[512];
	struct listing l = list();

	assert_true(file < l.count);
	snprintf(path, sizeof(path), "%s/%s", dir, l.names[file]);
	return path;
}

/* Makes the cache entries of all steps, and checks that the folder has no other files. */
static void make_entries(const struct devices *d)
{
	remove_all();
	run(d);
	assert_logged(0, 0);
	assert_int_equal(list().count, STEPS * FILES);
}

static void test_miss_and_hit(void **state)
{
	const struct devices d = both();

	(void)state;
	make_entries(&d);
	for (int i = 0; i < 2; i++) {
		run(&d);
		assert_logged(STEPS, 0);
		assert_int_equal(list().count, STEPS * FILES);
	}
}

/*
 * If the model is compiled for only one device, with an unchanged token, the model gets one
 * additional cache entry.
 */
static void test_one_device(void **state)
{
	const struct devices d = both();

	(void)state;
	make_entries(&d);
	for (uint32_t i = 0; i < d.count; i++) {
		const struct devices alone = { { d.list[i] }, 1 };

		run(&alone);
		assert_logged(0, 0);
		assert_int_equal(list().count, (STEPS + i + 1) * FILES);
		run(&alone);
		assert_logged(1, 0);
	}
	run(&d);
	assert_logged(STEPS, 0);
}

static void cut(const char *path, off_t size)
{
	assert_int_equal(truncate(path, size - 1), 0);
}

static void empty(const char *path, off_t size)
{
	(void)size;
	assert_int_equal(truncate(path, 0), 0);
}

/* Overwrites the first 64 bytes of a file with zeroes, even if the file was shorter before. */
static void zero(const char *path, off_t size)
{
	static const char zeroes[64];
	int fd;

	(void)size;
	fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, zeroes, sizeof(zeroes), 0), sizeof(zeroes));
	close(fd);
}

/* If one cache entry is damaged, the runtime replaces this entry and uses the other entries. */
static void test_one_damaged(void **state)
{
	static void (*const damages[])(const char *path, off_t size) = { cut, empty, zero };
	const struct devices d = both();

	(void)state;
	make_entries(&d);
	for (uint32_t file = 0; file < STEPS * FILES; file++) {
		const char *path = path_of(file);
		struct stat st;

		/* The data file of a model without constants is empty. */
		assert_int_equal(stat(path, &st), 0);
		(st.st_size ? damages[file % ARRAY_SIZE(damages)] : zero)(path, st.st_size);
		run(&d);
		assert_logged(STEPS - 1, 1);
		run(&d);
		assert_logged(STEPS, 0);
	}
}

static void test_one_missing(void **state)
{
	const struct devices d = both();

	(void)state;
	make_entries(&d);
	for (uint32_t file = 0; file < STEPS * FILES; file++) {
		assert_int_equal(unlink(path_of(file)), 0);
		run(&d);
		assert_logged(STEPS - 1, 0);
		assert_int_equal(list().count, STEPS * FILES);
		run(&d);
		assert_logged(STEPS, 0);
	}
}

/*
 * The test exchanges the cache files of two steps of the model, which may be steps on different
 * devices.
 */
static void test_entries_exchanged(void **state)
{
	const struct devices d = both();
	char from[512], to[512], aside[512];

	(void)state;
	make_entries(&d);
	snprintf(aside, sizeof(aside), "%s/.aside", dir);
	for (uint32_t file = 0; file < FILES; file++) {
		for (uint32_t step = 1; step < STEPS; step++) {
			strcpy(from, path_of(file));
			strcpy(to, path_of(step * FILES + file));
			assert_int_equal(rename(from, aside), 0);
			assert_int_equal(rename(to, from), 0);
			assert_int_equal(rename(aside, to), 0);
			run(&d);
			assert_logged(STEPS - 2, 2);
			run(&d);
			assert_logged(STEPS, 0);
		}
	}
}

/* A second process uses the cache entries that the first process saved for two devices. */
static void test_other_process(void **state)
{
	const struct devices d = both();
	int status;
	pid_t pid;

	(void)state;
	make_entries(&d);
	pid = fork();
	if (!pid) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		execl("/proc/self/exe", "hal_runtime_split_test", dir, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Runs in a second process, which uses the cache entries of the first process. */
static int be_other(const char *folder)
{
	const struct devices d = both();

	memcpy(dir, folder, sizeof(dir));
	run(&d);
	assert_logged(STEPS, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_miss_and_hit),
		cmocka_unit_test(test_one_device),
		cmocka_unit_test(test_one_damaged),
		cmocka_unit_test(test_one_missing),
		cmocka_unit_test(test_entries_exchanged),
		cmocka_unit_test(test_other_process),
	};

	cache_fixture_init();
	pace_saves(STEPS);
	if (argc == 2 && strlen(argv[1]) == sizeof(dir) - 1)
		return be_other(argv[1]);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
