/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions: which ones devices have, whether this program may use them, and which ones
 * models use.
 */
#ifndef NN_RUNTIME_EXTENSION_H
#define NN_RUNTIME_EXTENSION_H

#include "runtime/device.h"

/* Frees the attributes of a compilation or an execution. */
void attributes_free(struct nn_attributes *attributes);

/* Returns the attributes, or NULL if it has no attributes. */
static inline const struct nn_attributes *attributes_given(const struct nn_attributes *attributes)
{
	return attributes->count ? attributes : NULL;
}

/*
 * Returns BAD_DATA unless a model may contain this type or operation of an extension. Its prefix
 * must have been assigned, and the extension must have the type. The program must be allowed to use
 * extensions.
 */
int extension_check_type(int32_t type, struct nn_error *err);
int extension_check_operation(int32_t type, struct nn_error *err);

/*
 * Lists the extensions that a graph uses, for nn_model.extensions; returns false if memory runs
 * out.
 */
bool extension_list_used(const struct nn_subgraph *subgraphs, uint32_t count,
			 struct arena *arena, struct nn_model *model);

#endif /* NN_RUNTIME_EXTENSION_H */
