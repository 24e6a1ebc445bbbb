// SPDX-License-Identifier: MIT
/* Decodes, checks and prepares a client's serialised models. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <nnaccel/engine_plugins.h>

#include "kit/api/engine.h"
#include "kit/api/log.h"
#include "kit/session/models.h"
#include "model/attribute.h"
#include "model/reach.h"

/* The models of all clients of this process: a list with a struct models for each client. */
static struct {
	/* a thread must not take `lock` while it holds the lock of a struct models */
	pthread_mutex_t lock;
	struct models *list;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Limit of each client's device memory, set before the first client is served. */
static uint64_t max_device_bytes;

void models_limit_device(uint64_t bytes)
{
	max_device_bytes = bytes;
}

bool models_init(struct models *models, const struct nna_engine *engine, struct grants *grants,
		 struct cache_client *cache)
{
	models->engine = engine;
	models->grants = grants;
	models->cache = cache;
	models->files = engine_cache_files(engine);
	models->list = NULL;
	models->buffer_bytes = 0;
	if (pthread_mutex_init(&models->lock, NULL))
		return false;
	pthread_mutex_lock(&all.lock);
	models->next = all.list;
	all.list = models;
	pthread_mutex_unlock(&all.lock);
	return true;
}

enum nn_status mappings_check(struct mapping *const *mappings, uint32_t count,
			      struct nn_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		if (mappings[i] && mapping_is_broken(mappings[i]))
			return nn_fail(err, NN_GENERAL_FAILURE,
				       "the memory of pool %u is gone: its file has "
				       "become shorter, or its driver has taken it back", i);
	}
	return NN_OK;
}

void models_discard(struct models *models, struct loaded_model *loaded)
{
	struct form *form = atomic_load(&loaded->form);

	if (loaded->first.prepared)
		models->engine->release(models->engine, loaded->first.prepared);
	if (form && form != &loaded->first) {
		models->engine->release(models->engine, form->prepared);
		free(form);
	}
	nn_model_free(loaded->model);
	cached_parts_unmap(&loaded->cached);
	free(loaded->attributes);
	for (uint32_t i = 0; i < loaded->num_pools; i++)
		grants_put(models->grants, loaded->pools[i]);
	for (uint32_t i = 0; i < loaded->num_copies; i++)
		munmap((void *)loaded->copies[i].base, loaded->copies[i].size);
	free(loaded->copies);
	free(loaded->pools);
	free(loaded);
}

enum nn_status models_copy(struct models *models, const struct nnaccel_grant *grant,
			   uint64_t offset, size_t length, void **copy, struct nn_error *err)
{
	struct mapping *mapping;
	enum nn_status status;

	*copy = malloc(length ? length : 1);
	if (!*copy)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = grants_get(models->grants, grant, NULL, &mapping, err);
	if (status)
		return status;
	memcpy(*copy, (const char *)mapping->base + offset, length);
	if (mapping_is_broken(mapping))
		status = nn_fail(err, NN_GENERAL_FAILURE,
				 "the model's file has become shorter");
	grants_put(models->grants, mapping);
	return status;
}

enum nn_status models_copy_wire(struct models *models, const struct command *command, void **wire,
				struct nn_error *err)
{
	return models_copy(models, &command->grants[0], command->head->wire_offset,
			   command->head->wire_length, wire, err);
}

enum nn_status models_map_pools(struct models *models, const struct command *command,
				uint32_t first, bool need_all, struct loaded_model *loaded, struct nn_error *err)
{
	uint32_t count = command->head->num_grants - first;
	struct nn_error reason = { "" };
	enum nn_status status;

	loaded->pools = calloc(count ? count : 1, sizeof(*loaded->pools));
	if (!loaded->pools)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	loaded->num_pools = count;
	for (uint32_t i = 0; i < count; i++) {
		/*
		 * A grant lacks NNACCEL_PROT_READ if the driver that exported the memory has
		 * refused access.
		 */
		if (!(command->grants[first + i].prot & NNACCEL_PROT_READ))
			continue;
		status = grants_get(models->grants, &command->grants[first + i], NULL,
				    &loaded->pools[i], &reason);
		if (status && need_all)
			return nn_fail(err, status, "pool %u of the model: %s", i, reason.message);
	}
	return NN_OK;
}

