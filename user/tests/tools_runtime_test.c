/* SPDX-License-Identifier: MIT */
/*
 * Tests how the tools choose an inference runtime by a model file's first bytes, generate inputs,
 * load libraries, and filter standard error. The test program imitates both runtimes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/option.h"
#include "open_files.h"
#include "ops/float16.h"
#include "tools/runtime/runtime.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ELEMENTS 4096

/* ---- the runtimes ---- */

static struct runtime opened;
static unsigned int closed;
static bool is_refused;
static struct runtime_tensor inputs[2];

static struct runtime *play_open(const char *model, const struct runtime_options *options,
				 char error[RUNTIME_ERROR])
{
	(void)model;
	(void)options;
	(void)error;
	return is_refused ? NULL : &opened;
}

static void play_close(struct runtime *runtime)
{
	closed += runtime == &opened;
}

static unsigned int count_inputs(const struct runtime *runtime)
{
	(void)runtime;
	return COUNT(inputs);
}

static bool input(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor)
{
	(void)runtime;
	*tensor = inputs[number];
	return tensor->data;
}

const struct runtime_kind runtime_onnxruntime = { .open = play_open, .close = play_close,
						  .count_inputs = count_inputs, .input = input };
const struct runtime_kind runtime_tflite = { .open = play_open, .close = play_close };

/* ---- tests ---- */

static void test_kinds(void **state)
{
	static const struct {
		const char *text;
		const struct runtime_kind *kind;
	} files[] = {
		{ "....TFL3....", &runtime_tflite },
		{ "....TFL3", &runtime_tflite },
		{ "....ORTM", &runtime_onnxruntime },
		{ "\x08", &runtime_onnxruntime },
		{ "\x12\x07" "pytorch", &runtime_onnxruntime },
		{ ":\x05graph", &runtime_onnxruntime },
		{ "....TFL", NULL },
		{ "TFL3TFL4", NULL },
		{ "\x7f" "ELF\x02\x01", NULL },
		{ "PK\x03\x04", NULL },
		{ "root:x:0", NULL },
		{ "", NULL },
	};
	const int open_files = count_files();
	char error[RUNTIME_ERROR] = "", expected[64], path[32];
	int model;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		int fd = memfd_create("model", MFD_CLOEXEC);

		dprintf(fd, "%s", files[i].text);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		opened.kind = NULL;
		assert_ptr_equal(runtime_open(path, NULL, error), files[i].kind ? &opened : NULL);
		assert_ptr_equal(opened.kind, files[i].kind);
		if (!files[i].kind && files[i].text[0])
			assert_non_null(strstr(error, "is not a model of ONNX (.onnx, .ort) or TensorFlow Lite (.tflite)"));
		close(fd);
	}
	snprintf(expected, sizeof(expected), "%s: the file is empty", path);
	assert_string_equal(error, expected);
	assert_null(runtime_open("/nonexistent", NULL, error));
	assert_string_equal(error, "/nonexistent: No such file or directory");
	assert_null(runtime_open("/", NULL, error));
	assert_string_equal(error, "/: Is a directory");
	is_refused = true;
	model = memfd_create("model", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", model);
	assert_int_equal(write(model, "\x08\x07", 2), 2);
	assert_null(runtime_open(path, NULL, error));
	is_refused = false;
	runtime_close(runtime_open(path, NULL, error));
	close(model);
	assert_int_equal(closed, 1);
	runtime_close(NULL);
	assert_int_equal(closed, 1);
	assert_int_equal(count_files(), open_files);
}

static double value_at(const struct runtime_tensor *t, size_t i)
{
	switch (t->type) {
	case RUNTIME_FLOAT32:
		return ((const float *)t->data)[i];
	case RUNTIME_FLOAT16:
		return nn_fp16_to_float(((const uint16_t *)t->data)[i]);
	case RUNTIME_INT8:
		return ((const int8_t *)t->data)[i];
	case RUNTIME_INT32:
		return ((const int32_t *)t->data)[i];
	case RUNTIME_INT64:
		return (double)((const int64_t *)t->data)[i];
	default:
		return ((const uint8_t *)t->data)[i];
	}
}

/*
 * Generated inputs depend on the seed, and cover the whole range of the input's type. The generator
 * must not write beyond the tensor's memory.
 */
