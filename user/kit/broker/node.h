/* SPDX-License-Identifier: MIT */
/*
 * The engine node, and the signals that end its owner, for every engine's main program.
 */
#ifndef NN_KIT_NODE_H
#define NN_KIT_NODE_H

#include <stdint.h>

struct nna_engine_hardware;

#define NODE_PATH "/dev/nnaccel-engine"

/*
 * Opens the node at `device` and registers an engine under a name, by which clients and
 * administrators find it. `flags`: NNACCEL_ENGINE_*; `hardware`: NULL: none. Returns the file, or
 * -1 with a log line.
 */
int node_open(const char *device, const char *name, const char *version, uint32_t type,
	      uint32_t flags, const struct nna_engine_hardware *hardware);

/*
 * Returns a signalfd for SIGTERM and SIGINT, which it blocks. Ignores SIGPIPE and resets SIGCHLD,
 * so that inherited settings have no effect. -1, with a log line.
 */
int node_open_signals(void);

#endif /* NN_KIT_NODE_H */
