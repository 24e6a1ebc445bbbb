/* SPDX-License-Identifier: MIT */
/*
 * Cache files of the device nnapi-reference: saved plans, with hashes that detect accidental
 * damage.
 */
#ifndef NN_RUNTIME_CACHE_CPU_H
#define NN_RUNTIME_CACHE_CPU_H

#include "runtime/device.h"

/* A plan that was loaded from cache files, and the memory of its constants. */
struct cpu_cached {
	struct nn_plan *plan;
	void *data;
	uint64_t data_size;
};

/* Saves a plan; on failure the reason is in err. */
enum nn_status cpu_cache_save(const struct nn_plan *plan, const struct nna_cache *cache,
			      struct nn_error *err);

/*
 * Loads a saved plan. The model file and the data file are read into private memory, because
 * truncating a mapped file would kill the application. Returns NN_GENERAL_FAILURE if the plan is
 * damaged, or if the plan belongs to another build or model.
 */
enum nn_status cpu_cache_load(const struct nna_cache *cache, const struct nn_plan_options *options,
			      struct cpu_cached *cached, struct nn_error *err);
void cpu_cached_free(struct cpu_cached *cached);

#endif /* NN_RUNTIME_CACHE_CPU_H */
