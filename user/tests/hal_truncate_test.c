/* SPDX-License-Identifier: MIT */
/*
 * If a client truncates a file that the engine has mapped, the client's execution fails and the
 * worker continues.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>

#define COUNT 4096
#define BYTES (COUNT * sizeof(float))
#define OP_ADD 0	/* ANEURALNETWORKS_ADD */

/* The model computes sum = input + constant; the constant fills pool 0. */
static const struct nn_operand operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_CONSTANT_REFERENCE, .consumers = 1, .location = { .length = BYTES } },
	{ .type = NN_INT32, .lifetime = NN_CONSTANT_COPY, .consumers = 1,
	  .location = { .length = sizeof(int32_t) } },
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_OUTPUT },
};
static const int64_t values[] = { 0 };
static const uint32_t op_inputs[] = { 0, 1, 2 }, op_outputs[] = { 3 };
static const struct nn_operation operations[] = {
	{ .type = OP_ADD, .num_inputs = 3, .inputs = op_inputs,
	  .num_outputs = 1, .outputs = op_outputs },
};
static const struct nn_subgraph subgraph = {
	.num_operands = 4, .operands = operands,
	.num_operations = 1, .operations = operations,
	.num_inputs = 1, .inputs = op_inputs,
	.num_outputs = 1, .outputs = op_outputs,
};
static const struct nn_pool pool = { .size = BYTES };
static const struct nn_model model = {
	.size = sizeof(model),
	.num_subgraphs = 1, .subgraphs = &subgraph,
	.num_pools = 1, .pools = &pool,
	.values = (const uint8_t *)values, .values_size = sizeof(values),
};

struct client {
	struct nna_device *device;
	int constant_fd, input_fd;
	struct nna_memory *constant, *input, *output;
	struct nna_prepared_model *prepared;
};

static struct client c;

static int make_file(struct nna_memory **memory)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(nna_memory_import(c.device, NNA_SIZED(nna_file, .fd = fd,
					   .prot = PROT_READ, .length = BYTES), memory,
					   NULL), NN_OK);
	return fd;
}

static int begin(void **state)
{
	(void)state;
	assert_int_equal(nna_device_open(NULL, &c.device, NULL), NN_OK);
	c.constant_fd = make_file(&c.constant);
	c.input_fd = make_file(&c.input);
	assert_int_equal(nna_memory_alloc(c.device, BYTES, &c.output, NULL), NN_OK);
	assert_int_equal(nna_prepare_model(c.device, &model, &c.constant, NULL, &c.prepared, NULL),
			 NN_OK);
	return 0;
}

static int end(void **state)
{
	(void)state;
	nna_prepared_model_free(c.prepared);
	nna_memory_free(c.constant);
	nna_memory_free(c.input);
	nna_memory_free(c.output);
	nna_device_close(c.device);
	close(c.constant_fd);
	return close(c.input_fd);
}

static enum nn_status execute(struct nn_error *err)
{
	struct nna_memory *const memories[] = { c.input, c.output };
	const struct nna_argument in = { .pool = 0, .length = BYTES };
	const struct nna_argument out = { .pool = 1, .length = BYTES };
	const struct nna_request request = {
		.size = sizeof(request),
		.num_inputs = 1, .inputs = &in,
		.num_outputs = 1, .outputs = &out,
		.num_memories = 2, .memories = memories,
	};

	memset(err, 0, sizeof(*err));
	return nna_execute(c.prepared, &request, NULL, NULL, err);
}

static void test_input(void **state)
{
	struct nn_error err;

	(void)state;
	assert_int_equal(execute(&err), NN_OK);
	assert_int_equal(ftruncate(c.input_fd, 0), 0);
	assert_int_equal(execute(&err), NN_GENERAL_FAILURE);
	assert_non_null(strstr(err.message, "shorter"));
	/*
	 * The worker still executes the client's model; if the worker had died, the status would be
	 * NN_DEAD_OBJECT.
	 */
	assert_int_equal(ftruncate(c.input_fd, BYTES), 0);
	assert_int_equal(execute(&err), NN_OK);
}

static void test_constant(void **state)
{
	struct nna_prepared_model *again;
	struct nn_error err;

	(void)state;
	assert_int_equal(ftruncate(c.constant_fd, 0), 0);
	assert_int_equal(execute(&err), NN_GENERAL_FAILURE);
	assert_non_null(strstr(err.message, "shorter"));
	assert_int_equal(ftruncate(c.constant_fd, BYTES), 0);
	assert_int_equal(execute(&err), NN_GENERAL_FAILURE);
	assert_int_equal(nna_prepare_model(c.device, &model, &c.constant, NULL, &again, NULL),
			 NN_OK);
	nna_prepared_model_free(c.prepared);
	c.prepared = again;
	assert_int_equal(execute(&err), NN_OK);
}

static void test_unreadable_constant_is_denied(void **state)
{
	bool supported = false;

	(void)state;
	assert_int_equal(nna_get_supported_operations(c.device, &model, &c.constant, &supported,
						      NULL), NN_OK);
	assert_true(supported);
	assert_int_equal(ftruncate(c.constant_fd, 0), 0);
	assert_int_equal(nna_get_supported_operations(c.device, &model, &c.constant, &supported,
						      NULL), NN_OK);
	assert_false(supported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_input, begin, end),
		cmocka_unit_test_setup_teardown(test_constant, begin, end),
		cmocka_unit_test_setup_teardown(test_unreadable_constant_is_denied, begin, end),
	};

	return cmocka_run_group_tests_name("truncated files", tests, NULL, NULL);
}
