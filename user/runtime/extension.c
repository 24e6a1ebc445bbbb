/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions: lists which extensions devices have and which extensions models use, and
 * checks this program's permission to use extensions.
 */
#define _GNU_SOURCE
#include "runtime/extension.h"

#include <android/NeuralNetworksExtensions.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/extension.h"
#include "base/allowlist.h"
#include "runtime/execution.h"
#include "runtime/log.h"
#include "runtime/operand.h"

/*
 * Environment variable that replaces the program's name in tests, if the configuration allows the
 * variable.
 */
#define APP_NAME "NNACCEL_APP_NAME"

/* ---- permission ---- */

/*
 * Finds the first line with the prefix `start` in a file of the kernel, and returns the line's text
 * after the prefix, or NULL. The buffer `text` must have room for the longest line.
 */
static const char *read_line(const char *path, const char *start, char *text, int size)
{
	FILE *file = fopen(path, "re");
	const char *found = NULL;

	while (file && !found && fgets(text, size, file)) {
		text[strcspn(text, "\n")] = '\0';
		if (!strncmp(text, start, strlen(start)))
			found = text + strlen(start);
	}
	if (file)
		fclose(file);
	return found;
}

/*
 * Returns the path of the script that this process interprets: the first argument of the process
 * that names a file. The caller frees the path. Returns NULL if no argument names a file.
 */
static char *find_script(void)
{
	FILE *file = fopen("/proc/self/cmdline", "re");
	char *argument = NULL, *path = NULL;
	struct stat seen;
	size_t size = 0;

	for (int i = 0; file && !path && getdelim(&argument, &size, '\0', file) > 0; i++)
		if (i && argument[0] != '-' && !stat(argument, &seen) && S_ISREG(seen.st_mode))
			path = realpath(argument, NULL);
	free(argument);
	if (file)
		fclose(file);
	return path;
}

/*
 * Returns whether this program may use extensions. Each use of an extension calls is_admitted(),
 * which reads a configuration file again if the file has changed.
 */
static bool is_admitted(const char **reason)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct allowlist allowlist = {
		.list.path = NN_CONFIG_DIR "/extensions_app_allowlist",
		.config.path = NN_CONFIG_DIR "/extensions.conf",
	};
	char path[4096], cgroup[4096], label[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	char *script = find_script();
	struct allowlist_program program = {
		.path = n >= 0 && n < (ssize_t)sizeof(path) ? path : NULL,
		.script = script,
		.cgroup = read_line("/proc/self/cgroup", "0::", cgroup, sizeof(cgroup)),
		.label = read_line("/proc/self/attr/current", "", label, sizeof(label)),
		.name = secure_getenv(APP_NAME),
	};
	bool admitted;

	if (n >= 0 && n < (ssize_t)sizeof(path))
		path[n] = '\0';
	pthread_mutex_lock(&lock);
	admitted = allowlist_admits(&allowlist, &program, reason);
	pthread_mutex_unlock(&lock);
	free(script);
	return admitted;
}

static int check_admitted(struct nn_error *err)
{
	const char *reason;

	if (is_admitted(&reason))
		return ANEURALNETWORKS_NO_ERROR;
	return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s (" NN_CONFIG_DIR
		       "/extensions_app_allowlist)", reason);
}

/* ---- what devices have ---- */

static const struct nn_device_extension *find(const ANeuralNetworksDevice *device,
					      const char *name)
{
	const struct device_facts *facts = device_facts(device);

	for (uint32_t i = 0; i < facts->num_extensions; i++)
		if (!strcmp(facts->extensions[i].name, name))
			return &facts->extensions[i];
	return NULL;
}

static const struct nn_device_extension *find_anywhere(const char *name)
{
	const struct nn_device_extension *extension = NULL;

	for (uint32_t i = 0; i < device_count() && !extension; i++)
		extension = find(device_at(i), name);
	return extension;
}

/*
 * Makes the table of an extension's types, which lives as long as the process; returns NULL if
 * memory runs out.
 */
static struct nn_extension *make_extension(const struct nn_device_extension *from)
{
	struct nn_extension *e = calloc(1, sizeof(*e) +
					from->num_types * sizeof(struct nn_extension_type));
	struct nn_extension_type *types = (struct nn_extension_type *)(e + 1);

