// SPDX-License-Identifier: MIT
/*
 * The engine's own cache of plans. A plan's key is the hash of the compiler's inputs: serialised
 * model, constants, preference and attributes. The keeper empties the index if the engine's build
 * or the CPU changes. A client that changes its constants during the preparation may get a plan for
 * other constants, but harms only itself. If no plan has the key, the model is compiled with a
 * private copy of the constants. A plan compiled from a private copy is cached under the key of the
 * private copy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit/api/log.h"
#include "kit/cache/digest.h"
#include "kit/session/models.h"

struct own_cache_work {
	void *wire;
	size_t wire_size;
	uint32_t preference;
	/*
	 * Model compiled with copied constants, to which `loaded` holds a reference; NULL before
	 * the compilation.
	 */
	struct loaded_model *loaded;
};

/* Calls a function for each of a model's constants that is in a pool. */
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

static void hash_attributes(struct evp_md_ctx_st *context, const struct nn_attributes *attributes)
{
	for (uint32_t i = 0; attributes && i < attributes->count; i++) {
		const struct nn_attribute *a = &attributes->list[i];
		const uint32_t head[] = { a->code, a->size };

		digest_add(context, a->extension, strlen(a->extension) + 1);
		digest_add(context, head, sizeof(head));
		digest_add(context, a->data, a->size);
	}
}

/*
 * The lengths and offsets of constants are not hashed separately, because the serialised model
 * contains the lengths and offsets.
 */
static enum nn_status make_key(const struct own_cache_work *work, const struct loaded_model *loaded,
			       uint8_t key[DIGEST_SIZE], struct nn_error *err)
{
	const uint64_t head[] = { work->preference, work->wire_size };
	struct hashing h = { .context = digest_begin(), .pools = loaded->model->pools };

	digest_add(h.context, head, sizeof(head));
	digest_add(h.context, work->wire, work->wire_size);
	each_constant(loaded->model, hash_constant, &h);
	hash_attributes(h.context, loaded->attributes);
	if (digest_end(h.context, key))
		return NN_OK;
	return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
}

/* ---- cached plans ---- */

/*
 * The header at the beginning of an entry's model part; the engine's model parts follow the header.
 * The entry's data part is the concatenation of the engine's data parts.
 */
struct head {
	uint64_t model[NNA_ENGINE_MAX_CACHE_FILES], data[NNA_ENGINE_MAX_CACHE_FILES];	/* sizes */
};

/*
 * The engine's parts in a cache entry. Model parts are private copies; data parts are in the
 * entry's mapping and are not copied.
 */
struct parts {
	struct nna_engine_part model[NNA_ENGINE_MAX_CACHE_FILES];
	struct nna_engine_part data[NNA_ENGINE_MAX_CACHE_FILES];
};

static void parts_free(struct parts *parts)
{
	for (int i = 0; i < NNA_ENGINE_MAX_CACHE_FILES; i++)
		free(parts->model[i].base);
}

/*
 * Finds the engine's parts in a cache entry by the sizes in the entry's struct head. Returns false
 * with errno EINVAL if the sizes are wrong, or ENOMEM if memory runs out.
 */
static bool take_parts(const struct cached_parts *cached, const struct cache_files *files,
		       struct evp_md_ctx_st *context, struct parts *parts)
{
	char *data = cached->base, *model = data + cached->data_size;
	size_t data_left = cached->data_size, model_left = cached->model_size - sizeof(struct head);
	struct head head;

	errno = EINVAL;
	if (cached->model_size < sizeof(head))
		return false;
	memcpy(&head, model, sizeof(head));
	digest_add(context, &head, sizeof(head));
	model += sizeof(head);
	for (uint32_t i = 0; i < NNA_ENGINE_MAX_CACHE_FILES; i++) {
		const size_t m = head.model[i], d = head.data[i];

		if (m > model_left || d > data_left || (m && i >= files->model) ||
		    (d && i >= files->data))
			return false;
		parts->data[i] = (struct nna_engine_part){ d ? data : NULL, d };
		parts->model[i] = (struct nna_engine_part){ m ? malloc(m) : NULL, m };
		if (m && !parts->model[i].base)
			return false;
		if (m)
			memcpy(parts->model[i].base, model, m);
		digest_add(context, parts->model[i].base, m);
		data += d;
		data_left -= d;
		model += m;
		model_left -= m;
	}
	return !data_left && !model_left;
}

