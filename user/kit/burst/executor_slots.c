// SPDX-License-Identifier: MIT
/*
 * Maps the memory of a burst's slots. At a slot's first use, the executor asks the kernel for the
 * slot's memory. A slot's memory stays mapped until the client frees the slot; a table contains the
 * mapping at the slot's index. If the engine has an executor of its own, the slots are also added
 * to the engine's executor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kit/api/log.h"
#include "kit/burst/executor.h"
#include "kit/session/session.h"

/* Initial number of entries of the table of slots. */
#define FIRST_SIZE 16

struct slot_place {
	uint32_t slot;
	/* mapping of the slot's memory; NULL if the table entry is free */
	struct mapping *mapping;
};

/*
 * Removes a slot; must not be called while a request of the burst executes. The caller holds
 * e->lock, unless the caller is freeing `e`.
 */
static void drop(struct executor *e, const struct slot_place *place)
{
	if (!place->mapping)
		return;
	if (e->of_engine)
		e->of_engine->remove(e->own, place->slot);
	grants_put(e->grants, place->mapping);
}

/* Removes a slot now or, if a request executes, after the request. The caller holds e->lock. */
static void let_go(struct executor *e, const struct slot_place *place)
{
	if (e->running)
		e->leaving[e->num_leaving++] = *place;
	else
		drop(e, place);
}

/*
 * Adds a slot's memory to the engine's own executor, if the engine has an executor. The caller
 * holds e->lock.
 */
static enum nn_status tell(struct executor *e, const struct slot_place *place, struct nn_error *err)
{
	const struct nna_engine_slot slot = {
		.slot = place->slot,
		.is_writable = place->mapping->prot & NNACCEL_PROT_WRITE,
		.base = place->mapping->base,
		.length = place->mapping->length,
		.is_device_memory = place->mapping->prot & NNACCEL_PROT_DEVICE,
	};

	return e->of_engine ? e->of_engine->add(e->own, &slot, err) : NN_OK;
}

/*
 * Enlarges the table of slots until the table contains `index`, and enlarges `leaving` to the same
 * size. The caller holds e->lock.
 */
static bool grow(struct executor *e, uint32_t index)
{
	uint32_t size = e->size ? e->size : FIRST_SIZE;
	struct slot_place *places;
	struct slot_place *leaving;

	while (size <= index)
		size *= 2;
	places = realloc(e->places, size * sizeof(*places));
	if (!places)
		return false;
	for (uint32_t i = e->size; i < size; i++)
		places[i] = (struct slot_place){ .mapping = NULL };
	e->places = places;
	e->size = size;
	leaving = realloc(e->leaving, size * sizeof(*leaving));
	if (!leaving)
		return false;
	e->leaving = leaving;
	e->max_leaving = size;
	return true;
}

/*
 * Asks the kernel for a slot's memory and maps this memory. The caller must later call
 * grants_put().
 */
static enum nn_status resolve(struct executor *e, uint32_t slot, struct mapping **mapping,
			      struct nn_error *err)
{
	struct nnaccel_session_slot s = {
		.size = sizeof(s),
		.burst = e->burst,
		.slot = slot,
	};

	e->misses++;
	if (session_call(e->grants->session, NNACCEL_SESSION_SLOT, &s))
		return nn_fail(err, NN_INVALID_ARGUMENT, "slot %u: %s", slot, strerror(errno));
	return grants_get(e->grants, &s.out_grant,
			  s.out_grant.prot & NNACCEL_PROT_FORMATTED ? &s.out_format : NULL,
			  mapping, err);
}

/* At a slot's first use, adds slot i of a request to the table. The caller holds e->lock. */
static enum nn_status add(struct executor *e, const struct nn_request *request, uint32_t i,
			  struct nn_error *err)
{
	uint32_t slot = request->slots[i], index = NNACCEL_SLOT_INDEX(slot);
	struct slot_place place = { .slot = slot };
	enum nn_status status;