	if (!e)
		return NULL;
	for (uint32_t i = 0; i < from->num_types; i++)
		types[i] = (struct nn_extension_type){
			.code = from->types[i].code,
			.info = { from->types[i].name, from->types[i].element_size,
				  from->types[i].is_tensor },
		};
	*e = (struct nn_extension){ from->name, from->num_types, types };
	return e;
}

/*
 * Returns the prefix of an extension in this process. The first call for an extension assigns the
 * prefix.
 */
static int get_prefix(const char *name, uint16_t *prefix, struct nn_error *err)
{
	const struct nn_device_extension *found = find_anywhere(name);
	struct nn_extension *extension;

	if (!found)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "no device has the extension %s",
			       name);
	*prefix = nn_extension_prefix(name);
	if (*prefix)
		return ANEURALNETWORKS_NO_ERROR;
	extension = make_extension(found);
	if (!extension)
		return rt_out_of_memory(err);
	if (nn_extension_register(extension, prefix, err) == NN_OK)
		return ANEURALNETWORKS_NO_ERROR;
	free(extension);
	/* Another thread may have registered the extension meanwhile; *prefix is then set. */
	return *prefix ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
}

static int get_code(const char *name, uint16_t code, int32_t *type, struct nn_error *err)
{
	uint16_t prefix;
	struct nn_error reason = { "" };
	int result = get_prefix(name, &prefix, &reason);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return rt_fail(err, result, "%s", reason.message);
	*type = (int32_t)((uint32_t)prefix << 16 | code);
	return ANEURALNETWORKS_NO_ERROR;
}

/* ---- models ---- */

int extension_check_type(int32_t type, struct nn_error *err)
{
	const struct nn_extension *extension = nn_extension_at((uint32_t)type >> 16);

	if (!extension)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "type 0x%x is of an extension that no device has", type);
	if (!nn_type_info_of(type))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "type %d does not exist in extension %s", type & 0xffff,
			       extension->name);
	return check_admitted(err);
}

int extension_check_operation(int32_t type, struct nn_error *err)
{
	if (!nn_extension_at((uint32_t)type >> 16))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operation 0x%x is of an extension that no device has", type);
	return check_admitted(err);
}

static void mark(bool *used, int32_t code)
{
	uint32_t prefix = (uint32_t)code >> 16;

	if (prefix && prefix <= NN_MAX_EXTENSIONS)
		used[prefix] = true;
}

bool extension_list_used(const struct nn_subgraph *subgraphs, uint32_t count,
			 struct arena *arena, struct nn_model *model)
{
	bool used[NN_MAX_EXTENSIONS + 1] = { false };
	struct nn_extension_prefix *list = arena_alloc(arena, NN_MAX_EXTENSIONS, sizeof(*list));

	if (!list)
		return false;
	for (uint32_t k = 0; k < count; k++) {
		for (uint32_t i = 0; i < subgraphs[k].num_operands; i++)
			mark(used, subgraphs[k].operands[i].type);
		for (uint32_t i = 0; i < subgraphs[k].num_operations; i++)
			mark(used, subgraphs[k].operations[i].type);
	}
	model->extensions = list;
	for (uint16_t prefix = 1; prefix <= NN_MAX_EXTENSIONS; prefix++)
		if (used[prefix] && nn_extension_at(prefix))
			list[model->num_extensions++] = (struct nn_extension_prefix){
				nn_extension_at(prefix)->name, prefix
			};
	return true;
}

static int set_data(ANeuralNetworksModel *model, int32_t index, const void *data, size_t length,
		    struct nn_error *err)
{
	struct nn_operand *operand;
	const uint8_t *copy;

	if (model->finished || model->invalid)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the model is finished or invalid");
	if (index < 0 || (uint32_t)index >= model->num_operands)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "operand %d must be below %u", index,
			       model->num_operands);
	operand = &model->operands[index];
	if (!operand_is_extension(operand->type))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "operand %d (%s) has no extension type, but %zu bytes are set",
			       index, nn_type_name(operand->type), length);
	if (!data) {
		operand->extra = (struct nn_extra){ .kind = NN_EXTRA_NONE };
		return ANEURALNETWORKS_NO_ERROR;
	}
	if (!length || length > UINT32_MAX)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "operand %d (%s): %zu bytes", index,
			       nn_type_name(operand->type), length);
	copy = arena_copy(&model->arena, data, length, 1);
	if (!copy)
		return rt_out_of_memory(err);
	operand->extra = (struct nn_extra){ .kind = NN_EXTRA_EXTENSION, .bytes = copy,
					    .count = (uint32_t)length };
	return ANEURALNETWORKS_NO_ERROR;
}

