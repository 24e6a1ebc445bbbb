/* SPDX-License-Identifier: MIT */
/*
 * Tests the requests that libnnaccel makes to the kernel for buffers of memory domains: roles,
 * sizes, copies and growth. The test program imitates the kernel.
 */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/failing/kept.h"
#include "tests/fake_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Operands of the model: inputs of several types and shapes, and two outputs whose types and shapes
 * resemble inputs.
 */
enum { FLOATS, BYTES, ROWS, ANY, LARGE, OTHER_SCALE, FLOATS_OUT, ROWS_OUT, NUM_OPERANDS };
enum { NUM_INPUTS = FLOATS_OUT, NUM_OUTPUTS = NUM_OPERANDS - NUM_INPUTS };

#define INPUT .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1
static const struct nn_operand operands[] = {
	[FLOATS] = { .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { 4 }, INPUT },
	[BYTES] = { .type = NN_TENSOR_QUANT8_ASYMM, .scale = 1, .rank = 2, .dims = { 3, 5 }, INPUT },
	[ROWS] = { .type = NN_TENSOR_INT32, .rank = 2, .dims = { 0, 3 }, INPUT },
	[ANY] = { .type = NN_TENSOR_FLOAT32, INPUT },
	[LARGE] = { .type = NN_TENSOR_FLOAT32, .rank = 2, .dims = { 0, 1500 }, INPUT },
	[OTHER_SCALE] = { .type = NN_TENSOR_QUANT8_ASYMM, .scale = 2, .rank = 2, .dims = { 3, 5 },
			  INPUT },
	[FLOATS_OUT] = { .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT, .rank = 1,
			 .dims = { 4 } },
	[ROWS_OUT] = { .type = NN_TENSOR_INT32, .lifetime = NN_SUBGRAPH_OUTPUT, .rank = 2,
		       .dims = { 2, 0 } },
};
static const uint32_t inputs[] = { FLOATS, BYTES, ROWS, ANY, LARGE, OTHER_SCALE };
static const uint32_t outputs[] = { FLOATS_OUT, ROWS_OUT };
/* The imitated kernel executes nothing, so any operation is sufficient. */
static const struct nn_operation operation = { NN_OP_ADD, NUM_INPUTS, NUM_OUTPUTS, inputs, outputs };
static const struct nn_subgraph subgraph = {
	NUM_OPERANDS, 1, NUM_INPUTS, NUM_OUTPUTS, operands, &operation, inputs, outputs,
};
static const struct nn_model model = {
	.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &subgraph,
};

static struct nna_device *device;
static struct nna_prepared_model *prepared[2];
static struct nn_error err;
static struct kept kept;

/* The last requests. */
static struct nnaccel_buffer_alloc alloc;
static struct nnaccel_role roles[8];
static struct nnaccel_buffer_copy copy;
static unsigned int allocs, copies;

static bool answer(unsigned long request, void *arg, int *result)
{
	(void)result;
	if (request == NNACCEL_WORK_BUFFER_ALLOC) {
		allocs++;
		alloc = *(struct nnaccel_buffer_alloc *)arg;
		assert_true(alloc.num_roles <= COUNT(roles));
		memcpy(roles, (void *)(uintptr_t)alloc.roles, alloc.num_roles * sizeof(*roles));
	}
	if (request == NNACCEL_WORK_BUFFER_COPY) {
		copies++;
		copy = *(struct nnaccel_buffer_copy *)arg;
	}
	return false;
}

static int set_up(void **state)
{
	(void)state;
	kept = kept_now();
	fake.is_on = true;
	fake.answer = answer;
	allocs = copies = 0;
	err.message[0] = '\0';
	return nna_device_open(NULL, &device, &err) ||
	       nna_prepare_model(device, &model, NULL, NULL, &prepared[0], &err) ||
	       nna_prepare_model(device, &model, NULL, NULL, &prepared[1], &err);
}

static int tear_down(void **state)
{
	struct kept left;

	(void)state;
	nna_prepared_model_free(prepared[0]);
	nna_prepared_model_free(prepared[1]);
	nna_device_close(device);
	left = kept_now();
	fake.is_on = false;
	return kept_more(&kept, &left) || fake.live || fake.wrong;
}

static enum nn_status make(uint32_t operand, const struct nna_buffer_desc *desc,
			   struct nna_buffer **buffer)
{
	const bool is_output = operand >= NUM_INPUTS;
	const struct nna_role role = {
		.index = is_output ? operand - NUM_INPUTS : operand, .frequency = 1,
	};
	uint32_t token;

