/* SPDX-License-Identifier: MIT */
/*
 * Tests signatures of models. A model's signature is a copy of the model's inputs and outputs, with
 * the device's descriptions of extensions' types.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hal/signature.h"
#include "tests/failing/failing.h"
#include "tests/failing/kept.h"

#define TYPE(prefix, code) ((int32_t)((uint32_t)(prefix) << 16 | (code)))

enum { PLAIN, CHANNELS, INNER, EXTENDED, OTHER, UNKNOWN, NUM_OPERANDS };

static float scales[] = { 1, 2, 3 };
static uint8_t bytes[] = { 4, 5 };
static struct nn_operand operands[NUM_OPERANDS];
/* The model's inputs have another order than its operands. */
static const uint32_t inputs[] = { CHANNELS, PLAIN, EXTENDED }, outputs[] = { OTHER, UNKNOWN };
static const struct nn_subgraph subgraph = {
	.num_operands = NUM_OPERANDS, .num_inputs = 3, .num_outputs = 2, .operands = operands,
	.inputs = inputs, .outputs = outputs,
};
static const struct nn_extension_prefix prefixes[] = { { "com.one", 1 }, { "com.two", 2 } };
static const struct nn_model model = {
	.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &subgraph, .num_extensions = 2,
	.extensions = prefixes,
};

/* The device lists the extensions in another order than the model. */
static const struct nn_device_extension_item types_of_two[] = {
	{ 5, true, 16, "MATRIX" }, { 6, false, 8, "PAIR" },
}, types_of_one[] = { { 6, true, 32, "CUBE" } };
static const struct nn_device_extension extensions[] = {
	{ "com.zero", 1, false, 0, 0, NULL, NULL }, { "com.two", 1, false, 2, 0, types_of_two, NULL },
	{ "com.one", 1, false, 1, 0, types_of_one, NULL },
};

static struct kept kept;

static int set_up(void **state)
{
	(void)state;
	kept = kept_now();
	memset(operands, 0, sizeof(operands));
	operands[PLAIN] = (struct nn_operand){ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { 7 } };
	operands[CHANNELS] = (struct nn_operand){
		.type = NN_TENSOR_QUANT8_SYMM_PER_CHANNEL, .rank = 1, .dims = { 3 },
		.extra = { .kind = NN_EXTRA_CHANNEL_QUANT, .count = 3, .scales = scales },
	};
	operands[EXTENDED] = (struct nn_operand){
		.type = TYPE(2, 6),
		.extra = { .kind = NN_EXTRA_EXTENSION, .count = 2, .bytes = bytes },
	};
	operands[OTHER].type = TYPE(1, 6);
	operands[UNKNOWN].type = TYPE(1, 5);
	return 0;
}

static int tear_down(void **state)
{
	struct kept left = kept_now();

	(void)state;
	return kept_more(&kept, &left) != NULL;
}

static void test_copies(void **state)
{
	struct nna_signature *s = nna_signature_create(&model, extensions, 3);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->num_inputs, 3);
	assert_int_equal(s->num_outputs, 2);
	assert_int_equal(s->operands[0].operand.extra.count, 3);
	assert_ptr_not_equal(s->operands[0].operand.extra.scales, scales);
	assert_memory_equal(s->operands[0].operand.extra.scales, scales, sizeof(scales));
	assert_null(s->operands[0].operand.extra.bytes);
	assert_int_equal(s->operands[1].operand.dims[0], 7);
	assert_null(s->operands[1].type);
	assert_ptr_not_equal(s->operands[2].operand.extra.bytes, bytes);
	assert_memory_equal(s->operands[2].operand.extra.bytes, bytes, sizeof(bytes));
	/*
	 * In the signature, a scalar of an extension's type has the type BOOL, and a tensor has the
	 * type TENSOR_QUANT8_ASYMM.
	 */
	assert_ptr_equal(s->operands[2].type, &types_of_two[1]);
	assert_int_equal(s->operands[2].operand.type, NN_BOOL);
	assert_ptr_equal(s->operands[3].type, &types_of_one[0]);
	assert_int_equal(s->operands[3].operand.type, NN_TENSOR_QUANT8_ASYMM);
	assert_null(s->operands[4].type);
	assert_int_equal(s->operands[4].operand.type, TYPE(1, 5));
	nna_signature_free(s);
	nna_signature_free(NULL);
}

/*
 * A signature needs the device's descriptions of extensions only for inputs or outputs of
 * extensions' types.
 */
static void test_needs_extensions(void **state)
{
	static const uint32_t all[] = { CHANNELS, PLAIN, EXTENDED, OTHER, UNKNOWN };

	(void)state;
	for (uint32_t i = 0; i < NUM_OPERANDS; i++)
		operands[i].type = i == INNER ? TYPE(1, 1) : 0xffff;
	assert_false(nna_signature_needs_extensions(&model));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		operands[all[i]].type = 0x10000;
		assert_true(nna_signature_needs_extensions(&model));
		operands[all[i]].type = TYPE(0xffff, 0);
		assert_true(nna_signature_needs_extensions(&model));
		operands[all[i]].type = 0xffff;
	}
}

static void test_allocations(void **state)
{
	unsigned int failures, number = 0;

	(void)state;
	do {
		struct nna_signature *s;

		failing_begin(FAILING_SELF, ++number, false);
		s = nna_signature_create(&model, extensions, 3);
		failures = failing_end(FAILING_SELF);
		assert_int_equal(s == NULL, failures);
		nna_signature_free(s);
	} while (failures);
	assert_int_equal(number, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_copies),
		TEST(test_needs_extensions),
		TEST(test_allocations),
	};

	kept_start();
	return cmocka_run_group_tests_name("libnnaccel_signature", tests, NULL, NULL);
}
