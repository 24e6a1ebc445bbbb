/* SPDX-License-Identifier: MIT */
/*
 * A part of a graph that the device computes. A program is compiled for given shapes of the inputs:
 * at once if the graph has fixed shapes, otherwise when a run has new shapes. The compilations of
 * the latest shapes are cached. Many threads may run a program; each run has its own execution.
 */
#ifndef NN_ORT_PROGRAM_H
#define NN_ORT_PROGRAM_H

#include "clients/device.h"
#include "graph.h"
#include "options.h"

struct program;

/*
 * Creates a program. `fused` is the node that replaces the graph's part `part`, and has the inputs
 * and outputs of a run. Returns NULL and a message of at most `size` bytes on failure. `options`
 * and `devices` must outlive the program.
 */
struct program *program_new(const struct ort *ort, const OrtGraph *part, const OrtNode *fused,
			    const struct options *options, const struct devices *devices,
			    char *message, size_t size);
void program_free(struct program *program);

/* Runs the program's part of a graph. Returns false, with a message, on failure. */
bool program_run(struct program *program, OrtKernelContext *context, char *message, size_t size);

#endif
