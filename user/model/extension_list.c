/* SPDX-License-Identifier: MIT */
/*
 * Encodes the list of a device's extensions in a worker. Decodes the list of extensions in a
 * client, which does not trust the worker.
 */
#include <stdlib.h>
#include <string.h>

#include <nnaccel/device.h>
#include <nnaccel/engine_model.h>

#include "device_read.h"
#include "extension_list.h"

static bool is_graphic(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	if (!length || length == size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (i < length ? text[i] <= ' ' || text[i] > '~' : text[i])
			return false;
	return true;
}

static enum nn_status check_items(const struct extension_record *record,
				  const struct extension_item *items, struct nn_error *err)
{
	uint32_t count = record->num_types + record->num_operations;

	for (uint32_t i = 0; i < count; i++) {
		const struct extension_item *item = &items[i];
		uint32_t first = i < record->num_types ? 0 : record->num_types;
		bool is_sound = is_graphic(item->name, sizeof(item->name)) && !item->reserved &&
				item->is_tensor <= (i < record->num_types);

		if (!is_sound || (i < record->num_types) != !!item->element_size)
			return nn_fail(err, NN_GENERAL_FAILURE,
				       "extension %s: item %u is malformed", record->name, i);
		for (uint32_t k = first; k < i; k++)
			if (items[k].code == item->code)
				return nn_fail(err, NN_GENERAL_FAILURE,
					       "extension %s: code %u is listed twice",
					       record->name, item->code);
	}
	return NN_OK;
}

static const struct extension_item *items_of(const struct extension_record *record)
{
	return (const struct extension_item *)(record + 1);
}

static const struct extension_record *after(const struct extension_record *record)
{
	return (const void *)(items_of(record) + record->num_types + record->num_operations);
}

/*
 * Checks all records in an aligned copy of the list of extensions; the last record must end where
 * the data ends.
 */
static enum nn_status check_list(const struct extension_list *list, size_t size,
				 struct nn_error *err)
{
	const struct extension_record *record = (const void *)(list + 1), *other;
	const uint8_t *end = (const uint8_t *)list + size;
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < list->count && !status; i++, record = after(record)) {
		size_t left = (size_t)(end - (const uint8_t *)record);

		if (left < sizeof(*record) || !is_graphic(record->name, sizeof(record->name)) ||
		    record->oem > 1 || record->num_types > EXTENSION_LIST_MAX_ITEMS ||
		    record->num_operations > EXTENSION_LIST_MAX_ITEMS ||
		    (left - sizeof(*record)) / sizeof(struct extension_item) <
		    record->num_types + record->num_operations)
			return nn_fail(err, NN_GENERAL_FAILURE,
				       "extension %u: its record is malformed", i);
		other = (const void *)(list + 1);
		for (uint32_t k = 0; k < i; k++, other = after(other))
			if (!strcmp(other->name, record->name))
				return nn_fail(err, NN_GENERAL_FAILURE,
					       "extension %s is listed twice", record->name);
		status = check_items(record, items_of(record), err);
	}
	if (!status && (const uint8_t *)record != end)
		status = nn_fail(err, NN_GENERAL_FAILURE, "extensions: bytes that nothing uses");
	return status;
}

/*
 * Fills in the decoded list, whose pointers refer to the copy of the data in the same allocation.
 */
static void fill(struct nn_device_extension *out, struct nn_device_extension_item *items,
		 const struct extension_list *list)
{
	const struct extension_record *record = (const void *)(list + 1);

	for (uint32_t i = 0; i < list->count; i++, record = after(record), out++) {
		uint32_t count = record->num_types + record->num_operations;

		*out = (struct nn_device_extension){
			.name = record->name,
			.version = record->version,
			.has_oem_operation = record->oem,
			.num_types = record->num_types,
			.num_operations = record->num_operations,
			.types = items,
			.operations = items + record->num_types,
		};
		for (uint32_t k = 0; k < count; k++, items++)
			*items = (struct nn_device_extension_item){
				.code = items_of(record)[k].code,
				.is_tensor = items_of(record)[k].is_tensor,
				.element_size = items_of(record)[k].element_size,
				.name = items_of(record)[k].name,
			};
	}
}

enum nn_status nn_device_extensions_decode(const void *data, size_t size,
					   struct nn_device_extension **extensions,
					   uint32_t *count, struct nn_error *err)
{
	struct extension_list head;
	enum nn_status status;
	size_t room, items;
	uint8_t *block;

	if (size < sizeof(head) || size > EXTENSION_LIST_MAX_SIZE)
		return nn_fail(err, NN_GENERAL_FAILURE, "extensions: wrong size %zu", size);
	memcpy(&head, data, sizeof(head));
	if (head.magic != EXTENSION_LIST_MAGIC || head.reserved ||
	    head.count > size / sizeof(struct extension_record))
		return nn_fail(err, NN_GENERAL_FAILURE, "extensions: wrong magic 0x%x or count %u",
			       head.magic, head.count);
	room = (head.count + 1) * sizeof(struct nn_device_extension);
	items = size / sizeof(struct extension_item) * sizeof(struct nn_device_extension_item);
	block = calloc(1, room + items + size);
	if (!block)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	memcpy(block + room + items, data, size);
	status = check_list((const void *)(block + room + items), size, err);
	if (status) {
		free(block);
		return status;
	}
	fill((void *)block, (void *)(block + room), (const void *)(block + room + items));
	*extensions = (void *)block;
	*count = head.count;
	return NN_OK;
}
