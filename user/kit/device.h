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
 * The answer to NNACCEL_QUERY_EXTENSIONS: the engine's extensions. malloc()ed; NULL: no memory,
 * or more than an answer may have.
 */
void *device_list_extensions(const struct nna_engine *engine, size_t *size);

/*
 * Makes the types of the engine's extensions known to models of this process, but of those that
 * are known already. False, with a log line, where they make no sense or there is no memory.
 */
bool device_register_extensions(const struct nna_engine *engine);

#endif /* NN_KIT_DEVICE_H */