	return nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .desc = desc,
				   .models = prepared, .num_models = 1, .inputs = &role,
				   .num_inputs = !is_output, .outputs = &role,
				   .num_outputs = is_output), buffer, &token, &err);
}

/*
 * The size of a buffer with a known shape follows from the shape. If dimensions are unknown, the
 * buffer has about a page, or more if one element of each unknown dimension does not fit in a page.
 */
static void test_sizes(void **state)
{
	static const struct {
		uint32_t operand;
		struct nna_buffer_desc desc;
		enum nn_status status;
		uint64_t capacity;
	} cases[] = {
		{ FLOATS, { .rank = 0 }, NN_OK, 16 },
		{ FLOATS, { 1, { 4 } }, NN_OK, 16 },
		{ FLOATS, { 1, { 0 } }, NN_OK, 16 },
		{ FLOATS, { 1, { 3 } }, NN_INVALID_ARGUMENT, 0 },
		{ FLOATS, { 2, { 4, 1 } }, NN_INVALID_ARGUMENT, 0 },
		{ BYTES, { .rank = 0 }, NN_OK, 15 },
		{ ROWS, { .rank = 0 }, NN_OK, 4092 },
		{ ROWS, { 2, { 7, 0 } }, NN_OK, 84 },
		{ ROWS, { 2, { 7, 4 } }, NN_INVALID_ARGUMENT, 0 },
		{ ANY, { .rank = 0 }, NN_OK, 4096 },
		{ ANY, { 3, { 0, 0, 5 } }, NN_OK, 4080 },
		{ ANY, { 3, { 0, 0, 1024 } }, NN_OK, 4096 },
		{ ANY, { 3, { 0, 0, 1025 } }, NN_OK, 4100 },
		{ ANY, { NN_MAX_RANK, { 1, 1, 1, 1 } }, NN_OK, 4096 },
		{ ANY, { NN_MAX_RANK + 1, { 1 } }, NN_INVALID_ARGUMENT, 0 },
		{ ANY, { 2, { 65536, 65536 } }, NN_INVALID_ARGUMENT, 0 },
		{ ANY, { 3, { 0, 65536, 65536 } }, NN_INVALID_ARGUMENT, 0 },
		{ LARGE, { .rank = 0 }, NN_OK, 6000 },
		{ FLOATS_OUT, { .rank = 0 }, NN_OK, 16 },
		{ ROWS_OUT, { .rank = 0 }, NN_OK, 4096 },
		{ ROWS_OUT, { 2, { 0, 5 } }, NN_OK, 40 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nna_buffer *buffer = NULL;
		const unsigned int before = allocs;

		if (make(cases[i].operand, &cases[i].desc, &buffer) != cases[i].status)
			fail_msg("case %zu: %s", i, err.message);
		assert_int_equal(allocs - before, cases[i].status == NN_OK);
		if (cases[i].status == NN_OK && alloc.capacity != cases[i].capacity)
			fail_msg("case %zu: %llu bytes", i, (unsigned long long)alloc.capacity);
		if (cases[i].status == NN_OK)
			assert_int_equal(nna_buffer_size(buffer), 0);
		nna_buffer_free(buffer);
	}
}

static void test_roles(void **state)
{
	static const struct {
		const char *name;
		struct nna_role inputs[2], outputs[2];
		uint32_t num_inputs, num_outputs;
		enum nn_status status;
	} cases[] = {
		{ "one", { { 0, FLOATS, 1 } }, { { 0 } }, 1, 0, NN_OK },
		{ "of each model", { { 0, FLOATS, 1 }, { 1, FLOATS, 1 } }, { { 0, 0, 1 }, { 1, 0, 1 } },
		  2, 2, NN_OK },
		{ "inputs that agree", { { 0, BYTES, 1 }, { 1, BYTES, 0.5f } }, { { 0 } }, 2, 0, NN_OK },
		{ "rows and columns", { { 1, ROWS, 1 } }, { { 0, 1, 1 } }, 1, 1, NN_OK },
		{ "none", { { 0 } }, { { 0 } }, 0, 0, NN_INVALID_ARGUMENT },
		{ "one twice", { { 0, FLOATS, 1 }, { 0, FLOATS, 0.5f } }, { { 0 } }, 2, 0,
		  NN_INVALID_ARGUMENT },
		{ "another type", { { 0, FLOATS, 1 }, { 0, ROWS, 1 } }, { { 0 } }, 2, 0,
		  NN_INVALID_ARGUMENT },
		{ "another scale", { { 0, BYTES, 1 }, { 0, OTHER_SCALE, 1 } }, { { 0 } }, 2, 0,
		  NN_INVALID_ARGUMENT },
		{ "another shape", { { 0, FLOATS, 1 }, { 0, LARGE, 1 } }, { { 0 } }, 2, 0,
		  NN_INVALID_ARGUMENT },
		{ "the last input", { { 0, NUM_INPUTS - 1, 1 } }, { { 0 } }, 1, 0, NN_OK },
		{ "beyond the inputs", { { 0, NUM_INPUTS, 1 } }, { { 0 } }, 1, 0, NN_INVALID_ARGUMENT },
		{ "the last output", { { 0 } }, { { 0, NUM_OUTPUTS - 1, 1 } }, 0, 1, NN_OK },
		{ "beyond the outputs", { { 0 } }, { { 0, NUM_OUTPUTS, 1 } }, 0, 1, NN_INVALID_ARGUMENT },
		{ "no such model", { { 2, FLOATS, 1 } }, { { 0 } }, 1, 0, NN_INVALID_ARGUMENT },
		{ "never", { { 0, FLOATS, 0 } }, { { 0 } }, 1, 0, NN_INVALID_ARGUMENT },
		{ "less than never", { { 0, FLOATS, -1 } }, { { 0 } }, 1, 0, NN_INVALID_ARGUMENT },
		{ "more than always", { { 0, FLOATS, 1.5f } }, { { 0 } }, 1, 0, NN_INVALID_ARGUMENT },
		{ "no number", { { 0, FLOATS, NAN } }, { { 0 } }, 1, 0, NN_INVALID_ARGUMENT },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nna_buffer *buffer = (void *)&err;
		uint32_t token = 99;

		if (nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = prepared,
					.num_models = 2, .inputs = cases[i].inputs,
					.num_inputs = cases[i].num_inputs,
					.outputs = cases[i].outputs,
					.num_outputs = cases[i].num_outputs), &buffer, &token,
					&err) !=
		    cases[i].status)
			fail_msg("%s: %s", cases[i].name, err.message);
		assert_int_equal(buffer != NULL, cases[i].status == NN_OK);
		assert_int_equal(token, cases[i].status == NN_OK);
		if (cases[i].status == NN_OK) {
			assert_int_equal(alloc.num_roles, cases[i].num_inputs + cases[i].num_outputs);
			for (uint32_t k = 0; k < alloc.num_roles; k++) {
				bool is_output = k >= cases[i].num_inputs;
				const struct nna_role *role = is_output ?
					&cases[i].outputs[k - cases[i].num_inputs] : &cases[i].inputs[k];

				assert_int_equal(roles[k].kind, is_output ? NNACCEL_ROLE_OUTPUT :
						 NNACCEL_ROLE_INPUT);
				assert_int_equal(roles[k].index, role->index);
				assert_int_equal(roles[k].frequency,
						 role->frequency == 1 ? NNACCEL_MAX_FREQUENCY :
						 NNACCEL_MAX_FREQUENCY / 2);
				assert_int_equal(roles[k].model == roles[0].model, role->model ==
						 (cases[i].num_inputs ? cases[i].inputs[0].model :
						  cases[i].outputs[0].model));
			}
		}
		nna_buffer_free(buffer);
	}
}

