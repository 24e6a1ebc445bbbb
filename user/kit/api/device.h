/* SPDX-License-Identifier: MIT */
/*
 * Answers to a client's queries about the device, from the engine's description.
 */
#ifndef NN_KIT_DEVICE_H
#define NN_KIT_DEVICE_H

#include <stddef.h>

#include <nnaccel/engine.h>

/*
 * Initialises a device description, without any features, before an engine's describe() sets them.
 */
void device_init(struct nn_device_info *info);

/*
 * Returns the answer to NNACCEL_QUERY_EXTENSIONS: the extensions of the engine and of plug-ins. The
 * answer is malloc()ed; it is NULL if memory runs out, or if the list is too long for an answer.
 */
void *device_list_extensions(const struct nna_engine *engine, size_t *size);

/*
 * Registers the types of the engine's extensions for models of this process, except known ones.
 * Returns false, with a log line, if they are invalid or memory runs out.
 */
bool device_register_extensions(const struct nna_engine *engine);

/*
 * Registers the types of an extension for the life of the process, under *prefix. The memory that x
 * points to must stay as long, but x itself need not. Returns NN_INVALID_ARGUMENT if the name is
 * registered already; or NN_OUT_OF_MEMORY or NN_RESOURCE_EXHAUSTED_PERSISTENT.
 */
enum nn_status device_register_extension(const struct nn_device_extension *x, uint16_t *prefix,
					 struct nn_error *err);

/* Returns whether the answer has room for an extension with this many types and operations. */
bool device_has_room(const struct nna_engine *engine, uint32_t items);

#endif /* NN_KIT_DEVICE_H */
