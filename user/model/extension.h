/* SPDX-License-Identifier: MIT */
/*
 * The extensions that this process knows: their operand types, under prefixes of
 * its own, and the models whose codes are brought to these prefixes.
 */
#ifndef NN_MODEL_EXTENSION_H
#define NN_MODEL_EXTENSION_H

#include <nnaccel/model.h>

/*
 * A process that knows an extension registers it, once, under a prefix of its own:
 * then its types have facts, and models that are decoded get its codes. Types of
 * extensions that nobody registered are opaque: of any size and rank.
 */
#define NN_MAX_EXTENSIONS 64

struct nn_extension_type {
	uint16_t code;
	struct nn_type_info info;	/* element_size 1 at least */
};

struct nn_extension {
	const char *name;		/* by reverse domain: "com.example.extension" */
	uint32_t num_types;
	const struct nn_extension_type *types;
};

/*
 * Registers an extension, which is to stay where it is, for the life of the
 * process. NN_INVALID_ARGUMENT: its name is there already, *prefix tells where;
 * NN_RESOURCE_EXHAUSTED_PERSISTENT: NN_MAX_EXTENSIONS are. From any thread.
 */
enum nn_status nn_extension_register(const struct nn_extension *extension, uint16_t *prefix,
				     struct nn_error *err);

/* The prefix of a registered extension, or 0; prefixes go from 1 on. */
uint16_t nn_extension_prefix(const char *name);

/* The extension of a prefix, or NULL. */
const struct nn_extension *nn_extension_at(uint16_t prefix);

/* The facts of an extension's type, or NULL; nn_type_info() comes here too. */
const struct nn_type_info *nn_extension_type_info(int32_t type);

/*
 * Gives the codes of a decoded model that was not used yet the prefixes of this
 * process. Where no extension is registered it does nothing; else
 * NN_INVALID_ARGUMENT names an extension that is not, a name that is listed
 * twice, or a prefix that is not listed. nn_model_decode() does this.
 */
enum nn_status nn_model_resolve_extensions(struct nn_model *model, struct nn_error *err);

#endif /* NN_MODEL_EXTENSION_H */
