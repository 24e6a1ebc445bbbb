/* SPDX-License-Identifier: MIT */
/*
 * The engine node, and the signals that end who holds it: what every engine's main program opens.
 */
#ifndef NN_KIT_NODE_H
#define NN_KIT_NODE_H

#include <stdint.h>

#define NODE_PATH "/dev/nnaccel-engine"

/*
 * Opens the node at `device` and registers an engine there under a name, by which clients and
 * administrators find it. `flags`: NNACCEL_ENGINE_*. Returns the file; -1, with a log line, where that fails.
 */
int node_open(const char *device, const char *name, const char *version, uint32_t type,
	      uint32_t flags);

/*
 * A signalfd for SIGTERM and SIGINT, which are blocked from now on; SIGPIPE is ignored, and children are
 * waited for, whatever was inherited. -1, with a log line.
 */
int node_open_signals(void);

#endif /* NN_KIT_NODE_H */
