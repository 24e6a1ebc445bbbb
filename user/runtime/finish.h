/* SPDX-License-Identifier: MIT */
/*
 * Finishing a model: operations in an executable order, referenced models and constants merged into
 * one graph, and the check of the whole model.
 */
#ifndef NN_RUNTIME_FINISH_H
#define NN_RUNTIME_FINISH_H

#include "runtime/model.h"

/* Fills the graph, order and large_memory of a model. BAD_DATA, OUT_OF_MEMORY. */
int model_build_graph(ANeuralNetworksModel *model, struct nn_error *err);

#endif /* NN_RUNTIME_FINISH_H */