/*
 * Reading a buffer copies the contents of the whole buffer. After the library has refused a write
 * to a buffer, the buffer is empty.
 */
static void test_copies(void **state)
{
	const uint32_t two_by_three[] = { 2, 3 }, two_by_four[] = { 2, 4 }, open[] = { 0, 3 };
	const uint32_t many[] = { 400, 3 };
	struct nna_buffer *buffer;
	static char data[4800];
	uint32_t id;

	(void)state;
	assert_int_equal(make(ROWS, NULL, &buffer), NN_OK);
	assert_int_equal(nna_buffer_read(buffer, data, 24, &err), NN_GENERAL_FAILURE);
	assert_int_equal(nna_buffer_write(buffer, data, 24, 2, two_by_three, &err), NN_OK);
	id = copy.buffer;
	assert_int_equal(copy.flags, NNACCEL_COPY_IN);
	assert_int_equal(copy.data, (uintptr_t)data);
	assert_int_equal(copy.length, 24);
	assert_int_equal(copy.pool, 0);
	assert_int_equal(nna_buffer_size(buffer), 24);
	assert_int_equal(nna_buffer_read(buffer, data + 1, 24, &err), NN_OK);
	assert_int_equal(copy.flags, NNACCEL_COPY_OUT);
	assert_int_equal(copy.data, (uintptr_t)(data + 1));
	assert_int_equal(copy.length, 24);
	assert_int_equal(copy.buffer, id);
	assert_int_equal(copies, 2);
	assert_int_equal(nna_buffer_read(buffer, data, 23, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_read(buffer, data, 25, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_size(buffer), 24);
	assert_int_equal(copies, 2);

	/*
	 * The data are larger than the buffer's memory, so the library replaces the kernel's buffer
	 * by a larger buffer.
	 */
	assert_int_equal(nna_buffer_write(buffer, data, 4800, 2, many, &err), NN_OK);
	assert_int_equal(allocs, 2);
	assert_int_equal(alloc.capacity, 4800);
	assert_int_not_equal(copy.buffer, id);
	assert_int_equal(nna_buffer_size(buffer), 4800);
	assert_int_equal(nna_buffer_write(buffer, data, 24, 2, two_by_three, &err), NN_OK);
	assert_int_equal(allocs, 2);

	for (size_t i = 0; i < 5; i++) {
		const struct {
			uint64_t size;
			uint32_t rank;
			const uint32_t *dims;
		} wrong[] = {
			{ 32, 2, two_by_four }, { 24, 2, open }, { 23, 2, two_by_three },
			{ 25, 2, two_by_three }, { 24, NN_MAX_RANK + 1, many },
		};

		assert_int_equal(nna_buffer_write(buffer, data, 24, 2, two_by_three, &err), NN_OK);
		assert_int_equal(nna_buffer_write(buffer, data, wrong[i].size, wrong[i].rank,
						  wrong[i].dims, &err), NN_INVALID_ARGUMENT);
		assert_int_equal(nna_buffer_size(buffer), 0);
		assert_int_equal(nna_buffer_read(buffer, data, 24, &err), NN_GENERAL_FAILURE);
	}
	nna_buffer_free(buffer);
}

/*
 * A copy between a buffer and a memory copies the whole memory. The kernel's request names the pool
 * and the offset at which the memory begins in the pool.
 */
static void test_memories(void **state)
{
	const struct nna_format format = { .size = sizeof(format), .fourcc = 1, .width = 1, .height = 1 };
	struct nna_memory *memory, *part, *constant, *image, *foreign;
	struct nna_device *other;
	struct nna_buffer *buffer;
	int file = fake_file(2 * FAKE_PAGE);

	(void)state;
	assert_int_equal(make(FLOATS, NULL, &buffer), NN_OK);
	assert_int_equal(nna_device_open(NULL, &other, &err), NN_OK);
	assert_int_equal(nna_memory_alloc(device, 16, &memory, &err), NN_OK);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = file,
					   .prot = PROT_READ | PROT_WRITE,
					   .offset = FAKE_PAGE + 100, .length = 16), &part,
					   &err), NN_OK);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = file,
					   .prot = PROT_READ, .length = 16), &constant,
					   &err), NN_OK);
	assert_int_equal(nna_memory_import_formatted(device, file, PROT_READ | PROT_WRITE, &format, &image,
						     &err), NN_OK);
	assert_int_equal(nna_memory_alloc(other, 16, &foreign, &err), NN_OK);

	assert_int_equal(nna_buffer_copy_from(buffer, part, 0, NULL, &err), NN_OK);
	assert_int_equal(copy.flags, NNACCEL_COPY_IN | NNACCEL_COPY_POOL);
	assert_int_equal(copy.offset, 100);
	assert_int_equal(copy.length, 16);
	assert_int_equal(copy.data, 0);
	assert_int_not_equal(copy.pool, 0);
	assert_int_equal(nna_buffer_copy_to(buffer, memory, &err), NN_OK);
	assert_int_equal(copy.flags, NNACCEL_COPY_OUT | NNACCEL_COPY_POOL);
	assert_int_equal(copy.offset, 0);
	assert_int_equal(copy.length, 16);
	/* A refused copy to a memory does not change the buffer. */
	assert_int_equal(nna_buffer_copy_to(buffer, constant, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_copy_to(buffer, image, &err), NN_GENERAL_FAILURE);
	assert_int_equal(nna_buffer_copy_to(buffer, foreign, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_size(buffer), 16);
	assert_int_equal(nna_buffer_copy_from(buffer, constant, 0, NULL, &err), NN_OK);
	assert_int_equal(nna_buffer_copy_from(buffer, image, 0, NULL, &err), NN_GENERAL_FAILURE);
	assert_int_equal(nna_buffer_size(buffer), 0);
	assert_int_equal(nna_buffer_copy_from(buffer, constant, 0, NULL, &err), NN_OK);
	assert_int_equal(nna_buffer_copy_from(buffer, foreign, 0, NULL, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_size(buffer), 0);
	assert_int_equal(copies, 4);

	nna_memory_free(foreign);
	nna_memory_free(image);
	nna_memory_free(constant);
	nna_memory_free(part);
	nna_memory_free(memory);
	nna_buffer_free(buffer);
	nna_device_close(other);
	close(file);
}

/* ---- executions ---- */

static struct nnaccel_arg args[2];
static struct nnaccel_execute execution;
static uint32_t ids[2];

static bool answer_execution(unsigned long request, void *arg, int *result)
{
	if (request == NNACCEL_WORK_EXECUTE) {
		execution = *(struct nnaccel_execute *)arg;
		memcpy(args, (void *)(uintptr_t)execution.args, sizeof(args));
		memcpy(ids, (void *)(uintptr_t)execution.buffers,
		       execution.num_buffers * sizeof(*ids));
	}
	return answer(request, arg, result);
}

/*
 * An input gets the shape of its buffer; a buffer that is an output gets the shape that the kernel
 * returns.
 */
static void test_arguments(void **state)
{
	static const struct {
		const char *name;
		struct nna_argument in, out;
		enum nn_status status;
	} cases[] = {
		{ "whole buffers", { .pool = 0 }, { .pool = 1 }, NN_OK },
		{ "the shape that it holds", { .pool = 0, .rank = 2, .dims = { 2, 3 } }, { .pool = 1 },
		  NN_OK },
		{ "a part of the shape", { .pool = 0, .rank = 2, .dims = { 2, 0 } }, { .pool = 1 }, NN_OK },
		{ "another shape", { .pool = 0, .rank = 2, .dims = { 1, 3 } }, { .pool = 1 },
		  NN_INVALID_ARGUMENT },
		{ "another rank", { .pool = 0, .rank = 1, .dims = { 6 } }, { .pool = 1 },
		  NN_INVALID_ARGUMENT },
		{ "an offset", { .pool = 0, .offset = 1 }, { .pool = 1 }, NN_INVALID_ARGUMENT },
		{ "a length", { .pool = 0 }, { .pool = 1, .length = 24 }, NN_INVALID_ARGUMENT },
		{ "a rank beyond", { .pool = 0, .rank = NN_MAX_RANK + 1 }, { .pool = 1 },
		  NN_INVALID_ARGUMENT },
		{ "beyond the buffers", { .pool = 2 }, { .pool = 1 }, NN_INVALID_ARGUMENT },
		{ "nothing was written", { .pool = 1 }, { .pool = 1 }, NN_GENERAL_FAILURE },
		{ "an output's shape", { .pool = 0 }, { .pool = 1, .rank = 2, .dims = { 5, 3 } }, NN_OK },
		{ "an output of another shape", { .pool = 0 },
		  { .pool = 1, .rank = 2, .dims = { 5, 4 } }, NN_INVALID_ARGUMENT },
	};
	const uint32_t two_by_three[] = { 2, 3 };
	static const char data[24];

	(void)state;
	fake.answer = answer_execution;
	fake.shape = (struct nnaccel_shape){ .rank = 2, .dims = { 5, 3 } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nna_buffer *buffers[2];
		uint32_t names[2];
		const struct nna_role role = { .index = ROWS, .frequency = 1 };
		const struct nna_request r = {
			.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &cases[i].in,
			.outputs = &cases[i].out, .num_tokens = 2, .tokens = names,
		};
		enum nn_status status;

		for (int k = 0; k < 2; k++)
			assert_int_equal(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles,
				.models = prepared, .num_models = 1, .inputs = &role,
				.num_inputs = 1), &buffers[k], &names[k], &err), NN_OK);
		assert_int_equal(nna_buffer_write(buffers[0], data, sizeof(data), 2, two_by_three, &err),
				 NN_OK);
		memset(args, 0, sizeof(args));
		status = nna_execute(prepared[0], &r, NULL, NULL, &err);
		if (status != cases[i].status)
			fail_msg("%s: %s", cases[i].name, err.message);
		assert_int_equal(nna_buffer_size(buffers[1]), status == NN_OK ? 60 : 0);
		if (status == NN_OK) {
			assert_int_equal(execution.num_buffers, 2);
			assert_int_equal(ids[0], copy.buffer);
			assert_int_not_equal(ids[1], ids[0]);
			for (uint32_t k = 0; k < 2; k++) {
				assert_int_equal(args[k].flags, NNACCEL_ARG_BUFFER);
				assert_int_equal(args[k].pool, k);
			}
			assert_int_equal(args[0].rank, 2);
			assert_int_equal(args[0].dims[0], 2);
			assert_int_equal(args[0].dims[1], 3);
			assert_int_equal(args[1].rank, cases[i].out.rank);
		}
		nna_buffer_free(buffers[0]);
		nna_buffer_free(buffers[1]);
	}
}

