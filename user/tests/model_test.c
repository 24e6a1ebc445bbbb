/* SPDX-License-Identifier: MIT */
/*
 * Tests the checker of models: it accepts valid models, and rejects each invalid model of a table
 * with the expected message. The test covers sizes of operands, comparison of types, and
 * descriptions of devices.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <nnaccel/device.h>

#include "model/device_read.h"
#include "model/operand.h"
#include "model_samples.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Names for the fields of sample_everything() that BROKEN_MODELS makes invalid. */
#define OPERAND(i) (b->operands[0][i])
#define OPERATION(i) (b->operations[0][i])
#define INPUT(op, i) (((uint32_t *)b->operations[0][op].inputs)[i])
#define OUTPUT(op, i) (((uint32_t *)b->operations[0][op].outputs)[i])
#define SCALE(i, f) (((float *)memcpy(scratch, OPERAND(i).extra.scales, 12))[0] = (f), \
		     OPERAND(i).extra.scales = scratch)

/* Each X() has a name, a statement that breaks the model, and the expected message. */
#define BROKEN_MODELS(X) \
X(no_subgraph, b->model.num_subgraphs = 0, "the model has no subgraph") \
X(no_operations, b->subgraphs[0].num_operations = 0, "subgraph 0 has no operations") \
X(no_operands, b->subgraphs[0].num_operands = 0, "subgraph 0 has no operands") \
X(no_operations_below, b->subgraphs[2].num_operations = 0, "subgraph 2 has no operations") \
X(no_operands_below, b->subgraphs[1].num_operands = 0, "subgraph 1 has no operands") \
X(type_beyond, OPERAND(0).type = 16, "subgraph 0, operand 0 (unknown type): type 16") \
X(type_between, OPERAND(0).type = 9999, "subgraph 0, operand 0 (unknown type): type 9999") \
X(type_at_64k, OPERAND(0).type = 0xffff, "subgraph 0, operand 0 (unknown type): type 65535") \
X(type_of_unlisted_extension, OPERAND(11).type = 0x00040005, \
  "operand 11 (unknown type): the extension of type 0x40005 is not listed") \
X(type_negative, OPERAND(0).type = -1, \
  "operand 0 (unknown type): the extension of type 0xffffffff is not listed") \
X(rank_beyond, OPERAND(0).rank = 17, "operand 0 (TENSOR_FLOAT32): rank 17 exceeds 16") \
X(rank_huge, OPERAND(0).rank = UINT32_MAX, "operand 0 (TENSOR_FLOAT32): rank 4294967295") \
X(scalar_with_dims, OPERAND(2).rank = 1, "operand 2 (INT32): a scalar has 1 dimensions, not 0") \
X(dims_beyond_rank, OPERAND(0).dims[15] = 7, \
  "operand 0 (TENSOR_FLOAT32): dimension 15 is 7, must be 0 beyond rank 1") \
X(dims_without_rank, OPERAND(12).dims[0] = 2, \
  "operand 12 (TENSOR_INT32): dimension 0 is 2, must be 0 beyond rank 0") \
X(size_overflow, (OPERAND(0).rank = 2, OPERAND(0).dims[0] = 65536, OPERAND(0).dims[1] = 16384), \
  "operand 0 (TENSOR_FLOAT32): its size does not fit 32 bits") \
X(size_overflow_with_unknown, (OPERAND(0).rank = 3, OPERAND(0).dims[0] = 0, \
  OPERAND(0).dims[1] = 65536, OPERAND(0).dims[2] = 65536), \
  "operand 0 (TENSOR_FLOAT32): its size does not fit 32 bits") \
X(float_scale, OPERAND(0).scale = 1, "operand 0 (TENSOR_FLOAT32): scale 1") \
X(float_zero_point, OPERAND(0).zero_point = 1, \
  "operand 0 (TENSOR_FLOAT32): zero point 1, must be 0 to 0") \
X(scalar_scale, OPERAND(2).scale = 1, "operand 2 (INT32): scale 1") \
X(scalar_zero_point, OPERAND(2).zero_point = -1, "operand 2 (INT32): zero point -1") \
X(int32_scale_negative, OPERAND(12).scale = -1, "operand 12 (TENSOR_INT32): scale -1") \
X(int32_zero_point, OPERAND(12).zero_point = 1, "operand 12 (TENSOR_INT32): zero point 1") \
X(quant8_scale_zero, OPERAND(5).scale = 0, "operand 5 (TENSOR_QUANT8_ASYMM): scale 0") \
X(quant8_scale_negative, OPERAND(5).scale = -1, "operand 5 (TENSOR_QUANT8_ASYMM): scale -1") \
X(quant8_scale_nan, OPERAND(5).scale = NAN, "operand 5 (TENSOR_QUANT8_ASYMM): scale ") \
X(quant8_scale_infinite, OPERAND(5).scale = INFINITY, \
  "operand 5 (TENSOR_QUANT8_ASYMM): scale inf") \
