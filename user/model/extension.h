/* SPDX-License-Identifier: MIT */
/* Extensions registered in this process, with their operand types. */
#ifndef NN_MODEL_EXTENSION_H
#define NN_MODEL_EXTENSION_H

#include <nnaccel/engine_model.h>

/*
 * A process registers an extension once, and assigns a prefix to the extension. After registration,
 * the sizes of the extension's types are known, and codes in decoded models have the assigned
 * prefix. Types of unregistered extensions are opaque: they may have any size and rank.
 */
#define NN_MAX_EXTENSIONS 64

struct nn_extension_type {
	uint16_t code;
	struct nn_type_info info;	/* element_size is at least 1 */
};

struct nn_extension {
	const char *name;		/* reverse domain name: "com.example.extension" */
	uint32_t num_types;
	const struct nn_extension_type *types;
};

/*
 * Registers an extension for the life of the process, from any thread; *extension must stay valid.
 * Returns NN_INVALID_ARGUMENT if an extension of this name is already registered, and sets *prefix
 * to the registered extension's prefix. Returns NN_RESOURCE_EXHAUSTED_PERSISTENT if
 * NN_MAX_EXTENSIONS are already registered.
 */
enum nn_status nn_extension_register(const struct nn_extension *extension, uint16_t *prefix,
				     struct nn_error *err);

/* Returns the prefix of an extension, which is at least 1; 0 if the extension is not registered. */
uint16_t nn_extension_prefix(const char *name);

/* Returns the extension with this prefix; NULL if the prefix is not assigned. */
const struct nn_extension *nn_extension_at(uint16_t prefix);

/*
 * Returns the properties of a type of a registered extension, or NULL; called by nn_type_info_of().
 */
const struct nn_type_info *nn_extension_type_info(int32_t type);

/*
 * Maps the codes of a newly decoded model to the prefixes of this process; called by
 * nn_model_decode(). If no extension is registered, the function leaves the model unchanged.
 * Returns NN_INVALID_ARGUMENT for an unregistered extension, an extension listed twice, or a prefix
 * that the model does not list.
 */
enum nn_status nn_model_resolve_extensions(struct nn_model *model, struct nn_error *err);

#endif /* NN_MODEL_EXTENSION_H */
