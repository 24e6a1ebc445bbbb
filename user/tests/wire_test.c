/* SPDX-License-Identifier: MIT */
/*
 * Tests the wire form of models. Decoding an encoded model must give an equal model. The decoder
 * must reject a wire form that is truncated, padded, damaged or combined with other pools.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/wire.h"
#include "model_samples.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static struct model_builder sent;

static void *encode(const struct nn_model *model, size_t *size)
{
	struct nn_error err = { "" };
	void *wire;

	if (nn_model_encode(model, &wire, size, &err))
		fail_msg("%s", err.message);
	return wire;
}

static void assert_same_operand(const struct nn_operand *a, const struct nn_operand *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->lifetime, b->lifetime);
	assert_int_equal(a->rank, b->rank);
	assert_memory_equal(a->dims, b->dims, sizeof(a->dims));
	assert_memory_equal(&a->scale, &b->scale, sizeof(a->scale));
	assert_int_equal(a->zero_point, b->zero_point);
	assert_int_equal(a->consumers, b->consumers);
	assert_memory_equal(&a->location, &b->location, sizeof(a->location));
	assert_int_equal(a->extra.kind, b->extra.kind);
	assert_int_equal(a->extra.channel_dim, b->extra.channel_dim);
	assert_int_equal(a->extra.count, b->extra.count);
	if (a->extra.kind == NN_EXTRA_CHANNEL_QUANT)
		assert_memory_equal(a->extra.scales, b->extra.scales,
				    a->extra.count * sizeof(float));
	if (a->extra.kind == NN_EXTRA_EXTENSION)
		assert_memory_equal(a->extra.bytes, b->extra.bytes, a->extra.count);
}

static void assert_same_list(const uint32_t *a, uint32_t num_a, const uint32_t *b, uint32_t num_b)
{
	assert_int_equal(num_a, num_b);
	if (num_a)
		assert_memory_equal(a, b, num_a * sizeof(*a));
}

static void assert_same_subgraph(const struct nn_subgraph *a, const struct nn_subgraph *b)
{
	uint32_t i;

	assert_int_equal(a->num_operands, b->num_operands);
	assert_int_equal(a->num_operations, b->num_operations);
	assert_same_list(a->inputs, a->num_inputs, b->inputs, b->num_inputs);
	assert_same_list(a->outputs, a->num_outputs, b->outputs, b->num_outputs);
	for (i = 0; i < a->num_operands; i++)
		assert_same_operand(&a->operands[i], &b->operands[i]);
	for (i = 0; i < a->num_operations; i++) {
		const struct nn_operation *x = &a->operations[i], *y = &b->operations[i];

		assert_int_equal(x->type, y->type);
		assert_same_list(x->inputs, x->num_inputs, y->inputs, y->num_inputs);
		assert_same_list(x->outputs, x->num_outputs, y->outputs, y->num_outputs);
	}
}

static void assert_same_model(const struct nn_model *a, const struct nn_model *b)
{
	uint32_t i;

	assert_int_equal(a->relaxed, b->relaxed);
	assert_int_equal(a->num_subgraphs, b->num_subgraphs);
	for (i = 0; i < a->num_subgraphs; i++)
		assert_same_subgraph(&a->subgraphs[i], &b->subgraphs[i]);
	assert_int_equal(a->num_pools, b->num_pools);
	for (i = 0; i < a->num_pools; i++) {
		assert_int_equal(a->pools[i].size, b->pools[i].size);
		assert_ptr_equal(a->pools[i].base, b->pools[i].base);
	}
	assert_int_equal(a->num_extensions, b->num_extensions);
	for (i = 0; i < a->num_extensions; i++) {
		assert_int_equal(a->extensions[i].prefix, b->extensions[i].prefix);
		assert_string_equal(a->extensions[i].name, b->extensions[i].name);
	}
	assert_int_equal(a->values_size, b->values_size);
	if (a->values_size)
		assert_memory_equal(a->values, b->values, a->values_size);
	assert_int_equal((uintptr_t)b->values % 8, 0);
}

static void test_round_trip(void **state)
{
	static void (*const samples[])(struct model_builder *) = {
		sample_everything, sample_add, sample_if, sample_while, sample_reshape,
	};
	struct nn_model *model;
	size_t size, again_size, i;
	void *wire, *again;

	(void)state;
	for (i = 0; i < LENGTH(samples); i++) {
		samples[i](&sent);
		wire = encode(&sent.model, &size);
		assert_int_equal(nn_model_decode(wire, size, sent.pools, sent.model.num_pools,
						 &model, NULL), NN_OK);
		assert_same_model(&sent.model, model);
		again = encode(model, &again_size);
		assert_int_equal(again_size, size);
		assert_memory_equal(again, wire, size);
		free(again);
		free(wire);
		nn_model_free(model);
	}
}

/*
 * Encoding and decoding must change neither extension data of any size nor the largest extension
 * prefix.
 */
