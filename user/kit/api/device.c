// SPDX-License-Identifier: MIT
/* Answers a client's queries about the device from the engine's description. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/api/device.h"
#include "kit/api/log.h"
#include "kit/plugin/plugin.h"
#include "model/device_read.h"
#include "model/extension.h"
#include "model/extension_list.h"

void device_init(struct nn_device_info *info)
{
	static const struct nn_performance unoffered = { FLT_MAX, FLT_MAX };

	*info = (struct nn_device_info){
		.magic = NN_DEVICE_MAGIC,
		.size = sizeof(*info),
		.relaxed_scalar = unoffered,
		.relaxed_tensor = unoffered,
		.if_performance = unoffered,
		.while_performance = unoffered,
	};
	for (int type = 0; type < NN_TYPE_COUNT; type++)
		info->operand[type] = unoffered;
}

static const struct nn_device_extension *extensions_of(const struct nna_engine *engine,
						       uint32_t *count)
{
	*count = 0;
	return engine->extensions ? engine->extensions(engine, count) : NULL;
}

static void put_item(struct extension_item *item, const struct nn_device_extension_item *from,
		     bool is_type)
{
	item->code = from->code;
	item->is_tensor = is_type && from->is_tensor;
	item->element_size = is_type ? from->element_size : 0;
	snprintf(item->name, sizeof(item->name), "%s", from->name);
}

static void *put_extension(void *to, const struct nn_device_extension *x)
{
	struct extension_record *record = to;
	struct extension_item *item = (struct extension_item *)(record + 1);

	snprintf(record->name, sizeof(record->name), "%s", x->name);
	record->version = x->version;
	record->num_types = x->num_types;
	record->num_operations = x->num_operations;
	record->oem = x->has_oem_operation;
	for (uint32_t i = 0; i < x->num_types; i++)
		put_item(item++, &x->types[i], true);
	for (uint32_t i = 0; i < x->num_operations; i++)
		put_item(item++, &x->operations[i], false);
	return item;
}

static size_t list_size(const struct nn_device_extension *list, uint32_t count)
{
	size_t size = 0;

	for (uint32_t i = 0; i < count; i++)
		size += sizeof(struct extension_record) + sizeof(struct extension_item) *
			((size_t)list[i].num_types + list[i].num_operations);
	return size;
}

/* Returns the encoded size of the engine's own extensions and of the plug-ins' extensions. */
static size_t size_of_all(const struct nna_engine *engine)
{
	uint32_t num_own, num_plugins;
	const struct nn_device_extension *own = extensions_of(engine, &num_own);
	const struct nn_device_extension *of_plugins = plugin_extensions(&num_plugins);

	return sizeof(struct extension_list) + list_size(own, num_own) +
	       list_size(of_plugins, num_plugins);
}

bool device_has_room(const struct nna_engine *engine, uint32_t items)
{
	return size_of_all(engine) + sizeof(struct extension_record) +
	       items * sizeof(struct extension_item) <= EXTENSION_LIST_MAX_SIZE;
}

void *device_list_extensions(const struct nna_engine *engine, size_t *size)
{
	uint32_t num_own, num_plugins;
	const struct nn_device_extension *own = extensions_of(engine, &num_own);
	const struct nn_device_extension *of_plugins = plugin_extensions(&num_plugins);
	struct extension_list *list;
	void *next;

	*size = size_of_all(engine);
	list = *size <= EXTENSION_LIST_MAX_SIZE ? calloc(1, *size) : NULL;
	if (!list)
		return NULL;
	list->magic = EXTENSION_LIST_MAGIC;
	list->count = num_own + num_plugins;
	next = list + 1;
	for (uint32_t i = 0; i < num_own; i++)
		next = put_extension(next, &own[i]);
	for (uint32_t i = 0; i < num_plugins; i++)
		next = put_extension(next, &of_plugins[i]);
	return list;
}

enum nn_status device_register_extension(const struct nn_device_extension *x, uint16_t *prefix,
					 struct nn_error *err)
{
	struct nn_extension *extension = calloc(1, sizeof(*extension));
	struct nn_extension_type *types = calloc(x->num_types + 1, sizeof(*types));
	enum nn_status status = NN_OUT_OF_MEMORY;

	if (extension && types) {
		for (uint32_t i = 0; i < x->num_types; i++)
			types[i] = (struct nn_extension_type){
				.code = x->types[i].code,
				.info = {
					.name = x->types[i].name,
					.element_size = x->types[i].element_size,
					.is_tensor = x->types[i].is_tensor,
				},
			};
		*extension = (struct nn_extension){ x->name, x->num_types, types };
		status = nn_extension_register(extension, prefix, err);
	} else {
		nn_fail(err, status, "out of memory");
	}
	if (status) {
		free(extension);
		free(types);
	}
	return status;
}

/* Checks names and codes in the encoded list of extensions, by the decoder that clients use. */
static bool make_sense(const struct nna_engine *engine, struct nn_error *err)
{
	struct nn_device_extension *read = NULL;
	enum nn_status status;
	uint32_t count;
	size_t size;
	void *list = device_list_extensions(engine, &size);

	if (!list)
		return !nn_fail(err, NN_INVALID_ARGUMENT, "out of memory, or too many");
	status = nn_device_extensions_decode(list, size, &read, &count, err);
	free(read);
	free(list);
	return !status;
}

bool device_register_extensions(const struct nna_engine *engine)
{
	struct nn_error err = { "" };
	uint32_t count;
	const struct nn_device_extension *extensions = extensions_of(engine, &count);
	bool done = make_sense(engine, &err);
	uint16_t prefix;

	for (uint32_t i = 0; i < count && done; i++)
		done = nn_extension_prefix(extensions[i].name) ||
		       !device_register_extension(&extensions[i], &prefix, &err);
	if (!done)
		log_error("the engine's extensions: %s", err.message);
	return done;
}

int32_t nna_engine_code(const char *extension, uint16_t code)
{
	uint32_t prefix = nn_extension_prefix(extension);

	return prefix ? (int32_t)(prefix << 16 | code) : 0;
}