static void test_fill(void **state)
{
	static const struct {
		enum runtime_type type;
		size_t size;
		double least, most, mean;
	} types[] = {
		{ RUNTIME_FLOAT32, 4, 0, 1, 0.5 }, { RUNTIME_FLOAT16, 2, 0.5, 1, 0.75 },
		{ RUNTIME_UINT8, 1, 0, 255, 127.5 }, { RUNTIME_INT8, 1, -128, 127, -0.5 },
		{ RUNTIME_INT32, 4, 0, 1, 0.5 }, { RUNTIME_INT64, 8, 0, 1, 0.5 }, { RUNTIME_BOOL, 1, 0, 1, 0.5 },
	};
	static uint64_t first[ELEMENTS + 1], data[ELEMENTS + 1], other[1];
	char error[RUNTIME_ERROR];

	(void)state;
	opened.kind = &runtime_onnxruntime;
	for (size_t i = 0; i < COUNT(types); i++) {
		const double range = types[i].most - types[i].least;
		double least = types[i].most, most = types[i].least, mean = 0;
		const size_t bytes = ELEMENTS * types[i].size;

		assert_int_equal(runtime_size(types[i].type), types[i].size);
		inputs[0] = (struct runtime_tensor){ RUNTIME_BOOL, sizeof(other), other };
		inputs[1] = (struct runtime_tensor){ types[i].type, bytes, data };
		memset(data, 0x5a, sizeof(data));
		assert_true(runtime_fill(&opened, 7, error));
		memcpy(first, data, sizeof(data));
		assert_int_equal(((uint8_t *)data)[bytes], 0x5a);
		for (size_t k = 0; k < ELEMENTS; k++) {
			double value = value_at(&inputs[1], k);

			least = value < least ? value : least;
			most = value > most ? value : most;
			mean += value / ELEMENTS;
		}
		assert_true(least >= types[i].least && least < types[i].least + range / 100);
		assert_true(most <= types[i].most && most > types[i].most - range / 100);
		assert_true(mean > types[i].mean - range / 30 && mean < types[i].mean + range / 30);
		assert_true(runtime_fill(&opened, 8, error));
		assert_memory_not_equal(first, data, bytes);
		assert_true(runtime_fill(&opened, 7, error));
		assert_memory_equal(first, data, sizeof(data));
	}
	inputs[1].type = RUNTIME_OTHER;
	assert_int_equal(runtime_size(RUNTIME_OTHER), 0);
	assert_false(runtime_fill(&opened, 7, error));
	assert_string_equal(error, "no numbers can be generated for the type of input 1");
	inputs[0].data = NULL;
	assert_false(runtime_fill(&opened, 7, error));
	assert_string_equal(error, "no numbers can be generated for the type of input 0");
}

static void test_libraries(void **state)
{
	static const char *const none[] = { "/nonexistent.so", NULL };
	static const char *const some[] = { "/nonexistent.so", "libm.so.6", "/also-not.so", NULL };
	char error[RUNTIME_ERROR] = "", path[RUNTIME_PATH];
	void *library = runtime_load(NULL, some, "package", error);

	(void)state;
	assert_non_null(dlsym(library, "cos"));
	dlclose(library);
	library = runtime_load("libm.so.6", none, "package", error);
	assert_non_null(dlsym(library, "cos"));
	dlclose(library);
	assert_string_equal(error, "");
	assert_null(runtime_load("/wanted.so", some, "package", error));
	assert_int_equal(strncmp(error, "/wanted.so: ", 12), 0);
	assert_null(runtime_load(NULL, none, "package", error));
	assert_string_equal(error, "the model's runtime was not found: install package, or name its "
			    "library by --runtime");
	assert_true(runtime_plugin("libneuralnetworks.so", path, error));
	assert_string_equal(strrchr(path, '/'), "/libneuralnetworks.so");
	assert_int_equal(access(path, R_OK), 0);
	assert_false(runtime_plugin("nothing.so", path, error));
	assert_non_null(strstr(error, "/nothing.so: install libnnaccel-plugins"));
}