static void test_extension_data(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 3u << 20 };
	struct nn_model *model;
	size_t size, i, k;
	uint8_t *data;
	void *wire;

	(void)state;
	for (i = 0; i < LENGTH(sizes); i++) {
		data = malloc(sizes[i] + 1);
		for (k = 0; k < sizes[i]; k++)
			data[k] = (uint8_t)(k * 7 + (k >> 8));
		sample_everything(&sent);
		sent.extensions[0].prefix = 0xffff;
		sent.operands[0][11].type = (int32_t)0xffff0000;
		sent.operations[0][2].type = (int32_t)0xffffffff;
		sent.operands[0][11].extra.bytes = data;
		sent.operands[0][11].extra.count = (uint32_t)sizes[i];
		wire = encode(&sent.model, &size);
		assert_int_equal(nn_model_decode(wire, size, sent.pools, 1, &model, NULL), NN_OK);
		free(wire);
		assert_same_model(&sent.model, model);
		nn_model_free(model);
		free(data);
	}
}

/* A wire form may lie at any byte address, because clients need not align it. */
static void test_unaligned(void **state)
{
	struct nn_model *model;
	uint8_t *moved;
	size_t size;
	void *wire;

	(void)state;
	sample_everything(&sent);
	wire = encode(&sent.model, &size);
	moved = malloc(size + 1);
	memcpy(moved + 1, wire, size);
	free(wire);
	assert_int_equal(nn_model_decode(moved + 1, size, sent.pools, 1, &model, NULL), NN_OK);
	free(moved);
	assert_same_model(&sent.model, model);
	nn_model_free(model);
}

/*
 * Decodes a copy of a wire form; the copy's memory has exactly the wire form's size, so that a
 * sanitizer detects accesses beyond the copy.
 */
static enum nn_status decode_copy(const uint8_t *wire, size_t size, struct nn_error *err)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct nn_model *model;
	enum nn_status status;

	memcpy(copy, wire, size);
	status = nn_model_decode(copy, size, sent.pools, sent.model.num_pools, &model, err);
	free(copy);
	if (status)
		assert_null(model);
	nn_model_free(model);
	return status;
}

static void test_every_length(void **state)
{
	uint8_t *wire, *longer;
	size_t size, i;

	(void)state;
	sample_everything(&sent);
	wire = encode(&sent.model, &size);
	for (i = 0; i < size; i++)
		assert_int_equal(decode_copy(wire, i, NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(decode_copy(wire, size, NULL), NN_OK);
	longer = calloc(1, size + 1);
	memcpy(longer, wire, size);
	assert_int_equal(decode_copy(longer, size + 1, NULL), NN_INVALID_ARGUMENT);
	free(longer);
	free(wire);
}

/*
 * A wire form with a damaged byte is either rejected, or equals the wire form of the decoded model.
 */
static void test_every_byte(void **state)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff };
	struct nn_model *model;
	size_t size, i, j, again_size;
	uint8_t *wire;
	void *again;

	(void)state;
	sample_everything(&sent);
	wire = encode(&sent.model, &size);
	for (i = 0; i < size; i++) {
		for (j = 0; j < LENGTH(flips); j++) {
			wire[i] ^= flips[j];
			if (!nn_model_decode(wire, size, sent.pools, 1, &model, NULL)) {
				again = encode(model, &again_size);
				assert_int_equal(again_size, size);
				assert_memory_equal(again, wire, size);
				free(again);
				nn_model_free(model);
			}
			wire[i] ^= flips[j];
		}
	}
	free(wire);
}

