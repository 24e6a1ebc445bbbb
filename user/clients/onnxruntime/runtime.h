/* SPDX-License-Identifier: MIT */
/*
 * Sessions for graphs that cannot be translated for the shapes or values of a run. ONNX Runtime's
 * own provider for the CPU computes such a session.
 */
#ifndef NN_ORT_RUNTIME_H
#define NN_ORT_RUNTIME_H

#include "graph.h"

struct runtime;

/*
 * Creates a session for a graph whose constants are kept. `in` and `out` are the graph's values that
 * are the inputs and outputs of a run. Returns NULL if memory runs out, or if a constant's type has
 * no size. If ONNX Runtime makes no session, all calls of runtime_run() fail.
 */
struct runtime *runtime_new(const struct graph *graph, uint32_t in_count, const uint32_t *in,
			    uint32_t out_count, const uint32_t *out);
void runtime_free(struct runtime *runtime);

/* Runs the graph with the inputs of `context`, and sets its outputs. Several threads may run at once. */
bool runtime_run(const struct runtime *runtime, OrtKernelContext *context);

/* Returns whether this thread is in runtime_new(), whose session must not use this provider. */
bool runtime_in_making(void);

#endif
