/* SPDX-License-Identifier: MIT */
/*
 * Extensions of this process: their operand types, with prefixes of its own. Codes of decoded
 * models are mapped to these prefixes.
 */
#ifndef NN_MODEL_EXTENSION_H
#define NN_MODEL_EXTENSION_H

#include <nnaccel/engine_model.h>

/*
 * A process registers an extension once, under a prefix of its own. Its types then have facts, and
 * decoded models get its codes. Types of unregistered extensions are opaque: of any size and rank.
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
 * Returns NN_INVALID_ARGUMENT if the name is registered already, under *prefix, and
 * NN_RESOURCE_EXHAUSTED_PERSISTENT if there are NN_MAX_EXTENSIONS already.
 */
enum nn_status nn_extension_register(const struct nn_extension *extension, uint16_t *prefix,
				     struct nn_error *err);

/* Returns the prefix of a registered extension, from 1, or 0. */
uint16_t nn_extension_prefix(const char *name);

/* Returns the extension of a prefix, or NULL. */
const struct nn_extension *nn_extension_at(uint16_t prefix);

/* Returns the facts of an extension's type, or NULL; nn_type_info_of() calls this. */
const struct nn_type_info *nn_extension_type_info(int32_t type);

/*
 * Maps the codes of a newly decoded model to the prefixes of this process; nn_model_decode() calls
 * this. Without registered extensions it does nothing. Returns NN_INVALID_ARGUMENT for an
 * unregistered extension, a repeated name, or an unlisted prefix.
 */
enum nn_status nn_model_resolve_extensions(struct nn_model *model, struct nn_error *err);

#endif /* NN_MODEL_EXTENSION_H */
