/* SPDX-License-Identifier: MIT */
/*
 * Tests the log of libneuralnetworks. Depending on NNACCEL_LOG, a failing call writes one line with
 * the name of the function, the result and the fault.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <nnaccel/log.h>

#include "runtime_fixture.h"
#include "tests/heap_blocks.h"

/*
 * Calls calls() in a child process at a log level, and returns the child's output on stderr. Each
 * log level needs a new process, because a process reads NNACCEL_LOG only once.
 */
static const char *log_of(const char *level, void (*calls)(void))
{
	static char text[4096];
	int log = memfd_create("log", MFD_CLOEXEC), status;
	ssize_t length;
	pid_t child;

	assert_true(log >= 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (level)
			setenv("NNACCEL_LOG", level, 1);
		else
			unsetenv("NNACCEL_LOG");
		dup2(log, STDERR_FILENO);
		calls();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	length = pread(log, text, sizeof(text) - 1, 0);
	assert_true(length >= 0);
	text[length] = '\0';
	close(log);
	return text;
}

static void refused_operand(void)
{
	const ANeuralNetworksOperandType type = { ANEURALNETWORKS_INT32, 0, NULL, 1, 0 };
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	ANeuralNetworksModel_addOperand(model, &type);
	ANeuralNetworksModel_free(model);
}

static void oem_operation(void)
{
	const uint32_t one = 1, list[] = { 0, 1 };
	const ANeuralNetworksOperandType type = {
		ANEURALNETWORKS_TENSOR_OEM_BYTE, 1, &one, 0, 0,
	};
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (int i = 0; i < 2; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_OEM_OPERATION, 1, list,
						    1, &list[1]));
	ANeuralNetworksModel_free(model);
}

/* A deprecated operation still works, and the log names the operation that replaces it. */
static void test_deprecated(void **state)
{
	(void)state;
	assert_string_equal(log_of("warn", oem_operation),
			    "nnaccel: warn: OEM_OPERATION is deprecated: use an extension\n");
	assert_string_equal(log_of("error", oem_operation), "");
}

static void null_pointers(void)
{
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	ANeuralNetworksModel_addOperand(NULL, NULL);
	ANeuralNetworksModel_addOperand(model, NULL);
	ANeuralNetworksModel_getExtensionOperandType(model, "a.b", 0, NULL);
	ANeuralNetworksModel_free(model);
}

/* If a call has several NULL pointers, the log names the first NULL pointer. */
static void test_null_pointers(void **state)
{
	(void)state;
	assert_string_equal(log_of("error", null_pointers),
			    "nnaccel: error: ANeuralNetworksModel_addOperand: UNEXPECTED_NULL: "
			    "model is NULL\n"
			    "nnaccel: error: ANeuralNetworksModel_addOperand: UNEXPECTED_NULL: "
			    "type is NULL\n"
			    "nnaccel: error: ANeuralNetworksModel_getExtensionOperandType: "
			    "UNEXPECTED_NULL: type is NULL\n");
}

static const char *failing_call(const char *level)
{
	return log_of(level, refused_operand);
}

/* Compiles a model twice for all devices; the CPU is the only device. */
static void compile_twice(void)
{
	for (int i = 0; i < 2; i++) {
		ANeuralNetworksModel *model = add_model(2);

		ANeuralNetworksCompilation_free(compile(model, false));
		ANeuralNetworksModel_free(model);
	}
}

static void compile_by_name(void)
{
	ANeuralNetworksModel *model = add_model(2);

	ANeuralNetworksCompilation_free(compile(model, true));
	ANeuralNetworksModel_free(model);
}

/*
 * If the CPU computes although the program did not name the CPU, the log has the reason exactly
 * once.
 */