X(int32_scale_nan, OPERAND(12).scale = NAN, "operand 12 (TENSOR_INT32): scale ") \
X(quant8_zero_point_low, OPERAND(5).zero_point = -1, \
  "operand 5 (TENSOR_QUANT8_ASYMM): zero point -1, must be 0 to 255") \
X(quant8_zero_point_high, OPERAND(5).zero_point = 256, \
  "operand 5 (TENSOR_QUANT8_ASYMM): zero point 256, must be 0 to 255") \
X(quant8s_zero_point, (OPERAND(5).type = NN_TENSOR_QUANT8_ASYMM_SIGNED, \
  OPERAND(5).zero_point = 128), "operand 5 (TENSOR_QUANT8_ASYMM_SIGNED): zero point 128") \
X(quant8_symm_zero_point, OPERAND(5).type = NN_TENSOR_QUANT8_SYMM, \
  "operand 5 (TENSOR_QUANT8_SYMM): zero point 3, must be 0 to 0") \
X(quant16_symm_zero_point, OPERAND(5).type = NN_TENSOR_QUANT16_SYMM, \
  "operand 5 (TENSOR_QUANT16_SYMM): zero point 3, must be 0 to 0") \
X(quant16_zero_point, (OPERAND(5).type = NN_TENSOR_QUANT16_ASYMM, \
  OPERAND(5).zero_point = 65536), "operand 5 (TENSOR_QUANT16_ASYMM): zero point 65536") \
X(extension_scale, OPERAND(11).scale = 1, "operand 11 (unknown type): scale 1") \
X(extension_zero_point, OPERAND(11).zero_point = 1, "operand 11 (unknown type): zero point 1") \
X(channel_scale, OPERAND(7).scale = 1, "operand 7 (TENSOR_QUANT8_SYMM_PER_CHANNEL): scale 1") \
X(channel_no_scales, OPERAND(7).extra.kind = NN_EXTRA_NONE, \
  "operand 7 (TENSOR_QUANT8_SYMM_PER_CHANNEL): it has no scales per channel") \
X(channel_dim_beyond, OPERAND(7).extra.channel_dim = 2, \
  "channel dimension 2, must be below rank 2") \
X(channel_count, OPERAND(7).extra.count = 2, "2 scales, must be one for each of 3 channels") \
X(channel_count_zero, (OPERAND(7).extra.count = 0, OPERAND(7).dims[0] = 0), \
  "0 scales, must be one for each of 0 channels") \
X(channel_scale_zero, SCALE(7, 0), "scale 0 of channel 0 must be finite and > 0") \
X(channel_scale_nan, SCALE(7, NAN), "of channel 0") \
X(extra_of_plain_type, OPERAND(0).extra.kind = NN_EXTRA_EXTENSION, \
  "operand 0 (TENSOR_FLOAT32): wrong extra parameters (kind 2)") \
X(extra_scales_of_plain_type, OPERAND(5).extra.kind = NN_EXTRA_CHANNEL_QUANT, \
  "operand 5 (TENSOR_QUANT8_ASYMM): wrong extra parameters (kind 1)") \
X(extra_scales_of_extension, OPERAND(11).extra.kind = NN_EXTRA_CHANNEL_QUANT, \
  "operand 11 (unknown type): wrong extra parameters (kind 1)") \
X(extra_kind_beyond, OPERAND(11).extra.kind = 3, "wrong extra parameters (kind 3)") \
X(extra_count_of_none, OPERAND(0).extra.count = 1, \
  "operand 0 (TENSOR_FLOAT32): extra parameters do not fit their kind") \
X(extra_channel_of_extension, OPERAND(11).extra.channel_dim = 1, \
  "operand 11 (unknown type): extra parameters do not fit their kind") \
X(lifetime_beyond, OPERAND(0).lifetime = 7, "operand 0 (TENSOR_FLOAT32): lifetime 7") \
X(subgraph_as_temporary, OPERAND(9).lifetime = NN_TEMPORARY, \
  "operand 9 (SUBGRAPH): lifetime 0 is not allowed for its type") \
X(tensor_as_subgraph, OPERAND(6).lifetime = NN_SUBGRAPH, \
  "operand 6 (TENSOR_FLOAT32): lifetime 6 is not allowed for its type") \
X(constant_unknown_dim, OPERAND(1).dims[0] = 0, \
  "operand 1 (TENSOR_FLOAT32): the shape of a constant is not known") \
X(constant_unknown_rank, (OPERAND(1).rank = 0, OPERAND(1).dims[0] = 0), \
  "operand 1 (TENSOR_FLOAT32): the shape of a constant is not known") \
