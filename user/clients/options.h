/* SPDX-License-Identifier: MIT */
/*
 * Options that all plug-ins of inference runtimes share. Options have names and values that are
 * text.
 */
#ifndef NN_CLIENTS_OPTIONS_H
#define NN_CLIENTS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_ERROR_SIZE 256

struct options {
	char *device;			/* NULL: the plug-in chooses the device */
	char *cache_dir;		/* NULL: compilations are not cached */
	char *cache_token;	/* NULL: the token is computed from the partition's contents */
	char *runtime;			/* the runtime's name in messages; NULL for the default */
	char *model;			/* the model's name in messages, or NULL */
	char *report;	/* report file, see report.h; NULL: no report is written */
	int32_t preference;		/* PreferenceCode */
	int32_t priority;		/* PriorityCode */
	bool allow_fp16;
	bool burst;
	bool disallow_cpu;
	uint32_t num_threads;	/* 1: the device computes on one thread; 0: number not given */
	uint32_t max_partitions;	/* 0: any number */
	uint32_t min_work;	/* minimum work of a partition that is not the whole graph */
	/* Number of shapes whose compilations are cached; 0 if the plug-in has no such option. */
	uint32_t max_shapes;
	uint32_t verbosity;
};

/* Sets the options' defaults, except for the last four members, which the plug-in sets. */
void options_init(struct options *options);

/*
 * Sets an option. Returns false, with a sentence in `error`, for an unknown option, a wrong value,
 * or if memory runs out.
 */
bool options_set(struct options *options, const char *name, const char *value,
		 char error[OPTIONS_ERROR_SIZE]);
/*
 * Returns the PreferenceCode, combined with RUNTIME_ONE_THREAD if the device is to compute on one
 * thread.
 */
int32_t options_preference(const struct options *options);
void options_free(struct options *options);

#endif /* NN_CLIENTS_OPTIONS_H */
