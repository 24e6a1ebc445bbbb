/* SPDX-License-Identifier: MIT */
/*
 * Checks that a random test's printed seed gives equal graphs and forms in another build. The
 * fingerprints leave out floats, because compilers round floats differently. After an intended
 * change of a function that makes graphs or forms, store the fingerprints that this test prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/fingerprint.h"
#include "vectors/form.h"
#include "vectors/graph.h"
#include "vectors/operations.h"
#include "vectors/random.h"

static uint64_t seen;

static void see(const void *data, size_t size)
{
	const uint64_t both[] = { seen, nn_fingerprint64(data, size) };

	seen = nn_fingerprint64(both, sizeof(both));
}

static void see_numbers(const uint32_t *numbers, uint32_t count)
{
	see(numbers, count * sizeof(*numbers));
}

static bool has_floats(int32_t type)
{
	return type == NN_FLOAT32 || type == NN_TENSOR_FLOAT32 || type == NN_FLOAT16 ||
	       type == NN_TENSOR_FLOAT16;
}

static void see_operand(const struct nn_model *model, const struct nn_operand *o)
{
	const uint32_t numbers[] = { (uint32_t)o->type, o->rank, (uint32_t)o->lifetime,
				     (uint32_t)o->zero_point };
	const void *value = nn_operand_value(model, o);
	uint32_t size;

	see_numbers(numbers, sizeof(numbers) / sizeof(numbers[0]));
	see_numbers(o->dims, o->rank);
	if (value && !has_floats(o->type) && nn_operand_size(o, &size))
		see(value, size);
}

static void see_model(const struct nn_model *model)
{
	for (uint32_t i = 0; i < model->num_subgraphs; i++) {
		const struct nn_subgraph *s = &model->subgraphs[i];

		for (uint32_t k = 0; k < s->num_operands; k++)
			see_operand(model, &s->operands[k]);
		for (uint32_t k = 0; k < s->num_operations; k++) {
			const struct nn_operation *op = &s->operations[k];

			see(&op->type, sizeof(op->type));
			see_numbers(op->inputs, op->num_inputs);
			see_numbers(op->outputs, op->num_outputs);
		}
		see_numbers(s->inputs, s->num_inputs);
		see_numbers(s->outputs, s->num_outputs);
	}
}

static void check_twice(void (*make)(void), uint64_t right)
{
	uint64_t first;

	seen = 0;
	make();
	first = seen;
	seen = 0;
	make();
	assert_true(seen == first);
#ifndef __clang__
	/*
	 * Clang evaluates arguments in another order than GCC, so Clang's graphs differ from the
	 * stored fingerprints.
	 */
	if (seen != right)
		fail_msg("fingerprint 0x%016llx, not 0x%016llx", (unsigned long long)seen,
			 (unsigned long long)right);
#endif
	(void)right;
}

/* Checks that no operand follows a list of operands, so that a read beyond a list is noticed. */
static void check_ends(const struct nn_subgraph *s)
{
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *op = &s->operations[i];

		assert_int_equal(op->inputs[op->num_inputs], UINT32_MAX);
		assert_int_equal(op->outputs[op->num_outputs], UINT32_MAX);
	}
}

static void make_graphs(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		random_start(seed * 7919);
		make_graph();
		see_model(&g.model);
		check_ends(&g.subgraph);
	}
}

static void test_graphs(void **unused)
{
	(void)unused;
	g.values = malloc(VALUES_SIZE);
	assert_non_null(g.values);
	check_twice(make_graphs, UINT64_C(0xe332a1122a2b51de));
	free(g.values);
}

/*
 * Makes forms of the NNAPI's operations, but not of the project's own operations, which may still
 * change.
 */
static void make_forms(void)
{
	for (uint32_t i = 0; i < num_forms; i++) {
		const struct nn_op *op = NULL;

		for (size_t k = 0; k < nn_op_count(); k++)
			if (!strcmp(nn_op_at(k)->name, forms[i].name))
				op = nn_op_at(k);
		for (uint32_t t = 0; t < 4 * FORM_NUM_TYPES && op && !nn_is_own(op->code); t++) {
			random_start((uint64_t)op->code * 7919 + t);
			if (form_build(op, &forms[i], form_types[t % FORM_NUM_TYPES].type))
				see_model(&form.model);
		}
	}
}

static void test_forms(void **unused)
{
	(void)unused;
	check_twice(make_forms, UINT64_C(0xc533ec560bf70dbd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_forms),
	};

	return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
