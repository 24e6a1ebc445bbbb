/* SPDX-License-Identifier: MIT */
/*
 * Decodes, checks and prepares a client's serialised models. A model is stored under its number
 * until the client forgets the model and the model's last execution has ended.
 */
#ifndef NN_KIT_MODELS_H
#define NN_KIT_MODELS_H

#include <stdatomic.h>

#include <nnaccel/engine.h>

#include "kit/api/engine.h"
#include "kit/cache/cache_client.h"
#include "kit/cache/digest.h"
#include "kit/session/command.h"
#include "kit/session/grants.h"

/*
 * A prepared form of a model: the first form, or a better form by which the engine replaced an
 * older form.
 */
struct form {
	/*
	 * The engine's prepared model; NULL before the preparation and after the release of the
	 * form.
	 */
	void *prepared;
	unsigned int users;
};

/* A model with the mappings of its constants. */
struct loaded_model {
	struct loaded_model *next;
	uint64_t number;
	unsigned int users;
	/* bytes of device memory that the model uses, measured during the preparation */
	uint64_t device_bytes;
	struct nn_model *model;		/* the decoded model; NULL if a saved plan was loaded */
	/*
	 * Attributes of extensions, or NULL. The attributes are freed after the last form of the
	 * model was released.
	 */
	struct nn_attributes *attributes;
	struct form first;
	/* The current form, which new executions use; NULL until models_add(). */
	_Atomic(struct form *) form;
	bool is_cached;			/* true: the model is stored in the engine's own cache */
	uint8_t key[DIGEST_SIZE];	/* key of the model's entry in the engine's own cache */
	struct cached_parts cached;	/* cache entry from which the model was loaded, if any */
	struct mapping **pools;	/* mappings of the pools; NULL for a pool that cannot be mapped */
	uint32_t num_pools;
	struct nn_pool *copies;	/* private copies of constants, which replace the pools; or NULL */
	uint32_t num_copies;
};

struct models {
	struct models *next;		/* models of the next client of this process */
	const struct nna_engine *engine;
	struct grants *grants;
	struct cache_client *cache;
	struct cache_files files;	/* numbers of files in a client's cache entry */
	bool lazy;	/* true: the engine compiles a model at the model's first execution */
	/* lock that protects `list`, `buffer_bytes`, and `users`, forms and `key` of each model */
	pthread_mutex_t lock;
	struct loaded_model *list;
	uint64_t buffer_bytes;		/* bytes of all buffers in the engine's own layout */
};

bool models_init(struct models *models, const struct nna_engine *engine, struct grants *grants,
		 struct cache_client *cache);

/*
 * Limits the device memory that each client's models and buffers in the engine's own layout may
 * take. The limit is in bytes; 0 means no limit.
 */
void models_limit_device(uint64_t bytes);

/*
 * Counts a new buffer in the engine's own layout. Returns NN_RESOURCE_EXHAUSTED_TRANSIENT if the
 * buffer would make the client exceed its limit of device memory.
 */
enum nn_status models_reserve(struct models *models, uint64_t bytes, struct nn_error *err);
void models_unreserve(struct models *models, uint64_t bytes);

/*
 * Releases all models that the client has not released by NNACCEL_DO_FORGET_MODEL. The caller must
 * ensure that no model is in use.
 */
void models_free(struct models *models);

/*
 * Handles NNACCEL_DO_SUPPORTED: sets supported[i] for each operation i of the main subgraph. An
 * operation with a constant that cannot be mapped or read is not supported.
 */
enum nn_status models_supported(struct models *models, const struct command *command,
				bool *supported, size_t num_operations, struct nn_error *err);

/* Handles NNACCEL_DO_PREPARE: prepares a model and stores the model under a number. */
enum nn_status models_prepare(struct models *models, const struct command *command,
			      struct nn_error *err);

/*
 * Sets *memory to the memory use of the prepared model `number`, or to zeroes if the model does not
 * exist.
 */
void models_memory(struct models *models, uint64_t number, struct nnaccel_model_memory *memory);

/*
 * Handles NNACCEL_DO_PREPARE_CACHED: prepares a model from saved parts. Returns NN_GENERAL_FAILURE
 * if the keeper has not stored the hash of the parts, or if the parts are damaged.
 */
enum nn_status models_prepare_cached(struct models *models, const struct command *command,
				     struct nn_error *err);

/*
 * Handles NNACCEL_DO_CACHE_SAVE. If the result is NN_OK or NN_OUTPUT_INSUFFICIENT_SIZE, `sizes`
 * contains the size of each part. All elements of `sizes` are 0 if the model has not been compiled
 * yet.
 */
