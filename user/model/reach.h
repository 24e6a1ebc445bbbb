/* SPDX-License-Identifier: MIT */
/* Reports operations as not supported if their constants are in unreadable memory. */
#ifndef NN_MODEL_REACH_H
#define NN_MODEL_REACH_H

#include <nnaccel/engine_model.h>

/*
 * Clears supported[] for operations of the main subgraph that use an unreadable constant, or
 * execute a subgraph with an unreadable constant. The model must have passed nn_model_check().
 * Returns NN_OUT_OF_MEMORY on failure.
 */
enum nn_status nn_deny_unreachable(const struct nn_model *model,
				   bool (*reaches)(const void *data, const struct nn_location *at),
				   const void *data, bool *supported, struct nn_error *err);

#endif /* NN_MODEL_REACH_H */