static void test_shapes(void **state)
{
	static const char *const wrong[] = {
		"x", "=1", "x=", "x=1,", "x=,1", "x=1,,2", "x=0", "x=-1", "x=1,2147483648", "x=1 ", "x=a", "x=99999999999999999",
		"x=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
	};
	static const char *const names[] = { "x", "a=b", "state:0" };
	static struct runtime_shapes shapes;
	char fault[OPTION_FAULT], error[RUNTIME_ERROR];
	const struct runtime_shape *shape;

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		assert_false(runtime_take_shape(&shapes, wrong[i], fault));
		assert_non_null(strstr(fault, "is not an input's name and up to 16 dimensions, as x=1,3,224,224"));
	}
	assert_int_equal(shapes.count, 0);
	assert_null(runtime_shape_of(&shapes, "x"));
	assert_null(runtime_shape_of(NULL, "x"));
	assert_true(runtime_take_shape(&shapes, "x=1,2147483647", fault));
	assert_true(runtime_take_shape(&shapes, "a=b=7,1,1,1,1,1,1,1,1,1,1,1,1,1,1,9", fault));
	assert_true(runtime_take_shape(&shapes, "stat=5", fault));
	shape = runtime_shape_of(&shapes, "x");
	assert_int_equal(shape->rank, 2);
	assert_int_equal(shape->dims[1], INT_MAX);
	assert_int_equal(runtime_input_of(shape, names, 3, error), 0);
	shape = runtime_shape_of(&shapes, "a=b");
	assert_int_equal(shape->rank, 16);
	assert_int_equal(shape->dims[0], 7);
	assert_int_equal(shape->dims[15], 9);
	assert_int_equal(runtime_input_of(shape, names, 3, error), 1);
	assert_int_equal(runtime_input_of(shape, names, 1, error), -1);
	assert_string_equal(error, "the model has no input a=b, only x");
	assert_null(runtime_shape_of(&shapes, "a"));
	assert_null(runtime_shape_of(&shapes, "state:0"));
	assert_int_equal(runtime_input_of(runtime_shape_of(&shapes, "stat"), names, 3, error), -1);
	assert_string_equal(error, "the model has no input stat, only x a=b state:0");
	/* The last of several shapes of an input counts. */
	while (shapes.count < RUNTIME_SHAPES)
		assert_true(runtime_take_shape(&shapes, "x=3", fault));
	assert_int_equal(runtime_shape_of(&shapes, "x")->rank, 1);
	assert_false(runtime_take_shape(&shapes, "x=3", fault));
	assert_string_equal(fault, "--shape: there may be 32 at most");
}

/* Makes fdopen() fail. */
static bool no_stream;

FILE *fdopen(int fd, const char *mode)
{
	FILE *(*next)(int, const char *);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	return no_stream ? NULL : next(fd, mode);
}

/* Returns the lines that reach standard error if the process can open only `files` more files. */
static const char *caught(unsigned int files)
{
	static const char lines[] = "first\nAPI: not wanted\n\nAPI\nlast\n";
	static char text[128];
	int saved = dup(STDERR_FILENO), all = memfd_create("errors", MFD_CLOEXEC), next = dup(all);
	struct runtime_caught c;
	struct rlimit limit, usual;
	ssize_t size;

	close(next);
	getrlimit(RLIMIT_NOFILE, &usual);
	limit = usual;
	limit.rlim_cur = (rlim_t)next + files;
	dup2(all, STDERR_FILENO);
	setrlimit(RLIMIT_NOFILE, &limit);
	runtime_catch(&c);
	setrlimit(RLIMIT_NOFILE, &usual);
	fputs(lines, stderr);
	assert_int_equal(lseek(all, 0, SEEK_CUR), files == 2 ? 0 : strlen(lines));
	runtime_release(&c, "API:");
	dup2(saved, STDERR_FILENO);
	size = pread(all, text, sizeof(text) - 1, 0);
	text[size] = '\0';
	close(saved);
	close(all);
	return text;
}

static void test_standard_error(void **state)
{
	const int open_files = count_files();

	(void)state;
	assert_string_equal(caught(2), "first\nAPI\nlast\n");
	/*
	 * If the tool cannot open the files that it needs for filtering, it removes no lines from
	 * standard error.
	 */
	for (unsigned int files = 0; files < 2; files++)
		assert_string_equal(caught(files), "first\nAPI: not wanted\n\nAPI\nlast\n");
	no_stream = true;
	assert_string_equal(caught(2), "");
	no_stream = false;
	assert_int_equal(count_files(), open_files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_standard_error),
	};

	return cmocka_run_group_tests_name("tools runtime", tests, NULL, NULL);
}
