/* SPDX-License-Identifier: MIT */
/* Tests how the tools print untrusted text on terminals and in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/tool.h"

/* What tool_json_string() prints. */
static const char *json(const char *text)
{
	static char out[256];
	int saved, ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(ends[1], STDOUT_FILENO);
	tool_json_string(text);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(ends[1]);
	n = read(ends[0], out, sizeof(out) - 1);
	close(ends[0]);
	out[n > 0 ? n : 0] = '\0';
	return out;
}

static const char *plain(const char *text)
{
	static char out[256];

	snprintf(out, sizeof(out), "%s", text);
	tool_make_plain(out);
	return out;
}

static void test_json(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{ "", "\"\"" },
		{ "a \"b\" \\", "\"a \\\"b\\\" \\\\\"" },
		{ "\n\x1b[2J\x7f", "\"\\u000a\\u001b[2J\\u007f\"" },
		{ "Gr\xc3\xbc\xc3\x9f", "\"Gr\xc3\xbc\xc3\x9f\"" },
		{ "\xe2\x82\xac \xf0\x9f\x98\x80", "\"\xe2\x82\xac \xf0\x9f\x98\x80\"" },
		/*
		 * Invalid UTF-8: a truncated character, a lone byte, an overlong form, a surrogate,
		 * and a number beyond the last character.
		 */
		{ "x\xc3", "\"x\\ufffd\"" },
		{ "\xe2\x82", "\"\\ufffd\\ufffd\"" },
		{ "\x80y", "\"\\ufffdy\"" },
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"" },
		{ "\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xff", "\"\\ufffd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(json(cases[i].text), cases[i].json);
}

static void test_plain(void **state)
{
	static const struct {
		const char *text, *plain;
	} cases[] = {
		{ "", "" },
		{ "kworker/0:1", "kworker/0:1" },
		{ "\x1b[2J\x1b]0;x\x07", "?[2J?]0;x?" },
		{ "a\nb\rc\td\x7f", "a?b?c?d?" },
		{ "Gr\xc3\xbc\xc3\x9f", "Gr\xc3\xbc\xc3\x9f" },
		{ "\xc2\x9b" "2J", "?2J" },		/* the control character U+009B */
		{ "\x9b" "2J", "?2J" },
		{ "a\xe2\x80\xae" "b", "a?b" },	/* U+202E reverses the direction of text */
		{ "a\xe2\x80\xa8" "b", "a?b" },	/* begins a line */
		{ "\xc3", "?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(plain(cases[i].text), cases[i].plain);
}

static const char *utf8(uint32_t code)
{
	static char text[5];
	int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (int i = length - 1; i > 0; i--, code >>= 6)
		text[i] = (char)(0x80 | (code & 0x3f));
	text[0] = (char)(length == 1 ? code : (0xf00u >> length & 0xff) | code);
	text[length] = '\0';
	return text;
}

/* Ranges of characters that control a terminal, end a line or reverse the direction of writing. */
static void test_ranges(void **state)
{
	static const struct {
		uint32_t first, last;
	} bad[] = {
		{ 1, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x2028, 0x202e },
		{ 0x2066, 0x2069 }, { 0xfeff, 0xfeff },
	};
	static const uint32_t good[] = { 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (uint32_t code = bad[i].first; code <= bad[i].last; code++)
			assert_string_equal(plain(utf8(code)), "?");
		assert_string_equal(plain(utf8(bad[i].first - 1)), utf8(bad[i].first - 1));
		assert_string_equal(plain(utf8(bad[i].last + 1)), utf8(bad[i].last + 1));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_string_equal(plain(utf8(good[i])), utf8(good[i]));
	assert_string_equal(plain(utf8(0xd800)), "???");
	assert_string_equal(plain(utf8(0xdfff)), "???");
	assert_string_equal(plain(utf8(0x110000)), "????");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests_name("tools text", tests, NULL, NULL);
}
