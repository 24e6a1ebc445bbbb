/* SPDX-License-Identifier: MIT */
/*
 * The log: a failing call writes one line, which names the function, its result
 * and what was wrong; NNACCEL_LOG decides whether it does.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "runtime_fixture.h"

/* What a call that fails writes to stderr at a level. */
static const char *failing_call(const char *level)
{
	const ANeuralNetworksOperandType type = { ANEURALNETWORKS_INT32, 0, NULL, 1, 0 };
	static char text[1024];
	ANeuralNetworksModel *model;
	int log = memfd_create("log", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	ssize_t length;

	assert_true(log >= 0 && kept >= 0);
	if (level)
		setenv("NNACCEL_LOG", level, 1);
	else
		unsetenv("NNACCEL_LOG");
	assert_ok(ANeuralNetworksModel_create(&model));
	dup2(log, STDERR_FILENO);
	ANeuralNetworksModel_addOperand(model, &type);
	dup2(kept, STDERR_FILENO);
	ANeuralNetworksModel_free(model);
	length = pread(log, text, sizeof(text) - 1, 0);
	assert_true(length >= 0);
	text[length] = '\0';
	close(log);
	close(kept);
	return text;
}

static void test_line(void **state)
{
	const char *text = failing_call("error");

	(void)state;
	assert_non_null(strstr(text, "ANeuralNetworksModel_addOperand"));
	assert_non_null(strstr(text, "BAD_DATA"));
	assert_non_null(strstr(text, "operand 0"));
	assert_non_null(strstr(text, "INT32 has no scale"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_levels(void **state)
{
	(void)state;
	assert_string_equal(failing_call("none"), "");
	assert_true(failing_call(NULL)[0]);
	assert_true(failing_call("warn")[0]);
	assert_true(failing_call("info")[0]);
	/* What is no level counts as the default. */
	assert_true(failing_call("loud")[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
