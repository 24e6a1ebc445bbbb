/* SPDX-License-Identifier: MIT */
/* Reads which models clients have prepared, and the models' memory as the engine reports it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"

struct reading {
	struct client_models *models;
	bool failed;
};

/* Returns whether a model was read before; each file of a context lists the context's models. */
static bool is_known(const struct client_models *models, uint64_t client, uint64_t id)
{
	for (size_t i = 0; i < models->count; i++)
		if (models->list[i].client == client && models->list[i].id == id)
			return true;
	return false;
}

static void add_model(struct reading *r, const struct client_model *model)
{
	struct client_models *models = r->models;
	struct client_model *list;

	if (is_known(models, model->client, model->id))
		return;
	list = realloc(models->list, (models->count + 1) * sizeof(*list));
	if (!list) {
		r->failed = true;
		return;
	}
	models->list = list;
	list[models->count++] = *model;
}

/* Reads the models in a file's fdinfo, in which the client's id comes before the models. */
static void take_file(void *arg, const char *pid, FILE *file)
{
	struct client_model model = { .pid = atol(pid) };
	char line[256];

	clients_read_name(pid, model.name);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "nnaccel-client-id: %" SCNu64, &model.client) == 1)
			continue;
		if (sscanf(line, "nnaccel-model-%" SCNu64 ": %" SCNu64 " KiB weights, %" SCNu64
			   " KiB an execution", &model.id, &model.weights_kib,
			   &model.execution_kib) == 3)
			add_model(arg, &model);
	}
}

bool models_read(struct client_models *models)
{
	struct reading r = { .models = models };

	*models = (struct client_models){ 0 };
	if (clients_each_file(take_file, &r) && !r.failed)
		return true;
	free(models->list);
	*models = (struct client_models){ 0 };
	return false;
}