X(constant_too_short, OPERAND(1).location.length = 7, "a constant has 7 bytes, must have 8") \
X(constant_too_long, OPERAND(1).location.length = 9, "a constant has 9 bytes, must have 8") \
X(constant_scalar_length, OPERAND(2).location.length = 2, \
  "operand 2 (INT32): a constant has 2 bytes, must have 4") \
X(copy_in_a_pool, OPERAND(1).location.pool = 1, "a copied constant in pool 1, not 0") \
X(copy_beyond_values, OPERAND(1).location.offset = b->model.values_size - 7, \
  "operand 1 (TENSOR_FLOAT32): 8 bytes at ") \
X(copy_offset_wraps, OPERAND(1).location.offset = UINT64_MAX - 3, "end beyond the values of ") \
X(reference_no_pool, OPERAND(5).location.pool = 1, \
  "operand 5 (TENSOR_QUANT8_ASYMM): pool 1, must be below 1") \
X(reference_beyond_pool, OPERAND(5).location.offset = 61, \
  "operand 5 (TENSOR_QUANT8_ASYMM): 4 bytes at 61 end beyond a pool of 64") \
X(reference_offset_wraps, OPERAND(5).location.offset = UINT64_MAX - 1, \
  "end beyond a pool of 64") \
X(extension_beyond_values, OPERAND(11).location.length = UINT32_MAX, \
  "operand 11 (unknown type): 4294967295 bytes at ") \
X(temporary_length, OPERAND(3).location.length = 8, \
  "operand 3 (TENSOR_FLOAT32): a location is not allowed for lifetime 0") \
X(input_offset, OPERAND(0).location.offset = 8, "operand 0 (TENSOR_FLOAT32): a location") \
X(output_pool, OPERAND(4).location.pool = 1, "operand 4 (TENSOR_FLOAT32): a location") \
X(no_value_length, OPERAND(6).location.length = 4, "operand 6 (TENSOR_FLOAT32): a location") \
X(subgraph_length, OPERAND(9).location.length = 4, "operand 9 (SUBGRAPH): a location") \
X(subgraph_beyond, OPERAND(10).location.offset = 2, \
  "operand 10 (SUBGRAPH): referenced subgraph 2, must be below 2") \
X(subgraph_wraps, OPERAND(10).location.offset = UINT64_MAX, \
  "operand 10 (SUBGRAPH): referenced subgraph 18446744073709551615, must be below 2") \
X(input_index, b->inputs[0][1] = 14, "subgraph 0, input 1: operand 14, must be below 14") \
X(input_twice, b->inputs[0][1] = 0, "operand 0 (TENSOR_FLOAT32): listed again as input 1") \
X(input_is_constant, b->inputs[0][1] = 1, \
  "operand 1 (TENSOR_FLOAT32): listed as input 1, but has lifetime 3") \
X(input_not_listed, b->subgraphs[0].num_inputs--, \
  "operand 12 (TENSOR_INT32): lifetime 1, but is not listed") \
X(output_index, b->outputs[0][0] = UINT32_MAX, \
  "subgraph 0, output 0: operand 4294967295, must be below 14") \
X(output_is_temporary, b->outputs[0][0] = 3, \
  "operand 3 (TENSOR_FLOAT32): listed as output 0, but has lifetime 0") \
X(output_is_input, b->outputs[0][0] = 0, \
  "operand 0 (TENSOR_FLOAT32): listed as output 0, but has lifetime 1") \
X(output_not_listed, b->subgraphs[0].num_outputs--, \
  "operand 4 (TENSOR_FLOAT32): lifetime 2, but is not listed") \
X(operation_input_index, INPUT(0, 1) = 14, \
  "subgraph 0, operation 0 (code 0), input 1: operand 14, must be below 14") \
X(operation_output_index, OUTPUT(0, 0) = 14, \
  "subgraph 0, operation 0 (code 0), output 0: operand 14, must be below 14") \
X(operation_unlisted_extension, OPERATION(2).type = 0x00050001, \
  "subgraph 0, operation 2 (code 327681): its extension is not listed") \
X(operation_negative, OPERATION(0).type = -5, \
  "subgraph 0, operation 0 (code -5): its extension is not listed") \
X(used_before_written, INPUT(0, 0) = 13, \
  "subgraph 0, operation 0 (code 0), input 0: operand 13 has no value yet") \
X(used_by_its_writer, INPUT(0, 0) = 3, \
  "subgraph 0, operation 0 (code 0), input 0: operand 3 has no value yet") \
X(input_written, OUTPUT(2, 0) = 0, \
  "subgraph 0, operation 2 (code 196609), output 0: operand 0 of lifetime 1 is read-only") \
X(constant_written, OUTPUT(2, 0) = 1, "output 0: operand 1 of lifetime 3 is read-only") \
X(no_value_written, OUTPUT(2, 0) = 6, "output 0: operand 6 of lifetime 5 is read-only") \
X(subgraph_written, OUTPUT(2, 0) = 9, "output 0: operand 9 of lifetime 6 is read-only") \
X(written_twice, OUTPUT(1, 0) = 3, \
  "subgraph 0, operation 1 (code 96), output 0: operand 3 is written again") \
