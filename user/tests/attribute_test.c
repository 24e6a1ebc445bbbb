/* SPDX-License-Identifier: MIT */
/*
 * Tests the encoding of attributes: decoding restores the encoded attributes, and invalid
 * attributes or bytes are rejected with a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/attribute.h"
#include "tests/heap_blocks.h"

#define ROOM 4096

static void test_round(void **state)
{
	const struct nn_attribute list[] = {
		{ "a.b", 0, 0, NULL }, { "a.b", 65535, 1, "x" },
		{ "com.example.c", 0, 9, "123456789" }, { "a.bb", 65535, 8, "12345678" },
	};
	const struct nn_attributes in = { 4, list };
	struct nn_error err = { "" };
	struct nn_attributes *out;
	size_t size;
	void *data;

	(void)state;
	assert_int_equal(nn_attributes_encode(&in, ROOM, &data, &size, &err), NN_OK);
	assert_int_equal(size % 8, 0);
	assert_int_equal(nn_attributes_decode(data, size, &out, &err), NN_OK);
	free(data);
	assert_int_equal(out->count, 4);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(out->list[i].extension, list[i].extension);
		assert_int_equal(out->list[i].code, list[i].code);
		assert_int_equal(out->list[i].size, list[i].size);
		assert_int_equal((uintptr_t)out->list[i].data % 8, 0);
		if (list[i].size)
			assert_memory_equal(out->list[i].data, list[i].data, list[i].size);
	}
	free(out);
}

static void test_none(void **state)
{
	const struct nn_attributes none = { 0, NULL };
	struct nn_attributes *out;
	size_t size = 1;
	void *data;

	(void)state;
	assert_int_equal(nn_attributes_encode(NULL, 0, &data, &size, NULL), NN_OK);
	assert_null(data);
	assert_int_equal(size, 0);
	assert_int_equal(nn_attributes_encode(&none, 0, &data, &size, NULL), NN_OK);
	assert_null(data);
	assert_int_equal(nn_attributes_decode(NULL, 0, &out, NULL), NN_OK);
	assert_null(out);
}

static void test_refused_to_write(void **state)
{
	char longest[ATTRIBUTE_MAX_NAME + 2];
	const struct {
		struct nn_attribute list[2];
		const char *message;
	} cases[] = {
		{ { { NULL, 1, 0, NULL }, { "a.b", 1, 0, NULL } }, "invalid name" },
		{ { { "a.b", 1, 0, NULL }, { "", 1, 0, NULL } }, "invalid name" },
		{ { { "a.b", 1, 0, NULL }, { "a. b", 1, 0, NULL } }, "invalid name" },
		{ { { "a.b", 1, 0, NULL }, { longest, 1, 0, NULL } }, "invalid name" },
		{ { { "a.b", 1, 0, NULL }, { "a.b", 1, 1, "x" } }, "attribute 1 of a.b is given "
		  "twice" },
		{ { { "a.b", 1, 0, NULL }, { "a.b", 2, ROOM, longest } }, "exceed 4096 bytes" },
		{ { { "a.b", 1, UINT32_MAX, longest }, { "a.b", 2, 0, NULL } }, "exceed 4096" },
	};

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[ATTRIBUTE_MAX_NAME + 1] = '\0';
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nn_attributes in = { 2, cases[i].list };
		struct nn_error err = { "" };
		size_t size;
		void *data;

		assert_int_equal(nn_attributes_encode(&in, ROOM, &data, &size, &err),
				 NN_INVALID_ARGUMENT);
		assert_null(data);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%zu: \"%s\"", i, err.message);
	}
}

/*
 * Decodes encoded attributes that are truncated to each length, or whose first record has an
 * invalid field.
 */
static void test_refused_to_read(void **state)
{
	const struct nn_attribute list[] = { { "com.example.a", 1, 5, "12345" },
					     { "com.example.a", 2, 4, "1234" } };
	const struct nn_attributes in = { 2, list };
	const struct {
		size_t offset;
		uint64_t value;
		size_t size;
	} spoilt[] = {
		{ offsetof(struct attribute_record, size), UINT32_MAX, 4 },
		{ offsetof(struct attribute_record, size), 1000, 4 },
		{ offsetof(struct attribute_record, size), 16, 4 },
		{ offsetof(struct attribute_record, code), 2, 2 },
		{ offsetof(struct attribute_record, name_size), 0, 2 },
		{ offsetof(struct attribute_record, name_size), 1, 2 },
		{ offsetof(struct attribute_record, name_size), 13, 2 },
		{ offsetof(struct attribute_record, name_size), 15, 2 },
		{ offsetof(struct attribute_record, name_size), UINT16_MAX, 2 },
		{ sizeof(struct attribute_record) + 3, '\n', 1 },
		{ sizeof(struct attribute_record) + 3, 0, 1 },
	};
	size_t size, first;
	uint8_t *data, *copy;
	struct nn_attributes *out;
	void *written;

	(void)state;
	assert_int_equal(nn_attributes_encode(&in, ROOM, &written, &size, NULL), NN_OK);
	data = written;
	first = size / 2;
	for (size_t cut = 1; cut < size; cut++) {
		copy = malloc(cut);
		assert_non_null(copy);
		memcpy(copy, data, cut);
		assert_int_equal(nn_attributes_decode(copy, cut, &out, NULL),
				 cut == first ? NN_OK : NN_INVALID_ARGUMENT);
		free(out);
		free(copy);
	}
	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		copy = malloc(size);
		assert_non_null(copy);
		memcpy(copy, data, size);
		memcpy(copy + spoilt[i].offset, &spoilt[i].value, spoilt[i].size);
		if (nn_attributes_decode(copy, size, &out, NULL) != NN_INVALID_ARGUMENT)
			fail_msg("%zu", i);
		free(copy);
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_round),
		heap_unit_test(test_none),
		heap_unit_test(test_refused_to_write),
		heap_unit_test(test_refused_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
