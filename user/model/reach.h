/* SPDX-License-Identifier: MIT */
/*
 * Operations whose constants lie in memory that cannot be reached.
 */
#ifndef NN_MODEL_REACH_H
#define NN_MODEL_REACH_H

#include <nnaccel/model.h>

/*
 * Denies, in supported[], the operations of the main subgraph that use a constant that is out of
 * reach, also in a subgraph that they execute. The model must be checked. OUT_OF_MEMORY.
 */
enum nn_status nn_deny_unreachable(const struct nn_model *model,
				   bool (*reaches)(const void *data, const struct nn_location *at),
				   const void *data, bool *supported, struct nn_error *err);

#endif /* NN_MODEL_REACH_H */
