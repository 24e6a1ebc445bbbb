// SPDX-License-Identifier: MIT
/*
 * Loads models from saved parts, and saves them. The model part is copied before it is hashed, and
 * its hash is checked before its use. The data part is used in place and never trusted.
 */
#include <stdlib.h>
#include <string.h>

#include "kit/digest.h"
#include "kit/models.h"

static enum nn_status hash_part(const void *part, size_t size, uint8_t hash[DIGEST_SIZE],
				struct nn_error *err)
{
	if (digest(part, size, hash))
		return NN_OK;
	return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
}

/* ---- NNACCEL_DO_PREPARE_CACHED ---- */

/* Makes the plan from a model part in private memory; the plan owns the part afterwards. */
static enum nn_status make_plan(struct models *models, const struct command *command,
				void **part, struct loaded_model *loaded, struct nn_error *err)
{
	const struct nnaccel_cmd *head = command->head;
	struct nna_engine_preparation how;
	uint8_t hash[DIGEST_SIZE];
	const char *data = NULL;
	enum nn_status status;

	status = hash_part(*part, head->wire_length, hash, err);
	if (!status)
		status = cache_client_query(models->cache, head->token, hash, err);
	if (!status)
		status = models_map_pools(models, command, true, loaded, err);
	if (!status)
		status = models_take_attributes(models, command, loaded, err);
	if (status)
		return status;
	how = models_how(command, loaded);
	if (loaded->num_pools)
		data = (const char *)loaded->pools[0]->base + head->data_offset;
	status = models->engine->load(models->engine, *part, head->wire_length, data,
				      head->data_length, &how, &loaded->first.prepared, err);
	*part = NULL;
	return status ? status : mappings_check(loaded->pools, loaded->num_pools, err);
}

enum nn_status models_prepare_cached(struct models *models, const struct command *command,
				     struct nn_error *err)
{
	struct loaded_model *loaded = calloc(1, sizeof(*loaded));
	enum nn_status status;
	void *part = NULL;

	if (!loaded)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	loaded->number = command->head->model;
	status = models_copy_wire(models, command, &part, err);
	if (!status)
		status = make_plan(models, command, &part, loaded, err);
	free(part);
	if (status)
		models_discard(models, loaded);
	else
		models_add(models, loaded);
	return status;
}

/* ---- NNACCEL_DO_CACHE_SAVE ---- */

/* The client's memory for the parts. */
struct target {
	struct mapping *maps[2];
	char *model, *data;
};

static enum nn_status map_target(struct models *models, const struct command *command,
				 struct target *target, struct nn_error *err)
{
	const struct nnaccel_cmd *head = command->head;
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < head->num_grants && !status; i++)
		status = grants_get(models->grants, &command->grants[i], NULL, &target->maps[i], err);
	if (status)
		return status;
	target->model = (char *)target->maps[0]->base + head->wire_offset;
	if (target->maps[1])
		target->data = (char *)target->maps[1]->base + head->data_offset;
	return NN_OK;
}

/* Writes the parts. The hash is on the keeper's disk before the client sees a byte. */
static enum nn_status write_parts(struct models *models, const struct command *command,
				  const struct nna_engine_image *image, struct nn_error *err)
{
	struct target target = { .model = NULL };
	uint8_t hash[DIGEST_SIZE];
	enum nn_status status = hash_part(image->model, image->model_size, hash, err);

	if (!status)
		status = cache_client_store(models->cache, command->head->token, hash, err);
	if (!status)
		status = map_target(models, command, &target, err);
	if (!status) {
		memcpy(target.model, image->model, image->model_size);
		if (image->data_size)
			models->engine->write_data(models->engine, image, target.data);
		status = mappings_check(target.maps, command->head->num_grants, err);
	}
	for (int i = 0; i < 2; i++)
		grants_put(models->grants, target.maps[i]);
	return status;
}

static enum nn_status save(struct models *models, const struct command *command,
			   const struct loaded_model *loaded, const struct form *form,
			   struct nnaccel_cache_sizes *sizes, struct nn_error *err)
{
	const struct nnaccel_cmd *head = command->head;
	const struct nna_engine *engine = models->engine;
	struct nna_engine_image image = { .model = NULL };
	enum nn_status status;

	*sizes = (struct nnaccel_cache_sizes){ 0 };
	status = mappings_check(loaded->pools, loaded->num_pools, err);
	if (!status)
		status = engine->save(engine, form->prepared, &image, err);
	if (status)
		return status == NN_OUTPUT_INSUFFICIENT_SIZE ? NN_GENERAL_FAILURE : status;
	if (!image.model)
		return NN_OK;
	sizes->model = image.model_size;
	sizes->data = image.data_size;
	if (head->num_grants &&
	    (image.model_size > head->wire_length || image.data_size > head->data_length))
		status = nn_fail(err, NN_OUTPUT_INSUFFICIENT_SIZE, "the parts do not fit");
	else if (head->num_grants)
		status = write_parts(models, command, &image, err);
	engine->end_save(engine, &image);
	return status;
}

enum nn_status models_save(struct models *models, const struct command *command,
			   struct nnaccel_cache_sizes *sizes, struct nn_error *err)
{
	struct loaded_model *loaded = models_get(models, command->head->model);
	enum nn_status status;
	struct form *form;

	if (!loaded)
		return nn_fail(err, NN_GENERAL_FAILURE, "no such model");
	form = models_form(models, loaded);
	status = save(models, command, loaded, form, sizes, err);
	models_put_form(models, loaded, form);
	models_put(models, loaded);
	return status;
}
