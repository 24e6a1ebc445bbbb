/* SPDX-License-Identifier: MIT */
/*
 * Tests options that a table describes: where values are stored, which values are rejected, and the
 * messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/option.h"

struct arguments {
	bool flag, help;
	const char *text;
	unsigned int number, all, one;
	uint64_t bytes;
	char first;
};

static bool take_letter(void *into, const char *text, char fault[OPTION_FAULT])
{
	if (text[0] == 'x')
		strcpy(fault, "no x today");
	((struct arguments *)into)->first = text[0];
	return text[0] == 'a';
}

static const struct option_row rows[] = {
	{ "flag", NULL, "", OPTION_FLAG, OPTION_AT(struct arguments, flag) },
	{ "text", "TEXT", "", OPTION_TEXT, OPTION_AT(struct arguments, text) },
	{ "number", "N", "", OPTION_UINT, OPTION_AT(struct arguments, number), .min = 2, .max = 9 },
	{ "bytes", "MIB", "", OPTION_UINT64, OPTION_AT(struct arguments, bytes), .max = 5000,
	  .unit = 1 << 20 },
	{ "number-of-all", "N", "", OPTION_UINT, OPTION_AT(struct arguments, all), .max = 9 },
	{ "number-of-one", "N", "", OPTION_UINT, OPTION_AT(struct arguments, one), .max = 9 },
	{ "letter", "C", "", OPTION_CALL, .take = take_letter },
	{ "offset", "N", "", OPTION_UINT64, OPTION_AT(struct arguments, bytes), .max = UINT64_MAX },
	{ "help", NULL, "", OPTION_STOP, OPTION_AT(struct arguments, help) },
	{ 0 },
};

#define MAX_WORDS 6

static void test_values(void **state)
{
	char *argv[] = { "x", "--flag", "--text=t", "rest", "--number", "9", "--bytes=5000",
			 "--letter", "a", NULL };
	struct arguments a = { 0 };
	char fault[OPTION_FAULT];

	(void)state;
	assert_int_equal(option_read(rows, 9, argv, &a, fault), 8);
	assert_string_equal(argv[8], "rest");
	assert_true(a.flag);
	assert_string_equal(a.text, "t");
	assert_int_equal(a.number, 9);
	assert_int_equal(a.bytes, UINT64_C(5000) << 20);
	assert_int_equal(a.first, 'a');
	assert_false(a.help);
}

/*
 * An option may be abbreviated if only one option name begins with the abbreviation. A complete
 * name is never an abbreviation of a longer name.
 */
static void test_abbreviations(void **state)
{
	char *argv[] = { "x", "--number-of-o=1", "--number=3", "--number-of-a", "2", "--te=t", NULL };
	struct arguments a = { 0 };
	char fault[OPTION_FAULT];

	(void)state;
	assert_int_equal(option_read(rows, 6, argv, &a, fault), 6);
	assert_int_equal(a.number, 3);
	assert_int_equal(a.all, 2);
	assert_int_equal(a.one, 1);
	assert_string_equal(a.text, "t");
}

static void test_help_ends_it(void **state)
{
	char *words[] = { "--help", "-h" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		char *argv[] = { "x", words[i], "--number=1", "--none", NULL };
		struct arguments a = { 0 };
		char fault[OPTION_FAULT];

		assert_int_equal(option_read(rows, 4, argv, &a, fault), 4);
		assert_true(a.help);
		argv[2] = "--none";
		assert_int_equal(option_read(rows + 8, 3, argv, &a, fault), 3);
		assert_int_equal(option_read(rows + 9, 3, argv, &a, fault), -1);
	}
}

/*
 * Tests writing options as words, one word for an option. If the words do not fit into the buffer,
 * option_write() writes no word.
 */
static void test_words(void **state)
{
	const struct arguments a = { .flag = true, .text = "--t", .number = 9, .all = 1 };
	static const char expected[] = "--flag\0--text=--t\0--number=9\0--number-of-all=1\0"
				       "--number-of-one=0";
	struct option_row few[6];
	char text[sizeof(expected)], *words[6] = { NULL };

	(void)state;
	/* Copy all rows of the table except the row whose option has a unit. */
	memcpy(few, rows, 3 * sizeof(*few));
	memcpy(few + 3, rows + 4, 2 * sizeof(*few));
	few[5] = (struct option_row){ .kind = OPTION_END };
	assert_int_equal(option_write(few, &a, text, sizeof(text), words), 5);
	assert_memory_equal(text, expected, sizeof(text));
	assert_ptr_equal(words[1], text + strlen("--flag") + 1);
	assert_null(words[5]);
	assert_int_equal(option_write(few, &a, text, sizeof(text) - 1, words), -1);
	few[3] = (struct option_row){ .kind = OPTION_END };
	assert_int_equal(option_write(few, &(struct arguments){ .number = 2 }, text, sizeof(text),
				      words), 1);
	assert_string_equal(text, "--number=2");
}

#define ALL " (there are --flag, --text, --number, --bytes, --number-of-all, --number-of-one, --letter, --offset, --help)"

static void test_faults(void **state)
{
	static const struct {
		const char *words[MAX_WORDS];
		const char *fault;
	} cases[] = {
		{ { "--none" }, "wrong option --none" ALL },
		{ { "-f" }, "wrong option -f" ALL },
		{ { "--text" }, "--text needs a value" },
		{ { "--flag", "--number" }, "--number needs a value" },
		{ { "--flag=1" }, "--flag must not have a value" },
		{ { "--numb=3" }, "--numb is ambiguous: --number --number-of-all --number-of-one" },
		{ { "--number-of" }, "--number-of is ambiguous: --number-of-all --number-of-one" },
		{ { "--number-of", "3" },
		  "--number-of is ambiguous: --number-of-all --number-of-one" },
		{ { "--text=" }, "--text needs a value" },
		{ { "--number=1" }, "--number: '1' is not a number from 2 to 9" },
		{ { "--number", "10" }, "--number: '10' is not a number from 2 to 9" },
		{ { "--number=-3" }, "--number: '-3' is not a number from 2 to 9" },
		{ { "--number= 3" }, "--number: ' 3' is not a number from 2 to 9" },
		{ { "--number=3x" }, "--number: '3x' is not a number from 2 to 9" },
		{ { "--bytes=99999999999999999999" },
		  "--bytes: '99999999999999999999' is not a number from 0 to 5000" },
		{ { "--offset=a" }, "--offset: 'a' is not a number from 0" },
		{ { "--flag", "--letter=b" }, "--letter: wrong value 'b'" },
		{ { "--letter=x" }, "no x today" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[MAX_WORDS + 2] = { "x" };
		struct arguments a = { 0 };
		char fault[OPTION_FAULT];
		int argc = 1;

		while (argc <= MAX_WORDS && cases[i].words[argc - 1]) {
			argv[argc] = (char *)cases[i].words[argc - 1];
			argc++;
		}
		assert_int_equal(option_read(rows, argc, argv, &a, fault), -1);
		assert_string_equal(fault, cases[i].fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_abbreviations),
		cmocka_unit_test(test_help_ends_it),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
