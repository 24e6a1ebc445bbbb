/* SPDX-License-Identifier: MIT */
/*
 * Compilations: a model, its devices and settings, and the partition that
 * ANeuralNetworksCompilation_finish() makes.
 */
#ifndef NN_RUNTIME_COMPILATION_H
#define NN_RUNTIME_COMPILATION_H

#include "runtime/partition.h"

struct ANeuralNetworksCompilation {
	/*
	 * Number of references: one of the application, and one of each object made from this
	 * compilation.
	 */
	atomic_uint references;
	uint64_t serial;	/* serial number among all compilations of this process, from 1 */
	const ANeuralNetworksModel *model;
	const ANeuralNetworksDevice **devices;
	uint32_t num_devices;
	bool is_explicit;	/* the application named the devices: no fallback to the CPU */
	int32_t preference;
	bool is_one_thread;		/* see RUNTIME_ONE_THREAD */
	int32_t priority;
	uint64_t timeout_ns;		/* 0: none */
	char *cache_dir;		/* cache folder with a final '/', or NULL */
	int *cache_fds;			/* duplicated cache files, instead of a folder; or NULL */
	uint32_t num_cache_fds;
	uint8_t cache_token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
	struct nn_attributes attributes;

	bool finished;
	bool valid;			/* the compilation is finished, and its partition exists */
	struct partition partition;
};

/*
 * Increments the number of references to a compilation, like model_get() for a model. Executions,
 * bursts and descriptions of memories hold references to their compilation.
 */
ANeuralNetworksCompilation *compilation_get(const ANeuralNetworksCompilation *compilation);
void compilation_put(const ANeuralNetworksCompilation *compilation);

/*
 * Sets open cache files, which replace a cache folder. The numbers of model files and data files
 * must be those that the compilation's only device needs. The compilation duplicates the file
 * descriptors. Returns BAD_DATA if the number of files or devices is wrong, and BAD_STATE after the
 * compilation is finished.
 */
int compilation_set_cache_files(ANeuralNetworksCompilation *compilation, const int *model_fds,
				uint32_t num_model, const int *data_fds, uint32_t num_data,
				const uint8_t *token, struct nn_error *err);

/* Returns BAD_STATE unless the compilation is finished and can be executed. */
int compilation_check_valid(const ANeuralNetworksCompilation *compilation,
			    struct nn_error *err);

/*
 * Returns whether the model has an operation of a vendor, so that the CPU cannot execute the model.
 */
bool compilation_is_foreign(const ANeuralNetworksCompilation *compilation);

static inline bool compilation_has_one_device(const ANeuralNetworksCompilation *compilation)
{
	return compilation->is_explicit && compilation->num_devices == 1;
}

/*
 * Returns the CLOCK_MONOTONIC time that is `duration_ns` from now, at most UINT64_MAX; 0 (no
 * deadline) for a duration of 0.
 */
uint64_t deadline_after(uint64_t duration_ns);

#endif /* NN_RUNTIME_COMPILATION_H */
