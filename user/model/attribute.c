/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes attributes of extensions, which a client sends to its worker.
 */
#include "base/round.h"
#include "attribute.h"

#include <stdlib.h>
#include <string.h>

/* Rounds the size of a record, name or data up to include its padding. */
static size_t padded(size_t size)
{
	return round_up(size, 8);
}

static bool is_name(const char *name, size_t size)
{
	if (!size || size > ATTRIBUTE_MAX_NAME + 1 || strnlen(name, size) != size - 1)
		return false;
	for (size_t i = 0; i + 1 < size; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return size > 1;
}

/* Checks that no other attribute in the list has the extension and code of the last attribute. */
static enum nn_status check_last(const struct nn_attribute *list, uint32_t count,
				 struct nn_error *err)
{
	const struct nn_attribute *last = &list[count - 1];

	for (uint32_t i = 0; i + 1 < count; i++)
		if (list[i].code == last->code && !strcmp(list[i].extension, last->extension))
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "attribute %u of %s is given twice", last->code,
				       last->extension);
	return NN_OK;
}

/* Checks all attributes, and sets *size to the size of the encoded attributes in bytes. */
static enum nn_status measure(const struct nn_attributes *attributes, size_t max_size, size_t *size,
			      struct nn_error *err)
{
	*size = 0;
	for (uint32_t i = 0; attributes && i < attributes->count; i++) {
		const struct nn_attribute *a = &attributes->list[i];
		size_t name_size = a->extension ? strnlen(a->extension,
							  ATTRIBUTE_MAX_NAME + 1) + 1 : 0;

		if (!is_name(a->extension, name_size))
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "attribute %u: invalid name of an extension", a->code);
		*size += sizeof(struct attribute_record) + padded(name_size) + padded(a->size);
		if (*size > max_size)
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "the attributes with their names exceed %zu bytes",
				       max_size);
		if (check_last(attributes->list, i + 1, err))
			return NN_INVALID_ARGUMENT;
	}
	return NN_OK;
}

enum nn_status nn_attributes_encode(const struct nn_attributes *attributes, size_t max_size,
				    void **data, size_t *size, struct nn_error *err)
{
	enum nn_status status = measure(attributes, max_size, size, err);
	uint8_t *at;

	*data = NULL;
	if (status || !*size)
		return status;
	at = calloc(1, *size);
	*data = at;
	if (!at)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < attributes->count; i++) {
		const struct nn_attribute *a = &attributes->list[i];
		struct attribute_record record = {
			.size = a->size,
			.code = a->code,
			.name_size = (uint16_t)(strlen(a->extension) + 1),
		};

		memcpy(at, &record, sizeof(record));
		memcpy(at + sizeof(record), a->extension, record.name_size);
		at += sizeof(record) + padded(record.name_size);
		if (a->size)
			memcpy(at, a->data, a->size);
		at += padded(a->size);
	}
	return NN_OK;
}

/* Reads the attribute at *at. The name and data in *a point into the encoded data. */
static bool take(const uint8_t **at, const uint8_t *end, struct nn_attribute *a)
{
	struct attribute_record record;

	if ((size_t)(end - *at) < sizeof(record))
		return false;
	memcpy(&record, *at, sizeof(record));
	*at += sizeof(record);
	if (padded(record.name_size) > (size_t)(end - *at) ||
	    !is_name((const char *)*at, record.name_size))
		return false;
	a->extension = (const char *)*at;
	*at += padded(record.name_size);
	if (padded(record.size) > (size_t)(end - *at))
		return false;
	a->code = record.code;
	a->size = record.size;
	a->data = *at;
	*at += padded(record.size);
	return true;
}

/* Minimum size of an encoded attribute in bytes. */
#define LEAST (sizeof(struct attribute_record) + 8)

enum nn_status nn_attributes_decode(const void *data, size_t size,
				    struct nn_attributes **attributes, struct nn_error *err)
{
	size_t room = sizeof(**attributes) + size / LEAST * sizeof(struct nn_attribute);
	enum nn_status status = NN_OK;
	struct nn_attribute *list;
	const uint8_t *at, *end;
	struct nn_attributes *a;

	*attributes = NULL;
	if (!size)
		return NN_OK;
	a = calloc(1, room + size);
	if (!a)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	list = (struct nn_attribute *)(a + 1);
	at = memcpy((uint8_t *)a + room, data, size);
	end = at + size;
	a->list = list;
	while (at < end && !status) {
		if (!take(&at, end, &list[a->count]))
			status = nn_fail(err, NN_INVALID_ARGUMENT,
					 "attribute %u of a list is malformed", a->count);
		else
			status = check_last(list, ++a->count, err);
	}
	if (status)
		free(a);
	else
		*attributes = a;
	return status;
}