enum nn_status models_take_attributes(struct models *models, const struct command *command,
				      struct loaded_model *loaded, struct nn_error *err)
{
	enum nn_status status = nn_attributes_decode(command->attributes,
						     command->head->attributes_size,
						     &loaded->attributes, err);

	if (!status)
		status = models_check_attributes(models, loaded->attributes, false, err);
	if (status)
		log_warning("a model is refused: %s", err->message);
	return status;
}

enum nn_status models_decode(const struct command *command, const void *wire,
			     struct loaded_model *loaded, struct nn_error *err)
{
	struct nn_pool *pools = calloc(loaded->num_pools ? loaded->num_pools : 1, sizeof(*pools));
	enum nn_status status;

	if (!pools)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < loaded->num_pools; i++) {
		pools[i].base = loaded->pools[i] ? loaded->pools[i]->base : NULL;
		pools[i].size = command->grants[i + 1].length;
	}
	status = nn_model_decode(wire, command->head->wire_length, pools, loaded->num_pools,
				 &loaded->model, err);
	free(pools);
	return status;
}

enum nn_status models_check_attributes(const struct models *models,
				       const struct nn_attributes *attributes, bool is_execution,
				       struct nn_error *err)
{
	const struct nna_engine *engine = models->engine;

	if (engine->check_attributes)
		return engine->check_attributes(engine, attributes, is_execution, err);
	return nna_engine_plugin_check_attributes(attributes, is_execution, err);
}

enum nn_status models_check(const struct models *models, const struct nn_model *model,
			    struct nn_error *err)
{
	const struct nna_engine *engine = models->engine;
	enum nn_status status = engine->check_model ? engine->check_model(engine, model, err) :
						      nna_engine_plugin_check_model(model, err);

	if (status)
		log_warning("a model is refused: %s", err->message);
	return status;
}

static enum nn_status load(struct models *models, const struct command *command, bool need_all,
			   struct loaded_model **out, struct nn_error *err)
{
	struct loaded_model *loaded = calloc(1, sizeof(*loaded));
	enum nn_status status;
	void *wire = NULL;

	if (!loaded)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	loaded->number = command->head->model;
	status = models_copy_wire(models, command, &wire, err);
	if (!status)
		status = models_map_pools(models, command, 1, need_all, loaded, err);
	if (!status)
		status = models_decode(command, wire, loaded, err);
	free(wire);
	if (!status)
		status = models_check(models, loaded->model, err);
	if (!status)
		status = models_take_attributes(models, command, loaded, err);
	if (status) {
		models_discard(models, loaded);
		return status;
	}
	*out = loaded;
	return NN_OK;
}

/*
 * Returns whether a constant can be read. Reads the constant's last byte, because the read raises
 * SIGBUS if the file was truncated.
 */
static bool can_be_read(const void *data, const struct nn_location *at)
{
	struct mapping *mapping = ((const struct loaded_model *)data)->pools[at->pool];

	if (!mapping)
		return false;
	if (at->length)
		(void)((const volatile uint8_t *)mapping->base)[at->offset + at->length - 1];
	return !mapping_is_broken(mapping);
}

enum nn_status models_supported(struct models *models, const struct command *command,
				bool *supported, size_t num_operations, struct nn_error *err)
{
	struct loaded_model *loaded;
	uint32_t actual;
	enum nn_status status;

	status = load(models, command, false, &loaded, err);
	if (status)
		return status;
	actual = loaded->model->subgraphs[0].num_operations;
	if (actual != num_operations)
		status = nn_fail(err, NN_INVALID_ARGUMENT,
				 "the model has %u operations, the query is for %zu",
				 actual, num_operations);
	else
		status = models->engine->supported(models->engine, loaded->model, supported,
						   err);
	if (!status)
		status = nn_deny_unreachable(loaded->model, can_be_read, loaded, supported, err);
	models_discard(models, loaded);
	return status;
}

static struct nna_engine_memory memory_of(const struct models *models, const void *prepared)
{
	struct nna_engine_memory taken = { 0 };

	if (models->engine->memory)
		models->engine->memory(models->engine, prepared, &taken);
	return taken;
}

/* Checks the client's limit of device memory. The caller holds models->lock. */
static enum nn_status check_fits(const struct models *models, const char *what, uint64_t bytes,
				 struct nn_error *err)
{
	uint64_t others = models->buffer_bytes;

