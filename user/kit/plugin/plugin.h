/* SPDX-License-Identifier: MIT */
/*
 * Plug-ins of an engine: functions that only files of the kit call.
 */
#ifndef NN_KIT_PLUGIN_H
#define NN_KIT_PLUGIN_H

#include <nnaccel/engine_plugins.h>

/* Returns the descriptions of accepted plug-ins that clients get. */
const struct nn_device_extension *plugin_extensions(uint32_t *count);

/* Checks an operand's extension data by the operand's type, which a plug-in defines. */
enum nn_status plugin_check_data(const struct nnx_type *type, const struct nn_operand *operand,
				 struct nn_error *err);

/* Checks an attribute by its type, which a plug-in defines. */
enum nn_status plugin_check_attribute(const struct nnx_attribute_type *type,
				      const struct nn_attribute *attribute, struct nn_error *err);

#endif /* NN_KIT_PLUGIN_H */
