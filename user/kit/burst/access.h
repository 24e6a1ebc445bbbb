/* SPDX-License-Identifier: MIT */
/*
 * Accesses of burst requests to other drivers' memory. The kernel does not see burst requests, so
 * the worker notifies the kernel when a request's accesses begin and end.
 */
#ifndef NN_KIT_ACCESS_H
#define NN_KIT_ACCESS_H

#include "kit/burst/executor.h"

/*
 * Begins the accesses of scratch->request; the request's memory must be mapped. On failure,
 * access_begin() ends accesses that it has already begun.
 */
enum nn_status access_begin(struct executor *executor, struct scratch *scratch,
			    struct nn_error *err);

enum nn_status access_end(struct executor *executor, struct scratch *scratch,
			  struct nn_error *err);

#endif /* NN_KIT_ACCESS_H */