	for (const struct loaded_model *l = models->list; l; l = l->next)
		others += l->device_bytes;
	if (!max_device_bytes || others + bytes <= max_device_bytes)
		return NN_OK;
	return nn_fail(err, NN_RESOURCE_EXHAUSTED_TRANSIENT,
		       "the %s takes %llu KiB of the device's memory, the client's others %llu, "
		       "a client at most %llu (--device-memory)", what,
		       (unsigned long long)bytes >> 10, (unsigned long long)others >> 10,
		       (unsigned long long)max_device_bytes >> 10);
}

enum nn_status models_add(struct models *models, struct loaded_model *loaded, struct nn_error *err)
{
	enum nn_status status;

	loaded->users = 1;
	loaded->device_bytes = memory_of(models, loaded->first.prepared).device;
	/*
	 * Keep the first form of a model from a cache even after a better form replaces the first
	 * form, because only the first form has the model's inputs and outputs.
	 */
	loaded->first.users = loaded->model ? 1 : 2;
	pthread_mutex_lock(&models->lock);
	status = check_fits(models, "model", loaded->device_bytes, err);
	if (!status) {
		atomic_store(&loaded->form, &loaded->first);
		loaded->next = models->list;
		models->list = loaded;
	}
	pthread_mutex_unlock(&models->lock);
	if (status)
		models_discard(models, loaded);
	return status;
}

enum nn_status models_reserve(struct models *models, uint64_t bytes, struct nn_error *err)
{
	enum nn_status status;

	pthread_mutex_lock(&models->lock);
	status = check_fits(models, "buffer", bytes, err);
	if (!status)
		models->buffer_bytes += bytes;
	pthread_mutex_unlock(&models->lock);
	return status;
}

void models_unreserve(struct models *models, uint64_t bytes)
{
	pthread_mutex_lock(&models->lock);
	models->buffer_bytes -= bytes;
	pthread_mutex_unlock(&models->lock);
}

struct nna_engine_preparation models_how(const struct models *models,
					 const struct command *command,
					 const struct loaded_model *loaded)
{
	return (struct nna_engine_preparation){
		.preference = command->head->preference,
		.priority = command->head->priority,
		.deadline_ns = command->head->deadline_ns,
		.attributes = loaded->attributes,
		.reserved = { (uint64_t)models->grants->session, command->head->cookie },
	};
}

enum nn_status models_prepare(struct models *models, const struct command *command,
			      struct nn_error *err)
{
	struct nna_engine_preparation how;
	struct loaded_model *loaded;
	enum nn_status status;

	status = load(models, command, true, &loaded, err);
	if (status)
		return status;
	how = models_how(models, command, loaded);
	how.may_be_put_off = models->lazy;
	status = models->engine->prepare(models->engine, loaded->model, &how, &loaded->first.prepared,
					 err);
	if (!status)
		status = mappings_check(loaded->pools, loaded->num_pools, err);
	if (status) {
		models_discard(models, loaded);
		return status;
	}
	return models_add(models, loaded, err);
}

static struct loaded_model **find(struct models *models, uint64_t number)
{
	struct loaded_model **link = &models->list;

	while (*link && (*link)->number != number)
		link = &(*link)->next;
	return link;
}

/*
 * Returns the model's current form and takes a reference to the form. The caller holds
 * models->lock.
 */
static struct form *take_form(struct loaded_model *loaded)
{
	struct form *form = atomic_load(&loaded->form);

	form->users++;
	return form;
}

struct loaded_model *models_get(struct models *models, uint64_t number, struct form **form)
{
	struct loaded_model *loaded;

	pthread_mutex_lock(&models->lock);
	loaded = *find(models, number);
	if (loaded) {
		loaded->users++;
		if (form)
			*form = take_form(loaded);
	}
	pthread_mutex_unlock(&models->lock);
	return loaded;
}

/*
 * Drops a reference to a model's prepared form. If the dropped reference was the last, returns the
 * form's prepared model, which the caller releases; otherwise returns NULL. The caller holds
 * models->lock.
 */
static void *drop_form(struct form *form)
{
	void *prepared = NULL;

	if (--form->users == 0) {
		prepared = form->prepared;
		form->prepared = NULL;
	}
	return prepared;
}

