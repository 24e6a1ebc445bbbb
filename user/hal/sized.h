/* SPDX-License-Identifier: MIT */
/*
 * Copies of callers' structures that begin with their size.
 */
#ifndef NN_HAL_SIZED_H
#define NN_HAL_SIZED_H

#include <stdint.h>

#include <nnaccel/status.h>

#include "base/sized.h"

/* No structure will ever be longer: a caller that gives such a size has not set it. */
#define NNA_MAX_STRUCT 4096

/*
 * Copies a caller's structure into one of ours, with zeros where the caller's ends. NN_INVALID_ARGUMENT:
 * it is shorter than `least` or longer than NNA_MAX_STRUCT, or has anything but zeros where ours ends.
 * `what` names it.
 */
enum nn_status nna_take_struct(void *ours, size_t size, size_t least, const void *callers,
			       const char *what, struct nn_error *err);

/* The same where `last` was the last field in the first release that had the structure. */
#define NNA_TAKE(ours, last, callers, what, err) \
	nna_take_struct(ours, sizeof(*(ours)), SIZE_WITH(__typeof__(*(ours)), last), callers, \
			what, err)

/*
 * Copies a structure of ours to a caller, as much of it as the caller's size (which `callers` is at
 * some place of) says, with zeros where ours ends; *callers_size is then how much it got.
 */
enum nn_status nna_give_struct(void *callers, uint32_t *callers_size, const void *ours, size_t size,
			       size_t least, const char *what, struct nn_error *err);

#define NNA_GIVE(callers, callers_size, ours, last, what, err) \
	nna_give_struct(callers, callers_size, ours, sizeof(*(ours)), \
			SIZE_WITH(__typeof__(*(ours)), last), what, err)

#endif /* NN_HAL_SIZED_H */