/*
 * If a buffer is too small for an output of unknown size, the library enlarges the buffer to the
 * size that the engine reports, and executes once more.
 */
static void test_outputs_grow(void **state)
{
	static const struct {
		uint32_t columns;	/* number of columns in the output's two rows */
		enum nn_status status;
		unsigned int allocs;	/* number of allocated buffers, including the first */
	} cases[] = {
		/* the output fits into the first buffer */
		{ 512, NN_OUTPUT_INSUFFICIENT_SIZE, 1 },
		{ 513, NN_OK, 2 }, { 1000, NN_OK, 2 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct nna_role role = { .index = 1, .frequency = 1 };
		const struct nna_argument out = { .pool = 0 };
		struct nna_buffer *buffer;
		uint32_t name;
		const struct nna_request r = {
			.size = sizeof(r), .num_outputs = 1, .outputs = &out, .num_tokens = 1,
			.tokens = &name,
		};

		allocs = 0;
		fake.is_short = true;
		fake.shape = (struct nnaccel_shape){ .rank = 2, .dims = { 2, cases[i].columns } };
		assert_int_equal(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles,
						     .models = prepared, .num_models = 1,
						     .outputs = &role, .num_outputs = 1), &buffer,
						     &name, &err), NN_OK);
		assert_int_equal(alloc.capacity, 4096);
		assert_int_equal(nna_execute(prepared[0], &r, NULL, NULL, &err),
				 cases[i].status);
		assert_int_equal(allocs, cases[i].allocs);
		if (allocs == 2)
			assert_int_equal(alloc.capacity, 8 * cases[i].columns);
		assert_int_equal(nna_buffer_size(buffer),
				 cases[i].status == NN_OK ? 8 * cases[i].columns : 0);
		nna_buffer_free(buffer);
	}
}

