// SPDX-License-Identifier: MIT
/*
 * Begins and ends a burst request's accesses to memory that devices use: other drivers' memory, and
 * pools with an attached device.
 */
#include "kit/burst/access.h"

/*
 * Sets s->accesses[i] to the NNACCEL_SYNC flags for the request's slot i: whether the request reads
 * or writes the memory. Returns false if no slot has memory that a device uses.
 */
static bool find_accesses(const struct executor *executor, struct scratch *s)
{
	bool all = __atomic_load_n(executor->devices, __ATOMIC_ACQUIRE), any = all;
	const struct nn_request *r = &s->request;

	for (uint32_t i = 0; i < r->num_slots; i++) {
		s->accesses[i] = 0;
		any |= s->mappings[i]->is_foreign;
	}
	for (uint32_t i = 0; any && i < r->num_inputs + r->num_outputs; i++) {
		if (r->args[i].flags & NNACCEL_ARG_NO_VALUE ||
		    !(all || s->mappings[r->args[i].pool]->is_foreign))
			continue;
		s->accesses[r->args[i].pool] |= i < r->num_inputs ? NNACCEL_SYNC_READ :
						NNACCEL_SYNC_READ | NNACCEL_SYNC_WRITE;
	}
	return any;
}

/* Ends the accesses to the first `count` slots of a request. */
static enum nn_status end(struct executor *executor, const struct scratch *s, uint32_t count,
			  struct nn_error *err)
{
	enum nn_status status = NN_OK, one;

	for (uint32_t i = 0; i < count; i++) {
		if (!s->accesses[i])
			continue;
		one = grants_sync(executor->grants, s->mappings[i],
				  s->accesses[i] | NNACCEL_SYNC_END, err);
		status = status ? status : one;
	}
	return status;
}

enum nn_status access_begin(struct executor *executor, struct scratch *s, struct nn_error *err)
{
	struct nn_error ignored = { "" };
	enum nn_status status;

	s->has_accesses = find_accesses(executor, s);
	for (uint32_t i = 0; s->has_accesses && i < s->request.num_slots; i++) {
		if (!s->accesses[i])
			continue;
		status = grants_sync(executor->grants, s->mappings[i], s->accesses[i], err);
		if (status) {
			end(executor, s, i, &ignored);
			return status;
		}
	}
	return NN_OK;
}

enum nn_status access_end(struct executor *executor, struct scratch *s, struct nn_error *err)
{
	return s->has_accesses ? end(executor, s, s->request.num_slots, err) : NN_OK;
}
