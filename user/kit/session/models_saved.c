// SPDX-License-Identifier: MIT
/*
 * Saves models as parts, and loads models from saved parts. Model parts are copied, and the hash of
 * the copies is checked before the engine uses the copies. Data parts are used in the client's
 * memory without a copy, so the engine must not trust their contents. The data parts are hashed
 * only if the model was saved without model parts.
 */
#include <stdlib.h>
#include <string.h>

#include "kit/cache/digest.h"
#include "kit/session/models.h"

/*
 * Computes a hash of the parts' bytes and sizes. The sizes are hashed because otherwise equal bytes
 * that are divided into parts differently would have the same hash.
 */
static enum nn_status hash_parts(const struct nna_engine_part *parts, uint32_t count,
				 uint8_t hash[DIGEST_SIZE], struct nn_error *err)
{
	struct evp_md_ctx_st *context = digest_begin();

	for (uint32_t i = 0; i < count && count > 1; i++)
		digest_add(context, &parts[i].size, sizeof(parts[i].size));
	for (uint32_t i = 0; i < count; i++)
		digest_add(context, parts[i].base, parts[i].size);
	if (digest_end(context, hash))
		return NN_OK;
	return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
}

/* Computes the hash of an entry; the index stores the hash under the entry's token. */
static enum nn_status hash_entry(const struct nnaccel_cmd *head, const struct nna_engine_part *model,
				 const struct nna_engine_part *data, uint8_t hash[DIGEST_SIZE],
				 struct nn_error *err)
{
	return head->num_inputs ? hash_parts(model, head->num_inputs, hash, err) :
				  hash_parts(data, head->num_outputs, hash, err);
}

/*
 * Checks that the engine saves models, and that the command has as many parts as the engine's saved
 * models.
 */
static enum nn_status check_count(const struct models *models, const struct command *command,
				  struct nn_error *err)
{
	const struct nnaccel_cmd *head = command->head;

	if (!models->engine->save)
		return nn_fail(err, NN_INVALID_ARGUMENT, "the engine saves no models");
	if (head->num_inputs == models->files.model && head->num_outputs == models->files.data)
		return NN_OK;
	return nn_fail(err, NN_INVALID_ARGUMENT, "%u model and %u data cache files, the device has %u "
		       "and %u", head->num_inputs, head->num_outputs, models->files.model,
		       models->files.data);
}

static bool has_memory(const struct nnaccel_arg *arg)
{
	return !(arg->flags & NNACCEL_ARG_NO_VALUE);
}

/* ---- NNACCEL_DO_PREPARE_CACHED ---- */

/* Copies the model parts. Sets *grants to the number of grants that the model parts use. */
static enum nn_status copy_model(struct models *models, const struct command *command,
				 struct nna_engine_part *model, uint32_t *grants,
				 struct nn_error *err)
{
	enum nn_status status = NN_OK;

	*grants = 0;
	for (uint32_t i = 0; i < command->head->num_inputs && !status; i++) {
		const struct nnaccel_arg *arg = &command->inputs[i];

		if (!has_memory(arg))
			continue;
		model[i].size = arg->length;
		status = models_copy(models, &command->grants[arg->pool], arg->offset, arg->length,
				     &model[i].base, err);
		++*grants;
	}
	return status;
}

/* Makes a plan from model parts in private memory. The plan takes ownership of the model parts. */
static enum nn_status make_plan(struct models *models, const struct command *command,
				struct nna_engine_part *model, uint32_t first,
				struct loaded_model *loaded, struct nn_error *err)
{
	struct nna_engine_part data[NNACCEL_MAX_CACHE_PARTS] = { { NULL, 0 } };
	const struct nnaccel_cmd *head = command->head;
	struct nna_engine_preparation how;
	uint8_t hash[DIGEST_SIZE];
	enum nn_status status;

	status = models_map_pools(models, command, first, true, loaded, err);
	if (status)
		return status;
	for (uint32_t i = 0; i < head->num_outputs; i++) {
		const struct nnaccel_arg *arg = &command->outputs[i];

		if (!has_memory(arg))
			continue;
		data[i].base = (char *)loaded->pools[arg->pool - first]->base + arg->offset;
		data[i].size = arg->length;
	}
	status = hash_entry(head, model, data, hash, err);
	if (!status)
		status = cache_client_query(models->cache, head->token, hash, err);
	if (!status)
		status = models_take_attributes(models, command, loaded, err);
	if (status)
		return status;
	how = models_how(models, command, loaded);
	status = models->engine->load(models->engine, model, data, &how, &loaded->first.prepared,
				      err);
	memset(model, 0, head->num_inputs * sizeof(*model));
	return status ? status : mappings_check(loaded->pools, loaded->num_pools, err);
}

enum nn_status models_prepare_cached(struct models *models, const struct command *command,
				     struct nn_error *err)
{
	struct nna_engine_part model[NNACCEL_MAX_CACHE_PARTS] = { { NULL, 0 } };
	struct loaded_model *loaded = calloc(1, sizeof(*loaded));
	enum nn_status status;
	uint32_t first;