/*
 * A wire form, and the offsets of the wire form's records. The table of test cases makes each
 * record invalid.
 */
struct spoiled {
	uint8_t *wire;
	uint64_t start[W_END + 1];
};

static struct wire_header *header(struct spoiled *s)
{
	return (struct wire_header *)s->wire;
}

static struct wire_subgraph *subgraph(struct spoiled *s, uint32_t index)
{
	return (struct wire_subgraph *)(s->wire + s->start[W_SUBGRAPHS]) + index;
}

static struct wire_operand *operand(struct spoiled *s, uint32_t index)
{
	return (struct wire_operand *)(s->wire + s->start[W_OPERANDS]) + index;
}

static struct wire_operation *operation(struct spoiled *s, uint32_t index)
{
	return (struct wire_operation *)(s->wire + s->start[W_OPERATIONS]) + index;
}

static struct wire_extension *extension(struct spoiled *s, uint32_t index)
{
	return (struct wire_extension *)(s->wire + s->start[W_EXTENSIONS]) + index;
}

static uint8_t *last_byte_of_name(struct spoiled *s)
{
	return s->wire + s->start[W_VALUES] - 1;
}

/* Each X() has a name, a statement that spoils the wire form, and the expected message. */
#define BROKEN_WIRES(X) \
X(magic, header(s)->magic++, "does not have the wire form") \
X(version, header(s)->version++, "the model does not have the wire form of version 1") \
X(size, header(s)->size++, "header gives another size") \
X(size_huge, header(s)->size = UINT64_MAX, "header gives another size") \
X(flags, header(s)->flags |= 2, "unknown flags 0x3") \
X(reserved, header(s)->reserved = 1, "reserved 0x1") \
X(values_wrap, header(s)->values_size = UINT64_MAX, "header gives another size") \
X(subgraphs_huge, header(s)->num_subgraphs = UINT32_MAX, "header gives another size") \
X(operands_huge, header(s)->num_operands = UINT32_MAX, "header gives another size") \
X(indices_huge, header(s)->num_indices = UINT32_MAX, "header gives another size") \
X(subgraph_operands, subgraph(s, 2)->num_operands++, \
  "subgraph 2, operand 4: missing in the wire form") \
X(subgraph_operands_huge, subgraph(s, 0)->num_operands = UINT32_MAX, \
  "subgraph 0, operand 22: missing in the wire form") \
X(subgraph_operands_few, subgraph(s, 2)->num_operands--, "ends with 1 operands") \
X(subgraph_operations, subgraph(s, 2)->num_operations++, \
  "subgraph 2, operation 1: missing in the wire form") \
X(subgraph_operations_few, subgraph(s, 2)->num_operations = 0, "1 operations") \
X(subgraph_inputs, subgraph(s, 1)->num_inputs = UINT32_MAX, \
  "subgraph 1: indices of 4294967295 inputs and 1 outputs are missing") \
X(subgraph_outputs, subgraph(s, 1)->num_outputs = 100, \
  "subgraph 1: indices of 2 inputs and 100 outputs are missing") \
X(operation_inputs, operation(s, 4)->num_inputs++, \
  "subgraph 2, operation 0 (code 18): indices of 4 inputs and 1 outputs are missing") \
X(operation_inputs_few, operation(s, 4)->num_inputs--, "1 indices") \
X(operand_reserved, operand(s, 3)->reserved = 5, \
  "subgraph 0, operand 3: reserved is 0x5, must be 0") \
