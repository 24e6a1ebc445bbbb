/* SPDX-License-Identifier: MIT */
/*
 * Finishes a model: sorts operations, merges referenced models and constants into one graph, and
 * checks the whole model.
 */
#ifndef NN_RUNTIME_FINISH_H
#define NN_RUNTIME_FINISH_H

#include "runtime/model.h"

/* Sets the graph, order and large_memory of a model. BAD_DATA, OUT_OF_MEMORY. */
int model_build_graph(ANeuralNetworksModel *model, struct nn_error *err);

#endif /* NN_RUNTIME_FINISH_H */
