/* SPDX-License-Identifier: MIT */
/*
 * Which nodes of a graph the delegate takes.
 *
 * A partition that is not the whole graph costs a call and the move of its tensors; one whose
 * nodes together do less work than the option min_work, in multiplications or elements moved,
 * is left to TensorFlow Lite.
 */
#ifndef NN_TFLITE_PARTITION_H
#define NN_TFLITE_PARTITION_H

#include "clients/tflite/abi.h"

/* The delegate's prepare: chooses nodes, and replaces them by kernels. */
int partition_graph(struct tfl_context *context, struct tfl_delegate *delegate);

#endif /* NN_TFLITE_PARTITION_H */