static void test_on_the_cpu(void **state)
{
	const char *note = "nnaccel: note: this program computes on the CPU: ", *text, *at;

	(void)state;
	if (!access("/dev/nnaccel", F_OK))
		skip();
	text = log_of(NULL, compile_twice);
	at = strstr(text, note);
	assert_non_null(at);
	assert_non_null(strstr(at, "/dev/nnaccel"));
	assert_null(strstr(at + 1, note));
	assert_string_equal(log_of("none", compile_twice), "");
	assert_string_equal(log_of(NULL, compile_by_name), "");
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
	/* An empty NNACCEL_LOG has the effect of an unset NNACCEL_LOG. */
	assert_true(failing_call("")[0]);
	assert_null(strstr(failing_call(""), "NNACCEL_LOG"));
}

/*
 * The library logs an invalid level of NNACCEL_LOG once, together with the valid levels, and uses
 * the default level.
 */
static void test_unknown_level(void **state)
{
	const char *said = "nnaccel: error: NNACCEL_LOG: no level is named \"debug\" "
			   "(none, note, error, warn, info): error is used\n";
	const char *text = log_of("debug", compile_twice);

	(void)state;
	assert_int_equal(strncmp(text, said, strlen(said)), 0);
	assert_null(strstr(text + strlen(said), "NNACCEL_LOG"));
	assert_non_null(strstr(failing_call("debug"), "INT32 has no scale"));
}

/* A log function that appends each line to a text. */
static void take_line(void *context, enum nna_log_level level, const char *line)
{
	char *text = context;

	sprintf(text + strlen(text), "%s|%s\n", nna_log_level_name(level), line);
}

static void refused_twice(void)
{
	static char text[4096];

	refused_operand();
	nna_log_set(take_line, text, NNA_LOG_NONE);
	refused_operand();
	nna_log_set(take_line, text, NNA_LOG_ERROR);
	refused_operand();
	nna_log(NNA_LOG_WARN, "not wanted");
	nna_log_set(NULL, NULL, NNA_LOG_WARN);
	nna_log(NNA_LOG_WARN, "from the function: %s", text);
}

static void test_function(void **state)
{
	const char *text = log_of(NULL, refused_twice), *own = strstr(text, "from the function: ");

	(void)state;
	assert_ptr_equal(text, strstr(text, "nnaccel: error: ANeuralNetworksModel_addOperand"));
	assert_non_null(own);
	assert_ptr_equal(own - 15, strchr(text, '\n') + 1);
	assert_ptr_equal(strstr(own, "error|ANeuralNetworksModel_addOperand"), own + 19);
	assert_null(strstr(text, "not wanted"));
	assert_null(strstr(own + 25, "error|"));
}

/* At each log level, a failing call stores its error message in the caller's buffer for errors. */
static void kept_errors(void)
{
	char kept[24] = "before", whole[256];

	nna_log_keep_error(kept, sizeof(kept));
	nna_log(NNA_LOG_NOTE, "kept: %s.", kept);
	refused_operand();
	nna_log_keep_error(whole, sizeof(whole));
	refused_operand();
	nna_log_set(NULL, NULL, NNA_LOG_NONE);
	refused_operand();
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	nna_log_keep_error(NULL, 0);
	nna_log(NNA_LOG_NOTE, "kept: %s.", kept);
	refused_operand();
	nna_log(NNA_LOG_ERROR, "%s", whole);
}

static void test_kept(void **state)
{
	char text[4096], *line, *rest = text;
	const char *expected[] = {
		"nnaccel: note: kept: .", "nnaccel: note: kept: ANeuralNetworksModel_ad.",
		"nnaccel: error: ANeuralNetworksModel_addOperand: ", "nnaccel: error: ANeuralNetworksModel_addOperand: ",
	};

	(void)state;
	snprintf(text, sizeof(text), "%s", log_of(NULL, kept_errors));
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		line = strsep(&rest, "\n");
		assert_non_null(line);
		assert_int_equal(strncmp(line, expected[i], strlen(expected[i])), 0);
	}
	assert_string_equal(rest, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_line),
		heap_unit_test(test_levels),
		heap_unit_test(test_unknown_level),
		heap_unit_test(test_function),
		heap_unit_test(test_kept),
		heap_unit_test(test_deprecated),
		heap_unit_test(test_null_pointers),
		heap_unit_test(test_on_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
