/* SPDX-License-Identifier: MIT */
/*
 * Tests the output of NNACCEL_PLAN_DUMP for a small network.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "model_samples.h"
#include "ops/op.h"
#include "plan/plan.h"

/* Names of the compiler's passes, in the order in which the passes run. */
static const char *const passes[] = {
	"model", "nhwc", "constants", "shapes", "fold", "fuse", "places", "alias", "kernels",
	"layout",
};

#define NUM_PASSES (sizeof(passes) / sizeof(passes[0]))

static struct model_builder built;

/*
 * Builds a model with PAD, a CONV_2D of 3 by 3 and RELU on an NCHW image. The weights of the
 * CONV_2D are a product of constants.
 */
static void build(void)
{
	static const int32_t paddings[] = { 0, 0, 0, 0, 1, 1, 1, 1 };
	static const uint8_t nchw = 1;
	static const float weights[8 * 3 * 3 * 2], bias[8], two[] = { 2 };
	uint32_t x, padded, scale, half, w, b, convolved, y, one, zero, flag;

	mb_init(&built);
	one = mb_int32(&built, 1);
	zero = mb_int32(&built, 0);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 2, 8, 8));
	half = mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights),
			   MB_DIMS(8, 3, 3, 2));
	scale = mb_constant(&built, NN_TENSOR_FLOAT32, two, sizeof(two), MB_DIMS(1));
	w = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(8, 3, 3, 2));
	mb_operation(&built, NN_OP_MUL, MB_LIST(half, scale, zero), MB_LIST(w));
	b = mb_constant(&built, NN_TENSOR_FLOAT32, bias, sizeof(bias), MB_DIMS(8));
	padded = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, 2, 10, 10));
	mb_operation(&built, NN_OP_PAD, MB_LIST(x, mb_constant(&built, NN_TENSOR_INT32, paddings,
							   sizeof(paddings), MB_DIMS(4, 2))),
		     MB_LIST(padded));
	convolved = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, 8, 8, 8));
	flag = mb_constant(&built, NN_BOOL, &nchw, sizeof(nchw), MB_NONE);
	mb_operation(&built, NN_OP_CONV_2D, MB_LIST(padded, w, b, zero, zero, zero, zero, one, one,
						    zero, flag), MB_LIST(convolved));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 8, 8, 8));
	mb_operation(&built, NN_OP_RELU, MB_LIST(convolved), MB_LIST(y));
}

/*
 * Prepares the network. Returns the plan's dump, which is caught from standard error; the caller
 * frees the text.
 */
static char *dump(const char *format)
{
	static const struct nn_plan_options options;
	char *text = calloc(1, 65536);
	int before = dup(STDERR_FILENO), file = memfd_create("dump", MFD_CLOEXEC);
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;
	enum nn_status status;

	assert_non_null(text);
	assert_true(before >= 0 && file >= 0);
	build();
	assert_int_equal(nn_model_check(&built.model, &err), NN_OK);
	if (format)
		setenv("NNACCEL_PLAN_DUMP", format, 1);
	fflush(stderr);
	dup2(file, STDERR_FILENO);
	status = nn_plan_create(&built.model, &options, &plan, &err);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	unsetenv("NNACCEL_PLAN_DUMP");
	assert_int_equal(status, NN_OK);
	nn_plan_free(plan);
	assert_true(pread(file, text, 65535, 0) >= 0);
	close(file);
	close(before);
	return text;
}

