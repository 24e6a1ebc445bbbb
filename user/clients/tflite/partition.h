/* SPDX-License-Identifier: MIT */
/*
 * Chooses the nodes of a graph that the delegate claims.
 *
 * A partition that is not the whole graph costs a call and the transfer of its tensors. If its
 * nodes together do less work than the option min_work, in multiplications or moved elements, it is
 * left to TensorFlow Lite.
 */
#ifndef NN_TFLITE_PARTITION_H
#define NN_TFLITE_PARTITION_H

#include "clients/tflite/abi.h"

/* Prepares the delegate: chooses nodes, and replaces them by kernels. */
int partition_graph(struct tfl_context *context, struct tfl_delegate *delegate);

#endif /* NN_TFLITE_PARTITION_H */