/* ---- attributes ---- */

void attributes_free(struct nn_attributes *attributes)
{
	for (uint32_t i = 0; i < attributes->count; i++)
		free((void *)attributes->list[i].data);
	free((void *)attributes->list);
}

static int append(struct nn_attributes *attributes, const struct nn_attribute *attribute,
		  struct nn_error *err)
{
	struct nn_attribute *list = realloc((void *)attributes->list, (attributes->count + 1) *
					    sizeof(*list));
	void *data;

	if (!list)
		return rt_out_of_memory(err);
	attributes->list = list;
	data = malloc(attribute->size ? attribute->size : 1);
	if (!data)
		return rt_out_of_memory(err);
	if (attribute->size)
		memcpy(data, attribute->data, attribute->size);
	list[attributes->count] = *attribute;
	list[attributes->count++].data = data;
	return ANEURALNETWORKS_NO_ERROR;
}

static int add_attribute(const ANeuralNetworksCompilation *compilation, bool is_configuring,
			 struct nn_attributes *attributes, const char *name, uint16_t code,
			 const void *data, size_t length, struct nn_error *err)
{
	const struct nn_device_extension *extension;
	int result;

	if (!is_configuring)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "it is finished or started");
	if (!compilation_has_one_device(compilation))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "an attribute needs a compilation for exactly one device");
	extension = find(compilation->devices[0], name);
	if (!extension)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s has no extension %s",
			       compilation->devices[0]->name, name);
	result = check_admitted(err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (length > UINT32_MAX)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "an attribute of %zu bytes", length);
	for (uint32_t i = 0; i < attributes->count; i++)
		if (attributes->list[i].extension == extension->name &&
		    attributes->list[i].code == code)
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "attribute %u of %s is given twice", code, name);
	return append(attributes, &(struct nn_attribute){
		.extension = extension->name, .code = code, .size = (uint32_t)length, .data = data,
	}, err);
}

/* ---- the NDK's functions ---- */

int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device,
					      const char *extensionName,
					      bool *isExtensionSupported)
{
	RT_NOT_NULL(device, extensionName, isExtensionSupported);
	/* The CPU device has one extension: the operations that this library adds to the NNAPI. */
	*isExtensionSupported = find(device, extensionName) ||
				(!device->path && !strcmp(extensionName, NN_OWN_EXTENSION));
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model,
						 const char *extensionName,
						 uint16_t operandCodeWithinExtension,
						 int32_t *type)
{
	RT_NOT_NULL(model, extensionName, type);
	return RT_CALL(get_code(extensionName, operandCodeWithinExtension, type, &err));
}

int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model,
						   const char *extensionName,
						   uint16_t operationCodeWithinExtension,
						   ANeuralNetworksOperationType *type)
{
	RT_NOT_NULL(model, extensionName, type);
	if (strcmp(extensionName, NN_OWN_EXTENSION))
		return RT_CALL(get_code(extensionName, operationCodeWithinExtension, type, &err));
	/*
	 * All programs may use operations of this library's own extension. A device that lacks an
	 * operation of this extension reports the operation as not supported.
	 */
	*type = NN_OWN_PREFIX << 16 | operationCodeWithinExtension;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel *model, int32_t index,
						 const void *data, size_t length)
{
	RT_NOT_NULL(model);
	if (!data && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
				 "operand %d: NULL and a length of %zu", index, length);
	return RT_CALL(set_data(model, index, data, length, &err));
}

int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation *compilation,
						     const char *extensionName,
						     uint16_t attributeCodeWithinExtension,
						     const void *data, size_t length)
{
	RT_NOT_NULL(compilation, extensionName);
	if (!data && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL, "NULL and a length of %zu",
				 length);
	return RT_CALL(add_attribute(compilation, !compilation->finished,
				    &compilation->attributes, extensionName,
				    attributeCodeWithinExtension, data, length, &err));
}

int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution *execution,
						   const char *extensionName,
						   uint16_t attributeCodeWithinExtension,
						   const void *data, size_t length)
{
	RT_NOT_NULL(execution, extensionName);
	if (!data && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL, "NULL and a length of %zu",
				 length);
	return RT_CALL(add_attribute(execution->compilation,
				    execution->state == EXECUTION_CONFIGURING,
				    &execution->attributes, extensionName,
				    attributeCodeWithinExtension, data, length, &err));
}