/* The models of a buffer's roles must exist, and must be prepared on the buffer's device. */
static void test_models(void **state)
{
	const struct nna_role role = { .index = FLOATS, .frequency = 1 };
	struct nna_prepared_model *models[2] = { prepared[0], NULL };
	struct nna_buffer *buffer;
	struct nna_device *other;
	uint32_t token;

	(void)state;
	assert_int_equal(nna_device_open(NULL, &other, &err), NN_OK);
	assert_int_equal(nna_buffer_allocate(other, NNA_SIZED(nna_buffer_roles, .models = models,
					     .num_models = 1, .inputs = &role, .num_inputs = 1),
					     &buffer, &token, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "buffer: model 0 is from another device");
	assert_null(buffer);
	assert_int_equal(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = models,
					     .num_models = 2, .inputs = &role, .num_inputs = 1),
					     &buffer, &token, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "buffer: model 1 is missing");
	assert_int_equal(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = models,
					     .inputs = &role, .num_inputs = 1), &buffer, &token,
					     &err), NN_INVALID_ARGUMENT);
	nna_device_close(other);
	/* The library uses the token of a freed buffer for a new buffer. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles,
						     .models = models, .num_models = 1,
						     .inputs = &role, .num_inputs = 1), &buffer,
						     &token, &err), NN_OK);
		assert_int_equal(token, 1);
		nna_buffer_free(buffer);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sizes),
		TEST(test_roles),
		TEST(test_copies),
		TEST(test_memories),
		TEST(test_arguments),
		TEST(test_outputs_grow),
		TEST(test_models),
	};

	kept_start();
	return cmocka_run_group_tests_name("libnnaccel_buffer", tests, NULL, NULL);
}
