/* SPDX-License-Identifier: MIT */
/*
 * The clients of an engine that is made of the kit: each has a process of its own, or threads of
 * the engine's.
 */
#ifndef NN_KIT_CLIENTS_H
#define NN_KIT_CLIENTS_H

#include <nnaccel/engine.h>

#include "kit/options.h"

struct clients_options {
	struct engine_options common;
	const struct nna_engine *engine;
	bool threads;			/* of this process serve them, not a process each */
	const char *version;		/* of the device, for the kernel to show */
	uint32_t type;			/* enum nn_device_type */
};

/* Serves until SIGTERM or SIGINT. Returns the exit code; EXIT_FAILURE comes with a log line. */
int clients_serve(struct clients_options *options);

#endif /* NN_KIT_CLIENTS_H */
