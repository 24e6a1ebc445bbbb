/* SPDX-License-Identifier: MIT */
/*
 * Tests the code that all operations share: the operation table, fp16, a run's memory, omitted or
 * empty operands, and wrongly declared outputs. The test covers the signatures of IF and WHILE.
 */
#include <math.h>

#include <android/NeuralNetworksTypes.h>

#include "model_samples.h"
#include "op_case.h"
#include "ops/float16.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

enum { UNKNOWN = 4711 };

/* ---- The table ---- */

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < nn_op_count(); i++) {
		const struct nn_op *op = nn_op_at(i);

		assert_ptr_equal(nn_op_find(op->code), op);
		assert_string_equal(nn_op_name(op->code), op->name);
		assert_true(op->check || op->inputs);
		if (i)
			assert_true(nn_op_at(i - 1)->code < op->code);
		/* Plans execute IF and WHILE, so these operations have no execute function. */
		if (op->code == NN_OP_IF || op->code == NN_OP_WHILE)
			continue;
		assert_non_null(op->infer);
		assert_non_null(op->execute);
	}
	assert_null(nn_op_find(UNKNOWN));
	assert_null(nn_op_find(-1));
	assert_null(nn_op_find(NN_OP_OEM));
	assert_string_equal(nn_op_name(UNKNOWN), "operation 4711");
}

/*
 * The codes in the operation table equal the NNAPI's codes, and a search for each code finds the
 * code's entry.
 */
static void test_codes(void **state)
{
	static const struct {
		const char *name;
		int32_t code;
		int32_t nnapi;
	} all[] = {
#define NN_OP(name, ...) { #name, NN_OP_##name, ANEURALNETWORKS_##name },
#define NN_OWN_OP(name, ...) { #name, NN_OP_##name, NN_OP_##name },
#include "ops/ops.def"
#undef NN_OP
	};

	(void)state;
	assert_int_equal(sizeof(all) / sizeof(all[0]), nn_op_count());
	for (size_t i = 0; i < nn_op_count(); i++) {
		assert_int_equal(all[i].code, all[i].nnapi);
		assert_ptr_equal(nn_op_at(i), nn_op_find(all[i].code));
		assert_string_equal(nn_op_at(i)->name, all[i].name);
	}
}

/* The operation table has every operation of the NNAPI's feature levels 1 to 4. */
static void test_table_is_complete(void **state)
{
	(void)state;
	for (int32_t code = 0; code <= 101; code++) {
		if (!nn_op_find(code))
			fail_msg("operation %d is missing", code);
	}
}

/* ---- Half precision ---- */

/* Returns the fp16 number nearest to a float; ties go to even. */
static double nearest_half(double x)
{
	int exponent;
	double step;

	frexp(x, &exponent);
	step = ldexp(1, (exponent < -13 ? -13 : exponent) - 11);
	x = nearbyint(x / step) * step;
	return fabs(x) >= 65520 ? copysign(INFINITY, x) : x;
}

static void assert_rounds(float x)
{
	float got = nn_fp16_to_float(nn_float_to_fp16(x)), want = (float)nearest_half((double)x);

	if (memcmp(&got, &want, sizeof(got)))
		fail_msg("%a becomes %a, not %a", (double)x, (double)got, (double)want);
}

static void test_fp16_is_exact(void **state)
{
	(void)state;
	for (uint32_t fp16 = 0; fp16 <= UINT16_MAX; fp16++) {
		float value = nn_fp16_to_float((uint16_t)fp16);

		if (isnan(value)) {
			assert_true((fp16 & 0x7fff) > 0x7c00);
			assert_true(isnan(nn_fp16_to_float(nn_float_to_fp16(value))));
			continue;
		}
		assert_int_equal(nn_float_to_fp16(value), fp16);
	}
	assert_true(nn_fp16_to_float(0x3c00) == 1);
	assert_true(nn_fp16_to_float(0x0001) == 0x1p-24f);
	assert_true(nn_fp16_to_float(0x7bff) == 65504);
	assert_true(isinf(nn_fp16_to_float(0xfc00)));
}