X(scales, operand(s, 7)->extra_count = 4, \
  "subgraph 0, operand 7: 4 extra parameters are missing") \
X(scales_few, operand(s, 7)->extra_count = 2, "1 scales") \
X(bytes, operand(s, 11)->extra_count = UINT32_MAX, \
  "subgraph 0, operand 11: 4294967295 extra parameters are missing") \
X(bytes_few, operand(s, 11)->extra_count = 2, "1 bytes that nothing uses") \
X(name_long, extension(s, 0)->name_length++, "extension 0: its name of 16 bytes is cut off") \
X(name_short, extension(s, 0)->name_length--, "1 bytes that nothing uses") \
X(name_terminated, *last_byte_of_name(s) = '\0', "extension 0: its name of 15 bytes is cut off") \
X(prefix_beyond, extension(s, 0)->prefix = 0x10003, "extension 0: prefix 65539 exceeds 65535") \
X(checked, operand(s, 0)->type = 99, "subgraph 0, operand 0 (unknown type): type 99")

#define SPOIL_FUNCTION(name, statement, message) \
static void spoil_##name(struct spoiled *s) { statement; }
BROKEN_WIRES(SPOIL_FUNCTION)

#define SPOIL_ENTRY(name, statement, message) { #name, spoil_##name, message },
static const struct {
	const char *name;
	void (*spoil)(struct spoiled *s);
	const char *message;
} broken_wires[] = { BROKEN_WIRES(SPOIL_ENTRY) };

static void test_broken_wires(void **state)
{
	size_t size, i;

	(void)state;
	sample_everything(&sent);
	for (i = 0; i < LENGTH(broken_wires); i++) {
		struct spoiled s = { .wire = encode(&sent.model, &size) };
		struct nn_error err = { "" };
		enum nn_status status;

		wire_layout(header(&s), s.start);
		broken_wires[i].spoil(&s);
		status = decode_copy(s.wire, size, &err);
		if (status != NN_INVALID_ARGUMENT || !strstr(err.message, broken_wires[i].message))
			fail_msg("%s: %s: \"%s\"", broken_wires[i].name, nn_status_name(status),
				 err.message);
		free(s.wire);
	}
}

static void test_pools(void **state)
{
	struct nn_pool pools[2] = { { NULL, 63 }, { NULL, 64 } };
	struct nn_error err = { "" };
	struct nn_model *model;
	size_t size;
	void *wire;

	(void)state;
	sample_everything(&sent);
	wire = encode(&sent.model, &size);
	assert_int_equal(nn_model_decode(wire, size, pools, 1, &model, &err),
			 NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "pool 0 has 63 bytes, must have 64 as in the model");
	assert_int_equal(nn_model_decode(wire, size, NULL, 0, &model, NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(nn_model_decode(wire, size, pools, 2, &model, NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(nn_model_decode(wire, size, pools + 1, 1, &model, NULL), NN_OK);
	nn_model_free(model);
	nn_model_free(NULL);
	free(wire);
}

static void test_too_large(void **state)
{
	static const struct nn_operand operand = {
		.extra = { .kind = NN_EXTRA_EXTENSION, .count = UINT32_MAX },
	};
	const struct nn_operand operands[2] = { operand, operand };
	const struct nn_subgraph subgraphs[1] = { { .num_operands = 2, .operands = operands } };
	const struct nn_model model = { .size = sizeof(model),
					.num_subgraphs = 1, .subgraphs = subgraphs };
	size_t size = 1;
	void *wire = &size;

	(void)state;
	assert_int_equal(nn_model_encode(&model, &wire, &size, NULL), NN_INVALID_ARGUMENT);
	assert_null(wire);
	assert_int_equal(size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_round_trip),
		heap_unit_test(test_extension_data),
		heap_unit_test(test_unaligned),
		heap_unit_test(test_every_length),
		heap_unit_test(test_every_byte),
		heap_unit_test(test_broken_wires),
		heap_unit_test(test_pools),
		heap_unit_test(test_too_large),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
