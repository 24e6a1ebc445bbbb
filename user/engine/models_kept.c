// SPDX-License-Identifier: MIT
/*
 * The engine's own cache of plans. The key of a plan is the hash of all that it
 * was made of: wire form, constants, preference; the index is void for another
 * build or CPU. A client may write its constants at any time: it can thereby find
 * the wrong plan for itself, but what is kept was compiled from a copy.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/digest.h"
#include "engine/log.h"
#include "engine/models.h"
#include "engine/plugin.h"
#include "ops/op.h"

struct keep_work {
	void *wire;
	size_t wire_size;
	uint32_t preference;
	struct loaded_model *source;	/* holds the model's pools mapped */
};

/* Calls for each constant that lies in a pool. */
static void each_constant(const struct nn_model *model,
			  void (*act)(const struct nn_location *at, void *data), void *data)
{
	for (uint32_t k = 0; k < model->num_subgraphs; k++) {
		const struct nn_subgraph *s = &model->subgraphs[k];

		for (uint32_t i = 0; i < s->num_operands; i++) {
			if (s->operands[i].lifetime == NN_CONSTANT_REFERENCE)
				act(&s->operands[i].location, data);
		}
	}
}

/* ---- the key ---- */

struct hashing {
	struct evp_md_ctx_st *context;
	const struct nn_pool *pools;
};

static void hash_constant(const struct nn_location *at, void *data)
{
	struct hashing *h = data;

	digest_add(h->context, (const char *)h->pools[at->pool].base + at->offset, at->length);
}

/* Lengths and places of constants are in the wire form. */
static enum nn_status make_key(const struct keep_work *work, const struct nn_model *model,
			       uint8_t key[DIGEST_SIZE], struct nn_error *err)
{
	const uint64_t head[] = { work->preference, work->wire_size };
	struct hashing h = { .context = digest_begin(), .pools = model->pools };

	digest_add(h.context, head, sizeof(head));
	digest_add(h.context, work->wire, work->wire_size);
	each_constant(model, hash_constant, &h);
	if (digest_end(h.context, key))
		return NN_OK;
	return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
}

/* ---- what was kept ---- */

/* The plan of an entry; its model part is copied, hashed, and checked as any other. */
static enum nn_status load_kept(const struct command *command, struct loaded_model *loaded,
				struct nn_error *err)
{
	const struct nn_plan_options options = {
		.preference = command->head->preference,
		.deadline_ns = command->head->deadline_ns,
	};
	const struct kept_plan *kept = &loaded->kept;
	uint8_t hash[DIGEST_SIZE];
	enum nn_status status;
	void *part = malloc(kept->model_size);

	if (!part)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	memcpy(part, (const char *)kept->base + kept->data_size, kept->model_size);
	if (!digest(part, kept->model_size, hash) || memcmp(hash, kept->hash, sizeof(hash)))
		status = nn_fail(err, NN_GENERAL_FAILURE, "a kept plan is damaged");
	else
		status = nn_plan_load(part, kept->model_size, kept->base, kept->data_size, &options,
				      &loaded->plan, err);
	if (!status)
		status = models_check_saved(loaded->plan, err);
	free(part);
	return status;
}

static enum nn_status prepare_from(struct models *models, const struct command *command,
				   const uint8_t *key, struct nn_error *err)
{
	struct loaded_model *loaded = calloc(1, sizeof(*loaded));
	enum nn_status status;

	if (!loaded)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	loaded->number = command->head->model;
	status = cache_client_get(models->cache, key, &loaded->kept, err);
	if (!status) {
		status = load_kept(command, loaded, err);
		if (status == NN_GENERAL_FAILURE)
			cache_client_drop(models->cache, key);
	}
	if (status)
		models_discard(models, loaded);
	else
		models_add(models, loaded);
	return status;
}

/* ---- NNACCEL_DO_PREPARE ---- */

static void work_free(struct models *models, struct keep_work *work)
{
	if (!work)
		return;
	if (work->source)
		models_discard(models, work->source);
	free(work->wire);
	free(work);
}

/* The model as the client has it now: enough for a key. */
static enum nn_status work_begin(struct models *models, const struct command *command,
				 struct keep_work *work, struct nn_error *err)
{
	enum nn_status status;