	if (!loaded)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	loaded->number = command->head->model;
	status = check_count(models, command, err);
	if (!status)
		status = copy_model(models, command, model, &first, err);
	if (!status)
		status = make_plan(models, command, model, first, loaded, err);
	for (uint32_t i = 0; i < NNACCEL_MAX_CACHE_PARTS; i++)
		free(model[i].base);
	if (!status)
		return models_add(models, loaded, err);
	models_discard(models, loaded);
	return status;
}

/* ---- NNACCEL_DO_CACHE_SAVE ---- */

static enum nn_status store_hash(struct models *models, const struct nnaccel_cmd *head,
				 const struct nna_engine_part *model, const struct nna_engine_part *data,
				 struct nn_error *err)
{
	uint8_t hash[DIGEST_SIZE];
	enum nn_status status = hash_entry(head, model, data, hash, err);

	return status ? status : cache_client_store(models->cache, head->token, hash, err);
}

/*
 * Writes the parts of a saved model. The keeper stores the hash of the model parts on disk before
 * the client receives a byte of the model parts. Data parts can be hashed only after the engine has
 * written the data parts to the client's memory.
 */
static enum nn_status write_parts(struct models *models, const struct command *command,
				  const struct nna_engine_image *image, struct nn_error *err)
{
	struct nna_engine_part to[2 * NNACCEL_MAX_CACHE_PARTS] = { { NULL, 0 } };
	struct mapping *maps[2 * NNACCEL_MAX_CACHE_PARTS] = { NULL };
	const struct nnaccel_cmd *head = command->head;
	struct nna_engine_part *data = to + head->num_inputs;
	enum nn_status status = NN_OK;

	if (head->num_inputs)
		status = store_hash(models, head, image->model, NULL, err);
	for (uint32_t i = 0; i < head->num_grants && !status; i++)
		status = grants_get(models->grants, &command->grants[i], NULL, &maps[i], err);
	for (uint32_t i = 0; i < head->num_inputs + head->num_outputs && !status; i++) {
		const struct nnaccel_arg *arg = &command->inputs[i];

		if (has_memory(arg))
			to[i].base = (char *)maps[arg->pool]->base + arg->offset;
	}
	for (uint32_t i = 0; i < head->num_outputs && !status; i++) {
		data[i].size = image->data_size[i];
		if (data[i].size)
			models->engine->write_data(models->engine, image, i, data[i].base);
	}
	if (!status && !head->num_inputs)
		status = store_hash(models, head, NULL, data, err);
	for (uint32_t i = 0; i < head->num_inputs && !status; i++)
		if (image->model[i].size)
			memcpy(to[i].base, image->model[i].base, image->model[i].size);
	if (!status)
		status = mappings_check(maps, head->num_grants, err);
	for (uint32_t i = 0; i < head->num_grants; i++)
		grants_put(models->grants, maps[i]);
	return status;
}

/*
 * Returns whether all parts fit into the client's memory. Returns true if the client requests only
 * the sizes.
 */
static bool fits(const struct command *command, const uint64_t *sizes)
{
	const struct nnaccel_cmd *head = command->head;

	for (uint32_t i = 0; i < head->num_inputs + head->num_outputs; i++) {
		const struct nnaccel_arg *arg = &command->inputs[i];

		if (head->num_grants && sizes[i] > (has_memory(arg) ? arg->length : 0))
			return false;
	}
	return true;
}

static enum nn_status save(struct models *models, const struct command *command,
			   const struct loaded_model *loaded, const struct form *form,
			   uint64_t *sizes, struct nn_error *err)
{
	const struct nnaccel_cmd *head = command->head;
	const struct nna_engine *engine = models->engine;
	struct nna_engine_image image = { .own = NULL };
	enum nn_status status;

	status = mappings_check(loaded->pools, loaded->num_pools, err);
	if (!status)
		status = engine->save(engine, form->prepared, &image, err);
	if (status)
		return status == NN_OUTPUT_INSUFFICIENT_SIZE ? NN_GENERAL_FAILURE : status;
	for (uint32_t i = 0; i < head->num_inputs; i++)
		sizes[i] = image.model[i].size;
	for (uint32_t i = 0; i < head->num_outputs; i++)
		sizes[head->num_inputs + i] = image.data_size[i];
	if (!sizes[0])
		memset(sizes, 0, (head->num_inputs + head->num_outputs) * sizeof(*sizes));
	else if (!fits(command, sizes))
		status = nn_fail(err, NN_OUTPUT_INSUFFICIENT_SIZE,
				 "the buffers for a saved model are too small");
	else if (head->num_grants)
		status = write_parts(models, command, &image, err);
	engine->end_save(engine, &image);
	return status;
}

enum nn_status models_save(struct models *models, const struct command *command, uint64_t *sizes,
			   struct nn_error *err)
{
	struct loaded_model *loaded;
	enum nn_status status = check_count(models, command, err);
	struct form *form;

	if (status)
		return status;
	loaded = models_get(models, command->head->model, &form);
	if (!loaded)
		return nn_fail(err, NN_GENERAL_FAILURE, "the client has no such model");
	status = save(models, command, loaded, form, sizes, err);
	models_put(models, loaded, form);
	return status;
}