X(never_written, OPERATION(2).num_outputs = 0, \
  "subgraph 0, operand 13 (TENSOR_FLOAT16): no operation writes it") \
X(output_never_written, OPERATION(1).num_outputs = 0, \
  "subgraph 0, operand 4 (TENSOR_FLOAT32): no operation writes it") \
X(consumers_too_many, OPERAND(12).consumers = 3, \
  "operand 12 (TENSOR_INT32): claims 3 consumers, but has 2") \
X(consumers_too_few, OPERAND(3).consumers = 0, \
  "operand 3 (TENSOR_FLOAT32): claims 0 consumers, but has 1") \
X(below_type, b->operands[2][1].type = 77, "subgraph 2, operand 1 (unknown type): type 77") \
X(refers_to_itself, refer(b, 1, 1), "subgraph 1, operand 4 (SUBGRAPH): refers to subgraph 1") \
X(refers_in_a_circle, (refer(b, 1, 2), refer(b, 2, 1)), \
  "subgraph 2, operand 4 (SUBGRAPH): refers to subgraph 1") \
X(extension_reserved, b->extensions[0].prefix = 0, \
  "extension 0 (com.example.ext): prefix 0 is reserved") \
X(extension_own, b->extensions[0].prefix = NN_OWN_PREFIX, \
  "extension 0 (com.example.ext): prefix 28270 is reserved") \
X(type_own, OPERAND(0).type = NN_OWN_PREFIX << 16, \
  "operand 0 (unknown type): the extension of type 0x6e6e0000 is not listed") \
X(extension_prefix_twice, extend(b, "com.example.other", 3), \
  "extension 1 (com.example.other): prefix 3 is used twice") \
X(extension_name_twice, extend(b, "com.example.ext", 4), \
  "extension \"com.example.ext\" is listed twice") \
X(extension_name_empty, b->extensions[0].name = "", \
  "extension 0: the name \"\" is not printable") \
X(extension_name_control, b->extensions[0].name = "a\nb", \
  "extension 0: the name \"a?b\" is not printable") \
X(extension_name_blank, b->extensions[0].name = "a b", \
  "extension 0: the name \"a b\" is not printable") \
X(extension_name_high, b->extensions[0].name = "a\177b", \
  "extension 0: the name \"a?b\" is not printable")

static float scratch[3];

/* Adds an operand to subgraph `from`; the operand refers to subgraph `to`. */
static void refer(struct model_builder *b, uint32_t from, uint32_t to)
{
	b->at = from;
	mb_subgraph_operand(b, to);
}

static void extend(struct model_builder *b, const char *name, uint16_t prefix)
{
	b->model.num_extensions = 2;
	b->extensions[1] = (struct nn_extension_prefix){ name, prefix };
}

#define BREAK_FUNCTION(name, statement, message) \
static void break_##name(struct model_builder *b) { statement; }
BROKEN_MODELS(BREAK_FUNCTION)

#define BREAK_ENTRY(name, statement, message) { #name, break_##name, message },
static const struct {
	const char *name;
	void (*spoil)(struct model_builder *b);
	const char *message;
} broken_models[] = { BROKEN_MODELS(BREAK_ENTRY) };

static void test_broken_models(void **state)
{
	static struct model_builder b;
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(broken_models); i++) {
		struct nn_error err = { "" };
		enum nn_status status;

		sample_everything(&b);
		broken_models[i].spoil(&b);
		status = nn_model_check(&b.model, &err);
		if (status != NN_INVALID_ARGUMENT || !strstr(err.message, broken_models[i].message))
			fail_msg("%s: %s: \"%s\"", broken_models[i].name, nn_status_name(status),
				 err.message);
		assert_int_equal(nn_model_check(&b.model, NULL), NN_INVALID_ARGUMENT);
	}
}

static void assert_accepted(const struct nn_model *model)
{
	struct nn_error err = { "" };

	if (nn_model_check(model, &err))
		fail_msg("%s", err.message);
	assert_string_equal(err.message, "");
}

static void test_samples(void **state)
{
	static void (*const samples[])(struct model_builder *) = {
		sample_everything, sample_add, sample_if, sample_while, sample_reshape,
	};
	static struct model_builder b;
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(samples); i++) {
		samples[i](&b);
		assert_accepted(&b.model);
	}
}