	work->source = calloc(1, sizeof(*work->source));
	if (!work->source)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	work->preference = command->head->preference;
	work->wire_size = command->head->wire_length;
	status = models_copy_wire(models, command, &work->wire, err);
	if (!status)
		status = models_map_pools(models, command, true, work->source, err);
	return status ? status : models_decode(command, work->wire, work->source, err);
}

enum nn_status models_prepare_kept(struct models *models, const struct command *command,
				   struct keep_work **out, struct nn_error *err)
{
	struct keep_work *work = calloc(1, sizeof(*work));
	struct nn_error reason = { "" };
	uint8_t key[DIGEST_SIZE];
	enum nn_status status;

	*out = NULL;
	if (!work)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = work_begin(models, command, work, err);
	if (!status)
		status = make_key(work, work->source->model, key, err);
	if (!status)
		status = mappings_check(work->source->pools, work->source->num_pools, err);
	if (status) {
		work_free(models, work);
		return status;
	}
	if (!prepare_from(models, command, key, &reason)) {
		work_free(models, work);
		return NN_OK;
	}
	status = models_prepare(models, command, err);
	if (status)
		work_free(models, work);
	else
		*out = work;
	return status;
}

/* ---- keeping ---- */

/* Memory of our own in the place of the model's pools, with the constants in it. */
struct copies {
	const struct loaded_model *source;
	struct nn_pool *pools;
};

static void copy_constant(const struct nn_location *at, void *data)
{
	const struct copies *c = data;
	char *to = (char *)c->pools[at->pool].base + at->offset;

	memcpy(to, (const char *)c->source->pools[at->pool]->base + at->offset, at->length);
}

static bool make_copies(struct copies *c)
{
	const struct nn_model *model = c->source->model;

	c->pools = calloc(model->num_pools + 1, sizeof(*c->pools));
	if (!c->pools)
		return false;
	for (uint32_t i = 0; i < model->num_pools; i++) {
		void *base = mmap(NULL, model->pools[i].size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base == MAP_FAILED)
			return false;
		c->pools[i] = (struct nn_pool){ base, model->pools[i].size };
	}
	each_constant(model, copy_constant, c);
	return true;
}

static void free_copies(struct copies *c)
{
	for (uint32_t i = 0; c->pools && i < c->source->model->num_pools; i++)
		if (c->pools[i].base)
			munmap((void *)c->pools[i].base, c->pools[i].size);
	free(c->pools);
}

/* Compiles the copy and has it kept under the copy's key. */
static enum nn_status keep_copy(struct models *models, const struct keep_work *work,
				const struct nn_model *model, struct nn_error *err)
{
	const struct nn_plan_options options = { .preference = work->preference };
	struct nn_plan_image image = { .model = NULL };
	uint8_t key[DIGEST_SIZE];
	struct nn_plan *plan = NULL;
	enum nn_status status;

	status = plugin_check_model(model, err);
	if (!status)
		status = nn_ops_check_model(model, NULL, err);
	if (!status)
		status = make_key(work, model, key, err);
	if (!status)
		status = nn_plan_create(model, &options, &plan, err);
	if (!status)
		status = nn_plan_save(plan, &image, err);
	if (!status)
		status = cache_client_keep(models->cache, key, &image, err);
	nn_plan_image_free(&image);
	nn_plan_free(plan);
	return status;
}

void models_keep(struct models *models, struct keep_work *work)
{
	struct copies copies = { .source = work->source };
	struct nn_model *model = NULL;
	struct nn_error err = { "" };
	enum nn_status status = NN_OUT_OF_MEMORY;

	if (make_copies(&copies))
		status = nn_model_decode(work->wire, work->wire_size, copies.pools,
					 work->source->num_pools, &model, &err);
	if (!status)
		status = mappings_check(work->source->pools, work->source->num_pools, &err);
	if (!status)
		status = keep_copy(models, work, model, &err);
	if (status)
		log_debug("a plan is not kept: %s", err.message);
	nn_model_free(model);
	free_copies(&copies);
	work_free(models, work);
}
