/* SPDX-License-Identifier: MIT */
/*
 * The kit's parts that need no kernel: what is checked of an engine, its extensions as clients are
 * told of them, and models in one block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/worker/engine.h"
#include "kit/device.h"
#include "kit/engine.h"
#include "tests/model_builder.h"

#define OP_ADD 0

static void test_fault(void **state)
{
	const struct nna_engine_burst none = { .size = sizeof(none) };
	const struct nna_engine_buffers no_buffers = { .size = sizeof(no_buffers) };
	struct nna_engine_file file = { .size = sizeof(file), .path = "/dev/null" };
	const struct nna_engine_file *const files[] = { &file, NULL };
	struct nna_engine e = cpu_engine;

	(void)state;
	assert_null(engine_fault(&e));
	/* One of 0.2.0 has nothing behind its size. */
	e.size = offsetof(struct nna_engine, log);
	e.buffers = &no_buffers;
	assert_null(engine_fault(&e));
	assert_false(ENGINE_HAS(&e, buffers));
	e.size--;
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.buffers = &no_buffers;
	assert_true(ENGINE_HAS(&e, buffers));
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.clients = NNA_ENGINE_CLIENTS_THREADS + 1;
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.files = files;
	assert_null(engine_fault(&e));
	file.use = NNA_ENGINE_FILE_POLL << 1;
	assert_non_null(engine_fault(&e));
	file.use = 0;
	file.num_requests = 1;
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.execute = NULL;
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.load = NULL;
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.burst = &none;
	assert_non_null(engine_fault(&e));
}

static const char *extension_name;

static const struct nn_device_extension *extensions(const struct nna_engine *engine,
						    uint32_t *count)
{
	static const struct nn_device_extension_item type = {
		.code = 7, .is_tensor = true, .element_size = 8, .name = "TENSOR_INT64",
	};
	static struct nn_device_extension one;

	(void)engine;
	one = (struct nn_device_extension){
		.name = extension_name, .version = 1, .num_types = 1, .types = &type,
	};
	*count = 1;
	return &one;
}

static void test_extensions(void **state)
{
	struct nna_engine e = cpu_engine;
	struct nn_error err = { "" };

	(void)state;
	e.extensions = extensions;
	extension_name = "";
	assert_false(device_register_extensions(&e));
	extension_name = "com.example.kit";
	assert_int_equal(nna_engine_code(extension_name, 7), 0);
	assert_true(device_register_extensions(&e));
	assert_true(device_register_extensions(&e));
	assert_int_equal(nn_type_info(nna_engine_code(extension_name, 7))->element_size, 8);
	assert_string_equal(err.message, "");
}

/* A constant of a pool is in the block, which nothing else is needed for. */
static void test_pack(void **state)
{
	float constant[] = { 0, 1, 2, 3 };
	struct nn_error err = { "" };
	struct nn_model *model = NULL;
	const struct nn_operand *o;
	struct model_builder b;
	uint32_t x, y, none, sum;
	void *block = NULL;
	size_t size = 0;

	(void)state;
	mb_init(&b);
	b.pools[0] = (struct nn_pool){ constant, sizeof(constant) };
	b.model.num_pools = 1;
	b.model.pools = b.pools;
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(3));
	y = mb_reference(&b, NN_TENSOR_FLOAT32, 0, sizeof(float), 3 * sizeof(float), MB_DIMS(3));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(3));
	mb_operation(&b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
	assert_int_equal(nn_model_check(&b.model, &err), NN_OK);
	assert_int_equal(nna_engine_pack(&b.model, &block, &size, &err), NN_OK);
	memset(constant, 0, sizeof(constant));
	assert_int_equal(nna_engine_unpack(block, size, &model, &err), NN_OK);
	free(block);
	assert_int_equal(model->num_pools, 0);
	o = &model->subgraphs[0].operands[y];
	assert_int_equal(o->lifetime, NN_CONSTANT_COPY);
	assert_memory_equal(nn_operand_value(model, o), ((float[]){ 1, 2, 3 }), 3 * sizeof(float));
	nn_model_free(model);
	assert_int_not_equal(nna_engine_unpack("no model", 8, &model, &err), NN_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_pack),
	};

	return cmocka_run_group_tests_name("kit", tests, NULL, NULL);
}
