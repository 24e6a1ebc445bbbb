/* SPDX-License-Identifier: MIT */
/* Internal functions of libnnaccel-engine for an engine's plug-ins. */
#ifndef NN_KIT_PLUGIN_H
#define NN_KIT_PLUGIN_H

#include <nnaccel/engine_plugins.h>

/* Returns the descriptions of the accepted plug-ins' extensions, as listed for clients. */
const struct nn_device_extension *plugin_extensions(uint32_t *count);

/* Calls the plug-in that defines an operand's type to check the operand's extension data. */
enum nn_status plugin_check_data(const struct nnx_type *type, const struct nn_operand *operand,
				 struct nn_error *err);

/* Calls the plug-in that defines an attribute's type to check the attribute. */
enum nn_status plugin_check_attribute(const struct nnx_attribute_type *type,
				      const struct nn_attribute *attribute, struct nn_error *err);

#endif /* NN_KIT_PLUGIN_H */
