/* SPDX-License-Identifier: MIT */
/*
 * Tests steps that only a damaged plan can contain, because the compiler never makes them. A
 * restored step must access only its own memory, even if several threads share the step's work.
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
#include "plan/kernels/kernel.h"
#include "plan/kernels/fields.h"
#include "tests/between.h"
#include "tests/serialised_plan.h"
#include "tests/heap_blocks.h"

#define THREADS 2

/* Restores a step from words; the caller frees the state of the step. */
static struct nn_ready restore(const struct nn_kernel *kernel, const void *words, size_t size,
			       const struct nn_bounds *bounds)
{
	struct nn_ready ready = { .isa = nn_isa_find(NULL), .threads = THREADS, .kernel = kernel };

	ready.state = calloc(1, kernel->state_size);
	assert_non_null(ready.state);
	assert_true(nn_step_restore(kernel, words, (uint32_t)(size / sizeof(uint32_t)), bounds, &ready,
				    ready.state));
	return ready;
}

static struct nn_room room(uint64_t bytes)
{
	return (struct nn_room){ bytes, 64 };
}

struct saved_binary {
	uint32_t number;
	uint32_t operation;
	float range[2];
	uint32_t count;
	struct {
		uint32_t dim;
		uint32_t steps[2];
	} axes[2];
};

/*
 * Restores a step with an axis of one element and one long row, whose elements are divided among
 * many tasks.
 */
static void test_one_row_of_two_axes(void **state)
{
	enum { COUNT = 50001 };
	const struct saved_binary saved = {
		NN_IN_FLOATS, NN_BINARY_ADD, { -INFINITY, INFINITY },
		2, { { 1, { 0, 0 } }, { COUNT, { 1, 1 } } },
	};
	const struct nn_bounds bounds = {
		.inputs = { room(COUNT * sizeof(float)), room(COUNT * sizeof(float)) },
		.output = room(COUNT * sizeof(float)),
	};
	struct nn_ready ready = restore(&nn_kernel_binary, &saved, sizeof(saved), &bounds);
	float *a = malloc(COUNT * sizeof(*a)), *out = malloc(COUNT * sizeof(*out));
	const void *inputs[] = { a, a };
	void *outputs[] = { out };
	const struct nn_kernel_call call = {
		.ready = &ready, .inputs = inputs, .outputs = outputs, .threads = THREADS,
	};

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

struct saved_axis {
	uint32_t in, out, filter, stride, dilation, head;
};

struct saved_bytes {
	int32_t flip, in_zero, filter_zero, zero, low, high;
};

struct saved_depthwise {
	uint32_t n, c;
	struct saved_axis h, w;
	uint32_t number;
	uint32_t packs;
	struct saved_bytes bytes;
};

/*
 * Restores a step with nearly 2^32 rows of one byte. The kernel rounds the number of rows up; the
 * rounded number must not wrap to 0.
 */
static void test_most_rows(void **state)
{
	enum { IMAGES = 3, ROWS = UINT32_MAX / IMAGES };
	const struct saved_depthwise saved = {
		.n = IMAGES, .c = 1,
		.h = { .in = 1, .out = ROWS, .filter = 2, .stride = 1,
		       .dilation = ROWS - 1, .head = ROWS - 1 },
		.w = { 1, 1, 1, 1, 1, 0 },
		.bytes.high = 255,
	};
	const struct nn_bounds bounds = { .inputs = { room(IMAGES) }, .output = room(UINT32_MAX) };
	struct nn_ready ready = restore(&nn_kernel_depthwise, &saved, sizeof(saved), &bounds);

	(void)state;
	assert_between(ready.tasks, 2, 1000);
	free(ready.state);
}

/*
 * depthwise_q8_blocks() returns the number of blocks from a block that begins at channel 0 to the
 * next block that begins at channel 0.
 */
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
	uint32_t number;
	struct saved_bytes bytes;
	uint32_t weights;
};

/*
 * Restores a step whose weights and scales are random bytes. Weights and scales have memory of
 * exactly their size, so that the sanitizer finds accesses beyond the memory.
 */
