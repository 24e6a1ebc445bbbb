// SPDX-License-Identifier: MIT
/*
 * Plug-ins of an engine. After a plug-in's whole descriptor has been checked, the plug-in is
 * accepted. Models may use the types of an accepted plug-in, and clients can query the extension of
 * the plug-in. The file plugin_call.c calls the functions of plug-ins.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/api/device.h"
#include "kit/plugin/plugin.h"
#include "model/extension.h"
#include "model/fingerprint.h"

struct plugin {
	/* copy of the descriptor; fields that its version lacks are 0 */
	struct nnx_extension descriptor;
	uint64_t version;
	/* prefix of the extension's type and operation codes in this process */
	uint16_t prefix;
	/* the extension's types and operations, as listed for clients */
	struct nn_device_extension_item *items;
	/* the plug-in's operations; OEM_OPERATION, if the plug-in has it, comes last */
	struct nna_engine_plugin_operation *operations;
	uint32_t num_operations;
};

static struct plugin plugins[NNA_ENGINE_MAX_PLUGINS];
static struct nn_device_extension list[NNA_ENGINE_MAX_PLUGINS];
static uint32_t num_plugins;

uint32_t nna_engine_plugin_count(void)
{
	return num_plugins;
}

const struct nn_device_extension *plugin_extensions(uint32_t *count)
{
	*count = num_plugins;
	return list;
}

uint32_t nna_engine_plugin_fingerprint(void)
{
	uint64_t all[NNA_ENGINE_MAX_PLUGINS];

	if (!num_plugins)
		return 0;
	for (uint32_t i = 0; i < num_plugins; i++)
		all[i] = plugins[i].version;
	return (uint32_t)nn_fingerprint64(all, num_plugins * sizeof(all[0])) | 1;
}

const struct nna_engine_plugin_operation *nna_engine_plugin_operation_at(uint32_t index)
{
	for (uint32_t i = 0; i < num_plugins; index -= plugins[i++].num_operations)
		if (index < plugins[i].num_operations)
			return &plugins[i].operations[index];
	return NULL;
}

const struct nna_engine_plugin_operation *nna_engine_plugin_operation_of(int32_t type)
{
	for (uint32_t i = 0; i < num_plugins; i++) {
		const struct plugin *p = &plugins[i];

		if (type != NN_OP_OEM && p->prefix != (uint32_t)type >> 16)
			continue;
		for (uint32_t k = 0; k < p->num_operations; k++)
			if (p->operations[k].type == type)
				return &p->operations[k];
	}
	return NULL;
}

/* ---- the descriptor ---- */

static bool is_extension_name(const char *name)
{
	size_t length = name ? strnlen(name, NNX_MAX_NAME + 1) : 0;

	if (!length || length > NNX_MAX_NAME || !memchr(name, '.', length))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

static bool is_short_name(const char *name)
{
	size_t length = name ? strnlen(name, NNX_MAX_SHORT_NAME + 1) : 0;

	for (size_t i = 0; i < length; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return length && length <= NNX_MAX_SHORT_NAME;
}

static enum nn_status refuse(struct nn_error *err, const char *what)
{
	return nn_fail(err, NN_INVALID_ARGUMENT, "%s", what);
}

static enum nn_status check_types(const struct nnx_extension *x, struct nn_error *err)
{
	if (x->num_types > NNX_MAX_TYPES || (x->num_types && !x->types))
		return refuse(err, "there are too many types, or their list is NULL");
	for (uint32_t i = 0; i < x->num_types; i++) {
		const struct nnx_type *t = &x->types[i];

		if (!is_short_name(t->name))
			return nn_fail(err, NN_INVALID_ARGUMENT, "type %u has no valid name", i);
		if (!t->element_size || t->element_size > NNX_MAX_ELEMENT)
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "type %s: elements have %u bytes, must have 1 to %d",
				       t->name, t->element_size, NNX_MAX_ELEMENT);
		if (t->flags & ~NNX_TYPE_TENSOR)
			return nn_fail(err, NN_INVALID_ARGUMENT, "type %s: unknown flags 0x%x",
				       t->name, t->flags);
		for (uint32_t k = 0; k < i; k++)
			if (x->types[k].code == t->code)
				return nn_fail(err, NN_INVALID_ARGUMENT,
					       "types %s and %s both have code %u",
					       x->types[k].name, t->name, t->code);
	}
	return NN_OK;
}

static enum nn_status check_operation(const struct nnx_operation *o, struct nn_error *err)
{
	if (!is_short_name(o->name))
		return refuse(err, "an operation has no valid name");
	if (!o->check || !o->shape || !o->execute)
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "operation %s lacks check, shape or execute", o->name);
	if (!o->compile != !o->release)
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "operation %s must have both compile and release, or none", o->name);
	if (o->flags & ~NNX_ZERO_SIZED || o->reserved)
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "operation %s: unknown flags 0x%x or reserved 0x%x", o->name,
			       o->flags, o->reserved);
	return NN_OK;
}