/*
 * Loads the plan of a cache entry. Copies the entry's model parts, and uses the copies only if
 * their hash is right.
 */
static enum nn_status load_cached(struct models *models, const struct command *command,
				  struct loaded_model *loaded, struct nn_error *err)
{
	const struct nna_engine_preparation how = models_how(models, command, loaded);
	const struct cached_parts *cached = &loaded->cached;
	struct evp_md_ctx_st *context = digest_begin();
	struct parts parts = { 0 };
	uint8_t hash[DIGEST_SIZE];
	bool right = context && take_parts(cached, &models->files, context, &parts), lacks_memory;

	lacks_memory = !context || (!right && errno == ENOMEM);
	if (digest_end(context, hash) && right && !memcmp(hash, cached->hash, sizeof(hash)))
		return models->engine->load(models->engine, parts.model, parts.data, &how,
					    &loaded->first.prepared, err);
	parts_free(&parts);
	return lacks_memory ? nn_fail(err, NN_OUT_OF_MEMORY, "out of memory") :
			      nn_fail(err, NN_GENERAL_FAILURE, "a cached plan is damaged");
}

/* Makes a struct loaded_model with the attributes of a command. */
static enum nn_status begin_model(struct models *models, const struct command *command,
				  struct loaded_model **out, struct nn_error *err)
{
	struct loaded_model *loaded = calloc(1, sizeof(*loaded));
	enum nn_status status;

	if (!loaded)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	loaded->number = command->head->model;
	status = models_take_attributes(models, command, loaded, err);
	if (status)
		models_discard(models, loaded);
	else
		*out = loaded;
	return status;
}

static enum nn_status prepare_from(struct models *models, const struct command *command,
				   const uint8_t *key, struct nn_error *err)
{
	struct loaded_model *loaded;
	enum nn_status status = begin_model(models, command, &loaded, err);

	if (status)
		return status;
	status = cache_client_get(models->cache, key, &loaded->cached, err);
	if (!status) {
		status = load_cached(models, command, loaded, err);
		if (status == NN_GENERAL_FAILURE)
			cache_client_drop(models->cache, key);
	}
	if (status) {
		models_discard(models, loaded);
		return status;
	}
	memcpy(loaded->key, key, sizeof(loaded->key));
	loaded->is_cached = true;
	return models_add(models, loaded, err);
}

/* ---- the copy ---- */

/*
 * Copies a model's constants to private memory, and replaces the model's pools by this memory. In
 * the private memory, pages without constants are read-only zeroes, because only writable memory
 * counts against RLIMIT_DATA.
 */
struct copying {
	const struct loaded_model *source;
	const struct nn_pool *copies;
	uintptr_t page;
	bool failed;
};

static void copy_constant(const struct nn_location *at, void *data)
{
	struct copying *c = data;
	char *to = (char *)c->copies[at->pool].base + at->offset;
	char *start = to - (uintptr_t)to % c->page;

	if (at->length &&
	    mprotect(start, (size_t)(to - start) + at->length, PROT_READ | PROT_WRITE))
		c->failed = true;
	if (c->failed)
		return;
	memcpy(to, (const char *)c->source->pools[at->pool]->base + at->offset, at->length);
}

static enum nn_status copy_constants(const struct loaded_model *source, struct loaded_model *loaded,
				     struct nn_error *err)
{
	const struct nn_model *model = source->model;
	struct copying copying = { .source = source, .page = (uintptr_t)sysconf(_SC_PAGESIZE) };

