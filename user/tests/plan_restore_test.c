/* SPDX-License-Identifier: MIT */
/*
 * Steps that no compiler makes, as kernels take them back from saved plans: they run
 * within the memory that they were told of, also where several threads share them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/kernels/depthwise_q8.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"
#include "tests/between.h"
#include "tests/frozen_form.h"

#define THREADS 2

/* A step of numbers; its state is to be freed. */
static struct nn_ready restore(const struct nn_kernel *kernel, const void *words, size_t size,
			       const struct nn_bounds *bounds)
{
	struct nn_ready ready = { .isa = nn_isa_find(NULL), .threads = THREADS, .kernel = kernel };

	ready.state = malloc(kernel->state_size);
	assert_non_null(ready.state);
	memset(ready.state, 0xee, kernel->state_size);
	assert_true(nn_step_restore(kernel, words, (uint32_t)(size / sizeof(uint32_t)), bounds, &ready,
				    ready.state));
	return ready;
}

static struct nn_room room(uint64_t bytes)
{
	return (struct nn_room){ bytes, 64 };
}

struct saved_binary {
	uint32_t operation;
	uint32_t is_float;
	float range[2];
	struct {
		uint32_t dim;
		uint32_t steps[2];
	} axes[2];
};

/* Sums of one row whose elements many tasks share, behind an axis of one element. */
static void test_one_row_of_two_axes(void **state)
{
	enum { COUNT = 50001 };
	const struct saved_binary saved = {
		NN_BINARY_ADD, 1, { -INFINITY, INFINITY },
		{ { 1, { 0, 0 } }, { COUNT, { 1, 1 } } },
	};
	const struct nn_bounds bounds = {
		.inputs = { room(COUNT * sizeof(float)), room(COUNT * sizeof(float)) },
		.output = room(COUNT * sizeof(float)),
	};
	struct nn_ready ready = restore(&nn_kernel_binary, &saved, sizeof(saved), &bounds);
	float *a = malloc(COUNT * sizeof(*a)), *out = malloc(COUNT * sizeof(*out));
	const void *inputs[] = { a, a };
	void *outputs[] = { out };
	const struct nn_kernel_call call = { &ready, inputs, outputs, THREADS };

	(void)state;
	assert_true(a && out && ready.tasks > 1);
	for (uint32_t i = 0; i < COUNT; i++)
		a[i] = (float)i;
	for (uint32_t i = 0; i < ready.tasks; i++)
		ready.kernel->run(&call, i, NULL);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(out[i] == 2 * (float)i);
	free(a);
	free(out);
	free(ready.state);
}

struct saved_depthwise {
	struct nn_saved_window window;
	uint32_t packs;
	struct nn_saved_numbers numbers;
};

/* As many rows of one byte as 32 bits count: that many, rounded up, are still some. */
static void test_most_rows(void **state)
{
	enum { IMAGES = 3, ROWS = UINT32_MAX / IMAGES };
	const struct saved_depthwise saved = {
		.window = {
			.n = IMAGES, .c = 1,
			.h = { .in = 1, .out = ROWS, .filter = 2, .stride = 1,
			       .dilation = ROWS - 1, .head = ROWS - 1 },
			.w = { 1, 1, 1, 1, 1, 0 },
		},
		.numbers.bytes.high = 255,
	};
	const struct nn_bounds bounds = { .inputs = { room(IMAGES) }, .output = room(UINT32_MAX) };
	struct nn_ready ready = restore(&nn_kernel_depthwise, &saved, sizeof(saved), &bounds);

	(void)state;
	assert_between(ready.tasks, 2, 1000);
	free(ready.state);
}

/* Blocks of channels that follow one another: as few as begin anew where a pixel does. */
static void test_blocks(void **state)
{
	(void)state;
	for (size_t channels = 1; channels < 2048; channels++) {
		const struct nn_depthwise_q8 d = {
			.channels = channels, .padded = (channels + 15) / 16 * 16,
		};
		size_t count = 1;

		while (count * DEPTHWISE_Q8_BLOCK < channels ||
		       (d.padded == channels && count * DEPTHWISE_Q8_BLOCK % channels))
			count++;
		assert_int_equal(depthwise_q8_blocks(&d), count);
	}
}

struct saved_product {
	uint32_t rows;
	uint32_t columns;
	uint32_t depth;
	uint32_t weights;
	struct nn_saved_numbers numbers;
};

/* Weights and scales of any bytes, in memory of just their size, for the sanitizer. */
static void test_any_weights(void **state)
{
	enum { ROWS = 5, COLUMNS = 35, DEPTH = 70 };
	const struct nn_isa *isa;
	static const struct saved_product saved = {
		ROWS, COLUMNS, DEPTH, 0, { .bytes = { 0x80, 128, 3, -5, -100, 100 } },
	};
	const struct nn_bounds bounds = {
		.inputs = { room(ROWS * DEPTH) }, .output = room(ROWS * COLUMNS),
	};
	const struct nn_kernel *kernel = &nn_kernel_fully_connected;

	(void)state;
	srandom(1);
	for (size_t i = 0; (isa = nn_isa_at(i)); i++) {
		struct nn_ready ready = { .isa = isa, .threads = THREADS };
		void *own = malloc(kernel->state_size), *in = calloc(ROWS, DEPTH);
		void *out = malloc(ROWS * COLUMNS), *packed = NULL, *scratch = NULL;
		const struct nn_kernel_call call = { &ready, (const void *const *)&in, &out, 1 };

		ready.state = own;
		assert_true(nn_step_restore(kernel, (const uint32_t *)&saved, NN_WORDS(saved), &bounds,
					    &ready, own));
		assert_int_equal(posix_memalign(&packed, 64, ready.packed_size), 0);
		assert_int_equal(posix_memalign(&scratch, 64, ready.scratch_size + 1), 0);
		ready.packed = packed;
		for (uint32_t run = 0; run < 20; run++) {
			for (size_t at = 0; at < ready.packed_size; at++)
				((uint8_t *)packed)[at] = (uint8_t)random();
			for (uint32_t task = 0; task < ready.tasks; task++)
				kernel->run(&call, task, scratch);
			for (size_t at = 0; at < ROWS * COLUMNS; at++)
				assert_between(((int8_t *)out)[at] + 100, 0, 200);
		}
		free(own);
		free(in);
		free(out);
		free(packed);
		free(scratch);
	}
}

/* Steps of too few or too many words, behind which nothing can be read. */
static void test_words_that_end(void **state)
{
	static const uint32_t values[] = { 0, 1, 2, UINT32_MAX };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct nn_bounds bounds = form_bounds(room(UINT32_MAX));
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	const struct nn_kernel *kernel;

	(void)state;
	assert_true(pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE));
	for (uint32_t i = 0; (kernel = nn_kernel_at(i)); i++) {
		void *own = malloc(kernel->state_size);

		for (uint32_t count = 0; nn_step_can(kernel) && count <= NN_SAVED_WORDS; count++) {
			uint32_t *words = (uint32_t *)(pages + page) - count;

			for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
				struct nn_ready ready = { .isa = nn_isa_find(NULL),
							  .threads = THREADS };

				for (uint32_t at = 0; at < count; at++)
					words[at] = values[k];
				nn_step_restore(kernel, words, count, &bounds, &ready, own);
			}
		}
		free(own);
	}
	munmap(pages, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_row_of_two_axes),
		cmocka_unit_test(test_most_rows),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_any_weights),
		cmocka_unit_test(test_words_that_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
