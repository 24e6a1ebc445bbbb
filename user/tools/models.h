/* SPDX-License-Identifier: MIT */
/* Reads which models clients have prepared, and the models' memory as the engine reports it. */
#ifndef NN_TOOLS_MODELS_H
#define NN_TOOLS_MODELS_H

#include <stdint.h>

#include "clients.h"

struct client_model {
	uint64_t client;
	long pid;
	char name[CLIENT_NAME_SIZE + 1];	/* name of the process */
	uint64_t id;			/* id of the model in its client's context */
	uint64_t weights_kib;		/* KiB of packed weights and computed constants */
	uint64_t execution_kib;		/* KiB of arena and scratch memory of one execution */
};

struct client_models {
	size_t count;
	struct client_model *list;	/* models; the caller frees the list */
};

/*
 * Reads all models of clients that this user may see; returns false if /proc is missing or memory
 * runs out.
 */
bool models_read(struct client_models *models);

#endif /* NN_TOOLS_MODELS_H */
