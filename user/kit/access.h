/* SPDX-License-Identifier: MIT */
/*
 * A burst's request and memory of other drivers: the kernel is told when its
 * accesses begin and end, which it sees by itself for commands only.
 */
#ifndef NN_KIT_ACCESS_H
#define NN_KIT_ACCESS_H

#include "kit/executor.h"

/* Begins the accesses of scratch->request, whose mappings are there. On failure: none. */
enum nn_status access_begin(struct executor *executor, struct scratch *scratch,
			    struct nn_error *err);

/* Ends what access_begin() began. */
enum nn_status access_end(struct executor *executor, struct scratch *scratch,
			  struct nn_error *err);

#endif /* NN_KIT_ACCESS_H */
