/* SPDX-License-Identifier: MIT */
/*
 * Models of the client: loaded from their serialised form, checked, prepared, and held by number
 * until they are forgotten and no longer executed.
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

/* A form of a model: the one first prepared, or one that the engine replaced it with. */
struct form {
	/* The engine's prepared model; NULL before it is prepared and after it is released. */
	void *prepared;
	unsigned int users;
};

/* A model with the mappings of its constants. */
struct loaded_model {
	struct loaded_model *next;
	uint64_t number;
	unsigned int users;
	uint64_t device_bytes;		/* of the device's memory, when it was prepared */
	struct nn_model *model;		/* the client's model; NULL if the plan was loaded */
	/* Attributes of extensions, or NULL; they outlive all forms. */
	struct nn_attributes *attributes;
	struct form first;
	/* Form for executions that begin now; NULL until models_add(). */
	_Atomic(struct form *) form;
	bool is_cached;			/* the model is in the engine's own cache */
	uint8_t key[DIGEST_SIZE];	/* its key there */
	struct cached_parts cached;	/* the cache entry that it was loaded from, if any */
	struct mapping **pools;	/* mappings of the pools; NULL for those that cannot be mapped */
	uint32_t num_pools;
	struct nn_pool *copies;		/* private memory in place of the pools */
	uint32_t num_copies;
};

struct models {
	struct models *next;		/* next structure in the process' list */
	const struct nna_engine *engine;
	struct grants *grants;
	struct cache_client *cache;
	struct cache_files files;	/* files of the client's cache entry */
	bool lazy;			/* models are compiled at their first execution */
	pthread_mutex_t lock;		/* protects the list, users and forms of its entries, and keys */
	struct loaded_model *list;
};

bool models_init(struct models *models, const struct nna_engine *engine, struct grants *grants,
		 struct cache_client *cache);

/* Limits the device's memory that models of each client of this process take, in bytes; 0: no limit. */
void models_limit_device(uint64_t bytes);

/* Releases all models that were not forgotten; none may be in use. */
void models_free(struct models *models);

/*
 * Handles NNACCEL_DO_SUPPORTED: sets supported[i] for each of the num_operations operations of the
 * main subgraph. An operation is not supported if a constant of it cannot be mapped or read.
 */
enum nn_status models_supported(struct models *models, const struct command *command,
				bool *supported, size_t num_operations, struct nn_error *err);

/* Handles NNACCEL_DO_PREPARE: holds a prepared model under its number. */
enum nn_status models_prepare(struct models *models, const struct command *command,
			      struct nn_error *err);

/* Returns the memory of a prepared model; zeroes if there is no such model. */
void models_memory(struct models *models, uint64_t number, struct nnaccel_model_memory *memory);

/*
 * Handles NNACCEL_DO_PREPARE_CACHED: prepares a model from saved parts. Returns NN_GENERAL_FAILURE
 * if the keeper does not know the parts or they are damaged.
 */
enum nn_status models_prepare_cached(struct models *models, const struct command *command,
				     struct nn_error *err);

/*
 * Handles NNACCEL_DO_CACHE_SAVE. Sets the size of each part with NN_OK and
 * NN_OUTPUT_INSUFFICIENT_SIZE; all sizes are 0 for a model that has not been compiled yet.
 */
enum nn_status models_save(struct models *models, const struct command *command, uint64_t *sizes,
			   struct nn_error *err);

/* A model that was compiled from a private copy, and is to be cached. */
struct own_cache_work;

/*
 * Handles NNACCEL_DO_PREPARE with NNACCEL_PREPARE_CACHE. It loads the cached plan, or compiles a
 * private copy of the model's constants. *work is NULL, or the work for models_store_own_cache()
 * after the client has its answer.
 */
enum nn_status models_prepare_own_cache(struct models *models, const struct command *command,
					struct own_cache_work **work, struct nn_error *err);
void models_store_own_cache(struct models *models, struct own_cache_work *work);

/* Caches a model's new form in place of its older one, if that was cached. */
void models_keep_again(struct models *models, struct loaded_model *loaded);

/*
 * ---- functions that all ways to prepare a model share; `loaded` begins as zeroes and its number
 * ----
 */

/* A private copy of a range of a grant, which the client may still be writing. */
enum nn_status models_copy(struct models *models, const struct nnaccel_grant *grant,
			   uint64_t offset, size_t length, void **copy, struct nn_error *err);

/* Copies a model's serialised form. */
enum nn_status models_copy_wire(struct models *models, const struct command *command, void **wire,
				struct nn_error *err);

/*
 * Maps the grants from `first` on. Without need_all, a pool that cannot be mapped is skipped, so
 * only operations that read it are affected.
 */
enum nn_status models_map_pools(struct models *models, const struct command *command,
				uint32_t first, bool need_all, struct loaded_model *loaded, struct nn_error *err);

/* Returns the options of a preparation, which its command has. */
struct nna_engine_preparation models_how(const struct models *models,
					 const struct command *command,
					 const struct loaded_model *loaded);

/* Takes over the attributes of a command, once the engine has checked them. */
enum nn_status models_take_attributes(struct models *models, const struct command *command,
				      struct loaded_model *loaded, struct nn_error *err);

/* Decodes a private copy of a wire form, with the command's pools mapped. */
enum nn_status models_decode(const struct command *command, const void *wire,
			     struct loaded_model *loaded, struct nn_error *err);

/* Checks the extensions of a model, and logs what is wrong with them. */
enum nn_status models_check(const struct models *models, const struct nn_model *model,
			    struct nn_error *err);

/* Attributes of a preparation or an execution, by the engine. NULL is fine. */
enum nn_status models_check_attributes(const struct models *models,
				       const struct nn_attributes *attributes, bool is_execution,
				       struct nn_error *err);

/* Returns the operands of a model's executions. */
const struct nn_subgraph *models_signature(const struct models *models,
					   const struct loaded_model *loaded);

/* Adds a prepared model, or discards it if the client would exceed its limit of device memory. */
enum nn_status models_add(struct models *models, struct loaded_model *loaded, struct nn_error *err);
void models_discard(struct models *models, struct loaded_model *loaded);

/*
 * Returns the model with this number, or NULL. models_put() ends its use. Unless `form` is NULL,
 * both also get or put the current form of the model.
 */
struct loaded_model *models_get(struct models *models, uint64_t number, struct form **form);
void models_put(struct models *models, struct loaded_model *loaded, struct form *form);

/* Returns the current form of a model that is held; models_put_form() ends its use. */
struct form *models_form(struct models *models, struct loaded_model *loaded);
void models_put_form(struct models *models, struct loaded_model *loaded, struct form *form);

/* Handles NNACCEL_DO_FORGET_MODEL: frees the model now, or after its last execution. */
void models_forget(struct models *models, uint64_t number);

/* Returns NN_GENERAL_FAILURE if the file of one of the mappings became shorter. */
enum nn_status mappings_check(struct mapping *const *mappings, uint32_t count,
			      struct nn_error *err);

#endif /* NN_KIT_MODELS_H */