/*
 * Converting an array gives the same results as converting each number, except that the payload
 * bits of a NaN may differ.
 */
static void test_arrays_of_fp16(void **state)
{
	enum { COUNT = 65536 + 5 };
	uint16_t *fp16 = malloc(COUNT * sizeof(*fp16)), *back = malloc(COUNT * sizeof(*back));
	float *floats = malloc(COUNT * sizeof(*floats));

	(void)state;
	assert_true(fp16 && back && floats);
	for (uint32_t i = 0; i < COUNT; i++)
		fp16[i] = (uint16_t)i;
	nn_fp16_to_fp32(fp16, floats, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		float one = nn_fp16_to_float(fp16[i]);

		assert_true(isnan(one) ? isnan(floats[i]) : !memcmp(&one, &floats[i], sizeof(one)));
		/*
		 * Make floats between two fp16 numbers, and floats beyond the largest and the
		 * smallest fp16 number.
		 */
		floats[i] *= i % 3 ? 1.0003f : 1.00048828125f;
	}
	nn_fp32_to_fp16(floats, back, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(isnan(floats[i]) || back[i] == nn_float_to_fp16(floats[i]));
	free(fp16);
	free(back);
	free(floats);
}

/*
 * Tests rounding of all floats halfway between two fp16 numbers, and of the floats next to each
 * halfway float.
 */
static void test_fp16_rounds(void **state)
{
	(void)state;
	for (uint16_t fp16 = 0; fp16 < 0x7bff; fp16++) {
		float low = nn_fp16_to_float(fp16), high = nn_fp16_to_float(fp16 + 1);
		float middle = low + (high - low) / 2;

		assert_rounds(middle);
		assert_rounds(-middle);
		assert_rounds(nextafterf(middle, low));
		assert_rounds(nextafterf(middle, high));
	}
	assert_rounds(65520);
	assert_rounds(nextafterf(65520, 0));
	assert_rounds(1e30f);
	assert_rounds(0x1p-149f);
}

static void test_fp16_may_be_unaligned(void **state)
{
	uint8_t bytes[7] = { 0 };
	float floats[] = { 1.5f, -2, 0.25f }, back[3];

	(void)state;
	nn_fp32_to_fp16(floats, bytes + 1, 3);
	nn_fp16_to_fp32(bytes + 1, back, 3);
	assert_memory_equal(floats, back, sizeof(floats));
}

/* ---- A run's memory and scalars ---- */

static void test_run_memory(void **state)
{
	struct nn_run r = { .op = nn_op_find(NN_OP_ADD) };
	uint8_t *block;

	(void)state;
	assert_null(nn_run_result(&r));
	for (size_t size = 0; size < 300; size += 37) {
		block = nn_run_alloc(&r, size, 1);
		assert_non_null(block);
		assert_int_equal((uintptr_t)block % 64, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(block[i], 0);
	}
	assert_null(nn_run_alloc(&r, SIZE_MAX / 2, 3));
	assert_null(nn_run_alloc(&r, SIZE_MAX, 1));
	nn_run_set_result(&r, block);
	assert_ptr_equal(nn_run_result(&r), block);
	nn_op_finish(&r);
	assert_null(r.scratch);
	nn_op_finish(&r);
}

static void test_scalars(void **state)
{
	static const uint16_t fp16 = 0xc000;
	struct op_case c;
	struct nn_run r;

	(void)state;
	oc_init(&c, "ADD");
	oc_int(&c, -7);
	oc_bool(&c, true);
	oc_float(&c, 1.25f);
	oc_input(&c, NN_FLOAT16, 0, NULL, &fp16);
	oc_int(&c, 5);
	c.tensors[4].omitted = true;
	r = (struct nn_run){ .op = c.op, .num_inputs = 5, .inputs = c.tensors };
	assert_int_equal(nn_run_int(&r, 0, 1), -7);
	assert_int_equal(nn_run_int(&r, 1, 0), 1);
	assert_true(nn_run_bool(&r, 1, false));
	assert_true(nn_run_float(&r, 2, 0) == 1.25f);
	assert_true(nn_run_float(&r, 3, 0) == -2);
	assert_int_equal(nn_run_int(&r, 4, 9), 9);
	assert_int_equal(nn_run_int(&r, 5, 9), 9);
	assert_true(nn_run_bool(&r, 5, true));
	assert_true(nn_run_float(&r, 5, 0.5f) == 0.5f);
	oc_free(&c);
}

/* ---- Running: what is refused for all operations ---- */

/*
 * Makes an ADD of two tensors of shape [2]; each test case then makes one field of the ADD invalid.
 */
static void begin_add(struct op_case *c)
{
	static const float one_two[] = { 1, 2 };

	oc_init(c, "ADD");
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(2), one_two);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(2), one_two);
	oc_int(c, 0);
	oc_output(c, NN_TENSOR_FLOAT32);
}

