/* SPDX-License-Identifier: MIT */
/* Answers a client's queries about the device from the engine's description. */
#ifndef NN_KIT_DEVICE_H
#define NN_KIT_DEVICE_H

#include <stddef.h>

#include <nnaccel/engine.h>

/* Initialises a device description without any features, for an engine's describe() to fill in. */
void device_init(struct nn_device_info *info);

/*
 * Returns the answer to NNACCEL_QUERY_EXTENSIONS: the extensions of the engine and of plug-ins. The
 * caller frees the answer. Returns NULL if memory runs out or the list of extensions is too long
 * for an answer.
 */
void *device_list_extensions(const struct nna_engine *engine, size_t *size);

/*
 * Registers the types of the engine's extensions for this process's models, except types that are
 * registered already. Returns false, with a log line, if the extensions are invalid or memory runs
 * out.
 */
bool device_register_extensions(const struct nna_engine *engine);

/*
 * Registers the types of an extension for the life of the process, and sets *prefix to the prefix
 * of the types' codes. The names and arrays in *x must live as long as the process; the caller may
 * free the structure *x. Returns NN_INVALID_ARGUMENT if the extension's name is registered already,
 * NN_OUT_OF_MEMORY, or NN_RESOURCE_EXHAUSTED_PERSISTENT.
 */
enum nn_status device_register_extension(const struct nn_device_extension *x, uint16_t *prefix,
					 struct nn_error *err);

/*
 * Returns whether the answer of device_list_extensions() has room for one more extension with
 * `items` types and operations.
 */
bool device_has_room(const struct nna_engine *engine, uint32_t items);

#endif /* NN_KIT_DEVICE_H */
