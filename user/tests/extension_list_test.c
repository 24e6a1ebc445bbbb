/* SPDX-License-Identifier: MIT */
/*
 * Tests how a client reads a worker's list of extensions: a valid list, and lists with one fault
 * each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <nnaccel/device.h>

#include "model/device_read.h"
#include "model/extension_list.h"
#include "tests/heap_blocks.h"

/*
 * A list of two extensions: the first has a scalar, a tensor and an operation, and the second has
 * only an operation.
 */
struct sample {
	struct extension_list head;
	struct extension_record first;
	struct extension_item items[3];
	struct extension_record second;
	struct extension_item item;
	uint8_t rest[8];
};

#define SIZE offsetof(struct sample, rest)

static void sample_init(struct sample *s)
{
	*s = (struct sample){
		.head = { .magic = EXTENSION_LIST_MAGIC, .count = 2 },
		.first = { .name = "com.example.first", .version = 7, .num_types = 2,
			   .num_operations = 1 },
		.items = {
			{ .element_size = 8, .code = 0, .name = "SCALAR" },
			{ .element_size = 3, .code = 2, .is_tensor = 1, .name = "TENSOR" },
			{ .code = 0, .name = "OPERATION" },
		},
		.second = { .name = "com.example.second", .num_operations = 1, .oem = 1 },
		.item = { .code = 65535, .name = "OTHER" },
	};
}

static void test_sound(void **state)
{
	struct nn_device_extension *list;
	struct nn_error err = { "" };
	struct sample s;
	uint32_t count;

	(void)state;
	sample_init(&s);
	assert_int_equal(nn_device_extensions_decode(&s, SIZE, &list, &count, &err), NN_OK);
	memset(&s, 0xff, sizeof(s));
	assert_int_equal(count, 2);
	assert_string_equal(list[0].name, "com.example.first");
	assert_int_equal(list[0].version, 7);
	assert_false(list[0].has_oem_operation);
	assert_int_equal(list[0].num_types, 2);
	assert_string_equal(list[0].types[0].name, "SCALAR");
	assert_int_equal(list[0].types[0].code, 0);
	assert_false(list[0].types[0].is_tensor);
	assert_int_equal(list[0].types[0].element_size, 8);
	assert_int_equal(list[0].types[1].code, 2);
	assert_true(list[0].types[1].is_tensor);
	assert_int_equal(list[0].num_operations, 1);
	assert_string_equal(list[0].operations[0].name, "OPERATION");
	assert_int_equal(list[0].operations[0].code, 0);
	assert_string_equal(list[1].name, "com.example.second");
	assert_true(list[1].has_oem_operation);
	assert_int_equal(list[1].num_types, 0);
	assert_int_equal(list[1].operations[0].code, 65535);
	free(list);
}

static void test_empty(void **state)
{
	const struct extension_list head = { .magic = EXTENSION_LIST_MAGIC };
	struct nn_device_extension *list;
	uint32_t count = 1;

	(void)state;
	assert_int_equal(nn_device_extensions_decode(&head, sizeof(head), &list, &count, NULL),
			 NN_OK);
	assert_int_equal(count, 0);
	free(list);
}

#define CASES(X)							\
X(magic, s->head.magic++, "magic")					\
X(reserved, s->head.reserved = 1, "magic")				\
X(count, s->head.count = 3, "extension 2: its record")			\
X(large_count, s->head.count = UINT32_MAX, "count 4294967295")		\
X(too_few, s->head.count = 1, "bytes that nothing uses")		\
X(no_name, s->first.name[0] = 0, "extension 0: its record")		\
X(endless_name, memset(s->first.name, 'x', 128), "extension 0: its record") \
X(high_name, s->second.name[3] = 127, "extension 1: its record")	\
X(blank_name, s->second.name[3] = ' ', "extension 1: its record")	\
X(hidden_name, s->second.name[127] = 'x', "extension 1: its record")	\
X(name_twice, memcpy(s->second.name, s->first.name, 128), "com.example.first is listed twice") \
X(oem, s->first.oem = 2, "extension 0: its record")			\
X(types, s->first.num_types = 3, "item 2 is malformed")		\
X(many_types, s->first.num_types = UINT32_MAX, "extension 0: its record") \
X(many_operations, s->second.num_operations = 2, "extension 1: its record") \
X(sum, (s->first.num_types = 1, s->first.num_operations = UINT32_MAX), "extension 0: its record") \
X(type_size, s->items[0].element_size = 0, "item 0 is malformed")	\
X(operation_size, s->items[2].element_size = 4, "item 2 is malformed") \
X(operation_tensor, s->items[2].is_tensor = 1, "item 2 is malformed")	\
X(tensor, s->items[1].is_tensor = 2, "item 1 is malformed")		\
X(item_reserved, s->items[1].reserved = 1, "item 1 is malformed")	\
X(item_name, s->items[1].name[0] = '\n', "item 1 is malformed")	\
X(code_twice, s->items[1].code = 0, "com.example.first: code 0 is listed twice")

#define DEFINE(_name, _change, _message)	\
static void spoil_##_name(struct sample *s)	\
{						\
	(void)(_change);			\
}
CASES(DEFINE)
#undef DEFINE

static const struct {
	const char *name;
	void (*spoil)(struct sample *s);
	const char *message;
} cases[] = {
#define ENTRY(_name, _change, _message) { #_name, spoil_##_name, _message },
CASES(ENTRY)
#undef ENTRY
};

static void test_refusals(void **state)
{
	struct nn_device_extension *list;
	uint32_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nn_error err = { "" };
		struct sample s;

		sample_init(&s);
		cases[i].spoil(&s);
		if (nn_device_extensions_decode(&s, SIZE, &list, &count, &err) !=
		    NN_GENERAL_FAILURE || !strstr(err.message, cases[i].message))
			fail_msg("%s: \"%s\"", cases[i].name, err.message);
	}
}

/* A list of extensions with a wrong length is rejected. */
static void test_lengths(void **state)
{
	struct nn_device_extension *list;
	struct sample s;
	uint32_t count;

	(void)state;
	sample_init(&s);
	/* The decoder rejects an overlong list of extensions without reading the list. */
	assert_int_equal(nn_device_extensions_decode(&s, EXTENSION_LIST_MAX_SIZE + 1, &list, &count,
						     NULL), NN_GENERAL_FAILURE);
	for (size_t size = 0; size <= sizeof(s); size++)
		if (size != SIZE)
			assert_int_equal(nn_device_extensions_decode(&s, size, &list, &count,
								     NULL), NN_GENERAL_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_sound),
		heap_unit_test(test_empty),
		heap_unit_test(test_refusals),
		heap_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