static void spoil_nothing(struct op_case *c)
{
	(void)c;
}

static void omit_input(struct op_case *c)
{
	c->tensors[1].omitted = true;
}

static void omit_output(struct op_case *c)
{
	c->tensors[3].omitted = true;
}

static void declare_rank(struct op_case *c)
{
	c->tensors[3].rank = 2;
}

static void declare_dimension(struct op_case *c)
{
	c->tensors[3].rank = 1;
	c->tensors[3].dims[0] = 3;
}

static void declare_right(struct op_case *c)
{
	c->tensors[3].rank = 1;
	c->tensors[3].dims[0] = 2;
}

static void declare_unknown_dimension(struct op_case *c)
{
	c->tensors[3].rank = 1;
}

static void test_refused_runs(void **state)
{
	static const struct {
		void (*spoil)(struct op_case *c);
		const char *message;		/* NULL: runs */
	} table[] = {
		{ spoil_nothing, NULL },
		{ declare_right, NULL },
		{ declare_unknown_dimension, NULL },
		{ omit_input, "ADD: input 1 is omitted" },
		{ omit_output, "ADD: output 0 is omitted" },
		{ declare_rank, "output 0 has 1 dimensions, the model says 2" },
		{ declare_dimension, "dimension 0 of output 0 is 2, the model says 3" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		enum nn_status status;
		struct op_case c;

		begin_add(&c);
		table[i].spoil(&c);
		status = oc_run(&c);
		assert_int_equal(status, table[i].message ? NN_GENERAL_FAILURE : NN_OK);
		if (table[i].message && !strstr(c.err.message, table[i].message))
			fail_msg("\"%s\" instead of \"%s\"", c.err.message, table[i].message);
		oc_free(&c);
	}
}

static void test_empty_inputs(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "ABS");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 0), NULL);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
	assert_non_null(strstr(c.err.message, "input 0 has no elements"));
	oc_free(&c);

	oc_init(&c, "RELU");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 0), NULL);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_int_equal(oc_result(&c, 0)->rank, 2);
	assert_int_equal(nn_tensor_count(oc_result(&c, 0)), 0);
	oc_free(&c);
}

/*
 * A temporary tensor gets the quantisation that its operation requires, not the declared
 * quantisation.
 */
static void test_quantisation_of_temporaries(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "LOGISTIC");
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1), NULL);
	oc_quantise(&c, 0.5f, 0);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
	oc_quantise(&c, 0.3f, 7);
	c.tensors[1].is_model_output = false;
	assert_int_equal(oc_run(&c), NN_OK);
	assert_true(oc_result(&c, 0)->scale == 1.0f / 256);
	assert_int_equal(oc_result(&c, 0)->zero_point, 0);
	oc_free(&c);
}

/*
 * FILL refuses dimensions if the output would have 4 GiB, or if the dimensions' product exceeds 64
 * bits.
 */
