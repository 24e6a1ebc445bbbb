/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions: which extensions devices have and models use, and whether this program may use
 * extensions.
 */
#ifndef NN_RUNTIME_EXTENSION_H
#define NN_RUNTIME_EXTENSION_H

#include "runtime/device.h"

void attributes_free(struct nn_attributes *attributes);

/* Returns the attributes; NULL if the number of attributes is 0. */
static inline const struct nn_attributes *attributes_given(const struct nn_attributes *attributes)
{
	return attributes->count ? attributes : NULL;
}

/*
 * Return BAD_DATA if no device has the extension of `type`, or if this program may not use
 * extensions. extension_check_type() also returns BAD_DATA if the extension does not define `type`.
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
