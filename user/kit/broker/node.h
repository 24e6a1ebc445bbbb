/* SPDX-License-Identifier: MIT */
/*
 * Opens the engine node, and a signalfd for the signals that end an engine's program. The main
 * programs of all engines use the functions of node.h.
 */
#ifndef NN_KIT_NODE_H
#define NN_KIT_NODE_H

#include <stdint.h>

struct nna_engine_hardware;

#define NODE_PATH "/dev/nnaccel-engine"

/*
 * Opens the node at `device` and registers an engine under a name by which clients and
 * administrators find the engine. `flags` are NNACCEL_ENGINE_*; `hardware` may be NULL. Returns the
 * file descriptor, or -1 with a log line.
 */
int node_open(const char *device, const char *name, const char *version, uint32_t type,
	      uint32_t flags, const struct nna_engine_hardware *hardware);

/*
 * Blocks SIGTERM and SIGINT, and returns a signalfd for both signals. Ignores SIGPIPE and resets
 * SIGCHLD to its default action, because the process may have inherited other settings. Returns -1,
 * with a log line, on failure.
 */
int node_open_signals(void);

#endif /* NN_KIT_NODE_H */
