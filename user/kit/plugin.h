/* SPDX-License-Identifier: MIT */
/*
 * Plug-ins that an engine takes: what the kit's own files say to each other.
 */
#ifndef NN_KIT_PLUGIN_H
#define NN_KIT_PLUGIN_H

#include <nnaccel/engine_plugins.h>

/* What clients are told of those that were taken. */
const struct nn_device_extension *plugin_extensions(uint32_t *count);

/* Has an operand's extension data checked by its type. */
enum nn_status plugin_check_data(const struct nnx_type *type, const struct nn_operand *operand,
				 struct nn_error *err);

/* Has an attribute checked by its own. */
enum nn_status plugin_check_attribute(const struct nnx_attribute_type *type,
				      const struct nn_attribute *attribute, struct nn_error *err);

#endif /* NN_KIT_PLUGIN_H */