static void test_any_weights(void **state)
{
	enum { ROWS = 5, COLUMNS = 35, DEPTH = 70 };
	const struct nn_isa *isa;
	static const struct saved_product saved = {
		ROWS, COLUMNS, DEPTH, NN_IN_INT8, { 0x80, 128, 3, -5, -100, 100 }, 0,
	};
	const struct nn_bounds bounds = {
		.inputs = { room(ROWS * DEPTH) }, .output = room(ROWS * COLUMNS),
	};
	const struct nn_kernel *kernel = &nn_kernel_fully_connected;

	(void)state;
	srandom(1);
	for (size_t i = 0; (isa = nn_isa_at(i)); i++) {
		struct nn_ready ready = { .isa = isa, .threads = THREADS };
		void *own = calloc(1, kernel->state_size), *in = calloc(ROWS, DEPTH);
		void *out = malloc(ROWS * COLUMNS), *packed = NULL, *scratch = NULL;
		const struct nn_kernel_call call = {
			.ready = &ready, .inputs = (const void *const *)&in, .outputs = &out, .threads = 1,
		};

		ready.state = own;
		assert_true(nn_step_restore(kernel, (const uint32_t *)&saved, sizeof(saved) / sizeof(uint32_t), &bounds,
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

/* Restores steps with too few or too many words; the memory after the words cannot be accessed. */
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

		for (uint32_t count = 0; kernel->fields && count <= NN_SAVED_WORDS; count++) {
			uint32_t *words = (uint32_t *)(pages + page) - count;

			for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
				struct nn_ready ready = { .isa = nn_isa_find(NULL),
							  .threads = THREADS };

				for (uint32_t at = 0; at < count; at++)
					words[at] = values[k];
				memset(own, 0, kernel->state_size);
				nn_step_restore(kernel, words, count, &bounds, &ready, own);
			}
		}
		free(own);
	}
	munmap(pages, 2 * page);
}

/* ---- Rows of tables ---- */

enum { CHOICES = IS(1) | IS(3) };

struct numbers {
	uint8_t byte;
	bool flag;
	uint8_t flip;
	int32_t zero;
	uint32_t count;
	uint32_t copy;
	uint32_t choice;
	uint32_t position;
	size_t dims[2];
	size_t steps[2];
	int64_t head;
	float scale;
};

static bool is_even(const void *byte)
{
	return *(const uint8_t *)byte % 2 == 0;
}

#define NN_STATE struct numbers
static const struct nn_field number_rows[] = {
	BYTE(byte), FLAG(flag), FLIP(flip), BYTE_DIFFERENCE(zero), WORD(count, 1, 2), COPY(copy, count),
	WORD(choice, 0, 40), POSITION(position), EACH(count, WORD_EACH(dims, , 1, 9), WORD_EACH(steps, , 0, 9)),
	WORD(head, 0, INT32_MAX - 1), FLOAT_WITHIN(scale, 1.5f),
	CHECK(byte, is_even), ONLY(choice, CHOICES), LIMIT(18, byte, choice), EQUAL(head, byte, choice),
	WHEN(flag, SET, DIMENSION(choice), SPAN(INPUT(2), SIZE_BY(count, 0x840), choice)),
	SPAN_AXES(OUTPUT(0), SIZE_BY(count, 0x400), count, dims),
	REACH(INPUT_AT(position, 1), SIZE(2), AXES(count), dims, steps, count),
	EACH_OF(2, SPAN_EACH(OUTPUT(1), SIZE(1), dims, , count)),
	END
};
#undef NN_STATE

static bool complete_numbers(void *state, struct nn_ready *ready)
{
	ready->tasks = 1;
	return ((const struct numbers *)state)->zero != 99;
}

/*
 * Lists the words of a step that reads pairs of elements: one pair at each of 2 * `dim` places of
 * its input. If `dim` is 3, the input needs 2 + 1 * 5 + 2 * 7 = 21 elements.
 */
#define NUMBERS_OF(byte, flag, flip, zero, choice, dim, head, scale)			\
	{ byte, flag, flip, (uint32_t)(zero), 2, choice, 0, 2, 5, dim, 7, head, scale }
#define HALF 0x3f000000

static void test_rows(void **state)
{
	static const struct {
		const char *name;
		uint32_t words[13];
		uint32_t missing;	/* a bit for each operand that is too small or unaligned */
		bool taken;
	} cases[] = {
		{ "as it is", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, HALF), 0, true },
		{ "flipped", NUMBERS_OF(6, 0, 0x80, -255, 1, 3, 6, HALF), 0, true },
		{ "no flip", NUMBERS_OF(6, 0, 0x81, 0, 1, 3, 6, HALF), 0, false },
		{ "half a flip", NUMBERS_OF(6, 0, 0x40, 0, 1, 3, 6, HALF), 0, false },
		{ "below a difference", NUMBERS_OF(6, 0, 0, -256, 1, 3, 6, HALF), 0, false },
		{ "above a difference", NUMBERS_OF(6, 0, 0, 256, 1, 3, 6, HALF), 0, false },
		{ "no byte", NUMBERS_OF(256, 0, 0, 0, 1, 3, 256, HALF), 0, false },
		{ "no flag", NUMBERS_OF(6, 2, 0, 0, 1, 3, 6, HALF), 0, false },
		{ "no choice", NUMBERS_OF(6, 0, 0, 0, 2, 3, 12, HALF), 0, false },
		{ "a choice beyond masks", NUMBERS_OF(0, 0, 0, 0, 33, 3, 0, HALF), 0, false },
		{ "odd", NUMBERS_OF(5, 0, 0, 0, 1, 3, 5, HALF), 0, false },
		{ "unequal", NUMBERS_OF(6, 0, 0, 0, 3, 3, 6, HALF), 0, false },
		{ "equal", NUMBERS_OF(2, 0, 0, 0, 3, 3, 6, HALF), 0, true },
		{ "at a limit", NUMBERS_OF(18, 0, 0, 0, 1, 3, 18, HALF), 0, true },
		{ "above a limit", NUMBERS_OF(20, 0, 0, 0, 1, 3, 20, HALF), 0, false },
		{ "no dimension", NUMBERS_OF(6, 0, 0, 0, 1, 0, 6, HALF), 0, false },
		{ "a larger dimension", NUMBERS_OF(6, 0, 0, 0, 1, 4, 6, HALF), 0, false },
		{ "a smaller dimension", NUMBERS_OF(6, 0, 0, 0, 1, 2, 6, HALF), 0, true },
		{ "the least float", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, 0xbfc00000), 0, true },
		{ "a smaller float", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, 0xbfc00001), 0, false },
		{ "the largest float", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, 0x3fc00000), 0, true },
		{ "a larger float", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, 0x3fc00001), 0, false },
		{ "not a number", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, 0x7fc00000), 0, false },
		{ "what cannot be completed", NUMBERS_OF(6, 0, 0, 99, 1, 3, 6, HALF), 0, false },
		{ "a byte less of output 0", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, HALF), 1, false },
		{ "a byte less of output 1", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, HALF), 2, false },
		{ "a byte less of input 1", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, HALF), 4, false },
		{ "alignment less of input 1", NUMBERS_OF(6, 0, 0, 0, 1, 3, 6, HALF), 8, false },
		{ "no such input", { 6, 0, 0, 0, 2, 1, 1, 2, 5, 3, 7, 6, HALF }, 0, false },
		{ "a word that is missing", { 6, 1, 0, 0, 2, 1, 0, 2, 5, 3, 7, 6, HALF }, 0, false },
	};
	const struct nn_kernel kernel = {
		.name = "numbers", .fields = number_rows, .complete = complete_numbers,
		.inputs = 2, .more_outputs = 1, .state_size = sizeof(struct numbers),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint32_t missing = cases[i].missing;
		const struct nn_bounds bounds = {
			/* The step's kernel has no third input. */
			.inputs = { { 0, 0 }, { 2 * 21 - (missing >> 2 & 1), missing & 8 ? 1 : 2 },
				    { UINT64_MAX, 64 } },
			.output = { 4 * 6 - (missing & 1), 4 },
			.more_outputs = { { 2 * 3 - (missing >> 1 & 1), 1 } },
		};
		struct nn_ready ready = { .kernel = &kernel };
		uint32_t again[NN_SAVED_WORDS];
		struct numbers n = { 0 }, other = { 0 };

		if (nn_step_restore(&kernel, cases[i].words, 13, &bounds, &ready, &n) != cases[i].taken)
			fail_msg("%s is %s", cases[i].name, cases[i].taken ? "refused" : "taken");
		ready.state = &n;
		if (!cases[i].taken)
			continue;
		assert_int_equal(nn_step_save(&ready, again), 13);
		assert_memory_equal(again, cases[i].words, sizeof(cases[i].words));
		assert_int_equal(nn_step_reads(&ready), NN_IN(1));
		assert_int_equal(n.copy, 2);
		assert_int_equal(n.zero, (int32_t)cases[i].words[3]);
		/*
		 * Restoring a step fails if there is one word too many; saving a step fails if a
		 * number does not fit into a word.
		 */
		again[13] = 0;
		assert_false(nn_step_restore(&kernel, again, 14, &bounds, &ready, &other));
		n.dims[1] = (size_t)UINT32_MAX + 1;
		assert_int_equal(nn_step_save(&ready, again), 0);
	}
}

/* No window of a compiled plan begins before the padding's first element or behind the input. */
static void test_windows(void **state)
{
	/* The last of 4 windows of 3 elements, 2 apart, begins at element 3 * 2 - head. */
	struct nn_window w = {
		.h = { .in = 3, .out = 4, .stride = 2, .head = 4, .filter = 3, .dilation = 2 },
		.w = { .in = 1, .out = 1, .stride = 1, .head = 0, .filter = 1, .dilation = 1 },
	};

	(void)state;
	assert_true(nn_window_reaches(&w));
	w.h.head = 5;
	assert_false(nn_window_reaches(&w));
	w.h.filter = 4;
	assert_true(nn_window_reaches(&w));
	w.h.in = 1;
	assert_false(nn_window_reaches(&w));
	w.h.in = 2;
	assert_true(nn_window_reaches(&w));
	w.w.head = 1;
	assert_false(nn_window_reaches(&w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_one_row_of_two_axes),
		heap_unit_test(test_most_rows),
		heap_unit_test(test_blocks),
		cmocka_unit_test(test_any_weights),
		heap_unit_test(test_words_that_end),
		heap_unit_test(test_rows),
		cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
