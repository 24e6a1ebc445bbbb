/* SPDX-License-Identifier: MIT */
/* Tests that `compute --calibrate` prints each setting of the library with its value. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/compute/calibrate.h"
#include "plan/kernels/caches.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/isa.h"
#include "plan/run/domains.h"
#include "plan/run/threads.h"
#include "ring/waiting.h"

#define MAX_LINES 40

/* A line's fields. */
struct line {
	const char *name, *value, *unit, *why;
};

static char *text;
static struct line lines[MAX_LINES];
static size_t num_lines;

/* Returns the only output line named `name`; NULL if no line or several lines have the name. */
static const struct line *find(const char *name)
{
	const struct line *found = NULL;

	for (size_t i = 0; i < num_lines; i++) {
		if (strcmp(lines[i].name, name))
			continue;
		if (found)
			return NULL;
		found = &lines[i];
	}
	return found;
}

static int write_lines(void **state)
{
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *line = NULL, *rest;

	(void)state;
	if (!out)
		return -1;
	bench_calibrate(out);
	fclose(out);
	for (rest = text; (line = strsep(&rest, "\n")) && *line;) {
		struct line *l = &lines[num_lines++];

		if (num_lines == MAX_LINES)
			return -1;
		l->name = strsep(&line, "\t");
		l->value = strsep(&line, "\t");
		l->unit = strsep(&line, "\t");
		l->why = strsep(&line, "\t");
		/* Each output line has four fields, none of which is empty. */
		if (line || !l->why || !*l->name || !*l->value || !*l->unit || !*l->why)
			return -1;
	}
	return 0;
}

static int free_text(void **state)
{
	(void)state;
	free(text);
	return 0;
}

static void test_constants(void **state)
{
	const struct {
		const char *name;
		uint64_t value;
		const char *unit;
	} constants[] = {
		{ "cut_rows", NN_TILE_ROWS, "rows" },
		{ "threads", threads_start(), "CPUs" },
		{ "domains", domains_count(), "last-level caches" },
		{ "thread_spin", THREADS_SPIN_NS / 1000, "us" },
		{ "thread_fan_out", THREADS_FAN_OUT, "threads" },
		{ "thread_late", THREADS_LATE_NS / 1000, "us" },
		{ "thread_alone", THREADS_ALONE_NS / 1000, "us" },
		{ "spin", nn_spin_budget(-1, false) / 1000, "us" },
		{ "spin_low_power", nn_spin_budget(-1, true) / 1000, "us" },
		{ "held_up", NN_HELD_UP_NS / 1000, "us" },
		{ "near", NN_NEAR_BYTES, "bytes" },
		{ "way", NN_WAY_BYTES, "bytes" },
		{ "block", NN_BLOCK_BYTES, "bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		const struct line *l = find(constants[i].name);

		if (!l || strtoull(l->value, NULL, 10) != constants[i].value ||
		    strcmp(l->unit, constants[i].unit))
			fail_msg("%s: %s %s", constants[i].name, l ? l->value : "none", l ? l->unit : "");
	}
}

/*
 * The output has lines with properties of the machine; the test does not check the values of these
 * lines.
 */
static void test_machine(void **state)
{
	static const char *const names[] = {
		"ring_barrier", "first_level", "second_level", "third_level",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!find(names[i]))
			fail_msg("no %s", names[i]);
}

/*
 * The output lists all GEMM kernels that the CPU can run, with the rows of each kernel's tile. The
 * first kernel set of the output is the set that plans use.
 */
static void test_kernels(void **state)
{
	const struct nn_isa *isa;
	size_t at = 1, i;

	(void)state;
	assert_string_equal(lines[1].value, nn_isa_find(NULL)->name);
	for (i = 0; (isa = nn_isa_at(i)); i++, at++) {
		unsigned int lanes, rows;

		assert_string_equal(lines[at].name, "kernels");
		assert_string_equal(lines[at].value, isa->name);
		assert_int_equal(sscanf(lines[at].unit, "%u floats, tiles of %u rows", &lanes, &rows), 2);
		assert_int_equal(lanes, isa->lanes);
		assert_int_equal(rows, isa->tile_rows);
		assert_true(rows > 0);
	}
	assert_string_not_equal(lines[at].name, "kernels");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constants),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_kernels),
	};

	return cmocka_run_group_tests(tests, write_lines, free_text);
}
