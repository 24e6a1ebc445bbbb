/* SPDX-License-Identifier: MIT */
/* Functions for an engine's plug-ins that only libnnaccel-engine itself calls. */
#ifndef NN_KIT_PLUGIN_H
#define NN_KIT_PLUGIN_H

#include <nnaccel/engine_plugins.h>

/* Returns the descriptions of the accepted plug-ins' extensions, as listed for clients. */
const struct nn_device_extension *plugin_extensions(uint32_t *count);

/* Checks an operand's extension data by a call of the plug-in that defines the operand's type. */
enum nn_status plugin_check_data(const struct nnx_type *type, const struct nn_operand *operand,
				 struct nn_error *err);

/* Checks an attribute by a call of the plug-in that defines the attribute's type. */
enum nn_status plugin_check_attribute(const struct nnx_attribute_type *type,
				      const struct nn_attribute *attribute, struct nn_error *err);

#endif /* NN_KIT_PLUGIN_H */
