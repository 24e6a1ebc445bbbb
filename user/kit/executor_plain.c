// SPDX-License-Identifier: MIT
/*
 * The executor that is a prepared model and nothing else: each execution asks
 * for its memory and maps it.
 */
#include <stdlib.h>

#include "kit/executor.h"

static void put(struct executor *executor, uint32_t count, struct mapping **mappings)
{
	for (uint32_t i = 0; i < count; i++)
		grants_put(executor->grants, mappings[i]);
}

static enum nn_status plain_get_memory(struct executor *executor, const struct nn_request *request,
				       struct mapping **mappings, struct nn_error *err)
{
	enum nn_status status;

	for (uint32_t i = 0; i < request->num_slots; i++) {
		status = executor_resolve(executor, request->slots[i], &mappings[i], err);
		if (status) {
			put(executor, i, mappings);
			return status;
		}
	}
	return NN_OK;
}

static void plain_put_memory(struct executor *executor, const struct nn_request *request,
			     struct mapping **mappings)
{
	put(executor, request->num_slots, mappings);
}

static void plain_forget(struct executor *executor, uint32_t slot)
{
	(void)executor;
	(void)slot;
}

static void plain_free(struct executor *executor)
{
	free(executor);
}

static const struct executor_ops plain_ops = {
	.get_memory = plain_get_memory,
	.put_memory = plain_put_memory,
	.forget = plain_forget,
	.free = plain_free,
};

struct executor *executor_plain_create(struct models *models, struct loaded_model *loaded,
				       uint32_t burst)
{
	struct executor *executor = calloc(1, sizeof(*executor));

	if (executor)
		*executor = (struct executor){ .ops = &plain_ops, .models = models,
					       .grants = models->grants, .loaded = loaded,
					       .burst = burst };
	return executor;
}
