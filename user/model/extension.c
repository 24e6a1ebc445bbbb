/* SPDX-License-Identifier: MIT */
/*
 * Extensions registered in this process, with their operand types. The process assigns a prefix to
 * each extension, and maps the codes of decoded models to the assigned prefixes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "extension.h"

/*
 * Registered extensions; extensions[i] has prefix i + 1. Entries of `extensions` are added, but
 * never changed or removed.
 */
static _Atomic(const struct nn_extension *) extensions[NN_MAX_EXTENSIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct nn_extension *nn_extension_at(uint16_t prefix)
{
	if (!prefix || prefix > NN_MAX_EXTENSIONS)
		return NULL;
	return atomic_load_explicit(&extensions[prefix - 1], memory_order_acquire);
}

uint16_t nn_extension_prefix(const char *name)
{
	const struct nn_extension *e;

	for (uint16_t prefix = 1; (e = nn_extension_at(prefix)); prefix++)
		if (!strcmp(e->name, name))
			return prefix;
	return 0;
}

enum nn_status nn_extension_register(const struct nn_extension *extension, uint16_t *prefix,
				     struct nn_error *err)
{
	uint16_t next = 1;

	pthread_mutex_lock(&lock);
	*prefix = nn_extension_prefix(extension->name);
	while (nn_extension_at(next))
		next++;
	if (!*prefix && next <= NN_MAX_EXTENSIONS)
		atomic_store_explicit(&extensions[next - 1], extension, memory_order_release);
	pthread_mutex_unlock(&lock);
	if (*prefix)
		return nn_fail(err, NN_INVALID_ARGUMENT, "extension %.128s is registered already",
			       extension->name);
	if (next > NN_MAX_EXTENSIONS)
		return nn_fail(err, NN_RESOURCE_EXHAUSTED_PERSISTENT,
			       "extension %.128s exceeds the limit of %d", extension->name,
			       NN_MAX_EXTENSIONS);
	*prefix = next;
	return NN_OK;
}

const struct nn_type_info *nn_extension_type_info(int32_t type)
{
	const struct nn_extension *e = nn_extension_at((uint32_t)type >> 16);

	for (uint32_t i = 0; e && i < e->num_types; i++)
		if (e->types[i].code == (type & 0xffff))
			return &e->types[i].info;
	return NULL;
}

/*
 * Sets map[prefix] to the process's prefix for each prefix in the model's list of extensions, and
 * to 0 for all other prefixes.
 */
static enum nn_status map_prefixes(const struct nn_model *model, uint16_t *map,
				   struct nn_error *err)
{
	for (uint32_t i = 0; i < model->num_extensions; i++) {
		const struct nn_extension_prefix *e = &model->extensions[i];

		map[e->prefix] = nn_extension_prefix(e->name);
		if (!map[e->prefix])
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "extension %u (%.128s) is not registered here", i, e->name);
	}
	return NN_OK;
}

static int32_t moved(int32_t code, const uint16_t *map)
{
	uint32_t bits = (uint32_t)code;

	return (int32_t)((uint32_t)map[bits >> 16] << 16 | (bits & 0xffff));
}

/* Maps the codes of a subgraph in place, because the decoded model has not been used yet. */
static enum nn_status move_subgraph(struct nn_model_checker *c, const uint16_t *map)
{
	const struct nn_subgraph *g = &c->model->subgraphs[c->at];
	struct nn_operation *operations = (struct nn_operation *)g->operations;
	struct nn_operand *operands = (struct nn_operand *)g->operands;

	for (uint32_t i = 0; i < g->num_operands; i++) {
		if (!nn_check_prefix(c, operands[i].type))
			return nn_refuse_prefix(c, i);
		operands[i].type = moved(operands[i].type, map);
	}
	for (uint32_t i = 0; i < g->num_operations; i++) {
		if (nn_is_own(operations[i].type))
			continue;
		if (!nn_check_prefix(c, operations[i].type))
			return nn_refuse_operation(c, i, ": its extension is not listed");
		operations[i].type = moved(operations[i].type, map);
	}
	return NN_OK;
}

static void move_table(struct nn_model *model, const uint16_t *map)
{
	struct nn_extension_prefix *table = (struct nn_extension_prefix *)model->extensions;

	for (uint32_t i = 0; i < model->num_extensions; i++)
		table[i].prefix = map[table[i].prefix];
}

enum nn_status nn_model_resolve_extensions(struct nn_model *model, struct nn_error *err)
{
	struct nn_model_checker c = { .model = model, .err = err };
	enum nn_status status;
	uint16_t *map;

	if (!nn_extension_at(1))
		return NN_OK;
	status = nn_check_extensions(&c);
	if (status)
		return status;
	map = calloc(UINT16_MAX + 1, sizeof(*map));
	if (!map)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory to resolve the extensions");
	status = map_prefixes(model, map, err);
	for (; c.at < model->num_subgraphs && !status; c.at++)
		status = move_subgraph(&c, map);
	if (!status)
		move_table(model, map);
	free(map);
	return status;
}
