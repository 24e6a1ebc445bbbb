/* SPDX-License-Identifier: MIT */
/*
 * Tests that a worker's log reaches the broker's log as lines whose length, number and characters
 * are limited.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kit/api/log.h"


static int from_worker[2], to_log[2], real_stderr;
static struct log_relay relay;

/* Replaces stderr by a pipe that the test reads. */
static int begin(void **state)
{
	(void)state;
	if (pipe2(from_worker, O_NONBLOCK) || pipe2(to_log, O_NONBLOCK))
		return -1;
	real_stderr = dup(STDERR_FILENO);
	dup2(to_log[1], STDERR_FILENO);
	relay = (struct log_relay){ .fd = from_worker[0] };
	log_set_level(LOG_INFO);
	return 0;
}

static int end(void **state)
{
	(void)state;
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(from_worker[0]);
	close(to_log[0]);
	close(to_log[1]);
	return close(from_worker[1]) && 0;
}

static void say(const char *text, size_t size)
{
	assert_int_equal(write(from_worker[1], text, size), size);
}

/* Returns what was written to stderr since the last call of heard(). */
static const char *heard(uint64_t now_ns)
{
	static char text[65536];
	ssize_t n;

	assert_true(log_relay_read(&relay, "worker 7", now_ns));
	n = read(to_log[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_levels(void **state)
{
	static const char lines[] = "<0>broken\n<1>odd\n<2>fine\n<3>detail\nlast words\n<9>x\n";

	(void)state;
	say(lines, strlen(lines));
	assert_string_equal(heard(0), "nnacceld: error: worker 7: broken\n"
				      "nnacceld: warning: worker 7: odd\n"
				      "nnacceld: worker 7: fine\n"
				      "nnacceld: warning: worker 7: last words\n"
				      "nnacceld: warning: worker 7: <9>x\n");
}

static void test_lines_in_pieces(void **state)
{
	(void)state;
	say("<2>one", 6);
	assert_string_equal(heard(0), "");
	say(" line\n", 6);
	assert_string_equal(heard(0), "nnacceld: worker 7: one line\n");
}

static void test_harmless(void **state)
{
	(void)state;
	say("<2>a\033[2J\0b\r\xff\n", 13);
	assert_string_equal(heard(0), "nnacceld: worker 7: a?[2J?b??\n");
}

static void test_long_line_is_cut(void **state)
{
	char line[2 * LOG_RELAY_LINE];
	const char *out;

	(void)state;
	memset(line, 'x', sizeof(line));
	say(line, sizeof(line));
	out = heard(0);
	assert_non_null(strchr(out, '\n'));
	assert_true((size_t)(strchr(out, '\n') - out) < LOG_RELAY_LINE + 64);
}

static void test_flood_is_dropped(void **state)
{
	int lines = 0;

	(void)state;
	for (int i = 0; i < 500; i++)
		say("<2>x\n", 5);
	for (const char *at = heard(0); (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 51);
	say("<2>later\n", 9);
	assert_string_equal(heard(9 * NS_PER_S), "");
	say("<2>later\n", 9);
	assert_string_equal(heard(10 * NS_PER_S), "nnacceld: worker 7: later\n");
}

static void test_end_of_pipe(void **state)
{
	char text[64];

	(void)state;
	say("<2>unfinished", 13);
	close(from_worker[1]);
	assert_false(log_relay_read(&relay, "worker 7", 0));
	memset(text, 0, sizeof(text));
	assert_true(read(to_log[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "nnacceld: worker 7: unfinished\n");
	from_worker[1] = dup(to_log[1]);
}

/* Returns what this process has written to the log since the last call of own_lines(). */
static const char *own_lines(void)
{
	static char text[4096];
	ssize_t n = read(to_log[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void log_each(void)
{
	log_error("a %d", 1);
	log_warning("b");
	log_info("c");
	log_debug("d");
}

static void test_own_lines(void **state)
{
	enum log_level level = LOG_ERROR;
	char name[100];

	(void)state;
	log_set_name("kit");
	log_each();
	assert_string_equal(own_lines(), "kit: error: a 1\nkit: warning: b\nkit: c\n");
	assert_true(log_parse_level("debug", &level));
	log_set_level(level);
	log_each();
	assert_string_equal(own_lines(), "kit: error: a 1\nkit: warning: b\nkit: c\nkit: d\n");
	assert_true(log_parse_level("error", &level));
	log_set_level(level);
	log_each();
	assert_string_equal(own_lines(), "kit: error: a 1\n");
	assert_false(log_parse_level("", &level));
	assert_false(log_parse_level("errors", &level));
	/*
	 * A process name that is too long is truncated, and a log line that is too long is
	 * truncated.
	 */
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	log_set_name(name);
	log_error("%s", "");
	assert_int_equal(strlen(own_lines()), 64 + strlen(": error: \n"));
	log_error("%02000d", 0);
	assert_int_equal(strlen(own_lines()), 1023);
	log_set_name("nnacceld");
}

static unsigned int sunk;

static void sink(void *data, enum log_level level, const char *line)
{
	assert_ptr_equal(data, &sunk);
	assert_string_equal(line, level == LOG_ERROR ? "a 1" : level == LOG_WARNING ? "b" : "c");
	sunk++;
}

/*
 * A log function of the engine gets lines without the process's name. A process whose log is
 * relayed to a broker writes the level in front of each line.
 */
static void test_elsewhere(void **state)
{
	(void)state;
	log_set_sink(sink, &sunk);
	log_each();
	assert_int_equal(sunk, 3);
	assert_string_equal(own_lines(), "");
	log_to_relay();
	log_each();
	assert_int_equal(sunk, 3);
	assert_string_equal(own_lines(), "<0>a 1\n<1>b\n<2>c\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_levels, begin, end),
		cmocka_unit_test_setup_teardown(test_lines_in_pieces, begin, end),
		cmocka_unit_test_setup_teardown(test_harmless, begin, end),
		cmocka_unit_test_setup_teardown(test_long_line_is_cut, begin, end),
		cmocka_unit_test_setup_teardown(test_flood_is_dropped, begin, end),
		cmocka_unit_test_setup_teardown(test_end_of_pipe, begin, end),
		cmocka_unit_test_setup_teardown(test_own_lines, begin, end),
		/* test_elsewhere() is the last test, because no function undoes log_to_relay(). */
		cmocka_unit_test_setup_teardown(test_elsewhere, begin, end),
	};

	return cmocka_run_group_tests_name("engine log", tests, NULL, NULL);
}