static void test_outputs_that_are_too_large(void **state)
{
	static const int32_t table[][4] = {
		{ 1 << 15, 1 << 15, 1, 1 },
		{ INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, "FILL");
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(4), table[i]);
		oc_int(&c, 0);
		oc_output(&c, NN_TENSOR_INT32);
		assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
		assert_non_null(strstr(c.err.message, "4 GiB"));
		oc_free(&c);
	}
}

/* An output may have at most 2^32 - 1 bytes. */
static void test_largest_output(void **state)
{
	static const struct { int32_t times[2]; enum nn_status status; } cases[] = {
		{ { 65537, 65535 }, NN_OK },
		{ { 65536, 65536 }, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct op_case c;
		struct nn_run r;

		oc_init(&c, "TILE");
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1, 1), NULL);
		oc_quantise(&c, 1, 0);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(2), cases[i].times);
		oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
		oc_quantise(&c, 1, 0);
		assert_int_equal(oc_infer(&c, &r), cases[i].status);
		nn_op_finish(&r);
		oc_free(&c);
	}
}

static void test_sets(void **state)
{
	(void)state;
	assert_true(nn_has_input(NN_IN(5), 5));
	assert_false(nn_has_input(NN_IN(5), 4) || nn_has_input(NN_IN(5), 6));
	assert_true(nn_has_input(UINT64_MAX, 63));
	assert_false(nn_has_input(UINT64_MAX, 64) || nn_has_input(UINT64_MAX, 65));
}

/* ---- Checking models ---- */

static struct model_builder built;

static enum nn_status check(bool *supported, struct nn_error *err)
{
	*err = (struct nn_error){ "" };
	return nn_ops_check_model(&built.model, supported, err);
}

static struct nn_operation *operation_of(uint32_t subgraph, uint32_t index)
{
	return &built.operations[subgraph][index];
}

static void test_model_checks(void **state)
{
	bool supported = false;
	struct nn_error err;

	(void)state;
	sample_add(&built);
	assert_int_equal(check(NULL, &err), NN_OK);
	assert_int_equal(check(&supported, &err), NN_OK);
	assert_true(supported);

	operation_of(0, 0)->num_inputs = 2;
	assert_int_equal(check(&supported, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "subgraph 0, operation 0: ADD: 2 inputs, must be 3");

	sample_add(&built);
	operation_of(0, 0)->type = UNKNOWN;
	assert_int_equal(check(&supported, &err), NN_OK);
	assert_false(supported);
	assert_int_equal(check(NULL, &err), NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "operation 4711"));
}

/* An operation is not supported if it refers to a subgraph that cannot be executed. */
static void test_support_of_subgraphs(void **state)
{
	bool supported = false;
	struct nn_error err;

	(void)state;
	sample_if(&built);
	assert_int_equal(check(&supported, &err), NN_OK);
	assert_true(supported);
	operation_of(2, 0)->type = UNKNOWN;
	assert_int_equal(check(&supported, &err), NN_OK);
	assert_false(supported);
}