	loaded->copies = calloc(model->num_pools + 1, sizeof(*loaded->copies));
	if (!loaded->copies)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < model->num_pools; i++) {
		void *base = mmap(NULL, model->pools[i].size, PROT_READ,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base == MAP_FAILED)
			return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
		loaded->copies[i] = (struct nn_pool){ base, model->pools[i].size };
		loaded->num_copies++;
	}
	copying.copies = loaded->copies;
	each_constant(model, copy_constant, &copying);
	if (copying.failed)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	return mappings_check(source->pools, source->num_pools, err);
}

/*
 * Prepares the model with the copied constants. The engine compiles the model immediately, because
 * the plan is cached right after the preparation.
 */
static enum nn_status compile_copy(struct models *models, const struct command *command,
				   const struct own_cache_work *work, struct loaded_model *loaded,
				   struct nn_error *err)
{
	const struct nna_engine_preparation how = models_how(models, command, loaded);
	enum nn_status status;

	status = nn_model_decode(work->wire, work->wire_size, loaded->copies, loaded->num_copies,
				 &loaded->model, err);
	if (!status)
		status = models_check(models, loaded->model, err);
	return status ? status : models->engine->prepare(models->engine, loaded->model, &how,
							 &loaded->first.prepared, err);
}

static enum nn_status prepare_copy(struct models *models, const struct command *command,
				   const struct loaded_model *source, struct own_cache_work *work,
				   struct nn_error *err)
{
	struct loaded_model *loaded;
	enum nn_status status = begin_model(models, command, &loaded, err);

	if (status)
		return status;
	status = copy_constants(source, loaded, err);
	if (!status)
		status = compile_copy(models, command, work, loaded, err);
	if (status) {
		models_discard(models, loaded);
		return status;
	}
	status = models_add(models, loaded, err);
	if (!status)
		work->loaded = models_get(models, command->head->model, NULL);
	return status;
}

/* ---- NNACCEL_DO_PREPARE ---- */

static void work_free(struct models *models, struct own_cache_work *work)
{
	if (work->loaded)
		models_put(models, work->loaded, NULL);
	free(work->wire);
	free(work);
}

/* Decodes the model with the client's own constants, from which the key is computed. */
static enum nn_status load_source(struct models *models, const struct command *command,
				  struct own_cache_work *work, struct loaded_model *source,
				  struct nn_error *err)
{
	enum nn_status status = models_copy_wire(models, command, &work->wire, err);

	if (!status)
		status = models_map_pools(models, command, 1, true, source, err);
	if (!status)
		status = models_take_attributes(models, command, source, err);
	return status ? status : models_decode(command, work->wire, source, err);
}

/* Prepares a model. work->loaded is NULL if the model's plan was already in the cache. */
static enum nn_status prepare(struct models *models, const struct command *command,
			      struct own_cache_work *work, struct nn_error *err)
{
	struct loaded_model *source = calloc(1, sizeof(*source));
	struct nn_error reason = { "" };
	uint8_t key[DIGEST_SIZE];
	enum nn_status status;

	if (!source)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = load_source(models, command, work, source, err);
	/*
	 * Check the model: another client of this user may have cached the model with extensions
	 * that this client may not use.
	 */
	if (!status)
		status = models_check(models, source->model, err);
	if (!status)
		status = make_key(work, source, key, err);
	if (!status)
		status = mappings_check(source->pools, source->num_pools, err);
	if (!status && prepare_from(models, command, key, &reason))
		status = prepare_copy(models, command, source, work, err);
	models_discard(models, source);
	return status;
}

enum nn_status models_prepare_own_cache(struct models *models, const struct command *command,
					struct own_cache_work **out, struct nn_error *err)
{
	struct own_cache_work *work = calloc(1, sizeof(*work));
	enum nn_status status;

