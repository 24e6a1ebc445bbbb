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

#include <nnaccel/operation.h>

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

/* Checks that no operand follows a list of operands, so that a read beyond a list is noticed. */
static void check_ends(const struct nn_operation *op)
{
	assert_int_equal(op->inputs[op->num_inputs], UINT32_MAX);
	assert_int_equal(op->outputs[op->num_outputs], UINT32_MAX);
}

static void see_model(const struct nn_model *model)
{
	see(&model->relaxed, sizeof(model->relaxed));
	for (uint32_t i = 0; i < model->num_subgraphs; i++) {
		const struct nn_subgraph *s = &model->subgraphs[i];

		for (uint32_t k = 0; k < s->num_operands; k++)
			see_operand(model, &s->operands[k]);
		for (uint32_t k = 0; k < s->num_operations; k++) {
			const struct nn_operation *op = &s->operations[k];

			see(&op->type, sizeof(op->type));
			see_numbers(op->inputs, op->num_inputs);
			see_numbers(op->outputs, op->num_outputs);
			check_ends(op);
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

static void make_graphs(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		random_start(seed * 7919);
		make_graph();
		see_model(&g.model);
		see(&g.is_delicate, sizeof(g.is_delicate));
	}
}

static bool is_simple(int32_t code)
{
	return code == NN_OP_RELU || code == NN_OP_TRANSPOSE;
}

static bool is_nothing(int32_t code)
{
	(void)code;
	return false;
}

/* A graph may have only some operations; if it may have none, the search for one ends. */
static void make_simple_graphs(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		random_start(seed);
		assert_true(make_graph_of(is_simple));
		see_model(&g.model);
		for (uint32_t i = 0; i < g.subgraph.num_operations; i++)
			assert_true(is_simple(g.operations[i].type));
	}
	random_start(1);
	assert_false(make_graph_of(is_nothing));
	see_numbers((uint32_t[]){ random_bits() }, 1);
}

static void test_graphs(void **unused)
{
	(void)unused;
	g.values = malloc(VALUES_SIZE);
	assert_non_null(g.values);
	check_twice(make_graphs, UINT64_C(0x8b334e2cfe1da874));
	check_twice(make_simple_graphs, UINT64_C(0x9e8fa9e6d94efaae));
	free(g.values);
}

/* Includes the data of the inputs of a form. */
static void see_form(void)
{
	const struct nn_subgraph *main = &form.subgraphs[0];
	uint32_t size;

	see_model(&form.model);
	for (uint32_t i = 0; i < main->num_inputs; i++) {
		const struct nn_operand *o = &main->operands[main->inputs[i]];

		if (!has_floats(o->type) && nn_operand_size(o, &size))
			see(form_inputs[i], size);
	}
}

/* Makes forms of all types; `f` is the operation's row of the table, if the table has one. */
static void make_forms_of(const struct nn_op *op, const struct form *f)
{
	for (uint32_t t = 0; t < 4 * FORM_NUM_TYPES; t++) {
		random_start((uint64_t)op->code * 7919 + t);
		if (form_build(op, f, form_types[t % FORM_NUM_TYPES].type))
			see_form();
	}
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
		if (op && !nn_is_own(op->code))
			make_forms_of(op, &forms[i]);
	}
	make_forms_of(nn_op_find(NN_OP_IF), NULL);
	make_forms_of(nn_op_find(NN_OP_WHILE), NULL);
}

static void test_forms(void **unused)
{
	(void)unused;
	check_twice(make_forms, UINT64_C(0x8181471fd66de64c));
	form_is_large = true;
	check_twice(make_forms, UINT64_C(0x89a2e7aff3ced64c));
	form_is_large = false;
	form_is_plain = true;
	check_twice(make_forms, UINT64_C(0x2584a21f44e762f4));
	form_is_plain = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_forms),
	};

	return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