static enum nn_status check_operations(const struct nnx_extension *x, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	if (x->num_operations > NNX_MAX_OPERATIONS || (x->num_operations && !x->operations))
		return refuse(err, "there are too many operations, or their list is NULL");
	for (uint32_t i = 0; i < x->num_operations && !status; i++) {
		status = check_operation(&x->operations[i], err);
		for (uint32_t k = 0; k < i && !status; k++)
			if (x->operations[k].code == x->operations[i].code)
				status = nn_fail(err, NN_INVALID_ARGUMENT,
						 "operations %s and %s both have code %u",
						 x->operations[k].name, x->operations[i].name,
						 x->operations[i].code);
	}
	if (!status && x->oem_operation)
		status = check_operation(x->oem_operation, err);
	if (!status && x->oem_operation && nna_engine_plugin_operation_of(NN_OP_OEM))
		status = refuse(err, "another extension has the OEM operation already");
	return status;
}

static enum nn_status check_attributes(const struct nnx_extension *x, struct nn_error *err)
{
	if (x->num_attributes > NNX_MAX_ATTRIBUTES || (x->num_attributes && !x->attributes))
		return refuse(err, "there are too many attributes, or their list is NULL");
	if (x->reserved)
		return refuse(err, "reserved fields are not 0");
	for (uint32_t i = 0; i < x->num_attributes; i++) {
		const struct nnx_attribute_type *a = &x->attributes[i];

		if (!is_short_name(a->name))
			return nn_fail(err, NN_INVALID_ARGUMENT, "attribute %u has no valid name",
				       i);
		if (!a->flags || a->flags & ~(NNX_OF_COMPILATION | NNX_OF_EXECUTION) || a->reserved)
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "attribute %s: wrong flags 0x%x or reserved 0x%x", a->name,
				       a->flags, a->reserved);
		if (!a->check)
			return nn_fail(err, NN_INVALID_ARGUMENT, "attribute %s lacks check",
				       a->name);
		for (uint32_t k = 0; k < i; k++)
			if (x->attributes[k].code == a->code)
				return nn_fail(err, NN_INVALID_ARGUMENT,
					       "attributes %s and %s both have code %u",
					       x->attributes[k].name, a->name, a->code);
	}
	return NN_OK;
}

/* Copies the fields that exist in the descriptor's version, and sets newer fields to 0. */
static enum nn_status read_descriptor(const struct nnx_extension *from, struct nnx_extension *x,
				      struct nn_error *err)
{
	size_t size = from->abi == 1 ? NNX_EXTENSION_SIZE_1 : sizeof(*x);

	if (!from->abi || from->abi > NNX_ABI_VERSION)
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "built for version %u of the interface, this engine has %u",
			       from->abi, NNX_ABI_VERSION);
	if (from->size != size)
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "the descriptor has %u bytes, must have %zu", from->size, size);
	*x = (struct nnx_extension){ 0 };
	memcpy(x, from, size);
	return NN_OK;
}

static enum nn_status check_descriptor(const struct nnx_extension *x, struct nn_error *err)
{
	enum nn_status status;

	if (!is_extension_name(x->name))
		return refuse(err, "its name must be like com.example.extension");
	if (nn_extension_prefix(x->name))
		return nn_fail(err, NN_INVALID_ARGUMENT, "extension %s is registered already",
			       x->name);
	if (x->num_needs && !x->needs)
		return refuse(err, "the list of needed extensions is NULL");
	status = check_types(x, err);
	if (!status)
		status = check_operations(x, err);
	return status ? status : check_attributes(x, err);
}

/* ---- acceptance ---- */