/* The unknown operation is in the last of three subgraphs, each of which refers to the next one. */
static void test_support_of_nested_subgraphs(void **state)
{
	uint32_t condition, x, z, next;
	bool supported[2];
	struct nn_error err;

	(void)state;
	mb_init(&built);
	for (uint32_t depth = 0; depth < 4; depth++) {
		if (depth)
			mb_subgraph(&built);
		condition = mb_operand(&built, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(1));
		x = mb_operand(&built, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(1));
		z = mb_operand(&built, NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
		if (depth == 3) {
			mb_operation(&built, NN_OP_LOGICAL_AND, MB_LIST(condition, x), MB_LIST(z));
			break;
		}
		next = mb_subgraph_operand(&built, depth + 1);
		mb_operation(&built, NN_OP_IF, MB_LIST(condition, next, next, condition, x), MB_LIST(z));
		if (!depth)
			mb_operation(&built, NN_OP_LOGICAL_NOT, MB_LIST(x),
				     MB_LIST(mb_operand(&built, NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, MB_DIMS(1))));
	}
	assert_int_equal(check(supported, &err), NN_OK);
	assert_true(supported[0] && supported[1]);
	operation_of(3, 0)->type = UNKNOWN;
	assert_int_equal(check(supported, &err), NN_OK);
	assert_true(!supported[0] && supported[1]);
}

/* ---- IF and WHILE ---- */

/*
 * Each case changes a field of an operand or subgraph in a sample model, and gives the expected
 * message.
 */
enum field { TYPE, RANK, DIM, SCALE, LIFETIME, OFFSET, NUM_INPUTS, NUM_OUTPUTS, OP_INPUTS, OP_OUTPUTS };

struct broken {
	uint32_t subgraph;
	uint32_t operand;
	enum field field;
	uint32_t value;
	const char *message;
};

static void spoil(const struct broken *b)
{
	struct nn_operand *o = &built.operands[b->subgraph][b->operand];

	switch (b->field) {
	case TYPE:
		o->type = (int32_t)b->value;
		break;
	case RANK:
		o->rank = b->value;
		break;
	case DIM:
		o->dims[0] = b->value;
		break;
	case SCALE:
		o->scale = (float)b->value;
		break;
	case LIFETIME:
		o->lifetime = b->value;
		break;
	case OFFSET:
		o->location.offset = b->value;
		break;
	case NUM_INPUTS:
		built.subgraphs[b->subgraph].num_inputs = b->value;
		break;
	case NUM_OUTPUTS:
		built.subgraphs[b->subgraph].num_outputs = b->value;
		break;
	case OP_INPUTS:
		operation_of(0, 0)->num_inputs = b->value;
		break;
	case OP_OUTPUTS:
		operation_of(0, 0)->num_outputs = b->value;
		break;
	}
}

static void check_broken(void (*sample)(struct model_builder *b), const struct broken *table,
			 size_t count)
{
	struct nn_error err;

	sample(&built);
	assert_int_equal(check(NULL, &err), NN_OK);
	for (size_t i = 0; i < count; i++) {
		sample(&built);
		spoil(&table[i]);
		if (check(NULL, &err) != NN_INVALID_ARGUMENT)
			fail_msg("taken, not refused with \"%s\"", table[i].message);
		if (!strstr(err.message, table[i].message))
			fail_msg("\"%s\" instead of \"%s\"", err.message, table[i].message);
	}
}

/*
 * In the IF model, operand 0 is the condition, operands 1 and 2 are inputs, 3 is the output, 4 and
 * 5 are the branches.
 */
static void test_if(void **state)
{
	static const struct broken table[] = {
		{ 0, 0, OP_INPUTS, 2, "IF: 2 inputs, must be at least 3" },
		{ 0, 0, OP_OUTPUTS, 0, "IF: 0 outputs" },
		{ 0, 0, OP_INPUTS, 4, "input 1 (SUBGRAPH): its subgraph has 2 inputs, must have 1" },
		{ 0, 0, TYPE, NN_TENSOR_INT32, "input 0 (TENSOR_INT32): must be a TENSOR_BOOL8" },
		{ 0, 0, RANK, 0, "input 0 (TENSOR_BOOL8): must be" },
		{ 0, 0, DIM, 0, "input 0 (TENSOR_BOOL8): must be" },
		{ 0, 0, DIM, 2, "input 0 (TENSOR_BOOL8): must be" },
		{ 0, 4, TYPE, NN_INT32, "input 1 (INT32): must refer to a subgraph" },
		{ 0, 5, LIFETIME, NN_TEMPORARY, "input 2 (SUBGRAPH): must refer" },
		{ 0, 5, OFFSET, 2, "input 2 (SUBGRAPH): refers to a subgraph that does not exist" },
		{ 0, 1, TYPE, NN_TENSOR_INT32, "input 3 (TENSOR_INT32): differs from input 0" },
		{ 0, 2, DIM, 3, "input 4 (TENSOR_FLOAT32): differs from input 1" },
		{ 2, 1, RANK, 2, "of the subgraph of input 2: dimensions" },
		{ 1, 2, TYPE, NN_TENSOR_INT32, "output 0 (TENSOR_FLOAT32): differs from output 0" },
		{ 0, 3, SCALE, 1, "scales or zero points" },
		{ 2, 0, NUM_INPUTS, 1, "input 2 (SUBGRAPH): its subgraph has 1 inputs, must have 2" },
		{ 2, 0, NUM_OUTPUTS, 0, "input 2 (SUBGRAPH): its subgraph has 0 outputs, must have 1" },
	};

	(void)state;
	check_broken(sample_if, table, LENGTH(table));
}

/*
 * In the WHILE model, operands 0 and 1 are the subgraphs, operands 2 to 4 are inputs, 5 and 6 are
 * the outputs.
 */
static void test_while(void **state)
{
	static const struct broken table[] = {
		{ 0, 0, OP_INPUTS, 2, "WHILE: 2 inputs" },
		{ 0, 0, OP_OUTPUTS, 0, "WHILE: 0 outputs" },
		{ 0, 0, OP_INPUTS, 4, "its subgraph has 3 inputs, must have 2" },
		{ 0, 0, TYPE, NN_INT32, "input 0 (INT32): must refer to a subgraph" },
		{ 0, 1, OFFSET, 7, "input 1 (SUBGRAPH): refers to a subgraph that does not exist" },
		{ 1, 3, TYPE, NN_TENSOR_INT32, "input 0 (SUBGRAPH): the output of its subgraph" },
		{ 1, 3, DIM, 2, "input 0 (SUBGRAPH): the output of its subgraph" },
		{ 1, 0, NUM_OUTPUTS, 0, "input 0 (SUBGRAPH): the output of its subgraph" },
		{ 1, 0, TYPE, NN_TENSOR_INT32, "differs from input 0 of the subgraph of input 0" },
		{ 2, 2, DIM, 5, "differs from input 2 of the subgraph of input 1: dimensions" },
		{ 2, 0, NUM_OUTPUTS, 1, "its subgraph has 1 outputs, must have 2 to 3" },
		{ 2, 3, DIM, 4, "output 0 of its subgraph differs from its input: dimensions" },
		{ 0, 5, TYPE, NN_TENSOR_INT32, "output 0 (TENSOR_INT32): differs from output 0" },
	};

	(void)state;
	check_broken(sample_while, table, LENGTH(table));
}

/* An unknown dimension agrees with any dimension. */
static void test_unknown_dimensions(void **state)
{
	static const struct broken table[] = {
		{ 2, 0, DIM, 0, "" }, { 2, 0, RANK, 0, "" }, { 0, 2, RANK, 0, "" },
	};
	struct nn_error err;

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		sample_while(&built);
		spoil(&table[i]);
		assert_int_equal(check(NULL, &err), NN_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_table_is_complete),
		cmocka_unit_test(test_fp16_is_exact),
		cmocka_unit_test(test_fp16_rounds),
		cmocka_unit_test(test_arrays_of_fp16),
		cmocka_unit_test(test_fp16_may_be_unaligned),
		cmocka_unit_test(test_run_memory),
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_refused_runs),
		cmocka_unit_test(test_empty_inputs),
		cmocka_unit_test(test_quantisation_of_temporaries),
		cmocka_unit_test(test_outputs_that_are_too_large),
		cmocka_unit_test(test_largest_output),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_model_checks),
		cmocka_unit_test(test_support_of_subgraphs),
		cmocka_unit_test(test_support_of_nested_subgraphs),
		cmocka_unit_test(test_if),
		cmocka_unit_test(test_while),
		cmocka_unit_test(test_unknown_dimensions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
