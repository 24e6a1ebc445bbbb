/* SPDX-License-Identifier: MIT */
/*
 * The answers to what a client asks about the device, of what the engine says.
 */
#ifndef NN_KIT_DEVICE_H
#define NN_KIT_DEVICE_H

#include <stddef.h>

#include <nnaccel/engine.h>

/* What an engine's describe() begins with: a device that offers nothing. */
void device_init(struct nn_device_info *info);

/*
 * The answer to NNACCEL_QUERY_EXTENSIONS: the engine's extensions, and those of plug-ins.
 * malloc()ed; NULL: no memory, or more than an answer may have.
 */
void *device_list_extensions(const struct nna_engine *engine, size_t *size);

/*
 * Makes the types of the engine's extensions known to models of this process, but of those that
 * are known already. False, with a log line, where they make no sense or there is no memory.
 */
bool device_register_extensions(const struct nna_engine *engine);

/*
 * Makes the types of one known, for the life of the process, under *prefix; what x points to stays
 * as long, x itself need not. NN_INVALID_ARGUMENT: its name is there already; or
 * NN_OUT_OF_MEMORY, NN_RESOURCE_EXHAUSTED_PERSISTENT.
 */
enum nn_status device_register_extension(const struct nn_device_extension *x, uint16_t *prefix,
					 struct nn_error *err);

/* Whether the answer has room for one more extension with so many types and operations. */
bool device_has_room(const struct nna_engine *engine, uint32_t items);

#endif /* NN_KIT_DEVICE_H */
