// SPDX-License-Identifier: MIT
/*
 * The executor that keeps memory mapped: a slot is resolved at its first use
 * and found by its index from then on, until the client frees it. Where the engine has
 * an executor of its own, it is told of the memory that comes and goes, and executes.
 */
#include <stdlib.h>

#include "kit/executor.h"
#include "kit/log.h"

/* Places that the table has at first. */
#define FIRST_SIZE 16

struct place {
	uint32_t slot;
	struct mapping *mapping;	/* NULL: free */
};

struct caching {
	struct executor base;
	const struct nna_engine_burst *burst;	/* the engine's, or NULL */
	void *own;			/* its executor */
	/*
	 * Not held while a model runs. Held while the engine is told of a slot, so that it hears that
	 * a slot was freed after it was told of it, and not meanwhile. An engine that does not return
	 * from that holds up its own burst and the threads that have slots of it freed, nobody else.
	 */
	pthread_mutex_t lock;
	struct place *places;		/* by NNACCEL_SLOT_INDEX() */
	uint32_t size;
	bool running;			/* mappings are in use: */
	struct place *leaving;		/* these go afterwards */
	uint32_t num_leaving;
	uint32_t max_leaving;
};

/* Under the lock, while nothing executes. */
static void drop(struct caching *c, const struct place *place)
{
	if (!place->mapping)
		return;
	if (c->burst)
		c->burst->remove(c->own, place->slot);
	grants_put(c->base.grants, place->mapping);
}

/* Under the lock. */
static void let_go(struct caching *c, const struct place *place)
{
	if (c->running)
		c->leaving[c->num_leaving++] = *place;
	else
		drop(c, place);
}

/* Under the lock. Tells the engine's executor of a slot's memory. */
static enum nn_status tell(struct caching *c, const struct place *place, struct nn_error *err)
{
	const struct nna_engine_slot slot = {
		.slot = place->slot,
		.is_writable = place->mapping->prot & NNACCEL_PROT_WRITE,
		.base = place->mapping->base,
		.length = place->mapping->length,
	};

	return c->burst ? c->burst->add(c->own, &slot, err) : NN_OK;
}

/* Under the lock. Makes room for an index, and for all that the table holds to leave. */
static bool grow(struct caching *c, uint32_t index)
{
	uint32_t size = c->size ? c->size : FIRST_SIZE;
	struct place *places;
	struct place *leaving;

	while (size <= index)
		size *= 2;
	places = realloc(c->places, size * sizeof(*places));
	if (!places)
		return false;
	for (uint32_t i = c->size; i < size; i++)
		places[i] = (struct place){ .mapping = NULL };
	c->places = places;
	c->size = size;
	leaving = realloc(c->leaving, size * sizeof(*leaving));
	if (!leaving)
		return false;
	c->leaving = leaving;
	c->max_leaving = size;
	return true;
}

/* Under the lock. Finds the memory of a request's slot number i for the first time. */
static enum nn_status add(struct caching *c, const struct nn_request *request, uint32_t i,
			  struct nn_error *err)
{
	uint32_t slot = request->slots[i], index = NNACCEL_SLOT_INDEX(slot);
	struct place place = { .slot = slot };
	enum nn_status status;

	/* The memory of the one would go while it is in use. */
	for (uint32_t k = 0; k < i; k++)
		if (NNACCEL_SLOT_INDEX(request->slots[k]) == index && request->slots[k] != slot)
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "slots %u and %u cannot both be there", request->slots[k],
				       slot);
	if (index >= c->max_leaving && !grow(c, index))
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = executor_resolve(&c->base, slot, &place.mapping, err);
	if (status)
		return status;
	/* Another slot of this index is gone, and the message of it on its way. */
	drop(c, &c->places[index]);
	c->places[index].mapping = NULL;
	status = tell(c, &place, err);
	if (status)
		grants_put(c->base.grants, place.mapping);
	else
		c->places[index] = place;
	return status;
}

static bool holds(const struct caching *c, uint32_t slot)
{
	uint32_t index = NNACCEL_SLOT_INDEX(slot);

	return index < c->size && c->places[index].mapping && c->places[index].slot == slot;
}

static enum nn_status caching_get_memory(struct executor *executor,
					 const struct nn_request *request,
					 struct mapping **mappings, struct nn_error *err)
{
	struct caching *c = (struct caching *)executor;
	enum nn_status status = NN_OK;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < request->num_slots && !status; i++) {
		uint32_t slot = request->slots[i];

		if (!holds(c, slot))
			status = add(c, request, i, err);
		else if (c->burst && !c->burst->is_cached(c->own, slot))
			status = tell(c, &c->places[NNACCEL_SLOT_INDEX(slot)], err);
		if (!status)
			mappings[i] = c->places[NNACCEL_SLOT_INDEX(slot)].mapping;
	}
	c->running = !status;
	pthread_mutex_unlock(&c->lock);
	return status;
}

static void caching_put_memory(struct executor *executor, const struct nn_request *request,
			       struct mapping **mappings)
{
	struct caching *c = (struct caching *)executor;

	(void)request;
	(void)mappings;
	pthread_mutex_lock(&c->lock);
	c->running = false;
	while (c->num_leaving)
		drop(c, &c->leaving[--c->num_leaving]);
	pthread_mutex_unlock(&c->lock);
}

static void caching_forget(struct executor *executor, uint32_t slot)
{
	struct caching *c = (struct caching *)executor;
	struct place *place;

	pthread_mutex_lock(&c->lock);
	if (holds(c, slot)) {
		place = &c->places[NNACCEL_SLOT_INDEX(slot)];
		let_go(c, place);
		place->mapping = NULL;
	}
	pthread_mutex_unlock(&c->lock);
}

static void caching_free(struct executor *executor)
{
	struct caching *c = (struct caching *)executor;

	for (uint32_t i = 0; i < c->size; i++)
		drop(c, &c->places[i]);
	if (c->burst)
		c->burst->destroy(c->own);
	pthread_mutex_destroy(&c->lock);
	free(c->places);
	free(c->leaving);
	free(c);
}

static enum nn_status caching_execute(struct executor *executor, const uint32_t *slots,
				      struct nn_execution *execution, struct nn_error *err)
{
	struct caching *c = (struct caching *)executor;

	return c->burst->execute(c->own, slots, execution, err);
}

static const struct executor_ops caching_ops = {
	.get_memory = caching_get_memory,
	.put_memory = caching_put_memory,
	.forget = caching_forget,
	.free = caching_free,
};

static const struct executor_ops own_ops = {
	.get_memory = caching_get_memory,
	.put_memory = caching_put_memory,
	.forget = caching_forget,
	.execute = caching_execute,
	.free = caching_free,
};

struct executor *executor_caching_create(struct models *models, struct loaded_model *loaded,
					 uint32_t burst)
{
	const struct nna_engine *engine = models->engine;
	struct caching *c = calloc(1, sizeof(*c));
	struct nn_error err = { "" };

	if (!c)
		return NULL;
	if (engine->burst && engine->burst->create(engine, loaded->prepared, &c->own, &err)) {
		log_error("a burst: the engine makes no executor: %s", err.message);
		free(c);
		return NULL;
	}
	c->burst = engine->burst;
	c->base = (struct executor){ .ops = c->burst ? &own_ops : &caching_ops, .models = models,
				     .grants = models->grants, .loaded = loaded, .burst = burst };
	pthread_mutex_init(&c->lock, NULL);
	return &c->base;
}