	*out = NULL;
	if (!work)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	work->preference = command->head->preference;
	work->wire_size = command->head->wire_length;
	status = prepare(models, command, work, err);
	if (!status && work->loaded)
		*out = work;
	else
		work_free(models, work);
	/*
	 * If memory ran out, prepare the model without caching, because a preparation without
	 * caching needs no copy of the constants.
	 */
	return status == NN_OUT_OF_MEMORY ? models_prepare(models, command, err) : status;
}

/* ---- caching ---- */

struct saved {
	struct cache_entry entry;
	const struct nna_engine *engine;
	struct nna_engine_image image;
	struct head head;
};

static void write_saved(const struct cache_entry *entry, char *bytes)
{
	const struct saved *s = (const struct saved *)entry;

	for (uint32_t i = 0; i < NNA_ENGINE_MAX_CACHE_FILES; bytes += s->head.data[i++])
		if (s->head.data[i])
			s->engine->write_data(s->engine, &s->image, i, bytes);
	memcpy(bytes, &s->head, sizeof(s->head));
	bytes += sizeof(s->head);
	for (uint32_t i = 0; i < NNA_ENGINE_MAX_CACHE_FILES; bytes += s->head.model[i++])
		if (s->head.model[i])
			memcpy(bytes, s->image.model[i].base, s->head.model[i]);
}

/*
 * Makes a cache entry from `s->image`, the plan that the engine saved for a model. Returns false if
 * the model cannot be saved yet.
 */
static bool make_entry(struct saved *s, const struct cache_files *files, const uint8_t *key)
{
	s->entry = (struct cache_entry){
		.key = key, .model_size = sizeof(s->head), .write = write_saved,
	};
	for (uint32_t i = 0; i < files->model; i++) {
		s->head.model[i] = s->image.model[i].size;
		s->entry.model_size += s->head.model[i];
	}
	for (uint32_t i = 0; i < files->data; i++) {
		s->head.data[i] = s->image.data_size[i];
		s->entry.data_size += s->head.data[i];
	}
	return files->model ? s->head.model[0] : s->head.data[0];
}

/*
 * Caches the model's current form. If the engine replaces the form meanwhile, caches the new form,
 * too.
 */
static void store_form(struct models *models, struct loaded_model *loaded)
{
	const struct nna_engine *engine = models->engine;
	struct saved saved = { .engine = engine };
	enum nn_status status;
	struct nn_error err;
	struct form *form;
	bool was_replaced;

	do {
		saved.image = (struct nna_engine_image){ .own = NULL };
		err.message[0] = '\0';
		form = models_form(models, loaded);
		status = engine->save(engine, form->prepared, &saved.image, &err);
		if (!status && make_entry(&saved, &models->files, loaded->key))
			status = cache_client_put(models->cache, &saved.entry, &err);
		if (status)
			log_debug("a plan is not cached: %s", err.message);
		engine->end_save(engine, &saved.image);
		was_replaced = atomic_load(&loaded->form) != form;
		models_put_form(models, loaded, form);
		if (was_replaced)
			cache_client_drop(models->cache, loaded->key);
	} while (was_replaced);
}

void models_store_own_cache(struct models *models, struct own_cache_work *work)
{
	uint8_t key[DIGEST_SIZE];
	struct nn_error err = { "" };

	if (make_key(work, work->loaded, key, &err)) {
		log_debug("a plan is not cached: %s", err.message);
	} else {
		pthread_mutex_lock(&models->lock);
		memcpy(work->loaded->key, key, sizeof(key));
		work->loaded->is_cached = true;
		pthread_mutex_unlock(&models->lock);
		store_form(models, work->loaded);
	}
	work_free(models, work);
}

void models_keep_again(struct models *models, struct loaded_model *loaded)
{
	bool is_cached;

	pthread_mutex_lock(&models->lock);
	is_cached = loaded->is_cached;
	pthread_mutex_unlock(&models->lock);
	if (!is_cached)
		return;
	cache_client_drop(models->cache, loaded->key);
	store_form(models, loaded);
}