static void release_form(struct models *models, struct loaded_model *loaded, struct form *form,
			 void *prepared)
{
	models->engine->release(models->engine, prepared);
	if (form != &loaded->first)
		free(form);
}

void models_put(struct models *models, struct loaded_model *loaded, struct form *form)
{
	bool last = false;
	void *prepared;

	pthread_mutex_lock(&models->lock);
	prepared = form ? drop_form(form) : NULL;
	/* Drop the reference to the model only after the model's form has been released. */
	if (!prepared)
		last = --loaded->users == 0;
	pthread_mutex_unlock(&models->lock);
	if (prepared) {
		release_form(models, loaded, form, prepared);
		models_put(models, loaded, NULL);
	} else if (last) {
		models_discard(models, loaded);
	}
}

/* ---- forms ---- */

struct form *models_form(struct models *models, struct loaded_model *loaded)
{
	struct form *form;

	pthread_mutex_lock(&models->lock);
	form = take_form(loaded);
	pthread_mutex_unlock(&models->lock);
	return form;
}

void models_put_form(struct models *models, struct loaded_model *loaded, struct form *form)
{
	void *prepared;

	pthread_mutex_lock(&models->lock);
	prepared = drop_form(form);
	pthread_mutex_unlock(&models->lock);
	if (prepared)
		release_form(models, loaded, form, prepared);
}

/*
 * Finds the model whose current form is `prepared`, and replaces the form by `better`. Returns the
 * model and takes a reference to the model; returns NULL if the model no longer exists. The caller
 * holds all.lock.
 */
static struct loaded_model *exchange(struct models *models, const void *prepared,
				     struct form *better, struct form **old)
{
	struct loaded_model *loaded;

	pthread_mutex_lock(&models->lock);
	loaded = models->list;
	while (loaded && atomic_load(&loaded->form)->prepared != prepared)
		loaded = loaded->next;
	if (loaded) {
		loaded->users++;
		*old = atomic_exchange(&loaded->form, better);
	}
	pthread_mutex_unlock(&models->lock);
	return loaded;
}

bool nna_engine_replace(void *prepared, void *better)
{
	struct form *form = malloc(sizeof(*form)), *old;
	struct loaded_model *loaded = NULL;
	struct models *models;

	if (!form)
		return false;
	*form = (struct form){ .prepared = better, .users = 1 };
	/* Hold all.lock, so that the client's models are not freed if the client ends. */
	pthread_mutex_lock(&all.lock);
	for (models = all.list; models && !loaded; models = models->next) {
		loaded = exchange(models, prepared, form, &old);
		if (!loaded)
			continue;
		models_put_form(models, loaded, old);
		models_keep_again(models, loaded);
		models_put(models, loaded, NULL);
	}
	pthread_mutex_unlock(&all.lock);
	if (!loaded)
		free(form);
	return loaded;
}

void models_memory(struct models *models, uint64_t number, struct nnaccel_model_memory *memory)
{
	struct nna_engine_memory taken = { 0 };
	struct loaded_model *loaded;
	struct form *form;

	loaded = models_get(models, number, &form);
	if (loaded) {
		taken = memory_of(models, form->prepared);
		models_put(models, loaded, form);
	}
	*memory = (struct nnaccel_model_memory){ taken.weights, taken.execution,
						  taken.device };
}

void models_forget(struct models *models, uint64_t number)
{
	struct loaded_model *loaded, **link;

	pthread_mutex_lock(&models->lock);
	link = find(models, number);
	loaded = *link;
	if (loaded)
		*link = loaded->next;
	pthread_mutex_unlock(&models->lock);
	if (loaded)
		models_put(models, loaded, NULL);
}

const struct nn_subgraph *models_signature(const struct models *models,
					   const struct loaded_model *loaded)
{
	const struct nna_engine *engine = models->engine;

	return loaded->model ? &loaded->model->subgraphs[0] :
			       engine->signature(engine, loaded->first.prepared);
}

void models_free(struct models *models)
{
	struct models **link = &all.list;
	struct loaded_model *loaded;

	pthread_mutex_lock(&all.lock);
	while (*link != models)
		link = &(*link)->next;
	*link = models->next;
	pthread_mutex_unlock(&all.lock);
	while ((loaded = models->list)) {
		models->list = loaded->next;
		models_discard(models, loaded);
	}
	pthread_mutex_destroy(&models->lock);
}