/* Accepts operands that no rule restricts, and operands at the limits of the rules. */
static void test_lenient_rules(void **state)
{
	static const struct {
		int32_t type;
		float scale;
		int32_t zero_point;
	} bounds[] = {
		{ NN_TENSOR_QUANT8_ASYMM, 1e-40f, 0 }, { NN_TENSOR_QUANT8_ASYMM, 1, 255 },
		{ NN_TENSOR_QUANT16_ASYMM, 1, 0 }, { NN_TENSOR_QUANT16_ASYMM, 1, 65535 },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, 1, -128 },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, FLT_MAX, 127 }, { NN_TENSOR_INT32, 0, 0 },
		{ NN_TENSOR_QUANT8_SYMM, 1, 0 }, { NN_TENSOR_QUANT16_SYMM, 1, 0 },
	};
	static struct model_builder b;
	uint32_t i;

	(void)state;
	sample_everything(&b);
	b.at = 0;
	i = mb_constant(&b, NN_OEM_SCALAR, "12345", 5, MB_NONE);
	b.operands[0][i].scale = -3;
	b.operands[0][i].zero_point = 99;
	i = mb_operand(&b, NN_TENSOR_OEM_BYTE, NN_NO_VALUE, MB_DIMS(0, 4));
	b.operands[0][i].scale = -3;
	i = mb_operand(&b, NN_TENSOR_INT32, NN_NO_VALUE, MB_NONE);
	b.operands[0][i].scale = 0.25f;
	b.operands[0][11].extra = (struct nn_extra){ .kind = NN_EXTRA_NONE };
	for (size_t k = 0; k < LENGTH(bounds); k++) {
		i = mb_operand(&b, bounds[k].type, NN_NO_VALUE, MB_DIMS(1));
		b.operands[0][i].scale = bounds[k].scale;
		b.operands[0][i].zero_point = bounds[k].zero_point;
	}
	i = mb_operand(&b, NN_TENSOR_FLOAT32, NN_NO_VALUE, MB_DIMS(0));
	b.operands[0][i].rank = NN_MAX_RANK;
	b.operands[0][i].dims[NN_MAX_RANK - 1] = 7;
	b.extensions[0].name = "!~";
	i = mb_operand(&b, NN_TENSOR_BOOL8, NN_NO_VALUE, MB_DIMS(UINT32_MAX));
	assert_accepted(&b.model);
	b.operands[0][i].rank = 2;
	b.operands[0][i].dims[1] = 2;
	assert_int_equal(nn_model_check(&b.model, NULL), NN_INVALID_ARGUMENT);
}

/*
 * Checks a model whose subgraphs form a chain. Each subgraph of the chain has one operation, and an
 * operand that refers to the next subgraph.
 */
static enum nn_status check_chain(uint32_t length, struct nn_error *err)
{
	struct nn_operand (*operands)[2] = calloc(length, sizeof(*operands));
	struct nn_subgraph *subgraphs = calloc(length, sizeof(*subgraphs));
	const struct nn_operation operation = { .type = 0, .num_outputs = 1,
						.outputs = &(uint32_t){ 0 } };
	struct nn_model model = { .size = sizeof(model),
				  .num_subgraphs = length, .subgraphs = subgraphs };
	enum nn_status status;
	uint32_t i;

	for (i = 0; i < length; i++) {
		operands[i][0].type = NN_TENSOR_FLOAT32;
		operands[i][1].type = NN_SUBGRAPH_TYPE;
		operands[i][1].lifetime = NN_SUBGRAPH;
		operands[i][1].location.offset = i;
		subgraphs[i] = (struct nn_subgraph){
			.num_operands = i + 1 < length ? 2 : 1,
			.num_operations = 1,
			.operands = operands[i],
			.operations = &operation,
		};
	}
	status = nn_model_check(&model, err);
	free(subgraphs);
	free(operands);
	return status;
}

