/* SPDX-License-Identifier: MIT */
/*
 * Accesses of a burst's request to other drivers' memory. The kernel sees by itself only the
 * accesses of commands, so it is notified when those of a request begin and end.
 */
#ifndef NN_KIT_ACCESS_H
#define NN_KIT_ACCESS_H

#include "kit/burst/executor.h"

/* Begins the accesses of scratch->request, whose memory is mapped. On failure none has begun. */
enum nn_status access_begin(struct executor *executor, struct scratch *scratch,
			    struct nn_error *err);

/* Ends the accesses that access_begin() began. */
enum nn_status access_end(struct executor *executor, struct scratch *scratch,
			  struct nn_error *err);

#endif /* NN_KIT_ACCESS_H */
