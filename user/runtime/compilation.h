/* SPDX-License-Identifier: MIT */
/* Compilations: a model, its devices and settings, and the partition that finishing makes. */
#ifndef NN_RUNTIME_COMPILATION_H
#define NN_RUNTIME_COMPILATION_H

#include "runtime/partition.h"

struct ANeuralNetworksCompilation {
	/* Number of references: the application, and objects made from this. */
	atomic_uint references;
	uint64_t serial;	/* serial number among all compilations of this process, from 1 */
	const ANeuralNetworksModel *model;
	const ANeuralNetworksDevice **devices;
	uint32_t num_devices;
	bool is_explicit;	/* the application named the devices, so there is no fallback */
	int32_t preference;
	bool is_one_thread;		/* see RUNTIME_ONE_THREAD */
	int32_t priority;
	uint64_t timeout_ns;		/* 0: none */
	char *cache_dir;		/* cache folder, which ends in '/'; NULL without one */
	int *cache_fds;			/* duplicated cache files in place of a folder, or NULL */
	uint32_t num_cache_fds;
	uint8_t cache_token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
	struct nn_attributes attributes;

	bool finished;
	bool valid;			/* the compilation is finished, and its partition exists */
	struct partition partition;
};

/*
 * Takes a reference, as model_get() does. Executions, bursts and descriptions of memories hold a
 * reference.
 */
ANeuralNetworksCompilation *compilation_get(const ANeuralNetworksCompilation *compilation);
void compilation_put(const ANeuralNetworksCompilation *compilation);

/*
 * Sets open cache files instead of a folder. There must be as many model files and data files as
 * the compilation's only device needs. The fds are duplicated. Returns BAD_DATA for a wrong number
 * of files or devices, and BAD_STATE once the compilation is finished.
 */
int compilation_set_cache_files(ANeuralNetworksCompilation *compilation, const int *model_fds,
				uint32_t num_model, const int *data_fds, uint32_t num_data,
				const uint8_t *token, struct nn_error *err);

/* Returns BAD_STATE unless the compilation is finished and can be executed. */
int compilation_check_valid(const ANeuralNetworksCompilation *compilation,
			    struct nn_error *err);

/* Returns whether the model has a vendor's operation, so that it cannot fall back to the CPU. */
bool compilation_is_foreign(const ANeuralNetworksCompilation *compilation);

/* Returns whether the application named exactly one device. */
static inline bool compilation_has_one_device(const ANeuralNetworksCompilation *compilation)
{
	return compilation->is_explicit && compilation->num_devices == 1;
}

/*
 * Returns the CLOCK_MONOTONIC time after a duration, at most UINT64_MAX; 0 (no deadline) for a
 * duration of 0.
 */
uint64_t deadline_after(uint64_t duration_ns);

#endif /* NN_RUNTIME_COMPILATION_H */