/* Describes a plug-in's extension for clients. */
static void fill_list(const struct plugin *p, struct nn_device_extension *told)
{
	const struct nnx_extension *x = &p->descriptor;

	for (uint32_t i = 0; i < x->num_types; i++)
		p->items[i] = (struct nn_device_extension_item){
			.code = x->types[i].code,
			.is_tensor = x->types[i].flags & NNX_TYPE_TENSOR,
			.element_size = x->types[i].element_size,
			.name = x->types[i].name,
		};
	for (uint32_t i = 0; i < x->num_operations; i++)
		p->items[x->num_types + i] = (struct nn_device_extension_item){
			.code = x->operations[i].code,
			.name = x->operations[i].name,
		};
	*told = (struct nn_device_extension){
		.name = x->name,
		.version = x->version,
		.has_oem_operation = x->oem_operation,
		.num_types = x->num_types,
		.num_operations = x->num_operations,
		.types = p->items,
		.operations = p->items + x->num_types,
	};
}

static void fill_operation(struct plugin *p, const struct nnx_operation *descriptor, int32_t type)
{
	p->operations[p->num_operations++] = (struct nna_engine_plugin_operation){
		.type = type,
		.descriptor = descriptor,
		.extension = p->descriptor.name,
		.version = p->version,
	};
}

static enum nn_status join(struct plugin *p, struct nn_error *err)
{
	const struct nnx_extension *x = &p->descriptor;
	enum nn_status status;

	p->items = calloc(x->num_types + x->num_operations + 1, sizeof(*p->items));
	p->operations = calloc(x->num_operations + 1, sizeof(*p->operations));
	if (!p->items || !p->operations)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	fill_list(p, &list[num_plugins]);
	status = device_register_extension(&list[num_plugins], &p->prefix, err);
	if (status)
		return status;
	for (uint32_t i = 0; i < x->num_operations; i++)
		fill_operation(p, &x->operations[i],
			       (int32_t)((uint32_t)p->prefix << 16 | x->operations[i].code));
	if (x->oem_operation)
		fill_operation(p, x->oem_operation, NN_OP_OEM);
	return NN_OK;
}

/*
 * Returns the name of the first missing extension among the extensions that the plug-in needs, or
 * NULL.
 */
static const char *missing_need(const struct nnx_extension *x)
{
	for (uint32_t i = 0; i < x->num_needs; i++)
		if (!x->needs[i] || !nn_extension_prefix(x->needs[i]))
			return x->needs[i] ? x->needs[i] : "(none)";
	return NULL;
}

enum nna_engine_plugin nna_engine_plugin_take(const struct nna_engine *engine,
					      const struct nnx_extension *descriptor,
					      uint64_t version, struct nn_error *err)
{
	struct plugin *p = &plugins[num_plugins];
	struct nnx_extension x;
	const char *need;

	if (read_descriptor(descriptor, &x, err) || check_descriptor(&x, err))
		return NNA_ENGINE_PLUGIN_REFUSED;
	need = missing_need(&x);
	if (need) {
		nn_fail(err, NN_INVALID_ARGUMENT, "extension %s needs %.128s, which is not loaded",
			x.name, need);
		return NNA_ENGINE_PLUGIN_WAITS;
	}
	if (num_plugins == NNA_ENGINE_MAX_PLUGINS ||
	    !device_has_room(engine, x.num_types + x.num_operations)) {
		nn_fail(err, NN_INVALID_ARGUMENT,
			"there are too many extensions, types or operations");
		return NNA_ENGINE_PLUGIN_REFUSED;
	}
	*p = (struct plugin){ .descriptor = x, .version = version };
	if (join(p, err)) {
		free(p->items);
		free(p->operations);
		return NNA_ENGINE_PLUGIN_REFUSED;
	}
	num_plugins++;
	return NNA_ENGINE_PLUGIN_LOADED;
}

/* ---- the file ---- */

static uint64_t fingerprint_of(const char *path)
{
	uint64_t fingerprint = 0;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			fingerprint = nn_fingerprint64(map, (size_t)st.st_size);
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return fingerprint;
}

enum nna_engine_plugin nna_engine_plugin_load(const struct nna_engine *engine, const char *path,
					      struct nn_error *err)
{
	const struct nnx_extension *descriptor;
	enum nna_engine_plugin result;
	void *object = dlopen(path, RTLD_LOCAL | RTLD_NOW);