static void test_nesting(void **state)
{
	struct nn_error err = { "" };

	(void)state;
	assert_int_equal(check_chain(NN_MAX_NESTING, &err), NN_OK);
	assert_int_equal(check_chain(NN_MAX_NESTING + 1, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "subgraph 0: subgraphs are nested more than 128 deep");
	/* A recursive checker would overflow the stack with 200,000 nested subgraphs. */
	assert_int_equal(check_chain(200000, NULL), NN_INVALID_ARGUMENT);
}

/* Subgraphs 1 to 128 are nested in a chain; subgraph 129 refers to a subgraph of this chain. */
static void test_nesting_of_the_known(void **state)
{
	enum { BEHIND = NN_MAX_NESTING + 1 };
	static struct nn_operand operands[BEHIND + 1][2];
	static struct nn_subgraph subgraphs[BEHIND + 1];
	const struct nn_operation operation = { .num_outputs = 1, .outputs = &(uint32_t){ 0 } };
	const struct nn_model model = { .size = sizeof(model), .num_subgraphs = BEHIND + 1,
					.subgraphs = subgraphs };

	(void)state;
	for (uint32_t i = 0; i <= BEHIND; i++) {
		operands[i][0].type = NN_TENSOR_FLOAT32;
		operands[i][1].type = NN_SUBGRAPH_TYPE;
		operands[i][1].lifetime = NN_SUBGRAPH;
		operands[i][1].location.offset = i;
		subgraphs[i] = (struct nn_subgraph){
			.num_operands = i && i != NN_MAX_NESTING ? 2 : 1, .num_operations = 1,
			.operands = operands[i], .operations = &operation,
		};
	}
	operands[BEHIND][1].location.offset = 1;
	assert_int_equal(nn_model_check(&model, NULL), NN_OK);
	operands[BEHIND][1].location.offset = 0;
	assert_int_equal(nn_model_check(&model, NULL), NN_INVALID_ARGUMENT);
}

/* Many operations may refer to one subgraph, as long as no subgraph contains itself. */
static void test_shared_subgraph(void **state)
{
	static struct model_builder b;

	(void)state;
	sample_everything(&b);
	b.at = 1;
	mb_subgraph_operand(&b, 2);
	mb_subgraph_operand(&b, 2);
	assert_accepted(&b.model);
}

static void test_operand_size(void **state)
{
	static const struct {
		struct nn_operand operand;
		uint32_t size;
		bool fits;
		bool specified;
	} cases[] = {
		{ { .type = NN_FLOAT32 }, 4, true, true },
		{ { .type = NN_BOOL }, 1, true, true },
		{ { .type = NN_OEM_SCALAR }, 0, true, true },
		{ { .type = NN_TENSOR_FLOAT32 }, 0, true, false },
		{ { .type = NN_TENSOR_FLOAT32, .rank = 2, .dims = { 3, 5 } }, 60, true, true },
		{ { .type = NN_TENSOR_FLOAT16, .rank = 2, .dims = { 0, 5 } }, 0, true, false },
		{ { .type = NN_TENSOR_BOOL8, .rank = 1, .dims = { UINT32_MAX } }, UINT32_MAX, true,
		  true },
		{ { .type = NN_TENSOR_BOOL8, .rank = 2, .dims = { 65536, 65536 } }, 0, false,
		  true },
		{ { .type = NN_TENSOR_BOOL8, .rank = 17 }, 0, false, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		uint32_t size = 77;

		assert_int_equal(nn_operand_size(&cases[i].operand, &size), cases[i].fits);
		assert_int_equal(size, cases[i].size);
		assert_int_equal(nn_operand_is_specified(&cases[i].operand), cases[i].specified);
	}
}

/*
 * The dimensions of an operand in the model and in the execution's request are merged if they
 * agree.
 */
static void test_merged_dims(void **state)
{
	static const struct {
		int32_t type;
		uint32_t rank, dims[2], with_rank, with[2];
		bool fits;
		uint32_t merged_rank, merged[2];
	} cases[] = {
		{ NN_TENSOR_FLOAT32, 2, { 3, 0 }, 0, { 0 }, true, 2, { 3, 0 } },
		{ NN_TENSOR_FLOAT32, 2, { 3, 0 }, 2, { 0, 5 }, true, 2, { 3, 5 } },
		{ NN_TENSOR_FLOAT32, 2, { 3, 5 }, 2, { 3, 5 }, true, 2, { 3, 5 } },
		{ NN_TENSOR_FLOAT32, 2, { 3, 5 }, 2, { 0, 0 }, true, 2, { 3, 5 } },
		{ NN_TENSOR_FLOAT32, 2, { 3, 5 }, 2, { 3, 4 }, false, 2, { 3, 5 } },
		{ NN_TENSOR_FLOAT32, 2, { 3, 5 }, 2, { 2, 5 }, false, 2, { 3, 5 } },
		{ NN_TENSOR_FLOAT32, 2, { 3, 5 }, 1, { 3 }, false, 2, { 3, 5 } },
		{ NN_TENSOR_FLOAT32, 0, { 0 }, 2, { 3, 0 }, true, 2, { 3, 0 } },
		{ NN_INT32, 0, { 0 }, 1, { 1 }, false, 0, { 0 } },
		{ NN_INT32, 0, { 0 }, 0, { 0 }, true, 0, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct nn_operand o = { .type = cases[i].type, .rank = cases[i].rank };

		memcpy(o.dims, cases[i].dims, sizeof(cases[i].dims));
		if (nn_operand_merge_dims(&o, cases[i].with_rank, cases[i].with) != cases[i].fits ||
		    o.rank != cases[i].merged_rank ||
		    memcmp(o.dims, cases[i].merged, sizeof(cases[i].merged)))
			fail_msg("case %zu", i);
	}
}

/*
 * Two operands have the same type if their type codes and all fields of the quantisation are equal.
 */
static void test_same_type(void **state)
{
	static const float scales[] = { 1, 2 }, others[] = { 1, 3 };
	const struct nn_operand plain = { .type = NN_TENSOR_QUANT8_ASYMM, .scale = 1, .rank = 1 };
	const struct nn_operand channels = {
		.type = NN_TENSOR_QUANT8_SYMM_PER_CHANNEL,
		.extra = { .kind = NN_EXTRA_CHANNEL_QUANT, .channel_dim = 1, .count = 2,
			   .scales = scales },
	};
	const struct nn_operand extension = {
		.type = 0x30001,
		.extra = { .kind = NN_EXTRA_EXTENSION, .count = 2, .bytes = (const uint8_t *)"ab" },
	};
	struct nn_operand o = plain, one = channels;

	(void)state;
	o.dims[0] = 7;
	assert_true(nn_operand_same_type(&plain, &o));
	assert_true(nn_operand_same_type(&channels, &channels));
	assert_true(nn_operand_same_type(&extension, &extension));
#define DIFFERS(of, change) do { \
		o = of; \
		change; \
		assert_false(nn_operand_same_type(&of, &o)); \
	} while (0)
	DIFFERS(plain, o.type = NN_TENSOR_QUANT8_SYMM);
	DIFFERS(plain, o.scale = 2);
	DIFFERS(plain, o.zero_point = 1);
	DIFFERS(plain, o.extra.kind = NN_EXTRA_EXTENSION);
	DIFFERS(channels, o.extra.channel_dim = 0);
	DIFFERS(channels, o.extra.scales = others);
	DIFFERS(channels, o.extra.count = 1);
	DIFFERS(extension, o.extra.count = 1);
	DIFFERS(extension, o.extra.bytes = (const uint8_t *)"ac");
#undef DIFFERS
	/*
	 * nn_operand_same_type() compares no scales beyond the end of the two operands' lists of
	 * scales.
	 */
	one.extra.count = 1;
	o = one;
	o.extra.scales = others;
	assert_true(nn_operand_same_type(&one, &o));
}

/* The checker accepts a constant that has the required type and number of elements. */
static void test_value_of_count(void **state)
{
	static struct model_builder b;
	struct nn_error err = { "" };
	const struct nn_operand *two = &b.operands[0][1], *input = &b.operands[0][0];

	(void)state;
	sample_everything(&b);
	assert_ptr_equal(nn_operand_value_of_count(&b.model, two, NN_TENSOR_FLOAT32, 2, &err),
			 b.values);
	assert_string_equal(err.message, "");
	assert_null(nn_operand_value_of_count(&b.model, two, NN_TENSOR_FLOAT32, 1, NULL));
	assert_null(nn_operand_value_of_count(&b.model, two, NN_TENSOR_FLOAT32, 3, NULL));
	assert_null(nn_operand_value_of_count(&b.model, two, NN_TENSOR_INT32, 2, &err));
	assert_string_equal(err.message, "a constant of type 3 with 2 elements, where a constant "
			    "of type 4 with 2 elements is wanted");
	err.message[0] = '\0';
	assert_null(nn_operand_value_of_count(&b.model, input, NN_TENSOR_FLOAT32, 2, &err));
	assert_string_equal(err.message, "a value of type 3 with 0 elements, where a constant of "
			    "type 3 with 2 elements is wanted");
}

static void test_operand_value(void **state)
{
	static struct model_builder b;
	uint8_t pool[64];

	(void)state;
	sample_everything(&b);
	assert_ptr_equal(nn_operand_value(&b.model, &b.operands[0][1]), b.values);
	assert_null(nn_operand_value(&b.model, &b.operands[0][5]));
	b.pools[0].base = pool;
	assert_ptr_equal(nn_operand_value(&b.model, &b.operands[0][5]), pool + 60);
	assert_null(nn_operand_value(&b.model, &b.operands[0][0]));
	assert_null(nn_operand_value(&b.model, &b.operands[0][6]));
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(nn_type_name(NN_TENSOR_QUANT8_ASYMM_SIGNED),
			    "TENSOR_QUANT8_ASYMM_SIGNED");
	assert_string_equal(nn_type_name(NN_TENSOR_OEM_BYTE), "TENSOR_OEM_BYTE");
	assert_string_equal(nn_type_name(-1), "unknown type");
	assert_string_equal(nn_status_name(NN_MISSED_DEADLINE_PERSISTENT),
			    "MISSED_DEADLINE_PERSISTENT");
	assert_string_equal(nn_status_name((enum nn_status)11), "unknown status");
	assert_string_equal(nn_status_name((enum nn_status)-1), "unknown status");
}

static void test_first_reason_stays(void **state)
{
	struct nn_error err = { "" };
	char text[2 * NN_MESSAGE_SIZE];

	(void)state;
	assert_int_equal(nn_fail(&err, NN_GENERAL_FAILURE, "first %d", 1), NN_GENERAL_FAILURE);
	assert_int_equal(nn_fail(&err, NN_DEAD_OBJECT, "second"), NN_DEAD_OBJECT);
	assert_string_equal(err.message, "first 1");

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err.message[0] = '\0';
	nn_fail(&err, NN_GENERAL_FAILURE, "%s", text);
	assert_int_equal(strlen(err.message), NN_MESSAGE_SIZE - 1);
}

static struct nn_device_info good_device(void)
{
	struct nn_device_info info = {
		.magic = NN_DEVICE_MAGIC,
		.size = sizeof(info),
		.version = "nnaccel 0.1.0",
		.type = NN_DEVICE_CPU,
		.feature_level = 4,
		.model_cache_files = 1,
		.data_cache_files = 32,
	};
	int i;

	for (i = 0; i < NN_TYPE_COUNT; i++)
		info.operand[i] = (struct nn_performance){ FLT_MAX, 1 };
	return info;
}

/*
 * Each X() has a name, a statement that breaks the device's description, and the expected message.
 */
#define BROKEN_DEVICES(X) \
X(magic, d->magic++, "magic") \
X(size, d->size--, "size") \
X(version_empty, memset(d->version, 0, 64), "version") \
X(version_not_terminated, memset(d->version, 'x', 64), "version") \
X(version_control, d->version[3] = '\n', "version") \
X(version_delete, d->version[3] = 127, "version") \
X(version_tail, d->version[63] = 'x', "version") \
X(type_zero, d->type = 0, "type 0") \
X(type_beyond, d->type = 5, "type 5") \
X(level_zero, d->feature_level = 0, "feature level 0") \
X(level_beyond, d->feature_level = 9, "feature level 9") \
X(model_files, d->model_cache_files = 33, "33 model") \
X(data_files, d->data_cache_files = 33, "33 data") \
X(relaxed_nan, d->relaxed_scalar.exec_time = NAN, "relaxed scalars") \
X(relaxed_infinite, d->relaxed_tensor.power_usage = INFINITY, "relaxed tensors") \
X(relaxed_negative, d->relaxed_tensor.power_usage = -1, "relaxed tensors") \
X(if_negative, d->if_performance.exec_time = -1, "IF") \
X(while_nan, d->while_performance.power_usage = NAN, "WHILE") \
X(operand_negative, d->operand[8].exec_time = -1, "TENSOR_FLOAT16")

#define DEVICE_FUNCTION(name, statement, message) \
static void break_device_##name(struct nn_device_info *d) { statement; }
BROKEN_DEVICES(DEVICE_FUNCTION)

#define DEVICE_ENTRY(name, statement, message) { #name, break_device_##name, message },
static const struct {
	const char *name;
	void (*spoil)(struct nn_device_info *d);
	const char *message;
} broken_devices[] = { BROKEN_DEVICES(DEVICE_ENTRY) };

static void test_device(void **state)
{
	struct nn_device_info info = good_device(), longer[2] = { info }, out;
	struct nn_error err = { "" };
	size_t i;

	(void)state;
	assert_int_equal(nn_device_info_decode(&info, sizeof(info), &out, &err), NN_OK);
	assert_memory_equal(&info, &out, sizeof(info));
	assert_int_equal(nn_device_info_decode(&info, sizeof(info) - 1, &out, NULL),
			 NN_GENERAL_FAILURE);
	longer->size = sizeof(info) + 1;
	assert_int_equal(nn_device_info_decode(longer, longer->size, &out, NULL), NN_GENERAL_FAILURE);
	/*
	 * An engine that was built with an older library does not report how its device accesses
	 * memory.
	 */
	info.memory = NN_DEVICE_MEMORY_COPIED;
	info.size = offsetof(struct nn_device_info, memory);
	assert_int_equal(nn_device_info_decode(&info, info.size, &out, &err), NN_OK);
	assert_int_equal(out.memory, NN_DEVICE_MEMORY_UNTOLD);
	assert_int_equal(out.size, sizeof(out));
	info.size--;
	assert_int_equal(nn_device_info_decode(&info, info.size, &out, NULL), NN_GENERAL_FAILURE);
	for (i = 0; i < LENGTH(broken_devices); i++) {
		info = good_device();
		broken_devices[i].spoil(&info);
		err.message[0] = '\0';
		if (nn_device_info_decode(&info, sizeof(info), &out, &err) != NN_GENERAL_FAILURE ||
		    !strstr(err.message, broken_devices[i].message))
			fail_msg("%s: \"%s\"", broken_devices[i].name, err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_samples),
		heap_unit_test(test_broken_models),
		heap_unit_test(test_lenient_rules),
		heap_unit_test(test_nesting),
		heap_unit_test(test_shared_subgraph),
		heap_unit_test(test_operand_size),
		heap_unit_test(test_nesting_of_the_known),
		heap_unit_test(test_merged_dims),
		heap_unit_test(test_same_type),
		heap_unit_test(test_value_of_count),
		heap_unit_test(test_operand_value),
		heap_unit_test(test_names),
		heap_unit_test(test_first_reason_stays),
		heap_unit_test(test_device),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