	/*
	 * A request must not use two slots with the same index, because the second slot would
	 * replace the first slot in the table.
	 */
	for (uint32_t k = 0; k < i; k++)
		if (NNACCEL_SLOT_INDEX(request->slots[k]) == index && request->slots[k] != slot)
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "slots %u and %u cannot both be used", request->slots[k],
				       slot);
	if (index >= e->max_leaving && !grow(e, index))
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = resolve(e, slot, &place.mapping, err);
	if (status)
		return status;
	/*
	 * Remove the older slot from the table entry for the new slot. The client has freed the
	 * older slot, although NNACCEL_DO_SLOT_GONE has not arrived yet.
	 */
	drop(e, &e->places[index]);
	e->places[index].mapping = NULL;
	status = tell(e, &place, err);
	if (status)
		grants_put(e->grants, place.mapping);
	else
		e->places[index] = place;
	return status;
}

static bool holds(const struct executor *e, uint32_t slot)
{
	uint32_t index = NNACCEL_SLOT_INDEX(slot);

	return index < e->size && e->places[index].mapping && e->places[index].slot == slot;
}

enum nn_status executor_get_memory(struct executor *e, const struct nn_request *request,
				   struct mapping **mappings, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	pthread_mutex_lock(&e->lock);
	for (uint32_t i = 0; i < request->num_slots && !status; i++) {
		uint32_t slot = request->slots[i];

		if (!holds(e, slot))
			status = add(e, request, i, err);
		else if (e->of_engine && !e->of_engine->is_cached(e->own, slot))
			status = tell(e, &e->places[NNACCEL_SLOT_INDEX(slot)], err);
		if (!status)
			mappings[i] = e->places[NNACCEL_SLOT_INDEX(slot)].mapping;
	}
	e->running = !status;
	pthread_mutex_unlock(&e->lock);
	return status;
}

void executor_put_memory(struct executor *e)
{
	pthread_mutex_lock(&e->lock);
	e->running = false;
	while (e->num_leaving)
		drop(e, &e->leaving[--e->num_leaving]);
	pthread_mutex_unlock(&e->lock);
}

void executor_forget(struct executor *e, uint32_t slot)
{
	struct slot_place *place;

	pthread_mutex_lock(&e->lock);
	if (holds(e, slot)) {
		place = &e->places[NNACCEL_SLOT_INDEX(slot)];
		let_go(e, place);
		place->mapping = NULL;
	}
	pthread_mutex_unlock(&e->lock);
}

static void end_burst(const struct nna_engine *engine, void *prepared)
{
	if (engine->end_burst)
		engine->end_burst(engine, prepared);
}

void executor_free(struct executor *e)
{
	for (uint32_t i = 0; i < e->size; i++)
		drop(e, &e->places[i]);
	if (e->of_engine)
		e->of_engine->destroy(e->own);
	end_burst(e->models->engine, e->form->prepared);
	models_put_form(e->models, e->loaded, e->form);
	pthread_mutex_destroy(&e->lock);
	free(e->places);
	free(e->leaving);
	free(e);
}

enum nn_status executor_create(struct models *models, struct loaded_model *loaded, uint32_t burst,
			       struct executor **executor, struct nn_error *err)
{
	const struct nna_engine *engine = models->engine;
	struct executor *e = calloc(1, sizeof(*e));
	enum nn_status status = NN_OK;
	struct form *form;

	*executor = NULL;
	if (!e)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	form = models_form(models, loaded);
	if (engine->begin_burst)
		status = engine->begin_burst(engine, form->prepared, err);
	if (!status && engine->burst) {
		status = engine->burst->create(engine, form->prepared, &e->own, err);
		if (status)
			end_burst(engine, form->prepared);
	}
	if (status) {
		log_info("the engine refuses a burst: %s", err->message);
		models_put_form(models, loaded, form);
		free(e);
		return status;
	}
	e->of_engine = engine->burst;
	e->models = models;
	e->grants = models->grants;
	e->loaded = loaded;
	e->form = form;
	e->burst = burst;
	pthread_mutex_init(&e->lock, NULL);
	*executor = e;
	return NN_OK;
}
