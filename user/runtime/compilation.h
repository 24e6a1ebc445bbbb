/* SPDX-License-Identifier: MIT */
/*
 * Compilations: a model, the devices and wishes it is compiled for, and the
 * partition that finishing leaves.
 */
#ifndef NN_RUNTIME_COMPILATION_H
#define NN_RUNTIME_COMPILATION_H

#include "runtime/partition.h"

struct ANeuralNetworksCompilation {
	atomic_uint references;		/* the application, and what was made of it */
	uint64_t serial;		/* of all compilations of this process, from 1 */
	const ANeuralNetworksModel *model;
	const ANeuralNetworksDevice **devices;
	uint32_t num_devices;
	bool is_explicit;		/* the application named the devices: no fallback */
	int32_t preference;
	int32_t priority;
	uint64_t timeout_ns;		/* 0: none */
	char *cache_dir;		/* ends in '/'; NULL: none */
	int *cache_fds;			/* in its stead, duplicates of our own; NULL: none */
	uint32_t num_cache_fds;
	uint8_t cache_token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
	struct nn_attributes attributes;

	bool finished;
	bool valid;			/* finished, and the partition is there */
	struct partition partition;
};

/* As model_get(): executions, bursts and descriptions of memories hold their compilation. */
ANeuralNetworksCompilation *compilation_get(const ANeuralNetworksCompilation *compilation);
void compilation_put(const ANeuralNetworksCompilation *compilation);

/*
 * Caching in open files in place of a folder: model files, then data files, as many as the only
 * device has. They are duplicated. BAD_DATA for others, BAD_STATE once it is finished.
 */
int compilation_set_cache_files(ANeuralNetworksCompilation *compilation, const int *model_fds,
				uint32_t num_model, const int *data_fds, uint32_t num_data,
				const uint8_t *token, struct nn_error *err);

/* BAD_STATE unless executions of it may be made. */
int compilation_check_valid(const ANeuralNetworksCompilation *compilation,
			    struct nn_error *err);

/* True where the model has an operation of a vendor: then the CPU never steps in. */
bool compilation_is_foreign(const ANeuralNetworksCompilation *compilation);

/* True when the application named exactly one device. */
static inline bool compilation_has_one_device(const ANeuralNetworksCompilation *compilation)
{
	return compilation->is_explicit && compilation->num_devices == 1;
}

/* CLOCK_MONOTONIC now plus a duration: 0 (none) for 0, never past UINT64_MAX. */
uint64_t deadline_after(uint64_t duration_ns);

#endif /* NN_RUNTIME_COMPILATION_H */