/* Returns the lines of one pass within `text`, and ends these lines with a null byte. */
static char *lines_of(char *text, const char *pass)
{
	char head[64], *begin, *end;

	snprintf(head, sizeof(head), "plan: after %s: ", pass);
	begin = strstr(text, head);
	if (!begin)
		fail_msg("no pass %s in:\n%s", pass, text);
	end = strstr(begin + 1, "plan: after ");
	return strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

static void assert_shows(char *text, const char *pass, const char *what)
{
	char *lines = lines_of(text, pass);

	if (!strstr(lines, what))
		fail_msg("no \"%s\" in:\n%s", what, lines);
	free(lines);
}

static void assert_hides(char *text, const char *pass, const char *what)
{
	char *lines = lines_of(text, pass);

	if (strstr(lines, what))
		fail_msg("\"%s\" in:\n%s", what, lines);
	free(lines);
}

static void test_text(void **state)
{
	char *text = dump("text"), *at = text;

	(void)state;
	for (size_t i = 0; i < NUM_PASSES; i++) {
		char head[64];

		snprintf(head, sizeof(head), "plan: after %s: ", passes[i]);
		at = strstr(at, head);
		assert_non_null(at);
	}
	assert_shows(text, "model", "4 operations");
	assert_hides(text, "model", "TRANSPOSE");
	assert_shows(text, "nhwc", "TRANSPOSE");
	assert_shows(text, "nhwc", "FLOAT32[1,8,8,8]");
	assert_hides(text, "shapes", "MUL");
	assert_shows(text, "fold", "+ PAD 1,1,1,1");
	assert_shows(text, "fuse", "+ RELU");
	assert_hides(text, "fuse", "PAD FLOAT32");
	assert_shows(text, "places", "input0+0");
	assert_shows(text, "kernels", "kernel ");
	assert_shows(text, "layout", "an arena of ");
	free(text);
}

static void test_dot(void **state)
{
	char *text = dump("dot"), *at = text;
	size_t graphs = 0;

	(void)state;
	while ((at = strstr(at, "digraph \"after "))) {
		graphs++;
		at++;
	}
	assert_int_equal(graphs, NUM_PASSES);
	assert_non_null(strstr(text, "[label=\"CONV_2D\\nFLOAT32[1,8,8,8]"));
	assert_non_null(strstr(text, " -> n0;"));
	free(text);
}

/*
 * The expected lines of some passes in a dump. The test does not compare numbers of packed bytes,
 * because these numbers depend on the machine.
 */
static const struct {
	const char *format;
	const char *pass;
	const char *lines;
} shown[] = {
	{ "text", "model",
	  "plan: after model: 4 operations\n"
	  "   0 MUL %5 FLOAT32[8,3,3,2] <- %3 FLOAT32[8,3,3,2] %4 FLOAT32[1]\n"
	  "   1 PAD %7 FLOAT32[1,2,10,10] <- %2 FLOAT32[1,2,8,8] %8 INT32[4,2]\n"
	  "   2 CONV_2D %9 FLOAT32[1,8,8,8] <- %7 FLOAT32[1,2,10,10] %5 "
	  "FLOAT32[8,3,3,2] %6 FLOAT32[8]\n"
	  "   3 RELU %11 FLOAT32[1,8,8,8] <- %9 FLOAT32[1,8,8,8]\n" },
	{ "text", "nhwc",
	  "plan: after nhwc: 6 operations\n"
	  "   0 MUL %5 FLOAT32[8,3,3,2] <- %3 FLOAT32[8,3,3,2] %4 FLOAT32[1]\n"
	  "   1 TRANSPOSE %12 FLOAT32[1,8,8,2] <- %2 FLOAT32[1,2,8,8] %13 INT32[4]\n"
	  "   2 PAD %14 FLOAT32[1,10,10,2] <- %12 FLOAT32[1,8,8,2] %15 INT32[4,2]\n"
	  "   3 CONV_2D %16 FLOAT32[1,8,8,8] <- %14 FLOAT32[1,10,10,2] %5 "
	  "FLOAT32[8,3,3,2] %6 FLOAT32[8]\n"
	  "   4 RELU %18 FLOAT32[1,8,8,8] <- %16 FLOAT32[1,8,8,8]\n"
	  "   5 TRANSPOSE %11 FLOAT32[1,8,8,8] <- %18 FLOAT32[1,8,8,8] %19 INT32[4]\n" },
	{ "text", "fold",
	  "plan: after fold: 5 steps\n"
	  "   0 TRANSPOSE %12 FLOAT32[1,8,8,2] <- %2 FLOAT32[1,2,8,8] %13 INT32[4]\n"
	  "   1 PAD %14 FLOAT32[1,10,10,2] <- %12 FLOAT32[1,8,8,2] %15 INT32[4,2]; gone\n"
	  "   2 CONV_2D %16 FLOAT32[1,8,8,8] <- %12 FLOAT32[1,8,8,2] %5 "
	  "FLOAT32[8,3,3,2] %6 FLOAT32[8]; + PAD 1,1,1,1\n"
	  "   3 RELU %18 FLOAT32[1,8,8,8] <- %16 FLOAT32[1,8,8,8]\n"
	  "   4 TRANSPOSE %11 FLOAT32[1,8,8,8] <- %18 FLOAT32[1,8,8,8] %19 INT32[4]\n" },
	{ "text", "fuse",
	  "plan: after fuse: 3 steps\n"
	  "   0 TRANSPOSE %12 FLOAT32[1,8,8,2] <- %2 FLOAT32[1,2,8,8] %13 INT32[4]\n"
	  "   1 CONV_2D %18 FLOAT32[1,8,8,8] <- %12 FLOAT32[1,8,8,2] %5 "
	  "FLOAT32[8,3,3,2] %6 FLOAT32[8]; + RELU; + PAD 1,1,1,1\n"
	  "   2 TRANSPOSE %11 FLOAT32[1,8,8,8] <- %18 FLOAT32[1,8,8,8] %19 INT32[4]\n" },
	{ "text", "places",
	  "plan: after places: 3 steps\n"
	  "   0 TRANSPOSE %12 FLOAT32[1,8,8,2] arena <- %2 FLOAT32[1,2,8,8] "
	  "input0+0 %13 INT32[4] constant\n"
	  "   1 CONV_2D %18 FLOAT32[1,8,8,8] arena <- %12 FLOAT32[1,8,8,2] "
	  "arena %5 FLOAT32[8,3,3,2] constant %6 FLOAT32[8] constant; + RELU; + PAD 1,1,1,1\n"
	  "   2 TRANSPOSE %11 FLOAT32[1,8,8,8] output0+0 <- %18 "
	  "FLOAT32[1,8,8,8] arena %19 INT32[4] constant\n" },
	{ "text", "kernels",
	  "plan: after kernels: 3 steps\n"
	  "   0 TRANSPOSE %12 FLOAT32[1,8,8,2] arena <- %2 FLOAT32[1,2,8,8] "
	  "input0+0 %13 INT32[4] constant; kernel transpose, N bytes packed\n"
	  "   1 CONV_2D %18 FLOAT32[1,8,8,8] arena <- %12 FLOAT32[1,8,8,2] "
	  "arena %5 FLOAT32[8,3,3,2] constant %6 FLOAT32[8] constant; + "
	  "RELU; + PAD 1,1,1,1; kernel convolution, N bytes packed\n"
	  "   2 TRANSPOSE %11 FLOAT32[1,8,8,8] output0+0 <- %18 "
	  "FLOAT32[1,8,8,8] arena %19 INT32[4] constant; kernel transpose, N bytes packed\n" },
	{ "text", "layout",
	  "plan: after layout: 3 steps, an arena of 2688 bytes\n"
	  "   0 TRANSPOSE %12 FLOAT32[1,8,8,2] arena+2112 <- %2 FLOAT32[1,2,8,8] "
	  "input0+0 %13 INT32[4] constant; kernel transpose, N bytes packed\n"
	  "   1 CONV_2D %18 FLOAT32[1,8,8,8] arena+0 <- %12 FLOAT32[1,8,8,2] "
	  "arena+2112 %5 FLOAT32[8,3,3,2] constant %6 FLOAT32[8] constant; + "
	  "RELU; + PAD 1,1,1,1; kernel convolution, N bytes packed\n" },
	{ "dot", "model",
	  "digraph \"after model\" {\n"
	  "\tnode [shape=box];\n"
	  "\ti2 [shape=oval, label=\"FLOAT32[1,2,8,8]\"];\n"
	  "\tn0 [label=\"MUL\\nFLOAT32[8,3,3,2]\"];\n"
	  "\tn1 [label=\"PAD\\nFLOAT32[1,2,10,10]\"];\n"
	  "\ti2 -> n1;\n"
	  "\tn2 [label=\"CONV_2D\\nFLOAT32[1,8,8,8]\"];\n"
	  "\tn1 -> n2 [label=\"%7\"];\n"
	  "\tn0 -> n2 [label=\"%5\"];\n"
	  "\tn3 [label=\"RELU\\nFLOAT32[1,8,8,8]\"];\n"
	  "\tn2 -> n3 [label=\"%9\"];\n"
	  "}\n" },
	{ "dot", "fold",
	  "digraph \"after fold\" {\n"
	  "\tnode [shape=box];\n"
	  "\ti2 [shape=oval, label=\"FLOAT32[1,2,8,8]\"];\n"
	  "\tn0 [label=\"TRANSPOSE\\nFLOAT32[1,8,8,2]\"];\n"
	  "\ti2 -> n0;\n"
	  "\tn1 [label=\"PAD\\nFLOAT32[1,10,10,2]\\ngone\"];\n"
	  "\tn0 -> n1 [label=\"%12\"];\n"
	  "\tn2 [label=\"CONV_2D\\nFLOAT32[1,8,8,8]\\n+ PAD 1,1,1,1\"];\n"
	  "\tn0 -> n2 [label=\"%12\"];\n"
	  "\tn3 [label=\"RELU\\nFLOAT32[1,8,8,8]\"];\n"
	  "\tn2 -> n3 [label=\"%16\"];\n"
	  "\tn4 [label=\"TRANSPOSE\\nFLOAT32[1,8,8,8]\"];\n"
	  "\tn3 -> n4 [label=\"%18\"];\n"
	  "}\n" },
	{ "dot", "kernels",
	  "digraph \"after kernels\" {\n"
	  "\tnode [shape=box];\n"
	  "\ti2 [shape=oval, label=\"FLOAT32[1,2,8,8]\"];\n"
	  "\tn0 [label=\"TRANSPOSE\\nFLOAT32[1,8,8,2]\\nkernel transpose, N bytes packed\"];\n"
	  "\ti2 -> n0;\n"
	  "\tn1 [label=\"CONV_2D\\nFLOAT32[1,8,8,8]\\n+ RELU\\n+ PAD "
	  "1,1,1,1\\nkernel convolution, N bytes packed\"];\n"
	  "\tn0 -> n1 [label=\"%12\"];\n"
	  "\tn2 [label=\"TRANSPOSE\\nFLOAT32[1,8,8,8]\\nkernel transpose, N bytes packed\"];\n"
	  "\tn1 -> n2 [label=\"%18\"];\n"
	  "}\n" },
};

/* Replaces numbers of packed bytes in a dump by "N". */
static void forget_packed(char *text)
{
	for (char *at = text, *begin; (at = strstr(at, " bytes packed")); at++) {
		for (begin = at; begin[-1] >= '0' && begin[-1] <= '9'; begin--)
			;
		*begin = 'N';
		memmove(begin + 1, at, strlen(at) + 1);
		at = begin + 1;
	}
}

static void test_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		char *text = dump(shown[i].format);

		forget_packed(text);
		if (!strstr(text, shown[i].lines))
			fail_msg("after %s there is no\n%s in\n%s", shown[i].pass,
				 shown[i].lines, text);
		free(text);
	}
}

static void test_nothing(void **state)
{
	char *text = dump(NULL);

	(void)state;
	assert_string_equal(text, "");
	free(text);
	text = dump("everything");
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_dot),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