enum nn_status models_save(struct models *models, const struct command *command, uint64_t *sizes,
			   struct nn_error *err);

/*
 * A model that the engine compiled from a private copy, and that models_store_own_cache() stores in
 * the cache.
 */
struct own_cache_work;

/*
 * Handles NNACCEL_DO_PREPARE with NNACCEL_PREPARE_CACHE. Loads the model's plan from the cache or,
 * if the plan is not cached, compiles the model with a private copy of its constants. Sets *work to
 * NULL or, if the plan must be cached, to the argument of models_store_own_cache(). The caller
 * calls models_store_own_cache() after answering the client.
 */
enum nn_status models_prepare_own_cache(struct models *models, const struct command *command,
					struct own_cache_work **work, struct nn_error *err);
void models_store_own_cache(struct models *models, struct own_cache_work *work);

/*
 * Caches the new form of a model in place of an older form, if the older form is in the engine's
 * own cache.
 */
void models_keep_again(struct models *models, struct loaded_model *loaded);

/*
 * ---- functions that all ways to prepare a model share; `loaded` begins as zeroes and its number
 * ----
 */

/*
 * Makes a private copy of a range of a grant, because the client may still write to the grant's
 * memory.
 */
enum nn_status models_copy(struct models *models, const struct nnaccel_grant *grant,
			   uint64_t offset, size_t length, void **copy, struct nn_error *err);

/* Copies a serialised model to private memory. */
enum nn_status models_copy_wire(struct models *models, const struct command *command, void **wire,
				struct nn_error *err);

/*
 * Maps the command's grants `first`, `first` + 1 and so on as the model's pools. Unless need_all is
 * set, skips pools that cannot be mapped, so that only operations that read the skipped pools are
 * affected.
 */
enum nn_status models_map_pools(struct models *models, const struct command *command,
				uint32_t first, bool need_all, struct loaded_model *loaded, struct nn_error *err);

/* Returns the options of a preparation, read from the command. */
struct nna_engine_preparation models_how(const struct models *models,
					 const struct command *command,
					 const struct loaded_model *loaded);

/*
 * Decodes the attributes of a command, calls the engine to check the attributes, and adds the
 * attributes to the model.
 */
enum nn_status models_take_attributes(struct models *models, const struct command *command,
				      struct loaded_model *loaded, struct nn_error *err);

/*
 * Decodes a model from a private copy of the serialised model. The command's pools must be mapped.
 */
enum nn_status models_decode(const struct command *command, const void *wire,
			     struct loaded_model *loaded, struct nn_error *err);

/* Checks the extension types and operations of a model, and logs what is wrong. */
enum nn_status models_check(const struct models *models, const struct nn_model *model,
			    struct nn_error *err);

/*
 * Calls the engine to check the attributes of a preparation or an execution; `attributes` may be
 * NULL.
 */
enum nn_status models_check_attributes(const struct models *models,
				       const struct nn_attributes *attributes, bool is_execution,
				       struct nn_error *err);

/* Returns the subgraph whose inputs and outputs are the arguments of a model's executions. */
const struct nn_subgraph *models_signature(const struct models *models,
					   const struct loaded_model *loaded);

/*
 * Adds a prepared model. If the model would make the client exceed its limit of device memory,
 * discards the model and fails.
 */
enum nn_status models_add(struct models *models, struct loaded_model *loaded, struct nn_error *err);
void models_discard(struct models *models, struct loaded_model *loaded);

/*
 * Returns the model `number`, or NULL if the model does not exist. The caller releases the model by
 * models_put(). Unless `form` is NULL, models_get() also takes a reference to the model's current
 * form, and models_put() drops the reference to the form.
 */
struct loaded_model *models_get(struct models *models, uint64_t number, struct form **form);
void models_put(struct models *models, struct loaded_model *loaded, struct form *form);

/*
 * Returns the current form of a model to which the caller has a reference. The caller releases the
 * form by models_put_form().
 */
struct form *models_form(struct models *models, struct loaded_model *loaded);
void models_put_form(struct models *models, struct loaded_model *loaded, struct form *form);

/*
 * Handles NNACCEL_DO_FORGET_MODEL: frees the model now or, if the model is being executed, after
 * its last execution.
 */
void models_forget(struct models *models, uint64_t number);

/*
 * Returns NN_GENERAL_FAILURE if a thread has accessed a mapping beyond the end of its truncated
 * file.
 */
enum nn_status mappings_check(struct mapping *const *mappings, uint32_t count,
			      struct nn_error *err);

#endif /* NN_KIT_MODELS_H */