	if (!object) {
		nn_fail(err, NN_INVALID_ARGUMENT, "%s", dlerror());
		return NNA_ENGINE_PLUGIN_REFUSED;
	}
	descriptor = dlsym(object, NNX_SYMBOL);
	if (!descriptor) {
		nn_fail(err, NN_INVALID_ARGUMENT, "it exports no " NNX_SYMBOL);
		result = NNA_ENGINE_PLUGIN_REFUSED;
	} else {
		result = nna_engine_plugin_take(engine, descriptor, fingerprint_of(path), err);
	}
	if (result != NNA_ENGINE_PLUGIN_LOADED)
		dlclose(object);
	return result;
}

/* ---- models ---- */

static const struct plugin *find_plugin(uint16_t prefix)
{
	for (uint32_t i = 0; i < num_plugins; i++)
		if (plugins[i].prefix == prefix)
			return &plugins[i];
	return NULL;
}

/*
 * Checks an operand whose type a plug-in defines. Accepts operands of the engine's own extensions,
 * which the engine itself checks.
 */
static enum nn_status check_operand(const struct nn_operand *o, struct nn_error *err)
{
	const struct plugin *p = find_plugin((uint32_t)o->type >> 16);

	for (uint32_t i = 0; p && i < p->descriptor.num_types; i++)
		if (p->descriptor.types[i].code == (o->type & 0xffff))
			return plugin_check_data(&p->descriptor.types[i], o, err);
	return p ? nn_fail(err, NN_INVALID_ARGUMENT, "no plug-in has type 0x%x",
			   (uint32_t)o->type) : NN_OK;
}

/*
 * Checks that the extensions of a model are registered. The decoder has already mapped the
 * extensions' codes to this process's prefixes.
 */
static enum nn_status check_names(const struct nn_model *model, struct nn_error *err)
{
	for (uint32_t i = 0; i < model->num_extensions; i++)
		if (!nn_extension_prefix(model->extensions[i].name))
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "extension %.128s: this client's device %s",
				       model->extensions[i].name,
				       nn_extension_at(1) ? "does not have it" :
							    "has no extensions");
	return NN_OK;
}

enum nn_status nna_engine_plugin_check_model(const struct nn_model *model, struct nn_error *err)
{
	enum nn_status status = check_names(model, err);
	struct nn_error reason = { "" };

	for (uint32_t k = 0; !status && k < model->num_subgraphs; k++) {
		const struct nn_subgraph *s = &model->subgraphs[k];

		for (uint32_t i = 0; i < s->num_operands; i++)
			if ((uint32_t)s->operands[i].type > 0xffff &&
			    check_operand(&s->operands[i], &reason))
				return nn_fail(err, NN_INVALID_ARGUMENT,
					       "subgraph %u, operand %u (%s): %.300s", k, i,
					       nn_type_name(s->operands[i].type), reason.message);
	}
	return status;
}

/* ---- attributes ---- */

static const struct nnx_attribute_type *find_attribute(const struct nn_attribute *a,
						       bool is_execution)
{
	const uint16_t flag = is_execution ? NNX_OF_EXECUTION : NNX_OF_COMPILATION;

	for (uint32_t i = 0; i < num_plugins; i++) {
		const struct nnx_extension *x = &plugins[i].descriptor;

		for (uint32_t k = 0; !strcmp(x->name, a->extension) && k < x->num_attributes; k++)
			if (x->attributes[k].code == a->code && x->attributes[k].flags & flag)
				return &x->attributes[k];
	}
	return NULL;
}

enum nn_status nna_engine_plugin_check_attributes(const struct nn_attributes *attributes,
						  bool is_execution, struct nn_error *err)
{
	for (uint32_t i = 0; attributes && i < attributes->count; i++) {
		struct nn_error reason = { "" };
		const struct nn_attribute *a = &attributes->list[i];
		const struct nnx_attribute_type *type = find_attribute(a, is_execution);
		enum nn_status status;

		if (!type)
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "extension %.128s has no attribute %u for %s",
				       a->extension, a->code,
				       is_execution ? "an execution" : "a compilation");
		status = plugin_check_attribute(type, a, &reason);
		if (status)
			return nn_fail(err, status, "attribute %s of %.128s: %.200s", type->name,
				       a->extension, reason.message);
	}
	return NN_OK;
}
