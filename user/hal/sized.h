/* SPDX-License-Identifier: MIT */
/* Copies callers' structures whose first field is the structure's size. */
#ifndef NN_HAL_SIZED_H
#define NN_HAL_SIZED_H

#include <stdint.h>

#include <nnaccel/engine_model.h>

#include "base/sized.h"

/*
 * Maximum size of a structure in this and later versions of the library. If a structure's size is
 * larger, the caller has not initialised the structure.
 */
#define NNA_MAX_STRUCT 4096

/*
 * Copies a caller's structure into this library's version of the structure, and fills the rest with
 * zeros. `what` is the structure's name for messages. Returns NN_INVALID_ARGUMENT if the caller's
 * structure is shorter than `least`, longer than NNA_MAX_STRUCT, or not zero beyond the size of
 * this library's version.
 */
enum nn_status nna_take_struct(void *ours, size_t size, size_t least, const void *callers,
			       const char *what, struct nn_error *err);

/* Calls nna_take_struct(); `last` was the last field in the structure's first release. */
#define NNA_TAKE(ours, last, callers, what, err) \
	nna_take_struct(ours, sizeof(*(ours)), SIZE_WITH(__typeof__(*(ours)), last), callers, \
			what, err)

/*
 * Copies this library's version of a structure to a caller, at most *callers_size bytes. Fills the
 * caller's structure with zeros beyond the size of this library's version. Sets *callers_size to
 * the number of bytes copied.
 */
enum nn_status nna_give_struct(void *callers, uint32_t *callers_size, const void *ours, size_t size,
			       size_t least, const char *what, struct nn_error *err);

#define NNA_GIVE(callers, callers_size, ours, last, what, err) \
	nna_give_struct(callers, callers_size, ours, sizeof(*(ours)), \
			SIZE_WITH(__typeof__(*(ours)), last), what, err)

#endif /* NN_HAL_SIZED_H */
